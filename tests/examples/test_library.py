"""The example of a modeling library, against linear algebra by hand."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import numpy as np
import pytest

import dimtensor as dt

PATH = Path(__file__).parents[2] / "examples" / "library.py"
Y = np.array([28.0, 8, -3, 7])
SD = np.array([15.0, 10, 16, 11])


@pytest.fixture(scope="module")
def library():
    import sys

    spec = importlib.util.spec_from_file_location("library_example", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["library_example"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["library_example"]


def test_the_best_point_with_a_known_spread_solves_the_normal_equations(library):
    """With the spread fixed everything is normal: the mode solves a linear system."""
    model = library.schools(list("ABCD"), Y, SD).fixed(spread=4.0)
    best = model.best()
    design = np.column_stack([np.ones(4), 4.0 * np.eye(4)])  # by mean and raw deviations
    precision = design.T @ (design / SD[:, None] ** 2) + np.diag([1 / 25.0, 1, 1, 1, 1])
    mode = np.linalg.solve(precision, design.T @ (Y / SD**2))
    np.testing.assert_allclose(best["mean"], mode[0], rtol=1e-4)
    np.testing.assert_allclose(best["deviation"], 4.0 * mode[1:], rtol=1e-3, atol=1e-4)
    assert best["deviation"].school.values.tolist() == list("ABCD")
    assert "spread" not in best


def test_a_rewrite_puts_the_stable_form_in(library):
    x = dt.scalar("x")
    assert dt.rewrite(dt.log(1.0 + x), library.stable) is dt.log1p(x)
    assert dt.rewrite(dt.log(2.0 + x), library.stable) is dt.log(2.0 + x)


def test_formulas_name_unknowns_and_data(library):
    text = library.schools(list("ABCD"), Y, SD).formulas()
    assert [line.split(":")[0] for line in text.splitlines()] == [
        "mean", "spread", "deviation_raw", "y",
    ]  # fmt: skip
    assert "multiply(spread, deviation_raw)" in text
    assert "data[4]" in text


def test_it_is_made_of_public_names_alone():
    tree = ast.parse(PATH.read_text())
    imported = [each for each in ast.walk(tree) if isinstance(each, ast.Import | ast.ImportFrom)]
    names = {(getattr(each, "module", None), one.name) for each in imported for one in each.names}
    assert {pair for pair in names if "dimtensor" in str(pair)} == {(None, "dimtensor")}
    attributes = [each for each in ast.walk(tree) if isinstance(each, ast.Attribute)]
    assert [each.attr for each in attributes if each.attr.startswith("_")] == []
    own = [each.attr for each in attributes if ast.unparse(each.value) == "dt"]
    assert len(own) > 20
    assert set(own) <= set(dir(dt))


def test_it_is_as_long_as_the_documentation_says():
    assert len(PATH.read_text().splitlines()) <= 140
