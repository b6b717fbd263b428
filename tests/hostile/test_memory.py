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
    for k in range(12):
        compile({number} - 9)
    before = used()
    for k in range(25):
        compile({number})
    print((used() - before) // 25)
    """,
        env={"DIMTENSOR_CACHE": "0"},
    ).ok()
    assert int(grown) < 12_000


_SIZES = """
    import numpy as np

    import dimtensor as dt

    backend = BACKEND
    a, b, c = (dt.Dim(name) for name in "abc")
    x, y, z = (dt.tensor(name, dims=d) for name, d in zip("xyz", (a, b, c)))
    meeting = dt.where(x > 0, y, z)
    million, few = np.ones(1_200_000), np.ones(3)
    huge, vast = dt.Dim("huge", length=2**62), dt.Dim("vast", length=2**31)


    def tried(name, inputs, make, *values):
        try:
            output = make()
            for call in ("labeled", "positional"):
                f = dt.function(inputs, output, backend=backend)
                try:
                    (f if call == "labeled" else f.positional)(*values)
                    print(f"{name} {call}: no error")
                except dt.MemoryLimitError as error:
                    text = str(error)
                    whole = "positions" in text or ("line:" in text and "lengths:" in text)
                    print(f"{name} {call}: {'held' if whole else text}")
        except Exception as error:
            print(f"{name}: {type(error).__name__} {error}")


    for n in (1_200_000, 1_600_000, 2_700_000):
        long = np.ones(n)
        tried(f"where {n}", [x, y, z], lambda: meeting, long, million, million)
        tried(f"cumsum {n}", [x, y, z], lambda: meeting.cumsum(a).sum(), long, million, million)
        tried(
            f"cumprod {n}", [x, y, z], lambda: meeting.cumprod(b).max(), long, million, million
        )
        tried(
            f"float32 {n}",
            [x, y, z],
            lambda: meeting.astype("float32").cumsum(c).sum(),
            long, long, long,
        )
        tried(
            f"gradient {n}",
            [x, y, z],
            lambda: dt.grad((meeting.cumsum(a) ** 2).sum(), y),
            long, million, million,
        )
        tried(
            f"joined {n}",
            [x, y, z],
            lambda: dt.concat([meeting, meeting], a).cumsum(b).sum(),
            long, million, million,
        )
    for power in (58, 61, 62):
        length = dt.Dim("length", length=2**power)
        tried(f"zeros 2^{power}", [], lambda: dt.zeros(length))
        tried(f"cumsum 2^{power}", [x], lambda: (dt.ones(length) + x).cumsum(length).sum(), few)
        tried(f"pad 2^{power}", [x], lambda: x.pad(a=(2**power, 0)), few)
        tried(f"pad after 2^{power}", [x], lambda: x.pad(a=(0, 2**power)).cumsum().sum(), few)
    tried("eye", [], lambda: dt.eye(vast))
    tried("eye and a sum", [x], lambda: dt.eye(vast) + x, few)
    tried("too many positions", [x], lambda: x.pad(a=(2**62, 0)).sum(), few)
    tried("more positions than signed", [x], lambda: x.pad(a=(2**62, 2**62)).sum(), few)
    tried("more positions twice", [x], lambda: x.pad(a=(2**62, 2**62)).cumsum().sum(), few)
"""


@pytest.mark.parametrize("backend", ["python", "numba", "jax"])
def test_sizes_beyond_any_memory_are_errors(backend, faults):
    ended = run(_SIZES.replace("BACKEND", repr(backend)), memory=1 << 34, timeout=300)
    assert not ended.crashed, ended.err[-2000:]
    for line in ended.ok().splitlines():
        name, _, found = line.partition(": ")
        faults.count(f"{backend} {name}", found == "held", found)


_ZEROS = """
    import numpy as np

    import dimtensor as dt

    x, y, z = (dt.tensor(name, dims=dt.Dim(dim)) for name, dim in zip("xyz", "abc"))
    huge, vast = (dt.zeros(dt.Dim(name, length=2**62)) for name in ("huge", "vast"))
    meeting = dt.where(x > 0, y, z)
    none, long = np.ones(0), np.ones(1_200_000)
    cases = {
        "a sum": ([x], (x + huge + vast).sum()),
        "a temporary": ([x], (x + huge + vast).cumsum("huge").sum()),
        "two temporaries": ([x], (x + huge + vast).cumsum("vast").cumsum("a").sum()),
        "dims of a call": ([x, y, z], meeting.cumsum("a").sum()),
        "an inner dim of a call": ([x, y, z], meeting.cumsum("b").cumsum("c").sum()),
        "a gradient": ([x, y, z], dt.grad((meeting.cumsum("a") ** 2).sum(), x).sum()),
    }
    for name, (inputs, output) in cases.items():
        found = dt.function(inputs, output)(*[none, long, long][: len(inputs)]).item()
        print(f"{name}: {'held' if found == 0 else found}")
"""


def test_lengths_of_zero_beside_huge_ones(faults):
    """Machine code has arrays without elements that neither NumPy nor XLA has."""
    _count(faults, run(_ZEROS, memory=1 << 33, timeout=60))


@pytest.mark.parametrize("backend", ["python", "numba", "jax"])
def test_memory_that_the_system_refuses(backend, faults):
    ended = run(
        f"""
        import numpy as np

        import dimtensor as dt

        x, y = dt.tensor("x", dims=dt.Dim("a")), dt.tensor("y", dims=dt.Dim("b"))
        outputs = [dt.exp(x + y), dt.exp(x + y).cumsum("a").sum(), (x * y).cumsum("b").cumsum("a")]
        for k, output in enumerate(outputs):
            for n in (40_000, 60_000, 100_000):
                f = dt.function([x, y], output, backend={backend!r})
                try:
                    f(np.ones(n), np.ones(n))
                except dt.MemoryLimitError as error:
                    named = "lengths: a=" in str(error)
                    print(f"output {{k}} of {{n}}: {{'held' if named else error}}")
        """,
        memory=12 << 30,
    )
    _count(faults, ended)


_KERNELS = """
    import ctypes
    import gc
    import sys

    import numpy as np

    import dimtensor as dt
    from dimtensor.kernels.native.linking import symbols

    libc, asked, fails, kept = ctypes.CDLL(None), [0], [-1], []


    def failing(name, *types):
        # count the calls of a function for memory, one of which fails
        original = getattr(libc, name)
        original.restype, original.argtypes = ctypes.c_void_p, types

        def call(*sizes):
            asked[0] += 1
            if len(sizes) == 2 and sizes[1] % sizes[0]:
                return 0  # `aligned_alloc` of a size that is no multiple of the alignment
            return 0 if asked[0] - 1 == fails[0] else original(*sizes)

        kept.append(ctypes.CFUNCTYPE(ctypes.c_void_p, *types)(call))
        symbols.add(name, ctypes.cast(kept[-1], ctypes.c_void_p).value)


    symbols.library()
    if MALLOC:
        failing("malloc", ctypes.c_size_t)
        failing("aligned_alloc", ctypes.c_size_t, ctypes.c_size_t)

    d, e = dt.Dim("d"), dt.Dim("e")
    x, y, n = dt.tensor("x", dims=d), dt.tensor("y", dims=e), dt.scalar("n", dtype="int64")
    single = dt.tensor("single", dims=d, dtype="float32")
    group = dt.Dim("group", length=3)
    of = dt.tensor("of", dims=d, categories=group)
    m = dt.exp(x) * y
    v, w = np.linspace(0.1, 1.0, 6), np.linspace(1.0, 2.0, 4)
    v32, big = v.astype("float32"), np.linspace(0.0, 1.0, 400_000)
    draws = dt.Dim("draws", length=5000)
    drawn, _ = dt.random.generator(1).normal(n * 0.5, 1.0, dims=draws)


    def decay(state, element):
        state = dt.tanh(state * 0.5 + element)
        return state, state * element


    matrix = dt.eye(d, d.rename()) * 9.0 + x
    KERNELS = {
        "a float": ([x], [x.sum()], v),
        "an integer": ([x], [(x > 0.2).sum() + 10**9], v),
        "a truth value": ([x], [(x > 0.2).all()], v),
        "a float32": ([single], [single.sum()], v32),
        "two of float32": ([single], [single.sum(), single.max()], v32),
        "an array": ([x], [x * 2], v),
        "truth values": ([x], [x > 0.2], v),
        "a large array": ([x], [x * 2], big),
        "a gradient": ([x, y], [dt.grad((m.cumsum(d) ** 2).sum(), x)], v, w),
        "many": (
            [x, y],
            [x * 2, x.sum(), m, (x > 0).all(), (x > 1).sum() + 10**9, y.cumsum(e), m.sum(d)],
            v, w,
        ),
        "float32 among arrays": (
            [single, y], [single * 2, single.sum(), y + 1, single.max()], v32, w,
        ),
        "temporaries": ([x, y], [m.cumsum(d).cumsum(e).sum(), x + 1], v, w),
        "large temporaries": ([x, y], [m.cumsum(d).cumsum(e).sum()], big[:50_000], w),
        "a factor": ([x], [dt.linalg.cholesky(matrix)], v),
        "an eigenvalue": ([x], [dt.linalg.eigh(matrix)[0].sum()], v),
        "a loop": ([x], [*dt.scan(decay, 0.0, x, dim=d)], v),
        "a loop's gradient": ([x], [dt.grad(dt.scan(decay, 0.0, x, dim=d)[1].sum(), x)], v),
        "a while loop": ([n], [dt.while_loop(lambda s: s < n, lambda s: s * 2 + 1, 1, 99)], 50),
        "sums of groups": ([x, of], [x.groupby(of).sum()], v, np.array([0, 1, 2, 0, 1, 2])),
        "a median": ([x], [x.median()], v),
        "a generator": ([n], [drawn.sum(), drawn], 2),
        "joined": ([x], [dt.concat([x, x * 2], d).cumsum()], v),
        "a selection": ([x], [x[x > 0.5]], v),
    }


    def prepared(inputs, outputs, *values):
        f = dt.function(inputs, outputs)
        f(*values)
        assert f.path == "machine code", f.path
        positional = f.positional
        dtypes = positional._dtypes
        arrays = [np.require(one, t, "CA").reshape(np.shape(one)) for one, t in zip(values, dtypes)]
        return positional._call, arrays


    class Allocated(ctypes.Structure):
        _fields_ = [(f"f{k}", ctypes.c_size_t) for k in range(10)]


    libc.mallinfo2.restype = Allocated


    def used():
        dt.clear_caches()
        gc.collect()
        return libc.mallinfo2().f7 + libc.mallinfo2().f4


    def same(found, expected):
        return len(found) == len(expected) and all(
            np.array_equal(np.asarray(a), b) for a, b in zip(found, expected)
        )
"""

_PYTHON = """
    import _testcapi

    held = []


    def drained():
        # objects that Python would make without asking for memory
        sizes = [n for n in range(1, 20) for _ in range(40)]
        held.append([k * 1.5 for k in range(200)])
        held.append([(None,) * n for n in sizes])
        held.append([np.empty((1,) * n) for n in range(8) for _ in range(30)])
        held.append([10**9 + k for k in range(200)])


    def attempt(call, arrays, k):
        drained()
        error = None
        _testcapi.set_nomemory(k, k + 1)
        try:
            found = call(*arrays)
        except BaseException as raised:
            found, error = None, type(raised)
        finally:
            _testcapi.remove_mem_hooks()
        return found, error


    for name, case in KERNELS.items():
        call, arrays = prepared(*case)
        expected = [np.array(one) for one in call(*arrays)]
        for k in range(100):
            found, error = attempt(call, arrays, k)
            if error is None:
                print(f"{name}, nothing fails: {'held' if same(found, expected) else found}")
                break
            fine = error is MemoryError and same(call(*arrays), expected)
            print(f"{name}, object {k}: {'held' if fine else error}")
        for wrong in (["text"] * len(arrays), [None] * len(arrays), arrays[1:], [*arrays, 1]):
            for k in range(3):
                found, error = attempt(call, wrong, k)
                fine = error in (TypeError, MemoryError)
                print(f"{name}, {str(wrong)[:20]!r} {k}: {'held' if fine else error}")
"""

_MALLOC = """
    for name, case in KERNELS.items():
        call, arrays = prepared(*case)
        dt.clear_caches()
        expected = [np.array(one) for one in call(*arrays)]
        k = 0
        while True:
            dt.clear_caches()
            asked[0], fails[0] = 0, k
            try:
                found = call(*arrays)
            except MemoryError:
                fails[0] = -1
                fine = same(call(*arrays), expected)
                print(f"{name}, block {k}: {'held' if fine else 'another result'}")
                k += 1
                continue
            finally:
                fails[0] = -1
            print(f"{name}, no block fails: {'held' if same(found, expected) else found}")
            break
"""

_LEAKS = """
    import _testcapi

    call, arrays = prepared(*KERNELS["many"])
    expected = [np.array(one) for one in call(*arrays)]
    references = [sys.getrefcount(one) for one in arrays]


    def failures(k, times):
        missing = _testcapi.set_nomemory, _testcapi.remove_mem_hooks
        count = 0
        for _ in range(times):
            missing[0](k, k + 1)
            try:
                call(*arrays)
            except MemoryError:
                count += 1
            finally:
                missing[1]()
        return count


    for k in range(3):
        failures(k, 2000)
        before = used()
        count = failures(k, 100_000 if k == 0 else 10_000)
        grown = used() - before
        fine = count and grown < 100_000
        print(f"object {k}: {'held' if fine else f'{count} failures, {grown} bytes'}")
    now = [sys.getrefcount(one) for one in arrays]
    print(f"references: {'held' if now == references else now}")
    print(f"results: {'held' if same(call(*arrays), expected) else 'others'}")
"""


def _count(faults, ended) -> None:
    assert not ended.crashed, ended.out[-500:] + ended.err[-2000:]
    for line in ended.ok().splitlines():
        name, _, found = line.rpartition(": ")
        faults.count(name, found == "held", found)


def test_objects_that_cannot_be_made(faults):
    pytest.importorskip("_testcapi")
    _count(faults, run(_KERNELS.replace("MALLOC", "False") + _PYTHON))


def test_blocks_that_cannot_be_had(faults):
    _count(faults, run(_KERNELS.replace("MALLOC", "True") + _MALLOC))


def test_failures_leave_nothing_behind(faults):
    pytest.importorskip("_testcapi")
    _count(faults, run(_KERNELS.replace("MALLOC", "False") + _LEAKS))
