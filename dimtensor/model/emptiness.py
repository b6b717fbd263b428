"""Warnings of dims without elements: what is summed along them adds nothing to a density."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dimtensor.compile.function import function as compile_function
from dimtensor.dims import Dim, SelDim
from dimtensor.dims.selection import Mask
from dimtensor.errors import ModelWarning, build_message, warn
from dimtensor.graph import Node, leaves, toposort
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.model.logdensity import LogDensity


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
    empty = {dim for dim in late if dim.bound_length(functions.binding) == 0}
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
    """The masks of data by the dims that they make, and a function of whether each is true once."""
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
    for dim in sorted(first, key=lambda dim: dim.short):
        warn(
            build_message(
                f"a selection along {dim.short!r} is empty: sums along it are 0, and terms of "
                "the log density over it vanish",
                [("dim", repr(dim))],
                f"compare what is selected with the labels that there are: {_parents(dim)}.coords",
            ),
            ModelWarning,
        )


def _parents(dim: Dim) -> str:
    """The names of the dims that a dim is made of."""
    return " or ".join(dict.fromkeys(parent.short for parent in dim.parents))
