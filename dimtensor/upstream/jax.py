"""JAX's cache of compiled code and its places in source, which it has no other way to."""

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


def short_places() -> AbstractContextManager[Any]:
    """Operations that are traced have one line as their place, not all calls that led there."""
    place: AbstractContextManager[Any] = config.include_full_tracebacks_in_locations(False)
    return place


def placed_at(file: str, line: int) -> AbstractContextManager[Any]:
    """Operations that are traced in the context have a line of a file as their place."""
    return source_info_util.user_context(_traceback(file, line))


# a call on the first line of its function, so that the number of that line is the number of both
_call = eval("lambda function: function()")


def place_of(equation: Any) -> tuple[str, str, int]:
    """The named scope, the file and the line of an operation of a trace."""
    source = equation.source_info
    frame = source_info_util.user_frame(source.traceback)
    scope = str(source.name_stack)
    return (scope, "", 0) if frame is None else (scope, frame.file_name, frame.start_line)


@bounded(4096)
def _traceback(file: str, line: int) -> Any:
    """JAX's view of a call on a line: a function is called that claims to be there."""
    code = _call.__code__.replace(co_filename=file, co_firstlineno=line)
    return FunctionType(code, {})(xla_client.Traceback.get_traceback)


def stablehlo_versions() -> dict[str, str]:
    """The version of StableHLO that modules are written in, and that of this JAX."""
    from jax._src.lib.mlir.dialects import hlo

    asked = hlo.StablehloCompatibilityRequirement.WEEK_4  # what jax.export asks for
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
    """The types of what the entry of a module takes and returns."""
    from jax._src.lib.mlir import ir

    main = ir.SymbolTable(module)["main"].type
    return list(main.inputs), list(main.results)


@contextmanager
def callback_errors() -> Iterator[list[BaseException]]:
    """The exceptions that callbacks raise meanwhile; XLA's error has their text alone."""
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
