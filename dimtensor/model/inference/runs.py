"""Runs of samplers, and their DataTrees with the names of the model and of ArviZ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.model.records import as_dataset, spread_over, without_multiindex
from dimtensor.values.datasets import label_text

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.model.logdensity import LogDensity

LEADING = ("chain", "draw")
# attribute of an error that a sampler raises: a Run of the draws before it
PARTIAL = "partial_run"
# Statistics of every sampler, under ArviZ's names.
STATISTICS = (
    "lp", "tree_depth", "reached_max_treedepth", "acceptance_rate", "n_steps", "diverging",
    "energy", "step_size",
)  # fmt: skip


@dataclass(frozen=True)
class Draws:
    """Draws of a sampler: flat vectors and statistics.

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
    """Result of a sampler.

    Attributes
    ----------
    draws : Draws
    warmup : Draws or None
        Tuning draws, if they are kept.
    seconds : float
        Sampling time without compilation.
    attributes : dict
        Attributes of every group: the library, its version, the seed and settings.
    """

    draws: Draws
    warmup: Draws | None
    seconds: float
    attributes: dict[str, Any] = field(default_factory=dict)


def statistics_of(arrays: Mapping[str, Any]) -> xr.Dataset:
    """Make a Dataset of statistics, with order and dtypes the same for all samplers."""
    import xarray as xr

    whole = ("tree_depth", "n_steps")
    found = {}
    for name in (*STATISTICS, *(name for name in arrays if name not in STATISTICS)):
        values = np.asarray(arrays[name])
        found[name] = (LEADING, values.astype("int64") if name in whole else values)
    return xr.Dataset(found)


def labeled(
    model: LogDensity, run: Run, unconstrained: bool, log_likelihood: Iterable[str]
) -> xr.DataTree:
    """Label the draws of a run: make its groups.

    Raises
    ------
    Exception
        The first error, if a group cannot be made. Its attribute ``draws`` has the other groups.
    """
    parts = [("", run.draws)] + ([] if run.warmup is None else [("warmup_", run.warmup)])
    makers: dict[str, Callable[[], xr.Dataset]] = {}
    for prefix, draws in parts:
        vectors = model.flat_vector(draws.vectors)
        makers[f"{prefix}posterior"] = partial(_recorded, model, vectors)
        makers[f"{prefix}sample_stats"] = partial(getattr, draws, "statistics")
        if unconstrained:
            pieces = partial(unconstrained_values, model, draws.vectors)
            makers[f"{prefix}unconstrained_posterior"] = partial(_made, pieces, vectors)
    wanted = list(log_likelihood)
    if wanted:
        vectors = model.flat_vector(run.draws.vectors)
        terms = partial(model.log_terms, vectors, wanted)
        makers["log_likelihood"] = partial(_made, terms, vectors)
    groups: dict[str, xr.Dataset] = {}
    failed: list[BaseException] = []
    for name, make in makers.items():
        try:
            found = make()
        except BaseException as error:
            failed.append(error)
            if not name.endswith("posterior") or name.startswith("unconstrained"):
                continue
            found = _recoverable(model, model.flat_vector(dict(parts)[name[:-9]].vectors))
        numbers = {dim: np.arange(found.sizes[dim]) for dim in LEADING}
        groups[name] = found.assign_coords(numbers)
        groups[name].attrs.update(run.attributes)
    tree = tree_of(groups, failed)
    if failed:
        raise holding(failed[0], tree)
    return tree


def tree_of(groups: Mapping[str, xr.Dataset], failed: list[BaseException]) -> xr.DataTree:
    """Build a DataTree of the groups; groups that fail are left out."""
    import xarray as xr

    from dimtensor.model.inference.storage import Results

    try:
        return Results.from_dict(dict(groups))
    except ValueError:
        tree = Results()
    for name, dataset in groups.items():
        try:
            tree[name] = xr.DataTree(dataset)
        except ValueError as error:
            failed.append(error)
    return tree


def holding(error: BaseException, tree: xr.DataTree) -> BaseException:
    """Attach draws to an error, with which they would be lost."""
    if getattr(error, "draws", None) is None:
        error.draws = tree  # type: ignore[attr-defined]
        error.add_note(
            "The draws are not lost: they are the attribute `draws` of this error, "
            "`import sys; post = sys.last_value.draws`"
        )
    return error


@contextmanager
def keeping(tree: xr.DataTree) -> Iterator[None]:
    """Attach draws to any error that is raised in the context."""
    try:
        yield
    except BaseException as error:
        holding(error, tree)
        raise


def _recorded(model: LogDensity, vectors: xr.DataArray) -> xr.Dataset:
    return _shown(model.constrain(vectors), vectors)


def _made(make: Callable[[], xr.Dataset], vectors: xr.DataArray) -> xr.Dataset:
    return _shown(make(), vectors)


def _recoverable(model: LogDensity, vectors: xr.DataArray) -> xr.Dataset:
    """Compute parameters, and the deterministics that do not fail."""
    found = model._recording({}).constrain(vectors)
    for name, x in model.deterministics.items():
        with suppress(Exception):
            found = found.merge(model._recording({name: x}).constrain(vectors)[[name]])
    return _shown(found, vectors)


def _shown(values: xr.Dataset, vectors: xr.DataArray) -> xr.Dataset:
    return spread_over(without_multiindex(values), {dim: vectors.sizes[dim] for dim in LEADING})


def unconstrained_values(model: LogDensity, vectors: np.ndarray) -> xr.Dataset:
    """Split flat vectors into the parameters' pieces, by name.

    Free elements that belong to no label, those of a simplex, are numbered.
    """
    import xarray as xr

    binding = model.functions.binding
    arrays: dict[str, xr.DataArray] = {}
    start = 0
    for p in model.parameters:
        stop = start + p.size(binding)
        numbered = p.support.unlabeled_dims(p.tensor.dims)
        names = [f"{dim._short}_free" if dim in numbered else dim._short for dim in p.free_dims]
        shape = [dim._bound_length(binding) or 0 for dim in p.free_dims]
        values = vectors[..., start:stop].reshape(*vectors.shape[:2], *shape)
        coords = {}
        for name, dim in zip(names, p.free_dims, strict=True):
            labels = None if dim in numbered else dim._bound_labels(binding)
            if labels is not None:
                composed = any(isinstance(label, tuple) for label in labels.values)
                coords[name] = list(map(label_text, labels.values)) if composed else labels.values
        arrays[p.name] = xr.DataArray(values, coords, (*LEADING, *names), p.name)
        start = stop
    return as_dataset(arrays, LEADING)
