"""Public functions document the class of each error that a situation shows."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, TracebackType
from typing import Any

import pytest

import dimtensor as dt
from dimtensor import errors
from tests.errors.situations import BUILDING, CALLING
from tests.errors.test_texts import REFUSALS

PACKAGE = str(Path(dt.__file__).parent)
SITUATIONS: dict[str, Callable[[], Any]] = {
    **BUILDING,
    **{name: lambda act=act: act("python") for name, act in CALLING.items()},
}
# functions that wrap others, whose code is that of many
_WRAPPERS = {"called", "checked", "call"}


def _entry(traceback: TracebackType | None) -> CodeType | None:
    """Return the code of the first function of the package, which the situation calls."""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename.startswith(PACKAGE) and code.co_name not in _WRAPPERS:
            return code
        traceback = traceback.tb_next
    return None


@cache
def _documented() -> dict[CodeType, tuple[str, str]]:
    """Return names and docstrings of public functions, and of classes by what makes them."""
    found = {}
    owners = [module for name, module in sys.modules.items() if name.startswith("dimtensor")]
    classes = {x for each in owners for x in vars(each).values() if isinstance(x, type)}
    for owner in [*owners, *(cls for cls in classes if cls.__module__.startswith("dimtensor"))]:
        for name, value in vars(owner).items():
            function = inspect.unwrap(value) if callable(value) else value
            function = getattr(function, "__func__", function)
            if not isinstance(function, FunctionType):
                continue
            if name in ("__init__", "__new__") and not owner.__name__.startswith("_"):
                found[function.__code__] = owner.__name__, inspect.getdoc(owner) or ""
            elif not name.startswith("_"):
                bases = owner.__mro__ if isinstance(owner, type) else (owner,)
                made = [vars(each)[name] for each in bases if name in vars(each)]
                doc = next(filter(None, map(inspect.getdoc, made)), "")
                found[function.__code__] = function.__qualname__, doc
    return found


def raised(doc: str) -> set[str]:
    """Return the classes that the section Raises of a docstring names."""
    section = re.search(r"^Raises\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", doc, re.MULTILINE | re.DOTALL)
    return set(re.findall(r"\w+Error", section[1])) if section else set()


@pytest.mark.parametrize("name", SITUATIONS)
def test_public_functions_document_the_class_that_they_raise(name):
    with pytest.raises(REFUSALS, match=r"\w") as caught:
        SITUATIONS[name]()
    if isinstance(caught.value, Warning):
        return
    code = _entry(caught.value.__traceback__)
    found = None if code is None else _documented().get(code)
    if found is None:
        return  # an operator or an attribute
    function, doc = found
    classes = {
        each.__name__ for each in type(caught.value).__mro__ if each.__module__ == errors.__name__
    }
    assert classes & raised(doc), f"{function} raises {type(caught.value).__name__}"


def test_classes_that_docstrings_name_are_there():
    known = {name for name in vars(errors) if name.endswith("Error")}
    for namespace in (dt, dt.dist, dt.linalg, dt.DimTensor, dt.Model, dt.Dim):
        for name in dir(namespace):
            if name.startswith("_"):
                continue
            getattr(namespace, name, None)  # the first use of a name imports its plug-in
            value = inspect.getattr_static(namespace, name)
            doc = inspect.getdoc(value) or "" if inspect.isroutine(value) else ""
            unknown = {x for x in raised(doc) if x not in known and not hasattr(__builtins__, x)}
            assert unknown <= {"TypeError", "AttributeError", "ValueError", "OSError"}, name
