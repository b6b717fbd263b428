"""Draws of a model's variables: from the prior, or given draws of some of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dimtensor.arrays import array_of, ndim_of
from dimtensor.compile.function import CompiledFunction, free_inputs
from dimtensor.compile.function import function as compile_function
from dimtensor.dims import Dim, without
from dimtensor.dist.given import KnownElements, elements_at
from dimtensor.dist.spec import DistributionSpec
from dimtensor.errors import InputError
from dimtensor.graph import Node, toposort
from dimtensor.graph.walk import LEAF_KINDS
from dimtensor.model.variables import put
from dimtensor.random import generator
from dimtensor.random.seeds import required_seed
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.elementwise import where
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import tensor
from dimtensor.values.data import title_of
from dimtensor.values.outputs import Held

if TYPE_CHECKING:
    import xarray as xr

CHAIN, DRAW = Dim("chain"), Dim("draw")
SEED = tensor("seed of the draws", dtype="int64")


class DrawFunction:
    """Compiled function that draws variables given others.

    Parameters
    ----------
    targets : dict of str to Node
        Variables to draw, and expressions to compute.
    given : collection of str
        Variables whose draws are arguments of a call, with the dims chain and draw.
    fixed : dict of str to Node
        Replacements of other variables.
    grown : dict of str to dict of Dim to tuple of int
        Positions of given elements along dims of variables; the others are drawn.
    observed : collection of str
        Variables whose given elements are observations.

    Attributes
    ----------
    arrays : set of tuple of Dim
        Dims beside chain and draw of the values that are computed for each draw.
    results : set of tuple of Dim
        Those of the results.
    """

    def __init__(
        self,
        targets: Mapping[str, Node],
        given: Collection[str],
        fixed: Mapping[str, Node],
        grown: Mapping[str, Mapping[Dim, tuple[int, ...]]],
        observed: Collection[str],
        backend: str,
    ):
        self.given, self.fixed, self.grown, self.observed = given, fixed, grown, observed
        self._rng = generator(SEED)
        nodes = put(list(targets.values()), self._chosen)
        self.inputs = free_inputs(nodes)
        self.late = late_roots(nodes)
        self.arrays = {without(x.dims, [CHAIN, DRAW]) for x in toposort(nodes) if DRAW in x.dims}
        self.results = {without(x.dims, [CHAIN, DRAW]) for x in nodes}
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
        if node.name not in self.given and node.name not in self.observed:
            return self._drawn(node, inputs)
        dims = (CHAIN, DRAW, *node.dims) if node.name in self.given else node.dims
        known = tensor(node.name, dims, node.dtype, node.categories)
        at = self.grown.get(node.name, {})
        event = node.attrs.spec.build(inputs).event_dims
        within = {dim: there for dim, there in at.items() if dim in event}
        value = known
        if any(len(there) < len(dim) for dim, there in within.items()):
            value = wrap(self._drawn(node, inputs, elements_at(known, within)))
        for dim, there in at.items():
            if dim not in within:
                found = arange(dim).isin(list(there))
                value = where(found, value, wrap(self._drawn(node, inputs)))
        return value.node

    def _drawn(
        self, node: Node, inputs: tuple[Node, ...], given: KnownElements | None = None
    ) -> Node:
        spec: DistributionSpec = node.attrs.spec
        d = spec.build(inputs)
        dims = without((*node.dims, CHAIN, DRAW), d.dims)
        if given is None:
            value, self._rng = d.draw(self._rng, dims)
        else:
            value, self._rng = d._draw_given(self._rng, given, dims)
        return (value if node.categories is not None else value.astype(node.dtype)).node

    def require(self, values: Mapping[Any, Any], wider: Collection[Dim]) -> None:
        """Check that there are values of all inputs, also along dims that have become wider.

        Raises
        ------
        InputError
            If one is missing.
        """
        lacking = [x for x in self.inputs if values.get(x.name) is None and x is not SEED.node]
        missing = [x.name for x in lacking]
        missing += [dim.name for dim in self.late if dim not in values]
        if not missing:
            return
        hint = "data={...} of the model, or of this call; dims={dim: length or labels}"
        ahead = [(x, dim) for x in lacking for dim in x.dims if dim in wider]
        if ahead:
            x, dim = ahead[0]
            hint = (
                f"pass predict the values of {x.name!r} for all labels of the wider dim "
                f"{dim._short!r}, by name"
            )
        raise InputError(
            "draws need values that the model lacks: " + ", ".join(map(repr, missing)), hint=hint
        )

    def __call__(self, values: Mapping[Any, Any], seed: int | None) -> dict[str, xr.DataArray]:
        """Draws by name; `values` are by name of inputs, and by dim."""
        given = {**values, SEED.name: seed}
        if SEED.node in self.inputs:
            given[SEED.name] = required_seed(seed, "draws")
        sources: list[Any] = [given[x.name] for x in self.inputs]
        return self.compiled.in_memory(*sources, *(given[dim] for dim in self.late))


def as_input(node: Node) -> Node:
    """Make an input of the name and dims of data."""
    return tensor(node.name, node.dims, node.dtype, node.categories).node


def late_roots(nodes: Sequence[Node]) -> list[Dim]:
    """Return dims whose lengths are no property of inputs, so that a call has to pass them."""
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
    """Check and label a value for an input."""
    found = held(node, value)
    return found.labeled(found.values)


def held(node: Node, value: Any) -> Held:
    """Check a value for an input, which can be labeled later."""
    x = tensor(node.name, node.dims, node.dtype, node.categories)
    named = isinstance(value, tuple) and len(value) == 2 and ndim_of(value[1])  # dims and values
    if isinstance(value, (list, tuple)) and len(node.dims) == 1 and not named:
        value = array_of(value, title_of(node))
    return compile_function([x], x, "python").held(value)[0]
