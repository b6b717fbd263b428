"""XLA's compilations kept on disk between processes, through JAX's persistent cache.

JAX has one such cache in a process, set by its configuration. A cache that the user has set is
used as it is. Where there is none, one of ours takes its place while our code is compiled, in one
thread, and the configuration is what it was afterwards.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

from dimtensor.backends.folders import cache_folder

# the oldest entries go when there is more than this
LIMIT_BYTES = 512 * 2**20

_swapping = threading.RLock()
_NAME = re.compile(r"[\w.-]+")
_DIGEST_BYTES = hashlib.sha256().digest_size


class XlaCache:
    """Executables of XLA in a folder, in the shape in which JAX wants to see a cache.

    An entry appears at once and whole: it is written under another name and moved. It begins with
    its checksum; what does not fit to that is no entry. Whatever goes wrong with the disk, the code
    is compiled.
    """

    def __init__(self, folder: Path, limit: int = LIMIT_BYTES):
        # the name under which JAX logs a cache
        self._path = folder
        self._limit = limit

    def get(self, key: str) -> bytes | None:
        """The entry of a key."""
        path = self._file(key)
        if path is None:
            return None
        try:
            stored = path.read_bytes()
            os.utime(path)  # used last now
        except OSError:
            return None
        value = stored[_DIGEST_BYTES:]
        return value if hashlib.sha256(value).digest() == stored[:_DIGEST_BYTES] else None

    def put(self, key: str, value: bytes) -> None:
        """Keep a value under a key."""
        path = self._file(key)
        if path is None:
            return
        try:
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, unfinished = tempfile.mkstemp(dir=self._path, suffix=".unfinished")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(hashlib.sha256(value).digest() + value)
                os.replace(unfinished, path)
            except BaseException:
                os.unlink(unfinished)
                raise
            self._make_room()
        except OSError:
            return

    def _file(self, key: str) -> Path | None:
        return self._path / f"{key}-{_processor()}" if _NAME.fullmatch(key) else None

    def _make_room(self) -> None:
        """Remove what was used longest ago, and what a killed process left unfinished."""
        entries = []
        for path in self._path.iterdir():
            try:
                state = path.stat()
            except FileNotFoundError:  # another process makes room, too
                continue
            entries.append((state.st_mtime, state.st_size, path))
        excess = sum(size for _, size, _ in entries) - self._limit
        for _, size, path in sorted(entries):
            if excess <= 0:
                break
            path.unlink(missing_ok=True)
            excess -= size


@cache
def _processor() -> str:
    """A name for what the processor can do: machines that share a folder need not be alike."""
    features = platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        features += next(line for line in lines if line.lower().startswith(("flags", "features")))
    except (OSError, StopIteration):  # not Linux
        pass
    return hashlib.sha256(f"{platform.machine()} {features}".encode()).hexdigest()[:12]


@contextmanager
def persistent_cache() -> Iterator[None]:
    """Let this thread's XLA compilations use the disk cache."""
    with ExitStack() as stack:
        try:
            _enter(stack)
        except (ImportError, AttributeError):  # a JAX that keeps its cache otherwise
            stack.close()
        yield


def _enter(stack: ExitStack) -> None:
    from dimtensor.upstream import jax as upstream

    if upstream.users_cache_folder() is not None or not upstream.caching_is_on():
        return
    folder = cache_folder()
    if folder is None:
        return
    stack.enter_context(_swapping)
    stack.enter_context(_in_place(XlaCache(folder / "jax")))
    for setting in upstream.kept_at_once():
        stack.enter_context(setting)


@contextmanager
def _in_place(cache: XlaCache) -> Iterator[None]:
    """A cache in the place of JAX's, which another thread may have made meanwhile."""
    from dimtensor.upstream import jax as upstream

    mutex = upstream.cache_mutex()
    with mutex:
        before = upstream.current_cache()
        upstream.set_cache(cache, True)
    try:
        yield
    finally:
        with mutex:
            if upstream.current_cache()[0] is cache:
                upstream.set_cache(*before)
