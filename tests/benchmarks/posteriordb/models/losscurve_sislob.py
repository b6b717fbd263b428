"""Losses of cohorts of insurance contracts that grow along a Weibull curve."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("loss_curves-losscurve_sislob",)


def model(data, backend="numba"):
    claim = dt.Dim("claim")
    cohort = dt.Dim("cohort", coords=range(1, data["n_cohort"] + 1))
    age = dt.Dim("age", coords=range(1, data["n_time"] + 1))
    cohort_of = dt.data(data["cohort_id"], dims=claim, categories=cohort, name="cohort_of")
    age_of = dt.data(data["t_idx"], dims=claim, categories=age, name="age_of")
    time = dt.data(data["t_value"], dims=age, name="time")
    premium = dt.data(data["premium"], dims=cohort, name="premium")

    omega, theta = (dt.rv(name, dist.LogNormal(0, 0.5)) for name in ("omega", "theta"))
    mu = dt.rv("mu_LR", dist.Normal(0, 0.5))
    spread = dt.rv("sd_LR", dist.LogNormal(0, 0.5))
    ratio = dt.rv("LR", dist.LogNormal(mu, spread), dims=cohort)
    noise = dt.rv("loss_sd", dist.LogNormal(0, 0.7))
    growth = 1 - dt.exp(-((time / theta) ** omega))
    mean = (ratio * premium).sel(cohort=cohort_of) * growth.sel(age=age_of)
    loss = dt.rv("loss", dist.Normal(mean, (noise * premium).sel(cohort=cohort_of)))
    return dt.Model(loss, backend=backend).observe({loss: data["loss"]})
