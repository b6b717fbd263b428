"""Frozen graphs whose constants are equal only if all their bits are."""

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

# PyTensor's tables of frozen nodes and nominal variables are not made for several threads
_freezing = taken_at_forks(threading.RLock(), 2)

# bytes up to which data are compared themselves, and not what they are digested to
_SMALL = 256


def signature(constant: Constant) -> Hashable:
    """The type of a constant, and what tells its data from other data of the type: all bits.

    PyTensor's signatures compare by `==`, for which zeros of both signs are equal.

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
    """A constant that is told from others by its bits.

    Nodes of frozen graphs that are equal are one, in the whole process: of a step that asks for 0.0
    and -0.0 one would be left, or that of another graph.
    """

    def signature(self) -> Hashable:
        """The type, and what tells the data from other data of the type."""
        return signature(self)

    def equals(self, other: Any) -> bool:
        """Whether another constant of tensors has the same type and bits."""
        if isinstance(other, TensorConstant):
            return bool(signature(self) == signature(other))
        return bool(super().equals(other))


def exact(variable: Variable) -> Variable:
    """A constant of numbers that is equal to those of the same bits; other variables themselves."""
    if type(variable) is not TensorConstant or variable.data.dtype.hasobject:
        return variable
    return ExactConstant(variable.type, variable.data, variable.name)


def frozen_graph(
    inputs: Sequence[Variable], outputs: Sequence[Variable], nodes: Sequence[Apply]
) -> FrozenFunctionGraph:
    """A frozen graph of nodes in the given order, equal ones made one.

    As PyTensor freezes graphs, with exact constants.
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
