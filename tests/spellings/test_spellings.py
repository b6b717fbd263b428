"""What newcomers from PyMC and SciPy write is answered with what is written here, which runs."""

from __future__ import annotations

import contextlib
import re

import numpy as np
import pandas as pd
import pytest

import dimtensor as dt
from dimtensor import dist
from dimtensor.spellings import TABLE

COUNTY = dt.Dim("county", coords=["A", "B", "C"])
K = dt.Dim("k", length=3)
ROWS = [row for row in TABLE if row.names]
ATTRIBUTES = [(row, name) for row in ROWS for name in row.names.split()]


def hint_of(act):
    """The hint of an error, its last line."""
    with pytest.raises(dt.DimtensorError, match="hint: ") as caught:
        act()
    return str(caught.value).rpartition("hint: ")[2]


@pytest.fixture(scope="module")
def model():
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    y = dt.rv("y", dist.Normal(mu, 1.0), dims=COUNTY)
    return dt.Model(y, backend="python")


@pytest.mark.parametrize(("row", "name"), ATTRIBUTES, ids=lambda x: getattr(x, "where", x))
def test_names_of_the_table_are_there_and_lead_to_what_it_says(row, name, model):
    ours = row.ours.replace("`", "")
    where = {
        "dt": dt,
        "dist": dist,
        "random": dt.random,
        "distribution": dist.Normal(0.0, 1.0),
        "model": model,
    }
    if row.where in where:
        assert not hasattr(where[row.where], name)
        assert hint_of(lambda: getattr(where[row.where], name)) == ours
    elif row.where == "rv":
        hint = hint_of(lambda: dt.rv("x", dist.Normal(0.0, 1.0), **{name: 3}))
        assert (
            hint.split(":")[0]
            == ours.replace("dist.Normal(0, 1)", "dist.Normal(mu=0, sigma=1)").split(":")[0]
        )
    else:
        assert row.where == "Model"
        hint = hint_of(lambda: dt.Model(model["y"], **{name: {"county": ["A"]}}))
        assert hint == "labels belong to dims: county = dt.Dim('county', coords=['A'])"


def run(code, model):
    """Run code of the table in a place where the names are that it uses."""
    fit = model.observe({"y": [1.0, 2.0, 3.0]})
    x = dt.rv("x", dist.Normal(0.0, 1.0), dims=COUNTY)
    names = {
        "dt": dt, "dist": dist, "np": np, "county": COUNTY, "k": K, "names": ["A"], "n": 10.0,
        "house": dt.Dim("house"), "obs": COUNTY, "predictor": K, "dim": K, "x": x, "y": model["y"],
        "a": x, "b": x, "c": x > 0.0, "mu": x, "sigma": 1.0, "psi": 0.5, "eta": x, "q": 0.5,
        "w": dt.data([0.2, 0.3, 0.5], dims=K), "d": dist.Normal(0.0, 1.0), "term": -x * x,
        "lower": -1.0, "upper": 1.0, "values": [1.0, 2.0, 3.0], "radon": model["y"],
        "alpha": model["y"], "beta": dt.data([1.0, 2.0, 3.0], dims=K), "model": model, "fit": fit,
        "support": dt.real, "logp": lambda x: -x, "nu": 5.0,
        "county_of": dt.data(["A"], dims=dt.Dim("house"), categories=COUNTY),
    }  # fmt: skip
    names["floor"] = dt.tensor("floor", dims=names["house"])
    names["e"] = names["d"]
    if code.startswith("dist.zero_inflated"):
        names["d"] = dist.Poisson(2.0)
    with contextlib.suppress(SyntaxError):
        return eval(code, names)
    exec(code, names)
    return None


# what takes long, writes files, or needs draws
NOT_RUN = ("fit.sample", "post = fit.sample", "model.predict", "model.to_graph", "az.summary",
           "fit.log_", "fit.advi", "fit.pathfinder", "fit.laplace", "fit.mode", "model.draw",
           "dt.Model(x).draw",
           "dist.Wishart", "model.do", "model.observe({p")  # fmt: skip
CODE = [
    code
    for row in TABLE
    for code in re.findall("`([^`]+)`", row.ours)
    if re.search(r"\w[.(=+]", code) and not code.endswith("=") and not code.startswith(NOT_RUN)
]


@pytest.mark.parametrize("code", dict.fromkeys(CODE))
def test_what_the_table_says_runs(code, model):
    if "floor: values" in code:
        code = code.replace("y, data", "dt.named('f', 2 * floor), data")
    if code.startswith("dt.dot(x"):
        code = code.replace("(x", "(beta")
    if code.startswith(("dt.concat", "dist.mixture(w, [d, e]")):
        code = code.replace("[x, y]", "[beta, beta]").replace("[d, e]", "[d, d, e]")
    if code.startswith("x, rng = d.draw"):
        code = "x, rng = d.draw(dt.random.generator(1))"
    run(code, model)


@pytest.mark.parametrize(
    ("act", "hint"),
    [
        (lambda: dt.Normal("x", 0, 1), "dt.rv('x', dist.Normal(mu, sigma))"),
        (lambda: dist.Normal("speed", 0, 1), "dt.rv('speed', dist.Normal(0, 1))"),
        (
            lambda: dist.Normal("b", 0, sd=1, shape=(2, 3)),
            "dt.rv('b', dist.Normal(mu, sigma, tau), "
            "dims=[dt.Dim('b_dim_0', length=2), dt.Dim('b_dim_1', length=3)])",
        ),
        (lambda: dist.Normal(0, 1, dims=COUNTY), "dt.rv('x', dist.Normal(0, 1), dims=county)"),
        (lambda: dist.HalfNormal(sd=2.0), "dist.HalfNormal(sigma=2.0)"),
        (lambda: dist.Normal(loc=0, scale=1), "dist.Normal(mu=0, sigma=1)"),
        (lambda: dist.Gamma(2, rate=3), "dist.Gamma(2, beta=3)"),
        (lambda: dist.truncated(dist.Normal(0, 1), low=0), "dist.Normal(mu=0, sigma=1), lower=0)"),
        (lambda: dist.Dirichlet([1.0, 1.0]), "dim=dt.Dim('k', length=3)"),
        (lambda: dist.Normal(0, 1).draw(1), "Normal(mu=0, sigma=1).draw(dt.random.generator(1))"),
        (lambda: dt.rv("b", dist.Normal(0, 1), shape=4), "dt.Dim('b_dim', length=4)"),
        (lambda: dt.rv("b", dist.Normal(0, 1), initval=2.0), "fit.sample(initial={'b': 1.0})"),
        (lambda: dt.rv("b", dist.Normal(0, 1), transform="log"), "dt.rv('b', dist.ordered("),
        (lambda: dt.rv("b", dist.Normal), "dt.rv('b', dist.Normal(...))"),
        (lambda: dt.rv(dist.Normal(0, 1), "b"), "dt.rv('b', dist.Normal(mu=0, sigma=1))"),
        (lambda: dt.rv("b", dt.rv("a", dist.Normal(0, 1))), "dt.named('b', ...)"),
        (lambda: dt.Dim(school=["A", "B"]), "dt.Dim('school', coords=['A', 'B'])"),
        (lambda: dt.Dim("school", size=8), "dt.Dim('school', length=8)"),
        (lambda: dt.Model(), "dt.Model(y)"),
        (lambda: dt.sample(1000), "fit.sample(1000, seed=1)"),
        (lambda: dt.data([1.0, 2.0, 3.0], dims=COUNTY).sel("A"), "x.sel(county='A')"),
        (lambda: dt.data([1.0, 2.0, 3.0], dims=COUNTY)["A"], "x.sel({'county': 'A'})"),
        (lambda: dt.data([1.0, 2.0, 3.0], dims=COUNTY).shift(1), "x.shift(county=1)"),
        (lambda: dt.data([1.0, 2.0, 3.0], dims=COUNTY).reindex("A"), "x.reindex(county=labels)"),
        (lambda: dist.Normal(dist.Normal(0, 1), 1), "dt.rv('x', dist.Normal(mu=0, sigma=1))"),
        (lambda: dt.rv("speed", dist.Normal(0, 1)).eval(), "dt.Model(speed).draw(100, seed=1)"),
        (lambda: dt.eye(3), "dt.eye(dt.Dim('k', length=3))"),
        (
            lambda: dist.Normal(0, 1).draw(np.random.default_rng(1)),
            "Normal(mu=0, sigma=1).draw(dt.random.generator(1))",
        ),
        (lambda: dt.random.normal(0, 1), "dt.random.generator(1).normal(...)"),
    ],
)  # fmt: skip
def test_hints_have_the_names_that_were_given(act, hint):
    assert hint in hint_of(act)


# what names of SciPy, NumPyro, PyTorch and Stan are here, by their documentation; None: no guess
@pytest.mark.parametrize(
    ("family", "option", "parameter"),
    [
        ("Normal", "loc", "mu"), ("Normal", "scale", "sigma"), ("Normal", "sd", "sigma"),
        ("Normal", "precision", "tau"), ("Normal", "rate", None), ("Normal", "theta", None),
        ("InverseGamma", "scale", "beta"), ("InverseGamma", "concentration", "alpha"),
        ("InverseGamma", "rate", None), ("Gamma", "rate", "beta"), ("Gamma", "shape", "alpha"),
        ("Gamma", "concentration", "alpha"), ("Exponential", "rate", "lam"),
        ("Laplace", "scale", "b"), ("Laplace", "loc", "mu"),
        ("AsymmetricLaplace", "scale", None), ("HalfCauchy", "scale", "beta"),
        ("Weibull", "scale", "beta"), ("Weibull", "k", "alpha"), ("Lomax", "scale", "lam"),
        ("Beta", "scale", None), ("Beta", "a", "alpha"), ("StudentT", "df", "nu"),
        ("StudentT", "scale", "sigma"), ("Rice", "df", None), ("ExGaussian", "df", None),
        ("Poisson", "rate", "mu"), ("Poisson", "lam", "mu"), ("Wald", "shape", "lam"),
        ("Wald", "precision", None), ("VonMises", "concentration", "kappa"),
        ("VonMises", "loc", "mu"), ("Bernoulli", "probs", "p"), ("Bernoulli", "theta", "p"),
        ("Bernoulli", "logits", "logit_p"), ("Binomial", "total_count", "n"),
        ("LogNormal", "meanlog", "mu"), ("LogNormal", "sdlog", "sigma"),
        ("Uniform", "low", "lower"), ("Uniform", "b", "upper"), ("PERT", "precision", None),
        ("GeneralizedGamma", "loc", None), ("Burr", "loc", None),
        ("NegativeBinomial", "phi", "alpha"), ("Gumbel", "scale", "beta"),
    ],
)  # fmt: skip
def test_parameters_are_known_by_what_they_mean(family, option, parameter):
    with pytest.raises(dt.ArgumentError, match=f"^{family} takes no '{option}'") as caught:
        getattr(dist, family)(**{option: 0.5})
    hint = str(caught.value).partition("hint: ")[2]
    assert hint == (
        f"{parameter} is its name here: dist.{family}({parameter}=0.5)" if parameter else ""
    )


def test_tables_without_names_of_their_axes():
    df = pd.DataFrame({"hours": [1.0, 2.0], "age": [3.0, 4.0]})
    hint = hint_of(lambda: dt.data(df))
    table, matrix = (each.split(" is ")[-1].split("dims: ")[-1] for each in hint.split("; "))
    names = {"dt": dt, "df": df, "series": df["hours"], "values": [1.0, 2.0]}
    assert set(eval(table, names)) == {"hours", "age"}
    assert eval(matrix, names).sel(column="age").values.tolist() == [3.0, 4.0]
    hint = hint_of(lambda: dt.data(df["hours"]))
    code = f"dt.data(series, {hint.split(', or')[0].removeprefix('pass ')})"
    assert eval(code, names).values.tolist() == [1.0, 2.0]
    hint = hint_of(lambda: dt.data("hours", [1.0, 2.0]))
    assert eval(hint, names).name == "hours"
    hint = hint_of(lambda: dt.data([1.0, 2.0]))
    code = f"dt.data(values, {hint.removeprefix('name them: ')})"
    assert eval(code, names).values.tolist() == [1.0, 2.0]


def test_a_model_is_no_context(model):
    with pytest.raises(dt.ArgumentError, match=r"no context: .*\nhint: .* model\['y'\]"), model:
        pass


def test_methods_of_models_name_their_arguments(model):
    with pytest.raises(dt.ArgumentError, match=r"draw takes no 'random_seed'[^M]*seed=1$"):
        model.draw(10, random_seed=1)
    with pytest.raises(dt.ArgumentError, match=r"^draw needs 'seed'\n"):
        model.draw(10)
    with pytest.raises(dt.NoAttributeError, match=r"brackets: model\['mu'\]$"):
        _ = model.mu


def test_errors_of_what_functions_do_are_theirs():
    def logp(x):
        return len(x, 2)

    with pytest.raises(TypeError, match="takes exactly one argument") as caught:
        dt.rv("x", dist.custom(logp, dt.real))
    assert not isinstance(caught.value, dt.ArgumentError)


def test_ordered_numbers_with_a_mean_each():
    """Their density is that of independent ones where they rise, and nothing elsewhere."""
    cut = dt.Dim("cut", length=2)
    d = dist.Normal(dt.data([-1.0, 1.0], dims=cut), 1.0)
    hint = hint_of(lambda: dist.ordered(d, dim=cut))
    code = hint[hint.index("dist.custom") : hint.rindex(", up to")]
    c = dt.rv("c", eval(code, {"dist": dist, "dt": dt, "d": d, "cut": cut}))
    found = dt.Model(c, backend="python").logp({"c": [-1.0, 2.0]})["c"]
    np.testing.assert_allclose(found, 2 * -0.5 * np.log(2 * np.pi) - 0.5)
    assert dt.Model(c, backend="python").log_density().size == 2


def test_cutpoints_that_are_a_list():
    with pytest.raises(dt.InputError, match="cutpoints of OrderedLogistic: nothing says which"):
        dist.OrderedLogistic(0.0, [-1.0, 1.0], dim=K)


@pytest.mark.parametrize(
    ("act", "says"),
    [
        (lambda fit: fit.sample(100, 100, 2), r"sample\(100, tune=100, chains=2\)"),
        (lambda fit: fit.laplace(100, 1), r"laplace\(100, seed=1\)"),
        (lambda fit: fit.observe({"y": 1.0}, "drop"), r"observe\(..., missing='drop'\)"),
    ],
)
def test_arguments_that_need_names_get_them(act, says):
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    fit = dt.Model(dt.rv("y", dist.Normal(mu, 1.0)), backend="python").observe(y=1.0)
    with pytest.raises(dt.DimtensorError, match=f"without names, and is given(.|\n)*hint: {says}"):
        act(fit)


@pytest.mark.parametrize(
    ("make", "former", "new"),
    [
        (lambda: dt.explain(dt.scalar("a") + 1.0), "draw", "plot"),
        pytest.param(
            lambda: dt.simplify(dt.scalar("a") + 1.0),
            "draw",
            "to_graph",
            marks=pytest.mark.plugin("saturation"),
        ),
        (lambda: dt.real, "numbered", "unlabeled_dims"),
    ],
)
def test_former_names_of_methods_name_the_new_ones(make, former, new):
    owner = make()
    with pytest.raises(dt.NoAttributeError, match=rf"no attribute '{former}'\nhint: .*\.{new}$"):
        getattr(owner, former)
    assert callable(getattr(owner, new))
    assert not hasattr(owner, "never_a_name")
