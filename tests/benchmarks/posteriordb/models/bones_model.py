"""Ages of skeletons from grades of bones, whose numbers of grades differ."""

import numpy as np

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("bones_data-bones_model",)


def model(data, backend="numba"):
    child, bone = dt.Dim("child"), dt.Dim("bone")
    grade = dt.Dim("grade", coords=range(1, 6))
    theta = dt.rv("theta", dist.Normal(0, 36), dims=child)
    slope = dt.data(data["delta"], dims=bone, name="slope")
    # a step that a bone does not have is never taken
    steps = np.array(data["gamma"])
    steps[np.arange(1, 5) >= np.array(data["ncat"])[:, None]] = np.inf
    cut = dt.data(steps, dims=[bone, dt.Dim("cut", length=4)], name="cuts")
    grades = np.array(data["grade"], float)
    grades[grades == -1] = np.nan
    seen = dt.rv("seen", dist.OrderedLogistic(slope * theta, slope * cut, dim=grade))
    fit = dt.Model(seen, backend=backend)
    return fit.observe({seen: (("child", "bone"), grades)}, missing="drop")
