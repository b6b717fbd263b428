"""Derived dims: normal forms, composition, reassembly, labels with what is known and what comes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dimtensor as dt
from dimtensor.dims import Binding, Coords

LETTERS = list("abcdef")
K = dt.Dim("k", coords=LETTERS)
N = dt.Dim("n", length=6)
OBS = dt.Dim("obs")


def bound(labels: list, dim: dt.Dim = OBS) -> Binding:
    binding = Binding()
    binding.add_length(dim, len(labels), "a test")
    binding.add_labels(dim, Coords(labels), "a test")
    return binding


# -- SelDim ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("parent", [K, N], ids=repr)
@pytest.mark.parametrize(
    "same",
    [
        [[2, 3, 4], slice(2, 5), slice(-4, -1), [-4, -3, -2], np.isin(np.arange(6), [2, 3, 4])],
        [[5, 3, 1], slice(None, None, -2), slice(5, 0, -2)],
        [[0, 2, 4], slice(None, None, 2), slice(0, 5, 2), slice(-6, None, 2)],
        [[3], slice(3, 4), slice(3, 2, -1), [-3], slice(3, None, 9)],
        [[], slice(3, 3), slice(9, None), np.zeros(6, bool), slice(0, 3, -1)],
        [[1, 1, 0], np.array([1, 1, 0], "u1"), [-5, 1, -6]],
    ],
    ids=["run", "backwards", "every second", "one", "none", "repeated"],
)
def test_equal_selections_are_one_dim(parent: dt.Dim, same: list) -> None:
    first = same[0]
    dims = [dt.SelDim(parent, positions=key) for key in same]
    assert all(dim is dims[0] for dim in dims)
    expected = np.arange(6)[np.array(first, dtype=int)]
    assert dims[0].length == len(expected)
    if parent is K:
        assert dims[0].coords.tolist() == [LETTERS[at] for at in expected]
        if len(set(expected)) == len(expected):
            assert dt.SelDim(K, [LETTERS[at] for at in expected]) is dims[0]


@pytest.mark.parametrize("parent", [K, N], ids=repr)
@pytest.mark.parametrize(
    "everything",
    [slice(None), slice(0, 6), slice(None, 99), list(range(6)), np.ones(6, bool)],
    ids=str,
)
def test_selection_of_everything_in_order_is_the_dim(parent: dt.Dim, everything: object) -> None:
    assert dt.SelDim(parent, positions=everything) is parent


KEYS = [
    slice(1, None),
    slice(None, -1),
    slice(None, None, -1),
    slice(None, None, 2),
    [0, 1, 2],
    [2, 0, 2],
]


@pytest.mark.parametrize("second", KEYS, ids=str)
@pytest.mark.parametrize("first", KEYS, ids=str)
def test_selection_of_a_selection_is_one_selection(first: object, second: object) -> None:
    for parent in (K, N):
        twice = dt.SelDim(dt.SelDim(parent, positions=first), positions=second)
        at = np.arange(6)[first][second]
        assert twice is dt.SelDim(parent, positions=at)
        assert twice.parents == (parent,) or twice is parent


def test_open_slices_compose_whatever_the_length() -> None:
    trimmed = dt.SelDim(dt.SelDim(OBS, positions=slice(1, None)), positions=slice(None, -2))
    assert trimmed is dt.SelDim(OBS, positions=slice(1, -2))
    other = dt.SelDim(dt.SelDim(OBS, positions=slice(None, -2)), positions=slice(1, None))
    assert other is trimmed
    assert dt.SelDim(OBS, positions=slice(0, None)) is OBS
    nested = dt.SelDim(dt.SelDim(OBS, positions=slice(None, None, -1)), positions=slice(1, None))
    for length in range(5):
        labels = list(range(length))
        assert nested._bound_labels(bound(labels)).values.tolist() == labels[::-1][1:]
        assert trimmed._bound_length(bound(labels)) == len(labels[1:-2])


@pytest.mark.parametrize(
    "key",
    [
        slice(1, None),
        slice(None, -1),
        slice(None, None, -1),
        slice(4, 1, -2),
        slice(-3, None),
        slice(None, None, 2),
        [0, -1],
        [1, 1],
    ],
    ids=str,
)
@pytest.mark.parametrize("length", [2, 3, 6])
def test_labels_and_length_that_come_later(key: object, length: int) -> None:
    dim = dt.SelDim(OBS, positions=key)
    expected = np.array(LETTERS[:length])[key].tolist()
    assert dim.coords is None
    assert dim._bound_labels(bound(LETTERS[:length])).values.tolist() == expected
    assert dim._bound_length(bound(LETTERS[:length])) == len(expected)


@pytest.mark.parametrize("position", [6, -7, [0, 6], [-7]], ids=str)
def test_position_outside_of_a_known_dim(position: object) -> None:
    x = dt.tensor("x", dims=K)
    with pytest.raises(dt.PositionError, match="outside of dim 'k' of length 6"):
        x.isel(k=position)


def test_selection_that_makes_no_sense() -> None:
    with pytest.raises(dt.PositionError, match="the step of a slice is not 0"):
        dt.SelDim(K, positions=slice(None, None, 0))
    with pytest.raises(dt.DtypeError, match="positions along dim 'k' are integers, not float64"):
        dt.SelDim(K, positions=[0.5])
    with pytest.raises(dt.DimError, match="a mask of 2 values does not fit dim 'k' of length 6"):
        dt.SelDim(K, positions=[True, False])
    with pytest.raises(dt.DimError, match="positions along dim 'k' are one-dimensional"):
        dt.SelDim(K, positions=[[0]])
    with pytest.raises(dt.DimError, match="a SelDim takes either labels or positions"):
        dt.SelDim(K)
    with pytest.raises(dt.LabelError, match="are a list, not the string 'ab'"):
        dt.SelDim(K, "ab")
    with pytest.raises(dt.LabelError, match="dim 'k' has no labels 'y', 'z'"):
        dt.SelDim(K, ["a", "y", "z"])


# -- ConcatDim -------------------------------------------------------------------------------------


def piece(parent: dt.Dim, key: object) -> dt.Dim:
    return dt.SelDim(parent, positions=key)


@pytest.mark.parametrize("parent", [K, N, K.rename("s")], ids=repr)
def test_pieces_put_together_again(parent: dt.Dim) -> None:
    head, rest = piece(parent, slice(0, 2)), piece(parent, slice(2, None))
    assert dt.ConcatDim([head, rest]) is parent
    assert dt.ConcatDim([rest, head]) is piece(parent, [2, 3, 4, 5, 0, 1])
    assert dt.ConcatDim([head, head]) is piece(parent, [0, 1, 0, 1])
    assert dt.ConcatDim([head, parent]) is piece(parent, [0, 1, *range(6)])
    assert dt.ConcatDim([head]) is head
    assert dt.ConcatDim([head, rest], "joint") is parent.rename("joint")


def test_labels_of_a_concat() -> None:
    old, new = dt.Dim("t", coords=[3, 1]), dt.Dim("t", coords=[2.5])
    joint = dt.ConcatDim([old, new])
    assert joint.coords.tolist() == [3.0, 1.0, 2.5]
    assert joint is dt.ConcatDim([old, new])
    assert joint is not dt.ConcatDim([new, old])
    mixed = dt.ConcatDim([old, dt.Dim("t", coords=["x"])])
    assert mixed.coords.tolist() == [3, 1, "x"]
    assert dt.ConcatDim([old, dt.Dim("t", length=1)]).coords is None
    assert dt.ConcatDim([old, dt.Dim("t")]).length is None


def test_labels_of_a_concat_that_come_later() -> None:
    joint = dt.ConcatDim([OBS, dt.Dim("obs", coords=["z"])])
    assert joint.coords is None
    assert joint._bound_labels(bound(["a", "b"])).values.tolist() == ["a", "b", "z"]
    assert joint._bound_length(bound(["a", "b"])) == 3


def test_concat_of_dims_of_different_names() -> None:
    with pytest.raises(
        dt.DimError, match="dims of different names are joined, and the whole has no name"
    ):
        dt.ConcatDim([K, N])
    assert dt.ConcatDim([K, N], "joint").length == 12
    with pytest.raises(dt.DimError, match="a ConcatDim has at least one part"):
        dt.ConcatDim([])


# -- ProductDim ------------------------------------------------------------------------------------


def test_product_has_no_order_of_factors() -> None:
    letters, numbers = dt.Dim("letter", coords=["a", "b"]), dt.Dim("number", coords=[2, 1])
    product = dt.ProductDim([numbers, letters])
    assert product is dt.ProductDim({letters, numbers})
    assert product.name == "letter_number"
    assert product.coords.tolist() == [("a", 2), ("a", 1), ("b", 2), ("b", 1)]
    assert product["b", 2] == 2
    assert product.to_index().equals(
        pd.MultiIndex.from_product([["a", "b"], [2, 1]], names=["letter", "number"])
    )
    assert dt.ProductDim([letters]) is letters
    assert dt.ProductDim([letters, numbers], "other") is not product


def test_product_of_what_comes_later() -> None:
    product = dt.ProductDim([OBS, dt.Dim("k", coords=["u", "v"])])
    assert (product.length, product.coords) == (None, None)
    labels = product._bound_labels(bound([1, 2]))
    assert labels.values.tolist() == [("u", 1), ("u", 2), ("v", 1), ("v", 2)]
    assert product._bound_length(bound([1, 2])) == 4


def test_product_with_an_empty_factor() -> None:
    product = dt.ProductDim([K, dt.Dim("none", coords=[])])
    assert (product.length, product.coords.tolist()) == (0, [])


def test_product_that_makes_no_sense() -> None:
    with pytest.raises(dt.DimError, match=r"the factors of a ProductDim have .* twice"):
        dt.ProductDim([K, K])
    with pytest.raises(dt.DimError, match="the factors of a ProductDim have two dims named 'k'"):
        dt.ProductDim([K, piece(K, [0])])
    with pytest.raises(dt.DimError, match="a ProductDim has at least one factor"):
        dt.ProductDim([])


def test_elements_of_a_product_are_in_the_order_of_its_labels() -> None:
    b, a = dt.Dim("b", coords=["u", "v"]), dt.Dim("a", coords=[1, 2, 3])
    x = dt.data(np.arange(6).reshape(2, 3), dims=[b, a])
    raveled = x.ravel().eval()
    assert raveled.a_b.values.tolist() == [
        (1, "u"),
        (1, "v"),
        (2, "u"),
        (2, "v"),
        (3, "u"),
        (3, "v"),
    ]
    assert raveled.values.tolist() == [0, 3, 1, 4, 2, 5]
    assert raveled.sel(a_b=(2, "v")).item() == 4
    assert list(raveled.a_b.to_index().names) == ["a", "b"]


# -- PadDim and SortedDim --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([1, 2], [None, 1.0, 2.0]),
        ([0.5], [None, 0.5]),
        (["a"], [None, "a"]),
        (pd.to_datetime(["2020-01-01"]), [None, pd.Timestamp("2020-01-01")]),
    ],
)
def test_labels_of_padding_are_missing(labels: object, expected: list) -> None:
    padded = dt.PadDim(dt.Dim("t", coords=labels), 1, 0)
    found = [None if pd.isna(label) else label for label in padded.to_index()]
    assert found == expected
    assert dt.PadDim(K, 0, 0) is K
    assert dt.PadDim(OBS, 1, 2)._bound_length(bound(["a"])) == 4
    with pytest.raises(dt.DimError, match="dim 'k' cannot be padded by -1 and 0 positions"):
        dt.PadDim(K, -1, 0)


def test_sorted_elements_lose_their_labels() -> None:
    x = dt.data([2.0, 1.0, 3.0], dims=dt.Dim("t", coords=["a", "b", "c"]))
    assert x.sort().dims == (dt.SortedDim(x.dims[0]),)
    assert "t" not in x.sort().eval().coords
    with pytest.raises(dt.DimError, match="two different dims are named 't'"):
        x.sort() + x


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (slice(0, None), slice(None, None)),
        (slice(0, 3), slice(None, 3)),
        (slice(-1, None, -1), slice(None, None, -1)),
        (slice(-1, -4, -2), slice(None, -4, -2)),
    ],
)
def test_slices_from_the_first_position_are_one(one, other):
    """Of a dim whose length comes with the call, too."""
    for dim in (OBS, dt.Dim("open")):
        assert dt.SelDim(dim, positions=one) == dt.SelDim(dim, positions=other)
    assert dt.SelDim(OBS, positions=one) != dt.SelDim(OBS, positions=slice(1, None))
