"""Loops in the steps of loops keep what their gradients need, and are not run again for it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dimtensor as dt

MOST = 10


def by_hand(x, rate):
    """States at the end of each step, and the derivatives of the sum of their squares."""
    states, total, d_rate = [], 0.0, 0.0
    d_x = np.zeros_like(x)
    s, by_x, by_rate = 0.5, np.zeros_like(x), 0.0
    for at, each in enumerate(x):
        s, by_x, by_rate = 0.3 * s + each, 0.3 * by_x, 0.3 * by_rate
        by_x[at] += 1.0
        for _ in range(MOST):
            if s >= 1.0:
                break
            grown = 1 + rate * (2.0 - s)
            by_rate = by_rate * (grown - rate * s) + (2.0 - s) * s
            by_x, s = by_x * (grown - rate * s), s * grown
        states.append(s)
        total, d_x, d_rate = total + s * s, d_x + 2 * s * by_x, d_rate + 2 * s * by_rate
    return np.array(states), d_x, d_rate


def stopping(s, e, rate):
    return dt.while_loop(lambda s: s < 1.0, lambda s: s * (1 + rate * (2.0 - s)), 0.3 * s + e, MOST)


def growth():
    """A function of states, and of both derivatives."""
    t = dt.Dim("t")
    x, rate = dt.tensor("x", dims=t), dt.scalar("rate")
    states = dt.cumulate(lambda s, e: stopping(s, e, rate), 0.5, x, dim=t)
    total = (states**2).sum()
    outputs = [states, *dt.grad(total, [x, rate])]
    return dt.function([x, rate], outputs, backend="numba")


@pytest.fixture(scope="module")
def f():
    return growth()


@pytest.mark.compiled
@pytest.mark.parametrize("length", [1, 3, 400])
def test_traces_are_kept_and_grow(f, length):
    # 400 steps have a thousand steps in them, and there is room for 256 and those of one step
    x = np.random.default_rng(length).uniform(0.05, 0.9, length)
    for _ in range(2):
        found = f.positional(x, 0.2)
        for value, expected in zip(found, by_hand(x, 0.2), strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-12)


@pytest.mark.compiled
def test_no_loop_is_run_again(f):
    f.positional(np.array([0.1, 0.2]), 0.2)
    # forward, back, and the loop in the steps of each
    assert f.source.count("for step") == 4


@pytest.mark.compiled
def test_derivatives_that_are_asked_for_apart_keep_them_too():
    t = dt.Dim("t")
    x, rate = dt.tensor("x", dims=t), dt.scalar("rate")
    last = dt.scan(lambda s, e: (stopping(s, e, rate), s), 0.5, x, dim=t)[0]
    outputs = [dt.grad(last**2, x), dt.grad(last**3, rate)]
    f = dt.function([x, rate], outputs, backend="numba")
    given = np.random.default_rng(1).uniform(0.05, 0.9, 20)
    found = f.positional(given, 0.2)
    h = 1e-6
    ends = [by_hand(given, 0.2 + shift)[0][-1] for shift in (h, -h)]
    np.testing.assert_allclose(found[1], (ends[0] ** 3 - ends[1] ** 3) / (2 * h), rtol=1e-6)
    d_last = by_hand(given, 0.2)[1] - np.append(by_hand(given[:-1], 0.2)[1], 0.0)
    np.testing.assert_allclose(found[0], d_last, rtol=1e-9, atol=1e-12)
    # forward with the loop in its steps, and back with one for each
    assert f.source.count("for step") <= 6
    assert f.source.count("< 1.0") == 2


@pytest.mark.compiled
def test_source_is_what_it_says(f):
    x = np.random.default_rng(0).uniform(0.05, 0.9, 300)
    f.positional(x, 0.2)
    names = {"np": np, "math": math}
    exec(f.source, names)
    found = names["kernel"](x, np.array(0.2))
    for value, expected in zip(found, by_hand(x, 0.2), strict=False):
        np.testing.assert_allclose(value, expected, rtol=1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("width", [3, 30])
def test_arrays_are_kept_where_their_lengths_are_known_and_small(width):
    t, k = dt.Dim("t"), dt.Dim("k", length=width)
    x, rate = dt.tensor("x", dims=t), dt.scalar("rate")
    shares = dt.data(np.linspace(0.5, 1.5, width), dims=k)

    def step(s, e):
        return dt.while_loop(
            lambda s: s.min() < 1.0, lambda s: s * (1 + rate * (2.0 - s)), 0.3 * s + e, MOST
        )

    # all elements are the same: what stops them does not mix them
    last = dt.scan(lambda s, e: (step(s, e), s), 0.5 * dt.ones(k), x, dim=t)[0]
    total = (shares * last).sum()
    f = dt.function([x, rate], [total, *dt.grad(total, [x, rate])], backend="numba")
    given = np.random.default_rng(width).uniform(0.05, 0.9, 50)
    found = f.positional(given, 0.2)

    def value(x, rate):
        return shares.eval().values.sum() * by_hand(x, rate)[0][-1]

    h = 1e-6
    shifts = h * np.eye(len(given))
    by_x = [(value(given + e, 0.2) - value(given - e, 0.2)) / (2 * h) for e in shifts]
    by_rate = (value(given, 0.2 + h) - value(given, 0.2 - h)) / (2 * h)
    np.testing.assert_allclose(found[0], value(given, 0.2), rtol=1e-12)
    np.testing.assert_allclose(found[1], by_x, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(found[2], by_rate, rtol=1e-6)
    assert f.source.count("for step") == (4 if width == 3 else 5)


def stopped(s, rate, bound, end):
    """What a loop of numbers gives, of NumPy's or of ours."""
    return dt.while_loop(lambda s: s < bound, lambda s: s * (1 + rate * (end - s)), s, MOST)


def stopped_by_hand(s, rate, bound, end):
    for _ in range(MOST):
        if s >= bound:
            break
        s = s * (1 + rate * (end - s))
    return s


# one start, and loops that differ in where they end or in what they do; one goes on from another
SEVERAL = {
    "ends": lambda s, r, f: f(s, r, 1.0, 2.0) + 0.5 * f(s, r, 0.8, 2.0),
    "steps": lambda s, r, f: f(s, r, 1.0, 2.0) + 0.5 * f(s, r, 1.0, 1.5),
    "in turn": lambda s, r, f: f(0.5 * f(s, r, 1.0, 2.0), r, 0.9, 2.0),
}


@pytest.mark.compiled
@pytest.mark.parametrize("kind", SEVERAL)
def test_several_loops_in_a_step_are_told_apart(kind):
    u, t = dt.Dim("u"), dt.Dim("t")
    x, rate = dt.tensor("x", dims=[u, t]), dt.scalar("rate")
    step = SEVERAL[kind]

    def row(s, elements):
        within = dt.cumulate(lambda s, e: step(0.3 * s + e, rate, stopped), s, elements, dim=t)
        return 0.4 * s + 0.1 * within.sum()

    total = (dt.cumulate(row, 0.5, x, dim=u) ** 2).sum()
    f = dt.function([x, rate], [total, *dt.grad(total, [x, rate])], backend="numba")

    def value(x, rate):
        s = total = 0.5
        for elements in x:
            within, each = 0.0, s
            for e in elements:
                each = step(0.3 * each + e, rate, stopped_by_hand)
                within += each
            s = 0.4 * s + 0.1 * within
            total += s * s
        return total - 0.5

    given, h = np.random.default_rng(2).uniform(0.05, 0.9, (2, 5)), 1e-6
    shifts = h * np.eye(given.size).reshape(-1, *given.shape)
    by_x = [(value(given + e, 0.2) - value(given - e, 0.2)) / (2 * h) for e in shifts]
    by_rate = (value(given, 0.2 + h) - value(given, 0.2 - h)) / (2 * h)
    found = f((("u", "t"), given), 0.2)
    np.testing.assert_allclose(found[0], value(given, 0.2), rtol=1e-12)
    np.testing.assert_allclose(found[1].transpose("u", "t").values.ravel(), by_x, rtol=1e-5)
    np.testing.assert_allclose(found[2], by_rate, rtol=1e-6)
