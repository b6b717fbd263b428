"""Optional libraries, imported when they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from dimtensor.errors import MissingExtraError, build_message


def require(module: str, extra: str, what: str) -> Any:
    """Import an optional library.

    Parameters
    ----------
    module : str
    extra : str
        The extra of dimtensor that brings it.
    what : str
        What needs it, for the message.

    Raises
    ------
    MissingExtraError
        If it is not installed.

    Examples
    --------
    >>> require("math", "sampling", "this example").floor(2.5)
    2
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.split(".")[0] != module.split(".")[0]:
            raise  # the library is there, something that it needs is not
        raise MissingExtraError(
            build_message(
                f"{what} needs {module}, which is not installed",
                hint=f"pip install 'dimtensor[{extra}]'",
            )
        ) from error
