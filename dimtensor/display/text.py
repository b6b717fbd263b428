"""Text reprs."""

from __future__ import annotations

from typing import Any


def tensor_text(x: Any) -> str:
    """One line on a tensor: name, dims with lengths, dtype."""
    sizes = ", ".join(f"{k}: {'?' if n is None else n}" for k, n in x.sizes.items())
    return f"<DimTensor {x.name or ''} ({sizes}) {x.dtype}>"
