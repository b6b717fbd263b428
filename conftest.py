"""The environment that tests and doctests run in, set before PyTensor or JAX is imported.

It lies in the root because the doctests of ``dimtensor/`` need it as much as ``tests/``.
"""

from __future__ import annotations

import os

import pytest

# A rewrite that raises would be logged and skipped by default, and the test would pass on the
# slower or wrong graph that is left.
_STRICT = "on_opt_error=raise"
os.environ["PYTENSOR_FLAGS"] = ",".join(filter(None, [os.environ.get("PYTENSOR_FLAGS"), _STRICT]))
# Results do not depend on the machine's accelerator, unless a run asks for one.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Nothing is left in the user's cache, nor taken from there; tests of caches name a folder.
os.environ.setdefault("DIMTENSOR_CACHE", "0")
# Figures are written, never shown.
os.environ.setdefault("MPLBACKEND", "agg")


def pytest_configure() -> None:
    """Import the package before a test module of it is collected.

    The function ``dt.tensor`` has the name of a folder; pytest would put the folder in its place.
    """
    import dimtensor  # noqa: F401


@pytest.fixture(autouse=True)
def _names_of_the_documentation(doctest_namespace: dict[str, object]) -> None:
    """What every docstring example may use without importing it."""
    import numpy as np

    import dimtensor as dt

    doctest_namespace["dt"] = dt
    doctest_namespace["np"] = np
