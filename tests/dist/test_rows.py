"""Every row of the distribution table against SciPy: in and outside of the support, gradients."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist
from dimtensor.dist.supports import Support
from dimtensor.dist.table import Missing, Row
from dimtensor.testing.differences import slope
from tests.dist.oracles import ORACLES
from tools import generate_distributions

CASE, POINT = dt.Dim("case"), dt.Dim("point")
PROBABILITIES = np.array([1e-6, 0.01, 0.2, 0.45, 0.8, 0.99, 1 - 1e-6])
by_row = pytest.mark.parametrize("row", dist.TABLE.values(), ids=lambda row: row.name)


def cases_of(row: Row) -> list[dict[str, float]]:
    return [dict(row.example), *map(dict, ORACLES[row.name].cases)]


def inputs_of(row: Row) -> dict[str, dt.DimTensor]:
    """The parameters of a row as inputs, along cases."""
    return {
        param.name: dt.tensor(
            param.name, dims=CASE, dtype="int64" if param.range.whole else "float64"
        )
        for param in row.params
    }


def given_of(row: Row) -> dict[str, np.ndarray]:
    cases = cases_of(row)
    return {
        p.name: np.array([c[p.name] for c in cases], dtype="int64" if p.range.whole else "float64")
        for p in row.params
    }


def frozen_of(row: Row) -> list[Any]:
    return [ORACLES[row.name].frozen(*(case[n] for n in row.names)) for case in cases_of(row)]


def points_of(row: Row) -> np.ndarray:
    """Values inside of the support, and around its ends."""
    found = []
    for frozen in frozen_of(row):
        inside = frozen.ppf(PROBABILITIES)
        low, high = (end if np.isfinite(end) else 0.0 for end in frozen.support())
        around = [low - 1.0, low, high, high + 1.0]
        if row.discrete:
            around += [low - 0.5, inside[3] + 0.5]
        found.append([*inside, *around, -np.inf, np.inf])
    return np.array(found)


def logp_of(row: Row, frozen: Any, x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        found = (frozen.logpmf if row.discrete else frozen.logpdf)(x)
    return np.where(np.isinf(x), -np.inf, found)  # for which SciPy has NaN now and then


def make(row: Row, parameters: dict[str, Any]) -> dist.Distribution:
    return getattr(dist, row.name)(**parameters)


def run(outputs: Any, values: dict[dt.DimTensor, Any], backend: str = "python") -> Any:
    several = outputs if isinstance(outputs, list) else [outputs]
    used = {tensor for output in several for tensor in dt.inputs_of(output)}
    values = {tensor: value for tensor, value in values.items() if tensor in used}
    axes = {CASE: "case", POINT: "point"}
    ordered = [
        ([axes[d] for d in (CASE, POINT) if d in tensor.dims], value)
        for tensor, value in values.items()
    ]
    return dt.function(list(values), outputs, backend=backend)(*ordered)


def tolerance(row: Row, what: str, default: float = 1e-9) -> float:
    return ORACLES[row.name].loose.get(what, default)


@by_row
def test_log_densities_and_probabilities(row: Row):
    inputs = inputs_of(row)
    d = make(row, inputs)
    x = dt.tensor("x", dims=[CASE, POINT])
    points = points_of(row)
    wanted = {"logp": [logp_of(row, f, v) for f, v in zip(frozen_of(row), points, strict=True)]}
    for what in ("logcdf", "logsf"):
        if not isinstance(row.logcdf, Missing):
            with np.errstate(all="ignore"):
                # SciPy does not round down for every discrete distribution
                places = np.floor(points) if row.discrete else points
                pairs = zip(frozen_of(row), places, strict=True)
                wanted[what] = [getattr(f, what)(v) for f, v in pairs]
    values = {x: points, **{inputs[name]: value for name, value in given_of(row).items()}}
    results = run([getattr(d, what)(x) for what in wanted], values)
    for (what, numbers), result in zip(wanted.items(), results, strict=True):
        found = result.transpose("case", "point").values
        rtol = tolerance(row, what)
        # SciPy's logarithms of probabilities underflow
        numbers = np.where(np.isneginf(numbers) & (found < -700), found, numbers)
        np.testing.assert_allclose(found, numbers, rtol=rtol, atol=rtol, err_msg=what)


@by_row
def test_quantiles(row: Row):
    if isinstance(row.icdf, Missing):
        pytest.skip(f"no icdf: {row.icdf}")
    inputs = inputs_of(row)
    q = dt.tensor("probability", dims=POINT)
    wanted = np.array([frozen.ppf(PROBABILITIES) for frozen in frozen_of(row)])
    given = {inputs[name]: value for name, value in given_of(row).items()}
    outside = np.array([-0.1, 1.1, np.nan])
    found = run(make(row, inputs).icdf(q), {q: np.append(PROBABILITIES, outside), **given})
    found = found.transpose("case", "point").values
    np.testing.assert_allclose(
        found[:, :-3], wanted, rtol=tolerance(row, "icdf", 1e-8), atol=tolerance(row, "icdf", 1e-8)
    )
    assert np.isnan(found[:, -3:]).all()


@by_row
def test_moments(row: Row):
    inputs = inputs_of(row)
    d = make(row, inputs)
    given = {inputs[name]: value for name, value in given_of(row).items()}
    for what, oracle in (("mean", "mean"), ("variance", "var")):
        if isinstance(getattr(row, what), Missing):
            with pytest.raises(dt.GraphError, match=f"{row.name} has no {what}"):
                getattr(d, what)()
            continue
        result = getattr(d, what)()
        assert result.dims == (CASE,)
        wanted = [getattr(frozen, oracle)() for frozen in frozen_of(row)]
        np.testing.assert_allclose(
            run(result, given), wanted, rtol=tolerance(row, what), atol=1e-12, err_msg=what
        )


def steps_of(row: Row, case: dict[str, float], point: np.ndarray, name: str) -> Any:
    """Steps that stay inside of the support, and are small beside every scale."""
    small = min([1.0, *(abs(v) for v in case.values() if v and np.isfinite(v))])
    ends = ORACLES[row.name].frozen(*(case[n] for n in row.names)).support()
    inside = np.minimum(point - ends[0], ends[1] - point)
    if name != "x":
        return 1e-4 * (small if row.discrete else min(small, max(inside.min(), 1e-3)))
    return 1e-4 * np.minimum(small, inside)


@by_row
def test_gradients(row: Row):
    """With respect to the value and all parameters, against differences of SciPy's log density."""
    inputs = inputs_of(row)
    names = [param.name for param in row.params if not param.range.whole]
    if row.discrete and not names:
        pytest.skip("it has no derivatives")
    x = dt.tensor("x", dims=[CASE, POINT])
    cases, points = cases_of(row), points_of(row)[:, 1:6]
    total = make(row, inputs).logp(x).sum()
    wanted_of = [*([] if row.discrete else ["x"]), *names]
    over = [x if name == "x" else inputs[name] for name in wanted_of]
    given = {x: points, **{inputs[name]: value for name, value in given_of(row).items()}}
    found = dict(zip(wanted_of, run(dt.grad(total, over), given), strict=True))
    for at, (case, point) in enumerate(zip(cases, points, strict=True)):
        values = [np.asarray(case[name], dtype="float64") for name in names]
        rest = {name: value for name, value in case.items() if name not in names}

        def oracle(x: np.ndarray, *parameters: np.ndarray, rest: Any = rest) -> np.ndarray:
            known = dict(zip(names, parameters, strict=True)) | rest
            frozen = ORACLES[row.name].frozen(*(known[n] for n in row.names))
            return logp_of(row, frozen, x)

        for name in wanted_of:
            position = 0 if name == "x" else 1 + names.index(name)
            operands = [point, *(np.full(point.shape, v) for v in values)]
            step = steps_of(row, case, point, name)
            wanted = slope(oracle, operands, position, step)  # type: ignore[arg-type]
            result = found[name].transpose("case", ...).values[at]
            if name != "x":
                wanted = wanted.sum()
            scale = np.abs(wanted).max() + 1.0
            np.testing.assert_allclose(
                result, wanted, rtol=tolerance(row, "gradient", 1e-5), atol=1e-6 * scale,
                err_msg=f"{name} {case}",
            )  # fmt: skip


@by_row
def test_gradients_are_finite_where_the_density_is(row: Row):
    inputs = inputs_of(row)
    names = [param.name for param in row.params if not param.range.whole]
    x = dt.tensor("x", dims=[CASE, POINT])
    points = points_of(row)
    d = make(row, inputs)
    logp, inside = d.logp(x), d.support.contains(x)
    given = {x: points, **{inputs[name]: value for name, value in given_of(row).items()}}
    slopes = [dt.jvp(logp, [inputs[n]], [dt.ones_like(inputs[n])]) for n in names]
    slopes = [s[1] if isinstance(s, tuple) else s for s in slopes]
    value, inside, *found = run([logp, inside, *slopes], given)
    inside = inside.broadcast_like(value).transpose("case", "point").values
    value = value.transpose("case", "point").values
    for name, one in zip(names, found, strict=True):
        one = one.transpose("case", "point").values
        assert np.isfinite(one[np.isfinite(value)]).all(), name
        if not isinstance(make(row, dict(row.example)).support, type(dt.real)):
            # a mixture with this density in one part has the gradient of the others there
            assert not np.isnan(one[~inside]).any(), name


@by_row
def test_single_precision(row: Row):
    dtypes = {param.name: "int64" if param.range.whole else "float32" for param in row.params}
    d32 = make(row, {name: dt.tensor(name, dims=CASE, dtype=dtypes[name]) for name in dtypes})
    x = dt.tensor("x", dims=[CASE, POINT], dtype="float32")
    for what in ("logp", "logcdf", "logsf", "icdf"):
        if what == "logp" or callable(getattr(row, what if what == "icdf" else "logcdf")):
            assert getattr(d32, what)(x).dtype == "float32", what
    for what in ("mean", "variance"):
        if callable(getattr(row, what)) and "float32" in dtypes.values():
            assert getattr(d32, what)().dtype == "float32", what
    d = make(row, dict(row.example))
    point = dt.tensor("x", dims=POINT, dtype="float32")
    assert d.logp(point).dtype == "float32"
    points = np.float32(frozen_of(row)[0].ppf([0.05, 0.3, 0.6, 0.95]))
    found = run(d.logp(point), {point: points}).values
    assert found.dtype == np.float32
    wanted = logp_of(row, frozen_of(row)[0], points.astype("float64"))
    np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5)


# -- what follows from the row ----------------------------------------------------------------


@by_row
def test_no_cell_is_empty(row: Row):
    assert row.doc.endswith(".")
    assert row.density
    assert row.window[0] < row.window[1]
    assert row.source
    assert row.ends[0] in "[("
    assert row.ends[1] in "])"
    assert set(row.example) == set(row.names)
    assert set(row.increasing) <= set(row.names)
    for cell in (row.logp, row.logcdf, row.icdf, row.mean, row.variance, row.draw):
        if cell == "icdf":
            continue
        assert callable(cell) or (isinstance(cell, Missing) and cell.why)
    assert callable(row.logp)
    assert row.logsf is None or callable(row.logsf) or isinstance(row.logsf, Missing)
    assert row.draw != "icdf" or callable(row.icdf)
    for param in row.arguments.values():
        assert param.doc
        assert param.range.spoken
        assert param.name not in row.example or param.range.has(row.example[param.name])
    d = make(row, dict(row.example))
    assert isinstance(d.support, Support)
    assert d.support.discrete == d.discrete == row.discrete


def test_every_row_has_an_oracle():
    assert set(ORACLES) == set(dist.TABLE)


@by_row
def test_every_row_is_a_constructor_with_its_parameters(row: Row):
    function = getattr(dist, row.name)
    further = {"support"} if row.name == "Flat" else set()  # other supports are no rows
    assert set(inspect.signature(function).parameters) == set(row.arguments) | further
    if row.name != "Flat":  # has a docstring of its own, for all supports
        assert row.doc in function.__doc__


def test_the_generated_module_is_what_the_generator_writes():
    assert Path(generate_distributions.TARGET).read_text() == generate_distributions.render()


# -- draws ------------------------------------------------------------------------------------


class NumPyDraws:
    """A generator as recipes ask for one: NumPy's, on the values that parameters have."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng

    def __getattr__(self, method: str) -> Any:
        def draw(*parameters: Any, dims: Any, over: Any = None) -> Any:
            dims = list(dims)
            order = [dim.name for dim in dims]
            values = []
            for p in parameters:
                value = p.eval() if isinstance(p, dt.DimTensor) else p
                if isinstance(p, dt.DimTensor) and p.dims:
                    value = value.broadcast_like(dt.zeros(dims).eval()).transpose(*order).values
                values.append(np.asarray(value))
            return dt.data(
                getattr(self.rng, method)(*values, size=[len(d) for d in dims]), dims
            ), self

        return draw


with_draws = pytest.mark.parametrize(
    "row",
    [row for row in dist.TABLE.values() if not isinstance(row.draw, Missing)],
    ids=lambda row: row.name,
)


@with_draws
def test_draws_have_the_distribution(row: Row, rng: np.random.Generator):
    import scipy.stats

    n = 4000
    value, _ = make(row, dict(row.example)).draw(NumPyDraws(rng), dims=dt.Dim("n", length=n))
    draws = value.eval().values
    frozen = frozen_of(row)[0]
    if row.discrete:
        assert draws.dtype.kind == "i"
        values = np.arange(frozen.ppf(0.001), frozen.ppf(0.999) + 1)
        expected = frozen.pmf(values) * n
        keep = expected > 5
        found = np.array([(draws == v).sum() for v in values])
        rest = [n - found[keep].sum()], [max(n - expected[keep].sum(), 1e-9)]
        pairs = [np.append(found[keep], rest[0]), np.append(expected[keep], rest[1])]
        if pairs[1][-1] < 5:
            pairs = [p[:-1] for p in pairs]
            pairs[1] = pairs[1] * pairs[0].sum() / pairs[1].sum()
        if len(pairs[0]) > 1:
            assert scipy.stats.chisquare(*pairs).pvalue > 1e-4
    else:
        assert scipy.stats.kstest(draws, frozen.cdf).pvalue > 1e-4


@with_draws
def test_draws_lie_in_the_support(row: Row, rng: np.random.Generator):
    d = make(row, dict(row.example))
    n = dt.Dim("n", length=50)
    value, _ = d.draw(NumPyDraws(rng), dims=n)
    assert d.support.contains(value).all().eval()


def test_all_rows_draw_from_generators(rng: np.random.Generator):
    """With dt.random itself: one generator goes through all of them."""
    import scipy.stats

    n = dt.Dim("n", length=1000)
    generator = dt.random.generator(int(rng.integers(2**31)))
    for row in dist.TABLE.values():
        if isinstance(row.draw, Missing):
            continue
        value, generator = make(row, dict(row.example)).draw(generator, dims=n)
        draws = np.asarray(value.eval())
        frozen = frozen_of(row)[0]
        assert draws.dtype == ("int64" if row.discrete else "float64")
        if row.discrete:
            values, counts = np.unique(draws, return_counts=True)
            share = np.abs(counts / 1000 - frozen.pmf(values)).max()
            assert share < 0.08, row.name
        else:
            assert scipy.stats.kstest(draws, frozen.cdf).pvalue > 1e-5, row.name
