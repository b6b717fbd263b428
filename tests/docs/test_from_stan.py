"""The page for users of Stan: its tables are complete, run, and agree with SciPy."""

from __future__ import annotations

import re

import mpmath
import numpy as np
import pytest
import scipy.special as sp
import scipy.stats as st
from scipy.integrate import quad
from scipy.special import expit

import dimtensor as dt
from tests.docs.test_docs_examples import ROOT, run_page

TEXT = (ROOT / "docs" / "from-stan.md").read_text()
_SPAN = re.compile(r"`([^`\n]+)`")
_FUNCTIONS = TEXT.split("## Functions")[1].split("## What differs")[0]


def test_every_name_of_stans_reference_is_on_the_page():
    lines = (ROOT / "tests" / "docs" / "stan_names.txt").read_text().splitlines()[1:]
    names = " ".join(lines).split()
    assert len(names) > 300
    spans = _SPAN.findall(re.sub(r"^```.*?^```$", "", TEXT, flags=re.M | re.S))
    words = set(re.findall(r"\w+", " ".join(spans)))
    lacking = []
    for name in names:
        # `ones_vector` stands for `ones_array`, and `ode_rk45` for `ode_rk45_tol`
        ending = name.rsplit("_int_array", 1)[0].rsplit("_row_vector", 1)[0].rsplit("_array", 1)[0]
        if not {name, f"{ending}_vector"} & words:
            lacking.append(name)
    assert lacking == []


K = dt.Dim("k", coords=[1, 2, 3])
ROW = dt.Dim("row", length=3)
COL = ROW.rename("col")
A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
NUMBERS = {"z": 2.7, "p": 0.3, "q": 1.4, "m": 2, "n": 5, "i": 1, "log_p": np.log(0.3)}
NAMES = NUMBERS | {
    "dt": dt, "dist": dt.dist, "np": np, "k": K, "row": ROW, "col": COL,
    "x": dt.data([2.0, 1.0, 3.0], dims=K), "y": dt.data([1.0, 4.0, 2.0], dims=K),
    "a": dt.data(A, dims=[ROW, COL]), "b": dt.data(A + 1, dims=[ROW, COL]),
    "v": dt.data([1.0, 2.0, 3.0], dims=ROW), "w": dt.data([1.0, 2.0, 3.0], dims=COL),
    "c": dt.complex(0.3, 1.4),
}  # fmt: skip
# these are written with names of a program, or are named elsewhere on the page
OTHER = ("fit.", "numpy.", "dt.ode(", "dt.check(", "(w * x.sel", ".unconstrain")
# functions of numbers in SciPy; the others have its or NumPy's names
_NUMBERS = {
    "inv": lambda z: 1 / z,
    "inv_sqrt": lambda z: z**-0.5,
    "inv_square": lambda z: z**-2,
    "fdim": lambda p, q: max(p - q, 0),
    "fma": lambda p, q, z: p * q + z,
    "inv_logit": expit,
    "inv_cloglog": lambda z: 1 - np.exp(-np.exp(z)),
    "Phi": sp.ndtr,
    "std_normal_lcdf": sp.log_ndtr,
    "inv_Phi": sp.ndtri,
    "std_normal_qf": sp.ndtri,
    "std_normal_log_qf": sp.ndtri_exp,
    "inv_erfc": sp.erfcinv,
    "log1m": lambda p: np.log(1 - p),
    "log1m_exp": lambda p: np.log(1 - np.exp(p)),
    "log1p_exp": lambda z: np.log(1 + np.exp(z)),
    "log_inv_logit": lambda z: np.log(expit(z)),
    "log1m_inv_logit": lambda z: np.log(1 - expit(z)),
    "log_diff_exp": lambda z, p: np.log(np.exp(z) - np.exp(p)),
    "log_inv_logit_diff": lambda z, p: np.log(expit(z) - expit(p)),
    "log_sum_exp": np.logaddexp,
    "log_mix": lambda p, z, q: np.log(p * np.exp(z) + (1 - p) * np.exp(q)),
    "lmultiply": sp.xlogy,
    "tgamma": sp.gamma,
    "lgamma": sp.gammaln,
    "digamma": sp.digamma,
    "trigamma": lambda z: sp.polygamma(1, z),
    "lbeta": sp.betaln,
    "choose": sp.comb,
    "lchoose": lambda n, m: np.log(sp.comb(n, m)),
    "gamma_p": sp.gammainc,
    "gamma_q": sp.gammaincc,
    "inc_beta": sp.betainc,
    "inv_inc_beta": sp.betaincinv,
    "rising_factorial": sp.poch,
    "log_rising_factorial": lambda z, q: np.log(sp.poch(z, q)),
    "falling_factorial": lambda z, m: float(mpmath.ff(z, m)),
    "log_falling_factorial": lambda z, q: float(mpmath.log(mpmath.ff(z, q))),
    "bessel_first_kind": sp.jv,
    "modified_bessel_first_kind": sp.iv,
    "modified_bessel_second_kind": sp.kv,
    "log_modified_bessel_first_kind": lambda q, z: np.log(sp.iv(q, z)),
    "owens_t": sp.owens_t,
    "hypergeometric_2F1": sp.hyp2f1,
}


def evaluated(text: str) -> np.ndarray:
    result = eval(text, dict(NAMES))
    return np.asarray(result.eval() if isinstance(result, dt.DimTensor) else result)


def test_functions_of_numbers_agree_with_scipy():
    found = {}
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", _FUNCTIONS, re.M)
    for theirs, ours in rows:
        for call, expression in zip(_SPAN.findall(theirs), _SPAN.findall(ours), strict=False):
            name = call.split("(")[0]
            if name in _NUMBERS and name not in found:
                found[name] = call, expression
    assert set(found) == set(_NUMBERS)
    for name, (call, expression) in found.items():
        expected = eval(call, {name: _NUMBERS[name], **NUMBERS})
        np.testing.assert_allclose(evaluated(expression), expected, rtol=1e-12, err_msg=name)


def test_the_right_side_of_the_functions_runs():
    ran = 0
    for ours in re.findall(r"^\| `.+? \| (.+) \|$", _FUNCTIONS, re.M):
        for expression in _SPAN.findall(ours):
            if not expression.startswith(OTHER) and "…" not in expression:
                result = eval(expression, dict(NAMES))
                assert result is not None, expression
                ran += 1
    assert ran > 130


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x.var(k, ddof=1)", np.var([2, 1, 3], ddof=1)),
        ("dt.linalg.norm(x - y, k)", np.sqrt(1 + 9 + 1)),
        ("-(-x).sort(k)", [3, 2, 1]),
        ("x.rank(k)", [2, 1, 3]),
        ("dt.dot(v, a, w, dim=[row, col])", np.array([1, 2, 3]) @ A @ np.array([1, 2, 3])),
        ("dt.linalg.slogdet(a).logabsdet", np.log(np.linalg.det(A))),
        ("dt.dot(a, a.rename_dim(col), dim=row)", A.T @ A),
        ("dt.one_hot(dt.data(2, categories=k))", [0, 1, 0]),
    ],
)
def test_functions_of_vectors_are_those_of_numpy(expression, expected):
    assert f"`{expression}`" in _FUNCTIONS
    np.testing.assert_allclose(evaluated(expression), expected, rtol=1e-12)


@pytest.fixture(scope="module")
def wiener():
    names = run_page(TEXT, "from-stan.md")
    t, alpha, beta, delta = (dt.scalar(name) for name in ("t", "alpha", "beta", "delta"))
    return dt.function(
        [t, alpha, beta, delta], names["wiener"](t, alpha, 0.2, beta, delta), backend="python"
    )


@pytest.mark.parametrize(
    "point", [(0.21, 1.5, 0.5, 0.3), (0.9, 2.0, 0.3, -1.0), (4.0, 1.0, 0.6, 2)]
)
def test_the_density_of_response_times_is_its_series(wiener, point):
    """Of its two series, the one of long times with all terms."""
    t, alpha, beta, delta = (mpmath.mpf(str(x)) for x in point)
    with mpmath.workdps(60):
        t = (t - mpmath.mpf("0.2")) / alpha**2
        terms = (
            k * mpmath.exp(-((k * mpmath.pi) ** 2) * t / 2) * mpmath.sin(k * mpmath.pi * (1 - beta))
            for k in range(1, 400)
        )
        scale = mpmath.exp(delta * alpha * (1 - beta) - (delta * alpha) ** 2 * t / 2)
        expected = float(mpmath.log(scale * mpmath.pi / alpha**2 * mpmath.fsum(terms)))
    np.testing.assert_allclose(float(wiener(*point)), expected, rtol=1e-9)


def test_the_density_of_response_times_has_the_probability_of_its_boundary(wiener):
    """Cox and Miller, The Theory of Stochastic Processes (1965), section 5.7."""
    alpha, beta, delta = 1.3, 0.4, 0.8
    found = quad(lambda t: np.exp(float(wiener(t, alpha, beta, delta))), 0.201, 15, limit=200)[0]
    expected = np.expm1(-2 * delta * alpha * beta) / np.expm1(-2 * delta * alpha)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


# values of what rows leave open, and Stan's densities in SciPy's parameters
VALUES = {
    "alpha": 1.5, "beta": 2.5, "theta": 0.3, "n": 7, "a": 9, "b": 6, "low": 0, "high": 9, "mu": 0.7,
    "sigma": 1.3, "phi": 2.2, "eta": 0.4, "rate": 1.7, "xi": 0.2, "omega": 1.4, "nu": 4.5,
    "y_min": 0.5, "scale": 1.9, "kappa": 2.1, "r": 3.0, "tau": 0.3,
}  # fmt: skip
_STAN = {
    "bernoulli": lambda theta: st.bernoulli(theta),
    "bernoulli_logit": lambda alpha: st.bernoulli(expit(alpha)),
    "binomial": lambda n, theta: st.binom(n, theta),
    "binomial_logit": lambda n, alpha: st.binom(n, expit(alpha)),
    "beta_binomial": lambda n, alpha, beta: st.betabinom(n, alpha, beta),
    "hypergeometric": lambda n, a, b: st.hypergeom(a + b, a, n),
    "discrete_range": lambda low, high: st.randint(low, high + 1),
    "beta_neg_binomial": lambda r, alpha, beta: st.betanbinom(r, alpha, beta),
    "yule_simon": lambda alpha: st.yulesimon(alpha),
    "neg_binomial": lambda alpha, beta: st.nbinom(alpha, beta / (beta + 1)),
    "neg_binomial_2": lambda mu, phi: st.nbinom(phi, phi / (mu + phi)),
    "neg_binomial_2_log": lambda eta, phi: st.nbinom(phi, phi / (np.exp(eta) + phi)),
    "poisson": lambda rate: st.poisson(rate),
    "poisson_log": lambda alpha: st.poisson(np.exp(alpha)),
    "normal": lambda mu, sigma: st.norm(mu, sigma),
    "std_normal": lambda: st.norm(),
    "skew_double_exponential": lambda mu, sigma, tau: st.laplace_asymmetric(
        np.sqrt(tau / (1 - tau)), mu, sigma / (2 * np.sqrt(tau * (1 - tau)))
    ),
    "exp_mod_normal": lambda mu, sigma, rate: st.exponnorm(1 / (sigma * rate), mu, sigma),
    "skew_normal": lambda xi, omega, alpha: st.skewnorm(alpha, xi, omega),
    "student_t": lambda nu, mu, sigma: st.t(nu, mu, sigma),
    "cauchy": lambda mu, sigma: st.cauchy(mu, sigma),
    "double_exponential": lambda mu, sigma: st.laplace(mu, sigma),
    "logistic": lambda mu, sigma: st.logistic(mu, sigma),
    "gumbel": lambda mu, beta: st.gumbel_r(mu, beta),
    "lognormal": lambda mu, sigma: st.lognorm(sigma, scale=np.exp(mu)),
    "chi_square": lambda nu: st.chi2(nu),
    "inv_chi_square": lambda nu: st.invgamma(nu / 2, scale=0.5),
    "scaled_inv_chi_square": lambda nu, sigma: st.invgamma(nu / 2, scale=nu * sigma**2 / 2),
    "exponential": lambda beta: st.expon(scale=1 / beta),
    "gamma": lambda alpha, beta: st.gamma(alpha, scale=1 / beta),
    "inv_gamma": lambda alpha, beta: st.invgamma(alpha, scale=beta),
    "weibull": lambda alpha, sigma: st.weibull_min(alpha, scale=sigma),
    "frechet": lambda alpha, sigma: st.invweibull(alpha, scale=sigma),
    "rayleigh": lambda sigma: st.rayleigh(scale=sigma),
    "loglogistic": lambda alpha, beta: st.fisk(beta, scale=alpha),
    "pareto": lambda y_min, alpha: st.pareto(alpha, scale=y_min),
    "pareto_type_2": lambda mu, scale, alpha: st.lomax(alpha, scale=scale),
    "beta": lambda alpha, beta: st.beta(alpha, beta),
    "beta_proportion": lambda mu, kappa: st.beta(mu * kappa, (1 - mu) * kappa),
    "von_mises": lambda mu, kappa: st.vonmises(kappa, mu),
    "uniform": lambda low, high: st.uniform(low, high - low),
}


def test_distributions_of_stan_have_the_densities_of_scipy():
    rows = dict(re.findall(r"^\| `(\w+\([^`]*\))` \| `(dist[^`]+)`[^|]*\|$", TEXT, re.M))
    found = {}
    for theirs, ours in rows.items():
        name, arguments = theirs[:-1].split("(")
        if name in _STAN:
            found[name] = (_STAN[name](*(eval(x, VALUES) for x in arguments.split(",") if x)), ours)
    assert set(found) == set(_STAN)
    for name, (expected, ours) in found.items():
        d = eval(ours, {"dt": dt, "dist": dt.dist, **VALUES})
        x = 1 if hasattr(expected.dist, "pmf") else 0.8
        value = d.logp(x).eval({}, backend="python").item()
        logp = expected.logpmf(x) if x == 1 else expected.logpdf(x)
        np.testing.assert_allclose(value, logp, rtol=1e-9, err_msg=name)
