"""Functions that somebody wrote, which read variables and data that are no arguments of theirs."""

import cloudpickle
import numpy as np
import pytest
import scipy.stats as st
import xarray as xr

import dimtensor as dt
from dimtensor import dist
from dimtensor.errors import ArgumentError
from tests.backend_names import LONG_JAX_COMPILED

G, OBS = dt.Dim("g", coords=["a", "b"]), dt.Dim("obs")
TIME = dt.Dim("time", length=4)
MU = dt.rv("mu", dist.Normal(0.0, 1.0))
AL = dt.rv("al", dist.Normal(MU, 1.0), dims=G)
W = dt.data([1.0, 2.0, 3.0], dims=OBS, name="w")
OF = dt.data(["a", "b", "a"], dims=OBS, categories=G, name="of")
Y = [1.0, 2.5, 4.0]
POINT = {"mu": 0.3, "al": [0.7, -0.2]}
MEAN = np.array([0.7, -0.4, 2.1])


def mean():
    return AL.sel({G: OF}) * W


def custom(sigma=0.5):
    return dist.custom(
        lambda x, sigma: dist.Normal(mean(), sigma).logp(x),
        dt.real,
        lambda rng, dims, sigma: rng.normal(mean(), sigma, dims=dims),
        mean=lambda sigma: mean(),
        sigma=sigma,
    )


def model(backend="python", **options):
    return dt.Model(dt.rv("y", custom(**options), dims=OBS), backend=backend)


def test_a_model_knows_what_functions_read():
    found = model()
    assert list(found.variables) == ["mu", "al", "y"]
    assert {"w", "of"} <= set(found.spec.graph.inputs)
    assert "custom(sigma=0.5, al=al{g}, w=w{obs}, of=of{obs})" in repr(found)
    fit = found.observe(y=Y)
    assert fit.log_density().names == ["mu", "al[a]", "al[b]"]
    np.testing.assert_allclose(fit.logp(POINT)["y"], st.norm(MEAN, 0.5).logpdf(Y))
    drawn = found.draw(2000, seed=1)
    left = drawn["prior_predictive"]["y"] - drawn["prior"]["al"].sel(
        g=xr.DataArray(["a", "b", "a"], dims="obs")
    ) * xr.DataArray([1.0, 2.0, 3.0], dims="obs")
    np.testing.assert_allclose(left.std(["chain", "draw"]), 0.5, rtol=0.1)
    assert dt.rv("y", custom()) is not dt.rv("y", custom())  # other functions
    d = custom()
    assert dt.rv("y", d) is dt.rv("y", d)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
def test_gradients_by_what_functions_read(backend):
    density = model(backend).observe(y=Y).log_density()
    flat = np.array([0.3, 0.7, -0.2])

    def by_hand(x):
        means = x[[1, 2, 1]] * [1.0, 2.0, 3.0]
        return (
            st.norm.logpdf(x[0])
            + st.norm(x[0], 1).logpdf(x[1:]).sum()
            + st.norm(means, 0.5).logpdf(Y).sum()
        )

    value, slope = density.logp_and_grad(flat)
    np.testing.assert_allclose(value, by_hand(flat))
    steps = 1e-5 * np.eye(3)
    expected = [(by_hand(flat + h) - by_hand(flat - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(slope, expected, rtol=1e-6)


def test_other_data_and_other_values_take_their_places():
    fit = model().with_data(w=[2.0, 2.0, 2.0]).observe(y=Y)
    np.testing.assert_allclose(fit.logp(POINT)["y"], st.norm([1.4, -0.4, 1.4], 0.5).logpdf(Y))
    done = model().do(al=3.0).observe(y=Y)
    np.testing.assert_allclose(done.logp({})["y"], st.norm([3, 6, 9], 0.5).logpdf(Y))
    again = cloudpickle.loads(cloudpickle.dumps(model().observe(y=Y)))
    np.testing.assert_allclose(again.logp(POINT)["y"], st.norm(MEAN, 0.5).logpdf(Y))
    seen = model().observe(al=[0.7, -0.2], y=Y)
    np.testing.assert_allclose(seen.logp({"mu": 0.3})["y"], st.norm(MEAN, 0.5).logpdf(Y))


def test_predictions_for_other_lengths_and_new_groups():
    fit = model(sigma=0.01)
    post = xr.Dataset(
        {"mu": (("chain", "draw"), np.full((1, 50), 100.0)),
         "al": (("chain", "draw", "g"), np.tile([1.0, 2.0], (1, 50, 1)))},
        {"g": ["a", "b"]},
    )  # fmt: skip
    wider = dt.Dim("g", coords=["a", "b", "c"])
    found = fit.predict(post, {"w": [10.0, 20.0], "of": ["b", "c"]}, dims={G: wider}, seed=1)
    y = found["predictions"]["y"]
    np.testing.assert_allclose(y.isel(obs=0), 20.0, atol=0.1)
    np.testing.assert_allclose(y.isel(obs=1).mean(), 2000.0, atol=12.0)  # of N(mu, 1), 20 times
    np.testing.assert_allclose(y.isel(obs=1).std(), 20.0, rtol=0.3)


def test_dims_of_what_is_read():
    own = dt.rv("y", dist.custom(lambda x: dist.Normal(AL, 1.0).logp(x), dt.real))
    assert own.dims == (G,)
    summed = dt.rv("y", dist.custom(lambda x: dist.Normal(AL.sum(G), 1.0).logp(x), dt.real))
    assert summed.dims == ()
    fit = dt.Model(summed, backend="python").observe(y=1.0)
    np.testing.assert_allclose(fit.logp(POINT)["y"], st.norm(0.5, 1).logpdf(1.0))


SERIES = np.array([0.5, 1.0, -0.5, 2.0])


def autoregression():
    def step(before):
        return dist.Normal(MU * before, 1.0), lambda value: value

    return dist.Series(step, 1.0, dim=TIME)


def after(mu):
    return mu * np.array([1.0, *SERIES[:-1]])


@pytest.mark.parametrize(
    ("make", "value", "expected"),
    [
        (
            lambda: dist.transformed(
                dist.Normal(0.0, 1.0), lambda z: z * dt.exp(MU), lambda y: y * dt.exp(-MU), dt.real
            ),
            0.4,
            lambda mu: st.norm(0, np.exp(mu)).logpdf(0.4),
        ),
        (autoregression, SERIES, lambda mu: st.norm(after(mu), 1).logpdf(SERIES).sum()),
        (
            lambda: dist.EulerMaruyama(
                lambda x: (-MU * x, 2.0), 0.25, dim=TIME, start=dist.Normal(0.0, 1.0)
            ),
            SERIES,
            lambda mu: (
                st.norm.logpdf(SERIES[0])
                + st.norm(SERIES[:-1] * (1 - 0.25 * mu), 1.0).logpdf(SERIES[1:]).sum()
            ),
        ),
        (
            lambda: dist.mixture(
                dt.data([0.25, 0.75], dims=dt.Dim("k")),
                [
                    dist.Normal(0.0, 1.0),
                    dist.custom(lambda x: dist.Normal(MU, 2.0).logp(x), dt.real),
                ],
                dim="k",
            ),
            0.4,
            lambda mu: np.log(0.25 * st.norm.pdf(0.4) + 0.75 * st.norm(mu, 2).pdf(0.4)),
        ),
    ],
    ids=["transformed", "Series", "EulerMaruyama", "mixture"],
)
def test_all_distributions_that_are_given_functions(make, value, expected):
    fit = dt.Model(dt.rv("y", make()), backend="python").observe(y=value)
    assert fit.log_density().names == ["mu"]
    for mu in (0.3, -1.0):
        np.testing.assert_allclose(fit.logp({"mu": mu})["y"].sum(), expected(mu))


def test_a_series_goes_on_with_what_its_steps_read():
    time = dt.Dim("time", coords=[0, 1, 2])
    start = dt.rv("start", dist.Normal(0.0, 1.0))

    def step(before):
        return dist.Normal(before + start, 0.001), lambda value: value

    state = dt.rv("state", dist.Series(step, 0.0, dim=time))
    noise = dt.rv("noise", dist.Normal(state, 1.0))
    post = xr.Dataset(
        {"start": (("chain", "draw"), [[2.0, 3.0]]),
         "state": (("chain", "draw", "time"), [[[5.0, 6.0, 7.0], [5.0, 6.0, 8.0]]])},
        {"time": [0, 1, 2]},
    )  # fmt: skip
    longer = dt.Dim("time", coords=[0, 1, 2, 3, 4])
    fit = dt.Model(noise, backend="python")
    found = fit.predict(post, dims={time: longer}, seed=1, names="state")["predictions"]["state"]
    np.testing.assert_allclose(found[0], [[5, 6, 7, 9, 11], [5, 6, 8, 11, 14]], atol=0.02)


def test_what_only_draws_read():
    d = dist.custom(lambda x: 0.0 * x, dt.real, lambda rng, dims: rng.normal(MU, 0.001, dims=dims))
    found = dt.Model(dt.rv("y", d), backend="python")
    assert list(found.variables) == ["mu", "y"]
    drawn = found.draw(20, seed=1)
    np.testing.assert_allclose(drawn["prior_predictive"]["y"], drawn["prior"]["mu"], atol=0.01)


def test_a_number_that_is_a_parameter_may_stand_elsewhere():
    d = dist.custom(lambda x, by: 2.0 * (x - MU) / by, dt.real, by=2.0)
    node = dt.rv("y", d).node
    mu, by = dt.scalar("mu"), dt.scalar("by")
    others = [mu if x is MU.node else by for x in node.inputs]
    value = node.attrs.spec.build([x.node for x in others]).logp(5.0)
    assert float(value.eval({mu: 1.0, by: 4.0})) == 2.0


def test_dims_of_a_density_are_those_of_its_variable():
    """A number is not counted once for each element of data that have no name."""
    means = np.array([1.0, 2.0, 4.0])
    w = dt.data(means, dims=OBS)

    def around(x):
        return dist.Normal(w, 1.0).logp(x)

    x = dt.rv("x", dist.custom(around, dt.real, lambda rng, dims: rng.normal(w, 1.0, dims=dims)))
    assert x.dims == (OBS,)
    model = dt.Model(x, backend="python")
    assert model.log_density().size == 3
    assert dict(model.draw(2, seed=1)["prior_predictive"]["x"].sizes) == {
        "chain": 1, "draw": 2, "obs": 3
    }  # fmt: skip
    np.testing.assert_allclose(model.observe(x=Y).logp({})["x"], st.norm(means, 1.0).logpdf(Y))
    assert set(dt.rv("x", dist.custom(around, dt.real), dims=G).dims) == {OBS, G}
    both = dt.data([0.5, 0.5], dims=dt.Dim("k", length=2))
    mixed = dist.mixture(both, [dist.custom(around, dt.real), dist.Normal(0.0, 1.0)], dim="k")
    assert dt.rv("x", mixed).dims == (OBS,)


def test_parameters_may_have_the_names_of_arguments():
    m = dt.rv("m", dist.Normal(0.0, 1.0))
    d = dist.custom(lambda x, mean: dist.Normal(mean, 1.0).logp(x), dt.real, mean=m)
    assert not d.implements("mean")
    fit = dt.Model(dt.rv("y", d), backend="python").observe(y=0.5)
    np.testing.assert_allclose(fit.logp({m: 0.25})["y"], st.norm(0.25, 1.0).logpdf(0.5))
    d = dist.custom(
        lambda x, name, draw, variance: dist.Normal(name, draw * variance).logp(x),
        dt.real, name=1.0, draw=2.0, variance=1.5,
    )  # fmt: skip
    np.testing.assert_allclose(d.logp(0.5).eval(), st.norm(1.0, 3.0).logpdf(0.5))
    named = dist.custom(lambda x, **others: -x, dt.positive, name="waiting", mean=lambda: 1.0)
    assert named.name == "waiting"
    assert named.mean() == 1.0
    with pytest.raises(ArgumentError, match=r"(?s)mean is a function, not .*def logp\(x, mean\)"):
        dist.custom(lambda x: -x, dt.positive, mean=m)
