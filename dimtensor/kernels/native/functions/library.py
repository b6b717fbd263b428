"""Functions that are arithmetic, in machine code of numbers and of vectors.

A call of the C library is made for one number after the other, and keeps what is around it from
being vectorized. LLVM puts short functions into the loop, unless there are so many calls that
compiling all copies would take long; long ones are called, with a vector at a time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from dimtensor.caches import bounded
from dimtensor.kernels.native.builder import Builder
from dimtensor.kernels.native.functions import bessel, elementary, gamma, normal, powers, waves
from dimtensor.kernels.native.functions.texts import CALLED, INLINED, calls, symbol, written
from dimtensor.kernels.native.machine import host_features
from dimtensor.tuning import INLINED_CALLS

TEXTS = {
    name: text
    for module in (elementary, bessel, gamma, normal, powers, waves)
    for name, text in module.TEXTS.items()
}
# lanes of vector variants
_WIDTHS = (2, 4, 8, 16)


def vectorizable(b: Builder, name: str) -> str | None:
    """Return the function to call in a loop, None where the C library's is as fast."""
    if not has_vectors(name):
        return None
    if TEXTS[name].is_long and b.context.in_order:  # rounds that wait are no vectors
        return None
    for count in (1, b.context.width) if b.context.width else widths(TEXTS[name].is_long):
        declare(b, name, count)
    return f"@{symbol(name)}"


def has_vectors(name: str) -> bool:
    """Return whether a function has a vector form on this processor."""
    return name in TEXTS and _has_fma()


def declare(b: Builder, name: str, lanes: int = 1) -> str:
    """Put a function into the module, with all that it calls; gives its name."""
    lines = b.module.lines
    if symbol(name, lanes) not in lines:
        lines[symbol(name, lanes)], ours, intrinsics = _function(name, lanes)
        for each in ours:
            declare(b, each, lanes)
        for intrinsic in intrinsics:
            b.module.function(*intrinsic)
        for each, line in TEXTS[name].declared.items():
            lines.setdefault(each, line)
            for of_numbers in _NUMBERS.findall(line):
                declare(b, of_numbers)
    return f"@{symbol(name, lanes)}"


@bounded(128)
def _function(name: str, lanes: int) -> tuple[str, list[str], list[tuple[str, str, list[str]]]]:
    text = TEXTS[name]
    return written(name, text, lanes), *calls(text, lanes)


def with_calls_or_copies(text: str) -> str:
    """Inline our functions in a module where they are called, or keep the calls."""
    many = sum(1 + (of == "(") for _, of in _CALLS.findall(text)) > INLINED_CALLS
    kept = []
    for name, of_numbers in _DEFINED.findall(f"\n{text}"):
        if not (many or TEXTS[name].is_long):
            continue
        if of_numbers == "(":
            variants = [(count, symbol(name, count)) for count in _WIDTHS]
            variants = [(count, each) for count, each in variants if f"@{each}(" in text]
            # also the scalar variant, or LLVM may drop operands that the vector variants have
            kept += [f"ptr @{each}" for each in (symbol(name), *(v for _, v in variants))]
            text = _with_variants(text, name, variants)
    if kept:  # until LLVM's vectorizer has seen the calls
        used = f"[{len(kept)} x ptr] [{', '.join(kept)}]"
        text += f'@llvm.compiler.used = appending global {used}, section "llvm.metadata"\n'
    return _COPIES.sub(rf"\1{CALLED}", text) if many else text


def _with_variants(text: str, name: str, variants: Sequence[tuple[int, str]]) -> str:
    """Say which functions of vectors there are beside one of numbers."""
    if not variants:
        return text
    v = "v" * len(TEXTS[name].operands)
    mapped = ",".join(f"_ZGV_LLVM_N{count}{v}_{symbol(name)}({each})" for count, each in variants)
    head, start, rest = text.partition(f"define internal double @{symbol(name)}(")
    operands, end, rest = rest.partition(" nounwind {")
    return f'{head}{start}{operands} "vector-function-abi-variant"="{mapped}"{end}{rest}'


_NUMBERS = re.compile(rf"call double @dimtensor\.({'|'.join(TEXTS)})\(")
_OURS = rf"[^@\n]*@dimtensor\.({'|'.join(TEXTS)})([.(])"
_CALLS, _DEFINED = re.compile(" = call " + _OURS), re.compile("\ndefine internal " + _OURS)
# other functions of the module, which write to memory, are unchanged
_COPIES = re.compile(rf"(define internal {_OURS}[^\n]*){INLINED}")


@bounded(2)
def widths(only_whole: bool = False) -> tuple[int, ...]:
    """Return the vector widths of functions that loops of numbers may use.

    Parameters
    ----------
    only_whole : bool
        Restrict to the vectors that LLVM chooses for doubles alone: the processor's, and with
        AVX-512 also half of them.
    """
    if only_whole and lanes() == 8:
        return (1, 4) if "+fma" in host_features().split(",") else (1, 2)
    return (1, lanes() // 4, lanes() // 2)


@cache
def lanes() -> int:
    """Return the width of loops whose vectorization is requested.

    These are two vectors of the processor, one of which need not wait for the other.
    """
    return 16 if "+avx512f" in host_features().split(",") else 8


@cache
def _has_fma() -> bool:
    """Return whether the processor has fused multiply-add; without it, it would be a call."""
    features = host_features().split(",")
    return any(feature in features for feature in ("+fma", "+neon", "+fp-armv8"))
