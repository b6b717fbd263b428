"""Sparklines of probability densities."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dimtensor.caches import bounded
from dimtensor.dims import Dim
from dimtensor.display.html import Html
from dimtensor.errors import DimtensorError
from dimtensor.graph.beside import Beside
from dimtensor.tensor.evaluate import function
from dimtensor.tensor.inputs import tensor
from dimtensor.tensor.values import is_soon_computed

if TYPE_CHECKING:
    from dimtensor.dist.distribution import Distribution
    from dimtensor.graph import Node

_POINTS = 121
_MOST_BARS = 60
_DRAWS = 400
_TAIL = 0.01
# fraction of the highest density below which a curve ends
_VISIBLE = 0.01
# highest density that is drawn, in units of the mean
_HIGHEST = 12.0


class Curve(NamedTuple):
    """Values of a density.

    Attributes
    ----------
    x, y : ndarray
    discrete : bool
        Whether it is a probability mass function.
    """

    x: np.ndarray
    y: np.ndarray
    discrete: bool


# entries live as long as the data that parameters are computed from
_of_data: Beside[Curve | None] = Beside()


def curve_of(node: Node) -> Curve | None:
    """Compute the density of a scalar random variable; None if its parameters are not known."""
    spec, inputs = node.attrs.spec, node.inputs
    if all(x.kind == "constant" for x in inputs):
        return _of_numbers(spec, inputs)
    if node not in _of_data:
        _of_data.set(node, curve(spec.build(inputs)))
    return _of_data.get(node)


@bounded(256)
def _of_numbers(spec: Any, inputs: tuple[Node, ...]) -> Curve | None:
    return curve(spec.build(inputs))


def curve(d: Distribution) -> Curve | None:
    """Compute the density of a scalar distribution; None if its parameters are not known."""
    if d.dims or d.event_dims or not all(is_soon_computed(x.node) for x in d.parameters.values()):
        return None
    try:
        with np.errstate(all="ignore"):
            return _drawn(d)
    except DimtensorError:  # no density or draws, or parameters out of range: no picture
        return None


def _drawn(d: Distribution) -> Curve | None:
    density = _density(d)
    if d.categories is not None:
        length = d.categories.length
        if length is None or length > _MOST_BARS:
            return None
        labels = d.categories.coords
        places = np.arange(length)
        return Curve(places, density(places if labels is None else np.asarray(labels)), True)
    low, high = _bulk(d)
    if not (np.isfinite(low) and np.isfinite(high)):
        return None
    if d.discrete:
        step = max(1, math.ceil((high - low) / _MOST_BARS))
        whole = np.arange(math.floor(low), math.ceil(high) + 1, step)
        return Curve(whole, density(whole), True)
    for _ in range(3):  # with long tails the bulk is narrow in the first rounds
        room = 0.04 * (high - low)
        x = np.linspace(low - room, high + room, _POINTS)
        y = density(x)
        # infinite and very high densities are cut off
        y = np.minimum(y, _HIGHEST * y[np.isfinite(y)].mean())
        seen = x[y > _VISIBLE * y.max()]
        if not seen.size:  # it is zero or NaN everywhere
            return None
        low, high = seen.min(), seen.max()
    return Curve(x, y, False)


def _bulk(d: Distribution) -> tuple[float, float]:
    """Return quantiles that bound the bulk of a distribution, computed or from draws."""
    along = Dim("place")
    if d.implements("icdf"):
        q = tensor("q", dims=along)
        low, high = function([q], d.icdf(q), "python")(np.array([_TAIL, 1 - _TAIL])).values
        if np.isfinite(low) and np.isfinite(high) and low < high:
            return float(low), float(high)
    from dimtensor.random import generator

    drawn, _ = d.draw(generator(0), dims=Dim("draw", length=_DRAWS))
    low, high = np.quantile(function([], drawn, "python")().values, [_TAIL, 1 - _TAIL])
    return float(low), float(high)


def _density(d: Distribution) -> Callable[[np.ndarray], np.ndarray]:
    x = tensor("x", dims=Dim("place"), dtype=d.dtype, categories=d.categories)
    logp = function([x], d.logp(x), "python")

    def density(places: np.ndarray) -> np.ndarray:
        y = np.exp(logp(places).values)
        return np.where(np.isnan(y), 0.0, y)

    return density


# -- pictures --------------------------------------------------------------------------------------


def sparkline(found: Curve, width: float = 84.0, height: float = 20.0) -> Html:
    """Draw a curve as a small SVG, with its range as tooltip."""
    x, y, discrete = found
    top = y.max() if y.max() > 0 else 1.0
    bars = len(x) if discrete else 0
    across = (x - x[0]) / ((x[-1] - x[0]) or 1.0)
    left = (width - 2) / bars / 2 if bars else 0.0
    places = 1 + left + across * (width - 2 - 2 * left)
    heights = (height - 2) * (1 - y / top) + 1
    if discrete:
        thick = min(0.08 * width, 0.8 * (width - 2) / max(bars, 1))
        body = "".join(
            f'<rect x="{at - thick / 2:.1f}" y="{level:.1f}" width="{thick:.1f}" '
            f'height="{height - level:.1f}"/>'
            for at, level in zip(places, heights, strict=True)
        )
    else:
        line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(places, heights, strict=True))
        area = f"{places[0]:.1f},{height} {line} {places[-1]:.1f},{height}"
        body = f'<polygon points="{area}" fill-opacity=".3"/>'
        body += f'<polyline points="{line}" fill="none" stroke="currentColor"/>'
    title = f"from {x[0]:.3g} to {x[-1]:.3g}"
    return Html(
        f'<svg class="dt-density" role="img" width="{width:.0f}" height="{height:.0f}" '
        f'fill="currentColor" viewBox="0 0 {width:g} {height:g}">'
        f"<title>{escape(title)}</title>{body}</svg>"
    )
