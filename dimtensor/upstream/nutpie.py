"""What nutpie does not document."""

from __future__ import annotations

import json
from typing import Any

from nutpie import _lib


def settings_of(kind: str) -> Any:
    """Settings of a kind of adaptation, which know what they take; None in another version."""
    make = getattr(getattr(_lib, "PyNutsSettings", None), kind, None)
    settings = None if make is None else make(0)
    return settings if hasattr(settings, "update") and hasattr(settings, "as_dict") else None


def settings_text(running: Any) -> str | None:
    """The settings of a sampler as JSON, as nutpie writes them; None in another version."""
    settings = getattr(running, "_settings", None)
    return None if settings is None else json.dumps(settings.as_dict())
