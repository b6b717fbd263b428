"""Distributions of a Gaussian process at other points, given its values at some."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from dimtensor.dims import Dim
from dimtensor.dist.distribution import Distribution
from dimtensor.dist.joint.gaussian import MvNormal
from dimtensor.dist.joint.raveled import NormalOverDims
from dimtensor.dist.processes.kernels import CovarianceFunction, places_along
from dimtensor.dist.processes.points import are_times, points_of
from dimtensor.errors import DimError, OptionError, listing
from dimtensor.tensor.elementwise import equal, where
from dimtensor.tensor.handle import as_node, wrap
from dimtensor.tensor.linalg.contract import dot
from dimtensor.tensor.linalg.decompositions import cholesky
from dimtensor.tensor.linalg.equations import solve_triangular

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class ProcessSource(NamedTuple):
    """Kernel, points and mean of a process.

    Attributes
    ----------
    kernel : gp.CovarianceFunction or callable
    points : dict of Dim to DimTensor
        Points that were given along dims; along others they are the labels.
    mean : DimTensor
    """

    kernel: Any
    points: Mapping[Dim, DimTensor]
    mean: DimTensor


class NewPoints(NamedTuple):
    """Points to condition a process at.

    Attributes
    ----------
    dims : dict of Dim to Dim
        The dim of the new points for each dim of the process.
    points : dict of Dim to DimTensor
        Points that were given along new dims.
    mean : DimTensor
        Of the process at the new points.
    """

    dims: Mapping[Dim, Dim]
    points: Mapping[Dim, Any]
    mean: DimTensor


class Process(Distribution):
    """Base class of Gaussian processes that are exact, which :func:`dimtensor.dist.GP` makes.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> place = dt.Dim("place", coords=[0.0, 1.0, 3.0])
    >>> isinstance(dist.GP(dt.gp.Matern52(2.0), place), dt.gp.Process)
    True
    """

    _source: ProcessSource

    def _state(self) -> dict[str, Any]:
        # copies inside of models do without the kernel: the covariances are made of it
        return {name: getattr(self, name) for name in self._state_names}

    def conditional(
        self,
        values: TensorLike,
        dims: Mapping[Dim, Dim],
        *,
        at: TensorLike | Mapping[Dim, TensorLike] | None = None,
        mean: TensorLike | None = None,
        kernel: CovarianceFunction | None = None,
        jitter: TensorLike = 1e-6,
    ) -> MvNormal | NormalOverDims:
        """Return the distribution of the function at other points, given values at its own.

        The values have the noise of the process, the function has none. It is a normal vector with
        the mean m* + K* (K + noise²)⁻¹ (y - m) and the covariance K** - K* (K + noise²)⁻¹ K*'
        (Rasmussen and Williams 2006, (2.22) to (2.24)).

        Parameters
        ----------
        values : DimTensor
            Along the dims of the process.
        dims : dict of Dim to Dim
            For a dim of the process the dim of the new points, which are its labels.
        at : DimTensor, or dict of Dim to DimTensor, optional
            Other points along a new dim.
        mean : DimTensor or number, optional
            Of the function at the new points. By default that of the process, and 0 for a part.
        kernel : gp.CovarianceFunction, optional
            A part of the process: a summand of its kernel, whose function is independent of those
            of the others.
        jitter : DimTensor or number
            Added to the variances, so that the covariance has a Cholesky factor.

        Returns
        -------
        Distribution
            ``mean()``, ``variance()`` and ``covariance()`` are expressions, and draws are as of
            any distribution.

        Raises
        ------
        DimError
            If the process has no such dim, or the new points lack their dim.
        OptionError
            If labels of a new dim are no points, or only those of one of the dims are dates, or the
            mean of the process is not that of the new points.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> place = dt.Dim("place", coords=[0.0, 1.0, 3.0])
        >>> process = dist.GP(dt.gp.Matern52(2.0), place, noise=0.1)
        >>> new = dt.Dim("place", coords=[2.0, 50.0])
        >>> d = process.conditional(dt.data([1.0, 0.5, -0.3], dims=place), {place: new})
        >>> d.mean().eval().round(3).values.tolist(), d.std().eval().round(3).values.tolist()
        ([-0.014, -0.0], [0.292, 1.0])
        """
        new = new_points(self.event_dims, dims, at, mean, self._source, kernel)
        return self._conditional(values, new, kernel, jitter)

    @abstractmethod
    def _conditional(self, values: Any, new: NewPoints, kernel: Any, jitter: Any) -> Any:
        """Return the distribution at checked new points; of a part where a kernel is given."""


class GaussianProcess(Process, MvNormal):
    """Values of a Gaussian process along a dim, with or without noise."""

    def __init__(self, mean: TensorLike, cov: DimTensor, source: ProcessSource):
        super().__init__(mean, cov)
        self._source = source

    def _conditional(self, values: Any, new: NewPoints, kernel: Any, jitter: Any) -> MvNormal:
        source, row = self._source, self.row
        wanted, of = new.dims[row], source.kernel if kernel is None else kernel
        here = points_of(of, row, source.points.get(row))
        known = row.rename(f"known {row._short}")
        there = points_of(of, wanted, new.points.get(wanted))
        across = of(there, here.relabel(row, known))
        among = of(there, there.relabel(wanted, wanted.rename()))
        x, p = self._with(values)
        whole = p["cov"].relabel(row, known).relabel(self.col, known.rename())
        errors = (x - p["mu"]).relabel(row, known)
        return conditioned(whole, errors, known, across, among, wanted, new.mean, jitter)


def new_points(
    own: tuple[Dim, ...],
    dims: Mapping[Dim, Dim],
    at: Any,
    mean: Any,
    source: ProcessSource,
    part: CovarianceFunction | None,
) -> NewPoints:
    """Check where a process is wanted.

    Raises
    ------
    DimError
        If a dim is none of the process's.
    OptionError
        If labels are dates along one of the dims only, or the mean of the process is not that of
        the new points.
    """
    for old, new in dims.items():
        if old not in own or not isinstance(new, Dim):
            raise DimError(
                f"conditional: dims has the new dim for each dim of the process, not {new!r} for "
                f"{old!r}",
                [("dims of the process", ", ".join(dim._short for dim in own))],
            )
        if at is None and old not in source.points:
            _check_units(old, new)
    wanted = {dim: dims.get(dim, dim) for dim in own}
    if at is not None and not isinstance(at, Mapping):
        if len(dims) != 1:
            raise OptionError("conditional: points along several dims are at={dim: points}")
        at = dict.fromkeys(dims.values(), at)
    if mean is None:
        value = source.mean if part is None else wrap(as_node(0.0))
        changed = [old for old, new in wanted.items() if old in value.dims and new is not old]
        if changed:
            raise OptionError(
                f"conditional: the mean of the process is along {changed[0]._short}, and unknown "
                "at the new points",
                hint="give it: mean=..., along the new dim",
            )
    else:
        value = wrap(as_node(mean, what="mean of conditional"))
    points = {**{dim: x for dim, x in source.points.items() if wanted[dim] is dim}, **(at or {})}
    return NewPoints(wanted, points, value)


def _check_units(old: Dim, new: Dim) -> None:
    """Refuse labels that are dates along one of the dims and numbers along the other."""
    known = [dim for dim in (old, new) if dim.coords is not None and len(dim.coords)]
    kinds = ["dates" if are_times(dim) else "no dates" for dim in known]
    if len({*kinds}) > 1:
        raise OptionError(
            f"conditional: labels of {old._short} are {kinds[0]}, and those of the new dim "
            f"{new._short} are {kinds[1]}",
            [("labels of the new dim", listing(new.to_index().tolist()))],
            f"give the points in days since 1970: at=x, a tensor along {new._short}",
        )


def conditioned(
    whole: DimTensor,
    errors: DimTensor,
    known: Dim,
    across: DimTensor,
    among: DimTensor,
    wanted: Dim,
    mean: DimTensor,
    jitter: TensorLike,
) -> MvNormal:
    """Return the normal vector along `wanted` given another one along `known`.

    Parameters
    ----------
    whole : DimTensor
        Covariance of the known values, over `known` and the same one renamed.
    errors : DimTensor
        What the known values are above their means.
    known : Dim
    across, among : DimTensor
        Covariances over `wanted` and `known`, and over `wanted` and the same one renamed.
    wanted : Dim
    mean : DimTensor
        Of the vector.
    jitter : DimTensor or number
    """
    pair = [known, known.rename()]
    factor = cholesky(whole, pair)
    z = solve_triangular(factor, errors, pair)
    explained = solve_triangular(factor, across, pair)
    expected = mean + dot(explained, z, dim=[pair[1]])
    left = among - dot(explained, explained.relabel(wanted, wanted.rename()), dim=[pair[1]])
    return MvNormal(expected, with_diagonal(left, wanted, wanted.rename(), jitter))


def with_diagonal(cov: Any, row: Dim, col: Dim, variance: Any) -> Any:
    """Add variances to the diagonal of a covariance."""
    return where(equal(places_along(row), places_along(col)), cov + variance, cov)
