"""Pictures of models: every variable once, and a plate around all that has a dim, and no more."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist
from dimtensor.plugins.pictures.inline import text_width
from dimtensor.plugins.pictures.plates import place, plan_of

K = dt.Dim("k", length=3)
COUNTY = dt.Dim("county", coords=["a", "b"])
HOUSE, WEEK = dt.Dim("house"), dt.Dim("week", length=2)


def model():
    mu = dt.rv("mu", dist.Normal(0.0, 1.0), dims=K)
    s = dt.rv("s", dist.HalfNormal(1.0))
    slope = dt.rv("slope", dist.Normal(mu, s), dims=COUNTY)
    table = dt.tensor("table", dims=[HOUSE, K])
    county_of = dt.data(["a", "b", "b", "a"], dims=HOUSE, categories=COUNTY, name="county_of")
    mean = dt.named("mean", (slope.sel(county=county_of) * table).sum(K))
    weekly = dt.rv("weekly", dist.Normal(0.0, 1.0), dims=[WEEK, K])
    other = dt.rv("other", dist.Normal(weekly.sum(K), 1.0))
    y = dt.rv("y", dist.Normal(mean, dt.rv("sigma", dist.HalfNormal(1.0))))
    return dt.Model(y, other, backend="python").observe(
        {y: [1.0, 2.0, 3.0, 4.0], other: [0.0, 1.0]}
    )


def test_a_model_is_drawn_with_its_kinds_and_dependencies():
    picture = model().to_graph()
    boxes = {box.title: box for box in picture.boxes}
    assert set(boxes) == {
        "mu", "s", "slope", "table", "county_of", "mean", "weekly", "other", "y", "sigma",
    }  # fmt: skip
    kinds = {title: box.kind for title, box in boxes.items()}
    assert kinds["y"] == kinds["other"] == "observed"
    assert kinds["slope"] == kinds["weekly"] == "variable"
    assert kinds["county_of"] == "data"
    assert kinds["table"] == "input"
    assert boxes["slope"].detail == "Normal(mu=mu{k}, sigma=s)"
    links = {(picture.boxes[a.source].title, picture.boxes[a.target].title) for a in picture.arrows}
    assert links == {
        ("mu", "slope"), ("s", "slope"), ("slope", "mean"), ("table", "mean"),
        ("county_of", "mean"), ("mean", "y"), ("sigma", "y"), ("weekly", "other"),
    }  # fmt: skip


def test_a_plate_holds_all_that_has_its_dims_and_nothing_else():
    fit = model()
    plan = plan_of(fit)
    layout, plates = place(plan, [(60.0 + 5 * at, 24.0) for at in range(len(plan.boxes))])
    titles = [plate.title for plate in plates]
    assert sorted(titles) == ["county: 2", "house: 4", "k: 3", "k: 3", "week: 2", "week: 2"]
    dims = {
        name: {dim._short for dim in fit[name].dims} for name in (box.title for box in plan.boxes)
    }
    for plate in plates:
        (x, y), (half_width, half_height) = plate.center, plate.half
        inside = set()
        for box, (u, v), at in zip(plan.boxes, layout.centers, itertools.count()):
            width = 60.0 + 5 * at
            touches = abs(x - u) < half_width + width / 2 and abs(y - v) < half_height + 12
            within = abs(x - u) <= half_width - width / 2 and abs(y - v) <= half_height - 12
            assert touches == within, (plate.title, box.title)
            if within:
                inside.add(box.title)
        (dim,) = {part.split(":")[0] for part in plate.title.split(", ")}
        assert inside
        assert all(dim in dims[name] for name in inside)


def test_boxes_and_plates_do_not_overlap_and_arrows_go_down():
    plan = plan_of(model())
    sizes = [(60.0 + 5 * at, 24.0) for at in range(len(plan.boxes))]
    layout, plates = place(plan, sizes)
    for (one, (w, h)), (other, (u, v)) in itertools.combinations(
        zip(layout.centers, sizes, strict=True), 2
    ):
        apart = abs(one[0] - other[0]) >= (w + u) / 2 or abs(one[1] - other[1]) >= (h + v) / 2
        assert apart
    for one, other in itertools.combinations(plates, 2):
        dx, dy = abs(np.subtract(one.center, other.center))
        (w, h), (u, v) = one.half, other.half
        apart = dx >= w + u or dy >= h + v
        nested = (dx <= abs(w - u) and dy <= abs(h - v)) and (w > u) == (h > v)
        assert apart or nested, (one, other)
    assert all(route[0][1] < route[-1][1] for route in layout.routes)


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_pictures_of_models_are_saved(kind, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"model.{kind}"
    picture = model().to_graph(path)
    assert path.stat().st_size > 1_000
    if kind == "svg":
        assert picture._repr_svg_() == model().to_graph()._repr_svg_()
        assert "county: 2" in path.read_text()


def test_a_model_without_dims_has_no_plates():
    x = dt.rv("x", dist.Normal(0.0, 1.0))
    plan = plan_of(dt.Model(dt.rv("y", dist.Normal(x, 1.0)), backend="python"))
    assert place(plan, [(50.0, 20.0)] * 2)[1] == []


def test_many_alike_variables_are_one_box():
    """Of those with the same distribution, dims, sources and users; the others stay."""
    s = dt.rv("s", dist.HalfNormal(1.0))
    alike = [dt.rv(f"x{at}", dist.Normal(0.0, s)) for at in range(20)]
    wide = [dt.rv(f"w{at}", dist.Normal(0.0, s), dims=K) for at in range(3)]
    other = dt.rv("other", dist.Normal(1.0, s))
    total = sum(alike[1:], alike[0]) + sum(wide, dt.scalar("zero")).sum() + other
    y = dt.rv("y", dist.Normal(total, dt.exp(alike[7])))
    z = dt.rv("z", dist.Normal(alike[3], 1.0))
    model = dt.Model(y, z, data={"zero": 0.0}, backend="python")
    picture = model.to_graph()
    titles = [box.title for box in picture.boxes]
    assert sorted(titles) == sorted(
        ["s", "x0 … x19", "x3", "w0", "w1", "w2", "other", "zero", "y", "z"]
    )
    (many,) = (box for box in picture.boxes if "…" in box.title)
    assert many.detail == "19 × Normal(mu=0, sigma=s)"
    arrows = {(titles[arrow.source], titles[arrow.target]) for arrow in picture.arrows}
    assert {("s", "x0 … x19"), ("x0 … x19", "y"), ("x3", "z"), ("x3", "y")} <= arrows
    assert len(picture.arrows) == len(arrows) == 14
    assert len(dt.Model(*alike[:9]).to_graph().boxes) == 10


def test_titles_of_plates_are_inside_of_them():
    group = dt.Dim("a_dim_with_a_rather_long_name", length=3)
    theta = dt.rv("theta", dist.Normal(0.0, 1.0), dims=group)
    plan = plan_of(dt.Model(dt.rv("y", dist.Normal(theta, 1.0)), backend="python"))
    _, (plate,) = place(plan, [(40.0, 24.0)] * len(plan.boxes))
    assert 2 * plate.half[0] >= text_width(plate.title, 10.0) + 6.0
