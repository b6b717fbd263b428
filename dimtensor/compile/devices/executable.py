"""Code of functions on several devices: the share of a device, and one reduction of all shares."""

from __future__ import annotations

import functools
import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from dimtensor.backends import Allowed, CompileOptions, Executable, backend_of, compile_positional
from dimtensor.compile.devices.arrays import (
    DeviceArray,
    Segment,
    SliceAxes,
    WholeArrays,
    joined,
    segments,
)
from dimtensor.compile.devices.mesh import Placement
from dimtensor.compile.devices.pieces import SliceCode, Total
from dimtensor.compile.devices.shares import DeviceShares, Share
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
    same code, no expression is masked, and no derivative passes through a copy. If several dims are
    cut, there is code for each combination of their slices.

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


class _Sharded:
    """A program on the devices of a mesh."""

    def __init__(
        self, whole: WholeArrays, outputs: Sequence[Node], placement: Placement, allow: Allowed
    ):
        import jax

        self._whole = whole
        self._shares = whole.shares
        self._mesh = placement.mesh
        self._cut_axes = [cut.axes for cut in whole.shares.cuts]
        self._counts = [
            math.prod(placement.mesh.shape[name] for name in names) for names in self._cut_axes
        ]
        self._allow = allow
        self._known = self._known_program()
        pairs = zip(whole.lengths_cut, self._counts, strict=True)
        self._segments = [segments(length, count) for length, count in pairs]
        chosen = itertools.product(*map(enumerate, self._segments))
        self._pieces = [self._piece(each) for each in chosen]
        # layout of the placed arrays of each piece: the axes that are cut, and is_stacked
        self._held: list[list[tuple[tuple[int | None, ...], bool]]] = []
        self._jitted = jax.jit(self._mapped)

    # -- code --------------------------------------------------------------------------------------

    def _known_program(self) -> tuple[Program, Executable] | None:
        """Compile the constants that are computed from the data of the whole."""
        if not self._shares.known:
            return None
        program = program_for("python", [], self._shares.known, self._whole.lengths)
        return program, compile_positional("python", program.inputs, program.outputs)

    def _piece(self, chosen: Sequence[tuple[int, Segment]]) -> SliceCode:
        """Compile the code for slices of one length along each cut."""
        shares = self._shares
        # a term that does not depend on a cut is computed with its first segment
        later = {cut for cut, (number, _) in enumerate(chosen) if number}
        terms = [
            (at, term)
            for at, share in enumerate(shares.outputs)
            for term in share.terms
            if later <= term.cuts
        ]
        outputs = [term.node for _, term in terms]
        given = list(self._given(set(leaves(outputs))))
        inputs = self._whole.inputs
        scalars = [(cut.length, cut.start) for cut in shares.cuts]
        fixed = [x for pair in scalars for x in pair if x is not None]
        fixed += [x for old, x in shares.leaves.items() if old not in inputs and x.kind == "input"]
        lengths = dict(self._whole.lengths)
        parts = tuple(segment for _, segment in chosen)
        for cut, segment in zip(shares.cuts, parts, strict=True):
            lengths |= dict.fromkeys(cut.mapping.values(), segment.length)
        options = LoweringOptions(backend_of("jax").target)
        entering = [*(local for _, local in given), *fixed]
        program = build_program(entering, outputs, lengths, None, options, len(given))
        compiled = CompileOptions(True, True, self._allow, len(given))
        executable = compile_positional("jax", program.inputs, program.outputs, compiled)
        return SliceCode(parts, terms, [at for at, _ in given], program, executable)

    def _given(self, used: set[Node]) -> Iterator[tuple[int, Node | Dim]]:
        """Iterate over the inputs of a slice, each with the number of the whole's input."""
        for at, source in enumerate(self._whole.inputs):
            local = self._shares.leaves.get(source)
            if local is not None:
                yield at, local
            # the length of a dim that is cut is known
            elif source in used or not any(source in cut.dims for cut in self._shares.cuts):
                yield at, source

    # -- data --------------------------------------------------------------------------------------

    def place(self, fixed: Sequence[Any], shared: dict[Any, Any] | None = None) -> list[Any]:
        """Place data on the devices, with the values that are computed from them alone.

        Parameters
        ----------
        fixed : sequence of array
        shared : dict, optional
            Placed data of functions of the same data, which are not placed again.
        """
        shared = {} if shared is None else shared
        names = self._whole.sources[self._whole.n_inputs :]
        arrays = dict(zip(names, map(np.asarray, fixed), strict=True))
        known, conditions = self._known_values(arrays)
        placed = [self._placed(DeviceArray(conditions, self._nowhere))]
        self._held = []
        for piece in self._pieces:
            slots = piece.program.slots[len(piece.given) :]
            columns = [self._column(piece, slot, arrays, known) for slot in slots]
            for slot, column in zip(slots, columns, strict=True):
                of: Any = self._wholes.get(slot.source, slot.source)
                order = self._axes(slot).order if of in arrays else None
                key = (of, order, piece.segments, column.at, *self._cut_axes)
                if order is None or key not in shared:
                    shared[key] = self._placed(column)
                placed.append(shared[key])
            more = self._once(piece, columns)
            columns += more
            placed += map(self._placed, more)
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
        source = slot.source
        for number, cut in enumerate(self._shares.cuts):
            if source is cut.length:
                length = np.asarray(self._whole.lengths_cut[number], dtype=np.int64)
                return DeviceArray(length, self._nowhere)
            if source is cut.start:
                segment = piece.segments[number]
                steps = np.arange(segment.devices, dtype=np.int64)
                at = [0 if one == number else None for one in range(len(self._counts))]
                return DeviceArray(segment.first + segment.length * steps, tuple(at), True)
        of: Any = self._wholes.get(source, source)
        array = known[of] if of in known else arrays[of]
        return (
            DeviceArray(array, self._nowhere)
            if not array.ndim
            else self._cut(piece, array, self._axes(slot))
        )

    @property
    def _nowhere(self) -> tuple[None, ...]:
        """Axes of an array that is not cut."""
        return (None,) * len(self._counts)

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
            once.call(*(column.of_device(numbers, self._counts) for column in columns))
            for numbers in itertools.product(*map(range, self._counts))
        ]
        at = tuple(range(len(self._counts)))
        found = [np.stack(values) for values in zip(*of_devices, strict=True)]
        return [DeviceArray(x.reshape(*self._counts, *x.shape[1:]), at, True) for x in found]

    def _placed(self, column: DeviceArray) -> Any:
        from dimtensor.backends.jax.devices import place_on

        return place_on(self._mesh, self._spec(column.at), column.array)

    def _spec(self, at: Sequence[int | None]) -> Any:
        from jax.sharding import PartitionSpec

        names = dict(zip(at, self._cut_axes, strict=True))
        last = max((axis for axis in at if axis is not None), default=-1)
        return PartitionSpec(*(names.get(axis) for axis in range(last + 1)))

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
                entering = [x.array if x.at == self._nowhere else self._placed(x) for x in columns]
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

        def reshard(x: Any, at: Sequence[int | None] = self._nowhere) -> Any:
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
        for segment, at in zip(piece.segments, axes.at, strict=True):
            if at is not None:
                array = segment.rows(array, at)
        return DeviceArray(array, axes.at)

    def _leave(
        self, results: Sequence[Any], xp: Any, gather: Callable[[Any], Any] = lambda x: x
    ) -> list[Any]:
        """Join the slices of results, and merge the factors of product dims."""
        todo, found = iter(results), []
        for share, axes in zip(self._shares.outputs, self._joints, strict=True):
            parts = {cut: self._segments[cut] for cut in sorted(share.joined)}
            blocks = [next(todo) for _ in itertools.product(*parts.values())]
            if not all(one.is_full for each in parts.values() for one in each):
                blocks = [gather(block) for block in blocks]
            at = {cut: axis for cut, axis in enumerate(axes.at) if axis is not None}
            found.append(axes.merge(joined(blocks, parts, at, xp)))
        return [*found, *todo]

    @cached_property
    def _joints(self) -> list[SliceAxes]:
        """Axes of each output, with the factors of product dims apart."""
        whole, shares = self._whole, self._shares
        factors = [[*map(shares.local, shares.factors(x))] for x in whole.program.output_dims]
        pairs = zip(whole.program.output_dims, factors, strict=True)
        return [whole.axes(dims, tuple(local)) for dims, local in pairs]

    # -- the function of a device ------------------------------------------------------------------

    def _mapped(self, *arrays: Any) -> tuple[Any, ...]:
        """Map the function of a device over the mesh."""
        import jax

        none = self._spec(self._nowhere)
        inputs = [self._spec(axes.at) for _, _, axes in self._entries]
        held = [self._spec(at) for piece in self._held for at, _ in piece]
        results = []
        for share, axes in zip(self._shares.outputs, self._joints, strict=True):
            blocks = math.prod(len(self._segments[cut]) for cut in share.joined)
            results += [self._spec(axes.at)] * blocks
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
        todo = iter(arrays)
        given = [[next(todo) for _ in piece.given] for piece in self._pieces]
        conditions = next(todo)
        found: list[list[Any]] = []  # by piece
        for piece, entering, held in zip(self._pieces, given, self._held, strict=True):
            for at, is_stacked in held:
                x = next(todo)
                entering.append(x[(0,) * sum(one is not None for one in at)] if is_stacked else x)
            found.append(list(piece.executable.raw(*entering)))
        totals = [
            self._combined(share.operation, share.reduced, block)
            for at, share in enumerate(self._shares.outputs)
            for block in self._blocks(at, share, found)
        ]
        every = frozenset(range(len(self._counts)))
        for number, check in enumerate(self._whole.program.checks):
            pairs = zip(self._pieces, found, strict=True)
            hold = [(piece, every, self._condition(piece, x, check)) for piece, x in pairs]
            total = self._combined("logical_and", every, hold)
            totals.append(total._replace(value=total.value & conditions[number]))
        return self._reduced(totals)

    def _blocks(
        self, at: int, share: Share, found: Sequence[Sequence[Any]]
    ) -> Iterator[list[tuple[SliceCode, frozenset[int], Any]]]:
        """Iterate over the slices of an output along joined cuts; for each, values of its terms."""
        joined = sorted(share.joined)
        blocks: dict[tuple[Segment, ...], list[Any]] = {
            chosen: [] for chosen in itertools.product(*(self._segments[cut] for cut in joined))
        }
        dims = self._whole.program.output_dims[at]
        for piece, values in zip(self._pieces, found, strict=True):
            of = blocks[tuple(piece.segments[cut] for cut in joined)]
            for (number, term), value, local in zip(
                piece.terms, values, piece.program.output_dims, strict=False
            ):
                if number == at:
                    of.append((piece, term.cuts, self._whole.axes(dims, local).leave(value)))
        yield from blocks.values()

    def _combined(
        self,
        operation: str,
        reduced: frozenset[int],
        values: Sequence[tuple[SliceCode, frozenset[int], Any]],
    ) -> Total:
        """Combine the values that this device has.

        Parameters
        ----------
        operation : str
        reduced : frozenset of int
            Cuts along which devices are combined.
        values : sequence of (SliceCode, frozenset of int, array)
            Values, and the cuts that they depend on. One that does not depend on a cut is counted
            on the first device along it, or after devices are combined.
        """
        import jax

        from dimtensor.backends.jax.devices import combine, neutral

        total: Any = None
        rest: Any = None
        for piece, cuts, value in values:
            if cuts.isdisjoint(reduced):
                rest = value if rest is None else combine(operation, rest, value)
                continue
            holders = {
                cut: piece.segments[cut].holders if cut in cuts else 1 for cut in sorted(reduced)
            }
            conditions = [
                jax.lax.axis_index(self._cut_axes[cut]) < n
                for cut, n in holders.items()
                if n < self._counts[cut]
            ]
            if conditions:
                counts = functools.reduce(jax.numpy.logical_and, conditions)
                value = jax.numpy.where(counts, value, neutral(operation, value.dtype))
            total = value if total is None else combine(operation, total, value)
        return Total(operation, reduced, total, rest)

    def _reduced(self, totals: Sequence[Total]) -> tuple[Any, ...]:
        """Combine the totals of devices, those along the same cuts together."""
        from dimtensor.backends.jax.devices import reduce_over

        results = [total.rest for total in totals]
        groups: dict[tuple[int, ...], list[int]] = {}
        for at, total in enumerate(totals):
            if total.value is not None:
                groups.setdefault(tuple(sorted(total.cuts)), []).append(at)
        for cuts, members in groups.items():
            axes = tuple(name for cut in cuts for name in self._cut_axes[cut])
            given = [totals[at] for at in members]
            found = reduce_over(axes, [x.operation for x in given], [x.value for x in given])
            for at, value in zip(members, found, strict=True):
                results[at] = value if results[at] is None else value + results[at]
        return tuple(results)

    def _condition(self, piece: SliceCode, values: Sequence[Any], check: Check) -> Any:
        """Return whether a check of the whole holds in a slice."""
        import jax

        checks = piece.program.checks
        result = jax.numpy.asarray(True)
        for own, value in zip(checks, values[len(values) - len(checks) :], strict=True):
            if own.message == check.message:
                result &= value.all()
        return result
