"""Parallel prefix scan of an associative function: few steps, each on many positions at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dimtensor.dims import Dim, dim_set, without
from dimtensor.errors import DimError
from dimtensor.graph import make
from dimtensor.graph.infer import describe
from dimtensor.graph.printing.words import say
from dimtensor.spellings import spelled
from dimtensor.tensor.constructors import zeros
from dimtensor.tensor.control.pytree import TreeDef, flatten, leaves_like, paths, unflatten
from dimtensor.tensor.control.scans import along_dim, run_cumulate
from dimtensor.tensor.elementwise import where
from dimtensor.tensor.handle import as_node, wrap
from dimtensor.tensor.joining import concat
from dimtensor.tensor.selection.reindex import moved_to

_NAME = "dt.associative_scan"
Combine = Callable[[Sequence[Any], Sequence[Any]], list[Any]]


@spelled("function")
def associative_scan[X](
    function: Callable[[X, X], X], xs: X, dim: Dim | str | None = None, *, reverse: bool = False
) -> X:
    """Compute the prefixes ``x0``, ``f(x0, x1)``, ``f(f(x0, x1), x2)`` of an associative function.

    Parameters
    ----------
    function : callable
        ``function(earlier, later)`` of two trees like `xs`, for one position each. It must be
        associative: the order in which neighbors are combined is unspecified. It is called on
        tensors with an additional dim, over the pairs that are combined at once.
    xs : tree of tensors
        Sequences, all with the dim.
    dim : Dim or str
    reverse : bool
        Whether prefixes start at the last position; the function then gets the later element first.

    Returns
    -------
    tree of DimTensor
        With the dims of `xs`.

    Raises
    ------
    DimError
        If a sequence lacks the dim, or the function changes the dims of elements.

    Notes
    -----
    Along a dim of known length n, neighbors are combined in about ``2 log2(n)`` steps on a part of
    the elements each: the prefix sum of Blelloch (1990), *Prefix sums and their applications*. If
    the length is known only at the call, a sequential loop computes the prefixes.

    Examples
    --------
    >>> import dimtensor as dt
    >>> time = dt.Dim("time", length=4)
    >>> x = dt.data([1.0, 3.0, 2.0, 4.0], dims=time)
    >>> dt.associative_scan(dt.maximum, x, dim=time).eval().values.tolist()
    [1.0, 3.0, 3.0, 4.0]
    """
    along, nodes, fill = along_dim(_NAME, xs, dim)
    leaves, tree = flatten(fill(nodes))
    names = paths(tree, "the result")

    def combine(one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
        value = function(unflatten(tree, one), unflatten(tree, other))
        results = leaves_like(tree, value, f"{_NAME}: what the function returns")
        return [_checked(x, a, name) for x, a, name in zip(results, one, names, strict=True)]

    if along.length is None or along._within is not None:
        return _one_by_one(combine, leaves, tree, along, reverse)
    found = _prefixes(combine, leaves, along, along.length, reverse)
    for at, one in enumerate(found):
        output = at if len(found) > 1 else None
        say(one, "associative_scan", *leaves, dim=along, output=output)
    return unflatten(tree, found)


def _checked(value: Any, like: Any, name: str) -> Any:
    node = as_node(value, [like.node], f"{_NAME}: {name}")
    added = without(node.dims, like.dims)
    if added or node.categories is not like.categories:
        raise DimError(
            f"{_NAME}: {name} is of another type than the elements that are combined",
            [("elements", describe(like.node)), ("result", describe(node))],
            f"it adds {dim_set(added)}" if added else "it gives what it takes",
        )
    missing = without(like.dims, node.dims)
    return wrap(make("expand", (node,), missing) if missing else node)


def _one_by_one(
    combine: Combine, leaves: Sequence[Any], tree: TreeDef, dim: Dim, reverse: bool
) -> Any:
    """Compute prefixes by a sequential loop, whose first step passes the element through."""

    def step(state: Any, x: Any) -> Any:
        first, before = state
        # the function may be undefined at zeros, so the first element is combined with itself
        known = [where(first, a, b) for a, b in zip(x, before, strict=True)]
        both = combine(known, x)
        return (False, [where(first, a, b) for a, b in zip(x, both, strict=True)])

    empty = [_zeros_of(x, dim) for x in leaves]
    start: Any = (True, empty)
    _, found = run_cumulate(step, start, list(leaves), dim, reverse=reverse)
    return unflatten(tree, found)


def _zeros_of(x: Any, dim: Dim) -> Any:
    result = zeros(without(x.dims, [dim]), dtype=x.dtype)
    if x.categories is None:
        return result
    return wrap(make("codes", (result.node,), x.categories))


def _prefixes(combine: Combine, xs: Sequence[Any], dim: Dim, n: int, reverse: bool) -> list[Any]:
    if n < 2:
        return list(xs)
    if reverse:
        turned = [moved_to(x, dim, slice(None, None, -1), dim) for x in xs]
        found = _prefixes(combine, turned, dim, n, False)
        return [moved_to(x, dim, slice(None, None, -1), dim) for x in found]
    first, half = Dim(f"{dim._short}, first", length=1), Dim(f"{dim._short}, pairs", length=n // 2)
    even = [moved_to(x, dim, slice(0, n - n % 2, 2), half) for x in xs]
    odd = [moved_to(x, dim, slice(1, None, 2), half) for x in xs]
    pairs = _prefixes(combine, combine(even, odd), half, n // 2, False)
    start = [moved_to(x, dim, slice(0, 1), first) for x in xs]
    rest = (n - 1) // 2
    if not rest:
        return [
            _joined(parts, (first, half), dim, [0, 1]) for parts in zip(start, pairs, strict=True)
        ]
    later = Dim(f"{dim._short}, later", length=rest)
    between = combine(
        [moved_to(y, half, slice(0, rest), later) for y in pairs],
        [moved_to(x, dim, slice(2, None, 2), later) for x in xs],
    )
    order = [0 if t == 0 else n // 2 + t // 2 if t % 2 == 0 else 1 + t // 2 for t in range(n)]
    return [
        _joined(parts, (first, half, later), dim, order)
        for parts in zip(start, pairs, between, strict=True)
    ]


def _joined(parts: Sequence[Any], dims: Sequence[Dim], dim: Dim, order: Sequence[int]) -> Any:
    """Concatenate parts along their dims, reorder the elements, and replace the dim."""
    whole = concat(list(parts), list(dims), name=f"{dim._short}, joined")
    (along,) = [d for d in whole.dims if d not in parts[0].dims]
    return moved_to(whole, along, list(order), dim)
