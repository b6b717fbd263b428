"""An N-mixture model: animals at sites are counted on four visits, with covariates of both.

`hand` sums over the numbers of animals by the ratio of each term to the one before: a table of data
times one number for the site. `hand-divided` computes the ratios on the way, from the largest
number down, as programs in Stan do (Meehan, Michel and Rue, Estimating animal abundance with
N-mixture models using the R-INLA package, Journal of Statistical Software 95(2), 2020).
"""

import math

import numpy as np

SIZES = (200, 5_000)
CONTENDERS = ("hand", "hand-divided", "marginal")
VISITS = 4
MOST = 100


def problem(n):
    rng = np.random.default_rng(4)
    forest, wind = rng.normal(size=n), rng.normal(size=(n, VISITS))
    there = np.minimum(rng.poisson(np.exp(3.0 + 0.3 * forest)), MOST)
    return {
        "forest": forest,
        "wind": wind,
        "seen": rng.binomial(there[:, None], 1 / (1 + np.exp(-0.5 * wind))),
        "abundance": np.array([2.9, 0.25]),
        "detection": np.array([0.1, 0.45]),
    }


def _dimtensor(p, by_hand, backend="numba"):
    import dimtensor as dt
    from dimtensor import dist

    site, visit = dt.Dim("site"), dt.Dim("visit", length=VISITS)
    which = dt.Dim("which", coords=["one", "slope"])
    forest, wind = dt.data(p["forest"], dims=site), dt.data(p["wind"], dims=[site, visit])
    seen = dt.data(p["seen"], dims=[site, visit])
    abundance, detection = dt.tensor("abundance", dims=which), dt.tensor("detection", dims=which)
    rate = dt.exp(abundance.sel(which="one") + abundance.sel(which="slope") * forest)
    eta = detection.sel(which="one") + detection.sel(which="slope") * wind
    if by_hand:
        count = dt.arange(dt.Dim("count", length=MOST + 1))
        terms = dist.Poisson(rate).logp(count)
        terms = terms + dist.Binomial(count, logit_p=eta).logp(seen).sum(visit)
        total = terms.logsumexp(count.dims).sum()
    else:
        n = dt.tensor("n", dims=site, dtype="int64")
        terms = {
            "n": dist.Poisson(rate).logp(n),
            "seen": dist.Binomial(n, logit_p=eta).logp(seen),
        }
        total = dt.marginalize(terms, n, states={n: range(MOST + 1)})
    inputs = [abundance, detection]
    f = dt.function(inputs, [total, *dt.grad(total, inputs)], backend=backend)
    return f.positional, (p["abundance"], p["detection"])


def marginal(p):
    return _dimtensor(p, False)


def _logs(p):
    """Logarithms of the data's part of each term."""
    log_factorial = np.array([math.lgamma(k + 1.0) for k in range(MOST + 1)])
    k, y = np.arange(MOST + 1), p["seen"][..., None]
    possible = k >= y
    choices = log_factorial[k] - log_factorial[y] - log_factorial[np.where(possible, k - y, 0)]
    return np.where(possible, choices, -np.inf).sum(1) - log_factorial


def _prepared(p, terms, *data):
    """Value and gradients, of sums and expected numbers of animals above the smallest one."""
    import numba

    @numba.njit(error_model="numpy")
    def density(abundance, detection, forest, wind, seen, least, at_least, *data):
        total = 0.0
        by_abundance, by_detection = np.zeros(2), np.zeros(2)
        for i in range(forest.size):
            log_rate = abundance[0] + abundance[1] * forest[i]
            rate = math.exp(log_rate)
            constant, slope = at_least[i] - rate + least[i] * log_rate, log_rate
            own, own_wind, step, step_wind = 0.0, 0.0, 0.0, 0.0
            for t in range(VISITS):
                eta = detection[0] + detection[1] * wind[i, t]
                shrunk = math.exp(-abs(eta))
                softplus = max(eta, 0.0) + math.log1p(shrunk)
                chance = (1.0 if eta > 0.0 else shrunk) / (1.0 + shrunk)
                constant += seen[i, t] * eta - least[i] * softplus
                slope -= softplus
                own += seen[i, t] - least[i] * chance
                own_wind += (seen[i, t] - least[i] * chance) * wind[i, t]
                step -= chance
                step_wind -= chance * wind[i, t]
            sum_, mean = terms(i, math.exp(slope), least[i], seen, *data)
            total += constant + math.log(sum_)
            of_rate = least[i] - rate + mean
            by_abundance[0] += of_rate
            by_abundance[1] += of_rate * forest[i]
            by_detection[0] += own + mean * step
            by_detection[1] += own_wind + mean * step_wind
        return total, by_abundance, by_detection

    least = p["seen"].max(1)
    at_least = _logs(p)[np.arange(least.size), least]
    known = (p["forest"], p["wind"], p["seen"], least, at_least, *data)

    return density, (p["abundance"], p["detection"], *known)


def hand(p):
    import numba

    @numba.njit(error_model="numpy")
    def terms(i, x, least, seen, ratio):
        term, total, expected = 1.0, 1.0, 0.0
        for k in range(least + 1, MOST + 1):
            term *= ratio[i, k] * x
            total += term
            expected += term * (k - least)
        return total, expected / total

    logs = _logs(p)
    logs[np.isinf(logs)] = 0.0
    ratio = np.exp(np.diff(logs, axis=1, prepend=0.0))
    return _prepared(p, terms, ratio)


def hand_divided(p):
    import numba

    @numba.njit(error_model="numpy")
    def terms(i, x, least, seen):
        total, expected = 1.0, 0.0
        for k in range(MOST, least, -1):
            ratio = x / k
            for t in range(VISITS):
                ratio *= k / (k - seen[i, t])
            expected = ratio * (expected + total)
            total = 1.0 + ratio * total
        return total, expected / total

    return _prepared(p, terms)
