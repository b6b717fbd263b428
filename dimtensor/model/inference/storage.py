"""Results in files: encoding of labels and attributes for NetCDF and Zarr."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from dimtensor.cost.memory import available
from dimtensor.errors import (
    ArgumentError,
    DimtensorError,
    InputError,
    MemoryLimitError,
    build_message,
    did_you_mean,
    listing,
    printable,
    reason_of,
)
from dimtensor.extras import check_installed, is_installed
from dimtensor.values.label_texts import (
    encode_label,
    is_text,
    labels_of_kind,
    object_array,
    text_of,
)

# Attribute of text labels that records the type of the original labels.
_MARK = "dimtensor_labels"
_STORES = ("zarr.json", ".zgroup")  # files of the folder of a Zarr store, by its format
# Dates and durations in nanoseconds, which xarray reads back unchanged.
_SPANS = {
    "M": tuple(int(np.datetime64(year, "s").astype("int64")) for year in ("1678", "2262")),
    "m": (-(2**63) // 10**9, 2**63 // 10**9),
}


class NoVariableError(KeyError):
    """A KeyError whose text is shown as it is written, on several lines."""

    @printable
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
        if "engine" not in kwargs and not is_installed("netCDF4"):
            check_installed("h5netcdf", "files", "to_netcdf")
        return storable(self).to_netcdf(*args, **kwargs)

    def to_zarr(self, *args: Any, **kwargs: Any) -> Any:
        """Write to a Zarr store; arguments are those of :meth:`xarray.DataTree.to_zarr`."""
        check_installed("zarr", "files", "to_zarr")
        return storable(self).to_zarr(*args, **kwargs)


# it is one for whoever looks at it
Results.__name__ = "DataTree"


def _groups_with(tree: xr.DataTree, name: str) -> list[str]:
    """Names of the groups of a tree that have a variable of a name, or coords."""
    return [group for group, node in tree.children.items() if name in node.dataset.variables]


def _lacks(tree: xr.DataTree, key: str) -> str:
    """Write the text of the error for a name or path that is not in a tree."""
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
    if isinstance(path, (str, bytes, os.PathLike)) and "://" not in os.fsdecode(path):
        path = _local(path)
        if path.is_dir():
            options = {"engine": "zarr", "consolidated": False, **options}
    try:
        with xr.open_datatree(path, **options) as tree:
            datasets = _groups(tree)
            _require_memory(path, sum(dataset.nbytes for dataset in datasets.values()))
            groups = {name: dataset.load() for name, dataset in datasets.items()}
        return Results.from_dict({name: restored(dataset) for name, dataset in groups.items()})
    except (DimtensorError, MemoryError):
        raise
    except Exception as error:  # the classes are those of xarray and of the libraries under it
        raise _unread(path, reason_of(error)) from error


def _local(path: Any) -> Path:
    """Check the path of a file or Zarr store.

    Raises
    ------
    InputError
        If there is none, or something that is no file, a pipe say, which would be waited for.
    """
    text = os.fsdecode(path)
    if not text or "\0" in text:
        raise ArgumentError(f"load_posterior takes the path of a file, not {text!r}")
    found = Path(text)
    try:
        is_store = any(os.path.lexists(found / name) for name in _STORES)
        files = found.rglob("*") if is_store else [found]
        for file in files:
            if not (file.is_file() or file.is_dir()) and (file.exists() or file.is_symlink()):
                raise _unread(path, f"{str(file)!r} is no regular file")
            if file.exists():
                _require_memory(path, file.stat().st_size)
    except (OSError, ValueError) as error:
        if isinstance(error, DimtensorError):
            raise
        raise _unread(path, reason_of(error)) from error
    if not found.exists():
        raise InputError(
            f"load_posterior: there is no file {text!r}",
            hint="post.to_netcdf(path) or post.to_zarr(path) writes it",
        )
    return found


def _require_memory(path: Any, size: int) -> None:
    """Check that a file can be in memory.

    Raises
    ------
    MemoryLimitError
        If the process cannot get as much as it needs.
    """
    memory = available()
    if size > memory:
        raise MemoryLimitError(
            f"load_posterior: {str(path)!r} needs more memory than there is",
            [("bytes", f"{size:,}"), ("memory", f"{memory:,}")],
            "xr.open_datatree(path) reads what is asked for",
        )


def _unread(path: Any, reason: str) -> InputError:
    return InputError(
        f"load_posterior: {str(path)!r} is not read",
        [("reason", reason)],
        "post.to_netcdf(path) or post.to_zarr(path) writes files that are",
    )


def as_results(tree: xr.DataTree) -> Results:
    """Convert to a tree that can be written to files."""
    return tree if isinstance(tree, Results) else Results.from_dict(_groups(tree), name=tree.name)


def storable(tree: xr.DataTree) -> xr.DataTree:
    """Encode labels and attributes that files do not support as text."""
    groups = {path: stored(dataset) for path, dataset in _groups(tree).items()}
    return xr.DataTree.from_dict(groups, name=tree.name)


def _groups(tree: xr.DataTree) -> dict[str, xr.Dataset]:
    """Datasets by their path below a node."""
    found = tree.subtree_with_keys
    return {"/" if path == "." else path: node.to_dataset(inherit=False) for path, node in found}


def opened(store: Any, group: str) -> xr.Dataset:
    """Open a group of a Zarr store; its arrays are read when they are used."""
    return restored(xr.open_dataset(store, engine="zarr", group=group, consolidated=False))


def stored(dataset: xr.Dataset) -> xr.Dataset:
    """Encode labels and attributes of a Dataset that files do not support as text."""
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
    """Decode the labels of a Dataset that was read from a file."""
    found = dataset.drop_encoding()
    for name, variable in dataset.variables.items():
        kind = variable.attrs.get(_MARK)
        if kind is None:
            continue
        try:
            labels = _labels_of(variable, kind)
        except Exception as error:  # pandas and NumPy raise what their readers raise
            raise InputError(
                f"labels of {name!r} cannot be read: they are no texts of {kind!r}",
                [("reason", reason_of(error)), ("values", listing(variable.values.ravel(), 4))],
                "xr.open_datatree(path) reads them as they are",
            ) from error
        attrs = {key: x for key, x in variable.attrs.items() if key != _MARK}
        if variable.ndim != 1:
            plain = isinstance(labels, np.ndarray)
            labels = (labels if plain else object_array(list(labels))).reshape(variable.shape)
        found = _with(found, name, xr.Variable(variable.dims, labels, attrs))
    return found


def _labels_of(variable: xr.Variable, kind: Any) -> Any:
    """Decode the labels of a variable, along one axis.

    Raises
    ------
    Exception
        If it holds no such labels.
    """
    if variable.dtype.kind not in "mM":
        return labels_of_kind(str(kind), [str(text) for text in variable.values.ravel()])
    dtype = np.dtype(kind)
    if dtype.kind != variable.dtype.kind:
        raise TypeError(f"{variable.dtype} is not {dtype}")
    return variable.values.astype(dtype).ravel()


def _with(dataset: xr.Dataset, name: Any, variable: xr.Variable) -> xr.Dataset:
    """Replace a variable of a Dataset."""
    put = dataset.assign_coords if name in dataset.coords else dataset.assign
    return put({name: variable})


# -- labels ----------------------------------------------------------------------------------------


def _texts(index: pd.Index) -> tuple[str, np.ndarray] | None:
    """Return the kind of labels and their texts; None for labels that files support."""
    dtype = index.dtype
    if isinstance(dtype, (pd.PeriodDtype, pd.IntervalDtype, pd.DatetimeTZDtype)):
        return str(dtype), object_array([text_of(label) for label in index])
    if dtype.kind in "mM":
        values = index.to_numpy()
        seconds = values[~np.isnat(values)].astype(f"{dtype.kind}8[s]").astype("int64")
        low, high = _SPANS[dtype.kind]
        if not len(seconds) or (low < seconds.min() and seconds.max() < high):
            return None
        told = values if dtype.kind == "M" else values.astype("int64")
        return str(dtype), object_array([str(x) for x in told])
    if type(index).__name__ == "CFTimeIndex":  # xarray writes them, with their calendar
        return None
    if dtype.kind == "c" or (dtype.kind == "O" and not all(map(is_text, index))):
        return "json", object_array([json.dumps(encode_label(label)) for label in index])
    return None


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
