"""One symbol for the length of each dim, and labels as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dimtensor.dims import Coords, Dim, SelDim
from dimtensor.dims.selection import Slice
from dimtensor.errors import LabelError, build_message, listing

# words of JAX's language of lengths
_TAKEN = frozenset({"floordiv", "mod", "max", "min", "non_negative"})


class Lengths:
    """Lengths of dims: integers where they are known, else one symbol for each dim.

    Parameters
    ----------
    dims : sequence of Dim
        The dims of inputs.
    known : mapping of Dim to int
    """

    def __init__(self, dims: Sequence[Dim], known: Mapping[Dim, int]):
        from jax import export

        self._known = known
        self._symbols: dict[Dim, Any] = {}
        scope = export.SymbolicScope()
        names: set[str] = set(_TAKEN)
        # dims that are made of others come last: their lengths follow from those of their parents
        for dim in sorted(dict.fromkeys(d.unrenamed for d in dims), key=lambda d: bool(d.parents)):
            if self.of(dim) is None:
                name = _unique(re.sub(r"\W", "_", dim.short), names)
                (self._symbols[dim],) = export.symbolic_shape(name, scope=scope)

    def of(self, dim: Dim) -> Any:
        """The length of a dim; None if nothing tells."""
        dim = dim.unrenamed
        for length in (dim.length, self._known.get(dim), self._symbols.get(dim)):
            if length is not None:
                return length
        if not isinstance(dim, SelDim) or not isinstance(dim.selection, Slice):
            return None
        parent = self.of(dim.parent)
        return None if parent is None else _sliced(parent, dim.selection)

    @property
    def symbols(self) -> dict[Dim, str]:
        """The names of the lengths that are not known."""
        return {dim: str(symbol) for dim, symbol in self._symbols.items()}


def _unique(name: str, taken: set[str]) -> str:
    if not re.match(r"[A-Za-z]", name):
        name = f"dim{name}"
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _sliced(length: Any, selection: Slice) -> Any:
    import jax

    whole = jax.ShapeDtypeStruct((length,), "bool")
    (part,) = jax.eval_shape(lambda x: x[selection.as_slice()], whole).shape
    return part


# -- labels ----------------------------------------------------------------------------------------


def labels_to_json(labels: Coords, dim: Dim) -> dict[str, Any]:
    """Labels as what JSON has, with the dtype that they had.

    Raises
    ------
    LabelError
        If they are neither numbers, strings, dates nor tuples of them.
    """
    values = labels.values
    if values.dtype.kind in "mM":
        return {"dtype": str(values.dtype), "values": values.astype("int64").tolist()}
    plain = [_plain(label) for label in labels.to_list()]
    wrong = [label for label in plain if not _is_plain(label)]
    if wrong:
        raise LabelError(
            build_message(
                f"labels of {dim.title} cannot be written into a manifest",
                [("labels", listing(wrong))],
                "labels that are numbers, strings, dates or tuples of them can",
            )
        )
    dtype = "str" if values.dtype.kind in "UT" else str(values.dtype)
    return {"dtype": dtype, "values": plain}


def labels_from_json(found: Mapping[str, Any]) -> np.ndarray:
    """The labels that were written."""
    dtype, values = found["dtype"], found["values"]
    if dtype == "object":
        array = np.empty(len(values), dtype=object)
        array[:] = [tuple(label) if isinstance(label, list) else label for label in values]
        return array
    if dtype[0] in "mM" and dtype != "str":
        return np.array(values, dtype="int64").view(dtype)
    return np.array(values, dtype=None if dtype == "str" else dtype)


def _plain(label: Any) -> Any:
    if isinstance(label, tuple):
        return [_plain(part) for part in label]
    return label.item() if isinstance(label, np.generic) else label


def _is_plain(label: Any) -> bool:
    if isinstance(label, list):
        return all(map(_is_plain, label))
    return isinstance(label, (str, int, float, bool))
