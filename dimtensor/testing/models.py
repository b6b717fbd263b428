"""Contracts of models: the log density follows labels, and its gradient is its slope."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, RaggedDim, ancestors, family
from dimtensor.errors import ArgumentError, GraphError, OptionError, listing
from dimtensor.graph import Node
from dimtensor.graph.partition.analysis import nodes_with_masks
from dimtensor.graph.walk import with_regions
from dimtensor.model.density import BoundGraph
from dimtensor.model.marginal.terms import summed_terms
from dimtensor.tensor.evaluate import evaluate
from dimtensor.tensor.graphs.substitution import substitute
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import data as make_data
from dimtensor.testing.arguments import chosen_dims, dims_of, labels_of, reordered
from dimtensor.testing.comparing import unequal
from dimtensor.testing.contracts import RTOL, NamedResults, Orders, relabeled
from dimtensor.testing.densities import check_gradients, check_ranges
from dimtensor.testing.findings import ContractError, Finding, Report
from dimtensor.testing.positions import (
    is_indexed,
    line_selecting_by_position,
    use_of_positions,
)

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.model.model import Model
    from dimtensor.tensor.core import DimTensor

Arrays = dict[Node, "xr.DataArray"]

_BATCH = Dim("batch", length=2)


def check_model(
    model: Model | Callable[..., Model],
    *data: Any,
    dims: Iterable[Any] | None = None,
    ordered: Iterable[Any] = (),
    exchangeable: Iterable[Any] = (),
    independent: Iterable[Any] = (),
    scales: Mapping[Any, float] | None = None,
    seed: int = 0,
    rtol: float = RTOL,
) -> Report:
    """Check the contracts that a model should keep before its posterior is believed.

    - *labels*: the log density of every variable is the same for data and parameters in another
      order of the labels of any dim;
    - *batches*: log densities at a batch of points are those of a loop over the points;
    - *gradients*: the gradient of the log density is its slope, at points far out, too, and is
      finite where the density is;
    - *range*: observed values lie in the range of draws of the prior predictive distribution;
    - *exchangeable*, *independent* and *scales* where they are asked for.

    Parameters
    ----------
    model : Model or callable
        With observations, if it has any; or a function that makes it of `data`. A function is
        called again with data in other orders, which finds positions in the code that makes the
        data as well.
    *data : DataFrame, DataArray, Dataset or any
        Arguments of the function.
    dims : iterable of Dim or str, optional
        Dims whose labels change places. By default all that have labels other than numbers and
        dates, and dims without labels along which nothing is selected by position or in order.
    ordered : iterable of Dim or str
        Dims whose order means something.
    exchangeable : iterable of Dim or str
        Dims over which the model claims to be exchangeable: the density is the same if values
        (parameters, predictors and observations) change places while labels stay.
    independent : iterable of Dim or str
        Dims without labels, along which observations can be split and merged: the log density of a
        row does not depend on which other rows there are.
    scales : mapping of DimTensor or str to float, optional
        Factors of data, observations and parameters, such as 1000 for those in kilometers: in
        other units the log density differs by a constant.
    seed : int
        Of orders and points.
    rtol : float
        Relative difference of equal log densities.

    Returns
    -------
    Report
        What was checked, and why other contracts were not.

    Raises
    ------
    ContractError
        With every failure: the variable, the line, and a small example.
    OptionError
        If the model has no dim or variable of a name, data are given beside a model, or a factor is
        not above 0.
    ArgumentError
        If there is no model.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> def build(df):
    ...     obs, county = dt.Dim("obs"), dt.Dim("county", coords=["Aitkin", "Anoka", "Becker"])
    ...     where = dt.data(df["county"], dims=obs, categories=county)
    ...     level = dt.rv("level", dist.Normal(0.0, 1.0), dims=county)
    ...     y = dt.rv("y", dist.Normal(level.sel(county=where), 1.0))
    ...     return dt.Model(y, backend="python").observe({y: df["y"]})
    >>> import pandas as pd
    >>> df = pd.DataFrame({"county": ["Becker", "Aitkin", "Anoka", "Becker"], "y": [1.0, 0, 2, -1]})
    >>> report = dt.testing.check_model(build, df)
    >>> "labels along county" in report.checked, "range of y" in report.checked
    (True, True)

    A model that takes the first county for the reference, whichever it is:

    >>> county = dt.Dim("county", coords=["Aitkin", "Anoka", "Becker"])
    >>> level = dt.rv("level", dist.Normal(0.0, 1.0), dims=county)
    >>> mu = dt.rv("mu", dist.Normal(level.isel(county=0), 1.0))
    >>> try:
    ...     dt.testing.check_model(dt.Model(mu, backend="python"))
    ... except dt.testing.ContractError as error:
    ...     print([finding.contract for finding in error.findings])
    ['labels']
    """
    from dimtensor.model.model import Model

    if isinstance(model, Model):
        if data:
            raise OptionError("check_model: data are arguments of a function that makes the model")
        build, made = None, model
    elif callable(model):
        build, made = model, model(*data)
    else:
        raise ArgumentError(
            f"check_model: a model, or a function that makes one, is expected, not {model!r}"
        )
    rng, report = np.random.default_rng(seed), Report()
    graph = _LogDensities(made)
    point = graph.point(made, rng)
    findings: list[Finding] = []
    asked = None if dims is None else graph.named(dims)
    fixed = graph.named(ordered)
    for dim in graph.dims if asked is None else asked:
        what = f"labels along {dim._short}"
        reason = graph.reason_to_keep(dim, dim in (asked or ()), dim in fixed)
        if reason is None and build is not None and is_indexed(graph.nodes, dim):
            reason = "integers that the function makes are positions along it"
        if reason is not None:
            report.skipped[what] = reason
            continue
        with report._checking(what):  # a graph may know elements by position alone
            findings += graph.labels(dim, point, rng, rtol)
    if graph.parameters:
        with report._checking("batches"):
            findings += graph.batches([point, graph.point(made, rng)], rtol)
    for dim in graph.named(exchangeable):
        findings += graph.exchangeable(dim, point, rng, rtol)
        report.checked.append(f"exchangeable over {dim._short}")
    for dim in graph.named(independent):
        findings += graph.independent(dim, point, rng, rtol)
        report.checked.append(f"independent along {dim._short}")
    if scales:
        findings += graph.scaled(scales, [graph.point(made, rng) for _ in range(3)], rtol)
        report.checked.append("scales")
    if build is not None:
        findings += _rebuilt(build, data, graph, point, rng, rtol, report, set(map(str, ordered)))
    findings += check_gradients(made, rng, report)
    findings += check_ranges(made, seed, report)
    if findings:
        raise ContractError(findings)
    return report


class _LogDensities:
    """Log densities of a model's variables as a function of its data and parameters.

    Attributes
    ----------
    terms : dict of str to DimTensor
        By variable, in terms of data nodes and of inputs in place of the parameters.
    data : dict of Node to DataArray
        Data along dims, with labels in place of positions.
    parameters : dict of str to Node
    dims : list of Dim
        Named dims of data and parameters that are not derived from others.
    """

    def __init__(self, model: Model):
        placed = BoundGraph(model.centered().spec, noncentered=False)
        self.terms = summed_terms(placed).terms if placed.summed else placed.terms()
        self.nodes = with_regions(nodes_with_masks([x.node for x in self.terms.values()]))
        self.parameters = {name: x.node for name, x in placed.parameters.items()}
        along = [x for x in self.nodes if x.kind == "data" and x.dims]
        self.data: Arrays = {x: evaluate(wrap(x)) for x in along}
        self._named = {x.name: x for x in self.data if x.name is not None}
        self._named |= {key[1]: x for key, x in placed.sources.items() if key[0] == "observed"}
        self._lines = {name: x.node.line for name, x in model.variables.items()}
        leaves = (*self.data, *self.parameters.values())
        found = dict.fromkeys(dim for x in leaves for dim in x.dims)
        self.dims = [dim for dim in found if not dim.parents and dim.name is not None]

    def named(self, dims: Iterable[Any]) -> list[Dim]:
        """Find dims by name."""
        by_name = {dim.name: dim for dim in self.dims}
        found = []
        for each in dims:
            name = each.name if isinstance(each, Dim) else str(each)
            if name not in by_name:
                known = [("dims", listing([dim._short for dim in self.dims]) or "none")]
                raise OptionError(f"the model has no data or parameters along {name!r}", known)
            found.append(by_name[name])
        return found

    def point(self, model: Model, rng: np.random.Generator) -> Arrays:
        """Draw values of the parameters that are in their supports."""
        try:
            density = model.centered().log_density()
        except GraphError:  # discrete parameters
            drawn = model.draw(1, seed=int(rng.integers(2**31)))
            groups = [drawn[name] for name in ("prior", "prior_predictive") if name in drawn]
            one = {n: x for g in groups for n, x in g.to_dataset().data_vars.items()}
            first = {"chain": 0, "draw": 0}
            return {x: one[name].isel(first, drop=True) for name, x in self.parameters.items()}
        values = density.constrain(0.5 * rng.standard_normal(density.size))
        found = {}
        for name, x in self.parameters.items():
            # dims of one name have those of variables behind their own
            own = {f"{dim.name}_{name}": dim.name for dim in x.dims}
            found[x] = values[name].rename({k: v for k, v in own.items() if k in values[name].dims})
        return found

    # -- evaluation ------------------------------------------------------------------------------

    def at(self, arrays: Arrays, dims: Mapping[Dim, Dim] | None = None) -> NamedResults:
        """Compute the terms of other data and parameters, along other dims."""
        dims = dict(dims or {})
        replacements: dict[Any, Any] = {}
        for node, array in arrays.items():
            own = tuple(dims.get(dim, dim) for dim in node.dims)
            own += tuple(_BATCH for name in array.dims if name == _BATCH.name)
            categories = dims.get(node.categories, node.categories)  # type: ignore[arg-type]
            x = make_data(array, own, node.name, categories=categories)
            replacements[wrap(node)] = x.astype(node.dtype) if x.dtype != node.dtype else x
        moved = substitute(self.terms, {**replacements, **dims})
        return NamedResults(dict(evaluate(moved)), {name: x.node for name, x in moved.items()})

    # -- labels ----------------------------------------------------------------------------------

    def reason_to_keep(self, dim: Dim, is_asked: bool, is_ordered: bool) -> str | None:
        """Return the reason why the labels of a dim do not change places; None if they do."""
        if is_ordered:
            return "its order means something"
        leaves = (*self.data, *self.parameters.values())
        if any(dim in family(own) and own is not dim for x in leaves for own in x.dims):
            return "there are data or parameters along a part of it"
        if any(isinstance(own, RaggedDim) and dim in (own, *ancestors(own)) for own in self.dims):
            return "it is ragged, or has ragged dims within it"
        length = self._length(dim)
        if length is None or length < 2:
            return f"it has length {length}"
        if is_asked:
            return None
        if dim.coords is not None:
            numeric = np.asarray(dim.coords).dtype.kind in "iufmM"
            return "its labels are numbers or dates" if numeric else None
        return use_of_positions(self.nodes, dim)

    def _length(self, dim: Dim) -> int | None:
        if dim.length is not None:
            return dim.length
        along = (x for node, x in self.data.items() if dim in node.dims)
        return next((x.sizes[str(dim.name)] for x in along), None)

    def labels(
        self, dim: Dim, point: Arrays, rng: np.random.Generator, rtol: float
    ) -> list[Finding]:
        """Compare log densities of data and parameters in other orders of a dim."""
        arrays = {**self.data, **point}
        labels = None if dim.coords is None else np.asarray(dim.coords).tolist()
        length = self._length(dim)
        assert length is not None

        def call(order: np.ndarray) -> NamedResults:
            moved = {
                x: a.isel({dim.name: order}) if dim in x.dims else a for x, a in arrays.items()
            }
            if labels is None:
                return self.at(moved)
            return self.at(moved, {dim: Dim(dim.name, coords=[labels[i] for i in order.tolist()])})

        name, orders = str(dim.name), Orders.of(length, rng)
        found = relabeled(call, self.at(arrays), name, orders, labels, rtol)
        if found or labels is None:
            return found
        lines = {n: line_selecting_by_position(x.node, dim) for n, x in self.terms.items()}
        reason = f"selects from {dim.name} by position"
        return [Finding("labels", n, reason, line) for n, line in lines.items() if line][:1]

    def batches(self, points: Sequence[Arrays], rtol: float) -> list[Finding]:
        """Compare log densities at a batch of points with those of a loop."""
        import xarray as xr

        batch = str(_BATCH.name)
        together = {x: xr.concat([point[x] for point in points], batch) for x in points[0]}
        whole = self.at({**self.data, **together}).arrays
        alone = [self.at({**self.data, **point}).arrays for point in points]
        findings = []
        for name, found in whole.items():
            expected = xr.concat([one[name] for one in alone], batch)
            if batch not in found.dims:
                found = xr.concat([found] * len(points), batch)
            change = unequal(found.transpose(*expected.dims), expected, rtol)
            if change is not None:
                reason = f"at a batch of points is not that of a loop: it changes {change}"
                findings.append(Finding("batches", name, reason, self._lines.get(name)))
        return findings

    # -- contracts to be asked for ---------------------------------------------------------------

    def exchangeable(
        self, dim: Dim, point: Arrays, rng: np.random.Generator, rtol: float
    ) -> list[Finding]:
        """Compare log densities of values that change places while labels stay."""
        import xarray as xr

        arrays, name = {**self.data, **point}, str(dim.name)
        whole, length = self.at(arrays).arrays, self._length(dim)
        labels = None if dim.coords is None else np.asarray(dim.coords).tolist()
        findings = []
        for order in Orders.of(length or 0, rng).whole:
            places = np.argsort(order)  # where the values of each position are now
            moved = {}
            for node, x in arrays.items():
                if dim in node.dims:
                    x = x.copy(data=x.isel({name: order}).values)
                if node.categories is dim:
                    at = x.values if labels is None else [labels.index(v) for v in x.values.ravel()]
                    new = places[np.asarray(at, dtype=int)].reshape(x.shape)
                    x = x.copy(data=new if labels is None else np.asarray(labels)[new])
                moved[node] = x
            for variable, found in self.at(moved).arrays.items():
                expected = whole[variable]
                if name in expected.dims:
                    expected = expected.isel({name: order}).drop_vars(name, errors="ignore")
                    found = found.drop_vars(name, errors="ignore")
                change = unequal(*xr.align(found.transpose(*expected.dims), expected), rtol)
                if change is not None:
                    reason = f"is not exchangeable over {name}: its log density changes {change}"
                    line = self._lines.get(variable)
                    findings.append(Finding("exchangeable", variable, reason, line))
            if findings:
                break
        return findings

    def independent(
        self, dim: Dim, point: Arrays, rng: np.random.Generator, rtol: float
    ) -> list[Finding]:
        """Compare log densities of a part of the rows with those of the same rows in the whole."""
        arrays, name = {**self.data, **point}, str(dim.name)
        length = self._length(dim)
        if dim.length is not None or not length:
            what = "has a fixed length" if length else "has no rows"
            raise OptionError(f"rows along {name!r} cannot be left out: it {what}")
        rows = np.sort(rng.permutation(length)[: max(1, length // 2)])
        part = {x: a.isel({name: rows}) if dim in x.dims else a for x, a in arrays.items()}
        whole, findings = self.at(arrays).arrays, []
        for variable, found in self.at(part).arrays.items():
            expected = whole[variable]
            if name not in expected.dims:
                continue
            expected = expected.isel({name: rows})
            change = unequal(found.transpose(*expected.dims), expected, rtol)
            if change is not None:
                reason = f"depends on which other rows there are along {name}: {change}"
                line = self._lines.get(variable)
                findings.append(Finding("independent", variable, reason, line))
        return findings

    def scaled(
        self, scales: Mapping[Any, float], points: Sequence[Arrays], rtol: float
    ) -> list[Finding]:
        """Compare differences of log densities in two systems of units at several points."""
        known = {**self._named, **self.parameters}
        factors = {}
        for key, factor in scales.items():
            name = str(getattr(getattr(key, "node", None), "name", None) or key)
            if name not in known:
                raise OptionError(
                    f"the model has no data or parameters named {name!r}",
                    [("names", listing(list(known)))],
                )
            if not factor > 0:
                raise OptionError(f"check_model: the factor of {name!r} is above 0, not {factor}")
            factors[known[name]] = factor
        changes: list[dict[str, float]] = []
        sizes = dict.fromkeys(self.terms, 0.0)
        for point in points:
            arrays = {**self.data, **point}
            scaled = {x: a * factors[x] if x in factors else a for x, a in arrays.items()}
            one, other = self.at(arrays).arrays, self.at(scaled).arrays
            changes.append({n: float(other[n].sum() - one[n].sum()) for n in one})
            sizes = {n: max(sizes[n], abs(float(one[n].sum()))) for n in one}
        findings = []
        for name in self.terms:
            values = [change[name] for change in changes]
            spread = max(values) - min(values)
            if not spread <= 100 * rtol * max(1.0, sizes[name]):
                reason = f"changes by {values[0]:.6g} at one point and {values[1]:.6g} at another"
                where = self._lines.get(name)
                findings.append(Finding("scales", name, f"{reason} in other units", where))
        return findings


# -- models made by functions ----------------------------------------------------------------------


def _rebuilt(
    build: Callable[..., Model],
    data: Sequence[Any],
    graph: _LogDensities,
    point: Arrays,
    rng: np.random.Generator,
    rtol: float,
    report: Report,
    ordered: set[str],
) -> list[Finding]:
    """Compare the log densities of models made of data in other orders."""
    values = {x.name: array for x, array in point.items()}

    def terms(*arguments: Any) -> dict[str, DimTensor]:
        *data, values = arguments
        made = _LogDensities(build(*data))
        known = {
            wrap(x): make_data(values[name], x.dims, name) for name, x in made.parameters.items()
        }
        return substitute(made.terms, known)

    arguments = [*data, values]
    lengths = dict(dims_of(data))
    inner = Report()
    whole = NamedResults.of(terms, arguments)
    findings = []
    for dim in chosen_dims(lengths, data, None, ordered & set(lengths), inner):
        rows = [d for d in graph.dims if d.coords is None and graph._length(d) == lengths[dim]]
        also = [str(d.name) for d in rows if dim not in {str(d.name) for d in graph.dims}]

        def call(order: np.ndarray, dim: str = dim, also: Sequence[str] = also) -> NamedResults:
            moved = [reordered(x, dim, order) for x in arguments]
            for other in also:  # rows of a table have a name of the model's own
                moved[-1] = reordered(moved[-1], other, order)
            return NamedResults.of(terms, moved)

        orders = Orders.of(lengths[dim], rng)
        with report._checking(f"labels of the data along {dim}"):
            findings += relabeled(call, whole, dim, orders, labels_of(data, dim), rtol)
    report.skipped |= {f"{what} of the data": why for what, why in inner.skipped.items()}
    return findings
