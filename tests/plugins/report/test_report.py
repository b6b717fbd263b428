"""A report is one page that has everything that it shows inside."""

from __future__ import annotations

import base64
import re
import sys

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist
from tests.display.test_html import EVIL, read

pytestmark = pytest.mark.plugin("report")
pytest.importorskip("arviz")
pyplot = pytest.importorskip("matplotlib.pyplot")
pyplot.switch_backend("agg")

K = dt.Dim("k", coords=["a", "b & c"])
SEEN = np.array([1.0, 2.0, 4.0, 6.0])


def fit():
    obs = dt.Dim("obs")
    mu = dt.rv("mu", dist.Normal(0.0, 10.0), dims=K)
    of = dt.data(["a", "b & c", "a", "a"], dims=obs, categories=K)
    mean = dt.named("mean", mu.sel(k=of))
    y = dt.rv("y", dist.Normal(mean, dt.rv("sigma", dist.HalfNormal(1.0))))
    return dt.Model(y, backend="python").observe(y=SEEN)


def read_page(html):
    return read(html[html.index("<body>") : html.index("</html>")])


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    model = fit()
    post = model.laplace(200, seed=1)
    file = tmp_path_factory.mktemp("report") / "report.html"
    before = pyplot.get_fignums()
    assert dt.report(model, post, file, title=EVIL, seed=2) == file
    assert pyplot.get_fignums() == before
    return model, post, file.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_report_has_all_sections(written):
    page = read_page(written[2])
    text = " ".join(page.text.split())
    for part in (
        "Model 3 random variables, 1 observed",
        "Formulas",
        "1 × 200 draws of an approximation",
        "mu[b & c]",
        "Predictive checks",
        "numpy " + np.__version__,
        "seed of replications 2",
    ):
        assert part in text, part
    assert "mean[0]" not in text  # has an element for each observation
    assert "∼" in text


@pytest.mark.slow
def test_a_report_needs_nothing_else_and_escapes_titles(written):
    html = written[2]
    assert "<script" not in html
    assert EVIL not in html
    assert re.findall(r'(?:src|href)="(?!data:)', html) == []
    images = re.findall(r'<img alt="([^"]+)" src="data:image/png;base64,([^"]+)"', html)
    assert len(images) == 2
    for alt, image in images:
        assert alt
        assert base64.b64decode(image).startswith(b"\x89PNG")


@pytest.mark.slow
def test_checks_compare_observations_with_replications(written):
    model, post, html = written
    text = " ".join(read_page(html).text.split())
    draws = model.predict(post, seed=2)["posterior_predictive"]["y"].mean("obs")
    low, high = draws.quantile([0.05, 0.95]).values
    below = float((draws < SEEN.mean()).mean())
    assert f"y mean {SEEN.mean():.4g} {low:.4g} to {high:.4g} {below:.2f}" in text


@pytest.mark.slow
@pytest.mark.compiled
def test_a_report_of_a_sampler_has_its_verdict_and_seed(tmp_path):
    pytest.importorskip("nutpie")
    model = fit()
    post = model.sample(50, tune=50, chains=2, seed=7, progress_bar=False, report=False)
    html = dt.report(model, post, tmp_path / "r.html").read_text(encoding="utf-8")
    text = " ".join(read_page(html).text.split())
    assert "sampled: 2 chains × 50 draws in" in text
    assert "seed 7" in text
    assert html.count("<img") == 3


def test_a_report_is_of_a_fit(tmp_path):
    model = fit()
    prior = dt.Model(model["y"], backend="python")
    with pytest.raises(dt.InputError, match="the model has no observations"):
        dt.report(prior, model.laplace(2, seed=1), tmp_path / "r.html")
    with pytest.raises(dt.InputError, match="draws are a DataTree with the group posterior"):
        dt.report(model, {"mu": 1.0}, tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    model = fit()
    post = model.laplace(5, seed=1)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(dt.MissingExtraError, match=r"pip install 'dimtensor\[viz\]'"):
        dt.report(model, post, tmp_path / "r.html")
