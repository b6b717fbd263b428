"""The table of a race says what was measured, when, and what else the machine did."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks.posteriordb import table

MACHINE = {"processor": "some, 2 cores", "versions": "numpy 2"}
LINES = [
    {"posterior": "d-fast", "dim": 2, "ours_us": 1.0, "stanli_us": 4.0, "ratio": 0.25},
    {"posterior": "d-slow", "dim": 1234, "ours_us": 2000.0, "stanli_us": 500.0, "ratio": 4.0},
    {"posterior": "d-none", "failed": "ValueError: no"},
]


@pytest.fixture
def race(tmp_path):
    def write(lines):
        text = [{"machine": MACHINE}, *lines]
        (tmp_path / "race.jsonl").write_text("\n".join(map(json.dumps, text)))
        return tmp_path

    return write


def test_failures_and_losses_come_first_and_stay(race):
    lines = [{**line, "date": "2026-01-02", "load": 1.5} for line in LINES]
    text = table.markdown(race(lines))
    rows = [row.split("|")[1].strip() for row in text.splitlines() if row.startswith("| d-")]
    assert rows == ["d-none", "d-slow", "d-fast"]
    assert "2 posteriors, 1 failed." in text
    assert "geometric mean 1.00, median 2.12, 1 above 1." in text
    assert "| d-slow | 1234 | 2,000 | 500 | 4 |" in text
    assert "ValueError: no |" in text


def test_dates_and_loads_are_those_of_all_lines(race):
    days = ["2026-01-03", "2026-01-02", "2026-01-02"]
    loads = [2.5, 1.0, 1.25]
    lines = [line | {"date": d, "load": x} for line, d, x in zip(LINES, days, loads, strict=True)]
    text = table.markdown(race(lines))
    assert (
        "2026-01-02 to 2026-01-03; some, 2 cores; numpy 2; load 1.0 to 2.5, 1.2 in the median."
        in text
    )
    assert table.when(lines[1:]) == "2026-01-02"


def test_first_gradients_are_counted(race):
    first = {"date": "2026-01-02", "load": 1.0, "ours_cold_s": 1.5, "ours_warm_s": 0.5}
    text = table.markdown(race([LINES[0] | first]))
    assert "First gradient, of 1 posteriors: cold 1.50 s in the median" in text


def test_samplers_have_a_table_of_their_own(race):
    drawn = {"date": "2026-01-02", "load": 1.0, "runs": 3}
    numbers = {"ess_s": (50.0, 100.0), "ess": (300.0, 200.0), "draws_s": (6.0, 2.0)}
    for key, (ours, stans) in numbers.items():
        drawn |= {f"ours_{key}": ours, f"stanli_{key}": stans}
    broken = LINES[1] | {"date": "2026-01-02", "load": 1.0, "sampling": "effective: no"}
    text = table.markdown(race([LINES[0] | drawn, broken]))
    assert (
        "on 1 posteriors, ours over stanli's, geometric means: effective draws per second 0.50, "
        "effective draws 1.50, seconds 3.00." in text
    )
    assert "| d-fast | 2 | 50 | 100 | 300 | 200 | 6 | 2 | 3 |  |" in text
    assert "| effective: no |" in text
    assert "Samplers" not in table.markdown(race([broken]))


def test_peers_have_a_table_of_their_own(race):
    day = {"date": "2026-01-05", "load": 2.0}
    numpyro = {"us": 1.0, "ratio": 2.0, "cold_s": 3.0, "error": 1e-15}
    both = {"ours_us": 2.0, "pymc": {"us": 4.0, "ratio": 0.5, "cold_s": 6.0}, "numpyro": numpyro}
    broken = {"ours_us": 2.0, "pymc": {"failed": "differs from ours by 1"}, "numpyro": numpyro}
    quick = {"ours_us": 2.0, "numpyro": numpyro | {"ratio": 0.5}}
    peers = (quick, both, broken)
    lines = [LINES[0] | {"date": "2026-01-02", "load": 1.0} | {"peers": quick | day}]
    lines += [{"posterior": f"p-{k}", "peers": x | day} for k, x in enumerate(peers[1:])]
    text = table.markdown(race(lines))
    assert "1 posteriors, 0 failed." in text  # beside Stan
    assert (
        "Beside PyMC and NumPyro on 3 posteriors, our time over theirs for a value and its "
        "gradient, geometric means: PyMC 0.500 (of 1, 0 above 1), NumPyro 1.260 (of 3, 2 above 1). "
        "2026-01-05; load 2.0 to 2.0, 2.0 in the median." in text
    )
    _, beside = text.split("Beside")
    rows = [row for row in beside.splitlines() if row.startswith(("| d-", "| p-"))]
    assert rows == [
        "| p-1 |  | 2 |  | 1 |  | 2 |  | 3 | PyMC: differs from ours by 1 |",
        "| p-0 |  | 2 | 4 | 1 | 0.5 | 2 | 6 | 3 |  |",
        "| d-fast | 2 | 2 |  | 1 |  | 0.5 |  | 3 |  |",
    ]
    assert "p-1" not in text.split("Beside")[0]


def test_peers_may_be_all_that_was_measured(race):
    pytest.importorskip("matplotlib")
    peers = {"date": "2026-01-05", "load": 2.0, "ours_us": 2.0, "pymc": {"us": 4.0, "ratio": 0.5}}
    folder = race([{"posterior": "d-fast", "peers": peers}])
    table.write(folder)
    assert (folder / "race.md").read_text().startswith("some, 2 cores; numpy 2.\n\nBeside PyMC")
    assert (folder / "race.png").exists()


def test_a_picture_is_written(race):
    pytest.importorskip("matplotlib")
    folder = race([{**line, "date": "2026-01-02", "load": 1.5} for line in LINES])
    table.write(folder)
    assert (folder / "race.png").read_bytes().startswith(b"\x89PNG")


def test_parts_of_a_race_have_no_picture(race):
    folder = race([{"posterior": "d-fast", "date": "2026-01-02", "load": 1.5, "ours_cold_s": 1.0}])
    table.write(folder)
    assert "| d-fast |" in (folder / "race.md").read_text()
    assert not (folder / "race.png").exists()
