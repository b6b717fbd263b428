"""Derivatives and integrals along the labels of a dim; as in xarray."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dimtensor.dims import Dim, find_dims, find_plain_dim, refuse_ragged
from dimtensor.errors import LabelError, OptionError
from dimtensor.graph.printing.words import say
from dimtensor.tensor.along.interpolation.coordinates import coordinate
from dimtensor.tensor.elementwise import where
from dimtensor.tensor.handle import TensorHandle, elemwise, require_float, wrap
from dimtensor.tensor.inputs import data
from dimtensor.tensor.reductions.basic import DimKey
from dimtensor.tensor.selection.reindex import moved_to

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


class CalculusMixin(TensorHandle):
    """Numerical differentiation and integration along labels."""

    __slots__ = ()

    def differentiate(
        self, dim: Dim | str, edge_order: int = 1, datetime_unit: str | None = None
    ) -> DimTensor:
        """Differentiate along the labels of a dim, by differences of neighbors.

        Parameters
        ----------
        dim : Dim or str
            With numbers or dates as labels.
        edge_order : {1, 2}
            Order of accuracy at the ends: the slope of the line through two points, or of the
            parabola through three.
        datetime_unit : str, optional
            Unit of time: ``"D"``, ``"h"``, ``"s"``, …; seconds by default, whereas xarray takes the
            unit in which dates are stored.

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If the dim is not there.
        LabelError
            If its labels are not known, neither numbers nor dates, or too few.
        OptionError
            If the order or the unit is unknown.

        Notes
        -----
        Inside, the slope is that of the parabola through three points, as in ``numpy.gradient`` and
        xarray.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([0.0, 1.0, 9.0], dims=dt.Dim("t", coords=[0, 1, 3]))
        >>> x.differentiate("t").values.tolist()
        [1.0, 2.0, 4.0]
        >>> x.differentiate("t", edge_order=2).values.tolist()
        [0.0, 2.0, 6.0]
        """
        if edge_order not in (1, 2):
            raise OptionError(f"differentiate: edge_order is 1 or 2, not {edge_order!r}")
        along = find_plain_dim(self.dims, dim, "differentiate")
        places = coordinate(along, "differentiate", unit=datetime_unit or "s")
        n, least = len(places), edge_order + 1
        if n < least:
            needed = "two" if least == 2 else "three"
            raise LabelError(f"differentiate: {along._title} has {n} labels, {needed} are needed")
        sources, weights = _slopes(places, edge_order)
        x = wrap(require_float(self.node))
        terms = []
        for at, weight in zip(sources, weights, strict=True):
            moved = moved_to(x, along, at, along)
            if not weight.all():  # 0 times NaN is NaN
                moved = where(data(weight != 0.0, dims=along), moved, 0.0)
            terms.append(moved * data(weight, dims=along).astype(x.dtype))
        return say(terms[0] + terms[1] + terms[2], "differentiate", self, dim=along)

    def integrate(self, dim: DimKey, datetime_unit: str | None = None) -> DimTensor:
        """Integrate along the labels of a dim, by the trapezoidal rule.

        Parameters
        ----------
        dim : Dim, str or list of them
            Along several dims, one after the other.
        datetime_unit : str, optional
            Unit of time, seconds by default.

        Returns
        -------
        DimTensor

        Raises
        ------
        DimError
            If a dim is not there.
        LabelError
            If its labels are not known, or neither numbers nor dates.

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([0.0, 1.0, 1.0], dims=dt.Dim("t", coords=[0, 1, 3])).integrate("t").item()
        2.5
        """
        area = wrap(require_float(self.node))
        over = find_dims(self.dims, dim, "integrate")
        for along in over:
            refuse_ragged(along, "integrate")
        for along in over:
            steps = np.diff(coordinate(along, "integrate", unit=datetime_unit or "s"))
            weights = np.zeros(len(along))
            if len(along) > 1:
                weights[:-1] += steps / 2
                weights[1:] += steps / 2
            one = (area * data(weights, dims=along).astype(area.dtype)).sum(along)
            # the integral over one element is 0, even for NaN
            area = one if len(along) > 1 else elemwise("where", False, one, 0.0)
        return say(area, "integrate", self, dim=over[0] if len(over) == 1 else over)

    def cumulative_integrate(self, dim: DimKey, datetime_unit: str | None = None) -> DimTensor:
        """Integrate along the labels of a dim up to each label, by the trapezoidal rule.

        Parameters
        ----------
        dim : Dim, str or list of them
            Along several dims, one after the other.
        datetime_unit : str, optional
            Unit of time, seconds by default.

        Returns
        -------
        DimTensor
            On the same dims; 0 at the first label.

        Raises
        ------
        DimError
            If a dim is not there.
        LabelError
            If its labels are not known, or neither numbers nor dates.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([0.0, 1.0, 1.0], dims=dt.Dim("t", coords=[0, 1, 3]))
        >>> x.cumulative_integrate("t").values.tolist()
        [0.0, 0.5, 2.5]
        """
        area = wrap(require_float(self.node))
        over = find_dims(self.dims, dim, "cumulative_integrate")
        for along in over:
            refuse_ragged(along, "cumulative_integrate")
        for along in over:
            places = coordinate(along, "cumulative_integrate", unit=datetime_unit or "s")
            n = len(places)
            before = moved_to(area, along, np.maximum(np.arange(n) - 1, 0), along)
            widths = data(np.diff(places, prepend=places[:1]), dims=along).astype(area.dtype)
            piece = widths * (area + before) / 2
            begins = data(np.arange(n) == 0, dims=along)
            area = elemwise("where", begins, 0.0, piece).cumsum(along)
        return say(area, "cumulative_integrate", self, dim=over[0] if len(over) == 1 else over)


def _slopes(places: np.ndarray, edge_order: int) -> tuple[np.ndarray, np.ndarray]:
    """Return three positions for each label, and the weights of their elements in the slope."""
    n = len(places)
    sources = np.clip(np.arange(n) + np.array([[-1], [0], [1]]), 0, n - 1)
    weights = np.zeros((3, n))
    steps = np.diff(places)
    h, k = steps[:-1], steps[1:]
    weights[:, 1:-1] = -k / (h * (h + k)), (k - h) / (h * k), h / (k * (h + k))
    if edge_order == 1:
        weights[1, 0], weights[2, 0] = -1 / steps[0], 1 / steps[0]
        weights[0, -1], weights[1, -1] = -1 / steps[-1], 1 / steps[-1]
        return sources, weights
    sources[:, 0], sources[:, -1] = (0, 1, 2), (n - 3, n - 2, n - 1)
    a, b, c, d = h[0], k[0], h[-1], k[-1]
    weights[:, 0] = -(2 * a + b) / (a * (a + b)), (a + b) / (a * b), -a / (b * (a + b))
    weights[:, -1] = d / (c * (c + d)), -(c + d) / (c * d), (2 * d + c) / (d * (c + d))
    return sources, weights
