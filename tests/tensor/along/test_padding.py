"""Positions added, moved and left out, against NumPy and xarray."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import dimtensor as dt
from tests.backend_names import LONG_JAX
from tests.effort import a_third

T, K = dt.Dim("t", coords=[1.0, 2.0, 4.0, 8.0, 9.0]), dt.Dim("k", coords=["a", "b", "c"])
FRAME = xr.DataArray(
    np.random.default_rng(4).normal(size=(5, 3)), coords={"t": T.coords, "k": list("abc")},
    dims=["t", "k"],
)  # fmt: skip
x = dt.data(FRAME, dims=[T, K])
COPIES = ["edge", "reflect", "symmetric", "wrap"]
MODES = [*COPIES, "constant", "linear_ramp", "maximum", "mean", "median", "minimum"]


def same(found, expected):
    result = found.eval().drop_vars(["t", "k"], errors="ignore").drop_attrs()
    expected = expected.drop_vars(["t", "k"], errors="ignore")
    xr.testing.assert_allclose(result.transpose(*expected.dims), expected, rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_modes_are_xarrays(mode):
    for width in ({"t": (2, 0)}, {"k": 1}, {"t": (1, 3), "k": (0, 2)}, {"t": 0}):
        same(x.pad(width, mode=mode), FRAME.pad(width, mode=mode))
        padded = x.pad(width, mode=mode)
        before = width["t"][0] if isinstance(width.get("t"), tuple) else 0
        labels = next(dim for dim in padded.dims if dim.name == "t").coords
        assert labels.tolist()[before : before + 5] == T.coords.tolist()


@pytest.mark.parametrize("mode", ["maximum", "mean", "median", "minimum"])
def test_statistics_of_the_elements_at_the_ends(mode):
    for length in (1, 2, (3, 1), 9, {"t": (2, 4)}):
        options = {"mode": mode, "stat_length": length}
        same(x.pad(t=(2, 1), **options), FRAME.pad(t=(2, 1), **options))
    whole = xr.DataArray([7, 2, 4, 5], dims="t")
    found = dt.data(whole.values, dims=dt.Dim("t")).pad(t=1, mode=mode)
    assert found.dtype == "int64"
    assert found.values.tolist() == whole.pad(t=1, mode=mode).values.tolist()


@a_third
@given(
    n=st.integers(1, 5),
    width=st.tuples(st.integers(0, 12), st.integers(0, 12)),
    mode=st.sampled_from(COPIES),
    kind=st.sampled_from(["even", "odd"]),
    late=st.booleans(),
)
def test_any_length_and_width_of_copies(n, width, mode, kind, late):
    values = np.random.default_rng(n).normal(size=n)
    dim = dt.Dim("t") if late else dt.Dim("t", length=n)
    options = {} if mode in ("edge", "wrap") else {"reflect_type": kind}
    y = dt.tensor("y", dims=dim)
    found = y.pad(t=width, mode=mode, **options).eval({y: values})
    np.testing.assert_allclose(found, np.pad(values, width, mode=mode, **options), atol=1e-11)


def test_constants_and_ramps_by_dim_and_end():
    for options in (
        {"constant_values": (1.0, -2.0)},
        {"constant_values": {"t": (1.0, 2.0), "k": 5.0}},
        {"mode": "linear_ramp", "end_values": 3.0},
        {"mode": "linear_ramp", "end_values": {"t": (1.0, 2.0)}},
    ):
        width = {"t": (1, 2), "k": (2, 1)}
        same(x.pad(width, **options), FRAME.pad(width, **options))
    whole = np.array([7, -2, 40])
    y = dt.data(whole, dims=dt.Dim("t")).pad(t=(4, 5), mode="linear_ramp", end_values=(-11, 2))
    expected = np.pad(whole, (4, 5), mode="linear_ramp", end_values=(-11, 2))
    assert y.values.tolist() == expected.tolist()
    assert y.dtype == "int64"


@pytest.mark.parametrize("backend", LONG_JAX)
def test_gradients_by_the_padding_of_unit_vectors(backend):
    y = dt.tensor("y", dims=dt.Dim("t"))
    n, width = 4, (3, 6)
    weights = np.random.default_rng(0).normal(size=n + sum(width))
    linear = ["edge", "wrap", "linear_ramp", "mean"]
    outputs, expected = [], []
    for mode, kind in [*((m, None) for m in linear), ("reflect", "odd"), ("symmetric", "odd"),
                       ("reflect", "even"), ("symmetric", "even")]:  # fmt: skip
        options = {} if kind is None else {"reflect_type": kind}
        padded = y.pad(t=width, mode=mode, **options)
        (along,) = padded.dims
        outputs.append(dt.grad((padded * dt.data(weights, dims=along)).sum(), y))
        units = [np.pad(row, width, mode=mode, **options) for row in np.eye(n)]
        expected.append(np.array(units) @ weights)
    found = dt.function([y], outputs, backend=backend)(np.random.default_rng(1).normal(size=n))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_labels_are_padded_with_their_elements():
    at = dt.data(["b", "a"], dims=dt.Dim("t", length=2), categories=K)
    assert at.pad(t=1, mode="wrap").values.tolist() == ["a", "b", "a", "b"]


def test_refusals():
    with pytest.raises(dt.OptionError, match=r"pad: there is no mode 'edges' .did you mean 'edge'"):
        x.pad(t=1, mode="edges")
    with pytest.raises(dt.OptionError, match="there is no reflect_type 'both'"):
        x.pad(t=1, mode="reflect", reflect_type="both")
    with pytest.raises(dt.OptionError, match="for both ends there are two values"):
        x.pad(t=(1, 2, 3))
    with pytest.raises(dt.OptionError, match="stat_length is at least 1, not 0"):
        x.pad(t=1, mode="mean", stat_length=0)
    empty = dt.data(np.zeros(0), dims=dt.Dim("t", length=0))
    with pytest.raises(
        dt.DimError, match="dim 't' has no elements, so mode 'wrap' has none to add"
    ):
        empty.pad(t=1, mode="wrap")
    assert empty.pad(t=1, constant_values=2.0).values.tolist() == [2.0, 2.0]


# -- moved -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, -2, 7])
def test_labels_roll_along_where_they_are_told_to(n):
    expected = FRAME.roll(t=n, roll_coords=True)
    found = x.roll(t=n, roll_coords=True).eval()
    assert found.t.values.tolist() == expected.t.values.tolist()
    np.testing.assert_array_equal(found.transpose("t", "k"), expected)
    stays = x.roll(t=n).eval().transpose("t", "k")
    np.testing.assert_array_equal(stays, FRAME.roll(t=n))
    assert stays.t.values.tolist() == T.coords.tolist()


def test_labels_of_a_late_dim_do_not_roll():
    y = dt.tensor("y", dims=dt.Dim("t"))
    with pytest.raises(dt.DimError, match="labels move along dims of known length, dim 't' has"):
        y.roll(t=1, roll_coords=True)


@pytest.mark.parametrize("n", [0, 1, 3, 6])
@pytest.mark.parametrize("label", ["upper", "lower"])
def test_differences_of_any_order(n, label):
    expected, found = FRAME.diff("t", n, label=label), x.diff("t", n, label=label).eval()
    np.testing.assert_allclose(found.transpose("t", "k"), expected)
    labels = T.coords.tolist()  # xarray forgets the label it was told after the first of several
    assert found.t.values.tolist() == (labels[n:] if label == "upper" else labels[: 5 - min(n, 5)])
    with pytest.raises(dt.OptionError, match="0 times or more, not -1"):
        x.diff("t", -1)


# -- left out --------------------------------------------------------------------------------------


def test_positions_where_a_condition_holds_nowhere_are_left_out():
    for cut in (-5.0, 0.0, 0.9, 5.0):
        larger = FRAME.copy(data=FRAME.values > cut)
        expected, found = FRAME.where(larger, drop=True), x.where(x > cut, drop=True)
        assert found.eval().t.values.tolist() == expected.t.values.tolist()
        same(found, expected)
        filled = x.where(lambda v, cut=cut: v > cut, lambda v: -v, drop=True)
        same(filled, FRAME.where(larger, -FRAME).sel(t=expected.t, k=expected.k))
    early = xr.DataArray([True, False, True, False, False], coords={"t": FRAME.t})
    found = x.where(early, drop=True)
    assert [len(dim) for dim in found.dims if dim.name == "t"] == [2]  # known before it runs
    same(found, FRAME.where(early, drop=True))
    same(x.where(True, drop=True), FRAME)


@pytest.mark.parametrize("backend", ["python", pytest.param("numba", marks=pytest.mark.compiled)])
def test_a_computed_condition_leaves_out_what_it_finds(backend):
    y = dt.tensor("y", dims=[T, K])
    left = y.where(y > 0.9, drop=True)
    loss = (left**2).sum(skipna=True)
    found, gradient = dt.function([y], [left, dt.grad(loss, y)], backend=backend)(FRAME)
    expected = FRAME.where(FRAME > 0.9, drop=True)
    assert found.t.values.tolist() == expected.t.values.tolist()
    np.testing.assert_array_equal(found.transpose("t", "k"), expected)
    expected = (2 * FRAME).where(FRAME > 0.9, 0.0)
    np.testing.assert_allclose(gradient.transpose("t", "k"), expected)


def test_what_leaves_nothing_out():
    with pytest.raises(dt.DimError, match="positions are left out along dims of the tensor"):
        x.where(dt.data([True, False], dims=dt.Dim("other")), drop=True)
    with pytest.raises(dt.DtypeError, match="a condition is boolean, not of float64"):
        x.where(x, drop=True)


def test_labels_that_are_not_there_may_be_ignored():
    for labels in ({"t": [2.0, 3.0]}, {"k": "z"}, {"t": 9.0, "k": ["a", "c", "d"]}):
        found = x.drop_sel(labels, errors="ignore").eval()
        expected = FRAME.drop_sel(labels, errors="ignore")
        np.testing.assert_array_equal(found.transpose("t", "k"), expected)
    with pytest.raises(dt.LabelError, match="'z'"):
        x.drop_sel(k="z")
    with pytest.raises(dt.OptionError, match="errors is 'raise' or 'ignore', not 'warn'"):
        x.drop_sel(k="z", errors="warn")
    day = dt.date_range("day", start="2021-01-01", periods=3)
    y = dt.data([1.0, 2.0, 3.0], dims=day)
    kept = y.drop_sel(day=["2021-01-02", "2021-02-02"], errors="ignore")
    assert kept.values.tolist() == [1.0, 3.0]


def lagged(ys, r):
    return ys[1:] - r * ys[:-1]


# ends that are NaN, each with what is left without them, of y and a number
FILLED = {
    "shift": (lambda y, r: (y - r * y.shift(t=1))[1:], lagged),
    "squared": (lambda y, r: ((y - r * y.shift(t=1)) ** 2)[1:], lambda ys, r: lagged(ys, r) ** 2),
    "twice": (
        lambda y, r: dt.sin(r * r * y.shift(t=2) * y.shift(t=1))[2:],
        lambda ys, r: np.sin(r * r * ys[:-2] * ys[1:-1]),
    ),
    "from_the_end": (lambda y, r: (r * y.shift(t=-1))[:-1], lambda ys, r: r * ys[1:]),
    "rolling": (
        lambda y, r: (r * y.rolling(t=3).mean() - y)[2:],
        lambda ys, r: r * (ys[:-2] + ys[1:-1] + ys[2:]) / 3 - ys[2:],
    ),
    "pad": (lambda y, r: (r * y.pad(t=(1, 2)))[1:-2], lambda ys, r: r * ys),
    "at": (lambda y, r: (y.shift(t=1) ** r).isel(t=[3, 1]), lambda ys, r: ys[[2, 0]] ** r),
    "masked": (lambda y, r: (r * y.shift(t=1)).isel(t=y > 2.0), lambda ys, r: r * ys[[0, 1]]),
}


@pytest.mark.parametrize("backend", ["python", "numba", *LONG_JAX])
@pytest.mark.parametrize("name", FILLED)
def test_ends_that_are_cut_off_have_no_part_in_derivatives(name, backend):
    program, hand = FILLED[name]
    t = dt.Dim("t", length=4)
    y, r = dt.tensor("y", dims=t), dt.scalar("r")
    loss = (program(y, r) ** 2).sum()
    f = dt.function([y, r], [loss, *dt.grad(loss, [y, r])], backend=backend)
    at = np.array([1.0, 2.5, 3.0, 0.5])

    def value(ys, number):
        return (hand(ys, number) ** 2).sum()

    found, by_y, by_r = f(at, 0.6)
    assert float(found) == pytest.approx(value(at, 0.6), rel=1e-12)
    step = 1e-6
    assert float(by_r) == pytest.approx(
        (value(at, 0.6 + step) - value(at, 0.6 - step)) / (2 * step), rel=1e-6
    )
    moves = step * np.eye(4)
    wanted = [(value(at + move, 0.6) - value(at - move, 0.6)) / (2 * step) for move in moves]
    np.testing.assert_allclose(by_y.values, wanted, rtol=1e-6, atol=1e-8)
