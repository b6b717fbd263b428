"""Models of posteriordb have Stan's log densities and gradients, up to the constants it drops."""

from __future__ import annotations

import numpy as np
import pytest

from tests.benchmarks.posteriordb import posteriors
from tests.benchmarks.posteriordb.posteriors import HERE

STORED = sorted(path.stem for path in (HERE / "values").glob("*.npz"))
# One of each model. Differential equations take the interpreter too long.
FIRST = {name.split("-", 1)[1]: name for name in reversed(STORED)}
COMPILED = list(FIRST.values())
FIRST = {m: name for m, name in FIRST.items() if not hasattr(posteriors.load_model(m), "EXACT")}


def check(name: str, backend: str) -> None:
    if not posteriors.carried(name).exists() and posteriors.database() is None:
        pytest.skip("POSTERIORDB names no copy of posteriordb, and the data are not carried")
    built = posteriors.build(name, backend, exact=True)
    value, gradient = posteriors.compare(built, posteriors.stored(name))
    assert value <= 1e-8
    assert gradient <= built.tolerance


@pytest.mark.slow
@pytest.mark.parametrize("name", FIRST.values())
def test_values_and_gradients_are_those_of_stan(name):
    check(name, "python")


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_values_and_gradients_are_those_of_stan(name):
    check(name, "numba")


@pytest.mark.parametrize("name", ["arK-arK", "low_dim_gauss_mix-low_dim_gauss_mix"])
def test_values_and_gradients_of_some(name):
    check(name, "python")


def test_all_posteriors_have_values_and_their_model():
    assert sorted(posteriors.posterior_names()) == STORED
    for model in posteriors.model_names():
        module = posteriors.load_model(model)
        assert module.__doc__
        assert all(name.split("-", 1)[1] == model for name in module.POSTERIORS)


def test_another_density_is_found():
    known = posteriors.stored("arK-arK")
    wrong = known._replace(gradients=known.gradients * (1 + 1e-6))
    built = posteriors.build("arK-arK", "python")
    assert posteriors.compare(built, known)[1] < 1e-12 < 1e-7 < posteriors.compare(built, wrong)[1]
    wrong = known._replace(values=known.values + np.arange(10.0))
    assert posteriors.compare(built, wrong)[0] > 1e-4


def test_another_transform_is_found():
    known = posteriors.stored("arK-arK")
    at_probe = {**known.at_probe, "sigma": 2 * known.at_probe["sigma"]}
    wrong = known._replace(at_probe=at_probe)
    with pytest.raises(ValueError, match="the transform of sigma is not that of Stan"):
        posteriors.order_of(posteriors.build("arK-arK", "python"), wrong)
