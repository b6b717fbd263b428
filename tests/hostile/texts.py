"""Objects with names and labels that somebody else chose, and all texts about them."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

import dimtensor as dt
from dimtensor import dist


class Named(NamedTuple):
    """Objects whose names and labels end with a text."""

    objects: dict[str, Any]
    fit: dt.Model
    mistakes: dict[str, Callable[[], Any]]


def _of_plugins(x: dt.DimTensor) -> dict[str, Any]:
    """Make what plug-ins make of an expression, as far as they are there."""
    return {"simplified": dt.simplify(x)} if "simplify" in dir(dt) else {}


def named(end: str) -> Named:
    """Make objects, and calls with them that are mistakes."""

    def n(text: str) -> str:
        return text + end

    k, t = dt.Dim(n("k"), coords=[n("a"), n("b"), n("c")]), dt.Dim(n("t"), length=4)
    x, d = dt.tensor(n("x"), dims=[k, t]), dt.data(np.arange(3.0), dims=k, name=n("d"))
    of = dt.data([n("a"), n("b"), n("a"), n("c")], dims=t, categories=k, name=n("of"))
    z = dt.data(np.arange(4.0), dims=t, name=n("z"))
    m, s = dt.rv(n("m"), dist.Normal(0, 1), dims=k), dt.rv(n("s"), dist.HalfNormal(1.0))
    q, y = dt.named(n("q"), m * 2), dt.rv(n("y"), dist.Normal(m.sel({k: of}), s))
    model = dt.Model(y, q, backend="python")
    fit = model.observe({y: np.arange(4.0)})
    f = dt.function([x], x * d, backend="python")
    table = pd.DataFrame({n("r"): [1.0, 2.0], n("p"): [1.0, 3.0]})
    objects = {
        "dim": k, "dim with a length": t, "input": x, "data": d, "labels": of,
        "expression": dt.exp(x * d + 1), "selection": d.sel({k: [n("a"), n("c")]}),
        "SelDim": d.sel({k: [n("a")]}).dims, "RenamedDim": k.rename(n("z")),
        "ConcatDim": dt.concat([d, d], k).dims, "ProductDim": x.ravel([k, t]).dims,
        "PadDim": x.pad({t: 1}).dims, "GroupBy": z.groupby(of), "groups": z.groupby(of).mean(),
        "Rolling": x.rolling({t: 2}), "RollingExp": z.rolling_exp({t: 2}),
        "Coarsen": x.coarsen({t: 2}), "Cumulative": x.cumulative(t), "Weighted": x.weighted(d),
        "generator": dt.random.generator(1).split(t), "node": x.node, "function": f,
        "frame": dt.frame(table, dims=dt.Dim(n("o"))), "cost": dt.explain(x * d),
        **_of_plugins(x * d * 2 / 2), "model": model, "fit": fit, "rv": m,
        "log density": fit.log_density(), "support": dt.supports.simplex(k), "plots": fit.plot,
        "ordered": dist.ordered(dist.Normal(0, 1), dim=k),
        "distribution": fit.variables[n("y")].distribution,
        "mixture": dist.mixture(d / 3, dist.Normal(d, 1), dim=k), "observed": fit.observed,
    }  # fmt: skip
    mistakes = {
        "label": lambda: d.sel({k: n("q")}),
        "dim": lambda: d.sum(n("w")),
        "position": lambda: d.isel({k: 7}),
        "shape": lambda: f(np.zeros((2, 2))),
        "no input": f,
        "input": lambda: f(**{n("r"): 1}),
        "labels differ": lambda: d + dt.data([1.0], dims=dt.Dim(n("k"), coords=[n("v")])),
        "observe": lambda: model.observe({n("v"): 1}),
        "observations": lambda: model.observe({y: [1.0, 2.0]}),
        "missing": lambda: model.observe({y: [np.nan] * 4}),
        "slash": lambda: dt.Model(dt.rv(n("a/b"), dist.Normal(0, 1))),
        "label twice": lambda: dt.Dim(n("k"), coords=[n("a"), n("a")]),
        "attribute": lambda: getattr(d, n("values_")),
        "attribute of a model": lambda: getattr(model, n("summary")),
        "condition": lambda: bool(x.sum() > 0),
        "number": lambda: float(m.sum()),
        "logp": lambda: fit.logp({n("v"): 1}),
        "dims of rv": lambda: dt.rv(n("x"), dist.Normal(0, 1), dims=n("school")),
        "assignment": lambda: d.__setitem__(n("a"), 5),
        "brackets": lambda: d[n("a")],
        "array": lambda: d + np.ones(3),
        "check": lambda: dt.evaluate(dt.check(d, d > 5, n("d is above 5"))),
        "formula": lambda: dt.from_formula(f"`{n('r')}` ~ `{n('v')}`", table),
        "text of a formula": lambda: dt.from_formula(n("r ~ x"), table),
        "support": lambda: dt.Model(dt.rv(n("c"), dist.Poisson(2.0))).observe({n("c"): -1}),
        "predict": lambda: fit.predict({}, {n("v"): 1}),
        "intervention": lambda: fit.do({n("v"): 1}),
        "column": lambda: dt.frame(table, dims=dt.Dim(n("o")))[n("v")],
        "dates": lambda: dt.date_range(n("t"), start=n("x"), periods=3),
        "option": lambda: fit.sample(10, **{n("v"): 1}),
        "backend": lambda: dt.function([x], x, backend=n("c")),
        "two of a name": lambda: dt.Model(dt.rv(n("m"), dist.Normal(0, 1)), y),
        "category": lambda: dt.data([n("a"), n("v")], dims=t, categories=k),
        "graph": lambda: dt.function([], x),
        "draws": lambda: fit.predict(xr.Dataset()),
        "unused": lambda: dt.Model(y, dt.rv(n("w"), dist.Normal(0, 1))).observe({y: [0.0] * 4}),
    }
    return Named(objects, fit, mistakes)


def texts(end: str) -> Iterator[tuple[str, str]]:
    """Texts for people, by what they are about."""
    objects, fit, mistakes = named(end)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name, x in objects.items():
            yield f"repr of {name}", repr(x)
            yield f"str of {name}", str(x)
        yield "graph", str(dt.dprint(objects["expression"], "str"))
        yield "layout", str(dt.dprint(objects["expression"], "str", layout=True))
        yield "elimination", fit.marginalize(objects["rv"]).elimination_order
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            fit.sample(20, tune=20, chains=2, seed=1, progress_bar=False)
            dt.dprint(objects["expression"])
        yield "standard output", out.getvalue()
        yield "standard error", err.getvalue()
        for name, mistake in mistakes.items():
            try:
                mistake()
            except Exception as error:
                yield f"error: {name}", str(error)
    for warning in caught:
        yield f"{warning.category.__name__}", str(warning.message)
