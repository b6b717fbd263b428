"""Models of PyMC's gallery are read, written again, and have one density in all three forms."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dimtensor as dt

pm = pytest.importorskip("pymc")
az = pytest.importorskip("arviz")
jax_errors = pytest.importorskip("jax.errors")

from tests.interop.with_pymc.agreement import check_agreement, mode_of_kernels  # noqa: E402
from tests.interop.with_pymc.gallery import GALLERY  # noqa: E402
from tests.interop.with_pymc.models import MODELS, OTHER_VECTORS, ROTATED  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    # of PyTensor to PyMC
    pytest.mark.filterwarnings("ignore:RandomVariable Ops will stop:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Calling a RandomVariable without:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS:UserWarning"),
    pytest.mark.filterwarnings("ignore:SplineWrapper should implement:FutureWarning"),
]


@pytest.mark.parametrize("name", GALLERY)
def test_densities_there_and_back(name):
    theirs = GALLERY[name]()
    ours = dt.from_pymc(theirs, backend="python")
    # PyMC moves through simplexes by another transform
    unconstrained = name != "sticks"
    check_agreement(theirs, ours, unconstrained)
    check_agreement(dt.to_pymc(ours), ours, unconstrained)


# what kernels leave to numba and JAX lacks: the length of what a mask of unknowns selects, and
# SciPy's splines
GAPS = {
    "positions": (jax_errors.NonConcreteBooleanIndexError, "a mask of unknowns"),
    "densities_that_are_derived": (NotImplementedError, "No JAX conversion for SplineWrapper"),
}


def check_compiled(name, backend):
    theirs = {**MODELS, **GALLERY}[name]()
    unconstrained = name != "sticks" and name not in OTHER_VECTORS
    check_agreement(theirs, dt.from_pymc(theirs, backend=backend), unconstrained, name in ROTATED)


@pytest.mark.compiled
@pytest.mark.parametrize("name", [x for x in [*MODELS, *GALLERY] if x not in GAPS])
def test_densities_of_machine_code(name):
    check_compiled(name, "numba")


@pytest.mark.compiled
@pytest.mark.parametrize("name", [x for x in [*MODELS, *GALLERY] if x not in GAPS])
def test_densities_on_jax(name):
    check_compiled(name, "jax")


@pytest.mark.compiled
@pytest.mark.falls_back
@pytest.mark.parametrize("name", GAPS)
def test_densities_that_kernels_leave_to_numba(name):
    check_compiled(name, "numba")


@pytest.mark.compiled
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.xfail(raises=raises, reason=reason, strict=True))
        for name, (raises, reason) in GAPS.items()
    ],
)
def test_densities_that_jax_lacks(name):
    check_compiled(name, "jax")


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["survival", "a_loop", "counts_of_zeros"])
def test_samplers_agree(name):
    theirs = GALLERY[name]()
    options = {"draws": 1000, "tune": 1000, "chains": 2, "random_seed": 1, "progressbar": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = dt.from_pymc(theirs).sample(
            1000, tune=1000, chains=2, seed=1, progress_bar=False, report=False
        )
        with dt.to_pymc(dt.from_pymc(theirs)):
            found = pm.sample(**options, cores=1, compile_kwargs=mode_of_kernels())
    for variable in theirs.free_RVs:
        one, other = (np.asarray(x["posterior"][variable.name]) for x in (ours, found))
        error = np.sqrt(sum(np.square(_error(x)) for x in (one, other)))
        apart = np.abs(one.mean((0, 1)) - other.mean((0, 1)))
        assert (apart < 4.5 * error).all(), variable.name


def _error(draws):
    """The standard error of the mean of draws, of each chain and draw."""
    import xarray as xr

    named = xr.DataArray(draws, dims=["chain", "draw", *(f"d{k}" for k in range(draws.ndim - 2))])
    return np.asarray(az.mcse(named.to_dataset(name="x"))["x"])
