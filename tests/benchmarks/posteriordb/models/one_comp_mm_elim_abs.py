"""A drug that is absorbed at a rate and eliminated as Michaelis and Menten say."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("one_comp_mm_elim_abs-one_comp_mm_elim_abs",)
EXACT = {"rtol": 1e-11, "atol": 1e-11}


def model(data, backend="numba", rtol=1e-10, atol=1e-10):
    day = dt.Dim("day")
    k_a, K_m, V_m, sigma = (
        dt.rv(name, dist.HalfCauchy(1)) for name in ["k_a", "K_m", "V_m", "sigma"]
    )
    dose, volume = data["D"], data["V"]

    def change(t, c):
        return (dt.exp(-k_a * t) * dose * k_a - V_m * c / (K_m + c)) / volume

    times = dt.data([data["t0"], *data["times"]], dims=day, name="times")
    path = dt.ode(change, 0.0, times, rtol=rtol, atol=atol, max_steps=10_000)
    seen = path.isel(day=slice(1, None))
    c_hat = dt.rv("C_hat", dist.LogNormal(dt.log(seen), sigma))
    return dt.Model(c_hat, backend=backend).observe({c_hat: data["C_hat"]})
