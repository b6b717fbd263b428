"""Memory that a call lacks: the expression that needs it, its dims and its line."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dimtensor.cost.quantities import bytes_text
from dimtensor.dims import Binding, Dim
from dimtensor.dims.derivation import check_positions_of
from dimtensor.errors import DimtensorError, MemoryLimitError, build_message
from dimtensor.graph import Node, toposort
from dimtensor.graph.lines import Line
from dimtensor.graph.printing.shown import shown
from dimtensor.graph.walk import with_regions

# no address has more bits on today's processors: an array of so many bytes is in no memory
_ADDRESSES = 2**57
# of errors of XLA
_FULL = ("RESOURCE_EXHAUSTED", "Out of memory")
# as which it comes: NumPy, XLA and LLVM's code each have their own
LACKING = (MemoryError, ValueError, OverflowError, RuntimeError, TypeError)
_WIDTH = 76


class _Size(NamedTuple):
    node: Node
    lengths: dict[Dim, int]
    bytes: int


def check_lengths(dims: Iterable[Dim], binding: Binding) -> None:
    """Check that positions along derived dims can be counted.

    Raises
    ------
    MemoryLimitError
        If a dim has more positions than there are 64-bit integers.
    """
    for dim in dims:
        length = dim._bound_length(binding)
        if length is not None:
            parents = ((each, each._bound_length(binding)) for each in dim.parents)
            check_positions_of(dim, length, parents)


def check_sizes(nodes: Iterable[Node], binding: Binding) -> None:
    """Check that some memory could hold the arrays of nodes.

    Raises
    ------
    MemoryLimitError
        If none could hold one of them.
    """
    largest = _largest(nodes, binding)
    if largest is not None and largest.bytes > _ADDRESSES:
        raise _error(largest)


def check_intermediates(outputs: Sequence[Node], lengths: Mapping[Dim, int]) -> None:
    """Check that some memory could hold each array of a graph.

    XLA ends the process where the sizes of its arrays add up to more than 64 bits count.

    Raises
    ------
    MemoryLimitError
        If none could hold one of them.
    """
    binding = Binding()
    for dim, length in lengths.items():
        binding.add_length(dim, length, "the call")
    check_sizes(with_regions(toposort(outputs)), binding)


def no_memory(error: Exception, outputs: Sequence[Node], binding: Binding) -> Exception:
    """The error of a call that failed for lack of memory; others are given back as they are.

    Backends say it in their own ways, and only in terms of axes.
    """
    if isinstance(error, DimtensorError):
        return error
    largest = _largest(with_regions(toposort(shown(outputs))), binding)
    if largest is None:
        return error
    lacks = isinstance(error, MemoryError) or any(each in str(error) for each in _FULL)
    return _error(largest) if lacks or largest.bytes > _ADDRESSES else error


def _largest(nodes: Iterable[Node], binding: Binding) -> _Size | None:
    """The largest array, of several the last one."""
    found = [*_sizes(nodes, binding)]
    return max(reversed(found), key=lambda size: size.bytes, default=None)


def _sizes(nodes: Iterable[Node], binding: Binding) -> Iterator[_Size]:
    """The arrays of nodes whose dtypes and lengths are known."""
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
    lengths = ", ".join(f"{dim.short}={length:,}" for dim, length in size.lengths.items())
    headline = (
        "there is not enough memory for this call: its largest array takes "
        f"{bytes_text(size.bytes)}"
    )
    details = [*written(size.node, size.node.line), ("lengths", lengths or "none")]
    if 0 in size.lengths.values():
        headline = "no array can have the lengths of this call, though one of them is 0"
        return MemoryLimitError(build_message(headline, details))
    way_out = "dt.map and dt.scan compute one position of a dim after the other"
    if len(size.lengths) > 1:
        way_out += "; if two of these dims are one, use the same Dim for both"
    return MemoryLimitError(build_message(headline, details, way_out))


def written(node: Node, line: Line | None) -> list[tuple[str, str]]:
    """An expression, and the line that it is written on, as details of a message."""
    from dimtensor.display.formula import formula

    found = [("expression", formula(node, _WIDTH))]
    if line is not None:
        source = textwrap.shorten(line.text, _WIDTH, placeholder=" …")
        found.append(("line", f"{line}  {source}" if source else str(line)))
    return found
