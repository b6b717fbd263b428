"""Scales of default priors, derived from predictors and response."""

from __future__ import annotations

from typing import Any

import numpy as np

from dimtensor.interop.formulas.design import DesignMatrix

# prior scale of the effect of one standard deviation of a predictor, in those of the response
STEP = 2.5


class Scales:
    """Scales of weakly informative priors.

    A coefficient of a column x is Normal(0, 2.5 s / sd(x)), with s the standard deviation of the
    response where the family has its units, else 1. The intercept is what the response has where
    all predictors are 0: Normal(m, √((2.5 s)² + Σ (scale · mean(x))²)), with the mean m of the
    response or 0. For probabilities by logit or probit they are Normal(0, 1 / sd(x)), 1 for
    categorical predictors, and Normal(0, 1.5). Deviations of group-specific intercepts and slopes
    are HalfNormal of the scale that a common one would have. These are Bambi's scales (T. Capretto
    and others, Bambi: A simple interface for fitting Bayesian linear models in Python, Journal of
    Statistical Software 103, 2022), for predictors that are not centered.
    """

    def __init__(self, family: str, link: str, scaled: bool, response: Any):
        self.by_probability = family in ("bernoulli", "binomial") and link in ("logit", "probit")
        self.mean, self.scale = 0.0, 1.0
        if scaled:
            self.mean, self.scale = (
                float(np.mean(response)),
                float(DesignMatrix(response[:, None], None, 1).spreads()[0]),
            )
        self._shift = 0.0

    def slopes(self, columns: DesignMatrix) -> np.ndarray:
        """Return the prior scales of the coefficients of columns."""
        return STEP * self.scale / columns.spreads()

    def common(self, columns: DesignMatrix, kind: str, labeled: bool) -> np.ndarray:
        """Return the prior scales of a common term, and widen that of the intercept."""
        if not self.by_probability:
            found = self.slopes(columns)
        elif labeled:
            found = np.ones(columns.width)
        elif kind == "interaction":
            total = DesignMatrix(columns.values.sum(axis=1)[:, None], None, 1)
            found = np.full(columns.width, 1 / total.spreads()[0])
        else:
            found = 1 / columns.spreads()
        self._shift += float((found**2 * columns.means() ** 2).sum())
        return found

    def intercept(self) -> tuple[float, float]:
        """Return the prior mean and scale of the intercept, after all common terms."""
        if self.by_probability:
            return 0.0, 1.5
        return self.mean, self.varying()

    def varying(self) -> float:
        """Return the prior scale of the deviation of group-specific intercepts."""
        return float(np.sqrt((STEP * self.scale) ** 2 + self._shift))
