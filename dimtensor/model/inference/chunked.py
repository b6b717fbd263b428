"""Results larger than memory: computed for some draws at a time, and appended to a Zarr store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.backends.progress import Progress
from dimtensor.cost.memory import available
from dimtensor.cost.quantities import bytes_text
from dimtensor.errors import InputError, MemoryLimitError, OptionError
from dimtensor.extras import require
from dimtensor.model.inference.results import extended, posterior_of

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.typing import Path

# bytes of the results of one chunk of draws, or of rows
CHUNK = 2**26
# bytes of a result that is announced before it is computed, and of the arrays that make one likely
_ANNOUNCED, _NOTICED = 10**9, 10**8

# From the number of a chunk and its draws to groups of results.
Compute = Callable[[int, "xr.Dataset"], "dict[str, xr.Dataset]"]


def results_of(
    what: str,
    post: Any,
    compute: Compute,
    largest: int,
    store: Path | None,
    chunks: int | None,
) -> xr.DataTree:
    """Add groups of results to draws, in memory or in a Zarr store.

    Raises
    ------
    OptionError
        If `chunks` is given without a store.
    """
    if store is not None:
        return into_store(what, post, store, chunks, compute)
    if chunks is not None:
        raise OptionError(
            f"{what}: chunks are those of a store, and there is none",
            hint=f'{what}(..., store="{what}.zarr", chunks={chunks!r})',
        )
    return in_memory(what, post, compute, largest)


def in_memory(what: str, post: Any, compute: Compute, largest: int) -> xr.DataTree:
    """Compute the results of all draws; announce large ones, and refuse what memory cannot hold.

    Parameters
    ----------
    what : str
        The method.
    post : DataTree or Dataset
    compute : callable
    largest : int
        Number of elements of the largest array of the model. Where a result of this size would be
        large, the size of the real one is found by computing it for one draw.

    Returns
    -------
    DataTree
        `post` with the groups.

    Raises
    ------
    MemoryLimitError
        If the result does not fit.
    """
    draws = posterior_of(post)
    number = draws.sizes["chain"] * draws.sizes["draw"]
    if 8 * number * largest < _NOTICED:
        return extended(post, compute(0, draws))
    size = number * _bytes_of_one(draws, compute)
    memory = available()
    if size > memory:
        needed, there = bytes_text(size), bytes_text(memory)
        raise MemoryLimitError(
            f"{what}: the result needs {needed} of memory, {there} are there",
            [("draws", f"{number:,}, of {bytes_text(size // number)} each")],
            f'{what}(..., store="{what}.zarr") computes some draws at a time and writes them to '
            "a Zarr store",
        )
    line = f"{what}: a result of {bytes_text(size)}"
    with Progress(line, patience=0.0, wanted=size >= _ANNOUNCED):
        return extended(post, compute(0, draws))


def into_store(
    what: str, post: Any, store: Path, chunks: int | None, compute: Compute
) -> xr.DataTree:
    """Compute the results of some draws at a time, and append them to a Zarr store.

    Parameters
    ----------
    what : str
        The method.
    post : DataTree or Dataset
    store : path-like
    chunks : int or None
        Draws of each chain that are computed at a time.
    compute : callable

    Returns
    -------
    DataTree
        `post` with the groups of the store, which are read when they are used.

    Raises
    ------
    MissingExtraError
        If zarr is not installed.
    InputError
        If the store exists.
    """
    zarr = _zarr_for(what, store)
    draws = posterior_of(post)
    if chunks is None:
        each = draws.sizes["chain"] * _bytes_of_one(draws, compute)
        chunks = max(1, CHUNK // max(1, each))
    elif isinstance(chunks, bool) or not isinstance(chunks, (int, np.integer)) or chunks < 1:
        raise OptionError(
            f"{what}: chunks is a number of draws, not {chunks!r}", hint="chunks=1000"
        )
    written = StoredGroups(zarr, store, chunks, "draw")
    total = draws.sizes["draw"]
    with Progress(what, total=total) as progress:
        try:
            for number, start in enumerate(range(0, max(total, 1), chunks)):
                part = draws.isel(draw=slice(start, start + chunks))
                written.append(compute(number, part))
                progress(min(start + chunks, total))
        except BaseException as error:
            written.drop_unfinished(error)
            raise
    return extended(post, dict(written.groups()))


def new_store(what: str, store: Path, chunks: int, along: str) -> StoredGroups:
    """Make a Zarr store of results; parameters and errors are those of :func:`into_store`."""
    return StoredGroups(_zarr_for(what, store), store, chunks, along)


def _zarr_for(what: str, store: Path) -> Any:
    """Return Zarr's module, for a store that does not exist."""
    zarr = require("zarr", "files", f"{what} with store=")
    if isinstance(store, (str, bytes, os.PathLike)) and os.path.lexists(store):
        raise InputError(
            f"{what}: the store {os.fsdecode(store)!r} exists, and results are not added to it",
            hint="choose another path: a result has a store of its own",
        )
    return zarr


class StoredGroups:
    """Groups of a Zarr store that grow along a dim.

    Attributes
    ----------
    length : int
        Number of positions along the dim that are written.
    """

    def __init__(self, zarr: Any, store: Path, chunks: int, along: str):
        self._zarr, self._store, self._chunks, self._along = zarr, store, chunks, along
        self._grow: dict[str, bool] = {}  # by name, whether a group has the dim
        self.length = 0

    def append(self, results: Mapping[str, xr.Dataset]) -> None:
        from dimtensor.model.inference.storage import stored

        for name, found in results.items():
            dataset = stored(found)
            if name not in self._grow:
                self._grow[name] = self._along in dataset.dims
                encoding = {x: self._encoding(v) for x, v in dataset.variables.items() if v.ndim}
                self._write(name, dataset, mode="w-", encoding=encoding)
            elif self._grow[name]:
                others = [x for x, v in dataset.variables.items() if self._along not in v.dims]
                self._write(name, dataset.drop_vars(others), append_dim=self._along)
        lengths = (x.sizes[self._along] for x in results.values() if self._along in x.sizes)
        self.length += next(lengths, 0)

    def _write(self, group: str, dataset: xr.Dataset, **options: Any) -> None:
        dataset.to_zarr(self._store, group=group, consolidated=False, **options)

    def _encoding(self, variable: xr.Variable) -> dict[str, Any]:
        lengths = {**variable.sizes, self._along: self._chunks}
        return {"chunks": tuple(max(1, lengths[dim]) for dim in variable.dims)}

    def drop_unfinished(self, error: BaseException) -> None:
        """Truncate all arrays to their complete chunks, and note this on an error."""
        for name in [name for name, grows in self._grow.items() if grows]:
            group = self._zarr.open_group(self._store, path=name, mode="r+")
            for _, array in group.arrays():
                dims = array.metadata.dimension_names or ()
                if self._along in dims:
                    lengths = dict(zip(dims, array.shape, strict=True)) | {self._along: self.length}
                    array.resize(tuple(lengths.values()))
        if self.length:
            what = "draws" if self._along == "draw" else f"positions along {self._along!r}"
            error.add_note(
                f"The first {self.length:,} {what} are in the store: "
                f"`xr.open_datatree({os.fspath(self._store)!r}, engine='zarr', consolidated=False)`"
            )

    def groups(self) -> Iterator[tuple[str, xr.Dataset]]:
        from dimtensor.model.inference.storage import opened

        for name in self._grow:
            yield name, opened(self._store, name)


def _bytes_of_one(draws: xr.Dataset, compute: Compute) -> int:
    """Return the number of bytes of the results of one draw of one chain."""
    if not draws.sizes["draw"] or not draws.sizes["chain"]:
        return 0
    one = compute(0, draws.isel(chain=slice(1), draw=slice(1)))
    return sum(
        variable.nbytes
        for dataset in one.values()
        for variable in dataset.data_vars.values()
        if "draw" in variable.dims
    )
