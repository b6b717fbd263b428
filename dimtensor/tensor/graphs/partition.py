"""``dt.partition``: how an expression is put together from values for slices of a dim."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from dimtensor.compile.obstacles import refusal
from dimtensor.dims import Dim
from dimtensor.errors import (
    ArgumentError,
    OptionError,
    UnknownDimError,
    did_you_mean,
    printable,
)
from dimtensor.graph import Node
from dimtensor.graph.partition.analysis import Combined, Split, split
from dimtensor.graph.partition.slices import WholeInputs, framed, sliced
from dimtensor.graph.walk import toposort
from dimtensor.tensor.handle import as_node, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


class Partition:
    """An expression, split into the share of each slice of a dim; made by :func:`partition`.

    Attributes
    ----------
    dim : Dim
    operation : str or None
        How the whole is made of the values of `part` for slices that make up the dim, in order:
        ``"add"``, ``"multiply"``, ``"maximum"``, ``"minimum"``, ``"logical_and"``,
        ``"logical_or"``, ``"logaddexp"``, or ``"concat"`` for an expression that has the dim. None
        if it does not depend on the dim.
    part : DimTensor or None
        The share of a slice: the expression without `rest`, computed from the positions it is
        given. None if the expression does not depend on the dim.
    rest : DimTensor or None
        For ``"add"`` what is counted once, without the dim; None if there is none. If the
        expression does not depend on the dim, the expression.
    combining : tuple of DimTensor
        The expressions that combine positions: sums, products of matrices, sums by group.

    Notes
    -----
    A mean divides by the length of the whole. Where it is not known when the expression is built,
    `length` is an input of `part` and `rest`, named ``"<dim>_length"``. If positions along the dim
    are used, `start` is an input of `part`, named ``"<dim>_start"``.

    Examples
    --------
    >>> import dimtensor as dt
    >>> obs = dt.Dim("obs")
    >>> x, mu = dt.tensor("x", dims=obs), dt.scalar("mu")
    >>> found = dt.partition(mu**2 - ((x - mu) ** 2).sum(), obs)
    >>> found
    <Partition along 'obs' by add: rest + part>
    >>> f = dt.function([x, mu], found.part, backend="python")
    >>> float(found.rest.eval({"mu": 2.0}) + f([1.0, 4.0], 2.0) + f([5.0], 2.0))
    -10.0
    """

    def __init__(self, found: Split, x: Node):
        self.dim = found.dim
        self._split = found
        self.operation: str | None = None
        part: Node | None = None
        rest: Node | None = x
        if isinstance(found.role, Combined):
            self.operation, part, rest = found.role.operation, found.role.part, found.role.rest
        elif found.role is not None:
            self.operation, part, rest = "concat", x, None
        given = [each for each in (part, rest) if each is not None]
        nodes, self._frame = (given, WholeInputs(None, None))
        if part is not None:
            nodes, self._frame = framed(given, found)
        changed = {old: wrap(new) for old, new in zip(given, nodes, strict=True)}
        self.part: DimTensor | None = None if part is None else changed[part]
        self.rest: DimTensor | None = None if rest is None else changed[rest]
        self.combining: tuple[DimTensor, ...] = tuple(map(wrap, found.combining))

    @property
    def length(self) -> DimTensor | None:
        """Input for the length of the whole dim, if it is needed and not known."""
        return None if self._frame.length is None else wrap(self._frame.length)

    @property
    def start(self) -> DimTensor | None:
        """Input for the first position of the slice, if positions along the dim are used."""
        return None if self._frame.start is None else wrap(self._frame.start)

    def over(self, start: int | None = None, stop: int | None = None) -> DimTensor:
        """Return the share of a slice as an expression of the inputs and data of the whole.

        Parameters
        ----------
        start, stop : int, optional
            Positions, as in ``isel``: by default from the first, to the last.

        Returns
        -------
        DimTensor
            `part` with all inputs and data along the dim restricted to the slice. If the expression
            has the dim, the result has the dim of the slice.

        Raises
        ------
        OptionError
            If the expression does not depend on the dim, or a position is negative.

        Examples
        --------
        >>> import dimtensor as dt
        >>> obs = dt.Dim("obs", length=5)
        >>> x = dt.data([1.0, 2.0, 3.0, 4.0, 5.0], dims=obs)
        >>> found = dt.partition(x.mean(), obs)
        >>> [float(found.over(*ends).eval()) for ends in [(0, 2), (2, 5)]]
        [0.6, 2.4]
        """
        if self.part is None:
            raise OptionError(f"the expression does not depend on {self.dim._title}")
        ends = [None if end is None else operator.index(end) for end in (start, stop)]
        for end in ends:
            if end is not None and end < 0:
                raise OptionError(f"a slice of {self.dim._title} starts and stops at 0 or above")
        return wrap(sliced(self.part.node, self._split, self._frame, *ends))

    @printable
    def __repr__(self) -> str:
        along = f"<Partition along {self.dim._short!r}"
        if self.operation is None:
            return f"{along}: independent>"
        return f"{along} by {self.operation}: {'rest + ' * (self.rest is not None)}part>"


def partition(x: DimTensor, dim: Dim | str) -> Partition:
    """Split an expression into shares of the slices of a dim.

    Threads, streams of chunks and devices compute the shares of slices separately. Whether this is
    possible is a property of the expression: it may use the dim position by position, and combine
    positions at last, by a sum, a product of matrices, a sum by group, or another reduction. Linear
    operations may follow a sum.

    Parameters
    ----------
    x : DimTensor
    dim : Dim or str
        The dim, or its name. Dims derived from it (selected by a mask, renamed, products with
        others) are cut with it.

    Returns
    -------
    Partition
        The share of a slice, what is counted once, and the operation that combines them.

    Raises
    ------
    PartitionError
        If positions are mixed in another way. Its `node` and `line` are the expression that does,
        and `is_scan` tells whether it proceeds along the dim, as a running sum does.
    UnknownDimError
        If no part of the expression has a dim of this name.
    ArgumentError
        If `dim` is something else.

    Notes
    -----
    Equality of the whole and its parts is that of real numbers: sums of floating-point numbers
    depend on the slices in their last bits.

    Examples
    --------
    >>> import dimtensor as dt
    >>> obs = dt.Dim("obs")
    >>> x = dt.tensor("x", dims=obs)
    >>> found = dt.partition(dt.exp(x).sum() * 2, "obs")
    >>> found.operation, found.part is dt.exp(x).sum() * 2, found.rest
    ('add', True, None)
    >>> dt.partition(x.max(), obs).operation, dt.partition(x + 1, obs).operation
    ('maximum', 'concat')
    """
    node = as_node(x)
    return Partition(checked_split(node, dim), node)


def checked_split(x: Node, dim: Dim | str) -> Split:
    """Analyze how an expression depends on a dim.

    Raises
    ------
    PartitionError
        If it mixes positions.
    UnknownDimError, ArgumentError
        If there is no such dim.
    """
    found = split(x, _dim_of(x, dim))
    if found.obstacle is not None:
        raise refusal(found)
    return found


def _dim_of(node: Node, dim: Any) -> Dim:
    if isinstance(dim, Dim):
        return dim
    if not isinstance(dim, str):
        raise ArgumentError(f"partition takes a dim or its name, not {type(dim).__name__}")
    dims = dict.fromkeys(one for each in toposort([node]) for one in each.dims)
    named = [one for one in dims if one.name == dim]
    # of a dim and its selections the dim
    roots = [one for one in named if not any(parent in named for parent in one.parents)]
    if len(roots) != 1:
        names = [*dict.fromkeys(one._short for one in dims)]
        found = "several dims are" if roots else "no dim is"
        raise UnknownDimError(
            f"partition: {found} named {dim!r}{did_you_mean(dim, names)}",
            [("dims", ", ".join(names) or "none")],
        )
    return roots[0]
