"""Mistakes that users make, each a function that raises; the texts lie in ``golden/errors``."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytensor.tensor as pt
import xarray as xr

import dimtensor as dt
from dimtensor import dist

BUILDING: dict[str, Callable[[], Any]] = {}
CALLING: dict[str, Callable[[str], Any]] = {}

COUNTRY = dt.Dim("country", coords=["Italy", "Kenya", "USA"])
AGE = dt.Dim("age", length=5)
OBS = dt.Dim("obs")
DAY = dt.Dim("day", coords=np.arange("2020-01-01", "2021-01-01", dtype="M8[D]"))
X = dt.tensor("x", dims=COUNTRY)
Y = dt.tensor("y", dims=AGE)
EFFECT = X + Y
LATE = dt.tensor("late", dims=OBS)
OTHER = dt.tensor("other", dims=OBS)
WHERE = dt.data(["USA", "Italy"], dims=OBS, name="place", categories=COUNTRY)


def building(situation: Callable[[], Any]) -> Callable[[], Any]:
    """A mistake found when an expression is built or compiled."""
    BUILDING[situation.__name__] = situation
    return situation


def calling(situation: Callable[[str], Any]) -> Callable[[str], Any]:
    """A mistake found when a function is called; it takes the backend."""
    CALLING[situation.__name__] = situation
    return situation


def labeled(values: Any, labels: Any, name: str = "obs") -> xr.DataArray:
    return xr.DataArray(np.asarray(values), dims=name, coords={name: labels})


# -- dims -------------------------------------------------------------------------------------


@building
def dim_misspelled():
    EFFECT.sum("contry")


@building
def list_of_tensors():
    dt.grad([X.sum(), Y.sum()], X)


@building
def axis_by_keyword():
    EFFECT.sum(axis=0)


@building
def axis_by_number():
    EFFECT.mean(1)


@building
def axes_kept():
    dt.max(EFFECT, "age", keepdims=True)


@building
def axis_of_what_has_none():
    dt.tensor("z", dims=OBS).groupby(WHERE).first(axis=0)


@building
def reshape():
    EFFECT.reshape(5, 3)


@building
def shift_without_a_dim():
    EFFECT.shift(1)


@building
def dim_not_there():
    X.mean(AGE)


@building
def dim_of_other_labels_asked_for():
    X.sum(dt.Dim("country", coords=["Italy", "Peru"]))


@building
def dims_given_as_strings():
    dt.tensor("x", dims="country")


@building
def dim_given_twice():
    dt.tensor("x", dims=[AGE, AGE])


@building
def dims_of_one_name_in_a_tensor():
    dt.tensor("x", dims=[COUNTRY, dt.Dim("country")])


@building
def dim_meets_its_selection():
    X + X.sel(country=["USA", "Italy"])


@building
def dim_meets_one_of_other_labels():
    EFFECT * dt.tensor("z", dims=dt.Dim("country", coords=["Italy", "Peru"]))


@building
def slices_that_do_not_match():
    LATE[1:] + LATE[:-1]


@building
def roll_along_a_ragged_dim():
    dt.zeros(dt.ragged("trial", within=COUNTRY, lengths=[2, 0, 1])).roll(trial=1)


@building
def ragged_dim_beside_its_parent():
    dt.zeros([dt.ragged("trial", within=COUNTRY, lengths=[2, 0, 1]), COUNTRY])


@building
def ragged_dims_of_one_parent():
    trial = dt.ragged("trial", within=COUNTRY, lengths=[2, 0, 1])
    dt.zeros(trial) + dt.zeros(dt.ragged("visit", within=COUNTRY, lengths=[1, 1, 1]))


@building
def computed_mask_of_a_ragged_dim():
    x = dt.tensor("x", dims=dt.ragged("trial", within=COUNTRY, lengths=[2, 0, 1]))
    x[x > 0]


@building
def function_to_check_that_returns_a_model():
    x = xr.DataArray([1.0, 2.0], dims="age")
    dt.testing.check_function(lambda x: dt.Model(dt.rv("m", dist.Normal(0.0, 1.0))), x)


@building
def kernel_of_labels_that_are_text():
    dist.GP(dt.gp.Matern32(1.0), COUNTRY)


@building
def ragged_dim_in_another_order():
    trial = dt.ragged("trial", within=COUNTRY, lengths=[1, 0, 1])
    last, first = COUNTRY.coords[-1], COUNTRY.coords[0]
    other = dt.ragged("trial", within=COUNTRY, by=[last, first])
    dt.substitute(dt.tensor("x", dims=trial).cumsum(trial), {trial: other})


@building
def ragged_dim_of_lengths_and_labels():
    dt.ragged("trial", within=COUNTRY, lengths=[2, 0, 1], by=["Italy", "Italy", "USA"])


@building
def ragged_dim_within_a_name():
    dt.ragged("trial", within="country", lengths=[2, 0, 1])


@building
def ragged_dim_of_lengths_that_are_not_whole():
    dt.ragged("trial", within=COUNTRY, lengths=dt.tensor("lengths", dims=COUNTRY))


@building
def ragged_dim_of_parents_that_come_late():
    of = dt.tensor("of", dims=OBS, categories=COUNTRY)
    dt.ragged("trial", within=COUNTRY, by=of)


@building
def groups_along_a_ragged_dim():
    trial = dt.ragged("trial", within=COUNTRY, lengths=[2, 0, 1])
    kinds = dt.data(["a", "b", "a"], dims=trial)
    dt.ones(trial).groupby(kinds).mean()


@building
def truncated_loop_along_a_ragged_dim():
    x = dt.ones(dt.ragged("trial", within=COUNTRY, lengths=[2, 0, 1]))
    dt.reduce(lambda s, x: s + x, 0.0, x, dim="trial", truncate=2)


@building
def padding_of_a_plain_dim_to_a_rectangle():
    dt.zeros(AGE).pad(age=dt.Dim("number", length=9))


@building
def rectangle_that_is_too_narrow():
    x = dt.ones(dt.ragged("trial", within=COUNTRY, lengths=[2, 0, 1]))
    x.pad(trial=dt.Dim("number", length=1))


@building
def prediction_for_other_parents_of_a_ragged_dim():
    country = dt.Dim("country", coords=["Italy", "Kenya"])
    trial = dt.ragged("trial", within=country, lengths=[1, 2])
    level = dt.rv("level", dist.Normal(0.0, 1.0), dims=country)
    y = dt.rv("y", dist.Normal(level, 1.0), dims=trial)
    fit = dt.Model(y, backend="python").observe(y=[1.0, 2.0, 3.0])
    post = xr.Dataset({"level": (("chain", "draw", "country"), np.zeros((1, 2, 2)))})
    fit.predict(post, dims={country: COUNTRY}, seed=1)


@building
def late_ragged_dim_selected_by_label():
    lengths = dt.tensor("lengths", dims=COUNTRY, dtype="int64")
    dt.ones(dt.ragged("trial", within=COUNTRY, lengths=lengths)).sel(country="Italy")


@building
def dim_length_negative():
    dt.Dim("age", length=-1)


@building
def dim_length_and_labels_disagree():
    dt.Dim("country", coords=["Italy", "Kenya"], length=3)


@building
def dim_of_labels_that_are_not_unique():
    dt.Dim("k", coords=["a", "b", "a"])


@building
def dim_of_labels_in_a_set():
    dt.Dim("k", coords={"a", "b"})


@building
def dim_of_a_number_for_labels():
    dt.Dim("firm", coords=5)


@building
def dim_of_one_string_for_labels():
    dt.Dim("firm", coords="IBM")


# -- distributions ----------------------------------------------------------------------------


@building
def parameter_outside_of_its_range():
    dist.Normal(0.0, -1.0)


@building
def known_values_of_a_parameter_outside_of_its_range():
    dist.Exponential(dt.data([1.0, -2.0, 0.0], dims=COUNTRY))


@building
def parameter_that_differs_along_elements_that_belong_together():
    dist.MvStudentT(dt.ones(COUNTRY), 0.0, dt.eye(COUNTRY))


@building
def truncation_of_what_has_no_probabilities():
    dist.truncated(dist.custom(lambda x: -dt.abs(x), support=dt.real), lower=0.0)


@building
def truncation_of_counts_by_a_bound_that_is_no_number():
    dist.truncated(dist.BetaNegativeBinomial(3.0, 2.0, 1.0), upper=dt.scalar("most"))


@building
def parameters_of_two_parametrizations():
    dist.Gamma(2.0, mu=1.0)


@building
def parameters_whose_dims_clash():
    dist.Normal(X, dt.tensor("other", dims=dt.Dim("country", length=3)))


@building
def parameter_that_is_an_array():
    dist.Normal(np.zeros(3), 1.0)


@building
def parameter_that_is_a_label():
    dist.Normal(WHERE, 1.0)


@building
def count_that_is_a_float():
    dist.Binomial(X, 0.5)


@building
def bounds_of_a_distribution_out_of_order():
    dist.Uniform(2.0, 1.0)


@building
def quantile_without_a_formula():
    dist.LogSeries(0.5).icdf(0.5)


@building
def moment_that_does_not_exist():
    dist.Cauchy(0.0, 1.0).mean()


# -- selection --------------------------------------------------------------------------------


@building
def label_misspelled():
    X.sel(country="Itly")


@building
def labels_not_there():
    X.sel(country=["USA", "Peru", "Chad"])


@building
def label_not_unique():
    X.isel(country=[0, 1, 0]).sel(country="Italy")


@building
def label_in_other_case():
    dt.tensor("x", dims=dt.Dim("firm", coords=["IBM", "GE"])).sel(firm="Ibm")


@building
def number_given_as_a_string():
    dt.tensor("x", dims=dt.Dim("year", coords=[2020, 2021])).sel(year="2021")


@building
def labels_in_a_set():
    X.sel(country={"USA", "Italy"})


@building
def slice_of_labels_in_brackets():
    dt.tensor("x", dims=DAY)["2020-01":"2020-06"]


@building
def part_of_a_date_where_one_label_is_meant():
    return dt.tensor("day_of", dims=OBS, categories=DAY) == "2020-02"


@building
def position_outside():
    Y.isel(age=7)


@building
def positions_outside():
    Y.isel(age=[0, 5, -6])


@building
def label_given_as_position():
    X.isel(country="USA")


@building
def labels_given_as_a_string():
    dt.SelDim(COUNTRY, "USA")


@building
def mask_of_wrong_length():
    Y.isel(age=[True, False])


@building
def mask_of_other_dims():
    X[Y > 0]


@building
def brackets_on_several_dims():
    EFFECT[1:]


@building
def selection_without_dims():
    X.sel("USA")


@building
def labels_of_another_dim():
    EFFECT.sel(age=WHERE)


@building
def numbers_where_labels_are_meant():
    X.sel(country=dt.tensor("at", dims=OBS, dtype="int64"))


@building
def set_without_selection():
    EFFECT.set(1.0)


@building
def set_to_a_value_with_other_dims():
    EFFECT.sel(country="USA").set(X)


@building
def set_to_a_value_of_wider_dtype():
    dt.zeros(COUNTRY, dtype="int64").sel(country="USA").set(1.5)


@building
def groupby_unknown_values():
    LATE.groupby(OTHER)


@building
def groupby_a_name():
    X.groupby("country")


@building
def outputs_in_a_dict_in_a_list():
    dt.evaluate([X, {"a": X}])


@building
def groupby_several_along_two_dims():
    along = [dt.tensor(f"g of {dim.name}", dims=dim, categories=COUNTRY) for dim in (OBS, AGE)]
    dt.tensor("z", dims=[OBS, AGE]).groupby(along)


@building
def groupby_over_two_dims():
    LATE.groupby(dt.tensor("g", dims=[OBS, AGE], categories=COUNTRY))


# -- shapes -----------------------------------------------------------------------------------


@building
def concat_without_a_name():
    dt.concat([X, Y], [COUNTRY, AGE])


@building
def concat_along_a_dim_that_all_lack():
    dt.concat([X, Y], "shop")


@building
def concat_along_a_dim_that_one_lacks():
    dt.concat([X, Y], "country")


@building
def stack_of_wrong_length():
    dt.stack([X, X], AGE)


@building
def stack_along_a_dim_that_is_there():
    dt.stack([X, X, X], COUNTRY)


@building
def rename_to_a_name_that_is_taken():
    EFFECT.rename(country="age")


@building
def rename_of_a_tensor():
    X.rename("y")


@building
def rename_to_a_dim_of_other_labels():
    X.rename_dim(COUNTRY, dt.Dim("land", coords=["a", "b", "c"]))


@building
def relabel_to_another_length():
    X.relabel("country", AGE)


@building
def unravel_what_is_no_product():
    X.unravel("country")


@building
def transpose():
    EFFECT.transpose("age", "country")


@building
def squeeze_a_long_dim():
    X.squeeze("country")


@building
def order_that_leaves_a_dim_out():
    EFFECT.to_shaped([AGE])


@building
def order_from_a_set():
    EFFECT.to_shaped({AGE, COUNTRY})


@building
def positional_variable_of_dims_in_a_set():
    dt.from_shaped(pt.matrix(shape=(3, 5)), dims={COUNTRY, AGE})


@building
def positional_variable_of_other_length():
    dt.from_shaped(pt.matrix(shape=(3, 4)), dims=[COUNTRY, AGE])


@building
def positional_variable_of_other_ndim():
    dt.from_shaped(pt.vector(shape=(3,)), dims=[COUNTRY, AGE])


@building
def reindex_without_labels():
    Y.reindex(age=[1, 2])


@building
def align_exactly():
    dt.align(labeled([1.0, 2.0], ["p", "q"]), labeled([1.0, 2.0], ["q", "r"]))


# -- operands ---------------------------------------------------------------------------------


@building
def plain_array_as_operand():
    X + np.zeros(3)


@building
def string_as_operand():
    X + "USA"


@building
def labels_in_arithmetic():
    WHERE + 1


@building
def labels_of_two_dims_compared():
    return dt.tensor("w", dims=OBS, categories=AGE) == WHERE


@building
def label_that_a_comparison_does_not_know():
    return WHERE == "Itly"


@building
def bool_of_a_tensor():
    if X > 0:
        return


@building
def iteration():
    list(X)


@building
def numpy_function_without_counterpart():
    np.linalg.norm(X)


@building
def number_that_does_not_fit():
    dt.tensor("n", dims=AGE, dtype="int8") + 1000


@building
def dtype_of_strings():
    dt.tensor("x", dims=COUNTRY, dtype=str)


@building
def gradient_of_several_values():
    dt.grad(X**2, X)


@building
def gradient_by_integers():
    n = dt.tensor("n", dims=COUNTRY, dtype="int64")
    dt.grad((X * n).sum(), n)


@building
def cotangent_of_other_dims():
    dt.vjp(X**2, X, Y)


@building
def extreme_of_nothing():
    dt.tensor("x", dims=dt.Dim("k", length=0)).max()


# -- data -------------------------------------------------------------------------------------


@building
def data_of_dates():
    dt.data(np.array(["2021-01-01", "2021-01-02"], "M8[D]"), dims=OBS)


@building
def data_of_strings_without_some():
    dt.data(["USA", None, "Italy"], dims=OBS)


@building
def data_without_dims():
    dt.data(np.zeros((2, 3)))


@building
def data_of_dims_in_a_set():
    dt.data(np.zeros((3, 5)), dims={COUNTRY, AGE})


@building
def data_of_a_dataset():
    dt.data(xr.Dataset({"income": ("country", [1.0, 2.0]), "size": ("country", [1, 2])}))


@building
def data_of_a_series_with_levels_without_names():
    dt.data(pd.Series([1.0, 2.0], index=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])))


@building
def data_of_a_series_that_lacks_combinations():
    levels = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)], names=["p", "q"])
    dt.data(pd.Series([1.0, 2.0, 3.0], index=levels))


@building
def data_of_a_frame_with_levels():
    levels = pd.MultiIndex.from_product([["a"], [1, 2]], names=["p", "q"])
    dt.data(pd.DataFrame([[1.0], [2.0]], index=levels, columns=pd.Index(["u"], name="r")))


@building
def data_of_categories_that_are_no_dim():
    dt.data(["USA"], dims=OBS, categories=["USA", "Italy"])


@building
def data_of_other_ndim():
    dt.data(np.zeros((2, 3)), dims=OBS)


@building
def data_of_other_length():
    dt.data(np.zeros(4), dims=AGE)


@building
def data_with_other_labels():
    dt.data(labeled([1.0, 2.0], ["Italy", "Peru"], "country"), dims=COUNTRY)


@building
def data_of_unknown_categories():
    dt.data(["USA", "Itally"], dims=OBS, name="where", categories=COUNTRY)


# -- compiling --------------------------------------------------------------------------------


@building
def function_without_an_input():
    dt.function([X], EFFECT, backend="python")


@building
def function_with_an_input_twice():
    dt.function([X, Y, X], EFFECT, backend="python")


@building
def function_of_something_computed():
    dt.function([EFFECT], EFFECT.sum(), backend="python")


@building
def function_with_two_inputs_of_one_name():
    x = dt.tensor("x", dims=AGE)
    dt.function([X, x], X + x, backend="python")


@building
def function_of_unknown_length():
    dt.function([X], X + dt.zeros(OBS), backend="python")


@building
def function_of_a_number():
    dt.function([X], 3.0, backend="python")


@building
def check_of_numbers():
    dt.check(X, "x is there")


@building
def check_without_a_message():
    dt.check(X > 0, "")


@building
def check_that_makes_no_check():
    dt.function([X], X, backend="python", checks=[X > 0])


@building
def state_of_other_dims():
    dt.function([X], X, updates={Y: X + Y})


@building
def state_of_another_dtype():
    count = dt.int64("count")
    dt.function([], [], updates={count: count / 2})


@building
def state_among_the_inputs():
    dt.function([X], X, updates={X: X * 2})


@building
def state_that_is_computed():
    dt.function([X, Y], X, updates={EFFECT: EFFECT * 2})


@building
def unknown_backend():
    dt.function([X], X, backend="nubma")


# -- calls ------------------------------------------------------------------------------------


@calling
def input_missing(backend):
    dt.function([X, Y], EFFECT, backend)(np.zeros(3))


@calling
def input_unknown(backend):
    effect = dt.tensor("effect", dims=COUNTRY)
    dt.function([effect], effect * 2, backend)(efect=np.zeros(3))


@calling
def input_given_twice(backend):
    dt.function([X, Y], EFFECT, backend)(np.zeros(3), np.zeros(5), x=np.zeros(3))


@calling
def too_many_inputs(backend):
    dt.function([X], X * 2, backend)(np.zeros(3), np.zeros(5))


@calling
def length_wrong(backend):
    dt.function([X], X * 2, backend)(np.zeros(4))


@calling
def lengths_disagree(backend):
    dt.function([LATE, OTHER], LATE + OTHER, backend)(np.zeros(3), np.zeros(1))


@calling
def labels_disagree(backend):
    dt.function([LATE, OTHER], LATE + OTHER, backend)(
        labeled([1.0, 2.0], ["p", "q"]), labeled([1.0, 2.0], ["q", "p"])
    )


@calling
def labels_missing_and_unknown(backend):
    dt.function([X], X * 2, backend)(labeled([1.0, 2.0, 3.0], ["USA", "Peru", "Chad"], "country"))


@calling
def labels_more_than_once(backend):
    dt.function([X], X * 2, backend)(labeled([1.0, 2.0, 3.0], ["USA", "USA", "Italy"], "country"))


@calling
def late_labels_missing(backend):
    dt.function([LATE], LATE.sel(obs="p"), backend)(np.zeros(3))


@calling
def late_label_unknown(backend):
    dt.function([LATE], LATE.sel(obs="kenia"), backend)(labeled([1.0, 2.0], ["Kenya", "USA"]))


@calling
def late_position_outside(backend):
    dt.function([LATE], LATE.isel(obs=4), backend)(np.zeros(3))


@calling
def labels_of_a_slice_disagree(backend):
    tail = dt.tensor("tail", dims=LATE[1:].dims)
    dt.function([LATE, tail], LATE[1:] * tail, backend)(
        labeled([1.0, 2.0, 3.0], ["p", "q", "r"]), labeled([1.0, 2.0], ["p", "q"])
    )


@calling
def value_lacks_a_dim(backend):
    dt.function([X], X * 2, backend)(xr.DataArray(np.zeros(3), dims="contry"))


@calling
def value_of_two_plain_axes(backend):
    z = dt.tensor("z", dims=[COUNTRY, AGE])
    dt.function([z], z * 2, backend)(np.zeros((3, 5)))


@calling
def frame_without_names(backend):
    z = dt.tensor("z", dims=[COUNTRY, AGE])
    dt.function([z], z * 2, backend)(pd.DataFrame(np.zeros((3, 5))))


@calling
def scalar_for_a_vector(backend):
    dt.function([X], X * 2, backend)(1.0)


@calling
def vector_for_a_scalar(backend):
    s = dt.scalar("s")
    dt.function([s], s * 2, backend)(np.zeros(3))


@calling
def tensor_for_a_value(backend):
    dt.function([X], X * 2, backend)(X)


@calling
def floats_for_integers(backend):
    n = dt.tensor("n", dims=COUNTRY, dtype="int64")
    dt.function([n], n * 2, backend)(np.array([1.0, 2.5, 3.0]))


@calling
def integers_too_large(backend):
    n = dt.tensor("n", dims=COUNTRY, dtype="int32")
    dt.function([n], n * 2, backend)(np.array([1, 2, 2**40]))


@calling
def strings_for_numbers(backend):
    dt.function([X], X * 2, backend)(np.array(["a", "b", "c"]))


@calling
def unknown_labels_as_values(backend):
    w = dt.tensor("w", dims=OBS, categories=COUNTRY)
    dt.function([X, w], X.sel(country=w), backend)(np.zeros(3), ["USA", "Peru"])


@calling
def positions_as_values_outside(backend):
    at = dt.tensor("at", dims=OBS, dtype="int64")
    dt.function([Y, at], Y.isel(age=at), backend)(np.zeros(5), [0, 5, 7])


@calling
def positions_in_data_outside(backend):
    at = dt.data([0, 1], dims=OBS, name="at")
    function = dt.function([Y], Y.isel(age=at), backend)
    function.with_data(at=[0, 9])(np.zeros(5))


@calling
def largest_of_no_elements(backend):
    dt.function([LATE], LATE.max(), backend)(np.zeros(0))


@calling
def additional_dim_that_is_there_elsewhere(backend):
    both = labeled([1.0, 2.0, 3.0], ["USA", "Italy", "Kenya"], "country").expand_dims(age=2)
    dt.function([X, Y], EFFECT, backend)(both, np.zeros(5))


@calling
def mask_that_varies_along_a_batch(backend):
    draws = labeled([1.0, 2.0], ["p", "q"]).expand_dims(draw=2)
    dt.function([LATE], LATE[LATE > 1].sum(), backend)(draws)


@calling
def length_that_is_none(backend):
    dt.function([OBS], dt.zeros(OBS), backend)("many")


@calling
def labels_for_a_dim_that_has_others(backend):
    dt.function([COUNTRY], dt.zeros(COUNTRY), backend)(["USA", "Italy", "Kenya"])


@calling
def data_unknown(backend):
    y = dt.data([1.0, 2.0], dims=OBS, name="income")
    dt.function([LATE], LATE * y, backend).with_data(incone=[1.0])


@calling
def data_with_another_dim(backend):
    y = dt.data([1.0, 2.0], dims=OBS, name="income")
    new = xr.DataArray(np.zeros((2, 2)), dims=["draw", "obs"])
    dt.function([LATE], LATE * y, backend).with_data(income=new)


@calling
def evaluation_without_an_input(backend):
    dt.evaluate(EFFECT, {X: np.zeros(3)}, backend)


@calling
def evaluation_with_an_unknown_input(backend):
    dt.evaluate(EFFECT, {X: np.zeros(3), "yy": np.zeros(5)}, backend)


# -- loops -------------------------------------------------------------------------------------


@building
def loop_that_makes_a_random_variable():
    dt.cumulate(lambda s, _: s + dt.rv("noise", dist.Normal(0, 1)), 0.0, dim=AGE)


@building
def loop_that_adds_a_dim():
    dt.scan(lambda s, x: ((s[0], {"level": s[1]["level"] + Y}), None),
            (0, {"level": 0.0}), LATE, dim=OBS)  # fmt: skip


@building
def loop_that_narrows_a_dtype():
    dt.scan(lambda s, x: (s > x, None), 0.0, LATE, dim=OBS)


@building
def loop_that_changes_labels():
    dt.reduce(lambda s, x: s.codes + 1, dt.data("Italy", dims=(), categories=COUNTRY), WHERE, OBS)


@building
def loop_that_changes_the_structure():
    dt.reduce(lambda s, x: {"level": s["level"]}, {"level": 0.0, "slope": 1.0}, LATE, OBS)


@building
def loop_without_a_trace():
    dt.scan(lambda s, x: s + x, 0.0, LATE, dim=OBS)


@building
def loop_over_a_dim_that_a_sequence_lacks():
    dt.scan(lambda s, x: (s + x["b"], None), 0.0, {"a": LATE, "b": Y}, dim=OBS)


@building
def loop_over_another_dim_of_that_name():
    dt.scan(lambda s, x: (s + x, None), 0.0, X, dim=dt.Dim("country", length=3))


@building
def loop_whose_trace_has_its_dim():
    dt.scan(lambda s, x: (s + x, LATE), 0.0, LATE, dim=OBS)


@building
def loop_whose_trace_has_a_length_of_each_step():
    dt.scan(lambda s, x: (s + x, Y[x < Y]), 0.0, LATE, dim=OBS)


@building
def loop_along_nothing():
    dt.scan(lambda s, x: (s + x, None), 0.0, LATE)


@building
def loop_whose_state_escapes():
    kept = []
    dt.reduce(lambda s, x: kept.append(s) or s + x, 0.0, LATE, OBS)
    dt.evaluate(kept[-1] * 2)


@building
def while_condition_that_is_a_number():
    dt.while_loop(lambda s: s - 1, lambda s: s + 1, 0.0)


@building
def while_gradient_without_max_steps():
    start = dt.scalar("start")
    dt.grad(dt.while_loop(lambda s: s < 1, lambda s: s + 1, start), start)


@building
def while_inverse_with_dims():
    dt.while_loop(lambda s: s < 1, lambda s: s + 1, X, inverse=lambda s: s - 1)


@building
def fori_of_a_float():
    dt.fori_loop(0, 2.5, lambda i, s: s, 0.0)


@building
def branches_of_other_structures():
    dt.if_else(X.sum() > 0, lambda: (X, X), lambda: [X])


@building
def branch_condition_that_is_a_number():
    dt.if_else(X, lambda: 1.0, lambda: 0.0)


@building
def filter_by_more_dims():
    dt.filter(lambda x: x > Y, X, dim=COUNTRY)


@building
def prefixes_of_what_adds_a_dim():
    dt.associative_scan(lambda a, b: a + b + LATE, X, dim=COUNTRY)


@building
def times_of_two_dims():
    dt.ode(lambda t, y: y, 1.0, EFFECT)


@calling
def check_in_a_loop(backend):
    total = dt.reduce(lambda s, x: s + dt.check(x > 0, "all are positive", x), 0.0, LATE, OBS)
    dt.function([LATE], total, backend)([1.0, -1.0])


# -- checks and states -------------------------------------------------------------------------


@calling
def check_failed(backend):
    safe = dt.check(EFFECT > 0, "effects are positive", X)
    dt.function([X, Y], safe * 2, backend)([1.0, -1.0, 3.0], [-4.0, 1.0, 1.0, 1.0, -2.0])


@calling
def state_missing(backend):
    dt.function([Y], X, backend, updates={X: X + 1}).step({}, np.zeros(5))


@calling
def state_unknown(backend):
    dt.function([Y], X, backend, updates={X: X + 1}).start(xx=np.zeros(3))


@calling
def state_that_is_no_mapping(backend):
    dt.function([Y], X, backend, updates={X: X + 1}).step(np.zeros(3), np.zeros(5))


@calling
def state_that_grows(backend):
    draws = xr.DataArray(np.zeros((2, 3)), dims=["draw", "country"])
    dt.function([X], X, backend, updates={LATE: LATE + X.sum()}).step({"late": [1.0]}, draws)


# -- models of random variables ---------------------------------------------------------------


def _random(name: str, *parameters: Any, dims: Any = None) -> dt.DimTensor:
    return dt.rv(name, dist.Normal(*parameters), dims)


def _regression(**options: Any) -> dt.Model:
    mean = _random("slope", 0.0, 1.0) * LATE
    return dt.Model(_random("response", mean, 1.0), backend="python", **options)


@building
def variable_name_used_twice():
    dt.Model(_random("theta", _random("theta", 0.0, 1.0), 1.0, dims=COUNTRY))


@building
def variable_without_distribution():
    dt.rv("theta", 0.0)


@building
def variable_out_of_the_range_of_a_parameter():
    dt.Model(_random("response", 0.0, _random("spread", 0.0, 1.0)))


@building
def variable_evaluated():
    _random("theta", 0.0, 1.0).eval()


@building
def model_of_an_expression_without_a_name():
    dt.Model(2.0 * _random("theta", 0.0, 1.0))


@building
def model_of_an_input_without_a_name():
    dt.Model(_random("response", dt.tensor(dims=COUNTRY), 1.0))


@building
def model_data_misspelled():
    _regression(data={"lat": [1.0]})


@building
def model_without_data():
    _regression().observe(response=[1.0]).log_density()


@building
def model_observation_misspelled():
    _regression().observe(reply=[1.0])


@building
def model_observations_missing():
    _regression().observe(response=labeled([1.0, np.nan, 2.0], ["p", "q", "r"]))


@building
def model_with_a_discrete_variable():
    count = dt.rv("count", dist.Poisson(2.0))
    dt.Model(_random("response", count, 1.0)).observe(response=1.0).log_density()


@building
def model_whose_variable_has_no_length():
    effect = _random("effect", 0.0, 1.0, dims=OBS)
    dt.Model(_random("response", effect.sum(), 1.0)).observe(response=1.0).log_density()


@building
def model_drawn_without_a_length():
    dt.Model(_random("response", 0.0, 1.0, dims=OBS)).draw(5, seed=1)


@building
def model_noncentred_without_location():
    spread = dt.rv("spread", dist.Gamma(2.0, 1.0))
    dt.Model(_random("response", 0.0, spread)).noncentered(spread)


@building
def predictions_without_a_seed():
    draws = xr.Dataset({"slope": (("chain", "draw"), np.zeros((1, 2)))})
    _regression(data={LATE: [1.0]}).predict(draws)


@building
def predictions_of_no_draws():
    _regression(data={LATE: [1.0]}).predict(xr.Dataset({"slope": 1.0}), seed=1)


@building
def predictions_over_another_dim():
    draws = xr.Dataset({"slope": (("chain", "draw"), np.zeros((1, 2)))})
    _regression(data={LATE: [1.0]}).predict(draws, seed=1, dims={OBS: dt.Dim("place", coords=[1])})


@building
def model_of_a_list():
    score = dt.rv("score", dist.Normal(0.0, 1.0))
    dt.Model([score, dt.rv("a", dist.Normal(score, 1.0))])


@building
def marginalize_a_list():
    a = dt.rv("a", dist.Normal(0.0, 1.0))
    y = dt.rv("y", dist.Normal(a, 1.0))
    dt.Model(y, backend="python").observe(y=1.0).marginalize([a])


@building
def recover_from_other_draws():
    a = dt.rv("a", dist.Normal(0.0, 1.0))
    z = dt.rv("z", dist.Bernoulli(0.5))
    y = dt.rv("y", dist.Normal(a + z, 1.0))
    draws = xr.Dataset({"b": (("chain", "draw"), np.zeros((1, 2)))})
    dt.Model(y, backend="python").observe(y=1.0).marginalize(z).recover(draws, seed=1)


@building
def predictions_of_unnamed_data():
    y = dt.rv("y", dist.Normal(dt.data([1.0, 2.0], dims=dt.Dim("k", coords=["a", "b"])), 1.0))
    draws = xr.Dataset({"b": (("chain", "draw"), np.zeros((1, 2)))})
    longer = dt.Dim("k", coords=["a", "b", "c"])
    dt.Model(y, backend="python").predict(draws, seed=1, dims={y.dims[0]: longer})


# -- what is summed out ---------------------------------------------------------------------------

KIND = dt.Dim("kind", coords=["low", "high"])
AFTER = KIND.rename("after")
CLASS = dt.tensor("class", dims=OBS, categories=KIND)
PAIRS = dt.data([[1.0, 2.0], [3.0, 5.0]], dims=[KIND, AFTER])


def _mixture(response: Any = (0.1, 4.9)) -> dt.Model:
    z = dt.rv("z", dist.Categorical(dt.data([0.3, 0.7], dims=KIND), dim=KIND), dims=OBS)
    mean = dt.rv("mean", dist.Normal(0.0, 1.0), dims=KIND)
    y = dt.rv("y", dist.Normal(mean.sel(kind=z), 1.0))
    return dt.Model(y, backend="python").observe({y: list(response)})


def _means() -> xr.Dataset:
    return xr.Dataset(
        {"mean": (("chain", "draw", "kind"), np.zeros((1, 2, 2)))}, {"kind": list(KIND)}
    )


def _table(x: dt.DimTensor) -> dt.DimTensor:
    return dt.data([1.0, 2.0], dims=KIND).sel(kind=x)


def _neighbors(x: dt.DimTensor, dim: dt.Dim) -> tuple[dt.DimTensor, dt.DimTensor]:
    name = dim._short
    later = dt.SelDim(dim, positions=slice(1, None))
    return x.isel({name: slice(None, -1)}).relabel(name, later), x.isel({name: slice(1, None)})


@building
def marginal_of_a_mean_over_classes():
    dt.marginalize({"y": dt.exp(_table(CLASS).mean())}, CLASS)


@building
def marginal_of_a_running_sum():
    dt.marginalize({"y": _table(CLASS).cumsum("obs")}, CLASS)


@building
def marginal_of_crossed_classes():
    other = dt.tensor("item", dims=dt.Dim("items", length=3), categories=KIND)
    dt.marginalize({"y": PAIRS.sel(kind=CLASS, after=other)}, CLASS, other)


@building
def marginal_of_a_circle():
    place, road = dt.Dim("place", length=3), dt.Dim("road", length=3)
    z = dt.tensor("z", dims=place, categories=KIND)
    one, other = (dt.data(at, dims=road, categories=place) for at in ([0, 1, 2], [1, 2, 0]))
    dt.marginalize({"y": PAIRS.sel(kind=z.sel(place=one), after=z.sel(place=other))}, z)


@building
def marginal_that_nothing_depends_on():
    dt.marginalize({"y": dt.scalar("a")}, CLASS)


@building
def marginal_of_nothing():
    dt.marginalize({"y": _table(CLASS)})


@building
def marginal_of_something_computed():
    dt.marginalize({"y": _table(CLASS)}, _table(CLASS))


@building
def marginal_of_a_density_with_dims():
    dt.marginalize(_table(CLASS), CLASS)


@building
def marginal_of_unknown_states():
    count = dt.tensor("count", dims=OBS, dtype="int64")
    dt.marginalize({"y": 1.0 * count}, count)


@building
def marginal_of_states_that_repeat():
    count = dt.tensor("count", dims=OBS, dtype="int64")
    dt.marginalize({"y": 1.0 * count}, count, states={count: [1, 1]})


@building
def marginal_of_what_is_not_normal():
    dt.marginalize({"x": dist.Normal(dt.exp(LATE), 1.0).logp(0.5)}, LATE)


@building
def marginal_of_normal_variables_that_are_mixed():
    dt.marginalize({"x": dist.Normal(LATE.sum(), 1.0).logp(0.5)}, LATE)


@building
def marginal_without_a_prior():
    dt.marginalize({"x": 2.0 * LATE}, LATE)


@building
def marginal_of_a_filter_that_switches():
    day = dt.Dim("day", length=5)
    z, x = dt.tensor("z", dims=day, categories=KIND), dt.tensor("x", dims=day)
    before, after = _neighbors(x, day)
    late = z.isel(day=slice(1, None))
    moves = dt.data([[0.9, 0.1], [0.2, 0.8]], dims=[KIND, AFTER])
    terms = {
        "z": dist.MarkovChain(dt.data([0.5, 0.5], dims=KIND), moves, dim=day).logp(z),
        "start": dist.Normal(0.0, 1.0).logp(x.isel(day=0)),
        "x": dist.Normal(before, _table(late)).logp(after),
        "y": dist.Normal(x, 1.0).logp(dt.data(np.zeros(5), dims=day)),
    }
    dt.marginalize(terms, x, z)


@building
def marginal_by_products_along_an_unknown_length():
    day = dt.Dim("day")
    z = dt.tensor("z", dims=day, categories=KIND)
    moves = dt.data([[0.9, 0.1], [0.2, 0.8]], dims=[KIND, AFTER])
    chain = dist.MarkovChain(dt.data([0.5, 0.5], dims=KIND), moves, dim=day)
    dt.marginalize({"z": chain.logp(z)}, z, associative_scan=True)


@building
def model_that_sums_out_what_is_observed():
    _mixture().marginalize("y")


@building
def model_that_sums_out_counts_without_bounds():
    count = dt.rv("count", dist.Poisson(2.0))
    dt.Model(_random("response", count, 1.0)).observe(response=1.0).marginalize(count)


@building
def recovery_without_a_seed():
    _mixture().marginalize("z").recover(_means())


@building
def recovery_in_an_unknown_way():
    _mixture().marginalize("z").recover(_means(), how="mode")


@building
def recovery_of_what_is_sampled():
    _mixture().marginalize("z").recover(_means(), "mean", seed=1)


@building
def log_likelihood_of_groups_by_observation():
    z = dt.rv("z", dist.Bernoulli(0.4), dims=COUNTRY)
    y = dt.rv("y", dist.Normal(z.sel(country=WHERE), dt.rv("s", dist.HalfNormal(1.0))))
    fit = dt.Model(y, backend="python").observe({y: [0.1, 0.9]}).marginalize(z)
    fit.log_likelihood(xr.Dataset({"s": (("chain", "draw"), np.ones((1, 2)))}))


@building
def log_likelihood_of_a_chain():
    day, noise = dt.Dim("day"), dt.rv("noise", dist.HalfNormal(1.0))
    walk = dist.GaussianRandomWalk(0.0, 1.0, dim=day, start=dist.Normal(0.0, 1.0))
    level = dt.rv("level", walk)
    y = dt.rv("y", dist.Normal(level, noise))
    fit = dt.Model(y, backend="python").observe({y: [0.1, 0.3, 0.2]}).marginalize(level)
    fit.log_likelihood(xr.Dataset({"noise": (("chain", "draw"), np.ones((1, 2)))}))


@building
def log_likelihood_of_groups_one_step_ahead():
    z = dt.rv("z", dist.Bernoulli(0.4), dims=COUNTRY)
    y = dt.rv("y", dist.Normal(z.sel(country=WHERE), dt.rv("s", dist.HalfNormal(1.0))))
    fit = dt.Model(y, backend="python").observe({y: [0.1, 0.9]}).marginalize(z)
    draws = xr.Dataset({"s": (("chain", "draw"), np.ones((1, 2)))})
    fit.log_likelihood(draws, one_step_ahead=True)


@building
def chunks_without_a_store():
    y = dt.rv("y", dist.Normal(0.0, dt.rv("s", dist.HalfNormal(1.0))), dims=OBS)
    fit = dt.Model(y, backend="python").observe({y: [0.1, 0.9]})
    draws = xr.Dataset({"s": (("chain", "draw"), np.ones((1, 2)))})
    fit.log_likelihood(draws, chunks=100)


def _rows():
    who = dt.data(["Italy", "USA", "USA"], dims=OBS, name="who", categories=COUNTRY)
    effect = dt.rv("effect", dist.Normal(0.0, 1.0), dims=COUNTRY)
    y = dt.rv("y", dist.Normal(effect.sel(country=who), 1.0))
    return dt.Model(y, backend="python").observe({y: [0.1, 0.2, 0.9]})


@building
def minibatch_of_more_rows_than_there_are():
    _rows().minibatch(OBS, size=10)


@building
def minibatch_of_fewer_rows_than_strata():
    _rows().minibatch(OBS, size=1, by="who")


@building
def minibatch_of_strata_with_labels():
    _rows().minibatch(OBS, size=2, by=pd.Series([0, 0, 1], index=[2, 1, 0]))


@building
def minibatch_of_strata_that_are_no_data():
    _rows().minibatch(OBS, size=2, by="whose")


@building
def minibatch_that_lacks_a_stratum():
    _rows().minibatch(OBS, size=2, by="who").take([1, 2])


@building
def minibatch_along_a_dim_that_the_density_lacks():
    _rows().minibatch(AGE, size=2)


@building
def minibatch_of_a_series():
    start = dist.Normal(0.0, 1.0)
    step = dt.rv("step", dist.HalfNormal(1.0))
    y = dt.rv("y", dist.GaussianRandomWalk(0.0, step, dim=OBS, start=start))
    fit = dt.Model(y, backend="python")
    fit.observe({y: [0.1, 0.2, 0.9]}).minibatch(OBS, size=2)


@building
def minibatch_of_no_sum():
    b, x = dt.scalar("b"), dt.data([0.1, 0.2, 0.9], dims=OBS, name="x")
    dt.LogDensity((b * x).max(), {b: dt.real}, backend="python").minibatch(OBS, size=2)


@building
def minibatch_of_a_stream():
    y, mu = dt.stream(lambda: [np.zeros(5)], OBS, chunks=2, name="y"), dt.scalar("mu")
    density = dt.LogDensity({"y": -((y - mu) ** 2)}, {mu: dt.real}, backend="python")
    density.minibatch(OBS, size=2)


class Store:
    """Rows that are read by slices alone."""

    shape, dtype = (5,), np.dtype("float64")

    def __getitem__(self, rows: slice) -> np.ndarray:
        return np.zeros(5)[rows]


def _batches_of_a_store(dim: dt.Dim, **options: Any) -> None:
    y, mu = dt.stream(Store(), OBS, chunks=2, name="y"), dt.scalar("mu")
    other = dt.data(np.zeros(5), dims=AGE)
    terms = {"y": -((y - mu) ** 2), "other": -((other - mu) ** 2)}
    dt.LogDensity(terms, {mu: dt.real}, backend="python").minibatch(dim, **options)


@building
def minibatch_longer_than_a_chunk():
    _batches_of_a_store(OBS, size=3)


@building
def minibatch_of_strata_in_chunks():
    _batches_of_a_store(OBS, size=2, by=[0, 0, 1, 1, 1])


@building
def minibatch_along_another_dim_than_a_stream():
    _batches_of_a_store(AGE, size=1)


@building
def minibatch_of_strata_of_a_derivative():
    b, x = dt.scalar("b"), dt.data([0.1, 0.2, 0.9], dims=OBS, name="x")
    slope = dt.grad((dt.sin(b) * x).sum(), b)
    density = dt.LogDensity(slope, {b: dt.real}, backend="python")
    density.minibatch(OBS, size=2, by=[0, 0, 1])


@building
def running_sum_in_chunks():
    other = labeled(np.ones(6), range(6)).chunk(obs=3)
    dt.function([LATE, OTHER], LATE.cumsum(OBS) + OTHER, "python")(other.chunk(obs=2), other)


@building
def product_dim_in_chunks():
    matrix = dt.tensor("matrix", dims=[AGE, OBS])
    values = xr.DataArray(np.ones((5, 6)), dims=["age", "obs"]).chunk(obs=2)
    dt.function([matrix], matrix.ravel([AGE, OBS]), "python")(values)


@building
def mask_in_chunks():
    value = labeled(np.ones(6), range(6)).chunk(obs=2)
    dt.function([LATE], LATE[LATE > 0], "python")(value)


@building
def chunks_of_unknown_lengths():
    import dask.array as da

    array = da.ones(6, chunks=2)
    dt.function([LATE], LATE.sum(), "python")(array[array > 0])


@building
def client_that_is_an_address():
    y = dt.rv("y", dist.Normal(dt.rv("mu", dist.Normal(0.0, 1.0)), 1.0), dims=OBS)
    fit = dt.Model(y, backend="python").observe({y: [0.1, 0.9]})
    fit.sample(100, client="tcp://127.0.0.1:8786")


@building
def threads_beside_a_client():
    y = dt.rv("y", dist.Normal(dt.rv("mu", dist.Normal(0.0, 1.0)), 1.0), dims=OBS)
    fit = dt.Model(y, backend="python").observe({y: [0.1, 0.9]})
    fit.mode(client="tcp://127.0.0.1:8786", threads=2)


@building
def log_likelihood_of_two_variables_that_share():
    z, s = dt.rv("z", dist.Bernoulli(0.4), dims=OBS), dt.rv("s", dist.HalfNormal(1.0))
    x, y = dt.rv("x", dist.Normal(z, s)), dt.rv("y", dist.Normal(-z, s))
    fit = dt.Model(x, y, backend="python").observe({x: [0.1], y: [0.2]}).marginalize(z)
    fit.log_likelihood(xr.Dataset({"s": (("chain", "draw"), np.ones((1, 2)))}))


@building
def missing_labels_without_a_word():
    z = dt.rv("z", dist.Categorical(dt.data([0.3, 0.7], dims=KIND), dim=KIND), dims=OBS)
    dt.Model(z).observe({z: ["low", None, "high"]})


@building
def missing_counts_without_a_bound():
    count = dt.rv("count", dist.Poisson(2.0), dims=OBS)
    dt.Model(count).observe({count: [1.0, np.nan]}, missing="infer")


# -- export -----------------------------------------------------------------------------------


def on_a_line_of_its_own(source: str) -> Any:
    """What a line of a file gives; the text of an error names it."""
    names = {"dt": dt, "LATE": LATE, "OTHER": OTHER}
    exec(compile(f"result = {source}", "model.py", "exec"), names)
    return names["result"]


@building
def export_of_a_length_that_follows_from_values():
    mine = on_a_line_of_its_own("(LATE * 3.75).isel(obs=OTHER > 3.75).sum()")
    dt.function([LATE, OTHER], mine, "python").export("nowhere")


@building
def export_of_labels_that_come_with_a_call():
    dt.function([LATE], LATE.sel(obs="Italy"), "python").export("nowhere")


@building
def export_with_a_gradient_of_several_values():
    dt.function([LATE], LATE * 2, "python").export("nowhere", gradient=True)


@building
def export_with_a_gradient_by_what_is_no_input():
    dt.function([LATE], LATE.sum(), "python").export("nowhere", gradient="other")


@building
def export_of_data_without_a_name_as_inputs():
    nameless = dt.data([1.0, 2.0], dims=OBS)
    dt.function([LATE], LATE * nameless, "python").export("nowhere", data="inputs")


@building
def export_of_data_in_another_way():
    dt.function([LATE], LATE * 2, "python").export("nowhere", data="beside")


@building
def export_of_labels_that_files_do_not_have():
    price = dt.Dim("price", coords=[Decimal("1.50"), Decimal("2.25")])
    dt.function([LATE], dt.data([1.0, 2.0], dims=price) * LATE.sum(), "python").export("nowhere")


@building
def export_to_where_a_file_is():
    dt.function([LATE], LATE * 2, "python").export("/dev/null")


@building
def exported_function_that_is_not_there():
    dt.load_exported("nowhere")


# -- costs ---------------------------------------------------------------------------------------

# names that no other test has: an expression that is made again has its first line, and order
MEDIA_MIX = """
shape = outlay / (outlay + middle)
carried = dt.exp(shape).cumsum("week")
effect = carried.sum("channel")
"""


@building
def draws_beyond_the_memory():
    x = dt.scalar("x")
    density = dt.LogDensity(-(x**2), {x: dt.real}, backend="python")
    with mock.patch("dimtensor.model.inference.memory.available", return_value=8 * 10**9):
        dt.sample(density, 10**12, tune=1000, chains=4, progress_bar=False)


SLICES = """
centered = spend - spend.mean()
total = (centered**2).sum()
running = spend.cumsum(day).sum()
"""


def in_slices(name: str) -> None:
    day = dt.Dim("day")
    names = {"dt": dt, "day": day, "spend": dt.tensor("spend", dims=day)}
    exec(compile(SLICES, "slices.py", "exec"), names)
    dt.partition(names[name], day)


@building
def slices_that_need_the_mean_of_the_whole():
    in_slices("total")


@building
def slices_of_a_running_sum():
    in_slices("running")


@building
def slices_of_a_dim_that_is_not_there():
    dt.partition(EFFECT.sum(), "contry")


def streamed(y: Any, **options: Any) -> float:
    """Evaluate the log density of a stream."""
    values, mu = dt.stream(y, OBS, chunks=2, name="y", **options), dt.scalar("mu")
    terms = {"y": -((values - mu) ** 2)}
    return dt.LogDensity(terms, {mu: dt.real}, backend="python").logp(np.zeros(1))


@building
def label_of_a_stream():
    place = dt.stream(np.array(["USA", "Kenya", "Itly"]), OBS, chunks=2, name="place",
                      categories=COUNTRY)  # fmt: skip
    values = dt.LogDensity((X.sel(country=place) ** 2).sum(), {X: dt.real}, backend="python")
    values.logp(np.zeros(3))


@building
def stream_of_something_that_is_read_once():
    dt.stream(iter([np.zeros(2)]), OBS)


@building
def stream_with_an_interrupted_read():
    def read():
        yield np.zeros(2)
        raise OSError("the connection was closed")

    streamed(read)


@building
def stream_that_changes_between_passes():
    blocks, mu = iter([np.zeros(2), np.zeros(3)]), dt.scalar("mu")
    y = dt.stream(lambda: [next(blocks)], OBS, name="y", dtype="float64")
    density = dt.LogDensity({"y": -((y - mu) ** 2)}, {mu: dt.real}, backend="python")
    density.logp(np.zeros(1))
    density.logp(np.zeros(1))


@building
def streams_of_other_lengths():
    x, y = dt.stream(np.zeros(3), OBS, name="x"), dt.stream(np.zeros(4), OBS, name="y")
    mu = dt.scalar("mu")
    density = dt.LogDensity({"y": -((y - mu * x) ** 2)}, {mu: dt.real}, backend="python")
    density.logp(np.zeros(1))


@building
def data_beside_a_stream():
    x, y = dt.data(np.zeros(3), OBS, name="x"), dt.stream(np.zeros(4), OBS, name="y")
    mu = dt.scalar("mu")
    density = dt.LogDensity({"y": -((y - mu * x) ** 2)}, {mu: dt.real}, backend="python")
    density.logp(np.zeros(1))


@building
def value_of_a_stream():
    dt.stream(np.zeros(4), OBS, name="y").sum().eval()


@building
def stream_along_a_dim_with_labels():
    dt.stream(np.zeros(3), COUNTRY)


@building
def missing_observation_of_a_stream():
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    model = dt.Model(dt.rv("y", dist.Normal(mu, 1.0), dims=OBS), backend="python")
    y = dt.stream(np.array([0.0, 1.0, np.nan]), OBS, chunks=2)
    model.observe(y=y).log_density().logp(np.zeros(1))


@building
def observations_of_a_stream():
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    model = dt.Model(dt.rv("y", dist.Normal(mu, 1.0), dims=OBS), backend="python")
    model.observe(y=dt.stream(np.zeros(3), OBS)).observed["y"]


@building
def devices_of_another_backend():
    dt.function([LATE], LATE.sum(), shard={OBS: "data"})


@building
def devices_and_a_dim_that_is_not_there():
    dt.function([LATE], LATE.sum(), "jax", shard={"house": "data"})


@building
def devices_and_positions_chosen_by_values():
    dt.function([LATE], LATE[LATE > 0].sum(), "jax", shard={OBS: "data"})


@building
def devices_of_a_dim_and_its_rename():
    week = dt.Dim("week")
    both = dt.mesh({OBS: "rows", week: "columns"}, {"rows": 1, "columns": 1})
    dt.function([LATE], [LATE.sum(), LATE.relabel(OBS, week).sum()], "jax", shard=both)


@building
def devices_of_a_sampler_on_processors():
    density = dt.LogDensity(-(X**2).sum(), {X: dt.real}, backend="python")
    dt.sample(density, shard={COUNTRY: "data"})


@building
def a_mesh_without_dims():
    dt.mesh("data")


@building
def a_mesh_of_numbers():
    dt.mesh({OBS: 8})


@building
def more_devices_than_there_are():
    dt.mesh({OBS: "data"}, {"data": 1000})


@building
def two_axes_without_lengths():
    dt.mesh({OBS: ("rows", "columns")})


@building
def an_axis_that_the_mesh_does_not_have():
    dt.mesh({OBS: "date"}, {"data": 1})


@building
def memory_beyond_the_limit():
    draw, week, channel = dt.Dim("draw"), dt.Dim("week"), dt.Dim("channel")
    names = {
        "dt": dt,
        "outlay": dt.tensor("outlay", dims=[week, channel]),
        "middle": dt.tensor("middle", dims=[draw, channel]),
    }
    exec(compile(MEDIA_MIX, "media_mix.py", "exec"), names)
    dt.explain(names["effect"], {"draw": 7000, "week": 12_078, "channel": 36}, limit="2 GB")


DIMS_THAT_MEET = """
chosen = dt.where(gate > 0, left, right)
"""


@calling
def dims_that_meet_beyond_any_memory(backend):
    names = {"dt": dt}
    for name in ("gate", "left", "right"):
        names[name] = dt.tensor(name, dims=dt.Dim(f"{name}_row"))
    exec(compile(DIMS_THAT_MEET, "dims_that_meet.py", "exec"), names)
    inputs = [names[name] for name in ("gate", "left", "right")]
    dt.function(inputs, names["chosen"], backend=backend)(*[np.ones(1_200_000)] * 3)


@calling
def lengths_beyond_64_bits_of_which_one_is_zero(backend):
    table = dt.zeros([dt.Dim(name, length=2**62) for name in ("row", "column")])
    names = {"extra": LATE, "table": table}
    exec(compile("wide = extra + table", "wide_table.py", "exec"), names)
    dt.function([LATE], names["wide"], backend=backend)(np.ones(0))


@calling
def padding_beyond_64_bits(backend):
    dt.function([LATE], LATE.pad(obs=(2**62, 0)).sum(), backend=backend)(np.ones(3))


@building
def limit_without_lengths():
    dt.explain(dt.exp(LATE * X), limit="2 GB")


@building
def limit_without_a_unit():
    dt.explain(dt.exp(LATE), limit="2 G")


@building
def length_of_a_dim_that_is_not_there():
    dt.explain(dt.exp(LATE), {"ob": 3})


@building
def explanation_of_a_number():
    dt.explain(3.0)


# -- graphs -----------------------------------------------------------------------------------


@building
def rewrite_to_a_tensor_without_its_dims():
    dt.rewrite(X * 2.0, lambda t: dt.scalar("x0") if t is X else None)


@building
def rewrite_to_a_tensor_of_another_dtype():
    dt.rewrite(X * 2.0, lambda t: X > 0.0 if t is X else None)


@building
def rewrite_to_a_number():
    dt.rewrite(X * 2.0, lambda t: 2.0 if t is X else None)


@building
def values_of_an_input():
    dt.data_of(X)


@building
def substitution_of_a_name_that_nothing_has():
    dt.substitute(X + Y, {"xx": X})


# -- arguments --------------------------------------------------------------------------------


@building
def method_misspelled():
    X.quantile(0.5, method="lineer")


@building
def label_of_a_difference():
    X.diff("country", label="middle")


@building
def parameter_with_the_name_that_pymc_gives_it():
    dist.Normal(0.0, sd=1.0)


@building
def column_that_a_table_lacks():
    dt.frame(pd.DataFrame({"income": [1.0, 2.0]}), dims=OBS)["incom"]


@building
def method_of_columns_that_a_table_lacks():
    dt.frame(pd.DataFrame({"income": [1.0, 2.0]}), dims=OBS).mean()


@building
def report_of_a_model_without_observations():
    y = dt.rv("y", dist.Normal(0.0, 1.0))
    dt.report(dt.Model(y, backend="python"), xr.Dataset({"y": (("chain", "draw"), [[1.0]])}), "a")


@building
def forecast_along_one_of_several_dims():
    y = dt.rv("y", dist.Normal(0.0, 1.0), dims=[COUNTRY, AGE])
    draws = xr.Dataset({"y": (("chain", "draw", "country", "age"), np.zeros((1, 1, 3, 5)))})
    new = xr.DataTree.from_dict({"predictions": draws})
    dt.Model(y, backend="python").plot.forecast(new)


@building
def forecast_of_a_variable_without_predictions():
    y = dt.rv("y", dist.Normal(dt.rv("theta", dist.Normal(0.0, 1.0)), 1.0), dims=COUNTRY)
    draws = xr.Dataset({"y": (("chain", "draw", "country"), np.zeros((1, 1, 3)))})
    new = xr.DataTree.from_dict({"predictions": draws})
    dt.Model(y, backend="python").plot.forecast(new, "theta")


@building
def variable_that_a_model_lacks():
    dt.Model(dt.rv("theta", dist.Normal(0.0, 1.0)))["thetta"]


@building
def where_without_values_elsewhere():
    dt.where(X > 0.0, X)


@building
def label_dropped_by_position():
    X.drop_isel(country="Italy")


@building
def number_of_draws_below_zero():
    dt.Model(dt.rv("theta", dist.Normal(0.0, 1.0))).draw(-1, seed=1)


@building
def array_of_an_input():
    np.asarray(X)


# -- hints ------------------------------------------------------------------------------------

THREE = dt.Dim("three", length=3)


@building
def masked_elements():
    dt.Dim("t", coords=np.ma.masked_equal([1.0, 2.0, 3.0], 2.0))


@building
def labels_of_long_floats():
    dt.Dim("t", coords=np.array([1.0, 1.0 + 1e-18], np.longdouble) * np.longdouble("1.1"))


@building
def mask_of_a_dim_of_unknown_length():
    LATE.isel(obs=[True, False])


@building
def slice_with_a_computed_end():
    X.isel(country=slice(None, dt.scalar("n", dtype="int64")))


@building
def slice_against_the_order_of_labels():
    dt.tensor("x", dims=dt.Dim("year", coords=[2003, 2002, 2001])).sel(year=slice(2001, 2003))


@building
def dates_of_labels_that_are_none():
    dt.tensor("x", dims=COUNTRY).resample(country="W")


@building
def extension_without_a_frequency():
    dt.Dim("day", coords=np.array(["2020-01-01", "2020-01-05", "2020-01-06"], "M8[D]")).extend(2)


@building
def probabilities_that_do_not_add_up():
    dist.Categorical(dt.data([0.5, 0.4], dims=dt.Dim("kind", length=2)), dim="kind")


@building
def flat_over_a_number():
    dist.Flat(3.0)


@building
def zeros_of_a_continuous_distribution():
    dist.zero_inflated(dist.Normal(0.0, 1.0), 0.5)


@building
def step_of_a_series_that_returns_no_pair():
    dist.Series(lambda state: dist.Normal(state, 1.0), 0.0, dim=THREE)


@building
def bound_that_is_an_array():
    dt.supports.bounded(np.zeros(3), None)


@building
def levels_of_checkpoints():
    dt.checkpoint_levels(100)


@building
def node_that_is_changed():
    X.node.name = "z"


@building
def array_to_align():
    dt.align(np.ones(3), labeled([1.0], ["a"]))


@building
def model_as_a_context():
    with dt.Model(dt.rv("theta", dist.Normal(0.0, 1.0))):
        pass


@building
def file_of_draws_that_is_not_there():
    dt.load_posterior("/nowhere/draws.nc")


@building
def parameter_that_is_computed():
    dt.LogDensity(X.sum(), {X.sum(): dt.real})


@building
def support_that_is_a_number():
    dt.LogDensity(X.sum(), {X: 3.0})


@building
def log_density_with_dims():
    dt.LogDensity(X, {X: dt.real})


@building
def weights_of_a_convolution_along_no_dim():
    dt.convolve(X, dt.scalar("w"), "country")


@building
def frequencies_of_labels_that_are_uneven():
    dt.fft.fft(dt.tensor("x", dims=dt.Dim("t", coords=[0.0, 1.0, 3.0])), "t")


@building
def labels_in_loc_of_several_dims():
    EFFECT.loc["Italy"]


@building
def other_tensor_with_more_dims():
    X.combine_first(EFFECT)


@building
def windows_of_no_dim():
    X.rolling()


@building
def condition_with_more_dims():
    X.where(EFFECT > 0.0, drop=True)


@building
def norm_of_a_matrix():
    dt.linalg.norm(EFFECT, ord="nuc")


@building
def arrays_of_labels_in_from_shaped():
    dt.from_shaped(labeled([1.0], ["a"]), [OBS])


@building
def reindex_without_a_dim():
    X.reindex(["Italy"])


@building
def generator_used_twice():
    names = {"rng": dt.random.generator(1)}
    exec(compile("rng.normal(); rng.normal()", "draws.py", "exec"), names)


@building
def array_of_values_with_labels():
    np.asarray(dt.data([1.0, 2.0, 3.0], dims=COUNTRY, name="rate"))


@building
def seed_that_is_no_integer():
    dt.random.generator(1.5)


@building
def unknown_rewrite():
    dt.function([X], X, backend="python", allow=["fast"])


@building
def numbers_as_units_of_states():
    dt.scan(lambda s, x: (s, s), 0.0, X, dim="country", checkpoint=3)


@building
def values_by_name_and_by_place():
    dt.function([X, Y], EFFECT, backend="python")(xr.Dataset({"x": ("country", [1.0] * 3)}), 1.0)


@building
def length_that_a_c_function_lacks():
    dt.function([LATE], LATE.sum(), backend="numba").c_function()


@building
def weeks_of_another_calendar():
    year = xr.date_range("2000-01-01", periods=3, calendar="noleap", use_cftime=True)
    dt.labels(dt.Dim("day", coords=year).dt.week)


@building
def dates_that_nothing_says():
    dt.date_range("day", start="2020-01-01", end="2020-12-31", periods=3, freq="D")


@building
def dates_without_a_unit():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer NumPy warns of the dtype itself
        dt.Dim("t", coords=np.array(["NaT", "NaT"], "M8"))


@building
def dates_of_two_orders():
    dt.date_range("day", start="13/01/2020", end="01/13/2020", freq="D")


@building
def value_of_labels_that_is_a_float():
    dist.Categorical(dt.data([0.5, 0.5], dims=dt.Dim("kind", length=2)), dim="kind").logp(0.5)


@building
def mixture_of_distributions_of_labels():
    kind, k = dt.Dim("kind", coords=["a", "b"]), dt.Dim("k", length=2)
    parts = dist.Categorical(dt.full([k, kind], 0.5), dim=kind)
    dist.mixture(dt.full(k, 0.5), parts, dim=k)


@building
def parameter_of_the_name_of_a_function():
    dist.custom(lambda x: -x, dt.positive, mean=3.0)


@building
def matrix_whose_dims_are_not_named():
    dt.LogDensity(
        dt.tensor("s", dims=[AGE, THREE]).sum(),
        {dt.tensor("s", dims=[AGE, THREE]): dt.supports.cov_matrix()},
    )


@building
def derivative_of_a_draw():
    rng = dt.random.generator(1)
    dt.grad(rng.gamma(X, 1.0)[0].sum(), X)


@building
def derivative_that_is_not_known():
    nu = dt.scalar("nu")
    dt.grad(dt.special.jv(nu, 2.0), nu)


@building
def real_of_complex_numbers():
    dt.data([1.0 + 2.0j], dims=OBS).astype("float64")


@building
def replacement_of_other_labels():
    country = dt.Dim("country", coords=["Italy", "Peru"])
    dt.substitute(X + 1.0, {X: dt.tensor("z", dims=country)})


@building
def replaced_dim_of_data():
    obs = dt.Dim("obs", length=3)
    dt.substitute(dt.data([1.0, 2.0, 3.0], dims=obs) * 2.0, {obs: dt.Dim("obs", length=4)})


@building
def namespace_that_is_no_dict():
    dt.from_formula("y ~ f(x)", pd.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.0]}), namespace=np.exp)


@building
def effects_of_a_formula_twice():
    table = pd.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.0], "g": ["a", "b"]})
    dt.from_formula("y ~ x + (1 | g) + (x | g)", table)


@building
def response_of_a_formula_with_levels():
    dt.from_formula("g ~ x", pd.DataFrame({"x": [1.0, 2.0, 3.0], "g": ["a", "b", "c"]}))


@building
def predictions_outside_of_the_knots():
    table = pd.DataFrame({"x": np.linspace(0.0, 1.0, 9), "y": np.linspace(0.0, 1.0, 9)})
    model = dt.from_formula("y ~ bs(x, df=4)", table)
    model.predict(model.draw(2, seed=1)["prior"].to_dataset(), pd.DataFrame({"x": [2.0]}), seed=1)


@building
def dims_of_one_name_in_a_pymc_model():
    one, other = dt.Dim("obs", length=2), dt.Dim("obs", length=3)
    a = dt.rv("a", dist.Normal(0.0, 1.0), dims=one)
    b = dt.rv("b", dist.Normal(a.sum(), 1.0), dims=other)
    dt.to_pymc(dt.Model(b))


@building
def zeros_of_a_distribution_without_zero():
    y = dt.rv("y", dist.Gamma(2.0, 1.0), dims=OBS)
    dt.Model(y, backend="python").observe(y=[1.0, 0.0])


@building
def sampling_without_observations():
    dt.Model(dt.rv("theta", dist.Normal(0.0, 1.0)), backend="python").sample(10)


@building
def sampling_without_unknowns():
    theta = dt.rv("theta", dist.Normal(0.0, 1.0))
    dt.Model(theta, backend="python").observe(theta=1.0).sample(10)


@building
def variable_of_no_group():
    model = dt.Model(dt.rv("theta", dist.Normal(0.0, 1.0)), backend="python")
    model.draw(2, seed=1)["theta"]


@building
def density_of_an_input_without_a_support():
    dt.LogDensity((X * Y).sum(), {X: dt.real})


@building
def length_of_a_prediction_of_a_dim_that_has_one():
    theta = dt.rv("theta", dist.Normal(0.0, 1.0))
    model = dt.Model(dt.rv("y", dist.Normal(theta, 1.0), dims=THREE), backend="python")
    model.predict(model.draw(2, seed=1)["prior"].to_dataset(), dims={THREE: 4}, seed=1)


@building
def vectors_of_too_many_axes():
    dt.LogDensity(X.sum(), {X: dt.real}, backend="python").constrain(np.zeros((2, 2, 2, 3)))


@building
def sum_that_counts_terms_several_times():
    dt.LogDensity((X * X + Y * Y).sum(), {X: dt.real, Y: dt.real}, backend="python").check()


@building
def intervals_of_values_that_are_not_known():
    X.groupby_bins(X, [0.0, 1.0])


@building
def function_of_windows_that_leaves_the_dim():
    Y.rolling(age=2).reduce(lambda x, dim: x)


@building
def values_searched_along_their_own_dim():
    dt.searchsorted(X, X)


@building
def function_of_numpy_without_dims():
    np.add.reduce(X)


@building
def checkpoints_of_states_without_a_number_of_steps():
    dt.scan(lambda s, x: (s + x, s), 0.0, LATE, dim=OBS, checkpoint=dt.checkpoint_states(3))


@building
def variable_made_in_a_branch():
    dt.if_else(dt.scalar("c") > 0.0, lambda x: dt.rv("z", dist.Normal(x, 1.0)), lambda x: x, X)


@building
def generator_that_a_step_returns_as_it_was():
    names = {"dt": dt, "X": X, "rng": dt.random.generator(1)}
    code = "dt.scan(lambda rng, x: (rng, rng.normal()[0] + x), rng, X, dim='country')"
    exec(compile(code, "draws.py", "exec"), names)


@building
def evaluation_without_values_of_variables():
    theta = dt.rv("theta", dist.Normal(0.0, 1.0))
    mu = dt.rv("mu", dist.Normal(theta, 1.0))
    dt.evaluate({"sum": mu + theta}, xr.Dataset({"theta": 1.0}), backend="python")


@building
def distribution_as_an_operand():
    X + dist.Normal(0.0, 1.0)


@building
def series_without_the_name_of_its_dim():
    X + pd.Series([1.0, 2.0, 3.0], ["Italy", "Kenya", "USA"], name="rate")


@building
def right_hand_side_with_the_dim_of_the_solution():
    country = COUNTRY.rename()
    matrix = dt.tensor("m", dims=[COUNTRY, country])
    dt.linalg.solve(matrix, matrix, (COUNTRY, country))


@building
def variable_that_a_function_does_not_get():
    other = pt.vector("other")
    dt.apply(lambda x: x + other, X, input_core_dims=[["country"]], output_core_dims=[["country"]])


@building
def axes_of_other_names_than_the_dims():
    from pytensor.xtensor.type import xtensor

    dt.from_shaped(xtensor("v", dims=("a", "b"), shape=(3, 5)), [COUNTRY, AGE])


@building
def polynomials_of_groups_along_another_dim():
    group = dt.data(["USA", "Italy", "USA"], dims=THREE, categories=COUNTRY)
    dt.tensor("x", dims=[THREE, AGE]).groupby(group).polyfit(AGE, 1)


@building
def groups_reduced_over_another_dim():
    group = dt.data(["USA", "Italy", "USA"], dims=THREE, categories=COUNTRY)
    dt.tensor("x", dims=[THREE, AGE]).groupby(group).sum("age")


@building
def groups_given_as_a_list():
    X.groupby(["a", "b", "a"])


@building
def labels_several_times():
    X.sel(country=np.array(["USA", "USA", "Italy"]))


@building
def positions_several_times():
    X.isel(country=np.array([2, 2, 0]))


@building
def labels_of_a_dataarray_along_late_labels():
    LATE.sel(obs=labeled(["a", "b"], [0, 1], "row"))


@building
def mask_over_several_dims_of_one():
    EFFECT.isel(country=EFFECT > 0.0)


@building
def rows_in_another_order_than_the_dim():
    dt.frame(pd.DataFrame({"a": [1.0] * 3}, ["USA", "Kenya", "Italy"]), dims=COUNTRY)


@building
def columns_named_by_numbers():
    dt.frame(pd.DataFrame(np.ones((3, 2))), dims=COUNTRY)


@building
def rows_without_a_dim():
    dt.frame(pd.DataFrame({"a": [1.0, 2.0]}))


@building
def rows_without_labels():
    index = pd.MultiIndex.from_tuples([("a", 1.0), ("b", np.nan)], names=["g", "k"])
    dt.frame(pd.DataFrame({"a": [1.0, 2.0]}, index))


@building
def rows_of_the_same_labels():
    index = pd.MultiIndex.from_tuples([("a", 1), ("a", 1)], names=["g", "k"])
    dt.frame(pd.DataFrame({"a": [1.0, 2.0]}, index))


@building
def object_as_values_of_a_dim():
    dt.data(object(), dims=OBS)


@building
def tree_without_a_posterior():
    dt.function([X], X, backend="python")(xr.DataTree.from_dict({"prior": xr.Dataset({"x": 1.0})}))


@building
def data_of_one_name():
    a = dt.data([1.0, 2.0], dims=dt.Dim("a", length=2), name="d")
    b = dt.data([1.0, 3.0], dims=dt.Dim("b", length=2), name="d")
    dt.function([], a.sum() + b.sum(), backend="python").with_data(d=[1.0, 1.0])


@building
def table_whose_columns_are_no_dim():
    import polars as pl

    dt.data(pl.DataFrame({"a": [1.0], "b": [2.0]}), dims=[COUNTRY, OBS])


@building
def names_that_utf8_lacks():
    x = dt.tensor("\ud83d\ude00", dims=COUNTRY)
    with tempfile.TemporaryDirectory() as folder:
        dt.function([x], x.sum(), backend="numba").export(Path(folder, "f"))


@building
def selection_that_is_empty():
    kind = dt.Dim("kind", coords=["a", "b"])
    a = dt.rv("a", dist.Normal(0.0, 1.0), dims=kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dt.Model(dt.rv("y", dist.Normal(a.sel(kind=[]).sum(), 1.0)), backend="python").logp


@building
def groups_without_elements():
    group = dt.data(["USA", "Italy", "USA"], dims=THREE, categories=COUNTRY)
    a = dt.rv("a", dist.Normal(0.0, 1.0), dims=THREE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = dt.rv("y", dist.Normal(a.groupby(group).mean(), 1.0))
        dt.Model(y, backend="python").observe(y=[1.0, 2.0, 3.0]).log_density()


@building
def expression_of_pymc_that_draws():
    import pymc as pm

    with pm.Model() as model:
        pm.Normal("y", pm.Normal.dist(), 1.0)
    dt.from_pymc(model)


@building
def shape_of_pymc_that_is_drawn():
    import pymc as pm

    with pm.Model() as model:
        x = pm.Normal("x", shape=3)
        pm.Deterministic("y", x[x > 0])
    dt.from_pymc(model)


@building
def dims_of_a_pymc_model_with_other_labels():
    import pymc as pm

    from dimtensor.interop.pymc.inside import deterministic

    with pm.Model(coords={"country": ["Italy", "Peru", "USA"]}) as _:
        deterministic("x", dt.ones(COUNTRY))


@building
def discrete_variable_beside_a_sum_in_pymc():
    z = dt.rv("z", dist.Bernoulli(0.5))
    n = dt.rv("n", dist.Poisson(1.0 + z))
    y = dt.rv("y", dist.Normal(n + z, 1.0))
    dt.to_pymc(dt.Model(y).marginalize("z"))


@building
def bounds_beside_a_sum_in_pymc():
    z = dt.rv("z", dist.Bernoulli(0.5))
    x = dt.rv("x", dist.Uniform(0.0, 1.0 + z))
    y = dt.rv("y", dist.Normal(x + z, 1.0))
    dt.to_pymc(dt.Model(y).marginalize("z"))


@building
def observations_left_out_of_a_series_in_pymc():
    y = dt.rv(
        "y",
        dist.RandomWalk(dist.Normal(0.0, 1.0), dim=THREE, start=dist.Normal(0.0, 1.0)),
        dims=THREE,
    )
    dt.to_pymc(dt.Model(y, backend="python").observe(y=[1.0, np.nan, 2.0], missing="drop"))


@building
def draws_without_missing_observations():
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    y = dt.rv("y", dist.Normal(mu, 1.0), dims=THREE)
    model = dt.Model(y, dt.rv("out", dist.Normal(y, 1.0)), backend="python")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = model.observe(y=[1.0, np.nan, 2.0], missing="infer")
        post = xr.Dataset({"mu": (("chain", "draw"), np.zeros((1, 2)))})
        fit.predict(post, names=["out"], seed=1)


@building
def draws_of_other_elements_than_those_of_new_data():
    x = dt.data([1.0, 2.0, 3.0], dims=OBS, name="x")
    z = dt.rv("z", dist.Normal(0.0, 1.0), dims=OBS)
    fit = dt.Model(dt.rv("y", dist.Normal(z * x, 1.0)), backend="python").observe(y=[1.0] * 3)
    post = xr.Dataset({"z": (("chain", "draw", "obs"), np.zeros((1, 2, 3)))})
    fit.predict(post, {"x": [1.0, 2.0]}, names=["y"], seed=1)


@building
def prediction_that_lacks_known_labels():
    time = dt.Dim("time", coords=["a", "b", "c"])
    walk = dist.GaussianRandomWalk(0.0, 1.0, dim=time, start=dist.Normal(0.0, 1.0))
    fit = dt.Model(dt.rv("x", walk), backend="python").observe(x=[1.0, 2.0, 3.0])
    draws = xr.Dataset({"other": (("chain", "draw"), np.zeros((1, 2)))})
    fit.predict(draws, dims={time: dt.Dim("time", coords=["a", "d"])}, seed=1)


@building
def additional_dim_of_a_loaded_function():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "f")
        dt.function([X], X.sum(), backend="numba").export(path)
        dt.load_exported(path)(xr.DataArray(np.ones((2, 3)), dims=["draw", "country"]))


@building
def kernel_on_none_of_several_dims():
    dist.GP(dt.gp.Matern32(1.0), [COUNTRY, THREE])


@building
def function_as_a_kernel_over_several_dims():
    dist.GP(lambda x, y: x * y, [COUNTRY, THREE])


@building
def mean_of_a_process_at_new_points():
    t = dt.Dim("t", coords=[0.0, 1.0])
    process = dist.GP(dt.gp.Matern32(1.0), t, mean=dt.zeros(t))
    process.conditional(dt.ones(t), {t: dt.Dim("t", coords=[0.5])})


@building
def factor_of_a_singular_matrix():
    values = np.diag([1.0, 1.0, -1e-6])
    dt.linalg.cholesky(dt.data(values, dims=[COUNTRY, COUNTRY.rename()]), check=True).eval()


PLACES = dt.Dim("place", coords=[0.0, 1.0, 2.5])


def approximated(approximation, kernel=None, **options):
    kernel = dt.gp.Matern32(1.0) if kernel is None else kernel
    return dist.GP(kernel, PLACES, approximation=approximation, **options)


@building
def too_many_basis_functions():
    approximated(dt.gp.HSGP(), dt.gp.Matern12(1e-4))


@building
def basis_functions_of_an_unknown_length_scale():
    approximated(dt.gp.HSGP(), dt.gp.Matern32(dt.scalar("lengthscale")))


@building
def basis_functions_of_unknown_points():
    approximated(dt.gp.HSGP(), at=dt.tensor("x", dims=PLACES))


@building
def basis_functions_without_jitter():
    approximated(dt.gp.HSGP(), jitter=0.0)


@building
def kernel_that_has_no_spectral_density():
    approximated(dt.gp.HSGP(), dt.gp.RationalQuadratic(1.0, alpha=1.0))


@building
def kernel_that_is_no_state_space_model():
    approximated(dt.gp.StateSpace(), dt.gp.SquaredExponential(1.0))


@building
def state_space_model_of_points_of_several_numbers():
    approximated(dt.gp.StateSpace(), at=dt.tensor("x", dims=[PLACES, THREE]))


@building
def neighbors_of_unknown_points():
    approximated(dt.gp.Vecchia(), at=dt.tensor("x", dims=PLACES))


@building
def inducing_points_of_unknown_points():
    approximated(dt.gp.InducingPoints(2), at=dt.tensor("x", dims=PLACES))


@building
def bound_of_a_density_without_noise():
    approximated(dt.gp.InducingPoints(2, form="vfe"))


@building
def approximation_by_a_name():
    approximated("HSGP")


@building
def approximation_over_several_dims():
    kernel = dt.gp.Matern32(1.0).on(PLACES)
    dist.GP(kernel, [PLACES, THREE], approximation=dt.gp.HSGP())


@building
def approximation_of_given_covariances():
    approximated(dt.gp.HSGP(), dt.eye(PLACES))


@building
def lists_within_no_dim():
    dt.from_ragged([[1.0, 2.0], [3.0]], within="country")


@building
def lists_of_a_rectangle():
    dt.to_ragged(dt.zeros([COUNTRY, AGE]))


@building
def path_whose_known_elements_are_left_out():
    trial = dt.ragged("trial", within=COUNTRY, lengths=[2, 0, 1])
    start = dist.Normal(0.0, 1.0)
    walk = dt.rv("walk", dist.GaussianRandomWalk(0.0, 1.0, dim=trial, start=start))
    model = dt.Model(dt.rv("seen", dist.Normal(walk, 1.0)), backend="python")
    draws = model.draw(2, seed=1)["prior"]
    fewer = dt.ragged("trial", within=COUNTRY, lengths=[1, 0, 1])
    model.predict(draws, dims={COUNTRY: COUNTRY, trial: fewer})


def _with_rows() -> tuple[dt.Model, xr.Dataset]:
    """A model whose rows have labels, and draws of it."""
    row = dt.Dim("row", coords=[1, 2, 3])
    x = dt.data([1.0, 2.0, 3.0], dims=row, name="x")
    of = dt.data(["USA", "Italy", "USA"], dims=row, name="of", categories=COUNTRY)
    level = _random("level", 0.0, 1.0, dims=COUNTRY)
    model = dt.Model(_random("y", level.sel(country=of) * x, 1.0), backend="python")
    return model, model.draw(2, seed=1)["prior"].to_dataset()


@building
def prediction_for_more_rows():
    model, post = _with_rows()
    model.predict(post, {"x": [1.0, 2.0]}, seed=1)


@building
def prediction_for_rows_of_other_labels():
    model, post = _with_rows()
    model.predict(post, {"x": pd.Series([1.0, 2.0], index=[4, 5])}, seed=1)


@building
def prediction_for_a_label_that_is_new():
    model, post = _with_rows()
    model.predict(post, {"of": ["USA", "Peru", "USA"]}, seed=1)


@building
def prediction_along_a_dim_that_is_misspelled():
    model, post = _with_rows()
    model.predict(post, dims={"rows": dt.Dim("row", coords=[1])}, seed=1)


@building
def predictions_of_a_table():
    model, post = _with_rows()
    model.predict(post, pd.DataFrame({"x": [1.0], "of": ["USA"]}), seed=1)


@building
def autoregression_and_noise_of_other_lengths():
    two = dt.Dim("two", length=2)
    matrix = dt.eye(COUNTRY, COUNTRY.rename())
    dt.linalg.solve_discrete_lyapunov(matrix, dt.eye(two, two.rename()))


@building
def dates_whose_new_points_are_numbers():
    day = dt.date_range("day", "2026-01-01", periods=3)
    process = dist.GP(dt.gp.Matern32(30.0), day, noise=0.1)
    process.conditional(dt.zeros(day), {day: dt.Dim("day", coords=[1.0, 2.0])})


def visits_in_chunks(rows: int) -> xr.DataArray:
    return xr.DataArray(np.zeros(1), dims="day").chunk().isel(day=0).expand_dims(obs=rows)


@building
def data_of_dask_beyond_the_memory():
    rows = dt.Dim("obs")
    spend = dt.rv("spend", dist.Normal(dt.tensor("visits", dims=rows), 1.0))
    with mock.patch("dimtensor.values.loading.available", return_value=8 * 10**9):
        dt.Model(spend, data={"visits": visits_in_chunks(10**12)}, backend="python")


@building
def chunks_of_dask_beyond_the_memory():
    with mock.patch("dimtensor.values.loading.available", return_value=8 * 10**9):
        dt.stream(visits_in_chunks(10**12), dims=OBS)


@building
def groups_of_parents_by_a_label_of_theirs():
    trial = dt.ragged("trial", within=COUNTRY, lengths=[2, 0, 1])
    kinds = dt.data(["a", "b", "a"], dims=COUNTRY)
    dt.ones(trial).groupby(kinds).mean()


@building
def groups_by_the_parent_of_a_ragged_dim():
    trial = dt.ragged("trial", within=COUNTRY, lengths=[2, 0, 1])
    dt.ones(trial).groupby("country").mean()


@building
def concatenation_of_a_ragged_dim_and_a_plain_one():
    trial = dt.ragged("trial", within=COUNTRY, lengths=[2, 0, 1])
    dt.concat([dt.ones(trial), dt.ones(AGE)], [trial, AGE], name="both")


@building
def process_along_a_ragged_dim():
    trial = dt.ragged("trial", within=COUNTRY, lengths=[2, 0, 1])
    dist.GP(dt.gp.Matern32(1.0), trial, approximation=dt.gp.HSGP())


@building
def maximum_of_two_tensors():
    dt.max(X, Y)


@building
def covariance_of_a_number_of_rows():
    dist.LKJCholesky(3, 1.0)


@building
def weights_of_a_convolution_in_a_list():
    dt.convolve(dt.zeros(DAY), [0.5, 0.5], DAY)


@building
def interpolation_of_dates_at_a_number():
    dt.zeros(DAY).interp(day=3)


@building
def branches_that_are_values():
    dt.if_else(True, 1, 2)


@building
def groups_that_are_taken_one_by_one():
    kinds = dt.data(["a", "b"] * 2 + ["a"], dims=AGE)
    list(Y.groupby(kinds))


@building
def groups_of_two_tensors_of_labels():
    kinds = dt.data(["a", "b"] * 2 + ["a"], dims=AGE)
    Y.groupby(kinds, kinds)


@building
def column_that_is_set():
    dt.frame(pd.DataFrame({"rate": [1.0] * 5}), dims=AGE).rate = Y


@building
def variable_that_is_set_to_a_word():
    theta = dt.rv("theta", dist.Normal(0.0, 1.0))
    dt.Model(theta, backend="python").do({"theta": "high"})


@building
def groups_along_a_dim_of_the_tensor():
    kinds = dt.data(["Italy"] * 5, dims=AGE, categories=COUNTRY)
    dt.ones([AGE, COUNTRY]).groupby(kinds).sum()


@building
def selection_by_a_tuple_of_labels():
    X.sel(country=("Italy", "Kenya"))


@calling
def new_rows_beside_data_without_a_name(backend):
    row = dt.Dim("row")
    a = dt.tensor("a", dims=row)
    dt.function([a], a * dt.data([1.0, 2.0, 3.0], dims=row), backend)([1.0, 2.0])


@calling
def row_of_a_table_for_two_dims(backend):
    z = dt.tensor("z", dims=[COUNTRY, AGE])
    dt.function([z], z * 2, backend)(pd.Series([1.0, 2.0, 3.0], ["Italy", "Kenya", "USA"]))


@calling
def row_numbers_in_place_of_labels(backend):
    dt.function([X], X * 2, backend)(pd.Series([1.0, 2.0, 3.0]))


@building
def forecast_of_no_predictions():
    theta = dt.rv("theta", dist.Normal(0.0, 1.0))
    dt.Model(theta, backend="python").plot.forecast({})


@building
def new_data_for_data_without_a_name():
    seen = dt.data([1.0, 2.0, 3.0], dims=COUNTRY)
    y = dt.rv("y", dist.Normal(seen, 1.0))
    dt.Model(y, backend="python").with_data({seen: [1.0, 2.0, 4.0]})


@building
def autoregression_of_several_dims():
    dist.AR(dt.ones([COUNTRY, AGE]), 1.0, dim=DAY, start=dist.Normal(0.0, 1.0))


@building
def model_of_a_table():
    rate = dt.tensor("rate", dims=AGE)
    y = dt.rv("y", dist.Normal(rate, 1.0))
    dt.Model(y, data=pd.DataFrame({"other": [1.0] * 5, "rate": [1.0] * 5}))


@building
def table_of_one_column_for_one_dim():
    dt.data(pd.DataFrame({"rate": [1.0] * 5}), dims=AGE)


@building
def plots_that_are_called():
    theta = dt.rv("theta", dist.Normal(0.0, 1.0))
    dt.Model(theta, backend="python").plot(None)


@building
def plot_without_draws():
    theta = dt.rv("theta", dist.Normal(0.0, 1.0))
    dt.Model(theta, backend="python").plot.forest()


@building
def residuals_of_counts():
    counts = dt.rv("counts", dist.Poisson(2.0), dims=AGE)
    dt.Model(counts, backend="python").observe({counts: [1, 2, 0, 3, 1]}).residuals({})


@building
def process_over_a_ragged_dim_and_another():
    trial = dt.ragged("trial", within=COUNTRY, lengths=[2, 0, 1])
    dist.GP(dt.gp.Matern32(1.0), [trial, AGE])


@building
def plain_points_of_processes_of_each_parent():
    trial = dt.ragged("trial", within=COUNTRY, lengths=[2, 0, 1])
    process = dist.GP(dt.gp.Matern32(1.0), trial, noise=0.1)
    process.conditional(dt.zeros(trial), {trial: AGE})


@building
def tensor_in_the_place_of_a_dim_of_groups():
    dt.data([1.0, 2.0], dims=OBS).groupby(WHERE).polyfit(OTHER, 1)


@building
def map_of_groups_that_is_no_function():
    dt.data([1.0, 2.0], dims=OBS).groupby(WHERE).map(3)


@building
def reduction_of_windows_that_is_no_function():
    X.rolling(country=2).reduce("sum")


@building
def new_dims_that_are_a_number():
    X.expand_dims(2)


@building
def swapped_dims_that_are_a_name():
    X.swap_dims("land")


@building
def labels_of_a_name():
    LATE.as_labels("country")


@building
def dtype_that_is_a_tensor():
    X.astype(Y)


@building
def equation_at_the_labels_of_a_dim():
    dt.ode(lambda t, y: -y, 1.0, PLACES)


@building
def equation_at_labels():
    dt.ode(lambda t, y: -y, 1.0, dt.labels(PLACES))


@building
def equation_at_dates():
    dt.ode(lambda t, y: -y, 1.0, DAY)
