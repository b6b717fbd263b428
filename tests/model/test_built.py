"""What is checked of models when they are built, observed and sampled."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dimtensor as dt
from dimtensor import dist

K = dt.Dim("k", coords=["a", "b"])
PART = dt.Dim("part", length=2)


def normal(name, **options):
    return dt.rv(name, dist.Normal(0, 1), **options)


def positive(name):
    return dt.rv(name, dist.HalfNormal(1))


def model(distribution, **options):
    return dt.Model(dt.rv("y", distribution, **options), backend="python")


LEAVES = {
    "itself": lambda: dist.Normal(0, normal("s", dims=K)),
    "one label": lambda: dist.Normal(0, normal("s", dims=K).sel(k="a")),
    "a sign": lambda: dist.Normal(0, -positive("s")),
    "a product": lambda: dist.Normal(0, 2 * normal("s")),
    "a negative product": lambda: dist.Normal(0, positive("s") * -0.5),
    "a difference": lambda: dist.Normal(0, positive("s") - 1),
    "from a number": lambda: dist.Normal(0, 5 - positive("s")),
    "a logarithm": lambda: dist.Normal(0, dt.log(positive("s"))),
    "named": lambda: dist.Normal(0, dt.named("t", normal("s") / 3)),
    "truncated": lambda: dist.truncated(dist.Normal(0, normal("s")), 0, 1),
    "mixed": lambda: dist.mixture(
        dt.data([0.5, 0.5], dims=PART), dist.Normal(0, normal("s", dims=PART)), dim=PART
    ),
    "probability": lambda: dist.Bernoulli(positive("s")),
    "twice a probability": lambda: dist.Bernoulli(2 * dt.rv("s", dist.Beta(1, 1))),
    "count": lambda: dist.Binomial(dt.rv("s", dist.Poisson(3.0)) - 1, 0.5),
}


@pytest.mark.parametrize("case", LEAVES)
def test_a_parameter_that_may_leave_its_range_is_an_error(case):
    with pytest.raises(
        dt.GraphError, match=r"of 'y' is .*'s' may be something else\n  y: .* of dims"
    ):
        model(LEAVES[case]())


STAYS = {
    "positive": lambda: dist.Normal(0, positive("s")),
    "exp": lambda: dist.Normal(0, dt.exp(normal("s"))),
    "scaled": lambda: dist.Normal(0, 2 * positive("s") + 1),
    "of two": lambda: dist.Normal(0, normal("s") ** 2 + positive("t")),
    "one less a probability": lambda: dist.Bernoulli(1 - dt.rv("s", dist.Beta(1, 1))),
    "log of what is above one": lambda: dist.Normal(0, dt.log(dt.rv("s", dist.Pareto(1.0, 2.0)))),
    "bounded": lambda: dist.Bernoulli(0.5 * dt.rv("s", dist.Uniform(0, 2))),
    "a count": lambda: dist.Binomial(dt.rv("s", dist.Poisson(3.0)) + 1, 0.5),
    "a quotient": lambda: dist.Bernoulli(1 / dt.rv("s", dist.Uniform(2, 3))),
}


@pytest.mark.parametrize("case", STAYS)
def test_a_parameter_that_stays_in_its_range_is_none(case):
    assert "s" in model(STAYS[case]()).variables


@pytest.mark.parametrize(
    ("distribution", "values", "message"),
    [
        (dist.HalfNormal(1), [1.0, -1.0], r"1 of 2\n  y: HalfNormal.*\n  at: 'k=b'\n.*'-1.0'"),
        (dist.Poisson(1.0), [-2, 1], r"1 of 2\n.*of dims {k}\n  at: 'k=a'\n  values: '-2'"),
        (dist.Uniform(0, 1), [2.0, 3.0], "2 of 2\n"),
        (dist.Normal(0, 1), [np.inf, 0.0], "1 of 2\n(.|\n)*at: 'k=a'"),
        (dist.Bernoulli(0.5), [2, 0], "1 of 2\n(.|\n)*at: 'k=a'"),
    ],
)
def test_observations_outside_of_the_support_are_named(distribution, values, message):
    with pytest.raises(dt.InputError, match=f"'y' lie outside of the support.*{message}"):
        model(distribution, dims=K).observe(y=values)


def test_observations_on_the_border_and_missing_ones_are_inside():
    assert model(dist.HalfNormal(1), dims=K).observe(y=[0.0, 1.0]).observed
    fit = model(dist.HalfNormal(1), dims=K).observe(y=[np.nan, 1.0], missing="drop")
    assert np.isfinite(fit.logp({})["y"]).all()
    labeled = pd.Series([-1.0, np.nan], index=pd.Index(["b", "a"], name="k"))
    with pytest.raises(dt.InputError, match=r"1 of 2\n(.|\n)*'k=b'"):
        model(dist.Exponential(1), dims=K).observe(y=labeled, missing="drop")


def test_what_nothing_observed_depends_on_is_named_with_its_dims():
    x, y = normal("x", dims=K), normal("y")
    with pytest.warns(dt.ModelWarning, match=r"x: Normal\(mu=0, sigma=1\), of dims {k}"):
        dt.Model(x, y, backend="python").observe(y=1.0)


def test_discrete_parameters_are_named_with_their_dims():
    z = dt.rv("z", dist.Poisson(3.0), dims=K)
    fit = model(dist.Normal(z, 1)).observe(y=[1.0, 2.0])
    with pytest.raises(dt.GraphError, match=r"z: Poisson\(mu=3\), of dims {k}"):
        fit.sample()


def test_a_flat_variable_that_nothing_depends_on_has_no_posterior():
    x = dt.rv("x", dist.Flat(), dims=K)
    with pytest.raises(
        dt.GraphError, match=r"no density depends on 'x'(.|\n)*Flat\(\), of dims {k}"
    ):
        dt.Model(x, backend="python").log_density()
    y = dt.rv("y", dist.Normal(x, 1.0))
    assert dt.Model(y, backend="python").observe(y=[1.0, 2.0]).log_density().size == 2


def test_labels_that_a_density_does_not_depend_on_are_named():
    pytest.importorskip("nutpie")
    x = dt.rv("x", dist.Flat(), dims=K)
    fit = model(dist.Normal(x.sel(k="a"), 1.0)).observe(y=1.0)
    with pytest.raises(dt.CheckError, match=r"does not depend on some elements\n.*'x\[b\]'"):
        fit.sample(5, tune=5, chains=1, seed=1, progress_bar=False, report=False)


def test_a_name_is_used_once_and_a_dim_has_a_length():
    with pytest.raises(dt.GraphError, match=r"'x' is used twice(.|\n)*dims {k}(.|\n)*dims {}"):
        dt.Model(normal("x", dims=K), normal("y"), dt.named("x", normal("z") + 1))
    house = dt.Dim("house")
    fit = model(dist.Normal(normal("x", dims=house).sum(), 1)).observe(y=1.0)
    with pytest.raises(dt.GraphError, match="length of dim 'house' of the parameter 'x' is known"):
        fit.log_density()


def test_ranges_are_looked_for_through_deep_expressions():
    x = dt.rv("deep", dist.Normal(0.0, 1.0))
    for _ in range(3000):
        x = x + 0.001
    y = dt.rv("y", dist.Normal(0.0, dt.exp(x)))
    assert list(dt.Model(y, backend="python").free) == ["deep", "y"]
    z = dt.rv("z", dist.Normal(0.0, x))
    with pytest.raises(dt.GraphError, match="sigma of 'z' is above 0, and what is computed from"):
        dt.Model(z, backend="python")
