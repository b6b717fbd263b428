"""A log density as expressions, to be built upon."""

import numpy as np

import dimtensor as dt


def test_expressions_of_the_vector_are_what_the_model_computes():
    k = dt.Dim("k", coords=["a", "b"])
    x, tau = dt.tensor("x", dims=k), dt.scalar("tau")
    model = dt.LogDensity(
        {"x": -((x / tau) ** 2), "tau": -tau}, {tau: dt.positive, x: dt.real}, backend="python"
    )
    point = np.array([0.3, 1.0, -2.0])
    given = {model.unconstrained: point}
    np.testing.assert_allclose(model.constrained["tau"].eval(given), np.exp(0.3), rtol=1e-15)
    assert model.constrained["x"].eval(given).sel(k="b").item() == -2.0
    assert list(model.constrained) == ["tau", "x"]
    by_hand = -(1.0 + 4.0) / np.exp(0.6) - np.exp(0.3)
    np.testing.assert_allclose(model.density.eval(given), by_hand + 0.3, rtol=1e-14)
    np.testing.assert_allclose(model.logp(point), by_hand + 0.3, rtol=1e-14)
    values = {"tau": np.exp(0.3), "x": point[1:]}
    np.testing.assert_allclose(model.expression.eval(values), by_hand, rtol=1e-14)
