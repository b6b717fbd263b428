"""How many faults were tried in a run of the tests, and how many of them were held against."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import pytest

TRIED, HELD = "faults tried", "faults held"
_FOLDER = "tests/hostile/"


@dataclass
class Faults:
    """The faults that one test tries."""

    tried: int = 0
    won: list[str] = field(default_factory=list)

    @property
    def held(self) -> int:
        return self.tried - len(self.won)

    def count(self, name: str, held: bool, why: object = "") -> None:
        """Count a fault that was tried; a failure shows the names of those that won."""
        self.tried += 1
        if not held:
            self.won.append(f"{name}: {why}" if why != "" else name)


def summary(reports: Iterable[pytest.TestReport]) -> list[str]:
    """Return a line for each module of this folder: faults tried and held.

    A test without the fixture ``faults`` is one fault, which it held against if it passed.
    """
    ended: dict[str, list[pytest.TestReport]] = defaultdict(list)
    for report in reports:
        if report.nodeid.startswith(_FOLDER):
            ended[report.nodeid].append(report)
    tried: dict[str, int] = defaultdict(int)
    held: dict[str, int] = defaultdict(int)
    for name, parts in ended.items():
        if any(part.skipped for part in parts):
            continue
        group = PurePosixPath(name.partition("::")[0]).stem.removeprefix("test_").replace("_", " ")
        counted = dict(parts[-1].user_properties)
        tried[group] += counted.get(TRIED, 1)
        held[group] += counted.get(HELD, int(all(part.passed for part in parts)))
    return [f"{group}: {held[group]} of {tried[group]} faults held" for group in sorted(tried)]
