"""A row of the op table with inputs, values, and the gradients of a weighted sum of its results."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import dimtensor as dt
from dimtensor.graph.optable import OpRow
from dimtensor.testing.differences import slope
from tests.graph.optable.table import (
    DIMS,
    PATTERN,
    SIZES,
    aligned,
    function_of,
    labeled,
    operand_dtypes,
    operands,
    oracle_of,
    used_axes,
)


class Case(NamedTuple):
    """A row with its inputs, their values, and what is computed of them."""

    row: OpRow
    inputs: list[dt.DimTensor]
    arrays: list[np.ndarray]
    weights: np.ndarray
    value: dt.DimTensor
    gradients: dict[int, dt.DimTensor]


def case_of(row: OpRow, rng: np.random.Generator, dtype: str = "float64") -> Case:
    if row.dtype == "integer":
        dtype = "int64"
    inputs = [
        dt.tensor(f"{row.name}_{name}", dims=[DIMS[axis] for axis in PATTERN[at]], dtype=dtype_)
        for at, (name, dtype_) in enumerate(zip(row.names, operand_dtypes(row, dtype), strict=True))
    ]
    value = function_of(row)(*inputs)
    arrays = operands(row, dtype, rng)
    axes = used_axes(row)
    weights = rng.normal(size=[SIZES[axis] for axis in axes])
    gradients = {}
    if value.dtype == "float64" and row.name not in ("stop_gradient", "where"):
        total = (value * dt.data(weights, dims=[DIMS[axis] for axis in axes])).sum()
        gradients = {at: dt.grad(total, inputs[at]) for at in row.differentiable}
    return Case(row, inputs, arrays, weights, value, gradients)


def given(case: Case, y: dt.DimTensor) -> dict[dt.DimTensor, object]:
    """Values of the inputs that an expression has."""
    known = {tensor.name for tensor in dt.inputs_of(y)}
    pairs = enumerate(zip(case.inputs, case.arrays, strict=True))
    return {tensor: labeled(at, x) for at, (tensor, x) in pairs if tensor.name in known}


def wanted_gradient(case: Case, at: int) -> np.ndarray:
    """Differences of the oracle, weighted, summed over the dims that the operand lacks."""
    row = case.row
    values = [aligned(i, x) for i, x in enumerate(case.arrays)]
    derivative = np.broadcast_to(
        slope(oracle_of(row), values, at),
        np.broadcast_shapes(*(x.shape for x in values)),
    )
    axes = used_axes(row)
    derivative = derivative.squeeze(tuple(a for a in range(len(DIMS)) if a not in axes))
    lacking = tuple(k for k, axis in enumerate(axes) if axis not in PATTERN[at])
    return (derivative * case.weights).sum(axis=lacking)
