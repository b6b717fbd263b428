"""Count the faults that hostile tests try."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hostile.tally import HELD, TRIED, Faults


@pytest.fixture
def faults(request: pytest.FixtureRequest) -> Iterator[Faults]:
    """Counts faults one by one; the test fails at its end with the names of those that won."""
    found = Faults()
    yield found
    assert found.tried, "a test that asks for `faults` tries at least one"
    request.node.user_properties.extend([(TRIED, found.tried), (HELD, found.held)])
    if found.won:
        pytest.fail("did not hold:\n" + "\n".join(found.won))
