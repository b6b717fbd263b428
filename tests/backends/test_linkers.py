"""PyTensor's own linkers compile graphs with our loops."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import warnings
from contextlib import nullcontext

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

import dimtensor as dt
from dimtensor.upstream.imports import after_import, left_out

TIME = dt.Dim("time", length=5)
SPACE = dt.Dim("space", length=6)
PROGRAM = """
import sys
import numpy as np
import pytensor
import dimtensor as dt

time = dt.Dim("time", length=5)
rho = dt.scalar("rho")
_, path = dt.scan(lambda x, z: (rho * x + z,) * 2, dt.data(1.0), dt.ones(time), dim=time)
_, total = dt.while_loop(lambda s: s[1] < 9.0, lambda s: (s[0], s[0] + s[1]), (rho, rho), 50)
outputs = [path.to_shaped([time]), total.to_shaped([])]
(given,) = {v for out in outputs for v in pytensor.graph.traversal.explicit_graph_inputs([out])}
assert "pytensor.link.jax.dispatch" not in sys.modules
f = pytensor.function([given], outputs, mode="JAX")
found = f(0.5)
np.testing.assert_allclose(found[0], [1.5, 1.75, 1.875, 1.9375, 1.96875])
assert found[1] == 9.0
"""


@pytest.mark.slow
def test_jax_learns_loops_when_it_is_imported_later():
    pytest.importorskip("jax")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.compiled
@pytest.mark.slow
def test_numba_runs_loops_without_python():
    rho = dt.scalar("rho")
    z = dt.data(np.arange(5.0), dims=TIME)
    last, path = dt.scan(lambda x, z: (dt.tanh(rho * x + z),) * 2, dt.data(1.0), z, dim=TIME)
    slope = dt.grad(path.sum() + last, rho)
    outputs = [path.to_shaped([TIME]), last.to_shaped([]), slope.to_shaped([])]
    (given,) = pytensor.graph.traversal.explicit_graph_inputs(outputs[:1])
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Numba will use object mode")
        f = pytensor.function([given], outputs, mode="NUMBA")

    def expected(rho):
        x, found = 1.0, []
        for each in range(5):
            x = np.tanh(rho * x + each)
            found.append(x)
        return np.array(found)

    found = f(0.3)
    np.testing.assert_allclose(found[0], expected(0.3), rtol=1e-12)
    np.testing.assert_allclose(found[1], expected(0.3)[-1], rtol=1e-12)
    above, below = (expected(0.3 + h) for h in (1e-6, -1e-6))
    wanted = ((above - below).sum() + (above - below)[-1]) / 2e-6
    np.testing.assert_allclose(found[2], wanted, rtol=1e-7)


def operations(x):
    """What is made of operations of ours that are no loops."""
    group_of = dt.data([0, 1, 0, 2, 1, 2], dims=SPACE, categories=dt.Dim("group", length=3))
    weights = dt.data([1.0, 2.0], dims=dt.Dim("weight", length=2))
    return {
        "condition": dt.if_else(x.sum() > 2.0, lambda: (x**2).sum(), lambda: (x**3).sum()),
        "groups": x.groupby(group_of).max().sum(),
        "dft": (dt.abs(dt.fft.fft(x)) ** 4).sum(),
        "half": (dt.abs(dt.fft.rfft(x)) ** 3).sum(),
        "convolution": (dt.convolve(x, weights, SPACE) ** 2).sum(),
    }


def expected_operations(x):
    return [
        (x**2).sum() if x.sum() > 2.0 else (x**3).sum(),
        max(x[0], x[2]) + max(x[1], x[4]) + max(x[3], x[5]),
        (np.abs(np.fft.fft(x)) ** 4).sum(),
        (np.abs(np.fft.rfft(x)) ** 3).sum(),
        (np.convolve(x, [1.0, 2.0]) ** 2).sum(),
    ]


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("mode", ["NUMBA", "JAX"])
def test_other_operations_run_without_python(mode):
    exact = pytest.importorskip("jax").enable_x64(True) if mode == "JAX" else nullcontext()
    given = pt.tensor("x", shape=(6,), dtype="float64")
    values = [v.to_shaped([]) for v in operations(dt.from_shaped(given, [SPACE])).values()]
    with warnings.catch_warnings(), exact:
        warnings.filterwarnings("error", "Numba will use object mode")
        warnings.filterwarnings("ignore", "Skipping Assert")  # of JAX, which has none
        slopes = [pytensor.grad(v, given) for v in values]
        f = pytensor.function([given], [*values, *slopes], mode=mode)
        for x in (np.array([0.3, -1.2, 2.0, 0.7, -0.4, 1.1]), np.linspace(-1.0, 0.5, 6)):
            found = f(x)
            wanted = np.array(expected_operations(x))
            np.testing.assert_allclose(found[: len(values)], wanted, rtol=1e-12)
            steps = 1e-6 * np.eye(6)
            each = [
                np.subtract(expected_operations(x + h), expected_operations(x - h)) for h in steps
            ]
            numeric = np.transpose(each) / 2e-6
            np.testing.assert_allclose(found[len(values) :], numeric, rtol=1e-6, atol=1e-6)


def test_something_is_done_when_a_module_is_imported(tmp_path, monkeypatch):
    name, done = "module_that_is_imported_late", []
    (tmp_path / f"{name}.py").write_text("x = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    after_import(name, lambda: done.append(sys.modules[name].x))
    assert done == []
    module = importlib.import_module(name)
    assert done == [3]
    assert type(module.__spec__.loader).__name__ == "SourceFileLoader"
    importlib.reload(module)
    assert done == [3]
    after_import(name, lambda: done.append("at once"))
    assert done == [3, "at once"]
    assert not any(getattr(finder, "name", None) == name for finder in sys.meta_path)
    monkeypatch.delitem(sys.modules, name)


def test_an_import_that_failed_is_waited_for_again(tmp_path, monkeypatch):
    name, done = "failing_at_first", []
    (tmp_path / f"{name}.py").write_text("import os\nx = 1 / int(os.environ['DIVISOR'])\n")
    monkeypatch.syspath_prepend(tmp_path)
    after_import(name, lambda: done.append(sys.modules[name].x))
    monkeypatch.setenv("DIVISOR", "0")
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        importlib.import_module(name)
    monkeypatch.setenv("DIVISOR", "2")
    assert importlib.import_module(name).x == 0.5
    assert done == [0.5]
    monkeypatch.delitem(sys.modules, name)


def test_a_module_is_left_out_of_an_import(tmp_path, monkeypatch):
    first, large = "imports_a_large_one", "a_large_one"
    (tmp_path / f"{large}.py").write_text("x = 3\n")
    (tmp_path / f"{first}.py").write_text(f"import {large}\n\ndef late():\n    return {large}.x\n")
    monkeypatch.syspath_prepend(tmp_path)
    with left_out(large):
        module = importlib.import_module(first)
        stand_in = sys.modules[large]
    assert large not in sys.modules
    assert module.late() == 3  # now it is needed
    real = sys.modules[large]
    assert real is not stand_in
    assert importlib.import_module(large) is real
    with left_out(large):  # it is there already
        assert importlib.import_module(large) is real
    assert sys.modules[large] is real
    monkeypatch.delitem(sys.modules, large)
    with left_out(large), pytest.raises(ImportError, match="y"):
        exec(f"from {large} import x, y")  # asks for something at once
    assert sys.modules.pop(large).x == 3
    monkeypatch.delitem(sys.modules, first)


SPARSE = """
import sys
import numpy as np
import dimtensor as dt

x = dt.tensor("x", dims=dt.Dim("k", length=3))
f = dt.function([x], dt.grad((dt.exp(x) ** 2).sum(), x), backend="jax")
# without labels: xarray imports dask, which imports both
np.testing.assert_allclose(f.positional(np.zeros(3))[0], 2.0)
loaded = {"scipy.special", "scipy.sparse", "pytensor.sparse", "numpyro"} & set(sys.modules)
assert not loaded, loaded

import pytensor
import pytensor.sparse as ps
import pytensor.tensor as pt
from scipy.sparse import csr_matrix

matrix = ps.as_sparse(csr_matrix(np.diag([1.0, 2.0, 3.0])))
given = pt.vector("given")
dot = pytensor.function([given], ps.structured_dot(matrix, given[:, None]), mode="JAX")
np.testing.assert_allclose(dot(np.ones(3))[:, 0], [1.0, 2.0, 3.0])
draws = pt.random.vonmises(0.0, 1.0, size=(4,), rng=pytensor.shared(np.random.default_rng(1)))
assert pytensor.function([], draws, mode="JAX")().shape == (4,)
"""


@pytest.mark.slow
def test_jax_is_translated_without_sparse_arrays_and_they_are_when_they_come():
    pytest.importorskip("jax")
    pytest.importorskip("numpyro")
    nothing_kept = os.environ | {"DIMTENSOR_CACHE": "0"}
    command = [sys.executable, "-W", "ignore", "-c", SPARSE]
    done = subprocess.run(command, env=nothing_kept, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
