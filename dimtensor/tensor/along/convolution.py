"""Convolution along a dim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, PadDim, find_dim, only_dim, refuse_ragged
from dimtensor.errors import ArgumentError, DimError, DtypeError, check_choice
from dimtensor.graph.dtypes import is_complex, promote
from dimtensor.graph.printing.words import say
from dimtensor.tensor.handle import TensorHandle, require_float, wrap
from dimtensor.tensor.positional.apply import apply

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

_MODES = ("full", "same", "valid")


def convolve(
    x: DimTensor,
    weights: DimTensor,
    dim: Dim | str | Sequence[Dim | str] | None = None,
    mode: str = "full",
) -> DimTensor:
    r"""Compute the convolution along a dim: :math:`y_i = \sum_j w_j x_{i - j}`.

    Parameters
    ----------
    x : DimTensor
    weights : DimTensor
    dim : Dim or str, or two of them, optional
        The dim of `x`, by default its only one; and the dim of the weights, by default the same, or
        the only one that `x` lacks.
    mode : {"full", "same", "valid"}
        For n elements and k weights: all ``n + k - 1`` sums; the n central ones, as in
        ``scipy.signal.convolve``; or the ``n - k + 1`` sums without padding.

    Returns
    -------
    DimTensor
        With the dims of both except that of the weights. The sum of :math:`x_{i - j}` is at the
        label of :math:`x_i`, so labels of ``"valid"`` are those at the ends of windows, and the
        last positions of ``"full"`` have no labels; in mode ``"same"`` it is at the central label.
        If the length of the weights is not known, other modes give a dim without labels.

    Raises
    ------
    ArgumentError
        If the weights are no tensor.
    DimError
        If the dim is missing, the dim of the weights is ambiguous, there are no weights, or, in
        mode ``"valid"``, more weights than elements. If lengths are known only at the call, more
        weights than elements give a result of length 0.
    DtypeError
        If the numbers are complex.
    OptionError
        If the mode is unknown.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([1.0, 2.0, 4.0], dims=dt.Dim("t", coords=["a", "b", "c"]))
    >>> weights = dt.data([1.0, 0.5], dims=dt.Dim("lag", length=2))
    >>> dt.convolve(x, weights).values.tolist()
    [1.0, 2.5, 5.0, 2.0]
    >>> valid = dt.convolve(x, weights, mode="valid")
    >>> valid.values.tolist(), valid.dims[0].coords.tolist()
    ([2.5, 5.0], ['b', 'c'])
    """
    from dimtensor.ops.along import Convolve

    check_choice("convolve", "mode", mode, _MODES)
    named: list[Any] = [dim] if dim is None or isinstance(dim, (Dim, str)) else list(dim)
    if len(named) not in (1, 2):
        raise DimError(
            f"convolve: dim is that of the tensor, or that and the one of the weights, not {dim!r}"
        )
    along = only_dim(x.dims, named[0], "convolve")
    refuse_ragged(along, "convolve")
    lag = _weights_dim(x, weights, along, named[1] if named[1:] else None)
    k = weights.sizes[lag._short]
    a, b = (wrap(require_float(each.node)) for each in (x, weights))
    dtype = promote((a.dtype, b.dtype))
    if is_complex(dtype):
        raise DtypeError("convolve: complex numbers are convolved part by part")

    def convolved(v: Any, w: Any) -> Any:
        if mode != "same":
            return Convolve(full=mode == "full")(v, w)
        start = (w.shape[0] - 1) // 2
        return Convolve(full=True)(v, w)[start : start + v.shape[0]]

    convolved.__name__ = "convolve"  # the name in errors
    result: Any = apply(
        convolved,
        a.astype(dtype),
        b.astype(dtype),
        input_core_dims=[along, lag],
        output_core_dims=_target(x, along, k, mode),
    )
    shown = None if mode == "full" else mode
    return say(result, "convolve", x, weights, dim=along, mode=shown)


def _weights_dim(x: DimTensor, weights: DimTensor, along: Dim, given: Dim | str | None) -> Dim:
    if not isinstance(weights, TensorHandle):
        raise ArgumentError(
            f"convolve takes a tensor of weights along a dim, not {type(weights).__name__}",
            hint="dt.data([0.5, 0.3, 0.2], dims=dt.Dim('lag', length=3))",
        )
    if given is not None:
        return find_dim(weights.dims, given, "convolve, the weights")
    if along in weights.dims:
        return along
    own = [each for each in weights.dims if each not in x.dims]
    if len(own) != 1:
        raise DimError(
            "convolve: it cannot be told along which dim the weights are",
            [("weights", list(weights.sizes)), ("tensor", list(x.sizes))],
            f"name it after that of the tensor: dim=[{along._short!r}, {own[0]._short!r}]"
            if own
            else "weights have a dim: dt.data(weights, dims=dt.Dim('lag'))",
        )
    return own[0]


def _target(x: DimTensor, along: Dim, k: int | None, mode: str) -> Dim:
    """Make the dim of the result."""
    if k == 0:
        raise DimError("convolve: there are no weights")
    if mode == "same":
        return along
    if k is None:
        return Dim(f"{along._short}_{mode}")
    n = along.length
    if mode == "valid" and n is not None and k > n:
        raise DimError(
            f"convolve: {k} weights do not lie inside of the {n} positions of {along._title}"
        )
    if mode == "full":
        return PadDim(along, 0, k - 1)
    kept = x.isel({along: slice(k - 1, None)})
    return next((each for each in kept.dims if each not in x.dims), along)
