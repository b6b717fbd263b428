"""Supports as transforms of PyMC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dimtensor.dims import Dims
from dimtensor.dist.distribution import Distribution
from dimtensor.dist.supports import Support
from dimtensor.tensor.inputs import tensor
from dimtensor.tensor.positional.border import from_shaped


def support_transform(name: str, dims: Dims, distribution: Callable[[Any], Distribution]) -> Any:
    """The transform of PyMC that the support of a distribution stands for.

    Parameters
    ----------
    name : str
    dims : tuple of Dim
        Those of the axes of a value.
    distribution : callable
        Of positional parameters.

    Returns
    -------
    pymc.logprob.transforms.Transform
    """
    from pymc.logprob.transforms import Transform

    x = tensor(name, dims=dims)

    class SupportTransform(Transform):
        def _support(self, inputs: tuple[Any, ...]) -> tuple[Support, Dims]:
            _, _, *parameters = inputs  # the generator and the shape come first
            support = distribution(parameters).support.resolve(x)
            return support, support.free_dims(dims)

        def forward(self, value: Any, *inputs: Any) -> Any:
            support, free = self._support(inputs)
            found = support.unconstrain(from_shaped(value, dims))
            return found.expand(free).to_shaped(list(free))

        def backward(self, value: Any, *inputs: Any) -> Any:
            support, free = self._support(inputs)
            found, _ = support.constrain(from_shaped(value, free))
            return found.expand(dims).to_shaped(list(dims))

        def log_jac_det(self, value: Any, *inputs: Any) -> Any:
            support, free = self._support(inputs)
            x = from_shaped(value, free)
            _, slope = support.constrain(x)
            return (0.0 * x.sum() if slope is None else slope).to_shaped([])

    made = SupportTransform()
    made.name = "support"
    return made
