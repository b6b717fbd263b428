"""Normal vectors over the product of dims, as distributions over these dims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dims, ProductDim, sort_dims, without
from dimtensor.dist.distribution import DimsLike, Distribution
from dimtensor.dist.given import KnownElements, refusal
from dimtensor.dist.joint.gaussian import MvNormal
from dimtensor.dist.parameters import as_number
from dimtensor.dist.supports import Support, real
from dimtensor.errors import DimError
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.random.generator import Generator
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class NormalOverDims(Distribution, state=("base", "_variance")):
    """Normal vector over the product of dims, as a distribution over these.

    Parameters
    ----------
    base : MvNormal
        Over a ProductDim.
    variance : DimTensor, optional
        Of the elements, if there is a faster formula than the diagonal of the covariance.
    """

    def __init__(self, base: MvNormal, variance: DimTensor | None = None):
        self.name, self.base, self._variance = base.name, base, variance
        self.event_dims = self._factors
        self._set_dims(sort_dims((*self._factors, *without(base.dims, (base.row,)))))

    @property
    def _factors(self) -> Dims:
        product = self.base.row
        return product.factors if isinstance(product, ProductDim) else (product,)

    @property
    def parameters(self) -> Mapping[str, DimTensor]:
        return self.base.parameters

    @property
    def support(self) -> Support:
        return real

    def _flat(self, x: DimTensor) -> DimTensor:
        return x.ravel(self._factors).relabel(ProductDim(self._factors), self.base.row)

    def _apart(self, x: DimTensor) -> DimTensor:
        return x.unravel(self.base.row)

    def logp(self, x: TensorLike) -> DimTensor:
        node = wrap(as_number(x, self._tensor_nodes, f"a value of {self.name}"))
        self._refuse_lacking(node)
        return self.base.logp(self._flat(node))

    def _refuse_lacking(self, x: DimTensor) -> None:
        """Refuse values that lack event dims."""
        missing = [dim for dim in self._factors if dim not in x.dims]
        if missing:
            raise DimError(
                f"a value of {self.name} lacks event dims",
                [("lacks", ", ".join(dim._short for dim in missing))],
            )

    def mean(self) -> DimTensor:
        return self._apart(self.base.mean())

    def variance(self) -> DimTensor:
        return self._apart(self.base.variance()) if self._variance is None else self._variance

    def covariance(self) -> DimTensor:
        """Return the covariances of the elements.

        Returns
        -------
        DimTensor
            Over the product of the event dims and the same one renamed.
        """
        return self.base.covariance()

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        whole = without(self._draw_dims(dims), self._factors)
        value, rng = self.base.draw(rng, without(whole, self.base.dims))
        return self._apart(value), rng

    def _draw_given(self, rng: Any, given: KnownElements, dims: DimsLike) -> tuple[DimTensor, Any]:
        own = self._factors
        if not set(given.at) <= set(own):
            raise refusal(self, given)
        lengths = [len(dim) for dim in own]
        places = [given.at.get(dim, range(len(dim))) for dim in own]
        grid = np.ravel_multi_index(np.meshgrid(*places, indexing="ij"), lengths)
        at = {self.base.row: tuple(map(int, grid.ravel()))}
        flat = KnownElements(self._flat(given.values), at)
        whole = without(self._draw_dims(dims), own)
        value, rng = self.base._draw_given(rng, flat, without(whole, self.base.dims))
        return self._apart(value), rng
