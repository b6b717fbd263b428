"""Kernels of the distance of two points: Matérn's, squared exponential, periodic and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dist.parameters import as_parameter
from dimtensor.dist.processes.kernels import CovarianceFunction, over_features, text_of
from dimtensor.dist.processes.points import in_days, is_duration
from dimtensor.errors import printable
from dimtensor.tensor.elementwise import exp, sin, sqrt

if TYPE_CHECKING:
    from dimtensor.dist.processes.points import Duration
    from dimtensor.typing import TensorLike


class Stationary(CovarianceFunction):
    """Base class of kernels of the distance of two points, in length scales."""

    def __init__(self, lengthscale: TensorLike | Duration):
        self._take(lengthscale=lengthscale)

    def _take(self, **given: Any) -> None:
        """Check and keep the parameters."""
        self._given = given
        name = type(self).__name__
        self._values = {
            key: as_parameter(in_days(value), "positive", f"{key} of {name}")
            for key, value in given.items()
        }

    def _durations(self) -> list[Any]:
        return [x for x in self._given.values() if is_duration(x)]

    def _of(self, x: Any, y: Any) -> Any:
        return self._at(_squares(x, y, self._values["lengthscale"]))

    def _at(self, squares: Any) -> Any:
        """Return the covariance of points at a squared distance."""
        raise NotImplementedError

    @printable
    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={text_of(value)}" for key, value in self._given.items())
        return f"{type(self).__name__}({inside})"


class SquaredExponential(Stationary):
    r"""Squared exponential kernel (RBF, exponentiated quadratic): of smooth functions.

    The covariance at distance r is :math:`\exp(-r^2 / (2 \ell^2))`
    (Rasmussen and Williams 2006, (4.9)).

    Parameters
    ----------
    lengthscale : TensorLike or duration
        In the unit of the points; one for each number of a point if it has their dim. A duration,
        such as ``"30D"``, for points that are dates.

    Raises
    ------
    OptionError
        If it is not positive.

    Examples
    --------
    >>> import dimtensor as dt
    >>> float(dt.gp.SquaredExponential(2.0)(0.0, 2.0).eval().round(4))
    0.6065
    """

    def _at(self, squares: Any) -> Any:
        return exp(-0.5 * squares)


class Matern12(Stationary):
    r"""Matérn kernel of order 1/2 (exponential, Ornstein-Uhlenbeck): of continuous functions.

    The covariance at distance r is :math:`\exp(-r / \ell)` (Rasmussen and Williams 2006, (4.18)).

    Parameters
    ----------
    lengthscale : TensorLike or duration
        As of :class:`SquaredExponential`.

    Raises
    ------
    OptionError
        If it is not positive.

    Examples
    --------
    >>> import dimtensor as dt
    >>> float(dt.gp.Matern12(2.0)(0.0, 2.0).eval().round(4))
    0.3679
    """

    def _at(self, squares: Any) -> Any:
        return exp(-sqrt(squares))


class Matern32(Stationary):
    r"""Matérn kernel of order 3/2: of functions that have a slope.

    The covariance at distance r is :math:`(1 + s) \exp(-s)` with :math:`s = \sqrt{3} r / \ell`
    (Rasmussen and Williams 2006, (4.17)).

    Parameters
    ----------
    lengthscale : TensorLike or duration
        As of :class:`SquaredExponential`.

    Raises
    ------
    OptionError
        If it is not positive.

    Examples
    --------
    >>> import dimtensor as dt
    >>> float(dt.gp.Matern32(2.0)(0.0, 2.0).eval().round(4))
    0.4834
    """

    def _at(self, squares: Any) -> Any:
        s = float(np.sqrt(3.0)) * sqrt(squares)
        return (1.0 + s) * exp(-s)


class Matern52(Stationary):
    r"""Matérn kernel of order 5/2: of functions that are differentiable twice.

    The covariance at distance r is :math:`(1 + s + s^2 / 3) \exp(-s)` with
    :math:`s = \sqrt{5} r / \ell` (Rasmussen and Williams 2006, (4.17)).

    Parameters
    ----------
    lengthscale : TensorLike or duration
        As of :class:`SquaredExponential`.

    Raises
    ------
    OptionError
        If it is not positive.

    Examples
    --------
    >>> import dimtensor as dt
    >>> float(dt.gp.Matern52(2.0)(0.0, 2.0).eval().round(4))
    0.524
    """

    def _at(self, squares: Any) -> Any:
        s = float(np.sqrt(5.0)) * sqrt(squares)
        return (1.0 + s + (5.0 / 3.0) * squares) * exp(-s)


class RationalQuadratic(Stationary):
    r"""Rational quadratic kernel: a mixture of squared exponentials of many length scales.

    The covariance at distance r is :math:`(1 + r^2 / (2 \alpha \ell^2))^{-\alpha}`
    (Rasmussen and Williams 2006, (4.19)).

    Parameters
    ----------
    lengthscale : TensorLike or duration
        As of :class:`SquaredExponential`.
    alpha : TensorLike
        The larger, the fewer length scales.

    Raises
    ------
    OptionError
        If one is not positive.

    Examples
    --------
    >>> import dimtensor as dt
    >>> float(dt.gp.RationalQuadratic(2.0, alpha=1.0)(0.0, 2.0).eval().round(4))
    0.6667
    """

    def __init__(self, lengthscale: TensorLike | Duration, alpha: TensorLike):
        self._take(lengthscale=lengthscale, alpha=alpha)

    def _at(self, squares: Any) -> Any:
        alpha = self._values["alpha"]
        return (1.0 + squares / (2.0 * alpha)) ** -alpha


class Periodic(Stationary):
    r"""Periodic kernel: of functions that repeat.

    The covariance at distance r is :math:`\exp(-2 \sin^2(\pi r / p) / \ell^2)` with the period p;
    of points of several numbers, the product over them (MacKay 1998; Rasmussen and Williams 2006,
    (4.31)).

    Parameters
    ----------
    lengthscale : TensorLike
        Of the shape within a period: a number, without a unit.
    period : TensorLike or duration
        In the unit of the points, or a duration for points that are dates.

    Raises
    ------
    OptionError
        If one is not positive.

    Examples
    --------
    >>> import dimtensor as dt
    >>> float(dt.gp.Periodic(1.0, period=12.0)(0.0, 3.0).eval().round(4))
    0.3679
    """

    def __init__(self, lengthscale: TensorLike, period: TensorLike | Duration):
        self._take(lengthscale=lengthscale, period=period)

    def _of(self, x: Any, y: Any) -> Any:
        turns = sin(np.pi * (x - y) / self._values["period"]) / self._values["lengthscale"]
        return exp(-2.0 * over_features(turns**2, x, y))


def _squares(x: Any, y: Any, lengthscale: Any) -> Any:
    return over_features(((x - y) / lengthscale) ** 2, x, y)
