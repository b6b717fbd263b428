"""Temporaries of loop nests, and of what lies outside of all loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dimtensor.kernels.ir.nodes import (
    Array,
    Assign,
    Const,
    Expression,
    Length,
    Load,
    Names,
    Op,
    Var,
)
from dimtensor.kernels.ir.walk import expressions_in

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
    owners : dict of (Variable, Index) to Expression
        Elements that are counters of loops: the segments that positions are in.
    """

    def __init__(self, emitter: Emitter):
        self.emitter = emitter
        self.memo: dict[tuple[Any, ...], Expression] = {}
        self.temporaries: list[Assign] = []
        self._by_value: dict[Expression, Var] = {}
        self.negated: dict[Expression, Expression] = {}
        self.owners: dict[tuple[Any, ...], Expression] = {}
        self.accesses: list[tuple[Names, ...]] = []

    def temporary(self, value: Expression, loops: Names) -> Var:
        """Name a value, in the loops that it varies with."""
        known = self._by_value.get(value)
        if known is not None and known.loops == loops:
            return known
        made = self._by_value[value] = Var(self.emitter.fresh("t"), value.dtype, loops)
        self.temporaries.append(Assign(made, value))
        return made


class TopScope(Scope):
    """Scalars outside of all loops, written as soon as they are needed.

    Integers that are sums and the like of what is known before the loop around the block are
    written there: lengths may follow from them.
    """

    def temporary(self, value: Expression, loops: Names) -> Var:
        e = self.emitter
        made = Var(e.fresh("s"), value.dtype)
        if value.dtype == "int64" and _is_safe(value) and e.is_early(value):
            e.name_early(Assign(made, value))
        else:
            e.lines.append(Assign(made, value))
        return made


def _is_safe(value: Expression) -> bool:
    """Return whether an integer may be computed unconditionally: it does not divide by 0."""
    return all(
        isinstance(each, (Var, Const, Array, Length))
        or (isinstance(each, Op) and each.op in _SAFE)
        or (isinstance(each, Load) and all(isinstance(at, Const) for at in each.index))
        for each in expressions_in(value)
    )


_SAFE = ("+", "-", "*", "min", "max", "select", "cast", "neg")
