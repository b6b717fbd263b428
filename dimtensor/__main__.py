"""``python -m dimtensor cache``: list and clear the cache on disk."""

from __future__ import annotations

import argparse
import io
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from dimtensor.backends.folders import cache_folder
from dimtensor.backends.jax.xla_cache import xla_store
from dimtensor.backends.store import Store
from dimtensor.compile.caching.cache import code_store

_PARTS = {"code": ("machine code of kernels", code_store), "jax": ("what XLA compiled", xla_store)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit status."""
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


def _stores() -> list[tuple[str, str, Store]]:
    """Return the parts of the cache: short name, description and store of each."""
    found = [(part, what, opened()) for part, (what, opened) in _PARTS.items()]
    return [(part, what, store) for part, what, store in found if store is not None]


def _show(folder: Path, each: bool) -> None:
    print(folder)
    for part, what, store in _stores():
        files = store.files()
        size = _megabytes(sum(file.size for file in files))
        noun = "entry" if len(files) == 1 else "entries"
        most = _megabytes(store.limit)
        print(f"{part:<5} {len(files):>6} {noun}, {size} of at most {most} ({what})")
        for file in reversed(files) if each else ():
            print(f"  {_when(file.used)} {file.size:>10} {file.name}")


def _clear(folder: Path) -> None:
    removed = sum(store.clear() for _, _, store in _stores())
    print(f"{removed} entr{'y' if removed == 1 else 'ies'} removed from {folder}")


def _when(moment: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))
    except (OverflowError, ValueError, OSError):  # a clock may have been wrong by any amount
        return f"{'?':^16}"


def _megabytes(size: float) -> str:
    return f"{size / 2**20:.1f} MB"


def _command() -> int:
    """Run the command as the main program; a failed write is reported in one line."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of folders are bytes of any kind
        by_bytes = sys.stdout.encoding.lower() in ("utf-8", "utf8")
        sys.stdout.reconfigure(errors="surrogateescape" if by_bytes else "backslashreplace")
    try:
        status = main()
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):  # of `| head`
            print(f"python -m dimtensor: {error.strerror or error}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python writes the rest at its exit
        return 1
    return status


if __name__ == "__main__":
    sys.exit(_command())
