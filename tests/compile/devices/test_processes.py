"""Two processes equal one; faults of one are errors of the other, which does not wait forever."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from examples import processes
from tests.optional import jax

EXAMPLE = Path(processes.__file__)


@pytest.mark.slow
@pytest.mark.compiled
def test_two_processes_equal_one():
    assert jax.device_count()
    command = [sys.executable, str(EXAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.endswith("on 4 devices")]
    assert len(lines) == 2
    assert len(set(lines)) == 1


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("fault", ["other data", "death", "late death"])
def test_a_fault_of_a_process_is_an_error_of_the_other(fault: str, capfd):
    assert jax.device_count()
    command = [sys.executable, "-m", "tests.compile.devices.on_processes", fault]
    started = processes.start(command)
    try:
        codes = [process.wait(timeout=150) for process in started]
    finally:
        for process in started:
            process.kill()
    assert 0 not in codes
    if fault == "other data":
        assert codes == [1, 1]
        text = capfd.readouterr().err
        for pair in ("0 and 1", "1 and 0"):
            assert f"processes {pair} disagree about the data of a function" in text
        assert "data 'y'" in text
        assert "group_of" not in text.partition("different:")[2].partition("\n")[0]
