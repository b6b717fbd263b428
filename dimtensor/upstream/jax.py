"""JAX's compilation cache and source locations, which have no public interface."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FunctionType
from typing import Any

from jax._src import callback, compilation_cache, config, source_info_util
from jax._src.lib import xla_client

from dimtensor.caches import bounded


def users_cache_folder() -> str | None:
    """Return the folder of JAX's compilation cache that the user has set."""
    return config.compilation_cache_dir.value


def caching_is_on() -> bool:
    """Return True if JAX's compilation cache is on."""
    return bool(config.enable_compilation_cache.value)


def kept_at_once() -> tuple[Any, Any]:
    """Return settings of a thread that make JAX cache all compiled code."""
    return (
        config.persistent_cache_min_compile_time_secs(0.0),
        config.persistent_cache_min_entry_size_bytes(0),
    )


def cache_mutex() -> Any:
    """Return the lock for replacing the cache."""
    return compilation_cache._cache_initialized_mutex


def current_cache() -> tuple[Any, bool]:
    """Return JAX's cache, and whether it is initialized."""
    return compilation_cache._cache, compilation_cache._cache_initialized


def set_cache(cache: Any, initialized: bool) -> None:
    """Replace JAX's cache."""
    compilation_cache._cache = cache
    compilation_cache._cache_initialized = initialized


def short_places() -> AbstractContextManager[Any]:
    """Give operations traced in the context one line as their location, not the call stack."""
    place: AbstractContextManager[Any] = config.include_full_tracebacks_in_locations(False)
    return place


def placed_at(file: str, line: int) -> AbstractContextManager[Any]:
    """Give operations traced in the context a line of a file as their location."""
    return source_info_util.user_context(_traceback(file, line))


# a call on the first line of its function: both have the same line number
_call = eval("lambda function: function()")


def place_of(equation: Any) -> tuple[str, str, int]:
    """Return the named scope, file and line of a traced operation."""
    source = equation.source_info
    frame = source_info_util.user_frame(source.traceback)
    scope = str(source.name_stack)
    return (scope, "", 0) if frame is None else (scope, frame.file_name, frame.start_line)


@bounded(4096)
def _traceback(file: str, line: int) -> Any:
    """Return JAX's traceback of a line, by a call of a function compiled for that line."""
    code = _call.__code__.replace(co_filename=file, co_firstlineno=line)
    return FunctionType(code, {})(xla_client.Traceback.get_traceback)


def coordination() -> Any:
    """Return the client of the service that ``jax.distributed.initialize`` starts."""
    from jax._src import distributed

    return distributed.global_state.client


def stablehlo_versions() -> dict[str, str]:
    """Return the StableHLO version of exported modules, and that of this JAX."""
    from jax._src.lib.mlir.dialects import hlo

    asked = hlo.StablehloCompatibilityRequirement.WEEK_4  # the version that jax.export requests
    return {
        "stablehlo": hlo.get_version_from_compatibility_requirement(asked),
        "stablehlo_here": hlo.get_current_version(),
    }


@contextmanager
def opened_module(exported: Any) -> Iterator[Any]:
    """Parse the module of an exported function in a new MLIR context."""
    from jax._src.interpreters import mlir

    with mlir.make_ir_context():
        yield exported.mlir_module(serialized=False).operation


def types_of_main(module: Any) -> tuple[list[Any], list[Any]]:
    """Return the argument and result types of the entry function of a module."""
    from jax._src.lib.mlir import ir

    main = ir.SymbolTable(module)["main"].type
    return list(main.inputs), list(main.results)


@contextmanager
def callback_errors() -> Iterator[list[BaseException]]:
    """Collect exceptions of callbacks in the context; XLA's error has only their text."""
    found: list[BaseException] = []

    def note(record: logging.LogRecord) -> bool:
        if record.exc_info and record.exc_info[1] is not None:
            found.append(record.exc_info[1])
        return True

    callback.logger.addFilter(note)
    try:
        yield found
    finally:
        callback.logger.removeFilter(note)
