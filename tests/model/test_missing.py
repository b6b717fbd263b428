"""Values that were not observed, as parameters: where they lie, and their names."""

import numpy as np
import pytest
import scipy.stats as st

import dimtensor as dt
from dimtensor import dist
from dimtensor.errors import InputError


def test_two_variables_lack_values_at_other_places_of_two_dims():
    a, b = dt.Dim("a", coords=["p", "q"]), dt.Dim("b", coords=[10, 20, 30])
    x = dt.rv("x", dist.Normal(0.0, 1.0), dims=[a, b])
    y = dt.rv("y", dist.Normal(2.0 * x, 1.0))
    at_x, at_y = np.ones((2, 3)), np.ones((2, 3))
    at_x[0, 1] = at_y[0, 0] = at_y[1, 2] = np.nan
    pairs = {x: (("a", "b"), at_x), y: (("a", "b"), at_y)}
    density = dt.Model(y, backend="python").observe(pairs, missing="infer").log_density()
    found = density.constrain(np.array([0.1, 0.2, 0.3]))
    assert found["x_missing"].sel(a="p", b=20).item() == 0.1
    assert list(found["y_missing"].indexes["a_b_y_missing"]) == [("p", 10), ("q", 30)]
    given = np.array([[1.0, 0.1, 1.0], [1.0, 1.0, 1.0]])
    seen = np.array([[0.2, 1.0, 1.0], [1.0, 1.0, 0.3]])
    wanted = st.norm.logpdf(given).sum() + st.norm(2 * given).logpdf(seen).sum()
    assert density.logp(np.array([0.1, 0.2, 0.3])) == pytest.approx(wanted, abs=1e-12)
    drawn = dt.Model(y).observe(pairs, missing="infer").sample(
        5, tune=5, chains=1, seed=1, progress_bar=False, report=False
    )["posterior"]  # fmt: skip
    assert drawn.indexes["a_b_y_missing"].tolist() == ["p,10", "q,30"]
    assert drawn.indexes["a_b"].tolist() == ["p,20"]


def test_bounds_are_those_of_the_missing_elements():
    k, j = dt.Dim("k", coords=list("abc")), dt.Dim("j", length=2)
    low = dt.data([0.0, 0.1, 0.2], dims=k)
    m = dt.rv("m", dist.Normal(0.0, 1.0))
    one = dt.rv("one", dist.truncated(dist.Normal(m, 1.0), lower=low))
    fit = dt.Model(one, backend="python").observe(one=[0.5, np.nan, 1.0], missing="infer")
    density, at = fit.log_density(), 0.1 + np.exp(-2.0)
    assert density.constrain(np.array([0.3, -2.0]))["one_missing"].item() == pytest.approx(at)
    values = zip([0.0, 0.1, 0.2], [0.5, at, 1.0], strict=True)
    wanted = st.norm.logpdf(0.3) - 2.0
    wanted += sum(st.truncnorm(a - 0.3, np.inf, 0.3).logpdf(value) for a, value in values)
    assert density.logp(np.array([0.3, -2.0])) == pytest.approx(wanted, abs=1e-12)

    two = dt.rv("two", dist.Uniform(low, 1.0), dims=[k, j])
    values = np.full((3, 2), 0.5)
    values[1, 0] = values[2, 1] = np.nan
    fit = dt.Model(two, backend="python").observe(two=(("k", "j"), values), missing="infer")
    found = fit.log_density().constrain(np.zeros(2))["two_missing"]
    np.testing.assert_allclose(np.sort(found.values), [0.55, 0.6], rtol=1e-12)


def test_elements_that_determine_each_other_are_not_inferred():
    k = dt.Dim("k", coords=list("abc"))
    v = dt.rv("v", dist.Dirichlet(dt.ones(k), over=k))
    fit = dt.Model(v, backend="python").observe(v=[0.5, np.nan, np.nan], missing="infer")
    with pytest.raises(InputError, match="its elements determine each other") as error:
        fit.log_density()
    assert "'k=b', 'k=c'" in str(error.value)
