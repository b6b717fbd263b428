"""Rules that are used unasked keep digits on badly scaled data; those that are asked for do not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import dimtensor as dt
from tests.plugins.saturation import models as m

FAR = 1e8  # from zero; what varies around it is of size 1
Y = FAR + m.Y
y = dt.data(Y, dims=m.HOUSE)
MEAN = FAR + m.A


def exact(mean: np.ndarray) -> float:
    """The sum of squares in rational arithmetic."""
    pairs = zip(Y.tolist(), mean.tolist(), strict=True)
    return float(sum((Fraction(a) - Fraction(b)) ** 2 for a, b in pairs))


def error(x: dt.DimTensor, values: dict, mean: np.ndarray) -> float:
    right = exact(mean)
    return abs(float(x.eval(values)) - right) / right


def test_squares_by_group_keep_digits_that_an_expansion_loses():
    total = dt.square(y - m.a.sel(county=m.where)).sum()
    values, mean = {m.a: MEAN}, MEAN[m.WHERE]
    unasked = dt.simplify(total)
    assert set(unasked.rules) >= {"squares by group"}
    assert error(total, values, mean) < 1e-12
    assert error(unasked.result, values, mean) < 1e-7  # the means are known to 1e-8
    expanded = (
        (y**2).sum()
        - 2 * (y * m.a.sel(county=m.where)).sum()
        + (m.a.sel(county=m.where) ** 2).sum()
    )
    assert error(expanded, values, mean) > 1e-3


def test_terms_that_cancel_are_summed_apart_where_asked_for():
    total = (y - m.b).sum()
    assert dt.simplify(total).rules == {}
    found = dt.simplify(total, allow="reassociate")
    assert set(found.rules) == {"terms that cancel summed apart"}
    right = float(sum(Fraction(v) - Fraction(FAR) for v in Y.tolist()))
    as_written = abs(float(total.eval({m.b: FAR})) - right)
    apart = abs(float(found.result.eval({m.b: FAR})) - right)
    assert as_written <= 1e-9 < apart
