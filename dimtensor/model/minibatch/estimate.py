"""Expression that estimates a log density from rows of its data, and its compiled functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dimtensor.compile.function import CompiledFunction, function
from dimtensor.dims import Dim, Dims, sort_dims
from dimtensor.errors import GraphError, OptionError
from dimtensor.graph import Node, make, toposort
from dimtensor.graph.attrs import InputAttrs
from dimtensor.graph.partition.analysis import Combined, Split
from dimtensor.graph.partition.slices import gathered
from dimtensor.graph.partition.weights import weighted
from dimtensor.model.assembly import assemble
from dimtensor.model.parameters import late_dims
from dimtensor.model.rows.lookups import hoist_lookups
from dimtensor.streams.stream import streamed
from dimtensor.tensor.graphs.partition import checked_split
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.model.logdensity import LogDensity


def split_of(density: LogDensity, dim: Dim | str) -> Split:
    """Split a log density into the shares of rows and the rest, such as priors.

    Raises
    ------
    PartitionError
        If it mixes rows.
    OptionError
        If it does not depend on the dim.
    GraphError
        If rows are combined otherwise than by a sum.
    """
    found = checked_split(density.expression.node, dim)
    if found.role is None:
        raise OptionError(f"minibatch: the log density does not depend on {found.dim._title}")
    assert isinstance(found.role, Combined)  # it has no dims
    if found.role.operation != "add":
        raise GraphError(
            f"minibatch: the log density is no sum over {found.dim._title}: it combines rows by "
            f"{found.role.operation}, which a part of them cannot estimate"
        )
    return found


class Estimate:
    """Estimate of a log density, as functions of a flat vector and a batch.

    It is what is counted once, and the share of the rows of the batch times a weight. A batch
    consists of positions of rows, of one weight for all of them or one for each, and of the values
    of streams in these rows.

    Parameters
    ----------
    density : LogDensity
    found : Split
        Of its expression.
    has_strata : bool
        Whether each row has a weight of its own.
    size : int
        Rows of a batch, which decides how look-ups are computed.
    length : int
        Number of all rows.

    Attributes
    ----------
    lengths : list of ndarray
        Lengths of dims, arguments after those of the batch.
    dtypes : list of str
        Of the arrays of a batch.

    Raises
    ------
    GraphError
        If rows cannot have weights of their own.
    """

    def __init__(self, density: LogDensity, found: Split, has_strata: bool, size: int, length: int):
        self._known = known = density.functions.known
        row = Dim()  # of a name that no dim of the model has
        positions = _input("positions", (row,), "int64")
        weight = _input("weight", (row,) if has_strata else (), "float64")
        streams = streamed([density.expression.node])
        in_row = {found.dim: row}
        values = {}
        for at, x in enumerate(streams):
            own_dims = sort_dims(in_row.get(dim, dim) for dim in x.dims)
            values[x] = _input(f"rows of {at}", own_dims, x.dtype, x.categories)
        rows = partial(gathered, length=length, positions=positions)
        if has_strata:
            value = _weighted(density.expression.node, found, weight, rows, values)
        else:
            part, *rest = [rows(x, found, rows=values) for x in _part_and_rest(found)]
            value = _total([make("elemwise", (part, weight), "multiply"), *rest])

        def number(dims: Sequence[Dim]) -> int:
            return math.prod(size if dim is row else known.length(dim) for dim in dims)

        logp = wrap(hoist_lookups(value, number))
        self._assembly = assemble(logp, density.parameters, density.jacobian)
        self._backend = density.backend
        self._inputs = [positions, weight, *values.values()]
        self.dtypes = [each.dtype for each in self._inputs]
        self._streamed = [
            tuple(in_row.get(dim, dim) for dim in stream.dims) for stream in streams.values()
        ]
        self._data = {x for x in toposort([self._assembly.value.node]) if x.kind == "data"}
        own = {dim for node in [*self._inputs, *self._data] for dim in node.dims}
        dims = [dim for p in density.parameters for dim in (*p.tensor.dims, *p.free_dims)]
        late = late_dims(dims, own)
        self._late = [dim for dim in late if dim.length is None and dim not in own]
        self.lengths = [np.asarray(known.length(dim), np.int64) for dim in self._late]
        self._compiled: dict[str, CompiledFunction] = {}

    def orders(self, kind: str) -> list[list[int]]:
        """Return how the axes of the values of streams are transposed for a function."""
        taken = self.function(kind).positional.input_dims[3:]
        pairs = zip(self._streamed, taken, strict=False)
        return [[dims.index(dim) for dim in wanted] for dims, wanted in pairs]

    def function(self, kind: str) -> CompiledFunction:
        """Return a function of the vector, the batch and `lengths`; see `ModelFunctions`."""
        found = self._compiled.get(kind)
        if found is None:
            parts = self._assembly
            inputs = [parts.flat, *map(wrap, self._inputs), *self._late]
            outputs = [parts.value, parts.gradient] if kind == "logp_and_grad" else [parts.value]
            found = function(inputs, outputs, "jax" if kind == "logp_on_jax" else self._backend)
            own = {x: value for x, value in self._known.replaced.items() if x in self._data}
            found = self._compiled[kind] = found.with_data(own) if own else found
        return found


def _input(name: str, dims: Dims, dtype: str, categories: Dim | None = None) -> Node:
    return make("input", (), InputAttrs(name, None, dims, dtype, categories))


def _weighted(
    y: Node,
    found: Split,
    weight: Node,
    rows: Callable[..., Node],
    values: Mapping[Node, Node],
) -> Node:
    """Multiply the share of each row by its weight.

    Raises
    ------
    GraphError
        If that is not possible.
    """
    along = _input("weight", (found.dim,), "float64")
    new = weighted(y, found, along)
    if new is None:
        raise GraphError(
            "minibatch: rows cannot have weights, which strata need, as the log density contains "
            f"a derivative or a count along {found.dim._title}",
            hint="without by= all rows of a batch have one weight",
        )
    found = checked_split(new, found.dim)
    return _total([rows(x, found, rows={along: weight, **values}) for x in _part_and_rest(found)])


def _part_and_rest(found: Split) -> list[Node]:
    assert isinstance(found.role, Combined)
    _, part, rest = found.role
    return [part] if rest is None else [part, rest]


def _total(terms: Sequence[Node]) -> Node:
    first, *others = terms
    for other in others:
        first = make("elemwise", (first, other), "add")
    return first
