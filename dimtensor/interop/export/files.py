"""Files of an exported function: names, size limits, and reading with checks."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Any

from dimtensor.errors import ExportError
from dimtensor.extras import check_installed

FORMAT = 2
MODULE, TEXT, PORTABLE, MANIFEST, LOADER, DATA = (
    "function.jax", "module.mlir", "module.stablehlo", "manifest.json", "load.py", "data.npz",
)  # fmt: skip
ALL = (MODULE, TEXT, PORTABLE, LOADER, DATA, MANIFEST)
# Bytes of the files that are read; JAX's own format holds 2 GiB.
LARGEST = {MODULE: 2 << 30, MANIFEST: 64 << 20, DATA: 16 << 30}
_CHUNK = 1 << 20


def require_libraries() -> None:
    """Check that JAX and its serialization library are installed.

    Raises
    ------
    MissingExtraError
        If one is not.
    """
    check_installed("jax", "export", "an exported function")
    check_installed("flatbuffers", "export", "an exported function")


def as_path(path: Any, name: str) -> Path:
    """Return a path that a user gave.

    Raises
    ------
    ExportError
        If it is none.
    """
    try:
        found = os.fsdecode(path)
        os.fsencode(found)
    except (TypeError, UnicodeError) as error:
        raise ExportError(f"{name} takes the path of a folder, not {path!r}") from error
    if not found or "\0" in found:
        raise ExportError(f"{name} takes the path of a folder, not {found!r}")
    return Path(found)


def read_file(folder: Path, name: str, about: dict[str, Any] | None = None) -> bytearray:
    """Read a file of an exported function.

    Parameters
    ----------
    folder : Path
    name : str
    about : dict, optional
        Size and hash of its contents in the manifest.

    Raises
    ------
    ExportError
        If it is not a regular file, too large, or does not match the manifest.
    OSError
        If it cannot be read.
    """
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # a FIFO would wait
    path = folder / name
    if path.is_symlink():
        raise refused(folder, name, "it is a symbolic link", "copy the folder with its files")
    with os.fdopen(os.open(path, flags), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise refused(folder, name, "it is no regular file")
        if found.st_size > LARGEST[name]:
            reason = f"it has {found.st_size} bytes, and may have {LARGEST[name]}"
            raise refused(folder, name, reason)
        if about is not None and found.st_size != about["size"]:
            raise _damaged(folder, name, f"{found.st_size} bytes, not {about['size']}")
        content = bytearray(found.st_size)
        count = file.readinto(content)
        if count != len(content) or file.read(1):
            raise _damaged(folder, name, "its length changed while it was read")
    if about is not None and checksum(content) != about["sha256"]:
        raise _damaged(folder, name, "another content")
    return content


def checksum(content: bytes | bytearray) -> str:
    """Return the SHA-256 of the contents of a file, as text."""
    return hashlib.sha256(content).hexdigest()


def file_entry(path: Path) -> dict[str, Any]:
    """Return the size and the hash of a file, for the manifest."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return {"size": size, "sha256": digest.hexdigest()}


def refused(folder: Path, name: str, reason: object, hint: str | None = None) -> ExportError:
    """Return the error for a file that is not one of an exported function."""
    return ExportError(
        f"the exported function in {str(folder)!r} is not read",
        [("file", name), ("reason", reason)],
        hint,
    )


def _damaged(folder: Path, name: str, difference: str) -> ExportError:
    reason = f"it is not the file that was exported: {difference}"
    return refused(folder, name, reason, "copy the folder again, or export the function again")
