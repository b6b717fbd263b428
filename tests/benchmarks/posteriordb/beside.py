"""Models of posteriordb in PyMC and NumPyro, compared with ours and timed in turns with them.

``peers/<model>.py`` has the texts. Each contender works in a process of its own.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import itertools
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from tests.benchmarks.posteriordb import posteriors
from tests.benchmarks.posteriordb.calls import (
    ROUNDS,
    Buffers,
    circumstances,
    enough,
    our_call,
    seconds,
)
from tests.benchmarks.run import environment

# seconds after which a process that does not answer is ended
PATIENCE = 600
PEERS = {"pymc": "PyMC", "numpyro": "NumPyro"}


class Results(NamedTuple):
    values: np.ndarray
    gradients: np.ndarray


def peer_names() -> list[str]:
    """Models that are written for PyMC or NumPyro too."""
    return sorted(path.stem for path in (posteriors.HERE / "peers").glob("*.py"))


def load_peer(name: str) -> ModuleType:
    return importlib.import_module(f"tests.benchmarks.posteriordb.peers.{name}")


def written_for(name: str) -> list[str]:
    """The libraries for which a model is written."""
    return [who for who in PEERS if hasattr(load_peer(name), who)]


def model_of(posterior: str) -> str:
    return posterior.split("-", 1)[1]


# -- the libraries ---------------------------------------------------------------------------------


class PyMC:
    """Value and gradient as nutpie has them compiled: one function of a vector, a C function."""

    def __init__(self, model: Any, mode: str = "NUMBA"):
        import pytensor.tensor as pt
        from pymc import pytensorf
        from pytensor.graph import clone_replace, rewrite_graph

        self.model = model
        self.names = [rv.name for rv in model.free_RVs]
        values = [model.rvs_to_values[rv] for rv in model.free_RVs]
        sizes = [int(np.prod(value.type.shape)) for value in values]
        # what nutpie asks of PyTensor, these rewrites included
        rewrites = ["canonicalize", "stabilize"]
        if not model.check_bounds:
            rewrites.append("local_remove_check_parameter")
        logp = rewrite_graph(model.logp(), include=rewrites)
        gradient = pt.concatenate([pt.as_tensor(g).ravel() for g in pt.grad(logp, values)])
        joined = pt.TensorType("float64", shape=(sum(sizes),))(name="x")
        ends = np.cumsum([0, *sizes])
        parts = [joined[a:b] for a, b in itertools.pairwise(ends)]
        pieces = {
            value: part.reshape(value.type.shape).astype(value.dtype)
            for value, part in zip(values, parts, strict=True)
        }
        with model:
            self.function = pytensorf.compile(
                (joined,), clone_replace([logp, gradient], pieces), mode=mode
            )
        self.size = int(ends[-1])

    def unconstrain(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """The vector of values of the parameters."""
        import pytensor
        import pytensor.tensor as pt

        known = {rv: pt.constant(values[rv.name], dtype=rv.dtype) for rv in self.model.free_RVs}
        found = []
        for rv, value in known.items():
            transform = self.model.rvs_to_transforms[rv]
            found.append(transform.forward(value, *rv.owner.inputs) if transform else value)
        # bounds may be of other parameters
        known = {rv: pt.specify_shape(value, rv.type.shape) for rv, value in known.items()}
        options = {"givens": known, "mode": "FAST_COMPILE", "on_unused_input": "ignore"}
        arrays = pytensor.function([], found, **options)()
        return np.concatenate([np.ravel(array) for array in arrays])

    def evaluate(self, points: np.ndarray) -> Results:
        found = [self.function(point) for point in points]
        return Results(np.array([v for v, _ in found]), np.stack([g for _, g in found]))

    def call(self, points: np.ndarray) -> Callable[[int], None]:
        """So many evaluations in a loop of machine code."""
        import numba

        function, size = self.function.vm.jit_fn, self.size
        assert not self.function.get_shared()  # which would be arguments
        double = numba.types.CPointer(numba.types.double)

        @numba.cfunc(numba.types.int64(double, double, double))
        def compiled(x_, value_, gradient_):
            value, gradient = function(numba.carray(x_, (size,)))
            numba.carray(value_, ())[()] = value
            numba.carray(gradient_, (size,))[...] = gradient
            return 0

        @numba.njit
        def loop(f, number, start, step, n, value, gradient):
            failed = 0
            for i in range(number):
                failed += f(start + step * (i % n), value, gradient)
            return failed

        b, pointer = Buffers(points), ctypes.c_size_t
        f = ctypes.CFUNCTYPE(ctypes.c_int64, pointer, pointer, pointer)(compiled.address)
        places = (b.value.ctypes.data, b.gradient.ctypes.data)

        def call(number: int) -> None:
            assert compiled  # the function lives as long as the loop
            assert loop(f, number, *b.turns, *places) == 0

        return call


class NumPyro:
    """Value and gradient of a potential, as functions of a dict, as NumPyro's sampler has them."""

    def __init__(self, model: Callable[[], None], shapes: Mapping[str, tuple[int, ...]]):
        import jax
        from numpyro.infer.util import potential_energy

        self.model, self.shapes = model, dict(shapes)
        self.size = sum(int(np.prod(shape)) for shape in shapes.values())
        self.derived = jax.value_and_grad(lambda z: potential_energy(model, (), {}, z))
        self.function = jax.jit(self.derived)

    def split(self, points: np.ndarray) -> dict[str, Any]:
        """The sites of vectors along the last axis."""
        import jax.numpy as jnp

        sizes = [int(np.prod(shape)) for shape in self.shapes.values()]
        pieces = np.split(points, np.cumsum(sizes)[:-1], axis=-1)
        return {
            name: jnp.asarray(piece.reshape(points.shape[:-1] + shape))
            for piece, (name, shape) in zip(pieces, self.shapes.items(), strict=True)
        }

    def joined(self, values: Mapping[str, Any]) -> np.ndarray:
        return np.concatenate([np.ravel(values[name]) for name in self.shapes])

    def unconstrain(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """The vector of values of the parameters."""
        import jax.numpy as jnp
        from numpyro.infer.util import unconstrain_fn

        arrays = {name: jnp.asarray(value) for name, value in values.items()}
        return self.joined(unconstrain_fn(self.model, (), {}, arrays))

    def evaluate(self, points: np.ndarray) -> Results:
        found = [self.function(self.split(point)) for point in points]
        values = np.array([-float(value) for value, _ in found])
        return Results(values, np.stack([-self.joined(gradient) for _, gradient in found]))

    def call(self, points: np.ndarray) -> Callable[[int], None]:
        """So many evaluations in a loop compiled with them; what they return is added up."""
        import jax
        import jax.numpy as jnp

        z, n = self.split(points), len(points)

        @jax.jit
        def loop(number, z):
            def step(i, sums):
                found = self.derived(jax.tree.map(lambda x: x[i % n], z))
                return jax.tree.map(jnp.add, sums, found)

            zeros = jnp.zeros(()), jax.tree.map(lambda x: jnp.zeros_like(x[0]), z)
            return jax.lax.fori_loop(0, number, step, zeros)

        return lambda number: jax.block_until_ready(loop(number, z))


def prepare(
    who: str,
    posterior: str,
    data: Any,
    values: Mapping[str, Any],
    mode: str = "NUMBA",
    **options: Any,
) -> PyMC | NumPyro:
    """A contender's model of data, compiled; values of the parameters tell their shapes."""
    written = getattr(load_peer(model_of(posterior)), who)(data, **options)
    if who == "pymc":
        return PyMC(written, mode)
    return NumPyro(written, {name: np.shape(value) for name, value in values.items()})


# -- what is compared ------------------------------------------------------------------------------


def our_values(built: posteriors.Posterior, x: np.ndarray) -> dict[str, np.ndarray]:
    """Values of a peer's parameters at a vector of ours: those of the same name, unless it says."""
    found = built.density.constrain(x)
    ours = {}
    for parameter in built.density.parameters:
        array, axes = found[parameter.name], built.axes.get(parameter.name, ())
        ours[parameter.name] = (array.transpose(*axes) if axes else array).to_numpy()
    change = getattr(load_peer(model_of(built.name)), "parameters", None)
    return change(**ours) if change else ours


class Places(NamedTuple):
    """Of each element of a peer's vector which of ours it is, and how many times as large.

    A chance and the rest of it are a logit here and a multiple of one there.
    """

    order: np.ndarray
    scales: np.ndarray

    def theirs(self, points: np.ndarray) -> np.ndarray:
        return points[:, self.order] * self.scales

    def results(self, found: Results) -> Results:
        """A peer's results, with gradients by our vector."""
        return Results(found.values, (found.gradients * self.scales)[:, np.argsort(self.order)])


def places_of(built: posteriors.Posterior, theirs: PyMC | NumPyro) -> Places:
    """Found by two vectors whose elements have quotients of their own, and tried on a third."""
    ours = np.random.RandomState(20250104).uniform(0.5, 1.5, (3, built.density.size))
    x, y, z = (theirs.unconstrain(our_values(built, vector)) for vector in ours)
    order = np.empty(len(x), int)
    order[np.argsort(x / y)] = np.argsort(ours[0] / ours[1])
    places = Places(order, x / ours[0][order])
    if not np.allclose(z, places.theirs(ours[2:])[0], rtol=0, atol=1e-6):
        raise ValueError(f"{built.name}: parameters are transformed in another way")
    return places


def our_results(built: posteriors.Posterior, points: np.ndarray) -> Results:
    found = [built.density.logp_and_grad(point) for point in points]
    return Results(np.array([v for v, _ in found]), np.stack([g for _, g in found]))


def error_of(found: Results, expected: Results) -> float:
    """The largest relative error of values, up to one constant, and of gradients."""
    first = found.values[0] - expected.values[0]
    values = abs(found.values - expected.values - first) / np.maximum(1.0, abs(expected.values))
    lengths = np.maximum(1.0, np.linalg.norm(expected.gradients, axis=1))
    slopes = np.linalg.norm(found.gradients - expected.gradients, axis=1) / lengths
    worst = np.concatenate([values, slopes])
    return float(np.where(np.isnan(worst), np.inf, worst).max())


# -- a contender in a process of its own -----------------------------------------------------------


def work(who: str, name: str, folder: str, target: str) -> None:
    """Leave results behind, then time when asked to."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not an answer
    built = posteriors.build(name, folder=folder)
    known = posteriors.stored(name)
    points = known.points[:, posteriors.order_of(built, known)]
    first = 0.0
    if who == "ours":
        results, call = our_results(built, points), our_call(built.density, points)
    else:
        values = our_values(built, points[0])
        import_library(who)
        started = spent()
        theirs = prepare(who, name, built.data, values)
        theirs.evaluate(np.zeros((1, theirs.size)))
        first = spent() - started
        places = places_of(built, theirs)
        call = theirs.call(places.theirs(points))
        results = places.results(theirs.evaluate(places.theirs(points)))
    np.savez(target, first=first, **results._asdict())
    number = enough(call)
    print("ready", file=channel, flush=True)
    for _ in sys.stdin:
        print(seconds(call, number), file=channel, flush=True)


def spent() -> float:
    """Seconds of the processor, those of compilers that were called included."""
    return sum(os.times()[:4])


def import_library(who: str) -> None:
    """Import what models are written with, which is not counted as compiling."""
    if who == "pymc":
        import pymc  # noqa: F401
    else:
        import jax
        import numpyro  # noqa: F401

        jax.config.update("jax_enable_x64", True)


class Worker:
    """A process that has compiled a model for one contender and waits to be asked for a time."""

    def __init__(self, who: str, name: str, copy: Path, caches: str):
        self.times: list[float] = []
        target = f"{caches}/{who}.npz"
        self.errors = Path(caches, f"{who}.txt")
        command = [sys.executable, "-m", __spec__.name, who, name, str(copy), target]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                command, env=environment(f"{caches}/{who}", who), stderr=errors, **pipes
            )
        if self.answer() != "ready":
            self.close()
            raise RuntimeError((self.errors.read_text().strip().splitlines() or ["no output"])[-1])
        with np.load(target) as stored:
            self.first = float(stored["first"])
            self.results = Results(stored["values"], stored["gradients"])

    def answer(self) -> str:
        """A line; nothing of a process that has ended, as one does that is silent for too long."""
        timer = threading.Timer(PATIENCE, self.process.kill)
        timer.start()
        try:
            return self.process.stdout.readline().strip()
        finally:
            timer.cancel()

    def ask(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        answer = self.answer()
        if not answer:
            raise RuntimeError(f"has ended, or did not answer for {PATIENCE} s")
        self.times.append(float(answer))

    def close(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@contextlib.contextmanager
def workers(name: str, copy: Path) -> Iterator[dict[str, Worker | str]]:
    """Ours and those of the peers, or why there is none."""
    found: dict[str, Worker | str] = {}
    with tempfile.TemporaryDirectory() as caches:
        try:
            for who in ("ours", *written_for(model_of(name))):
                try:
                    found[who] = Worker(who, name, copy, caches)
                except RuntimeError as error:
                    found[who] = str(error)[:200]
            yield found
        finally:
            for worker in found.values():
                if isinstance(worker, Worker):
                    worker.close()


def agreeing(found: Mapping[str, Worker | str], tolerance: float) -> dict[str, dict[str, Any]]:
    """Of each peer the error of its results and its first gradient, or why it is not timed."""
    line: dict[str, dict[str, Any]] = {}
    ours, theirs = found["ours"], {who: x for who, x in found.items() if who != "ours"}
    for who, worker in theirs.items():
        if isinstance(ours, str):
            line[who] = {"failed": f"ours failed: {ours}"}
        elif isinstance(worker, str):
            line[who] = {"failed": worker}
        else:
            error = error_of(worker.results, ours.results)
            line[who] = {"error": error, "cold_s": worker.first}
            if error > tolerance:
                line[who]["failed"] = f"differs from ours by {error:.1e}"
    return line


def measure(name: str, copy: Path) -> dict[str, Any]:
    """Times of ours and of peers in turns, after their results are found to agree with ours."""
    solves = hasattr(posteriors.load_model(model_of(name)), "EXACT")
    with workers(name, copy) as found:
        line = agreeing(found, 1e-2 if solves else 1e-8)
        if isinstance(found["ours"], str):
            return circumstances() | line
        running = {
            who: worker for who, worker in found.items() if "failed" not in line.get(who, {})
        }
        for _ in range(ROUNDS):
            for who, worker in list(running.items()):
                try:
                    worker.ask()
                except RuntimeError as error:
                    if who == "ours":
                        raise
                    line[who]["failed"] = str(error)
                    del running[who]
        times = {who: np.array(worker.times) for who, worker in running.items()}
    for who in running.keys() - {"ours"}:
        line[who] |= {"us": median(times[who]) * 1e6, "ratio": median(times["ours"] / times[who])}
    return circumstances() | {"ours_us": median(times["ours"]) * 1e6} | line


if __name__ == "__main__":
    work(*sys.argv[1:])
