"""Booleans are masks in every selection, whatever holds them, and never positions or labels."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt

K = dt.Dim("k", coords=[1, 2, 3, 4])
X = dt.data([1.0, 2.0, 3.0, 4.0], K)
MASK = [True, False, True, False]
FORMS = {
    "list": list,
    "tuple": tuple,
    "scalars": lambda m: [np.bool_(each) for each in m],
    "array": np.array,
    "objects": lambda m: np.array(m, dtype=object),
    "series": pd.Series,
    "nullable": lambda m: pd.Series(m, dtype="boolean"),
    "index": pd.Index,
    "extension": pd.array,
    "tensor": lambda m: dt.data(m, K),
    "dataarray": lambda m: xr.DataArray(m, dims="k"),
}
KEPT, LEFT = [1.0, 3.0], [2.0, 4.0]


@pytest.mark.parametrize("form", FORMS)
def test_a_mask_selects_where_it_is_true(form):
    mask = FORMS[form](MASK)
    assert X.isel(k=mask).values.tolist() == KEPT
    assert X.drop_isel(k=mask).values.tolist() == LEFT
    assert X.isel(k=mask).set(9.0).values.tolist() == [9.0, 2.0, 9.0, 4.0]
    assert X.isel(k=mask).inc(1.0).values.tolist() == [2.0, 2.0, 4.0, 4.0]
    if form != "tuple":  # one label, in sel and brackets
        assert X.sel(k=mask).values.tolist() == KEPT
        assert X.sel(k=mask, method="nearest").values.tolist() == KEPT
        assert X[mask].values.tolist() == X.loc[mask].values.tolist() == KEPT
    if form != "objects":
        assert X.drop_sel(k=mask).values.tolist() == LEFT


def test_a_computed_mask_leaves_positions_out():
    limit = dt.scalar("limit")
    f = dt.function([limit], X.drop_isel(k=limit < X), backend="python")
    assert f(limit=2.5).values.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("form", [form for form in FORMS if form != "objects"])
def test_booleans_are_no_labels_of_numbers(form):
    mask = FORMS[form](MASK)
    with pytest.raises(dt.errors.LabelError, match="booleans are not labels of dim 'k'"):
        X.reindex(k=mask)
    with pytest.raises(dt.errors.DtypeError, match="booleans are not labels of dim 'k'"):
        X.interp(k=mask)


@pytest.mark.parametrize("one", [True, np.True_, np.array(True)])
def test_one_boolean_is_no_position(one):
    for select in (X.isel, X.drop_isel):
        with pytest.raises(dt.errors.DtypeError, match="is not a position along dim 'k'"):
            select(k=one)
    for select in (X.sel, X.drop_sel):
        with pytest.raises(dt.errors.LabelError, match="dim 'k' has no label True"):
            select(k=one)


@pytest.mark.parametrize("one", [True, np.True_])
@pytest.mark.parametrize(
    "ask",
    [
        lambda n: X[n:],
        lambda n: X.isel(k=slice(None, n)),
        lambda n: X.head(k=n),
        lambda n: X.tail(k=n),
        lambda n: X.thin(k=n),
        lambda n: X.shift(k=n),
        lambda n: X.roll(k=n),
        lambda n: X.drop_isel(k=[n, 2]),
    ],
)
def test_one_boolean_is_no_number_of_positions(ask, one):
    with pytest.raises((dt.DtypeError, dt.OptionError), match=r"True|positions"):
        ask(one)


def test_positions_that_drop_isel_leaves_out():
    assert X.drop_isel(k=slice(1, 3)).values.tolist() == [1.0, 4.0]
    assert X.drop_isel(k=dt.data([0, -1], dt.Dim("j"))).values.tolist() == [2.0, 3.0]
    with pytest.raises(dt.errors.DtypeError, match="how many positions along dim 'k'"):
        X.drop_isel(k=dt.int64("at", dt.Dim("j")))
    with pytest.raises(dt.errors.DtypeError, match="not a position along dim 'k'"):
        X.drop_isel(k=1.5)
