"""Random walks with explicit generators: states of a loop, as every state before and after it.

Random draws are operations on plain PyTensor variables: there are none of named dims, whose loops
take what was drawn as sequences.
"""

from __future__ import annotations

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.tensor.random.type import random_generator_type

import dimtensor as dt
from dimtensor.ops.loop import fori_loop, scan, while_loop
from tests.ops.loop.runs import evaluate

# kernels have no generators: the numba backend performs what draws
BACKENDS = [None, "rewritten", pytest.param("numba", marks=pytest.mark.compiled)]


def generator_and_reference():
    return np.random.default_rng(5), np.random.default_rng(5)


def walk(rng, drift, scale, n):
    def step(states, _):
        position, rng = states
        rng, noise = pt.random.normal(rng=rng, return_next_rng=True)
        position = position + drift + scale * noise
        return [position, rng], [position]

    return scan(step, [0.0, rng], n_steps=n)


@pytest.mark.falls_back  # generators of NumPy are states
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_stream_is_that_of_numpy(backend):
    rng, n = random_generator_type("rng"), pt.lscalar("n")
    drift, scale = pt.dscalar("drift"), pt.dscalar("scale")
    result = walk(rng, drift, scale, n)
    outputs = [result.states[0], *result.traces, result.states[1]]
    for length in (0, 1, 100):
        given, reference = generator_and_reference()
        last, path, after = evaluate(
            [rng, drift, scale, n], outputs, given, 0.3, 0.5, length, backend=backend
        )
        expected = np.cumsum(reference.normal(0.3, 0.5, size=length))
        np.testing.assert_allclose(path, expected, rtol=1e-12)
        np.testing.assert_allclose(last, expected[-1] if length else 0.0, rtol=1e-12)
        assert after.normal() == reference.normal()  # it goes on where the walk has ended
        assert given.normal() == np.random.default_rng(5).normal()  # the caller's has not moved


@pytest.mark.falls_back  # generators of NumPy are states
@pytest.mark.parametrize("backend", BACKENDS)
def test_steps_of_several_draws(backend):
    """A walk in two dimensions with jumps: vectors, integers and uniform draws in one stream."""
    rng = random_generator_type("rng")

    def step(states, _):
        position, rng = states
        rng, noise = pt.random.normal(size=(2,), rng=rng, return_next_rng=True)
        rng, which = pt.random.integers(0, 2, rng=rng, return_next_rng=True)
        rng, far = pt.random.uniform(1.0, 3.0, rng=rng, return_next_rng=True)
        position = position + noise + far * pt.eq(pt.arange(2), which)
        return [position, rng], [position, which]

    result = scan(step, [np.zeros(2), rng], n_steps=20)
    given, reference = generator_and_reference()
    path, which = evaluate([rng], result.traces, given, backend=backend)
    position = np.zeros(2)
    for t in range(20):
        position = position + reference.normal(size=2)
        chosen = reference.integers(0, 2)
        position[chosen] += reference.uniform(1.0, 3.0)
        assert which[t] == chosen
        np.testing.assert_allclose(path[t], position, rtol=1e-12)


@pytest.mark.falls_back  # generators of NumPy are states
@pytest.mark.parametrize("backend", BACKENDS)
def test_walking_until_a_border(backend):
    rng, border = random_generator_type("rng"), pt.dscalar("border")

    def body(states):
        position, steps, rng = states
        rng, noise = pt.random.normal(rng=rng, return_next_rng=True)
        return [position + noise, steps + 1, rng]

    result = while_loop(lambda states: abs(states[0]) < border, body, [0.0, 0, rng])
    given, reference = generator_and_reference()
    position, steps, after = evaluate([rng, border], result.states, given, 4.0, backend=backend)
    expected, count = 0.0, 0
    while abs(expected) < 4.0:
        expected, count = expected + reference.normal(), count + 1
    assert steps == count > 3
    np.testing.assert_allclose(position, expected, rtol=1e-12)
    assert after.normal() == reference.normal()


@pytest.mark.falls_back  # generators of NumPy are states
@pytest.mark.parametrize("backend", BACKENDS)
def test_walks_in_walks(backend):
    """The inner walk is longer in each step: its draws do not fit in one trace."""
    rng = random_generator_type("rng")

    def inner(i, states):
        rng, noise = pt.random.normal(rng=states[1], return_next_rng=True)
        return [states[0] + noise, rng]

    last, after = fori_loop(0, 3, lambda i, states: fori_loop(0, i, inner, states), [0.0, rng])
    given, reference = generator_and_reference()
    position, after = evaluate([rng], [last, after], given, backend=backend)
    np.testing.assert_allclose(position, reference.normal(size=3).sum(), rtol=1e-12)
    assert after.normal() == reference.normal()


@pytest.mark.falls_back  # generators of NumPy are states
@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_with_the_noise_held_fixed(backend):
    rng, drift, scale = random_generator_type("rng"), pt.dscalar("drift"), pt.dscalar("scale")
    result = walk(rng, drift, scale, 10)
    loss = (result.traces[0] ** 2).sum()
    gradients = pt.grad(loss, [drift, scale])
    given, reference = generator_and_reference()
    found = evaluate([rng, drift, scale], [loss, *gradients], given, 0.3, 0.5, backend=backend)
    noise = reference.normal(size=10)
    path = np.cumsum(0.3 + 0.5 * noise)
    expected = [(path**2).sum(), 2 * path @ np.arange(1, 11), 2 * path @ np.cumsum(noise)]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_a_walk_over_named_dims_takes_its_noise():
    rng = np.random.default_rng(5)
    time = dt.Dim("time", coords=range(2001, 2011))
    noise = dt.tensor("noise", dims=time)
    drift, scale = dt.scalar("drift"), dt.scalar("scale")
    path = dt.cumulate(lambda x, noise: x + drift + scale * noise, 0.0, noise, dim=time)
    values = rng.normal(size=10)
    found = path.eval({noise: values, drift: 0.3, scale: 0.5})
    np.testing.assert_allclose(found, np.cumsum(0.3 + 0.5 * values), rtol=1e-12)
    assert found.time.values.tolist() == list(range(2001, 2011))
