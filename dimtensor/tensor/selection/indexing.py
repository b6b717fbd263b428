"""Selection by label and position, updates through selections, grouping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.arrays import ndim_of, whole
from dimtensor.dims import Dim, Dims, ProductDim, as_dim_tuple, dim_set, find_dim
from dimtensor.dims.labels import python_label
from dimtensor.dims.selection import is_position, normalize_selection
from dimtensor.errors import DimError, DtypeError, OptionError, clipped, plain_repr
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import UpdateAttrs
from dimtensor.graph.infer import describe
from dimtensor.tensor.handle import TensorHandle, as_node, wrap
from dimtensor.tensor.numpy_style import no_attribute
from dimtensor.tensor.ragged.layout import ragged_selected
from dimtensor.tensor.selection.date_parts import DateParts
from dimtensor.tensor.selection.groupby import GroupBy
from dimtensor.tensor.selection.lookup import (
    SelectionItems,
    as_plain,
    called,
    label_indexer,
    labels_in,
    positions_in,
    product_of_levels,
    refuse_labels,
    refuse_positions,
    refuse_repeats,
    require_positions,
    select_labels,
    select_levels,
)
from dimtensor.values.admission import check_positions
from dimtensor.values.labeled import is_dataarray

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import Duration, Indexer, TensorLike

Indexers = Mapping[Any, Any] | None


def gathered(
    indexers: Indexers,
    kwargs: Mapping[str, Any],
    dims: Dims,
    what: str,
    each: str = "selections",
) -> dict[Any, Any]:
    """Collect indexers by dim from a dict and from keywords.

    Raises
    ------
    DimError
        If the first argument is no dict.
    """
    if indexers is not None and not isinstance(indexers, Mapping):
        text = f"{what} takes dims by name or a dict from dims to {each}, not "
        dim = next((d._short for d in dims if d._short.isidentifier()), "dim")
        shown = clipped(repr(indexers)) if type(indexers).__module__ == "builtins" else "..."
        hint = f"x.{what}({dim}={shown}), or a dict: x.{what}({{{dim!r}: {shown}}})"
        raise DimError(text + type(indexers).__name__, hint=hint)
    if twice := [x for x in kwargs if x in {getattr(k, "_short", k) for k in indexers or ()}]:
        raise DimError(f"{what}: dim {twice[0]!r} is given twice, in the dict and by its name")
    return {**(indexers or {}), **kwargs}


class IndexingMixin(TensorHandle):
    """Methods that select, update and group elements."""

    __slots__ = ()

    def isel(self, indexers: Indexers = None, **by_name: Indexer) -> DimTensor:
        """Select by position.

        Parameters
        ----------
        indexers : dict of Dim or str to selection, optional
        **by_name
            By name of dim: an integer removes the dim; a list, an array, a slice or a boolean mask
            gives a SelDim; a tensor of integers, or a DataArray, selects pointwise, so that its
            dims replace the dim.

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If a dim is not there.
        PositionError
            If a position is outside of a dim of known length.
        DtypeError
            If a selection is neither integers nor a mask.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 2.0, 3.0], dims=dt.Dim("k", coords=["a", "b", "c"]))
        >>> x.isel(k=slice(1, None)).dims[0].coords.tolist()
        ['b', 'c']
        """
        given = gathered(indexers, by_name, self.dims, "isel")
        ragged = ragged_selected(wrap(self.node), given, "isel")
        if ragged is not None:
            return ragged
        found = SelectionItems()
        for key, selection in given.items():
            dim = find_dim(self.dims, key, "isel")
            if is_dataarray(selection):
                selection = positions_in(self.node, dim, selection)
            selection = as_plain(selection)
            if isinstance(selection, TensorHandle):
                require_positions(selection.node, dim, "isel", self.node)
                found.tensor(dim, selection.node)
            elif is_position(python_label(selection)):
                found.position(dim, selection)
            elif isinstance(selection, (str, list, tuple)) or ndim_of(selection):
                refuse_labels(self.node, dim, selection)
                if key in by_name:
                    refuse_repeats(self.node, dim, selection)
                found.select(dim, normalize_selection(dim, selection))
            elif isinstance(selection, (slice, range)):
                found.select(dim, normalize_selection(dim, selection))
            else:
                what = f"{plain_repr(selection)} is not a position along {dim._title}"
                text = f"isel: {what}; labels go to sel"
                at = whole(selection)
                hint = None if at is None else f"a position is an integer: isel({dim._short}={at})"
                raise DtypeError(text, hint=hint)
        return found.apply(self.node)

    def sel(
        self,
        indexers: Indexers = None,
        method: str | None = None,
        tolerance: Duration | None = None,
        **by_name: Indexer,
    ) -> DimTensor:
        """Select by label.

        Parameters
        ----------
        indexers : dict of Dim or str to selection, optional
        method : {None, "nearest", "pad", "ffill", "backfill", "bfill"}
            How to match labels that are not there, as in xarray.
        tolerance : optional
            Largest distance of an inexact match.
        **by_name
            By name of dim: a label removes the dim; a list or slice of labels, whose ends are both
            included, or a boolean mask gives a SelDim; a tensor of labels or a DataArray selects
            pointwise, so that its dims replace the dim. A partial date such as ``"2020-02"``
            selects all dates in it. The name of a factor selects along a ProductDim, and leaves
            the other factors.

        Returns
        -------
        DimTensor
            Labels along a dim without labels are looked up in those that come with a call; if none
            come, integers are positions.

        Raises
        ------
        DimError
            If a dim is not there.
        LabelError
            If a label is not there.

        Examples
        --------
        >>> import dimtensor as dt
        >>> country = dt.Dim("country", coords=["Italy", "Kenya", "USA"])
        >>> x = dt.data([1.0, 2.0, 3.0], dims=country)
        >>> float(x.sel(country="USA").eval())
        3.0
        >>> x.sel(country=["USA", "Italy"]).dims
        (SelDim(country, ['USA', 'Italy']),)
        >>> day = dt.Dim("day", coords=np.arange("2020-01-01", "2021-01-01", dtype="M8[D]"))
        >>> dt.tensor("y", dims=day).sel(day="2020-02").sizes
        {'day': 29}
        """
        given = gathered(indexers, by_name, self.dims, "sel")
        ragged = ragged_selected(wrap(self.node), given, "sel", method, tolerance)
        if ragged is not None:
            return ragged
        product = product_of_levels(self, given)
        if product is not None:
            return select_levels(self, product, given, method=method, tolerance=tolerance)
        found = SelectionItems()
        for key, selection in given.items():
            dim = find_dim(self.dims, key, "sel")
            if is_dataarray(selection):
                selection = labels_in(self.node, dim, selection, method, tolerance)
            selection = as_plain(selection)
            refuse_positions(self.node, dim, selection)
            if key in by_name and method is None:
                refuse_repeats(self.node, dim, selection, "sel")
            if isinstance(selection, TensorHandle):
                found.tensor(dim, label_indexer(selection.node, dim))
            else:
                select_labels(found, dim, selection, method, tolerance)
        return found.apply(self.node)

    def __getitem__(self, key: Any) -> DimTensor:
        """Select by position: ``x[{country: 0}]``, or ``x[1:]`` of a tensor with one dim.

        A boolean tensor keeps the elements where it is true, and ravels several dims.
        """
        if isinstance(key, Mapping):
            return self.isel(key)
        if isinstance(key, TensorHandle) and key.node.categories in self.dims:
            require_positions(key.node, key.node.categories, "brackets", self.node)  # type: ignore[arg-type]
        key = as_plain(key)
        if len(self.dims) == 1:
            refuse_repeats(self.node, self.dims[0], key)
        if isinstance(key, TensorHandle) and key.dtype == "bool":
            return self._masked(key.node)
        if len(self.dims) != 1 or isinstance(key, tuple):
            first = self.dims[0]._short if self.dims else "dim"
            raise DimError(
                "dims have no order, so brackets select along one only where there is one",
                [("dims", dim_set(self.dims))],
                f"x[{{{first!r}: selection}}], x.isel({{{first!r}: positions}}), "
                f"x.sel({{{first!r}: labels}})",
            )
        if isinstance(key, str):
            text = f"brackets select by position, and {key!r} is a label or a name"
            x = called(self.node)
            hint = f"{x}.sel({{{self.dims[0]._short!r}: {key!r}}}) selects by label"
            raise DtypeError(text, [("dims", dim_set(self.dims))], hint)
        return self.isel({self.dims[0]: key})

    def _masked(self, mask: Node) -> DimTensor:
        lost = [dim for dim in mask.dims if dim not in self.dims]
        if lost or not mask.dims:
            raise DimError(
                "the dims of a mask must be dims of the tensor",
                [
                    ("tensor", dim_set(self.dims)),
                    ("mask", dim_set(mask.dims)),
                ],
            )
        if len(mask.dims) == 1:
            return self.isel({mask.dims[0]: wrap(mask)})
        product = ProductDim(mask.dims)
        flat = wrap(make("merge", (self.node,), product))
        return flat.isel({product: wrap(make("merge", (mask,), product))})

    def set(self, value: TensorLike) -> DimTensor:
        """Return the tensor selected from, with the selection set to a value.

        Parameters
        ----------
        value : DimTensor or number
            With dims of the selection only. If a selection repeats an element, the last value is
            kept, and only its derivative is not zero: the last one along the dim of the positions,
            or in row-major order of ``.dims``.

        Returns
        -------
        DimTensor
            A new tensor with the dims of the whole.

        Raises
        ------
        DimError
            If this is not the result of ``sel``, ``isel`` or brackets, or the value has other dims.
        DtypeError
            If the value is of a wider dtype.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.zeros(dt.Dim("k", coords=["a", "b"]))
        >>> x.sel(k="b").set(5.0).eval().values.tolist()
        [0.0, 5.0]
        """
        return self._update("set", value)

    def inc(self, value: TensorLike) -> DimTensor:
        """Return the tensor selected from, with a value added to the selection; repeats accumulate.

        Parameters
        ----------
        value : DimTensor or number

        Returns
        -------
        DimTensor
            A new tensor with the dims of the whole; see :meth:`set`.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.zeros(dt.Dim("k", length=2))
        >>> at = dt.data([1, 1, 0], dims=dt.Dim("obs"))
        >>> x.isel(k=at).inc(1.0).eval().values.tolist()
        [1.0, 2.0]
        """
        return self._update("inc", value)

    def _update(self, mode: str, value: Any) -> DimTensor:
        if self.node.kind != "index":
            raise DimError(
                f"{mode} works on a selection, this is {describe(self.node)}",
                hint=f"x.sel(...).{mode}(value), or dt.where for a condition",
            )
        base, *indexers = self.node.inputs
        new = as_node(value, [base], f"the value of {mode}")
        return wrap(
            make("update", (base, new, *indexers), UpdateAttrs(mode, self.node.attrs.items))
        )

    def head(self, indexers: Indexers = None, **by_name: int) -> DimTensor:
        """Select the first positions along dims: ``x.head(time=3)``.

        Parameters
        ----------
        indexers : dict of Dim or str to int, optional
        **by_name : int
            Numbers of positions by name of dim.

        Returns
        -------
        DimTensor

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([1, 2, 3], dims=dt.Dim("time")).head(time=2).values.tolist()
        [1, 2]
        """
        given = gathered(indexers, by_name, self.dims, "head")
        return self.isel({key: slice(None, _number(n, "head")) for key, n in given.items()})

    def tail(self, indexers: Indexers = None, **by_name: int) -> DimTensor:
        """Select the last positions along dims: ``x.tail(time=3)``.

        Parameters
        ----------
        indexers : dict of Dim or str to int, optional
        **by_name : int
            Numbers of positions by name of dim.

        Returns
        -------
        DimTensor

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([1, 2, 3], dims=dt.Dim("time")).tail(time=2).values.tolist()
        [2, 3]
        """
        given = gathered(indexers, by_name, self.dims, "tail")
        return self.isel(
            {
                key: slice(-n, None) if _number(n, "tail") else slice(0, 0)
                for key, n in given.items()
            }
        )

    def thin(self, indexers: Indexers = None, **by_name: int) -> DimTensor:
        """Select every n-th position along dims: ``x.thin(draw=10)``.

        Parameters
        ----------
        indexers : dict of Dim or str to int, optional
        **by_name : int
            Steps by name of dim.

        Returns
        -------
        DimTensor

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([1, 2, 3], dims=dt.Dim("time")).thin(time=2).values.tolist()
        [1, 3]
        """
        given = gathered(indexers, by_name, self.dims, "thin")
        return self.isel({key: slice(None, None, n) for key, n in given.items()})

    def groupby(
        self, labels: TensorLike, categories: Dim | Sequence[Dim | None] | None = None
    ) -> GroupBy:
        """Group the elements along a dim by labels; the adjoint of a pointwise selection.

        Parameters
        ----------
        labels : DimTensor or list of DimTensor
            A tensor of labels (``dt.data(..., categories=country)``) along one dim of this tensor,
            or the name of a calendar part of a dim of dates, ``"day.month"``. Several tensors of
            labels along one dim make a group of each combination of labels, and results have a dim
            for each tensor.
        categories : Dim or sequence of Dim, optional
            The dim of the groups, by default that of the labels. Data that are not labels of a
            dim are grouped by their values, NaN among them, and the groups are a new dim named
            like the data.

        Returns
        -------
        GroupBy
            With ``sum``, ``mean``, ``min``, ``max``, ``std``, ``var``, ``count``, ``first``,
            ``map``; groups without elements are included.

        Raises
        ------
        DimError
            If the labels do not share one dim with the tensor.
        InputError, LabelError
            If they have no dim, or are no labels of one.

        Examples
        --------
        >>> import dimtensor as dt
        >>> country = dt.Dim("country", coords=["Italy", "Kenya", "USA"])
        >>> obs = dt.Dim("obs")
        >>> where = dt.data(["USA", "Italy", "USA"], dims=obs, categories=country)
        >>> dt.data([1.0, 2.0, 3.0], dims=obs).groupby(where).sum().eval().values.tolist()
        [2.0, 0.0, 4.0]
        >>> sex = dt.data(["f", "f", "m"], dims=obs, categories=dt.Dim("sex", coords=["f", "m"]))
        >>> dt.data([1.0, 2.0, 3.0], dims=obs).groupby([where, sex]).sum().to_series()[
        ...     "USA"
        ... ].tolist()
        [1.0, 3.0]
        """
        return GroupBy._from(wrap(self.node), labels, categories)

    @property
    def dt(self) -> DateParts:
        """Calendar parts of a tensor of dates: ``x.groupby(when.dt.month).mean()``.

        Raises
        ------
        NoAttributeError
            If these are not labels of a dim.
        LabelError
            By each part, if the labels are not dates.

        Examples
        --------
        >>> import dimtensor as dt
        >>> obs, day = dt.Dim("obs"), dt.date_range("day", start="2021-01-30", periods=4)
        >>> when = dt.data(["2021-02-01", "2021-01-30"], dims=obs, categories=day)
        >>> when.dt.dayofweek.values.tolist()
        [0, 5]
        """
        x = wrap(self.node)
        if x.categories is None:
            raise no_attribute(x, "dt")
        return DateParts(x, x.categories)

    @property
    def codes(self) -> DimTensor:
        """Positions of labels in their dim, as a tensor of integers."""
        return wrap(self.node if self.categories is None else make("codes", (self.node,), None))

    def as_labels(self, dim: Dim) -> DimTensor:
        """Convert positions to labels of a dim.

        Parameters
        ----------
        dim : Dim

        Returns
        -------
        DimTensor
            With the same dims; its values are labels.

        Raises
        ------
        DimError
            If it is no Dim.

        Examples
        --------
        >>> import dimtensor as dt
        >>> country = dt.Dim("country", coords=["Italy", "Kenya"])
        >>> dt.data([1, 0], dims=dt.Dim("obs")).as_labels(country).eval().values.tolist()
        ['Kenya', 'Italy']
        """
        (dim,) = as_dim_tuple([dim], "categories")
        if self.node.kind == "data":
            check_positions(self.node.attrs.values, dim.length, dim, f"data {self.name!r}")
        return wrap(make("codes", (self.node,), dim))


def _number(n: Any, what: str) -> Any:
    """Check that a number of positions is not negative; slices check that it is an integer."""
    if isinstance(n, (bool, np.bool_)) or (isinstance(n, (int, np.integer)) and n < 0):
        raise OptionError(f"{what} takes a number of positions of at least 0, not {n}")
    return n
