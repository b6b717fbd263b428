"""Code of functions on several devices: the share of a device, and one reduction of all shares."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dimtensor.backends import Allowed, CompileOptions, Executable, backend_of, compile_positional
from dimtensor.compile.devices.arrays import DeviceArray, SliceAxes, WholeArrays
from dimtensor.compile.devices.mesh import DeviceShares, Placement
from dimtensor.compile.program import Program, Slot, build_program, program_for
from dimtensor.dims import Dim, Dims
from dimtensor.errors import GraphError
from dimtensor.graph import Node, leaves
from dimtensor.graph.checking.checks import Check
from dimtensor.lower.context import LoweringOptions


def sharded_executable(
    program: Program,
    outputs: Sequence[Node],
    n_inputs: int,
    shares: DeviceShares,
    placement: Placement,
    lengths: Mapping[Dim, int],
    allow: Allowed,
) -> Executable:
    """Compile a program as the function of each device, under ``jax.shard_map``.

    The rows are cut into slices of equal length, one for each device, and a remainder of fewer rows
    than there are devices. Each device computes the share of its slice, and the first ones that of
    one more row; the others compute that of a copy of a row, and discard it. So all devices run the
    same code, no expression is masked, and no derivative passes through a copy.

    Parameters
    ----------
    program : Program
        Of the whole, which describes the arrays of a call.
    outputs : sequence of Node
    n_inputs : int
    shares : DeviceShares
    placement : Placement
    lengths : mapping of Dim to int
    allow : frozenset of str

    Raises
    ------
    GraphError
        If a length depends on values, or no input has the length of the dim.
    """
    started = time.perf_counter()
    if not program.static:
        raise GraphError("a length depends on values, and devices compute with fixed lengths")
    whole = WholeArrays(program, n_inputs, shares, lengths)
    made = _Sharded(whole, outputs, placement, allow)
    stats = {"rewrite": time.perf_counter() - started}
    return Executable(
        made.call, made.raw, stats, binder=made.bind, placing=made.place, of_device=made.of_device
    )


class SliceCode(NamedTuple):
    """Code for slices of one length.

    Attributes
    ----------
    first : int
        Position of the first slice.
    length : int
        Of a slice.
    holders : int
        Number of devices that have one.
    given : list of int
        The inputs of the whole that it takes, by their number.
    program : Program
    executable : Executable
    """

    first: int
    length: int
    holders: int
    given: list[int]
    program: Program
    executable: Executable

    def rows(self, array: Any, at: int, devices: int) -> Any:
        """Return the slices of all devices along an axis; those without one copy the last row."""
        rows = array[
            (*[slice(None)] * at, slice(self.first, self.first + self.holders * self.length))
        ]
        if self.holders == devices:
            return rows
        return rows.take(np.minimum(np.arange(devices), self.holders - 1), axis=at)


class _Sharded:
    """A program on the devices of a mesh."""

    def __init__(
        self, whole: WholeArrays, outputs: Sequence[Node], placement: Placement, allow: Allowed
    ):
        import jax

        self._whole = whole
        self._shares = whole.shares
        self._mesh = placement.mesh
        self._devices = math.prod(placement.mesh.shape[axis] for axis in whole.shares.axes)
        self._allow = allow
        self._known = self._known_program()
        each, more = divmod(whole.length, self._devices)
        self._pieces: list[SliceCode] = []
        if each or not more:
            self._pieces.append(self._piece(0, each, self._devices, rests=True))
        if more:
            self._pieces.append(self._piece(each * self._devices, 1, more, not self._pieces))
        # layout of the placed arrays of each piece: the axis that is cut, and is_stacked
        self._held: list[list[tuple[int | None, bool]]] = []
        self._jitted = jax.jit(self._mapped)

    # -- code --------------------------------------------------------------------------------------

    def _known_program(self) -> tuple[Program, Executable] | None:
        """Compile the constants that are computed from the data of the whole."""
        if not self._shares.known:
            return None
        program = program_for("python", [], self._shares.known, self._whole.lengths)
        return program, compile_positional("python", program.inputs, program.outputs)

    def _piece(self, first: int, length: int, count: int, rests: bool) -> SliceCode:
        """Compile the code for slices of one length.

        Parameters
        ----------
        first, length, count : int
        rests : bool
            Whether it also computes what is counted once.
        """
        shares = self._shares
        outputs = [one.part for one in shares.outputs if one.part is not None]
        if rests:
            outputs += [one.rest for one in shares.outputs if one.rest is not None]
        given = list(self._given(set(leaves(outputs))))
        inputs = self._whole.inputs
        fixed = [x for x in (shares.length, shares.start) if x is not None]
        fixed += [x for old, x in shares.leaves.items() if old not in inputs and x.kind == "input"]
        lengths = {**self._whole.lengths, **dict.fromkeys(shares.mapping.values(), length)}
        options = LoweringOptions(backend_of("jax").target)
        entering = [*(local for _, local in given), *fixed]
        program = build_program(entering, outputs, lengths, None, options, len(given))
        compiled = CompileOptions(True, True, self._allow, len(given))
        executable = compile_positional("jax", program.inputs, program.outputs, compiled)
        return SliceCode(first, length, count, [at for at, _ in given], program, executable)

    def _given(self, used: set[Node]) -> Iterator[tuple[int, Node | Dim]]:
        """Iterate over the inputs of a slice, each with the number of the whole's input."""
        for at, source in enumerate(self._whole.inputs):
            local = self._shares.leaves.get(source)
            if local is not None:
                yield at, local
            # the length of a dim that is cut is known
            elif source in used or source not in self._shares.cut:
                yield at, source

    # -- data --------------------------------------------------------------------------------------

    def place(self, fixed: Sequence[Any]) -> list[Any]:
        """Place data on the devices, with the values that are computed from them alone."""
        names = self._whole.sources[self._whole.n_inputs :]
        arrays = dict(zip(names, map(np.asarray, fixed), strict=True))
        known, conditions = self._known_values(arrays)
        placed = [self._placed(DeviceArray(conditions, None))]
        self._held = []
        for piece in self._pieces:
            slots = piece.program.slots[len(piece.given) :]
            columns = [self._column(piece, slot, arrays, known) for slot in slots]
            columns += self._once(piece, columns)
            placed += map(self._placed, columns)
            self._held.append([(column.at, column.is_stacked) for column in columns])
        return placed

    def _known_values(
        self, arrays: Mapping[Any, np.ndarray]
    ) -> tuple[dict[Node, np.ndarray], np.ndarray]:
        """Compute constants from the data of the whole; return the conditions of checks, too."""
        checks = self._whole.program.checks
        conditions = np.ones(len(checks), dtype=bool)
        if self._known is None:
            return {}, conditions
        program, executable = self._known
        found = list(map(np.asarray, executable.call(*(arrays[x.source] for x in program.slots))))
        for value, check in zip(found[len(program.output_dims) :], program.checks, strict=True):
            for at, other in enumerate(checks):
                conditions[at] &= other.message != check.message or bool(value)
        return dict(zip(self._shares.known, found, strict=False)), conditions

    def _column(
        self,
        piece: SliceCode,
        slot: Slot,
        arrays: Mapping[Any, np.ndarray],
        known: Mapping[Node, np.ndarray],
    ) -> DeviceArray:
        """Return what the devices hold for an input of their code."""
        whole, source = self._whole, slot.source
        if source is self._shares.length:
            return DeviceArray(np.asarray(whole.length, dtype=np.int64), None)
        if source is self._shares.start:
            starts = piece.first + piece.length * np.arange(self._devices, dtype=np.int64)
            return DeviceArray(starts, 0, is_stacked=True)
        of: Any = self._wholes.get(source, source)
        array = known[of] if of in known else arrays[of]
        return (
            DeviceArray(array, None)
            if not array.ndim
            else self._cut(piece, array, self._axes(slot))
        )

    @cached_property
    def _wholes(self) -> dict[Any, Node]:
        """Leaves and constants of the whole, by the inputs of a slice that stand for them."""
        return {local: x for x, local in self._shares.leaves.items()}

    @cached_property
    def _dims_of(self) -> dict[Any, Dims]:
        dims = {slot.source: slot.dims for slot in self._whole.program.slots}
        if self._known is not None:
            dims |= dict(zip(self._shares.known, self._known[0].output_dims, strict=True))
        return dims

    def _once(self, piece: SliceCode, columns: Sequence[DeviceArray]) -> list[DeviceArray]:
        """Compute, from the data of each device, what does not depend on the inputs."""
        once = piece.executable.once
        if once is None:
            return []
        of_devices = [
            once.call(*(column.of_device(number, self._devices) for column in columns))
            for number in range(self._devices)
        ]
        return [DeviceArray(np.stack(values), 0, True) for values in zip(*of_devices, strict=True)]

    def _placed(self, column: DeviceArray) -> Any:
        from dimtensor.backends.jax.devices import place_on

        return place_on(self._mesh, self._spec(column.at), column.array)

    def _spec(self, at: int | None) -> Any:
        from jax.sharding import PartitionSpec

        return PartitionSpec() if at is None else PartitionSpec(*[None] * at, self._shares.axes)

    # -- the function of the whole -----------------------------------------------------------------

    def call(self, *arrays: Any) -> list[np.ndarray]:
        """Compute from all arrays of a call, data included."""
        n = self._whole.n_inputs
        return self.bind(self.place(arrays[n:]))(*arrays[:n])

    def bind(self, placed: Sequence[Any]) -> Callable[..., list[np.ndarray]]:
        """Bind placed data; return a function of NumPy's arrays."""
        import jax

        from dimtensor.backends.jax.devices import fetch

        def call(*arrays: np.ndarray) -> list[np.ndarray]:
            columns = self._enter(list(map(np.asarray, arrays)))
            with jax.enable_x64(True):
                entering = [x.array if x.at is None else self._placed(x) for x in columns]
                results = self._jitted(*entering, *placed)
            return self._leave(list(map(fetch, results)), np)

        return call

    def raw(self, *arrays: Any) -> tuple[Any, ...]:
        """Compute as a pure function of JAX, of inputs and placed data."""
        import jax
        import jax.numpy as jnp

        n = self._whole.n_inputs
        given = self._enter(list(map(jnp.asarray, arrays[:n])))
        entering = [x.array for x in given]
        if jax.sharding.AxisType.Explicit not in self._mesh.axis_types:
            return tuple(self._leave(self._mapped(*entering, *arrays[n:]), jnp))

        def reshard(x: Any, at: int | None = None) -> Any:
            return jax.reshard(x, jax.sharding.NamedSharding(self._mesh, self._spec(at)))

        entering = [reshard(x.array, x.at) for x in given]
        return tuple(self._leave(self._mapped(*entering, *arrays[n:]), jnp, reshard))

    def of_device(self, *arrays: Any) -> tuple[Any, ...]:
        """Compute as a device does, within a ``jax.shard_map`` over the mesh."""
        import jax.numpy as jnp

        n = self._whole.n_inputs
        entering = [x.array for x in self._enter(list(map(jnp.asarray, arrays[:n])))]
        return tuple(self._leave(self._on_device(*entering, *arrays[n:]), jnp))

    def _enter(self, arrays: Sequence[Any]) -> list[DeviceArray]:
        """Arrange the inputs of a call as the pieces take them."""
        columns = []
        for piece, at, axes in self._entries:
            columns.append(self._cut(piece, arrays[at], axes))
        return columns

    @cached_property
    def _entries(self) -> list[tuple[SliceCode, int, SliceAxes]]:
        """Inputs of the pieces: the number of the whole's input, and its axes."""
        return [
            (piece, at, self._axes(slot))
            for piece in self._pieces
            for at, slot in zip(piece.given, piece.program.slots, strict=False)
        ]

    def _axes(self, slot: Slot) -> SliceAxes:
        """Return the axes of an input of a piece, and of the whole that it is a slice of."""
        source: Any = slot.source
        return self._whole.axes(self._dims_of[self._wholes.get(source, source)], slot.dims)

    def _cut(self, piece: SliceCode, array: Any, axes: SliceAxes) -> DeviceArray:
        array = axes.enter(array)
        if axes.at is None:
            return DeviceArray(array, None)
        return DeviceArray(piece.rows(array, axes.at, self._devices), axes.at)

    def _leave(
        self, results: Sequence[Any], xp: Any, gather: Callable[[Any], Any] = lambda x: x
    ) -> list[Any]:
        """Join the slices of results, and merge the factors of product dims."""
        todo, found = iter(results), []
        for share, axes in zip(self._shares.outputs, self._joints, strict=True):
            if share.operation != "concat" or self._is_even:
                found.append(axes.merge(next(todo)))
                continue
            assert axes.at is not None
            parts = []
            for piece in self._pieces:
                rows = slice(0, piece.holders * piece.length)
                parts.append(gather(next(todo))[(*[slice(None)] * axes.at, rows)])
            found.append(axes.merge(xp.concatenate(parts, axes.at)))
        return [*found, *todo]

    @property
    def _is_even(self) -> bool:
        """Equal lengths of the slices of all devices."""
        return all(piece.holders == self._devices for piece in self._pieces)

    @cached_property
    def _joints(self) -> list[SliceAxes]:
        """Axes of each output, with the factors of product dims apart."""
        whole, shares = self._whole, self._shares
        factors = [[*map(shares.local, shares.factors(x))] for x in whole.program.output_dims]
        pairs = zip(whole.program.output_dims, factors, strict=True)
        return [whole.axes(dims, tuple(local)) for dims, local in pairs]

    @cached_property
    def _layouts(self) -> list[list[SliceAxes]]:
        """Axes of each result of each piece."""
        dims, outputs = self._whole.program.output_dims, self._shares.outputs
        of = [x for x, share in zip(dims, outputs, strict=True) if share.part is not None]
        of += [x for x, share in zip(dims, outputs, strict=True) if share.rest is not None]
        return [
            [
                self._whole.axes(own, local)
                for own, local in zip(of, piece.program.output_dims, strict=False)
            ]
            for piece in self._pieces
        ]

    # -- the function of a device ------------------------------------------------------------------

    def _mapped(self, *arrays: Any) -> tuple[Any, ...]:
        """Map the function of a device over the mesh."""
        import jax

        none = self._spec(None)
        inputs = [self._spec(axes.at) for _, _, axes in self._entries]
        held = [self._spec(at) for piece in self._held for at, _ in piece]
        results = []
        for share, axes in zip(self._shares.outputs, self._joints, strict=True):
            is_cut = share.operation == "concat"
            results += [self._spec(axes.at)] * len(self._pieces) if is_cut else [none]
        results += [none] * len(self._whole.program.checks)
        return jax.shard_map(
            self._on_device,
            mesh=self._mesh,
            in_specs=(*inputs, none, *held),
            out_specs=tuple(results),
            check_vma=False,
        )(*arrays)

    def _on_device(self, *arrays: Any) -> tuple[Any, ...]:
        """Compute the share of a device, and reduce the shares of all devices."""
        from dimtensor.backends.jax.devices import reduce_over

        todo = iter(arrays)
        given = [[next(todo) for _ in piece.given] for piece in self._pieces]
        conditions = next(todo)
        found: list[list[Any]] = []  # by piece
        for piece, entering, held in zip(self._pieces, given, self._held, strict=True):
            entering += [next(todo)[0] if is_stacked else next(todo) for _, is_stacked in held]
            found.append(list(piece.executable.raw(*entering)))
        for values, layouts in zip(found, self._layouts, strict=True):
            for at, axes in enumerate(layouts):
                values[at] = axes.leave(values[at])
        outputs = self._shares.outputs
        n_parts = sum(share.part is not None for share in outputs)
        parts = iter([*zip(*(values[:n_parts] for values in found), strict=True)])
        rests = iter(found[0][n_parts:])
        results: list[Any] = []
        reduced: dict[int, str] = {}  # operations, by number of the result
        added: dict[int, Any] = {}
        for share in outputs:
            own: tuple[Any, ...] = () if share.part is None else next(parts)
            rest = None if share.rest is None else next(rests)
            if share.operation is None:
                results.append(rest)
            elif share.operation == "concat":
                results += own
            else:
                if rest is not None:
                    added[len(results)] = rest
                reduced[len(results)] = share.operation
                results.append(self._combined(share.operation, own))
        for at, check in enumerate(self._whole.program.checks):
            pairs = zip(self._pieces, found, strict=True)
            hold = [self._condition(piece, values, check) for piece, values in pairs]
            reduced[len(results)] = "logical_and"
            results.append(self._combined("logical_and", hold) & conditions[at])
        totals = reduce_over(
            self._shares.axes, [*reduced.values()], [results[at] for at in reduced]
        )
        for at, total in zip(reduced, totals, strict=True):
            results[at] = total + added[at] if at in added else total
        return tuple(results)

    def _combined(self, operation: str, values: Sequence[Any]) -> Any:
        """Combine the values of the slices that this device has."""
        import jax

        from dimtensor.backends.jax.devices import joined, neutral

        total: Any = None
        for piece, value in zip(self._pieces, values, strict=True):
            if piece.holders < self._devices:
                has_slice = jax.lax.axis_index(self._shares.axes) < piece.holders
                value = jax.numpy.where(has_slice, value, neutral(operation, value.dtype))
            total = value if total is None else joined(operation, total, value)
        return total

    def _condition(self, piece: SliceCode, values: Sequence[Any], check: Check) -> Any:
        """Return whether a check of the whole holds in a slice."""
        import jax

        checks = piece.program.checks
        result = jax.numpy.asarray(True)
        for own, value in zip(checks, values[len(values) - len(checks) :], strict=True):
            if own.message == check.message:
                result &= value.all()
        return result
