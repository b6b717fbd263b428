"""Functions computed in slices on threads: results, bits, errors, plain arrays."""

from __future__ import annotations

import _thread
import pickle
import threading
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.compile.sliced import cuts, machine, storage
from tests.graph.test_partition import KEEP, OBS, SPLIT, THETA, B, K, M, X, Y, numbers

NUMBERS = [1, 2, 3, 7]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch):
    """Slices of a few rows, of narrow data."""
    monkeypatch.setattr(storage, "NARROWED_BYTES", 0)
    monkeypatch.setattr(cuts, "SLICE_WORK", 1)
    monkeypatch.setattr(cuts, "SLICE_RESULTS", 0)


def values(v: dict[str, np.ndarray]) -> dict[str, Any]:
    return {**v, "m": (("k", "obs"), v["m"]), "who": np.array(list("abc"))[v["who"]]}


def called(f: Any, point: dict[str, Any]) -> Any:
    return f(**{name: point[name] for name in f.inputs})


@pytest.mark.parametrize("name", SPLIT)
def test_threads_compute_the_whole(name: str):
    x, _, oracle = SPLIT[name]
    v = numbers(50)
    results = []
    for threads in NUMBERS:
        f = dt.function(dt.inputs_of(x), x, "python", threads=threads)
        results.append(called(f, values(v)).values)
    np.testing.assert_allclose(results[0], oracle(v), rtol=1e-10, atol=1e-12)
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])
    cut = f.cut(_lengths(f, 50))
    assert cut.number > 4


def _lengths(f: Any, n: int) -> Any:
    binding = f._data_binding.copy()
    binding.add_length(OBS, n, "a test")
    return binding


@pytest.mark.parametrize("length", [0, 1, 2])
def test_few_positions(length: int):
    x = (X**2).sum() + B
    f = dt.function([X, B], x, "python", threads=3)
    v = numbers(length)
    assert called(f, v).item() == pytest.approx((v["x"] ** 2).sum() + v["b"])


def test_outputs_keep_their_labels_and_dims():
    f = dt.function([M, X], {"both": M * X, "sum": M.sum(OBS)}, "python", threads=2)
    labels = [f"row {at}" for at in range(30)]
    v = numbers(30)
    m = xr.DataArray(v["m"], dims=["k", "obs"], coords={"obs": labels})
    found = f(m=m, x=v["x"])
    expected = m * xr.DataArray(v["x"], dims="obs")
    xr.testing.assert_allclose(found["both"].transpose(*expected.dims).rename(None), expected)
    np.testing.assert_allclose(found["sum"], v["m"].sum(1))


def test_rows_that_a_mask_chooses_keep_their_labels():
    f = dt.function([X, KEEP], [X[KEEP], X[KEEP].sum()], "python", threads=2)
    plain = dt.function([X, KEEP], [X[KEEP], X[KEEP].sum()], "python")
    v = numbers(40)
    labeled = xr.DataArray(v["x"], dims="obs", coords={"obs": np.arange(100, 140)})
    keep = xr.DataArray(v["keep"], dims="obs", coords={"obs": np.arange(100, 140)})
    (rows, total), (expected, _) = f(labeled, keep), plain(labeled, keep)
    xr.testing.assert_identical(rows, expected)
    assert rows.coords["obs"].values.tolist() == (100 + np.flatnonzero(v["keep"])).tolist()
    np.testing.assert_allclose(total, v["x"][v["keep"]].sum())


@pytest.mark.compiled
def test_machine_code_of_value_and_gradients():
    rng = np.random.default_rng(0)
    n = 5000
    who, x, y = rng.integers(0, 3, n), rng.normal(size=n), rng.normal(size=n)
    xd, yd = dt.data(x, dims=OBS), dt.data(y, dims=OBS)
    of = dt.data(np.array(list("abc"))[who], dims=OBS, categories=THETA.dims[0])
    logp = -((yd - THETA.sel(group=of) - B * xd) ** 2).sum() - (THETA**2).sum()
    outputs = [logp, *dt.grad(logp, [THETA, B])]
    theta, b = np.array([0.1, -0.2, 0.3]), 0.7
    residual = y - theta[who] - b * x
    expected = [
        -(residual**2).sum() - (theta**2).sum(),
        2 * np.bincount(who, residual, minlength=3) - 2 * theta,
        2 * (residual * x).sum(),
    ]
    found = []
    for threads in NUMBERS:
        f = dt.function([THETA, B], outputs, threads=threads)
        assert f.cut(f._data_binding).number > 100
        found.append([np.asarray(one) for one in f.positional(theta, np.asarray(b))])
        for one, other in zip(f(theta, b), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10)
    for others in found[1:]:
        for one, other in zip(others, found[0], strict=True):
            np.testing.assert_array_equal(one, other)


def test_parameters_along_the_dim_are_cut_with_it():
    i, j = dt.Dim("i", length=40), dt.Dim("j", length=3)
    a, b, y = dt.tensor("a", dims=i), dt.tensor("b", dims=j), dt.tensor("y", dims=[i, j])
    value = ((y - a - b) ** 2).sum() + (b**2).sum()
    f = dt.function([a, b, y], [value, *dt.grad(value, [a, b])], "python", threads=2)
    assert f.cut(f._data_binding).dim is i
    rng = np.random.default_rng(0)
    arrays = rng.normal(size=40), rng.normal(size=3), rng.normal(size=(40, 3))
    found = f(*arrays[:2], (("i", "j"), arrays[2]))
    residual = arrays[2] - arrays[0][:, None] - arrays[1]
    own = 2 * arrays[1]
    expected = [(residual**2).sum() + (arrays[1] ** 2).sum(), -2 * residual.sum(1),
                own - 2 * residual.sum(0)]  # fmt: skip
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.compiled
def test_machine_code_reads_and_writes_along_the_dim():
    i, j = dt.Dim("i", length=30), dt.Dim("j", length=30)
    a, b, y = dt.tensor("a", dims=i), dt.tensor("b", dims=j), dt.tensor("y", dims=[i, j])
    residual = dt.check(y < 5.0, "y is small", y) - a - b
    value = (residual**2).sum() + (b**2).sum()
    outputs = [value, *dt.grad(value, [a, b]), residual.max(), (y > 0).any(i)]
    bits = []
    for threads in (1, 3):
        f = dt.function([a, b, y], outputs, threads=threads).positional
        rng = np.random.default_rng(0)
        for _ in range(3):
            u, v, table = rng.normal(size=30), rng.normal(size=30), rng.normal(size=(30, 30))
            stored = table if f.input_dims[2] == (i, j) else np.ascontiguousarray(table.T)
            rest = table - u[:, None] - v
            expected = [(rest**2).sum() + (v**2).sum(), -2 * rest.sum(1), -2 * rest.sum(0) + 2 * v,
                        rest.max(), (table > 0).any(0)]  # fmt: skip
            found = f(u, v, stored)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-11)
        (frame,) = f._frames.values()
        assert frame._call._evaluate._machine is not None
        bits.append(found)
        with pytest.raises(dt.CheckError, match="y is small"):
            f(u, v, stored + 10.0)
        for one, other in zip(f(u, v, stored), found, strict=True):
            np.testing.assert_array_equal(one, other)
    for one, other in zip(*bits, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.compiled
@pytest.mark.parametrize("copied", [2, 10_000])
def test_machine_code_of_each_kind_of_result(copied: int, monkeypatch: pytest.MonkeyPatch):
    """Long results along the dim are arrays of a call, others are copied from one buffer."""
    monkeypatch.setattr(machine, "COPIED_RESULTS", copied)
    i, j, k = dt.Dim("i", length=30), dt.Dim("j", length=4), dt.Dim("k", length=3)
    a, b, n = dt.tensor("a", dims=i), dt.tensor("b", dims=[k, j]), dt.tensor("n", dtype="int64")
    y, z = dt.tensor("y", dims=[i, j]), dt.tensor("z", dims=[i, k])
    table = (y * z * a).sum(i)
    outputs = {
        "scalar": (a * y).sum() + 3 * n,
        "table with its rest": table + b,
        "the rest alone": b * 2,
        "a scalar alone": n * 0.5,
        "count": (y > 0).sum() + n,
        "float32": y.astype("float32").sum(i),
        "float32 and a double": y.astype("float32").sum(i) + b.sum(k),
        "largest": y.max(i),
        "along": a * n,
        "along two": y * a,
        "condition along": y > 0,
    }
    given = [a, b, n, y, z]
    whole = dt.function(given, [*outputs.values()], "python").positional
    bits = []
    for threads in (1, 2):
        f = dt.function(given, [*outputs.values()], threads=threads).positional
        rng = np.random.default_rng(0)
        calls = []
        for number in range(3):
            v = {"a": rng.normal(size=30), "b": rng.normal(size=(3, 4)), "n": np.asarray(number),
                 "y": rng.normal(size=(30, 4)), "z": rng.normal(size=(30, 3))}  # fmt: skip
            arrays = []
            for dims, name in zip(f.input_dims, "abnyz", strict=True):
                stored = {"b": (k, j), "y": (i, j), "z": (i, k)}.get(name, dims)
                arrays.append(v[name].transpose([*map(stored.index, dims)]).copy())
            calls.append((v, f(*arrays)))
        (frame,) = f._frames.values()
        assert frame._call._evaluate._machine is not None
        for v, found in calls:  # results of a call are its own
            single = v["y"].astype("float32").sum(0)
            expected: list[tuple[Any, tuple[dt.Dim, ...]]] = [
                ((v["a"][:, None] * v["y"]).sum() + 3 * v["n"], ()),
                (np.einsum("i,ij,ik->kj", v["a"], v["y"], v["z"]) + v["b"], (k, j)),
                (v["b"] * 2, (k, j)),
                (v["n"] * 0.5, ()),
                ((v["y"] > 0).sum() + v["n"], ()),
                (single, (j,)),
                (single + v["b"].sum(0), (j,)),
                (v["y"].max(0), (j,)),
                (v["a"] * v["n"], (i,)),
                (v["y"] * v["a"][:, None], (i, j)),
                (v["y"] > 0, (i, j)),
            ]
            pairs = zip(found, expected, outputs, f.output_dims, whole.output_dims, strict=True)
            for one, (value, dims), name, order, own in pairs:
                assert order == own
                wanted = np.transpose(value, [dims.index(dim) for dim in order])
                np.testing.assert_allclose(one, wanted, rtol=2e-6, atol=1e-5, err_msg=name)
                assert one.shape == wanted.shape, name
        bits.append([found for _, found in calls])
    dtypes = [y.dtype for y in outputs.values()]
    assert [one.dtype.name for one in bits[0][0]] == dtypes
    for results in zip(*bits, strict=True):
        for one, other in zip(*results, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", ["native", "python"])
def test_inputs_of_what_is_computed_once_have_axes_in_its_order(backend: str):
    """Of equal lengths, those of a running sum along one of them, which is computed once."""
    i, j, k = dt.Dim("i", length=30), dt.Dim("j", length=4), dt.Dim("k", length=4)
    b, y, z = dt.tensor("b", dims=[k, j]), dt.tensor("y", dims=[i, j]), dt.tensor("z", dims=[i, k])
    orders = set()
    for dim in (j, k):
        x = (y * z * b).sum(i) + b.cumsum(dim)
        f = dt.function([b, y, z], [x, y.max(i), z.max(i)], backend, threads=2)
        for seed in range(3):
            rng = np.random.default_rng(seed)
            v = {"b": rng.normal(size=(4, 4)), "y": rng.normal(size=(30, 4)),
                 "z": rng.normal(size=(30, 4))}  # fmt: skip
            found, high, _ = f((("k", "j"), v["b"]), (("i", "j"), v["y"]), (("i", "k"), v["z"]))
            expected = np.einsum("ij,ik,kj->kj", v["y"], v["z"], v["b"])
            expected += v["b"].cumsum(axis=(k, j).index(dim))
            np.testing.assert_allclose(found.transpose("k", "j"), expected, rtol=1e-11)
            np.testing.assert_array_equal(high, v["y"].max(axis=0))
        (program,), (frame,) = f._programs.values(), f._frames.values()
        orders.add(tuple(program.rest_inputs[0]))
        assert (frame._call._evaluate._machine is not None) == (backend == "native")
    assert orders == {(0, 1), (1, 0)}


@pytest.mark.compiled
def test_a_check_of_what_is_computed_once_fails():
    x = dt.tensor("x", dims=OBS)
    value = (x * B).sum() + dt.check(B > 0, "b is positive", B)
    f = dt.function([x, B], value, threads=2)
    assert f(np.arange(50.0), 2.0).item() == 2 * 1225.0 + 2
    with pytest.raises(dt.CheckError, match="b is positive"):
        f(np.arange(50.0), -1.0)
    assert f(np.arange(50.0), 2.0).item() == 2 * 1225.0 + 2


@pytest.mark.compiled
def test_loops_that_do_not_end_are_interrupted_in_all_threads():
    f = dt.function([X], dt.while_loop(lambda s: s > 0.0, lambda s: s + 1.0, X).sum(), threads=2)
    assert f(-np.ones(64)).item() == -64.0
    for endless in (slice(None), slice(0, 1), slice(1, 2)):  # in both threads, or in one
        x = -np.ones(64)
        x[endless] = 1.0
        timer = threading.Timer(0.1, _thread.interrupt_main)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            f(x)
        timer.join()
        assert f(-np.ones(64)).item() == -64.0


@pytest.mark.compiled
def test_data_are_read_in_the_narrowest_dtype_that_holds_them():
    rng = np.random.default_rng(0)
    k = dt.Dim("k", length=300)
    theta = dt.tensor("theta", dims=k)
    zero_one, count = rng.integers(0, 2, 400).astype(float), rng.integers(0, 70_000, 400)
    of, y = rng.integers(0, 100, 400), rng.normal(size=400)
    x = dt.data(zero_one, dims=OBS, name="x")
    where = dt.data(of, dims=OBS, categories=k, name="where")
    many = dt.data(count, dims=OBS, name="many")
    value = ((dt.data(y, dims=OBS) - theta.sel(k=where) - B * x) ** 2 * many * many).sum()
    f = dt.function([theta, B], [value, dt.grad(value, theta)], threads=2)
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({}, {"int8", "int32", "float64"}),
        ({"x": zero_one + 0.5, "where": of + 200}, {"int16", "int32", "float64"}),
        (
            {"x": np.where(zero_one == 0, -0.0, 1.0), "many": count * 10**6},
            {"int8", "int64", "float64"},
        ),
    ]
    for new, dtypes in cases:
        g = f.with_data(**new)
        v = {"x": zero_one, "where": of, "many": count} | new
        for _ in range(2):
            t, b = rng.normal(size=300), 0.7
            rest, weight = y - t[v["where"]] - b * v["x"], v["many"].astype(float) ** 2
            found = g(t, b)
            np.testing.assert_allclose(found[0], (rest**2 * weight).sum(), rtol=1e-10)
            slope = -2 * np.bincount(v["where"], rest * weight, minlength=300)
            np.testing.assert_allclose(found[1], slope, rtol=1e-9)
        (frame,) = g._frames.values()
        share = frame._call._evaluate._shares[0].function
        assert {array.dtype.name for array in share.fixed} == dtypes
    with pytest.raises(dt.PositionError, match="'where'"):
        f.with_data(where=of + 250)(np.zeros(300), 0.7)


def test_other_data_and_batches_and_pickles():
    x = dt.data(np.arange(20.0), dims=OBS, name="x")
    f = dt.function([B], (B * x).sum(), "python", threads=2)
    assert f(2.0).item() == 380.0
    assert f.with_data(x=np.ones(50))(2.0).item() == 100.0
    assert f((("draw",), [1.0, 2.0])).values.tolist() == [190.0, 380.0]
    again = pickle.loads(pickle.dumps(f.with_data(x=np.ones(50))))
    assert again.threads == 2
    assert again(2.0).item() == 100.0


def test_errors_are_those_without_threads():
    row = dt.Dim("row", coords=[f"row {at}" for at in range(40)])
    x = dt.tensor("x", dims=row)
    total = dt.check(x < B, "x is small", x).sum()
    texts = []
    for options in ({}, {"threads": 3}):
        f = dt.function([x, B], total, "python", **options)
        with pytest.raises(dt.CheckError, match="row 38") as found:
            f(np.arange(40.0), 37.5)
        texts.append(str(found.value))
        with pytest.raises(dt.CheckError, match="x is small"):
            f.positional(np.arange(40.0), np.asarray(37.5))
        assert f(np.arange(40.0), 100.0).item() == 780.0
    assert texts[0] == texts[1]


def test_an_error_of_slices_alone_is_not_lost(monkeypatch: pytest.MonkeyPatch):
    f = dt.function([X], (X**2).sum(), "python", threads=2)
    assert f(np.arange(4.0)).item() == 14.0

    def broken(*_: Any) -> None:
        raise RuntimeError("a slice is broken")

    monkeypatch.setattr(f._pool, "run", broken)
    with pytest.raises(RuntimeError, match="a slice is broken"):
        f(np.arange(4.0))


def test_a_look_up_out_of_range_is_refused():
    k = dt.Dim("k")
    theta, where = dt.tensor("theta", dims=k), dt.tensor("where", dims=OBS, dtype="int64")
    for options in ({}, {"threads": 2}):
        f = dt.function([theta, where], theta.isel(k=where).sum(), "python", **options)
        assert f([1.0, 2.0], np.ones(50, dtype=int)).item() == 100.0
        with pytest.raises(dt.PositionError, match="'where'"):
            f([1.0, 2.0], np.full(50, 2))


def test_what_cannot_be_cut_is_refused_when_the_function_is_made():
    with pytest.raises(dt.PartitionError, match=r"slices of dim 'obs' cannot be computed") as found:
        dt.function([X], ((X - X.mean()) ** 2).sum(), "python", threads=2)
    assert "x - mean(x)" in str(found.value)
    f = dt.function([B], B * 2, "python", threads=2)
    assert f(3.0).item() == 6.0


def test_options_are_checked():
    with pytest.raises(dt.OptionError, match="function: threads=0 is below 1"):
        dt.function([X], X.sum(), "python", threads=0)
    with pytest.raises(dt.OptionError, match="a function of states"):
        dt.function([X], [], "python", updates={B: B + X.sum()}, threads=2)
    pytest.importorskip("jax")
    with pytest.raises(dt.OptionError, match="JAX has its own"):
        dt.function([X], X.sum(), "jax", threads=2)


@pytest.mark.compiled
@pytest.mark.parametrize("threads", [1, 2])
def test_plain_arrays_of_other_kinds_than_those_of_the_first_call(threads: int, tmp_path: Any):
    i, j = dt.Dim("i", length=40), dt.Dim("j", length=40)
    y, b = dt.tensor("y", dims=[i, j]), dt.tensor("weights", dims=j)
    f = dt.function([y, b, B], [((y * b) ** 2).sum() + B, (y * b).sum(i)], threads=threads)
    plain = f.positional
    rng = np.random.default_rng(0)
    table, row = rng.normal(size=(40, 40)).round(1) * 10, 2.0 ** np.arange(40)
    along = plain.input_dims[0].index(i)
    mapped = np.memmap(tmp_path / "y", "float64", "w+", shape=table.shape)
    mapped[...] = table
    wide = np.zeros((*table.shape, 2))
    wide[..., 1] = table
    kinds = [table.copy(), wide[..., 1], np.asfortranarray(table), table.astype(int), mapped,
             table.astype(">f8"), table.copy()]  # fmt: skip
    expected = [((table * (row if along == 0 else row[:, None])) ** 2).sum() + 2.5,
                table.sum(along) * row]  # fmt: skip
    number = np.asarray(2.5)
    bits = []
    for given in kinds:
        for weights in (row, np.repeat(row, 2)[::2]):
            found = plain(given, weights, number)
            bits.append(found)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12)
    for found in bits[1:]:
        for one, other in zip(found, bits[0], strict=True):
            np.testing.assert_array_equal(one, other)
    (call,) = [frame._call for frame in plain._frames.values()]
    assert call._evaluate.by_machine is not None
    assert call._evaluate.by_machine([kinds[0], row, number]) is not None
    assert call._evaluate.by_machine([kinds[3], row, number]) is None
    first = plain(kinds[0], row, number)
    kept = [one.copy() for one in first]
    plain(kinds[0] * 2, row, number)
    for one, other in zip(first, kept, strict=True):  # results of a call are its own
        np.testing.assert_array_equal(one, other)
        assert one.flags.writeable
        assert one.dtype == "float64"
    with pytest.raises(dt.InputError, match="takes 3 arrays"):
        plain(kinds[0], row)
    with pytest.raises(dt.InputError, match="is not what the function takes"):
        plain(kinds[0], row, row)


@pytest.mark.parametrize("number", [0, 1])
def test_plain_arrays_are_checked(number: int):
    f = dt.function([X, Y], (X * Y).sum(), "python", threads=2).positional
    v = numbers(30)
    assert f(v["x"], v["y"])[0] == pytest.approx(v["x"] @ v["y"])
    with pytest.raises(dt.InputError, match=r"takes 2 arrays|is not what the function takes"):
        f(v["x"]) if number else f(v["x"], v["m"])


def test_the_code_of_the_whole_is_there():
    f = dt.function([M], (M**2).sum(), "python", threads=2)
    assert f.path == "the python interpreter"
    assert set(f.positional.input_dims[0]) == {K, OBS}


@pytest.mark.compiled
def test_a_length_that_is_given_as_a_number():
    late = dt.Dim("late")
    total = dt.exp(X).sum()
    f = dt.function([X, late], [total + dt.arange(late), total + dt.arange(late).sum()], threads=2)
    x = np.random.default_rng(0).random(5000)
    for length in (3, 10, 3, 0, 20):
        of_each, of_all = f.positional(x, np.asarray(length))
        np.testing.assert_allclose(of_each, np.exp(x).sum() + np.arange(length), rtol=1e-12)
        np.testing.assert_allclose(of_all, np.exp(x).sum() + np.arange(length).sum(), rtol=1e-12)
