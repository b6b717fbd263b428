"""The HTML of a report, section by section."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from html import escape
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.display.html import Html, preformatted, scrolled, styled, table
from dimtensor.display.style import STYLE
from dimtensor.extras import require
from dimtensor.graph.printing.formula import formula
from dimtensor.model.inference.diagnostics import judge
from dimtensor.model.inference.results import LEADING, extended, posterior_of
from dimtensor.plugins.report.pictures import pictures_of_checks, pictures_of_draws
from dimtensor.renderers import mathml

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.graph import Node
    from dimtensor.model.model import Model

_MOST_ROWS = 200
_LIBRARIES = ("dimtensor", "arviz", "numpy", "nutpie", "pandas", "pytensor", "scipy", "xarray")
_PAGE = """
:root {color-scheme: light dark;}
body {font-family: system-ui, sans-serif; font-size: 15px; line-height: 1.5;
  max-width: 60em; margin: 2em auto; padding: 0 1em;}
h1 {font-size: 1.6em;} h2 {font-size: 1.2em; margin-top: 2em;}
img {max-width: 100%; height: auto; background: white; border-radius: 4px;}
"""


def page_of(fit: Model, post: Any, title: str | None, seed: int) -> str:
    """Write the page."""
    if "posterior_predictive" not in getattr(post, "children", {}):
        drawn = fit.predict(post, seed=seed)
        post = extended(post, {name: x.to_dataset() for name, x in drawn.children.items()})
    heading = title or f"Report on {', '.join(map(str, fit.observed))}"
    body = "\n".join(
        f"<section><h2>{escape(name)}</h2>\n{html}</section>"
        for name, html in _sections(fit, post, seed)
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f"<title>{escape(heading)}</title><style>{_PAGE}{STYLE}</style></head>\n"
        f"<body><h1>{escape(heading)}</h1>\n{body}\n</body></html>\n"
    )


def _sections(fit: Model, post: Any, seed: int) -> Iterator[tuple[str, str]]:
    yield "Model and data", fit._repr_html_()
    yield "Formulas", _card(_formulas(fit))
    yield "Diagnostics", _card(_diagnostics(fit, post))
    yield "Posterior", _card(_summary(fit, post)) + pictures_of_draws(fit, post)
    yield "Predictive checks", _card(_checks(fit, post)) + pictures_of_checks(fit, post)
    yield "Versions and seeds", _card(_versions(post, seed))


def _card(body: str) -> str:
    return f'<div class="dt-repr">{body}</div>'


def _formulas(fit: Model) -> Html:
    """Typeset the distribution of each variable, and each named expression."""
    rows = [[scrolled(_typeset(variable.node))] for variable in fit.variables.values()]
    named = [
        [styled(f"{name} =", "soft"), scrolled(_typeset(node.inputs[0]))]
        for name, node in fit.spec.graph.named.items()
    ]
    return Html(table(rows) + (table(named) if named else ""))


def _typeset(node: Node) -> Html:
    write = mathml.find(node)
    return Html(escape(formula(node)) if write is None else write(node))


def _diagnostics(fit: Model, post: Any) -> str:
    """Write the verdict on the draws, with the advice of the sampler's report."""
    draws = posterior_of(post)
    draws = draws[[name for name in fit.free if name in draws]]
    stats = post["sample_stats"] if "sample_stats" in getattr(post, "children", {}) else {}
    seconds = float(draws.attrs.get("sampling_time", np.nan))
    if "diverging" not in stats:
        n = f"{draws.sizes['chain']} × {draws.sizes['draw']} draws"
        return preformatted(f"{n} of an approximation: there is no chain to diagnose")
    verdict = judge(draws, stats["diverging"], seconds)
    return preformatted("\n".join(filter(None, [str(verdict), verdict.complaint])), wrapped=True)


def _summary(fit: Model, post: Any) -> str:
    """Write ArviZ's table of draws, of the first rows if there are many."""
    found = fit.summary(post, round_to=3)
    cells = found.map(lambda x: f"{x:g}" if isinstance(x, float) else str(x))
    rows = [
        [styled(str(name), "name"), *row]
        for name, row in zip(found.index[:_MOST_ROWS], cells.values[:_MOST_ROWS], strict=True)
    ]
    more = len(found) - len(rows)
    note = styled(f"and {more} more rows: fit.summary(post)", "soft") if more else ""
    return f"{table(rows, ['', *map(str, found.columns)])}{note}"


def _checks(fit: Model, post: Any) -> Html:
    """Write statistics of observations beside those of replications."""
    header = ("", "statistic", "observed", "replicated, 90%", "share of replications below")
    rows: list[list[str | Html]] = []
    replicated = post["posterior_predictive"].to_dataset()
    for name, seen in fit.observed.items():
        if name not in replicated or seen.dtype.kind not in "biuf":
            continue
        draws = replicated[name].stack(sample=LEADING)
        for title, compute in _STATISTICS.items():
            own = float(compute(seen))
            theirs = compute(draws, [d for d in draws.dims if d != "sample"]).values
            low, high = np.quantile(theirs, [0.05, 0.95])
            below = (theirs < own).mean() + (theirs == own).mean() / 2
            shown = [f"{own:.4g}", f"{low:.4g} to {high:.4g}", f"{below:.2f}"]
            rows.append([styled(name, "name"), title, *shown])
    return table(rows, header)


def _statistic(method: str) -> Any:
    def compute(x: xr.DataArray, dims: Any = None) -> Any:
        return getattr(x.astype(float), method)(dims)

    return compute


_STATISTICS = {
    "mean": _statistic("mean"),
    "standard deviation": _statistic("std"),
    "least": _statistic("min"),
    "largest": _statistic("max"),
}


def _versions(post: Any, seed: int) -> str:
    told = dict(posterior_of(post).attrs)
    rows: list[list[str | Html]] = [
        ["Python", sys.version.split()[0]],
        ["system", platform.platform()],
    ]
    for library in _LIBRARIES:
        try:
            rows.append([library, version(library)])
        except PackageNotFoundError:
            continue
    for key in ("inference_library", "inference_library_version", "seed", "sampling_time"):
        if key in told:
            value = f"{told[key]:.3g} s" if key == "sampling_time" else str(told[key])
            rows.append([key.replace("_", " "), value])
    rows.append(["seed of replications", str(seed)])
    settings = str(told.get("inference_library_settings", ""))
    folded = f"<details><summary>Settings</summary>{preformatted(settings, True)}</details>"
    require("matplotlib", "viz", "a report")
    return str(scrolled(table(rows))) + (folded if settings else "")
