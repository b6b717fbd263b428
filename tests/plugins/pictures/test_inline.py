"""Plate diagrams in the cards of models."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import dimtensor as dt
from dimtensor import dist
from dimtensor.plugins.pictures.inline import model_svg, text_width
from dimtensor.plugins.pictures.plates import plan_of
from tests.display.test_cards import radon
from tests.display.test_html import read


def test_the_picture_has_a_box_for_each_variable_and_a_plate_for_each_dim():
    svg = model_svg(plan_of(radon(missing="drop")))
    page = read(svg)
    assert svg.count('class="dt-plate"') == 2
    assert svg.count("dt-box dt-variable") == 3
    assert svg.count("dt-box dt-observed") == 1
    assert svg.count("dt-box dt-data") == 1
    assert svg.count("dt-box dt-operation") == 1
    # mu and tau to alpha, alpha and county_of to mean, mean to y
    assert svg.count('class="dt-arrow"') == 5
    for part in ("Normal(0, 10)", "Normal(mu, tau)", "Normal(mean, 1)", "county: 2", "house: 4"):
        assert part in page.text, part


def test_boxes_lie_in_the_picture():
    svg = model_svg(plan_of(radon(missing="drop")))
    left, top, width, height = map(float, re.search(r'viewBox="([^"]*)"', svg)[1].split())
    found = re.findall(r'<rect [^>]*x="([^"]*)" y="([^"]*)" width="([^"]*)" height="([^"]*)"', svg)
    assert len(found) == 8
    for x, y, w, h in (map(float, one) for one in found):
        assert left <= x
        assert x + w <= left + width
        assert top <= y
        assert y + h <= top + height


def test_a_picture_shrinks_on_narrow_pages_but_not_until_nobody_can_read_it():
    picture = ET.fromstring(model_svg(plan_of(radon(missing="drop"))))
    style = dict(one.split(": ") for one in picture.get("style").split("; "))
    assert (style["max-width"], style["height"]) == ("100%", "auto")
    smallest = 10.0 * float(style["min-width"].removesuffix("px")) / float(picture.get("width"))
    assert 6.0 < smallest < 8.0  # of texts, in pixels


def test_a_card_is_read_where_its_style_is_dropped():
    picture = ET.fromstring(model_svg(plan_of(radon(missing="drop"))))
    assert picture.get("fill") == "currentColor"
    shapes = [each for each in picture if each.tag in ("rect", "path")]
    assert len(shapes) > 10
    assert {(each.get("fill"), each.get("stroke")) for each in shapes} == {("none", "currentColor")}


def test_wider_texts_are_wider():
    assert text_width("ill", 10.0) < text_width("abc", 10.0) < text_width("MWM", 10.0)
    assert text_width("abc", 20.0) == 2 * text_width("abc", 10.0)


def test_a_large_model_has_no_picture():
    last = 0.0
    for at in range(70):  # alike ones would be one box
        last = dt.rv(f"x{at}", dist.Normal(last, 1.0))
    page = dt.Model(last)._repr_html_()
    assert "Picture" not in page
    assert "Random variables" in page
