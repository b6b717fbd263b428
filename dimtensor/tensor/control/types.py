"""Types of loop states and loop options, for type checkers.

A loop turns initial numbers into tensors. The overloads of loops express this for a number and for
numbers in a dict or in a tuple of up to four. Any other tree must consist of tensors and keeps its
type: write ``dt.full((), number)`` for its numbers. A step whose state is a named tuple needs type
annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from dimtensor.graph.checkpoints import Checkpoints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from dimtensor.tensor.core import DimTensor

type Tree = DimTensor | DataclassInstance | tuple[Part, ...] | list[Any] | Mapping[str, Part]
type Part = Tree | None


class LoopKeywords(TypedDict, total=False):
    """Options of loops along a dim; see :func:`scan`."""

    reverse: bool
    checkpoint: Checkpoints | Sequence[int] | None
    inverse: Callable[..., Any] | None
    truncate: int | None
