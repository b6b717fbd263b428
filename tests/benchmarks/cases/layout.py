"""The same expressions with their axes in every order: how much is lost by the worst of them.

An order is that of three dims. For ``dimtensor-numba`` it is the alphabetical order of the names
that the dims are given, with the operands of products in both orders; for ``jax`` and ``pytensor``
it is the one in which arrays are stored and results are made. ``dimtensor-forced`` are our kernels
with an order of the axes forced on them, whatever is planned.

A line for every expression and contender: ``us`` is the time of the first order for dimtensor, of
the best one for the others, and ``worst_over_best`` compares the orders of one contender.
``over_best`` of ``dimtensor-numba`` is the time with the order that is planned over the time with
the best one of those that are forced.
"""

import itertools
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROUNDS = 15
CONTENDERS = ("hand", "dimtensor-numba", "jax", "pytensor")
ORDERS = ["".join(order) for order in itertools.permutations("abc")]
LENGTHS = {
    "chain": {"a": 30, "b": 24, "c": 40},
    "product": {"a": 120, "b": 100, "c": 140},
    "gather": {"a": 85, "b": 5_000, "c": 6},
    "sum-a": {"a": 30, "b": 24, "c": 40},
    "sum-b": {"a": 30, "b": 24, "c": 40},
    "sum-c": {"a": 30, "b": 24, "c": 40},
}
# dims of the inputs, and of the results
INPUTS = {
    "chain": {"x": "abc", "y": "ac", "z": "b"},
    "product": {"x": "ab", "y": "bc", "z": "c"},
    "gather": {"x": "ac", "z": "bc"},
    "sum-a": {"x": "abc", "y": "ac"},
    "sum-b": {"x": "abc", "y": "ac"},
    "sum-c": {"x": "abc", "y": "ac"},
}
RESULTS = {
    "chain": ["abc"],
    "product": ["ac"],
    "gather": ["", "ac"],
    "sum-a": ["bc"],
    "sum-b": ["ac"],
    "sum-c": ["ab"],
}


def values(expression):
    """Inputs by name, axes in alphabetical order; of a gather also where it looks up."""
    rng = np.random.default_rng(7)
    lengths = LENGTHS[expression]
    found = {
        name: rng.normal(size=[lengths[d] for d in dims])
        for name, dims in INPUTS[expression].items()
    }
    if expression == "gather":
        found["of"] = rng.integers(0, lengths["a"], lengths["b"])
    return found


def arranged(array, dims, order):
    """An array whose axes are in alphabetical order, stored in another one."""
    axes = [dims.index(d) for d in order if d in dims]
    return np.ascontiguousarray(array.transpose(axes))


def restored(array, dims, order):
    """The inverse of arranged."""
    own = [d for d in order if d in dims]
    return np.asarray(array).transpose([own.index(d) for d in dims])


# -- positional code, as one writes it for arrays in an order --------------------------------------


def positional(expression, m, v, order):
    """Results of an expression of arrays in an order, by a library that is like NumPy."""

    def aligned(name):
        own = INPUTS[expression][name]
        return v[name][tuple(slice(None) if d in own else None for d in order)]

    if expression == "chain":
        return [m.sqrt(1.0 + (aligned("x") * aligned("y") + aligned("z")) ** 2)]
    if expression == "product":
        x = v["x"] if order.index("a") < order.index("b") else v["x"].T
        y = v["y"] if order.index("b") < order.index("c") else v["y"].T
        product = x @ y if order.index("a") < order.index("c") else y.T @ x.T
        z = v["z"] if order.index("a") < order.index("c") else v["z"][:, None]
        return [(product + z) ** 2]
    if expression == "gather":
        rows = order.index("a") < order.index("c")
        taken = v["x"][v["of"]] if rows else v["x"][:, v["of"]].T
        z = v["z"] if order.index("b") < order.index("c") else v["z"].T
        return [((taken * z).sum(axis=1) ** 2).sum()]
    return [(aligned("x") * aligned("y")).sum(axis=order.index(expression[-1]))]


def jax(expression):
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    given = values(expression)
    for order in ORDERS:
        fixed = {"of": jnp.asarray(given["of"])} if "of" in given else {}
        names = list(INPUTS[expression])

        def f(*arrays, names=names, fixed=fixed, order=order):
            return positional(
                expression, jnp, {**dict(zip(names, arrays, strict=True)), **fixed}, order
            )

        if expression == "gather":
            inner = f
            pair = jax.value_and_grad(lambda *arrays, inner=inner: inner(*arrays)[0])
            f = pair
        jitted = jax.jit(f)
        arrays = [jnp.asarray(arranged(given[n], INPUTS[expression][n], order)) for n in names]
        yield order, (lambda *a, jitted=jitted: jax.block_until_ready(jitted(*a))), arrays


def pytensor(expression):
    import pytensor
    import pytensor.tensor as pt

    given = values(expression)
    for order in ORDERS:
        names = list(INPUTS[expression])
        arrays = [arranged(given[n], INPUTS[expression][n], order) for n in names]
        inputs = [
            pt.tensor(n, dtype="float64", shape=a.shape) for n, a in zip(names, arrays, strict=True)
        ]
        v = dict(zip(names, inputs, strict=True))
        if "of" in given:
            v["of"] = pytensor.shared(given["of"])
        outputs = positional(expression, pt, v, order)
        if expression == "gather":
            outputs.append(pytensor.grad(outputs[0], v["x"]))
        yield order, pytensor.function(inputs, outputs, mode="NUMBA", trust_input=True), arrays


# -- dims ------------------------------------------------------------------------------------------


def named(expression, names, turned, known=True):
    """Inputs and outputs of an expression of three dims; factors in one order or the other."""
    import dimtensor as dt

    dims = {
        d: dt.Dim(name, length=LENGTHS[expression][d] if known else None)
        for d, name in zip("abc", names, strict=True)
    }
    v = {
        n: dt.tensor(n, dims=[dims[d] for d in (own[::-1] if turned else own)])
        for n, own in INPUTS[expression].items()
    }
    x, y = (v[n] for n in list(v)[:2])
    if expression == "product":
        product = dt.dot(y, x) if turned else dt.dot(x, y)
        return dims, v, [(v["z"] + product) ** 2 if turned else (product + v["z"]) ** 2]
    if expression == "gather":
        of = dt.data(values(expression)["of"], dims=dims["b"], name="of")
        taken = x.isel({dims["a"]: of})
        loss = ((y * taken if turned else taken * y).sum(dims["c"]) ** 2).sum()
        return dims, v, [loss, dt.grad(loss, x)]
    product = y * x if turned else x * y
    if expression == "chain":
        return dims, v, [dt.sqrt(1.0 + (v["z"] + product if turned else product + v["z"]) ** 2)]
    return dims, v, [product.sum(dims[expression[-1]])]


def dimtensor_numba(expression):
    import dimtensor as dt

    given = values(expression)
    for names in ORDERS:
        for turned in (False, True):
            dims, v, outputs = named(expression, names, turned)
            letters = {dim: d for d, dim in dims.items()}
            f = dt.function(list(v.values()), outputs).positional
            arrays = [
                arranged(given[n], INPUTS[expression][n], [letters[dim] for dim in axes])
                for n, axes in zip(v, f.input_dims, strict=True)
            ]
            orders = [[letters[dim] for dim in axes] for axes in f.output_dims]
            yield f"{names}{'-' if turned else '+'}", f, arrays, orders
    yield from forced_orders(expression)


def forced_orders(expression):
    from dimtensor.backends import compile_positional
    from dimtensor.compile.program import build_program
    from dimtensor.lower.layout.order import AxisOrder

    given = values(expression)
    # long lengths are left out of the code, which serves all of them
    dims, v, outputs = named(expression, "abc", False, known=False)
    nodes = [x.node for x in v.values()]
    for order in ORDERS:
        forced = AxisOrder.of([dims[d] for d in order])
        program = build_program(nodes, [x.node for x in outputs], order=forced)
        executable = compile_positional("numba", program.inputs, program.outputs)
        arrays = [arranged(given[n], INPUTS[expression][n], order) for n in v]
        arrays += [given["of"]] if "of" in given else []
        yield f"forced {order}", executable.call, arrays, [order] * len(outputs)


def planned(expression):
    """The order that is planned."""
    from dimtensor.lower import plan_axes

    dims, _, outputs = named(expression, "abc", False)
    return "".join(d.name for d in plan_axes([x.node for x in outputs]).sort(dims.values()))


# -- by hand, in the best order ------------------------------------------------------------------


def hand(expression):
    import numba

    jit = numba.njit(fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
    v = values(expression)

    @jit
    def chain(x, y, z):
        out = np.empty(x.shape)
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                for k in range(x.shape[2]):
                    t = x[i, j, k] * y[i, k] + z[j]
                    out[i, j, k] = np.sqrt(1.0 + t * t)
        return (out,)

    @jit
    def product(x, y, z):
        out = np.dot(x, y)
        for i in range(out.shape[0]):
            for k in range(out.shape[1]):
                t = out[i, k] + z[k]
                out[i, k] = t * t
        return (out,)

    @jit
    def gather(x, z, of):
        total, gradient = 0.0, np.zeros(x.shape)
        for j in range(z.shape[0]):
            row, t = of[j], 0.0
            for k in range(6):
                t += x[row, k] * z[j, k]
            total += t * t
            for k in range(6):
                gradient[row, k] += 2.0 * t * z[j, k]
        return total, gradient

    @jit
    def sum_a(x, y):
        out = np.zeros((x.shape[1], x.shape[2]))
        for j in range(x.shape[1]):
            for i in range(x.shape[0]):
                for k in range(x.shape[2]):
                    out[j, k] += x[i, j, k] * y[i, k]
        return (out,)

    @jit
    def sum_b(x, y):
        out = np.zeros(y.shape)
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                for k in range(x.shape[2]):
                    out[i, k] += x[i, j, k]
            for k in range(x.shape[2]):
                out[i, k] *= y[i, k]
        return (out,)

    @jit
    def sum_c(x, y):
        out = np.empty(x.shape[:2])
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                t = 0.0
                for k in range(x.shape[2]):
                    t += x[i, j, k] * y[i, k]
                out[i, j] = t
        return (out,)

    written = {"sum-a": sum_a, "sum-b": sum_b, "sum-c": sum_c, "chain": chain, "product": product}
    yield "abc", {**written, "gather": gather}[expression], list(v.values())


# -- measuring -------------------------------------------------------------------------------------


def reference(expression):
    v = values(expression)
    results = [np.asarray(r) for r in positional(expression, np, v, "abc")]
    if expression == "gather":
        slope = 2 * (v["x"][v["of"]] * v["z"]).sum(axis=1)
        gradient = np.zeros(v["x"].shape)
        np.add.at(gradient, v["of"], slope[:, None] * v["z"])
        results.append(gradient)
    return results


def check(expression, results, orders):
    for result, expected, dims, order in zip(
        results, reference(expression), RESULTS[expression], orders, strict=True
    ):
        np.testing.assert_allclose(restored(result, dims, order), expected, rtol=1e-9, atol=1e-9)


def times(expression, who):
    """Seconds of compiling the first order, and microseconds by order; orders take turns."""
    from run import calls_per_sample, time_call

    started, compile_s = time.perf_counter(), None
    calls = {}
    for order, call, arrays, *axes in globals()[who.replace("-", "_")](expression):
        results = call(*arrays)
        compile_s = time.perf_counter() - started if compile_s is None else compile_s
        check(expression, results, axes[0] if axes else [order] * len(RESULTS[expression]))
        calls[order] = (calls_per_sample(call, *arrays), call, *arrays)
    found = {order: [] for order in calls}
    for _ in range(ROUNDS):
        for order, call in calls.items():
            found[order].append(time_call(*call))
    return compile_s, {order: float(np.median(samples)) for order, samples in found.items()}


def lines(expression, who, compile_s, by_order):
    """What is printed of the times of one contender."""

    def line(who, us, times, **more):
        return {
            "case": "layout",
            "n": int(np.prod(list(LENGTHS[expression].values()))),
            "who": who,
            "compile_s": round(compile_s, 3),
            "us": round(us, 2),
            "expression": expression,
            "worst_over_best": round(max(times) / min(times), 2),
            **more,
        }

    forced = {o.split()[1]: us for o, us in by_order.items() if o.startswith("forced")}
    own = [us for order, us in by_order.items() if not order.startswith("forced")]
    if not forced:
        yield line(who, min(own), own)
        return
    best = min(forced.values())
    yield line(who, own[0], own, over_best=round(forced[planned(expression)] / best, 2))
    yield line("dimtensor-forced", best, forced.values())


def measure():
    from run import environment

    here = Path(__file__).parent.parent
    for expression in LENGTHS:
        for who in CONTENDERS:
            with tempfile.TemporaryDirectory() as folder:
                text = subprocess.run(
                    [sys.executable, "-m", "cases.layout", expression, who],
                    check=True,
                    cwd=here,
                    env=environment(folder, who),
                    stdout=subprocess.PIPE,
                    text=True,
                ).stdout
            yield from lines(expression, who, *json.loads(text.splitlines()[-1]))


if __name__ == "__main__":
    print(json.dumps(times(*sys.argv[1:])))
