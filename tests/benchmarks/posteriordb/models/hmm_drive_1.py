"""Does a basketball player drive to the hoop? Two states, normal outputs of known width."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._drive import hidden

POSTERIORS = ("bball_drive_event_1-hmm_drive_1",)
PARTS = {"theta": ("theta1", "theta2")}
AXES = {"theta": ("state", "following")}


def model(data, backend="numba"):
    z, phi, center = hidden(data, dt.supports.ordered)
    u = dt.rv("u", dist.Normal(phi.sel(state=z), data["tau"]))
    v = dt.rv("v", dist.Normal(center.sel(state=z), data["rho"]))
    fit = dt.Model(u, v, backend=backend).observe({u: data["u"], v: data["v"]})
    return fit.marginalize(z)
