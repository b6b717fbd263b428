"""dt.check: values pass, failures are found and located, nothing but a request drops a check."""

from __future__ import annotations

import pickle

import numpy as np
import pytensor
import pytest
import xarray as xr
from hypothesis import given
from hypothesis.extra import numpy as hnp

import dimtensor as dt
from dimtensor.errors import build_message
from tests.backend_names import BACKENDS
from tests.effort import a_third

COUNTRY = dt.Dim("country", coords=["Italy", "Kenya", "USA"])
AGE = dt.Dim("age", length=2)
OBS = dt.Dim("obs")
X = dt.tensor("x", dims=COUNTRY)
Y = dt.tensor("y", dims=OBS)
SAFE = dt.check(X > 0, "x is positive", X)
GOOD, BAD = np.array([1.0, 2.0, 3.0]), np.array([1.0, -2.0, 3.0])
WHERE_BAD = "false: 1 of 3 elements\n  at: country='Kenya'$"


def function(inputs, outputs, **options):
    return dt.function(inputs, outputs, backend="python", **options)


def test_the_value_is_the_value():
    place = dt.data(["USA", "Italy"], dims=OBS, categories=COUNTRY, name="place")
    for value in (X, X > 1, dt.int32("n"), place, dt.scalar("s") * X, dt.full([], 1.5)):
        checked = dt.check(X > 0, "positive", value)
        assert checked.dims == value.dims
        assert (checked.dtype, checked.categories) == (value.dtype, value.categories)
    labels = dt.check(place == "USA", "American", place)
    with pytest.raises(dt.CheckError, match=r"at: obs=1$"):
        labels.eval()
    result = function([X], dt.check(X > 0, "x is positive", X))(GOOD)
    xr.testing.assert_identical(result, function([X], X)(GOOD))


def test_without_a_value_the_condition_carries_the_check():
    condition = dt.check(X > 0, "x is positive")
    assert (condition.dtype, condition.dims) == ("bool", (COUNTRY,))
    assert condition.eval({X: GOOD}).values.all()
    with pytest.raises(dt.CheckError, match=f"^x is positive\n  {WHERE_BAD}"):
        condition.eval({X: BAD})


@a_third
@given(hnp.arrays(bool, hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=4)))
def test_failures_are_located(fine):
    """The oracle walks the DataArray in the order of the names of its dims."""
    row, column = dt.Dim("row"), dt.Dim("column")
    labels = [f"r{at}" for at in range(fine.shape[0])]
    given_array = xr.DataArray(fine, dims=("row", "column"), coords={"row": labels})
    flags = dt.tensor("flags", dims=[row, column], dtype="bool")
    f = function([flags], dt.check(flags, "all flags"))
    if fine.all():
        assert f(given_array).values.all()
        return
    places = [
        f"column={c}, row={label!r}"
        for c in range(fine.shape[1])
        for r, label in enumerate(labels)
        if not fine[r, c]
    ]
    shown = "; ".join(places[:4]) + ("; …" if len(places) > 4 else "")
    details = [("false", f"{len(places)} of {fine.size} elements"), ("at", shown)]
    with pytest.raises(dt.CheckError, match=r"all flags") as caught:
        f(given_array)
    assert str(caught.value) == build_message("all flags", details)


NOT_NEEDED = {
    "times zero": lambda x: x * 0,
    "not selected": lambda x: dt.where(True, 1.0, x),
    "none of it": lambda x: x.isel(country=[]),
    "a part of it": lambda x: x.isel(country=0),
    "its sum, unused": lambda x: 1.0 + 0 * x.sum(),
    "overwritten": lambda x: x.isel(country=slice(None, None, -1)).set(1.0),
    "as a condition": lambda x: (x == x).all(),
    "its length": lambda x: dt.concat([x, x], "country").sum() * 0,
    "twice": lambda x: dt.grad(dt.grad((x * 0).sum(), X).sum(), X),
    "gradient of something else": lambda x: dt.grad(X.sum() + 0 * x.sum(), X),
    "lost in a gradient": lambda x: dt.grad((x + 3).sum(), x),
    "stopped": lambda x: dt.stop_gradient(x) * 0,
    "jvp": lambda x: dt.jvp(x**2, X, dt.zeros(COUNTRY)),
    "jacobian": lambda x: dt.jacobian(x, X) * 0,
    "substituted": lambda x: dt.substitute(X + 1, {X: x}),
}


@pytest.mark.parametrize("use", NOT_NEEDED)
def test_checks_are_made_where_the_value_is_not_needed(use):
    f = function([X], NOT_NEEDED[use](SAFE))
    expected = function([X], NOT_NEEDED[use](X))(GOOD)
    xr.testing.assert_allclose(f(GOOD), expected)
    with pytest.raises(dt.CheckError, match=WHERE_BAD):
        f(BAD)
    dropped = function([X], NOT_NEEDED[use](SAFE), checks=False)
    xr.testing.assert_identical(dropped(BAD), function([X], NOT_NEEDED[use](X))(BAD))


def test_derivatives_pass():
    loss = (SAFE**3).sum()
    gradient, hessian = dt.grad(loss, X), dt.hessian(loss, X)
    np.testing.assert_allclose(gradient.eval({X: GOOD}), 3 * GOOD**2)
    np.testing.assert_allclose(hessian.eval({X: GOOD}), np.diag(6 * GOOD))
    product = dt.jvp(SAFE**2, X, X)
    np.testing.assert_allclose(product.eval({X: GOOD}), 2 * GOOD**2)
    np.testing.assert_allclose(dt.grad(loss, SAFE).eval({X: GOOD}), 3 * GOOD**2)


def test_a_derivative_by_a_checked_tensor_stays_one_without_the_check():
    """Ways around the checked tensor do not count, and two checks of one tensor are two."""
    twice = X * 2
    one = dt.check(X > 0, "one", twice)
    two = dt.check(X < 9, "two", twice)
    y = (3 * one + 5 * two + 7 * twice).sum()
    outputs = [dt.grad(y, one), *dt.grad(y, [one, two]), dt.grad(y, twice), dt.grad(y, X)]
    for checks in (True, False):
        values = function([X], outputs, checks=checks)(GOOD)
        assert [set(v.values) for v in values] == [{3.0}, {3.0}, {5.0}, {15.0}, {30.0}]


def test_the_first_failure_of_several_is_told():
    inner = dt.check(X > 0, "inner", X)
    outer = dt.check(dt.log(inner) > -1, "outer", inner * 2)
    f = function([X], outer.sum())
    with pytest.raises(dt.CheckError, match=r"^inner\n"):
        f(BAD)
    with pytest.raises(dt.CheckError, match=r"^outer\n  false: 1 of 3 .*\n  at: country='USA'"):
        f([1.0, 2.0, 0.1])
    with pytest.raises(dt.CheckError, match=r"^of nothing but numbers$"):
        dt.check((X**2).sum() < 0, "of nothing but numbers", X).eval({X: GOOD})


def test_python_truth_values_are_conditions():
    assert float(dt.check(True, "fine", 2.0).eval()) == 2.0
    with pytest.raises(dt.CheckError, match=r"^never$"):
        dt.check(False, "never", X).eval({X: GOOD})
    mask = xr.DataArray([True, False, True], dims="country")
    with pytest.raises(dt.CheckError, match=WHERE_BAD):
        dt.check(mask, "a labeled array", X).eval({X: GOOD})


def test_nan_fails_a_comparison():
    with pytest.raises(dt.CheckError, match=r"at: country='Italy'"):
        SAFE.eval({X: [np.nan, 1.0, 2.0]})


# -- dims ------------------------------------------------------------------------------------------


def test_other_dims_than_those_of_the_value():
    checked = dt.check(X + Y > 0, "the sum is positive", dt.scalar("s"))
    f = function([dt.scalar("s"), X, Y], checked * 2)
    labeled = xr.DataArray([5.0, -2.5], dims="obs", coords={"obs": ["p", "q"]})
    assert float(f(1.5, GOOD, np.abs(labeled))) == 3.0
    with pytest.raises(dt.CheckError) as caught:
        f(1.5, GOOD, labeled)
    assert str(caught.value) == (
        "the sum is positive\n  false: 2 of 6 elements\n"
        "  at: country='Italy', obs='q'; country='Kenya', obs='q'"
    )
    # a dim of the condition is no dim of the result: another one of its name may come in
    assert dt.check(X > 0, "m", dt.tensor("z", dims=dt.Dim("country", length=4))).sizes == {
        "country": 4
    }


def test_what_a_mask_leaves_has_its_labels():
    kept = Y[Y > 0]
    f = function([Y], dt.check(kept < 3, "small", kept).sum())
    values = xr.DataArray([1.0, -1.0, 5.0, 2.0], dims="obs", coords={"obs": list("abcd")})
    with pytest.raises(dt.CheckError, match=r"^small\n  false: 1 of 3 elements\n  at: obs='c'$"):
        f(values)
    assert float(f(values[:2])) == 1.0


def test_labels_that_arrive_with_the_data():
    f = function([Y], dt.check(Y.sel(obs=["q", "p"]) > 0, "late", Y) * 2)
    values = xr.DataArray([1.0, -1.0, -3.0], dims="obs", coords={"obs": list("pqr")})
    with pytest.raises(dt.CheckError, match=r"^late\n  false: 1 of 2 elements\n  at: obs='q'$"):
        f(values)
    assert f(abs(values)).values.tolist() == [2.0, 2.0, 6.0]


def test_masks_that_are_checked():
    mask = dt.check(Y < 10, "small", Y > 0)
    kept = Y[mask]
    for checks in (True, False):
        f = function([Y], [kept * 2, dt.concat([kept, kept], "obs").sum()], checks=checks)
        values = xr.DataArray([1.0, -1.0, 5.0], dims="obs", coords={"obs": list("abc")})
        doubled, total = f(values)
        xr.testing.assert_equal(doubled, 2 * values[[0, 2]])
        assert float(total) == 12.0
    with pytest.raises(dt.CheckError, match=r"^small\n  false: 1 of 3 elements\n  at: obs='c'$"):
        function([Y], kept)(values * 2)
    np.testing.assert_array_equal(function([Y], kept, checks=False)(values * 2), [2.0, 10.0])


def test_a_checked_index_is_still_checked_on_the_host():
    at = dt.tensor("at", dims=OBS, dtype="int64")
    f = function([X, at], X.isel(country=dt.check(at != 1, "not Kenya", at)))
    assert f(GOOD, [0, 2]).values.tolist() == [1.0, 3.0]
    with pytest.raises(dt.PositionError, match=r"'at' has positions outside of dim 'country'"):
        f(GOOD, [0, 3])
    with pytest.raises(dt.CheckError, match=r"^not Kenya\n  false: 1 of 2 elements\n  at: obs=1"):
        f(GOOD, [0, 1])


def test_a_batched_call_checks_every_position():
    s = dt.scalar("s")
    f = function([X, s], [SAFE * 2, s + dt.check(s > 0, "s is positive", 0.0)])
    draws = xr.DataArray([GOOD, BAD], dims=("draw", "country"), coords={"draw": [10, 20]})
    doubled, _ = f(np.abs(draws), 1.0)
    np.testing.assert_array_equal(doubled.transpose("draw", "country"), 2 * np.abs(draws))
    with pytest.raises(dt.CheckError, match=r"1 of 6 elements\n  at: country='Kenya', draw=20$"):
        f(draws, 1.0)
    with pytest.raises(dt.CheckError, match=r"s is positive\n  false: 1 of 2 .*\n  at: draw=20$"):
        f(GOOD, xr.DataArray([1.0, -1.0], dims="draw", coords={"draw": [10, 20]}))
    draw = dt.Dim("draw", length=2)
    grown = dt.tensor("x", dims=[COUNTRY, draw])
    gradient = dt.vectorize(dt.grad((SAFE**2).sum(), X), {X: draw})
    assert set(gradient.dims) == {COUNTRY, draw}
    with pytest.raises(dt.CheckError, match=r"at: country='Kenya', draw=1$"):
        gradient.eval({grown: draws.drop_vars("draw")})


# -- what is checked -------------------------------------------------------------------------------


def test_checks_that_no_output_depends_on():
    positive = dt.check(X > 0, "x is positive")
    several = dt.check(X.sum() < 10, "x is small", dt.check(Y > 0, "y is positive", Y).sum())
    f = function([X, Y], X, checks=[positive, several])
    result = f(GOOD, [1.0])
    xr.testing.assert_identical(result, function([X], X)(GOOD))
    assert result.name == "x"
    for values, message in (
        ((BAD, [1.0]), "^x is positive\n"),
        ((10 * GOOD, [1.0]), "^x is small$"),
        ((GOOD, [-1.0]), "^y is positive\n"),
    ):
        with pytest.raises(dt.CheckError, match=message):
            f(*values)
    alone = function([X], {"total": X.sum(), "x": X}, checks=positive)
    assert {name: v.name for name, v in alone(GOOD).items()} == {"total": "total", "x": "x"}
    with pytest.raises(dt.CheckError, match=WHERE_BAD):
        alone(BAD)
    # those that outputs depend on are made anyway, and once
    both = function([X], SAFE.sum(), checks=[SAFE, positive])
    assert [check.message for check in both._code.program.checks] == ["x is positive"]


def test_dropping_takes_what_only_checks_need_along():
    limit = dt.tensor("limit", dims=OBS)
    checked = dt.check((limit > X).all(), "below all limits", X)
    f = function([X], checked * 2, checks=False)
    assert f(GOOD).values.tolist() == [2.0, 4.0, 6.0]
    assert f.output_nodes == ((X * 2).node,)
    with pytest.raises(dt.GraphError, match=r"depend on inputs that are not given"):
        function([X], checked * 2)


def test_what_operations_ask_of_their_operands_is_not_dropped():
    n, k = dt.int64("n"), dt.int64("k")
    power = dt.check(n > 0, "positive", n) ** k
    f = function([n, k], power, checks=False)
    assert int(f(-2, 3)) == -8
    with pytest.raises(dt.CheckError, match=r"integers have no negative powers"):
        f(-2, -1)


def test_data_are_checked_when_they_change():
    y = dt.data([1.0, 2.0], dims=OBS, name="data")
    f = function([], dt.check(y > 0, "data are positive", y).sum())
    assert float(f()) == 3.0
    with pytest.raises(dt.CheckError, match=r"are positive\n  false: 2 of 3 .*\n  at: obs=1; o"):
        f.with_data(data=[1.0, -1.0, 0.0])()


def test_functions_and_expressions_come_back_from_pickles():
    assert pickle.loads(pickle.dumps(SAFE)) is SAFE
    f = pickle.loads(pickle.dumps(function([X], X * 1, checks=[SAFE])))
    with pytest.raises(dt.CheckError, match=WHERE_BAD):
        f(BAD)


def test_an_assertion_in_positional_graphs():
    total = (SAFE * 0).sum().to_shaped([])
    (x,) = [v for v in pytensor.graph.traversal.graph_inputs([total]) if v.name == "x"]
    f = pytensor.function([x], total, mode="FAST_COMPILE")
    assert f(GOOD) == 0
    with pytest.raises(AssertionError, match=r"x is positive"):
        f(BAD)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_comes_back_from_a_positional_graph_is_checked(backend):
    twice = SAFE.to_shaped([COUNTRY]) * 2
    small = pytensor.raise_op.Assert("small")(twice, (twice < 100).all(), twice[0] > -100)
    back = dt.from_shaped(small, dims=COUNTRY)
    f = dt.function([X], [back * 0, dt.grad((back**2).sum(), X)], backend)
    nothing, gradient = f(GOOD)
    assert not nothing.any()
    np.testing.assert_allclose(gradient, 8 * GOOD)
    draws = xr.DataArray([GOOD, GOOD, BAD], dims=("draw", "country"))
    with pytest.raises(dt.CheckError, match=r"^x is positive$"):
        f(BAD)
    with pytest.raises(dt.CheckError, match=r"^x is positive\n  false: 1 of 3 .*\n  at: draw=2$"):
        f(draws)
    with pytest.raises(dt.CheckError, match=r"^small$"):
        f(100 * GOOD)


def test_evaluation():
    with pytest.raises(dt.CheckError, match=WHERE_BAD):
        dt.evaluate({"a": X, "b": SAFE * 0}, {"x": BAD})
