"""Errors of matrices that have no Cholesky factor: smallest eigenvalue, and jitter that helps."""

from __future__ import annotations

import re

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist
from tests.backend_names import LONG_JAX_COMPILED

K, G = dt.Dim("k", length=12), dt.Dim("g", coords=["a", "b"])
AT = np.linspace(0.0, 1.0, 12)
SMOOTH = np.exp(-0.5 * np.subtract.outer(AT, AT) ** 2)  # singular but for rounding
X = dt.tensor("cov", dims=[K, K.rename()])


def square(values):
    return (("k", "k'"), values)


def jitter_of(error, name="cov"):
    """The number of the hint, which is also that of the details."""
    text = str(error)
    hint = rf"hint: add it to the diagonal: {name} \+ (\S+) \* dt.eye\(k\)"
    (found,) = re.findall(hint, text)
    assert f"jitter that would do: {found}\n" in text
    return float(found)


@pytest.mark.parametrize("backend", ["python", *LONG_JAX_COMPILED])
def test_singular_but_for_rounding(backend):
    f = dt.function([X], dt.linalg.cholesky(X, check=True), backend=backend)
    with pytest.raises(dt.CheckError, match="cholesky: the matrix is not positive definite") as e:
        f(square(SMOOTH))
    jitter = jitter_of(e.value)
    lowest = np.linalg.eigvalsh(SMOOTH)[0]
    assert f"smallest eigenvalue: {lowest:.3g}\n" in str(e.value)
    assert 1e-18 < jitter < 1e-12
    enough = SMOOTH + jitter * np.eye(12)
    factor = np.tril(f(square(enough)))
    np.testing.assert_allclose(factor @ factor.T, enough, atol=1e-13)
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        np.linalg.cholesky(SMOOTH + 0.01 * jitter * np.eye(12))


def test_one_of_several_matrices():
    cov = dt.tensor("cov", dims=[G, K, K.rename()])
    f = dt.function([cov], dt.linalg.cholesky(cov, check=True), backend="python")
    with pytest.raises(dt.CheckError, match=r"false: 1 of 2 elements\n  at: g='b'") as e:
        f((("g", "k", "k'"), np.stack([np.eye(12), SMOOTH])))
    assert "matrix: cov, g[1]\n" in str(e.value)
    jitter_of(e.value)


@pytest.mark.parametrize(
    ("matrix", "text"),
    [
        (-np.eye(12), "the matrix is no covariance: an eigenvalue is below 0"),
        (np.full((12, 12), np.nan), "elements of the matrix are not finite"),
    ],
)
def test_matrices_that_jitter_does_not_help(matrix, text):
    with pytest.raises(dt.CheckError, match=text) as e:
        dt.linalg.cholesky(X, check=True).eval({X: square(matrix)})
    assert "jitter" not in str(e.value)


def test_single_precision_needs_more():
    x = dt.tensor("cov", dims=[K, K.rename()], dtype="float32")
    with pytest.raises(dt.CheckError, match="jitter that would do") as e:
        dt.linalg.cholesky(x, check=True).eval({x: square(SMOOTH.astype("float32"))})
    assert 1e-9 < jitter_of(e.value) < 1e-4


def test_without_the_check_it_is_nan():
    assert np.isnan(dt.linalg.cholesky(X).eval({X: square(SMOOTH)})).any()


def test_empty_matrices():
    none = dt.Dim("k", length=0)
    x = dt.tensor("cov", dims=[none, none.rename()])
    assert dt.linalg.cholesky(x, check=True).eval({x: square(np.zeros((0, 0)))}).shape == (0, 0)


def test_a_check_of_ones_own():
    """It explains a factor that it depends on."""
    half = dt.log(dt.diagonal(dt.linalg.cholesky(X))).sum()
    checked = dt.check(dt.isfinite(half), "the log determinant is finite", half)
    with pytest.raises(dt.CheckError, match="the log determinant is finite") as e:
        checked.eval({X: square(SMOOTH)})
    jitter_of(e.value)


@pytest.mark.parametrize("method", ["mode", "laplace"])
def test_models(method):
    scale = dt.rv("scale", dist.HalfNormal(1.0))
    cov = dt.named("cov", scale * dt.data(SMOOTH, dims=[K, K.rename()]))
    y = dt.rv("y", dist.MvNormal(0.0, cov))
    fit = dt.Model(y, backend="python").observe(y=np.zeros(12))
    with pytest.raises(dt.CheckError, match=f"{method}: the log density is not finite where") as e:
        fit.mode() if method == "mode" else fit.laplace(3, seed=1)
    assert "what is not finite: cholesky(" in str(e.value)
    jitter_of(e.value, "x")


@pytest.mark.slow
def test_samplers():
    pytest.importorskip("nutpie")
    cov = dt.named("cov", 1.0 * dt.data(SMOOTH, dims=[K, K.rename()], name="given"))
    fit = dt.Model(dt.rv("f", dist.MvNormal(0.0, cov)), backend="numba")
    with pytest.raises(dt.CheckError, match="sample: the log density is not finite") as e:
        fit.sample(5, tune=5, chains=1, seed=1, progress_bar=False, prior=True)
    assert "smallest eigenvalue: " in str(e.value)
