"""Rows of the distribution table on numba and JAX, in few functions of many outputs.

What the python backend computes is compared with SciPy in test_rows.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist
from dimtensor.dist.table import Missing, Row
from tests.dist.test_rows import given_of, inputs_of, make, points_of

pytestmark = pytest.mark.compiled

GROUP = 14
ROWS = list(dist.TABLE.values())
GROUPS = [ROWS[start : start + GROUP] for start in range(0, len(ROWS), GROUP)]


@pytest.mark.parametrize("backend", ["numba", "jax"])
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: f"{group[0].name} to {group[-1].name}")
def test_values_and_gradients(group: list[Row], backend: str):
    outputs, given, names = [], {}, []
    for row in group:
        case = dt.Dim(f"cases of {row.name}")
        point = dt.Dim(f"points of {row.name}")
        inputs = {
            name: dt.tensor(f"{row.name}_{name}", dims=case, dtype=tensor.dtype)
            for name, tensor in inputs_of(row).items()
        }
        x = dt.tensor(f"{row.name}_x", dims=[case, point])
        d = make(row, inputs)
        floats = [tensor for tensor in inputs.values() if tensor.dtype == "float64"]
        found = {"logp": d.logp(x)}
        inside = dt.where(d.support.contains(x), found["logp"], 0.0)
        finite = dt.where(dt.isfinite(inside), inside, 0.0).sum()
        wrt = floats if row.discrete else [x, *floats]
        for tensor, gradient in zip(wrt, dt.grad(finite, wrt), strict=True):
            found[f"gradient in {tensor.name}"] = gradient
        if not isinstance(row.logcdf, Missing):
            found["logcdf"] = d.logcdf(x)
        outputs += found.values()
        names += [f"{what} of {row.name}" for what in found]
        given[x] = ([case.name, point.name], points_of(row))
        for name, value in given_of(row).items():
            given[inputs[name]] = ([case.name], value)
    fast = dt.function(list(given), outputs, backend=backend)(*given.values())
    slow = dt.function(list(given), outputs, backend="python")(*given.values())
    for name, one, other in zip(names, fast, slow, strict=True):
        np.testing.assert_allclose(
            one.transpose(*other.dims).values, other.values, rtol=1e-8, atol=1e-9, err_msg=name
        )
