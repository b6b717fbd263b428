"""Gaussian processes along ragged dims: one for each parent, independent of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, RaggedDim, sort_dims, without
from dimtensor.dist.formulas import HALF_LOG_2PI
from dimtensor.dist.joint.gaussian import MvNormal
from dimtensor.dist.joint.raveled import NormalOverDims
from dimtensor.dist.parameters import as_float, as_number, float_dtype
from dimtensor.dist.processes.conditional import (
    NewPoints,
    Process,
    ProcessSource,
    conditioned,
    with_diagonal,
)
from dimtensor.dist.processes.points import points_of
from dimtensor.errors import RaggedDimError
from dimtensor.tensor.constructors import eye, zeros
from dimtensor.tensor.elementwise import equal, log, square, where
from dimtensor.tensor.handle import as_node, wrap
from dimtensor.tensor.linalg.decompositions import cholesky
from dimtensor.tensor.linalg.equations import diagonal, solve_triangular

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class NormalPerParent(NormalOverDims, state=("dim",)):
    """Normal vector along a ragged dim, whose positions covary within their parents only.

    Parameters
    ----------
    base : MvNormal
        Over the plain dim of all positions. Covariances of positions of different parents are 0,
        and so are these elements of the Cholesky factor, in any order of the positions: the log
        density is a sum of terms of the positions, and that of a parent is the sum of its terms.
    dim : RaggedDim
    """

    _is_per_parent = True

    def __init__(self, base: MvNormal, dim: RaggedDim):
        self.dim = dim
        self.name, self.base, self._variance = base.name, base, None
        self.event_dims = (dim,)
        self._check_dims()

    @property
    def dims(self) -> Dims:
        """Dims of one draw; the parameters have the plain dim of all positions."""
        return sort_dims((self.dim, *without(self.base.dims, (self.base.row,))))

    @property
    def _factors(self) -> Dims:
        return (self.dim,)

    def _flat(self, x: DimTensor) -> DimTensor:
        return x.relabel(self.dim, self.base.row)

    def _apart(self, x: DimTensor) -> DimTensor:
        return x.relabel(self.base.row, self.dim)

    def logp(self, x: TensorLike) -> DimTensor:
        return self._logp_of_known(x, None)

    def _logp_of_known(self, x: TensorLike, there: DimTensor | None) -> DimTensor:
        """Return the marginal log density of each parent's observed elements."""
        node = wrap(as_number(x, self._tensor_nodes, f"a value of {self.name}"))
        self._refuse_lacking(node)
        base, pair = self.base, [self.base.row, self.base.col]
        dtype = float_dtype([node.node, *base._tensor_nodes])
        p = base._values_of(dtype)
        # centered along the ragged dim, then flat: marginalization knows this form of the density
        apart, cov = self._flat(as_float(node.node, dtype) - self._apart(p["mu"])), p["cov"]
        if there is not None:
            # the others are independent with variance 1, and at their mean
            kept = self._flat(there)
            apart = where(kept, apart, 0.0)
            cov = where(kept & kept.relabel(*pair), cov, eye(base.row, base.col))
        factor = cholesky(cov, pair)
        z = solve_triangular(factor, apart, pair).relabel(base.col, self.dim)
        scale = self._apart(diagonal(factor, pair))
        terms = -0.5 * square(z) - log(scale) - HALF_LOG_2PI
        return (terms if there is None else where(there, terms, 0.0)).sum(self.dim)

    def _placed(self, raw: DimTensor) -> DimTensor:
        """Return the elements of standard normal numbers."""
        turned = self.base._turned(raw.relabel(self.dim, self.base.col))
        return self._apart(self.base._values["mu"] + turned)


class ProcessPerParent(Process, NormalPerParent):
    """Values of Gaussian processes of the parents of a ragged dim."""

    def __init__(self, base: MvNormal, dim: RaggedDim, source: ProcessSource):
        super().__init__(base, dim)
        self._source = source

    def _conditional(self, values: Any, new: NewPoints, kernel: Any, jitter: Any) -> Any:
        source, dim, wanted = self._source, self.dim, new.dims[self.dim]
        if not isinstance(wanted, RaggedDim) or wanted.within is not dim.within:
            raise RaggedDimError(
                f"conditional: new points of processes of {dim.within._title} are along a ragged "
                f"dim within it, not {wanted!r}",
                [("dim of the process", repr(dim))],
                f"dt.ragged({dim.name!r}, within={dim.within._short}, by=...); other parents are "
                "for predictions",
            )
        of = source.kernel if kernel is None else kernel
        here = points_of(of, dim, source.points.get(dim))
        there = points_of(of, wanted, new.points.get(wanted))
        known, flat = dim.flat.rename(f"known {dim._short}"), wanted.flat
        across = within_parents(of, there, wanted, here, dim, known)
        among = within_parents(of, there, wanted, there, wanted, flat.rename())
        x = wrap(as_number(values, self._tensor_nodes, f"a value of {self.name}"))
        self._refuse_lacking(x)
        value, p = self.base._with(self._flat(x))
        errors = (value - p["mu"]).relabel(self.base.row, known)
        whole = p["cov"].relabel(self.base.row, known).relabel(self.base.col, known.rename())
        mean = along_positions(new.mean, wanted)
        across, among = (part.relabel(wanted, flat) for part in (across, among))
        found = conditioned(whole, errors, known, across, among, flat, mean, jitter)
        return NormalPerParent(found, wanted)


def process_per_parent(
    kernel: Any, dim: Any, points: Any, at: Any, mean: TensorLike, variance: Any
) -> ProcessPerParent:
    """Make the Gaussian processes of the parents of a ragged dim, at its positions.

    Parameters
    ----------
    kernel : gp.CovarianceFunction or callable
    dim : RaggedDim
    points, at : DimTensor, and DimTensor or None
        The points, and those that were given.
    mean : DimTensor or number
    variance : DimTensor or number
        Added to the variances.
    """
    col = dim.flat.rename()
    cov = within_parents(kernel, points, dim, points, dim, col)
    # before the dim becomes plain: the variance may be along the parents
    whole = with_diagonal(cov, dim, col, variance).relabel(dim, dim.flat)
    base = MvNormal(along_positions(mean, dim), whole)
    source = ProcessSource(kernel, {} if at is None else {dim: points}, wrap(as_node(mean)))
    return ProcessPerParent(base, dim, source)


def within_parents(kernel: Any, x: Any, dim: Any, y: Any, other: Any, col: Dim) -> DimTensor:
    """Return the covariances of points along two ragged dims, 0 for those of different parents.

    Rows are along the ragged dim, so that parameters of kernels may be along the parents; `col`
    takes the place of `other` along the columns.
    """
    same = equal(dim.owner.codes, other.owner.codes.relabel(other, col))
    return where(same, kernel(x, y.relabel(other, col)), 0.0)


def along_positions(mean: TensorLike, dim: RaggedDim) -> DimTensor:
    """Return a mean along the plain dim of all positions."""
    return (wrap(as_node(mean)) + zeros(dim)).relabel(dim, dim.flat)
