"""Log densities of generative models: terms by variable, supports, bound observations."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims
from dimtensor.dist.distribution import Distribution
from dimtensor.dist.modifiers.standardized import FAMILIES, Standardized, standardized
from dimtensor.dist.supports import Support
from dimtensor.errors import GraphError, InputError, listing
from dimtensor.graph import Node, toposort
from dimtensor.model.checks import check_inside, check_proper, described
from dimtensor.model.emptiness import warn_of_empty_groups, warn_of_empty_with_data
from dimtensor.model.logdensity import LogDensity
from dimtensor.model.marginal.terms import summed_terms
from dimtensor.model.missing import (
    evidence,
    filled,
    missing_name,
    places,
    support_of_missing,
    with_missing,
)
from dimtensor.model.variables import Variable, put
from dimtensor.streams.stream import stream_tensor, streamed
from dimtensor.tensor.check import check
from dimtensor.tensor.elementwise import logical_not, where
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import data as make_data
from dimtensor.tensor.inputs import tensor
from dimtensor.values.labeled import with_row_numbers

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.model.spec import ModelSpec
    from dimtensor.tensor.core import DimTensor


def standard_of(d: Distribution, name: str) -> Standardized:
    """Return the standardized distribution, and the variable as a function of its draws.

    Raises
    ------
    GraphError
        If the distribution is not of a family that has one.
    """
    found = standardized(d)
    if found is None:
        raise GraphError(
            f"{name!r} has no location and scale",
            [("distribution", repr(d)), ("families", listing(list(FAMILIES), len(FAMILIES)))],
        )
    return found


# Kind and name of bound values: "data", "observed", or "kept", the mask of included observations;
# "parts" if there are vectors of which some elements are missing.
Source = tuple[str, str]


def sources_of(spec: ModelSpec) -> dict[Source, Any]:
    """Return the data, observations and masks of a model, as ``dt.data`` takes them."""
    found: dict[Source, Any] = {
        ("data", name): with_row_numbers(x, spec.numbered.get(name, ()))
        for name, x in spec.data.items()
    }
    for name, known in spec.observed.in_memory.plain.items():
        if _is_structure(spec, name):
            continue
        node = spec.variables[name].node
        if known.complete and name not in spec.included:
            labels = node.categories is not None
            found["observed", name] = (known if labels else known.astype(node.dtype)).given
            continue
        found["observed", name] = filled(node, known).given
        if name in spec.included:
            x = known.array
            found["kept", name] = (x.notnull() & spec.included[name]).transpose(*x.dims)
        else:
            found["parts" if _has_parts(spec, name) else "kept", name] = known.there
    return found


def _has_parts(spec: ModelSpec, name: str) -> bool:
    """Return whether some elements of a vector are missing that has densities of the others."""
    d = spec.variables[name].distribution
    event = [dim._short for dim in d.event_dims]
    if not event or getattr(d, "_logp_of_known", None) is None:
        return False
    there = spec.observed[name].notnull()
    return bool((there.any(event) & ~there.all(event)).any())


def _structure_of(spec: ModelSpec) -> tuple:
    """Return a cache key: log densities with equal keys differ in values of data only."""
    own = [
        (name, x.dims, x.shape, x.values.ravel().tolist(), _labels_of(x), known.numbered)
        for name, known in spec.observed.in_memory.plain.items()
        if _is_structure(spec, name)
        for x in [known.array]
    ]
    summed = repr(sorted(spec.marginalized.items())), spec.associative_scan
    streams = frozenset(spec.streamed.items())
    return (spec.noncentered, summed, frozenset(sources_of(spec)), streams, repr(own))


def _labels_of(x: xr.DataArray) -> dict[Any, list]:
    return {dim: x.indexes[dim].tolist() for dim in x.dims if dim in x.indexes}


def _is_structure(spec: ModelSpec, name: str) -> bool:
    """Return True if the graph depends on which observations are missing."""
    return spec.missing.get(name) == "infer" or name in spec.marginalized


class BoundGraph:
    """Model graph with free variables replaced by inputs, and observations and data bound.

    Attributes
    ----------
    parameters : dict of str to DimTensor
        Inputs by name of the variable.
    distributions : dict of str to Distribution
        With parameters in terms of these inputs.
    values : dict of str to DimTensor
        Of all variables.
    summed : dict of str to Node
        Inputs in place of marginalized variables.
    sources : dict of Source to Node
        Data nodes, by their source.
    """

    def __init__(self, spec: ModelSpec, noncentered: bool):
        self.spec = spec
        self.noncentered = spec.noncentered if noncentered else frozenset()
        self.parameters: dict[str, DimTensor] = {}
        self.distributions: dict[str, Distribution] = {}
        self._of_missing: dict[str, Support] = {}
        self.values: dict[str, DimTensor] = {}
        self.summed: dict[str, Node] = {}
        self.sources: dict[Source, Node] = {}
        self._given = sources_of(spec)
        self._unknown: dict[str, None] = {}
        named = spec.graph.named
        nodes = [*(v.node for v in spec.variables.values()), *named.values()]
        found = put(nodes, self._chosen)
        if self._unknown:
            raise InputError(
                f"inputs of the model have no values: {', '.join(map(repr, self._unknown))}",
                hint="dt.Model(..., data={input: values}), or model.with_data({...})",
            )
        self.named = dict(zip(named, map(wrap, found[len(spec.variables) :]), strict=True))

    def _chosen(self, node: Node, inputs: tuple[Node, ...]) -> Node | None:
        spec, name = self.spec, node.name
        if node.kind != "rv":
            if name in spec.data:
                return self._source(
                    ("data", str(name)), node.dims, node.dtype, node.categories
                ).node
            if name in spec.streams:
                return stream_tensor(node, spec.streams[str(name)]).node
            if node.kind == "input" and node.attrs.stream is None:
                self._unknown[str(name)] = None
            return None
        assert name is not None
        d: Distribution = node.attrs.spec.build(inputs)
        self.distributions[name] = d
        if name in spec.marginalized:
            value = tensor(name, node.dims, node.dtype, node.categories)
            self.summed[name] = value.node
        elif name in spec.observed.streams:
            value = stream_tensor(node, spec.observed.streams[name])
        elif name in spec.observed:
            if spec.missing.get(name) != "infer":
                value = self._source(("observed", name), node.dims, node.dtype, node.categories)
            else:
                value, unknown = with_missing(node, spec.observed.plain[name])
                if unknown is not None:
                    self.parameters[missing_name(name)] = unknown
                    own = support_of_missing(d.support, node, spec.observed[name])
                    self._of_missing[missing_name(name)] = own
        elif name in self.noncentered:
            standard = standard_of(d, name)
            self.distributions[name] = standard.distribution
            raw = tensor(raw_name(name), standard.dims(node.dims), node.dtype)
            self.parameters[name] = raw
            value = standard.place(raw)
            self._refuse_hidden(name, value)
        else:
            value = self.parameters[name] = tensor(name, node.dims, node.dtype)
        self.values[name] = value
        return value.node

    def _refuse_hidden(self, name: str, value: DimTensor) -> None:
        """Refuse a noncentered variable that depends on a marginalized one: it cannot be drawn."""
        read = [n for n, x in self.summed.items() if x in toposort([value.node])]
        if read:
            raise GraphError(
                f"noncentered: the place of {name!r} depends on {listing(read)}, which is "
                "summed out",
                hint="leave it as it is: its own values are sampled",
            )

    def _source(self, key: Source, dims: Dims, dtype: str, categories: Dim | None) -> DimTensor:
        kind, name = key
        name = f"{name} that is not left out" if kind in ("kept", "parts") else name
        found = make_data(
            self._given[key],
            dims,
            name,
            categories,
            dtype=None if categories is not None else dtype,
        )
        self.sources[key] = found.node
        return found

    def support_of(self, parameter: str) -> Support:
        """Return the support of a parameter."""
        found = self._of_missing.get(parameter)
        return self.distributions[parameter].support if found is None else found

    def terms(self, names: Collection[str] | None = None) -> dict[str, DimTensor]:
        """Return log densities of variables by name, by default of all."""
        variables = self.spec.variables.items()
        return {n: self._term(n, v) for n, v in variables if names is None or n in names}

    def _term(self, name: str, variable: Variable) -> DimTensor:
        x = self.parameters.get(name, self.values[name])
        term = self.distributions[name].logp(x)
        if name in self.summed and name in self.spec.observed:
            given = evidence(x, self.spec.observed.plain[name])
            apart = [dim for dim in given.dims if dim not in term.dims]
            return term + (given.sum(apart) if apart else given)
        if ("parts", name) in self._given:
            there = self._source(("parts", name), variable.node.dims, "bool", None)
            return self.distributions[name]._logp_of_known(x, there)
        if ("kept", name) not in self._given:
            return term
        kept = self._source(("kept", name), variable.node.dims, "bool", None)
        whole = [dim for dim in variable.node.dims if dim not in term.dims]
        if not whole:
            return where(kept, term, 0.0)
        self._refuse_parts(name, [dim._short for dim in whole])
        every = kept.all(whole)
        # other data of the same structure
        names = ", ".join(dim._short for dim in whole)
        message = f"observations of {name!r} are left out along all of {names}, or none"
        return where(check(every | logical_not(kept.any(whole)), message, every), term, 0.0)

    def ahead(self, name: str) -> DimTensor | None:
        """Return the one-step-ahead log density of a series; None for other variables.

        Raises
        ------
        GraphError
            If the distribution has a joint log density only.
        """
        d = self.distributions[name]
        if name in self.summed:
            return None
        found = getattr(d, "_logp_ahead", None)
        if found is not None:
            ahead: DimTensor = found(self.parameters.get(name, self.values[name]))
            return ahead
        inner: Any = d
        while inner is not None and not hasattr(inner, "_logp_ahead"):
            inner = getattr(inner, "base", None)
        if inner is None:
            return None
        raise GraphError(
            f"there is no log density of each element of {name!r} given those before it: "
            f"{d.name} has one of the whole series",
            [(name, repr(d))],
            "log_likelihood(post) is that of the series",
        )

    def _refuse_parts(self, name: str, whole: list[str]) -> None:
        """Refuse to leave out some of the elements that have one log density together."""
        there = self.spec.observed[name].notnull()
        if name in self.spec.included:
            there = there & self.spec.included[name]
        parts = there.any(whole) & ~there.all(whole)
        if bool(parts.any()):
            raise GraphError(
                f"observations of {name!r} cannot be left out along {listing(whole)}: there "
                "they have one log density together",
                [
                    (name, repr(self.distributions[name])),
                    *([("in part at", listing(places(parts)))] if parts.dims else []),
                ],
                "all of them can be left out together",
            )


def raw_name(name: str) -> str:
    """Return the name of the standardized variable."""
    return f"{name}_raw"


def log_density(spec: ModelSpec, jacobian: bool = True) -> LogDensity:
    """Make the log density of a model; see :meth:`dimtensor.Model.log_density`.

    Models that differ in values of data share its compiled functions.
    """
    key = ("log density", jacobian, _structure_of(spec))
    check_inside(spec, spec.unchecked)
    known = spec.graph.compiled.get(key)
    if known is None:
        density, _ = known = spec.graph.compiled[key] = _new_density(spec, jacobian)
    else:
        density, sources = known
        values, used = sources_of(spec), set(density.functions.data_nodes)
        density = density.with_data({x: values[at] for at, x in sources.items() if x in used})
    warn_of_empty_with_data(density, [x.node for x in spec.outputs])
    warn_of_empty_groups(density, [x.node for x in spec.outputs], spec.data)
    return density


def _new_density(spec: ModelSpec, jacobian: bool) -> tuple[LogDensity, dict[Source, Node]]:
    discrete = [name for name, v in spec.free.items() if v.distribution.discrete]
    if discrete:
        raise GraphError(
            "variables are discrete, and no gradient tells a sampler where to move them",
            described(spec.variables, discrete),
            "observe them, or sum them out: model.marginalize(z)",
        )
    placed = BoundGraph(spec, noncentered=True)
    supports = {x: placed.support_of(name) for name, x in placed.parameters.items()}
    free = placed.noncentered & set(placed.parameters)
    recorded = {name: placed.values[name] for name in sorted(free)}
    terms = summed_terms(placed).terms if placed.summed else placed.terms()
    check_proper(terms, spec, {name: x.node for name, x in placed.parameters.items()})
    hidden = set(placed.summed.values())
    named = {
        n: x
        for n, x in placed.named.items()
        if n not in spec.unrecorded
        and hidden.isdisjoint(toposort([x.node]))
        and not streamed([x.node])
    }
    density = LogDensity(
        terms,
        supports,
        spec.backend,
        jacobian=jacobian,
        deterministics={**recorded, **named},
    )
    return density, placed.sources
