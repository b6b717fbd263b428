"""Base class of multivariate distributions, which have event dims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, SelDim, find_dim, refuse_ragged, sort_dims, without
from dimtensor.dist.distribution import Distribution
from dimtensor.dist.joint.shares import Shares, Together
from dimtensor.dist.parameters import as_float, as_number, as_parameter, float_dtype
from dimtensor.dist.supports import Integers, Support
from dimtensor.errors import DimError, DtypeError, LabelError, build_message
from dimtensor.graph import make
from dimtensor.graph.dtypes import is_integer
from dimtensor.tensor.constructors import length
from dimtensor.tensor.elementwise import maximum
from dimtensor.tensor.handle import TensorHandle, as_node, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


class VectorDistribution(Distribution, state=("_parameters", "_together", "_support")):
    """Base class of distributions with event dims, and of those with categorical outcomes.

    Parameters
    ----------
    name : str
    parameters : dict
        Values with the name of their range.
    event : tuple of Dim
    support : Support
    hidden : tuple of Dim
        Dims of parameters that draws do not have.
    shared : dict of str to tuple of Dim
        Parameters that all elements of an event have in common, with the dims of the event that
        they have none the less: those of a matrix.
    shares : dict of str to (Dim, Dim or None)
        Parameters that are probabilities: the dim along which their sum is 1, and one at whose
        first position they mean nothing.

    Raises
    ------
    DimError
        If such a parameter has another dim of the event: the density would be counted along it.
    RaggedDimError
        If a dim along which probabilities sum to 1 is ragged.
    """

    def __init__(
        self,
        name: str,
        parameters: Mapping[str, tuple[Any, str]],
        event: Dims,
        support: Support,
        hidden: Dims = (),
        shared: Mapping[str, Dims] | None = None,
        shares: Mapping[str, tuple[Dim, Dim | None]] | None = None,
    ):
        self.name = name
        self._parameters = {
            key: as_parameter(value, allowed, f"{key} of {name}")
            for key, (value, allowed) in parameters.items()
            if value is not None
        }
        self.event_dims = sort_dims(event)
        for key, own in (shared or {}).items():
            if key in self._parameters:
                check_shared(f"{key} of {name}", self._parameters[key], without(event, own))
        for dim, _ in (shares or {}).values():
            refuse_ragged(dim, name)
        self._together: dict[str, Together] = {
            key: Shares(self._parameters[key], dim, f"{key} of {name}", unused)
            for key, (dim, unused) in (shares or {}).items()
            if key in self._parameters
        }
        self._support = support
        self.discrete = support.discrete
        self._hidden_dims = hidden
        self._check_dims()

    def _with(self, x: Any) -> tuple[DimTensor, dict[str, DimTensor]]:
        """Convert a value and the parameters to one dtype, and check that it has all event dims."""
        node = as_number(x, self._tensor_nodes, f"a value of {self.name}")
        missing = [dim for dim in self.event_dims if dim not in node.dims]
        if missing:
            raise DimError(
                build_message(
                    f"a value of {self.name} lacks event dims",
                    [
                        ("lacks", ", ".join(dim._short for dim in missing)),
                        ("dims", ", ".join(dim._short for dim in node.dims) or "none"),
                    ],
                )
            )
        dtype = float_dtype([node, *self._tensor_nodes])
        return as_float(node, dtype), self._values_of(dtype)

    @property
    def _values(self) -> dict[str, DimTensor]:
        return self._values_of(float_dtype(self._tensor_nodes))

    def _values_of(self, dtype: str) -> dict[str, DimTensor]:
        """Return the parameters in a dtype, with checks of probabilities."""
        p = {key: as_float(value.node, dtype) for key, value in self._parameters.items()}
        return {**p, **{key: one.checked(p[key]) for key, one in self._together.items()}}


def check_shared(what: str, parameter: DimTensor, event: Dims) -> None:
    """Check that a parameter has no event dims.

    Raises
    ------
    DimError
        If it has.
    """
    found = [dim for dim in event if dim in parameter.dims]
    if found:
        raise DimError(
            build_message(
                f"{what} may not differ along {', '.join(dim._short for dim in found)}: one "
                "value holds for all elements of an event",
                [("dims", ", ".join(dim._short for dim in parameter.dims))],
            )
        )


def the_dim_of(value: Any, dim: Dim | str, name: str) -> Dim:
    """Find the event dim of a parameter.

    Raises
    ------
    DimError
        If it is not there.
    ArgumentError
        If the value is no tensor.
    """
    if not isinstance(value, TensorHandle):
        value = wrap(as_node(value, what=name))
    return find_dim(value.dims, dim, name)


def as_positions(x: Any, dim: Dim, name: str) -> DimTensor:
    """Convert labels of a dim, or positions along it, to integers.

    Raises
    ------
    LabelError
        If they are labels of another dim.
    DtypeError
        If they are no integers.
    """
    if isinstance(x, str):
        return wrap(as_node(dim.position(x)))
    node = as_node(x, what=f"a value of {name}")
    if node.categories is not None:
        if node.categories != dim:
            raise LabelError(
                build_message(
                    f"a value of {name} is of labels of another dim",
                    [("labels of", repr(node.categories)), ("outcomes", repr(dim))],
                )
            )
        return wrap(node).codes
    if not is_integer(node.dtype):
        raise DtypeError(
            build_message(
                f"a value of {name} is of labels or positions along {dim._title}, not of "
                f"{node.dtype}",
                hint="dt.data(values, dims=..., categories=dim) holds labels",
            )
        )
    return wrap(node)


def as_labels(positions: DimTensor, dim: Dim) -> DimTensor:
    """Convert positions along a dim to its labels."""
    return wrap(make("codes", (positions.astype("int64").node,), dim))


def positions_support(dim: Dim) -> Support:
    """Return the support of positions along a dim."""
    return Integers(0, None if dim.length is None else dim.length - 1)


def drawn_position(weights: DimTensor, dim: Dim, u: DimTensor) -> DimTensor:
    """Draw a position by inverting the cumulative weights at a uniform number."""
    before = weights.cumsum(dim) - weights
    return maximum((before <= u).sum(dim) - 1, 0)


def count_of(dims: Dims) -> Any:
    """Return the number of elements along dims, as a float; of each parent along a ragged dim."""
    total: Any = 1.0
    for dim in dims:
        n = None if dim._within is not None else dim.length
        total = total * (length(dim) if n is None else float(n))
    return total


def first_of(x: DimTensor, dim: Dim) -> DimTensor:
    """Return the element at the first position of a dim; 0 if the dim is empty."""
    return sum_over_first(x, dim, lambda first: first)


def sum_over_first(x: DimTensor, dim: Dim, of: Callable[[DimTensor], DimTensor]) -> DimTensor:
    """Apply a function to the element at the first position of a dim; 0 if the dim is empty."""
    if dim.length:
        return of(x.isel({dim: 0}))
    first = x.isel({dim: slice(None, 1)})
    found = of(first)
    own = [d for d in without(first.dims, x.dims) or (dim,) if d in found.dims]
    return found.sum(own) if own else found


def later_than(x: DimTensor, dim: Dim, lag: int, by: int = 0) -> DimTensor:
    """Return elements from a position on, shifted by `by` positions, on one dim."""
    stop = None if by == 0 else -by
    taken = x.isel({dim: slice(lag - by, stop)})
    if by == 0:
        return taken
    own = SelDim(dim, positions=slice(lag - by, stop))
    return taken.relabel(own, SelDim(dim, positions=slice(lag, None)))
