"""Data beside the code of a function: read-only, exchanged, checked where plain arrays go in."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist

GROUP = dt.Dim("group", length=2)
OBS = dt.Dim("obs")


def looked_up() -> tuple[dt.DimTensor, dt.DimTensor]:
    effect = dt.tensor("effect", dims=GROUP)
    group = dt.data([0, 1, 1], dims=OBS, name="group_of")
    return effect, effect.isel(group=group).sum()


def test_arrays_of_data_are_read_only_before_and_after_an_exchange():
    effect, total = looked_up()
    function = dt.function([effect], total, backend="python")
    for one in (function, function.with_data(group_of=np.array([1, 1]))):
        assert [array.flags.writeable for array in one.positional.fixed] == [False]
    assert float(function.positional(np.array([1.0, 10.0]))[0]) == 21.0


def test_exchanging_data_leaves_the_array_that_was_given_writeable():
    effect, total = looked_up()
    given = np.array([1, 1])
    dt.function([effect], total, backend="python").with_data(group_of=given)
    assert given.flags.writeable


def test_data_that_are_no_positions_are_found_before_plain_arrays_go_in():
    effect, total = looked_up()
    function = dt.function([effect], total, backend="python").with_data(group_of=np.array([0, 5]))
    message = "data 'group_of' has positions outside of dim 'group' of length 2: 5"
    for _ in range(2):
        with pytest.raises(dt.PositionError, match=message):
            function.positional
    with pytest.raises(dt.PositionError, match=message):
        function(np.zeros(2))


def test_a_function_says_what_it_takes_and_holds():
    k = dt.Dim("k", coords=["a", "b"])
    obs, other = dt.Dim("obs"), dt.Dim("other", length=2)
    which = dt.data(["b", "a", "b"], dims=obs, categories=k, name="which")
    table = dt.data([[1.0, 2.0], [3.0, 4.0]], dims=[other, k], name="table")
    x, n = dt.tensor("x", dims=k), dt.Dim("n")
    f = dt.function([x, n], [(x * table).sel(k=which).sum(), dt.arange(n)], backend="python")
    assert list(f.inputs) == ["x", "n"]
    assert f.inputs["x"] is x
    assert f.inputs["n"] is n
    assert f.data["which"].values.tolist() == ["b", "a", "b"]
    assert f.data["table"].sel(k="b").values.tolist() == [2.0, 4.0]
    assert f.with_data(which=["a"]).data["which"].values.tolist() == ["a"]


YEAR = dt.Dim("year", coords=[2020, 2021, 2022])


def of_years() -> tuple[dt.DimTensor, dt.DimTensor, dt.DimTensor]:
    """An effect, years that are labels and numbers, and what is computed of both."""
    effect = dt.tensor("effect", dims=YEAR)
    year = dt.data([2020, 2022, 2021], dims=OBS, name="year_of")
    return effect, year, effect.sel(year=year) + 10.0 * (year - 2020)


@pytest.mark.parametrize("by_name", [True, False], ids=["name", "tensor"])
@pytest.mark.parametrize("years", [[2021, 2021, 2020], [2022]], ids=["same length", "other"])
def test_numbers_that_are_labels_too_are_exchanged_in_both_places(by_name, years):
    effect, year, total = of_years()
    function = dt.function([effect], total, backend="python")
    other = function.with_data({"year_of" if by_name else year: years})
    for one in (other, pickle.loads(pickle.dumps(other))):
        at = np.array(years) - 2020
        np.testing.assert_array_equal(one([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])[at] + 10 * at)
    with pytest.raises(dt.LabelError, match="data 'year_of': dim 'year' has no label 1999"):
        function.with_data({year: [1999]})


def test_numbers_that_are_labels_alone_are_exchanged_by_their_tensor():
    x = dt.tensor("x", dims=OBS)
    year = dt.data([2020, 2022, 2020], dims=OBS)
    function = dt.function([x], x.groupby(year).sum(), backend="python").with_data({year: [2022]})
    np.testing.assert_array_equal(function([5.0]), [0.0, 5.0])


def test_log_densities_exchange_numbers_that_are_labels_too():
    effect, year, total = of_years()
    density = dt.LogDensity({"y": -total}, {effect: dt.real}, backend="python")
    for key in ("year_of", year):
        assert density.with_data({key: [2022, 2022]}).logp([1.0, 2.0, 3.0]) == -46.0


def test_log_densities_refuse_a_name_of_two_data():
    mu = dt.scalar("mu")
    one, two = (dt.data(values, dims=OBS, name="y") for values in ([1.0], [2.0]))
    density = dt.LogDensity(-(((one - two) * mu) ** 2).sum(), {mu: dt.real}, backend="python")
    with pytest.raises(dt.InputError, match=r"2 data of the model are named 'y'\n.*1\.0\n.*2\.0"):
        density.with_data(y=[0.0])
    assert density.with_data({one: [0.0], two: [3.0]}).logp([1.0]) == -9.0


def test_log_densities_keep_values_where_the_array_that_was_given_changes():
    mu, y = dt.scalar("mu"), dt.data([1.0], dims=OBS, name="y")
    given = np.array([3.0, 4.0])
    density = dt.LogDensity({"y": -((y - mu) ** 2)}, {mu: dt.real}, backend="python")
    density = density.with_data(y=given)
    given[:] = 0.0
    assert density.logp([0.0]) == -25.0


def test_a_model_says_that_data_are_labels_and_numbers():
    effect = dt.rv("effect", dist.Normal(0.0, 1.0), dims=YEAR)
    _, year, _ = of_years()
    y = dt.rv("y", dist.Normal(effect.sel(year=year) + year, 1.0))
    with pytest.raises(dt.GraphError, match=r"labels of dim 'year'(.|\n)*make data twice"):
        dt.Model(y)
