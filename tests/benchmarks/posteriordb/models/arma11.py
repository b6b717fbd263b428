"""A series that remembers its last value and its last error."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("arma-arma11",)


def model(data, backend="numba"):
    time = dt.Dim("time")
    mu = dt.rv("mu", dist.Normal(0, 10))
    phi = dt.rv("phi", dist.Normal(0, 2))
    theta = dt.rv("theta", dist.Normal(0, 2))
    sigma = dt.rv("sigma", dist.HalfCauchy(2.5))

    def step(last, mu, phi, theta, sigma):
        y, error = last
        expected = mu + phi * y + theta * error
        return dist.Normal(expected, sigma), lambda y: (y, y - expected)

    series = dist.Series(step, (mu, 0.0), dim=time, mu=mu, phi=phi, theta=theta, sigma=sigma)
    y = dt.rv("y", series)
    return dt.Model(y, backend=backend).observe({y: data["y"]})
