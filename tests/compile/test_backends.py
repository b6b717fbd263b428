"""The boundary is the same on every backend: results, labels, checks, compilations."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from tests.backend_names import COMPILED

pytestmark = pytest.mark.compiled

K = dt.Dim("k", coords=["a", "b", "c"])
OBS = dt.Dim("obs")
X = dt.tensor("x", dims=OBS)
LABELS = ["p", "q", "r", "s", "t"]
VALUES = xr.DataArray([4.0, 1.0, 3.0, 0.0, 2.0], dims="obs", coords={"obs": LABELS})


@pytest.mark.parametrize("backend", COMPILED)
def test_late_labels_follow_every_selection(backend):
    outputs = {
        "one": X.sel(obs="q"),
        "many": X.sel(obs=["s", "p"]),
        "piece": X.sel(obs=slice("q", "s")),
        "tail": X[1:] * 2,
        "reverse": X[::-1],
        "joined": dt.concat([X[3:], X[:1]], "obs"),
        "best": X.idxmax(),
    }
    f = dt.function([X], outputs, backend=backend)
    for v in (VALUES, VALUES[[4, 1, 3, 0]]):
        if v.size < 5:  # other labels and another length through the same code
            v = v.assign_coords(obs=["s", "q", "p", "r"]).isel(obs=[1, 0, 3, 2])
        expected = {
            "one": v.sel(obs="q", drop=True),
            "many": v.sel(obs=["s", "p"]),
            "piece": v.sel(obs=slice("q", "s")),
            "tail": v[1:] * 2,
            "reverse": v[::-1],
            "joined": xr.concat([v[3:], v[:1]], "obs"),
            "best": v.idxmax(),
        }
        for name, result in f(v).items():
            xr.testing.assert_identical(result, expected[name].rename(name))
            assert result.values.flags.writeable


@pytest.mark.parametrize("backend", COMPILED)
def test_masks_whose_length_follows_from_values(backend):
    mask = dt.tensor("mask", dims=OBS, dtype="bool")
    f = dt.function([X, mask], [X[mask] * 2, X[mask].sum(), X[X > 1], X[mask].max()], backend)
    for keep in ([True, False, True, False, True], [False, False, False, False, True]):
        doubled, total, large, most = f(VALUES, keep)
        kept = VALUES[np.array(keep)]
        xr.testing.assert_identical(doubled, 2 * kept)
        assert (float(total), float(most)) == (float(kept.sum()), float(kept.max()))
        xr.testing.assert_identical(large, VALUES[(VALUES > 1).values])
    with pytest.raises(dt.CheckError, match="max has no value over dim 'obs': it has length 0"):
        f(VALUES, [False] * 5)


@pytest.mark.parametrize("backend", COMPILED)
def test_computed_positions_are_checked(backend):
    a, at = dt.tensor("a", dims=K), dt.tensor("at", dims=OBS, dtype="int64")
    f = dt.function([a, at], a.isel(k=at * 2 - 1), backend)
    assert f([1.0, 2.0, 3.0], [0, 1]).values.tolist() == [3.0, 2.0]
    for wrong in ([2, 0], [-3, 1]):
        with pytest.raises(dt.CheckError, match="positions computed for dim 'k' are outside of"):
            f([1.0, 2.0, 3.0], wrong)
    assert f([1.0, 2.0, 3.0], []).shape == (0,)


@pytest.mark.falls_back  # complex numbers
@pytest.mark.parametrize("backend", COMPILED)
def test_complex_numbers(backend):
    z = dt.tensor("z", dims=K, dtype="complex128")
    result = dt.function([z], z * 1j, backend)([1.0, 2j, 3.0])
    np.testing.assert_array_equal(result, np.array([1j, -2, 3j]))
    assert result.dtype == "complex128"


@pytest.mark.parametrize("backend", COMPILED)
def test_dtypes_scalars_and_lengths_of_nothing(backend):
    single = dt.tensor("single", dims=K, dtype="float32")
    truth = dt.tensor("truth", dims=OBS, dtype="bool")
    count = dt.scalar("count", dtype="int32")
    outputs = [single * 2, ~truth, count + 1, truth.sum(), truth, dt.zeros(OBS)]
    f = dt.function([single, truth, count], outputs, backend)
    for n in (3, 0):
        results = f([1.0, 2.0, 3.0], np.ones(n, bool), 4)
        values = [
            np.array([2, 4, 6], "float32"),
            np.zeros(n, bool),
            np.array(5, "int32"),
            np.array(n, "int64"),
            np.ones(n, bool),
            np.zeros(n),
        ]
        for result, value in zip(results, values, strict=True):
            np.testing.assert_array_equal(result, value)
            assert result.dtype == value.dtype
            assert result.shape == value.shape


@pytest.mark.parametrize("backend", COMPILED)
def test_results_belong_to_the_caller(backend):
    held = dt.data([1.0, 2.0], dims=OBS, name="held")
    f = dt.function([X], [X, X[1:], held, X * 2, (X * 2)[1:]], backend)
    x = np.array([3.0, 4.0])
    for _ in range(2):
        results = f(x)
        assert [r.values.tolist() for r in results] == [[3, 4], [4], [1, 2], [6, 8], [8]]
        for result in results:
            result.values[:] = -1.0
    assert x.tolist() == [3.0, 4.0]


def test_numba_compiles_once_whatever_the_lengths_labels_and_layouts():
    held = dt.data([1.0, 2.0, 3.0, 4.0, 5.0], dims=OBS, name="held")
    w = dt.tensor("w", dims=[OBS, K])
    f = dt.function([X, w], [(X + held)[1:], w.sum() * held.sum(), w.sum(K)], backend="numba")
    table = np.arange(15.0).reshape(5, 3)

    def call(function, n, labels):
        x = np.arange(float(n))
        frozen = x.copy()
        frozen.flags.writeable = False
        coords = {} if labels is None else {"obs": labels}
        for value in (
            x,
            frozen,
            np.repeat(x, 2)[::2],
            xr.DataArray(frozen, dims="obs", coords=coords),
        ):
            for array, dims in ((table[:n], ("obs", "k")), (table[:n].T, ("k", "obs"))):
                held_values = function.positional.fixed[0]
                tail, product, sums = function(value, (dims, array))
                np.testing.assert_allclose(tail, (x + held_values)[1:])
                np.testing.assert_allclose(product, table[:n].sum() * held_values.sum())
                np.testing.assert_allclose(sums, table[:n].sum(1))

    call(f, 5, LABELS)
    call(f, 5, None)
    call(f.with_data(held=np.array([1, 2, 3])), 3, ["u", "v", "w"])
    call(f.with_data(held=[]), 0, [])
    assert len(f._code._compiled) == 1


def test_jax_compiles_for_every_set_of_lengths():
    f = dt.function([X], [X.sum() * dt.length(OBS), dt.arange(OBS) + X], backend="jax")
    plain = f.positional
    for n in (3, 1, 3):
        x = np.arange(float(n))
        assert float(f(x)[0]) == x.sum() * n
        assert float(plain(x)[0]) == x.sum() * n
        np.testing.assert_array_equal(plain(x)[1], 2 * x)


@pytest.mark.slow
def test_jax_keeps_the_flag_of_the_process():
    pytest.importorskip("jax")
    code = """
        import jax, numpy as np
        before = jax.config.jax_enable_x64
        import dimtensor as dt
        x = dt.tensor("x", dims=dt.Dim("k", length=3))
        f = dt.function([x], [dt.exp(x), x.sum(), x[x > 1]], backend="jax")
        results = f(np.array([1.0, 2.0, 1e-17]))
        assert all(r.dtype == "float64" for r in results), results
        np.testing.assert_allclose(results[0], np.exp([1.0, 2.0, 1e-17]), rtol=1e-15)
        assert jax.config.jax_enable_x64 == before == False
        assert jax.numpy.ones(3).dtype == "float32"
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("backend", COMPILED)
def test_threads_may_share_a_function_that_is_not_compiled_yet(backend):
    f = dt.function([X], [(X * 7.25).sum(), X[1:]], backend)

    def call(n: int) -> bool:
        x = xr.DataArray(np.arange(float(n)), dims="obs", coords={"obs": np.arange(n) + n})
        total, tail = f(x)
        return float(total) == float(x.sum()) * 7.25 and tail.identical(x[1:])

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call, [3, 4, 3, 4] * 10))


@pytest.mark.parametrize("backend", COMPILED)
def test_batches_and_pickled_functions(backend):
    a = dt.tensor("a", dims=K)
    f = dt.function([a, X], dt.grad((a.sel(k="b") * X**2).sum(), X), backend)
    draws = xr.DataArray(
        np.arange(6.0).reshape(2, 3), dims=["draw", "k"], coords={"k": ["c", "a", "b"]}
    )
    expected = (2 * draws.sel(k="b", drop=True) * VALUES).transpose("draw", "obs")
    xr.testing.assert_allclose(f(draws, VALUES), expected)
    again = pickle.loads(pickle.dumps(f))
    xr.testing.assert_allclose(again(draws[1], VALUES), expected[1])
