"""Tasks that tests give to other processes."""

from __future__ import annotations

import os

import dimtensor as dt


def fail(shared, argument):
    raise dt.GraphError(f"{argument} is not named")


def end(shared, argument):
    os._exit(3)
