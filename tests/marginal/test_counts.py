"""Counts that are summed out: N-mixture models and others, beside sums over all counts by SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import dimtensor as dt
from dimtensor import dist
from dimtensor.graph import toposort
from tests.backend_names import LONG_JAX_COMPILED

SITE, VISIT = dt.Dim("site", length=5), dt.Dim("visit", length=3)
MOST = 40
COUNTS = np.arange(MOST + 1)
FOREST = np.array([0.3, -0.5, 1.1, 0.0, -1.2])
WIND = np.array(
    [[0.1, -0.3, 0.5], [1.0, 0.2, -0.4], [-0.6, 0.9, 0.3], [0.0, 0.7, -1.1], [0.4, -0.2, 0.8]]
)
SEEN = np.array([[3, 5, 2], [0, 0, 0], [11, 7, 9], [4, 4, 6], [1, 0, 2]])
SHARED = {"a": 1.4, "b": 0.6, "c": -0.3, "d": 0.5}
INPUTS = {name: dt.scalar(name) for name in (*SHARED, "e")}
POISSON, BINOMIAL, NEGATIVE = stats.poisson.logpmf, stats.binom.logpmf, stats.nbinom.logpmf


def known(values, *dims):
    return dt.data(np.asarray(values), dims=dims)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def detection(x):
    """Detection probabilities by site and visit, and then an axis for counts."""
    return sigmoid(x["c"] + x["d"] * WIND)[..., None]


def seen(x, counts=COUNTS):
    return BINOMIAL(SEEN[..., None], counts, detection(x)).sum(1)


def rates(x):
    return np.exp(x["a"] + x["b"] * FOREST)[:, None]


def symbols():
    """Rates and logits of detection as tensors."""
    x = INPUTS
    rate = dt.exp(x["a"] + x["b"] * known(FOREST, SITE))
    return rate, x["c"] + x["d"] * known(WIND, SITE, VISIT)


def check(terms, count, expected, point, states=range(MOST + 1), backend="python", rtol=1e-11):
    """Compare a marginal log density and its gradient with a function of NumPy."""
    total = dt.marginalize(terms, count, states={count: states})
    inputs = [INPUTS[name] for name in point]
    at = {INPUTS[name]: value for name, value in point.items()}
    value, *slopes = dt.evaluate([total, *dt.grad(total, inputs)], at, backend=backend)
    np.testing.assert_allclose(value, expected(point), rtol=rtol)
    for name, slope in zip(point, slopes, strict=True):
        step = 1e-5
        above, below = ({**point, name: point[name] + by} for by in (step, -step))
        difference = (expected(above) - expected(below)) / (2 * step)
        np.testing.assert_allclose(slope, difference, rtol=1e-6, atol=1e-7)
    return total


def products_with(total, length):
    """Number of products of counts with parameters in a density: multiplications over states."""
    states = [
        x for x in toposort([total.node])
        if x.kind == "elemwise" and x.attrs in ("multiply", "xlogy", "xlog1py")
        and any(dim.length == length for dim in x.dims)
        and any(y.kind == "input" for y in toposort([x]))
    ]  # fmt: skip
    return len(states)


@pytest.fixture
def count():
    return dt.tensor("n", dims=SITE, dtype="int64")


@pytest.mark.parametrize("as_logit", [True, False])
def test_poisson_counts_seen_on_several_visits(count, as_logit):
    rate, eta = symbols()
    found = dist.Binomial(count, logit_p=eta) if as_logit else dist.Binomial(count, dt.sigmoid(eta))
    terms = {"n": dist.Poisson(rate).logp(count), "y": found.logp(known(SEEN, SITE, VISIT))}
    total = check(
        terms, count, lambda x: logsumexp(POISSON(COUNTS, rates(x)) + seen(x), axis=1).sum(), SHARED
    )
    # one product of the count with all slopes, however many visits
    assert products_with(total, MOST + 1) == 1


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
def test_compiled_backends(count, backend):
    rate, eta = symbols()
    terms = {
        "n": dist.Poisson(rate).logp(count),
        "y": dist.Binomial(count, logit_p=eta).logp(known(SEEN, SITE, VISIT)),
    }
    check(
        terms, count, lambda x: logsumexp(POISSON(COUNTS, rates(x)) + seen(x), axis=1).sum(),
        SHARED, backend=backend,
    )  # fmt: skip


@pytest.mark.parametrize("by_site", [False, True])
@pytest.mark.parametrize("size", [-0.7, 4.0])  # on both sides of the limit of its series
def test_negative_binomial_counts(count, by_site, size):
    rate, eta = symbols()
    alpha = dt.exp(INPUTS["e"] + 0.1 * known(FOREST, SITE) * by_site)

    def expected(x):
        size = np.exp(x["e"] + 0.1 * FOREST * by_site)[:, None]
        terms = NEGATIVE(COUNTS, size, size / (size + rates(x))) + seen(x)
        return logsumexp(terms, axis=1).sum()

    terms = {
        "n": dist.NegativeBinomial(rate, alpha).logp(count),
        "y": dist.Binomial(count, logit_p=eta).logp(known(SEEN, SITE, VISIT)),
    }
    check(terms, count, expected, {**SHARED, "e": size})


@pytest.mark.parametrize("overdispersed", [False, True])
def test_zero_inflated_counts(count, overdispersed):
    rate, eta = symbols()
    base = dist.NegativeBinomial(rate, 3.0) if overdispersed else dist.Poisson(rate)
    share = dt.sigmoid(INPUTS["e"])

    def expected(x):
        share = sigmoid(x["e"])
        own = NEGATIVE(COUNTS, 3.0, 3.0 / (3.0 + rates(x))) if overdispersed else None
        own = POISSON(COUNTS, rates(x)) if own is None else own
        own = np.log(share) + own
        own[:, 0] = np.logaddexp(own[:, 0], np.log1p(-share))
        return logsumexp(own + seen(x), axis=1).sum()

    terms = {
        "n": dist.zero_inflated(base, share).logp(count),
        "y": dist.Binomial(count, logit_p=eta).logp(known(SEEN, SITE, VISIT)),
    }
    total = check(terms, count, expected, {**SHARED, "e": 0.8})
    assert overdispersed or products_with(total, MOST + 1) == 2  # zero-inflated, and seen


def test_counts_that_start_above_zero():
    """Capture and recapture: one population, of at least 12."""
    number = dt.tensor("n", dtype="int64")
    caught = np.array([12, 9, 10])
    states, logit = range(5, 80), INPUTS["c"]
    terms = {
        "n": dist.Geometric(dt.sigmoid(INPUTS["e"])).logp(number),
        "y": dist.Binomial(number, logit_p=logit).logp(known(caught, VISIT)),
    }

    def expected(x):
        k = np.arange(5, 80)
        own = stats.geom.logpmf(k, sigmoid(x["e"]))
        return logsumexp(own + BINOMIAL(caught[:, None], k, sigmoid(x["c"])).sum(0))

    check(terms, number, expected, {"c": 0.2, "e": -3.0}, states)


def test_other_observations_of_a_count(count):
    """Terms that are no affine functions of the count stay in the sum."""
    rate, eta = symbols()
    signal = known(FOREST * 3 + 4, SITE)
    terms = {
        "n": dist.Poisson(rate).logp(count),
        "y": dist.Binomial(count, logit_p=eta).logp(known(SEEN, SITE, VISIT)),
        "signal": dist.Normal(dt.sqrt(count + 1.0), dt.exp(INPUTS["e"])).logp(signal),
    }

    def expected(x):
        own = stats.norm.logpdf((FOREST * 3 + 4)[:, None], np.sqrt(COUNTS + 1), np.exp(x["e"]))
        return logsumexp(POISSON(COUNTS, rates(x)) + seen(x) + own, axis=1).sum()

    check(terms, count, expected, {**SHARED, "e": 0.3})


def test_visits_in_long_format(count):
    """Each observation names its site; sites have different numbers of visits."""
    row = dt.Dim("row", length=15)
    where = dt.data(np.repeat(np.arange(5), 3), dims=row)
    rate, _ = symbols()
    logit = INPUTS["c"] + INPUTS["d"] * known(WIND.ravel(), row)
    terms = {
        "n": dist.Poisson(rate).logp(count),
        "y": dist.Binomial(count.isel(site=where), logit_p=logit).logp(known(SEEN.ravel(), row)),
    }
    check(
        terms, count, lambda x: logsumexp(POISSON(COUNTS, rates(x)) + seen(x), axis=1).sum(), SHARED
    )


def test_thousands_of_counts_neither_overflow_nor_underflow():
    most = 4000
    number, y = dt.tensor("n", dims=SITE, dtype="int64"), np.array([900, 0, 3, 1500, 700])
    rate = dt.exp(INPUTS["a"] + known([0.0, 0.1, -4.0, 0.4, 0.2], SITE))
    terms = {
        "n": dist.Poisson(rate).logp(number),
        "y": dist.Binomial(number, logit_p=INPUTS["c"]).logp(known(y, SITE)),
    }

    def expected(x):
        k = np.arange(most + 1)
        own = POISSON(k, np.exp(x["a"] + np.array([0.0, 0.1, -4.0, 0.4, 0.2]))[:, None])
        return logsumexp(own + BINOMIAL(y[:, None], k, sigmoid(x["c"])), axis=1).sum()

    # thinned Poisson counts are Poisson
    point = {"a": 7.2, "c": 0.1}
    check(terms, number, expected, point, range(most + 1))
    rates = np.exp(point["a"] + np.array([0.0, 0.1, -4.0, 0.4, 0.2])) * sigmoid(point["c"])
    np.testing.assert_allclose(expected(point), POISSON(y, rates).sum(), rtol=1e-10)


@pytest.mark.parametrize("p", [0.0, 1.0])
@pytest.mark.parametrize("rate", [0.0, 3.0])
@pytest.mark.parametrize("y", [[2, 2, 2], [0, 0, 0], [2, 1, 2]])
def test_limits_of_parameters(p, rate, y):
    """Where every animal is seen, or there is none, one count is possible, or no count."""
    number = dt.tensor("n", dtype="int64")
    terms = {
        "n": dist.Poisson(INPUTS["a"]).logp(number),
        "y": dist.Binomial(number, INPUTS["c"]).logp(known(y, VISIT)),
    }
    total = dt.marginalize(terms, number, states={number: range(MOST + 1)})
    found = dt.evaluate(total, {INPUTS["a"]: rate, INPUTS["c"]: p}, backend="python")
    own = POISSON(COUNTS, rate) + BINOMIAL(np.array(y)[:, None], COUNTS, p).sum(0)
    np.testing.assert_allclose(found, logsumexp(own), rtol=1e-12)


def test_no_count_is_possible():
    """There is no animal, and a term excludes that."""
    number = dt.tensor("n", dtype="int64")
    terms = {"n": dist.Poisson(INPUTS["a"]).logp(number), "x": dt.log(number.astype("float64"))}
    total = dt.marginalize(terms, number, states={number: range(MOST + 1)})
    value, slope = dt.evaluate(
        [total, dt.grad(total, INPUTS["a"])], {INPUTS["a"]: 0.0}, backend="python"
    )
    assert value == -np.inf
    assert np.isfinite(slope)


def fitted(values, **options):
    """A model with a zero-inflated abundance, its observations, and the density by hand."""
    a, c = dt.rv("a", dist.Normal(0.0, 1.0)), dt.rv("c", dist.Normal(0.0, 1.0))
    n = dt.rv("n", dist.zero_inflated(dist.Poisson(dt.exp(a + known(FOREST, SITE))), 0.7))
    y = dt.rv("y", dist.Binomial(n, logit_p=c), dims=VISIT)
    model = dt.Model(y).observe({y: (("site", "visit"), values)}, **options)
    return model.marginalize(n, states={n: range(MOST + 1)}), n


def by_hand(values, a, c):
    own = np.log(0.7) + POISSON(COUNTS, np.exp(a + FOREST)[:, None])
    own[:, 0] = np.logaddexp(own[:, 0], np.log(0.3))
    there = np.isfinite(values)[..., None]
    y = np.nan_to_num(values)[..., None]
    return own + np.where(there, BINOMIAL(y, COUNTS, sigmoid(c)), 0.0).sum(1)


def test_visits_that_are_missing():
    values = SEEN.astype(float)
    values[0, 2] = values[3, :2] = values[4] = np.nan
    model, _ = fitted(values, missing="drop")
    terms = model.logp({"a": 0.9, "c": 0.4})
    found = sum(float(terms[name].sum()) for name in terms if name not in ("a", "c"))
    np.testing.assert_allclose(
        found, logsumexp(by_hand(values, 0.9, 0.4), axis=1).sum(), rtol=1e-12
    )


def test_probabilities_and_the_most_probable_count():
    import xarray as xr

    model, n = fitted(SEEN.astype(float))
    draws = xr.Dataset({"a": (("chain", "draw"), [[0.9]]), "c": (("chain", "draw"), [[0.4]])})
    table = by_hand(SEEN.astype(float), 0.9, 0.4)
    best = model.recover(draws, n, how="most probable")["posterior"]["n"]
    np.testing.assert_array_equal(best.values.ravel(), table.argmax(1))
    chances = model.recover(draws, n, how="probabilities")["posterior"]["n_probability"]
    expected = np.exp(table - logsumexp(table, axis=1, keepdims=True))
    found = chances.isel(chain=0, draw=0).transpose("site", ...).values
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)
