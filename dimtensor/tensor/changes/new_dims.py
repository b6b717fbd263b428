"""``expand_dims`` and ``swap_dims`` as in xarray."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, dim_set, find_dim
from dimtensor.errors import DimError, plain_repr
from dimtensor.tensor.handle import TensorHandle, wrap
from dimtensor.tensor.selection.indexing import gathered

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import DimLike


class NewDimsMixin(TensorHandle):
    """Methods that make dims of lengths and labels."""

    __slots__ = ()

    def expand_dims(
        self, dim: DimLike | Iterable[DimLike] | Mapping[Any, Any] | None = None, **by_name: Any
    ) -> DimTensor:
        """Broadcast along new dims, as in xarray.

        Parameters
        ----------
        dim : str, Dim, iterable of them, or dict, optional
            Dims, or names of dims of length 1. A dict has lengths or labels by name.
        **by_name : int or labels
            The same by keyword.

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If the tensor has a dim of that name.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.scalar("x").expand_dims("draw")
        >>> x.expand_dims(chain=[0, 1], obs=3).sizes
        {'chain': 2, 'draw': 1, 'obs': 3}
        """
        given = {dim: 1} if isinstance(dim, (str, Dim)) else dim if dim is not None else {}
        if isinstance(given, TensorHandle) or not isinstance(given, Iterable):
            raise DimError(f"expand_dims takes new dims, not {type(given).__name__}",
                           hint='x.expand_dims("draw", chain=2)')  # fmt: skip
        wanted = {**(given if isinstance(given, Mapping) else dict.fromkeys(given, 1)), **by_name}
        added = [key if isinstance(key, Dim) else _new_dim(key, of) for key, of in wanted.items()]
        for new in added:
            for own in self.dims:
                if new is own or (new.name is not None and new.name == own.name):
                    raise DimError(
                        f"expand_dims: the tensor has {own._title} already",
                        [("dims", dim_set(self.dims))],
                    )
        return wrap(self.node).expand(added)

    def swap_dims(
        self, dims_dict: Mapping[Any, Any] | None = None, **by_name: DimLike
    ) -> DimTensor:
        """Replace dims by others of the same lengths, position by position, as in xarray.

        Parameters
        ----------
        dims_dict : dict, optional
            New dims by old ones. A new one is a dim; a tensor of known values along the old dim,
            which are the labels of a dim of its name; or the name of a dim without labels.
        **by_name : Dim, DimTensor or str
            The same by keyword.

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If a dim is not there, or lengths differ or are not known.
        LabelError
            If labels occur twice.

        Examples
        --------
        >>> import dimtensor as dt
        >>> t = dt.Dim("t", length=3)
        >>> year = dt.data([2019, 2020, 2021], dims=t, name="year")
        >>> dt.data([1.0, 2.0, 4.0], dims=t).swap_dims(t=year).sel(year=2020).item()
        2.0
        """
        given = gathered(dims_dict, by_name, self.dims, "swap_dims", "dims")
        swapped = {find_dim(self.dims, old, "swap_dims"): new
                   for old, new in given.items()}  # fmt: skip
        found = wrap(self.node)
        for old, new in swapped.items():
            found = found.relabel(old, _swapped(old, new))
        return found


def _new_dim(name: str, of: Any) -> Dim:
    """Make a dim of a length or of labels."""
    if isinstance(of, int) and not isinstance(of, bool):
        return Dim(name, length=of)
    return Dim(name, coords=of)


def _swapped(old: Dim, new: Any) -> Dim:
    """Make the dim that replaces another one."""
    if isinstance(new, Dim):
        return new
    if isinstance(new, str) and old.length is not None:
        return Dim(new, length=old.length)
    if isinstance(new, TensorHandle) and new.dims == (old,) and new.name is not None:
        return Dim(new.name, coords=wrap(new.node).values)
    raise DimError(
        f"swap_dims: nothing tells what comes into the place of {old._title}",
        [("old", repr(old)), ("new", plain_repr(new))],
        "a Dim; a tensor along the old dim that has a name and known values; a name, if the "
        "length is known",
    )
