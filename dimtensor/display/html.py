"""HTML reprs for notebooks."""

from __future__ import annotations

from html import escape
from typing import Any


def dim_html(dim: Any) -> str:
    """A dim."""
    return f"<pre>{escape(repr(dim))}</pre>"


def tensor_html(x: Any) -> str:
    """A tensor."""
    return f"<pre>{escape(repr(x))}</pre>"
