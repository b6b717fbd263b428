"""Renderers: the text, HTML, LaTeX and pictures of objects, which the display package provides."""

from __future__ import annotations

from dimtensor.hooks import Hook

text = Hook("text")
html = Hook("HTML")
latex = Hook("LaTeX")
picture = Hook("a picture")
plots = Hook("plots")
traceback_lines = Hook("the lines of a traceback")


class Rendered:
    """Base of classes whose text and HTML are registered."""

    __slots__ = ()

    def __repr__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)
