"""Formulas on paper: well formed, and of the value that they are of."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist
from dimtensor.graph.printing.formula import formula
from dimtensor.plugins.pictures.plates import plan_of
from dimtensor.plugins.typeset.formulas import latex, mathml
from tests.display.test_html import EVIL, read
from tests.graph.test_printer import every_kind, hierarchical
from tests.steps import counted_calls

COUNTY = dt.Dim("county", coords=["Italy", "Kenya"])
OBS = dt.Dim("obs")
ALPHA = dt.tensor("alpha", dims=COUNTY)
A, B = dt.scalar("a"), dt.scalar("b")
_PYTHON = {"−": "-", "·": "*", "=": "==", "≠": "!=", "≤": "<=", "≥": ">="}


def as_python(element: ET.Element) -> str:
    """What one reads from the page, as Python."""
    parts = [as_python(child) for child in element]
    match element.tag:
        case "mfrac":
            return f"(({parts[0]})/({parts[1]}))"
        case "msup":
            # a sign before a power is read after it
            assert not parts[0].startswith("-"), "a negative base without parentheses"
            return f"(({parts[0]})**({parts[1]}))"
        case "msqrt":
            return f"sqrt({''.join(parts)})"
        case "mrow" | "math":
            return "".join(parts)
        case "mo":
            return _PYTHON.get(element.text, element.text)
        case "mn":
            return element.text.replace("−", "-")
        case _:
            return element.text


def test_what_is_read_from_the_page_is_what_is_computed(rng):
    operations = [
        lambda p, q: p + q, lambda p, q: p - q, lambda p, q: p * q, lambda p, q: p / q,
        lambda p, q: -p, lambda p, q: (p**2) ** (q * 0 + 1), lambda p, q: dt.exp(p / 9),
        lambda p, q: dt.sqrt(p**2), lambda p, q: p**2,
    ]  # fmt: skip
    functions = {"sqrt": np.sqrt, "exp": np.exp, "e": np.e, "__builtins__": {}}
    compared = 0
    for _ in range(150):
        pool = [A, B, A + 1.5]
        for _ in range(5):
            one, two = (pool[i] for i in rng.integers(len(pool), size=2))
            pool.append(operations[rng.integers(len(operations))](one, two))
        page = mathml(pool[-1].node, 10_000)
        values = {"a": 1.75, "b": -0.625}
        with np.errstate(all="ignore"):
            given = {t: values[t.name] for t in dt.inputs_of(pool[-1])}
            expected = float(pool[-1].eval(given))
            if not np.isfinite(expected) or abs(expected) > 1e100 or "…" in page:
                continue
            found = eval(as_python(ET.fromstring(page)), functions, values)
            assert found == pytest.approx(expected, rel=1e-4), page
        compared += 1
    assert compared > 75


WRITTEN = {
    r"\frac{a}{b}": A / B,
    r"\sqrt{a}": dt.sqrt(A),
    r"{a}^{2}": A**2,
    r"{\left(\frac{a}{b}\right)}^{2}": (A / B) ** 2,
    r"\left|a\right|": abs(A),
    r"{e}^{-a}": dt.exp(-A),
    r"\sum _{\text{county}}\alpha ": ALPHA.sum(),
    r"a\ge b": A >= B,
    r"\text{mean(}\alpha \text{)}": ALPHA.mean(),
    r"{\alpha }_{\text{county }=\text{'Italy'}}": ALPHA.sel(county="Italy"),
    r"{\sigma }_{\mathrm{y}}": dt.scalar("sigma_y"),
    r"\mathrm{county\_of}": dt.scalar("county_of"),
    r"m\sim \text{Normal}\left(0,10\right)": dt.rv("m", dist.Normal(0.0, 10.0)),
    r"\mathrm{double}=2\cdot a": dt.named("double", 2 * A),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_expressions_are_written_as_on_paper(text):
    assert latex(WRITTEN[text].node) == text


# old versions of matplotlib call new ones of pyparsing by names that are deprecated
@pytest.mark.filterwarnings("ignore:.* deprecated.* use:DeprecationWarning")
def test_every_kind_has_a_well_formed_formula():
    pytest.importorskip("matplotlib")
    from matplotlib.mathtext import MathTextParser

    parser = MathTextParser("path")
    for x in (*every_kind(), *hierarchical().values()):
        root = ET.fromstring(mathml(x.node))
        assert root.tag == "math"
        # what this parser does not know
        text = re.sub(r"\\(displaystyle|ldots|dots)", r"\\cdots", latex(x.node))
        text = text.replace(r"\bmod", r"\%").replace(r"\sim", "=")
        parser.parse(f"${text}$")


@pytest.mark.parametrize("budget", [1, 10, 40, 200])
def test_long_formulas_are_short(budget):
    long = sum(dt.sin(A * i) * dt.cos(B + i) for i in range(1, 30))
    text = re.sub(r"\\[a-z]+|[{} ]", "", latex(long.node, budget))
    assert len(text) < 2 * budget + 40
    assert "\\dots" in latex(long.node, budget)


def test_a_deep_graph_has_a_formula_soon():
    for deeper in (lambda x: -dt.sin(x), lambda x: x / (x + 1), lambda x: x**2):
        x = dt.scalar("x")
        for _ in range(5_000):
            x = deeper(x)
        assert "…" in mathml(x.node)
        assert "<math" in x._repr_html_()


SHARED = {
    "sums": lambda x: x + x,
    "products": lambda x: x * x,
    "quotients": lambda x: x / (x + 1),
    "powers": lambda x: x**x,
    "choices": lambda x: dt.where(x > 0, x, -x),
    "functions": lambda x: dt.sin(x) + dt.exp(-x),
    "means": lambda x: x - x.mean(),
    "selections": lambda x: x.sel(county="Italy") * x,
    "names": lambda x: dt.named("a name", x + x),
}


@pytest.mark.parametrize("leaf", [ALPHA, dt.data([1.0, 2.0], dims=COUNTY, name="heights")])
@pytest.mark.parametrize("twice", SHARED)
def test_what_is_used_twice_at_every_level_is_shown_soon(twice, leaf):
    x = leaf
    for _ in range(60):  # 2**60 leaves on paper
        x = SHARED[twice](x)
    shown = [
        repr, lambda x: x._repr_html_(), lambda x: x._repr_latex_(), lambda x: mathml(x.node, 500),
        lambda x: formula(x.node, 500), lambda x: dt.dprint(x, file="str"),
    ]  # fmt: skip
    for show in shown:
        with counted_calls() as calls:
            text = show(x)
        assert "no repr" not in text
        assert calls.number < 500_000


def test_models_of_shared_expressions_have_cards_soon():
    x = dt.rv("x", dist.Normal(0.0, 1.0), dims=COUNTY)
    for at in range(60):
        x = dt.named(f"name {at}", x + x) if at % 2 else x * x
    x = dt.rv("y", dist.Normal(x, dt.exp(x)))
    for at in range(20):
        x = dt.rv(f"z{at}", dist.Normal(x + x * x, dt.exp(x)))
    model = dt.Model(x)
    for show in (repr, lambda m: m._repr_html_(), lambda m: len(plan_of(m).arrows) * "-"):
        with counted_calls() as calls:
            text = show(model)
        assert text
        assert calls.number < 2_000_000


def test_derivatives_of_derivatives_are_shown_soon():
    x = dt.scalar("x")
    y = x
    with counted_calls() as calls:
        for _ in range(16):  # each has all that are before it within
            y = dt.sin(y + dt.grad(dt.sin(y * y), x))
        repr(y)
    assert calls.number < 1_000_000


def test_names_and_labels_are_escaped():
    dim = dt.Dim("k", coords=[EVIL, "b"])
    x = dt.tensor(EVIL, dims=dim).sel(k=EVIL) * 2
    assert "script" not in read(mathml(x.node)).tags
    assert "script" not in read(x._repr_html_()).tags
    tex = latex((dt.scalar("a_$%{}\\") + 1).node)
    assert r"\$\%\{\}\backslash" in tex


def test_notebooks_get_both_forms():
    x = A / B
    html = x._repr_html_()
    assert "math" in read(html).tags
    assert 'title="a / b"' in html
    assert x._repr_latex_() == r"$\displaystyle \frac{a}{b}$"
    assert A._repr_latex_() is None
    assert dt.data([1.0], dims=OBS)._repr_latex_() is None
