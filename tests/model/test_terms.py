"""Log densities in terms by name, and warnings of sums that count terms many times over."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.stats
import xarray as xr

import dimtensor as dt

OBS, COUNTY = dt.Dim("obs"), dt.Dim("county", coords=["a", "b", "c"])
YEAR = dt.Dim("year", length=2)
Y = np.array([0.3, -1.0, 2.0, 0.5])
OF = ["a", "c", "c", "b"]
y = dt.data(Y, dims=OBS, name="y")
of = dt.data(OF, dims=OBS, categories=COUNTY)
z, mu, sigma = dt.tensor("z", dims=COUNTY), dt.scalar("mu"), dt.scalar("sigma")
SUPPORTS = {mu: dt.real, sigma: dt.positive, z: dt.real}


def normal(x, mean, sd):
    return -0.5 * ((x - mean) / sd) ** 2 - dt.log(sd) - 0.5 * np.log(2 * np.pi)


def terms():
    return {
        "y": normal(y, mu + z.sel(county=of), sigma),
        "z": normal(z, 0, 1),
        "mu": normal(mu, 0, 10),
        "sigma": normal(sigma, 0, 1),
    }


def by_scipy(m, s, effects):
    """The terms as SciPy has them."""
    norm = scipy.stats.norm
    where = [COUNTY.coords.tolist().index(label) for label in OF]
    return {
        "y": norm(m + effects[where], s).logpdf(Y),
        "z": norm(0, 1).logpdf(effects),
        "mu": norm(0, 10).logpdf(m),
        "sigma": norm(0, 1).logpdf(s),
    }


def test_each_term_is_summed_over_its_own_dims():
    model = dt.LogDensity(terms(), SUPPORTS, "python", jacobian=False)
    effects = np.array([0.5, -0.5, 1.0])
    expected = by_scipy(0.3, 1.5, effects)
    total = sum(values.sum() for values in expected.values())
    x = np.array([0.3, np.log(1.5), *effects])
    np.testing.assert_allclose(model.logp(x), total, rtol=1e-13)
    found = model.log_terms(x)
    assert list(found) == ["y", "z", "mu", "sigma"]
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-13)
    assert found["z"].coords["county"].values.tolist() == ["a", "b", "c"]
    many = model.log_terms(np.stack([x, x, x]), ["y"])
    assert many["y"].dims == ("draw", "obs")
    assert "terms: y, z, mu, sigma" in repr(model)
    again = pickle.loads(pickle.dumps(model))
    assert list(again.terms) == list(model.terms)
    assert again.logp(x) == model.logp(x)
    moved = model.with_data(y=Y + 1.0)
    shifted = scipy.stats.norm(0.3 + effects[[0, 2, 2, 1]], 1.5).logpdf(Y + 1.0)
    np.testing.assert_allclose(moved.log_terms(x)["y"], shifted, rtol=1e-13)


def test_terms_that_are_not_there_or_not_right():
    with pytest.raises(dt.OptionError, match="a log density has at least one term"):
        dt.LogDensity({}, {})
    with pytest.raises(dt.ArgumentError, match="the name of a term is a non-empty string, not 3"):
        dt.LogDensity({3: -(mu**2)}, {mu: dt.real})
    with pytest.raises(dt.DtypeError, match="the term 'n' of a log density is of a float dtype"):
        dt.LogDensity({"n": mu > 0, "mu": -(mu**2)}, {mu: dt.real})
    with pytest.raises(dt.GraphError, match="the term 'county' would be lost among labels"):
        dt.LogDensity({"county": -(z**2)}, {z: dt.real}, "python")
    with pytest.raises(dt.DimError, match=r"logp.sum\(\), or give its terms by name"):
        dt.LogDensity(-(z**2), {z: dt.real})
    model = dt.LogDensity(terms(), SUPPORTS, "python")
    with pytest.raises(dt.LabelError, match=r"no term 'sigm' \(did you mean 'sigma'\?\)"):
        model.log_terms(np.zeros(5), ["sigm"])
    plain = dt.LogDensity(-(mu**2), {mu: dt.real}, "python")
    with pytest.raises(dt.LabelError, match=r"no term 'mu'(.|\n)*get names in a dict"):
        plain.log_terms(np.zeros(1), ["mu"])


def test_terms_are_kept_with_draws():
    pytest.importorskip("nutpie")
    model = dt.LogDensity(terms(), SUPPORTS, "python")
    options = {"draws": 4, "tune": 20, "chains": 1, "seed": 1, "progress_bar": False}
    tree = dt.sample(model, log_likelihood="y", **options)
    kept = tree["log_likelihood"].to_dataset()
    assert list(kept) == ["y"]
    assert kept["y"].dims == ("chain", "draw", "obs")
    draw = tree["posterior"].to_dataset().isel(chain=0, draw=2)
    expected = by_scipy(draw["mu"].item(), draw["sigma"].item(), draw["z"].values)["y"]
    np.testing.assert_allclose(kept["y"][0, 2], expected, rtol=1e-12)
    every = dt.sample(model, log_likelihood=True, **options)["log_likelihood"].to_dataset()
    assert list(every) == ["y", "z", "mu", "sigma"]
    assert "log_likelihood" not in dt.sample(model, **options)
    with pytest.raises(dt.LabelError, match=r"no term 'Y'"):
        dt.sample(model, log_likelihood=["Y"], **options)
    whole = dt.LogDensity(-(mu**2), {mu: dt.real}, "python")
    with pytest.raises(dt.GraphError, match="is not given in terms by name"):
        dt.sample(whole, log_likelihood=True, **options)


WRONG = {
    "as_reported": (-((y - mu) ** 2) - z**2).sum(),
    "densities": (normal(y, mu, sigma) + normal(z, 0, 1)).sum(),
    "behind_numbers_and_signs": -0.5 * (2.0 * ((y - mu) ** 2 + z**2) + mu**2).sum(),
    "beside_others": (normal(y, mu, sigma) + normal(z, 0, 1)).sum() + normal(mu, 0, 1),
    "one_dim_after_the_other": (normal(y, mu, sigma) + normal(z, 0, 1)).sum("obs").sum("county"),
    "of_a_term": {"all": normal(y, mu, sigma) + normal(z, 0, 1), "mu": normal(mu, 0, 1)},
    "three": (normal(y, mu, sigma) + normal(z, 0, 1) + normal(dt.ones(YEAR), mu, 1)).sum(),
}


@pytest.mark.parametrize("name", WRONG)
def test_terms_that_lack_each_others_dims_are_warned_of(name):
    logp = WRONG[name]
    many = list(logp.values()) if isinstance(logp, dict) else logp
    used = {x.name for x in dt.inputs_of(many)}
    supports = {x: support for x, support in SUPPORTS.items() if x.name in used}
    times = r"over {obs}, counted 3 times, along {county}(.|\n)*counted 4 times, along {obs}"
    if name == "three":
        times = r"counted 6 times, along {county, year}(.|\n)*counted 8 times, along {obs, year}"
    with pytest.warns(dt.BroadcastWarning, match=times) as caught:
        model = dt.LogDensity(logp, supports, "python")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings(record=True) as again:
        pickle.loads(pickle.dumps(model))
    assert not again


theta = dt.tensor("theta", dims=[COUNTY, YEAR])
gaps = dt.tensor("gaps", dims=YEAR)
RIGHT = {
    "constants_of_each_observation": normal(y, mu, sigma).sum() + normal(z, mu, sigma).sum(),
    "scale_of_each_county": normal(theta, mu, dt.exp(z)).sum(),
    "scales_of_rows_and_columns": (
        -0.5 * (theta / dt.exp(z + gaps)) ** 2 - z - gaps
    ).sum() + normal(gaps, 0, 1).sum(),
    "looked_up": normal(y, z.sel(county=of), sigma).sum() + normal(z, 0, 1).sum(),
    "log_of_a_share": (dt.log(sigma) + normal(y, mu, 1)).sum(),
    "effects_within_a_mean": (theta * (z + gaps) - dt.exp(z + gaps)).sum(),
    "a_number_that_is_a_sum": normal(mu, (z + gaps).sum(), 1.0) + normal(z, 0, 1).sum(),
    "length_one": (normal(dt.ones(dt.Dim("one", length=1)), mu, 1) - z**2).sum(),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_sums_that_mean_what_they_say_are_not(name):
    used = {x.name for x in dt.inputs_of(RIGHT[name])}
    every = {**SUPPORTS, theta: dt.real, gaps: dt.real}
    supports = {x: support for x, support in every.items() if x.name in used}
    dt.LogDensity(RIGHT[name], supports, "python")  # a warning is an error


def test_lengths_of_late_dims_come_from_data_or_are_not_known():
    with pytest.warns(dt.BroadcastWarning, match="counted 3 times"):
        dt.LogDensity((-((y - mu) ** 2) - z**2).sum(), {mu: dt.real, z: dt.real}, "python")
    late = dt.Dim("late")
    w = dt.tensor("w", dims=late)
    tells = dt.data(xr.DataArray(np.zeros(5), dims="late"), dims=late)
    with pytest.warns(dt.BroadcastWarning, match=r"{obs}, counted 5 times, along {late}"):
        dt.LogDensity(
            (-((y - mu) ** 2) - w**2).sum() + (tells * w).sum(), {mu: dt.real, w: dt.real}, "python"
        )
