"""Functions as StableHLO: what a module computes, for which lengths, and what is written of it."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.dims import dim_labels
from dimtensor.interop.export.files import ALL, file_entry
from dimtensor.interop.export.folders import write_folder
from dimtensor.interop.export.reading import own_checksum
from dimtensor.interop.export.symbols import SymbolicLengths, labels_from_json, labels_to_json
from tests.optional import jax

pytest.importorskip("jax")
pytest.importorskip("flatbuffers", reason="JAX writes modules with it")
pytestmark = pytest.mark.compiled

T, HOUSE, OTHER = dt.Dim("t"), dt.Dim("house"), dt.Dim("other")
COUNTY = dt.Dim("county", coords=["a", "b", "c"])
S, X = dt.tensor("s", dims=T), dt.tensor("x", dims=[HOUSE, OTHER])
A = dt.scalar("a")
RNG = np.random.default_rng(20)


def radon():
    where = dt.tensor("where", dims=HOUSE, categories=COUNTY)
    y, floor = dt.tensor("y", dims=HOUSE), dt.tensor("floor", dims=HOUSE)
    effect, slope = dt.tensor("effect", dims=COUNTY), dt.scalar("slope")
    mu = effect.sel(county=where) + slope * floor
    logp = -0.5 * ((y - mu) ** 2).sum() - 0.5 * (effect**2).sum()
    return dt.function([effect, slope, where, floor, y], logp, "python")


def by_hand(effect, slope, where, floor, y):
    """The density of `radon` and its gradient by effect and slope."""
    rest = y - effect[where] - slope * floor
    logp = -0.5 * (rest**2).sum() - 0.5 * (effect**2).sum()
    slopes = np.zeros(len(effect))
    np.add.at(slopes, where, rest)
    return logp, slopes - effect, (rest * floor).sum()


def houses(n):
    return RNG.normal(size=3), 0.3, RNG.integers(0, 3, n), RNG.normal(size=n), RNG.normal(size=n)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return radon().export(tmp_path_factory.mktemp("radon") / "f", gradient=["effect", "slope"])


# -- values and lengths ----------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 5, 8])
def test_one_module_computes_value_and_gradient_for_all_lengths(folder, n):
    f = dt.load_exported(folder)
    effect, slope, where, floor, y = houses(n)
    value, slopes = f(effect, slope, np.array(["a", "b", "c"])[where], floor, y=y)
    expected = by_hand(effect, slope, where, floor, y)
    np.testing.assert_allclose(value, expected[0], rtol=1e-12)
    np.testing.assert_allclose(slopes["effect"], expected[1], rtol=1e-12)
    np.testing.assert_allclose(slopes["slope"], expected[2], rtol=1e-12)
    assert slopes["effect"].county.values.tolist() == ["a", "b", "c"]


SCRIPT = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"dimtensor", "pytensor", "numba", "llvmlite", "xarray", "pandas"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Refuse())
for name in ("dimtensor", "pytensor"):
    try:
        __import__(name)
    except ModuleNotFoundError:
        pass
    else:
        raise SystemExit(name + " is there")
sys.path.insert(0, sys.argv[1])
import load, numpy as np
f = load.load()
for n in (4, 7):
    k = np.arange(n)
    print([np.asarray(x).tolist() for x in f(np.arange(3.0), 0.5, k % 3, k / 2, 1.0 * k)])
print(sorted({name.split(".")[0] for name in sys.modules} & {"dimtensor", "pytensor", "jax"}))
"""


def test_ten_lines_load_it_where_there_is_no_dimtensor(folder):
    loader = (folder / "load.py").read_text()
    lines = [line for line in loader.splitlines() if line.strip() and not line.startswith('"""')]
    assert len(lines) <= 10
    assert {line for line in lines if "import" in line} == {"import pathlib", "import jax"}
    libraries = Path(__import__("flatbuffers").__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(libraries)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT, str(folder)],
        capture_output=True, text=True, env=environment, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *found, modules = map(eval, done.stdout.strip().splitlines())
    assert modules == ["jax"]
    for n, results in zip((4, 7), found, strict=True):
        k = np.arange(n)
        expected = by_hand(np.arange(3.0), 0.5, k % 3, k / 2, 1.0 * k)
        for one, other in zip(results, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


PROGRAMS = {
    "slices that depend on the length": ([S], lambda s: s.isel(t=slice(1, -1)) * 2.0),
    "a slice of at most five": ([S], lambda s: s.isel(t=slice(0, 5))),
    "every second from the end": ([S], lambda s: s.isel(t=slice(None, None, -2))),
    "positions": ([S], lambda s: s * dt.arange(T)),
    "lags": ([S], lambda s: s - s.shift({T: 1})),
    "a loop": ([A, S], lambda a, s: dt.cumulate(lambda x, y: a * x + y, 0.0, s, dim=T)),
    "the gradient of a loop": (
        [A, S],
        lambda a, s: dt.grad(
            (dt.cumulate(lambda x, y: a * x + y, 0.0, s, dim=T) ** 2).sum(), [a, s]
        ),
    ),
    "a while loop": ([A], lambda a: dt.while_loop(lambda x: x < 9.0, lambda x: 2.0 * x, a)),
    "branches": ([A, S], lambda a, s: dt.if_else(a > 0, lambda: s, lambda: 2.0 * s)),
    "an associative scan": ([S], lambda s: dt.associative_scan(lambda a, b: a * b, s, dim=T)),
    "the largest": (
        [X],
        lambda x: [x.argmax("other"), x.max("house"), x.ravel(name="both").argmax("both")],
    ),
    "two dims as one": ([X], lambda x: x.ravel(name="both").isel(both=slice(1, None)) * 2.0),
    "softmax": ([X], lambda x: dt.grad((dt.softmax(x, OTHER) ** 2).sum(), x)),
    "means": ([X], lambda x: [x.mean("other"), x.std("house"), x.var()]),
    "an update": ([S], lambda s: s.isel(t=slice(1, None)).inc(2.0)),
    "sorted": ([S], lambda s: [s.median("t"), s.argsort("t"), dt.quantile(s, 0.3, "t")]),
    "a Hessian": ([S], lambda s: dt.hessian((s**3).sum(), s)),
    "a length": ([S], lambda s: dt.length(T) * s.sum()),
    "cumulated products": ([S], lambda s: dt.grad(dt.cumprod(s, T).sum(), s)),
    "a dim that is an input": ([T, A], lambda t, a: a * dt.arange(t)),
    "a dim that is an input beside others": ([T, S], lambda t, s: s * dt.arange(t)),
    "linear algebra": (
        [X],
        lambda x: dt.linalg.slogdet(
            dt.dot(x, x.rename(house="row"), dim="other") + dt.eye(HOUSE, HOUSE.rename("row"))
        ),
    ),
}


def as_list(results):
    return [results] if isinstance(results, xr.DataArray) else results


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_computes_what_the_function_does_at_two_lengths(name, tmp_path):
    """The expected values are those of the interpreter, which runs NumPy and no JAX."""
    inputs, build = PROGRAMS[name]
    f = dt.function(inputs, build(*inputs), "python")
    g = dt.load_exported(f.export(tmp_path))
    for lengths in ({"t": 7, "house": 3, "other": 4}, {"t": 2, "house": 2, "other": 5}):
        values = [
            lengths[x.name]
            if isinstance(x, dt.Dim)
            else xr.DataArray(
                RNG.uniform(0.5, 1.5, [lengths[d.name] for d in x.dims]),
                dims=[d.name for d in x.dims],
            )
            for x in inputs
        ]
        one, other = f(*values), g(*values)
        for a, b in zip(
            *([x] if isinstance(x, xr.DataArray) else x for x in (one, other)), strict=True
        ):
            assert (a.dims, a.dtype) == (b.dims, b.dtype)
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-12)


def test_labels_come_back_in_the_order_of_the_dim(folder):
    f = dt.load_exported(folder)
    effect, slope, where, floor, y = houses(4)
    shuffled = xr.DataArray(effect[[2, 0, 1]], dims="county", coords={"county": ["c", "a", "b"]})
    names = np.array(["a", "b", "c"])[where]
    (one, _), (other, _) = f(shuffled, slope, names, floor, y), f(effect, slope, names, floor, y)
    assert float(one) == float(other)


def test_data_are_inside_or_inputs_with_lengths_of_their_own(tmp_path):
    y = dt.data([1.0, 2.0, 4.0], dims=HOUSE, name="y")
    f = dt.function([A], ((y - A) ** 2).sum(), "python")
    inside = dt.load_exported(f.export(tmp_path / "inside"))
    assert float(inside(1.0)) == 10.0
    assert not (tmp_path / "inside" / "data.npz").exists()
    beside = dt.load_exported(f.export(tmp_path / "inputs", data="inputs"))
    assert float(beside(1.0)) == 10.0
    assert float(beside(1.0, y=[2.0, 3.0])) == 5.0


def test_draws_are_those_of_jax_at_all_lengths(tmp_path):
    seed = dt.scalar("seed", dtype="int64")
    noise, _ = dt.random.generator(seed).normal(dims=T)
    f = dt.function([seed, S], S + noise, "jax")
    g = dt.load_exported(f.export(tmp_path))
    for n in (2, 5):
        np.testing.assert_allclose(g(7, np.zeros(n)), f(7, np.zeros(n)), rtol=1e-12)
        assert np.ptp(g(7, np.zeros(n)).values) > 0


def test_a_step_with_state_is_exported_as_a_pure_one(tmp_path):
    total = dt.scalar("total")
    add = dt.function([S], total * 2, updates={total: total + S.sum()}, backend="python")
    following, twice = dt.load_exported(add.function.export(tmp_path))(1.0, [2.0, 3.0])
    assert (float(following), float(twice)) == (6.0, 2.0)


def test_a_given_length_is_no_symbol(tmp_path):
    f = dt.function([S], (S**2).sum(), "python")
    folder = f.export(tmp_path, lengths={"t": 3})
    text = (folder / "module.mlir").read_text()
    assert "tensor<3xf64>" in text
    assert "tensor<?" not in text
    assert float(dt.load_exported(folder)([1.0, 2.0, 3.0])) == 14.0
    with pytest.raises(dt.DimError, match=r"'t' has length 3, .* has length 2"):
        dt.load_exported(folder)([1.0, 2.0])


def test_a_check_is_an_output_that_the_loader_reads(tmp_path):
    positive = dt.check(A > 0, "a is positive", A)
    g = dt.load_exported(dt.function([A], dt.log(positive), "python").export(tmp_path))
    assert float(g(1.0)) == 0.0
    with pytest.raises(dt.CheckError, match="a is positive"):
        g(-1.0)


def test_positions_outside_are_refused_before_the_call(tmp_path):
    at = dt.tensor("at", dims=OTHER, dtype="int64")
    g = dt.load_exported(dt.function([S, at], S.isel(t=at), "python").export(tmp_path))
    assert g([1.0, 2.0], [1, 0, 1]).values.tolist() == [2.0, 1.0, 2.0]
    with pytest.raises(dt.PositionError, match="2"):
        g([1.0, 2.0], [2])


def test_jax_calls_it_from_functions_of_its_own(folder):
    f = dt.load_exported(folder)
    effect, slope, where, floor, y = houses(4)
    with jax.enable_x64(True):
        each = jax.jit(
            lambda e: jax.lax.map(lambda e: f.exported.call(e, slope, where, floor, y)[0], e)
        )
        found = each(np.stack([effect, effect + 1]))
    expected = [by_hand(e, slope, where, floor, y)[0] for e in (effect, effect + 1)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


# -- what is written -------------------------------------------------------------------------------


def test_the_manifest_says_what_goes_in_and_comes_out(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    assert [(x["name"], x["dims"], x["dtype"], x["shape"]) for x in manifest["inputs"]] == [
        ("effect", ["county"], "float64", [3]),
        ("slope", [], "float64", []),
        ("where", ["house"], "int64", ["house"]),
        ("floor", ["house"], "float64", ["house"]),
        ("y", ["house"], "float64", ["house"]),
    ]
    assert manifest["inputs"][2]["positions_along"] == "county"
    assert [x.get("gradient_of") for x in manifest["outputs"]] == [None, "effect", "slope"]
    labels = {"dtype": "str", "values": ["a", "b", "c"]}
    assert manifest["dims"]["county"] == {"length": 3, "labels": labels}
    assert manifest["dims"]["house"] == {"length": "house"}
    assert manifest["versions"]["jax"] == version("jax")
    assert {"dimtensor", "stablehlo", "calling_convention"} <= {*manifest["versions"]}


def test_operations_have_dims_and_lines_as_their_places(tmp_path):
    y = dt.tensor("y", dims=HOUSE)
    names = {"dt": dt, "y": y}
    source = "z = dt.exp(y)\nw = dt.cumulate(lambda a, b: dt.tanh(a + b), 0.0, z, dim='house')"
    exec(compile(source, "the_model.py", "exec"), names)
    text = (dt.function([y], names["w"], "python").export(tmp_path) / "module.mlir").read_text()
    places = dict(line.split(" = ", 1) for line in text.splitlines() if line.startswith("#loc"))

    def spelled(number):
        place = places[number]
        for other in sorted(places, key=len, reverse=True):
            if f"({other})" in place or f"({other} " in place or f" {other})" in place:
                place = place.replace(other, spelled(other))
        return place

    def place_of(operation):
        (line,) = [line for line in text.splitlines() if f"stablehlo.{operation} " in line]
        return spelled(line.rsplit("loc(", 1)[1].rstrip(")"))

    assert "{house}" in place_of("exponential")
    assert '"the_model.py":1' in place_of("exponential")
    assert '"the_model.py":2' in place_of("tanh")
    assert "/dimtensor/" not in text
    assert 'loc("y")' in text


LABELS = {
    "texts": ["a", "b"],
    "integers": [1, 5],
    "numbers": [0.5, 1.5],
    "bools": [True, False],
    "dates": np.array(["2020-01-01", "2020-02-03"], "M8[D]"),
    "spans": np.array([3, 4], "m8[h]"),
    "tuples": [("a", 1), ("b", 2)],
    "bins": pd.cut([1, 2, 3], [0, 1, 2, 3]).categories,
    "texts of bins": ["(0, 1]", "(1, 2]"],
    "brackets": ["{a}", "[b]", "}{", "]"],
    "quotes": ["a'b", 'a"b', "\\"],
    "controls": ["a\nb", "a\rb", "\x1b[31m", "a\0b"],
    "letters": ["日本", "e\u0301", "\U0001f600"],
    "missing numbers": [1.0, np.nan, np.inf],
    "missing dates": np.array(["2020-01-01", "NaT"], "M8[D]"),
    "missing texts": [None, "a", pd.NA, pd.NaT, np.nan],
    "mixed": ["a", 1, 2.5, True, ("b", (None, 1))],
    "zone": pd.DatetimeIndex(["2020-10-25 00:30", pd.NaT], tz="Europe/Berlin"),
    "offset": pd.DatetimeIndex(["2020-01-01T00:00:00.5+05:30"]),
    "quarters": pd.PeriodIndex(["2020Q1", "NaT"], freq="Q"),
    "intervals": pd.IntervalIndex([pd.Interval(0.1, 1), np.nan], closed="right"),
    "intervals in a zone": pd.interval_range(
        pd.Timestamp("2020-01-01", tz="Asia/Tokyo"), periods=2
    ),
    "large": [2**100, 1],
    "unsigned": np.array([2**64 - 1, 0], "u8"),
    "bytes": [b"a", b"b\xff"],
    "complex": [1 + 2j, complex(np.nan, 1)],
    "swapped": np.array([1.5, 2.5], ">f4"),
    "none": [],
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_survive_json(labels):
    """Read again they are the labels of the same dim, and equal for pandas."""
    dim = dt.Dim("k", coords=labels)
    kept = dim_labels(dim)
    text = json.dumps(labels_to_json(kept, dim), allow_nan=False)
    again = dt.Dim("k", coords=labels_from_json(json.loads(text)))
    assert again is dim
    pd.testing.assert_index_equal(dim_labels(again).index, kept.index, check_freq=False)


def test_labels_that_are_half_a_letter_survive_json():
    dim = dt.Dim("k", coords=["\ud800", "\ude00a", "\ud83d\ude00", "\U0001f600"])
    text = json.dumps(labels_to_json(dim_labels(dim), dim), allow_nan=False)
    assert labels_from_json(json.loads(text)).tolist() == list(dim.coords.tolist())


@pytest.mark.parametrize(
    "label",
    [frozenset([1]), Decimal("1.5"), Fraction(1, 3), int, datetime.time(1)],
    ids=ascii,
)
def test_labels_that_json_has_not_are_refused_by_name(label):
    dim = dt.Dim("k", coords=["a", label])
    named = re.escape(repr(label))
    with pytest.raises(
        dt.ExportError, match=rf"labels of dim 'k' cannot be .*\n  labels: {named}\n"
    ):
        labels_to_json(dim_labels(dim), dim)


def test_kinds_of_labels_that_are_not_written_are_not_read():
    """pandas opens a file for the zone `dateutil//path`, and NumPy makes records of any size."""
    for kind in (
        "datetime64[ns, dateutil//etc/localtime]", "datetime64[ns, /etc/localtime]",
        "datetime64[ns, ../../etc/localtime]", "float64,(1000000000,)f8", "category", "json",
        "Sparse[float]", "interval[category, right]", "period[D", "U1000000000", "V8",
    ):  # fmt: skip
        with pytest.raises(ValueError, match="is no kind of labels"):
            labels_from_json({"dtype": kind, "values": ["1"]})
    with pytest.raises(ValueError, match="is no kind of labels"):
        labels_from_json({"dtype": "object", "values": [{"datetime64[ns, dateutil//x]": "2020"}]})
    for dtype, value in (
        ("str", 1),
        ("int64", True),
        ("float64", "1"),
        ("bool", 1),
        ("M8[s]", 1.0),
    ):
        with pytest.raises(ValueError, match="is no"):
            labels_from_json({"dtype": dtype, "values": [value]})


def test_each_dim_has_a_symbol_of_its_own():
    dims = [dt.Dim(name) for name in ("max", "a b", "a_b", "1st")]
    lengths = SymbolicLengths([*dims, T.rename("u"), T], {})
    assert len({str(lengths.of(dim)) for dim in dims}) == 4
    assert lengths.of(T) == lengths.of(T.rename("u"))
    (part,) = dt.tensor("q", dims=T).isel(t=slice(1, None)).dims
    assert str(lengths.of(part)) == "t - 1"


# -- what cannot be exported -----------------------------------------------------------------------


def test_what_runs_on_the_host_is_named_with_its_line(tmp_path):
    f = dt.function([S], dt.special.j0(S), "python")
    with pytest.raises(dt.GraphError, match=r"a function runs on the host(.|\n)*test_export.py"):
        f.export(tmp_path)


def test_a_file_that_jax_cannot_read_is_an_error_of_ours(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "f")
    (tmp_path / "f" / "function.jax").write_bytes(b"nothing")
    with pytest.raises(dt.ExportError, match="not the file that was exported: 7 bytes"):
        dt.load_exported(tmp_path / "f")
    manifest = json.loads((folder / "manifest.json").read_text())
    rewritten = {name: file_entry(tmp_path / "f" / name) for name in manifest["files"]}
    manifest["files"] = rewritten
    manifest["sha256"] = own_checksum(manifest)
    (tmp_path / "f" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(dt.ExportError, match=r"(?s)file: function\.jax.*written by: jax"):
        dt.load_exported(tmp_path / "f")
    for found, said in ((99, "a newer version of dimtensor"), (1, "export it again")):
        (tmp_path / "f" / "manifest.json").write_text(json.dumps({**manifest, "format": found}))
        with pytest.raises(dt.ExportError, match=rf"has format {found}, (?s:.)*{said}"):
            dt.load_exported(tmp_path / "f")


def test_inputs_of_an_exported_function_are_checked(folder):
    f = dt.load_exported(folder)
    effect, slope, where, floor, y = houses(4)
    names = np.array(["a", "b", "c"])[where]
    with pytest.raises(dt.InputError, match="called without input 'y'"):
        f(effect, slope, names, floor)
    with pytest.raises(dt.InputError, match=r"no input 'z'"):
        f(effect, slope, names, floor, z=y)
    with pytest.raises(dt.DimError, match="disagree about the length of dim 'house'"):
        f(effect, slope, names, floor, y[:3])
    with pytest.raises(dt.LabelError, match="'d'"):
        f(effect, slope, np.array(["d"] * 4), floor, y)
    with pytest.raises(dt.InputError, match="additional dim 'draw'"):
        f(xr.DataArray(np.zeros((2, 3)), dims=["draw", "county"]), slope, names, floor, y)


NAMES = [
    "file", "lambda", "self", "None", "args", "allow_pickle", "a b", "a\"b'", "a\nb", "\x1b[31m",
    "..", "/", "a/b", "a\0b", "\0", "\ud800", "日本", "\U0001f600", "max", "day - 1", "{}", "[",
    "%d", "x" * 300, "__class__", "data",
]  # fmt: skip


def test_names_may_be_any_text(tmp_path):
    """Of inputs, of data that become inputs, of results, and of dims."""
    inputs = [dt.scalar(name) for name in NAMES]
    data = [dt.data([1.0, float(k)], dims=dt.Dim(n), name=f"{n}*") for k, n in enumerate(NAMES)]
    results = {n: (a * x).sum() for n, a, x in zip(NAMES, inputs, data, strict=True)}
    folder = dt.function(inputs, results, "python").export(tmp_path, data="inputs")
    found = dt.load_exported(folder)(*np.arange(len(NAMES)))
    assert {name: float(x) for name, x in found.items()} == {
        name: k * (1.0 + k) for k, name in enumerate(NAMES)
    }
    named = dt.load_exported(folder)(**{n: 2.0 for n in NAMES if n != "self"}, self=3.0)
    assert float(named["self"]) == 3.0 * (1.0 + NAMES.index("self"))


def test_names_that_a_file_changes_are_refused(tmp_path):
    halves = dt.scalar("\ud83d\ude00")
    with pytest.raises(dt.ExportError, match=r"two halves of a letter(?s:.)*ud83d"):
        dt.function([halves], halves * 2, "python").export(tmp_path / "f")
    with pytest.raises(dt.ExportError, match=r"keys of results(?s:.)*Decimal\('2'\)"):
        dt.function([A], {Decimal(2): A * 2}, "python").export(tmp_path / "f")
    assert not list(tmp_path.iterdir())


def test_dims_of_one_name_and_parts_of_dims_have_their_own_labels(tmp_path):
    """The expected values are those of the interpreter."""
    one, other = dt.Dim("n", coords=["a", "b", "c"]), dt.Dim("n", coords=[1, 2])
    x, y = dt.tensor("x", dims=one), dt.tensor("y", dims=other)
    d, e = dt.tensor("d", dims=dt.Dim()), dt.tensor("e", dims=dt.Dim())
    outputs = {
        1: x * 2,
        ("y", None): y * 3,
        2.5: x.isel(n=slice(1, None)),
        "t": S.isel(t=slice(1, -1)).rename(t="v"),
        "u": S.rename(t="u") + 1.0,
        "padded": S.pad({T: 1}),
        "d": d * 2,
        "e": e * 3,
    }
    f = dt.function([x, y, S, d, e], outputs, "python")
    late = xr.DataArray(np.arange(6.0), dims="t", coords={"t": list("uvwxyz")})
    values = [np.arange(3.0), np.arange(2.0), late, np.arange(2.0), np.arange(4.0)]
    found, expected = dt.load_exported(f.export(tmp_path))(*values), f(*values)
    assert list(found) == list(outputs)
    for key in outputs:
        if key == "padded":  # whose labels follow from those of the call by no slice
            np.testing.assert_array_equal(found[key], expected[key])
            assert found[key].dims == ("t",)
        else:
            xr.testing.assert_identical(found[key], expected[key])


# -- where it is written ---------------------------------------------------------------------------


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_folder_is_written_as_a_whole_or_stays_as_it_was(tmp_path, monkeypatch):
    """Each operation of the file system fails once."""
    target = tmp_path / "f"
    write_folder(target, lambda stage: [(stage / name).write_text("old") for name in ALL])
    (target / "notes.txt").write_text("mine")
    before = contents(target)

    def new(stage):
        for name in ALL:
            if name != "data.npz":
                (stage / name).write_text("new")

    rename, failures, count = os.rename, 0, [0]

    def failing(old, new):
        count[0] += 1
        if count[0] == at:
            raise OSError(28, "No space left on device", str(new))
        rename(old, new)

    for at in range(1, 99):  # noqa: B007
        count[0] = 0
        with monkeypatch.context() as patch:
            patch.setattr(os, "rename", failing)
            if contents(target)["load.py"] == b"new":
                break
            with contextlib.suppress(dt.ExportError):
                write_folder(target, new)
                continue
            failures += 1
            assert contents(target) == before
    assert failures == 11  # six files are moved away, five come
    assert contents(target) == {
        **{name: b"new" for name in ALL if name != "data.npz"}, "notes.txt": b"mine"
    }  # fmt: skip


def test_places_that_cannot_be_written_to_are_errors_of_ours(tmp_path):
    f = dt.function([A], A * 2, "python")
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    for path in (tmp_path / "file", tmp_path / "file" / "f", tmp_path / "loop", "/dev/null/f"):
        with pytest.raises(dt.ExportError, match="nothing can be written to"):
            f.export(path)
    for path in (None, 3, "", "a\0b", "\ud800", ["f"]):
        with pytest.raises(dt.ExportError, match="export takes the path of a folder"):
            f.export(path)
        with pytest.raises(dt.ExportError, match="load_exported takes the path of a folder"):
            dt.load_exported(path)
    (tmp_path / "g" / "manifest.json").mkdir(parents=True)
    with pytest.raises(dt.ExportError, match="a folder is where a file goes"):
        f.export(tmp_path / "g")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "g", "loop"]
    (tmp_path / "link").symlink_to("deep/er/f")
    assert float(dt.load_exported(f.export(tmp_path / "link"))(1.0)) == 2.0
    assert (tmp_path / "deep" / "er" / "f" / "load.py").exists()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"platforms": "cuba"}, r"'tpu', not 'cuba' \(did you mean 'cuda'"),
        ({"platforms": []}, r"'tpu', not \[\]"),
        ({"platforms": ["cpu", 3]}, r"'tpu', not \['cpu', 3\]"),
        ({"lengths": 3}, "lengths are a mapping of dims to integers, not int"),
        ({"lengths": {"t": -1}}, "the length of dim 't' is an integer from 0 on, not -1"),
        ({"lengths": {"t": 2.5}}, "the length of dim 't' is an integer from 0 on, not 2.5"),
        ({"lengths": {"t": True}}, "the length of dim 't' is an integer from 0 on, not True"),
        ({"lengths": {"t": 2**70}}, "the length of dim 't' is an integer from 0 on, not 1180"),
    ],
    ids=str,
)
def test_options_that_are_none_are_errors_before_anything_is_computed(options, text, tmp_path):
    error = dt.ArgumentError if "are a mapping" in text else dt.OptionError
    with pytest.raises(error, match=text):
        dt.function([S], S * 2, "python").export(tmp_path / "f", **options)
    assert not list(tmp_path.iterdir())


def test_lengths_that_a_module_does_not_take(tmp_path):
    f = dt.function([T, A], A * dt.arange(T), "python")
    folder = f.export(tmp_path, gradient=False, platforms=["cpu", "cpu"])
    g = dt.load_exported(folder)
    with pytest.raises(dt.InputError, match=r"no positions along dim 't': .* lengths from 1 on"):
        g(0, 1.0)
    with pytest.raises((dt.ExportError, dt.MemoryLimitError), match=r"t \{'t': 1000000000000000\}"):
        g(10**15, 1.0)
    with pytest.raises(dt.InputError, match="takes a length"):
        g(10**30, 1.0)


def test_labels_of_categories_may_come_with_another_input(tmp_path):
    city = dt.Dim("city")
    of, level = dt.tensor("of", dims=HOUSE, categories=city), dt.tensor("level", dims=city)
    f = dt.function([of, level], level.sel(city=of) * 2.0, "python")
    g = dt.load_exported(f.export(tmp_path))
    levels = xr.DataArray([1.0, 2.0], dims="city", coords={"city": ["Rome", "Paris"]})
    assert g(["Paris", "Rome", "Paris"], levels).values.tolist() == [4.0, 2.0, 4.0]
    with pytest.raises(dt.LabelError, match="'Oslo'"):
        g(["Oslo"], levels)
    with pytest.raises(dt.LabelError, match="'city', which has no labels"):
        g(["Rome"], [1.0, 2.0])
    assert g([1, 0], [1.0, 2.0]).values.tolist() == [4.0, 2.0]


def test_a_value_of_none_is_no_value(folder):
    with pytest.raises(dt.InputError, match="called without input 'where' and input 'floor'"):
        dt.load_exported(folder)(*houses(4)[:2], None, None, None)


# -- another compiler ------------------------------------------------------------------------------


@pytest.mark.slow
def test_iree_compiles_and_runs_the_module(tmp_path):
    compiler = pytest.importorskip("iree.compiler")
    runtime = pytest.importorskip("iree.runtime")
    folder = radon().export(tmp_path, gradient=["effect", "slope"], lengths={"house": 5})
    code = compiler.compile_file(
        str(folder / "module.stablehlo"),
        input_type="stablehlo",
        target_backends=["llvm-cpu"],
        extra_args=[
            "--iree-llvmcpu-target-cpu=host",
            "--iree-input-demote-f64-to-f32=false",
            "--iree-input-demote-i64-to-i32=false",
        ],
    )
    context = runtime.SystemContext(config=runtime.Config("local-task"))
    module = runtime.VmModule.copy_buffer(context.instance, code)
    context.add_vm_module(module)
    effect, slope, where, floor, y = houses(5)
    found = context.modules[module.name]["main"](effect, np.asarray(slope), where, floor, y)
    for one, other in zip(found, by_hand(effect, slope, where, floor, y), strict=True):
        np.testing.assert_allclose(one.to_host(), other, rtol=1e-12)
