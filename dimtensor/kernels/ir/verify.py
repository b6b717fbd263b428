"""Verifier of kernels: the rules that every function of loops keeps.

It runs before and after each pass if the environment variable ``DIMTENSOR_VERIFY`` is 1, as in the
tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dimtensor.kernels.ir.errors import InvalidKernel
from dimtensor.kernels.ir.growth import Grow
from dimtensor.kernels.ir.make import ARITIES, result_dtype
from dimtensor.kernels.ir.nodes import (
    Accumulate,
    Allocate,
    Array,
    Assign,
    Bind,
    Break,
    Call,
    Carry,
    Const,
    Continue,
    Expression,
    Fill,
    For,
    Foreign,
    Function,
    If,
    Length,
    Load,
    Names,
    Op,
    Part,
    Raise,
    Reshaped,
    Statement,
    Store,
    Var,
    While,
)
from dimtensor.kernels.ir.walk import expressions_in, parts_of
from dimtensor.ops.facts import facts_named

# dtype and rank of what a name stands for; the rank of a number is None
Kind = tuple[str, int | None]


def verify(function: Function) -> None:
    """Check a function: types, ranks, definitions before uses, and memory that is written to.

    Raises
    ------
    InvalidKernel
        For the first statement that breaks a rule.

    Examples
    --------
    >>> from dimtensor.kernels.ir.make import op
    >>> x, t = Array("x", "float64", 1), Var("t", "float64")
    >>> verify(Function("kernel", (x,), (), (op("+", t, t),)))
    Traceback (most recent call last):
    ...
    dimtensor.kernels.ir.errors.InvalidKernel: t is read before it is defined, in the results
    """
    verifier = _Verifier(function.arguments)
    defined = verifier.body(function.body, frozenset(verifier.kinds))
    for each in function.results:
        verifier.place = "the results"
        verifier.expression(each, defined)
    verifier.memory_of_results(function.results)


class _Verifier:
    """Verifies the statements of one function in order.

    Attributes
    ----------
    kinds : dict of str to (str, int or None)
        What names stand for: one kind each, in the whole function.
    owners : dict of str to str
        The array whose memory another name is for, by that name.
    stale : dict of str to str
        Names of arrays whose memory was written through another name, with that name.
    """

    def __init__(self, arguments: Sequence[Array]):
        self.kinds: dict[str, Kind] = {}
        self.owners: dict[str, str] = {}
        self.stale: dict[str, str] = {}
        self.place: object = "the arguments"
        for each in arguments:
            self._require(each.name not in self.kinds, f"two arguments are named {each.name}")
            self.kinds[each.name] = each.dtype, each.rank
        self._arguments = frozenset(self.kinds)

    # -- statements --------------------------------------------------------------------------------

    def body(self, statements: Iterable[Statement], defined: Names) -> Names:
        """Verify a block; return the names that are defined after it."""
        for each in statements:
            defined = self._statement(each, defined)
        return defined

    def _statement(self, node: Statement, defined: Names) -> Names:
        if not isinstance(node, (For, While, If)):
            self.place = node
        for each in node.reads:
            is_written = isinstance(node, (Store, Fill)) and each is node.target
            self.expression(each, defined, not (is_written or isinstance(node, Bind)))
        match node:
            case For():
                self.kinds.setdefault(node.counter.name, (node.counter.dtype, None))
                self._named(node.counter)
                self._number(node.start, node.stop)
                self.body(node.body, defined | {node.counter.name})
            case While():
                self._number(node.test)
                self.body(node.body, defined)
            case If():
                self._number(node.test)
                found = [self.body(block, defined) for block in node.blocks if not _leaves(block)]
                return frozenset.intersection(*found) if found else defined
            case Assign(target, value) | Carry(target, value):
                self._number(value)
                starts = isinstance(node, Assign) or target.name in self.kinds
                self._require(starts, f"{target.name} is carried from nowhere")
                return self._define(target.name, (target.dtype, None), defined)
            case Store(target, value):
                self._number(value)
                self._write(target.array)
            case Accumulate(op, target, value):
                self._require(op in ARITIES, f"there is no operation {op}")
                self._number(value)
                if isinstance(target, Load):
                    self._write(target.array)
            case Fill(target, value):
                same = value.rank in (0, target.rank)
                self._require(same, f"an array of rank {target.rank} filled by rank {value.rank}")
                self._write(target)
            case Allocate(array, shape) | Grow(array, shape):
                self._number(*shape)
                self._require(len(shape) == array.rank, f"{len(shape)} lengths of {array!r}")
                if isinstance(node, Allocate):
                    return self._define(array.name, (array.dtype, array.rank), defined)
            case Bind(array, value):
                same = (value.dtype, value.rank) == (array.dtype, array.rank)
                self._require(same, f"{array!r} is a name of {value!r}")
                return self._bind(array, value, defined)
            case Foreign(results):
                for each in results:
                    kind = each.dtype, each.rank
                    self.kinds.setdefault(each.name, kind)
                    defined |= {each.name}
        return defined

    def _define(self, name: str, kind: Kind, defined: Names) -> Names:
        known = self.kinds.setdefault(name, kind)
        self._require(known == kind, f"{name} is {_text(kind)} and {_text(known)}")
        self._require(name not in self._arguments, f"the argument {name} is defined again")
        self.stale.pop(name, None)
        return defined | {name}

    # -- memory ------------------------------------------------------------------------------------

    def _bind(self, array: Array, value: Expression, defined: Names) -> Names:
        whole = value
        while isinstance(whole, (Reshaped, Part)):
            whole = whole.source if isinstance(whole, Reshaped) else whole.array
        found = self._define(array.name, (array.dtype, array.rank), defined)
        if isinstance(whole, Array):
            self.owners[array.name] = self._owner(whole.name)
            if whole.name in self.stale:  # memory of a dead array, to be written first
                self.stale[array.name] = self.stale[whole.name]
        return found

    def _owner(self, name: str) -> str:
        return self.owners.get(name, name)

    def _write(self, target: Array | Part) -> None:
        """Record that an array is written to; through all other names it is not read any more."""
        name = target.name if isinstance(target, Array) else target.array.name
        owner = self._owner(name)
        self._require(owner not in self._arguments, f"the argument {owner} is written to")
        self.stale.pop(name, None)
        for other in (owner, *(each for each, of in self.owners.items() if of == owner)):
            if other != name:
                self.stale[other] = name

    def memory_of_results(self, results: Sequence[Expression]) -> None:
        """Check that results share no memory with arguments."""
        for each in results:
            owner = self._owner(each.name) if isinstance(each, Array) else ""
            self._require(owner not in self._arguments, f"the argument {owner} is a result")

    # -- expressions -------------------------------------------------------------------------------

    def expression(self, node: Expression, defined: Names, reads_elements: bool = True) -> None:
        """Check all parts of an expression."""
        for each in expressions_in(node):
            match each:
                case Var() | Array():
                    self._require(each.name in defined, f"{each.name} is read before it is defined")
                    self._named(each)
                case Load(array, index):
                    self._require(len(index) == array.rank, f"an element at {len(index)} axes")
                    self._integer(*index)
                case Part(array, index):
                    self._require(len(index) <= array.rank, f"a part at {len(index)} axes")
                    self._integer(*index)
                case Length(array, axis):
                    self._require(axis < array.rank, f"axis {axis} of {array!r}")
                case Reshaped(source, shape):
                    self._integer(*shape)
                    self._require(source.rank > 0, "a number with lengths")
                case Op():
                    self._operation(each)
                case Call():
                    self._call(each)
                case Const():
                    continue
            for part in parts_of(each):
                if reads_elements and isinstance(part, Array) and isinstance(each, (Load, Part)):
                    by = self.stale.get(part.name)
                    self._require(by is None, f"{part.name} is read after it was written as {by}")

    def _named(self, node: Var | Array) -> None:
        kind = node.dtype, None if isinstance(node, Var) else node.rank
        known = self.kinds[node.name]
        self._require(known == kind, f"{node.name} is {_text(kind)} and {_text(known)}")

    def _operation(self, node: Op) -> None:
        self._number(*node.operands)
        least, most = ARITIES.get(node.op, (1, 0))
        self._require(least <= len(node.operands) <= most, f"no operation {node.op} of these")
        if node.op != "cast":
            wanted = result_dtype(node.op, [each.dtype for each in node.operands])
            self._require(node.dtype == wanted, f"{node.op} gives {wanted}, not {node.dtype}")

    def _call(self, node: Call) -> None:
        row = facts_named(node.function)
        if row is None:  # a routine, which may write to the arrays that it is given
            for part in parts_of(node):
                if isinstance(part, Array):
                    self.stale.pop(part.name, None)
            return
        self._number(*node.operands)
        if row.gives != "operands":
            kinds = ("bool",) if row.gives == "bool" else ("float", "complex")
            right = node.dtype.startswith(kinds)
            self._require(right, f"{row.name} gives {row.gives}, not {node.dtype}")
        if row.library:
            count = row.scipy[1] if row.scipy else 1
            self._require(len(node.operands) == count, f"{row.name} takes {count} operands")

    def _number(self, *nodes: Expression) -> None:
        for each in nodes:
            self._require(each.rank == 0, f"{each!r} is no number")

    def _integer(self, *nodes: Expression) -> None:
        self._number(*nodes)
        for each in nodes:
            fits = each.dtype.startswith(("int", "uint", "bool"))
            self._require(fits, f"{each!r} is no position and no length")

    def _require(self, holds: bool, problem: str) -> None:
        if not holds:
            raise InvalidKernel(f"{problem}, in {self.place}")


def _leaves(block: Sequence[Statement]) -> bool:
    """Return whether a block never continues with the statements after it."""
    return bool(block) and isinstance(block[-1], (Break, Continue, Raise))


def _text(kind: Kind) -> str:
    dtype, rank = kind
    return f"a number of {dtype}" if rank is None else f"an array of {dtype} with {rank} axes"
