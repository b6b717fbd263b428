"""Deaths of a pandemic in several countries: the third version has the density of the second."""

from tests.benchmarks.posteriordb.models.covid19imperial_v2 import model as model

POSTERIORS = ("ecdc0401-covid19imperial_v3", "ecdc0501-covid19imperial_v3")
