"""Tracebacks in IPython and notebooks that end at the user's line.

Where an error is raised inside of dimtensor says nothing to who made it. IPython asks an exception
how it is shown (``_render_traceback_``); nothing of IPython or Python is changed. Debuggers and
plain Python see all frames, and so does everybody with ``DIMTENSOR_TRACEBACK=full``.
"""

from __future__ import annotations

import os
import sysconfig
from types import TracebackType
from typing import Any

from dimtensor.errors import DimtensorError
from dimtensor.settings import settings

_LIBRARY = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_OTHERS = tuple(
    {sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)


def rendered(error: DimtensorError) -> list[str]:
    """The lines that IPython shows of an error: the last one is where causes and fixes are.

    Raises
    ------
    ImportError, AttributeError
        Outside of IPython, which falls back on what it shows of other errors.
    """
    from IPython import get_ipython

    return [*_shown(error, get_ipython().InteractiveTB), f"causes and fixes: docs/{error.page}"]


def _shown(error: DimtensorError, formatter: Any) -> list[str]:
    if settings().full_traceback:
        return formatter.structured_traceback(type(error), error, error.__traceback__)
    cause, context, suppressed = error.__cause__, error.__context__, error.__suppress_context__
    error.__cause__, error.__context__ = None, None
    try:
        return formatter.structured_traceback(type(error), error, trimmed(error.__traceback__))
    finally:
        error.__cause__, error.__context__ = cause, context
        error.__suppress_context__ = suppressed


def trimmed(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback without frames of dimtensor, and of what it calls.

    Functions of the user's that dimtensor calls, the step of a loop, stay. If nothing of the user's
    is there, one frame of dimtensor does.
    """
    frames = []
    inside = False
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        ours = name.startswith(_LIBRARY)
        if not ours and not (inside and (name.startswith(_OTHERS) or name.startswith("<frozen"))):
            frames.append(traceback)
        elif not frames:
            frames.append(traceback)
        inside = inside or ours
        traceback = traceback.tb_next
    result = None
    for frame in reversed(frames):
        result = TracebackType(result, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return result
