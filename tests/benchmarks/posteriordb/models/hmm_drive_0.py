"""Does a basketball player drive to the hoop? Two states, seen by speed and distance."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._drive import hidden

POSTERIORS = ("bball_drive_event_0-hmm_drive_0",)
PARTS = {"theta": ("theta1", "theta2")}
AXES = {"theta": ("state", "following")}


def model(data, backend="numba"):
    z, phi, rate = hidden(data, dt.supports.positive_ordered)
    u = dt.rv("u", dist.Exponential(phi.sel(state=z)))
    v = dt.rv("v", dist.Exponential(rate.sel(state=z)))
    fit = dt.Model(u, v, backend=backend).observe({u: data["u"], v: data["v"]})
    return fit.marginalize(z)
