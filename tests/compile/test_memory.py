"""Arrays that no memory holds: an error that names the dims, the expression and its line."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor import dist
from dimtensor.values import loading
from tests.backend_names import LONG_JAX

A, B, C = (dt.Dim(name) for name in "abc")
X, Y, Z = (dt.tensor(name, dims=dim) for name, dim in zip("xyz", (A, B, C), strict=True))
HUGE, VAST = dt.Dim("huge", length=2**62), dt.Dim("vast", length=2**31)
LONG = np.ones(1_200_000)

MEETING = dt.where(X > 0, Y, Z)
TOO_LARGE = {
    # the bytes are 2**63.6, which as a signed integer of 64 bits is negative
    "an output over dims that meet": ([X, Y, Z], MEETING, [LONG] * 3, "where(x > 0, y, z)", "13.8"),
    "a temporary over dims that meet": (
        [X, Y, Z],
        MEETING.cumsum("a").sum(),
        [LONG] * 3,
        "cumsum(where(x > 0, y, z)",
        "13.8",
    ),
    # 2**64.2: the low 64 bits are 0.7 EB more than 0
    "a product beyond 64 bits": (
        [X, Y, Z],
        MEETING.cumsum("a").sum(),
        [np.ones(1_600_000), LONG, LONG],
        "cumsum(where(x > 0, y, z)",
        "18.4",
    ),
    # exactly 2**65 bytes: the low 64 bits are 0
    "zeros": ([], dt.zeros(HUGE), [], "zeros({huge})", "36.9"),
    "an identity": ([], dt.eye(VAST), [], "eye({vast, vast'})", "36.9"),
    "padding": ([X], X.pad(a=(2**61, 0)), [np.ones(3)], "pad(x", "18.4"),
}


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("case", TOO_LARGE)
def test_an_array_beyond_any_memory_is_an_error(case, backend):
    inputs, output, values, expression, size = TOO_LARGE[case]
    f = dt.function(inputs, output, backend=backend)
    with pytest.raises(dt.MemoryLimitError, match=rf"its largest array takes {size} EB") as error:
        f(*values)
    text = str(error.value)
    assert f"\n  expression: {expression}" in text
    assert "\n  line: test_memory.py:" in text
    assert isinstance(error.value, MemoryError)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_the_lengths_of_the_dims_are_named(backend):
    f = dt.function([X, Y, Z], MEETING, backend=backend)
    with pytest.raises(dt.MemoryLimitError, match="lengths: a=1,200,000, b=1,200,000, c=1,200,000"):
        f(LONG, LONG, LONG)
    with pytest.raises(dt.MemoryLimitError, match="lengths: a=1,200,000, b=1,200,000, c=1,200,000"):
        f.positional(LONG, LONG, LONG)
    with pytest.raises(dt.MemoryLimitError, match="lengths: a=1,200,000, b=1,200,000, c=1,200,000"):
        f.positional(LONG.astype("int32"), LONG, LONG)  # which is converted first


@pytest.mark.parametrize("backend", LONG_JAX)
def test_lengths_that_no_array_has_though_one_is_zero_are_an_error(backend):
    f = dt.function([X], X + dt.zeros([HUGE, dt.Dim("more", length=2**62)]), backend=backend)
    with pytest.raises(dt.MemoryLimitError, match="lengths of this call, though one of them is 0"):
        f(np.ones(0))


@pytest.mark.parametrize("backend", LONG_JAX)
def test_positions_that_64_bits_do_not_count_are_an_error(backend):
    f = dt.function([X], X.pad(a=(2**62, 0)).sum(), backend=backend)
    with pytest.raises(dt.MemoryLimitError, match=r"would have 4,611,686,018,427,387,907 pos"):
        f(np.ones(3))


def test_a_dim_is_not_longer_than_64_bits_count():
    with pytest.raises(dt.DimError, match=r"at most 2\*\*62 positions.*9,223,372,036,854,775,808"):
        dt.Dim("d", length=2**63)


def test_an_error_of_another_kind_is_given_back():
    from dimtensor.compile.memory import no_memory
    from dimtensor.dims import Binding

    binding = Binding()
    binding.add_length(A, 10, "x")
    error = ValueError("something else")
    assert no_memory(error, [X.node], binding) is error
    assert isinstance(no_memory(MemoryError(), [X.node], binding), dt.MemoryLimitError)


LAZY = xr.DataArray(da.zeros((10**11, 3), chunks=(10**8, 3)), dims=["obs", "kind"], name="lazy")
ROWS, KIND = dt.Dim("obs"), dt.Dim("kind", length=3)
TABLE = dt.tensor("table", dims=[ROWS, KIND])


def _model():
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    y = dt.rv("y", dist.Normal(mu + TABLE.sum(KIND), 1.0))
    return y, dt.Model(y, backend="python")


LOADING = {
    "data": lambda: dt.data(LAZY, dims=[ROWS, KIND]),
    "data of a pair": lambda: dt.data((["obs", "kind"], LAZY.data), dims=[ROWS, KIND]),
    "data of a model": lambda: dt.Model(_model()[0], data={TABLE: LAZY}),
    "other data of a model": lambda: _model()[1].with_data({TABLE: LAZY}),
    "evaluation of a running total": lambda: TABLE.cumsum(ROWS).eval({TABLE: LAZY}),
    "observations": lambda: (
        _model()[1]
        .with_data({TABLE: dt.stream(np.zeros((4, 3)), dims=[ROWS, KIND])})
        .observe(y=LAZY.isel(kind=0))
    ),
}


@pytest.mark.parametrize("case", LOADING)
def test_an_array_of_dask_that_does_not_fit_is_not_loaded(case):
    needed, last = (r"2\.4", ", kind: 3\n") if case != "observations" else ("800", "\n")
    message = rf"needs {needed} [TG]B of memory, .* are there\n  sizes: obs: 100,000,000,000{last}"
    with pytest.raises(dt.MemoryLimitError, match=message) as error:
        LOADING[case]()
    assert "hint: dt.stream(array, dims=[dt.Dim('obs')" in str(error.value)


def test_the_stream_of_the_hint_stands_in_the_place_of_data(monkeypatch):
    rows = np.arange(30.0).reshape(10, 3)
    lazy = xr.DataArray(da.from_array(rows, chunks=(4, 3)), dims=["obs", "kind"])
    monkeypatch.setattr(loading, "_SMALL", 100)
    monkeypatch.setattr(loading, "available", lambda: 200)
    with pytest.raises(dt.MemoryLimitError, match="needs 240 B of memory, 200 B are") as error:
        _model()[1].with_data({TABLE: lazy})
    code = str(error.value).split("hint: ")[1].split(" reads")[0]
    read = eval(code, {"dt": dt, "array": lazy})
    fit = _model()[1].with_data({TABLE: read}).observe(y=np.zeros(10))
    expected = -0.5 * (rows.sum(1) ** 2).sum() - 11 * 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(fit.log_density().logp(np.zeros(1)), expected)
    monkeypatch.setattr(loading, "available", lambda: 240)
    _model()[1].with_data({TABLE: lazy})


def test_an_array_of_which_chunks_do_not_fit():
    lazy = xr.DataArray(da.zeros((10**12, 3), chunks=(10**11, 3)), dims=["obs", "kind"])
    message = r"a chunk of the stream needs 2.4 TB of memory, .* are there\n  sizes: obs: 100,000,0"
    with pytest.raises(dt.MemoryLimitError, match=message) as error:
        dt.stream(lazy, dims=[ROWS, KIND])
    code = str(error.value).split("hint: ")[1].split(" has")[0]
    short = lazy.isel(obs=slice(0, 10**6))
    assert dt.stream(eval(code, {"array": short}), dims=[ROWS, KIND]).sizes.keys() == {
        "obs",
        "kind",
    }


def test_a_file_that_xarray_opened_is_not_loaded_if_it_does_not_fit(tmp_path, monkeypatch):
    whole = xr.Dataset({"x": ("obs", np.arange(1000.0))})
    whole.to_netcdf(tmp_path / "x.nc", engine="scipy")
    monkeypatch.setattr(loading, "_SMALL", 100)
    monkeypatch.setattr(loading, "available", lambda: 200)
    with xr.open_dataset(tmp_path / "x.nc", engine="scipy") as opened:
        with pytest.raises(dt.MemoryLimitError, match="needs 8 kB of memory"):
            dt.data(opened["x"])
        x, obs = dt.scalar("x"), dt.Dim("obs")
        terms = {"y": -((dt.stream(opened["x"], dims=[obs], name="y") - x) ** 2)}
        density = dt.LogDensity(terms, {x: dt.real}, backend="python")
        assert density.logp([1.0]) == -((np.arange(1000.0) - 1) ** 2).sum()
