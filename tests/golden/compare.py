"""Texts that are compared with files; ``DIMTENSOR_GOLDEN=write`` writes the files anew."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent


def check_golden(name: str, text: str) -> None:
    """Compare a text with the file ``tests/golden/<name>``."""
    path = FOLDER / name
    if os.environ.get("DIMTENSOR_GOLDEN") == "write":
        path.write_text(text + "\n")
    assert text + "\n" == path.read_text(), f"{path.name} says otherwise"
