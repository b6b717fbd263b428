"""Lines of the user's code that make nodes."""

from __future__ import annotations

import functools
import os
import sys
from itertools import islice
from types import CodeType
from typing import Any, NamedTuple

# frames of cached properties are skipped, too
_FUNCTOOLS = functools.__file__
_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

# a code object and an instruction offset; the line number is computed on demand
Place = tuple[CodeType, int]


class Line(NamedTuple):
    """Line of a file.

    Examples
    --------
    >>> print(Line("/home/me/model.py", 12))
    model.py:12
    """

    file: str
    number: int

    def __str__(self) -> str:
        return f"{_title(self.file)}:{self.number}"

    @property
    def text(self) -> str:
        """Source of the line; empty if it cannot be read."""
        import linecache

        return linecache.getline(self.file, self.number).strip()


def _title(file: str) -> str:
    """Return the name of a file, or ``Cell In[5]`` for a cell of a notebook."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if hasattr(ipython, "get_ipython") else None
    told = getattr(getattr(shell, "compile", None), "format_code_name", lambda file: None)(file)
    return os.path.basename(file) if told is None else told[1]


def place_outside() -> Place | None:
    """Return the place of the innermost frame outside of dimtensor."""
    frame = sys._getframe(1)
    while (file := frame.f_code.co_filename).startswith(_FOLDER) or file == _FUNCTOOLS:
        outer = frame.f_back
        if outer is None:
            return None
        frame = outer
    return frame.f_code, frame.f_lasti


def line_at(place: Place | None) -> Line | None:
    """Return the line of a place."""
    if place is None:
        return None
    code, instruction = place
    position = next(islice(code.co_positions(), instruction // 2, None), None)
    number = position[0] if position is not None else None
    return Line(code.co_filename, number or code.co_firstlineno)
