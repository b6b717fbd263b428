"""Advice on a model that samples badly, derived from its draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.graph import Node, toposort
from dimtensor.model.density import log_density
from dimtensor.model.predictive.predictions import predict
from dimtensor.model.spec import center, marginalize, with_outputs
from dimtensor.model.variables import named
from dimtensor.tensor.elementwise import sqrt
from dimtensor.values.datasets import arrays_of

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.model.inference.diagnostics import Verdict
    from dimtensor.model.spec import ModelSpec

# Draws that the variance of a posterior is estimated from, and a limit of their elements.
_DRAWS, _MOST_NUMBERS = 400, 10_000_000
# Ratio of posterior to prior variance above which noncentered effects sample better.
_LITTLE = 0.5
# Correlation above which parameters are not identified.
_TOGETHER = 0.95
# R-hat above which chains are at different places, such as two modes.
_APART = 1.5
# Number of suggestions of a kind.
_MOST = 3
# Number of elements above which matrices of marginalization are too large.
_MOST_ELEMENTS = 500


def advice(spec: ModelSpec, posterior: xr.Dataset, verdict: Verdict) -> list[str]:
    """Suggest changes of a model, as code, each with the reason.

    Parameters
    ----------
    spec : ModelSpec
    posterior : Dataset
        Draws with the dims chain and draw.
    verdict : Verdict
        The worst diagnostics and their variables.
    """
    found: list[str] = []
    kinds: tuple[Callable[..., Iterator[str]], ...] = (
        _apart, _parametrizations, _aliases, _summed_out,
    )  # fmt: skip
    for kind in kinds:
        with suppress(Exception):  # advice that cannot be given hides no warning
            found += islice(kind(spec, posterior, verdict), _MOST)
    return found


def _parametrizations(spec: ModelSpec, posterior: xr.Dataset, _: Verdict) -> Iterator[str]:
    """Suggest centered effects if data dominate, noncentered ones if the prior does."""
    for name, share in _shares(spec, posterior).items():
        percent = f"{100 * share:.0f}%"
        if share > _LITTLE and name not in spec.noncentered:
            yield (
                f"fit.noncentered({name!r}), for the data say little about its elements: {percent} "
                "of the variance of their prior is left"
            )
        elif (
            share < _LITTLE
            and name in spec.noncentered
            and not spec.variables[name].distribution._is_singular
        ):
            yield (
                f"fit.centered({name!r}), for the data say much about its elements: {percent} of "
                "the variance of their prior is left"
            )


def _shares(spec: ModelSpec, posterior: xr.Dataset) -> dict[str, float]:
    """Compute ratios of posterior to prior variance, for variables with an inferred prior."""
    expressions: dict[str, Any] = {}
    free = {variable.node for variable in spec.free.values()}
    inferred: set[Node] = set()  # depends on a free variable
    for node in toposort(list(free)):
        if any(x in free or x in inferred for x in node.inputs):
            inferred.add(node)
    for name, variable in spec.free.items():
        d = variable.distribution
        if name not in posterior or _elements(posterior, name) * _DRAWS > _MOST_NUMBERS:
            continue
        if d.name == "Normal" and variable.node in inferred:
            expressions[name] = (variable.tensor - d.mean()) / sqrt(d.variance())
    if not expressions:
        return {}
    recorded = {name: f"{name} by its prior" for name in expressions}
    more = [named(recorded[name], x) for name, x in expressions.items()]
    other = with_outputs(spec, (*spec.outputs, *more))
    step = max(posterior.sizes["draw"] * posterior.sizes["chain"] // _DRAWS, 1)
    some = posterior.isel(draw=slice(None, None, step))
    drawn = predict(other, some, names=list(recorded.values()), seed=1)
    wanted = recorded.values()
    (group,) = (node for node in drawn.children.values() if {*wanted} & {*node})
    found = arrays_of(group.to_dataset(), wanted)
    return {name: float(found[x].values.var(axis=(0, 1)).mean()) for name, x in recorded.items()}


def _elements(posterior: xr.Dataset, name: str) -> int:
    return int(np.prod(posterior.variables[name].shape[2:]))


def _apart(spec: ModelSpec, posterior: xr.Dataset, verdict: Verdict) -> Iterator[str]:
    """Suggest another start where chains have stayed at different places."""
    if verdict.r_hat is not None and verdict.r_hat[0] > _APART:
        free = [name for name, x in spec.free.items() if not x.distribution.discrete]
        values = ", ".join(f"{name!r}: ..." for name in free[:_MOST])
        yield (
            "look at each chain, fit.plot.trace(post): they have stayed at different places. Start "
            f"them near the data, fit.sample(initial={{{values}}}), or rescale the data"
        )


def _aliases(spec: ModelSpec, posterior: xr.Dataset, _: Verdict) -> Iterator[str]:
    """Find parameters whose sum alone is identified."""
    wanted = [
        name for name, x in spec.free.items() if name in posterior and not x.distribution.discrete
    ]
    means = {}
    for name, x in arrays_of(posterior, wanted).items():
        series = x.values.reshape(*x.shape[:2], -1).mean(axis=2)
        series = (series - series.mean(axis=1, keepdims=True)).ravel()  # chains may be apart
        if series.std() > 0:
            means[name] = series / (series.std() * len(series) ** 0.5)
    names, scaled = [*means], np.array([*means.values()])
    for first in range(len(names)):
        correlations = scaled[first + 1 :] @ scaled[first]
        for at in np.flatnonzero(abs(correlations) > _TOGETHER):
            one, other = names[first], names[first + 1 + at]
            several = [name for name in (one, other) if posterior.variables[name].ndim > 2]
            way = f", or let {several[-1]!r} add up to 0, dist.ZeroSumNormal" if several else ""
            yield (
                f"leave {one!r} or {other!r} out{way}, for the data hardly tell them apart "
                f"(correlation {correlations[at]:.2f})"
            )


def _summed_out(spec: ModelSpec, posterior: xr.Dataset, verdict: Verdict) -> Iterator[str]:
    """Suggest to marginalize the worst variables."""
    worst = [x[1].partition("[")[0] for x in (verdict.r_hat, verdict.ess) if x is not None]
    for name in dict.fromkeys(worst):
        name = name if name in spec.free else name.removesuffix("_raw")
        if name not in spec.free or name not in posterior:
            continue
        if _elements(posterior, name) > _MOST_ELEMENTS:
            continue
        with suppress(Exception):
            log_density(marginalize(center(spec, [name]), [name], None, False))
            yield f"fit.marginalize({name!r}), which is integrated out of the density exactly"
