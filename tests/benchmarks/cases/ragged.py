"""Programs along a ragged dim: 10⁴ parents with 1 to 200 positions, value and gradient.

``sum`` has the squares of weighted sums of each parent, ``softmax`` and ``cumsum`` are along the
positions of each parent, and ``forward`` is the forward algorithm of a hidden Markov model of three
states, one chain for each parent. ``hand`` is a loop over the parents around loops over their
positions; ``jax`` pads to a rectangle of 200 columns. ``us`` are microseconds of the processor, the
median of some rounds in turns, ``ratio`` is that to ``hand``. Results agree to 1e-9 first.

``python cases/ragged.py softmax`` prints the lines of one program.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

PARENTS, LONGEST = 10_000, 200
PROGRAMS = ("sum", "softmax", "cumsum", "forward")
CONTENDERS = ("hand", "dimtensor_numba", "dimtensor_jax", "jax")
ROUNDS = 15
K = 3
LOG_2PI = np.log(2 * np.pi)
FAST = {"reassoc", "contract", "nsz"}


def problem(program, parents=PARENTS):
    rng = np.random.default_rng(4)
    sizes = rng.integers(1, LONGEST + 1, parents)
    n = int(sizes.sum())
    found = {"sizes": sizes, "ends": np.cumsum(sizes), "w": rng.normal(size=n)}
    if program == "forward":
        found["y"] = rng.normal(size=n)
        arguments = (rng.normal(size=(K, K)), np.array([-1.0, 0.0, 1.2]), np.array([0.7, 1.0, 0.8]))
    else:
        arguments = (rng.normal(size=n),)
    return {**found, "arguments": arguments}


# -- by hand ---------------------------------------------------------------------------------------


def hand(program, p):
    functions = {
        "sum": _hand_sum,
        "softmax": _hand_softmax,
        "cumsum": _hand_cumsum,
        "forward": _hand_forward,
    }
    f = functions[program]()
    if program == "forward":
        return lambda *arguments: f(*arguments, p["y"], p["ends"])
    ends = p["ends"].astype(np.uint64)  # signed positions might count from the end
    # NumPy asks for huge pages, numba does not
    return lambda x: f(x, p["w"], ends, np.empty_like(x))


def _hand_sum():
    import numba

    @numba.njit(fastmath=FAST)
    def f(x, w, ends, out):
        value, start = 0.0, np.uint64(0)
        for p in range(ends.shape[0]):
            stop, total = ends[p], 0.0
            for i in range(start, stop):
                total += w[i] * x[i]
            value += total * total
            twice = 2.0 * total
            for i in range(start, stop):
                out[i] = w[i] * twice
            start = stop
        return value, out

    return f


def _hand_softmax():
    import numba

    from cases.vectors import exp

    @numba.njit(fastmath={*FAST, "nnan"}, error_model="numpy")
    def f(x, w, ends, out):
        value, start = 0.0, np.uint64(0)
        for p in range(ends.shape[0]):
            stop, high, total, dot = ends[p], -np.inf, 0.0, 0.0
            for i in range(start, stop):
                high = max(high, x[i])
            for i in range(start, stop):
                e = exp(x[i] - high)
                out[i] = e
                total += e
                dot += w[i] * e
            scale = 1.0 / total
            dot *= scale
            value += dot
            for i in range(start, stop):
                out[i] = out[i] * scale * (w[i] - dot)
            start = stop
        return value, out

    return f


def _hand_cumsum():
    import numba

    @numba.njit(fastmath={"contract", "nsz"})
    def f(x, w, ends, out):
        value, start = 0.0, np.uint64(0)
        for p in range(ends.shape[0]):
            stop, total = ends[p], 0.0
            for i in range(start, stop):
                total += x[i]
                weighted = w[i] * total
                value += weighted * total
                out[i] = 2.0 * weighted
            back = 0.0
            for k in range(stop - start):
                i = stop - np.uint64(1) - k
                back += out[i]
                out[i] = back
            start = stop
        return value, out

    return f


def _hand_forward():
    import math

    import numba

    from cases.vectors import exp

    @numba.njit(fastmath=FAST, error_model="numpy")
    def f(logit, mean, sd, y, ends):
        columns = np.empty((K, K))
        for j in range(K):
            for i in range(K):
                columns[i, j] = math.exp(logit[i, j])
            columns[:, j] /= columns[:, j].sum()
        g_columns, g_mean, g_sd = np.zeros((K, K)), np.zeros(K), np.zeros(K)
        w, c = 1.0 / sd, -np.log(sd)
        like, before, scale = np.empty((LONGEST, K)), np.empty((LONGEST, K)), np.empty(LONGEST)
        value, start = -0.5 * y.shape[0] * LOG_2PI, 0
        for p in range(ends.shape[0]):
            n = ends[p] - start
            for t in range(n):
                r = y[start + t]
                z0, z1, z2 = (r - mean[0]) * w[0], (r - mean[1]) * w[1], (r - mean[2]) * w[2]
                l0, l1, l2 = c[0] - 0.5 * z0 * z0, c[1] - 0.5 * z1 * z1, c[2] - 0.5 * z2 * z2
                shift = max(max(l0, l1), l2)
                like[t, 0], like[t, 1], like[t, 2] = (
                    exp(l0 - shift),
                    exp(l1 - shift),
                    exp(l2 - shift),
                )
                value += shift
            a0 = a1 = a2 = 1.0 / K
            for t in range(n):
                before[t, 0], before[t, 1], before[t, 2] = a0, a1, a2
                b0 = (columns[0, 0] * a0 + columns[0, 1] * a1 + columns[0, 2] * a2) * like[t, 0]
                b1 = (columns[1, 0] * a0 + columns[1, 1] * a1 + columns[1, 2] * a2) * like[t, 1]
                b2 = (columns[2, 0] * a0 + columns[2, 1] * a1 + columns[2, 2] * a2) * like[t, 2]
                total = b0 + b1 + b2
                s = 1.0 / total
                scale[t] = s
                a0, a1, a2 = b0 * s, b1 * s, b2 * s
            product = 1.0
            for t in range(n):
                product *= scale[t]
                if product > 1e200 or t == n - 1:
                    value -= math.log(product)
                    product = 1.0
            d0 = d1 = d2 = 1.0
            for t in range(n - 1, -1, -1):
                s = scale[t]
                a0, a1, a2 = before[t, 0], before[t, 1], before[t, 2]
                e0, e1, e2 = d0 * like[t, 0] * s, d1 * like[t, 1] * s, d2 * like[t, 2] * s
                e = (e0, e1, e2)
                for k in range(K):
                    g_columns[k, 0] += e[k] * a0
                    g_columns[k, 1] += e[k] * a1
                    g_columns[k, 2] += e[k] * a2
                    m = (columns[k, 0] * a0 + columns[k, 1] * a1 + columns[k, 2] * a2) * e[k]
                    z = (y[start + t] - mean[k]) * w[k]
                    g_mean[k] += m * z * w[k]
                    g_sd[k] += m * (z * z - 1.0) * w[k]
                d0 = columns[0, 0] * e0 + columns[1, 0] * e1 + columns[2, 0] * e2
                d1 = columns[0, 1] * e0 + columns[1, 1] * e1 + columns[2, 1] * e2
                d2 = columns[0, 2] * e0 + columns[1, 2] * e1 + columns[2, 2] * e2
            start += n
        g_logit = np.empty((K, K))
        for j in range(K):
            inner = (columns[:, j] * g_columns[:, j]).sum()
            for i in range(K):
                g_logit[i, j] = columns[i, j] * (g_columns[i, j] - inner)
        return value, g_logit, g_mean, g_sd

    return f


# -- dimtensor -------------------------------------------------------------------------------------


def _dimtensor(program, p, backend):
    import dimtensor as dt
    from cases.axes import as_written

    parent = dt.Dim("parent", length=len(p["sizes"]))
    position = dt.ragged("position", within=parent, lengths=p["sizes"])
    if program != "forward":
        x = dt.tensor("x", dims=position)
        w = dt.data(p["w"], dims=position, name="w")
        if program == "sum":
            value = ((w * x).sum(position) ** 2).sum()
        elif program == "softmax":
            value = (w * x.softmax(position)).sum()
        else:
            value = (w * x.cumsum(position) ** 2).sum()
        f = dt.function([x], [value, dt.grad(value, x)], backend=backend)
        return f.positional
    state, into = dt.Dim("state", length=K), dt.Dim("into", length=K)
    y = dt.data(p["y"], dims=position, name="y")
    logit = dt.tensor("logit", dims=[into, state])
    mean, sd = dt.tensor("mean", dims=state), dt.tensor("sd", dims=state)
    columns = dt.softmax(logit, into)
    log_likelihood = -0.5 * ((y - mean) / sd) ** 2 - dt.log(sd)
    top = dt.stop_gradient(log_likelihood.max(state))

    def step(before, likelihood):
        after = dt.dot(columns, before, dim=state).rename({into: state}) * likelihood
        total = after.sum(state)
        return after / total, total

    likelihood = dt.exp(log_likelihood - top)
    _, scale = dt.scan(step, dt.full(state, 1.0 / K), likelihood, dim=position)
    value = (dt.log(scale) + top - 0.5 * LOG_2PI).sum()
    inputs = [logit, mean, sd]
    f = dt.function(inputs, [value, *dt.grad(value, inputs)], backend=backend)
    return as_written(f, [(into, state), (state,), (state,)], p["arguments"])[0]


def dimtensor_numba(program, p):
    return _dimtensor(program, p, "numba")


def dimtensor_jax(program, p):
    return _dimtensor(program, p, "jax")


# -- padded ----------------------------------------------------------------------------------------


def jax(program, p):
    import jax
    import jax.numpy as jnp

    sizes = p["sizes"]
    mask = jnp.asarray(np.arange(LONGEST) < sizes[:, None])
    number = np.concatenate([np.arange(n) for n in sizes])
    place = jnp.asarray(np.repeat(np.arange(len(sizes)), sizes) * LONGEST + number)

    def padded(x):
        return jnp.zeros(mask.size, x.dtype).at[place].set(x).reshape(mask.shape)

    def rectangle(x, w):
        x = padded(x)
        if program == "sum":
            return jnp.sum(jnp.sum(w * x, axis=1) ** 2)
        if program == "softmax":
            return jnp.sum(w * jax.nn.softmax(jnp.where(mask, x, -jnp.inf), axis=1))
        return jnp.sum(w * jnp.cumsum(x, axis=1) ** 2)

    def forward(logit, mean, sd, y):
        columns = jax.nn.softmax(logit, axis=0)
        log_likelihood = -0.5 * ((y[..., None] - mean) / sd) ** 2 - jnp.log(sd)
        top = jax.lax.stop_gradient(jnp.max(log_likelihood, axis=-1, keepdims=True))

        def step(before, given):
            likelihood, here = given
            after = (before @ columns.T) * likelihood
            total = jnp.sum(after, axis=1, keepdims=True)
            after = jnp.where(here[:, None], after / total, before)
            return after, jnp.where(here, jnp.log(total[:, 0]), 0.0)

        likelihood = jnp.swapaxes(jnp.exp(log_likelihood - top), 0, 1)
        start = jnp.full((mask.shape[0], K), 1.0 / K)
        _, scale = jax.lax.scan(step, start, (likelihood, mask.T))
        return jnp.sum(scale) + jnp.sum(jnp.where(mask, top[..., 0] - 0.5 * LOG_2PI, 0.0))

    data = padded(jnp.asarray(p["y" if program == "forward" else "w"]))
    function, numbers = (forward, (0, 1, 2)) if program == "forward" else (rectangle, (0,))
    f = jax.jit(jax.value_and_grad(function, numbers))
    there = tuple(map(jnp.asarray, p["arguments"]))

    def call(*arguments):
        value, gradients = jax.block_until_ready(f(*there, data))
        return value, *gradients

    return call


# -- lines -----------------------------------------------------------------------------------------


def lines_of(program, parents=PARENTS, rounds=ROUNDS):
    """Times of all contenders of a program, after their results are found to agree."""
    from run import check_agreement, flattened

    p = problem(program, parents)
    calls = {who: globals()[who](program, p) for who in CONTENDERS}
    results = {who: flattened(call(*p["arguments"])) for who, call in calls.items()}
    for who, result in results.items():
        check_agreement("ragged", len(p["w"]), f"{who}, {program}", result, results["hand"])
    times = {who: [] for who in CONTENDERS}
    for _ in range(rounds):
        for who, call in calls.items():
            started = time.process_time()
            call(*p["arguments"])
            times[who].append((time.process_time() - started) * 1e6)
    hand_times = np.array(times["hand"])
    for who in CONTENDERS:
        yield {
            "case": "ragged", "n": len(p["w"]), "who": who.replace("_", "-"), "program": program,
            "us": float(f"{statistics.median(times[who]):.3g}"),
            "ratio": float(f"{np.median(np.array(times[who]) / hand_times):.3g}"),
        }  # fmt: skip


def work(programs):
    """In a process of its own."""
    import jax

    jax.config.update("jax_enable_x64", True)
    for program in programs or PROGRAMS:
        for line in lines_of(program):
            print(json.dumps(line), flush=True)


def measure(programs=()):
    from run import environment

    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, *programs]
        process = subprocess.Popen(
            command, env=environment(folder, "jax"), text=True, stdout=subprocess.PIPE
        )
        with process:
            for line in process.stdout:
                if line.startswith("{"):
                    yield json.loads(line)
        if process.returncode:
            sys.exit("a program of ragged failed")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    work(sys.argv[1:])
