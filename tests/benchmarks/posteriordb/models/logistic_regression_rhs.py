"""A logistic regression on genes, with the regularized horseshoe."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("ovarian-logistic_regression_rhs", "prostate-logistic_regression_rhs")


def model(data, backend="numba"):
    patient, gene = dt.Dim("patient"), dt.Dim("gene")
    x = dt.data(data["x"], dims=[patient, gene], name="x")
    beta0 = dt.rv("beta0", dist.Normal(0, data["scale_icept"]))
    z = dt.rv("z", dist.Normal(0, 1), dims=gene)
    tau = dt.rv("tau", dist.HalfStudentT(data["nu_global"], 2 * data["scale_global"]))
    local = dt.rv("lambda", dist.HalfStudentT(data["nu_local"], 1), dims=gene)
    half = 0.5 * data["slab_df"]
    caux = dt.rv("caux", dist.InverseGamma(half, half))
    slab = data["slab_scale"] ** 2 * caux
    shrunk = dt.sqrt(slab * local**2 / (slab + tau**2 * local**2))
    beta = dt.named("beta", z * shrunk * tau)
    ill = dt.rv("ill", dist.Bernoulli(logit_p=beta0 + dt.dot(x, beta, dim=gene)))
    return dt.Model(ill, backend=backend).observe({ill: data["y"]})
