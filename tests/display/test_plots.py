"""Plots are xarray's and ArviZ's, of labeled values."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor import dist

pytest.importorskip("matplotlib").use("Agg")

K = dt.Dim("k", coords=["a", "b"])
T = dt.Dim("t", coords=[10, 20, 30])
X = dt.data(np.arange(3.0), dims=T, name="rain")


def test_data_and_what_is_computed_from_them_are_plotted_with_their_labels():
    (line,) = (X**2).plot()
    assert line.get_xdata().tolist() == [10, 20, 30]
    assert line.get_ydata().tolist() == [0.0, 1.0, 4.0]
    assert line.axes.get_xlabel() == "t"
    table = X * dt.data([1.0, 2.0], dims=K)
    lines = table.plot.line(x="t")
    assert [each.get_ydata().tolist() for each in lines] == [[0, 1, 2], [0, 2, 4]]


def test_what_has_no_values_has_no_plot():
    with pytest.raises(
        dt.GraphError, match=r"depends on input 'y', and has no plot before it is computed"
    ):
        (X * dt.scalar("y")).plot()
    with pytest.raises(dt.GraphError, match=r"an input has no plot before it is computed"):
        dt.tensor("y", dims=T).plot.hist()


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(dt.MissingExtraError, match=r"pip install 'dimtensor\[viz\]'"):
        X.plot()


def fit():
    mu = dt.rv("mu", dist.Normal(0.0, 1.0), dims=K)
    y = dt.rv("y", dist.Normal(mu.sum(), 1.0))
    return dt.Model(y, backend="python"), mu


def draws():
    values = np.random.default_rng(0).normal(size=(2, 50, 2))
    mu = xr.DataArray(values, dims=("chain", "draw", "k"), coords={"k": ["a", "b"]})
    coords = {"chain": [0, 1], "draw": np.arange(50)}
    return xr.DataTree.from_dict(
        {"posterior": xr.Dataset({"mu": mu, "other": mu.sum("k")}, coords)}
    )


def test_plots_of_draws_are_those_of_arviz(monkeypatch):
    arviz = pytest.importorskip("arviz")
    model, mu = fit()
    asked = []

    def plot_trace(post, *arguments, **options):
        asked.append((arguments, options))
        return "the plot"

    monkeypatch.setattr(arviz, "plot_trace", plot_trace)
    assert model.plot.trace(draws(), var_names=[mu], backend="none") == "the plot"
    assert model.plot.trace(draws(), 3) == "the plot"
    assert model.plot.trace(draws(), var_names="mu") == "the plot"
    assert asked == [
        ((), {"backend": "none", "var_names": ["mu"]}), ((3,), {}), ((), {"var_names": ["mu"]}),
    ]  # fmt: skip
    listed = set(dir(model.plot))
    assert listed == {name[5:] for name in dir(arviz) if name.startswith("plot_")}


def test_a_plot_of_arviz_is_made():
    pytest.importorskip("arviz")
    import warnings

    model, mu = fit()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ArviZ's own
        made = model.plot.forest(draws(), var_names=[mu], backend="matplotlib")
    assert type(made).__name__ == "PlotMatrix" or type(made).__name__ == "PlotCollection"


def test_a_plot_that_arviz_has_not():
    pytest.importorskip("arviz")
    model, _ = fit()
    with pytest.raises(dt.NoAttributeError, match=r"ArviZ has no plot plot_forrest \(did you mean"):
        _ = model.plot.forrest
    with pytest.raises(dt.LabelError, match="the model has no variable 'my'"):
        model.plot.forest(draws(), var_names=["my"])
