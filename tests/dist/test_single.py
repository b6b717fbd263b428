"""Rows of the table in single precision, as compiled: as exact as what they are given.

The reference is the same row in double precision, on the python backend, which is compared with
SciPy in test_rows.py; it is computed of the same numbers. A result may be off by 32 units in the
last place of 1 and of the result, and by as much as it changes where one operand changes by 16
units of its own. Numbers that are not normal are left out: XLA takes them for 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.dist.table import Missing, Row
from tests.dist.test_compiled import Given, groups
from tests.dist.test_rows import PROBABILITIES, given_of, inputs_of, make, points_of

pytestmark = [pytest.mark.compiled, pytest.mark.slow]

UNIT = float(np.finfo("float32").eps)
SMALLEST = float(np.finfo("float32").tiny)
# what loses more digits, and the relative error that it has
LOOSE = {
    "logcdf of StudentT": 3e-5,  # SciPy's betainc in single precision
    "logsf of StudentT": 3e-5,
    "logcdf of ExGaussian": 2e-4,  # differences of probabilities
    "logcdf of SkewNormal": 1e-3,
    "logsf of SkewNormal": 1e-3,
    "gradient of GeneralizedExtremeValue in xi": 2e-4,  # differences near xi = 0
    "gradient of ExGaussian in x": 2e-4,
    "gradient of ExGaussian in mu": 2e-3,  # near the normal distribution, where nu is 0.01 sigma
    "gradient of ExGaussian in sigma": 2e-3,
    "gradient of ExGaussian in nu": 3.0,
    "gradient of Semicircle in mu": 5e-3,  # at the ends
    "logp of Beta": 3e-5,  # of shapes 30 and 80: differences of large logarithms
    "logp of Gamma": 3e-5,  # as these
    "logcdf of Chi": np.inf,  # the square of a value is not normal, and XLA takes it for 0
    "logcdf of Gamma": np.inf,  # a probability of exp(-546) is none in single precision
}


def single_case(row: Row, dtype: str) -> tuple[dict[str, dt.DimTensor], Given]:
    """Everything that a row has a formula for, and numbers for the inputs in single precision."""
    case, point = dt.Dim(f"cases of {row.name}"), dt.Dim(f"points of {row.name}")

    def named(name: str, dims: Any, like: str) -> dt.DimTensor:
        return dt.tensor(f"{row.name}_{name}", dims=dims, dtype=dtype if like != "int64" else like)

    parameters = {name: named(name, case, p.dtype) for name, p in inputs_of(row).items()}
    d, x = make(row, parameters), named("x", [case, point], "float")
    q = named("probability", point, "float")
    logp = d.logp(x)
    found = {f"logp of {row.name}": logp}
    inside = dt.where(d.support.contains(x) & dt.isfinite(logp), logp, 0.0).sum()
    floats = {name: p for name, p in parameters.items() if p.dtype == dtype}
    for name, tensor in (floats if row.discrete else {"x": x, **floats}).items():
        found[f"gradient of {row.name} in {name}"] = dt.grad(inside, tensor)
    if not isinstance(row.logcdf, Missing):
        found |= {f"{what} of {row.name}": getattr(d, what)(x) for what in ("logcdf", "logsf")}
    if not isinstance(row.icdf, Missing):
        found[f"icdf of {row.name}"] = d.icdf(q)
    given: Given = {
        x: ([case.name, point.name], single_points(row)),
        q: ([point.name], _shares(row)),
    }
    given |= {parameters[n]: ([case.name], _single(v)) for n, v in given_of(row).items()}
    used = {each for output in found.values() for each in dt.inputs_of(output)}
    return found, {tensor: value for tensor, value in given.items() if tensor in used}


def _single(value: np.ndarray) -> np.ndarray:
    return value if value.dtype == "int64" else value.astype("float32")


def _shares(row: Row) -> np.ndarray:
    return np.resize(PROBABILITIES, points_of(row).shape[1]).astype("float32")


def single_points(row: Row) -> np.ndarray:
    """The points, those left out that are not normal or no longer between the ends."""
    exact = points_of(row)
    points = exact.astype("float32")
    left = (np.abs(points) < SMALLEST) & (points != 0)
    left |= (np.abs(np.abs(exact) - np.pi) < 1e-9) & (points != exact)
    return np.where(left, points[:, 3:4], points)


def moved(tensor: dt.DimTensor, value: np.ndarray, by: float, upper: bool) -> np.ndarray:
    """A number changed by a share of it, or a probability by a share of what is left to 1."""
    if value.dtype == "int64":
        return value
    value = value.astype("float64")
    if not str(tensor.name).endswith("_probability"):
        return value if upper else value * (1.0 + by)
    return 1.0 - (1.0 - value) * (1.0 + by) if upper else np.minimum(value * (1.0 + by), 1.0)


@groups
def test_single_precision(group: list[Row], backend: str):
    outputs: dict[str, list[dt.DimTensor]] = {}
    given: dict[str, Given] = {"float32": {}, "float64": {}}
    ranks: list[int] = []
    for row in group:
        for dtype, values in given.items():
            found, numbers = single_case(row, dtype)
            values |= numbers
            for name, output in found.items():
                outputs.setdefault(name, []).append(output)
        ranks += range(len(numbers))
    singles, doubles = ([pair[at] for pair in outputs.values()] for at in (0, 1))
    fast = dt.function(list(given["float32"]), singles, backend=backend)
    results = fast(*given["float32"].values())
    slow = dt.function(list(given["float64"]), doubles, backend="python")

    def exact(by: float = 0.0, at: int = -1, upper: bool = False) -> list[Any]:
        """Results where the operand number `at` of each row is changed."""
        values = given["float64"].items()
        return slow(*(
            (dims, moved(tensor, value, by if rank == at else 0.0, upper))
            for (tensor, (dims, value)), rank in zip(values, ranks, strict=True)
        ))  # fmt: skip

    wanted = exact()
    others = [exact(by, at) for by in (16 * UNIT, -16 * UNIT) for at in range(max(ranks) + 1)]
    others += [exact(by, 1, upper=True) for by in (16 * UNIT, -16 * UNIT)]
    for at, (name, result) in enumerate(zip(outputs, results, strict=True)):
        assert result.dtype == np.float32, name
        value = wanted[at]
        found = result.transpose(*value.dims).values.astype("float64")
        with np.errstate(all="ignore"):
            moves = [np.abs(other[at].transpose(*value.dims) - value).values for other in others]
            bound = (32 * UNIT + LOOSE.get(name, 0.0)) * (1.0 + np.abs(value.values))
            bound += sum(np.nan_to_num(move, nan=0.0, posinf=np.inf) for move in moves)
            same = found == value.values.astype("float32")
            same |= np.isnan(found) & np.isnan(value.values)
            fine = same | (np.abs(found - value.values) <= bound)
        assert fine.all(), (name, found[~fine], value.values[~fine], bound[~fine])
