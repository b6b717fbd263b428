"""Models over wider dims, which have more labels than the draws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, ancestors
from dimtensor.dims.ragged import RaggedDim
from dimtensor.errors import (
    LISTED,
    DimError,
    LabelError,
    RaggedDimError,
    did_you_mean,
    hinted,
    listing,
)
from dimtensor.graph import Node, toposort
from dimtensor.graph.infer import describe
from dimtensor.graph.rebuilding.exchange import Exchange
from dimtensor.graph.rebuilding.substitute import rebuild
from dimtensor.model.observations import Observations
from dimtensor.model.predictive.generation import as_input
from dimtensor.model.spec import with_data, with_outputs
from dimtensor.model.variables import name_of
from dimtensor.tensor.handle import wrap
from dimtensor.values.datasets import label_text

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from dimtensor.model.spec import ModelSpec
    from dimtensor.model.variables import Variable


def dims_by_name(spec: ModelSpec, dims: Mapping[Any, Any]) -> dict[Any, Any]:
    """Replace names of dims by the dims of a model.

    Raises
    ------
    DimError
        If the model has no dim of a name.
    """
    known = {dim._short: dim for dim in _dims_of(spec)} if dims else {}
    for key in dims:
        if isinstance(key, str) and key not in known:
            raise DimError(
                f"the model has no dim {key!r}{did_you_mean(key, sorted(known))}",
                [("dims of the model", ", ".join(sorted(known)))],
            )
    return {known[x] if isinstance(x, str) else x: value for x, value in dims.items()}


def _dims_of(spec: ModelSpec) -> set[Dim]:
    used = {dim for node in toposort([x.node for x in spec.outputs]) for dim in node.dims}
    return used | {above for dim in used for above in ancestors(dim)}


def with_new_data(spec: ModelSpec, data: Mapping[Any, Any], wider: Mapping[Dim, Dim]) -> ModelSpec:
    """Replace values of data and inputs.

    Raises
    ------
    DimError, LabelError
        If they have other rows or labels than a dim that has its own: dims= exchanges it.
    """
    for key, value in data.items():
        node = spec.graph.inputs[name_of(key, spec.graph.inputs, "data")]
        try:
            spec = with_data(spec, {key: value})
        except (DimError, LabelError) as error:
            hint = _exchange(node, value, str(error)) if not wider else None
            if hint is None:
                raise
            raise type(error)(hinted(error, hint)) from None
    return spec


def _exchange(node: Node, value: Any, text: str) -> str | None:
    """Return the dims= that lets a value in, where a dim with labels refuses it."""
    import pandas as pd

    own = [dim for dim in node.dims if dim.length is not None and dim._title in text]
    kinds = node.categories
    if own:
        name = own[0]._short
        index = getattr(value, "indexes", {}).get(name, getattr(value, "index", None))
        if isinstance(value, pd.DataFrame):
            columns = value.columns.name == name or own[0].to_index().isin(value.columns).any()
            index = value.columns if columns else index
        if own[0].coords is None and np.ndim(value) == 1:
            length = np.shape(value)[0]
            return (
                f"other rows take another dim: dims={{{name}: dt.Dim({name!r}, length={length})}}"
            )
        if not isinstance(index, pd.Index):
            labels = f"range({np.shape(value)[0]})" if np.ndim(value) == 1 else "..."
        elif index.has_duplicates:
            return None
        else:
            labels = f"[{listing(index)}]" if len(index) <= LISTED else "new.index"
        return f"other rows take another dim: dims={{{name}: dt.Dim({name!r}, coords={labels})}}"
    if kinds is None or kinds.coords is None or kinds._title not in text:
        return None
    known, name = set(kinds.coords.tolist()), kinds._short
    new = [x for x in dict.fromkeys(np.ravel(value).tolist()) if x not in known]
    labels = f"[*{name}.coords, {listing(new)}]" if 0 < len(new) <= LISTED else "..."
    return f"new labels take a wider dim: dims={{{name}: dt.Dim({name!r}, coords={labels})}}"


def widened(spec: ModelSpec, wider: Mapping[Dim, Dim]) -> tuple[ModelSpec, dict[Dim, Dim]]:
    """Exchange dims of a model for others of the same names, without the data along them.

    Calendar parts and other derived dims follow the new labels, so that further dims may be
    exchanged: with more months there may be more years. All exchanged dims are returned.

    Raises
    ------
    DimError
        If the model has no such dim, or the other one has another name or no labels.
    """
    used = _dims_of(spec)
    for old, new in wider.items():
        unlike = new.coords is None and (old.coords is not None or new.length is None)
        if old not in used or new._short != old._short or unlike:
            raise DimError(
                f"predict: {new!r} cannot take the place of {old!r}",
                [("dims of the model", ", ".join(sorted(dim._short for dim in used)))],
                f"dims={{{old._short}: dt.Dim({old._short!r}, coords=[...])}}, of the same "
                "name and with labels",
            )

    for dim in used - set(wider):
        moved_parents = [above for above in ancestors(dim) if above in wider]
        if moved_parents:
            raise RaggedDimError(
                f"predict: {dim._title} is within {moved_parents[0]._title}, which is another dim, "
                "so its positions have no parents",
                [("dim", repr(dim))],
                f"replace it, too: {dim._short}: dt.ragged({dim._short!r}, within=..., by=...)",
            )

    def as_inputs(node: Node, inputs: tuple[Node, ...]) -> Node | None:
        real = node.kind == "data" and node.name is not None and node.attrs.recipe is None
        return as_input(node) if real else None

    nodes = rebuild([x.node for x in spec.outputs], {}, as_inputs, nested=False)
    exchange = Exchange(wider)
    for node in toposort(nodes):
        moved = [d for d in node.dims if exchange.dim(d) is not d] if node.kind == "data" else []
        if moved and node.attrs.recipe is None:
            (old,) = [dim for dim in wider if dim._short == moved[0]._short] or [moved[0]]
            raise DimError(
                f"predict: {describe(node)} has values along {old._title}, and none along the "
                "wider dim",
                [("dims", repr(wider.get(old, exchange.dim(old))))],
                "name it, dt.data(..., name='x'), and give the others: predict(post, "
                f"{{'x': values}}, dims={{{old._short}: ...}})",
            )
    outputs = [wrap(node) for node in exchange.nodes(nodes, {})]
    found = with_outputs(spec, outputs)
    wider, inputs = exchange.dims, found.graph.inputs
    along = {new._short for new in wider.values()}
    data = {n: x for n, x in spec.defaults.items() if n in inputs and not along & set(x.dims)}
    observed = {n: x for n, x in spec.observed.plain.items() if not along & set(x.array.dims)}
    numbered, known = spec.row_numbered, Observations(observed)
    return replace(found, data=data, numbered=numbered, observed=known), wider


def known_positions(
    name: str, variable: Variable, values: xr.DataArray, wider: Mapping[Dim, Dim]
) -> dict[Dim, tuple[int, ...]]:
    """Find the positions of known elements of a variable along its wider dims.

    Elements without labels are the first ones. Of a distribution that is independent for each
    parent of a ragged dim, elements of parents that the wider dim lacks are left out.

    Raises
    ------
    LabelError
        If an event dim lacks labels of known elements, or these have none.
    """
    import pandas as pd

    found, d = {}, variable.distribution
    for old, new in wider.items():
        if new not in variable.node.dims:
            continue
        unlabeled = new._short not in values.indexes
        own = pd.RangeIndex(values.sizes[new._short]) if unlabeled else values.indexes[new._short]
        at = _positions(new, own)
        if unlabeled and (at < 0).any():
            raise LabelError(
                f"predict: {name!r} has no labels along {new._short} that tell which elements of "
                "the wider dim are known"
            )
        lacking = own[at < 0]
        if isinstance(old, RaggedDim) and old.layout is not None and isinstance(new, RaggedDim):
            parents = old.layout.owners[_positions(old, lacking)]
            lacking = lacking[old.within.to_index()[parents].isin(new.within.to_index())]
        if new in d.event_dims and len(lacking):
            raise LabelError(
                f"predict: elements of {name!r} belong together along {new._short}, and the "
                "wider dim lacks labels of some that are known",
                [("lacks", listing([label_text(label) for label in lacking]))],
                "give the known positions of each parent, and more of them behind these"
                if isinstance(new, RaggedDim)
                else f"dims={{{new._short}: dt.Dim({new._short!r}, coords=[*known, *more])}}",
            )
        found[new] = tuple(map(int, at[at >= 0]))
    return found


def _positions(dim: Dim, labels: pd.Index) -> np.ndarray:
    """Return the positions of labels along a dim, -1 where it lacks them; results have texts."""
    import pandas as pd

    index = dim.to_index()
    if index.nlevels > 1 and all(isinstance(label, str) for label in labels):
        index = pd.Index([label_text(label) for label in index])
    return np.asarray(index.get_indexer(labels))


def padded(node: Node, value: xr.DataArray, wider: Iterable[Dim]) -> xr.DataArray:
    """Pad values along wider dims; the padding is replaced by draws."""
    import pandas as pd
    import xarray as xr

    filling = 0 if node.categories is None else node.categories.to_index()[0]
    dtype = value.dtype if value.dtype.kind in "biufcmM" else object
    for dim in wider:
        name = dim._short
        own = value.indexes.get(name, pd.RangeIndex(value.sizes[name]))
        at = _positions(dim, own)
        sizes = {**value.sizes, name: len(dim)}
        whole = xr.Variable(tuple(sizes), np.full(tuple(sizes.values()), filling, dtype))
        whole[{name: at[at >= 0]}] = value.variable.isel({name: at >= 0})
        others = {key: x for key, x in value.coords.items() if name not in x.dims}
        value = xr.DataArray(whole, others)
    return value
