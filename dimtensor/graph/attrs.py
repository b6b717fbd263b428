"""Attributes of nodes that need more than a tuple."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dimtensor.dims import Dim, Dims, SelDim
from dimtensor.dims.labels import Labels
from dimtensor.dims.selection import Mask


class InputAttrs(NamedTuple):
    """A symbolic input; without a name the token tells two apart."""

    name: str | None
    token: str | None
    dims: Dims
    dtype: str
    categories: Dim | None


@dataclass(frozen=True, eq=False)
class DataAttrs:
    """Values of a data leaf, axes in the canonical order of its dims; compared by value.

    Values that follow from the labels of dims, as a calendar does, have in `recipe` a function and
    its arguments, dims among them, which makes them for other dims, too.
    """

    name: str | None
    dims: Dims
    values: np.ndarray
    categories: Dim | None = None
    labels: tuple = ()  # (dim, Coords) of the dims that got their labels with this data
    recipe: tuple | None = None
    _key: tuple = field(init=False, repr=False)

    def __post_init__(self) -> None:
        values = np.ascontiguousarray(self.values).reshape(np.shape(self.values))
        if values.flags.writeable:
            values = values.copy()
            values.flags.writeable = False
        object.__setattr__(self, "values", values)
        digest = hashlib.blake2b(values.tobytes(), digest_size=16).digest()
        key = (self.name, self.dims, values.dtype.str, values.shape, digest, self.categories,
               self.labels, *(() if self.recipe is None else (self.recipe,)))  # fmt: skip
        object.__setattr__(self, "_key", key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DataAttrs) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> tuple:
        own = (self.name, self.dims, self.values, self.categories, self.labels, self.recipe)
        return DataAttrs, own


class ConstantAttrs(NamedTuple):
    """A number; the bytes tell -0.0 from 0.0 and make NaN equal to itself."""

    dtype: str
    data: bytes

    @property
    def value(self) -> np.ndarray:
        return np.frombuffer(self.data, dtype=self.dtype)[0]


class ShapedAttrs(NamedTuple):
    """A positional PyTensor variable and the dims of its axes, in order."""

    variable: Any
    dims: Dims
    dtype: str
    categories: Dim | None = None

    @property
    def name(self) -> str | None:
        return getattr(self.variable, "name", None)


class LabelPosition(NamedTuple):
    """Position of a label of a dim that gets its labels with the data.

    Of a slice by label, ``labels`` are its ends and step, and the role says which of its ends, as a
    position, or whether its length is meant.
    """

    dim: Dim
    labels: Labels
    role: str  # "one", "many", "start", "stop", "length"


class IndexItem(NamedTuple):
    """The selection along one dim in an index or update node.

    ``kind`` is ``int`` (payload: the position), ``select`` (payload: the Selection that a SelDim is
    made of), or ``mask`` and ``tensor`` (payload: number of the indexer among the extra inputs).
    """

    dim: Dim
    kind: str
    payload: Any

    def new_dim(self, indexers: Sequence[Any]) -> Dim:
        """The dim that a selection or mask makes of the item's dim."""
        chosen = Mask(indexers[self.payload]) if self.kind == "mask" else self.payload
        return SelDim._from(self.dim, chosen)


class IndexAttrs(NamedTuple):
    """A selection, one item for each dim that is selected from, sorted by them."""

    items: tuple[IndexItem, ...]


class UpdateAttrs(NamedTuple):
    """Attributes of an update of a selection: the mode is ``set`` or ``inc``."""

    mode: str
    items: tuple[IndexItem, ...]


class ReduceAttrs(NamedTuple):
    """A reduction by its name in the op table, and the dims that it is over."""

    name: str
    dims: Dims


class AlongAttrs(NamedTuple):
    """An operation by its name, and the dim that it runs along."""

    name: str
    dim: Dim


class SortAttrs(NamedTuple):
    """The dim that is sorted along, and its ranks."""

    dim: Dim
    ranks: Dim


class GroupAttrs(NamedTuple):
    """Which element of each group along a dim; the groups are positions along another."""

    which: str
    along: Dim
    groups: Dim


class RelabelAttrs(NamedTuple):
    """Pairs of dims of which the second takes the place of the first."""

    pairs: tuple[tuple[Dim, Dim], ...]


class ConcatAttrs(NamedTuple):
    """The dims along which inputs are joined, one each, and what these are together."""

    parts: Dims
    whole: Dim


class ApplyAttrs(NamedTuple):
    """A positional function lifted over core dims.

    ``function`` is hashable and called with positional variables, the batch axes of each leading
    and the core axes trailing in the order of ``core_in``.
    """

    function: Any
    core_in: tuple[Dims, ...]
    core_out: Dims
    dtype: str
    output: int
    name: str


# the words that a generator consists of
WORD = Dim("generator_word", length=6)


class StreamAttrs(NamedTuple):
    """Generators along a dim; ``word`` is the dim of their words."""

    dim: Dim
    word: Dim


class DrawAttrs(NamedTuple):
    """Draws of a distribution by its name.

    All dims of the draws that the generator lacks are drawn from one stream, in row-major order:
    those in ``order`` come last, in this order. ``event`` is the dim of a vector that is one draw.
    Output 0 has the words afterwards, output 1 the draws. ``word`` is the dim of the words.
    """

    name: str
    word: Dim
    order: Dims
    event: Dim | None
    dtype: str
    output: int


class RandomAttrs(NamedTuple):
    """A random variable: the law says how it is distributed, given the inputs of the node.

    ``dims`` are those it has beside those of its parameters. A law is hashable, and has ``hidden``,
    the dims of parameters that draws lack, and ``map_dims(f)``; the rest is known above the graph.
    """

    name: str
    law: Any
    dims: Dims
    dtype: str
    categories: Dim | None


class NamedAttrs(NamedTuple):
    """A name for a part of a graph."""

    name: str


class ShownAttrs(NamedTuple):
    """A derivative as it is written: its name, the parts of its operands, and its type."""

    name: str
    roles: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    dims: Dims
    dtype: str
