"""Arguments of univariate distributions: their parametrization and their ranges."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dims, union
from dimtensor.dist.table import RANGES, Param, Parametrization, Range, Row
from dimtensor.errors import DtypeError, OptionError, build_message, listing
from dimtensor.graph import Node
from dimtensor.graph.dtypes import is_complex, is_float
from dimtensor.graph.infer import describe
from dimtensor.tensor.handle import TensorHandle, as_node, constant, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

Given = Mapping[str, Node]


class Values:
    """Parameters by name, as tensors of one dtype, converted to the row's own parametrization."""

    def __init__(self, given: Mapping[str, DimTensor], parametrization: Parametrization):
        self._given = dict(given)
        self._parametrization = parametrization
        self._converted: dict[str, Any] | None = None

    def has(self, name: str) -> bool:
        """Return whether a parameter was given, not converted from others."""
        return name in self._given

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._given:
            return self._given[name]
        if self._converted is None:
            self._converted = dict(self._parametrization.convert(self))
        if name not in self._converted:
            raise AttributeError(f"there is no parameter {name!r}")
        return self._converted[name]


def float_dtype(nodes: Sequence[Node]) -> str:
    """Return the dtype of a computation: float32 if no tensor is of float64."""
    floats = {node.dtype for node in nodes if is_float(node.dtype)}
    if not floats or "float64" in floats:
        return "float64"
    return max(floats)


def as_float(node: Node, dtype: str) -> DimTensor:
    """Cast a node to a float dtype."""
    if node.kind == "constant":
        return wrap(constant(node.attrs.value.item(), dtype))
    return wrap(node) if node.dtype == dtype else wrap(node).astype(dtype)


def read_arguments(row: Row, arguments: Mapping[str, Any]) -> tuple[Parametrization, Given]:
    """Check the arguments of a constructor, and find their parametrization.

    Raises
    ------
    OptionError
        If they are not those of one parametrization, or a number is not what the parameter may be.
    DtypeError
        If one is of a dtype that no parameter has.
    DimError
        If dims of two of them clash.
    """
    asked = {name: value for name, value in arguments.items() if value is not None}
    chosen = _parametrization(row, asked)
    given: dict[str, Node] = {}
    tensors = [value.node for value in asked.values() if isinstance(value, TensorHandle)]
    for param in chosen.params:
        value = asked.get(param.name, param.default)
        what = f"{param.name} of {row.name}"
        given[param.name] = check_range(as_number(value, tensors, what), param.range, what)
    common_dims(row.name, given)
    _check_order(row, given)
    return chosen, given


def _parametrization(row: Row, asked: Mapping[str, Any]) -> Parametrization:
    for one in row.parametrizations:
        needed = {param.name for param in one.params if param.default is None}
        if needed <= set(asked) <= set(one.names):
            return one
    ways = [", ".join(map(_shown, one.params)) for one in row.parametrizations]
    raise OptionError(
        build_message(
            f"{row.name} does not take these parameters together",
            [("given", listing(list(asked))), *(("takes", way) for way in ways)],
        )
    )


def _shown(param: Param) -> str:
    return param.name if param.default is None else f"{param.name}={param.default:g}"


def as_number(value: Any, beside: Sequence[Node], what: str) -> Node:
    """Convert a parameter to a node of real numbers.

    Raises
    ------
    DtypeError
        If it is of complex numbers, bools or labels, or no tensor.
    InputError
        If it is an array without dims.
    """
    node = as_node(value, beside, what)
    if node.categories is not None:
        raise DtypeError(f"{what} is a number, not a label: {describe(node)}")
    if node.dtype == "bool" or is_complex(node.dtype):
        raise DtypeError(f"{what} is a real number, not of {node.dtype}: {describe(node)}")
    return node


def as_parameter(value: Any, allowed: str, what: str) -> DimTensor:
    """Convert a parameter to a tensor, and check its known values."""
    return wrap(check_range(as_number(value, (), what), RANGES[allowed], what))


def check_range(node: Node, allowed: Range, what: str) -> Node:
    """Check a parameter whose values are known.

    Raises
    ------
    OptionError
        If one of them is not in the range.
    DtypeError
        If it has to be whole and is a tensor of floats.
    """
    if allowed.whole and node.kind not in ("constant", "data") and is_float(node.dtype):
        raise DtypeError(
            build_message(
                f"{what} is {allowed.spoken}, and {describe(node)} is of {node.dtype}",
                hint="make it a tensor of integers, or x.astype('int64')",
            )
        )
    known = {"constant": lambda: node.attrs.value, "data": lambda: node.attrs.values}
    if node.kind not in known:
        return node
    values = np.asarray(known[node.kind]())
    outside = [v for v in values.ravel() if not allowed.has(float(v))]
    if outside:
        dims = [("dims", ", ".join(dim._short for dim in node.dims))] if node.dims else []
        raise OptionError(
            build_message(
                f"{what} is {allowed.spoken}, not {outside[0].item():g}",
                [*dims, *([("values outside", len(outside))] if node.dims else [])],
            )
        )
    return node


def common_dims(name: str, given: Given) -> Dims:
    """Return the union of the dims of parameters.

    Raises
    ------
    DimError
        If two different dims of one name meet.
    """
    if not given:
        return ()
    return union([node.dims for node in given.values()], name, lambda: list(given))


def _check_order(row: Row, given: Given) -> None:
    """Check that numbers are in the order that the row asks for.

    Raises
    ------
    OptionError
        If they are not.
    """
    known = [
        (name, float(given[name].attrs.value))
        for name in row.increasing
        if name in given and given[name].kind == "constant"
    ]
    for (first, low), (second, high) in itertools.pairwise(known):
        ordered = low <= high if len(row.increasing) > 2 else low < high
        if not ordered:
            raise OptionError(f"{first}={low:g} of {row.name} is not below {second}={high:g}")
