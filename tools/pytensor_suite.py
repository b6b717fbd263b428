"""PyTensor's own tests, run in the mode that `dimtensor.pytensor_mode` gives.

The tests are not part of this repository. Get the sources of PyTensor, at the tag of the version
that is installed (``python -c "import pytensor; print(pytensor.__version__)"``) or one next to it::

    git clone --depth 1 --branch rel-3.3.8 https://github.com/pymc-devs/pytensor /tmp/pytensor
    .venv/bin/python tools/pytensor_suite.py --source /tmp/pytensor

The tests of that tree run against the installed PyTensor. Wherever a test leaves the mode open, or
asks for ``FAST_RUN``, it gets ours; what asks for another one by name (C, JAX, FAST_COMPILE) runs
as it is. What fails is run once more in PyTensor's own default mode: only what passes there is a
difference. The differences are compared with ``tools/pytensor_suite.toml``, which has a reason for
each.

The exit status is 0 if there are no others, 1 if there are, 2 if the tests could not be run. With
``--all-listed``, a test of the list that passes counts as well. A test that takes the processor
longer than ``--seconds`` fails. ``--quick`` does not optimize machine code, which is most of the
time. The whole list takes hours: with ``--keep FILE`` what a module gives is written to a file, and
the same command, given again after an end before its time, runs the modules that are left.

A module that imports what the installed version does not have any more is collected all the same:
the tests that use such a name are skipped.

Seen whole with ``--quick --seconds 120``, PyTensor 3.3.8 and a tree next to it
(rel-3.3.0-10-gf857e6961): of the tests of the 58 modules below 70 differ as listed, 104 fail
in PyTensor's mode as well, and there are no other differences; the status is 0. It took an hour and
a half beside other work.

Not among those that run by default, for their length: scan/test_basic.py (142 pass, 5 differ as
listed), and test_linear_control of tensor/linalg/test_solvers (26 pass, 1 differs as listed, 1
fails in PyTensor's mode as well).
"""

from __future__ import annotations

import argparse
import ast
import fnmatch
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
import warnings
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NoReturn

# those whose differences have been judged; others can be named
MODULES = (
    "scan/test_checkpoints.py",
    "scan/test_utils.py",
    "scan/test_views.py",
    "tensor/linalg/test_constructors.py",
    "tensor/linalg/test_decomposition/test_cholesky.py",
    "tensor/linalg/test_decomposition/test_eigen.py",
    "tensor/linalg/test_decomposition/test_lu.py",
    "tensor/linalg/test_decomposition/test_qr.py",
    "tensor/linalg/test_decomposition/test_schur.py",
    "tensor/linalg/test_decomposition/test_svd.py",
    "tensor/linalg/test_inverse.py",
    "tensor/linalg/test_products.py",
    "tensor/linalg/test_solvers/test_general.py",
    "tensor/linalg/test_solvers/test_lstsq.py",
    "tensor/linalg/test_solvers/test_psd.py",
    "tensor/linalg/test_solvers/test_triangular.py",
    "tensor/linalg/test_summary.py",
    "tensor/random/test_basic.py",
    "tensor/random/test_op.py",
    "tensor/random/test_type.py",
    "tensor/random/test_utils.py",
    "tensor/random/test_variable.py",
    "tensor/test_basic.py",
    "tensor/test_blas.py",
    "tensor/test_blockwise.py",
    "tensor/test_casting.py",
    "tensor/test_complex.py",
    "tensor/test_einsum.py",
    "tensor/test_elemwise.py",
    "tensor/test_extra_ops.py",
    "tensor/test_fft.py",
    "tensor/test_fourier.py",
    "tensor/test_functional.py",
    "tensor/test_keepdims.py",
    "tensor/test_math.py",
    "tensor/test_reshape.py",
    "tensor/test_shape.py",
    "tensor/test_sort.py",
    "tensor/test_special.py",
    "tensor/test_subtensor.py",
    "tensor/test_xlogx.py",
    "test_basic.py",
    "test_breakpoint.py",
    "test_gradient.py",
    "test_ifelse.py",
    "test_raise_op.py",
    "test_rop.py",
    "xtensor/random/test_basic.py",
    "xtensor/random/test_type.py",
    "xtensor/random/test_variable.py",
    "xtensor/test_basic.py",
    "xtensor/test_indexing.py",
    "xtensor/test_linalg.py",
    "xtensor/test_math.py",
    "xtensor/test_reduction.py",
    "xtensor/test_shape.py",
    "xtensor/test_signal.py",
    "xtensor/test_type.py",
    "xtensor/test_vectorization.py",
)
LIST = Path(__file__).with_suffix(".toml")
_MODE, _RECORD, _SECONDS, _QUICK = (
    f"PYTENSOR_SUITE_{name}" for name in ("MODE", "RECORD", "SECONDS", "QUICK")
)


# -- what runs inside of pytest --------------------------------------------------------------------


def pytest_configure(config):
    """Make the mode the default of the process."""
    if os.environ.get(_MODE) != "dimtensor":
        return
    import pytensor
    from pytensor.compile.mode import predefined_modes

    import dimtensor

    if os.environ.get(_QUICK):
        from dimtensor.kernels.native import machine

        machine.OPTIMIZED_BLOCKS = 0
    mode = dimtensor.pytensor_mode()
    pytensor.config.mode = mode
    predefined_modes["FAST_RUN"] = mode  # looked up before the choice by linker


class _TooLong(Exception):
    pass


def pytest_runtest_setup(item):
    _write("started", item.nodeid)
    if hasattr(signal, "setitimer"):

        def stop(*_):
            raise _TooLong("the test takes too long")

        signal.signal(signal.SIGPROF, stop)
        seconds = int(os.environ[_SECONDS])
        signal.setitimer(signal.ITIMER_PROF, seconds, seconds)  # again where that is swallowed


def pytest_runtest_teardown(item):
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, 0)


def pytest_runtest_logreport(report):
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        text = crash.message if crash is not None else str(report.longrepr)
        _write("failed", report.nodeid, text.strip().split("\n")[0][:200])
    elif report.skipped and hasattr(report, "wasxfail"):
        _write("expected", report.nodeid, report.wasxfail)
    elif report.passed and report.when == "call":
        _write("passed", report.nodeid)


def pytest_collectreport(report):
    if report.failed:
        _write("failed", report.nodeid, "not collected: " + str(report.longrepr)[-200:])


class Gone:
    """What stands in a module of tests for a name that the installed PyTensor does not have."""

    def __init__(self, name: str):
        self._name = name

    def _skip(self, *_: Any, **__: Any) -> NoReturn:
        import pytest

        pytest.skip(f"the installed PyTensor has no {self._name}")

    __call__ = __eq__ = __instancecheck__ = _skip
    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self._skip()


def _write(*entry):
    with open(os.environ[_RECORD], "a") as file:
        file.write(json.dumps(entry) + "\n")


# -- what runs pytest ------------------------------------------------------------------------------


class Suite:
    """A copy of the tests, without PyTensor's sources beside them."""

    def __init__(self, source: Path, folder: Path, seconds: int, quick: bool):
        shutil.copytree(source / "tests", folder / "tests")
        (folder / "pytest.ini").write_text("[pytest]\nxfail_strict = false\n")
        self.folder, self.seconds, self.quick = folder, seconds, quick

    def make_importable(self, module: str) -> None:
        """Have a module of the copy import what there is, and stand-ins for the rest."""
        path = self.folder / module
        if not path.is_file():
            return
        text = path.read_text()
        lines = text.splitlines()
        for node in reversed(ast.parse(text).body):
            gone = _names_gone(node) if isinstance(node, ast.ImportFrom) else set()
            if not gone:
                continue
            kept = [ast.unparse(alias) for alias in node.names if alias.name not in gone]
            new = [f"from {node.module} import {', '.join(kept)}"] if kept else []
            new.append(f"from {Path(__file__).stem} import Gone")
            for alias in node.names:
                if alias.name in gone:
                    name = f"{node.module}.{alias.name}"
                    new.append(f"{alias.asname or alias.name} = Gone({name!r})")
            lines[node.lineno - 1 : node.end_lineno] = new
        path.write_text("\n".join(lines) + "\n")

    def run(self, mode: str, tests: list[str]) -> tuple[dict[str, str], set[str]]:
        """Return the failing tests with one-line reasons, and the passing tests.

        A test that PyTensor expects to fail fails in PyTensor's mode. Whether it is expected to can
        depend on the mode: many are by the linker.
        """
        record = self.folder / "record"
        record.write_text("")
        paths = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {
            _MODE: mode,
            _RECORD: str(record),
            _SECONDS: str(self.seconds),
            _QUICK: "1" if self.quick else "",
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONSAFEPATH": "1",
        }
        if self.quick:
            environment["NUMBA_OPT"] = "0"  # of what PyTensor's numba code does for us
        command = [sys.executable, "-m", "pytest", "-q", "-p", Path(__file__).stem]
        command += ["--no-header", "--tb=no", "--color=no", "-r", "N"]
        done = subprocess.run(
            [*command, *tests], cwd=self.folder, env=environment, stdout=subprocess.DEVNULL
        )
        failed: dict[str, str] = {}
        passed: set[str] = set()
        last = ""
        for line in record.read_text().splitlines():
            what, test, *text = json.loads(line)
            if what == "started":
                last = test
            elif what == "passed":
                passed.add(test)
            elif what == "failed" or mode == "pytensor":
                failed[test] = text[0]
        if done.returncode not in (0, 1, 5):
            failed[last or tests[0]] = f"pytest ended with status {done.returncode}"
        return failed, passed - set(failed)


def _names_gone(node: ast.ImportFrom) -> set[str]:
    """Names that an import asks of PyTensor, and which it does not have."""
    if node.level or not (node.module or "").startswith("pytensor."):
        return set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name that is about to go is there
        try:
            there = importlib.import_module(str(node.module))
        except ImportError:  # a module that needs what is not installed
            return set()
        return {alias.name for alias in node.names if not _has(there, alias.name)}


def _has(module: Any, name: str) -> bool:
    if hasattr(module, name):
        return True
    try:
        importlib.import_module(f"{module.__name__}.{name}")
    except ImportError:
        return False
    return True


Result = tuple[dict[str, str], set[str], int]


class Kept:
    """What modules gave, in a file; that of another version of PyTensor counts for nothing."""

    def __init__(self, path: Path | None):
        self.path = path
        self.version = metadata.version("pytensor")
        self.found: dict[str, Result] = {}
        if path is not None and path.is_file():
            for line in path.read_text().splitlines():
                version, module, ours, passed, both = json.loads(line)
                if version == self.version:
                    self.found[module] = ours, set(passed), both

    def add(self, module: str, result: Result) -> None:
        if self.path is not None:
            ours, passed, both = result
            with self.path.open("a") as file:
                entry = (self.version, module, ours, sorted(passed), both)
                file.write(json.dumps(entry) + "\n")


def differences(suite: Suite, module: str) -> Result:
    """Compare modes: tests that fail in ours only, tests that pass, and failures in both."""
    suite.make_importable(module.partition("::")[0])
    failed, passed = suite.run("dimtensor", [module])
    if not failed:
        return {}, passed, 0
    inner = [test for test in failed if "::" in test]
    theirs = suite.run("pytensor", inner or [module])[0]
    ours = {test: text for test, text in failed.items() if test not in theirs}
    return ours, passed, len(failed) - len(ours)


def listed() -> dict[str, str]:
    """Patterns of tests, and why they differ."""
    entries = tomllib.loads(LIST.read_text())["difference"]
    return {pattern: entry["reason"] for entry in entries for pattern in entry["tests"]}


def matching(test: str, patterns: dict[str, str]) -> Iterator[str]:
    for pattern in patterns:
        escaped = pattern.replace("[", "[[]")
        if fnmatch.fnmatchcase(test.removeprefix("tests/"), escaped):
            yield pattern


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--source", type=Path, required=True, help="a work tree of PyTensor")
    parser.add_argument("--seconds", type=int, default=180, help="of the processor, for a test")
    parser.add_argument("--quick", action="store_true", help="machine code as it comes")
    parser.add_argument("--all-listed", action="store_true", help="what is listed must differ")
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="what modules give; those in it are not run"
    )
    parser.add_argument(
        "modules", nargs="*", default=MODULES, help="below tests/, such as tensor/test_math.py"
    )
    options = parser.parse_args()
    if not (options.source / "tests" / "unittest_tools.py").is_file():
        print(f"{options.source} has no tests of PyTensor", file=sys.stderr)
        return 2
    patterns, used, unknown = listed(), set(), 0
    ran: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(options.source, Path(folder) / "suite", options.seconds, options.quick)
        kept = Kept(options.keep)
        for module in options.modules:
            if module not in kept.found:
                kept.found[module] = differences(suite, f"tests/{module}")
                kept.add(module, kept.found[module])
            ours, passed, both = kept.found[module]
            new = {test: text for test, text in ours.items() if not any(matching(test, patterns))}
            used |= {pattern for test in ours for pattern in matching(test, patterns)}
            ran |= {pattern for test in passed for pattern in matching(test, patterns)}
            unknown += len(new)
            print(
                f"{module}: {len(passed)} pass, {len(ours) - len(new)} differ as listed, "
                f"{both} fail in PyTensor's mode as well, {len(new)} differ",
                flush=True,
            )
            for test, text in new.items():
                print(f"    {test.removeprefix('tests/')}\n        {text}", flush=True)
    needless = sorted(ran - used) if options.all_listed else []
    for pattern in needless:
        print(f"no test differs any more: {pattern}")
    return 1 if unknown or needless else 0


if __name__ == "__main__":
    sys.exit(main())
