"""Schema of a manifest, against which every manifest is checked.

A manifest that was exported is checked as one that is read, so that what is exported can be read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
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


class JsonKind:
    """A kind of JSON value."""

    def check(self, value: Any, where: str) -> None:
        """Check a value.

        Raises
        ------
        WrongManifestError
            If it is not of the kind; `where` is its place in the manifest.
        """
        raise NotImplementedError

    def refuse(self, value: Any, where: str) -> WrongManifestError:
        """Return the error for a value that is not of the kind."""
        shown = ascii(value)
        shown = shown if len(shown) <= 60 else f"{shown[:60]}…"
        return WrongManifestError(f"{where} is {shown}, not {self}")


@dataclass(frozen=True)
class TextKind(JsonKind):
    """A text that is not too long, one of some texts where these are given."""

    most: int = LETTERS
    choices: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        return f"a text of at most {self.most} letters"

    def check(self, value: Any, where: str) -> None:
        fits = isinstance(value, str) and len(value) <= self.most
        if not fits or (self.choices and value not in self.choices):
            raise self.refuse(value, where)


@dataclass(frozen=True)
class Integer(JsonKind):
    """An integer in a range."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"an integer from {self.least} to {self.most}"

    def check(self, value: Any, where: str) -> None:
        if type(value) is not int or not self.least <= value <= self.most:
            raise self.refuse(value, where)


@dataclass(frozen=True)
class Exactly(JsonKind):
    """One value, such as null."""

    value: Any

    def __str__(self) -> str:
        return json.dumps(self.value)

    def check(self, value: Any, where: str) -> None:
        if value is not self.value:
            raise self.refuse(value, where)


@dataclass(frozen=True)
class Either(JsonKind):
    """One of several kinds."""

    kinds: tuple[JsonKind, ...]

    def __str__(self) -> str:
        return " or ".join(map(str, self.kinds))

    def check(self, value: Any, where: str) -> None:
        for kind in self.kinds:
            try:
                return kind.check(value, where)
            except WrongManifestError:
                continue
        raise self.refuse(value, where)


@dataclass(frozen=True)
class ListKind(JsonKind):
    """A list that is not too long, of values of one kind."""

    of: JsonKind
    most: int

    def __str__(self) -> str:
        return f"a list of at most {self.most} values"

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, list) or len(value) > self.most:
            raise self.refuse(value, where)
        for at, item in enumerate(value):
            self.of.check(item, f"{where}[{at}]")


@dataclass(frozen=True)
class Table(JsonKind):
    """An object whose keys are names, with values of one kind."""

    of: JsonKind
    most: int = 2 * PORTS * AXES

    def __str__(self) -> str:
        return f"an object of at most {self.most} entries"

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, dict) or len(value) > self.most:
            raise self.refuse(value, where)
        for key, item in value.items():
            TextKind().check(key, f"a key of {where}")
            self.of.check(item, f"{where}[{ascii(key)[:60]}]")


@dataclass(frozen=True)
class Fields(JsonKind):
    """An object with the fields of a description, and no others."""

    required: Mapping[str, JsonKind]
    optional: Mapping[str, JsonKind] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"an object with {', '.join(self.required)}"

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise self.refuse(value, where)
        known = {**self.required, **self.optional}
        for key in (*self.required, *value):
            if key not in value:
                raise WrongManifestError(f"{where} has no {key!r}")
            if key not in known:
                raise WrongManifestError(f"{where} has {ascii(key)[:60]}, which nothing reads")
            known[key].check(value[key], f"{where}.{key}")


@dataclass(frozen=True)
class Label(JsonKind):
    """A label: a value without parts, a list for a tuple, or an object of a type and a text."""

    def __str__(self) -> str:
        return f"a label, or tuples of labels up to {DEPTH} deep"

    def check(self, value: Any, where: str) -> None:
        parts = [value]
        for _ in range(DEPTH):
            if not parts:
                return
            parts = [part for each in parts for part in self._parts(each, value, where)]
        raise self.refuse(value, where)

    def _parts(self, value: Any, whole: Any, where: str) -> list[Any]:
        if isinstance(value, list):
            return value
        if isinstance(value, dict):
            if len(value) != 1:
                raise self.refuse(whole, where)
            ((kind, inner),) = value.items()
            texts = inner if kind == "enum" and isinstance(inner, list) else [inner]
            if len(texts) != (3 if kind == "enum" else 1) or not all(type(x) is str for x in texts):
                raise self.refuse(whole, where)
        return []


_NAME = TextKind()
_NAMES = ListKind(_NAME, AXES)
_MAYBE_NAME = Either((Exactly(None), _NAME))
_LENGTH = Either((Integer(0, LENGTH), _NAME))
_SIZES = tuple(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))
_DTYPE = TextKind(20, ("bool", *_SIZES, "float16", "float32", "float64", "complex64", "complex128"))
_FILE = Fields({"size": Integer(0, LENGTH), "sha256": TextKind(64)})
_PORT: Mapping[str, JsonKind] = {
    "name": _MAYBE_NAME,
    "dims": _NAMES,
    "dtype": _DTYPE,
    "shape": ListKind(_LENGTH, AXES),
}
_INPUT = Fields(
    {**_PORT, "name": _NAME},
    {"categories": _NAME, "positions_along": _NAME, "length_of": _NAME, "data": _NAME},
)
_OUTPUT = Fields(_PORT, {"categories": _NAME, "gradient_of": _NAME})
_LABELS = Fields({"dtype": TextKind(200), "values": ListKind(Label(), LABELS)})
_END = Either((Exactly(None), Integer(-LENGTH, LENGTH)))
_DIM = Fields(
    {"length": Either((Exactly(None), _LENGTH))},
    {"name": _MAYBE_NAME, "labels": _LABELS, "of": _NAME, "slice": ListKind(_END, 3)},
)
_STRUCTURE = Fields(
    {"kind": TextKind(8, ("one", "tuple", "list", "dict")), "keys": ListKind(Label(), PORTS)}
)
_SCHEMA = Fields(
    {
        "format": Integer(FORMAT, FORMAT),
        "structure": _STRUCTURE,
        "inputs": ListKind(_INPUT, PORTS),
        "outputs": ListKind(_OUTPUT, PORTS),
        "checks": ListKind(_NAME, PORTS),
        "dims": Table(_DIM),
        "platforms": ListKind(TextKind(20), 16),
        "versions": Table(Either((Integer(0, LENGTH), TextKind(200))), 64),
        "files": Fields(dict.fromkeys((MODULE, TEXT, PORTABLE, LOADER), _FILE), {DATA: _FILE}),
        "sha256": TextKind(64),
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
