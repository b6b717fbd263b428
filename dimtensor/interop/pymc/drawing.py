"""Draws: of random variables by PyMC's own code, and of distributions for PyMC by ours."""

from __future__ import annotations

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

from dimtensor.dims import Dims, without
from dimtensor.graph import Node
from dimtensor.interop.pymc.expressions import Expressions
from dimtensor.interop.pymc.stand_ins import as_type_of, lowered
from dimtensor.ops.graphs import freeze
from dimtensor.random.generator import generator
from dimtensor.tensor.evaluate import function
from dimtensor.tensor.inputs import scalar, tensor


class Drawn(Op):
    """A draw of a random variable from a seed and what it depends on.

    Parameters
    ----------
    graph : FrozenFunctionGraph
        From generators and parameters to the variable.
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


def drawn(reader: Expressions, variable: Any) -> tuple[Drawn, list[Any], tuple[Dims, ...]]:
    """Draws of a random variable as an operation; the tensors it takes after a seed; their dims."""
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
        replaced[v] = as_type_of(v, stand_in)
        tensors.append(tensor)
        cores.append(own)
    outputs = lowered(clone_replace([variable], replaced, rebuild_strict=False))
    return Drawn(freeze(inputs, outputs)), tensors, tuple(cores)


def _is_number(node: Node) -> bool:
    return node.kind == "constant"


def with_numbers(nodes: Sequence[Node], given: Sequence[Node]) -> list[Node]:
    """What stands for nodes, and numbers themselves: that one is whole is told by its value."""
    pairs = zip(nodes, given, strict=True)
    return [node if _is_number(node) else one for node, one in pairs]


def kept(ndim: int, batch: Dims, own: Dims) -> tuple[Any, ...]:
    """An index that leaves out the axes of batch dims that a tensor has not."""
    lead = ndim - len(without(own, batch))
    dims = batch[len(batch) - lead :] if lead else ()
    return tuple(slice(None) if dim in own else 0 for dim in dims)


class Draw:
    """Draws of a distribution, for PyMC's generators: arrays in, an array out."""

    def __init__(
        self,
        law: Any,
        nodes: Sequence[Node],
        axes: list[Dims],
        dims: Dims,
        batch: Dims,
    ):
        self.law, self.dims, self.batch, self.axes = law, dims, batch, axes
        self.nodes = nodes
        self.inputs = [
            tensor(
                f"parameter_{at}",
                dims=own,
                dtype=None if n.categories is not None else n.dtype,
                categories=n.categories,
            )
            for at, (own, n) in enumerate(zip(axes, nodes, strict=True))
        ]
        self._function: Callable[..., Any] | None = None

    def __deepcopy__(self, memo: Any) -> Draw:
        return self

    def __call__(self, *parameters: Any, rng: np.random.Generator, size: Any = None) -> np.ndarray:
        arrays = [np.asarray(p) for p in parameters[: len(self.axes)]]
        whole = tuple(size) if size is not None else None
        more = len(whole) - len(self.batch) if whole is not None else 0
        if more <= 0:
            return self._one(arrays, rng)
        found = []
        for at in np.ndindex(*whole[:more]):  # type: ignore[index]
            found.append(self._one([self._part(p, n, at) for n, p in enumerate(arrays)], rng))
        drawn = np.stack(found)
        return drawn.reshape(*whole[:more], *drawn.shape[1:])  # type: ignore[index]

    def _part(self, array: np.ndarray, number: int, at: tuple[int, ...]) -> np.ndarray:
        """The parameter of one of many draws."""
        expected = len(self.batch) + len(without(self.axes[number], self.batch))
        while array.ndim > expected:
            place = at[len(at) - (array.ndim - expected)]
            array = array[place if array.shape[0] > 1 else 0]
        return array

    def _one(self, arrays: list[np.ndarray], rng: np.random.Generator) -> np.ndarray:
        if self._function is None:
            seed = scalar("seed", dtype="int64")
            d = self.law.of(with_numbers(self.nodes, [x.node for x in self.inputs]))
            value, _ = d.draw(generator(seed), self.dims)
            value = value.codes if value.node.categories is not None else value
            inputs = [x for x, n in zip(self.inputs, self.nodes, strict=True) if not _is_number(n)]
            self._function = function([*inputs, seed], value, backend="python")
        given = []
        for array, own, node in zip(arrays, self.axes, self.nodes, strict=True):
            if _is_number(node):
                continue
            array = array[kept(array.ndim, self.batch, own)]
            given.append(([str(dim.name or dim.short) for dim in own], array) if own else array)
        found = self._function(*given, int(rng.integers(2**62)))
        return np.asarray(found.transpose(*[str(dim.name or dim.short) for dim in self.dims]))
