"""Densities along random ragged dims are those of a loop over the parents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import dimtensor as dt
from dimtensor import dist
from tests.effort import a_tenth

sky = dt.Dim("sky", coords=["dry", "wet"])
k = dt.Dim("k", length=2)
lag = dt.Dim("lag", length=1)
START = np.array([0.3, 0.7])


@dataclass(frozen=True)
class Layout:
    """A ragged dim with its parents, the owner of each position, and inputs that come late."""

    trial: dt.Dim
    parent: dt.Dim
    owners: np.ndarray
    feed: dict
    n_parents: int


@st.composite
def layouts(draw) -> Layout:
    """Sorted or in any order, with empty parents, late lengths, and parents that are ragged."""
    lengths = draw(st.lists(st.integers(0, 4), min_size=1, max_size=5))
    owners, n = np.repeat(np.arange(len(lengths)), lengths), len(lengths)
    kind = draw(st.sampled_from(["sorted", "any order", "late lengths", "late owners", "nested"]))
    subject = dt.Dim("subject", coords=[f"s{at}" for at in range(n)])
    if kind in ("any order", "late owners"):
        owners = np.array(draw(st.permutations(owners.tolist())), int)
    if kind == "nested":
        above = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
        school = dt.Dim("school", coords=["x", "y", "z"])
        subject = dt.ragged("subject", within=school, by=[school.coords[at] for at in above])
        return Layout(dt.ragged("trial", within=subject, lengths=lengths), subject, owners, {}, n)
    if kind == "late lengths":
        sizes = dt.tensor("sizes", dims=subject, dtype="int64")
        trial = dt.ragged("trial", within=subject, lengths=sizes)
        return Layout(trial, subject, owners, {sizes: np.array(lengths)}, n)
    labels = np.array(subject.coords)[owners]
    if kind == "late owners":
        trial = dt.ragged("trial", within=subject)
        return Layout(trial, subject, owners, {trial.owner: labels}, n)
    return Layout(dt.ragged("trial", within=subject, by=labels), subject, owners, {}, n)


def each_parent(layout: Layout, density) -> np.ndarray:
    """Sum ``density(place, place before or None, parent)`` over the positions of each parent."""
    found = np.zeros((layout.n_parents, 2))
    for at in range(layout.n_parents):
        before = None
        for place in np.flatnonzero(layout.owners == at):
            found[at] += density(place, before, at)
            before = place
    return found


def found(layout: Layout, logp, feed) -> np.ndarray:
    used = dt.inputs_of(logp)
    inputs = {x: value for x, value in {**layout.feed, **feed}.items() if x in used}
    result = logp.eval(inputs, backend="python")
    return result.transpose(*[dim.name for dim in (layout.parent, k)]).values


@given(layouts(), st.sampled_from(["walk", "ar", "series", "normal"]), st.integers(0, 9))
@a_tenth
def test_densities_of_numbers(layout, name, seed):
    rng = np.random.default_rng(seed)
    rates, y = rng.normal(size=layout.n_parents), rng.normal(size=(len(layout.owners), 2))
    rate = dt.tensor("rate", dims=layout.parent)
    x = dt.tensor("x", dims=[layout.trial, k])

    def step(before):
        return dist.Normal(rate * before, 1.5), lambda value: value

    start = dist.Normal(rate, 2.0)
    logp = {
        "walk": lambda: dist.GaussianRandomWalk(rate, 1.5, dim=layout.trial, start=start).logp(x),
        "ar": lambda: dist.AR(rate.expand(lag), 1.5, dim=layout.trial, lag=lag, start=start).logp(
            x
        ),
        "series": lambda: dist.Series(step, dt.full(k, 0.4), dim=layout.trial).logp(x),
        "normal": lambda: dist.Normal(rate, 1.5).logp(x).sum(layout.trial),
    }[name]()

    def density(now, before, at):
        if name == "normal":
            return stats.norm(rates[at], 1.5).logpdf(y[now])
        if before is None and name != "series":
            return stats.norm(rates[at], 2.0).logpdf(y[now])
        last = 0.4 if before is None else y[before]
        mean = rates[at] + last if name == "walk" else rates[at] * last
        return stats.norm(mean, 1.5).logpdf(y[now])

    expected = each_parent(layout, density)
    result = found(layout, logp, {rate: rates, x: (("trial", "k"), y)})
    np.testing.assert_allclose(result, expected, rtol=1e-11, atol=1e-12)


@given(layouts(), st.integers(0, 9))
@a_tenth
def test_densities_of_chains(layout, seed):
    rng = np.random.default_rng(seed)
    moves = rng.dirichlet([1.0, 2.0], size=(layout.n_parents, 2))
    labels = rng.integers(0, 2, size=(len(layout.owners), 2))
    move = dt.tensor("move", dims=[layout.parent, sky, sky.rename()])
    z = dt.tensor("z", dims=[layout.trial, k], categories=sky)
    logp = dist.MarkovChain(dt.data(START, dims=sky), move, dim=layout.trial).logp(z)

    def density(now, before, at):
        if before is None:
            return np.log(START[labels[now]])
        return np.log(moves[at, labels[before], labels[now]])

    expected = each_parent(layout, density)
    feed = {
        move: (("subject", "sky", "sky'"), moves),
        z: (("trial", "k"), np.array(sky.coords)[labels]),
    }
    np.testing.assert_allclose(found(layout, logp, feed), expected, rtol=1e-11, atol=1e-12)
