"""The batching law: a call with more dims in its inputs is a loop of calls without them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from tests.backend_names import COMPILED

K = dt.Dim("k", coords=["a", "b", "c"])
OBS, AT = dt.Dim("obs"), dt.Dim("at")
A, X, V = dt.tensor("a", dims=K), dt.tensor("x", dims=OBS), dt.tensor("v", dims=AT)
C = dt.tensor("c", dims=AT, categories=K)
GROUP = dt.data(["a", "c", "a", "b"], dims=OBS, categories=K)

EXPRESSIONS = {
    "look-up": A.sel(k=GROUP) * X,
    "look-up by an input": A.sel(k=C) * V,
    "set": X.isel(obs=1).set(A.sum()),
    "set one": A.sel(k=C).set(1.0),
    "inc": A.sel(k=GROUP).inc(X),
    "inc by an input": A.sel(k=C).inc(V),
    "groupby sum": X.groupby(GROUP).sum(),
    "groupby std": X.groupby(GROUP).std(),
    "groupby max": X.groupby(GROUP).max(),
    "late label": X.sel(obs="q") * A,
    "late labels": X.sel(obs=["q", "p"]),
    "late slice": X.sel(obs=slice("q", None)),
    "argmax": X.argmax(),
    "sort": X.sort("obs"),
    "cumsum": X.cumsum("obs"),
    "quantile": X.quantile([0.2, 0.5]),
    "logsumexp": X.logsumexp("obs"),
    "softmax": X.softmax("obs"),
    "concat": dt.concat([X[:2], X], "obs"),
    "stack": dt.stack([X.sum(), A.sum()], "which"),
    "diff": X.diff("obs"),
    "shift": X.shift(obs=1),
    "roll": X.roll(obs=1),
    "pad": X.pad(obs=1),
    "ravel": (A * X).ravel(),
    "unravel": (A * X).ravel().unravel(),
    "rename": A.rename_dim("k") * A,
    "reindex": A.reindex(k=["c", "zz"], fill_value=0.0),
    "dot": dt.dot(A, A.sel(k=GROUP), X, dim=[K, OBS]),
    "full": dt.full(K, A.sum()),
    "gradient": dt.grad((A.sel(k=GROUP) * X**2).sum(), A),
    "gradient of an update": dt.grad((A.sel(k=GROUP).inc(X) ** 2).sum(), X),
    "jacobian": dt.jacobian(A**2 * X.sum(), A),
    "hessian": dt.hessian((A**3).sum() * X.sum(), A),
    "jvp": dt.jvp(A**2, A, A),
    "vjp": dt.vjp(A**2, A, A * 2),
}


def values(rng: np.random.Generator) -> dict[dt.DimTensor, xr.DataArray]:
    def batch(array, dim, **coords):
        return xr.DataArray(array, dims=["draw", dim], coords={"draw": [5, 6], **coords})

    return {
        A: batch(rng.normal(size=(2, 3)), "k", k=["a", "b", "c"]),
        X: batch(rng.normal(size=(2, 4)), "obs", obs=["p", "q", "r", "s"]),
        V: batch(rng.normal(size=(2, 3)), "at"),
        C: batch(np.array([["a", "b", "a"], ["c", "c", "b"]]), "at"),
    }


def check_law(name: str, backend: str, rng: np.random.Generator) -> None:
    expression = EXPRESSIONS[name]
    inputs = dt.inputs_of(expression)
    f = dt.function(inputs, expression, backend)
    batched = values(rng)
    for with_draws in product([True, False], repeat=len(inputs)):
        if not any(with_draws):
            continue

        def arguments(draw, with_draws=with_draws):
            return [
                batched[x][draw if many else 0].drop_vars("draw", errors="ignore")
                for x, many in zip(inputs, with_draws, strict=True)
            ]

        full = [
            batched[x] if many else batched[x][0].drop_vars("draw")
            for x, many in zip(inputs, with_draws, strict=True)
        ]
        result = f(*full)
        looped = [f(*arguments(draw)) for draw in range(2)]
        if "draw" not in result.dims:  # it does not depend on what is batched
            xr.testing.assert_allclose(looped[0], looped[1])
            looped = [looped[0]]
            result = result.expand_dims("draw")
        else:
            result = result.drop_vars("draw")
        expected = xr.concat(looped, "draw")
        xr.testing.assert_allclose(result, expected.transpose(*result.dims))
        assert set(result.coords) == set(expected.coords)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_batched_call_is_a_loop_of_calls(name, rng):
    check_law(name, "python", rng)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", COMPILED)
@pytest.mark.parametrize("name", ["inc by an input", "gradient of an update"])
def test_a_batched_call_is_a_loop_of_calls_when_compiled(name, backend, rng):
    check_law(name, backend, rng)
