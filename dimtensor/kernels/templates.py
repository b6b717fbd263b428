"""Functions of the library, written into the source of a kernel with other names.

A template is a Python function of arrays, numbers and flags. Its text is put in the place of a call
of it: arrays become selections of the arrays that it is called with, flags decide which of its
branches remain. There are no calls and no views in what is left, so that the loops of a batch and
those of a template are one nest.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dimtensor.caches import bounded
from dimtensor.kernels.native.fortran import LETTERS, SUBROUTINES

if TYPE_CHECKING:
    from dimtensor.kernels.emit import Emitter


class Access(NamedTuple):
    """An array that a template works on.

    Attributes
    ----------
    name : str
    pattern : tuple of str or int
        For each axis of the array a position, or the number of the template's axis. Positions
        alone are those of an array that is meant as a whole.
    """

    name: str
    pattern: tuple[str | int, ...] = ()


@cache
def _library() -> dict[str, ast.FunctionDef]:
    paths = [Path(__file__).with_name(f"{name}.py") for name in ("library", "decompositions")]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in paths]
    return {
        node.name: node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)
    }


def inlined(
    e: Emitter,
    name: str,
    arrays: Mapping[str, Access],
    numbers: Mapping[str, str],
    dtype: str,
    results: Sequence[str] = (),
) -> list[str]:
    """Lines of a template.

    Parameters
    ----------
    e : Emitter
        Gives names; memory that the template asks for is made by lines that are added to it.
    name : str
        A function of :mod:`dimtensor.kernels.library`.
    arrays : mapping of str to Access
    numbers : mapping of str to str
        Source of its other parameters. ``True`` and ``False`` are flags.
    dtype : str
        What ``DTYPE`` stands for.
    results : sequence of str
        What it returns is given to these.
    """
    statements = _statements(e, name, arrays, numbers, dtype, results)
    return [line for each in statements for line in ast.unparse(each).splitlines()]


def _statements(
    e: Emitter,
    name: str,
    arrays: Mapping[str, Access],
    numbers: Mapping[str, str],
    dtype: str,
    results: Sequence[str],
) -> list[ast.stmt]:
    function = copy.deepcopy(_library()[name])
    made = {_only_target(each): _made_ndim(each) for each in function.body if _makes_memory(each)}
    names = {each: e.fresh("l") for each in _assigned(function)}
    own = {each: Access(names[each], tuple(range(ndim))) for each, ndim in made.items()}
    inliner = _Inliner({**arrays, **own}, {**numbers, **names}, dtype, e)
    statements: list[ast.stmt] = []
    for statement in function.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        if _makes_memory(statement):
            assert isinstance(statement, ast.Assign)
            value = inliner.visit(statement.value)
            _write_memory(e, own[_only_target(statement)].name, value)
        elif isinstance(statement, ast.Return):
            returned = statement.value
            values = returned.elts if isinstance(returned, ast.Tuple) else [returned]
            for target, value in zip(results, values, strict=True):
                store = ast.parse(f"{target} = 0").body[0]
                assert isinstance(store, ast.Assign)
                assert value is not None
                store.value = inliner.visit(value)
                statements.append(store)
        else:
            statements += _listed(inliner.visit(statement))
    return statements


def _listed(made: ast.stmt | list[ast.stmt]) -> list[ast.stmt]:
    return made if isinstance(made, list) else [made]


def _assigned(function: ast.FunctionDef) -> list[str]:
    found = {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return sorted(found)


def _only_target(statement: ast.stmt) -> str:
    assert isinstance(statement, ast.Assign)
    assert isinstance(statement.targets[0], ast.Name)
    return statement.targets[0].id


def _makes_memory(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Call)
        and ast.unparse(statement.value.func) == "np.empty"
    )


def _made_ndim(statement: ast.stmt) -> int:
    assert isinstance(statement, ast.Assign)
    assert isinstance(statement.value, ast.Call)
    shape = statement.value.args[0]
    assert isinstance(shape, ast.Tuple)
    return len(shape.elts)


def _write_memory(e: Emitter, name: str, value: ast.expr) -> None:
    """Memory is made once, before the loops around."""
    used = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    lines = e.early if all(n == "np" or e.is_early(n) for n in used) else e.lines
    lines.append(f"{name} = {ast.unparse(value)}")


class _Inliner(ast.NodeTransformer):
    """Renames what a template works on, and drops branches that flags decide against."""

    def __init__(
        self, arrays: Mapping[str, Access], names: Mapping[str, str], dtype: str, e: Emitter
    ):
        self.arrays = arrays
        self.names = names
        self.dtype = dtype
        self.e = e

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == "DTYPE":
            return _parsed("np.bool_" if self.dtype == "bool" else f"np.{self.dtype}")
        if node.id in self.arrays:
            assert not any(isinstance(p, str) for p in self.arrays[node.id].pattern)
            return ast.Name(self.arrays[node.id].name, node.ctx)
        text = self.names.get(node.id)
        if text is None:
            return node
        parsed = _parsed(text)
        return ast.Name(parsed.id, node.ctx) if isinstance(parsed, ast.Name) else parsed

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        access = self.arrays.get(node.value.id) if isinstance(node.value, ast.Name) else None
        index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        index = [self.visit(each) for each in index]
        if access is None:
            name = self.visit(node.value)
        else:
            name = ast.Name(access.name, ast.Load())
            index = [_parsed(p) if isinstance(p, str) else index[p] for p in access.pattern]
        position = index[0] if len(index) == 1 else ast.Tuple(index, ast.Load())
        return ast.Subscript(name, position, node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in SUBROUTINES:
            from dimtensor.kernels.calls import Routine

            # subroutines have a letter for the dtype before their names
            node.func.id = LETTERS[self.dtype] + node.func.id
            self.e.namespace[node.func.id] = Routine(node.func.id)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        return self._template(node.value, ()) or self.generic_visit(node)  # type: ignore[return-value]

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        target = node.targets[0]
        if isinstance(target, ast.Name):
            made = self._template(node.value, (self.names[target.id],))
            if made:
                return made
        return self.generic_visit(node)  # type: ignore[return-value]

    def _template(self, node: ast.expr, results: Sequence[str]) -> list[ast.stmt]:
        """What a call of another template is."""
        called = node.func if isinstance(node, ast.Call) else None
        if not (isinstance(called, ast.Name) and called.id in _library()):
            return []
        assert isinstance(node, ast.Call)
        arrays, numbers = {}, {}
        parameters = [each.arg for each in _library()[called.id].args.args]
        for parameter, given in zip(parameters, node.args, strict=True):
            if isinstance(given, ast.Name) and given.id in self.arrays:
                arrays[parameter] = self.arrays[given.id]
            else:
                numbers[parameter] = ast.unparse(self.visit(given))
        return _statements(self.e, called.id, arrays, numbers, self.dtype, results)

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        decided = self._decided(node.test)
        if decided is None:
            return self.generic_visit(node)  # type: ignore[return-value]
        kept: list[ast.stmt] = []
        for statement in node.body if decided else node.orelse:
            kept += _listed(self.visit(statement))
        return kept

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        decided = self._decided(node.test)
        if decided is None:
            return self.generic_visit(node)  # type: ignore[return-value]
        return self.visit(node.body if decided else node.orelse)

    def _decided(self, test: ast.expr) -> bool | None:
        """What a condition of flags is."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self._decided(test.operand)
            return None if inner is None else not inner
        if isinstance(test, ast.Name) and self.names.get(test.id) in ("True", "False"):
            return self.names[test.id] == "True"
        return None


@bounded(4096)
def _parse(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _parsed(text: str) -> ast.expr:
    return copy.deepcopy(_parse(text))
