"""How well chains mixed: R-hat and the effective sample size, for all elements at once.

Vehtari, Gelman, Simpson, Carpenter and Bürkner 2021, "Rank-Normalization, Folding, and
Localization: An Improved R-hat for Assessing Convergence of MCMC", Bayesian Analysis 16, 667-718;
sections and equations below are theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dimtensor.errors import build_message
from dimtensor.model.records import label_text

if TYPE_CHECKING:
    import xarray as xr

# Section 4: what they recommend before draws are used
R_HAT_LIMIT = 1.01
ESS_PER_CHAIN = 100
# with fewer draws of a chain than this the two numbers say little, and nothing is warned of
ENOUGH = 100
# halves of chains need a few draws to have a variance
_FEWEST = 8
# elements that are judged, and how many at once: a bound on time and on memory
_MOST, _AT_ONCE = 2_000, 64


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
        hint = "tune longer, draw more, or write the model in another parametrisation"
        if self.divergences:
            hint = "raise target_accept (0.8), or write the model in another parametrisation"
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
    worst: list[tuple[float, str] | None] = [None, None]
    if n_draws >= _FEWEST:
        for values, names in _elements(draws):
            sizes = np.minimum(effective_size(values), tail_effective_size(values))
            worst[0] = _worse(worst[0], r_hat(values), names, np.nanargmax)
            worst[1] = _worse(worst[1], sizes, names, np.nanargmin)
    return Verdict(n_chains, n_draws, seconds, int(diverging.sum()), worst[0], worst[1])


def _worse(
    before: tuple[float, str] | None,
    values: np.ndarray,
    names: _Names,
    extreme: Callable[[np.ndarray], np.intp],
) -> tuple[float, str] | None:
    if np.isnan(values).all():
        return before
    at = int(extreme(values))
    if before is not None:
        if int(extreme(np.array([before[0], values[at]]))) == 0:
            return before
    return float(values[at]), names(at)


def _elements(draws: xr.Dataset) -> Iterator[tuple[np.ndarray, _Names]]:
    """Arrays of shape (chain, draw, elements) of what varies, and the names of the elements."""
    total = sum(int(np.prod(array.shape[2:])) for array in draws.values())
    step = max(1, -(-total // _MOST))
    for name, array in draws.items():
        flat = array.values.reshape(*array.shape[:2], -1)[..., ::step]
        varying = np.flatnonzero((flat != flat[:1, :1]).any(axis=(0, 1)))
        for start in range(0, len(varying), _AT_ONCE):
            taken = varying[start : start + _AT_ONCE]

            yield flat[..., taken], _Names(str(name), array, taken * step)


class _Names(NamedTuple):
    """Names of elements of a variable, written when one is asked for."""

    variable: str
    array: xr.DataArray
    positions: np.ndarray

    def __call__(self, at: int) -> str:
        array = self.array
        if array.ndim == 2:
            return self.variable
        place = np.unravel_index(int(self.positions[at]), array.shape[2:])
        labels = [
            label_text(array.indexes[dim][position]) if dim in array.indexes else str(position)
            for dim, position in zip(array.dims[2:], place, strict=True)
        ]
        return f"{self.variable}[{','.join(labels)}]"


# -- the statistics, of arrays of shape (chain, draw, elements) ------------------------------------


def r_hat(x: np.ndarray) -> np.ndarray:
    """Rank-normalised split R-hat (4.2), the larger one of the bulk's and of the folded draws'."""
    halves = _split(x)
    folded = abs(halves - np.median(halves, axis=(0, 1)))
    return np.maximum(_plain_r_hat(_normal_ranks(halves)), _plain_r_hat(_normal_ranks(folded)))


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
    from scipy.stats import rankdata

    flat = x.reshape(-1, x.shape[-1])
    return ndtri((rankdata(flat, axis=0) - 3 / 8) / (len(flat) + 1 / 4)).reshape(x.shape)


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
    spectrum = rfft(x - x.mean(axis=1, keepdims=True), n=size, axis=1)
    return irfft(abs(spectrum) ** 2, n=size, axis=1)[:, :n] / n
