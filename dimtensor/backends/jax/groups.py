"""Positions and extremes of groups, and the groups of positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytensor.graph.op import Op


def register(jax_funcify: Any) -> None:
    """Teach PyTensor's dispatcher the ops of :mod:`dimtensor.ops.positions`."""
    import jax
    import jax.numpy as jnp

    from dimtensor.ops.positions import GroupExtreme, GroupPosition, OwnerOf
    from dimtensor.optimize.plan.segments import is_segmented

    @jax_funcify.register(GroupPosition)
    def group_position(op: Op, **kwargs: Any) -> Callable[..., Any]:
        def find(x: Any, codes: Any, groups: Any) -> Any:
            n, n_groups = x.shape[0], groups.shape[0]
            positions = jnp.arange(n)
            inside = (codes >= 0) & (codes < n_groups)
            codes = jnp.where(inside, codes, n_groups)
            hit = inside
            if op.which != "first":
                if x.dtype == bool:
                    x = x.astype("int8")
                extreme = jax.ops.segment_max if op.which == "max" else jax.ops.segment_min
                best = extreme(x, codes, n_groups + 1)
                missing = jnp.isnan(x) if x.dtype.kind == "f" else jnp.zeros(n, bool)
                spoiled = jax.ops.segment_max(missing.astype("int8"), codes, n_groups + 1) > 0
                hit = inside & jnp.where(spoiled[codes], missing, x == best[codes])
            first = jax.ops.segment_min(jnp.where(hit, positions, n), codes, n_groups + 1)
            return jnp.where(first[:n_groups] >= n, -1, first[:n_groups])

        return find

    @jax_funcify.register(GroupExtreme)
    def group_extreme(op: Op, **kwargs: Any) -> Callable[..., Any]:
        reduce = jax.ops.segment_max if op.is_max else jax.ops.segment_min

        def find(x: Any, codes: Any, groups: Any) -> Any:
            best = reduce(x.astype("int8") if x.dtype == bool else x, codes, groups.shape[0])
            return best > 0 if x.dtype == bool else best

        return find

    @jax_funcify.register(OwnerOf)
    def owner_of(op: Op, node: Any, **kwargs: Any) -> Callable[..., Any]:
        def find(ends: Any, places: Any) -> Any:
            found = jnp.searchsorted(ends, places, side="right")
            return jnp.minimum(found, len(ends) - 1).astype("int64")

        def of_all(ends: Any, places: Any) -> Any:
            """Count the ends up to each of all places, in order: no search."""
            n = len(places)
            counts = jnp.zeros(n + 1, "int64").at[jnp.clip(ends[:-1], 0, n)].add(1)
            return jnp.cumsum(counts)[:n]

        return of_all if is_segmented(node) else find
