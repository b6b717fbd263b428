"""Calls in slices on threads: value and gradients of four densities of many observations.

A line is a contender of a case: ``whole`` (no threads), ``threads-1``, ``threads-2`` and so on up
to the cores, and ``hand-k``, numba's loop of slices by ``prange`` on k threads around the loop that
is written by hand for the case. ``us`` is by the clock of the wall, the fastest of interleaved
samples; ``ratio`` is by that of ``whole``, the median of rounds. On a machine that does other work
they say little: ``load`` is its load average.

``slices`` is the number of slices, ``slowest_us`` the time of the slowest one, ``rest_us`` that of
what is counted once, and ``tree_us`` that of the tree of additions, each on one thread: with as
many cores as slices a call cannot take less than their sum.
"""

import importlib
import os
import time
from functools import partial

import numpy as np

SIZES = {"radon": 1_000_000, "effect": 100, "glm": 100_000, "mixture": 100_000}
# What the loops by hand read beside their arguments, in order.
DATA = {"radon": ("county", "uranium", "floor", "y"), "glm": ("tiles", "y"), "mixture": ("y",)}
CONTENDERS = ()
ROUNDS, SAMPLES = 15, 5


def _loop_of(call):
    """Jitted loop in a closure of a case's contender by hand, with the data that it reads."""
    cells = dict(zip(call.__code__.co_freevars, call.__closure__, strict=True))
    return {name: cell.cell_contents for name, cell in cells.items()}


def _hand(case, p, n_threads):
    """Loop of slices on threads; what is not a sum over observations is counted once."""
    import numba

    if case == "effect":
        return _hand_effect(p)
    call, arguments = importlib.import_module(f"cases.{case}").hand(p)
    inside = _loop_of(call)
    f, data = inside["f"], tuple(inside[name] for name in DATA[case])
    names = [f"a{at}" for at in range(len(arguments))]
    arrays = [f"d{at}" for at in range(len(data))]
    # an array without axes would be a number inside of the loop
    given = [
        name if np.ndim(x) else f"{name}.reshape(())"
        for name, x in zip(names, arguments, strict=True)
    ]
    unit = 128 if case == "glm" else 1  # its tiles are blocks of 128 rows
    cut = ", ".join(
        f"{name}[start:stop]" if x.ndim != 3 else f"{name}[start // {unit}:-(-stop // {unit})]"
        for name, x in zip(arrays, data, strict=True)
    )
    shapes = [np.shape(x) for x in call(*arguments)]
    put, at = [], 0
    for number, shape in enumerate(shapes):
        size = int(np.prod(shape))
        put.append(f"out[s, {at}] = r[{number}]" if not shape else
                   f"out[s, {at}:{at + size}] = r[{number}]")  # fmt: skip
        at += size
    source = f"""
def g({", ".join([*names, *arrays])}):
    n, out = {arrays[-1]}.shape[0], np.empty((parts + 1, {at}))
    for s in numba.prange(parts + 1):  # the last one has no observations
        start, stop = min(s, parts) * n // parts, min(s + 1, parts) * n // parts
        if unit > 1:
            start = start // unit * unit
            stop = n if s >= parts - 1 else stop // unit * unit
            start = n if s == parts else start
        r = f({", ".join(given)}, {cut})
        {"; ".join(put)}
    return out[:parts].sum(axis=0) - (parts - 1) * out[parts]
"""
    scope = {"np": np, "numba": numba, "f": f, "parts": n_threads, "unit": unit}
    exec(source, scope)
    g = numba.njit(parallel=True)(scope["g"])
    return lambda *args: (g(*(np.atleast_1d(x) for x in args), *data),)


def _hand_effect(p):
    import math

    import numba

    y = p["y"]
    nk, ni, nj = y.shape
    constant = 0.5 * math.log(2 * math.pi)

    @numba.njit(parallel=True, fastmath={"reassoc", "contract", "nsz"})
    def f(a, b, c, sigma, y):
        gas, gbs, gc, totals = np.empty((nk, ni)), np.zeros((nk, nj)), np.empty(nk), np.empty(nk)
        sd = sigma[()]
        w = 1.0 / (sd * sd)
        for k in numba.prange(nk):
            row, total, gb = 0.0, 0.0, gbs[k]
            for i in range(ni):
                base, s, q = a[i] + c[k], 0.0, 0.0
                for j in range(nj):
                    d = y[k, i, j] - (base + b[j])
                    s += d
                    q += d * d
                    gb[j] += d
                gas[k, i] = s
                row += s
                total += q
            gc[k], totals[k] = row, total
        total, n = totals.sum(), nk * ni * nj
        value = -0.5 * total * w - n * (math.log(sd) + constant)
        ga, gb = gas.sum(axis=0), gbs.sum(axis=0)
        return value, ga * w, gb * w, gc * w, total * w / sd - n / sd

    return lambda *args: f(*args, y)


def _seconds(call, number):
    started = time.perf_counter()
    for _ in range(number):
        call()
    return (time.perf_counter() - started) / number


def _flat(results):
    return np.concatenate([np.ravel(x) for x in results])


def _parts(call):
    """Seconds of the slowest slice, of what is counted once, and of the tree."""
    (frame,) = call._frames.values()
    run = getattr(frame._call, "_evaluate", None)
    if run is None:  # the call is not cut
        return 1, 0.0, 0.0, 0.0
    from dimtensor.kernels.native.teams.team import Batch

    arrays = [np.asarray(x) for x in call.arguments]
    slices = zip(run._shares, run._ends, strict=True)
    calls = [partial(run._held.rest, *arrays), *(partial(run._share, *s, arrays) for s in slices)]
    first, *slices = [min(_seconds(each, 3) for _ in range(5)) for each in calls]
    whole = run._machine._new_buffers().batch
    one = Batch(np.empty((0, 4), np.uint64), whole.kept, whole.total)  # no call: only the sum
    tree = min(_seconds(partial(run._pool.compute, one), 3) for _ in range(5))
    return len(slices), max(slices), first, tree


def measure():
    cores = len(os.sched_getaffinity(0))
    for case, n in SIZES.items():
        module = importlib.import_module(f"cases.{case}")
        problem = module.problem(n)
        whole, arguments = module._dimtensor(problem, "native")
        calls = {"whole": whole}
        numbers = [k for k in (1, 2, 4, 8, 16, 32, 64) if k <= max(2, cores)]
        for k in numbers:
            calls[f"threads-{k}"] = module._dimtensor(problem, "native", threads=k)[0]
        hands = {f"hand-{k}": _hand(case, problem, k) for k in numbers[1:]}
        expected = _flat(whole(*arguments))
        bits = _flat(calls["threads-1"](*arguments))
        for who, call in {**calls, **hands}.items():
            found = _flat(call(*arguments))
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7, err_msg=who)
            if who.startswith("threads"):
                np.testing.assert_array_equal(found, bits)
        taken = {who: [] for who in (*calls, *hands)}
        for _ in range(ROUNDS):
            for who, call in {**calls, **hands}.items():
                if who.startswith("hand"):
                    import numba

                    numba.set_num_threads(min(int(who[5:]), numba.config.NUMBA_NUM_THREADS))
                taken[who].append(_seconds(partial(call, *arguments), SAMPLES))
        one = calls["threads-1"]
        one.arguments = arguments
        slices, slowest, rest, tree = _parts(one)
        for who, seconds in taken.items():
            ratios = np.array(seconds) / np.array(taken["whole"])
            line = {"case": "threads", "of": case, "n": n, "who": who}
            line |= {
                "us": round(min(seconds) * 1e6, 1),
                "ratio": round(float(np.median(ratios)), 3),
            }
            if who == "threads-1":
                line |= {"slices": slices}
                for name, each in [("slowest", slowest), ("rest", rest), ("tree", tree)]:
                    line[f"{name}_us"] = round(each * 1e6, 1)
            yield line | {"cores": cores, "load": round(os.getloadavg()[0], 1)}
