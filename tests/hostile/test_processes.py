"""Programs that ruin their process, and what a hostile test sees of it."""

from __future__ import annotations

import pytest

from tests.hostile.children import run

pytestmark = pytest.mark.slow


def test_a_child_that_crashes_is_seen(faults):
    crash = run("import ctypes; ctypes.string_at(0)")
    faults.count("a null pointer", crash.crashed)
    error = run("raise ValueError('3 is not 4')")
    faults.count("an error", not error.crashed and error.error == "ValueError")
    little = run("x = bytearray(1 << 33)", memory=1 << 32)
    faults.count("a memory limit", not little.crashed and little.error == "MemoryError")
    with pytest.raises(TimeoutError, match=r"not done in 0\.5 s"):
        run("while True: pass", timeout=0.5)
