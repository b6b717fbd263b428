"""Warnings of empty selections, whose terms vanish, and of empty groups, which are NaN."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dimtensor.compile.function import function as compile_function
from dimtensor.dims import Dim, SelDim
from dimtensor.dims.selection import Mask
from dimtensor.errors import ModelWarning, listing, warn
from dimtensor.graph import Node, leaves, toposort
from dimtensor.graph.printing.words import words_of
from dimtensor.model.predictive.generation import late_roots
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.model.logdensity import LogDensity

# Reductions that are defined for empty groups.
_DEFINED = frozenset({"sum", "prod", "count", "any", "all"})
# Operations that may turn NaN into numbers.
_STOPS = frozenset({"index", "where", "isnan", "isfinite"})


def warn_of_empty(outputs: Iterable[Node]) -> None:
    """Warn of selections, groups and windows of a model that are empty whatever the data are.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([1.0, 2.0], dims=dt.Dim("t", coords=[2001, 2002]))
    >>> warn_of_empty([x.sel(t=slice(1990, 1995)).node])  # doctest: +SKIP
    ModelWarning: a selection along 't' is empty …
    """
    _warn_of({dim for dim in _derived(outputs) if dim.length == 0})


def warn_of_empty_with_data(density: LogDensity, outputs: Iterable[Node]) -> None:
    """Warn of empty dims whose lengths come with the data of a log density.

    Those of the model alone: what a log density selects by itself, as all steps of a chain but the
    first, may be empty.
    """
    functions = density.functions
    if "late dims" not in functions.shared:
        users = _derived(outputs)
        dims = _derived([functions.assembly.logp.node])
        late = {d for d in dims if d.length is None and (_mask_of(d) or d in users)}
        functions.shared["late dims"] = late, _any_of_masks(late)
    late, (masks, compiled) = functions.shared["late dims"]
    empty = {dim for dim in late if dim._bound_length(functions.binding) == 0}
    if masks:
        own = {x: functions.replaced[x] for x in leaves(masks.values()) if x in functions.replaced}
        held = (compiled.with_data(own) if own else compiled).held()
        empty |= {dim for dim, found in zip(masks, held, strict=True) if not found.values}
    _warn_of(empty)


def _derived(outputs: Iterable[Node]) -> set[Dim]:
    return {dim for node in toposort(list(outputs)) for dim in node.dims if dim.parents}


def _mask_of(dim: Dim) -> Mask | None:
    selection = dim.selection if isinstance(dim, SelDim) else None
    return selection if isinstance(selection, Mask) else None


def _any_of_masks(late: set[Dim]) -> tuple[dict[Dim, Node], Any]:
    """Return the data-only masks of dims, and a function that reduces each with `any`."""
    masks: dict[Dim, Node] = {}
    for dim in late:
        mask = _mask_of(dim)
        if mask and not any(x.kind in ("rv", "input") for x in toposort([mask.key])):
            masks[dim] = mask.key
    answers = [wrap(x).any() for x in masks.values()]
    return masks, compile_function([], answers, "python") if answers else None


def _warn_of(empty: set[Dim]) -> None:
    # A selection from an empty dim is empty too: only the dim is named.
    first = [dim for dim in empty if not any(parent in empty for parent in dim.parents)]
    for dim in sorted(first, key=lambda dim: dim._short):
        warn(
            f"a selection along {dim._short!r} is empty: sums along it are 0, and terms of "
            "the log density over it vanish",
            ModelWarning,
            [("dim", repr(dim))],
            hint=f"compare what is selected with the labels that there are: {_parents(dim)}.coords",
        )


def _parents(dim: Dim) -> str:
    """Name the parents of a dim."""
    return " or ".join(dict.fromkeys(parent._short for parent in dim.parents))


class _GroupReduction(NamedTuple):
    """A reduction of groups that random variables depend on.

    Attributes
    ----------
    reduction : str
    dims : tuple of Dim
        Of the groups: several where they are combinations of labels.
    leaves : tuple of Node
        Data and inputs of the labels.
    labels : CompiledFunction
        The positions of the labels on each dim.
    """

    reduction: str
    dims: tuple[Dim, ...]
    leaves: tuple[Node, ...]
    late: tuple[Dim, ...]
    labels: Any


def warn_of_empty_groups(
    density: LogDensity, outputs: Iterable[Node], data: Mapping[str, Any]
) -> None:
    """Warn of groups and periods without elements that make a log density NaN.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data(
    ...     [1.0, 2.0], dims=dt.date_range("day", start="2021-01-31", periods=2, freq="28D")
    ... )
    >>> x.resample(day="2W").mean().values.tolist()
    [1.0, nan, 2.0]
    """
    functions = density.functions
    if "groups" not in functions.shared:
        functions.shared["groups"] = _groups_of(outputs)
    for groups in functions.shared["groups"]:
        lengths = [dim._bound_length(functions.binding) for dim in groups.dims]
        if None in lengths:
            continue
        late = [dim._bound_length(functions.binding) for dim in groups.late]
        empty = _empty(groups, data, lengths, late)
        if len(empty):
            _warn_of_groups(groups, empty)


def _groups_of(outputs: Iterable[Node]) -> list[_GroupReduction]:
    nodes = toposort(list(outputs))
    readers: dict[Node, list[Node]] = {}
    for node in nodes:
        for x in node.inputs:
            readers.setdefault(x, []).append(node)
    found: dict[tuple[Node, ...], _GroupReduction] = {}
    for node in nodes:
        words = words_of(node)
        if words is None or words.name in _DEFINED:
            continue
        labels = tuple(x for role, x in words.operands if role == "by")
        dims = tuple(x.categories for x in labels if x.categories is not None)
        if dims and {*dims} <= {*node.dims} and _makes_nan(node, readers):
            groups = _of_labels(words.name, labels, dims)
            found |= {} if groups is None else {labels: groups}
    return list(found.values())


def _of_labels(
    reduction: str, labels: tuple[Node, ...], dims: tuple[Dim, ...]
) -> _GroupReduction | None:
    """Describe a grouped reduction; None if its labels are random."""
    nodes = toposort(list(labels))
    if any(x.kind == "rv" for x in nodes):
        return None
    ends = [x for x in nodes if x.kind in ("data", "input")]
    late = late_roots(labels)
    inputs = [wrap(x) for x in ends if x.kind == "input"]
    codes = compile_function([*inputs, *late], [wrap(x).codes for x in labels], "python")
    return _GroupReduction(reduction, dims, tuple(ends), tuple(late), codes)


def _makes_nan(node: Node, readers: Mapping[Node, list[Node]]) -> bool:
    """Return True if NaN elements of a node may reach a random variable."""
    pending, seen = [node], {node}
    while pending:
        for reader in readers.get(pending.pop(), []):
            if reader.kind == "rv":
                return True
            if reader not in seen and reader.operation not in _STOPS:
                seen.add(reader)
                pending.append(reader)
    return False


def _empty(
    groups: _GroupReduction, data: Mapping[str, Any], lengths: list[Any], late: list[Any]
) -> np.ndarray:
    """Find the positions of empty groups, a row for each."""
    other = [x for x in groups.leaves if x.kind == "data" and x.name in data]
    own = {wrap(x): data[str(x.name)] for x in other}
    codes = groups.labels.with_data(own) if own else groups.labels
    given = [data[str(x.name)] for x in groups.leaves if x.kind == "input"]
    count = np.zeros(lengths, dtype="int64")
    at = np.stack([found.values.ravel() for found in codes.held(*given, *late)])
    np.add.at(count, tuple(at[:, (at >= 0).all(axis=0)]), 1)
    return np.argwhere(count == 0)


def _warn_of_groups(groups: _GroupReduction, empty: np.ndarray) -> None:
    names = " and ".join(repr(dim._short) for dim in groups.dims)
    rows = [tuple(map(_label, groups.dims, row)) for row in empty.tolist()]
    labels = [row[0] if len(row) == 1 else row for row in rows]
    warn(
        f"groups along {names} have no elements: their {groups.reduction} is NaN, and so is "
        "the log density of what depends on it",
        ModelWarning,
        [("empty", listing(labels))],
        hint=(
            "leave them out with sel or dropna, or say what they are: "
            f".{groups.reduction}().fillna(0.0)"
        ),
    )


def _label(dim: Dim, position: int) -> Any:
    return position if dim.coords is None else dim.coords[position]
