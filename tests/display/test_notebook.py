"""What notebooks show, in a real kernel: cards, formulas, plots, progress, errors, interrupts."""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path

import pytest

from dimtensor import plugins
from tests.display.test_html import read

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

ROOT = Path(__file__).parents[2]

CELLS = {
    "build": """
        import os, signal, threading, time
        import numpy as np
        import dimtensor as dt
        from dimtensor import dist
        county = dt.Dim("county", coords=["AITKIN", "ANOKA"])
        year = dt.Dim("year", length=3)
        x = dt.tensor("x", dims=[county, year])
        mu = dt.rv("mu", dist.Normal(0.0, 10.0))
        alpha = dt.rv("alpha", dist.Normal(mu, 1.0), dims=county)
        y = dt.rv("y", dist.Normal(alpha, 1.0))
        fit = dt.Model(y, backend="python").observe({y: [1.0, 2.0]})""",
    "model": "fit",
    "expression": "(x / mu).sum(year)",
    "values": "dt.data([1.0, 2.0], dims=county, name='rain') * 2",
    "dim": "county",
    "distribution": "dist.Gamma(2.0, 1.0)",
    "plot": """
        import matplotlib
        matplotlib.use("Agg")
        dt.data([1.0, 2.0], dims=county, name="rain").plot()""",
    "line": "print((x * 3.5).node.line)",
    "method": "x.sum('years')",
    "function": """
        def step(state, value):
            return state + value.sum("nope")

        dt.cumulate(step, 0.0, x, dim=year)""",
    "call": "dt.function([x], x.sum(), backend='python')(z=1)",
    "full": """
        os.environ["DIMTENSOR_TRACEBACK"] = "full"
        x.sum('years')""",
    "complete": """
        from IPython.core.completer import provisionalcompleter
        code = "x.sel(county='A"
        with provisionalcompleter():
            found = list(get_ipython().Completer.completions(code, len(code)))
        print([code[:one.start] + one.text for one in found])""",
    "progress": """
        from dimtensor.backends import progress
        progress.PROGRESS_PATIENCE = 0.2
        quiet = dict(report=False, chains=1, seed=1)
        post = fit.sample(1500, tune=500, **quiet)
        with progress.Progress("work", total=3) as told:
            told(2)
            time.sleep(1.5)""",
    "interrupt": """
        threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        fit.sample(10**7, tune=10**6, **quiet)""",
    "after": "print(fit.sample(5, tune=5, **quiet)['posterior'].sizes['draw'])",
}


@pytest.fixture(scope="module")
def outputs():
    """What each of the cells shows."""
    cells = []
    for code in CELLS.values():
        lines = code.strip("\n").split("\n")
        indent = len(lines[0]) - len(lines[0].lstrip())
        cells.append(nbformat.v4.new_code_cell("\n".join(line[indent:] for line in lines)))
    notebook = nbformat.v4.new_notebook(cells=cells)
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")  # of Jupyter's libraries
        patch.setenv("PYTHONPATH", str(ROOT))
        for name in ("DIMTENSOR_PROGRESS", "DIMTENSOR_TRACEBACK", "DIMTENSOR_COMPLETION"):
            patch.delenv(name, raising=False)
        client = nbclient.NotebookClient(notebook, timeout=120, allow_errors=True)
        client.execute(cwd=os.fspath(ROOT))
    return {name: cell.outputs for name, cell in zip(CELLS, notebook.cells, strict=True)}


def page(outputs, name):
    (result,) = [one for one in outputs[name] if one.output_type == "execute_result"]
    return result.data


def plain(outputs, name) -> list[str]:
    """Lines of the traceback without colors."""
    (error,) = [one for one in outputs[name] if one.output_type == "error"]
    return re.sub(r"\x1b\[[\d;]*m", "", "\n".join(error.traceback)).split("\n")


@pytest.mark.slow
class TestInAKernel:
    def test_models_have_their_card(self, outputs):
        assert outputs["build"] == []
        found = page(outputs, "model")
        assert "<Model of 3 random variables, 1 observed>" in found["text/plain"]
        text = read(found["text/html"]).text
        for part in ("Normal(0, 10)", "county: 2", "Random variables", "'AITKIN'"):
            assert part in text, part
        assert ("Picture" in text) == ("to_graph" in plugins.names())
        assert "dt-density" in found["text/html"]

    @pytest.mark.plugin("typeset")
    def test_expressions_are_typeset(self, outputs):
        found = page(outputs, "expression")
        tags = read(found["text/html"]).tags
        assert {"math", "munder", "mfrac"} <= set(tags)
        assert found["text/latex"].startswith(r"$\displaystyle \sum _{\text{year}}\frac{x}{\mu }")

    def test_small_values_are_there(self, outputs):
        assert "array([2., 4.])" in page(outputs, "values")["text/html"]
        assert "'ANOKA'" in read(page(outputs, "dim")["text/html"]).text
        assert "support: positive" in page(outputs, "distribution")["text/html"]

    def test_plots_are_matplotlibs(self, outputs):
        assert "Line2D" in page(outputs, "plot")["text/plain"]

    @pytest.mark.parametrize("name", ["method", "call"])
    def test_errors_end_at_the_line_of_the_user(self, outputs, name):
        lines = plain(outputs, name)
        frames = [line for line in lines if re.match(r"(Cell In|File )", line)]
        assert len(frames) == 1
        assert frames[0].startswith("Cell In")
        assert not any("dimtensor/" in line for line in lines)
        last = [line for line in lines if re.match(r"\w*Error", line)][-1]
        assert last.startswith(("UnknownDimError: sum: there is no dim 'years'", "InputError"))

    def test_lines_are_those_of_cells(self, outputs):
        (text,) = outputs["line"]
        assert re.fullmatch(r"In\[\d+\]:1\n", text["text"])

    def test_functions_of_the_user_that_the_library_calls_stay(self, outputs):
        frames = [x for x in plain(outputs, "function") if re.match(r"(Cell In|File )", x)]
        assert [re.sub(r".*, in (\w+).*|.*", r"\1", frame) for frame in frames] == ["", "step"]

    def test_all_frames_are_shown_to_who_asks(self, outputs):
        frames = [x for x in plain(outputs, "full") if re.match(r"(Cell In|File )", x)]
        assert len(frames) > 2
        assert "dimtensor/" in frames[-1]

    def test_labels_complete(self, outputs):
        (said,) = outputs["complete"]
        assert eval(said.text) == ["x.sel(county='AITKIN", "x.sel(county='ANOKA"]

    def test_progress_is_an_output_that_is_empty_in_the_end(self, outputs):
        shown = [one for one in outputs["progress"] if one.output_type == "display_data"]
        assert shown
        assert {one.data["text/plain"] for one in shown} == {""}
        assert not [one for one in outputs["progress"] if one.output_type == "stream"]

    def test_an_interrupt_ends_sampling_and_nothing_else(self, outputs):
        (error,) = [one for one in outputs["interrupt"] if one.output_type == "error"]
        assert error.ename == "KeyboardInterrupt"
        (said,) = [one for one in outputs["after"] if one.get("name") == "stdout"]
        assert said.text == "5\n"
