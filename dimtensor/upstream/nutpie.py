"""Undocumented parts of nutpie."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable
from typing import Any

from nutpie import _lib

# text of the error of a timeout
_NOT_YET = "Timeout while waiting"


def settings_of(kind: str) -> Any:
    """Return the settings class of a kind of adaptation; None in another version."""
    make = getattr(getattr(_lib, "PyNutsSettings", None), kind, None)
    settings = None if make is None else make(0)
    return settings if hasattr(settings, "update") and hasattr(settings, "as_dict") else None


def settings_text(running: Any) -> str | None:
    """Return nutpie's settings of a running sampler as JSON; None in another version."""
    settings = getattr(running, "_settings", None)
    return None if settings is None else json.dumps(settings.as_dict())


def is_not_yet(error: TimeoutError) -> bool:
    """Return True if an error means that a sampler runs, False for one of a signal handler."""
    return str(error).startswith(_NOT_YET)


def drop_released() -> None:
    """Drop references that nutpie's threads released without the GIL."""
    _lib.ProgressType.none()  # any call does it


def with_samplers_seen(model: Any, seen: Callable[[Any], Callable[[Any], None]]) -> Any:
    """Wrap a model so that a function is called with each sampler made of it.

    Parameters
    ----------
    model : CompiledModel
        Of nutpie.
    seen : callable
        Is called with a copy of the model, which lives as long as the sampler's threads may call
        Python, before they start; what it returns is called with the sampler.
    """
    kind = type(model)

    class Seen(kind):  # type: ignore[misc, valid-type]
        def _make_sampler(self, *arguments: Any, **options: Any) -> Any:
            own = copy.copy(self)
            made = seen(own)
            sampler = kind._make_sampler(own, *arguments, **options)
            made(sampler)
            return sampler

    Seen.__name__, Seen.__qualname__ = kind.__name__, kind.__qualname__
    fields = {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}
    return Seen(**fields)
