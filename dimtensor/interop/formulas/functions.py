"""Functions allowed in formulas, and the kinds of their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from dimtensor.errors import ArgumentError, OptionError

# Kinds of parameters.
NUMBERS = "a column of numbers"
COLUMN = "a column"
COUNT = "a whole number"
CONSTANT = "a number, a text, True, False or None"
VALUES = "a list of the namespace"
CONTRAST = "Treatment or Sum"
TRIALS = "a column or a whole number"

# Functions of one column that need no prefix, as in Bambi.
FUNCTIONS = {
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "exp": np.exp,
    "exp2": np.exp2,
    "abs": np.abs,
}
_OF_ONE = [
    "abs", "absolute", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt",
    "ceil", "cos", "cosh", "deg2rad", "exp", "exp2", "expm1", "fabs", "floor", "isfinite", "log",
    "log10", "log1p", "log2", "negative", "rad2deg", "reciprocal", "rint", "sign", "sin", "sinh",
    "sqrt", "square", "tan", "tanh", "trunc",
]  # fmt: skip
_OF_TWO = ["arctan2", "fmax", "fmin", "hypot", "logaddexp", "maximum", "minimum", "mod"]
OF_NUMPY = SimpleNamespace(**{name: getattr(np, name) for name in _OF_ONE + _OF_TWO})
_ONE, _TWO = {"x": NUMBERS}, {"x1": NUMBERS, "x2": NUMBERS}
_SPLINE = {"x": NUMBERS, "df": COUNT, "knots": VALUES}
_BOUNDS = {"lower_bound": CONSTANT, "upper_bound": CONSTANT}
_BINARY = {"x": COLUMN, "success": CONSTANT}
_TRIALS = {"successes": COLUMN, "trials": TRIALS}

# Parameters by function, in order: functions of formulae and NumPy, and functions without a prefix.
PARAMETERS: dict[str, dict[str, str]] = {
    "I": {"x": COLUMN},
    "C": {"data": COLUMN, "contrast": CONTRAST, "levels": VALUES},
    "S": {"data": COLUMN, "omit": CONSTANT, "levels": VALUES},
    "T": {"data": COLUMN, "ref": CONSTANT, "levels": VALUES},
    "Treatment": {"reference": CONSTANT},
    "Sum": {"omit": CONSTANT},
    "B": _BINARY,
    "binary": _BINARY,
    "p": _TRIALS,
    "prop": _TRIALS,
    "proportion": _TRIALS,
    "offset": _ONE,
    "center": _ONE,
    "scale": _ONE,
    "standardize": _ONE,
    "poly": {"x": NUMBERS, "degree": COUNT, "raw": CONSTANT},
    "bs": {**_SPLINE, "degree": COUNT, "intercept": CONSTANT, **_BOUNDS, "center": CONSTANT},
    "cr": {**_SPLINE, **_BOUNDS, "center": CONSTANT},
    "cc": {
        "x": NUMBERS,
        "period": CONSTANT,
        "df": COUNT,
        "knots": VALUES,
        "lower_bound": CONSTANT,
        "center": CONSTANT,
    },
    "tp": {"x": NUMBERS, "df": COUNT, "center": CONSTANT, "max_knots": COUNT, "seed": COUNT},
    **dict.fromkeys(FUNCTIONS, _ONE),
    **{f"{prefix}.{name}": _ONE for prefix in ("np", "numpy") for name in _OF_ONE},
    **{f"{prefix}.{name}": _TWO for prefix in ("np", "numpy") for name in _OF_TWO},
}
TRANSFORMS = [name for name in PARAMETERS if "." not in name and name not in FUNCTIONS]
LISTED = [*TRANSFORMS, *FUNCTIONS]

_CENSORED = "write the model with variables, and its response as dist.censored(...)"
_TRUNCATED = "write the model with variables, and its response as dist.truncated(...)"
_SMOOTH = "splines are bs(x, df=6), cr(x, df=6), cc(x, period=12) and tp(x, df=6)"
# Functions of Bambi, brms and mgcv, with the hint for each.
ELSEWHERE = {
    "censored": _CENSORED,
    "cens": _CENSORED,
    "truncated": _TRUNCATED,
    "trunc": _TRUNCATED,
    "s": _SMOOTH,
    "ns": _SMOOTH,
    "factor": "labels of numbers are C(x)",
    "as.factor": "labels of numbers are C(x)",
    "trials": "the response of trials is p(successes, trials) ~ ...",
    "cbind": "the response of trials is p(successes, trials) ~ ...",
}


def names_of(namespace: object) -> Mapping[str, Any]:
    """Return the user's names for a formula.

    Raises
    ------
    ArgumentError
        If they are not a mapping.
    OptionError
        If a key is not an identifier, or shadows a function of formulas.
    """
    if namespace is None:
        return {}
    if not isinstance(namespace, Mapping):
        raise ArgumentError(
            f"from_formula: namespace is a dict of names, not {type(namespace).__name__}",
            hint="namespace={'f': f} lets a formula call f(x); namespace='caller' lets it use "
            "all names where from_formula is called: for formulas that you wrote yourself",
        )
    for name in namespace:
        if not isinstance(name, str) or not name.isidentifier():
            raise OptionError(f"from_formula: namespace has a name that is none: {name!r}")
        if name in PARAMETERS or name in ("np", "numpy"):
            raise OptionError(
                f"from_formula: {name!r} of the namespace is a name of formulas already",
                hint="give yours another name",
            )
    return namespace
