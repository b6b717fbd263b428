"""Lengths of sea cows by age: growth that levels off."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("dugongs_data-dugongs_model",)


def model(data, backend="numba"):
    animal = dt.Dim("animal")
    age = dt.data(data["x"], dims=animal, name="age")
    alpha, beta = (dt.rv(name, dist.Normal(0, 1000)) for name in ("alpha", "beta"))
    rate = dt.rv("lambda", dist.Uniform(0.5, 1))
    tau = dt.rv("tau", dist.Gamma(0.0001, 0.0001))
    mean = alpha - beta * dt.exp(age * dt.log(rate))
    length = dt.rv("length", dist.Normal(mean, 1 / dt.sqrt(tau)))
    return dt.Model(length, backend=backend).observe({length: data["Y"]})
