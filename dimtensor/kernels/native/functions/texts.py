"""Functions of numbers and of vectors, from one text.

A text is lines of LLVM for numbers: ``double``, ``i64`` and ``i1`` become vectors, and so do the
functions that are called, intrinsics of LLVM (``@llvm.fabs.f64(``) and others of ours
(``@dimtensor.exp(``). Constants stand between < and >. What is computed is the same in vectors of
any length, bit for bit.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dimtensor.kernels.native.values import BOOL, F64, I64, Scalar, Value, constant

INLINED, CALLED = "alwaysinline", "noinline memory(none) willreturn"
# how many operands intrinsics take
_INTRINSICS = {"fabs": 1, "sqrt": 1, "floor": 1, "copysign": 2, "fma": 3}
_WORDS = re.compile(
    r"<([^>]+)>|@dimtensor\.(\w+)\(|@llvm\.(\w+)\.f64\(|(?<![\w.%])(double|i64|i1)(?![\w.])"
)


@dataclass(frozen=True)
class Text:
    """A function of floats.

    Attributes
    ----------
    lines : sequence of str
        What computes it of ``%x``, or of its operands.
    result : str
    operands : sequence of str
    rarely : str
        A function of numbers, called for each element for which ``%rare`` holds.
    declared : mapping of str to str
        What that function is, and what it needs, by name.
    is_long : bool
        Whether it is always called: to copy it into loops would take LLVM long and gain little.
    """

    lines: Sequence[str]
    result: str = "%result"
    operands: Sequence[str] = ("%x",)
    rarely: str = ""
    declared: Mapping[str, str] = field(default_factory=dict)
    is_long: bool = False


def symbol(name: str, lanes: int = 1) -> str:
    """Return the name of a function in a module, for numbers or for vectors."""
    return f"dimtensor.{name}" if lanes == 1 else f"dimtensor.{name}.v{lanes}"


def calls(text: Text, lanes: int) -> tuple[list[str], list[tuple[str, str, list[str]]]]:
    """Return the functions that a text calls: ours, and intrinsics with their types."""
    t = F64.wide(lanes)
    ours: list[str] = []
    intrinsics = []
    for number, name, intrinsic, _ in _WORDS.findall("\n".join(text.lines)):
        if name:
            ours.append(name)
        elif intrinsic and not number:
            types = [t.llvm] * _INTRINSICS[intrinsic]
            intrinsics.append((f"llvm.{intrinsic}.{t.suffix}", t.llvm, types))
    if text.rarely and lanes > 1:
        mask = BOOL.wide(lanes).llvm
        intrinsics.append((f"llvm.vector.reduce.or.v{lanes}i1", "i1", [mask]))
    return ours, intrinsics


def written(name: str, text: Text, lanes: int) -> str:
    """Return the text of a function, for numbers or for vectors."""
    types = {"double": F64.wide(lanes), "i64": I64.wide(lanes), "i1": BOOL.wide(lanes)}

    def word(found: re.Match[str]) -> str:
        number, ours, intrinsic, type_ = found.groups()
        if number is not None:
            return _constant(number, types).text
        if ours is not None:
            return f"@{symbol(ours, lanes)}("
        if intrinsic is not None:
            return f"@llvm.{intrinsic}.{types['double'].suffix}("
        return types[type_].llvm

    t = types["double"].llvm
    lines = [_WORDS.sub(word, each) for each in text.lines]
    lines += _rarely(text, lanes, t) if text.rarely else [f"ret {t} {text.result}"]
    body = "\n".join(line if line.endswith(":") else f"  {line}" for line in lines)
    operands = ", ".join(f"{t} {each}" for each in text.operands)
    kind = CALLED if text.is_long else INLINED
    return f"define internal {t} @{symbol(name, lanes)}({operands}) {kind} nounwind {{\n{body}\n}}"


def _rarely(text: Text, lanes: int, t: str) -> list[str]:
    """Return the end of a function that delegates rare elements to another one."""
    called, result = f"call double @{text.rarely}", text.result
    if lanes == 1:
        alone = ", ".join(f"double {each}" for each in text.operands)
        return [
            "br i1 %rare, label %rarely, label %usually",
            "rarely:",
            f"%other = {called}({alone})",
            "ret double %other",
            "usually:",
            f"ret double {result}",
        ]
    lines = [
        # lanes beyond the end of a loop may be poison
        f"%rare.any = freeze <{lanes} x i1> %rare",
        f"%any = call i1 @llvm.vector.reduce.or.v{lanes}i1(<{lanes} x i1> %rare.any)",
        "br i1 %any, label %lane0, label %usually",
        "lane0:",
    ]
    value = result
    for lane in range(lanes):
        operands: list[str] = []
        lines += [
            f"%rare.is{lane} = extractelement <{lanes} x i1> %rare.any, i64 {lane}",
            f"br i1 %rare.is{lane}, label %call{lane}, label %lane{lane + 1}",
            f"call{lane}:",
        ]
        for at, each in enumerate(text.operands):
            lines.append(f"%rare.o{at}.{lane} = extractelement {t} {each}, i64 {lane}")
            operands.append(f"double %rare.o{at}.{lane}")
        lines += [
            f"%rare.n{lane} = {called}({', '.join(operands)})",
            f"%rare.w{lane} = insertelement {t} {value}, double %rare.n{lane}, i64 {lane}",
            f"br label %lane{lane + 1}",
            f"lane{lane + 1}:",
            f"%rare.v{lane} = phi {t} [ {value}, %lane{lane} ], [ %rare.w{lane}, %call{lane} ]",
        ]
        value = f"%rare.v{lane}"
    return [*lines, f"ret {t} {value}", "usually:", f"ret {t} {result}"]


def fma(result: str, a: str, b: str, c: str) -> str:
    """Return a product and a sum, rounded once."""
    return f"{result} = call double @llvm.fma.f64(double {a}, double {b}, double {c})"


def polynomial(result: str, at: str, coefficients: Sequence[float]) -> list[str]:
    """Even and odd powers side by side, so that one need not wait for the other."""
    square = f"{result}.square"
    lines = [f"{square} = fmul double {at}, {at}"]
    even, odd = (
        _horner(f"{result}.{part}", square, coefficients[start::2], lines)
        for start, part in enumerate(("even", "odd"))
    )
    return [*lines, fma(result, odd, at, even)]


def in_turn(result: str, at: str, coefficients: Sequence[float]) -> list[str]:
    """Return an alternating polynomial by Horner's rule, which rounds less."""
    lines: list[str] = []
    value = _horner(f"{result}.", at, coefficients[1:], lines)
    return [*lines, fma(result, value, at, f"<{coefficients[0]!r}>")]


def declaration(name: str, operands: int = 1) -> dict[str, str]:
    """Declare a function of the C library or of LLVM that depends on its operands alone."""
    types = ", ".join(["double"] * operands)
    return {name: f"declare double @{name}({types}) nounwind willreturn memory(none)"}


def _horner(result: str, at: str, coefficients: Sequence[float], lines: list[str]) -> str:
    value = f"<{coefficients[-1]!r}>"
    for number, coefficient in enumerate(coefficients[-2::-1]):
        lines.append(fma(f"{result}{number}", value, at, f"<{coefficient!r}>"))
        value = f"{result}{number}"
    return value


def number(value: float) -> str:
    """Return a float in LLVM's notation, for texts without constants between < and >."""
    return constant(value, F64).text


def bits(value: float) -> int:
    """Return the bits of a float as an integer."""
    return struct.unpack("<q", struct.pack("<d", value))[0]


def _constant(text: str, types: Mapping[str, Scalar]) -> Value:
    try:
        return constant(int(text), types["i64"])
    except ValueError:
        return constant(float(text), types["double"])
