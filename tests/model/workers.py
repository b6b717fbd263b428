"""Tasks that tests give to other processes."""

from __future__ import annotations

import dimtensor as dt


def fail(shared, argument):
    raise dt.GraphError(f"{argument} is not named")
