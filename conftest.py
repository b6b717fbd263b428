"""The environment that tests and doctests run in, set before PyTensor or JAX is imported.

It lies in the root because the doctests of ``dimtensor/`` need it as much as ``tests/``.
"""

from __future__ import annotations

import gc
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule

# A rewrite that raises would be logged and skipped by default, and the test would pass on the
# slower or wrong graph that is left.
_STRICT = "on_opt_error=raise"
# Where a variable was made takes a fifth of the time of making it, and nobody asks.
_STRICT += ",traceback__limit=0"
os.environ["PYTENSOR_FLAGS"] = ",".join(filter(None, [os.environ.get("PYTENSOR_FLAGS"), _STRICT]))
# Matrices here have a few rows. OpenBLAS shares each triangular solve of NumPy and SciPy among its
# threads, which wait for each other in busy loops on the cores that the other workers run on: of
# three rows a call takes 50 times longer. Kernels call a copy without threads, whatever is set:
# `test_blas_threads` and `test_a_seed_gives_the_same_draws` run programs with more threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Results do not depend on the machine's accelerator, unless a run asks for one.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Half of the time of most tests that compile is LLVM's, and theirs are arrays of a few elements. So
# code is hardly optimized where nothing else is asked for; it is as for users in the profiles of
# the long tests and of CI, and always in the tests of the kernel compiler.
_QUICK = os.environ.get("HYPOTHESIS_PROFILE", "dev") == "dev"
_TESTS = Path(__file__).parent / "tests"
_COMPILER = (_TESTS / "kernels", _TESTS / "optimize")
if _QUICK:
    os.environ.setdefault(
        "XLA_FLAGS",
        "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true",
    )
# Nothing is left in the user's cache, nor taken from there; tests of caches name a folder.
os.environ.setdefault("DIMTENSOR_CACHE", "0")
# Output is compared, also where a test takes so long that it would report its progress.
os.environ.setdefault("DIMTENSOR_PROGRESS", "0")
# Figures are written, never shown.
os.environ.setdefault("MPLBACKEND", "agg")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Say how code can be run that is optimized as on another machine."""
    what = "optimize machine code for a processor that LLVM knows by name, and run it on this one"
    parser.addoption("--processor", metavar="NAME", help=what)
    what = "processors, with commas, that share the cases of tests by turns: each day half of two"
    parser.addoption("--sharing", metavar="NAMES", default="", help=what)
    what = "of tests with many cases, run those whose turn it is today: all of them in so many days"
    parser.addoption("--days", metavar="N", type=int, default=1, help=what)


def pytest_configure(config: pytest.Config) -> None:
    """Import the package before a test module of it is collected.

    The function ``dt.tensor`` has the name of a folder; pytest would put the folder in its place.
    PyTensor raises the limit of recursion when it is imported, which hypothesis does not take in
    the middle of a test.
    """
    import pytensor  # noqa: F401

    import dimtensor  # noqa: F401

    if processor := config.getoption("processor"):
        from tests import processors

        if processors.are_known():
            processors.prepare(processor)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say which processor code is optimized for and which day's cases run, where asked for."""
    from tests import effort, processors

    found = []
    if asked := config.getoption("processor"):
        said = f"for {asked}" if processors.are_known() else f"{asked} is of another family"
        found.append(f"machine code: {said}")
    if config.getoption("days") > 1:
        found.append(f"cases of DIMTENSOR_DAY={effort.DAY}")
    return found


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what does not depend on the processor, and cases that have their turn later."""
    kept = [item for item in items if _has_its_plugins(item)]
    if config.getoption("processor"):
        from tests import processors

        kept = [item for item in kept if processors.depends_on_it(item)]
        sharing = config.getoption("sharing").split(",")
        kept = processors.in_turn(kept, config.getoption("processor"), sharing)
    if (days := config.getoption("days")) > 1:
        from tests import effort

        kept = effort.of_today(kept, days)
    # a long test that starts last runs alone: the other workers have nothing left to do
    kept = sorted(kept, key=lambda item: item.get_closest_marker("fuzz") is None)
    chosen = set(kept)
    if dropped := [item for item in items if item not in chosen]:
        config.hook.pytest_deselected(items=dropped)
    items[:] = kept


_PLUGINS = Path(__file__).parent / "dimtensor" / "plugins"


# examples of methods that a plug-in computes
_EXAMPLES = {"dimtensor.model.model.Model.to_graph": "pictures"}


def _has_its_plugins(item: pytest.Item) -> bool:
    """Whether the folders of the plug-ins that a test is marked with are there."""
    needed = [mark.args[0] for mark in item.iter_markers("plugin")]
    needed += [_EXAMPLES[item.name]] if item.name in _EXAMPLES else []
    return all((_PLUGINS / name).is_dir() for name in needed)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the folder of tests of a plug-in that is not there."""
    folder = collection_path.parent
    of_plugin = folder.name == "plugins" and folder.parent.name == "tests"
    return True if of_plugin and not (_PLUGINS / collection_path.name).is_dir() else None


# new objects between two runs of the garbage collector
_YOUNG = 20_000


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Iterator[list[pytest.Collector]]:
    """Look for examples in docstrings of the package only: tests have none."""
    found = yield
    if file_path.is_relative_to(_TESTS):
        return [each for each in found if not isinstance(each, DoctestModule)]
    return found


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect no garbage while tests are collected: all that is made stays.

    A property runs before: with the first one hypothesis 6.120 looks for what refers to its
    generator of numbers, among all objects, and does not see those that are frozen later.
    """
    if importlib.util.find_spec("hypothesis"):
        from hypothesis import given, settings, strategies

        settings(max_examples=1, database=None)(given(strategies.none())(lambda _: None))()
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Look no more, whenever garbage is collected, at what lives as long as the process.

    Libraries and ten thousand collected tests took an eighth of the time of a run. The objects of a
    test are few beside those that expressions and graphs share, so garbage is looked for a tenth as
    often, which takes another twentieth.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG)


# Libraries that are brought by extras: a test that needs one skips where it is not installed.
_OPTIONAL = (
    "arviz",
    "blackjax",
    "dask",
    "distributed",
    "jax",
    "jaxlib",
    "matplotlib",
    "numpyro",
    "nutpie",
    "pymc",
)


def _missing(error: BaseException) -> str | None:
    """Which optional library an error says to be missing, if that is so."""
    name = (getattr(error, "name", None) or "").split(".")[0]
    if name not in _OPTIONAL:
        return None
    try:
        return name if importlib.util.find_spec(name) is None else None
    except ImportError:
        return name


# what machine code did not cover in a test that is marked for that
_LEFT = pytest.StashKey[list[str]]()
# how many blocks of code are optimized at most
_MOST_BLOCKS = pytest.StashKey[int]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Skip a test with the message that a user gets without a library."""
    try:
        yield
        if not item.stash.get(_LEFT, ["strict"]):
            pytest.fail("nothing here is left to numba or to the interpreter: no `falls_back`")
        return
    except ImportError as error:
        if _missing(error) is None:
            raise
        pytest.skip(str(error))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Skip a test whose fixtures lack a library, with the message that a user gets."""
    try:
        return (yield)
    except ImportError as error:
        if _missing(error) is None:
            raise
        pytest.skip(str(error))


def _is_of_compiler(folder: Path) -> bool:
    return any(folder.is_relative_to(each) for each in _COMPILER)


@pytest.fixture(autouse=True, scope="module")
def _code_is_made_quickly(request: pytest.FixtureRequest) -> Iterator[None]:
    """Send all machine code the way of what is too long to be optimized."""
    from dimtensor.kernels.native import machine

    with pytest.MonkeyPatch.context() as patch:
        folder = request.path.parent
        request.config.stash.setdefault(_MOST_BLOCKS, machine.OPTIMIZED_BLOCKS)
        if _QUICK and (folder.name in ("rules", "loops") or not _is_of_compiler(folder)):
            patch.setattr(machine, "OPTIMIZED_BLOCKS", 0)
        yield


@pytest.fixture
def optimized_code(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code as users get it, for what a test looks at that depends on it: digits of long sums."""
    from dimtensor.kernels.native import machine

    monkeypatch.setattr(machine, "OPTIMIZED_BLOCKS", request.config.stash[_MOST_BLOCKS])


@pytest.fixture(autouse=True)
def _no_fallback_unless_marked(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Make an error of what machine code does not cover, but in tests marked with `falls_back`.

    In these it is an error if there is nothing, but in long ones, of programs of which some have.
    """
    if _may_fall_back(request.node):
        if not any(request.node.get_closest_marker(name) for name in ("slow", "fuzz")):
            request.node.stash[_LEFT] = _noted(monkeypatch)
        return
    monkeypatch.setenv("DIMTENSOR_STRICT_KERNELS", "1")
    if not os.environ.get("DIMTENSOR_NATIVE"):
        monkeypatch.setenv("DIMTENSOR_NATIVE", "strict")


def _may_fall_back(item: pytest.Item) -> bool:
    """Whether a test is marked, and runs on the backend that has kernels."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    marked = item.get_closest_marker("falls_back") is not None
    return marked and parameters.get("backend", "native") in ("native", "numba")


def _noted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Reasons of kernels for being left to numba, and of graphs for being interpreted."""
    from dimtensor.kernels import compiler
    from dimtensor.optimize.plan import UnsupportedGraph

    found: list[str] = []
    native, refused = compiler.Kernel._native, UnsupportedGraph.__init__

    def compiled(kernel: compiler.Kernel) -> object:
        made = native(kernel)
        if made is None:
            found.append(str(kernel.left_to_numba))
        return made

    def refuse(error: UnsupportedGraph, *reason: object) -> None:
        found.append(str(reason))
        refused(error, *reason)

    monkeypatch.setattr(compiler.Kernel, "_native", compiled)
    monkeypatch.setattr(UnsupportedGraph, "__init__", refuse)
    return found


@pytest.fixture(autouse=True)
def _names_of_the_documentation(doctest_namespace: dict[str, object]) -> None:
    """Provide names that docstring examples may use without importing them."""
    import numpy as np

    import dimtensor as dt

    doctest_namespace["dt"] = dt
    doctest_namespace["np"] = np
