"""llvmlite's pass managers."""

from __future__ import annotations

from typing import Any

from llvmlite.binding.newpassmanagers import NewPassManager


def run_and_dispose(passes: Any, module: Any, builder: Any) -> None:
    """Run a pass manager and free it.

    Its own ``close`` finds the empty ``_dispose`` of a base class and frees nothing: 0.12 MB for
    each module that is optimized.
    """
    try:
        passes.run(module, builder)
    finally:
        NewPassManager._dispose(passes)
        passes.detach()
