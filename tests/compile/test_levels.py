"""The levels below labels: numba, a C address, JAX, source and assembly."""

import ctypes
import pickle
import platform
import subprocess
import sys
import threading

import numpy as np
import pytest

import dimtensor as dt
from tests.backend_names import COMPILED

pytestmark = pytest.mark.compiled

K = dt.Dim("k", length=3)
OBS = dt.Dim("obs")
W = dt.tensor("w", dims=K)
S = dt.scalar("s")
TABLE = np.arange(12.0).reshape(4, 3) / 7
HELD = dt.data(TABLE, dims=[OBS, K], name="held")
MEAN = (HELD * W).sum(K) * S
OUTPUTS = [(MEAN**2).sum(), MEAN, *dt.grad((MEAN**2).sum(), [W, S])]


def expected(w, s, table=TABLE):
    mean = table @ w * s
    return [(mean**2).sum(), mean, 2 * s * table.T @ mean, 2 * mean @ (table @ w)]


@pytest.fixture(scope="module")
def f():
    return dt.function([W, S], OUTPUTS)


W0, S0 = np.array([0.5, -1.0, 2.0]), np.asarray(0.7)


def close(found, wanted):
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_positional(f):
    close(f.positional(W0, S0), expected(W0, 0.7))
    frozen = W0.copy()
    frozen.flags.writeable = False
    close(f.positional(frozen, S0), expected(W0, 0.7))
    for w in (np.repeat(W0, 2)[::2], W0.astype("float32"), [0.5, -1.0, 2.0], W0.astype(">f8")):
        close(f.positional(w, 0.7), expected(W0, 0.7))


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        ((W0,), "takes 2 arrays, 1 are given"),
        ((W0[:2], S0), r"array 0 is not what .*\n.*shape \(2,\)\n  expected: dtype float64, .*k"),
        ((W0, W0), r"array 1 is not what the function takes"),
        ((W0 * 1j, S0), r"array 0 is not what .*\n  given: +dtype complex128"),
    ],
)
def test_arrays_that_positional_does_not_take(f, arrays, text):
    with pytest.raises(dt.InputError, match=text):
        f.positional(*arrays)


def test_positional_makes_checks():
    checked = dt.function([W], [dt.check(W > 0, "positive", W).sum()])
    assert checked.positional(np.ones(3)) == (3.0,)
    with pytest.raises(dt.CheckError, match="positive"):
        checked.positional(W0)


def test_numba_in_a_jitted_loop(f):
    import numba

    inner = f.numba

    @numba.njit
    def loop(n, w, s, held):
        total = 0.0
        for _ in range(n):
            total += inner(w, s, held)[0]
        return total

    (held,) = f.fixed
    np.testing.assert_allclose(loop(5, W0, S0, held), 5 * expected(W0, 0.7)[0])


def test_numba_raises_where_a_check_fails():
    checked = dt.function([W], [dt.check(W > 0, "positive", W).sum()])
    assert checked.numba(np.ones(3)) == (3.0,)
    with pytest.raises(ValueError, match="positive"):
        checked.numba(W0)


@pytest.mark.slow
def test_numba_calls_lapack(rng):
    rows = dt.Dim("rows", length=4)
    columns = rows.rename()
    a, b = dt.tensor("a", dims=[rows, columns]), dt.tensor("b", dims=rows)
    pair = [rows, columns]
    values, _ = dt.linalg.eigh(a, pair)
    _, singular, _ = dt.linalg.svd(a, pair)
    outputs = [
        dt.linalg.solve(a, b, pair),
        dt.linalg.cholesky(a, pair),
        values,
        singular,
        dt.linalg.det(a, pair),
    ]
    f = dt.function([a, b], outputs)
    A, B = rng.normal(size=(4, 4)), rng.normal(size=4)
    A = A @ A.T + np.eye(4)
    found = f.numba(A, B, *f.fixed)
    wanted = [
        np.linalg.solve(A, B),
        np.linalg.cholesky(A),
        np.linalg.eigvalsh(A),
        np.linalg.svd(A, compute_uv=False),
        np.linalg.det(A),
    ]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3)


def run(address, closure, arrays, results):
    pointers = [np.array([a.ctypes.data for a in many], np.uint64) for many in (arrays, results)]
    return PROTOTYPE(address)(pointers[0].ctypes.data, pointers[1].ctypes.data, closure)


def buffers():
    return [np.zeros(()), np.zeros(4), np.zeros(3), np.zeros(())]


@pytest.mark.parametrize("native", [True, False])
def test_address(native, monkeypatch):
    if not native:
        monkeypatch.setenv("DIMTENSOR_NATIVE", "0")
    f = dt.function([W, S], OUTPUTS)
    assert (f.positional.executable.native is not None) is native
    results = buffers()
    assert run(f.address, f.closure, [W0, S0], results) == 0
    close(results, expected(W0, 0.7))
    other = f.with_data(held=(["obs", "k"], TABLE[:2] * 3))
    results = [np.zeros(()), np.zeros(2), np.zeros(3), np.zeros(())]
    assert run(other.address, other.closure, [W0, S0], results) == 0
    close(results, expected(W0, 0.7, TABLE[:2] * 3))
    x = dt.tensor("x", dims=OBS)
    g = dt.function([x], [dt.check(x > 0, "positive", x * 2)])
    with pytest.raises(dt.GraphError, match=r"length of dim 'obs' comes with the inputs(.|\n)*c_f"):
        _ = g.address
    with pytest.raises(dt.InputError, match=r"there are 2 shapes"):
        g.c_function((2,), (3,))
    with pytest.raises(dt.InputError, match=r"dims \{obs\} cannot have shape \(2, 2\)"):
        g.c_function((2, 2))
    c = g.c_function((2,))
    out = [np.zeros(2)]
    assert run(c.address, c.closure, [np.array([1.0, 2.0])], out) == 0
    assert out[0].tolist() == [2.0, 4.0]
    assert run(c.address, c.closure, [np.array([1.0, -2.0])], out) == -1


def test_address_in_threads(f):
    address, closure = f.address, f.closure
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(200):
            w, results = rng.normal(size=3), buffers()
            run(address, closure, [w, S0], results)
            if not np.allclose(results[2], expected(w, 0.7)[2], rtol=1e-12):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("backend", COMPILED)
def test_jax(backend):
    jax = pytest.importorskip("jax")
    import jax.numpy as jnp

    f = dt.function([W, S], OUTPUTS, backend=backend)
    with jax.enable_x64(True):
        close(f.jax(W0, S0), expected(W0, 0.7))
        close(jax.jit(f.jax)(W0, S0), expected(W0, 0.7))
        gradient = jax.grad(lambda w, s: f.jax(w, s)[0], (0, 1))(jnp.asarray(W0), jnp.asarray(S0))
        close(gradient, expected(W0, 0.7)[2:])
        many = jax.vmap(f.jax, (0, None))(jnp.stack([W0, 2 * W0]), S0)
        close([many[0][1]], [expected(2 * W0, 0.7)[0]])
    with pytest.raises(dt.InputError, match="takes 2 arrays, not 1"):
        f.jax(W0)
    with pytest.raises(dt.InputError, match="has 0 axes instead of 1"):
        f.jax(S0, S0)


def test_jax_with_lengths_of_the_call():
    pytest.importorskip("jax")
    x = dt.tensor("x", dims=OBS)
    f = dt.function([x], [dt.check(x > 0, "positive", x) + dt.arange(OBS)], backend="jax")
    for n in (1, 4):
        close(f.jax(np.ones(n)), [1.0 + np.arange(n)])
    assert bool(f.jax.conditions(np.ones(2))[0])
    assert not bool(f.jax.conditions(-np.ones(2))[0])


@pytest.mark.falls_back  # complex numbers
def test_what_runs_is_said(f):
    assert f.path == "machine code"
    z = dt.tensor("z", dims=K, dtype="complex128")
    assert dt.function([z], z * 2, backend="numba").path == "numba: numbers of dtype complex128"
    off = dt.function([W], W.sum(), backend="numba", kernels=False)
    assert off.path == "the python interpreter: kernels are switched off"
    with pytest.raises(dt.GraphError, match="no function for numba without a kernel: kernels are"):
        _ = off.numba
    assert dt.function([W], W.sum(), backend="jax").path == "JAX"


def test_source_and_assembly(f):
    assert f.source.startswith("def kernel(")
    assert "for i" in f.source
    assert "kernel:" in f.assembly
    if platform.machine() in ("x86_64", "AMD64"):
        assert "mulsd" in f.assembly or "mulpd" in f.assembly or "fmadd" in f.assembly
    for backend in ("jax", "python"):
        with pytest.raises(dt.GraphError, match="have no source"):
            _ = dt.function([W], W.sum(), backend=backend).source


def test_pickled_functions_run_elsewhere(f, tmp_path):
    again = pickle.loads(pickle.dumps(f))
    close(again.positional(W0, S0), expected(W0, 0.7))
    path = tmp_path / "f.pickle"
    path.write_bytes(pickle.dumps(f))
    code = (
        "import pickle, sys, numpy as np\n"
        f"f = pickle.load(open({str(path)!r}, 'rb'))\n"
        "print(f.positional(np.array([0.5, -1.0, 2.0]), np.asarray(0.7))[0])\n"
        "print('numba' in sys.modules)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    value, woken = ran.stdout.split()
    np.testing.assert_allclose(float(value), expected(W0, 0.7)[0])
    assert woken == "False"
