"""Selections that are written for another library: what the error advises is right."""

import numpy as np
import pandas as pd
import pytest

import dimtensor as dt

SCHOOL, OBS = dt.Dim("school", coords=["a", "b", "c"]), dt.Dim("obs")
TABLE = pd.DataFrame({"school": ["a", "c", "a"], "hours": [1.0, 2.0, 4.0], "at": [0, 2, 0]})
a = dt.data([10.0, 20.0, 30.0], SCHOOL, name="a")
y = dt.data([1.0, 1.0, 1.0], OBS, name="y")
school_of = dt.data(TABLE["school"], OBS, name="school_of", categories=SCHOOL)
ints = dt.data(TABLE["at"], OBS, name="ints")
NAMES = {"a": a, "y": y, "school_of": school_of, "ints": ints, "df": TABLE, "dt": dt, "pd": pd,
         "school": SCHOOL}  # fmt: skip


def advised(ask, error, match, before, after="\n"):
    """What the hint of an error computes, pasted as it is."""
    with pytest.raises(error, match=match) as e:
        ask()
    hint = str(e.value).split("hint: ")[1]
    hint = (hint.split(before)[1] if before else hint).split(after)[0]
    return eval(hint, dict(NAMES))


ELEMENTS = [10.0, 30.0, 10.0]


@pytest.mark.parametrize(
    ("ask", "error", "match"),
    [
        (lambda: a[school_of], dt.errors.DtypeError, "school_of holds labels of dim 'school'"),
        (lambda: a.isel(school=school_of), dt.errors.DtypeError, "school_of holds labels"),
        (lambda: a[["a", "c", "a"]], dt.errors.DtypeError, "not positions along dim 'school'"),
        (lambda: a[TABLE["school"]], dt.errors.DtypeError, "not positions along dim 'school'"),
        (lambda: a.sel(school=ints), dt.errors.LabelError, "integers are not labels"),
        (lambda: a.sel(school=TABLE["at"]), dt.errors.LabelError, "integers are not labels"),
        (lambda: a.sel(school=[0, 2, 0]), dt.errors.LabelError, "integers are not labels"),
    ],
)
def test_labels_and_positions_that_are_exchanged(ask, error, match):
    found = advised(ask, error, match, ": ")
    assert found.values.tolist() == ELEMENTS


def test_one_label_in_brackets():
    match = "'c' is a label or a name"
    found = advised(lambda: a["c"], dt.errors.DtypeError, match, "", " selects")
    assert found.item() == 30.0


@pytest.mark.parametrize("form", [np.asarray, pd.Series, pd.Index])
@pytest.mark.parametrize("how", ["brackets", "isel", "sel"])
def test_an_array_that_repeats_elements_has_a_dim_of_its_own(form, how):
    key = form(TABLE["school" if how == "sel" else "at"])
    ask = {
        "brackets": lambda: a[key],
        "isel": lambda: a.isel(school=key),
        "sel": lambda: a.sel(school=key),
    }[how]
    match = "some of them several times, has no dim"
    found = advised(ask, dt.errors.DimError, match, "its dim: ", "; to")
    assert found.values.tolist() == ELEMENTS
    assert [dim.name for dim in (found * y).dims] == ["obs"]  # no table of both
    repeated = advised(ask, dt.errors.DimError, match, "along dim 'school': ")
    assert repeated.values.tolist() == ELEMENTS
    assert repeated.dims[0]._short == "school"


def test_an_array_that_selects_each_element_once_keeps_the_dim():
    for key in (np.array([2, 0]), pd.Series([2, 0]), [2, 0, 2], np.array([True, False, True])):
        assert a[key].dims[0]._short == "school"


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: y + x,
        lambda x: x + y,
        lambda x: y == x,
        lambda x: x == y,
        lambda x: x > y,
        lambda x: dt.maximum(y, x),
        lambda x: y.groupby(x),
    ],
)
def test_a_series_without_a_name_of_its_index(ask):
    hours = TABLE["hours"]
    for before, after in (("dim: ", ", or"), ("the dim: dt", "\n")):
        prefix = "dt" if "dt" in before else ""
        with pytest.raises(dt.errors.InputError, match="the Series 'hours' has no name") as e:
            ask(hours)
        hint = prefix + str(e.value).split("hint: ")[1].split(before)[1].split(after)[0]
        named = eval(hint, dict(NAMES))
        result = ask(named)
        assert result.sum() is not None


def test_a_series_on_either_side_is_the_same():
    hours = TABLE["hours"].rename_axis("obs")
    np.testing.assert_array_equal((hours - y).values, [0.0, 1.0, 3.0])
    np.testing.assert_array_equal((y - hours).values, [0.0, -1.0, -3.0])
    np.testing.assert_array_equal((hours > y).values, [False, True, True])
    moved = hours.iloc[::-1]
    with pytest.raises(dt.errors.LabelError, match="disagree about the labels of dim 'obs'"):
        (moved - dt.data(TABLE["hours"], OBS)).eval()


def test_labels_of_groups_without_a_dim():
    for labels in (TABLE["school"].to_numpy(), list(TABLE["school"])):
        named = advised(lambda labels=labels: y.groupby(labels), dt.errors.InputError,
                        "nothing says along which dim", "", " says it")  # fmt: skip
        assert y.groupby(named).sum().values.tolist() == [2.0, 1.0]


def test_an_array_beside_a_tensor():
    array = np.array([1.0, 2.0, 3.0])
    for ask in (lambda: y + array, lambda: array + y):
        with pytest.raises(dt.errors.InputError, match=r"dt\.data\(array, dims=y\.dims\)"):
            ask()
    assert (y + dt.data(array, dims=y.dims)).values.tolist() == [2.0, 3.0, 4.0]
