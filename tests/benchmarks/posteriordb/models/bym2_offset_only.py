"""Traffic accidents by census tract: effects that neighbors share, and effects of their own."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("traffic_accident_nyc-bym2_offset_only",)


def model(data, backend="numba"):
    tract, edge = dt.Dim("tract", coords=range(1, data["N"] + 1)), dt.Dim("edge")
    one, two = (
        dt.data(data[name], dims=edge, categories=tract, name=name) for name in ["node1", "node2"]
    )
    exposure = dt.data(data["E"], dims=tract, name="exposure")
    beta0 = dt.rv("beta0", dist.Normal(0, 1))
    sigma = dt.rv("sigma", dist.HalfNormal(1))
    rho = dt.rv("rho", dist.Beta(0.5, 0.5))
    theta = dt.rv("theta", dist.Normal(0, 1), dims=tract)

    def alike(phi):
        difference = phi.sel(tract=one) - phi.sel(tract=two)
        centered = dist.Normal(0, 0.001 * data["N"]).logp(phi.sum(tract))
        return -0.5 * (difference**2).sum(edge) + centered

    phi = dt.rv("phi", dist.custom(alike, dt.real, event_dims=tract))
    effect = dt.sqrt(1 - rho) * theta + dt.sqrt(rho / data["scaling_factor"]) * phi
    y = dt.rv("y", dist.Poisson(dt.exp(dt.log(exposure) + beta0 + sigma * effect)))
    return dt.Model(y, backend=backend).observe({y: data["y"]})
