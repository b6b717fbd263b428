"""Expressions computed slice by slice equal the whole, and those that cannot be say which mixes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.compile.function import free_inputs
from dimtensor.graph.partition.analysis import split
from dimtensor.graph.partition.epilogue import split_epilogue
from dimtensor.graph.partition.slices import gathered
from dimtensor.graph.partition.weights import weighted
from dimtensor.graph.printing.formula import formula
from dimtensor.graph.walk import toposort
from dimtensor.tensor.handle import wrap
from tests.differential.generate import random_program
from tests.differential.named import Named, NumPy
from tests.differential.program import build, run
from tests.random_programs.choosing import Seeded

COMBINE = {
    "add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logaddexp": np.logaddexp,
}  # fmt: skip
OBS, GROUP, K = dt.Dim("obs"), dt.Dim("group", coords=["a", "b", "c"]), dt.Dim("k", length=2)
X = dt.tensor("x", dims=OBS)
Y = dt.tensor("y", dims=OBS)
M = dt.tensor("m", dims=[OBS, K])
WHO = dt.tensor("who", dims=OBS, categories=GROUP)
KEEP = dt.tensor("keep", dims=OBS, dtype="bool")
THETA = dt.tensor("theta", dims=GROUP)
B = dt.scalar("b")


def evaluated(x: Any, point: dict[Any, Any]) -> Any:
    used = {each.name for each in dt.inputs_of(x)}
    return x.eval({name: value for name, value in point.items() if name in used})


def joined(found: dt.Partition, values: Sequence[Any], rest: Any = None) -> Any:
    """The whole, made of the values for slices."""
    (first, *others) = values if rest is None else [rest, *values]
    for other in others:
        first = COMBINE[found.operation](first, other)
    return first


def piecewise(found: dt.Partition, bounds: Sequence[int], point: dict[Any, Any]) -> Any:
    """Values of slices of the whole's inputs, combined."""
    ends = itertools.pairwise(bounds)
    parts = [evaluated(found.over(*pair), point) for pair in ends]
    if found.operation == "concat":
        return parts
    return joined(found, parts, None if found.rest is None else evaluated(found.rest, point))


# -- random programs -------------------------------------------------------------------------------


def check_program(seed: int) -> int:
    """Check all values of a program, and sums of them; return how many are split."""
    program = random_program(Seeded(seed))
    built, env = build(program), run(program, program.point, NumPy())
    point = {f"v{i.number}": (i.value.dims, i.array) for i in program.inputs}
    checked = 0
    for name, of in program.dims.items():
        point[f"{name}_length"] = of.length
        for at in {at for step in program.steps for at in step.results}:
            x, value = built.values[at], env[at]
            checked += check_slices(x, built.dims[name], of.length, point, value)
            if name in value.dims and x.dtype == "float64":
                along = value.dims.index(name)
                rest = Named(value.dims[:along] + value.dims[along + 1 :], value.data.sum(along))
                total = Named(rest.dims, 3 - 2 * rest.data)
                y = 3 - 2 * x.sum(built.dims[name])
                checked += check_slices(y, built.dims[name], of.length, point, total)
    return checked


def check_slices(x: Any, dim: dt.Dim, length: int, point: dict[Any, Any], whole: Named) -> bool:
    """Compare an expression in slices with NumPy's value of the whole, if it can be cut."""
    try:
        found = dt.partition(x, dim)
    except dt.PartitionError:
        return False
    if found.operation is None:
        assert found.rest is x
        return False
    ends = np.random.default_rng(length).integers(0, length + 1, 2).tolist()
    bounds = [0, *sorted(ends), length]
    if found.operation in ("maximum", "minimum"):  # which empty slices lack
        bounds = sorted(set(bounds))
    if len(bounds) == 1 or (found.operation == "concat" and dim.name not in whole.dims):
        return False
    try:
        parts = piecewise(found, bounds, point)
    except dt.GraphError as problem:  # no input has a dim of the slice, or of the whole
        if "determines the length" not in str(problem):
            raise
        return False
    if found.operation == "concat":
        arrays = [part.transpose(*whole.dims).values for part in parts]
        result = np.concatenate(arrays, axis=whole.dims.index(dim.name))
    else:
        result = parts.transpose(*whole.dims).values
    np.testing.assert_allclose(result, np.asarray(whole.data), rtol=1e-9, atol=1e-9)
    return True


@pytest.mark.parametrize("first", [0, 6])
def test_programs_in_slices_equal_the_whole(first: int):
    assert sum(map(check_program, range(first, first + 6))) > 10


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 300, 20))
def test_many_programs_in_slices_equal_the_whole(first: int):
    assert sum(map(check_program, range(first, first + 20))) > 60


# -- rows ------------------------------------------------------------------------------------------


def check_rows(seed: int) -> int:
    """Compare sums of a program at single positions, and weighted ones, with NumPy's of all."""
    program = random_program(Seeded(seed))
    built, env = build(program), run(program, program.point, NumPy())
    point = {f"v{i.number}": (i.value.dims, i.array) for i in program.inputs}
    checked = 0
    for name, of in program.dims.items():
        dim, point[f"{name}_length"] = built.dims[name], of.length
        for at in {at for step in program.steps for at in step.results}:
            x, value = built.values[at], env[at]
            if name in value.dims and x.dtype == "float64":
                checked += rows_make_the_whole(3 - 2 * x.sum(dim), dim, of.length, point, value)
    return checked


def rows_make_the_whole(
    y: Any, dim: dt.Dim, length: int, point: dict[str, Any], summed: Named
) -> bool:
    found = split(y.node, dim)
    if found.obstacle is not None:
        return False
    row = dt.Dim("row")
    at, weights = dt.tensor("at", dims=row, dtype="int64"), dt.tensor("weights", dims=dim)
    new = weighted(y.node, found, weights.node)
    assert new is not None
    again = split(new, dim)
    given = {weights.node: dt.tensor("own", dims=row).node}
    part, rest = (
        None if each is None else wrap(gathered(each, again, length, at.node, given))
        for each in again.role[1:]
    )
    factors = np.random.default_rng(length).uniform(0.5, 2.0, length)
    try:
        total = 0.0 if rest is None else evaluated(rest, point)
        for position in range(length):  # twice, with a part of its weight each
            own = [0.25 * factors[position], 0.75 * factors[position]]
            total = total + evaluated(part, {**point, "at": [position, position], "own": own})
    except dt.GraphError as problem:  # no input has a dim
        if "determines the length" not in str(problem):
            raise
        return False
    along = summed.dims.index(dim.name)
    expected = 3 - 2 * np.tensordot(summed.data, factors, axes=([along], [0]))
    dims = [each for each in summed.dims if each != dim.name]
    np.testing.assert_allclose(
        xr.DataArray(total).transpose(*dims).values, expected, rtol=1e-9, atol=1e-9
    )
    return True


@pytest.mark.parametrize("first", [0, 6])
def test_weighted_rows_make_the_weighted_sum(first: int):
    assert sum(map(check_rows, range(first, first + 6))) > 3


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 300, 20))
def test_many_weighted_rows_make_the_weighted_sum(first: int):
    assert sum(map(check_rows, range(first, first + 20))) > 20


# -- models ----------------------------------------------------------------------------------------


def numbers(length: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "x": rng.normal(size=length), "y": rng.normal(size=length),
        "m": rng.normal(size=(2, length)), "who": rng.integers(0, 3, length),
        "keep": rng.random(length) < 0.5, "theta": rng.normal(size=3), "b": np.array(0.7),
    }  # fmt: skip


def by_group(weights: np.ndarray, v: dict[str, np.ndarray]) -> np.ndarray:
    return np.bincount(v["who"], weights, minlength=3)


SPLIT: dict[str, tuple[Any, str, Any]] = {
    "sum": (X.sum(), "add", lambda v: v["x"].sum()),
    "mean": (X.mean(), "add", lambda v: v["x"].mean()),
    "mean over two dims": (M.mean(), "add", lambda v: v["m"].mean()),
    "count without NaN": (X.count(), "add", lambda v: v["x"].size),
    "linear": (3 - 2 * X.sum() / B + THETA.sum(), "add",
               lambda v: 3 - 2 * v["x"].sum() / v["b"] + v["theta"].sum()),
    "logsumexp": (X.logsumexp(OBS), "logaddexp", lambda v: np.logaddexp.reduce(v["x"])),
    "two sums": (X.sum() - (Y**2).sum(), "add", lambda v: v["x"].sum() - (v["y"]**2).sum()),
    "where": (dt.where(B > 0, X.sum(), Y.sum()), "add", lambda v: v["x"].sum()),
    "where at positions": (dt.where(KEEP, X, 0.0).sum(), "add",
                           lambda v: v["x"][v["keep"]].sum()),
    "look-up": (((X - THETA.sel(group=WHO)) ** 2).sum(), "add",
                lambda v: ((v["x"] - v["theta"][v["who"]]) ** 2).sum()),
    "groups": (X.groupby(WHO).sum(), "add", lambda v: by_group(v["x"], v)),
    "weighted groups": ((THETA * X.groupby(WHO).sum()).sum(), "add",
                        lambda v: v["theta"] @ by_group(v["x"], v)),
    "filtered": (X[KEEP].sum(), "add", lambda v: v["x"][v["keep"]].sum()),
    "filtered by values": ((X[X > Y] * Y[X > Y]).sum(), "add",
                           lambda v: (v["x"] * v["y"])[v["x"] > v["y"]].sum()),
    "matrix times vector": (dt.dot(M, X, dim=OBS), "add", lambda v: v["m"] @ v["x"]),
    "matrix times itself": (dt.dot(M, M.rename(k="l"), dim=OBS), "add",
                            lambda v: v["m"] @ v["m"].T),
    "product dim": ((M.ravel([K, OBS]) ** 2).sum(), "add", lambda v: (v["m"] ** 2).sum()),
    "renamed": ((X.rename(obs="row") ** 2).sum(), "add", lambda v: (v["x"] ** 2).sum()),
    "positions": ((dt.arange(OBS) * X).sum(), "add",
                  lambda v: (np.arange(v["x"].size) * v["x"]).sum()),
    "largest": (X.max(), "maximum", lambda v: v["x"].max()),
    "smallest by column": (M.min(OBS), "minimum", lambda v: v["m"].min(1)),
    "product": ((1 + X * X).prod(), "multiply", lambda v: (1 + v["x"] ** 2).prod()),
    "all": ((X < 9).all(), "logical_and", lambda v: (v["x"] < 9).all()),
    "any": (KEEP.any(), "logical_or", lambda v: v["keep"].any()),
    "along another dim": (M.cumsum(K).sum(), "add", lambda v: v["m"].cumsum(0).sum()),
    "gradient by a parameter": (
        dt.grad(-(THETA**2).sum() + (X * THETA.sel(group=WHO)).sum(), THETA), "add",
        lambda v: -2 * v["theta"] + by_group(v["x"], v)),
    "value of a directional derivative": (
        dt.jvp((X * B**2).sum(), [B], [dt.exp(B)]), "add",
        lambda v: 2 * v["x"].sum() * v["b"] * np.exp(v["b"])),
    "loop within positions": (
        dt.fori_loop(0, 3, lambda i, s: s * 0.5 + X, dt.zeros(OBS)).sum(), "add",
        lambda v: 1.75 * v["x"].sum()),
    "check of positions": (dt.check(X < 9, "x is small", X.sum()), "add", lambda v: v["x"].sum()),
    "check": (dt.check(B > 0, "b is positive", X.sum()), "add", lambda v: v["x"].sum()),
}  # fmt: skip


CASES = [
    (name, length)
    for name, (_, operation, _) in SPLIT.items()
    for length in (0, 1, 7)
    # there is no mean or maximum without positions
    if length or not (operation in ("maximum", "minimum") or name.startswith("mean"))
]


@pytest.mark.parametrize(("name", "length"), CASES)
def test_shares_of_slices_make_the_whole(name: str, length: int):
    x, operation, oracle = SPLIT[name]
    found = dt.partition(x, OBS)
    assert found.operation == operation
    v = numbers(length)
    point = {**v, "m": (("k", "obs"), v["m"]), "who": np.array(list("abc"))[v["who"]]}
    point["obs_length"] = length
    bounds = [0, length // 3, length // 3, length]
    if operation in ("maximum", "minimum"):
        bounds = sorted(set(bounds))
    result = piecewise(found, bounds, point)
    np.testing.assert_allclose(result, oracle(v), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["mean", "look-up", "groups", "filtered", "positions", "largest"])
def test_the_share_is_a_function_of_a_chunk(name: str):
    x, _, oracle = SPLIT[name]
    found, v = dt.partition(x, OBS), numbers(7, seed=1)
    inputs = dt.inputs_of(found.part)
    f = dt.function(inputs, found.part, backend="python")

    def share(start: int, stop: int) -> Any:
        given = {"obs_length": 7, "obs_start": start, "theta": v["theta"]}
        own = {key: v[key][start:stop] for key in ("x", "y", "keep")}
        own["who"] = np.array(list("abc"))[v["who"][start:stop]]
        return f(*[{**given, **own}[each.name] for each in inputs])

    shares = [share(0, 2), share(2, 3), share(3, 7)]
    np.testing.assert_allclose(joined(found, shares), oracle(v), rtol=1e-12)


def test_labels_may_come_in_any_order():
    rng = np.random.default_rng(2)
    order = rng.permutation(5)
    obs = dt.Dim("obs", coords=np.array(list("vwxyz"))[order])
    group = dt.Dim("group", coords=["c", "a", "b"])
    values = rng.normal(size=5)
    x = dt.data(values, dims=obs)
    who = dt.data(np.array(list("abcab"))[order], dims=obs, categories=group)
    found = dt.partition(x.groupby(who).sum() + 1.0, obs)
    total = found.rest.eval() + found.over(0, 2).eval() + found.over(2).eval()
    for label in "abc":
        expected = values[np.array(list("abcab"))[order] == label].sum() + 1
        np.testing.assert_allclose(total.sel(group=label), expected)


def test_the_share_of_a_mapped_expression_has_the_dim_of_the_slice():
    obs = dt.Dim("obs", coords=["u", "v", "w"])
    found = dt.partition(dt.exp(dt.data([1.0, 2.0, 3.0], dims=obs)), obs)
    assert found.operation == "concat"
    assert found.rest is None
    part = found.over(1).eval()
    assert part.coords["obs"].values.tolist() == ["v", "w"]
    np.testing.assert_allclose(part.values, np.exp([2.0, 3.0]))


def test_an_expression_without_the_dim_is_all_rest():
    found = dt.partition(B + 1, OBS)
    assert found.operation is None
    assert found.part is None
    assert found.rest is B + 1
    with pytest.raises(dt.OptionError, match="does not depend on dim 'obs'"):
        found.over(0, 1)


def test_the_gradient_of_the_share_is_the_share_of_the_gradient():
    x = ((X - B) ** 2).sum() - B**2
    found = dt.partition(x, OBS)
    slope = dt.partition(dt.grad(x, B), OBS)
    v = numbers(4)
    for share, expected in [(found.part, slope.part), (found.rest, slope.rest)]:
        np.testing.assert_allclose(evaluated(dt.grad(share, B), v), evaluated(expected, v))
    np.testing.assert_allclose(evaluated(slope.part, v), 2 * (v["b"] - v["x"]).sum())


@pytest.mark.parametrize("name", ["mean", "mean beside a rest", "rest"])
def test_derivatives_of_sums_that_are_captured(name: str):
    """A sum that does not depend on the variable is an input of the derivative."""
    y, s = dt.tensor("y", OBS), dt.scalar("s")
    values, at = np.arange(1.0, 11.0), 2.0
    x, expected = {
        "mean": (-s * y.mean(), -values.mean()),
        "mean beside a rest": (-(y.mean() - s) * s, 2 * at - values.mean()),
        "rest": (s**3 + (y / s).sum(), 3 * at**2 - values.sum() / at**2),
    }[name]
    found = dt.partition(dt.grad(x, s), OBS)
    rest = [] if found.rest is None else free_inputs([found.rest.node])
    assert y.node not in rest, "what is counted once does not need the slices"
    lengths = [] if found.length is None else [found.length]
    given = [len(values)] * len(lengths)
    part = dt.function([y, s, *lengths], found.part, backend="python")
    total = float(part(values[:4], at, *given) + part(values[4:], at, *given))
    if found.rest is not None:
        total += float(dt.function([s, *lengths], found.rest, backend="python")(at, *given))
    assert total == pytest.approx(expected, rel=1e-12)


def test_the_log_density_of_a_model_is_a_sum_over_its_observations():
    mu = dt.rv("mu", dt.dist.Normal(0, 1), dims=GROUP)
    sd = dt.rv("sd", dt.dist.HalfNormal(1))
    y = dt.rv("y", dt.dist.Normal(mu.sel(group=WHO), sd))
    v = numbers(6)
    labels = np.array(list("abc"))[v["who"]]
    fit = dt.Model(y, data={"who": labels}).observe(y=v["x"])
    density = fit.log_density()
    found = dt.partition(density.expression, "obs")
    assert found.operation == "add"
    assert found.rest is not None
    point = {"mu": v["theta"], "sd": 1.3}
    whole = evaluated(density.expression, point)
    parts = [evaluated(found.over(*pair), point) for pair in [(0, 2), (2, 6)]]
    np.testing.assert_allclose(evaluated(found.rest, point) + sum(parts), whole, rtol=1e-12)
    assert not np.isclose(evaluated(found.rest, point), whole)


# -- values computed from data alone ---------------------------------------------------------------

DATA = np.random.default_rng(4).normal(size=(2, 6))
XD, YD = (dt.data(values, dims=OBS) for values in DATA)
A = dt.scalar("a")
CONSTANTS: dict[str, tuple[Any, Any]] = {
    "standardized": (
        ((YD - A - B * (XD - XD.mean()) / XD.std()) ** 2).sum() + A**2,
        lambda x, y, a, b: ((y - a - b * (x - x.mean()) / x.std()) ** 2).sum() + a**2),
    "the same mean as a constant and as a sum": (
        ((YD - A * XD.mean()) ** 2).sum() + 2 * XD.mean() * B,
        lambda x, y, a, b: ((y - a * x.mean()) ** 2).sum() + 2 * x.mean() * b),
    "running sum": (
        ((YD - A * XD.cumsum(OBS)) ** 2).sum(),
        lambda x, y, a, b: ((y - a * np.cumsum(x)) ** 2).sum()),
    "ranks": (
        (A * XD.rank(OBS) * YD).sum(),
        lambda x, y, a, b: (a * (x.argsort().argsort() + 1) * y).sum()),
    "reversed": (
        (A * YD * YD.isel(obs=slice(None, None, -1)).relabel(
            YD.isel(obs=slice(None, None, -1)).dims[0], OBS)).sum(),
        lambda x, y, a, b: (a * y * y[::-1]).sum()),
    "above the mean": (
        (A * XD[XD.mean() < XD]).sum(), lambda x, y, a, b: a * x[x > x.mean()].sum()),
}  # fmt: skip


@pytest.mark.parametrize("name", CONSTANTS)
def test_values_of_data_are_computed_from_the_whole(name: str):
    x, oracle = CONSTANTS[name]
    found = dt.partition(x, OBS)
    point = {"a": 1.3, "b": -0.4, "obs_length": 6}
    result = piecewise(found, [0, 1, 1, 4, 6], point)
    np.testing.assert_allclose(result, oracle(*DATA, 1.3, -0.4), rtol=1e-12)


def test_many_constants_take_time_in_proportion():
    """Each of them is an obstacle of its own, found in one visit."""
    mean = sum(dt.scalar(f"b{at}") * (XD * at - (XD * at).mean()) for at in range(100))
    found = dt.partition(((YD - mean) ** 2).sum(), OBS)
    assert found.operation == "add"
    assert found.rest is None


# -- what cannot be cut ----------------------------------------------------------------------------

CENTERED = (X - X.mean()) ** 2
MIXED: dict[str, tuple[Any, str, str | None]] = {
    "mean-centering": (CENTERED.sum(), "x - mean(x)", "mean(x)"),
    "function of a sum": (dt.log(X.sum()), "log(sum(x))", "sum(x)"),
    "product of sums": (X.sum() * Y.sum(), "sum(x) * sum(y)", "sum(x)"),
    "ratio of sums": (X[KEEP].mean(), "mean(x[obs=keep])", "sum(x[obs=keep])"),
    "nonlinear in groups": (dt.exp(X.groupby(WHO).sum()), "exp(sum(x, by=who))", "sum(x, by=who)"),
    "one position": (X.isel(obs=0), "x[obs=0]", None),
    "slice": (X.isel(obs=slice(1, None)).sum(), "x[obs=1:]", None),
    "pairs": ((X * X.rename(obs="other")).sum(), "x * rename(x, obs=other)", None),
    "sorted": (X.sort(OBS), "sort(x, dim=obs)", None),
    "position of the largest": (X.argmax(OBS), "argmax(x, dim=obs)", None),
    "filtered by the whole": (X[X.mean() < X].sum(), "mean(x) < x", "mean(x)"),
}


@pytest.mark.parametrize("name", MIXED)
def test_the_error_names_the_expression_that_mixes(name: str):
    x, expression, whole = MIXED[name]
    with pytest.raises(dt.PartitionError, match=r"slices of dim 'obs' cannot be computed") as found:
        dt.partition(x, OBS)
    lines = str(found.value).splitlines()
    assert f"  expression: {expression}" in lines
    assert (f"  whole: {whole}" in lines) == (whole is not None)
    assert not found.value.is_scan


def test_the_error_names_the_line():
    """Of an expression that no other test makes: equal ones are one node, with the first line."""
    x = dt.tensor("of_this_test", dims=OBS)
    mixing = x.sort(OBS)
    with pytest.raises(
        dt.PartitionError, match=r"test_partition\.py:\d+ +mixing = x\.sort"
    ) as found:
        dt.partition(mixing.sum(), OBS)
    assert found.value.line.file == __file__


@pytest.mark.parametrize(
    "x",
    [X.cumsum(OBS).sum(), dt.reduce(lambda s, e: s * 0.5 + e, 0.0, X, dim=OBS)],
    ids=["cumsum", "reduce"],
)
def test_the_error_tells_scans(x: Any):
    with pytest.raises(dt.PartitionError, match="from one position to the next") as found:
        dt.partition(x, OBS)
    assert found.value.is_scan


def test_a_dim_is_given_by_name():
    assert dt.partition(X.sum(), "obs").part is X.sum()
    with pytest.raises(dt.UnknownDimError, match="no dim is named 'row'"):
        dt.partition(X.sum(), "row")
    with pytest.raises(dt.ArgumentError, match="takes a dim or its name, not int"):
        dt.partition(X.sum(), 0)
    with pytest.raises(dt.OptionError, match="starts and stops at 0 or above"):
        dt.partition(X.sum(), OBS).over(-1)


# -- epilogues -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outputs", "totals"),
    [
        ([X.groupby(WHO).mean()], ["sum(x, by=who)", "count(x, by=who)"]),
        ([dt.exp(X.sum()) * B, X * B], ["sum(x)", "x * b"]),
        ([X.max() - X.min()], ["min(x)", "max(x)"]),
        ([X.sum() * X.sum(), X - X.mean()], ["sum(x)", "mean(x)"]),
        ([dt.exp(B * B) * X.max() + X.sum()], ["exp(b * b)", "max(x)", "sum(x)"]),
        ([X.var(), X.std()], ["mean(x)"]),
        ([dt.grad(dt.exp((X * B).sum()), B)], ["sum(x * b)"]),
    ],
)
def test_what_follows_combined_values_is_split_off(outputs, totals):
    found = split_epilogue([x.node for x in outputs], [OBS])
    assert {formula(x, 80) for x in found.totals} == {*totals}
    assert not {*found.totals} & {*toposort(found.outputs)}


@pytest.mark.parametrize(
    "output",
    [
        X.sum(), X.cumsum(OBS), dt.exp(X)[0:1] * X.sum(), (X - X.mean()).cumsum(OBS),
        dt.grad((dt.exp(X.sum()) * X.cumsum(OBS)).sum(), X), dt.jacobian(X / X.sum(), B * X),
    ],
)  # fmt: skip
def test_other_expressions_have_no_epilogue(output):
    assert split_epilogue([output.node], [OBS]) is None
