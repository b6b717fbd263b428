"""Kinds of steps that change dims: rename, expand, ravel, concat, stack, dot."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import dimtensor as dt
from dimtensor.testing.comparing import ANONYMOUS, labels_of
from dimtensor.testing.strategies import Choose
from tests.random_programs.choosing import has_dims, is_numeric, pick, pick_dim
from tests.random_programs.kinds import Drawn, dim_of, dims_of, holds_no_labels, is_small
from tests.random_programs.programs import Env, StepKind, Trial, register


def _draw_rename(choose: Choose, trial: Trial) -> Drawn:
    at = pick(choose, trial, has_dims)
    if at is None:
        return None
    names = choose.some(trial.arrays[at].dims, at_least=1, at_most=2)
    if len(names) == 2 and ANONYMOUS not in names and choose.flag():
        return (at,), {"names": {names[0]: names[1], names[1]: names[0]}}
    new = choose.one([names[0] + "'", "z"])
    return (at,), {"names": {names[0]: new}}


def _rename_tensor(env: Env, x: Any, names: dict[str, str]) -> Any:
    return x.rename({dim_of(x, old): new for old, new in names.items()})


register(
    StepKind(
        "rename", _draw_rename, _rename_tensor, lambda env, x, names: x.rename(names), by_label=True
    )
)


def _draw_expand(choose: Choose, trial: Trial) -> Drawn:
    at = pick(choose, trial, holds_no_labels)
    if at is None:
        return None
    array = trial.arrays[at]
    new = [name for name in trial.env if name not in array.dims and name != ANONYMOUS]
    return ((at,), {"dims": tuple(choose.some(new, 1, 2))}) if new and array.ndim < 4 else None


def _expand_array(env: Env, x: Any, dims: tuple[str, ...]) -> Any:
    sizes = {name: env[name].length for name in dims}
    wide = x.expand_dims(sizes).copy()
    labels = {name: env[name].labels for name in dims if env[name].labels is not None}
    return wide.assign_coords(labels)


register(
    StepKind(
        "expand",
        _draw_expand,
        lambda env, x, dims: x.expand([env[name].dim for name in dims]),
        _expand_array,
        by_label=True,
    )
)


def _draw_squeeze(choose: Choose, trial: Trial) -> Drawn:
    at = pick(choose, trial, lambda t, a: any(dim.length == 1 for dim in t.dims))
    if at is None:
        return None
    names = [dim.name or ANONYMOUS for dim in trial.values[at].dims if dim.length == 1]
    return (at,), {"dims": tuple(choose.some(names, 1))}


register(
    StepKind(
        "squeeze",
        _draw_squeeze,
        lambda env, x, dims: x.squeeze(dims_of(x, dims)),
        lambda env, x, dims: x.squeeze(dims, drop=True),
    )
)


def _draw_ravel(choose: Choose, trial: Trial) -> Drawn:
    at = pick(choose, trial, lambda t, a: a.ndim > 1 and ANONYMOUS not in a.dims)
    if at is None:
        return None
    return (at,), {"dims": tuple(choose.some(trial.arrays[at].dims, 2, 3)), "name": "product"}


def _ravel_array(env: Env, x: Any, dims: tuple[str, ...], name: str) -> Any:
    order = sorted(dims)  # elements of a product are in the order of the names of its factors
    rest = [dim for dim in x.dims if dim not in dims]
    wide = x.transpose(*rest, *order)
    shape = [wide.sizes[dim] for dim in rest]
    length = int(np.prod([wide.sizes[dim] for dim in order]))
    coords = {dim: wide[dim].values for dim in rest if dim in wide.indexes}
    levels = [labels_of(wide, dim) for dim in order]
    if None not in levels:
        values = [wide.indexes[dim].tolist() for dim in order]
        labels = np.empty(length, dtype=object)
        labels[:] = list(itertools.product(*values))
        coords[name] = labels
    return type(x)(wide.values.reshape([*shape, length]), dims=[*rest, name], coords=coords)


register(
    StepKind(
        "ravel",
        _draw_ravel,
        lambda env, x, dims, name: x.ravel(dims_of(x, dims), name),
        _ravel_array,
        by_label=True,
    )
)


def _draw_unravel(choose: Choose, trial: Trial) -> Drawn:
    at = pick(choose, trial, lambda t, a: any(isinstance(d, dt.ProductDim) for d in t.dims))
    if at is None:
        return None
    product = next(d for d in trial.values[at].dims if isinstance(d, dt.ProductDim))
    factors = tuple((d.name, trial.met[d][0], trial.labels[d]) for d in product.factors)
    return (at,), {"dim": product.name, "factors": factors}


def _unravel_array(env: Env, x: Any, dim: str, factors: tuple) -> Any:
    rest = [name for name in x.dims if name != dim]
    if {name for name, _, _ in factors} & set(rest):
        raise ValueError("the result has two dims of one name")
    values = x.transpose(*rest, dim).values
    shape = [x.sizes[name] for name in rest] + [length for _, length, _ in factors]
    dims = [*rest, *(name for name, _, _ in factors)]
    coords = {name: x[name].values for name in rest if name in x.indexes}
    coords |= {name: labels for name, _, labels in factors if labels is not None}
    return type(x)(values.reshape(shape), dims=dims, coords=coords)


register(
    StepKind(
        "unravel",
        _draw_unravel,
        lambda env, x, dim, factors: x.unravel(dim),
        _unravel_array,
    )
)


def _draw_concat(choose: Choose, trial: Trial) -> Drawn:
    one = pick(choose, trial, has_dims)
    dim = None if one is None else pick_dim(choose, trial.arrays[one])
    other = pick(choose, trial, lambda t, a: has_dims(t, a) and dim in a.dims)
    if one is None or other is None or dim == ANONYMOUS:
        return None
    return (one, other), {"dim": dim}


def _objects(labels: list) -> np.ndarray:
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def _concat_array(env: Env, x: Any, y: Any, dim: str) -> Any:
    import xarray as xr

    xr.align(x, y, join="exact", exclude=[dim])
    x, y = xr.broadcast(x, y, exclude=[dim])
    if (dim in x.indexes) != (dim in y.indexes):
        x, y = (a.drop_vars(dim, errors="ignore") for a in (x, y))
    elif dim in x.indexes and x[dim].dtype.kind != y[dim].dtype.kind:
        # xarray joins labels of one kind only, or objects
        if {x[dim].dtype.kind, y[dim].dtype.kind} - set("iuf"):
            x, y = (a.assign_coords({dim: _objects(a.indexes[dim].tolist())}) for a in (x, y))
    return xr.concat([x, y], dim=dim, join="exact")


register(
    StepKind("concat", _draw_concat, lambda env, x, y, dim: dt.concat([x, y], dim), _concat_array)
)


def _draw_stack(choose: Choose, trial: Trial) -> Drawn:
    operands: list[Any] = [pick(choose, trial, is_numeric) for _ in range(choose.integer(1, 3))]
    if None in operands:
        return None
    labels = ["x", "y", "w"][: len(operands)] if choose.flag() else None
    return tuple(operands), {"labels": labels}


def _stack_tensor(env: Env, *tensors: Any, labels: list | None) -> Any:
    return dt.stack(tensors, dt.Dim("which", coords=labels, length=len(tensors)))


def _stack_array(env: Env, *arrays: Any, labels: list | None) -> Any:
    import xarray as xr

    whole = xr.concat(xr.broadcast(*xr.align(*arrays, join="exact")), dim="which", join="exact")
    return whole if labels is None else whole.assign_coords(which=labels)


register(StepKind("stack", _draw_stack, _stack_tensor, _stack_array, by_label=True))


def _draw_dot(choose: Choose, trial: Trial) -> Drawn:
    operands: list[Any] = [pick(choose, trial) for _ in range(choose.integer(2, 3))]
    if None in operands or not all(is_small(trial.arrays[at], 1e3) for at in operands):
        return None
    # propagation of NaN and infinity depends on the order of a contraction
    if not all(np.isfinite(trial.arrays[at].values).all() for at in operands):
        return None
    joint = dict.fromkeys(name for at in operands for name in trial.arrays[at].dims)
    dims = None if choose.flag() else tuple(choose.some(list(joint)))
    return tuple(operands), {"dims": dims}


def _dot_tensor(env: Env, *tensors: Any, dims: tuple | None) -> Any:
    if dims is None:
        return dt.dot(*tensors)
    joint = {dim.name or ANONYMOUS: dim for x in tensors for dim in x.dims}
    return dt.dot(*tensors, dim=[joint[name] for name in dims])


def _dot_array(env: Env, *arrays: Any, dims: tuple | None) -> Any:
    import xarray as xr

    if dims is None:
        every = [name for x in arrays for name in x.dims]
        dims = tuple({name for name in every if every.count(name) > 1})
    return xr.dot(*arrays, dim=list(dims))


register(StepKind("dot", _draw_dot, _dot_tensor, _dot_array, by_label=True))
