"""Models of dimtensor as models of PyMC."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist

pm = pytest.importorskip("pymc")

from tests.interop.with_pymc.agreement import check_agreement, expected_of  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:RandomVariable Ops will stop:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Calling a RandomVariable without:DeprecationWarning"),
]

COUNTY = dt.Dim("county", coords=["A", "B", "C"])
HOUSE = dt.Dim("house")
K = dt.Dim("k", length=3)


def radon():
    county_of = dt.tensor("county_of", dims=HOUSE, categories=COUNTY)
    floor = dt.tensor("floor", dims=HOUSE)
    mu, spread = dt.rv("mu", dist.Normal(0, 10)), dt.rv("spread", dist.HalfNormal(1))
    alpha = dt.rv("alpha", dist.Normal(mu, spread), dims=COUNTY)
    slope, sigma = dt.rv("slope", dist.Normal(0, 1)), dt.rv("sigma", dist.Exponential(1))
    mean = dt.named("mean", alpha.sel(county=county_of) + slope * floor)
    y = dt.rv("y", dist.StudentT(4.0, mean, sigma))
    where = ["A", "C", "B", "A"]
    model = dt.Model(y, data={county_of: where, floor: [0.0, 1.0, 0.0, 0.0]}, backend="python")
    return model.observe({y: [1.0, 0.5, 2.0, 1.2]})


def custom():
    """Distributions that PyMC has not, or under other parameters, with supports along dims."""
    time = dt.Dim("time", length=4)
    p = dt.rv("p", dist.Dirichlet(dt.data([1.0, 2.0, 3.0], dims=K), dim=K))
    cuts = dt.rv("cuts", dist.ordered(dist.Normal(0.0, 2.0), dim=K))
    walk = dt.rv("walk", dist.GaussianRandomWalk(0.0, 0.5, dim=time, start=dist.Normal(0, 1)))
    low = dt.rv("low", dist.Beta(2.0, 2.0))
    bounded = dt.rv("bounded", dist.truncated(dist.Normal(low, 1.0), 0.0, 3.0), dims=COUNTY)
    lower = dt.data([-np.inf, 0.0, -1.0], dims=COUNTY)
    upper = dt.data([np.inf, np.inf, 1.0], dims=COUNTY)
    some = dt.rv("some", dist.truncated(dist.Normal(low, 1.0), lower, upper))
    total = dt.named("total", (p * cuts).sum(K) + walk)
    y = dt.rv("y", dist.SkewNormal(mu=total, sigma=1.0, alpha=2.0))
    z = dt.rv("z", dist.Logistic(bounded + some, 1.0))
    model = dt.Model(y, z, backend="python")
    return model.observe({y: [0.1, 0.2, -0.3, 1.0], z: [0.0, 1.0, 2.0]})


def counts():
    p = dt.rv("p", dist.Beta(2.0, 3.0), dims=COUNTY)
    rate = dt.rv("rate", dist.Gamma(2.0, 1.0))
    y = dt.rv("y", dist.Binomial(10, p))
    w = dt.rv("w", dist.zero_inflated(dist.Poisson(rate), p))
    answer = dt.rv("answer", dist.Categorical(dt.softmax(p, COUNTY), dim=COUNTY), dims=K)
    model = dt.Model(y, w, answer, backend="python")
    return model.observe({y: [3, 4, 5], w: [0, 2, 1], answer: ["A", "C", "B"]})


@pytest.mark.parametrize(
    "build",
    [
        radon,
        pytest.param(custom, marks=pytest.mark.slow),
        pytest.param(counts, marks=pytest.mark.slow),
    ],
)
def test_log_densities_agree(build):
    ours = build()
    theirs = dt.to_pymc(ours)
    check_agreement(theirs, ours, unconstrained=True)


def test_names_dims_coords_and_data():
    theirs = dt.to_pymc(radon())
    assert theirs.coords["county"] == ("A", "B", "C")
    assert theirs.named_vars_to_dims == {
        "alpha": ("county",), "y": ("house",), "mean": ("house",), "county_of": ("house",),
        "floor": ("house",),
    }  # fmt: skip
    assert {v.name for v in theirs.free_RVs} == {"mu", "spread", "alpha", "slope", "sigma"}
    assert [v.name for v in theirs.deterministics] == ["mean"]
    assert theirs["county_of"].get_value().tolist() == [0, 2, 1, 0]
    back = dt.from_pymc(theirs, backend="python")
    assert set(back.variables) == set(radon().variables)


@pytest.mark.slow
def test_predictions_are_drawn_by_pymc():
    theirs = dt.to_pymc(custom())
    with theirs:
        prior = pm.sample_prior_predictive(
            40, random_seed=1, compile_kwargs={"mode": "FAST_COMPILE"}
        )
    group = prior["prior"] if "prior" in prior.children else prior.prior
    assert np.allclose(group["p"].sum("k"), 1.0)
    assert (np.diff(group["cuts"].values) > 0).all()
    assert (group["bounded"] >= 0).all()
    assert (group["bounded"] <= 3).all()
    assert prior["prior_predictive"]["y"].shape == (1, 40, 4)
    assert len(np.unique(group["walk"].values)) == 160


def test_every_kind_comes_back_with_its_density():
    """Densities are PyMC's own there: what is read has variables for the lengths of dims."""
    theirs = dt.to_pymc(weighted_and_censored())
    check_agreement(theirs, dt.from_pymc(theirs, backend="python"), unconstrained=True)


def weighted_and_censored():
    mu, s = dt.rv("mu", dist.Normal(0, 1)), dt.rv("s", dist.HalfNormal(1))
    y = dt.rv("y", dist.censored(dist.Normal(mu, s), -1.0, 1.0), dims=COUNTY)
    w = dt.rv("w", dist.weighted(dist.Poisson(s), dt.data([0.5, 2.0, 3.0], dims=K)))
    return dt.Model(y, w, backend="python").observe({y: [-1.0, 0.2, 1.0], w: [0, 1, 2]})


def discrete():
    p = dt.rv("p", dist.Dirichlet(dt.ones(K), dim=K))
    z = dt.rv("z", dist.Categorical(p, dim=K), dims=COUNTY)
    n = dt.rv("n", dist.Poisson(3.0), dims=COUNTY)
    y = dt.rv("y", dist.Normal(z.codes * 1.0, 1.0))
    hits = dt.rv("hits", dist.Binomial(n + 1, 0.5))
    return dt.Model(y, hits, backend="python").observe({y: [0.0, 2.0, 1.0], hits: [1, 0, 0]})


def test_steps_to_labels_that_there_are_not_are_refused():
    """PyMC's Metropolis adds whole numbers to positions of labels, whatever these are."""
    time, after = dt.Dim("time", length=2), COUNTY.rename("after")
    move = dt.data(np.full((3, 3), 1 / 3), dims=[COUNTY, after])
    start = dt.data([0.2, 0.3, 0.5], dims=COUNTY)
    state = dt.rv("state", dist.MarkovChain(start, move, dim=time))
    mu = dt.rv("mu", dist.Normal(0.0, 1.0), dims=COUNTY)
    p = dt.rv("kind", dist.Categorical(start, dim=COUNTY))
    y = dt.rv("y", dist.Normal(mu.sel(county=state) + mu.sel(county=p), 1.0))
    theirs = dt.to_pymc(dt.Model(y, backend="python").observe({y: [0.5, 1.5]}))
    # which never goes there
    assert pm.CategoricalGibbsMetropolis.competence(theirs["kind"]).name == "IDEAL"
    f = theirs.compile_logp(mode="FAST_COMPILE")
    at = {"mu": np.zeros(3), "state": np.array([2, 0]), "kind": 1}
    expected = 5 * -0.5 * np.log(2 * np.pi) - (0.5**2 + 1.5**2) / 2
    np.testing.assert_allclose(f(at), expected + np.log(0.5 / 3 * 0.3), rtol=1e-7)
    for wrong in ({"state": np.array([-1, 0])}, {"state": np.array([0, 3])}, {"kind": 3}):
        assert f({**at, **wrong}) == -np.inf


@pytest.mark.slow
@pytest.mark.parametrize("build", [custom, counts, discrete])
def test_other_kinds_come_back_too(build):
    ours = build()
    theirs = dt.to_pymc(ours)
    for one in (ours, dt.from_pymc(theirs, backend="python")):
        check_agreement(theirs, one, unconstrained=build is not discrete)


def partly_seen(missing):
    mu, s = dt.rv("mu", dist.Normal(0, 1)), dt.rv("s", dist.HalfNormal(1))
    y = dt.rv("y", dist.Normal(mu, s), dims=COUNTY)
    model = dt.Model(y, backend="python")
    return model.observe({y: [1.0, np.nan, 2.0]}, missing=missing)


def test_missing_values_that_are_left_out():
    ours = partly_seen("drop")
    theirs = dt.to_pymc(ours)
    check_agreement(theirs, ours, unconstrained=True)
    assert theirs.named_vars_to_dims["y"] == ("county",)


def test_missing_values_that_are_inferred():
    ours = partly_seen("infer")
    theirs = dt.to_pymc(ours)
    assert {v.name for v in theirs.free_RVs} == {"mu", "s", "y_unobserved"}
    expected = expected_of(theirs, with_gradient=True)
    values = {**expected.values, "y_missing": expected.values["y_unobserved"]}
    del values["y_unobserved"]
    density = ours.log_density()
    value, gradient = density.logp_and_grad(density.unconstrain(values))
    np.testing.assert_allclose(value, expected.logp_of_unconstrained, rtol=1e-10)
    np.testing.assert_allclose(np.sort(gradient), np.sort(expected.gradient), rtol=1e-9)


def test_what_is_sampled_noncentred_is_so_there():
    ours = radon().noncentered("alpha")
    theirs = dt.to_pymc(ours)
    assert {v.name for v in theirs.free_RVs} == {"mu", "spread", "alpha_raw", "slope", "sigma"}
    assert {v.name for v in theirs.deterministics} == {"alpha", "mean"}
    expected = expected_of(theirs, with_gradient=True)
    density = ours.log_density()
    value, gradient = density.logp_and_grad(density.unconstrain(expected.values))
    np.testing.assert_allclose(value, expected.logp_of_unconstrained, rtol=1e-10)
    np.testing.assert_allclose(np.sort(gradient), np.sort(expected.gradient), rtol=1e-8)


def test_weights_of_basis_functions_are_sampled_there_too():
    """The standardized variable of a process is along another dim."""
    place = dt.Dim("place", coords=[0.0, 1.0, 2.5, 4.0])
    scale = dt.rv("scale", dist.HalfNormal(2.0))
    basis = dt.gp.HSGP(7, 2.0, lengthscale=(1.0, 1.5))
    f = dt.rv("f", dist.GP(dt.gp.SquaredExponential(scale), place, approximation=basis))
    y = dt.rv("y", dist.Normal(f, 0.3))
    ours = dt.Model(y, backend="python").observe({y: [0.0, 0.8, 0.5, -0.7]})
    theirs = dt.to_pymc(ours)
    assert {v.name for v in theirs.free_RVs} == {"scale", "f_raw"}
    assert {v.name for v in theirs.deterministics} == {"f"}
    expected = expected_of(theirs, with_gradient=True)
    density = ours.log_density()
    value, gradient = density.logp_and_grad(density.unconstrain(expected.values))
    np.testing.assert_allclose(value, expected.logp_of_unconstrained, rtol=1e-10)
    np.testing.assert_allclose(np.sort(gradient), np.sort(expected.gradient), rtol=1e-8)


def test_what_cannot_be_written_is_told():
    p = dt.rv("p", dist.Dirichlet(dt.ones(K), dim=K))
    both = dt.rv("both", dist.MvNormal(p, dt.eye(K)))
    seen = dt.Model(both, backend="python").observe({both: [0.1, np.nan, 0.2]}, missing="drop")
    with pytest.raises(dt.GraphError, match="'both' cannot be left out along 'k'"):
        dt.to_pymc(seen)
    one, other = dt.Dim("same", length=2), dt.Dim("same", length=3)
    x = dt.rv("x", dist.Normal(0, 1), dims=one)
    w = dt.rv("w", dist.Normal(0, 1), dims=other)
    with pytest.raises(dt.DimError, match="used twice: 'same'"):
        dt.to_pymc(dt.Model(x, w))
    late = dt.rv("late", dist.Normal(0, 1), dims=HOUSE)
    with pytest.raises(dt.GraphError, match="lengths of dims are not known"):
        dt.to_pymc(dt.Model(late))
    with pytest.raises(dt.ArgumentError, match=r"a dt\.Model is expected, not dict"):
        dt.to_pymc({})


def _of_ours(bounds):
    """Distributions that PyMC has not, with parameters that vary and do not."""
    base = dt.rv("base", dist.Normal(0, 1), dims=COUNTY)
    share = dt.rv("share", dist.Beta(2.0, 2.0), dims=K)
    parts = [dist.Normal(base, 1.0), dist.Cauchy(share, 1.0)]
    return {
        "table": dist.Chi(1.0 + dt.exp(base)),
        "number": dist.Chi(2.5),
        "bounds": dist.truncated(dist.Normal(base, 1.0), 0.0, 9.0),
        "mixture": dist.mixture(dt.data([0.3, 0.7], dims=bounds), parts, dim=bounds),
    }


@pytest.mark.parametrize(
    ("kind", "dims"),
    [
        pytest.param("table", (COUNTY,), id="table, vector"),
        pytest.param("number", (COUNTY, K), id="number, matrix"),
        pytest.param("table", (COUNTY, K), id="table, matrix", marks=pytest.mark.slow),
        pytest.param("bounds", (COUNTY,), id="bounds, vector", marks=pytest.mark.slow),
        pytest.param("bounds", (COUNTY, K), id="bounds, matrix", marks=pytest.mark.slow),
        pytest.param("mixture", (COUNTY, K), id="mixture, matrix", marks=pytest.mark.slow),
    ],
)
def test_missing_values_of_distributions_of_ours_are_inferred(kind, dims):
    """PyMC makes variables of their own of what is there and what is not, with one axis."""
    part = dt.Dim("part", length=2)
    y = dt.rv("y", _of_ours(part)[kind], dims=dims)
    values = np.linspace(0.3, 1.5, int(np.prod([d.length for d in y.dims])))
    values[1] = np.nan
    seen = dt.data(values.reshape([d.length for d in y.dims]), dims=list(y.dims)).eval()
    ours = dt.Model(y, backend="python").observe({y: seen}, missing="infer")
    theirs = dt.to_pymc(ours)
    expected = expected_of(theirs, with_gradient=True)
    values = {**expected.values, "y_missing": expected.values["y_unobserved"]}
    del values["y_unobserved"]
    density = ours.log_density()
    value, gradient = density.logp_and_grad(density.unconstrain(values))
    np.testing.assert_allclose(value, expected.logp_of_unconstrained, rtol=1e-10)
    np.testing.assert_allclose(np.sort(gradient), np.sort(expected.gradient), rtol=1e-8)
    absent, whole = pm.draw(
        [theirs["y_unobserved"], theirs["y"]], random_seed=1, mode="FAST_COMPILE"
    )
    assert absent.shape == (1,)
    assert whole.shape == seen.shape
    assert whole.ravel()[1] == absent[0]
    assert np.unique(whole).size == whole.size


def test_draws_of_distributions_of_ours_are_independent_and_of_their_parameters():
    means = dt.data([-100.0, 0.0, 100.0], dims=COUNTY)
    low = dist.truncated(dist.Normal(means, 1.0), means, np.inf)
    p = dt.rv("p", dist.ordered(dist.Normal(0.0, 2.0), dim=K), dims=COUNTY)
    theirs = dt.to_pymc(dt.Model(dt.rv("low", low, dims=K), p, backend="python"))
    drawn, rising = pm.draw(
        [theirs["low"], theirs["p"]], draws=30, random_seed=3, mode="FAST_COMPILE"
    )
    assert drawn.shape == rising.shape == (30, 3, 3)
    above = drawn - means.values[:, None]
    assert (above > 0).all()
    assert (above < 7).all()
    assert np.unique(drawn).size == drawn.size
    np.testing.assert_allclose(above.mean(), np.sqrt(2 / np.pi), atol=0.15)
    assert (np.diff(rising, axis=-1) > 0).all()
    assert np.unique(rising).size == rising.size
