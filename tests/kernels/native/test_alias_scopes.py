"""Metadata that tells LLVM which arrays share no memory."""

from __future__ import annotations

import pytest

from dimtensor.kernels.native import machine
from dimtensor.kernels.native.builder import Builder, Module

pytestmark = pytest.mark.compiled


def reads(first: int, second: int, scopes: int) -> int:
    """Count the reads that LLVM keeps of an element, before and after a store to another scope."""
    module = Module()
    for _ in range(scopes):
        module.scope()
    mine, other = Builder.apart(first), Builder.apart(second)
    text = f"""
define double @f(ptr %x, ptr %y) {{
  %a = load double, ptr %x{mine}
  store double 1.0, ptr %y{other}
  %b = load double, ptr %x{mine}
  %c = fadd double %a, %b
  ret double %c
}}
"""
    found, _ = machine.optimized("\n".join([text, *module.metadata()]))
    return str(found).count("load double")


def test_accesses_of_different_scopes_share_no_memory() -> None:
    for first, second in ((0, 1), (1, 2), (3, 4), (0, 7), (5, 6), (4, 0)):
        assert reads(first, second, 7) == 1


def test_accesses_of_one_scope_may_share_memory() -> None:
    for scope, scopes in ((0, 0), (0, 7), (3, 7), (7, 7)):
        assert reads(scope, scope, scopes) == 2


def test_lists_of_scopes_grow_with_the_logarithm_of_their_number() -> None:
    sizes = []
    for count in (500, 1000):
        module = Module()
        for _ in range(count):
            module.scope()
        sizes.append(len("\n".join(module.metadata())))
    assert sizes[1] < 2.3 * sizes[0]
