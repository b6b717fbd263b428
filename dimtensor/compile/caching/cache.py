"""The cache of compiled code: in memory for this process, in a folder for others.

The key consists of the fingerprint of a graph, the backend and the environment. A hit skips
lowering, rewriting and code generation. Values of data are neither in the key nor in the entry.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dimtensor.backends import CompileOptions, Executable, compile_positional
from dimtensor.backends.folders import cache_folder
from dimtensor.backends.native.stored import Stored, load, stored_form
from dimtensor.backends.store import Entry, Store
from dimtensor.caches import clears
from dimtensor.compile.caching.description import Recipe, lower_description, recipe_of
from dimtensor.compile.caching.fingerprint import Description
from dimtensor.compile.caching.versions import environment
from dimtensor.forks import taken_at_forks
from dimtensor.settings import settings
from dimtensor.tuning import KEPT_FUNCTIONS

_kept: OrderedDict[str, CachedCode] = OrderedDict()
_lock = taken_at_forks(threading.Lock(), 4)


class CachedCode(NamedTuple):
    """Cached code, and how to use it for a graph with its fingerprint."""

    recipe: Recipe
    executable: Executable


def is_on() -> bool:
    """Return False if the environment variable ``DIMTENSOR_CACHE`` turns the cache off."""
    return settings().cache


def key_of(description: Description, backend: str, allow: Collection[str] = ()) -> str:
    """Return the cache key of a graph's code for a backend."""
    asked = settings()
    made_by = f"{backend} {asked.native} {sorted(asked.passes_off)} {environment()}"
    text = f"{made_by} {description.fingerprint} {sorted(allow)}"
    return hashlib.blake2b(text.encode(), digest_size=20).hexdigest()


def code_store() -> Store | None:
    """Return the store of code on disk, or None if there is no writable folder."""
    folder = cache_folder()
    return None if folder is None else Store(folder / "code", settings().cache_limit)


def find(
    key: str, description: Description, backend: str, allow: Collection[str] = ()
) -> CachedCode | None:
    """Look up code by its key, in memory and then on disk."""
    with _lock:
        kept = _kept.get(key)
        if kept is not None:
            _kept.move_to_end(key)
            return kept
    store = code_store()
    entry = store.read(key) if store is not None else None
    if store is None or entry is None:
        return None
    kept = _loaded(entry, description, backend, frozenset(allow))
    if kept is None:
        store.discard(key)
        return None
    _remember(key, kept)
    return kept


def keep(key: str, kept: CachedCode) -> None:
    """Add code to the cache, and to the store on disk if it can be serialized."""
    _remember(key, kept)
    executables = [one for one in (kept.executable, kept.executable.once) if one is not None]
    stored = [stored_form(one) for one in executables]
    store = None if None in stored else code_store()
    if store is None:
        return
    parts, blobs = [], []
    for one, code in zip(executables, stored, strict=True):
        assert code is not None
        constants = [np.ascontiguousarray(array) for array in one.constants]
        if any(array.dtype.kind not in "biufc" for array in constants):
            return
        shapes = [[array.dtype.str, np.shape(array)] for array in one.constants]
        parts.append({"kind": code.kind, "constants": shapes})
        blobs += [code.data, *(array.tobytes() for array in constants)]
    about = {"recipe": kept.recipe, "code": parts}
    store.write(key, Entry(about, tuple(blobs)))


@clears
def forget() -> None:
    """Empty the cache in memory."""
    with _lock:
        _kept.clear()


def _remember(key: str, kept: CachedCode) -> None:
    with _lock:
        _kept[key] = kept
        _kept.move_to_end(key)
        while len(_kept) > KEPT_FUNCTIONS:
            _kept.popitem(last=False)


def _loaded(
    entry: Entry, description: Description, backend: str, allow: frozenset[str]
) -> CachedCode | None:
    """Load the code of an entry, or return None if it is malformed or does not fit the graph."""

    def make() -> Executable:
        program, _ = lower_description(description)
        options = CompileOptions(allow=allow, given=len(description.form["inputs"]))
        return compile_positional(backend, program.inputs, program.outputs, options)

    def make_once() -> Executable:
        once = make().once
        assert once is not None
        return once

    try:
        blobs = iter(entry.blobs)
        loaded = []
        for part, again in zip(entry.about["code"], (make, make_once), strict=False):
            code = next(blobs)
            constants = [_array(dtype, shape, next(blobs)) for dtype, shape in part["constants"]]
            loaded.append(load(Stored(part["kind"], code), constants, again))
        if next(blobs, None) is not None:
            return None
        executable, *once = loaded
        if once:
            executable = replace(executable, once=once[0])
        recipe = recipe_of(entry.about["recipe"])
        return CachedCode(recipe, executable) if recipe.fits(description) else None
    except Exception:  # a bad entry is replaced by a new one, whatever is wrong with it
        return None


def _array(dtype: str, shape: Any, data: bytes) -> np.ndarray:
    if np.dtype(dtype).kind not in "biufc":
        raise TypeError(f"a constant is not of dtype {dtype}")
    return np.frombuffer(bytearray(data), dtype=dtype).reshape(tuple(shape))
