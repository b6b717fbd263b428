"""Comparing log densities of a model of PyMC and one of dimtensor."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytensor
from pytensor.compile.mode import Mode

import dimtensor as dt

# PyTensor's interpreter, after the rewrites that log densities need to be stable
MODE = Mode("py", "fast_compile").including("stabilize")


class Expected(NamedTuple):
    """What PyMC says at a point: values by name, log densities, and the gradient."""

    values: dict[str, np.ndarray]
    logp: float
    logp_of_unconstrained: float
    gradient: np.ndarray


def expected_of(theirs: Any, with_gradient: bool = False, seed: int = 1) -> Expected:
    """What PyMC says at a point that chance picks."""
    rng = np.random.default_rng(seed)
    point = {}
    for name, value in theirs.initial_point().items():
        noise = rng.normal(size=np.shape(value), scale=0.3)
        point[name] = value + noise if value.dtype.kind == "f" else value
    inputs = list(theirs.value_vars)
    # by itself PyTensor keeps the number 10 in a byte, and its logarithm in single precision
    with pytensor.config.change_flags(cast_policy="numpy+floatX"):
        outputs = theirs.replace_rvs_by_values(list(theirs.free_RVs))
        outputs += [theirs.logp(jacobian=False), theirs.logp()]
        outputs += [theirs.dlogp()] if with_gradient else []
        f = pytensor.function(inputs, outputs, mode=MODE, on_unused_input="ignore")
    found = f(*[point[v.name] for v in inputs])
    count = len(theirs.free_RVs)
    values = {v.name: x for v, x in zip(theirs.free_RVs, found, strict=False)}
    gradient = found[count + 2] if with_gradient else np.empty(0)
    return Expected(values, float(found[count]), float(found[count + 1]), gradient)


def with_axes(theirs: Any, values: dict[str, np.ndarray]) -> dict[str, Any]:
    """Values with the names that PyMC's results have for their axes."""
    found = {}
    for name, value in values.items():
        given = theirs.named_vars_to_dims.get(name) or ()
        axes = tuple(given) or tuple(f"{name}_dim_{at}" for at in range(value.ndim))
        found[name] = (axes, value)
    return found


def check_agreement(theirs: Any, ours: Any, unconstrained: bool, rotated: bool = False) -> None:
    """Check that log densities agree, those of the unconstrained space and gradients if asked."""
    expected = expected_of(theirs, with_gradient=unconstrained)
    assert set(ours.free) == {v.name for v in theirs.free_RVs}
    assert set(ours.observed) == {v.name for v in [*theirs.observed_RVs, *theirs.potentials]}
    values = with_axes(theirs, expected.values)
    total = sum(float(x.sum()) for x in ours.logp(values).values())
    np.testing.assert_allclose(total, expected.logp, rtol=1e-10, atol=1e-10)
    if not unconstrained:
        return
    density = ours.log_density()
    value, gradient = density.logp_and_grad(density.unconstrain(values))
    np.testing.assert_allclose(value, expected.logp_of_unconstrained, rtol=1e-10, atol=1e-10)
    # the elements of both vectors stand in other orders
    one, other = np.sort(gradient), np.sort(expected.gradient)
    if rotated:  # the bases of zero-sum vectors differ
        one, other = np.linalg.norm(one), np.linalg.norm(other)
    np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


def mode_of_kernels():
    """Arguments of PyMC's compilation by kernels; none without the plug-in, where PyMC compiles."""
    return {"mode": dt.pytensor_mode()} if "pytensor_mode" in dir(dt) else {}
