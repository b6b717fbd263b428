"""Templates (`core_routines` and its like), written into a kernel.

A template is a Python function of arrays, numbers and flags. Its statements are put in the place of
a call of it: arrays become selections of the arrays that it is called with, flags decide which of
its branches remain. There are no calls and no views in what is left, so that the loops of a batch
and those of a template are one nest.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dimtensor.kernels.foreign import Routine
from dimtensor.kernels.ir.make import FALSE, TRUE, cast
from dimtensor.kernels.ir.nodes import (
    Allocate,
    Array,
    Assign,
    Call,
    Expression,
    Load,
    Part,
    Statement,
    Store,
    Var,
)
from dimtensor.kernels.ir.parse import Parser
from dimtensor.kernels.native.functions.fortran import LETTERS, SUBROUTINES
from dimtensor.kernels.native.functions.generators import FUNCTIONS

if TYPE_CHECKING:
    from dimtensor.kernels.emit.emitter import Emitter


_FILES = ("core_routines", "decompositions", "seeding")


class Access(NamedTuple):
    """An array that a template works on.

    Attributes
    ----------
    array : Array
    pattern : tuple of Expression or int
        For each axis of the array a position, or the number of the template's axis. Axes of the
        template alone are those of an array that is meant as a whole.
    """

    array: Array
    pattern: tuple[Expression | int, ...] = ()

    @property
    def is_whole(self) -> bool:
        return all(isinstance(each, int) for each in self.pattern)


Given = Callable[[Expression], Statement]  # what is done with a result


def given_to(target: Var | Load) -> Given:
    """Return the assignment of a result to a variable or an element."""

    def give(value: Expression) -> Statement:
        return Assign(target, value) if isinstance(target, Var) else Store(target, value)

    return give


@cache
def _library() -> dict[str, ast.FunctionDef]:
    paths = [Path(__file__).with_name(f"{name}.py") for name in _FILES]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in paths]
    return {
        node.name: node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)
    }


def inlined(
    e: Emitter,
    name: str,
    arrays: Mapping[str, Access],
    numbers: Mapping[str, Expression],
    dtype: str,
    results: Sequence[Given] = (),
) -> list[Statement]:
    """Statements of a template.

    Parameters
    ----------
    e : Emitter
        Gives names; memory that the template asks for is made by statements that are added to it.
    name : str
        A function of :mod:`dimtensor.kernels.rules.core_routines`.
    arrays : mapping of str to Access
    numbers : mapping of str to Expression
        Its other parameters. ``TRUE`` and ``FALSE`` are flags.
    dtype : str
        What ``DTYPE`` stands for.
    results : sequence of callable
        What is done with each number that it returns.
    """
    function = _library()[name]
    inliner = _Inliner(e, arrays, numbers, dtype)
    statements: list[Statement] = []
    for node in function.body:
        if isinstance(node, ast.Return):
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            for give, value in zip(results, values, strict=True):
                assert value is not None
                statements.append(give(inliner.number(value)))
        else:
            statements += inliner.statement(node)
    return statements


class _Inliner(Parser):
    """Renames what a template works on, and drops branches that flags decide against."""

    def __init__(
        self,
        e: Emitter,
        arrays: Mapping[str, Access],
        numbers: Mapping[str, Expression],
        dtype: str,
    ):
        super().__init__(numbers, FUNCTIONS)
        self.e = e
        self.accesses = arrays
        self._dtype = dtype

    def fresh(self, name: str) -> str:
        return self.e.fresh("l")

    def dtype(self, node: ast.expr) -> str:
        is_own = isinstance(node, ast.Name) and node.id == "DTYPE"
        return self._dtype if is_own else super().dtype(node)

    def statement(self, node: ast.stmt) -> list[Statement]:
        match node:
            case ast.Expr(ast.Call() as called) if self._is_template(called):
                return self._template(called, ())
            case ast.Assign([ast.Name(name)], ast.Call() as called) if self._is_template(called):
                return self._template(called, (lambda value: self.assign(name, value),))
            case ast.If(test, body, orelse) if (decided := self._decided(test)) is not None:
                return self.statements(body if decided else orelse)
        statements = super().statement(node)
        for each in list(statements):
            if isinstance(each, Allocate):  # memory is made once, before the loops around
                early = all(map(self.e.is_early, each.shape))
                (self.e.early if early else self.e.lines).append(each)
                statements.remove(each)
        return statements

    def number(self, node: ast.expr) -> Expression:
        if isinstance(node, ast.IfExp) and (decided := self._decided(node.test)) is not None:
            return self.number(node.body if decided else node.orelse)
        return super().number(node)

    def call(self, node: ast.Call) -> Expression:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "DTYPE":
            return cast(self.number(node.args[0]), self._dtype)
        if name in FUNCTIONS:
            self.e.namespace[name] = Routine(name)
        if name not in SUBROUTINES:
            return super().call(node)
        called = LETTERS[self._dtype] + name  # subroutines have a letter for the dtype
        self.e.namespace[called] = Routine(called)
        return Call(called, tuple(map(self.operand, node.args)), "int32")

    def array(self, node: ast.expr) -> Array:
        access = self.accesses.get(node.id) if isinstance(node, ast.Name) else None
        if access is None:
            return super().array(node)
        assert access.is_whole
        return access.array

    def operand(self, node: ast.expr) -> Expression:
        if isinstance(node, ast.Name) and node.id in self.accesses:
            return self.array(node)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            array = self.accesses[node.value.id].array
            at = tuple(map(self.number, [node.slice]))
            return Part(array, at)
        return super().operand(node)

    def selection(
        self, node: ast.expr, parts: Sequence[ast.expr]
    ) -> tuple[Array, tuple[Expression, ...]]:
        access = self.accesses.get(node.id) if isinstance(node, ast.Name) else None
        if access is None:
            return super().selection(node, parts)
        index = [self.number(each) for each in parts]
        at = (index[each] if isinstance(each, int) else each for each in access.pattern)
        return access.array, tuple(at)

    def _is_template(self, node: ast.Call) -> bool:
        return isinstance(node.func, ast.Name) and node.func.id in _library()

    def _template(self, node: ast.Call, results: Sequence[Given]) -> list[Statement]:
        """Inline a call of another template."""
        assert isinstance(node.func, ast.Name)
        arrays: dict[str, Access] = {}
        numbers: dict[str, Expression] = {}
        parameters = [each.arg for each in _library()[node.func.id].args.args]
        for parameter, given in zip(parameters, node.args, strict=True):
            name = given.id if isinstance(given, ast.Name) else ""
            own = self.names.get(name)
            if name in self.accesses:
                arrays[parameter] = self.accesses[name]
            elif isinstance(own, Array):
                arrays[parameter] = Access(own, tuple(range(own.rank)))
            else:
                numbers[parameter] = self.number(given)
        return inlined(self.e, node.func.id, arrays, numbers, self._dtype, results)

    def _decided(self, test: ast.expr) -> bool | None:
        """Evaluate a condition of flags, None if it is not one."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self._decided(test.operand)
            return None if inner is None else not inner
        flag = self.names.get(test.id) if isinstance(test, ast.Name) else None
        return {TRUE: True, FALSE: False}.get(flag) if flag is not None else None  # type: ignore[call-overload]
