"""Kernels and conditionals beside scikit-learn's GaussianProcessRegressor, version 1.9.1.

Expected values are those of this program, which printed log marginal likelihoods, means at new
points and covariances there::

    import numpy as np
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import (
        RBF,
        ConstantKernel,
        DotProduct,
        ExpSineSquared,
        Matern,
        RationalQuadratic,
        WhiteKernel,
    )

    x = np.array([0.0, 0.3, 0.7, 1.5, 2.2, 3.0, 3.1])[:, None]
    new = np.array([0.5, 1.8, 4.0])[:, None]
    y = np.sin(2.0 * x[:, 0]) + 0.1 * x[:, 0] ** 2
    plane, new_plane = np.hstack([x, x[::-1] ** 2]), np.hstack([new, 2.0 * new])
    kernels = {
        "squared exponential": 1.5 * RBF(0.8),
        "Matern 1/2": Matern(0.8, nu=0.5),
        "Matern 3/2": Matern(0.8, nu=1.5),
        "Matern 5/2": Matern(0.8, nu=2.5),
        "rational quadratic": RationalQuadratic(1.1, alpha=0.7),
        "periodic": ExpSineSquared(1.3, periodicity=2.5),
        "linear": DotProduct(0.0) + ConstantKernel(0.5),
        "polynomial": DotProduct(1.2) ** 2,
        "white": RBF(0.8) + WhiteKernel(0.3),
        "product": Matern(2.0, nu=1.5) * ExpSineSquared(1.3, periodicity=2.5),
        "length scales": Matern([0.8, 3.0], nu=2.5),
    }
    for name, kernel in kernels.items():
        at, to = (plane, new_plane) if name == "length scales" else (x, new)
        gp = GaussianProcessRegressor(kernel, alpha=0.3**2, optimizer=None).fit(at, y)
        mean, cov = gp.predict(to, return_cov=True)
        found = [gp.log_marginal_likelihood_value_, *mean, *cov[np.triu_indices(3)]]
        print(f"{name!r}: {[float(f'{v:.10g}') for v in found]},")
"""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist

X = np.array([0.0, 0.3, 0.7, 1.5, 2.2, 3.0, 3.1])
NEW = np.array([0.5, 1.8, 4.0])
Y = np.sin(2.0 * X) + 0.1 * X**2
AXIS = dt.Dim("axis", length=2)
PERIODIC = dt.gp.Periodic(1.3, period=2.5)
KERNELS = {
    "squared exponential": 1.5 * dt.gp.SquaredExponential(0.8),
    "Matern 1/2": dt.gp.Matern12(0.8),
    "Matern 3/2": dt.gp.Matern32(0.8),
    "Matern 5/2": dt.gp.Matern52(0.8),
    "rational quadratic": dt.gp.RationalQuadratic(1.1, alpha=0.7),
    "periodic": PERIODIC,
    "linear": dt.gp.Polynomial(1, offset=0.5),
    "polynomial": dt.gp.Polynomial(2, offset=1.44),
    "white": dt.gp.SquaredExponential(0.8) + dt.gp.White(0.3),
    "product": dt.gp.Matern32(2.0) * PERIODIC,
    "length scales": dt.gp.Matern52(dt.data([0.8, 3.0], dims=AXIS)),
}
EXPECTED = {
    "squared exponential": [
        -6.189259859,
        0.7905080238,
        -0.1303996878,
        0.7568593453,
        0.04681184697,
        -0.005740815605,
        -0.003246783342,
        0.06704875014,
        0.02242559885,
        1.012033718,
    ],
    "Matern 1/2": [
        -6.890274422,
        0.7210137678,
        0.03262428314,
        0.2543262447,
        0.2835068368,
        0.0007523075571,
        1.342084802e-07,
        0.4392763062,
        7.836503155e-05,
        0.9018086166,
    ],
    "Matern 3/2": [
        -6.236648654,
        0.7946190743,
        -0.06141629556,
        0.4013869959,
        0.07846322394,
        -0.0004443899219,
        -7.38719962e-06,
        0.1666263166,
        0.002993718877,
        0.8335272489,
    ],
    "Matern 5/2": [
        -6.066169354,
        0.7864607206,
        -0.09001354023,
        0.4745155647,
        0.05674581926,
        -0.0012460601,
        -7.194713509e-05,
        0.1094667265,
        0.006643527314,
        0.7993713215,
    ],
    "rational quadratic": [
        -6.616761089,
        0.6925228133,
        -0.008692305583,
        0.7784726169,
        0.03955154709,
        -0.0005151146608,
        0.0003368469171,
        0.05866919394,
        -0.000327049592,
        0.4522636371,
    ],
    "periodic": [
        -4.22393879,
        0.7547670467,
        -0.1031980439,
        0.3346093509,
        0.02850744376,
        0.00377988643,
        -0.001144600973,
        0.1588484389,
        0.05362246431,
        0.07920133457,
    ],
    "linear": [
        -11.24937992,
        0.3709594951,
        0.4325546241,
        0.5367925348,
        0.02149825439,
        0.00989427291,
        -0.009743234209,
        0.01331269963,
        0.01909772947,
        0.06790551415,
    ],
    "polynomial": [
        -14.07039992,
        0.3623894007,
        0.2914130429,
        1.012685411,
        0.02325261218,
        0.01421218426,
        -0.02401453345,
        0.03898947829,
        -0.06638971549,
        0.3532429745,
    ],
    "white": [
        -7.532054578,
        0.6142925035,
        0.01022700882,
        0.4658356411,
        0.4432486647,
        0.0002038047784,
        -0.0002001006135,
        0.5015019242,
        -0.00935949677,
        1.067029127,
    ],
    "product": [
        -5.925471393,
        0.8303538676,
        -0.06993518368,
        0.1794670431,
        0.07060057986,
        0.005270944578,
        -0.002544602695,
        0.1957944124,
        0.04505880578,
        0.8077877361,
    ],
    "length scales": [
        -6.65798332,
        0.3488406816,
        0.2714775533,
        0.03017088467,
        0.8159623509,
        -0.09124105353,
        -0.001657879209,
        0.4317629513,
        0.01489902144,
        0.9989446552,
    ],
}


@pytest.mark.parametrize("name", KERNELS)
def test_likelihoods_and_conditionals(name):
    if name == "length scales":
        place = dt.Dim("place", coords=[*zip(X, X[::-1] ** 2, strict=True)])
        new = dt.Dim("place", coords=[*zip(NEW, 2.0 * NEW, strict=True)])
        at, to = dt.gp.points(place, AXIS), dt.gp.points(new, AXIS)
    else:
        place, new = dt.Dim("place", coords=X), dt.Dim("place", coords=NEW)
        at = to = None
    process = dist.GP(KERNELS[name], place, at=at, noise=0.3)
    y = dt.data(Y, dims=place)
    d = process.conditional(y, {place: new}, at=to, jitter=0.0)
    cov = d.covariance().eval().values
    upper = np.triu_indices(3)
    found = [process.logp(y).eval().item(), *d.mean().eval().values, *cov[upper]]
    np.testing.assert_allclose(found, EXPECTED[name], rtol=1e-8, atol=1e-9)
