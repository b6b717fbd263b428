"""Log densities of a model's variables, element by element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from dimtensor.compile.function import free_inputs
from dimtensor.errors import GraphError, InputError, OptionError
from dimtensor.model.density import BoundGraph
from dimtensor.model.inference.constant import warn_of_constant
from dimtensor.model.inference.results import LEADING, extended, posterior_of, with_leading
from dimtensor.model.marginal.terms import summed_terms
from dimtensor.model.missing import left
from dimtensor.model.records import as_dataset
from dimtensor.model.variables import name_of
from dimtensor.tensor.evaluate import evaluate

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.model.spec import ModelSpec

# Densities of elements, of each element given those before it, or of dependent elements together.
Which = Literal["elements", "ahead", "groups"]


def logp(spec: ModelSpec, point: Any, names: list[str], which: Which = "elements") -> xr.Dataset:
    """Compute log densities of variables at one or many points.

    Parameters
    ----------
    spec : ModelSpec
    point : dict, Dataset or DataTree
        Values of the free variables.
    names : list of str
    which : {"elements", "ahead", "groups"}

    Raises
    ------
    InputError
        If a value is missing.
    GraphError
        If a variable has no such log density.
    """
    placed = BoundGraph(spec, noncentered=False)
    if placed.summed:
        summed = summed_terms(placed)
        if which == "groups":
            wanted = summed.groups(names)
        elif set(names) == set(spec.variables):
            wanted = summed.terms
        else:
            wanted = summed.of(names, which == "ahead")
    else:
        terms = placed.terms(names)
        wanted = {name: terms[name] for name in names}
    if which == "ahead":
        wanted |= {n: x for n in names if (x := placed.ahead(n)) is not None}
    values: Any = point
    if isinstance(point, Mapping) and not hasattr(type(point), "data_vars"):
        known = placed.parameters
        values = {name_of(key, known, "free variable"): value for key, value in point.items()}
        missing = [name for name in known if name not in values]
        if missing:
            raise InputError(f"missing variables: {', '.join(map(repr, missing))}")
        used = {x.name for x in free_inputs([t.node for t in wanted.values()])}
        values = {name: value for name, value in values.items() if name in used}
    found = evaluate(wanted, values)
    leading = [dim for dim in LEADING if any(dim in x.dims for x in found.values())]
    return as_dataset({name: x.rename(name) for name, x in found.items()}, leading)


def log_likelihood(
    spec: ModelSpec, post: Any, one_step_ahead: bool = False, grouped: bool = False
) -> xr.DataTree:
    """Add log densities of observations; see :meth:`dimtensor.Model.log_likelihood`."""
    if not spec.observed:
        raise GraphError("log_likelihood: the model has no observations; model.observe({...})")
    if one_step_ahead and grouped:
        raise OptionError("log_likelihood: elements one step ahead are in no groups")
    which: Which = "ahead" if one_step_ahead else "groups" if grouped else "elements"
    found = logp(spec, posterior_of(post), list(spec.observed), which)
    kept = {str(name): _of_known(spec, str(name), x) for name, x in found.items()}
    found = with_leading(as_dataset(kept, LEADING), post)
    warn_of_constant(found)
    return extended(post, {"log_likelihood": found})


def _of_known(spec: ModelSpec, name: str, values: xr.DataArray) -> xr.DataArray:
    """Drop the values of missing observations."""
    observed = spec.observed.get(name)
    if observed is None:
        return values
    if not set(observed.dims) <= set(values.dims):
        d = spec.variables[name].distribution
        event = [dim._short for dim in d.event_dims if dim._short not in values.dims]
        if not event:
            return values  # of groups
        # elements along event dims are missing together
        observed = observed.isel({dim: 0 for dim in event if dim in observed.dims})
    return left(values, observed)


def log_prior(spec: ModelSpec, post: Any) -> xr.DataTree:
    """Add log densities of free variables; see :meth:`dimtensor.Model.log_prior`."""
    found = logp(spec, posterior_of(post), list(spec.free))
    return extended(post, {"log_prior": with_leading(found, post)})
