"""Gaussian processes along ragged dims: one for each parent. SciPy and scikit-learn are oracles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import dimtensor as dt
from dimtensor import dist

subject = dt.Dim("subject", coords=["a", "b", "c", "d"])  # 2, 0, 3 and 1 positions
OWNERS = np.array([2, 0, 2, 0, 3, 2])
TIMES = np.array([1.0, 0.5, 4.0, 0.0, 2.0, 2.5])
VALUES = np.array([1.0, -0.5, 0.3, 0.7, 1.2, 0.1])
REACH = np.array([1.0, 9.0, 2.0, 3.0])
trial = dt.ragged("trial", within=subject, by=subject.coords[OWNERS], coords=TIMES)
values = dt.data(VALUES, dims=trial)
reach = dt.data(REACH, dims=subject)


def matern32(x, y, lengthscale):
    apart = np.sqrt(3.0) * np.abs(np.subtract.outer(x, y)) / lengthscale
    return (1 + apart) * np.exp(-apart)


def log_densities(x, noise, lengthscale=REACH, mean=(0.0, 0.0, 0.0, 0.0), owners=OWNERS, at=TIMES):
    """Return SciPy's log density of the values of each parent."""
    found = []
    for parent in range(4):
        own = np.flatnonzero(owners == parent)
        if not len(own):
            found.append(0.0)
            continue
        cov = matern32(at[own], at[own], lengthscale[parent]) + noise**2 * np.eye(len(own))
        normal = stats.multivariate_normal(np.full(len(own), mean[parent]), cov)
        found.append(normal.logpdf(x[own]))
    return np.array(found)


@pytest.mark.parametrize("backend", ["python", "numba", "jax"])
def test_log_densities_are_those_of_each_parent(backend) -> None:
    d = dist.GP(dt.gp.Matern32(reach), trial, mean=0.1 * reach, noise=0.3)
    assert d.dims == (trial,)
    logp = d.logp(values)
    assert logp.dims == (subject,)
    expected = log_densities(VALUES, 0.3, mean=0.1 * REACH)
    np.testing.assert_allclose(logp.eval(backend=backend), expected, rtol=1e-10)


FORMS = {"dense": None, "state space": dt.gp.StateSpace()}
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


@each_form
def test_positions_in_any_order(form) -> None:
    kernel = dt.gp.Matern32(reach)
    d = dist.GP(kernel, trial, mean=0.1 * reach, noise=0.3, approximation=form)
    expected = log_densities(VALUES, 0.3, mean=0.1 * REACH)
    np.testing.assert_allclose(d.logp(values).eval(backend="python"), expected, rtol=1e-10)
    order = np.argsort(OWNERS, kind="stable")
    by_parent = dt.ragged("trial", within=subject, lengths=[2, 0, 3, 1], coords=TIMES[order])
    d = dist.GP(kernel, by_parent, mean=0.1 * reach, noise=0.3, approximation=form)
    found = d.logp(dt.data(VALUES[order], dims=by_parent)).eval(backend="python")
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@each_form
def test_gradients_are_finite_differences(form) -> None:
    length, noise = dt.tensor("length", dims=subject), dt.tensor("noise", dims=subject)
    d = dist.GP(dt.gp.Matern32(length), trial, noise=noise, approximation=form)
    total = d.logp(values).sum()
    f = dt.function([length, noise], dt.grad(total, [length, noise]), backend="python")
    noises = np.array([0.3, 0.4, 0.5, 0.6])
    by_length, by_noise = f(REACH, noises)

    def at(lengths, noises):
        return sum(
            log_densities(np.where(p == OWNERS, VALUES, 0.0), noises[p], lengths)[p]
            for p in range(4)
        )

    for p in range(4):
        step = 1e-5 * np.eye(4)[p]
        slope = (at(REACH + step, noises) - at(REACH - step, noises)) / 2e-5
        np.testing.assert_allclose(by_length.values[p], slope, rtol=1e-6, atol=1e-8)
        slope = (at(REACH, noises + step) - at(REACH, noises - step)) / 2e-5
        np.testing.assert_allclose(by_noise.values[p], slope, rtol=1e-6, atol=1e-8)


@each_form
def test_lengths_and_points_of_a_call_with_extra_dims(form) -> None:
    counts, run = dt.tensor("counts", dims=subject, dtype="int64"), dt.Dim("run", length=2)
    visit = dt.ragged("visit", within=subject, lengths=counts)
    time, x = dt.tensor("time", dims=visit), dt.tensor("x", dims=[visit, run])
    d = dist.GP(dt.gp.Matern32(reach), visit, at=time, noise=0.3, approximation=form)
    f = dt.function([counts, time, x], d.logp(x), backend="python")
    rng = np.random.default_rng(1)
    for sizes in ([2, 0, 3, 1], [0, 4, 1, 0]):
        owners = np.repeat(np.arange(4), sizes)
        at, draws = rng.uniform(0.0, 3.0, len(owners)), rng.normal(size=(len(owners), 2))
        found = f(sizes, at, (("visit", "run"), draws)).transpose("subject", "run").values
        for r in range(2):
            expected = log_densities(draws[:, r], 0.3, owners=owners, at=at)
            np.testing.assert_allclose(found[:, r], expected, rtol=1e-10)


@each_form
def test_parents_within_parents_and_length_scales_with_extra_dims(form) -> None:
    run, document = dt.Dim("run", length=2), dt.Dim("document", length=2)
    sentence = dt.ragged("sentence", within=document, lengths=[3, 1])
    word = dt.ragged("word", within=sentence, by=sentence.coords[OWNERS], coords=TIMES)
    lengths = np.array([[1.0, 2.0], [3.0, 0.5]])
    kernel = dt.gp.Matern32(dt.data(lengths, dims=[document, run]))
    d = dist.GP(kernel, word, noise=0.3, approximation=form)
    found = d.logp(dt.data(VALUES, dims=word)).eval(backend="python").transpose("sentence", "run")
    for r in range(2):
        expected = log_densities(VALUES, 0.3, lengths[[0, 0, 0, 1], r])
        np.testing.assert_allclose(found.values[:, r], expected, rtol=1e-10)


@each_form
def test_draws_of_parents_are_independent(form) -> None:
    d = dist.GP(dt.gp.Matern32(reach), trial, mean=reach, noise=0.3, approximation=form)
    n = 20_000
    drawn, _ = d.draw(dt.random.generator(3), dims=dt.Dim("n", length=n))
    found = drawn.eval(backend="python").transpose("n", "trial").values
    cov = np.where(
        np.equal.outer(OWNERS, OWNERS),
        matern32(TIMES, TIMES, REACH[OWNERS]) + 0.09 * np.eye(6),
        0.0,
    )
    np.testing.assert_allclose(found.mean(axis=0), REACH[OWNERS], atol=5 / np.sqrt(n))
    np.testing.assert_allclose(np.cov(found.T), cov, atol=8 / np.sqrt(n))
    np.testing.assert_allclose(d.variance().eval(backend="python"), np.full(6, 1.09))
    np.testing.assert_allclose(d.mean().eval(backend="python"), REACH[OWNERS])


def conditional_of(parent, times, lengthscale, noise):
    """Return the mean and covariance of a parent's process at times: textbook formula in NumPy."""
    own, times = np.flatnonzero(parent == OWNERS), np.asarray(times)
    known = matern32(TIMES[own], TIMES[own], lengthscale) + noise**2 * np.eye(len(own))
    across = matern32(times, TIMES[own], lengthscale)
    weights = across @ np.linalg.inv(known)
    return weights @ VALUES[own], matern32(times, times, lengthscale) - weights @ across.T


def test_the_conditional_at_new_positions_is_that_of_each_parent() -> None:
    process = dist.GP(dt.gp.Matern32(reach), trial, noise=0.3)
    owners, times = np.array([2, 1, 0, 2, 1]), np.array([3.0, 0.0, 0.2, 9.0, 1.0])
    later = dt.ragged("trial", within=subject, by=subject.coords[owners], coords=times)
    d = process.conditional(values, {trial: later}, jitter=0.0)
    assert d.dims == (later,)
    mean, cov = (part.eval(backend="python").values for part in (d.mean(), d.covariance()))
    for p in range(4):
        own = np.flatnonzero(owners == p)
        if len(own):
            expected_mean, expected = conditional_of(p, times[own], REACH[p], 0.3)
            np.testing.assert_allclose(mean[own], expected_mean, atol=1e-10)
            np.testing.assert_allclose(cov[np.ix_(own, own)], expected, atol=1e-10)
            assert not cov[np.ix_(own, owners != p)].any()
    plain = dt.Dim("trial", coords=times)
    with pytest.raises(dt.RaggedDimError, match="of dim 'subject' are along a ragged dim within"):
        process.conditional(values, {trial: plain})


@each_form
def test_predictions_at_new_positions_and_for_new_parents(form) -> None:
    kernel = dt.gp.Matern32(2.0)
    f = dt.rv("f", dist.GP(kernel, trial, approximation=form, jitter=1e-9))
    free = dt.rv("free", dist.Normal(0.0, 1.0))
    y = dt.rv("y", dist.Normal(f + 0.0 * free, 1.0))
    fit = dt.Model(y, backend="python").observe({"f": VALUES, "y": VALUES})
    post = fit.laplace(draws=400, seed=1)
    wider = dt.Dim("subject", coords=["a", "b", "c", "d", "e"])
    # an earlier position of c, between known ones of a, and first ones of b and e
    owners = np.array([2, *OWNERS, 0, 1, 4])
    times = np.array([0.0, *TIMES, 0.2, 7.0, 1.0])
    later = dt.ragged("trial", within=wider, by=wider.coords[owners], coords=times)
    new = fit.predict(post, dims={subject: wider, trial: later}, seed=1, names=["f"])
    found = new["predictions"]["f"].values.reshape(-1, 10)
    np.testing.assert_array_equal(found[:, 1:7], np.tile(VALUES, (400, 1)))
    for place in (0, 7, 8, 9):
        mean, cov = conditional_of(owners[place], times[[place]], 2.0, 0.0)
        spread = float(cov[0, 0]) ** 0.5
        assert abs(found[:, place].mean() - float(mean[0])) < 5 * spread / np.sqrt(400)
        np.testing.assert_allclose(found[:, place].std(), spread, rtol=0.18)
    assert (np.abs(np.corrcoef(found[:, [0, 7, 8, 9]].T) - np.eye(4)) < 0.25).all()


@each_form
def test_a_latent_process_has_the_evidence_of_its_marginal(form) -> None:
    kernel = dt.gp.Matern32(reach)
    f = dt.rv("f", dist.GP(kernel, trial, approximation=form, jitter=1e-10))
    y = dt.rv("y", dist.Normal(f, 0.3))
    fit = dt.Model(y, backend="python").observe({"y": VALUES})
    expected = log_densities(VALUES, 0.3).sum()
    for each in (fit, fit.noncentered("f")):
        post = each.laplace(draws=5, seed=1)
        assert post["posterior"].attrs["log_evidence"] == pytest.approx(expected, rel=1e-6)


def test_a_process_is_marginalized_and_recovered() -> None:
    f = dt.rv("f", dist.GP(dt.gp.Matern32(2.0), trial, jitter=1e-10))
    free = dt.rv("free", dist.Normal(0.0, 1.0))
    y = dt.rv("y", dist.Normal(f + 0.0 * free, 0.3))
    whole = dt.Model(y, backend="python").observe({"y": VALUES}).marginalize("f")
    expected = log_densities(VALUES, 0.3, np.full(4, 2.0)).sum()
    np.testing.assert_allclose(float(whole.logp({"free": 0.0})["y"].sum()), expected, rtol=1e-8)
    post = whole.laplace(draws=400, seed=1)
    found = whole.recover(post, seed=1)["posterior"]["f"].values.reshape(-1, 6)
    for parent in (0, 2, 3):
        own = parent == OWNERS
        mean, cov = conditional_of(parent, TIMES[own], 2.0, 0.3)
        error = np.sqrt(np.diag(cov) / 400)
        assert (np.abs(found[:, own].mean(axis=0) - mean) < 5 * error).all()


def test_white_noise_in_a_kernel_and_functions_as_kernels() -> None:
    expected = log_densities(VALUES, 0.3, np.full(4, 2.0))
    kernel = dt.gp.Matern32(2.0) + 0.09 * dt.gp.White()
    for d in (
        dist.GP(kernel, trial, jitter=0.0),
        dist.GP(lambda x, y: kernel(x, y), trial, at=dt.gp.points(trial), jitter=0.0),
        dist.GP(kernel, trial, jitter=0.0, approximation=dt.gp.StateSpace()),
    ):
        np.testing.assert_allclose(d.logp(values).eval(backend="python"), expected, rtol=1e-10)


def test_points_are_numbers_within_parents_where_there_are_no_labels() -> None:
    numbers = np.array([0.0, 0.0, 1.0, 1.0, 0.0, 2.0])
    plain = dt.ragged("trial", within=subject, by=subject.coords[OWNERS])
    d = dist.GP(dt.gp.Matern32(reach), plain, noise=0.3)
    found = d.logp(dt.data(VALUES, dims=plain)).eval(backend="python")
    np.testing.assert_allclose(found, log_densities(VALUES, 0.3, at=numbers), rtol=1e-10)


def test_dates_and_places_as_labels_within_parents() -> None:
    days = np.datetime64("2026-01-01") + np.round(TIMES * 10).astype("timedelta64[D]")
    visit = dt.ragged("visit", within=subject, by=subject.coords[OWNERS], coords=days)
    d = dist.GP(dt.gp.Matern32("20D"), visit, noise=0.3)
    found = d.logp(dt.data(VALUES, dims=visit)).eval(backend="python")
    expected = log_densities(VALUES, 0.3, np.full(4, 2.0))
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    axis = dt.Dim("axis", length=2)
    at = dt.data(np.stack([0.6 * TIMES, 0.8 * TIMES], axis=1), dims=[trial, axis])
    d = dist.GP(dt.gp.Matern32(2.0), trial, at=at, noise=0.3)
    np.testing.assert_allclose(d.logp(values).eval(backend="python"), expected, rtol=1e-10)


def test_missing_observations_leave_the_marginal_density() -> None:
    level = dt.rv("level", dist.Normal(0.0, 1.0))
    process = dist.GP(dt.gp.Matern32(reach), trial, mean=level, noise=0.3)
    seen = np.where(np.arange(6) == 2, np.nan, VALUES)
    fit = dt.Model(dt.rv("y", process), backend="python").observe({"y": seen}, missing="drop")
    there = np.arange(6) != 2
    expected = log_densities(
        VALUES[there], 0.3, mean=np.full(4, 0.5), owners=OWNERS[there], at=TIMES[there]
    )
    np.testing.assert_allclose(fit.logp({"level": 0.5})["y"], expected, rtol=1e-10)


def test_what_has_no_process_for_each_parent_refuses() -> None:
    place = dt.Dim("place", coords=[0.0, 1.0])
    kernel = dt.gp.Matern32(1.0)
    with pytest.raises(dt.RaggedDimError, match="such as HSGP are along a plain dim, and dim 'tri"):
        dist.GP(kernel, trial, approximation=dt.gp.HSGP())
    with pytest.raises(dt.RaggedDimError, match="given covariances are along a plain dim, and dim"):
        dist.GP(dt.eye(trial.flat), trial)
    with pytest.raises(dt.RaggedDimError, match=r"subject are along one ragged dim, not .place"):
        dist.GP(kernel.on(trial) * kernel.on(place), [trial, place])
    with pytest.raises(dt.OptionError, match="labels of trial are not known"):
        dist.GP(kernel, dt.ragged("trial", within=subject))
    with pytest.raises(dt.DimError, match="lacks event dims"):
        dist.GP(kernel, trial).logp(1.0)
