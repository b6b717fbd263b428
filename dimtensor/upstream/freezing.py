"""Frozen graphs whose constants are compared bitwise."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from pytensor.graph.basic import Apply, Constant, FrozenApply, NominalVariable, Variable
from pytensor.graph.fg import FrozenFunctionGraph, Output
from pytensor.tensor.variable import TensorConstant

from dimtensor.forks import taken_at_forks

# PyTensor's tables of frozen nodes and nominal variables are not thread-safe
_freezing = taken_at_forks(threading.RLock(), 2)

# larger data are compared by a digest
_SMALL = 256


def signature(constant: Constant) -> Hashable:
    """Return the type of a constant and a key of the bits of its data.

    PyTensor's signatures compare by `==`, for which 0.0 equals -0.0.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> signature(pt.constant(0.0)) == signature(pt.constant(-0.0))
    False
    """
    data: Any = constant.data
    if not isinstance(constant, TensorConstant) or data.dtype.hasobject:
        return constant.signature()
    if data.nbytes <= _SMALL:
        return (constant.type, data.tobytes())
    return (constant.type, blake2b(np.ascontiguousarray(data)).digest())


class ExactConstant(TensorConstant):
    """Constant compared bitwise.

    Equal nodes of frozen graphs are merged in the whole process: a graph with 0.0 would get the
    node of another one with -0.0.
    """

    def signature(self) -> Hashable:
        """Return the type and a key of the bits."""
        return signature(self)

    def equals(self, other: Any) -> bool:
        """Return True for a constant of the same type and bits."""
        if isinstance(other, TensorConstant):
            return bool(signature(self) == signature(other))
        return bool(super().equals(other))


def exact(variable: Variable) -> Variable:
    """Convert a constant of numbers to one compared bitwise; pass other variables through."""
    if type(variable) is not TensorConstant or variable.data.dtype.hasobject:
        return variable
    return ExactConstant(variable.type, variable.data, variable.name)


def frozen_graph(
    inputs: Sequence[Variable], outputs: Sequence[Variable], nodes: Sequence[Apply]
) -> FrozenFunctionGraph:
    """Freeze a graph of nodes in the given order, and merge equal ones.

    As PyTensor does, with constants compared bitwise.
    """
    found: dict[Variable, Variable] = {}

    def of(variable: Variable) -> Variable:
        known = found.get(variable)
        if known is None:
            assert isinstance(variable, Constant), f"{variable} is no input of the graph"
            known = found[variable] = exact(variable)
        return known

    frozen = []
    with _freezing:
        nominal = tuple(NominalVariable(at, x.type) for at, x in enumerate(inputs))
        found.update(zip(inputs, nominal, strict=True))
        for node in nodes:
            types = tuple(x.type for x in node.outputs)
            made = FrozenApply(node.op, tuple(map(of, node.inputs)), types)
            frozen.append(made)
            found.update(zip(node.outputs, made.outputs, strict=True))
        ends = tuple(FrozenApply(Output(at), (of(x),), ()) for at, x in enumerate(outputs))
    return FrozenFunctionGraph(nominal, tuple(frozen), ends)
