"""Parallel map over worker processes.

Workers are new interpreters, and not copies of this one: samplers and JAX have threads, which a
copy would lack. They do not run the caller's script, so that it needs no guard.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import queue
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from dimtensor.arrays import meant_integer
from dimtensor.backends import backend_of
from dimtensor.backends.progress import Progress
from dimtensor.compile.code import compilations
from dimtensor.errors import (
    ArgumentError,
    DimtensorError,
    GraphError,
    OptionError,
    build_message,
    clipped,
    plain_repr,
)
from dimtensor.forks import freed_in_children
from dimtensor.settings import inherited, settings

Task = Callable[[Any, Any], Any]
_LENGTH = struct.Struct("<Q")
_PACKAGE = str(Path(__file__).parents[2] / "__init__.py")
# seconds for a worker that answers no more
_PATIENCE = 5.0
# An interrupt is for the process that started them, which ends them: a terminal tells all. The
# package is that of this process, even if another one is installed.
_SERVE = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
import json, sys
from importlib.util import module_from_spec, spec_from_file_location
sys.path[:] = json.loads(sys.argv[1])
spec = spec_from_file_location("dimtensor", sys.argv[2])
sys.modules["dimtensor"] = module_from_spec(spec)
spec.loader.exec_module(sys.modules["dimtensor"])
from dimtensor.model.checking.processes import serve
serve()
"""


def run_all(
    task: Task,
    shared: Any,
    arguments: Sequence[Any],
    processes: int | None,
    what: str,
    doing: str | None = None,
) -> tuple[list[Any], int]:
    """Run a task for each argument; return results in order and the number of compilations.

    Parameters
    ----------
    task : callable
        A function of a module, of `shared` and an argument.
    shared : object
        What all tasks have in common.
    arguments : sequence
    processes : int, optional
        As many as there are processors by default; 1 stays in this process.
    what : str
        Whose tasks they are, for messages.
    doing : str, optional
        What is said to be going on, in the line that says how many tasks are done.

    Raises
    ------
    OptionError
        If the number is below 1.
    GraphError
        If something cannot be sent to other processes.
    DimtensorError
        If a process ends before its task does.
    """
    number = _number(processes, what)
    number = min(number, len(arguments))
    with Progress(doing or what, len(arguments), wanted=doing is not None) as progress:
        if number <= 1:
            before = _compiled()
            results = []
            for at, argument in enumerate(arguments):
                results.append(task(shared, argument))
                progress(at + 1)
            return results, _compiled() - before
        return _in_processes(task, shared, arguments, number, what, progress)


def _in_processes(
    task: Task,
    shared: Any,
    arguments: Sequence[Any],
    number: int,
    what: str,
    progress: Callable[[int], None],
) -> tuple[list[Any], int]:
    try:
        sent = pickle.dumps((task, shared))
    except Exception as error:  # classes of the user's raise what they like
        raise GraphError(
            build_message(
                f"{what}: the model cannot be sent to other processes",
                [("reason", str(error))],
                "processes=1 stays in this one",
            )
        ) from error
    with tempfile.TemporaryDirectory(prefix="dimtensor-") as folder:
        return _Pool(sent, number, folder, what, progress).run(arguments)


def _compiled() -> int:
    """Count the compilations of this process; interpreted code does not count."""
    return sum(count for backend, count in compilations.items() if backend_of(backend).compiles)


def _number(processes: int | None, what: str) -> int:
    if processes is None:
        return os.process_cpu_count() if hasattr(os, "process_cpu_count") else os.cpu_count() or 1
    check_numbers(what, processes=processes)
    return processes


class _Pool:
    """Workers, each with a thread that hands it tasks."""

    def __init__(
        self, sent: bytes, number: int, folder: str, what: str, progress: Callable[[int], None]
    ):
        self.sent, self.number, self.what, self.progress = sent, number, what, progress
        self.environment = _environment(folder)
        self.waiting: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self.results: dict[int, Any] = {}
        self.errors: list[BaseException] = []
        self.compilations = 0
        self.workers: list[subprocess.Popen[bytes]] = []
        self._lock = freed_in_children(threading.Lock())

    def run(self, arguments: Sequence[Any]) -> tuple[list[Any], int]:
        for pair in enumerate(arguments):
            self.waiting.put(pair)
        first_done = threading.Event()
        threads = [
            threading.Thread(target=self._work, args=(at, first_done)) for at in range(self.number)
        ]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except BaseException as error:
            self._stop(error, first_done)
            for thread in threads:
                if thread.ident is not None:  # an interrupt may come before all are started
                    thread.join()
            raise
        if self.errors:
            raise self.errors[0]
        return [self.results[at] for at in range(len(arguments))], self.compilations

    def _stop(self, error: BaseException, first_done: threading.Event) -> None:
        """End all workers: those who wait for one read that it is gone."""
        with self._lock:
            self.errors.append(error)
            for worker in self.workers:
                worker.kill()
        first_done.set()

    def _work(self, number: int, first_done: threading.Event) -> None:
        if number:  # what the first one compiles is there for all others
            first_done.wait()
        try:
            self._serve_one(first_done)
        except BaseException as error:
            with self._lock:
                self.errors.append(error)
        finally:
            first_done.set()

    def _serve_one(self, first_done: threading.Event) -> None:
        if self.errors:
            return
        with subprocess.Popen(
            [sys.executable, *_options(), "-c", _SERVE, json.dumps(_path()), _PACKAGE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.environment,
        ) as worker:
            try:
                self._hand_out(worker, first_done)
            except (EOFError, BrokenPipeError) as error:
                raise self._ended(worker) from error
            except BaseException:
                worker.kill()
                raise

    def _ended(self, worker: subprocess.Popen[bytes]) -> DimtensorError:
        """Return the error for a worker that ended."""
        assert worker.stdin is not None
        with contextlib.suppress(OSError):  # there may be something left that was not read
            worker.stdin.close()
        try:
            status: int | str = worker.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            worker.kill()
            status = "none, it had to be ended"
        return DimtensorError(
            build_message(
                f"{self.what}: a process ended before its task did",
                [("exit status", status)],
                "what it printed says why; processes=1 stays in this process",
            )
        )

    def _hand_out(self, worker: subprocess.Popen[bytes], first_done: threading.Event) -> None:
        assert worker.stdin is not None
        assert worker.stdout is not None
        with self._lock:
            self.workers.append(worker)
        _write(worker.stdin, self.sent)
        while not self.errors:
            try:
                at, argument = self.waiting.get_nowait()
            except queue.Empty:
                break
            _write(worker.stdin, pickle.dumps(argument))
            fine, result, compiled = pickle.loads(_read(worker.stdout))
            with self._lock:
                if not fine:
                    self.errors.append(result)
                    break
                self.results[at] = result
                self.compilations += compiled
                self.progress(len(self.results))
            first_done.set()
        worker.stdin.close()


def _options() -> list[str]:
    """Options of the interpreter that keep `sys.path` as it is given."""
    unsafe = {"-E": sys.flags.ignore_environment, "-s": sys.flags.no_user_site}
    return ["-P", *(option for option, chosen in unsafe.items() if chosen)]


def _path() -> list[str]:
    """Folders that workers import modules from: those of this process, the current one last.

    It is the first one in notebooks, where files beside the notebook would take the place of
    modules of the same name that this process has imported before.
    """
    folders = [folder for folder in sys.path if isinstance(folder, str)]
    absolute = [folder for folder in folders if os.path.isabs(folder)]
    return [*absolute, *(os.path.abspath(folder) for folder in folders if folder not in absolute)]


def _environment(folder: str) -> dict[str, str]:
    """Return the environment of a worker: one thread for linear algebra, a shared cache."""
    found = inherited()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        found.setdefault(name, "1")
    if not settings().cache:
        # nothing is left behind, but workers compile once for all of them
        found.update(DIMTENSOR_CACHE="1", DIMTENSOR_CACHE_DIR=folder)
    return found


def _write(stream: IO[bytes], content: bytes) -> None:
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def _read(stream: IO[bytes]) -> bytes:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    content = stream.read(length)
    if len(content) < length:
        raise EOFError
    return content


def serve() -> None:
    """Be a worker: read tasks, write results, until there is no more input."""
    own = os.dup(1)
    os.dup2(2, 1)  # what a task prints does not come among the results
    requests = sys.stdin.buffer
    task, shared = pickle.loads(_read(requests))
    before = 0
    with open(own, "wb") as results:
        while True:
            try:
                argument = pickle.loads(_read(requests))
            except EOFError:
                return
            answer: tuple[bool, Any, int]
            try:
                found = task(shared, argument)
                answer = (True, found, _compiled() - before)
            except Exception as error:  # it is raised where the task came from
                answer = (False, error, 0)
            before = _compiled()
            _write(results, _answer(answer))


def _answer(answer: tuple[bool, Any, int]) -> bytes:
    try:
        return pickle.dumps(answer)
    except Exception as error:  # classes of the user's raise what they like
        return pickle.dumps((False, RuntimeError(f"{answer[1]!r} ({error})"), 0))


def options_without(options: Mapping[str, Any], own: Sequence[str], what: str) -> dict[str, Any]:
    """Return the options for the sampler, after checking that none is reserved.

    Raises
    ------
    ArgumentError
        If there is one.
    """
    for name in own:
        if name in options:
            hint = {"draws": ": ranks times thin are drawn"}.get(name, "")
            raise ArgumentError(f"{what} does not take {name!r}{hint}")
    return dict(options)


def check_numbers(what: str, **numbers: Any) -> None:
    """Check that numbers are whole and above 0.

    Raises
    ------
    OptionError
        If one is not.
    """
    for name, number in numbers.items():
        integer = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
        if not integer or number < 1:
            text = f"{what}: {name} is a whole number above 0, not {clipped(plain_repr(number))}"
            raise OptionError(build_message(text, hint=meant_integer(name, number)))
