"""Gaussian processes over several dims: Kronecker products of covariances, and sums of them."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, ProductDim, without
from dimtensor.dist.distribution import Distribution
from dimtensor.dist.joint.gaussian import MvNormal
from dimtensor.dist.joint.kronecker import KroneckerNormal
from dimtensor.dist.joint.raveled import NormalOverDims
from dimtensor.dist.parameters import as_number
from dimtensor.dist.processes.conditional import (
    NewPoints,
    Process,
    ProcessSource,
    conditioned,
    with_diagonal,
)
from dimtensor.dist.processes.kernels import (
    Coregion,
    CovarianceFunction,
    KernelOn,
    ProductOfKernels,
    ScaledKernel,
    SumOfKernels,
    White,
    on_none,
)
from dimtensor.dist.processes.points import points_of
from dimtensor.errors import OptionError
from dimtensor.tensor.constructors import arange, ones, zeros
from dimtensor.tensor.elementwise import square
from dimtensor.tensor.handle import as_node, wrap
from dimtensor.tensor.linalg.contract import dot
from dimtensor.tensor.linalg.equations import diagonal

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike

Points = Mapping[Dim, Any]


@dataclass(frozen=True)
class KernelTerm:
    """Product of a scale and one kernel for each of some dims.

    Attributes
    ----------
    scales : tuple of DimTensor
    kernels : dict of Dim to gp.CovarianceFunction
        The function is constant along other dims.
    """

    scales: tuple[DimTensor, ...]
    kernels: Mapping[Dim, CovarianceFunction]

    def __mul__(self, other: KernelTerm) -> KernelTerm:
        both = {
            dim: ProductOfKernels(self.kernels[dim], other.kernels[dim])
            if dim in self.kernels and dim in other.kernels
            else self.kernels.get(dim) or other.kernels[dim]
            for dim in {**self.kernels, **other.kernels}
        }
        return KernelTerm((*self.scales, *other.scales), both)


def terms_of(kernel: Any, dims: Dims) -> list[KernelTerm]:
    """Expand a kernel of points along several dims into a sum of products.

    Raises
    ------
    DimError
        If a kernel is on none of the dims.
    """
    if isinstance(kernel, ProductOfKernels):
        one, other = (terms_of(part, dims) for part in kernel.parts)
        return [a * b for a in one for b in other]
    if isinstance(kernel, SumOfKernels):
        return [term for part in kernel.parts for term in terms_of(part, dims)]
    if isinstance(kernel, ScaledKernel):
        scale = KernelTerm((kernel.variance,), {})
        return [scale * term for term in terms_of(kernel.kernel, dims)]
    if isinstance(kernel, White):
        return [KernelTerm((kernel.variance,), dict.fromkeys(dims, White()))]
    if isinstance(kernel, KernelOn) and kernel.dim in dims:
        return [KernelTerm((), {kernel.dim: kernel.kernel})]
    if isinstance(kernel, Coregion) and kernel.row in dims:
        return [KernelTerm((), {kernel.row: kernel})]
    raise on_none(kernel, dims)


@dataclass(frozen=True)
class PointsAlong:
    """Points along one dim of a process.

    Attributes
    ----------
    own : Dim
        The dim of the process.
    wanted : Dim
        The dim whose labels are the points.
    dim : Dim
        The same, or a renamed one.
    at : DimTensor or None
        Points along `wanted`, if others than the labels.
    """

    own: Dim
    wanted: Dim
    dim: Dim
    at: Any

    def renamed(self, name: str | None = None) -> PointsAlong:
        """Return the points along a renamed dim."""
        return PointsAlong(self.own, self.wanted, self.dim.rename(name), self.at)

    def covariances(self, kernel: Any, other: PointsAlong) -> Any:
        """Return the covariances with other points along the same dim."""
        if isinstance(kernel, SumOfKernels):
            both = [self.covariances(part, other) for part in kernel.parts]
            return both[0] * both[1] if isinstance(kernel, ProductOfKernels) else both[0] + both[1]
        if isinstance(kernel, ScaledKernel):
            return kernel.variance * self.covariances(kernel.kernel, other)
        if isinstance(kernel, KernelOn):
            return self.covariances(kernel.kernel, other)
        if isinstance(kernel, Coregion) and kernel.row is self.wanted:
            aside = kernel.col.rename(f"{kernel.col._short}, columns")
            moved = kernel.covariance.relabel(kernel.col, aside)
            moved = moved if self.dim is kernel.row else moved.relabel(kernel.row, self.dim)
            return moved.relabel(aside, other.dim)
        if isinstance(kernel, White):
            return kernel._of(arange(self.dim), arange(other.dim))
        return kernel(self._points(kernel), other._points(kernel))

    def _points(self, kernel: Any) -> Any:
        found = points_of(kernel, self.wanted, self.at)
        return found if self.dim is self.wanted else found.relabel(self.wanted, self.dim)


def places(own: Dims, wanted: Mapping[Dim, Dim], at: Points) -> list[PointsAlong]:
    """Return the points along each dim of a process."""
    return [PointsAlong(dim, wanted[dim], wanted[dim], at.get(wanted[dim])) for dim in own]


def over_dims(
    kernel: Any, dims: Dims, at: Any, mean: TensorLike, noise: Any, jitter: Any
) -> Distribution:
    """Make a Gaussian process over several dims; see :func:`dimtensor.dist.GP`.

    Raises
    ------
    OptionError
        If the kernel is a function, or points are not by dim.
    DimError
        If a kernel is on none of the dims.
    """
    if not isinstance(kernel, CovarianceFunction):
        raise OptionError(
            "GP: over several dims the kernel is made of kernels on these",
            [("dims", ", ".join(dim._short for dim in dims))],
            f"dt.gp.Matern52(1.0).on({dims[0]._short})",
        )
    if at is not None and not isinstance(at, Mapping):
        raise OptionError("GP: over several dims points are at={dim: points}")
    terms, given = terms_of(kernel, dims), dict(at or {})
    rows = places(dims, dict(zip(dims, dims, strict=True)), given)
    cols = [row.renamed() for row in rows]
    source = ProcessSource(kernel, given, wrap(as_node(mean)))
    shared = noise is None or not set(as_node(noise, what="noise of GP").dims) & set(dims)
    if len(terms) == 1 and set(terms[0].kernels) == set(dims) and shared:
        factors = [
            with_diagonal(cov, row.dim, col.dim, jitter)
            for cov, row, col in zip(factors_of(terms[0], rows, cols), rows, cols, strict=True)
        ]
        return KroneckerProcess(mean, factors, noise, source)
    product = ProductDim(dims)
    variance = jitter if noise is None else jitter + square(noise)
    cov = raveled(covariance_of(terms, rows, cols), rows, cols, product, product.rename())
    cov = with_diagonal(cov, product, product.rename(), laid_flat(variance, dims, product))
    return ProcessOverDims(MvNormal(laid_flat(mean, dims, product), cov), source)


def factors_of(
    term: KernelTerm, rows: Sequence[PointsAlong], cols: Sequence[PointsAlong]
) -> list[Any]:
    """Return one matrix for each dim, of which the first has the scales."""
    found: list[Any] = []
    for row, col in zip(rows, cols, strict=True):
        kernel = term.kernels.get(row.own)
        found.append(ones([row.dim, col.dim]) if kernel is None else row.covariances(kernel, col))
    found[0] = functools.reduce(operator.mul, term.scales, found[0])
    return found


def covariance_of(
    terms: Sequence[KernelTerm], rows: Sequence[PointsAlong], cols: Sequence[PointsAlong]
) -> Any:
    """Return the covariances over all dims of rows and columns."""
    parts = [functools.reduce(operator.mul, factors_of(term, rows, cols)) for term in terms]
    return functools.reduce(operator.add, parts)


def raveled(
    cov: Any, rows: Sequence[PointsAlong], cols: Sequence[PointsAlong], row: Dim, col: Dim
) -> DimTensor:
    """Merge the dims of rows, and those of columns, each in the order of the dims of the points."""
    aside = row.rename(f"rows of {row._short}")
    for side, new in ((rows, aside), (cols, col)):
        for place in side:
            if place.dim is not place.wanted:
                cov = cov.relabel(place.dim, place.wanted)
        wanted = [place.wanted for place in side]
        cov = cov.ravel(wanted).relabel(ProductDim(wanted), new)
    return cov.relabel(aside, row)


def laid_flat(x: Any, dims: Dims, product: Dim) -> Any:
    """Merge dims of a parameter that has some of them."""
    value: Any = wrap(as_node(x))
    if not set(value.dims) & set(dims):
        return value
    return (value + zeros(without(dims, value.dims))).ravel(dims).relabel(ProductDim(dims), product)


class KroneckerProcess(Process, KroneckerNormal):
    """Values of a Gaussian process over several dims, whose kernel is one product."""

    def __init__(self, mean: TensorLike, covs: Sequence[Any], noise: Any, source: ProcessSource):
        super().__init__(mean, covs, sigma=noise)
        self._source = source

    def _conditional(
        self, values: Any, new: NewPoints, kernel: Any, jitter: TensorLike
    ) -> NormalOverDims:
        terms, known, there = _new_grid(self._source, self.event_dims, new, kernel)
        renamed = [place.renamed() for place in there]
        x, p = self._with(values)
        weights = self._solved(x - p["mu"], p)
        bases = self._bases(self._covs(p), constant=False)
        scale = 1.0 / (functools.reduce(operator.mul, [b.values for b in bases]) + self._noise(p))
        eigen = [basis.dim for basis in bases]
        by_row = {basis.row: basis for basis in bases}
        expected: Any = new.mean
        parts = []  # covariances of new points and eigenvectors, by term and dim
        for term in terms:
            across = factors_of(term, there, known)
            found = weights
            for block, place in zip(across, known, strict=True):
                found = dot(block, found.relabel(place.own, place.dim), dim=[place.dim])
            expected = expected + found
            vectors = [by_row[place.own].vectors.relabel(place.own, place.dim) for place in known]
            blocks = zip(across, vectors, known, strict=True)
            parts.append([dot(block, v, dim=[place.dim]) for block, v, place in blocks])
        cov: Any = covariance_of(terms, there, renamed)
        variance: Any = jitter
        for term in terms:
            among = zip(factors_of(term, there, renamed), there, renamed, strict=True)
            each = [diagonal(block, [row.dim, col.dim]) for block, row, col in among]
            variance = variance + functools.reduce(operator.mul, each)
        for one, other in itertools.product(parts, repeat=2):
            both = [a * b for a, b in zip(one, other, strict=True)]
            variance = variance - dot(scale, *both, dim=eigen)
            moved = [
                b.relabel(row.dim, col.dim)
                for b, row, col in zip(other, there, renamed, strict=True)
            ]
            cov = cov - dot(scale, *one, *moved, dim=eigen)
        dims = tuple(place.dim for place in there)
        product = ProductDim(dims)
        flat = raveled(cov, there, renamed, product, product.rename())
        flat = with_diagonal(flat, product, product.rename(), jitter)
        base = MvNormal(laid_flat(expected, dims, product), flat)
        return NormalOverDims(base, variance)


class ProcessOverDims(Process, NormalOverDims):
    """Values of a Gaussian process over several dims, whose kernel is no single product."""

    def __init__(self, base: MvNormal, source: ProcessSource):
        super().__init__(base)
        self._source = source

    def _conditional(
        self, values: Any, new: NewPoints, kernel: Any, jitter: TensorLike
    ) -> NormalOverDims:
        own, base = self.event_dims, self.base
        terms, known, there = _new_grid(self._source, own, new, kernel)
        renamed = [place.renamed() for place in there]
        wanted = ProductDim([place.dim for place in there])
        before = base.row.rename(f"known {base.row._short}")
        across = raveled(covariance_of(terms, there, known), there, known, wanted, before)
        among = covariance_of(terms, there, renamed)
        among = raveled(among, there, renamed, wanted, wanted.rename())
        whole = base.covariance().relabel(base.row, before).relabel(base.col, before.rename())
        x = wrap(as_number(values, self._tensor_nodes, f"a value of {self.name}"))
        errors = (self._flat(x) - base.parameters["mu"]).relabel(base.row, before)
        mean = laid_flat(new.mean, wanted.factors, wanted)
        return NormalOverDims(
            conditioned(whole, errors, before, across, among, wanted, mean, jitter)
        )


def _new_grid(
    source: ProcessSource, own: Dims, new: NewPoints, kernel: Any
) -> tuple[list[KernelTerm], list[PointsAlong], list[PointsAlong]]:
    """Return the terms of a kernel, and the points of the known values and the new points."""
    terms = terms_of(source.kernel if kernel is None else kernel, own)
    here = places(own, dict(zip(own, own, strict=True)), source.points)
    known = [place.renamed(f"known {place.dim._short}") for place in here]
    return terms, known, places(own, new.dims, new.points)
