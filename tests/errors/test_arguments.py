"""Python's errors of arguments name what users call, and no class that is not public."""

import inspect

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist

K = dt.Dim("k", coords=["a", "b"])
X = dt.data([1.0, 2.0], dims=K, name="x")
KEY = dt.data(["b", "a"], dims=K, categories=dt.Dim("key", coords=["a", "b"]))
OBJECTS = {
    "DimTensor": X,
    "GroupBy": X.groupby(KEY),
    "Rolling": X.rolling(k=2),
    "RollingExp": X.rolling_exp(k=2),
    "Cumulative": X.cumulative("k"),
    "Coarsen": X.coarsen(k=2),
    "Weighted": X.weighted(X),
    "Dim": K,
    "Distribution": dist.Normal(0, 1),
    "Model": dt.Model(dt.rv("m", dist.Normal(0, 1))),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_methods_are_named_after_their_public_class(name):
    cls = type(OBJECTS[name])
    for method, value in inspect.getmembers(cls, inspect.isroutine):
        if not method.startswith("_") and getattr(value, "__module__", "").startswith("dimtensor"):
            assert value.__qualname__ == f"{name}.{method}"
            kinds = {each.kind for each in inspect.signature(value).parameters.values()}
            if inspect.Parameter.VAR_POSITIONAL in kinds:
                continue
            with pytest.raises(TypeError, match="argument") as e:
                getattr(OBJECTS[name], method)(*[None] * 30)
            assert str(e.value).startswith((f"{name}.{method}()", f"{method} takes"))


def test_distributions_of_the_table_have_the_name_of_their_public_class():
    with pytest.raises(TypeError, match="'Distribution' object is not callable"):
        OBJECTS["Distribution"](1)


def test_elements_are_not_assigned_to_or_deleted():
    names = {"dt": dt, "x": X, "mask": X > 1, "value": 9.0}
    for statement, expected in [
        ("x[0] = 5", [5.0, 2.0]),
        ("x['b'] = 5.5", [1.0, 5.5]),
        ("x[x > 1] = value", [1.0, 9.0]),
        ("del x[0]", [2.0]),
        ("del x['b']", [1.0]),
    ]:
        with pytest.raises(dt.DtypeError, match=r"(assigned to|deleted): a tensor does not") as e:
            exec(statement, dict(names))
        _, way = str(e.value).split("make another one: ")
        after = dict(names)
        exec(way, after)
        assert after["x"].values.tolist() == expected


def test_a_condition_names_item_where_it_has_a_value():
    with pytest.raises(dt.GraphError, match=r"if \(…\)\.item\(\): …"):
        bool(X.mean() > 1)
    with pytest.raises(dt.GraphError, match=r"\(…\)\.all\(\)\.item\(\) computes it from data"):
        bool(X > 1)
    assert (X.mean() > 1).item()
    with pytest.raises(dt.GraphError, match=r"hint: select elementwise"):
        bool(dt.scalar("s") > 1)


def test_dims_are_compared_by_name():
    year = dt.Dim("year", length=1)
    dims = dt.zeros([K, year]).dims
    for same in (("k", "year"), ["year", "k"], (K, year), [K, year], ("k", year)):
        assert dims == same
        assert same == dims
        assert (dims != same) is False
    for other in (("k",), ("k", "k"), ("k", "month"), (year, K), "k", 3):
        assert dims != other
    assert X.dims == "k"
    assert dims.index("year") == 1
    assert hash(dims) == hash((K, year))


def test_a_missing_result_says_that_elements_are_left_out_on_demand():
    text = "NaN where an element is missing; skipna=True leaves those out"
    some = X.where(X > 1)
    for result in (some.mean(), some.sum(), some.max(), some.groupby(KEY).mean(), some.cumsum()):
        assert text in repr(result)
        assert text in result._repr_html_()
    nothing = dt.data([np.inf, -np.inf], dims=K)
    for result in (some, some + 1, some.mean(skipna=True), X.mean(), nothing.sum()):
        assert text not in repr(result)


def test_sample_names_the_arguments_that_follow_the_draws():
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    density = dt.Model(mu, backend="python").log_density()
    with pytest.raises(dt.ArgumentError, match=r"dt\.sample\(model, 100, tune=50, chains=2\)"):
        dt.sample(density, 100, 50, 2)
