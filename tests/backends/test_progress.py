"""The line about long compilations, and what wakes in the background."""

import io
import subprocess
import sys
import time
import types

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


def test_a_terminal_is_left_as_it_was(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.delenv("DIMTENSOR_PROGRESS", raising=False)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress.announced("it", patience=0.01):
        time.sleep(0.2)
    assert sys.stderr.getvalue() == "dimtensor: compiling it …\r\x1b[K"


@pytest.fixture
def notebook(monkeypatch):
    """A stand-in for IPython in a notebook: what its display shows and updates, in order."""
    shown = []

    class DisplayHandle:
        def display(self, data, raw):
            shown.append(("display", data["text/plain"], data["text/html"], raw))

        def update(self, data, raw):
            shown.append(("update", data["text/plain"], data["text/html"], raw))

    ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    display.DisplayHandle = DisplayHandle
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def test_a_notebook_shows_an_output_that_is_emptied(monkeypatch, notebook, capsys):
    monkeypatch.delenv("DIMTENSOR_PROGRESS", raising=False)
    with progress.announced("it <here>", patience=0.01):
        time.sleep(0.2)
    first, last = notebook
    assert first[:2] == ("display", "dimtensor: compiling it <here> …")
    assert "it &lt;here&gt;" in first[2]
    assert last == ("update", "", "", True)
    assert capsys.readouterr() == ("", "")
    with progress.announced("it", patience=60.0):
        pass
    assert len(notebook) == 2


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
