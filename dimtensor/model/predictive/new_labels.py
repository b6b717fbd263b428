"""Models over other dims: more labels than there were when draws were made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from dimtensor.dims import Dim
from dimtensor.errors import DimError, LabelError, build_message, listing
from dimtensor.graph import Node, toposort
from dimtensor.graph.infer import describe
from dimtensor.graph.rebuilding.exchange import Exchange
from dimtensor.graph.rebuilding.substitute import rebuild
from dimtensor.model.observations import Observations
from dimtensor.model.predictive.generation import as_input
from dimtensor.tensor.handle import wrap
from dimtensor.values.datasets import label_text

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.model.predictive.drawing import Drawing
    from dimtensor.model.variables import Variable


def widened(model: Drawing, wider: Mapping[Dim, Dim]) -> tuple[Drawing, dict[Dim, Dim]]:
    """The model over other dims of the same names; data along them are to be given again.

    What follows from the labels of a dim, as a calendar does, is that of the other one. The dims
    that are exchanged come back, too: with months there may be more years.

    Raises
    ------
    DimError
        If the model has no such dim, or the other one has another name or no labels.
    """
    used = {dim for node in toposort([x.node for x in model.outputs]) for dim in node.dims}
    for old, new in wider.items():
        unlike = new.coords is None and (old.coords is not None or new.length is None)
        if old not in used or new._short != old._short or unlike:
            raise DimError(
                build_message(
                    f"predict: {new!r} cannot take the place of {old!r}",
                    [("dims of the model", ", ".join(sorted(dim._short for dim in used)))],
                    f"dims={{{old._short}: dt.Dim({old._short!r}, coords=[...])}}, of the same "
                    "name and with labels",
                )
            )

    def as_inputs(node: Node, inputs: tuple[Node, ...]) -> Node | None:
        real = node.kind == "data" and node.name is not None and node.attrs.recipe is None
        return as_input(node) if real else None

    defaults = model.defaults
    nodes = rebuild([x.node for x in model.outputs], {}, as_inputs, nested=False)
    other = model._copy()
    exchange = Exchange(wider)
    for node in toposort(nodes):
        moved = [d for d in node.dims if exchange.dim(d) is not d] if node.kind == "data" else []
        if moved and node.attrs.recipe is None:
            (old,) = [dim for dim in wider if dim._short == moved[0]._short] or [moved[0]]
            raise DimError(
                build_message(
                    f"predict: {describe(node)} has values along {old._title}, and none along the "
                    "wider dim",
                    [("dims", repr(wider.get(old, exchange.dim(old))))],
                    "name it, dt.data(..., name='x'), and give the others: predict(post, "
                    f"{{'x': values}}, dims={{{old._short}: ...}})",
                )
            )
    other._set(tuple(map(wrap, exchange.nodes(nodes, {}))))
    wider, inputs = exchange.dims, other._found.inputs
    along = {new._short for new in wider.values()}
    other.data = {n: x for n, x in defaults.items() if n in inputs and not along & set(x.dims)}
    other._numbered = model._row_numbered
    kept = {n: x for n, x in model.observed.plain.items() if not along & set(x.array.dims)}
    other.observed = Observations(kept)
    return other, wider


def known_positions(
    name: str, variable: Variable, values: xr.DataArray, wider: Mapping[Dim, Dim]
) -> dict[Dim, tuple[int, ...]]:
    """Where known elements of a variable are along its wider dims.

    Elements without labels are the first ones.

    Raises
    ------
    LabelError
        If a dim along which elements belong together lacks labels of known elements, or these
        have none.
    """
    import pandas as pd

    found = {}
    for new in wider.values():
        if new not in variable.node.dims:
            continue
        unlabelled = new._short not in values.indexes
        own = pd.RangeIndex(values.sizes[new._short]) if unlabelled else values.indexes[new._short]
        at = new.to_index().get_indexer(own)
        if unlabelled and (at < 0).any():
            raise LabelError(
                f"predict: {name!r} has no labels along {new._short} that tell which elements of "
                "the wider dim are known"
            )
        if new in variable.distribution.event_dims and (at < 0).any():
            raise LabelError(
                build_message(
                    f"predict: elements of {name!r} belong together along {new._short}, and the "
                    "wider dim lacks labels of some that are known",
                    [("lacks", listing([label_text(label) for label in own[at < 0]]))],
                    f"dims={{{new._short}: dt.Dim({new._short!r}, coords=[*known, *more])}}",
                )
            )
        found[new] = tuple(map(int, at[at >= 0]))
    return found


def padded(node: Node, value: xr.DataArray, wider: Iterable[Dim]) -> xr.DataArray:
    """Values with something where a wider dim has elements that they lack."""
    import pandas as pd

    to = {dim: dim.to_index() for dim in wider if dim in node.dims}
    if not to:
        return value
    lacking = [dim for dim in to if dim._short not in value.indexes]
    value = value.assign_coords({d._short: pd.RangeIndex(value.sizes[d._short]) for d in lacking})
    filling = 0 if node.categories is None else node.categories.to_index()[0]
    value = value.reindex({d._short: labels for d, labels in to.items()}, fill_value=filling)
    return value.drop_vars([dim._short for dim in to if dim.coords is None])
