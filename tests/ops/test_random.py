"""Positional draws: NumPy's streams on Python, the same distributions on JAX."""

from __future__ import annotations

import numpy as np
import pytensor.tensor as pt
import pytest
import scipy.stats as st
from pytensor.compile.mode import Mode

from dimtensor.ops.random.draw import Draw, Seed, Split
from dimtensor.ops.random.rows import ROWS
from dimtensor.ops.random.words import child_words, generator_of, seed_words, words_of
from tests.backend_names import BACKENDS as ALL

N = 4000
# parameters, and what SciPy calls the distribution
CASES = {
    "beta": [((0.5, 2.0), st.beta(0.5, 2.0))],
    "chisquare": [((3.0,), st.chi2(3))],
    "exponential": [((2.0,), st.expon(scale=2))],
    "f": [((4.0, 7.0), st.f(4, 7))],
    "gamma": [((0.3, 2.0), st.gamma(0.3, scale=2)), ((5.0, 1.0), st.gamma(5))],
    "gumbel": [((1.0, 2.0), st.gumbel_r(1, 2))],
    "laplace": [((1.0, 2.0), st.laplace(1, 2))],
    "logistic": [((1.0, 2.0), st.logistic(1, 2))],
    "lognormal": [((1.0, 0.5), st.lognorm(0.5, scale=np.e))],
    "noncentral_chisquare": [((3.0, 2.0), st.ncx2(3, 2)), ((0.5, 2.0), st.ncx2(0.5, 2))],
    "noncentral_f": [((4.0, 7.0, 2.0), st.ncf(4, 7, 2))],
    "normal": [((1.0, 2.0), st.norm(1, 2))],
    "pareto": [((3.0,), st.lomax(3))],
    "power": [((3.0,), st.powerlaw(3))],
    "rayleigh": [((2.0,), st.rayleigh(scale=2))],
    "standard_cauchy": [((), st.cauchy())],
    "standard_t": [((4.0,), st.t(4))],
    "triangular": [((-1.0, 0.0, 3.0), st.triang(0.25, -1, 4))],
    "uniform": [((-1.0, 3.0), st.uniform(-1, 4))],
    "vonmises": [((0.5, 2.0), st.vonmises(2, 0.5)), ((0.0, 0.01), st.vonmises(0.01))],
    "wald": [((1.0, 3.0), st.invgauss(1 / 3, scale=3))],
    "weibull": [((1.5,), st.weibull_min(1.5))],
    "binomial": [((12, 0.3), st.binom(12, 0.3)), ((500, 0.4), st.binom(500, 0.4))],
    "geometric": [((0.3,), st.geom(0.3))],
    "hypergeometric": [((9, 6, 5), st.hypergeom(15, 9, 5)),
                       ((300, 500, 200), st.hypergeom(800, 300, 200))],
    "integers": [((-3, 5), st.randint(-3, 5))],
    "logseries": [((0.7,), st.logser(0.7))],
    "negative_binomial": [((2.5, 0.4), st.nbinom(2.5, 0.4))],
    "poisson": [((0.7,), st.poisson(0.7)), ((40.0,), st.poisson(40))],
    "zipf": [((2.5,), st.zipf(2.5))],
}  # fmt: skip
BACKENDS = pytest.mark.parametrize("backend", ALL)
NUMBERS = [(name, at) for name, cases in CASES.items() for at in range(len(cases))]


def columns(name: str, parameters: tuple) -> list[np.ndarray]:
    return [np.full(N, x) for x in parameters]


def on_python(variable, given=None) -> np.ndarray:
    return variable.eval(given, mode=Mode("py", None))


def on_numba(variables: list, inputs: tuple = (), *given) -> list[np.ndarray]:
    from dimtensor.backends.native import compile_positional

    made = compile_positional(list(inputs), variables)
    assert not made.reason
    return [np.asarray(x) for x in made.call(*given)]


def on_jax(variables: list) -> list[np.ndarray]:
    pytest.importorskip("jax")
    from dimtensor.backends.jax import compile_positional

    return [np.asarray(x) for x in compile_positional([], variables).call()]


def fits(values: np.ndarray, distribution, dtype: str) -> bool:
    """Whether values could be draws: false with a probability of 1e-5 where they are."""
    if dtype == "float64":
        return st.kstest(values, distribution.cdf).pvalue > 1e-5
    low, high = distribution.ppf(0.01), distribution.ppf(0.99)
    edges = np.arange(low, high + 1)[: 10**3]
    edges = np.unique(np.linspace(edges[0], edges[-1], 12).round())
    expected = np.diff(np.concatenate([[0.0], distribution.cdf(edges), [1.0]])) * len(values)
    found = np.bincount(np.searchsorted(edges, values, side="left"), minlength=len(expected))
    kept = expected > 5
    rest = [found[~kept].sum()], [expected[~kept].sum()]
    found, expected = found[kept], expected[kept]
    if rest[1][0] > 5:
        found, expected = np.append(found, rest[0]), np.append(expected, rest[1])
    return st.chisquare(found, expected * found.sum() / expected.sum()).pvalue > 1e-5


def test_every_row_is_tested() -> None:
    vectors = {name for name, row in ROWS.items() if row.is_vector}
    assert set(CASES) == set(ROWS) - vectors
    assert vectors == {"multinomial", "multivariate_hypergeometric", "permutation"}


@pytest.mark.parametrize(("name", "at"), NUMBERS)
def test_draws_are_those_of_numpy(name: str, at: int) -> None:
    parameters, distribution = CASES[name][at]
    rng = np.random.default_rng(5)
    words, values = Draw(name, 0, 1)(seed_words(5), N, *columns(name, parameters))
    expected = getattr(rng, name)(*columns(name, parameters), size=N)
    found = on_python(values)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(on_python(words), words_of(rng.bit_generator))
    assert found.dtype == ROWS[name].dtype
    assert fits(found, distribution, ROWS[name].dtype)


@pytest.mark.compiled
@pytest.mark.parametrize(("name", "at"), NUMBERS)
def test_draws_of_kernels_are_those_of_numpy(name: str, at: int) -> None:
    parameters, _ = CASES[name][at]
    row = ROWS[name]
    dtypes = ["int64" if each in row.integers else "float64" for each in row.parameters]
    inputs = tuple(pt.vector(dtype=dtype) for dtype in dtypes)
    given = [x.astype(dtype) for x, dtype in zip(columns(name, parameters), dtypes, strict=True)]
    for x in given:  # what is no distribution takes no draws
        x[7] = -1e9
    rng = np.random.default_rng(5)
    rng.random(dtype=np.float32)  # leaves half of a word
    words = words_of(rng.bit_generator)
    n = pt.lscalar("n")
    found = on_numba(Draw(name, 0, 1)(words, n, *inputs), (n, *inputs), np.array(N), *given)
    expected = on_python_many(Draw(name, 0, 1)(words, N, *given))
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_array_equal(found[0], expected[0])


def on_python_many(variables: list) -> list[np.ndarray]:
    return [on_python(v) for v in variables]


QUICK_ON_JAX = {"normal", "uniform", "integers", "geometric"}


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("name", "at"),
    [
        pytest.param(name, at, marks=() if name in QUICK_ON_JAX else pytest.mark.slow)
        for name, at in NUMBERS
    ],
)
def test_draws_on_jax_have_the_distribution(name: str, at: int) -> None:
    parameters, distribution = CASES[name][at]
    words, values = Draw(name, 0, 1)(seed_words(7), N, *columns(name, parameters))
    after, found = on_jax([words, values])
    assert found.dtype == ROWS[name].dtype
    assert (after[:2] != seed_words(7)[:2]).all()
    assert fits(found, distribution, ROWS[name].dtype)


def run(backend: str, variables: list) -> list[np.ndarray]:
    if backend == "jax":
        return on_jax(variables)
    return on_numba(variables) if backend in ("native", "numba") else on_python_many(variables)


def vector_draws() -> dict[str, tuple]:
    p = np.tile([0.2, 0.5, 0.3], (N, 1))
    colors = np.tile([4, 0, 7, 3], (N, 1))
    return {
        "multinomial": ((np.full(N, 9), p), 9 * p[0]),
        "multivariate_hypergeometric": ((colors, np.full(N, 6)), 6 * colors[0] / 14),
    }


@BACKENDS
@pytest.mark.parametrize("name", ["multinomial", "multivariate_hypergeometric"])
def test_counts_of_vectors(name: str, backend: str) -> None:
    parameters, mean = vector_draws()[name]
    k = len(mean)
    words, values = Draw(name, 0, 1)(seed_words(1), N, k, *parameters)
    _, found = run(backend, [words, values])
    if backend != "jax":
        rng = np.random.default_rng(1)
        rows = [getattr(rng, name)(*each) for each in zip(*parameters, strict=True)]
        np.testing.assert_array_equal(found, rows)
    assert (found.sum(axis=1) == mean.sum()).all()
    error = found.std(axis=0) / np.sqrt(N)
    assert (np.abs(found.mean(axis=0) - mean) <= 4.5 * error).all()


@BACKENDS
def test_permutations_are_equally_likely(backend: str) -> None:
    words, values = Draw("permutation", 0, 1)(seed_words(1), N, 3)
    found = run(backend, [words, values])[1]
    orders, counts = np.unique(found, axis=0, return_counts=True)
    assert len(orders) == 6
    assert st.chisquare(counts).pvalue > 1e-4
    if backend != "jax":
        rng = np.random.default_rng(1)
        np.testing.assert_array_equal(found, [rng.permutation(3) for _ in range(N)])


@BACKENDS
def test_each_stream_draws_for_itself(backend: str) -> None:
    streams = np.stack([seed_words(1), seed_words(2)])
    loc = np.array([[[0.0, 10.0]], [[100.0, 110.0]]])
    _, values = Draw("normal", 1, 2)(streams, 3, 2, loc, np.ones((1, 1, 1)))
    _, apart = Draw("normal", 0, 2)(seed_words(2), 3, 2, loc[1], np.ones((1, 1)))
    found, alone = run(backend, [values, apart])
    np.testing.assert_array_equal(found[1], alone)
    if backend != "jax":
        np.testing.assert_array_equal(alone, np.random.default_rng(2).normal(loc[1], 1, (3, 2)))


@BACKENDS
def test_no_distribution_draws_nothing(backend: str) -> None:
    scale = np.array([1.0, -1.0, np.nan, 2.0])
    _, values = Draw("normal", 0, 1)(seed_words(1), 4, np.zeros(4), scale)
    lam = np.array([1.0, -1.0, np.nan, np.inf])
    _, counts = Draw("poisson", 0, 1)(seed_words(1), 4, lam)
    found = (
        [on_python(values), on_python(counts)] if backend == "python" else on_jax([values, counts])
    )
    np.testing.assert_array_equal(np.isnan(found[0]), [False, True, True, False])
    assert (found[1][1:] == 0).all()


@BACKENDS
def test_split_gives_independent_streams(backend: str) -> None:
    children = Split()(seed_words(3), 4)
    _, values = Draw("normal", 1, 1)(children, N, np.zeros((1, 1)), np.ones((1, 1)))
    found = run(backend, [values])[0]
    correlation = np.corrcoef(found) - np.eye(4)
    assert np.abs(correlation).max() < 5 / np.sqrt(N)
    if backend != "jax":
        rng = generator_of(child_words(seed_words(3), 2))
        np.testing.assert_array_equal(found[2], rng.normal(0.0, 1.0, N))


@pytest.mark.parametrize("backend", ["python", pytest.param("numba", marks=pytest.mark.compiled)])
def test_seeds_are_those_of_default_rng(backend: str) -> None:
    seed = pt.lvector("seed")
    given = np.array([0, 2**40, 1, 2**63 - 1])
    if backend == "python":
        words = on_python(Seed()(seed), {seed: given})
    else:
        (words,) = on_numba([Seed()(seed)], (seed,), given)
    np.testing.assert_array_equal(words, [seed_words(int(each)) for each in given])
    np.testing.assert_array_equal(words[1], seed_words(2**40))
    assert generator_of(words[1]).random() == np.random.default_rng(2**40).random()


def test_misuse() -> None:
    with pytest.raises(TypeError, match="words of a generator are unsigned"):
        Draw("normal", 0, 0)(np.zeros(6), 0.0, 1.0)
    with pytest.raises(TypeError, match="normal: loc has 1 axes"):
        Draw("normal", 0, 0)(seed_words(1), [0.0], 1.0)
    with pytest.raises(TypeError, match="a seed is an integer"):
        Seed()(1.5)
    n = pt.lscalar("n")
    x = pt.vector("x")
    with pytest.raises(ValueError, match="a parameter has length 2 and not 3"):
        on_python(Draw("exponential", 0, 1)(seed_words(1), n, x)[1], {n: 3, x: [1.0, 2.0]})
