"""Dogs learn to avoid a shock: how fast differs between dogs."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("dogs-dogs_nonhierarchical",)
AXES = {"z": ("dog", "speed"), "L_logit_ab": ("speed", "other")}


def model(data, backend="numba"):
    dog, trial = dt.Dim("dog", length=data["n_dogs"]), dt.Dim("trial")
    speed = dt.Dim("speed", coords=["by shocks", "by avoidances"])
    other = speed.rename("other")
    mu = dt.rv("mu_logit_ab", dist.Logistic(0, 1), dims=speed)
    sigma = dt.rv("sigma_logit_ab", dist.HalfNormal(1), dims=speed)
    correlation = dt.rv("L_logit_ab", dist.LKJCholesky(speed, other, eta=2))
    z = dt.rv("z", dist.Normal(0, 1), dims=[dog, speed])
    # each row of z times the factor, its rows scaled
    shift = dt.dot(z * sigma, correlation, dim=speed).relabel(other, speed)
    log_chance = dt.log(dt.sigmoid(mu + shift))
    log_a, log_b = (log_chance.sel(speed=label) for label in speed.coords)

    def step(before, log_a, log_b):
        shocks, avoided = before
        p = dt.exp(shocks * log_a + avoided * log_b)
        return dist.Bernoulli(p), lambda y: (shocks + y, avoided + 1 - y)

    y = dt.rv("y", dist.Series(step, (0.0, 0.0), dim=trial, log_a=log_a, log_b=log_b))
    return dt.Model(y, backend=backend).observe({y: (("dog", "trial"), data["y"])})
