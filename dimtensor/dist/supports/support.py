"""The interface of supports."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dims
from dimtensor.dist.state import HasState
from dimtensor.errors import ArgumentError, build_message, printable
from dimtensor.spellings.attributes import former_names
from dimtensor.spellings.renamed import METHODS
from dimtensor.tensor.handle import TensorHandle

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

type Bound = float | DimTensor | None


@former_names({"numbered": METHODS["numbered"]})
class Support(HasState, ABC):
    """A set of values, and the transform from unconstrained real numbers to it.

    A support of vectors or matrices is resolved for a tensor first (:meth:`resolve`), which finds
    its dims; the other methods are those of a resolved one. :meth:`contains`, :meth:`constrain` and
    :meth:`unconstrain` build expressions.

    Attributes
    ----------
    discrete : bool
    is_elementwise : bool
        False if elements of a value constrain each other, such as those of a simplex.
    sums_to_one, is_increasing : bool
        True if elements along the event dim sum to 1, or do not decrease.
    dim_arguments : tuple of str
        The dims that calling the support takes: ``("dim",)`` of ``simplex(dim)``.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.tensor("x", dims=dt.Dim("k", length=2))
    >>> simplex = dt.supports.simplex.resolve(x)
    >>> simplex.free_dims(x.dims), simplex.unlabeled_dims(x.dims)
    ((SelDim(k, 0:1),), (SelDim(k, 0:1),))
    >>> dt.positive.contains(dt.data(-1.0)).item()
    False
    >>> y, jacobian = dt.positive.constrain(dt.data(0.0))
    >>> y.item(), jacobian.item(), dt.positive.unconstrain(y).item()
    (1.0, 0.0, 0.0)
    """

    name: str
    discrete = False
    is_elementwise = True
    sums_to_one = False
    is_increasing = False
    dim_arguments: tuple[str, ...] = ()

    @property
    def event_dims(self) -> Dims:
        """Dims along which elements of a value constrain each other, as far as they are known."""
        return ()

    def bounds(self) -> tuple[Bound, Bound]:
        """Return the lower and the upper bound of each element.

        Returns
        -------
        (float, DimTensor or None), (float, DimTensor or None)
            None where there is no bound, and of a support that is not elementwise.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.positive.bounds(), dt.supports.bounded(0, dt.scalar("high")).bounds()[0]
        ((0.0, None), 0.0)
        """
        return None, None

    @property
    def is_bounded(self) -> bool:
        """True if the support has a finite volume, so that a density of 1 has an integral."""
        return all(bound is not None for bound in self.bounds())

    @property
    def is_unconstrained(self) -> bool:
        """True if every real number is in the support: its transform is the identity."""
        return False

    @property
    def tensors(self) -> Sequence[DimTensor]:
        """Tensors that the support depends on, such as bounds."""
        return ()

    def map_tensors(self, f: Callable[[DimTensor], DimTensor]) -> Support:
        """Return the support with each of its :attr:`tensors` replaced.

        Parameters
        ----------
        f : callable
            From a tensor of the support to the one in its place.

        Returns
        -------
        Support
        """
        return self

    def resolve(self, x: DimTensor) -> Support:
        """Return the support for one tensor, with its dims found among those of the tensor.

        Parameters
        ----------
        x : DimTensor

        Returns
        -------
        Support

        Raises
        ------
        DimError
            If a dim is not there, or has to be named.
        """
        return self

    def free_dims(self, dims: Dims) -> Dims:
        """Return the dims of the unconstrained tensor.

        Parameters
        ----------
        dims : tuple of Dim
            Those of the parameter.

        Returns
        -------
        tuple of Dim
        """
        return dims

    def unlabeled_dims(self, dims: Dims) -> Dims:
        """Return the unconstrained dims without one-to-one labels.

        Parameters
        ----------
        dims : tuple of Dim
            Those of the parameter.

        Returns
        -------
        tuple of Dim
        """
        return ()

    @abstractmethod
    def contains(self, y: DimTensor) -> DimTensor:
        """Return whether values lie in the support, its bounds included.

        A support with event dims has one answer for all elements along them.

        Parameters
        ----------
        y : DimTensor

        Returns
        -------
        DimTensor
            Of dtype bool.
        """

    @abstractmethod
    def constrain(self, x: DimTensor) -> tuple[DimTensor, DimTensor | None]:
        """Transform unconstrained numbers to a value in the support.

        Parameters
        ----------
        x : DimTensor
            With the free dims.

        Returns
        -------
        DimTensor, DimTensor or None
            The value, and the log Jacobian as a scalar; None where that is 0.
        """

    @abstractmethod
    def unconstrain(self, y: DimTensor) -> DimTensor:
        """Invert :meth:`constrain`; the result is undefined for values outside of the support.

        Parameters
        ----------
        y : DimTensor

        Returns
        -------
        DimTensor
            With the free dims.
        """

    def __call__(self, *args: Any, **kwargs: Any) -> DimTensor:
        """Raise an error that says how the support is used."""
        name = (
            f"dt.{self.name}" if self.name in ("real", "positive") else f"dt.supports.{self.name}"
        )
        hint = "dt.supports.bounded(low, high) makes the support of numbers between bounds"
        if self.name == "real" and args:
            hint = "the real part of a tensor is x.real"
        text = f"{name} is a support, which takes no arguments: {{x: {name}}}"
        raise ArgumentError(build_message(text, hint=hint))

    @printable
    def __repr__(self) -> str:
        return self.name


def value_between(low: Any, high: Any) -> Any:
    """Return a value between two bounds, each of which may be None."""
    if low is None:
        return 0.0 if high is None else high - 1.0
    return low + 1.0 if high is None else 0.5 * (low + high)


def plain_bound(bound: Any) -> Any:
    """Return a bound, as a float where it is a constant."""
    if isinstance(bound, TensorHandle) and bound.node.kind == "constant":
        return float(bound.node.attrs.value)
    return bound
