"""Prior and posterior predictive draws of a model, as DataTrees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dimtensor.arrays import check_whole
from dimtensor.dims import Dim
from dimtensor.errors import DimError, listing
from dimtensor.graph import Node, toposort
from dimtensor.model.inference.chunked import results_of
from dimtensor.model.inference.results import as_groups, known_groups
from dimtensor.model.marginal.recovery import with_recovered
from dimtensor.model.missing import left
from dimtensor.model.predictive.by_chunk import results_of_rows
from dimtensor.model.predictive.drawing import draw_variables, with_missing
from dimtensor.model.predictive.generation import CHAIN, DRAW
from dimtensor.model.predictive.new_labels import dims_by_name, widened, with_new_data
from dimtensor.model.variables import name_of
from dimtensor.random.seeds import checked_seed, required_seed, seed_for
from dimtensor.tensor.handle import TensorHandle
from dimtensor.values.data import as_mapping
from dimtensor.values.datasets import values_from
from dimtensor.values.labeled import with_attributes
from dimtensor.values.ports import LengthPort

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.model.spec import ModelSpec
    from dimtensor.typing import Path


def draw(
    spec: ModelSpec, n: int, seed: int, dims: Mapping[Dim, Any] | None, backend: str | None
) -> xr.DataTree:
    """Draw all variables from the prior; see :meth:`dimtensor.Model.draw`."""
    from dimtensor.model.inference.storage import Results

    predictive = {*spec.observed, *(x.node.name for x in spec.outputs if x.node.kind == "rv")}
    seed = required_seed(seed, "draw")
    check_whole("draw", **({"n": n} if n else {}))
    targets = spec.graph.nodes
    asked = dims_by_name(spec, as_mapping(dims, "dims"))
    _check_lengths(asked, targets)
    lengths = {CHAIN: 1, DRAW: n, **asked}
    found = draw_variables(spec, targets, {}, seed, lengths, backend=backend)
    prior = {name: x for name, x in found.items() if name not in predictive}
    outcome = {name: x for name, x in found.items() if name in predictive}
    groups = {"prior": prior, "prior_predictive": outcome}
    sizes = {"chain": 1, "draw": n}
    return Results.from_dict(
        as_groups({k: (v, sizes) for k, v in groups.items() if v}, known_groups(spec))
    )


def predict(
    fit: ModelSpec,
    post: Any,
    data: Mapping[Any, Any] | None = None,
    *,
    seed: int | None = None,
    names: Iterable[Any] | None = None,
    dims: Mapping[Dim, Any] | None = None,
    backend: str | None = None,
    store: Path | None = None,
    chunks: int | None = None,
) -> xr.DataTree:
    """Draw outputs given draws of other variables; see :meth:`dimtensor.Model.predict`."""
    seed = checked_seed(seed, "predict")
    known = dims_by_name(fit, as_mapping(dims, "dims"))
    data = as_mapping(data, "data", fit.graph.inputs)
    wider = {old: new for old, new in known.items() if isinstance(new, Dim)}
    lengths = {dim: value for dim, value in known.items() if not isinstance(value, Dim)}
    spec, wider = widened(fit, wider) if wider else (fit, wider)
    spec = with_new_data(spec, data, wider)
    new = bool(data or dims)
    targets = _targets(spec, names)
    if names is None and not new:
        # the posterior has the named expressions of the same data
        targets = {name: x for name, x in targets.items() if x.kind == "rv"} or targets

    if data and spec.observed.streams and not {*spec.streamed} - {*spec.observed.streams}:
        # new data have rows of their own
        fit = replace(fit, observed=fit.observed.in_memory)
        spec = replace(spec, observed=spec.observed.in_memory)
    if spec.streamed:

        def compute_rows(number: int, model: ModelSpec, draws: xr.Dataset) -> dict[str, xr.Dataset]:
            own = seed_for(seed, f"predict chunk {number}") if number else seed
            groups = _predicted(
                model, model, targets, draws, own, wider, lengths, bool(data), backend
            )
            return {name: x for name, x in groups.items() if "draw" in x.sizes}

        return results_of_rows("predict", spec, post, compute_rows, store, chunks)

    def compute(number: int, draws: xr.Dataset) -> dict[str, xr.Dataset]:
        own = seed_for(seed, f"predict chunk {number}") if number else seed
        return _predicted(fit, spec, targets, draws, own, wider, lengths, bool(data), backend)

    sizes = [x.size for x in (*spec.observed.values(), *spec.defaults.values())]
    return results_of("predict", post, compute, max(sizes, default=1), store, chunks)


def _predicted(
    fit: ModelSpec,
    spec: ModelSpec,
    targets: Mapping[str, Node],
    draws: xr.Dataset,
    seed: int | None,
    wider: Mapping[Dim, Dim],
    lengths: Mapping[Dim, Any],
    has_data: bool,
    backend: str | None,
) -> dict[str, xr.Dataset]:
    """Return groups of predictions for some draws.

    Parameters
    ----------
    fit : ModelSpec
        The model of the draws.
    spec : ModelSpec
        The same with the data and wider dims of the predictions.
    targets : dict of str to Node
    draws : Dataset
    seed : int or None
    wider : dict of Dim to Dim
    lengths : dict of Dim to int or labels
    has_data : bool
        Whether data differ from those of the fit.
    backend : str or None
    """
    new = bool(has_data or wider or lengths)
    # variables that depend on no given one are drawn as often
    lengths = {**lengths, CHAIN: draws.sizes["chain"], DRAW: draws.sizes["draw"]}
    _check_lengths(lengths, targets)
    _check_draws(spec, targets, draws, wider)

    def has_other_elements(dim: Dim) -> bool:
        return has_data and dim.length is None and dim not in wider

    draws = with_recovered(fit, draws, targets, has_other_elements, seed)
    # observations that forecasts along a wider dim continue
    prefixes = {name: x for name, x in fit.observed.items() if name not in spec.observed
                and not set(wider).isdisjoint(fit.variables[name].distribution.event_dims)
                }  # fmt: skip
    draws = with_missing(fit, draws, targets, prefixes)
    found = draw_variables(spec, targets, draws, seed, lengths, wider, prefixes, backend)
    known = fit.observed.in_memory
    found = {n: with_attributes(x, known[n]) if n in known else x for n, x in found.items()}
    sizes = {dim: draws.sizes[dim] for dim in ("chain", "draw") if dim in draws.sizes}
    groups = known_groups(spec)
    if new:
        constant = groups.get("constant_data")
        groups = {"predictions_constant_data": constant} if constant is not None else {}
        drawn = {"predictions": (found, sizes)}
    else:
        # The same elements as in log_likelihood and observed_data: without missing ones.
        seen = {n: left(x, fit.observed[n]) if n in fit.observed else x for n, x in found.items()}
        whole = {n: x for n, x in found.items() if seen[n] is not x}
        drawn = {"posterior_predictive": (seen, sizes)}
        drawn |= {"predictions": (whole, sizes)} if whole else {}
    return as_groups(drawn, groups)


def _targets(spec: ModelSpec, names: Iterable[Any] | None) -> dict[str, Node]:
    if names is None:
        return {str(x.node.name): x.node for x in spec.outputs}
    known = spec.graph.nodes
    asked = [names] if isinstance(names, (str, TensorHandle)) else names
    return {name: known[name] for name in (name_of(x, known, "variable") for x in asked)}


def _check_draws(
    spec: ModelSpec, targets: Mapping[str, Node], draws: Any, wider: Mapping[Dim, Dim]
) -> None:
    """Check that draws have the lengths of the model's data.

    Raises
    ------
    DimError
        If a variable has another length.
    """
    above = [x for x in toposort(list(targets.values())) if x.kind == "rv"]
    found = values_from(draws, above)
    for node in (node for node in above if node in found):
        name, drawn = node.name, found[node]
        for dim in node.dims:
            own = drawn.sizes.get(dim._short)
            if own is None or dim.length is not None or dim in wider:
                continue
            for other, x in spec.data.items():
                if dim in spec.graph.inputs[other].dims and x.sizes[dim._short] != own:
                    raise DimError(
                        f"predict: {name!r} has {own} elements along {dim._short!r} in the "
                        f"draws, and {other!r} has {x.sizes[dim._short]}",
                        hint="leave it out of the draws, "
                        f"post['posterior'].drop_vars({name!r}): new elements are drawn",
                    )


def _check_lengths(lengths: Mapping[Dim, Any], targets: Mapping[str, Node]) -> None:
    """Check that no other length is asked for than a dim has.

    Raises
    ------
    DimError
        If one is.
    """
    for dim, value in lengths.items():
        length = LengthPort(dim).read(value).lengths[0]
        if dim.length is not None and dim.length != length:
            raise DimError(
                f"dims: {dim._short!r} has the length {dim.length}, not {length}",
                [("variables", listing([n for n, x in targets.items() if dim in x.dims]))],
                f"pass a wider dim: dims={{{dim._short}: dt.Dim({dim._short!r}, ...)}}",
            )
