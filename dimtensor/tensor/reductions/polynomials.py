"""Polynomial regression on the labels of a dim; as in xarray and NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from dimtensor.dims import Dim, dim_labels, find_dim, find_plain_dim
from dimtensor.errors import LabelError, OptionError
from dimtensor.graph.printing.words import say
from dimtensor.spellings import spelled
from dimtensor.tensor.along.interpolation.coordinates import coordinate
from dimtensor.tensor.constructors import eye, length, ones
from dimtensor.tensor.handle import TensorHandle, TensorLike, elemwise, require_float, wrap
from dimtensor.tensor.inputs import data
from dimtensor.tensor.linalg.equations import solve
from dimtensor.tensor.reductions.weighted import as_weights
from dimtensor.values.admission import real_numbers

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


@spelled("function")
def polyval(x: TensorLike, coefficients: DimTensor, dim: Dim | str = "degree") -> DimTensor:
    """Evaluate a polynomial by Horner's rule.

    Parameters
    ----------
    x : DimTensor
    coefficients : DimTensor
        Along a dim whose labels are the degrees.
    dim : Dim or str

    Returns
    -------
    DimTensor

    Raises
    ------
    DimError
        If the coefficients lack the dim.
    LabelError
        If its labels are no degrees.

    Examples
    --------
    >>> import dimtensor as dt
    >>> c = dt.data([2.0, 1.0], dims=dt.Dim("degree", coords=[2, 0]))
    >>> dt.polyval(dt.data([0.0, 3.0], dims=dt.Dim("k")), c).values.tolist()
    [1.0, 19.0]
    """
    along = find_dim(coefficients.dims, dim, "polyval")
    labels = [] if along.coords is None else along.coords.tolist()
    if not labels or not all(isinstance(each, int) and each >= 0 for each in labels):
        raise LabelError(f"polyval: the labels of {along._title} are no degrees: {labels}")
    result: Any = 0.0
    for power in range(max(labels), -1, -1):
        result = result * x
        if power in labels:
            result = result + coefficients.sel({along: power})
    return say(result, "polyval", x, coefficients)


class PolynomialMixin(TensorHandle):
    """Polynomial regression along a dim."""

    __slots__ = ()

    @overload
    def polyfit(
        self,
        dim: Dim | str,
        deg: int,
        skipna: bool = False,
        rcond: float | None = None,
        w: TensorLike | Sequence[float] | None = None,
        *,
        full: Literal[False] = False,
        cov: Literal[False] = False,
    ) -> DimTensor: ...
    @overload
    def polyfit(
        self,
        dim: Dim | str,
        deg: int,
        skipna: bool = False,
        rcond: float | None = None,
        w: TensorLike | Sequence[float] | None = None,
        *,
        full: Literal[True],
        cov: bool | Literal["unscaled"] = False,
    ) -> dict[str, DimTensor]: ...
    @overload
    def polyfit(
        self,
        dim: Dim | str,
        deg: int,
        skipna: bool = False,
        rcond: float | None = None,
        w: TensorLike | Sequence[float] | None = None,
        *,
        full: bool = False,
        cov: Literal[True, "unscaled"],
    ) -> dict[str, DimTensor]: ...
    def polyfit(
        self,
        dim: Dim | str,
        deg: int,
        skipna: bool = False,
        rcond: float | None = None,
        w: TensorLike | None = None,
        *,
        full: bool = False,
        cov: bool | Literal["unscaled"] = False,
    ) -> DimTensor | dict[str, DimTensor]:
        """Fit a polynomial of the labels of a dim by least squares.

        Parameters
        ----------
        dim : Dim or str
            With numbers or dates as labels; dates count in nanoseconds from 1970-01-01, as in
            xarray.
        deg : int
            The degree.
        skipna : bool
            Whether to leave out NaN of each series. Otherwise the coefficients of a series with a
            NaN are NaN.
        rcond : float, optional
            Singular values of the scaled powers of labels below this share of the largest count as
            0; by default the number of labels times the spacing of floats at 1.
        w : DimTensor or array, optional
            Factors of residuals before they are squared, such as ``1 / sigma``. A tensor may have
            further dims, and may be symbolic.
        full : bool
            Whether to return residuals, rank and singular values, too.
        cov : bool or "unscaled"
            Whether to return the covariance of the coefficients, too; "unscaled" if weights are
            the reciprocals of known uncertainties.

        Returns
        -------
        DimTensor or dict of str to DimTensor
            Along a dim ``degree`` with the labels ``deg``, …, 0, for :func:`polyval`; NaN for
            series of at most `deg` elements. With `full` or `cov` a dict with
            xarray's names: ``polyfit_coefficients``, ``polyfit_residuals``,
            ``polyfit_covariance`` along ``cov_i`` and ``cov_j``, and ``matrix_rank`` and
            ``singular_values`` after the name of the dim and an underscore.

        Raises
        ------
        DimError
            If the dim is not there.
        LabelError
            If the labels are not known, or no numbers and no dates.
        OptionError
            If the degree is negative, or not less than the number of labels; if `rcond`, `full` or
            `cov` need singular values and weights are symbolic or NaN are left out.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 3.0, 5.0], dims=dt.Dim("t", coords=[0, 1, 2]))
        >>> x.polyfit("t", 1).values.round(12).tolist()
        [2.0, 1.0]
        >>> x.polyfit("t", 0, w=[1.0, 1.0, 0.0]).values.round(12).tolist()
        [2.0]
        >>> x.polyfit("t", 0, full=True)["polyfit_residuals"].item()
        8.0
        """
        along = find_plain_dim(self.dims, dim, "polyfit")
        places = numbers_along(along)
        if not isinstance(deg, int) or deg < 0 or len(places) <= deg:
            raise OptionError(
                f"polyfit: degree {deg!r} of {len(places)} labels along {along._title}"
            )
        if cov not in (False, True, "unscaled"):
            raise OptionError(f"polyfit: cov is True, False or 'unscaled', not {cov!r}")
        powers = np.vander(places, deg + 1)
        x = wrap(require_float(self.node))
        weights, known = _weights(w, x, along)
        if known is not None:
            powers = powers * known[:, None]
            if w is not None:
                x = x * data(known, dims=along).astype(x.dtype)
        scale = np.sqrt((powers * powers).sum(axis=0))  # as numpy.polyfit does
        design = powers / np.where(scale > 0, scale, 1)
        degree = Dim("degree", coords=list(range(deg, -1, -1)))
        if known is None:
            for name, given in (("full", full), ("cov", cov), ("rcond", rcond is not None)):
                if given:
                    raise OptionError(
                        f"polyfit: {name} is of weights that are known, and the same for all series"
                    )
        if skipna and rcond is not None:
            raise OptionError(
                "polyfit: rcond is of fits to all labels, not to those that are there"
            )
        if skipna or known is None:
            fitted = _by_equations(x, design, degree, along, skipna, weights)
            fitted = fitted / data(scale, dims=degree).astype(x.dtype)
        else:
            least = len(places) * np.finfo(float).eps if rcond is None else rcond
            solving = np.linalg.pinv(design, rcond=least) / scale[:, None]
            fitted = (x * data(solving, dims=[degree, along]).astype(x.dtype)).sum(along)
        result = say(fitted, "polyfit", self, dim=along, deg=deg, skipna=skipna, w=w)
        if not (full or cov):
            return result
        found = {"polyfit_coefficients": result}
        rank = int(np.linalg.matrix_rank(design))
        if full:
            singular = np.linalg.svd(design, compute_uv=False)
            found[f"{along._short}_matrix_rank"] = data(rank)
            found[f"{along._short}_singular_values"] = data(singular, dims=degree)
        residuals = _residuals(x, result, data(powers, dims=[along, degree]), along, skipna)
        if rank <= deg:
            residuals = elemwise("where", False, residuals, np.nan)
        if full or cov is True:
            found["polyfit_residuals"] = residuals
        if cov:
            spread = _covariance(design, scale, degree)
            if cov is True:
                left = len(places) - deg - 1
                if left <= 0:
                    raise OptionError(
                        f"polyfit: {len(places)} labels leave nothing to tell the scale of "
                        "covariances from; cov='unscaled' does without"
                    )
                spread = spread * (residuals / left)
            found["polyfit_covariance"] = spread
        return found


def numbers_along(along: Dim) -> np.ndarray:
    """Convert the labels of a dim to numbers, dates to nanoseconds since 1970."""
    places = coordinate(
        along, "polyfit", f"relabel('{along._short}', dt.Dim(name, coords=range(n)))"
    )
    labels = dim_labels(along)
    if labels is not None and labels.family != "number":
        places = np.asarray(labels.index.as_unit("ns").asi8, dtype=float)
    return places


def _weights(w: Any, x: DimTensor, along: Dim) -> tuple[DimTensor | None, np.ndarray | None]:
    """Convert weights to an array, or to a tensor if they are symbolic or differ by series."""
    if w is None:
        return None, np.ones(len(along))
    if isinstance(w, (list, tuple, np.ndarray)):
        w = data(real_numbers(w, "polyfit: the weights"), dims=along)
    weights = as_weights(w, x, "polyfit")
    if weights.node.kind == "data" and weights.dims == (along,):
        return None, np.asarray(weights.node.attrs.values, dtype=float)
    return weights, None


def _by_equations(
    x: DimTensor,
    design: np.ndarray,
    degree: Dim,
    along: Dim,
    skipna: bool,
    weights: DimTensor | None,
) -> DimTensor:
    """Fit the columns of a design matrix to the elements that are not NaN, by normal equations.

    The columns are made orthonormal first, so that the normal equations of most of the rows are
    well conditioned.
    """
    basis, triangle = np.linalg.qr(design)
    row, col = (Dim(f"{degree._short}:{end}", length=len(degree)) for end in ("row", "col"))
    there = elemwise("logical_not", elemwise("isnan", x)) if skipna else ones(along, "bool")
    rows, cols = (data(basis, dims=[along, end]).astype(x.dtype) for end in (row, col))
    known = elemwise("where", there, x, 0.0)
    counted = there.astype(x.dtype)
    if weights is not None:
        counted = counted * elemwise("square", weights)
    left = elemwise("where", there, rows * cols * counted, 0.0).sum(along)
    enough = there.sum(along) > len(degree) - 1
    # equations of too few rows are replaced by solvable ones
    left = elemwise("where", enough, left, eye(row, col).astype(x.dtype))
    right = rows * known if weights is None else rows * known * counted
    found = solve(left, right.sum(along), dims=[row, col], assume_a="pos")
    back = data(np.linalg.inv(triangle), dims=[degree, col]).astype(x.dtype)
    return elemwise("where", enough, (back * found).sum(col), np.nan)


def _residuals(
    x: DimTensor, fitted: DimTensor, powers: DimTensor, along: Dim, skipna: bool
) -> DimTensor:
    """Sum the squared residuals; NaN where the fit is exact."""
    degree = next(dim for dim in powers.dims if dim is not along)
    gap = x - (fitted * powers.astype(x.dtype)).sum(degree)
    squares = elemwise("square", gap).sum(along, skipna=skipna)
    left = x.count(along) if skipna else length(along)
    return elemwise("where", left > len(degree), squares, np.nan)


def _covariance(design: np.ndarray, scale: np.ndarray, degree: Dim) -> DimTensor:
    """Compute the covariance of the coefficients for elements of variance 1."""
    spread = np.linalg.inv(design.T @ design) / np.outer(scale, scale)
    labels = degree.coords
    return data(spread, dims=[Dim(name, coords=labels) for name in ("cov_i", "cov_j")])
