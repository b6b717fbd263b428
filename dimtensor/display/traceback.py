"""Tracebacks in IPython and notebooks that end at the user's line.

Frames inside dimtensor do not help users to find their mistake. IPython lets an exception render
its own traceback (``_render_traceback_``), so neither IPython nor Python is modified. Debuggers and
plain Python show all frames; ``DIMTENSOR_TRACEBACK=full`` does so in IPython, too.
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
    """Render an error for IPython; the last line refers to the page with causes and fixes.

    Raises
    ------
    ImportError, AttributeError
        Outside of IPython. The caller then renders the error as any other.
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
    """Remove the frames of dimtensor and of libraries that it calls from a traceback.

    Frames of user functions that dimtensor calls, such as the step of a loop, are kept. If there
    are none of the user, one frame of dimtensor is kept.
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
