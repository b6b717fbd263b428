"""Gaussian processes: functions whose values at some points are a normal vector."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, ProductDim, RaggedDim, sort_dims
from dimtensor.dist.distribution import Distribution
from dimtensor.dist.joint.gaussian import MvNormal
from dimtensor.dist.parameters import as_parameter
from dimtensor.dist.processes.approximation import ProcessApproximation
from dimtensor.dist.processes.conditional import GaussianProcess, ProcessSource, with_diagonal
from dimtensor.dist.processes.kernels import CovarianceFunction
from dimtensor.dist.processes.over_dims import over_dims
from dimtensor.dist.processes.per_parent import process_per_parent
from dimtensor.dist.processes.points import points_of
from dimtensor.dist.processes.series import series_dim
from dimtensor.errors import ArgumentError, DimError, OptionError, RaggedDimError, listing
from dimtensor.tensor.elementwise import square
from dimtensor.tensor.handle import TensorHandle, as_node, wrap
from dimtensor.tensor.linalg.matrices import matrix

if TYPE_CHECKING:
    from dimtensor.typing import TensorLike

_JITTER = 1e-6  # added to variances where there is no noise


def GP(
    kernel: Any,
    dim: Dim | Iterable[Dim],
    *,
    at: TensorLike | Mapping[Dim, TensorLike] | None = None,
    mean: TensorLike = 0.0,
    noise: TensorLike | None = None,
    jitter: TensorLike | None = None,
    approximation: ProcessApproximation | None = None,
) -> Distribution:
    """Make a Gaussian process: an unknown function at the points along a dim, or along several.

    Its values are a normal vector, whose covariances the kernel gives:
    MvNormal(mean, K + jitter I), by a Cholesky factor of the matrix. With `noise` it is the
    distribution of noisy observations, MvNormal(mean, K + noise² I), out of which the function is
    integrated; `conditional` is the distribution of the function given these
    (C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, 2006,
    section 2.2).

    Over several dims each kernel is :meth:`on <dimtensor.gp.CovarianceFunction.on>` one of them.
    The covariance of a product of kernels is the Kronecker product of one matrix for each dim: a
    :class:`KroneckerNormal`, whose cost is the sum of the cubes of the lengths. Sums of products
    are normal vectors over the product of the dims.

    Along a ragged dim there is a process for each parent, independent of the others, and the log
    density has the dim of the parents.

    Parameters
    ----------
    kernel : gp.CovarianceFunction, callable or DimTensor
        A kernel such as ``dt.gp.Matern52(2.0)``; a function ``kernel(x, y)`` of points, `y` along
        the dim renamed, that gives covariances over both; or these covariances, over the dim and
        the same one renamed.
    dim : Dim or iterable of Dim
        The dim of the points, or the dims whose combinations they are; a ProductDim is its factors.
    at : DimTensor, or dict of Dim to DimTensor, optional
        The points, along the dim; of several numbers each if it has other dims, which the
        kernel sums over. By default the labels of the dim, of which dates are in days and tuples
        are points of several numbers (:func:`dimtensor.gp.points`); a function that is no kernel
        needs it.
    mean : DimTensor or number
        Of the values.
    noise : DimTensor or number, optional
        Standard deviation of normal noise, with which the values are observed.
    jitter : DimTensor or number, optional
        Added to the variances: the matrix of covariances of points close to each other is singular
        but for rounding. 1e-6 by default, and 0 with noise. Over several dims it is
        added to the variances of each factor.
    approximation : gp.HSGP, gp.StateSpace, gp.Vecchia or gp.InducingPoints, optional
        What takes the place of the dense matrix where there are many points along one dim.

    Returns
    -------
    Distribution
        A :class:`dimtensor.gp.Process`: an MvNormal, or a KroneckerNormal over several dims. Where
        covariances are given, an MvNormal.

    Raises
    ------
    DimError
        If the points, or the covariances, lack the dim, or a kernel is on none of several dims.
    RaggedDimError
        If one of several dims is ragged, or an approximation or given covariances are along a
        ragged dim.
    OptionError
        If a function has no points, covariances have some, or `noise` or `jitter` is below 0; if
        labels of the dim are no points, or a kernel has durations for points that are not dates.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> obs = dt.Dim("obs", length=3)
    >>> x = dt.data([0.0, 1.0, 3.0], dims=obs)
    >>> d = dist.GP(lambda x, y: dt.exp(-0.5 * (x - y) ** 2), obs, at=x, jitter=0.0)
    >>> d.dims
    (Dim('obs', length=3),)
    >>> float(d.logp(dt.zeros(obs)).eval().round(4))
    -2.5142

    The labels of a dim are points, and a length scale may be a duration:

    >>> day = dt.date_range("day", "2026-01-01", periods=3, freq="30D")
    >>> float(dist.GP(dt.gp.Matern32("60D"), day).logp(dt.zeros(day)).eval().round(4))
    -1.736

    Values with noise, over two dims:

    >>> site = dt.Dim("site", coords=[0.0, 1.0])
    >>> kernel = dt.gp.Matern52(2.0).on(site) * dt.gp.Matern32("60D").on(day)
    >>> d = dist.GP(kernel, [site, day], noise=0.5)
    >>> float(d.logp(dt.zeros([site, day])).eval().round(4))
    -4.5491
    """
    dims = _dims_of(dim)
    for value, name in ((noise, "noise"), (jitter, "jitter")):
        if value is not None:
            as_parameter(value, "not negative", f"{name} of GP")
    if isinstance(kernel, CovarianceFunction) and len(dims) == 1:
        kernel._check_on(dims[0])
    if approximation is not None:
        _check_approximation(approximation, kernel, dims)
        places = points_of(kernel, dims[0], at)
        return approximation._process(kernel, dims[0], places, mean, noise, jitter)
    added = (_JITTER if noise is None else 0.0) if jitter is None else jitter
    if len(dims) > 1:
        return over_dims(kernel, dims, at, mean, noise, added)
    points = points_of(kernel, dims[0], at) if callable(kernel) else None
    variance = added if noise is None else added + square(noise)
    if isinstance(dims[0], RaggedDim):
        if points is None:
            raise _refusal(dims[0], "given covariances")
        return process_per_parent(kernel, dims[0], points, at, mean, variance)
    cov = _covariances(kernel, dims[0], points) if callable(kernel) else _given(kernel, at)
    _, row, col = matrix(cov, None, "GP")
    if row != dims[0]:
        raise DimError(
            f"GP: the covariances are over {row._short} and {col._short}, not {dims[0]._short}"
        )
    whole = with_diagonal(cov, row, col, variance)
    if points is None:
        return MvNormal(mean, whole)
    source = ProcessSource(kernel, {} if at is None else {dims[0]: points}, wrap(as_node(mean)))
    return GaussianProcess(mean, whole, source)


def _check_approximation(approximation: Any, kernel: Any, dims: tuple[Dim, ...]) -> None:
    if not isinstance(approximation, ProcessApproximation):
        raise OptionError(
            f"GP: {approximation!r} is no approximation", hint="approximation=dt.gp.HSGP()"
        )
    if len(dims) > 1:
        raise OptionError(
            f"GP: an approximation is along one dim, not {listing([d._short for d in dims])}",
            hint="points of several numbers along one dim: at=x, a tensor with a further dim",
        )
    if not callable(kernel):
        raise OptionError(
            "GP: an approximation takes a kernel, and covariances are given",
            hint="such as kernel=dt.gp.Matern52(1.0)",
        )
    if isinstance(dims[0], RaggedDim) and not approximation._is_per_parent:
        raise _refusal(dims[0], f"approximations such as {type(approximation).__name__}")


def _dims_of(dim: Any) -> tuple[Dim, ...]:
    if isinstance(dim, ProductDim):
        dims = dim.factors
    elif isinstance(dim, (Dim, str)) or not isinstance(dim, Iterable):
        dims = (series_dim(dim, "GP"),)
    else:
        dims = sort_dims([series_dim(each, "GP") for each in dim])
    for each in dims:
        above = each._within
        if above is None or (dims == (each,) and isinstance(each, RaggedDim)):
            continue
        raise RaggedDimError(
            f"GP: processes of each {above._short} are along one ragged dim, not "
            f"{listing([one._short for one in dims])}",
            [("dims", ", ".join(map(repr, dims)))],
            f"points of several numbers: at=x, a tensor along {each._short} with a further dim",
        )
    return dims


def _refusal(dim: RaggedDim, what: str) -> RaggedDimError:
    return RaggedDimError(
        f"GP: {what} are along a plain dim, and {dim._title} is within {dim.within._title}",
        [("dim", repr(dim))],
        f"a kernel such as dt.gp.Matern32(1.0), exact or with approximation=dt.gp.StateSpace(); or "
        f"processes of each {dim.within._short} along a plain dim of numbers, whose values along "
        f"{dim._short} are f.isel(number=dt.arange({dim._short}))",
    )


def _covariances(kernel: Callable[[Any, Any], Any], dim: Dim, points: Any) -> TensorHandle:
    cov = kernel(points, points.relabel(dim, dim.rename()))
    if not isinstance(cov, TensorHandle):
        raise ArgumentError(f"GP: the kernel gives a tensor of covariances, not {cov!r}")
    return cov


def _given(cov: Any, at: Any) -> TensorHandle:
    if at is not None:
        raise OptionError("GP: points, at, are for a kernel that is a function of them")
    return cov if isinstance(cov, TensorHandle) else wrap(as_node(cov, what="kernel of GP"))
