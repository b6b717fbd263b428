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
        20,
        """
        runs(NAME, N, lambda k: ends(dt.CheckError, sample, bad, chains=4, cores=1 + k % 4))
        """,
    ),
    "no start, interpreted": (
        8,
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
        12,
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
        12,
        """
        def job(k):
            threading.Thread(target=sample, args=(good,), daemon=True).start()
            time.sleep(0.002 * k)
        runs(NAME, N, job)
        """,
    ),
    "exit beside a daemon thread, interpreted": (
        12,
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
        8,
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
                sample(good, draws=10, tune=10)
                sys.exit(0)
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
