"""Code in hints runs: in the namespace of the situations, with values for what it leaves open."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor import dist
from dimtensor.tensor import numpy_style
from tests.errors import situations
from tests.errors.test_hints import hints
from tests.golden.compare import FOLDER

_STARTS = re.compile(r"(?<![\w.\"'`\\])[A-Za-z_(\[{]")
_CODE = (ast.Call, ast.Subscript, ast.Attribute)


def fragments(text: str) -> Iterator[str]:
    """Expressions of Python in a text, the longest from each place on."""
    end = 0
    text = text.replace("dims-tensor", "tensor")  # a word, and no difference
    for found in _STARTS.finditer(text):
        if found.start() < end:
            continue
        for at in range(len(text), found.start(), -1):
            code = text[found.start() : at]
            if code != code.strip() or not _is_code(code):
                continue
            yield code
            end = at
            break


def _is_code(text: str) -> bool:
    """Return whether a text is one expression that calls or selects, and no sentence."""
    if " ." in text:
        return False
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return False
    if isinstance(node, ast.Compare | ast.BoolOp | ast.IfExp | ast.Tuple | ast.UnaryOp):
        return False  # "x is a variable": the words of a sentence
    return any(isinstance(each, (*_CODE, ast.BinOp)) for each in ast.walk(node))


AGE = dt.Dim("age", length=3)
COUNTRY = dt.Dim("country", coords=["Italy", "Kenya", "USA"])
DAY = dt.date_range("day", "2020-01-01", periods=3, freq="MS")
X = dt.data(np.arange(27.0).reshape(3, 3, 1, 3), dims=[COUNTRY, AGE, dt.Dim("old", length=1), DAY])
Y = dt.data(np.ones(3), dims=AGE, name="y")
LABELS = dt.data(["USA", "Italy", "USA"], dims=AGE, categories=COUNTRY)
THETA = dt.rv("theta", dist.Normal(0.0, 1.0))
SCORE = dt.named("score", THETA * 2.0)
Z = dt.rv("z", dist.Bernoulli(0.5))
COUNT = dt.rv("count", dist.Poisson(3.0))
PRODUCT = X.isel(age=0, old=0).ravel([COUNTRY, DAY])
SQUARE = dt.eye(COUNTRY)
IN = dt.tensor("input", dims=AGE)
COLUMN = dt.data(np.ones(3), dims=AGE, name="x")
WITH_DATA = dt.Model(dt.rv("out", dist.Normal(THETA * COLUMN, 1.0)), backend="python")
KIND = dt.tensor("z", categories=dt.Dim("kind", length=2))
TERMS = {"z": KIND, "y_logp": dist.Normal(KIND.codes * 1.0, 1.0).logp(0.5),
         "z_logp": dist.Bernoulli(0.3).logp(KIND.codes)}  # fmt: skip
TRIAL = dt.ragged("trial", within=COUNTRY, lengths=[2, 0, 1])
RAGGED = dt.ones(TRIAL)
KINDS = dt.data(["a", "b", "a"], dims=TRIAL)
TABLE = pd.DataFrame({"rate": [1.0, 2.0, 3.0]}, pd.Index(["USA", "Kenya", "Italy"]))
POST = WITH_DATA.draw(2, seed=1)
TREE = xr.DataTree.from_dict({name: POST["prior"].to_dataset() for name in ("posterior", "group")})
CHUNKED = xr.DataArray(np.ones(6), dims="obs").chunk(obs=2)
SERIES = pd.Series([1.0, 2.0], pd.MultiIndex.from_product([["a"], [0, 1]]))

# what stands for the names that hints leave open
NAMES: dict[str, Any] = {
    "dt": dt, "dist": dist, "np": np, "pd": pd, "x": X, "y": Y, "z": Z, "theta": THETA,
    "dim": COUNTRY, "dims": [COUNTRY, DAY], "day": DAY, "age": AGE, "old": COUNTRY, "k": AGE,
    "new": dt.Dim("land", coords=["a", "b", "c"]), "name": "land", "labels": ["a", "b", "c"],
    "value": xr.DataArray([1.0], dims="country", coords={"country": ["USA"]}), "values": np.ones(3),
    "df": pd.DataFrame(np.ones((2, 2))), "dataset": xr.Dataset({"income": 1.0}),
    "array": np.ones(3), "series": SERIES, "function": np.exp, "condition": dt.scalar("c") > 0.0,
    "mask": dt.data([True, False, True], dims=AGE), "tensors": [Y, Y, Y], "a": THETA,
    "model": dt.Model(THETA, backend="python"), "score": SCORE, "count": COUNT,
    "input": IN, "positions": [0, 1], "selection": [0], "at": [0], "variable": THETA,
    "tensor": Y, "expression": Y * 2.0, "degree": 1, "span": 2, "dtype": "float32",
    "initial": 1.0, "other": AGE, "step": lambda state, x: state + x, "init": 0.0,
    "d": dist.Normal(0.0, 1.0), "fit": dt.Model(THETA, backend="python").observe(theta=1.0),
    "range": range, "sorted": sorted, "obs": AGE, "country": COUNTRY, "table": TABLE, "post": POST,
    "b": Y, "row": COUNTRY, "col": AGE, "rng": dt.random.generator(1), "xarray": xr, "pandas": pd,
}  # fmt: skip

# of single texts, where the same names stand for something else
APART: dict[str, dict[str, Any]] = {
    "equation_at_the_labels_of_a_dim": {"place": situations.PLACES},
    "equation_at_labels": {"place": situations.PLACES},
    "table_of_one_column_for_one_dim": {"df": {"rate": [1.0]}},
    "ragged_dims_of_one_parent": {"x": RAGGED, "visit": TRIAL, "country": COUNTRY},
    "roll_along_a_ragged_dim": {"x": RAGGED, "trial": TRIAL},
    "groups_along_a_ragged_dim": {"x": RAGGED, "trial": TRIAL, "labels": KINDS},
    "groups_of_parents_by_a_label_of_theirs": {
        "x": RAGGED, "trial": TRIAL, "labels": dt.data(["a", "b", "a"], dims=COUNTRY),
    },
    "groups_by_the_parent_of_a_ragged_dim": {"x": RAGGED, "trial": TRIAL},
    "concatenation_of_a_ragged_dim_and_a_plain_one": {"x": RAGGED, "trial": TRIAL},
    "process_along_a_ragged_dim": {
        "trial": TRIAL, "f": dt.ones([COUNTRY, dt.Dim("number", length=2)]),
    },
    "ragged_dim_of_parents_that_come_late": {"name": TRIAL},
    "late_ragged_dim_selected_by_label": {"trial": TRIAL},
    "padding_of_a_plain_dim_to_a_rectangle": {"x": COLUMN},
    "reshape": {"x": PRODUCT, "dim": PRODUCT.dims[0], "dims": PRODUCT.dims,
                "old": PRODUCT.dims[0], "new": dt.Dim("land", length=9)},
    "marginal_of_a_density_with_dims": TERMS,
    "array_of_values_with_labels": {"rate": Y}, "probabilities_that_do_not_add_up": {
        "w": Y, "x": Y, "kind": AGE},
    "arrays_of_labels_in_from_shaped": {"value": np.ones(3)}, "norm_of_a_matrix": {"x": SQUARE},
    "generator_used_twice": {"rng": dt.random.generator(1)},
    "labels_of_long_floats": {"labels": np.ones(3)}, "levels_of_checkpoints": {"n": 3},
    "log_density_with_dims": {"logp": Y, "y": 1.0, "mu": THETA, "sigma": 1.0,
                              "normal": lambda x, *of: dist.Normal(*of).logp(x)},
    "report_of_a_model_without_observations": {"y": THETA, "values": 1.0},
    "forecast_of_a_variable_without_predictions": {
        "fit": WITH_DATA, "post": xr.Dataset({"theta": (("chain", "draw"), [[1.0]])})},
    "method_of_columns_that_a_table_lacks": {"table": {"income": Y}},
    "masked_elements": {"array": np.ma.masked_equal([1.0, 2.0], 2.0)},
    "slice_with_a_computed_end": {"n": 2}, "support_that_is_a_number": {"low": 0.0, "high": 1.0},
    "step_of_a_series_that_returns_no_pair": {"state": 1.0},
    "weights_of_a_convolution_along_no_dim": {"weights": [0.5, 0.5]},
    "reset_index": {"x": PRODUCT, "dim": PRODUCT.dims[0]},
    "unstack": {"x": PRODUCT, "dim": PRODUCT.dims[0]},
    "diagonal": {"x": SQUARE},
    "trace": {"x": SQUARE},
    "stack": {"dims": [COUNTRY, AGE], "x": X, "y": X * 2.0,
              "dim": dt.Dim("side", length=2)},
    "take": {"dim": DAY, "labels": ["2020-01-01"]}, "drop": {"labels": ["USA"]},
    "searchsorted": {"x": Y, "values": 0.5},

    "reduce": {"x": Y, "dim": AGE}, "curvefit": {"dim": DAY},
    "drop_duplicates": {"labels": LABELS, "x": Y}, "sample": {"x": THETA}, "random": {"x": THETA},
    "logp": {"x": 1.0, "name": "theta", "value": 1.0, "fit": NAMES["model"]},
    "query": {"x": Y}, "interp_like": {"dim": DAY, "other": DAY},
    "where": {"value": 0.0}, "data_of_a_frame_with_levels": {"value": pd.DataFrame(SERIES).T},
    "loop_that_adds_a_dim": {"value": 1.0}, "flatten": {"dims": [COUNTRY, DAY]},
    "parameter_that_is_an_array": {"object": 1.0},
    "array_of_an_input": {"value": np.ones(3), "x": IN, "tensor": IN},
    "plain_array_as_operand": {"object": 1.0, "array": np.ones((3, 3, 3, 1))},
    "rename_to_a_name_that_is_taken": {"x": dt.zeros([dt.Dim(name, length=1) for name in "ab"])},
    "model_with_a_discrete_variable": {"model": dt.Model(Z, backend="python")},
    "model_without_data": {"y": dt.rv("y", dist.Normal(IN, 1.0)),
                           "model": dt.Model(dt.rv("y", dist.Normal(IN, 1.0)))},
    "predictions_of_unnamed_data": {"model": WITH_DATA, "post": WITH_DATA.draw(2, seed=1)["prior"]
                                    .to_dataset(), "k": AGE},
    "exported_function_that_is_not_there": {"f": dt.function([IN], IN * 2.0, backend="python")},
    "running_sum_in_chunks": {"late": CHUNKED, "other": CHUNKED},
    "chunks_of_dask_beyond_the_memory": {"array": xr.DataArray(np.ones(3), dims="obs")},
    "product_dim_in_chunks": {"matrix": CHUNKED},
    "evaluation_without_an_input": {"value": np.ones(3), "x": IN, "tensor": IN},
    "data_of_a_series_that_lacks_combinations": {"value": SERIES},
    "axes_of_other_names_than_the_dims": {"x": xr.DataArray(1.0).expand_dims("old")},
    "dates_of_two_orders": {"dates": ["13/01/2020"]},
    "dates_without_a_unit": {"labels": np.zeros(2, "m8[s]")},
    "derivative_of_a_draw": {"mu": Y, "sigma": Y, "z": Y, "parameter": Y},
    "derivative_that_is_not_known": {"operand": Y},
    "discrete_variable_beside_a_sum_in_pymc": {
        "model": dt.Model(dt.rv("n", dist.Binomial(3, 0.5)), backend="python")},
    "draws_of_other_elements_than_those_of_new_data": {
        "post": {"posterior": xr.Dataset({"z": 1.0})}},
    "intervals_of_values_that_are_not_known": {"x": Y, "g": Y, "low": 0.0, "high": 1.0},
    "length_that_a_c_function_lacks": {
        "f": dt.function([IN], IN.sum(), backend="numba"), "shapes": [(3,)]},
    "mixture_of_distributions_of_labels": {"weights": Y, "p": dt.full([AGE, COUNTRY], 1 / 9)},
    "polynomials_of_groups_along_another_dim": {
        "x": dt.ones(dt.Dim("age", coords=[1.0, 2.0, 3.0])), "deg": 1},
    "prediction_that_lacks_known_labels": {"time": AGE, "known": [1], "more": [2]},
    "real_of_complex_numbers": {"x": Y},
    "replaced_dim_of_data": {"x": Y, "dim": AGE, "data": Y, "other": dt.Dim("age", length=1),
                             "other_data": dt.ones(dt.Dim("age", length=1))},
    "rows_of_the_same_labels": {"table": TABLE.rename_axis("country")},
    "rows_without_labels": {"table": TABLE.rename_axis("country")},
    "sampling_without_observations": {"model": WITH_DATA, "fit": WITH_DATA.observe(out=np.ones(3))},
    "selection_that_is_empty": {"kind": COUNTRY},
    "series_without_the_name_of_its_dim": {"df": TABLE, "x": dt.ones(COUNTRY)},
    "sum_that_counts_terms_several_times": {"a": Y, "b": X},
    "tree_without_a_posterior": {"tree": TREE},
    "values_by_name_and_by_place": {"f": lambda post, x: x},
    "values_searched_along_their_own_dim": {"v": dt.ones(COUNTRY)},
    "right_hand_side_with_the_dim_of_the_solution": {"b": dt.ones(COUNTRY)},
    "variable_of_no_group": {"post": {"prior_predictive": {"theta": 1.0}}},
    "evaluation_without_values_of_variables": {"x": SCORE},
    "prediction_for_a_label_that_is_new": {"country": COUNTRY},
    "column_that_is_set": {"df": pd.DataFrame({"rate": np.ones(3)})},
    "groups_that_are_taken_one_by_one": {"x": Y, "labels": dt.data(["a", "b", "a"], dims=AGE)},
    "groups_along_a_dim_of_the_tensor": {"x": dt.ones([AGE, COUNTRY]), "labels": LABELS},
    "groups_of_two_tensors_of_labels": {
        "x": Y, "y": LABELS, "z": dt.data(["a", "b", "a"], dims=AGE),
    },
    "predictions_of_a_table": {"table": {"x": Y, "of": LABELS}},
}  # fmt: skip
for _name in ("T", "mT", "swapaxes", "moveaxis", "permute"):
    APART[_name] = {"dims": X.dims}

# what is written for "..." in hints
WRITTEN_OUT = {
    "x.eval({input: value})": "input.eval({input: values})",
    "x.eval({input: value}).values": "input.eval({input: values}).values",
    "x.eval({input: value}).values.tolist()": "input.eval({input: values}).values.tolist()",
    "value.stack(...)": "value.stack()",
    "x.sel(country=...)": "x.sel(country='USA')",
    "dt.ragged('trial', within=..., by=...)": "dt.ragged('trial', within=country, by=['USA'])",
    "dt.ragged('trial', within=country, by=...)": "dt.ragged('trial', within=country, by=['USA'])",
    "dt.ragged('trial', within=dt.Dim('subject', coords=[...]), ...)": (
        "dt.ragged('trial', within=dt.Dim('subject', coords=['a']), lengths=[2])"
    ),
    "dt.reindex(value, dim, fill_value=...)": "dt.reindex(value, dim, fill_value=0.0)",
    "dt.Dim('country', length=...)": "dt.Dim('country', length=3)",
    "dt.data(..., name=...)": "dt.data(1.0, name='rate')",
    "dt.data(..., name='x')": "dt.data(1.0, name='x')",
    "dt.Dim(..., coords=[...])": "dt.Dim('country', coords=['USA'])",
    "dt.align(..., join=...)": "dt.align(value, value, join='inner')",
    "dt.rv('noise', ..., dims=age)": "dt.rv('noise', dist.Normal(0.0, 1.0), dims=age)",
    "dt.data(value, dims=...)": "dt.data(value, dims=dim)",
    "dt.data(values, dims=...)": "dt.data(values, dims=age)",
    "dt.frame(df.assign(column=values), dims=...)": "dt.frame(df.assign(column=values), dims=age)",
    "x.expand(dim).where(...)": "y.expand(dim).where(y > 0.0)",
    "dt.date_range(name, start=..., periods=..., freq=...)": (
        "dt.date_range(name, start='2020-01-01', periods=3, freq='D')"
    ),
    "x.interp(...)": "x.interp({day: ['2020-01-15']})",
    "rng.split(dim)": "dt.random.generator(1).split(dim)",
    "array.filled(...)": "array.filled(0.0)",
    "x.to_shaped([...])": "x.to_shaped(x.dims)",
    "dt.tensor(..., categories=dim)": "dt.tensor('kind', categories=dim)",
    "observe(..., missing='drop')": "model.observe(theta=1.0, missing='drop')",
    "dt.rv('y', dist.Normal(...))": "dt.rv('y', dist.Normal(0.0, 1.0))",
    "dt.tensor('name', dims=...)": "dt.tensor('name', dims=dim)",
    'dt.tensor("name", dims=...)': "dt.tensor('name', dims=dim)",
    "dt.Model(..., data={input: values})": "dt.Model(y, data={input: values})",
    "model.with_data({...})": "model.with_data({input: values})",
    "dt.data(array, dims=...)": "dt.data(array, dims=dim)",
    "x.rename(a=..., b=...)": "x.rename(a='b', b='a')",
    "x.sel(...).set(value)": "x.sel(country='USA').set(1.0)",
    "dist.custom(logp=..., logcdf=...)": (
        "dist.custom(logp=lambda x: -x, logcdf=lambda x: x, support=dt.positive)"
    ),
    "predict(post, {'x': values}, dims={k: ...})": (
        "model.predict(post, {'x': values}, dims={k: 3}, seed=1)"
    ),
    "f.export(path)": "f.export",
    "table.columns": "table.columns",
    "dt.data(array, dims=[...])": "dt.data(array, dims=[age])",
    "dt.Model(..., x).predict(post, names=['x'], seed=1)": (
        "dt.Model(score).predict(dt.Model(theta).draw(2, seed=1)['prior_predictive'].to_dataset(),"
        " names=['score'], seed=1)"
    ),
    "dist.Categorical((weights * p).sum(dim), dim=...)": (
        "dist.Categorical((weights * p).sum(age), dim=dim)"
    ),
    "dt.frame(table.reset_index(), dims=...)": "dt.frame(table.reset_index(), dims=dt.Dim('obs'))",
    "fit.sample(...)": "fit.sample",
    'log_likelihood(..., store="log_likelihood.zarr", chunks=100)': "fit.log_likelihood",
    "dt.data(values, dims=..., categories=dim)": "dt.data(['USA'] * 3, dims=age, categories=dim)",
    "dt.frame(table, dims=...)": "dt.frame(table, dims=dt.Dim('obs'))",
    "dt.from_shaped(variable, dims=...)": (
        "dt.from_shaped(dt.tensor('x', dims=age).to_shaped(age), dims=age)"
    ),
    'labels.astype("datetime64[ns]")': "labels.astype('m8[ns]')",
}

# code that is not run, and why
NOT_RUN = {
    ("axis_by_keyword", "sum('age')"): "a method, named without the tensor that has it",
    ("rename_to_a_dim_of_other_labels", "relabel(old, new)"): "the same",
    ("value_of_two_plain_axes", "xarray.DataArray"): "a class, named in full",
    ("array_to_align", "xarray.DataArray"): "the same",
    ("expression_of_pymc_that_draws", "pm.Normal"): "PyMC's, in a context",
    ("shape_of_pymc_that_is_drawn", "pm.math.switch(x > 0, x, 0)"): "PyMC's",
    ("draws_without_missing_observations", "observe(..., missing='infer')"): (
        "a method, named without the model that has it"
    ),
    ("observations_left_out_of_a_series_in_pymc", "observe(..., missing='infer')"): "the same",
    ("predictions_outside_of_the_knots", "predict(..., outside='clip')"): "the same",
    ("sampling_without_unknowns", "draw()"): "the same",
    ("weeks_of_another_calendar", "resample(day='7D')"): "the same",
    ("effects_of_a_formula_twice", "(x | g)"): "a part of a formula",
    ("effects_of_a_formula_twice", "(0 + x | g)"): "the same",
    ("namespace_that_is_no_dict", "f(x)"): "the same",
    ("predictions_outside_of_the_knots", "cr(x)"): "the same",
    ("response_of_a_formula_with_levels", "g['c']"): "the same",
    ("parameter_of_the_name_of_a_function", "logp(x, mean)"): "a part of a definition",
    ("matrix_whose_dims_are_not_named", "[row, row.rename()]"): "runs, as dims=",
    ("names_that_utf8_lacks", "UTF-8"): "no code",
    (
        "forecast_along_one_of_several_dims",
        "fit.plot.forecast(new, dim='country')",
    ): "runs, and draws a figure",
    (
        "forecast_of_no_predictions",
        "fit.plot.forecast(fit.predict(post, seed=1))",
    ): "the same",
    ("plots_that_are_called", "fit.plot.trace(post)"): "the same",
    ("plot_without_draws", "fit.plot.forest(post)"): "the same",
    ("client_that_is_an_address", "distributed.Client()"): "starts processes",
    ("file_of_draws_that_is_not_there", "post.to_netcdf(path)"): "xarray's, and writes a file",
    ("file_of_draws_that_is_not_there", "post.to_zarr(path)"): "the same",
}
PLACES = [
    *((path.stem, path.read_text().partition("\nhint: ")[2])
      for path in sorted(Path(FOLDER, "errors").glob("*.txt"))),
    *numpy_style._INSTEAD.items(), *numpy_style._OPTIONS.items(),
]  # fmt: skip
CODE = [(name, code) for name, text in PLACES for code in fragments(text)]


# compiles, and the same is tested by tests/model
_LONG = {"model.sample(prior=True)"}


@pytest.mark.parametrize(
    ("name", "code"),
    [
        pytest.param(name, code, marks=[pytest.mark.slow] if code in _LONG else [])
        for name, code in CODE
    ],
)
def test_code_of_hints_runs(name, code):
    if (name, code) in NOT_RUN:
        return
    names = {"__builtins__": vars(builtins)} | vars(situations) | NAMES | APART.get(name, {})
    eval(WRITTEN_OUT.get(code, code), names)


def test_all_code_of_hints_is_found():
    assert len(CODE) > 200
    assert {*NOT_RUN} <= {*CODE}
    assert {*APART} <= {name for name, _ in CODE}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("dt.dot(x, y, dim=dim), or x @ y", ["dt.dot(x, y, dim=dim)", "x @ y"]),
        ("an index is a position, x.sel(a=1) selects labels", ["x.sel(a=1)"]),
        ("labels belong to dims: dim.coords", ["dim.coords"]),
    ],
)
def test_code_is_told_from_words(text, code):
    assert [*fragments(text)] == code


# hints with code that no situation reaches: add a situation, and lower the number
UNREACHED = 15


def test_most_hints_of_the_package_are_reached_by_a_situation():
    texts_of_errors = [path.read_text() for path in Path(FOLDER, "errors").glob("*.txt")]
    missing = []
    for place, text in hints():
        if place.partition(":")[0].endswith(".py") and [*fragments(text.replace("X", "x1"))]:
            pattern = re.compile(re.escape(text).replace("X", ".*"))
            if not any(map(pattern.search, texts_of_errors)):
                missing.append(f"{place}: {text}")
    assert len(missing) <= UNREACHED, "\n".join(missing)
