"""Symbolic lengths of dims for JAX, and labels as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dimtensor.dims import Coords, Dim, SelDim
from dimtensor.dims.labels import Labels
from dimtensor.dims.selection import Slice
from dimtensor.errors import ExportError, listing

# keywords of JAX's symbolic shapes
_TAKEN = frozenset({"floordiv", "mod", "max", "min", "non_negative"})


class SymbolicLengths:
    """Lengths of dims for JAX's shape polymorphism: known integers, else one symbol per dim.

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
        # derived dims come last: their lengths follow from those of their parents
        for dim in sorted(dict.fromkeys(d._unrenamed for d in dims), key=lambda d: bool(d.parents)):
            if self.of(dim) is None:
                name = _unique(re.sub(r"\W", "_", dim._short), names)
                (self._symbols[dim],) = export.symbolic_shape(name, scope=scope)

    def of(self, dim: Dim) -> Any:
        """Return the length of a dim, or None if it is not known."""
        dim = dim._unrenamed
        for length in (dim.length, self._known.get(dim), self._symbols.get(dim)):
            if length is not None:
                return length
        if not isinstance(dim, SelDim) or not isinstance(dim.selection, Slice):
            return None
        parent = self.of(dim.parent)
        return None if parent is None else _sliced(parent, dim.selection)

    @property
    def symbols(self) -> dict[Dim, str]:
        """Names of the symbolic lengths."""
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

_PLAIN = {"bool": bool, **{f"{k}int{n}": int for k in ("", "u") for n in (8, 16, 32, 64)}}
_FLOATS = ("float16", "float32", "float64", "complex64", "complex128")
_SPAN = re.compile(r"(datetime64|timedelta64)\[\d{0,9}[A-Za-z]{1,2}\]")


def labels_to_json(labels: Coords, dim: Dim) -> dict[str, Any]:
    """Return labels as JSON values, with their dtype.

    Raises
    ------
    ExportError
        If reading them again would not give the same labels.
    """
    try:
        found = _encoded(labels)
        if Coords(labels_from_json(json.loads(json.dumps(found, allow_nan=False)))) == labels:
            return found
    except Exception:  # what conversions of pandas, NumPy and the user's own labels raise
        pass
    wrong = [label for label in labels.to_list() if not survives(label)]
    raise ExportError(
        f"the function is not exported: labels of {dim._title} cannot be written to a file",
        [("labels", listing(wrong or labels.to_list()))],
        f"give {dim._title} labels that are numbers, strings, dates, periods, intervals, or "
        "tuples of them",
    )


def _encoded(labels: Coords) -> dict[str, Any]:
    from dimtensor.values.label_texts import encode_label, text_of

    if labels.extension is not None:
        return {"dtype": str(labels.extension), "values": [text_of(x) for x in labels.index]}
    values = labels.values
    if values.dtype.kind in "mM":
        return {"dtype": str(values.dtype), "values": values.astype("int64").tolist()}
    name = {"U": "str", "S": "bytes", "O": "object"}.get(values.dtype.kind)
    dtype = str(values.dtype.newbyteorder("=")) if name is None else name
    plain = values.dtype.kind in "biu"
    return {
        "dtype": dtype,
        "values": values.tolist() if plain else [encode_label(x) for x in labels.to_list()],
    }


def labels_from_json(found: Mapping[str, Any]) -> Any:
    """Return the labels of JSON values, as an array or an Index of pandas.

    Raises
    ------
    Exception
        If they are no such values.
    """
    from dimtensor.values.label_texts import decode_label, labels_of_kind, object_array

    dtype, values = found["dtype"], found["values"]
    if dtype in _PLAIN:
        return np.array(_all(values, _PLAIN[dtype]), dtype=dtype)
    if dtype in _FLOATS:
        return np.array(_all(list(map(decode_label, values)), int, float, complex), dtype=dtype)
    if dtype in ("object", "bytes", "str"):
        labels = list(map(decode_label, values))
        if dtype == "object":
            return object_array(labels)
        return np.array(_all(labels, bytes if dtype == "bytes" else str), dtype=dtype)
    if _SPAN.fullmatch(dtype):
        return np.array(_all(values, int), dtype="int64").view(dtype)
    if dtype == "json":  # of texts of labels, which a manifest has no need of
        raise ValueError(f"{dtype!r} is no kind of labels")
    return labels_of_kind(dtype, _all(values, str))


def _all(values: list[Any], *types: type) -> list[Any]:
    """Values, after a check that they have one of some types."""
    for value in values:
        if type(value) not in types:
            raise ValueError(f"{ascii(value)[:60]} is no {types[0].__name__}")
    return values


def survives(label: Any) -> bool:
    """Return whether a label or a key of results survives writing and reading."""
    from dimtensor.values.label_texts import decode_label, encode_label

    try:
        written = json.dumps(encode_label(label), allow_nan=False)
        return Labels([decode_label(json.loads(written))]) == Labels([label])
    except Exception:  # what conversions of pandas and the user's own labels raise
        return False
