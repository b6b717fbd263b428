"""Covariance functions as values: kernels of Gaussian processes, their sums and products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, RaggedDim, without
from dimtensor.dist.parameters import as_parameter
from dimtensor.dist.state import HasState
from dimtensor.errors import ArgumentError, DimError, OptionError, listing, printable
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.elementwise import equal, where
from dimtensor.tensor.handle import TensorHandle, as_node, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class CovarianceFunction(HasState):
    """Covariance function of two points, which Gaussian processes take.

    Kernels are added and multiplied, with each other and with numbers or tensors, which scale the
    variance: ``2.0**2 * SquaredExponential(3.0) + White(0.1)``. Called with points along two dims
    a kernel returns the covariances over both. Points of several numbers have further dims, which
    both points share: distances are sums over these.

    Examples
    --------
    >>> import dimtensor as dt
    >>> kernel = 4.0 * dt.gp.Matern32(2.0) + dt.gp.White(0.1)
    >>> kernel
    4.0 * Matern32(lengthscale=2.0) + White(variance=0.1)
    >>> t = dt.Dim("t", coords=[0.0, 1.0, 5.0])
    >>> x = dt.gp.points(t)
    >>> kernel(x, x.relabel(t, t.rename())).eval().values[0].round(3).tolist()
    [4.1, 3.14, 0.281]
    """

    def _state(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def __call__(self, x: TensorLike, y: TensorLike) -> DimTensor:
        one, other = (z if isinstance(z, TensorHandle) else wrap(as_node(z)) for z in (x, y))
        return self._of(one, other)

    def _of(self, x: Any, y: Any) -> Any:
        """Return the covariances of points."""
        raise NotImplementedError

    def _parts(self) -> tuple[CovarianceFunction, ...]:
        """Return the kernels that this one is made of."""
        return ()

    def _durations(self) -> list[Any]:
        """Return the parameters that are durations."""
        return [each for part in self._parts() for each in part._durations()]

    def _check_on(self, dim: Dim) -> None:
        """Refuse kernels on another dim.

        Raises
        ------
        DimError
        """
        for part in self._parts():
            part._check_on(dim)

    def __add__(self, other: CovarianceFunction) -> CovarianceFunction:
        if not isinstance(other, CovarianceFunction):
            return NotImplemented
        return SumOfKernels(self, other)

    def __radd__(self, other: Any) -> CovarianceFunction:
        # Python's sum() starts from 0
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __mul__(self, other: Any) -> CovarianceFunction:
        return (
            ProductOfKernels(self, other)
            if isinstance(other, CovarianceFunction)
            else ScaledKernel(other, self)
        )

    def __rmul__(self, other: Any) -> CovarianceFunction:
        return ScaledKernel(other, self)

    __array_ufunc__ = None  # numbers of NumPy multiply as others do

    def sel(self, labels: Mapping[Any, Any] | None = None, **by_name: Any) -> CovarianceFunction:
        """Make the kernel of a part of each point, such as one of its numbers.

        Parameters
        ----------
        labels : mapping of Dim or str to label, optional
        **by_name
            The same, by the name of the dim.

        Returns
        -------
        CovarianceFunction

        Examples
        --------
        >>> import dimtensor as dt
        >>> feature = dt.Dim("feature", coords=["time", "depth"])
        >>> dt.gp.Periodic(1.0, period=12.0).sel(feature="time") * dt.gp.Matern52(3.0).sel(
        ...     feature="depth"
        ... )
        Periodic(lengthscale=1.0, period=12.0).sel(feature='time') * \
Matern52(lengthscale=3.0).sel(feature='depth')
        """
        chosen = {**(labels or {}), **by_name}
        text = ", ".join(f"{getattr(k, 'name', k)}={v!r}" for k, v in chosen.items())
        return WarpedKernel(self, lambda x: x.sel(labels, **by_name), f".sel({text})")

    def warp(self, function: Callable[[DimTensor], DimTensor]) -> CovarianceFunction:
        """Make the kernel of a function of the points.

        Parameters
        ----------
        function : callable
            Takes points and returns other points along the same dim, such as ``dt.log``.

        Returns
        -------
        CovarianceFunction

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.gp.Matern32(0.5).warp(dt.log)
        Matern32(lengthscale=0.5).warp(log)
        """
        return WarpedKernel(self, function, f".warp({getattr(function, '__name__', function)})")

    def on(self, dim: Dim) -> CovarianceFunction:
        """Make the kernel of the points along one dim of a process over several.

        Parameters
        ----------
        dim : Dim

        Returns
        -------
        CovarianceFunction

        Raises
        ------
        DimError
            If it is no dim.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> site, year = dt.Dim("site", coords=[0.0, 1.0]), dt.Dim("year", coords=[2020, 2021])
        >>> kernel = dt.gp.Matern52(2.0).on(site) * dt.gp.Matern12(5.0).on(year)
        >>> dist.GP(kernel, [site, year]).dims
        (Dim('site', [0.0, 1.0]), Dim('year', [2020, 2021]))
        """
        if not isinstance(dim, Dim):
            raise DimError(f"a kernel is on a Dim, not {dim!r}")
        return KernelOn(self, dim)


# -- combinations ----------------------------------------------------------------------------------


class SumOfKernels(CovarianceFunction):
    """Sum of two kernels: of the sum of two independent processes."""

    def __init__(self, one: CovarianceFunction, other: CovarianceFunction):
        self.parts = (one, other)

    def _of(self, x: Any, y: Any) -> Any:
        return self.parts[0]._of(x, y) + self.parts[1]._of(x, y)

    def _parts(self) -> tuple[CovarianceFunction, ...]:
        return self.parts

    @printable
    def __repr__(self) -> str:
        return " + ".join(map(repr, self.parts))


class ProductOfKernels(SumOfKernels):
    """Product of two kernels: points are correlated if they are by both."""

    def _of(self, x: Any, y: Any) -> Any:
        return self.parts[0]._of(x, y) * self.parts[1]._of(x, y)

    @printable
    def __repr__(self) -> str:
        return " * ".join(f"({x!r})" if type(x) is SumOfKernels else repr(x) for x in self.parts)


class ScaledKernel(CovarianceFunction):
    """Kernel with its variance multiplied by a number or tensor."""

    def __init__(self, variance: TensorLike, kernel: CovarianceFunction):
        self.variance = as_parameter(variance, "not negative", "factor of a kernel")
        self.kernel = kernel
        self._text = text_of(variance)

    def _of(self, x: Any, y: Any) -> Any:
        return self.variance * self.kernel._of(x, y)

    def _parts(self) -> tuple[CovarianceFunction, ...]:
        return (self.kernel,)

    @printable
    def __repr__(self) -> str:
        inner = repr(self.kernel)
        return f"{self._text} * " + (f"({inner})" if type(self.kernel) is SumOfKernels else inner)


class WarpedKernel(CovarianceFunction):
    """Kernel of a function of the points."""

    def __init__(self, kernel: CovarianceFunction, function: Callable[[Any], Any], text: str):
        self.kernel = kernel
        self.function = function
        self._text = text

    def _of(self, x: Any, y: Any) -> Any:
        return self.kernel._of(self.function(x), self.function(y))

    def _parts(self) -> tuple[CovarianceFunction, ...]:
        return (self.kernel,)

    @printable
    def __repr__(self) -> str:
        inner = repr(self.kernel)
        return (
            f"({inner})" if isinstance(self.kernel, (SumOfKernels, ScaledKernel)) else inner
        ) + self._text


class KernelOn(CovarianceFunction):
    """Kernel of the points along one of the dims of a process."""

    def __init__(self, kernel: CovarianceFunction, dim: Dim):
        self.kernel = kernel
        self.dim = dim

    def _of(self, x: Any, y: Any) -> Any:
        return self.kernel._of(x, y)

    def _parts(self) -> tuple[CovarianceFunction, ...]:
        return (self.kernel,)

    def _check_on(self, dim: Dim) -> None:
        if self.dim is not dim:
            raise on_none(self, (dim,))

    @printable
    def __repr__(self) -> str:
        inner = repr(self.kernel)
        whole = type(self.kernel) in (SumOfKernels, ProductOfKernels, ScaledKernel)
        return (f"({inner})" if whole else inner) + f".on({self.dim._short})"


# -- of other functions of the points --------------------------------------------------------------


class Linear(CovarianceFunction):
    """Linear kernel: of linear functions of the points.

    The covariance is the scalar product of the points' distances from `center`
    (Rasmussen and Williams 2006, section 4.2.2).

    Parameters
    ----------
    center : TensorLike
        Where the functions are zero.

    Examples
    --------
    >>> import dimtensor as dt
    >>> float(dt.gp.Linear(1.0)(3.0, 4.0).eval())
    6.0
    """

    def __init__(self, center: TensorLike = 0.0):
        self.center: Any = center

    def _of(self, x: Any, y: Any) -> Any:
        return over_features((x - self.center) * (y - self.center), x, y)

    @printable
    def __repr__(self) -> str:
        return f"Linear(center={text_of(self.center)})"


def Polynomial(
    power: int, offset: TensorLike = 1.0, center: TensorLike = 0.0
) -> CovarianceFunction:
    """Make a polynomial kernel: of polynomials of the points.

    The covariance is a power of `offset` plus the scalar product of the points' distances from
    `center` (Rasmussen and Williams 2006, section 4.2.2).

    Parameters
    ----------
    power : int
    offset : TensorLike
        Not negative.
    center : TensorLike

    Returns
    -------
    CovarianceFunction

    Raises
    ------
    OptionError
        If the power is not a positive integer, or the offset is negative.

    Examples
    --------
    >>> import dimtensor as dt
    >>> float(dt.gp.Polynomial(2, offset=1.0)(3.0, 2.0).eval())
    49.0
    """
    if isinstance(power, bool) or not isinstance(power, int) or power < 1:
        raise OptionError(f"Polynomial: the power is a positive integer, not {power!r}")
    return PowerOfKernel(Linear(center), power, offset, center)


class PowerOfKernel(CovarianceFunction):
    """Power of a linear kernel and an offset."""

    def __init__(self, kernel: Linear, power: int, offset: TensorLike, center: TensorLike):
        self.kernel = kernel
        self.power = power
        self.offset = as_parameter(offset, "not negative", "offset of Polynomial")
        self._text = f"{power}, offset={text_of(offset)}, center={text_of(center)}"

    def _of(self, x: Any, y: Any) -> Any:
        return (self.kernel._of(x, y) + self.offset) ** self.power

    @printable
    def __repr__(self) -> str:
        return f"Polynomial({self._text})"


class White(CovarianceFunction):
    """White noise: an independent variance of each point.

    Parameters
    ----------
    variance : TensorLike

    Raises
    ------
    OptionError
        If it is negative.

    Examples
    --------
    >>> import dimtensor as dt
    >>> t = dt.Dim("t", coords=[0.0, 1.0])
    >>> x = dt.gp.points(t)
    >>> dt.gp.White(0.5)(x, x.relabel(t, t.rename())).eval().values.tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """

    def __init__(self, variance: TensorLike = 1.0):
        self.variance = as_parameter(variance, "not negative", "variance of White")
        self._text = text_of(variance)

    def _of(self, x: Any, y: Any) -> Any:
        row, col = without(x.dims, y.dims), without(y.dims, x.dims)
        if len(row) != 1 or len(col) != 1:
            raise DimError(
                f"White: points are along one dim each, not {listing([d._short for d in row])} "
                f"and {listing([d._short for d in col])}"
            )
        one, other = places_along(row[0]), places_along(col[0])
        if unrenamed(row[0]) is not unrenamed(col[0]):
            return 0.0 * one * other  # points of other sets
        return where(equal(one, other), self.variance, 0.0)

    @printable
    def __repr__(self) -> str:
        return f"White(variance={self._text})"


class Coregion(CovarianceFunction):
    """Kernel of labels: their covariances are given.

    Parameters
    ----------
    covariance : DimTensor
        Over the dim of the labels and the same one renamed, positive definite.

    Raises
    ------
    DimError
        If it has other dims.
    ArgumentError
        If it is no tensor.

    Examples
    --------
    >>> import dimtensor as dt
    >>> kind = dt.Dim("kind", coords=["a", "b"])
    >>> covariance = dt.data([[1.0, 0.3], [0.3, 2.0]], dims=[kind, kind.rename()])
    >>> t = dt.Dim("t", length=3)
    >>> kinds = dt.data(["a", "b", "a"], dims=t, categories=kind)
    >>> kernel = dt.gp.Coregion(covariance)
    >>> kernel(kinds, kinds.relabel(t, t.rename())).eval().values.tolist()
    [[1.0, 0.3, 1.0], [0.3, 2.0, 0.3], [1.0, 0.3, 1.0]]
    """

    def __init__(self, covariance: TensorLike):
        from dimtensor.tensor.linalg.matrices import matrix

        if not isinstance(covariance, TensorHandle):
            raise ArgumentError(f"Coregion: the covariance is a tensor, not {covariance!r}")
        self.covariance: Any = covariance
        _, self.row, self.col = matrix(covariance, None, "Coregion")

    def _of(self, x: Any, y: Any) -> Any:
        return self.covariance.isel({self.row: x.codes, self.col: y.codes})

    @printable
    def __repr__(self) -> str:
        return f"Coregion(covariance over {self.row._short})"


def on_none(kernel: CovarianceFunction, dims: Dims) -> DimError:
    """Return the error of a kernel that is on none of the dims of a process."""
    names = [dim._short for dim in dims]
    return DimError(
        f"GP: {kernel!r} is on none of the dims of the process",
        [("dims", ", ".join(names))],
        f"name the dim of each kernel: dt.gp.Matern52(1.0).on({names[0]})",
    )


def unrenamed(dim: Dim) -> Dim:
    """Return the dim of a renamed one; of all positions of a ragged dim, that dim."""
    return dim._unrenamed._unrenamed


def places_along(dim: Dim) -> Any:
    """Return the number of each point among all of them, also along a ragged dim."""
    if not isinstance(dim, RaggedDim):
        return arange(dim)
    return arange(dim.flat).relabel(dim.flat, dim)


def over_features(z: Any, x: Any, y: Any) -> Any:
    """Sum over the dims that both points have: the numbers that a point consists of."""
    shared = [dim for dim in x.dims if dim in y.dims]
    return z.sum(shared) if shared else z


def text_of(x: Any) -> str:
    """Return the text of a parameter in the repr of a kernel."""
    return (x.name or "…") if isinstance(x, TensorHandle) else repr(x)
