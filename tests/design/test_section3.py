"""The semantics of dims, lengths, labels and gradients, one group of tests per rule."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt

COUNTRY = dt.Dim("country", coords=["Italy", "Kenya", "USA"])
AGE = dt.Dim("age", length=5)
OBS = dt.Dim("obs")


def labeled(values, labels, name="obs") -> xr.DataArray:
    return xr.DataArray(np.asarray(values, dtype=float), dims=name, coords={name: labels})


# -- identity by value ------------------------------------------------------------------------


def test_named_dims_are_their_name_with_labels_or_length():
    assert dt.Dim("country", coords=("Italy", "Kenya", "USA")) == COUNTRY
    assert dt.Dim("country", length=3) != COUNTRY
    assert dt.Dim("country", coords=["Italy", "USA", "Kenya"]) != COUNTRY
    assert dt.Dim("age", length=5) == AGE
    assert dt.Dim("age", length=4) != AGE
    assert dt.Dim() != dt.Dim()
    assert dt.SelDim(COUNTRY, ["USA"]) == dt.SelDim(COUNTRY, positions=[2])


def test_dims_unpickled_in_another_process_are_the_same():
    derived = dt.ProductDim({dt.SelDim(COUNTRY, ["USA", "Italy"]), AGE.rename()})
    code = (
        "import pickle, sys, dimtensor as dt\n"
        "country, derived = pickle.load(sys.stdin.buffer)\n"
        "assert country == dt.Dim('country', coords=['Italy', 'Kenya', 'USA'])\n"
        "again = dt.ProductDim({dt.Dim('age', length=5).rename(),"
        " dt.SelDim(country, ['USA', 'Italy'])})\n"
        "assert derived is again\n"
        "sys.stdout.buffer.write(pickle.dumps(derived))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps((COUNTRY, derived)), capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
    assert pickle.loads(done.stdout) is derived


# -- dims are objects; strings are resolved at the edge ---------------------------------------


def test_strings_are_looked_up_among_the_dims_there_are():
    x = dt.tensor("x", dims=[COUNTRY, AGE])
    assert x.sum("age").dims == (COUNTRY,)
    with pytest.raises(dt.DimError, match=r"there is no dim 'contry' \(did you mean 'country'\?\)"):
        x.sum("contry")


def test_tensors_are_made_with_dims_not_strings():
    with pytest.raises(dt.DimError, match="dims of a tensor are Dim objects, not 'country'"):
        dt.tensor("x", dims="country")
    with pytest.raises(dt.DimError, match="dims of a tensor are Dim objects, not 'age'"):
        dt.tensor("x", dims=[COUNTRY, "age"])


# -- two dims with one name never meet --------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        dt.SelDim(COUNTRY, ["USA", "Italy"]),
        dt.Dim("country", coords=["Italy", "Kenya", "Peru"]),
        dt.Dim("country", length=3),
        dt.Dim("country"),
    ],
)
def test_another_dim_of_the_name_is_an_error_where_they_meet(other):
    x, y = dt.tensor("x", dims=COUNTRY), dt.tensor("y", dims=other)
    with pytest.raises(dt.DimError, match="two different dims are named 'country'") as error:
        x * y
    message = str(error.value)
    assert repr(COUNTRY) in message
    assert repr(other) in message
    assert all(way in message for way in ("rename_dim", "reindex", "sel", "align"))


# -- dims are unordered -----------------------------------------------------------------------


def test_order_of_operands_and_of_declared_dims_is_irrelevant():
    x, y = dt.tensor("x", dims=COUNTRY), dt.tensor("y", dims=AGE)
    assert x + y is y + x
    assert dt.tensor("z", dims=[COUNTRY, AGE]) is dt.tensor("z", dims=[AGE, COUNTRY])
    with pytest.raises(dt.DimError, match="dims have no order"):
        (x + y).transpose()


def test_order_enters_at_the_border():
    z = dt.tensor("z", dims=[COUNTRY, AGE])
    assert z.to_shaped([AGE, COUNTRY]).type.shape == (5, 3)
    assert z.to_shaped([COUNTRY, AGE]).type.shape == (3, 5)


# -- lengths ----------------------------------------------------------------------------------


def test_static_lengths_reach_positional_shapes():
    mixed = dt.tensor("x", dims=[COUNTRY, OBS])
    assert mixed.to_shaped([COUNTRY, OBS]).type.shape == (3, None)
    doubled = dt.concat([mixed, mixed], "country", name="twice")
    assert doubled.sizes["twice"] == 6


def test_lengths_are_checked_by_name_at_the_call():
    x, y = dt.tensor("x", dims=OBS), dt.tensor("y", dims=OBS)
    with pytest.raises(dt.DimError, match="inputs disagree about the length of dim 'obs'") as error:
        (x + y).eval({x: np.zeros(3), y: np.zeros(4)})
    assert "input 'x': 3" in str(error.value)
    assert "input 'y': 4" in str(error.value)


def test_a_dim_never_stretches():
    x, y = dt.tensor("x", dims=OBS), dt.tensor("y", dims=OBS)
    with pytest.raises(dt.DimError, match="inputs disagree about the length"):
        (x + y).eval({x: np.zeros(3), y: np.zeros(1)})
    one = dt.tensor("one", dims=dt.Dim("k", length=1))
    with pytest.raises(dt.DimError, match="dim 'k' has length 1, input 'one' has length 3"):
        one.eval({one: np.zeros(3)})
    with pytest.raises(dt.DimError, match="two different dims are named 'k'"):
        one + dt.tensor("many", dims=dt.Dim("k", length=3))


# -- labels belong to the dim -----------------------------------------------------------------


def test_inputs_are_put_into_the_order_of_the_labels():
    x = dt.tensor("x", dims=COUNTRY)
    result = x.eval({x: labeled([3.0, 1.0, 2.0], ["USA", "Italy", "Kenya"], "country")})
    xr.testing.assert_identical(
        result, labeled([1.0, 2.0, 3.0], ["Italy", "Kenya", "USA"], "country").rename("x")
    )
    with pytest.raises(dt.LabelError, match="missing: 'Kenya'\n  unknown: 'Peru'"):
        x.eval({x: labeled([3.0, 1.0, 2.0], ["USA", "Italy", "Peru"], "country")})


def test_late_labels_travel_to_every_output_that_carries_the_dim():
    x, y = dt.tensor("x", dims=OBS), dt.tensor("y", dims=OBS)
    values = {x: labeled([1.0, 2.0], ["p", "q"]), y: np.array([10.0, 20.0])}
    for result in dt.evaluate([x + y, y * 2, dt.exp(x)], values):
        assert result.obs.values.tolist() == ["p", "q"]
    assert dt.evaluate((x + y).sum(), values).coords == {}


def test_inputs_that_disagree_about_late_labels_are_an_error():
    x, y = dt.tensor("x", dims=OBS), dt.tensor("y", dims=OBS)
    values = {x: labeled([1.0, 2.0], ["p", "q"]), y: labeled([1.0, 2.0], ["q", "p"])}
    with pytest.raises(dt.LabelError, match="inputs disagree about the labels of dim 'obs'"):
        (x + y).eval(values)


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        (lambda x: x.sel(obs="q"), lambda v: v.sel(obs="q", drop=True)),
        (lambda x: x.sel(obs=["s", "p"]), lambda v: v.sel(obs=["s", "p"])),
        (lambda x: x.sel(obs=slice("q", "r")), lambda v: v.sel(obs=slice("q", "r"))),
        (lambda x: x.sel(obs=slice("q", None)), lambda v: v.sel(obs=slice("q", None))),
    ],
)
def test_selection_by_late_labels_is_made_at_the_call(select, expected):
    x = dt.tensor("x", dims=OBS)
    for labels in (["p", "q", "r", "s"], ["p", "s", "q", "r", "t"]):
        values = labeled(np.arange(len(labels)), labels)
        result = select(x).eval({x: values})
        xr.testing.assert_identical(result, expected(values))
    with pytest.raises(dt.LabelError, match="dim 'obs' has no labels"):
        x.sel(obs="q").eval({x: np.zeros(3)})


# -- labels are never wrong -------------------------------------------------------------------

RECIPES = {
    "slice": (lambda x: x[1:], lambda v: v[1:]),
    "reverse": (lambda x: x[::-1], lambda v: v[::-1]),
    "step": (lambda x: x[::2], lambda v: v[::2]),
    "positions": (lambda x: x.isel(obs=[3, 0]), lambda v: v[[3, 0]]),
    "mask": (lambda x: x[x > 1], lambda v: v[(v > 1).values]),
    "concat": (
        lambda x: dt.concat([x[2:], x[:2]], "obs"),
        lambda v: xr.concat([v[2:], v[:2]], "obs"),
    ),
    "rename": (lambda x: x.rename(obs="row"), lambda v: v.rename(obs="row")),
    "diff": (lambda x: x.diff("obs"), lambda v: v.diff("obs")),
    "shift": (lambda x: x.shift(obs=1), lambda v: v.shift(obs=1)),
    "roll": (lambda x: x.roll(obs=1), lambda v: v.roll(obs=1)),
    "head": (lambda x: x.head(obs=2), lambda v: v.head(obs=2)),
    "cumsum": (lambda x: x.cumsum("obs"), lambda v: v.cumsum("obs").assign_coords(obs=v.obs)),
}


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_keeps_labels_and_elements_together(recipe, late):
    build, expected = RECIPES[recipe]
    values = labeled([0.0, 3.0, 1.0, 2.0], ["p", "q", "r", "s"])
    x = dt.tensor("x", dims=OBS if late else dt.Dim("obs", coords=values.obs))
    xr.testing.assert_identical(build(x).eval({x: values}).rename(None), expected(values))


@pytest.mark.parametrize("late", [True, False])
def test_ravel_makes_a_multi_index_and_unravel_needs_no_arguments(late):
    values = xr.DataArray(
        [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
        dims=["country", "obs"],
        coords={"country": ["Italy", "Kenya", "USA"], "obs": ["u", "v"]},
    )
    obs = OBS if late else dt.Dim("obs", coords=["u", "v"])
    x = dt.tensor("x", dims=[obs, COUNTRY])
    flat = x.ravel().eval({x: values})
    expected = values.stack(country_obs=["country", "obs"])
    xr.testing.assert_identical(flat.rename(None), expected)
    xr.testing.assert_identical(x.ravel().unravel().eval({x: values}).rename(None), values)
    part = x.ravel()[1:4].eval({x: values})
    xr.testing.assert_identical(part.rename(None), expected[1:4])


def test_equal_recipes_are_equal_dims_and_others_do_not_meet():
    x, w = dt.tensor("x", dims=COUNTRY), dt.tensor("w", dims=COUNTRY)
    assert (x[1:] * w[1:]).dims == (dt.SelDim(COUNTRY, ["Kenya", "USA"]),)
    for late in (x, dt.tensor("x", dims=OBS)):
        with pytest.raises(dt.DimError, match="two different dims are named"):
            late[1:] + late[:-1]


# -- alignment is exact -----------------------------------------------------------------------


def test_joining_labels_is_asked_for():
    one = labeled([1.0, 2.0], ["p", "q"])
    two = labeled([10.0, 20.0], ["q", "r"])
    x, y = dt.tensor("x", dims=OBS), dt.tensor("y", dims=OBS)
    with pytest.raises(dt.LabelError, match=r"dt.align\(..., join=...\)"):
        (x + y).eval({x: one, y: two})
    left, right = dt.align(one, two, join="inner")
    xr.testing.assert_identical((x + y).eval({x: left, y: right}), labeled([12.0], ["q"]))


# -- selection --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        (lambda x: x.sel(country="USA"), lambda v: v.sel(country="USA", drop=True)),
        (lambda x: x.isel(country=-1), lambda v: v.isel(country=-1, drop=True)),
        (lambda x: x.sel(country=["USA", "Italy"]), lambda v: v.sel(country=["USA", "Italy"])),
        (
            lambda x: x.sel(country=slice("Kenya", None)),
            lambda v: v.sel(country=slice("Kenya", None)),
        ),
        (lambda x: x.isel(age=slice(1, 4, 2)), lambda v: v.isel(age=slice(1, 4, 2))),
        (lambda x: x.isel(country=[True, False, True]), lambda v: v[[True, False, True]]),
        (
            lambda x: x.isel(age=dt.data([4, 0], dims=OBS)),
            lambda v: v.isel(age=xr.DataArray([4, 0], dims="obs")),
        ),
    ],
)
def test_selection_follows_xarray(select, expected):
    values = xr.DataArray(
        np.arange(15.0).reshape(3, 5),
        dims=["country", "age"],
        coords={"country": ["Italy", "Kenya", "USA"]},
    )
    x = dt.tensor("x", dims=[COUNTRY, AGE])
    want = expected(values)
    result = select(x).eval({x: values}).transpose(*want.dims)
    xr.testing.assert_identical(result.rename(None), want)


def test_set_and_inc_go_through_the_same_selections():
    x = dt.tensor("x", dims=COUNTRY)
    values = {x: [1.0, 2.0, 3.0]}
    assert x.sel(country="Kenya").set(9.0).eval(values).values.tolist() == [1.0, 9.0, 3.0]
    where = dt.data(["USA", "USA", "Italy"], dims=OBS, categories=COUNTRY)
    assert x.sel(country=where).inc(10.0).eval(values).values.tolist() == [11.0, 2.0, 23.0]


def test_groupby_without_categories_makes_a_dim_of_the_labels_found():
    kind = dt.data(np.array(["b", "a", "b"]).view("U1") == "b", dims=OBS, name="is_b")
    grouped = dt.data([1.0, 2.0, 4.0], dims=OBS).groupby(kind).sum().eval()
    assert grouped.is_b.values.tolist() == [False, True]
    assert grouped.values.tolist() == [2.0, 5.0]


# -- derived dims -----------------------------------------------------------------------------


def test_product_dims():
    product = dt.ProductDim([AGE, COUNTRY])
    assert product == dt.ProductDim({COUNTRY, AGE})
    assert len(product) == 15
    small = dt.ProductDim({dt.Dim("b", coords=["u", "v"]), dt.Dim("a", coords=[1, 2])})
    assert small.coords.tolist() == [(1, "u"), (1, "v"), (2, "u"), (2, "v")]
    expected = pd.MultiIndex.from_product([[1, 2], ["u", "v"]], names=["a", "b"])
    assert small.to_index().equals(expected)
    assert small.to_index().names == ["a", "b"]


def test_renamed_dims():
    renamed = COUNTRY.rename()
    assert renamed.name == "country'"
    assert renamed.coords.tolist() == COUNTRY.coords.tolist()
    assert renamed.rename("country") is COUNTRY
    x = dt.tensor("x", dims=COUNTRY)
    gap = (x - x.rename_dim("country")).eval({x: [1.0, 2.0, 4.0]})
    expected = np.subtract.outer([1.0, 2.0, 4.0], [1.0, 2.0, 4.0])
    np.testing.assert_array_equal(gap.transpose("country", "country'"), expected)
    assert gap["country'"].values.tolist() == COUNTRY.coords.tolist()


# -- reductions -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "min", "max", "std", "var", "all", "any"])
@pytest.mark.parametrize("over", ["country", ["country", "age"], None])
def test_reductions_name_dims_as_in_xarray(name, over, rng):
    values = xr.DataArray(
        rng.normal(size=(3, 5)).round(1),
        dims=["country", "age"],
        coords={"country": ["Italy", "Kenya", "USA"]},
    )
    values[1, 2] = 0.0
    x = dt.tensor("x", dims=[COUNTRY, AGE])
    result = getattr(x, name)(over).eval({x: values})
    xr.testing.assert_allclose(result, getattr(values, name)(over))


def test_a_reduction_over_a_dim_that_is_not_there_is_an_error():
    x = dt.tensor("x", dims=COUNTRY)
    with pytest.raises(dt.DimError, match="mean: there is no dim 'age'"):
        x.mean(AGE)


# -- gradients --------------------------------------------------------------------------------


def test_gradients_carry_the_dims_of_what_they_are_taken_by():
    x, y = dt.tensor("x", dims=COUNTRY), dt.tensor("y", dims=AGE)
    loss = ((x + y) ** 2).sum()
    gx, gy = dt.grad(loss, [x, y])
    assert (gx.dims, gy.dims) == ((COUNTRY,), (AGE,))
    a, b = np.array([1.0, 2.0, 3.0]), np.arange(5.0)
    np.testing.assert_allclose(gx.eval({x: a, y: b}), 2 * np.add.outer(a, b).sum(1))
    inner = x * 3
    assert dt.grad((inner**2).sum(), inner).eval({x: a}).values.tolist() == (6 * a).tolist()


def test_jacobian_and_hessian_rename_dims_that_clash():
    x = dt.tensor("x", dims=COUNTRY)
    jacobian = dt.jacobian(x**2, x)
    assert set(jacobian.dims) == {COUNTRY, COUNTRY.rename()}
    a = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(jacobian.eval({x: a}), np.diag(2 * a))
    np.testing.assert_allclose(dt.hessian((x**3).sum(), x).eval({x: a}), np.diag(6 * a))


def test_more_dims_in_an_input_flow_through_gradients_and_selections():
    x, y = dt.tensor("x", dims=COUNTRY), dt.tensor("y", dims=AGE)
    gradient = dt.grad(((x.sel(country="USA") * y) ** 2).sum(), y)
    draws = xr.DataArray(
        [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
        dims=["draw", "country"],
        coords={"country": ["Italy", "Kenya", "USA"], "draw": [7, 8]},
    )
    result = gradient.eval({x: draws, y: np.arange(5.0)})
    expected = 2 * np.arange(5.0) * np.array([[9.0], [36.0]])
    np.testing.assert_allclose(result.transpose("draw", "age"), expected)
    assert result.draw.values.tolist() == [7, 8]
