"""Temporaries of loop nests, and of what lies outside of all loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dimtensor.kernels.ir.nodes import Assign, Expression, Names, Var

if TYPE_CHECKING:
    from dimtensor.kernels.emit.emitter import Emitter


class Scope:
    """Temporaries of one loop nest, each written once.

    Attributes
    ----------
    temporaries : list of Assign
        In the order in which they are computed; the variables know the loops that they vary with.
    negated : dict of Expression to Expression
        What temporaries are the negatives of.
    calls : set of str
        Temporaries that are results of calls.
    """

    def __init__(self, emitter: Emitter):
        self.emitter = emitter
        self.memo: dict[tuple[Any, ...], Expression] = {}
        self.temporaries: list[Assign] = []
        self._by_value: dict[Expression, Var] = {}
        self.negated: dict[Expression, Expression] = {}
        self.calls: set[str] = set()
        self.accesses: list[tuple[Names, ...]] = []

    def temporary(self, value: Expression, loops: Names) -> Var:
        """A variable with a value, in the loops that it varies with."""
        known = self._by_value.get(value)
        if known is not None and known.loops == loops:
            return known
        made = self._by_value[value] = Var(self.emitter.fresh("t"), value.dtype, loops)
        self.temporaries.append(Assign(made, value))
        return made


class TopScope(Scope):
    """Scalars outside of all loops, written as soon as they are needed."""

    def temporary(self, value: Expression, loops: Names) -> Var:
        made = Var(self.emitter.fresh("s"), value.dtype)
        self.emitter.lines.append(Assign(made, value))
        return made
