"""RenamedDim: another name for the same positions, and for no others."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt

K = dt.Dim("k", coords=["a", "b", "c"])
T = dt.Dim("t")


def test_renaming_is_undone_and_not_nested() -> None:
    assert K.rename().name == "k'"
    assert K.rename("s").rename("k") is K
    assert K.rename("s").rename("r") is K.rename("r")
    assert dt.RenamedDim(K, "k") is K
    assert K.rename("s").length == 3
    assert K.rename("s")["c"] == 2


def test_selection_of_a_renamed_dim_is_the_renamed_selection() -> None:
    assert dt.SelDim(K.rename("s"), ["c", "a"]) is dt.SelDim(K, ["c", "a"]).rename("s")


def test_names_are_swapped() -> None:
    x = dt.data(np.arange(6.0).reshape(3, 2), dims=[K, dt.Dim("m", length=2)])
    swapped = x.rename(k="m", m="k").eval()
    assert swapped.sizes == {"m": 3, "k": 2}
    assert swapped.m.values.tolist() == ["a", "b", "c"]
    assert "k" not in swapped.coords


def test_taken_name_is_refused() -> None:
    x = dt.tensor("x", dims=[K, dt.Dim("m", length=2)])
    with pytest.raises(dt.DimError, match="rename: the result has two dims named 'm'"):
        x.rename_dim("k", "m")


def test_dim_of_the_same_labels_takes_the_place() -> None:
    x = dt.tensor("x", dims=K)
    land = dt.Dim("land", coords=["a", "b", "c"])
    assert x.rename_dim("k", land).dims == (land,)


@pytest.mark.parametrize("parent", [T, dt.Dim("t", coords=[1, 2, 3, 4]), dt.Dim("t", length=4)])
def test_another_selection_of_the_same_dim_is_refused(parent: dt.Dim) -> None:
    x = dt.tensor("x", dims=parent)
    first = x[:-1].dims[0]
    backwards = x[::-1].dims[0]
    with pytest.raises(dt.DimError, match="are not known to have the same labels"):
        x[1:].rename_dim("t", first.rename("s"))
    with pytest.raises(dt.DimError, match="are not known to have the same labels"):
        x.rename_dim("t", backwards.rename("s"))


def test_dim_of_other_labels_is_refused() -> None:
    x = dt.tensor("x", dims=K)
    with pytest.raises(dt.DimError, match=r"rename_dim: dim 'k' and dim 'm' are not known"):
        x.rename_dim("k", dt.Dim("m", coords=["c", "b", "a"]))


def test_positions_in_one_padded_dim_are_not_positions_in_another() -> None:
    x = dt.tensor("x", dims=T).pad(t=(1, 0))
    others = dt.labels(dt.PadDim(T, 0, 1))
    with pytest.raises(dt.LabelError, match="labels of dim 't' do not select along dim 't'"):
        x.sel(t=others)


def test_anonymous_dim_is_renamed_to_a_given_name_only() -> None:
    with pytest.raises(dt.DimError, match="an anonymous dim is renamed to a name that is given"):
        dt.Dim(length=2).rename()
    assert dt.Dim(length=2).rename("k").length == 2
