"""Scalar ops that PyTensor does not translate to JAX: special functions, and graphs inside of ops.

Bessel functions that ``jax.scipy`` lacks are computed by SciPy on the host, through a callback that
works under ``jit`` and ``vmap``, with their derivatives: formulas 10.6.1 and 10.29.1 of the NIST
Digital Library of Mathematical Functions. No distribution is made of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from dimtensor.backends.jax.graph import graph_function
from dimtensor.backends.jax.quantiles import beta_inverse, erfcx, gamma_inverse, ndtri_exp

Translate = Callable[[Any], Callable[..., Any]]


def own_translation(node: Any, translate: Translate) -> Callable[..., Any] | None:
    """Return the JAX function of a node, None if this module has none.

    Parameters
    ----------
    node : Apply
    translate : callable
        From a node of a graph inside of the op to what runs it.
    """
    from pytensor.compile.builders import OpFromGraph
    from pytensor.scalar.basic import Add, Mul
    from pytensor.tensor.elemwise import Elemwise

    op = node.op
    if isinstance(op, OpFromGraph):
        return graph_function(op.fgraph, translate)
    scalar_op = op.scalar_op if isinstance(op, Elemwise) else op
    if len(node.inputs) == 1 and isinstance(scalar_op, (Add, Mul)):
        return lambda x: x  # JAX's own take two operands
    translations = _translations()
    for op_class in type(scalar_op).__mro__:
        if op_class in translations:
            return translations[op_class](scalar_op, translate)
    return None


@cache
def _translations() -> dict[type, Callable[[Any, Translate], Callable[..., Any]]]:
    """Functions by class of scalar op; nothing is registered with PyTensor's dispatcher.

    It is common to the process: other functions keep PyTensor's translations.
    """
    from pytensor.scalar import math as scalars
    from pytensor.scalar.basic import Complex, Composite, Exp2, RoundHalfAwayFromZero
    from pytensor.scalar.loop import ScalarLoop

    from dimtensor.ops.special import LogNdtr, Vanishing

    host = {
        scalars.J0: "j0",
        scalars.J1: "j1",
        scalars.Jv: "jv",
        scalars.Ive: "ive",
        scalars.Kve: "kve",
    }

    def always(function: Callable[..., Any]) -> Callable[[Any, Translate], Callable[..., Any]]:
        return lambda op, translate: function

    def made(make: Callable[[], Any]) -> Callable[[Any, Translate], Callable[..., Any]]:
        make = cache(make)  # where it is needed: SciPy takes longer to import than all else here
        return lambda op, translate: make()

    return {
        **{kind: made(partial(_host_function, name)) for kind, name in host.items()},
        scalars.GammaIncInv: made(partial(gamma_inverse, upper=False)),
        scalars.GammaIncCInv: made(partial(gamma_inverse, upper=True)),
        scalars.BetaIncInv: made(beta_inverse),
        scalars.Erfcx: made(erfcx),
        scalars.NdtriExp: made(ndtri_exp),
        Complex: always(_complex),
        LogNdtr: made(_log_ndtr),
        RoundHalfAwayFromZero: always(_round_away),
        scalars.Softplus: always(_softplus),
        scalars.TriGamma: always(_trigamma),
        scalars.Owens_t: made(_owens_t),
        scalars.I0: always(partial(_bessel, "i0e")),
        scalars.I1: always(partial(_bessel, "i1e")),
        Exp2: always(_exp2),
        Vanishing: always(_zero),
        Composite: lambda op, translate: graph_function(op.fgraph, translate),
        ScalarLoop: lambda op, translate: _elementwise_loop(
            op, graph_function(op.fgraph, translate)
        ),
    }


def _zero(derivative: Any, slope: Any) -> Any:
    import jax.numpy as jnp

    one, _ = jnp.broadcast_arrays(derivative, slope)
    return jnp.zeros_like(one)


def _complex(real: Any, imag: Any) -> Any:
    import jax
    import jax.numpy as jnp

    return jax.lax.complex(*jnp.broadcast_arrays(real, imag))


def _log_ndtr() -> Callable[..., Any]:
    """log_ndtr through erfcx on the left; JAX's own loses digits where its series start, at 8."""
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import erfc

    scaled = erfcx()

    @jax.custom_jvp
    def log_ndtr(x: Any) -> Any:
        x = jnp.asarray(x)
        dtype = jnp.result_type(x, jnp.float32)
        x = x.astype(dtype)
        root = jnp.asarray(np.sqrt(0.5), dtype)
        left = jnp.log(scaled(-jnp.minimum(x, 0) * root) / 2) - x * x / 2
        right = jnp.log1p(-erfc(x * root) / 2)
        return jnp.where(x < -1, left, right)

    @log_ndtr.defjvp
    def jvp(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        value = log_ndtr(x)
        x = jnp.asarray(x, value.dtype)
        slope = jnp.asarray(np.sqrt(2 / np.pi), x.dtype)
        return value, t * slope / scaled(-x * jnp.asarray(np.sqrt(0.5), x.dtype))

    return log_ndtr


def _softplus(x: Any) -> Any:
    """Compute the softplus with one exponential, of a nonpositive number.

    Both branches have the derivatives of the whole, at zero too.
    """
    import jax.numpy as jnp

    x = jnp.asarray(x, jnp.result_type(x, float))
    above = x >= 0
    return jnp.where(above, x, 0) + jnp.log1p(jnp.exp(jnp.where(above, -x, x)))


def _trigamma(x: Any) -> Any:
    """JAX's is NaN at infinity."""
    import jax.numpy as jnp
    from jax.scipy.special import polygamma

    x = jnp.asarray(x, jnp.result_type(x, jnp.float32))
    infinite = jnp.isposinf(x)
    return jnp.where(infinite, 0, polygamma(1, jnp.where(infinite, 1, x)))


def _owens_t() -> Callable[..., Any]:
    """JAX's is NaN where h is 0 and a infinite: there it is arctan(a) / 2π."""
    import jax.numpy as jnp
    from jax.scipy.special import owens_t

    def function(h: Any, a: Any) -> Any:
        dtype = jnp.result_type(h, a, jnp.float32)
        h, a = (x.astype(dtype) for x in jnp.broadcast_arrays(h, a))
        at_an_end = (h == 0) & jnp.isinf(a)
        inside = owens_t(h, jnp.where(at_an_end, 0, a))
        return jnp.where(at_an_end, jnp.sign(a) / 4, inside)

    return function


def _bessel(scaled: str, x: Any) -> Any:
    """By the scaled function; the exponential overflows before the product does."""
    import jax.numpy as jnp
    import jax.scipy.special as functions

    x = jnp.asarray(x, jnp.result_type(x, jnp.float32))
    root = jnp.exp(jnp.abs(x) / 2)
    return getattr(functions, scaled)(x) * root * root


def _exp2(x: Any) -> Any:
    """In single precision JAX's is the exponential of a rounded product."""
    import jax.numpy as jnp

    x = jnp.asarray(x, jnp.result_type(x, jnp.float32))
    return jnp.power(jnp.asarray(2, x.dtype), x)


def _round_away(x: Any) -> Any:
    import jax.numpy as jnp

    return jnp.copysign(jnp.floor(jnp.abs(x) + 0.5), x)


def _on_host(name: str, slope: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a SciPy function for JAX, differentiable in its last operand.

    ``slope`` gets the operands and the value and gives the derivative.
    """
    import jax
    import jax.numpy as jnp
    import scipy.special
    from jax.custom_derivatives import SymbolicZero

    compute = getattr(scipy.special, name)

    def on_host(*operands: Any) -> np.ndarray:
        with np.errstate(all="ignore"):
            return as_bits(np.asarray(compute(*(as_floats(np.asarray(x)) for x in operands))))

    @jax.custom_jvp
    def function(*operands: Any) -> Any:
        dtype = jnp.result_type(*operands, jnp.float32)
        operands = tuple(x.astype(dtype) for x in jnp.broadcast_arrays(*operands))
        bits = [jax.lax.bitcast_convert_type(x, jnp.uint32) for x in operands]
        if dtype == jnp.float32:  # with a last axis, as the two halves of a double have
            bits = [x[..., None] for x in bits]
        result = jax.ShapeDtypeStruct(bits[0].shape, jnp.uint32)
        found = jax.pure_callback(on_host, result, *bits, vmap_method="broadcast_all")
        found = found[..., 0] if dtype == jnp.float32 else found
        return jax.lax.bitcast_convert_type(found, dtype)

    def jvp(primals: Any, tangents: Any) -> Any:
        if not all(isinstance(t, SymbolicZero) for t in tangents[:-1]):
            from dimtensor.errors import GraphError

            raise GraphError(f"{name} is differentiable in its last operand only")
        value = function(*primals)
        tangent = tangents[-1]
        if isinstance(tangent, SymbolicZero):
            return value, jnp.zeros_like(value)
        return value, slope(*primals, value) * tangent

    function.defjvp(jvp, symbolic_zeros=True)
    return function


def as_floats(bits: np.ndarray) -> np.ndarray:
    """Floats of their bits, in one or two integers along the last axis."""
    dtype = np.float32 if bits.shape[-1] == 1 else np.float64
    return np.ascontiguousarray(bits, dtype=np.uint32).view(dtype)[..., 0]


def as_bits(values: np.ndarray) -> np.ndarray:
    """Return the bits of floats.

    JAX's 64-bit mode is a setting of a thread, and callbacks run in others: integers of 32 bits are
    what comes through unchanged.
    """
    return np.ascontiguousarray(values[..., None]).view(np.uint32)


@cache
def _host_functions() -> dict[str, Callable[..., Any]]:
    import jax.numpy as jnp

    jv = _on_host("jv", lambda v, x, y: (jv(v - 1, x) - jv(v + 1, x)) / 2)
    ive = _on_host("ive", lambda v, x, y: (ive(v - 1, x) + ive(v + 1, x)) / 2 - jnp.sign(x) * y)
    kve = _on_host("kve", lambda v, x, y: y - (kve(v - 1, x) + kve(v + 1, x)) / 2)
    return {
        "j0": _on_host("j0", lambda x, y: -jv(1.0, x)),
        "j1": _on_host("j1", lambda x, y: (jv(0.0, x) - jv(2.0, x)) / 2),
        "jv": jv,
        "ive": ive,
        "kve": kve,
    }


def _host_function(name: str) -> Callable[..., Any]:
    return _host_functions()[name]


def _elementwise_loop(op: Any, step: Callable[..., Any]) -> Callable[..., Any]:
    """PyTensor's ScalarLoop applied to arrays: each element stops on its own.

    Gradients of special functions with respect to their shapes are such series.
    """
    import jax
    import jax.numpy as jnp

    n_states = len(op.outputs) - op.is_while
    dtypes = [variable.type.dtype for variable in op.inputs]

    def run(n_steps: Any, *operands: Any) -> Any:
        shape = jnp.broadcast_shapes(jnp.shape(n_steps), *(jnp.shape(x) for x in operands))
        arrays = [
            jnp.broadcast_to(jnp.asarray(x, dtype), shape)
            for x, dtype in zip(operands, dtypes, strict=True)
        ]
        states, constants = arrays[:n_states], arrays[n_states:]
        limit = jnp.broadcast_to(jnp.asarray(n_steps), shape)

        def unfinished(carry: Any) -> Any:
            at, finished, _ = carry
            return jnp.any(~finished & (at < limit))

        def advance(carry: Any) -> Any:
            at, finished, states = carry
            running = ~finished & (at < limit)
            updates = list(step(*states, *constants))
            until = updates.pop() if op.is_while else False
            states = [
                jnp.where(running, jnp.asarray(new, old.dtype), old)
                for new, old in zip(updates, states, strict=True)
            ]
            return at + 1, finished | (running & until), states

        # a loop of no steps counts as finished, as in PyTensor
        start = (jnp.zeros((), limit.dtype), limit <= 0, states)
        _, finished, states = jax.lax.while_loop(unfinished, advance, start)
        results = [*states, finished] if op.is_while else states
        return results if len(results) > 1 else results[0]

    return run
