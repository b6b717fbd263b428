"""The parameters that distributions have, by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dimtensor.ops.random.rows import Row


def valid_parameters(row: Row, parameters: Sequence[Any], lib: Any) -> Any:
    """Where parameters are those of a distribution, for NumPy, PyTensor or JAX.

    The conditions are those under which NumPy draws rather than raises.
    """
    given = dict(zip(row.parameters, parameters, strict=True))
    valid: Any = True
    for condition in CONDITIONS[row.name]:
        valid = valid & condition(given, lib)
    return valid


def _positive(*names: str) -> Any:
    return [lambda p, lib, name=name: p[name] > 0 for name in names]


def _least(name: str, least: float) -> Any:
    return lambda p, lib: p[name] >= least


def _finite(*names: str) -> Any:
    # NaN and infinities make some of the algorithms loop for ever
    return [lambda p, lib, name=name: abs(p[name]) <= 1.7976931348623157e308 for name in names]


def _within(name: str, low: float, high: float) -> Any:
    return lambda p, lib: (p[name] >= low) & (p[name] <= high)


# NumPy raises above this: the largest mean whose draws are 64-bit integers
_MOST_POISSON = 2.0**63 - 1 - 10 * (2.0**63 - 1) ** 0.5

CONDITIONS: dict[str, list[Any]] = {
    "beta": [*_positive("a", "b")],
    "chisquare": _positive("df"),
    "exponential": [_least("scale", 0)],
    "f": _positive("dfnum", "dfden"),
    "gamma": [_least("shape", 0), _least("scale", 0)],
    "gumbel": [_least("scale", 0)],
    "laplace": [_least("scale", 0)],
    "logistic": [_least("scale", 0)],
    "lognormal": [_least("sigma", 0)],
    "noncentral_chisquare": [*_positive("df"), _least("nonc", 0), *_finite("nonc")],
    "noncentral_f": [*_positive("dfnum", "dfden"), _least("nonc", 0), *_finite("nonc")],
    "normal": [_least("scale", 0)],
    "pareto": _positive("a"),
    "power": _positive("a"),
    "rayleigh": [_least("scale", 0)],
    "standard_cauchy": [],
    "standard_t": _positive("df"),
    "triangular": [
        *_finite("left", "right"),
        lambda p, lib: p["left"] <= p["mode"],
        lambda p, lib: p["mode"] <= p["right"],
        lambda p, lib: p["left"] < p["right"],
    ],
    "uniform": [
        *_finite("low", "high"),
        lambda p, lib: p["high"] - p["low"] >= 0,
        lambda p, lib: p["high"] - p["low"] <= 1.7976931348623157e308,
    ],
    "vonmises": [*_finite("mu"), _least("kappa", 0)],
    "wald": [*_positive("mean", "scale"), *_finite("mean", "scale")],
    "weibull": [_least("a", 0)],
    "binomial": [_least("n", 0), _within("p", 0, 1)],
    "geometric": [*_positive("p"), _within("p", 0, 1)],
    "hypergeometric": [
        _within("ngood", 0, 10**9 - 1),
        _within("nbad", 0, 10**9 - 1),
        _least("nsample", 0),
        lambda p, lib: p["nsample"] <= p["ngood"] + p["nbad"],
    ],
    "integers": [lambda p, lib: p["low"] < p["high"]],
    "logseries": [_least("p", 0), lambda p, lib: p["p"] < 1],
    "negative_binomial": [
        *_positive("n", "p"),
        _within("p", 0, 1),
        lambda p, lib: (1 - p["p"]) / p["p"] * (p["n"] + 10 * p["n"] ** 0.5) <= _MOST_POISSON,
    ],
    "poisson": [_within("lam", 0, _MOST_POISSON)],
    "multinomial": [
        _least("n", 0),
        lambda p, lib: lib.all((p["pvals"] >= 0) & (p["pvals"] <= 1), axis=-1),
        lambda p, lib: p["pvals"][..., :-1].sum(axis=-1) <= 1 + 1e-12,
    ],
    "multivariate_hypergeometric": [
        lambda p, lib: lib.all(p["colors"] >= 0, axis=-1),
        lambda p, lib: p["colors"].sum(axis=-1) < 10**9,
        _least("nsample", 0),
        lambda p, lib: p["nsample"] <= p["colors"].sum(axis=-1),
    ],
    "permutation": [],
    "zipf": [lambda p, lib: p["a"] > 1, lambda p, lib: p["a"] <= 1.7976931348623157e308],
}
