"""Calendar parts of labels that are dates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim
from dimtensor.dims.calendar import CalendarParts
from dimtensor.errors import printable

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


class DateParts(CalendarParts):
    """Calendar parts of a tensor of dates, :attr:`DimTensor.dt`, looked up in those of its dim.

    Examples
    --------
    >>> import dimtensor as dt
    >>> obs, day = dt.Dim("obs"), dt.date_range("day", start="2021-01-30", periods=4)
    >>> when = dt.data(["2021-02-01", "2021-01-30", "2021-02-02"], dims=obs, categories=day)
    >>> when.dt.month.values.tolist(), when.dt.days_in_month.values.tolist()
    ([2, 1, 2], [28, 31, 28])
    """

    __slots__ = ("_labels",)

    def __init__(self, labels: DimTensor, categories: Dim):
        super().__init__(categories)
        self._labels = labels

    def _tensor_of_labels(self, codes: np.ndarray, groups: Dim, *part: Any) -> DimTensor:
        return self._looked_up(super()._tensor_of_labels(codes, groups, *part))

    def _tensor_of_values(self, values: np.ndarray, name: str) -> DimTensor:
        return self._looked_up(super()._tensor_of_values(values, name))

    def _looked_up(self, part: DimTensor) -> DimTensor:
        return part.sel({self._dim: self._labels})

    @printable
    def __repr__(self) -> str:
        return f"<DateParts of {self._labels.name or 'labels'} of {self._dim!r}>"
