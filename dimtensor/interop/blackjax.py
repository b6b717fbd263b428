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
    so that it fits into the loops of samplers in 32 bits, too. Where a check fails it is -inf.
    """
    jax = require("jax", "jax", "to_blackjax")
    positional = model.functions.get("logp_on_jax").positional
    fixed = (*model.functions.late_lengths("logp_on_jax"), *positional.fixed)
    pure, size = positional.raw, model.size

    def exact(x: Any) -> Any:
        value, *fine = pure(x, *fixed)
        for one in fine:  # a pure function cannot raise; a sampler rejects the point
            value = jax.numpy.where(one, value, -jax.numpy.inf)
        return value

    @jax.custom_jvp
    def in_dtype_of(x: Any) -> Any:
        with jax.enable_x64(True):
            return exact(x.astype("float64")).astype(x.dtype)

    # The rule keeps the whole gradient inside of the 64 bits; left to itself JAX would transpose
    # the operations where the flag is the caller's.
    @in_dtype_of.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (tangent,) = primals, tangents
        with jax.enable_x64(True):
            value, gradient = jax.value_and_grad(exact)(x.astype("float64"))
            value, gradient = value.astype(x.dtype), gradient.astype(x.dtype)
        return value, jax.numpy.dot(gradient, tangent)

    def log_density(x: Any) -> Any:
        x = jax.numpy.asarray(x)
        if x.shape != (size,):
            raise InputError(
                f"the model has {size} unconstrained elements, the vector has {x.shape}; "
                "jax.vmap maps over more axes"
            )
        return in_dtype_of(x)

    return log_density
