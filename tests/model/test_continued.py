"""Conditional draws of events with observed elements: forecasts, functions at new points."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor import dist
from tests.backend_names import LONG_JAX

N = 20_000
OLD, NEW = ["a", "b", "c"], ["a", "b", "c", "d", "e"]
TIME, LONGER = dt.Dim("time", coords=OLD), dt.Dim("time", coords=NEW)
SEEN = np.array([0.5, -1.0, 2.0])


def nothing_known():
    return xr.Dataset({"other": (("chain", "draw"), np.zeros((1, N)))})


def goes_on(d, seen=SEEN, wider=LONGER, data=None, backend="python"):
    """Draws of all elements given the first ones, which are observed."""
    x = dt.rv("x", d)
    fit = dt.Model(x).observe({x: seen})
    dims = {x.dims[0]: wider}
    tree = fit.predict(nothing_known(), data, dims=dims, seed=1, backend=backend)
    found = tree["predictions"]["x"]
    assert list(found[wider._short].values) == list(wider.coords)
    found = found.transpose("chain", "draw", ...).values[0]
    assert (found[:, : len(seen)] == seen).all()
    return found[:, len(seen) :]


def check_moments(found, mean, cov):
    mean, cov = np.asarray(mean, float), np.asarray(cov, float)
    n = len(found)
    np.testing.assert_array_less(abs(found.mean(0) - mean), 5 * np.sqrt(np.diag(cov) / n))
    errors = np.sqrt((cov**2 + np.outer(np.diag(cov), np.diag(cov))) / n)
    np.testing.assert_array_less(abs(np.cov(found.T) - cov), 5 * errors)


# -- Gaussian processes and normal vectors ---------------------------------------------------------

AT = np.array([0.0, 0.5, 2.0, 1.0, 2.2])


def kernel(x, y):
    return 1.5 * dt.exp(-0.5 * ((x - y) / 0.8) ** 2)


def covariance(at):
    return 1.5 * np.exp(-0.5 * (np.subtract.outer(at, at) / 0.8) ** 2)


def conditional(mean, cov, seen):
    """Moments of the elements after those that are seen (Rasmussen and Williams 2006, (2.19))."""
    n = len(seen)
    gain = cov[n:, :n] @ np.linalg.inv(cov[:n, :n])
    return mean[n:] + gain @ (seen - mean[:n]), cov[n:, n:] - gain @ cov[:n, n:]


@pytest.mark.parametrize("backend", LONG_JAX)
def test_a_noisy_function_at_new_points(backend):
    x = dt.data(AT[:3], dims=TIME, name="at")
    d = dist.GP(kernel, TIME, at=x, mean=2.0 * x, jitter=0.1)
    found = goes_on(d, data={"at": (["time"], AT)}, backend=backend)
    check_moments(found, *conditional(2.0 * AT, covariance(AT) + 0.1 * np.eye(5), SEEN))


def test_a_function_that_is_a_parameter():
    """Each draw of its values goes on by itself, with a scale of its own; observations are new."""
    scale = dt.rv("scale", dist.HalfNormal(1.0))
    x = dt.data(AT[:3], dims=TIME, name="at")
    f = dt.rv("f", dist.GP(lambda x, y: scale * kernel(x, y), TIME, at=x, jitter=1e-9))
    y = dt.rv("y", dist.Normal(f, 0.1))
    fit = dt.Model(y, backend="python").observe({y: [0.0, 0.0, 0.0]})
    values = np.random.default_rng(2).normal(size=(2, 3))
    post = xr.Dataset(
        {"f": (("chain", "draw", "time"), np.repeat(values[:, None], 3000, axis=1)),
         "scale": (("chain", "draw"), np.repeat([[0.5], [2.0]], 3000, axis=1))},
        {"time": OLD},
    )  # fmt: skip
    tree = fit.predict(post, {"at": AT}, dims={TIME: LONGER}, seed=1, names=["f", "y"])
    f, y = (tree["predictions"][k].transpose("chain", "draw", "time").values for k in ("f", "y"))
    for chain, of_scale in enumerate((0.5, 2.0)):
        assert (f[chain, :, :3] == values[chain]).all()
        mean, cov = conditional(np.zeros(5), of_scale * covariance(AT), values[chain])
        check_moments(f[chain, :, 3:], mean, cov)
        np.testing.assert_allclose((y - f)[chain].std(0), 0.1, rtol=0.05)


@pytest.mark.parametrize("form", ["cov", "tau", "chol"])
def test_forms_of_the_matrix(form, rng):
    cov = covariance(AT) + np.diag(rng.uniform(0.1, 0.5, 5))
    to = {"cov": lambda m: m, "tau": np.linalg.inv, "chol": np.linalg.cholesky}[form]
    given = dt.data(to(cov[:3, :3]), dims=[TIME, TIME.rename()], name="matrix")
    d = dist.MvNormal(1.0, **{form: given})
    found = goes_on(d, data={"matrix": (["time", "time'"], to(cov))})
    check_moments(found, *conditional(np.ones(5), cov, SEEN))


def test_a_vector_of_students_t():
    """Of nu + n degrees of freedom, with scales that grow with the distance of what is known."""
    nu, cov = 6.0, covariance(AT) + 0.1 * np.eye(5)
    given = dt.data(cov[:3, :3], dims=[TIME, TIME.rename()], name="matrix")
    found = goes_on(dist.MvStudentT(nu, 0.0, given), data={"matrix": (["time", "time'"], cov)})
    mean, shape = conditional(np.zeros(5), cov, SEEN)
    distance = SEEN @ np.linalg.solve(cov[:3, :3], SEEN)
    variance = shape * (nu + distance) / (nu + 3) * (nu + 3) / (nu + 3 - 2)
    np.testing.assert_allclose(found.mean(0), mean, atol=5 * np.sqrt(variance.max() / N))
    np.testing.assert_allclose(np.cov(found.T), variance, atol=0.06 * variance.max())


def test_known_elements_may_stand_anywhere():
    x = dt.data(AT[:3], dims=TIME, name="at")
    f = dt.rv("f", dist.GP(kernel, TIME, at=x, jitter=0.1))
    fit = dt.Model(f, backend="python").observe({f: SEEN})
    mixed = dt.Dim("time", coords=["e", "c", "a", "d", "b"])
    order = [4, 2, 0, 3, 1]
    data = {"at": AT[order]}
    found = fit.predict(nothing_known(), data, dims={TIME: mixed}, seed=1)["predictions"]["f"]
    found = found.sel(time=NEW).transpose("chain", "draw", "time").values[0]
    assert (found[:, :3] == SEEN).all()
    expected = conditional(np.zeros(5), covariance(AT) + 0.1 * np.eye(5), SEEN)
    check_moments(found[:, 3:], *expected)


# -- series ----------------------------------------------------------------------------------------


def autoregression(before, rho):
    return dist.Normal(rho * before, 0.5), lambda value: value


LAG = dt.Dim("lag", length=2)
START = dist.Normal(0.0, 1.0)
# the means of two elements after SEEN, and their covariances
FORECASTS = {
    "walk": (
        lambda: dist.GaussianRandomWalk(0.3, 0.5, dim=TIME, start=START),
        [2.3, 2.6], [[0.25, 0.25], [0.25, 0.5]],
    ),
    "AR(2)": (
        lambda: dist.AR(dt.data([0.6, 0.3], dims=LAG), 0.5, dim=TIME, start=START, constant=0.1),
        # 0.6 * 2 - 0.3 + 0.1, and 0.6 * 1 + 0.3 * 2 + 0.1
        [1.0, 1.3], [[0.25, 0.15], [0.15, 0.25 * 1.36]],
    ),
    "EulerMaruyama": (
        lambda: dist.EulerMaruyama(lambda x, k: (-k * x, 1.0), 0.25, dim=TIME, start=START, k=0.8),
        # the element before times 0.8, and noise of variance 0.25
        [1.6, 1.28], [[0.25, 0.2], [0.2, 0.25 * 1.64]],
    ),
    "Series": (
        lambda: dist.Series(autoregression, 0.0, dim=TIME, rho=0.8),
        [1.6, 1.28], [[0.25, 0.2], [0.2, 0.25 * 1.64]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORECASTS)
@pytest.mark.parametrize("backend", LONG_JAX)
def test_forecasts(name, backend):
    make, mean, cov = FORECASTS[name]
    check_moments(goes_on(make(), backend=backend), mean, cov)


@pytest.mark.parametrize("name", [*FORECASTS, "GP"])
def test_forecasts_after_a_gap(name):
    """Where an element is missing, draws of it have its place."""
    mean, cov = np.zeros(5), covariance(np.arange(5.0)) + 0.1 * np.eye(5)
    make, mean, cov = FORECASTS.get(name) or (
        lambda: dist.GP(kernel, TIME, at=1.0 * dt.arange(TIME), jitter=0.1),
        *conditional(mean, cov, SEEN),
    )
    x = dt.rv("x", make())
    fit = dt.Model(x).observe({x: np.where([0, 1, 0], np.nan, SEEN)}, missing="infer")
    post = nothing_known()
    gone = xr.DataArray(np.full((1, N, 1), SEEN[1]), {"time": ["b"]}, ("chain", "draw", "time"))
    with pytest.raises(dt.InputError, match="infer'\\) have 'x_missing'"):
        fit.predict(post, dims={TIME: LONGER}, seed=1)
    found = fit.predict(post.assign(x_missing=gone), dims={TIME: LONGER}, seed=1)
    found = found["predictions"]["x"].transpose("chain", "draw", "time").values[0]
    assert (found[:, :3] == SEEN).all()
    check_moments(found[:, 3:], mean, cov)


def test_a_variance_goes_on_from_the_elements_before():
    omega, alpha, beta, first = 0.2, 0.3, 0.4, 1.5
    d = dist.GARCH11(omega, alpha, beta, first, dim=TIME)
    variance = first**2
    for x in SEEN[:-1]:
        variance = omega + alpha * x**2 + beta * variance
    found = goes_on(d)
    fourth = omega + alpha * SEEN[-1] ** 2 + beta * variance
    fifth = omega + (alpha + beta) * fourth
    np.testing.assert_allclose(found.var(0), [fourth, fifth], rtol=0.06)


def test_labels_follow_the_last_known_one():
    sky = dt.Dim("sky", coords=["dry", "wet", "snow"])
    move = np.array([[0.7, 0.2, 0.1], [0.5, 0.25, 0.25], [0.05, 0.15, 0.8]])
    d = dist.MarkovChain(
        dt.data([0.1, 0.1, 0.8], dims=sky), dt.data(move, dims=[sky, sky.rename()]), dim=TIME
    )
    found = goes_on(d, np.array(["dry", "snow", "wet"]))
    for column, expected in zip(found.T, (move[1], move[1] @ move), strict=True):
        frequencies = [(column == label).mean() for label in sky.coords]
        np.testing.assert_allclose(frequencies, expected, atol=5 * np.sqrt(0.25 / N))


def test_walks_of_vectors_in_groups_that_are_known():
    """Draws with other dims; the first elements are known where a dim has no labels."""
    time, part, group = dt.Dim("time", length=2), dt.Dim("part", length=2), dt.Dim("group")
    cov = np.array([[1.0, 0.5], [0.5, 2.0]])
    matrix = dt.data(cov, dims=[part, part.rename()])
    start = dist.MvNormal(0.0, dt.eye(part))
    walk = dist.MvGaussianRandomWalk(0.0, matrix, dim=time, start=start)
    x = dt.rv("x", walk, dims=group)
    model = dt.Model(x, backend="python")
    values = np.random.default_rng(1).normal(size=(3, 2, 2))
    post = xr.Dataset({"x": (("chain", "draw", "group", "time", "part"),
                             np.broadcast_to(values, (1, N, 3, 2, 2)))})  # fmt: skip
    wider = {time: dt.Dim("time", length=4)}
    found = model.predict(post, dims=wider, seed=1)["predictions"]["x"]
    found = found.transpose("chain", "draw", "group", "time", "part").values[0]
    np.testing.assert_array_equal(found[:, :, :2], np.broadcast_to(values, (N, 3, 2, 2)))
    for at in range(3):
        check_moments(found[:, at, 2], values[at, 1], cov)
        check_moments(found[:, at, 3], values[at, 1], 2 * cov)


def test_new_groups_have_new_series():
    group = dt.Dim("group", coords=["p"])
    both = dt.Dim("group", coords=["q", "p"])
    x = dt.rv("x", dist.GaussianRandomWalk(0.0, 0.5, dim=TIME, start=START), dims=group)
    fit = dt.Model(x, backend="python").observe({x: (["group", "time"], 100.0 + SEEN[None])})
    dims = {TIME: LONGER, group: both}
    found = fit.predict(nothing_known(), dims=dims, seed=1)["predictions"]["x"]
    found = found.transpose("chain", "draw", "group", "time").values[0]
    assert (found[:, 1, :3] == 100.0 + SEEN).all()
    check_moments(found[:, 1, 3:], [102.0, 102.0], [[0.25, 0.25], [0.25, 0.5]])
    steps = np.minimum.outer(np.arange(5), np.arange(5))
    check_moments(found[:, 0], np.zeros(5), 1.0 + 0.25 * steps)


# -- what cannot be --------------------------------------------------------------------------------


def predict(d, coords, seen=SEEN, **options):
    x = dt.rv("x", d)
    fit = dt.Model(x, backend="python").observe({x: seen}, **options)
    return fit.predict(nothing_known(), dims={TIME: dt.Dim("time", coords=coords)}, seed=1)


WALK = dist.GaussianRandomWalk(0.0, 1.0, dim=TIME, start=START)


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda: predict(WALK, ["z", *OLD]), dt.GraphError, "which come first along time"),
        (lambda: predict(WALK, ["b", "a", "c", "d"]), dt.GraphError, "which come first along time"),
        (lambda: predict(WALK, ["a", "d"]), dt.LabelError, "lacks labels of some that are known"),
        (
            lambda: predict(dist.ZeroSumNormal(1.0, dim=TIME), NEW, [1.0, 0.0, -1.0]),
            dt.GraphError,
            "ZeroSumNormal does not support conditional draws along its event dims: time",
        ),
        (
            lambda: predict(dist.Dirichlet(dt.ones(TIME), dim=TIME), NEW, [0.2, 0.2, 0.6]),
            dt.GraphError,
            "Dirichlet does not support conditional draws along its event dims: time",
        ),
    ],
)
def test_what_cannot_be_continued(act, error, message):
    with pytest.raises(error, match=message):
        act()


def test_vectors_that_follow_each_other_get_no_new_elements():
    k, wider = dt.Dim("k", coords=["p", "q"]), dt.Dim("k", coords=["p", "q", "r"])
    time = dt.Dim("time", length=2)
    start = dist.MvNormal(dt.zeros(k), dt.eye(k))
    x = dt.rv("x", dist.MvGaussianRandomWalk(0.0, dt.eye(k), dim=time, start=start))
    fit = dt.Model(x, backend="python").observe(x=(["time", "k"], np.zeros((2, 2))))
    with pytest.raises(
        dt.DimtensorError,
        match="not support conditional draws along its event dims: k",
    ):
        fit.predict(nothing_known(), dims={k: wider}, seed=1)


def test_elements_without_labels_are_no_labels():
    time = dt.Dim("time", length=3)
    x = dt.rv("x", dist.GaussianRandomWalk(0.0, 1.0, dim=time, start=START))
    fit = dt.Model(x, backend="python").observe({x: SEEN})
    with pytest.raises(dt.LabelError, match="'x' has no labels along time that tell"):
        fit.predict(nothing_known(), dims={time: LONGER}, seed=1)


def test_what_is_whole_is_not_drawn():
    """A dim of the same labels needs no formula."""
    x = dt.rv("x", dist.ZeroSumNormal(1.0, dim=TIME))
    fit = dt.Model(x, backend="python").observe({x: [1.0, 0.0, -1.0]})
    again = dt.Dim("time", coords=["c", "b", "a"])
    found = fit.predict(nothing_known(), dims={TIME: again}, seed=1)["predictions"]["x"]
    np.testing.assert_array_equal(found.sel(time=OLD).isel(chain=0, draw=0), [1.0, 0.0, -1.0])
