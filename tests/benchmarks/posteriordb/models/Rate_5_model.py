"""One rate behind two counts that hardly agree: the third model with other data."""

from tests.benchmarks.posteriordb.models.Rate_3_model import model as model

POSTERIORS = ("Rate_5_data-Rate_5_model",)
