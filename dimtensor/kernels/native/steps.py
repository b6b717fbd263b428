"""Loops over steps: what is in them is written so that it can stay in registers.

LLVM takes an array of the frame apart only if every position in it is a number. Short loops in a
step are therefore written out by us, round by round, where LLVM would leave some of them and with
them the arrays.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

STEP = "step"
# loops of up to so many rounds are written out, if that makes no more than so many statements
_MOST_ROUNDS = 8
_MOST_STATEMENTS = 400


def is_step(name: str) -> bool:
    """Whether a counter counts steps, each of which starts from the states that the last left."""
    return name.startswith(STEP)


def adds_up(body: Sequence[ast.stmt]) -> bool:
    """Whether there is a sum in statements, the order of which is free."""
    return any(isinstance(node, ast.AugAssign) for each in body for node in ast.walk(each))


def rounds_written_out(node: ast.For) -> range | None:
    """The positions of a short loop of known length; None for others."""
    counted = _counted(node)
    if counted is None or len(counted) > _MOST_ROUNDS:
        return None
    if any(isinstance(each, (ast.Break, ast.Continue, ast.While)) for each in ast.walk(node)):
        return None
    if any("np.empty" in ast.unparse(each) for each in node.body):
        return None
    return counted if _statements(node) <= _MOST_STATEMENTS else None


def _statements(node: ast.stmt) -> int:
    """How many statements there are when all loops are written out; of others, very many."""
    if isinstance(node, ast.For):
        counted = _counted(node)
        rounds = _MOST_STATEMENTS + 1 if counted is None else len(counted)
        return rounds * sum(map(_statements, node.body))
    if isinstance(node, ast.If):
        return 1 + sum(map(_statements, [*node.body, *node.orelse]))
    return 1


def _counted(node: ast.For) -> range | None:
    call = node.iter
    if not isinstance(call, ast.Call):
        return None
    ends = [_known(each) for each in call.args]
    if any(end is None for end in ends):
        return None
    return range(*ends)  # type: ignore[arg-type]


def _known(node: ast.expr) -> int | None:
    """The integer that an expression is, if it has numbers only."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _known(node.operand)
        return None if value is None else -value
    if isinstance(node, ast.BinOp):
        a, b = _known(node.left), _known(node.right)
        if a is None or b is None:
            return None
        if isinstance(node.op, ast.FloorDiv):
            return a // b if b else None
        if isinstance(node.op, ast.Add):
            return a + b
        if isinstance(node.op, ast.Sub):
            return a - b
        if isinstance(node.op, ast.Mult):
            return a * b
    return None


def known_products(body: Sequence[ast.stmt], carried: set[str]) -> set[str]:
    """Products that are there before the states of a step, and are added to what waits for them.

    LLVM fuses one of two products with the sum of both, and may take the one that need not wait.
    """
    waiting, known, found = set(carried), set(), set()
    for each in body:
        if not isinstance(each, ast.Assign) or not isinstance(each.targets[0], ast.Name):
            continue
        name = each.targets[0].id
        used = {node.id for node in ast.walk(each.value) if isinstance(node, ast.Name)}
        operator = each.value.op if isinstance(each.value, ast.BinOp) else None
        if used & waiting:
            waiting.add(name)
            if isinstance(operator, (ast.Add, ast.Sub)):
                found |= used & known
        elif isinstance(operator, (ast.Mult, ast.Div)):
            known.add(name)
    return found
