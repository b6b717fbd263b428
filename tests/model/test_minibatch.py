"""Mini-batches: unbiased values and gradients, by all batches that there are."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.stats

import dimtensor as dt
from dimtensor import dist
from tests.backend_names import LONG_JAX

N = 6
RNG = np.random.default_rng(5)
OBS = dt.Dim("obs")
GROUP, K = dt.Dim("group", coords=["a", "b", "c"]), dt.Dim("k", coords=["u", "v"])
X = dt.tensor("x", dims=OBS)
MATRIX = dt.tensor("matrix", dims=[OBS, K])
WHO = dt.tensor("who", dims=OBS, categories=GROUP)
VALUES = {
    "x": RNG.normal(size=N),
    "matrix": (("obs", "k"), RNG.normal(size=(N, 2))),
    "who": np.array(list("abcaab")),
}
Y = RNG.normal(size=N)


def radon(backend: str = "python") -> dt.Model:
    mu, spread = dt.rv("mu", dist.Normal(0, 5)), dt.rv("spread", dist.HalfNormal(1))
    alpha = dt.rv("alpha", dist.Normal(mu, spread), dims=GROUP)
    beta = dt.rv("beta", dist.Normal(0, 2), dims=K)
    sigma = dt.rv("sigma", dist.Exponential(1))
    mean = alpha.sel(group=WHO) + dt.dot(MATRIX, beta, dim=K)
    y = dt.rv("y", dist.Normal(mean, sigma))
    data = {name: VALUES[name] for name in ("matrix", "who")}
    return dt.Model(y, data=data, backend=backend).observe(y=Y)


def standardized() -> dt.Model:
    """The predictor is standardized by all rows, and the position of a row is used."""
    b = dt.rv("b", dist.Normal(0, 1))
    z = (X - X.mean()) / X.std()
    y = dt.rv("y", dist.Normal(b * z + 0.1 * dt.arange(OBS) + z.cumsum(OBS), 1.0))
    return dt.Model(y, data={"x": VALUES["x"]}, backend="python").observe(y=Y)


def mixture() -> dt.Model:
    weights = dt.rv("weights", dist.Dirichlet(dt.ones(K), dim=K))
    center = dt.rv("center", dist.Normal(0, 3), dims=K)
    z = dt.rv("z", dist.Categorical(weights, dim=K), dims=OBS)
    y = dt.rv("y", dist.Normal(center.sel(k=z), 1.0))
    return dt.Model(y, backend="python").observe(y=Y).marginalize(z)


def own_parameters() -> dt.Model:
    """A positive parameter for each row."""
    scale = dt.rv("scale", dist.HalfNormal(1))
    own = dt.rv("own", dist.Exponential(scale), dims=OBS)
    y = dt.rv("y", dist.Normal(X, own))
    return dt.Model(y, data={"x": VALUES["x"]}, backend="python").observe(y=Y)


def missing() -> dt.Model:
    mu = dt.rv("mu", dist.Normal(0, 5))
    y = dt.rv("y", dist.Normal(mu, 1.0), dims=OBS)
    some = np.where(np.arange(N) == 2, np.nan, Y)
    return dt.Model(y, backend="python").observe({y: some}, missing="drop")


def filtered() -> dt.LogDensity:
    """Sums over rows that a mask selects, renamed ones, groups, products of dims, and means."""
    b, theta = dt.scalar("b"), dt.tensor("theta", dims=GROUP)
    x, m, who = (
        dt.data(VALUES[name], name=name, **options)
        for name, options in [
            ("x", {"dims": OBS}),
            ("matrix", {"dims": [OBS, K]}),
            ("who", {"dims": OBS, "categories": GROUP}),
        ]
    )
    raveled = dt.data(RNG.normal(size=2 * N), dims=dt.ProductDim([OBS, K]), name="raveled")
    logp = (
        -((x[x > 0] - b) ** 2).sum()
        - (x.rename(obs="row") * b).mean()
        - (theta * (x * b).groupby(who).sum()).sum()
        - ((m.ravel([K, OBS]) - b) ** 2).sum()
        - ((raveled - b) ** 2).sum()
        - (theta**2).sum()
    )
    return dt.LogDensity(logp, {b: dt.real, theta: dt.real}, backend="python")


DENSITIES = {
    each.__name__: each for each in (radon, standardized, mixture, own_parameters, missing)
} | {"filtered": filtered}


def density_of(name: str) -> dt.LogDensity:
    made: Any = DENSITIES[name]()
    return made if isinstance(made, dt.LogDensity) else made.log_density()


def mean_of(batches: Any, x: np.ndarray, chosen: Any) -> tuple[float, np.ndarray]:
    found = [batches.logp_and_grad(x, batches.take(list(rows))) for rows in chosen]
    return np.mean([value for value, _ in found]), np.mean([g for _, g in found], axis=0)


@pytest.mark.parametrize("name", DENSITIES)
def test_the_mean_over_all_batches_is_the_log_density(name: str):
    density = density_of(name)
    batches = density.minibatch(OBS, size=2, seed=1)
    x = np.random.default_rng(2).normal(size=density.size)
    value, gradient = mean_of(batches, x, itertools.combinations(range(N), 2))
    expected, slope = density.logp_and_grad(x)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(batches.logp(x, batches.whole), expected, rtol=1e-12)


@pytest.mark.parametrize("name", DENSITIES)
def test_the_mean_over_all_batches_in_strata_is_the_log_density(name: str):
    density = density_of(name)
    strata = np.array([0, 1, 1, 0, 1, 1])
    batches = density.minibatch("obs", size=3, seed=1, by=strata)
    x = np.random.default_rng(3).normal(size=density.size)
    each = [itertools.combinations(np.flatnonzero(strata == at), n) for at, n in [(0, 1), (1, 2)]]
    chosen = [[*one, *other] for one, other in itertools.product(*each)]
    value, gradient = mean_of(batches, x, chosen)
    expected, slope = density.logp_and_grad(x)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-12, atol=1e-12)


def test_the_mean_over_all_draws_with_replacement_is_the_log_density():
    density = radon().log_density()
    batches = density.minibatch(OBS, size=2, replace=True)
    x = np.random.default_rng(3).normal(size=density.size)
    value, gradient = mean_of(batches, x, itertools.product(range(N), repeat=2))
    expected, slope = density.logp_and_grad(x)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-12, atol=1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX)
def test_backends_estimate_the_same(backend: str):
    reference = radon().log_density()
    x = np.random.default_rng(4).normal(size=reference.size)
    for by in (None, "who"):
        expected = reference.minibatch(OBS, size=4, seed=1, by=by)
        batches = radon(backend).minibatch(OBS, size=4, seed=1, by=by)
        batch = next(iter(batches))
        value, gradient = batches.logp_and_grad(x, batch)
        wanted, slope = expected.logp_and_grad(x, next(iter(expected)))
        np.testing.assert_allclose(value, wanted, rtol=1e-12)
        np.testing.assert_allclose(gradient, slope, rtol=1e-11)


def test_values_of_a_batch_by_hand():
    """Half of the rows, each of which stands for two; the prior is counted once."""
    mu = dt.rv("mu", dist.Normal(0, 2))
    y = dt.rv("y", dist.Normal(mu, 1.0), dims=OBS)
    batches = dt.Model(y, backend="python").observe({y: Y}).minibatch(OBS, size=3)
    rows = [5, 0, 2]
    norm = scipy.stats.norm
    expected = norm.logpdf(0.3, 0.0, 2.0) + 2 * norm.logpdf(Y[rows], 0.3, 1.0).sum()
    np.testing.assert_allclose(batches.logp([0.3], batches.take(rows)), expected)


# -- streams ---------------------------------------------------------------------------------------


class Slices:
    """Array that is read by slices alone, as stores are."""

    def __init__(self, values: Any):
        self._values, self.shape, self.dtype = values, values.shape, values.dtype

    def __getitem__(self, rows: slice) -> Any:
        assert isinstance(rows, slice)
        return self._values[rows]


def filtered_in_rows(read: Any, backend: str = "python", positive: bool = True) -> dt.LogDensity:
    """Sums over rows that a mask selects, groups, and means, with one column in memory."""
    b, theta = dt.scalar("b"), dt.tensor("theta", dims=GROUP)
    x, m = read(VALUES["x"], dims=OBS, name="x"), read(VALUES["matrix"][1], (OBS, K), name="m")
    who = read(VALUES["who"], dims=OBS, name="who", categories=GROUP)
    y = dt.data(Y, dims=OBS, name="y")
    logp = (
        -(((x[x > 0] if positive else x) - b) ** 2).sum()
        - (x * b + dt.arange(OBS) * b).mean()
        - (theta * (x * b).groupby(who).sum()).sum()
        - ((m * b - y + theta.sel(group=who)) ** 2).sum()
        - (theta**2).sum()
    )
    return dt.LogDensity(logp, {b: dt.real, theta: dt.real}, backend=backend)


def by_rows(values: Any, dims: Any, **options: Any) -> Any:
    return dt.stream(values, dims, chunks=4, **options)


def by_chunk(values: Any, dims: Any, **options: Any) -> Any:
    return dt.stream(Slices(values), dims, chunks=4, **options)


def test_the_mean_over_all_batches_of_a_stream_is_the_log_density():
    x = np.random.default_rng(2).normal(size=4)
    value, gradient = filtered_in_rows(dt.data).logp_and_grad(x)
    batches = filtered_in_rows(by_rows).minibatch(OBS, size=2, seed=1)
    found, slope = mean_of(batches, x, itertools.combinations(range(N), 2))
    np.testing.assert_allclose(found, value, rtol=1e-12)
    np.testing.assert_allclose(slope, gradient, rtol=1e-12, atol=1e-12)
    for chosen in [batches, filtered_in_rows(by_chunk).minibatch(OBS, size=2)]:
        np.testing.assert_allclose(chosen.logp(x, chosen.whole), value, rtol=1e-12)
        np.testing.assert_allclose(chosen.logp(x, chosen.take([5, 4, 3, 2, 1, 0])), value)
    strata = np.array([0, 1, 1, 0, 1, 1])
    in_strata = filtered_in_rows(by_rows).minibatch(OBS, size=3, by=strata)
    each = [itertools.combinations(np.flatnonzero(strata == at), n) for at, n in [(0, 1), (1, 2)]]
    chosen = [[*one, *other] for one, other in itertools.product(*each)]
    found, slope = mean_of(in_strata, x, chosen)
    np.testing.assert_allclose(found, value, rtol=1e-12)
    np.testing.assert_allclose(slope, gradient, rtol=1e-12, atol=1e-12)
    assert next(iter(in_strata)).weight.tolist() == [2.0, 2.0, 2.0]


def test_the_mean_over_all_batches_of_chunks_is_the_log_density():
    """Two chunks, of 4 and of 2 rows: each batch has rows of one of them."""
    x = np.random.default_rng(2).normal(size=4)
    value, gradient = filtered_in_rows(dt.data).logp_and_grad(x)
    batches = filtered_in_rows(by_chunk).minibatch(OBS, size=3, seed=1)
    every = {
        (0, 4): itertools.combinations(range(4), 3),
        (4, 2): itertools.product([4, 5], repeat=3),
    }
    total, slope = 0.0, np.zeros(4)
    for (_, rows), each in every.items():
        made = [batches.take(positions) for positions in each]
        made = [batch._replace(weight=np.asarray(2 * rows / 3)) for batch in made]
        found = [batches.logp_and_grad(x, batch) for batch in made]
        total += np.mean([y for y, _ in found]) / 2
        slope += np.mean([g for _, g in found], axis=0) / 2
    np.testing.assert_allclose(total, value, rtol=1e-12)
    np.testing.assert_allclose(slope, gradient, rtol=1e-12, atol=1e-12)
    drawn = [*itertools.islice(batches, 400)]
    starts = [0 if batch.positions.max() < 4 else 4 for batch in drawn]
    assert starts.count(0) == 200
    assert {(at, b.weight.item()) for at, b in zip(starts, drawn, strict=True)} == {
        (0, 8 / 3), (4, 4 / 3)
    }  # fmt: skip
    for at, batch in zip(starts, drawn, strict=True):
        assert all(at <= row < (4 if at == 0 else 6) for row in batch.positions)
        assert at or len(set(batch.positions)) == 3
        np.testing.assert_array_equal(batch.rows[0], VALUES["x"][batch.positions])
    assert starts[:10] != [0, 4] * 5
    again = [batch.positions for batch in itertools.islice(batches, 20)]
    np.testing.assert_array_equal(again, [batch.positions for batch in drawn[:20]])


def test_batches_of_a_stream_are_random_subsets():
    for replace in (False, True):
        batches = filtered_in_rows(by_rows).minibatch(OBS, size=2, seed=3, replace=replace)
        found = [*itertools.islice(batches, 600)]
        counts = np.bincount(np.concatenate([batch.positions for batch in found]), minlength=N)
        # 200 of each row: binomial, with standard deviation 12
        assert abs(counts - 200).max() < 50
        assert all(batch.weight == 3.0 for batch in found)
        assert all(len(set(batch.positions)) == 2 for batch in found) != replace
        np.testing.assert_array_equal(found[7].rows[0], VALUES["x"][found[7].positions])
        again = pickle.loads(pickle.dumps(batches))
        np.testing.assert_array_equal(next(iter(again)).positions, found[0].positions)


@pytest.mark.parametrize("kind", ["npy", "memmap", "zarr", "parquet"])
def test_models_of_files_have_batches(kind: str, tmp_path: Any):
    rows, mu = np.random.default_rng(0).normal(size=1000), dt.rv("mu", dist.Normal(0, 1))
    if kind == "npy":
        np.save(tmp_path / "y.npy", rows)
        source: Any = tmp_path / "y.npy"
    elif kind == "memmap":
        rows.tofile(tmp_path / "y.raw")
        source = np.memmap(tmp_path / "y.raw", dtype=float)
    elif kind == "zarr":
        zarr = pytest.importorskip("zarr")
        source = zarr.create_array(str(tmp_path / "y"), shape=1000, chunks=(100,), dtype="f8")
        source[:] = rows
    else:
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        source = tmp_path / "y.parquet"
        pq.write_table(pa.table({"y": rows}), source, row_group_size=130)
    column = "y" if kind == "parquet" else None
    y = dt.stream(source, OBS, chunks=200, name="y", column=column)
    model = dt.Model(dt.rv("y", dist.Normal(mu, 1.0), dims=OBS), backend="python").observe(y=y)
    batches = model.minibatch(OBS, size=50, seed=1)
    a_chunk = " rows of a chunk, of 1000 along 'obs'>"
    expected = " of 1000 rows along 'obs'>" if kind in ("npy", "memmap") else a_chunk
    assert repr(batches) == f"<Minibatches of 50{expected}"
    for batch in itertools.islice(batches, 6):
        np.testing.assert_array_equal(batch.rows[0], rows[batch.positions])
        prior, likelihood = scipy.stats.norm.logpdf(0.3), scipy.stats.norm(0.3, 1.0).logpdf
        wanted = prior + 20 * likelihood(rows[batch.positions]).sum()
        np.testing.assert_allclose(batches.logp([0.3], batch), wanted, rtol=1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX)
def test_backends_estimate_the_same_from_streams(backend: str):
    x = np.random.default_rng(4).normal(size=4)
    # the number of rows that a mask selects is none of JAX's lengths
    whole = filtered_in_rows(dt.data, positive=False).minibatch(OBS, size=3)
    batches = filtered_in_rows(by_rows, backend, positive=False).minibatch(OBS, size=3)
    wanted, slope = whole.logp_and_grad(x, whole.take([5, 0, 2]))
    batch = batches.take([5, 0, 2])
    value, gradient = batches.logp_and_grad(x, batch)
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-11)
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        estimate = jax.jit(jax.value_and_grad(batches.to_blackjax()))
        value, gradient = estimate(x, batch)
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-11)


def test_streams_without_batches():
    b, day = dt.scalar("b"), dt.Dim("day")
    y = dt.stream(lambda: iter([Y]), dims=OBS, chunks=2, name="y")
    density = dt.LogDensity({"y": -((y - b) ** 2)}, {b: dt.real}, backend="python")
    with pytest.raises(dt.GraphError, match=r"Python function.*\n  read by a function: .*'y'"):
        density.minibatch(OBS, size=2)
    with pytest.raises(dt.OptionError, match="strata need rows from anywhere"):
        filtered_in_rows(by_chunk).minibatch(OBS, size=3, by=np.arange(N) % 2)
    with pytest.raises(dt.OptionError, match="size=5 is more than the 4 rows of a chunk"):
        filtered_in_rows(by_chunk).minibatch(OBS, size=5)
    with pytest.raises(dt.OptionError, match="size=7 is more than the 6 rows"):
        filtered_in_rows(by_rows).minibatch(OBS, size=7)
    z = dt.data([1.0, 2.0], dims=day, name="z")
    terms = {"y": -((by_rows(Y, OBS, name="y") - b) ** 2), "z": -((z - b) ** 2)}
    density = dt.LogDensity(terms, {b: dt.real}, backend="python")
    with pytest.raises(dt.GraphError, match="data along dim 'obs' are read from streams"):
        density.minibatch(day, size=2)
    long = dt.data(np.zeros(7), dims=OBS, name="z")
    density = dt.LogDensity(-((by_rows(Y, OBS) - long - b) ** 2).sum(), {b: dt.real}, "python")
    with pytest.raises(dt.StreamError, match="7 rows"):
        density.minibatch(OBS, size=2)


# -- which rows ------------------------------------------------------------------------------------


def positions(batches: Any, number: int) -> np.ndarray:
    return np.array([batch.positions for batch in itertools.islice(batches, number)])


def many(length: int = 11, **options: Any) -> Any:
    mu = dt.rv("mu", dist.Normal(0, 2))
    y = dt.rv("y", dist.Normal(mu, 1.0), dims=OBS)
    fit = dt.Model(y, backend="python").observe({y: np.arange(float(length))})
    return fit.minibatch(OBS, **options)


def test_an_epoch_has_each_row_once():
    found = positions(many(10, size=5, seed=3), 20)
    for epoch in found.reshape(10, 10):
        assert sorted(epoch) == list(range(10))
    assert len({tuple(epoch) for epoch in found.reshape(10, 10)}) == 10


def test_rows_that_are_left_are_others_in_each_epoch():
    found = positions(many(11, size=4, seed=3), 600).reshape(300, 8)
    for epoch in found:
        assert len(set(epoch)) == 8
    left = 300 - np.bincount(found.ravel(), minlength=11)
    # 3 of 11 are left of each of 300 epochs: binomial, with standard deviation 7.7
    assert abs(left - 300 * 3 / 11).max() < 4 * 7.7


def test_a_seed_repeats_batches():
    batches = many(size=4, seed=3)
    first = positions(batches, 5)
    np.testing.assert_array_equal(first, positions(batches, 5))
    np.testing.assert_array_equal(first, positions(many(size=4, seed=3), 5))
    np.testing.assert_array_equal(first, positions(pickle.loads(pickle.dumps(batches)), 5))
    assert (first != positions(many(size=4, seed=4), 5)).any()
    none = many(size=4)
    assert (positions(none, 5) != positions(none, 5)).any()


def test_independent_draws_repeat_rows():
    found = positions(many(10, size=25, seed=1, replace=True), 400)
    counts = np.bincount(found.ravel(), minlength=10)
    assert abs(counts - 1000).max() < 4 * 30
    assert all(len(set(rows)) < 25 for rows in found)


@pytest.mark.parametrize("replace", [False, True])
def test_batches_have_rows_of_each_stratum_in_proportion(replace: bool):
    strata = np.repeat([2, 0, 1], [12, 5, 1])
    batches = many(18, size=6, seed=1, by=strata, replace=replace)
    seen = np.zeros(18)
    for batch in itertools.islice(batches, 60):
        of = strata[batch.positions]
        assert np.bincount(of).tolist() == [1, 1, 4] or np.bincount(of).tolist() == [2, 1, 3]
        np.testing.assert_allclose(np.bincount(of, batch.weight), [5, 1, 12])
        seen[batch.positions] += 1
    assert (seen > 0).all()


def test_strata_by_labels():
    batches = radon().minibatch("obs", size=3, seed=1, by=WHO)
    for batch in itertools.islice(batches, 10):
        labels = VALUES["who"][batch.positions]
        assert sorted(labels) == ["a", "b", "c"]
        assert [{"a": 3, "b": 2, "c": 1}[each] for each in labels] == batch.weight.tolist()
    assert repr(batches) == "<Minibatches of 3 of 6 rows along 'obs', in 3 strata>"


# -- new data --------------------------------------------------------------------------------------


def test_other_data():
    fit = radon()
    other = {"matrix": (("obs", "k"), RNG.normal(size=(4, 2))), "who": list("cbab")}
    fit = fit.with_data(other).observe(y=Y[:4])
    density = fit.log_density()
    x = np.random.default_rng(1).normal(size=density.size)
    batches = density.minibatch(OBS, size=1)
    assert batches.length == 4
    value, gradient = mean_of(batches, x, [[at] for at in range(4)])
    expected, slope = density.logp_and_grad(x)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-12, atol=1e-12)


# -- other libraries -------------------------------------------------------------------------------


def conjugate(n: int = 2_000) -> tuple[dt.Model, float, float]:
    """A model with a normal posterior, its mean and its standard deviation."""
    values = np.random.default_rng(1).normal(1.5, 1.0, n)
    mu = dt.rv("mu", dist.Normal(0, 10))
    y = dt.rv("y", dist.Normal(mu, 1.0), dims=OBS)
    fit = dt.Model(y, backend="python").observe({y: values})
    precision = n + 0.01
    return fit, values.sum() / precision, precision**-0.5


@pytest.mark.slow
@pytest.mark.compiled
def test_stochastic_gradient_langevin_dynamics():
    blackjax, jax = pytest.importorskip("blackjax"), pytest.importorskip("jax")
    fit, mean, sd = conjugate()
    batches = fit.minibatch(OBS, size=200, seed=1)
    sgld = blackjax.sgld(jax.grad(batches.to_blackjax()))
    rows = jax.tree.map(lambda *x: np.stack(x), *itertools.islice(batches, 4_000))

    def step(x: Any, given: Any) -> Any:
        key, batch = given
        x = sgld.step(key, x, batch, 2e-5)
        return x, x

    keys = jax.random.split(jax.random.key(1), 4_000)
    _, draws = jax.jit(lambda x: jax.lax.scan(step, x, (keys, rows)))(jax.numpy.ones(1))
    draws = np.asarray(draws[500:])
    # the noise of gradients adds to the variance: as of the stationary distribution of this chain
    assert abs(draws.mean() - mean) < 0.5 * sd
    assert 0.7 * sd < draws.std() < 2.0 * sd


@pytest.mark.slow
@pytest.mark.compiled
def test_variational_inference():
    blackjax, jax = pytest.importorskip("blackjax"), pytest.importorskip("jax")
    optax = pytest.importorskip("optax")
    fit, mean, sd = conjugate()
    batches = fit.minibatch(OBS, size=200, seed=1)
    estimate = batches.to_blackjax()
    optimizer = optax.adam(optax.cosine_decay_schedule(0.1, 1_500, alpha=0.01))
    vi = blackjax.vi.meanfield_vi

    @jax.jit
    def step(key: Any, state: Any, batch: Any) -> Any:
        return vi.step(key, state, lambda x: estimate(x, batch), optimizer, 10)[0]

    state = vi.init(jax.numpy.zeros(1), optimizer)
    keys = jax.random.split(jax.random.key(1), 1_500)
    for key, batch in zip(keys, batches, strict=False):
        state = step(key, state, batch)
    assert abs(float(state.mu[0]) - mean) < sd
    assert 0.7 * sd < float(np.exp(state.rho[0])) < 1.4 * sd


@pytest.mark.compiled
def test_optimization_by_optax():
    jax, optax = pytest.importorskip("jax"), pytest.importorskip("optax")
    fit, mean, sd = conjugate()
    batches = fit.minibatch(OBS, size=200, seed=1)
    estimate = batches.to_blackjax()
    optimizer = optax.adam(optax.cosine_decay_schedule(0.1, 500))

    @jax.jit
    def step(x: Any, state: Any, batch: Any) -> Any:
        updates, state = optimizer.update(jax.grad(lambda x: -estimate(x, batch))(x), state)
        return optax.apply_updates(x, updates), state

    x = jax.numpy.zeros(1)
    state = optimizer.init(x)
    for batch in itertools.islice(batches, 500):
        x, state = step(x, state, batch)
    assert abs(float(x[0]) - mean) < sd


@pytest.mark.compiled
def test_control_variates_are_exact_where_they_are_centered():
    blackjax, jax = pytest.importorskip("blackjax"), pytest.importorskip("jax")
    fit, mean, _ = conjugate(50)
    batches = fit.minibatch(OBS, size=5, seed=1)
    with jax.enable_x64(True):
        gradient = jax.grad(batches.to_blackjax())
        center = jax.numpy.array([mean])
        reduced = blackjax.sgmcmc.gradients.control_variates(gradient, center, batches.whole)
        batch = next(iter(batches))
        # the log density is quadratic: differences of gradients are those of all rows
        np.testing.assert_allclose(reduced(center + 0.1, batch), [-50.01 * 0.1], rtol=1e-9)


# -- errors ----------------------------------------------------------------------------------------


def test_no_rows():
    y, mu = dt.data(np.zeros(0), dims=OBS, name="y"), dt.scalar("mu")
    density = dt.LogDensity({"y": -((y - mu) ** 2)}, {mu: dt.real}, backend="python")
    with pytest.raises(dt.OptionError, match="dim 'obs' has no rows"):
        density.minibatch(OBS, size=1, replace=True)


def test_arguments():
    with pytest.raises(dt.OptionError, match=r"size=12 is more than the 11 rows along dim 'obs'"):
        many(size=12)
    assert len(next(iter(many(size=12, replace=True))).positions) == 12
    with pytest.raises(dt.OptionError, match="size=0 is below 1"):
        many(size=0)
    with pytest.raises(dt.OptionError, match=r"size is an integer, not 2\.5"):
        many(size=2.5)
    with pytest.raises(dt.OptionError, match="seed is an integer"):
        many(size=2, seed="a")
    with pytest.raises(dt.UnknownDimError, match="no dim is named 'row'"):
        radon().minibatch("row", size=2)
    with pytest.raises(dt.OptionError, match="does not depend on dim 'other'"):
        radon().minibatch(dt.Dim("other"), size=2)


def test_strata():
    with pytest.raises(dt.OptionError, match="size=2 is less than the number of strata, 3"):
        radon().minibatch(OBS, size=2, by=WHO)
    with pytest.raises(
        dt.InputError, match=r"no data 'whom' along dim 'obs' \(did you mean 'who'\?"
    ):
        radon().minibatch(OBS, size=3, by="whom")
    with pytest.raises(dt.InputError, match=r"by has shape \(5,\), and dim 'obs' has 6 rows"):
        radon().minibatch(OBS, size=3, by=np.zeros(5))
    pd = pytest.importorskip("pandas")
    with pytest.raises(dt.ArgumentError, match="not Series: its labels"):
        radon().minibatch(OBS, size=3, by=pd.Series(list("abcabc")))
    with pytest.raises(dt.OptionError, match="at least one row of each stratum") as found:
        radon().minibatch(OBS, size=3, by=WHO).take([0, 1])
    assert "strata without: 'c'" in str(found.value)


def test_positions():
    with pytest.raises(dt.PositionError, match="there is no row 11: dim 'obs' has 11"):
        many(size=2).take([3, 11])
    with pytest.raises(dt.InputError, match="integers along one axis"):
        many(size=2).take([0.5])
    with pytest.raises(dt.PositionError, match="there is no row -1"):
        many(size=2).take([-1])


def test_rows_that_are_mixed():
    b = dt.rv("b", dist.Normal(0, 1))
    walk = dt.rv("walk", dist.RandomWalk(dist.Normal(b, 1.0), dim=OBS, start=dist.Normal(0, 1)))
    fit = dt.Model(walk, backend="python").observe({walk: Y})
    with pytest.raises(dt.PartitionError, match="slices of dim 'obs' cannot be computed") as found:
        fit.minibatch(OBS, size=2)
    assert found.value.line is not None


def test_a_density_that_is_no_sum():
    b, x = dt.scalar("b"), dt.data(Y, dims=OBS, name="x")
    density = dt.LogDensity((b * x).max(), {b: dt.real}, backend="python")
    with pytest.raises(dt.GraphError, match="no sum over dim 'obs': it combines rows by maximum"):
        density.minibatch(OBS, size=2)


def test_strata_of_a_density_with_a_derivative():
    b, x = dt.scalar("b"), dt.data(Y, dims=OBS, name="x")
    slope = dt.grad((dt.sin(b) * x).sum(), b)
    density = dt.LogDensity(slope, {b: dt.real}, backend="python")
    batches = density.minibatch(OBS, size=1)
    value, _ = mean_of(batches, np.array([0.3]), [[at] for at in range(N)])
    np.testing.assert_allclose(value, np.cos(0.3) * Y.sum())
    with pytest.raises(dt.GraphError, match="rows cannot have weights, which strata need"):
        density.minibatch(OBS, size=2, by=np.arange(N) % 2)


@pytest.mark.parametrize("name", ["row", "house"])
def test_rows_may_have_any_name(name):
    row, values = dt.Dim(name), np.arange(20.0)
    slope = dt.rv("slope", dist.Normal(0.0, 1.0))
    y = dt.rv("y", dist.Normal(slope * dt.data(values, dims=row), 1.0))
    batches = (
        dt.Model(y, backend="python").observe({y: 2.0 * values}).minibatch(row, size=4, seed=1)
    )
    found = [batches.logp([0.5], batch) for batch, _ in zip(batches, range(5), strict=False)]
    normal = scipy.stats.norm
    expected = normal.logpdf(0.5) + normal.logpdf(2.0 * values, 0.5 * values).sum()
    np.testing.assert_allclose(np.mean(found), expected)
