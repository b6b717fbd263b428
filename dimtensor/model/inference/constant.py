"""Elements of a log likelihood that depend on no parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dimtensor.errors import ModelWarning, listing, warn

if TYPE_CHECKING:
    import xarray as xr


def warn_of_constant(log_likelihood: xr.Dataset) -> None:
    """Warn of elements with the same density in all draws, for which ArviZ's `loo` fails.

    Where all elements are so, the draws may be the same.
    """
    for name, x in log_likelihood.data_vars.items():
        if not x.size:
            continue
        alike = (x == x.isel(chain=0, draw=0)) & np.isfinite(x)
        constant = alike.all(["chain", "draw"])
        if constant.any() and not constant.all():
            where, hint = _along(constant)
            warn(
                f"arviz.loo and arviz.plot_loo_pit fail: the log density of {where} of "
                f"{str(name)!r} is the same in all draws, because it depends on no parameter",
                ModelWarning,
                hint=hint,
            )


def _along(constant: xr.DataArray) -> tuple[str, str | None]:
    """Describe the elements, and how to leave them out where they lie along one dim."""
    for dim in constant.dims:
        whole = constant.all([other for other in constant.dims if other != dim])
        at = np.flatnonzero(whole.values)
        n = len(at)
        if n * constant.size != int(constant.sum()) * whole.size:
            continue
        if at[-1] == n - 1:
            kept = f"slice({n}, None)"
        elif at[0] == whole.size - n:
            kept = f"slice({-n})"
        else:
            kept = str(np.flatnonzero(~whole.values).tolist())
        labels = constant.indexes[dim][at] if dim in constant.indexes else at
        hint = f"leave them out: arviz.loo(post.isel({dim}={kept}))"
        return f"the elements at {dim}={listing(labels)}", hint
    return f"{int(constant.sum())} of {constant.size} elements", None
