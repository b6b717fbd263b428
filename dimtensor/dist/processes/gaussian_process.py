"""Gaussian processes: functions whose values at some points are a normal vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim
from dimtensor.dist.joint.gaussian import MvNormal
from dimtensor.dist.parameters import as_parameter
from dimtensor.dist.processes.kernels import CovarianceFunction
from dimtensor.dist.processes.points import check_durations
from dimtensor.dist.processes.points import points as label_points
from dimtensor.dist.processes.series import series_dim
from dimtensor.errors import ArgumentError, DimError, OptionError
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.elementwise import equal, where
from dimtensor.tensor.handle import TensorHandle, as_node, wrap
from dimtensor.tensor.linalg.matrices import matrix

if TYPE_CHECKING:
    from dimtensor.typing import TensorLike


def GP(
    kernel: Any,
    dim: Dim,
    *,
    at: TensorLike | None = None,
    mean: TensorLike = 0.0,
    jitter: float = 1e-6,
) -> MvNormal:
    """Make a Gaussian process: an unknown function at the points along a dim.

    They are a normal vector, whose covariances the kernel gives: MvNormal(mean, K + jitter I), with
    the density of MvNormal, by a Cholesky factor of the matrix
    (C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, 2006,
    section 2.2).

    Parameters
    ----------
    kernel : gp.CovarianceFunction, callable or DimTensor
        A kernel such as ``dt.gp.Matern52(2.0)``; a function ``kernel(x, y)`` of points, `y` along
        the dim renamed, that gives covariances over both; or these covariances, over the dim and
        the same one renamed.
    dim : Dim
        The dim of the points.
    at : DimTensor, optional
        The points, along the dim; of several numbers each if it has other dims, which the
        kernel sums over. By default the labels of the dim, of which dates are in days
        (:func:`dimtensor.gp.points`); a function that is no kernel needs it.
    mean : DimTensor or number
        Of the values.
    jitter : DimTensor or number
        Added to the variances: the matrix of covariances of points close to each other is singular
        but for rounding. Of values seen with normal noise, the variance of that noise.

    Returns
    -------
    MvNormal

    Raises
    ------
    DimError
        If the points, or the covariances, lack the dim.
    OptionError
        If a function has no points, covariances have some, or `jitter` is below 0; if labels of
        the dim are no points, or a kernel has durations for points that are not dates.

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
    """
    dim = series_dim(dim, "GP")
    added = as_parameter(jitter, "not negative", "jitter of GP")
    cov = _of_points(kernel, dim, at) if callable(kernel) else _given(kernel, at)
    _, row, col = matrix(cov, None, "GP")
    if row != dim:
        raise DimError(
            f"GP: the covariances are over {row._short} and {col._short}, not {dim._short}"
        )
    return MvNormal(mean, where(equal(arange(row), arange(col)), cov + added, cov))


def _of_points(kernel: Callable[[Any, Any], Any], dim: Dim, at: Any) -> TensorHandle:
    if at is None and isinstance(kernel, CovarianceFunction):
        check_durations(kernel, dim)
        at = label_points(dim)
    if at is None:
        raise OptionError(
            f"GP: a kernel that is a function needs points along {dim._short}: at=..."
        )
    points: Any = at if isinstance(at, TensorHandle) else wrap(as_node(at, what="at of GP"))
    if dim not in points.dims:
        raise DimError(f"GP: the points, at, lack {dim._short}")
    cov = kernel(points, points.relabel(dim, dim.rename()))
    if not isinstance(cov, TensorHandle):
        raise ArgumentError(f"GP: the kernel gives a tensor of covariances, not {cov!r}")
    return cov


def _given(cov: Any, at: Any) -> TensorHandle:
    if at is not None:
        raise OptionError("GP: points, at, are for a kernel that is a function of them")
    return cov if isinstance(cov, TensorHandle) else wrap(as_node(cov, what="kernel of GP"))
