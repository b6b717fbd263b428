"""Loops along ragged dims start anew for each parent; NumPy loops are the reference."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt
from tests.backend_names import COMPILED

subject = dt.Dim("subject", coords=["Ann", "Bob", "Cem", "Dov"])
SORTED, MIXED = np.array([0, 0, 0, 2, 2, 3]), np.array([2, 0, 3, 0, 2, 0])
VALUES = np.array([1.5, -2.0, 0.5, 4.0, 3.0, 7.0])
START = np.array([10.0, 20.0, 30.0, 40.0])


def case(kind):
    """Owners, the dim, and the values of its further inputs."""
    if kind == "late":
        lengths = dt.tensor("lengths", dims=subject, dtype="int64")
        return SORTED, dt.ragged("trial", within=subject, lengths=lengths), {lengths: [3, 0, 2, 1]}
    owners = SORTED if kind == "sorted" else MIXED
    return owners, dt.ragged("trial", within=subject, by=subject.coords[owners]), {}


def reference(owners, reverse, start, rate=0.5):
    """Paths and last states of ``state * rate + x``."""
    paths, last = np.zeros(6), np.array(start, dtype=float)
    for at in range(4):
        places = np.flatnonzero(owners == at)
        for place in places[::-1] if reverse else places:
            last[at] = last[at] * rate + VALUES[place]
            paths[place] = last[at]
    return paths, last


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", ["sorted", "mixed", "late"])
def test_scan_cumulate_and_reduce(kind, reverse) -> None:
    owners, trial, feed = case(kind)
    x, start = dt.tensor("x", dims=trial), dt.tensor("start", dims=subject)
    feed = {x: VALUES, start: START, **feed}

    def step(state, x):
        state = state * 0.5 + x
        return state, 2 * state

    last, twice = dt.scan(step, start, x, dim="trial", reverse=reverse)
    assert last.dims == (subject,)
    assert twice.dims == (trial,)
    paths, ends = reference(owners, reverse, START)
    np.testing.assert_allclose(last.eval(feed, backend="python"), ends)
    np.testing.assert_allclose(twice.eval(feed, backend="python"), 2 * paths)
    del feed[start]
    paths, ends = reference(owners, reverse, np.zeros(4))

    def halved(state, x):
        return state * 0.5 + x

    found = dt.cumulate(halved, 0.0, x, dim=trial, reverse=reverse)
    np.testing.assert_allclose(found.eval(feed, backend="python"), paths)
    final = dt.reduce(halved, 0.0, x, dim=trial, reverse=reverse)
    np.testing.assert_allclose(final.eval(feed, backend="python"), ends)


def test_sequences_of_parents_and_trees_of_states() -> None:
    owners, trial, _ = case("mixed")
    k = dt.Dim("k", length=2)
    x, rate = dt.tensor("x", dims=trial), dt.tensor("rate", dims=[subject, k])
    rates = np.arange(8.0).reshape(4, 2) / 10

    def step(state, now):
        x, rate = now
        level = state["level"] * rate + x
        return {"level": level, "count": state["count"] + 1}, None

    state = {"level": dt.zeros(k), "count": 0}
    last = dt.scan(step, state, (x, rate), dim=trial)[0]
    found = dt.evaluate([last["level"], last["count"]],
                        {x: VALUES, rate: (("subject", "k"), rates)}, backend="python")  # fmt: skip
    assert found[1].values.tolist() == [3, 0, 2, 1]
    for at in range(2):
        levels = np.zeros(4)
        for place, owner in enumerate(owners):
            levels[owner] = levels[owner] * rates[owner, at] + VALUES[place]
        np.testing.assert_allclose(found[0].isel(k=at), levels)


@pytest.mark.parametrize("kind", ["sorted", "mixed"])
def test_gradients_stop_at_the_parents(kind) -> None:
    owners, trial, _ = case(kind)
    x, start, rate = dt.tensor("x", dims=trial), dt.tensor("start", dims=subject), dt.scalar("rate")
    last = dt.reduce(lambda s, x: s * rate + x, start, x, dim=trial)
    weight = np.array([1.0, 2.0, 3.0, 4.0])
    total = (last * dt.data(weight, dims=subject)).sum()
    slopes = dt.evaluate(dt.grad(total, [x, start, rate]),
                         {x: VALUES, start: START, rate: 0.5}, backend="python")  # fmt: skip
    after = [np.sum(owners[at + 1 :] == owners[at]) for at in range(6)]
    np.testing.assert_allclose(slopes[0], weight[owners] * 0.5 ** np.array(after))
    sizes = np.bincount(owners, minlength=4)
    np.testing.assert_allclose(slopes[1], weight * 0.5**sizes)
    step = 1e-6
    up, down = (weight @ reference(owners, False, START, 0.5 + d)[1] for d in (step, -step))
    np.testing.assert_allclose(slopes[2], (up - down) / (2 * step), rtol=1e-6)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", COMPILED)
def test_a_forward_algorithm_of_sequences_of_several_lengths(backend) -> None:
    owners, trial, _ = case("sorted")
    state = dt.Dim("state", coords=["calm", "wild"])
    after = state.rename("after")
    move = np.log([[0.9, 0.1], [0.2, 0.8]])
    logs = dt.data(move, dims=[state, after])
    spread = dt.data([0.5, 2.0], dims=state)
    y = dt.tensor("y", dims=trial)

    def forward(weights, y):
        seen = -0.5 * (y / spread) ** 2 - dt.log(spread)
        return dt.logsumexp(weights + logs, state).rename({after: state}) + seen

    ends = dt.reduce(forward, dt.full(state, np.log(0.5)), y, dim=trial)
    logp = ends.logsumexp(state)
    f = dt.function([y], [logp, dt.grad(logp.sum(), y)], backend=backend)
    found, slopes = f(VALUES)

    def density(values):
        weights = np.log([0.5, 0.5])
        for value in values:
            seen = -0.5 * (value / np.array([0.5, 2.0])) ** 2 - np.log([0.5, 2.0])
            weights = np.logaddexp(*(weights[:, None] + move)) + seen
        return np.logaddexp(*weights)

    expected = [density(VALUES[owners == at]) for at in range(4)]
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    for at in range(6):
        moved = [VALUES + d * (np.arange(6) == at) for d in (1e-6, -1e-6)]
        up, down = (density(v[owners == owners[at]]) for v in moved)
        assert float(slopes[at]) == pytest.approx((up - down) / 2e-6, rel=1e-5)


def test_an_associative_scan_is_one_of_each_parent() -> None:
    owners, trial, _ = case("mixed")
    x = dt.tensor("x", dims=trial)
    found = dt.associative_scan(dt.maximum, x, dim=trial).eval({x: VALUES}, backend="python")
    for at in range(4):
        own = owners == at
        assert found.values[own].tolist() == np.maximum.accumulate(VALUES[own]).tolist()


def test_options_of_plain_loops_are_refused() -> None:
    _, trial, _ = case("sorted")
    x = dt.tensor("x", dims=trial)
    with pytest.raises(dt.OptionError, match="truncate= is for a loop along one plain dim"):
        dt.reduce(lambda s, x: s + x, 0.0, x, dim=trial, truncate=2)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_windows_do_not_reach_into_other_parents(n, center) -> None:
    owners = np.repeat([0, 2, 3], [7, 4, 1])
    values = np.sin(np.arange(12.0) * 3)
    trial = dt.ragged("trial", within=subject, by=subject.coords[owners])
    x = dt.tensor("x", dims=trial)
    for name in ("sum", "var", "max", "median"):
        y = getattr(x.rolling(trial=n, center=center, min_periods=1), name)()
        found = y.eval({x: values}, backend="python")
        for at in (0, 2, 3):
            import pandas as pd

            windows = pd.Series(values[owners == at]).rolling(n, min_periods=1, center=False)
            if center:  # xarray's windows of even length are centered like this
                before = n // 2
                own = values[owners == at]
                pieces = [own[max(i - before, 0) : i - before + n] for i in range(len(own))]
                function = {"sum": np.sum, "var": np.var, "max": np.max, "median": np.median}[name]
                expected = np.array([function(piece) for piece in pieces])
            else:
                options = {"ddof": 0} if name == "var" else {}
                expected = getattr(windows, name)(**options).to_numpy()
            np.testing.assert_allclose(found.values[owners == at], expected, atol=1e-12)


@pytest.mark.parametrize("kind", ["sorted", "mixed", "late"])
def test_ranks_shifts_and_fillings(kind) -> None:
    from scipy.stats import rankdata

    owners, trial, feed = case(kind)
    x = dt.tensor("x", dims=trial)
    values = np.array([2.0, 5.0, 2.0, np.nan, 1.0, 3.0])
    if kind != "late":
        values = np.array([2.0, 2.0, 5.0, 2.0, np.nan, 1.0])
    feed = {x: values, **feed}
    outputs = [x.rank("trial"), x.shift(trial=1), x.ffill("trial"), x.bfill("trial")]
    rank, shifted, ffilled, bfilled = dt.evaluate(outputs, feed, backend="python")
    for at in range(4):
        import pandas as pd

        own = pd.Series(values[owners == at])
        ranks = rankdata(own, nan_policy="omit") if len(own) else []
        for found, expected in [
            (rank, ranks), (shifted, own.shift(1)), (ffilled, own.ffill()), (bfilled, own.bfill())
        ]:  # fmt: skip
            np.testing.assert_array_equal(found.values[owners == at], expected)


@pytest.mark.parametrize("kind", ["sorted", "mixed", "late"])
def test_rectangles_and_back(kind) -> None:
    owners, trial, feed = case(kind)
    x, number = dt.tensor("x", dims=trial), dt.Dim("number", length=4)
    feed = {x: VALUES, **feed}
    padded = x.pad(trial=number, constant_values=-1.0)
    assert set(padded.dims) == {subject, number}
    found = padded.eval(feed, backend="python").transpose("subject", "number")
    for at in range(4):
        own = VALUES[owners == at]
        expected = [*own, *[-1.0] * (4 - len(own))]
        assert found.values[at].tolist() == expected
    back = padded.isel(number=dt.arange(trial)).eval(feed, backend="python")
    assert back.values.tolist() == VALUES.tolist()
    with pytest.raises(dt.OptionError, match="is padded by one constant"):
        x.pad({trial: number}, mode="edge")


def test_rectangles_that_are_too_short() -> None:
    short = dt.Dim("number", length=2)
    _, trial, _ = case("mixed")
    with pytest.raises(dt.DimError, match="has 2 positions, and one of dim 'subject' has 3 of"):
        dt.data(VALUES, dims=trial).pad(trial=short)
    _, late, feed = case("late")
    x = dt.tensor("x", dims=late)
    with pytest.raises(dt.CheckError, match="is at least as long as each of dim 'subject'"):
        x.pad(trial=short).eval({x: VALUES, **feed}, backend="python")
    with pytest.raises(dt.OptionError, match="dim 'k' is not ragged"):
        dt.ones(dt.Dim("k", length=2)).pad(k=short)
