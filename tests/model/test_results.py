"""Results of samplers: what their names may be, and that no failure after sampling loses draws."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor import dist
from dimtensor.model.inference import pointwise
from dimtensor.model.inference import sample as sampling
from dimtensor.model.inference.storage import Results

K = dt.Dim("k", coords=["a/b", "c"])
PER = dt.Dim("per km/h", coords=["a", "c"])


def model(name="y", mean="mu", scale="scale", twice="twice", dim=K):
    mu = dt.rv(mean, dist.Normal(0.0, 1.0), dims=dim)
    y = dt.rv(name, dist.Normal(dt.named(twice, 2.0 * mu), dt.data(1.0, name=scale)))
    return dt.Model(y, backend="python")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"name": "y/z"}, r"random variable 'y/z'(.|\n)*call it 'y_per_z'"),
        ({"mean": "m / u"}, r"random variable 'm / u'(.|\n)*call it 'm_per_u'"),
        ({"twice": "a/b"}, "expression 'a/b'"),
        ({"scale": "km/h"}, "name of data 'km/h'"),
        ({"dim": PER}, r"dim 'per km/h'(.|\n)*call it 'per km_per_h'"),
    ],
)
def test_a_model_refuses_names_that_a_tree_does_not_take(options, text):
    with pytest.raises(dt.OptionError, match=f"the {text}"):
        model(**options)


def test_densities_and_formulas_refuse_them_too():
    pd, _ = pytest.importorskip("pandas"), pytest.importorskip("formulae")
    x, y = dt.scalar("x"), dt.scalar("x/y")
    with pytest.raises(dt.OptionError, match="the parameter 'x/y'"):
        dt.LogDensity(-(y**2), {y: dt.real})
    with pytest.raises(dt.OptionError, match="the term 'a/b'"):
        dt.LogDensity({"a/b": -(x**2)}, {x: dt.real})
    density = dt.LogDensity(-(x**2), {x: dt.real}, backend="python")
    with pytest.raises(dt.OptionError, match="the deterministic 'a/b'"):
        dt.sample(density, 2, extra={"a/b": 2.0 * x})
    table = pd.DataFrame({"y": [1.0, 2.0, 4.0], "a": [1.0, 2.0, 3.0], "b": [2.0, 1.0, 5.0]})
    with pytest.raises(dt.OptionError, match=r"'I\(a / b\)'(.|\n)*in a formula, name a column so"):
        dt.from_formula("y ~ I(a/b)", table)


def test_labels_may_have_slashes():
    found = model().observe(y=[1.0, 2.0]).laplace(3, seed=1)
    assert found["posterior"]["mu"].sel(k="a/b").sizes == {"chain": 1, "draw": 3}


def test_draws_survive_what_cannot_be_recorded():
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    bad = dt.named("bad", dt.check(mu < -100.0, "never true", mu))
    y = dt.rv("y", dist.Normal(dt.named("twice", 2.0 * mu), 1.0))
    fit = dt.Model(y, bad, backend="python").observe(y=1.0)
    with pytest.raises(dt.CheckError, match="never true") as caught:
        fit.laplace(7, seed=1)
    draws = caught.value.draws
    assert set(draws["posterior"].data_vars) == {"mu", "twice"}
    np.testing.assert_allclose(draws["posterior"]["twice"], 2.0 * draws["posterior"]["mu"])
    assert draws["sample_stats"]["lp"].sizes == {"chain": 1, "draw": 7}
    assert draws["unconstrained_posterior"]["mu"].size == 7
    assert "attribute `draws`" in caught.value.__notes__[0]


def test_draws_survive_whatever_fails_after_sampling(monkeypatch):
    pytest.importorskip("nutpie")
    quiet = {"tune": 20, "chains": 1, "seed": 1, "progress_bar": False, "report": False}
    fit = model().observe(y=[1.0, 2.0])

    def fails(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pointwise, "log_likelihood", fails)
        with pytest.raises(KeyboardInterrupt) as caught:
            fit.sample(5, log_likelihood=True, **quiet)
    assert {"posterior", "observed_data"} <= set(caught.value.draws.children)
    monkeypatch.setattr(sampling, "judge", fails)
    with pytest.raises(KeyboardInterrupt) as caught:
        fit.sample(5, **quiet)
    assert caught.value.draws["posterior"]["mu"].sizes == {"chain": 1, "draw": 5, "k": 2}


def test_results_say_which_group_has_a_variable():
    drawn = xr.Dataset({"mu": (("chain", "draw"), np.arange(3.0)[None])})
    post = Results.from_dict({"posterior": drawn, "prior": drawn + 1.0})
    for wrong in ('post["mu"]', "post.mu"):
        kind = KeyError if "[" in wrong else AttributeError
        with pytest.raises(kind, match=r"with 'mu': 'posterior', 'prior'") as e:
            eval(wrong, {"post": post})
        _, hint = str(e.value).split("hint: ")
        assert eval(hint, {"post": post}).values.tolist() == [[0.0, 1.0, 2.0]]
    for key, text in (("posteriro", "did you mean 'posterior'"), ("nu", "'nu' in the tree")):
        with pytest.raises(KeyError, match=text):
            post[key]
    with pytest.raises(KeyError, match=r"no 'm' in the group 'prior'(.|\n)*variables: 'mu'"):
        post["prior"]["m"]
    # all else is as xarray has it
    plain = xr.DataTree.from_dict({"posterior": drawn, "prior": drawn + 1.0})
    for tree in (post, plain):
        assert "mu" not in tree
        assert not hasattr(tree, "mu")
        assert tree.get("mu", 1) == 1
        assert tree["prior/mu"].max() == tree["/prior"].mu.max() == 3.0
        tree["posterior/k"] = xr.DataArray(4)
        assert tree.posterior["k"] == 4
        with pytest.raises(ValueError, match="Invalid format for key"):
            tree[3]
