"""What a call costs at each level: k inputs of three elements, and their sum, which costs nothing.

``n`` is k. ``numba`` is the dispatcher of a jitted function called from Python, ``numba-loop`` the
same called from a jitted loop: what a call costs when there is no boundary to cross.
"""

import numpy as np

SIZES = (1, 4, 8)
LENGTH = 3
INNER = 1_000
CONTENDERS = (
    "numba",
    "numba-loop",
    "jax",
    "pytensor",
    "dimtensor-labeled",
    "dimtensor-arrays",
    "dimtensor-positional",
    "dimtensor-in-numba",
    "dimtensor-address",
    "dimtensor-jax",
)


def problem(n):
    return [np.arange(LENGTH) + float(at) for at in range(n)]


def _jitted(n):
    """A function of n arrays that adds them up, as written by hand."""
    import numba

    names = [f"x{at}" for at in range(n)]
    terms = " + ".join(f"{name}[i]" for name in names)
    source = f"""
def add({", ".join(names)}):
    total = np.empty({LENGTH})
    for i in range({LENGTH}):
        total[i] = 1.0 + {terms}
    return (total,)
"""
    namespace = {"np": np}
    exec(source, namespace)
    return numba.njit(namespace["add"])


def _loop(function, n):
    """Calls of a jitted function from a jitted loop; the last result is returned."""
    import numba

    names = ", ".join(f"x{at}" for at in range(n))
    source = f"""
def loop({names}):
    total = function({names})
    for i in range({INNER - 1}):
        x0[0] = i % 2 * 0.5  # else the compiler might call once
        total = function({names})
    x0[0] = 0.0
    return function({names})
"""
    namespace = {"function": function}
    exec(source, namespace)
    jitted = numba.njit(namespace["loop"])

    def call(*arrays):
        return jitted(*arrays)

    call.inner = INNER
    return call


def numba(p):
    return _jitted(len(p)), p


def numba_loop(p):
    return _loop(_jitted(len(p)), len(p)), p


def jax(p):
    import jax

    f = jax.jit(lambda *arrays: (1.0 + sum(arrays),))
    return (lambda *arrays: jax.block_until_ready(f(*arrays))), [jax.numpy.asarray(x) for x in p]


def pytensor(p):
    import pytensor
    import pytensor.tensor as pt

    inputs = [pt.tensor(f"x{at}", dtype="float64", shape=(LENGTH,)) for at in range(len(p))]
    return pytensor.function(inputs, [1.0 + sum(inputs)], mode="NUMBA", trust_input=True), p


def _dimtensor(p, backend="numba"):
    import dimtensor as dt

    dim = dt.Dim("a", length=LENGTH)
    inputs = [dt.tensor(f"x{at}", dims=dim) for at in range(len(p))]
    return dt.function(inputs, [1.0 + sum(inputs)], backend=backend)


def dimtensor_labeled(p):
    import xarray as xr

    f = _dimtensor(p)
    values = {f"x{at}": xr.DataArray(x, dims="a") for at, x in enumerate(p)}
    return (lambda: f(**values)), ()


def dimtensor_arrays(p):
    return _dimtensor(p), p


def dimtensor_positional(p):
    return _dimtensor(p).positional, p


def dimtensor_in_numba(p):
    return _loop(_dimtensor(p).numba, len(p)), p


def dimtensor_address(p):
    """The C function called from a jitted loop, with tables of addresses made beforehand."""
    import ctypes

    import numba

    f = _dimtensor(p)
    word = ctypes.c_int64
    compute = ctypes.CFUNCTYPE(ctypes.c_int32, word, word, word)(f.address)
    closure = f.closure
    total = np.empty(LENGTH)
    arrays = np.array([x.ctypes.data for x in p])
    results = np.array([total.ctypes.data])

    @numba.njit
    def loop(arrays, results):
        failed = 0
        for _ in range(INNER):
            failed += compute(arrays.ctypes.data, results.ctypes.data, closure)
        return failed

    def call():
        assert loop(arrays, results) == 0
        return (total,)

    call.inner = INNER
    call.kept = f  # the code lives as long as the function
    return call, ()


def dimtensor_jax(p):
    import jax

    jax.config.update("jax_enable_x64", True)
    f = jax.jit(_dimtensor(p, "jax").jax)
    return (lambda *arrays: jax.block_until_ready(f(*arrays))), [jax.numpy.asarray(x) for x in p]
