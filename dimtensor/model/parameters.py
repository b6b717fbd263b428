"""The unknowns of a model: which tensors they are, where they lie, and their free elements."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import dimtensor.supports as public_supports
from dimtensor.compile.function import free_inputs
from dimtensor.dims import Binding, Dim, Dims, dim_set
from dimtensor.dist.supports import Support
from dimtensor.errors import (
    ArgumentError,
    DtypeError,
    GraphError,
    InputError,
    LabelError,
    OptionError,
    did_you_mean,
    listing,
)
from dimtensor.graph import Node
from dimtensor.graph.dtypes import is_float
from dimtensor.model.records import broadcast
from dimtensor.tensor.handle import TensorHandle, wrap
from dimtensor.values.datasets import label_text

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.tensor.core import DimTensor


@dataclass(frozen=True, eq=False)
class Parameter:
    """One unknown of a model.

    Attributes
    ----------
    tensor : DimTensor
        The symbolic input that it is in the log density.
    support : Support
        Resolved for the tensor.
    free_dims : tuple of Dim
        Dims of its unconstrained elements, in the order in which these are raveled.
    """

    tensor: DimTensor
    support: Support
    free_dims: Dims

    @property
    def name(self) -> str:
        """Name of the tensor."""
        assert self.tensor.name is not None
        return self.tensor.name

    @property
    def static_size(self) -> int | None:
        """Number of free elements, None where it comes with the data."""
        return _product([dim.length for dim in self.free_dims])

    def size(self, binding: Binding) -> int:
        """Return the number of free elements, with lengths of dims from data.

        Raises
        ------
        GraphError
            If neither a dim nor the data tell its length.
        """
        for dim in self.free_dims:
            if dim._bound_length(binding) is None:
                raise GraphError(
                    f"the length of {dim._title} of the parameter {self.name!r} is known "
                    "neither from the dim nor from the data of the model",
                    [("dim", repr(dim))],
                    "give the dim a length or coords, or data along it",
                )
        size = _product([dim._bound_length(binding) for dim in self.free_dims])
        assert size is not None
        return size

    def element_names(self, binding: Binding) -> Iterator[str]:
        """Yield names of the free elements: labels in brackets, positions for lack of labels."""
        if not self.free_dims:
            yield self.name
            return
        keys: list[list[str]] = []
        for dim in self.free_dims:
            labels = dim._bound_labels(binding)
            if labels is None or dim in self.support.unlabeled_dims(self.tensor.dims):
                keys.append([str(at) for at in range(dim._bound_length(binding) or 0)])
            else:
                keys.append([label_text(label) for label in labels.values])
        for combination in itertools.product(*keys):
            yield f"{self.name}[{','.join(combination)}]"


def _product(lengths: Sequence[int | None]) -> int | None:
    size = 1
    for length in lengths:
        if length is None:
            return None
        size *= length
    return size


def read_parameters(
    logp: Node, deterministics: Sequence[Node], supports: Mapping[Any, Any]
) -> tuple[Parameter, ...]:
    """Read the parameters of a log density, and check them against it.

    Raises
    ------
    ArgumentError
        If something is no input of the log density, has no name, or has no support.
    DtypeError
        If a parameter is not of a float dtype.
    GraphError
        If the model depends on inputs that have no support, or not on one that has.
    """
    if not isinstance(supports, Mapping):
        raise ArgumentError(
            "supports are a dict from parameters to supports, such as {mu: dt.real}, not "
            f"{type(supports).__name__}"
        )
    inputs = free_inputs([logp, *deterministics])
    by_name = {node.name: node for node in inputs if node.name is not None}
    found: dict[Node, Support] = {}
    for key, support in supports.items():
        node = _parameter_node(key, by_name)
        if not isinstance(support, Support):
            names = [name for name in public_supports.__all__ if name.islower()]
            raise ArgumentError(
                f"the support of {node.name!r} is {support!r}",
                hint="supports are dt.real, dt.positive, dt.supports.bounded(low, high) and "
                f"others of dt.supports: {', '.join(names)}",
            )
        found[node] = support
    check_complete(logp, deterministics, found)
    return tuple(_resolved(node, support) for node, support in found.items())


def _parameter_node(key: Any, by_name: Mapping[str, Node]) -> Node:
    if isinstance(key, str):
        if key not in by_name:
            raise LabelError(
                f"the log density has no input {key!r}{did_you_mean(key, list(by_name))}",
                [("inputs", listing(list(by_name)))],
            )
        return by_name[key]
    if not isinstance(key, TensorHandle):
        raise ArgumentError(f"a parameter is a dims-tensor, not {key!r}")
    node = key.node
    if node.kind != "input":
        raise OptionError(
            f"a parameter is a symbolic input, not {node}",
            hint="make parameters with dt.tensor or dt.scalar; what is computed from them can "
            "be recorded with deterministics={...}",
        )
    if node.name is None:
        raise OptionError(f"a parameter has a name, {node} has none: dt.tensor('name', dims=...)")
    if not is_float(node.dtype):
        raise DtypeError(
            f"the parameter {node.name!r} is of {node.dtype}, unconstrained vectors hold "
            "real numbers",
            hint="sum a discrete parameter out of the log density",
        )
    return node


def check_complete(
    logp: Node, deterministics: Sequence[Node], found: Mapping[Node, Support]
) -> None:
    """Check that every input has a support, and every support an input.

    Raises
    ------
    GraphError
        If an input has no support, the log density does not depend on one that has, or two have one
        name.
    """
    bounds = [x.node for support in found.values() for x in support.tensors]
    needed = free_inputs([logp, *deterministics, *bounds])
    missing = [node for node in needed if node not in found]
    if missing:
        raise GraphError(
            "the model depends on inputs that have no support",
            [("missing", _described_all(missing))],
            "add them to the supports; values that are known are made with dt.data",
        )
    used = set(free_inputs([logp, *bounds]))
    unused = [node for node in found if node not in used]
    if unused:
        raise GraphError(
            "the log density does not depend on parameters that have a support",
            [("unused", _described_all(unused))],
            "every parameter needs a density, its prior, or its posterior is not proper",
        )
    names: dict[str | None, Node] = {}
    for node in found:
        other = names.setdefault(node.name, node)
        if other is not node:
            raise GraphError(
                f"two different parameters are named {node.name!r}",
                [("one", _described(other)), ("other", _described(node))],
            )


def _described(node: Node) -> str:
    name = "an unnamed input" if node.name is None else repr(node.name)
    return f"{name} with dims {dim_set(node.dims)}"


def _described_all(nodes: Sequence[Node]) -> str:
    return ", ".join(sorted(_described(node) for node in nodes))


def _resolved(node: Node, support: Support) -> Parameter:
    tensor = wrap(node)
    support = support.resolve(tensor)
    return Parameter(tensor, support, support.free_dims(node.dims))


def late_dims(dims: Sequence[Dim], carried: set[Dim]) -> list[Dim]:
    """Return the root dims that get lengths or labels with data.

    Parameters
    ----------
    dims : sequence of Dim
    carried : set of Dim
        Dims of data; they tell of themselves even where they are derived from others.
    """
    found: dict[Dim, None] = {}
    pending = list(dims)
    while pending:
        dim = pending.pop(0)
        if dim.coords is not None:
            continue
        if dim in carried or not dim.parents:
            found[dim] = None
        else:
            pending += dim.parents
    return list(found)


def check_inverse(
    parameters: Sequence[Parameter],
    binding: Binding,
    flat: xr.DataArray,
    again: Mapping[str, xr.DataArray],
    given: Sequence[xr.DataArray],
) -> None:
    """Check that values come back from the vector that was made of them, which is finite.

    Raises
    ------
    InputError
        Naming the parameter whose values do not.
    """
    start = 0
    for parameter, value in zip(parameters, given, strict=True):
        stop = start + parameter.size(binding)
        finite = np.isfinite(flat.values[..., start:stop]).all()
        back = again[parameter.name]
        if not finite or not np.allclose(*broadcast(back, value), rtol=1e-6, atol=1e-9):
            raise InputError(
                f"the value of {parameter.name!r} is outside of its support {parameter.support}",
                [("value", listing(value.values.ravel()))],
            )
        start = stop
