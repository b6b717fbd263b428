"""Export of a function as StableHLO: a module, its text, and a manifest of dims and labels."""

from __future__ import annotations

import inspect
import keyword
import os
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.backends import compile_positional
from dimtensor.compile.binding_values import check_indexers, complete, located
from dimtensor.compile.program import Program, program_for
from dimtensor.dims import Binding, Dim, find_dim, has_run_time_length
from dimtensor.errors import (
    ArgumentError,
    DimtensorError,
    ExportError,
    GraphError,
    LabelError,
    OptionError,
    did_you_mean,
)
from dimtensor.graph import Node, make, toposort
from dimtensor.graph.attrs import InputAttrs
from dimtensor.graph.derivatives import gradients
from dimtensor.graph.dtypes import is_float
from dimtensor.graph.infer import describe
from dimtensor.graph.lines import line_at, place_outside
from dimtensor.graph.rebuilding.exchange import substitute
from dimtensor.interop.export.files import (
    DATA,
    LARGEST,
    LOADER,
    MANIFEST,
    MODULE,
    PORTABLE,
    TEXT,
    as_path,
    require_libraries,
)
from dimtensor.interop.export.folders import require_place, write_folder
from dimtensor.interop.export.locations import require_no_callbacks, trace_with_locations
from dimtensor.interop.export.manifest import describe_export, manifest_text
from dimtensor.interop.export.modules import require_allowed
from dimtensor.interop.export.parts import ExportedParts
from dimtensor.interop.export.schema import LENGTH
from dimtensor.interop.export.symbols import SymbolicLengths
from dimtensor.values.data import title_of

if TYPE_CHECKING:
    from dimtensor.compile.function import CompiledFunction

_LOADER = '''\
"""Loads the function of this folder: JAX is all that it needs."""

import pathlib

import jax


def load(folder=pathlib.Path(__file__).parent):
    blob = pathlib.Path(folder, "function.jax").read_bytes()
    call = jax.jit(jax.export.deserialize(bytearray(blob)).call)
    def run(*arrays):
        with jax.enable_x64(True):
            return call(*arrays)
    return run
'''


_PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
_LETTERS = 60  # longest parameter name in the text of a module


def export_function(
    function: CompiledFunction,
    path: str | os.PathLike[str],
    gradient: Any,
    data: str,
    lengths: Mapping[Any, int] | None,
    platforms: Sequence[str] | None,
) -> Path:
    """Write a function into a folder; see :meth:`CompiledFunction.export`."""
    if data not in ("inside", "inputs"):
        raise OptionError(f'export: data are "inside" or "inputs", not {data!r}')
    folder = as_path(path, "export")
    require_place(folder)
    platforms = _known_platforms(platforms)
    parts = _parts(function, gradient, data == "inputs")
    _require_lengths(parts)
    values = dict(zip(function._data_nodes, function._data, strict=True))
    values = {node: value for node, value in values.items() if node not in parts.data}
    binding = Binding() if parts.data else function._data_binding.copy()
    fixed = _fixed(parts, {} if lengths is None else lengths)
    bound = {d: n for d in _dims(parts) if (n := d._bound_length(binding)) is not None}
    known = {**bound, **fixed}
    carriers = _carriers(parts.inputs)
    program = program_for("jax", carriers, parts.outputs, known, annotate=True)
    n = len(parts.inputs)
    held = _held(program, n, values, binding)
    require_libraries()
    import jax
    from jax import export

    symbols = SymbolicLengths([dim for slot in program.slots[:n] for dim in slot.dims], known)
    raw = compile_positional("jax", program.inputs, program.outputs).raw
    shapes = [
        jax.ShapeDtypeStruct(tuple(map(symbols.of, slot.dims)), slot.variable.type.dtype)  # type: ignore[union-attr]
        for slot in program.slots[:n]
    ]
    names = _identifiers([source.name for source in parts.inputs])
    line = line_at(place_outside())
    with trace_with_locations(line), jax.enable_x64(True):
        jitted = jax.jit(_named(raw, held, names))
        require_no_callbacks(jitted.trace(*shapes).jaxpr)
        exported = _exported(export.export(jitted, platforms=platforms), shapes)
    require_allowed(
        export.deserialize(bytearray(exported.serialize()))
    )  # the same check as on loading
    manifest = describe_export(function, parts, program, symbols, binding, exported, names)
    write_folder(folder, lambda stage: _write(stage, function, parts, exported, manifest))
    return folder


def _write(
    folder: Path,
    function: CompiledFunction,
    parts: ExportedParts,
    exported: Any,
    manifest: dict[str, Any],
) -> None:
    """Write the files of a function, the manifest with their hashes last."""
    _put(folder / MODULE, bytes(exported.serialize()))
    _put(folder / TEXT, exported.mlir_module().encode("utf-8", "backslashreplace"))
    _put(folder / PORTABLE, exported.mlir_module_serialized)
    _put(folder / LOADER, _LOADER.encode())
    if parts.data:
        kept = dict(zip(function._data_nodes, function._data, strict=True))
        named = [entry["data"] for entry in manifest["inputs"] if "data" in entry]
        values = [kept[node] for node in parts.data]
        with (folder / DATA).open("xb") as file:
            # not `savez`, whose own parameters exclude some names
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                for name, value in zip(named, values, strict=True):
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                        np.lib.format.write_array(member, np.asarray(value), allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
    _put(folder / MANIFEST, manifest_text(folder, manifest))


def _put(path: Path, content: bytes) -> None:
    if len(content) > LARGEST.get(path.name, len(content)):
        raise ExportError(
            f"the function is not exported: {path.name} would have {len(content)} bytes",
            [("most", LARGEST[path.name])],
            'data in a file of their own: f.export(path, data="inputs")',
        )
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


# -- what is exported ------------------------------------------------------------------------------


def _parts(function: CompiledFunction, gradient: Any, open_data: bool) -> ExportedParts:
    inputs, outputs = tuple(function._code.inputs), tuple(function._code.outputs)
    wrt = _wrt(inputs, outputs, gradient)
    if wrt:
        outputs += tuple(gradients(outputs[0], wrt))
    data = {node: _as_input(node) for node in function._data_nodes} if open_data else {}
    names = [source.name for source in inputs]
    for node in data:
        if node.name is None or [*names, *(n.name for n in data)].count(node.name) > 1:
            raise GraphError(
                f"{title_of(node)} cannot be an input of an exported function",
                [("names", ", ".join(repr(n) for n in names if n) or "none")],
                "give all data names of their own: dt.data(..., name=...)",
            )
    if data:
        outputs = tuple(substitute(outputs, data))
    return ExportedParts((*inputs, *data.values()), outputs, wrt, data)


def _as_input(node: Node) -> Node:
    return make("input", (), InputAttrs(node.name, None, node.dims, node.dtype, node.categories))


def _wrt(inputs: Sequence[Node | Dim], outputs: Sequence[Node], gradient: Any) -> tuple[Node, ...]:
    if gradient is False or gradient is None:
        return ()
    if len(outputs) != 1 or outputs[0].dims:
        raise GraphError(
            "export: a gradient is that of one number",
            [("outputs", "; ".join(map(describe, outputs)))],
            "export a function of the one output, summed over all its dims",
        )
    tensors = [x for x in inputs if isinstance(x, Node)]
    if gradient is True:
        return tuple(x for x in tensors if is_float(x.dtype))
    asked = gradient if isinstance(gradient, (list, tuple)) else [gradient]
    by_name = {x.name: x for x in tensors}
    found = [by_name.get(x) if isinstance(x, str) else getattr(x, "node", x) for x in asked]
    for one, name in zip(found, asked, strict=True):
        if one not in tensors:
            raise GraphError(
                f"export: there is no input {name!r} to differentiate by",
                [("inputs", ", ".join(map(title_of, tensors)))],
            )
    return tuple(dict.fromkeys(one for one in found if one is not None))


def _require_lengths(parts: ExportedParts) -> None:
    """Check that all lengths are functions of input lengths.

    Raises
    ------
    GraphError
        If a length depends on values.
    """
    for node in toposort(parts.outputs):
        for dim in node.dims:
            if has_run_time_length(dim):
                where = "" if node.line is None else str(node.line)
                raise GraphError(
                    f"cannot be exported: the length of {dim._title} follows from values",
                    [("in", describe(node)), ("line", where or "unknown")],
                    "a symbol stands for a length that the shapes of inputs tell; keep the "
                    "whole dim and use dt.where, with zeros where the mask is false",
                )


def _dims(parts: ExportedParts) -> list[Dim]:
    found: dict[Dim, None] = {}
    for source in parts.inputs:
        for dim in (source,) if isinstance(source, Dim) else source.dims:
            found[dim] = found[dim._unrenamed] = None
    for node in toposort(parts.outputs):
        if node.kind == "data":
            found.update(dict.fromkeys(node.dims))
    return [dim for dim in found if dim.length is None]


def _fixed(parts: ExportedParts, lengths: Mapping[Any, int]) -> dict[Dim, int]:
    """Return the requested lengths by dim.

    Raises
    ------
    ArgumentError
        If they are not a mapping.
    OptionError
        If a length is not a nonnegative integer.
    """
    if not isinstance(lengths, Mapping):
        raise ArgumentError(
            f"export: lengths are a mapping of dims to integers, not {type(lengths).__name__}"
        )
    dims = tuple(dict.fromkeys(d._unrenamed for d in _dims(parts)))
    found = {find_dim(dims, key, "export"): n for key, n in lengths.items()}
    for dim, n in found.items():
        whole = isinstance(n, (int, np.integer)) and not isinstance(n, bool)
        if not whole or not 0 <= n <= LENGTH:
            raise OptionError(
                f"export: the length of {dim._title} is an integer from 0 on, not {n!r}"
            )
    return {dim: int(n) for dim, n in found.items()}


def _known_platforms(platforms: Any) -> list[str] | None:
    """Return the requested platforms without duplicates.

    Raises
    ------
    OptionError
        If JAX has no platform of a name; it would write a module that cannot run.
    """
    if platforms is None:
        return None
    asked = [platforms] if isinstance(platforms, str) else platforms
    names = list(dict.fromkeys(asked)) if isinstance(asked, (list, tuple)) else []
    wrong = [name for name in names if name not in _PLATFORMS]
    if wrong or not names:
        guess = did_you_mean(wrong[0], _PLATFORMS) if wrong else ""
        known = ", ".join(map(repr, _PLATFORMS))
        raise OptionError(f"export: platforms are some of {known}, not {platforms!r}{guess}")
    return names


def _carriers(inputs: Sequence[Node | Dim]) -> list[Node]:
    """Replace inputs that are dims by arrays of their length."""
    return [
        make("input", (), InputAttrs(f"length of {x._short}", None, (x,), "bool", None))
        if isinstance(x, Dim)
        else x
        for x in inputs
    ]


def _held(
    program: Program, n: int, values: Mapping[Node, np.ndarray], binding: Binding
) -> list[np.ndarray]:
    """Return the values of data, and the positions of labels that are looked up in them.

    Raises
    ------
    LabelError
        If labels are looked up that are known only at call time.
    """
    sources = [slot.source for slot in program.slots[n:]]
    data = [values[source] for source in sources if isinstance(source, Node)]
    complete(binding, program)
    check_indexers(program, data, n, binding)
    try:
        return [*data, *located(program, binding)]
    except DimtensorError as error:
        raise LabelError(
            "cannot be exported: labels are looked up that come with the values of a call",
            [("lacking", str(error).splitlines()[0])],
            "give the dim its labels where it is declared, dt.Dim(..., coords=[...])",
        ) from error


def _named(raw: Any, held: Sequence[Any], names: Sequence[str]) -> Any:
    """Give the parameters of a function names, for the text of the module."""

    def dimtensor(*arrays: Any) -> tuple[Any, ...]:
        return tuple(raw(*arrays, *held))

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    dimtensor.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, kind) for name in names]
    )
    return dimtensor


def _exported(export: Any, shapes: Sequence[Any]) -> Any:
    """Export a function by JAX.

    Raises
    ------
    GraphError
        With JAX's reason, for instance a routine without a stability promise.
    """
    try:
        return export(*shapes)
    except (TypeError, ValueError, NotImplementedError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise GraphError(
            "cannot be exported: JAX refuses the function", [("JAX", reason)]
        ) from error


def _identifiers(names: Sequence[str | None]) -> list[str]:
    found: list[str] = []
    for at, name in enumerate(names):
        plain = re.sub(r"\W", "_", name or f"input_{at}")
        plain = plain[:_LETTERS] if plain.isidentifier() else f"_{plain[:_LETTERS]}"
        plain += "_" if keyword.iskeyword(plain) else ""
        while plain in found:
            plain += "_"
        found.append(plain)
    return found
