"""Pictures of a report, embedded in the page."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

from dimtensor.display.plots import without_rows
from dimtensor.extras import require
from dimtensor.model.inference.results import posterior_of

if TYPE_CHECKING:
    from dimtensor.model.model import Model

_DPI = 110
# most elements with a panel of ranks, and with a line of a forest
_PANELS, _LINES = 12, 120


def pictures_of_draws(fit: Model, post: Any) -> str:
    """Draw ranks of the first elements, and intervals by label."""
    draws = posterior_of(post)
    size = {name: draws[name].isel(chain=0, draw=0).size for name in without_rows(fit, post)}
    shown = []
    ranked = _first(size, _PANELS)
    if ranked and draws.sizes["chain"] > 1:
        text = f"Ranks of draws by chain: {', '.join(ranked)}"
        shown.append(_picture(lambda: fit.plot.rank(post, var_names=ranked), text))
    lines = _first(size, _LINES)
    if lines and draws.sizes["draw"] > 1:
        text = f"Intervals of {', '.join(lines)}"
        shown.append(_picture(lambda: fit.plot.forest(post, var_names=lines), text))
    return "".join(shown)


def pictures_of_checks(fit: Model, post: Any) -> str:
    """Draw observations among their replications."""
    names = ", ".join(fit.observed)
    return _picture(lambda: fit.plot.ppc(post), f"{names}: observations, and replications")


def _first(size: dict[str, int], most: int) -> list[str]:
    """Return the names of variables that have so many elements together, in order."""
    chosen: list[str] = []
    for name, elements in size.items():
        if elements <= most:
            chosen.append(name)
            most -= elements
    return chosen


def _picture(draw: Callable[[], Any], text: str) -> str:
    """Draw a figure of ArviZ as an image of the page; the caller's figures are unchanged."""
    pyplot = require("matplotlib.pyplot", "viz", "a report")
    before = pyplot.get_fignums()
    with pyplot.ioff():
        figure = draw().viz["figure"].item()
    written = io.BytesIO()
    figure.savefig(written, format="png", dpi=_DPI, bbox_inches="tight")
    for number in set(pyplot.get_fignums()) - set(before):
        pyplot.close(number)
    image = base64.b64encode(written.getvalue()).decode("ascii")
    return f'<p><img alt="{escape(text)}" src="data:image/png;base64,{image}"/></p>'
