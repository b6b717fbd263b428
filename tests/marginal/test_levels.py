"""Chains whose probabilities are of any size, beside sums of logarithms in extended precision."""

from __future__ import annotations

import re

import numpy as np
import pytest

import dimtensor as dt
from tests.backend_names import LONG_JAX_COMPILED
from tests.marginal.programs import THETA, program

NEVER = -np.inf


def log_sum(x: np.ndarray, axis: int) -> np.ndarray:
    top = x.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(x - top).sum(axis=axis)) + top.squeeze(axis)


def forwards_and_back(start, moves, seen):
    """The log density, and the probabilities of states: of each position, and of all moves."""
    start, moves, seen = (np.asarray(x, np.longdouble) for x in (start, moves, seen))
    moves = np.broadcast_to(moves, (len(seen) - 1, *moves.shape[-2:]))
    ahead, behind = [start + seen[0]], [np.zeros_like(start)]
    for t in range(1, len(seen)):
        ahead.append(log_sum(ahead[-1][:, None] + moves[t - 1], 0) + seen[t])
    for t in range(len(seen) - 1, 0, -1):
        behind.append(log_sum(moves[t - 1] + seen[t] + behind[-1], 1))
    behind.reverse()
    total = log_sum(ahead[-1], 0)
    states = np.exp(np.array(ahead) + np.array(behind) - total)
    pairs = [
        np.exp(ahead[t][:, None] + moves[t] + seen[t + 1] + behind[t + 1] - total)
        for t in range(len(seen) - 1)
    ]
    return total, states, np.array(pairs)


def chain(start, moves, seen, backend):
    """The same by dims: the log density, and its slopes by what is seen and by the moves."""
    t, k = dt.Dim("t", length=len(seen)), dt.Dim("k", length=len(start))
    after = k.rename("after")
    moves = np.asarray(moves)
    z = dt.tensor("z", dims=t, categories=k)
    late = dt.SelDim(t, positions=slice(1, None))
    now, before = z.isel(t=slice(1, None)), z.isel(t=slice(None, -1)).relabel("t", late)
    along = [late, k, after][3 - moves.ndim :]
    s, m = dt.tensor("s", dims=[t, k]), dt.tensor("m", dims=along)
    first = dt.data(np.asarray(start), dims=k).sel(k=z.isel(t=0))
    terms = {"first": first, "moves": m.sel(k=before, after=now), "seen": s.sel(k=z)}
    logp = dt.marginalize(terms, z)
    given = {s: (("t", "k"), seen), m: (tuple(along), moves)}
    value, states, pairs = dt.evaluate([logp, *dt.grad(logp, [s, m])], given, backend=backend)
    return (
        float(value),
        states.transpose("t", "k").values,
        pairs.transpose(*[d for d in pairs.dims if d not in ("k", "after")], "k", "after").values,
    )


def check(start, moves, seen, backend="python"):
    expected = forwards_and_back(start, moves, seen)
    value, states, pairs = chain(start, moves, seen, backend)
    length, moves = len(seen), np.asarray(moves)
    # a rounding or two for each state and step, and those of what was given
    size = sum(np.abs(np.where(np.isfinite(x), x, 0)).max(axis=-1).sum() for x in (seen, moves))
    assert abs(value - expected[0]) <= 4e-16 * (size + length * (len(start) + 5))
    wanted = expected[2] if moves.ndim == 3 else expected[2].sum(axis=0)
    np.testing.assert_allclose(states, expected[1].astype(float), rtol=1e-9, atol=1e-12 * size)
    np.testing.assert_allclose(pairs, wanted.astype(float), rtol=1e-9, atol=1e-12 * size)


def far_apart(rng):
    """Densities that differ by 1e5, up and down."""
    seen = 1e5 * rng.normal(size=(30, 4))
    return np.log(np.full(4, 0.25)), np.log(rng.dirichlet(np.ones(4), 4)), seen


def left_to_right(rng):
    """A state is reached from those before it alone, and all but one die in each step."""
    k, n = 5, 40
    moves = np.full((k, k), NEVER)
    moves[np.arange(k), np.arange(k)] = np.log(0.9)
    moves[np.arange(k - 1), np.arange(1, k)] = np.log(0.1)
    moves[-1, -1] = 0.0
    start = np.where(np.arange(k) == 0, 0.0, NEVER)
    return start, moves, rng.choice([0.0, -400.0, -900.0, -3e4], size=(n, k))


def revived(rng):
    """What was 1e-2600 is all that is left later: it comes from a state that was unlikely."""
    moves = np.log(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.25, 0.25]]) + 0.0)
    seen = np.zeros((60, 3))
    seen[:20, 1], seen[40:, 0] = -300.0, -np.inf
    seen[30] = [0.0, -1500.0, 700.0]
    return np.array([-1.0, -2.0, -3000.0]), moves, seen


def tiny_moves(rng):
    """Moves as unlikely as exp(-5000), which differ from step to step, and none at all."""
    moves = rng.choice([-0.3, -200.0, -800.0, -5000.0, NEVER], size=(19, 6, 6))
    moves[:, np.arange(6), np.arange(6)] = -40.0
    return rng.normal(size=6), moves, rng.choice([0.0, -90.0, 1000.0], size=(20, 6))


def never(rng):
    """Impossible observations."""
    seen = rng.normal(size=(25, 3))
    seen[rng.random(seen.shape) < 0.4] = NEVER
    seen[:, 1] = rng.normal(size=25)
    return np.zeros(3), np.log(rng.dirichlet(np.ones(3), 3)), seen


def many_states(rng):
    """Three hundred states, of which most are below the smallest number."""
    k = 300
    moves = -((np.arange(k)[:, None] - np.arange(k)) ** 2) / 2.0
    return np.zeros(k), moves, -50.0 * rng.random((12, k)) ** 2 * rng.integers(0, 100, (12, k))


def steep(rng):
    """Numbers beyond what can be told apart from each other."""
    return np.zeros(2), np.array([[0.0, -1e15], [-1e12, 0.0]]), rng.choice([0, -1e15, 3e14], (9, 2))


CHAINS = [far_apart, left_to_right, revived, tiny_moves, never, many_states, steep]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("made", CHAINS)
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_probabilities_of_any_size(made, seed):
    check(*made(np.random.default_rng(seed)))


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
@pytest.mark.parametrize("made", [left_to_right, revived, tiny_moves])
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_probabilities_of_any_size_on_compiled_backends(made, backend):
    check(*made(np.random.default_rng(0)), backend=backend)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ([[NEVER, NEVER], [0.0, 0.0]], NEVER),
        ([[0.0, np.inf], [0.0, 0.0]], np.inf),
        ([[0.0, np.nan], [0.0, 0.0]], np.nan),
        ([[0.0, -1e30], [0.0, -1e30]], np.log(0.25)),
    ],
)
def test_what_is_no_number_stays_none(seen, expected):
    start, moves = np.log([0.5, 0.5]), np.log(np.full((2, 2), 0.5))
    np.testing.assert_allclose(chain(start, moves, np.array(seen), "python")[0], expected)


@pytest.mark.parametrize("theta", [400.0, -3000.0])
@pytest.mark.parametrize("seed", [1, 2, 4, 6, 7, 9, 11, 12, 14, 16, 17, 19])
def test_all_sorts_of_chains_with_densities_far_apart(seed, theta):
    """Of higher order, coupled, beside each other, with masks."""
    model = program(seed)
    expected = model.enumerate(theta)
    logp = dt.marginalize(model.terms, *model.unknowns.values())
    value, slope = dt.evaluate([logp, dt.grad(logp, THETA)], {THETA: theta}, backend="python")
    np.testing.assert_allclose(value, expected.logp, rtol=1e-12)
    np.testing.assert_allclose(slope, expected.slope, rtol=1e-9, atol=1e-9)


@pytest.mark.compiled
def test_a_gradient_keeps_no_table_of_pairs_of_states_for_each_step():
    one, t, k = dt.Dim("one", length=20), dt.Dim("t", length=30), dt.Dim("k", length=4)
    z = dt.tensor("z", dims=[one, t], categories=k)
    late = dt.SelDim(t, positions=slice(1, None))
    now, before = z.isel(t=slice(1, None)), z.isel(t=slice(None, -1)).relabel("t", late)
    s, m = dt.tensor("s", dims=[one, t, k]), dt.tensor("m", dims=[k, k.rename("after")])
    logp = dt.marginalize({"m": m.sel(k=before, after=now), "s": s.sel(k=z)}, z)
    f = dt.function([s, m], [logp, *dt.grad(logp, [s, m])])
    # steps, chains and two states would be four axes
    made = re.findall(r"np\.(?:empty|zeros|full)\(\((.*?)\),", f.source)
    assert made
    assert max(len(axes.strip(",").split(",")) for axes in made) == 3
