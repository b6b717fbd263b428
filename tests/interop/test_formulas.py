"""Models by formula against densities written with SciPy."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.stats as st
import xarray as xr
from scipy.special import expit, gamma, log_softmax

import dimtensor as dt
from dimtensor import dist

formulae = pytest.importorskip("formulae")
pl = pytest.importorskip("polars")
N = 24
RNG = np.random.default_rng(7)
TABLE = pd.DataFrame(
    {
        "y": RNG.normal(3.0, 2.0, N), "x": RNG.normal(1.0, 0.5, N), "z": RNG.normal(size=N),
        "k": RNG.integers(0, 5, N), "n": 6, "u": RNG.uniform(0.1, 0.9, N),
        "g": np.resize(list("abc"), N), "h": np.resize(["u", "u", "v"], N)[::-1],
        "county": np.resize(["q", "p", "s", "r", "r"], N),
    }
)  # fmt: skip
X, Y, S = TABLE["x"].to_numpy(), TABLE["y"].to_numpy(), float(np.std(TABLE["y"]))
COUNTIES = ["p", "q", "r", "s"]
OF = np.array([COUNTIES.index(c) for c in TABLE["county"]])


def model(formula, family="gaussian", table=TABLE, **options):
    return dt.from_formula(formula, table, family, backend="python", **options)


def densities(fit, point):
    """Sums of log densities by variable, of the variables themselves."""
    found = fit.centered().logp(point)
    return {name: float(np.sum(found[name])) for name in found}


def half(value, scale):
    return st.halfnorm(scale=scale).logpdf(value)


def test_slopes_and_intercepts_of_groups():
    fit = model("y ~ 1 + x + (1 + x || county)")
    one, two = RNG.normal(size=4), RNG.normal(size=4)
    point = {
        "x": 0.5, "Intercept": 2.0, "sigma": 1.5, "1|county_sigma": 0.7, "x|county_sigma": 0.3,
        "1|county": one, "x|county": two,
    }  # fmt: skip
    slope = 2.5 * S / X.std()
    whole = np.sqrt((2.5 * S) ** 2 + slope**2 * X.mean() ** 2)
    mean = 2.0 + 0.5 * X + one[OF] + two[OF] * X
    expected = {
        "x": st.norm(0, slope).logpdf(0.5),
        "Intercept": st.norm(Y.mean(), whole).logpdf(2.0),
        "sigma": np.log(2) + st.t(4, 0, S).logpdf(1.5),
        "1|county_sigma": half(0.7, whole),
        "x|county_sigma": half(0.3, slope),
        "1|county": st.norm(0, 0.7).logpdf(one).sum(),
        "x|county": st.norm(0, 0.3).logpdf(two).sum(),
        "y": st.norm(mean, 1.5).logpdf(Y).sum(),
    }
    found = densities(fit, point)
    assert set(found) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-10, err_msg=name)
    assert [str(label) for label in fit["1|county"].dims[0].coords] == COUNTIES
    # group-specific terms are sampled standardized
    assert "1|county_raw[p]" in fit.log_density().names


def test_categorical_predictors_and_interactions():
    fit = model("y ~ 1 + g + x:h + (0 + g || county)")
    (levels,) = fit["g"].dims
    assert levels._short == "g_dim"
    assert list(levels.coords) == ["b", "c"]
    (both,) = fit["x:h"].dims
    assert list(both.coords) == ["u", "v"]
    g, xh, own = np.array([1.0, -1.0]), np.array([0.2, 0.4]), RNG.normal(size=(4, 3))
    point = {
        "Intercept": 1.0, "g": g, "x:h": xh, "sigma": 2.0, "g|county_sigma": [0.5, 1.0, 2.0],
        "g|county": (["county", "g|county_dim"], own),
    }  # fmt: skip
    is_g = np.array([(TABLE["g"] == level).to_numpy(float) for level in "abc"])
    is_h = np.array([(TABLE["h"] == level).to_numpy(float) for level in "uv"])
    mean = 1.0 + g @ is_g[1:] + xh @ (X * is_h) + (own[OF].T * is_g).sum(0)
    found = densities(fit, point)
    np.testing.assert_allclose(found["y"], st.norm(mean, 2.0).logpdf(Y).sum())
    slopes = 2.5 * S / is_g[1:].std(axis=1)
    np.testing.assert_allclose(found["g"], st.norm(0, slopes).logpdf(g).sum())
    spread = half([0.5, 1.0, 2.0], 2.5 * S / is_g.std(axis=1)).sum()
    np.testing.assert_allclose(found["g|county_sigma"], spread)
    np.testing.assert_allclose(found["g|county"], st.norm(0, [0.5, 1.0, 2.0]).logpdf(own).sum())


def test_numbers_inside_of_functions_and_offsets():
    fit = model("y ~ 0 + I(x**2) + poly(x, 2) + offset(z) + (0 + x | county)")
    q, r = np.linalg.qr(np.vander(X - X.mean(), 3, increasing=True))
    poly = (q * np.sign(np.diag(r)))[:, 1:]
    one = RNG.normal(size=4)
    point = {"I(x ** 2)": 0.5, "poly(x, 2)": [1.0, -2.0], "sigma": 1.5, "x|county": one,
             "x|county_sigma": 1.0}  # fmt: skip
    mean = 0.5 * X**2 + poly @ [1.0, -2.0] + TABLE["z"] + one[OF] * X
    np.testing.assert_allclose(densities(fit, point)["y"], st.norm(mean, 1.5).logpdf(Y).sum())
    assert set(fit.free) == set(point)
    post = posterior(**{name: ((), x) for name, x in point.items() if np.ndim(x) == 0},
                     **{"poly(x, 2)": (("poly(x, 2)_dim",), [1.0, -2.0]),
                        "x|county": (("county",), one)})  # fmt: skip
    found = fit.predict(post, TABLE[3:5], seed=1, names="y_linear")["predictions"]["y_linear"]
    np.testing.assert_allclose(found[0, 0], mean[3:5])


@pytest.mark.parametrize(
    ("formula", "family", "point"),
    [
        ("y ~ 1", "gaussian", {"Intercept": 1.0, "sigma": 2.0}),
        ("k ~ 1", "poisson", {"Intercept": 1.0}),
        ("p(k, n) ~ 1", "binomial", {"Intercept": 0.0}),
        ("proportion(k, 6) ~ 1", "binomial", {"Intercept": 0.0}),
        ("g ~ 1", "categorical", {"Intercept": [0.0, 0.0]}),
        ("g ~ 1", "ordinal", {"threshold": [np.log(0.5), np.log(2.0)]}),
    ],
)
def test_nothing_but_an_intercept(formula, family, point):
    fit = model(formula, family)
    assert set(fit.free) == set(point)
    name = str(fit.outputs[0].node.name)
    expected = {
        "gaussian": lambda: st.norm(1, 2).logpdf(Y),
        "poisson": lambda: st.poisson(np.e).logpmf(K),
        "binomial": lambda: st.binom(6, 0.5).logpmf(K),
    }.get(family, lambda: np.full(N, -np.log(3)))()
    np.testing.assert_allclose(densities(fit, point)[name], expected.sum())
    rows = pd.DataFrame({"n": [1, 2, 3, 4]})
    drawn = fit.predict(fit.draw(5, seed=1)["prior"].to_dataset(), rows, seed=1)
    assert drawn["predictions"][name].sizes == {"chain": 1, "draw": 5, "obs": 4}


def test_predictors_that_are_the_same_everywhere():
    for family, response, slope in (("bernoulli", "h['u']", 1.0), ("gaussian", "y", 2.5 * S)):
        fit = model(f"{response} ~ c + n:c", family, TABLE.assign(c=0.1))
        found = fit.logp({"Intercept": 0.0, "c": 0.0, "n:c": 0.0} | dict.fromkeys(
            {"sigma"} & set(fit.free), 1.0))  # fmt: skip
        np.testing.assert_allclose(found["c"], st.norm(0, slope).logpdf(0.0))
        np.testing.assert_allclose(found["n:c"], st.norm(0, slope).logpdf(0.0))
    fit = model("y ~ x", table=TABLE[:1])
    found = fit.logp({"Intercept": Y[0], "x": 0.0, "sigma": 1.0})
    np.testing.assert_allclose(found["x"], st.norm(0, 2.5).logpdf(0.0))


def test_functions_of_the_caller():
    def half(x):
        return x / 2

    for namespace in ({"half": half}, "caller"):
        formula = "y ~ 0 + half(x)"
        fit = dt.from_formula(formula, TABLE, namespace=namespace, backend="python")
        found = densities(fit, {"half(x)": 3.0, "sigma": 1.0})
        np.testing.assert_allclose(found["y"], st.norm(1.5 * X, 1.0).logpdf(Y).sum())


K, U = TABLE["k"].to_numpy(), TABLE["u"].to_numpy()
ETA = 0.3 + 0.4 * X
MU = np.exp(ETA)
FAMILIES = {
    "t": ("y", {"sigma": 1.2, "nu": 5.0}, lambda: st.t(5.0, ETA, 1.2).logpdf(Y)),
    "bernoulli": (
        "h['u']", {}, lambda: st.bernoulli(expit(ETA)).logpmf((TABLE["h"] == "u").astype(int))
    ),
    "binomial": ("p(k, n)", {}, lambda: st.binom(6, expit(ETA)).logpmf(K)),
    "poisson": ("k", {}, lambda: st.poisson(MU).logpmf(K)),
    "negativebinomial": ("k", {"alpha": 2.0}, lambda: st.nbinom(2.0, 2.0 / (2.0 + MU)).logpmf(K)),
    "gamma": ("u", {"alpha": 3.0}, lambda: st.gamma(3.0, scale=MU / 3.0).logpdf(U)),
    "beta": (
        "u", {"kappa": 4.0}, lambda: st.beta(4 * expit(ETA), 4 * (1 - expit(ETA))).logpdf(U)
    ),
    "exponential": ("u", {}, lambda: st.expon(scale=MU).logpdf(U)),
    "weibull": (
        "u", {"alpha": 1.5},
        lambda: st.weibull_min(1.5, scale=MU / gamma(1 + 1 / 1.5)).logpdf(U),
    ),
    "wald": ("u", {"lam": 2.0}, lambda: st.invgauss(MU / 2.0, scale=2.0).logpdf(U)),
    "lognormal": ("u", {"sigma": 0.7}, lambda: st.lognorm(0.7, scale=MU).logpdf(U)),
    "laplace": ("y", {"b": 1.2}, lambda: st.laplace(ETA, 1.2).logpdf(Y)),
    "asymmetriclaplace": (
        "y", {"b": 1.2, "kappa": 0.8},
        lambda: st.laplace_asymmetric(0.8, ETA, 1 / 1.2).logpdf(Y),
    ),
    "exgaussian": (
        "y", {"sigma": 1.2, "nu": 0.6}, lambda: st.exponnorm(0.5, ETA, 1.2).logpdf(Y)
    ),
    "vonmises": ("u", {"kappa": 1.5}, lambda: st.vonmises(1.5, ETA).logpdf(U)),
    "beta_binomial": (
        "p(k, n)", {"kappa": 4.0},
        lambda: st.betabinom(6, 4 * expit(ETA), 4 * (1 - expit(ETA))).logpmf(K),
    ),
    "zero_inflated_poisson": ("k", {"psi": 0.8}, lambda: inflated(st.poisson(MU))),
    "zero_inflated_negativebinomial": (
        "k", {"psi": 0.8, "alpha": 2.0}, lambda: inflated(st.nbinom(2.0, 2.0 / (2.0 + MU)))
    ),
    "zero_inflated_binomial": ("p(k, n)", {"psi": 0.8}, lambda: inflated(st.binom(6, expit(ETA)))),
    "hurdle_poisson": ("k", {"psi": 0.8}, lambda: behind_a_hurdle(st.poisson(MU))),
    "hurdle_negativebinomial": (
        "k", {"psi": 0.8, "alpha": 2.0},
        lambda: behind_a_hurdle(st.nbinom(2.0, 2.0 / (2.0 + MU))),
    ),
    "hurdle_gamma": (
        "u", {"psi": 0.8, "alpha": 3.0},
        lambda: np.log(0.8) + st.gamma(3.0, scale=MU / 3.0).logpdf(U),
    ),
    "hurdle_lognormal": (
        "u", {"psi": 0.8, "sigma": 0.7},
        lambda: np.log(0.8) + st.lognorm(0.7, scale=MU).logpdf(U),
    ),
}  # fmt: skip


def inflated(base):
    return np.log(0.8 * base.pmf(K) + 0.2 * (K == 0))


def behind_a_hurdle(base):
    return np.where(K == 0, np.log(0.2), np.log(0.8) + base.logpmf(K) - np.log1p(-base.pmf(0)))


@pytest.mark.parametrize("family", FAMILIES)
def test_families(family):
    response, parameters, expected = FAMILIES[family]
    fit = model(f"{response} ~ x", family)
    found = densities(fit, {"Intercept": 0.3, "x": 0.4, **parameters})
    name = str(fit.outputs[0].node.name)
    assert name == {"h['u']": "h", "p(k, n)": "k"}.get(response, response)
    np.testing.assert_allclose(found[name], expected().sum(), rtol=1e-10)
    if family in ("bernoulli", "binomial"):
        np.testing.assert_allclose(found["x"], st.norm(0, 1 / X.std()).logpdf(0.4))
        np.testing.assert_allclose(found["Intercept"], st.norm(0, 1.5).logpdf(0.3))


@pytest.mark.parametrize(
    ("family", "link", "mean"),
    [
        ("bernoulli", "probit", st.norm.cdf(ETA)),
        ("bernoulli", "cloglog", 1 - np.exp(-MU)),
        ("poisson", "identity", ETA),
        ("poisson", "inverse", 1 / ETA),
    ],
)
def test_links(family, link, mean):
    fit = model("h['u'] ~ x" if family == "bernoulli" else "k ~ x", family, link=link)
    point = {"Intercept": 0.3, "x": 0.4}
    if family == "bernoulli":
        expected = st.bernoulli(mean).logpmf((TABLE["h"] == "u").astype(int)).sum()
        np.testing.assert_allclose(densities(fit, point)["h"], expected, rtol=1e-10)
    else:
        np.testing.assert_allclose(densities(fit, point)["k"], st.poisson(mean).logpmf(K).sum())


def test_labels_against_the_first_one():
    fit = model("g ~ x", "categorical")
    point = {"Intercept": [0.3, -0.2], "x": [0.4, 1.0]}
    eta = np.array([0.0 * X, 0.3 + 0.4 * X, -0.2 + 1.0 * X])
    at = np.array(["abc".index(label) for label in TABLE["g"]])
    expected = log_softmax(eta, axis=0)[at, np.arange(N)].sum()
    np.testing.assert_allclose(densities(fit, point)["g"], expected)
    assert list(fit["x"].dims[0].coords) == ["b", "c"]


@pytest.mark.parametrize(("link", "cdf"), [("logit", expit), ("probit", st.norm.cdf)])
def test_labels_in_order(link, cdf):
    table = TABLE.assign(g=pd.Categorical(TABLE["g"], ["c", "a", "b"]))
    fit = model("g ~ 1 + x", "ordinal", table, link=link)
    point = {"x": 0.4, "threshold": [-0.5, 0.7]}
    up_to = np.array([0 * X, cdf(-0.5 - 0.4 * X), cdf(0.7 - 0.4 * X), 1 + 0 * X])
    at = np.array(["cab".index(label) for label in TABLE["g"]])
    expected = np.log(np.diff(up_to, axis=0)[at, np.arange(N)]).sum()
    found = densities(fit, point)
    np.testing.assert_allclose(found["g"], expected)
    drawn = fit.draw(200, seed=1)["prior"]["threshold"]
    assert (drawn.diff("threshold_dim") > 0).all()


def test_cumulative_is_what_bambi_calls_ordinal():
    one, other = (model("g ~ x", name) for name in ("ordinal", "cumulative"))
    point = {"x": 0.4, "threshold": [-0.5, 0.7]}
    assert densities(one, point) == densities(other, point)


# -- what formulae does not read by itself ---------------------------------------------------------


def designed(formula, by, point):
    """The linear predictor of a model, and the same by the matrices of another formula."""
    fit = model(formula)
    drawn = fit.draw(1, seed=3)["prior"].isel(chain=0, draw=0)
    design = formulae.design_matrices(by, TABLE)
    total = 0.0
    for name, term in design.common.terms.items():
        found = drawn["Intercept" if term.kind == "intercept" else name].values
        total = total + np.asarray(design.common[name]).reshape(N, -1) @ np.ravel(found)
    if design.group is not None:
        columns = np.asarray(design.group.design_matrix.todense())  # a sparse matrix
        for name, term in design.group.terms.items():
            found = drawn[point.get(name, name)]
            (group,) = [dim for dim in found.dims if not str(dim).endswith("_dim")]
            found = found.transpose(group, ...).sel({group: term.groups})
            total = total + columns[:, design.group.slices[name]] @ np.ravel(found)
    return drawn["y_linear"].values, total


@pytest.mark.parametrize(
    ("formula", "by"),
    [
        ("y ~ x + (x || county)", "y ~ x + (x | county)"),
        ("y ~ g / x", "y ~ g + g:x"),
        ("y ~ g / h", "y ~ g + g:h"),
        ("y ~ log(u) + exp(z)", "y ~ np.log(u) + np.exp(z)"),
        ("y ~ x + (1 | C(g))", "y ~ x + (1 | g)"),
        ("y ~ C(g, Sum)", "y ~ C(g, Sum)"),
        ("y ~ x * g + poly(z, 2) + scale(u)", "y ~ x * g + poly(z, 2) + scale(u)"),
        ("y ~ x + (x | county / h)", "y ~ x + (x | county / h)"),
        ("y ~ x + C(h, Sum):x + z:h", "y ~ x + C(h, Sum):x + z:h"),
        (
            "y ~ C(g, Treatment('b')):k + (0 + g:h || county)",
            "y ~ C(g, Treatment('b')):k + (0 + g:h | county)",
        ),
    ],
)
def test_linear_predictors_are_those_of_the_matrices(formula, by):
    names = {"1|g": "1|C(g)"} if "C(g))" in formula else {}
    if "log" in formula:
        drawn = model(formula).draw(1, seed=3)["prior"].isel(chain=0, draw=0)
        found = drawn["y_linear"].values
        expected = drawn["Intercept"].values + drawn["log(u)"].values * np.log(U)
        expected = expected + drawn["exp(z)"].values * np.exp(TABLE["z"])
    else:
        found, expected = designed(formula, by, names)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_labels_are_looked_up():
    """Common effects of labels: no indicator matrix, 1 GB here, and the same linear predictor."""
    rows, levels = 25_000, 5_000
    rng = np.random.default_rng(2)
    g = rng.permutation(np.resize(np.arange(levels), rows))
    table = pd.DataFrame({"y": rng.normal(size=rows), "x": rng.normal(size=rows), "g": g}).astype(
        {"g": str}
    )
    names = np.unique(table["g"])
    at = np.searchsorted(names, table["g"])
    tracemalloc.start()
    try:
        fit = model("y ~ g + x:g", table=table)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6
    own, slopes = rng.normal(size=levels - 1), rng.normal(size=levels)
    point = {"Intercept": 1.0, "g": own, "x:g": slopes, "sigma": 1.0}
    x = table["x"].to_numpy()
    mean = 1.0 + np.append(0.0, own)[at] + slopes[at] * x
    found = densities(fit, point)
    np.testing.assert_allclose(found["y"], st.norm(mean, 1.0).logpdf(table["y"]).sum())
    first, second = (np.bincount(at, x**k) / rows for k in (1, 2))
    scales = 2.5 * np.std(table["y"]) / np.sqrt(second - first**2)
    np.testing.assert_allclose(found["x:g"], st.norm(0, scales).logpdf(slopes).sum())


def test_new_rows_of_nested_terms_and_contrasts():
    for formula in (
        "y ~ g / x",
        "y ~ C(g, Sum) + (x || county)",
        "y ~ log(u) + (1 | C(g))",
        "y ~ 0 + poly(x, 2):g + (0 + g:x || county)",
    ):
        fit = model(formula)
        drawn = fit.draw(4, seed=3)["prior"].to_dataset()
        drawn["sigma"] = 1e-9 * drawn["sigma"]
        again = fit.predict(drawn, TABLE, seed=1)["predictions"]["y"]
        np.testing.assert_allclose(again.values, drawn["y_linear"].values, atol=1e-6)


def tables_in_order() -> dict[str, object]:
    """A column whose labels have an order that is not that of the alphabet."""
    levels = ["low", "mid", "high"]
    table = TABLE[["y", "x"]].assign(
        grade=pd.Categorical(np.resize(levels, N), categories=levels, ordered=True)
    )
    return {
        "pandas": table,
        "polars": pl.from_pandas(table).with_columns(pl.col("grade").cast(pl.Enum(levels))),
        "pyarrow": pytest.importorskip("pyarrow").Table.from_pandas(table),
    }


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("formula", ["y ~ grade", "y ~ x + x:grade", "y ~ C(grade, Sum)"])
def test_the_first_of_ordered_labels_is_the_reference(library, formula):
    tables = tables_in_order()
    fit = model(formula, table=tables[library])
    term = next(name for name in fit.free if "grade" in name)
    drawn = fit.draw(1, seed=3)["prior"].isel(chain=0, draw=0)
    design = formulae.design_matrices(formula, tables["pandas"]).common
    expected = sum(
        np.asarray(design[name]).reshape(N, -1) @ np.ravel(drawn[name].values)
        for name in design.terms
    )
    np.testing.assert_allclose(drawn["y_linear"], expected)
    labels = {"y ~ grade": ["mid", "high"], "y ~ x + x:grade": ["mid", "high"]}
    assert list(fit[term].dims[0].coords) == labels.get(formula, ["low", "mid"])


def test_effects_of_one_bar_are_correlated():
    """Their density by a multivariate normal, whose factor is diag(sigma) L, L z being standard."""
    fit = model("y ~ 1 + x + (1 + x | county)")
    z = RNG.normal(size=(4, 2))
    rho = 0.6
    chol = np.array([[1.0, 0.0], [rho, np.sqrt(1 - rho**2)]])
    (columns,) = (dim for dim in fit["1+x|county_z"].dims if dim._short != "county")
    assert list(columns.coords) == ["1", "x"]
    point = {
        "x": 0.5, "Intercept": 2.0, "sigma": 1.5, "1|county_sigma": 0.7, "x|county_sigma": 0.3,
        "1+x|county_chol": ([columns._short, columns._short + "'"], chol),
        "1+x|county_z": (["county", columns._short], z),
    }  # fmt: skip
    effects = z @ (np.array([[0.7], [0.3]]) * chol).T
    mean = 2.0 + 0.5 * X + effects[OF, 0] + effects[OF, 1] * X
    found = densities(fit, point)
    np.testing.assert_allclose(found["y"], st.norm(mean, 1.5).logpdf(Y).sum(), rtol=1e-12)
    # the correlation is uniform in (-1, 1)
    np.testing.assert_allclose(found["1+x|county_chol"], np.log(0.5))
    np.testing.assert_allclose(found["1+x|county_z"], st.norm.logpdf(z).sum())
    assert set(found) == set(point) | {"y"}


def test_correlations_in_draws_and_for_new_groups():
    fit = model("y ~ 1 + (0 + g | county)")
    assert {"1|county", "g|county_raw"}.isdisjoint(fit.free)
    (columns,) = (dim._short for dim in fit["g|county_z"].dims if dim._short != "county")
    chol = np.linalg.cholesky([[1.0, 0.8, -0.3], [0.8, 1.0, 0.1], [-0.3, 0.1, 1.0]])
    spread = np.array([0.5, 1.0, 2.0])
    post = posterior(
        **{"Intercept": ((), 0.0), "sigma": ((), 0.01),
           "g|county_sigma": (("g|county_dim",), spread),
           "g|county_chol": ((columns, columns + "'"), chol),
           "g|county_z": (("county", columns), np.zeros((4, 3)))}
    )  # fmt: skip
    rows = pd.DataFrame({"g": list("abc"), "county": "NEW"})
    y = fit.predict(post, rows, seed=1)["predictions"]["y"].transpose("obs", ...)
    expected = np.diag(spread) @ chol @ chol.T @ np.diag(spread)
    np.testing.assert_allclose(np.cov(y.values.reshape(3, -1)), expected, atol=0.15)


def test_effects_of_two_bars_and_of_one_column_are_independent():
    for formula in ("y ~ (1 | county) + (0 + x | county)", "y ~ (x || county)"):
        assert {"1|county", "x|county"} <= set(model(formula).free)
    fit = model("y ~ (x | g) + (x || county) + (1 | h)")
    assert {"1+x|g_chol", "1+x|g_z", "1|county", "x|county", "1|h"} <= set(fit.free)
    fit = model("g ~ (x | county)", "categorical")
    assert {dim._short for dim in fit["1+x|county_chol"].dims} > {"g_dim"}


# pieces of formulas that formulae reads as another formula, without a word
@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("y ~ 1 | county", r"'\| county' is not.*\nhint: .*: y ~ \(1 \| county\)$"),
        ("y ~ x + z | county", r"hint: .*: y ~ \(x \+ z \| county\)$"),
        ("y ~ x z", "'z' is not understood"),
        ("y ~ x == 1", "'== 1' is not understood"),
        ("y ~ (x == 1)", r"hint: comparisons stand in I\(\): I\(x == 1\)$"),
        ("y ~ x %in% z", "is not understood"),
        ("y ~ x**2", r"x\*\*2 is x.*\nhint: .* I\(x\*\*2\)$"),
        ("y ~ x^2", r"hint: a power of numbers is I\(x\*\*2\)"),
        ("y ~ (x | county):z", r"\(x \| county\):z: groups are added, and ':' does not"),
        ("y ~ x * (1 | county)", r"groups are added, and '\*' does not"),
        ("y ~ (x | g | h)", r"\(x \| g \| h\) has two bars"),
        ("y ~ 'x'", "columns stand without quotes: x"),
        ("y ~ 2 + x", "2 is no term.*\nhint: .* offset\\(2\\)"),
        ("y ~ 0.5 * x", r"hint: numbers are multiplied in I\(\): I\(0.5 \* x\)$"),
        ("y ~ True", "True is no term"),
        ("y + z ~ x", r"response y \+ z is not one term"),
        ("k | trials(n) ~ x", r"hint: a response of trials is p\(successes, trials\)"),
        ("y ~ (1 | county) + (x | county)", r"effects 1\|county are .* twice"),
        ("censored(y, s) ~ x", r"calls censored\(\.\.\.\), and.*\n.*\nhint: .*dist.censored"),
        ("y ~ I(lgo(x))", r"calls lgo\(\.\.\.\).*did you mean 'log'"),
        ("", "a formula is a string"),
    ],
)
def test_formulas_that_are_not_read_to_their_end(formula, message):
    with pytest.raises(dt.OptionError if formula else dt.ArgumentError, match=message):
        model(formula)


def test_priors_of_correlated_effects():
    priors = {"x|county": dist.Normal(0.0, 1.0)}
    with pytest.raises(dt.OptionError, match=r"hint: \(x \|\| county\) has independent effects"):
        model("y ~ x + (x | county)", priors=priors)
    fit = model("y ~ x + (x | county)", priors={"x|county_sigma": dist.Exponential(2.0)})
    assert repr(fit.variables["x|county_sigma"].distribution) == "Exponential(lam=2)"


def test_b_splines_outside_of_their_knots():
    fit = model("y ~ bs(x, df=5)")
    post = posterior(**{"bs(x, df=5)": (("bs(x, df=5)_dim",), np.arange(5.0)),
                        "Intercept": ((), 1.0), "sigma": ((), 1e-6)})  # fmt: skip
    rows = pd.DataFrame({"x": [X.min(), -30.0, X.max(), 30.0]})
    low, high = f"{X.min():g}", f"{X.max():g}"
    with pytest.raises(dt.InputError, match=rf"from {low} to {high}\n  outside: 2 of 4, from -30"):
        fit.predict(post, rows, seed=1)
    y = fit.predict(post, rows, seed=1, outside="clip")["predictions"]["y"]
    y = y.mean(["chain", "draw"]).values
    np.testing.assert_allclose(y[[1, 3]], y[[0, 2]], atol=1e-6)
    with pytest.raises(dt.OptionError, match="outside is 'raise' or 'clip', not 'wrap'"):
        fit.predict(post, rows, seed=1, outside="wrap")
    with pytest.raises(dt.InputError, match=r"bs\(x, df=5, upper_bound=1.5\) has values outside"):
        model("y ~ bs(x, df=5, upper_bound=1.5)")


# -- predictions -----------------------------------------------------------------------------------


def posterior(**values):
    """The same draw often."""
    return xr.Dataset(
        {
            name: (("chain", "draw", *dims), np.broadcast_to(x, (1, 4000, *np.shape(x))))
            for name, (dims, x) in values.items()
        },
        {"county": COUNTIES},
    )


def test_new_rows_and_new_groups():
    fit = model("y ~ 1 + x + g + (1 + x || county)")
    one, two = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.1, 0.2, 0.3, 0.4])
    post = posterior(
        **{"x": ((), 0.5), "Intercept": ((), 2.0), "sigma": ((), 0.01), "g": (("g_dim",), [5, 7]),
           "1|county_sigma": ((), 3.0), "x|county_sigma": ((), 0.5),
           "1|county": (("county",), one), "x|county": (("county",), two)}
    )  # fmt: skip
    rows = pl.DataFrame(
        {
            "county": ["r", "NEW", "p"],
            "x": [1.0, 2.0, -1.0],
            "g": ["a", "c", "b"],
            "more": [0, 0, 0],
        }
    )
    y = fit.predict(post, rows, seed=1)["predictions"]["y"].transpose("chain", "draw", "obs")[0]
    mean, spread = y.mean("draw").values, y.std("draw").values
    np.testing.assert_allclose(mean[[0, 2]], [2.0 + 0.5 + 3.0 + 0.3, 2.0 - 0.5 + 5 + 1.0 - 0.1],
                               atol=0.001)  # fmt: skip
    np.testing.assert_allclose(mean[1], 2.0 + 1.0 + 7.0, atol=5 * np.sqrt(10 / 4000))
    # 3² + (0.5 · 2)² of a new group
    np.testing.assert_allclose(spread[1], np.sqrt(10.0), rtol=0.06)


def test_new_rows_of_functions_that_remember_the_table():
    fit = model("y ~ 0 + scale(x) + np.exp(z) + (1 | g:h)")
    groups = list(fit["1|g:h"].dims[0].coords)
    post = posterior(**{"scale(x)": ((), 2.0), "np.exp(z)": ((), 0.5), "sigma": ((), 0.001),
                        "1|g:h": (("g:h",), np.arange(float(len(groups))))})  # fmt: skip
    post = post.assign_coords({"g:h": groups})
    rows = pd.DataFrame({"x": [1.5], "z": [0.3], "g": [TABLE["g"][0]], "h": [TABLE["h"][0]]})
    found = fit.predict(post, rows, seed=1)["predictions"]["y"]
    expected = (
        2 * (1.5 - X.mean()) / X.std()
        + 0.5 * np.exp(0.3)
        + groups.index(f"{TABLE['g'][0]}:{TABLE['h'][0]}")
    )
    np.testing.assert_allclose(found.mean(), expected, atol=0.001)


def test_tables_of_other_libraries_make_the_same_model():
    formula = "y ~ 1 + x + g + (1 | county)"
    other = pl.from_pandas(TABLE.drop(columns="h"))
    one = model(formula)
    vector = np.linspace(-1, 1, one.log_density().size)
    for two in (model(formula, table=other), model(formula, table=other.to_arrow())):
        assert one.log_density().names == two.log_density().names
        assert one.log_density().logp(vector) == two.log_density().logp(vector)


def test_other_priors():
    priors = {"x": dist.Laplace(0.0, 2.0), "1|county": dist.StudentT(3.0, 0.0, 1.0)}
    fit = model("y ~ x + (1 | county)", priors=priors)
    assert set(fit.free) == {"x", "Intercept", "1|county", "sigma"}
    one = np.array([1.0, 2.0, 3.0, 4.0])
    found = densities(fit, {"x": 1.0, "Intercept": 0.0, "sigma": 1.0, "1|county": one})
    np.testing.assert_allclose(found["x"], st.laplace(0, 2).logpdf(1.0))
    np.testing.assert_allclose(found["1|county"], st.t(3).logpdf(one).sum())


def test_a_group_that_is_a_predictor_too():
    fit = model("y ~ county + (1 | county)")
    assert fit["1|county"].dims[0]._short == "county_group"
    assert fit.draw(3, seed=1)["prior"]["1|county"].sizes["county_group"] == 4


@pytest.mark.parametrize("name", ["obs", "chain", "draw"])
def test_groups_that_are_named_like_dims_that_there_are(name):
    fit = model(f"y ~ 1 + (1 | {name})", table=TABLE.assign(**{name: TABLE["county"]}))
    post = posterior(**{"Intercept": ((), 1.0), f"1|{name}_sigma": ((), 0.01), "sigma": ((), 0.01),
                        f"1|{name}": ((f"{name}_group",), [1.0, 2.0, 3.0, 4.0])})  # fmt: skip
    post = post.assign_coords({f"{name}_group": COUNTIES})
    rows = pd.DataFrame({name: ["s", "other"]})
    found = fit.predict(post, rows, seed=1)["predictions"]["y"]
    np.testing.assert_allclose(found.mean(["chain", "draw"]), [5.0, 1.0], atol=0.01)


@pytest.mark.parametrize("given", [{"length": N}, {"coords": range(100, 100 + N)}])
def test_other_rows_of_a_dim_with_a_length(given):
    fit = model("y ~ 0 + x", obs=dt.Dim("row", **given))
    post = posterior(x=((), 2.0), sigma=((), 0.01))
    for rows in ([1.0, 3.0], []):
        found = fit.predict(post, pd.DataFrame({"x": rows}, dtype=float), seed=1)["predictions"]
        np.testing.assert_allclose(
            found["y"].mean(["chain", "draw"]), 2 * np.array(rows), atol=0.01
        )


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda: model("k ~ x", "poison"), dt.OptionError, r"'poison' \(did you mean 'poisson'"),
        (lambda: model("y ~ x", link="logit"), dt.OptionError, "gaussian has no link 'logit'"),
        (lambda: model("y ~ xx"), dt.LabelError, "no column 'xx'"),
        (
            lambda: model("y ~ (x"),
            dt.OptionError,
            r"formula 'y ~ \(x' cannot be read\n  reason: it ends where a term is expected",
        ),
        (lambda: model("x"), dt.OptionError, "has no response"),
        (lambda: model("g ~ x", "poisson"), dt.InputError, "'g' has levels, and the family"),
        (lambda: model("k ~ x", "binomial"), dt.OptionError, r"is p\(successes, trials\)"),
        (
            lambda: model("y ~ x", priors={"xs": dist.Normal(0.0, 1.0)}),
            dt.LabelError,
            "no variable 'xs' to have a prior",
        ),
        (lambda: model("y ~ x", priors={"x": 1.0}), dt.ArgumentError, "the prior of 'x' is a dist"),
        (
            lambda: model("y ~ x", table=TABLE.assign(x=TABLE["x"].where(TABLE["x"] > 1))),
            dt.InputError,
            rf"column 'x' of the table lacks values\n  missing: {(X <= 1).sum()} of {N}",
        ),
        (
            lambda: model("y ~ x + np.exp(x)", table=TABLE.assign(x=[-np.inf, *X[1:]])),
            dt.InputError,
            r"term 'x' is infinite, or no number.*\n  rows: 1 of 24",
        ),
        (lambda: model("h ~ x"), dt.InputError, "'h' has levels, and the family gaussian"),
        (
            lambda: model("g ~ x", "ordinal", TABLE[TABLE["g"] == "b"]),
            dt.InputError,
            "response 'g' has one level.*\n  level: 'b'",
        ),
        (
            lambda: model("y ~ C(k)").predict(
                posterior(sigma=((), 1.0)), pd.DataFrame({"k": [9]}), seed=1
            ),
            dt.InputError,
            r"'C\(k\)' is not told by the table\n  it says: The levels \(9\)",
        ),
        (lambda: model("y ~ x", table=[1, 2]), dt.ArgumentError, "reads a table of pandas"),
        (
            lambda: model("y ~ g").predict(
                posterior(sigma=((), 1.0)), pd.DataFrame({"g": ["a", "d"]}), seed=1
            ),
            dt.LabelError,
            "predictor 'g' has levels in the new rows",
        ),
    ],
)
def test_mistakes(act, error, message):
    with pytest.raises(error, match=message):
        act()


def test_a_regression_that_was_pickled():
    import pickle

    fit = pickle.loads(pickle.dumps(model("y ~ x")))
    post = posterior(x=((), 0.5), Intercept=((), 2.0), sigma=((), 0.01))
    found = fit.predict(post, {"x_data": [1.0]}, seed=1)["predictions"]["y"]
    np.testing.assert_allclose(found.mean(), 2.5, atol=0.01)
    with pytest.raises(dt.InputError, match="has forgotten its formula"):
        fit.predict(post, pd.DataFrame({"x": [1.0]}), seed=1)


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:the draws may not be:dimtensor.SamplingWarning")
def test_it_samples():
    fit = dt.from_formula("y ~ 1 + x + (1 | county)", TABLE)
    post = fit.sample(90, tune=300, chains=2, seed=1, progress_bar=False, report=False)
    assert post["posterior"]["1|county"].sizes["county"] == 4
    ols = np.linalg.lstsq(np.c_[np.ones(N), X], Y, rcond=None)[0]
    np.testing.assert_allclose(post["posterior"]["x"].mean(), ols[1], atol=1.5)


@pytest.mark.parametrize(
    ("number", "plain"), [("2e1", "20"), ("1.5e-3", "0.0015"), (".5E+2", "50")]
)
def test_numbers_with_an_exponent(number, plain):
    values = {"Intercept": 1.0, "sigma": 2.0}
    found = model(f"y ~ I(x * {number})").log_density()
    expected = model(f"y ~ I(x * {plain})").log_density()
    assert found.size == expected.size == len(values) + 1
    at = np.array([0.3, -0.2, 0.1])
    assert found.logp(at) == pytest.approx(expected.logp(at), rel=1e-14)
    assert found.logp(at) != pytest.approx(model("y ~ I(x * 3)").log_density().logp(at))


@pytest.mark.parametrize(
    "formula", ["y ~ x + (1 + x | g)", "y ~ x + (1 | g:h)", "y ~ x + (1 | g/h)"]
)
def test_many_groups_take_no_memory_of_their_own(formula):
    """No indicator matrix: it would have 8 bytes for each row and group, 8 GB here."""
    rows, groups = 20_000, 50_000
    rng = np.random.default_rng(2)
    g, h = rng.integers(0, groups, (2, rows))
    table = pd.DataFrame({"y": rng.normal(size=rows), "x": rng.normal(size=rows), "g": g, "h": h})
    tracemalloc.start()
    try:
        fit = model(formula, table=table)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6
    occurring = {"g": len(set(g)), "g:h": len(set(zip(g, h, strict=True)))}
    lengths = {dim.name: dim.length for x in fit.free.values() for dim in x.tensor.dims}
    factors = lengths.keys() & occurring.keys()
    assert factors
    assert all(lengths[name] == occurring[name] for name in factors)


def test_the_linear_predictor_is_computed_on_request_and_not_recorded():
    fit = model("y ~ x")
    post = fit.laplace(3, seed=1)
    assert "y_linear" not in post["posterior"]
    assert {"Intercept", "x", "sigma"} <= set(post["posterior"].data_vars)
    found = fit.predict(post, names="y_linear", seed=1)["posterior_predictive"]["y_linear"]
    draws = post["posterior"]
    expected = draws["Intercept"] + draws["x"] * xr.DataArray(X, dims="obs")
    np.testing.assert_allclose(found.transpose(*expected.dims), expected)
