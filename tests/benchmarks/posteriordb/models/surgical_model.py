"""Mortality of infants after surgery in twelve hospitals."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("surgical_data-surgical_model",)


def model(data, backend="numba"):
    hospital = dt.Dim("hospital")
    operations = dt.data(data["n"], dims=hospital, name="operations")
    mu = dt.rv("mu", dist.Normal(0, 1000))
    variance = dt.rv("sigmasq", dist.InverseGamma(0.001, 0.001))
    b = dt.rv("b", dist.Normal(mu, dt.sqrt(variance)), dims=hospital)
    deaths = dt.rv("deaths", dist.Binomial(operations, logit_p=b))
    return dt.Model(deaths, backend=backend).observe({deaths: data["r"]})
