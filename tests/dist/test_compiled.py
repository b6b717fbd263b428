"""Rows of the distribution table on numba and JAX, in few functions of many outputs.

What the python backend computes is compared with SciPy in test_rows.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist
from dimtensor.dist.table import Missing, Row
from tests.backend_names import COMPILED
from tests.dist.test_rows import given_of, inputs_of, make, points_of

pytestmark = pytest.mark.compiled

GROUP = 14
ROWS = list(dist.TABLE.values())
GROUPS = [ROWS[start : start + GROUP] for start in range(0, len(ROWS), GROUP)]


def _case(backend: str, group: list[Row]) -> Any:
    """A row takes a second to compile: most of them are left to the long tests."""
    late = backend == "jax" or not any(group is each for each in (GROUPS[0], GROUPS[-1]))
    name = f"{backend}, {group[0].name} to {group[-1].name}"
    return pytest.param(backend, group, marks=[pytest.mark.slow] if late else [], id=name)


groups = pytest.mark.parametrize(
    ("backend", "group"),
    [_case(backend.values[0], group) for backend in COMPILED for group in GROUPS],
)
Given = dict[dt.DimTensor, tuple[list[str], np.ndarray]]


def case_of(row: Row) -> tuple[dist.Distribution, dt.DimTensor, list[dt.DimTensor], Given]:
    """A distribution, a value, the parameters that have derivatives, and numbers for all inputs."""
    case, point = dt.Dim(f"cases of {row.name}"), dt.Dim(f"points of {row.name}")
    inputs = {
        name: dt.tensor(f"{row.name}_{name}", dims=case, dtype=tensor.dtype)
        for name, tensor in inputs_of(row).items()
    }
    x = dt.tensor(f"{row.name}_x", dims=[case, point])
    given: Given = {x: ([case.name, point.name], points_of(row))}
    for name, value in given_of(row).items():
        given[inputs[name]] = ([case.name], value)
    floats = [tensor for tensor in inputs.values() if tensor.dtype == "float64"]
    return make(row, inputs), x, floats, given


def compare(outputs: dict[str, dt.DimTensor], given: Given, backend: str) -> None:
    used = {tensor for output in outputs.values() for tensor in dt.inputs_of(output)}
    given = {tensor: value for tensor, value in given.items() if tensor in used}
    fast, slow = (
        dt.function(list(given), list(outputs.values()), backend=name)(*given.values())
        for name in (backend, "python")
    )
    for name, one, other in zip(outputs, fast, slow, strict=True):
        # sums of derivatives near the ends of a support cancel
        rtol = 1e-6 if name.startswith("gradient") else 1e-8
        np.testing.assert_allclose(
            one.transpose(*other.dims).values, other.values, rtol=rtol, atol=1e-9, err_msg=name
        )


@groups
def test_densities_and_gradients(group: list[Row], backend: str):
    outputs, given = {}, {}
    for row in group:
        d, x, floats, values = case_of(row)
        given |= values
        logp = outputs[f"logp of {row.name}"] = d.logp(x)
        inside = dt.where(d.support.contains(x) & dt.isfinite(logp), logp, 0.0).sum()
        wrt = floats if row.discrete else [x, *floats]
        for tensor in wrt:
            outputs[f"gradient of {row.name} in {tensor.name}"] = dt.grad(inside, tensor)
    compare(outputs, given, backend)


@pytest.mark.slow
@groups
def test_probabilities_and_quantiles(group: list[Row], backend: str):
    outputs, given = {}, {}
    for row in group:
        d, x, _, values = case_of(row)
        given |= values
        for what in ("logcdf", "logsf"):
            if not isinstance(row.logcdf, Missing):
                outputs[f"{what} of {row.name}"] = getattr(d, what)(x)
        if not isinstance(row.icdf, Missing):
            q = dt.tensor(f"{row.name}_probability", dims=x.dims[0])
            given[q] = ([q.dims[0].name], np.linspace(0.01, 0.99, len(given[x][1])))
            outputs[f"icdf of {row.name}"] = d.icdf(q)
    compare(outputs, given, backend)
