"""Each rule is found where it helps, and what it makes is what NumPy computes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as sp

import dimtensor as dt
from dimtensor.plugins.saturation.rules.rule import RULES
from tests.plugins.saturation import models as m

ROW, COL, MID, RANK = (
    dt.Dim(n, length=size) for n, size in zip("ijlq", (30, 40, 20, 5), strict=True)
)


def evaluated(x: dt.DimTensor, values: dict) -> np.ndarray:
    return np.asarray(x.eval(values).values)


def check(x, values, expected, *rules, allow=(), lengths=None):
    """The rules are used, the cost falls, and the value is the expected one."""
    found = dt.simplify(x, lengths, allow=allow)
    assert set(rules) <= set(found.rules), found
    assert found.after < found.before
    np.testing.assert_allclose(evaluated(found.result, values), expected, rtol=1e-10, atol=1e-10)
    return found


def test_rules_have_names_and_reasons():
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    assert all(rule.reason and rule.kinds for rule in RULES)


def test_factors_before_the_sum():
    x, s = dt.tensor("x", dims=ROW), dt.tensor("s", dims=COL)
    X, S = np.arange(30.0), np.arange(40.0) - 3
    found = check((x * s * 3.0).sum(ROW), {x: X, s: S}, 3 * X.sum() * S, "factors before the sum")
    assert found.after < found.before / 10


def test_order_of_contraction():
    A, B, V = m.RNG.normal(size=(30, 40)), m.RNG.normal(size=(40, 20)), m.RNG.normal(size=20)
    a, b, v = dt.data(A, dims=[ROW, COL]), dt.tensor("b", dims=[COL, MID]), dt.tensor("v", dims=MID)
    product = dt.dot(dt.dot(a, b, dim=COL), v, dim=MID)
    b_values = (("j", "l"), B)
    found = check(product, {b: b_values, v: V}, A @ (B @ V), "order of contraction")
    assert found.after < found.before / 8


def test_a_sum_of_a_product_of_matrices():
    W, H = m.RNG.normal(size=(30, 20)), m.RNG.normal(size=(20, 40))
    w, h = dt.tensor("w", dims=[ROW, MID]), dt.tensor("h", dims=[MID, COL])
    check(
        dt.dot(w, h, dim=MID).sum(),
        {w: (("i", "l"), W), h: (("l", "j"), H)},
        (W @ H).sum(),
        "one sum of sums",
        "order of contraction",
    )


def test_terms_apart_and_a_sum_over_a_dim_that_a_term_lacks():
    x, c = dt.tensor("x", dims=ROW), dt.scalar("c")
    X = np.linspace(0.0, 2.0, 30)
    check(
        (dt.exp(c) + dt.log(c) + dt.square(x) * c).sum(),
        {x: X, c: 0.7},
        30 * (np.exp(0.7) + np.log(0.7)) + 0.7 * (X**2).sum(),
        "terms summed apart",
    )


def test_squares_multiplied_out_where_asked_for():
    X, U, V = m.RNG.normal(size=(30, 40)), *(m.RNG.normal(size=(n, 5)) for n in (30, 40))
    x, u, v = (
        dt.data(X, dims=[ROW, COL]),
        dt.tensor("u", dims=[ROW, RANK]),
        dt.tensor("v", dims=[COL, RANK]),
    )
    gradient = dt.dot(dt.dot(u, v, dim=RANK) - x, v, dim=COL)
    values = {u: (("i", "q"), U), v: (("j", "q"), V)}
    assert "multiplied out" not in dt.simplify(gradient).rules
    check(gradient, values, (U @ V.T - X) @ V, "multiplied out", allow="reassociate")


def test_a_square_of_a_sum_needs_dims_of_other_names():
    U, V = (m.RNG.normal(size=(n, 5)) for n in (30, 40))
    u, v = dt.tensor("u", dims=[ROW, RANK]), dt.tensor("v", dims=[COL, RANK])
    norm = (dt.dot(u, v, dim=RANK) ** 2).sum()
    check(
        norm,
        {u: (("i", "q"), U), v: (("j", "q"), V)},
        ((U @ V.T) ** 2).sum(),
        "one sum of sums",
    )


def test_a_common_factor():
    P, X = m.RNG.normal(size=30), m.RNG.normal(size=(30, 40))
    p, x = dt.tensor("p", dims=ROW), dt.tensor("x", dims=[ROW, COL])
    check(
        p * x - p * p.sum() * x,
        {p: P, x: (("i", "j"), X)},
        P[:, None] * X * (1 - P.sum()),
        "a common factor",
    )


def test_small_factors_first():
    X, P = m.RNG.normal(size=(30, 40)), m.RNG.normal(size=30)
    p, x, c = dt.tensor("p", dims=ROW), dt.tensor("x", dims=[ROW, COL]), dt.scalar("c")
    check(
        x * p * c / 3.0,
        {p: P, x: (("i", "j"), X), c: 2.0},
        X * P[:, None] * 2 / 3,
        "small factors first",
    )


def test_elementwise_work_once_per_group():
    found = check(
        dt.exp(m.a.sel(county=m.where) * m.b),
        {m.a: m.A, m.b: m.B},
        np.exp(m.A * m.B)[m.WHERE],
        "once per group",
    )
    assert found.after < 1000 < found.before


def test_look_ups_by_several_dims_are_one():
    effect = m.a.sel(county=m.where) + m.b * m.basement + m.f.sel(floor=m.level)
    check(
        effect,
        {m.a: m.A, m.b: m.B, m.f: m.F},
        m.A[m.WHERE] + m.B * m.LEVEL + m.F[m.LEVEL],
        "look-ups together",
    )


def test_only_what_is_looked_up_of_many_groups():
    few = dt.Dim("few", length=3)
    places = dt.data([1, 0, 5], dims=few, categories=m.COUNTY)
    check(
        dt.exp(m.a * m.uranium).sel(county=places),
        {m.a: m.A},
        np.exp(m.A * m.U)[[1, 0, 5]],
        "only what is looked up",
    )


def test_poisson_by_group():
    eta = m.a.sel(county=m.where) * 0.1 + m.b * m.uranium.sel(county=m.where)
    eta = eta + m.f.sel(floor=m.level)
    logp = (m.k * eta - dt.exp(eta) - dt.special.gammaln(m.k + 1)).sum()
    values = m.A[m.WHERE] * 0.1 + m.B * m.U[m.WHERE] + m.F[m.LEVEL]
    found = check(
        logp,
        {m.a: m.A, m.b: m.B, m.f: m.F},
        (m.K * values - np.exp(values) - sp.gammaln(m.K + 1)).sum(),
        "sums by group",
    )
    assert found.after < found.before / 10


def test_bernoulli_by_group():
    trials = dt.data(m.LEVEL.astype(float), dims=m.HOUSE)
    eta = m.a.sel(county=m.where)
    logp = (trials * eta - dt.softplus(eta)).sum()
    values = m.A[m.WHERE]
    expected = (m.LEVEL * values - np.logaddexp(0, values)).sum()
    check(logp, {m.a: m.A}, expected, "sums by group")


def test_exponential_by_group():
    rate = dt.exp(m.a).sel(county=m.where)
    logp = (dt.log(rate) - rate * m.k).sum()
    expected = (m.A[m.WHERE] - np.exp(m.A[m.WHERE]) * m.K).sum()
    check(logp, {m.a: m.A}, expected, "sums by group")


def test_a_group_without_elements_counts_for_nothing_be_it_infinite():
    rate = m.a.sel(county=m.where)
    logp = (dt.log(rate) - rate * m.k).sum()
    values = np.append(np.exp(m.A[:-1]), 0.0)  # the last county has no house
    at_houses = values[m.WHERE]
    found = dt.simplify([logp, dt.grad(logp, m.a)])
    assert "sums by group" in found.rules
    value, slope = dt.evaluate(found.result, {m.a: values})
    np.testing.assert_allclose(
        float(value), (np.log(at_houses) - at_houses * m.K).sum(), rtol=1e-12
    )
    assert slope.values[-1] == 0.0
    assert np.isfinite(slope.values).all()


RESIDUALS = {
    "one mean": (lambda: m.b + 0.0 * m.g, lambda: np.full(m.N, m.B)),
    "groups": (lambda: m.a.sel(county=m.where), lambda: m.A[m.WHERE]),
    "a line": (lambda: m.b + m.g * m.basement, lambda: m.B + m.G * m.LEVEL),
    "radon": (
        lambda: m.a.sel(county=m.where) + m.g * m.uranium.sel(county=m.where) + m.b * m.basement,
        lambda: m.A[m.WHERE] + m.G * m.U[m.WHERE] + m.B * m.LEVEL,
    ),
    "two look-ups": (
        lambda: m.a.sel(county=m.where) + m.f.sel(floor=m.level),
        lambda: m.A[m.WHERE] + m.F[m.LEVEL],
    ),
    "a slope for each group": (
        lambda: m.b + m.a.sel(county=m.where) * m.k,
        lambda: m.B + m.A[m.WHERE] * m.K,
    ),
}


@pytest.mark.parametrize("name", RESIDUALS)
@pytest.mark.parametrize("weighted", [False, True])
def test_squares_by_group(name: str, weighted: bool):
    mean, expected = RESIDUALS[name]
    residual = m.y - mean()
    values = m.Y - expected()
    if weighted:
        residual = residual / dt.data(m.K + 0.5, dims=m.HOUSE)
        values = values / (m.K + 0.5)
    total = (dt.square(residual) / m.s**2).sum()
    given = {x: v for x, v in zip((m.a, m.b, m.f, m.g, m.s), (m.A, m.B, m.F, m.G, m.S), strict=True)
             if x in dt.inputs_of(total)}  # fmt: skip
    check(total, given, (values**2).sum() / m.S**2, "squares by group")


def test_squares_by_group_with_a_scale_for_each():
    scale = dt.exp(m.a).sel(county=m.where)
    total = (dt.square((m.y - m.a.sel(county=m.where)) / scale)).sum()
    expected = (((m.Y - m.A[m.WHERE]) / np.exp(m.A)[m.WHERE]) ** 2).sum()
    check(total, {m.a: m.A}, expected, "squares by group")


def test_columns_that_depend_on_each_other():
    twice = dt.data(2.0 * m.LEVEL, dims=m.HOUSE)
    residual = m.y - m.b * m.basement - m.g * twice - m.s
    expected = ((m.Y - m.B * m.LEVEL - m.G * 2 * m.LEVEL - m.S) ** 2).sum()
    check(dt.square(residual).sum(), {m.b: m.B, m.g: m.G, m.s: m.S}, expected, "squares by group")


def test_over_no_elements():
    none = dt.Dim("none")
    x = dt.data(np.zeros(0), dims=none)
    at = dt.data(np.zeros(0, int), dims=none, categories=m.COUNTY)
    total = dt.square(x - m.a.sel(county=at)).sum()
    found = dt.simplify(total, {none: 10**6})
    assert "squares by group" in found.rules
    assert float(found.result.eval({m.a: m.A})) == 0.0
