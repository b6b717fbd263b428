"""What is kept in memory is bounded, or weak, and can be forgotten."""

from __future__ import annotations

import ast
import gc
import weakref
from pathlib import Path

import numpy as np
import pytest

import dimtensor
import dimtensor as dt
from tests.architecture.imports import modules_of
from tests.architecture.sources import tree

PACKAGE = Path(dimtensor.__file__).parent

# functions of parameters of which there are finitely many, and no user's
FINITE = {
    "dimtensor.kernels.compiler._warn_once": "problems of the platform",
    "dimtensor.kernels.routines.routine": "subroutines of a table",
    "dimtensor.kernels.native.linking.externals._address_of": "functions of SciPy",
    "dimtensor.kernels.native.linking.externals._shared_object": "BLAS and LAPACK",
    "dimtensor.upstream.openblas._loaded_copy": "copies of libraries that stay loaded",
}
# the module that bounds them, and the one below it
OWN = ("dimtensor.caches", "dimtensor.settings")


def unbounded(name, text):
    """Functions at the top of a module or class that keep what they gave without a bound."""
    found = []
    for node in tree(text).body:
        for function in [node, *(node.body if isinstance(node, ast.ClassDef) else ())]:
            decorators = getattr(function, "decorator_list", [])
            kept = {ast.unparse(each).split("(")[0].split(".")[-1] for each in decorators}
            full = f"{name}.{getattr(function, 'name', '')}"
            if "lru_cache" in kept and name not in OWN:
                found.append(f"{full}: use dimtensor.caches.bounded")
            elif "cache" in kept and ast.unparse(function.args) and full not in FINITE:
                found.append(f"{full} keeps everything it is called with")
    return found


CONTAINERS = ("Counter", "OrderedDict", "defaultdict", "deque", "dict", "list", "set")
# All other containers at the top of a module that change, and what they hold.
STATE = {
    "dimtensor.caches._clear": "functions that empty caches",
    "dimtensor.caches._watched": "weak references with what follows when their object is gone",
    "dimtensor.compile.caching.cache._kept": "code by its key, bounded, emptied by clear_caches",
    "dimtensor.compile.code.compilations": "counts for tests",
    "dimtensor.dims.dim.DERIVED": "registry: classes of derived dims",
    "dimtensor.forks._taken": "registry: locks",
    "dimtensor.graph.node.KINDS": "registry: kinds of nodes",
    "dimtensor.hooks._PROVIDERS": "registry: modules with functions of hooks",
    "dimtensor.interop.sampler_threads._running": "threads of samplers that run",
    "dimtensor.interop.watching._watched": "programs that run",
    "dimtensor.kernels.native.functions.workspace._releases": "allocators that are alive",
    "dimtensor.kernels.native.linking.symbols._added": "addresses of functions of libraries",
    "dimtensor.lower.context.RULES": "registry: lowering of kinds",
    "dimtensor.lower.layout.preferences.PREFERENCES": "registry: layouts that kinds prefer",
    "dimtensor.ops.derivatives.rules._AHEAD": "registry: derivatives",
    "dimtensor.ops.derivatives.rules._FLOW": "registry: derivatives",
    "dimtensor.ops.derivatives.rules._FORWARD": "registry: derivatives",
    "dimtensor.ops.derivatives.rules._REVERSE": "registry: derivatives",
    "dimtensor.ops.derivatives.rules._REVERSE_WITH_USES": "registry: derivatives",
    "dimtensor.ops.derivatives.scalars.elementwise._PARTIALS": "registry: derivatives",
    "dimtensor.optimize.rules.table.RULES": "registry: rewrites",
    "dimtensor.plugins.saturation.rules.rule.RULES": "registry: rewrites",
}


def hidden_state(name, text):
    """Empty containers at the top of a module that are no cache of `dimtensor.caches`."""
    found = []
    for node in tree(text).body:
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        value = node.value
        empty = isinstance(value, ast.Dict | ast.List) and not ast.unparse(value)[1:-1]
        called = isinstance(value, ast.Call) and ast.unparse(value.func).split(".")[-1]
        if empty or (called in CONTAINERS and not value.args and not value.keywords):
            found.append(f"{name}.{ast.unparse(target)}")
    return found


def test_hidden_state_is_known():
    found = {
        one
        for name, path in modules_of(PACKAGE).items()
        for one in hidden_state(name, path.read_text())
    }
    assert found - STATE.keys() == set(), "a cache is one of dimtensor.caches"
    modules = modules_of(PACKAGE)  # the folder of a plug-in may be missing
    assert {one for one in STATE.keys() - found if one.rpartition(".")[0] in modules} == set()
    assert hidden_state("m", "_kept: dict[int, int] = {}\nNAMES = {'a': 1}") == ["m._kept"]
    assert hidden_state("m", "_kept = OrderedDict()\n_seen = set()") == ["m._kept", "m._seen"]
    assert not hidden_state("m", "_kept = Recent(count=3, nbytes=100)")


def test_nothing_is_set_on_a_class_of_another_module():
    """Factories that an upper layer has and a lower one needs are hooks."""
    found = []
    for name, path in modules_of(PACKAGE).items():
        text = tree(path.read_text())
        imported = {
            alias.asname or alias.name
            for node in text.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        found += [
            f"{name}: {ast.unparse(node)}"
            for node in text.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Attribute) and ast.unparse(target.value) in imported
        ]
    assert found == ["dimtensor.tensor.core: TensorHandle._class = named_after(DimTensor)"]


def finalizers(name, text):
    """Code of Python that runs when an object dies, which is at any point of a program."""
    found = []
    for node in ast.walk(tree(text)):
        if isinstance(node, ast.FunctionDef) and node.name == "__del__":
            found.append(f"{name}: __del__")
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func).split(".")[-1]
            callback = ast.unparse(node.args[1]) if len(node.args) > 1 else ""
            if called in {"WeakKeyDictionary", "WeakValueDictionary", "WeakSet", "finalize"} or (
                called == "ref" and "lambda" in callback
            ):
                found.append(f"{name}: {ast.unparse(node)}")
    return found


def test_no_code_of_python_runs_when_objects_die():
    found = [
        line
        for name, path in modules_of(PACKAGE).items()
        for line in finalizers(name, path.read_text())
    ]
    assert not found, "an interruption in it is lost; see dimtensor.caches\n" + "\n".join(found)
    assert finalizers("m", "table = weakref.WeakSet()") == ["m: weakref.WeakSet()"]
    assert finalizers("m", "weakref.ref(x, lambda _: print())")
    assert finalizers("m", "class A:\n    def __del__(self): ...")
    assert not finalizers("m", "weakref.ref(x)()")


def unforked(text):
    """Locks that a child of a fork would find held."""
    calls = [node for node in ast.walk(tree(text)) if isinstance(node, ast.Call)]
    known = {
        id(argument)
        for node in calls
        if ast.unparse(node.func) in {"taken_at_forks", "freed_in_children"}
        for argument in node.args
    }
    kinds = {f"threading.{kind}" for kind in ("Lock", "RLock", "Condition", "Semaphore")}
    locks = [node for node in calls if ast.unparse(node.func) in kinds]
    return [ast.unparse(node) for node in locks if id(node) not in known]


def test_forks_leave_no_lock_behind():
    paths = modules_of(PACKAGE)
    found = {name: unforked(path.read_text()) for name, path in paths.items()}
    assert not {name: locks for name, locks in found.items() if locks}, "see dimtensor.forks"
    assert unforked("lock = threading.Lock()") == ["threading.Lock()"]
    assert not unforked("lock = taken_at_forks(threading.Lock(), 1)")


def test_caches_are_bounded():
    found = [
        line
        for name, path in modules_of(PACKAGE).items()
        for line in unbounded(name, path.read_text())
    ]
    assert not found, "\n".join(found)


def test_what_is_not_bounded_is_found():
    assert unbounded("m", "@cache\ndef f(x): ...") == ["m.f keeps everything it is called with"]
    assert unbounded("m", "@functools.lru_cache(maxsize=None)\ndef f(x): ...")
    assert unbounded("m", "class A:\n    @cache\n    def f(self): ...")
    assert not unbounded("m", "@cache\ndef f(): ...")


def test_expressions_that_were_evaluated_are_let_go():
    k = dt.Dim("k")
    x = dt.tensor("x", dims=k)
    y = (x * 41.25 + 2.0).sum()
    assert float(y.eval({x: np.ones(2)})) == 86.5
    node = weakref.ref(y.node)
    del y
    gc.collect()
    assert node() is not None  # it is found again when the cell is run again
    dt.clear_caches()
    gc.collect()
    assert node() is None


def test_evaluated_expressions_of_large_data_are_not_kept():
    gc.collect()
    gc.disable()
    try:
        x = dt.data(np.zeros(5_000_000), dims=dt.Dim("k"))
        y = x.sum()
        assert float(y.eval()) == 0.0
        node = weakref.ref(x.node)
        del x, y
        assert node() is None
    finally:
        gc.enable()


@pytest.mark.compiled
def test_compiled_code_is_let_go(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("DIMTENSOR_CACHE", "1")
    monkeypatch.setenv("DIMTENSOR_CACHE_DIR", str(tmp_path / "file" / "below"))  # memory only
    x = dt.tensor("x", dims=dt.Dim("k"))

    def compiled():
        return dt.function([x], x * 3.75, backend="numba")

    first = compiled()
    assert first(np.ones(2)).values.tolist() == [3.75, 3.75]
    assert compiled().positional.executable is first.positional.executable
    dt.clear_caches()
    again = compiled()
    assert again.positional.executable is not first.positional.executable
    assert first(np.ones(1)).values.tolist() == again(np.ones(1)).values.tolist() == [3.75]


def test_plans_of_one_node_are_few():
    from dimtensor.lower.layout.order import _plans, plan_axes
    from dimtensor.tuning import LAYOUTS_PER_NODE

    a, b = dt.Dim("a"), dt.Dim("b")
    node = (dt.tensor("x", dims=[a, b]) * 7.0).node
    orders = {str(plan_axes([node], {a: n, b: 50})) for n in range(100)}
    assert orders == {"a < b", "b < a"}
    assert len(_plans.get(node)) <= LAYOUTS_PER_NODE


@pytest.mark.parametrize("kind", ["array on a device", "labels of an index"])
def test_what_is_kept_may_outlive_the_names_of_a_module(kind, monkeypatch):
    """While the interpreter ends, globals are None; what raises in a callback is told then."""
    if kind == "labels of an index":
        import pandas as pd

        from dimtensor.values import labeled

        kept = pd.Index(["a", "b"])
        labeled.labels_of(kept)
        monkeypatch.setattr(labeled, "_labels_of_index", None)
    else:
        pytest.importorskip("jax")
        from dimtensor.backends.jax import call

        kept = np.arange(3.0)
        kept.flags.writeable = False
        call.place(kept)
        monkeypatch.setattr(call, "_placed", None)
    gone = weakref.ref(kept)
    told = []
    monkeypatch.setattr("sys.unraisablehook", told.append)
    del kept
    gc.collect()
    assert gone() is None
    assert told == []
