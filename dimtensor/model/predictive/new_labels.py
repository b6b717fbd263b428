"""Models over other dims: more labels than there were when draws were made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim
from dimtensor.errors import DimError, build_message
from dimtensor.graph import Node
from dimtensor.graph.rebuilding.substitute import rebuild, substitute
from dimtensor.model.predictive.generation import as_input
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.model.predictive.drawing import Drawing


def widened(model: Drawing, wider: Mapping[Dim, Dim]) -> Drawing:
    """The model over other dims of the same names; data along them are to be given again.

    Raises
    ------
    DimError
        If the model has no such dim, or the other one has another name or no labels.
    """
    used = {dim for v in model.variables.values() for dim in v.node.dims}
    for old, new in wider.items():
        if old not in used or new.short != old.short or new.coords is None:
            raise DimError(
                build_message(
                    f"predict: {new!r} cannot take the place of {old!r}",
                    [("dims of the model", ", ".join(sorted(dim.short for dim in used)))],
                    "dims={county: dt.Dim('county', coords=[...])}, of the same name and with "
                    "labels",
                )
            )

    def as_inputs(node: Node, inputs: tuple[Node, ...]) -> Node | None:
        return as_input(node) if node.kind == "data" and node.name is not None else None

    defaults = model.defaults
    nodes = rebuild([x.node for x in model.outputs], {}, as_inputs, nested=False)
    other = model._copy()
    other._set(tuple(map(wrap, substitute(nodes, {}, wider))))
    inputs = other._found.inputs
    along = {new.short for new in wider.values()}
    other.data = {n: x for n, x in defaults.items() if n in inputs and not along & set(x.dims)}
    kept = {n: x for n, x in model.observed.items() if not along & set(x.dims)}
    other.observed = kept
    return other


def padded(
    values: Mapping[Any, Any], nodes: Sequence[Node], labels: Mapping[Dim, Any]
) -> dict[Any, Any]:
    """Values of inputs with zeros where a wider dim has labels that they lack."""
    found = dict(values)
    for node in nodes:
        to = {dim.short: dim.coords for dim in node.dims if dim in labels}
        if to:
            found[node.name] = found[node.name].reindex(to, fill_value=0)
    return found
