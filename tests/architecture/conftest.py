"""Trees of all sources are many objects: they are forgotten with the last test of the folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.architecture import sources


@pytest.fixture(autouse=True, scope="package")
def _trees_are_forgotten() -> Iterator[None]:
    yield
    sources.forget()
