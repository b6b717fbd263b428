"""One row per primitive draw: its parameters, what they must be, and NumPy's names for it."""

from __future__ import annotations

from dataclasses import dataclass

FINITE = 1.7976931348623157e308
# NumPy raises above this: the largest mean whose draws are 64-bit integers
_MOST = 2.0**63 - 1 - 10 * (2.0**63 - 1) ** 0.5


@dataclass(frozen=True)
class DrawRow:
    """A distribution of independent numbers, or of vectors, that a generator draws from.

    Attributes
    ----------
    name : str
        Of the method of ``numpy.random.Generator``.
    parameters : tuple of str
    dtype : {"float64", "int64"}
        Of the draws.
    valid : tuple of str
        Conditions under which there is such a distribution, in Python with parameters in braces;
        NaN fulfills none. NumPy raises where they do not hold.
    function : str
        The function of NumPy's C interface, ``numpy/random/distributions.h``.
    arguments : tuple of str
        What it takes after the generator, of the parameters.
    integers : frozenset of str
        Parameters that are integers.
    along : frozenset of str
        Parameters that have the last axis of a vector.
    is_vector : bool
        Whether one draw is a vector.
    """

    name: str
    parameters: tuple[str, ...]
    dtype: str
    valid: tuple[str, ...]
    function: str
    arguments: tuple[str, ...]
    integers: frozenset[str] = frozenset()
    along: frozenset[str] = frozenset()
    is_vector: bool = False


def _given(names: tuple[str, ...], arguments: str) -> tuple[str, ...]:
    return tuple(arguments.split(", ") if arguments else (f"{{{name}}}" for name in names))


def _real(name: str, parameters: str, *valid: str, arguments: str = "") -> DrawRow:
    names = tuple(parameters.split())
    given = _given(names, arguments)
    return DrawRow(name, names, "float64", valid, f"random_{name}", given)


def _count(
    name: str, parameters: str, *valid: str, integers: str = "", function: str = "",
    arguments: str = "",
) -> DrawRow:  # fmt: skip
    names = tuple(parameters.split())
    given = _given(names, arguments)
    function = f"random_{function or name}"
    return DrawRow(name, names, "int64", valid, function, given, frozenset(integers.split()))


def _vector(name: str, parameters: str, *valid: str, integers: str, along: str) -> DrawRow:
    names = tuple(parameters.split())
    return DrawRow(
        name, names, "int64", valid, f"random_{name}", names,
        frozenset(integers.split()), frozenset(along.split()), is_vector=True,
    )  # fmt: skip


ROWS: dict[str, DrawRow] = {
    row.name: row
    for row in (
        _real("beta", "a b", "{a} > 0", "{b} > 0"),
        _real("chisquare", "df", "{df} > 0"),
        _real("exponential", "scale", "{scale} >= 0"),
        _real("f", "dfnum dfden", "{dfnum} > 0", "{dfden} > 0"),
        _real("gamma", "shape scale", "{shape} >= 0", "{scale} >= 0"),
        _real("gumbel", "loc scale", "{scale} >= 0"),
        _real("laplace", "loc scale", "{scale} >= 0"),
        _real("logistic", "loc scale", "{scale} >= 0"),
        _real("lognormal", "mean sigma", "{sigma} >= 0"),
        _real("noncentral_chisquare", "df nonc", "{df} > 0", "{nonc} >= 0",
              f"{{nonc}} <= {FINITE}"),
        _real("noncentral_f", "dfnum dfden nonc", "{dfnum} > 0", "{dfden} > 0", "{nonc} >= 0",
              f"{{nonc}} <= {FINITE}"),
        _real("normal", "loc scale", "{scale} >= 0"),
        _real("pareto", "a", "{a} > 0"),
        _real("power", "a", "{a} > 0"),
        _real("rayleigh", "scale", "{scale} >= 0"),
        _real("standard_cauchy", ""),
        _real("standard_t", "df", "{df} > 0"),
        _real("triangular", "left mode right", "{left} <= {mode}", "{mode} <= {right}",
              "{left} < {right}", f"{{right}} - {{left}} <= {FINITE}"),
        _real("uniform", "low high", "{high} - {low} >= 0", f"{{high}} - {{low}} <= {FINITE}",
              arguments="{low}, {high} - {low}"),
        _real("vonmises", "mu kappa", "{kappa} >= 0", f"abs({{mu}}) <= {FINITE}"),
        _real("wald", "mean scale", "{mean} > 0", "{scale} > 0", f"{{mean}} <= {FINITE}",
              f"{{scale}} <= {FINITE}"),
        _real("weibull", "a", "{a} >= 0"),
        _count("binomial", "n p", "{n} >= 0", "{p} >= 0", "{p} <= 1", integers="n",
               arguments="{p}, {n}"),
        _count("geometric", "p", "{p} > 0", "{p} <= 1"),
        _count("hypergeometric", "ngood nbad nsample", "{ngood} >= 0", "{nbad} >= 0",
               "{nsample} >= 0",
               "{ngood} < 1000000000", "{nbad} < 1000000000", "{nsample} <= {ngood} + {nbad}",
               integers="ngood nbad nsample"),
        _count("integers", "low high", "{low} < {high}", integers="low high",
               function="bounded_uint64", arguments="{low}, {high} - {low} - 1"),
        _count("logseries", "p", "{p} >= 0", "{p} < 1"),
        _count("negative_binomial", "n p", "{n} > 0", "{p} > 0", "{p} <= 1",
               f"(1.0 - {{p}}) / {{p}} * ({{n}} + 10.0 * np.sqrt({{n}})) <= {_MOST}"),
        _count("poisson", "lam", "{lam} >= 0", f"{{lam}} <= {_MOST}"),
        _count("zipf", "a", "{a} > 1", f"{{a}} <= {FINITE}"),
        _vector("multinomial", "n pvals", "{n} >= 0", integers="n", along="pvals"),
        _vector("multivariate_hypergeometric", "colors nsample", "{nsample} >= 0",
                integers="colors nsample", along="colors"),
        _vector("permutation", "", integers="", along=""),
    )
}  # fmt: skip
