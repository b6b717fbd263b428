"""Discrete Fourier transforms along dims, with the frequencies as labels; NumPy's conventions.

Results are complex. Their parts, absolute values and angles, and those of their sums and products,
are real expressions and have derivatives; complex numbers have none. Single precision is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, dim_labels, only_dim, refuse_ragged
from dimtensor.errors import DimError, DtypeError, LabelError, check_choice
from dimtensor.graph.dtypes import is_complex
from dimtensor.graph.printing.words import say
from dimtensor.tensor.along.interpolation.coordinates import coordinate
from dimtensor.tensor.constructors import zeros, zeros_like
from dimtensor.tensor.elementwise import complex as complex_of
from dimtensor.tensor.elementwise import imag, real
from dimtensor.tensor.handle import require_float, wrap
from dimtensor.tensor.positional.apply import apply

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

__all__ = ["fft", "ifft", "irfft", "rfft"]

_NORMS = ("backward", "ortho", "forward")


def fft(
    x: DimTensor, dim: Dim | str | None = None, norm: str = "backward", datetime_unit: str = "s"
) -> DimTensor:
    """Compute the discrete Fourier transform along a dim.

    Parameters
    ----------
    x : DimTensor
        Of real or complex numbers.
    dim : Dim or str, optional
        The only dim by default.
    norm : {"backward", "ortho", "forward"}
        Normalization: none, by the root of the number of positions, or by this number.
    datetime_unit : str
        Unit of time of the frequencies of dates: ``"D"``, ``"h"``, ``"s"``, …

    Returns
    -------
    DimTensor
        Complex, on a dim ``freq_...`` in place of `dim`. Its labels are the frequencies in NumPy's
        order: cycles per unit of the labels, which are evenly spaced numbers or dates, or cycles
        per position of a dim without labels. It has no labels if the length is not known.

    Raises
    ------
    DimError
        If the dim is not there.
    LabelError
        If the labels are not evenly spaced, or neither numbers nor dates.
    OptionError
        If the `norm` is unknown.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([1.0, 2.0, 4.0], dims=dt.Dim("t", coords=[0.0, 0.5, 1.0]))
    >>> z = dt.fft.fft(x)
    >>> z.real.eval().round(3).values.tolist(), z.dims[0].coords.round(3).tolist()
    ([7.0, -2.0, -2.0], [0.0, 0.667, -0.667])
    """
    from dimtensor.ops.along import DFT

    along = only_dim(x.dims, dim, "fft")
    refuse_ragged(along, "fft")
    target = _frequencies(along, False, datetime_unit, "fft")
    return _transformed("fft", x, along, _pair(x), [target] * 2, norm, DFT())


def rfft(
    x: DimTensor, dim: Dim | str | None = None, norm: str = "backward", datetime_unit: str = "s"
) -> DimTensor:
    """Compute the discrete Fourier transform of real numbers, without negative frequencies.

    Parameters
    ----------
    x : DimTensor
        Of real numbers.
    dim, norm, datetime_unit
        As for :func:`fft`.

    Returns
    -------
    DimTensor
        Complex, on a dim ``rfreq_...`` of ``n // 2 + 1`` frequencies; see :func:`fft`.

    Raises
    ------
    DimError, LabelError, DtypeError
        As for :func:`fft`; and if the numbers are complex.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([1.0, 2.0, 4.0, 3.0], dims=dt.Dim("t", length=4))
    >>> power = dt.abs(dt.fft.rfft(x)) ** 2
    >>> power.values.round(6).tolist(), power.dims[0].coords.tolist()
    ([100.0, 10.0, 0.0], [0.0, 0.25, 0.5])
    """
    if is_complex(x.dtype):
        raise DtypeError("rfft is of real numbers; dt.fft.fft takes complex ones")
    from dimtensor.ops.along import RealDFT

    along = only_dim(x.dims, dim, "rfft")
    refuse_ragged(along, "rfft")
    target = _frequencies(along, True, datetime_unit, "rfft")
    parts = (wrap(require_float(x.node)),)
    return _transformed("rfft", x, along, parts, [target] * 2, norm, RealDFT())


def ifft(
    z: DimTensor, dim: Dim | str | None = None, to: Dim | str | None = None, norm: str = "backward"
) -> DimTensor:
    """Compute the inverse of :func:`fft`.

    Parameters
    ----------
    z : DimTensor
    dim : Dim or str, optional
        The dim of frequencies.
    to : Dim or str, optional
        The dim of the result, or its name; by default the name of the frequencies without
        ``freq_``.
    norm : {"backward", "ortho", "forward"}
        Normalization of the inverted transform.

    Returns
    -------
    DimTensor
        Complex.

    Raises
    ------
    DimError
        If the dim is not there, or `to` has another length.
    OptionError
        If the `norm` is unknown.

    Examples
    --------
    >>> import dimtensor as dt
    >>> t = dt.Dim("t", coords=[0, 1, 2])
    >>> x = dt.data([1.0, 2.0, 4.0], dims=t)
    >>> dt.fft.ifft(dt.fft.fft(x), to=t).real.eval().round(6).values.tolist()
    [1.0, 2.0, 4.0]
    """
    from dimtensor.ops.along import DFT

    def inverse(a: Any, b: Any) -> list[Any]:
        return DFT()(b, a)[::-1]

    along = only_dim(z.dims, dim, "ifft")
    refuse_ragged(along, "ifft")
    target = _target(along, to, along.length)
    return _transformed("ifft", z, along, _pair(z), [target] * 2, norm, inverse, True)


def irfft(
    z: DimTensor, dim: Dim | str | None = None, to: Dim | str | None = None, norm: str = "backward"
) -> DimTensor:
    """Compute the inverse of :func:`rfft`.

    Parameters
    ----------
    z : DimTensor
    dim : Dim or str, optional
        The dim of frequencies.
    to : Dim or str, optional
        The dim of the result, whose length may be odd; or the name of one of even length, by
        default the name of the frequencies without ``rfreq_``.
    norm : {"backward", "ortho", "forward"}
        Normalization of the inverted transform.

    Returns
    -------
    DimTensor
        Real.

    Raises
    ------
    DimError
        If the tensor lacks the dim, or it has not ``n // 2 + 1`` positions for n positions of `to`.
    OptionError
        If the `norm` is unknown.

    Examples
    --------
    >>> import dimtensor as dt
    >>> t = dt.Dim("t", coords=[0, 1, 2])
    >>> x = dt.data([1.0, 2.0, 4.0], dims=t)
    >>> dt.fft.irfft(dt.fft.rfft(x), to=t).eval().round(6).values.tolist()
    [1.0, 2.0, 4.0]
    """
    import pytensor.tensor as pt

    from dimtensor.ops.along import FromHalf

    def inverse(a: Any, b: Any, along_to: Any = None) -> Any:
        odd = 0 if along_to is None else along_to.shape[0] % 2
        n = pt.maximum(2 * (a.shape[0] - 1), 0) + odd  # compared with the length of the dim
        like = pt.zeros((n if None in (m, target.length) else target.length,), dtype=a.type.dtype)
        k = pt.arange(a.shape[0])
        alone = pt.or_(pt.eq(k, 0), pt.eq(2 * k, like.shape[0]))  # others count twice
        weights = pt.cast(pt.switch(alone, 1, 2), a.type.dtype)
        return FromHalf()(weights * a, weights * b, like)

    along = only_dim(z.dims, dim, "irfft")
    refuse_ragged(along, "irfft")
    m = along.length
    target = _target(along, to, None if m is None else max(2 * (m - 1), 0))
    n = target.length
    if m is not None and n is not None and n // 2 + 1 != max(m, 1):
        raise DimError(
            f"irfft: {target._title} of length {n} has {n // 2 + 1} frequencies",
            [("frequencies", repr(along))],
        )
    parts = _pair(z)
    if isinstance(to, Dim):
        parts = (*parts, zeros(to, dtype=parts[0].dtype))
    return _transformed("irfft", z, along, parts, [target], norm, inverse, True)


def _pair(z: DimTensor) -> tuple[DimTensor, ...]:
    """Return the real and imaginary parts."""
    if is_complex(z.dtype):
        return real(z), imag(z)
    plain = wrap(require_float(z.node))
    return plain, zeros_like(plain)


def _transformed(
    what: str,
    z: DimTensor,
    along: Dim,
    parts: tuple[DimTensor, ...],
    out: list[Dim],
    norm: str,
    transform: Callable[..., Any],
    inverted: bool = False,
) -> DimTensor:
    """Transform and normalize the parts; a third part is along the dim of the result."""
    import pytensor.tensor as pt

    check_choice(what, "norm", norm, [*_NORMS])

    def function(*vectors: Any) -> Any:
        made = transform(*vectors)
        several = list(made) if isinstance(made, (list, tuple)) else [made]
        if norm == ("forward" if inverted else "backward"):
            return several
        n = (several if inverted else vectors)[0].shape[0]
        n = pt.cast(pt.maximum(n, 1), vectors[0].type.dtype)
        return [v / (pt.sqrt(n) if norm == "ortho" else n) for v in several]

    function.__name__ = what  # as errors call it
    cores = [along, along, out[0]][: len(parts)]
    made: Any = apply(function, *parts, input_core_dims=cores, output_core_dims=out)
    return say(made[0] if len(made) == 1 else complex_of(*made), what, z, dim=along)


def _frequencies(along: Dim, half: bool, unit: str, what: str) -> Dim:
    name = f"{'rfreq' if half else 'freq'}_{along._short}"
    n = along.length
    if n is None:
        return Dim(name)
    if not n:
        raise DimError(f"{what}: {along._title} has no positions")
    step = 1.0
    if dim_labels(along) is not None and n > 1:
        places = coordinate(along, what, unit=unit)
        steps = np.diff(places)
        step = float((places[-1] - places[0]) / (n - 1))
        if not step or not np.allclose(steps, step, rtol=1e-6, atol=0.0):
            raise LabelError(
                f"{what}: the labels of {along._title} are not evenly spaced",
                [("distances", f"{steps.min():.6g} to {steps.max():.6g}")],
                "x.interp(...) puts them on even ones",
            )
    return Dim(name, coords=(np.fft.rfftfreq if half else np.fft.fftfreq)(n, step))


def _target(along: Dim, to: Dim | str | None, n: int | None) -> Dim:
    if isinstance(to, Dim):
        return to
    return Dim(re.sub("^r?freq_", "", along._short) if to is None else to, length=n)


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
