"""Cards of models, distributions and results: complete, escaped, and readable on every page."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import scipy.stats as st

import dimtensor as dt
from dimtensor import dist
from dimtensor.display.cards import densities
from dimtensor.display.cards.densities import curve, curve_of
from dimtensor.display.cards.generative import model_html
from dimtensor.display.style import PALETTE, STYLE
from dimtensor.model.checking.calibrate import Calibration
from dimtensor.model.checking.cross_validate import CrossValidation
from tests.display.test_html import EVIL, read

COUNTY = dt.Dim("county", coords=["a", "b"])
HOUSE = dt.Dim("house")


def radon(**observing):
    county_of = dt.data(["a", "b", "b", "a"], dims=HOUSE, categories=COUNTY, name="county_of")
    mu, tau = dt.rv("mu", dist.Normal(0.0, 10.0)), dt.rv("tau", dist.HalfNormal(2.0))
    alpha = dt.rv("alpha", dist.Normal(mu, tau), dims=COUNTY)
    mean = dt.named("mean", alpha.sel(county=county_of))
    y = dt.rv("y", dist.Normal(mean, 1.0))
    return dt.Model(y, backend="python").observe({y: [1.0, np.nan, 3.0, 4.5]}, **observing)


def test_a_model_card_has_all_that_a_model_is_made_of():
    page = read(radon(missing="drop")._repr_html_())
    text = " ".join(page.text.split())
    for part in (
        "Model 4 random variables, 1 observed",
        "Random variables (4)",
        "alpha (county: 2)",
        "Normal(mu=mu, sigma=tau)",
        "HalfNormal(sigma=2)",
        "HalfNormal(sigma=2) positive",
        "Dims (2)",
        "county 2 'a' 'b'",
        "house 4 with the data, no labels",
        "Named (1) mean (house: 4)",
        "Data (2)",
        "county_of (house: 4) labels of county",
        "y (house: 4) float64 1 to 4.5 1 of 4, left out observed",
    ):
        assert part in text, part
    with_picture = "to_graph" in dir(dt)
    assert page.tags.count("details") == 4 + with_picture
    assert ("Picture" in text) == with_picture


def test_a_card_says_which_named_expressions_are_not_recorded():
    """Those that are computed from variables of the model, as long as somebody has them."""
    slope = dt.rv("slope of a card", dist.Normal(0.0, 1.0))
    other = dt.rv("of another model", dist.Normal(0.0, 1.0))
    y = dt.rv("y", dist.Normal(slope, 1.0))
    kept = [
        dt.named("odds", dt.exp(slope)),
        dt.named("of both", slope + other),
        dt.named("constant", dt.scalar("x")),
    ]
    model = dt.Model(y, backend="python")
    says = "not recorded, as no output needs it: 'odds'; dt.Model(y, odds) records it"
    assert [line.strip() for line in repr(model).splitlines() if "not rec" in line] == [says]
    assert says in " ".join(read(model._repr_html_()).text.split())
    recorded = dt.Model(y, kept[0], backend="python")
    assert "not recorded" not in repr(recorded)
    assert "odds" in recorded.observe(y=1.0).laplace(2, seed=1)["posterior"]


def test_a_card_says_how_missing_values_are_treated():
    text = " ".join(read(radon(missing="infer")._repr_html_()).text.split())
    assert "1 of 4, inferred" in text


def test_everything_in_a_model_card_is_escaped():
    name = EVIL.replace("</script>", "")  # names of results have no slash
    dim = dt.Dim(name, coords=[EVIL, "b"])
    late = dt.Dim("late")
    x = dt.rv(name, dist.Normal(0.0, 1.0), dims=dim)
    where = dt.data([EVIL, "b"], dims=late, categories=dim, name=name + "where")
    mean = dt.named(name + "mean", x.sel({dim: where}))
    y = dt.rv(name + "y", dist.Normal(mean, 1.0))
    values = dt.data(np.zeros(2), dims=late).eval().assign_coords(late=[EVIL, "c"])
    model = dt.Model(y, backend="python").observe({y: values})
    for shown in (model, x, dist.Normal(x, 1.0), mean):
        page = read(shown._repr_html_())
        assert "script" not in page.tags
        assert "alert('x')" in page.text


def test_nothing_is_fetched_and_nothing_runs():
    for page in (radon(missing="drop")._repr_html_(), dist.Gamma(2.0, 1.0)._repr_html_()):
        assert not re.search(r"<(script|link|img|iframe|object)|url\(|https?:|\bon\w+=", page)


def test_long_labels_wrap_in_their_cells():
    dim = dt.Dim("k", coords=[f"a rather long label {i}" for i in range(300)])
    x = dt.rv("x", dist.Normal(0.0, 1.0), dims=dim)
    page = dt.Model(dt.rv("y", dist.Normal(x.sum(), 1.0)))._repr_html_()
    assert "'a rather long label 99'" in page.replace("&#x27;", "'")
    assert "'a rather long label 150'" not in page.replace("&#x27;", "'")
    # what scrolls must be reachable by keyboard, and these are not
    assert re.search(r"\.dt-narrow, [^{]*{[^}]*overflow-wrap: break-word", page)
    assert not re.search(r"\.dt-narrow[^}]*overflow-x", page)


def luminance(color: tuple[float, ...]) -> float:
    """Of WCAG 2.2, relative luminance."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lights = sorted(
        luminance(tuple(int(c[i : i + 2], 16) / 255 for i in (1, 3, 5))) for c in (one, other)
    )
    return (lights[1] + 0.05) / (lights[0] + 0.05)


# pages of JupyterLab, VS Code, furo and marimo, light and dark
@pytest.mark.parametrize("page", ["#ffffff", "#111111", "#1e1e1e", "#181c1a", "#131416"])
@pytest.mark.parametrize("name", PALETTE)
def test_colors_are_seen_on_light_pages_and_on_dark_ones(page, name):
    assert contrast(PALETTE[name], page) >= 3.0  # WCAG 2.2, 1.4.11: graphical objects


def test_texts_have_the_color_of_the_theme_or_of_the_page():
    root = re.search(r"\.dt-repr {[^}]*}", STYLE)[0]
    assert "var(--jp-content-font-color1, var(--vscode-editor-foreground, inherit))" in root
    assert "fill: currentColor" in re.search(r"\.dt-repr svg text {[^}]*}", STYLE)[0]
    assert not re.search(r"background: (?!none)", STYLE)


# -- densities -------------------------------------------------------------------------------------

KNOWN = {
    "normal": (dist.Normal(1.0, 2.0), st.norm(1.0, 2.0)),
    "gamma": (dist.Gamma(2.0, 3.0), st.gamma(2.0, scale=1 / 3.0)),
    "exponential": (dist.Exponential(0.5), st.expon(scale=2.0)),
    "cauchy": (dist.Cauchy(0.0, 1.0), st.cauchy(0.0, 1.0)),
    "poisson": (dist.Poisson(4.0), st.poisson(4.0)),
    "uniform": (dist.Uniform(-1.0, 3.0), st.uniform(-1.0, 4.0)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_curves_are_the_densities(name):
    ours, theirs = KNOWN[name]
    found = curve(ours)
    expected = theirs.pmf(found.x) if found.discrete else theirs.pdf(found.x)
    np.testing.assert_allclose(found.y, expected, rtol=1e-9, atol=1e-12)
    # most of it is in the picture
    inside = theirs.cdf(found.x[-1]) - theirs.cdf(found.x[0] - 1e-9)
    assert inside > 0.9


def test_an_infinite_density_has_a_picture():
    found = curve(dist.Beta(0.5, 0.5))
    assert np.isfinite(found.y).all()
    middle = np.abs(found.x - 0.5) < 0.3
    np.testing.assert_allclose(found.y[middle], st.beta(0.5, 0.5).pdf(found.x[middle]), rtol=1e-9)


def test_a_distribution_without_quantiles_is_drawn_from_its_draws():
    assert not dist.SkewNormal(mu=0.0, sigma=1.0, alpha=4.0).implements("icdf")
    found = curve(dist.SkewNormal(mu=0.0, sigma=1.0, alpha=4.0))
    expected = st.skewnorm(4.0).pdf(found.x)
    np.testing.assert_allclose(found.y, expected, rtol=1e-8, atol=1e-12)
    assert st.skewnorm(4.0).cdf(found.x[-1]) - st.skewnorm(4.0).cdf(found.x[0]) > 0.95


def test_priors_computed_from_data_are_drawn():
    heights = dt.data([1.0, 2.0, 6.0], dims=dt.Dim("obs"))
    x = dt.rv("x", dist.Normal(heights.mean(), heights.max()))
    found = curve_of(x.node)
    np.testing.assert_allclose(found.y, st.norm(3.0, 6.0).pdf(found.x), rtol=1e-9)
    assert curve_of(x.node) is found


def test_labels_have_bars():
    found = curve(dist.Categorical(dt.data([0.25, 0.75], dims=COUNTY), dim=COUNTY))
    np.testing.assert_allclose(found.y, [0.25, 0.75])
    assert found.discrete


def test_there_is_no_curve_where_a_parameter_is_a_variable_or_there_are_several():
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    assert curve(dist.Normal(mu, 1.0)) is None
    assert curve(dist.Normal(dt.data([0.0, 1.0], dims=COUNTY), 1.0)) is None
    assert curve_of(dt.rv("x", dist.Normal(mu, 1.0)).node) is None
    assert curve(dist.Flat()) is None
    page = model_html(dt.Model(dt.rv("z", dist.Normal(mu, 1.0))))
    assert page.count('class="dt-density"') == 1


def computed(number):
    """A parameter that is not looked at before it is computed."""
    return dt.data([number], dims=HOUSE).sum()


NOT_DRAWN = {
    "unknown": dist.Normal(computed(np.nan), 1.0),
    "infinitely wide": dist.Normal(0.0, computed(np.inf)),
    "nowhere": dist.Normal(computed(np.inf), 1.0),
    "out of range": dist.Gamma(computed(-1.0), 1.0),
    "too far": dist.Poisson(computed(1e300)),
    "without draws": dist.RaisedCosine(0.0, 1.0),
}


@pytest.mark.parametrize("name", NOT_DRAWN)
def test_what_cannot_be_drawn_has_a_card_without_a_picture(name):
    page = read(NOT_DRAWN[name]._repr_html_())
    assert "Parameters" in page.text
    assert "Density" not in page.text


def test_a_prior_of_a_huge_number_is_drawn():
    found = curve(dist.Poisson(1e15))
    assert found.discrete
    assert len(found.x) < 200


def test_a_picture_computes_nothing_large(monkeypatch):
    many = dt.data(np.ones(300_000), dims=HOUSE)
    x = dt.rv("x", dist.Normal(dt.exp(many).mean(), 1.0))
    asked = []
    monkeypatch.setattr(densities, "function", lambda *a: asked.append(a))
    assert curve_of(x.node) is None
    assert not asked


def test_equal_priors_are_computed_once():
    one = dt.rv("one", dist.Normal(0.5, 1.0))
    other = dt.rv("other", dist.Normal(0.5, 1.0), dims=COUNTY)
    assert curve_of(one.node) is curve_of(other.node)


def test_a_distribution_shows_its_density_and_parameters():
    page = read(dist.Gamma(2.0, 1.0)._repr_html_())
    for part in ("Gamma(alpha=2, beta=1)", "support: positive", "Density", "Parameters", "alpha"):
        assert part in page.text, part


# -- results ---------------------------------------------------------------------------------------


def test_a_cross_validation_has_a_card_of_its_folds():
    import xarray as xr

    values = xr.DataArray([-1.0, -2.0, -4.0, np.nan], dims="day")
    found = CrossValidation(
        xr.Dataset({"y": values}),
        xr.DataArray([0, 1, 1, -1], dims="day", name="day"),
        100,
        xr.DataArray([0, 3], dims="fold"),
        1,
    )
    text = " ".join(read(found._repr_html_()).text.split())
    assert "CrossValidation over day: elpd -7.0 ± 2.2" in text
    assert "0 1 -1 0 1 2 -6 3" in text


def test_a_calibration_has_a_card_of_its_ranks():
    import xarray as xr

    ranks = xr.Dataset({"mu": ("simulation", np.arange(20) % 10), EVIL: ("simulation", [9] * 20)})
    zeros = xr.DataArray(np.zeros(20, dtype=int), dims="simulation")
    found = Calibration(ranks, 9, ranks, zeros, 1)
    html = found._repr_html_()
    text = " ".join(read(html).text.split())
    assert "Calibration 20 posteriors 0 divergences" in text
    assert "ranks 0 to 9 p mu 1" in text
    # bins of 2, 3, 3 and 2 of the ten ranks
    uneven = st.chisquare([0, 0, 0, 20], [4, 6, 6, 4]).pvalue
    assert f"{uneven:.3g}" in text
    assert html.count('class="dt-density"') == 2


def test_of_many_variables_the_observed_one_is_not_folded():
    many = [dt.rv(f"b{at}", dist.Normal(0.0, 1.0)) for at in range(30)]
    model = dt.Model(dt.rv("outcome", dist.Normal(sum(many), 1.0)), backend="python")
    page = model.observe(outcome=1.0)._repr_html_()
    table = page[page.index("Random variables") :]
    shown, folded = table.split("<summary>19 more</summary>")
    assert "outcome" in shown
    assert ">b10<" in shown
    assert ">b11<" in folded
    assert ">b29<" in folded


def test_variables_that_are_summed_out_are_marked():
    kind = dt.Dim("kind", coords=["a", "b"])
    z = dt.rv("z", dist.Categorical(dt.data([0.5, 0.5], dims=kind), dim=kind), dims=HOUSE)
    y = dt.rv("y", dist.Normal(dt.data([0.0, 5.0], dims=kind).sel(kind=z), 1.0))
    fit = dt.Model(y, backend="python").observe(y=[0.1, 4.9])
    assert "summed out" not in fit._repr_html_()
    page = read(fit.marginalize(z)._repr_html_())
    assert " ".join(page.text.split()).count("summed out") == 1 + ("to_graph" in dir(dt))


def test_a_table_has_a_card_with_a_row_for_each_column():
    table = {"a": ["x", None, "y"], "b < c": [1.0, np.nan, 3.0], "d": ["u", "v", "u"]}
    frame = dt.frame(pd.DataFrame(table), dims=HOUSE)
    text = " ".join(read(frame._repr_html_()).text.split())
    assert "Frame 3 columns" in text
    assert "a not read column 'a' lacks 1 label" in text
    assert "b < c (house: 3) float64 1 to 3 1" in text
    assert "d (house: 3) labels of d ['u', 'v', 'u']" in text
    assert "table.a or table['a'] is a column" in text


def test_a_card_shows_the_value_before_the_expression_and_names_unnamed_data():
    x = dt.data(np.arange(861.0), dims=dt.Dim("row"))
    text = " ".join(read((x - x.mean())._repr_html_()).text.split())
    assert text.index("Values") < text.index("Expression")
    assert "Inputs (1) data (row: 861) float64 data" in text
