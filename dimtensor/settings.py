"""Settings from environment variables, read in one place."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, Literal

_MEGABYTE = 2**20
# some ten thousand kernels, a number that is quick to list when one is added
DEFAULT_CACHE_LIMIT = 128 * _MEGABYTE


def _off_by_zero(text: str) -> bool:
    return text != "0"


def _on(text: str) -> bool:
    return text not in ("", "0")


def _asked(text: str) -> bool | None:
    return {"0": False, "1": True}.get(text)


def _native(text: str) -> str:
    return {"0": "off", "strict": "strict"}.get(text, "on")


def _limit(text: str) -> int:
    try:
        asked = float(text)
    except ValueError:
        asked = math.nan
    return int(asked * _MEGABYTE) if math.isfinite(asked) else DEFAULT_CACHE_LIMIT


def _without(text: str) -> frozenset[str]:
    names = (each.strip() for each in text.split(","))
    return frozenset(each[1:] for each in names if each.startswith("-"))


def _variable(name: str, read: Callable[[str], Any]) -> Any:
    return field(metadata={"variable": f"DIMTENSOR_{name}", "read": read})


@dataclass(frozen=True)
class Settings:
    """Settings of dimtensor in the environment.

    A variable that is not set, or has an unknown value, leaves the default.

    Attributes
    ----------
    cache : bool
        Cache compiled code on disk and in memory; off if ``DIMTENSOR_CACHE`` is 0.
    cache_folder : str
        ``DIMTENSOR_CACHE_DIR``: the folder; empty for the platform's cache folder of the user.
    cache_limit : int
        Maximal bytes on disk; ``DIMTENSOR_CACHE_LIMIT`` in megabytes, by default 128.
    native : {"on", "off", "strict"}
        Compile kernels to machine code without numba. ``DIMTENSOR_NATIVE`` is 0 for "off", or
        ``strict`` for an error where that is not possible.
    strict_kernels : bool
        ``DIMTENSOR_STRICT_KERNELS``: raise for graphs that the kernel compiler does not support.
    keep_memory : bool
        ``DIMTENSOR_KEEP_MEMORY``: let the C library keep freed memory, in the whole process.
    blas_threads : bool
        ``DIMTENSOR_BLAS_THREADS``: let kernels that are loaded from now on start threads of BLAS.
    verify : bool
        ``DIMTENSOR_VERIFY``: check every node of every graph that is lowered, and the loops of
        kernels before and after each pass.
    passes_off : frozenset of str
        ``DIMTENSOR_PASSES``: names of passes, of steps of the optimizer and of rules, each
        after a minus, that are switched off.
    progress : bool or None
        Show the progress of long work: ``DIMTENSOR_PROGRESS`` 0 or 1, which differs from None only
        in logs, whose first line it writes earlier.
    completion : bool
        Complete names of dims and labels in IPython; off if ``DIMTENSOR_COMPLETION`` is 0.
    full_traceback : bool
        Show internal frames of errors in IPython: ``DIMTENSOR_TRACEBACK`` is ``full``.

    Examples
    --------
    >>> from dimtensor.settings import Settings
    >>> Settings.of({"DIMTENSOR_CACHE": "0", "DIMTENSOR_CACHE_LIMIT": "2"}).cache_limit
    2097152
    """

    cache: bool = _variable("CACHE", _off_by_zero)
    cache_folder: str = _variable("CACHE_DIR", str)
    cache_limit: int = _variable("CACHE_LIMIT", _limit)
    native: Literal["on", "off", "strict"] = _variable("NATIVE", _native)
    strict_kernels: bool = _variable("STRICT_KERNELS", _on)
    keep_memory: bool = _variable("KEEP_MEMORY", _on)
    blas_threads: bool = _variable("BLAS_THREADS", _on)
    verify: bool = _variable("VERIFY", _on)
    passes_off: frozenset[str] = _variable("PASSES", _without)
    progress: bool | None = _variable("PROGRESS", _asked)
    completion: bool = _variable("COMPLETION", _off_by_zero)
    full_traceback: bool = _variable("TRACEBACK", "full".__eq__)

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Settings:
        """Read the settings from an environment."""
        return _settings_of(tuple(environment.get(name, "") for name in VARIABLES))


VARIABLES = tuple(one.metadata["variable"] for one in fields(Settings))


@lru_cache(maxsize=16)
def _settings_of(texts: tuple[str, ...]) -> Settings:
    pairs = zip(fields(Settings), texts, strict=True)
    return Settings(**{one.name: one.metadata["read"](text.strip()) for one, text in pairs})


def settings() -> Settings:
    """Return the current settings of the process."""
    return Settings.of(os.environ)


def home() -> str | None:
    """Return the user's home folder, None without one."""
    asked = os.environ.get("HOME")
    if asked is None:
        asked = os.path.expanduser("~")
    return asked if os.path.isabs(asked) and os.path.isdir(asked) else None


@contextmanager
def with_home(folder: str) -> Iterator[None]:
    """Set another home folder of the process in the context.

    PyTensor's settings are still those in the user's home folder.
    """
    now = {"HOME": folder}
    if (own := home()) is not None:
        now["PYTENSORRC"] = os.environ.get("PYTENSORRC", os.path.join(own, ".pytensorrc"))
    before = {name: os.environ.get(name) for name in now}
    os.environ.update(now)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def inherited() -> dict[str, str]:
    """Return the environment for a subprocess."""
    return dict(os.environ)
