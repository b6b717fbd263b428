"""Renderers: the text, HTML, LaTeX and pictures of objects.

The display package provides them, formulas and pictures of graphs are those of plug-ins.
"""

from __future__ import annotations

from dimtensor.hooks import Hook

text = Hook("text")
html = Hook("HTML")
latex = Hook("LaTeX", plugin="typeset")
mathml = Hook("MathML", plugin="typeset")
picture = Hook("a picture", plugin="pictures")
# (model, most boxes) -> SVG, or None where there are more
plates = Hook("a plate diagram", plugin="pictures")
plots = Hook("plots")
# (model, draws, names, options) -> DataFrame
summaries = Hook("summaries of draws")
traceback_lines = Hook("the lines of a traceback")


class Rendered:
    """Base of classes whose text and HTML are registered."""

    __slots__ = ()

    def __repr__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)
