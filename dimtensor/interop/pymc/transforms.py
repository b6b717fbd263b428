"""Supports as PyMC transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dimtensor.tensor.positional.border import from_shaped

if TYPE_CHECKING:
    from dimtensor.interop.pymc.custom import CustomDistribution


def support_transform(custom: CustomDistribution) -> Any:
    """Return the PyMC transform of the support of a distribution.

    Parameters
    ----------
    custom : CustomDistribution

    Returns
    -------
    pymc.logprob.transforms.Transform
    """
    from pymc.logprob.transforms import Transform

    class SupportTransform(Transform):
        def forward(self, value: Any, *inputs: Any) -> Any:
            support, dims = custom.support(value, inputs[2:])  # after the generator and the shape
            found = support.unconstrain(from_shaped(value, dims))
            return found.expand(support.free_dims(dims)).to_shaped(list(support.free_dims(dims)))

        def backward(self, value: Any, *inputs: Any) -> Any:
            support, dims = custom.support(value, inputs[2:])
            found, _ = support.constrain(from_shaped(value, support.free_dims(dims)))
            return found.expand(dims).to_shaped(list(dims))

        def log_jac_det(self, value: Any, *inputs: Any) -> Any:
            support, dims = custom.support(value, inputs[2:])
            x = from_shaped(value, support.free_dims(dims))
            _, slope = support.constrain(x)
            return (0.0 * x.sum() if slope is None else slope).to_shaped([])

    made = SupportTransform()
    made.name = "support"
    return made
