"""Operations that change dims and keep elements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from dimtensor.dims import (
    Dim,
    Dims,
    ProductDim,
    RenamedDim,
    canonical_dims,
    dim_labels,
    dim_set,
    find_dim,
    find_dims,
    in_order,
)
from dimtensor.errors import DimError
from dimtensor.graph import make
from dimtensor.tensor.handle import TensorHandle, as_node, renamed, wrap
from dimtensor.tensor.positional.border import to_shaped, to_xtensor

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable
    from pytensor.xtensor.type import XTensorVariable

    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import DimKey, DimLike


class ShapeMixin(TensorHandle):
    """Methods that rename, add, remove, merge and split dims."""

    __slots__ = ()

    def rename_dim(self, old: Dim | str, new: Dim | str | None = None) -> DimTensor:
        """Rename a dim.

        Parameters
        ----------
        old : Dim or str
        new : str or Dim, optional
            A name, by default the old one with a prime; or a dim that has the same labels (or,
            where neither has labels, the same known length).

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If the tensor lacks the dim, has another one of the new name, or the labels differ.

        Examples
        --------
        >>> import dimtensor as dt
        >>> country = dt.Dim("country", coords=["Italy", "Kenya"])
        >>> x = dt.tensor("x", dims=country)
        >>> (x.rename_dim(country) - x).sizes
        {'country': 2, "country'": 2}
        """
        dim = find_dim(self.dims, old, "rename_dim")
        return renamed(self, {dim: _renamed_to(dim, new)})

    def rename(self, names: Mapping[Any, Any] | None = None, **by_name: str) -> DimTensor:
        """Rename several dims at once; swapping names is possible.

        Parameters
        ----------
        names : dict of Dim or str to str or Dim, optional
        **by_name : str or Dim
            New names by old ones.

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If a dim is not there, or two would have one name.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.tensor("x", dims=[dt.Dim("a", length=1), dt.Dim("b", length=2)])
        >>> x.rename(a="b", b="a").sizes
        {'a': 2, 'b': 1}
        """
        if names is not None and not isinstance(names, Mapping):
            raise DimError(
                f"rename takes new names by dim, not {names!r}",
                [("dims", dim_set(self.dims))],
                "rename dims with x.rename(old='new'); what a result is called is said where "
                "outputs are given, as {'new': x}, and inputs and data where they are made",
            )
        pairs = {**(names or {}), **by_name}
        mapping = {}
        for old, new in pairs.items():
            dim = find_dim(self.dims, old, "rename")
            mapping[dim] = _renamed_to(dim, new)
        return renamed(self, mapping)

    def relabel(self, old: Dim | str, new: Dim) -> DimTensor:
        """Replace a dim by another of the same length, position by position, whatever the labels.

        Parameters
        ----------
        old : Dim or str
        new : Dim
            Of the same length, which is checked now, or when a function is called.

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If the lengths are known and differ.

        Examples
        --------
        >>> import dimtensor as dt
        >>> t = dt.Dim("t", coords=[1, 2, 3])
        >>> x = dt.data([1.0, 4.0, 9.0], dims=t)
        >>> step = dt.Dim("step", length=2)
        >>> later, earlier = x[1:].relabel("t", step), x[:-1].relabel("t", step)
        >>> (later - earlier).eval().values.tolist()
        [3.0, 5.0]
        """
        dim = find_dim(self.dims, old, "relabel")
        if not isinstance(new, Dim):
            raise DimError(f"relabel takes a Dim, not {new!r}; rename_dim takes a name")
        if None not in (dim.length, new.length) and dim.length != new.length:
            raise DimError(
                f"relabel: {dim._title} has length {dim.length}, {new._title} has {new.length}",
                [("old", repr(dim)), ("new", repr(new))],
            )
        return renamed(self, {dim: new})

    def expand(self, dims: Dim | Iterable[Dim]) -> DimTensor:
        """Broadcast along dims; dims that the tensor has already are ignored.

        Parameters
        ----------
        dims : Dim or iterable of Dim

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If a dim is no Dim.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.scalar("x").expand(dt.Dim("k", length=2)).sizes
        {'k': 2}
        """
        added = tuple(d for d in canonical_dims(dims, "the dims of expand") if d not in self.dims)
        return wrap(make("expand", (self.node,), added) if added else self.node)

    def broadcast_like(self, other: DimTensor) -> DimTensor:
        """Broadcast along the dims of another tensor.

        Parameters
        ----------
        other : DimTensor

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If two different dims have one name.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k, j = dt.Dim("k", length=2), dt.Dim("j", length=3)
        >>> dt.ones(k).broadcast_like(dt.ones(j)).sizes
        {'j': 3, 'k': 2}
        """
        return self.expand(as_node(other, [self.node], "broadcast_like").dims)

    def squeeze(self, dim: DimKey | None = None) -> DimTensor:
        """Remove dims of length 1.

        Parameters
        ----------
        dim : Dim, str or iterable of them, optional
            By default all dims of known length 1.

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If the length of a named dim is not known, or not 1.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.ones(dt.Dim("k", length=1)).squeeze().dims
        ()
        """
        dims = find_dims(self.dims, dim, "squeeze")
        if dim is None:
            dims = tuple(d for d in dims if d.length == 1)
        for d in dims:
            if d.length != 1:
                raise DimError(f"squeeze: {d._title} has length {d.length}, not 1")
        return self.isel(dict.fromkeys(dims, 0)) if dims else wrap(self.node)  # type: ignore[attr-defined]

    def transpose(self, *dims: DimLike) -> NoReturn:
        """Raise an error: dims have no order.

        Parameters
        ----------
        *dims : Dim or str

        Raises
        ------
        DimError
            Always; ``to_shaped`` takes an order and returns a positional tensor.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.tensor("x", dims=dt.Dim("k", length=2))
        >>> try:
        ...     x.transpose("k")
        ... except dt.DimError as error:
        ...     print(str(error).splitlines()[0])
        dims have no order, so there is nothing to transpose
        """
        raise DimError(
            "dims have no order, so there is nothing to transpose",
            [("dims", dim_set(self.dims))],
            "x.to_shaped([...]) gives a positional tensor in an order; results of functions "
            "are DataArrays, which transpose",
        )

    def ravel(self, dims: DimKey | None = None, name: str | None = None) -> DimTensor:
        """Merge dims into their product.

        Parameters
        ----------
        dims : iterable of Dim or str, optional
            All dims by default.
        name : str, optional
            Name of the ProductDim.

        Returns
        -------
        DimTensor
            On the ProductDim and the dims that are not merged.

        Raises
        ------
        UnknownDimError
            If there is no such dim.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.tensor("x", dims=[dt.Dim("a", length=2), dt.Dim("b", length=3)])
        >>> x.ravel().dims
        (ProductDim({a, b}),)
        >>> x.ravel().unravel() is x
        False
        >>> x.ravel().unravel().sizes
        {'a': 2, 'b': 3}
        """
        found = find_dims(self.dims, dims, "ravel")
        if not found:
            return wrap(self.node)
        product = ProductDim(found, name)
        return wrap(make("merge", (self.node,), product) if len(found) > 1 else self.node)

    def unravel(self, dim: Dim | str | None = None) -> DimTensor:
        """Split a ProductDim into its factors.

        Parameters
        ----------
        dim : Dim or str, optional
            By default the only ProductDim.

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If the dim is no product, or there is not exactly one.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k, j = dt.Dim("k", length=2), dt.Dim("j", length=3)
        >>> dt.ones([k, j]).ravel([k, j]).unravel().sizes
        {'j': 3, 'k': 2}
        """
        if dim is None:
            products = [d for d in self.dims if isinstance(d, ProductDim)]
            if len(products) != 1:
                raise DimError(
                    f"unravel: {len(products)} of the dims {[repr(d) for d in self.dims]} are "
                    "products; name one"
                )
            found: Dim = products[0]
        else:
            found = find_dim(self.dims, dim, "unravel")
        if not isinstance(found, ProductDim):
            raise DimError(f"unravel: {found!r} is not a product of dims")
        return wrap(make("split", (self.node,), found))

    # -- the border --------------------------------------------------------------------------------

    def to_shaped(self, order: Sequence[DimLike] | None = None) -> TensorVariable:
        """Return a positional PyTensor variable, with axes in the given order.

        Parameters
        ----------
        order : sequence of Dim or str
            All dims; optional for at most one dim.

        Returns
        -------
        pytensor.tensor.TensorVariable
            With static lengths where they are known. It depends on the variables of the inputs,
            which ``to_shaped`` of an input returns.

        Raises
        ------
        DimError
            If the order does not name each dim once.

        Examples
        --------
        >>> import dimtensor as dt
        >>> a, b = dt.Dim("a", length=2), dt.Dim("b", length=3)
        >>> dt.tensor("x", dims=[a, b]).to_shaped([b, a]).type.shape
        (3, 2)
        """
        if order is None:
            if len(self.dims) > 1:
                raise DimError(f"to_shaped: give the order of the dims {dim_set(self.dims)}")
            named: Dims = self.dims
        else:
            keys = (
                (order,)
                if isinstance(order, (Dim, str))
                else in_order(order, "the dims of to_shaped")
            )
            named = find_dims(self.dims, keys, "to_shaped")
        lacking = dim_set(d for d in self.dims if d not in named)
        if len(named) < len(self.dims):
            raise DimError(f"to_shaped: the order leaves out {lacking} of {dim_set(self.dims)}")
        return to_shaped(self.node, named)

    def to_xtensor(self) -> XTensorVariable:
        """Return a variable of ``pytensor.xtensor``, for ``pymc.dims``, with the names of the dims.

        Returns
        -------
        pytensor.xtensor.type.XTensorVariable
            With axes in the canonical order of the dims.

        Raises
        ------
        GraphError
            If a look-up of labels is left for the call.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=2)
        >>> x = dt.tensor("x", dims=[k, dt.Dim("a", length=3)]).to_xtensor()
        >>> x.type.dims, x.type.shape
        (('a', 'k'), (3, 2))
        >>> dt.from_shaped(x, dims=[k, dt.Dim("a", length=3)]).sum("a").dims == (k,)
        True
        """
        return to_xtensor(self.node, self.node.dims)


def _renamed_to(dim: Dim, new: Dim | str | None) -> Dim:
    if new is None or isinstance(new, str):
        return RenamedDim(dim, new)
    if not isinstance(new, Dim):
        raise DimError(f"{dim._title} is renamed to a name or a Dim, not to {new!r}")
    if new._unrenamed is dim._unrenamed:
        return new
    mine, theirs = dim_labels(dim), dim_labels(new)
    if mine is not None and theirs is not None and mine.same_labels(theirs):
        return new
    kin = set(dim._bases) & set(new._bases)  # selections of one dim
    both = mine is None and theirs is None and not kin
    if both and dim.length is not None and dim.length == new.length:
        return new
    raise DimError(
        f"rename_dim: {dim._title} and {new._title} are not known to have the same labels",
        [("old", repr(dim)), ("new", repr(new))],
        "relabel(old, new) puts one in the place of the other position by position",
    )
