"""Conditionals: one branch runs; with dims, each branch counts where it is selected."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.testing.differences import assert_gradient
from tests.backend_names import BACKENDS

K = dt.Dim("k", length=3)
x = dt.tensor("x", dims=K)
s = dt.scalar("s")


def slow():
    """A loop that would never end, were it run."""
    return dt.while_loop(lambda v: v > -1, lambda v: v + 1, s * 0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_only_the_selected_branch_runs(backend):
    flag = dt.scalar("flag", dtype="bool")
    found = dt.if_else(flag, lambda: s + 1, slow)
    f = dt.function([flag, s], found, backend=backend)
    assert float(f(True, 2.0)) == 3.0
    again = dt.if_else(flag, lambda: s + 1, slow)
    assert again is found, "what exists already stays in its branch"
    gradient = dt.grad(dt.if_else(flag, lambda: dt.sqrt(s), lambda: s * 3), s)
    g = dt.function([flag, s], gradient, backend=backend)
    assert float(g(True, 4.0)) == 0.25
    assert float(g(False, -4.0)) == 3.0


def test_branches_give_trees_of_one_type():
    found = dt.if_else(
        s > 0, lambda a: {"a": a.sum(), "b": (1, a)}, lambda a: {"b": (2.5, 0.0), "a": 1.0}, x
    )
    feed = {x: np.array([1.0, 2.0, 3.0])}
    assert found["b"][0].dtype == "float64"
    assert found["b"][1].sizes == {"k": 3}
    assert float(found["a"].eval({**feed, s: 1.0})) == 6.0
    assert float(found["b"][0].eval({**feed, s: -1.0})) == 2.5
    assert found["b"][1].eval({**feed, s: -1.0}).values.tolist() == [0.0, 0.0, 0.0]


def test_gradients_are_free_of_what_is_not_selected():
    found = dt.if_else(x > 0, lambda x: dt.sqrt(x) * s, lambda x: -dt.log(1 - x), x)
    values = np.array([4.0, 0.0, -3.0])
    np.testing.assert_allclose(
        found.eval({x: values, s: 2.0}), [4.0, 0.0, -np.log(4.0)], atol=1e-15
    )
    gradient, by_s = dt.evaluate(dt.grad(found.sum(), [x, s]), {x: values, s: 2.0})
    np.testing.assert_allclose(gradient, [0.5, 1.0, 0.25])
    np.testing.assert_allclose(by_s, 2.0)


def test_branches_that_mix_positions_have_right_gradients(rng):
    found = dt.if_else(x > 0, lambda x: x * (x**2).sum(K), lambda x: x.cumsum(K), x)
    assert_gradient((found**2).sum(), x, {x: np.array([0.5, -0.7, 1.2])})


def test_checks_count_where_their_branch_does():
    found = dt.if_else(
        x > 0, lambda x: dt.check(x < 5, "small", x), lambda x: dt.check(x > -5, "large", x), x
    )
    found.eval({x: np.array([1.0, -4.0, 4.0])})
    with pytest.raises(dt.CheckError, match="small"):
        found.eval({x: np.array([1.0, -4.0, 6.0])})
    lazy = dt.if_else(s > 0, lambda: dt.check(s < 5, "small", s), lambda: s)
    assert float(lazy.eval({s: -9.0})) == -9.0
    with pytest.raises(dt.CheckError, match="small"):
        lazy.eval({s: 9.0})


def test_a_batch_selects_for_each():
    lazy = dt.if_else(s > 0, lambda a: dt.sqrt(s) + a, lambda a: a * s, x)
    draw = dt.Dim("draw", length=2)
    batched, gradient = dt.vectorize([lazy, dt.grad(lazy.sum(), s)], {s: draw})
    values = np.array([1.0, 2.0, 3.0])
    feed = {"s": np.array([4.0, -2.0]), "x": values}
    found = batched.eval(feed).transpose("draw", "k")
    np.testing.assert_allclose(found, [2.0 + values, -2.0 * values])
    np.testing.assert_allclose(gradient.eval({"s": feed["s"]} | {"x": values}), [0.75, 6.0])


def test_a_python_bool_selects_at_once():
    assert dt.if_else(True, lambda a: a + 1, None, s) is s + 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_branches_in_a_loop(backend, rng):
    time = dt.Dim("time", length=6)
    y = dt.tensor("y", dims=time)

    def step(h, y):
        return dt.if_else(y > 0, lambda: h * 0.5 + y * s, lambda: h), None

    last = dt.scan(step, 1.0, y, dim=time)[0]
    values = rng.normal(size=6)
    found = dt.function([y, s], [last, dt.grad(last, s)], backend=backend)(values, 2.0)
    h, slope = 1.0, 0.0
    for v in values:
        if v > 0:
            h, slope = h * 0.5 + v * 2.0, slope * 0.5 + v
    np.testing.assert_allclose(found, [h, slope])


def test_what_is_not_selected_does_no_harm():
    """Positions outside, checks in loops, and loops that would never end."""
    at = dt.tensor("at", dims=K, dtype="int64")
    row = dt.Dim("row", length=2)
    table = dt.data([10.0, 20.0], dims=row)
    found = dt.if_else(at < 2, lambda: table.isel(row=at) * 1.0, lambda: -1.0)
    assert found.eval({at: np.array([1, 5, 0])}).values.tolist() == [20.0, -1.0, 10.0]
    with pytest.raises(dt.CheckError, match="positions computed"):
        found.eval({at: np.array([1, -7, 0])})

    def halved(x):
        return dt.while_loop(lambda v: v != 1, lambda v: dt.check(v < 9, "below 9", v) / 2, x)

    chosen = dt.if_else(x > 0, halved, lambda x: x, x)
    assert chosen.eval({x: np.array([4.0, -3.0, 8.0])}).values.tolist() == [1.0, -3.0, 1.0]
    with pytest.raises(dt.CheckError, match="below 9"):
        chosen.eval({x: np.array([16.0, 1.0, -16.0])})
    chosen.eval({x: np.array([8.0, 1.0, -16.0])})


ROW, COLUMN = dt.Dim("row", length=3), dt.Dim("column", length=3)
_flag, _table = dt.tensor("flag", dims=ROW), dt.tensor("table", dims=COLUMN)
_BACKWARDS = dt.data(np.array([2, 1, 0]), dims=ROW)
_AT = {_flag: np.array([-1.0, 1.0, 2.0]), _table: np.array([10.0, 20.0, 30.0])}

# what positions of an arm put together counts where the arm is selected at all
TOGETHER = {
    "gather, sum": (lambda: _table.isel(column=_BACKWARDS).sum(), [60.0, 60.0]),
    "gather, cumsum": (lambda: _table.isel(column=_BACKWARDS).cumsum(ROW), [50.0, 60.0]),
    "scatter": (
        lambda: _table.isel(column=_BACKWARDS).set(5.0).isel(column=2) + 0.0 * _flag,
        [5.0, 5.0],
    ),
    "loops, sum": (
        lambda: dt.while_loop(lambda s: s < 5, lambda s: s + 1, _flag, 20).sum(),
        [15.0, 15.0],
    ),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", TOGETHER)
def test_what_is_put_together_counts_in_all_positions(name, backend):
    arm, expected = TOGETHER[name]
    found = dt.if_else(_flag > 0, arm, lambda: _flag)
    known = set(dt.inputs_of(found))
    value = dt.evaluate(found, {k: v for k, v in _AT.items() if k in known}, backend=backend)
    assert value.values.tolist() == [-1.0, *expected]


def test_a_check_of_what_is_summed_counts_everywhere():
    found = dt.if_else(
        _flag > 0, lambda: dt.check(_flag > 0, "positive", _flag).sum(), lambda: _flag
    )
    with pytest.raises(dt.CheckError, match="positive"):
        found.eval({_flag: _AT[_flag]})


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradient_by_what_an_arm_captures_and_selects_from(backend):
    """A median, with its selections, is computed outside; two positions of three take it."""
    middle = _table.median()
    row = dt.data(np.array([-1.0, 1.0, 2.0]), dims=ROW)
    found = dt.if_else(row > 0, lambda: middle.isel({}) * 1.5 + dt.zeros(ROW), lambda: row)
    chosen = dt.if_else(row > 0, lambda: _table.isel(column=_BACKWARDS) * middle, lambda: row)
    slopes = [dt.grad(found.sum(), middle), dt.grad(chosen.sum(), middle)]
    values = dt.evaluate(slopes, {_table: _AT[_table]}, backend=backend)
    assert [float(x) for x in values] == [3.0, 30.0]


@pytest.mark.parametrize("condition", [s > 0, x > 0], ids=["scalar", "by element"])
def test_gradient_by_what_is_made_of_what_an_arm_writes_again(condition):
    """The arm writes 2 x, of which the sine was made before: the sine is captured as it is."""
    sine = dt.sin(x * 2.0)
    found = dt.if_else(condition, lambda: sine.sum() + (x * 2.0).sum(), lambda: s)
    slope = dt.grad(found.sum(), sine).eval({x: np.array([1.0, 2.0, 0.5]), s: 1.0})
    assert slope.values.tolist() == ([1.0] * 3 if not condition.dims else [3.0] * 3)


def test_a_loop_along_a_dim_of_the_condition_stops_for_all_of_its_steps():
    """Steps of chosen length are a loop in a loop: it goes on where any later position counts."""
    day = dt.Dim("day", length=3)
    x, y0 = dt.tensor("x", dims=day), dt.scalar("y0")

    def decay():
        (y,) = dt.ode(lambda t, s: (s[0] * -0.5,), (y0,), dt.arange(day), method="dopri5")
        return dt.minimum(y, x)

    found = dt.if_else(x > 0.1, decay, lambda: 0.0 * x - 1.0)
    value, slope = dt.evaluate([found, dt.grad(found.sum(), y0)], {x: [0.0, 5.0, 0.2], y0: 2.0})
    np.testing.assert_allclose(value.values, [-1.0, 2 * np.exp(-0.5), 0.2], rtol=1e-5)
    np.testing.assert_allclose(slope, np.exp(-0.5), rtol=1e-5)


def test_an_arm_that_makes_a_dim_of_the_condition():
    """What has not that dim before is taken as it is: it would have it twice."""
    a, b = dt.Dim("a", length=2), dt.Dim("b", length=1)
    x, y = dt.tensor("x", dims=a), dt.tensor("y", dims=b)

    def twice(y):
        return dt.concat([y, 3.0 * y], [b, b], name="j").relabel("j", a)

    chosen = dt.if_else(x > 0.6, twice, lambda y: x * y.sum(), y)
    f = dt.function([x, y], [chosen, dt.grad(chosen.sum(), y)], backend="python")
    for given, expected, slope in [
        ([0.5, 0.7], [0.5 * 2.0, 3.0 * 2.0], 0.5 + 3.0),
        ([0.8, 0.1], [2.0, 0.1 * 2.0], 1.0 + 0.1),
    ]:
        values, by_y = f(given, [2.0])
        np.testing.assert_allclose(values.values, expected)
        np.testing.assert_allclose(by_y.values, [slope])
