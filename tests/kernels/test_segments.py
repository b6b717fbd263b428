"""Loops along segments: the positions of parents, one parent after the other."""

import numpy as np
import pytest
from scipy import stats

import dimtensor as dt
from dimtensor import dist
from dimtensor.errors import CheckError

pytestmark = pytest.mark.compiled
SIZES = {"mixed": [3, 0, 1, 40, 0], "empty": [0, 0], "none": []}


@pytest.fixture
def made(rng):
    def make(sizes, extra=(), dtype="float64"):
        parent = dt.Dim("parent", length=len(sizes))
        position = dt.ragged("position", within=parent, lengths=np.array(sizes, dtype=int))
        values = rng.normal(size=(sum(sizes), *(dim.length for dim in extra))).astype(dtype)
        return position, dt.tensor("x", dims=[position, *extra], dtype=dtype), values

    return make


def parts(values, sizes):
    return np.split(values, np.cumsum(sizes)[:-1]) if len(sizes) else []


def softmax(part):
    weights = np.exp(part - part.max(axis=0, initial=-np.inf))
    return weights / weights.sum(axis=0)


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_values_and_gradients_are_those_of_a_loop(made, sizes):
    position, x, values = made(sizes)
    results = [x.sum(position), x.softmax(position), x.max(position)]
    loss = (results[0] ** 2).sum() + (x * results[1]).sum() + (results[2] ** 2).sum()
    f = dt.function([x], [*results, dt.grad(loss, x)])
    totals, weights, largest, slope = (np.asarray(each) for each in f(values))
    expected = [np.empty(0)]
    for part, total, high in zip(parts(values, sizes), totals, largest, strict=True):
        assert total == pytest.approx(part.sum())
        assert high == part.max(initial=-np.inf)
        s = softmax(part)
        own = 2 * part.sum() + s + s * (part - (s * part).sum())
        if len(part):
            own[part.argmax()] += 2 * high
        expected.append(own)
    every = np.concatenate([np.empty(0), *map(softmax, parts(values, sizes))])
    np.testing.assert_allclose(weights, every, rtol=1e-12)
    np.testing.assert_allclose(slope, np.concatenate(expected), rtol=1e-10)


def test_loops_over_parents_become_one(made):
    position, x, _ = made(SIZES["mixed"])
    y = x.softmax(position)
    f = dt.function([x], [(x * y).sum(), dt.grad((x * y).sum(), x)])
    source = f.source
    assert source.count("for p0 in range(5)") == 1
    assert source.count("for i0 in") == 3


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_other_dims_and_precisions(made, dtype):
    k = dt.Dim("k", length=3)
    sizes = SIZES["mixed"]
    position, x, values = made(sizes, [k], dtype)
    f = dt.function([x], [x.sum(position), x.max(position), (x * x.sum(position)).sum(k)])
    totals, largest, rows = f((("position", "k"), values))
    found = [each.transpose("parent", "k").values for each in (totals, largest)]
    assert found[0].dtype == dtype
    each = parts(values, sizes)
    close = {
        "rtol": 1e-12 if dtype == "float64" else 1e-5,
        "atol": 1e-6 if dtype == "float32" else 0,
    }
    np.testing.assert_allclose(found[0], [part.sum(axis=0) for part in each], **close)
    np.testing.assert_array_equal(found[1], [part.max(axis=0, initial=-np.inf) for part in each])
    expected = np.concatenate([(part * part.sum(axis=0)).sum(axis=1) for part in each])
    np.testing.assert_allclose(rows.values, expected, **close)


def test_integers_and_nan(made):
    position, x, _ = made([2, 0, 1], dtype="int64")
    f = dt.function([x], [x.max(position), x.min(position)])
    most, least = f(np.array([3, -5, 7]))
    ends = np.iinfo("int64")
    assert most.values.tolist() == [3, ends.min, 7]
    assert least.values.tolist() == [-5, ends.max, 7]
    position, x, _ = made([2, 0, 2])
    found = dt.function([x], x.max(position))(np.array([np.nan, 1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(found.values, [np.nan, -np.inf, 3.0])


def test_lengths_that_do_not_fit_are_an_error_and_read_nothing_else():
    parent = dt.Dim("parent", length=3)
    n = dt.tensor("n", dims=parent, dtype="int64")
    position = dt.ragged("position", within=parent, lengths=n)
    x = dt.tensor("x", dims=position)
    f = dt.function([n, x], [x.softmax(position), x.sum(position)])
    weights, totals = f([1, 0, 2], [1.0, 2.0, 2.0])
    np.testing.assert_allclose(weights.values, [1.0, 0.5, 0.5])
    assert totals.values.tolist() == [1.0, 0.0, 4.0]
    for wrong in ([1, 1, 0], [10**12, 0, 0], [-5, 4, 1], [4, -1, 1]):
        with pytest.raises(CheckError, match="the lengths of dim 'position' add up to its length"):
            f(wrong, [1.0, 2.0, 2.0])


def test_totals_of_many_parents_keep_their_digits(made):
    sizes = [1] * 20_000
    position, x, values = made(sizes)
    total = dt.function([x], (x.sum(position) ** 2).sum())(values * 1e3 + 1e4)
    assert float(total) == pytest.approx(float(np.sum((values * 1e3 + 1e4) ** 2)), rel=1e-15)


def test_a_series_per_parent_is_machine_code(made, rng):
    sizes = [30, 0, 1, *[20] * 20]  # enough for what is known of data to be computed once
    position, y, values = made(sizes)
    level, rho = dt.tensor("level", dims=position.within), dt.scalar("rho")

    def step(deviation, mean):
        return dist.Normal(mean + rho * deviation, 1.0), lambda value: value - mean

    density = dist.Series(step, 0.0, dim=position, xs=level + 0.0 * y).logp(y)
    total = density.sum()
    f = dt.function([y, level, rho], [total, dt.grad(total, level)])
    assert f.path == "machine code"
    levels, expected = rng.normal(size=len(sizes)), 0.0
    for part, own in zip(parts(values, sizes), levels, strict=True):
        deviations = np.concatenate([[0.0], part[:-1] - own])[: len(part)]
        expected += stats.norm.logpdf(part, own + 0.3 * deviations).sum()
    assert float(f(values, levels, 0.3)[0]) == pytest.approx(expected, rel=1e-13)


def test_slopes_of_maxima_of_late_lengths(rng):
    parent = dt.Dim("parent", length=6)
    n = dt.tensor("n", dims=parent, dtype="int64")
    position = dt.ragged("position", within=parent, lengths=n)
    x = dt.tensor("x", dims=position)
    total = (x.max(position) ** 2).sum()
    f = dt.function([n, x], [total, dt.grad(total, x)])
    for sizes in ([3, 1, 40, 2, 7, 1], [1, 1, 1, 1, 1, 1]):
        values = rng.normal(size=sum(sizes))
        found, slope = f(sizes, values)
        largest = [part.max() for part in parts(values, sizes)]
        assert float(found) == pytest.approx(np.sum(np.square(largest)), rel=1e-13)
        at_most = values == np.repeat(largest, sizes)
        np.testing.assert_allclose(slope.values, np.where(at_most, 2 * values, 0.0), rtol=1e-14)


def test_segments_of_shifted_positions_are_in_an_array(rng):
    parent = dt.Dim("parent", length=3)
    n, a = dt.tensor("n", dims=parent, dtype="int64"), dt.tensor("a", dims=parent)
    position = dt.ragged("position", within=parent, lengths=n)
    x = dt.tensor("x", dims=position)
    f = dt.function([n, a, x], (x * a).shift({position: 1}, fill_value=0.0))
    assert f.path == "machine code"
    levels, values = rng.normal(size=3), rng.normal(size=5)
    scaled = values * levels[[0, 0, 0, 2, 2]]
    expected = [0.0, scaled[0], scaled[1], 0.0, scaled[3]]
    np.testing.assert_allclose(f([3, 0, 2], levels, values).values, expected, rtol=1e-15)
