"""The line about long compilations, and what wakes in the background."""

import subprocess
import sys
import time

import pytest

from dimtensor.backends import progress


def test_short_work_is_not_spoken_of(monkeypatch, capsys):
    monkeypatch.setenv("DIMTENSOR_PROGRESS", "1")
    with progress.announced("a function", patience=60.0):
        pass
    assert capsys.readouterr() == ("", "")


def test_long_work_is(monkeypatch, capsys):
    monkeypatch.setenv("DIMTENSOR_PROGRESS", "1")

    def work():
        with progress.announced("it", patience=0.01):
            time.sleep(0.2)
            raise ZeroDivisionError("by zero")

    with pytest.raises(ZeroDivisionError, match="by zero"):
        work()
    out, err = capsys.readouterr()
    assert out == ""
    start, end = err.split(" … ")
    assert start == "dimtensor: compiling it"
    assert end.endswith(" s\n")
    assert float(end[:-3]) >= 0.1


@pytest.mark.parametrize("asked", ["0", ""])
def test_no_line_where_nobody_looks(monkeypatch, capsys, asked):
    monkeypatch.setenv("DIMTENSOR_PROGRESS", asked)
    monkeypatch.setattr(progress, "is_interactive", lambda: asked == "0")
    with progress.announced("it", patience=0.0):
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


CODE = """
import sys, threading
if {interactive}:
    sys.ps1 = ">>> "
import dimtensor as dt
dt.tensor("x", dims=dt.Dim("k"))
for thread in threading.enumerate():
    if thread is not threading.main_thread():
        thread.join()
print("llvmlite.binding" in sys.modules, "numba" in sys.modules, "jax" in sys.modules)
"""


@pytest.mark.parametrize("interactive", [True, False])
def test_libraries_wake_where_somebody_is_typing(interactive):
    code = CODE.format(interactive=interactive)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [str(interactive), "False", "False"]
