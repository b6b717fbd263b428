"""Log densities whose data are read from streams, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dimtensor.compile.sliced.held import HeldSlices
from dimtensor.compile.sliced.program import SliceProgram
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
    """Sum of arrays in a fixed binary tree, so that its bits depend on their order alone.

    At most one partial sum per bit of their number is held.
    """

    def __init__(self) -> None:
        self._partial: list[tuple[int, list[np.ndarray]]] = []  # with the number of levels below

    def add(self, arrays: Sequence[np.ndarray]) -> None:
        found, level = [*arrays], 0
        while self._partial and self._partial[-1][0] == level:
            _, before = self._partial.pop()
            found = [a + b for a, b in zip(before, found, strict=True)]
            level += 1
        self._partial.append((level, found))

    def result(self) -> list[np.ndarray]:
        """Return the sum of one or more terms."""
        _, found = self._partial[-1]
        for _, arrays in reversed(self._partial[:-1]):
            found = [a + b for a, b in zip(arrays, found, strict=True)]
        return found


class StreamedDensity:
    """Value and gradient of a log density whose data are read from streams.

    A call reads the streams once. Nothing of a pass that fails is returned or kept. Data in memory
    along the dim of the rows are cut like the streams.

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

    def __init__(self, functions: ModelFunctions):
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
        self._orders = [
            (0,) if each is None else tuple(map(x.dims.index, each.dims))
            for each, x in zip(along, streams.values(), strict=True)
        ]

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

    def logp_and_grad(self, x: np.ndarray, /) -> Pair:
        """Add the shares of all chunks to the rest, in one pass over the streams."""
        held, program = self._held, self._program
        rest = held.rest(x, *self._lengths, *self._unread)
        in_memory = bool(program.along)
        bound = None if in_memory or program.start_input is not None else held.share(())
        total = RunningTotal()
        with ReadAhead(self._chunks()) as chunks:
            for chunk in chunks:
                stop = chunk.start + len(chunk.arrays[0])
                pieces = held.pieces(chunk.start, stop) if in_memory else ()
                share = bound or held.share(pieces, chunk.start)
                total.add([np.array(y) for y in share(x, *self._lengths, *chunk.arrays)])
                del chunk, pieces, share
        return program.total([total.result()], rest)

    def _chunks(self) -> Iterator[Chunk]:
        """Read chunks with axes in the order of the code."""
        for chunk in self.reader:
            arrays = tuple(
                np.ascontiguousarray(x.transpose(order))
                for x, order in zip(chunk.arrays, self._orders, strict=True)
            )
            yield chunk._replace(arrays=arrays)
            del chunk, arrays
