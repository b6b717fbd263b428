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
    "dimtensor.kernels.rules.fortran.routine": "subroutines of a table",
    "dimtensor.kernels.native.linking.externals.address_of": "functions of SciPy",
    "dimtensor.kernels.native.linking.externals._shared_object": "BLAS and LAPACK",
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


def unregistered(name, text):
    """Containers at the top of a module that something is put into, and nothing empties."""
    found = []
    for node in tree(text).body:
        target = node.target if isinstance(node, ast.AnnAssign) else None
        if not isinstance(target, ast.Name) or not target.id.startswith("_"):
            continue
        value = ast.unparse(node.value) if node.value is not None else ""
        if value not in ("{}", "OrderedDict()"):
            continue
        cleared = f"clears({target.id}.clear)" in text or f"    {target.id}.clear()" in text
        if not cleared and name not in TABLES:
            found.append(f"{name}.{target.id}")
    return found


# tables that are filled when modules are imported, one of programs that run, one of functions of
# other libraries, two of objects that are alive
TABLES = (
    "dimtensor.caches",
    "dimtensor.kernels.native.functions.workspace",
    "dimtensor.interop.watching",
    "dimtensor.kernels.native.linking.symbols",
    "dimtensor.ops.derivatives.rules",
    "dimtensor.ops.derivatives.scalars.elementwise",
)


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


@pytest.mark.parametrize("look", [unbounded, unregistered])
def test_caches_are_bounded_and_can_be_emptied(look):
    found = [
        line for name, path in modules_of(PACKAGE).items() for line in look(name, path.read_text())
    ]
    assert not found, "\n".join(found)


def test_what_is_not_bounded_is_found():
    assert unbounded("m", "@cache\ndef f(x): ...") == ["m.f keeps everything it is called with"]
    assert unbounded("m", "@functools.lru_cache(maxsize=None)\ndef f(x): ...")
    assert unbounded("m", "class A:\n    @cache\n    def f(self): ...")
    assert not unbounded("m", "@cache\ndef f(): ...")
    assert unregistered("m", "_kept: dict[int, int] = {}") == ["m._kept"]
    assert not unregistered("m", "_kept: dict[int, int] = {}\nclears(_kept.clear)")


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
    from dimtensor.lower.layout.order import _PLANS_OF_A_NODE, _plans, plan_axes

    a, b = dt.Dim("a"), dt.Dim("b")
    node = (dt.tensor("x", dims=[a, b]) * 7.0).node
    orders = {str(plan_axes([node], {a: n, b: 50})) for n in range(100)}
    assert orders == {"a < b", "b < a"}
    assert len(_plans.get(node)) <= _PLANS_OF_A_NODE


@pytest.mark.parametrize("kind", ["array on a device", "labels of an index"])
def test_what_is_kept_may_outlive_the_names_of_a_module(kind, monkeypatch):
    """While the interpreter ends, globals are None; what raises in a callback is told then."""
    if kind == "labels of an index":
        import pandas as pd

        from dimtensor.values import labelled

        kept = pd.Index(["a", "b"])
        labelled.labels_of(kept)
        monkeypatch.setattr(labelled, "_labels_of_index", None)
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
