"""Array reuse: allocate arrays in the memory of dead ones.

A gradient makes arrays that are as long as the data or the loop, one after the other. An array with
as many elements as another one that is not read again takes its memory: less is allocated, and
stores hit the cache lines that have just been read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Sequence
from typing import TypeGuard

from dimtensor.kernels.ir.growth import Grow
from dimtensor.kernels.ir.make import known, known_product
from dimtensor.kernels.ir.nodes import (
    Allocate,
    Array,
    Bind,
    Expression,
    Fill,
    Foreign,
    Reshaped,
    Statement,
)
from dimtensor.kernels.ir.walk import statements_in
from dimtensor.tuning import REUSED_ARRAY_ELEMENTS


def with_arrays_reused(
    statements: Sequence[Statement],
    results: Sequence[Expression],
    fresh: Callable[[str], str] | None = None,
) -> list[Statement]:
    """Statements in which arrays are made in memory of earlier ones of as many elements."""
    made = {each.array.name: each for each in statements if _is_large(each)}
    if len(made) < 2:
        return list(statements)
    owners = _Owners(statements)
    taken = owners.taken.union(*(each.uses for each in results))
    for name in owners.all_of(taken):
        made.pop(name, None)
    over: dict[int, list[str]] = {}
    for name, at in owners.last_uses(made).items():
        over.setdefault(at, []).append(name)
    homes: dict[str, Allocate] = {}
    free: dict[Hashable, list[Allocate]] = {}
    found: list[Statement] = []
    for at, each in enumerate(statements):
        if isinstance(each, Allocate) and each.array.name in made:
            waiting = free.get(_size(each))
            homes[each.array.name] = home = waiting.pop() if waiting else each
            found += [each] if home is each else _made_in(home, each)
        else:
            found.append(each)
        for name in over.get(at, ()):
            free.setdefault(_size(made[name]), []).append(homes[name])
    return found


def _is_large(statement: Statement) -> TypeGuard[Allocate]:
    if not isinstance(statement, Allocate):
        return False
    elements = known_product(statement.shape)
    return elements is None or elements > REUSED_ARRAY_ELEMENTS


def _size(array: Allocate) -> Hashable:
    """Return the dtype, and the factors of the number of elements."""
    lengths = Counter(length for length in array.shape if known(length) is None)
    elements = known_product([length for length in array.shape if length not in lengths])
    return array.array.dtype, elements, frozenset(lengths.items())


def _made_in(home: Allocate, array: Allocate) -> list[Statement]:
    same = home.shape == array.shape
    place = home.array if same else Reshaped(home.array, array.shape)
    bound = Bind(array.array, place)
    return [bound] if array.start is None else [bound, Fill(array.array, array.start)]


class _Owners:
    """Arrays behind names, with their uses.

    Attributes
    ----------
    taken : set of str
        Names of arrays that grow, are allocated in several places, or are passed to unknown
        functions: their memory is not reused.
    """

    def __init__(self, statements: Sequence[Statement]):
        self._statements = statements
        self._views: dict[str, set[str]] = {}
        self.taken: set[str] = set()
        made: Counter[str] = Counter()
        for each in statements_in(statements):
            if each.defines is not None:
                made[each.defines] += 1
            if isinstance(each, Bind) and isinstance(each.value, (Array, Reshaped)):
                self._views.setdefault(each.array.name, set()).update(each.value.uses)
            elif isinstance(each, Grow):
                self.taken.add(each.array.name)
            elif isinstance(each, Foreign):
                self.taken |= each.uses
        self.taken |= {name for name, times in made.items() if times > 1}

    def all_of(self, names: Iterable[str]) -> set[str]:
        """Names, and those of the arrays that they are views of."""
        found = set(names)
        stack = list(found)
        while stack:
            new = self._views.get(stack.pop(), set()) - found
            found |= new
            stack += new
        return found

    def last_uses(self, names: Container[str]) -> dict[str, int]:
        """Return the last statement that uses each array, or a view of it."""
        last: dict[str, int] = {}
        for at, each in enumerate(self._statements):
            used = each.uses if each.defines is None else each.uses | {each.defines}
            last.update((name, at) for name in self.all_of(used) if name in names)
        return last
