"""Errors for NumPy idioms (axes by number, shapes, transposes), with their replacements."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import wraps
from types import FunctionType
from typing import Any

from dimtensor.dims import Dims, dim_set
from dimtensor.errors import ArgumentError, DimError, NoAttributeError
from dimtensor.graph.optable import TABLE
from dimtensor.spellings.renamed import FUNCTIONS

_AXES = ("axis", "axes")
_DIMS = ("dim", "dims")
# replacements of several names
_SHARED = {
    "x.ravel(dims) merges dims": "flatten to_stacked_array",
    (
        "dims have no order; x.to_shaped(dims) gives a positional tensor in one, and results of "
        "functions are DataArrays, which transpose"
    ): "T mT swapaxes moveaxis permute",
    (
        "x.expand(dim) repeats the elements along a dim; operands broadcast by name without that"
    ): "broadcast_to repeat unsqueeze",
    "dt.dot(x, y, dim=dim), or x @ y": "dot matmul",
    "x.eval({input: value}).values, or .values of data": "numpy to_numpy",
    "labels belong to dims: dim.coords": "indexes get_index to_index",
    "x.unravel(dim) splits a product into its dims": "reset_index unstack",
    "(x == y).all() of values, x is y of expressions": "equals identical",
    "x.eval({input: value}), or .values of data": "compute load persist",
    "x.eval({input: value}) computes it, and x.values are those of data": "value data",
    "dt.Model(x).draw(100, seed=1) draws, where x is a random variable": "sample random",
    "functions of tensors are in dt, dt.exp(x); dt.apply(function, x) lifts others": "apply map",
}
_EXPORTED = ("to_dataset", "to_dict", "to_netcdf", "to_zarr")
_INSTEAD = {
    **{name: text for text, names in _SHARED.items() for name in names.split()},
    **{name: f"x.eval({{input: value}}) is a DataArray, which has {name}" for name in _EXPORTED},
    "shape": "x.sizes tells lengths by name",
    "size": "x.sizes tells lengths by name, x.count() the number of elements",
    "reshape": "x.ravel(dims) merges dims, x.unravel(dim) splits them again, and x.relabel(old, "
    "new) puts a dim in the place of another",
    "take": "x.isel({dim: positions}) selects by position, x.sel({dim: labels}) by label",
    "diagonal": "dt.diagonal(x), of a matrix of a dim and its renamed twin",
    "trace": "dt.trace(x), of a matrix of a dim and its renamed twin",
    "copy": "tensors do not change, so that no copy is needed",
    "tolist": "x.eval({input: value}).values.tolist(), or .values of data",
    # xarray's
    "drop_duplicates": "labels of a dim are there once: leave out rows before dt.data or dt.frame, "
    "or average them, x.groupby(labels).mean()",
    "assign_coords": "labels belong to dims: x.relabel(old, dt.Dim(name, coords=labels))",
    "coords": "labels belong to dims: x.dims[0].coords, or dim.coords",
    "set_index": "x.relabel(old, dt.Dim(name, coords=labels)), and a dim of several labels is the "
    "product that x.ravel(dims) makes",
    "stack": "x.ravel(dims) merges dims; dt.stack([x, y], dim) puts tensors beside each other",
    "reindex_like": "x.reindex(dim) puts x on the labels of a dim of the same name",
    "interp_like": "x.interp({dim: other.coords}) of the labels of the other dim",
    "searchsorted": "dt.searchsorted(x, values)",
    "reduce": "dt.reduce(step, init, x, dim=dim), or dt.apply of a positional function",
    "map_blocks": "dt.map(function, x, dim=dim)",
    "curvefit": "x.polyfit(dim, degree), or a dt.Model, whose parameters are fitted",
    "dt": "parts of dates are of their dim, day.dt.month, and of tensors whose values are dates",
    "str": "labels are not changed in a tensor; change those of the dim, dim.coords",
    "chunk": "tensors are not in chunks; dt.function compiles loops that need no temporaries",
    "attrs": "x.name is all that a tensor remembers; results are DataArrays, which have attrs",
    "to_pandas": "x.eval({input: value}) is a DataArray, which has to_pandas; x.to_dataframe()",
    "pipe": "function(x)",
    # PyMC's
    "logp": "d.logp(x) of a distribution, and fit.logp({name: value}) of a model",
    # pandas'
    "sort_values": "x.sortby(dim) sorts by the labels of a dim",
    "ewm": "x.rolling_exp({dim: span}).mean()",
    "iloc": "x.isel({dim: positions})",
    "agg": "x.mean(dim), x.sum(dim) and the like, one by one",
    "describe": "x.mean(dim), x.std(dim), x.quantile([0.25, 0.5, 0.75], dim)",
    "query": "x.where(condition), or x[mask] of a tensor of bools",
    "drop": "x.drop_sel({dim: labels})",
    "drop_vars": "labels belong to dims: x.relabel(old, dt.Dim(name)) leaves them behind",
    "nbytes": "dt.explain(x) tells the memory of a computation",
}


# options of functions of xarray and NumPy that tensors do not have, with the replacement
_OPTIONS = {
    "keep_attrs": "tensors have no attrs; results of functions are DataArrays, which have",
    "interpolation": "its new name is method",
    "out": "tensors do not change; a result is a tensor of its own",
    "dtype": "x.astype(dtype) says in which dtype to compute",
    "where": "x.where(condition, value) leaves elements out before",
    "initial": "combine the result with it: dt.maximum(x.max(dim), initial), or a sum",
}


def no_attribute(x: Any, name: str) -> AttributeError:
    """Return the error of a missing attribute, which names the replacement where there is one."""
    hint, function = _INSTEAD.get(name), FUNCTIONS.get(name, name)
    row = TABLE.get(function.rpartition(".")[2])
    if hint is None and row is not None and row.kind == "elemwise" and row.namespace:
        hint = f"{row.namespace}.{row.name}(x)"
    if hint is None and any(dim.name == name for dim in x.dims):
        hint = f"the dim is x.dims[{name!r}], its labels x.dims[{name!r}].coords"
    if hint is None:
        return AttributeError(
            f"{type(x).__name__!r} object has no attribute {name!r}", name=name, obj=x
        )
    details = [("dims", dim_set(x.dims))]
    return NoAttributeError(f"a tensor has no .{name}", details, hint, name=name, obj=x)


def named_dims[F: Callable[..., Any]](function: F) -> F:
    """Wrap a function of a tensor and dims: its error for ``axis=`` says how dims are named."""
    name = function.__name__
    code = inspect.unwrap(function).__code__
    known = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])

    @wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        for option in options:
            if option not in known:
                _refuse(name, option, args[0] if args else None, known)
        return function(*args, **options)

    return checked  # type: ignore[return-value]


def with_named_dims[C: type](cls: C) -> C:
    """Apply `named_dims` to all public methods of a class."""
    for name, method in list(vars(cls).items()):
        if not name.startswith("_") and isinstance(method, FunctionType):
            if not inspect.unwrap(method).__code__.co_flags & inspect.CO_VARKEYWORDS:
                setattr(cls, name, named_dims(method))
    return cls


def _refuse(function: str, option: str, x: Any, known: Collection[str]) -> None:
    """Raise for an option of NumPy; Python raises for other unknown options."""
    dims: Dims = getattr(getattr(x, "_x", x), "dims", ())  # of a grouped or weighted tensor
    details = [("dims", dim_set(dims))] if dims else []
    first = repr(dims[0]._short) if dims else "dim"
    chooses = [each for each in _DIMS if each in known]
    if option in _OPTIONS:
        headline = f"{function} takes no {option!r}"
        raise ArgumentError(headline, details, _OPTIONS[option])
    if option == "keepdims":
        headline = (
            f"{function} does not support keepdims=True: tensors broadcast by the names of dims"
        )
        hint = f"leave keepdims out; x - x.mean({first}) is right as it is"
    elif option in _AXES:
        headline = f"{function} takes no {option!r}: dims have names and no order"
        hint = f"name dims: {function}({first}), or several in a list"
    elif option in _DIMS and chooses:
        headline = f"{function} takes no {option!r}: that argument has another name"
        hint = f"its name is {chooses[0]}: {chooses[0]}={first}"
    else:
        return
    if option != "keepdims" and not chooses:
        hint = f"{function} is over the dim that is grouped, or over all"
    raise DimError(headline, details, hint)
