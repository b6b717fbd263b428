"""Random elementwise expressions at every kind of number, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dimtensor.testing.strategies import Choose

TINY = 5e-324  # the smallest denormal
NUMBERS = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -0.3, TINY, -TINY,
                    1e-310, 1e300, -1e300, 1.7e308, 1e-300, 3.0])  # fmt: skip

# What both sides can write: a Python expression of dt's functions, which are NumPy's. IEEE leaves
# open which zero the larger of 0.0 and -0.0 is; adding 0.0 makes it the positive one.
_TEMPLATES = (
    "({0} + {1})", "({0} - {1})", "({0} * {1})", "({0} / {1})", "(-{0})", "({0} - {0})",
    "({0} / {0})", "({0} * 0.0)", "(0.0 / {0})", "(({0} + {1}) - {1})", "(({0} * {1}) / {1})",
    "({0} * 1.0)", "({0} + 0.0)", "({0} - 0.0)", "(0.0 - {0})", "(0.0 + {0})", "({0} / 1.0)",
    "({0} * -1.0)", "({0} * 2.0 / 2.0)", "lib.exp({0})", "lib.log({0})", "lib.sqrt({0})",
    "(lib.sqrt({0}) * lib.sqrt({0}))", "lib.square({0})", "lib.sqrt(lib.square({0}))",
    "lib.abs({0})", "lib.sign({0})",
    "(lib.maximum({0}, {1}) + 0.0)", "(lib.minimum({0}, {1}) + 0.0)",
    "lib.where({0} == {0}, {0}, {1})", "lib.where({0} != {0}, {0}, {1})",
    "lib.where({0} > {1}, {0}, {1})", "lib.where({0} >= {0}, {1}, {0})",
    "lib.where({0} < {0}, {1}, {0})", "(lib.exp({0}) * lib.exp(-{0}))", "lib.log(lib.exp({0}))",
    "lib.exp(lib.log({0}))", "({0} ** 2)", "({0} ** 0.5)", "({0} ** 3)", "({0} ** -1)",
    "({0} ** 0)", "({0} ** 1)", "lib.log1p({0})", "lib.expm1({0})", "lib.floor({0})",
    "lib.reciprocal({0})",
    "({0} * {0})", "({0} * {1} + {0} * {2})", "({0} / {1} / {2})", "(({0} + {1}) + {2})",
    "({0} + ({1} + {2}))", "(({0} * {1}) * {2})", "(1.0 / (1.0 / {0}))", "(-(-{0}))",
    "(-{0} - {1})", "({0} - (-{1}))", "({0} * (-{1}))", "lib.tanh({0})", "lib.sin({0})",
    "({0} + -0.0)", "({0} - -0.0)", "(-0.0 - {0})", "({0} * -0.0)", "lib.copysign({0}, -0.0)",
    "lib.where({0} > 0, 0.0, -0.0)", "lib.where({1} > 0, -0.0, {0})",
)  # fmt: skip

# Functions that are not rounded correctly everywhere: a difference in the last digit of one is a
# number where it is subtracted from itself, and zero where it is not.
_ROUGH = ("exp", "log", "expm1", "tanh", "sin", "** 3", "** -1")
_EXACT = tuple(text for text in _TEMPLATES if not any(name in text for name in _ROUGH))


@dataclass(frozen=True)
class Expression:
    """A Python expression of ``x``, ``y`` and ``lib``."""

    text: str

    def of(self, lib: Any, x: Any, y: Any) -> Any:
        return eval(self.text, {"lib": lib, "x": x, "y": y})


def expression(choose: Choose, steps: int) -> Expression:
    """Templates of correctly rounded operations, put into each other."""
    known = ["x", "y"]
    for _ in range(steps):
        template = choose.one(_EXACT)
        operands = [known[-1 - min(choose.integer(0, 3), len(known) - 1)] for _ in range(3)]
        known.append(template.format(*operands))
        if len(known[-1]) > 400:
            break
    return Expression(known[-1])


def points() -> tuple[np.ndarray, np.ndarray]:
    """All pairs of numbers."""
    x, y = np.meshgrid(NUMBERS, NUMBERS, indexing="ij")
    return x.ravel(), y.ravel()


def difference(found: np.ndarray, expected: np.ndarray, signs: bool = True) -> np.ndarray:
    """Where results are not the same kind of number, or another number.

    NaN is NaN, infinities and zeros have their sign; others agree within some units of rounding,
    and what is near the smallest or the largest number may be that.
    """
    special = ~np.isfinite(expected) | (expected == 0)
    equal = (found == expected) | (np.isnan(found) & np.isnan(expected))
    if signs:
        equal &= np.isnan(expected) | (np.signbit(found) == np.signbit(expected))
    with np.errstate(all="ignore"):
        close = np.abs(found - expected) <= 1e-13 * np.abs(expected) + 1e-322
    return ~np.where(special, equal, close)


def describe(text: str, found: np.ndarray, expected: np.ndarray, wrong: np.ndarray) -> str:
    x, y = points()
    at = np.flatnonzero(wrong)[:4]
    lines = [f"  x={x[i]!r}, y={y[i]!r}: {found[i]!r}, NumPy {expected[i]!r}" for i in at]
    return "\n".join([text, *lines])


Function = Callable[[np.ndarray, np.ndarray], np.ndarray]
