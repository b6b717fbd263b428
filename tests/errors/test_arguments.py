"""Python's errors of arguments name what users call, and no class that is not public."""

import inspect
import pickle

import numpy as np
import pandas as pd
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
    "CompiledFunction": dt.function([], X, backend="python"),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_methods_are_named_after_their_public_class(name):
    cls = type(OBJECTS[name])
    for method, value in inspect.getmembers(cls, inspect.isroutine):
        if not callable(value):
            continue
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


COUNTY = dt.Dim("county", coords=["a", "b"])
RATES = dt.data([1.0, 2.0], dims=COUNTY, name="rates")
TABLE = pd.DataFrame({"k": [1, 2], "z": [3.0, 4.0]})
# what is wrong, the error, and the value of its hint; None where there is none to run
MISTAKES = [
    ("COUNTY.size", dt.NoAttributeError, 2),
    ("COUNTY.shape", dt.NoAttributeError, 2),
    ("COUNTY.labels", dt.NoAttributeError, ["a", "b"]),
    ("COUNTY.values", dt.NoAttributeError, ["a", "b"]),
    ("RATES.county", dt.NoAttributeError, ["a", "b"]),
    ("dt.Dim('k', coords=TABLE)", dt.LabelError, [1, 2]),
    ("dt.date_range('d', ['2020-01-01', '2020-01-05'])", dt.OptionError, 2),
    ("dt.full(3.0, [K])", dt.ArgumentError, [3.0, 3.0]),
    ("dt.full(3.0, K)", dt.ArgumentError, [3.0, 3.0]),
    ("dt.stack(RATES, RATES)", dt.ArgumentError, [[1.0, 1.0], [2.0, 2.0]]),
    ("dt.concat(RATES, 'county')", dt.ArgumentError, [1.0, 2.0]),
    ("RNG.normal(0, 1, dims='t')", dt.DimError, 3),
    ("RNG.normal(0, 1, dims=['t'])", dt.DimError, 3),
    ("RNG.normal(0, 1, dims=4)", dt.DimError, 4),
    ("RNG.normal(0, 1, size=5)", dt.ArgumentError, 5),
    ("RNG.poisson(3.0, size=(5,))", dt.ArgumentError, 5),
    ("RNG.normal(RATES, 1, dims='contry')", dt.DimError, 3),
    *((text, dt.DtypeError, "x") for text in (
        "NORMAL + 1", "1 - NORMAL", "-NORMAL", "NORMAL > 2", "np.exp(NORMAL)",
        "np.ones(2) * NORMAL", "TABLE.z + NORMAL", "RATES + NORMAL", "NORMAL * RATES",
    )),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "error", "expected"), MISTAKES, ids=[x[0] for x in MISTAKES])
def test_hints_have_what_was_meant(mistake, error, expected):
    names = {
        "dt": dt, "dist": dist, "np": np, "pd": pd, "COUNTY": COUNTY, "county": COUNTY, "K": K,
        "k": K, "RATES": RATES, "rates": RATES, "x": RATES, "TABLE": TABLE, "df": TABLE,
        "NORMAL": dist.Normal(0.0, 1.0), "RNG": dt.random.generator(1),
    }  # fmt: skip
    with pytest.raises(error, match="hint: ") as e:
        eval(mistake, names)
    assert not any(word in str(e.value) for word in ("NamedDim", "generator_word", "Table"))
    _, hint = str(e.value).split("hint: ")
    code = hint.rpartition(": ")[2].rpartition("its labels ")[2].removeprefix("x = ")
    for argument in ("coords", "dims"):
        code = code.removeprefix(f"{argument}=")
    found = eval(code, names)
    if isinstance(expected, int):
        assert (found if isinstance(found, int) else found.length) == expected
    elif expected == "x":
        assert found.name == "x"
    else:
        found = found.values if isinstance(found, dt.DimTensor) else np.asarray(found)
        assert found.tolist() == expected


def test_errors_of_python_have_the_names_of_public_classes():
    for wrong in ("K + 1", "K()", "K.foo", "dt.Dim().foo", "dt.Dim() + 1"):
        with pytest.raises((TypeError, AttributeError), match="'Dim'"):
            eval(wrong, {"K": K, "dt": dt})
    assert not hasattr(K, "size")
    assert repr(pickle.loads(pickle.dumps(K))) == repr(K)
    for twice in ("dt.Dim('a', name='a')", "dist.Normal(0, mu=1)"):
        with pytest.raises(dt.ArgumentError, match="twice, by its place and by its name"):
            eval(twice, {"dt": dt, "dist": dist})


def test_names_write_no_line_of_a_message():
    k = dt.Dim("k\nhint: forged \x1b[31m", length=2)
    with pytest.raises(dt.InputError, match="cannot be told apart") as e:
        dt.function([dt.tensor("x", dims=[k, K])], dt.tensor("x", dims=[k, K]), backend="python")(
            np.ones((2, 2))
        )
    lines = str(e.value).splitlines()
    assert sum(line.startswith("hint:") for line in lines) == 1
    assert "\x1b" not in str(e.value)
