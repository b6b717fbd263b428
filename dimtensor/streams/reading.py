"""Reading of streams: chunks of rows of several columns, one of them ahead in a thread."""

from __future__ import annotations

import contextvars
import copy
import threading
from collections.abc import Generator, Iterator, Sequence
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from dimtensor.errors import (
    DimtensorError,
    LabelError,
    OptionError,
    StreamError,
    listing,
    prefixed,
    reason_of,
)
from dimtensor.streams.sources import Block, Source, usual_rows

# seconds that the end of a pass waits for a read that has begun
_PATIENCE = 1.0


class StreamColumn(Protocol):
    """Column of a source, as values of a tensor."""

    source: Source
    column: str | None
    title: str
    chunks: int | None
    checked: bool  # in a whole pass

    def admit(self, values: np.ndarray) -> np.ndarray:
        """Check and convert the values of a chunk."""


class Chunk(NamedTuple):
    """Consecutive rows of all columns.

    Attributes
    ----------
    number : int
        Counted from 0.
    start : int
        Position of the first row.
    arrays : tuple of ndarray
        Values by column, with the rows along the first axis as in the source.
    """

    number: int
    start: int
    arrays: tuple[np.ndarray, ...]


class RowReader:
    """Columns with the same rows, which are read together.

    Parameters
    ----------
    columns : sequence of StreamColumn

    Raises
    ------
    OptionError
        If chunks of different numbers of rows are asked for.
    StreamError
        If the sources differ in their length.
    LabelError
        If the rows of the sources have different labels.
    """

    def __init__(self, columns: Sequence[StreamColumn]):
        self.columns = tuple(columns)
        self.size = _size_of(self.columns)
        self._groups: dict[Any, list[int]] = {}
        for at, one in enumerate(self.columns):
            self._groups.setdefault(one.source.key, []).append(at)
        self.length = self._stated()
        _check_labels(self.columns)

    def expect(self, length: int, title: str) -> None:
        """Check that the sources have as many rows as other data, now or in a pass.

        Raises
        ------
        StreamError
            If a source states another length.
        """
        if self.length not in (None, length):
            raise _other_lengths({length: title, int(self.length or 0): self.columns[0].title})
        self.length = length

    @property
    def is_seekable(self) -> bool:
        """True if reading may start at any row."""
        return all(one.source.is_seekable for one in self.columns)

    @property
    def gathers_rows(self) -> bool:
        """True if scattered rows are read without the rows between them."""
        return all(one.source.gathers_rows for one in self.columns)

    def for_workers(self) -> RowReader:
        """Return a reader of the same rows in other processes, which open the sources themselves.

        Raises
        ------
        StreamError
            If a source can be read by this process only.
        """
        other = copy.copy(self)
        other.columns = tuple(map(copy.copy, self.columns))
        for at in self._groups.values():
            one = self.columns[at[0]]
            source = one.source.for_workers()
            if source is None:
                raise StreamError(
                    f"workers of a cluster cannot read {one.title}: its values are in the memory "
                    "of this process, or a Python function gives them",
                    hint="write the rows to a file of NumPy, a Zarr store or Parquet, which "
                    "workers open themselves; values in memory are data, and are sent to workers",
                )
            for place in at:
                other.columns[place].source = source
        return other

    def check_lengths(self) -> None:
        """Check that the sources state as many rows as at first.

        Raises
        ------
        StreamError
            If one does not.
        """
        length = self._stated()
        if length is not None and self.length not in (None, length):
            raise _incomplete(self.columns[0], length, int(self.length or 0))

    def _stated(self) -> int | None:
        """Return the number of rows that the sources state, which is checked."""
        lengths: dict[int, str] = {}
        for at, *_ in self._groups.values():
            one = self.columns[at]
            try:
                length = one.source.length()
            except Exception as error:
                raise _unreadable(one, error, "the length") from error
            if length is None:
                length = one.source.seen
            if length is not None:
                lengths.setdefault(length, one.title)
                seen = one.source.seen
                if seen is not None and seen != length:
                    raise _changed(one, length, seen)
        if len(lengths) > 1:
            raise _other_lengths(lengths)
        return next(iter(lengths), None)

    def __iter__(self) -> Iterator[Chunk]:
        """Read all rows; the next chunk is read when the one before it is given away.

        Raises
        ------
        StreamError
            If a source cannot be read, or has more or fewer rows than it stated or had before.
        """
        length = self._stated()
        length = self.length if length is None else length
        rows = yield from self._read(0, None, length)
        self._check_end(rows, length)
        if not rows:
            raise StreamError(f"{self.columns[0].title} has no rows")
        for at, *_ in self._groups.values():
            self.columns[at].source.seen = rows
        for one in self.columns:
            one.checked = True

    def chunks(self, first: int, stop: int) -> Iterator[Chunk]:
        """Read some chunks, of sources that are seekable.

        Parameters
        ----------
        first, stop : int
            Numbers of the first chunk, and of the one after the last.

        Raises
        ------
        StreamError
            If a source cannot be read, or has fewer rows than it stated.
        """
        assert self.length is not None
        end = min(stop * self.size, self.length)
        rows = yield from self._read(first, end, end)
        if rows != end:
            raise _incomplete(self.columns[0], rows, end)

    def take(self, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        """Read single rows, which are sorted, of sources that are seekable.

        Raises
        ------
        StreamError
            If a source cannot be read.
        """
        arrays: list[Any] = [None] * len(self.columns)
        for at in self._groups.values():
            one = self.columns[at[0]]
            try:
                found = one.source.take([self.columns[i].column for i in at], rows)
            except Exception as error:
                raise _unreadable(one, error, "rows") from error
            for place, values in zip(at, found, strict=True):
                arrays[place] = values
        return self._admitted(arrays, None, rows)

    def _read(
        self, number: int, stop: int | None, length: int | None
    ) -> Generator[Chunk, None, int]:
        """Read chunks from one on, and return the number of rows up to their end."""
        size = self.size
        start = number * size
        opened = []
        for at in self._groups.values():
            source, names = self.columns[at[0]].source, [self.columns[i].column for i in at]
            opened.append(_in_chunks(source.blocks(names, size, start, stop), size))
        try:
            while True:
                arrays: list[Any] = [None] * len(self.columns)
                for at, blocks in zip(self._groups.values(), opened, strict=True):
                    found = self._next(blocks, self.columns[at[0]], number, start)
                    for place, values in zip(at, found or (), strict=False):
                        arrays[place] = values
                    del found
                ends = [values is None for values in arrays]
                if all(ends):
                    return start
                rows = self._check_rows(arrays, start)
                if length is not None and start + rows > length:
                    self._check_end(start + rows, length)
                yield Chunk(number, start, self._admitted(arrays, number, start))
                arrays.clear()
                number, start = number + 1, start + rows
        finally:
            for blocks in opened:
                blocks.close()

    def _next(
        self, blocks: Iterator[Block], column: StreamColumn, number: int, start: int
    ) -> Block | None:
        try:
            return next(blocks, None)
        except Exception as error:
            raise _unreadable(column, error, f"chunk {number}, from row {start:,} on,") from error

    def _check_rows(self, arrays: Sequence[Any], start: int) -> int:
        """Return the common number of rows of the columns of a chunk."""
        rows = {
            0 if x is None else len(x): one for x, one in zip(arrays, self.columns, strict=True)
        }
        if len(rows) > 1:
            raise _other_lengths({start + n: one.title for n, one in rows.items()}, at_least=True)
        return next(iter(rows))

    def _check_end(self, rows: int, length: int | None) -> None:
        for one in self.columns:
            if one.source.seen not in (None, rows):
                raise _changed(one, rows, one.source.seen)
        if length is not None and rows != length:
            raise _incomplete(self.columns[0], rows, length)

    def _admitted(
        self, arrays: Sequence[np.ndarray], number: int | None, start: int | np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Check the values of a chunk, or of single rows, whose positions are given."""
        found = []
        for one, values in zip(self.columns, arrays, strict=True):
            try:
                found.append(one.admit(values))
            except DimtensorError as error:
                at = _first_refused(one, values)
                row = start + at if isinstance(start, int) else start[at]
                place = f"row {row:,}: " if number is None else f"chunk {number}, row {row:,}: "
                raise _prefixed(place, one, values[at : at + 1], error) from None
        return tuple(found)


def _size_of(columns: Sequence[StreamColumn]) -> int:
    asked = {one.chunks: one.title for one in columns if one.chunks is not None}
    if len(asked) > 1:
        raise OptionError(
            "streams along one dim are read together, in chunks of the same number of rows",
            [(title, f"chunks={size}") for size, title in asked.items()],
        )
    if asked:
        return next(iter(asked))
    return usual_rows(max((one.source.rows or 0 for one in columns), default=0))


def _check_labels(columns: Sequence[StreamColumn]) -> None:
    known = [(one, labels) for one in columns if (labels := one.source.labels()) is not None]
    for one, labels in known[1:]:
        if not labels.equals(known[0][1]):
            raise LabelError(
                f"{one.title} and {known[0][0].title} have different labels along their rows",
                [(x.title, listing(labels)) for x, labels in (known[0], (one, labels))],
                "streams are read row by row: store both in the same order",
            )


def _in_chunks(blocks: Iterator[Block], size: int) -> Generator[Block]:
    """Cut blocks of any length into chunks of `size` rows, the last one shorter.

    A chunk that lies in one block is a view of it.
    """
    waiting: list[Block] = []
    rows = 0
    for block in blocks:
        counts = {len(x) for x in block}
        if len(counts) > 1:
            raise StreamError(f"columns of one block have {listing(sorted(counts))} rows")
        start, count = 0, counts.pop()
        while rows + count - start >= size:
            stop = start + size - rows
            part = tuple(x[start:stop] for x in block)
            start, rows = stop, 0
            yield _joined([*waiting, part])
            waiting.clear()
            del part
        if start < count:
            waiting.append(tuple(x[start:] for x in block) if start else block)
            rows += count - start
        del block
    if waiting:
        yield _joined(waiting)


def _joined(parts: Sequence[Block]) -> Block:
    return parts[0] if len(parts) == 1 else tuple(map(np.concatenate, zip(*parts, strict=True)))


def _first_refused(column: StreamColumn, values: np.ndarray) -> int:
    """Return the first row that a column does not admit, by bisection."""
    low, high = 0, len(values)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            column.admit(values[low:middle])
            low = middle
        except DimtensorError:
            high = middle
    return low


def _prefixed(
    place: str, column: StreamColumn, values: np.ndarray, error: DimtensorError
) -> DimtensorError:
    """Return the error of the values of one row, with its place."""
    try:
        column.admit(values)
    except DimtensorError as exact:
        error = exact
    return type(error)(prefixed(place, error))


def _unreadable(column: StreamColumn, error: Exception, what: str) -> StreamError:
    return StreamError(
        f"the pass is given up: {what} of {column.title} cannot be read: {reason_of(error)}"
    )


def _changed(column: StreamColumn, now: int, before: int | None) -> StreamError:
    return StreamError(
        f"the pass is given up: {column.title} has {now:,} rows, and had {before:,} in an earlier "
        "pass",
        hint="a stream is read many times, and has to be the same each time: a factory returns a "
        "new iterator at each call, and rows that were added belong to a new dt.stream",
    )


def _incomplete(column: StreamColumn, rows: int, length: int) -> StreamError:
    return StreamError(
        f"the pass is given up: {column.title} has {rows:,} rows, not {length:,}",
        hint="it may be written to at the moment, or be incomplete",
    )


def _other_lengths(lengths: dict[int, str], at_least: bool = False) -> StreamError:
    more = "some " if at_least else ""
    return StreamError(
        "streams along one dim have different numbers of rows",
        [(title, f"{more}{length:,} rows") for length, title in lengths.items()],
    )


# -- the thread ------------------------------------------------------------------------------------


class _Raised(NamedTuple):
    """Exception of the thread, or None at the end."""

    error: BaseException | None


class ReadAhead[T]:
    """Iterate in a thread: the next item is made while the current one is used.

    At most two items are alive, if the user of one drops it before asking for the next. Use it as a
    context, at whose end the thread ends, too.

    Examples
    --------
    >>> with ReadAhead(iter("abc")) as items:
    ...     print(*items)
    a b c
    """

    def __init__(self, items: Iterator[T]):
        self._items = items
        self._ready: SimpleQueue[T | _Raised] = SimpleQueue()
        self._wanted: SimpleQueue[None] = SimpleQueue()  # an item that may be made
        self._wanted.put(None)
        self._stopped = False
        context = contextvars.copy_context()
        self.thread = threading.Thread(
            target=context.run, args=(self._run,), name="dimtensor stream", daemon=True
        )
        self.thread.start()

    def _run(self) -> None:
        end = _Raised(None)
        try:
            while True:
                self._wanted.get()
                if self._stopped:
                    break
                item = next(self._items, end)
                self._ready.put(item)
                if item is end:
                    break
                del item
        except BaseException as error:
            self._ready.put(_Raised(error))
        finally:
            if hasattr(self._items, "close"):
                self._items.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        self._wanted.put(None)
        found = self._ready.get()
        if not isinstance(found, _Raised):
            return found
        self._ready.put(found)
        if found.error is None:
            raise StopIteration
        raise found.error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stopped = True
        self._wanted.put(None)
        self.thread.join(_PATIENCE)
