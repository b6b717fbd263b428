"""Results for each row of streams: computed chunk by chunk, in memory or appended to a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.backends.progress import Progress
from dimtensor.cost.memory import available
from dimtensor.cost.quantities import bytes_text
from dimtensor.errors import MemoryLimitError, OptionError
from dimtensor.model.inference.chunked import CHUNK, new_store
from dimtensor.model.inference.results import extended, posterior_of
from dimtensor.model.observations import Observation, Observations
from dimtensor.model.predictive.generation import held
from dimtensor.streams.reading import Chunk, ReadAhead, RowReader
from dimtensor.streams.stream import rows_of

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.model.spec import ModelSpec
    from dimtensor.typing import Path

# From a number, the model of some rows and the draws to groups of results.
ComputeRows = Callable[[int, "ModelSpec", "xr.Dataset"], "dict[str, xr.Dataset]"]


def results_of_rows(
    what: str,
    spec: ModelSpec,
    post: Any,
    compute: ComputeRows,
    store: Path | None,
    chunks: int | None,
) -> xr.DataTree:
    """Add groups of results for all rows of the streams of a model.

    The result is in memory, or in a Zarr store that grows along the rows.

    Raises
    ------
    OptionError
        If `chunks` is given: rows are computed in those of the streams.
    MemoryLimitError
        If the result does not fit into memory, and there is no store.
    """
    if chunks is not None:
        raise OptionError(
            f"{what}: the results of streams are computed in the chunks of their rows",
            hint="leave chunks out; the stream itself has them",
        )
    streams = spec.streamed
    nodes = {**spec.graph.inputs, **{name: v.node for name, v in spec.variables.items()}}
    rows = rows_of({nodes[name]: x for name, x in streams.items()})
    reader = RowReader([*streams.values()])
    draws = posterior_of(post)
    count = draws.sizes["chain"] * draws.sizes["draw"]
    # rows of a piece, whose results for all draws are to be small
    size = max(1, min(reader.size, CHUNK // (8 * max(1, count))))
    if store is None:
        _check_size(what, count, reader)
    written = _Rows(rows._short) if store is None else new_store(what, store, size, rows._short)
    number = 0
    with Progress(what, total=reader.length) as progress, ReadAhead(iter(reader)) as pieces:
        try:
            for chunk in pieces:
                for start, model in _models(spec, [*streams], chunk, size):
                    written.append(compute(number, model, draws))
                    number += 1
                    progress(min(start + size, chunk.start + len(chunk.arrays[0])))
                del chunk
        except BaseException as error:
            written.drop_unfinished(error)
            raise
    return extended(post, dict(written.groups()))


def _models(
    spec: ModelSpec, names: list[str], chunk: Chunk, size: int
) -> Iterator[tuple[int, ModelSpec]]:
    """Iterate over the models of some rows of a chunk, whose data are in memory."""
    for at in range(0, len(chunk.arrays[0]), size):
        values = {n: x[at : at + size] for n, x in zip(names, chunk.arrays, strict=True)}
        yield chunk.start + at, with_rows(spec, values)


def with_rows(spec: ModelSpec, values: Mapping[str, np.ndarray]) -> ModelSpec:
    """Return a model with some rows of its streams as data and observations in memory.

    Parameters
    ----------
    spec : ModelSpec
    values : dict of str to ndarray
        By name; labels are positions.
    """
    data, observed = dict(spec.data), dict(spec.observed.plain)
    for name, stream in spec.streamed.items():
        if name not in values:
            continue
        x = values[name]
        if stream.categories is not None and stream.categories.coords is not None:
            x = np.asarray(stream.categories.coords)[x]
        named = (tuple(dim._short for dim in stream.dims), x)
        if name in observed:
            observed[name] = Observation(held(spec.variables[name].node, named))
        else:
            found = held(spec.graph.inputs[name], named)
            data[name] = found.labeled(found.values)
    streams = {name: x for name, x in spec.streams.items() if name not in values}
    return replace(spec, data=data, streams=streams, observed=Observations(observed))


def _check_size(what: str, count: int, reader: RowReader) -> None:
    needed, there = 8 * count * (reader.length or 0), available()
    if needed > there:
        raise MemoryLimitError(
            f"{what}: the result needs {bytes_text(needed)} of memory, {bytes_text(there)} are "
            "there",
            [("draws", f"{count:,}"), ("rows", f"{reader.length:,}")],
            "with a path as its store it is written chunk by chunk",
        )


class _Rows:
    """Groups in memory that grow along the rows."""

    def __init__(self, rows: str):
        self._rows = rows
        self._parts: dict[str, list[xr.Dataset]] = {}

    def append(self, results: Mapping[str, xr.Dataset]) -> None:
        for name, found in results.items():
            self._parts.setdefault(name, []).append(found)

    def drop_unfinished(self, error: BaseException) -> None:
        self._parts.clear()

    def groups(self) -> Iterator[tuple[str, xr.Dataset]]:
        import xarray as xr

        for name, parts in self._parts.items():
            grow = [key for key, x in parts[0].data_vars.items() if self._rows in x.dims]
            whole = xr.concat([x[grow] for x in parts], self._rows) if grow else parts[0]
            yield name, parts[0].drop_dims(self._rows).merge(whole).assign_attrs(parts[0].attrs)
