"""Plots are xarray's and ArviZ's, of labeled values."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor import dist

pytest.importorskip("matplotlib").use("Agg")


@pytest.fixture(autouse=True)
def _no_figures_left():
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


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


def test_data_have_the_units_of_their_array():
    coords = {"t": ("t", [10, 20, 30], {"units": "s"})}
    found = xr.DataArray([1.0, 2.0, 4.0], dims="t", coords=coords, name="depth")
    found.attrs["units"] = "m"
    (line,) = dt.data(found, dims=T).plot()
    assert (line.axes.get_xlabel(), line.axes.get_ylabel()) == ("t [s]", "depth [m]")
    assert line.get_ydata().tolist() == [1.0, 2.0, 4.0]


def test_equal_values_of_other_units_are_other_data():
    described = [{"units": "m"}, {"units": "s"}, {}]
    made = [dt.data(xr.DataArray([1.0, 2.0], dims="t", attrs=attrs)) for attrs in described]
    assert len({x.node for x in made}) == 3
    for x, unit in zip(made, ("[m]", "[s]", ""), strict=True):
        (line,) = x.plot()
        assert line.axes.get_ylabel().strip() == unit
        line.figure.clear()


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
    theirs = {name[5:] for name in dir(arviz) if name.startswith("plot_")}
    assert listed == theirs | {"forecast", "ppc"}


def test_a_plot_of_arviz_is_made():
    pytest.importorskip("arviz")
    import warnings

    model, mu = fit()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ArviZ's own
        made = model.plot.forest(draws(), [mu], backend="matplotlib")
    assert type(made).__name__ == "PlotMatrix" or type(made).__name__ == "PlotCollection"


def test_a_plot_that_arviz_has_not():
    pytest.importorskip("arviz")
    model, _ = fit()
    with pytest.raises(dt.NoAttributeError, match=r"ArviZ has no plot plot_forrest \(did you mean"):
        _ = model.plot.forrest
    with pytest.raises(dt.LabelError, match="the model has no variable 'my'"):
        model.plot.forest(draws(), var_names=["my"])


def by_row():
    """A model with an expression of one element for each observation."""
    obs = dt.Dim("obs")
    mu = dt.rv("mu", dist.Normal(0.0, 1.0), dims=K)
    mean = dt.named("mean", mu.sel(k=dt.data(["a", "b", "a"], dims=obs, categories=K)))
    fit = dt.Model(dt.rv("y", dist.Normal(mean, 1.0)), backend="python").observe(y=[1.0, 2.0, 4.0])
    return fit, fit.laplace(50, seed=1)


def test_a_summary_has_no_row_for_each_observation():
    pytest.importorskip("arviz")
    fit, post = by_row()
    found = fit.summary(post, kind="stats", round_to="none")
    assert list(found.index) == ["mu[a]", "mu[b]"]
    mean = post["posterior"]["mu"].mean(["chain", "draw"])
    np.testing.assert_allclose(found["mean"], mean)
    assert len(fit.summary(post, ["mean"], kind="stats")) == 3
    with pytest.raises(dt.LabelError, match="the model has no variable 'my'"):
        fit.summary(post, "my")


def test_a_summary_of_observations_that_are_read_from_a_stream():
    pytest.importorskip("arviz")
    mu, row = dt.rv("mu", dist.Normal(0.0, 1.0)), dt.Dim("row")
    y = dt.rv("y", dist.Normal(mu, 1.0), dims=row)
    model = dt.Model(y, backend="python")
    fit = model.observe({y: dt.stream(np.array([1.0, 2.0, 4.0]), dims=row, chunks=2)})
    found = fit.summary(fit.laplace(50, seed=1), kind="stats")
    assert list(found.index) == ["mu"]


def test_a_latent_state_is_none_of_the_rows():
    pytest.importorskip("arviz")
    state = dt.rv("state", dist.GaussianRandomWalk(0.0, 1.0, dim=T, start=dist.Normal(0.0, 1.0)))
    y = dt.rv("y", dist.Normal(state, 1.0))
    fit = dt.Model(y, backend="python").observe({y: [1.0, 2.0, 4.0]})
    assert len(fit.summary(fit.laplace(50, seed=1), kind="stats")) == 3


def test_forests_leave_out_rows_unless_they_are_asked_for(monkeypatch):
    arviz = pytest.importorskip("arviz")
    fit, post = by_row()
    monkeypatch.setattr(arviz, "plot_forest", lambda post, **options: options)
    assert fit.plot.forest(post) == {"var_names": ["mu"]}
    assert fit.plot.forest(post, var_names="mean") == {"var_names": ["mean"]}


def many_elements(labels):
    k = dt.Dim("k", coords=labels)
    mu, each = dt.rv("mu", dist.Normal(0.0, 1.0)), dt.rv("each", dist.Normal(0.0, 1.0), dims=k)
    model = dt.Model(dt.rv("y", dist.Normal(mu + each, 1.0)), backend="python")
    rng = np.random.default_rng(1)
    arrays = {
        "mu": (("chain", "draw"), rng.normal(size=(2, 10))),
        "each": (("chain", "draw", "k"), rng.normal(size=(2, 10, len(labels)))),
    }
    coords = {"chain": [0, 1], "draw": range(10), "k": labels}
    return model, xr.DataTree.from_dict({"posterior": xr.Dataset(arrays, coords)})


@pytest.mark.parametrize("name", ["trace", "rank"])
def test_more_panels_than_arviz_draws(name):
    pytest.importorskip("arviz")
    model, post = many_elements(range(50))
    hint = rf"fit\.plot\.{name}\(post, var_names=\['mu'\]\); fit\.plot\.forest\(post\)"
    with pytest.raises(
        dt.OptionError, match=rf"{name} has a panel for each element, and 51 are(.|\n)*{hint}"
    ):
        getattr(model.plot, name)(post)
    with pytest.raises(dt.OptionError, match=r"and 50 are not(.|\n)*hint: fit\.plot\.forest"):
        getattr(model.plot, name)(post, var_names="each")


@pytest.mark.parametrize("name", ["trace", "rank", "dist"])
def test_titles_of_panels_are_not_written_over_others(name):
    pytest.importorskip("arviz")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    model, post = many_elements(range(9))
    before = dict(pyplot.rcParams)
    getattr(model.plot, name)(post)
    assert dict(pyplot.rcParams) == before
    figure = pyplot.gcf()
    figure.draw_without_rendering()
    panels = [each for each in figure.axes if each.get_title()]
    assert len(panels) == 10
    for panel in panels:
        title = panel.title.get_window_extent()
        assert not any(title.overlaps(each.get_window_extent()) for each in figure.axes)
    pyplot.close(figure)


def test_long_labels_do_not_cover_the_names_in_a_forest(monkeypatch):
    arviz = pytest.importorskip("arviz")
    monkeypatch.setattr(arviz, "plot_forest", lambda post, **options: post)
    model, post = many_elements([f"a rather long label of group {n}" for n in range(3)])
    shown = model.plot.forest(post)["posterior"]
    assert shown["k"].values.tolist() == [f"a rather lo… of group {n}" for n in range(3)]
    np.testing.assert_array_equal(shown["each"], post["posterior"]["each"])
    model, post = many_elements([f"a rather long label {n} of a group" for n in range(3)])
    assert model.plot.forest(post) is post  # shortened, they would be the same


def test_replications_are_drawn_for_predictive_checks(monkeypatch):
    arviz = pytest.importorskip("arviz")
    fit, post = by_row()
    asked = []
    monkeypatch.setattr(
        arviz, "plot_ppc_dist", lambda post, var_names: asked.append(var_names) or post
    )
    checked = fit.plot.ppc(post, seed=3)
    expected = fit.predict(post, seed=3)["posterior_predictive"]["y"]
    np.testing.assert_array_equal(checked["posterior_predictive"]["y"], expected)
    assert checked["observed_data"]["y"].values.tolist() == [1.0, 2.0, 4.0]
    assert "posterior_predictive" not in post.children
    assert fit.plot.ppc(checked) is checked
    assert asked == [["y"], ["y"]]


def test_replications_of_a_series_with_gaps_beside_its_level():
    pytest.importorskip("arviz")
    start = dist.Normal(0.0, 1.0)
    level = dt.rv("level", dist.GaussianRandomWalk(0.0, 0.5, dim=T, start=start))
    noise = dt.rv("noise", dist.HalfNormal(1.0))
    y = dt.rv("y", dist.Normal(level, noise))
    fit = dt.Model(y, level, backend="python")
    fit = fit.observe({y: [1.0, np.nan, 4.0]}, missing="drop").marginalize(level)
    made = fit.plot.ppc(fit.laplace(50, seed=1), backend="none")
    assert "y" in made.viz["plot"].data_vars or "plot" in made.viz.children


def test_counts_are_compared_by_distribution_functions():
    arviz = pytest.importorskip("arviz")
    obs = dt.Dim("obs", coords=["a", "b", "c"])
    count = dt.rv("count", dist.Poisson(dt.rv("rate", dist.Gamma(2.0, 1.0))), dims=obs)
    counted = dt.Model(count, backend="python").observe(count=[1, 0, 4])
    rate = np.linspace(1.0, 3.0, 200).reshape(2, 100)
    post = xr.DataTree.from_dict({"posterior": xr.Dataset({"rate": (("chain", "draw"), rate)})})
    made = counted.plot.ppc(post)  # a warning of ArviZ would be an error
    assert type(made) is arviz.PlotCollection
    axis = made.get_target("count", {})
    assert axis.lines[0].get_ydata().max() == 1.0
    import matplotlib.pyplot as plt

    plt.close("all")


def predictions(*dims):
    values = np.random.default_rng(1).normal(size=(2, 50, *(len(dim) for dim in dims)))
    names = [dim.name for dim in dims]
    coords = {dim.name: dim.coords.tolist() for dim in dims}
    y = xr.DataArray(values, dims=("chain", "draw", *names), coords=coords, name="y")
    y.attrs = {"units": "m", "long_name": "length"}
    return xr.DataTree.from_dict({"predictions": xr.Dataset({"y": y})})


def series(*dims):
    y = dt.rv("y", dist.Normal(dt.rv("mu", dist.Normal(0.0, 1.0)), 1.0), dims=dims)
    return dt.Model(y, backend="python").observe(y=(y.dims, np.ones([len(dim) for dim in y.dims])))


def test_a_forecast_has_the_quantiles_and_the_observations():
    longer = dt.Dim("t", coords=[10, 20, 30, 40])
    new = predictions(longer)
    place = series(T).plot.forecast(new, intervals=(0.8,))
    median, seen = place.lines
    y = new["predictions"]["y"]
    np.testing.assert_allclose(median.get_ydata(), y.median(["chain", "draw"]))
    assert median.get_xdata().tolist() == [10, 20, 30, 40]
    assert seen.get_xdata().tolist() == [10, 20, 30]
    (band,) = place.collections
    heights = band.get_paths()[0].vertices
    low, high = y.quantile([0.1, 0.9], ["chain", "draw"]).values
    np.testing.assert_allclose(heights[:, 1].max(), high.max())
    np.testing.assert_allclose(heights[:, 1].min(), low.min())
    assert (place.get_xlabel(), place.get_ylabel()) == ("t", "length [m]")


def test_a_forecast_of_two_dims_has_a_panel_for_each_label():
    places = series(T, K).plot.forecast(predictions(K, T), dim=T)
    assert [place.get_title() for place in places] == ["k a", "k b"]


def test_a_forecast_is_along_the_dim_that_is_longer():
    new = predictions(K, dt.Dim("t", coords=[10, 20, 30, 40]))
    for drawn in (new, new["predictions"], new["predictions"]["y"]):
        places = series(T, K).plot.forecast(drawn)
        assert [place.get_title() for place in places] == ["k a", "k b"]


def test_forecasts_that_cannot_be_drawn():
    fit, new = series(T, K), predictions(K, T)
    with pytest.raises(dt.OptionError, match=r"hint: fit.plot.forecast\(new, dim='t'\)"):
        fit.plot.forecast(new)
    with pytest.raises(dt.ArgumentError, match="from predictions, and this dict has none"):
        fit.plot.forecast({})
    with pytest.raises(dt.OptionError, match=r"drawn along one dim, and 'y' has 2"):
        fit.plot.forecast(new)
    with pytest.raises(dt.LabelError, match="'y' has no dim 's'"):
        fit.plot.forecast(new, dim="s")
    with pytest.raises(dt.LabelError, match="no predictions of 'mu'"):
        fit.plot.forecast(new, "mu")
    many = dt.Dim("many", coords=range(17))
    with pytest.raises(dt.OptionError, match="a forecast of 17 panels is not drawn"):
        series(T, many).plot.forecast(predictions(many, T), dim="t")


def measured():
    """A model of measurements with units, and draws from its posterior."""
    time = ("t", [10, 20, 30], {"units": "s", "long_name": "time"})
    seen = xr.DataArray([1.0, np.nan, 3.0], dims="t", coords={"t": time}, attrs={"units": "m"})
    y = dt.rv("y", dist.Normal(dt.rv("mu", dist.Normal(0.0, 1.0)), 1.0), dims=T)
    fit = dt.Model(y, backend="python").observe({y: seen}, missing="drop")
    return fit, fit.laplace(50, seed=1)


def test_units_of_observations_are_those_of_predictions_and_their_axes():
    fit, post = measured()
    assert fit.observed["y"].attrs == {"units": "m"}
    assert post["observed_data"]["y"].attrs == {"units": "m"}
    longer = dt.Dim("t", coords=[10, 20, 30, 40])
    new = fit.predict(post, dims={T: longer}, seed=1)
    assert new["predictions"]["y"].attrs == {"units": "m"}
    place = fit.plot.forecast(new)
    assert (place.get_xlabel(), place.get_ylabel()) == ("time [s]", "y [m]")


def test_units_are_in_the_labels_of_arviz(monkeypatch):
    arviz = pytest.importorskip("arviz")
    fit, post = measured()
    asked = []
    monkeypatch.setattr(
        arviz, "plot_ppc_dist", lambda post, var_names, labeller=None: asked.append(labeller)
    )
    monkeypatch.setattr(arviz, "plot_forest", lambda post, labeller=None: asked.append(labeller))
    fit.plot.ppc(post, seed=1)
    fit.plot.forest(post)
    post["posterior"]["mu"].attrs = {"units": "kg", "long_name": "mean"}
    fit.plot.forest(post)
    fit.plot.forest(post, labeller="mine")
    assert asked[0].var_name_to_str("y") == "y [m]"
    assert asked[1] is None
    assert asked[2].var_name_to_str("mu") == "mean [kg]"
    assert asked[3] == "mine"
