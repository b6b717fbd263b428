"""Lengths that only a block asks for are known before it: its arrays are made there."""

import numpy as np
import pytest

import dimtensor as dt


def checkpointed(levels):
    """A state with a dim whose length is known late, in segments."""
    late, time = dt.Dim("late"), dt.Dim("time")
    x, h = dt.tensor("x", dims=[time, late]), dt.tensor("h", dims=late)
    last = dt.reduce(
        lambda s, now: dt.sin(s) + now, h, x, time, checkpoint=dt.checkpoint_levels(levels)
    )
    return [x, h], last.sum()


def checkpointed_hand(x, h):
    for now in x:
        h = np.sin(h) + now
    return h.sum()


def traced():
    """Numbers as states, which are traced, in three levels of segments."""
    time = dt.Dim("time")
    x = dt.tensor("x", dims=time)

    def step(a, now):
        return dt.sin(a) + now, a

    a, before = dt.scan(step, 0.3, x, dim=time, checkpoint=dt.checkpoint_levels(3))
    return [x], a + (before**2).sum()


def traced_hand(x):
    a, total = 0.3, 0.0
    for now in x:
        total += a**2
        a = np.sin(a) + now
    return a + total


def shifted():
    """An arm that pads."""
    time = dt.Dim("time")
    x, w = dt.tensor("x", dims=time), dt.scalar("w")
    arm = dt.if_else(w > 1, lambda: x.shift(time=1, fill_value=0.0) * w, lambda: x)
    return [x, w], dt.sin(arm).sum()


def shifted_hand(x, w):
    return np.sin(w * np.concatenate([[0.0], x])[: len(x)]).sum() if w > 1 else np.sin(x).sum()


def shifted_in_steps():
    """An arm that pads, in a step."""
    late, time = dt.Dim("late"), dt.Dim("time", length=3)
    x, h = dt.tensor("x", dims=[time, late]), dt.tensor("h", dims=late)

    def step(s, now):
        moved = dt.if_else(
            (now > 0).all(), lambda: s.shift(late=1, fill_value=0.0) * 0.5, lambda: s
        )
        return moved + now

    return [x, h], (dt.reduce(step, h, x, time) ** 2).sum()


def shifted_in_steps_hand(x, h):
    for now in x:
        moved = 0.5 * np.concatenate([[0.0], h])[: len(h)] if (now > 0).all() else h
        h = moved + now
    return (h**2).sum()


PROGRAMS = {
    "two_levels": (lambda: checkpointed(2), checkpointed_hand, [(11, 3), (3,)]),
    "three_levels": (lambda: checkpointed(3), checkpointed_hand, [(29, 2), (2,)]),
    "one_step": (lambda: checkpointed(2), checkpointed_hand, [(1, 3), (3,)]),
    "nothing": (lambda: checkpointed(2), checkpointed_hand, [(0, 3), (3,)]),
    "no_elements": (lambda: checkpointed(2), checkpointed_hand, [(5, 0), (0,)]),
    "traced": (traced, traced_hand, [(70,)]),
    "traced_nothing": (traced, traced_hand, [(0,)]),
    "shifted": (shifted, shifted_hand, [(6,), ()]),
    "shifted_nothing": (shifted, shifted_hand, [(0,), ()]),
    "shifted_in_steps": (shifted_in_steps, shifted_in_steps_hand, [(3, 4), (4,)]),
    "shifted_nothing_in_steps": (shifted_in_steps, shifted_in_steps_hand, [(3, 0), (0,)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_machine_code(name):
    program, hand, shapes = PROGRAMS[name]
    inputs, loss = program()
    f = dt.function(inputs, [loss, *dt.grad(loss, inputs)], backend="numba")
    assert f.path == "machine code"
    rng = np.random.default_rng(7)
    values = [rng.normal(size=shape) + (1.5 if shape == () else 0.3) for shape in shapes]
    if name.startswith("shifted") and len(shapes[0]) == 2:
        values[0][1] = abs(values[0][1])
    axes = {2: ("time", "late"), 1: ("time",), 0: ()}
    named = {"h": ("late",)}
    given = [
        (named.get(x.name, axes[v.ndim]), v) if v.ndim else float(v)
        for x, v in zip(inputs, values, strict=True)
    ]
    value, *gradients = f(*given)
    np.testing.assert_allclose(float(value), hand(*values), rtol=1e-12, atol=1e-12)
    for at, gradient in enumerate(gradients):
        wanted = np.zeros(values[at].shape)
        for place in np.ndindex(wanted.shape):
            ends = []
            for move in (1e-6, -1e-6):
                moved = [np.array(v) for v in values]
                moved[at][place] += move
                ends.append(hand(*moved))
            wanted[place] = (ends[0] - ends[1]) / 2e-6
        names = named.get(inputs[at].name, axes[wanted.ndim])
        found = gradient.transpose(*names).values if names else float(gradient)
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)
