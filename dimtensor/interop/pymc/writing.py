"""Export of models to PyMC: `to_pymc`."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, Dims, without
from dimtensor.dist.distribution import Distribution
from dimtensor.dist.joint.outcomes import Categorical
from dimtensor.dist.modifiers.weights import weighted
from dimtensor.dist.parameters import float_dtype
from dimtensor.dist.tabulated import TableDistribution
from dimtensor.errors import ArgumentError, DimError, GraphError, InputError, listing
from dimtensor.extras import require
from dimtensor.graph import Node
from dimtensor.interop.pymc.counterparts import COUNTERPARTS
from dimtensor.interop.pymc.custom import CustomDistribution, aligned, inside
from dimtensor.interop.pymc.lifted import PotentialTerm
from dimtensor.interop.pymc.marginal_potentials import MarginalPotentials
from dimtensor.interop.pymc.transforms import support_transform
from dimtensor.model.density import raw_name, standard_of
from dimtensor.model.missing import filled, missing_name
from dimtensor.model.model import Model
from dimtensor.model.variables import put
from dimtensor.tensor.functions import softmax
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import data as make_data
from dimtensor.tensor.positional.border import from_shaped

if TYPE_CHECKING:
    import pymc as pm

    from dimtensor.tensor.core import DimTensor


def to_pymc(model: Model) -> pm.Model:
    """Convert a model to a PyMC model with the same names, coords and log density.

    Distributions that PyMC has under the same name become PyMC's. All others become custom ones
    with the log density and draws of dimtensor. Expressions become positional PyTensor graphs, as
    by `to_shaped`. Marginalized variables are absent; the marginal log densities of variables that
    depend on them are potentials, and :meth:`Model.recover` of `model` takes PyMC's draws.

    Parameters
    ----------
    model : Model

    Returns
    -------
    pymc.Model
        With observations, deterministics, and data that ``pm.set_data`` can change.

    Raises
    ------
    ArgumentError
        If `model` is not a Model.
    DimError
        If two dims have the same name.
    GraphError
        If missing values are dropped along event dims, a length is not known, or the bounds of a
        variable depend on a marginalized one.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> county = dt.Dim("county", coords=["Aitkin", "Anoka"])
    >>> mu = dt.rv("mu", dist.Normal(0, 10))
    >>> y = dt.rv("y", dist.Normal(mu, 1), dims=county)
    >>> fit = dt.Model(y).observe({y: [1.0, 2.0]})
    >>> dt.to_pymc(fit).coords  # doctest: +SKIP
    {'county': ('Aitkin', 'Anoka')}
    """
    require("pymc", "pymc", "to_pymc")
    if not isinstance(model, Model):
        raise ArgumentError(f"to_pymc: a dt.Model is expected, not {type(model).__name__}")
    return _ModelWriter(model).model()


class _ModelWriter:
    """Writer of a PyMC model."""

    def __init__(self, model: Model):
        self.ours = model
        self.summed = MarginalPotentials(model) if model.spec.marginalized else None
        self.names = self._names()
        self.lengths = self._lengths()

    def model(self) -> Any:
        """Return the PyMC model."""
        import pymc as pm

        found = self.ours.spec.graph
        labeled = {name: d.coords for d, name in self.names.items() if d.coords is not None}
        with pm.Model(coords=labeled) as made:
            for dim, name in self.names.items():
                if dim.coords is None:
                    made.add_coord(name, length=self.lengths[dim])
            variables = [v.node for v in found.variables.values()]
            nodes = put([*variables, *found.named.values()], self._chosen)
            for name, node in zip(found.named, nodes[len(found.variables) :], strict=True):
                if self.summed is None or not self.summed.reads(node):
                    self._record(name, node, node.dims)
            for name, term in self.summed.terms().items() if self.summed else ():
                dims = self._dim_names(term.dims) if self.names.keys() >= set(term.dims) else None
                pm.Potential(name, term.to_shaped(list(term.dims)), dims=dims)
        return made

    def _record(self, name: str, node: Node, dims: Dims) -> Any:
        import pymc as pm

        value = wrap(node).to_shaped(list(dims))
        return pm.Deterministic(name, value, dims=self._dim_names(dims))

    # -- dims --------------------------------------------------------------------------------------

    def _nodes(self) -> list[Node]:
        found = self.ours.spec.graph
        variables = [v.node for v in found.variables.values()]
        return [*variables, *found.named.values(), *found.inputs.values()]

    def _names(self) -> dict[Dim, str]:
        names: dict[Dim, str] = {}
        for node in self._nodes():
            for dim in node.dims:
                names.setdefault(dim, str(dim.name or dim._short))
        double = [name for name in set(names.values()) if list(names.values()).count(name) > 1]
        if double:
            raise DimError(
                "to_pymc: dims of a PyMC model are told apart by name",
                [("used twice", listing(double))],
                "rename one: dim.rename('other')",
            )
        return names

    def _lengths(self) -> dict[Dim, int]:
        known = {dim: dim.length for dim in self.names if dim.length is not None}
        arrays = [*self.ours.observed.values(), *self.ours.data.values()]
        for dim, name in self.names.items():
            for array in arrays:
                if dim not in known and name in array.sizes:
                    known[dim] = array.sizes[name]
        missing = [name for dim, name in self.names.items() if dim not in known]
        if missing:
            raise GraphError(
                "to_pymc: the lengths of dims are not known",
                [("dims", listing(missing))],
                "give them coords or a length, or data and observations along them",
            )
        return known

    def _dim_names(self, dims: Dims) -> tuple[str, ...] | None:
        return tuple(self.names[dim] for dim in dims) or None

    # -- variables ---------------------------------------------------------------------------------

    def _chosen(self, node: Node, inputs: tuple[Node, ...]) -> Node | None:
        if node.kind != "rv":
            return None if node.name is None else self._data(node)
        d: Distribution = node.attrs.spec.build(inputs)
        name, dims = str(node.name), _ordered(node, d)
        if self.summed is not None and name in self.ours.spec.marginalized:
            return self.summed.unknown(name)
        if self.summed is not None and name in self.summed.touched:
            if name in self.ours.observed:
                return self._marginal_observed(self.summed, node, d)
            if name not in self.ours.spec.noncentered:
                d, dims = self.summed.spread(name, d), node.dims
        if isinstance(d, PotentialTerm):
            import pymc as pm

            term = d.term.expand(dims).to_shaped(list(dims))
            pm.Potential(name, term, dims=self._dim_names(dims))
            return make_data(np.zeros([self.lengths[x] for x in dims]), dims).node
        if name in self.ours.spec.noncentered and name not in self.ours.observed:
            return self._noncentred(name, d, dims)
        options: dict[str, Any] = {"dims": self._dim_names(dims)}
        if name in self.ours.observed:
            observed = self.ours.observed[name]
            known = self.ours.observed.plain[name]
            absent = observed.isnull()
            if absent.any() and self.ours.spec.missing[name] == "drop":
                d = self._without_missing(node, d, absent)
            values = self._values(node, filled(node, known).array, dims)
            if absent.any() and self.ours.spec.missing[name] == "infer":
                order = [self.names[dim] for dim in dims]
                values = np.ma.masked_array(values, absent.transpose(*order).values)
            options["observed"] = values
        with warnings.catch_warnings():
            # missing values are inferred on purpose
            warnings.filterwarnings("ignore", "Data in .* contains missing values")
            variable = self._variable(name, d, dims, options)
        variable = inside(variable, None if "observed" in options else node.categories)
        whole = from_shaped(variable, dims, categories=node.categories)
        if self.summed is not None and name not in self.ours.observed:
            self.summed.write(name, whole.node)
        elif self.summed is not None and self.ours.spec.missing.get(name) == "infer":
            _, unknown = self.summed.observed(name)
            if unknown is not None:
                part = self._missing_of(whole, node, unknown)
                self.summed.write(missing_name(name), part.node)
        return whole.node

    def _missing_of(self, whole: DimTensor, node: Node, unknown: DimTensor) -> DimTensor:
        """Select the missing values of a variable."""
        flat = whole if len(node.dims) == 1 else whole.ravel()
        part = flat.isel({flat.dims[0]: np.flatnonzero(self._absent(node))})
        return part if part.dims == unknown.dims else part.relabel(part.dims[0], unknown.dims[0])

    def _absent(self, node: Node) -> np.ndarray:
        observed = self.ours.observed[str(node.name)]
        found: np.ndarray = observed.isnull().transpose(*[d._short for d in node.dims]).values
        return found

    def _marginal_observed(self, summed: MarginalPotentials, node: Node, d: Distribution) -> Node:
        """Return the values of an observed variable with a potential; missing ones are inferred."""
        import pymc as pm

        values, unknown = summed.observed(str(node.name))
        if unknown is not None:
            name, (dim,) = missing_name(str(node.name)), unknown.dims
            self.names[dim], self.lengths[dim] = f"{name}_dim_0", int(self._absent(node).sum())
            pm.modelcontext(None).add_coord(self.names[dim], length=self.lengths[dim])
            options = {"dims": self._dim_names(unknown.dims)}
            variable = self._variable(name, summed.spread(name, d), unknown.dims, options)
            summed.write(name, from_shaped(variable, unknown.dims).node)
        return summed.put(values).node

    def _noncentred(self, name: str, d: Distribution, dims: Dims) -> Node:
        """Write a noncentered variable: PyMC samples the standardized one."""
        import pymc as pm

        found = standard_of(d, name)
        standard = found.distribution
        if self.summed is not None and name in self.summed.touched:
            standard = self.summed.spread(name, standard)
        for old, new in found.swapped.items():
            self.names[new] = f"{raw_name(name)}_{old._short}"
            self.lengths[new] = count = int(new.length or 0)
            pm.modelcontext(None).add_coord(self.names[new], length=count)
        own = found.dims(dims)
        variable = self._variable(raw_name(name), standard, own, {"dims": self._dim_names(own)})
        raw = from_shaped(variable, own)
        if self.summed is not None:
            self.summed.write(name, raw.node)
        made = self._record(name, found.place(raw).node, dims)
        return from_shaped(made, dims).node

    def _without_missing(self, node: Node, d: Distribution, absent: Any) -> Distribution:
        """Weight a distribution by 0 at missing values."""
        if d.event_dims:
            raise GraphError(
                f"to_pymc: observations of {node.name!r} cannot be left out along "
                f"{listing([dim._short for dim in d.event_dims])}: there they have one log "
                "density together",
                [(str(node.name), repr(d))],
                "observe(..., missing='infer') makes them unknowns",
            )
        return weighted(d, make_data((~absent).astype("float64"), node.dims))

    def _values(self, node: Node, value: Any, dims: Dims) -> np.ndarray:
        """Return values as an array with axes in the order of dims, and labels as positions."""
        categories = node.categories
        made = make_data(
            value, node.dims, categories=categories, dtype=None if categories else node.dtype
        )
        attrs = made.node.attrs
        found: np.ndarray = attrs.values.transpose([attrs.dims.index(dim) for dim in dims])
        return found

    def _data(self, node: Node) -> Node:
        import pymc as pm

        name = str(node.name)
        if name in self.ours.data:
            values = self._values(node, self.ours.data[name], node.dims)
        elif node.kind == "data":
            order = [node.attrs.dims.index(dim) for dim in node.dims]
            values = node.attrs.values.transpose(order)
        else:
            raise InputError(f"to_pymc: the input {name!r} has no value: model.with_data(...)")
        variable = pm.Data(name, values, dims=self._dim_names(node.dims))
        written = from_shaped(variable, node.dims, categories=node.categories).node
        if self.summed is not None:
            self.summed.write_data(name, node, written)
        return written

    # -- distributions -----------------------------------------------------------------------------

    def _variable(self, name: str, d: Distribution, dims: Dims, options: dict[str, Any]) -> Any:
        import pymc as pm

        theirs = COUNTERPARTS.get(d.name) if isinstance(d, TableDistribution) else None
        if theirs is not None and theirs.written:
            values = d._values(float_dtype(d._nodes))
            given = {key: aligned(getattr(values, key), dims) for key in d.row.names}
            given |= {key: given[key].astype("int64") for key in theirs.integers}
            called = dict(theirs.renamed)
            given = {called.get(key, key): x for key, x in given.items()}
            return getattr(pm, d.name)(name, **given, **options)
        known = d.parameters
        if isinstance(d, Categorical) and ("p" in known or "observed" not in options):
            # PyMC has Categorical by probabilities only
            p = known["p"] if "p" in known else softmax(known["logits"], d.dim)
            return pm.Categorical(name, p=aligned(p, dims, (d.dim,)), **options)
        return self._custom(name, d, dims, options)

    def _custom(self, name: str, d: Distribution, dims: Dims, options: dict[str, Any]) -> Any:
        """Write a variable as a custom distribution."""
        import pymc as pm

        partial = isinstance(options.get("observed"), np.ma.MaskedArray)
        custom = CustomDistribution(d, dims, partial)
        unknown = "observed" not in options or (partial and not custom.events)
        if unknown and not d.discrete and not d.support.is_unconstrained:
            options["default_transform"] = support_transform(custom)
            options["support_point"] = custom.start(lambda x: self.lengths.get(x, x.length))
        parameters = custom.parameters()
        if custom.events:
            parameters.append(np.zeros([self.lengths[x] for x in custom.events]))
        return pm.CustomDist(
            name,
            *parameters,
            logp=custom.logp,
            random=custom.draw(),
            signature=custom.signature(),
            dtype=d.dtype,
            class_name=d.name.replace(" ", "_"),
            **options,
        )


def _ordered(node: Node, d: Distribution) -> Dims:
    """Return the dims of a variable with its event dims last."""
    return (*without(node.dims, d.event_dims), *[x for x in node.dims if x in d.event_dims])
