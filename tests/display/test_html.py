"""HTML reprs are well formed, complete and escaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.display import Html, Section, card, styled, table
from tests.graph.test_printer import every_kind, hierarchical

EVIL = "<script>alert('x')</script>&\""


class Reader(HTMLParser):
    """Text and tags of a page; a tag that is closed out of order is an error."""

    def __init__(self):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data + " "


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


def test_the_reader_finds_a_tag_that_is_left_open():
    with pytest.raises(AssertionError, match="div"):
        read("<div>")


def test_every_repr_is_well_formed():
    for x in (*every_kind(), *hierarchical().values()):
        page = read(x._repr_html_())
        assert "details" in page.tags
        for dim in x.dims:
            assert dim._short in page.text
            read(dim._repr_html_())


def test_a_tensor_is_shown_with_dims_formula_inputs_and_graph():
    model = hierarchical()
    text = read(model["logp"]._repr_html_()).text
    for part in ("Expression", "Inputs  (8)", "Graph", "log(noise)", "county: 85", "outputs: %30"):
        assert part in text
    assert "Values" not in text


def test_data_are_shown_with_values():
    text = read(dt.data(np.array([1.25, 2.5]), dims=dt.Dim("obs"))._repr_html_()).text
    assert "array([1.25, 2.5 ])" in text
    assert "2 in these data" in text


def test_everything_is_escaped():
    dim = dt.Dim(EVIL, coords=[EVIL, "b"])
    x = dt.tensor(EVIL, dims=dim)
    f = dt.function([x], {EVIL: x.sel({dim: EVIL}) + 1}, backend="python")
    where = dt.data([EVIL], dims=dt.Dim("obs"), categories=dim)
    for shown in (dim, x, x.sel({dim: EVIL}) * 2, x.ravel(), where, f):
        page = read(shown._repr_html_())
        assert "script" not in page.tags
        assert "alert('x')" in page.text


def test_long_labels_unfold():
    dim = dt.Dim("k", coords=[f"label {i}" for i in range(1000)])
    text = read(dim._repr_html_()).text
    assert "'label 99'" in text
    assert "'label 900'" in text
    assert "'label 500'" not in text


def test_a_compiled_function_is_shown_with_inputs_data_and_outputs():
    obs, n = dt.Dim("obs"), dt.Dim("n")
    x = dt.scalar("slope")
    y = dt.data(np.arange(3.0), dims=obs, name="y")
    f = dt.function([x, n], {"fit": x * y, "size": dt.length(n)}, backend="python")
    page = read(f._repr_html_())
    for part in ("CompiledFunction", "python", "slope", "Data  (1)", "fit", "size", "lower"):
        assert part in page.text


def test_a_graph_too_large_for_a_page_is_left_out():
    x = dt.scalar("x")
    for _ in range(500):
        x = dt.sin(x)
    assert "Graph" not in x._repr_html_()
    assert "Expression" in x._repr_html_()


def test_cards_take_texts_and_html():
    html = card(
        ["a < b", styled("c & d", "name")], [Section("T", table([["<", Html("<b>x</b>")]]))]
    )
    page = read(html)
    assert "a < b" in page.text
    assert "c & d" in page.text
    assert page.tags.count("b") == 1


def test_the_style_holds_where_a_page_has_one_of_its_own():
    """Jupyter sets right-aligned cells of equal width, exported pages a proportional font."""
    page = dt.tensor("x", dims=dt.Dim("firm", coords=["IBM", "GE"]))._repr_html_()
    cells = re.search(r"\.dt-repr \.dt-table td[^}]*}", page)[0]
    assert "text-align: left !important" in cells
    assert "white-space: nowrap" in cells
    assert "table-layout: auto !important" in page
    assert re.search(r"\.dt-repr pre, \.dt-repr \.dt-mono {[^}]*monospace\) !important", page)
    assert re.search(r"\.dt-repr \.dt-table {[^}]*overflow-x: auto", page)
    assert (
        '<div class="dt-table" tabindex="0"><table><tr><td><span class="dt-name">firm</span>'
        in page
    )


def test_a_log_density_lists_what_it_is_made_of():
    k = dt.Dim("k", coords=["a", "b"])
    x, mu = dt.tensor("x", dims=k), dt.scalar("mu")
    y = dt.data([1.0, 2.0], dims=k, name="heights")
    logp = {"seen": -((y - x) ** 2), "prior": -((x - mu) ** 2), "wide": -(mu**2)}
    model = dt.LogDensity(
        logp, {x: dt.real, mu: dt.positive}, "python", deterministics={"gap <": x - mu}
    )
    page = read(model._repr_html_())
    for part in (
        "of 3 unconstrained elements on python",
        "Parameters  (2)",
        "positive",
        "Terms  (3)",
        "seen",
        "prior",
        "Recorded  (1)",
        "gap <",
        "Data  (1)",
        "heights",
    ):
        assert part in page.text, part  # fmt: skip
    assert "<LogDensity" not in page.text
