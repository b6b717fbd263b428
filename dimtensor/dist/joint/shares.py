"""Parameters whose values are checked together along a dim: probabilities, and cutpoints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from dimtensor.dims import Dim
from dimtensor.dist.state import HasState
from dimtensor.dist.supports import Support
from dimtensor.dist.supports.along import SUM_WITHIN
from dimtensor.errors import OptionError, build_message, plain_repr
from dimtensor.graph import Node
from dimtensor.graph.forms import known_length
from dimtensor.graph.walk import toposort
from dimtensor.tensor.check import check
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.elementwise import logical_not
from dimtensor.tensor.values import has_values, is_soon_computed

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

# operations that keep the elements along other dims together
_MOVES = ("named", "expand", "index", "cast", "check", "relabel")


class Together(HasState, ABC, state=("dim", "what", "unused", "built", "known")):
    """A condition on the values of a parameter along a dim.

    Known values are checked at once, values that fulfill it by construction never, and others where
    they are used.

    Parameters
    ----------
    values : DimTensor
    dim : Dim
    what : str
        Name of the parameter in messages.
    unused : Dim, optional
        A dim at whose first position values mean nothing.

    Raises
    ------
    OptionError
        If known values do not fulfill it.
    """

    def __init__(self, values: DimTensor, dim: Dim, what: str, unused: Dim | None = None):
        self.dim, self.what, self.unused = dim, what, unused
        self.built = self._is_built_so(values.node)
        self.known = False
        if not self.built and _is_known(values.node):
            self._check_known(values)
            nodes = toposort([values.node])
            self.known = not any(x.kind in ("data", "named") and x.name for x in nodes)

    def checked(self, values: DimTensor) -> DimTensor:
        """Check other values of the parameter, unless they satisfy the condition by construction.

        In a log density an unknown stands in place of a variable, and has its support.
        """
        node = values.node
        if self.built and _origin(node, self.dim)[0].kind == "input":
            return values
        if (self.known and has_values(node)) or self._is_built_so(node):
            return values
        return check(self._condition(values), self._message(), values)

    def _condition(self, values: DimTensor) -> DimTensor:
        fine = self._holds(values)
        if self.unused is not None and self.unused in values.dims:
            fine = fine | (arange(self.unused) < 1)
        return fine

    def _check_known(self, values: DimTensor) -> None:
        fine = self._condition(values)
        broken = np.argwhere(~np.atleast_1d(fine.values))
        if not len(broken):
            return
        at = {dim: int(k) for dim, k in zip(fine.dims, broken[0], strict=False)}
        raise OptionError(self._refusal(values, at))

    def _details(self, at: dict[Dim, int]) -> list[tuple[str, str]]:
        labels = [
            f"{dim._short}={k if dim.coords is None else plain_repr(dim.coords[k])}"
            for dim, k in at.items()
        ]
        return [("at", ", ".join(labels))] if labels else []

    def _is_built_so(self, node: Node) -> bool:
        """Return True if the expression guarantees the condition, as a softmax does."""
        root, dim = _origin(node, self.dim)
        if root.kind != "rv":
            return False
        support = root.attrs.spec.build(root.inputs).support
        return self._is_guaranteed_by(support) and (support.event_dims or root.dims) == (dim,)

    @abstractmethod
    def _is_guaranteed_by(self, support: Support) -> bool:
        """Return True if values of a support fulfill the condition along its event dim."""

    @abstractmethod
    def _holds(self, values: DimTensor) -> DimTensor:
        """Return the condition, which NaN satisfies: the range check refuses NaN."""

    @abstractmethod
    def _message(self) -> str:
        """Return the error text for computed values."""

    @abstractmethod
    def _refusal(self, values: DimTensor, at: dict[Dim, int]) -> str:
        """Return the error text for known values, with positions of wrong ones."""


class Shares(Together):
    """Probabilities whose sum along a dim is 1."""

    def _is_guaranteed_by(self, support: Support) -> bool:
        return support.sums_to_one

    def _is_built_so(self, node: Node) -> bool:
        root, dim = _origin(node, self.dim)
        if _is(root, "divide"):
            return _is_sum(root.inputs[1], root.inputs[0], dim)
        name = "softmax"
        if _is(root, "exp"):
            name, (root, dim) = "log_softmax", _origin(root.inputs[0], dim)
        if root.kind == "softmax":
            return root.attrs == (name, (dim,))
        return super()._is_built_so(node)

    def _holds(self, values: DimTensor) -> DimTensor:
        return logical_not(abs(values.sum(self.dim) - 1.0) > SUM_WITHIN)

    def _message(self) -> str:
        return (
            f"{self.what} do not add up to 1 along {self.dim._short}: "
            f"x.softmax({_written(self.dim)}) makes such probabilities of real numbers"
        )

    def _refusal(self, values: DimTensor, at: dict[Dim, int]) -> str:
        wrong = values.isel(at) if at else values
        total, dim = wrong.sum(self.dim).item(), _written(self.dim)
        return build_message(
            f"{self.what}: probabilities along {self.dim._short} add up to {total:.6g}, not to 1",
            [*self._details(at), ("probabilities", _listed(wrong))],
            f"w / w.sum({dim}) makes shares of weights, x.softmax({dim}) makes them of real "
            "numbers",
        )


class Increasing(Together):
    """Cutpoints that increase along a dim."""

    def _is_guaranteed_by(self, support: Support) -> bool:
        return support.is_increasing

    def _holds(self, values: DimTensor) -> DimTensor:
        steps = values.diff(self.dim)
        along = [dim for dim in steps.dims if dim not in values.dims] or [self.dim]
        return logical_not((steps < 0).any(along))

    def _message(self) -> str:
        return (
            f"{self.what} do not increase along {self.dim._short}: "
            "dist.ordered and dt.supports.ordered make cutpoints that do"
        )

    def _refusal(self, values: DimTensor, at: dict[Dim, int]) -> str:
        wrong = values.isel(at) if at else values
        return build_message(
            f"{self.what} do not increase along {self.dim._short}",
            [*self._details(at), ("cutpoints", _listed(wrong))],
            "give them from the lowest to the highest one",
        )


def _is_known(node: Node) -> bool:
    """Return True if a value can be computed now: it does not depend on a loop's step."""
    nodes = toposort([node])
    dims = {dim for x in nodes if x.kind == "data" for dim in x.dims}
    return is_soon_computed(node) and not any(
        x.kind == "bound" or any(d not in dims and known_length(d) is None for d in x.dims)
        for x in nodes
    )


def _written(dim: Dim) -> str:
    """Return the name of a dim as an identifier."""
    return dim._short if dim._short.isidentifier() else "dim"


def _listed(x: DimTensor) -> str:
    shown = [f"{value:g}" for value in x.values.ravel()[:6]]
    return ", ".join(shown) + (", …" if x.values.size > 6 else "")


def _origin(node: Node, dim: Dim) -> tuple[Node, Dim]:
    """Find the node that the elements along a dim are moved from, and their dim there."""
    while node.kind in _MOVES:
        if node.kind == "relabel":
            dim = {new: old for old, new in node.attrs.pairs}.get(dim, dim)
        if dim not in node.inputs[0].dims:
            break
        node = node.inputs[0]
    return node, dim


def _unmoved(node: Node) -> Node:
    while node.kind in ("named", "expand", "cast", "check"):
        node = node.inputs[0]
    return node


def _is(node: Node, name: str) -> bool:
    return node.kind == "elemwise" and node.attrs == name


def _is_sum(node: Node, of: Node, dim: Dim) -> bool:
    """Return True if a node is the sum of another node along a dim."""
    total = _unmoved(node)
    return (
        total.kind == "reduce"
        and total.attrs.name == "sum"
        and total.attrs.dims == (dim,)
        and total.inputs[0] is of
    )
