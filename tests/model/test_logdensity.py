"""LogDensity: the flat vector, labels, data, errors; interpreted."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.dist.supports import Support

SCHOOL = dt.Dim("school", coords=["A", "B", "C"])
AGE = dt.Dim("age", length=2)
OBS = dt.Dim("obs")


def hierarchical(**options):
    """log p = -½ Σ z² - ½ Σ (y - mu - tau z)² - tau, with its parameters."""
    mu, tau, z = dt.scalar("mu"), dt.scalar("tau"), dt.tensor("z", dims=SCHOOL)
    y = dt.data(np.array([1.0, 2.0, 4.0]), dims=SCHOOL, name="y")
    theta = mu + tau * z
    logp = -0.5 * (z**2).sum() - 0.5 * ((y - theta) ** 2).sum() - tau
    supports = {mu: dt.real, tau: dt.positive, z: dt.real}
    return dt.LogDensity(logp, supports, backend="python", **options), theta


def expected_value(x, y=(1.0, 2.0, 4.0)):
    mu, tau, z = x[0], np.exp(x[1]), x[2:]
    return -0.5 * (z**2).sum() - 0.5 * ((np.array(y) - mu - tau * z) ** 2).sum() - tau + x[1]


def expected_gradient(x, y=(1.0, 2.0, 4.0)):
    mu, tau, z = x[0], np.exp(x[1]), x[2:]
    rest = np.array(y) - mu - tau * z
    return np.array([rest.sum(), tau * (rest * z).sum() - tau + 1, *(-z + tau * rest)])


# -- values ------------------------------------------------------------------------------------


def test_value_and_gradient(rng):
    model, _ = hierarchical()
    assert model.size == 5
    for x in rng.normal(size=(5, 5)):
        value, gradient = model.logp_and_grad(x)
        assert type(value) is float
        np.testing.assert_allclose(value, expected_value(x), rtol=1e-13)
        np.testing.assert_allclose(gradient, expected_gradient(x), rtol=1e-12)
        assert model.logp(x) == value


def test_without_jacobian(rng):
    model, _ = hierarchical(jacobian=False)
    x = rng.normal(size=5)
    value, gradient = model.logp_and_grad(x)
    np.testing.assert_allclose(value, expected_value(x) - x[1], rtol=1e-13)
    np.testing.assert_allclose(gradient, expected_gradient(x) - np.eye(5)[1], rtol=1e-12)


def test_vectors_of_all_makes_are_taken():
    model, _ = hierarchical()
    x = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    frozen = x.copy()
    frozen.flags.writeable = False
    strided = np.repeat(x, 2)[::2]
    for other in (x.astype("int64"), x.astype("float32"), x.tolist(), frozen, strided):
        value, gradient = model.logp_and_grad(other)
        assert value == model.logp_and_grad(x)[0] == model.logp(other)
        assert gradient.tolist() == model.logp_and_grad(x)[1].tolist()


def test_a_vector_of_another_length_is_an_error():
    model, _ = hierarchical()
    for call in (model.logp, model.logp_and_grad):
        with pytest.raises(dt.InputError, match=r"shape \(4,\), the model has 5(.|\n)*z: 3"):
            call(np.zeros(4))
    with pytest.raises(dt.InputError, match="has 5 unconstrained elements, the vectors have 6"):
        model.constrain(np.zeros((2, 6)))


def test_what_is_no_vector_and_no_mapping_is_named():
    model, _ = hierarchical()
    for call in (model.logp, model.logp_and_grad, model.constrain):
        with pytest.raises(dt.InputError, match="an array of real numbers, not str: 'mu'"):
            call("mu")
    with pytest.raises(dt.ArgumentError, match="values are given as a dict, not as int: 3"):
        model.unconstrain(3)
    with pytest.raises(dt.ArgumentError, match="new data are given as a dict, not as list"):
        model.with_data([1.0])
    with pytest.raises(dt.ArgumentError, match="deterministics are given as a dict, not as list"):
        model.with_deterministics([dt.scalar("mu")])


def test_order_is_that_of_the_dict_with_dims_in_canonical_order():
    w = dt.tensor("w", dims=[SCHOOL, AGE])
    c = dt.scalar("c")
    weights = dt.data(np.arange(6.0).reshape(3, 2), dims=[SCHOOL, AGE])
    model = dt.LogDensity((w * weights).sum() + 10 * c, {w: dt.real, c: dt.real}, "python")
    assert model.names == ["w[0,A]", "w[0,B]", "w[0,C]", "w[1,A]", "w[1,B]", "w[1,C]", "c"]
    assert model.logp_and_grad(np.zeros(7))[1].tolist() == [0, 2, 4, 1, 3, 5, 10]
    turned = dt.LogDensity((w * weights).sum() + 10 * c, {"c": dt.real, "w": dt.real}, "python")
    assert turned.names[:2] == ["c", "w[0,A]"]


def test_names_of_elements_that_belong_to_no_label_are_numbers():
    row = dt.Dim("row", coords=["u", "v", "w"])
    share = dt.tensor("share", dims=[SCHOOL, AGE])
    factor = dt.tensor("factor", dims=[row, row.rename("col")])
    logp = share.sum() + factor.sum()
    supports = {share: dt.supports.simplex(SCHOOL), factor: dt.supports.cholesky_corr}
    model = dt.LogDensity(logp, supports, "python")
    assert model.names == [
        "share[0,0]", "share[0,1]", "share[1,0]", "share[1,1]",
        "factor[v,u]", "factor[w,u]", "factor[w,v]",
    ]  # fmt: skip


def test_a_float32_parameter_meets_a_float64_vector():
    x = dt.float32("x", dims=SCHOOL)
    model = dt.LogDensity(-(x**2).sum(), {x: dt.positive}, "python")
    value, gradient = model.logp_and_grad(np.zeros(3))
    assert value == -3.0
    assert gradient.dtype == np.float64
    assert gradient.tolist() == [-1.0, -1.0, -1.0]
    assert model.constrain(np.zeros(3))["x"].dtype == np.float32


def test_the_same_dim_in_several_parameters(rng):
    a, b = dt.tensor("a", dims=SCHOOL), dt.tensor("b", dims=SCHOOL)
    model = dt.LogDensity((a**2).sum() + (b**3).sum(), {a: dt.real, b: dt.real}, "python")
    x = rng.normal(size=6)
    np.testing.assert_allclose(model.logp_and_grad(x)[1], [*(2 * x[:3]), *(3 * x[3:] ** 2)])


# -- labels ------------------------------------------------------------------------------------


def test_constrain_gives_labels(rng):
    model, theta = hierarchical()
    x = rng.normal(size=5)
    point = model.constrain(x)
    assert list(point) == ["mu", "tau", "z"]
    assert point["tau"].item() == np.exp(x[1])
    assert point["z"].sel(school="B").item() == x[3]
    recorded = model.with_deterministics({"theta": theta}).constrain(x)
    np.testing.assert_allclose(recorded["theta"], x[0] + np.exp(x[1]) * x[2:], rtol=1e-14)
    assert recorded["theta"].coords["school"].values.tolist() == ["A", "B", "C"]


def test_constrain_of_many_vectors_has_their_dims_first(rng):
    model, theta = hierarchical(deterministics=None)
    model = model.with_deterministics({"theta": theta})
    x = rng.normal(size=(2, 4, 5))
    draws = model.constrain(x)
    assert draws["theta"].dims == ("chain", "draw", "school")
    assert draws["mu"].dims == ("chain", "draw")
    np.testing.assert_array_equal(draws["z"], x[..., 2:])
    np.testing.assert_allclose(
        draws["theta"], x[..., :1] + np.exp(x[..., 1:2]) * x[..., 2:], rtol=1e-13
    )
    assert model.constrain(x[0])["z"].dims == ("draw", "school")
    named = xr.DataArray(x, dims=("run", "step", "vector"), coords={"run": ["one", "two"]})
    found = model.constrain(named)
    assert found["z"].dims == ("run", "step", "school")
    assert found["z"].sel(run="two", school="C").values.tolist() == x[1, :, 4].tolist()
    moved = named.rename(vector="unconstrained").transpose("unconstrained", "step", "run")
    np.testing.assert_array_equal(model.constrain(moved)["z"].transpose("run", ...), x[..., 2:])
    with pytest.raises(dt.InputError, match=r"pass an xarray.DataArray that names more"):
        model.constrain(np.zeros((1, 1, 1, 5)))


def test_unconstrain_aligns_by_label_and_batches(rng):
    model, _ = hierarchical()
    x = rng.normal(size=5)
    point = model.constrain(x)
    turned = point["z"].isel(school=[2, 0, 1])
    values = {"mu": point["mu"], model.parameters[1].tensor: point["tau"], "z": turned}
    np.testing.assert_allclose(model.unconstrain(values), x, rtol=1e-14)
    many = rng.normal(size=(3, 4, 5))
    np.testing.assert_allclose(model.unconstrain(model.constrain(many)), many, rtol=1e-12)
    plain = {"mu": 1.0, "tau": 1.0, "z": np.zeros(3)}
    assert model.unconstrain(plain).tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]


def test_unconstrain_passes_over_what_is_recorded(rng):
    model, theta = hierarchical()
    model = model.with_deterministics({"theta": theta})
    x = rng.normal(size=5)
    np.testing.assert_allclose(model.unconstrain(model.constrain(x)), x, rtol=1e-14)


def test_unconstrain_says_what_is_wrong():
    model, _ = hierarchical()
    plain = {"mu": 1.0, "tau": 1.0, "z": np.zeros(3)}
    with pytest.raises(dt.InputError, match="missing parameters: 'tau', 'z'"):
        model.unconstrain({"mu": 1.0})
    with pytest.raises(dt.InputError, match=r"no parameter 'taw' \(did you mean 'tau'\?\)"):
        model.unconstrain({**plain, "taw": 1.0})
    for wrong in (-1.0, 0.0, np.nan):
        with pytest.raises(dt.InputError, match="'tau' is outside of its support positive"):
            model.unconstrain({**plain, "tau": wrong})
    z = xr.DataArray(np.zeros(3), coords={"school": ["A", "B", "D"]})
    with pytest.raises(dt.LabelError, match="unknown: 'D'"):
        model.unconstrain({**plain, "z": z})


@pytest.mark.parametrize(
    ("support", "value"),
    [
        (dt.supports.unit, [0.5, 1.5, 0.5]),
        (dt.supports.bounded(0, 2), [1.0, 1.0, 2.0]),
        (dt.supports.ordered, [0.0, 2.0, 1.0]),
        (dt.supports.positive_ordered, [-1.0, 2.0, 3.0]),
        (dt.supports.simplex, [0.5, 0.4, 0.2]),
        (dt.supports.simplex, [0.5, 0.6, -0.1]),
    ],
)
def test_values_outside_of_a_support(support, value):
    x = dt.tensor("x", dims=SCHOOL)
    model = dt.LogDensity(x.sum(), {x: support}, "python")
    with pytest.raises(dt.InputError, match="the value of 'x' is outside of its support"):
        model.unconstrain({x: np.array(value)})


def test_labels_that_come_with_data_reach_parameters(rng):
    z = dt.tensor("z", dims=OBS)
    y = dt.data(xr.DataArray([1.0, 2.0], coords={"obs": ["p", "q"]}), dims=OBS, name="y")
    model = dt.LogDensity(-((y - z) ** 2).sum(), {z: dt.positive}, "python")
    assert model.names == ["z[p]", "z[q]"]
    x = rng.normal(size=2)
    assert model.constrain(x)["z"].coords["obs"].values.tolist() == ["p", "q"]
    # a dim with a length gets its labels in the same way
    fixed = dt.Dim("obs", length=2)
    z = dt.tensor("z", dims=fixed)
    y = dt.data(xr.DataArray([1.0, 2.0], coords={"obs": ["p", "q"]}), dims=fixed, name="y")
    model = dt.LogDensity(-((y - z) ** 2).sum(), {z: dt.positive}, "python")
    assert model.names == ["z[p]", "z[q]"]
    assert model.constrain(x)["z"].coords["obs"].values.tolist() == ["p", "q"]


def test_two_dims_of_one_name_stay_apart():
    x = dt.tensor("x", dims=SCHOOL)
    model = dt.LogDensity(
        -(x**2).sum(), {x: dt.real}, "python", deterministics={"steps": x.diff("school")}
    )
    point = model.constrain(np.array([1.0, 2.0, 4.0]))
    assert point["steps"].dims == ("school_steps",)
    assert point["steps"].sel(school_steps="C").item() == 2.0
    assert point["x"].dims == ("school",)


# -- data --------------------------------------------------------------------------------------


def test_with_data_exchanges_values(rng):
    model, _ = hierarchical()
    x = rng.normal(size=5)
    before = model.logp_and_grad(x)[0]
    other = model.with_data(y=np.array([3.0, 2.0, 1.0]))
    np.testing.assert_allclose(other.logp(x), expected_value(x, (3, 2, 1)), rtol=1e-13)
    np.testing.assert_allclose(
        other.logp_and_grad(x)[1], expected_gradient(x, (3, 2, 1)), rtol=1e-12
    )
    assert model.logp_and_grad(x)[0] == before
    with pytest.raises(dt.InputError, match=r"no data 'Y'(.|\n)*data: 'y'"):
        model.with_data(Y=np.zeros(3))


def late_model():
    """A parameter between two others whose length and labels come with the data."""
    a, b = dt.scalar("a"), dt.tensor("b", dims=[AGE, OBS])
    c, share = dt.tensor("c", dims=SCHOOL), dt.tensor("share", dims=OBS)
    y = dt.data(xr.DataArray([1.0, 2.0], coords={"obs": ["p", "q"]}), dims=OBS, name="y")
    logp = a**2 + (b * y).sum() + 3 * (c**2).sum() + (share * y).sum()
    supports = {a: dt.real, b: dt.positive, c: dt.real, share: dt.supports.simplex}
    return dt.LogDensity(logp, supports, "python")


def expected_late(x, y):
    n = len(y)
    a, b, c, share = np.split(x, [1, 1 + 2 * n, 4 + 2 * n])
    total = a[0] ** 2 + (np.exp(b).reshape(2, n) * y).sum() + b.sum() + 3 * (c**2).sum()
    from tests.model.oracles import simplex

    values, log_jacobian = simplex(share)
    return total + (values * y).sum() + log_jacobian


@pytest.mark.parametrize("labels", [["p", "q"], ["p", "q", "r"], ["only"]])
def test_lengths_and_labels_may_change_with_data(labels, rng):
    y = rng.normal(size=len(labels))
    model = late_model().with_data(y=xr.DataArray(y, coords={"obs": labels}))
    n = len(labels)
    assert model.size == 1 + 2 * n + 3 + n - 1
    assert model.names[1 : 1 + n] == [f"b[0,{label}]" for label in labels]
    assert model.names[1 + 2 * n] == "c[A]"
    assert model.names[4 + 2 * n :] == [f"share[{at}]" for at in range(n - 1)]
    x = rng.normal(size=model.size)
    value, gradient = model.logp_and_grad(x)
    np.testing.assert_allclose(value, expected_late(x, y), rtol=1e-12)
    step = 1e-6
    differences = [
        (expected_late(x + step * unit, y) - expected_late(x - step * unit, y)) / (2 * step)
        for unit in np.eye(len(x))
    ]
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-7)
    point = model.constrain(x)
    assert point["share"].coords["obs"].values.tolist() == labels
    np.testing.assert_allclose(point["b"].sel(age=1), np.exp(x[1 + n : 1 + 2 * n]))
    np.testing.assert_allclose(model.unconstrain(point), x, rtol=1e-9, atol=1e-12)


def test_data_of_recorded_expressions_are_exchanged_too():
    x = dt.tensor("x", dims=SCHOOL)
    scale = dt.data(2.0, dims=(), name="scale")
    model = dt.LogDensity(
        -(x**2).sum(), {x: dt.real}, "python", deterministics={"scaled": x * scale}
    )
    assert model.constrain(np.ones(3))["scaled"].values.tolist() == [2.0, 2.0, 2.0]
    other = model.with_data(scale=5.0)
    assert other.constrain(np.ones(3))["scaled"].values.tolist() == [5.0, 5.0, 5.0]


# -- bounds --------------------------------------------------------------------------------------


def test_bounds_may_depend_on_parameters_before_and_on_data(rng):
    top, x = dt.scalar("top"), dt.tensor("x", dims=SCHOOL)
    low = dt.data(np.array([-1.0, 0.0, 1.0]), dims=SCHOOL, name="low")
    supports = {top: dt.positive, x: dt.supports.bounded(low, 2.0 + top)}
    model = dt.LogDensity(-(x**2).sum() - top, supports, "python")
    z = rng.normal(size=4)
    high, lows = 2.0 + np.exp(z[0]), np.array([-1.0, 0.0, 1.0])
    s = 1 / (1 + np.exp(-z[1:]))
    values = lows + (high - lows) * s
    expected = -(values**2).sum() - np.exp(z[0]) + z[0]
    expected += (np.log(high - lows) + np.log(s) + np.log(1 - s)).sum()
    np.testing.assert_allclose(model.logp(z), expected, rtol=1e-12)
    np.testing.assert_allclose(model.constrain(z)["x"], values, rtol=1e-13)
    np.testing.assert_allclose(model.unconstrain(model.constrain(z)), z, rtol=1e-9)
    moved = model.with_data(low=np.array([-2.0, -2.0, -2.0]))
    np.testing.assert_allclose(moved.constrain(z)["x"], -2 + (high + 2) * s, rtol=1e-13)
    with pytest.raises(dt.GraphError, match=r"a bound of 'x' depends on(.|\n)*'top'"):
        dt.LogDensity(
            -(x**2).sum() - top,
            {x: dt.supports.bounded(low, 2.0 + top), top: dt.positive},
            "python",
        )


# -- errors ------------------------------------------------------------------------------------


def test_a_log_density_has_no_dims_and_is_a_float():
    x = dt.tensor("x", dims=SCHOOL)
    with pytest.raises(dt.DimError, match=r"a log density has no dims(.|\n)*logp.sum\(\)"):
        dt.LogDensity(x, {x: dt.real})
    with pytest.raises(dt.DtypeError, match="a log density is of a float dtype, not bool"):
        dt.LogDensity((x > 0).all(), {x: dt.real})
    with pytest.raises(dt.ArgumentError, match="expected a dims-tensor, got float"):
        dt.LogDensity(1.0, {x: dt.real})


def test_parameters_without_a_support_are_listed():
    a, b, c = dt.scalar("a"), dt.tensor("b", dims=SCHOOL), dt.scalar("c")
    with pytest.raises(dt.GraphError, match=r"no support(.|\n)*'b' with dims {school}, 'c'"):
        dt.LogDensity(a + b.sum() + c, {a: dt.real})
    with pytest.raises(dt.GraphError, match=r"no support(.|\n)*'c' with dims {}"):
        dt.LogDensity(a + b.sum(), {a: dt.real, b: dt.real}, deterministics={"d": c})


def test_parameters_that_the_density_does_not_depend_on_are_listed():
    a, b = dt.scalar("a"), dt.scalar("b")
    with pytest.raises(dt.GraphError, match=r"does not depend on(.|\n)*unused: 'b'"):
        dt.LogDensity(a, {a: dt.real, b: dt.real})


def test_supports_are_a_dict_of_named_inputs_to_supports():
    a, n = dt.scalar("a"), dt.scalar("n", dtype="int64")
    with pytest.raises(dt.ArgumentError, match=r"such as {mu: dt.real}, not list"):
        dt.LogDensity(a, [a])
    with pytest.raises(dt.ArgumentError, match=r"the support of 'a' is 'real'(.|\n)*dt.positive"):
        dt.LogDensity(a, {a: "real"})
    known = [x for x in dt.supports.__all__ if isinstance(getattr(dt.supports, x), Support)]
    assert len(known) == 11
    for name in [*known, "bounded"]:
        with pytest.raises(dt.ArgumentError, match=rf"hint: supports are (.|\n)*\b{name}\b"):
            dt.LogDensity(a, {a: name.upper()})
    with pytest.raises(dt.ArgumentError, match=r"the support of 'a' is <function bounded"):
        dt.LogDensity(a, {a: dt.supports.bounded})
    with pytest.raises(dt.OptionError, match="a parameter is a symbolic input, not"):
        dt.LogDensity(a, {a + 1: dt.real})
    with pytest.raises(dt.OptionError, match="a parameter has a name"):
        dt.LogDensity(a, {dt.scalar(): dt.real})
    with pytest.raises(dt.ArgumentError, match="a parameter is a dims-tensor, not 3"):
        dt.LogDensity(a, {3: dt.real})
    with pytest.raises(dt.LabelError, match=r"no input 'aa' \(did you mean 'a'\?\)"):
        dt.LogDensity(a, {"aa": dt.real})
    with pytest.raises(dt.DtypeError, match=r"'n' is of int64(.|\n)*sum a discrete parameter out"):
        dt.LogDensity(a * n, {a: dt.real, n: dt.positive})
    other = dt.tensor("a", dims=SCHOOL)
    with pytest.raises(dt.GraphError, match="two different parameters are named 'a'"):
        dt.LogDensity(a + other.sum(), {a: dt.real, other: dt.real})
    with pytest.raises(dt.OptionError, match="there is no backend 'numbra'"):
        dt.LogDensity(a, {a: dt.real}, backend="numbra")


def test_names_of_recorded_expressions():
    a = dt.scalar("a")
    with pytest.raises(dt.GraphError, match="deterministics have names of parameters: 'a'"):
        dt.LogDensity(a, {a: dt.real}, deterministics={"a": a * 2})
    with pytest.raises(dt.ArgumentError, match="the name of a deterministic is a non-empty string"):
        dt.LogDensity(a, {a: dt.real}, deterministics={1: a * 2})


@pytest.mark.parametrize("name", ["chain", "draw", "school"])
@pytest.mark.parametrize("kind", ["parameter", "deterministic"])
def test_no_variable_has_the_name_of_a_dim(name, kind):
    """xarray takes a variable that is named like a dim for its labels, and the draws are gone."""
    x = dt.tensor("x", dims=SCHOOL)
    parameter = dt.scalar(name if kind == "parameter" else "a")
    recorded = {name: x.sum()} if kind == "deterministic" else {}
    supports = {x: dt.real, parameter: dt.real}
    logp = -(x**2).sum() - parameter**2
    message = f"the {kind} '{name}' would be lost among labels: .* a dim of this name"
    with pytest.raises(dt.GraphError, match=message):
        dt.LogDensity(logp, supports, "python", deterministics=recorded)
    if recorded:
        model = dt.LogDensity(logp, supports, "python")
        with pytest.raises(dt.GraphError, match=f"'{name}' would be lost"):
            model.with_deterministics(recorded)


def test_names_that_a_dataset_makes_up_take_no_other(rng):
    """A second dim of a name and the levels of a product get names that nothing else has."""
    x, y = dt.tensor("x", dims=SCHOOL), dt.tensor("y", dims=AGE)
    both = {"flat": (x + y).ravel(), "school_part": x.sum(), "part": x[:2], "flat_age": y.sum()}
    p = dt.scalar("p")
    logp = -(x**2).sum() - (y**2).sum() - p**2
    supports = {x: dt.real, y: dt.real, p: dt.real}
    model = dt.LogDensity(logp, supports, "python", deterministics=both)
    point = rng.normal(size=model.size)
    values = model.constrain(point)
    assert set(values.data_vars) == {"x", "y", "p", *both}
    np.testing.assert_allclose(values["part"], point[:2])
    np.testing.assert_allclose(values["school_part"], point[:3].sum())
    np.testing.assert_allclose(values["flat_age"], point[3:5].sum())


def test_a_length_that_nothing_tells():
    z = dt.tensor("z", dims=[AGE, OBS])
    with pytest.raises(dt.GraphError, match=r"the length of dim 'obs' of the parameter 'z' is"):
        dt.LogDensity((z**2).sum(), {z: dt.real})


# -- looking -----------------------------------------------------------------------------------


def test_reprs():
    model, theta = hierarchical()
    text = repr(model.with_deterministics({"theta": theta}))
    assert text.splitlines() == [
        "<LogDensity of 5 unconstrained elements on python>",
        "  mu   real      {}           1",
        "  tau  positive  {}           1",
        "  z    real      {school: 3}  3",
        "  recorded: theta",
    ]
    assert "without Jacobians" in repr(hierarchical(jacobian=False)[0])
    html = model._repr_html_()
    assert "<td>{school: 3}</td>" in html
    assert "of 5 unconstrained elements" in html


def test_stats_name_the_functions_that_were_compiled():
    model, _ = hierarchical()
    assert model.stats == {}
    model.logp_and_grad(model.initial_point)
    assert list(model.stats) == ["logp_and_grad"]
    assert all(seconds >= 0 for seconds in model.stats["logp_and_grad"].values())


def test_models_are_pickled(rng):
    model, theta = hierarchical()
    model = model.with_deterministics({"theta": theta}).with_data(y=np.array([3.0, 2.0, 1.0]))
    other = pickle.loads(pickle.dumps(model))
    x = rng.normal(size=5)
    assert repr(other) == repr(model)
    assert other.names == model.names
    assert other.logp(x) == model.logp(x)
    xr.testing.assert_identical(other.constrain(x), model.constrain(x))
