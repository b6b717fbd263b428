"""Sources of streams: arrays, files, stores and factories that give their rows in blocks."""

from __future__ import annotations

import itertools
import math
import mmap
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dimtensor.errors import ArgumentError, DimError, InputError, StreamError, did_you_mean, listing
from dimtensor.extras import require
from dimtensor.values.labeled import is_dataarray

_POPULATE_READ = 22  # MADV_POPULATE_READ of Linux, which Python's module does not name
# Arrays of the same rows, one for each column that was asked for.
Block = tuple[np.ndarray, ...]


class Source(ABC):
    """Rows that are read in blocks, from the first one in each pass.

    Attributes
    ----------
    rows : int or None
        Number of rows that the source reads at a time without waste, if it has one.
    seen : int or None
        Number of rows of the first whole pass, which later ones must have.
    """

    rows: int | None = None

    def __init__(self) -> None:
        self.seen: int | None = None

    @property
    def key(self) -> Any:
        """Identity of the source: columns of sources with equal keys are read together."""
        return id(self)

    def length(self) -> int | None:
        """Return the number of rows that the source states now; None if it states none."""
        return None

    @abstractmethod
    def blocks(self, columns: Sequence[str | None], size: int) -> Iterator[Block]:
        """Read consecutive blocks of rows; blocks of `size` rows are the best."""

    def labels(self) -> Any:
        """Return the index of the rows, if the source has one in memory."""
        return None


class ArraySource(Source):
    """Array that is read by slices: of NumPy, or of another library."""

    def __init__(self, array: Any):
        super().__init__()
        self._array = array

    def length(self) -> int:
        return int(self._array.shape[0])

    def blocks(self, columns: Sequence[str | None], size: int) -> Iterator[Block]:
        for start in range(0, self.length(), size):
            found = np.asarray(self._array[start : start + size])
            yield tuple(found if name is None else found[name] for name in columns)


class FileSource(Source):
    """Contiguous array in a file, of NumPy's format or mapped into memory.

    Each chunk is mapped on its own, so that what was read counts as free memory again. A file that
    was truncated is found before it is mapped: to read beyond the end of one ends the process.
    """

    def __init__(self, path: Path, offset: int, dtype: np.dtype, shape: tuple[int, ...]):
        super().__init__()
        self._path, self._offset, self._dtype, self._shape = path, offset, dtype, shape

    @property
    def key(self) -> Any:
        return self._path, self._offset, self._dtype.str, self._shape

    def length(self) -> int:
        return self._shape[0]

    def blocks(self, columns: Sequence[str | None], size: int) -> Iterator[Block]:
        with open(self._path, "rb", buffering=0) as file:
            for start in range(0, self._shape[0], size):
                found = self._mapped(file.fileno(), start, min(size, self._shape[0] - start))
                yield tuple(found if name is None else found[name] for name in columns)
                del found

    def _mapped(self, file: int, start: int, rows: int) -> np.ndarray:
        shape = (rows, *self._shape[1:])
        row = self._dtype.itemsize * math.prod(shape[1:])
        begin, end = self._offset + start * row, self._offset + (start + rows) * row
        if os.fstat(file).st_size < end:
            raise InputError(f"the file {os.fspath(self._path)!r} ends there")
        if begin == end:
            return np.empty(shape, self._dtype)
        page = begin - begin % mmap.ALLOCATIONGRANULARITY
        memory = mmap.mmap(file, end - page, access=mmap.ACCESS_READ, offset=page)
        _read_pages(memory)
        found = np.frombuffer(memory, self._dtype, math.prod(shape), begin - page)
        return found.reshape(shape)


def _read_pages(memory: mmap.mmap) -> None:
    """Read the pages of mapped memory now, in this thread."""
    try:
        memory.madvise(_POPULATE_READ)
    except (AttributeError, OSError, ValueError):  # another system than Linux, or before 5.14
        np.frombuffer(memory, np.uint8)[:: mmap.PAGESIZE].max()


class DataArraySource(Source):
    """DataArray, whose dask arrays are computed block by block.

    Parameters
    ----------
    array : DataArray
    dims : tuple of str
        The dims in the order of the axes of blocks, the dim of the rows first.
    """

    def __init__(self, array: Any, dims: tuple[str, ...]):
        super().__init__()
        self._array = array.transpose(*dims)
        self._dim = dims[0]
        chunks = self._array.chunks
        self._bounds = None if chunks is None else [0, *np.cumsum(chunks[0]).tolist()]
        self.rows = None if chunks is None else max(chunks[0], default=0) or None

    def length(self) -> int:
        return int(self._array.sizes[self._dim])

    def labels(self) -> Any:
        return self._array.indexes.get(self._dim)

    def blocks(self, columns: Sequence[str | None], size: int) -> Iterator[Block]:
        bounds = self._bounds or [*range(0, self.length(), size), self.length()]
        for start, stop in itertools.pairwise(bounds):
            found = self._array.isel({self._dim: slice(start, stop)}).values
            yield (found,) * len(columns)


class ZarrSource(Source):
    """Zarr array, or arrays of a group; opened in each pass again."""

    def __init__(self, store: Any, path: str, column: str | None):
        super().__init__()
        self._store, self._path = store, path
        array = self._open(column)
        self.rows = int((array.shards or array.chunks)[0]) if array.ndim else None
        self._first = column

    @property
    def key(self) -> Any:
        store = self._store
        return (store, self._path) if isinstance(store, (str, Path)) else (id(store), self._path)

    def _open(self, column: str | None) -> Any:
        zarr = require("zarr", "files", "a stream from a Zarr store")
        found = zarr.open(self._store, path=self._path or None, mode="r")
        if not hasattr(found, "array_keys"):
            return found
        names = [*found.array_keys()]
        if column not in names:
            given = "a Zarr group has several arrays" if column is None else None
            raise InputError(
                given or f"the Zarr store has no array {column!r}{did_you_mean(column, names)}",
                [("arrays", listing(names))],
                "its name is the column of the stream" if column is None else None,
            )
        return found[column]

    def length(self) -> int:
        return int(self._open(self._first).shape[0])

    def blocks(self, columns: Sequence[str | None], size: int) -> Iterator[Block]:
        arrays = [self._open(name) for name in columns]
        for start in range(0, max(x.shape[0] for x in arrays), size):
            yield tuple(np.asarray(x[start : start + size]) for x in arrays)


class ParquetSource(Source):
    """Columns of a Parquet file, or of all files of a folder in the order of their names."""

    def __init__(self, path: Path, column: str | None):
        super().__init__()
        self._path = path
        self._parquet = require("pyarrow.parquet", "sampling", "a stream from Parquet")
        names = self._open(self._files()[0]).schema_arrow.names
        if column not in names:
            given = "a Parquet file has columns" if column is None else None
            raise InputError(
                given
                or f"{os.fspath(path)!r} has no column {column!r}{did_you_mean(column, names)}",
                [("columns", listing(names))],
                "its name is the column of the stream" if column is None else None,
            )

    @property
    def key(self) -> Any:
        return self._path

    def _files(self) -> list[Path]:
        if not self._path.is_dir():
            return [self._path]
        found = sorted(self._path.glob("**/*.parquet"))
        if not found:
            raise InputError(f"the folder {os.fspath(self._path)!r} has no Parquet files")
        return found

    def _open(self, path: Path) -> Any:
        return self._parquet.ParquetFile(path)

    def length(self) -> int:
        return sum(self._open(path).metadata.num_rows for path in self._files())

    def blocks(self, columns: Sequence[str | None], size: int) -> Iterator[Block]:
        for path in self._files():
            with self._open(path) as file:
                for batch in file.iter_batches(batch_size=size, columns=[*dict.fromkeys(columns)]):
                    yield tuple(_of_arrow(batch.column(name)) for name in columns)


def _of_arrow(column: Any) -> np.ndarray:
    """Convert a column of Arrow to numbers or labels; absent ones are NaN or None."""
    if hasattr(column, "dictionary"):
        column = column.dictionary_decode()
    found: np.ndarray = column.to_numpy(zero_copy_only=False)
    return found


class FactorySource(Source):
    """Function that returns a new iterator of blocks at each call."""

    def __init__(self, factory: Callable[[], Any]):
        super().__init__()
        self._factory = factory

    @property
    def key(self) -> Any:
        return self._factory

    def blocks(self, columns: Sequence[str | None], size: int) -> Iterator[Block]:
        blocks = iter(self._factory())
        try:
            for block in blocks:
                yield tuple(np.asarray(block if name is None else block[name]) for name in columns)
        finally:
            if hasattr(blocks, "close"):
                blocks.close()


def source_of(value: Any, dims: tuple[str, ...], column: str | None) -> Source:
    """Return the source of a stream.

    Parameters
    ----------
    value : array, path, Zarr array or group, DataArray or callable
    dims : tuple of str
        Names of the dims, those of the rows first.
    column : str or None
        Column of a table, array of a group.

    Raises
    ------
    ArgumentError
        If the value is something else.
    InputError
        If there is no such file or column.
    DimError
        If a DataArray has other dims.
    """
    if is_dataarray(value):
        if set(value.dims) != set(dims):
            raise DimError(
                "dt.stream: the DataArray has other dims than the stream",
                [("DataArray", listing(value.dims)), ("stream", listing(dims))],
            )
        return DataArraySource(value, dims)
    if isinstance(value, (str, os.PathLike)):
        return _at_path(Path(value), column)
    if isinstance(value, np.ndarray):
        return _of_array(value)
    if type(value).__module__.partition(".")[0] == "zarr" and hasattr(value, "store"):
        return ZarrSource(value.store, value.path, column)
    if callable(value):
        return FactorySource(value)
    if hasattr(value, "__next__"):
        raise ArgumentError(
            f"dt.stream reads its source in each pass again, and {type(value).__name__} can be "
            "read once",
            hint="pass a function that returns a new iterator of chunks at each call",
        )
    is_table = hasattr(value, "columns") or hasattr(value, "column_names")
    if not is_table and getattr(value, "shape", None) and hasattr(value, "__getitem__"):
        return ArraySource(value)
    raise ArgumentError(
        f"dt.stream reads arrays, files, stores and factories of chunks, not "
        f"{type(value).__name__}",
        hint="values in memory are data",
    )


def _of_array(array: np.ndarray) -> Source:
    root: Any = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    plain = array.ndim > 0 and array.flags.c_contiguous and not array.dtype.hasobject
    if not isinstance(root, np.memmap) or not plain or root.filename is None:
        return ArraySource(array)
    address = [x.__array_interface__["data"][0] for x in (array, root)]
    offset = address[0] - address[1] + root.offset
    return FileSource(Path(root.filename), offset, array.dtype, array.shape)


def _at_path(path: Path, column: str | None) -> Source:
    if not path.exists():
        raise InputError(f"dt.stream: there is no file {os.fspath(path)!r}")
    if path.suffix == ".npy":
        try:
            array = np.load(path, mmap_mode="r")
        except ValueError as error:
            raise StreamError(
                f"dt.stream: {os.fspath(path)!r} is no array of NumPy's format, or truncated"
            ) from error
        return _of_array(array)
    is_parquet = path.suffix in (".parquet", ".pq")
    if is_parquet or (path.is_dir() and next(path.glob("**/*.parquet"), None) is not None):
        return ParquetSource(path, column)
    if path.is_dir():
        return ZarrSource(path, "", column)
    raise ArgumentError(
        f"dt.stream: the kind of {os.fspath(path)!r} is unknown",
        hint="the names of files of NumPy end in npy, of Parquet in parquet, and a Zarr store is a "
        "folder; plain numbers are mapped into memory by NumPy",
    )
