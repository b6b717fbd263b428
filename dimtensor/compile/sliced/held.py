"""Data of slices: what slices have in common, and what each of them has of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dimtensor.compile.code import Code
from dimtensor.compile.memory import written
from dimtensor.compile.positional import PositionalFunction
from dimtensor.compile.pure_functions import positional_function
from dimtensor.dims import Binding, Dim, Dims
from dimtensor.errors import PartitionError
from dimtensor.graph import Node, leaves
from dimtensor.graph.rebuilding.substitute import map_dim
from dimtensor.values.data import bind_data, title_of

if TYPE_CHECKING:
    from typing import Any

    from dimtensor.compile.sliced.program import SliceProgram


@dataclass(frozen=True, eq=False)
class BoundSlice:
    """Function of a slice, or of what no slice has, with its data.

    Arguments are arrays of the inputs, in order; those along the dim are restricted to the slice.
    Results are the shares of the slice: one for each output that depends on the dim.

    Attributes
    ----------
    function : PositionalFunction
    told : tuple of ndarray
        Last arguments of the function: lengths and the position of the slice.
    """

    function: PositionalFunction
    told: tuple[np.ndarray, ...]

    def __call__(self, *arrays: np.ndarray) -> Sequence[np.ndarray]:
        return self.function(*arrays, *self.told)


@dataclass(frozen=True, eq=False)
class ShareCode:
    """Code of shares with what all slices have in common, which other processes get pickled.

    Attributes
    ----------
    code : Code
    along : tuple of (str, tuple of Dim)
        For each piece of a slice its title, for messages, and its axes in the slice.
    arguments : tuple of int or ndarray
        For each bound argument of the code its place among the pieces, or its array.
    binding : Binding
    length : int or None
        Length of the dim.
    late : tuple of Dim
        Dims of a slice.
    told : tuple of bool
        Whether the code takes the length of the dim, and the start of the slice.
    untold : tuple of Dim
        Dims of a slice whose lengths it takes.
    """

    code: Code
    along: tuple[tuple[str, Dims], ...]
    arguments: tuple[int | np.ndarray, ...]
    binding: Binding
    length: int | None
    late: tuple[Dim, ...]
    told: tuple[bool, bool]
    untold: tuple[Dim, ...]

    def share(
        self, pieces: Sequence[np.ndarray], start: int = 0, length: int | None = None
    ) -> BoundSlice:
        """Bind the data of a slice; see :meth:`HeldSlices.share`."""
        binding = self.binding.copy()
        for (title, dims), array in zip(self.along, pieces, strict=True):
            for dim, n in zip(dims, array.shape, strict=True):
                binding.add_length(dim, n, title)
        if length is not None:
            for dim in self.late:
                binding.add_length(dim, length, "the slice")
        data = [pieces[x] if isinstance(x, int) else x for x in self.arguments]
        call = positional_function(self.code, data, binding)
        takes_length, takes_start = self.told
        told = [_integer(self.length)] if takes_length else []
        told += [_integer(start)] if takes_start else []
        told += [_integer(dim._bound_length(binding)) for dim in self.untold]
        return BoundSlice(call, tuple(told))


class HeldSlices:
    """A program of slices with its data.

    Attributes
    ----------
    program : SliceProgram
    length : int or None
        Length of the dim.
    arrays : tuple of ndarray or None
        The whole of each leaf of ``program.along``; None for data that are elsewhere.
    binding : Binding
        Lengths and labels of other dims, told by data in memory.
    code : ShareCode
    """

    def __init__(
        self,
        program: SliceProgram,
        replaced: Mapping[Node, Any],
        elsewhere: frozenset[Node],
        length: int | None,
        told: Binding | None = None,
    ):
        self.program = program
        self._replaced = replaced
        self._told = told
        order: dict[Node, Dims] = {}
        dtypes: dict[Node, str] = {}
        for node, dims in _data_slots(program.code):
            source = program._original.get(node, node)
            order[source], dtypes[source] = program.whole_dims(dims), node.dtype
        sources = [*order]
        data = [x for x in sources if x.kind == "data" and x not in elsewhere]
        binding, arrays = bind_data(data, [order[x] for x in data], replaced)
        found = dict(zip(data, arrays, strict=True))
        found |= self._known({x: order[x] for x in sources if x.kind != "data"}, elsewhere)
        found = {x: array.astype(dtypes[x], copy=False) for x, array in found.items()}
        self.arrays = tuple(found.get(each.source) for each in program.along)
        places = {each.source: at for at, each in enumerate(program.along)}
        arguments = tuple(places[x] if x in places else found[x] for x in sources)
        lengths = [
            array.shape[each.axis]
            for each, array in zip(program.along, self.arrays, strict=True)
            if array is not None
        ]
        known = program.dim.length if program.dim.length is not None else length
        self.length: int | None = lengths[0] if known is None and lengths else known
        self.binding = (told or binding).without(program.cut)
        late = program._late
        self.code = ShareCode(
            program.code,
            tuple(
                (title_of(each.source), tuple(map_dim(dim, late) for dim in each.dims))
                for each in program.along
            ),
            arguments,
            self.binding,
            self.length,
            tuple(late.values()),
            (program.length_input is not None, program.start_input is not None),
            tuple(program._untold),
        )

    def _known(self, axes: Mapping[Node, Dims], elsewhere: frozenset[Node]) -> dict:
        """Compute constants from the whole of the data, with their axes in a given order."""
        if not axes:
            return {}
        for node in axes:
            for leaf in leaves([node]):
                if leaf in elsewhere:
                    raise PartitionError(
                        f"an expression needs the whole of {title_of(leaf)}, which is not in "
                        "memory",
                        written(node, node.line),
                        "compute its value first, and pass it as data",
                    )
        call = _on_data(Code([], [*axes], "python"), self._replaced)
        orders = [
            [dims.index(dim) for dim in axes[node]]
            for node, dims in zip(axes, call.output_dims, strict=True)
        ]
        pairs = zip(call(), orders, strict=True)
        arrays = [np.asarray(x).transpose(order) for x, order in pairs]
        contiguous = [np.ascontiguousarray(x).reshape(x.shape) for x in arrays]
        return dict(zip(axes, contiguous, strict=True))

    def pieces(self, start: int, stop: int) -> list[np.ndarray]:
        """Return the values of a slice for each leaf of ``program.along``, of data in memory."""
        found = []
        for each, array in zip(self.program.along, self.arrays, strict=True):
            assert array is not None, "the data are elsewhere"
            found.append(each.piece(array, start, stop))
        return found

    def share(
        self, pieces: Sequence[np.ndarray], start: int = 0, length: int | None = None
    ) -> BoundSlice:
        """Bind the data of a slice.

        Parameters
        ----------
        pieces : sequence of ndarray
            Values of each leaf of ``program.along`` in this slice, of the dtypes of the leaves,
            contiguous, with axes in the order of their `dims`.
        start : int
            Position in the whole at which the slice starts.
        length : int, optional
            Length of the slice, where no data tell it.

        Returns
        -------
        BoundSlice

        Raises
        ------
        PositionError, DimError
            If data are out of range for a dim that they look up, or have different lengths.
        """
        return self.code.share(pieces, start, length)

    @cached_property
    def once(self) -> BoundSlice | None:
        """Function of the rests of outputs, of the inputs that do not have the dim."""
        code = self.program.rest_code
        if code is None:
            return None
        call = _on_data(code, self._replaced, self._told)
        told = () if self.program.length_input is None else (_integer(self.length),)
        return BoundSlice(call, told)

    def rest(self, *arrays: np.ndarray) -> list[np.ndarray | None]:
        """Compute the rest of each output, which no slice has; None where there is none.

        Parameters
        ----------
        *arrays : ndarray
            Of all inputs; those along the dim are not read.
        """
        program = self.program
        if self.once is None:
            return [None] * len(program.outputs)
        used = [
            np.ascontiguousarray(arrays[at].transpose(order)) if order else arrays[at]
            for at, order in program.rest_inputs.items()
        ]
        assert program.rest_code is not None
        pairs = zip(self.once(*used), program.rest_code.program.output_dims, strict=True)
        found: list[np.ndarray | None] = []
        for rest, wanted in zip(program.rests, program.output_dims, strict=True):
            if rest is None:
                found.append(None)
                continue
            value, dims = next(pairs)
            found.append(np.asarray(value).transpose([dims.index(dim) for dim in wanted]))
        return found


def _data_slots(code: Code) -> list[tuple[Node, Dims]]:
    """Return the data that code takes, with the order of their axes."""
    return [
        (slot.source, slot.dims)
        for slot in code.program.slots
        if isinstance(slot.source, Node) and slot.source.kind == "data"
    ]


def _integer(value: int | None) -> np.ndarray:
    assert value is not None, "the length of the dim is not known"
    return np.asarray(value, dtype=np.int64)


def _on_data(
    code: Code, replaced: Mapping[Node, Any], told: Binding | None = None
) -> PositionalFunction:
    """Return the function of plain arrays of code with its data."""
    axes = dict(_data_slots(code))
    own = {node: value for node, value in replaced.items() if node in axes}
    binding, arrays = bind_data([*axes], [*axes.values()], own)
    return positional_function(code, arrays, binding if told is None else told.copy())
