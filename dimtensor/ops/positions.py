"""Positions: computed ones, in dims that may turn out to be empty; those of masks and of groups.

Computed positions are clipped to their dim, and whether they were inside is said after the run. Of
a dim without elements no position is inside, clipped or not, and must not be read before that is
said. So clipping takes the length of the dim from an operation that looks whether there is anything
to read. What it does where there is nothing depends on who runs the graph:

- Compiled loops raise before they read, and the caller says which check it was.
- The interpreter and JAX read zeros, and updates do nothing (:func:`without_empty`). The check that
  fails is said as all others are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.op import Op
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.subtensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    inc_subtensor,
    indices_from_subtensor,
)

from dimtensor.graph.dtypes import neutral_extreme
from dimtensor.ops.differentiable import WithoutGradient, WithRules
from dimtensor.ops.graphs import on_nodes

# the whole message of the IndexError of compiled loops
NOTHING_TO_READ = "positions computed for an empty dim are outside of its length"


class Inhabited(CheckAndRaise):
    """A length, and conditions that say that it is not 0 or that nothing is read.

    Examples
    --------
    >>> import numpy as np, pytensor.tensor as pt
    >>> from dimtensor.ops.interpret import Interpreter
    >>> n = pt.lscalar()
    >>> length = Inhabited(IndexError, NOTHING_TO_READ)(n, pt.gt(n, 0))
    >>> Interpreter([n], [length])(np.array(0))
    [array(0)]
    """

    def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
        outputs[0][0] = inputs[0]

    def c_code(self, *args: Any) -> str:
        raise NotImplementedError("there is no C code")


def inhabited(length: Variable, is_read: Variable) -> Variable:
    """Check that a length is not 0 if an element is read."""
    condition = pt.or_(pt.gt(length, 0), pt.invert(is_read))
    return Inhabited(IndexError, NOTHING_TO_READ)(length, condition)


def without_empty(entries: Sequence[Any], shape: Sequence[int]) -> tuple[int, ...]:
    """Return a shape whose indexed axes have at least one element.

    Parameters
    ----------
    entries : sequence
        For each of the first axes a slice or what the positions are; the ``idx_list`` of an
        operation.
    shape : sequence of int

    Examples
    --------
    >>> without_empty((slice(None), 0), (0, 0, 3))
    (0, 1, 3)
    """
    found = list(shape)
    for axis, entry in enumerate(entries):
        if not isinstance(entry, slice):
            found[axis] = max(found[axis], 1)
    return tuple(found)


@on_nodes(AdvancedSubtensor, AdvancedIncSubtensor)
def positions_of_masks(node: Apply) -> Variable | None:
    """Replace masks that are known by the positions that they choose."""
    op = node.op
    first = 1 if isinstance(op, AdvancedSubtensor) else 2
    indices = indices_from_subtensor(node.inputs[first:], op.idx_list)
    masks = [i for i in indices if getattr(i, "dtype", None) == "bool"]
    if not masks or not all(isinstance(i, Constant) and i.data.ndim for i in masks):
        return None
    x = node.inputs[0]
    written: list[Any] = []
    lengths: list[int | None] = []
    for i in indices:
        if i in masks:
            written += [pt.constant(at) for at in i.data.nonzero()]
            lengths += i.data.shape
        else:
            written.append(i)
            lengths.append(None)
    lengths += [None] * (x.type.ndim - len(lengths))
    pairs = zip(lengths, x.type.shape, strict=True)
    if any(length not in (None, known) for length, known in pairs):
        x = pt.specify_shape(x, lengths)
    new = x[tuple(written)]
    if first == 2:
        new = inc_subtensor(
            new,
            _without_first_axes(node.inputs[1], new.type.ndim),
            set_instead_of_inc=op.set_instead_of_inc,
            ignore_duplicates=op.ignore_duplicates,
        )
    return new


def _without_first_axes(value: Variable, ndim: int) -> Variable:
    """Squeeze leading axes of length 1 that the selection lacks."""
    more = max(value.type.ndim - ndim, 0)
    return value.squeeze(tuple(range(more))) if more else value


# -- positions by groups ---------------------------------------------------------------------------

GROUP_ELEMENTS = ("first", "min", "max")


class GroupPosition(WithoutGradient, Op):
    """Position of one element per group; -1 for a group without elements.

    Ties go to the smaller position. Of a group that has NaN, the extreme element is its first NaN,
    as in NumPy's ``min`` and ``max``.

    Parameters
    ----------
    which : {"first", "min", "max"}

    Notes
    -----
    Inputs are a vector of shape ``(n,)``, the integer group of each element of shape ``(n,)``, and
    the numbers of the groups, ``arange(k)``; the output has shape ``(k,)`` and dtype int64.
    Elements whose group is not in ``0 <= group < k`` belong to none. The output has
    no gradient: select the elements at the positions instead.

    Examples
    --------
    >>> import numpy as np, pytensor.tensor as pt
    >>> op = GroupPosition("max")
    >>> op(np.array([3.0, 5.0, 4.0]), np.array([0, 2, 0]), np.arange(3)).eval().tolist()
    [2, -1, 1]
    """

    __props__ = ("which",)
    gufunc_signature = "(n),(n),(k)->(k)"

    def __init__(self, which: str):
        if which not in GROUP_ELEMENTS:
            raise ValueError(f"which is one of {GROUP_ELEMENTS}, not {which!r}")
        self.which = which

    def make_node(self, x: Variable, codes: Variable, groups: Variable) -> Apply:
        x, codes, groups = (pt.as_tensor_variable(v) for v in (x, codes, groups))
        if not x.type.ndim == codes.type.ndim == groups.type.ndim == 1:
            raise TypeError("GroupPosition takes three vectors")
        if np.dtype(codes.type.dtype).kind not in "iu":
            raise TypeError(f"groups are integers, not {codes.type.dtype}")
        return Apply(self, [x, codes, groups], [pt.vector(dtype="int64", shape=groups.type.shape)])

    def perform(
        self, node: Apply, inputs: Sequence[np.ndarray], output_storage: list[list[Any]]
    ) -> None:
        x, codes, groups = inputs
        output_storage[0][0] = group_position(self.which, x, codes, len(groups))

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[2]]


def group_position(which: str, x: np.ndarray, codes: np.ndarray, n_groups: int) -> np.ndarray:
    """NumPy implementation of :class:`GroupPosition`."""
    inside = (codes >= 0) & (codes < n_groups)
    at = np.flatnonzero(inside)
    x, codes = x[inside], codes[inside]
    if which != "first" and len(x):
        largest = which == "max"
        extreme = np.full(n_groups, neutral_extreme(largest, x.dtype), dtype=x.dtype)
        (np.maximum if largest else np.minimum).at(extreme, codes, x)
        hit = x == extreme[codes]
        if x.dtype.kind == "f":
            hit |= np.isnan(x)
        at, codes = at[hit], codes[hit]
    positions = np.full(n_groups, np.iinfo(np.int64).max)
    np.minimum.at(positions, codes, at)
    return np.where(positions == np.iinfo(np.int64).max, -1, positions)


def _batched(which: str) -> Callable[..., np.ndarray]:
    """Return the function of vectors, over leading axes."""

    def positions(x: np.ndarray, codes: np.ndarray, groups: np.ndarray) -> np.ndarray:
        batch = np.broadcast_shapes(x.shape[:-1], codes.shape[:-1], groups.shape[:-1])
        x, codes = (np.broadcast_to(v, (*batch, v.shape[-1])) for v in (x, codes))
        found = np.empty((*batch, groups.shape[-1]), dtype=np.int64)
        for at in np.ndindex(batch):
            found[at] = group_position(which, x[at], codes[at], groups.shape[-1])
        return found

    return positions


first_positions, min_positions, max_positions = (_batched(which) for which in GROUP_ELEMENTS)


class GroupExtreme(WithRules, Op):
    """Smallest or largest element of each group; the neutral element of a group without elements.

    Equal extreme elements share the derivative evenly, as in ``max`` of all elements. NaN is the
    extreme element of its group, and has no derivative.

    Parameters
    ----------
    which : {"min", "max"}

    Notes
    -----
    Inputs are those of :class:`GroupPosition`, where groups are at least 0 and less than ``k``; the
    output has shape ``(k,)``.

    Examples
    --------
    >>> import numpy as np, pytensor.tensor as pt
    >>> op = GroupExtreme("max")
    >>> op(np.array([3.0, 5.0, 4.0]), np.array([0, 2, 0]), np.arange(3)).eval().tolist()
    [4.0, -inf, 5.0]
    """

    __props__ = ("which",)
    gufunc_signature = "(n),(n),(k)->(k)"

    def __init__(self, which: str):
        self.which = which

    @property
    def is_max(self) -> bool:
        return self.which == "max"

    def make_node(self, x: Variable, codes: Variable, groups: Variable) -> Apply:
        x, codes, groups = (pt.as_tensor_variable(v) for v in (x, codes, groups))
        if not x.type.ndim == codes.type.ndim == groups.type.ndim == 1:
            raise TypeError("GroupExtreme takes three vectors")
        out = pt.tensor(dtype=x.type.dtype, shape=groups.type.shape)
        return Apply(self, [x, codes, groups], [out])

    def perform(
        self, node: Apply, inputs: Sequence[np.ndarray], output_storage: list[list[Any]]
    ) -> None:
        x, codes, groups = inputs
        found = np.full(len(groups), neutral_extreme(self.is_max, x.dtype), dtype=x.dtype)
        (np.maximum if self.is_max else np.minimum).at(found, codes, x)
        output_storage[0][0] = found

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[2]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False], [False]]

    def _of_elements(self, node: Any) -> tuple[Variable, Variable]:
        """Return a mask of the extreme elements, and their number in the group of each one."""
        x, codes, groups = node.inputs
        extreme = pt.eq(x, self(x, codes, groups)[codes])
        none = pt.zeros_like(groups, dtype=x.type.dtype)
        ties = pt.inc_subtensor(none[codes], pt.cast(extreme, x.type.dtype))
        return extreme, pt.maximum(ties[codes], 1.0)

    def push_rule(self, node: Any, tangents: Sequence[Any]) -> list[Variable | None]:
        (tangent, *_), (_, codes, groups) = tangents, node.inputs
        if tangent is None:
            return [None]
        extreme, ties = self._of_elements(node)
        chosen = pt.switch(extreme, tangent / ties, 0.0)
        none = pt.zeros_like(groups, dtype=chosen.type.dtype)
        return [pt.inc_subtensor(none[codes], chosen)]

    def pull_rule(
        self, node: Any, cotangents: Sequence[Any], wanted: Sequence[bool]
    ) -> list[Variable | None]:
        (cotangent,), codes = cotangents, node.inputs[1]
        extreme, ties = self._of_elements(node)
        return [pt.switch(extreme, cotangent[codes] / ties, 0.0), None, None]


def group_extreme(x: Variable, codes: Variable, groups: Variable, which: str) -> Variable:
    """Apply :class:`GroupExtreme` along last axes."""
    op = GroupExtreme(which)
    return op(x, codes, groups) if x.type.ndim == 1 else Blockwise(op)(x, codes, groups)


class OwnerOf(WithoutGradient, Op):
    """Group of each place, of groups that are next to each other: the number of ends up to it.

    Places after the last end are in the last group.

    Notes
    -----
    Inputs are the ends of the groups, ascending, of shape ``(k,)``, and places of shape ``(n,)``;
    the output has shape ``(n,)`` and dtype int64, and no gradient. Compiled loops over all places,
    ``arange(n)``, are loops over the groups around loops over their places.

    Examples
    --------
    >>> import numpy as np
    >>> OwnerOf()(np.array([2, 2, 3]), np.arange(3)).eval().tolist()
    [0, 0, 2]
    """

    __props__ = ()

    def make_node(self, ends: Variable, places: Variable) -> Apply:
        ends, places = pt.as_tensor_variable(ends), pt.as_tensor_variable(places)
        if not ends.type.ndim == places.type.ndim == 1:
            raise TypeError("OwnerOf takes two vectors")
        return Apply(self, [ends, places], [pt.vector(dtype="int64", shape=places.type.shape)])

    def perform(
        self, node: Apply, inputs: Sequence[np.ndarray], output_storage: list[list[Any]]
    ) -> None:
        ends, places = inputs
        output_storage[0][0] = _owner_of(ends, places)

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[1]]


def _owner_of(ends: np.ndarray, places: np.ndarray) -> np.ndarray:
    found = np.searchsorted(ends, places, side="right")
    return np.minimum(found, len(ends) - 1).astype("int64")


def owner_of(ends: Variable, places: Variable) -> Variable:
    """Apply :class:`OwnerOf` to ends along a last axis, and places that may have more axes."""
    if ends.type.ndim == places.type.ndim == 1:
        return OwnerOf()(ends, places)
    found = pt.le(ends, places[..., None]).sum(axis=-1, dtype="int64")
    return pt.minimum(found, ends.shape[-1] - 1)
