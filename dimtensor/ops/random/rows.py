"""One row per primitive draw: its parameters, NumPy's names for it, and what it gives."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A distribution of independent numbers that a generator draws from.

    Attributes
    ----------
    name : str
        Of the method of ``numpy.random.Generator``.
    parameters : tuple of str
    dtype : {"float64", "int64"}
        Of the draws.
    function : str
        The function of NumPy's C interface, ``numpy/random/distributions.h``.
    integers : frozenset of str
        Parameters that are integers.
    along : frozenset of str
        Parameters that have the last axis of an event, for distributions of vectors.
    is_vector : bool
        Whether one draw is a vector.
    """

    name: str
    parameters: tuple[str, ...]
    dtype: str
    function: str
    integers: frozenset[str] = frozenset()
    along: frozenset[str] = frozenset()
    is_vector: bool = False


def _row(name: str, parameters: str, dtype: str = "float64", integers: str = "") -> Row:
    return Row(
        name, tuple(parameters.split()), dtype, f"random_{name}", frozenset(integers.split())
    )


def _vectors(name: str, parameters: str, integers: str, along: str) -> Row:
    return Row(
        name,
        tuple(parameters.split()),
        "int64",
        f"random_{name}",
        frozenset(integers.split()),
        frozenset(along.split()),
        is_vector=True,
    )


ROWS: dict[str, Row] = {
    row.name: row
    for row in (
        _row("beta", "a b"),
        _row("chisquare", "df"),
        _row("exponential", "scale"),
        _row("f", "dfnum dfden"),
        _row("gamma", "shape scale"),
        _row("gumbel", "loc scale"),
        _row("laplace", "loc scale"),
        _row("logistic", "loc scale"),
        _row("lognormal", "mean sigma"),
        _row("noncentral_chisquare", "df nonc"),
        _row("noncentral_f", "dfnum dfden nonc"),
        _row("normal", "loc scale"),
        _row("pareto", "a"),
        _row("power", "a"),
        _row("rayleigh", "scale"),
        _row("standard_cauchy", ""),
        _row("standard_t", "df"),
        _row("triangular", "left mode right"),
        _row("uniform", "low high"),
        _row("vonmises", "mu kappa"),
        _row("wald", "mean scale"),
        _row("weibull", "a"),
        _row("binomial", "n p", "int64", "n"),
        _row("geometric", "p", "int64"),
        _row("hypergeometric", "ngood nbad nsample", "int64", "ngood nbad nsample"),
        _row("integers", "low high", "int64", "low high"),
        _row("logseries", "p", "int64"),
        _row("negative_binomial", "n p", "int64"),
        _row("poisson", "lam", "int64"),
        _row("zipf", "a", "int64"),
        _vectors("multinomial", "n pvals", "n", "pvals"),
        _vectors("multivariate_hypergeometric", "colors nsample", "colors nsample", "colors"),
        _vectors("permutation", "", "", ""),
    )
}
