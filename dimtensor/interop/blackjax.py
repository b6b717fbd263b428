"""Log densities as pure JAX functions, for BlackJAX and whatever else takes one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dimtensor.errors import InputError
from dimtensor.interop.extras import require

if TYPE_CHECKING:
    from dimtensor.model.logdensity import LogDensity


def to_blackjax(model: LogDensity) -> Callable[[Any], Any]:
    """The log density as a pure function of a JAX vector.

    It computes in 64 bits whatever JAX's flag says, and returns a value of the dtype of the vector,
    so that it fits into the loops of samplers in 32 bits, too.
    """
    jax = require("jax", "jax", "to_blackjax")
    positional = model.functions.get("logp_on_jax").positional
    fixed = (*model.functions.late_lengths("logp_on_jax"), *positional.fixed)
    pure, size = positional.raw, model.size

    def log_density(x: Any) -> Any:
        if x.shape != (size,):
            raise InputError(
                f"the model has {size} unconstrained elements, the vector has shape {x.shape}; "
                "jax.vmap maps over more axes"
            )
        dtype = x.dtype
        with jax.enable_x64(True):
            value = pure(jax.numpy.asarray(x, dtype="float64"), *fixed)[0]
            return value.astype(dtype)

    return log_density
