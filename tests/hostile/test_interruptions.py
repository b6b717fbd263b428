"""Interruptions and exceptions that come at any point of a program."""

from __future__ import annotations

import json
import textwrap

import pytest

from tests.hostile.children import run

pytestmark = pytest.mark.slow

_START = """
import itertools, warnings
import numpy as np
import dimtensor as dt
from tests.hostile.injection import campaign
number = itertools.count()

X, W = np.arange(6.0).reshape(3, 2) / 10, np.array([1.0, 2.0])
E = np.exp(X @ W)
VALUE = E.mean() + X[:, 0].max() + (X @ W).sum() + X.sum() * 4.0
GRADIENT = (E[:, None] * X).mean(0) + X.sum(0)
DRAWN = []

def built():
    at = next(number)
    i, j = dt.Dim(f"i{at}", length=3), dt.Dim(f"j{at}", coords=["a", "b"])
    x, w = dt.tensor("x", dims=[i, j]), dt.tensor("w", dims=j)
    first = dt.exp((x * w).sum(j)).mean() + x.sel({j: "a"}).max()
    steps, _ = dt.scan(lambda s, e: (s + e, None), 0.0, (x * w).sum(j), dim=i)
    doubled = dt.while_loop(lambda s: s < 3.0, lambda s: s * 2.0, 1.0, 50)
    y = first + steps + doubled * x.sum()
    return x, w, y, dt.grad(y, w)

def compiled(backend):
    x, w, y, gradient = built()
    f = dt.function([x, w], [y, gradient], backend=backend)
    dims = [dim.name for dim in sorted(x.dims, key=lambda dim: dim.name)]
    return f, (dims, X)

def near(found, expected):  # NumPy's own comparison changes how errors are told
    assert np.max(np.abs(np.asarray(found) - expected)) < 1e-4, (found, expected)

def check(f, x):
    value, gradient = f(x, W)
    near(value, VALUE)
    near(gradient, GRADIENT)
"""


def _campaign(faults, text, **environment):
    ended = run(_START + textwrap.dedent(text), timeout=300.0, env=environment).ok()
    for line in ended.splitlines():
        if line.startswith('["'):
            faults.count(*json.loads(line))


def test_building_is_interrupted(faults):
    _campaign(faults, "campaign(built, 400); campaign(built, 200, '')")


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("error", ["KeyboardInterrupt", "MemoryError"])
def test_compiling_is_interrupted(faults, backend, error):
    count = 100 if backend == "python" else 12
    _campaign(
        faults,
        f"""
        program = lambda: check(*compiled({backend!r}))
        campaign(program, {count}, error={error})
        campaign(program, {count // 2}, '', {error})
        """,
    )


@pytest.mark.parametrize("backend", ["python", "numba", "jax"])
def test_calls_are_interrupted(faults, backend):
    _campaign(
        faults,
        f"""
        f, x = compiled({backend!r})
        program = lambda: check(f, x)
        campaign(program, 150)
        campaign(program, 50, '', MemoryError)
        """,
    )


def test_compiling_on_jax_is_interrupted(faults, tmp_path):
    _campaign(
        faults,
        """
        program = lambda: check(*compiled('jax'))
        campaign(program, 20)
        campaign(program, 15, "")
        """,
        DIMTENSOR_CACHE="1",
        DIMTENSOR_CACHE_DIR=str(tmp_path),
    )


_SIGNALS = """
import os, signal, sys, threading, time
check(*compiled("numba"))
dropped = []
# Python itself drops an interrupt in a collection of garbage between two compilations
sys.unraisablehook = lambda told: dropped.append(told.exc_type)

def interrupt(wait):
    time.sleep(wait)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

for attempt in range(20):
    sent = []
    wait = 0.01 + 0.1 * np.random.default_rng(attempt).random()
    threading.Thread(target=interrupt, args=(wait,), daemon=True).start()
    try:
        while not sent or (time.monotonic() - sent[0] < 3.0 and not dropped):
            check(*compiled("numba"))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    if dropped == [KeyboardInterrupt]:
        print("dropped outside", flush=True)
    dropped.clear()
    check(*compiled("numba"))
"""


def test_no_signal_is_lost_while_functions_are_compiled(faults):
    lines = run(_START + _SIGNALS, timeout=300.0).ok().splitlines()
    outside = lines.count("dropped outside")
    assert outside < 4, "most interrupts come while functions are compiled"
    for attempt in range(20 - outside):
        faults.count(f"signal {attempt}", lines.count("interrupted") > attempt)


_MODEL = """
seen = np.array([1.0, 3.0, 2.0, 0.0])

def model(backend="python"):
    at = next(number)
    mu = dt.rv(f"mu{at}", dt.dist.Normal(0.0, 1.0))
    y = dt.rv(f"y{at}", dt.dist.Normal(mu, 2.0), dims=dt.Dim(f"school{at}", length=4))
    return mu, y, dt.Model(mu, y, backend=backend)

def expected(mu):
    residuals = np.append(mu, (seen - mu) / 2.0)
    return -(residuals**2).sum() / 2 - 5 * np.log(2 * np.pi) / 2 - 4 * np.log(2.0)
"""


def test_observing_is_interrupted(faults):
    _campaign(
        faults,
        _MODEL
        + """
def program():
    mu, y, unobserved = model()
    terms = unobserved.observe({y: seen}).logp({mu: 0.5})
    near(sum(float(x.sum()) for x in terms.values()), expected(0.5))

campaign(program, 100)
campaign(program, 50, '', MemoryError)
""",
    )


def test_sampling_is_interrupted(faults):
    _campaign(
        faults,
        _MODEL
        + """
mu, y, unobserved = model("numba")
fit = unobserved.observe({y: seen})

def program():
    post = fit.sample(30, tune=20, chains=2, seed=1, progress_bar=False)
    values = post.posterior[mu.node.name].values
    if not DRAWN:
        DRAWN.append(values)
    assert values.shape == (2, 30) and (values == DRAWN[0]).all()

campaign(program, 40)
""",
    )


def test_marginalizing_is_interrupted(faults):
    _campaign(
        faults,
        """
def program():
    at = next(number)
    kind = dt.Dim(f"kind{at}", coords=["low", "high"])
    mu = dt.rv(f"mu{at}", dt.dist.Normal(0.0, 10.0), dims=kind)
    z = dt.rv(f"z{at}", dt.dist.Categorical(dt.data([0.5, 0.5], dims=kind), dim=kind),
              dims=dt.Dim(f"obs{at}"))
    y = dt.rv(f"y{at}", dt.dist.Normal(mu.sel({kind: z}), 1.0))
    fit = dt.Model(y, backend="python").observe({y: [0.1, 4.9]}).marginalize(z)
    found = fit.logp({mu: [0.0, 5.0]})[f"y{at}"].values
    near(found, [-1.6171, -1.6171])

campaign(program, 60)
campaign(program, 20, '', MemoryError)
""",
    )


def test_exporting_is_interrupted(faults, tmp_path):
    _campaign(
        faults,
        f"""
import shutil
folder = {str(tmp_path / "f")!r}
f, x = compiled("jax")

def program():
    shutil.rmtree(folder, ignore_errors=True)
    f.export(folder)
    found = dt.load_exported(folder)(x, W)
    near(found[0], VALUE)

campaign(program, 8)
""",
    )


_ENDLESS = """
import os, signal, sys, threading, time
import numpy as np
import dimtensor as dt

x = dt.scalar("x")
n = dt.while_loop(lambda s: s < 1.0, lambda s: s + dt.where(abs(x) < 5.0, 0.5, 0.0), 0.0)

def interrupt():
    time.sleep(0.5)
    started.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

started = []
def ends(what, call):
    started.clear()
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        call()
    except KeyboardInterrupt:
        print(what, time.monotonic() - started[0] < 30.0)
"""


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_a_density_that_does_not_end_is_interrupted_in_a_sampler(faults, backend):
    text = f"""
import nutpie, arviz, pyarrow, dimtensor.interop.nutpie_models  # an import is not interrupted
fit = dt.LogDensity({{"x": -x**2 / 200 + 0.0 * dt.stop_gradient(n)}}, {{x: dt.real}},
                    backend={backend!r})
assert np.isfinite(fit.logp(np.zeros(1)))
for attempt in range(2):
    ends(attempt, lambda: dt.sample(fit, 400, tune=100, chains=2, seed=1, progress_bar=False))
before = time.process_time()
time.sleep(0.5)
print("no thread goes on", time.process_time() - before < 0.4)
print("a plain call", np.isfinite(fit.logp(np.zeros(1))))
"""
    out = run(_ENDLESS + text, timeout=120.0).out.splitlines()
    for line in ("0 True", "1 True", "no thread goes on True", "a plain call True"):
        faults.count(f"{backend}: {line}", line in out, out)


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_a_call_that_does_not_end_is_interrupted_in_any_thread(faults, backend):
    text = f"""
import ctypes
f = dt.function([x], n, backend={backend!r})
assert f(1.0) == 1.0
ends("main", lambda: f(9.0))

class Stopped(Exception):
    pass

def call():
    for _ in range(20):
        try:
            f(9.0)
        except Stopped:
            print("stopped", flush=True)

thread = threading.Thread(target=call)
thread.start()
for _ in range(20):
    time.sleep(0.02)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread.ident), ctypes.py_object(Stopped)
    )
    time.sleep(0.02)
while thread.is_alive():
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread.ident), ctypes.py_object(Stopped)
    )
    thread.join(0.05)
print("right", float(f(1.0)) == 1.0)
"""
    out = run(_ENDLESS + text, timeout=60.0).out.splitlines()
    faults.count("a signal", "main True" in out, out)
    for at in range(20):
        faults.count(f"an exception of another thread, {at}", out.count("stopped") > at, out)
    faults.count("the next call", "right True" in out, out)


_FORKS = """
import os, signal, sys, threading, time, traceback
over = False
check(*compiled(BACKEND))

def work():
    while not over:
        check(*compiled(BACKEND))

def build():
    while not over:
        built()

threads = [threading.Thread(target=each) for each in (work, build)]
for thread in threads:
    thread.start()
for attempt in range(COUNT):
    time.sleep(0.03)
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        try:
            check(*compiled(BACKEND))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(attempt, status, flush=True)
over = True
for thread in threads:
    thread.join()
check(*compiled(BACKEND))
"""


@pytest.mark.parametrize(("backend", "count"), [("python", 20), ("numba", 4)])
def test_children_of_forks_build_and_compile(faults, backend, count):
    text = _START + _FORKS.replace("BACKEND", repr(backend)).replace("COUNT", str(count))
    ended = run(text, timeout=300.0, env={"PYTHONWARNINGS": "ignore::DeprecationWarning"})
    for attempt, line in enumerate(ended.ok().splitlines()):
        faults.count(f"{backend}: fork {attempt}", line == f"{attempt} 0", line)


def test_locks_of_objects_are_free_in_children(faults):
    text = """
import os, signal, threading, time
import dimtensor as dt
total, x = dt.scalar("total"), dt.scalar("x")
grown = dt.while_loop(lambda s: s < x, lambda s: s + 1.0, total)
holder = dt.function([x], grown, updates={total: grown}, backend="numba").start(total=0.0)
assert holder(1.0) == 1.0
threading.Thread(target=lambda: holder(1e18), daemon=True).start()
time.sleep(0.3)
child = os.fork()
if child == 0:
    signal.alarm(20)
    os._exit(0 if holder(5.0) == 5.0 else 1)
print(os.waitpid(child, 0)[1], flush=True)
os._exit(0)
"""
    found = run(text, env={"PYTHONWARNINGS": "ignore::DeprecationWarning"}).ok()
    faults.count("a step in another thread", found == "0", found)
