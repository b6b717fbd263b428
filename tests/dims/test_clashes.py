"""Two dims of one name never meet silently, and none is there twice."""

from __future__ import annotations

import pytest

import dimtensor as dt

A, B = dt.Dim("a", coords=["p", "q", "r"]), dt.Dim("b", length=2)
X = dt.tensor("x", dims=[A, B])
NAMED = "two different dims are named 'a'"


@pytest.mark.parametrize(
    "other",
    [
        dt.Dim("a", coords=["p", "q", "s"]),
        dt.Dim("a", coords=["r", "q", "p"]),
        dt.Dim("a", length=3),
        dt.Dim("a"),
        dt.SelDim(A, positions=[0, 1]),
        dt.SelDim(A, positions=slice(None, None, -1)),
        dt.PadDim(A, 1, 0),
        dt.SortedDim(A),
        dt.ConcatDim([dt.Dim("a", length=1), dt.Dim("a", length=2)]),
        dt.RenamedDim(B, "a"),
    ],
    ids=repr,
)
def test_other_dims_of_one_name(other: dt.Dim) -> None:
    y = dt.tensor("y", dims=other)
    for combine in (
        lambda: X + y,
        lambda: y + X,
        lambda: dt.where(X > 0, y, 0.0),
        lambda: dt.dot(X, y),
        lambda: dt.stack([X, y], dt.Dim("which", length=2)),
        lambda: dt.concat([X, y.expand(B)], "b"),
        lambda: X.expand(other),
        lambda: X.isel(b=dt.tensor("at", dims=other, dtype="int64")),
    ):
        with pytest.raises(dt.DimError, match=NAMED):
            combine()
    with pytest.raises(dt.DimError, match="the dims of a tensor have two dims named 'a'"):
        dt.tensor("z", dims=[A, other])
    with pytest.raises(dt.DimError, match="the tensor has another dim named 'a'"):
        X.sum(other)


def test_error_shows_both_dims_and_the_ways_out() -> None:
    with pytest.raises(dt.DimError, match=NAMED) as error:
        X + dt.tensor("y", dims=A[["p"]])
    assert str(error.value).splitlines() == [
        "add: two different dims are named 'a'",
        "  operand 1 (x with dims {a, b}): Dim('a', ['p', 'q', 'r'])",
        "  operand 2 (y with dims {a}): SelDim(a, ['p'])",
        "hint: keep both with rename_dim, bring them to the same labels with sel, isel, reindex "
        "or dt.align, or match them position by position with relabel",
    ]


def test_misspelled_dim_makes_no_product() -> None:
    with pytest.raises(dt.DimError, match=r"sum: there is no dim 'aa' \(did you mean 'a'\?\)"):
        X.sum("aa")


def test_pieces_of_an_anonymous_dim() -> None:
    anonymous = dt.Dim(length=3)
    x = dt.tensor("x", dims=anonymous)
    with pytest.raises(dt.DimError, match="two different dims come from one anonymous dim"):
        x[1:] + x[:-1]
    apart = x[1:].rename_dim(x[1:].dims[0], "later") + x[:-1]
    assert apart.ndim == 2
    with pytest.raises(dt.DimError, match="have two dims from one anonymous dim"):
        dt.tensor("y", dims=[anonymous, dt.SelDim(anonymous, positions=[0])])


def test_two_anonymous_dims_are_two() -> None:
    one, other = dt.Dim(length=3), dt.Dim(length=3)
    assert (dt.ones(one) + dt.ones(other)).eval().shape == (3, 3)


def test_unravel_beside_a_factor() -> None:
    beside = X.ravel() * X
    with pytest.raises(dt.DimError, match="unravel: two dims of the result would be dim 'a'"):
        beside.unravel()
    with pytest.raises(dt.DimError, match="ravel: two dims of the result would be dim 'a_b'"):
        beside.ravel([A, B])
    assert set(beside.rename(a="c", b="d").unravel().sizes) == {"a", "b", "c", "d"}


def test_concat_to_a_dim_that_is_there() -> None:
    apart = X.rename_dim("a", "s") * dt.tensor("y", dims=A)
    with pytest.raises(dt.DimError, match="concat: two dims of the result would be dim 'a'"):
        dt.concat([apart[{"s": slice(0, 1)}], apart[{"s": slice(1, 3)}]], "s", name="a")


def test_stack_along_a_dim_that_is_there() -> None:
    with pytest.raises(dt.DimError, match="has dim 'b' already"):
        dt.stack([X, X], B)


def test_dim_given_twice() -> None:
    with pytest.raises(dt.DimError, match=r"the dims of a tensor have Dim\('b', length=2\) twice"):
        dt.tensor("y", dims=[B, B])
    with pytest.raises(dt.DimError, match="sum: dim 'a' is named twice"):
        X.sum(["a", A])


def test_a_dim_is_selected_from_once() -> None:
    for select in (X.sel, X.isel):
        with pytest.raises(dt.DimError, match="dim 'b' is selected from twice"):
            select({"b": 0, B: 1})
    with pytest.raises(dt.DtypeError, match="integers or a mask, not both: 0, True"):
        X.isel(b=[0, True])
    with pytest.raises(dt.DimError, match="dim 'b' is renamed to a name or a Dim, not to 3"):
        X.rename(b=3)
    assert X.isel() is X.sel() is X


@pytest.mark.parametrize("key", [0, -1, 1.5, True, [0], ["a", 1]], ids=repr)
def test_a_position_names_no_dim(key: object) -> None:
    for reduce in (X.sum, X.mean, X.cumsum, X.argmax, X.ravel, X.squeeze, X.softmax):
        with pytest.raises(dt.DimError, match="a dim is named by a string or is a Dim, not"):
            reduce(key)
