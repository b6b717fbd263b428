"""Functions of symmetric matrices against SciPy's functions of block triangular matrices.

The upper right block of f([[A, E], [0, A]]) is the derivative of f at A in the direction E (Higham,
Functions of Matrices, 2008, (3.16)), and the same of these blocks is the second derivative.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import dimtensor as dt
from tests.backend_names import COMPILED

K = dt.Dim("k", length=3)
G = dt.Dim("g", length=2)
MATRIX = [K, K.rename()]
NAMES = ["k", "k'"]
X = dt.tensor("x", dims=MATRIX)
FUNCTIONS = {
    "sqrt": scipy.linalg.sqrtm,
    "rsqrt": lambda a: np.linalg.inv(scipy.linalg.sqrtm(a)),
    "log": scipy.linalg.logm,
    "exp": scipy.linalg.expm,
}
# all different, some equal, all equal, and closer than rounding lets a quotient tell
SPECTRA = [[0.3, 1.0, 2.5], [0.7, 0.7, 2.0], [1.5, 1.5, 1.5], [1.0, 1.0 + 1e-9, 1.003]]


def matrices(spectrum, count=3, seed=0):
    """Return a matrix with these eigenvalues, and symmetric directions."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    others = [m + m.T for m in rng.normal(size=(count, 3, 3))]
    a = (basis * spectrum) @ basis.T
    return ((a + a.T) / 2, *others)


def first(function, a, e):
    zero = np.zeros_like(a)
    n = len(a)
    return function(np.block([[a, e], [zero, a]]))[:n, n:]


def second(function, a, e, h):
    zero = np.zeros_like(a)
    a, e = (np.block([[m, d], [zero, m]]) for m, d in ((a, e), (h, zero)))
    return first(function, a, e)[: len(zero), len(zero) :]


def along(expression, direction):
    """Derivative of a scalar in a symmetric direction; the lower triangle is read."""
    return (dt.grad(expression, X) * dt.data((NAMES, np.tril(direction)), dims=MATRIX)).sum()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_are_those_of_scipy(name):
    batch = dt.tensor("batch", dims=[G, *MATRIX])
    y = dt.linalg.funm(batch, name)
    assert set(y.dims) == {G, *MATRIX}
    for spectra in (SPECTRA[:2], SPECTRA[2:]):
        values = np.array([matrices(s)[0] for s in spectra])
        _, e, c, _ = matrices(spectra[0])
        slope = dt.grad((y * dt.data((NAMES, c), dims=MATRIX)).sum(), batch)
        f = dt.function([batch], [y, slope], backend="python")
        found, pulled = (v.transpose("g", *NAMES).values for v in f((["g", *NAMES], values)))
        for at, a in enumerate(values):
            np.testing.assert_allclose(found[at], FUNCTIONS[name](a), rtol=1e-10, atol=1e-12)
            expected = (first(FUNCTIONS[name], a, e) * c).sum()
            np.testing.assert_allclose((np.tril(e) * pulled[at]).sum(), expected, rtol=1e-10)
            assert not np.triu(pulled[at], 1).any()


@pytest.mark.parametrize(
    "name", [pytest.param(k, marks=[pytest.mark.slow] * (k in ("rsqrt", "exp"))) for k in FUNCTIONS]
)
def test_second_derivatives(name):
    check_second(name, "python", SPECTRA)


@pytest.mark.slow
@pytest.mark.parametrize("backend", COMPILED)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives_compiled(name, backend):
    check_second(name, backend, SPECTRA)


def check_second(name, backend, spectra):
    _, e, h, c = matrices(spectra[0])
    y = (dt.linalg.funm(X, name) * dt.data((NAMES, c), dims=MATRIX)).sum()
    f = dt.function([X], [along(y, e), along(along(y, e), h)], backend=backend)
    for spectrum in spectra:
        a = matrices(spectrum)[0]
        once, twice = (float(v) for v in f((NAMES, a)))
        function = FUNCTIONS[name]
        np.testing.assert_allclose(once, (first(function, a, e) * c).sum(), rtol=1e-9)
        np.testing.assert_allclose(twice, (second(function, a, e, h) * c).sum(), rtol=1e-9)


@pytest.mark.compiled
def test_native_gradient_at_equal_eigenvalues():
    a, e, c, _ = matrices([1.5, 1.5, 1.5])
    y = (dt.linalg.funm(X, "sqrt") * dt.data((NAMES, c), dims=MATRIX)).sum()
    found = along(y, e).eval({X: (NAMES, a)}, backend="native")
    np.testing.assert_allclose(float(found), (first(FUNCTIONS["sqrt"], a, e) * c).sum(), rtol=1e-10)


def test_forward_mode_and_a_third_derivative():
    """Along a line of multiples of the identity, derivatives are those of the number."""
    t = dt.scalar("t")
    y = dt.linalg.funm(t * dt.eye(K), "sqrt")
    moved = dt.jvp(y, t, dt.full((), 1.0))
    np.testing.assert_allclose(moved.eval({t: 4.0}).values, 0.25 * np.eye(3), atol=1e-15)
    total = dt.trace(y, MATRIX)
    for _ in range(3):
        total = dt.grad(total, t)
    third = 3 * (1 / 2) * (-1 / 2) * (-3 / 2) * 4.0 ** (-5 / 2)
    np.testing.assert_allclose(float(total.eval({t: 4.0})), third, rtol=1e-12)


def test_only_the_lower_triangle_is_read_and_indefinite_is_nan():
    a = matrices([0.3, 1.0, 2.5])[0]
    whole, lower = (dt.data((NAMES, m), dims=MATRIX) for m in (a, np.tril(a)))
    found = [dt.linalg.funm(m, "log").eval().transpose(*NAMES).values for m in (whole, lower)]
    np.testing.assert_array_equal(*found)
    assert np.isnan(dt.linalg.funm(-whole, "sqrt").values).all()


def test_mistakes():
    with pytest.raises(dt.OptionError, match="funm: function is one of 'sqrt', 'rsqrt', 'log', 'e"):
        dt.linalg.funm(X, "sin")
    with pytest.raises(dt.DtypeError, match="funm takes real matrices, not complex128"):
        dt.linalg.funm(X + 1j, "sqrt")
