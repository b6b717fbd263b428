"""Contracts of log densities: gradients are slopes, and data lie in the range of the prior."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.errors import DimtensorError, GraphError
from dimtensor.testing.findings import Finding, Report

if TYPE_CHECKING:
    from dimtensor.model.model import Model

# scales of the standard normal points, unconstrained, at which gradients are compared
_SCALES = (0.0, 0.5, 2.0, 10.0)
# within which a log density is a number: farther out, samplers reject what overflows
_NEAR = 0.5
_STEPS = (1e-3, 1e-4, 1e-5)
_DRAWS = 200


def check_gradients(model: Model, rng: np.random.Generator, report: Report) -> list[Finding]:
    """Compare gradients with slopes at points near and far, along random directions."""
    try:
        density = model.log_density()
    except GraphError as error:
        report.skipped["gradients"] = str(error).partition("\n")[0]
        return []
    report.checked.append("gradients")
    if not density.size:
        return []
    names = [p.name for p in density.parameters for _ in range(p.size(density.functions.binding))]
    for scale in _SCALES:
        x = scale * rng.standard_normal(density.size)
        value, gradient = density.logp_and_grad(x)
        where = "at the origin" if scale == 0 else f"at a point of scale {scale}"
        if value == np.inf or (np.isnan(value) and scale <= _NEAR):
            return [Finding("gradients", names[0], f"{where} the log density is {value}")]
        if not np.isfinite(value):
            continue
        if not np.all(np.isfinite(gradient)):
            at = int(np.argmin(np.isfinite(gradient)))
            reason = f"has the slope {gradient[at]} {where}, where the log density is {value:.6g}"
            return [Finding("gradients", names[at], reason)]
        found = _wrong_slope(density, x, value, gradient, rng)
        if found is not None:
            at, slope = found
            reason = f"has the slope {gradient[at]:.6g} {where}, by differences {slope:.6g}"
            return [Finding("gradients", names[at], reason)]
    return []


def _wrong_slope(
    density: Any, x: np.ndarray, value: float, gradient: np.ndarray, rng: np.random.Generator
) -> tuple[int, float] | None:
    """Return a coordinate whose slope is another by differences, and this slope."""
    tolerance = 1e-3 * (1 + float(np.linalg.norm(gradient)))  # of solvers of equations, say
    for at in rng.permutation(len(x))[:8].tolist():
        slopes = []
        for step in _STEPS:
            h = step * max(1.0, abs(x[at]))
            ahead, behind = x.copy(), x.copy()
            ahead[at] += h
            behind[at] -= h
            slopes.append((density.logp(ahead) - density.logp(behind)) / (2 * h))
        noise = 1e-14 * abs(value) / (_STEPS[-1] * max(1.0, abs(x[at])))
        spread = max(slopes) - min(slopes) + noise
        if not spread <= 0.01 * (1 + abs(slopes[1])):
            continue  # differences are too far from each other to tell
        if abs(gradient[at] - slopes[1]) > 10 * spread + tolerance:
            return at, slopes[1]
    return None


def check_ranges(model: Model, seed: int, report: Report) -> list[Finding]:
    """Look for observed values outside the range of all draws of the prior predictive."""
    if not model.observed:
        return []
    try:
        drawn = model.draw(_DRAWS, seed=seed)["prior_predictive"]
    except (DimtensorError, KeyError) as error:
        report.skipped["range"] = str(error).partition("\n")[0]
        return []
    findings = []
    for name in model.observed:
        values, draws = model.observed[name], drawn[name]
        if values.dtype.kind not in "iuf" or draws.dtype.kind not in "iuf" or not values.size:
            continue
        low, high = float(draws.min()), float(draws.max())
        report.checked.append(f"range of {name}")
        outside = values.where((values < low) | (values > high)).values.ravel()
        outside = outside[~np.isnan(outside)]
        if outside.size:
            reason = (
                f"has observed values such as {outside[0]:.6g} outside of all {_DRAWS} draws of "
                f"the prior predictive distribution, which lie between {low:.6g} and {high:.6g}"
            )
            findings.append(Finding("range", name, reason))
    return findings
