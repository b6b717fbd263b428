"""Numbers and arrays in the loops of a kernel.

An expression knows its dtype, its rank (0 for a number), the names that it uses, and the loops that
it varies with: it is invariant in all others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from dimtensor.kernels.ir.node import NOTHING, Names, Node, united


def _settle(node: Any, parts: Iterable[Expression]) -> None:
    """Set the uses and the variability of an expression from its parts."""
    parts = tuple(parts)
    node.uses = united([each.uses for each in parts])
    node.loops = united([each.loops for each in parts])


# -- numbers ---------------------------------------------------------------------------------------


class Expression(Node):
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


class Const(Expression):
    """A number. Two are the same if they are written alike: 0.0 and -0.0 are not."""

    __match_args__ = ("value", "dtype")
    __slots__ = ("dtype", "text", "value")
    dtype: str
    text: str
    rank: ClassVar[int] = 0
    uses: ClassVar[Names] = NOTHING
    loops: ClassVar[Names] = NOTHING

    def __init__(self, value: Any, dtype: str = "int64"):
        self.value, self.dtype = value, dtype
        self.text = repr(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and (self.text, self.dtype) == (other.text, other.dtype)

    def __hash__(self) -> int:
        return hash((self.text, self.dtype))


class Var(Expression):
    """A variable that holds a number, or the counter of a loop."""

    __match_args__ = ("name", "dtype", "loops")
    __slots__ = ("dtype", "loops", "name", "uses")
    dtype: str
    loops: Names
    uses: Names
    rank: ClassVar[int] = 0

    def __init__(self, name: str, dtype: str, loops: Names = NOTHING):
        self.name, self.dtype, self.loops = name, dtype, loops
        self.uses = frozenset((name,))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Var) and (self.name, self.dtype) == (other.name, other.dtype)

    def __hash__(self) -> int:
        return hash((self.name, self.dtype))


class Array(Expression):
    """A contiguous array, by its name."""

    __match_args__ = ("name", "dtype", "rank")
    __slots__ = ("dtype", "name", "rank", "uses")
    dtype: str
    rank: int
    uses: Names
    loops: ClassVar[Names] = NOTHING

    def __init__(self, name: str, dtype: str, rank: int):
        self.name, self.dtype, self.rank = name, dtype, rank
        self.uses = frozenset((name,))


class _Selection(Expression):
    __match_args__ = ("array", "index")
    __slots__ = ("array", "index", "loops", "uses")
    uses: Names
    loops: Names

    def __init__(self, array: Array, index: tuple[Expression, ...]):
        self.array, self.index = array, index
        _settle(self, (array, *index))

    @property
    def dtype(self) -> str:
        return self.array.dtype


class Load(_Selection):
    """An element of an array."""

    __slots__ = ()
    rank: ClassVar[int] = 0


class Length(Expression):
    """The length of an axis of an array."""

    __match_args__ = ("array", "axis")
    __slots__ = ("array", "axis")
    dtype: ClassVar[str] = "int64"
    rank: ClassVar[int] = 0
    loops: ClassVar[Names] = NOTHING

    def __init__(self, array: Array, axis: int):
        self.array, self.axis = array, axis

    @property
    def uses(self) -> Names:
        return self.array.uses


class Op(Expression):
    """An operation on numbers.

    Attributes
    ----------
    op : str
        An operator of Python, or one of ``abs``, ``min``, ``max``, ``isnan``, ``isfinite``,
        ``isinf``, ``neg``, ``not``, ``and``, ``or``, ``cast`` (to `dtype`), ``select`` (condition,
        value if it holds, other value) and ``choice`` (position, numbers to choose from). ``+`` and
        ``*`` have any number of operands, which are combined from left to right.
    operands : tuple of Expression
    """

    __match_args__ = ("op", "operands", "dtype")
    __slots__ = ("dtype", "loops", "op", "operands", "uses")
    dtype: str
    uses: Names
    loops: Names
    rank: ClassVar[int] = 0

    def __init__(self, op: str, operands: tuple[Expression, ...], dtype: str):
        self.op, self.operands, self.dtype = op, operands, dtype
        _settle(self, operands)


class Call(Expression):
    """A call of a function.

    Attributes
    ----------
    function : str
        The name of a function of numbers (:mod:`dimtensor.ops.facts`), or of a routine of LAPACK,
        of random numbers or of numba, which may have arrays as operands.
    operands : tuple of Expression
    dtype : str
        That of the result, in which a function of numbers computes.
    """

    __match_args__ = ("function", "operands", "dtype")
    __slots__ = ("dtype", "function", "loops", "operands", "uses")
    dtype: str
    uses: Names
    loops: Names
    rank: ClassVar[int] = 0

    def __init__(self, function: str, operands: tuple[Expression, ...], dtype: str):
        self.function, self.operands, self.dtype = function, operands, dtype
        _settle(self, operands)


# -- arrays ----------------------------------------------------------------------------------------


class Part(_Selection):
    """Array of the elements of another at leading positions."""

    __slots__ = ()

    @property
    def rank(self) -> int:
        return self.array.rank - len(self.index)


class Reshaped(Expression):
    """The elements of an array with other lengths."""

    __match_args__ = ("source", "shape")
    __slots__ = ("shape", "source")
    loops: ClassVar[Names] = NOTHING

    def __init__(self, source: Expression, shape: tuple[Expression, ...]):
        self.source, self.shape = source, shape

    @property
    def dtype(self) -> str:
        return self.source.dtype

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def uses(self) -> Names:
        return united((self.source.uses, *(each.uses for each in self.shape)))


class Wrapped(Expression):
    """Value in a form that only functions of numba and Python need.

    Attributes
    ----------
    how : {"copy", "box", "unbox", "contiguous"}
        A copy of an array, a number as an array without axes and vice versa, a contiguous array.
    source : Expression
    """

    __match_args__ = ("how", "source")
    __slots__ = ("how", "source")

    def __init__(self, how: str, source: Expression):
        self.how, self.source = how, source

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
