"""Types of arguments, for annotations: ``from dimtensor.typing import DimLike, TensorLike``.

They are names for type checkers and readers of signatures; nothing is imported for them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from datetime import datetime, timedelta, tzinfo
    from os import PathLike
    from types import EllipsisType

    import pandas as pd
    import xarray as xr
    from narwhals.typing import IntoDataFrame
    from pytensor.graph.basic import Variable

    from dimtensor.dims import Dim
    from dimtensor.tensor.core import DimTensor

# A dim, or the name of one of a tensor's dims.
type DimLike = Dim | str
# Dims along which an operation works, or that it removes: one, several, `...` or None for all.
type DimKey = DimLike | Iterable[DimLike] | EllipsisType | None
# Dims of a result: one, several, or None for a scalar.
type DimsLike = Dim | Iterable[Dim] | None

# A label of a dim.
type Label = Hashable
# What `sel` and `isel` take along a dim: a label or position, several, a slice, a mask or a tensor.
type Indexer = (
    Label | slice | Sequence[Any] | Set[Any] | np.ndarray | DimTensor | xr.DataArray | pd.Series
    | pd.Index
)  # fmt: skip

type Number = complex | np.number | np.bool_
# An operand: a tensor, number or label, a labeled array, or a scalar PyTensor variable.
type TensorLike = (
    DimTensor | complex | np.generic | np.ndarray | str | datetime | timedelta | tuple[Any, ...]
    | xr.DataArray | pd.Series | Variable
)  # fmt: skip
# Values without an expression: numbers, nested sequences, arrays, columns, with labels or without.
type ArrayLike = Number | str | Sequence[Any] | np.ndarray | xr.DataArray | pd.Series | pd.Index
# Values of tensors and of dims for one call, by the tensors or their names.
type Data = Mapping[Any, Any]
# Expressions: one, or several in a list, tuple or dict.
type Expressions = DimTensor | Sequence[Any] | Mapping[Any, Any]
# A tensor, or a variable of a model by its name.
type Variables = DimTensor | str

type DtypeLike = str | type | np.dtype
# A date: an ISO text, a datetime of Python, NumPy, pandas or cftime.
type DateLike = str | datetime | np.datetime64 | pd.Timestamp
type Duration = float | str | timedelta | np.timedelta64
# The distance of dates, as pandas names it: "D", "MS", "3h".
type Frequency = str | timedelta | pd.offsets.BaseOffset
type TimeZone = str | tzinfo
type Path = str | PathLike[str]
# A table with named columns: of pandas, polars or another library that narwhals reads, or a dict.
type Table = IntoDataFrame | Mapping[str, Any]
# Draws of a posterior, as samplers give and ArviZ takes them.
type Posterior = xr.DataTree | xr.Dataset | Mapping[str, Any]
# The label of a block of positions: of the mean, minimum or maximum, or by a function.
type CoordFunction = str | Callable[..., Any] | Mapping[DimLike, str | Callable[..., Any]]
