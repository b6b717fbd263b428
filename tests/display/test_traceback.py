"""Tracebacks in IPython end at the user's line; everywhere else they are whole."""

from __future__ import annotations

import sys
import traceback
import types

import pytest

import dimtensor as dt
from dimtensor.display.traceback import trimmed

YEAR = dt.Dim("year", length=3)
X = dt.tensor("x", dims=YEAR)


def raised(call):
    with pytest.raises(dt.DimtensorError) as caught:  # each raises its own
        call()
    return caught.value


def files(tb):
    return [frame.filename for frame in traceback.extract_tb(tb)]


def step(state, x):
    return state + x.sum("nope")


WRONG = {
    "a_method": lambda: X.sum("years"),
    "an_operator": lambda: X + dt.tensor("y", dims=dt.Dim("year", length=4)),
    "a_call": lambda: dt.function([X], X, backend="python")(y=1.0),
    "at_run_time": lambda: dt.log(dt.check(X > 0, "positive", X)).eval({X: [1.0, -1.0, 1.0]}),
    "a_model": lambda: dt.LogDensity(-(X**2), {X: dt.real}),
}


@pytest.mark.parametrize("name", WRONG)
def test_frames_of_the_library_are_left_out(name):
    error = raised(WRONG[name])
    assert any("dimtensor/tensor" in f or "dimtensor/" in f for f in files(error.__traceback__))
    assert set(files(trimmed(error.__traceback__))) == {__file__}
    # the error itself keeps all of its frames
    assert len(files(error.__traceback__)) > len(files(trimmed(error.__traceback__)))


def test_functions_that_the_library_calls_stay():
    error = raised(lambda: dt.cumulate(step, 0.0, X, dim=YEAR))
    shown = traceback.extract_tb(trimmed(error.__traceback__))
    assert {frame.filename for frame in shown} == {__file__}
    assert shown[-1].name == "step"


def test_one_frame_stays_where_there_is_no_other():
    error = raised(WRONG["a_method"])
    inner = error.__traceback__
    while "dimtensor/tensor" not in inner.tb_frame.f_code.co_filename:
        inner = inner.tb_next
    assert len(files(trimmed(inner))) == 1
    assert trimmed(None) is None


@pytest.fixture
def ipython(monkeypatch):
    """A stand-in for IPython, with what is handed to its formatter."""
    given = []

    class Formatter:
        def structured_traceback(self, kind, error, tb):
            given.append((kind, error.__cause__, files(tb)))
            return ["lines"]

    module = types.ModuleType("IPython")
    module.get_ipython = lambda: types.SimpleNamespace(InteractiveTB=Formatter())
    monkeypatch.setitem(sys.modules, "IPython", module)
    return given


def test_ipython_asks_the_error(ipython, monkeypatch):
    monkeypatch.delenv("DIMTENSOR_TRACEBACK", raising=False)
    cause = KeyError("inner")

    def fails():
        try:
            raise cause
        except KeyError as error:
            try:
                X.sum("years")
            except dt.DimError as own:
                raise own from error

    error = raised(fails)
    page = "causes and fixes: docs/errors.md#unknowndimerror"
    assert error._render_traceback_() == ["lines", page]
    assert ipython.pop() == (dt.UnknownDimError, None, [__file__] * 3)
    assert error.__cause__ is cause
    monkeypatch.setenv("DIMTENSOR_TRACEBACK", "full")
    assert error._render_traceback_() == ["lines", page]
    kind, kept, shown = ipython.pop()
    assert (kind, kept) == (dt.UnknownDimError, cause)
    assert len(shown) > 3
