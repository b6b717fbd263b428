"""JAX's cache of compiled code, which it has no other way to."""

from __future__ import annotations

from typing import Any

from jax._src import compilation_cache, config


def users_cache_folder() -> str | None:
    """The folder in which the user lets JAX keep what it compiles."""
    return config.compilation_cache_dir.value


def caching_is_on() -> bool:
    """Whether JAX may keep what it compiles."""
    return bool(config.enable_compilation_cache.value)


def kept_at_once() -> tuple[Any, Any]:
    """Settings of the thread under which JAX keeps everything that it compiles."""
    return (
        config.persistent_cache_min_compile_time_secs(0.0),
        config.persistent_cache_min_entry_size_bytes(0),
    )


def cache_mutex() -> Any:
    """What is held while the cache is exchanged."""
    return compilation_cache._cache_initialized_mutex


def current_cache() -> tuple[Any, bool]:
    """JAX's cache, and whether it has been made."""
    return compilation_cache._cache, compilation_cache._cache_initialized


def set_cache(cache: Any, initialized: bool) -> None:
    """Put a cache in the place of JAX's."""
    compilation_cache._cache = cache
    compilation_cache._cache_initialized = initialized
