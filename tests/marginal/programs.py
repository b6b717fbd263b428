"""Random log densities of discrete unknowns, each with the same thing written in NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import dimtensor as dt

THETA = dt.scalar("theta")


@dataclass
class Program:
    """Terms as dims-tensors, and functions that sum a term for values of all unknowns."""

    unknowns: dict[str, dt.DimTensor] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    terms: dict[str, dt.DimTensor] = field(default_factory=dict)
    numpy: list[Callable[[dict[str, np.ndarray]], float]] = field(default_factory=list)

    def unknown(self, name: str, dims: list[dt.Dim], kind: dt.Dim) -> dt.DimTensor:
        """A new one; its axes in NumPy are those of `dims`."""
        x = dt.tensor(name, dims=dims, categories=kind)
        self.unknowns[name] = x
        self.shapes[name] = tuple(len(dim) for dim in dims)
        self.counts[name] = len(kind)
        return x

    def term(self, x: dt.DimTensor, function: Callable[[dict[str, np.ndarray]], float]) -> None:
        """Add theta times something."""
        self.terms[f"term{len(self.terms)}"] = THETA * x
        self.numpy.append(function)

    @property
    def states(self) -> int:
        """Number of all assignments."""
        total = 1
        for name, shape in self.shapes.items():
            total *= self.counts[name] ** int(np.prod(shape, dtype=int))
        return total

    def enumerate(self, theta: float) -> Enumerated:
        """Everything by a sum over all assignments."""
        ranges = [
            range(self.counts[name])
            for name, shape in self.shapes.items()
            for _ in range(int(np.prod(shape, dtype=int)))
        ]
        energies, assignments = [], []
        for values in itertools.product(*ranges):
            assignment, at = {}, 0
            for name, shape in self.shapes.items():
                size = int(np.prod(shape, dtype=int))
                assignment[name] = np.array(values[at : at + size], int).reshape(shape)
                at += size
            energies.append(sum(function(assignment) for function in self.numpy))
            assignments.append(assignment)
        return Enumerated(self, np.array(energies), assignments, theta)


class Enumerated:
    """Sums over assignments."""

    def __init__(self, program: Program, energies: np.ndarray, assignments: list, theta: float):
        self.program, self.energies, self.assignments = program, energies, assignments
        logs = theta * energies
        top = logs.max()
        self.logp = top + np.log(np.exp(logs - top).sum())
        self.weights = np.exp(logs - self.logp)
        self.slope = (self.weights * energies).sum()
        self.best = float(logs.max())

    def probabilities(self, name: str) -> np.ndarray:
        """Of states of each element, the states along the last axis."""
        count = self.program.counts[name]
        total = np.zeros((*self.program.shapes[name], count))
        for weight, assignment in zip(self.weights, self.assignments, strict=True):
            total += weight * np.eye(count)[assignment[name]]
        return total

    def energy(self, assignment: dict[str, np.ndarray]) -> float:
        """Of one assignment."""
        return float(sum(function(assignment) for function in self.program.numpy))


def kind_of(rng: np.random.Generator, name: str, size: int = 0) -> dt.Dim:
    return dt.Dim(name, length=size or int(rng.integers(2, 4)))


def table(rng: np.random.Generator, *dims: dt.Dim) -> tuple[np.ndarray, dt.DimTensor]:
    array = rng.normal(size=tuple(len(dim) for dim in dims))
    return array, dt.data(array, dims=list(dims))


# -- trees of dims: groups, observations in them, one for all -----------------------------------


def grouped(rng: np.random.Generator) -> Program:
    """Unknowns of groups, of observations in groups, and one that all share."""
    p = Program()
    g, o = dt.Dim("g", length=2), dt.Dim("o", length=int(rng.integers(2, 4)))
    of = rng.integers(0, 2, size=len(o))
    group = dt.data(of, dims=o, categories=g)
    a, b, c = kind_of(rng, "a"), kind_of(rng, "b"), kind_of(rng, "c", 2)
    zg, zo = p.unknown("zg", [g], a), p.unknown("zo", [o], b)
    w, x = table(rng, o, b)
    p.term(x.sel(b=zo), lambda v, w=w: w[np.arange(len(v["zo"])), v["zo"]].sum())
    w, x = table(rng, g, a)
    p.term(x.sel(a=zg), lambda v, w=w: w[np.arange(2), v["zg"]].sum())
    w, x = table(rng, o, a, b)
    if rng.random() < 0.7:
        p.term(
            x.sel(a=zg.sel(g=group), b=zo),
            lambda v, w=w: w[np.arange(len(of)), v["zg"][of], v["zo"]].sum(),
        )
    else:
        p.term(
            x.sel(a=zg.sel(g=group), b=0), lambda v, w=w: w[range(len(of)), v["zg"][of], 0].sum()
        )
    if rng.random() < 0.6:
        s = p.unknown("s", [], c)
        w, x = table(rng, c)
        p.term(x.sel(c=s), lambda v, w=w: w[v["s"]])
        w, x = table(rng, g, c, a)
        p.term(x.sel(c=s, a=zg), lambda v, w=w: w[np.arange(2), v["s"], v["zg"]].sum())
        if rng.random() < 0.5:
            w, x = table(rng, o, c, b)
            p.term(x.sel(c=s, b=zo), lambda v, w=w: w[range(len(of)), v["s"], v["zo"]].sum())
    if rng.random() < 0.5:  # a nonlinear function of two readings, masked
        w, x = table(rng, a)
        u, y = table(rng, b)
        mask = rng.random(len(o)) < 0.7
        both = dt.exp(0.3 * x.sel(a=zg).sel(g=group) * y.sel(b=zo))
        p.term(
            dt.where(dt.data(mask, dims=o), both, 0.0),
            lambda v, w=w, u=u: (mask * np.exp(0.3 * w[v["zg"]][of] * u[v["zo"]])).sum(),
        )
    return p


# -- chains ----------------------------------------------------------------------------------------


def chained(rng: np.random.Generator) -> Program:
    """A chain of order one to three, alone or with another one, with all sorts of readings."""
    p = Program()
    order = int(rng.integers(1, 4))
    n = int(rng.integers(max(3, order + 1), 7 if order > 1 else 6))
    t = dt.Dim("t", length=n)
    a = kind_of(rng, "a", 2)
    z = p.unknown("z", [t], a)
    late, early = z.isel(t=slice(1, None)), z.isel(t=slice(None, -1)).relabel("t", t_after(t, 1))
    a2, a3 = a.rename("a2"), a.rename("a3")
    if rng.random() < 0.5:
        w, x = table(rng, a, a2)
        p.term(
            x.sel(a=early, a2=late).sum() if rng.random() < 0.5 else x.sel(a=early, a2=late),
            lambda v, w=w: w[v["z"][:-1], v["z"][1:]].sum(),
        )
    else:
        w, x = table(rng, t, a, a2)
        p.term(
            x.isel(t=slice(1, None)).sel(a=early, a2=late),
            lambda v, w=w: w[np.arange(1, n), v["z"][:-1], v["z"][1:]].sum(),
        )
    if order >= 2:
        later = t_after(t, 2)
        oldest = z.isel(t=slice(None, -2)).relabel("t", later)
        middle = z.isel(t=slice(1, -1)).relabel(t_between(t), later)
        w, x = table(rng, a, a2, a3)
        p.term(
            x.sel(a=oldest, a2=middle, a3=z.isel(t=slice(2, None))),
            lambda v, w=w: w[v["z"][:-2], v["z"][1:-1], v["z"][2:]].sum(),
        )
    if order == 3:
        third(rng, p, t, a, z)
    readings(rng, p, t, a, z)
    if rng.random() < 0.5 and n < 5:
        coupled(rng, p, t, a, z)
    elif rng.random() < 0.4:
        c = kind_of(rng, "c", 2)
        s = p.unknown("s", [], c)
        w, x = table(rng, c, a)
        p.term(x.sel(c=s, a=z), lambda v, w=w: w[v["s"], v["z"]].sum())
    return p


def third(rng: np.random.Generator, p: Program, t: dt.Dim, a: dt.Dim, z: dt.DimTensor) -> None:
    """Moves that look three positions back, and differ from one position to the next."""
    n, later = len(t), t_after(t, 3)
    four = [a, *(a.rename(f"a{k}") for k in (2, 3, 4))]
    w, x = table(rng, t, *four)
    past = [
        z.isel(t=slice(k, k - 3)).relabel(dt.SelDim(t, positions=slice(k or None, k - 3)), later)
        for k in range(3)
    ]
    now = z.isel(t=slice(3, None))
    at = dict(zip(("a", "a2", "a3", "a4"), (*past, now), strict=True))
    p.term(
        x.isel(t=slice(3, None)).sel(at),
        lambda v, w=w: w[
            np.arange(3, n), v["z"][:-3], v["z"][1:-2], v["z"][2:-1], v["z"][3:]
        ].sum(),
    )


def t_after(t: dt.Dim, by: int) -> dt.Dim:
    return dt.SelDim(t, positions=slice(by, None))


def t_between(t: dt.Dim) -> dt.Dim:
    return dt.SelDim(t, positions=slice(1, -1))


def readings(rng: np.random.Generator, p: Program, t: dt.Dim, a: dt.Dim, z: dt.DimTensor) -> None:
    n = len(t)
    w, x = table(rng, t, a)
    p.term(x.sel(a=z), lambda v, w=w: w[np.arange(n), v["z"]].sum())
    if rng.random() < 0.5:
        w, x = table(rng, a)
        p.term(x.sel(a=z.isel(t=0)), lambda v, w=w: w[v["z"][0]])
    if rng.random() < 0.3:
        w, x = table(rng, a)
        p.term(x.sel(a=z.isel(t=-1)), lambda v, w=w: w[v["z"][-1]])
    if rng.random() < 0.4:
        o = dt.Dim("o", length=4)
        when = rng.integers(0, n, size=4)
        w, x = table(rng, o, a)
        at = z.isel({t: dt.data(when, dims=o)})
        p.term(x.sel(a=at), lambda v, w=w, when=when: w[range(4), v["z"][when]].sum())
    if rng.random() < 0.4:
        w, x = table(rng, a)
        past = x.sel(a=z).shift(t=1, fill_value=0.5)
        here = x.sel(a=z)
        p.term(
            dt.exp(0.2 * past * here),
            lambda v, w=w: np.exp(0.2 * np.concatenate([[0.5], w[v["z"]][:-1]]) * w[v["z"]]).sum(),
        )
    if rng.random() < 0.4:
        w, x = table(rng, a)
        future = x.sel(a=z).shift(t=-1, fill_value=-0.3)
        p.term(
            dt.sin(future + x.sel(a=z)),
            lambda v, w=w: np.sin(np.concatenate([w[v["z"]][1:], [-0.3]]) + w[v["z"]]).sum(),
        )
    if rng.random() < 0.3:
        w, x = table(rng, a)
        p.term(x.sel(a=z.isel(t=slice(1, -1))), lambda v, w=w: w[v["z"][1:-1]].sum())


def coupled(rng: np.random.Generator, p: Program, t: dt.Dim, a: dt.Dim, z: dt.DimTensor) -> None:
    n = len(t)
    b = kind_of(rng, "b", 2)
    y = p.unknown("y", [t], b)
    w, x = table(rng, t, a, b)
    p.term(x.sel(a=z, b=y), lambda v, w=w: w[np.arange(n), v["z"], v["y"]].sum())
    if rng.random() < 0.7:
        w, x = table(rng, b, b.rename("b2"))
        before = y.isel(t=slice(None, -1)).relabel("t", t_after(t, 1))
        p.term(
            x.sel(b=before, b2=y.isel(t=slice(1, None))),
            lambda v, w=w: w[v["y"][:-1], v["y"][1:]].sum(),
        )
    if rng.random() < 0.5:
        w, x = table(rng, a, b)
        before = y.isel(t=slice(None, -1)).relabel("t", t_after(t, 1))
        p.term(
            x.sel(b=before, a=z.isel(t=slice(1, None))),
            lambda v, w=w: w[v["z"][1:], v["y"][:-1]].sum(),
        )


def batched(rng: np.random.Generator) -> Program:
    """Chains beside each other, with a class for each, and lengths of their own."""
    p = Program()
    n, m = 3, 2
    t, i = dt.Dim("t", length=n), dt.Dim("i", length=m)
    a, c = kind_of(rng, "a", 2), kind_of(rng, "c", 2)
    z = p.unknown("z", [i, t], a)
    late, early = z.isel(t=slice(1, None)), z.isel(t=slice(None, -1)).relabel("t", t_after(t, 1))
    with_class = rng.random() < 0.6
    lengths = rng.integers(1, n + 1, size=m)
    inside = np.arange(n) < lengths[:, None]
    mask = dt.data(inside, dims=[i, t])
    w, x = table(rng, i, t, a)
    p.term(
        dt.where(mask, x.sel(a=z), 0.0),
        lambda v, w=w: (inside * w[np.arange(m)[:, None], np.arange(n), v["z"]]).sum(),
    )
    if with_class:
        k = p.unknown("k", [i], c)
        w, x = table(rng, c, a, a.rename("a2"))
        p.term(
            x.sel(c=k, a=early, a2=late),
            lambda v, w=w: w[v["k"][:, None], v["z"][:, :-1], v["z"][:, 1:]].sum(),
        )
        u, q = table(rng, i, c)
        p.term(q.sel(c=k), lambda v, u=u: u[np.arange(m), v["k"]].sum())
    else:
        w, x = table(rng, i, a, a.rename("a2"))
        moves = dt.where(mask.isel(t=slice(1, None)), x.sel(a=early, a2=late), 0.0).sum("t")
        weight = rng.normal(size=m)
        p.term(
            dt.data(weight, dims=i) * moves,
            lambda v, w=w: (
                weight[:, None]
                * inside[:, 1:]
                * w[np.arange(m)[:, None], v["z"][:, :-1], v["z"][:, 1:]]
            ).sum(),
        )
    return p


def tree(rng: np.random.Generator) -> Program:
    """Elements below each other, in an order that is not that of their depth."""
    p = Program()
    n = int(rng.integers(4, 8))
    order = rng.permutation(n)
    parent = np.full(n, -1)
    for k in range(1, n):
        if k < 2 or rng.random() < 0.85:  # else another root
            parent[order[k]] = order[rng.integers(0, k)]
    child = np.flatnonzero(parent >= 0)
    v, e = dt.Dim("v", length=n), dt.Dim("e", length=len(child))
    a = kind_of(rng, "a", 2)
    z = p.unknown("z", [v], a)
    of, above = dt.data(child, dims=e, categories=v), dt.data(parent[child], dims=e, categories=v)
    w, x = table(rng, e, a, a.rename("a2"))
    p.term(
        x.sel(a=z.sel(v=of), a2=z.sel(v=above)),
        lambda v, w=w: w[np.arange(len(child)), v["z"][child], v["z"][parent[child]]].sum(),
    )
    w, x = table(rng, v, a)
    p.term(x.sel(a=z), lambda v, w=w: w[np.arange(n), v["z"]].sum())
    return p


def trees(rng: np.random.Generator) -> Program:
    """Trees beside each other, of which each has a class, or all have one."""
    p = Program()
    n, m = 4, 2
    parent = np.array([2, 2, -1, int(rng.integers(0, 3))])
    child = np.flatnonzero(parent >= 0)
    v, e, i = dt.Dim("v", length=n), dt.Dim("e", length=len(child)), dt.Dim("i", length=m)
    a, c = kind_of(rng, "a", 2), kind_of(rng, "c", 2)
    z, shared = p.unknown("z", [i, v], a), rng.random() < 0.5
    k = p.unknown("k", [] if shared else [i], c)
    of, above = dt.data(child, dims=e, categories=v), dt.data(parent[child], dims=e, categories=v)
    w, x = table(rng, c, a, a.rename("a2"))
    p.term(
        x.sel(c=k, a=z.sel(v=of), a2=z.sel(v=above)),
        lambda v, w=w: w[v["k"][..., None], v["z"][:, child], v["z"][:, parent[child]]].sum(),
    )
    w, x = table(rng, v, c, a)
    p.term(x.sel(c=k, a=z), lambda v, w=w: w[np.arange(n), v["k"][..., None], v["z"]].sum())
    w, x = table(rng, i, c)
    p.term(x.sel(c=k), lambda v, w=w: w[np.arange(m), v["k"]].sum())
    return p


def long(rng: np.random.Generator) -> Program:
    """A chain of twelve elements with a mask, or four of three: as many paths as are enumerated."""
    p = Program()
    m, n = [(1, 12), (2, 6), (4, 3)][rng.integers(0, 3)]
    t, i = dt.Dim("t", length=n), dt.Dim("i", length=m)
    a = kind_of(rng, "a", 2)
    z = p.unknown("z", [i, t], a)
    late, early = z.isel(t=slice(1, None)), z.isel(t=slice(None, -1)).relabel("t", t_after(t, 1))
    w, x = table(rng, t, a, a.rename("a2"))
    p.term(
        x.isel(t=slice(1, None)).sel(a=early, a2=late),
        lambda v, w=w: w[np.arange(1, n), v["z"][:, :-1], v["z"][:, 1:]].sum(),
    )
    inside = rng.random((m, n)) < 0.7
    w, x = table(rng, i, t, a)
    p.term(
        dt.where(dt.data(inside, dims=[i, t]), x.sel(a=z), 0.0),
        lambda v, w=w: (inside * w[np.arange(m)[:, None], np.arange(n), v["z"]]).sum(),
    )
    return p


MAKERS = (grouped, chained, batched, tree, long)


def program(seed: int) -> Program:
    """A random program."""
    rng = np.random.default_rng(seed)
    while True:
        made = MAKERS[seed % len(MAKERS)](rng)
        if made.states <= 2**12:
            return made
