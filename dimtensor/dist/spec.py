"""Hashable distribution specs with placeholders for parameters.

A node of the graph holds the spec of its distribution; the parameters are the node's inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from dimtensor.dims import Dim, Dims
from dimtensor.dist.distribution import Distribution
from dimtensor.dist.state import HasState, picklable
from dimtensor.graph import Node
from dimtensor.graph.rebuilding.substitute import DimMap
from dimtensor.tensor.handle import TensorHandle, wrap


class DistributionSpec:
    """A distribution with placeholders for its parameters.

    Two specs are equal if distributions with the same parameters would be. Functions of users are
    compared by identity.

    Parameters
    ----------
    parts : object
        The class and the attributes of the distribution, with a :class:`Placeholder` per tensor.
    hidden : tuple of Dim
        Dims of parameters that draws do not have, such as that of a mixture.
    text : str
    """

    def __init__(self, parts: Any, hidden: Dims, text: str):
        self.parts, self.hidden, self.text = parts, hidden, text
        self._key = (_key(parts), hidden)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DistributionSpec) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def __reduce__(self) -> tuple:
        parts = _map_leaves(self.parts, picklable)
        return (DistributionSpec, (parts, self.hidden, self.text))

    def map_dims(self, f: DimMap) -> DistributionSpec:
        """Return the spec with each dim replaced."""
        parts = _map_leaves(self.parts, lambda x: f(x) if isinstance(x, Dim) else x)
        return DistributionSpec(parts, tuple(map(f, self.hidden)), self.text)

    def build(self, inputs: Sequence[Node]) -> Distribution:
        """Return the distribution with some parameters."""
        return _filled(self.parts, inputs)

    @property
    def has_functions(self) -> bool:
        """True if the distribution is made of functions of users."""
        return any(callable(x) and not isinstance(x, type) for x in _leaves(self.parts))


class Placeholder(tuple):
    """Number of a parameter, and whether the attribute is a tensor or the node of one."""

    __slots__ = ()


class StateSpec(tuple):
    """Class of a distribution or support, and pairs of the names and values of its attributes."""

    __slots__ = ()


class OpaqueLeaf:
    """A leaf of a spec that is compared by `==`, and whose dims and tensors stay."""


class Pairs(tuple):
    """Items of a dict."""

    __slots__ = ()


def spec_of(d: Distribution) -> tuple[DistributionSpec, tuple[Node, ...]]:
    """Return the spec of a distribution, and its parameters in order."""
    nodes: dict[Node, int] = {}
    parts = _emptied(d, nodes)
    return DistributionSpec(parts, d._lost_dims(), repr(d)), tuple(nodes)


def parameter_nodes(value: HasState) -> tuple[Node, ...]:
    """Return the nodes of the tensors in a state, in order."""
    nodes: dict[Node, int] = {}
    _emptied(value, nodes)
    return tuple(nodes)


def _emptied(value: Any, nodes: dict[Node, int]) -> Any:
    """Return an attribute with placeholders for tensors, whose nodes it adds to `nodes`."""
    if isinstance(value, TensorHandle):
        return Placeholder((nodes.setdefault(value.node, len(nodes)), "tensor"))
    if isinstance(value, Node):
        return Placeholder((nodes.setdefault(value, len(nodes)), "node"))
    if isinstance(value, HasState):
        given = value._state().items()
        return StateSpec((type(value), *((name, _emptied(x, nodes)) for name, x in given)))
    if isinstance(value, Mapping):
        return Pairs((name, _emptied(x, nodes)) for name, x in value.items())
    if type(value) in (list, tuple):
        return type(value)(_emptied(x, nodes) for x in value)
    return value


def _filled(parts: Any, inputs: Sequence[Node]) -> Any:
    """Return an attribute with parameters in the place of placeholders."""
    if isinstance(parts, Placeholder):
        at, how = parts
        return wrap(inputs[at]) if how == "tensor" else inputs[at]
    if isinstance(parts, StateSpec):
        cls, *given = parts
        return cls._from_state({name: _filled(x, inputs) for name, x in given})
    if isinstance(parts, Pairs):
        return {key: _filled(x, inputs) for key, x in parts}
    if type(parts) in (list, tuple):
        return type(parts)(_filled(x, inputs) for x in parts)
    return parts


def _map_leaves(parts: Any, f: Callable[[Any], Any]) -> Any:
    if type(parts) not in (tuple, list, StateSpec, Pairs):
        return f(parts)
    return type(parts)(_map_leaves(x, f) for x in parts)


def _leaves(parts: Any) -> list[Any]:
    found: list[Any] = []
    _map_leaves(parts, found.append)
    return found


def _key(parts: Any) -> Hashable:
    """Return a hashable value that equal parts have, and no others."""
    if isinstance(parts, (tuple, list)):
        return (type(parts), *map(_key, parts))
    if parts is None or isinstance(parts, (bool, int, float, str, type, Dim, OpaqueLeaf)):
        return (type(parts), parts)
    return _Identity(parts)


class _Identity:
    """An object compared by identity, and kept alive."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)
