"""Where compiled code is kept between processes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from dimtensor.settings import settings


def cache_folder() -> Path | None:
    """The folder of what dimtensor keeps between processes, made if need be.

    It is the one named by the environment variable ``DIMTENSOR_CACHE_DIR``, else ``dimtensor`` in
    the user's cache folder of the platform. None if ``DIMTENSOR_CACHE`` is 0, or if the folder
    cannot be made or written to.
    """
    asked = settings()
    if not asked.cache:
        return None
    try:
        chosen = asked.cache_folder
        folder = Path(chosen).expanduser().absolute() if chosen else _user_caches() / "dimtensor"
        # code is loaded from here: only the user may write it
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return None
    return folder if os.access(folder, os.R_OK | os.W_OK | os.X_OK) else None


def _user_caches() -> Path:
    """The folder of the platform for files that can be made again."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    # relative paths are to be ignored, says the XDG base directory specification
    return Path(chosen) if os.path.isabs(chosen) else Path.home() / ".cache"
