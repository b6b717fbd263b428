"""HTML cards of distributions and results of model checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dimtensor.display.cards.densities import Curve, curve, sparkline
from dimtensor.display.html import (
    Html,
    Section,
    card,
    never_raises,
    scrolled,
    styled,
    table,
)
from dimtensor.display.text import sizes_text
from dimtensor.graph.printing.formula import formula

if TYPE_CHECKING:
    from dimtensor.dist.distribution import Distribution
    from dimtensor.model.checking.calibrate import Calibration
    from dimtensor.model.checking.cross_validate import CrossValidation

_FEW_ROWS = 12


@never_raises
def distribution_html(d: Distribution) -> str:
    """Write the card of a distribution: parameters, and the density if these are known."""
    found = curve(d)
    sections = []
    if found is not None:
        bounds = styled(f"{found.x[0]:.3g} to {found.x[-1]:.3g}", "soft")
        picture = Html(f"{sparkline(found, 240, 64)}<div>{bounds}</div>")
        sections.append(Section("Density", scrolled(picture)))
    rows = [
        [styled(name, "name"), styled(formula(x.node), "narrow"), f"({sizes_text(x.node)})"]
        for name, x in d.parameters.items()
    ]
    sections.append(Section("Parameters", table(rows), number=len(rows)))
    head: list[str | Html] = [styled("Distribution", "kind"), styled(repr(d), "name")]
    return card([*head, styled(f"support: {d.support}", "soft")], sections)


@never_raises
def calibration_html(found: Calibration) -> str:
    """Write the card of a calibration: rank histograms with p-values of uniformity."""
    rows: list[list[str | Html]] = []
    bins = found._bins()
    for name, p in found.p_values.data_vars.items():
        counts = found._histogram(name, bins)
        bars = sparkline(Curve(np.arange(bins), counts, True), 120, 24)
        least = min(1.0, float(p.min()) * p.size)
        rows.append([styled(str(name), "name"), str(p.size), bars, f"{least:.3g}"])
    header = ("variable", "elements", f"ranks 0 to {found.highest}", "p")
    head = [styled("Calibration", "kind"), f"{found.simulations} posteriors"]
    divergences = f"{int(found.divergences.sum())} divergences"
    section = Section("Ranks", table(rows, header), len(rows) <= 2 * _FEW_ROWS, len(rows))
    return card([*head, styled(divergences, "soft")], [section])


@never_raises
def cross_validation_html(found: CrossValidation) -> str:
    """Write the card of a cross-validation: total and per-fold expected log predictive density."""
    rows = []
    for at, diverged in enumerate(found.divergences.values):
        values = found._values_of(at)
        rows.append([str(at), str(len(values)), f"{values.sum():.4g}", str(int(diverged))])
    header = ("fold", "predictions", "elpd", "divergences")
    head: list[str | Html] = [
        styled("CrossValidation", "kind"),
        f"over {found.folds.name}: elpd",
        styled(f"{found.elpd:.1f} ± {found.se:.1f}", "name"),
    ]
    section = Section("Folds", table(rows, header), len(rows) <= 2 * _FEW_ROWS, len(rows))
    return card(head, [section])
