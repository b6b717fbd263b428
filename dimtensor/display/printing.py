"""``dt.dprint``: the graph of an expression as text."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import IO, Any

from dimtensor.errors import ArgumentError, escaped
from dimtensor.graph import Node, toposort
from dimtensor.graph.printing.printer import References, graph_text
from dimtensor.lower import plan_axes


def nodes_of(x: Any) -> list[Node] | dict[str, Node]:
    """Return the nodes of a tensor, a list or dict of tensors, or a compiled function.

    Any object with ``output_nodes`` is treated as a compiled function.

    Raises
    ------
    ArgumentError
        For anything else.
    """
    outputs = getattr(x, "output_nodes", None)
    if outputs is not None:
        return list(outputs)
    if isinstance(x, Mapping):
        return {str(key): _node_of(value) for key, value in x.items()}
    if isinstance(x, Sequence) and not isinstance(x, str):
        return [_node_of(value) for value in x]
    return [_node_of(x)]


def _node_of(x: Any) -> Node:
    node = getattr(x, "node", x)
    if not isinstance(node, Node):
        raise ArgumentError(f"expected a dims-tensor or several, got {type(x).__name__}: {x!r}")
    return node


def dprint(x: Any, file: IO[str] | str | None = None, layout: bool = False) -> str | None:
    """Print the graph of an expression: every operation once, with its dims, lengths and dtype.

    Parameters
    ----------
    x : DimTensor, CompiledFunction, or list or dict of DimTensor
    file : text stream or "str", optional
        Where to print, by default to standard output; ``"str"`` returns the text instead.
    layout : bool
        Whether to add the order of axes in compiled code; the last one is contiguous in memory.

    Returns
    -------
    str or None
        The text, which is the same in every process. Late lengths are ``?``. If several dims have
        one name, they are numbered, as in ``country#2``, and defined at the top.

    Raises
    ------
    ArgumentError
        If `x` is none of these.

    Examples
    --------
    >>> import dimtensor as dt
    >>> country = dt.Dim("country", coords=["Italy", "Kenya"])
    >>> a = dt.tensor("a", dims=country)
    >>> dt.dprint(dt.exp(a).sum())
    dims:
      country: 2 = Dim('country', ['Italy', 'Kenya'])
    nodes:
      a  = input                      {country: 2} float64
      %0 = exp(a)                     {country: 2} float64
      %1 = sum(%0, dim={country})    {}           float64
    outputs: %1
    """
    nodes = nodes_of(x)
    text = graph_text(nodes)
    if layout:
        text += (
            f"\nlayout: {_layout_text(list(nodes.values() if isinstance(nodes, dict) else nodes))}"
        )
    text = escaped(text)
    if file == "str":
        return text
    print(text, file=file or sys.stdout)  # type: ignore[arg-type]
    return None


def _layout_text(nodes: list[Node]) -> str:
    names = References(nodes)
    dims = {dim for node in toposort(nodes) for dim in node.dims}
    return " < ".join(names.dim(dim) for dim in plan_axes(nodes).sort(dims))
