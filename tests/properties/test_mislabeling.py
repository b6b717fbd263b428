"""Five ways in which values get the labels of others; each gives the right ones, or an error."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt

LABELS = ["US", "IT", "DE"]
VALUES = xr.DataArray([1.0, 2.0, 3.0], dims="country", coords={"country": LABELS})


def countries(known: str) -> dt.Dim:
    """A dim whose labels are known now, or come with the data, with its length or without."""
    if known == "labels":
        return dt.Dim("country", coords=LABELS)
    return dt.Dim("country", length=3 if known == "length" else None)


@pytest.fixture(params=["labels", "length", "nothing"])
def c(request: pytest.FixtureRequest) -> dt.DimTensor:
    return dt.tensor("c", dims=countries(request.param))


def test_slice_keeps_the_labels_of_what_it_takes(c: dt.DimTensor) -> None:
    found = c.isel(country=slice(1, None)).eval({c: VALUES})
    xr.testing.assert_identical(found, VALUES.isel(country=slice(1, None)))
    assert found.sel(country="IT").item() == 2.0
    assert "US" not in found.country


def test_reversed_values_have_reversed_labels(c: dt.DimTensor) -> None:
    found = c.isel(country=slice(None, None, -1)).eval({c: VALUES})
    assert found.country.values.tolist() == ["DE", "IT", "US"]
    assert found.sel(country="US").item() == 1.0
    assert found.sel(country="DE").item() == 3.0


def test_neighbors_do_not_add_by_position(c: dt.DimTensor) -> None:
    with pytest.raises(dt.DimError, match="two different dims are named 'country'"):
        c[1:] + c[:-1]
    assert (c[1:] * c[1:]).eval({c: VALUES}).country.values.tolist() == ["IT", "DE"]


def test_data_in_another_order_are_aligned_by_label() -> None:
    country = countries("labels")
    observed = xr.DataArray([1.0, 2.0, 3.0], dims="country", coords={"country": LABELS[::-1]})
    by_label = {"DE": 1.0, "IT": 2.0, "US": 3.0}
    x = dt.tensor("x", dims=country)
    for found in (
        dt.data(observed, dims=country).eval(),
        x.eval({x: observed}),
        (x * 1).eval({x: observed.to_series()}),
    ):
        assert found.country.values.tolist() == LABELS
        assert {label: found.sel(country=label).item() for label in LABELS} == by_label
    with pytest.raises(dt.LabelError, match="does not have the labels of dim 'country'"):
        x.eval({x: observed.assign_coords(country=["DE", "IT", "FR"])})


def test_data_in_two_orders_do_not_meet_on_a_dim_without_labels() -> None:
    country = countries("nothing")
    x, y = dt.tensor("x", dims=country), dt.tensor("y", dims=country)
    with pytest.raises(dt.LabelError, match="inputs disagree about the labels of dim 'country'"):
        (x + y).eval({x: VALUES, y: VALUES[::-1]})


@pytest.mark.parametrize("backend", ["python", pytest.param("numba", marks=pytest.mark.compiled)])
def test_outputs_of_one_function_have_each_its_own_labels(c: dt.DimTensor, backend: str) -> None:
    """What a sampler stores of a dim and of a piece of it is told apart by label."""
    f = dt.function([c], {"all": c, "rest": c[1:], "total": c.sum()}, backend=backend)
    found = f(VALUES)
    assert found["all"].country.values.tolist() == LABELS
    assert found["rest"].country.values.tolist() == LABELS[1:]
    together = xr.merge(
        [found["all"], found["rest"]], join="outer", compat="override", fill_value=np.nan
    )
    assert together["rest"].sel(country="IT").item() == 2.0
    assert np.isnan(together["rest"].sel(country="US").item())


MOVED = {
    "reversed": lambda x: x[::-1],
    "every second": lambda x: x[::2],
    "list": lambda x: x[[2, 0]],
    "repeated": lambda x: x[[2, 2, 0]],
    "mask": lambda x: x[x > 1.5],
    "concat": lambda x: dt.concat([x[1:], x[:1]], "country"),
    "doubled": lambda x: dt.concat([x, x], "country"),
    "diff": lambda x: x.diff("country"),
    "lower diff": lambda x: x.diff("country", label="lower"),
    "shift": lambda x: x.shift(country=1),
    "roll": lambda x: x.roll(country=1),
    "ravel": lambda x: (x + dt.ones(dt.Dim("k", coords=[1, 2]))).ravel(),
    "renamed": lambda x: x.rename_dim("country", "land")[1:],
    "twice": lambda x: x[1:][::-1],
}
EXPECTED = {
    "reversed": lambda x: x[::-1],
    "every second": lambda x: x[::2],
    "list": lambda x: x[[2, 0]],
    "repeated": lambda x: x[[2, 2, 0]],
    "mask": lambda x: x[x.values > 1.5],
    "concat": lambda x: xr.concat([x[1:], x[:1]], "country"),
    "doubled": lambda x: xr.concat([x, x], "country"),
    "diff": lambda x: x.diff("country"),
    "lower diff": lambda x: x.diff("country", label="lower"),
    "shift": lambda x: x.shift(country=1),
    "roll": lambda x: x.roll(country=1, roll_coords=False),
    "ravel": lambda x: (x + xr.DataArray([1.0, 1.0], dims="k", coords={"k": [1, 2]})).stack(
        country_k=("country", "k")
    ),
    "renamed": lambda x: x.rename(country="land")[1:],
    "twice": lambda x: x[1:][::-1],
}


@pytest.mark.parametrize("how", MOVED)
def test_labels_follow_the_values(c: dt.DimTensor, how: str) -> None:
    xr.testing.assert_identical(MOVED[how](c).eval({c: VALUES}), EXPECTED[how](VALUES))


def test_misspelled_name_is_another_dim_and_says_so() -> None:
    contry = dt.Dim("contry", coords=LABELS)
    x = dt.tensor("x", dims=countries("labels"))
    with pytest.raises(dt.DimError, match=r"there is no dim 'contry' \(did you mean 'country'\?\)"):
        x.sum("contry")
    with pytest.raises(dt.InputError, match="lacks dim 'country'"):
        x.eval({x: VALUES.rename(country=contry.name).rename(None)})
