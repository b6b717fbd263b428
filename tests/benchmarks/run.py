"""Run benchmark cases: a process per contender, results compared before times are printed."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
CASES = (
    "radon", "normal", "effect", "glm", "mixture", "gp", "gp_time", "cholesky", "car", "rolling",
    "ragged", "kronecker",
    "garch", "arma", "hmm", "kalman", "ode", "newton", "rnn", "draws", "dists",
    "mixture_marginal", "hmm_marginal", "occupancy", "nmixture", "kalman_marginal",
    "statespace",
    "layout", "latency", "call", "memory", "loop_memory", "import", "build", "growth",
    "posterior", "refit", "predict", "simplify", "pymc_mode", "minibatch", "stream", "dask",
    "threads", "shard",
)  # fmt: skip
CONTENDERS = ("hand", "dimtensor-numba", "dimtensor-jax", "jax", "pytensor")
ROUNDS = 9
SAMPLES = 10
SAMPLE_SECONDS = 0.003
# Times are those of the processor in all threads, where waiting in busy loops counts as work. So
# contenders whose libraries start threads have one thread; kernels of dimtensor start none.
ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NPROC": "1",  # the threads of XLA
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
STARTING_THREADS = (
    "hand", "celerite2", "dimtensor-jax", "dynamax", "jax", "numpyro", "pymc", "pytensor",
    "statsmodels",
)  # fmt: skip


def calls_per_sample(call, *arguments) -> int:
    """How many calls take about as long as a sample should."""
    call(*arguments)
    number, elapsed = 1, 0.0
    while True:
        started = time.process_time()
        for _ in range(number):
            call(*arguments)
        elapsed = time.process_time() - started
        if elapsed >= SAMPLE_SECONDS:
            return max(1, int(number * SAMPLE_SECONDS / elapsed))
        number *= 2


def time_call(number: int, call, *arguments) -> float:
    """Microseconds of a call, the least of some samples: what else happens only adds to them.

    This is the time of the processor in all threads of the process. With one thread that computes
    it is what passes on an idle machine, and a busy one does not add to it the time of others.
    A call with an attribute ``inner`` is a loop of so many calls of what is to be timed.
    """
    samples = []
    for _ in range(SAMPLES):
        started = time.process_time()
        for _ in range(number):
            call(*arguments)
        samples.append((time.process_time() - started) / number)
    return min(samples) * 1e6 / getattr(call, "inner", 1)


def environment(folder: str | Path, who: str = "dimtensor") -> dict[str, str]:
    """Return variables for the process of a contender, with compilation caches in a folder.

    Kernels of dimtensor run with the threads that a user's environment has, others with one.
    JAX keeps nothing between processes unless it is asked to; all that it compiles is to be kept.
    """
    flags = f"base_compiledir={folder}/pytensor," + os.environ.get("PYTENSOR_FLAGS", "")
    found = {
        **os.environ,
        **(ONE_THREAD if who.startswith(STARTING_THREADS) else {}),
        "PYTENSOR_FLAGS": flags.rstrip(","),
        "NUMBA_CACHE_DIR": f"{folder}/numba",
        "DIMTENSOR_CACHE_DIR": f"{folder}/dimtensor",
        "JAX_COMPILATION_CACHE_DIR": f"{folder}/jax",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    found.pop("PYTHONDONTWRITEBYTECODE", None)
    return found


def import_libraries(who: str) -> None:
    """Import what a contender needs, so that this is not counted as compiling."""
    if who.startswith("dimtensor"):
        # `import dimtensor` loads nothing of what expressions are made with
        import pytensor.tensor

        from dimtensor import tensor  # noqa: F401
    if who.endswith("jax"):
        import jax

        if who == "jax":
            jax.config.update("jax_enable_x64", True)
    if who == "pytensor":
        import pytensor.tensor  # noqa: F401
    if who == "hand":
        import numba  # noqa: F401


def flattened(results) -> np.ndarray:
    """All results of a call in one vector."""
    return np.concatenate([np.asarray(result, dtype=float).ravel() for result in results])


def work(case: str, n: int, who: str, target: str) -> None:
    """In a process of its own: compile, leave the results behind, then time when asked to."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not an answer
    module = importlib.import_module(f"cases.{case}")
    problem = module.problem(n)
    prepare = getattr(module, who.replace("-", "_"))
    import_libraries(who)
    started = time.perf_counter()
    call, arguments = prepare(problem)
    results = flattened(call(*arguments))
    compile_s = time.perf_counter() - started
    np.savez(target, compile_s=compile_s, results=results)
    number = calls_per_sample(call, *arguments)
    print("ready", file=channel, flush=True)
    for _ in sys.stdin:
        print(time_call(number, call, *arguments), file=channel, flush=True)


class Worker:
    """A process that has compiled a case for one contender and waits to be asked for a time."""

    def __init__(self, case: str, n: int, who: str):
        self.who = who
        self.times: list[float] = []
        with tempfile.TemporaryDirectory() as folder:  # empty caches: all is compiled now
            target = f"{folder}/result.npz"
            command = [sys.executable, __file__, "--work", case, str(n), who, target]
            self.process = subprocess.Popen(
                command,
                env=environment(folder, who),
                cwd=HERE,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            if self.process.stdout.readline() != "ready\n":
                sys.exit(f"{who} failed on {case}, n={n}")
            with np.load(target) as stored:
                self.compile_s = float(stored["compile_s"])
                self.results = stored["results"]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def ask(self) -> None:
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.times.append(float(self.process.stdout.readline()))


def check_agreement(case: str, n: int, who: str, results, reference) -> None:
    np.testing.assert_allclose(
        results, reference, rtol=1e-9, atol=1e-9 * np.abs(reference).max(),
        err_msg=f"{who} on {case}, n={n}",
    )  # fmt: skip


def three_digits(number: float) -> float:
    return float(f"{number:.3g}")


def compare(case: str, n: int, contenders: Sequence[str]) -> list[dict]:
    """Times of contenders, after their results are found to agree with those of the first.

    They are timed in turns, so that what else the machine does disturbs all of them alike.
    """
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(case, n, who)) for who in contenders]
        for worker in workers:
            check_agreement(case, n, worker.who, worker.results, workers[0].results)
        for _ in range(ROUNDS):
            for worker in workers:
                worker.ask()
    reference = np.array(workers[0].times)
    return [
        {
            "case": case,
            "n": n,
            "who": worker.who,
            "compile_s": round(worker.compile_s, 3),
            "us": three_digits(statistics.median(worker.times)),
            "ratio": three_digits(np.median(np.array(worker.times) / reference)),
        }
        for worker in workers
    ]


# what contenders need that is not among our own dependencies
NEEDED = {
    "celerite2": ("celerite2",),
    "dynamax": ("dynamax",),
    "numpyro": ("numpyro", "funsor"),
    "pymc-extras": ("pymc_extras",),
    "statsmodels": ("statsmodels",),
}


def available(case: str, contenders: Sequence[str]) -> list[str]:
    """Contenders whose libraries are installed; of the others a line says so."""
    found = []
    for who in contenders:
        missing = [name for name in NEEDED.get(who, ()) if importlib.util.find_spec(name) is None]
        if missing:
            print(json.dumps({"case": case, "who": who, "skipped": f"no {missing[0]}"}), flush=True)
        else:
            found.append(who)
    return found


def run_case(case: str, chosen: Sequence[str] | None) -> None:
    module = importlib.import_module(f"cases.{case}_" if case == "import" else f"cases.{case}")
    contenders = getattr(module, "CONTENDERS", CONTENDERS)
    if chosen is not None:  # the first one is what the others are compared with
        contenders = [who for who in contenders if who in chosen or who == contenders[0]]
    contenders = available(case, contenders)
    if hasattr(module, "measure"):
        lines = module.measure()
    else:
        largest = getattr(module, "LARGEST", {})
        lines = (
            line
            for n in module.SIZES
            for line in compare(case, n, [who for who in contenders if n <= largest.get(who, n)])
        )
    for line in lines:
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    if sys.argv[1:2] == ["--work"]:
        case, n, who, target = sys.argv[2:]
        work(case, int(n), who, target)
    else:
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("case", nargs="*", help=f"of {', '.join(CASES)}; all if none is named")
        parser.add_argument("--who", help="contenders, separated by commas, beside the first one")
        options = parser.parse_args()
        unknown = [case for case in options.case if case not in CASES]
        if unknown:
            parser.error(f"there is no case {unknown[0]!r}; cases: {', '.join(CASES)}")
        for case in options.case or CASES:
            run_case(case, options.who and options.who.split(","))
