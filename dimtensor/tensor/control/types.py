"""What type checkers know of states and options of loops.

To a type checker numbers that states start from are tensors within the loop and after it: a number,
numbers in a tuple of up to four, or in a dict. Any other tree is of tensors, and keeps its type;
where it has numbers, ``dt.full((), number)`` says that they are tensors. A step whose state is a
named tuple is a function that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from dimtensor.graph.checkpoints import Checkpoints
from dimtensor.tensor.handle import Leaf

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from dimtensor.tensor.core import DimTensor

type Two = tuple[DimTensor, DimTensor]
type TwoLeaves = tuple[Leaf, Leaf]
type Three = tuple[DimTensor, DimTensor, DimTensor]
type ThreeLeaves = tuple[Leaf, Leaf, Leaf]
type Four = tuple[DimTensor, DimTensor, DimTensor, DimTensor]
type FourLeaves = tuple[Leaf, Leaf, Leaf, Leaf]
type Tree = DimTensor | DataclassInstance | tuple[Part, ...] | list[Any] | Mapping[str, Part]
type Part = Tree | None


class LoopOptions(TypedDict, total=False):
    """Options of loops along a dim; see :func:`scan`."""

    reverse: bool
    checkpoint: Checkpoints | Sequence[int] | None
    inverse: Callable[..., Any] | None
    truncate: int | None
