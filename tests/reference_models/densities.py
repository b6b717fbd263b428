"""The log densities that the models need, as plain functions of dims-tensors.

Formulas: Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions (1994), chapters 13
(normal), 16 (Cauchy), 25 (beta) and 26 (uniform); Johnson, Kemp & Kotz, Univariate Discrete
Distributions (2005), chapter 4 (Poisson). All constants are kept.
"""

from __future__ import annotations

import numpy as np

import dimtensor as dt


def normal(x, mean, sd):
    return -0.5 * ((x - mean) / sd) ** 2 - dt.log(sd) - 0.5 * np.log(2 * np.pi)


def cauchy(x, location, scale):
    return -dt.log1p(((x - location) / scale) ** 2) - dt.log(np.pi * scale)


def poisson_log(count, log_rate):
    """Poisson with the logarithm of its rate, which does not overflow before the rate does."""
    return count * log_rate - dt.exp(log_rate) - dt.special.gammaln(count + 1)


def beta(x, a, b):
    constant = dt.special.gammaln(a + b) - dt.special.gammaln(a) - dt.special.gammaln(b)
    return (a - 1) * dt.log(x) + (b - 1) * dt.log1p(-x) + constant


def uniform(x, low, high):
    inside = (x >= low) & (x <= high)
    return dt.where(inside, -np.log(high - low), -np.inf)
