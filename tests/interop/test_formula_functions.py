"""What formulas may call and compute, and how much."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dimtensor as dt

pytest.importorskip("formulae")
N = 24
RNG = np.random.default_rng(3)
TABLE = pd.DataFrame(
    {
        "y": RNG.normal(3.0, 2.0, N), "x": RNG.normal(1.0, 0.5, N), "z": RNG.normal(size=N),
        "k": RNG.integers(0, 5, N), "n": 6 + np.arange(N) % 3, "g": np.resize(list("abc"), N),
        "id": [f"n{i}" for i in range(N)], "lists": pd.Series([[1]] * N),
        "decimal": pd.Series([int(i) for i in range(N)], dtype=object), "a b": np.arange(N) / N,
        "os.system": np.arange(N) / N, "np": np.arange(N) / N,
        **{f"c{i}": np.roll(np.resize(list("pqrstuvwxy"), N), i) for i in range(8)},
    }
)  # fmt: skip
RAN: list[object] = []


def touch(x):
    RAN.append(x)
    return x


def model(formula, **options):
    return dt.from_formula(formula, TABLE, backend="python", **options)


CALLS = [
    "y ~ touch(x)", "y ~ I(touch(x))", "y ~ {touch(x)}", "y ~ offset(touch(x))",
    "y ~ (1 | touch(g))", "touch(y) ~ x", "y ~ bs(x, df=touch(4))", "y ~ C(g, touch)",
    "y ~ C(g, touch(1))", "y ~ C(g, levels=touch('a'))", "y ~ RAN.append(x)",
    "y ~ np.lib.os.system('exit')", "y ~ pd.io.common.os.system('exit')", "y ~ np.load('x')",
    "y ~ dt.settings.os.system('exit')", "y ~ eval('1')", "y ~ exec('1')", "y ~ getattr(x, 'y')",
    "y ~ x.__class__(1)", "y ~ np.log.__self__(1)", "y ~ `touch`(x)", "y ~ (touch)(x)",
    "y ~ I(touch)(x)", "y ~ touch(x)(x)", "y ~ 'touch'(x)", "y ~ np.array(x)", "y ~ np(x)",
    "y ~ Environment(x)", "y ~ TRANSFORMS(x)", "y ~ __import__('os')", "y ~ touch[x]",
]  # fmt: skip


@pytest.mark.parametrize("formula", CALLS)
def test_only_functions_of_formulas_are_called(formula):
    with pytest.raises(
        (dt.OptionError, dt.LabelError),
        match=r"(the formula .* cannot be read)|(calls .*no function)|(no column)",
    ) as e:
        model(formula)
    assert isinstance(e.value, dt.LabelError) == ("no column" in str(e.value))
    assert not RAN


def test_the_callers_names_are_used_on_request_alone():
    RAN.clear()
    with pytest.raises(dt.OptionError, match=r"hint: .*from_formula\(..., namespace=\{'touch': to"):
        model("y ~ touch(x)")
    model("y ~ touch(x)", namespace={"touch": touch})
    assert len(RAN) == 1
    dt.from_formula("y ~ touch(x)", TABLE, namespace="caller")
    assert len(RAN) == 2
    RAN.clear()
    with pytest.raises(
        dt.OptionError, match=r"as_touch\.touch\(\.\.\.\), and.*\n.*\nhint: .*'touch'"
    ):
        model("y ~ as_touch.touch(x)", namespace={"as_touch": np})
    assert not RAN


def test_values_of_a_namespace():
    fit = model("y ~ bs(x, knots=inner)", namespace={"inner": [0.8, 1.2]})
    (dim,) = fit["bs(x, knots=inner)"].dims
    assert len(dim.coords) == 5  # 2 knots, cubic, centered
    fit = model("y ~ I(x * half)", namespace={"half": 0.5})
    assert "I(x * half)" in fit.free
    for name in ("scale", "np", "log"):
        with pytest.raises(
            dt.OptionError, match=f"'{name}' of the namespace is a name of formulas"
        ):
            model("y ~ x", namespace={name: touch})
    with pytest.raises(dt.OptionError, match=r"has a name that is none: 'a\.b'"):
        model("y ~ x", namespace={"a.b": touch})
    with pytest.raises(dt.ArgumentError, match="namespace is a dict of names, not str"):
        model("y ~ x", namespace="callers")


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("y ~ bs(x, df=10**8)", r"df=10\*\*8 of bs is not a whole number from 0 to 1000"),
        ("y ~ bs(x, df=100000000)", "df=100000000 of bs"),
        ("y ~ bs(x, df=20, degree=15)", "degree=15 of bs is not a whole number from 0 to 5"),
        ("y ~ poly(x, 100000)", "degree=100000 of poly"),
        ("y ~ tp(x, max_knots=100000000)", "max_knots=100000000 of tp"),
        ("y ~ (x + z + k)**100000000", "3 terms, and no interactions of more"),
        (
            "y ~ (" + " + ".join(f"c{i % 8}:x" for i in range(8)) + ")**4 * (x + z)",
            "too many|of at",
        ),
        ("y ~ (" + " + ".join(f"x:I(x + {i})" for i in range(40)) + ")**5", "has 760098 terms"),
        ("y ~ " + " * ".join(f"I(x + {i})" for i in range(30)), "terms, of at most 2000"),
        ("y ~ " + ":".join(f"c{i}" for i in range(8)), "8 columns interact in a term, of at most"),
        ("y ~ c0:c1:c2:c3:c4", "100001 columns and 2 numbers in each of 24 rows"),
        ("y ~ I(10 ** (10 ** 10))", "cannot be computed"),
        ("y ~ I(x * (9.0 ** 999))", "cannot be computed"),
        ("y ~ I(1 / 0 * x)", "1 / 0 cannot be computed"),
        ("y ~ I('a' * 1000000000)", "'a' \\* 1000000000 computes with text"),
        ("y ~ I(g * 1000000000)", "computes with text"),
        ("y ~ I(g + g)", "computes with text"),
        ("y ~ I(lists * 1000000000)", "computes with what is no number"),
        ("y ~ I(C(g) * 2)", "computes with what is no number"),
        ("y ~ I(x * " + "9" * 5000 + ")", "a number is not understood"),
        ("y ~ " + "(" * 500 + "x" + ")" * 500, "more than 30 brackets"),
        ("y ~ " + "-" * 2000 + "x", "more than 30 signs in a row"),
        ("y ~ I(" + " + ".join("x" * 500) + ")", "more than 100 operators"),
        ("y ~ x" + " " * 200_000, "200005 characters, of at most 100000"),
    ],
    ids=range(24),
)
def test_formulas_that_ask_for_too_much(formula, message):
    with pytest.raises(dt.OptionError, match=message) as caught:
        model(formula)
    assert len(str(caught.value)) < 1200


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("y ~ I(-x**2)", r"the sign of -x\*\*2 stands.*\nhint: -\(x\*\*2\)$"),
        ("y ~ I(2**x**2)", r"2\*\*x\*\*2 has two powers"),
        ("y ~ I(g['a'])", r"g\['a'\] is for responses\nhint: .*I\(g == 'a'\)$"),
        ("y ~ g['a']", r"hint: .*I\(g == 'a'\)$"),
        ("g['d'] ~ x", "'g' has no level 'd'"),
        ("k['3'] ~ x", r"'k' has numbers, and no levels\nhint: .*I\(k == 3\) ~ ...$"),
        ("y ~ (1 + x)**2", "the intercept, 1, does not interact"),
        ("y ~ (1 + x) * z", "the intercept, 1, does not interact"),
        ("y ~ (x + z)**0", "the power is not a whole number"),
        ("y ~ (x + z)**x", "the power is not a whole number"),
        ("y ~ p(k, n)", r"p\(k, n\) is no predictor"),
        ("(y ~ x) + z", "it has no response"),
        ("1 ~ x", "the response 1 is not a column"),
        ("y ~ `x", "a name in backquotes does not end"),
        ("y ~ x = 1", "= 1|'='"),
        ("y ~ bs(x, df=4, df=5)", "and df is there twice"),
        ("y ~ bs(x, nope=3)", "bs takes x, df, knots, degree"),
        ("y ~ np.log(x, out=y)", "np.log takes x$"),
        ("y ~ np.log()", "lacks its first argument, x"),
        ("y ~ np.log(g)", "x=g of np.log is not a column of numbers"),
        ("y ~ C(g, a=(b=c))", "C takes data, contrast, levels"),
        ("y ~ bs(x, knots=3)", r"hint: from_formula\(..., namespace=\{'knots': \[...\]\}\)"),
        ("y ~ np.exp", "no column 'np.exp'"),
        ("y ~ I(`a b` + x) + I(a b)", r"'b \)' is not understood"),
        ("y ~ C(I(`a b` > 1)) + C(I(lacking > 1))", "no column 'lacking'"),
    ],
)
def test_what_formulas_do_not_say(formula, message):
    error = dt.LabelError if "no column" in message else dt.OptionError
    with pytest.raises(error, match=message):
        model(formula)


def test_parentheses_are_in_names():
    """Two terms whose names were equal: one of them was lost."""
    fit = model("y ~ 0 + I((x + z) * k) + I(x + z * k)")
    names = ["I((x + z) * k)", "I(x + z * k)"]
    assert list(fit.free) == [*names, "sigma"]
    drawn = fit.draw(1, seed=1)["prior"].isel(chain=0, draw=0)
    x, z, k = (TABLE[name].to_numpy() for name in "xzk")
    expected = drawn[names[0]].values * (x + z) * k + drawn[names[1]].values * (x + z * k)
    np.testing.assert_allclose(drawn["y_linear"], expected)
    table = TABLE.assign(**{"x + z": 1.0})
    with pytest.raises(dt.OptionError, match=r"two terms have the name 'I\(x \+ z\)'"):
        dt.from_formula("y ~ I(x + z) + I(`x + z`)", table, backend="python")


def test_trials_by_keyword():
    """They were the first row's for all rows."""
    of = [model(f"p({call}) ~ x", family="binomial")
          for call in ("k, n", "successes=k, trials=n", "trials=n, successes=k")]  # fmt: skip
    point = {"x": 0.3, "Intercept": -0.2}
    one, two, three = (float(np.sum(fit.logp(point)["k"])) for fit in of)
    assert one == two == three


def test_columns_with_the_names_of_functions_and_modules():
    fit = model("y ~ np + os.system + I(`os.system` * `a b`) + np.exp(np)")
    names = ["np", "os.system", "I(os.system * a b)", "np.exp(np)"]
    assert list(fit.free) == [*names, "Intercept", "sigma"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (TABLE[:0], "a table with rows, and this one has none"),
        (TABLE.assign(x=TABLE["x"] + 1j), "'x' has complex numbers: a term is of real numbers"),
        (TABLE.assign(x=[[1]] * N), "'x' has objects: a term is of real numbers or labels"),
        (TABLE.assign(x=[1, "a"] * (N // 2)), "'x' has objects: a term is of real numbers or"),
        (
            TABLE.assign(x=pd.date_range("2020-01-01", periods=N)),
            r"has dates or times.*\nhint: df\['x'\] = \(df\['x'\] - df\['x'\].min\(\)\).dt.days",
        ),
        (pd.concat([TABLE, TABLE], axis=1), "whose columns have different names"),
    ],
)
def test_tables_that_no_regression_is_of(table, message):
    of_the_table = "none" in message or "different names" in message
    with pytest.raises(dt.InputError if of_the_table else dt.OptionError, match=message):
        dt.from_formula("y ~ x", table, backend="python")


def test_numbers_that_are_objects():
    fit = model("y ~ 0 + I(decimal**2)")
    drawn = fit.draw(1, seed=1)["prior"].isel(chain=0, draw=0)
    np.testing.assert_allclose(
        drawn["y_linear"], drawn["I(decimal ** 2)"].values * np.arange(N) ** 2.0
    )


@pytest.mark.slow
def test_wide_formulas():
    table = pd.DataFrame(RNG.normal(size=(5, 801))).rename(columns=lambda i: f"v{i}")
    fit = dt.from_formula("v0 ~ " + " + ".join(table.columns[1:]), table, backend="python")
    assert len(fit.free) == 802
