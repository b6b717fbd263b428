"""Types of node attributes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dimtensor.dims import Dim, Dims, SelDim
from dimtensor.dims.labels import Labels
from dimtensor.dims.selection import Mask

# token of inputs that stand for leaves of a graph which was rebuilt from its description
REBUILT = "rebuilt"


class InputAttrs(NamedTuple):
    """Attributes of a symbolic input; unnamed inputs are distinguished by their tokens.

    An input whose values are read in chunks has a `stream`.
    """

    name: str | None
    token: str | None
    dims: Dims
    dtype: str
    categories: Dim | None
    stream: Any = None


@dataclass(frozen=True, eq=False)
class DataAttrs:
    """Values of a data leaf, with axes in the canonical order of its dims; compared by value.

    Values computed from the labels of dims, such as calendar parts, have a `recipe`: a function and
    its arguments, including dims, which recomputes them for other dims. Equal values with other
    units are other data, which is what `described` is for.
    """

    name: str | None
    dims: Dims
    values: np.ndarray
    categories: Dim | None = None
    labels: tuple = ()  # (dim, Coords) of the dims that got their labels with this data
    recipe: tuple | None = None
    described: str | None = None  # attributes of the array, such as units, and of its coordinates
    _key: tuple = field(init=False, repr=False)

    def __post_init__(self) -> None:
        values = np.ascontiguousarray(self.values).reshape(np.shape(self.values))
        if values.flags.writeable:
            values = values.copy()
            values.flags.writeable = False
        object.__setattr__(self, "values", values)
        digest = hashlib.blake2b(values.tobytes(), digest_size=16).digest()
        key = (self.name, self.dims, values.dtype.str, values.shape, digest, self.categories,
               self.labels, *(() if self.recipe is None else (self.recipe,)),
               *(() if self.described is None else (self.described,)))  # fmt: skip
        object.__setattr__(self, "_key", key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DataAttrs) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> tuple:
        own = (self.name, self.dims, self.values, self.categories, self.labels, self.recipe)
        return DataAttrs, (*own, self.described)


class ConstantAttrs(NamedTuple):
    """Constant as bytes, which distinguish -0.0 from 0.0 and make NaN equal to itself."""

    dtype: str
    data: bytes

    @property
    def value(self) -> np.ndarray:
        return np.frombuffer(self.data, dtype=self.dtype)[0]


class ShapedAttrs(NamedTuple):
    """Positional PyTensor variable and the dims of its axes, in order."""

    variable: Any
    dims: Dims
    dtype: str
    categories: Dim | None = None

    @property
    def name(self) -> str | None:
        return getattr(self.variable, "name", None)


class LabelPosition(NamedTuple):
    """Positions of labels along a dim with late labels.

    For a slice by label, ``labels`` are its ends and step, and the role selects the position of an
    end, or the slice's length.
    """

    dim: Dim
    labels: Labels
    role: str  # "one", "many", "start", "stop", "length"


class IndexItem(NamedTuple):
    """Selection along one dim in an index or update node.

    ``kind`` is ``int`` (payload: the position), ``select`` (payload: the Selection of the resulting
    SelDim), or ``mask`` or ``tensor`` (payload: index of the indexer among the extra inputs).
    """

    dim: Dim
    kind: str
    payload: Any

    def new_dim(self, indexers: Sequence[Any]) -> Dim:
        """Return the selected dim of an item of kind ``select`` or ``mask``."""
        chosen = Mask(indexers[self.payload]) if self.kind == "mask" else self.payload
        return SelDim._from(self.dim, chosen)


class IndexAttrs(NamedTuple):
    """Items of a selection, one per indexed dim, sorted by dim."""

    items: tuple[IndexItem, ...]


class UpdateAttrs(NamedTuple):
    """Mode (``set`` or ``inc``) and items of an update of a selection."""

    mode: str
    items: tuple[IndexItem, ...]


class ReduceAttrs(NamedTuple):
    """Name of a reduction in the op table, and the reduced dims."""

    name: str
    dims: Dims


class AlongAttrs(NamedTuple):
    """Name of an operation along a dim, and the dim."""

    name: str
    dim: Dim


class SortAttrs(NamedTuple):
    """Dim to sort along, and the dim of the ranks."""

    dim: Dim
    ranks: Dim


class GroupAttrs(NamedTuple):
    """Element to find in each group (first, min, max), the grouped dim, and the dim of groups."""

    which: str
    along: Dim
    groups: Dim


class RelabelAttrs(NamedTuple):
    """Pairs (old, new) of dims to rename."""

    pairs: tuple[tuple[Dim, Dim], ...]


class ConcatAttrs(NamedTuple):
    """Dims along which inputs are joined, one for each input, and the joint dim."""

    parts: Dims
    whole: Dim


class ApplyAttrs(NamedTuple):
    """Positional function with core dims.

    ``function`` is hashable, and takes positional variables with leading batch axes and trailing
    core axes in the order of ``core_in``.
    """

    function: Any
    core_in: tuple[Dims, ...]
    core_out: Dims
    dtype: str
    output: int
    name: str


# the words of a generator's state
WORD = Dim("generator_word", length=6)


class StreamAttrs(NamedTuple):
    """Dim of independent generators, and the dim of their state words."""

    dim: Dim
    word: Dim


class DrawAttrs(NamedTuple):
    """Draws of a named distribution.

    Dims of the draws that the generator lacks are filled from one stream in row-major order, with
    those of ``order`` last. ``event`` is the event dim of vector-valued draws, ``word`` the dim of
    the generator's state words. Output 0 is the new state, output 1 the draws.
    """

    name: str
    word: Dim
    order: Dims
    event: Dim | None
    dtype: str
    output: int


class RandomAttrs(NamedTuple):
    """A random variable: its distribution spec, whose parameters are the inputs.

    ``dims`` are those beside the dims of its parameters. A spec is hashable, and has ``hidden``,
    the dims of parameters that draws lack, and ``map_dims(f)``; the rest is known above the graph.
    """

    name: str
    spec: Any
    dims: Dims
    dtype: str
    categories: Dim | None


class NamedAttrs(NamedTuple):
    """Name of an expression."""

    name: str


class ShownAttrs(NamedTuple):
    """Derivative in printed form: its name, the roles of its operands, its options and type."""

    name: str
    roles: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    dims: Dims
    dtype: str
