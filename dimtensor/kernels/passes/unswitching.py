"""Loop unswitching: a selection by a loop-invariant condition is decided before the loop.

Both branches of a selection are computed for each element. If the condition is a number that is
known before the loop, and a branch calls functions, the loop is written twice, once for each
branch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from dimtensor.kernels.ir.make import FALSE, TRUE, known
from dimtensor.kernels.ir.nodes import (
    Assign,
    Body,
    Call,
    Carry,
    Const,
    Expression,
    For,
    If,
    Names,
    Op,
    Statement,
    Var,
)
from dimtensor.kernels.ir.walk import (
    expressions_in,
    of_changed,
    of_parts,
    replaced,
    statements_in,
)
from dimtensor.tuning import UNSWITCHED_CALLS, UNSWITCHED_CONDITIONS

Fresh = Callable[[str], str]


def unswitched(
    statements: Sequence[Statement], results: Sequence[Expression], fresh: Fresh
) -> list[Statement]:
    """Duplicate loops with a selection by an invariant condition.

    Parameters
    ----------
    statements : sequence of Statement
    results : sequence of Expression
        Results of the function.
    fresh : callable
        Returns a new name with a prefix.
    """
    targets = [each.target for each in statements if isinstance(each, Assign)]
    flags = {target.name for target in targets if target.dtype == "bool"}
    if not flags:
        return list(statements)
    names = [_names((each,)) for each in statements]
    count = Counter(name for one in names for name in one)
    count.update(name for result in results for name in result.uses)
    found: list[Statement] = []
    for own, each in zip(names, statements, strict=True):
        if isinstance(each, For) and not each.uses.isdisjoint(flags):
            outside = frozenset(name for name, n in count.items() if n > 1 or name not in own)
            each = _decided(each, outside, fresh, UNSWITCHED_CONDITIONS)
        found.append(each)
    return found


def _decided(loop: For, outside: Names, fresh: Fresh, most: int) -> Statement:
    """Test conditions of a loop before it, or before an inner loop."""
    for condition in dict.fromkeys(_conditions(loop)) if most else ():
        saved = _saved(loop, condition, outside)
        if saved >= UNSWITCHED_CALLS:
            inside = _with_branch(loop, condition, saved, outside, fresh)
            if inside is not None:
                return _decided(inside, outside, fresh, most - 1)
            forms = _forms(loop, condition, outside, fresh)
            then, otherwise = (_decided(each, outside, fresh, most - 1) for each in forms)
            return If(condition, (then,), (otherwise,))
    return loop


def _with_branch(loop: For, condition: Var, saved: int, outside: Names, fresh: Fresh) -> For | None:
    """Put a branch into a loop if all calls that it saves are in one inner loop.

    A branch per iteration is cheap compared with the many iterations of the inner loop, and the
    code around it is written once.
    """
    for at, inner in enumerate(loop.body):
        before, after = loop.body[:at], loop.body[at + 1 :]
        if isinstance(inner, For) and known(inner.stop) is None:
            around = outside | _names((*before, *after))
            if _saved(inner, condition, around) == saved:
                decided: Statement | None = _with_branch(inner, condition, saved, around, fresh)
                if decided is None:
                    then, otherwise = _forms(inner, condition, around, fresh)
                    decided = If(condition, (then,), (otherwise,))
                return loop.replace(body=(*before, decided, *after))
    return None


def _forms(loop: For, condition: Var, outside: Names, fresh: Fresh) -> tuple[For, For]:
    """Specialize a loop for a true and for a false condition, with separate names."""
    then, otherwise = (_with(loop, condition, value, outside) for value in (TRUE, FALSE))
    return then, _renamed(otherwise, outside, fresh)


def _saved(loop: For, condition: Var, outside: Names) -> int:
    """Count the calls that a loop makes beyond the shorter of its two forms."""
    arms = (_with(loop, condition, value, outside) for value in (TRUE, FALSE))
    return _functions(loop) - min(map(_functions, arms))


def _conditions(loop: For) -> Iterator[Var]:
    """Conditions of selections that are no results of the loop."""
    made = _defined(loop)
    for expression in _expressions(loop):
        if isinstance(expression, Op) and expression.op == "select":
            condition = expression.operands[0]
            if isinstance(condition, Var) and condition.name not in made:
                yield condition


def _expressions(loop: For) -> Iterator[Expression]:
    for statement in statements_in((loop,)):
        for read in statement.reads:
            yield from expressions_in(read)


def _functions(loop: For) -> int:
    """Count the calls of functions of numbers."""
    return sum(isinstance(each, Call) for each in _expressions(loop))


def _defined(loop: For) -> Names:
    """Return the names that a loop defines."""
    found = (each.defines for each in statements_in((loop,)))
    return frozenset(name for name in found if name is not None)


def _names(statements: Sequence[Statement]) -> Names:
    defined = (each.defines for each in statements_in(statements))
    made = frozenset(name for name in defined if name is not None)
    return made.union(*(each.uses for each in statements))


def _with(loop: For, condition: Var, value: Const, outside: Names) -> For:
    """Specialize a loop for the value of a condition, without dead code."""
    defined = Counter(each.defines for each in statements_in((loop,)))
    once = frozenset(name for name, count in defined.items() if name and count == 1) - outside
    values: dict[str, Expression] = {condition.name: value}
    body = loop.body
    while values:
        changed = tuple(of_changed(each, partial(_chosen, values=values)) for each in body)
        values = {}
        body = _without_known(changed, once, values)
    return loop.replace(body=_alive(body, set(outside)))


def _without_known(body: Body, once: Names, values: dict[str, Expression]) -> Body:
    """Drop temporaries with known conditions, recording their values in `values`."""
    found: list[Statement] = []
    for each in body:
        if isinstance(each, Assign) and each.target.name in once and each.value in (TRUE, FALSE):
            values[each.target.name] = each.value
        elif isinstance(each, For):
            found.append(each.replace(body=_without_known(each.body, once, values)))
        else:
            found.append(each)
    return tuple(found)


def _chosen(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """Resolve selections and negations by known conditions."""
    if expression.uses.isdisjoint(values):
        return expression
    if isinstance(expression, Var):
        return values[expression.name]
    new = of_parts(expression, partial(_chosen, values=values))
    if isinstance(new, Op) and new.operands[0] in (TRUE, FALSE):
        holds = new.operands[0] == TRUE
        if new.op == "select":
            return new.operands[1 if holds else 2]
        if new.op == "not":
            return FALSE if holds else TRUE
    return new


def _alive(statements: Body, live: set[str]) -> Body:
    """Statements without temporaries that none of the later ones uses."""
    found: list[Statement] = []
    for each in reversed(statements):
        if isinstance(each, Assign) and each.target.name not in live and not _writes(each.value):
            continue
        if isinstance(each, For):
            each = each.replace(body=_alive(each.body, live))
        live |= each.uses
        found.append(each)
    return tuple(reversed(found))


def _writes(value: Expression) -> bool:
    """Return whether a call takes an array, which LAPACK and generators write to."""
    return any(
        isinstance(each, Call) and any(part.rank for part in each.operands)
        for each in expressions_in(value)
    )


def _renamed(loop: For, outside: Names, fresh: Fresh) -> For:
    """Rename the variables of a loop: single assignments are optimized better."""
    names: dict[str, Expression] = {}
    for each in statements_in((loop,)):
        if isinstance(each, (Assign, Carry)) and each.target.name not in outside:
            old = each.target
            if old.name not in names:
                names[old.name] = Var(fresh(old.name[0]), old.dtype, old.loops)
    renamed = replaced(loop, names)
    assert isinstance(renamed, For)
    return renamed
