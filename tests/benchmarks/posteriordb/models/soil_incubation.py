"""Carbon in two pools of soil that feed each other, seen by the gas that leaves them."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("soil_carbon-soil_incubation",)
EXACT = {"rtol": 1e-11, "atol": 1e-11}


def model(data, backend="numba", rtol=1e-6, atol=1e-6):
    day, pool = dt.Dim("day"), dt.Dim("pool", coords=["fast", "slow"])
    k1, k2, alpha21, alpha12 = (
        dt.rv(name, dist.HalfNormal(1)) for name in ["k1", "k2", "alpha21", "alpha12"]
    )
    gamma = dt.rv("gamma", dist.Beta(10, 1))
    sigma = dt.rv("sigma", dist.HalfCauchy(1))

    def change(t, carbon):
        fast, slow = carbon.sel(pool="fast"), carbon.sel(pool="slow")
        return dt.stack([-k1 * fast + alpha12 * k2 * slow, -k2 * slow + alpha21 * k1 * fast], pool)

    total = data["totalC_t0"]
    times = dt.data([data["t0"], *data["ts"]], dims=day, name="times")
    start = total * dt.stack([gamma, 1 - gamma], pool)
    carbon = dt.ode(change, start, times, rtol=rtol, atol=atol).isel(day=slice(1, None))
    evolved = dt.rv("eCO2mean", dist.Normal(total - carbon.sum(pool), sigma))
    return dt.Model(evolved, backend=backend).observe({evolved: data["eCO2mean"]})
