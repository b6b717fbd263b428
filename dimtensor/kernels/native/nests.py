"""Nests of loops in functions of their own; those that are equal but for their names share one.

LLVM takes time that grows faster than a function: after each loop that it makes vectors of, it
looks whether the whole function is still right. And it takes some hundredths of a second for each
loop, and a kernel that factors three matrices has the loops of a factorization three times. A
function is shared where all that LLVM is told of what it works on is equal as well: types, known
lengths, which lengths are the same number and which arrays the same memory. Other arrays lie apart,
or are arguments, which nothing writes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

from dimtensor.kernels.ir import nodes as ir
from dimtensor.kernels.ir.walk import expressions_in, parts_of, statements_in, summary
from dimtensor.kernels.native.builder import Builder, Module
from dimtensor.kernels.native.expressions import ExpressionWriter
from dimtensor.kernels.native.values import Array, Scalar, Value
from dimtensor.tuning import FISSIONED_STATEMENTS, OUTLINED_LOOPS

if TYPE_CHECKING:
    from dimtensor.kernels.native.translate import Translator

_INSIDE = (ir.Assign, ir.Carry, ir.Store, ir.Accumulate, ir.Fill, ir.For, ir.If)


class Nests:
    """Loop nests of a function that are functions of their own.

    Attributes
    ----------
    texts : list of str
        Their functions.
    """

    def __init__(self, t: Translator, body: ir.Body):
        self._t = t
        self.texts: list[str] = []
        self._names: dict[Hashable, str] = {}
        self._found: dict[int, _Nest] = {}  # by the identity of statements
        long = [each for each in body if _is_long(each)]
        if len(long) > 1:
            self._found = {id(each): _Nest(each) for each in long}
        if len(_open_loops(statements_in(body))) >= OUTLINED_LOOPS:
            self._found |= {id(each): _Nest(each) for each in body if _is_movable(each)}

    def write(self, w: ExpressionWriter, node: ir.Statement) -> bool:
        """Write a call in the place of a statement, if it may stand apart."""
        nest = self._found.get(id(node))
        given = None if nest is None else self._given(nest, w)
        if nest is None or given is None:
            return False
        key = nest.form, given.key()
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = f"@dimtensor.nest{len(self._names)}"
            self._write_function(name, node, given, w.b.module)
        b, slots = w.b, given.slots.values()
        # copies, since what a call has the address of stays in memory
        places = [b.slot(type_.llvm, align=type_.size) for _, type_ in slots]
        for (slot, type_), place in zip(slots, places, strict=True):
            _copy(b, slot, place, type_)
        arguments = [f"{kind} {text}" for text, kind in given.registers.items()]
        arguments += [f"ptr {place}" for place in places]
        b.write(f"call void {name}({', '.join(arguments)})")
        for (slot, type_), place in zip(slots, places, strict=True):
            _copy(b, place, slot, type_)
        return True

    def _given(self, nest: _Nest, w: ExpressionWriter) -> _Given | None:
        """Return the inputs of a nest, None where they cannot be arguments."""
        usage, names, given = self._t.usage, w.names, _Given()
        for at, name in enumerate(nest.names):
            if name in nest.counters:
                continue
            if name in nest.arrays:
                if name not in names.arrays:
                    return None
                given.add_array(at, name, names.arrays[name])
            elif not nest.writes[name]:
                value = w.variable(name)
                if value.factors:
                    return None  # of which a sum in the nest may be made without rounding
                given.add_number(at, name, value)
            elif nest.reads[name] < usage.reads[name] or nest.writes[name] < usage.writes[name]:
                if name not in names.variables or names.products.get(name):
                    return None
                given.add_slot(at, name, *names.variables[name])
        return given

    def _write_function(self, name: str, node: ir.Statement, given: _Given, module: Module) -> None:
        w = ExpressionWriter(Builder(module))
        parameters = given.name_parameters(w)
        self._t.statement(w, node)
        for at, own in enumerate(given.slots):
            _copy(w.b, w.names.variables[own][0], f"%s{at}", w.names.variables[own][1])
        self.texts.append(w.b.helper(name, parameters))


class _Given:
    """Inputs of a nest from outside, by the names that represent them.

    Attributes
    ----------
    registers : dict of str to str
        Arguments of the function, and their types; constants are written in it.
    slots : dict of str to (str, Scalar)
        Variables that the nest changes, and that are read after it.
    """

    def __init__(self) -> None:
        self.registers: dict[str, str] = {}
        self.slots: dict[str, tuple[str, Scalar]] = {}
        self._arrays: dict[str, Array] = {}
        self._numbers: dict[str, Value] = {}
        self._roles: list[tuple[str, int]] = []

    def add_array(self, at: int, name: str, array: Array) -> None:
        self._roles.append(("array", at))
        self._arrays[name] = array
        self._add(array.pointer, "ptr")
        for length in array.shape:
            self._add(length.text, length.type.llvm)

    def add_number(self, at: int, name: str, value: Value) -> None:
        self._roles.append(("number", at))
        self._numbers[name] = value
        self._add(value.text, value.type.llvm)

    def add_slot(self, at: int, name: str, slot: str, type_: Scalar) -> None:
        self._roles.append(("slot", at))
        self.slots[name] = slot, type_

    def _add(self, text: str, kind: str) -> None:
        if text.startswith("%"):
            self.registers.setdefault(text, kind)

    def _inside(self, text: str) -> str:
        """Return the name that a register of the caller has in the function."""
        return f"%p{list(self.registers).index(text)}" if text.startswith("%") else text

    def key(self) -> Hashable:
        """Return everything besides the nest's form that the function depends on."""
        arrays = tuple(
            (
                self._inside(array.pointer),
                array.type,
                tuple((self._inside(n.text), *n[1:]) for n in array.shape),
            )
            for array in self._arrays.values()
        )
        numbers = tuple((self._inside(each.text), *each[1:]) for each in self._numbers.values())
        slots = tuple(type_ for _, type_ in self.slots.values())
        return tuple(self._roles), tuple(self.registers.values()), arrays, numbers, slots

    def name_parameters(self, w: ExpressionWriter) -> list[str]:
        """Let names stand for parameters in the function that is being written; gives these."""
        names = w.names
        for name, array in self._arrays.items():
            shape = tuple(each._replace(text=self._inside(each.text)) for each in array.shape)
            names.arrays[name] = array._replace(pointer=self._inside(array.pointer), shape=shape)
        for name, value in self._numbers.items():
            names.fixed[name] = value._replace(text=self._inside(value.text))
        for at, (name, (_, type_)) in enumerate(self.slots.items()):
            names.variables[name] = w.b.slot(type_.llvm, align=type_.size), type_
            _copy(w.b, f"%s{at}", names.variables[name][0], type_)
        kinds = [f"{kind} {self._inside(text)}" for text, kind in self.registers.items()]
        return kinds + [f"ptr noalias %s{at}" for at in range(len(self.slots))]


def _copy(b: Builder, source: str, target: str, type_: Scalar) -> None:
    value = b.let(f"load {type_.llvm}, ptr {source}, align {type_.size}")
    b.write(f"store {type_.llvm} {value}, ptr {target}, align {type_.size}")


class _Nest:
    """A statement and its names, in the order in which they occur.

    Attributes
    ----------
    form : Hashable
        What is equal of two statements that differ in names alone.
    """

    def __init__(self, node: ir.Statement):
        self.names: dict[str, int] = {}
        self.arrays: set[str] = set()
        self.form = self._of(node)
        self.counters = {
            each.counter.name for each in statements_in([node]) if isinstance(each, ir.For)
        }
        self.reads, self.writes, *_ = summary(ir.Function("", (), (node,), ()))

    def _of(self, node: ir.Statement) -> Hashable:
        target = getattr(node, "target", None) or getattr(node, "counter", None)
        first = None if target is None else self._number(target)
        reads = tuple(map(self._number, node.reads))
        blocks = tuple(tuple(map(self._of, block)) for block in node.blocks)
        how = getattr(node, "op", None) or getattr(node, "step", None)
        return type(node), how, first, reads, blocks

    def _number(self, node: ir.Expression) -> Hashable:
        match node:
            case ir.Const():
                return node
            case ir.Var():
                return self._name(node.name), node.dtype
            case ir.Array():
                self.arrays.add(node.name)
                return self._name(node.name), node.dtype, node.rank
            case ir.Length():
                return self._number(node.array), ("axis", node.axis)
        how = node.function if isinstance(node, ir.Call) else getattr(node, "op", None)
        return type(node), how, node.dtype, tuple(map(self._number, parts_of(node)))

    def _name(self, name: str) -> int:
        return self.names.setdefault(name, len(self.names))


def _open_loops(statements: Iterable[ir.Statement]) -> list[ir.For]:
    """Loops whose number of rounds is not known."""
    loops = (each for each in statements if isinstance(each, ir.For))
    return [each for each in loops if not isinstance(each.stop, ir.Const)]


def _is_long(node: ir.Statement) -> bool:
    """Return whether a statement is a vectorized loop with a long body."""
    return (
        isinstance(node, ir.For)
        and node.is_wide
        and len(node.body) >= FISSIONED_STATEMENTS
        and all(isinstance(each, _INSIDE) for each in node.body)
    )


def _is_movable(node: ir.Statement) -> bool:
    """Return whether a statement is a loop nest that another function may run."""
    inside = list(statements_in([node]))
    loops = [each for each in inside if isinstance(each, ir.For)]
    return (
        bool(_open_loops(inside))
        and all(isinstance(each, _INSIDE) for each in inside)
        and not any(each.is_scan or each.is_wide for each in loops)
        and not any(
            isinstance(each, (ir.Reshaped, ir.Wrapped))
            for statement in inside
            for read in statement.reads
            for each in expressions_in(read)
        )
    )
