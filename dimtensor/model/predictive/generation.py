"""Draws of a model's variables: from the prior, or given draws of some of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.compile.function import CompiledFunction, free_inputs
from dimtensor.compile.function import function as compile_function
from dimtensor.dims import Dim, without
from dimtensor.dist.laws import Law
from dimtensor.errors import InputError, build_message
from dimtensor.graph import Node, toposort
from dimtensor.graph.walk import LEAF_KINDS
from dimtensor.model.variables import put
from dimtensor.random import generator
from dimtensor.tensor.elementwise import where
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import data as make_data
from dimtensor.tensor.inputs import tensor

if TYPE_CHECKING:
    import xarray as xr

CHAIN, DRAW = Dim("chain"), Dim("draw")
SEED = tensor("seed of the draws", dtype="int64")


class Draws:
    """A function that draws some variables, given others.

    Parameters
    ----------
    targets : dict of str to Node
        What is drawn or computed.
    given : collection of str
        Variables whose values come with a call, with the dims chain and draw.
    fixed : dict of str to Node
        What takes the place of other variables.
    grown : dict of Dim to sequence
        Dims along which only elements of some labels are given; others are drawn.
    """

    def __init__(
        self,
        targets: Mapping[str, Node],
        given: Collection[str],
        fixed: Mapping[str, Node],
        grown: Mapping[Dim, Sequence[Any]],
        backend: str,
    ):
        self.given, self.fixed, self.grown = given, fixed, grown
        self._rng = generator(SEED)
        nodes = put(list(targets.values()), self._chosen)
        self.inputs = free_inputs(nodes)
        self.late = late_roots(nodes)
        outputs = {name: wrap(node) for name, node in zip(targets, nodes, strict=True)}
        sources = [*map(wrap, self.inputs), *self.late]
        self.compiled: CompiledFunction = compile_function(sources, outputs, backend)

    def _chosen(self, node: Node, inputs: tuple[Node, ...]) -> Node | None:
        if node.kind == "input":
            return node
        if node.kind == "data":
            return None if node.name is None else as_input(node)
        assert node.name is not None
        if node.name in self.fixed:
            return self.fixed[node.name]
        if node.name not in self.given:
            return self._drawn(node, inputs)
        known = tensor(node.name, (CHAIN, DRAW, *node.dims), node.dtype, node.categories)
        for dim, labels in self.grown.items():
            if dim in node.dims:
                found = make_data(np.isin(np.asarray(dim.coords), labels), dims=dim)
                known = where(found, known, wrap(self._drawn(node, inputs)))
        return known.node

    def _drawn(self, node: Node, inputs: tuple[Node, ...]) -> Node:
        law: Law = node.attrs.law
        d = law.of(inputs)
        dims = without((*node.dims, CHAIN, DRAW), d.dims)
        value, self._rng = d.draw(self._rng, dims)
        return (value if node.categories is not None else value.astype(node.dtype)).node

    def __call__(self, values: Mapping[Any, Any], seed: int | None) -> dict[str, xr.DataArray]:
        """Draws by name; `values` are by name of inputs, and by dim."""
        given = {**values, SEED.name: seed}
        missing = [x.name for x in self.inputs if given.get(x.name) is None and x is not SEED.node]
        missing += [dim.name for dim in self.late if dim not in given]
        if missing:
            raise InputError(
                build_message(
                    "draws need values that the model lacks: " + ", ".join(map(repr, missing)),
                    hint="data={...} of the model, or of this call; dims={dim: length or labels}",
                )
            )
        if given[SEED.name] is None and SEED.node in self.inputs:
            raise InputError("draws need a seed, so that they can be repeated: seed=1")
        sources: list[Any] = [given[x.name] for x in self.inputs]
        return self.compiled(*sources, *(given[dim] for dim in self.late))


def as_input(node: Node) -> Node:
    """An input in place of data."""
    return tensor(node.name, node.dims, node.dtype, node.categories).node


def late_roots(nodes: Sequence[Node]) -> list[Dim]:
    """Dims whose length nothing tells that a function of the nodes is called with."""
    order = toposort(nodes)
    carried = {dim for node in order if node.kind in LEAF_KINDS for dim in node.dims}
    found: dict[Dim, None] = {}
    pending = [dim for node in order for dim in node.dims]
    seen: set[Dim] = set()
    while pending:
        dim = pending.pop(0)
        if dim in seen or dim in carried or dim.length is not None:
            continue
        seen.add(dim)
        if dim.parents:
            pending += dim.parents
        else:
            found[dim] = None
    return list(found)


def admitted(node: Node, value: Any) -> xr.DataArray:
    """A value for an input, checked and labelled."""
    x = tensor(node.name, node.dims, node.dtype, node.categories)
    if isinstance(value, (list, tuple)) and len(node.dims) == 1:
        value = np.asarray(value)
    result = compile_function([x], x, "python")(value)
    return result
