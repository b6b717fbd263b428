"""Code in the hints of errors: what it calls is there, and takes these arguments."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor import dist
from dimtensor.compile.function import CompiledFunction
from dimtensor.interop.formulas.functions import FUNCTIONS
from dimtensor.interop.formulas.regression import Regression
from dimtensor.random.generator import Generator
from dimtensor.spellings import TABLE
from dimtensor.tensor import numpy_style
from dimtensor.tensor.along.growing import RollingExp
from dimtensor.tensor.along.time import Resample
from dimtensor.tensor.along.windows import Rolling
from dimtensor.tensor.control.types import LoopKeywords
from tests.golden.compare import FOLDER

PACKAGE = Path(dt.__file__).parent
# names that hints use, and the class of what they stand for
STANDS_FOR: dict[str, Any] = {
    "dt": dt, "dist": dist, "np": np, "pd": pd, "x": dt.DimTensor, "y": dt.DimTensor,
    "tensor": dt.DimTensor, "dim": dt.Dim, "model": Regression, "fit": Regression,
    "rng": Generator, "d": dist.Distribution, "df": pd.DataFrame, "series": pd.Series,
}  # fmt: skip
# of calls without an object before them, and of methods of results
CLASSES = (dt, dist, dt.DimTensor, dt.Dim, Regression, Generator, dist.Distribution, Resample,
           Rolling, RollingExp, CompiledFunction, pd.DataFrame, pd.Series,
           xr.DataArray, dt.gp.CovarianceFunction)  # fmt: skip
# functions of the reader, and of formulas
TRANSFORMS = ("bs", "cr", "cc", "tp", "C", "I", "p", "offset", "S")
OWN = {"function", "step", "logp", "f", "trials", *FUNCTIONS, *TRANSFORMS}
_OPENS = re.compile(r"(?<![\w.\"'])[A-Za-z_][\w.]*\(")


def hints() -> Iterator[tuple[str, str]]:
    """Hints by place: in golden texts, in the tables, and in the package's code."""
    for path in sorted(Path(FOLDER, "errors").glob("*.txt")):
        if "\nhint: " in path.read_text():
            yield path.stem, path.read_text().split("\nhint: ")[1]
    for table in (numpy_style._INSTEAD, numpy_style._OPTIONS):
        yield from table.items()
    for row in TABLE:
        yield f"{row.where} {row.names or row.theirs}", row.ours.replace("`", "")
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                place = f"{path.relative_to(PACKAGE)}:{node.lineno}"
                parts = [each.value for each in node.keywords if each.arg == "hint"]
                called = ast.unparse(node.func)
                if called == "build_message" or called.endswith("Error"):
                    parts += node.args[2:3]
                yield from ((place, text) for part in parts for text in texts(part))


def texts(node: ast.expr) -> Iterator[str]:
    """Texts that an expression may be, with `X` for what is put into them."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        parts = (each.value if isinstance(each, ast.Constant) else "X" for each in node.values)
        yield "".join(map(str, parts))
    elif isinstance(node, ast.IfExp):
        yield from texts(node.body)
        yield from texts(node.orelse)


def calls_in(text: str) -> Iterator[ast.Call]:
    """Calls that a text has, with what is called of their results."""
    for found in _OPENS.finditer(text):
        ends = [at for at in range(found.end(), len(text) + 1) if text[at - 1] == ")"]
        for end in reversed(ends):
            code = text[found.start() : end]
            try:
                parsed = ast.parse(code, mode="eval").body
            except SyntaxError:
                continue
            if isinstance(parsed, ast.Call):
                yield from (each for each in ast.walk(parsed) if isinstance(each, ast.Call))
                break


def candidates(call: ast.Call) -> list[Any] | None:
    """What a call may call; None where nothing can be said."""
    function = call.func
    if isinstance(function, ast.Name):
        name = function.id
        if name in OWN or hasattr(builtins, name) or name == "X":
            return None
        return [getattr(each, name) for each in CLASSES if hasattr(each, name)]
    if not isinstance(function, ast.Attribute) or function.attr == "X":
        return None
    base: Any = function.value
    if isinstance(base, ast.Name) and base.id in STANDS_FOR:
        owner = STANDS_FOR[base.id]
        return [getattr(owner, function.attr)] if hasattr(owner, function.attr) else []
    if isinstance(base, ast.Call):
        return [getattr(each, function.attr) for each in CLASSES if hasattr(each, function.attr)]
    return None


def takes(function: Any, call: ast.Call) -> bool:
    """Whether a function takes the arguments of a call; `...` stands for others."""
    try:
        parameters = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    options = get_type_hints(LoopKeywords)
    if function in (dt.reduce, dt.scan, dt.cumulate) and call.keywords:
        known = {*parameters.parameters, *options}
        if not {each.arg for each in call.keywords} <= known:
            return False
    args: list[Any] = [None for each in call.args if ast.unparse(each) != "..."]
    names = {each.arg: None for each in call.keywords if each.arg}
    for first in ([], [None]):  # a method's own object
        try:
            parameters.bind_partial(*first, *args, **names)
        except TypeError:
            continue
        return True
    return False


def mistakes(text: str) -> list[str]:
    found = []
    for call in calls_in(text):
        functions = candidates(call)
        if functions is not None and not any(takes(each, call) for each in functions):
            found.append(ast.unparse(call))
    return found


def test_hints_call_what_is_there():
    places = list(hints())
    assert len(places) > 300
    assert sum(bool(list(calls_in(text))) for _, text in places) > 150
    wrong = {(place, each) for place, text in places for each in mistakes(text)}
    assert not wrong, "\n".join(f"{place}: {each}" for place, each in sorted(wrong))


def test_attributes_that_tensors_lack_are_answered_with_some_that_they_have():
    """What hints name without calling it."""
    for text in numpy_style._INSTEAD.values():
        for name in re.findall(r"\bx\.(\w+)", text):
            assert hasattr(dt.DimTensor, name), text
        for name in re.findall(r"(?<![\w.])dt\.(\w+)", text):
            assert hasattr(dt, name), text


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("dt.dot(x, y, dims=dim), or x @ y", ["dt.dot(x, y, dims=dim)"]),
        ("dt.dot(x, y, dim=dim), or x @ y", []),
        ("x.groupby(labels).meen() (as before)", ["x.groupby(labels).meen()"]),
        ("give it dims, x.expand(dim)", []),
        ("dt.there_is_none(x)", ["dt.there_is_none(x)"]),
        ("expand(dim, hops=1) repeats", ["expand(dim, hops=1)"]),
        ("dt.reduce(step, x, dim=dim, start=0)", ["dt.reduce(step, x, dim=dim, start=0)"]),
    ],
)
def test_the_search_finds_what_is_wrong(text, wrong):
    assert mistakes(text) == wrong
