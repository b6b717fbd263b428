"""Supports of random variables: ``dt.supports.simplex``, ``dt.supports.bounded(0, 1)``.

A support is a set of values together with the smooth map from all real numbers to it that samplers
need. ``dt.real`` and ``dt.positive`` are those of this module.
"""

from dimtensor.dist.supports import Support, bounded, positive, real, unit
from dimtensor.dist.supports.along import ordered, positive_ordered, simplex, zero_sum
from dimtensor.dist.supports.matrix import cholesky_corr, cholesky_cov, corr_matrix, cov_matrix

__all__ = [
    "Support",
    "bounded",
    "cholesky_corr",
    "cholesky_cov",
    "corr_matrix",
    "cov_matrix",
    "ordered",
    "positive",
    "positive_ordered",
    "real",
    "simplex",
    "unit",
    "zero_sum",
]
