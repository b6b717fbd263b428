"""``dt.stream``: data that are read in chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, as_dim_tuple, canonical_dims
from dimtensor.errors import (
    DimError,
    DimtensorError,
    DtypeError,
    GraphError,
    InputError,
    OptionError,
    StreamError,
    listing,
    printable,
    reason_of,
)
from dimtensor.extras import require
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import InputAttrs
from dimtensor.graph.dtypes import valid_dtype
from dimtensor.graph.partition.analysis import nodes_with_masks
from dimtensor.streams.sources import Source, source_of, usual_rows
from dimtensor.tensor.handle import TensorHandle, wrap
from dimtensor.tensor.inputs import require_dim
from dimtensor.typing import DimsLike
from dimtensor.values.admission import as_dtype, check_positions, label_positions

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import DtypeLike


# Checks the values of a chunk, whose axes are in the order of a stream's dims.
Check = Callable[[np.ndarray], None]


class StreamedValues:
    """Column of a source that is read in chunks, as the values of a tensor.

    Attributes
    ----------
    source : Source
    column : str or None
    title : str
        Name in errors.
    dims : tuple of Dim
        In the order of the axes of a chunk: first that of the rows.
    chunks : int or None
        Rows that are read at a time.
    dtype : str
    categories : Dim or None
    check : callable or None
        Of observations, which are not missing: checks the values of a chunk. Called in the first
        pass.
    checked : bool
        Whether there was a whole pass.
    """

    def __init__(
        self,
        source: Source,
        column: str | None,
        name: str | None,
        dims: tuple[Dim, ...],
        chunks: int | None,
        dtype: str,
        categories: Dim | None,
        check: Check | None = None,
    ):
        self.source, self.column, self.name = source, column, name
        self.title = "the stream" if name is None else f"the stream {name!r}"
        self.dims, self.chunks = dims, chunks
        self.dtype, self.categories, self.check = dtype, categories, check
        self.checked = False

    def admit(self, values: np.ndarray) -> np.ndarray:
        """Check and convert the values of a chunk, with axes in the order of `dims`.

        Raises
        ------
        DimtensorError
            If axes, labels or the dtype are not those of the tensor, or values are missing.
        """
        if values.shape[1:] != tuple(dim.length for dim in self.dims[1:]):
            expected = ", ".join(f"{dim._short}: {dim.length}" for dim in self.dims[1:])
            raise DimError(
                f"{self.title} has chunks of shape {values.shape}, and {len(self.dims)} dims",
                [("dims", ", ".join(dim._short for dim in self.dims))]
                + ([("lengths", expected)] if expected else []),
            )
        if self.categories is not None:
            return self._positions(values, self.categories)
        if self.check is not None:
            values = self._whole(values)
        found = np.require(as_dtype(values, self.dtype, self.title), requirements=["C", "A"])
        if self.check is not None and not self.checked:
            self.check(found)
        return found

    def _whole(self, values: np.ndarray) -> np.ndarray:
        """Check that no observation is missing; those of a discrete variable may be floats."""
        if values.dtype.kind != "f":
            return values
        if not self.checked and np.isnan(values).any():
            raise InputError(
                f"{self.title} lacks an observation",
                hint="leave the row out of the source: missing observations of a stream are not "
                "inferred",
            )
        if np.dtype(self.dtype).kind not in "iu":
            return values
        found = values.astype(self.dtype)
        if (found != values).any():
            broken = values[found != values]
            raise InputError(
                f"observations of {self.name!r} are whole numbers, not {broken[0].item():g}"
            )
        return found

    def _positions(self, values: np.ndarray, categories: Dim) -> np.ndarray:
        """Return the positions of labels; positions are passed through."""
        if categories.coords is None and values.dtype == np.int64:
            values, length = np.require(values, requirements=["C", "A"]), categories.length
            # negative ones are large: one pass over the values tells that all are in range
            if values.size and length is not None and values.view(np.uint64).max() >= length:
                check_positions(values, length, categories, self.title)
            return values
        return label_positions(values, categories, self.title)

    def in_chunks(self) -> xr.DataArray:
        """Return the values as a DataArray of dask, which reads each chunk when it is computed.

        Raises
        ------
        StreamError
            If chunks can only be read one after the other.
        """
        import xarray as xr

        length = self.source.length()
        if length is None or not self.source.is_seekable:
            raise StreamError(
                f"{self.title} is read from its first row in each pass, and functions read chunks "
                "in any order",
                hint="log densities and models read it; a file of NumPy, a Zarr store and Parquet "
                "are read from any row",
            )
        dask = require("dask", "dask", "a function of a stream")
        arrays = require("dask.array", "dask", "a function of a stream")
        size = self.chunks or usual_rows(self.source.rows)
        inner = tuple(dim.length for dim in self.dims[1:])
        read = dask.delayed(self._read, pure=False)
        dtype = self.dtype if self.categories is None else self._read(0, 1).dtype
        ends = [(start, min(start + size, length)) for start in range(0, length, size)] or [(0, 0)]
        parts = [
            arrays.from_delayed(read(start, stop), (stop - start, *inner), dtype)
            for start, stop in ends
        ]
        return xr.DataArray(arrays.concatenate(parts), dims=[dim._short for dim in self.dims])

    def _read(self, start: int, stop: int) -> np.ndarray:
        """Read rows; labels are not looked up."""
        found = list(self.source.blocks([self.column], max(stop - start, 1), start, stop))
        values = np.concatenate([block for (block,) in found]) if found else np.empty(0)
        return values if self.categories is not None else self.admit(values)

    @printable
    def __repr__(self) -> str:
        return f"<Stream {self.name!r} along {self.dims[0]._short!r}>"


def stream_of(value: Any) -> StreamedValues | None:
    """Return the stream that a tensor is read from; None for other values."""
    node = value.node if isinstance(value, TensorHandle) else None
    return None if node is None or node.kind != "input" else node.attrs.stream


def stream(
    source: Any,
    dims: DimsLike,
    chunks: int | None = None,
    *,
    column: str | None = None,
    name: str | None = None,
    categories: Dim | None = None,
    dtype: DtypeLike | None = None,
) -> DimTensor:
    """Make a tensor of values that are read in chunks and never held in memory as a whole.

    A stream stands where data stand: in the terms of a :class:`LogDensity`, in
    ``dt.Model(..., data={...})``, ``with_data`` and ``observe``. A value or gradient of the log
    density is one pass over the chunks, the next of which is read in a thread while one is
    computed, so about two chunks are in memory at a time. The expressions must allow slices of the
    dim to be computed separately, which :func:`dimtensor.partition` tells.

    Parameters
    ----------
    source : path, array, DataArray, Zarr array or group, or callable
        What is read, in each pass again: a file of NumPy (``.npy``), of Parquet or a folder of
        such files, a Zarr store; an array mapped into memory, or any other with slices; a DataArray
        of dask; or a function that returns a new iterator of chunks at each call. Chunks are
        arrays, or have columns by name, as tables and dicts do.
    dims : Dim or sequence of Dim
        Dims in the order of the axes. The first one is the dim of the rows, along which chunks
        are cut; it has neither length nor labels, and the others have lengths.
    chunks : int, optional
        Rows of a chunk; by default some 250,000, and a multiple of the chunks of a store. Results
        depend on it in their last bits.
    column : str, optional
        Column of a table, array of a Zarr group. Columns of one source are read together.
    name : str, optional
        By default the column, or the name of the DataArray.
    categories : Dim, optional
        The values are labels of this dim, which are checked chunk by chunk.
    dtype : dtype-like, optional
        By default that of the source.

    Returns
    -------
    DimTensor

    Raises
    ------
    ArgumentError
        If the source is of no known kind.
    InputError
        If there is no such file, or no such column.
    DimError
        If the dim of the rows has a length, another dim has none, or a DataArray has other dims.
    OptionError
        If `chunks` is not a positive number.
    DtypeError
        If the values are labels, and `categories` is not given.
    StreamError
        If the first rows cannot be read.
    MemoryLimitError
        If a chunk of an array of dask does not fit into memory.

    Examples
    --------
    >>> import dimtensor as dt
    >>> import numpy as np
    >>> obs = dt.Dim("obs")
    >>> y = dt.stream(np.arange(10.0), dims=obs, chunks=4, name="y")
    >>> mu = dt.scalar("mu")
    >>> density = dt.LogDensity({"y": -((y - mu) ** 2)}, {mu: dt.real}, backend="python")
    >>> value, gradient = density.logp_and_grad(np.array([1.0]))
    >>> value, gradient.tolist()
    (-205.0, [70.0])

    A function of chunks, whose labels are looked up:

    >>> country = dt.Dim("country", coords=["Italy", "Kenya"])
    >>> def tables():
    ...     yield {"y": np.array([1.0, 2.0]), "where": np.array(["Kenya", "Italy"])}
    ...     yield {"y": np.array([3.0]), "where": np.array(["Kenya"])}
    >>> y = dt.stream(tables, obs, column="y")
    >>> where = dt.stream(tables, obs, column="where", categories=country)
    >>> effect = dt.tensor("effect", country)
    >>> terms = {"y": -((y - effect.sel({country: where})) ** 2)}
    >>> density = dt.LogDensity(terms, {effect: dt.real}, backend="python")
    >>> density.logp(np.array([2.0, 3.0]))
    -4.0
    """
    given = as_dim_tuple(dims, "the dims of a stream")
    require_dim(categories)
    _check_dims(given)
    if chunks is not None and (
        isinstance(chunks, bool) or not isinstance(chunks, (int, np.integer)) or chunks < 1
    ):
        raise OptionError(f"dt.stream: chunks is a number of rows, not {chunks!r}")
    try:
        found = source_of(source, tuple(dim._short for dim in given), column)
    except DimtensorError:
        raise
    except Exception as error:
        raise StreamError(f"dt.stream: the source cannot be read: {reason_of(error)}") from error
    own = column if column is not None else getattr(source, "name", None)
    if name is None and isinstance(own, str) and not hasattr(source, "dask"):
        name = own.rpartition("/")[2] or None
    title = "the stream" if name is None else f"the stream {name!r}"
    if categories is not None:
        known = "int64"
    elif dtype is not None:
        known = valid_dtype(dtype)
    else:
        known = _dtype_of(found, column, title)
    values = StreamedValues(found, column, name, given, chunks, known, categories)
    attrs = InputAttrs(
        name, None, canonical_dims(given, "the dims of a stream"), known, categories, values
    )
    return wrap(make("input", (), attrs))


def as_values(node: Node, values: StreamedValues, check: Check | None = None) -> StreamedValues:
    """Return a stream as the values of a tensor of other name and type.

    Parameters
    ----------
    node : Node
    values : StreamedValues
    check : callable, optional
        Check of observations.

    Raises
    ------
    DimError
        If the stream has other dims.
    """
    if frozenset(values.dims) != frozenset(node.dims):
        raise DimError(
            f"{values.title} has other dims than {node.name!r}, whose values it is to be",
            [
                ("stream", ", ".join(dim._short for dim in values.dims)),
                ("tensor", ", ".join(dim._short for dim in node.dims) or "none"),
            ],
        )
    own = (node.name, values.dims, values.chunks, node.dtype, node.categories, check)
    return StreamedValues(values.source, values.column, *own)


def stream_tensor(node: Node, values: StreamedValues) -> DimTensor:
    """Return a tensor of the name and type of another, whose values are read from a stream."""
    attrs = InputAttrs(node.name, None, node.dims, node.dtype, node.categories, values)
    return wrap(make("input", (), attrs))


def streamed(outputs: Sequence[Node]) -> dict[Node, StreamedValues]:
    """Return the leaves of expressions that are read from streams."""
    nodes = nodes_with_masks(outputs)
    return {x: x.attrs.stream for x in nodes if x.kind == "input" and x.attrs.stream is not None}


def rows_of(streams: Mapping[Node, StreamedValues]) -> Dim:
    """Return the dim of the rows of streams.

    Raises
    ------
    GraphError
        If there are several.
    """
    dims = {x.dims[0]: x for x in streams.values()}
    if len(dims) > 1:
        raise GraphError(
            "streams along several dims are not read together",
            [(x.title, f"along {dim._short!r}") for dim, x in dims.items()],
            "the shorter ones can be data in memory",
        )
    return next(iter(dims))


def _check_dims(dims: tuple[Dim, ...]) -> None:
    if not dims:
        raise DimError("a stream has at least one dim, that of its rows")
    rows, *others = dims
    if rows.length is not None or rows.parents:
        raise DimError(
            f"a stream is cut along {rows._title}, whose length is that of the source",
            [("dim", repr(rows))],
            f"a dim without length and labels: {rows._short} = dt.Dim({rows._short!r})",
        )
    late = [dim._short for dim in others if dim.length is None]
    if late:
        raise DimError(
            f"a stream is cut along {rows._title}, and its other dims have lengths",
            [("without length", listing(late))],
            "give them lengths, or the labels that they have",
        )


def _dtype_of(source: Source, column: str | None, title: str) -> str:
    """Return the dtype of the first block.

    Raises
    ------
    StreamError
        If it cannot be read.
    DtypeError
        If it holds no numbers.
    """
    blocks = source.blocks([column], 1)
    try:
        ((first,),) = [next(blocks, (np.empty(0),))]
    except Exception as error:
        raise StreamError(
            f"the first rows of {title} cannot be read: {reason_of(error)}"
        ) from error
    finally:
        blocks.close()  # type: ignore[attr-defined]
    if first.dtype.kind not in "biufc":
        raise DtypeError(
            f"{title} has values that are no numbers: {listing(first.ravel(), 3)}",
            hint="give the dim that they are labels of as its categories",
        )
    return valid_dtype(first.dtype)
