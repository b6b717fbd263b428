"""The statements of a kernel."""

from __future__ import annotations

from typing import Any, ClassVar

from dimtensor.kernels.ir.expressions import Array, Const, Expression, Load, Part, Var
from dimtensor.kernels.ir.node import Names, Node, united


class Statement(Node):
    """Base of statements.

    Attributes
    ----------
    reads : tuple of Expression
        Operands, including positions of stores.
    defines : str or None
        The variable or array that it defines.
    uses : frozenset of str
        Names that it reads or stores to, including those of inner statements.
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
        return united(each.uses for each in self.reads)


Body = tuple[Statement, ...]
_FROM_ZERO = Const(0)


class _Compound(Statement):
    __slots__ = ("_uses",)
    _uses: Names

    @property
    def uses(self) -> Names:
        try:
            return self._uses  # passes ask again and again
        except AttributeError:
            inside = [each.uses for block in self.blocks for each in block]
            self._uses = united([*(each.uses for each in self.reads), *inside])
            return self._uses


class _Definition(Statement):
    __match_args__ = ("target", "value")
    __slots__ = ("target", "value")

    def __init__(self, target: Var, value: Expression):
        self.target, self.value = target, value

    @property
    def reads(self) -> tuple[Expression, ...]:
        return (self.value,)

    @property
    def defines(self) -> str:
        return self.target.name


class Assign(_Definition):
    """The value of a variable, in the loops that it stands in."""

    __slots__ = ()


class Carry(_Definition):
    """Assignment to the state of a loop, a variable that was defined before it."""

    __slots__ = ()


class Store(Statement):
    """An element of an array."""

    __match_args__ = ("target", "value")
    __slots__ = ("target", "value")

    def __init__(self, target: Load, value: Expression):
        self.target, self.value = target, value

    @property
    def reads(self) -> tuple[Expression, ...]:
        return (self.target, self.value)


class Accumulate(Statement):
    """One more term of a total, or one more factor: a variable, or an element of an array."""

    __match_args__ = ("op", "target", "value")
    __slots__ = ("op", "target", "value")

    def __init__(self, op: str, target: Var | Load, value: Expression):
        self.op, self.target, self.value = op, target, value

    @property
    def reads(self) -> tuple[Expression, ...]:
        return (self.target, self.value)

    @property
    def defines(self) -> str | None:
        return self.target.name if isinstance(self.target, Var) else None


class Fill(Statement):
    """All elements of an array: those of another one, or one number."""

    __match_args__ = ("target", "value")
    __slots__ = ("target", "value")

    def __init__(self, target: Array | Part, value: Expression):
        self.target, self.value = target, value

    @property
    def reads(self) -> tuple[Expression, ...]:
        return (self.target, self.value)


class Allocate(Statement):
    """A new array.

    Attributes
    ----------
    array : Array
    shape : tuple of Expression
    start : Expression, optional
        A number that it is full of.
    """

    __match_args__ = ("array", "shape", "start")
    __slots__ = ("array", "shape", "start")

    def __init__(
        self, array: Array, shape: tuple[Expression, ...], start: Expression | None = None
    ):
        self.array, self.shape, self.start = array, shape, start

    @property
    def reads(self) -> tuple[Expression, ...]:
        return self.shape if self.start is None else (*self.shape, self.start)

    @property
    def defines(self) -> str:
        return self.array.name


class Bind(Statement):
    """A name for an array: for a copy (then it is a new one), for a view, or another name."""

    __match_args__ = ("array", "value")
    __slots__ = ("array", "value")

    def __init__(self, array: Array, value: Expression):
        self.array, self.value = array, value

    @property
    def reads(self) -> tuple[Expression, ...]:
        return (self.value,)

    @property
    def defines(self) -> str:
        return self.array.name


class For(_Compound):
    """A loop over a range.

    Attributes
    ----------
    counter : Var
    stop : Expression
    body : tuple of Statement
    start : Expression
    step : int
    is_scan : bool
        Whether each iteration starts from the states that the last one left.
    is_wide : bool
        Whether iterations are independent, and so long that they are vectorized with hints.
    is_parallel : bool
        Whether iterations depend on each other through reductions and scattered elements only.
        Loops of loop nests are parallel; passes over nests match no others.
    is_jammed : bool
        Whether it belongs to a nest that was unrolled and jammed.
    """

    __match_args__ = (
        "counter",
        "stop",
        "body",
        "start",
        "step",
        "is_scan",
        "is_wide",
        "is_parallel",
        "is_jammed",
    )
    __slots__ = (
        "body",
        "counter",
        "is_jammed",
        "is_parallel",
        "is_scan",
        "is_wide",
        "start",
        "step",
        "stop",
    )

    def __init__(
        self,
        counter: Var,
        stop: Expression,
        body: Body,
        start: Expression = _FROM_ZERO,
        step: int = 1,
        is_scan: bool = False,
        is_wide: bool = False,
        is_parallel: bool = False,
        is_jammed: bool = False,
    ):
        self.counter, self.stop, self.body, self.start, self.step = (
            counter,
            stop,
            body,
            start,
            step,
        )
        self.is_scan, self.is_wide = is_scan, is_wide
        self.is_parallel, self.is_jammed = is_parallel, is_jammed

    @property
    def reads(self) -> tuple[Expression, ...]:
        return (self.start, self.stop)

    @property
    def blocks(self) -> tuple[Body, ...]:
        return (self.body,)


class While(_Compound):
    __match_args__ = ("test", "body")
    __slots__ = ("body", "test")

    def __init__(self, test: Expression, body: Body):
        self.test, self.body = test, body

    @property
    def reads(self) -> tuple[Expression, ...]:
        return (self.test,)

    @property
    def blocks(self) -> tuple[Body, ...]:
        return (self.body,)


class If(_Compound):
    """A branch. What runs ``otherwise`` may be ``rare``: it need not be fast."""

    __match_args__ = ("test", "body", "orelse", "rare")
    __slots__ = ("body", "orelse", "rare", "test")

    def __init__(self, test: Expression, body: Body, orelse: Body = (), rare: bool = False):
        self.test, self.body, self.orelse, self.rare = test, body, orelse, rare

    @property
    def reads(self) -> tuple[Expression, ...]:
        return (self.test,)

    @property
    def blocks(self) -> tuple[Body, ...]:
        return (self.body, self.orelse)


class Break(Statement):
    __slots__ = ()


class Continue(Statement):
    __slots__ = ()


class Raise(Statement):
    """An error, by the name of its class; ``module:name`` unless it is Python's own."""

    __match_args__ = ("error", "message")
    __slots__ = ("error", "message")

    def __init__(self, error: str, message: str):
        self.error, self.message = error, message


class Foreign(Statement):
    """A call of a function that only numba has, with its results."""

    __match_args__ = ("results", "function", "operands")
    __slots__ = ("function", "operands", "results")

    def __init__(self, results: tuple[Array, ...], function: str, operands: tuple[Expression, ...]):
        self.results, self.function, self.operands = results, function, operands

    @property
    def reads(self) -> tuple[Expression, ...]:
        return self.operands


class Function(Node):
    """A kernel: arrays that it takes, statements, and numbers and arrays that it returns."""

    __match_args__ = ("name", "arguments", "body", "results")
    __slots__ = ("arguments", "body", "name", "results")

    def __init__(
        self, name: str, arguments: tuple[Array, ...], body: Body, results: tuple[Expression, ...]
    ):
        self.name, self.arguments, self.body, self.results = name, arguments, body, results
