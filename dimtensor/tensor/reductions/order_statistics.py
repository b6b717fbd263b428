"""Positions and labels of extremes, and sorting; names and defaults as in xarray."""

from __future__ import annotations

from collections.abc import Iterable
from types import EllipsisType
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from dimtensor.dims import Dim, Dims, ProductDim, SortedDim, dim_labels, only_dim, without
from dimtensor.errors import LabelError, OptionError
from dimtensor.graph import make
from dimtensor.graph.attrs import AlongAttrs, SortAttrs
from dimtensor.graph.dtypes import is_inexact
from dimtensor.graph.printing.words import say
from dimtensor.tensor.check import check
from dimtensor.tensor.handle import elemwise, wrap
from dimtensor.tensor.inputs import data
from dimtensor.tensor.numpy_style import with_named_dims
from dimtensor.tensor.ragged.layout import flat_place, ragged_position
from dimtensor.tensor.reductions.basic import DimKey, ReductionMixin

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import Label


@with_named_dims
class OrderMixin(ReductionMixin):
    """Positions and labels of extremes, and sorting."""

    __slots__ = ()

    # -- positions and labels of extremes ----------------------------------------------------------

    @overload
    def argmax(  # type: ignore[overload-overlap]  # a str is also an iterable of str
        self, dim: Dim | str | None = None, *, skipna: bool = False
    ) -> DimTensor: ...
    @overload
    def argmax(
        self, dim: Iterable[Dim | str] | EllipsisType, *, skipna: bool = False
    ) -> dict[str, DimTensor]: ...
    def argmax(
        self, dim: DimKey = None, *, skipna: bool = False
    ) -> DimTensor | dict[str, DimTensor]:
        """Return the position of the largest element.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            For one dim the result is the position along it; for several, or ``...``, a dict of
            positions by name of dim. The only dim by default.
        skipna : bool
            Whether to leave out NaN; otherwise the first NaN counts as the largest element. Where
            all elements are NaN there is no position, and the call raises :class:`CheckError`.

        Returns
        -------
        DimTensor or dict of str to DimTensor
            Of equal elements the first one counts.

        Raises
        ------
        DimError
            If the tensor lacks the dim, or has several and none is named; if a dim has length 0.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([1.0, 3.0, 2.0], dims=dt.Dim("k")).argmax().item()
        1
        >>> dt.data([1.0, float("nan"), 2.0], dims=dt.Dim("k")).argmax(skipna=True).item()
        2
        """
        return self._arg("argmax", dim, skipna)

    @overload
    def argmin(  # type: ignore[overload-overlap]
        self, dim: Dim | str | None = None, *, skipna: bool = False
    ) -> DimTensor: ...
    @overload
    def argmin(
        self, dim: Iterable[Dim | str] | EllipsisType, *, skipna: bool = False
    ) -> dict[str, DimTensor]: ...
    def argmin(
        self, dim: DimKey = None, *, skipna: bool = False
    ) -> DimTensor | dict[str, DimTensor]:
        """Return the position of the smallest element; see :meth:`argmax`.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
        skipna : bool

        Returns
        -------
        DimTensor or dict of str to DimTensor

        Raises
        ------
        UnknownDimError
            If there is no such dim.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([3.0, 1.0, 2.0], dims=dt.Dim("k")).argmin().item()
        1
        """
        return self._arg("argmin", dim, skipna)

    def _arg(self, name: str, dim: DimKey, skipna: bool) -> DimTensor | dict[str, DimTensor]:
        if dim is None or isinstance(dim, (Dim, str)):
            return _position(wrap(self.node), name, only_dim(self.dims, dim, name), skipna)
        dims = self._dims(dim, name)
        if len(dims) == 1:
            return {dims[0]._short: _position(wrap(self.node), name, dims[0], skipna)}
        product = ProductDim(dims)
        flat = _position(wrap(make("merge", (self.node,), product)), name, product, skipna)
        positions: dict[str, DimTensor] = {}
        for factor in reversed(product.factors):
            n = wrap(make("length", (), factor))
            positions[factor._short] = elemwise("mod", flat, n)
            flat = elemwise("floor_divide", flat, n)
        return dict(reversed(positions.items()))

    def idxmax(
        self, dim: Dim | str | None = None, *, skipna: bool = False, fill_value: Label | None = None
    ) -> DimTensor:
        """Return the label of the largest element along a dim, as a tensor of labels.

        Parameters
        ----------
        dim : Dim or str, optional
            The only dim by default.
        skipna : bool
            Whether to leave out NaN; otherwise the first NaN counts as the largest element.
        fill_value : label or number, optional
            The result where all elements are NaN: a label of the dim or, if its labels are numbers,
            any number, such as NaN. Without it such a call raises :class:`CheckError`.

        Returns
        -------
        DimTensor
            Labels of the dim; numbers if the `fill_value` is a number and no label.

        Raises
        ------
        InputError
            If the `fill_value` is neither, or `skipna` is False.

        Examples
        --------
        >>> import dimtensor as dt
        >>> country = dt.Dim("country", coords=["Italy", "Kenya"])
        >>> dt.data([1.0, 2.0], dims=country).idxmax().eval().item()
        'Kenya'
        >>> x = dt.data([float("nan")], dims=dt.Dim("year", coords=[2020]))
        >>> x.idxmax(skipna=True, fill_value=float("nan")).item()
        nan
        """
        return self._idx("idxmax", "argmax", dim, skipna, fill_value)

    def idxmin(
        self, dim: Dim | str | None = None, *, skipna: bool = False, fill_value: Label | None = None
    ) -> DimTensor:
        """Return the label of the smallest element along a dim; see :meth:`idxmax`.

        Parameters
        ----------
        dim : Dim or str, optional
            The only dim by default.
        skipna : bool
        fill_value : label or number, optional

        Returns
        -------
        DimTensor

        Raises
        ------
        UnknownDimError
            If there is no such dim.

        Examples
        --------
        >>> import dimtensor as dt
        >>> country = dt.Dim("country", coords=["Italy", "Kenya"])
        >>> dt.data([1.0, 2.0], dims=country).idxmin().eval().item()
        'Italy'
        """
        return self._idx("idxmin", "argmin", dim, skipna, fill_value)

    def _idx(
        self, name: str, position: str, dim: Dim | str | None, skipna: bool, fill_value: Any
    ) -> DimTensor:
        along = only_dim(self.dims, dim, name)
        x = wrap(self.node)
        if fill_value is not None and not skipna:
            raise OptionError(
                f"{name}: fill_value stands where all elements are missing and left out; it goes "
                "with skipna=True"
            )
        if fill_value is None or not is_inexact(self.dtype):
            found = _labels_at(_position(x, position, along, skipna, name), along)
        else:
            none = elemwise("equal", x.count(along), 0)
            at = _first_extreme(x, position, along)
            found = filled_labels(name, none, fill_value, at, along)
        return say(found, name, self, dim=along, skipna=skipna, fill_value=fill_value)

    # -- order ------------------------------------------------------------------------------------

    def sort(self, dim: Dim | str | None = None) -> DimTensor:
        """Sort elements in ascending order along a dim; NaN are last.

        Parameters
        ----------
        dim : Dim or str, optional
            The only dim by default.

        Returns
        -------
        DimTensor
            On ``SortedDim(dim)``, because sorted elements do not belong to the labels of `dim`.

        Raises
        ------
        DimError
            If the tensor lacks the dim, or has several and none is named.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([3.0, 1.0, 2.0], dims=dt.Dim("k")).sort().values.tolist()
        [1.0, 2.0, 3.0]
        """
        along = only_dim(self.dims, dim, "sort")
        return wrap(make("sort", (self.node,), SortAttrs(along, SortedDim(along))))

    def argsort(self, dim: Dim | str | None = None) -> DimTensor:
        """Return the positions of elements in ascending order, on ``SortedDim(dim)``.

        Parameters
        ----------
        dim : Dim or str, optional
            The only dim by default.

        Returns
        -------
        DimTensor
            Integers.

        Raises
        ------
        UnknownDimError
            If there is no such dim.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([3.0, 1.0, 2.0], dims=dt.Dim("k")).argsort().values.tolist()
        [1, 2, 0]
        """
        along = only_dim(self.dims, dim, "argsort")
        return wrap(make("argsort", (self.node,), SortAttrs(along, SortedDim(along))))


def _position(
    x: DimTensor, name: str, along: Dim, skipna: bool, asked: str | None = None
) -> DimTensor:
    if not (skipna and is_inexact(x.dtype)):
        return _arg_reduced(x, name, along)
    some = elemwise("logical_not", elemwise("isnan", x)).any(along)
    text = f"{asked or name}: all elements are missing along {along._title}"
    if len(x.dims) == 2:
        (other,) = without(x.dims, (along,))
        text += f"; dropna({other._short!r}, how='all') leaves such positions out"
    return check(some, text, _first_extreme(x, name, along))


def _first_extreme(x: DimTensor, name: str, along: Dim) -> DimTensor:
    """Return the position of the extreme of elements that are not NaN, 0 if all are NaN."""
    extreme = x.max(along, skipna=True) if name == "argmax" else x.min(along, skipna=True)
    there = elemwise("equal", x, extreme)
    return _arg_reduced(there, "argmax", along)


def _arg_reduced(x: DimTensor, name: str, along: Dim) -> DimTensor:
    if along._within is not None:
        return ragged_position(along, x, name)
    return wrap(make("arg_reduce", (x.node,), AlongAttrs(name, along)))


def _labels_at(position: DimTensor, along: Dim) -> DimTensor:
    if along._within is not None:
        position = flat_place(along, position)
    return wrap(make("codes", (position.node,), along))


def filled_labels(
    name: str, none: DimTensor, fill_value: Any, position: DimTensor, along: Dim
) -> DimTensor:
    """Convert positions to labels, with a filling where there is no position.

    Raises
    ------
    InputError
        If the filling is no label of the dim, and not a number beside numbers.
    """
    labels = _labels_beside(name, fill_value, position, along)
    return elemwise("where", none, fill_value, labels)


def _labels_beside(name: str, fill_value: Any, position: DimTensor, along: Dim) -> DimTensor:
    """Convert positions to labels if the filling is a label, and to numbers if it is a number."""
    labels = dim_labels(along)
    if labels is None:
        return _labels_at(position, along)  # the labels come with the call, which checks
    try:
        along.position(fill_value)
    except LabelError:
        number = isinstance(fill_value, (int, float, np.number))
        if not number or labels.family != "number":
            raise LabelError(
                f"{name}: fill_value {fill_value!r} is no label of {along._title}",
                [("dim", repr(along))],
                "a tensor of labels of a dim has no others; only where labels are numbers a "
                "number may stand beside them",
            ) from None
        return data(np.asarray(labels.values), dims=along).isel({along: position})
    return _labels_at(position, along)


def with_an_element(x: DimTensor, dims: Dims, fill: float) -> tuple[DimTensor, Dims]:
    """Pad a tensor by one element along dims that may be empty; return it with its dims."""
    grown = []
    for dim in dims:
        if not dim.length:
            before, x = x.dims, x.pad({dim: (0, 1)}, constant_values=fill)
            (dim,) = without(x.dims, before)
        grown.append(dim)
    return x, tuple(grown)
