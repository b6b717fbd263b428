"""The site: what people search for is found, and pages of the gallery are notebooks."""

from __future__ import annotations

import re
import sys

import pytest

from tests.docs.test_docs_examples import ROOT

DOCS = ROOT / "docs"
# terms of textbooks, xarray, PyMC, Stan, lme4 and brms
SEARCHED = (
    "A/B test", "ADVI", "ANOVA", "anomalies", "autoregressive", "broadcast", "capture",
    "causal inference", "censoring", "changepoint", "climatology", "Cox regression",
    "credible interval", "cross-validation", "divergences", "dummy variables",
    "effective sample size", "ELBO", "forecast", "Gaussian process", "GLM", "group by",
    "HDI", "hidden Markov", "hierarchical", "hurdle", "ICAR", "imputation", "Kalman filter",
    "Kaplan-Meier", "K-fold", "LDA", "leave-one-out",
    "logistic regression", "loo", "measurement error",
    "mixed model", "mixture", "MRP", "multilevel", "offset", "one-hot", "ordinal",
    "outliers", "overdispersion", "partial pooling", "posterior predictive check",
    "poststratification", "prior predictive check", "random effects", "random intercept",
    "R2D2", "random slope", "robust regression", "shrinkage", "spline", "survival",
    "topic model", "variable selection", "varying slope",
    "variational inference", "WAIC", "zero-inflated",
    # from the tables of contents of Stan's guide, of brms' vignettes and of PyMC's examples
    "algebraic equation", "ARCH", "ARMA", "Bayes factor", "beta regression", "Bradley-Terry",
    "calibration curve", "change point", "circular", "cluster", "compositional", "contrast",
    "counterfactual", "crossed", "custom distribution", "Dawid", "decision", "diffusion model",
    "difference in differences", "Dirichlet process", "discrete choice",
    "distributional regression",
    "epidemic", "exposure", "extreme value", "factor analysis", "GARCH", "gamma regression",
    "identifiab", "initial values", "interaction", "interrupted time series", "IRT",
    "item response", "label switching", "Lotka-Volterra", "marginal effect", "meta-analysis",
    "moderation", "monotonic effect", "moving average", "multinomial logit", "multiple imputation",
    "multivariate outcome", "nested", "netCDF", "nonlinear", "phylogen", "Poisson regression",
    "power analysis", "power scaling", "probit", "quantile regression", "R²", "random walk",
    "repeated measures", "response time", "rounded", "seasonal", "seemingly unrelated",
    "simulation-based calibration", "stacking", "stochastic volatility", "structural equation",
    "sum to zero", "survey", "thread", "treedepth", "truncated", "unequal variances",
    "utility", "vector autoregression",
    # looked for in analyses of data of statsmodels and scikit-learn
    "collinear", "conditional logit", "fixed effects", "heteroscedasticity", "horseshoe", "lasso",
    "odds ratio", "panel data", "ridge regression", "two-way",
)  # fmt: skip


def pages() -> dict[str, str]:
    """Return the text of the pages for users, whose words the search index of the site holds."""
    paths = [*DOCS.glob("*.md"), *DOCS.glob("gallery/*.md")]
    return {path.name: " ".join(path.read_text(encoding="utf-8").split()) for path in paths}


def test_what_people_search_for_is_on_a_page():
    text = " ".join(pages().values())
    missing = [
        word for word in SEARCHED if not re.search(rf"\b{re.escape(word)}", text, re.IGNORECASE)
    ]
    assert missing == []


@pytest.fixture
def pictured(monkeypatch):
    pytest.importorskip("sphinx")
    pytest.importorskip("nbformat")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    yield __import__("pictured")
    for name in ("pictured", "executed", "checked"):
        sys.modules.pop(name, None)


def test_pages_of_the_gallery_are_notebooks(pictured):
    import nbformat

    names = sorted(f"gallery/{path.stem}" for path in DOCS.glob("gallery/*.md"))
    names.remove(pictured.GALLERY)
    assert len(names) > 10
    assert all(map(pictured.is_notebook, names))
    assert not pictured.is_notebook(pictured.GALLERY)
    for name in [*names, "getting-started", "tutorial-arrays"]:
        page = DOCS / f"{name}.md"
        made = pictured.notebook(page)
        nbformat.validate(made)
        code = [cell.source for cell in made.cells if cell.cell_type == "code"]
        blocks = re.findall(r"^```python[^\n]*\n(.*?)\n```$", page.read_text(), re.M | re.S)
        assert code == [block for block in blocks if not block.startswith("# not run")]
        prose = "\n".join(cell.source for cell in made.cells if cell.cell_type == "markdown")
        assert prose.startswith(page.read_text().split("\n", 1)[0])
        assert "<!-- check" not in prose
        assert ".md)" not in prose
