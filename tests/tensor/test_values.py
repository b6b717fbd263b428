"""Expressions of nothing but data have values, of the right labels, wherever they are asked for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.tensor import values

FIRM, YEAR = dt.Dim("firm", coords=["IBM", "GE", "US Steel"]), dt.Dim("year")
INVEST = np.arange(6.0).reshape(3, 2)
FRAME = xr.DataArray(INVEST, coords={"firm": ["IBM", "GE", "US Steel"], "year": [1935, 1936]})
invest = dt.data(FRAME, dims=[FIRM, YEAR], name="invest")
mu = dt.tensor("mu", dims=FIRM)


def test_values_are_those_of_xarray_in_the_order_of_the_dims():
    expected = FRAME - FRAME.mean("year")
    found = (invest - invest.mean(YEAR)).values
    np.testing.assert_allclose(found, expected.transpose("firm", "year"))
    plain = dt.data(INVEST, dims=[dt.Dim("firm"), dt.Dim("year")])
    np.testing.assert_array_equal(np.asarray(plain), INVEST)
    np.testing.assert_array_equal(np.asarray(plain, dtype="int64"), INVEST.astype(int))
    assert invest.mean(FIRM).values.tolist() == FRAME.mean("firm").values.tolist()
    assert invest.idxmax(FIRM).values.tolist() == ["US Steel", "US Steel"]
    assert (2 * dt.arange(FIRM)).values.tolist() == [0, 2, 4]
    firm, _ = plain.dims
    assert np.array([plain.mean(firm), plain.sum(firm)]).shape == (2, 2)


def test_numbers():
    assert float(invest.mean()) == 2.5
    assert int(invest.sum()) == 15
    assert complex(invest.max()) == 5 + 0j
    assert invest.sel(firm="GE").max().item() == 3.0
    assert invest.idxmax(FIRM).isel(year=0).item() == "US Steel"
    assert list("abcd")[dt.arange(FIRM).max()] == "c"
    with pytest.raises(dt.ArgumentError, match=r"this tensor has dims\n  dims: {firm, year}"):
        float(invest)
    with pytest.raises(dt.DimError, match=r"the only element, there are 6\n  dims: {'firm': 3"):
        invest.item()
    with pytest.raises(dt.DtypeError, match="a position is an integer, this is of float64"):
        range(3)[invest.max()]


def test_data_frames_have_the_labels():
    frame = (invest * 2).to_dataframe()
    expected = (FRAME * 2).to_dataframe("value")
    pd.testing.assert_frame_equal(frame, expected)
    assert list(invest.to_dataframe()) == ["invest"]
    assert list((invest + 1).to_dataframe("more")) == ["more"]
    assert invest.sum().to_dataframe()["value"].tolist() == [15.0]


@pytest.mark.parametrize(
    "ask",
    [lambda x: x.values, lambda x: x.item(), lambda x: x.to_dataframe(), lambda x: float(x.sum())],
)
def test_inputs_have_no_values(ask):
    with pytest.raises(dt.GraphError, match=r"an input has no value|depends on input 'mu'"):
        ask(mu)
    with pytest.raises(dt.GraphError, match=r"depends on input 'mu', and has no (value|number)"):
        ask(mu * invest)
    with pytest.raises(dt.GraphError, match=r"no values before it is computed\nhint: .*x.eval"):
        np.asarray(mu * invest)


def test_reprs_show_values_of_data_alone(monkeypatch):
    share = invest / invest.sum()
    text = repr(share)
    assert "array([[0.      , 0.066667]," in text
    assert "0.066667" in share._repr_html_()
    assert "array(2.5)" in repr(invest.mean())
    assert "array('IBM')" in repr(invest.mean(YEAR).idxmin())
    assert "array" not in repr(mu * invest)
    assert "array" not in repr(dt.arange(YEAR) * 2)  # nothing determines the length
    failing = dt.check(invest.sum() < 0, "is negative", invest + 1)
    assert "array" not in repr(failing)
    big = dt.data(np.zeros(300_000), dims=dt.Dim("n"))
    assert "array" not in repr(big + 1)
    assert (big + 1).values.sum() == 300_000
    # it is computed once
    monkeypatch.setattr(values, "function", None)
    assert repr(share) == text
    np.testing.assert_allclose(share.values, INVEST / 15)


def test_what_is_shown_cannot_be_changed_through_its_values():
    doubled = invest * 2
    before = repr(doubled)
    doubled.values[:] = -1.0
    invest.values[:] = -1.0
    assert repr(doubled) == before
    np.testing.assert_array_equal(invest.values, INVEST)


@pytest.mark.compiled
def test_large_expressions_are_compiled(monkeypatch):
    monkeypatch.setattr(values, "_INTERPRETED", 1)
    used = []
    made = values.function
    monkeypatch.setattr(values, "function", lambda *args: used.append(args[2]) or made(*args))
    np.testing.assert_array_equal((invest * 3).values, INVEST * 3)
    assert used == ["native"]


def test_loops_and_masks_have_values():
    time = dt.Dim("time", length=4)
    total = dt.cumulate(lambda s, x: s + x, 0.0, dt.data(np.arange(4.0), dims=time), dim=time)
    assert total.values.tolist() == [0.0, 1.0, 3.0, 6.0]
    x = dt.data(np.array([3.0, -1.0, 2.0]), dims=FIRM)
    assert x.sel({FIRM: x > 0}).values.tolist() == [3.0, 2.0]


def test_inputs_are_looked_for_by_identity():
    x, y, z = dt.scalar("x"), dt.scalar("y"), dt.scalar("z")
    found = dt.inputs_of(x * y)
    assert x in found
    assert y in found
    assert z not in found
    assert found.index(y) == 1
    assert (found.count(x), found.count(z)) == (1, 0)
    assert isinstance(found, list)


def test_tensors_of_data_are_arguments():
    f = dt.function([mu], mu * 2, backend="python")
    expected = 2 * FRAME.mean("year")
    np.testing.assert_allclose(f(invest.mean(YEAR)), expected)
    np.testing.assert_allclose(mu.eval({mu: invest.mean(YEAR) * 2}), expected)
    batched = f(invest)  # a year is one dim more
    assert batched.sizes == {"firm": 3, "year": 2}
    np.testing.assert_allclose(batched.transpose("firm", "year"), 2 * FRAME)
    with pytest.raises(dt.InputError, match="takes a value, not a symbolic tensor"):
        f(mu)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"IBM": 1.0}, "dict, whose keys are no dims"),
        (None, "value of type NoneType, which holds no numbers"),
        (iter([1.0]), "list_iterator, which can be read only once"),
    ],
)
def test_what_holds_no_numbers_is_named(value, kind):
    f = dt.function([mu], mu * 2, backend="python")
    with pytest.raises(dt.InputError, match=rf"'mu' .* is given a {kind}"):
        f(value)


@pytest.mark.parametrize(
    "make",
    [np.asarray, np.array, pd.Series, pd.DataFrame, pd.Index, lambda x: pd.DataFrame({"x": x}),
     lambda x: pd.DataFrame({"a": [1, 2]}).assign(x=x)],
)  # fmt: skip
def test_values_with_labels_do_not_lose_them(make):
    k = dt.Dim("k", coords=["b", "a"])
    labeled = dt.data([1.0, 2.0], dims=k, name="rain")
    late = dt.data(pd.Series([1.0, 2.0], index=["b", "a"]), dims=dt.Dim("late"), name="rain")
    for rain in (labeled, labeled * 2.0, late):
        with pytest.raises(dt.errors.LabelError, match="would lose the labels") as e:
            make(rain)
        name = "rain" if rain.name else "x"
        assert f"{name}.to_dataframe() keeps the labels" in str(e.value)
    pd.testing.assert_series_equal(
        labeled.to_dataframe()["rain"], pd.Series([1.0, 2.0], pd.Index(["b", "a"], name="k"),
                                                   name="rain")
    )  # fmt: skip


def test_values_of_two_dims_are_no_series():
    x = dt.data([[1.0, 2.0]], dims=[dt.Dim("a", coords=["u"]), dt.Dim("b", coords=[1, 2])])
    with pytest.raises(dt.DimtensorError, match=r"2 dims has no len.*x\.to_dataframe\(\)"):
        pd.Series(x)


def test_columns_of_rows_without_labels_make_a_table():
    row, place = dt.Dim("row"), dt.Dim("place", coords=["u", "v"])
    where = dt.data(["v", "u", "v"], dims=row, categories=place)
    found = pd.DataFrame({"x": dt.data([1.0, 2.0, 3.0], dims=row), "where": where})
    pd.testing.assert_frame_equal(
        found, pd.DataFrame({"x": [1.0, 2.0, 3.0], "where": ["v", "u", "v"]})
    )


class Broken:
    def __eq__(self, other):
        raise RuntimeError("broken")

    __hash__ = None

    def __len__(self):
        raise RuntimeError("broken")


def test_objects_whose_methods_raise_are_refused_as_others_are():
    with pytest.raises(dt.DtypeError, match=r"Broken|object"):
        dt.data([Broken(), Broken()], dims=dt.Dim("k"))
    with pytest.raises(dt.DimtensorError, match=r"Broken|position"):
        dt.data([1.0, 2.0], dims=dt.Dim("k")).drop_isel(k=Broken())
