"""Generators of named draws: streams, dims, loops, and what is refused. NumPy is the oracle."""

import numpy as np
import pytest
import scipy.stats as st
import xarray as xr

import dimtensor as dt
from tests.backend_names import BACKENDS, LONG_JAX
from tools import generate_draws

OBS = dt.Dim("obs", length=5)
GROUP = dt.Dim("group", coords=["a", "b", "c"])
INTERPRETED_AND_NATIVE = pytest.mark.parametrize(
    "backend", ["python", pytest.param("numba", marks=pytest.mark.compiled)]
)
ALL_BACKENDS = pytest.mark.parametrize("backend", BACKENDS)


def numpy_rng(seed=1):
    return np.random.default_rng(seed)


@INTERPRETED_AND_NATIVE
def test_draws_follow_each_other_as_those_of_numpy_do(backend):
    mean = dt.tensor("mean", dims=GROUP)
    rng = dt.random.generator(1)
    x, rng = rng.normal(mean, 2.0, dims=OBS)
    n, rng = rng.poisson(dt.exp(mean))
    s, rng = rng.standard_t(4.0)
    found = dt.function([mean], [x, n, s], backend=backend)(np.array([0.5, 1.0, 2.0]))
    oracle, m = numpy_rng(), np.array([0.5, 1.0, 2.0])
    np.testing.assert_array_equal(
        found[0].transpose("obs", "group"), oracle.normal(m, 2.0, size=(5, 3))
    )
    np.testing.assert_array_equal(found[1], oracle.poisson(np.exp(m)))
    assert float(found[2]) == oracle.standard_t(4.0)
    assert list(found[1].coords["group"].values) == ["a", "b", "c"]


def test_every_distribution_of_numpy_is_there():
    known = {name for name in dir(np.random.Generator) if not name.startswith("_")}
    # what arrays are shuffled in place or along an axis by, and what is no draw
    others = {"bit_generator", "bytes", "permuted", "shuffle", "spawn"}
    assert known - others <= set(dir(dt.random.Generator))


def test_the_generated_module_is_what_the_generator_writes():
    assert generate_draws.TARGET.read_text() == generate_draws.render()


def test_standard_distributions_are_those_of_numpy():
    rng, oracle = dt.random.generator(1), numpy_rng()
    for name, parameters in [
        ("random", ()), ("standard_normal", ()), ("standard_exponential", ()),
        ("standard_gamma", (2.5,)),
    ]:  # fmt: skip
        x, rng = getattr(rng, name)(*parameters, dims=OBS)
        expected = getattr(oracle, name)(*parameters, size=5)
        np.testing.assert_array_equal(x.eval(), expected, err_msg=name)


@INTERPRETED_AND_NATIVE
def test_dims_are_drawn_in_the_order_asked_for(backend):
    x, _ = dt.random.generator(3).uniform(dims=[GROUP, OBS])
    y, _ = dt.random.generator(3).uniform(dims=[OBS, GROUP])
    one, two = dt.function([], [x, y], backend=backend)()
    np.testing.assert_array_equal(one.transpose("group", "obs"), numpy_rng(3).random((3, 5)))
    np.testing.assert_array_equal(two.transpose("obs", "group"), numpy_rng(3).random((5, 3)))


@INTERPRETED_AND_NATIVE
def test_late_lengths_of_zero_and_more(backend):
    late = dt.Dim("late")
    scale = dt.tensor("scale", dims=late)
    f = dt.function([scale], dt.random.generator(1).exponential(scale)[0], backend=backend)
    for n in (0, 1, 7):
        given = np.arange(1.0, n + 1)
        np.testing.assert_array_equal(f(given), numpy_rng().exponential(given))


@INTERPRETED_AND_NATIVE
def test_a_generator_is_a_state_of_a_loop(backend):
    t = dt.Dim("t", length=6)

    def step(state, x):
        level, rng = state
        noise, rng = rng.normal(0.0, 1.0)
        return (0.5 * level + noise * x, rng), level

    start = (dt.scalar("level"), dt.random.generator(4))
    xs = dt.tensor("xs", dims=t)
    (last, rng), path = dt.scan(step, start, xs, dim=t)
    after, _ = rng.uniform()
    found = dt.function([start[0], xs], [path, last, after], backend=backend)(2.0, np.arange(6.0))
    oracle, level, expected = numpy_rng(4), 2.0, []
    for x in range(6):
        expected.append(level)
        level = 0.5 * level + oracle.normal() * x
    np.testing.assert_allclose(found[0], expected, rtol=1e-14)
    assert float(found[1]) == pytest.approx(level, rel=1e-14)
    assert float(found[2]) == oracle.random()


@ALL_BACKENDS
def test_only_the_branch_that_is_taken_draws(backend):
    c = dt.scalar("c")
    x, rng = dt.if_else(
        c > 0, lambda rng: rng.normal(), lambda rng: (0.0, rng), dt.random.generator(1)
    )
    y, _ = rng.uniform()
    f = dt.function([c], [x, y], backend=backend)
    drawn, after = (float(v) for v in f(1.0))
    kept, first = (float(v) for v in f(-1.0))
    assert kept == 0.0
    assert drawn != 0.0
    assert after != first
    if backend != "jax":
        oracle = numpy_rng()
        assert (drawn, after) == (oracle.normal(), oracle.random())
        assert first == numpy_rng().random()


@ALL_BACKENDS
def test_more_dims_of_a_call_are_drawn_independently(backend):
    mean = dt.tensor("mean", dims=GROUP)
    x, rng = dt.random.generator(1).normal(mean, 1.0)
    y, _ = rng.normal(x, 1.0)
    f = dt.function([mean], [x, y], backend=backend)
    draw = np.zeros((4000, 3))
    found = f(xr.DataArray(draw, dims=["draw", "group"], coords={"group": ["a", "b", "c"]}))
    for values, scale in zip(found, (1.0, 2.0**0.5), strict=True):
        assert set(values.dims) == {"draw", "group"}
        flat = values.values.ravel()
        assert len(np.unique(flat)) == flat.size
        assert st.kstest(flat / scale, st.norm.cdf).pvalue > 1e-4


@ALL_BACKENDS
def test_generators_along_a_dim_are_independent(backend):
    chain = dt.Dim("chain", length=4)
    rng = dt.random.generator(2).split(chain)
    assert rng.dims == (chain,)
    x, rng = rng.normal(0.0, 1.0, dims=dt.Dim("n", length=3000))
    y, rng = rng.normal(0.0, 1.0)
    assert rng.dims == (chain,)
    found, after = dt.function([], [x, y], backend=backend)()
    table = found.transpose("chain", "n").values
    assert np.abs(np.corrcoef(table) - np.eye(4)).max() < 0.1
    assert after.sizes == {"chain": 4}
    assert st.kstest(table.ravel(), st.norm.cdf).pvalue > 1e-4


@ALL_BACKENDS
def test_a_seed_is_an_argument(backend):
    seed = dt.scalar("seed", dtype="int64")
    f = dt.function([seed], dt.random.generator(seed).normal(dims=OBS)[0], backend=backend)
    first, second, again = f(1), f(2), f(1)
    np.testing.assert_array_equal(first, again)
    assert (first != second).all()
    if backend != "jax":
        np.testing.assert_array_equal(second, numpy_rng(2).normal(size=5))


@INTERPRETED_AND_NATIVE
def test_a_function_keeps_a_generator(backend):
    words = dt.tensor("words", dims=dt.random.WORD, dtype="uint64")
    x, rng = dt.random.generator(words).normal(dims=OBS)
    f = dt.function([], x, backend, updates={words: rng.words})
    oracle = numpy_rng()
    state = {"words": dt.random.generator(1).words.values}
    for _ in range(3):
        state, values = f.step(state)
        np.testing.assert_array_equal(values, oracle.normal(size=5))


@ALL_BACKENDS
def test_choices_are_labels(backend):
    rng = dt.random.generator(1)
    many = dt.Dim("many", length=3000)
    p = dt.data([0.0, 1.0, 3.0], dims=GROUP)
    even, rng = rng.choice(GROUP, dims=many)
    odd, rng = rng.choice(GROUP, dims=many, p=p)
    order, rng = rng.permutation(GROUP)
    found = dt.function([], [even, odd, order], backend=backend)()
    for values, share in zip(found, ([1, 1, 1], [0, 1, 3]), strict=False):
        counts = [(values.values == label).sum() for label in "abc"]
        expected = np.array(share) / sum(share) * 3000
        kept = expected > 0
        assert st.chisquare(np.array(counts)[kept], expected[kept]).pvalue > 1e-4
        assert sum(counts) == 3000
    assert sorted(found[2].values) == ["a", "b", "c"]


@pytest.mark.parametrize("backend", LONG_JAX)
def test_vectors_of_draws(backend):
    rng = dt.random.generator(1)
    many = dt.Dim("many", length=4000)
    p = dt.data([0.2, 0.5, 0.3], dims=GROUP)
    counts, rng = rng.multinomial(9, p, dim=GROUP, dims=many)
    urn = dt.data([4, 0, 7], dims=GROUP)
    sample, rng = rng.multivariate_hypergeometric(urn, 6, dim="group", dims=many)
    alpha = dt.data([0.01, 0.02, 0.03], dims=GROUP)
    shares, rng = rng.dirichlet(alpha, dim=GROUP, dims=many)
    other = GROUP.rename()
    root = np.array([[1.0, 0, 0], [0.5, 2, 0], [-0.3, 0.1, 0.5]])
    cov = dt.data(root @ root.T, dims=[GROUP, other])
    mean = dt.data([1.0, 2.0, 3.0], dims=GROUP)
    vector, rng = rng.multivariate_normal(mean, cov, dims=many)
    found = dt.function([], [counts, sample, shares, vector], backend=backend)()
    counts, sample, shares, vector = (x.transpose("many", "group").values for x in found)
    assert (counts.sum(1) == 9).all()
    assert (sample.sum(1) == 6).all()
    assert (sample <= [4, 0, 7]).all()
    np.testing.assert_allclose(shares.sum(1), 1.0, rtol=1e-12)
    means = [9 * np.array([0.2, 0.5, 0.3]), 6 * np.array([4, 0, 7]) / 11, np.array([1, 2, 3]) / 6]
    for values, expected in zip((counts, sample, shares), means, strict=True):
        error = values.std(0) / np.sqrt(4000)
        assert (np.abs(values.mean(0) - expected) <= 4.5 * error).all()
    assert np.abs(np.cov(vector.T) - root @ root.T).max() < 0.35
    assert np.abs(vector.mean(0) - [1, 2, 3]).max() < 0.15


def test_dims_can_be_exchanged_and_renamed():
    mean = dt.tensor("mean", dims=GROUP)
    x, _ = dt.random.generator(1).normal(mean, 1.0)
    wider = dt.Dim("group", coords=["a", "b", "c", "d"])
    y = dt.substitute(x, {GROUP: wider})
    (new,) = y.dims
    assert new == wider
    (given,) = dt.inputs_of(y)
    np.testing.assert_array_equal(
        dt.function([given], y, backend="python")(np.zeros(4)), numpy_rng().normal(size=4)
    )


def test_a_generator_draws_once():
    rng = dt.random.generator(1)
    rng.normal()
    with pytest.raises(dt.GraphError, match="draws once; this one was used by normal in line"):
        rng.uniform()
    rng = dt.random.generator(1)
    rng.split(GROUP)
    with pytest.raises(dt.GraphError, match="used by split"):
        rng.split(OBS)
    assert "used by split" in repr(rng)

    outer = dt.random.generator(1)
    t = dt.Dim("t", length=3)
    outer.normal()
    with pytest.raises(dt.GraphError, match="draws once"):
        dt.reduce(lambda s, _: s + outer.normal()[0], 0.0, dim=t)


LOOPS = {
    "scan": lambda step, rng: dt.scan(lambda s, _: (step(s), None), (0.0, rng), dim=STEP),
    "cumulate": lambda step, rng: dt.cumulate(lambda s, _: step(s), (0.0, rng), dim=STEP),
    "reduce": lambda step, rng: dt.reduce(lambda s, _: step(s), (0.0, rng), dim=STEP),
    "while_loop": lambda step, rng: dt.while_loop(lambda s: s[0] < 5.0, step, (0.0, rng), 9),
    "fori_loop": lambda step, rng: dt.fori_loop(0, 4, lambda i, s: step(s), (0.0, rng)),
}
STEP = dt.Dim("step", length=4)


@pytest.mark.parametrize("name", LOOPS)
def test_no_step_repeats_the_numbers_of_another(name):
    outer = dt.random.generator(2)

    def captured(state):
        return state[0] + outer.normal()[0], state[1]

    def unadvanced(state):
        return state[0] + state[1].normal()[0], state[1]

    def one_draw_behind(state):
        x, after = state[1].normal()
        y, _ = after.normal()
        return state[0] + x + y, after

    def always_the_same(state):
        return state[0] + state[1].normal()[0], dt.random.generator(1)

    run, rng = LOOPS[name], dt.random.generator(1)
    with pytest.raises(dt.GraphError, match=f"dt.{name}: every step .*outer is the same generator"):
        run(captured, rng)
    for step in (unadvanced, one_draw_behind):
        with pytest.raises(dt.GraphError, match=f"dt.{name}: .*as it was before the draw"):
            run(step, rng)
    with pytest.raises(dt.GraphError, match="is the same after every step"):
        run(always_the_same, rng)

    def right(state):
        x, after = state[1].normal()
        return state[0] + x, after

    run(right, rng)
    with pytest.raises(dt.GraphError, match=f"this one was used by dt.{name} in line"):
        rng.normal()


def test_generators_of_elements_branches_and_inner_loops():
    rng = dt.random.generator(1)
    with pytest.raises(
        dt.GraphError, match=r"dt\.map: every .*\n.*\n.*a sequence rng.split\(step\)$"
    ):
        dt.map(lambda x: x + rng.normal()[0], dt.ones(STEP), dim=STEP)
    each = dt.map(lambda r: r.normal()[0], rng.split(STEP), dim=STEP).eval()
    assert len(set(each.values.tolist())) == 4

    def twice(state, _):
        level, rng = state
        (level, rng), _ = dt.scan(once, (level, rng), dim=STEP)
        return (level, rng), level

    def once(state, _):
        level, rng = state
        # what a branch is given differs from step to step if that does
        x, rng = dt.if_else(level > 100.0, lambda r: r.uniform(), lambda r: r.normal(), rng)
        return (level + x, rng), None

    (_, _), path = dt.scan(twice, (0.0, dt.random.generator(1)), dim=STEP)
    expected = numpy_rng().normal(size=16).cumsum()[3::4]
    np.testing.assert_allclose(path.eval(), expected, rtol=1e-13)

    def inner(state, _):
        drawn = dt.reduce(lambda s, _: s + state[1].normal()[0], 0.0, dim=OBS)
        return (drawn, state[1]), None

    with pytest.raises(dt.GraphError, match=r"dt\.reduce: every step would draw the same numbers"):
        dt.scan(inner, (0.0, dt.random.generator(1)), dim=STEP)


def test_branches_use_generators_up():
    c, rng = dt.scalar("c"), dt.random.generator(1)
    with pytest.raises(dt.GraphError, match=r"dt\.if_else: a function .*as it was before the draw"):
        dt.if_else(c > 0, lambda r: (r.normal()[0], r), lambda r: (0.0, r), rng)
    dt.if_else(c > 0, lambda r: r.normal()[0], lambda r: 0.0, rng)
    with pytest.raises(dt.GraphError, match=r"used by dt\.if_else"):
        rng.normal()
    with pytest.raises(dt.GraphError, match="returns one generator twice"):
        dt.if_else(c > 0, lambda r: (r, r), lambda r: (r, r), dt.random.generator(1))


def test_positions_that_go_apart_have_generators_of_their_own():
    c, start = dt.tensor("c", dims=GROUP), (0.0, dt.random.generator(1))

    def body(state):
        x, rng = state[1].exponential()
        return state[0] + x, rng

    text = r"along \{group\} would draw the same(.|\n)*rng\.split\(group\)"
    with pytest.raises(dt.DimError, match=text):
        dt.while_loop(lambda s: s[0] < c, body, start, 9)
    with pytest.raises(dt.DimError, match=text):
        dt.fori_loop(0, c.astype("int64"), lambda i, s: body(s), start)
    with pytest.raises(dt.DimError, match=text):
        dt.if_else(c > 0, lambda r: r.normal(), lambda r: (0.0, r), start[1])
    x = dt.scalar("x")
    last, rng = dt.while_loop(lambda s: s[0] < 5.0, body, (x, dt.random.generator(1)), 50)
    f = dt.function([x], [last, rng.uniform()[0]], backend="python")
    for found in f(xr.DataArray(np.zeros(3), dims="row")):
        assert len(set(found.values.tolist())) == 3


def test_a_step_makes_no_random_variable():
    text = r"dt\.cumulate: 'e' would be one random variable for all(.|\n)*dims=step\)"
    for location in (lambda s: 0.0, lambda s: s):
        with pytest.raises(dt.GraphError, match=text):
            dt.cumulate(
                lambda s, _, at=location: s + dt.rv("e", dt.dist.Normal(at(s), 1.0)),
                0.0,
                dim=STEP,
            )
    with pytest.raises(dt.GraphError, match="'e' would be lost, because a branch makes it of its"):
        dt.if_else(
            dt.scalar("c") > 0,
            lambda m: dt.rv("e", dt.dist.Normal(m, 1.0)),
            lambda m: m,
            dt.scalar("m"),
        )


def test_parameters_out_of_range():
    rng = dt.random.generator(1)
    with pytest.raises(dt.OptionError, match="normal: the parameters ask for scale >= 0"):
        rng.normal(0.0, -1.0)
    with pytest.raises(dt.DtypeError, match="binomial: n is an integer"):
        rng.binomial(dt.tensor("n", dims=OBS), 0.5)
    sigma = dt.tensor("sigma", dims=GROUP)
    x, rng = rng.normal(0.0, sigma)
    f = dt.function([sigma], x, backend="python")
    assert f(np.ones(3)).shape == (3,)
    with pytest.raises(dt.CheckError, match=r"scale >= 0\n(.|\n)*group='b'"):
        f(np.array([1.0, -1.0, 2.0]))
    with pytest.raises(
        dt.OptionError, match=r"vonmises: the parameters ask for a finite abs\(mu\)"
    ):
        rng.vonmises(float("inf"), 1.0)


def test_misuse_of_seeds_and_dims():
    with pytest.raises(dt.ArgumentError, match="not None; name one"):
        dt.random.generator(None)
    with pytest.raises(dt.OptionError, match=r"seed=-1 is not between 0 and 2\*\*63 - 1"):
        dt.random.generator(-1)
    with pytest.raises(dt.DtypeError, match="a seed is a tensor of integers"):
        dt.random.generator(dt.scalar("s"))
    with pytest.raises(dt.DtypeError, match="words of a generator are of uint64"):
        dt.random.generator(dt.tensor("w", dims=dt.random.WORD))
    with pytest.raises(dt.DimError, match="split along a Dim, not 'chain'"):
        dt.random.generator(1).split("chain")
    with pytest.raises(dt.DimError, match="twice"):
        dt.random.generator(1).split(GROUP).split(GROUP)
    with pytest.raises(dt.DimError, match="choice: the probabilities have no"):
        dt.random.generator(1).choice(GROUP, p=dt.data([1.0], dims=dt.Dim("k", length=1)))
    with pytest.raises(dt.DimError, match="permutation takes a Dim"):
        dt.random.generator(1).permutation("group")
    with pytest.raises(dt.DimError, match="a dim is named twice"):
        dt.random.generator(1).normal(dims=[OBS, OBS])


def test_draws_have_no_derivative_by_their_parameters():
    mu = dt.scalar("mu")
    x, rng = dt.random.generator(1).normal(mu, 1.0)
    with pytest.raises(dt.GraphError, match="the derivative of a random draw is not known"):
        dt.grad(x**2, mu)
    z, _ = rng.normal()
    gradient = dt.grad((mu + 2.0 * z) ** 2, mu)
    found, drawn = dt.function([mu], [gradient, z], backend="python")(1.0)
    assert float(found) == pytest.approx(2 * (1 + 2 * float(drawn)))


@pytest.mark.compiled
def test_kernels_draw_natively():
    mean = dt.tensor("mean", dims=GROUP)
    x, _ = dt.random.generator(dt.scalar("seed", dtype="int64")).normal(mean, 1.0, dims=OBS)
    f = dt.function(dt.inputs_of(x), x)
    assert f.path == "machine code"
