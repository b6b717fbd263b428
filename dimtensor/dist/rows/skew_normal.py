"""Probabilities of the skew normal distribution of Azzalini."""

from __future__ import annotations

import math
from typing import Any

from dimtensor.dist.formulas import HALF_LOG_2PI, LOG_2, NODE, REACH, places_and_weights
from dimtensor.tensor.elementwise import erfcx, exp, log, log1p, log_ndtr, sqrt, square, where


def skew_normal_logs(z: Any, alpha: Any) -> tuple[Any, Any]:
    """Log probabilities of smaller values and of larger ones.

    The density is 2 φ(z) Φ(alpha z) (A. Azzalini, Scandinavian Journal of Statistics 12, 171-178,
    1985, equation 1). The lighter tail is integrated, the heavier one is that of the normal less
    it.
    """
    turned = alpha < 0.0
    alpha, z = where(turned, -alpha, alpha), where(turned, -z, z)
    left = z < 0.0
    size = where(left, -z, z)
    light = _log_light(size, alpha)
    both = LOG_2 + log_ndtr(-size)
    possible = both > -math.inf
    heavy = both + log1p(-exp(where(possible, light - where(possible, both, 0.0), -1.0)))
    below = where(left, light, log1p(-exp(where(left, -1.0, heavy))))
    above = where(left, log1p(-exp(light)), heavy)
    return where(turned, above, below), where(turned, below, above)


def _log_light(z: Any, alpha: Any) -> Any:
    """Log integral of 2 φ(t) Φ(-alpha t) from z on, of neither below 0, by quadrature.

    Both factors fall as exp(-t²/2) and exp(-(alpha t)²/2) do, or faster.
    """
    rate = 1.0 + square(alpha)
    reach = REACH / rate
    width = reach / (sqrt(square(z) + reach) + z)
    places, weights = places_and_weights(rate.dtype)
    s = 0.5 * width * (1.0 + places)
    height = erfcx(math.sqrt(0.5) * alpha * (z + s)) * exp(-rate * s * (z + 0.5 * s))
    total = (weights * height).sum(NODE)
    return log(0.5 * width * total) - 0.5 * rate * square(z) - HALF_LOG_2PI
