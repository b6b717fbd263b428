"""Sources of streams, and the thread that reads them."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.streams import sources
from dimtensor.streams.reading import ReadAhead, RowReader
from dimtensor.streams.stream import StreamedValues, stream_of

OBS, GROUP = dt.Dim("obs"), dt.Dim("group", coords=["a", "b", "c"])
ROWS = 1003
X = np.random.default_rng(1).normal(size=ROWS)
WHO = np.random.default_rng(2).integers(0, 3, ROWS)


def pieces(x: Any, size: int = 70) -> Callable[[], Iterator[Any]]:
    return lambda: (x[at : at + size] for at in range(0, len(x), size))


def npy(folder: Path) -> Any:
    np.save(folder / "x.npy", X)
    return folder / "x.npy"


def mapped(folder: Path) -> Any:
    np.concatenate([[0.0, 1.0], X]).tofile(folder / "x.raw")
    return np.memmap(folder / "x.raw", dtype=float)[2:]


def misaligned(folder: Path) -> Any:
    (folder / "x.raw").write_bytes(b"abc" + X.astype(">f8").tobytes())
    return np.memmap(folder / "x.raw", dtype=">f8", offset=3, shape=(ROWS,))


def every_other(folder: Path) -> Any:
    X.repeat(2).tofile(folder / "x.raw")
    return np.memmap(folder / "x.raw", dtype=float)[::2]


def zarr_array(folder: Path) -> Any:
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(str(folder / "x.zarr"), shape=ROWS, chunks=(64,), dtype="f8")
    array[:] = X
    return array


def dask_backed(folder: Path) -> Any:
    da = pytest.importorskip("dask.array")
    return xr.DataArray(da.from_array(X, chunks=130), dims="obs")


def parquet(folder: Path) -> Any:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (folder / "rows").mkdir()
    for at, part in enumerate((X[:500], X[500:])):
        pq.write_table(pa.table({"x": part}), folder / f"rows/{at}.parquet", row_group_size=170)
    return folder / "rows"


SOURCES: dict[str, Callable[[Path], Any]] = {
    "array": lambda folder: X,
    "npy": npy,
    "mapped": mapped,
    "mapped, misaligned and of other byte order": misaligned,
    "mapped, strided": every_other,
    "zarr": zarr_array,
    "dask": dask_backed,
    "DataArray": lambda folder: xr.DataArray(X, dims="obs"),
    "factory": lambda folder: pieces(X),
    "factory of longer blocks": lambda folder: pieces(X, 450),
}


def streams_of(*tensors: Any) -> list[StreamedValues]:
    return [stream for x in tensors if (stream := stream_of(x)) is not None]


def chunks_of(*tensors: Any) -> list[tuple[int, int, tuple[np.ndarray, ...]]]:
    with ReadAhead(iter(RowReader(streams_of(*tensors)))) as chunks:
        found = [(chunk.number, chunk.start, chunk.arrays) for chunk in chunks]
    assert not chunks.thread.is_alive()
    return found


@pytest.mark.parametrize("name", SOURCES)
def test_chunks_make_the_whole(name: str, tmp_path: Path):
    x = dt.stream(SOURCES[name](tmp_path), OBS, chunks=100, dtype="float64")
    found = chunks_of(x)
    assert [(number, start) for number, start, _ in found] == [(k, 100 * k) for k in range(11)]
    arrays = [arrays[0] for *_, arrays in found]
    assert [len(one) for one in arrays] == [100] * 10 + [3]
    assert all(one.flags.c_contiguous and one.flags.aligned for one in arrays)
    assert {one.dtype for one in arrays} == {np.dtype("float64")}
    np.testing.assert_array_equal(np.concatenate(arrays), X)


SEEKABLE = [name for name in SOURCES if not name.startswith("factory")]


@pytest.mark.parametrize("name", [*SEEKABLE, "parquet"])
def test_some_chunks_and_single_rows_are_those_of_the_whole(name: str, tmp_path: Path):
    made = SOURCES[name](tmp_path) if name in SOURCES else parquet(tmp_path)
    column = "x" if name == "parquet" else None
    x = dt.stream(made, OBS, chunks=100, dtype="float64", column=column)
    reader = RowReader(streams_of(x))
    assert reader.is_seekable
    for first, stop in [(0, 2), (3, 4), (7, 11)]:
        found = [*reader.chunks(first, stop)]
        assert [chunk.number for chunk in found] == [*range(first, stop)]
        assert [chunk.start for chunk in found] == [100 * at for at in range(first, stop)]
        values = np.concatenate([chunk.arrays[0] for chunk in found])
        np.testing.assert_array_equal(values, X[100 * first : 100 * stop])
    assert reader.gathers_rows == (name in ("array", "npy", *filter(lambda x: "map" in x, SOURCES)))
    for rows in ([0, 3, 63, 64, 299, 300, 1002], [500], [7, 7, 8]):
        (values,) = reader.take(np.array(rows))
        np.testing.assert_array_equal(values, X[rows])
        assert values.dtype == float
    assert not RowReader(streams_of(dt.stream(pieces(X), OBS))).is_seekable


def test_a_label_of_a_single_row_names_it():
    labels = np.array(["a", "b", "c"])[WHO]
    labels[417] = "z"
    who = dt.stream(labels, OBS, chunks=100, name="who", categories=GROUP)
    reader = RowReader(streams_of(who))
    np.testing.assert_array_equal(reader.take(np.array([3, 500]))[0], WHO[[3, 500]])
    with pytest.raises(dt.LabelError, match=r"^row 417: the stream 'who': .* label 'z'"):
        reader.take(np.array([3, 417, 500]))


def test_systems_that_do_not_read_pages_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sources, "_POPULATE_READ", 9999)
    x = dt.stream(npy(tmp_path), OBS, chunks=100)
    np.testing.assert_array_equal(np.concatenate([one[0] for *_, one in chunks_of(x)]), X)


def test_arrays_of_a_zarr_group_by_name(tmp_path: Path):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "rows.zarr"), mode="w")
    for name, values in (("x", X), ("who", WHO)):
        group.create_array(name, data=values, chunks=(200,))
    for source in (group, tmp_path / "rows.zarr", str(tmp_path / "rows.zarr")):
        x = dt.stream(source, OBS, column="x")
        who = dt.stream(source, OBS, column="who", categories=dt.Dim("person", length=3))
        assert (x.node.name, x.dtype, who.dtype) == ("x", "float64", "int64")
        ((_, _, (first, second)),) = chunks_of(x, who)
        np.testing.assert_array_equal(first, X)
        np.testing.assert_array_equal(second, WHO)
    with pytest.raises(dt.InputError, match=r"no array 'wo' \(did you mean 'who'"):
        dt.stream(group, OBS, column="wo")
    with pytest.raises(dt.InputError, match="a Zarr group has several arrays"):
        dt.stream(group, OBS)


def test_columns_of_parquet_are_read_together(tmp_path: Path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    labels = np.array(["a", "b", "c"])[WHO]
    table = pa.table({"x": X, "who": labels, "coded": pa.array(labels).dictionary_encode()})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=300)
    (tmp_path / "folder").mkdir()
    pq.write_table(table[:500], tmp_path / "folder" / "part-0.parquet")
    pq.write_table(table[500:], tmp_path / "folder" / "part-1.parquet")
    for source in (tmp_path / "rows.parquet", tmp_path / "folder"):
        x = dt.stream(source, OBS, column="x", chunks=400)
        who = dt.stream(source, OBS, column="who", categories=GROUP)
        coded = dt.stream(source, OBS, column="coded", categories=GROUP)
        found = [arrays for *_, arrays in chunks_of(x, who, coded)]
        assert [len(arrays[0]) for arrays in found] == [400, 400, 203]
        np.testing.assert_array_equal(np.concatenate([one[0] for one in found]), X)
        for at in (1, 2):
            np.testing.assert_array_equal(np.concatenate([one[at] for one in found]), WHO)
        with pytest.raises(dt.InputError, match="has no column 'y'"):
            dt.stream(source, OBS, column="y")


def test_a_factory_is_called_once_for_all_columns():
    calls = []

    def tables() -> Iterator[dict[str, np.ndarray]]:
        calls.append(1)
        yield from ({"x": X[at : at + 50], "who": WHO[at : at + 50]} for at in range(0, 200, 50))

    x = dt.stream(tables, OBS, column="x", dtype="float64")
    who = dt.stream(tables, OBS, column="who", dtype="int64")
    ((_, _, (first, second)),) = chunks_of(x, who)
    np.testing.assert_array_equal(first, X[:200])
    np.testing.assert_array_equal(second, WHO[:200])
    assert len(calls) == 1


def test_rows_of_several_axes():
    k = dt.Dim("k", length=2)
    x = dt.stream(np.stack([X, -X], axis=1), (OBS, k), chunks=500)
    assert x.sizes == {"k": 2, "obs": None}
    found = np.concatenate([arrays[0] for *_, arrays in chunks_of(x)])
    np.testing.assert_array_equal(found, np.stack([X, -X], axis=1))
    named = xr.DataArray(np.stack([X, -X]), dims=("k", "obs"))
    again = np.concatenate([arrays[0] for *_, arrays in chunks_of(dt.stream(named, (OBS, k)))])
    np.testing.assert_array_equal(again, found)
    with pytest.raises(dt.DimError, match=r"chunks of shape \(\d, 3\), and 2 dims"):
        chunks_of(dt.stream(np.zeros((9, 3)), (OBS, k)))


# -- what can be wrong -----------------------------------------------------------------------------


def test_an_unknown_label_names_chunk_and_row():
    labels = np.array(["a", "b", "c"])[WHO]
    labels[[417, 733]] = "z"
    who = dt.stream(labels, OBS, chunks=100, name="who", categories=GROUP)
    with pytest.raises(dt.LabelError, match=r"^chunk 4, row 417: the stream 'who': .* label 'z'"):
        chunks_of(who)
    person = dt.Dim("person", length=3)
    codes = np.where(np.arange(ROWS) == 250, 3, WHO)
    who = dt.stream(codes, OBS, chunks=100, name="who", categories=person)
    with pytest.raises(dt.PositionError, match=r"^chunk 2, row 250: .* outside of dim 'person'"):
        chunks_of(who)


def test_values_of_another_dtype_name_the_chunk():
    x = dt.stream(pieces(np.ones(300)), OBS, chunks=100, dtype="int64")
    with pytest.raises(dt.DtypeError, match=r"^chunk 0, row 0: the stream has values of float64"):
        chunks_of(x)


def test_streams_of_one_dim_have_the_same_rows():
    x = dt.stream(X, OBS, name="x")
    with pytest.raises(dt.StreamError, match=r"numbers of rows\n.*1,003 rows\n.*1,000 rows"):
        chunks_of(x, dt.stream(X[:1000], OBS, name="y"))
    late = dt.stream(pieces(X[:1000]), OBS, chunks=100, name="y")
    with pytest.raises(dt.StreamError, match="different numbers of rows"):
        chunks_of(x, late)
    with pytest.raises(dt.OptionError, match=r"chunks of the same number of rows\n.*chunks=7"):
        chunks_of(dt.stream(X, OBS, chunks=7), dt.stream(X, OBS, chunks=8))
    rows = [xr.DataArray(np.arange(3.0), coords={"obs": list(one)}) for one in ("abc", "abz")]
    with pytest.raises(dt.LabelError, match="different labels along their rows"):
        chunks_of(*(dt.stream(one, OBS, name=f"x{at}") for at, one in enumerate(rows)))


def test_a_source_that_changes_between_passes():
    lengths = iter([ROWS, ROWS, 900])
    x = dt.stream(lambda: pieces(X[: next(lengths)])(), OBS, chunks=100, name="x")
    chunks_of(x)
    with pytest.raises(dt.StreamError, match="'x' has 900 rows, and had 1,003 in an earlier pass"):
        chunks_of(x)
    once = pieces(X)()
    x = dt.stream(lambda: once, OBS, dtype="float64")
    chunks_of(x)
    with pytest.raises(dt.StreamError, match="a factory returns a new iterator at each call"):
        chunks_of(x)
    with pytest.raises(dt.ArgumentError, match="generator can be read once"):
        dt.stream(pieces(X)(), OBS)
    with pytest.raises(dt.StreamError, match="the stream has no rows"):
        chunks_of(dt.stream(X[:0], OBS))


@pytest.mark.parametrize("name", ["npy", "mapped"])
def test_a_truncated_file(name: str, tmp_path: Path):
    x = dt.stream(SOURCES[name](tmp_path), OBS, chunks=100, name="x")
    assert len(chunks_of(x)) == 11
    (path,) = tmp_path.iterdir()
    with path.open("r+b") as file:
        file.truncate(4300)
    with pytest.raises(dt.StreamError, match="chunk 5, from row 500 on, of the stream 'x' cannot"):
        chunks_of(x)


def test_a_zarr_store_that_is_damaged_or_grows(tmp_path: Path):
    array = zarr_array(tmp_path)
    x = dt.stream(array, OBS, chunks=128, name="x")
    chunks_of(x)
    files = [path for path in (tmp_path / "x.zarr").rglob("*") if path.is_file()]
    (chunk,) = [path for path in files if path.parts[-1] == "8"]
    whole = chunk.read_bytes()
    chunk.write_bytes(whole[:10])
    with pytest.raises(dt.StreamError, match="chunk 4, from row 512 on, of the stream 'x'"):
        chunks_of(x)
    chunk.write_bytes(whole)
    array.resize((ROWS + 5,))
    with pytest.raises(dt.StreamError, match="has 1,008 rows, and had 1,003"):
        chunks_of(x)


def test_a_truncated_parquet_file(tmp_path: Path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": X}), path)
    x = dt.stream(path, OBS, column="x")
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(dt.StreamError, match=r"the source cannot be read: .*Parquet"):
        dt.stream(path, OBS, column="x")
    with pytest.raises(dt.StreamError, match="the length of the stream 'x' cannot be read"):
        chunks_of(x)


@pytest.mark.parametrize("chunk", [0, 3])
def test_an_interrupted_read_ends_the_thread(chunk: int):
    def failing() -> Iterator[np.ndarray]:
        for at in range(5):
            if at == chunk:
                raise OSError("the disk is gone")
            yield X[100 * at : 100 * at + 100]

    x = dt.stream(failing, OBS, chunks=100, name="x", dtype="float64")
    before = threading.active_count()
    with pytest.raises(dt.StreamError, match=rf"chunk {chunk}, .*: the disk is gone") as caught:
        chunks_of(x)
    assert isinstance(caught.value.__cause__, OSError)
    assert threading.active_count() == before


def test_an_error_of_the_user_of_chunks_ends_the_thread():
    reader = RowReader(streams_of(dt.stream(pieces(X), OBS, chunks=100)))
    threads = []

    def use() -> None:
        with ReadAhead(iter(reader)) as chunks:
            threads.append(chunks.thread)
            for chunk in chunks:
                if chunk.number == 2:
                    raise ZeroDivisionError("here")

    with pytest.raises(ZeroDivisionError, match="here"):
        use()
    assert not threads[0].is_alive()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
def test_an_interrupt_does_not_wait_for_a_slow_source():
    go_on = threading.Event()

    def slow() -> Iterator[np.ndarray]:
        yield X[:100]
        go_on.wait(30)
        yield X[100:]

    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt("stop")

    x = dt.stream(slow, OBS, chunks=100, dtype="float64")
    before = signal.signal(signal.SIGALRM, interrupt)
    started = time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt, match="stop"):
            chunks_of(x)
        assert time.monotonic() - started < 10
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        go_on.set()


def test_one_chunk_is_read_ahead():
    made: list[int] = []

    def numbers() -> Iterator[int]:
        for at in range(6):
            made.append(at)
            yield at

    with ReadAhead(numbers()) as items:
        for item in items:
            time.sleep(0.02)
            assert made[-1] <= item + 1
    assert made == [*range(6)]


# -- arguments -------------------------------------------------------------------------------------


def test_arguments_of_streams(tmp_path: Path):
    with pytest.raises(dt.DimError, match="whose length is that of the source"):
        dt.stream(X, dt.Dim("obs", length=3))
    with pytest.raises(dt.DimError, match=r"its other dims have lengths\n.*'k'"):
        dt.stream(X[:, None], (OBS, dt.Dim("k")))
    with pytest.raises(dt.OptionError, match="chunks is a number of rows, not 0"):
        dt.stream(X, OBS, chunks=0)
    with pytest.raises(dt.InputError, match=r"there is no file '.*x.npy'"):
        dt.stream(tmp_path / "x.npy", OBS)
    (tmp_path / "x.txt").write_text("1")
    with pytest.raises(dt.ArgumentError, match=r"the kind of '.*x.txt' is unknown"):
        dt.stream(tmp_path / "x.txt", OBS)
    with pytest.raises(dt.DimError, match=r"has other dims than the stream\n.*'day'"):
        dt.stream(xr.DataArray(X, dims="day"), OBS)
    with pytest.raises(dt.ArgumentError, match=r"not DataFrame\nhint: values in memory are data"):
        dt.stream(pd.DataFrame({"x": X}), OBS, column="x")
    with pytest.raises(dt.ArgumentError, match="not int"):
        dt.stream(3, OBS)
    with pytest.raises(dt.DtypeError, match="no numbers: 'a'"):
        dt.stream(np.array(["a"]), OBS)
