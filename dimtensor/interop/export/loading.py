"""Functions read from folders that they were exported to: labelled values in and out."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dimtensor.dims import Binding, Coords, Dim
from dimtensor.errors import CheckError, DimtensorError, InputError, build_message, did_you_mean
from dimtensor.graph import make
from dimtensor.graph.attrs import InputAttrs
from dimtensor.interop.export.files import DATA, FORMAT, MANIFEST, MODULE, require_libraries
from dimtensor.interop.export.symbols import labels_from_json
from dimtensor.values.admission import check_positions
from dimtensor.values.outputs import Labeller
from dimtensor.values.ports import LengthPort, Port, TensorPort


class ExportedFunction:
    """A function that was exported: it is called as the function that it was made of.

    Attributes
    ----------
    manifest : dict
        Inputs, outputs, dims, labels, checks and versions, as they are in the file.
    exported : jax.export.Exported
        JAX's object, for functions of one's own: ``exported.call(*arrays)`` under ``jit`` and
        ``lax.map``. JAX has neither ``vmap`` nor derivatives of it.
    """

    def __init__(self, folder: Path, manifest: dict[str, Any], exported: Any):
        import jax

        self.manifest = manifest
        self.exported = exported
        self._call = jax.jit(exported.call)
        self._dims: dict[str, Dim] = {}
        self._labels: dict[str, Coords] = {}
        for name, entry in manifest["dims"].items():
            if "labels" in entry:
                self._labels[name] = Coords(labels_from_json(entry["labels"]))
        self._entries: list[dict[str, Any]] = manifest["inputs"]
        self._ports = [self._port(entry) for entry in self._entries]
        self._names = [entry["name"] for entry in self._entries]
        self._kept: dict[str, np.ndarray] = {}
        if (folder / DATA).exists():
            with np.load(folder / DATA) as kept:
                self._kept = {name: kept[name] for name in kept.files}

    def __repr__(self) -> str:
        return f"<ExportedFunction ({', '.join(map(str, self._names))})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it with values by position or name.

        Returns
        -------
        DataArrays in the structure of the function's outputs. Where the gradient was exported, a
        pair: the value, and a dict of the derivatives by the names of inputs.

        Raises
        ------
        InputError, DimError, LabelError, PositionError
            If a value is missing, or not what the function takes.
        CheckError
            If a check of the function fails.
        """
        import jax

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
                    build_message(
                        f"the value of {port.title} has an additional dim {reading.extra[0]!r}",
                        [("dims", ", ".join(entry["dims"]) or "none")],
                        "export a function of an input with this dim, see dt.vectorize",
                    )
                )
            port.tell(reading, binding)
            by_length = isinstance(port, LengthPort)
            arrays.append(np.zeros(reading.lengths, bool) if by_length else reading.array)
        self._check(arrays, binding)
        with jax.enable_x64(True):
            results = [np.asarray(result) for result in self._call(*arrays)]
        return self._labelled(results, binding)

    def _match(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        known = [("inputs", ", ".join(map(str, self._names)))]
        if len(args) > len(self._names):
            raise InputError(
                build_message(
                    f"the function takes {len(self._names)} inputs, not {len(args)}", known
                )
            )
        given = dict(zip(self._names, args, strict=False))
        for name, value in kwargs.items():
            if name not in self._names:
                guess = did_you_mean(name, [str(one) for one in self._names])
                raise InputError(build_message(f"the function has no input {name!r}{guess}", known))
            if name in given:
                raise InputError(f"input {name!r} is given twice: by position and by name")
            given[name] = value
        missing = [n for n in self._names if n not in given and n not in self._kept]
        if missing:
            lacking = " and ".join(f"input {name!r}" for name in missing)
            raise InputError(build_message(f"the function is called without {lacking}", known))
        return [given.get(name) for name in self._names]

    def _check(self, arrays: Sequence[np.ndarray], binding: Binding) -> None:
        for entry, port, array in zip(self._entries, self._ports, arrays, strict=True):
            along = entry.get("positions_along")
            if along is not None:
                dim = self._dim(along)
                check_positions(array, dim.bound_length(binding), dim, port.title)

    def _labelled(self, results: Sequence[np.ndarray], binding: Binding) -> Any:
        entries = self.manifest["outputs"]
        fine = results[len(entries) :]
        for message, holds in zip(self.manifest["checks"], fine, strict=True):
            if not holds:
                raise CheckError(message)
        values, slopes = [], {}
        for entry, array in zip(entries, results, strict=False):
            dims = tuple(map(self._dim, entry["dims"]))
            of = self._dim(entry["categories"]) if "categories" in entry else None
            value = Labeller(dims, binding, entry["name"], of).label(array, binding)
            if "gradient_of" in entry:
                slopes[entry["gradient_of"]] = value
            else:
                values.append(value)
        kind, keys = self.manifest["structure"]
        whole: Any = values[0] if kind == "one" else tuple(values) if kind == "tuple" else values
        if kind == "dict":
            whole = dict(zip(keys, values, strict=True))
        return (whole, slopes) if slopes else whole

    # -- what the manifest describes ---------------------------------------------------------------

    def _dim(self, name: str) -> Dim:
        dim = self._dims.get(name)
        if dim is None:
            length = self.manifest["dims"].get(name, {}).get("length")
            known = length if isinstance(length, int) else None
            dim = self._dims[name] = Dim(name, length=known, coords=self._labels.get(name))
        return dim

    def _port(self, entry: Mapping[str, Any]) -> Port:
        if "length_of" in entry:
            return LengthPort(self._dim(entry["length_of"]))
        dims = tuple(map(self._dim, entry["dims"]))
        of = self._dim(entry["categories"]) if "categories" in entry else None
        attrs = InputAttrs(entry["name"], None, dims, entry["dtype"], of)
        return TensorPort(make("input", (), attrs), dims)


def load_exported(path: str | os.PathLike[str]) -> ExportedFunction:
    """Read a function that was exported to a folder.

    Nothing is traced: JAX compiles the module when it is called, once for each set of lengths.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    ExportedFunction
        Called as the function was: by position or name, with DataArrays in any order of dims and
        labels, with arrays and numbers.

    Raises
    ------
    InputError
        If the folder holds no function, or one of another format.
    MissingExtraError
        If JAX, or flatbuffers, which it reads modules with, is not installed.

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
    folder = Path(path)
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        blob = bytearray((folder / MODULE).read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(
            build_message(
                f"there is no exported function in {str(folder)!r}",
                [("lacking", f"{MANIFEST} and {MODULE}, as f.export(path) writes them")],
            )
        ) from error
    if manifest.get("format") != FORMAT:
        raise InputError(
            f"the function in {str(folder)!r} has format {manifest.get('format')}, "
            f"this dimtensor reads format {FORMAT}"
        )
    require_libraries()
    from jax import export

    try:
        return ExportedFunction(folder, manifest, export.deserialize(blob))
    except DimtensorError:
        raise
    except Exception as error:  # JAX raises what its readers raise
        raise InputError(
            build_message(
                f"JAX cannot read the function in {str(folder)!r}",
                [("written by", f"jax {manifest['versions']['jax']}"), ("JAX", error)],
                "export it again; JAX reads modules that are at most six months older",
            )
        ) from error
