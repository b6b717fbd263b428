"""Explicit state: pure steps against loops in NumPy, and the object that holds a state."""

from __future__ import annotations

import copy
import pickle
import statistics
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from tests.backend_names import COMPILED

COUNTRY = dt.Dim("country", coords=["Italy", "Kenya", "USA"])
OBS = dt.Dim("obs")
S = dt.tensor("s", dims=COUNTRY)
X = dt.tensor("x", dims=COUNTRY)
N = dt.int64("n")
VALUES = np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 4.0], [2.0, 2.0, 2.0], [0.0, 3.0, -5.0]])


def welford(backend="python", **options):
    """Running mean and variance: four states of three dims and dtypes."""
    mean, squares = dt.tensor("mean", dims=COUNTRY), dt.tensor("squares", dims=COUNTRY)
    largest = dt.scalar("largest", dtype="float32")
    count = N + 1
    following = mean + (X - mean) / count
    total = squares + (X - mean) * (X - following)
    updates = {
        N: count,
        mean: following,
        squares: total,
        largest: dt.maximum(largest, X.max().astype("float32")),
    }
    outputs = {"variance": total / count, "count": count}
    return dt.function([X], outputs, backend, updates=updates, **options)


START = {"n": 0, "mean": np.zeros(3), "squares": np.zeros(3), "largest": -np.inf}


@pytest.mark.parametrize("backend", ["python", *COMPILED])
def test_running_statistics(backend):
    f = welford(backend)
    state = dict(START)
    for step, values in enumerate(VALUES, start=1):
        state, outputs = f.step(state, values)
        seen = VALUES[:step]
        np.testing.assert_allclose(state["mean"], seen.mean(0))
        np.testing.assert_allclose(outputs["variance"], seen.var(0), atol=1e-15)
        assert int(state["n"]) == int(outputs["count"]) == step
        assert float(state["largest"]) == seen.max()
    assert [v.dtype.name for v in state.values()] == ["int64", "float64", "float64", "float32"]
    assert {name: v.name for name, v in {**state, **outputs}.items()} == {
        name: name for name in ("n", "mean", "squares", "largest", "variance", "count")
    }
    assert state["mean"].coords["country"].values.tolist() == COUNTRY.coords.tolist()
    assert f.state_names == ("n", "mean", "squares", "largest")
    assert f.backend == backend
    assert f.stats["lower"] > 0
    plain = f.positional
    results = plain(np.array(0), np.zeros(3), np.zeros(3), np.array(0, "float32"), VALUES[0])
    assert int(results[0]) == int(results[5]) == 1
    np.testing.assert_allclose(results[1], VALUES[0])


@pytest.mark.parametrize("backend", ["python", *COMPILED])
def test_a_batched_state(backend):
    """Chains of an integrator: the oracle is the same loop in NumPy."""
    q, p = dt.tensor("q", dims=COUNTRY), dt.tensor("p", dims=COUNTRY)
    step = dt.scalar("step")
    potential = (q**4).sum() / 4
    half = p - step / 2 * dt.grad(potential, q)
    moved = q + step * half
    kicked = half - step / 2 * dt.substitute(dt.grad(potential, q), {q: moved})
    f = dt.function([step], (kicked**2).sum() / 2, backend, updates={q: moved, p: kicked})
    start = VALUES[:2] / 4
    array = xr.DataArray(start, dims=("chain", "country"), coords={"chain": [7, 8]})
    running = f.start(q=array, p=0 * array)
    ours, speed = start.copy(), 0 * start
    for _ in range(5):
        energy = running(0.1)
        speed = speed - 0.05 * ours**3
        ours = ours + 0.1 * speed
        speed = speed - 0.05 * ours**3
        np.testing.assert_allclose(energy, (speed**2).sum(1) / 2)
    final = running.state
    assert final["q"].coords["chain"].values.tolist() == [7, 8]
    np.testing.assert_allclose(final["q"].transpose("chain", "country"), ours)
    np.testing.assert_allclose(final["p"].transpose("chain", "country"), speed)


def test_a_step_is_pure():
    f = dt.function([X], S, "python", updates={S: S + X})
    state = {"s": np.zeros(3)}
    first, before = f.step(state, VALUES[0])
    again, _ = f.step(state, x=VALUES[0])
    assert state == {"s": state["s"]}
    assert not state["s"].any()
    assert not before.any()
    xr.testing.assert_identical(first["s"], again["s"])
    first["s"][:] = 99.0
    np.testing.assert_array_equal(again["s"], VALUES[0])
    same = dt.function([], [], "python", updates={S: S})
    kept, nothing = same.step({S: VALUES[0]})
    assert nothing == []
    kept["s"][:] = 99.0
    assert VALUES[0, 0] == 1.0


def test_datasets_give_the_values_of_inputs_and_states():
    theta = dt.tensor("theta", dims=COUNTRY)
    gain = dt.scalar("gain")
    f = dt.function([theta, gain], (S * theta).sum(), "python", updates={S: S + gain * theta})
    draws = np.arange(12.0).reshape(2, 2, 3)
    posterior = xr.Dataset(
        {
            "theta": (("chain", "draw", "country"), draws),
            "s": (("chain", "draw", "country"), 9 * draws),
            "gain": (("chain", "draw"), np.full((2, 2), 9.0)),
            "unused": ("draw", [1.0, 2.0]),
        },
        coords={"country": COUNTRY.coords.tolist(), "draw": [5, 6]},
    )
    start = xr.Dataset({"s": posterior["s"] / 9 + 1, "other": 3.0})
    expected = (draws + 1) + 2.0 * draws
    for tree in (posterior, xr.DataTree.from_dict({"posterior": posterior})):
        for state in (start, dict(start[["s"]].data_vars), xr.DataTree(start)):
            following, total = f.step(state, tree, gain=2.0)
            np.testing.assert_array_equal(following["s"].transpose("chain", "draw", ...), expected)
            np.testing.assert_array_equal(total, ((draws + 1) * draws).sum(-1))
            assert total.coords["draw"].values.tolist() == [5, 6]
        running = f.start(start)
        running(tree, gain=2.0)
        np.testing.assert_array_equal(running.state["s"].transpose("chain", "draw", ...), expected)
        running.set_state(start)
        held = running.state["s"].transpose("chain", "draw", ...)
        np.testing.assert_array_equal(held, draws + 1)
    with pytest.raises(dt.InputError, match="gives the values of inputs by name"):
        f.step(start, posterior, 2.0)
    with pytest.raises(dt.InputError, match="the state lacks 's'"):
        f.step(posterior[["theta"]], posterior)


def test_states_and_inputs_are_labeled():
    f = dt.function([X], S * 2, "python", updates={S: S + X})
    labels = {"country": ["USA", "Kenya", "Italy"]}
    backwards = xr.DataArray(VALUES[0, ::-1], dims="country", coords=labels)
    state, _ = f.step({"s": backwards}, backwards)
    np.testing.assert_array_equal(state["s"], 2 * VALUES[0])
    running = f.start({S: backwards})
    np.testing.assert_array_equal(running.state["s"].sel(country="USA"), 3.0)
    late = dt.tensor("late", dims=OBS)
    g = dt.function([], late.max(), "python", updates={late: late + 1})
    state, _ = g.step({"late": xr.DataArray([1.0, 2.0], dims="obs", coords={"obs": ["p", "q"]})})
    assert state["late"].to_series().to_dict() == {"p": 2.0, "q": 3.0}
    place = dt.tensor("place", dims=OBS, categories=COUNTRY)
    h = dt.function([], [], "python", updates={place: dt.where(place == "USA", "Kenya", place)})
    moving = h.start(place=["USA", "Italy"])
    moving()
    assert moving.state["place"].values.tolist() == ["Kenya", "Italy"]


def test_the_holder():
    f = welford()
    running = f.start(START)
    for values in VALUES[:2]:
        running(x=values)
    other, third = copy.copy(running), copy.deepcopy(running)
    stored = pickle.loads(pickle.dumps(running))
    for values in VALUES[2:]:
        outputs = running(values)
    expected = [statistics.pvariance(column) for column in VALUES.T]
    np.testing.assert_allclose(outputs["variance"], expected)
    assert [int(h.state["n"]) for h in (running, other, third, stored)] == [4, 2, 2, 2]
    stored(VALUES[2])
    np.testing.assert_allclose(stored(VALUES[3])["variance"], expected)
    # what is read is the reader's own
    running.state["mean"][:] = 99.0
    np.testing.assert_allclose(running.state["mean"], VALUES.mean(0))
    running.set_state(n=0, mean=np.zeros(3), squares=np.zeros(3))
    assert running(VALUES[0])["variance"].values.tolist() == [0.0, 0.0, 0.0]
    assert float(running.state["largest"]) == 4.0
    assert repr(running).startswith("<StateHolder of n {}, mean {'country': 3}")
    assert repr(f).startswith("<StatefulFunction of n {}, mean {country}")


def test_a_failed_step_leaves_the_state():
    s = dt.scalar("s")
    x = dt.scalar("x")
    f = dt.function([x], s, "python", updates={s: dt.check(s + x < 10, "below 10", s + x)})
    running = f.start(s=1.0)
    running(5.0)
    with pytest.raises(dt.CheckError, match=r"below 10"):
        running(5.0)
    with pytest.raises(dt.InputError, match=r"without input 'x'"):
        running()
    assert float(running.state["s"]) == 6.0
    unchecked = dt.function([x], s, "python", updates={s: dt.check(s > 9, "m", s)}, checks=False)
    assert float(unchecked.start(s=1.0)(1.0)) == 1.0


def test_threads_take_turns():
    running = dt.function([], [], "python", updates={N: N + 1}).start(n=0)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: running(), range(200)))
    assert int(running.state["n"]) == 200


def test_other_data():
    rate = dt.data([1.0, 2.0, 3.0], dims=COUNTRY, name="rate")
    f = dt.function([], S.sum(), "python", updates={S: S + rate})
    changed = f.with_data(rate=[10.0, 0.0, 0.0]).start(s=np.zeros(3))
    changed()
    assert float(changed()) == 10.0
    state, total = f.step({"s": np.zeros(3)})
    assert (state["s"].values.tolist(), float(total)) == ([1.0, 2.0, 3.0], 0.0)


def test_lengths_among_the_inputs():
    late = dt.tensor("late", dims=OBS)
    f = dt.function([OBS], dt.length(OBS), "python", updates={late: late + dt.arange(OBS)})
    running = f.start(late=[1.0, 1.0])
    assert int(running(2)) == 2
    running(obs=["p", "q"])
    assert running.state["late"].to_series().to_dict() == {"p": 1.0, "q": 3.0}
    with pytest.raises(dt.DimError, match=r"obs"):
        running(3)


# -- mistakes --------------------------------------------------------------------------------------


def test_a_state_stays_what_it_is():
    with pytest.raises(dt.DimError, match=r"other dims\n  state: {country} .*\n  update: {}"):
        dt.function([X], X, updates={S: X.sum()})
    with pytest.raises(dt.DimError, match=r"update: {country, obs} float64"):
        dt.function([X], X, updates={S: X + dt.ones(OBS)})
    with pytest.raises(dt.DtypeError, match=r"another dtype\n  state: {} int64\n  update: {} fl"):
        dt.function([X], X, updates={N: N + 0.5})
    place = dt.tensor("place", dims=OBS, categories=COUNTRY)
    with pytest.raises(dt.LabelError, match=r"do not hold labels of the same dim"):
        dt.function([], [], updates={place: place.codes})


def test_what_may_be_a_state():
    unnamed = dt.tensor(dims=COUNTRY)
    with pytest.raises(dt.GraphError, match=r"a state is a named input, an unnamed input"):
        dt.function([], [], updates={unnamed: unnamed + 1})
    with pytest.raises(dt.GraphError, match=r"a state is a named input, multiply with dims"):
        dt.function([S], [], updates={S * 2: S})
    with pytest.raises(dt.GraphError, match=r"'s' is a state, because it has an update"):
        dt.function([X, S], [], updates={S: S + X})
    with pytest.raises(dt.GraphError, match=r"not given\n  missing: x with dims {country}"):
        dt.function([], [], updates={S: S + X})


def test_states_that_are_given_wrong():
    f = dt.function([X], S, "python", updates={S: S + X, N: N + 1})
    with pytest.raises(dt.InputError, match=r"the state lacks 'n'\n  given: 's'"):
        f.step({"s": np.zeros(3)}, VALUES[0])
    with pytest.raises(dt.InputError, match=r"no state 'm'(.|\n)*s {country}, n {}"):
        f.start({"s": np.zeros(3)}, m=0)
    with pytest.raises(dt.InputError, match=r"a state is a mapping of names to values, not tuple"):
        f.step((np.zeros(3), 0), VALUES[0])
    with pytest.raises(dt.InputError, match=r"'s' is a scalar, the tensor has dims {country}"):
        f.start(s=0.0, n=0)
    with pytest.raises(dt.DtypeError, match=r"input 'n'"):
        f.start(s=np.zeros(3), n=0.5)
    running = f.start(s=np.zeros(3), n=3)
    with pytest.raises(dt.InputError, match=r"is a scalar"):
        running.set_state(n=4, s=0.0)
    assert int(running.state["n"]) == 3


def test_a_batch_that_the_state_has_not():
    f = dt.function([X], S, "python", updates={S: S + X})
    draws = xr.DataArray(VALUES, dims=("draw", "country"))
    with pytest.raises(dt.DimError) as caught:
        f.step({"s": np.zeros(3)}, draws)
    assert str(caught.value) == (
        "state 's' changes its dims in a step\n  went in: {country}\n"
        "  came out: {country, draw}\n"
        "hint: where another state or an input has additional dims, start from a state that has "
        "them, too"
    )
    forgetful = dt.function([X], S, "python", updates={S: X})
    with pytest.raises(dt.DimError, match=r"went in: {draw, country}\n  came out: {country}\n"):
        forgetful.step({"s": (("draw", "country"), VALUES)}, VALUES[0])
