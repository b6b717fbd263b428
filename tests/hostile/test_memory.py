"""Memory that ends, sizes that no memory has, and memory that is not given back."""

from __future__ import annotations

import pytest

from tests.hostile.children import run

pytestmark = pytest.mark.slow

_GROWTH = """
    import ctypes
    import gc

    import numpy as np

    import dimtensor as dt


    class Allocated(ctypes.Structure):
        _fields_ = [
            (name, ctypes.c_size_t)
            for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks".split()
        ] + [("fordblks", ctypes.c_size_t), ("keepcost", ctypes.c_size_t)]


    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = Allocated


    def used():
        dt.clear_caches()
        for _ in range(20):
            if not gc.collect():
                break
        found = libc.mallinfo2()
        return found.uordblks + found.hblkhd


    def compile(number):
        d = dt.Dim("d")
        x, y = dt.tensor("x", dims=d), dt.tensor("y", dims=d)
        loss = (dt.exp(x * number) * y).sum()
        f = dt.function([x, y], [loss, dt.grad(loss, x)])
        assert f(np.zeros(3), np.ones(3))[0] == 3
"""


@pytest.mark.parametrize("number", ["1.0", "0.1 * k"], ids=["the same", "others"])
def test_compilations_give_their_memory_back(number):
    # llvmlite's passes alone took 120,000 bytes
    grown = run(
        _GROWTH
        + f"""
    for k in range(20):
        compile({number} - 9)
    before = used()
    for k in range(40):
        compile({number})
    print((used() - before) // 40)
    """,
        env={"DIMTENSOR_CACHE": "0"},
    ).ok()
    assert int(grown) < 12_000
