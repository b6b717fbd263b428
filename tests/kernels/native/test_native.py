"""Kernels compiled without numba: the same source, run by Python and by NumPy's rules."""

import ctypes
import gc
import math
import re
import signal
import sys
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dimtensor.kernels.ir.errors import NotNative
from dimtensor.kernels.ir.nodes import If
from dimtensor.kernels.native.code import NativeCode, NativeKernel, native_code, translated
from dimtensor.kernels.native.machine import optimized
from dimtensor.kernels.native.translate import ArgumentType
from tests.kernels.reading import parsed

pytestmark = pytest.mark.compiled

F, I = "float64", "int64"  # noqa: E741


def types_of(*arrays):
    return [ArgumentType(a.dtype.name, (None,) * a.ndim) for a in arrays]


def loops(source, types):
    return parsed(source, [(each.dtype, len(each.shape)) for each in types], {})


def llvm(source, types):
    return translated(loops(source, types), types).text


def compiled(source, *arrays, types=None):
    types = types or types_of(*arrays)
    return NativeKernel(native_code(loops(source, types), types))


def both(source, *arrays):
    """Results of the machine code and of Python."""
    namespace = {"np": np, "math": math}
    exec(source, namespace)
    with np.errstate(all="ignore"):
        expected = namespace["kernel"](*(a.copy() for a in arrays))
    return compiled(source, *arrays).bind()(*arrays), expected


def check(source, *arrays, rtol=1e-13):
    found, expected = both(source, *arrays)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=rtol, atol=0)
    return found


def scalar(value, dtype=F):
    return np.asarray(value, dtype)


SUM = """
def kernel(x):
    n0 = x.shape[0]
    s = 0.0
    v = np.empty((n0,), dtype=np.float64)
    for i in range(n0):
        t = x[i]
        s += t
        v[i] = t * 2.0
    return (s, v, )
"""


@pytest.mark.parametrize("n", [0, 1, 2, 17, 1000])
def test_a_loop(n, rng):
    total, doubled = check(SUM, rng.normal(size=n), rtol=1e-12)
    assert isinstance(total, float)
    assert doubled.flags.owndata
    assert doubled.flags.writeable
    assert doubled.flags.c_contiguous


def test_statements_and_expressions(rng):
    source = """
def kernel(x, k, flag):
    yes = flag[()]
    n0 = x.shape[0]
    n1 = x.shape[1]
    out = np.full((n1, n0), 3.0, dtype=np.float64)
    counts = np.zeros((4,), dtype=np.int64)
    best = -np.inf
    low = np.inf
    seen = False
    steps = 0
    for i in range(n0):
        for j in range(n1 - 1, -1, -1):
            t = x[i, j]
            if t < 0.0:
                out[j, i] = -t
                continue
            elif t > 2.0:
                break
            else:
                out[j, i] += math.sqrt(t) if yes else t ** 2
            best = t if (t > best or t != t) else best
            low = min(j, i) + (low if low < t else t)
            seen = seen or t == 0.5
        counts[k[i]] += 1
    while steps * 3 < n0 and not seen:
        steps += 2
    rest = (-7) % 3 + (n0 - 11) // 4
    chosen = (n0, n1, 5,)[steps % 3]
    return (out, counts, best, low, seen, steps, rest, chosen, x.copy(), np.asarray(7), )
"""
    x = rng.normal(size=(5, 4)) * 1.5
    k = np.array([0, -1, 2, 1, -4])
    for flag in (True, False):
        found = check(source, x, k, scalar(flag, "bool"))
    assert type(found[4]) is bool
    assert type(found[5]) is int
    assert isinstance(found[9], np.ndarray)
    assert found[9].dtype == np.int64
    assert not np.may_share_memory(found[8], x)


def test_arrays_in_loops(rng):
    """A filter: a state that is a vector, rows that are read, rows that are written."""
    source = """
def kernel(x, start, turn):
    n = x.shape[0]
    m = start.shape[0]
    state = start.copy()
    trace = np.zeros((n, m), dtype=np.float64)
    fresh = np.empty((m,), dtype=np.float64)
    sizes = np.empty((n,), dtype=np.float64)
    for t in range(n):
        row = np.zeros((m + t % 2, 2), dtype=np.float64)
        work = np.full((3,), 1.0, dtype=np.float64)
        for i in range(m):
            total = x[t, i]
            for j in range(m):
                total += turn[i, j] * state[j]
            fresh[i] = math.tanh(total) + work[i % 3]
            row[i, 1] += total
        state[...] = fresh
        trace[t, ...] = state
        work[...] = 0.5
        s = 0.0
        for i in range(row.shape[0]):
            s += row[i, 0] + row[i, 1] + work[0]
        sizes[t] = s
        if t == 3:
            trace[t] = 7.0
    return (state, trace, sizes, trace[0].copy(), )
"""
    for n in (1, 7):
        x, turn = rng.normal(size=(n, 4)), rng.normal(size=(4, 4))
        check(source, x, rng.normal(size=4), turn, rtol=1e-11)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_functions(dtype, rng):
    names = ["exp", "log", "log1p", "expm1", "sin", "cos", "tan", "tanh", "sinh", "cosh", "sqrt"]
    names += ["floor", "ceil", "log2", "log10", "exp2", "arcsin", "arccos", "arctan", "arcsinh"]
    names += ["arctanh", "trunc", "abs"]
    calls = "".join(f"        v[i, {at}] = np.{name}(x[i])\n" for at, name in enumerate(names))
    source = f"""
def kernel(x):
    v = np.empty((x.shape[0], {len(names)}), dtype=np.float64)
    for i in range(x.shape[0]):
{calls}    return (v, )
"""
    x = rng.uniform(0.01, 0.99, 7).astype(dtype)
    check(source, x, rtol=1e-13 if dtype == "float64" else 1e-6)


@given(
    a=st.integers(-(2**40), 2**40),
    b=st.one_of(st.integers(-50, 50), st.integers(-(2**40), 2**40)),
)
def test_division_of_integers_rounds_down(a, b):
    call = _division()
    quotient, rest = call(scalar(a, I), scalar(b, I))
    assert (quotient, rest) == ((a // b, a % b) if b else (0, 0))


_kept: dict = {}


def _division():
    if "division" not in _kept:
        source = "def kernel(a, b):\n    return (a[()] // b[()], a[()] % b[()], )\n"
        _kept["division"] = compiled(source, scalar(1, I), scalar(1, I)).bind()
    return _kept["division"]


def test_nan_and_infinity_keep_their_meaning():
    source = """
def kernel(x):
    s = 0.0
    c = 0
    for i in range(x.shape[0]):
        s += x[i]
        c += 1 if x[i] != x[i] else 0
    return (s, c, 1.0 / x[0], -1.0 / x[0], )
"""
    x = np.array([0.0, np.nan, np.inf, 1.0])
    total, count, plus, minus = compiled(source, x).bind()(x)
    assert np.isnan(total)
    assert count == 1
    assert (plus, minus) == (np.inf, -np.inf)
    x = np.array([1.0, np.inf, -2.0])
    assert compiled(source, x).bind()(x)[0] == np.inf


def test_large_arrays_lie_in_the_frame_as_far_as_there_is_room(rng):
    """16 KiB are for the first that fit; small ones need not ask."""
    source = """
def kernel(x):
    a = np.empty((1024,), dtype=np.float64)
    b = np.empty((900,), dtype=np.float64)
    c = np.empty((512,), dtype=np.float64)
    d = np.empty((100,), dtype=np.float64)
    for i in range(100):
        a[i] = x[i]
        b[i] = 2.0 * x[i]
        c[i] = 3.0 * x[i]
        d[i] = 4.0 * x[i]
    s = 0.0
    for i in range(100):
        s += a[99 - i] * b[i] * c[99 - i] + d[i]
    return (s, )
"""
    x = rng.random(100)
    check(source, x)
    sizes = re.findall(r"alloca \[(\d+) x i8\]", llvm(source, types_of(x)))
    assert sizes == ["8192", "7200", "800"]


def test_each_of_many_arguments_is_checked_and_read(rng):
    names = [f"x{at}" for at in range(12)]
    source = f"""
def kernel({", ".join(names)}):
    s = np.float64(x0.shape[0] + 100 * x4.shape[1])
    for i in range(3):
        s += {" + ".join(f"x{at}[i, i]" if at % 4 == 0 else f"x{at}[i]" for at in range(12))}
    return (s, )
"""
    shapes = [(None, 3) if at % 8 == 0 else (3, None) if at == 4 else (3,) for at in range(12)]
    f = compiled(source, types=[ArgumentType(F, shape) for shape in shapes]).bind()
    given = [rng.normal(size=[n or 5 for n in shape]) for shape in shapes]
    diagonals = [x[[0, 1, 2], [0, 1, 2]] if x.ndim == 2 else x for x in given]
    np.testing.assert_allclose(f(*given)[0], 505 + np.sum(diagonals), rtol=1e-14)
    for at, (x, shape) in enumerate(zip(given, shapes, strict=True)):
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        text = rf"argument {at} of the kernel is not a contiguous .* shape \({wanted}\)"
        for wrong in (np.ones(4), x.astype("f4"), x[..., :2], x.tolist(), x.view(_Derived)):
            with pytest.raises(TypeError, match=text):
                f(*given[:at], wrong, *given[at + 1 :])
        total = f(*given[:at], x.view(np.memmap), *given[at + 1 :])[0]
        np.testing.assert_allclose(total, 505 + np.sum(diagonals), rtol=1e-14)


class _Derived(np.ndarray):
    pass


def test_arguments_that_are_not_what_the_code_takes(rng):
    f = compiled(SUM, types=[ArgumentType(F, (4,))]).bind()
    x = rng.normal(size=4)
    text = r"argument 0 of the kernel is not a contiguous array of dtype float64 and shape \(4\)"
    swapped = x.astype(">f8")
    for bad in (
        1.0, [1.0] * 4, x[:3], x[None], np.repeat(x, 2)[::2], x.astype("float32"),
        x.view(I), swapped, None, np.float64(2.0),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=text):
            f(bad)
    with pytest.raises(TypeError, match="takes 1 arrays in all"):
        f()
    with pytest.raises(TypeError, match="takes 1 arrays in all"):
        f(x, x)
    frozen = x.copy()
    frozen.flags.writeable = False
    assert f(frozen)[0] == f(x)[0]


def test_errors_of_the_source_are_raised_and_nothing_leaks(rng):
    source = """
def kernel(x):
    v = np.zeros((x.shape[0],), dtype=np.float64)
    w = np.zeros((x.shape[0] * 3,), dtype=np.float64)
    for i in range(x.shape[0]):
        if x[i] < 0.0:
            raise ValueError('below zero')
        if x[i] > 9.0:
            raise ValueError('above nine')
        if x[i] != x[i]:
            raise IndexError('above nine')
        v[i] = x[i] + w[i]
    return (v, )
"""
    f = compiled(source, np.zeros(1)).bind()
    x = rng.random(100_000)
    with pytest.raises(IndexError, match="above nine"):
        f(np.array([np.nan]))
    resource = pytest.importorskip("resource")
    for bad, text in ((-1.0, "below zero"), (10.0, "above nine")):
        y = x.copy()
        y[-1] = bad
        for _ in range(20):
            with pytest.raises(ValueError, match=text):
                f(y)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(300):
        f(x)
        with pytest.raises(ValueError, match="above nine"):
            f(y)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 30_000  # kilobytes; two arrays of every call would be 960,000


def test_references_are_counted(rng):
    f = compiled(SUM, np.zeros(1)).bind()
    x = rng.normal(size=5)
    before = sys.getrefcount(x)
    for _ in range(10):
        total, doubled = f(x)
    assert sys.getrefcount(x) == before
    assert sys.getrefcount(doubled) == 2
    bound = compiled(SUM, np.zeros(1)).bind((x,))
    assert bound()[0] == total
    assert sys.getrefcount(x) == before + 1
    del bound
    gc.collect()
    assert sys.getrefcount(x) == before


def test_a_kernel_lives_as_long_as_its_function():
    kernel = compiled(SUM, np.zeros(1))
    gone = weakref.ref(kernel)
    f = kernel.bind()
    del kernel
    gc.collect()
    assert gone() is not None
    assert f(np.ones(3))[0] == 3.0
    del f
    gc.collect()
    assert gone() is None


def test_bytes_and_back(rng):
    x = rng.normal(size=8)
    code = native_code(loops(SUM, types_of(x)), types_of(x))
    again = NativeCode.from_bytes(code.to_bytes())
    assert again == code
    assert NativeKernel(again).bind()(x)[0] == NativeKernel(code).bind()(x)[0]
    for bad in (b"", b"something else", code.to_bytes()[:40]):
        with pytest.raises(ValueError, match=r"."):
            NativeCode.from_bytes(bad)


def test_buffers_are_given_to_the_flat_function(rng):
    source = """
def kernel(x, y):
    v = np.zeros((x.shape[0],), dtype=np.float64)
    w = np.zeros((x.shape[0],), dtype=np.float64)
    s = 0.0
    for i in range(x.shape[0]):
        v[i] = x[i] * y[i]
        w[i] = -x[i]
        s += x[i]
    return (s, v, w, s > 0.0, )
"""
    x, y = rng.random(6), rng.normal(size=6)
    kernel = compiled(source, x, y)
    call = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3)(kernel.flat_address)
    total, product = np.zeros(()), np.zeros(6)
    closure = kernel.closure([x.shape], [y], n_results=2, first_condition=3)

    def run(array):
        arrays = np.array([array.ctypes.data], np.uint64)
        results = np.array([total.ctypes.data, product.ctypes.data], np.uint64)
        return call(arrays.ctypes.data, results.ctypes.data, closure.ctypes.data)

    assert run(x) == 0
    np.testing.assert_allclose(total, x.sum(), rtol=1e-14)
    np.testing.assert_array_equal(product, x * y)
    assert run(-x) == -1  # the condition is false


def test_the_lock_of_python_is_released():
    source = """
def kernel(x):
    s = 0.0
    for i in range(x.shape[0]):
        for j in range(200_000):
            s += math.sin(x[i] + j)
    return (s, )
"""
    x = np.zeros(200)
    f = compiled(source, x).bind()
    ticks = 0
    done = threading.Event()

    def work():
        f(x)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        ticks += 1
        done.wait(0.001)
    thread.join()
    assert ticks > 3


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("raise LookupError('text')", "an error of type LookupError"),
        ("y = np.empty((2,), dtype=np.float64)\n    y = x.copy()", "in several places"),
        ("z = 0\n    z = 1.5", "of types int64 and float64"),
        ("z = np.zeros((2,), dtype=np.complex128)", "complex128"),
    ],
)
def test_what_is_left_to_numba(lines, reason):
    source = f"def kernel(x):\n    {lines}\n    return (1.0, )\n"
    with pytest.raises(NotNative, match=reason):
        llvm(source, [ArgumentType(F, (None,))])


def test_inner_loops_are_vectorized():
    """The generated assembly of a sum of squares has instructions that add several numbers."""
    import platform

    from dimtensor.kernels.native.machine import assembly

    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("the names of the instructions are those of x86-64")
    source = """
def kernel(x, y):
    s = 0.0
    v = np.empty((x.shape[0],), dtype=np.float64)
    for i in range(x.shape[0]):
        d = x[i] - y[i]
        s += d * d
        v[i] = 2.0 * d
    return (s, v, )
"""
    text = assembly(llvm(source, [ArgumentType(F, (None,))] * 2))
    assert "subpd" in text
    assert "mulpd" in text or "fmadd231pd" in text or "fmadd213pd" in text


def test_the_order_of_sums():
    """Free where a loop only adds up, as written where a round waits for the one before."""
    text = llvm(SUM, [ArgumentType(F, (None,))])
    assert "fadd reassoc" in text
    source = """
def kernel(x):
    s = 0.0
    for i in range(x.shape[0]):
        t = x[i] * 0.5
        u = t + 1.0 + s * 0.9
        s = u
    total = 0.0
    for i in range(x.shape[0]):
        t = x[i] * 2.0
        total += t
    return (s, total, )
"""
    first, second = llvm(source, [ArgumentType(F, (None,))]).split("loop", 1)[1].split("after", 1)
    assert "reassoc" not in first
    assert "fadd reassoc" in second
    check(source, np.arange(5.0))


def test_failures_bring_no_addresses_along(rng):
    """Code that gives arrays back is one loop: its size does not grow with pairs of them."""
    many = 40
    lines = ["def kernel(x):", "    n0 = x.shape[0]"]
    for at in range(many):
        lines += [f"    a{at} = np.empty((n0,), dtype=np.float64)", "    for i in range(n0):"]
        lines += [f"        a{at}[i] = {f'a{at - 1}' if at else 'x'}[i] + {at}.0"]
    lines += ["    s = 0.0", "    for i in range(n0):", f"        s += a{many - 1}[i]"]
    source = "\n".join([*lines, "    return (s, )", ""])
    x = rng.normal(size=5)
    check(source, x)
    module, _ = optimized(llvm(source, types_of(x)))
    failures = [line for line in str(module).split("\n") if " phi ptr" in line]
    assert max((line.count("[") for line in failures), default=0) < many


@pytest.mark.parametrize(("nests", "copied"), [(4, True), (60, False)])
def test_many_loops_over_few_rows_stay_loops(rng, nests, copied):
    """LLVM may write out the loops over rows of a few nests; of many it would take very long."""
    lines = ["def kernel(x):", "    v = np.empty((5,), dtype=np.float64)"]
    for at in range(nests):
        lines += [f"    for i{at} in range(5):", f"        s{at} = 0.0"]
        lines += [f"        for j{at} in range(x.shape[1]):"]
        lines += [f"            t{at} = x[i{at}, j{at}]"]
        lines += [f"            s{at} += t{at} * {at}.0", f"        v[i{at}] = s{at}"]
    source = "\n".join([*lines, "    return (v, )", ""])
    x = rng.normal(size=(5, 7))
    check(source, x)
    hinted = "llvm.loop.unroll.disable" in llvm(source, types_of(x))
    assert hinted == (not copied)


FAILING = """
def kernel(x, bad):
    v = np.empty((x.shape[0],), dtype=np.float64)
    if bad[0] == 0:
        for i in range(x.shape[0]):
            v[i] = 2.0 * x[i]
    else:
        for j in range(x.shape[0]):
            v[j] = {value}
    return (v, )
"""


@pytest.mark.parametrize("value", ["np.nan", "3.0 * x[j]"])
@pytest.mark.parametrize("rare", [False, True])
def test_no_vectors_are_made_of_loops_that_hardly_ever_run(rng, value, rare):
    source, x = FAILING.format(value=value), rng.normal(size=7)
    types = types_of(x, np.zeros(1))
    function = loops(source, types)
    body = [each.replace(rare=rare) if isinstance(each, If) else each for each in function.body]
    function = function.replace(body=tuple(body))
    text = translated(function, types).text
    lines = text.split("\n")
    off = [line.split()[0] for line in lines if "llvm.loop.vectorize.enable" in line]
    hinted = [line for line in lines if "= distinct" in line and any(f", {x}" in line for x in off)]
    assert len(hinted) == (rare or value == "np.nan")
    f = NativeKernel(native_code(function, types)).bind()
    np.testing.assert_array_equal(f(x, np.zeros(1))[0], 2 * x)
    np.testing.assert_array_equal(f(x, np.ones(1))[0], x * np.nan if value == "np.nan" else 3 * x)


COUNTED = """
def kernel(limit, rounds):
    s = 0.0
    while s < limit[0]:
        s = s + 1.0
    rounds[0] = s
    return (s, )
"""


class Stop(Exception):
    """What a handler of signals raises."""


@pytest.fixture
def alarm():
    """Have Python's main thread raise an error in some seconds."""

    def stop(number, frame):
        raise Stop("enough")

    before = signal.signal(signal.SIGALRM, stop)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
def test_a_loop_without_an_end_can_be_interrupted(alarm):
    """The error is that of the handler: `KeyboardInterrupt`, where the user stops a cell."""
    limit, rounds = np.array([4e9]), np.zeros(1)
    run = compiled(COUNTED, limit, rounds).bind()

    def interrupted():
        alarm(0.02)
        run(limit, rounds)

    with pytest.raises(Stop, match="enough"):
        interrupted()
    assert rounds[0] == 0.0  # without a look the loop comes to its end, and the error after it
    limit[0] = 3e4
    assert run(limit, rounds) == (3e4,)


def test_another_thread_is_not_interrupted(alarm):
    limit, rounds, found = np.array([2e7]), np.zeros(1), []
    run = compiled(COUNTED, limit, rounds).bind()
    thread = threading.Thread(target=lambda: found.append(run(limit, rounds)))

    def interrupted():
        alarm(0.002)
        threading.Event().wait(10.0)

    thread.start()
    with pytest.raises(Stop, match="enough"):
        interrupted()
    thread.join()
    assert found == [(2e7,)]


def test_only_loops_that_nobody_can_count_listen():
    assert "@interrupted" in llvm(COUNTED, [ArgumentType(F, (1,))] * 2)
    assert "@interrupted" not in llvm(SUM, [ArgumentType(F, (None,))])
