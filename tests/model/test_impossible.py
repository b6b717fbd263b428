"""Observations that their distribution cannot have drawn are named by observe."""

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist
from dimtensor.errors import InputError

K, ROW = dt.Dim("k", coords=["a", "b", "c"]), dt.Dim("row", coords=["u", "v"])
PART, CELL = dt.Dim("part", length=2), dt.Dim("cell", length=3)
HALF = dt.data([0.5, 0.5], dims=PART)
ZEROS, SHARES = [0.0, 1.0, 2.0], [0.5, 1.0, 0.2]


def m():
    return dt.rv("m", dist.Normal(0.0, 1.0))


def a(name="a"):
    return dt.rv(name, dist.HalfNormal(1.0))


def fit(d, values, dims=K, **others):
    model = dt.Model(dt.rv("y", d, dims=dims), backend="python")
    return model.observe({"y": values, **others})


OUTSIDE = "lie outside of the support of their distribution"
NO_DENSITY = "have a density of zero or infinity"
# distributions, values, what is said, and where; parameters are variables unless numbers decide
IMPOSSIBLE = {
    "LogNormal": (lambda: dist.LogNormal(m(), a()), ZEROS, NO_DENSITY, "k=a"),
    "Gamma": (lambda: dist.Gamma(a(), a("b")), ZEROS, NO_DENSITY, "k=a"),
    "Gamma of mean": (lambda: dist.Gamma(mu=a(), sigma=a("b")), ZEROS, NO_DENSITY, "k=a"),
    "Gamma of 2": (lambda: dist.Gamma(2.0, 1.0), ZEROS, NO_DENSITY, "k=a"),
    "Gamma of one half": (lambda: dist.Gamma(0.5, a()), ZEROS, NO_DENSITY, "k=a"),
    "InverseGamma": (lambda: dist.InverseGamma(a(), a("b")), ZEROS, NO_DENSITY, "k=a"),
    "Weibull": (lambda: dist.Weibull(a(), a("b")), ZEROS, NO_DENSITY, "k=a"),
    "Wald": (lambda: dist.Wald(a(), a("b")), ZEROS, NO_DENSITY, "k=a"),
    "Beta": (lambda: dist.Beta(a(), a("b")), SHARES, NO_DENSITY, "k=b"),
    "LogitNormal": (lambda: dist.LogitNormal(m(), 1.0), SHARES, NO_DENSITY, "k=b"),
    "truncated": (lambda: dist.truncated(dist.Normal(m(), 1.0), 0.0, 1.5), ZEROS, OUTSIDE, "k=c"),
    "one known bound": (
        lambda: dist.truncated(dist.Normal(m(), 1.0), m() - 1.0, 1.5), ZEROS, OUTSIDE, "k=c"),
    "counts beyond a bound": (
        lambda: dist.truncated(dist.Poisson(a()), upper=1), [0, 1, 2], OUTSIDE, "k=c"),
    "truncated LogNormal": (
        lambda: dist.truncated(dist.LogNormal(m(), 1.0), upper=3.0), ZEROS, NO_DENSITY, "k=a"),
    "censored": (lambda: dist.censored(dist.Normal(m(), 1.0), upper=1.5), ZEROS, OUTSIDE, "k=c"),
    "not censored": (
        lambda: dist.censored(dist.LogNormal(m(), 1.0), upper=2.0), ZEROS, NO_DENSITY, "k=a"),
    "hurdle": (lambda: dist.hurdle(dist.Gamma(a(), 1.0), 0.5), [0.0, -1.0, 1.0], OUTSIDE, "k=b"),
    "zero_inflated": (
        lambda: dist.zero_inflated(dist.Binomial(3, dt.sigmoid(m())), 0.5), [0, 3, 4], OUTSIDE,
        "k=c"),
    "mixture": (
        lambda: dist.mixture(HALF, dist.LogNormal(m(), dt.data([1.0, 2.0], dims=PART)), PART),
        ZEROS, NO_DENSITY, "k=a"),
    "weighted": (lambda: dist.weighted(dist.LogNormal(m(), 1.0), 2.0), ZEROS, NO_DENSITY, "k=a"),
    "transformed": (
        lambda: dist.transformed(dist.Normal(m(), 1.0), dt.exp, dt.log, dt.positive),
        ZEROS, OUTSIDE, "k=a"),
    "custom": (lambda: dist.custom(lambda x: -x, dt.positive), [1.0, 0.5, -1.0], OUTSIDE, "k=c"),
    "custom that reads": (
        lambda: dist.custom(lambda x: -a() * x, dt.positive), [1.0, 0.5, -1.0], OUTSIDE, "k=c"),
    "a rate of zero": (lambda: dist.Poisson(0.0), [0, 1, 0], NO_DENSITY, "k=b"),
}  # fmt: skip


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_impossible_observations_are_named(case):
    make, values, said, where = IMPOSSIBLE[case]
    with pytest.raises(InputError, match=rf"'y' {said}: 1 of 3\n(.|\n)*at: '{where}'"):
        fit(make(), values)


def test_zeros_have_a_way_out():
    with pytest.raises(InputError, match=r"hint: dist\.hurdle gives zeros a probability"):
        fit(dist.LogNormal(m(), 1.0), ZEROS)


POSSIBLE = {
    "Exponential": (lambda: dist.Exponential(a()), ZEROS),
    "Gamma of 1": (lambda: dist.Gamma(1.0, a()), ZEROS),
    "Weibull of 1": (lambda: dist.Weibull(1.0, a()), ZEROS),
    "ChiSquared of 2": (lambda: dist.ChiSquared(2.0), ZEROS),
    "HalfStudentT": (lambda: dist.HalfStudentT(3.0, a()), ZEROS),
    "HalfNormal": (lambda: dist.HalfNormal(a()), ZEROS),
    "Beta of 1": (lambda: dist.Beta(a(), 1.0), SHARES),
    "Uniform": (lambda: dist.Uniform(0.0, 2.0), ZEROS),
    "Uniform above": (lambda: dist.Uniform(0.0, a()), ZEROS),
    "Uniform below": (lambda: dist.Uniform(m(), 2.0), ZEROS),
    "hurdle": (lambda: dist.hurdle(dist.Gamma(a(), a("b")), 0.5), ZEROS),
    "truncated": (lambda: dist.truncated(dist.Normal(m(), 1.0), 0.0, 2.0), ZEROS),
    "censored": (lambda: dist.censored(dist.LogNormal(m(), 1.0), 0.0, 2.0), ZEROS),
    "bounds that are variables": (
        lambda: dist.truncated(dist.Normal(0.0, 1.0), m(), m() + 3.0), ZEROS),
    "one part": (
        lambda: dist.mixture(HALF, [dist.LogNormal(m(), 1.0), dist.Normal(m(), 1.0)], PART), ZEROS),
}  # fmt: skip


@pytest.mark.parametrize("case", POSSIBLE)
def test_observations_at_an_end_may_be_possible(case):
    make, values = POSSIBLE[case]
    assert fit(make(), values).observed["y"].size == 3


def test_elements_that_belong_together():
    p = dt.rv("p", dist.Dirichlet(dt.ones(CELL), dim=CELL))
    counts = (("row", "cell"), np.array([[6, 6, 0], [6, 6, 1]]))
    with pytest.raises(
        InputError, match=r"'y' do not add up to n along cell: 1 of 2\n(.|\n)*row=v"
    ):
        fit(dist.Multinomial(12, p, dim=CELL), counts, dims=ROW)
    n = dt.data([12, 13], dims=ROW)
    assert fit(dist.Multinomial(n, p, dim=CELL), counts, dims=None).observed
    other = dist.DirichletMultinomial(12, dt.ones(CELL), dim=CELL)
    with pytest.raises(InputError, match="do not add up to n along cell: 1 of 2"):
        fit(other, counts, dims=ROW)
    shares = dist.Dirichlet(a() * dt.ones(CELL), dim=CELL)
    with pytest.raises(InputError, match=f"'y' {OUTSIDE}: 1 of 1\n(.|\n)*'0.2', '0.3', '0.4'"):
        fit(shares, [0.2, 0.3, 0.4], dims=None)
    with pytest.raises(InputError, match=f"'y' {NO_DENSITY}: 1 of 3\n(.|\n)*cell=1"):
        fit(shares, [0.5, 0.0, 0.5], dims=None)
    with pytest.raises(InputError, match=f"'y' {OUTSIDE}: 1 of 1"):
        fit(dist.ordered(dist.Normal(m(), 1.0), dim=CELL), [1.0, 0.0, 2.0], dims=None)


def test_bounds_are_looked_at_when_their_values_are_known():
    high = dt.scalar("high")
    model = dt.Model(dt.rv("y", dist.Uniform(0.0, high), dims=K), backend="python")
    seen = model.observe(y=ZEROS)
    assert seen.with_data({high: 2.0}).log_density().size == 0
    message = rf"'y' {OUTSIDE}: 1 of 3\n(.|\n)*at: 'k=c'"
    with pytest.raises(InputError, match=message):
        seen.with_data({high: 1.5}).log_density()
    with pytest.raises(InputError, match=message):
        model.with_data({high: 1.5}).observe(y=ZEROS)
    assert seen.with_data({high: 1.5}).observed  # predictions ask for no density
    top = dt.rv("top", dist.Normal(0.0, 1.0))
    cut = dt.Model(dt.rv("y", dist.truncated(dist.Normal(m(), 1.0), upper=top), dims=K))
    with pytest.raises(InputError, match=message):
        cut.observe(y=ZEROS, top=1.5)
    with pytest.raises(InputError, match=message):
        cut.observe(y=ZEROS).observe(top=1.5)
    assert cut.observe(y=ZEROS).observe(top=2.0).observed
