"""Interpolation, sorting and selection by the values of labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.arrays import items_of, ndim_of
from dimtensor.dims import Coords, Dim, dim_labels, find_plain_dim
from dimtensor.errors import DimError, GraphError, LabelError, OptionError, listing
from dimtensor.graph.printing.words import say
from dimtensor.tensor.along.interpolation.between import interpolated
from dimtensor.tensor.along.interpolation.methods import Method
from dimtensor.tensor.constructors import zeros
from dimtensor.tensor.handle import TensorHandle, as_node, elemwise, require_float, wrap
from dimtensor.tensor.inputs import data
from dimtensor.tensor.selection.indexing import gathered
from dimtensor.tensor.selection.lookup import as_plain, is_mask, remaining
from dimtensor.values.labeled import is_dataarray

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import ArrayLike, Indexer


class LabelMixin(TensorHandle):
    """Methods that use labels as numbers, or their order."""

    __slots__ = ()

    def interp(
        self,
        coords: Mapping[Any, Any] | None = None,
        method: str = "linear",
        assume_sorted: bool = False,
        kwargs: Mapping[str, Any] | None = None,
        *,
        fill_value: float | str | None = None,
        order: int | None = None,
        **by_name: Indexer,
    ) -> DimTensor:
        """Interpolate between labels that are numbers or dates.

        Parameters
        ----------
        coords : dict of Dim or str to Dim, labels or DimTensor, optional
            New labels along dims; a single label removes the dim. The dims of a tensor of numbers,
            which may be symbolic, replace the dim.
        method : str
            ``"linear"`` or ``"slinear"``; ``"nearest"``; ``"zero"``, the element before; splines
            ``"quadratic"``, ``"cubic"``, ``"quintic"`` or ``"polynomial"`` of an `order`; a single
            polynomial, ``"barycentric"`` or ``"krogh"``; and piecewise cubic methods that overshoot
            less, ``"pchip"``, ``"akima"`` and ``"makima"``. A NaN makes all results of splines and
            of the single polynomial NaN.
        assume_sorted : bool
            Ignored: labels are known. It is there for code written for xarray.
        kwargs : dict, optional
            ``fill_value``, ``order`` and ``extrapolate``, as xarray passes them to SciPy.
        fill_value : number, (before, after) or "extrapolate", optional
            Values outside of the labels, NaN by default; ``"extrapolate"`` continues the curve, as
            the single polynomial always does.
        order : int, optional
            Order of ``"polynomial"``.
        **by_name

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If a dim is not there.
        LabelError
            If labels are not known, neither numbers nor dates, or too few for the method.
        OptionError
            If there is no such method.
        ArgumentError
            If there is no such option.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([0.0, 1.0, 3.0], dims=dt.Dim("t", coords=[0, 1, 2]))
        >>> x.interp(t=[0.5, 1.5]).values.tolist(), x.interp(t=0.25).item()
        ([0.5, 2.0], 0.25)
        >>> x.interp(t=[1.5, 3.0], fill_value="extrapolate").values.tolist()
        [2.0, 5.0]
        >>> x.interp(t=[1.5], method="quadratic").values.round(3).tolist()
        [1.875]
        """
        how = Method.of("interp", method, fill_value, order, kwargs)
        result = wrap(require_float(self.node))
        for key, new in gathered(coords, by_name, self.dims, "interp", "labels").items():
            result = interpolated(result, find_plain_dim(result.dims, key, "interp"), new, how)
        return say(result, "interp", self)

    def sortby(self, key: Any, ascending: bool = True) -> DimTensor:
        """Sort elements by labels, or by another tensor.

        Parameters
        ----------
        key : Dim, str, DimTensor or list of them
            A dim, whose labels are the key, or a tensor along one dim. Of several keys along a dim
            the first one is the primary key.
        ascending : bool
            NaN are last in both orders.

        Returns
        -------
        DimTensor
            Labels stay with their elements if the key is known when the expression is built.
            Otherwise on ``SortedDim(dim)``, which has no labels.

        Raises
        ------
        DimError
            If the tensor lacks the dim, or the key has not exactly one.
        LabelError
            If the labels are not known, or have no common order.
        OptionError
            If there are several keys, and one of them is symbolic.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 2.0, 3.0], dims=dt.Dim("k", coords=["b", "c", "a"]))
        >>> x.sortby("k").values.tolist(), x.sortby("k").dims[0].coords.tolist()
        ([3.0, 1.0, 2.0], ['a', 'b', 'c'])
        """
        keys = list(key) if isinstance(key, (list, tuple)) else [key]
        result = wrap(self.node)
        known: dict[Dim, list[np.ndarray]] = {}
        for each in keys:
            by, along = self._key(each)
            if isinstance(by, np.ndarray):
                known.setdefault(along, []).append(by)
                continue
            if len(keys) > 1:
                raise OptionError("sortby: of several keys all are labels or data")
            result = result.isel({along: (by if ascending else -by).argsort(along)})
        for along, ranks in known.items():
            present = [] if ascending else [~np.isnan(each) for each in ranks]  # NaN are last
            order = np.lexsort([*ranks[::-1], *present[::-1]])
            result = result.isel({along: order if ascending else order[::-1]})
        return result

    def _key(self, key: Any) -> tuple[np.ndarray | DimTensor, Dim]:
        """Return known or symbolic numbers in the order of a key, and the dim of the key."""
        if not isinstance(key, (Dim, str)):
            node = as_node(key, [self.node], "the key of sortby")
            if len(node.dims) != 1:
                raise DimError(f"sortby: a key has one dim, not {len(node.dims)}")
            along = find_plain_dim(self.dims, node.dims[0], "sortby")
            if node.kind == "data":
                return node.attrs.values, along
            return wrap(node).codes if node.categories is not None else wrap(node), along
        along = find_plain_dim(self.dims, key, "sortby")
        labels = dim_labels(along)
        if labels is None:
            raise LabelError(f"sortby: the labels of {along._title} are not known")
        ranks = np.empty(len(labels), dtype=np.int64)
        try:
            ranks[labels.index.argsort(kind="stable")] = np.arange(len(labels))
        except TypeError as fault:
            raise LabelError(
                f"sortby: the labels of {along._title} have no order",
                [("labels", listing(labels.values)), ("comparing them", fault)],
                "sort by numbers along the dim: data, or any tensor",
            ) from None
        return ranks, along

    def drop_sel(
        self, labels: Mapping[Any, Any] | None = None, *, errors: str = "raise", **by_name: Indexer
    ) -> DimTensor:
        """Drop labels along dims.

        Parameters
        ----------
        labels : dict of Dim or str to label, labels or mask, optional
        errors : {"raise", "ignore"}
            Whether a missing label is an error.
        **by_name

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If a dim is not there.
        LabelError
            If a label is not there, or the labels of a dim are not known.
        OptionError
            If `errors` is neither of the two.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 2.0, 3.0], dims=dt.Dim("k", coords=["a", "b", "c"]))
        >>> x.drop_sel(k="b").values.tolist()
        [1.0, 3.0]
        >>> x.drop_sel(k=["b", "z"], errors="ignore").values.tolist()
        [1.0, 3.0]
        """
        if errors not in ("raise", "ignore"):
            raise OptionError(f"drop_sel: errors is 'raise' or 'ignore', not {errors!r}")
        result = wrap(self.node)
        for key, given in gathered(labels, by_name, self.dims, "drop_sel", "labels").items():
            along = find_plain_dim(result.dims, key, "drop_sel")
            given = as_plain(given)
            if is_mask(given):
                result = result.drop_isel({along: given})
                continue
            known = dim_labels(along)
            if known is None:
                raise LabelError(f"drop_sel: the labels of {along._title} are not known")
            listed = isinstance(given, (list, tuple, range)) or ndim_of(given)
            several = given if listed else [given]
            if errors == "ignore":
                several = [label for label in several if _is_there(known, label)]
            gone = known.positions(several, along._title)
            result = result.isel({along: np.delete(np.arange(len(known)), gone)})
        return result

    def drop_isel(
        self, positions: Mapping[Any, Any] | None = None, **by_name: Indexer
    ) -> DimTensor:
        """Drop positions along dims.

        Parameters
        ----------
        positions : dict of Dim or str to int, list of int or mask, optional
            A mask, which may be a tensor of bools, drops the positions where it is true.
        **by_name

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If a dim is not there, or its length is not known.
        PositionError
            If a position is outside of the dim.
        DtypeError
            If the values are no positions.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([1.0, 2.0, 3.0], dims=dt.Dim("k", length=3)).drop_isel(k=-1).values.tolist()
        [1.0, 2.0]
        """
        result = wrap(self.node)
        for key, given in gathered(positions, by_name, self.dims, "drop_isel", "positions").items():
            along = find_plain_dim(result.dims, key, "drop_isel")
            result = result.isel({along: remaining(result.node, along, given)})
        return result

    def isin(self, test_elements: ArrayLike) -> DimTensor:
        """Test whether each element is one of some values.

        Parameters
        ----------
        test_elements : list, set or array of numbers or labels
            Dates may be strings, if the elements are labels that are dates.

        Returns
        -------
        DimTensor
            Bools, with the dims of the tensor.

        Raises
        ------
        GraphError
            If the values are a symbolic tensor.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([1, 2, 3], dims=dt.Dim("k")).isin([3, 1]).values.tolist()
        [True, False, True]
        """
        values = Coords(_flat(test_elements))
        known = None if self.categories is None else dim_labels(self.categories)
        if known is not None and self.categories is not None:
            chosen = np.zeros(len(known), bool)
            places = known.places(values, self.categories._title)
            chosen[places[places >= 0]] = True
            return say(data(chosen, self.categories).sel({self.categories: self}), "isin", self)
        result = zeros(self.dims, "bool")
        for value in dict.fromkeys(values.to_list()):
            result = result | elemwise("equal", self, value)
        return say(result, "isin", self)

    @property
    def loc(self) -> Loc:
        """Selection by label in brackets: ``x.loc[{"country": "Italy"}]`` is ``x.sel(...)``.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 2.0], dims=dt.Dim("k", coords=["a", "b"]))
        >>> x.loc[{"k": "b"}].item(), x.loc["a"].item()
        (2.0, 1.0)
        """
        return Loc(wrap(self.node))


def _flat(values: Any) -> Any:
    """Flatten values to one sequence.

    Raises
    ------
    GraphError
        If the values are a symbolic tensor.
    """
    if isinstance(values, TensorHandle):
        known = values.known_values()  # type: ignore[attr-defined]
        if known is None:
            raise GraphError("isin: the values are known when the expression is built")
        values = known
    if is_dataarray(values):
        return np.asarray(values).ravel()
    values = as_plain(values)
    if isinstance(values, np.ndarray):
        return values.ravel()
    if isinstance(values, (Set, range, Iterator)):
        return items_of(values, "isin")
    if not isinstance(values, (list, tuple)):
        return [values]
    nested = isinstance(values, list) and any(isinstance(each, list) for each in values)
    return np.ravel(values) if nested else values


class Loc:
    """Selection by label in brackets, made by :attr:`DimTensor.loc`.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([1.0, 2.0], dims=dt.Dim("country", coords=["Italy", "Kenya"]))
    >>> x.loc["Kenya"].item(), x.loc[{"country": "Italy"}].item()
    (2.0, 1.0)
    """

    def __init__(self, x: DimTensor):
        self._x = x

    def __getitem__(self, key: Any) -> DimTensor:
        """Select by label: a dict by dim, or a label or labels along the only dim."""
        if isinstance(key, Mapping):
            return self._x.sel(key)
        if len(self._x.dims) != 1:
            raise DimError(
                "dims have no order, so loc takes labels by dim",
                [("dims", list(self._x.sizes))],
                'x.loc[{"country": "Italy"}]',
            )
        return self._x.sel({self._x.dims[0]: key})


def _is_there(labels: Coords, label: Any) -> bool:
    if labels.find(Coords([label]))[0] >= 0:
        return True
    try:  # dates may be written in several ways
        labels.locate(label)
    except LabelError:
        return False
    return True
