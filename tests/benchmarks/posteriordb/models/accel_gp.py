"""Acceleration of a head in a crash: Gaussian processes for its mean and its noise, by basis."""

import numpy as np

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("mcycle_gp-accel_gp",)


def model(data, backend="numba"):
    obs = dt.Dim("obs")

    def process(suffix, center, width):
        """A level and a sum of waves, whose weights are the spectral density of a kernel."""
        wave = dt.Dim(f"wave{suffix}")
        waves = dt.data(data[f"Xgp{suffix}_1"], dims=[obs, wave], name=f"waves{suffix}")
        frequency = [row[0] for row in data[f"slambda{suffix}_1"]]
        frequency = dt.data(frequency, dims=wave, name=f"frequency{suffix}")
        level = dt.rv(f"Intercept{suffix}", dist.StudentT(3, center, width))
        sd = dt.rv(f"sdgp{suffix}_1", dist.HalfStudentT(3, 36))
        length = dt.rv(f"lscale{suffix}_1", dist.InverseGamma(1.124909, 0.0177))
        z = dt.rv(f"zgp{suffix}_1", dist.Normal(0, 1), dims=wave)
        scale = np.sqrt(2 * np.pi) * length
        density = sd**2 * scale * dt.exp(-0.5 * (length * frequency) ** 2)
        return level + dt.dot(waves, dt.sqrt(density) * z, dim=wave)

    mean, log_noise = process("", -13, 36), process("_sigma", 0, 10)
    y = dt.rv("Y", dist.Normal(mean, dt.exp(log_noise)))
    return dt.Model(y, backend=backend).observe({y: data["Y"]})
