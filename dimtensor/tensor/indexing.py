"""Selection by label and position, updates through selections, grouping."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.compile.boundary import is_dataarray, is_pandas
from dimtensor.dims import Dim, ProductDim, depends_on_mask, dim_set, find_dim
from dimtensor.dims.selection import (
    LateLabels,
    normalise_position,
    normalise_selection,
    resolve_labels,
)
from dimtensor.errors import DimError, DtypeError, LabelError, build_message
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import IndexItem, LabelPosition
from dimtensor.graph.infer import describe
from dimtensor.tensor.shell import TensorShell, as_node, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.tensor.groupby import GroupBy

Indexers = Mapping[Any, Any] | None


class _Items:
    """Collects the items and indexer tensors of one selection."""

    def __init__(self) -> None:
        self.items: list[IndexItem] = []
        self.indexers: list[Node] = []

    def position(self, dim: Dim, position: Any) -> None:
        self.items.append(IndexItem(dim, "int", normalise_position(dim, position)))

    def select(self, dim: Dim, selection: Any) -> None:
        self.items.append(IndexItem(dim, "select", selection))

    def tensor(self, dim: Dim, indexer: Node) -> None:
        kind = "mask" if indexer.dtype == "bool" else "tensor"
        if kind == "mask" and indexer.dims != (dim,):
            raise DimError(
                build_message(
                    f"a mask along {dim.title} has this dim and no other",
                    [("mask", dim_set(indexer.dims))],
                    "mask over several dims with x[mask], which ravels them",
                )
            )
        if kind == "mask" and indexer.kind == "data" and dim.length is not None:
            self.select(dim, _mask_selection(dim, indexer))
            return
        self.items.append(IndexItem(dim, kind, len(self.indexers)))
        self.indexers.append(indexer)

    def apply(self, x: Node) -> DimTensor:
        order = sorted(self.items, key=lambda item: item.dim.sort_key)
        renumbered, indexers = [], []
        for item in order:
            if item.kind in ("tensor", "mask"):
                indexers.append(self.indexers[item.payload])
                item = item._replace(payload=len(indexers) - 1)
            renumbered.append(item)
        return wrap(make("index", (x, *indexers), tuple(renumbered)))


def _mask_selection(dim: Dim, mask: Node) -> Any:
    """The list of positions that a mask of constants is along a dim of known length."""
    return normalise_selection(dim, np.flatnonzero(mask.attrs.values))


def _gathered(indexers: Indexers, kwargs: Mapping[str, Any], what: str) -> dict[Any, Any]:
    if indexers is not None and not isinstance(indexers, Mapping):
        raise DimError(
            build_message(
                f"{what} takes dims by name or a dict from dims to selections, not "
                f"{type(indexers).__name__}",
                hint=f"{what}(country=...) or {what}({{country: ...}})",
            )
        )
    return {**(indexers or {}), **kwargs}


def _values(key: Any) -> Any:
    """Arrays out of pandas and xarray objects; of a single one (a Timestamp) NumPy's scalar."""
    return np.asarray(key)[()] if is_pandas(key) or is_dataarray(key) else key


class IndexingMixin(TensorShell):
    """Selections; each gives a derived dim whose labels follow."""

    __slots__ = ()

    def isel(self, indexers: Indexers = None, **by_name: Any) -> DimTensor:
        """Select by position.

        Parameters
        ----------
        indexers : dict of Dim or str to selection, optional
        **by_name
            By name of dim: an integer (the dim goes away), a list, array or slice (a SelDim takes
            its place), a boolean mask, or a tensor of integers (pointwise: its dims take the place
            of the dim).

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If a dim is not there.
        PositionError
            If a position is outside of a dim of known length.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 2.0, 3.0], dims=dt.Dim("k", coords=["a", "b", "c"]))
        >>> x.isel(k=slice(1, None)).dims[0].coords.tolist()
        ['b', 'c']
        """
        found = _Items()
        for key, selection in _gathered(indexers, by_name, "isel").items():
            dim = find_dim(self.dims, key, "isel")
            selection = _values(selection)
            if isinstance(selection, TensorShell):
                _require_positions(selection.node, dim, "isel")
                found.tensor(dim, selection.node)
            elif isinstance(selection, (int, np.integer)) and not isinstance(selection, bool):
                found.position(dim, selection)
            elif isinstance(selection, (slice, list, tuple, range, np.ndarray)):
                if isinstance(selection, np.ndarray) and selection.ndim == 0:
                    found.position(dim, int(selection))
                else:
                    found.select(dim, normalise_selection(dim, selection))
            else:
                raise DtypeError(
                    f"isel: {selection!r} is no position along {dim.title}; labels go to sel"
                )
        return found.apply(self.node)

    def sel(
        self,
        indexers: Indexers = None,
        method: str | None = None,
        tolerance: Any = None,
        **by_name: Any,
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
            By name of dim: a label (the dim goes away), a list or slice of labels (a SelDim takes
            its place; both ends of a slice are included), a boolean mask, or a tensor of labels
            (pointwise: its dims take the place of the dim).

        Returns
        -------
        DimTensor
            Along a dim without labels, labels are looked up in those that arrive with the data; if
            none arrive, integers are positions.

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
        """
        found = _Items()
        for key, selection in _gathered(indexers, by_name, "sel").items():
            dim = find_dim(self.dims, key, "sel")
            if isinstance(selection, TensorShell):
                found.tensor(dim, _label_indexer(selection.node, dim))
            else:
                _select_labels(found, dim, _values(selection), method, tolerance)
        return found.apply(self.node)

    def __getitem__(self, key: Any) -> DimTensor:
        """Select by position: ``x[{country: 0}]``, or ``x[1:]`` where there is one dim.

        A boolean tensor keeps the elements where it is true; over several dims they are raveled.
        """
        if isinstance(key, Mapping):
            return self.isel(key)
        if isinstance(key, TensorShell) and key.dtype == "bool":
            return self._masked(key.node)
        if len(self.dims) != 1 or isinstance(key, tuple):
            raise DimError(
                build_message(
                    "dims have no order, so brackets select along one only where there is one",
                    [("dims", dim_set(self.dims))],
                    "x[{dim: selection}], x.isel(dim=...), x.sel(dim=...)",
                )
            )
        return self.isel({self.dims[0]: key})

    def _masked(self, mask: Node) -> DimTensor:
        lost = [dim for dim in mask.dims if dim not in self.dims]
        if lost or not mask.dims:
            raise DimError(
                build_message(
                    "a mask has dims of the tensor",
                    [
                        ("tensor", dim_set(self.dims)),
                        ("mask", dim_set(mask.dims)),
                    ],
                )
            )
        if len(mask.dims) == 1:
            return self.isel({mask.dims[0]: wrap(mask)})
        product = ProductDim(mask.dims)
        flat = wrap(make("merge", (self.node,), product))
        return flat.isel({product: wrap(make("merge", (mask,), product))})

    def set(self, value: Any) -> DimTensor:
        """The tensor selected from, with the selection set to a value.

        Parameters
        ----------
        value : DimTensor or number
            Has dims of the selection only. Where a pointwise selection hits an element more than
            once, one of the values stays.

        Returns
        -------
        DimTensor
            A new tensor with the dims of the whole.

        Raises
        ------
        DimError
            If this is not the result of ``sel``, ``isel`` or brackets, or the value has other dims.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.zeros(dt.Dim("k", coords=["a", "b"]))
        >>> x.sel(k="b").set(5.0).eval().values.tolist()
        [0.0, 5.0]
        """
        return self._update("set", value)

    def inc(self, value: Any) -> DimTensor:
        """The tensor selected from, with a value added to the selection; duplicates accumulate.

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
                build_message(
                    f"{mode} works on a selection, this is {describe(self.node)}",
                    hint=f"x.sel(...).{mode}(value), or dt.where for a condition",
                )
            )
        base, *indexers = self.node.inputs
        new = as_node(value, [base], f"the value of {mode}")
        return wrap(make("update", (base, new, *indexers), (mode, self.node.attrs)))

    def head(self, indexers: Indexers = None, **by_name: int) -> DimTensor:
        """The first positions along dims: ``x.head(time=3)``."""
        given = _gathered(indexers, by_name, "head")
        return self.isel({key: slice(None, n) for key, n in given.items()})

    def tail(self, indexers: Indexers = None, **by_name: int) -> DimTensor:
        """The last positions along dims: ``x.tail(time=3)``."""
        given = _gathered(indexers, by_name, "tail")
        return self.isel({key: slice(-n, None) if n else slice(0, 0) for key, n in given.items()})

    def thin(self, indexers: Indexers = None, **by_name: int) -> DimTensor:
        """Every n-th position along dims: ``x.thin(draw=10)``."""
        given = _gathered(indexers, by_name, "thin")
        return self.isel({key: slice(None, None, n) for key, n in given.items()})

    def groupby(self, labels: Any, categories: Dim | None = None) -> GroupBy:
        """Group the elements along a dim by labels; the adjoint of a pointwise selection.

        Parameters
        ----------
        labels : DimTensor
            A tensor of labels (``dt.data(..., categories=country)``) over one dim of this tensor.
        categories : Dim, optional
            The dim of the groups, by default that of the labels. Data that are not labels of a
            dim are grouped by their values, and the groups are a new dim named like the data.

        Returns
        -------
        GroupBy
            With ``sum``, ``mean``, ``min``, ``max``, ``std``, ``var``, ``count``, ``first``,
            ``map``; groups without elements are included.

        Examples
        --------
        >>> import dimtensor as dt
        >>> country = dt.Dim("country", coords=["Italy", "Kenya", "USA"])
        >>> obs = dt.Dim("obs")
        >>> where = dt.data(["USA", "Italy", "USA"], dims=obs, categories=country)
        >>> dt.data([1.0, 2.0, 3.0], dims=obs).groupby(where).sum().eval().values.tolist()
        [2.0, 0.0, 4.0]
        """
        from dimtensor.tensor.groupby import GroupBy

        return GroupBy.of(wrap(self.node), labels, categories)

    @property
    def codes(self) -> DimTensor:
        """A tensor of labels as integers: the positions of the labels in their dim."""
        return (
            wrap(make("codes", (self.node,), None))
            if self.categories is not None
            else wrap(self.node)
        )

    def as_labels(self, dim: Dim) -> DimTensor:
        """A tensor of positions as a tensor of labels of a dim.

        Examples
        --------
        >>> import dimtensor as dt
        >>> country = dt.Dim("country", coords=["Italy", "Kenya"])
        >>> dt.data([1, 0], dims=dt.Dim("obs")).as_labels(country).eval().values.tolist()
        ['Kenya', 'Italy']
        """
        if self.node.kind == "data":
            from dimtensor.compile.boundary import check_positions

            check_positions(self.node.attrs.values, dim.length, dim, f"data {self.name!r}")
        return wrap(make("codes", (self.node,), dim))


def _select_labels(found: _Items, dim: Dim, key: Any, method: str | None, tolerance: Any) -> None:
    labels = dim._labels()
    if labels is None and not (isinstance(key, slice) and key == slice(None)):
        _refuse_masked(dim)
    if method is not None:
        if labels is None:
            raise LabelError(f"sel with method={method!r} needs a dim with labels, not {dim!r}")
        many = key if isinstance(key, (list, np.ndarray)) else [key]
        positions = labels.nearest(many, method, tolerance, dim.title)
        if many is key:
            found.select(dim, normalise_selection(dim, positions))
        else:
            found.position(dim, positions[0])
        return
    if isinstance(key, np.ndarray) and key.dtype == bool:
        found.select(dim, normalise_selection(dim, key))
    elif isinstance(key, (list, np.ndarray)) and np.ndim(key) != 0:
        if isinstance(key, list) and key and all(isinstance(v, bool) for v in key):
            found.select(dim, normalise_selection(dim, key))
        elif labels is None:
            late = resolve_labels(dim, list(key))
            assert isinstance(late, LateLabels)
            found.tensor(dim, make("label_position", (), LabelPosition(dim, late.labels, "many")))
        else:
            found.select(dim, resolve_labels(dim, key))
    elif isinstance(key, slice):
        found.select(dim, resolve_labels(dim, key))
    elif labels is not None:
        found.position(dim, dim.position(key))
    else:
        found.tensor(dim, make("label_position", (), LabelPosition(dim, (key,), "one")))


def _refuse_masked(dim: Dim) -> None:
    """Refuse look-ups among labels that a mask leaves, which are known after the look-up."""
    if depends_on_mask(dim):
        raise LabelError(
            build_message(
                f"sel: which labels {dim.title} has is known when its mask is computed",
                [("dim", repr(dim))],
                "select by label first and mask the result, or select by position with isel",
            )
        )


def _require_positions(indexer: Node, dim: Dim, what: str) -> None:
    if indexer.categories is not None:
        raise DtypeError(
            f"{what}: these are labels of {indexer.categories.title}, not positions along "
            f"{dim.title}; use sel"
        )
    if indexer.dtype != "bool" and indexer.dtype[:3] not in ("int", "uin"):
        raise DtypeError(
            f"{what}: positions along {dim.title} are integers or a mask, not {indexer.dtype}"
        )


def _label_indexer(indexer: Node, dim: Dim) -> Node:
    """The positions along a dim that a tensor of labels means."""
    own = indexer.categories
    if own is dim:
        return indexer
    if own is not None:
        return _translated(indexer, own, dim)
    if indexer.dtype == "bool":
        return indexer
    if dim._labels() is None:
        _require_positions(indexer, dim, "sel")
        return indexer
    if indexer.kind == "data":
        from dimtensor.compile.boundary import label_positions

        attrs = indexer.attrs
        positions = label_positions(attrs.values, dim, f"data {attrs.name!r}")
        return make("data", (), type(attrs)(attrs.name, attrs.dims, positions, dim, attrs.labels))
    raise LabelError(
        build_message(
            f"sel: {describe(indexer)} does not hold labels of {dim.title}",
            [("dim", repr(dim))],
            "give it categories=dim where it is made, or select by position with isel",
        )
    )


def _translated(indexer: Node, own: Dim, dim: Dim) -> Node:
    """Labels of one dim looked up in another that has all of them."""
    mine, theirs = own._labels(), dim._labels()
    if mine is None or theirs is None:
        if own.unrenamed is dim.unrenamed:
            return make("codes", (indexer,), dim)
        raise LabelError(
            build_message(
                f"sel: labels of {own.title} do not select along {dim.title}",
                [("labels of", repr(own)), ("selected from", repr(dim))],
            )
        )
    if mine.same_labels(theirs):
        return make("codes", (indexer,), dim)
    table = theirs.positions(mine.values, dim.title)
    from dimtensor.tensor.constructors import data

    lookup = data(table, dims=own)
    positions = make("index", (lookup.node, indexer), (IndexItem(own, "tensor", 0),))
    return make("codes", (positions,), dim)
