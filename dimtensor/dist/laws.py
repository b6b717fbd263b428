"""Laws: distributions without their parameters, as values that nodes of the graph can hold."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any

from dimtensor.dims import Dim, Dims, canonical_dims, without
from dimtensor.dist.distribution import Distribution, TableDistribution
from dimtensor.dist.supports import Support
from dimtensor.errors import GraphError, build_message
from dimtensor.graph import Node
from dimtensor.graph.rebuilding.substitute import DimMap
from dimtensor.tensor.handle import TensorHandle, wrap


class Law:
    """A distribution whose parameters are open: numbers say which of them stands where.

    Two laws are equal if distributions with the same parameters would be. What a distribution is
    made of besides tensors, dims and plain values (functions that somebody wrote) is compared by
    identity.

    Parameters
    ----------
    parts : object
        What a distribution is made of, with :class:`Slot` in place of tensors.
    hidden : tuple of Dim
        Dims of parameters that draws do not have, such as that of a mixture.
    text : str
    """

    def __init__(self, parts: Any, hidden: Dims, text: str):
        self.parts, self.hidden, self.text = parts, hidden, text
        self._key = (_key(parts), hidden)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Law) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def __reduce__(self) -> tuple:
        return (Law, (_sealed(self.parts), self.hidden, self.text))

    def map_dims(self, f: DimMap) -> Law:
        """The law with all dims in it exchanged."""
        return Law(_exchanged(self.parts, f), tuple(map(f, self.hidden)), self.text)

    def without_dims(self, dims: Dims) -> Law:
        """The law of distributions that have these dims only where parameters have them."""
        return Law(_released(self.parts, dims), self.hidden, self.text)

    def of(self, inputs: Sequence[Node]) -> Distribution:
        """The distribution with some parameters."""
        return _filled(self.parts, inputs)

    @property
    def has_functions(self) -> bool:
        """Whether somebody wrote functions that it is made of."""
        return _has_functions(self.parts)


class Slot(tuple):
    """The number of a parameter; whether it is a tensor, or the node of one."""

    __slots__ = ()


class Fields(tuple):
    """An object, as its class and its attributes; of a distribution of the table, as a call."""

    __slots__ = ()


class Fixed:
    """What stays as it is where parameters and dims are exchanged, and is compared by `==`."""


class Pairs(tuple):
    """A dict, as pairs."""

    __slots__ = ()


def law_of(d: Distribution) -> tuple[Law, tuple[Node, ...]]:
    """The law of a distribution, and its parameters in order."""
    nodes: dict[Node, int] = {}
    parts = _emptied(d, nodes)
    return Law(parts, _hidden(d), repr(d)), tuple(nodes)


def reduced(d: Distribution) -> tuple:
    """Pickled form of a distribution: formulas of the table are found by its name."""
    law, inputs = law_of(d)
    return (law.of, (inputs,))


def _hidden(d: Distribution) -> Dims:
    """Dims of parameters that draws do not have."""
    return without(_dims_of_parameters(d), d.dims)


def _dims_of_parameters(d: Distribution) -> Dims:
    return tuple(dict.fromkeys(dim for _, x in d._shown() for dim in x.dims))


def _emptied(value: Any, nodes: dict[Node, int]) -> Any:
    if isinstance(value, TensorHandle):
        return Slot((nodes.setdefault(value.node, len(nodes)), "tensor"))
    if isinstance(value, Node):
        return Slot((nodes.setdefault(value, len(nodes)), "node"))
    if isinstance(value, TableDistribution):
        given = [
            (name, Slot((nodes.setdefault(node, len(nodes)), "tensor")))
            for name, node in value._shown()
        ]
        return Fields((TableDistribution, value.name, *given))
    if isinstance(value, (Distribution, Support)):
        given = [(name, _emptied(x, nodes)) for name, x in vars(value).items()]
        hidden = _hidden(value) if isinstance(value, Distribution) else ()
        return Fields((type(value), hidden, *given))
    if isinstance(value, Mapping):
        return Pairs((name, _emptied(x, nodes)) for name, x in value.items())
    if type(value) in (list, tuple):
        return type(value)(_emptied(x, nodes) for x in value)
    return value


def _filled(parts: Any, inputs: Sequence[Node]) -> Any:
    if isinstance(parts, Slot):
        at, how = parts
        return wrap(inputs[at]) if how == "tensor" else inputs[at]
    if isinstance(parts, Fields):
        cls, known, *given = parts
        found = {key: _filled(x, inputs) for key, x in given}
        if cls is TableDistribution:
            from dimtensor.dist.catalogue import TABLE

            return TableDistribution(TABLE[known], found)
        made = object.__new__(cls)
        made.__dict__.update(found)
        if "_dims" in found:  # parameters may have more dims than before
            dims = [*found["_dims"], *without(_dims_of_parameters(made), known)]
            made.__dict__["_dims"] = canonical_dims(dict.fromkeys(dims), "a distribution")
        return made
    if isinstance(parts, Pairs):
        return {key: _filled(x, inputs) for key, x in parts}
    if type(parts) in (list, tuple):
        return type(parts)(_filled(x, inputs) for x in parts)
    return parts


class _Sealed:
    """A function that is pickled by value, since nothing imports it by its name."""

    def __init__(self, function: Any):
        self.function = function

    def __reduce__(self) -> tuple:
        by_value = sys.modules.get("cloudpickle")
        if by_value is None:
            name = getattr(self.function, "__qualname__", repr(self.function))
            raise GraphError(
                build_message(
                    f"a distribution is made of the function {name}, which pickle cannot find by "
                    "its name",
                    hint="define the function at the top of a module, or pickle with cloudpickle, "
                    "which keeps functions by value",
                )
            )
        return (by_value.loads, (by_value.dumps(self.function),))


def _sealed(parts: Any) -> Any:
    if type(parts) in (tuple, list, Fields, Pairs):
        return type(parts)(map(_sealed, parts))
    function = parts.func if isinstance(parts, partial) else parts
    if not isinstance(function, FunctionType):
        return parts
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return parts if found is function else _Sealed(parts)


def _exchanged(parts: Any, f: Callable[[Dim], Dim]) -> Any:
    if isinstance(parts, Dim):
        return f(parts)
    if type(parts) not in (tuple, list, Fields, Pairs):
        return parts
    return type(parts)(_exchanged(x, f) for x in parts)


def _released(parts: Any, dims: Dims) -> Any:
    if type(parts) not in (tuple, list, Fields, Pairs):
        return parts
    if type(parts) is tuple and len(parts) == 2 and type(parts[0]) is str and parts[0] == "_dims":
        return ("_dims", without(parts[1], dims))
    return type(parts)(_released(x, dims) for x in parts)


def _has_functions(parts: Any) -> bool:
    if isinstance(parts, (tuple, list)):
        return any(map(_has_functions, parts))
    return callable(parts) and not isinstance(parts, type)


def _key(parts: Any) -> Hashable:
    """Something hashable that equal parts have, and no others."""
    if isinstance(parts, (tuple, list)):
        return (type(parts), *map(_key, parts))
    if parts is None or isinstance(parts, (bool, int, float, str, type, Dim, Fixed)):
        return (type(parts), parts)
    return _Same(parts)


class _Same:
    """An object compared by identity, which it keeps alive."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)
