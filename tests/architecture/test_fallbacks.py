"""What is not machine code is known by name: tests run strict but for those of a short list."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from dimtensor.kernels.native.values import OutOfScope

TESTS = Path(__file__).parent.parent
# Tests that may leave a kernel to numba or to the interpreter, and what it has that machine code
# lacks. The list only gets shorter: what a new test needs is written as machine code.
FALLS_BACK = {
    "compile/test_backends.py::test_complex_numbers": "complex numbers",
    "compile/test_levels.py::test_what_runs_is_said": "complex numbers",
    "differential/test_random.py::test_many_compiled_programs": "batched decompositions",
    "differential/test_systematic.py::test_every_pair":
        "batched decompositions, reshapes of batched selections",
    "interop/test_pytensor_mode.py::test_dtypes": "complex numbers",
    "interop/test_pytensor_mode.py::test_scan_runs_inside": "PyTensor's own Scan",
    "interop/test_pytensor_mode.py::test_updates_that_ignore_duplicates_add_once":
        "updates by positions that are no whole axes",
    "kernels/native/test_platforms.py::test_numba_compiles_where_machine_code_is_not_loaded":
        "a platform without machine code",
    "reference_models/loops/test_random_walk.py::test_gradients_with_the_noise_held_fixed":
        "generators",
    "reference_models/loops/test_random_walk.py::test_steps_of_several_draws": "generators",
    "reference_models/loops/test_random_walk.py::test_the_stream_is_that_of_numpy": "generators",
    "reference_models/loops/test_random_walk.py::test_walking_until_a_border": "generators",
    "reference_models/loops/test_random_walk.py::test_walks_in_walks": "generators",
    "ops/loop/test_backends.py::test_without_kernels": "generators",
    "graph/optable/test_compiled.py::test_complex_values": "complex numbers",
    "graph/optable/test_edges.py::test_values_at_the_edges_when_compiled": "complex numbers",
}  # fmt: skip


def marked(path: Path) -> list[str]:
    """Tests of a file that are marked with `falls_back`, whole or for some parameters."""
    tree = ast.parse(path.read_text())
    uses = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr == "falls_back"]
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
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


@pytest.mark.compiled
def test_tests_are_strict():
    """In every folder: this test has no mark."""
    import dimtensor as dt

    z = dt.scalar("z", dtype="complex128")
    with pytest.raises(OutOfScope, match="numbers of dtype complex128"):
        dt.function([z], z * 2.0, backend="numba")(1j)
