"""Text of one LLVM function: registers, blocks, variables, control flow."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from dimtensor.kernels.ir.errors import NotNative
from dimtensor.kernels.native.values import (
    BOOL,
    F64,
    I64,
    Scalar,
    Value,
    constant,
    promoted,
    whole_number,
)
from dimtensor.tuning import UNROLLED_LENGTH

# Flags of the additions to the total of a reduction, whose terms may be added in any order, and
# whose products need not be rounded before. Other operations have no flags. See "Arithmetic" in
# docs/design/kernels.md.
_ANY_ORDER = "reassoc contract "
_IN_ORDER = "contract "
# numbers of metadata, beyond those of scopes
_FIRST_DOMAIN, _FIRST_PROPERTY, _FIRST_LOOP = 700_000, 800_000, 1_000_000
_NO_UNROLLING = 'unroll.disable"'
_NO_VECTORS = 'vectorize.enable", i1 false'
_INTEGER_OPS = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}
_FLOAT_OPS = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_COMPARE = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


class Hint(NamedTuple):
    """Vectorization requested for a loop.

    Attributes
    ----------
    width : int
        Number of lanes.
    folds_tail : bool
        Whether the last iteration is masked; otherwise a scalar loop follows.
    """

    width: int
    folds_tail: bool


class Context(NamedTuple):
    """Surroundings of an instruction.

    Attributes
    ----------
    is_nested : bool
        Whether a loop or a branch is around it.
    in_loop : bool
    in_step : bool
        Whether one of the loops is a scan.
    in_order : bool
        Whether totals are added up in the order of the source: reassociation may lengthen the
        loop-carried path.
    width : int
        Number of lanes requested for the innermost loop, 0 for LLVM's choice.
    is_rare : bool
        Whether it hardly ever runs.
    next_round, after : str
        Labels of the next iteration of the innermost loop, and of its end.
    """

    is_nested: bool = False
    in_loop: bool = False
    in_step: bool = False
    in_order: bool = False
    width: int = 0
    is_rare: bool = False
    next_round: str = ""
    after: str = ""


class Module:
    """Parts of a module that its functions share.

    Attributes
    ----------
    lines : dict of str to str
        Declarations and definitions of called functions, by name.
    externals : dict of str to str
        Functions whose addresses are looked up when the code is loaded, by symbol.
    """

    def __init__(self) -> None:
        self.lines: dict[str, str] = {}
        self.externals: dict[str, str] = {}
        self._scopes = 0
        self._loops: list[tuple[str, ...]] = []  # the properties of each loop that has some

    def function(self, name: str, result: str, arguments: Sequence[str], traits: str = "") -> str:
        """Declare a function that every process has."""
        self.lines.setdefault(name, f"declare {result} @{name}({', '.join(arguments)}){traits}")
        return f"@{name}"

    def external(self, name: str, where: str, result: str, arguments: Sequence[str]) -> str:
        """Declare a function whose address is looked up when the code is loaded."""
        self.externals[name] = where
        return self.function(name, result, arguments, " nounwind willreturn memory(none)")

    def scope(self) -> int:
        """Open an alias scope, which shares no memory with other scopes."""
        self._scopes += 1
        return self._scopes

    def loop(self, *properties: str) -> str:
        """Return the metadata of the branch back of a loop with some properties."""
        self._loops.append(properties)
        return f", !llvm.loop !{_FIRST_LOOP + len(self._loops)}"

    def metadata(self) -> list[str]:
        """Return the metadata of scopes and loops, for the end of the module."""
        known = sorted({each for properties in self._loops for each in properties})
        number = {each: _FIRST_PROPERTY + at for at, each in enumerate(known)}
        lines = _scope_lines(self._scopes + 1)
        lines += [f'!{at} = !{{!"llvm.loop.{each}}}' for each, at in number.items()]
        for at, properties in enumerate(self._loops, start=_FIRST_LOOP + 1):
            own = ", ".join(f"!{each}" for each in (at, *(number[p] for p in properties)))
            lines.append(f"!{at} = distinct !{{{own}}}")
        return lines


def _scope_lines(count: int) -> list[str]:
    """Return the metadata of alias scopes: two lists for each, see :meth:`Builder.apart`.

    Two accesses share no memory if in one domain all scopes of one are among those that the other
    is marked not to alias. There is a domain for each bit of the number of a scope, with one scope
    for 0 and one for 1: different numbers differ in a bit. So lists grow with the logarithm of the
    number of arrays; a list of all other arrays would grow with it.
    """
    bits = range((count - 1).bit_length())
    lines = []
    for bit in bits:
        domain = _FIRST_DOMAIN + 3 * bit
        lines.append(f'!{domain} = distinct !{{!{domain}, !"bit {bit}"}}')
        lines += [f"!{at} = distinct !{{!{at}, !{domain}}}" for at in (domain + 1, domain + 2)]
    for scope in range(count):
        for at, other in ((2 * scope, scope), (2 * scope + 1, ~scope)):
            own = (f"!{_FIRST_DOMAIN + 3 * bit + 1 + (other >> bit & 1)}" for bit in bits)
            lines.append(f"!{at} = !{{{', '.join(own)}}}")
    return lines


@dataclass(frozen=True)
class Builder:
    """Writer of the body of a function, instruction by instruction, in a context.

    Attributes
    ----------
    module : Module
    context : Context
    entry, lines : list of str
        Instructions at the start of the function, and all others.
    """

    module: Module
    context: Context = field(default_factory=Context)
    entry: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    _names: Iterator[int] = field(default_factory=itertools.count)

    def within(self, **changes: Any) -> Builder:
        """Return a builder of the same function in another context."""
        return replace(self, context=self.context._replace(**changes))

    def definition(self, head: str) -> str:
        """Return the definition of the function; the head has its result, name and parameters."""
        return "\n".join([f"define {head} {{", "entry:", *self.entry, *self.lines, "}"])

    def helper(self, name: str, parameters: Sequence[str]) -> str:
        """Return the definition of a function that the kernel calls, and that gives nothing."""
        self.write("ret void")
        return self.definition(f"internal void {name}({', '.join(parameters)}) noinline nounwind")

    # -- text --------------------------------------------------------------------------------------

    def register(self) -> str:
        return f"%r{next(self._names)}"

    def label(self, hint: str) -> str:
        return f"{hint}{next(self._names)}"

    def write(self, text: str) -> None:
        self.lines.append("  " + text)

    def let(self, text: str) -> str:
        """Write an instruction with a result, and return its register."""
        name = self.register()
        self.lines.append(f"  {name} = {text}")
        return name

    def begin(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def jump(self, label: str) -> None:
        self.write(f"br label %{label}")

    def branch(self, condition: Value, then: str, otherwise: str) -> None:
        self.write(f"br i1 {condition.text}, label %{then}, label %{otherwise}")

    def slot(self, llvm_type: str, count: int = 1, align: int = 8) -> str:
        """Memory of the function's own frame."""
        name = self.register()
        whole = llvm_type if count == 1 else f"[{count} x {llvm_type}]"
        self.entry.append(f"  {name} = alloca {whole}, align {align}")
        return name

    @contextmanager
    def when(self, condition: Value, hint: str = "if") -> Iterator[None]:
        """Write a block that runs only if a condition holds."""
        then, done = self.label(hint), self.label("end")
        self.branch(condition, then, done)
        self.begin(then)
        yield
        self.jump(done)
        self.begin(done)

    # -- numbers -----------------------------------------------------------------------------------

    def cast(self, value: Value, to: Scalar) -> Value:
        """Convert a number to another type, as NumPy does."""
        of = value.type
        if of == to:
            return value
        if to.kind == "b":
            zero = constant(0, of).text
            kind = "fcmp une" if of.kind == "f" else "icmp ne"
            return Value(self.let(f"{kind} {of.llvm} {value.text}, {zero}"), to)
        if to.kind == "f" and value.known is not None:
            return constant(value.known, to)
        if of.kind == "f":
            if to.kind == "f":
                operation = "fpext" if to.bits > of.bits else "fptrunc"
            else:
                operation = "fptosi" if to.kind == "i" else "fptoui"
        elif to.kind == "f":
            operation = "sitofp" if of.kind == "i" else "uitofp"
        elif to.bits == of.bits:
            return value._replace(type=to, factors=None)
        elif to.bits < of.bits:
            operation = "trunc"
        else:
            operation = "sext" if of.kind == "i" else "zext"
        if value.known is not None and operation in ("sext", "zext"):
            return constant(value.known, to)
        text = self.let(f"{operation} {of.llvm} {value.text} to {to.llvm}")
        return Value(text, to, value.position and to.kind != "f")

    def arithmetic(self, operator: str, a: Value, b: Value, type_: Scalar | None = None) -> Value:
        """Write a sum, difference, product, quotient or bitwise operation."""
        type_ = type_ or promoted(a.type, b.type)
        if operator == "/" and type_.kind != "f":
            type_ = F64
        trusted = a.position and b.position
        a, b = self.cast(a, type_), self.cast(b, type_)
        if type_.kind == "f":
            if operator not in _FLOAT_OPS:
                raise NotNative(f"{operator} of floats")
            return self._float_arithmetic(operator, a, b, type_)
        if type_.kind == "b":
            operator = {"*": "&", "+": "|"}.get(operator, operator)
            if operator not in "&|^":
                raise NotNative(f"{operator} of truth values")
        if operator not in _INTEGER_OPS:
            raise NotNative(f"{operator} of integers")
        folded = _fold(operator, a, b)
        if folded is not None:
            return constant(folded, type_)._replace(position=trusted)
        exact = " nsw" if trusted and operator in "+-*" else ""
        text = f"{_INTEGER_OPS[operator]}{exact} {type_.llvm} {a.text}, {b.text}"
        return Value(self.let(text), type_, trusted)

    def _float_arithmetic(self, operator: str, a: Value, b: Value, type_: Scalar) -> Value:
        """IEEE's arithmetic, but that a product may be rounded together with its sum.

        That is done if the product is used for nothing else and what it is added to is no product:
        ``x * y - x * y`` is 0, ``z - floor(z)`` is not negative.
        """
        t = type_.llvm
        if operator == "*":
            # no flag of a product alone changes it
            text = self.let(f"fmul contract {t} {a.text}, {b.text}")
            return Value(text, type_, factors=(a.text, b.text))
        one = a.factors is None or b.factors is None
        if operator in "+-" and one and (a.factors or b.factors):
            return self._fused(operator, a, b, type_)
        return Value(self.let(f"{_FLOAT_OPS[operator]} {t} {a.text}, {b.text}"), type_)

    def _fused(self, operator: str, a: Value, b: Value, type_: Scalar) -> Value:
        """Write a fused multiply-add of a product and another operand."""
        t = type_.llvm
        called = self.module.function(f"llvm.fmuladd.{type_.suffix}", t, [t, t, t])
        (x, y), other = (a.factors, b.text) if a.factors else (b.factors or (), a.text)
        if operator == "-" and a.factors:
            other = self.let(f"fneg {t} {other}")
        elif operator == "-":
            x = self.let(f"fneg {t} {x}")
        return Value(self.let(f"call {t} {called}({t} {x}, {t} {y}, {t} {other})"), type_)

    def accumulate(self, operator: str, total: Value, value: Value) -> Value:
        """One step of a reduction: a total with one more term or factor."""
        type_ = promoted(total.type, value.type)
        if type_.kind != "f" or operator == "/":
            return self.arithmetic(operator, total, value)
        flags = _IN_ORDER if self.context.in_order else _ANY_ORDER
        a, b = self.cast(total, type_), self.cast(value, type_)
        text = f"{_FLOAT_OPS[operator]} {flags}{type_.llvm} {a.text}, {b.text}"
        return Value(self.let(text), type_)

    def floor_divide(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Quotient rounded down and remainder of integers; of a division by zero both are 0."""
        type_ = promoted(a.type, b.type)
        a, b = self.cast(a, type_), self.cast(b, type_)
        t, zero = type_.llvm, constant(0, type_)
        by_zero = self.compare("==", b, zero)
        divisor = self.select(by_zero, constant(1, type_), b)
        if type_.kind == "u":
            quotient = self.let(f"udiv {t} {a.text}, {divisor.text}")
            rest = self.let(f"urem {t} {a.text}, {divisor.text}")
        else:
            # the one quotient that overflows, of the least integer by -1
            least = constant(-(1 << (type_.bits - 1)), type_)
            minus = self.compare("==", divisor, constant(-1, type_))
            both = self.let(f"and i1 {self.compare('==', a, least).text}, {minus.text}")
            divisor = self.select(Value(both, BOOL), constant(1, type_), divisor)
            raw = self.let(f"sdiv {t} {a.text}, {divisor.text}")
            left = self.let(f"srem {t} {a.text}, {divisor.text}")
            signs = self.let(f"xor {t} {left}, {divisor.text}")
            apart = self.let(f"icmp slt {t} {signs}, 0")
            some = self.let(f"icmp ne {t} {left}, 0")
            down = self.let(f"and i1 {apart}, {some}")
            one = self.let(f"zext i1 {down} to {t}") if t != "i1" else down
            quotient = self.let(f"sub {t} {raw}, {one}")
            more = self.let(f"select i1 {down}, {t} {divisor.text}, {t} 0")
            rest = self.let(f"add {t} {left}, {more}")
        trusted = a.position and b.position
        found = (Value(quotient, type_, trusted), Value(rest, type_, trusted))
        return (self.select(by_zero, zero, found[0]), self.select(by_zero, zero, found[1]))

    def negate(self, a: Value) -> Value:
        if a.type.kind == "f":
            if a.known is not None:
                return constant(-a.known, a.type)
            return Value(self.let(f"fneg {a.type.llvm} {a.text}"), a.type)
        if a.known is not None:
            return constant(-a.known, a.type)
        return Value(self.let(f"sub {a.type.llvm} {constant(0, a.type).text}, {a.text}"), a.type)

    def compare(self, operator: str, a: Value, b: Value) -> Value:
        type_ = promoted(a.type, b.type)
        a, b = self.cast(a, type_), self.cast(b, type_)
        code = _COMPARE[operator]
        if type_.kind == "f":
            # a comparison with nan is false, but "different" is true
            code = "une" if code == "ne" else f"o{code}"
            return Value(self.let(f"fcmp {code} {type_.llvm} {a.text}, {b.text}"), BOOL)
        if code not in ("eq", "ne"):
            code = ("s" if type_.kind == "i" else "u") + code
        return Value(self.let(f"icmp {code} {type_.llvm} {a.text}, {b.text}"), BOOL)

    def either(self, operator: str, a: Value, b: Value) -> Value:
        """Two truth values by ``and``, ``or`` or ``xor``."""
        type_ = promoted(a.type, b.type)
        a, b = self.cast(a, type_), self.cast(b, type_)
        return Value(self.let(f"{operator} {type_.llvm} {a.text}, {b.text}"), type_)

    def select(self, condition: Value, then: Value, otherwise: Value) -> Value:
        type_ = promoted(then.type, otherwise.type)
        trusted = then.position and otherwise.position
        then, otherwise = self.cast(then, type_), self.cast(otherwise, type_)
        t = type_.llvm
        which = f"{condition.type.llvm} {condition.text}"
        text = f"select {which}, {t} {then.text}, {t} {otherwise.text}"
        return Value(self.let(text), type_, trusted)

    def extreme(self, which: str, a: Value, b: Value) -> Value:
        """Smaller or larger of two integers."""
        found = self.select(self.compare("<" if which == "min" else ">", a, b), a, b)
        # the larger of two numbers is no less than 0 if one of them is
        reaches = which == "max" and (a.position or b.position)
        return found._replace(position=found.position or reaches)

    def call(self, function: str, result: Scalar, arguments: Sequence[Value]) -> Value:
        operands = ", ".join(f"{a.type.llvm} {a.text}" for a in arguments)
        return Value(self.let(f"call {result.llvm} {function}({operands})"), result)

    # -- memory ------------------------------------------------------------------------------------

    def load(self, pointer: str, type_: Scalar, scope: int | None = None) -> Value:
        apart = "" if scope is None else self.apart(scope)
        text = self.let(f"load {type_.memory}, ptr {pointer}, align {type_.size}{apart}")
        if type_.kind == "b":
            text = self.let(f"icmp ne {type_.memory} {text}, 0")
        return Value(text, type_)

    def store(self, pointer: str, value: Value, scope: int | None = None) -> None:
        text = value.text
        memory, size = value.type.memory, value.type.size
        if value.type.kind == "b":
            text = self.let(f"zext {value.type.llvm} {text} to {memory}")
        apart = "" if scope is None else self.apart(scope)
        self.write(f"store {memory} {text}, ptr {pointer}, align {size}{apart}")

    @staticmethod
    def apart(scope: int) -> str:
        """Return the `alias.scope` and `noalias` metadata of an access."""
        return f", !alias.scope !{2 * scope}, !noalias !{2 * scope + 1}"

    def element(self, pointer: str, type_: Scalar, offset: Value) -> str:
        """Address of an element."""
        return self.let(f"getelementptr inbounds {type_.memory}, ptr {pointer}, i64 {offset.text}")

    def product(self, lengths: Sequence[Value]) -> Value:
        total = constant(1, I64)
        for length in lengths:
            total = self.arithmetic("*", total, length)
        return total

    # -- loops -------------------------------------------------------------------------------------

    def loop(
        self,
        start: Value,
        stop: Value,
        step: Value,
        body: Callable[[Builder, Value], None],
        stays: bool = False,
        hint: Hint | None = None,
    ) -> None:
        """Count from start, up to stop or, with a negative step, down to it.

        `body` gets a builder inside of the loop, and the counter. A loop that `stays` one is not
        unrolled, however short it is.
        """
        check, inside = self.label("loop"), self.label("body")
        following, after = self.label("next"), self.label("after")
        if step.known is None:
            raise NotNative("a loop whose step is not a number")
        down = step.known < 0
        counter = self.slot("i64")
        self.write(f"store i64 {start.text}, ptr {counter}, align 8")
        self.jump(check)
        self.begin(check)
        at = Value(self.let(f"load i64, ptr {counter}, align 8"), I64, start.position and not down)
        self.branch(self.compare(">" if down else "<", at, stop), inside, after)
        self.begin(inside)
        width = 0 if hint is None else hint.width
        labels = {"next_round": following, "after": after}
        body(self.within(is_nested=True, in_loop=True, width=width, **labels), at)
        self.jump(following)
        self.begin(following)
        moved = self.let(f"add nsw i64 {at.text}, {step.text}")
        self.write(f"store i64 {moved}, ptr {counter}, align 8")
        properties = self._properties(start, stop, step, stays, hint)
        self.write(f"br label %{check}{self.module.loop(*properties) if properties else ''}")
        self.begin(after)

    def _properties(
        self, start: Value, stop: Value, step: Value, stays: bool, hint: Hint | None
    ) -> list[str]:
        """Return the properties of a loop; loops of known length are unrolled if very short.

        LLVM would unroll others before it looks for loops to vectorize; what it finds then is the
        loop around, in which elements that should be read together are far apart.
        """
        if hint is not None:
            found = [f'vectorize.width", i32 {hint.width}', 'interleave.count", i32 1']
            folded = ['vectorize.predicate.enable", i1 true'] * hint.folds_tail
            return [_NO_UNROLLING, *found, *folded]
        if self.context.is_rare:
            return [_NO_UNROLLING, _NO_VECTORS]
        first, last, stride = (whole_number(each) for each in (start, stop, step))
        if first is not None and last is not None and stride is not None:
            stays = stays or len(range(first, last, stride)) > UNROLLED_LENGTH
        return [_NO_UNROLLING] if stays else []


def _fold(operator: str, a: Value, b: Value) -> int | None:
    x, y = whole_number(a), whole_number(b)
    if operator == "*" and 0 in (x, y):
        return 0
    if x is None or y is None:
        return None
    return {"+": x + y, "-": x - y, "*": x * y, "&": x & y, "|": x | y, "^": x ^ y}[operator]
