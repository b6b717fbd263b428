"""The compiled functions of a model, each made when it is first needed, on the model's data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.backends import backend_of
from dimtensor.compile.function import CompiledFunction, function
from dimtensor.dims import Dim
from dimtensor.errors import GraphError, NotNativeWarning, warn
from dimtensor.graph import Node, leaves
from dimtensor.model.assembly import Assembly, assemble, inverse, join
from dimtensor.model.parameters import Parameter, late_dims
from dimtensor.model.rows.alike import stack_alike_terms
from dimtensor.model.rows.chosen import DeduplicatedDensity, ModelData, RowValues, deduplicated
from dimtensor.model.rows.lookups import hoist_lookups
from dimtensor.streams.stream import streamed
from dimtensor.tensor.graphs.substitution import substitute
from dimtensor.tensor.handle import wrap
from dimtensor.values.data import bind_data

if TYPE_CHECKING:
    from dimtensor.backends.native.c_function import CFunction
    from dimtensor.model.sliced.density import Evaluation, Evaluator
    from dimtensor.streams.stream import StreamedValues
    from dimtensor.tensor.core import DimTensor

DENSITIES = ("logp", "logp_and_grad", "logp_on_jax")
# value and gradient in slices, one on each device of JAX
ON_DEVICES = "logp_and_grad_on_devices"
NUMERIC = (*DENSITIES, "record", ON_DEVICES)


def check_recorded(expressions: Mapping[str, DimTensor]) -> None:
    """Check that expressions to be recorded are not computed from streams.

    Raises
    ------
    GraphError
        If one is.
    """
    for name, x in expressions.items():
        if streamed([x.node]):
            raise GraphError(
                f"{name.removeprefix('term ')!r} is computed from a stream, and is not recorded",
                hint="predictions and log likelihoods of a model have values for all rows, and are "
                "written to a store chunk by chunk",
            )


def _warn_of_interpreter(density: CompiledFunction) -> None:
    """Warn if a log density is interpreted though machine code was asked for."""
    interpreted, _, reason = density.path.partition(": ")
    if reason and interpreted == "the python interpreter":
        warn(
            "the log density is computed operation by operation, which takes much longer than "
            "machine code",
            NotNativeWarning,
            [("has no machine code", reason)],
            'a model with backend="jax" is compiled by JAX',
        )


@dataclass(eq=False, repr=False)
class ModelFunctions:
    """Functions of a model by kind.

    ``logp``, ``logp_and_grad`` and ``record`` (everything that is recorded, as one vector) take a
    plain vector and are compiled; ``logp_on_jax`` is, for JAX, whatever the backend.
    ``parameters``, ``constrain`` (the same with deterministics) and ``unconstrain`` carry labels
    and are interpreted.

    Attributes
    ----------
    binding : Binding
        What the data tell of dims.
    computed : Assembly
        What the numeric functions of the log density compute: the same, with functions of look-ups
        computed before, with sums over distinct rows of data, where the first data have few, and
        with terms that differ only in scalar parameters as one vectorized term.
    rows : RowValues or None
        The distinct rows of these data.
    data_nodes : list of Node
        Data that the model depends on.
    shared : dict
        What models that differ in data or deterministics have in common.
    evaluation : Evaluation or None
        Another way to compute value and gradient than by one call of compiled code. Samplers whose
        machine code calls machine code then call Python.
    """

    assembly: Assembly
    parameters: tuple[Parameter, ...]
    deterministics: Mapping[str, DimTensor]
    backend: str
    replaced: Mapping[Node, Any] = field(default_factory=dict)
    shared: dict[Any, Any] = field(default_factory=dict)
    evaluation: Evaluation | None = None
    data_nodes: list[Node] = field(default_factory=list)
    _own: dict[str, CompiledFunction] = field(default_factory=dict)
    _late: dict[str, list[Dim]] = field(default_factory=dict)
    _data: dict[str, set[Node]] = field(default_factory=dict)
    _on_data: dict[str, CompiledFunction] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        nodes = self.data_nodes = self.data_nodes or self._find_data()
        self.binding, self._arrays = bind_data(nodes, [x.dims for x in nodes], self.replaced)

    def on_data(self, replaced: Mapping[Node, Any]) -> ModelFunctions:
        """Replace data; compiled functions are shared."""
        return replace(self, replaced={**self.replaced, **replaced})

    def evaluated_by(self, evaluation: Evaluation | None) -> ModelFunctions:
        """Replace the way in which value and gradient are computed."""
        return replace(self, evaluation=evaluation)

    def recording(self, deterministics: Mapping[str, DimTensor]) -> ModelFunctions:
        """Replace deterministics; compiled functions of the log density are shared.

        Raises
        ------
        GraphError
            If one has a value for each row of a stream.
        """
        check_recorded(deterministics)
        return replace(
            self, deterministics=deterministics, data_nodes=[], _own={}, _late={}, _data={}
        )

    def _find_data(self) -> list[Node]:
        outputs = [self.assembly.value.node, *(x.node for x in self.deterministics.values())]
        for parameter in self.parameters:
            outputs += [x.node for x in parameter.support.tensors]
        return [leaf for leaf in leaves(outputs) if leaf.kind == "data"]

    # -- distinct rows ---------------------------------------------------------------------------

    @property
    def computed(self) -> Assembly:
        return self._over_rows[1]

    @property
    def rows(self) -> RowValues | None:
        return self._rows(self.backend)

    def _rows(self, backend: str) -> RowValues | None:
        found, _ = self._over_rows
        if found is None:
            return None
        return found.values(self.known, backend_of(backend).specializes)

    @property
    def row_values(self) -> dict[Node, Any]:
        """The values of the distinct rows of these data."""
        return {} if self.rows is None else self.rows.values

    @cached_property
    def known(self) -> ModelData:
        """The data, with the lengths and labels of their dims."""
        arrays = dict(zip(self.data_nodes, self._arrays, strict=True))
        return ModelData(arrays, self.binding, self.replaced)

    @property
    def _over_rows(self) -> tuple[DeduplicatedDensity | None, Assembly]:
        """Decided with the first data, so that others need no other code."""
        if "rows" not in self.shared:
            parts, known = self.assembly, self.known
            logp = hoist_lookups(parts.logp.node, known.size)
            found = deduplicated(logp, known)
            logp = logp if found is None else found.expression
            if logp is not parts.logp.node:
                parts = assemble(wrap(logp), self.parameters, parts.jacobian)
            self.shared["rows"] = found, stack_alike_terms(parts)
        return self.shared["rows"]

    # -- functions -------------------------------------------------------------------------------

    def get(self, kind: str, shard: Any = None) -> CompiledFunction:
        """Return a function on the model's data, compiled at the first call.

        Parameters
        ----------
        kind : str
        shard : Placement, optional
            Placement on devices.
        """
        key = kind if shard is None else f"{kind} {hash(shard)}"
        ready = self._on_data.get(key)
        if ready is None:
            functions = self.shared if kind in DENSITIES else self._own
            ready = functions.get(key)
            if ready is None:
                ready = functions[key] = self._build(kind, shard)
                if kind == "logp_and_grad":
                    _warn_of_interpreter(ready)
            own = self._data_of(kind)
            replaced = {node: value for node, value in self.replaced.items() if node in own}
            rows = None if kind not in DENSITIES else self._rows(ready.backend)
            if rows is not None:
                replaced |= {node: x for node, x in rows.values.items() if node in own}
            if replaced:
                ready = ready.with_data(replaced)
            self._on_data[key] = ready
        return ready

    @cached_property
    def streams(self) -> dict[Node, StreamedValues]:
        """The data that are read from streams."""
        return streamed([self.assembly.value.node])

    @cached_property
    def evaluator(self) -> Evaluator | None:
        return None if self.evaluation is None else self.evaluation(self)

    def positional(self, kind: str) -> Callable[[np.ndarray], Any]:
        """Return a numeric function of a plain vector."""
        if self.evaluator is not None and kind in ("logp", "logp_and_grad"):
            return self.evaluator.logp_and_grad
        positional = self.get(kind).positional
        lengths = self.late_lengths(kind)
        if not lengths:
            return positional
        return lambda x: positional(x, *lengths)

    def c_function(self, kind: str) -> CFunction:
        """Return a C function of a vector that writes into given buffers."""
        size = sum(parameter.size(self.binding) for parameter in self.parameters)
        return self.get(kind).c_function((size,), held=self.late_lengths(kind))

    def labeled(self, kind: str, *values: Any) -> Any:
        """Call a function that carries labels."""
        return self.get(kind)(*values, *self._late_values(kind))

    def _build(self, kind: str, shard: Any = None) -> CompiledFunction:
        inputs: list[Any] = [self.assembly.flat]
        if kind == "unconstrain":
            inputs = [parameter.tensor for parameter in self.parameters]
        backend = self.backend if kind in NUMERIC else "python"
        if kind in ("logp_on_jax", ON_DEVICES):
            backend = "jax"
        inputs += self._late_of(kind)
        return function(inputs, self._outputs(kind), backend, shard=shard)

    def _outputs(self, kind: str) -> Any:
        parts = self.computed if kind in DENSITIES else self.assembly
        if kind in ("logp", "logp_on_jax"):
            return [parts.value]
        if kind in ("logp_and_grad", ON_DEVICES):
            return [parts.value, parts.gradient]
        if kind == "unconstrain":
            # the parameters themselves come back aligned
            return [inverse(self.parameters), *(p.tensor for p in self.parameters)]
        outputs = {p.name: parts.constrained[p.tensor] for p in self.parameters}
        if kind in ("constrain", "record"):
            outputs |= substitute(self.deterministics, parts.constrained)
        if kind == "record":
            return [join([x.astype("float64") for x in outputs.values()])]
        return outputs

    def _data_of(self, kind: str) -> set[Node]:
        found = self._data.get(kind)
        if found is None:
            outputs = self._outputs(kind)
            many = outputs.values() if isinstance(outputs, dict) else outputs
            data = {leaf for leaf in leaves([x.node for x in many]) if leaf.kind == "data"}
            found = self._data[kind] = data
        return found

    # -- dims whose length or labels come with data ----------------------------------------------

    def _late_of(self, kind: str) -> list[Dim]:
        """Dims that a function takes as inputs.

        What carries labels takes all that get them with data: its own data need not be those that
        tell. What works on plain vectors takes only lengths that its own data do not tell.
        """
        found = self._late.get(kind)
        if found is None:
            found = self._late[kind] = self._find_late(kind)
        return found

    def _find_late(self, kind: str) -> list[Dim]:
        dims = [dim for p in self.parameters for dim in (*p.tensor.dims, *p.free_dims)]
        if kind not in NUMERIC or kind == "record":
            dims += [dim for x in self.deterministics.values() for dim in x.dims]
        if kind in NUMERIC:
            own = {dim for node in self._data_of(kind) for dim in node.dims}
            late = late_dims(dims, own)
            return [dim for dim in late if dim.length is None and dim not in own]
        return late_dims(dims, {dim for node in self.data_nodes for dim in node.dims})

    def late_roots(self) -> list[Dim]:
        """Return the dims of parameters whose lengths come with data."""
        dims = [dim for p in self.parameters for dim in (*p.tensor.dims, *p.free_dims)]
        return [dim for dim in late_dims(dims, set()) if dim.length is None]

    def late_lengths(self, kind: str) -> list[np.ndarray]:
        """Lengths of the dims that a numeric function takes after the vector."""
        return [
            np.asarray(dim._bound_length(self.binding), dtype=np.int64)
            for dim in self._late_of(kind)
        ]

    def _late_values(self, kind: str) -> list[Any]:
        """Labels of late dims, lengths where data bring no labels."""
        values: list[Any] = []
        for dim in self._late_of(kind):
            labels = dim._bound_labels(self.binding)
            values.append(dim._bound_length(self.binding) if labels is None else labels.values)
        return values

    @property
    def stats(self) -> dict[str, dict[str, float]]:
        """Seconds that the steps of compiling took, by function."""
        functions = {**self.shared, **self._own}
        return {
            kind: dict(compiled.stats)
            for kind, compiled in functions.items()
            if isinstance(compiled, CompiledFunction)
        }
