"""Parallel map over worker processes.

Workers are new interpreters, and not copies of this one: samplers and JAX have threads, which a
copy would lack. They do not run the caller's script, so that it needs no guard.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import SimpleQueue
from subprocess import PIPE, Popen, TimeoutExpired
from typing import Any

from dimtensor.arrays import check_whole
from dimtensor.backends import backend_of
from dimtensor.backends.progress import Progress
from dimtensor.compile.code import compilations
from dimtensor.errors import (
    ArgumentError,
    DimtensorError,
    GraphError,
)
from dimtensor.settings import inherited, settings

Task = Callable[[Any, Any], Any]
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
            f"{what}: the model cannot be sent to other processes",
            [("reason", str(error))],
            "processes=1 stays in this one",
        ) from error
    results: dict[int, Any] = {}
    compiled = 0
    with tempfile.TemporaryDirectory(prefix="dimtensor-") as folder, ExitStack() as stack:
        given = os.path.join(folder, "task")
        Path(given).write_bytes(sent)
        command = [sys.executable, *_options(), "-c", _SERVE, json.dumps(_path()), _PACKAGE, given]
        environment = _environment(folder)
        workers = [
            stack.enter_context(Popen(command, stdin=PIPE, stdout=PIPE, env=environment))
            for _ in range(number)
        ]
        idle: SimpleQueue[Popen[bytes]] = SimpleQueue()
        for worker in workers:
            idle.put(worker)

        def run(at: int) -> tuple[int, Any, int]:
            worker = idle.get()
            try:
                return at, *_answer_of(worker, arguments[at], what)
            finally:
                idle.put(worker)

        threads = stack.enter_context(ThreadPoolExecutor(number))
        try:
            # what the first task compiles is in the cache for all others
            for places in (range(1), range(1, len(arguments))):
                for done in as_completed([threads.submit(run, at) for at in places]):
                    at, results[at], count = done.result()
                    compiled += count
                    progress(len(results))
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.kill()
            raise
    return [results[at] for at in range(len(arguments))], compiled


def _answer_of(worker: Popen[bytes], argument: Any, what: str) -> tuple[Any, int]:
    """Run a task in a worker; return its result and its number of compilations."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    try:
        pickle.dump(argument, worker.stdin)
        worker.stdin.flush()
        fine, result, compiled = pickle.load(worker.stdout)
    except (EOFError, BrokenPipeError, pickle.UnpicklingError) as error:
        raise _ended(worker, what) from error
    if not fine:
        raise result
    return result, compiled


def _ended(worker: Popen[bytes], what: str) -> DimtensorError:
    """Return the error for a worker that ended."""
    assert worker.stdin is not None
    with suppress(OSError):  # what was not read is still in the buffer
        worker.stdin.close()
    try:
        status: int | str = worker.wait(_PATIENCE)
    except TimeoutExpired:
        worker.kill()
        status = "none, it had to be ended"
    return DimtensorError(
        f"{what}: a process ended before its task did",
        [("exit status", status)],
        "what it printed says why; processes=1 stays in this process",
    )


def _compiled() -> int:
    """Count the compilations of this process; interpreted code does not count."""
    return sum(count for backend, count in compilations.items() if backend_of(backend).compiles)


def _number(processes: int | None, what: str) -> int:
    if processes is None:
        return os.process_cpu_count() if hasattr(os, "process_cpu_count") else os.cpu_count() or 1
    check_whole(what, processes=processes)
    return processes


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
    found = inherited() | {"DIMTENSOR_PROGRESS": "0"}  # this process shows the progress of all
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        found.setdefault(name, "1")
    if not settings().cache:
        # nothing is left behind, but workers compile once for all of them
        found.update(DIMTENSOR_CACHE="1", DIMTENSOR_CACHE_DIR=os.path.join(folder, "cache"))
    return found


def serve() -> None:
    """Serve as a worker: read arguments, write results, until there is no more input."""
    own = os.dup(1)
    os.dup2(2, 1)  # what a task prints does not come among the results
    task, shared = pickle.loads(Path(sys.argv[3]).read_bytes())
    with open(own, "wb") as results:
        while True:
            try:
                argument = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            before = _compiled()
            try:
                answer = (True, task(shared, argument), _compiled() - before)
            except Exception as error:  # it is raised where the task came from
                answer = (False, error, 0)
            results.write(_pickled(answer))
            results.flush()


def _pickled(answer: tuple[bool, Any, int]) -> bytes:
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
