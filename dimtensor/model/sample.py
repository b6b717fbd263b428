"""Draws from the posterior of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.errors import InputError
from dimtensor.model.logdensity import LogDensity
from dimtensor.model.records import check_leading

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.tensor.core import DimTensor


def sample(
    model: LogDensity,
    draws: int = 1000,
    *,
    tune: int | None = None,
    chains: int = 4,
    cores: int | None = None,
    seed: int | None = None,
    progress_bar: bool = True,
    extra: Mapping[str, DimTensor] | None = None,
    initial: Any = None,
    save_warmup: bool = False,
    unconstrained: bool = False,
    **options: Any,
) -> xr.DataTree:
    """Draw from the posterior of a model with nutpie's No-U-Turn sampler.

    Parameters
    ----------
    model : LogDensity
    draws : int
        Draws of each chain after tuning.
    tune : int, optional
        Draws of each chain for tuning; nutpie decides where it is left out.
    chains : int
    cores : int, optional
        Chains that run at the same time; as many as there are cores where it is left out.
    seed : int, optional
    progress_bar : bool
    extra : dict of str to DimTensor, optional
        More expressions to record, beside the model's deterministics.
    initial : dict or ndarray, optional
        Where the chains start, each at most 1 away from there in every unconstrained element:
        values of all parameters, or a flat vector. By default zeros of the flat vector.
    save_warmup : bool
        Whether the draws of tuning are kept in groups of their own.
    unconstrained : bool
        Whether the flat vectors are kept, as ``vector`` in the group ``unconstrained_posterior``.
    **options
        Passed to ``nutpie.sample``: ``target_accept``, ``maxdepth``, ``adaptation``, ...

    Returns
    -------
    DataTree
        Groups ``posterior`` and ``sample_stats`` with the dims ``chain`` and ``draw``, then the
        model's with their labels; ArviZ takes it as it is.

    Raises
    ------
    MissingExtraError
        If nutpie is not installed.
    DimError
        If a dim of the model is named chain or draw.
    InputError
        If a number is below 1, or the initial values lie outside of their supports.
    CheckError
        If the log density is not finite where the chains start, or a check of it fails there; if a
        check of something that is recorded fails.

    References
    ----------
    Hoffman and Gelman 2014, "The No-U-Turn Sampler", Journal of Machine Learning Research 15.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.scalar("x")
    >>> model = dt.LogDensity(-0.5 * x**2, {x: dt.real}, backend="python")
    >>> tree = dt.sample(model, draws=5, tune=20, chains=2, seed=1, progress_bar=False)
    >>> dict(tree["posterior"]["x"].sizes)
    {'chain': 2, 'draw': 5}
    """
    # over budget: the code is twenty lines, the parameters are many
    from dimtensor.interop import nutpie

    _check(model, {"draws": draws, "tune": tune, "chains": chains, "cores": cores})
    model = model.with_deterministics(extra) if extra else model
    recorded = [p.tensor for p in model.parameters] + list(model.deterministics.values())
    check_leading([dim.short for x in recorded for dim in x.dims], "sample")
    options |= {"draws": draws, "tune": tune, "chains": chains, "cores": cores, "seed": seed}
    return nutpie.sample(
        model,
        _start(model, initial),
        save_warmup=save_warmup,
        unconstrained=unconstrained,
        progress_bar=progress_bar,
        **options,
    )


def _check(model: Any, numbers: Mapping[str, int | None]) -> None:
    if not isinstance(model, LogDensity):
        raise InputError(f"sample takes a LogDensity, not {type(model).__name__}")
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise InputError(f"sample: {name}={number} is below 1")


def _start(model: LogDensity, initial: Any) -> np.ndarray:
    if initial is None:
        return model.initial_point
    start = model.unconstrain(initial) if isinstance(initial, Mapping) else initial
    start = np.asarray(start, dtype="float64")
    if start.shape != (model.size,):
        raise InputError(
            f"the chains start at one vector of shape ({model.size},), not {start.shape}"
        )
    return start
