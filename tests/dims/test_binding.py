"""Lengths and labels that arrive with the data: who says them, what follows, and disagreement."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt

OBS = dt.Dim("obs")
LETTERS = xr.DataArray(np.arange(4.0), dims="obs", coords={"obs": list("abcd")})
X = dt.tensor("x", dims=OBS)
Y = dt.tensor("y", dims=OBS)


def test_labels_travel_from_one_input_to_every_output() -> None:
    outputs = dt.evaluate(
        {"sum": X + Y, "twice": Y * 2, "rest": Y[1:]}, {X: LETTERS, Y: np.ones(4)}
    )
    assert outputs["sum"].obs.values.tolist() == list("abcd")
    assert outputs["twice"].obs.values.tolist() == list("abcd")
    assert outputs["rest"].obs.values.tolist() == list("bcd")


def test_lengths_that_disagree_are_named() -> None:
    # of its own: a sum that was evaluated before keeps the order of its inputs
    a, b = dt.tensor("a", dims=OBS), dt.tensor("b", dims=OBS)
    with pytest.raises(
        dt.DimError, match=r"disagree about the length of dim 'obs'\n.*'a': 3\n.*'b': 4"
    ):
        (a + b).eval({a: np.ones(3), b: np.ones(4)})


def test_length_1_is_a_length() -> None:
    with pytest.raises(dt.DimError, match="disagree about the length of dim 'obs'"):
        (X + Y).eval({X: np.ones(1), Y: np.ones(4)})


def test_length_other_than_the_dims() -> None:
    k = dt.tensor("k", dims=dt.Dim("k", length=3))
    with pytest.raises(dt.DimError, match="dim 'k' has length 3, input 'k' has length 1 along it"):
        k.eval({k: np.ones(1)})


def test_input_on_a_derived_dim_agrees_with_the_input_on_its_parent() -> None:
    rest = dt.SelDim(OBS, positions=slice(1, None))
    w = dt.tensor("w", dims=rest)
    weights = LETTERS[1:].rename("w")
    found = (X[1:] * w).eval({X: LETTERS, w: weights})
    xr.testing.assert_equal(found, (LETTERS * LETTERS)[1:])
    with pytest.raises(dt.DimError, match=r"input 'w' has length 2 along .*, 3 follows"):
        (X[1:] * w).eval({X: LETTERS, w: np.ones(2)})
    with pytest.raises(dt.LabelError, match="input 'w' has other labels along"):
        (X[1:] * w).eval({X: LETTERS, w: weights.assign_coords(obs=list("xyz"))})


def test_renamed_dim_has_what_is_said_of_its_parent() -> None:
    k = dt.tensor("k", dims=[OBS, OBS.rename()])
    matrix = xr.DataArray(np.ones((4, 4)), dims=["obs", "obs'"])
    found = (k + X).eval({k: matrix, X: LETTERS})
    assert found["obs'"].values.tolist() == list("abcd")
    with pytest.raises(dt.DimError, match='inputs disagree about the length of dim "obs\'"'):
        k.eval({k: matrix[:, :2]})


def test_parent_has_what_is_said_of_the_renamed_dim() -> None:
    z = dt.tensor("z", dims=OBS.rename())
    given = LETTERS.rename(obs="obs'")
    xr.testing.assert_equal(z[1:].eval({z: given}), given[1:])
    assert z[1:].mean().eval({z: given}).item() == 2.0
    back = z.rename_dim("obs'", OBS)
    xr.testing.assert_equal(back.eval({z: given}), LETTERS)


@pytest.mark.parametrize("build", [pd.DataFrame, xr.DataArray])
def test_levels_of_a_multiindex_are_told_apart_by_name(build: type) -> None:
    row, column = dt.Dim("row", coords=[0, 1]), dt.Dim("column", coords=[0, 1])
    x = dt.tensor("x", dims=dt.ProductDim([row, column]))
    values = xr.DataArray(
        [[0.0, 1.0], [2.0, 3.0]], dims=["row", "column"], coords={"row": [0, 1], "column": [0, 1]}
    )
    stacked = values.stack(column_row=("row", "column"))
    given = stacked.to_series() if build is pd.DataFrame else stacked
    found = x.unravel().eval({x: given})
    xr.testing.assert_equal(found.transpose("row", "column"), values)


def test_levels_of_other_names_are_refused() -> None:
    product = dt.ProductDim([dt.Dim("a", coords=[0, 1]), dt.Dim("b", coords=[0, 1])])
    x = dt.tensor("x", dims=product)
    index = pd.MultiIndex.from_product([[0, 1], [0, 1]], names=["a", "c"])
    given = xr.DataArray(np.ones(4), coords=xr.Coordinates.from_pandas_multiindex(index, "a_b"))
    with pytest.raises(dt.LabelError, match="the levels along dim 'a_b' are not its factors"):
        x.eval({x: given})
