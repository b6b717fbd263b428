"""PyMC counterparts of distributions with scalar parameters: one table, for reading and writing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import dimtensor.dist as dist
from dimtensor.dist.distribution import Distribution
from dimtensor.tensor.handle import TensorHandle


class NoCounterpartError(Exception):
    """Random variable without a counterpart in `dimtensor.dist`."""


class Counterpart(NamedTuple):
    """PyMC counterpart of a distribution.

    Attributes
    ----------
    name : str
        Name of the distribution, here and in PyMC.
    ops : tuple of str
        Classes of PyMC's ops.
    parameters : str
        Our parameters in the order of the op's; empty if the orders agree. ``loc`` has to be 0.
    make : callable, optional
        The distribution from the op's parameters, if these are others than ours.
    renamed : tuple of (str, str)
        Parameters with another name in PyMC, and that name.
    integers : tuple of str
        Parameters that PyMC takes as integers.
    written : bool
        Whether `to_pymc` uses it.
    """

    name: str
    ops: tuple[str, ...]
    parameters: str = ""
    make: Callable[..., Distribution] | None = None
    renamed: tuple[tuple[str, str], ...] = ()
    integers: tuple[str, ...] = ()
    written: bool = True

    def distribution(self, *values: Any) -> Distribution:
        """Return the distribution for parameters of the op.

        Raises
        ------
        NoCounterpartError
            If the location is not 0.
        """
        make = self.make or getattr(dist, self.name)
        if not self.parameters:
            return make(*values)
        given = dict(zip(self.parameters.split(), values, strict=True))
        location = given.pop("loc", 0.0)
        if isinstance(location, TensorHandle) or float(location) != 0.0:
            raise NoCounterpartError
        return make(**given)


def _named(name: str, parameters: str = "", **options: Any) -> Counterpart:
    return Counterpart(name, (f"{name}RV",), parameters, **options)


_SAME_ORDER = (
    "Bernoulli", "DiscreteWeibull", "ExGaussian", "Flat", "Geometric", "Gumbel", "HalfCauchy",
    "HalfFlat", "HalfStudentT", "Kumaraswamy", "Laplace", "LogNormal", "Logistic", "Moyal",
    "Normal", "Pareto", "Poisson", "SkewStudentT", "StudentT", "TruncatedNormal", "Uniform",
    "VonMises",
)  # fmt: skip
COUNTERPARTS = {
    each.name: each
    for each in (
        *map(_named, _SAME_ORDER),
        _named("AsymmetricLaplace", "b kappa mu"),
        Counterpart("Beta", ("BetaRV", "BetaClippedRV")),
        _named("BetaBinomial", "n alpha beta", integers=("n",)),
        _named("Binomial", integers=("n",)),
        _named("Cauchy", renamed=(("mu", "alpha"), ("sigma", "beta"))),
        _named("DiracDelta", written=False),
        _named("DiscreteUniform", integers=("lower", "upper")),
        _named("Exponential", "scale"),
        _named("Gamma", "alpha scale"),
        _named("HalfNormal", "loc sigma"),
        _named(
            "HyperGeometric",
            make=lambda good, bad, n: dist.HyperGeometric(good + bad, good, n),
            integers=("N", "k", "n"),
        ),
        Counterpart("InverseGamma", ("InvGammaRV",)),
        Counterpart("NegativeBinomial", ("NegBinomialRV",), "n p"),
        _named("PolyaGamma", written=False),  # PyMC has no log density of it
        _named("Rice", "b sigma"),
        _named("SkewNormal", "mu sigma alpha"),
        _named("Triangular", "lower c upper"),
        _named("Wald", "mu lam alpha"),
        Counterpart("Weibull", ("WeibullBetaRV",)),
    )
}
OF_OPS = {op: each for each in COUNTERPARTS.values() for op in each.ops}
