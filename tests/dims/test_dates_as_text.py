"""Dates as text: one format for all of a column, and none that is guessed."""

import numpy as np
import pandas as pd
import pytest

import dimtensor as dt

DAYS = pd.date_range("2020-01-01", periods=60)
OBS = dt.Dim("obs")
LABELS = {
    "naive": DAYS,
    "zoned": DAYS.tz_localize("Europe/Rome"),
    "period": pd.period_range("2020-01-01", periods=60, freq="D"),
}
DAY_FIRST = ["13/02/2020", "01/02/2020", "03/01/2020"]
MONTH_FIRST = ["02-13-2020", "02-01-2020"]


def places(texts, **options):
    return DAYS.get_indexer(pd.to_datetime(texts, **options)).tolist()


def looked_up(labels, texts):
    day = dt.Dim("day", coords=labels)
    x = dt.data(np.arange(60), day)
    column = dt.data(pd.Series(texts), OBS, categories=day).codes.values.tolist()
    assert column == x.sel(day=texts).values.tolist()
    return column


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize(
    ("texts", "options"),
    [
        (DAY_FIRST, {"dayfirst": True}),
        (MONTH_FIRST, {"format": "%m-%d-%Y"}),
        (["13.02.2020 00:00", "01.02.2020 00:00"], {"dayfirst": True}),
        (["2020-02-13", "2020-02-01"], {}),
        (["2020/02/13", "2020/02/01"], {}),
        (["20200213", "20200201"], {}),
        (["13 Feb 2020", "1 Feb 2020"], {"format": "mixed"}),
        (["02/02/2020", "01/01/2020"], {}),  # the same date in both orders
    ],
)
def test_one_format_for_all_dates_of_a_column(kind, texts, options):
    assert looked_up(LABELS[kind], texts) == places(texts, **options)


AMBIGUOUS = {
    ("01/02/2020", "03/02/2020"): "nothing tells which is the day in '01/02/2020'",
    ("13/02/2020", "02/13/2020"): "the day is first in '13/02/2020', and the month in '02/13/2020'",
    ("2020-02-13", "13/02/2020"): "several formats: '13/02/2020' and '2020-02-13'",
    ("13/02/20", "14/02/20"): "two digits for its year",
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("texts", AMBIGUOUS)
def test_what_may_be_several_dates_is_none(kind, texts):
    day = dt.Dim("day", coords=LABELS[kind])
    x = dt.data(np.arange(60), day)
    for ask in (
        lambda: dt.data(list(texts), OBS, categories=day),
        lambda: dt.data(pd.Series(texts), OBS, categories=day),
        lambda: x.sel(day=list(texts)),
        lambda: x.sel(day=slice(*texts)),
        lambda: x.drop_sel(day=list(texts)),
        lambda: dt.data([0], OBS).as_labels(day).isin(texts),
    ):
        with pytest.raises(dt.errors.LabelError, match=AMBIGUOUS[texts]) as e:
            ask()
        assert "dayfirst=True" in str(e.value)
        assert "format=" in str(e.value)


def test_one_label_that_may_be_two_dates():
    day = dt.Dim("day", coords=DAYS)
    x = dt.data(np.arange(60.0), day)
    assert x.sel(day="13/02/2020").item() == places(["2020-02-13"])[0]
    assert x.sel(day=slice("31/01/2020", "02/02/2020")).values.tolist() == [30, 31, 32]
    for ask in (
        lambda: x.sel(day="01/02/2020"),
        lambda: x.sel(day="01/02/2020", method="nearest"),
        lambda: x.interp(day="01/02/2020"),
        lambda: dt.data([0], OBS).as_labels(day) == "01/02/2020",
        lambda: dt.date_range("day", "01/02/2020", periods=3),
    ):
        with pytest.raises(dt.errors.LabelError, match="nothing tells which is the day"):
            ask()
    assert dt.date_range("day", "13/02/2020", "03/03/2020").length == 20
