"""Weights of mesquite bushes by what is measured in the field."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._regression import columns, linear

POSTERIORS = ("mesquite-mesquite",)


def model(data, backend="numba"):
    bush = dt.Dim("bush")
    names = ("diam1", "diam2", "canopy_height", "total_height", "density", "group")
    diam1, diam2, canopy_height, total_height, density, group = columns(data, names, bush)
    sigma = dt.rv("sigma", dist.HalfFlat())
    mean = linear(
        {
            "intercept": 1.0,
            "diam1": diam1,
            "diam2": diam2,
            "canopy_height": canopy_height,
            "total_height": total_height,
            "density": density,
            "group": group,
        }
    )
    weight = dt.rv("weight", dist.Normal(mean, sigma))
    return dt.Model(weight, backend=backend).observe({weight: data["weight"]})
