"""Cut a vectorized loop with a very long body into several loops.

LLVM takes the square of the length of a vectorized body. A loop over a few positions, for which one
vector suffices, is therefore cut into loops of some hundred statements each. What one of them
leaves to others lies in buffers of as many elements: of so many values most would be spilled to
memory anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dimtensor.kernels.ir.make import ZERO, integer, known
from dimtensor.kernels.ir.nodes import (
    Accumulate,
    Allocate,
    Array,
    Assign,
    Expression,
    For,
    Load,
    Statement,
    Store,
    Var,
)
from dimtensor.kernels.ir.walk import expressions_in, replaced
from dimtensor.tuning import FISSION_STATEMENTS, FISSIONED_STATEMENTS, UNROLLED_LENGTH


def fissioned(
    statements: Sequence[Statement], results: Sequence[Expression], fresh: Callable[[str], str]
) -> list[Statement]:
    """Cut long loops over a few positions among the statements of a function.

    Parameters
    ----------
    statements : sequence of Statement
    results : sequence of Expression
        Results of the function.
    fresh : callable
        Returns a new name with a given prefix.
    """
    found: list[Statement] = []
    for each in statements:
        if isinstance(each, For) and _is_cut(each):
            found += _loops_of(each, fresh)
        else:
            found.append(each)
    return found


def _is_cut(node: For) -> bool:
    """Return whether a loop has a long body, and pieces of it may be loops of their own."""
    if not node.is_wide or len(node.body) < FISSION_STATEMENTS:
        return False
    length = known(node.stop)
    if length is None or length > UNROLLED_LENGTH or node.start != ZERO or node.step != 1:
        return False
    if not all(isinstance(each, (Assign, Store, Accumulate)) for each in node.body):
        return False
    assigned = [each.target.name for each in node.body if isinstance(each, Assign)]
    written = _written(node)
    return len(set(assigned)) == len(assigned) and written.isdisjoint(_read(node))


def _written(node: For) -> set[str]:
    """Return the arrays that a loop stores to."""
    stores = (each for each in node.body if isinstance(each, (Store, Accumulate)))
    return {each.target.array.name for each in stores if isinstance(each.target, Load)}


def _read(node: For) -> set[str]:
    """Return the arrays whose elements a loop reads."""
    values: list[Expression] = []
    for each in node.body:
        if isinstance(each, (Assign, Store, Accumulate)):
            values.append(each.value)
            values += each.target.index if isinstance(each.target, Load) else ()
    found = (part for value in values for part in expressions_in(value))
    return {part.array.name for part in found if isinstance(part, Load)}


def _loops_of(node: For, fresh: Callable[[str], str]) -> list[Statement]:
    """Return the buffers, and the loops over pieces of the body.

    A loop stores to buffers of its own alone, a row for each variable, so that LLVM need not
    compare its accesses with each other.
    """
    size, width = FISSIONED_STATEMENTS, 1 << ((known(node.stop) or 1) - 1).bit_length()
    pieces = [node.body[at : at + size] for at in range(0, len(node.body), size)]
    variables = {each.target.name: each.target for each in node.body if isinstance(each, Assign)}
    last: dict[str, int] = {}  # the last piece that reads a variable
    for at, piece in enumerate(pieces):
        for each in piece:
            last.update((name, at) for name in each.uses if name in variables)
    places: dict[str, Load] = {}  # of variables of earlier pieces
    buffers: list[Statement] = []
    loops: list[Statement] = []
    for at, piece in enumerate(pieces):
        body: list[Statement] = []
        own: dict[str, Var] = {}  # what stands for variables of earlier pieces
        for each in piece:
            for name in sorted(x for x in each.uses if x in places and x not in own):
                of = variables[name]
                own[name] = Var(fresh(name), of.dtype, of.loops)
                body.append(Assign(own[name], places[name]))
            body.append(replaced(each, own) if own else each)
        # a total of an earlier piece that this one adds to is kept again
        made = (each.defines for each in piece if each.defines in variables)
        kept = {x: own.get(x, variables[x]) for x in made if last.get(x, at) > at}
        for dtype in dict.fromkeys(value.dtype for value in kept.values()):
            array = Array(fresh("kept"), dtype, 2)
            rows = [name for name, value in kept.items() if value.dtype == dtype]
            buffers.append(Allocate(array, (integer(len(rows)), integer(width))))
            for row, name in enumerate(rows):
                places[name] = Load(array, (integer(row), node.counter))
                body.append(Store(places[name], kept[name]))
        loops.append(node.replace(body=tuple(body)))
    return [*buffers, *loops]
