"""Sparse Gaussian processes: values that depend on those at a few inducing points."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, without
from dimtensor.dist.approximations.low_rank import LowRankNormal, variance_of
from dimtensor.dist.approximations.pointwise import pointwise_variance
from dimtensor.dist.processes.approximation import ProcessApproximation
from dimtensor.dist.processes.points import points as label_points
from dimtensor.errors import DimError, OptionError, printable
from dimtensor.tensor.constructors import eye
from dimtensor.tensor.elementwise import maximum, square
from dimtensor.tensor.handle import TensorHandle
from dimtensor.tensor.inputs import data
from dimtensor.tensor.linalg.decompositions import cholesky
from dimtensor.tensor.linalg.equations import diagonal, solve_triangular

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike

_FORMS = ("vfe", "fitc", "dtc")
_RIDGE = 1e-10  # of the variances of inducing values, added for stability


class InducingPoints(ProcessApproximation):
    r"""Sparse approximation by the values at a few inducing points.

    With covariances K of n points (f) and m inducing points (u), the values have the covariance
    :math:`Q = K_{fu} K_{uu}^{-1} K_{uf}`; a density costs n m². The forms differ in what Q lacks
    (J. Quiñonero-Candela and C. E. Rasmussen, Journal of Machine Learning Research 6, 1939-1959,
    2005):

    - ``"vfe"``, of noisy values only: the density is a lower bound of the exact one, with the term
      :math:`-\operatorname{tr}(K - Q) / (2 \sigma^2)`, so that it is largest where the inducing
      points say all (M. K. Titsias, Artificial Intelligence and Statistics, 567-574, 2009, (9)).
    - ``"fitc"``: variances are exact, covariances are those of Q.
    - ``"dtc"``: the process is a function of the inducing values, which models sample instead.

    Parameters
    ----------
    points : int, sequence of labels or DimTensor
        Their number, of centers of clusters of the points, which have to be known then (k-means);
        labels; or points along a dim of their own.
    form : {"vfe", "fitc", "dtc"}, optional
        By default ``"vfe"`` with noise, and ``"dtc"`` without.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> place = dt.Dim("place", coords=[0.0, 0.5, 1.0, 2.0])
    >>> kernel, x = dt.gp.Matern52(1.0), dt.zeros(place)
    >>> exact = dist.GP(kernel, place, noise=0.5)
    >>> bound = dist.GP(kernel, place, noise=0.5, approximation=dt.gp.InducingPoints([0.0, 2.0]))
    >>> bool((bound.logp(x) < exact.logp(x)).eval())
    True
    """

    def __init__(self, points: Any, form: str | None = None):
        if form is not None and form not in _FORMS:
            raise OptionError(f"InducingPoints: form is one of {', '.join(_FORMS)}, not {form!r}")
        whole = isinstance(points, (int, np.integer)) and not isinstance(points, bool)
        if whole and points < 1:
            raise OptionError(f"InducingPoints: there is at least one point, not {points!r}")
        self.points, self.form = int(points) if whole else points, form

    @printable
    def __repr__(self) -> str:
        return f"InducingPoints({self.points!r}, form={self.form!r})"

    def _process(
        self, kernel: Any, dim: Dim, points: Any, mean: Any, noise: Any, jitter: Any
    ) -> LowRankNormal:
        """Return the distribution of the values at points."""
        form = self.form or ("dtc" if noise is None else "vfe")
        if form == "vfe" and noise is None:
            raise OptionError(
                "InducingPoints: 'vfe' is a bound of the density of values with noise",
                hint="give noise=sigma, or form='dtc' or form='fitc'",
            )
        places, basis = self._places(dim, points)
        other = basis.rename()
        within = kernel(places, places.relabel(basis, other))
        ridge = _RIDGE * diagonal(within, [basis, other]).mean(basis)
        factor = cholesky(within + ridge * eye(basis, other), [basis, other])
        across = kernel(places, points)
        features = solve_triangular(factor, across, [basis, other]).relabel(other, basis)
        variance, singular = variance_of(noise, jitter, "InducingPoints")
        if form == "dtc":
            return LowRankNormal("DTC", dim, basis, mean, features, 1.0, variance, singular)
        lacks = maximum(pointwise_variance(kernel, points, dim) - square(features).sum(basis), 0.0)
        if form == "fitc":
            total = lacks + variance
            return LowRankNormal("FITC", dim, basis, mean, features, 1.0, total, False)
        return CollapsedBound("VFE", dim, basis, mean, features, 1.0, variance, False, lacks=lacks)

    def _places(self, dim: Dim, points: Any) -> tuple[Any, Dim]:
        """Return the inducing points, and their dim."""
        given = self.points
        features = without(points.dims, [dim])
        if isinstance(given, TensorHandle):
            own = without(given.dims, features)
            if len(own) != 1 or dim in own:
                raise DimError(
                    "InducingPoints: points are along one dim of their own, and the dims of the "
                    f"numbers of a point, not {', '.join(d._short for d in given.dims)}"
                )
            return given, own[0]
        name = f"{dim._short} inducing"
        if not isinstance(given, int):
            basis = Dim(name, coords=given)
            return label_points(basis), basis
        node = points.node
        if node.kind != "data":
            raise OptionError(
                f"InducingPoints: points along {dim._short} are not known, so that they have no "
                "centers",
                hint="give the inducing points, a tensor along a dim of their own",
            )
        first = node.attrs.dims.index(dim)
        rest = [d for d in node.attrs.dims if d is not dim]
        values = np.moveaxis(np.asarray(node.attrs.values, float), first, 0)
        found = centers(values.reshape(len(values), math.prod(values.shape[1:])), given)
        basis = Dim(name, length=len(found))
        shape = (len(found), *values.shape[1:])
        return data(found.reshape(shape), dims=[basis, *rest]), basis


class CollapsedBound(LowRankNormal):
    """Lower bound of a density, by what the covariance of low rank lacks of the exact variances."""

    def logp(self, x: TensorLike) -> DimTensor:
        p = self._with(x)[1]
        return super().logp(x) - 0.5 * (p["lacks"] / p["variance"]).sum(self.row)

    def _lacking(self) -> Any:
        return self._values["lacks"]


def centers(places: np.ndarray, count: int) -> np.ndarray:
    """Return centers of clusters of points; the points themselves if they are not more."""
    from scipy.cluster.vq import kmeans2

    different = np.unique(places, axis=0) if places.size else places
    if len(different) <= count:
        return different
    spread = different.std(0)
    scale = np.where(spread > 0.0, spread, 1.0)
    start = different[np.linspace(0, len(different) - 1, count).round().astype(int)]
    found, _ = kmeans2(places / scale, start / scale, minit="matrix", missing="warn")
    return np.unique(found * scale, axis=0)
