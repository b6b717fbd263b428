"""Entries where values are let in, each given every strange value; run in a process of its own."""

from __future__ import annotations

import json
import os
import traceback
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

import dimtensor as dt
from dimtensor import dist
from dimtensor.errors import DimtensorError, plain_repr
from tests.hostile.strange import VECTORS, Strange

K = dt.Dim("k")
OBS = dt.Dim("obs")
NUMBERS = [1.0, 2.0, 3.0, 4.0]
LABELED = dt.Dim("k", coords=NUMBERS)
LATE = dt.Dim("late")
x = dt.tensor("x", dims=K)
whole = dt.tensor("n", dims=K, dtype="int64")
three = dt.tensor("three", dims=dt.Dim("k", length=3))
d = dt.data([4.0, 5.0, 6.0], dims=K, name="d")
z = dt.data(NUMBERS, dims=LABELED)
four = dt.data([0.0, 1.0, 2.0, 3.0], dims=dt.Dim("k", length=4))
late = dt.tensor("where", dims=OBS, categories=LATE)
by_late = dt.tensor("of", dims=LATE)
mu = dt.rv("mu", dist.Normal(0.0, 10.0))
MODEL = dt.Model(dt.rv("y", dist.Normal(mu, 1.0), dims=K), backend="python")
WITH_DATA = dt.Model(dt.rv("y", dist.Normal(mu + d, 1.0)), backend="python")
DENSITY = dt.LogDensity((-0.5 * three**2).sum(), {three: dt.real}, backend="python")


class Entry(NamedTuple):
    """Where a value goes, and what comes of it.

    Attributes
    ----------
    call : callable
        From the value to an array like what is meant by it; None where nothing is compared.
    gaps : bool
        Whether elements that are missing are NaN; else they are an error.
    refuses : bool
        Whether values may be refused that are fine elsewhere: arrays without dims, floats.
    labels : bool
        Whether strings are labels.
    """

    call: Callable[[Any], Any]
    gaps: bool = True
    refuses: bool = False
    labels: bool = False


def compiled(backend: str) -> Callable[[Any], Any]:
    function = dt.function([x], x * 2, backend=backend)

    def call(value: Any) -> Any:
        first, again = function(value).values, function(x=value).values
        np.testing.assert_array_equal(first, again)
        return first / 2

    return call


def positional(backend: str) -> Callable[[Any], Any]:
    function = dt.function([x], x * 2, backend=backend).positional
    return lambda value: np.asarray(function(value)[0]) / 2


def kept(x: dt.DimTensor, left: Any) -> np.ndarray:
    """What was taken out of 1 to 4, given what is left of it."""
    return np.array([v for v in NUMBERS if v not in left.values.tolist()])


def labels(dim: dt.Dim) -> Any:
    assert all(dim.position(label) == at for at, label in enumerate(dim))
    numbers = dim.coords.dtype.kind in "iuf"
    return dim.coords.astype(float) if numbers else None


VALUES = {
    "dt.data": Entry(lambda v: dt.data(v, dims=K).values, labels=True),
    "dt.data, a dtype": Entry(lambda v: dt.data(v, dims=K, dtype="float64").values),
    "dt.data, a pair": Entry(lambda v: dt.data((("k",), v), dims=K).values, labels=True),
    "dt.data, no dims": Entry(lambda v: dt.data(v).values, refuses=True),
    "a call, a pair": Entry(lambda v: dt.function([x], x * 1, "python")((("k",), v)).values),
    "an input of integers": Entry(
        lambda v: dt.function([whole], whole * 1, "python")(v).values, refuses=True
    ),
    "eval": Entry(lambda v: (x * 1).eval({x: v}).values),
    "with_data": Entry(lambda v: dt.function([], d * 1, "python").with_data(d=v)().values),
    "data of a model": Entry(lambda v: WITH_DATA.with_data(d=v).data["d"].values),
    "data=": Entry(
        lambda v: dt.Model(*WITH_DATA.outputs, data={"d": v}, backend="python").data["d"].values
    ),
    "observe": Entry(lambda v: MODEL.observe(y=v).observed["y"].values, gaps=False),
    "observe, drop": Entry(lambda v: MODEL.observe(y=v, missing="drop").observed["y"].values),
    "observe, infer": Entry(lambda v: MODEL.observe(y=v, missing="infer").observed["y"].values),
    "do": Entry(lambda v: _set_to(v)),
    "logp": Entry(lambda v: _nothing(DENSITY.logp(v)), refuses=True),
    "logp_and_grad": Entry(lambda v: -DENSITY.logp_and_grad(v)[1], refuses=True),
    "constrain": Entry(lambda v: _nothing(DENSITY.constrain(v)), refuses=True),
    "unconstrain": Entry(lambda v: DENSITY.unconstrain({"three": v}), refuses=True),
    "start of a state": Entry(
        lambda v: dt.function([], x * 2, "python", updates={x: x + 1}).start(x=v).state["x"].values
    ),
    "predict": Entry(
        lambda v: _nothing(
            WITH_DATA.observe(y=[1.0, 2.0, 3.0]).predict(_POST, {"d": v}, seed=1)
        )
    ),
}  # fmt: skip
SELECTIONS = {
    "sel": Entry(lambda v: z.sel(k=v).values, gaps=False),
    "sel of late labels": Entry(lambda v: _sel_late(v), gaps=False),
    "loc": Entry(lambda v: z.loc[{"k": v}].values, gaps=False),
    "isel": Entry(lambda v: four.isel(k=v).values, gaps=False, refuses=True),
    "isel, no length": Entry(
        lambda v: dt.data([0.0, 1.0, 2.0, 3.0], dims=K).isel(k=v).values, gaps=False, refuses=True
    ),
    "brackets": Entry(lambda v: four[v].values, gaps=False, refuses=True),
    "drop_sel": Entry(lambda v: kept(z, z.drop_sel(k=v)), gaps=False),
    "drop_isel": Entry(
        lambda v: kept(z, four.drop_isel(k=v) + 1.0) - 1.0, gaps=False, refuses=True
    ),
    "brackets of a dim": Entry(lambda v: labels(LABELED[v]), gaps=False, refuses=True),
    "isin": Entry(lambda v: _nothing(z.isin(v).values), refuses=True),
    "reindex": Entry(lambda v: _nothing(z.reindex(k=v).values), refuses=True),
    "interp": Entry(lambda v: _nothing(z.interp(k=v).values), refuses=True),
    "quantile": Entry(lambda v: _nothing(z.quantile(v).values), gaps=False, refuses=True),
    "groupby_bins": Entry(
        lambda v: _nothing(z.groupby_bins(z, v).sum().values), gaps=False, refuses=True
    ),
    "categories": Entry(
        lambda v: np.array(NUMBERS)[dt.data(v, OBS, categories=LABELED).codes.values], gaps=False
    ),
    "categories without labels": Entry(
        lambda v: dt.data(v, OBS, categories=LATE).codes.values, gaps=False, refuses=True
    ),
    "categories of a call": Entry(lambda v: _categories_late(v), gaps=False, refuses=True),
    "coords": Entry(lambda v: _nothing(labels(dt.Dim("k", coords=v))), refuses=True),
    "coords of a call": Entry(
        lambda v: _nothing(dt.function([K], dt.arange(K), "python")(v)), refuses=True
    ),
    "dims of draw": Entry(
        lambda v: _nothing(MODEL.draw(1, dims={K: v}, seed=1)), refuses=True
    ),
}  # fmt: skip
OPERANDS = {
    "tensor + value": Entry(lambda v: (d + v).values - d.values, refuses=True),
    "tensor == value": Entry(lambda v: _nothing((d == v).values), refuses=True),
    "np.add": Entry(lambda v: np.add(d, v).values - d.values, refuses=True),
    "where": Entry(lambda v: dt.where(d > 0, v, 0.0).values, refuses=True),
    "parameters": Entry(lambda v: _nothing(dist.Normal(v, 1.0).logp(0.0)), refuses=True),
    "substitute": Entry(lambda v: dt.substitute(x * 1, {x: v}).values, refuses=True),
    "from_shaped": Entry(lambda v: _nothing(dt.from_shaped(v, dims=K)), refuses=True),
    "set": Entry(lambda v: d.isel(k=slice(None)).set(v).values, refuses=True),
    "fillna": Entry(lambda v: _nothing(d.fillna(v).values), refuses=True),
    "full": Entry(lambda v: dt.full(dt.Dim("k", length=3), v).values, refuses=True),
    "weighted": Entry(lambda v: _nothing(d.weighted(v).mean().values), refuses=True),
    "clip": Entry(lambda v: _nothing(d.clip(v).values), refuses=True),
    "draws": Entry(
        lambda v: _nothing(dt.random.generator(1).normal(v, 1.0)[0].values), refuses=True
    ),
    "grad": Entry(lambda v: _nothing(dt.grad((x * v).sum(), x)), refuses=True),
}  # fmt: skip


def _nothing(_: Any) -> None:
    """A result that is not compared."""


def _set_to(value: Any) -> Any:
    mean = dt.rv("mean", dist.Normal(0.0, 1.0), dims=K)
    model = dt.Model(dt.rv("y", dist.Normal(mean, 1.0)), backend="python")
    found = model.do(mean=value).draw(1, seed=1)["prior"]["mean"]
    return found.values[0, 0]


def _sel_late(value: Any) -> Any:
    function = dt.function([x], x.sel(k=value), "python")
    return function(xr.DataArray(NUMBERS, dims="k", coords={"k": NUMBERS})).values


def _categories_late(value: Any) -> Any:
    function = dt.function([late, by_late], by_late.sel(late=late), "python")
    return function(value, xr.DataArray(NUMBERS, dims="late", coords={"late": NUMBERS})).values


_POST = MODEL.observe(y=[1.0, 2.0, 3.0]).laplace(2, seed=1)


def judge(entry: Entry, strange: Strange) -> tuple[bool, str]:
    """Whether an entry holds against a value, and what happened."""
    value, meant = strange.make(), strange.labels if entry.labels else None
    meant = strange.meant if meant is None else meant
    missing = bool(np.any(np.asarray(meant) != np.asarray(meant)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = entry.call(value)
    except DimtensorError as error:
        text = f"{type(error).__name__}: {error}"
        may = strange.refusable or entry.refuses or (missing and not entry.gaps)
        return bool(meant is None or may), f"refused: {text}"
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        at = next((f for f in reversed(frames) if "dimtensor" in f.filename), frames[-1])
        place = f"{os.path.basename(at.filename)}:{at.lineno}"
        return False, f"{type(error).__name__} at {place}: {str(error)[:200]}"
    if found is None:
        return entry.gaps or not missing, "accepted"
    if meant is None or (missing and not entry.gaps):
        return False, f"accepted: {plain_repr(found)[:200]}"
    wanted = np.asarray(meant) if np.ndim(meant) else np.full(np.shape(found), meant)
    same = np.array_equal(np.asarray(found), wanted, equal_nan=wanted.dtype.kind in "fc")
    return same, f"not {meant}, but {plain_repr(found)[:200]}"


def report(entries: dict[str, Entry], values: Iterable[str] = VECTORS) -> None:
    """Print a line of JSON for each value given to each entry."""
    for where, entry in entries.items():
        for what in values:
            held, why = judge(entry, VECTORS[what])
            print(json.dumps([f"{what} in {where}", held, why[:300]]))


NAMED = dt.Dim("k", coords=["a", 7])
LABEL_ENTRIES: dict[str, Callable[[Any], Any]] = {
    "coords": lambda v: labels(dt.Dim("k", coords=[v])),
    "coords beside others": lambda v: labels(dt.Dim("k", coords=[v, "other"])),
    "a tuple": lambda v: labels(dt.Dim("k", coords=[(v, 1)])),
    "sel": lambda v: dt.data([1.0, 2.0], dims=NAMED).sel(k=v),
    "sel of a list": lambda v: dt.data([1.0, 2.0], dims=NAMED).sel(k=[v]),
    "a slice": lambda v: dt.data([1.0, 2.0], dims=LABELED[[1.0, 2.0]]).sel(k=slice(v, None)),
    "late": lambda v: x.sel(k=v),
    "late, a list": lambda v: x.sel(k=[v]),
    "late, a slice": lambda v: x.sel(k=slice(v, None)),
    "in a dim": lambda v: v in NAMED,
    "position": lambda v: NAMED.position(v),
    "==": lambda v: (dt.labels(NAMED) == v).values,
    "isin": lambda v: dt.labels(NAMED).isin([v]).values,
    "categories": lambda v: dt.data([v], OBS, categories=NAMED),
    "coords of a DataArray": lambda v: dt.data(_with_label(v)).values,
}


def _with_label(label: Any) -> xr.DataArray:
    column = np.empty(1, dtype=object)
    column[0] = label
    return xr.DataArray([1.0], dims="k", coords={"k": column})


def report_labels(values: dict[str, Callable[[], Any]]) -> None:
    """Print a line of JSON for each label at each entry, and for what comes after it."""
    for what, make in values.items():
        label = make()
        for where, entry in LABEL_ENTRIES.items():
            held, why = True, ""
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    entry(label)
            except DimtensorError as error:
                why = str(error)
            except Exception as error:
                frames = traceback.extract_tb(error.__traceback__)
                # xarray and pandas have labels before dimtensor does
                held = not any(f"{os.sep}dimtensor{os.sep}" in frame.filename for frame in frames)
                why = repr(error)[:200]
            print(json.dumps([f"{what}: {where}", held, why[:300]]))
        for later in (7, "x", (1, 2)):
            one, other = dt.Dim("k", coords=[later]), dt.Dim("k", coords=[later])
            held = one is other and one.position(later) == 0
            print(json.dumps([f"{what}: dims made later, of {later!r}", held, ""]))
