"""Random rows of streams, drawn without an order of all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dimtensor.dims import Dim
from dimtensor.errors import GraphError, OptionError
from dimtensor.graph import Node
from dimtensor.model.minibatch.strata import Strata
from dimtensor.streams.reading import RowReader
from dimtensor.streams.stream import rows_of, streamed


def reader_of(outputs: Sequence[Node], dim: Dim) -> RowReader | None:
    """Return the reader of the streams that expressions depend on; None if there are none.

    Raises
    ------
    GraphError
        If streams have other rows, or are read from their start alone.
    """
    streams = streamed(outputs)
    if not streams:
        return None
    rows = rows_of(streams)
    if rows is not dim:
        raise GraphError(
            f"minibatch: the data along {rows._title} are read from streams, and batches consist "
            f"of rows along {dim._title}",
            hint=f"draw rows along {rows._title}, or read the data along it into memory",
        )
    reader = RowReader([*streams.values()])
    if not reader.is_seekable:
        wrong = [x.title for x in streams.values() if not x.source.is_seekable]
        raise GraphError(
            "minibatch: a batch needs rows from anywhere, and a Python function gives its chunks "
            "from the first one on",
            [("read by a function", ", ".join(wrong))],
            "write the rows to a file of NumPy, a Zarr store or Parquet, whose streams have "
            "batches",
        )
    return reader


def random_rows(
    length: int, size: int, replace: bool, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield positions of the rows of batches, each a random subset of all rows, without end."""
    while True:
        if replace:
            yield rng.integers(length, size=size)
        else:
            yield rng.choice(length, size, replace=False, shuffle=False)


class ChunkBatches:
    """Batches whose rows are of one random chunk each, for sources that read a chunk for a row.

    Chunks are shuffled, and each gives the same number of batches. A row of a batch represents as
    many rows as a row of its chunk, times the number of chunks. So each batch is unbiased, as each
    chunk is equally probable, and within it each row.

    Parameters
    ----------
    reader : RowReader
    size : int
        Rows of a batch.

    Raises
    ------
    OptionError
        If a chunk has fewer rows than a batch.
    """

    def __init__(self, reader: RowReader, size: int):
        assert reader.length is not None
        self._reader, self._size = reader, size
        self._bounds = [*range(0, reader.length, reader.size), reader.length]
        longest = min(reader.size, reader.length)
        if size > longest:
            raise OptionError(
                f"minibatch: size={size} is more than the {longest} rows of a chunk: the rows of a "
                f"batch are of one chunk, as {reader.columns[0].title} is read chunk by chunk",
                hint=f"size={longest}, or streams with longer chunks",
            )
        self._batches = longest // size

    def draw(
        self, replace: bool, rng: np.random.Generator
    ) -> Iterator[tuple[np.ndarray, float, tuple[np.ndarray, ...]]]:
        """Yield positions, the weight and the values of the rows of batches, without end."""
        count, size = len(self._bounds) - 1, self._size
        while True:
            for number in rng.permutation(count).tolist():
                start = self._bounds[number]
                rows = self._bounds[number + 1] - start
                (chunk,) = self._reader.chunks(number, number + 1)
                weight = count * rows / size
                # the last chunk may have fewer rows than a batch
                strata = Strata(np.zeros(rows, np.int64), min(size, rows))
                inside = strata.batches(rng, replace) if size <= rows else None
                for _ in range(self._batches):
                    at = rng.integers(rows, size=size) if inside is None else next(inside)
                    yield start + at, weight, tuple(x[at] for x in chunk.arrays)
