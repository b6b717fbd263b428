"""The type checker looks at all of the package; what it leaves out can only become less."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dimtensor
from dimtensor.compile.function import CompiledFunction
from dimtensor.compile.stateful import StatefulFunction
from dimtensor.tensor.along.coarsen import Coarsen
from dimtensor.tensor.along.growing import Cumulative, RollingExp
from dimtensor.tensor.along.windows import Rolling
from dimtensor.tensor.control import loops
from dimtensor.tensor.control.types import LoopKeywords
from dimtensor.tensor.reductions.weighted import Weighted
from dimtensor.tensor.selection.groupby import GroupBy
from tests.architecture.test_interface import NAMESPACES, names_of
from tools import generate_loops

ROOT = Path(__file__).parents[2]


def overrides() -> list[dict]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]


def test_no_module_of_ours_is_left_out() -> None:
    for one in overrides():
        if any(
            one.get(key) for key in ("ignore_errors", "follow_imports", "ignore_missing_imports")
        ):
            assert not [name for name in one["module"] if name.startswith("dimtensor")]


# Routines that are read as text and become part of kernels, which give them their types. Take one
# out when it is checked; none comes in.
LEFT_OUT = {f"kernels/rules/{name}.py" for name in ("core_routines", "decompositions", "seeding")}


def test_files_that_are_left_out_become_no_more() -> None:
    package = Path(dimtensor.__file__).parent
    files = list(package.rglob("*.py"))
    assert len(files) > 200
    marks = ("# mypy: ignore-errors", "# mypy: disable-error-code")
    found = {path for path in files if any(mark in path.read_text() for mark in marks)}
    assert {str(path.relative_to(package)) for path in found} == LEFT_OUT


# What gives a user something of any type, as far as a type checker knows. Take one out when it says
# more; none comes in. Calendar parts of dims are tensors, which dims are below and cannot name.
UNTYPED = {
    "Dim.__getitem__",
    "CompiledFunction.inputs", "Node.value", "StatefulFunction.step",
    "Explanation.plot", "LogDensity.to_blackjax", "LogDensity.to_nutpie",
    "Minibatches.to_blackjax",
}  # fmt: skip
BELOW_TENSORS = "dimtensor.dims.calendar"
RESULTS = (
    CompiledFunction, StatefulFunction, GroupBy, Weighted, Rolling, RollingExp, Cumulative, Coarsen,
)  # fmt: skip


def public_functions() -> Iterator[tuple[str, typing.Any]]:
    for name in dir(dimtensor):
        value = getattr(dimtensor, name)
        if inspect.isclass(value):
            yield from methods(value)
        elif inspect.ismodule(value):
            yield from ((f"{name}.{each}", getattr(value, each)) for each in dir(value))
        else:
            yield name, value
    for cls in RESULTS:
        yield from methods(cls)


def methods(cls: type) -> Iterator[tuple[str, typing.Any]]:
    for base in cls.__mro__:
        for name, value in vars(base).items():
            if not name.startswith("_") or name in ("__call__", "__getitem__"):
                plain = value.fget if isinstance(value, property) else value
                yield f"{cls.__name__}.{name}", getattr(plain, "__func__", plain)


def stub_results(function: typing.Any) -> list[str]:
    """Return types of a function in the stubs of its folder, where there are any."""
    stubs = Path(inspect.getfile(function)).parent.glob("*.pyi")
    return [
        ast.unparse(node.returns)
        for path in stubs
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__ and node.returns
    ]


def untyped() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    seen = set()
    for name, value in sorted(public_functions(), key=lambda pair: pair[0] not in UNTYPED):
        function = inspect.unwrap(value) if callable(value) else value
        if not inspect.isfunction(function) or function in seen:
            continue
        seen.add(function)
        module = function.__module__
        if not module.startswith("dimtensor.") or module == BELOW_TENSORS:
            continue
        given = stub_results(function) or [
            str(each.__annotations__.get("return", "Any"))
            for each in typing.get_overloads(function) or [function]
        ]
        if any(re.search(r"\bAny\b", one) for one in given):
            found[name] = given
    return found


def test_the_stub_of_loops_is_that_of_the_generator_and_of_the_functions() -> None:
    assert generate_loops.TARGET.read_text() == generate_loops.render()
    stub = ast.parse(generate_loops.render()).body
    for name in ("scan", "cumulate", "reduce", "while_loop", "fori_loop", "ode"):
        overloads = [x for x in stub if isinstance(x, ast.FunctionDef) and x.name == name]
        assert len(overloads) > 5
        known = inspect.signature(getattr(loops, name)).parameters
        for each in overloads:
            asked = [x.arg for x in (*each.args.args, *each.args.kwonlyargs)]
            if each.args.kwarg is not None:
                asked += LoopKeywords.__annotations__
            assert asked == list(known)


def test_what_is_public_says_what_it_gives() -> None:
    found = untyped()
    assert {name: found[name] for name in found.keys() - UNTYPED} == {}
    assert UNTYPED - found.keys() == set()


def called_functions() -> Iterator[tuple[str, Any]]:
    """Functions and methods that users call, once each."""
    seen: set[Any] = set()
    for prefix, namespace in NAMESPACES.items():
        for name in names_of(namespace):
            value = getattr(namespace, name)
            members = {"": value}
            if inspect.isclass(value):
                names = [x for x in dir(value) if x[0] != "_" or x in ("__init__", "__new__")]
                members = {f".{x}": inspect.getattr_static(value, x) for x in names}
            for suffix, member in members.items():
                function = inspect.unwrap(getattr(member, "__func__", member))
                ours = (getattr(function, "__module__", "") or "").startswith("dimtensor")
                if inspect.isfunction(function) and ours and function not in seen:
                    seen.add(function)
                    yield f"{prefix}.{name}{suffix}", function


def test_parameters_of_public_functions_have_types() -> None:
    untyped_parameters = {
        f"{name}({parameter.name})"
        for name, function in called_functions()
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name not in ("self", "cls", "_cls")
        and parameter.annotation in ("Any", typing.Any, inspect.Parameter.empty)
    }
    assert len(untyped_parameters) < 60, sorted(untyped_parameters)
