"""Reading of values whose arrays are dask's: names, lengths and labels, without computing them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dimtensor.dims import Binding, Coords, Dim, dim_labels
from dimtensor.errors import InputError
from dimtensor.values.admission import as_dtype, in_axis_order, label_positions, require_plain
from dimtensor.values.labeled import Labeled, as_array, as_labeled, axis_names, is_dataarray
from dimtensor.values.ports import LengthPort, Port, Reading, TensorPort


def array_in_chunks(value: Any) -> Any:
    """Return the dask array of a value: a DataArray, a pair of names and an array, or itself.

    None if the value has none.
    """
    if is_dataarray(value):
        value = value.variable._data
    elif isinstance(value, tuple) and len(value) == 2:
        value = value[1]
    return value if type(value).__module__.startswith("dask.array.") else None


def any_in_chunks(values: Sequence[Any]) -> bool:
    """Return True if a value has a dask array, or is read in chunks."""
    if any(is_stream(value) for value in values):
        return True
    if "dask.array" not in sys.modules:
        return False
    return any(array_in_chunks(value) is not None for value in values)


def is_stream(value: Any) -> bool:
    """Return True if a value is a tensor that is read from a stream."""
    if not hasattr(type(value), "node"):
        return False
    return value.node.kind == "input" and value.node.attrs.stream is not None


class ChunkedValue(NamedTuple):
    """Value of one input.

    Attributes
    ----------
    array : dask array, ndarray, or object
        With its axes in the order of `dims`. The value of a dim is passed through.
    dims : tuple of Dim
    labels : dict of Dim to Coords
        Labels of dims that have none of their own.
    """

    array: Any
    dims: tuple[Dim, ...]
    labels: dict[Dim, Coords]

    @property
    def cut(self) -> set[Dim]:
        """Dims with several chunks."""
        counts = getattr(self.array, "numblocks", (1,) * len(self.dims))
        return {dim for dim, count in zip(self.dims, counts, strict=True) if count > 1}


def labeled_in_chunks(value: Any, port: TensorPort) -> Labeled:
    """Read the names and labels of a value; its array is not computed.

    Raises
    ------
    InputError
        If the axes of an array do not name the dims.
    """
    if is_stream(value):
        value = value.node.attrs.stream.in_chunks()
    chunks = array_in_chunks(value)
    if chunks is None:
        labeled = as_labeled(value, port.dims, port.title)
        if labeled is not None:
            return labeled
        array = as_array(value, port.title)
        require_plain(array, port.dims, port.title)
        return Labeled(array, tuple(axis_names(port.dims).values()), {})
    if not all(length == length for length in chunks.shape):
        raise InputError(
            f"{port.title} has chunks of unknown lengths",
            hint="compute_chunk_sizes, a method of arrays of dask, computes the lengths",
        )
    stand_in = np.broadcast_to(np.zeros((), chunks.dtype), chunks.shape)
    labeled = None
    if is_dataarray(value):
        labeled = as_labeled(value.copy(data=stand_in), port.dims, port.title)
    elif isinstance(value, tuple):
        labeled = as_labeled((value[0], stand_in), port.dims, port.title)
    if labeled is None:
        require_plain(stand_in, port.dims, port.title)
        labeled = Labeled(stand_in, tuple(axis_names(port.dims).values()), {})
    return Labeled(chunks, labeled.names, labeled.labels, labeled.levels)


def read_operands(
    ports: Sequence[Port], values: Sequence[Any], binding: Binding
) -> list[ChunkedValue]:
    """Read the values of inputs, and bind their lengths and labels.

    Raises
    ------
    InputError, DimError, LabelError, DtypeError
        If a value does not fit its input, or disagrees with another one.
    """
    operands = []
    for port, value in zip(ports, values, strict=True):
        if isinstance(port, LengthPort):
            port.tell(port.read(value), binding)
            operands.append(ChunkedValue(value, (), {}))
            continue
        said = Binding()
        array = in_axis_order(value, port.dims, said, port.title)
        sample = array if isinstance(array, np.ndarray) else np.zeros(1, array.dtype)
        categories = port.node.categories
        if categories is None:
            checked = as_dtype(sample, port.node.dtype, port.title)
            array = checked if sample is array else array
        elif sample is array and dim_labels(categories) is not None:
            label_positions(array, categories, port.title)
        found = tuple(said.said(dim) for dim in port.dims)
        port.tell(Reading(array, array.shape, found), binding)
        labels = {dim: one for dim, one in zip(port.dims, found, strict=True) if one is not None}
        operands.append(ChunkedValue(array, port.dims, labels))
    return operands
