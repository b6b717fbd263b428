"""Text reprs and formulas say what a tensor is, and never compute or raise."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytensor.tensor as pt
import pytest
from xarray.core.formatting import short_array_repr

import dimtensor as dt
from dimtensor.display import dim_text_long, tensor_html, tensor_text
from dimtensor.display.text import fit
from dimtensor.graph import Node
from dimtensor.graph.printing.formula import formula
from dimtensor.tensor.handle import wrap
from tests.golden.compare import check_golden
from tests.graph.test_printer import every_kind, hierarchical
from tests.steps import counted_calls

ROOT = Path(__file__).parents[2]
COUNTRY = dt.Dim("country", coords=["Italy", "Kenya", "USA"])
AGE = dt.Dim("age", length=5)
OBS = dt.Dim("obs")


# kept alive, and of names that no other test has: operands are written in the order of their making
BY_COUNTRY = dt.tensor("by_country", dims=COUNTRY)
BY_AGE = dt.tensor("by_age", dims=AGE)
LEFT, RIGHT = dt.scalar("left"), dt.scalar("right")


def test_an_input_shows_its_dims():
    assert repr(dt.tensor("a", dims=[COUNTRY, AGE, OBS])) == (
        "<DimTensor 'a' (age: 5, country: 3, obs: ?) float64>\n"
        "Dims:\n"
        "  age      5  (no labels)\n"
        "  country  3  'Italy' 'Kenya' 'USA'\n"
        "  obs      ?  (with the data)"
    )


def test_a_scalar_is_one_line():
    assert repr(dt.scalar("sigma")) == "<DimTensor 'sigma' () float64>"
    assert repr(dt.scalar()) == "<DimTensor () float64>"


def test_an_expression_shows_its_formula_and_inputs():
    where = dt.data(["USA", "Italy"], dims=OBS, categories=COUNTRY, name="where")
    assert repr((BY_COUNTRY + BY_AGE).sel(country=where).isel(age=0) * 2) == (
        "<DimTensor (obs: ?) float64>\n"
        "2 * (by_country + by_age)[country=where][age=0]\n"
        "Dims:\n"
        "  obs  ?  (with the data)\n"
        "Inputs: by_country (country: 3), by_age (age: 5), where (obs: 2)"
    )


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (LEFT - (RIGHT - 1), "left - (right - 1)"),
        ((LEFT - RIGHT) - 1, "left - right - 1"),
        ((LEFT + RIGHT) * 0.5, "0.5 * (left + right)"),
        (LEFT / (RIGHT * 2), "left / (2 * right)"),
        ((-LEFT) ** 2, "(-left)**2"),
        (-(LEFT**2), "-left**2"),
        ((LEFT**2) ** RIGHT, "(left**2)**right"),
        (LEFT ** (RIGHT**2), "left**right**2"),
        (LEFT ** (-RIGHT), "left**(-right)"),
        ((LEFT > 0) & ~(RIGHT > 1), "(left > 0) & ~(right > 1)"),
        ((LEFT > 0) == (RIGHT > 1), "(left > 0) == (right > 1)"),
        (dt.where(LEFT > RIGHT, LEFT, 0.1), "where(left > right, left, 0.1)"),
        (1 + (LEFT + RIGHT), "left + right + 1"),
        (dt.grad(LEFT * RIGHT, [LEFT, RIGHT])[1], "grad(left * right, right)"),
        (LEFT * 1e-10, "1e-10 * left"),
        (LEFT * (RIGHT + (-2.5)), "left * (right + -2.5)"),
        (LEFT ** (-2), "left**(-2)"),
    ],
)
def test_formulas_are_written_like_python(expression, text):
    assert formula(expression.node) == text


def evaluated(text: str, **names):
    """A formula is Python: what it computes."""
    return eval(text, {"sqrt": np.sqrt, "exp": np.exp, "__builtins__": {}}, names)


def test_a_formula_computes_what_the_graph_computes(rng):
    x, y = dt.scalar("x"), dt.scalar("y")
    operations = [
        lambda p, q: p + q, lambda p, q: p - q, lambda p, q: p * q, lambda p, q: p / q,
        lambda p, q: -p, lambda p, q: (p**2) ** (q * 0 + 1), lambda p, q: dt.exp(p / 9),
    ]  # fmt: skip
    for _ in range(200):
        pool = [x, y, x + 1.5]
        for _ in range(6):
            one, two = (pool[i] for i in rng.integers(len(pool), size=2))
            pool.append(operations[rng.integers(len(operations))](one, two))
        expression = pool[-1]
        text = formula(expression.node, width=100_000)
        values = {"x": 1.75, "y": -0.625}
        given = {t: values[t.name] for t in dt.inputs_of(expression)}
        with np.errstate(all="ignore"):
            expected = float(expression.eval(given))
            if not np.isfinite(expected) or abs(expected) > 1e100 or "…" in text:
                continue
            assert evaluated(text, **values) == pytest.approx(expected, rel=1e-5), text


def test_selections_are_written_by_label():
    assert formula(BY_COUNTRY.sel(country="Kenya").node) == "by_country[country='Kenya']"
    selected = BY_COUNTRY.sel(country=["USA", "Italy"])
    assert formula(selected.node) == "by_country[country=['USA', 'Italy']]"
    assert formula(BY_AGE.isel(age=2).node) == "by_age[age=2]"
    assert formula(BY_AGE[1:3].node) == "by_age[age=1:3]"
    assert formula(BY_COUNTRY[BY_COUNTRY > 0].node) == "by_country[country=by_country > 0]"
    where = dt.tensor("where", dims=OBS, categories=COUNTRY)
    assert formula((where == "USA").node) == "where == country['USA']"


def test_labels_that_wait_for_data_are_written_as_labels():
    x = dt.tensor("x", dims=dt.Dim("t"))
    assert formula(x.sel(t="2020").node) == "x[t='2020']"
    assert formula(x.sel(t=["p", "q"]).node) == "x[t=['p', 'q']]"


def test_a_long_formula_gives_every_operand_its_share():
    one, two = dt.scalar("shift_s"), dt.scalar("shift_t")
    x = dt.exp(BY_COUNTRY + one) * dt.log(BY_AGE + two)
    assert formula(x.node) == "exp(by_country + shift_s) * log(by_age + shift_t)"
    assert formula(x.node, 18) == "exp(…) * log(…)"
    assert formula(x.node, 5) == "… * …"
    assert formula(x.node, 3) == "…"


@pytest.mark.parametrize("width", [1, 7, 20, 45, 76, 150])
def test_formulas_keep_about_to_their_width(width):
    for x in (*every_kind(), *hierarchical().values()):
        assert len(formula(x.node, width)) <= 1.3 * width + 40


def test_a_deep_graph_has_a_formula():
    x = dt.scalar("x")
    for _ in range(20_000):
        x = -dt.sin(x)
    with counted_calls() as calls:
        assert "…" in repr(x)
    assert calls.number < 60 * 40_000  # for each node


DEEP = {
    "quotients": lambda x: x / (x + 1),
    "powers": lambda x: x**2,
    "differences": lambda x: x - x.mean(),
    "products": lambda x: x * dt.sin(x),
    "choices": lambda x: dt.where(x > 0, x, -x),
}


@pytest.mark.parametrize("deeper", DEEP)
def test_a_graph_that_is_deep_to_the_left_has_a_formula(deeper):
    x = dt.tensor("x", dims=AGE)
    for _ in range(3_000):
        x = DEEP[deeper](x)
    with counted_calls() as calls:
        text = formula(x.node)
    assert "…" in text
    assert len(text) <= 150
    assert calls.number < 60 * 9_000  # for each node
    assert "no repr" not in repr(x)


def test_the_terms_of_a_long_sum_are_lines():
    # in a process of its own: terms are written in the order in which they were made first
    code = "from tests.graph.test_printer import hierarchical; print(repr(hierarchical()['logp']))"
    text = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    lines = text.splitlines()
    assert lines[1].startswith("sum(-0.5 * ((log radon - (")
    assert [line[:5] for line in lines if line.startswith("+ ")] == ["+ sum", "+ -0."]
    check_golden("repr_logp.txt", text[: text.index("\nInputs: ")])


def test_data_show_values_as_xarray_does():
    for shape in [(2,), (3, 4), (40, 30), (5, 6, 7), (3, 3, 9, 9)]:
        values = np.random.default_rng(0).normal(size=shape)
        dims = [dt.Dim(f"d{i}", length=n) for i, n in enumerate(shape)]
        shown = repr(dt.data(values, dims=dims))
        # newer NumPy adds the shape of what it abbreviates, which the dims say already
        theirs = re.sub(r",\s+shape=\([^)]*\)", "", short_array_repr(values))
        assert f"{theirs}\nDims:" in shown


def test_labels_of_data_are_shown_as_labels():
    where = dt.data(["USA", "Italy"], dims=OBS, categories=COUNTRY, name="where")
    assert repr(where) == (
        "<DimTensor 'where' (obs: ?) int64 labels of country>\n"
        "array(['USA', 'Italy'])\n"
        "Dims:\n"
        "  obs  ?  (2 in these data)"
    )


def test_labels_that_come_with_data_are_shown_with_them():
    series = pd.Series([1.0, 2.0], index=pd.Index(["p", "q"], name="k"), name="s")
    assert "  k  ?  'p' 'q'  (2 in these data)" in repr(dt.data(series, dims=dt.Dim("k")))


def test_derived_dims_say_what_they_are():
    assert "  country  2  'USA' 'Italy'  (SelDim of country)" in repr(
        BY_COUNTRY.sel(country=["USA", "Italy"])
    )
    assert "  age  3  (SelDim(age, 2:5), no labels)" in repr(BY_AGE[2:])
    assert "(ProductDim of age2, country)" in repr(
        (BY_COUNTRY * dt.tensor("c", dims=dt.Dim("age2", coords=[1, 2]))).ravel()
    )
    assert "  obs  ?  (SelDim(obs, 1:), with the data)" in repr(dt.tensor("x", dims=OBS)[1:])


def test_dates_are_shown_as_dates():
    day = dt.Dim("day", coords=pd.date_range("2020-01-01", periods=100))
    assert "2020-01-01 2020-01-02 2020-01-03 … 2020-04-08 2020-04-09" in repr(
        dt.tensor("x", dims=day)
    )
    product = dt.ProductDim([day, COUNTRY])
    assert "('Italy', 2020-01-01)" in dim_text_long(product)


@pytest.mark.parametrize(
    "dim",
    [
        COUNTRY,
        COUNTRY.rename(),
        dt.ProductDim([COUNTRY, dt.Dim("k", coords=[1, 2])]),
        dt.SelDim(COUNTRY, ["USA", "Italy"]),
        dt.SelDim(dt.ProductDim([COUNTRY, dt.Dim("k", coords=[1, 2])]), positions=[5, 0, 3]),
        dt.PadDim(COUNTRY, 1, 1),
        dt.ConcatDim([COUNTRY, dt.Dim("country", coords=["Peru"])]),
    ],
)
def test_peeked_labels_are_the_labels(dim):
    positions = np.arange(len(dim))[::-1]
    peeked = [tuple(x) if isinstance(x, tuple) else x for x in dim._labels_at(positions)]
    expected = dim.coords[positions]
    assert len(peeked) == len(expected)
    assert all(
        one == other or (one != one and other != other)
        for one, other in zip(peeked, expected, strict=True)
    )


def test_no_labels_are_worked_out_for_a_glance():
    axis = [dt.Dim(f"d{i}", coords=np.arange(3000)) for i in range(3)]
    huge = dt.ProductDim(axis)  # 2.7e10 labels
    x = dt.tensor("x", dims=[huge, dt.SelDim(huge, positions=slice(5, 9)).rename("few")])
    with counted_calls() as calls:
        assert "(0, 0, 0) … (2999, 2999, 2998) (2999, 2999, 2999)" in repr(x)
        assert "(2999, 2999, 2999)" in x._repr_html_()
    assert huge._cached_coords is None
    assert calls.number < 20_000


def test_values_of_large_data_are_shown_quickly():
    x = dt.data(np.zeros(20_000_000), dims=OBS)
    labels = dt.data(np.zeros(5_000_000, dtype=int), dims=OBS, categories=dt.Dim("c"))
    with counted_calls() as calls:
        assert "..." in repr(x)
        assert "..." in labels._repr_html_()
    assert calls.number < 2_000


def test_a_very_long_label_is_shown_in_part():
    dim = dt.Dim("k", coords=["x" * 20_000, "b"])
    x = dt.tensor("x", dims=dim).sel(k="x" * 20_000)
    values = dt.data([1.0, 2.0], dims=dim)
    for shown in (dim, x, values, values * 2.0, dt.tensor("y", dims=dim) * 2.0):
        assert len(repr(shown)) < 1_000
        assert len(shown._repr_html_()) < 20_000


def test_lines_of_labels_fit():
    labels = ["a" * 30, "b" * 30, "…", "c" * 30, "d" * 30]
    assert fit(labels, 70) == f"{'a' * 30} … {'d' * 30}"
    assert len(fit(["x" * 300], 60)) == 60
    assert fit(["p", "q"], 60) == "p q"


def test_a_positional_variable_is_named():
    x = dt.from_shaped(pt.vector("v"), [OBS])
    assert "of the positional variable v" in repr(x)


def broken():
    handle = object.__new__(type(dt.scalar()))
    handle.node = object.__new__(Node)
    return handle


def test_reprs_never_raise():
    assert tensor_text(broken()) == "<DimTensor (no repr: AttributeError)>"
    assert repr(broken()) == tensor_text(broken())
    assert "no repr: AttributeError" in tensor_html(broken())


def test_every_kind_of_node_has_reprs():
    for x in (*every_kind(), *hierarchical().values()):
        for node in dt.walk(x):
            handle = type(x)
            text = repr(wrap(node))
            assert text.startswith(f"<{handle.__name__} ")
            assert "no repr" not in text


def test_the_repr_of_a_selection_works_out_few_labels():
    axis = [dt.Dim(f"d{i}", coords=np.arange(3000)) for i in range(3)]
    huge = dt.ProductDim(axis)
    assert repr(dt.SelDim(huge, positions=[7, 3, 4])) == "SelDim(d0_d1_d2, positions=[7, 3, 4])"
    assert huge._cached_coords is None
    few = dt.ProductDim([COUNTRY, dt.Dim("k", coords=[1, 2])])
    assert "('USA', 2)" in repr(dt.SelDim(few, positions=[5, 0, 3]))


@pytest.mark.parametrize("n", [9, 300_000])
@pytest.mark.parametrize(
    "expression",
    [
        lambda x: x + 1.0,
        lambda x: (x * 2.0).mean(),
        lambda x: x.rolling(n=7).mean(),
        lambda x: dt.corr(x, x * 2.0),
        lambda x: x.cumsum(),
    ],
)
def test_values_are_shown_or_the_text_says_why_not(expression, n):
    text = repr(expression(dt.data(np.arange(float(n)), dims=dt.Dim("n"))))
    assert ("\narray(" in text) == (n == 9)
    assert bool(re.search(r"\nnot computed: [\d,]+ elements; \.eval\(\) computes them", text)) == (
        n > 9
    )


def test_a_text_says_which_error_the_values_are():
    x = dt.check(dt.data(1.0) < 0, "the number is negative", dt.data(1.0))
    assert "\nnot computed: .eval() raises CheckError" in repr(x)


def test_expressions_of_many_operations_say_so():
    x = dt.data(1.0)
    for _ in range(150):
        x = dt.sin(x)
    assert "\nnot computed: more than 100 operations; .eval() computes them" in repr(x)


def test_unknown_inputs_are_listed_and_no_value_is_promised():
    assert "computed" not in repr(LEFT * 2.0)
