"""Acceleration of a head in a crash: splines for its mean and its spread."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("mcycle_splines-accel_splines",)


def model(data, backend="numba"):
    moment = dt.Dim("moment")
    line, knot = dt.Dim("line", length=data["Ks"]), dt.Dim("knot", length=data["knots_1"])
    line_s = dt.Dim("line_sigma", length=data["Ks_sigma"])
    knot_s = dt.Dim("knot_sigma", length=data["knots_sigma_1"])
    x, z = (dt.data(data[n], dims=[moment, d], name=n) for n, d in (("Xs", line), ("Zs_1_1", knot)))
    x_s = dt.data(data["Xs_sigma"], dims=[moment, line_s], name="Xs_sigma")
    z_s = dt.data(data["Zs_sigma_1_1"], dims=[moment, knot_s], name="Zs_sigma_1_1")

    intercept = dt.rv("Intercept", dist.StudentT(3, -13, 36))
    intercept_s = dt.rv("Intercept_sigma", dist.StudentT(3, 0, 10))
    bs, bs_s = dt.rv("bs", dist.Flat(), dims=line), dt.rv("bs_sigma", dist.Flat(), dims=line_s)
    zs = dt.rv("zs_1_1", dist.Normal(0, 1), dims=knot)
    zs_s = dt.rv("zs_sigma_1_1", dist.Normal(0, 1), dims=knot_s)
    sds, sds_s = (dt.rv(n, dist.HalfStudentT(3, 36)) for n in ("sds_1_1", "sds_sigma_1_1"))
    mean = intercept + dt.dot(x, bs, dim=line) + sds * dt.dot(z, zs, dim=knot)
    log_sd = intercept_s + dt.dot(x_s, bs_s, dim=line_s) + sds_s * dt.dot(z_s, zs_s, dim=knot_s)
    acceleration = dt.rv("acceleration", dist.Normal(mean, dt.exp(log_sd)))
    return dt.Model(acceleration, backend=backend).observe({acceleration: data["Y"]})
