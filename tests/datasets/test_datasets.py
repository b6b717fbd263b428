"""The data sets are complete, say where they are from, and are those that were published."""

import pytest

import dimtensor as dt
from dimtensor.datasets.loading import _FOLDER


def test_each_file_has_its_source_and_each_source_its_file():
    assert {path.stem for path in _FOLDER.glob("*.csv")} == set(dt.datasets.names())
    assert len(dt.datasets.names()) == 29
    for name in dt.datasets.names():
        table = dt.datasets.load(name)
        assert len(table) > 0
        assert table.attrs["title"]
        assert table.attrs["source"]
        assert set(table.attrs["units"]) <= set(table.columns)


# licenses, as SPDX expressions, of the places that copies are from
_LICENSES = {
    "the data of NLTK": "public domain",
    "scikit-learn": "BSD-3-Clause",
    "statsmodels": "public domain",
    "posteriordb": "BSD-3-Clause",
    "the example models of Stan": "BSD-3-Clause",
    "Verde": "BSD-3-Clause",
    "HDDM": "BSD-2-Clause",
    "R": "GPL-2.0-only OR GPL-3.0-only",
    "the R package MASS": "GPL-2.0-only OR GPL-3.0-only",
    "the R package agridat": "MIT",
    "the R package depmixS4": "GPL-2.0-or-later",
    "the R package fpp2": "GPL-3.0-or-later",
    "the R package ordinal": "GPL-2.0-or-later",
    "the R package pscl": "GPL-2.0-only",
    "the R package survival": "LGPL-2.0-or-later",
    "the publication": "none: a published table",
}


@pytest.mark.parametrize("name", dt.datasets.names())
def test_each_says_where_its_copy_is_from_and_under_which_license(name):
    about = dt.datasets.load(name).attrs
    assert _LICENSES[about["copy"]] == about["license"]
    place = about["copy"].removeprefix("the R package ")
    if place not in ("the publication", "the example models of Stan"):
        assert place in about["source"]


def test_numbers_are_the_published_ones():
    eruptions = dt.datasets.load("old_faithful")
    assert eruptions.mean().round(3).to_dict() == {"duration": 3.488, "waiting": 70.897}
    assert round(eruptions["duration"].corr(eruptions["waiting"]), 4) == 0.9008
    schools = dt.datasets.load("eight_schools")
    assert schools.loc["C"].to_dict() == {"effect": -3, "standard_error": 16}
    deaths = dt.datasets.load("surgical")  # BUGS, volume 1
    assert deaths.loc["H"].to_dict() == {"operations": 215, "deaths": 31}
    houses = dt.datasets.load("radon")
    assert (len(houses), houses["county"].nunique()) == (919, 85)
    assert houses["county"].value_counts()["LAC QUI PARLE"] == 2
    answers = dt.datasets.load("lsat")
    assert answers["people"].sum() == 1000
    assert answers.filter(like="item").mul(answers["people"], axis=0).sum().to_list() == [
        924, 709, 553, 763, 870]  # fmt: skip
    doses = dt.datasets.load("theophylline").groupby("subject")
    assert doses.size().to_list() == [11] * 12
    assert doses["concentration"].max().to_list() == [  # of each person
        10.5, 8.33, 8.2, 8.6, 11.4, 6.44, 7.09, 7.56, 9.03, 10.21, 8.0, 9.75]  # fmt: skip
    lives = dt.datasets.load("lung")  # R: survfit(Surv(time, status) ~ trt, veteran)
    assert lives.groupby("treatment")["died"].agg(["size", "sum"]).to_numpy().tolist() == [
        [69, 64], [68, 64]]  # fmt: skip
    polls = dt.datasets.load("polls")
    assert (polls["end"] >= polls["start"]).all()
    assert str(polls["end"].max().date()) == "2007-11-23"  # the eve of the election
    quotes = dt.datasets.load("insurance")
    assert quotes.loc["2002-01-01"].to_dict() == {"quotes": 12.971, "adverts": 7.213}
    assert str(quotes.index[-1].date()) == "2005-04-01"
    assert len(quotes) == 40
    blocks = dt.datasets.load("switching").groupby("block")  # vignette of depmixS4, section 2
    assert blocks.size().to_list() == [168, 134, 137]
    words = dt.datasets.load("addresses")
    assert words.shape == (240, 59)
    assert words.loc["vietnam"].idxmax() == "1966 Johnson"
    voters = dt.datasets.load("parties")  # statsmodels: anes96.load_pandas().data["PID"]
    counts = [200, 180, 108, 37, 94, 150, 175]
    assert voters["party"].value_counts().sort_index().to_list() == counts
    patients = dt.datasets.load("diabetes")  # Efron et al., table 1
    assert patients.iloc[0].to_list() == [59, 2, 32.1, 101, 157, 93.2, 38, 4, 4.8598, 87, 151]
    stations = dt.datasets.load("stations").set_index("station")  # 32.9° N, 97.04° W
    assert stations.loc["DFW", ["east", "north"]].round(-1).to_list() == [190.0, 210.0]


def test_labels_are_those_of_the_data():
    assert list(dt.datasets.load("rats").columns) == [8, 15, 22, 29, 36]
    assert dt.datasets.load("rats").columns.name == "day"
    months = dt.datasets.load("uk_drivers").index
    assert str(months[0].date()) == "1969-01-01"
    assert months.is_monotonic_increasing
    birds = dt.datasets.load("dippers")
    assert str(birds["next_seen"].dtype) == "Int64"
    assert birds["next_seen"].isna().any()
    rats = dt.data(dt.datasets.load("rats"))
    assert rats.sizes == {"day": 5, "rat": 30}


@pytest.mark.parametrize("name", ["radn", 3])
def test_a_data_set_that_is_not_there(name):
    with pytest.raises(dt.LabelError, match=f"there is no data set {name!r}"):
        dt.datasets.load(name)


def test_a_changed_table_is_not_that_of_the_next_call():
    table = dt.datasets.load("dugongs")
    table.loc[0, "age"] = 40.0
    table.attrs["units"]["age"] = "months"
    again = dt.datasets.load("dugongs")
    assert again.loc[0, "age"] == 1.0
    assert again.attrs["units"]["age"] == "years"
