"""Answers to items that differ in difficulty and discrimination."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("irt_2pl-irt_2pl",)


def model(data, backend="numba"):
    item, person = dt.Dim("item"), dt.Dim("person")
    sigma_theta, sigma_a, sigma_b = (
        dt.rv(name, dist.HalfCauchy(2)) for name in ("sigma_theta", "sigma_a", "sigma_b")
    )
    theta = dt.rv("theta", dist.Normal(0, sigma_theta), dims=person)
    a = dt.rv("a", dist.LogNormal(0, sigma_a), dims=item)
    b = dt.rv("b", dist.Normal(dt.rv("mu_b", dist.Normal(0, 5)), sigma_b), dims=item)
    right = dt.rv("right", dist.Bernoulli(logit_p=a * (theta - b)))
    return dt.Model(right, backend=backend).observe({right: (("item", "person"), data["y"])})
