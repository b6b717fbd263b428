"""Schema of a manifest, against which every manifest is checked.

A manifest that was exported is checked as one that is read, so that what is exported can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dimtensor.interop.export.files import DATA, FORMAT, LOADER, MODULE, PORTABLE, TEXT

AXES = 32  # of an array
PORTS = 4096  # inputs, outputs or checks
LABELS = 1 << 22  # of a dim
LETTERS = 1 << 16  # of a name or message
DEPTH = 16  # of tuples in labels
CHAIN = 256  # dims that are parts of each other
LENGTH = 1 << 48


class WrongManifestError(ValueError):
    """Error of a part of a manifest that does not match the schema."""


# Places, values and kinds of the parts of a value.
type Parts = Iterator[tuple[str, Any, JsonKind]]


def _no_parts(value: Any, where: str) -> Parts:
    return iter(())


@dataclass(frozen=True)
class JsonKind:
    """Kind of JSON values.

    Parameters
    ----------
    words : str
        Its name in error messages.
    fits : callable
        Returns whether a value is of the kind, apart from its parts.
    parts : callable, optional
        Yields the parts of a value at a place in the manifest.
    """

    words: str
    fits: Callable[[Any], bool]
    parts: Callable[[Any, str], Parts] = _no_parts

    def check(self, value: Any, where: str) -> None:
        """Check a value and its parts.

        Raises
        ------
        WrongManifestError
            If it is not of the kind; `where` is its place in the manifest.
        """
        if not self.fits(value):
            shown = ascii(value)
            shown = shown if len(shown) <= 60 else f"{shown[:60]}…"
            raise WrongManifestError(f"{where} is {shown}, not {self.words}")
        for place, part, kind in self.parts(value, where):
            kind.check(part, place)


def text(most: int = LETTERS, choices: Sequence[str] = ()) -> JsonKind:
    """Make the kind of texts that are not too long, or of some texts."""
    if choices:
        return JsonKind(
            f"one of {', '.join(choices)}", lambda x: isinstance(x, str) and x in choices
        )
    return JsonKind(
        f"a text of at most {most} letters", lambda x: isinstance(x, str) and len(x) <= most
    )


def integer(least: int, most: int) -> JsonKind:
    """Make the kind of integers in a range."""
    return JsonKind(
        f"an integer from {least} to {most}", lambda x: type(x) is int and least <= x <= most
    )


def either(*kinds: JsonKind) -> JsonKind:
    """Make the union of kinds without parts."""
    words = " or ".join(kind.words for kind in kinds)
    return JsonKind(words, lambda x: any(kind.fits(x) for kind in kinds))


def list_of(kind: JsonKind, most: int) -> JsonKind:
    """Make the kind of lists that are not too long, of values of one kind."""

    def parts(value: Any, where: str) -> Parts:
        return ((f"{where}[{at}]", item, kind) for at, item in enumerate(value))

    words = f"a list of at most {most} values"
    return JsonKind(words, lambda x: isinstance(x, list) and len(x) <= most, parts)


def table_of(kind: JsonKind, most: int = 2 * PORTS * AXES) -> JsonKind:
    """Make the kind of objects whose keys are names, with values of one kind."""

    def parts(value: Any, where: str) -> Parts:
        for key, item in value.items():
            yield f"a key of {where}", key, _NAME
            yield f"{where}[{ascii(key)[:60]}]", item, kind

    words = f"an object of at most {most} entries"
    return JsonKind(words, lambda x: isinstance(x, dict) and len(x) <= most, parts)


def fields(
    required: Mapping[str, JsonKind], optional: Mapping[str, JsonKind] | None = None
) -> JsonKind:
    """Make the kind of objects with some fields, and no others."""
    known = {**required, **(optional or {})}

    def parts(value: Any, where: str) -> Parts:
        for key in (*required, *value):
            if key not in value:
                raise WrongManifestError(f"{where} has no {key!r}")
            if key not in known:
                raise WrongManifestError(f"{where} has {ascii(key)[:60]}, which nothing reads")
            yield f"{where}.{key}", value[key], known[key]

    words = f"an object with {', '.join(required)}"
    return JsonKind(words, lambda x: isinstance(x, dict), parts)


def _is_label(value: Any) -> bool:
    """Return whether a value has no parts, or is a list for a tuple, or an object with a type."""
    parts = [value]
    for _ in range(DEPTH):
        if not parts:
            return True
        if not all(_has_type(part) for part in parts if isinstance(part, dict)):
            return False
        parts = [part for each in parts if isinstance(each, list) for part in each]
    return False


def _has_type(value: dict[Any, Any]) -> bool:
    """Return whether an object has a type as its only key, and its text, three of an enum."""
    if len(value) != 1:
        return False
    ((kind, inner),) = value.items()
    texts = inner if kind == "enum" and isinstance(inner, list) else [inner]
    return len(texts) == (3 if kind == "enum" else 1) and all(type(x) is str for x in texts)


_NONE = JsonKind("null", lambda x: x is None)
_LABEL = JsonKind(f"a label, or tuples of labels up to {DEPTH} deep", _is_label)
_NAME = text()
_NAMES = list_of(_NAME, AXES)
_MAYBE_NAME = either(_NONE, _NAME)
_LENGTH = either(integer(0, LENGTH), _NAME)
_SIZES = tuple(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))
_DTYPE = text(20, ("bool", *_SIZES, "float16", "float32", "float64", "complex64", "complex128"))
_FILE = fields({"size": integer(0, LENGTH), "sha256": text(64)})
_PORT: Mapping[str, JsonKind] = {
    "name": _MAYBE_NAME,
    "dims": _NAMES,
    "dtype": _DTYPE,
    "shape": list_of(_LENGTH, AXES),
}
_INPUT = fields(
    {**_PORT, "name": _NAME},
    {"categories": _NAME, "positions_along": _NAME, "length_of": _NAME, "data": _NAME},
)
_OUTPUT = fields(_PORT, {"categories": _NAME, "gradient_of": _NAME})
_LABELS = fields({"dtype": text(200), "values": list_of(_LABEL, LABELS)})
_END = either(_NONE, integer(-LENGTH, LENGTH))
_DIM = fields(
    {"length": either(_NONE, _LENGTH)},
    {"name": _MAYBE_NAME, "labels": _LABELS, "of": _NAME, "slice": list_of(_END, 3)},
)
_STRUCTURE = fields(
    {"kind": text(8, ("one", "tuple", "list", "dict")), "keys": list_of(_LABEL, PORTS)}
)
_SCHEMA = fields(
    {
        "format": integer(FORMAT, FORMAT),
        "structure": _STRUCTURE,
        "inputs": list_of(_INPUT, PORTS),
        "outputs": list_of(_OUTPUT, PORTS),
        "checks": list_of(_NAME, PORTS),
        "dims": table_of(_DIM),
        "platforms": list_of(text(20), 16),
        "versions": table_of(either(integer(0, LENGTH), text(200)), 64),
        "files": fields(dict.fromkeys((MODULE, TEXT, PORTABLE, LOADER), _FILE), {DATA: _FILE}),
        "sha256": text(64),
    }
)


def check_manifest(manifest: Any) -> None:
    """Check a manifest against the description, and its parts against each other.

    Raises
    ------
    WrongManifestError
        If it is none; the text says where.
    """
    _SCHEMA.check(manifest, "the manifest")
    for where, holds in _relations(manifest):
        if not holds:
            raise WrongManifestError(where)


def _relations(manifest: dict[str, Any]) -> list[tuple[str, bool]]:
    """Relations between parts of a manifest, each with the text of its error."""
    inputs, outputs, dims = manifest["inputs"], manifest["outputs"], manifest["dims"]
    names = [entry["name"] for entry in inputs]
    slopes = [entry["gradient_of"] for entry in outputs if "gradient_of" in entry]
    values = [entry for entry in outputs if "gradient_of" not in entry]
    kind, keys = manifest["structure"]["kind"], manifest["structure"]["keys"]
    has_data = DATA in manifest["files"]
    kept = [entry["data"] for entry in inputs if "data" in entry]
    found = [
        ("two inputs have one name", _distinct(names)),
        ("a derivative is by no input", {*slopes} <= {*names}),
        ("two derivatives are by one input", _distinct(slopes)),
        ("derivatives come before values", outputs[: len(values)] == values),
        ("the structure has another number of results", kind != "one" or len(values) == 1),
        ("the keys are not those of the results", len(keys) == len(values) * (kind == "dict")),
        ("two data have one name in the file", _distinct(kept)),
        ("there are data without a file, or a file without data", has_data == bool(kept)),
    ]  # fmt: skip
    for place, entries in (("inputs", inputs), ("outputs", outputs)):
        for at, entry in enumerate(entries):
            where = f"{place}[{at}]"
            found += [
                (f"{where} has one dim twice", _distinct(entry["dims"])),
                (f"{where} has other dims than axes", len(entry["dims"]) == len(entry["shape"])),
                (f"{where} has dims that the manifest lacks", _involved(entry) <= {*dims}),
            ]
            if found[-1][1] and found[-2][1]:
                lengths = [dims[dim]["length"] for dim in entry["dims"]]
                agree = zip(lengths, entry["shape"], strict=True)
                holds = all(one is None or one == other for one, other in agree)
                found.append((f"{where} has other lengths than its dims", holds))
    for name, entry in dims.items():
        where = f"dims[{ascii(name)[:60]}]"
        labels, length = entry.get("labels"), entry["length"]
        holds = labels is None or not isinstance(length, int) or len(labels["values"]) == length
        part = entry.get("slice", [None, None, 1])
        found += [
            (f"{where} has labels of another number", holds),
            (f"{where} is of a dim that the manifest lacks, or of itself", _ends(name, dims)),
            (f"{where} has no slice of a dim", len(part) == 3 and bool(part[2])),
        ]
    return found


def _ends(name: str, dims: Mapping[str, Any]) -> bool:
    """Return whether the parents of a dim are dims, up to a root."""
    for _ in range(CHAIN):
        if name not in dims:
            return False
        if "of" not in dims[name]:
            return True
        name = dims[name]["of"]
    return False


def _involved(entry: Mapping[str, Any]) -> set[str]:
    asked = ("categories", "positions_along", "length_of")
    return {*entry["dims"], *(entry[key] for key in asked if key in entry)}


def _distinct(names: list[str]) -> bool:
    return len({*names}) == len(names)
