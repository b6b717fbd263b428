"""Ports: readers of the arguments of a call, which give arrays, lengths and labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dimtensor.arrays import has_elements
from dimtensor.dims import Binding, Coords, Dim, Dims, dim_labels, dim_set
from dimtensor.errors import DimError, InputError, LabelError, listing, plain_repr
from dimtensor.graph import Node
from dimtensor.values.admission import admit, in_axis_order, label_positions
from dimtensor.values.data import title_of
from dimtensor.values.labeled import Labeled, as_labeled, axis_names, is_dataarray, own_names
from dimtensor.values.parts import Alike, alike


class Reading(NamedTuple):
    """Array, lengths and labels read from one argument.

    Attributes
    ----------
    array : ndarray
        Array for compiled code, in the dtype, axis order and label order of the input.
    lengths : tuple of int
        One per axis.
    labels : tuple of Coords or None, or None
        Labels of axes whose dims have none of their own; None for no labels at all.
    extra : tuple of str
        Names of axes that the input lacks; the other fields are then not set.
    """

    array: np.ndarray
    lengths: tuple[int, ...]
    labels: tuple[Coords | None, ...] | None = None
    extra: tuple[str, ...] = ()


Reader = Callable[[Any], np.ndarray | None]
"""Gives the array of a value like one that was read; None of any other value."""

_KEPT = 4
# labels of larger arrays in another order are looked up at each call
_FEW = 65_536


class TensorPort:
    """Reader of the values of one input tensor.

    Parameters
    ----------
    node : Node
    dims : tuple of Dim
        Axis order of compiled code.
    """

    __slots__ = ("_alike", "_dtype", "_plain", "dims", "late_categories", "node", "title")

    def __init__(self, node: Node, dims: Dims):
        self.node = node
        self.dims = dims
        self.title = title_of(node)
        categories = node.categories
        # labels of a dim that another input labels are looked up after all inputs are read
        self.late_categories = (
            categories if categories is not None and dim_labels(categories) is None else None
        )
        self._dtype = np.dtype(node.dtype)
        self._plain = categories is None and len(dims) < 2
        # recognizers of DataArrays that were read before, most recent first, and their labels
        self._alike: list[tuple[Alike, tuple[Coords | None, ...] | None]] = []

    def read(self, value: Any) -> Reading:
        """Read a value.

        Raises
        ------
        InputError, DimError, LabelError, DtypeError
            If the value does not fit the input.
        """
        if (
            self._plain
            and type(value) is np.ndarray
            and value.dtype is self._dtype
            and value.ndim == len(self.dims)
            and value.flags.carray
        ):
            return Reading(value, value.shape)
        if type(value) is float and self._plain and not self.dims and self._dtype.kind in "fc":
            return Reading(np.asarray(value, dtype=self._dtype), ())
        for form, labels in self._alike:
            known = form.read(value)
            if known is not None:
                return Reading(known, known.shape, labels)
        labeled = as_labeled(value, self.dims, self.title)
        if labeled is not None:
            names = own_names(labeled.names, self.dims, self.title)
            extra = tuple(str(name) for name in labeled.names if name not in names)
            if extra:
                return Reading(np.empty(0), (), None, extra)
        said = Binding()
        array = admit(
            value, labeled, self.dims, self.node.dtype, self.node.categories, said, self.title,
            late=self.late_categories is not None,
        )  # fmt: skip
        found = tuple(said.said(dim) for dim in self.dims)
        labels = found if any_of(found) else None
        if is_dataarray(value) and labeled is not None:
            self._remember(value, labeled, labels)
        return Reading(ready(array), array.shape, labels)

    def reader(self, value: Any) -> Reader | None:
        """Return a reader of values like the one just read; None if each must be checked."""
        if self._plain and type(value) is np.ndarray:
            dtype, shape = self._dtype, value.shape

            def array(value: Any) -> np.ndarray | None:
                same = type(value) is np.ndarray and value.dtype is dtype and value.shape == shape
                return value if same and value.flags.carray else None

            return array if array(value) is value else None
        if type(value) is float and self._plain and not self.dims and self._dtype.kind in "fc":
            dtype = self._dtype
            return lambda value: np.asarray(value, dtype) if type(value) is float else None
        for form, _ in self._alike:
            if form.read(value) is not None:
                return form.read
        return None

    def _remember(
        self, value: Any, labeled: Labeled, said: tuple[Coords | None, ...] | None
    ) -> None:
        """Keep a recognizer of a valid DataArray, and the order of its elements."""
        if labeled.values.dtype is not self._dtype or self.node.categories is not None:
            return
        own_names, names = axis_names(self.dims), labeled.names
        order = tuple(names.index(own_names[dim]) for dim in self.dims)
        positions = None
        for dim, told in zip(self.dims, said or [None] * len(self.dims), strict=True):
            own, theirs = dim_labels(dim), labeled.labels.get(own_names[dim])
            own = told if own is None else own
            if own is not None and theirs is not None and not own.same_labels(theirs):
                if value.size > _FEW:
                    return
                stored = np.arange(value.size).reshape(value.shape)
                moved = Labeled(stored, names, labeled.labels, labeled.levels)
                positions = in_axis_order(moved, self.dims, Binding(), self.title)
                break
        form = alike(value, None if order == tuple(range(len(order))) else order, positions)
        if form is not None:
            self._alike = [(form, said), *self._alike[: _KEPT - 1]]

    def tell(self, reading: Reading, binding: Binding) -> None:
        """Bind the lengths and labels of a value.

        Raises
        ------
        DimError, LabelError
            If they disagree with the dims or with other inputs.
        """
        for dim, length in zip(self.dims, reading.lengths, strict=True):
            binding.add_length(dim, length, self.title)
        for dim, labels in zip(self.dims, reading.labels or (), strict=False):
            if labels is not None:
                binding.add_labels(dim, labels, self.title)

    def look_up(self, array: np.ndarray, binding: Binding) -> np.ndarray:
        """Look up values that are labels of a dim whose labels came with the call."""
        assert self.late_categories is not None
        return ready(label_positions(array, self.late_categories, self.title, binding))


class LengthPort:
    """Reader of the length of a dim that is an input: a number, labels, or a dim."""

    __slots__ = ("dim", "title")

    late_categories = None

    def __init__(self, dim: Dim):
        self.dim = dim
        self.title = f"input {dim._short!r}"

    def read(self, value: Any) -> Reading:
        """Read a length or labels.

        Raises
        ------
        InputError
            If it is neither.
        """
        if isinstance(value, Dim):
            labels = dim_labels(value)
            value = len(value) if labels is None else labels
        if isinstance(value, Coords) or has_elements(value):
            labels = value if isinstance(value, Coords) else Coords(value)
            return Reading(np.asarray(len(labels)), (len(labels),), (labels,))
        number = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iu":
            number = True
        if not number or not 0 <= value < 1 << 63:
            raise InputError(
                f"{self.title} is a dim: it takes a length (an integer of at least 0) or a "
                f"sequence of labels, not {plain_repr(value)}"
            )
        return Reading(np.asarray(int(value), dtype=np.int64), (int(value),))

    def tell(self, reading: Reading, binding: Binding) -> None:
        """Bind the length and the labels.

        Raises
        ------
        DimError, LabelError
            If they disagree with the dim or with other inputs.
        """
        binding.add_length(self.dim, reading.lengths[0], self.title)
        if reading.labels is None:
            return
        (labels,) = reading.labels
        assert labels is not None
        own = dim_labels(self.dim)
        if own is None:
            binding.add_labels(self.dim, labels, self.title)
        elif not own.same_labels(labels):
            raise LabelError(
                f"{self.title} is a dim that has other labels",
                [("dim", listing(own.values)), ("given", listing(labels.values))],
                f"declare dt.Dim({self.dim._short!r}) without coords to label it at calls",
            )

    def reader(self, value: Any) -> Reader | None:
        """Return None: each length is checked."""
        return None

    def look_up(self, array: np.ndarray, binding: Binding) -> np.ndarray:
        """Return the array unchanged: lengths are not labels."""
        raise TypeError(f"{self.title} has no labels to look up")


Port = TensorPort | LengthPort


def any_of(labels: Sequence[Coords | None]) -> bool:
    """Return True if at least one axis has labels."""
    return any(one is not None for one in labels)


def ready(array: np.ndarray) -> np.ndarray:
    """Make an array contiguous and aligned for compiled code.

    A read-only array stays read-only, so that writing into it fails.
    """
    if array.flags.c_contiguous and array.flags.aligned:
        return array
    return np.array(array, order="C")


def batch_names(readings: Sequence[Reading], ports: Sequence[Port], taken: frozenset[str]) -> tuple:
    """Return the names of the batch axes of each input.

    Raises
    ------
    DimError
        If a dim of the function has the name of a batch axis.
    """
    for reading, port in zip(readings, ports, strict=True):
        for name in reading.extra:
            if name in taken:
                raise DimError(
                    f"the value of {port.title} has an additional dim {name!r}; another part "
                    "of the function has a dim of this name",
                    [("dims of the input", dim_set(port.dims))],  # type: ignore[union-attr]
                    "to batch the call, rename the dim in the value; to make the input vary "
                    "along it, declare the input with the dim",
                )
    return tuple(reading.extra for reading in readings)
