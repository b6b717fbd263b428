"""Kinds of steps: selections by position and label, updates through them, grouping."""

from __future__ import annotations

from typing import Any

import numpy as np

import dimtensor as dt
from dimtensor.testing.comparing import ANONYMOUS
from dimtensor.testing.strategies import Choose
from tests.random_programs.choosing import has_dims, is_numeric, pick, pick_dim
from tests.random_programs.kinds import Drawn, dim_of
from tests.random_programs.programs import Env, StepKind, Trial, plain, register


class Pointwise:
    """Indexer that is a tensor of positions or labels.

    ``dims`` are names of dims of the program, or of new dims.
    """

    def __init__(self, dims: tuple[str, ...], values: np.ndarray, of_labels: bool):
        self.dims = dims
        self.values = values
        self.of_labels = of_labels

    def tensor(self, env: Env, indexed: dt.Dim) -> dt.DimTensor:
        dims = [
            env[name].dim if name in env else dt.Dim(name, length=length)
            for name, length in zip(self.dims, self.values.shape, strict=True)
        ]
        return dt.data(self.values, dims=dims, categories=indexed if self.of_labels else None)

    def array(self, env: Env) -> Any:
        import xarray as xr

        labels = {name: env[name].labels for name in self.dims if name in env}
        coords = {name: found for name, found in labels.items() if found is not None}
        return xr.DataArray(self.values, dims=self.dims, coords=coords)

    def __repr__(self) -> str:
        return f"Pointwise({self.dims}, {self.values.tolist()})"


def _in_tensor(env: Env, x: Any, selection: dict[str, Any]) -> dict[dt.Dim, Any]:
    found = {dim_of(x, name): key for name, key in selection.items()}
    return {
        dim: key.tensor(env, dim) if isinstance(key, Pointwise) else key
        for dim, key in found.items()
    }


def _in_array(env: Env, selection: dict[str, Any]) -> dict[str, Any]:
    return {
        name: key.array(env) if isinstance(key, Pointwise) else key
        for name, key in selection.items()
    }


# -- positions ---------------------------------------------------------------------------------


def _position_key(choose: Choose, length: int, known: bool) -> Any:
    kinds = ["slice", "reversed", "empty"] + (["int", "list", "last"] if length else [])
    kinds += ["mask"] if known else []  # a list of bools needs a dim of known length
    kind = choose.one(kinds[::-1])
    if kind == "slice":
        start, stop = (choose.one([None, *range(-length - 1, length + 2)]) for _ in range(2))
        return slice(start, stop, choose.one([None, 1, 2, -1, -2]))
    if kind == "mask":
        return [bool(choose.integer(0, 1)) for _ in range(length)] if length else slice(None)
    if kind == "reversed":
        return slice(None, None, -1)
    if kind == "empty":
        return []
    if kind == "int":
        return choose.integer(-length, length - 1)
    if kind == "last":
        return -1
    return choose.integers(-length, length - 1, choose.integer(1, 4))


def _pointwise_dims(choose: Choose, trial: Trial, indexed: list[str]) -> list[tuple[str, int]]:
    """Choose dims of pointwise indexers: dims of the program, or a new one."""
    known = [
        (name, spec.length)
        for name, spec in trial.env.items()
        if name not in indexed and name != ANONYMOUS
    ]
    options = [*known, ("point", choose.integer(0, 3))]
    return choose.some(options, 1, 2)


def _draw_isel(choose: Choose, trial: Trial) -> Drawn:
    at = pick(choose, trial, has_dims)
    if at is None:
        return None
    array = trial.arrays[at]
    names = choose.some(array.dims, 1, 2)
    selection: dict[str, Any] = {}
    if choose.flag(3) and all(array.sizes[name] for name in names):
        dims = _pointwise_dims(choose, trial, list(array.dims) if choose.flag() else names)
        for name in names:
            own = choose.some(dims, 1)
            count = int(np.prod([length for _, length in own]))
            high = array.sizes[name] - 1
            values = np.array(choose.integers(-high - 1, high, count), dtype="int64")
            shape = [length for _, length in own]
            selection[name] = Pointwise(tuple(n for n, _ in own), values.reshape(shape), False)
    else:
        selection = {
            name: _position_key(
                choose, array.sizes[name], dim_of(trial.values[at], name).length is not None
            )
            for name in names
        }
    return (at,), {"selection": selection}


def _isel_tensor(env: Env, x: Any, selection: dict[str, Any]) -> Any:
    return x.isel(_in_tensor(env, x, selection))


def _isel_array(env: Env, x: Any, selection: dict[str, Any]) -> Any:
    return x.isel(_in_array(env, selection))


register(StepKind("isel", _draw_isel, _isel_tensor, _isel_array))


def _draw_mask(choose: Choose, trial: Trial) -> Drawn:
    at = pick(choose, trial, lambda t, a: has_dims(t, a) and is_numeric(t, a))
    if at is None:
        return None
    return (at,), {"dim": pick_dim(choose, trial.arrays[at]), "above": choose.one([0, -1, 1])}


def _mask_of(x: Any, dim: Any, others: Any, above: float) -> Any:
    return x.sum(others) > above


def _mask_tensor(env: Env, x: Any, dim: str, above: float) -> Any:
    key = dim_of(x, dim)
    return x.isel({key: _mask_of(x, key, [d for d in x.dims if d is not key], above)})


def _mask_array(env: Env, x: Any, dim: str, above: float) -> Any:
    others = [name for name in x.dims if name != dim]
    return x.isel({dim: (x.sum(others, skipna=False) > above).values})


register(StepKind("mask", _draw_mask, _mask_tensor, _mask_array))

# -- labels ------------------------------------------------------------------------------------


def _selectable(array: Any, name: str) -> bool:
    """Return True if labels of a dim select single positions."""
    if name not in array.indexes or array.sizes[name] == 0:
        return False
    index = array.indexes[name]
    tuples = index.dtype == object and any(not isinstance(label, str) for label in index)
    return not tuples and index.is_unique and not index.hasnans


def _draw_sel(choose: Choose, trial: Trial) -> Drawn:
    at = pick(choose, trial, lambda t, a: has_dims(t, a) and any(_selectable(a, n) for n in a.dims))
    if at is None:
        return None
    array = trial.arrays[at]
    names = choose.some([name for name in array.dims if _selectable(array, name)], 1, 2)
    selection: dict[str, Any] = {}
    static = all(dim_of(trial.values[at], name).coords is not None for name in names)
    if static and choose.flag(3):
        dims = _pointwise_dims(choose, trial, list(array.dims))
        for name in names:
            own = choose.some(dims, 1)
            shape = [length for _, length in own]
            labels = array[name].values
            picked = choose.integers(0, len(labels) - 1, int(np.prod(shape)))
            values = labels[np.array(picked, dtype=int)].reshape(shape)
            selection[name] = Pointwise(tuple(n for n, _ in own), values, True)
    else:
        selection = {name: _label_key(choose, array.indexes[name]) for name in names}
    return (at,), {"selection": selection}


def _label_key(choose: Choose, index: Any) -> Any:
    labels, last = index.tolist(), len(index) - 1
    kind = choose.one(["list", "one", "slice", "open slice"])
    if kind == "one":
        return labels[choose.integer(0, last)]
    if kind == "list":
        return [labels[at] for at in choose.integers(0, last, choose.integer(1, 3))]
    start, stop = sorted(choose.integers(0, last, 2))
    step = choose.one([None, 2])
    if kind == "open slice":
        return (
            slice(None, labels[stop], step) if choose.flag() else slice(labels[start], None, step)
        )
    return slice(labels[start], labels[stop], step)


def _sel_tensor(env: Env, x: Any, selection: dict[str, Any]) -> Any:
    return x.sel(_in_tensor(env, x, selection))


def _sel_array(env: Env, x: Any, selection: dict[str, Any]) -> Any:
    return x.sel(_in_array(env, selection))


def _is_by_label(selection: dict[str, Any]) -> bool:
    return not any(isinstance(key, slice) for key in selection.values())


register(StepKind("sel", _draw_sel, _sel_tensor, _sel_array))


def _draw_best(choose: Choose, trial: Trial) -> Drawn:
    at = pick(choose, trial, has_dims)
    dim = None if at is None else pick_dim(choose, trial.arrays[at], 1)
    return None if at is None or dim is None else ((at,), {"dim": dim})


def _best_tensor(env: Env, x: Any, dim: str) -> Any:
    key = dim_of(x, dim)
    return x.sel({key: x.idxmax(key)})


def _best_array(env: Env, x: Any, dim: str) -> Any:
    return x.isel({dim: x.argmax(dim, skipna=False)})


register(StepKind("best", _draw_best, _best_tensor, _best_array, by_label=False))

# -- updates -----------------------------------------------------------------------------------


def _draw_update(choose: Choose, trial: Trial) -> Drawn:
    by, draw = choose.one([("isel", _draw_isel), ("sel", _draw_sel)])
    drawn = draw(choose, trial)
    if drawn is None or not is_numeric(trial.values[drawn[0][0]], None):
        return None
    selection = drawn[1]["selection"]
    array = trial.arrays[drawn[0][0]]
    mode = choose.one(["inc", "set"])
    try:
        repeats = _repeats(plain(array), by, _in_array(trial.env, selection))
    except IndexError:
        return None  # an indexer shares a dim with the array by name only
    if mode == "set" and repeats:
        mode = "inc"  # which of several values is kept is undefined
    return drawn[0], {"mode": mode, "by": by, "selection": selection, "own": choose.flag()}


def _positions_of(array: Any, by: str, selection: dict[str, Any]) -> Any:
    """Return the positions in the raveled array of the elements that xarray selects."""
    numbers = array.copy(data=np.arange(array.size).reshape(array.shape))
    return plain(getattr(numbers, by)(selection))


def _repeats(array: Any, by: str, selection: dict[str, Any]) -> bool:
    at = _positions_of(array, by, selection).values.ravel()
    return len(set(at.tolist())) < len(at)


def _update_tensor(
    env: Env, x: Any, mode: str, by: str, selection: dict[str, Any], own: bool
) -> Any:
    chosen = getattr(x, by)(_in_tensor(env, x, selection))
    return getattr(chosen, mode)(chosen * 2 if own else 3)


def _update_array(
    env: Env, x: Any, mode: str, by: str, selection: dict[str, Any], own: bool
) -> Any:
    at = _positions_of(x, by, _in_array(env, selection)).values
    flat = x.values.ravel().copy()
    value = flat[at] * 2 if own else np.full(at.shape, 3)
    if mode == "set":
        flat[at] = value
    else:
        np.add.at(flat, at, value)
    return x.copy(data=flat.reshape(x.shape))


register(StepKind("update", _draw_update, _update_tensor, _update_array))

# -- groups ------------------------------------------------------------------------------------

_GROUPED = ("sum", "mean", "max", "min", "first", "count", "std")


def _draw_group(choose: Choose, trial: Trial) -> Drawn:
    at = pick(choose, trial, lambda t, a: has_dims(t, a) and is_numeric(t, a))
    if at is None:
        return None
    array, tensor = trial.arrays[at], trial.values[at]
    known = [
        dim.name
        for dim in tensor.dims
        if dim.name in trial.env and trial.env[dim.name].dim is dim and "group" not in array.dims
    ]
    if not known:
        return None
    dim = choose.one(known)
    codes = choose.integers(0, 2, array.sizes[dim])
    return (at,), {"dim": dim, "codes": codes, "name": choose.one(_GROUPED)}


GROUPS = dt.Dim("group", coords=["u", "v", "w"])


def _group_tensor(env: Env, x: Any, dim: str, codes: list[int], name: str) -> Any:
    labels = np.array(["u", "v", "w"], dtype=object)[np.array(codes, dtype=int)]
    key = dt.data(labels, dims=env[dim].dim, categories=GROUPS)
    return getattr(x.groupby(key), name)()


def _group_array(env: Env, x: Any, dim: str, codes: list[int], name: str) -> Any:
    import xarray as xr

    groups = []
    for number in range(3):
        members = x.isel({dim: np.flatnonzero(np.array(codes, dtype=int) == number)})
        groups.append(_reduced(members, dim, name))
    return xr.concat(groups, dim="group").assign_coords(group=["u", "v", "w"])


def _reduced(members: Any, dim: str, name: str) -> Any:
    if name == "count":
        return members.notnull().sum(dim)
    if members.sizes[dim] == 0:
        empty = members.sum(dim, skipna=False)
        return empty if name == "sum" else empty * np.nan
    if name == "first":
        return members.isel({dim: 0}, drop=True).astype(float)
    reduced = getattr(members, name)(dim, skipna=False)
    return reduced if name == "sum" else reduced.astype(float)


register(StepKind("group", _draw_group, _group_tensor, _group_array))
