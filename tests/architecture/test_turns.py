"""Processors share tests by turns of days: together they run all, and each runs each in time."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import effort, processors

ROOT = Path(__file__).parents[2]
SHARING = ["x86-64-v2", "haswell"]


def items():
    """Stand-ins for tests with cases and without, of the kernel compiler and of others."""
    for folder in ("tests/kernels/rules", "tests/dist"):
        for number in range(200):
            name = f"{folder}/test_some.py::test_{number % 50}"
            cases = {"callspec": None} if number >= 50 else {}
            item = {"path": ROOT / folder / "test_some.py", "nodeid": f"{name}[{number}]", **cases}
            yield SimpleNamespace(**item)


def on(day: int, monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    monkeypatch.setattr(effort, "DAY", date(2026, 1, 30) + timedelta(days=day))
    found = [processors.in_turn([*items()], cpu, SHARING) for cpu in SHARING]
    return [{item.nodeid for item in each} for each in found]


def test_each_case_has_one_processor_a_day_and_each_in_two_days(monkeypatch):
    days = [on(day, monkeypatch) for day in range(2)]
    every = {item.nodeid for item in items()}
    alone = {x.nodeid for x in items() if "kernels" in x.nodeid and not hasattr(x, "callspec")}
    for first, second in (*days, *zip(*days, strict=True)):
        assert first | second == every
        assert first & second == alone
    sizes = Counter(len(each) for day in days for each in day)
    assert min(sizes) > len(every) / 3


def test_a_processor_that_shares_with_none_runs_all():
    every = [*items()]
    assert processors.in_turn(every, "znver4", SHARING) == every
    assert processors.in_turn(every, "znver4", ["znver4"]) == every
