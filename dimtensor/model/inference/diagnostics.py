"""Diagnostics of chains: the worst R-hat and effective sample size of all elements.

Vehtari, Gelman, Simpson, Carpenter and Bürkner 2021, "Rank-Normalization, Folding, and
Localization: An Improved R-hat for Assessing Convergence of MCMC", Bayesian Analysis 16, 667-718;
sections and equations below are theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dimtensor.errors import build_message, printable
from dimtensor.extras import require
from dimtensor.values.datasets import label_text

if TYPE_CHECKING:
    import xarray as xr

# Section 4: recommended limits.
R_HAT_LIMIT = 1.01
ESS_PER_CHAIN = 100
# Draws of a chain below which the two statistics are too noisy for warnings.
ENOUGH = 100
# Draws of a chain below which halves have no variance.
_FEWEST = 8
# Number of elements that are all diagnosed; of more, those with the worst quick statistics.
_ALL, _LOOKED_AT = 200, 32
# Elements at once: a bound on memory.
_AT_ONCE, _COLUMNS = 64, 1_024
# Batches of a chain for the quick estimate of autocorrelation.
_BATCHES = 20

_AXES = {"chain_axis": 0, "draw_axis": 1}

# Variable, and position among its elements.
_Element = tuple[Hashable, int]


class Verdict(NamedTuple):
    """Diagnostics of a run: divergences, worst R-hat, worst effective sample size.

    Attributes
    ----------
    chains, draws : int
        Draws of each chain.
    seconds : float
    divergences : int
    r_hat, ess : tuple of float and str, or None
        The worst value, and the element that has it. The effective sample size is the smaller one
        of that of the bulk and that of the tails. None where there are too few draws.
    """

    chains: int
    draws: int
    seconds: float
    divergences: int
    r_hat: tuple[float, str] | None
    ess: tuple[float, str] | None

    @printable
    def __str__(self) -> str:
        diverged = _count(self.divergences, "divergence")
        parts = [f"{_count(self.chains, 'chain')} × {self.draws} draws in {self.seconds:.1f} s"]
        parts.append(diverged)
        if self.r_hat is not None:
            parts.append(f"worst r_hat {self.r_hat[0]:.3f} ({self.r_hat[1]})")
        if self.ess is not None:
            parts.append(f"worst ESS {self.ess[0]:.0f} ({self.ess[1]})")
        return "sampled: " + ", ".join(parts)

    @property
    def complaint(self) -> str | None:
        """Description of problems with the draws, None without any."""
        return self.complaint_with(())

    def complaint_with(self, advice: Sequence[str]) -> str | None:
        """Describe problems of the draws, with changes of the model that help."""
        details = []
        if self.divergences:
            total = self.chains * self.draws
            details.append(("divergences", f"{self.divergences} of {total} draws"))
        if self.draws >= ENOUGH:
            if self.r_hat is not None and not self.r_hat[0] <= R_HAT_LIMIT:
                value, name = self.r_hat
                details.append(("r_hat", f"{value:.3f} of {name}, above {R_HAT_LIMIT}"))
            needed = ESS_PER_CHAIN * self.chains
            if self.ess is not None and not self.ess[0] >= needed:
                value, name = self.ess
                details.append(("effective draws", f"{value:.0f} of {name}, below {needed}"))
        if not details:
            return None
        model = "; or ".join(advice) or "write the model in another parametrization"
        hint = f"tune longer, draw more, or {model}"
        if self.divergences:
            hint = f"raise target_accept (0.8 by default), or {model}"
        if advice:
            hint = model
        return build_message("the draws may not be those of the posterior", details, hint)


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"


def judge(draws: xr.Dataset, diverging: xr.DataArray, seconds: float) -> Verdict:
    """Judge the draws of all parameters.

    Parameters
    ----------
    draws : Dataset
        Variables with the dims chain and draw first.
    diverging : DataArray of bool
    seconds : float
    """
    n_chains, n_draws = draws.sizes["chain"], draws.sizes["draw"]
    worst: list[tuple[float, _Element] | None] = [None, None]
    if n_draws >= _FEWEST:
        for values, elements in _suspects(draws):
            worst[0] = _worse(worst[0], r_hat(values), elements, np.nanargmax)
            worst[1] = _worse(worst[1], effective_size(values), elements, np.nanargmin)
    named = ((x[0], _name_of(draws, x[1])) if x is not None else None for x in worst)
    return Verdict(n_chains, n_draws, seconds, int(diverging.sum()), *named)


def _worse(
    before: tuple[float, _Element] | None,
    values: np.ndarray,
    elements: Sequence[_Element],
    extreme: Callable[[np.ndarray], np.intp],
) -> tuple[float, _Element] | None:
    if np.isnan(values).all():
        return before
    at = int(extreme(values))
    if before is not None:
        if int(extreme(np.array([before[0], values[at]]))) == 0:
            return before
    return float(values[at]), elements[at]


def _suspects(draws: xr.Dataset) -> Iterator[tuple[np.ndarray, list[_Element]]]:
    """Yield arrays of shape (chain, draw, elements) with their elements.

    All elements that vary; of many the worst ones by statistics that need no sorting.
    """
    values = {name: draws.variables[name].values for name in draws.data_vars}
    flat = {name: x.reshape(*x.shape[:2], -1) for name, x in values.items()}
    varying = {name: np.flatnonzero((x != x[:1, :1]).any(axis=(0, 1))) for name, x in flat.items()}
    if sum(map(len, varying.values())) > _ALL:
        varying = _worst_looking(flat, varying)
    elements = [(name, int(at)) for name, positions in varying.items() for at in positions]
    for start in range(0, len(elements), _AT_ONCE):
        taken = elements[start : start + _AT_ONCE]
        yield np.stack([flat[name][..., at] for name, at in taken], axis=-1), taken


def _worst_looking(
    flat: Mapping[Hashable, np.ndarray], varying: Mapping[Hashable, np.ndarray]
) -> dict[Hashable, np.ndarray]:
    """Choose elements with the highest plain R-hat or the largest variance of batch means."""
    parts = [_rough(x) for x in _columns(flat, varying)]
    worst = np.unique(np.argsort(np.concatenate(parts, axis=1))[:, -_LOOKED_AT:])
    ends = np.cumsum([len(at) for at in varying.values()])
    bounds = np.searchsorted(worst, [0, *ends])
    chosen = {}
    for number, (name, at) in enumerate(varying.items()):
        found = worst[bounds[number] : bounds[number + 1]]
        chosen[name] = at[found - ends[number] + len(at)]
    return chosen


def _columns(
    flat: Mapping[Hashable, np.ndarray], varying: Mapping[Hashable, np.ndarray]
) -> Iterator[np.ndarray]:
    """Yield arrays (chain, draw, element) of all elements in order, of many small variables one."""
    pending: list[np.ndarray] = []
    count = 0
    for name, at in varying.items():
        for start in range(0, len(at), _COLUMNS):
            pending.append(flat[name][..., at[start : start + _COLUMNS]])
            count += pending[-1].shape[-1]
            if count >= _COLUMNS:
                yield np.concatenate(pending, axis=-1)
                pending, count = [], 0
    if pending:
        yield np.concatenate(pending, axis=-1)


def _rough(x: np.ndarray) -> np.ndarray:
    """Compute plain R-hat and the variance of batch means of elements; higher is worse."""
    length = max(x.shape[1] // _BATCHES, 1)
    halves = _split(x)
    folded = abs(halves - halves.mean(axis=(0, 1)))
    spread = np.maximum(_plain_r_hat(halves), _plain_r_hat(folded))
    whole = x[:, : length * (x.shape[1] // length)]
    means = whole.reshape(len(x), -1, length, whole.shape[-1]).mean(axis=2)
    slow = means.var(axis=(0, 1)) / halves.var(axis=(0, 1))
    return np.nan_to_num([spread, slow], nan=0.0)


def _name_of(draws: xr.Dataset, element: _Element) -> str:
    name, position = element
    array = draws[name]
    if array.ndim == 2:
        return str(name)
    place = np.unravel_index(position, array.shape[2:])
    labels = [
        label_text(array.indexes[dim][at]) if dim in array.indexes else str(at)
        for dim, at in zip(array.dims[2:], place, strict=True)
    ]
    return f"{name}[{','.join(labels)}]"


# -- the statistics, of arrays of shape (chain, draw, elements) ------------------------------------


def r_hat(x: np.ndarray) -> np.ndarray:
    """Rank-normalized split R-hat of ArviZ (4.2); one chain is taken for two, its halves."""
    return _arviz().rhat(x if len(x) > 1 else _split(x), **_AXES)


def effective_size(x: np.ndarray) -> np.ndarray:
    """Smaller one of ArviZ's effective sample sizes of the bulk and of the tails (4.3)."""
    arviz = _arviz()
    bulk = arviz.ess(x, method="bulk", **_AXES)
    return np.minimum(bulk, arviz.ess(x, method="tail", prob=(0.05, 0.95), **_AXES))


def _arviz() -> Any:
    """Statistics of arrays of ArviZ, which nutpie has imported already."""
    return require("arviz_stats.base", "sampling", "dt.sample").array_stats


def _split(x: np.ndarray) -> np.ndarray:
    """Cut each chain into halves, without the middle draw of an odd number."""
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, -half:]])


def _plain_r_hat(x: np.ndarray) -> np.ndarray:
    """√(var⁺ / W), with var⁺ = (N - 1)/N W + B/N (1-4)."""
    n = x.shape[1]
    within = x.var(axis=1, ddof=1).mean(axis=0)
    between = x.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt((n - 1) / n + between / within)
