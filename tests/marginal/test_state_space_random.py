"""Random linear Gaussian state space models, beside a multivariate normal of all observations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import dimtensor as dt
from dimtensor import dist


class RandomModel:
    """Matrices of a model, with or without what is optional.

    The states are `x[t] = F[t] x[t-1] + c[t] + e[t]`, the observations
    `y[t] = Z[t] x[t] + w[t] @ beta + D e[t] + r[t]`, some elements of which are missing.
    """

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.n, self.d, self.k = seed % 5, int(rng.integers(1, 4)), int(rng.integers(1, 4))
        n, d, k = self.n, self.d, self.k
        self.moving, self.full, self.correlated = rng.random(3) < 0.5
        self.many = rng.random() < 0.3
        lead = (n,) if self.moving else ()
        self.F, self.c = 0.6 * rng.normal(size=(*lead, d, d)), rng.normal(size=(*lead, d))
        self.Z, self.D = rng.normal(size=(k, d)), self.correlated * rng.normal(size=(k, d))
        self.Q, self.R = self.covariance(rng, lead, d), self.covariance(rng, lead, k)
        self.m, self.P = rng.normal(size=d), self.covariance(rng, (), d)
        self.w = rng.normal(size=(n, 2))
        self.y = 2 * rng.normal(size=((2, n, k) if self.many else (n, k)))
        missing = rng.random(self.y.shape) < 0.3
        self.y[missing.any(-1) if self.full else missing] = np.nan

    def covariance(self, rng, lead, size):
        root = rng.normal(size=(*lead, size, size))
        found = root @ root.swapaxes(-1, -2) + 0.2 * np.eye(size)
        return found if self.full else found * np.eye(size)

    def roots(self, covariance):
        """Standard deviations of independent elements."""
        return np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))

    def at(self, values, t):
        return values[t] if self.moving else values

    def expected(self):
        """Log density of the observations: an affine map of the start, the noises and beta."""
        n, d, k = self.n, self.d, self.k
        if not n:
            return 0.0
        size = d + n * d + 2
        spread = np.zeros((size, size))
        spread[:d, :d], spread[-2:, -2:] = self.P, np.eye(2)
        by, offset, rows, means = np.eye(d, size), self.m, [], []
        noise = np.zeros((n * k, n * k))
        for t in range(n):
            own = slice(d + t * d, d + (t + 1) * d)
            spread[own, own] = self.at(self.Q, t)
            noise[t * k : (t + 1) * k, t * k : (t + 1) * k] = self.at(self.R, t)
            f = self.at(self.F, t)
            by, offset = f @ by, f @ offset + self.at(self.c, t)
            by[:, own] += np.eye(d)
            row = self.Z @ by
            row[:, own] += self.D
            row[:, -2:] += self.w[t]
            rows.append(row)
            means.append(self.Z @ offset)
        by, mean = np.reshape(rows, (n * k, size)), np.reshape(means, n * k)
        cov, total = by @ spread @ by.T + noise, 0.0
        for y in self.y.reshape(-1, n * k):
            there = ~np.isnan(y)
            if there.any():
                part = cov[np.ix_(there, there)]
                total += stats.multivariate_normal.logpdf(y[there], mean[there], part)
        return total

    def terms(self, late):
        """Terms of the log density, and what is integrated out."""
        time = dt.Dim("time", length=None if late else self.n)
        s, k, w = (dt.Dim(name, length=n) for name, n in (("s", self.d), ("k", self.k), ("w", 2)))
        to, copies = s.rename("to"), dt.Dim("copy", length=2)
        lead = [time] if self.moving else []
        more = [copies] if self.many else []

        def matrix(values, dim):
            return dt.data(values, dims=[*lead, dim, dim.rename()])

        def dense(mean, cov, dim):
            if self.full:
                return dist.MvNormal(mean, matrix(cov, dim))
            return dist.Normal(mean, dt.data(self.roots(cov), dims=[*lead, dim]))

        x0, beta = dt.tensor("x0", dims=[*more, s]), dt.tensor("beta", dims=[*more, w])
        e = dt.tensor("e", dims=[*more, time, s])
        f, c = dt.data(self.F, dims=[*lead, to, s]), dt.data(self.c, dims=[*lead, s])

        def step(before, here):
            noise, f, c = here if self.moving else (here, *fixed)
            return dt.dot(f, before, dim=s).relabel(to, s) + c + noise

        fixed = (f, c)
        x = dt.cumulate(step, x0, (e, f, c) if self.moving else e, dim=time)
        loads, regressors = dt.data(self.Z, dims=[k, s]), dt.data(self.w, dims=[time, w])
        mean = dt.dot(loads, x, dim=s) + dt.dot(regressors, beta, dim=w)
        if self.correlated:
            mean = mean + dt.dot(dt.data(self.D, dims=[k, s]), e, dim=s)
        there = ~np.isnan(self.y)
        seen = dense(mean, self.R, k).logp(dt.data(np.nan_to_num(self.y), dims=[*more, time, k]))
        if self.full:  # whole vectors are missing
            there = there.all(-1)
        seen = dt.where(dt.data(there, dims=[*more, time, *([] if self.full else [k])]), seen, 0.0)
        start = dist.MvNormal(dt.data(self.m, dims=s), dt.data(self.P, dims=[s, s.rename()]))
        terms = {
            "x0": start.logp(x0), "beta": dist.Normal(0.0, 1.0).logp(beta),
            "e": dense(0.0, self.Q, s).logp(e), "y": seen,
        }  # fmt: skip
        return terms, [e, x0, beta]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("seed", range(15))
def test_density_of_observations(seed, late):
    model = RandomModel(seed)
    terms, unknowns = model.terms(late)
    logp = dt.marginalize(terms, *unknowns)
    found = dt.function([], logp, backend="python")()
    assert float(found) == pytest.approx(model.expected(), rel=1e-10, abs=1e-10)
