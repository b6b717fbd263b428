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
from dimtensor.values.loading import check_fits

# Rows that are read at a time by default: some megabytes, so that a chunk's costs do not count.
_ROWS = 2**18
# default number of rows of a block that is read to take single rows from it
_BLOCK = 2**16
_POPULATE_READ = 22  # MADV_POPULATE_READ of Linux, which Python's module does not name
# Arrays of the same rows, one for each column that was asked for.
Block = tuple[np.ndarray, ...]


class Source(ABC):
    """Rows that are read in blocks, from the first one in each pass.

    Attributes
    ----------
    is_seekable : bool
        Whether reading may start at any row.
    gathers_rows : bool
        Whether rows here and there are read without those between them.
    rows : int or None
        Number of rows that the source reads at a time without waste, if it has one.
    seen : int or None
        Number of rows of the first whole pass, which later ones must have.
    """

    is_seekable = False
    gathers_rows = False
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
    def blocks(
        self, columns: Sequence[str | None], size: int, start: int = 0, stop: int | None = None
    ) -> Iterator[Block]:
        """Read consecutive blocks of rows; blocks of `size` rows are the best.

        Parameters
        ----------
        columns : sequence of str or None
        size : int
        start, stop : int, optional
            The rows that are read, of a source that is seekable; by default all of them.
        """

    def take(self, columns: Sequence[str | None], rows: np.ndarray) -> Block:
        """Read single rows of a seekable source, which are sorted."""
        size = self.rows or _BLOCK
        parts = []
        for block in np.unique(rows // size).tolist():
            start, stop = block * size, min((block + 1) * size, self.length() or 0)
            inside = rows[(rows >= start) & (rows < stop)] - start
            whole = zip(*self.blocks(columns, size, start, stop), strict=True)
            parts.append([np.concatenate(column)[inside] for column in whole])
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))

    def for_workers(self) -> Source | None:
        """Return the source as processes on other machines open it; None if they cannot."""
        return None

    def labels(self) -> Any:
        """Return the index of the rows, if the source has one in memory."""
        return None


class ArraySource(Source):
    """Array that is read by slices: of NumPy, or of another library."""

    is_seekable = True

    def __init__(self, array: Any):
        super().__init__()
        self._array = array
        self.gathers_rows = isinstance(array, np.ndarray)

    def length(self) -> int:
        return int(self._array.shape[0])

    def blocks(
        self, columns: Sequence[str | None], size: int, start: int = 0, stop: int | None = None
    ) -> Iterator[Block]:
        for at, end in _ranges(start, self.length() if stop is None else stop, size):
            yield _fields(np.asarray(self._array[at:end]), columns)

    def take(self, columns: Sequence[str | None], rows: np.ndarray) -> Block:
        if not self.gathers_rows:
            return super().take(columns, rows)
        return _fields(self._array[rows], columns)


class FileSource(Source):
    """Contiguous array in a file, of NumPy's format or mapped into memory.

    Each chunk is mapped on its own, so that what was read counts as free memory again. A file that
    was truncated is found before it is mapped: to read beyond the end of one ends the process.
    """

    is_seekable = gathers_rows = True

    def __init__(self, path: Path, offset: int, dtype: np.dtype, shape: tuple[int, ...]):
        super().__init__()
        self._path, self._offset, self._dtype, self._shape = path, offset, dtype, shape

    @property
    def key(self) -> Any:
        return self._path, self._offset, self._dtype.str, self._shape

    def length(self) -> int:
        return self._shape[0]

    def blocks(
        self, columns: Sequence[str | None], size: int, start: int = 0, stop: int | None = None
    ) -> Iterator[Block]:
        with open(self._path, "rb", buffering=0) as file:
            for at, end in _ranges(start, self._shape[0] if stop is None else stop, size):
                memory, found = self._mapped(file.fileno(), at, end - at)
                if memory is not None:
                    _read_pages(memory)
                block = _fields(found, columns)
                del memory, found
                yield block
                del block

    def take(self, columns: Sequence[str | None], rows: np.ndarray) -> Block:
        with open(self._path, "rb", buffering=0) as file:
            first = int(rows[0])
            memory, found = self._mapped(file.fileno(), first, int(rows[-1]) + 1 - first)
            if memory is not None and hasattr(mmap, "MADV_RANDOM"):
                memory.madvise(mmap.MADV_RANDOM)
            return _fields(found[rows - first], columns)

    def for_workers(self) -> Source:
        return FileSource(self._path.absolute(), self._offset, self._dtype, self._shape)

    def _mapped(self, file: int, start: int, rows: int) -> tuple[mmap.mmap | None, np.ndarray]:
        shape = (rows, *self._shape[1:])
        row = self._dtype.itemsize * math.prod(shape[1:])
        begin, end = self._offset + start * row, self._offset + (start + rows) * row
        if os.fstat(file).st_size < end:
            raise InputError(f"the file {os.fspath(self._path)!r} ends there")
        if begin == end:
            return None, np.empty(shape, self._dtype)
        page = begin - begin % mmap.ALLOCATIONGRANULARITY
        memory = mmap.mmap(file, end - page, access=mmap.ACCESS_READ, offset=page)
        found = np.frombuffer(memory, self._dtype, math.prod(shape), begin - page)
        return memory, found.reshape(shape)


def _ranges(start: int, stop: int, size: int) -> Iterator[tuple[int, int]]:
    """Cut rows into ranges of `size` rows, the last one shorter."""
    return ((at, min(at + size, stop)) for at in range(start, stop, size))


def _fields(rows: np.ndarray, columns: Sequence[str | None]) -> Block:
    return tuple(rows if name is None else rows[name] for name in columns)


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

    is_seekable = True

    def __init__(self, array: Any, dims: tuple[str, ...]):
        super().__init__()
        self._array = array.transpose(*dims)
        self._dim, self._names = dims[0], dims
        self._scheduler: str | None = None
        chunks = self._array.chunks
        self._bounds = None if chunks is None else [0, *np.cumsum(chunks[0]).tolist()]
        self.rows = None if chunks is None else max(chunks[0], default=0) or None
        if self.rows is not None:  # dask computes a chunk as a whole
            sizes = {str(name): length for name, length in self._array.sizes.items()}
            sizes[dims[0]] = self.rows
            hint = f"array.chunk({{{dims[0]!r}: {_ROWS}}}) has smaller ones"
            check_fits(sizes, self._array.dtype, "a chunk of the stream", hint)

    def length(self) -> int:
        return int(self._array.sizes[self._dim])

    def labels(self) -> Any:
        return self._array.indexes.get(self._dim)

    def blocks(
        self, columns: Sequence[str | None], size: int, start: int = 0, stop: int | None = None
    ) -> Iterator[Block]:
        stop = self.length() if stop is None else stop
        bounds = self._bounds or [*range(start, stop, size), stop]
        for at, end in itertools.pairwise(bounds):
            at, end = max(at, start), min(end, stop)
            if at < end:
                part = self._array.isel({self._dim: slice(at, end)})
                if self._scheduler is not None:
                    part = part.compute(scheduler=self._scheduler)
                yield (part.values,) * len(columns)

    def for_workers(self) -> Source | None:
        if self._bounds is None:
            return None
        other = DataArraySource(self._array, self._names)
        other._scheduler = "synchronous"  # a worker's task would wait for others of its cluster
        return other


class ZarrSource(Source):
    """Zarr array, or arrays of a group; opened in each pass again."""

    is_seekable = True

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
                f"name one of them: column={names[0]!r}" if column is None and names else None,
            )
        return found[column]

    def length(self) -> int:
        return int(self._open(self._first).shape[0])

    def blocks(
        self, columns: Sequence[str | None], size: int, start: int = 0, stop: int | None = None
    ) -> Iterator[Block]:
        arrays = [self._open(name) for name in columns]
        whole = max(x.shape[0] for x in arrays)
        for at, end in _ranges(start, whole if stop is None else stop, size):
            yield tuple(np.asarray(x[at:end]) for x in arrays)

    def for_workers(self) -> Source | None:
        store = getattr(self._store, "root", self._store)
        if isinstance(store, (str, Path)):
            if "://" not in str(store):
                store = Path(store).absolute()
            return ZarrSource(store, self._path, self._first)
        is_in_memory = isinstance(store, dict) or hasattr(store, "_store_dict")
        return None if is_in_memory else self


class ParquetSource(Source):
    """Columns of a Parquet file, or of all files of a folder in the order of their names."""

    is_seekable = True

    def __init__(self, path: Path, column: str | None):
        super().__init__()
        self._path, self._first = path, column
        names = self._open(self._files()[0]).schema_arrow.names
        if column not in names:
            given = "a Parquet file has columns" if column is None else None
            raise InputError(
                given
                or f"{os.fspath(path)!r} has no column {column!r}{did_you_mean(column, names)}",
                [("columns", listing(names))],
                f"name one of them: column={names[0]!r}" if column is None and names else None,
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
        parquet = require("pyarrow.parquet", "sampling", "a stream from Parquet")
        return parquet.ParquetFile(path)

    def length(self) -> int:
        return sum(self._open(path).metadata.num_rows for path in self._files())

    def blocks(
        self, columns: Sequence[str | None], size: int, start: int = 0, stop: int | None = None
    ) -> Iterator[Block]:
        at = 0  # of the next row group or batch
        for path in self._files():
            with self._open(path) as file:
                groups = []
                for number in range(file.num_row_groups):
                    end = at + file.metadata.row_group(number).num_rows
                    if end > start and (stop is None or at < stop):
                        groups.append((number, at))
                    at = end
                if not groups:
                    continue
                own, numbers = [*dict.fromkeys(columns)], [number for number, _ in groups]
                place = groups[0][1]
                for batch in file.iter_batches(size, numbers, own):
                    place, before = place + len(batch), place
                    first = max(start - before, 0)
                    last = len(batch) if stop is None else min(stop - before, len(batch))
                    if first < last:
                        part = batch.slice(first, last - first)
                        yield tuple(_of_arrow(part.column(name)) for name in columns)

    def for_workers(self) -> Source:
        return ParquetSource(self._path.absolute(), self._first)


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

    def blocks(
        self, columns: Sequence[str | None], size: int, start: int = 0, stop: int | None = None
    ) -> Iterator[Block]:
        blocks = iter(self._factory())
        try:
            for block in blocks:
                yield tuple(np.asarray(block if name is None else block[name]) for name in columns)
        finally:
            if hasattr(blocks, "close"):
                blocks.close()


def usual_rows(each: int | None) -> int:
    """Return the default number of rows of a chunk, a multiple of what a source reads at a time."""
    each = each or _ROWS
    return each * max(1, _ROWS // each)


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
