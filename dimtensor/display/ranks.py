"""Plot of a calibration: empirical distribution functions of ranks minus the uniform one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.errors import escaped
from dimtensor.extras import check_installed

if TYPE_CHECKING:
    from dimtensor.model.checking.calibrate import Calibration

_SIMULATED = 1_000
_WITHIN = 0.95


def calibration_figure(calibration: Calibration) -> Any:
    """Plot a calibration, with axes for each variable."""
    check_installed("matplotlib", "viz", "plot")
    from matplotlib.figure import Figure

    n, highest = calibration.simulations, calibration.highest
    points = np.unique(np.round(np.linspace(0, highest, min(highest + 1, 50)))).astype(int)
    low, high = band(n, highest, points)
    names = list(calibration.ranks.data_vars)
    columns = min(3, len(names))
    rows = math.ceil(len(names) / columns)
    figure = Figure(figsize=(3.4 * columns, 2.6 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for each, name in zip(axes.flat, names, strict=False):
        ranks = calibration.ranks[name].transpose("simulation", ...).values.reshape(n, -1)
        each.fill_between(points / highest, low, high, color="0.88", linewidth=0)
        each.axhline(0.0, color="0.5", linewidth=0.8)
        for element in ranks.T:
            found = (element[:, None] <= points).mean(axis=0)
            line = found - (points + 1) / (highest + 1)
            each.plot(points / highest, line, linewidth=1.0, alpha=0.8, color="#0072b2")
        each.set_title(escaped(str(name)), fontsize=10, parse_math=False)
        each.tick_params(labelsize=8)
    for each in axes.flat[len(names) :]:
        each.set_axis_off()
    figure.supxlabel("rank of the true value, from 0 to 1", fontsize=9)
    figure.supylabel("ECDF difference", fontsize=9)
    return figure


def band(n: int, highest: int, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute a simultaneous 95% band of the ECDF differences of uniform ranks.

    The bounds have equal probability at each point; simulations determine the probability for which
    they hold at all points simultaneously (Säilynoja, Bürkner and Vehtari 2022, "Graphical test for
    discrete uniformity and its applications in goodness-of-fit evaluation and multiple sample
    comparison", Statistics and Computing 32).
    """
    from scipy import stats

    expected = (points + 1) / (highest + 1)
    rng = np.random.default_rng(0)
    simulated = rng.integers(0, highest + 1, size=(_SIMULATED, n, 1))
    counts = np.array([(each <= points).sum(axis=0) for each in simulated])
    binomial = stats.binom(n, expected)
    tails = 2 * np.minimum(binomial.cdf(counts), binomial.sf(counts - 1))
    # at the last point the ECDF is 1
    level = np.quantile(tails[:, expected < 1].min(axis=1), 1 - _WITHIN)
    low, high = binomial.ppf(level / 2), binomial.isf(level / 2)
    return low / n - expected, high / n - expected
