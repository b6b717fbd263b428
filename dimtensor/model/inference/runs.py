"""What samplers give, under the names of the model and of ArviZ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.model.records import as_dataset, label_text, spread_over, without_multiindex

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.model.logdensity import LogDensity

LEADING = ("chain", "draw")
# what every sampler tells of every draw, under ArviZ's names
STATISTICS = (
    "lp", "tree_depth", "reached_max_treedepth", "acceptance_rate", "n_steps", "diverging",
    "energy", "step_size",
)  # fmt: skip


@dataclass(frozen=True)
class Draws:
    """Draws of a sampler: flat vectors, and what it tells of each.

    Attributes
    ----------
    vectors : ndarray
        Of the dims chain, draw and element.
    statistics : Dataset
        With the dims chain and draw first.
    """

    vectors: np.ndarray
    statistics: xr.Dataset


@dataclass(frozen=True)
class Run:
    """What a sampler gives.

    Attributes
    ----------
    draws : Draws
    warmup : Draws or None
        Those of tuning, where they are kept.
    seconds : float
        Without compiling, where that can be told apart.
    attributes : dict
        Of every group: the library, its version, the seed, and more that it says of itself.
    """

    draws: Draws
    warmup: Draws | None
    seconds: float
    attributes: dict[str, Any] = field(default_factory=dict)


def statistics_of(arrays: Mapping[str, Any]) -> xr.Dataset:
    """Statistics as a Dataset, in the one order and the same dtypes for all samplers."""
    import xarray as xr

    whole = ("tree_depth", "n_steps")
    found = {}
    for name in (*STATISTICS, *(name for name in arrays if name not in STATISTICS)):
        values = np.asarray(arrays[name])
        found[name] = (LEADING, values.astype("int64") if name in whole else values)
    return xr.Dataset(found)


def labelled(
    model: LogDensity, run: Run, unconstrained: bool, log_likelihood: Iterable[str]
) -> xr.DataTree:
    """The groups of a run."""
    import xarray as xr

    groups: dict[str, xr.Dataset] = {}
    wanted = list(log_likelihood)
    for prefix, draws in (("", run.draws), ("warmup_", run.warmup)):
        if draws is None:
            continue
        vectors = model.flat_vector(draws.vectors)
        groups[f"{prefix}posterior"] = _shown(model.constrain(vectors), vectors)
        groups[f"{prefix}sample_stats"] = draws.statistics
        if unconstrained:
            pieces = unconstrained_values(model, draws.vectors)
            groups[f"{prefix}unconstrained_posterior"] = _shown(pieces, vectors)
        if wanted and not prefix:
            groups["log_likelihood"] = _shown(model.log_terms(vectors, wanted), vectors)
    for name, dataset in groups.items():
        numbers = {dim: np.arange(dataset.sizes[dim]) for dim in LEADING}
        groups[name] = dataset.assign_coords(numbers)
        groups[name].attrs.update(run.attributes)
    return xr.DataTree.from_dict(groups)


def _shown(values: xr.Dataset, vectors: xr.DataArray) -> xr.Dataset:
    return spread_over(without_multiindex(values), {dim: vectors.sizes[dim] for dim in LEADING})


def unconstrained_values(model: LogDensity, vectors: np.ndarray) -> xr.Dataset:
    """The pieces of flat vectors that belong to each parameter, under its name.

    Free elements that belong to no label, those of a simplex, are numbered.
    """
    import xarray as xr

    binding = model.functions.binding
    arrays: dict[str, xr.DataArray] = {}
    start = 0
    for p in model.parameters:
        stop = start + p.size(binding)
        numbered = p.support.numbered(p.tensor.dims)
        names = [f"{dim.short}_free" if dim in numbered else dim.short for dim in p.free_dims]
        shape = [dim.bound_length(binding) or 0 for dim in p.free_dims]
        values = vectors[..., start:stop].reshape(*vectors.shape[:2], *shape)
        coords = {}
        for name, dim in zip(names, p.free_dims, strict=True):
            labels = None if dim in numbered else dim.bound_labels(binding)
            if labels is not None:
                composed = any(isinstance(label, tuple) for label in labels.values)
                coords[name] = list(map(label_text, labels.values)) if composed else labels.values
        arrays[p.name] = xr.DataArray(values, coords, (*LEADING, *names), p.name)
        start = stop
    return as_dataset(arrays, LEADING)
