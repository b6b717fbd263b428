"""Log densities whose data are read from streams, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dimtensor.compile.sliced.cuts import SliceCut, cut_for
from dimtensor.compile.sliced.held import HeldSlices, ShareCode
from dimtensor.compile.sliced.pool import Pool
from dimtensor.compile.sliced.program import SliceProgram, combined
from dimtensor.dims import Dim
from dimtensor.errors import GraphError
from dimtensor.graph import Node, leaves
from dimtensor.streams.reading import Chunk, ReadAhead, RowReader
from dimtensor.streams.stream import rows_of, streamed
from dimtensor.values.data import title_of

if TYPE_CHECKING:
    from dimtensor.model.functions import ModelFunctions
    from dimtensor.model.sliced.density import Pair


class RunningTotal:
    """Combination of arrays in a fixed binary tree, so that its bits depend on their order alone.

    At most one partial result per bit of their number is held.

    Parameters
    ----------
    operations : sequence of str
        How each of the arrays is combined.

    Examples
    --------
    >>> total = RunningTotal(["add", "maximum"])
    >>> for x in [1.0, 2.0, 4.0]:
    ...     total.add([np.array(x), np.array(x)])
    >>> [x.item() for x in total.result()]
    [7.0, 4.0]
    """

    def __init__(self, operations: Sequence[str]) -> None:
        self._operations = operations
        self._partial: list[tuple[int, Sequence[np.ndarray]]] = []  # with the levels below

    def add(self, arrays: Sequence[np.ndarray]) -> None:
        found, level = arrays, 0
        while self._partial and self._partial[-1][0] == level:
            _, before = self._partial.pop()
            found = combined(self._operations, before, found)
            level += 1
        self._partial.append((level, found))

    def result(self) -> list[np.ndarray]:
        """Return the combination of one or more terms."""
        _, found = self._partial[-1]
        for _, arrays in reversed(self._partial[:-1]):
            found = combined(self._operations, arrays, found)
        return [*found]


class ChunkSlice(NamedTuple):
    """Slice of a chunk.

    Attributes
    ----------
    start : int
        Position of its first row.
    arrays : tuple of ndarray
        Values of the streams, with axes in the order of the code.
    pieces : list of ndarray
        Values of data in memory along the rows.
    """

    start: int
    arrays: tuple[np.ndarray, ...]
    pieces: list[np.ndarray]


class ChunkCode:
    """Code of the shares of chunks, each computed in slices; compiled where it is pickled to.

    Parameters
    ----------
    code : ShareCode
    lengths : sequence of ndarray
        Lengths of dims of parameters, which it takes after the vector.
    operations : tuple of str
        How shares of each output are combined.
    axes : tuple of int
        The axis of the rows of each of the data in memory.
    orders : tuple of tuple of int
        How the axes of each stream are transposed.
    slices : int
        Number of slices of a chunk with enough rows.
    """

    def __init__(
        self,
        code: ShareCode,
        lengths: Sequence[np.ndarray],
        operations: tuple[str, ...],
        axes: tuple[int, ...],
        orders: tuple[tuple[int, ...], ...],
        slices: int,
    ):
        self._arguments = (code, lengths, operations, axes, orders, slices)
        self._code, self._lengths, self._axes, self._orders = code, lengths, axes, orders
        self.operations, self.slices = operations, slices

    def __reduce__(self) -> tuple:
        return ChunkCode, self._arguments

    @cached_property
    def _bound(self) -> Callable[..., Pair] | None:
        """The code of all slices; None if it depends on the slice."""
        return None if self._axes or self._code.told[1] else self._code.share(())

    def cut(self, chunk: Chunk, pieces: Sequence[np.ndarray]) -> list[ChunkSlice]:
        """Cut a chunk, and the data in memory along its rows, into slices of about equal length."""
        rows = len(chunk.arrays[0])
        found = []
        for start, stop in SliceCut(Dim(), max(1, min(self.slices, rows))).ends(rows):
            own = zip(chunk.arrays, self._orders, strict=True)
            arrays = tuple(np.ascontiguousarray(x[start:stop].transpose(to)) for x, to in own)
            parts = [
                np.ascontiguousarray(x[(*[slice(None)] * axis, slice(start, stop))])
                for x, axis in zip(pieces, self._axes, strict=True)
            ]
            found.append(ChunkSlice(chunk.start + start, arrays, parts))
        return found

    def shares(self, slices: list[ChunkSlice], x: np.ndarray, pool: Pool) -> list[np.ndarray]:
        """Compute the shares of the slices of a chunk, and combine them.

        Parameters
        ----------
        slices : list of ChunkSlice
            Emptied, so that a thread that comes late to the pool holds no rows.
        x : ndarray
        pool : Pool
        """
        bound, total = self._bound, RunningTotal(self.operations)
        calls = [partial(self._share, slices, at, bound) for at in range(len(slices))]
        for share in pool.run(calls, x):
            total.add(share)
        slices.clear()
        return total.result()

    def _share(
        self,
        slices: list[ChunkSlice],
        at: int,
        bound: Callable[..., Pair] | None,
        x: np.ndarray,
    ) -> list[np.ndarray]:
        one = slices[at]
        share = bound or self._code.share(one.pieces, one.start)
        return [np.array(y) for y in share(x, *self._lengths, *one.arrays)]


class StreamedDensity:
    """Value and gradient of a log density whose data are read from streams.

    A call reads the streams once. Nothing of a pass that fails is returned or kept. Data in memory
    along the dim of the rows are cut like the streams.

    Parameters
    ----------
    functions : ModelFunctions
    threads : int, optional
        Number of threads that compute the slices of a chunk, on which results do not depend. By
        default a chunk is one slice.

    Raises
    ------
    PartitionError
        If the log density is no sum over the rows.
    GraphError
        If streams have rows along several dims, or a parameter has this dim.

    Examples
    --------
    >>> import dimtensor as dt
    >>> y, mu = dt.stream(np.arange(10.0), dt.Dim("obs"), chunks=4), dt.scalar("mu")
    >>> density = dt.LogDensity(-((y - mu) ** 2).sum(), {mu: dt.real}, backend="python")
    >>> float(density.functions.evaluator.logp_and_grad(np.array([1.0]))[0])
    -205.0
    """

    def __init__(self, functions: ModelFunctions, threads: int | None = None):
        parts = functions.assembly
        outputs = [parts.value.node, parts.gradient.node]
        streams = streamed(outputs)
        late = functions.late_roots()
        dim = rows_of(streams)
        key = ("streamed", *outputs, *late)
        program = functions.shared.get(key)
        if program is None:
            inputs: list[Node | Dim] = [parts.flat.node, *late, *streams]
            program = SliceProgram(inputs, outputs, dim, functions.backend)
            if "concat" in program.operations:
                raise GraphError(
                    f"parameters along {dim._title} have a value for each row of the streams",
                    hint="parameters of a streamed log density have other dims",
                )
            functions.shared[key] = program
        self._program: SliceProgram = program
        self.reader = RowReader([*streams.values()])
        own = set(leaves(outputs))
        self._replaced = {node: x for node, x in functions.replaced.items() if node in own}
        self._lengths = [
            np.asarray(each._bound_length(functions.binding), dtype=np.int64) for each in late
        ]
        self._unread = [np.empty(0)] * len(streams)
        along = [program.along_inputs.get(1 + len(late) + at) for at in range(len(streams))]
        self._orders = tuple(
            (0,) if each is None else tuple(map(x.dims.index, each.dims))
            for each, x in zip(along, streams.values(), strict=True)
        )
        self._pool = Pool(threads or 1)
        self._slices = 1
        if threads is not None:
            binding = functions.binding.without(program.cut)
            binding.add_length(dim, self.reader.size, "a chunk")
            cut = cut_for(outputs, [dim], binding)
            self._slices = 1 if cut is None else cut.number

    @cached_property
    def _held(self) -> HeldSlices:
        """The data in memory; rows are counted if their number is needed and no source has it."""
        length = self.reader.length
        if length is None and self._program.length_input is not None:
            length = sum(len(chunk.arrays[0]) for chunk in self.reader)
        held = self._program.hold(self._replaced, length=length)
        for each, array in zip(self._program.along, held.arrays, strict=True):
            if array is not None:
                self.reader.expect(array.shape[each.axis], title_of(each.source))
        return held

    @cached_property
    def code(self) -> ChunkCode:
        """The code of the shares of chunks."""
        axes = tuple(each.axis for each in self._program.along)
        operations = tuple(one for one in self._program.operations if one)
        code = self._held.code
        return ChunkCode(code, self._lengths, operations, axes, self._orders, self._slices)

    def rest(self, x: np.ndarray) -> list[np.ndarray | None]:
        """Compute the terms without rows: priors and Jacobians."""
        return self._held.rest(x, *self._lengths, *self._unread)

    def total(self, shares: Pair, rest: Sequence[np.ndarray | None]) -> Pair:
        """Add the shares of all chunks and the rest."""
        return self._program.total([shares], rest)

    def pieces(self, number: int) -> list[np.ndarray]:
        """Return the data in memory along the rows of a chunk."""
        size, length = self.reader.size, self.reader.length
        assert length is not None
        return self._held.pieces(number * size, min((number + 1) * size, length))

    def logp_and_grad(self, x: np.ndarray, /) -> Pair:
        """Add the shares of all chunks to the rest, in one pass over the streams."""
        rest = self.rest(x)
        total = RunningTotal(self.code.operations)
        with ReadAhead(self._chunks()) as chunks:
            for slices in chunks:
                total.add(self.code.shares(slices, x, self._pool))
                del slices
        return self.total(total.result(), rest)

    def _chunks(self) -> Iterator[list[ChunkSlice]]:
        """Read chunks in slices."""
        for chunk in self.reader:
            stop = chunk.start + len(chunk.arrays[0])
            slices = self.code.cut(chunk, self._held.pieces(chunk.start, stop))
            del chunk
            yield slices
            del slices
