"""Samplers: no way in which sampling ends ends the process, and seeds give the same draws."""

from __future__ import annotations

import signal
import textwrap

import pytest

from tests.hostile.children import run

pytestmark = [pytest.mark.slow, pytest.mark.compiled]

# A process that has imported everything forks one for each run, which ends as an interpreter does;
# what is printed are the exit statuses, and -99 for a run that hung.
_MODELS = """
import gc, os, random, signal, sys, threading, time, warnings
import numpy as np
import dimtensor as dt
warnings.simplefilter("ignore")
x = dt.scalar("x")
quiet = {"progress_bar": False, "report": False, "seed": 1}
many = {"draws": 300_000, "tune": 200, "chains": 3, "cores": 2, **quiet}

class Trap:
    '''An operation of PyTensor that raises from some call on, and is its input before.'''
    def __new__(cls, calls):
        from pytensor.graph.basic import Apply
        from pytensor.graph.op import Op

        class Trapped(Op):
            left = calls
            def make_node(self, x):
                return Apply(self, [x], [x.type()])
            def perform(self, node, inputs, outputs):
                Trapped.left -= 1
                if Trapped.left < 0:
                    raise KeyError("the trap")
                outputs[0][0] = np.asarray(inputs[0])
            def pullback(self, inputs, outputs, cotangents):
                return cotangents
        return Trapped()

def model(backend, broken=False):
    return dt.LogDensity(dt.log(-1 - x**2) if broken else -x**2, {x: dt.real}, backend=backend)

def trapped(backend, calls=60):
    return dt.LogDensity(-dt.apply(Trap(calls), x)**2, {x: dt.real}, backend=backend)

def sample(model, **options):
    return dt.sample(model, **{**many, **options})

def ends(error, function, *args, **options):
    '''The function ends with this error.'''
    try:
        function(*args, **options)
    except error:
        return
    os._exit(3)

def soon(function, k):
    threading.Timer(0.02 + 0.005 * k, function).start()

def runs(name, number, job):
    gc.collect()
    gc.freeze()  # or the end of each child takes a second
    for k in range(number):
        pid = os.fork()
        if not pid:
            job(k)
            sys.exit()
        until = time.monotonic() + 30
        while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
            if time.monotonic() > until:
                os.kill(pid, 9)
                os.waitpid(pid, 0)
                ended = (pid, None)
                break
            time.sleep(0.002)
        code = -99 if ended[1] is None else os.waitstatus_to_exitcode(ended[1])
        print(f"{name}, run {k}: {code}", flush=True)

good, slow = model("numba"), model("python")
bad, worse = model("numba", broken=True), model("python", broken=True)
sample(good, draws=10, tune=10)
for one in (slow, bad, worse):
    one.logp_and_grad(np.zeros(1))
"""

_ENDINGS = {
    "no start": (
        14,
        """
        runs(NAME, N, lambda k: ends(dt.CheckError, sample, bad, chains=4, cores=1 + k % 4))
        """,
    ),
    "no start, interpreted": (
        6,
        """
        runs(NAME, N, lambda k: ends(dt.CheckError, sample, worse, chains=4, cores=1 + k % 4))
        """,
    ),
    "no start, by nutpie": (
        6,
        """
        import nutpie
        def job(k):
            made = bad.to_nutpie()
            ends(RuntimeError, nutpie.sample, made, chains=4, cores=1 + k % 4, progress_bar=False)
        runs(NAME, N, job)
        """,
    ),
    "error in the middle": (
        6,
        """
        def job(k):
            ends(Exception, sample, trapped("python", 30 + 10 * k))
        runs(NAME, N, job)
        """,
    ),
    "error in the middle, compiled": (
        6,
        """
        def job(k):
            ends(Exception, sample, trapped("numba", 30 + 10 * k))
        runs(NAME, N, job)
        """,
    ),
    "Ctrl-C": (
        8,
        """
        def job(k):
            soon(lambda: os.kill(os.getpid(), signal.SIGINT), k)
            ends(KeyboardInterrupt, sample, good)
        runs(NAME, N, job)
        """,
    ),
    "Ctrl-C, interpreted": (
        6,
        """
        def job(k):
            soon(lambda: os.kill(os.getpid(), signal.SIGINT), k)
            ends(KeyboardInterrupt, sample, slow)
        runs(NAME, N, job)
        """,
    ),
    "Ctrl-C twice": (
        8,
        """
        def twice():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(random.random() / 100)
            os.kill(os.getpid(), signal.SIGINT)
        def job(k):
            soon(twice, k)
            try:
                ends(KeyboardInterrupt, sample, slow)
                time.sleep(0.2)
            except KeyboardInterrupt:
                pass
        runs(NAME, N, job)
        """,
    ),
    "timeout": (
        6,
        """
        def over(*_):
            raise TimeoutError("that is enough")
        def job(k):
            signal.signal(signal.SIGALRM, over)
            signal.setitimer(signal.ITIMER_REAL, 0.02 + 0.005 * k)
            ends(TimeoutError, sample, good)
        runs(NAME, N, job)
        """,
    ),
    "sys.exit": (
        6,
        """
        def job(k):
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            soon(lambda: os.kill(os.getpid(), signal.SIGTERM), k)
            sample(good)
            os._exit(3)
        runs(NAME, N, job)
        """,
    ),
    "exit beside a daemon thread": (
        8,
        """
        def job(k):
            threading.Thread(target=sample, args=(good,), daemon=True).start()
            time.sleep(0.002 * k)
        runs(NAME, N, job)
        """,
    ),
    "exit beside a daemon thread, interpreted": (
        8,
        """
        def job(k):
            threading.Thread(target=sample, args=(slow,), daemon=True).start()
            time.sleep(0.002 * k)
        runs(NAME, N, job)
        """,
    ),
    "exit beside a thread that is waited for": (
        4,
        """
        def job(k):
            def all_of_them():
                if sample(good, draws=500 * k + 10)["posterior"].sizes["draw"] != 500 * k + 10:
                    os._exit(3)
            threading.Thread(target=all_of_them).start()
        runs(NAME, N, job)
        """,
    ),
    "exit beside nutpie in the background": (
        6,
        """
        import nutpie
        def job(k):
            global left
            options = {"draws": 300_000, "progress_bar": False, "blocking": False}
            left = nutpie.sample(slow.to_nutpie(), **options)
            time.sleep(0.002 * k)
        runs(NAME, N, job)
        """,
    ),
    "fork": (
        6,
        """
        def job(k):
            thread = threading.Thread(target=sample, args=(good,), daemon=True)
            thread.start()
            time.sleep(0.01 + 0.002 * k)
            pid = os.fork()
            if not pid:
                # not nutpie: a lock that one of its threads holds is never released here
                signal.alarm(20)
                sys.exit(good.logp_and_grad(np.zeros(1))[0] != 0.0)
            if os.waitpid(pid, 0)[1]:
                os._exit(4)
        runs(NAME, N, job)
        """,
    ),
}


def test_no_end_of_sampling_is_the_end_of_the_process(faults):
    pytest.importorskip("nutpie")
    code = _MODELS
    for how, (number, ending) in _ENDINGS.items():
        code += f"NAME, N = {how!r}, {number}\n" + textwrap.dedent(ending)
    ended = run(code, timeout=900)
    assert not ended.code, ended.err
    found = [line.rpartition(": ")[::2] for line in ended.out.splitlines()]
    assert len(found) == sum(number for number, _ in _ENDINGS.values()), ended.out
    for name, status in found:
        code = int(status)
        known = {-99: "it hung", 3: "it did not end as it should", 4: "the child of a fork failed"}
        how = signal.Signals(-code).name if -64 < code < 0 else known.get(code, f"status {code}")
        faults.count(name, code == 0, how)


# draws of a Gaussian process with a few and with many observations, as hashes of their bits
_PROCESS = """
import hashlib, warnings
import numpy as np
import dimtensor as dt
warnings.simplefilter("ignore")

def density(length):
    place = dt.Dim("place", length=length)
    other = dt.Dim("other", length=length)
    at = np.linspace(0.0, 6.0, length)
    apart = dt.data(np.abs(at[:, None] - at), dims=(place, other))
    same = dt.data(np.eye(length), dims=(place, other))
    y = dt.data(np.sin(at), dims=place)
    size, reach = dt.scalar("size"), dt.scalar("reach")
    covariance = dt.exp(size) * dt.exp(-apart * dt.exp(-reach)) + 0.1 * same
    factor = dt.linalg.cholesky(covariance, dims=(place, other))
    whitened = dt.linalg.solve_triangular(factor, y, dims=(place, other))
    logp = -0.5 * (whitened**2).sum()
    logp -= dt.log(dt.linalg.diagonal(factor, dims=(place, other))).sum()
    return dt.LogDensity(logp - size**2 - reach**2, {size: dt.real, reach: dt.real})

def bits(model, **options):
    post = dt.sample(
        model, 5, tune=10, chains=2, seed=7, progress_bar=False, report=False, **options
    )
    arrays = [post["posterior"][name].values for name in ("size", "reach")]
    return hashlib.sha256(b"".join(x.tobytes() for x in arrays)).hexdigest()[:12]

few, many = density(100), density(150)
print("few", *{bits(few, cores=1), bits(few, cores=2)})
print("many", *{bits(many, cores=1), bits(many, cores=2)})
value, slope = many.logp_and_grad(np.array([0.3, -0.2]))
print("density", value.hex(), *(x.hex() for x in slope))
"""


def test_a_seed_gives_the_same_draws(faults, tmp_path):
    """Whatever cores, hashes, threads of BLAS and the cache are."""
    pytest.importorskip("nutpie")
    folder = str(tmp_path)
    environments = {
        "one thread": {"OPENBLAS_NUM_THREADS": "1", "DIMTENSOR_CACHE": "0"},
        "two threads, a new cache": {"OPENBLAS_NUM_THREADS": "2", "DIMTENSOR_CACHE": "1"},
        "two threads, from the cache": {"OPENBLAS_NUM_THREADS": "2", "DIMTENSOR_CACHE": "1"},
    }
    found: dict[str, dict[str, list[str]]] = {}
    for seed, (name, env) in enumerate(environments.items()):
        env = {**env, "DIMTENSOR_CACHE_DIR": folder, "PYTHONHASHSEED": str(seed)}
        lines = run(_PROCESS, env=env).ok().splitlines()
        found[name] = {line.split()[0]: line.split()[1:] for line in lines}
    first, *others = found.values()
    for name, values in found.items():
        faults.count(f"cores, few, {name}", len(values["few"]) == 1, values)
        faults.count(f"cores, many, {name}", len(values["many"]) == 1, values)
    for values in others:
        faults.count("threads of BLAS", values == first, found)


@pytest.mark.parametrize("sampler", ["numpyro"])
def test_the_exit_stops_programs_of_jax(sampler):
    """Their callbacks would call Python while the interpreter is finalized."""
    pytest.importorskip(sampler)
    code = f"""
        import threading, time, warnings
        import dimtensor as dt
        from dimtensor.interop import watching
        warnings.simplefilter("ignore")
        x = dt.scalar("x")
        model = dt.LogDensity(-x**2, {{x: dt.real}}, backend="jax")
        options = {{"progress_bar": False, "report": False, "seed": 1, "chains": 2}}
        many = {{"draws": 300_000, "sampler": {sampler!r}, **options}}
        threading.Thread(target=dt.sample, args=(model,), kwargs=many, daemon=True).start()
        while not any(watch.steps for watch in list(watching._watched.values())):
            time.sleep(0.01)
        """
    ended = run(code, timeout=300)
    assert ended.code == 0, ended.err
    assert "Fatal" not in ended.err
