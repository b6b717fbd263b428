"""Functions of positional variables, identified by import path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dimtensor.graph.node import Node


class BatchedFunction:
    """PyTensor function that is batched over leading axes.

    Parameters
    ----------
    path : str
        Import path, ``module:name``; the module is imported when the function is called.
    checked_lengths : bool
        Whether to check the lengths of the core axes of its outputs at run time.
    **options
        Keyword arguments of the call, hashable.
    """

    def __init__(self, path: str, checked_lengths: bool = False, **options: Any):
        self.path = path
        self.checked_lengths = checked_lengths
        self.options = options
        self._key = (path, checked_lengths, tuple(sorted(options.items())))

    def __call__(self, *variables: Any) -> list[Any]:
        import importlib

        module, name = self.path.split(":")
        function = getattr(importlib.import_module(module), name)
        result = function(*variables, **self.options)
        return list(result) if isinstance(result, (list, tuple)) else [result]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BatchedFunction) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def with_own_columns(attrs: Any, inputs: Sequence[Node]) -> Any:
    """Return the attributes of a solver without columns that its right-hand side lacks."""
    if "b_ndim" not in attrs.function.options:
        return attrs
    (row, col), columns = attrs.core_in[0], attrs.core_in[1][1:]
    kept = tuple(d for d in columns if d in inputs[1].dims and d not in inputs[0].dims)
    options = {**attrs.function.options, "b_ndim": 1 + len(kept)}
    function = BatchedFunction(attrs.function.path, **options)
    core_in, core_out = ((row, col), (row, *kept)), (col, *kept)
    return attrs._replace(function=function, core_in=core_in, core_out=core_out)
