"""Compiled functions of arrays in chunks: results are lazy, and equal those of arrays in memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

OBS, K = dt.Dim("obs"), dt.Dim("k", coords=["a", "b", "c"])
X, Y = dt.tensor("x", dims=OBS), dt.tensor("y", dims=OBS)
M, MU = dt.tensor("m", dims=[OBS, K]), dt.tensor("mu", dims=K)
RNG = np.random.default_rng(0)
LABELS = np.arange(50) * 2
x = xr.DataArray(RNG.normal(size=50), dims="obs", coords={"obs": LABELS}, name="x")
y = xr.DataArray(RNG.normal(size=50), dims="obs", coords={"obs": LABELS})
m = xr.DataArray(RNG.normal(size=(3, 50)), [("k", ["b", "a", "c"]), ("obs", LABELS)])
mu = xr.DataArray([1.0, 2.0, 3.0], [("k", ["a", "b", "c"])])


def lazily(f: Callable[..., Any], *values: Any, **named: Any) -> Any:
    """Call a function while dask refuses to compute."""

    def refuse(*args: Any, **options: Any) -> None:
        raise AssertionError("computed while the graph is built")

    with dask.config.set(scheduler=refuse):
        return f(*values, **named)


def computed(result: xr.DataArray) -> xr.DataArray:
    assert isinstance(result.data, da.Array)
    found = result.compute(scheduler="synchronous")
    assert found.dtype == result.dtype
    assert found.shape == result.shape
    return found


def check(result: xr.DataArray, wanted: xr.DataArray) -> None:
    found = computed(result)
    assert found.dtype == wanted.dtype
    wanted = wanted.transpose(*found.dims).reindex_like(found)
    xr.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert set(found.coords) == set(wanted.coords)


RESULTS = {
    "residual": (X - (M * MU).sum(K), x - (m * mu).sum("k")),
    "sum": (3 - 2 * (X**2).sum() + MU.sum(), 3 - 2 * (x**2).sum() + mu.sum()),
    "mean": (M.mean(), m.mean()),
    "largest": (M.max(), m.max()),
    "columns": (M.sum(OBS), m.sum("obs")),
    "logsumexp": (X.logsumexp(), xr.DataArray(np.logaddexp.reduce(x.values))),
    "parameters": (MU * 2, mu * 2),
    "positions": (dt.arange(OBS) * X, xr.DataArray(np.arange(50), dims="obs") * x),
    "gradient": (
        dt.grad(-((X - (M * MU).sum(K)) ** 2).sum(), MU),
        2 * ((x - (m * mu).sum("k")) * m).sum("obs"),
    ),
}


def test_results_in_chunks_equal_those_of_arrays():
    f = dt.function([X, M, MU], {name: of for name, (of, _) in RESULTS.items()}, "python")
    found = lazily(f, x.chunk(obs=7), m.chunk(obs=9), mu)
    for name, (_, wanted) in RESULTS.items():
        check(found[name], wanted)
        assert found[name].name == name
    assert found["residual"].chunks == ((7, 2, 5, 4, 3, 6, 1, 7, 1, 6, 3, 4, 1),)
    assert found["sum"].chunks == ()


def test_arrays_of_one_chunk_are_lazy_too():
    f = dt.function([X, MU], [X.cumsum(OBS), MU.sum()], "python")
    running, total = lazily(f, x.chunk(obs=-1), mu.chunk())
    check(running, x.cumsum("obs"))
    check(total, mu.sum())


def test_several_dims_in_chunks():
    u, v = dt.Dim("u"), dt.Dim("v")
    a, b, c = dt.tensor("a", dims=[u, v]), dt.tensor("b", dims=v), dt.tensor("c", dims=u)
    outputs = [
        1 - (a * b + c).sum(),
        dt.dot(a, b, dim=v) + c,
        a.max(),
        (a * b * c).sum(u) + b,
        a.mean() + c.sum(),
    ]
    f = dt.function([a, b, c], outputs, "python")
    va = xr.DataArray(RNG.normal(size=(11, 8)), dims=["u", "v"])
    vb, vc = va[0].copy(), va[:, 0].copy()
    wanted = [
        1 - (va * vb + vc).sum(),
        (va * vb).sum("v") + vc,
        va.max(),
        (va * vb * vc).sum("u") + vb,
        va.mean() + vc.sum(),
    ]
    found = lazily(f, va.chunk(u=4, v=3), vb.chunk(v=2), vc.chunk(u=5))
    for one, other in zip(found, wanted, strict=True):
        check(one, other)
    assert found[1].chunks == ((4, 1, 3, 2, 1),)


def test_an_operation_that_mixes_positions_needs_one_chunk():
    f = dt.function([X, Y], X.cumsum(OBS) - X.mean() + Y, "python")
    with pytest.raises(dt.PartitionError, match="proceeds from one position to the n") as caught:
        lazily(f, x.chunk(obs=20), y.chunk(obs=30))
    assert "x = x.chunk(obs=-1); y = y.chunk(obs=-1)" in str(caught.value)
    check(f(x.chunk(obs=-1), y.chunk(obs=-1)), x.cumsum("obs") - x.mean() + y)


def test_additional_dims_batch_the_call():
    f = dt.function([X, MU], [(X * MU).sum(OBS), X.cumsum(OBS)], "python")
    draws = xr.DataArray(RNG.normal(size=(5, 50)), dims=["draw", "obs"])
    found = lazily(f, draws.chunk(draw=2, obs=-1), mu)
    check(found[0], draws.sum("obs") * mu)
    check(found[1], draws.cumsum("obs"))
    assert found[1].chunks == ((2, 2, 1), (50,))
    f = dt.function([X, MU], (X * MU).sum(OBS), "python")
    check(lazily(f, draws.chunk(draw=2, obs=20), mu), draws.sum("obs") * mu)


def test_labels_in_another_order_are_aligned():
    f = dt.function([X, M], (X * M).sum(K), "python")
    mixed = m.isel(obs=np.roll(np.arange(50)[::-1], 7))
    fixed = dt.Dim("obs", coords=LABELS)
    wanted = (x * m).sum("k")
    t = dt.tensor("x", dims=fixed)
    g = dt.function([t], dt.arange(fixed) * t, "python")
    check(lazily(g, x[::-1].chunk(obs=9)), np.arange(50) * x)
    with pytest.raises(dt.LabelError, match="inputs disagree about the labels of dim 'obs'"):
        lazily(f, x.chunk(obs=9), mixed.chunk(obs=11))
    check(lazily(f, x.chunk(obs=9), m.chunk(obs=11)), wanted)
    with pytest.raises(dt.LabelError, match="does not have the labels of dim 'obs'"):
        lazily(g, x.assign_coords(obs=LABELS + 1).chunk(obs=9))
    with pytest.raises(dt.DimError, match="disagree about the length"):
        lazily(dt.function([X, Y], X + Y, "python"), x.values, y[:40].chunk(obs=9))


def test_look_ups_by_label():
    who = dt.tensor("who", dims=OBS, categories=K)
    names = RNG.choice(["a", "b", "c"], 50)
    f = dt.function([X, MU, who], [X * MU.sel(k=who), X.groupby(who).sum(), who], "python")
    value = xr.DataArray(names, dims="obs")
    found = lazily(f, x.chunk(obs=8), mu, value.chunk(obs=8))
    at = np.searchsorted(["a", "b", "c"], names)
    check(found[0], x * mu.values[at])
    check(found[1], xr.DataArray(np.bincount(at, x, 3), [("k", ["a", "b", "c"])]))
    assert computed(found[2]).values.tolist() == names.tolist()
    unknown = value.where(value != "b", "d").chunk(obs=8)
    with pytest.raises(dt.LabelError, match="input 'who'"):
        computed(lazily(f, x.chunk(obs=8), mu, unknown)[0])


def test_data_of_the_function_are_cut_with_the_values():
    held = RNG.normal(size=50)
    data = dt.data(held, dims=OBS, name="held")
    groups = dt.data(RNG.choice(["a", "b", "c"], 50), dims=OBS, categories=K, name="groups")
    z = (data - data.mean()) / data.std()
    f = dt.function([X, MU], [(X * z).sum(), X + z, (MU.sel(k=groups) * X).sum()], "python")

    def wanted(held: np.ndarray) -> list[xr.DataArray]:
        z = (held - held.mean()) / held.std()
        where = np.searchsorted(["a", "b", "c"], groups.values)
        return [(x * z).sum(), x + z, (x * mu.values[where]).sum()]

    for one, other in zip(lazily(f, x.chunk(obs=8), mu), wanted(held), strict=True):
        check(one, other)
    again = f.with_data(held=held**2)
    for one, other in zip(lazily(again, x.chunk(obs=8), mu), wanted(held**2), strict=True):
        check(one, other)


def test_pairs_arrays_and_datasets():
    f = dt.function([X, MU], X * MU.sum(), "python")
    whole = x.drop_vars("obs") * 6
    check(lazily(f, da.from_array(x.values, chunks=9), mu), whole)
    check(lazily(f, ("obs", da.from_array(x.values, chunks=9)), mu), whole)
    check(lazily(f, x=x.chunk(obs=9), mu=[1.0, 2.0, 3.0]), x * 6)
    dataset = xr.Dataset({"x": x, "mu": mu}).chunk(obs=9)
    check(lazily(f, dataset), x * 6)


def test_dtypes_are_checked_when_the_graph_is_built():
    n = dt.tensor("n", dims=OBS, dtype="int64")
    f = dt.function([n], [n.sum(), n > 3], "python")
    counts = xr.DataArray(np.arange(50, dtype="int32"), dims="obs")
    found = lazily(f, counts.chunk(obs=9))
    check(found[0], counts.sum())
    check(found[1], counts > 3)
    with pytest.raises(dt.DtypeError, match="has values of float64, the tensor has dtype int64"):
        lazily(f, x.chunk(obs=9))


def test_dims_of_known_length_and_renamed_dims():
    fixed = dt.Dim("obs", length=50)
    t = dt.tensor("x", dims=fixed)
    plain = x.drop_vars("obs")
    f = dt.function([t], [t.mean(), t.rename(obs="row") * 2], "python")
    found = lazily(f, plain.chunk(obs=9))
    check(found[0], plain.mean())
    check(found[1], 2 * plain.rename(obs="row"))
    assert found[1].chunks == ((9, 9, 9, 9, 9, 5),)


def test_positions_in_another_order_need_one_chunk():
    f = dt.function([M], M.ravel([K, OBS]), "python")
    with pytest.raises(dt.PartitionError, match="do not make up an array"):
        lazily(f, m.chunk(obs=9))
    masked = dt.function([X], X[X > 0], "python")
    with pytest.raises(dt.InputError, match="length depends on values"):
        lazily(masked, x.chunk(obs=9))


def test_empty_chunks_have_no_share():
    f = dt.function([X], [X.max(), X.sum(), 2 * X], "python")
    array = da.concatenate(
        [da.from_array(x.values[:20]), da.zeros(0), da.from_array(x.values[20:])]
    )
    found = lazily(f, array)
    plain = x.drop_vars("obs")
    for one, other in zip(found, [plain.max(), plain.sum(), 2 * plain], strict=True):
        check(one, other)
    with pytest.raises(dt.InputError, match="chunks of unknown lengths"):
        lazily(f, array[array > 0])


def test_shares_are_added_in_a_tree_of_the_chunks():
    f = dt.function([X], (X * X).sum(), "python")
    many = RNG.normal(size=400) * 10.0 ** RNG.integers(-8, 8, 400)
    shares = [np.sum(part * part) for part in many.reshape(100, 4)]
    while len(shares) > 1:
        shares = [sum(shares[at : at + 2]) for at in range(0, len(shares), 2)]
    found = f(da.from_array(many, chunks=4))
    assert computed(found).item() == shares[0]
    assert found.compute(scheduler="threads").item() == shares[0]


def test_evaluation_is_chunk_by_chunk_where_it_can_be():
    for of in (X.sum() * 2, X - M, X[X > 0], X.cumsum(OBS), [X.max(), M * X], {"a": X.mean()}):
        names = [tensor.name for tensor in dt.inputs_of(of)]
        wanted = dt.evaluate(of, {name: {"x": x, "m": m}[name] for name in names})
        parts = {"x": x.chunk(obs=9), "m": m.chunk(obs=20)}
        found = dt.evaluate(of, {name: parts[name] for name in names})
        for one, other in zip(*map(_flat, (found, wanted)), strict=True):
            assert isinstance(one.variable._data, np.ndarray)
            xr.testing.assert_allclose(one, other, rtol=1e-12)
            assert one.name == other.name
    with pytest.raises(dt.InputError, match="lacks dim 'obs'"):
        (X + 1).eval({"x": m.chunk(obs=9).isel(k=0).rename(obs="other")})


def _flat(found: Any) -> list[xr.DataArray]:
    if isinstance(found, dict):
        return [*found.values()]
    return found if isinstance(found, list) else [found]


def test_evaluation_does_not_hold_all_chunks():
    rows, count = 20_000, 30
    made = da.map_blocks(lambda block_info: np.ones(rows), chunks=((rows,) * count,), dtype=float)
    ((X - 1.0) ** 2).sum().eval({"x": made})  # compiles
    tracemalloc.start()
    with dask.config.set(scheduler="synchronous"):
        assert ((X - 3.0) ** 2).sum().eval({"x": made}).item() == 4.0 * rows * count
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * rows * count / 2


def test_predictions_of_draws_in_chunks_are_those_of_draws_in_memory():
    mu = dt.rv("mu", dt.dist.Normal(0.0, 1.0))
    y = dt.rv("y", dt.dist.Normal(dt.named("twice", mu * 2.0), 1.0), dims=OBS)
    fit = dt.Model(y, backend="python").observe(y=np.arange(5.0))
    draws = xr.Dataset({"mu": (("chain", "draw"), RNG.normal(size=(2, 9)))})
    whole, parts = (fit.predict(each, seed=1) for each in (draws, draws.chunk(draw=4)))
    xr.testing.assert_identical(
        whole["posterior_predictive"]["y"], parts["posterior_predictive"]["y"]
    )
    assert isinstance(parts["posterior_predictive"]["y"].variable._data, np.ndarray)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", ["native", "jax"])
def test_compiled_functions_in_chunks(backend: str):
    logp = -((X - (M * MU).sum(K)) ** 2).sum()
    f = dt.function([X, M, MU], [logp, dt.grad(logp, MU)], backend)
    found = lazily(f, x.chunk(obs=20), m.chunk(obs=20), mu)
    residual = x - (m * mu).sum("k")
    check(found[0], -(residual**2).sum())
    check(found[1], 2 * (residual * m).sum("obs"))


def test_streams_as_values_are_read_chunk_by_chunk(tmp_path):
    """Sums are combined, results of each row stay in chunks, and labels are looked up."""
    code = RNG.integers(0, 3, 50)
    np.save(tmp_path / "x.npy", x.values)
    np.save(tmp_path / "of.npy", np.array(["a", "b", "c"])[code])
    of = dt.tensor("of", dims=OBS, categories=K)
    loss = ((X - MU.sel(k=of)) ** 2).sum()
    outputs = {"loss": loss, "slope": dt.grad(loss, MU), "rest": X - MU.sel(k=of)}
    f = dt.function([X, of, MU], outputs, backend="python")
    rows = dt.stream(tmp_path / "x.npy", dims=OBS, chunks=20)
    labels = dt.stream(tmp_path / "of.npy", dims=OBS, chunks=20, categories=K)
    found = lazily(f, rows, labels, mu)
    expected = f(x.values, np.array(["a", "b", "c"])[code], mu)
    for name, result in found.items():
        np.testing.assert_allclose(computed(result), expected[name].values, rtol=1e-12)
    assert found["rest"].chunks == ((20, 20, 10),)
    assert loss.eval({X: rows, of: labels, MU: mu}) == pytest.approx(float(expected["loss"]))
    np.save(tmp_path / "of.npy", np.array(["a", "b", "z"])[code])
    with pytest.raises(dt.LabelError, match="'of': dim 'k' has no label 'z'"):
        f(rows, labels, mu)["loss"].compute()


def test_streams_as_values_are_never_loaded():
    rows = dt.stream(x.values, dims=OBS, chunks=20)
    with pytest.raises(dt.PartitionError, match="slices of dim 'obs' cannot be computed sep"):
        X.cumsum(OBS).eval({X: rows})
    own = dt.stream(lambda: iter([x.values]), dims=OBS)
    with pytest.raises(dt.StreamError, match=r"read from its first row .*\nhint: log densities"):
        X.sum().eval({X: own})
    empty = dt.stream(np.zeros(0), dims=OBS)
    assert X.sum().eval({X: empty}).item() == 0.0


KIND = dt.tensor("kind", dims=OBS, categories=K)
kinds = xr.DataArray(np.array(["a", "b"])[np.arange(50) % 2], dims="obs", coords={"obs": LABELS})
of_kind = x.groupby(kinds.rename("k")).mean().reindex(k=["a", "b", "c"])
AFTER = {
    "means by group": (X.groupby(KIND).mean(), of_kind),
    "differences of means": (MU - X.groupby(KIND).mean(), mu - of_kind),
    "function of a sum": (dt.exp(X.mean()) * Y, np.exp(x.mean()) * y),
    "range": (X.max() - X.min(), x.max() - x.min()),
    "standardized": ((X - X.mean()) / X.std(), (x - x.mean()) / x.std()),
    "rows less their mean": (M - M.mean(OBS) * Y, m - m.mean("obs") * y),
    "share of a group": (
        X / X.groupby(KIND).sum().sel(k=KIND),
        x / x.groupby(kinds.rename("k")).sum().sel(k=kinds).drop_vars("k"),
    ),
}


@pytest.mark.parametrize("name", AFTER)
def test_functions_of_combined_values_are_computed_from_them(name):
    result, wanted = AFTER[name]
    outputs = {"after": result, "each": X * 2, "sum": X.sum()}
    f = dt.function([X, KIND, MU, Y, M], outputs, "python")
    found = lazily(f, x.chunk(obs=20), kinds.chunk(obs=15), mu, y, m)
    check(found["after"], wanted)
    check(found["each"], x * 2)
    check(found["sum"], x.sum())
    assert found["each"].chunks == ((15, 5, 10, 10, 5, 5),)
    point = {"x": x.chunk(obs=20), "kind": kinds.chunk(obs=15), "mu": mu, "y": y, "m": m}
    used = {each.name: point[each.name] for each in dt.inputs_of(result)}
    found = result.eval(used)
    same = wanted.transpose(*found.dims).reindex_like(found)
    np.testing.assert_allclose(found, same, rtol=1e-12)


def spread(values: np.ndarray, by: np.ndarray, ddof: int, skipna: bool) -> pd.Series:
    """The variance of each group by pandas, which always leaves out NaN."""
    groups = pd.Series(values).groupby(by)
    found = groups.var(ddof=ddof)
    found = found if skipna else found.where(groups.count() == groups.size())
    return found.reindex(["a", "b", "c"])


@pytest.mark.parametrize("seed", range(16))
def test_variances_by_group_of_any_chunks(seed):
    rng = np.random.default_rng(seed)
    n, ddof, skipna = int(rng.integers(0, 30)), seed % 2, seed % 4 < 2
    cuts = np.sort(rng.integers(0, n + 1, size=seed % 8))  # 1 to 8 chunks, empty ones among them
    chunks = tuple(np.diff([0, *cuts, n]).tolist())
    values = np.where(rng.random(n) < 0.1, np.nan, rng.normal(1e3, 1.0, n))
    by = np.array(["a", "b"])[rng.integers(0, 2, n)]  # nothing is in the group c
    groups = X.groupby(KIND)
    outputs = {
        "var": groups.var(ddof=ddof, skipna=skipna), "std": groups.std(ddof=ddof, skipna=skipna),
        "all": X.var(ddof=ddof, skipna=skipna),
        "z": (X - groups.mean(skipna=True).sel(k=KIND)) / groups.std(skipna=True).sel(k=KIND),
    }  # fmt: skip
    f = dt.function([X, KIND], outputs, "python")
    rows = [
        xr.DataArray(da.from_array(each, chunks=(chunks,)), dims="obs") for each in (values, by)
    ]
    found = {name: computed(each) for name, each in lazily(f, *rows).items()}
    wanted = spread(values, by, ddof, skipna)
    np.testing.assert_allclose(found["var"], wanted, rtol=1e-9)
    np.testing.assert_allclose(found["std"], np.sqrt(wanted), rtol=1e-9)
    whole = xr.DataArray(values).var(ddof=ddof, skipna=skipna)
    np.testing.assert_allclose(found["all"], whole, rtol=1e-9)
    grouped = pd.Series(values).groupby(by)
    z = (values - grouped.transform("mean")) / grouped.transform("std", ddof=0) if n else values
    np.testing.assert_allclose(found["z"], z, rtol=1e-6, atol=1e-9)


def test_gradients_of_functions_of_combined_values():
    theta = dt.scalar("theta")
    loss = dt.log((dt.exp(theta * X)).sum()) + (theta * X**2).groupby(KIND).std().sel(k="a")
    loss += ((theta * X - (theta**2 * X).mean()) ** 2).mean()
    f = dt.function([X, KIND, theta], dt.grad(loss, [X, theta]), "python")
    found = [computed(each) for each in lazily(f, x.chunk(obs=20), kinds.chunk(obs=15), 0.7)]
    rows, first = x.values, kinds.values == "a"

    def value(rows: np.ndarray, t: float) -> float:
        one = np.log(np.exp(t * rows).sum()) + np.std(t * rows[first] ** 2)
        return one + np.mean((t * rows - np.mean(t**2 * rows)) ** 2)

    step = 1e-6
    each = [
        (value(rows + e, 0.7) - value(rows - e, 0.7)) / (2 * step) for e in step * np.eye(50)[:9]
    ]
    np.testing.assert_allclose(found[0][:9], each, rtol=1e-6, atol=1e-8)
    slope = (value(rows, 0.7 + step) - value(rows, 0.7 - step)) / (2 * step)
    np.testing.assert_allclose(found[1], slope, rtol=1e-7)


def test_means_by_group_of_draws():
    f = dt.function([X, KIND], X.groupby(KIND).mean(), "python")
    draws = xr.DataArray(RNG.normal(size=(5, 50)), dims=["draw", "obs"])
    found = lazily(f, draws.chunk(draw=2, obs=20), kinds.chunk(obs=25))
    wanted = draws.groupby(kinds.drop_vars("obs").rename("k")).mean().reindex(k=["a", "b", "c"])
    check(found, wanted)
    streamed = f(dt.stream(x.values, OBS, 20), dt.stream(kinds.values, OBS, 20, categories=K))
    np.testing.assert_allclose(computed(streamed), of_kind)
    variances = dt.function([X, KIND], X.groupby(KIND).var(), "python")
    rows = dt.stream(x.values, OBS, 20), dt.stream(kinds.values, OBS, 20, categories=K)
    of_rows = x.groupby(kinds.rename("k")).var().reindex(k=["a", "b", "c"])
    np.testing.assert_allclose(computed(variances(*rows)), of_rows, rtol=1e-12)
