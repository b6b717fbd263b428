"""Text, HTML and pictures of dims, tensors and graphs."""

from dimtensor.dims import Dim
from dimtensor.display.html import (
    Html,
    Section,
    card,
    dim_html,
    function_html,
    preformatted,
    styled,
    table,
    tensor_html,
)
from dimtensor.display.text import dim_text_long, tensor_text
from dimtensor.display.traceback import rendered
from dimtensor.errors import DimtensorError
from dimtensor.renderers import html, traceback_lines

__all__ = [
    "Html",
    "Section",
    "card",
    "dim_html",
    "dim_text_long",
    "function_html",
    "preformatted",
    "styled",
    "table",
    "tensor_html",
    "tensor_text",
]

html.provides(Dim)(dim_html)
traceback_lines.provides(DimtensorError)(rendered)
