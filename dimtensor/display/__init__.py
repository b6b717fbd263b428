"""Text, HTML and pictures of dims, tensors and graphs."""

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
    tensor_latex,
)
from dimtensor.display.text import dim_text_long, tensor_text

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
    "tensor_latex",
    "tensor_text",
]
