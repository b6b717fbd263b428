"""Pictures show every operation once, legibly, and are saved in three formats."""

from __future__ import annotations

import itertools
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.errors import ArgumentError, GraphError, MissingExtraError, OptionError
from dimtensor.plugins.pictures.canvas import STYLES, _size, text_width
from dimtensor.plugins.pictures.layout import layered_layout
from dimtensor.plugins.pictures.picture import Picture
from dimtensor.plugins.pictures.scene import Arrow, Box
from tests.graph.test_printer import every_kind, hierarchical

COUNTRY = dt.Dim("country", coords=["Italy", "Kenya", "USA"])
OBS = dt.Dim("obs")


def titles(picture):
    return [box.title for box in picture.boxes]


def links(picture):
    return {
        (picture.boxes[a.source].title, picture.boxes[a.target].title, a.label)
        for a in picture.arrows
    }


def test_a_look_up_is_drawn():
    a, sigma = dt.tensor("a", dims=COUNTRY), dt.scalar("sigma")
    where = dt.data(["USA"], dims=OBS, categories=COUNTRY, name="where")
    picture = dt.to_graph({"mu": a.sel(country=where) - sigma})
    assert set(picture.boxes) == {
        Box("a", "country: 3", "input"),
        Box("sigma", "", "input"),
        Box("where", "obs: ? → country", "data"),
        Box("look up", "obs: ?", "lookup"),
        Box("−", "obs: ?", "operation"),
        Box("mu", "", "output"),
    }
    assert links(picture) == {
        ("a", "look up", ""),
        ("where", "look up", "country"),
        ("look up", "−", ""),
        ("sigma", "−", "minus"),
        ("−", "mu", ""),
    }


@pytest.mark.parametrize(
    ("expression", "title"),
    [
        (lambda x: x * 0.5, "× 0.5"),
        (lambda x: x - 1.25, "− 1.25"),
        (lambda x: 1.25 - x, "1.25 − x"),
        (lambda x: x**2, "x²"),
        (lambda x: x**1.5, "x ^ 1.5"),
        (lambda x: 2.0**x, "2 ^ x"),
        (lambda x: x > 0, "> 0"),
        (lambda x: dt.maximum(x, 0), "maximum 0"),
        (lambda x: x.sel(country="USA"), "[country='USA']"),
        (lambda x: x.isel(country=[2, 0]), "[country=['USA', 'Italy']]"),
        (lambda x: x.sum(), "Σ sum"),
        (lambda x: x.max(), "max"),
        (lambda x: x.cumsum(COUNTRY), "cumsum along country"),
        (lambda x: dt.grad(x.sum(), [x])[0], "∇ gradient"),
    ],
)
def test_operations_are_named_with_their_numbers(expression, title):
    x = dt.tensor("x", dims=COUNTRY)
    picture = dt.to_graph(expression(x))
    assert title in titles(picture)
    assert "constant" not in {box.kind for box in picture.boxes}


def test_numbers_without_an_operation_have_boxes():
    x = dt.tensor("x", dims=COUNTRY)
    picture = dt.to_graph(dt.where(x > 0, 1.0, 0.0))
    assert sorted(box.title for box in picture.boxes if box.kind == "constant") == ["0", "1"]
    assert ("1", "where", "then") in links(picture)
    assert ("0", "where", "else") in links(picture)


def test_a_sum_of_sums_is_one_box():
    x, y, z = dt.scalar("x"), dt.scalar("y"), dt.scalar("z")
    assert sorted(titles(dt.to_graph(dt.exp(x) + y + (z + 1)))) == ["+ 1", "exp", "x", "y", "z"]


def test_a_part_of_a_sum_that_is_used_elsewhere_keeps_its_box():
    x, y, z = dt.scalar("x"), dt.scalar("y"), dt.scalar("z")
    inner = x + y
    assert titles(dt.to_graph([inner + z, dt.exp(inner)])).count("+") == 2
    assert titles(dt.to_graph([inner + z, inner])).count("+") == 2


def test_a_node_used_twice_has_one_arrow():
    x = dt.exp(dt.scalar("x"))
    assert ("exp", "×", "twice") in links(dt.to_graph(x * x))


def test_every_kind_is_drawn():
    expressions = every_kind()
    picture = dt.to_graph(expressions)
    assert all(box.kind in STYLES for box in picture.boxes)
    names = {node.name for x in expressions for node in dt.walk(x) if node.name}
    assert names <= set(titles(picture))


@pytest.mark.parametrize("make", [hierarchical, every_kind])
def test_texts_fit_their_boxes_and_boxes_do_not_overlap(make):
    picture = dt.to_graph(make())
    sizes = [_size(box) for box in picture.boxes]
    for box, (width, height) in zip(picture.boxes, sizes, strict=True):
        if box.kind == "constant":
            assert text_width(box.title, 7.5) <= width
        else:
            assert text_width(box.title, 10, bold=True) + 10 <= width
            assert text_width(box.detail, 7.5) + 10 <= width
            assert height >= (10 + 7.5 * bool(box.detail))
    plan = layered_layout(sizes, [(a.source, a.target) for a in picture.arrows])
    places = list(zip(plan.centers, sizes, strict=True))
    for ((x, y), (w, h)), ((u, v), (a, b)) in itertools.combinations(places, 2):
        assert abs(x - u) >= (w + a) / 2 or abs(y - v) >= (h + b) / 2


def test_a_picture_is_saved(tmp_path):
    x = dt.exp(dt.scalar("x"))
    starts = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}
    for kind, start in starts.items():
        path = tmp_path / f"graph.{kind}"
        dt.to_graph(x, path)
        assert path.read_bytes().startswith(start)
    assert dt.to_graph(x).save(str(tmp_path / "again.SVG")).exists()
    ET.parse(tmp_path / "graph.svg")


def test_notebooks_show_a_picture():
    picture = dt.to_graph(hierarchical())
    root = ET.fromstring(picture._repr_svg_())
    assert root.tag.endswith("svg")
    html = picture._repr_html_()
    assert html.startswith("<div")
    assert "<svg" in html
    assert "<?xml" not in html
    assert repr(picture).startswith("<Picture of ")


def test_equal_graphs_give_equal_files():
    x = dt.tensor("x", dims=COUNTRY)
    one, other = dt.to_graph(dt.exp(x).sum()), dt.to_graph(dt.exp(x).sum())
    assert one.boxes == other.boxes
    assert one._repr_svg_() == other._repr_svg_()


def test_names_are_no_markup(tmp_path):
    x = dt.tensor("$\\frac{1$ <b> & _", dims=dt.Dim("$d^{$"))
    ET.fromstring(dt.to_graph(x * 2)._repr_svg_())


def test_nothing_of_the_caller_s_matplotlib_is_changed():
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    before = dict(mpl.rcParams)
    dt.to_graph(dt.scalar("x") * 2)._repr_svg_()
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == []


def test_a_drawing_by_hand():
    picture = Picture([Box("a", "", "input"), Box("b", "", "output")], [Arrow(0, 1, "to")])
    assert picture._repr_svg_().count("<g id=") > 3


def test_other_formats_are_refused(tmp_path):
    with pytest.raises(OptionError, match=r"saved as \.svg, \.png or \.pdf, not as 'graph\.gif'"):
        dt.to_graph(dt.scalar("x"), tmp_path / "graph.gif")
    with pytest.raises(OptionError, match="not as 'graph'"):
        dt.to_graph(dt.scalar("x"), tmp_path / "graph")


def test_only_graphs_are_drawn():
    with pytest.raises(ArgumentError, match="expected a dims-tensor or several, got ndarray"):
        dt.to_graph(np.zeros(3))


def test_a_graph_too_large_for_a_picture_is_refused():
    x = dt.scalar("x")
    for _ in range(1001):
        x = dt.sin(x)
    with pytest.raises(GraphError, match=r"a picture of 1002 nodes is unreadable; dt\.dprint"):
        dt.to_graph(x)


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dimtensor\[viz\]'"):
        dt.to_graph(dt.scalar("x"))
