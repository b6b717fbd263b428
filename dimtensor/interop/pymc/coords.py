"""Dims of a PyMC model."""

from __future__ import annotations

from typing import Any

from pytensor.graph.basic import Constant

from dimtensor.dims import Dim
from dimtensor.errors import ArgumentError


def dims_of(model: Any) -> dict[str, Dim]:
    """Return the dims of a PyMC model, with its coords as labels.

    Parameters
    ----------
    model : pymc.Model

    Returns
    -------
    dict of str to Dim
        Dims by name, with the current labels of the model. A dim without coords has its length if
        that is fixed, and none if it may change.

    Raises
    ------
    ArgumentError
        If `model` is not a PyMC model.

    Examples
    --------
    >>> import dimtensor as dt
    >>> import pymc as pm  # doctest: +SKIP
    >>> dt.dims_of(pm.Model(coords={"country": ["Italy", "Kenya"]}))  # doctest: +SKIP
    {'country': Dim('country', coords=['Italy', 'Kenya'])}
    """
    coords, lengths = getattr(model, "coords", None), getattr(model, "dim_lengths", None)
    if coords is None or lengths is None:
        raise ArgumentError(f"dims_of: a pymc.Model is expected, not {type(model).__name__}")
    found = {}
    for name, length in lengths.items():
        labels = coords.get(name)
        if labels is not None:
            found[name] = Dim(name, coords=list(labels))
        else:
            found[name] = Dim(
                name, length=int(length.data) if isinstance(length, Constant) else None
            )
    return found
