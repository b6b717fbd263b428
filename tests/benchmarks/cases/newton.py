"""Newton's iteration at each step of a chain: backward Euler for x' = a + u(t) - b x - c x³.

The sum of squares of what is left of data, and its gradient by the three rates and the first x.
Gradients are implicit: the equation is solved without one, and a last iteration from the solution
has the derivatives of the implicit function. A loop by a tolerance is inside of a loop over steps.
"""

import numpy as np

SIZES = (200, 1_000, 10_000)
CONTENDERS = (
    "hand", "hand-as-written", "dimtensor-numba", "dimtensor-jax", "jax", "pytensor",
)  # fmt: skip
H = 0.4
TOLERANCE = 1e-8  # of an iteration's step; the error after it is about the square


def problem(n):
    rng = np.random.default_rng(12)
    u, path, x = 1.5 * np.sin(0.3 * np.arange(n)) + rng.normal(size=n), np.empty(n), 0.5
    for t in range(n):
        target = x + H * (0.4 + u[t])
        for _ in range(50):
            x -= (x + H * (0.8 * x + 0.5 * x**3) - target) / (1.0 + H * (0.8 + 1.5 * x * x))
        path[t] = x
    return {
        "u": u,
        "y": path + 0.1 * rng.normal(size=n),
        "a": np.asarray(0.38),
        "b": np.asarray(0.85),
        "c": np.asarray(0.46),
        "first": np.asarray(0.6),
    }


def _arguments(p):
    return p["a"], p["b"], p["c"], p["first"]


def hand(p, as_written=False):
    """A loop by a tolerance at each step; the gradient is that of the implicit function.

    As it is written, a last iteration follows the loop.
    """
    import numba

    u, y = p["u"], p["y"]

    @numba.njit(fastmath={"contract", "nsz", "arcp"}, error_model="numpy")
    def f(a_, b_, c_, first, u, y):
        a, linear, cubic, x = a_[()], 1.0 + H * b_[()], H * c_[()], first[()]
        n = u.shape[0]
        path, inverse = np.empty(n), np.empty(n)
        value = 0.0
        for t in range(n):
            target = x + H * (a + u[t])
            while True:
                square = x * x
                slope = linear + 3.0 * cubic * square
                change = (x * (linear + cubic * square) - target) / slope
                x -= change
                if abs(change) <= TOLERANCE:
                    break
            slope = linear + 3.0 * cubic * x * x
            if as_written:
                x -= (x * (linear + cubic * x * x) - target) / slope
            path[t], inverse[t] = x, 1.0 / slope
            value += (x - y[t]) * (x - y[t])
        adjoint = 0.0
        g_a, g_b, g_c = 0.0, 0.0, 0.0
        for t in range(n - 1, -1, -1):
            x = path[t]
            adjoint = (adjoint + 2.0 * (x - y[t])) * inverse[t]
            g_a += adjoint
            g_b -= adjoint * x
            g_c -= adjoint * (x * x * x)
        return value, H * g_a, H * g_b, H * g_c, adjoint

    return (lambda *args: f(*args, u, y)), _arguments(p)


def hand_as_written(p):
    return hand(p, as_written=True)


def _rest(x, b, c, target):
    return x - target + H * ((b + c * x * x) * x)


def _change(x, b, c, target):
    return _rest(x, b, c, target) / (1.0 + H * (b + 3.0 * c * x * x))


def _dimtensor(p, backend):
    import dimtensor as dt

    time = dt.Dim("time")
    u, y = (dt.data(p[name], dims=time, name=name) for name in ("u", "y"))
    inputs = [dt.scalar(name) for name in ("a", "b", "c", "first")]
    a, b, c, first = inputs

    def step(x, u):
        target = x + H * (a + u)
        known = [dt.stop_gradient(v) for v in (b, c, target)]

        def iterate(state):
            x, _ = state
            change = _change(x, *known)
            return x - change, change

        start = (dt.stop_gradient(x), 1.0)
        x, _ = dt.while_loop(lambda state: abs(state[1]) > TOLERANCE, iterate, start)
        x = dt.stop_gradient(x)
        slope = dt.stop_gradient(1.0 + H * (b + 3.0 * c * x * x))
        x = x - _rest(x, b, c, target) / slope
        return x, x

    _, path = dt.scan(step, first, u, dim=time)
    total = ((path - y) ** 2).sum()
    f = dt.function(inputs, [total, *dt.grad(total, inputs)], backend=backend)
    return f.positional, _arguments(p)


def dimtensor_numba(p):
    return _dimtensor(p, "numba")


def dimtensor_jax(p):
    return _dimtensor(p, "jax")


def jax(p):
    import jax
    import jax.numpy as jnp

    u, y = jnp.asarray(p["u"]), jnp.asarray(p["y"])
    stop = jax.lax.stop_gradient

    def loss(a, b, c, first, u, y):
        def step(state, seen):
            x, total = state
            target = x + H * (a + seen[0])
            known = stop((b, c, target))

            def iterate(state):
                x, _ = state
                change = _change(x, *known)
                return x - change, change

            start = (stop(x), jnp.ones(()))
            x, _ = jax.lax.while_loop(lambda s: abs(s[1]) > TOLERANCE, iterate, start)
            x = stop(x)
            x = x - _rest(x, b, c, target) / stop(1.0 + H * (b + 3.0 * c * x * x))
            return (x, total + (x - seen[1]) ** 2), None

        return jax.lax.scan(step, (first, jnp.zeros(())), (u, y))[0][1]

    f = jax.jit(jax.value_and_grad(loss, (0, 1, 2, 3)))

    def call(*arguments):
        value, gradients = jax.block_until_ready(f(*arguments, u, y))
        return value, *gradients

    return call, tuple(map(jnp.asarray, _arguments(p)))


def pytensor(p):
    """Six iterations, written out: a scan in a scan is slower and compiles longer."""
    import pytensor
    import pytensor.tensor as pt
    from pytensor.gradient import disconnected_grad

    u, y = pytensor.shared(p["u"]), pytensor.shared(p["y"])
    inputs = pt.dscalars("a", "b", "c", "first")
    a, b, c, first = inputs

    def step(u, before, a, b, c):
        target = before + H * (a + u)
        x = before
        for _ in range(6):
            x = x - _change(x, b, c, target)
        x = disconnected_grad(x)
        return x - _rest(x, b, c, target) / disconnected_grad(1.0 + H * (b + 3.0 * c * x * x))

    path = pytensor.scan(
        step, sequences=u, outputs_info=first, non_sequences=[a, b, c], return_updates=False
    )
    total = ((path - y) ** 2).sum()
    gradients = pytensor.grad(total, inputs)
    f = pytensor.function(inputs, [total, *gradients], mode="NUMBA", trust_input=True)
    return f, _arguments(p)
