"""Contracts find seeded faults, and raise no alarm where there is none."""

from __future__ import annotations

import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor import dist
from tests.reference_models.generative import PROGRAMS
from tests.reference_models.reference import load
from tests.testing.faults import (
    COUNTY,
    FRAME,
    FUNCTIONS,
    MODELS,
    OBS,
    PRICES,
    RIGHT,
    SALES,
    column,
    levels,
    normal,
)

_QUICK = 7  # of all faults, in every run


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(build, marks=[pytest.mark.slow] if at >= _QUICK else [], id=build.__name__)
        for at, build in enumerate(MODELS)
    ],
)
def test_positions_in_models_are_found(build):
    with pytest.raises(dt.testing.ContractError, match=MODELS[build]) as caught:
        dt.testing.check_model(build, FRAME)
    assert {finding.contract for finding in caught.value.findings} == {"labels"}


@pytest.mark.parametrize("build", RIGHT, ids=lambda build: build.__name__)
def test_right_models_pass(build):
    report = dt.testing.check_model(build, FRAME)
    assert {
        "labels of the data along index", "batches", "gradients", "range of y",
    } <= set(report.checked)  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_positions_in_functions_are_found(name):
    fault = FUNCTIONS[name]
    with pytest.raises(dt.testing.ContractError, match=fault.text) as caught:
        dt.testing.check_function(fault.function, SALES, PRICES)
    assert fault.contract in {finding.contract for finding in caught.value.findings}


@pytest.mark.parametrize(
    "function",
    [
        lambda x, p: x * p,
        lambda x, p: (x * p).sum("country"),
        lambda x, p: x - x.mean(["country", "shop"]),
        lambda x, p: x.sel(country="Kenya"),
        lambda x, p: {"share": x / x.sum("shop"), "prices": [p, p.max("country")]},
        lambda x, p: dt.data(x).softmax("shop"),
        lambda x, p: dt.data(x).sel(shop="west"),
    ],
)
def test_functions_of_labels_pass(function):
    report = dt.testing.check_function(function, SALES, PRICES)
    assert {"labels along country", "labels along shop"} <= set(report.checked)


def test_a_finding_names_variable_line_and_example():
    def shares(x):
        table = dt.data(x)
        first = table.isel(country=0)  # the fault
        return {"share": table / first, "total": table.sum("country")}

    with pytest.raises(dt.testing.ContractError, match="depends on positions") as caught:
        dt.testing.check_function(shares, SALES, batches=False)
    (finding,) = caught.value.findings
    assert finding.variable == "share"
    assert finding.line.text.endswith("# the fault")
    # of Italy divided by Italy, and by Kenya
    assert "exchanging 'Italy' and 'Kenya'" in finding.reason
    assert "from 1 to 0.333333" in finding.reason
    assert f"test_contracts.py:{finding.line.number}" in str(caught.value)


def test_orders_that_mean_something_stay():
    dates = pd.date_range("2020-01-01", periods=3)
    series = xr.DataArray([1.0, 4.0, 2.0], {"day": dates}, ("day",))
    report = dt.testing.check_function(lambda x: x.cumsum("day"), series)
    assert report.skipped == {"labels along day": "its labels are numbers or dates"}
    with pytest.raises(dt.testing.ContractError, match="positions along day"):
        dt.testing.check_function(lambda x: x.cumsum("day"), series, dims=["day"])
    report = dt.testing.check_function(lambda x: x.cumsum("shop"), SALES, ordered=["shop"])
    assert report.skipped == {"labels along shop": "its order means something"}
    with pytest.raises(dt.OptionError, match="no argument has the dims 'month'"):
        dt.testing.check_function(lambda x: x, series, ordered=["month"])


def test_refused_arguments_are_no_wrong_result():
    dims = [dt.Dim(name, coords=SALES[name].values) for name in SALES.dims]
    report = dt.testing.check_function(lambda x: dt.data(x, dims=dims).sum("shop"), SALES)
    assert report.checked == ["labels along country", "labels along shop"]
    assert "has dim 'batch', the tensor does not" in report.skipped["batches of argument 0"]


def test_labels_that_repeat_are_told_apart_by_position():
    x = xr.DataArray([1.0, 2.0, 4.0], {"k": ["a", "a", "b"]}, "k")
    assert dt.testing.check_function(lambda x: 2 * x, x).checked[0] == "labels along k"
    with pytest.raises(dt.testing.ContractError, match="positions along k"):
        dt.testing.check_function(lambda x: x.cumsum("k"), x)


@pytest.mark.parametrize("result", [None, dt.Model(dt.rv("m", dist.Normal(0.0, 1.0)))])
def test_results_that_have_no_values_are_refused(result):
    with pytest.raises(dt.ArgumentError, match="'result' of the function is no tensor, array or"):
        dt.testing.check_function(lambda x: result, SALES)


def test_functions_that_fail_in_another_order_are_found():
    def checked(x):
        assert x.country[0] == "Italy"
        return x

    with pytest.raises(dt.testing.ContractError, match="fails in another order along country: Ass"):
        dt.testing.check_function(checked, SALES, batches=False)


def test_models_as_they_are():
    """Without the function that makes them: rows and labels change places in the graph."""

    def faulty(df):
        x = column(df, "x")
        return normal(df, levels(df) + x - x.isel(obs=0))

    with pytest.raises(dt.testing.ContractError, match="positions along obs"):
        dt.testing.check_model(faulty(FRAME))
    report = dt.testing.check_model(normal(FRAME, levels(FRAME)))
    labels = ["labels along obs", "labels along county"]
    assert report.checked == [*labels, "batches", "gradients", "range of y"]
    with pytest.raises(dt.OptionError, match="data are arguments of a function"):
        dt.testing.check_model(normal(FRAME, levels(FRAME)), FRAME)
    with pytest.raises(dt.OptionError, match="no data or parameters along 'state'"):
        dt.testing.check_model(normal(FRAME, levels(FRAME)), ordered=["state"])


def test_positions_within_parents_stay():
    test = dt.ragged("test", within=COUNTY, by=FRAME["county"])
    mean = dt.rv("mean", dist.Normal(0.0, 1.0), dims=COUNTY)
    y = dt.rv("y", dist.Normal(mean, 1.0), dims=test)
    fit = dt.Model(y, backend="python").observe({y: FRAME["y"].to_numpy()})
    report = dt.testing.check_model(fit)
    assert report.checked == ["batches", "gradients", "range of y"]
    assert set(report.skipped.values()) == {"it is ragged, or has ragged dims within it"}


def test_discrete_outcomes_are_drawn():
    count = dt.rv("count", dist.Poisson(3.0), dims=COUNTY)
    report = dt.testing.check_model(dt.Model(count, backend="python"))
    assert report.checked == ["labels along county", "batches"]
    assert "discrete" in report.skipped["gradients"]
    with pytest.raises(dt.ArgumentError, match="or a function that makes one, is expected, not 3"):
        dt.testing.check_model(3)


def test_exchangeability():
    level = dt.rv("level", dist.Normal(0.0, 1.0), dims=COUNTY)
    where = dt.data(FRAME["county"], dims=OBS, categories=COUNTY)
    same = normal(FRAME, level.sel(county=where))
    assert "exchangeable over county" in dt.testing.check_model(same, exchangeable=[COUNTY]).checked
    prior = dt.data([0.0, 1.0, 0.0, 0.0], dims=COUNTY)
    other = normal(FRAME, level.sel(county=where) + level.sel(county="Clay"))
    with pytest.raises(dt.testing.ContractError, match="'y' is not exchangeable over county"):
        dt.testing.check_model(other, exchangeable=["county"])
    known = dt.rv("known", dist.Normal(prior, 1.0))  # the prior moves with its county
    dt.testing.check_model(dt.Model(known, backend="python"), exchangeable=["county"])


def test_rows_that_depend_on_each_other():
    x = column(FRAME, "x")
    report = dt.testing.check_model(normal(FRAME, levels(FRAME) + x), independent=["obs"])
    assert "independent along obs" in report.checked
    centered = normal(FRAME, levels(FRAME) + x - x.mean(OBS))
    with pytest.raises(dt.testing.ContractError, match="depends on which other rows there are"):
        dt.testing.check_model(centered, independent=[OBS])
    with pytest.raises(dt.OptionError, match="'county' cannot be left out: it has a fixed length"):
        dt.testing.check_model(centered, independent=[COUNTY])


def test_units():
    mean = dt.rv("mean", dist.Flat())
    sigma = dt.rv("sigma", dist.HalfFlat())
    free = normal(FRAME, mean, sigma=sigma)
    units = {"y": 1000.0, "mean": 1000.0, sigma: 1000.0}
    assert "scales" in dt.testing.check_model(free, scales=units).checked
    with pytest.raises(dt.testing.ContractError, match="in other units"):
        dt.testing.check_model(normal(FRAME, mean, sigma=2.0), scales={"y": 10.0, "mean": 10.0})
    with pytest.raises(dt.OptionError, match="the factor of 'y' is above 0, not 0"):
        dt.testing.check_model(free, scales={"y": 0})
    with pytest.raises(dt.OptionError, match="no data or parameters named 'z'"):
        dt.testing.check_model(free, scales={"z": 2.0})


def test_gradients_that_are_not_the_slope():
    a = dt.rv("a", dist.Normal(0.0, 1.0))
    size = dt.arccos(dt.cos(a))  # which has no slope at 0
    with pytest.raises(dt.testing.ContractError, match="'a' has the slope nan at the origin"):
        dt.testing.check_model(normal(FRAME, size))
    stopped = dt.stop_gradient(a)
    with pytest.raises(dt.testing.ContractError, match=r"'a' has the slope .* by differences"):
        dt.testing.check_model(normal(FRAME, stopped))


def test_observations_outside_of_the_prior_predictive():
    a = dt.rv("a", dist.Normal(0.0, 1.0))
    with pytest.raises(dt.testing.ContractError, match=r"values such as 500 outside of all 200"):
        dt.testing.check_model(normal(FRAME, a, y=1000 * FRAME["y"].to_numpy()))


def test_all_failures_are_told_at_once():
    with pytest.raises(dt.testing.ContractError, match="batches: ") as caught:
        dt.testing.check_function(lambda x: {"one": x.cumsum("shop"), "two": x / x.sum()}, SALES)
    found = [(finding.contract, finding.variable) for finding in caught.value.findings]
    assert found == [("labels", "one"), ("batches", "two")]
    assert len(str(caught.value).splitlines()) == 2


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name == "eight_schools" else [pytest.mark.slow])
        for name in PROGRAMS
    ],
)
def test_models_with_the_densities_of_stan_raise_no_alarm(name):
    report = dt.testing.check_model(PROGRAMS[name](load(name)["data"], "python").fit)
    assert {"batches", "gradients"} <= set(report.checked)
