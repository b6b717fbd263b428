"""Loops of random bodies: values, derivatives of all kinds, batches, and options of gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import dimtensor as dt
from tests.backend_names import LONG_JAX_COMPILED
from tests.effort import a_fiftieth, a_tenth, a_twentieth
from tests.optional import jax, jnp
from tests.tensor.control.bodies import Body, K, Loop, Unrolled, bodies

seeds = st.integers(0, 2**16)
SHORT = st.sampled_from([0, 1, 2, 5])
KNOWN = st.booleans()


def many(check: Callable[..., None], *strategies: Any) -> None:
    """Far more examples than every run has time for."""

    @a_twentieth
    @given(st.data())
    def run(data: Any) -> None:
        check(*(data.draw(s) for s in strategies))

    run()


def axes_of(x: dt.DimTensor) -> tuple[str, ...]:
    return tuple(name for name in ("time", "k") if name in x.sizes)


def arrays_of(loop: Loop, outputs: list[dt.DimTensor], feed: Any, backend: str) -> list[np.ndarray]:
    f = dt.function(loop.inputs, outputs, backend=backend)
    found = f(*(feed[x] for x in loop.inputs))
    return [y.transpose(*axes_of(x)).values for x, y in zip(outputs, found, strict=True)]


def assert_close(found: Any, expected: Any, rtol: float = 1e-8) -> None:
    """Relative to the largest element: the sums that an element is of may cancel."""
    for one, other in zip(found, expected, strict=True):
        other = np.asarray(other)
        assert np.shape(one) == other.shape
        scale = max(1.0, np.abs(other).max(initial=0.0))
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * scale)


def gradients_of_jax(loop: Loop, arrays: list[np.ndarray], skipped: int = 0) -> list[np.ndarray]:
    def loss(arrays: list[Any]) -> Any:
        stop = jax.lax.stop_gradient
        return Unrolled(loop.body, jnp, arrays).loss(skipped, lambda x: jax.tree.map(stop, x))

    with jax.enable_x64(True):
        return [np.asarray(g) for g in jax.grad(loss)([jnp.asarray(x) for x in arrays])]


def gradients(loop: Loop, arrays: list[np.ndarray], backend: str = "python") -> list[np.ndarray]:
    return arrays_of(loop, dt.grad(loop.loss(), loop.inputs), loop.feed(arrays), backend)


# -- values ----------------------------------------------------------------------------------------


def check_values(body: Body, length: int, known: bool, seed: int, backend: str = "python") -> None:
    """Each step by itself, from the states before it: rounding does not add up over the steps."""
    loop = Loop(body, length if known else None)
    arrays = loop.arrays(np.random.default_rng(seed), length)
    outputs = [*loop.last, *loop.before, *loop.traces]
    found = arrays_of(loop, outputs, loop.feed(arrays), backend)
    n = len(body.states)
    last, before, traces = found[:n], found[n : 2 * n], found[2 * n :]
    steps = Unrolled(body, np, arrays)
    states, past = steps.start()
    for t in steps.order():
        assert_close([x[t] for x in before], states, 1e-11)
        states, past, traced = steps.step(t, [x[t] for x in before], past)
        assert_close([x[t] for x in traces], traced, 1e-11)
    assert_close(last, states, 1e-11)


@a_tenth
@given(bodies(), st.sampled_from([0, 1, 2, 7, 60]), KNOWN, seeds)
def test_values(body, length, known, seed):
    check_values(body, length, known, seed)


@pytest.mark.fuzz
def test_many_values():
    many(check_values, bodies(), st.sampled_from([0, 1, 2, 7, 60]), KNOWN, seeds)


# -- derivatives -----------------------------------------------------------------------------------


def check_gradients(body, length, known, seed, backend="python"):
    loop = Loop(body, length if known else None)
    arrays = loop.arrays(np.random.default_rng(seed), length)
    assert_close(gradients(loop, arrays, backend), gradients_of_jax(loop, arrays))


@a_fiftieth
@given(bodies(), SHORT, KNOWN, seeds)
def test_gradients(body, length, known, seed):
    check_gradients(body, length, known, seed)


@pytest.mark.fuzz
def test_many_gradients():
    many(check_gradients, bodies(), SHORT, KNOWN, seeds)


def check_modes(body, length, seed):
    """Forward and reverse mode, and forward over reverse against differences of gradients."""
    loop, rng = Loop(body), np.random.default_rng(seed)
    arrays = loop.arrays(rng, length)
    tangents = loop.arrays(rng, length)
    moved = [dt.tensor(f"d_{x.name}", dims=x.dims) for x in loop.inputs]
    reverse = dt.grad(loop.loss(), loop.inputs)
    change = dt.jvp(loop.loss(), loop.inputs, moved)
    feed = loop.feed(arrays)
    feed |= dict(zip(moved, loop.feed(tangents).values(), strict=True))
    forward, *backward = dt.evaluate([change, *reverse], feed)
    expected = sum(
        float((g * t).sum()) for g, t in zip(backward, loop.feed(tangents).values(), strict=True)
    )
    assert_close([forward.values], [expected])


@a_fiftieth
@given(bodies(), SHORT, seeds)
def test_forward_mode_is_reverse_mode(body, length, seed):
    check_modes(body, length, seed)


@pytest.mark.fuzz
def test_many_forward_modes():
    many(check_modes, bodies(), SHORT, seeds)


def check_curvature(body, length, seed):
    """The slope of a gradient along a direction, by a second reverse pass and by JAX."""
    loop, rng = Loop(body), np.random.default_rng(seed)
    arrays, directions = loop.arrays(rng, length), loop.arrays(rng, length)
    feed = loop.feed(arrays)
    along = [dt.tensor(f"d_{x.name}", dims=x.dims) for x in loop.inputs]
    slope = sum(
        (g * d).sum() for g, d in zip(dt.grad(loop.loss(), loop.inputs), along, strict=True)
    )
    feed |= dict(zip(along, loop.feed(directions).values(), strict=True))
    found = dt.evaluate(dt.grad(slope, loop.inputs), feed)
    found = [y.transpose(*axes_of(x)).values for x, y in zip(loop.inputs, found, strict=True)]

    def loss(arrays):
        return Unrolled(body, jnp, arrays).loss()

    with jax.enable_x64(True):
        point = [jnp.asarray(x) for x in arrays]
        _, expected = jax.jvp(jax.grad(loss), (point,), ([jnp.asarray(x) for x in directions],))
    assert_close(found, expected, 1e-7)


@a_fiftieth
@given(bodies(), SHORT, seeds)
def test_second_derivatives(body, length, seed):
    check_curvature(body, length, seed)


@pytest.mark.fuzz
def test_many_second_derivatives():
    many(check_curvature, bodies(), SHORT, seeds)


# -- batches ---------------------------------------------------------------------------------------


def check_batches(body, length, grown, seed):
    """Dims that some inputs have in addition, through vectorize and through a compiled function."""
    loop, rng = Loop(body), np.random.default_rng(seed)
    draws = [loop.arrays(rng, length) for _ in range(3)]
    outputs = [*loop.last, *loop.traces, dt.grad(loop.loss(), loop.a)]
    names = [x.name for x in loop.inputs]
    chosen = {name for at, name in enumerate(names) if grown >> at & 1}
    first, *_ = feeds = [dict(zip(names, loop.feed(arrays).values(), strict=True))
                         for arrays in draws]  # fmt: skip
    feeds = [{x: feed[x] if x in chosen else first[x] for x in names} for feed in feeds]
    whole = {
        x: xr.concat([feed[x] for feed in feeds], "draw") if x in chosen else first[x]
        for x in names
    }
    f = dt.function(loop.inputs, outputs, backend="python")
    each = [f(*feed.values()) for feed in feeds]
    by_call = f(*whole.values())
    draw = dt.Dim("draw", length=3)
    batched = dt.vectorize(outputs, {x: draw for x in loop.inputs if x.name in chosen})
    used = [x.name for x in dt.inputs_of(batched)]
    by_graph = dt.evaluate(batched, {x: whole[x] for x in used})
    for found in (by_call, by_graph):
        for at, single in enumerate(each):
            for one, other in zip(found, single, strict=True):
                one = one.isel(draw=at) if "draw" in one.dims else one
                assert_close([one.transpose(*other.dims).values], [other.values])


@a_fiftieth
@given(bodies(), SHORT, st.integers(1, 255), seeds)
def test_batches_are_each_on_their_own(body, length, grown, seed):
    check_batches(body, length, grown, seed)


@pytest.mark.fuzz
def test_many_batches():
    many(check_batches, bodies(), SHORT, st.integers(1, 255), seeds)


# -- options of gradients --------------------------------------------------------------------------

CHECKPOINTS = st.sampled_from(
    [*(dt.checkpoint_levels(n) for n in (1, 2, 3)), (2,), (3,), (2, 4), (2, 6)]
)


def check_checkpoints(body, length, checkpoint, known, seed):
    plain = Loop(body, length if known else None)
    saving = Loop(body, length if known else None, checkpoint=checkpoint)
    arrays = plain.arrays(np.random.default_rng(seed), length)
    one = [*saving.last, *saving.before, *saving.traces]
    other = [*plain.last, *plain.before, *plain.traces]
    found = [
        arrays_of(loop, outputs, loop.feed(arrays), "python")
        for loop, outputs in ((saving, one), (plain, other))
    ]
    assert_close(*found, 1e-11)
    assert_close(gradients(saving, arrays), gradients(plain, arrays))


@a_fiftieth
@given(bodies(), st.sampled_from([0, 1, 2, 5, 13]), CHECKPOINTS, KNOWN, seeds)
def test_checkpoints_change_no_gradient(body, length, checkpoint, known, seed):
    check_checkpoints(body, length, checkpoint, known, seed)


@pytest.mark.fuzz
def test_many_checkpoints():
    many(check_checkpoints, bodies(), st.sampled_from([0, 1, 2, 5, 13]), CHECKPOINTS, KNOWN, seeds)


def check_truncation(body, length, steps, seed):
    """What comes from steps before the last ones is constant: their states and their traces."""
    loop = Loop(body, None, truncate=steps)
    arrays = loop.arrays(np.random.default_rng(seed), length)
    expected = gradients_of_jax(loop, arrays, max(0, length - steps))
    assert_close(gradients(loop, arrays), expected)


@a_fiftieth
@given(bodies(), SHORT, st.integers(1, 6), seeds)
def test_truncated_gradients(body, length, steps, seed):
    check_truncation(body, length, steps, seed)


@pytest.mark.fuzz
def test_many_truncated_gradients():
    many(check_truncation, bodies(), SHORT, st.integers(1, 6), seeds)


def check_inverse(body, length, seed):
    """Of steps that can be taken back: each half of the state moves by what the other one says."""
    rng = np.random.default_rng(seed)
    time = dt.Dim("time")
    x, a, c = dt.tensor("x", dims=time), dt.scalar("a"), dt.tensor("c", dims=K)
    p0, q0 = dt.tensor("p0", dims=K), dt.scalar("q0")

    def push(other, x):
        pool = body.values(dt, [other, x, a, c])
        return dt.sin(pool[body.after[0] % len(pool)]), pool[-1]

    def step(state, x):
        p, q = state
        q = q + push(p, x)[0].mean()
        change, traced = push(q, x)
        return (p + change, q), traced

    def inverse(state, x):
        p, q = state
        p = p - push(q, x)[0]
        return p, q - push(p, x)[0].mean()

    inputs, results = [x, a, c, p0, q0], []
    shapes = ((length,), (), (3,), (3,), ())
    feed = dict(zip(inputs, (rng.normal(size=shape) for shape in shapes), strict=True))
    for options in ({}, {"inverse": inverse}):
        (p, q), traces = dt.scan(step, (p0, q0), x, time, reverse=body.reverse, **options)
        loss = dt.sin(p).sum() + 2 * dt.sin(q) + dt.sin(traces).sum() + (0 * x).sum()
        loss = loss + 0 * a + (0 * c).sum()
        results.append(dt.evaluate([loss, *dt.grad(loss, inputs)], feed))
    assert_close(*([x.values for x in result] for result in results))


@a_fiftieth
@given(bodies(), SHORT, seeds)
def test_gradients_by_an_inverse(body, length, seed):
    check_inverse(body, length, seed)


@pytest.mark.fuzz
def test_many_gradients_by_an_inverse():
    many(check_inverse, bodies(), SHORT, seeds)


# -- compiled --------------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
def test_compiled(backend):
    @a_fiftieth
    @given(bodies(), st.sampled_from([2, 5]), seeds)
    def run(body, length, seed):
        check_values(body, length, False, seed, backend)
        check_gradients(body, length, False, seed, backend)

    run()


@pytest.mark.fuzz
@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
def test_many_compiled(backend):
    @a_fiftieth
    @given(bodies(), st.sampled_from([0, 1, 2, 5]), KNOWN, seeds)
    def run(body, length, known, seed):
        check_values(body, length, known, seed, backend)
        check_gradients(body, length, known, seed, backend)

    run()
