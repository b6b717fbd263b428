"""How well chains mixed: R-hat and the effective sample size, for all elements at once.

Vehtari, Gelman, Simpson, Carpenter and Bürkner 2021, "Rank-Normalization, Folding, and
Localization: An Improved R-hat for Assessing Convergence of MCMC", Bayesian Analysis 16, 667-718;
sections and equations below are theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dimtensor.errors import build_message, printable
from dimtensor.values.datasets import label_text

if TYPE_CHECKING:
    import xarray as xr

# Section 4: what they recommend before draws are used
R_HAT_LIMIT = 1.01
ESS_PER_CHAIN = 100
# with fewer draws of a chain than this the two numbers say little, and nothing is warned of
ENOUGH = 100
# halves of chains need a few draws to have a variance
_FEWEST = 8
# so many elements are all judged, and of more those that look worst in one way or another
_ALL, _LOOKED_AT = 200, 32
# how many at once: a bound on memory
_AT_ONCE, _COLUMNS = 64, 1_024
# batches of a chain for a first look at how slowly it moves
_BATCHES = 20

# a variable, and a position in its elements
_Element = tuple[Hashable, int]


class Verdict(NamedTuple):
    """What a run of a sampler is judged by.

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
        """What is wrong with the draws; None where nothing is known to be."""
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
        model = "; or ".join(advice) or "write the model in another parametrisation"
        hint = f"tune longer, draw more, or {model}"
        if self.divergences:
            hint = f"raise target_accept (0.8), or {model}"
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
            halves = _split(values)
            ranks = _normal_ranks(halves)
            sizes = np.minimum(_plain_ess(ranks), tail_effective_size(values))
            worst[0] = _worse(worst[0], _r_hat(halves, ranks), elements, np.nanargmax)
            worst[1] = _worse(worst[1], sizes, elements, np.nanargmin)
    r_hat, ess = ((x[0], _name_of(draws, x[1])) if x is not None else None for x in worst)
    return Verdict(n_chains, n_draws, seconds, int(diverging.sum()), r_hat, ess)


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
    """Arrays of shape (chain, draw, elements), and which elements they are.

    All elements that vary; of many those which look worst by statistics that need no sorting.
    """
    flat = {name: x.values.reshape(*x.shape[:2], -1) for name, x in draws.items()}
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
    """Elements with the highest plain R-hat and the lowest effective size by batch means."""
    scores = {name: _rough(flat[name], at) for name, at in varying.items()}
    chosen: dict[Hashable, np.ndarray] = {}
    for kind in range(2):
        together = np.concatenate([score[kind] for score in scores.values()])
        limit = np.sort(together)[-min(_LOOKED_AT, len(together))]
        for name, at in varying.items():
            found = at[scores[name][kind] >= limit][:_LOOKED_AT]
            chosen[name] = np.union1d(chosen.get(name, found), found)
    return chosen


def _rough(x: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Plain R-hat and the variance of batch means, for some elements; higher is worse."""
    spread, slow = np.empty(len(at)), np.empty(len(at))
    length = max(x.shape[1] // _BATCHES, 1)
    for start in range(0, len(at), _COLUMNS):
        part = slice(start, start + _COLUMNS)
        halves = _split(x[..., at[part]])
        folded = abs(halves - halves.mean(axis=(0, 1)))
        spread[part] = np.maximum(_plain_r_hat(halves), _plain_r_hat(folded))
        whole = x[:, : length * (x.shape[1] // length), at[part]]
        means = whole.reshape(len(x), -1, length, whole.shape[-1]).mean(axis=2)
        slow[part] = means.var(axis=(0, 1)) / halves.var(axis=(0, 1))
    return np.nan_to_num(spread, nan=0.0), np.nan_to_num(slow, nan=0.0)


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
    """Rank-normalised split R-hat (4.2), the larger one of the bulk's and of the folded draws'."""
    halves = _split(x)
    return _r_hat(halves, _normal_ranks(halves))


def _r_hat(halves: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    folded = abs(halves - np.median(halves, axis=(0, 1)))
    return np.maximum(_plain_r_hat(ranks), _plain_r_hat(_normal_ranks(folded)))


def effective_size(x: np.ndarray) -> np.ndarray:
    """Effective sample size of the bulk: that of rank-normalised draws (4.3)."""
    return _plain_ess(_normal_ranks(_split(x)))


def tail_effective_size(x: np.ndarray) -> np.ndarray:
    """The smaller one of the effective sample sizes of the 5% and the 95% quantile (4.3)."""
    low, high = np.quantile(x, [0.05, 0.95], axis=(0, 1))
    return np.minimum(*(_plain_ess(_split((x <= bound).astype(float))) for bound in (low, high)))


def _split(x: np.ndarray) -> np.ndarray:
    """Each chain cut into halves; of an odd number of draws the one in the middle is left out."""
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, -half:]])


def _normal_ranks(x: np.ndarray) -> np.ndarray:
    """Quantiles of the normal distribution at the ranks among all draws (14)."""
    from scipy.special import ndtri

    flat = np.ascontiguousarray(x.reshape(-1, x.shape[-1]).T)
    count = flat.shape[1]
    ranks = ndtri((_ranks(flat) - 3 / 8) / (count + 1 / 4))
    return ranks.T.reshape(x.shape)


def _ranks(rows: np.ndarray) -> np.ndarray:
    """Ranks from 1 within each row, those of equal elements their average."""
    order = np.argsort(rows, axis=1)
    ordered = np.take_along_axis(rows, order, axis=1)
    places = np.broadcast_to(np.arange(rows.shape[1]), rows.shape)
    new = np.ones(rows.shape, dtype=bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.maximum.accumulate(np.where(new, places, 0), axis=1)
    ends = np.ones(rows.shape, dtype=bool)
    ends[:, :-1] = new[:, 1:]
    last = np.where(ends, places, rows.shape[1])
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty(rows.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=1)
    return ranks


def _plain_r_hat(x: np.ndarray) -> np.ndarray:
    """√(var⁺ / W), with var⁺ = (N - 1)/N W + B/N (1-4)."""
    n = x.shape[1]
    within = x.var(axis=1, ddof=1).mean(axis=0)
    between = x.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt((n - 1) / n + between / within)


def _plain_ess(x: np.ndarray) -> np.ndarray:
    """Draws divided by the autocorrelation time (10-13).

    Sums of autocorrelations at two lags are added up as long as they are positive, none larger than
    the one before (Geyer 1992, "Practical Markov Chain Monte Carlo", Statistical Science 7); the
    even one of the pair that ends them counts once where it is positive.
    """
    chains, n = x.shape[:2]
    covariance = _autocovariance(x).mean(axis=0)
    within = covariance[0] * n / (n - 1)
    total = within * (n - 1) / n + (x.mean(axis=1).var(axis=0, ddof=1) if chains > 1 else 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = 1 - (within - covariance) / total
    rho[0] = 1.0
    rho = rho[: 2 * (n // 2)]
    pairs = rho[0::2] + rho[1::2]
    kept = np.logical_and.accumulate(pairs > 0, axis=0)
    kept[0] = True
    decreasing = np.minimum.accumulate(np.where(kept, pairs, np.inf), axis=0)
    time = -1 + 2 * np.where(kept, decreasing, 0.0).sum(axis=0)
    stop = np.minimum(kept.sum(axis=0), len(pairs) - 1)
    last = np.take_along_axis(rho[0::2], stop[None], axis=0)[0]
    time = time + np.where(stop < len(pairs) - 1, np.maximum(last, 0.0), 0.0)
    draws = chains * n
    # an indicator that does not vary tells nothing of the chains
    return np.where(total > 0, draws / np.maximum(time, 1 / np.log10(draws)), draws)


def _autocovariance(x: np.ndarray) -> np.ndarray:
    """Autocovariance of each chain at all lags, by the Fourier transform."""
    from scipy.fft import irfft, next_fast_len, rfft

    n = x.shape[1]
    size = next_fast_len(2 * n, real=True)
    rows = np.ascontiguousarray((x - x.mean(axis=1, keepdims=True)).swapaxes(1, 2))
    spectrum = rfft(rows, n=size)
    power = spectrum.real**2 + spectrum.imag**2
    return irfft(power, n=size)[..., :n].swapaxes(1, 2) / n
