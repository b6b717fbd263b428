"""Ragged tensors from and to lists, list columns, awkward arrays and CF datasets."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.errors import DimError, InputError, LabelError, OptionError

SUBJECT = dt.Dim("subject", coords=["Ann", "Bob", "Cem"])
LISTS = [[1.0, 2.0], [], [3.0]]


def of_arrow(lists):
    return pytest.importorskip("pyarrow").array(lists)


def of_chunks(lists):
    arrow = pytest.importorskip("pyarrow")
    return arrow.chunked_array([arrow.array(lists[:1]), arrow.array(lists[1:])])


def of_polars(lists):
    return pytest.importorskip("polars").Series(lists)


def of_awkward(lists):
    return pytest.importorskip("awkward").Array(lists)


FORMS = [list, of_arrow, of_chunks, of_polars, of_awkward, pd.Series]


@pytest.mark.parametrize("form", FORMS)
def test_lists_of_other_libraries(form):
    x = dt.from_ragged(form(LISTS), within=SUBJECT, name="trial")
    assert x.dims == (dt.ragged("trial", within=SUBJECT, lengths=[2, 0, 1]),)
    assert [part.tolist() for part in dt.to_ragged(x)] == LISTS


def test_a_series_has_the_labels_of_the_parents():
    series = pd.Series({"Cem": [3.0], "Ann": [1.0, 2.0], "Bob": []})
    assert [part.tolist() for part in dt.to_ragged(dt.from_ragged(series, SUBJECT))] == LISTS
    with pytest.raises(LabelError, match="the index has other labels than dim 'subject'"):
        dt.from_ragged(series.rename({"Bob": "Dov"}), SUBJECT)


def test_dtypes_and_no_lists():
    assert dt.from_ragged([[1], [], [2]], SUBJECT).dtype == "int64"
    assert dt.to_ragged(dt.from_ragged([], dt.Dim("none", length=0))) == []
    assert [part.size for part in dt.to_ragged(dt.from_ragged([[], [], []], SUBJECT))] == [0, 0, 0]


@pytest.mark.parametrize("lists", [[[1], None, []], [[1], 2, []], [[1], "ab", []], [[[1]], [], []]])
def test_what_is_no_list(lists):
    with pytest.raises(InputError, match="takes a list of elements for each parent, and found"):
        dt.from_ragged(lists, SUBJECT)


@pytest.mark.parametrize("lists", [[[1], None, [2]], [1, 2, 3], [[[1]], [], []]])
def test_what_is_no_list_column(lists):
    with pytest.raises(InputError, match="takes a list of elements for each parent, and found"):
        dt.from_ragged(of_arrow(lists), SUBJECT)


def test_as_many_lists_as_parents():
    with pytest.raises(InputError, match="2 lists do not fit dim 'subject' of length 3"):
        dt.from_ragged([[1], [2]], SUBJECT)


def test_other_dims_are_no_lists():
    k = dt.Dim("k", length=2)
    for x in (dt.zeros(k), dt.zeros([dt.ragged("trial", within=SUBJECT, lengths=[1, 1, 1]), k])):
        with pytest.raises(DimError, match="to_ragged takes a tensor with one ragged dim"):
            dt.to_ragged(x)


RAGGED = {
    "sorted": {"lengths": [2, 0, 1]},
    "in any order": {"by": ["Cem", "Ann", "Cem"]},
    "with labels": {"by": ["Cem", "Ann", "Cem"], "coords": ["a", "a", "b"]},
}


@pytest.mark.parametrize("options", RAGGED.values(), ids=RAGGED)
def test_cf_arrays_and_back(options, tmp_path):
    trial = dt.ragged("trial", within=SUBJECT, **options)
    x = dt.data([0.5, 0.7, 0.9], dims=trial, name="rt")
    written = dt.to_ragged(x, "cf")
    attribute = "sample_dimension" if "lengths" in options else "instance_dimension"
    assert [v for v in written.variables.values() if attribute in v.attrs]
    written.to_netcdf(tmp_path / "rt.nc", engine="scipy")
    with xr.open_dataset(tmp_path / "rt.nc", engine="scipy") as stored:
        for dataset in (written, stored):
            found = dt.from_ragged(dataset, variable="rt")
            assert found.dims == (trial,)
            np.testing.assert_array_equal(found.values, x.values)


def test_cf_instances_without_labels():
    trial = dt.ragged("trial", within=dt.Dim("k", length=3), by=[1, 0, 1])
    found = dt.from_ragged(dt.to_ragged(dt.data([1, 2, 3], dims=trial), "cf"), variable="value")
    assert found.dims == (trial,)


def test_cf_labels_by_their_role():
    dataset = xr.Dataset(
        {
            "temp": ("obs", [1.0, 2.0, 4.0]),
            "station_index": ("obs", [1, 0, 1], {"instance_dimension": "station"}),
            "station_name": ("station", ["A", "B"], {"cf_role": "timeseries_id"}),
        }
    )
    found = dt.from_ragged(dataset, variable="temp")
    assert found.sum("obs").to_series().to_dict() == {"A": 2.0, "B": 5.0}


def test_cf_datasets_that_do_not_say():
    trial = dt.ragged("trial", within=SUBJECT, by=["Bob", "Ann"])
    dataset = dt.to_ragged(dt.data([1, 2], dims=trial), "cf")
    with pytest.raises(InputError, match="does not say which instance the samples of 'value'"):
        dt.from_ragged(dataset.drop_vars("subject_index"), variable="value")
    dataset["subject_index"] = dataset.subject_index.copy(data=[3, -1])
    with pytest.raises(InputError, match="positions in 'subject_index' are outside of dim 'subj"):
        dt.from_ragged(dataset, variable="value")
    nested = dt.ragged("part", within=dt.ragged("trial", within=SUBJECT, lengths=[1, 0, 1]),
                       lengths=[1, 1])  # fmt: skip
    with pytest.raises(DimError, match="CF has no ragged dims within others"):
        dt.to_ragged(dt.zeros(nested), "cf")


def test_options_that_do_not_fit():
    with pytest.raises(DimError, match="takes the dim of the parents, or a variable of a Dataset"):
        dt.from_ragged(LISTS)
    with pytest.raises(OptionError, match="the form is 'lists' or 'cf', not 'arrow'"):
        dt.to_ragged(dt.from_ragged(LISTS, SUBJECT), "arrow")
