"""Pages for newcomers: every call of the index runs, and both sides of a comparison agree."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.spellings import TABLE
from tests.docs.test_docs_examples import ROOT, run_page

DOCS = ROOT / "docs"
_ROW = re.compile(r"^\| [^|]+ \| `(?P<call>[^|]+)` \| \[\]\((?P<page>[^)]+)\) \|$", re.M)
_PAIR = re.compile(r"^\| `(?P<theirs>[^|]+)` \| `(?P<ours>[^|]+)` \|$", re.M)
_THEIRS = re.compile(r"^```py\n(.*?)^```$", re.M | re.S)


@pytest.fixture(scope="module")
def index():
    return run_page((DOCS / "how-do-i.md").read_text(), "how-do-i.md")


@pytest.fixture(scope="module")
def models():
    return run_page((DOCS / "which-model.md").read_text(), "which-model.md")


ROWS = [match.groups() for match in _ROW.finditer((DOCS / "how-do-i.md").read_text())]
MODELS = [match.groups() for match in _ROW.finditer((DOCS / "which-model.md").read_text())]


# what takes seconds, or writes files: its arguments are looked at
LONG = {
    "fit.sample",
    "dt.cross_validate",
    "dt.calibrate",
    "f.export",
    "post.to_zarr",
    "dt.report",
    "fit.summary",
    "fit.plot.forest",
    "fit.plot.forecast",
}


def run(call, names):
    """What a call gives; of a long one its function, after arguments were matched to it."""
    tree = ast.parse(call, mode="eval").body
    if not isinstance(tree, ast.Call) or ast.unparse(tree.func) not in LONG:
        return eval(call, names)
    function = eval(ast.unparse(tree.func), names)
    arguments = [eval(ast.unparse(each), names) for each in tree.args]
    options = {str(each.arg): eval(ast.unparse(each.value), names) for each in tree.keywords}
    inspect.signature(function).bind(*arguments, **options)
    return function


@pytest.mark.compiled
@pytest.mark.parametrize(("call", "page"), ROWS, ids=[call for call, _ in ROWS])
def test_a_call_of_the_index_runs_and_its_page_has_it(index, call, page):
    result = run(call, dict(index))
    assert result is not None
    unknown = call.startswith(("dt.rv(", "dt.named("))
    if isinstance(result, dt.DimTensor) and not dt.inputs_of(result) and not unknown:
        assert result.eval().notnull().any()
    assert_the_page_speaks_of(call, page)


def assert_the_page_speaks_of(call, page):
    names = re.findall(r"(?:dt|dist|[a-z]+)\.(\w+)", call)
    text = (DOCS / page).read_text()
    if page == "distributions.md":  # a table of it is generated
        text += " ".join(dt.dist.TABLE)
    assert not names or any(re.search(rf"\b{name}\b", text) for name in names), names


@pytest.mark.parametrize(("line", "page"), MODELS, ids=[line for line, _ in MODELS])
def test_a_line_of_a_named_model_is_a_distribution_or_an_expression(models, line, page):
    result = eval(line, dict(models))
    assert isinstance(result, dt.dist.Distribution | dt.DimTensor)
    if isinstance(result, dt.dist.Distribution):
        result = dt.rv("outcome", result)
    # it can be drawn or evaluated with what it depends on
    if "dist.custom" not in line:
        drawn = dt.Model(dt.named("drawn", result), backend="python").draw(2, seed=1)
        found = [group["drawn"] for group in drawn.children.values() if "drawn" in group]
        assert found
        assert all(np.isfinite(each.values).all() for each in found if each.dtype.kind == "f")
    assert_the_page_speaks_of(line, page)


def test_no_line_of_the_index_is_overlooked():
    rows = [
        line
        for line in (DOCS / "how-do-i.md").read_text().splitlines()
        if line.startswith("| ") and not line.startswith("| How do I")
    ]
    assert len(rows) == len(ROWS) >= 60


def test_the_calls_for_xarray_have_the_values_of_xarray():
    text = (DOCS / "from-xarray.md").read_text()
    page = run_page(text, "from-xarray.md")
    pairs = _PAIR.findall(text)
    assert len(pairs) == text.count("\n| `")
    for theirs, ours in pairs:
        expected, found = eval(theirs, page), eval(ours, page).eval()
        assert set(expected.dims) == set(found.dims), ours
        np.testing.assert_allclose(found.transpose(*expected.dims), expected, err_msg=ours)
        for dim in set(expected.coords) & set(found.coords):
            np.testing.assert_array_equal(found[dim], expected[dim], err_msg=ours)


def theirs_and_ours(name):
    text = (DOCS / name).read_text()
    (code,) = _THEIRS.findall(text)
    namespace: dict = {"__name__": "__page__"}
    exec(compile(code, name, "exec"), namespace)
    return namespace, run_page(text, name)


@pytest.mark.compiled
def test_the_model_of_pymc_has_the_same_log_density():
    pytest.importorskip("pymc")
    theirs, ours = theirs_and_ours("from-pymc.md")
    values = ours["point"]
    point = {
        f"{name}_log__" if name in ("spread", "sigma") else name: np.asarray(
            np.log(value) if name in ("spread", "sigma") else value, dtype=float
        )
        for name, value in values.items()
    }
    logp = theirs["pymc_model"].compile_logp(jacobian=False)
    # PyMC takes the logarithm of the number 10 in single precision
    np.testing.assert_allclose(ours["total"], logp(point), rtol=1e-8)


@pytest.mark.slow
@pytest.mark.compiled
def test_the_model_of_numpyro_has_the_same_log_density():
    pytest.importorskip("numpyro")
    from numpyro.infer.util import log_density

    theirs, ours = theirs_and_ours("from-jax.md")
    error = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    seen = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
    logp, _ = log_density(theirs["schools"], (error, seen), {}, ours["point"])
    np.testing.assert_allclose(ours["total"], float(logp), rtol=1e-5)  # single precision


@pytest.mark.parametrize("name", ["from-pymc.md", "from-jax.md", "from-stan.md"])
def test_names_on_our_side_of_a_table_are_there(name):
    text = (DOCS / name).read_text()
    ours = [line.rsplit(" | ", 1)[1] for line in text.splitlines() if line.startswith("| ")]
    if "@spellings@" in text:
        ours += [row.ours for row in TABLE if row.theirs]
    owners = {"dt": dt, "dist": dt.dist, "model": dt.Model, "fit": dt.Model}
    names = re.findall(r"\b(dt|dist|model|fit)\.(\w+)\(", " ".join(ours))
    assert len(names) > 8
    assert [each for each in names if not hasattr(owners[each[0]], each[1])] == []


def test_the_citation_is_of_this_version():
    citation = (ROOT / "CITATION.cff").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = dict(re.findall(r"^(title|version|license): (\S+)$", citation, re.M))
    assert cited == {key: project[key] for key in ("version", "license")} | {"title": "dimtensor"}
