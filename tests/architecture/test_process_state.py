"""State of the process belongs to the user: it is set for a scope, in few places, or not at all."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import dimtensor as dt
from tests.architecture.imports import modules_of
from tests.architecture.sources import nodes
from tests.backend_names import COMPILED
from tests.hostile.injection import state

PACKAGE = Path(dt.__file__).parent
# calls and assignments that change the process
CALLS = {
    "gc.set_threshold", "gc.freeze", "gc.disable", "gc.enable", "llvm.set_option", "signal.signal",
    "os.environ.update", "os.environ.pop", "os.putenv", "os.chdir", "os.umask", "np.seterr",
    "sys.setrecursionlimit", "sys.setswitchinterval", "jax.config.update", "config.parse_flags",
    "xr.set_options", "locale.setlocale", "warnings.resetwarnings",
}  # fmt: skip
ASSIGNED = ("os.environ[", "config.", "jax.config.", "traced.val", "sys.excepthook", "sys.path")
# where, and the scope at whose end the former state is back
SCOPES = {
    "backends.jax jax.config.update": "the import of PyTensor's translation to JAX, which sets it",
    "compile.code gc.set_threshold": "compilation",
    "compile.code traced.val": "compilation",
    "extras signal.signal": "the import of an optional library",
    "kernels.native.machine llvm.set_option": "an optimization of LLVM's, under a lock",
    "model.checking.processes signal.signal": "the whole of a worker process",
    "settings os.environ.update": "the import of PyTensor",
    "settings os.environ[": "the import of PyTensor",
}


def changes(name: str, text: str) -> set[str]:
    """Changes of the process in a module."""
    found = set()
    for node in nodes(text, ast.Call, ast.Assign, ast.Delete):
        if isinstance(node, ast.Call):
            found |= {ast.unparse(node.func)} & CALLS
        else:
            for target in node.targets:
                written = ast.unparse(target)
                found |= {start for start in ASSIGNED if written.startswith(start)}
    return {f"{name.removeprefix('dimtensor.')} {each}" for each in found}


def test_few_places_change_the_process():
    found = {
        each
        for name, path in modules_of(PACKAGE).items()
        for each in changes(name, path.read_text())
    }
    # the code of worker processes is a string
    found.add("model.checking.processes signal.signal")
    assert found == SCOPES.keys()


def test_a_change_of_the_process_is_found():
    assert changes("dimtensor.a", "import gc\ngc.set_threshold(9)") == {"a gc.set_threshold"}
    assert changes("dimtensor.a", "os.environ['A'] = 'b'") == {"a os.environ["}
    assert changes("dimtensor.a", "config.floatX = 'float32'") == {"a config."}
    assert changes("dimtensor.a", "with config.change_flags(mode=m): pass") == set()


@pytest.mark.parametrize("backend", ["python", *COMPILED])
def test_compilation_leaves_the_process_as_it_was(backend):
    x = dt.tensor("x", dims=dt.Dim("k", length=3))

    def run(factor: float) -> None:
        loss = (dt.exp(x * factor) ** 2).sum()
        f = dt.function([x], [loss, dt.grad(loss, x)], backend)
        np.testing.assert_allclose(f(np.zeros(3))[0], 3.0)

    run(0.25)  # imports of libraries are done
    before = state()
    run(0.75)
    assert state() == before


@pytest.mark.compiled
def test_options_of_llvm_are_set_back(monkeypatch):
    from dimtensor.kernels.native import machine

    made: list[str] = []
    set_option = machine.llvm.set_option
    monkeypatch.setattr(
        machine.llvm,
        "set_option",
        lambda name, value: (made.append(value), set_option(name, value)),
    )
    monkeypatch.setattr(machine, "OPTIMIZED_BLOCKS", 8_000)
    monkeypatch.setattr(machine, "STRENGTH_REDUCED_LOOPS", 0)  # loops are many
    x = dt.tensor("x", dims=dt.Dim("k"))
    dt.function([x], (dt.exp(x * 0.3125) ** 2).sum(), "native")(np.zeros(3))
    assert made
    last = dict(each.split("=") for each in made)
    assert last == {name: "false" if name == machine._KEEPS_COUNTERS else "true" for name in last}
