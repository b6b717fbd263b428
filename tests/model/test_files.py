"""Results in files: every kind of label is read back as it was. pandas' equality is the oracle."""

from __future__ import annotations

import datetime
import enum
import os
import pickle

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor import dist
from dimtensor.model.inference.storage import restored, storable

pytest.importorskip("zarr")


class Color(enum.Enum):
    RED = 1
    BLUE = 2


LABELS = {
    "tuples": [("a", 1), ("b", 2), ("c", 3)],
    "levels": pd.MultiIndex.from_tuples([("a", 1.5), ("b", 2.5)], names=["p", "q"]),
    "tuples of dates": [("a", pd.Timestamp("2020-01-02", tz="UTC")), ("b", pd.Period("2020Q1"))],
    "quarters": pd.period_range("2020Q1", periods=3, freq="Q"),
    "weeks": pd.period_range("2019-12-30", periods=3, freq="W-TUE"),
    "hours": pd.period_range("2020-03-01 00:00", periods=3, freq="h"),
    "intervals": pd.interval_range(0.1, 3.1, closed="left"),
    "intervals of integers": pd.interval_range(-1, 2, closed="both"),
    "intervals of dates": pd.interval_range(pd.Timestamp("2020-01-01"), periods=3),
    "intervals in a zone": pd.interval_range(
        pd.Timestamp("2020-01-01", tz="Asia/Tokyo"), periods=2
    ),
    "zone": pd.date_range("2020-10-24 12:00", periods=3, tz="Europe/Berlin"),
    "hour that is twice": pd.date_range(
        "2020-10-25 00:30", periods=4, freq="h", tz="Europe/Berlin"
    ),
    "offset": pd.DatetimeIndex(["2020-01-01T00:00:00.5+05:30", "2020-01-02T00:00:00+05:30"]),
    "mixed": ["a", 1, 2.5, True, ("b", None)],
    "before 1678": np.array(["1500-01-01", "1600-05-03", "2020-01-01"], dtype="M8[D]"),
    "after 2262": np.array(["2020-01-01", "3000-05-03"], dtype="M8[s]"),
    "dates of the library": [datetime.date(1500, 1, 2), datetime.date(2020, 1, 3)],
    "dates": pd.date_range("2020", periods=3),
    "nanoseconds": np.array(["2020-01-01T00:00:00.000000001", "2020-01-02"], dtype="M8[ns]"),
    "spans": pd.to_timedelta([1, 2, 3], unit="h"),
    "long spans": np.array([1, 400 * 365], dtype="m8[D]").astype("m8[s]"),
    "members": [Color.RED, Color.BLUE],
    "bytes": [b"a", b"b\xff"],
    "none": [None, "a"],
    "infinite": [-np.inf, "a", np.inf],
    "complex": [1 + 2j, 3j],
    "bool": [True, False],
    "texts": ["a/b", "ü", ""],
    "ends of texts": ["a\0b", "a", "\0"],
    "halves of letters": ["\ud800", "\ud83d\ude00", "\U0001f600"],
    "large": [2**60, 1],
}
MANY_BITS = {"nanoseconds", "large"}  # NetCDF 3 has no integers of 64 bits


@pytest.fixture(scope="module")
def drawn():
    """Draws over a dim with labels of each kind."""
    made = [
        dt.rv(name, dist.Normal(0.0, 1.0), dims=dt.Dim(f"{name}, dim", coords=labels))
        for name, labels in LABELS.items()
    ]
    return dt.Model(*made, backend="python").draw(2, seed=1)


def fitted(labels):
    t = dt.Dim("t", coords=labels)
    y = dt.rv("y", dist.Normal(dt.rv("mu", dist.Normal(0.0, 1.0), dims=t), 1.0))
    fit = dt.Model(y, backend="python").observe(y=np.arange(float(t.length)))
    return fit, fit.laplace(3, seed=1)


def check_same(found, expected):
    assert {path for path, _ in found.subtree_with_keys} == {
        path for path, _ in expected.subtree_with_keys
    }
    for path, part in expected.subtree_with_keys:
        node, again = (x.to_dataset(inherit=False) for x in (part, found[path]))
        xr.testing.assert_equal(again, node)
        for name, index in node.indexes.items():
            pd.testing.assert_index_equal(
                again.indexes[name], index, exact="equiv", check_freq=False
            )
            assert list(map(type, again.indexes[name])) == list(map(type, index))


def test_labels_are_read_back_as_they_were(drawn, tmp_path):
    drawn.to_zarr(tmp_path / "drawn.zarr", consolidated=False)
    check_same(dt.load_posterior(tmp_path / "drawn.zarr"), drawn)
    # NetCDF 3 takes one group at a time
    group = storable(drawn)["prior_predictive"].to_dataset().drop_vars(MANY_BITS)
    group = group.drop_vars([f"{name}, dim" for name in MANY_BITS], errors="ignore")
    group.to_netcdf(tmp_path / "drawn.nc", engine="scipy")
    with xr.open_dataset(tmp_path / "drawn.nc", engine="scipy") as file:
        found = restored(file.load())
    for name in LABELS.keys() - MANY_BITS:
        index = drawn["prior_predictive"].indexes[f"{name}, dim"]
        assert found.indexes[f"{name}, dim"].tolist() == index.tolist(), name


def test_labels_in_netcdf_files(drawn, tmp_path):
    pytest.importorskip("h5py")
    pytest.importorskip("h5netcdf")
    drawn.to_netcdf(tmp_path / "drawn.nc")
    check_same(dt.load_posterior(tmp_path / "drawn.nc"), drawn)


def test_predictions_of_draws_that_were_read(tmp_path):
    fit, post = fitted(LABELS["quarters"])
    fit.log_likelihood(post).to_zarr(tmp_path / "post.zarr", consolidated=False)
    again = dt.load_posterior(tmp_path / "post.zarr")
    assert again["posterior"].attrs == post["posterior"].attrs
    one, two = (fit.predict(x, seed=1)["posterior_predictive"] for x in (post, again))
    xr.testing.assert_equal(one.to_dataset(), two.to_dataset())
    assert "log_likelihood" in again.children


def test_products_of_dims_and_draws_that_are_labels(tmp_path):
    one, two = (
        dt.Dim("one", coords=["a", "b"]),
        dt.Dim("two", coords=pd.period_range("2020", periods=2, freq="Y")),
    )
    both = dt.ProductDim([one, two])
    z = dt.rv(
        "z",
        dist.Categorical(dt.data([0.5, 0.5], dims=two), dim=two),
        dims=[one, dt.Dim("o", length=2)],
    )
    x = dt.rv("x", dist.Normal(0.0, 1.0), dims=both)
    drawn = dt.Model(x, z, backend="python").draw(3, seed=1)
    drawn.to_zarr(tmp_path / "drawn.zarr", consolidated=False)
    check_same(dt.load_posterior(tmp_path / "drawn.zarr"), drawn)
    # xarray alone has texts
    texts = xr.open_datatree(tmp_path / "drawn.zarr", engine="zarr", consolidated=False)[
        "prior_predictive"
    ]["z"]
    assert set(np.unique(texts)) <= {"2020", "2021"}


def test_what_is_made_of_results_can_be_written_too(tmp_path):
    _, post = fitted(LABELS["quarters"])
    first = post.isel(draw=[0, 1])
    for at, tree in enumerate((first, pickle.loads(pickle.dumps(post)), post["posterior"])):
        tree.to_zarr(tmp_path / f"{at}.zarr", consolidated=False)
        check_same(dt.load_posterior(tmp_path / f"{at}.zarr"), tree)
    assert repr(post).startswith("<xarray.DataTree>")


def test_attributes_are_those_that_files_have(tmp_path):
    _, post = fitted(["a", "b"])
    group = post["posterior"]
    group.attrs |= {
        "yes": True,
        "none": None,
        "nested": {"a": [1, None]},
        "when": datetime.date(2020, 1, 2),
    }
    group["mu"].attrs["unit"] = np.float64(2.0)
    stored = storable(post)["posterior"].to_dataset()
    stored.attrs.pop("seed")
    stored.drop_vars("draw").to_netcdf(tmp_path / "post.nc", engine="scipy")
    post.to_zarr(tmp_path / "post.zarr", consolidated=False)
    found = dt.load_posterior(tmp_path / "post.zarr")["posterior"].attrs
    assert (found["yes"], found["none"], found["when"]) == (1, "None", "2020-01-02")
    assert found["nested"] == '{"a": [1, null]}'


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(dt.InputError, match=r"no file '.*post.nc'\n.*post.to_netcdf\(path\)"):
        dt.load_posterior(tmp_path / "post.nc")


WRONG = {
    "period[Q-FEC]": ["2020Q1"],
    "period[Q-DEC]": ["yesterday"],
    "json": ["{"],
    "json ": ["[]"],
    "datetime64[ns, dateutil//etc/localtime]": ["2020-01-01"],
    "datetime64[ns, ../../etc/localtime]": ["2020-01-01"],
    "datetime64[D]": ["now and then"],
    "interval[int64, right]": ["(1]"],
    "timedelta64[s]": ["1.5"],
    "category": ["a"],
    "Sparse[float64, 0]": ["1"],
    "object": ["a"],
    "": ["a"],
    3: ["a"],
}


@pytest.mark.parametrize(("kind", "texts"), WRONG.items(), ids=str)
def test_labels_that_cannot_be_read_are_an_error_that_names_the_variable(kind, texts):
    mark = {"dimtensor_labels": kind}
    dataset = xr.Dataset(coords={"city": ("city", np.array(texts, object), mark)})
    with pytest.raises(dt.InputError, match=r"labels of 'city' cannot be read(?s:.)*values: '"):
        restored(dataset)


@pytest.mark.parametrize(
    "text",
    ["[" * 10**5, "[" * 10**4 + "]" * 10**4, '{"enum": ["os", "system", "x"]}', '{"a": "b"}',
     '{"bytes": "?"}', '{"enum": 3}', '{"float": "x"}', '{}', '{"float": "1", "bytes": ""}',
     '{"datetime64[ns, dateutil//etc/localtime]": "2020"}', "9" * 5000],
    ids=lambda text: text[:40],
)  # fmt: skip
def test_texts_of_labels_make_labels_and_nothing_else(text):
    mark = {"dimtensor_labels": "json"}
    dataset = xr.Dataset(coords={"city": ("city", np.array([text], object), mark)})
    try:
        (label,) = restored(dataset).indexes["city"]
    except dt.InputError:
        return
    assert label == "system.x"  # what an enumeration is that the program does not have


def test_places_that_are_no_files_of_draws(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("hello")
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", 1 << 42)
    for name in ("pipe", "empty", "text"):
        with pytest.raises(dt.InputError, match=f"{name}' is not read"):
            dt.load_posterior(tmp_path / name)
    for path in ("", "a\0b"):
        with pytest.raises(dt.ArgumentError, match="takes the path of a file"):
            dt.load_posterior(path)
    with pytest.raises(dt.InputError, match="there is no file"):
        dt.load_posterior(tmp_path / "nothing")
    with pytest.raises(dt.InputError, match="'/dev/zero' is no regular file"):
        dt.load_posterior("/dev/zero")
    with pytest.raises(dt.MemoryLimitError, match="needs more memory than there is"):
        dt.load_posterior(tmp_path / "large")
