"""Models of dimtensor without what is summed out of them as models of PyMC."""

from __future__ import annotations

import itertools

import numpy as np
import pytensor
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

import dimtensor as dt
from dimtensor import dist

pm = pytest.importorskip("pymc")

from tests.interop.with_pymc.agreement import MODE  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:RandomVariable Ops will stop:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Calling a RandomVariable without:DeprecationWarning"),
]

OBS = dt.Dim("obs")
KIND = dt.Dim("kind", coords=["low", "high"])
SEEN = np.array([0.3, -0.4, 5.1, 4.6])
SERIES = np.array([[0.2, 0.1, 2.8, 3.3], [3.1, 2.5, np.nan, np.nan]])


def mixture():
    """Classes of observations, data, and an expression that reads the classes."""
    x = dt.tensor("x", dims=OBS)
    mu = dt.rv("mu", dist.Normal(dt.data([0.0, 5.0], dims=KIND), 1.0))
    share, s = dt.rv("share", dist.Beta(2.0, 2.0)), dt.rv("s", dist.HalfNormal(1.0))
    weights = dt.stack([1 - share, share], KIND)
    z = dt.rv("z", dist.Categorical(weights, dim=KIND), dims=OBS)
    y = dt.rv("y", dist.Normal(dt.named("mean", mu.sel(kind=z) + x), s))
    model = dt.Model(y, data={x: [0.1, 0.2, 0.3, 0.4]}, backend="python").observe({y: SEEN})
    return model, z


def hierarchy():
    """Parameters, one of them with a bound, whose densities read what is summed out."""
    z = dt.rv("z", dist.Bernoulli(0.3), dims=KIND)
    a = dt.rv("a", dist.Normal(1.0 * z, 0.5))
    b = dt.rv("b", dist.Gamma(1.0 + z, 0.5))
    y = dt.rv("y", dist.Normal(a, b), dims=OBS)
    model = dt.Model(y, backend="python")
    return model.observe({y: (("obs", "kind"), [[1.0, 2.0], [0.0, 1.0]])}), z


def partly_seen():
    """Missing values of what a summed-out density reads, and of what it is of."""
    g, z = dt.rv("g", dist.Normal(0, 1)), dt.rv("z", dist.Bernoulli(0.3), dims=OBS)
    x = dt.rv("x", dist.Normal(g, 1.0), dims=OBS)
    y = dt.rv("y", dist.Normal(x + 2.0 * z, dt.rv("s", dist.HalfNormal(1.0))))
    seen = {x: [0.3, np.nan, 1.0], y: [0.1, np.nan, 2.0]}
    return dt.Model(y, backend="python").observe(seen, missing="infer"), z


def standardized():
    model, z = mixture()
    return model.noncentered("mu"), z


def at_chance(theirs, seed=1):
    """Values of unconstrained variables by the name of the variable."""
    rng = np.random.default_rng(seed)
    start = theirs.initial_point()
    point = {}
    for v in theirs.free_RVs:
        value = start[theirs.rvs_to_values[v].name]
        known = value.dtype.kind != "f"
        point[v.name] = value if known else value + rng.normal(size=value.shape, scale=0.3)
    return point


def logp_of(theirs):
    values = [theirs.rvs_to_values[v] for v in theirs.free_RVs]
    # by itself PyTensor keeps the number 10 in a byte, and its logarithm in single precision
    with pytensor.config.change_flags(cast_policy="numpy+floatX"):
        f = pytensor.function(values, theirs.logp(), mode=MODE)
    return lambda point: float(f(*[point[v.name] for v in theirs.free_RVs]))


@pytest.mark.parametrize(
    ("build", "length", "free"),
    [
        (mixture, 4, {"mu", "share", "s"}),
        pytest.param(hierarchy, 2, {"a", "b"}, marks=pytest.mark.slow),
        pytest.param(
            partly_seen, 3, {"g", "s", "x_unobserved", "y_missing"}, marks=pytest.mark.slow
        ),
        pytest.param(standardized, 4, {"mu_raw", "share", "s"}, marks=pytest.mark.slow),
    ],
)
def test_densities_are_sums_of_pymcs_own_over_all_states(build, length, free):
    """PyMC's density with the discrete variable, at each of its values."""
    model, z = build()
    theirs, whole = dt.to_pymc(model.marginalize(z)), dt.to_pymc(model)
    assert {v.name for v in theirs.free_RVs} == free
    point = at_chance(theirs)
    logp = logp_of(whole)
    renamed = {"y_unobserved": point["y_missing"]} if "y_missing" in point else {}
    each = [
        logp({**point, **renamed, "z": np.array(states)})
        for states in itertools.product([0, 1], repeat=length)
    ]
    np.testing.assert_allclose(logp_of(theirs)(point), logsumexp(each), rtol=1e-10)


def test_names_dims_and_data_of_potentials():
    model, z = mixture()
    theirs = dt.to_pymc(model.marginalize(z))
    assert theirs.named_vars_to_dims == {"mu": ("kind",), "x": ("obs",), "y": ("obs",)}
    assert [v.name for v in theirs.potentials] == ["y"]
    assert not theirs.deterministics  # the mean reads z
    model, z = hierarchy()
    assert [v.name for v in dt.to_pymc(model.marginalize(z)).potentials] == ["a and b"]
    # nothing is observed of what reads z
    a = dt.rv("a", dist.Normal(1.0 * z, 0.5))
    alone = dt.to_pymc(dt.Model(a, backend="python").marginalize("z"))
    assert [v.name for v in alone.potentials] == ["a_density"]
    assert alone.named_vars_to_dims == {"a": ("kind",), "a_density": ("kind",)}


@pytest.mark.slow
def test_new_data_move_the_density():
    model, z = mixture()
    theirs = dt.to_pymc(model.marginalize(z))
    point = at_chance(theirs)
    x = np.array([1.0, 2.0, -1.0, 0.5])
    with theirs:
        pm.set_data({"x": x})
    mu, share, s = point["mu"], 1 / (1 + np.exp(-point["share"])), np.exp(point["s"])
    parts = norm.logpdf(SEEN[:, None], mu + x[:, None], s) + np.log([1 - share, share])
    density = theirs.potentiallogp
    f = pytensor.function(theirs.value_vars, density, mode=MODE, on_unused_input="ignore")
    found = f(*[point[v.name] for v in theirs.free_RVs])
    np.testing.assert_allclose(found, logsumexp(parts, axis=1).sum(), rtol=1e-12)


def chains():
    time, one, after = dt.Dim("time"), dt.Dim("one"), KIND.rename("after")
    stay = dt.rv("stay", dist.Beta(1.0, 1.0), dims=KIND)
    move = dt.where(dt.arange(KIND) == dt.arange(after), stay, 1.0 - stay)
    start = dt.data([0.5, 0.5], dims=KIND)
    state = dt.rv("state", dist.MarkovChain(start, move, dim=time), dims=one)
    value = dt.rv("value", dist.Normal(dt.data([0.0, 3.0], dims=KIND).sel(kind=state), 1.0))
    model = dt.Model(value, backend="python")
    return model.observe({value: (("one", "time"), SERIES)}, missing="drop").marginalize(state)


def test_a_chain_of_states_is_a_loop_in_a_potential():
    theirs = dt.to_pymc(chains())
    assert theirs.named_vars_to_dims == {"stay": ("kind",), "value": ("one",)}
    point = at_chance(theirs)
    stay = 1 / (1 + np.exp(-point["stay"]))
    move = np.log([[stay[0], 1 - stay[0]], [1 - stay[1], stay[1]]])
    expected = np.log(stay * (1 - stay)).sum()  # the Jacobian; the prior is flat
    for series in SERIES:
        forward = np.log([0.5, 0.5])
        for at, x in enumerate(series):
            if at:
                forward = logsumexp(forward[:, None] + move, axis=0)
            forward = forward + (0.0 if np.isnan(x) else norm.logpdf(x, [0.0, 3.0]))
        expected += logsumexp(forward)
    np.testing.assert_allclose(logp_of(theirs)(point), expected, rtol=1e-12)


def test_normal_variables_are_integrated_out():
    m, s = dt.rv("m", dist.Normal(0, 1)), dt.rv("s", dist.HalfNormal(1.0))
    a = dt.rv("a", dist.Normal(m, 0.7))
    y = dt.rv("y", dist.Normal(a, s), dims=OBS)
    model = dt.Model(y, backend="python").observe({y: SEEN}).marginalize(a)
    theirs = dt.to_pymc(model)
    point = at_chance(theirs)
    scale = np.exp(point["s"])
    together = multivariate_normal(np.full(4, point["m"]), scale**2 * np.eye(4) + 0.49)
    expected = together.logpdf(SEEN) + norm.logpdf(point["m"])
    expected += np.log(2) + norm.logpdf(scale) + point["s"]
    np.testing.assert_allclose(logp_of(theirs)(point), expected, rtol=1e-12)


def test_what_no_potential_can_stand_for_is_told():
    z = dt.rv("z", dist.Bernoulli(0.3))
    n = dt.rv("n", dist.Poisson(1.0 + z))
    y = dt.rv("y", dist.Normal(1.0 * n, 1.0))
    model = dt.Model(y, backend="python").observe({y: 1.0}).marginalize(z)
    with pytest.raises(
        dt.GraphError, match=r"(?s)discrete variable 'n' depends.*marginalize\('n'\)"
    ):
        dt.to_pymc(model)
    u = dt.rv("u", dist.Uniform(0.0, 1.0 + z))
    y = dt.rv("y", dist.Normal(u, 1.0))
    model = dt.Model(y, backend="python").observe({y: 1.0}).marginalize(z)
    with pytest.raises(
        dt.GraphError, match="support of 'u' depends on a variable that is summed out"
    ):
        dt.to_pymc(model)


def test_what_is_standardized_by_what_is_summed_out_is_told():
    model, z = hierarchy()
    model = model.noncentered("a").marginalize(z)
    for call in (dt.to_pymc, lambda one: one.log_density()):
        with pytest.raises(dt.GraphError, match="place of 'a' depends on 'z', which is"):
            call(model)
