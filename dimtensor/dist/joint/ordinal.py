"""Distributions of labels in order, and of counts of them, by cutpoints of a latent variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, SelDim
from dimtensor.dist.distribution import DimsLike
from dimtensor.dist.joint.outcomes import Multinomial
from dimtensor.dist.joint.shares import Increasing
from dimtensor.dist.joint.vectors import (
    VectorDistribution,
    as_labels,
    as_positions,
    check_shared,
    positions_support,
)
from dimtensor.dist.probabilities import difference
from dimtensor.errors import DimError
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.elementwise import clip, equal, exp, log1mexp, log_ndtr, softplus, where
from dimtensor.tensor.handle import TensorHandle, as_node, wrap

if TYPE_CHECKING:
    from dimtensor.random.generator import Generator
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class _Ordered(VectorDistribution, state=("dim", "cut")):
    """One label of a dim whose labels are in order, by cutpoints of a latent variable."""

    def __init__(self, name: str, eta: Any, cutpoints: Any, dim: Dim, sigma: Any = None):
        if not isinstance(dim, Dim):
            raise DimError(f"{name}: dim is the Dim of the outcomes, not {dim!r}")
        self.dim = dim
        cutpoints = wrap(as_node(cutpoints, what=f"cutpoints of {name}"))
        given = {
            "eta": (eta, "real"),
            "cutpoints": (cutpoints, "real"),
            "sigma": (sigma, "positive"),
        }
        cut = [
            each for each in cutpoints.dims
            if each is SelDim(dim, positions=slice(1, None))
            or each not in getattr(eta, "dims", ())
        ]  # fmt: skip
        if len(cut) != 1:
            raise DimError(
                f"{name}: the cutpoints have one dim that eta has not, not {len(cut)} of them"
            )
        self.cut = cut[0]
        if None not in (dim.length, self.cut.length) and dim.length != self.cut.length + 1:
            raise DimError(
                f"{name}: {dim._title} has length {dim.length} and {self.cut._title} "
                f"{self.cut.length}; there is one cutpoint between two outcomes each"
            )
        super().__init__(name, given, (), positions_support(dim), (self.cut,))
        self._together = {
            "cutpoints": Increasing(self._parameters["cutpoints"], self.cut, f"cutpoints of {name}")
        }

    @property
    def categories(self) -> Dim:
        return self.dim

    def _bounds(self, y: DimTensor) -> tuple[DimTensor, DimTensor, DimTensor, DimTensor]:
        """Cutpoints below and above, less eta, and whether there are none."""
        values = self._values
        last = arange(self.cut).max()
        first, end = equal(y, 0), y > last
        below = values["cutpoints"].isel({self.cut: clip(y - 1, 0, last)}) - values["eta"]
        above = values["cutpoints"].isel({self.cut: clip(y, 0, last)}) - values["eta"]
        if "sigma" in values:
            below, above = below / values["sigma"], above / values["sigma"]
        return below, above, first, end

    def _logcdf(self, z: DimTensor) -> DimTensor:
        raise NotImplementedError

    def _between(self, low: DimTensor, high: DimTensor) -> DimTensor:
        raise NotImplementedError

    def logp(self, x: TensorLike) -> DimTensor:
        low, high, first, end = self._bounds(as_positions(x, self.dim, self.name))
        inside = first | end
        middle = self._between(where(inside, -1.0, low), where(inside, 1.0, high))
        return where(first, self._logcdf(high), where(end, self._logcdf(-low), middle))

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        values = self._values
        z, rng = self._latent(rng, self._draw_dims(dims))
        scaled = values["eta"] + z * values.get("sigma", 1.0)
        return as_labels((values["cutpoints"] < scaled).sum(self.cut), self.dim), rng

    def _latent(self, rng: Any, dims: Any) -> tuple[DimTensor, Any]:
        raise NotImplementedError


class OrderedLogistic(_Ordered):
    """One label of a dim in order: between which cutpoints eta and logistic noise fall.

    Parameters
    ----------
    eta : DimTensor or number
    cutpoints : DimTensor
        Increasing along a dim of their own, one shorter than that of the outcomes.
    dim : Dim
        The outcomes.

    Raises
    ------
    DimError
        If the cutpoints have not exactly one dim of their own, or of another length.
    OptionError
        If known cutpoints do not increase.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> grade = dt.Dim("grade", coords=["low", "middle", "high"])
    >>> cutpoints = dt.data([-1.0, 1.0], dims=dt.Dim("cut", length=2))
    >>> d = dist.OrderedLogistic(0.0, cutpoints, dim=grade)
    >>> float(d.logp("low").eval().round(4))
    -1.3133
    """

    def __init__(self, eta: TensorLike, cutpoints: DimTensor, dim: Dim):
        super().__init__("OrderedLogistic", eta, cutpoints, dim)

    def _logcdf(self, z: DimTensor) -> DimTensor:
        return -softplus(-z)

    def _between(self, low: DimTensor, high: DimTensor) -> DimTensor:
        return -softplus(-high) - softplus(low) + log1mexp(low - high)

    def _latent(self, rng: Any, dims: Any) -> tuple[DimTensor, Any]:
        return rng.logistic(0.0, 1.0, dims=dims)


class OrderedProbit(_Ordered):
    """One label of a dim in order: between which cutpoints eta and normal noise fall.

    Parameters
    ----------
    eta : DimTensor or number
    cutpoints : DimTensor
        Increasing along a dim of their own, one shorter than that of the outcomes.
    dim : Dim
        The outcomes.
    sigma : DimTensor or number
        Standard deviation of the noise.

    Raises
    ------
    DimError
        If the cutpoints have not exactly one dim of their own, or of another length.
    OptionError
        If known cutpoints do not increase.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> grade = dt.Dim("grade", coords=["low", "middle", "high"])
    >>> cutpoints = dt.data([-1.0, 1.0], dims=dt.Dim("cut", length=2))
    >>> d = dist.OrderedProbit(0.0, cutpoints, dim=grade)
    >>> float(d.logp("low").eval().round(4))
    -1.841
    """

    def __init__(self, eta: TensorLike, cutpoints: DimTensor, dim: Dim, sigma: TensorLike = 1.0):
        super().__init__("OrderedProbit", eta, cutpoints, dim, sigma)

    def _logcdf(self, z: DimTensor) -> DimTensor:
        return log_ndtr(z)

    def _between(self, low: DimTensor, high: DimTensor) -> DimTensor:
        right = low + high > 0.0
        return difference(log_ndtr(where(right, -low, high)), log_ndtr(where(right, -high, low)))

    def _latent(self, rng: Any, dims: Any) -> tuple[DimTensor, Any]:
        return rng.normal(0.0, 1.0, dims=dims)


def OrderedMultinomial(
    n: TensorLike,
    eta: TensorLike,
    cutpoints: DimTensor,
    dim: Dim,
    *,
    sigma: TensorLike | None = None,
) -> Multinomial:
    """Make the distribution of counts of ordered outcomes in n trials.

    The probabilities of the labels are those of :class:`OrderedLogistic`; with a standard deviation
    those of :class:`OrderedProbit`.

    Parameters
    ----------
    n : DimTensor or int
    eta : DimTensor or number
    cutpoints : DimTensor
        Increasing along a dim of their own, one shorter than that of the outcomes.
    dim : Dim
        The outcomes.
    sigma : DimTensor or number, optional
        Standard deviation of normal noise, in place of logistic noise.

    Returns
    -------
    Multinomial

    Raises
    ------
    DimError
        If the cutpoints have not exactly one dim of their own, or of another length, or a parameter
        has the dim of the labels.
    OptionError
        If known cutpoints do not increase.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> grade = dt.Dim("grade", coords=["low", "middle", "high"])
    >>> cutpoints = dt.data([-1.0, 1.0], dims=dt.Dim("cut", length=2))
    >>> d = dist.OrderedMultinomial(10, 0.0, cutpoints, dim=grade)
    >>> d.mean().eval().round(3).values.tolist()
    [2.689, 4.621, 2.689]
    """
    for name, value in {"eta": eta, "cutpoints": cutpoints, "sigma": sigma}.items():
        if isinstance(value, TensorHandle):
            check_shared(f"{name} of OrderedMultinomial", wrap(value.node), (dim,))
    if sigma is None:
        one: _Ordered = OrderedLogistic(eta, cutpoints, dim)
    else:
        one = OrderedProbit(eta, cutpoints, dim, sigma)
    return Multinomial(n, exp(one.logp(arange(dim))), dim)
