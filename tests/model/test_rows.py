"""Sums over data are taken over their distinct rows, and are what NumPy says of all rows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import special, stats

import dimtensor as dt
from dimtensor import dist
from dimtensor.model.rows.distinct import Column, Distinct, distinct_rows, rounded_up, rows_of
from tests.effort import a_third

OBS, GROUP, TERM = dt.Dim("obs"), dt.Dim("group", length=4), dt.Dim("term", length=2)
N = 200


def bits(x):
    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")


# -- distinct rows -----------------------------------------------------------------------------


FLOATS = st.sampled_from([0.0, -0.0, 1.0, np.nan, -np.nan, np.inf])


@given(
    hnp.arrays("float64", (30,), elements=FLOATS),
    hnp.arrays("int32", (30, 2), elements=st.integers(0, 1)),
    hnp.arrays("bool", (30,)),
)
def test_distinct_rows(x, y, z):
    columns = [Column(x, (OBS,)), Column(y, (OBS, TERM)), Column(z, (OBS,))]
    found = distinct_rows(columns, (OBS,), [30])
    table = np.column_stack([bits(x), y.astype("u8"), z.astype("u8")])
    _, first, counts = np.unique(table, axis=0, return_index=True, return_counts=True)
    order = np.argsort(first)
    np.testing.assert_array_equal(found.first, first[order])
    np.testing.assert_array_equal(found.counts, counts[order])


def test_rows_over_two_dims(rng):
    dog, trial = dt.Dim("dog"), dt.Dim("trial")
    x, y = rng.integers(3, size=5), rng.integers(2, size=(4, 5))
    columns = [Column(x, (dog,)), Column(y, (trial, dog))]
    found = distinct_rows(columns, (dog, trial), [5, 4])
    table = np.column_stack([np.repeat(x, 4), y.T.ravel()])
    np.testing.assert_array_equal(
        np.sort(found.first), np.sort(np.unique(table, axis=0, return_index=True)[1])
    )
    np.testing.assert_array_equal(rows_of(columns[1], (dog, trial), [5, 4]), table[:, 1])


def test_a_sample_tells_that_rows_differ(rng):
    x = rng.normal(size=20_000)
    assert distinct_rows([Column(x, (OBS,))], (OBS,), [20_000]) is None
    rounded = (10 * x).astype(int)
    found = distinct_rows([Column(rounded, (OBS,))], (OBS,), [20_000])
    assert len(found.first) == len(np.unique(rounded))
    # three quarters of the rows are distinct: the sample is large enough to see it
    some = np.concatenate([x[:10_000], np.repeat(x[10_000:15_000], 2)])
    found = distinct_rows([Column(some, (OBS,))], (OBS,), [20_000])
    assert len(found.first) == 15_000


@given(st.lists(st.integers(1, 50), min_size=1, max_size=200))
def test_few_lengths(counts):
    counts = np.array(counts)
    given = Distinct(counts.sum(), np.arange(len(counts)) * 3, counts)
    found = rounded_up(given)
    assert found.counts.min() >= 1
    np.testing.assert_array_equal(np.unique(found.first), given.first)
    totals = [found.counts[found.first == at].sum() for at in given.first]
    np.testing.assert_array_equal(totals, counts)
    assert len(found.first) <= max(len(counts) * 1.25, 1)


# -- log densities -----------------------------------------------------------------------------


def sampled(rng, n=N, groups=4):
    return {
        "g": rng.integers(groups, size=n),
        "x": rng.integers(3, size=n) / 2,
        "y": rng.integers(2, size=n),
    }


def logistic(values, backend="python"):
    """Of log odds a[g] + b x, with normal priors, and its NumPy counterpart."""
    g = dt.data(values["g"], dims=OBS, categories=GROUP, name="g")
    x = dt.data(values["x"], dims=OBS, name="x")
    y = dt.data(values["y"], dims=OBS, name="y")
    a, b = dt.tensor("a", dims=GROUP), dt.scalar("b")
    eta = a.sel(group=g) + b * x
    logp = {"y": y * eta - dt.softplus(eta), "a": -(a**2) / 2, "b": -(b**2)}
    return dt.LogDensity(logp, {a: dt.real, b: dt.real}, backend=backend)


def logistic_by_numpy(values, point):
    a, b = point[:4], point[4]
    eta = a[values["g"]] + b * values["x"]
    rest = values["y"] - special.expit(eta)
    value = (values["y"] * eta - np.logaddexp(0, eta)).sum() - (a**2).sum() / 2 - b**2
    by_group = np.bincount(values["g"], rest, minlength=4)
    return value, np.array([*(by_group - a), (rest * values["x"]).sum() - 2 * b])


@pytest.mark.parametrize(
    "backend", ["python", "numba", pytest.param("jax", marks=pytest.mark.slow)]
)
def test_value_and_gradient(rng, backend):
    values = sampled(rng)
    density = logistic(values, backend)
    assert density.functions.rows.text == "24 distinct of 200 along obs"
    for point in rng.normal(size=(3, 5)):
        value, gradient = density.logp_and_grad(point)
        wanted, slope = logistic_by_numpy(values, point)
        np.testing.assert_allclose(value, wanted, rtol=1e-13)
        np.testing.assert_allclose(gradient, slope, rtol=1e-11)
        np.testing.assert_allclose(density.logp(point), wanted, rtol=1e-13)


def test_other_data_need_no_other_code(rng):
    density = logistic(sampled(rng))
    code = density.functions.get("logp_and_grad")._code
    point = rng.normal(size=5)
    continuous = sampled(rng, 70) | {"x": rng.normal(size=70)}
    for values in (sampled(rng, 300), continuous, {k: x[:0] for k, x in sampled(rng).items()}):
        other = density.with_data(values)
        value, gradient = other.logp_and_grad(point)
        wanted, slope = logistic_by_numpy(values, point)
        np.testing.assert_allclose(value, wanted, rtol=1e-13)
        np.testing.assert_allclose(gradient, slope, rtol=1e-11)
        assert other.functions.get("logp_and_grad")._code is code
    assert "70 distinct of 70 along obs" in repr(density.with_data(continuous))
    again = pickle.loads(pickle.dumps(density.with_data(continuous)))
    np.testing.assert_allclose(again.logp(point), logistic_by_numpy(continuous, point)[0])


@pytest.mark.slow
def test_rows_on_jax_have_few_lengths(rng):
    density = logistic(sampled(rng), "jax")
    (length,) = density.functions.rows.lengths.values()
    more = sampled(rng) | {"x": rng.integers(4, size=N) / 2}
    for values in (sampled(rng), more):
        other = density.with_data(values)
        point = rng.normal(size=5)
        np.testing.assert_allclose(other.logp(point), logistic_by_numpy(values, point)[0])
    assert 24 <= length <= 27


def test_what_is_said_of_it(rng):
    density = logistic(sampled(rng))
    assert repr(density).splitlines()[-1] == "  rows: 24 distinct of 200 along obs"
    assert "24 distinct of 200 along obs" in density._repr_html_()
    assert "rows of obs=24" in str(dt.explain(density))


def test_few_or_different_rows_stay_as_they_are(rng):
    few = {key: x[:63] for key, x in sampled(rng).items()}
    different = sampled(rng) | {"x": rng.normal(size=N)}
    for values in (few, different):
        density = logistic(values)
        assert density.functions.rows is None
        assert "rows" not in repr(density)
        assert "Rows" not in density._repr_html_()
        assert density.functions.computed is density.functions.assembly


def test_parameters_along_the_dim_and_checks_prevent_it(rng):
    obs = dt.Dim("obs", length=N)
    y = dt.data(rng.integers(2, size=N), dims=obs, name="y")
    a, b = dt.tensor("a", dims=obs), dt.scalar("b")
    density = dt.LogDensity({"y": -((y - a) ** 2)}, {a: dt.real}, backend="python")
    assert density.functions.rows is None
    checked = dt.check(b * y < 9.0, "too large", b * y)
    density = dt.LogDensity({"y": -checked}, {b: dt.real}, backend="python")
    assert density.functions.rows is None
    with pytest.raises(dt.CheckError, match="too large"):
        density.logp(np.array([10.0]))


@pytest.mark.parametrize("f", [lambda b, x: b / x, lambda b, x: -abs(b * x)])
def test_what_is_not_finite(f):
    x = np.repeat([0.0, -0.0, np.nan, np.inf, 2.0], 40)
    data, b = dt.data(x, dims=OBS, name="x"), dt.scalar("b")
    density = dt.LogDensity({"x": f(b, data)}, {b: dt.real}, backend="python")
    assert density.functions.rows.text == "5 distinct of 200 along obs"
    for some in ([*x[::40]], [0.0, 2.0], [np.inf, 2.0], [-0.0, 2.0], [0.0, -0.0]):
        values = np.repeat(some, 40)
        with np.errstate(all="ignore"):
            wanted = f(np.float64(3.0), values).sum()
        np.testing.assert_equal(density.with_data(x=values).logp(np.array([3.0])), wanted)


def test_digits_do_not_cancel(rng):
    """The sum of y - m, over rows as over all, is not that of y less that of m."""
    y = 1e9 + rng.integers(8, size=N) / 8
    data, m = dt.data(y, dims=OBS, name="y"), dt.scalar("m")
    density = dt.LogDensity({"y": data - m}, {m: dt.real}, backend="python")
    assert density.functions.rows.text == "8 distinct of 200 along obs"
    point = np.array([y.mean() - 2.0**-20])
    exact = sum(float(v) - point[0] for v in y)
    np.testing.assert_allclose(density.logp(point), exact, rtol=1e-12)


def test_dtypes(rng):
    values = rng.integers(5, size=N)
    count, b = dt.data(values.astype("int32"), dims=OBS, name="count"), dt.scalar("b")
    single = dt.data((values / 2).astype("float32"), dims=OBS, name="single")
    c = dt.tensor("c", dtype="float32")
    above = (b > count).sum()  # of bools, integers
    density = dt.LogDensity(
        {"b": -abs(b) * above, "c": -dt.exp(c * single)}, {b: dt.real, c: dt.real}, backend="python"
    )
    assert density.functions.rows.text.count("5 distinct of 200") == 2
    point = np.array([2.5, 0.25])
    exact = -2.5 * (values < 2.5).sum() - np.exp(0.25 * values / 2).sum()
    np.testing.assert_allclose(density.logp(point), exact, rtol=1e-6)


def test_products_summed_and_dims_beside(rng):
    """Columns with more dims, sums over several of them, and matrix products over rows."""
    x, w = rng.integers(2, size=(N, 2)).astype(float), rng.integers(1, 3, size=N)
    design = dt.data(x, dims=[OBS, TERM], name="x")
    weight = dt.data(w, dims=OBS, name="w")
    beta, a = dt.tensor("beta", dims=TERM), dt.tensor("a", dims=GROUP)
    eta = dt.dot(beta, design, dim=TERM)
    first = dt.dot(weight, dt.log1p(eta**2), dim=OBS)
    second = (a * design - 2.0 * a).sum()  # over rows, terms and groups
    third = dt.exp(-eta).sum(OBS) * 2
    density = dt.LogDensity(-first + second - third, {beta: dt.real, a: dt.real}, backend="python")
    assert density.functions.rows is not None
    for point in rng.normal(size=(3, 6)):
        b, effect = point[:2], point[2:]
        each = x @ b
        wanted = -(w * np.log1p(each**2)).sum() - 2 * np.exp(-each).sum()
        wanted += (effect * x[..., None] - 2 * effect).sum()
        np.testing.assert_allclose(density.logp(point), wanted, rtol=1e-12)


def test_columns_that_are_computed(rng):
    """What puts positions of data together is a column; what does not is computed of rows."""
    obs, y = dt.Dim("obs"), rng.integers(2, size=N)
    data, b = dt.data(y, dims=obs, name="y"), dt.scalar("b")
    before = data.shift(obs=1, fill_value=0)
    rank = (dt.arange(obs) % 3) * (data - data.mean())
    logp = {"y": data * b * before - dt.softplus(b * before + rank)}
    density = dt.LogDensity(logp, {b: dt.real}, backend="python")

    def wanted(y, b):
        earlier, rank = np.append(0, y[:-1]), (np.arange(len(y)) % 3) * (y - y.mean())
        return (y * b * earlier - np.logaddexp(0, b * earlier + rank)).sum()

    np.testing.assert_allclose(density.logp(np.array([0.7])), wanted(y, 0.7), rtol=1e-13)
    y = rng.integers(2, size=130)
    other = density.with_data(y=y)
    np.testing.assert_allclose(other.logp(np.array([0.7])), wanted(y, 0.7), rtol=1e-13)


def test_two_data_that_are_equal_at_first(rng):
    obs, same = dt.Dim("obs"), rng.integers(3, size=N)
    x, z = (dt.data(same, dims=obs, name=name) for name in "xz")
    b = dt.scalar("b")
    density = dt.LogDensity({"x": dt.sin(b * x) * dt.cos(b + z)}, {b: dt.real}, backend="python")
    assert density.functions.rows.text == "3 distinct of 200 along obs"
    new = rng.integers(3, size=N)
    found = density.with_data(z=new).logp(np.array([0.3]))
    np.testing.assert_allclose(found, (np.sin(0.3 * same) * np.cos(0.3 + new)).sum(), rtol=1e-13)


def test_a_length_that_only_rows_told(rng):
    """The dim of a parameter, and the length of a dim, are known without the data of the rows."""
    obs = dt.Dim("obs")
    y = dt.data(rng.integers(2, size=70), dims=obs, name="y")
    b, free = dt.scalar("b"), dt.tensor("free", dims=obs)
    supports = {b: dt.real, free: dt.real}
    density = dt.LogDensity({"y": -((y - b) ** 2), "free": -(free**2)}, supports, backend="python")
    assert density.functions.rows is not None
    point = rng.normal(size=71)
    wanted = -((y.eval().values - point[0]) ** 2).sum() - (point[1:] ** 2).sum()
    np.testing.assert_allclose(density.logp(point), wanted, rtol=1e-13)
    total = -((y - b) ** 2).sum() / dt.length(obs)
    density = dt.LogDensity(total, {b: dt.real}, backend="python")
    wanted = -((y.eval().values - 0.5) ** 2).mean()
    np.testing.assert_allclose(density.logp(np.array([0.5])), wanted, rtol=1e-13)


# -- programs ----------------------------------------------------------------------------------

UNARY = {
    "exp": (dt.exp, np.exp), "tanh": (dt.tanh, np.tanh), "square": (lambda x: x**2, np.square),
    "negative": (lambda x: -x, np.negative),
    "softplus": (dt.softplus, lambda x: np.logaddexp(0, x)),
}  # fmt: skip
BINARY = {
    "add": (lambda x, y: x + y,) * 2,
    "subtract": (lambda x, y: x - y,) * 2,
    "multiply": (lambda x, y: x * y,) * 2,
    "divide": (lambda x, y: x / (2 + y**2),) * 2,
    "where": (lambda x, y: dt.where(x > y, x, 0.0), lambda x, y: np.where(x > y, x, 0.0)),
}
PROGRAMS = st.lists(
    st.tuples(st.sampled_from([*UNARY, *BINARY]), st.integers(0, 30), st.integers(0, 30)),
    min_size=2, max_size=8,
)  # fmt: skip


@a_third
@given(PROGRAMS, st.integers(0, 2**32 - 1))
def test_programs(program, seed):
    """Sums of what is computed of data with few distinct rows and of parameters."""
    rng = np.random.default_rng(seed)
    g, x, y = rng.integers(3, size=80), rng.integers(-1, 2, size=80) / 2, rng.integers(3, size=80)
    a, b = rng.normal(size=4), rng.normal()
    where = dt.data(g, dims=OBS, categories=GROUP, name="g")
    effect, slope = dt.tensor("a", dims=GROUP), dt.scalar("b")
    stack = [
        (effect.sel(group=where), a[g]),
        (slope + 0.0, np.float64(b)),
        (dt.data(x, dims=OBS, name="x") * 1.0, x),
        (dt.data(y, dims=OBS, name="y") * 1.0, y * 1.0),
    ]
    for name, one, other in program:
        left, right = stack[one % len(stack)], stack[other % len(stack)]
        if name in UNARY:
            ours, theirs = UNARY[name]
            made = dt.tanh(ours(left[0])), np.tanh(theirs(left[1]))
        else:
            ours, theirs = BINARY[name]
            made = ours(left[0], right[0]), theirs(left[1], right[1])
        stack.append(made)
    term, wanted = stack[-1]
    wanted = np.broadcast_to(wanted, (80,) if term.dims else ())
    density = dt.LogDensity(
        {"y": term, "a": -(effect**2), "b": -(slope**2)},
        {effect: dt.real, slope: dt.real},
        backend="python",
    )
    found = density.logp(np.array([*a, b]))
    scale = abs(wanted).sum() + (a**2).sum() + b**2
    assert abs(found - (wanted.sum() - (a**2).sum() - b**2)) <= 1e-12 * scale


# -- models ------------------------------------------------------------------------------------


def normal_model(y, g):
    group_of = dt.data(g, dims=OBS, categories=GROUP, name="g")
    mu = dt.rv("mu", dist.Normal(0.0, 2.0), dims=GROUP)
    sigma = dt.rv("sigma", dist.HalfNormal(1.0))
    mean = dt.named("mean", mu.sel(group=group_of))
    return dt.Model(dt.rv("y", dist.Normal(mean, sigma)), backend="python").observe(y=y)


def test_other_functions_of_a_model_keep_the_rows(rng):
    y, g = rng.integers(4, size=N) / 2, rng.integers(4, size=N)
    fit = normal_model(y, g)
    density = fit.log_density()
    assert density.functions.rows.text == "16 distinct of 200 along obs"
    mu, sigma = np.array([0.1, 0.2, -0.3, 0.4]), 0.8
    point = density.unconstrain({"mu": mu, "sigma": sigma})
    each = stats.norm.logpdf(y, mu[g], sigma)
    prior = stats.norm.logpdf(mu, 0, 2).sum() + stats.halfnorm.logpdf(sigma)
    np.testing.assert_allclose(density.logp(point), each.sum() + prior + np.log(sigma), rtol=1e-13)
    terms = fit.logp({"mu": mu, "sigma": sigma})
    np.testing.assert_allclose(terms["y"].values, each, rtol=1e-12)
    np.testing.assert_allclose(density.constrain(point)["mean"].values, mu[g], rtol=1e-13)
    post = fit.laplace(3, seed=1)
    assert dict(fit.log_likelihood(post)["log_likelihood"]["y"].sizes)["obs"] == N
    assert dict(fit.predict(post, {"g": [0, 1]}, seed=1)["predictions"]["y"].sizes)["obs"] == 2


def test_missing_observations(rng):
    y, g = rng.integers(4, size=N) / 2, rng.integers(4, size=N)
    y[rng.integers(N, size=20)] = np.nan
    group_of = dt.data(g, dims=OBS, categories=GROUP, name="g")
    mu = dt.rv("mu", dist.Normal(0.0, 2.0), dims=GROUP)
    model = dt.Model(dt.rv("y", dist.Normal(mu.sel(group=group_of), 1.0)), backend="python")
    density = model.observe({"y": y}, missing="drop").log_density()
    assert density.functions.rows.text == "20 distinct of 200 along obs"
    point = rng.normal(size=4)
    wanted = stats.norm.logpdf(y, point[g], 1.0)
    prior = stats.norm.logpdf(point, 0, 2).sum()
    np.testing.assert_allclose(density.logp(point), np.nansum(wanted) + prior, rtol=1e-13)


def test_states_are_summed_out_for_each_distinct_row(rng):
    """Latent Dirichlet allocation: one log-sum-exp for each word of each document."""
    token, topic = dt.Dim("token"), dt.Dim("topic", length=3)
    document, word = dt.Dim("document", length=4), dt.Dim("word", length=5)
    docs, words = rng.integers(4, size=300), rng.integers(5, size=300)
    document_of = dt.data(docs, dims=token, categories=document, name="document_of")
    theta = dt.rv("theta", dist.Dirichlet(dt.ones(topic), dim=topic), dims=document)
    phi = dt.rv("phi", dist.Dirichlet(dt.ones(word), dim=word), dims=topic)
    z = dt.rv("z", dist.Categorical(theta.sel(document=document_of), dim=topic))
    w = dt.rv("w", dist.Categorical(phi.sel(topic=z), dim=word))
    density = dt.Model(w, backend="python").observe({w: words}).marginalize(z).log_density()
    assert density.functions.rows.text == "20 distinct of 300 along token"
    t, p = rng.dirichlet(np.ones(3), size=4), rng.dirichlet(np.ones(5), size=3)
    values = {"theta": (("document", "topic"), t), "phi": (("topic", "word"), p)}
    point = density.unconstrain(values)
    prior = sum(stats.dirichlet.logpdf(one, np.ones(len(one))) for one in (*t, *p))
    chance = np.log(np.einsum("nk,kn->n", t[docs], p[:, words])).sum()
    jacobian = density.logp(point) - dt.LogDensity(
        density.terms, {x.tensor: x.support for x in density.parameters}, "python", jacobian=False
    ).logp(point)
    np.testing.assert_allclose(density.logp(point) - jacobian, chance + prior, rtol=1e-12)
