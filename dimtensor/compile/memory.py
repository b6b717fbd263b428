"""Errors of calls that need too much memory: they name the largest array, its dims and its line."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dimtensor.cost.quantities import bytes_text
from dimtensor.dims import Binding, Dim
from dimtensor.dims.derivation import check_positions_of
from dimtensor.errors import DimtensorError, MemoryLimitError
from dimtensor.graph import Node, toposort
from dimtensor.graph.lines import Line
from dimtensor.graph.printing.formula import formula
from dimtensor.graph.printing.shown import shown
from dimtensor.graph.walk import with_regions
from dimtensor.tuning import TEXT_WIDTH

# bytes that no address space of today's processors holds
_ADDRESSES = 2**57
# texts of XLA's errors
_FULL = ("RESOURCE_EXHAUSTED", "Out of memory")
# exceptions that NumPy, XLA and machine code raise when allocations fail
LACKING = (MemoryError, ValueError, OverflowError, RuntimeError, TypeError)


class _Size(NamedTuple):
    node: Node
    lengths: dict[Dim, int]
    bytes: int


def check_lengths(dims: Iterable[Dim], binding: Binding) -> None:
    """Check that the lengths of derived dims fit into 64-bit integers.

    Raises
    ------
    MemoryLimitError
        If one does not.
    """
    for dim in dims:
        length = dim._bound_length(binding)
        if length is not None:
            parents = ((each, each._bound_length(binding)) for each in dim.parents)
            check_positions_of(dim, length, parents)


def check_sizes(nodes: Iterable[Node], binding: Binding) -> None:
    """Check that the arrays of nodes fit into an address space.

    Raises
    ------
    MemoryLimitError
        If one does not.
    """
    largest = _largest(nodes, binding)
    if largest is not None and largest.bytes > _ADDRESSES:
        raise _error(largest)


def check_intermediates(outputs: Sequence[Node], lengths: Mapping[Dim, int]) -> None:
    """Check that each array of a graph fits into an address space.

    XLA aborts the process if the sizes of its arrays overflow 64 bits.

    Raises
    ------
    MemoryLimitError
        If one does not.
    """
    binding = Binding()
    for dim, length in lengths.items():
        binding.add_length(dim, length, "the call")
    check_sizes(with_regions(toposort(outputs)), binding)


def no_memory(error: Exception, outputs: Sequence[Node], binding: Binding) -> Exception:
    """Translate a backend's out-of-memory error to one that names dims; return others unchanged."""
    if isinstance(error, DimtensorError):
        return error
    largest = _largest(with_regions(toposort(shown(outputs))), binding)
    if largest is None:
        return error
    lacks = isinstance(error, MemoryError) or any(each in str(error) for each in _FULL)
    return _error(largest) if lacks or largest.bytes > _ADDRESSES else error


def _largest(nodes: Iterable[Node], binding: Binding) -> _Size | None:
    """Return the largest array; of equal ones the last."""
    found = [*_sizes(nodes, binding)]
    return max(reversed(found), key=lambda size: size.bytes, default=None)


def _sizes(nodes: Iterable[Node], binding: Binding) -> Iterator[_Size]:
    """Iterate over the sizes of nodes with known dtypes and lengths."""
    for node in nodes:
        try:
            size = np.dtype(node.dtype).itemsize
            lengths = {dim: dim._bound_length(binding) for dim in node.dims}
        except (TypeError, DimtensorError):  # a generator, or lengths that contradict each other
            continue
        known = {dim: length for dim, length in lengths.items() if length is not None}
        if len(known) == len(lengths):
            count = math.prod(max(length, 1) for length in known.values())
            yield _Size(node, known, size * count)


def _error(size: _Size) -> MemoryLimitError:
    lengths = ", ".join(f"{dim._short}={length:,}" for dim, length in size.lengths.items())
    headline = (
        "there is not enough memory for this call: its largest array takes "
        f"{bytes_text(size.bytes)}"
    )
    details = [*written(size.node, size.node.line), ("lengths", lengths or "none")]
    if 0 in size.lengths.values():
        headline = "no array can have the lengths of this call, though one of them is 0"
        return MemoryLimitError(headline, details)
    way_out = "dt.map and dt.scan compute one position of a dim after the other"
    if len(size.lengths) > 1:
        way_out += "; if two of these dims are one, use the same Dim for both"
    return MemoryLimitError(headline, details, way_out)


def written(node: Node, line: Line | None) -> list[tuple[str, str]]:
    """Describe an expression and its line of code as details of an error message."""
    found = [("expression", formula(node, TEXT_WIDTH))]
    if line is not None:
        source = textwrap.shorten(line.text, TEXT_WIDTH, placeholder=" …")
        found.append(("line", f"{line}  {source}" if source else str(line)))
    return found
