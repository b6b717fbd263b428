"""Text, HTML and pictures of dims, tensors and graphs."""

from __future__ import annotations

from typing import Any

from dimtensor.display.html import dim_html, tensor_html
from dimtensor.display.text import tensor_text

__all__ = ["dim_html", "tensor_html", "tensor_text"]


def __dir__() -> list[Any]:
    return list(__all__)
