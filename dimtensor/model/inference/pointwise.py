"""Log densities of a model's variables, element by element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dimtensor.compile.function import free_inputs
from dimtensor.errors import GraphError, InputError, ModelWarning, OptionError, listing, warn
from dimtensor.model.density import BoundGraph
from dimtensor.model.inference.chunked import results_of
from dimtensor.model.inference.results import LEADING, extended, posterior_of, with_leading
from dimtensor.model.marginal.terms import predictions, summed_terms
from dimtensor.model.missing import left
from dimtensor.model.records import as_dataset
from dimtensor.model.variables import name_of
from dimtensor.tensor.evaluate import evaluate

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.model.spec import ModelSpec
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import Path

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
    found = _evaluated(placed, wanted, point)
    leading = [dim for dim in LEADING if any(dim in x.dims for x in found.values())]
    return as_dataset({name: x.rename(name) for name, x in found.items()}, leading)


def _evaluated(
    placed: BoundGraph, wanted: Mapping[str, DimTensor], point: Any
) -> dict[str, xr.DataArray]:
    """Evaluate expressions at one or many points."""
    values: Any = point
    if isinstance(point, Mapping) and not hasattr(type(point), "data_vars"):
        known = placed.parameters
        values = {name_of(key, known, "free variable"): value for key, value in point.items()}
        missing = [name for name in known if name not in values]
        if missing:
            raise InputError(f"missing variables: {', '.join(map(repr, missing))}")
        used = {x.name for x in free_inputs([t.node for t in wanted.values()])}
        values = {name: value for name, value in values.items() if name in used}
    found: dict[str, xr.DataArray] = evaluate(wanted, values)
    return found


def log_likelihood(
    spec: ModelSpec,
    post: Any,
    one_step_ahead: bool = False,
    grouped: bool = False,
    store: Path | None = None,
    chunks: int | None = None,
) -> xr.DataTree:
    """Add log densities of observations; see :meth:`dimtensor.Model.log_likelihood`."""
    if not spec.observed:
        raise GraphError("log_likelihood: the model has no observations; model.observe({...})")
    if one_step_ahead and grouped:
        raise OptionError("log_likelihood: elements one step ahead are in no groups")
    which: Which = "ahead" if one_step_ahead else "groups" if grouped else "elements"

    def compute_rows(number: int, model: ModelSpec, draws: xr.Dataset) -> dict[str, xr.Dataset]:
        found = logp(model, draws, list(model.observed), which)
        kept = {str(name): _of_known(model, str(name), x) for name, x in found.items()}
        found = with_leading(as_dataset(kept, LEADING), draws)
        if number == 0:
            warn_of_constant(found)
        return {"log_likelihood": found}

    return _with_groups("log_likelihood", spec, post, compute_rows, store, chunks)


def residuals(
    spec: ModelSpec, post: Any, store: Path | None = None, chunks: int | None = None
) -> xr.DataTree:
    """Add one-step-ahead residuals; see :meth:`dimtensor.Model.residuals`."""
    if not spec.observed:
        raise GraphError("residuals: the model has no observations; model.observe({...})")

    def at(model: ModelSpec, point: Any) -> dict[str, dict[str, xr.DataArray]]:
        placed = BoundGraph(model, noncentered=False)
        wanted: dict[str, DimTensor] = {}
        for name, (mean, sd) in predictions(placed).items():
            error = placed.values[name] - mean
            wanted |= {f"fitted {name}": mean, f"residuals {name}": error,
                       f"standardized_residuals {name}": error / sd}  # fmt: skip
        groups: dict[str, dict[str, xr.DataArray]] = {}
        for key, x in _evaluated(placed, wanted, point).items():
            group, name = key.split(" ", 1)
            there = model.observed[name].notnull()
            whole = group == "fitted" or bool(there.all())
            groups.setdefault(group, {})[name] = (x if whole else x.where(there)).rename(name)
        return groups

    def compute_rows(number: int, model: ModelSpec, draws: xr.Dataset) -> dict[str, xr.Dataset]:
        found = at(model, draws).items()
        return {group: with_leading(as_dataset(x, LEADING), draws) for group, x in found}

    if isinstance(post, Mapping) and not hasattr(type(post), "data_vars"):
        if store is not None or chunks is not None:
            raise OptionError("residuals: store= and chunks= are for draws, not for one point")
        return extended(None, {group: as_dataset(x, []) for group, x in at(spec, post).items()})
    return _with_groups("residuals", spec, post, compute_rows, store, chunks)


def _with_groups(
    what: str, spec: ModelSpec, post: Any, compute_rows: Any, store: Path | None,
    chunks: int | None,
) -> xr.DataTree:  # fmt: skip
    """Add groups of results for observations to draws, for all rows of streams."""
    if spec.streamed:
        from dimtensor.model.predictive.by_chunk import results_of_rows

        return results_of_rows(what, spec, post, compute_rows, store, chunks)

    def compute(number: int, draws: xr.Dataset) -> dict[str, xr.Dataset]:
        return compute_rows(number, spec, draws)

    largest = max(x.size for x in spec.observed.values())
    return results_of(what, post, compute, largest, store, chunks)


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
        there = observed.notnull().any([dim for dim in event if dim in observed.dims])
        observed = there.where(there)
    return left(values, observed)


def log_prior(spec: ModelSpec, post: Any) -> xr.DataTree:
    """Add log densities of free variables; see :meth:`dimtensor.Model.log_prior`."""
    found = logp(spec, posterior_of(post), list(spec.free))
    return extended(post, {"log_prior": with_leading(found, post)})


def warn_of_constant(log_likelihood: xr.Dataset) -> None:
    """Warn of elements with the same density in all draws, for which ArviZ's `loo` fails.

    Where all elements are so, the draws may be the same; those of one draw are.
    """
    if log_likelihood.sizes.get("chain", 1) * log_likelihood.sizes.get("draw", 1) < 2:
        return
    for name, x in log_likelihood.data_vars.items():
        if not x.size:
            continue
        alike = (x == x.isel(chain=0, draw=0)) & np.isfinite(x)
        constant = alike.all(["chain", "draw"])
        if constant.any() and not constant.all():
            where, hint = _along(constant)
            warn(
                f"arviz.loo and arviz.plot_loo_pit fail: the log density of {where} of "
                f"{str(name)!r} is the same in all draws, because it depends on no parameter",
                ModelWarning,
                hint=hint,
            )


def _along(constant: xr.DataArray) -> tuple[str, str | None]:
    """Describe the elements, and how to leave them out where they lie along one dim."""
    for dim in constant.dims:
        whole = constant.all([other for other in constant.dims if other != dim])
        at = np.flatnonzero(whole.values)
        n = len(at)
        if n * constant.size != int(constant.sum()) * whole.size:
            continue
        if at[-1] == n - 1:
            kept = f"slice({n}, None)"
        elif at[0] == whole.size - n:
            kept = f"slice({-n})"
        else:
            kept = str(np.flatnonzero(~whole.values).tolist())
        labels = constant.indexes[dim][at] if dim in constant.indexes else at
        hint = f"leave them out: arviz.loo(post.isel({dim}={kept}))"
        return f"the elements at {dim}={listing(labels)}", hint
    return f"{int(constant.sum())} of {constant.size} elements", None
