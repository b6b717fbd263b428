"""``python -m dimtensor cache``: look at what is kept between processes, and clear it."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from dimtensor.backends.folders import cache_folder
from dimtensor.compile.caching.cache import code_store

_PARTS = {"code": "kernels for numba", "jax": "what XLA compiled"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m dimtensor", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    cache = commands.add_parser("cache", help="compiled code that is kept between processes")
    cache.add_argument(
        "action",
        nargs="?",
        default="show",
        choices=("show", "list", "path", "clear"),
        help="show: folder and sizes; list: every entry; path: the folder; clear: remove all",
    )
    action = parser.parse_args(arguments).action
    folder = cache_folder()
    if folder is None:
        print("nothing is kept: DIMTENSOR_CACHE is 0, or the folder cannot be made or written to")
        return 1
    if action == "path":
        print(folder)
    elif action == "clear":
        _clear(folder)
    else:
        _show(folder, each=action == "list")
    return 0


def _show(folder: Path, each: bool) -> None:
    store = code_store()
    print(folder)
    for part, what in _PARTS.items():
        files = _files(folder / part)
        size = sum(size for _, size, _ in files)
        most = f" of at most {_megabytes(store.limit)}" if store and part == "code" else ""
        noun = "entry" if len(files) == 1 else "entries"
        print(f"{part:<5} {len(files):>6} {noun}, {_megabytes(size)}{most} ({what})")
        for path, size, used in sorted(files, key=lambda file: -file[2]) if each else ():
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(used))
            print(f"  {when} {size:>10} {path.name}")


def _clear(folder: Path) -> None:
    store = code_store()
    removed = store.clear() if store is not None else 0
    for path, _, _ in _files(folder / "jax"):
        with contextlib.suppress(OSError):
            path.unlink()
            removed += 1
    print(f"{removed} entr{'y' if removed == 1 else 'ies'} removed from {folder}")


def _files(folder: Path) -> list[tuple[Path, int, float]]:
    """Files with their sizes and when they were used last."""
    found = []
    for path in folder.glob("*"):
        with contextlib.suppress(OSError):  # another process may remove it
            about = path.stat()
            if path.is_file():
                found.append((path, about.st_size, about.st_mtime))
    return found


def _megabytes(size: float) -> str:
    return f"{size / 2**20:.1f} MB"


if __name__ == "__main__":
    sys.exit(main())
