"""The files of an exported function, and what they are written and read with."""

from __future__ import annotations

from dimtensor.interop.extras import check_installed

FORMAT = 1
MODULE, TEXT, PORTABLE, MANIFEST, LOADER, DATA = (
    "function.jax", "module.mlir", "module.stablehlo", "manifest.json", "load.py", "data.npz",
)  # fmt: skip


def require_libraries() -> None:
    """Check that JAX and what it serialises with are installed.

    Raises
    ------
    MissingExtraError
        If one is not.
    """
    check_installed("jax", "export", "an exported function")
    check_installed("flatbuffers", "export", "an exported function")
