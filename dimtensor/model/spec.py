"""Model specifications: models as immutable data.

Everything else is a function of a specification: :mod:`dimtensor.model.inference`,
:mod:`~dimtensor.model.predictive`, :mod:`~dimtensor.model.marginal`,
:mod:`~dimtensor.model.checking`. :class:`dimtensor.Model` holds one and delegates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dimtensor.arrays import has_elements
from dimtensor.backends import check_backend
from dimtensor.compile.function import node_of
from dimtensor.dims import RowNumbers
from dimtensor.errors import ArgumentError, DimError, OptionError
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import NamedAttrs
from dimtensor.graph.rebuilding.substitute import rebuild
from dimtensor.model import checks
from dimtensor.model.density import BoundGraph, log_density, standard_of
from dimtensor.model.marginal.terms import unknowns_of
from dimtensor.model.missing import read_observation, refuse_readers
from dimtensor.model.observations import Observations
from dimtensor.model.predictive.generation import admitted, held
from dimtensor.model.variables import ModelGraph, Variable, graph_of, name_of, spoken
from dimtensor.streams.stream import as_values, stream_of
from dimtensor.tensor.constructors import full
from dimtensor.tensor.handle import TensorHandle, wrap
from dimtensor.tensor.inputs import data as make_data
from dimtensor.values.data import as_mapping

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.backends import BackendName
    from dimtensor.model.logdensity import LogDensity
    from dimtensor.streams.stream import StreamedValues
    from dimtensor.tensor.core import DimTensor


@dataclass(frozen=True, eq=False)
class ModelSpec:
    """Outputs of a model, with data, observations, and decisions about its variables.

    Attributes
    ----------
    graph : ModelGraph
        Outputs and what they depend on, with the cache of compiled functions.
    backend : str
    data : dict of str to DataArray
        Values of inputs, and replacements of the values that data were made with.
    numbered : dict of str to tuple of str
        Axes of `data` whose labels are the row numbers of a default index.
    streams : dict of str to StreamedValues
        Values of inputs that are read in chunks.
    observed : Observations
    missing : dict of str to str
        For each observed variable ``"drop"``, ``"infer"`` or nothing.
    marginalized : dict of str to sequence of int or None
        Variables that are summed out, with their states where the support does not tell.
    associative_scan : bool
        Whether matrices of marginalized chains are multiplied in pairs.
    noncentered : frozenset of str
    interventions : dict of str to DimTensor
        Values that :meth:`dimtensor.Model.do` has set; `graph` has them already.
    included : dict of str to DataArray of bool
        Masks of the observations in the density, by variable; cross-validation holds out others.
    unchecked : frozenset of str
        Data that were replaced since observations were checked against their supports.
    unrecorded : frozenset of str
        Named expressions that samplers do not record, and `predict` computes.
    ranges : bool
        Whether parameters that may leave their range are an error.
    """

    graph: ModelGraph
    backend: BackendName
    data: Mapping[str, xr.DataArray] = field(default_factory=dict)
    numbered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    streams: Mapping[str, StreamedValues] = field(default_factory=dict)
    observed: Observations = field(default_factory=Observations)
    missing: Mapping[str, str] = field(default_factory=dict)
    marginalized: Mapping[str, Sequence[int] | None] = field(default_factory=dict)
    associative_scan: bool = False
    noncentered: frozenset[str] = frozenset()
    interventions: Mapping[str, DimTensor] = field(default_factory=dict)
    included: Mapping[str, xr.DataArray] = field(default_factory=dict)
    unchecked: frozenset[str] = frozenset()
    unrecorded: frozenset[str] = frozenset()
    ranges: bool = True

    @property
    def outputs(self) -> tuple[DimTensor, ...]:
        """Random variables and named expressions that the model was made of."""
        return self.graph.outputs

    @property
    def variables(self) -> dict[str, Variable]:
        """Random variables by name, in topological order."""
        return self.graph.variables

    @property
    def free(self) -> dict[str, Variable]:
        """Random variables that are neither observed nor summed out."""
        known = {*self.observed, *self.marginalized}
        return {name: v for name, v in self.variables.items() if name not in known}

    @property
    def streamed(self) -> dict[str, StreamedValues]:
        """Streams of inputs and observations, by name."""
        own = {
            name: node.attrs.stream
            for name, node in self.graph.inputs.items()
            if node.kind == "input" and node.attrs.stream is not None and name not in self.data
        }
        return {**own, **self.streams, **self.observed.streams}

    @property
    def defaults(self) -> dict[str, xr.DataArray]:
        """Values of all inputs that have one, by name."""
        return {**{name: wrap(x).eval() for name, x in self._unchanged_data()}, **self.data}

    @property
    def row_numbered(self) -> dict[str, tuple[str, ...]]:
        """Axes of all data, by name, whose labels are the row numbers of a default index."""
        own = {
            name: tuple(d._short for d, one in node.attrs.labels if isinstance(one, RowNumbers))
            for name, node in self._unchanged_data()
        }
        return {**own, **self.numbered}

    def _unchanged_data(self) -> list[tuple[str, Node]]:
        inputs = self.graph.inputs.items()
        return [(name, x) for name, x in inputs if x.kind == "data" and name not in self.data]

    @cached_property
    def log_density(self) -> LogDensity:
        """Log density of the free variables; compiled functions are shared by specifications."""
        return log_density(self)

    def __getstate__(self) -> dict[str, Any]:
        return {key: x for key, x in self.__dict__.items() if key != "log_density"}


def new_spec(
    outputs: Iterable[Any], data: Any = None, backend: BackendName = "native", ranges: bool = True
) -> ModelSpec:
    """Make the specification of a model from its outputs.

    Parameters
    ----------
    outputs : iterable of DimTensor
    data : dict, optional
    backend : str, optional
    ranges : bool, optional
        Whether parameters that may leave their range are an error.

    Raises
    ------
    OptionError, InputError, GraphError
        As of :class:`dimtensor.Model`.
    """
    backend = check_backend(backend)
    graph = _checked_graph([wrap(_output_of(x)) for x in outputs], ranges=ranges)
    singular = frozenset(n for n, v in graph.variables.items() if v.distribution._is_singular)
    spec = ModelSpec(graph, backend, noncentered=singular, ranges=ranges)
    return _updated_data(spec, as_mapping(data, "data", graph.inputs))


def _checked_graph(
    outputs: Sequence[DimTensor], order: Sequence[str] = (), ranges: bool = True
) -> ModelGraph:
    """Find and check the graph of outputs."""
    if not outputs:
        text = "a model is made of variables that are there, and none is given"
        hint = "write the variables first: dt.Model(y) is y, and all that it depends on"
        raise OptionError(text, hint=hint)
    for x in outputs:
        if x.node.kind not in ("rv", "named"):
            raise OptionError(
                f"an output of a model is a random variable or has a name, not {x.node}",
                hint="dt.rv('y', dist.Normal(...)), or dt.named('y', expression)",
            )
    checks.warn_of_empty(x.node for x in outputs)
    graph = graph_of(outputs, order)
    checks.check_result_names(graph)
    if ranges:
        checks.check_ranges(graph.variables)
    return graph


def _output_of(x: Any) -> Node:
    """Return the node of an output given to a model.

    Raises
    ------
    ArgumentError
        If it is no tensor.
    """
    if not isinstance(x, (list, tuple, set, dict)):
        return node_of(x)
    hint = f"dt.Model({', '.join(map(spoken, x)) or 'y'})"
    if isinstance(x, dict):
        hint = "dt.Model(y, data={...}) has values of inputs, dt.Model(y).observe({...}) observes"
    raise ArgumentError(
        f"a model takes its outputs one by one, and is given a {type(x).__name__}", hint=hint
    )


# -- changes: specification -> specification -----------------------------------------------------


def with_outputs(spec: ModelSpec, outputs: Sequence[DimTensor], **changes: Any) -> ModelSpec:
    """Replace the outputs; data and observations of other variables are dropped."""
    graph = _checked_graph(outputs, spec.graph.order, spec.ranges)
    changes.setdefault("data", {n: x for n, x in spec.data.items() if n in graph.inputs})
    changes.setdefault("streams", {n: x for n, x in spec.streams.items() if n in graph.inputs})
    observed = {n: x for n, x in spec.observed.plain.items() if n in graph.variables}
    changes.setdefault("observed", Observations(observed))
    return replace(
        spec,
        graph=graph,
        noncentered=spec.noncentered & set(graph.variables),
        marginalized={n: x for n, x in spec.marginalized.items() if n in graph.variables},
        **changes,
    )


def with_data(spec: ModelSpec, values: Mapping[Any, Any]) -> ModelSpec:
    """Replace values of data and inputs; see :meth:`dimtensor.Model.with_data`."""
    found = _updated_data(spec, values)
    changed = {n for n, x in found.data.items() if x is not spec.data.get(n)}
    return replace(found, unchecked=spec.unchecked | changed)


def _updated_data(spec: ModelSpec, values: Mapping[Any, Any]) -> ModelSpec:
    data, numbered, streams = dict(spec.data), dict(spec.numbered), dict(spec.streams)
    for key, value in values.items():
        name = name_of(key, spec.graph.inputs, "data")
        stream = stream_of(value)
        if stream is not None:
            streams[name] = as_values(spec.graph.inputs[name], stream)
            data.pop(name, None)
            continue
        found = held(spec.graph.inputs[name], value)
        data[name], numbered[name] = found.labeled(found.values), found.numbered
        streams.pop(name, None)
    return replace(spec, data=data, numbered=numbered, streams=streams)


def observe(spec: ModelSpec, values: Mapping[Any, Any], missing: str | None) -> ModelSpec:
    """Condition on values of random variables; see :meth:`dimtensor.Model.observe`."""
    observed, how = dict(spec.observed.plain), dict(spec.missing)
    marginalized = dict(spec.marginalized)
    named = {name_of(key, spec.variables, "random variable"): x for key, x in values.items()}
    for name, value in named.items():
        variable = spec.variables[name]
        known = observed[name] = read_observation(variable.node, value, missing)
        refuse_readers(variable.node, known, spec.graph.nodes, missing)
        how[name] = missing or ""
        marginalized.pop(name, None)
        if missing == "infer" and variable.distribution.discrete and not known.complete:
            marginalized[name] = None
    found = replace(spec, observed=Observations(observed), missing=how, marginalized=marginalized)
    checks.check_inside(found, named)
    checks.warn_of_unaffected(spec.variables, found.observed)
    return found


def intervene(spec: ModelSpec, values: Mapping[Any, Any]) -> ModelSpec:
    """Set variables to values; see :meth:`dimtensor.Model.do`."""
    known = spec.graph.nodes
    chosen: dict[str, Node] = {}
    for key, value in values.items():
        name = name_of(key, known, "variable")
        node = known[name]
        if node.dims and has_elements(value) and not isinstance(value, TensorHandle):
            value = make_data(admitted(node, value).rename(None), node.dims)
        set_to = full(node.dims, value, node.dtype)
        more = [dim._short for dim in set_to.dims if dim not in node.dims]
        if more:
            raise DimError(
                f"do: the value of {name!r} has dims that it has not",
                [("dims", [dim._short for dim in node.dims]), ("more", more)],
            )
        chosen[name] = make("named", (set_to.node,), NamedAttrs(name))

    def replacement(node: Node, inputs: tuple[Node, ...]) -> Node | None:
        return chosen.get(node.name) if node.kind in ("rv", "named") and node.name else None

    nodes = rebuild([x.node for x in spec.outputs], {}, replacement, nested=False)
    values = {name: wrap(node.inputs[0]) for name, node in chosen.items()}
    interventions = {**spec.interventions, **values}
    return with_outputs(spec, [wrap(node) for node in nodes], interventions=interventions)


def noncenter(spec: ModelSpec, variables: Iterable[Any]) -> ModelSpec:
    """Sample standardized variables; see :meth:`dimtensor.Model.noncentered`."""
    names = {name_of(x, spec.variables, "random variable") for x in variables}
    for name in names:
        standard_of(spec.variables[name].distribution, name)
    return replace(spec, noncentered=spec.noncentered | names)


def center(spec: ModelSpec, variables: Iterable[Any]) -> ModelSpec:
    """Sample variables themselves, by default all of them; the opposite of `noncenter`."""
    names = {name_of(x, spec.variables, "random variable") for x in variables}
    return replace(spec, noncentered=spec.noncentered - names if names else frozenset())


def marginalize(
    spec: ModelSpec, variables: Iterable[Any], states: Any, associative_scan: bool
) -> ModelSpec:
    """Sum variables out of the log density; see :meth:`dimtensor.Model.marginalize`."""
    given = as_mapping(states, "states")
    chosen = {name_of(key, spec.variables, "random variable"): x for key, x in given.items()}
    marginalized = dict(spec.marginalized)
    for key in variables:
        name = name_of(key, spec.variables, "random variable")
        if name in spec.observed:
            raise OptionError(f"marginalize: {name!r} is observed, and has nothing to sum over")
        marginalized[name] = chosen.get(name)
    found = replace(
        spec,
        marginalized=marginalized,
        associative_scan=spec.associative_scan or associative_scan,
    )
    unknowns_of(BoundGraph(found, noncentered=False))
    return found
