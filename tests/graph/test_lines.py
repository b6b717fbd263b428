"""Nodes know the line of the user's code on which they were made."""

import inspect
import sys
from types import SimpleNamespace

import dimtensor as dt
from dimtensor import dist
from dimtensor.graph import toposort
from dimtensor.graph.lines import Line
from dimtensor.graph.regions import regions_of

N = dt.Dim("n", length=3)


def here() -> int:
    return inspect.currentframe().f_back.f_lineno


def test_an_operation_has_the_line_that_it_is_written_on():
    x = dt.tensor("x", dims=N)
    y, line = dt.exp(x) * 2.0, here()
    assert (y.node.line.file, y.node.line.number) == (__file__, line)
    assert y.node.line.text == "y, line = dt.exp(x) * 2.0, here()"
    assert str(y.node.line) == f"test_lines.py:{line}"


def test_what_is_composed_inside_of_the_library_has_the_line_of_the_call():
    x = dt.tensor("x", dims=N)
    y, line = dist.Normal(0.5, 1.25).logp(x), here()
    made = [node for node in dt.walk(y) if node.kind not in ("input", "constant")]
    assert len(made) > 3
    assert {node.line.number for node in made} == {line}


def test_the_body_of_a_loop_has_lines_of_its_own():
    x = dt.tensor("x", dims=N)
    lines = []

    def step(state, x):
        new = state * 0.625 + x
        lines.append(here() - 1)
        return new

    y = dt.cumulate(step, 0.0, x, dim=N)
    (region,) = {r for node in dt.walk(y) for r in regions_of(node)}
    assert {node.line.number for node in toposort(region.outputs) if node.inputs} == {*lines}


def test_what_is_rebuilt_keeps_its_line_and_what_was_there_too():
    x, a, b = (dt.tensor(name, dims=N) for name in ("rebuilt", "a", "b"))
    y, line = dt.exp(x) - 7.0, here()
    old, before = dt.exp(a), here()
    with_a = dt.substitute(y, {x: a})
    with_b = dt.substitute(y, {x: b})
    assert {with_a.node.line.number, with_b.node.line.number} == {line}
    assert with_b.node.inputs[0].line.number == line
    assert with_a.node.inputs[0] is old.node
    assert old.node.line.number == before


def test_a_statement_over_several_lines_is_where_it_is_called():
    x = dt.tensor("x", dims=N)
    first = here() + 2
    y = dt.exp(
        x + 2.5,
    )
    assert first - 1 <= y.node.line.number <= first


def test_cells_of_notebooks_have_their_numbers(monkeypatch):
    def named(file):
        return ("Cell", "In[5]") if file == "/tmp/ipykernel_1/1234.py" else None

    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=named))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert str(Line("/tmp/ipykernel_1/1234.py", 2)) == "In[5]:2"
    assert str(Line("/home/me/model.py", 2)) == "model.py:2"
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert str(Line("/tmp/ipykernel_1/1234.py", 2)) == "1234.py:2"
