"""Log densities in slices on a cluster of dask: each chunk of the data stays with a worker."""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dimtensor.compile.sliced.cuts import SliceCut, dims_to_cut
from dimtensor.compile.sliced.held import ShareCode
from dimtensor.compile.sliced.pool import Pool
from dimtensor.compile.sliced.program import combined, subtrees
from dimtensor.errors import ArgumentError, ComputationError, OptionError, StreamError
from dimtensor.extras import require
from dimtensor.forks import freed_in_children
from dimtensor.model.sliced.density import DensitySlices, Pair
from dimtensor.model.sliced.streamed import ChunkCode, ChunkSlice, StreamedDensity
from dimtensor.model.sliced.threads import density_cut
from dimtensor.streams.reading import ReadAhead, RowReader
from dimtensor.tuning import CLUSTER_ATTEMPTS, CLUSTER_PATIENCE, CLUSTER_PAUSE, SENT_VECTOR
from dimtensor.values.ports import ready

if TYPE_CHECKING:
    from dimtensor.model.functions import ModelFunctions

# shares by level of the tree that adds them, and place in the level
Shares = dict[tuple[int, int], list[np.ndarray]]


@dataclass(frozen=True)
class Cluster:
    """Evaluation of a log density on the workers of a dask cluster.

    Attributes
    ----------
    client : distributed.Client
    cut : SliceCut, optional
        The dim, and the number of chunks. It is chosen from the data by default.
    """

    client: Any
    cut: SliceCut | None = None

    def __call__(self, functions: ModelFunctions) -> ClusterDensity | None:
        """Make the evaluator; data in memory are sent at the first evaluation.

        Returns
        -------
        ClusterDensity or None
            None if there is too little work for several chunks.

        Raises
        ------
        PartitionError
            If there is no dim of data along which the log density can be cut.
        """
        if functions.streams:
            return ClusterDensity(StreamWork(functions), self.client)
        cut = self.cut if self.cut is not None else density_cut(functions)
        return None if cut is None else ClusterDensity(SliceWork(functions, cut), self.client)


def cluster_for(functions: ModelFunctions, client: Any, what: str) -> Cluster:
    """Check a client, and that the log density can be cut.

    Raises
    ------
    MissingExtraError
        If dask's clusters are not installed.
    ArgumentError
        If it is none.
    OptionError
        If the log density is computed in another way.
    PartitionError
        If there is no dim of data along which the log density can be cut.
    StreamError
        If a stream can be read by this process only.
    """
    distributed = require("distributed", "dask", f"{what} on a cluster")
    if not isinstance(client, distributed.Client) or client.asynchronous:
        kind = "an asynchronous one" if hasattr(client, "submit") else type(client).__name__
        raise ArgumentError(
            f"{what}: client is a client of dask.distributed, not {kind}",
            hint="client=distributed.Client()",
        )
    if functions.evaluation not in (None, StreamedDensity):
        raise OptionError(
            f"{what}: client is given, and the log density is computed in another way already, by "
            f"{type(functions.evaluation).__name__}"
        )
    if functions.streams:
        RowReader([*functions.streams.values()]).for_workers()
    else:
        dims_to_cut([functions.assembly.logp.node], ["data"])
    return Cluster(client)


@dataclass(frozen=True, eq=False)
class WorkerData:
    """Data of some chunks, which one worker computes after each other.

    Attributes
    ----------
    name : str
        Unique.
    numbers : tuple of int
    starts : tuple of int
        Where each chunk starts.
    pieces : list of list of ndarray
        For each chunk, the values of the leaves along the dim.
    """

    name: str
    numbers: tuple[int, ...]
    starts: tuple[int, ...]
    pieces: list[list[np.ndarray]]


class WorkerCode:
    """Code of the shares in a process; compiled when it arrives there.

    Parameters
    ----------
    code : ShareCode
    lengths : list of ndarray
        Lengths of dims of parameters, which it takes after the vector.
    operations : tuple of str
        How shares of each output are combined.
    number : int
        Number of all chunks.
    """

    def __init__(
        self, code: ShareCode, lengths: list[np.ndarray], operations: Sequence[str], number: int
    ):
        self._arguments = (code, lengths, tuple(operations), number)
        self._bound: dict[str, list[Any]] = {}

    def __reduce__(self) -> tuple:
        return WorkerCode, self._arguments

    def shares(self, chunks: WorkerData, x: np.ndarray) -> Shares:
        """Compute the shares of chunks, and add neighbors in the tree."""
        code, lengths, operations, number = self._arguments
        calls = self._bound.get(chunks.name)
        if calls is None:
            pairs = zip(chunks.pieces, chunks.starts, strict=True)
            calls = [code.share([ready(np.asarray(x)) for x in own], at) for own, at in pairs]
            self._bound[chunks.name] = calls
        x = ready(np.asarray(x))
        each = zip(chunks.numbers, calls, strict=True)
        found = {(0, n): [np.array(y) for y in call(x, *lengths)] for n, call in each}
        return subtrees(found, number, lambda one, other: combined(operations, one, other))


@dataclass(frozen=True, eq=False)
class WorkerStreams:
    """Chunks of streams, which one worker reads one after the other at each evaluation.

    Attributes
    ----------
    reader : RowReader
    numbers : tuple of int
        Consecutive.
    pieces : list of list of ndarray
        For each chunk, the values of data in memory along the rows.
    """

    reader: RowReader
    numbers: tuple[int, ...]
    pieces: list[list[np.ndarray]]

    def slices(self, code: ChunkCode) -> Iterator[tuple[int, list[ChunkSlice]]]:
        """Read the chunks, and cut them into slices."""
        chunks = self.reader.chunks(self.numbers[0], self.numbers[-1] + 1)
        for chunk, own in zip(chunks, self.pieces, strict=True):
            slices = code.cut(chunk, own)
            number = chunk.number
            del chunk
            yield number, slices
            del slices
        for one in self.reader.columns:
            one.checked = True


class WorkerStreamCode:
    """Code of the shares of streams in a process; compiled when it arrives there.

    Parameters
    ----------
    code : ChunkCode
    number : int
        Number of all chunks.
    """

    def __init__(self, code: ChunkCode, number: int):
        self._code, self._number = code, number

    def shares(self, chunks: WorkerStreams, x: np.ndarray) -> Shares:
        """Read chunks and compute their shares, and add neighbors in the tree."""
        code, pool, found = self._code, Pool(1), {}
        x = ready(np.asarray(x))
        try:
            with ReadAhead(chunks.slices(code)) as read:
                for number, slices in read:
                    found[0, number] = code.shares(slices, x, pool)
                    del slices
        except StreamError as error:
            error.add_note("A worker of the cluster reads it, at the same path as this process.")
            raise
        return subtrees(found, self._number, partial(combined, code.operations))


def _shares(code: Any, chunks: Any, x: np.ndarray) -> Shares:
    return code.shares(chunks, x)


class ClusterWork(Protocol):
    """Log density as chunks that workers compute, and what the client does.

    Attributes
    ----------
    number : int
        Number of chunks.
    operations : tuple of str
        How shares of each output are combined.
    """

    number: int
    operations: tuple[str, ...]

    def code(self) -> Any:
        """Return the code for workers, whose method ``shares`` takes chunks and the vector."""

    def chunks(self, numbers: tuple[int, ...]) -> Any:
        """Return some consecutive chunks for a worker."""

    def begin(self) -> None:
        """Check the data before an evaluation."""

    def rest(self, x: np.ndarray, /) -> list[np.ndarray | None]:
        """Compute the terms without the dim."""

    def total(self, shares: Pair, rest: Sequence[np.ndarray | None], /) -> Pair:
        """Add the shares of all chunks and the rest."""


class SliceWork:
    """Log density of data in memory; see :class:`ClusterWork`."""

    def __init__(self, functions: ModelFunctions, cut: SliceCut):
        self._slices = DensitySlices(functions, cut.dim, rows=True)
        held = self._slices.held
        assert held.length is not None
        self._ends = cut.ends(held.length)
        self.number = len(self._ends)
        self.operations = tuple(one for one in self._slices.program.operations if one)
        self.rest = self._slices.rest

    def code(self) -> WorkerCode:
        slices = self._slices
        return WorkerCode(slices.held.code, slices.lengths, self.operations, self.number)

    def chunks(self, numbers: tuple[int, ...]) -> WorkerData:
        pieces = [self._slices.held.pieces(*self._ends[number]) for number in numbers]
        starts = tuple(self._ends[number][0] for number in numbers)
        return WorkerData(uuid.uuid4().hex, numbers, starts, pieces)

    def begin(self) -> None:
        pass

    def total(self, shares: Pair, rest: Sequence[np.ndarray | None]) -> Pair:
        return self._slices.total([shares], rest)


class StreamWork:
    """Log density of streams, whose chunks workers read themselves; see :class:`ClusterWork`."""

    def __init__(self, functions: ModelFunctions):
        # the slices are those of threads
        self._density = density = StreamedDensity(functions, threads=1)
        self._reader = density.reader.for_workers()
        assert density.reader.length is not None  # a source that workers open states its rows
        self.number = -(-density.reader.length // density.reader.size)
        self.operations = density.code.operations
        self.rest, self.total = density.rest, density.total

    def code(self) -> WorkerStreamCode:
        return WorkerStreamCode(self._density.code, self.number)

    def chunks(self, numbers: tuple[int, ...]) -> WorkerStreams:
        return WorkerStreams(self._reader, numbers, [*map(self._density.pieces, numbers)])

    def begin(self) -> None:
        self._density.reader.check_lengths()


class ClusterDensity:
    """Evaluator of a log density on a cluster.

    Each chunk is sent to one worker, and the code to each of them, once. An evaluation sends the
    vector, and receives shares of value and gradient, which are added in a tree over the numbers of
    the chunks: the bits depend neither on the workers nor on who computed what. Chunks of a worker
    that is lost are sent to the others, or to its successor.
    """

    def __init__(self, work: ClusterWork, client: Any):
        self._work = work
        self._client = client
        self._lock = freed_in_children(threading.Lock())
        self._code: Any = None
        # futures of the data by numbers of chunks; None before they are sent
        self._groups: dict[tuple[int, ...], Any] = {}

    def logp_and_grad(self, x: np.ndarray) -> Pair:
        """Return value and gradient at a flat vector.

        Raises
        ------
        ComputationError
            If the cluster is closed, no worker is left, or workers die each time.
        """
        work, rest = self._work, None
        found: Shares = {}
        missing: list[tuple[int, ...]] | None = None
        work.begin()
        for attempt in range(CLUSTER_ATTEMPTS):
            time.sleep(attempt * CLUSTER_PAUSE)
            try:
                futures = self._submit(x, missing)
            except (KeyError, OSError):  # a worker was lost while data were sent to it
                continue
            rest = work.rest(x) if rest is None else rest
            done = self._results(futures)
            missing = [numbers for numbers in futures if numbers not in done]
            for shares in done.values():
                found.update(shares)
            if not missing:
                break
        else:
            raise ComputationError(
                f"workers of the cluster were lost {CLUSTER_ATTEMPTS} times while they computed "
                "the log density",
                [("chunks", work.number)],
                "workers that are lost have often too little memory for their chunks",
            )
        assert rest is not None
        roots = subtrees(found, work.number, partial(combined, work.operations))
        (whole,) = roots.values()
        return work.total(whole, rest)

    # -- the cluster -------------------------------------------------------------------------------

    def _submit(
        self, x: np.ndarray, groups: list[tuple[int, ...]] | None
    ) -> dict[tuple[int, ...], Any]:
        """Start the computation of groups of chunks, of all of them by default."""
        client = self._client
        with self._lock:
            self._place()
            sent = client.scatter(x, broadcast=True, hash=False) if x.nbytes > SENT_VECTOR else x
            chosen = [*self._groups] if groups is None else groups
            return {
                numbers: client.submit(_shares, self._code, self._groups[numbers], sent, pure=False)
                for numbers in chosen
            }

    def _place(self) -> None:
        """Send the code, and the data that no worker has."""
        lost = [numbers for numbers, future in self._groups.items() if _is_lost(future)]
        if lost or not self._groups:
            slots = [address for address, count in self._workers().items() for _ in range(count)]
        if not self._groups:
            number = self._work.number
            many = min(len(slots), number)
            bounds = [number * at // many for at in range(many + 1)]
            lost = [tuple(range(*pair)) for pair in itertools.pairwise(bounds)]
            self._groups = dict.fromkeys(lost)
        for at, numbers in enumerate(lost):
            address = slots[at % len(slots)]
            chunks = self._work.chunks(numbers)
            self._groups[numbers] = self._client.scatter(chunks, workers=[address], hash=False)
        if _is_lost(self._code):
            self._code = self._client.scatter(self._work.code(), broadcast=True, hash=False)

    def _workers(self) -> dict[str, int]:
        """Return the number of threads of each worker, and wait for one if there is none.

        Raises
        ------
        ComputationError
            If none comes.
        """
        client = self._client
        if client.status == "running":
            found = client.nthreads()
            if not found:
                try:
                    client.wait_for_workers(1, timeout=CLUSTER_PATIENCE)
                except TimeoutError:
                    found = {}
                else:
                    found = client.nthreads()
            if found:
                return dict(sorted(found.items()))
        raise ComputationError(
            f"the cluster has no workers (the client is {client.status})",
            hint="start workers, as by: dask worker ADDRESS",
        )

    def _results(self, futures: dict[tuple[int, ...], Any]) -> dict[tuple[int, ...], Shares]:
        """Return the results of futures, but for those whose workers were lost.

        Raises
        ------
        ComputationError
            If no worker is left that could compute them.
        """
        distributed = require("distributed", "dask", "a cluster")
        while True:
            try:
                with self._client.as_current():
                    distributed.wait([*futures.values()], timeout=CLUSTER_PATIENCE)
            except TimeoutError:
                self._workers()  # it computes for long, or nobody is there to compute it
            except CancelledError:
                break
            else:
                break
        for future in futures.values():
            if future.status == "error" and not isinstance(
                future.exception(), distributed.KilledWorker
            ):
                future.result()  # raises the exception of the computation
        done = {numbers: x for numbers, x in futures.items() if x.status == "finished"}
        try:
            found: dict[tuple[int, ...], Shares] = self._client.gather(done)
        except CancelledError:  # another one was lost
            return {}
        return found


def _is_lost(future: Any) -> bool:
    return future is None or future.status in ("cancelled", "lost")
