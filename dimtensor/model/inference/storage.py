"""Results in files: labels and attributes as NetCDF and Zarr can store them, and back."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping
from enum import Enum
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from dimtensor.errors import InputError, build_message, did_you_mean, listing

# Attribute of text labels that records the type of the original labels.
_MARK = "dimtensor_labels"
# Dates and durations in nanoseconds, which xarray reads back unchanged.
_SPANS = {
    "M": tuple(int(np.datetime64(year, "s").astype("int64")) for year in ("1678", "2262")),
    "m": (-(2**63) // 10**9, 2**63 // 10**9),
}


class NoVariableError(KeyError):
    """A KeyError whose text is shown as it is written, on several lines."""

    def __str__(self) -> str:
        return str(self.args[0])


class Results(xr.DataTree):
    """A DataTree that can be written to files whatever its labels are.

    Errors of names that it lacks say which group has them.

    See Also
    --------
    load_posterior : Read it again, with the same labels.
    """

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        """Group or variable by name or path, as :meth:`xarray.DataTree.__getitem__`.

        Raises
        ------
        KeyError
            If there is none; the text names the groups that have a variable of the name.
        """
        try:
            return super().__getitem__(key)
        except KeyError:
            raise NoVariableError(_lacks(self, key)) from None

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("_") or not _groups_with(self, name):
                raise
            error = AttributeError(_lacks(self, name), name=name, obj=self)
        raise error

    def to_netcdf(self, *args: Any, **kwargs: Any) -> Any:
        """Write to a NetCDF file; arguments are those of :meth:`xarray.DataTree.to_netcdf`."""
        return storable(self).to_netcdf(*args, **kwargs)

    def to_zarr(self, *args: Any, **kwargs: Any) -> Any:
        """Write to a Zarr store; arguments are those of :meth:`xarray.DataTree.to_zarr`."""
        return storable(self).to_zarr(*args, **kwargs)


# it is one for whoever looks at it
Results.__name__ = "DataTree"


def _groups_with(tree: xr.DataTree, name: str) -> list[str]:
    """Names of the groups of a tree that have a variable of a name, or coords."""
    return [group for group, node in tree.children.items() if name in node.dataset.variables]


def _lacks(tree: xr.DataTree, key: str) -> str:
    """The text of the error for a name or path that a tree does not have."""
    if groups := _groups_with(tree, key):
        has = "groups" if len(groups) > 1 else "group"
        return build_message(
            f"results have groups, and variables are in them: {key!r} is in no group by itself",
            [(f"{has} with {key!r}", listing(groups))],
            f"post[{groups[0]!r}][{key!r}]",
        )
    known = [*map(str, tree.children), *map(str, tree.dataset.variables)]
    inside = [str(name) for node in tree.children.values() for name in node.dataset.data_vars]
    guess = did_you_mean(key, known) or did_you_mean(key, list(dict.fromkeys(inside)))
    guess = guess if "/" not in key else ""
    what = f"the group {tree.name!r}" if tree.parent is not None else "the tree of results"
    details = [
        (name, listing(each))
        for name, each in (("groups", list(tree.children)), ("variables", list(tree.data_vars)))
        if each
    ]
    return build_message(f"there is no {key!r} in {what}{guess}", details)


def load(path: Any, **options: Any) -> Results:
    """Read a file; see :func:`dimtensor.load_posterior`."""
    if isinstance(path, (str, Path)) and "://" not in str(path):
        found = Path(path)
        if not found.exists():
            raise InputError(
                build_message(
                    f"load_posterior: there is no file {str(path)!r}",
                    hint="post.to_netcdf(path) or post.to_zarr(path) writes it",
                )
            )
        if found.is_dir():
            options = {"engine": "zarr", "consolidated": False, **options}
    with xr.open_datatree(path, **options) as tree:
        groups = {path: dataset.load() for path, dataset in _groups(tree).items()}
    return Results.from_dict({path: restored(dataset) for path, dataset in groups.items()})


def as_results(tree: xr.DataTree) -> Results:
    """A tree that can be written to files."""
    return tree if isinstance(tree, Results) else Results.from_dict(_groups(tree), name=tree.name)


def storable(tree: xr.DataTree) -> xr.DataTree:
    """A tree with texts in the place of what files cannot have."""
    groups = {path: _stored(dataset) for path, dataset in _groups(tree).items()}
    return xr.DataTree.from_dict(groups, name=tree.name)


def _groups(tree: xr.DataTree) -> dict[str, xr.Dataset]:
    """Datasets by their path below a node."""
    found = tree.subtree_with_keys
    return {"/" if path == "." else path: node.to_dataset(inherit=False) for path, node in found}


def _stored(dataset: xr.Dataset) -> xr.Dataset:
    found = dataset
    for name, variable in dataset.variables.items():
        index = dataset.indexes.get(name)
        if index is None and variable.dtype.kind in "OmMc":
            index = pd.Index(variable.values.ravel(), tupleize_cols=False)
        texts = None if index is None else _texts(index)
        attrs = _plain(variable.attrs)
        if texts is not None:
            kind, values = texts
            attrs[_MARK] = kind
            new = xr.Variable(variable.dims, values.reshape(variable.shape), attrs)
            found = _with(found, name, new)
            continue
        if variable.dtype.kind in "mM":
            attrs[_MARK] = str(variable.dtype)  # files have another unit
        if attrs != variable.attrs:
            found = found.copy()
            found[name].attrs = attrs
    found = found.copy()
    found.attrs = _plain(dataset.attrs)
    return found


def restored(dataset: xr.Dataset) -> xr.Dataset:
    """A Dataset of a file with its labels."""
    found = dataset.drop_encoding()
    for name, variable in dataset.variables.items():
        kind = variable.attrs.get(_MARK)
        if kind is None:
            continue
        if variable.dtype.kind in "mM":
            labels: Any = variable.values.astype(kind).ravel()
        else:
            labels = _labels(kind, [str(text) for text in variable.values.ravel()])
        attrs = {key: x for key, x in variable.attrs.items() if key != _MARK}
        if variable.ndim != 1:
            plain = isinstance(labels, np.ndarray)
            labels = (labels if plain else _array(list(labels))).reshape(variable.shape)
        found = _with(found, name, xr.Variable(variable.dims, labels, attrs))
    return found


def _with(dataset: xr.Dataset, name: Any, variable: xr.Variable) -> xr.Dataset:
    """A Dataset with another variable in the place of one."""
    put = dataset.assign_coords if name in dataset.coords else dataset.assign
    return put({name: variable})


# -- labels ----------------------------------------------------------------------------------------


def _texts(index: pd.Index) -> tuple[str, np.ndarray] | None:
    """The kind of labels and a text for each; None if files have such labels."""
    dtype = index.dtype
    if isinstance(dtype, (pd.PeriodDtype, pd.IntervalDtype, pd.DatetimeTZDtype)):
        return str(dtype), _array([_text(label) for label in index])
    if dtype.kind in "mM":
        values = index.to_numpy()
        seconds = values[~np.isnat(values)].astype(f"{dtype.kind}8[s]").astype("int64")
        low, high = _SPANS[dtype.kind]
        if not len(seconds) or (low < seconds.min() and seconds.max() < high):
            return None
        told = values if dtype.kind == "M" else values.astype("int64")
        return str(dtype), _array([str(x) for x in told])
    if type(index).__name__ == "CFTimeIndex":  # xarray writes them, with their calendar
        return None
    if dtype.kind == "c" or (dtype.kind == "O" and not all(type(x) is str for x in index)):
        return "json", _array([json.dumps(_written(label)) for label in index])
    return None


def _labels(kind: str, texts: list[str]) -> Any:
    """Labels of a kind from their texts."""
    if kind == "json":
        labels = _array([_read(json.loads(text)) for text in texts])
        numbers = all(type(x) is complex for x in labels)
        return labels.astype("complex128") if numbers else pd.Index(labels, dtype=object)
    if kind.startswith("datetime64") and "," not in kind:
        return pd.DatetimeIndex(np.array(texts, dtype=kind))
    if kind.startswith("timedelta64"):
        return pd.TimedeltaIndex(np.array(texts, dtype="int64").astype(kind))
    dtype = pd.api.types.pandas_dtype(kind)
    if isinstance(dtype, pd.IntervalDtype):
        return pd.IntervalIndex([_interval(dtype, text) for text in texts], dtype=dtype)
    if isinstance(dtype, pd.DatetimeTZDtype):
        times = pd.to_datetime(texts, utc=True, format="ISO8601").as_unit(dtype.unit)
        return times.tz_convert(dtype.tz)
    return pd.PeriodIndex(texts, dtype=dtype)


def _array(values: list[Any]) -> np.ndarray:
    """Objects as an array of one axis, tuples too."""
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _text(label: Any) -> str:
    if isinstance(label, pd.Interval):
        left, right = (_text(x) for x in (label.left, label.right))
        closed = label.closed
        start = "[" if closed in ("left", "both") else "("
        return f"{start}{left}, {right}{']' if closed in ('right', 'both') else ')'}"
    if isinstance(label, pd.Timestamp):
        return label.isoformat()
    if isinstance(label, Real) and not isinstance(label, Integral):
        return repr(float(label))
    return str(label)


def _interval(dtype: pd.IntervalDtype, text: str) -> pd.Interval:
    subtype = dtype.subtype
    ends: Any = text[1:-1].split(", ")
    if subtype.kind == "M":
        ends = pd.DatetimeIndex(_labels(str(subtype), ends)) if "," in str(subtype) else (
            pd.to_datetime(ends, format="ISO8601")
        )  # fmt: skip
    elif subtype.kind == "m":
        ends = [pd.Timedelta(end) for end in ends]
    else:
        ends = np.array(ends, dtype=subtype).tolist()
    return pd.Interval(ends[0], ends[1], closed=dtype.closed)


def _written(label: Any) -> Any:
    """A label as JSON: a tuple is a list, and what JSON has not is an object of its type."""
    if isinstance(label, Enum):
        return {"enum": [type(label).__module__, type(label).__qualname__, label.name]}
    if isinstance(label, np.generic):
        if label.dtype.kind in "mM":
            return {str(label.dtype): str(label.astype("int64"))}
        label = label.item()
    if label is None or isinstance(label, (bool, str)):
        return label
    if isinstance(label, tuple):
        return [_written(part) for part in label]
    if isinstance(label, int):
        return int(label)
    if isinstance(label, float):
        return float(label) if np.isfinite(label) else {"float": repr(float(label))}
    if isinstance(label, complex):
        return {"complex": repr(label)}
    if isinstance(label, bytes):
        return {"bytes": base64.b64encode(label).decode()}
    if label is pd.NaT:
        return {"NaT": ""}
    index = pd.Index([label])
    texts = _forced(index)
    return str(label) if texts is None else {str(index.dtype): texts}


def _forced(index: pd.Index) -> str | None:
    """The text of one label of pandas' or of the standard library's dates and spans."""
    dtype = index.dtype
    if isinstance(dtype, (pd.PeriodDtype, pd.IntervalDtype, pd.DatetimeTZDtype)):
        return _text(index[0])
    return str(index.to_numpy().astype("int64")[0]) if dtype.kind in "mM" else None


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_read(part) for part in value)
    if not isinstance(value, Mapping):
        return value
    ((kind, text),) = value.items()
    if kind in ("float", "complex"):
        return {"float": float, "complex": complex}[kind](text)
    if kind == "bytes":
        return base64.b64decode(text)
    if kind == "NaT":
        return pd.NaT
    if kind == "enum":
        return _member(*text)
    if kind.startswith(("datetime64", "timedelta64")) and "," not in kind:
        return pd.Index(np.array([int(text)]).astype(kind))[0]
    return _labels(kind, [text])[0]


def _member(module: str, kind: str, name: str) -> Any:
    """A member of an Enum that the program has; nothing is imported for a file."""
    found: Any = getattr(sys.modules.get(module), kind, None)
    known = isinstance(found, type) and issubclass(found, Enum) and name in found.__members__
    return found.__members__[name] if known else f"{kind}.{name}"


# -- attributes ------------------------------------------------------------------------------------


def _plain(attrs: Mapping[Any, Any]) -> dict[Any, Any]:
    """Attributes that files can have: texts, numbers, and arrays of them."""
    return {str(name): _plain_value(value) for name, value in attrs.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, (str, bytes)):
        return value
    if isinstance(value, (int, float, np.integer, np.floating)):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, (list, tuple, np.ndarray)):
        array = np.asarray(value, dtype=None if isinstance(value, np.ndarray) else object)
        found = [_plain_value(x) for x in array.ravel()]
        if array.ndim == 1 and len({isinstance(x, str) for x in found}) == 1:
            return found
        return json.dumps(array.tolist(), default=str)
    return json.dumps(value, default=str) if isinstance(value, Mapping) else str(value)
