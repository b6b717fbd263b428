"""Models whose memory is measured: inputs, lengths, and what is computed."""

from __future__ import annotations

import numpy as np

import dimtensor as dt
from dimtensor import dist

LARGE = 4_000_000


def normal():
    """A sum of squares, as one loop: no array is made."""
    obs = dt.Dim("obs")
    x, mu, sigma = dt.tensor("x", dims=obs), dt.scalar("mu"), dt.scalar("sigma")
    return -0.5 * (((x - mu) / sigma) ** 2).sum(), {"obs": LARGE}


def radon():
    """Groups with effects."""
    county, house = dt.Dim("county", length=85), dt.Dim("house")
    of = dt.tensor("of", dims=house, categories=county)
    floor, y = dt.tensor("floor", dims=house), dt.tensor("y", dims=house)
    a, b = dt.tensor("a", dims=county), dt.tensor("b", dims=county)
    mu = a.sel(county=of) + b.sel(county=of) * floor
    return -((y - mu) ** 2).sum(), {"house": LARGE}


def logistic():
    """A product of a matrix and a vector, and its transpose in the gradient."""
    obs, k = dt.Dim("obs"), dt.Dim("k")
    x, y, beta = dt.tensor("x", dims=[obs, k]), dt.tensor("y", dims=obs), dt.tensor("beta", dims=k)
    eta = dt.dot(x, beta, dim=k)
    return (y * eta - dt.softplus(eta)).sum(), {"obs": 1_000_000, "k": 8}


def gaussian_process():
    """A matrix of all pairs, and its Cholesky factor."""
    obs = dt.Dim("obs")
    x, y, scale = dt.tensor("x", dims=obs), dt.tensor("y", dims=obs), dt.scalar("scale")
    other = x.rename(obs="obs2")
    near = dt.exp(-(((x - other) / scale) ** 2)) + 0.5 * dt.eye(obs, other.dims[0])
    factor = dt.linalg.cholesky(near, dims=[obs, other.dims[0]])
    half = dt.linalg.solve_triangular(factor, y, dims=[obs, other.dims[0]])
    return -0.5 * (half**2).sum() - dt.log(dt.diagonal(factor, dims=[obs, other.dims[0]])).sum(), {
        "obs": 2200
    }


def autoregression():
    """A loop that keeps its states for the gradient."""
    time, series = dt.Dim("time"), dt.Dim("series")
    shocks = dt.tensor("shocks", dims=[time, series])
    start, rate = dt.tensor("start", dims=series), dt.tensor("rate", dims=series)

    def step(state, shock):
        state = dt.tanh(rate * state + shock)
        return state, state

    _, states = dt.scan(step, start, shocks, dim=time)
    return (states**2).sum(), {"time": 1000, "series": 4000}


def media_mix():
    """Sums over a dim of products that are in no array."""
    draw, week, channel = dt.Dim("draw"), dt.Dim("week"), dt.Dim("channel")
    spend, sales = dt.tensor("spend", dims=[week, channel]), dt.tensor("sales", dims=week)
    half, beta = dt.tensor("half", dims=[draw, channel]), dt.tensor("beta", dims=[draw, channel])
    effect = (spend / (spend + half) * beta).sum(channel)
    return ((sales - effect) ** 2).sum(), {"draw": 4000, "week": 3000, "channel": 6}


def stored():
    """An elementwise result that two other loops read."""
    row, column = dt.Dim("row"), dt.Dim("column")
    x = dt.tensor("x", dims=[row, column])
    e = dt.exp(x)
    return ((e / e.sum(column)) ** 2).sum(), {"row": 3000, "column": 1500}


def posterior(houses):
    """A model with data: the density of a vector of all parameters."""
    county, house = dt.Dim("county", length=85), dt.Dim("house")
    of = dt.data(np.arange(houses) % 85, dims=house, categories=county, name="of")
    floor = dt.data(np.arange(houses) % 2.0, dims=house, name="floor")
    effect = dt.rv("effect", dist.Normal(0.0, 1.0), dims=county)
    slope, sigma = dt.rv("slope", dist.Normal(0, 1)), dt.rv("sigma", dist.HalfNormal(1))
    radon = dt.rv("radon", dist.StudentT(4.0, effect.sel(county=of) + slope * floor, sigma))
    return dt.Model(radon).observe({radon: np.linspace(-1.0, 2.0, houses)}).log_density()


MODELS = (normal, radon, logistic, gaussian_process, autoregression, media_mix, stored)
