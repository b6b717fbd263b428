"""A neural network with one hidden layer of ten units for handwritten digits."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("mnist_100-nn_rbm1bJ10",)
AXES = {"alpha": ("pixel", "unit"), "beta": ("unit", "digit")}


def model(data, backend="numba"):
    image, pixel = dt.Dim("image"), dt.Dim("pixel", length=data["M"])
    digit, unit = dt.Dim("digit", coords=range(1, data["K"] + 1)), dt.Dim("unit", length=10)
    x = dt.data(data["x"], dims=[image, pixel], name="x")

    def scale(n):  # what the prior of Lampinen and Vehtari (2001) has for n inputs
        return dist.InverseGamma(0.25, 0.25 * (0.05 / n**2) ** 2)

    sigma2_alpha = dt.rv("sigma2_alpha", scale(data["M"]))
    sigma2_beta = dt.rv("sigma2_beta", scale(10))
    alpha = dt.rv("alpha", dist.Normal(0, dt.sqrt(sigma2_alpha)), dims=[pixel, unit])
    beta = dt.rv("beta", dist.Normal(0, dt.sqrt(sigma2_beta)), dims=[unit, digit[2:]])
    alpha1 = dt.rv("alpha1", dist.Normal(0, 1), dims=unit)
    beta1 = dt.rv("beta1", dist.Normal(0, 1), dims=digit[2:])
    hidden = dt.tanh(alpha1 + dt.dot(x, alpha, dim=pixel))
    others = beta1 + dt.dot(hidden, beta, dim=unit)
    logits = dt.concat([dt.ones(digit[:1]), others], "digit")
    y = dt.rv("y", dist.Categorical(logits=logits, dim=digit))
    return dt.Model(y, backend=backend).observe({y: data["y"]})
