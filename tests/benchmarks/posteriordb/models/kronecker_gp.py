"""Series at the same times that are like each other: a Gaussian process with two covariances."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("synthetic_grid_RBF_kernels-kronecker_gp",)
# Stan divides by differences of eigenvalues that are nearly equal: its gradient is 12% off
DIFFERENCES = 1e-5
AXES = {"L": ("series", "row")}


def model(data, backend="numba"):
    time, series = dt.Dim("time", length=data["n1"]), dt.Dim("series", length=data["n2"])
    then, row = time.rename("then"), series.rename("row")
    x = dt.data(data["x1"], dims=time, name="x")
    var1 = dt.rv("var1", dist.LogNormal(0, 1))
    bw1 = dt.rv("bw1", dist.HalfCauchy(2.5))
    noise = dist.custom(lambda x: dist.LogNormal(0, 1).logp(x), dt.supports.bounded(low=0.00001))
    sigma1 = dt.rv("sigma1", noise)
    L = dt.rv("L", dist.LKJCholesky(series, row, 2))
    over_time = var1 * dt.exp(-bw1 * (x - x.relabel(time, then)) ** 2) + 1e-5 * dt.eye(time, then)
    inner = series.rename("inner")
    turned = L.rename({series: row, row: inner})
    across = dt.dot(L.rename({row: inner}), turned, dim=inner)
    d = dist.KroneckerNormal(0.0, [over_time, across], sigma=dt.sqrt(sigma1))
    y = dt.rv("y", d)
    return dt.Model(y, backend=backend).observe({y: (("series", "time"), data["y"])})
