"""Methods of interpolation and extrapolation, with the names of xarray."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dimtensor.dims import Dim
from dimtensor.errors import ArgumentError, LabelError, OptionError, did_you_mean, listing

LOCAL = ("linear", "slinear", "nearest", "zero")
_ORDERS = {"quadratic": 2, "cubic": 3, "quintic": 5}
WHOLE = ("barycentric", "krogh")  # a single polynomial through all elements
SLOPED = ("pchip", "akima", "makima")  # piecewise cubic methods with slopes of their own
METHODS = (*LOCAL, *_ORDERS, "polynomial", *WHOLE, *SLOPED)


class Method(NamedTuple):
    """Method of interpolation with its options.

    Attributes
    ----------
    name : str
    order : int or None
        Order of the polynomials of a spline.
    ends : tuple or None
        Values before the first label and after the last one; None to extrapolate.
    """

    name: str
    order: int | None
    ends: tuple[Any, Any] | None

    @classmethod
    def of(
        cls,
        what: str,
        name: str,
        fill_value: Any = None,
        order: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Method:
        """Check a method and its options, those of SciPy in xarray.

        Raises
        ------
        OptionError
            If there is no such method, or it does not take the value of an option.
        ArgumentError
            If there is no such option.
        """
        given = dict(options or {})
        fill_value = given.pop("fill_value", fill_value)
        order = given.pop("order", order)
        if given.pop("extrapolate", None):
            fill_value = "extrapolate"
        if given.pop("bounds_error", False):
            raise OptionError(f"{what}: bounds_error is False; labels outside have the fill_value")
        if given:
            known = ["fill_value", "order", "extrapolate", "bounds_error"]
            raise ArgumentError(
                f"{what}: there are no options {listing(given)}, but {listing(known)}"
            )
        if name not in METHODS:
            raise OptionError(
                f"{what}: there is no method {name!r}{did_you_mean(str(name), METHODS)}",
                [("methods", listing(METHODS, len(METHODS)))],
                "a spline through all elements is method='polynomial', order=3"
                if name == "spline"
                else "",
            )
        if (name == "polynomial") != (order is not None):
            raise OptionError(f"{what}: order is that of method='polynomial', which needs one")
        if order is not None and (not isinstance(order, (int, np.integer)) or order < 1):
            raise OptionError(f"{what}: the order of polynomials is at least 1, not {order!r}")
        return cls(name, _ORDERS.get(name, order), _ends(what, name, fill_value))

    @property
    def goes_on(self) -> bool:
        """True if the curve extrapolates beyond the labels."""
        return self.ends is None

    def require(self, along: Dim, n: int, what: str) -> None:
        """Check that there are enough labels.

        Raises
        ------
        LabelError
            If there are too few labels.
        """
        straight = self.name in ("linear", "slinear") and self.goes_on
        least = (self.order or 0) + 1
        if self.name in SLOPED or straight:
            least = 2
        if n < least:
            kind = f"of order {self.order}" if self.order else f"with method={self.name!r}"
            raise LabelError(
                f"{what}: a curve {kind} has {least} labels or more, {along._title} has {n}"
            )

    def curve(self, places: np.ndarray, values: np.ndarray) -> Any:
        """Return the curve through values along the first axis, which extrapolates."""
        from scipy import interpolate

        if self.order is not None:
            return interpolate.make_interp_spline(places, values, k=self.order)
        if self.name == "barycentric" and len(places) > 1:
            return interpolate.BarycentricInterpolator(places, values)
        if self.name in WHOLE:
            return interpolate.KroghInterpolator(places, values)
        if self.name == "pchip":
            return interpolate.PchipInterpolator(places, values, extrapolate=True)
        return interpolate.Akima1DInterpolator(places, values, method=self.name, extrapolate=True)


def _ends(what: str, name: str, fill_value: Any) -> tuple[Any, Any] | None:
    if fill_value is None:
        return None if name in WHOLE else (np.nan, np.nan)
    if isinstance(fill_value, str):
        if fill_value != "extrapolate":
            raise OptionError(
                f"{what}: fill_value is a number, a pair or 'extrapolate', not {fill_value!r}"
            )
        return None
    if isinstance(fill_value, (tuple, list)):
        if len(fill_value) != 2:
            raise OptionError(f"{what}: fill_value has two ends, not {len(fill_value)}")
        return tuple(fill_value)
    return fill_value, fill_value
