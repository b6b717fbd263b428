"""Covariances, correlations and polynomial regression of each group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, find_dim, union
from dimtensor.errors import DimError, OptionError
from dimtensor.graph.dtypes import is_complex
from dimtensor.tensor.handle import TensorLike, as_node, elemwise, require_float, wrap
from dimtensor.tensor.inputs import data
from dimtensor.tensor.joining import stack
from dimtensor.tensor.numpy_style import with_named_dims
from dimtensor.tensor.reductions.basic import DimKey
from dimtensor.tensor.reductions.polynomials import numbers_along
from dimtensor.tensor.selection.group_reductions import GroupReductions, quotient

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


@with_named_dims
class GroupMoments(GroupReductions):
    """Covariance, correlation and polynomial regression of groups."""

    def cov(
        self, other: TensorLike, dim: DimKey = None, *, ddof: int = 1, skipna: bool = False
    ) -> DimTensor:
        """Compute the covariance of each group with another tensor.

        Parameters
        ----------
        other : DimTensor, array or DataArray
            Its dims broadcast against those of the tensor.
        dim : Dim, str or iterable of them, optional
            As in all reductions of groups.
        ddof : int
            Subtracted from the number of pairs in the divisor.
        skipna : bool
            Whether to leave out pairs with a NaN.

        Returns
        -------
        DimTensor
            NaN for groups of at most `ddof` pairs.

        Examples
        --------
        >>> import dimtensor as dt
        >>> obs, key = dt.Dim("obs"), dt.Dim("key", coords=["a", "b"])
        >>> where = dt.data(["b", "a", "b", "a"], dims=obs, categories=key)
        >>> x, y = dt.data([1.0, 2.0, 3.0, 5.0], dims=obs), dt.data([1.0, 4.0, 5.0, 1.0], dims=obs)
        >>> x.groupby(where).cov(y).values.tolist()
        [-4.5, 4.0]
        >>> x.groupby(where).corr(y).values.round(12).tolist()
        [-1.0, 1.0]
        """
        by, one, two, missing = self._pairs(other, dim, "cov")
        products = by._of(_conjugate(one) * two)
        n = elemwise("subtract", products.count(), ddof)
        found = quotient(products.sum(skipna=True), n)
        return self._kept("cov", found, missing, skipna, other=wrap(as_node(other, [self._x.node])))

    def corr(self, other: TensorLike, dim: DimKey = None, *, skipna: bool = False) -> DimTensor:
        """Compute Pearson's correlation of each group with another tensor; see :meth:`cov`."""
        by, one, two, missing = self._pairs(other, dim, "corr")
        squares = [by._of(elemwise("square", elemwise("abs", each))).sum(skipna=True)
                   for each in (one, two)]  # fmt: skip
        scale = elemwise("multiply", *(elemwise("sqrt", each) for each in squares))
        found = by._of(_conjugate(one) * two).sum(skipna=True) / scale
        return self._kept(
            "corr", found, missing, skipna, other=wrap(as_node(other, [self._x.node]))
        )

    def _pairs(
        self, other: TensorLike, dim: DimKey, name: str
    ) -> tuple[GroupReductions, DimTensor, DimTensor, DimTensor]:
        """Return the groups, both tensors less the means, and whether a group has a NaN."""
        y = as_node(other, [self._x.node], f"{name} of groups")
        both = [wrap(require_float(node)) for node in (self._x.node, y)]
        gone = elemwise("logical_or", *(elemwise("isnan", each) for each in both))
        dims = union([gone.dims, (self._along,)], name)
        by = [
            self._of(elemwise("where", gone, np.nan, each).expand(dims))._over(dim, name)
            for each in both
        ]
        gaps = [elemwise("subtract", of._x, of._back(of.mean(skipna=True))) for of in by]
        missing = self._of(gone.expand(dims))._over(dim, name).any()
        return by[0], *gaps, missing  # type: ignore[return-value]

    def _kept(
        self, name: str, found: DimTensor, missing: DimTensor, skipna: bool, **shown: Any
    ) -> DimTensor:
        result = found if skipna else elemwise("where", missing, np.nan, found)
        return self._say(result, name, **shown)

    def polyfit(self, dim: Dim | str, deg: int, skipna: bool = False) -> DimTensor:
        """Fit a polynomial of the labels to each group by least squares.

        Parameters
        ----------
        dim : Dim or str
            The grouped dim, with numbers or dates as labels; see
            :meth:`DimTensor.polyfit`.
        deg : int
            The degree.
        skipna : bool
            Whether to leave out NaN; otherwise the coefficients of a group with a NaN are NaN.

        Returns
        -------
        DimTensor
            Along a dim ``degree`` with the labels ``deg``, …, 0; NaN for groups of at most `deg`
            elements.

        Raises
        ------
        DimError
            If it is not the grouped dim.
        OptionError
            If the degree is no integer, or negative.
        LabelError
            If the labels are not known, or no numbers and no dates.

        Notes
        -----
        The basis are polynomials orthogonal on the labels of each group: Forsythe, "Generation and
        Use of Orthogonal Polynomials for Data-Fitting with a Digital Computer", Journal of the
        Society for Industrial and Applied Mathematics 5 (1957).

        Examples
        --------
        >>> import dimtensor as dt
        >>> t, key = dt.Dim("t", coords=[0, 1, 2, 3]), dt.Dim("key", coords=["a", "b"])
        >>> where = dt.data(["b", "a", "b", "a"], dims=t, categories=key)
        >>> x = dt.data([1.0, 2.0, 5.0, 8.0], dims=t)
        >>> x.groupby(where).polyfit("t", 1).sel(degree=1).values.round(12).tolist()
        [3.0, 2.0]
        """
        along = find_dim(self._x.dims, dim, "polyfit of groups")
        if along is not self._along:
            raise DimError(
                f"polyfit: the groups are of elements along {self._along._title}",
                [("named", along._title)],
                f"x.polyfit({along._short!r}, deg) fits along another dim",
            )
        if isinstance(deg, bool) or not isinstance(deg, int) or deg < 0:
            raise OptionError(f"polyfit: the degree is an integer of at least 0, not {deg!r}")
        places = numbers_along(along)
        unit = float(np.abs(places).max(initial=0.0)) or 1.0
        fitted = self._fitted(data(places / unit, dims=along), deg, skipna)
        scaled = [each / unit**power for power, each in enumerate(fitted)]
        degree = Dim("degree", coords=list(range(deg, -1, -1)))
        dtype = require_float(self._x.node).dtype
        return self._say(stack(scaled[::-1], degree).astype(dtype), "polyfit", deg=deg)

    def _fitted(self, t: DimTensor, deg: int, skipna: bool) -> list[DimTensor]:
        """Return the coefficients of the powers of `t`, beginning with the constant."""
        x = wrap(require_float(self._x.node))
        missing = elemwise("isnan", x)
        counted = elemwise("where", missing, 0.0, 1.0)
        x = elemwise("where", missing, 0.0, x)

        def total(value: DimTensor) -> DimTensor:
            return self._of(value * counted).sum()

        nothing = total(counted * 0.0)
        before, now = t * 0.0, t * 0.0 + 1.0  # values of the orthogonal polynomials
        powers_before: list[DimTensor] = [nothing] * (deg + 1)
        powers: list[DimTensor] = [nothing + 1.0, *[nothing] * deg]
        size_before: DimTensor | None = None
        fitted: list[DimTensor] = [nothing] * (deg + 1)
        for step in range(deg + 1):
            size = total(elemwise("square", now))
            divisor = elemwise("where", elemwise("greater", size, 0), size, 1.0)
            share = total(now * x) / divisor
            fitted = [old + share * new for old, new in zip(fitted, powers, strict=True)]
            if step == deg:
                break
            center = total(t * elemwise("square", now)) / divisor
            back = nothing if size_before is None else size / size_before
            before, now = now, (t - self._back(center)) * now - self._back(back) * before
            shifted = [nothing, *powers[:-1]]
            powers_before, powers = (
                powers,
                [
                    up - center * same - back * old
                    for up, same, old in zip(shifted, powers, powers_before, strict=True)
                ],
            )
            size_before = divisor
        enough = elemwise("greater", total(counted), deg)
        if not skipna:
            enough = elemwise(
                "logical_and", enough, elemwise("logical_not", self._of(missing).any())
            )
        return [elemwise("where", enough, each, np.nan) for each in fitted]


def _conjugate(x: DimTensor) -> DimTensor:
    return elemwise("conj", x) if is_complex(x.dtype) else x
