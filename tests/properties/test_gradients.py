"""Gradients of random programs against differences of xarray's values, and against JAX's own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr
from hypothesis import assume, given

import dimtensor as dt
from dimtensor.testing.strategies import Choose, DimSpec, dim_spec
from tests.backend_names import BACKENDS
from tests.effort import a_third
from tests.random_programs.choosing import Seeded
from tests.random_programs.programs import KINDS, RandomProgram
from tests.random_programs.strategies import DEFAULT_KINDS, programs, random_program

SMOOTH = tuple(kind for kind in DEFAULT_KINDS if KINDS[kind].smooth)
STEP = 1e-6


def generic(program: RandomProgram) -> list[xr.DataArray]:
    """Values of the inputs at which nothing ties by accident."""
    rng = np.random.default_rng(len(program.steps))
    return [i.array + rng.uniform(-0.05, 0.05, i.array.shape) for i in program.inputs]


def usable(program: RandomProgram) -> list[int]:
    """Numbers of the values that the loss is made of: floats that are finite."""
    arrays = program.arrays(generic(program))
    return [
        at
        for at, (tensor, array) in enumerate(zip(program.tensors(), arrays, strict=True))
        if tensor.dtype == "float64" and np.isfinite(array.values).all() and _moderate(array)
    ]


def _moderate(array: xr.DataArray) -> bool:
    return not array.size or float(np.abs(array.values).max()) < 50


def tensor_loss(
    program: RandomProgram, chosen: list[int], inputs: list[dt.DimTensor]
) -> dt.DimTensor:
    values = program.tensors(inputs)
    total = dt.zeros()
    for at in chosen:
        total = total + dt.sin(values[at] * (1 + 0.1 * at)).sum()
    return total


def array_loss(program: RandomProgram, chosen: list[int], inputs: list[xr.DataArray]) -> float:
    values = program.arrays(inputs)
    return float(sum(np.sin(values[at] * (1 + 0.1 * at)).sum(skipna=False).item() for at in chosen))


def slope(loss: Callable[[float], float]) -> float | None:
    """Derivative at 0 by central differences; None where the two sides differ."""
    low, middle, high = loss(-STEP), loss(0.0), loss(STEP)
    left, right = (middle - low) / STEP, (high - middle) / STEP
    if not np.isfinite(left + right) or abs(left - right) > 1e-3 * (1 + abs(left) + abs(right)):
        return None
    return (high - low) / (2 * STEP)


def symbolic_inputs(program: RandomProgram) -> list[dt.DimTensor]:
    return [dt.tensor(f"y{at}", dims=i.tensor.dims) for at, i in enumerate(program.inputs)]


def check_gradient(program: RandomProgram, backend: str = "python") -> None:
    chosen = usable(program)
    inputs, point = symbolic_inputs(program), generic(program)
    loss = tensor_loss(program, chosen, inputs)
    found = dt.function(inputs, [loss, *dt.grad(loss, inputs)], backend=backend)(*point)
    np.testing.assert_allclose(found[0].item(), array_loss(program, chosen, point), rtol=1e-9)
    rng = np.random.default_rng(7)
    for at, (x, gradient) in enumerate(zip(point, found[1:], strict=True)):
        assert set(gradient.dims) == set(x.dims)
        direction = x.copy(data=rng.normal(size=x.shape))

        def along(h: float, at: int = at, direction: xr.DataArray = direction) -> float:
            moved = [y + h * direction if n == at else y for n, y in enumerate(point)]
            return array_loss(program, chosen, moved)

        expected = slope(along)
        if expected is not None:
            inner = float((gradient.transpose(*x.dims).values * direction.values).sum())
            np.testing.assert_allclose(inner, expected, rtol=1e-4, atol=1e-5, err_msg=f"v{at}")


@a_third
@given(programs(kinds=SMOOTH, dtypes=["float64"], max_steps=6))
def test_gradient_is_the_slope(program: RandomProgram) -> None:
    assume(len(usable(program)) > len(program.inputs))
    check_gradient(program)


@a_third
@given(programs(kinds=SMOOTH, dtypes=["float64"], max_steps=5, anonymous=False))
def test_directional_derivatives_agree(program: RandomProgram) -> None:
    """jvp and vjp are each other's adjoint, and the Jacobian contains both."""
    # PyTensor has no derivative of the derivative of a product, which its pushforward needs
    program = program.only(lambda step: step.params.get("name") != "prod")
    chosen = usable(program)
    assume(len(chosen) > len(program.inputs))
    inputs, point = symbolic_inputs(program), generic(program)
    y = program.tensors(inputs)[chosen[-1]]
    x = inputs[0]
    names = {dim.name for dim in (*x.dims, *y.dims)}
    assume(not names & {f"{name}'" for name in names})
    rng = np.random.default_rng(3)
    tangent = dt.data(rng.normal(size=point[0].shape), dims=[_dim(x, n) for n in point[0].dims])
    weights = dt.sin(y * 3.0)
    forward = (dt.jvp(y, x, tangent) * weights).sum()
    backward = (dt.vjp(y, x, weights) * tangent).sum()
    jacobian = dt.jacobian(y, x)
    rows = {dim.name for dim in y.dims}
    columns = {dim: f"{dim.name}'" if dim.name in rows else dim.name for dim in x.dims}
    whole = (jacobian * weights * tangent.rename(columns)).sum()
    values = dt.function(inputs, [forward, backward, whole], backend="python")(*point)
    np.testing.assert_allclose(values[0].item(), values[1].item(), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(values[2].item(), values[1].item(), rtol=1e-8, atol=1e-10)


def _dim(x: dt.DimTensor, name: str) -> dt.Dim:
    return next(dim for dim in x.dims if dim.name == name)


@pytest.mark.parametrize(
    "backend",
    BACKENDS,
)
def test_tied_elements_share_the_gradient_of_an_extreme(backend: str) -> None:
    """Where copies of one element tie, the shares add up to the derivative."""
    x, s = dt.tensor("x", dims=dt.Dim("k", length=3)), dt.scalar("s")
    highest, lowest = dt.minimum(x, s).max(), dt.maximum(x, s).min()
    outputs = [*dt.grad(highest, [x, s]), *dt.grad(lowest, [x, s]), dt.grad(x.max(), x)]
    outputs.append(dt.jvp(highest, s, 1.0))
    f = dt.function([x, s], outputs, backend=backend)
    above = [value.values.tolist() for value in f(np.array([5.0, 1.0, 5.0]), 2.0)]
    assert [above[0], above[1], above[4], above[5]] == [[0, 0, 0], 1.0, [0.5, 0, 0.5], 1.0]
    below = [value.values.tolist() for value in f(np.array([0.0, 1.0, 7.0]), 2.0)]
    assert [below[2], below[3]] == [[0, 0, 0], 1.0]


def test_conditions_pass_no_nan_on() -> None:
    """What only decides has no derivative, not one of zero, which is NaN times a NaN."""
    x = dt.tensor("x", dims=dt.Dim("k", length=2))
    deciding = dt.sqrt(x).cumprod()
    for condition in (deciding > 0, dt.isfinite(deciding), deciding.astype("bool")):
        loss = (dt.where(condition, x, 3.0 * x) + dt.floor(deciding.astype("int64"))).sum()
        gradient = dt.grad(loss, x).eval({x: np.array([4.0, -1.0])})
        assert gradient.values[0] == 1.0
        assert np.isfinite(gradient.values).all()
    gradient = dt.grad((dt.sign(deciding) + x)[0], x).eval({x: np.array([4.0, -1.0])})
    assert gradient.values.tolist() == [1.0, 0.0]


def _known(choose: Choose, name: str | None) -> DimSpec:
    return dim_spec(choose, name, low=1, known=True)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(4))
def test_gradient_is_that_of_jax(seed: int) -> None:
    """JAX differentiates the forward program itself, which shares no gradient code with ours."""
    import jax

    program = random_program(Seeded(seed), SMOOTH, 8, ["float64"], _known)
    chosen = usable(program)
    inputs, point = symbolic_inputs(program), generic(program)
    loss = tensor_loss(program, chosen, inputs)
    ours = dt.function(inputs, dt.grad(loss, inputs), backend="jax")(*point)
    forward = dt.function(inputs, loss, backend="jax").positional
    with jax.enable_x64(True):
        arrays = [
            jax.numpy.asarray(x.transpose(*[dim.name for dim in dims]).values)
            for x, dims in zip(point, forward.input_dims, strict=True)
        ]
        theirs = jax.grad(lambda xs: forward.raw(*xs, *forward.fixed)[0])(arrays)
    for gradient, other, dims in zip(ours, theirs, forward.input_dims, strict=True):
        own = gradient.transpose(*[dim.name for dim in dims]).values
        np.testing.assert_allclose(own, np.asarray(other), rtol=1e-9, atol=1e-11)


@pytest.mark.fuzz
def test_gradients_of_many_programs() -> None:
    @a_third
    @given(programs(kinds=SMOOTH, dtypes=["float64"], max_steps=8))
    def run(program: RandomProgram) -> None:
        check_gradient(program)

    run()
