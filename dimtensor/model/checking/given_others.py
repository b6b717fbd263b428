"""Conditional log predictive densities of observations that share marginalized variables."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim
from dimtensor.model.density import BoundGraph
from dimtensor.model.marginal.terms import summed_terms
from dimtensor.tensor.evaluate import evaluate
from dimtensor.tensor.graphs.substitution import substitute
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import data

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.model.spec import ModelSpec
    from dimtensor.tensor.core import DimTensor

# Number of elements of log densities that are computed at once.
_AT_ONCE = 5_000_000
_HELD = "held out"


def given_others(
    fit: ModelSpec,
    draws: xr.Dataset,
    names: list[str],
    along: str,
    known: np.ndarray,
    predicted: np.ndarray,
) -> dict[str, xr.DataArray]:
    """Compute the log predictive density of the observations at each position, given known ones.

    For each draw it is the joint density of the position and the known observations divided by that
    of the known ones; variables are marginalized in both.

    Parameters
    ----------
    fit : ModelSpec
    draws : Dataset
        Draws of the parameters given the known observations.
    names : list of str
        Observed variables with the dim.
    along : str
    known, predicted : ndarray of int
        Positions along the dim.

    Returns
    -------
    dict of str to DataArray
        With NaN at positions that are not predicted.
    """
    import xarray as xr
    from scipy.special import logsumexp

    length = fit.observed[names[0]].sizes[along]
    masks = np.zeros((1 + len(predicted), length), dtype=bool)
    masks[:, known] = True
    masks[np.arange(1, len(masks)), predicted] = True
    total = draws.sizes["chain"] * draws.sizes["draw"]
    each = total * sum(fit.observed[name].size for name in names)
    rows = max(1, _AT_ONCE // each)
    parts = [
        _densities(fit, draws, names, along, masks[at : at + rows])
        for at in range(0, len(masks), rows)
    ]
    found = {}
    for members in parts[0]:
        values = xr.concat([part[members] for part in parts], _HELD)
        values = values.isel({_HELD: slice(1, None)}) - values.isel({_HELD: 0})
        own = {dim for name in members for dim in fit.observed[name].dims} - {along}
        values = values.sum([d for d in values.dims if d not in {*own, _HELD, "chain", "draw"}])
        values = values.transpose("chain", "draw", _HELD, ...)
        mean = logsumexp(values.values, axis=(0, 1)) - math.log(total)
        rest = values.dims[3:]
        whole = np.full((length, *mean.shape[1:]), np.nan)
        whole[predicted] = mean
        observed = [fit.observed[name] for name in members]
        there = sum(
            x.notnull().sum([d for d in x.dims if d not in (along, *rest)]) for x in observed
        )
        result = xr.DataArray(whole, dims=(along, *rest))
        labels = {d: x.indexes[d] for x in observed for d in (along, *rest) if d in x.indexes}
        found[" and ".join(members)] = result.assign_coords(labels).where(there > 0)
    return found


def _densities(
    fit: ModelSpec, draws: xr.Dataset, names: list[str], along: str, masks: np.ndarray
) -> dict[tuple[str, ...], xr.DataArray]:
    """Compute joint log densities of the observations in each row of masks."""
    import xarray as xr

    included = {name: xr.DataArray(masks[0], dims=along) for name in names}
    placed = BoundGraph(replace(fit, included=included), noncentered=False)
    summed = summed_terms(placed)
    held = Dim(_HELD, length=len(masks))
    replaced: dict[DimTensor, DimTensor] = {}
    for name in names:
        node = placed.sources["kept", name]
        there = fit.observed[name].notnull()
        rows = xr.DataArray(masks, dims=(_HELD, along))
        both = (rows & there.drop_vars(list(there.coords))).transpose(_HELD, *there.dims)
        replaced[wrap(node)] = data(both.values, dims=[held, *(_dim(node, d) for d in there.dims)])
    terms = {
        label: summed.terms[label]
        for label, members in summed.together.items()
        if not set(names).isdisjoint(members)
    }
    found = evaluate(substitute(terms, replaced), draws)
    return {
        tuple(name for name in names if name in summed.together[label]): x
        if _HELD in x.dims
        else x.expand_dims({_HELD: len(masks)})
        for label, x in found.items()
    }


def _dim(node: Any, name: Any) -> Dim:
    return next(dim for dim in node.dims if dim._short == name)
