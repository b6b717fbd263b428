"""Tensors inside of a PyMC model context: deterministics and potentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.compile.function import node_of
from dimtensor.dims import Dim
from dimtensor.errors import DimError
from dimtensor.extras import require
from dimtensor.tensor.handle import wrap
from dimtensor.values.labeled import axis_names

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def deterministic(name: str, x: DimTensor) -> Any:
    """Record a tensor as a deterministic of the current PyMC model, with its labels.

    Parameters
    ----------
    name : str
    x : DimTensor
        Expression of `from_shaped` variables of the model.

    Returns
    -------
    TensorVariable
        The result of ``pm.Deterministic``, with the dims of `x` in canonical order.

    Raises
    ------
    DimError
        If the model has a dim of that name with other labels.

    Examples
    --------
    >>> import dimtensor as dt
    >>> import pymc as pm  # doctest: +SKIP
    >>> from dimtensor.interop.pymc.inside import deterministic
    >>> with pm.Model(coords={"k": ["a", "b"]}) as model:  # doctest: +SKIP
    ...     k = dt.dims_of(model)["k"]
    ...     x = dt.from_shaped(pm.Normal("x", dims="k"), dims=[k])
    ...     double = deterministic("double", 2.0 * x)
    """
    return _registered(require("pymc", "pymc", "deterministic").Deterministic, name, x)


def potential(name: str, x: DimTensor) -> Any:
    """Add a tensor to the log density of the current PyMC model.

    Parameters
    ----------
    name : str
    x : DimTensor
        Expression of `from_shaped` variables of the model; its elements are added up.

    Returns
    -------
    TensorVariable
        The result of ``pm.Potential``.

    Raises
    ------
    DimError
        If the model has a dim of that name with other labels.

    Examples
    --------
    >>> import dimtensor as dt
    >>> import pymc as pm  # doctest: +SKIP
    >>> from dimtensor.interop.pymc.inside import potential
    >>> with pm.Model() as model:  # doctest: +SKIP
    ...     x = dt.from_shaped(pm.Normal("x"))
    ...     term = potential("term", -(x**2))
    """
    return _registered(require("pymc", "pymc", "potential").Potential, name, x)


def _registered(register: Callable[..., Any], name: str, x: DimTensor) -> Any:
    import pymc as pm

    x = wrap(node_of(x))
    model, called = pm.modelcontext(None), axis_names(x.dims)
    for dim in x.dims:
        _require_labels(model, dim, called[dim])
    dims = tuple(called[dim] for dim in x.dims)
    return register(name, x.to_shaped(list(x.dims)), dims=dims or None)


def _require_labels(model: Any, dim: Dim, name: str) -> None:
    """Check that a model has the labels of a dim, or add them."""
    if name not in model.dim_lengths:
        model.add_coord(name, None if dim.coords is None else dim.coords, length=dim.length)
        return
    known = model.coords.get(name)
    if dim.coords is None or known is None or np.array_equal(np.asarray(known), dim.coords):
        return
    raise DimError(
        f"the PyMC model has the dim {name!r} with other labels",
        [("in the model", repr(Dim(name, coords=list(known)))), ("here", repr(dim))],
        "give it a name of its own: x.rename_dim(old, 'new')",
    )
