"""Elementwise operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.differential.named import elementwise
from tests.differential.program import OPS, Op


def unary(name: str, function: Callable[..., Any], code: str | None = None, family="unary") -> None:
    """A function of one tensor; ``function(lib, data)``."""
    text = code or f"dt.{name}({{0}})"

    def draw(choose: Any, scope: Any) -> Any:
        at = scope.pick()
        return None if at is None else ((at,), {})

    OPS[name] = Op(
        name, family,
        lambda x: text.format(x),
        lambda lib, x: elementwise(lib, lambda d: function(lib, d), x),
        draw,
    )  # fmt: skip


def binary(
    name: str, function: Callable[..., Any], code: str | None = None, family="binary"
) -> None:
    text = code or f"dt.{name}({{0}}, {{1}})"

    def draw(choose: Any, scope: Any) -> Any:
        one, other = scope.pick(), scope.pick()
        if one is None or other is None or scope.too_large(one, other):
            return None
        return (one, other), {}

    OPS[name] = Op(
        name, family,
        lambda x, y: text.format(x, y),
        lambda lib, x, y: elementwise(lib, lambda a, b: function(lib, a, b), x, y),
        draw,
    )  # fmt: skip


def _sigmoid(lib: Any, x: Any) -> Any:
    return 1 / (1 + lib.xp.exp(-x))


def _softplus(lib: Any, x: Any) -> Any:
    return lib.xp.log1p(lib.xp.exp(x))


def _abs(lib: Any, x: Any) -> Any:
    return lib.xp.where(lib.above(x), x, -x) + 0.0  # of a zero of either sign, the positive one


def _maximum(lib: Any, x: Any, y: Any) -> Any:
    return lib.xp.where(lib.above(x - y) | lib.xp.isnan(x), x, y)


def _raised(lib: Any, x: Any, y: Any) -> Any:
    lib.above(x)  # at 0 its derivative is not finite, or not there
    return lib.xp.exp(y * lib.xp.log(x))


def _minimum(lib: Any, x: Any, y: Any) -> Any:
    return lib.xp.where(lib.above(x - y) | lib.xp.isnan(y), y, x)


def _arctan2(lib: Any, y: Any, x: Any) -> Any:
    """The real function, and its derivative where x is complex."""
    angle = lib.xp.arctan(y / x)
    right, up = lib.above(x), lib.above(y)
    return angle + lib.xp.where(right, 0.0, lib.xp.where(up, np.pi, -np.pi))


def _logaddexp(lib: Any, x: Any, y: Any) -> Any:
    top = lib.xp.where(lib.re(x) > lib.re(y), x, y)
    return top + lib.xp.log(lib.xp.exp(x - top) + lib.xp.exp(y - top))


def _singular(function: Any, *at: float) -> Callable[[Any, Any], Any]:
    """A function whose derivatives are infinite at some numbers, which count as kinks.

    Near to them differences lose digits of second derivatives, so that the distance is five times
    that from a kink.
    """

    def watched(lib: Any, x: Any) -> Any:
        for number in at:
            lib.decide(b"", abs(lib.re(x) - number) / 5)
        return function(lib, x)

    return watched


_ALIKE = ("sin", "cos", "tan", "tanh", "sinh", "cosh", "arctan", "exp", "expm1", "log", "log1p",
          "sqrt", "arcsinh", "arcsin", "arccosh", "arctanh", "exp2", "log2", "log10")  # fmt: skip
_SINGULAR = {"sqrt": (0.0,), "arcsin": (-1.0, 1.0), "arccosh": (1.0,), "arctanh": (-1.0, 1.0)}
for _name in _ALIKE:
    # bound now: the loop's variable moves on
    unary(
        _name,
        _singular(lambda lib, x, name=_name: getattr(lib.xp, name)(x), *_SINGULAR.get(_name, ())),
    )
for _name in ("erf", "gammaln", "digamma"):
    unary(_name, lambda lib, x, name=_name: getattr(lib, name)(x), f"dt.special.{_name}({{0}})")
unary("negative", lambda lib, x: -x, "-{0}")
unary("square", lambda lib, x: x * x)
unary("reciprocal", lambda lib, x: 1 / x)
unary("erfc", lambda lib, x: 1 - lib.erf(x), "dt.special.erfc({0})")
unary("sigmoid", _sigmoid)
unary("softplus", _softplus)
unary("log1mexp", lambda lib, x: lib.xp.log(-lib.xp.expm1(x)))
unary("logit", lambda lib, x: lib.xp.log(x / (1 - x)))
# a number of its own keeps what an operation hides from being the value of another step
unary("log of sigmoid", lambda lib, x: -_softplus(lib, -1.02 * x), "dt.log(dt.sigmoid(1.02 * {0}))")
unary("abs", _abs, family="kinked")
unary("sign times", lambda lib, x: _abs(lib, x) * x / x, "dt.sign({0}) * {0}", family="kinked")
unary(
    "clip",
    lambda lib, x: _minimum(lib, _maximum(lib, x, -0.4), 0.7),
    "dt.clip({0}, -0.4, 0.7)",
    family="kinked",
)
unary("floor plus", lambda lib, x: x + _floor(lib, x), "{0} + dt.floor({0})", family="kinked")
unary("mod", lambda lib, x: x - 0.9 * _floor(lib, x / 0.9), "{0} % 0.9", family="kinked")


def _floor(lib: Any, x: Any) -> Any:
    down = lib.xp.floor(lib.re(x))
    lib.decide(down, lib.xp.minimum(lib.re(x) - down, down + 1 - lib.re(x)))
    return down


for _power in (2, 3, 4, -1, -2, 0.5, 1.5, 7, 1, 0):
    unary(
        f"power {_power}",
        _singular(
            lambda lib, x, p=_power: x**p if p != 0 else x * 0 + 1,
            *((0.0,) if _power in (0.5, 1.5) else ()),
        ),
        # a negative power of integers is refused; of floats this is the float itself
        f"{{0}}{'.astype(float)' if _power < 0 else ''} ** {_power}",
    )

_root = _singular(lambda lib, x: lib.xp.sqrt(x), 0.0)
binary("add", lambda lib, x, y: x + y, "{0} + {1}")
binary("subtract", lambda lib, x, y: x - y, "{0} - {1}")
binary("multiply", lambda lib, x, y: x * y, "{0} * {1}")
binary("divide", lambda lib, x, y: x / y, "{0} / {1}")
binary("power", _raised, "{0} ** {1}")
binary("maximum", _maximum, family="kinked")
binary("minimum", _minimum, family="kinked")
binary("arctan2", _arctan2)
binary("logaddexp", _logaddexp)
binary("xlogy", lambda lib, x, y: x * lib.xp.log(y), "dt.special.xlogy({0}, {1})")
binary("xlog1py", lambda lib, x, y: x * lib.xp.log1p(y), "dt.special.xlog1py({0}, {1})")
binary(
    "norm",
    lambda lib, x, y: _root(lib, 1.01 * x * x + 0.99 * y * y),
    "dt.sqrt(1.01 * {0} * {0} + 0.99 * {1} * {1})",
)


def _draw_where(choose: Any, scope: Any) -> Any:
    operands = tuple(scope.pick() for _ in range(4))
    return None if None in operands or scope.too_large(*operands) else (operands, {})


OPS["where"] = Op(
    "where", "kinked",
    lambda a, b, x, y: f"dt.where({a} > {b}, {x}, {y})",
    lambda lib, a, b, x, y: elementwise(
        lib, lambda a, b, x, y: lib.xp.where(lib.above(a - b), x, y), a, b, x, y
    ),
    _draw_where,
)  # fmt: skip


def _guarded(lib: Any, x: Any) -> Any:
    """A logarithm where it exists: what is not selected is undefined and does not count."""
    above = lib.above(x)
    return lib.xp.where(above, lib.xp.log(lib.xp.where(above, 1.01 * x, 1.0)), x)


unary("guarded log", _guarded, "dt.where({0} > 0, dt.log(1.01 * {0}), {0})", family="kinked")

_AFFINE = {
    "times": ("{0} * {c}", lambda x, c: x * c),
    "plus": ("{0} + {c}", lambda x, c: x + c),
    "minus": ("{c} - {0}", lambda x, c: c - x),
    "over": ("{0} / {c}", lambda x, c: x / c),
    "into": ("{c} / {0}", lambda x, c: c / x),
}


def _draw_affine(choose: Any, scope: Any) -> Any:
    at = scope.pick()
    if at is None:
        return None
    # 0 and 1 are what simplifications look for
    params = {
        "how": choose.one(list(_AFFINE)),
        "c": choose.one([0.5, -1.0, 2.0, 1.0, 0.0, -0.3, 1]),
    }
    return None if params["how"] == "over" and params["c"] == 0 else ((at,), params)


OPS["affine"] = Op(
    "affine", "binary",
    lambda x, how, c: _AFFINE[how][0].format(x, c=c),
    lambda lib, x, how, c: elementwise(lib, lambda d: _AFFINE[how][1](d, c), x),
    _draw_affine,
)  # fmt: skip
