"""Eigenvalues, singular values and orthogonal factors, and special functions, in machine code."""

import math

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.gradient import DisconnectedGrad, disconnected_grad
from pytensor.tensor import linalg as theirs
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.linalg import Cholesky
from scipy import special

from dimtensor.kernels.compiler import compile_kernel
from dimtensor.ops.derivatives.driver import pull
from dimtensor.ops.linalg import SVD, eigh, qr, svd
from dimtensor.ops.special import log_ndtr

pytestmark = pytest.mark.compiled


# x, psi(x), log(|gamma(x)|): by mpmath, with 40 digits
GAMMA = [
    (1e-300, -9.999999999999999e299, 690.7755278982137),
    (1e-10, -10000000000.577215, 23.025850929882736),
    (0.3, -3.502524222200133, 1.0957979948180756),
    (0.75, -1.0858608797864722, 0.20328095143129538),
    (1.25, -0.22745353337626542, -0.09827183642181316),
    (1.4616321449683622, -9.241265521729427e-17, -0.12148629053584961),
    (1.4616321449683625, 1.2245374622004068e-16, -0.12148629053584961),
    (1.5, 0.03648997397857652, -0.12078223763524522),
    (1.999999, 0.4227836901641983, -4.227840125965854e-07),
    (2.5, 0.7031566406452432, 0.2846828704729192),
    (2.999, 0.9223893239548869, 0.692224593717571),
    (3.25, 1.016990911068179, 0.9358019311087253),
    (7.3, 1.9178203356379862, 7.147892523022248),
    (9.99, 2.250700372831201, 12.779315214350193),
    (30.0, 3.384438132685525, 71.25703896716801),
    (100000.0, 11.512920464961896, 1051287.7089736569),
    (1e300, 690.7755278982137, 6.897755278982137e302),
    (-0.5, 0.03648997397857652, 1.2655121234846454),
    (-0.504, 0.0007420716047053968, 1.2654376529099804),
    (-3.7, -0.8450768588704194, -1.3797399049658245),
    (-1e-09, 999999999.4227843, 20.723265837523627),
    (-10.25, 5.516858419886273, -14.20399790093109),
]

# x, log(erfc(-x / sqrt(2)) / 2): by mpmath, with 60 digits
LOG_NDTR = [
    (-1e154, -5e307),
    (-100000.0, -5000000012.431864),
    (-1000.0, -500007.82669481216),
    (-37.5, -707.6689893175072),
    (-36.9, -685.3328831653506),
    (-20.3, -209.97697152524202),
    (-5.1, -15.588487091871466),
    (-2.0, -3.783184333682032),
    (-1.001, -1.8425471807560767),
    (-0.999, -1.839496910164778),
    (-0.3, -0.9621028181688507),
    (-1e-10, -0.6931471806397338),
    (0.0, -0.6931471805599453),
    (0.4, -0.42247637022777607),
    (1.0, -0.17275377902344988),
    (2.5, -0.006229025485860002),
    (6.0, -9.865876455243758e-10),
    (9.0, -1.1285884059538405e-19),
    (37.0, -5.725571222524577e-300),
]


def compiled(inputs, outputs):
    kernel = compile_kernel(inputs, outputs)
    assert kernel.native is not None, kernel.left_to_numba
    return kernel.native.bind(kernel.constants)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-11), ("float32", 1e-3)])
@pytest.mark.parametrize("lead", [(), (3,)])
def test_decompositions(dtype, tolerance, lead, rng):
    x = pt.tensor("x", dtype=dtype, shape=(None,) * (len(lead) + 2))
    square, tall, wide = (
        compiled([x], outputs) for outputs in (eigh(x), [*svd(x), *qr(x, False)], svd(x))
    )
    for m, n in [(1, 1), (6, 6), (7, 4), (4, 7), (20, 20)]:
        a = rng.normal(size=(*lead, m, n)).astype(dtype)
        u, s, v, *factors = (tall if m >= n else wide)(a)
        np.testing.assert_allclose(u * s[..., None, :] @ v, a, atol=tolerance)
        np.testing.assert_allclose(s, np.linalg.svd(a, compute_uv=False), atol=tolerance)
        np.testing.assert_allclose(
            u.mT @ u, np.broadcast_to(np.eye(s.shape[-1]), u.mT.shape[:-1] + u.shape[-1:]),
            atol=tolerance,
        )  # fmt: skip
        for found, expected in zip(factors, np.linalg.qr(a), strict=False):
            np.testing.assert_allclose(found, expected, atol=tolerance)
        if m == n:
            values, vectors = square(a)  # the lower triangle is looked at
            whole = np.tril(a) + np.tril(a, -1).mT
            np.testing.assert_allclose(values, np.linalg.eigvalsh(whole), atol=tolerance)
            np.testing.assert_allclose(
                whole @ vectors, vectors * values[..., None, :], atol=tolerance
            )


def test_singular_values_alone(rng):
    x = pt.dmatrix("x")
    call = compiled([x], [SVD(compute_uv=False)(x)])
    for shape in [(5, 3), (3, 5), (1, 1)]:
        a = rng.normal(size=shape)
        np.testing.assert_allclose(call(a)[0], np.linalg.svd(a, compute_uv=False), atol=1e-12)


def test_decompositions_of_nan():
    x = pt.dmatrix("x")
    a = np.eye(3)
    a[1, 2] = np.nan
    for outputs in (eigh(x), svd(x)):
        assert all(np.isnan(each).all() for each in compiled([x], outputs)(a))


def through_factor(a, c):
    """Cotangent of a matrix, a lower triangle, from that of its lower factor: Giles' formula."""
    factor = np.linalg.cholesky(a)
    inverse = np.linalg.inv(factor)
    low = np.tril(factor.T @ np.tril(c))
    whole = inverse.T @ (low + np.tril(low, -1).T) @ inverse
    return np.tril(whole) - np.diag(np.diag(whole)) / 2


def cotangents_of_factors(shape):
    a, cotangent = (pt.tensor(dtype="float64", shape=shape) for _ in range(2))
    return compiled([a, cotangent], pull([Cholesky()(a)], [cotangent], [a]))


def test_cotangents_of_cholesky_factors(rng):
    """One block up to 48 rows, then blocks of 32 and what remains; loops where eight are known."""
    whatever = cotangents_of_factors((None, None))
    known = {n: cotangents_of_factors((n, n)) for n in (2, 8, 49)}
    for n in [0, 1, 2, 8, 9, 32, 48, 49, 64, 97]:
        root, c = rng.normal(size=(2, n, n))
        s = root @ root.T + n * np.eye(n)
        for call in (whatever, known.get(n, whatever)):
            (found,) = call(s, c)
            np.testing.assert_allclose(found, through_factor(s, c), atol=1e-13, err_msg=str(n))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", [3, 50])
def test_batched_cotangents_of_cholesky_factors(n, dtype, rng):
    root, c = rng.normal(size=(2, 4, n, n)).astype(dtype)
    s = root @ root.mT + n * np.eye(n, dtype=dtype)
    s[2, 1, 1] = -1.0  # has no factor
    a, cotangent = pt.tensor3(dtype=dtype), pt.matrix(dtype=dtype)
    (slopes,) = pull([Blockwise(Cholesky())(a)], [cotangent[None] * pt.ones_like(a)], [a])
    found = compiled([a, cotangent], [slopes])(s, c[0])[0]
    assert found.dtype == dtype
    tolerance = 1e-13 if dtype == "float64" else 1e-5
    for k in (0, 1, 3):
        np.testing.assert_allclose(found[k], through_factor(s[k], c[0]), atol=tolerance)
    assert np.isnan(found[2][np.tril_indices(n)]).all()


def test_positions_of_sorted_rows(rng):
    """A batch of orders, as the gradient of an inverse has them."""
    from pytensor.tensor.sort import ArgSortOp, SortOp

    x = pt.lmatrix("x")
    order = Blockwise(ArgSortOp(axis=0, kind="stable"), signature="(n)->(n)")(x)
    ordered = Blockwise(SortOp(axis=0, kind="stable"), signature="(n)->(n)")(x)
    data = rng.integers(0, 5, size=(2, 40))
    found = compiled([x], [order, ordered])(data)
    np.testing.assert_array_equal(found[0], np.argsort(data, axis=1, kind="stable"))
    np.testing.assert_array_equal(found[1], np.sort(data, axis=1))


def test_special_functions():
    x, y, a = pt.dvectors("x", "y", "a")
    outputs = [pt.tri_gamma(x), pt.hyp2f1(a, a, a + 1, y), pt.ndtri_exp(y), pt.owens_t(x, a)]
    poles = [0.0, -1.0, -2.0, np.inf, np.nan, 1e-200, 1e200, -1e-5]
    x0 = np.concatenate([np.linspace(-5.3, 30, 2001), poles])
    y0, a0 = -np.linspace(0.001, 20, x0.size), np.linspace(0.1, 3, x0.size)
    found = compiled([x, y, a], outputs)(x0, y0, a0)
    expected = [
        special.polygamma(1, x0), special.hyp2f1(a0, a0, a0 + 1, y0), special.ndtri_exp(y0),
        special.owens_t(x0, a0),
    ]  # fmt: skip
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=4e-15)


def test_psi_and_the_logarithm_of_gamma():
    x = pt.dvector("x")
    at, wanted_psi, wanted_log = np.array(GAMMA).T.copy()
    psi, log = compiled([x], [pt.psi(x), pt.gammaln(x)])(at)
    np.testing.assert_allclose(log, wanted_log, rtol=1e-15)
    np.testing.assert_allclose(psi[at > 0], wanted_psi[at > 0], rtol=1e-15)
    # on the left it is a difference, with zeros between all poles
    np.testing.assert_allclose(psi[at < 0], wanted_psi[at < 0], rtol=1e-15, atol=1e-15)
    ends = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, -3.0])
    psi, log = compiled([x], [pt.psi(x), pt.gammaln(x)])(ends)
    np.testing.assert_array_equal(psi, [np.inf, np.nan, np.nan, -np.inf, np.inf, np.nan])
    np.testing.assert_array_equal(log, [np.inf, -np.inf, np.nan, np.inf, np.inf, np.inf])


def test_logarithm_of_normal_probabilities():
    x = pt.dvector("x")
    at, wanted = np.array(LOG_NDTR).T.copy()
    found = compiled([x], [log_ndtr(x)])(at)[0]
    # on the right it is small, and as much off as erfc is by its argument's last place
    errors = np.finfo(float).eps * (2 + np.where(at > 0, at**2, 0))
    assert np.all(abs(found - wanted) <= errors * abs(wanted))
    ends = np.array([-np.inf, np.inf, np.nan, -1e300])
    np.testing.assert_array_equal(
        compiled([x], [log_ndtr(x)])(ends)[0], [-np.inf, 0, np.nan, -np.inf]
    )


def test_derivatives_of_psi():
    n, x = pt.lvector("n"), pt.dvector("x")
    orders = [0, 1, 2, 3, 4, 7, 12, 30, 100, 160]
    at = [1e-3, 0.1, 0.5, 1.0, 2.5, 11.99, 12.0, 30.0, 200.0, 1e5, 1e9]
    at += [0.0, -1.0, -0.3, -7.25, -100.7, np.inf, np.nan]
    found = compiled([n, x], [pt.polygamma(n, x), *(pt.polygamma(k, x) for k in (0, 1, 2, 7))])
    n0, x0 = (each.ravel() for each in np.meshgrid(orders, at))
    general, *fixed = found(n0, x0)
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = special.polygamma(n0, x0)
    np.testing.assert_allclose(general, wanted, rtol=3e-14)
    for k, one in zip((0, 1, 2, 7), fixed, strict=True):
        np.testing.assert_allclose(one, special.polygamma(k, x0), rtol=3e-14, err_msg=str(k))


def test_derivatives_of_psi_between_poles():
    """There terms of both signs cancel; in the middle, of even orders, all but those beyond."""
    n, x = pt.lvector("n"), pt.dvector("x")
    (found,) = compiled([n, x], [pt.polygamma(n, x)])(np.array([2, 10, 30, -1]), np.full(4, -2.5))
    # n! times the sum of 1 / (k + 1/2)^(n + 1) from k = 3 on, (2^(n + 1) - 1) zeta(n + 1) without
    # its first three terms: those of integers, exactly
    odd = [2 ** (k + 1) * math.fsum((2 * j + 1.0) ** -(k + 1) for j in range(3, 2000))
           for k in (10, 30)]  # fmt: skip
    wanted = [-math.factorial(k) * one for k, one in zip((10, 30), odd, strict=True)]
    np.testing.assert_allclose(found[1:3], wanted, rtol=1e-13)
    np.testing.assert_allclose(found[0], special.polygamma(2, -2.5), rtol=1e-11)
    assert np.isnan(found[3])  # of no order


@pytest.mark.parametrize("batched", [False, True])
def test_views_for_derivatives_are_dropped(batched):
    x = pt.dmatrix("x")
    view = (
        Blockwise(DisconnectedGrad(), signature="(n)->(n)")(x) if batched else disconnected_grad(x)
    )
    data = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(compiled([x], [view * 2 + 1])(data)[0], data * 2 + 1)


def _of_spectrum(values, vectors):
    """What does not depend on the signs of eigenvectors."""
    return pt.matmul(vectors * pt.exp(values)[..., None, :], vectors.mT)


PYTENSORS = {
    "eigh": lambda x: [theirs.eigh(x)[0], _of_spectrum(*theirs.eigh(x, lower=False))],
    "inverse": lambda x: [theirs.matrix_inverse(x)],
    "det": lambda x: [theirs.det(x)],
    "slogdet": lambda x: list(theirs.slogdet(x)),
    "svd": lambda x: [theirs.svd(x, compute_uv=False), theirs.svd(x, full_matrices=False)[1]],
}


def _exponential(x):
    values, vectors = np.linalg.eigh(x)
    return (vectors * np.exp(values)[..., None, :]) @ vectors.swapaxes(-1, -2)


NUMPYS = {
    "eigh": lambda x: [np.linalg.eigvalsh(x), _exponential(x)],
    "inverse": lambda x: [np.linalg.inv(x)],
    "det": lambda x: [np.linalg.det(x)],
    "slogdet": np.linalg.slogdet,
    "svd": lambda x: [np.linalg.svd(x, compute_uv=False)] * 2,
}


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize("name", PYTENSORS)
def test_operations_of_pytensor_have_the_same_rules(name, batch):
    """Graphs that are read have PyTensor's operations, not ours."""
    x = pt.tensor("x", shape=(None,) * (len(batch) + 2), dtype="float64")
    kernel = compile_kernel([x], PYTENSORS[name](x))
    assert kernel.native is not None, "left to numba"
    a = np.random.default_rng(1).normal(size=(*batch, 4, 4))
    a = a + a.swapaxes(-1, -2)
    found = kernel.native.bind(kernel.constants)(a)
    for one, other in zip(found, NUMPYS[name](a), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)
