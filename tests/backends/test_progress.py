"""The line about long work, and what wakes in the background."""

import io
import os
import re
import subprocess
import sys
import threading
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
    assert err.splitlines() == ["dimtensor: compiling it …"] * 2


def test_a_terminal_is_left_as_it_was(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.delenv("DIMTENSOR_PROGRESS", raising=False)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress.announced("it", patience=0.01):
        until(sys.stderr.getvalue)
    assert sys.stderr.getvalue() == "dimtensor: compiling it …\r\x1b[K"


def test_a_notebook_of_marimo_has_a_spinner_from_a_thread_of_its_own(monkeypatch, capsys):
    monkeypatch.delenv("DIMTENSOR_PROGRESS", raising=False)
    shown, threads = [], []

    class Thread(threading.Thread):
        def start(self):
            threads.append(self)
            super().start()

    class spinner:
        def __init__(self, subtitle):
            shown.append(subtitle)

        def __enter__(self):
            return self

        def update(self, subtitle):
            shown.append(subtitle)

        def __exit__(self, *error):
            shown.append(None)

    marimo = types.ModuleType("marimo")
    marimo.running_in_notebook = lambda: True
    marimo.Thread, marimo.status = Thread, types.SimpleNamespace(spinner=spinner)
    monkeypatch.setitem(sys.modules, "marimo", marimo)
    counted(lambda: shown[-1] if shown else "")
    assert len(threads) == 1
    assert shown[-2].startswith("dimtensor: sampling: 1,999 of 2,000")
    assert shown[-1] is None
    assert capsys.readouterr() == ("", "")


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


def test_no_line_where_it_is_switched_off(monkeypatch, capsys):
    monkeypatch.setenv("DIMTENSOR_PROGRESS", "0")
    monkeypatch.setattr(progress, "_in_notebook", lambda: True)
    with progress.announced("it", patience=0.0):
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


def test_a_log_stays_one_where_ipython_is_imported(monkeypatch, capsys):
    monkeypatch.delenv("DIMTENSOR_PROGRESS", raising=False)
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: None
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    with progress.announced("it"):  # shorter than what a log reports
        time.sleep(0.05)
    with progress.announced("it", patience=0.0):
        until(sys.stderr.getvalue)
    assert set(capsys.readouterr().err.splitlines()) == {"dimtensor: compiling it …"}
    assert not progress.is_interactive()


class Terminal(io.StringIO):
    def isatty(self):
        return True


# after a second for each thousand: 2,000 - 1 seconds and more remain
LINE = r"1 of 2,000, 3 divergences, \d+ s, about (\d+ min \d+ s|\d+ h \d+ min) left"


def counted(shown):
    """Count to the end, each number once the one before is shown; return after a second or more."""
    with progress.Progress("sampling", total=2000, patience=0.0) as step:
        step(1, "3 divergences")
        until(lambda: re.search(LINE, shown()))
        step(1999)
        until(lambda: "1,999 of 2,000" in shown())


def test_a_terminal_has_one_line_that_is_written_over(monkeypatch):
    monkeypatch.delenv("DIMTENSOR_PROGRESS", raising=False)
    monkeypatch.setattr(sys, "stderr", Terminal())
    counted(sys.stderr.getvalue)
    lines = sys.stderr.getvalue().split("\r\x1b[K")
    assert lines[-1] == ""
    assert any(line.startswith("dimtensor: sampling: 1,999 of 2,000") for line in lines)
    assert re.search(r", \d+ s, about 0 s left$", lines[-2])
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


def test_a_log_has_lines_without_control_characters(monkeypatch, capsys):
    monkeypatch.delenv("DIMTENSOR_PROGRESS", raising=False)
    monkeypatch.setattr(progress._Log, "period", 0.3)
    with progress.Progress("sampling\x1b[31m", total=2000, patience=0.0) as step:
        until(sys.stderr.getvalue)
        step(500)
        until(lambda: " left" in sys.stderr.getvalue())
        step(2000)
    first, *others, last = capsys.readouterr().err.splitlines()
    assert first == r"dimtensor: sampling\x1b[31m: 0 of 2,000"
    assert re.search(r": 500 of 2,000, \d+ s, about \d+ s left$", others[-1])
    assert re.search(r": 2,000 of 2,000, \d+ s$", last)


SCRIPT = """
import time
from dimtensor.backends.progress import Progress
with Progress("counting", total=4) as progress:
    for at in range(4):
        time.sleep(0.9)
        progress(at + 1)
"""


def _ran(code, **options):
    environment = {**os.environ, "DIMTENSOR_PROGRESS": "1"}
    return subprocess.run([sys.executable, "-c", code], env=environment, check=True, **options)


def test_the_log_of_a_script(tmp_path):
    with open(tmp_path / "log", "wb") as log:
        _ran(SCRIPT, stdout=log, stderr=log)
    written = (tmp_path / "log").read_bytes().decode()
    assert all(line.isprintable() for line in written.splitlines())
    assert re.fullmatch(
        r"(dimtensor: counting: [1-3] of 4, \d+ s, about \d+ s left\n)+"
        r"dimtensor: counting: 4 of 4, \d+ s\n",
        written,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="terminals are those of POSIX")
def test_the_terminal_of_a_script(tmp_path):
    import pty

    parent, child = pty.openpty()
    with open(tmp_path / "log", "wb") as log:
        _ran(SCRIPT, stdout=log, stderr=child)
    os.close(child)
    written = os.read(parent, 10_000).decode()
    os.close(parent)
    assert (tmp_path / "log").read_bytes() == b""
    first, *others, last = written.split("\r\x1b[K")
    assert re.fullmatch(r"dimtensor: counting: [1-3] of 4, \d+ s, about \d+ s left", first)
    assert others
    assert last == ""  # wiped out


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
