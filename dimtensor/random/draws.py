"""Base class of the draws of a generator: checks of parameters, and single use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dimtensor.dims import Dim, Dims, find_dim, in_order, without
from dimtensor.errors import DimError, DtypeError, OptionError, UnknownDimError, did_you_mean
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import WORD, DrawAttrs
from dimtensor.graph.dtypes import is_complex, is_float
from dimtensor.graph.infer import describe
from dimtensor.ops.random.conditions import evaluate
from dimtensor.ops.random.rows import FINITE, ROWS
from dimtensor.tensor import elementwise
from dimtensor.tensor.check import check
from dimtensor.tensor.control.streams import SingleUse
from dimtensor.tensor.handle import as_node, wrap
from dimtensor.tensor.linalg.matrices import require_numbers

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

DimsLike = Dim | str | Sequence[Dim | str]
G = TypeVar("G", bound="DrawMethods")


class DrawMethods(SingleUse):
    """Base class of the methods of a generator."""

    def _next(self: G, words: Node) -> G:
        following = object.__new__(type(self))
        object.__setattr__(following, "words", wrap(words))
        return following

    def _draw(
        self: G, name: str, parameters: Sequence[Any], dims: DimsLike | None = None,
        event: Dim | None = None,
    ) -> tuple[DimTensor, G]:  # fmt: skip
        """Draw from a distribution."""
        row = ROWS[name]
        nodes: list[Node] = []
        for parameter, value in zip(row.parameters, parameters, strict=True):
            node = as_node(value, nodes, f"{name}: {parameter}")
            require_numbers(node, name)
            nodes.append(_as_number(node, parameter in row.integers, f"{name}: {parameter}"))
        checks = _checks(row, nodes)
        order = _order(self.words.node, nodes, dims, event, name)
        self._use(name)
        attrs = DrawAttrs(name, WORD, order, event, row.dtype, 1)
        inputs = (self.words.node, *nodes)
        values = wrap(make("draw", inputs, attrs))
        for condition, message in checks:
            values = check(condition, message, values)
        return values, self._next(make("draw", inputs, attrs._replace(output=0)))


def _as_number(node: Node, integer: bool, what: str) -> Node:
    dtype = "int64" if integer else "float64"
    if node.dtype == dtype:
        return node
    if is_complex(node.dtype) or (integer and is_float(node.dtype)):
        if not _is_whole(node):
            raise DtypeError(f"{what} is {'an integer' if integer else 'a real number'}, "
                             f"not {describe(node)}")  # fmt: skip
    return wrap(node).astype(dtype).node


def _is_whole(node: Node) -> bool:
    return node.kind == "constant" and float(_constant(node)).is_integer()


def _constant(node: Node) -> Any:
    return np.frombuffer(node.attrs.data, dtype=node.attrs.dtype)[0]


def _checks(row: Any, nodes: Sequence[Node]) -> list[tuple[DimTensor, str]]:
    """Check known parameters, and return the conditions on unknown ones."""
    given = dict(zip(row.parameters, nodes, strict=True))
    plain = {name: name for name in given}
    late = []
    for condition in row.valid:
        used = [name for name in given if f"{{{name}}}" in condition]
        text = condition.format_map(plain)
        if all(given[name].kind == "constant" for name in used):
            values = {name: _constant(given[name]).item() for name in used}
            if not evaluate(condition, values, np):
                told = list(values.items())
                raise OptionError(f"{row.name}: {_said(text)}", told)
            continue
        tensors = {name: wrap(given[name]) for name in used}
        found = evaluate(condition, tensors, elementwise)
        late.append((found, f"{row.name}: {_said(text)}"))
    return late


def _said(condition: str) -> str:
    """Return the error text of a condition; a bound of the largest float means finite."""
    name, _, bound = condition.rpartition(" <= ")
    asked = f"a finite {name}" if bound == str(FINITE) else condition
    return f"the parameters ask for {asked}"


def _order(
    words: Node, nodes: Sequence[Node], dims: DimsLike | None, event: Dim | None, name: str
) -> Dims:
    """Return the dims of one stream: those asked for, then those of the parameters."""
    known = tuple(dict.fromkeys(dim for x in nodes for dim in x.dims))
    if isinstance(dims, int):
        hint = f"dims=dt.Dim('k', length={dims})"
        raise DimError(f"{name}: {dims} is a length, and no dim", hint=hint)
    given: Any = () if dims is None else (dims,) if isinstance(dims, (Dim, str)) else dims
    asked = []
    own = (*known, *without(words.dims, (WORD,)))
    for key in in_order(given, f"the dims of {name}"):
        asked.append(key if isinstance(key, Dim) else _found(key, own, name))
    if len(set(asked)) != len(asked):
        raise DimError(f"{name}: a dim is named twice in {[dim._short for dim in asked]}")
    if event is not None and event in asked:
        raise DimError(f"{name}: {event._title} is the dim of one draw, not one of its dims")
    inner = [] if event is None else [event]
    return (*asked, *without(known, (*asked, *inner, *words.dims, WORD)))


def _found(key: Any, dims: Dims, name: str) -> Dim:
    """Find a dim of the parameters or the generator by its name."""
    if isinstance(key, str) and all(dim.name != key for dim in dims):
        known = [dim._short for dim in dims]
        details = [("dims", ", ".join(map(repr, known)) or "none (numbers)")]
        text = f"{name}: neither parameters nor the generator have a dim {key!r}"
        hint = f"a dim that is new has a length: dims=dt.Dim({key!r}, length=3)"
        raise UnknownDimError(f"{text}{did_you_mean(key, known)}", details, hint)
    return find_dim(dims, key, name)
