"""The loops of a kernel: typed expressions and statements.

The emitter writes them and passes rewrite them; they are printed as Python and as LLVM. Nodes are
immutable and compared by value. An expression knows its dtype, its rank (0 for a number), the names
that it uses, and the loops that it varies with: it is invariant in all others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

Names = frozenset[str]
NOTHING: Names = frozenset()
_set = object.__setattr__  # of fields that follow from others


def _united(sets: Iterable[Names]) -> Names:
    found = NOTHING
    for each in sets:
        if each and each is not found:
            found = found | each if found else each
    return found


def _settle(node: Any, parts: Iterable[Expression]) -> None:
    """Say what an expression uses and what it varies with, from its parts."""
    parts = tuple(parts)
    _set(node, "uses", _united([each.uses for each in parts]))
    _set(node, "loops", _united([each.loops for each in parts]))


# -- numbers ---------------------------------------------------------------------------------------


class Expression:
    """A number, or an array: what its subclasses have in common.

    Attributes
    ----------
    dtype : str
    rank : int
        Number of axes; 0 for a number.
    uses : frozenset of str
        Names of the variables and arrays in it.
    loops : frozenset of str
        Counters of the loops that its value varies with.
    """

    __slots__ = ()
    if TYPE_CHECKING:

        @property
        def dtype(self) -> str: ...

        @property
        def rank(self) -> int: ...

        @property
        def uses(self) -> Names: ...

        @property
        def loops(self) -> Names: ...


@dataclass(frozen=True, slots=True)
class Const(Expression):
    """A number. Two are the same if they are written alike: 0.0 and -0.0 are not."""

    value: Any = field(compare=False)
    dtype: str = "int64"
    text: str = field(init=False, repr=False, compare=False)
    rank: ClassVar[int] = 0
    uses: ClassVar[Names] = NOTHING
    loops: ClassVar[Names] = NOTHING

    def __post_init__(self) -> None:
        _set(self, "text", repr(self.value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and (self.text, self.dtype) == (other.text, other.dtype)

    def __hash__(self) -> int:
        return hash((self.text, self.dtype))


@dataclass(frozen=True, slots=True)
class Var(Expression):
    """A variable that holds a number, or the counter of a loop."""

    name: str
    dtype: str
    loops: Names = field(default=NOTHING, compare=False)
    uses: Names = field(init=False, repr=False, compare=False)
    rank: ClassVar[int] = 0

    def __post_init__(self) -> None:
        _set(self, "uses", frozenset((self.name,)))


@dataclass(frozen=True, slots=True)
class Array(Expression):
    """A contiguous array, by its name."""

    name: str
    dtype: str
    rank: int
    uses: Names = field(init=False, repr=False, compare=False)
    loops: ClassVar[Names] = NOTHING

    def __post_init__(self) -> None:
        _set(self, "uses", frozenset((self.name,)))


@dataclass(frozen=True, slots=True)
class _Selection(Expression):
    array: Array
    index: tuple[Expression, ...]
    uses: Names = field(init=False, repr=False, compare=False)
    loops: Names = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _settle(self, (self.array, *self.index))

    @property
    def dtype(self) -> str:
        return self.array.dtype


@dataclass(frozen=True, slots=True)
class Load(_Selection):
    """An element of an array."""

    rank: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class Length(Expression):
    """The length of an axis of an array."""

    array: Array
    axis: int
    dtype: ClassVar[str] = "int64"
    rank: ClassVar[int] = 0
    loops: ClassVar[Names] = NOTHING

    @property
    def uses(self) -> Names:
        return self.array.uses


@dataclass(frozen=True, slots=True)
class _Operation(Expression):
    op: str
    operands: tuple[Expression, ...]
    dtype: str
    uses: Names = field(init=False, repr=False, compare=False)
    loops: Names = field(init=False, repr=False, compare=False)
    rank: ClassVar[int] = 0

    def __post_init__(self) -> None:
        _settle(self, self.operands)


@dataclass(frozen=True, slots=True)
class Op(_Operation):
    """An operation on numbers.

    Attributes
    ----------
    op : str
        An operator of Python, a function (``exp``, ``min``), or one of ``neg``, ``not``, ``and``,
        ``or``, ``cast`` (to `dtype`), ``select`` (condition, value if it holds, other value) and
        ``choice`` (position, numbers to choose from). ``+`` and ``*`` have any number of operands,
        which are combined from left to right.
    operands : tuple of Expression
    """


@dataclass(frozen=True, slots=True)
class Call(_Operation):
    """A call of a function by its name `op`: of a scalar operation, or of LAPACK (of arrays)."""


# -- arrays ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part(_Selection):
    """What an array has at its first positions, itself an array."""

    @property
    def rank(self) -> int:
        return self.array.rank - len(self.index)


@dataclass(frozen=True, slots=True)
class Reshaped(Expression):
    """The elements of an array with other lengths."""

    source: Expression
    shape: tuple[Expression, ...]
    loops: ClassVar[Names] = NOTHING

    @property
    def dtype(self) -> str:
        return self.source.dtype

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def uses(self) -> Names:
        return _united((self.source.uses, *(each.uses for each in self.shape)))


@dataclass(frozen=True, slots=True)
class Wrapped(Expression):
    """What only functions of numba and Python see of an array or a number.

    Attributes
    ----------
    how : {"copy", "box", "unbox", "contiguous"}
        A copy of an array, a number as an array without axes and the other way round, an array in
        the order of its elements.
    source : Expression
    """

    how: str
    source: Expression

    @property
    def dtype(self) -> str:
        return self.source.dtype

    @property
    def rank(self) -> int:
        return self.source.rank

    @property
    def uses(self) -> Names:
        return self.source.uses

    @property
    def loops(self) -> Names:
        return self.source.loops


# -- statements ------------------------------------------------------------------------------------


class Statement:
    """What its subclasses have in common.

    Attributes
    ----------
    reads : tuple of Expression
        What it computes with, positions that it stores at among it.
    defines : str or None
        The variable that it gives a value, or the array that it makes.
    uses : frozenset of str
        Names that it reads or stores to, those of statements inside of it among them.
    blocks : tuple of tuple of Statement
        The statements inside.
    """

    __slots__ = ()
    blocks: ClassVar[Any] = ()

    @property
    def reads(self) -> tuple[Expression, ...]:
        return ()

    @property
    def defines(self) -> str | None:
        return None

    @property
    def uses(self) -> Names:
        inside = (each.uses for block in self.blocks for each in block)
        return _united((*(each.uses for each in self.reads), *inside))


Body = tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class _Definition(Statement):
    target: Var
    value: Expression

    @property
    def reads(self) -> tuple[Expression, ...]:
        return (self.value,)

    @property
    def defines(self) -> str:
        return self.target.name


@dataclass(frozen=True, slots=True)
class Assign(_Definition):
    """The value of a variable, in the loops that it stands in."""


@dataclass(frozen=True, slots=True)
class Carry(_Definition):
    """What a variable holds from now on that was defined before the loop: the state of a loop."""


@dataclass(frozen=True, slots=True)
class Store(Statement):
    """An element of an array."""

    target: Load
    value: Expression

    @property
    def reads(self) -> tuple[Expression, ...]:
        return (self.target, self.value)


@dataclass(frozen=True, slots=True)
class Accumulate(Statement):
    """One more term of a total, or one more factor: a variable, or an element of an array."""

    op: str
    target: Var | Load
    value: Expression

    @property
    def reads(self) -> tuple[Expression, ...]:
        return (self.target, self.value)

    @property
    def defines(self) -> str | None:
        return self.target.name if isinstance(self.target, Var) else None


@dataclass(frozen=True, slots=True)
class Fill(Statement):
    """All elements of an array: those of another one, or one number."""

    target: Array | Part
    value: Expression

    @property
    def reads(self) -> tuple[Expression, ...]:
        return (self.target, self.value)


@dataclass(frozen=True, slots=True)
class Allocate(Statement):
    """A new array.

    Attributes
    ----------
    array : Array
    shape : tuple of Expression
    start : Expression, optional
        A number that it is full of.
    """

    array: Array
    shape: tuple[Expression, ...]
    start: Expression | None = None

    @property
    def reads(self) -> tuple[Expression, ...]:
        return self.shape if self.start is None else (*self.shape, self.start)

    @property
    def defines(self) -> str:
        return self.array.name


@dataclass(frozen=True, slots=True)
class Bind(Statement):
    """A name for an array: for a copy (then it is a new one), for a view, or another name."""

    array: Array
    value: Expression

    @property
    def reads(self) -> tuple[Expression, ...]:
        return (self.value,)

    @property
    def defines(self) -> str:
        return self.array.name


@dataclass(frozen=True, slots=True)
class For(Statement):
    """A loop over a range.

    Attributes
    ----------
    counter : Var
    stop : Expression
    body : tuple of Statement
    start : Expression
    step : int
    is_scan : bool
        Whether each round starts from the states that the last one left.
    is_wide : bool
        Whether rounds are independent, and so long that they are to be written in vectors.
    """

    counter: Var
    stop: Expression
    body: Body
    start: Expression = Const(0)
    step: int = 1
    is_scan: bool = False
    is_wide: bool = False

    @property
    def reads(self) -> tuple[Expression, ...]:
        return (self.start, self.stop)

    @property
    def blocks(self) -> tuple[Body, ...]:
        return (self.body,)


@dataclass(frozen=True, slots=True)
class While(Statement):
    test: Expression
    body: Body

    @property
    def reads(self) -> tuple[Expression, ...]:
        return (self.test,)

    @property
    def blocks(self) -> tuple[Body, ...]:
        return (self.body,)


@dataclass(frozen=True, slots=True)
class If(Statement):
    """A branch. What runs ``otherwise`` may be ``rare``: it need not be fast."""

    test: Expression
    body: Body
    orelse: Body = ()
    rare: bool = False

    @property
    def reads(self) -> tuple[Expression, ...]:
        return (self.test,)

    @property
    def blocks(self) -> tuple[Body, ...]:
        return (self.body, self.orelse)


@dataclass(frozen=True, slots=True)
class Break(Statement):
    pass


@dataclass(frozen=True, slots=True)
class Continue(Statement):
    pass


@dataclass(frozen=True, slots=True)
class Raise(Statement):
    """An error, by the name of its class; ``module:name`` unless it is Python's own."""

    error: str
    message: str


@dataclass(frozen=True, slots=True)
class Foreign(Statement):
    """A call of a function that only numba has, with its results."""

    results: tuple[Array, ...]
    function: str
    operands: tuple[Expression, ...]

    @property
    def reads(self) -> tuple[Expression, ...]:
        return self.operands


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel: arrays that it takes, statements, and numbers and arrays that it returns."""

    name: str
    arguments: tuple[Array, ...]
    body: Body
    results: tuple[Expression, ...]
