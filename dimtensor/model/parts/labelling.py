"""Flat vectors as labelled values, and back."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.compile.function import node_of
from dimtensor.errors import InputError, build_message, did_you_mean, listing
from dimtensor.model.assembly import FLAT
from dimtensor.model.parameters import check_inverse
from dimtensor.model.parts.expressions import Expressions
from dimtensor.model.records import as_dataset, as_vectors
from dimtensor.model.terms import check_terms
from dimtensor.values.data import as_mapping
from dimtensor.values.datasets import values_from

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.tensor.core import DimTensor


class Labelling(Expressions):
    """What :class:`dimtensor.LogDensity` says of vectors by name."""

    terms: dict[str, DimTensor]
    deterministics: dict[str, DimTensor]

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of elements of the flat vector."""

    def flat_vector(self, x: Any) -> xr.DataArray:
        """Flat vectors with a name for each axis; see :meth:`constrain`.

        Parameters
        ----------
        x : array of shape (..., size) or DataArray

        Returns
        -------
        DataArray
            Its last dim is that of the elements; dims before it that have no name are numbered.

        Examples
        --------
        >>> import dimtensor as dt
        >>> s = dt.scalar("s")
        >>> density = dt.LogDensity(-s, {s: dt.positive}, backend="python")
        >>> density.flat_vector(np.zeros((4, 1))).sizes["draw"]
        4
        """
        return as_vectors(x, self.size, FLAT)

    def constrain(self, x: Any) -> xr.Dataset:
        """Labelled values of parameters and deterministics.

        Parameters
        ----------
        x : ndarray or DataArray
            Vectors along the last axis. The leading axes of an array are called draw, or chain and
            draw; a DataArray names its own.

        Returns
        -------
        Dataset
            Leading dims come first. Where two variables have different dims of one name (a dim and
            a selection of it), the dim of the later one gets the name of the variable behind its
            own.

        Raises
        ------
        InputError
            If the vectors have another length.

        Examples
        --------
        >>> import dimtensor as dt
        >>> s = dt.scalar("s")
        >>> density = dt.LogDensity(-s, {s: dt.positive}, backend="python")
        >>> density.constrain([[0.0], [np.log(2.0)]])["s"].values.tolist()  # of two draws
        [1.0, 2.0]
        """
        vectors = self.flat_vector(x)
        leading = [dim for dim in vectors.dims if dim != FLAT]
        kind = "constrain" if self.deterministics else "parameters"
        return as_dataset(self.functions.labelled(kind, vectors), leading)

    def log_terms(self, x: Any, names: Iterable[str] | None = None) -> xr.Dataset:
        """Terms of the log density, element by element: what ArviZ calls a log likelihood.

        Parameters
        ----------
        x : ndarray or DataArray
            As for :meth:`constrain`.
        names : iterable of str, optional
            All terms by default.

        Returns
        -------
        Dataset
            Each term with its own dims, the leading ones first.

        Raises
        ------
        LabelError
            If there is no term of a name.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x, k = dt.scalar("x"), dt.Dim("k", coords=["a", "b"])
        >>> y = dt.data([1.0, 3.0], dims=k)
        >>> model = dt.LogDensity({"y": -((y - x) ** 2)}, {x: dt.real}, backend="python")
        >>> model.log_terms([1.0])["y"].sel(k="b").item()
        -4.0
        """
        wanted = list(self.terms) if names is None else list(names)
        check_terms(self.terms, wanted)
        vectors = self.flat_vector(x)
        # a term may have the name of a parameter
        recorded = {f"term {name}": self.terms[name] for name in wanted}
        values = self.functions.recording(recorded).labelled("constrain", vectors)
        found = {name: values[f"term {name}"].rename(name) for name in wanted}
        return as_dataset(found, [dim for dim in vectors.dims if dim != FLAT])

    def unconstrain(self, values: Mapping[Any, Any]) -> np.ndarray:
        """The flat vector of values of the parameters.

        Parameters
        ----------
        values : dict, Dataset or DataTree
            Values by parameter or its name, labelled as for :func:`dimtensor.function`. Additional
            dims batch; deterministics are passed over, and whatever else a Dataset holds.

        Returns
        -------
        ndarray
            Shape (..., size), additional dims leading in the order of their names.

        Raises
        ------
        InputError
            If a parameter is missing, something is no parameter, or a value lies outside of the
            support of its parameter.

        Examples
        --------
        >>> import dimtensor as dt
        >>> s = dt.scalar("s")
        >>> density = dt.LogDensity(-s, {s: dt.positive}, backend="python")
        >>> density.unconstrain({"s": 1.0})
        array([0.])
        """
        names = {parameter.name: at for at, parameter in enumerate(self.parameters)}
        given: dict[int, Any] = {}
        if hasattr(type(values), "data_vars"):
            found = values_from(values, [p.tensor.node for p in self.parameters])
            values = {node.name: value for node, value in found.items()}
        for key in as_mapping(values, "values"):
            name = key if isinstance(key, str) else node_of(key).name
            if name in names:
                given[names[name]] = values[key]
            elif name not in self.deterministics:
                raise InputError(
                    build_message(
                        f"the model has no parameter {name!r}{did_you_mean(name, list(names))}",
                        [("parameters", listing(list(names)))],
                    )
                )
        missing = [name for name, at in names.items() if at not in given]
        if missing:
            raise InputError(f"missing parameters: {', '.join(map(repr, missing))}")
        ordered = [given[at] for at in range(len(names))]
        flat, *aligned = self.functions.labelled("unconstrain", *ordered)
        flat = flat.transpose(..., FLAT)
        again = self.functions.labelled("parameters", flat)
        check_inverse(self.parameters, self.functions.binding, flat, again, aligned)
        return np.ascontiguousarray(flat.values)
