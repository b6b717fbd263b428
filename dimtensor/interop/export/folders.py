"""Atomic writing of a folder: after an error nothing has changed."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dimtensor.errors import DimtensorError, ExportError
from dimtensor.interop.export.files import ALL, MANIFEST

_PATIENCE = 10.0  # seconds to wait for another process that exports to the folder


def require_place(path: Path) -> None:
    """Check, before anything is computed, that a folder can be created or written to.

    Raises
    ------
    ExportError
        If it cannot.
    """
    try:
        at = Path(os.path.realpath(path))
        while not at.exists():
            at = at.parent
        if not at.is_dir():
            raise NotADirectoryError(None, "a file, not a folder", str(at))
        if not os.access(at, os.W_OK | os.X_OK):
            raise PermissionError(None, "Permission denied", str(at))
    except (OSError, ValueError) as error:
        raise _not_written(path, error) from error


def write_folder(path: Path, write: Callable[[Path], None]) -> None:
    """Write files to a staging folder, and move them to their place when all are written.

    An existing folder keeps its files until then, and keeps files that are not part of an export.

    Parameters
    ----------
    path : Path
    write : callable
        Writes the files into the folder that it is called with.

    Raises
    ------
    ExportError
        If the files cannot be written; the folder is unchanged then.
    """
    target = Path(os.path.realpath(path))
    try:
        with _parents(target), _stage(target) as stage:
            write(stage)
            if not target.is_dir():
                try:
                    os.rename(stage, target)
                    return
                except OSError:
                    if not target.is_dir():  # else another process has just made it
                        raise
            with _locked(target):
                _exchange(stage, target)
    except (OSError, ValueError) as error:
        if isinstance(error, DimtensorError):
            raise
        raise _not_written(path, error) from error


@contextlib.contextmanager
def _parents(target: Path) -> Iterator[None]:
    """Create missing parents of a folder, and remove them after an error."""
    made = []
    try:
        for parent in reversed(target.parents):
            if not parent.exists():
                parent.mkdir(exist_ok=True)
                made.append(parent)
        yield
    except BaseException:
        for parent in reversed(made):
            with contextlib.suppress(OSError):
                parent.rmdir()
        raise


@contextlib.contextmanager
def _stage(target: Path) -> Iterator[Path]:
    """Create a staging folder on the file system of the target, removed at the end."""
    inside = target if target.is_dir() else target.parent
    stage = inside / f".export-{secrets.token_hex(8)}"
    stage.mkdir()
    try:
        yield stage
    finally:
        try:
            shutil.rmtree(stage)
        except OSError:
            shutil.rmtree(stage, ignore_errors=True)
        except BaseException:  # an interruption
            shutil.rmtree(stage, ignore_errors=True)
            raise


def _exchange(stage: Path, target: Path) -> None:
    """Replace the files of the target by those of the stage; roll back after an error.

    The manifest is removed first and written last, since a folder without it is not loaded.
    """
    for name in ALL:
        if (target / name).is_dir() and not (target / name).is_symlink():
            raise IsADirectoryError(None, "a folder is where a file goes", str(target / name))
    before = stage / "before"
    before.mkdir()
    moved: list[tuple[Path, Path]] = []

    def move(old: Path, new: Path) -> None:
        if os.path.lexists(old):
            moved.append((old, new))
            os.rename(old, new)

    try:
        for name in (MANIFEST, *ALL):
            move(target / name, before / name)
        for name in ALL:
            move(stage / name, target / name)
    except BaseException:
        for old, new in reversed(moved):
            if os.path.lexists(new) and not os.path.lexists(old):
                os.rename(new, old)
        raise


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock of a folder, where the system supports it."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle: Any = os.open(folder, os.O_RDONLY)
    try:
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)
            except OSError:  # a network file system without locks
                break
        yield
    finally:
        os.close(handle)


def _not_written(path: Path, error: Exception) -> ExportError:
    reason = getattr(error, "strerror", None) or str(error)
    at = getattr(error, "filename", None)
    return ExportError(
        f"the function is not exported: nothing can be written to {str(path)!r}",
        [("reason", reason if at is None else f"{reason}: {str(at)!r}")],
        "give the path of a folder that may be made or written to",
    )
