"""Loading of exported functions: `load_exported`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dimtensor.dims import Binding, Dim, RenamedDim, SelDim
from dimtensor.errors import (
    CheckError,
    ExportError,
    InputError,
    MemoryLimitError,
    did_you_mean,
    listing,
    printable,
    reason_of,
)
from dimtensor.graph import make
from dimtensor.graph.attrs import InputAttrs
from dimtensor.interop.export.files import (
    DATA,
    MANIFEST,
    MODULE,
    as_path,
    read_file,
    require_libraries,
)
from dimtensor.interop.export.modules import require_allowed
from dimtensor.interop.export.reading import read_data, read_manifest
from dimtensor.interop.export.symbols import labels_from_json
from dimtensor.values.admission import check_positions
from dimtensor.values.outputs import Labeler
from dimtensor.values.ports import LengthPort, Port, TensorPort


class ExportedFunction:
    """Loaded function, called like the original with labeled values.

    Attributes
    ----------
    manifest : dict
        Inputs, outputs, dims, labels, checks and versions.
    exported : jax.export.Exported
        JAX's object: ``exported.call(*arrays)`` works under ``jit`` and ``lax.map``, but not under
        ``vmap`` or ``grad``.
    """

    def __init__(self, manifest: dict[str, Any], exported: Any, kept: dict[str, np.ndarray]):
        import jax

        self.manifest = manifest
        self.exported = exported
        self._call = jax.jit(exported.call)
        self._dims: dict[str, Dim] = {}
        for key in manifest["dims"]:
            self._dims[key] = self._make_dim(key)
        self._entries: list[dict[str, Any]] = manifest["inputs"]
        self._ports = [self._port(entry) for entry in self._entries]
        self._names = [entry["name"] for entry in self._entries]
        self._kept = kept
        self._results = manifest["structure"]["kind"], self._keys()

    @printable
    def __repr__(self) -> str:
        return f"<ExportedFunction ({', '.join(map(str, self._names))})>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function with values by position or name.

        Returns
        -------
        DataArrays in the structure of the function's outputs. If the gradient was exported, a pair:
        the value, and a dict of the derivatives by the names of inputs.

        Raises
        ------
        InputError, DimError, LabelError, PositionError
            If a value is missing, or does not match the input.
        CheckError
            If a check of the function fails.
        ExportError
            If JAX cannot compile or run the module, or its results do not match the manifest.
        """
        values = self._match(args, kwargs)
        binding = Binding()
        arrays = []
        for entry, port, value in zip(self._entries, self._ports, values, strict=True):
            if value is None:
                array = self._kept[entry["name"]]
                for dim, length in zip(port.dims, array.shape, strict=True):  # type: ignore[union-attr]
                    binding.add_length(dim, length, f"data {entry['name']!r}")
                arrays.append(array)
                continue
            reading = port.read(value)
            if reading.extra:
                raise InputError(
                    f"the value of {port.title} has an additional dim {reading.extra[0]!r}",
                    [("dims", ", ".join(entry["dims"]) or "none")],
                    "export a function of an input with this dim, see dt.vectorize",
                )
            port.tell(reading, binding)
            by_length = isinstance(port, LengthPort)
            # only the length of a dim is passed, so that no memory is allocated
            empty = np.broadcast_to(np.False_, reading.lengths) if by_length else reading.array
            arrays.append(empty)
        for at, port in enumerate(self._ports):
            if port.late_categories is not None and values[at] is not None:
                arrays[at] = port.look_up(arrays[at], binding)
        self._check(arrays, binding)
        return self._labeled(self._run(arrays), binding)

    def _run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        import jax

        try:
            with jax.enable_x64(True):
                return [np.asarray(result) for result in self._call(*arrays)]
        except Exception as error:  # the classes are those of JAX and of its compiler
            if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error):
                raise MemoryLimitError(
                    "there is not enough memory for this call of an exported function",
                    [("inputs", ", ".join(self._shapes(arrays)))],
                ) from error
            raise ExportError(
                "JAX cannot run the exported function",
                [("inputs", ", ".join(self._shapes(arrays))), ("JAX", reason_of(error))],
            ) from error

    def _shapes(self, arrays: Sequence[np.ndarray]) -> list[str]:
        return [
            f"{entry['name']} {dict(zip(entry['dims'], array.shape, strict=True))}"
            for entry, array in zip(self._entries, arrays, strict=True)
        ]

    def _match(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        known = [("inputs", ", ".join(map(str, self._names)))]
        if len(args) > len(self._names):
            raise InputError(
                f"the function takes {len(self._names)} inputs, not {len(args)}", known
            )
        given = dict(zip(self._names, args, strict=False))
        for name, value in kwargs.items():
            if name not in self._names:
                guess = did_you_mean(name, [str(one) for one in self._names])
                raise InputError(f"the function has no input {name!r}{guess}", known)
            if name in given:
                raise InputError(f"input {name!r} is given twice: by position and by name")
            given[name] = value
        missing = [n for n in self._names if given.get(n) is None and n not in self._kept]
        if missing:
            lacking = " and ".join(f"input {name!r}" for name in missing)
            raise InputError(f"the function is called without {lacking}", known)
        return [given.get(name) for name in self._names]

    def _check(self, arrays: Sequence[np.ndarray], binding: Binding) -> None:
        for entry, port, array in zip(self._entries, self._ports, arrays, strict=True):
            for key, said, length in zip(entry["dims"], entry["shape"], array.shape, strict=True):
                if length == 0 and isinstance(said, str):
                    raise InputError(
                        f"{port.title} has no positions along {self._dims[key]._title}: an "
                        "exported function takes lengths from 1 on"
                    )
            along = entry.get("positions_along")
            if along is not None:
                dim = self._dims[along]
                check_positions(array, dim._bound_length(binding), dim, port.title)

    def _labeled(self, results: Sequence[np.ndarray], binding: Binding) -> Any:
        entries = self.manifest["outputs"]
        fine = results[len(entries) :]
        for message, holds in zip(self.manifest["checks"], fine, strict=True):
            if not holds:
                raise CheckError(message)
        values, slopes = [], {}
        kind, keys = self._results
        for at, (entry, array) in enumerate(zip(entries, results, strict=False)):
            dims = tuple(self._dims[key] for key in entry["dims"])
            of = self._dims[entry["categories"]] if "categories" in entry else None
            lengths = [dim._bound_length(binding) for dim in dims]
            if len(dims) != array.ndim or any(
                one is not None and one != other
                for one, other in zip(lengths, array.shape, strict=True)
            ):
                raise ExportError(
                    "the exported function returned an array of another shape than its dims",
                    [("dims", listing([dim._short for dim in dims])), ("shape", array.shape)],
                )
            name = keys[at] if kind == "dict" and at < len(keys) else entry["name"]
            value = Labeler(dims, binding, name, of).label(array, binding)
            if "gradient_of" in entry:
                slopes[entry["gradient_of"]] = value
            else:
                values.append(value)
        whole: Any = values[0] if kind == "one" else tuple(values) if kind == "tuple" else values
        if kind == "dict":
            whole = dict(zip(keys, values, strict=True))
        return (whole, slopes) if slopes else whole

    # -- dims and inputs of the manifest -----------------------------------------------------------

    def _make_dim(self, key: str) -> Dim:
        """Create the dim of a key, after the dims that it is derived from."""
        if key in self._dims:
            return self._dims[key]
        entry = self.manifest["dims"][key]
        name = entry.get("name", key)
        if "of" in entry:
            parent = self._dims[entry["of"]] = self._make_dim(entry["of"])
            part = slice(*entry["slice"]) if "slice" in entry else None
            return RenamedDim(parent, name) if part is None else SelDim(parent, positions=part)
        labels = labels_from_json(entry["labels"]) if "labels" in entry else None
        known = entry["length"] if isinstance(entry["length"], int) else None
        made = Dim(name, length=known, coords=labels)
        if name is not None and made in self._dims.values():  # the names of dims may repeat
            return RenamedDim(Dim(key, length=known, coords=labels), name)
        return made

    def _keys(self) -> list[Any]:
        """Return the keys of results in a dict."""
        from dimtensor.values.label_texts import decode_label

        keys = list(map(decode_label, self.manifest["structure"]["keys"]))
        if len(dict.fromkeys(keys)) < len(keys):
            raise ValueError("two results have one key")
        return keys

    def _port(self, entry: Mapping[str, Any]) -> Port:
        if "length_of" in entry:
            return LengthPort(self._dims[entry["length_of"]])
        dims = tuple(self._dims[key] for key in entry["dims"])
        of = self._dims[entry["categories"]] if "categories" in entry else None
        attrs = InputAttrs(entry["name"], None, dims, entry["dtype"], of)
        return TensorPort(make("input", (), attrs), dims)


def load_exported(path: str | os.PathLike[str]) -> ExportedFunction:
    """Load a function from the folder that it was exported to.

    Nothing is traced: JAX compiles the module when it is called, once for each set of lengths.
    An exported function is code: load only what you would run (see ``docs/export.md``).

    Parameters
    ----------
    path : path-like

    Returns
    -------
    ExportedFunction
        Called like the original: by position or name, with DataArrays in any order of dims and
        labels, or with arrays and numbers.

    Raises
    ------
    ExportError
        If the folder has no exported function, one of another format, or files that are damaged,
        not regular, inconsistent, or call code other than linear algebra.
    MissingExtraError
        If JAX, or flatbuffers, which it needs, is not installed.

    Examples
    --------
    >>> import tempfile, dimtensor as dt
    >>> x = dt.tensor("x", dims=dt.Dim("n"))
    >>> f = dt.function([x], (x**2).sum(), backend="python")
    >>> with tempfile.TemporaryDirectory() as folder:  # doctest: +SKIP
    ...     g = dt.load_exported(f.export(folder))
    ...     float(g([1.0, 2.0])), float(g([1.0, 2.0, 3.0]))
    (5.0, 14.0)
    """
    folder = as_path(path, "load_exported")
    try:
        manifest = read_manifest(folder)
        content = read_file(folder, MODULE, manifest["files"][MODULE])
        data = manifest["files"].get(DATA)
        archive = None if data is None else read_file(folder, DATA, data)
    except OSError as error:
        raise ExportError(
            f"there is no exported function in {str(folder)!r}",
            [("reason", f"{error.strerror or error}: {error.filename}")],
            "f.export(path) writes one",
        ) from error
    require_libraries()
    from jax import export

    name = DATA
    try:
        kept = {} if archive is None else read_data(archive, manifest["inputs"])
        name = MODULE
        exported = export.deserialize(content)
        require_allowed(exported)
        _require_agreement(manifest, exported)
        name = MANIFEST
        return ExportedFunction(manifest, exported, kept)
    except Exception as error:  # JAX, zipfile, NumPy and pandas raise what their readers raise
        versions = ", ".join(
            f"{key} {manifest['versions'].get(key)}" for key in ("jax", "dimtensor")
        )
        raise ExportError(
            f"the exported function in {str(folder)!r} is not read",
            [("file", name), ("reason", reason_of(error)), ("written by", versions)],
            "export it again; JAX reads modules that are at most six months older",
        ) from error


def _require_agreement(manifest: Mapping[str, Any], exported: Any) -> None:
    """Check that the inputs and outputs of a manifest are those of the module.

    Raises
    ------
    ValueError
        If they differ.
    """
    checks = [("bool", ()) for _ in manifest["checks"]]
    for what, entries, avals in (
        ("inputs", _signatures(manifest["inputs"]), exported.in_avals),
        ("outputs", [*_signatures(manifest["outputs"]), *checks], exported.out_avals),
    ):
        found = [(str(aval.dtype), tuple(map(str, aval.shape))) for aval in avals]
        if entries != found:
            raise ValueError(f"the {what} of the module are not those of the manifest")


def _signatures(entries: Sequence[Mapping[str, Any]]) -> list[tuple[str, tuple[str, ...]]]:
    return [(entry["dtype"], tuple(map(str, entry["shape"]))) for entry in entries]
