"""Products in place of exponentials of sums of logarithms that are looked up."""

import itertools
import re

import mpmath
import numpy as np
import pytensor.tensor as pt
import pytest
from scipy.special import logsumexp

import dimtensor as dt
from dimtensor.kernels.compiler import compile_kernel
from dimtensor.ops.along import LogSumExp

pytestmark = pytest.mark.compiled
SIZES = [0, 1, 8, 9, 40, 700]
KINDS = 3


def density(kinds=KINDS, weighted=False, dtype="float64"):
    """Value and gradients of a mixture whose weights and densities are looked up."""
    obs, doc, word = dt.Dim("obs"), dt.Dim("doc"), dt.Dim("word")
    kind = dt.Dim("kind", length=kinds)
    theta = dt.tensor("theta", dims=(kind, doc), dtype=dtype)
    phi = dt.tensor("phi", dims=(kind, word), dtype=dtype)
    i, j = (dt.tensor(name, dims=obs, dtype="int64") for name in "ij")
    count = dt.tensor("count", dims=obs)
    terms = dt.log(theta).isel(doc=i) + dt.log(phi).isel(word=j)
    each = dt.logsumexp(terms, kind)
    total = ((count * each) if weighted else each).sum()
    inputs = [theta, phi, i, j, *([count] if weighted else [])]
    return dt.function(inputs, [total, *dt.grad(total, [theta, phi])]).positional


def expected(theta, phi, i, j, count=1.0):
    """The same by NumPy and SciPy, with the largest term subtracted where it is finite."""
    with np.errstate(all="ignore"):
        terms = np.log(theta)[:, i] + np.log(phi)[:, j]
        each = logsumexp(terms, axis=0) if terms.size else np.zeros(0)
        largest = terms.max(axis=0)
        parts = np.exp(terms - np.where(np.isfinite(largest), largest, 0.0))
        weights = np.where(parts.sum(0) == 0, 0.0, count * (parts / parts.sum(0)))
        slopes = []
        for table, at in ((theta, i), (phi, j)):
            sums = np.zeros_like(table)
            np.add.at(sums, (slice(None), at), weights)
            slopes.append(np.where(sums == 0, 0.0, sums / table))
        return (count * each).sum(), *slopes


def source(f):
    return f.executable.kernel.source


def branches(f):
    """The loop where products are in range, and the other one."""
    before, after = re.split(r"\n *if s\d+:\n", source(f), maxsplit=1)
    indent = source(f)[len(before) + 1 :].split("if", 1)[0]
    usual, after = after.split(f"\n{indent}else:\n", 1)
    other = itertools.takewhile(lambda line: line.startswith(indent + " "), after.split("\n"))
    return usual, "\n".join(other)


@pytest.fixture(scope="module")
def of_words():
    return density()


@pytest.fixture(scope="module")
def of_counts():
    return density(weighted=True)


def tables(rng, docs=4, words=6, kinds=KINDS):
    return rng.dirichlet(np.ones(kinds), docs).T.copy(), rng.dirichlet(np.ones(words), kinds)


def check(found, right, rtol=1e-13):
    for one, other in zip(found, right, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol)


def test_there_is_no_exponential_where_products_are_in_range(of_words):
    usual, other = branches(of_words)
    assert "exp(" not in usual
    assert other.count("exp(") == KINDS


@pytest.mark.parametrize("n", SIZES)
def test_value_and_gradients(of_words, rng, n):
    theta, phi = tables(rng)
    i, j = rng.integers(0, 4, n), rng.integers(0, 6, n)
    check(of_words(theta, phi, i, j), expected(theta, phi, i, j))


@pytest.mark.parametrize("kinds", [2, 8])
def test_other_numbers_of_terms(rng, kinds):
    f = density(kinds)
    assert "exp(" not in branches(f)[0]
    theta, phi = tables(rng, kinds=kinds)
    i, j = rng.integers(0, 4, 50), rng.integers(0, 6, 50)
    check(f(theta, phi, i, j), expected(theta, phi, i, j))
    theta[0] = 1e-250
    check(f(theta, phi, i, j), expected(theta, phi, i, j))


ENDS = [0.0, -0.0, 1e-310, 1e-200, 1e-152, 1e-151, 1e151, 1e200, 1e308, np.inf, np.nan, -1.0]


@pytest.mark.parametrize("n", [9, 300])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("where", ["theta", "phi", "both", "all of a kind", "all"])
def test_ends_of_the_range(of_words, rng, n, end, where):
    theta, phi = tables(rng)
    if where in ("theta", "both"):
        theta[1, 2] = end
    if where in ("phi", "both"):
        phi[1, 3] = end
    if where == "all of a kind":
        theta[0], phi[0] = end, end
    if where == "all":
        theta[:], phi[:] = end, end
    i, j = rng.integers(0, 4, n), rng.integers(0, 6, n)
    i[0], j[0] = 2, 3
    rtol = 1e-3 if 0 < end < 1e-300 else 1e-13  # numbers that are not normal have few digits
    check(of_words(theta, phi, i, j), expected(theta, phi, i, j), rtol)


@pytest.mark.parametrize("count", [0.0, 3.0, 1e-300, 1e250, np.inf, np.nan])
@pytest.mark.parametrize("size", [1e-150, 1.0, 1e150])
def test_factors_of_weights_may_have_any_size(of_counts, rng, count, size):
    """The weight is taken first: a factor over the sum of small products would be infinite."""
    theta, phi = tables(rng)
    theta *= size
    phi *= size
    i, j = rng.integers(0, 4, 20), rng.integers(0, 6, 20)
    counts = np.ones(20)
    counts[3] = count
    check(of_counts(theta, phi, i, j, counts), expected(theta, phi, i, j, counts), 1e-12)


def test_digits(of_words, rng):
    """The logarithm of a small product has the digits that the sum of logarithms has."""
    theta = 10 ** rng.uniform(-70, 70, size=(KINDS, 4))
    phi = 10 ** rng.uniform(-70, 70, size=(KINDS, 6))
    with mpmath.workdps(40):
        for i, j in [(0, 1), (1, 5), (3, 0), (2, 2)]:
            value, of_theta, of_phi = of_words(theta, phi, np.array([i]), np.array([j]))
            total = sum(mpmath.mpf(theta[k, i]) * mpmath.mpf(phi[k, j]) for k in range(KINDS))
            assert abs(value / mpmath.log(total) - 1) < 4e-16
            for k in range(KINDS):
                assert abs(of_theta[k, i] / (mpmath.mpf(phi[k, j]) / total) - 1) < 6e-16
                assert abs(of_phi[k, j] / (mpmath.mpf(theta[k, i]) / total) - 1) < 6e-16


def test_a_logarithm_may_be_the_same_for_all(rng):
    obs, word, kind = dt.Dim("obs"), dt.Dim("word"), dt.Dim("kind", length=KINDS)
    share, phi = dt.tensor("share", dims=kind), dt.tensor("phi", dims=(kind, word))
    j = dt.tensor("j", dims=obs, dtype="int64")
    total = dt.logsumexp(dt.log(share) + dt.log(phi).isel(word=j), kind).sum()
    f = dt.function([share, phi, j], [total, *dt.grad(total, [share, phi])]).positional
    assert "exp(" not in branches(f)[0]
    _, table = tables(rng)
    at = rng.integers(0, 6, 100)
    for shares in (np.array([0.2, 0.3, 0.5]), np.array([1e-300, 0.3, 0.7])):
        value, of_share, of_phi = expected(np.tile(shares[:, None], 100), table, np.arange(100), at)
        check(f(shares, table, at), (value, of_share.sum(1), of_phi))


def test_what_is_not_looked_up_is_not_looked_at(rng):
    obs, doc, kind = dt.Dim("obs"), dt.Dim("doc"), dt.Dim("kind", length=KINDS)
    x, theta = dt.tensor("x", dims=(kind, obs)), dt.tensor("theta", dims=(kind, doc))
    i = dt.tensor("i", dims=obs, dtype="int64")
    total = dt.logsumexp(dt.log(theta).isel(doc=i) + dt.log(x), kind).sum()
    f = dt.function([theta, x, i], [total, *dt.grad(total, [theta, x])]).positional
    assert "if s" not in source(f)
    table, _ = tables(rng)
    at, numbers = rng.integers(0, 4, 30), rng.uniform(size=(KINDS, 30))
    check(f(table, numbers, at), expected(table, numbers, at, np.arange(30)))


def test_single_precision_stays():
    assert "if s" not in source(density(dtype="float32"))


def test_what_else_reads_exponentials_keeps_them(rng):
    obs, doc, kind = dt.Dim("obs"), dt.Dim("doc"), dt.Dim("kind", length=KINDS)
    theta, score = dt.tensor("theta", dims=(kind, doc)), dt.tensor("score", dims=kind)
    i = dt.tensor("i", dims=obs, dtype="int64")
    terms = dt.log(theta).isel(doc=i)
    largest = terms.max(kind)
    parts = dt.exp(terms - largest)
    total = (dt.log(parts.sum(kind)) + largest + (score * parts).sum(kind)).sum()
    f = dt.function([theta, score, i], total).positional
    table, _ = tables(rng)
    at, scores = rng.integers(0, 4, 30), rng.normal(size=KINDS)
    picked = table[:, at]
    right = np.log(picked.sum(0)) + scores @ (picked / picked.max(0))
    np.testing.assert_allclose(f(table, scores, at), right.sum(), rtol=1e-13)


def of_positions(dtype):
    """The kernel of a log likelihood by positional tensors."""
    theta, phi = pt.matrix("theta", dtype=dtype), pt.matrix("phi", dtype=dtype)
    i, j = pt.lvector("i"), pt.lvector("j")
    terms = [pt.log(theta[k])[i] + pt.log(phi[k])[j] for k in range(KINDS)]
    return compile_kernel([theta, phi, i, j], [LogSumExp([0])(pt.stack(terms)).sum()])


def test_positional_tensors_are_looked_at_too():
    assert "if s" in of_positions("float64").source


def test_products_of_integers_are_not_taken(rng):
    """They would not have room for what a product of floats has."""
    kernel = of_positions("int64")
    one, other = rng.integers(10**10, 10**12, (KINDS, 4)), rng.integers(10**10, 10**12, (KINDS, 6))
    docs, words = rng.integers(0, 4, 50), rng.integers(0, 6, 50)
    wanted = logsumexp(np.log(one[:, docs]) + np.log(other[:, words]), axis=0).sum()
    (found,) = kernel.native.bind(kernel.constants)(one, other, docs, words)
    np.testing.assert_allclose(found, wanted, rtol=1e-13)
