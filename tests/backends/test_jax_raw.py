"""The pure function that a function on JAX is: fit for JAX's own transformations, in both modes."""

import numpy as np
import pytest

import dimtensor as dt
from tests.optional import jax, jnp

pytestmark = pytest.mark.compiled

GROUPS, N = 5, 40


@pytest.fixture(scope="module")
def parts():
    """A log density with a look-up, slices, sums of products, a matrix: value and gradient."""
    rng = np.random.default_rng(4)
    group, time = dt.Dim("group", length=GROUPS), dt.Dim("time", length=6)
    obs = dt.Dim("obs", length=N)
    of = dt.data(rng.integers(0, GROUPS, N), dims=obs, categories=group, name="of")
    y = dt.data(rng.normal(size=N), dims=obs, name="y")
    effect, walk = dt.tensor("effect", dims=group), dt.tensor("walk", dims=time)
    sigma = dt.scalar("sigma")
    z = (y - effect.sel(group=of)) / sigma
    steps = walk.diff("time")
    loss = (
        (-0.5 * z**2 - dt.log(sigma)).sum()
        - (steps**2).sum()
        + walk.isel(time=2) * effect.isel(group=-1)
        - (walk.isel(time=slice(None, None, -2)) ** 3).sum()
    )
    inputs = [effect, walk, sigma]
    f = dt.function(inputs, [loss, *dt.grad(loss, inputs)], backend="jax").positional
    point = (rng.normal(size=GROUPS), rng.normal(size=6), np.asarray(0.7))
    return f, point


def density(f):
    return lambda *arrays: f.raw(*arrays, *f.fixed)[0]


@pytest.mark.parametrize("bits", [64, 32])
def test_its_gradient_is_ours(parts, bits):
    f, point = parts
    _, *ours = f(*point)
    with jax.enable_x64(bits == 64):
        theirs = jax.jit(jax.grad(density(f), (0, 1, 2)))(*point)
        assert all(g.dtype == f"float{bits}" for g in theirs)
        assert density(f)(*point).dtype == f"float{bits}"
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12 if bits == 64 else 3e-5)


@pytest.mark.parametrize("bits", [64, 32])
def test_it_maps_over_new_axes(parts, bits):
    f, point = parts
    rng = np.random.default_rng(5)
    many = [x + 0.1 * rng.normal(size=(3, *x.shape)) for x in point]
    with jax.enable_x64(bits == 64):
        data = [jnp.asarray(x) for x in f.fixed]
        over = jax.vmap(f.raw, in_axes=[0, 0, 0] + [None] * len(data))
        mapped = jax.jit(over)(*many, *data)
    for at in range(3):
        alone = f(*[x[at] for x in many])
        for one, other in zip(alone, mapped, strict=True):
            np.testing.assert_allclose(
                other[at], one, rtol=1e-12 if bits == 64 else 1e-4, atol=1e-4
            )


def test_it_maps_over_shards(parts):
    from jax.sharding import Mesh, PartitionSpec

    f, point = parts
    many = [np.stack([x, x + 0.1]) for x in point]
    mesh = Mesh(np.array(jax.devices()[:1]), ("chain",))
    split, whole = PartitionSpec("chain"), PartitionSpec()
    with jax.enable_x64(True):
        data = [jnp.asarray(x) for x in f.fixed]
        over = jax.vmap(f.raw, in_axes=[0, 0, 0] + [None] * len(data))
        sharded = jax.jit(
            jax.shard_map(
                over, mesh=mesh, in_specs=(*[split] * 3, *[whole] * len(data)), out_specs=split
            )
        )
        mapped = sharded(*many, *data)
    for at in range(2):
        for one, other in zip(f(*[x[at] for x in many]), mapped, strict=True):
            np.testing.assert_allclose(other[at], one, rtol=1e-12)


@pytest.mark.slow
def test_second_derivatives_pass_through_updates():
    """The derivative of an update through positions is a look-up, and that of a slice a pad."""
    dim, at = dt.Dim("dim", length=7), dt.Dim("at", length=3)
    x, y = dt.tensor("x", dims=dim), dt.tensor("y", dims=at)
    where = dt.data(np.array([5, -7, 5]), dims=at)
    changed = x.isel(dim=where).inc(y)
    loss = (changed**3).sum() + (x.isel(dim=slice(5, 1, -2)) ** 4).sum()
    f = dt.function([x, y], dt.grad(loss, [x, y]), backend="jax").positional
    rng = np.random.default_rng(6)
    point = rng.normal(size=7), rng.normal(size=3)

    def by_hand(x, y):
        return (x.at[jnp.array([5, 0, 5])].add(y) ** 3).sum() + (x[jnp.array([5, 3])] ** 4).sum()

    with jax.enable_x64(True):
        ours = jax.jacobian(lambda *xs: f.raw(*xs, *f.fixed)[0], (0, 1))(*point)
        wanted = jax.hessian(by_hand, (0, 1))(*map(jnp.asarray, point))[0]
    for one, other in zip(ours, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def test_values_of_another_dtype_are_taken_in_that_of_the_graph(parts):
    f, point = parts
    halves = [x.astype("float32") for x in point]
    with jax.enable_x64(True):
        assert all(result.dtype == "float64" for result in f.raw(*halves, *f.fixed))


def test_32_bits_leave_the_filters_of_warnings_alone(parts):
    import warnings

    f, point = parts
    before = list(warnings.filters)
    with jax.enable_x64(False):
        f.raw(*point, *f.fixed)
    assert warnings.filters == before


def test_guards_against_infinite_derivatives_stay():
    """JAX differentiates what it is given: slopes need choices that values can do without."""
    k = dt.Dim("k", length=3)
    p, a, b = dt.tensor("p", dims=k), dt.scalar("a"), dt.scalar("b")
    is_there = p > 0
    inverse = dt.where(is_there, 1.0 / dt.where(is_there, p, 1.0), 0.0)
    either = dt.log(dt.where(p < 2, a, b))  # which is a everywhere
    f = dt.function([p, a, b], (inverse + either).sum(), backend="jax").positional
    with jax.enable_x64(True):
        arrays = [jnp.asarray(x) for x in ([0.0, 0.5, 0.25], 2.0, 0.0)]
        found = jax.grad(density(f), argnums=(0, 1, 2))(*arrays)
    expected = [0.0, -4.0, -16.0], 3 / 2, 0.0
    for slope, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(slope, wanted, rtol=1e-15)
