"""Models of posteriordb written as loops, as a modeler writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dimtensor as dt
from tests.reference_models.densities import cauchy, normal
from tests.reference_models.programs import Model


def arK(data: Mapping[str, Any]) -> Model:
    """An autoregression: the state of the loop is the last K values, the newest first."""
    order = data["K"]
    time = dt.Dim("time", coords=range(order + 1, data["T"] + 1))
    lag = dt.Dim("lag", coords=range(1, order + 1))
    y = dt.data(data["y"][order:], dims=time)
    first = dt.data(data["y"][order - 1 :: -1], dims=lag)

    alpha = dt.scalar("alpha")
    beta = dt.tensor("beta", dims=lag)
    sigma = dt.scalar("sigma")

    def step(past, y):
        mu = alpha + (beta * past).sum(lag)
        return dt.push(past, y, lag), normal(y, mu, sigma)

    _, terms = dt.scan(step, first, y, dim=time)
    prior = normal(alpha, 0.0, 10.0) + normal(beta, 0.0, 10.0).sum() + cauchy(sigma, 0.0, 2.5)
    return Model(prior + terms.sum(), [alpha, beta, sigma])


def hmm_example(data: Mapping[str, Any]) -> Model:
    """A hidden Markov model by the forward algorithm. All states start with weight 1."""
    time = dt.Dim("time", coords=range(2, data["N"] + 1))
    state = dt.Dim("state", coords=["low", "high"])
    origin = state.rename("origin")
    y = dt.data(data["y"][1:], dims=time)
    location = dt.data([3.0, 10.0], dims=state)

    theta1, theta2 = (dt.tensor(f"theta{k}", dims=state) for k in (1, 2))
    mu = dt.tensor("mu", dims=state)
    log_theta = dt.log(dt.stack([theta1, theta2], origin))

    def step(gamma, y):
        reached = dt.logsumexp(gamma.rename_dim(state, origin) + log_theta, origin)
        return reached + normal(y, mu, 1.0)

    last = dt.reduce(step, normal(data["y"][0], mu, 1.0), y, dim=time)
    logp = normal(mu, location, 1.0).sum() + dt.logsumexp(last, state)
    return Model(logp, [theta1, theta2, mu])
