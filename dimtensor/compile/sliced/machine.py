"""Slices that are machine code: its calls, and the buffers that they read and write."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dimtensor.compile.sliced.program import tree
from dimtensor.kernels.native.flat import closure_table
from dimtensor.kernels.native.team import Batch

if TYPE_CHECKING:
    from dimtensor.compile.sliced.held import BoundSlice
    from dimtensor.compile.sliced.pool import Pool
    from dimtensor.compile.sliced.program import SliceProgram


class _Result(NamedTuple):
    """Result of a slice.

    Attributes
    ----------
    operation : str
        How shares are combined; ``"concat"`` for results along the dim.
    dtype : str
    shape : tuple of int
        Of the whole.
    place : int or slice
        Place among the results of the same operation and dtype.
    """

    operation: str
    dtype: str
    shape: tuple[int, ...]
    place: int | slice


class _Buffers(NamedTuple):
    """Buffers that one call reads and writes; calls of several threads have buffers of their own.

    Attributes
    ----------
    inputs : list of ndarray or None
        Copies of the inputs that all slices read as a whole.
    shares : dict of (str, str) to ndarray
        Shares of results of an operation and dtype: a row for each slice.
    arrays, results : ndarray of uint64
        Addresses for each slice.
    batch : Batch
    """

    inputs: list[np.ndarray | None]
    shares: dict[tuple[str, str], np.ndarray]
    arrays: np.ndarray
    results: np.ndarray
    batch: Batch


class MachineSlices:
    """Calls of machine code for the slices of a program.

    Parameters
    ----------
    program : SliceProgram
    shares : sequence of BoundSlice
    ends : sequence of (int, int)
        Where slices start and stop.
    arrays : sequence of ndarray
        Inputs of a call; others have the same dtypes and shapes.
    """

    def __init__(
        self,
        program: SliceProgram,
        shares: Sequence[BoundSlice],
        ends: Sequence[tuple[int, int]],
        arrays: Sequence[np.ndarray],
    ):
        self._program = program
        self._kinds = [(x.dtype, x.shape) for x in arrays]
        self._along = {
            at: np.array([start * x.nbytes // max(len(x), 1) for start, _ in ends], np.uint64)
            for at, x in enumerate(arrays)
            if at in program.along_inputs
        }
        first = shares[0].function
        self._native = first.executable.native
        whole = [_shape(program, share, self._native) for share in shares]
        self._results: list[_Result] = []
        self._sizes: dict[tuple[str, str], int] = {}
        self._offsets: dict[int, np.ndarray] = {}
        parts = [operation for operation in program.operations if operation]
        for at, operation in enumerate(parts):
            dtype, shape = self._native.code.results[at].dtype, whole[0][at]
            place: int | slice = 0
            if operation == "concat":
                lengths = [each[at][0] for each in whole]
                row = math.prod(shape[1:]) * np.dtype(dtype).itemsize
                starts = np.cumsum([0, *lengths[:-1]]) * row
                self._offsets[at] = starts.astype(np.uint64)
                shape = (sum(lengths), *shape[1:])
            else:
                start = self._sizes.get((operation, dtype), 0)
                stop = self._sizes[operation, dtype] = start + math.prod(shape)
                place = slice(start, stop) if shape else start
            self._results.append(_Result(operation, dtype, shape, place))
        n = len(parts)
        condition = first.conditions.start if first.conditions else len(self._native.code.results)
        self._closures = []
        self._kept = shares
        for share, (start, stop) in zip(shares, ends, strict=True):
            shapes = [
                (stop - start, *x.shape[1:]) if at in self._along else x.shape
                for at, x in enumerate(arrays)
            ]
            fixed = [*share.told, *share.function.fixed]
            types = self._native.code.arguments
            self._closures.append(closure_table(types, shapes, fixed, n, condition))
        self._idle: list[_Buffers] = []

    def _new_buffers(self) -> _Buffers:
        count = len(self._closures)
        inputs = [
            None if at in self._along else np.empty(shape, dtype)
            for at, (dtype, shape) in enumerate(self._kinds)
        ]
        addresses = [0 if x is None else x.ctypes.data for x in inputs]
        arrays = np.full((count, max(len(inputs), 1)), 0, np.uint64)
        arrays[:, : len(inputs)] = addresses
        shares = {key: np.zeros((count, size), key[1]) for key, size in self._sizes.items()}
        results = np.zeros((count, max(len(self._results), 1)), np.uint64)
        rows = np.arange(count)
        for at, (operation, dtype, _, place) in enumerate(self._results):
            if operation != "concat":
                matrix = shares[operation, dtype]
                start = place.start if isinstance(place, slice) else place
                first = matrix.ctypes.data + start * matrix.itemsize
                results[:, at] = first + rows * matrix.strides[0]
        calls = np.stack(
            [
                arrays.ctypes.data + rows * arrays.strides[0],
                results.ctypes.data + rows * results.strides[0],
                [closure.ctypes.data for closure in self._closures],
            ],
            axis=1,
        ).astype(np.uint64)
        codes = np.zeros(count, np.int32)
        kept = [(self, inputs, shares, arrays, results), (), ()]
        batch = Batch(self._native.flat_address, calls, codes, kept)
        return _Buffers(inputs, shares, arrays, results, batch)

    def __call__(
        self,
        pool: Pool,
        arrays: Sequence[np.ndarray],
        rest: Callable[[], Sequence[np.ndarray | None]],
    ) -> list[np.ndarray] | None:
        """Compute the outputs; None if a slice fails, or the arrays are of other kinds."""
        if [(x.dtype, x.shape) for x in arrays] != self._kinds:
            return None
        if any(type(x) is not np.ndarray for x in arrays):
            return None
        buffers = self._idle.pop() if self._idle else self._new_buffers()
        read: list[Any] = []
        for at, (x, buffer) in enumerate(zip(arrays, buffers.inputs, strict=True)):
            if buffer is None:
                ready = np.ascontiguousarray(x)
                read.append(ready)
                buffers.arrays[:, at] = self._along[at] + np.uint64(ready.ctypes.data)
            else:
                buffer[...] = x
        made: dict[int, np.ndarray] = {}
        for at, offsets in self._offsets.items():
            made[at] = np.empty(self._results[at].shape, self._results[at].dtype)
            buffers.results[:, at] = offsets + np.uint64(made[at].ctypes.data)
        batch = buffers.batch
        batch.kept[1:] = read, made
        once = pool.compute(batch, rest)
        batch.kept[1:] = (), ()
        found = self._total(buffers, made, once) if batch.is_fine() else None
        self._idle.append(buffers)
        return found

    def _total(
        self,
        buffers: _Buffers,
        made: dict[int, np.ndarray],
        rest: Sequence[np.ndarray | None],
    ) -> list[np.ndarray]:
        totals = {key: tree(matrix, getattr(np, key[0])) for key, matrix in buffers.shares.items()}
        parts = []
        for at, (operation, dtype, shape, place) in enumerate(self._results):
            part = made.get(at)
            if part is None:
                part = totals[operation, dtype][place]
                part = part.reshape(shape) if len(shape) > 1 else part
            parts.append(part)
        return self._program.with_rest(parts, rest)


def machine_slices(
    program: SliceProgram,
    shares: Sequence[BoundSlice],
    ends: Sequence[tuple[int, int]],
    arrays: Sequence[np.ndarray],
) -> MachineSlices | None:
    """Return the calls of machine code for slices; None where some need Python."""
    native = {id(share.function.executable.native) for share in shares}
    own = shares[0].function.executable.native
    layout = [program.along_inputs[at].axis for at in program.along_inputs]
    layout += [
        next(axis for axis, dim in enumerate(dims) if dim in program.cut)
        for operation, dims in zip(program.operations, program.output_dims, strict=True)
        if operation == "concat"
    ]
    inner = program.code.program
    if own is None or len(native) > 1 or any(layout) or inner.masks or not inner.static:
        return None
    if any(_shape(program, share, own) is None or not _fits(share, own) for share in shares):
        return None
    return MachineSlices(program, shares, ends, arrays)


def _shape(program: SliceProgram, share: BoundSlice, native: Any) -> Any:
    """Return the shapes of the results of a slice; None if one depends on values."""
    found = []
    for dims in share.function.output_dims:
        lengths = [dim._bound_length(share.function.binding) for dim in dims]
        if None in lengths:
            return None
        found.append(tuple(lengths))
    return found


def _fits(share: BoundSlice, native: Any) -> bool:
    """Return whether bound arrays are what the machine code reads."""
    fixed = [*share.told, *share.function.fixed]
    types = native.code.arguments[len(native.code.arguments) - len(fixed) :]
    return all(
        x.dtype.name == wanted.dtype and x.ndim == len(wanted.shape) and _is_plain(x)
        for x, wanted in zip(fixed, types, strict=True)
    )


def _is_plain(x: np.ndarray) -> bool:
    return bool(x.flags.c_contiguous and x.flags.aligned)
