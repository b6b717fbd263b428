"""Draws of random variables by PyMC's own code."""

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

from dimtensor.dims import Dims
from dimtensor.interop.pymc.expressions import Expressions
from dimtensor.interop.pymc.stand_ins import as_type_of, lowered


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
    return Drawn(FrozenFunctionGraph.from_io(inputs, outputs)), tensors, tuple(cores)
