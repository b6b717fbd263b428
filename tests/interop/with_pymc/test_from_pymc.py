"""Models of PyMC as models of dimtensor."""

from __future__ import annotations

import pickle
import sys
import warnings

import numpy as np
import pytensor
import pytest
import xarray as xr
from pytensor.compile.builders import OpFromGraph
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from scipy import stats

import dimtensor as dt
from dimtensor import dist

pm = pytest.importorskip("pymc")

import pytensor.tensor as pt  # noqa: E402
from pymc.logprob.abstract import MeasurableOp, _logprob  # noqa: E402

from tests.backend_names import LONG_JAX  # noqa: E402
from tests.interop.with_pymc.agreement import check_agreement, expected_of, with_axes  # noqa: E402
from tests.interop.with_pymc.models import MODELS, OTHER_VECTORS, ROTATED  # noqa: E402

# of PyTensor to PyMC
pytestmark = [
    pytest.mark.filterwarnings("ignore:RandomVariable Ops will stop:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Calling a RandomVariable without:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS:UserWarning"),
]

# a few that take a second each; all of them are slow
QUICK = {"radon_centered", "coal_mining_missing", "potential", "custom"}
CASES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in MODELS]


def read(theirs):
    return dt.from_pymc(theirs, backend="python")


@pytest.mark.parametrize("name", CASES)
def test_log_densities_of_the_gallery(name):
    theirs = MODELS[name]()
    ours = read(theirs)
    check_agreement(theirs, ours, name not in OTHER_VECTORS, name in ROTATED)


def test_names_dims_labels_and_distributions():
    ours = read(MODELS["radon_centered"]())
    house, county = ours["y"].dims[0], ours["a"].dims[0]
    assert county == dt.Dim("county", coords=["AITKIN", "ANOKA", "BECKER"])
    assert house.name == "house"
    assert list(house.coords) == list(range(7))
    laws = {name: v.distribution.name for name, v in ours.variables.items()}
    assert laws == {
        "mu": "Normal", "tau": "HalfNormal", "a": "Normal", "b": "Normal", "sigma": "Exponential",
        "y": "Normal",
    }  # fmt: skip
    assert set(ours.data) | set(ours.spec.graph.inputs) == {"county_at", "floor"}
    assert list(ours.observed) == ["y"]
    # what was positional is an expression over dims
    mean = ours.variables["y"].distribution.parameters["mu"]
    a, b = ours["a"], ours["b"]
    assert mean is a.isel(county=ours["county_at"]) + b * ours["floor"]


def test_axes_without_dims_have_the_names_of_results():
    with pm.Model() as theirs:
        x = pm.Normal("x", 0, 1, shape=(2, 3))
        pm.Deterministic("total", x.sum(axis=1))
    ours = read(theirs)
    assert ours["x"].sizes == {"x_dim_0": 2, "x_dim_1": 3}
    assert ours["total"].sizes == {"total_dim_0": 2}


def test_new_data_and_predictions():
    theirs = MODELS["regression"]()
    ours = read(theirs)
    post = ours.laplace(draws=5, seed=1)
    assert dict(post["posterior"]["slopes"].sizes) == {"chain": 1, "draw": 5, "predictor": 2}
    assert list(post["posterior"]["slopes"]["predictor"].values) == ["age", "height"]
    assert list(post["observed_data"]) == ["y"]
    found = ours.predict(post, seed=1)["posterior_predictive"]["y"]
    assert dict(found.sizes) == {"chain": 1, "draw": 5, "person": 6}
    twice = ours.with_data(x=2.0 * ours["x"].eval())
    assert not np.allclose(twice.laplace(draws=5, seed=1)["posterior"]["slopes"].mean(),
                           post["posterior"]["slopes"].mean())  # fmt: skip


@pytest.mark.parametrize(
    ("name", "summed"), [("coal_mining", "switchpoint"), ("latent_mixture", "z")]
)
def test_discrete_variables_are_summed_out(name, summed):
    theirs = MODELS[name]()
    ours = read(theirs)
    expected = expected_of(theirs)
    values = with_axes(theirs, expected.values)
    axes, start = values.pop(summed)
    free = ours.marginalize(summed)
    total = sum(float(x.sum()) for x in free.logp(values).values())
    levels = range(1851, 1861) if name == "coal_mining" else range(2)
    logps = []
    for each in np.array(np.meshgrid(*[levels] * start.size)).reshape(start.size, -1).T:
        point = {**values, summed: (axes, each.reshape(start.shape))}
        logps.append(sum(float(x.sum()) for x in ours.logp(point).values()))
    np.testing.assert_allclose(total, np.logaddexp.reduce(logps), rtol=1e-12)


def test_labels_that_meet_others_by_position_are_told():
    with pm.Model(coords={"county": ["A", "B"], "lake": ["C", "D"]}) as theirs:
        a = pm.Normal("a", 0, 1, dims="county")
        b = pm.Normal("b", 0, 1, dims="lake")
        pm.Normal("y", a + b, 1, observed=[1.0, 2.0], dims="county")
    with pytest.warns(dt.ModelWarning, match="'b' has the dim lake and is used along county"):
        ours = dt.from_pymc(theirs, backend="python")
    check_agreement(theirs, ours, unconstrained=True)


def test_a_variable_without_a_row_is_drawn_by_pymc():
    with pm.Model(coords={"k": range(3)}) as theirs:
        mu = pm.Normal("mu", 0.0, 1.0)

        def dist(mu, size):
            return pm.math.exp(pm.Normal.dist(mu, 0.5, size=size))

        pm.CustomDist("y", mu, dist=dist, observed=[1.0, 2.0, 3.0], dims="k")
    ours = read(theirs)
    check_agreement(theirs, ours, unconstrained=True)
    logs = np.log(ours.draw(2000, seed=1)["prior_predictive"]["y"].transpose("draw", "k", ...))
    assert len(np.unique(logs)) == logs.size
    # the elements of a draw share mu
    expected = np.eye(3) * 0.25 + 1.0
    np.testing.assert_allclose(np.cov(logs.values[..., 0].T), expected, atol=0.15)
    post = xr.Dataset({"mu": (("chain", "draw"), [[-5.0] * 40, [5.0] * 40])})
    found = np.log(ours.predict(post, seed=1)["posterior_predictive"]["y"])
    assert found.sizes == {"chain": 2, "draw": 40, "k": 3}
    np.testing.assert_allclose(found.mean(["draw", "k"]), [-5.0, 5.0], atol=0.25)
    again = ours.predict(post, seed=1)["posterior_predictive"]["y"]
    np.testing.assert_array_equal(np.log(again), found)


def test_a_density_without_draws_says_so():
    ours = read(MODELS["custom"]())
    assert ours.log_density().names == ["mu"]
    with pytest.raises(NotImplementedError, match="Attempted to run random on the CustomDist"):
        ours.draw(2, seed=1)


def test_the_table_has_classes_of_pymc():
    from dimtensor.interop.pymc.counterparts import OF_OPS
    from dimtensor.interop.pymc.distributions import _METHODS

    known = set()
    for name, module in list(sys.modules.items()):
        if name.startswith(("pymc.distributions", "pytensor.tensor.random")):
            known.update(vars(module))
    assert known.issuperset([*OF_OPS, *_METHODS])


def test_draws_of_a_potential_have_its_lengths():
    with pm.Model() as theirs:
        x = pm.Normal("x", shape=3)
        pm.Potential("each", -(x**2))
    drawn = read(theirs).draw(2, seed=1)
    assert drawn["prior_predictive"]["each"].shape == (1, 2, 3)
    assert not drawn["prior_predictive"]["each"].any()


def test_lengths_of_data_of_which_no_value_counts():
    """The dim has no labels, and no data of the graph tells its length."""
    with pm.Model() as theirs:
        x = pm.Data("x", np.ones(4), dims="obs")
        mu = pm.Normal("mu", 0, 1)
        pm.Deterministic("whole", x.shape[0] * mu)
        pm.Potential("p", -(mu**2) * x.shape[0])
        pm.Normal("y", mu / x.shape[0], 1, observed=np.arange(4.0), dims="obs")
    ours = read(theirs)
    check_agreement(theirs, ours, unconstrained=True)
    drawn = ours.draw(3, seed=1)["prior"]
    np.testing.assert_allclose(drawn["whole"], 4 * drawn["mu"])


def test_groups_of_draws_are_those_of_pymc():
    with pm.Model() as theirs:
        mu, s = pm.Normal("mu", 0, 1), pm.HalfNormal("s", 1)
        pm.Deterministic("tau", s**2)
        pm.Normal("y", mu, s, observed=np.arange(4.0))
    ours = read(theirs)
    drawn = ours.draw(3, seed=1)
    prior = pm.sample_prior_predictive(
        3, model=theirs, random_seed=1, compile_kwargs={"mode": "FAST_COMPILE"}
    )
    for group in ("prior", "prior_predictive"):
        assert set(drawn[group].data_vars) == set(prior[group].data_vars)
    post = ours.predict(ours.laplace(3, seed=1), seed=1)
    assert set(post["posterior"].data_vars) == {"mu", "s", "tau"}
    assert "mu" not in post["posterior_predictive"]


def test_predictions_are_beside_what_is_observed():
    with pm.Model(coords={"k": range(4)}) as theirs:
        mu = pm.Normal("mu")
        pm.Deterministic("mean", mu * np.arange(4.0), dims="k")
        x = pm.Data("x", np.ones(4), dims="k")
        mean = pm.Deterministic("scaled", mu * x, dims="k")
        pm.Normal("y", mean, 1, observed=np.arange(4.0), dims="k")
    ours = read(theirs)
    post = ours.predict(ours.laplace(3, seed=1), seed=1)
    assert set(post["posterior_predictive"].data_vars) == set(post["observed_data"].data_vars)
    assert {"mean", "scaled"} <= set(post["posterior"].data_vars)
    asked = ours.predict(post, names=["mean"], seed=1)["posterior_predictive"]
    assert list(asked.data_vars) == ["mean"]
    new = ours.predict(post, {"x": np.zeros(4)}, seed=1)["predictions"]
    assert set(new.data_vars) == {"mean", "scaled", "y"}


def test_elements_of_an_autoregression_given_those_before():
    seen = np.random.default_rng(1).normal(size=7)
    with pm.Model() as theirs:
        rho = pm.Normal("rho", 0, 0.5, shape=3)
        start = pm.Normal.dist(0, 2, shape=2)
        pm.AR("y", rho, 0.7, init_dist=start, constant=True, observed=seen)
    ours = read(theirs)
    assert ours.variables["y"].distribution.name == "AR"
    rho = np.array([0.1, 0.5, -0.2])
    post = xr.Dataset({"rho": (("chain", "draw", "rho_dim_0"), rho[None, None])})
    found = ours.log_likelihood(post, one_step_ahead=True)["log_likelihood"]["y"]
    means = np.array([rho @ [1.0, seen[t - 1], seen[t - 2]] for t in range(2, 7)])
    expected = [*stats.norm.logpdf(seen[:2], 0, 2), *stats.norm.logpdf(seen[2:], means, 0.7)]
    np.testing.assert_allclose(found[0, 0], expected, rtol=1e-12)
    whole = ours.log_likelihood(post)["log_likelihood"]["y"]
    np.testing.assert_allclose(whole[0, 0], sum(expected), rtol=1e-12)


def test_series_of_pymc_have_one_density():
    with pm.Model() as theirs:
        mu = pm.Normal("mu")
        init = pm.MvNormal.dist(np.array([1.0, 2.0]), np.eye(2))
        pm.AR("y", mu * np.ones(2), 1.0, init_dist=init, observed=np.arange(5.0))
    ours = read(theirs)
    post = xr.Dataset({"mu": (("chain", "draw"), [[0.3]])})
    with pytest.raises(dt.GraphError, match=r"(?s)given those before it: that of PyMC's Auto"):
        ours.log_likelihood(post, one_step_ahead=True)


def test_what_has_no_counterpart_is_refused_by_name():
    with pm.Model() as theirs:
        pm.Normal("y", pm.Normal.dist(0, 1), 1)
    with pytest.raises(dt.GraphError, match="draws random numbers"):
        dt.from_pymc(theirs)
    with pm.Model() as theirs:
        pm.Simulator("s", lambda rng, size: rng.normal(size=size), observed=np.zeros(2))
    with pytest.raises(dt.GraphError, match=r"(?s)the variable 's' has no counterpart.*Simulator"):
        dt.from_pymc(theirs)
    with pytest.raises(dt.OptionError, match="has no variables"):
        dt.from_pymc(pm.Model())
    with pytest.raises(dt.ArgumentError, match=r"a pymc\.Model is expected, not dict"):
        dt.from_pymc({})


def test_total_size_weighs_observations():
    rng = np.random.default_rng(1)
    with pm.Model(coords={"obs": range(5), "k": list("abc")}) as theirs:
        b, s = pm.Normal("b", dims="k"), pm.HalfNormal("s")
        given = {"observed": rng.normal(size=(5, 3)), "dims": ("obs", "k")}
        pm.Normal("y", b, s, total_size=(50, ...), **given)
        pm.Poisson("c", pm.math.exp(b), observed=rng.poisson(2, (5, 3)), total_size=(50, 7))
        pm.MvNormal("v", b, np.eye(3), total_size=20, **given)
        shown = rng.normal(size=5)
        pm.CustomDist("w", b[0], logp=lambda x, m: -((x - m) ** 4), observed=shown, total_size=20)
        open_ = pm.Data("open", rng.normal(size=4), dims="new")
        pm.Normal("o", open_ * b[1], 1, observed=open_ + 1, dims="new", total_size=40)
    ours = read(theirs)
    check_agreement(theirs, ours, unconstrained=True)
    laws = {name: v.distribution.name for name, v in ours.variables.items()}
    assert {name for name, law in laws.items() if law == "weighted"} == set("ycvwo")


def test_minibatches_are_read_as_the_whole_that_they_are_of():
    x, y = np.random.default_rng(1).normal(size=(2, 60))

    def build(of_batches):
        with pm.Model() as theirs:
            at, seen = pm.Minibatch(x, y, batch_size=7) if of_batches else (x, y)
            mean = pm.Normal("b") * at
            pm.Normal("y", mean, pm.HalfNormal("s"), observed=seen, total_size=600)
        return theirs

    ours = read(build(True))
    assert ours["y"].sizes == {"y_dim_0": 60}
    check_agreement(build(False), ours, unconstrained=True)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_a_reshape_leaves_one_length_open(backend):
    with pm.Model() as theirs:
        d, a = pm.Data("d", np.ones((3, 2))), pm.Normal("a")
        pm.Normal("y", a * d.reshape((d.shape[0], -1)).sum(1), 1, observed=np.zeros(3))
    found = dt.from_pymc(theirs, backend=backend).logp({"a": 0.3})
    # four terms log N(x; 0, 1), at 0.3 and three times at 2 * 0.3
    expected = -2.0 * np.log(2 * np.pi) - (0.3**2 + 3 * 0.6**2) / 2
    np.testing.assert_allclose(sum(float(x.sum()) for x in found.values()), expected, rtol=1e-14)


def test_priors_that_may_leave_a_range_are_a_warning():
    with pm.Model() as theirs:
        s = pm.Normal("s", 7, 0.5)
        pm.Normal("y", 0, s, observed=[1.0, 2.0])
    told = r"log density is NaN where a parameter leaves its range: sigma of 'y' is above 0"
    with pytest.warns(dt.ModelWarning, match=told):
        ours = read(theirs)
    found = ours.logp({"s": 6.5})
    expected = stats.norm.logpdf(6.5, 7, 0.5) + stats.norm.logpdf([1.0, 2.0], 0, 6.5).sum()
    total = sum(float(x.sum()) for x in found.values())
    np.testing.assert_allclose(total, expected, rtol=1e-13)
    # what is made of it says nothing more
    again = pickle.loads(pickle.dumps(ours))
    assert again.do(s=3.0).observe(y=[1.0, 2.0]).free == {}
    with pytest.raises(dt.GraphError, match="sigma of 'y' is above 0, and the variable 's'"):
        dt.Model(*ours.outputs)


def test_reading_draws_nothing(monkeypatch):
    """Rates of e^40 are none that NumPy's Poisson takes: reading failed by chance."""
    neighbors = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    with pm.Model(coords={"cut": [1, 2]}) as theirs:
        b = pm.Normal("b", 0, 1e6)
        x = pm.CAR("x", mu=np.zeros(3), W=neighbors, alpha=0.9, tau=1e-4)
        rate = pm.math.exp(b * 50 + x)
        pm.Poisson("y", rate, observed=[1, 2, 3])
        ordered = pm.distributions.transforms.ordered
        pm.Normal("cuts", b, 1, dims="cut", transform=ordered, initval=[0.0, 1.0])
        pm.Deterministic("larger", pm.Poisson("z", rate, shape=3) + rate[None, :])

    def draws(*args, **kwargs):
        raise AssertionError("a random number is drawn")

    monkeypatch.setattr(pytensor.tensor.random.op.RandomVariable, "perform", draws)
    ours = read(theirs)
    assert ours["y"].sizes == {"y_dim_0": 3}
    assert ours["larger"].sizes == {"larger_dim_0": 1, "larger_dim_1": 3}


def test_shapes_that_depend_on_random_numbers_are_refused():
    with pm.Model() as theirs:
        x = pm.Normal("x", shape=3)
        pm.Deterministic("some", x[x > 0])
    with pytest.raises(dt.GraphError, match="the shape of 'some' depends on random numbers"):
        read(theirs)


class SummedOut(OpFromGraph, MeasurableOp):
    """What pymc-extras makes of variables of which one is marginalized: its outputs, and theirs."""

    marginalized_name = "z"
    support_axes = ((), ())

    def __init__(self, *args, n_dependent_rvs, **kwargs):
        self.n_dependent_rvs = n_dependent_rvs
        super().__init__(*args, **kwargs)


def _marginalized(mu, count):
    rngs = [pytensor.shared(np.random.default_rng(at)) for at in range(count + 1)]
    given = [mu.type(), *(rng.type() for rng in rngs)]
    z = pt.random.bernoulli(0.3, size=3, rng=given[1])
    dependent = [pt.random.normal(given[0] + 2.0 * z, 1.0, rng=rng) for rng in given[2:]]
    op = SummedOut(given, [z, *dependent], n_dependent_rvs=count)
    return op(mu, *rngs)[1:]


@_logprob.register(SummedOut)
def _logp_of_summed_out(op, values, mu, *rngs, **kwargs):
    each = [
        pm.math.log(share) + sum(pm.logp(pm.Normal.dist(mu + 2.0 * z, 1.0), v) for v in values)
        for z, share in enumerate((0.7, 0.3))
    ]
    return pm.math.logaddexp(*each), *(pt.constant(0.0) for _ in values[1:])


def test_variables_that_pymc_extras_has_marginalized():
    seen = np.array([0.2, 1.0, 2.5])
    with pm.Model() as theirs:
        (y,) = _marginalized(pm.Normal("mu"), 1)
        theirs.register_rv(y, "y", observed=seen)
    found = read(theirs).logp({"mu": 0.3})["y"]
    expected = 0.7 * stats.norm.pdf(seen, 0.3) + 0.3 * stats.norm.pdf(seen, 2.3)
    np.testing.assert_allclose(found, np.log(expected), rtol=1e-12)
    with pm.Model() as theirs:
        for name, x in zip("xy", _marginalized(pm.Normal("mu"), 2), strict=True):
            theirs.register_rv(x, name, observed=seen)
    with pytest.raises(dt.GraphError, match=r"(?s)together with other variables.*ize\('z'\)"):
        read(theirs)


class Doubled(Op):
    """An operation that only Python performs, whose result numba knows no order of."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, storage):
        storage[0][0] = 2.0 * inputs[0]

    def pullback(self, inputs, outputs, cotangents):
        return [2.0 * cotangents[0]]


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.falls_back
@pytest.mark.filterwarnings("ignore:Numba will use object mode to run:UserWarning")
def test_the_result_of_a_custom_op_has_another_shape():
    with pm.Model() as theirs:
        y = Doubled()(pm.Normal("x", shape=6)).reshape((2, 3))
        pm.Normal("y", y, 1, observed=np.zeros((2, 3)))
    check_agreement(theirs, dt.from_pymc(theirs, backend="numba"), unconstrained=True)


def flat_shapes():
    import pytensor.tensor as pt

    pm.Dirichlet("y", pt.ones(3) * pm.HalfNormal("s"), observed=[0.2, 0.3, 0.5])


def flat_probabilities_of_categories():
    import pytensor.tensor as pt

    pm.Categorical("y", pt.ones(3) / 3, observed=[2, 1, 2])


def flat_probabilities_of_as_many_as_data():
    import pytensor.tensor as pt

    seen = pm.Data("seen", np.array([[2, 1, 2], [0, 5, 0]]), dims=("row", "k"))
    p = pt.ones(seen.shape[1]) / seen.shape[1]
    pm.Multinomial("y", 5, p, observed=seen, dims=("row", "k"))


def covariance_of_one():
    seen = np.array([[0.3], [-1.0]])
    pm.MvNormal("y", pm.Normal("m", shape=1), chol=[[1.3]], observed=seen)


def scale_of_one():
    scale = pm.HalfNormal("s")[None, None]
    pm.MvStudentT("y", 4.0, mu=np.zeros(1), scale=scale, observed=[[0.3], [-1.0]])


@pytest.mark.parametrize(
    "build",
    [
        flat_shapes,
        flat_probabilities_of_categories,
        flat_probabilities_of_as_many_as_data,
        covariance_of_one,
        scale_of_one,
    ],
)
def test_parameters_that_are_the_same_along_a_core_dim(build):
    with pm.Model() as theirs:
        build()
    check_agreement(theirs, read(theirs), unconstrained=bool(theirs.free_RVs))


def test_an_axis_that_turns_out_to_have_length_1_is_repeated():
    import pytensor.tensor as pt

    with pm.Model(coords={"a": ["u"], "b": [1, 2]}) as theirs:
        x = pm.Normal("x", dims="a")
        eta = x[:, None][:, pt.arange(abs(pt.sign(x.shape[0])))]
        cuts = np.array([-1.0, 0.0, 1.5])
        pm.OrderedLogistic("y", eta=eta, cutpoints=cuts, observed=[[0, 2]], dims=("a", "b"))
    check_agreement(theirs, read(theirs), unconstrained=True)


MISSING = np.array([[1.0, np.nan, 2.0], [0.0, 1.0, 1.0], [np.nan, np.nan, 3.0]])


def _partly(build):
    coords = {"row": list("abc"), "k": list("xyz")}
    with warnings.catch_warnings(), pm.Model(coords=coords) as theirs:
        warnings.simplefilter("ignore", pm.exceptions.ImputationWarning)
        build()
    return theirs


def partly_seen_vectors():
    mu = pm.Normal("mu", 0, 1, dims="k")
    y = pm.MvNormal("y", mu, np.eye(3) + 0.3, observed=MISSING, dims=("row", "k"))
    pm.Normal("z", y.sum(), 1, observed=3.0)


def partly_seen_mixture():
    mu = pm.Normal("mu", 0, 1, dims="k")
    pm.NormalMixture("y", np.ones(3) / 3, mu, 1, observed=MISSING, dims=("row", "k"))


def partly_seen_walk():
    start = pm.Normal.dist(0, 1)
    seen = np.array([0.0, 1.0, np.nan])
    pm.GaussianRandomWalk("y", 0, pm.HalfNormal("s"), init_dist=start, observed=seen, dims="k")


def partly_seen_function():
    def dist(s, size):
        return pm.math.exp(pm.Normal.dist(0, s, size=size))

    s = pm.HalfNormal("s")
    pm.CustomDist("y", s, dist=dist, observed=MISSING + 1, dims=("row", "k"))


@pytest.mark.parametrize(
    "build",
    [
        partly_seen_vectors,
        pytest.param(partly_seen_mixture, marks=pytest.mark.slow),
        pytest.param(partly_seen_walk, marks=pytest.mark.slow),
        pytest.param(partly_seen_function, marks=pytest.mark.slow),
    ],
)
def test_observations_that_are_partly_missing(build):
    theirs = _partly(build)
    ours = read(theirs)
    expected = expected_of(theirs, with_gradient=True)
    values = with_axes(theirs, expected.values)
    _, missing = values.pop("y_unobserved")
    # PyMC's are in the order of the axes, ours in that of the names of the dims
    absent = np.argwhere(np.isnan(MISSING if len(missing) == 3 else MISSING[:1]))
    values["y_missing"] = missing[sorted(range(len(absent)), key=lambda at: [*absent[at]][::-1])]
    total = sum(float(x.sum()) for x in ours.logp(values).values())
    np.testing.assert_allclose(total, expected.logp, rtol=1e-10)
    density = ours.log_density()
    value, gradient = density.logp_and_grad(density.unconstrain(values))
    np.testing.assert_allclose(value, expected.logp_of_unconstrained, rtol=1e-10)
    np.testing.assert_allclose(np.sort(gradient), np.sort(expected.gradient), rtol=1e-7, atol=1e-9)


@pytest.mark.slow
def test_counts_that_are_missing_are_summed_out():
    counts = np.ma.masked_array([3, 0, 2], [False, True, False])

    def build(seen, dims):
        rate = pm.Gamma("rate", 2, 1)
        pm.ZeroInflatedPoisson("y", psi=0.3, mu=rate, observed=seen, dims=dims)

    ours = read(_partly(lambda: build(counts, "k")))
    assert np.isnan(ours.observed["y"].sel(k="y"))
    # what is summed over all values is 1
    check_agreement(_partly(lambda: build(counts.compressed(), None)), ours, unconstrained=True)


def test_missing_values_with_a_transform_of_their_own_are_refused():
    def build():
        upper = pm.distributions.transforms.Interval(-9, 9)
        pm.MvNormal("y", np.zeros(3), np.eye(3), observed=MISSING, transform=upper)

    theirs = _partly(build)
    with pytest.raises(dt.GraphError, match="its missing values have a transform of their own"):
        read(theirs)


@pytest.mark.compiled
@pytest.mark.slow
def test_samples_have_the_groups_and_coords_of_pymc():
    theirs = MODELS["eight_schools"]()
    ours = dt.from_pymc(theirs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dt.SamplingWarning)  # a centered funnel and few draws
        post = ours.sample(50, tune=100, chains=2, seed=1, log_likelihood=True, progress_bar=False)
    for name in ("mu", "tau", "theta"):
        assert post["posterior"][name].sizes["chain"] == 2
    assert list(post["posterior"]["theta"]["school"].values) == list("ABCDEFGH")
    assert post["log_likelihood"]["obs"].dims == ("chain", "draw", "school")
    np.testing.assert_array_equal(post["observed_data"]["obs"][:2], [28.0, 8.0])


# a distribution of PyMC and where it is compared
LAWS = {
    "AsymmetricLaplace": ({"kappa": 1.5, "mu": 0.2, "b": 0.7}, [-1.0, 0.5, 2.0]),
    "Bernoulli": ({"p": 0.3}, [0, 1]),
    "Beta": ({"alpha": 2.0, "beta": 3.0}, [0.2, 0.9]),
    "BetaBinomial": ({"n": 9, "alpha": 2.0, "beta": 3.0}, [0, 4, 9]),
    "Binomial": ({"n": 9, "p": 0.3}, [0, 4, 9]),
    "Cauchy": ({"alpha": 0.5, "beta": 2.0}, [-1.0, 3.0]),
    "ChiSquared": ({"nu": 3.0}, [0.5, 4.0]),
    "DiscreteUniform": ({"lower": -2, "upper": 4}, [-2, 0, 4]),
    "DiscreteWeibull": ({"q": 0.8, "beta": 1.3}, [0, 3]),
    "ExGaussian": ({"mu": 0.5, "sigma": 0.8, "nu": 1.2}, [-1.0, 2.0]),
    "Exponential": ({"lam": 1.7}, [0.1, 2.0]),
    "Gamma": ({"alpha": 2.0, "beta": 3.0}, [0.1, 2.0]),
    "Geometric": ({"p": 0.3}, [1, 4]),
    "Gumbel": ({"mu": 0.5, "beta": 0.8}, [-1.0, 2.0]),
    "HalfCauchy": ({"beta": 2.0}, [0.1, 4.0]),
    "HalfNormal": ({"sigma": 2.0}, [0.1, 4.0]),
    "HalfStudentT": ({"nu": 3.0, "sigma": 2.0}, [0.1, 4.0]),
    "HyperGeometric": ({"N": 30, "k": 12, "n": 9}, [0, 4, 9]),
    "InverseGamma": ({"alpha": 2.0, "beta": 3.0}, [0.1, 4.0]),
    "Kumaraswamy": ({"a": 2.0, "b": 3.0}, [0.1, 0.8]),
    "Laplace": ({"mu": 0.5, "b": 2.0}, [-1.0, 4.0]),
    "LogNormal": ({"mu": 0.5, "sigma": 2.0}, [0.1, 4.0]),
    "Logistic": ({"mu": 0.5, "s": 2.0}, [-1.0, 4.0]),
    "LogitNormal": ({"mu": 0.5, "sigma": 2.0}, [0.1, 0.8]),
    "Moyal": ({"mu": 0.5, "sigma": 2.0}, [-1.0, 4.0]),
    "NegativeBinomial": ({"mu": 3.0, "alpha": 2.0}, [0, 4]),
    "Normal": ({"mu": 0.5, "tau": 2.0}, [-1.0, 4.0]),
    "Pareto": ({"alpha": 2.0, "m": 1.5}, [1.6, 4.0]),
    "Poisson": ({"mu": 3.0}, [0, 4]),
    "Rice": ({"nu": 1.0, "sigma": 2.0}, [0.1, 4.0]),
    "SkewNormal": ({"mu": 0.5, "sigma": 2.0, "alpha": 3.0}, [-1.0, 4.0]),
    "SkewStudentT": ({"a": 2.0, "b": 3.0, "mu": 0.5, "sigma": 2.0}, [-1.0, 4.0]),
    "StudentT": ({"nu": 3.0, "mu": 0.5, "sigma": 2.0}, [-1.0, 4.0]),
    "Triangular": ({"lower": -1.0, "c": 0.5, "upper": 2.0}, [-0.5, 1.5]),
    "TruncatedNormal": ({"mu": 0.5, "sigma": 2.0, "lower": 0.0, "upper": 3.0}, [0.5, 2.5]),
    "Uniform": ({"lower": -1.0, "upper": 2.5}, [-0.5, 1.5]),
    "VonMises": ({"mu": 0.5, "kappa": 2.0}, [-1.0, 3.0]),
    "Wald": ({"mu": 0.5, "lam": 2.0, "alpha": 0.1}, [0.2, 3.0]),
    "Weibull": ({"alpha": 1.5, "beta": 2.0}, [0.2, 3.0]),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_rows_stand_for_distributions(name):
    from dimtensor.interop.pymc.counterparts import NoCounterpartError
    from dimtensor.interop.pymc.distributions import DistributionReader
    from dimtensor.interop.pymc.expressions import ExpressionReader
    from tests.interop.with_pymc.agreement import MODE

    given, values = LAWS[name]
    given = {key: np.asarray(value, dtype="float64") for key, value in given.items()}
    if name in ("BetaBinomial", "Binomial", "HyperGeometric", "DiscreteUniform"):
        given |= {
            k: v.astype("int64") for k, v in given.items() if k in ("n", "N", "k", "lower", "upper")
        }
    k = dt.Dim("k", length=len(values))
    with pytensor.config.change_flags(cast_policy="numpy+floatX"):
        theirs = getattr(pm, name).dist(**given, shape=len(values))
    with pytensor.config.change_flags(cast_policy="numpy+floatX"):
        expected = pytensor.function([], pm.logp(theirs, np.array(values)), mode=MODE)()
    if name == "LogitNormal":  # in PyMC it is a function of another variable
        with pytest.raises(NoCounterpartError):
            DistributionReader(ExpressionReader()).of(theirs, (k,), "x")
        return
    ours = DistributionReader(ExpressionReader()).of(theirs, (k,), "x")
    assert ours.name == name or name == "ChiSquared"
    found = ours.logp(dt.data(values, dims=k)).eval(backend="python")
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert isinstance(ours, dist.Distribution)


@pytest.mark.filterwarnings("ignore:Scan return signature will change:DeprecationWarning")
def test_steps_of_a_time_series_are_a_loop_of_ours():
    """The generative graph of an AR(2) process, whose density PyMC derives from a scan."""
    from pymc.pytensorf import collect_default_updates
    from pytensor.graph.traversal import ancestors
    from pytensor.scan.op import Scan

    def step(before, last, rho, sigma):
        x = last * rho[0] + before * rho[1] + pm.Normal.dist(sigma=sigma)
        return x, collect_default_updates([x])

    def process(start, rho, sigma, size):
        steps, _ = pytensor.scan(
            step,
            outputs_info=[{"initial": start, "taps": range(-2, 0)}],
            non_sequences=[rho, sigma],
            n_steps=5,
            strict=True,
        )
        return steps

    with pm.Model(coords={"lag": [1, 2], "step": range(5)}) as theirs:
        rho = pm.Normal("rho", 0, 0.2, dims="lag")
        sigma = pm.HalfNormal("sigma", 0.2)
        first = pm.Normal("first", observed=pm.Data("seen", [0.3, -0.1], dims="lag"), dims="lag")
        pm.CustomDist("x", first, rho, sigma, dist=process, dims="step")
    ours = read(theirs)
    graph = ours.variables["x"].distribution.function.graph.graph
    assert not any(v.owner and isinstance(v.owner.op, Scan) for v in ancestors(graph.outputs))
    x = np.array([0.2, 0.5, -0.4, 0.1, 0.0])
    found = ours.logp({"rho": [0.6, -0.3], "sigma": 0.7, "x": x})
    whole = np.array([0.3, -0.1, *x])
    centers = 0.6 * whole[1:-1] - 0.3 * whole[:-2]
    np.testing.assert_allclose(found["x"].sum(), stats.norm(centers, 0.7).logpdf(x).sum())


def test_neighbors_have_the_density_of_pymc():
    """It leaves out a constant; a sum over edges as in `dist.CAR`."""
    weights = np.array([[0.0, 1, 0, 2], [1, 0, 1, 0], [0, 1, 0, 1], [2, 0, 1, 0]])
    with pm.Model(coords={"area": list("abcd")}) as theirs:
        alpha, tau = pm.Beta("alpha", 2, 2), pm.HalfNormal("tau")
        pm.CAR("x", mu=np.full(4, 0.5), W=weights, alpha=alpha, tau=tau, dims="area")
        pm.CAR("alone", mu=np.zeros(2), W=np.eye(2), alpha=alpha, tau=tau)
    ours = read(theirs)
    found = ours.variables["x"].distribution
    assert repr(found).startswith("CAR(mu=")
    x = np.array([0.2, 0.5, -0.4, 0.1])
    point = {"alpha": 0.7, "tau": 1.6, "x": x, "alone": [0.3, -0.2]}
    total = weights.sum(0)
    apart, scaled = x - 0.5, weights / np.sqrt(np.outer(total, total))
    distance = 1.6 * apart @ (np.diag(total) - 0.7 * weights) @ apart
    expected = 0.5 * (4 * np.log(1.6) + np.linalg.slogdet(np.eye(4) - 0.7 * scaled)[1] - distance)
    terms = ours.logp(point)
    np.testing.assert_allclose(terms["x"], expected, rtol=1e-13)
    # elements that are neighbors of themselves have PyMC's formula
    expected = np.log(1.6) + np.log(1 - 0.7) - 0.5 * 1.6 * (1 - 0.7) * (0.3**2 + 0.2**2)
    np.testing.assert_allclose(terms["alone"], expected, rtol=1e-13)
