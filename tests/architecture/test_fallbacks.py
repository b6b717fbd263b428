"""What is not machine code is known by name: tests run strict but for those of a short list."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dimtensor.kernels.native.values import OutOfScope
from tests.architecture.sources import nodes

TESTS = Path(__file__).parent.parent
ROOT = TESTS.parent
# Tests that may leave a kernel to numba or to the interpreter, and what it has that machine code
# lacks. The list only gets shorter: what a new test needs is written as machine code, and a test on
# the numba backend that leaves nothing to others fails (``conftest.py`` in the root).
FALLS_BACK = {
    "compile/test_backends.py::test_complex_numbers": "complex numbers",
    "compile/test_levels.py::test_what_runs_is_said": "complex numbers",
    "differential/test_systematic.py::test_every_pair":
        "batched decompositions, reshapes of batched selections",
    "interop/with_pymc/test_from_pymc.py::test_the_result_of_a_custom_op_has_another_shape":
        "operations of others",
    "interop/with_pymc/test_gallery.py::test_densities_that_kernels_leave_to_numba":
        "SciPy's splines, updates where a mask of unknowns is true",
    "plugins/pytensor_mode/test_pytensor_mode.py::test_a_split_that_does_not_fit_has_pytensors_error":
        "PyTensor's own Split, which has the error",
    "plugins/pytensor_mode/test_pytensor_mode.py::test_dtypes": "complex numbers",
    "plugins/pytensor_mode/test_pytensor_mode.py::test_updates_where_a_mask_is_true":
        "updates where a mask is true",
    "kernels/native/test_platforms.py::test_numba_compiles_where_machine_code_is_not_loaded":
        "a platform without machine code",
    "reference_models/loops/test_random_walk.py::test_gradients_with_the_noise_held_fixed":
        "generators",
    "reference_models/loops/test_random_walk.py::test_steps_of_several_draws": "generators",
    "reference_models/loops/test_random_walk.py::test_the_stream_is_that_of_numpy": "generators",
    "reference_models/loops/test_random_walk.py::test_walking_until_a_border": "generators",
    "reference_models/loops/test_random_walk.py::test_walks_in_walks": "generators",
    "model/test_backends.py::test_a_density_that_is_interpreted_says_so":
        "a kernel that the test refuses",
    "ops/loop/test_backends.py::test_without_kernels": "generators",
    "kernels/test_arithmetic.py::test_complex_numbers_keep_their_zeros_and_infinities":
        "complex numbers",
    "graph/optable/test_compiled.py::test_complex_values": "complex numbers",
    "graph/optable/test_edges.py::test_values_at_the_edges_when_compiled": "complex numbers",
}  # fmt: skip


def marked(path: Path) -> list[str]:
    """Tests of a file that are marked with `falls_back`, whole or for some parameters."""
    text = path.read_text()
    uses = [each for each in nodes(text, ast.Attribute) if each.attr == "falls_back"]
    functions = nodes(text, ast.FunctionDef) if uses else []
    inside = {
        use: f.name for f in functions for d in f.decorator_list for use in ast.walk(d)
        if use in uses
    }  # fmt: skip
    assert len(inside) == len(uses), f"{path}: falls_back marks single tests, where they stand"
    return [f"{path.relative_to(TESTS).as_posix()}::{name}" for name in inside.values()]


def test_what_falls_back_is_listed():
    found = [name for path in sorted(TESTS.rglob("*.py")) for name in marked(path)]
    assert sorted(found) == sorted(FALLS_BACK)


def test_a_mark_that_is_no_decorator_is_found(tmp_path):
    hidden = tmp_path / "test_hidden.py"
    hidden.write_text("import pytest\n\npytestmark = pytest.mark.falls_back\n")
    with pytest.raises(AssertionError, match="falls_back marks single tests"):
        marked(hidden)


@pytest.mark.slow
@pytest.mark.compiled
def test_a_mark_that_is_not_needed_is_an_error(tmp_path):
    """A test that leaves nothing to others, and one that does; the interpreter has no kernels."""
    (tmp_path / "test_marks.py").write_text(
        "import dimtensor as dt, pytest\n"
        "def run(dtype, backend):\n"
        "    z = dt.scalar('z', dtype=dtype)\n"
        "    dt.function([z], z * 2, backend=backend)(1.0)\n"
        "@pytest.mark.falls_back\n"
        "@pytest.mark.parametrize('backend', ['numba', 'python'])\n"
        "@pytest.mark.parametrize('dtype', ['float64', 'complex128'])\n"
        "def test_marked(dtype, backend):\n"
        "    run(dtype, backend)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider"]
    command += ["-c", str(ROOT / "pyproject.toml"), "-p", "conftest", str(tmp_path)]
    strict = ("DIMTENSOR_NATIVE", "DIMTENSOR_STRICT_KERNELS")
    environment = {name: value for name, value in os.environ.items() if name not in strict}
    environment["PYTHONPATH"] = str(ROOT)
    found = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False
    ).stdout
    assert "1 failed, 3 passed" in found
    assert "FAILED test_marks.py::test_marked[float64-numba] - Failed: nothing here" in found


@pytest.mark.compiled
def test_tests_are_strict():
    """In every folder: this test has no mark."""
    import dimtensor as dt

    z = dt.scalar("z", dtype="complex128")
    with pytest.raises(OutOfScope, match="numbers of dtype complex128"):
        dt.function([z], z * 2.0, backend="numba")(1j)
