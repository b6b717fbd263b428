"""Random draws across the border: of PyMC variables for dimtensor, and the reverse."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.compile.mode import Mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Apply
from pytensor.graph.fg import FrozenFunctionGraph
from pytensor.graph.op import Op
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.type import RandomGeneratorType

from dimtensor.dims import Dim, Dims
from dimtensor.graph import Node
from dimtensor.interop.pymc.expressions import ExpressionReader
from dimtensor.interop.pymc.placeholders import lower_named_axes, with_type_of
from dimtensor.ops.graphs import freeze
from dimtensor.random.generator import generator
from dimtensor.tensor.evaluate import function
from dimtensor.tensor.inputs import scalar, tensor


class PymcDraw(Op):
    """Op that draws a PyMC random variable, given a seed and its parameters.

    Parameters
    ----------
    graph : FrozenFunctionGraph
        Graph from generators and parameters to the variable.
    """

    __props__ = ("graph",)

    def __init__(self, graph: FrozenFunctionGraph):
        self.graph = graph
        self._function: Callable[..., Any] | None = None

    def make_node(self, seed: Any, *parameters: Any) -> Apply:
        return Apply(self, [seed, *parameters], [self.graph.outputs[0].type()])

    def perform(self, node: Any, inputs: Sequence[Any], storage: Any) -> None:
        if self._function is None:
            variables = [v.type() for v in self.graph.inputs]
            mode = Mode("py", "fast_compile")
            outputs = self.graph.bind(variables)
            self._function = pytensor.function(variables, outputs[0], mode=mode)
        seed, *parameters = inputs
        count = len(self.graph.inputs) - len(parameters)
        rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(int(seed)).spawn(count)]
        storage[0][0] = self._function(*rngs, *parameters)

    def __getstate__(self) -> dict[str, Any]:
        return {"graph": self.graph, "_function": None}


def drawn(reader: ExpressionReader, variable: Any) -> tuple[PymcDraw, list[Any], tuple[Dims, ...]]:
    """Return an op that draws a random variable, its tensor arguments, and their dims."""
    above = set(ancestors([variable], blockers=list(reader.known)))
    rngs = [v for v in above if isinstance(v.type, RandomGeneratorType) and v.owner is None]
    for v in above:
        if isinstance(v, SharedVariable) and v not in rngs and v not in reader.known:
            reader.add_shared(v)
    sources = [v for v in reader.known if v in above]
    tensors, cores = [], []
    replaced = {v: v.type() for v in rngs}
    inputs = list(replaced.values())
    for v in sources:
        tensor, own = reader.known[v]
        stand_in = pt.tensor(dtype=v.type.dtype, shape=[dim.length for dim in own])
        inputs.append(stand_in)
        replaced[v] = with_type_of(v, stand_in)
        tensors.append(tensor)
        cores.append(own)
    outputs = lower_named_axes(clone_replace([variable], replaced, rebuild_strict=False))
    return PymcDraw(freeze(inputs, outputs)), tensors, tuple(cores)


def _is_number(node: Node) -> bool:
    return node.kind == "constant"


def with_constants(nodes: Sequence[Node], given: Sequence[Node]) -> list[Node]:
    """Replace nodes by others, but keep constants, whose values distributions may look at."""
    pairs = zip(nodes, given, strict=True)
    return [node if _is_number(node) else one for node, one in pairs]


class ArrayDraw:
    """Draw function of a distribution for ``pm.CustomDist``: arrays in, an array out.

    Parameters
    ----------
    spec : DistributionSpec
    nodes : sequence of Node
        Original parameters of the distribution.
    cores : sequence of tuple of Dim
        Dims of the core axes of each parameter, which follow its batch axes.
    events : tuple of Dim
        Dims of the event axes of a draw.
    """

    def __init__(self, spec: Any, nodes: Sequence[Node], cores: Sequence[Dims], events: Dims):
        self.spec, self.nodes, self.cores, self.events = spec, nodes, cores, events
        self._functions: dict[tuple[bool, ...], Callable[..., Any]] = {}

    def __deepcopy__(self, memo: Any) -> ArrayDraw:
        return self

    def __call__(self, *parameters: Any, rng: np.random.Generator, size: Any = None) -> np.ndarray:
        arrays = [np.asarray(p) for p in parameters[: len(self.cores)]]
        splits = [x.ndim - len(core) for x, core in zip(arrays, self.cores, strict=True)]
        leads = [x.shape[:at] for x, at in zip(arrays, splits, strict=True)]
        whole = np.broadcast_shapes(*leads, () if size is None else tuple(size))
        varies = tuple(math.prod(lead) != 1 for lead in leads)
        if varies not in self._functions:
            self._functions[varies] = self._made(varies)
        given = []
        for x, at, core, each, node in zip(
            arrays, splits, self.cores, varies, self.nodes, strict=True
        ):
            if _is_number(node):
                continue
            axes = x.shape[at:]
            names = [_dim_names(dim) for dim in core]
            if each:
                x = np.broadcast_to(x, whole + axes).reshape(-1, *axes)
                names = ["element", *names]
            else:
                x = x.reshape(axes)
            given.append((names, x) if names else x)
        seed = int(rng.integers(2**62))
        found = self._functions[varies](math.prod(whole), *given, seed)
        found = found.transpose("element", *map(_dim_names, self.events))
        return np.asarray(found).reshape(whole + found.shape[1:])

    def _made(self, varies: tuple[bool, ...]) -> Callable[..., Any]:
        """Compile the draw function; `varies` marks parameters with batch axes."""
        element, seed = Dim("element"), scalar("seed", dtype="int64")
        inputs = [
            tensor(
                f"parameter_{at}",
                dims=[element, *core] if each else core,
                dtype=None if node.categories is not None else node.dtype,
                categories=node.categories,
            )
            for at, (core, node, each) in enumerate(
                zip(self.cores, self.nodes, varies, strict=True)
            )
        ]
        d = self.spec.build(with_constants(self.nodes, [x.node for x in inputs]))
        value, _ = d.draw(generator(seed), [element, *self.events])
        value = value.codes if value.node.categories is not None else value
        used = [x for x, node in zip(inputs, self.nodes, strict=True) if not _is_number(node)]
        return function([element, *used, seed], value, backend="python")


def _dim_names(dim: Dim) -> str:
    return str(dim.name or dim._short)
