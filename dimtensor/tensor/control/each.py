"""``map`` and ``filter`` along a dim."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, dim_set
from dimtensor.errors import DimError
from dimtensor.spellings import spelled
from dimtensor.tensor.control.pytree import flatten, unflatten
from dimtensor.tensor.control.scans import along_dim, run_scan, written
from dimtensor.tensor.handle import as_node, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


@spelled("function")
def map[X, Y](
    function: Callable[[X], Y],
    xs: X = None,  # type: ignore[assignment]  # a function may use the position alone
    dim: Dim | str | None = None,
) -> Y:
    """Apply a function to the elements of sequences at each position of a dim.

    Parameters
    ----------
    function : callable
        Takes the elements of `xs` at one position, which lack the dim.
    xs : tree of tensors
        Sequences, all with the dim.
    dim : Dim or str

    Returns
    -------
    tree of DimTensor
        Results of the function, with the dim.

    Notes
    -----
    Functions of tensors are batched over other dims anyway. A map is for functions that use the
    name of the dim for something else, and for those with intermediate results too large to be held
    for all positions at once.

    Examples
    --------
    >>> import dimtensor as dt
    >>> time = dt.Dim("time", length=3)
    >>> x = dt.data([1.0, 2.0, 3.0], dims=time)
    >>> dt.map(lambda x: x**2, x, dim=time).eval().values.tolist()
    [1.0, 4.0, 9.0]
    """

    def stateless(state: None, x: Any) -> tuple[None, Any]:
        return None, function(x)

    return written("map", run_scan("dt.map", stateless, None, xs, dim, False)[1], xs, dim)


@spelled("function")
def filter[X](predicate: Callable[[X], DimTensor], xs: X, dim: Dim | str | None = None) -> X:
    """Select the elements of sequences for which a predicate holds.

    Parameters
    ----------
    predicate : callable
        Takes the sequences, and returns one bool for each position of the dim. It is called once.
    xs : tree of tensors
        Sequences, all with the dim.
    dim : Dim or str

    Returns
    -------
    tree of DimTensor
        Along a dim of the selected positions, whose length is known at run time.

    Raises
    ------
    DimError
        If the predicate has other dims than `dim`.

    Examples
    --------
    >>> import dimtensor as dt
    >>> time = dt.Dim("time", coords=[2001, 2002, 2003])
    >>> x = dt.data([1.0, -2.0, 3.0], dims=time)
    >>> kept = dt.filter(lambda x: x > 0, x, dim=time).eval()
    >>> kept.values.tolist(), kept.time.values.tolist()
    ([1.0, 3.0], [2001, 2003])
    """
    along, sequences, fill = along_dim("dt.filter", xs, dim)
    given = fill(sequences)
    mask = wrap(as_node(predicate(given), what="dt.filter: the predicate"))
    if mask.dims != (along,) or mask.dtype != "bool":
        raise DimError(
            "dt.filter: the predicate gives one bool for each position",
            [
                ("expected", f"{dim_set([along])} bool"),
                ("it gives", f"{dim_set(mask.dims)} {mask.dtype}"),
            ],
            "reduce it over other dims with .all() or .any()",
        )
    leaves, tree = flatten(given)
    return unflatten(tree, [x.isel({along: mask}) for x in leaves])
