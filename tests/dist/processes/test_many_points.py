"""Approximate and linear-time Gaussian processes against dense normal vectors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.spatial.distance
import scipy.stats
import xarray as xr

import dimtensor as dt
from dimtensor import dist
from dimtensor.testing.differences import assert_gradient
from tests.backend_names import LONG_JAX_COMPILED

RNG = np.random.default_rng(1)
AT = RNG.uniform(0.0, 10.0, 12)  # in no order
AT[3] = AT[7]
T = dt.Dim("t", length=12)
X = dt.data(AT, dims=T)
VALUES = np.sin(AT) + RNG.normal(0.0, 0.1, 12)
FEATURE = dt.Dim("feature", coords=["x", "y"])
PLANE = np.stack([AT, RNG.uniform(-2.0, 2.0, 12)], axis=1)
M12, M32, M52 = dt.gp.Matern12(1.0), dt.gp.Matern32(2.0), dt.gp.Matern52(1.5)
SE, PERIODIC = dt.gp.SquaredExponential(1.5), dt.gp.Periodic(1.0, period=3.0)
NOISE, MEAN = 0.2, 0.7
METHODS = {
    "HSGP": dt.gp.HSGP(60, 2.0, domain=(0.0, 10.0), lengthscale=(1.5, 1.5)),
    "StateSpace": dt.gp.StateSpace(),
    "Vecchia": dt.gp.Vecchia(4),
    "InducingPoints": dt.gp.InducingPoints(6),
    "fitc": dt.gp.InducingPoints(np.linspace(0.0, 10.0, 6), form="fitc"),
}


def dense(kernel, x=X):
    found = kernel(x, x.relabel(T, T.rename())).eval()
    return found.transpose("t", "t'").values + NOISE**2 * np.eye(12)


def process(method, kernel=M52, x=X, **options):
    approximation = METHODS.get(method, method)
    return dist.GP(kernel, T, at=x, approximation=approximation, **options)


def covariance(d):
    """Covariance of a process, by elements of standard normal numbers where it has them."""
    if hasattr(d, "basis"):
        p = d._values
        features = (p["features"] * p["scale"]).eval().transpose("t", ...).values
        own = (p["variance"] + d._lacking() + 0.0 * X).eval().values
        return features @ features.T + np.diag(own)
    rows = dt.Dim("number", length=12)
    raw = dt.data(np.eye(12), dims=[rows, T])
    root = (d._placed(raw) - d._values["mu"]).eval().transpose("t", "number").values
    return root @ root.T


def normal(cov, mean=MEAN):
    return scipy.stats.multivariate_normal(np.full(len(cov), mean), cov)


# -- exact ones ------------------------------------------------------------------------------------

STATE_SPACE = {
    "Matern12": M12,
    "Matern32": M32,
    "Matern52": M52,
    "sum": (2.0 * M32 + 0.5 * M52).on(T),
    "product": M12 * M52,
    "periodic": PERIODIC,
    "quasi-periodic": 0.5 * M52 + PERIODIC * M12 + dt.gp.White(0.3),
}


@pytest.mark.parametrize("name", STATE_SPACE)
def test_state_space_models_are_exact(name):
    cov = dense(kernel := STATE_SPACE[name])
    d = process("StateSpace", kernel, mean=MEAN, noise=NOISE)
    expected = normal(cov).logpdf(VALUES)
    np.testing.assert_allclose(d.logp(dt.data(VALUES, dims=T)).eval(), expected, rtol=1e-8)
    np.testing.assert_allclose(d.variance().eval(), np.diag(cov), rtol=1e-8)
    # the noncentered form is the Cholesky factor in the order of the points
    raw, order = RNG.normal(size=12), np.argsort(AT, kind="stable")
    root = np.linalg.cholesky(cov[np.ix_(order, order)])
    placed = np.empty(12)
    placed[order] = MEAN + root @ raw[order]
    np.testing.assert_allclose(d._placed(dt.data(raw, dims=T)).eval(), placed, atol=1e-8)
    # expected values conditional on some elements
    known, new = np.arange(0, 12, 2), np.arange(1, 12, 2)
    known_values = dt.data(np.where(np.arange(12) % 2, 0.0, VALUES), dims=T)
    found = d._smoothed(known_values, dt.arange(T) % 2 < 1).eval().values
    gain = cov[np.ix_(new, known)] @ np.linalg.inv(cov[np.ix_(known, known)])
    np.testing.assert_allclose(found[new], gain @ VALUES[known], atol=1e-7)


@pytest.mark.parametrize("method", ["StateSpace", "Vecchia", "InducingPoints", "fitc"])
def test_without_noise_there_is_the_same_jitter(method):
    """Values of the function itself: switching the approximation leaves the density as it is."""
    x = dt.data(np.sort(AT) + np.arange(12.0), dims=T)
    whole = {"Vecchia": dt.gp.Vecchia(11)}.get(method, METHODS[method])
    if isinstance(whole, dt.gp.InducingPoints):
        whole = dt.gp.InducingPoints(12, form=whole.form)
    d = process(whole, M12, x)
    exact = dist.GP(M12, T, at=x)
    values = dt.data(VALUES, dims=T)
    np.testing.assert_allclose(d.logp(values).eval(), exact.logp(values).eval(), rtol=1e-6)


@pytest.mark.parametrize("order", ["maximin", "coordinate"])
def test_with_all_neighbors_it_is_exact(order):
    x = dt.data(PLANE, dims=[T, FEATURE])
    kernel = 2.0 * dt.gp.Matern52(dt.data([1.0, 2.0], dims=FEATURE)) + dt.gp.White(0.1)
    expected = normal(dense(kernel, x)).logpdf(VALUES)

    def error(neighbors):
        d = process(dt.gp.Vecchia(neighbors, order=order), kernel, x, mean=MEAN, noise=NOISE)
        return abs(float(d.logp(dt.data(VALUES, dims=T)).eval()) - expected)

    assert error(0) > error(4) > 1e-4
    assert error(11) < 1e-8 * abs(expected) > error(100)


@pytest.mark.parametrize("form", ["vfe", "fitc", "dtc"])
def test_with_all_points_as_inducing_points_it_is_exact(form):
    cov = dense(M12, x := dt.data(np.sort(AT) + np.arange(12.0), dims=T))
    expected = normal(cov).logpdf(VALUES)
    found = [
        float(
            process(dt.gp.InducingPoints(m, form=form), M12, x, mean=MEAN, noise=NOISE)
            .logp(dt.data(VALUES, dims=T))
            .eval()
        )
        for m in (4, 12)
    ]
    assert abs(found[0] - expected) > 0.01
    np.testing.assert_allclose(found[1], expected, rtol=1e-8)


def test_the_bound_is_that_of_titsias():
    """(9) of the paper, with dense matrices."""
    at = np.linspace(0.0, 10.0, 5)
    d = process(dt.gp.InducingPoints(at), M52, mean=MEAN, noise=NOISE)
    one, other = dt.Dim("one", length=5), dt.Dim("other", length=12)
    u, f = dt.data(at, dims=one), dt.data(AT, dims=other)
    across = M52(u, f).eval().transpose("one", "other").values
    within = M52(u, u.relabel(one, one.rename())).eval().values
    q = across.T @ np.linalg.solve(within, across)
    bound = normal(q + NOISE**2 * np.eye(12)).logpdf(VALUES) - (12.0 - np.trace(q)) / (
        2.0 * NOISE**2
    )
    np.testing.assert_allclose(d.logp(dt.data(VALUES, dims=T)).eval(), bound, rtol=1e-7)
    assert bound < normal(dense(M52)).logpdf(VALUES)


# -- basis functions -------------------------------------------------------------------------------

STATIONARY = {"SE": SE, "Matern32": M32, "Matern52": M52, "Matern12": dt.gp.Matern12(8.0)}
MIXED = 2.0 * SE + M52 + 0.5 * PERIODIC + 0.1 * dt.gp.Linear(5.0)


@pytest.mark.parametrize("name", [*STATIONARY, "sum"])
def test_covariances_of_basis_functions(name):
    """The chosen number and interval keep covariances within 1% of the variance."""
    kernel = STATIONARY.get(name, MIXED)
    scale = 1.0 if name in STATIONARY else 3.5
    d = process(dt.gp.HSGP(), kernel, noise=NOISE)
    assert 1e-4 < abs(covariance(d) - dense(kernel)).max() < 0.0125 * scale


def test_more_basis_functions_are_better():
    scale = dt.data(1.5, name="scale")  # known, and good for 40 basis functions
    kernel = dt.gp.Matern52(scale)
    errors = [
        abs(covariance(process(dt.gp.HSGP(m, 4.0), kernel, noise=NOISE)) - dense(kernel)).max()
        for m in (30, 60, 120)
    ]
    assert errors[0] > 5.0 * errors[1] > 25.0 * errors[2]


@pytest.mark.parametrize(
    "kernel",
    [
        dt.gp.SquaredExponential(2.0),
        dt.gp.Matern52(dt.data([4.0, 2.0], dims=FEATURE)),
        dt.gp.Matern32(3.0).sel(feature="y") + dt.gp.Linear().sel(feature="x"),
    ],
)
def test_basis_functions_of_points_of_several_numbers(kernel):
    x = dt.data(PLANE, dims=[T, FEATURE])
    d = process(dt.gp.HSGP(), kernel, x, noise=NOISE)
    assert abs(covariance(d) - dense(kernel, x)).max() < 0.025


def test_numbers_of_each_feature():
    x = dt.data(PLANE, dims=[T, FEATURE])
    basis = dt.gp.HSGP({"x": 7, "y": 5}, {"x": 3.0, "y": 4.0}, domain={"y": (-3.0, 3.0)})
    d = process(basis, dt.gp.SquaredExponential(4.0), x)
    assert d.basis.length == 35
    assert abs(covariance(d) - dense(dt.gp.SquaredExponential(4.0), x)).max() < 0.1


@pytest.mark.parametrize(
    ("basis", "boundary", "remedy"), [(5, 3.0, r"basis=31\b"), (40, 1.1, r"boundary=1\.6\b")]
)
def test_a_bad_approximation_is_warned_of(basis, boundary, remedy):
    text = rf"wrong by up to \d+% of the variance at a length scale of 1.5(.|\n)*{remedy}"
    with pytest.warns(dt.ModelWarning, match=text):
        process(dt.gp.HSGP(basis, boundary, domain=(0.0, 10.0)), M52)


def test_a_prior_tells_the_number_of_basis_functions():
    scale = dt.rv("scale", dist.InverseGamma(5.0, 5.0))
    low, high = scipy.stats.invgamma(5.0, scale=5.0).ppf([0.1, 0.9])
    asked = process(dt.gp.HSGP(lengthscale=(low, high)), dt.gp.Matern52(scale))
    assert process(dt.gp.HSGP(), dt.gp.Matern52(scale)).basis == asked.basis


# -- of all ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_densities_are_those_of_the_covariance(method):
    d = process(method, M52, mean=MEAN, noise=NOISE)
    cov = covariance(d)
    if method == "InducingPoints":  # a bound
        own = d._lacking().eval().values
        lacks, cov = 0.5 * own.sum() / NOISE**2, cov - np.diag(own)
    else:
        lacks = 0.0
    x = dt.tensor("x", dims=T)
    expected = normal(cov).logpdf(VALUES) - lacks
    np.testing.assert_allclose(d.logp(x).eval({x: VALUES}), expected, rtol=1e-9)
    scale, noise = dt.scalar("scale"), dt.scalar("noise")
    logp = process(method, dt.gp.Matern52(scale), mean=MEAN, noise=noise).logp(x)
    values = {scale: 1.5, x: VALUES, noise: NOISE}
    np.testing.assert_allclose(logp.eval(values), expected, rtol=1e-9)
    for wrt in (scale, noise, x):
        assert_gradient(logp, wrt, values, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_positions_do_not_matter(method):
    labels = np.sort(AT) + np.arange(12.0)
    values = dict(zip(labels, VALUES, strict=True))

    def density(order):
        dim = dt.Dim("t", coords=labels[order])
        approximation = METHODS[method]
        if method == "HSGP":
            approximation = dt.gp.HSGP(60, 2.0, domain=(0.0, 30.0), lengthscale=(9.0, 9.0))
        d = dist.GP(M52, dim, noise=NOISE, approximation=approximation)
        return float(d.logp(dt.data([values[x] for x in dim.coords], dims=dim)).eval())

    np.testing.assert_allclose(density(np.arange(12)), density(RNG.permutation(12)), rtol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_additional_dims_are_a_loop(method):
    group = dt.Dim("group", coords=["a", "b"])
    scales, means, noises = [1.0, 2.0], [0.0, 1.0], [0.1, 0.2]

    def along(x):
        return dt.data(x, dims=group)

    d = process(method, dt.gp.Matern52(along(scales)), mean=along(means), noise=along(noises))
    assert set(d.dims) == {group, T}
    y = dt.data(VALUES, dims=T)
    each = [
        float(process(method, dt.gp.Matern52(s), mean=m, noise=n).logp(y).eval())
        for s, m, n in zip(scales, means, noises, strict=True)
    ]
    np.testing.assert_allclose(d.logp(y).eval(), each)
    drawn, _ = d.draw(dt.random.generator(1), dims=dt.Dim("n", length=3))
    assert drawn.eval().sizes == {"group": 2, "n": 3, "t": 12}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [0, 1])
def test_few_points(method, n):
    t = dt.Dim("t", coords=AT[:n])
    d = dist.GP(M52, t, noise=NOISE, mean=MEAN, approximation=METHODS[method])
    expected = scipy.stats.norm(MEAN, np.sqrt(1.0 + NOISE**2)).logpdf(VALUES[:n]).sum()
    tolerance = {"HSGP": 0.03, "fitc": 1e-7}.get(method, 1e-7)
    np.testing.assert_allclose(d.logp(dt.data(VALUES[:n], dims=t)).eval(), expected, tolerance)
    assert d.draw(dt.random.generator(1))[0].eval().shape == (n,)


@pytest.mark.parametrize("method", ["HSGP", "StateSpace", "fitc"])
def test_points_of_a_call(method):
    t = dt.Dim("t")
    x, y = dt.tensor("x", dims=t), dt.tensor("y", dims=t)
    d = dist.GP(M52, t, at=x, noise=NOISE, approximation=METHODS[method])
    f = dt.function([x, y], d.logp(y), backend="python")
    for n in (3, 12):
        known = dist.GP(M52, s := dt.Dim("t", length=n), at=dt.data(AT[:n], dims=s), noise=NOISE,
                        approximation=METHODS[method])  # fmt: skip
        expected = known.logp(dt.data(VALUES[:n], dims=s)).eval()
        np.testing.assert_allclose(f(AT[:n], VALUES[:n]), expected, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_draws_conditional_on_known_labels(method):
    """In predictions along a dim with more labels, in another order."""
    old, more = AT[[0, 1, 2, 3, 4, 5]], AT[[8, 1, 0, 9, 2, 3, 4, 5]]
    new, at = [0, 3], [1, 2, 4, 5, 6, 7]
    t, wider = dt.Dim("t", coords=old), dt.Dim("t", coords=more)
    approximation = dt.gp.Vecchia(8) if method == "Vecchia" else METHODS[method]

    def make(dim):
        return dist.GP(M52, dim, mean=MEAN, noise=NOISE, approximation=approximation)

    seen = dict(zip(old, VALUES, strict=False))
    x = dt.rv("x", make(t))
    fit = dt.Model(x, backend="python").observe({x: [seen[k] for k in old]})
    nothing = xr.Dataset({"other": (("chain", "draw"), np.zeros((1, 4000)))})
    found = fit.predict(nothing, dims={t: wider}, seed=3)["predictions"]["x"]
    found = found.transpose("chain", "draw", "t").values[0]
    np.testing.assert_array_equal(found[:, at], np.tile([seen[more[k]] for k in at], (4000, 1)))
    # the covariance of the same approximation at all labels; that of clusters of the old ones
    cov = dense(M52, dt.data(np.resize(more, 12), dims=T))[:8, :8]
    cov = np.where(np.eye(8, dtype=bool), cov, cov)
    gain = cov[np.ix_(new, at)] @ np.linalg.inv(cov[np.ix_(at, at)])
    mean = MEAN + gain @ (np.array([seen[more[k]] for k in at]) - MEAN)
    left = cov[np.ix_(new, new)] - gain @ cov[np.ix_(at, new)]
    slack = {"HSGP": 0.05, "InducingPoints": 0.3, "fitc": 0.3}.get(method, 0.0)
    np.testing.assert_allclose(
        found[:, new].mean(0), mean, atol=slack + 5 * np.sqrt(left.max() / 4000)
    )
    np.testing.assert_allclose(np.cov(found[:, new].T), left, atol=slack + 0.06 * left.max())


def test_models_sample_the_weights_of_basis_functions():
    """The density of weights, and values that are linear in these; observations have none."""
    scale = dt.rv("scale", dist.HalfNormal(2.0))
    kernel = dt.gp.Matern52(scale)
    f = dt.rv("f", process(dt.gp.HSGP(9, 2.0, lengthscale=(3.0, 3.0)), kernel))
    y = dt.rv("y", dist.Normal(f, 0.3))
    fit = dt.Model(y, backend="python").observe({y: VALUES})
    density = fit.log_density()
    assert density.names == ["scale", *(f"f_raw[{j}]" for j in range(9))]
    raw = RNG.normal(size=9)
    values = density.constrain(np.array([np.log(1.5), *raw]))
    d = process(dt.gp.HSGP(9, 2.0, lengthscale=(3.0, 3.0)), M52)
    p = d._values
    features = (p["features"] * p["scale"]).eval().transpose("t", ...).values
    np.testing.assert_allclose(values["f"], features @ raw)
    expected = (
        scipy.stats.norm.logpdf(raw).sum()
        + scipy.stats.norm(features @ raw, 0.3).logpdf(VALUES).sum()
        + scipy.stats.halfnorm(0.0, 2.0).logpdf(1.5)
        + np.log(1.5)
    )
    np.testing.assert_allclose(density.logp(np.array([np.log(1.5), *raw])), expected)
    assert [x.name for x in fit.centered().log_density().parameters] == ["scale", "f"]
    seen = dt.Model(f, backend="python").observe({f: VALUES}).log_density()
    assert [x.name for x in seen.parameters] == ["scale"]


def test_a_posterior_goes_on_at_new_labels():
    t = dt.Dim("t", coords=np.sort(AT + np.arange(12.0) * 1e-3))
    f = dt.rv("f", dist.GP(M52, t, approximation=dt.gp.HSGP(domain=(0.0, 12.0))))
    y = dt.rv("y", dist.Normal(f, 0.05))
    fit = dt.Model(y, backend="python").observe({y: np.sin(t.coords)})
    post = fit.laplace(100, seed=1)
    assert set(post["posterior"].data_vars) == {"f"}
    more = dt.Dim("t", coords=[*t.coords, 1.5, 11.9])
    new = fit.predict(post, dims={t: more}, seed=1, names=["f"])["predictions"]["f"]
    spread = new.sel(t=[1.5, 11.9]).std(["chain", "draw"]).values
    assert spread[0] < 0.5 < spread[1]
    outside = dt.Dim("t", coords=[*t.coords, 13.0])
    with pytest.raises(dt.CheckError, match="outside of the domain of the approximation"):
        fit.predict(post, dims={t: outside}, seed=1, names=["f"])


def test_dates_and_durations():
    day = dt.Dim("day", coords=pd.to_datetime(["2026-03-02", "2026-01-01", "2026-01-31"]))
    values = dt.data([0.3, -0.2, 0.5], dims=day)
    kernel = dt.gp.Matern32("60D") * dt.gp.Periodic(1.0, period="20D")
    exact = float(dist.GP(kernel, day).logp(values).eval())
    d = dist.GP(kernel, day, approximation=dt.gp.StateSpace())
    np.testing.assert_allclose(d.logp(values).eval(), exact, rtol=1e-8)
    smooth = dist.GP(dt.gp.Matern32("60D"), day, noise=NOISE)
    chosen = dt.gp.HSGP(lengthscale=("50D", "70D"))
    d = dist.GP(dt.gp.Matern32("60D"), day, noise=NOISE, approximation=chosen)
    np.testing.assert_allclose(d.logp(values).eval(), smooth.logp(values).eval(), rtol=0.02)


@pytest.mark.parametrize(
    ("neighbors", "order"), [(3, "maximin"), (3, "coordinate"), (0, "maximin")]
)
@pytest.mark.parametrize("n", [0, 1, 40])
def test_elements_of_standard_normal_numbers_have_the_density(neighbors, order, n):
    """Several are computed together, after their neighbors."""
    places = np.random.default_rng(n).normal(size=(n, 2))
    s, raw = dt.Dim("s", length=n), dt.Dim("raw", length=n)
    x = dt.data(places, dims=[s, FEATURE])
    approximation = dt.gp.Vecchia(neighbors, order=order)
    d = dist.GP(M32, s, at=x, mean=MEAN, noise=NOISE, approximation=approximation)
    root = (d._placed(dt.data(np.eye(n), dims=[raw, s])) - MEAN).eval().transpose("s", "raw")
    values = np.random.default_rng(1).normal(size=n)
    expected = normal(root.values @ root.values.T).logpdf(values) if n else 0.0
    np.testing.assert_allclose(d.logp(dt.data(values, dims=s)).eval(), expected, rtol=1e-9)


@pytest.mark.parametrize("known", [0, 30, 150])
@pytest.mark.parametrize("order", ["maximin", "coordinate"])
def test_neighbors_are_computed_in_turns_before(order, known):
    from dimtensor.dist.approximations.vecchia import turns_of

    site = dt.Dim("site", length=150)
    places = dt.data(RNG.normal(size=(150, 2)), dims=[site, FEATURE])
    d = dist.GP(M32, site, at=places, approximation=dt.gp.Vecchia(6, order=order))
    of = d._neighborhood(range(known))
    turns = turns_of(of, known)
    done = set(range(known))
    for turn in turns:
        for position in turn:
            assert set(of.parents[position, : of.counts[position]]) <= done
        assert not done & set(turn)
        done |= set(turn)
    assert done == set(range(150))
    assert len(turns) <= (70 if order == "maximin" else 150)


def test_nearest_points_before_each():
    from dimtensor.dist.approximations.vecchia import maximin_order, nearest_before

    places = RNG.normal(size=(150, 2))
    found = nearest_before(places, 6)
    distances = scipy.spatial.distance.cdist(places, places)
    for at in range(150):
        assert set(found[at][found[at] >= 0]) == set(np.argsort(distances[at, :at])[:6])
    order = maximin_order(places)
    assert sorted(order) == list(range(150))
    gaps = [distances[order[at], order[:at]].min() for at in range(1, 150)]
    assert np.all(np.diff(gaps) <= 1e-12)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: dt.gp.HSGP(0), dt.OptionError, "basis is a positive integer, not 0"),
        (lambda: dt.gp.HSGP(5, 1.0), dt.OptionError, "boundary is above 1, not 1.0"),
        (lambda: dt.gp.HSGP(lengthscale=(2.0, 1.0)), dt.OptionError, "lengthscale is a pair"),
        (lambda: dt.gp.StateSpace(0), dt.OptionError, "waves is a positive integer"),
        (lambda: dt.gp.Vecchia(-1), dt.OptionError, "neighbors is an integer"),
        (lambda: dt.gp.Vecchia(order="random"), dt.OptionError, "order is one of maximin"),
        (lambda: dt.gp.InducingPoints(0), dt.OptionError, "at least one point"),
        (lambda: dt.gp.InducingPoints(3, form="x"), dt.OptionError, "form is one of vfe"),
        (lambda: process("HSGP", M52 * M12), dt.OptionError, "has no spectral density"),
        (
            lambda: process(dt.gp.HSGP(), dt.gp.Matern52(dt.scalar("s"))),
            dt.OptionError,
            "the length scale is not known",
        ),
        (
            lambda: process(dt.gp.HSGP(5, 2.0), x=dt.tensor("x", dims=T)),
            dt.OptionError,
            "the points along t are not known yet",
        ),
        (
            lambda: process(dt.gp.HSGP(lengthscale=(1e-4, 1.0)), M12),
            dt.OptionError,
            "basis functions are needed",
        ),
        (lambda: process("HSGP", jitter=0.0), dt.OptionError, "have no density without noise"),
        (lambda: process("StateSpace", SE), dt.OptionError, "is no state-space model"),
        (
            lambda: process("StateSpace", x=dt.data(PLANE, dims=[T, FEATURE])),
            dt.DimError,
            "are of one number each, and have feature",
        ),
        (
            lambda: process("StateSpace", M52 * dt.gp.White(1.0)),
            dt.OptionError,
            "white noise is added to kernels",
        ),
        (
            lambda: process("Vecchia", x=dt.tensor("x", dims=T)),
            dt.OptionError,
            "the points along t are not known where",
        ),
        (
            lambda: process("Vecchia", lambda x, y: x * y),
            dt.OptionError,
            "the kernel is one of dt.gp",
        ),
        (
            lambda: process("InducingPoints", x=dt.tensor("x", dims=T)),
            dt.OptionError,
            "points along t are not known, so that they have no centers",
        ),
        (
            lambda: process(dt.gp.InducingPoints(3, form="vfe")),
            dt.OptionError,
            "'vfe' is a bound of the density of values with noise",
        ),
        (lambda: process(dt.gp.InducingPoints(X)), dt.DimError, "along one dim of their own"),
        (lambda: process("a matrix"), dt.OptionError, "'a matrix' is no approximation"),
        (
            lambda: dist.GP(dt.eye(T), T, approximation=METHODS["Vecchia"]),
            dt.OptionError,
            "takes a kernel, and covariances are given",
        ),
        (
            lambda: dist.GP(M52.on(T), [T, FEATURE], approximation=METHODS["Vecchia"]),
            dt.OptionError,
            "GP: an approximation is along one dim, not",
        ),
    ],
)
def test_what_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
@pytest.mark.parametrize("method", METHODS)
def test_compiled(method, backend):
    scale, x = dt.scalar("scale"), dt.tensor("x", dims=T)
    logp = process(method, dt.gp.Matern52(scale), noise=NOISE).logp(x)
    outputs = [logp, *dt.grad(logp, [scale, x])]
    values = [dt.function([scale, x], outputs, backend=b)(1.5, VALUES) for b in (backend, "python")]
    for found, expected in zip(*values, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
