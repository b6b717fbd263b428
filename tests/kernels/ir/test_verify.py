"""The verifier of kernels: what it lets through, and the rule that each broken function breaks."""

import pytest

from dimtensor.kernels.ir.errors import InvalidKernel
from dimtensor.kernels.ir.make import ONE, ZERO, call, op, select
from dimtensor.kernels.ir.nodes import (
    Accumulate,
    Allocate,
    Array,
    Assign,
    Bind,
    Call,
    Carry,
    Const,
    Fill,
    For,
    Function,
    If,
    Length,
    Load,
    Op,
    Part,
    Raise,
    Reshaped,
    Store,
    Var,
    Wrapped,
)
from dimtensor.kernels.ir.verify import verify
from tests.kernels.reading import parsed

X, M = Array("x", "float64", 1), Array("m", "float64", 2)
V, W = Array("v", "float64", 1), Array("w", "float64", 1)
J, N = Var("i", "int64"), Var("n", "int64")
T, U = Var("t", "float64"), Var("u", "float64")
LENGTH = Assign(N, Length(X, 0))
MADE = (LENGTH, Allocate(V, (N,)))


def kernel(*statements, results=()):
    return Function("kernel", (X, M), statements, results)


def stored(array, value=T, at=J):
    return Store(Load(array, (at,)), value)


TEXT = """
def kernel(x, m):
    n = x.shape[0]
    v = np.empty((n,), dtype=np.float64)
    s = 0.0
    for i in range(n):
        if x[i] > s:
            t = np.log(x[i])
        else:
            t = x[i] if m[i, 0] > 0.0 else -x[i]
        v[i] = t
        s += t
    for i in range(n):
        v[i] = v[i] / s
    return (s, v, m.copy())
"""


def test_a_function_that_keeps_all_rules():
    verify(parsed(TEXT, [("float64", 1), ("float64", 2)], {}))


def test_memory_of_a_dead_array_is_given_to_another():
    """What the name was for is written first, and nothing reads the old name again."""
    verify(kernel(*MADE, Fill(V, ZERO), Bind(W, V), Fill(W, ONE), results=(W,)))


def test_memory_of_a_dead_array_is_written_by_a_routine():
    report = Var("l", "int64")
    routine = Assign(report, Call("dcopy", (N, X, W), "int64"))
    reads = Assign(T, Load(W, (ZERO,)))
    zero = stored(V, value=Const(0.0, "float64"), at=ZERO)
    verify(kernel(*MADE, Bind(W, V), zero, routine, reads))
    with pytest.raises(InvalidKernel, match="w is read after it was written as v"):
        verify(kernel(*MADE, Bind(W, V), zero, reads))


BROKEN = {
    "x is read before it is defined": Function("kernel", (), (LENGTH,), ()),
    "t is read before it is defined": kernel(
        For(J, ONE, (Assign(T, Load(X, (J,))),)), results=(T,)
    ),
    "u is read before it is defined": kernel(
        If(op(">", ONE, ZERO), (Assign(U, Load(X, (ZERO,))),)), results=(U,)
    ),
    "t is carried from nowhere": kernel(Carry(T, Load(X, (ZERO,)))),
    "t is a number of int64 and a number of float64": kernel(
        Assign(T, Load(X, (ZERO,))), Assign(Var("t", "int64"), ONE)
    ),
    "n is an array of float64 with 1 axes and a number of int64": kernel(
        LENGTH, Allocate(Array("n", "float64", 1), (ONE,))
    ),
    "an element at 1 axes": kernel(Assign(T, Load(M, (ZERO,)))),
    "a part at 3 axes": kernel(LENGTH, Fill(Part(M, (ZERO, ZERO, ZERO)), ZERO)),
    "axis 1 of Array": kernel(Assign(N, Length(X, 1))),
    "is no position and no length": kernel(
        Assign(T, Load(X, (ZERO,))), Assign(U, Load(X, (T,)))
    ),
    "is no number": kernel(Assign(T, X)),
    "1 lengths of Array": kernel(LENGTH, Allocate(Array("a", "float64", 2), (N,))),
    "is a name of": kernel(LENGTH, Bind(V, Reshaped(X, (N, ONE)))),
    "an array of rank 1 filled by rank 2": kernel(*MADE, Fill(V, M)),
    "no operation % of these": kernel(Assign(N, Op("%", (ONE,), "int64"))),
    "no operation log of these": kernel(Assign(T, Op("log", (Load(X, (ZERO,)),), "float64"))),
    "< gives bool, not int64": kernel(Assign(N, Op("<", (ONE, ZERO), "int64"))),
    "gammainc takes 2 operands": kernel(Assign(T, call("gammainc", Load(X, (ZERO,))))),
    "less gives bool": kernel(Assign(N, Call("less", (ONE, ZERO), "int64"))),
    "there is no operation power": kernel(
        Assign(T, Load(X, (ZERO,))), Accumulate("power", T, Load(X, (ZERO,)))
    ),
    "the argument x is written to": kernel(Fill(X, ZERO)),
    "the argument m is written to": kernel(
        Bind(V, Part(M, (ZERO,))), For(J, ONE, (stored(V, Load(X, (J,))),))
    ),
    "the argument x is a result": kernel(results=(X,)),
    "v is read after it was written as w": kernel(
        *MADE, Fill(V, ZERO), Bind(W, V), Fill(W, ONE), Assign(T, Load(V, (ZERO,)))
    ),
    "w is read after it was written as u": kernel(
        *MADE, Bind(Array("u", "float64", 1), V), Bind(W, V),
        Fill(Array("u", "float64", 1), ZERO), Assign(T, Load(W, (ZERO,))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("problem", BROKEN)
def test_each_rule(problem):
    with pytest.raises(InvalidKernel, match=problem):
        verify(BROKEN[problem])


def test_a_branch_that_raises_defines_nothing_for_the_other():
    test = op(">", Load(X, (ZERO,)), Load(X, (ONE,)))
    either = If(test, (Raise("ValueError", "no"),), (Assign(T, Load(X, (ZERO,))),))
    verify(kernel(either, results=(T,)))
    verify(kernel(results=(Wrapped("copy", X), select(test, ONE, ZERO))))
