"""The same numbers, to the documented rounding, from code for processors of other instructions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dimtensor as dt
from dimtensor.tensor import elementwise
from tests import processors
from tests.effort import a_third

pytestmark = [
    pytest.mark.slow,
    pytest.mark.compiled,
    pytest.mark.skipif(not processors.are_known(), reason="another family of processors"),
]

EPS = np.finfo(float).eps
N, G = dt.Dim("n"), dt.Dim("g", length=3)
# largest errors in units of the last place, from docs/design/kernels.md
FUNCTIONS = {
    "exp": 1, "log": 1, "log1p": 2, "tanh": 2, "expm1": 2, "sin": 2, "cos": 2, "erf": 2, "erfc": 4,
    "erfcx": 4, "log_ndtr": 4, "gammaln": 4, "digamma": 4, "i0e": 3, "i1e": 3,
}  # fmt: skip
OF_LIBRARIES = 8  # the largest error of a function of the C library or SciPy, in the same units
# sums, and those of the absolute values of their terms, by which rounding is measured
SUMS: dict[str, tuple[Callable, Callable]] = {
    "sum": (lambda x, y: (x * y).sum(), lambda x, y: np.abs(x * y).sum()),
    "variance": (lambda x, y: x.var(), lambda x, y: np.square(x + x.mean()).mean()),
    "square": (lambda x, y: ((x - y) ** 2).sum(), lambda x, y: np.square(x + np.abs(y)).sum()),
    "logistic": (
        lambda x, y: dt.log(dt.sigmoid(x) + dt.exp(-y * y)).sum(),
        lambda x, y: x.size * (40.0 + np.abs(x).max()),
    ),
}  # fmt: skip
Compiled = Callable[[np.ndarray, np.ndarray], list]


def compiled(cpu: str) -> Compiled:
    x, y = dt.tensor("x", dims=N), dt.tensor("y", dims=N)
    near = [getattr(elementwise, name)(x) for name in FUNCTIONS]
    f = dt.function([x, y], [*near, *(make(x, y) for make, _ in SUMS.values())])
    f(np.ones(3), np.ones(3))
    return f


@pytest.fixture(scope="module")
def by_processor() -> dict[str, Compiled]:
    """The same function, compiled for each kind of processor."""
    found = {}
    for cpu in processors.LEVELS:
        with pytest.MonkeyPatch.context() as patch:
            made = processors.run_as_on(cpu, patch)
            dt.clear_caches()
            found[cpu] = compiled(cpu)
            assert made, "code of another processor was taken"
    processors.forget()
    dt.clear_caches()
    return found


@a_third
@given(st.integers(0, 2**32 - 1), st.integers(1, 70), st.sampled_from([1e-3, 1.0, 30.0]))
def test_the_same_to_the_documented_rounding(by_processor, seed, length, scale):
    rng = np.random.default_rng(seed)
    x, y = np.abs(rng.normal(size=length)) * scale, rng.normal(size=length)
    results = [[v.values for v in f(x, y)] for f in by_processor.values()]
    for at, (name, units) in enumerate(FUNCTIONS.items()):
        narrow, *vectors = (result[at] for result in results)
        for vector in vectors[1:]:
            np.testing.assert_array_equal(vector, vectors[0], err_msg=name)
        # without fused arithmetic it is the C library's or SciPy's, and less exact beside a zero
        bound = (units + OF_LIBRARIES) * np.spacing(np.abs(narrow)) + EPS * np.maximum(x, 1.0)
        assert (np.abs(narrow - vectors[0]) <= bound).all(), name
    for at, (name, (_, size)) in enumerate(SUMS.items(), len(FUNCTIONS)):
        first, *others = (float(result[at]) for result in results)
        for other in others:
            assert abs(first - other) <= 2 * (length + 8) * EPS * size(x, y), name
