"""Distributions of labels, counts and shares along a dim."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim
from dimtensor.dist.conditions import Condition, in_support, is_known, of_density
from dimtensor.dist.distribution import DimsLike
from dimtensor.dist.joint.vectors import (
    VectorDistribution,
    as_labels,
    as_positions,
    drawn_position,
    positions_support,
    the_dim_of,
)
from dimtensor.dist.supports import Integers
from dimtensor.dist.supports.along import simplex
from dimtensor.errors import DimError, OptionError
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.elementwise import (
    equal,
    exp,
    floor,
    gammaln,
    log,
    log1p,
    where,
    xlogy,
)

if TYPE_CHECKING:
    from dimtensor.random.generator import Generator
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class Categorical(VectorDistribution, state=("dim",)):
    """One label of a dim.

    The probability of the label i is p of i, or softmax(logits) of i.

    Parameters
    ----------
    p : DimTensor, optional
        Probabilities along the dim, with sum 1.
    logits : DimTensor, optional
        Or their logarithms, up to a constant.
    dim : Dim or str
        The dim.

    Raises
    ------
    OptionError
        If neither or both are given, or known probabilities do not add up to 1.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> k = dt.Dim("k", coords=["red", "blue"])
    >>> d = dist.Categorical(dt.data([0.25, 0.75], dims=k), dim=k)
    >>> float(d.logp("blue").eval().round(4))
    -0.2877
    """

    def __init__(
        self, p: TensorLike | None = None, *, logits: TensorLike | None = None, dim: Dim | str
    ):
        if (p is None) == (logits is None):
            raise OptionError("Categorical takes probabilities p, or logits")
        self.dim = the_dim_of(logits if p is None else p, dim, "Categorical")
        given = {"p": (p, "probability"), "logits": (logits, "real")}
        support = positions_support(self.dim)
        shares = {"p": (self.dim, None)}
        super().__init__("Categorical", given, (), support, (self.dim,), shares=shares)

    @property
    def categories(self) -> Dim:
        return self.dim

    @property
    def _log_p(self) -> DimTensor:
        values = self._values
        return log(values["p"]) if "p" in values else values["logits"].log_softmax(self.dim)

    def logp(self, x: TensorLike) -> DimTensor:
        return self._log_p.isel({self.dim: as_positions(x, self.dim, self.name)})

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        u, rng = rng.uniform(0.0, 1.0, dims=self._draw_dims(dims))
        return as_labels(drawn_position(exp(self._log_p), self.dim, u), self.dim), rng


class Dirichlet(VectorDistribution, state=("dim",)):
    """Shares along a dim, with sum 1.

    The density is Γ(Σ a) Π x^(a - 1) / Π Γ(a).

    Parameters
    ----------
    a : DimTensor
        Positive, along the dim.
    dim : Dim or str

    Raises
    ------
    DimError
        If the parameter lacks the dim.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> k = dt.Dim("k", length=3)
    >>> dist.Dirichlet(dt.data([1.0, 2.0, 1.0], dims=k), dim=k).mean().eval().values.tolist()
    [0.25, 0.5, 0.25]
    """

    def __init__(self, a: TensorLike, dim: Dim | str):
        self.dim = the_dim_of(a, dim, "Dirichlet")
        super().__init__("Dirichlet", {"a": (a, "positive")}, (self.dim,), simplex(self.dim))

    def logp(self, x: TensorLike) -> DimTensor:
        x, p = self._with(x)
        a, inside = p["a"], self._support.contains(x)
        terms = xlogy(a - 1.0, where(inside, x, 0.5)) - gammaln(a)
        value = gammaln(a.sum(self.dim)) + terms.sum(self.dim)
        return where(inside, value, -math.inf)

    def _conditions(self, x: DimTensor) -> list[Condition]:
        found = super()._conditions(x)
        a = self._parameters["a"]
        return found if is_known(a) else [*found, *of_density(log(x))]

    def mean(self) -> DimTensor:
        a = self._values["a"]
        return a / a.sum(self.dim)

    def variance(self) -> DimTensor:
        total = self._values["a"].sum(self.dim)
        return self.mean() * (1.0 - self.mean()) / (total + 1.0)

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        whole = self._draw_dims(dims)
        # a gamma number of shape a is one of shape a + 1 times a power, which does not underflow
        larger, rng = rng.gamma(self._values["a"] + 1.0, 1.0, dims=whole)
        u, rng = rng.uniform(0.0, 1.0, dims=whole)
        return (log(larger) + log1p(-u) / self._values["a"]).softmax(self.dim), rng


class _CountVector(VectorDistribution, state=("dim",)):
    """Counts along a dim, whose sum is known."""

    dim: Dim

    def _ways(self, x: DimTensor, n: DimTensor) -> tuple[DimTensor, DimTensor]:
        """Return whether counts are possible, and counts with 0 in the place of impossible ones."""
        fits = (x >= 0.0).all(self.dim) & equal(x, floor(x)).all(self.dim)
        fits = fits & equal(x.sum(self.dim), n)
        return fits, where(fits, x, 0.0)

    def _conditions(self, x: DimTensor) -> list[Condition]:
        n = self._parameters["n"]
        if not is_known(n):
            return super()._conditions(x)
        fits = Condition(equal(x.sum(self.dim), n), f"do not add up to n along {self.dim._short}")
        return [*in_support(self._support, x), fits]


class Multinomial(_CountVector):
    """Counts of each outcome along a dim in n trials.

    The probability is n! Π p^x / x!.

    Parameters
    ----------
    n : DimTensor or int
    p : DimTensor
        Probabilities along the dim, with sum 1.
    dim : Dim or str

    Raises
    ------
    DimError
        If the probabilities lack the dim.
    OptionError
        If known probabilities do not add up to 1.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> k = dt.Dim("k", length=2)
    >>> dist.Multinomial(4, dt.data([0.25, 0.75], dims=k), dim=k).mean().eval().values.tolist()
    [1.0, 3.0]
    """

    def __init__(self, n: TensorLike, p: TensorLike, dim: Dim | str):
        self.dim = the_dim_of(p, dim, "Multinomial")
        given = {"n": (n, "count"), "p": (p, "probability")}
        shares = {"p": (self.dim, None)}
        super().__init__(
            "Multinomial", given, (self.dim,), Integers(0), shared={"n": ()}, shares=shares
        )

    def logp(self, x: TensorLike) -> DimTensor:
        x, p = self._with(x)
        fits, x = self._ways(x, p["n"])
        value = gammaln(p["n"] + 1.0) + (xlogy(x, p["p"]) - gammaln(x + 1.0)).sum(self.dim)
        return where(fits, value, -math.inf)

    def mean(self) -> DimTensor:
        return self._values["n"] * self._values["p"]

    def variance(self) -> DimTensor:
        return self.mean() * (1.0 - self._values["p"])

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        n, p = self._parameters["n"], self._values["p"]
        p = p / p.sum(self.dim)  # generators round less than a check allows
        apart = [dim for dim in self._draw_dims(dims) if dim is not self.dim]
        return rng.multinomial(n, p, dim=self.dim, dims=apart)


class DirichletMultinomial(_CountVector):
    """Multinomial counts whose probabilities are shares of a Dirichlet distribution.

    The probability is n! Γ(Σ a) / Γ(n + Σ a) Π Γ(x + a) / (x! Γ(a)).

    Parameters
    ----------
    n : DimTensor or int
    a : DimTensor
        Positive, along the dim.
    dim : Dim or str

    Raises
    ------
    DimError
        If the parameter lacks the dim.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> k = dt.Dim("k", length=2)
    >>> d = dist.DirichletMultinomial(4, dt.data([1.0, 3.0], dims=k), dim=k)
    >>> d.mean().eval().values.tolist()
    [1.0, 3.0]
    """

    def __init__(self, n: TensorLike, a: TensorLike, dim: Dim | str):
        self.dim = the_dim_of(a, dim, "DirichletMultinomial")
        given = {"n": (n, "count"), "a": (a, "positive")}
        super().__init__("DirichletMultinomial", given, (self.dim,), Integers(0), shared={"n": ()})

    def logp(self, x: TensorLike) -> DimTensor:
        x, p = self._with(x)
        fits, x = self._ways(x, p["n"])
        n, a = p["n"], p["a"]
        total = a.sum(self.dim)
        each = gammaln(x + a) - gammaln(a) - gammaln(x + 1.0)
        value = gammaln(n + 1.0) + gammaln(total) - gammaln(n + total) + each.sum(self.dim)
        return where(fits, value, -math.inf)

    def mean(self) -> DimTensor:
        a = self._values["a"]
        return self._values["n"] * a / a.sum(self.dim)

    def variance(self) -> DimTensor:
        n, a = self._values["n"], self._values["a"]
        total = a.sum(self.dim)
        return n * a / total * (1.0 - a / total) * (n + total) / (1.0 + total)

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        whole = self._draw_dims(dims)
        shares, rng = Dirichlet(self._parameters["a"], self.dim).draw(rng, whole)
        apart = [dim for dim in whole if dim is not self.dim]
        return rng.multinomial(self._parameters["n"], shares, dim=self.dim, dims=apart)


class StickBreaking(VectorDistribution, state=("dim",)):
    """Shares along a dim that are broken off a stick one after the other, with sum 1.

    All but the last one are shares of what is left, of Beta(1, alpha) variables. The density of K
    shares is alpha^(K - 1) x_K^(alpha - 1) / Π r, where r is what is left before each of the
    K - 1 breaks (J. Sethuraman, Statistica Sinica 4, 639-650, 1994).

    Parameters
    ----------
    alpha : DimTensor or number
        Positive: the larger it is, the more even are the shares.
    dim : Dim

    Raises
    ------
    DimError
        If `dim` is no dim.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> k = dt.Dim("k", length=3)
    >>> d = dist.StickBreaking(1.0, dim=k)
    >>> float(d.logp(dt.data([0.5, 0.25, 0.25], dims=k)).eval().round(4))
    0.6931
    """

    def __init__(self, alpha: TensorLike, dim: Dim):
        if not isinstance(dim, Dim):
            raise DimError(f"StickBreaking: dim is the Dim of the shares, not {dim!r}")
        self.dim = dim
        given = {"alpha": (alpha, "positive")}
        super().__init__("StickBreaking", given, (dim,), simplex(dim))

    def logp(self, x: TensorLike) -> DimTensor:
        x, p = self._with(x)
        inside = self._support.contains(x)
        x = where(inside, x, 0.5)
        last = equal(arange(self.dim), arange(self.dim).max())
        left = x.sum(self.dim) - x.cumsum(self.dim) + x  # with the share itself
        breaks = where(last, 0.0, log(p["alpha"]) - log(where(last, 1.0, left)))
        ends = where(last, (p["alpha"] - 1.0) * log(where(last, x, 1.0)), 0.0)
        return where(inside, (breaks + ends).sum(self.dim), -math.inf)

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        u, rng = rng.uniform(0.0, 1.0, dims=self._draw_dims(dims))
        last = equal(arange(self.dim), arange(self.dim).max())
        # what a break leaves, the last one nothing
        rest = log1p(-u) / self._values["alpha"]
        before = rest.cumsum(self.dim) - rest
        return exp(before) * where(last, 1.0, 1.0 - exp(rest)), rng
