"""Parts of numba's compiler."""

from __future__ import annotations

from numba.core import cgutils, types
from numba.core.errors import NumbaError
from numba.extending import intrinsic

__all__ = ["NumbaError", "cgutils", "intrinsic", "types"]
