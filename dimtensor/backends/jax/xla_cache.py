"""XLA's compilations kept on disk between processes, through JAX's persistent cache.

JAX has one such cache in a process, set by its configuration. A cache that the user has set is
used as it is. Where there is none, one of ours takes its place while our code is compiled, in one
thread, and the configuration is what it was afterwards.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable

from dimtensor.backends.folders import cache_folder
from dimtensor.backends.store import Entry, Store
from dimtensor.forks import taken_at_forks
from dimtensor.kernels.native.linking.processor import processor
from dimtensor.settings import settings
from dimtensor.tuning import XLA_CACHE_SHARE

_swapping = taken_at_forks(threading.RLock(), 3)


def xla_store() -> Store | None:
    """Return the store of what XLA compiled; None where there is no folder to write to."""
    folder = cache_folder()
    if folder is None:
        return None
    keys = r"[\w.-]+-[0-9a-f]{12}"  # that of JAX and the processor
    return Store(folder / "jax", XLA_CACHE_SHARE * settings().cache_limit, suffix="", keys=keys)


class XlaCache:
    """Executables of XLA in a store, in the shape in which JAX wants to see a cache."""

    def __init__(self, store: Store):
        # the name under which JAX logs a cache
        self._path = store.folder
        self._store = store

    def get(self, key: str) -> bytes | None:
        """Return the entry of a key."""
        entry = self._store.read(_of_this_processor(key))
        return entry.blobs[0] if entry is not None and len(entry.blobs) == 1 else None

    def put(self, key: str, value: bytes) -> None:
        """Keep a value under a key."""
        self._store.write(_of_this_processor(key), Entry({}, (value,)))


def _of_this_processor(key: str) -> str:
    """Append a name of the processor to a key, as machines that share a folder may differ."""
    return f"{key}-{hashlib.sha256(processor().encode()).hexdigest()[:12]}"


def persistently[T](compiled: Callable[[], T]) -> T:
    """Call a function; what XLA compiles in this thread meanwhile uses the disk cache."""
    try:
        from dimtensor.upstream import jax as upstream

        off = upstream.users_cache_folder() is not None or not upstream.caching_is_on()
        mutex, (often, small) = upstream.cache_mutex(), upstream.kept_at_once()
        before = upstream.current_cache()
    except (ImportError, AttributeError):  # a JAX that keeps its cache otherwise
        return compiled()
    store = None if off else xla_store()
    if store is None:
        return compiled()
    cache = XlaCache(store)

    def restore() -> None:
        with mutex:
            if upstream.current_cache()[0] is cache:  # another thread may have made one meanwhile
                upstream.set_cache(*before)

    with _swapping:
        with mutex:
            before = upstream.current_cache()
        try:
            with mutex:
                upstream.set_cache(cache, True)
            with often, small:
                return compiled()
        finally:
            try:
                restore()
            except BaseException:  # it was interrupted
                restore()
                raise
