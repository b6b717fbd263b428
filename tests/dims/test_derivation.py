"""What every derived dim answers for: an example of each recipe, and counted positions."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.dims import DERIVED, BlockDim, DerivedDim, PadDim, SortedDim, family
from dimtensor.dims.ragged import FlatDim
from dimtensor.graph.printing.text import dim_text

A, B = dt.Dim("a"), dt.Dim("b", coords=["u", "v"])
# the dim, its length where a has length 4 and where it has length 30, and how it is written
EXAMPLES: dict[str, tuple[dt.Dim, tuple[int, int], str]] = {
    "selection": (dt.SelDim(A, positions=slice(1, None, 2)), (2, 15), "SelDim(a, 1::2)"),
    "renamed": (dt.RenamedDim(A, "c"), (4, 30), "RenamedDim(a, 'c')"),
    "product": (dt.ProductDim([A, B]), (8, 60), "ProductDim({a, b})"),
    "concat": (dt.ConcatDim([A, B], "c"), (6, 32), "ConcatDim([a, b])"),
    "pad": (PadDim(A, 2, 1), (7, 33), "PadDim(a, 2, 1)"),
    "blocks": (BlockDim(A, 2), (2, 15), "BlockDim(a, 2, 'exact', 'left')"),
    "flat": (FlatDim(A), (4, 30), "FlatDim(a)"),
    "sorted": (SortedDim(A), (4, 30), "SortedDim(a)"),
}
each = pytest.mark.parametrize("recipe", EXAMPLES)


def test_every_recipe_has_an_example_and_says_all_that_is_asked() -> None:
    assert set(DERIVED) == set(EXAMPLES)
    for recipe, kind in DERIVED.items():
        assert kind._recipe == recipe
        for name in ("_made", "parents", "_text", "_labels_from"):
            assert defines(kind, name), f"{recipe}: {name}"
        assert defines(kind, "_length_from") or defines(kind, "_length_of_parents"), recipe


def defines(kind: type, name: str) -> bool:
    return inspect.getattr_static(kind, name) is not inspect.getattr_static(DerivedDim, name)


@each
def test_a_dim_is_made_of_its_recipe(recipe: str) -> None:
    dim, (length, _), text = EXAMPLES[recipe]
    assert isinstance(dim, DerivedDim)
    assert type(dim)._made(dim.parents, dim._options, dim.name) is dim
    assert dim._with_parents(dim.parents) is dim
    assert dim._named_as_parent == (recipe in ("selection", "pad", "sorted", "blocks", "flat"))
    assert dim.length is None
    assert dim._length_from([{A: 4, B: 2}[parent] for parent in dim.parents]) == length
    assert dim._length_from([None for _ in dim.parents]) is None
    assert dim_text(dim) == text
    assert {*family(dim)} == {dim, *dim.parents}


@each
def test_a_recipe_works_with_other_parents(recipe: str) -> None:
    dim, (length, _), _ = EXAMPLES[recipe]
    other = dt.Dim("a", coords=list("pqrs"))
    moved = dt.substitute(dt.tensor("x", dims=dim), {A: other}).dims[0]
    assert type(moved) is type(dim)
    assert moved.parents == tuple(other if parent is A else parent for parent in dim.parents)
    assert moved.length == length
    if recipe != "sorted":
        assert len(moved.coords) == length


@each
def test_the_length_of_a_call_is_what_follows_from_the_parents(recipe: str) -> None:
    dim, (length, _), _ = EXAMPLES[recipe]
    x, y = dt.tensor("x", dims=A), dt.tensor("y", dims=dim)
    f = dt.function([x, y], [y * 2, dt.arange(dim)], backend="python")
    good, _ = f(np.zeros(4), np.ones(length))
    assert good.shape == (length,)
    with pytest.raises(dt.DimError, match=rf"(length|input 'y':) {length + 1}"):
        f(np.zeros(4), np.ones(length + 1))


@each
def test_the_length_is_computed_where_code_needs_it(recipe: str) -> None:
    dim, lengths, _ = EXAMPLES[recipe]
    x = dt.tensor("x", dims=A)
    f = dt.function([x], (x.sum() + dt.zeros(dim)).sum() + dt.arange(dim).sum(), backend="python")
    for n, length in zip((4, 30), lengths, strict=True):
        assert float(f(np.ones(n))) == n * length + np.arange(length).sum()
