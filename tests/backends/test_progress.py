"""The line about long compilations, and what wakes in the background."""

import io
import re
import subprocess
import sys
import time
import types

import pytest

from dimtensor.backends import progress


def until(condition):
    """Wait for the thread that shows the line, however busy the machine is."""
    deadline = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_short_work_is_not_spoken_of(monkeypatch, capsys):
    monkeypatch.setenv("DIMTENSOR_PROGRESS", "1")
    with progress.announced("a function", patience=60.0):
        pass
    assert capsys.readouterr() == ("", "")


def test_long_work_is(monkeypatch, capsys):
    monkeypatch.setenv("DIMTENSOR_PROGRESS", "1")

    def work():
        with progress.announced("it", patience=0.01):
            until(sys.stderr.getvalue)
            time.sleep(0.1)
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
        until(sys.stderr.getvalue)
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
        until(lambda: notebook)
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
    if asked == "0":
        monkeypatch.setattr(progress, "_in_notebook", lambda: True)
    with progress.announced("it", patience=0.0):
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


def test_nobody_looks_at_a_file_because_ipython_is_imported(monkeypatch, capsys):
    monkeypatch.delenv("DIMTENSOR_PROGRESS", raising=False)
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: None
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    with progress.announced("it", patience=0.0):
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")
    assert not progress.is_interactive()


class Terminal(io.StringIO):
    def isatty(self):
        return True


def counted(shown):
    """Count to the end, each number once the one before is shown; return after a second or more."""
    with progress.Progress("sampling", total=2000, patience=0.0) as step:
        step(1, "3 divergences")
        until(lambda: re.search(r"1 of 2,000, 3 divergences \d+ s", shown()))
        step(1999)
        until(lambda: "1,999 of 2,000" in shown())


def test_a_terminal_has_one_line_that_is_written_over(monkeypatch):
    monkeypatch.delenv("DIMTENSOR_PROGRESS", raising=False)
    monkeypatch.setattr(sys, "stderr", Terminal())
    counted(sys.stderr.getvalue)
    lines = sys.stderr.getvalue().split("\r\x1b[K")
    assert lines[-1] == ""
    assert any(line.startswith("dimtensor: sampling: 1,999 of 2,000") for line in lines)
    assert re.search(r" \d+ s$", lines[-2])
    assert "\n" not in sys.stderr.getvalue()


def test_a_terminal_too_narrow_for_the_line_has_its_beginning(monkeypatch):
    monkeypatch.delenv("DIMTENSOR_PROGRESS", raising=False)
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress.Progress("sampling", total=2000, patience=0.0):
        until(lambda: "sampling" in sys.stderr.getvalue())
    assert {len(line) for line in sys.stderr.getvalue().split("\r\x1b[K")} == {19, 0}


def test_a_notebook_has_one_output_that_is_updated(monkeypatch, notebook):
    monkeypatch.delenv("DIMTENSOR_PROGRESS", raising=False)
    counted(lambda: notebook[-1][1] if notebook else "")
    kinds = [kind for kind, *_ in notebook]
    assert kinds[0] == "display"
    assert set(kinds[1:]) == {"update"}
    assert len(kinds) >= 4
    assert notebook[-1][1] == ""
    assert notebook[-2][1].startswith("dimtensor: sampling: 1,999 of 2,000")


def test_a_file_that_is_asked_to_has_one_line(monkeypatch, capsys):
    monkeypatch.setenv("DIMTENSOR_PROGRESS", "1")
    with progress.Progress("sampling", total=2000, patience=0.0) as step:
        until(sys.stderr.getvalue)
        step(1999)
        time.sleep(0.1)
    written = capsys.readouterr().err
    assert re.fullmatch(r"dimtensor: sampling: 0 of 2,000[^\n]* \d+\.\d s\n", written)


def test_who_asks_for_silence_has_it(monkeypatch, capsys):
    monkeypatch.setenv("DIMTENSOR_PROGRESS", "1")
    with progress.Progress("sampling", total=3, patience=0.0, wanted=False) as step:
        step(1)
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
