"""Slices that are machine code: its calls, and the buffers that they read and write."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dimtensor.compile.sliced.program import tree
from dimtensor.dims import Dims
from dimtensor.kernels.native.flat import closure_table
from dimtensor.kernels.native.teams.team import Batch, ShareSum
from dimtensor.kernels.native.teams.team_call import BatchInput
from dimtensor.tuning import COPIED_RESULTS

if TYPE_CHECKING:
    from dimtensor.compile.sliced.held import BoundSlice, HeldSlices
    from dimtensor.compile.sliced.pool import Pool

# Keys of results: sums that the team adds up, and others that follow them in the line of a call.
_SUM, _SHORT = ("add", "float64"), ("", "line")


class _Result(NamedTuple):
    """Output of a call.

    Attributes
    ----------
    operation : str
        How shares are combined; ``"concat"`` for results along the dim, ``""`` without shares.
    dtype : str
    shape : tuple of int
        Of the whole.
    start : int
        Where it begins in the line of a call, or among the results of its operation and dtype.
    in_line : bool
        Whether the result is complete in the line after a call.
    share, rest : int or None
        Place among the results of a slice, and among those of what is computed once.
    rest_dtype : str
    order : list of int
        How the axes of the rest are transposed.
    """

    operation: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    in_line: bool
    share: int | None
    rest: int | None
    rest_dtype: str
    order: list[int]

    def of(self, values: np.ndarray) -> np.ndarray:
        """Return its elements among those of several results: a view with its shape."""
        return values[self.start : self.start + math.prod(self.shape)].reshape(self.shape)

    @property
    def is_combined(self) -> bool:
        """Combined by an operation, from a share of each slice."""
        return self.operation not in ("", "concat")


class _Buffers(NamedTuple):
    """Buffers that one call reads and writes; calls of several threads have buffers of their own.

    Attributes
    ----------
    turned : dict of int to ndarray
        Transposed copies of inputs whose axes have another order where the rests are computed.
    line : ndarray
        Sums of the shares with their rests, and other short results: one array.
    shares : dict of (str, str) to ndarray
        Shares of results of an operation and dtype: a row for each slice.
    rests : dict of int to ndarray
        Results that are computed once, by the output, with axes in their own order.
    results : ndarray of uint64
        Addresses for each slice.
    batch : Batch
    """

    turned: dict[int, np.ndarray]
    line: np.ndarray
    shares: dict[tuple[str, str], np.ndarray]
    rests: dict[int, np.ndarray]
    results: np.ndarray
    batch: Batch


class MachineSlices:
    """Calls of machine code for the slices of a program.

    Parameters
    ----------
    held : HeldSlices
    shares : sequence of BoundSlice
    ends : sequence of (int, int)
        Where slices start and stop.
    arrays : sequence of ndarray
        Inputs of a call; others have the same dtypes and shapes.
    """

    def __init__(
        self,
        held: HeldSlices,
        shares: Sequence[BoundSlice],
        ends: Sequence[tuple[int, int]],
        arrays: Sequence[np.ndarray],
    ):
        program, once = held.program, held.once
        dtypes = [np.dtype(each.dtype) for each in _native(shares[0]).code.arguments]
        self._kinds = [(dtype, x.shape) for dtype, x in zip(dtypes, arrays, strict=False)]
        self._along = {
            at: np.array([start * x.nbytes // max(len(x), 1) for start, _ in ends], np.uint64)
            for at, x in enumerate(arrays)
            if at in program.along_inputs
        }
        self._rest_inputs = program.rest_inputs
        self._turns = any(order != sorted(order) for order in self._rest_inputs.values())
        self._is_read = {at for at in self._along if arrays[at].size > COPIED_RESULTS}
        self._sizes: dict[tuple[str, str], int] = {_SUM: 0, _SHORT: 0}
        self._offsets: dict[int, np.ndarray] = {}
        self._results = self._placed(held, shares)
        self._is_plain = not self._turns and all(one.in_line for one in self._results)
        self._fresh = {
            at: one
            for at, one in enumerate(self._results)
            if one.operation == "concat" and not one.in_line
        }
        self._trees = [key for key in self._sizes if key[0] not in ("", "concat") and key != _SUM]
        n = sum(one.share is not None for one in self._results)
        self._closures = []
        self._kept = shares, once
        for share, (start, stop) in zip(shares, ends, strict=True):
            shapes = [
                (stop - start, *x.shape[1:]) if at in self._along else x.shape
                for at, x in enumerate(arrays)
            ]
            self._closures.append(_closure(share, shapes, n))
        self._function = _native(shares[0]).flat_address
        self._once: tuple[int, np.ndarray] | None = None
        if once is not None:
            shapes = [arrays[at].transpose(x).shape for at, x in self._rest_inputs.items()]
            n = sum(one.rest is not None for one in self._results)
            self._once = _native(once).flat_address, _closure(once, shapes, n)
        self._idle: list[_Buffers] = []

    def _placed(self, held: HeldSlices, shares: Sequence[BoundSlice]) -> list[_Result]:
        """Describe each output, and give it a place among the results of its kind."""
        program, once = held.program, held.once
        shapes = [_shapes(share) for share in shares]
        once_shapes = [] if once is None else _shapes(once)
        found, share, rest = [], 0, 0
        for at, operation in enumerate(program.operations):
            order: list[int] = []
            dtype = rest_dtype = ""
            has_rest = program.rests[at] is not None
            if has_rest:
                assert once is not None
                order = _order(once.function.output_dims[rest], program.output_dims[at])
                dtype = rest_dtype = _native(once).code.results[rest].dtype
                shape = tuple(once_shapes[rest][axis] for axis in order)
            if operation:
                dtype, shape = _native(shares[0]).code.results[share].dtype, shapes[0][share]
            if operation == "concat":
                lengths = [each[share][0] for each in shapes]
                row = math.prod(shape[1:]) * np.dtype(dtype).itemsize
                starts = np.cumsum([0, *lengths[:-1]]) * row
                self._offsets[at] = starts.astype(np.uint64)
                shape = (sum(lengths), *shape[1:])
            is_short = operation in ("", "concat") and math.prod(shape) <= COPIED_RESULTS
            in_line = dtype == "float64" and (operation == "add" or is_short)
            in_line &= not has_rest or (rest_dtype == dtype and order == sorted(order))
            key = _SHORT if in_line and is_short else (operation, dtype)
            start = self._sizes.setdefault(key, 0)
            self._sizes[key] = start + math.prod(shape)
            places = share if operation else None, rest if has_rest else None
            one = _Result(operation, dtype, shape, start, in_line, *places, rest_dtype, order)
            found.append(one)
            share, rest = share + bool(operation), rest + has_rest
        sums = self._sizes[_SUM]
        return [
            one._replace(start=one.start + sums) if one.in_line and not one.is_combined else one
            for one in found
        ]

    def _new_buffers(self) -> _Buffers:
        count = len(self._closures)
        inputs = [
            None if at in self._is_read else np.empty(shape, dtype)
            for at, (dtype, shape) in enumerate(self._kinds)
        ]
        addresses = [0 if x is None else _address(x) for x in inputs]
        arrays = np.zeros((count, max(len(inputs), 1)), np.uint64)
        for at, address in enumerate(addresses):
            arrays[:, at] = address + self._along.get(at, np.uint64(0))
        shares = {key: np.zeros((count, self._sizes[key]), key[1]) for key in (_SUM, *self._trees)}
        # of all numbers only -0.0 leaves each one unchanged
        first = np.full(self._sizes[_SUM], -0.0)
        line = np.empty(len(first) + self._sizes[_SHORT])
        results = np.zeros((count, max(len(self._results), 1)), np.uint64)
        rests: dict[int, np.ndarray] = {}
        for at, one in enumerate(self._results):
            if one.is_combined:
                own = shares[one.operation, one.dtype]
                results[:, one.share] = [_address(one.of(row)) for row in own]
            elif one.in_line and one.operation:
                results[:, one.share] = self._offsets[at] + np.uint64(_address(one.of(line)))
            if one.rest is not None and one.in_line:
                rests[at] = one.of(first if one.is_combined else line)
            elif one.rest is not None:
                own_order = np.argsort(one.order)
                rests[at] = np.zeros([one.shape[x] for x in own_order], one.rest_dtype)
        calls = np.empty((count, 4), np.uint64)
        calls[:, 0] = self._function
        calls[:, 1] = [_address(row) for row in arrays]
        calls[:, 2] = [_address(row) for row in results]
        calls[:, 3] = [_address(closure) for closure in self._closures]
        turned = {
            at: np.empty([self._kinds[at][1][axis] for axis in order], self._kinds[at][0])
            for at, order in self._rest_inputs.items()
            if order != sorted(order)
        }
        tables: list[np.ndarray] = []
        if self._once is not None:
            function, closure = self._once
            given = [_address(turned[at]) if at in turned else addresses[at]
                     for at in self._rest_inputs]  # fmt: skip
            tables = [np.array([*each, 0], np.uint64)
                      for each in (given, map(_address, rests.values()))]  # fmt: skip
            own_call = [function, *map(_address, [*tables, closure])]
            calls = np.concatenate([np.array([own_call], np.uint64), calls])
        kept = [(self, inputs, turned, line, shares, rests, arrays, results, tables)]
        nowhere = np.zeros(count, np.uint64)
        taken = [
            BatchInput(dtype, shape, buffer, arrays[:, at], self._along.get(at, nowhere))
            for at, ((dtype, shape), buffer) in enumerate(zip(self._kinds, inputs, strict=True))
        ]
        made = [one.of(line) for one in self._results if one.in_line]
        batch = Batch(calls, kept, ShareSum(shares[_SUM], first, line), taken, made)
        return _Buffers(turned, line, shares, rests, results, batch)

    def __call__(self, pool: Pool, arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray] | None:
        """Compute the outputs; None if a slice fails, or the arrays are of other kinds."""
        if self._turns and not self._are_taken(arrays):
            return None
        buffers = self._idle.pop() if self._idle else self._new_buffers()
        if self._is_plain:  # few Python objects, which are not in the caches
            found: Sequence[np.ndarray] | None = pool.compute(buffers.batch, arrays)
        else:
            found = self._computed(pool, buffers, arrays)
        self._idle.append(buffers)
        if found is None and self._are_taken(arrays) and not all(map(_is_plain, arrays)):
            return self(pool, [x.copy() for x in arrays])
        return found

    def _computed(
        self, pool: Pool, buffers: _Buffers, arrays: Sequence[np.ndarray]
    ) -> list[np.ndarray] | None:
        """Compute outputs of which some need Python before the calls, or after them."""
        for at, buffer in buffers.turned.items():
            buffer[...] = arrays[at].transpose(self._rest_inputs[at])
        made: dict[int, np.ndarray] = {}
        for at, one in self._fresh.items():
            made[at] = x = np.empty(one.shape, one.dtype)
            np.add(self._offsets[at], _address(x), out=buffers.results[:, one.share])
        batch = buffers.batch
        batch.kept[1:] = made.values()
        in_line = pool.compute(batch, arrays)
        found = None if in_line is None else self._found(in_line, buffers, made)
        del batch.kept[1:]
        return found

    def _are_taken(self, arrays: Sequence[np.ndarray]) -> bool:
        """Return whether arrays have the dtypes and shapes of the call; axes in any order."""
        if len(arrays) != len(self._kinds):
            return False
        pairs = zip(arrays, self._kinds, strict=True)
        return all(type(x) is np.ndarray and (x.dtype, x.shape) == kind for x, kind in pairs)

    def _found(
        self, in_line: Sequence[np.ndarray], buffers: _Buffers, made: dict[int, np.ndarray]
    ) -> list[np.ndarray]:
        """Return all outputs, of which some are copied from buffers that are used again."""
        totals = {key: tree(buffers.shares[key], getattr(np, key[0])) for key in self._trees}
        own, found = iter(in_line), []
        for at, one in enumerate(self._results):
            if one.in_line:
                found.append(next(own))
            elif one.is_combined:
                key = one.operation, one.dtype
                part = one.of(buffers.line if key == _SUM else totals[key])
                if one.rest is not None:
                    part = np.asarray(np.add(buffers.rests[at].transpose(one.order), part))
                found.append(part)
            elif one.operation:
                found.append(made[at])
            else:
                found.append(buffers.rests[at].transpose(one.order).copy())
        return found


def machine_slices(
    held: HeldSlices,
    shares: Sequence[BoundSlice],
    ends: Sequence[tuple[int, int]],
    arrays: Sequence[np.ndarray],
) -> MachineSlices | None:
    """Return the calls of machine code for slices; None where some need Python."""
    program = held.program
    own = [share.function.executable.native for share in shares]
    layout = [program.along_inputs[at].axis for at in program.along_inputs]
    layout += [
        next(axis for axis, dim in enumerate(dims) if dim in program.cut)
        for operation, dims in zip(program.operations, program.output_dims, strict=True)
        if operation == "concat"
    ]
    if any(one is not own[0] for one in own) or any(layout):
        return None
    if not all(_is_machine(each) for each in (*shares, held.once) if each is not None):
        return None
    return MachineSlices(held, shares, ends, arrays)


def _is_machine(share: BoundSlice) -> bool:
    """Return whether a function is machine code that bound arrays and results suffice for."""
    inner, native = share.function.program, share.function.executable.native
    if native is None or inner.masks or not inner.static or None in _shapes(share):
        return False
    fixed = _fixed(share)
    types = native.code.arguments[len(native.code.arguments) - len(fixed) :]
    return all(
        x.dtype.name == wanted.dtype and x.ndim == len(wanted.shape) and _is_plain(x)
        for x, wanted in zip(fixed, types, strict=True)
    )


def _native(share: BoundSlice) -> Any:
    return share.function.executable.native


def _fixed(share: BoundSlice) -> list[np.ndarray]:
    return [*share.told, *share.function.fixed]


def _closure(share: BoundSlice, shapes: Sequence[Sequence[int]], n_results: int) -> np.ndarray:
    """Return the closure of calls with arrays of some shapes."""
    code, conditions = _native(share).code, share.function.conditions
    first = conditions.start if conditions else len(code.results)
    return closure_table(code.arguments, shapes, _fixed(share), n_results, first)


def _shapes(share: BoundSlice) -> list[Any]:
    """Return the shapes of the results of a function; None for one that depends on values."""
    binding, found = share.function.binding, []
    for dims in share.function.output_dims:
        lengths = [dim._bound_length(binding) for dim in dims]
        found.append(None if None in lengths else tuple(lengths))
    return found


def _order(given: Dims, wanted: Dims) -> list[int]:
    return [given.index(dim) for dim in wanted]


def _address(x: np.ndarray) -> int:
    found: int = x.__array_interface__["data"][0]  # faster than `x.ctypes`
    return found


def _is_plain(x: np.ndarray) -> bool:
    return bool(x.flags.c_contiguous and x.flags.aligned)
