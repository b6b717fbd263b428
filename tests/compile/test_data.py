"""Data beside the code of a function: read-only, exchanged, checked where plain arrays go in."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt

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
