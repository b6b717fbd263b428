"""Kinds of steps: elementwise, reductions, and along a dim."""

from __future__ import annotations

from typing import Any

import numpy as np

import dimtensor as dt
from dimtensor.tensor import elementwise
from dimtensor.testing.comparing import ANONYMOUS
from dimtensor.testing.strategies import Choose
from tests.random_programs.choosing import has_dims, is_numeric, pick, pick_dim
from tests.random_programs.programs import Env, StepKind, Trial, register

Drawn = tuple[tuple[int, ...], dict[str, Any]] | None


def dim_of(tensor: Any, name: str) -> dt.Dim:
    """Return the dim of a tensor by its name in results."""
    return next(dim for dim in tensor.dims if (dim.name or ANONYMOUS) == name)


def dims_of(tensor: Any, names: Any) -> list[dt.Dim]:
    """Return dims of a tensor by their names in results."""
    return [dim_of(tensor, name) for name in names]


def is_small(array: Any, limit: float) -> bool:
    """Return True if finite elements are within a limit, so that later steps do not overflow."""
    values = array.values
    return bool(np.all(np.abs(values[np.isfinite(values)]) <= limit)) if values.size else True


# -- elementwise ---------------------------------------------------------------------------------

_UNARY = ("negative", "abs", "sin", "tanh", "arctan", "floor", "sign", "square", "exp", "sqrt")


def _draw_unary(choose: Choose, trial: Trial) -> Drawn:
    at = pick(choose, trial)
    if at is None:
        return None
    names = _UNARY if is_small(trial.arrays[at], 6.0) else _UNARY[:7]
    return (at,), {"name": choose.one(names)}


register(
    StepKind(
        "unary",
        _draw_unary,
        lambda env, x, name: getattr(elementwise, name)(x),
        lambda env, x, name: getattr(np, name)(x),
        by_label=True,
    )
)

_BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.true_divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "less": np.less,
    "equal": np.equal,
    "logical_and": np.logical_and,
}
_NEEDS_NUMBERS = ("subtract", "divide")
_PRODUCTS = ("multiply",)


def _draw_binary(choose: Choose, trial: Trial) -> Drawn:
    one, other = pick(choose, trial, holds_no_labels), pick(choose, trial, holds_no_labels)
    if one is None or other is None:
        return None
    bools = "bool" in (trial.values[one].dtype, trial.values[other].dtype)
    # PyTensor rewrites x / x to 1 and x - x to 0, also for infinite x
    same = trial.values[one] is trial.values[other]
    hidden = same and not (trial.arrays[one].values.astype(float) ** 2 > 0).all()
    large = not (is_small(trial.arrays[one], 1e4) and is_small(trial.arrays[other], 1e4))
    names = [
        name
        for name in _BINARY
        if not ((bools or hidden) and name in _NEEDS_NUMBERS) and not (large and name in _PRODUCTS)
    ]
    return (one, other), {"name": choose.one(names)}


def holds_no_labels(tensor: Any, array: Any) -> bool:
    """Return True for a value of numbers or bools."""
    return tensor.categories is None


register(
    StepKind(
        "binary",
        _draw_binary,
        lambda env, x, y, name: getattr(elementwise, name)(x, y),
        lambda env, x, y, name: _BINARY[name](x, y),
        by_label=True,
    )
)


def _draw_scalar(choose: Choose, trial: Trial) -> Drawn:
    at = pick(choose, trial)
    if at is None:
        return None
    number = choose.one([2, 0.5, -1, 3.0, 1])
    name = choose.one(["+", "-", "*", "/", "r-", "<", "//", "%"])
    return (at,), {"name": name, "number": number}


def _with_number(env: Env, x: Any, name: str, number: float) -> Any:
    if name == "r-":
        return number - x
    if name == "+":
        return x + number
    if name == "-":
        return x - number
    if name == "*":
        return x * number
    if name == "<":
        return x < number
    if name == "//":
        return x // number
    return x % number if name == "%" else x / number


register(StepKind("scalar", _draw_scalar, _with_number, _with_number, by_label=True))


def _draw_where(choose: Choose, trial: Trial) -> Drawn:
    operands: list[Any] = [pick(choose, trial), pick(choose, trial), pick(choose, trial)]
    return None if None in operands else (tuple(operands), {})


def _array_where(env: Env, x: Any, y: Any, z: Any) -> Any:
    import xarray as xr

    return xr.where(x > 0, y, z)


register(
    StepKind(
        "where",
        _draw_where,
        lambda env, x, y, z: dt.where(x > 0, y, z),
        _array_where,
        by_label=True,
    )
)


def _draw_clip(choose: Choose, trial: Trial) -> Drawn:
    at = pick(choose, trial)
    return None if at is None else ((at,), {"low": -1, "high": choose.one([1, 2])})


register(
    StepKind(
        "clip",
        _draw_clip,
        lambda env, x, low, high: dt.clip(x, low, high),
        lambda env, x, low, high: x.clip(low, high),
        by_label=True,
    )
)


def _draw_astype(choose: Choose, trial: Trial) -> Drawn:
    at = pick(choose, trial, holds_no_labels)
    if at is None or not np.isfinite(trial.arrays[at].values.astype(float)).all():
        return None
    return (at,), {"dtype": choose.one(["float64", "int64", "bool"])}


register(
    StepKind(
        "astype",
        _draw_astype,
        lambda env, x, dtype: x.astype(dtype),
        lambda env, x, dtype: x.astype(dtype),
        by_label=True,
        smooth=False,
    )
)

# -- reductions ------------------------------------------------------------------------------------

_REDUCTIONS = (
    "sum",
    "mean",
    "max",
    "min",
    "prod",
    "std",
    "var",
    "any",
    "all",
    "median",
    "logsumexp",
    "count",
)


def _draw_reduce(choose: Choose, trial: Trial) -> Drawn:
    at = pick(choose, trial, has_dims)
    if at is None:
        return None
    array = trial.arrays[at]
    dims = choose.some(array.dims, at_least=1)
    names = list(_REDUCTIONS)
    if any(array.sizes[dim] == 0 for dim in dims):
        names = ["sum", "mean", "prod", "any", "all", "logsumexp", "count"]
    if array.dtype.kind == "b":
        names = [
            name for name in names if name not in ("std", "var", "median", "logsumexp", "prod")
        ]
    elif not is_small(array, 4.0):
        names = [name for name in names if name not in ("logsumexp", "prod")]
    everything = len(dims) == array.ndim and choose.flag()
    return (at,), {"name": choose.one(names), "dims": None if everything else tuple(dims)}


def _reduce_tensor(env: Env, x: Any, name: str, dims: tuple | None) -> Any:
    along = None if dims is None else dims_of(x, dims)
    return getattr(x, name)(along)


def _reduce_array(env: Env, x: Any, name: str, dims: tuple | None) -> Any:
    if name == "logsumexp":
        return np.log(np.exp(x).sum(dims, skipna=False))
    if name in ("any", "all"):
        return getattr(x.astype(bool), name)(dims)
    if name == "count":
        return x.count(dims)
    return getattr(x, name)(dims, skipna=False)


register(StepKind("reduce", _draw_reduce, _reduce_tensor, _reduce_array, by_label=True))


def _draw_cumulate(choose: Choose, trial: Trial) -> Drawn:
    at = pick(choose, trial, lambda t, a: has_dims(t, a) and is_numeric(t, a))
    if at is None:
        return None
    name = "cumprod" if is_small(trial.arrays[at], 3.0) and choose.flag() else "cumsum"
    return (at,), {"name": name, "dim": pick_dim(choose, trial.arrays[at])}


register(
    StepKind(
        "cumulate",
        _draw_cumulate,
        lambda env, x, name, dim: getattr(x, name)(dim_of(x, dim)),
        lambda env, x, name, dim: getattr(x, name)(dim, skipna=False),
    )
)


def _draw_extreme(choose: Choose, trial: Trial) -> Drawn:
    at = pick(choose, trial, has_dims)
    dim = None if at is None else pick_dim(choose, trial.arrays[at], 1)
    if at is None or dim is None:
        return None
    return (at,), {"name": choose.one(["argmax", "argmin"]), "dim": dim}


register(
    StepKind(
        "extreme",
        _draw_extreme,
        lambda env, x, name, dim: getattr(x, name)(dim_of(x, dim)),
        lambda env, x, name, dim: getattr(x, name)(dim, skipna=False),
        smooth=False,
    )
)


def _draw_sort(choose: Choose, trial: Trial) -> Drawn:
    at = pick(choose, trial, has_dims)
    return None if at is None else ((at,), {"dim": pick_dim(choose, trial.arrays[at])})


def _sort_array(env: Env, x: Any, dim: str) -> Any:
    ordered = x.copy(data=np.sort(x.values, axis=x.get_axis_num(dim)))
    return ordered.drop_vars(dim) if dim in ordered.coords else ordered


register(StepKind("sort", _draw_sort, lambda env, x, dim: x.sort(dim_of(x, dim)), _sort_array))

# -- elements moved along a dim --------------------------------------------------------------------


def _draw_along(choose: Choose, trial: Trial) -> Drawn:
    at = pick(choose, trial, lambda t, a: has_dims(t, a) and is_numeric(t, a))
    if at is None:
        return None
    dim = pick_dim(choose, trial.arrays[at])
    name = choose.one(["shift", "roll", "diff", "pad"])
    if name == "diff":
        options: dict[str, Any] = {"label": choose.one(["upper", "lower"])}
    elif name == "pad":
        options = {"width": (choose.integer(0, 2), choose.integer(0, 2))}
    else:
        options = {"n": choose.integer(-3, 3)}
    return (at,), {"name": name, "dim": dim, **options}


def _along_tensor(env: Env, x: Any, name: str, dim: str, **options: Any) -> Any:
    key = dim_of(x, dim)
    if name == "diff":
        return x.diff(key, **options)
    if name == "pad":
        return x.pad({key: options["width"]})
    return getattr(x, name)({key: options["n"]})


def _along_array(env: Env, x: Any, name: str, dim: str, **options: Any) -> Any:
    if name == "diff":
        return x.diff(dim, **options)
    if name == "pad":
        return x.pad({dim: options["width"]}) if any(options["width"]) else x.astype(float)
    if name == "shift":
        return x.shift({dim: options["n"]}).astype(float)
    return x.roll({dim: options["n"]}, roll_coords=False)


register(StepKind("along", _draw_along, _along_tensor, _along_array))
