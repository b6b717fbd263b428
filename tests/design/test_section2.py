"""The lines by which the project is judged: they work as they are written, with the right values.

The expected values are computed by NumPy and xarray alone.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytensor.tensor as pt
import pytest
import xarray as xr

import dimtensor as dt
from tests.backend_names import BACKENDS as COMPILED

COUNTRIES = ["Italy", "Kenya", "USA"]


@pytest.fixture
def df() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "country": ["USA", "Italy", "USA", "Italy", "USA"],
            "age": [0, 4, 2, 2, 0],
            "y": [1.0, 2.0, -3.0, 0.5, 4.0],
        }
    )


@pytest.fixture
def lines(df: pd.DataFrame) -> SimpleNamespace:
    """What the first lines define."""
    country = dt.Dim("country", coords=["Italy", "Kenya", "USA"])
    age = dt.Dim("age", length=5)
    obs = dt.Dim("obs")
    country_effect = dt.tensor("country_effect", dims=country)
    age_effect = dt.tensor("age_effect", dims=age)
    effect = country_effect + age_effect
    where = dt.data(df["country"], dims=obs, categories=country)
    age_of = dt.data(df["age"], dims=obs, categories=age)
    y = dt.data(df["y"], dims=obs)
    mu = effect.sel(country=where, age=age_of)
    return SimpleNamespace(**locals())


@pytest.fixture
def values() -> dict[str, xr.DataArray]:
    """Values of the two inputs; the labels of one are in another order than the dim's."""
    return {
        "country_effect": xr.DataArray(
            [30.0, 10.0, 20.0], dims="country", coords={"country": ["USA", "Italy", "Kenya"]}
        ),
        "age_effect": xr.DataArray([0.0, 1.0, 2.0, 3.0, 4.0], dims="age"),
    }


@pytest.fixture
def table(values: dict[str, xr.DataArray]) -> xr.DataArray:
    """xarray's idea of the sum of both effects."""
    ordered = values["country_effect"].sel(country=COUNTRIES)
    return (ordered + values["age_effect"]).transpose("age", "country")


def test_sum_has_the_dims_of_both_in_no_order(lines, values, table):
    assert set(lines.effect.dims) == {lines.country, lines.age}
    assert lines.effect is lines.age_effect + lines.country_effect
    assert lines.country_effect.dtype == "float64"
    result = lines.effect.eval(values)
    xr.testing.assert_identical(result.transpose("age", "country"), table)


def test_selection_of_several_labels(lines, values, table):
    chosen = lines.effect.sel(country=["USA", "Italy"])
    assert set(chosen.dims) == {dt.SelDim(lines.country, ["USA", "Italy"]), lines.age}
    expected = table.sel(country=["USA", "Italy"])
    xr.testing.assert_identical(chosen.eval(values).transpose("age", "country"), expected)


def test_selection_of_one_label(lines, values, table):
    chosen = lines.effect.sel(country="USA")
    assert chosen.dims == (lines.age,)
    np.testing.assert_array_equal(chosen.eval(values), table.sel(country="USA"))
    assert list(chosen.eval(values).coords) == []


def test_ravel_gives_the_product_of_the_dims(lines, values, table):
    flat = lines.effect.ravel()
    assert flat.dims == (dt.ProductDim({lines.country, lines.age}),)
    result = flat.eval(values)
    np.testing.assert_array_equal(result, table.values.ravel())
    numbered = table.assign_coords(age=range(5)).stack(age_country=["age", "country"])
    flat_index = lines.effect.ravel().dims[0].to_index()
    assert flat_index.equals(numbered.indexes["age_country"])


def test_renaming_lets_a_tensor_meet_itself(lines, values, table):
    pairs = lines.effect.rename_dim(lines.country) + lines.effect
    assert set(pairs.dims) == {dt.RenamedDim(lines.country), lines.country, lines.age}
    expected = (table.rename(country="country'") + table).transpose("age", "country", "country'")
    result = pairs.eval(values).transpose("age", "country", "country'")
    xr.testing.assert_identical(result, expected)


def test_positional_border(lines, values, table):
    matrix = lines.effect.to_shaped([lines.country, lines.age])
    assert matrix.type.shape == (3, 5)
    assert matrix.type.ndim == 2
    back = dt.from_shaped(matrix, dims=[lines.country, lines.age])
    assert back.sum(lines.age).dims == (lines.country,)
    result = back.sum(lines.age).eval(values)
    np.testing.assert_array_equal(result, table.sum("age"))
    assert result.country.values.tolist() == COUNTRIES
    anonymous = dt.from_shaped(matrix, dims=[lines.country, dt.Dim()])
    assert sorted(anonymous.sizes.values()) == [3, 5]


def test_gradient_through_the_positional_border(lines, values):
    matrix = lines.effect.to_shaped([lines.country, lines.age])
    back = dt.from_shaped(matrix**2, dims=[lines.country, lines.age])
    gradient = dt.grad(back.sum(), lines.country_effect)
    direct = dt.grad((lines.effect**2).sum(), lines.country_effect)
    np.testing.assert_allclose(gradient.eval(values), direct.eval(values))
    expected = 2 * (values["country_effect"] + values["age_effect"]).sum("age")
    np.testing.assert_allclose(gradient.eval(values), expected.sel(country=COUNTRIES))


@pytest.mark.parametrize("backend", COMPILED)
def test_what_comes_back_over_the_border_depends_on_the_inputs(lines, values, backend):
    outside = pt.exp(lines.effect.to_shaped([lines.age, lines.country])).sum(0)
    back = dt.from_shaped(outside, dims=[lines.country])
    assert set(dt.inputs_of(back)) == {lines.country_effect, lines.age_effect}
    f = dt.function([lines.country_effect, lines.age_effect], back * 2, backend=backend)
    ages = values["age_effect"]
    expected = 2 * np.exp(values["country_effect"].sel(country=COUNTRIES) + ages).sum("age")
    xr.testing.assert_allclose(f(values["country_effect"], ages), expected)
    draws = values["country_effect"] * xr.DataArray([1.0, 0.5], dims="draw")
    expected = 2 * np.exp(draws.sel(country=COUNTRIES) + ages).sum("age")
    result = f(draws, ages)
    xr.testing.assert_allclose(result, expected.transpose(*result.dims))
    doubled = dt.substitute(back, {lines.age_effect: lines.age_effect * 0.0})
    xr.testing.assert_allclose(
        doubled.eval(values), 5 * np.exp(values["country_effect"].sel(country=COUNTRIES))
    )


def test_foreign_variables_beside_inputs_stay_inputs(lines, values):
    foreign = pt.vector("foreign", shape=(3,))
    given = dt.from_shaped(foreign, dims=[lines.country])
    mixed = lines.country_effect.to_shaped() * foreign
    back = dt.from_shaped(mixed, dims=[lines.country])
    with pytest.raises(dt.GraphError, match="missing: the positional variable foreign"):
        dt.function([lines.country_effect], back, backend="python")
    f = dt.function([lines.country_effect, given], back, backend="python")
    assert f(values["country_effect"], [1.0, 2.0, 3.0]).values.tolist() == [10.0, 40.0, 90.0]


def test_pointwise_look_up(lines, values, table, df):
    assert lines.mu.dims == (lines.obs,)
    at = {
        "country": xr.DataArray(df["country"], dims="obs"),
        "age": xr.DataArray(df["age"], dims="obs"),
    }
    expected = table.assign_coords(age=range(5)).sel(at)
    np.testing.assert_array_equal(lines.mu.eval(values), expected)


def test_groupby_is_the_inverse_and_keeps_empty_groups(lines, values, df):
    means = lines.mu.groupby(lines.where).mean()
    assert means.dims == (lines.country,)
    effects = values["country_effect"].to_series()[df["country"]].to_numpy() + df["age"].to_numpy()
    expected = pd.Series(effects).groupby(df["country"].to_numpy()).mean().reindex(COUNTRIES)
    result = means.eval(values)
    np.testing.assert_allclose(result, expected)
    assert np.isnan(result.sel(country="Kenya"))
    assert result.country.values.tolist() == COUNTRIES


@pytest.mark.parametrize("backend", COMPILED)
def test_function_of_the_loss_and_its_gradients(lines, values, df, backend):
    country_effect, age_effect = lines.country_effect, lines.age_effect
    loss = ((lines.y - lines.mu) ** 2).sum()
    f = dt.function(
        [country_effect, age_effect],
        [loss, *dt.grad(loss, [country_effect, age_effect])],
        backend=backend,
    )
    some_dataarray = values["country_effect"]
    results = f(country_effect=some_dataarray, age_effect=np.zeros(5))

    residual = df["y"].to_numpy() - some_dataarray.to_series()[df["country"]].to_numpy()
    by_country = pd.Series(-2 * residual).groupby(df["country"].to_numpy()).sum()
    by_age = pd.Series(-2 * residual).groupby(df["age"].to_numpy()).sum()
    assert [type(result) for result in results] == [xr.DataArray] * 3
    np.testing.assert_allclose(results[0], (residual**2).sum())
    expected = by_country.reindex(COUNTRIES, fill_value=0.0).rename_axis("country").to_xarray()
    xr.testing.assert_allclose(results[1], expected)
    assert results[1].dims == ("country",)
    np.testing.assert_allclose(results[2], by_age.reindex(range(5), fill_value=0.0))
    assert results[2].dims == ("age",)


@pytest.mark.parametrize("backend", COMPILED)
def test_a_posterior_batches_the_function(lines, values, df, backend):
    loss = ((lines.y - lines.mu) ** 2).sum()
    f = dt.function([lines.country_effect, lines.age_effect], loss, backend=backend)
    posterior = xr.DataArray(
        np.arange(24.0).reshape(2, 4, 3),
        dims=["chain", "draw", "country"],
        coords={"chain": [0, 1], "draw": [10, 20, 30, 40], "country": ["USA", "Italy", "Kenya"]},
    )
    result = f(posterior, values["age_effect"])
    assert result.dims == ("chain", "draw")
    for chain in range(2):
        for draw in range(4):
            effects = posterior[chain, draw].to_series()[df["country"]].to_numpy()
            expected = ((df["y"] - effects - df["age"]) ** 2).sum()
            np.testing.assert_allclose(result[chain, draw], expected)
    assert result.draw.values.tolist() == [10, 20, 30, 40]
    assert result.chain.values.tolist() == [0, 1]


# -- loops and conditionals ------------------------------------------------------------------------


@pytest.mark.parametrize("backend", COMPILED)
def test_loops_and_conditionals(backend):
    time = dt.Dim("time", coords=pd.date_range("2020-01-01", periods=4))
    returns, s0 = dt.tensor("returns", dims=time), dt.scalar("s0")
    cond = s0 > 0

    def step(state, x):
        return 0.5 * state + x, state * x

    def step1(state, x):
        return 0.5 * state + x

    last, ys = dt.scan(step, init=s0, xs=returns, dim=time)
    path = dt.cumulate(step1, init=s0, xs=returns, dim=time)
    reduced = dt.reduce(step1, init=s0, xs=returns, dim=time)
    state = dt.while_loop(lambda s: s < 100, lambda s: 3 * s, s0, max_steps=50)
    out = dt.if_else(cond, lambda s: dt.log(s), lambda s: s, s0)
    outputs = [last, ys, path, reduced, state, out]
    f = dt.function([returns, s0], [*outputs, dt.grad(state + out, s0)], backend=backend)
    values = np.array([0.1, -0.2, 0.3, 0.4])
    found = f(values, 2.0)
    s, trace, states = 2.0, [], []
    for x in values:
        trace.append(s * x)
        s = 0.5 * s + x
        states.append(s)
    np.testing.assert_allclose(found[0], s)
    np.testing.assert_allclose(found[1], trace)
    np.testing.assert_allclose(found[2], states)
    assert list(found[2].time.values) == list(time.coords)
    np.testing.assert_allclose(found[3], s)
    np.testing.assert_allclose(found[4], 2.0 * 3**4)
    np.testing.assert_allclose(found[5], np.log(2.0))
    np.testing.assert_allclose(found[6], 3**4 + 0.5)
