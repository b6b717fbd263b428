"""Lazy calls of compiled functions: dask arrays in, dask arrays out."""

from __future__ import annotations

import itertools
import operator
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.compile.binding_values import complete
from dimtensor.compile.chunks.plan import ChunkGroup, ChunkPlan
from dimtensor.compile.chunks.terms import ChunkTerm
from dimtensor.compile.chunks.values import (
    ChunkedValue,
    is_stream,
    labeled_in_chunks,
    read_operands,
)
from dimtensor.compile.sliced.program import tree
from dimtensor.dims import Binding, Dim, depends_on_mask, sort_dims
from dimtensor.errors import InputError, PartitionError
from dimtensor.extras import require
from dimtensor.graph import Node
from dimtensor.graph.partition.epilogue import split_epilogue
from dimtensor.graph.rebuilding.substitute import map_dim
from dimtensor.tuning import COMBINED_SHARES
from dimtensor.values.labeled import Labeled, LabeledPositions, axis_names
from dimtensor.values.outputs import Labeler
from dimtensor.values.ports import LengthPort, Reading

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.compile.function import CompiledFunction


def call_lazily(function: CompiledFunction, values: Sequence[Any]) -> list[xr.DataArray]:
    """Return the results of a call with arrays in chunks, as DataArrays in chunks.

    Raises
    ------
    PartitionError
        If a dim with several chunks cannot be computed chunk by chunk.
    InputError, DimError, LabelError, DtypeError
        If a value does not fit its input.

    Examples
    --------
    >>> import dimtensor as dt, xarray as xr
    >>> x = dt.tensor("x", dims=dt.Dim("obs"))
    >>> f = dt.function([x], [x * 2, x.sum()], backend="python")
    >>> twice, total = f(xr.DataArray(np.arange(5.0), dims="obs").chunk(obs=2))
    >>> twice.chunks, total.compute().item()
    (((2, 2, 1),), 10.0)
    """
    ports = function._code.ports
    labeled = [
        value if isinstance(port, LengthPort) else labeled_in_chunks(value, port)
        for port, value in zip(ports, values, strict=True)
    ]
    readings = []
    for port, value in zip(ports, labeled, strict=True):
        own = () if isinstance(port, LengthPort) else axis_names(port.dims).values()
        names = value.names if isinstance(value, Labeled) else ()
        extra = tuple(str(name) for name in names if name not in own)
        readings.append(Reading(np.empty(0), (), None, extra))
    batch: list[Dim] = []
    if any(reading.extra for reading in readings):
        function = function._batched(readings)
        pairs = zip(ports, function._code.ports, strict=True)
        batch = [dim for old, new in pairs for dim in _dims(new) if dim not in _dims(old)]
        ports = function._code.ports
    binding = function._data_binding.copy()
    operands = read_operands(ports, labeled, binding)
    complete(binding, function._code.program)
    try:
        return _LazyCall(function, operands, batch, binding).results()
    except PartitionError:
        dims = {dim for operand in operands for dim in operand.cut}
        after = split_epilogue(function._code.outputs, sort_dims(dims))
        if after is None:
            raise
    inputs = function._code.inputs
    new = after.without(inputs)
    totals = call_lazily(function._of(inputs, new.totals), values) if new.totals else []
    later = function._of((*inputs, *new.inputs), new.outputs)
    found = call_lazily(later, (*values, *totals))
    titles = [name for _, name in function._named_outputs()]
    return [x.rename(name) for x, name in zip(found, titles, strict=True)]


def in_memory(function: CompiledFunction, values: Sequence[Any]) -> list[xr.DataArray]:
    """Return the results of a call with arrays in chunks in memory, computed chunk by chunk.

    Values are loaded where a dim with several chunks cannot be computed so, or the length of a
    result depends on values. Streams never are.
    """
    loaded = () if any(map(is_stream, values)) else (PartitionError, InputError)
    with suppress(*loaded):  # what does not fit is an error of the call
        found = call_lazily(function, values)
        return list(require("dask", "dask", "a call with dask arrays").compute(*found))
    return [one.labeled(one.values) for one in function.held(*values)]


def _dims(port: Any) -> tuple[Dim, ...]:
    return () if isinstance(port, LengthPort) else port.dims


class _LazyCall:
    """Graph of tasks of one call."""

    def __init__(
        self,
        function: CompiledFunction,
        operands: Sequence[ChunkedValue],
        batch: Sequence[Dim],
        binding: Binding,
    ):
        self.dask = require("dask.array", "dask", "a call with dask arrays")
        self.code = function._code
        self.binding = binding
        self.operands = list(operands)
        self.labelers = [self._labeler(node, name) for node, name in function._named_outputs()]
        self.plan = ChunkPlan.of(function, self.operands, batch)
        self.name = f"dimtensor-{uuid.uuid4().hex}"
        self.chunks = self._unify()
        self.tasks: dict[Any, Any] = {}
        self.sources: dict[str, Any] = {}
        self.constants = {
            node: self._in_chunks(operand) for node, operand in self.plan.constants.items()
        }
        self.operands = [self._in_chunks(operand) for operand in self.operands]
        for number, group in enumerate(self.plan.groups):
            self._add_group(number, group)

    def _labeler(self, node: Node, name: str | None) -> Labeler:
        for dim in node.dims:
            if depends_on_mask(dim):
                raise InputError(
                    f"a result has {dim!r}, whose length depends on values, and arrays of dask "
                    "have a known length",
                    hint="pass values that are in memory: value.compute()",
                )
        return Labeler(sort_dims(node.dims), self.binding, name, node.categories)

    # -- arrays ------------------------------------------------------------------------------------

    def _unify(self) -> dict[Dim, tuple[int, ...]]:
        """Give all dask arrays the same chunks along each dim; return them."""
        pairs: list[Any] = []
        places = []
        for at, operand in enumerate(self.operands):
            if _is_dask(operand.array):
                places.append(at)
                pairs += [operand.array, [self.plan.cut.get(dim, dim) for dim in operand.dims]]
        chunks, arrays = self.dask.core.unify_chunks(*pairs)
        for at, array in zip(places, arrays, strict=True):
            self.operands[at] = self.operands[at]._replace(array=array)
        return {dim: chunks[dim] for dim in self.plan.dims}

    def _in_chunks(self, operand: ChunkedValue) -> ChunkedValue:
        """Return a value as a dask array if it has a dim with several chunks."""
        array = operand.array
        if _is_dask(array) or self.plan.cut.keys().isdisjoint(operand.dims):
            return operand
        whole = zip(operand.dims, array.shape, strict=True)
        chunks = [
            self.chunks[self.plan.cut[dim]] if dim in self.plan.cut else n for dim, n in whole
        ]
        made = self.dask.from_array(array, chunks=tuple(chunks), name=False)
        return operand._replace(array=made)

    def _key(self, name: str, operand: ChunkedValue, at: Mapping[Dim, int]) -> Any:
        """Return the key of a chunk of a value, or of all of it."""
        if not _is_dask(operand.array):
            key = f"{self.name}-{name}"
            self.tasks[key] = operand.array
            return key
        self.sources[operand.array.name] = operand.array
        places = (at[self.plan.cut[dim]] if dim in self.plan.cut else 0 for dim in operand.dims)
        return (operand.array.name, *places)

    # -- tasks -------------------------------------------------------------------------------------

    def _add_group(self, number: int, group: ChunkGroup) -> None:
        """Add the tasks of a function of chunks, one for each combination of chunks."""
        forms: list[_Form | None] = []
        for source, own in zip(group.sources, group.function.input_nodes, strict=True):
            operand = self._operand(source.of) if source.what == "operand" else None
            if operand is None or isinstance(own, Dim):
                forms.append(None)
                continue
            names = axis_names(own.dims)
            mapped = [names[map_dim(dim, self.plan.late)] for dim in operand.dims]
            labels = {
                name: operand.labels[dim]
                for name, dim in zip(mapped, operand.dims, strict=True)
                if dim in operand.labels and dim not in self.plan.cut
            }
            positions = isinstance(source.of, Node) and source.of.kind == "data"
            kind = LabeledPositions if positions else Labeled
            forms.append(_Form(kind, tuple(mapped), labels))
        function = f"{self.name}-function-{number}"
        self.tasks[function] = ChunkFunction(group.function, tuple(forms), group.orders)
        for index in self._indexes(group.along):
            at = dict(zip(group.along, index, strict=True))
            arguments: list[Any] = []
            for place, (what, of) in enumerate(group.sources):
                if what == "operand":
                    arguments.append(self._key(f"{number}-{place}", self._operand(of), at))
                elif what == "length":
                    arguments.append(sum(self.chunks[of]))
                elif what == "start":
                    arguments.append(sum(self.chunks[of][: at[of]]))
                else:
                    arguments.append(self.chunks[of][at[of]])
            self.tasks[f"{self.name}-{number}", *index] = (_run, function, *arguments)

    def _operand(self, of: int | Node) -> ChunkedValue:
        return self.operands[of] if isinstance(of, int) else self.constants[of]

    def _indexes(self, dims: Sequence[Dim]) -> Iterable[tuple[int, ...]]:
        return itertools.product(*(range(len(self.chunks[dim])) for dim in dims))

    def results(self) -> list[xr.DataArray]:
        """Return the results."""
        highlevel = require("dask.highlevelgraph", "dask", "a call with dask arrays")
        graph = highlevel.HighLevelGraph.from_collections(
            self.name, self.tasks, dependencies=list(self.sources.values())
        )
        found = []
        pairs = zip(self.labelers, self.code.outputs, strict=True)
        for number, (labeler, node) in enumerate(pairs):
            name = f"{self.name}-result-{number}"
            tasks: dict[Any, Any] = {}
            along = [self.plan.cut.get(dim) for dim in labeler.dims]
            for index in self._indexes([dim for dim in along if dim is not None]):
                places = iter(index)
                key = (name, *[0 if dim is None else next(places) for dim in along])
                at = dict(zip([dim for dim in along if dim is not None], index, strict=True))
                tasks[key] = self._sum(tasks, key, number, at)
            whole = highlevel.HighLevelGraph(
                {**graph.layers, name: tasks}, {**graph.dependencies, name: {self.name}}
            )
            lengths = tuple(
                (dim._bound_length(self.binding),) if of is None else self.chunks[of]
                for dim, of in zip(labeler.dims, along, strict=True)
            )
            dtype = labeler.dtype(node.dtype, self.binding)
            array = self.dask.Array(whole, name, lengths, dtype=dtype)
            found.append(labeler.wrap(array, self.binding))
        return found

    def _sum(
        self, tasks: dict[Any, Any], key: tuple, number: int, at: Mapping[Dim, int]
    ) -> tuple[Any, ...]:
        """Return the task of one chunk of a result, and add the tasks of its operands."""
        terms = []
        for place, term in enumerate(self.plan.terms[number]):
            group, position = self.plan.places[number, place]
            of = self.plan.groups[group].along
            shares: list[Any] = []
            for inner in self._indexes(term.combined) if term.combined else [()]:
                where = {**at, **dict(zip(term.combined, inner, strict=True))}
                if not self._is_empty(term, where):
                    block = (f"{self.name}-{group}", *(where[dim] for dim in of))
                    shares.append((operator.getitem, block, position))
            level = 0
            while len(shares) > COMBINED_SHARES:
                level += 1
                some = range(0, len(shares), COMBINED_SHARES)
                for start in some:
                    name = (f"{key[0]}-{place}-{level}", *key[1:], start // COMBINED_SHARES)
                    tasks[name] = (combine, term.operation, shares[start : start + COMBINED_SHARES])
                shares = [
                    (f"{key[0]}-{place}-{level}", *key[1:], start // COMBINED_SHARES)
                    for start in some
                ]
            terms.append((combine, term.operation, shares))
        return terms[0] if len(terms) == 1 else (combine, "add", terms)

    def _is_empty(self, term: ChunkTerm, at: Mapping[Dim, int]) -> bool:
        """Return True for an empty chunk of a dim that has others."""
        return any(
            self.chunks[dim][at[dim]] == 0 and sum(self.chunks[dim]) > 0 for dim in term.combined
        )


def _is_dask(array: Any) -> bool:
    return hasattr(array, "numblocks")


class _Form:
    """Names and labels that a chunk has as the argument of a function."""

    def __init__(self, kind: type[Labeled], names: tuple[str, ...], labels: Mapping[Any, Any]):
        self.kind, self.names, self.labels = kind, names, labels

    def labeled(self, array: Any) -> Labeled:
        return self.kind(np.asarray(array), self.names, self.labels)


class ChunkFunction:
    """Function of arrays of one chunk; it is sent to each worker once."""

    def __init__(
        self,
        function: CompiledFunction,
        forms: tuple[_Form | None, ...],
        orders: tuple[tuple[int, ...], ...],
    ):
        self.function, self.forms, self.orders = function, forms, orders

    def __call__(self, *arrays: Any) -> list[np.ndarray]:
        """Return the outputs, with their axes in the order of the whole's."""
        pairs = zip(self.forms, arrays, strict=True)
        values = [array if form is None else form.labeled(array) for form, array in pairs]
        held = self.function.held(*values)
        return [x.values.transpose(order) for x, order in zip(held, self.orders, strict=True)]


def _run(function: ChunkFunction, *arrays: Any) -> list[np.ndarray]:
    return function(*arrays)


def combine(operation: str, shares: Sequence[np.ndarray]) -> np.ndarray:
    """Combine shares in a binary tree over their order, so that equal shares give equal bits.

    Examples
    --------
    >>> combine("add", [np.array([1.0]), np.array([2.0]), np.array([3.0])])
    array([6.])
    """
    return np.asarray(tree(shares, getattr(np, operation)))
