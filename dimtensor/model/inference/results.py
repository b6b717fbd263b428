"""Results as DataTrees with the groups and names that ArviZ reads."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dimtensor.errors import InputError, listing
from dimtensor.model.missing import left
from dimtensor.model.records import as_dataset, spread_over, without_multiindex
from dimtensor.values.datasets import as_dataset as dataset_of

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.model.spec import ModelSpec
    from dimtensor.typing import Path

LEADING = ("chain", "draw")


def posterior_of(post: Any) -> xr.Dataset:
    """Return the posterior draws of a DataTree or Dataset.

    Raises
    ------
    InputError
        If there are none.
    """
    import xarray as xr

    found = dataset_of(post) if isinstance(post, xr.DataTree) else post
    if not isinstance(found, xr.Dataset) or "draw" not in found.dims:
        raise InputError(
            "draws are a DataTree with the group posterior, or a Dataset with the dims chain "
            f"and draw, not {type(post).__name__}",
            [("dims", listing([str(d) for d in getattr(found, "dims", ())]) or "none")],
        )
    return found if "chain" in found.dims else found.expand_dims("chain")


def load_posterior(path: Path, **options: Any) -> xr.DataTree:
    """Read draws that were written with ``post.to_netcdf(path)`` or ``post.to_zarr(path)``.

    Parameters
    ----------
    path : path-like
        A NetCDF file, or the folder of a Zarr store.
    **options
        Those of :func:`xarray.open_datatree`.

    Returns
    -------
    DataTree
        In memory, with the labels that were written: periods, intervals, dates with a time zone or
        before 1678, tuples and mixed labels, which files do not have, are texts there.

    Raises
    ------
    InputError
        If there is no such file, or it is damaged or holds something else.
    MemoryLimitError
        If the draws need more memory than the machine has.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> quarter = dt.Dim("quarter", coords=pd.period_range("2020Q1", periods=2, freq="Q"))
    >>> mu = dt.rv("mu", dist.Normal(0.0, 1.0), dims=quarter)
    >>> post = dt.Model(dt.rv("y", dist.Normal(mu, 1.0)), backend="python").draw(3, seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = post.to_zarr(folder, mode="w", consolidated=False)
    ...     again = dt.load_posterior(folder)
    >>> again["prior"].indexes["quarter"]
    PeriodIndex(['2020Q1', '2020Q2'], dtype='period[Q-DEC]', name='quarter')
    """
    from dimtensor.model.inference.storage import load

    return load(path, **options)


def known_groups(spec: ModelSpec) -> dict[str, xr.Dataset]:
    """Return the groups of observations, without missing ones, and of input values."""
    groups = {}
    observed = {name: left(x, x) for name, x in spec.observed.in_memory.items()}
    for name, arrays in (("observed_data", observed), ("constant_data", spec.defaults)):
        if arrays:
            found = {key: x.rename(key) for key, x in arrays.items()}
            groups[name] = without_multiindex(as_dataset(found, ()))
    return groups


def with_leading(dataset: xr.Dataset, post: Any) -> xr.Dataset:
    """Broadcast all variables of a Dataset to the dims of draws."""
    sizes = posterior_of(post).sizes
    return without_multiindex(spread_over(dataset, {dim: sizes[dim] for dim in LEADING}))


def as_groups(
    drawn: Mapping[str, tuple[Mapping[str, xr.DataArray], Mapping[Any, int]]],
    known: Mapping[str, xr.Dataset],
) -> dict[str, xr.Dataset]:
    """Make Datasets of groups of draws, beside groups without the dims of draws."""
    groups: dict[str, xr.Dataset] = {}
    for name, (arrays, sizes) in drawn.items():
        named = {key: x.rename(key) for key, x in arrays.items()}
        found = spread_over(as_dataset(named, LEADING), dict(sizes))
        found.attrs.update(_attributes())
        groups[name] = without_multiindex(found)
    return {**groups, **known}


def extended(post: Any, groups: Mapping[str, xr.Dataset]) -> xr.DataTree:
    """Add groups to a DataTree."""
    import xarray as xr

    from dimtensor.model.inference.storage import Results, as_results

    if not isinstance(post, xr.DataTree):
        return Results.from_dict(dict(groups))
    tree = as_results(post.copy())
    for name, dataset in groups.items():
        tree[name] = xr.DataTree(dataset)
    return tree


def add_known_groups(spec: ModelSpec, tree: xr.DataTree) -> xr.DataTree:
    """Keep the variables of the model in what a sampler gave, and add what the model knows.

    The tree itself is changed: to make another one takes as long as to draw from a small model.
    """
    import xarray as xr

    from dimtensor.model.density import raw_name

    raw = [raw_name(name) for name in sorted(spec.noncentered)]
    for name, group in tree.children.items():
        if name in ("posterior", "warmup_posterior"):
            dataset = group.to_dataset()
            shown = [x for x in (*spec.variables, *dataset.data_vars) if x in dataset]
            group.dataset = dataset[[x for x in dict.fromkeys(shown) if x not in raw]]
        group.attrs.update(_attributes())
    for name, dataset in known_groups(spec).items():
        tree[name] = xr.DataTree(dataset)
    return tree


def _attributes() -> dict[str, str]:
    version = sys.modules["dimtensor"].__version__  # the package's metadata take 10 ms to read
    return {"modeling_interface": "dimtensor", "modeling_interface_version": version}
