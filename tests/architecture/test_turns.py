"""Cases of tests have their turns: those of processors and of days together are all cases."""

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


def test_days_share_the_cases_of_long_tests(monkeypatch):
    sizes = {"few": 8, "some": 11, "more": 18, "many": 70}
    cases = [
        SimpleNamespace(nodeid=f"tests/test_long.py::test_{name}[{number}]")
        for name, size in sizes.items()
        for number in range(size)
    ]
    assert effort.of_today(cases, 1) == cases
    ran: Counter[str] = Counter()
    for day in range(21):
        monkeypatch.setattr(effort, "DAY", date(2026, 1, 30) + timedelta(days=day))
        today = effort.of_today(cases, 7)
        assert today == [case for case in cases if case in today]
        found = Counter(
            case.nodeid.partition("[")[0].partition("test_long.py::test_")[2] for case in today
        )
        assert found["few"] == 8
        assert found["some"] in (3, 4)
        assert found["more"] == 6
        assert found["many"] == 10
        ran.update(case.nodeid for case in today)
    times = {name: {ran[c.nodeid] for c in cases if f"_{name}[" in c.nodeid} for name in sizes}
    assert times == {"few": {21}, "some": {7}, "more": {7}, "many": {3}}
