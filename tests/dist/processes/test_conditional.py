"""Gaussian processes with noise, and given values: beside dense algebra in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st

import dimtensor as dt
from dimtensor import dist
from dimtensor.testing.differences import assert_gradient
from tests.backend_names import LONG_JAX_COMPILED

AT, NEW = np.array([0.0, 0.5, 1.0, 2.0, 4.0]), np.array([0.7, 2.0, 9.0])
PLACE, WANTED = dt.Dim("place", coords=AT), dt.Dim("place", coords=NEW)
VALUES = np.array([0.1, 0.2, -0.3, 0.5, 1.0])
Y = dt.data(VALUES, dims=PLACE)


def squared(x, y, length=1.3):
    return 1.5 * np.exp(-0.5 * (np.subtract.outer(x, y) / length) ** 2)


def straight(x, y):
    return 0.2 * np.outer(x, y)


KERNEL = 1.5 * dt.gp.SquaredExponential(1.3)
LINE = 0.2 * dt.gp.Linear()


def posterior(kernel, of=None, *, noise, mean=0.0, new_mean=0.0, at=AT, new=NEW, values=VALUES):
    """(2.22) to (2.24) by an inverse."""
    of = of or kernel
    inverse = np.linalg.inv(kernel(at, at) + np.diag(np.broadcast_to(noise, len(at)) ** 2))
    gain = of(new, at) @ inverse
    return new_mean + gain @ (values - mean), of(new, new) - gain @ of(at, new)


@pytest.mark.parametrize("noise", [0.4, np.linspace(0.1, 0.5, 5)])
def test_values_with_noise(noise):
    given = noise if np.ndim(noise) == 0 else dt.data(noise, dims=PLACE)
    process = dist.GP(KERNEL, PLACE, mean=0.5, noise=given)
    cov = squared(AT, AT) + np.diag(np.broadcast_to(noise, 5) ** 2)
    oracle = st.multivariate_normal(np.full(5, 0.5), cov)
    np.testing.assert_allclose(process.logp(Y).eval(), oracle.logpdf(VALUES))
    np.testing.assert_allclose(process.covariance().eval(), cov, rtol=1e-12)
    d = process.conditional(Y, {PLACE: WANTED}, jitter=0.0)
    mean, cov = posterior(squared, noise=noise, mean=0.5, new_mean=0.5)
    assert d.dims == (WANTED,)
    np.testing.assert_allclose(d.mean().eval(), mean, rtol=1e-8)
    np.testing.assert_allclose(d.covariance().eval(), cov, atol=1e-9)
    np.testing.assert_allclose(d.variance().eval(), cov.diagonal(), atol=1e-9)


def test_without_noise_the_function_goes_through_the_values():
    process = dist.GP(KERNEL, PLACE, jitter=0.0)
    d = process.conditional(Y, {PLACE: PLACE}, jitter=0.0)
    np.testing.assert_allclose(d.mean().eval(), VALUES, rtol=1e-8)
    np.testing.assert_allclose(d.covariance().eval(), np.zeros((5, 5)), atol=1e-9)


def test_parts_of_a_process():
    """The posterior means of summands add up to that of the sum."""
    process = dist.GP(KERNEL + LINE + dt.gp.White(0.1), PLACE, noise=0.3)

    def whole(x, y):
        return squared(x, y) + straight(x, y) + 0.1 * (x is y) * np.eye(len(x))[:, : len(y)]

    parts = []
    for kernel, of in ((KERNEL, squared), (LINE, straight)):
        d = process.conditional(Y, {PLACE: WANTED}, kernel=kernel, jitter=0.0)
        mean, cov = posterior(whole, of, noise=0.3)
        np.testing.assert_allclose(d.mean().eval(), mean, rtol=1e-8)
        np.testing.assert_allclose(d.covariance().eval(), cov, atol=1e-9)
        parts.append(d.mean().eval().values)
    both = process.conditional(Y, {PLACE: WANTED}).mean().eval()
    np.testing.assert_allclose(sum(parts), both)


def test_draws_at_new_points():
    d = dist.GP(KERNEL, PLACE, noise=0.4).conditional(Y, {PLACE: WANTED})
    drawn, _ = d.draw(dt.random.generator(1), dims=dt.Dim("n", length=8000))
    values = drawn.eval().transpose("n", "place").values
    mean, cov = posterior(squared, noise=0.4)
    np.testing.assert_allclose(values.mean(0), mean, atol=0.06)
    np.testing.assert_allclose(np.cov(values.T), cov, atol=0.08)


def test_points_and_means_that_are_given(rng):
    obs, new = dt.Dim("obs", length=5), dt.Dim("new", length=3)
    slope = dt.data(2.0 * AT, dims=obs)
    process = dist.GP(KERNEL, obs, at=dt.data(AT, dims=obs), mean=slope, noise=0.4)
    y = dt.data(VALUES, dims=obs)
    at, mean = dt.data(NEW, dims=new), dt.data(2.0 * NEW, dims=new)
    d = process.conditional(y, {obs: new}, at=at, mean=mean, jitter=0.0)
    expected, _ = posterior(squared, noise=0.4, mean=2.0 * AT, new_mean=2.0 * NEW)
    np.testing.assert_allclose(d.mean().eval(), expected, rtol=1e-8)
    again = process.conditional(y, {obs: new}, at={new: at}, mean=mean, jitter=0.0)
    assert again.mean() is d.mean()
    with pytest.raises(dt.OptionError, match="the mean of the process is along obs"):
        process.conditional(y, {obs: new}, at=at)


def test_several_functions_at_once(rng):
    group = dt.Dim("group", length=2)
    scale, values = np.array([1.0, 2.0]), rng.normal(size=(2, 5))
    process = dist.GP(dt.data(scale, dims=group) * KERNEL, PLACE, noise=0.3)
    assert process.dims == (group, PLACE)
    d = process.conditional(dt.data(values, dims=[group, PLACE]), {PLACE: WANTED}, jitter=0.0)
    for k in range(2):
        mean, cov = posterior(
            lambda x, y, k=k: scale[k] * squared(x, y), noise=0.3, values=values[k]
        )
        np.testing.assert_allclose(d.mean().isel(group=k).eval(), mean, rtol=1e-8)
        np.testing.assert_allclose(d.covariance().isel(group=k).eval(), cov, atol=1e-9)


@pytest.mark.parametrize("n", [0, 1])
def test_few_points(n):
    none = dt.Dim("place", coords=AT[:n])
    process = dist.GP(KERNEL, none, noise=0.3)
    d = process.conditional(dt.data(VALUES[:n], dims=none), {none: WANTED}, jitter=0.0)
    mean, cov = posterior(squared, noise=0.3, at=AT[:n], values=VALUES[:n])
    np.testing.assert_allclose(d.mean().eval(), mean, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(d.covariance().eval(), cov, atol=1e-9)
    empty = process.conditional(dt.data(VALUES[:n], dims=none), {none: dt.Dim("place", coords=[])})
    assert empty.mean().eval().shape == (0,)


def test_float32():
    y = dt.data(VALUES.astype("float32"), dims=PLACE)
    process = dist.GP(dt.gp.SquaredExponential(1.3), PLACE, noise=0.3)
    d = process.conditional(y, {PLACE: WANTED})
    mean, _ = posterior(lambda x, z: squared(x, z) / 1.5, noise=0.3, values=VALUES)
    np.testing.assert_allclose(d.mean().eval(), mean, rtol=1e-4)


def test_gradients():
    length, noise = dt.scalar("length"), dt.scalar("noise")
    process = dist.GP(dt.gp.Matern52(length), PLACE, noise=noise)
    d = process.conditional(Y, {PLACE: WANTED})
    for x in (process.logp(Y), d.mean().sum(), d.covariance().sum()):
        for of in (length, noise):
            assert_gradient(x, of, {length: 1.3, noise: 0.4})


def test_a_model_predicts_the_function():
    sigma = dt.rv("sigma", dist.HalfNormal(1.0))
    process = dist.GP(KERNEL, PLACE, noise=sigma)
    fit = dt.Model(dt.rv("y", process), backend="python").observe(y=VALUES)
    post = fit.laplace(3, seed=1)
    d = process.conditional(Y, {PLACE: WANTED})
    named = dt.named("middle", d.mean()), dt.named("spread", d.covariance())
    ahead = dt.Model(dt.rv("curve", d), *named, backend="python")
    new = ahead.predict(post, seed=2, names=["curve", "middle", "spread"])["posterior_predictive"]
    for k, each in enumerate(post["posterior"]["sigma"].values[0]):
        mean, cov = posterior(squared, noise=each)
        np.testing.assert_allclose(new["middle"][0, k], mean, rtol=1e-8)
        np.testing.assert_allclose(new["spread"][0, k], cov + 1e-6 * np.eye(3), atol=1e-9)
        assert (np.abs(new["curve"][0, k] - mean) < 5 * np.sqrt(cov.diagonal())).all()


def test_noise_around_a_process_is_the_same_model():
    """Observations with noise around a process, which is summed out, have its density."""
    sigma = dt.rv("sigma", dist.HalfNormal(1.0))
    f = dt.rv("f", dist.GP(KERNEL, PLACE, jitter=0.0))
    y = dt.rv("y", dist.Normal(f, sigma))
    apart = dt.Model(y, backend="python").observe(y=VALUES).marginalize(f)
    z = dt.rv("y", dist.GP(KERNEL, PLACE, noise=sigma))
    whole = dt.Model(z, backend="python").observe(y=VALUES)
    one, other = (fit.log_density() for fit in (apart, whole))
    for at in (-1.0, 0.3):
        a, b = (density.logp_and_grad(np.array([at])) for density in (one, other))
        np.testing.assert_allclose(a[0], b[0], rtol=1e-8)
        np.testing.assert_allclose(a[1], b[1], rtol=1e-8)


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda p: p.conditional(Y, {WANTED: PLACE}), dt.DimError, "the new dim for each dim"),
        (lambda p: p.conditional(Y, {PLACE: "x"}), dt.DimError, "the new dim for each dim"),
        (
            lambda p: p.conditional(Y, {PLACE: dt.Dim("place", length=3)}),
            dt.OptionError,
            "labels of place are not known",
        ),
        (
            lambda p: p.conditional(Y, {PLACE: WANTED}, at=Y),
            dt.DimError,
            "the points, at, lack place",
        ),
        (
            lambda p: p.conditional(Y, {PLACE: dt.date_range("place", "2026-01-01", periods=2)}),
            dt.OptionError,
            "labels of place are no dates, and those of the new dim place are dates",
        ),
        (lambda p: p.conditional(1.0, {PLACE: WANTED}), dt.DimError, "lacks event dims"),
        (lambda p: dist.GP(KERNEL, PLACE, noise=-1.0), dt.OptionError, "noise of GP"),
    ],
)
def test_mistakes(make, error, match):
    with pytest.raises(error, match=match):
        make(dist.GP(KERNEL, PLACE, noise=0.1))


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
def test_compiled(backend):
    noise = dt.scalar("noise")
    d = dist.GP(KERNEL, PLACE, noise=noise).conditional(Y, {PLACE: WANTED}, jitter=0.0)
    f = dt.function([noise], [d.mean(), d.covariance()], backend=backend)
    for found, expected in zip(f(0.4), posterior(squared, noise=0.4), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)
