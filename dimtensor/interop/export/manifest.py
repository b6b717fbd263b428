"""Manifest of an exported function: its contents and its text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.compile.program import Program
from dimtensor.dims import Binding, Dim, RenamedDim, SelDim
from dimtensor.dims.selection import Slice
from dimtensor.errors import ExportError, listing
from dimtensor.graph import Node
from dimtensor.interop.export.files import ALL, FORMAT, LARGEST, MANIFEST, file_entry
from dimtensor.interop.export.parts import ExportedParts
from dimtensor.interop.export.reading import own_checksum
from dimtensor.interop.export.schema import WrongManifestError, check_manifest
from dimtensor.interop.export.symbols import SymbolicLengths, labels_to_json, survives

if TYPE_CHECKING:
    from dimtensor.compile.function import CompiledFunction


def describe_export(
    function: CompiledFunction,
    parts: ExportedParts,
    program: Program,
    symbols: SymbolicLengths,
    binding: Binding,
    exported: Any,
    identifiers: Sequence[str],
) -> dict[str, Any]:
    """Return the manifest of a function, without the hashes of files.

    Raises
    ------
    ExportError
        If labels, or keys of results, cannot be written.
    """
    n, m = len(parts.inputs), len(parts.outputs)
    axes = [slot.dims for slot in program.slots[:n]]
    keys = _keys_of([*axes, *program.output_dims], parts, [dim for _, dim in program.indexed])
    inputs = [
        _entry(source, dims, "bool" if isinstance(source, Dim) else source.dtype, keys)
        | ({"length_of": keys[source]} if isinstance(source, Dim) else {})
        | ({"data": identifier} if source in parts.data.values() else {})
        for source, dims, identifier in zip(parts.inputs, axes, identifiers, strict=True)
    ]
    positions = {program.slots.index(slot): slot.source for slot in program.slots[:n]}
    for node, dim in program.indexed:
        for at, source in positions.items():
            if source is node:
                inputs[at]["positions_along"] = keys[dim]
    structure = function._structure
    names = structure.names(parts.outputs[: m - len(parts.wrt)])
    outputs = [
        _entry(node, dims, node.dtype, keys) | {"name": name if isinstance(name, str) else None}
        for node, dims, name in zip(parts.outputs, program.output_dims, names, strict=False)
    ]
    outputs += [
        _entry(node, dims, node.dtype, keys) | {"name": None, "gradient_of": one.name}
        for node, dims, one in zip(
            parts.outputs[m - len(parts.wrt) :],
            program.output_dims[m - len(parts.wrt) :],
            parts.wrt,
            strict=True,
        )
    ]
    for entry, aval in zip(outputs, exported.out_avals, strict=False):
        entry["shape"] = list(map(_length, aval.shape))
    for entry, aval in zip(inputs, exported.in_avals, strict=True):
        entry["shape"] = list(map(_length, aval.shape))
    return {
        "format": FORMAT,
        "structure": {"kind": structure.kind, "keys": _written_keys(structure.keys)},
        "inputs": inputs,
        "outputs": outputs,
        "checks": program.messages,
        "dims": {key: _dim_entry(dim, key, keys, symbols, binding) for dim, key in keys.items()},
        "platforms": list(exported.platforms),
        "versions": _versions(exported),
    }


def manifest_text(folder: Path, manifest: dict[str, Any]) -> bytes:
    """Return the text of a manifest with the hashes of the files in a folder and its own.

    Raises
    ------
    ExportError
        If JSON cannot represent a name, or a limit of the schema is exceeded.
    """
    found = {name: file_entry(folder / name) for name in ALL if (folder / name).exists()}
    manifest = {**manifest, "files": found}
    manifest["sha256"] = own_checksum(manifest)
    try:
        check_manifest(manifest)
    except WrongManifestError as error:
        raise ExportError(f"the function is not exported: {error}") from error
    if wrong := [text for text in _texts(manifest) if json.loads(json.dumps(text)) != text]:
        raise ExportError(
            "the function is not exported: names have two halves of a letter beside each "
            "other, which are one letter in a file",
            [("names", listing(map(ascii, wrong)))],
            "give names that can be written in UTF-8",
        )
    text = json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    content = text.encode("utf-8", "backslashreplace")  # single surrogates, as JSON escapes them
    if len(content) > LARGEST[MANIFEST]:
        raise ExportError(
            f"the function is not exported: the manifest would have {len(content)} bytes",
            [("most", LARGEST[MANIFEST])],
            "export it without the labels of long dims: dt.Dim(name)",
        )
    return content


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts in a manifest, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for part in value:
            yield from _texts(part)
        for part in value.values() if isinstance(value, dict) else ():
            yield from _texts(part)


# -- contents --------------------------------------------------------------------------------------


def _keys_of(
    axes: Sequence[Sequence[Dim]], parts: ExportedParts, indexed: Sequence[Dim]
) -> dict[Dim, str]:
    """Return a unique key for each dim: its name, with a number if the name repeats."""
    dims = [dim for each in axes for dim in each]
    sources = (*parts.inputs, *parts.outputs)
    dims += [x.categories for x in sources if isinstance(x, Node) and x.categories is not None]
    dims += [*indexed, *(x for x in parts.inputs if isinstance(x, Dim))]
    keys: dict[Dim, str] = {}
    for dim in dims:
        while dim not in keys:
            name = "dim" if dim.name is None else dim.name
            key, number = name, 1
            while key in keys.values():
                number += 1
                key = f"{name} ({number})"
            keys[dim] = key
            if (parent := _parent(dim)) is not None:
                dim = parent
    return keys


def _parent(dim: Dim) -> Dim | None:
    """Return the dim that a renamed or sliced dim is derived from."""
    if isinstance(dim, RenamedDim):
        return dim.parent
    return dim.parent if isinstance(dim, SelDim) and isinstance(dim.selection, Slice) else None


def _written_keys(keys: Sequence[Any]) -> list[Any]:
    from dimtensor.values.label_texts import encode_label

    wrong = [key for key in keys if not survives(key)]
    if wrong:
        raise ExportError(
            "the function is not exported: keys of results cannot be written to a file",
            [("keys", listing(wrong))],
            "texts, numbers and tuples of them can",
        )
    return [encode_label(key) for key in keys]


def _entry(
    source: Node | Dim, dims: Sequence[Dim], dtype: str, keys: dict[Dim, str]
) -> dict[str, Any]:
    categories = source.categories if isinstance(source, Node) else None
    return {
        "name": source._short if isinstance(source, Dim) else source.name,
        "dims": [keys[dim] for dim in dims],
        "dtype": dtype,
        **({} if categories is None else {"categories": keys[categories]}),
    }


def _dim_entry(
    dim: Dim, key: str, keys: dict[Dim, str], symbols: SymbolicLengths, binding: Binding
) -> dict[str, Any]:
    length = symbols.of(dim)
    if length is None:
        length = dim._bound_length(binding)
    found: dict[str, Any] = {} if dim.name == key else {"name": dim.name}
    found["length"] = None if length is None else _length(length)
    parent = _parent(dim)
    if parent is not None:
        found["of"] = keys[parent]
        if isinstance(dim, SelDim) and isinstance(dim.selection, Slice):
            part = dim.selection.as_slice()
            found["slice"] = [part.start, part.stop, part.step]
        return found
    labels = dim._bound_labels(binding)
    if labels is not None:
        found["labels"] = labels_to_json(labels, dim)
    return found


def _length(length: Any) -> int | str:
    return int(length) if isinstance(length, (int, np.integer)) else str(length)


def _versions(exported: Any) -> dict[str, Any]:
    from importlib.metadata import version

    import dimtensor
    from dimtensor.upstream.jax import stablehlo_versions

    return {
        "dimtensor": dimtensor.__version__,
        **{name: version(name) for name in ("jax", "jaxlib", "pytensor", "numpy")},
        "calling_convention": exported.calling_convention_version,
        **stablehlo_versions(),
    }
