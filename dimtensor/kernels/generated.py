"""Functions of generated source."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from dimtensor.caches import when_gone

_counter = itertools.count()


def function_of_source(
    source: str,
    name: str,
    namespace: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """Define a function from source text.

    Tracebacks and debuggers show its lines, for as long as the function lives.

    Parameters
    ----------
    source : str
    name : str
        Name of a function that the text defines.
    namespace : mapping of str to object, optional
        Global names of the text.

    Examples
    --------
    >>> import inspect
    >>> from dimtensor.kernels.generated import function_of_source
    >>> double = function_of_source("def double(x): return x * factor", "double", {"factor": 2})
    >>> double(4), inspect.getsource(double)
    (8, 'def double(x): return x * factor')
    """
    filename = f"<dimtensor {name} {next(_counter)}>"
    names = dict(namespace or {})
    exec(compile(source, filename, "exec"), names)
    function = names[name]
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    when_gone(function, partial(linecache.cache.pop, filename, None))
    return function
