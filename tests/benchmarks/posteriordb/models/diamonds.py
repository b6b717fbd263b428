"""Prices of diamonds: a regression on many centered predictors."""

import numpy as np

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("diamonds-diamonds",)


def model(data, backend="numba"):
    stone = dt.Dim("stone")
    predictor = dt.Dim("predictor", length=data["K"] - 1)
    x = dt.data(np.asarray(data["X"])[:, 1:], dims=[stone, predictor], name="x")
    b = dt.rv("b", dist.Normal(0, 1), dims=predictor)
    intercept = dt.rv("Intercept", dist.StudentT(3, 8, 10))
    sigma = dt.rv("sigma", dist.HalfStudentT(3, 10))
    mean = intercept + dt.dot(x - x.mean(stone), b, dim=predictor)
    price = dt.rv("price", dist.Normal(mean, sigma))
    return dt.Model(price, backend=backend).observe({price: data["Y"]})
