"""Tables without labels of their own: rows that a default index numbers, beside sorted ones."""

import pickle

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor import dist

OBS = dt.Dim("obs")
X = dt.float64("x", OBS)
V = dt.float64("v", OBS)
TABLE = pd.DataFrame({"x": np.arange(6.0), "y": 2 * np.arange(6.0)})
SORTED = TABLE.sort_values("y", ascending=False)  # of pandas 3, RangeIndex(5, -1, -1)
DISAGREE = "disagree about the labels of dim 'obs'"


def call(one, other):
    return dt.function([X, V], X - V, backend="python")(one, other)


def data(one, other):
    return (dt.data(one, OBS) - dt.data(other, OBS)).eval()


def frame(one, other):
    return (dt.frame(one.to_frame(), OBS).x - dt.frame(other.to_frame(), OBS).x).eval()


@pytest.mark.parametrize("entry", [call, data, frame])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (TABLE.x, SORTED.x),
        (SORTED.x, TABLE.x),
        (TABLE.x[2:], TABLE.x[:4]),
        (TABLE.x[:3], TABLE.x[::2]),
        (TABLE.x[:2], TABLE.x[:2].set_axis(["a", "b"])),
    ],
)
def test_rows_with_different_indexes_do_not_meet_by_position(entry, one, other):
    with pytest.raises(dt.errors.LabelError, match=DISAGREE):
        entry(one, other)


@pytest.mark.parametrize("entry", [call, data, frame])
def test_rows_with_equal_indexes_meet(entry):
    for one in (TABLE, SORTED, TABLE[3:], TABLE.set_axis([7, 7, 8, 9, 9, 9])):
        found = entry(one.x, one.x * 3)
        np.testing.assert_array_equal(found.values, one.x - 3 * one.x)
    assert not found.coords or list(found.obs.values) == [7, 7, 8, 9, 9, 9]
    assert "obs" not in entry(TABLE.x, TABLE.x).coords  # a default index is no labels


@pytest.mark.parametrize("entry", [call, data])
def test_plain_arrays_meet_every_index(entry):
    for one in (TABLE.x, SORTED.x):
        np.testing.assert_array_equal(entry(one, np.ones(6)), one.to_numpy() - 1)


def test_what_an_error_advises_brings_rows_together():
    one, other = dt.align(TABLE.x.rename_axis("obs"), SORTED.x.rename_axis("obs"), join="left")
    np.testing.assert_array_equal(call(one, other), np.zeros(6))  # as pandas subtracts them
    one, other = dt.align(dt.data(TABLE.x, OBS), dt.data(SORTED.x, OBS), join="left")
    np.testing.assert_array_equal((one - other).eval(), np.zeros(6))


def test_labels_of_rows_are_compared_with_those_of_a_derived_dim():
    f = dt.function([X, later := dt.float64("later", X[1:].dims)], X[1:] - later, backend="python")
    np.testing.assert_array_equal(f(TABLE.x, TABLE.x[1:]), np.zeros(5))
    np.testing.assert_array_equal(f(TABLE.x, np.arange(5.0)), np.ones(5))
    with pytest.raises(dt.errors.LabelError, match="other labels along"):
        f(TABLE.x, TABLE.x[1:].set_axis(range(2, 7)))
    with pytest.raises(dt.errors.LabelError, match="other labels along"):
        f(TABLE.x.set_axis(list("abcdef")), pd.Series(np.ones(5)))


@pytest.mark.parametrize("way", ["node", "data", "with_data"])
@pytest.mark.parametrize("missing", [None, "drop", "infer"])
def test_observations_meet_data_by_the_labels_of_rows(way, missing):
    def logp(x, y):
        y = y if missing is None else y.where(y < 9)
        given = dt.data(x, OBS, name="x") if way == "node" else X
        rv = dt.rv("y", dist.Normal(-3.0 * given, 1.0))
        model = dt.Model(rv, data={X: x} if way == "data" else {}, backend="python")
        model = model.with_data(x=x) if way == "with_data" else model
        density = model.observe({rv: y}, missing=missing).log_density()
        return density.logp(np.full(density.size, 10.0))

    with pytest.raises(dt.errors.LabelError, match=DISAGREE):
        logp(TABLE.x, SORTED.y)
    with pytest.raises(dt.errors.LabelError, match=DISAGREE):
        logp(SORTED.x, TABLE.y)
    # the sum does not depend on the order in which all rows stand
    assert logp(TABLE.x, TABLE.y) == pytest.approx(logp(SORTED.x, SORTED.y), rel=1e-14)
    if missing is None:
        with pytest.raises(dt.errors.LabelError, match=DISAGREE):
            logp(TABLE.x[2:], TABLE.y[:4])


def test_predictions_meet_data_by_the_labels_of_rows():
    a = dt.rv("a", dist.Normal(0.0, 1.0))
    z = dt.data(TABLE.x, OBS, name="z")
    y = dt.rv("y", dist.Normal(a * X + z, 1.0))
    fit = dt.Model(y, data={X: TABLE.x}, backend="python").observe({y: TABLE.y})
    post = xr.Dataset({"a": (("chain", "draw"), np.zeros((1, 2)))})
    assert fit.predict(post, {X: TABLE.y}, seed=1)["predictions"].sizes["obs"] == 6
    for new in ({X: SORTED.x}, {X: SORTED.x, "z": TABLE.x}, {X: TABLE.x, "z": SORTED.x}):
        with pytest.raises(dt.errors.LabelError, match=DISAGREE):
            fit.predict(post, new, seed=1)


def test_a_frame_refuses_labels_of_its_index_in_another_order():
    for table, rows in ((TABLE, SORTED), (SORTED, TABLE), (TABLE[2:], TABLE[:4])):
        obs = dt.Dim("obs", coords=rows.index)
        with pytest.raises(dt.errors.LabelError, match="in another order"):
            dt.frame(table, obs)
    obs = dt.Dim("obs", coords=SORTED.index)
    found = dt.frame(TABLE.rename_axis("obs"), obs).x.eval()
    np.testing.assert_array_equal(found, [5, 4, 3, 2, 1, 0])
    found = dt.frame(TABLE.set_axis(obs.coords.tolist()), obs).x.eval()
    np.testing.assert_array_equal(found, [0, 1, 2, 3, 4, 5])
    # an index that says nothing of the labels leaves rows where they are
    for table in (TABLE, SORTED):
        for labels in (list("abcdef"), range(1, 7) if table is TABLE else range(10, 16)):
            obs = dt.Dim("obs", coords=labels)
            np.testing.assert_array_equal(dt.frame(table, obs).x.eval(), table.x)


def test_a_model_keeps_its_rows_when_it_is_pickled():
    rv = dt.rv("y", dist.Normal(X, 1.0))
    fit = dt.Model(rv, data={X: TABLE.x}, backend="python").observe({rv: TABLE.y})
    again = pickle.loads(pickle.dumps(fit))
    again.log_density()
    with pytest.raises(dt.errors.LabelError, match=DISAGREE):
        again.with_data(x=SORTED.x).log_density()
    with pytest.raises(dt.errors.LabelError, match=DISAGREE):
        again.observe(y=SORTED.y).log_density()
