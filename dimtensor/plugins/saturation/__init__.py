"""Rewriting by cost: the cheapest of the expressions that equal a given one."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dimtensor.compile.function import cheaper_outputs
from dimtensor.dims import Dim
from dimtensor.errors import printable
from dimtensor.graph.node import Node
from dimtensor.plugins.saturation.derivatives import simplified
from dimtensor.plugins.saturation.frontend import Simplified as Simplified
from dimtensor.plugins.saturation.frontend import simplify as simplify
from dimtensor.plugins.saturation.reprs import rewritten_html, rewritten_text
from dimtensor.renderers import html, text


@cheaper_outputs.provides(list)
def _simplified_outputs(
    outputs: list[Node], lengths: Mapping[Dim, int] | None, allow: Collection[str], once: bool
) -> list[Node]:
    return simplified(outputs, lengths, allow, once).outputs


text.provides(Simplified)(printable(rewritten_text))
html.provides(Simplified)(rewritten_html)
