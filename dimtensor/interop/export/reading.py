"""Reading of the manifest and the data of an exported function."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dimtensor.errors import ExportError
from dimtensor.interop.export.files import FORMAT, MANIFEST, checksum, read_file, refused
from dimtensor.interop.export.schema import WrongManifestError, check_manifest


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest in a folder, and check it against the schema.

    Raises
    ------
    ExportError
        If it is malformed, of another format, or was changed.
    OSError
        If it cannot be read.
    """
    content = read_file(folder, MANIFEST)
    try:
        manifest = json.loads(
            content.decode("utf-8"), object_pairs_hook=_entries, parse_constant=_no_constant
        )
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise refused(folder, MANIFEST, reason) from error
    found = manifest.get("format") if isinstance(manifest, dict) else None
    if type(found) is int and found != FORMAT:
        raise ExportError(
            f"the exported function in {str(folder)!r} has format {str(found)[:20]}, this "
            f"dimtensor reads format {FORMAT}",
            hint="export it again with this version of dimtensor"
            if found < FORMAT
            else "a newer version of dimtensor reads it",
        )
    try:
        check_manifest(manifest)
    except WrongManifestError as error:
        raise refused(folder, MANIFEST, error) from error
    if manifest["sha256"] != own_checksum(manifest):
        reason = "it is not the manifest that was written: its hash is another one"
        raise refused(folder, MANIFEST, reason, "export the function again")
    return manifest


def _entries(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, refusing duplicate keys."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is no JSON")


def own_checksum(manifest: dict[str, Any]) -> str:
    """Return the hash of a manifest without its own, independent of whitespace and order."""
    rest = {key: value for key, value in manifest.items() if key != "sha256"}
    return checksum(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode())


def read_data(content: bytearray, entries: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Return the values of data by the names of inputs.

    Raises
    ------
    Exception
        If the file does not match the manifest.
    """
    found = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for entry in entries:
            if "data" not in entry:
                continue
            info = archive.getinfo(f"{entry['data']}.npy")
            # a compressed member may be larger than memory
            if info.compress_type != zipfile.ZIP_STORED or info.file_size > len(content):
                raise ValueError(f"the data {entry['data']!r} are compressed")
            array = _array(archive.read(info))
            shape = [
                length if isinstance(known, int) else known
                for length, known in zip(array.shape, entry["shape"], strict=True)
            ]
            if str(array.dtype) != entry["dtype"] or shape != entry["shape"]:
                raise ValueError(
                    f"the data {entry['data']!r} are {array.dtype}{array.shape}, not "
                    f"{entry['dtype']}{tuple(entry['shape'])}"
                )
            found[entry["name"]] = array
    return found


def _array(content: bytes) -> np.ndarray:
    """Parse an array in NumPy's format, checking its size against the header."""
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, by_column, dtype = read(file)
    rest = len(content) - file.tell()
    if dtype.hasobject or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != rest:
        raise ValueError(f"an array has {rest} bytes, not those of {dtype}{shape}")
    flat = np.frombuffer(content, dtype, offset=file.tell())
    return flat.reshape(shape, order="F" if by_column else "C")
