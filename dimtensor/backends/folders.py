"""Folder in which compiled code is kept between processes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from dimtensor.files import make_private
from dimtensor.settings import home, settings


def cache_folder() -> Path | None:
    """Return the cache folder of dimtensor, and create it if it does not exist.

    It is the one named by the environment variable ``DIMTENSOR_CACHE_DIR``, else ``dimtensor`` in
    the user's cache folder of the platform. None if ``DIMTENSOR_CACHE`` is 0, or if the folder
    cannot be made or written to.
    """
    asked = settings()
    if not asked.cache:
        return None
    try:
        chosen = asked.cache_folder
        if chosen.startswith("~") and home() is None:
            return None
        folder = Path(chosen).expanduser().absolute() if chosen else _user_caches() / "dimtensor"
        if _is_usable(folder):
            return folder
        make_private(folder)
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return None
    return folder if _is_usable(folder) else None


def _is_usable(folder: Path) -> bool:
    # a file has no such entry
    return os.access(os.path.join(folder, "."), os.R_OK | os.W_OK | os.X_OK)


def _user_caches() -> Path:
    """Return the platform's folder for caches of the user."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    # relative paths are to be ignored, says the XDG base directory specification
    if sys.platform != "darwin" and os.path.isabs(chosen):
        return Path(chosen)
    found = home()
    if found is None:
        raise RuntimeError("there is no home folder")
    return Path(found, *(("Library", "Caches") if sys.platform == "darwin" else (".cache",)))
