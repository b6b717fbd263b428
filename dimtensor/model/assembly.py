"""The expressions of a model in terms of one flat unconstrained vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, ProductDim
from dimtensor.dist.supports import Support
from dimtensor.errors import GraphError
from dimtensor.model.parameters import Parameter
from dimtensor.tensor.autodiff import grad_by_pieces
from dimtensor.tensor.constructors import arange, length
from dimtensor.tensor.evaluate import inputs_of
from dimtensor.tensor.graphs.substitution import substitute
from dimtensor.tensor.inputs import tensor
from dimtensor.tensor.joining import concat

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

FLAT = "unconstrained"


@dataclass(frozen=True, eq=False)
class Assembly:
    """A model as expressions of its flat vector.

    Attributes
    ----------
    flat : DimTensor
        The vector: an input with the one dim ``unconstrained``.
    constrained : dict of DimTensor to DimTensor
        For each parameter its values.
    value : DimTensor
        The log density of the vector.
    logp : DimTensor
        The log density of the parameters, without Jacobians.
    jacobian : bool
        Whether the log Jacobians of transforms are part of `value`.
    pieces : tuple of DimTensor
        The elements of `flat` in order, cut by parameter.
    differentiate : callable
        It makes the gradient.
    """

    flat: DimTensor
    constrained: dict[DimTensor, DimTensor]
    value: DimTensor
    logp: DimTensor
    jacobian: bool
    pieces: tuple[DimTensor, ...]
    differentiate: Callable[[], DimTensor]

    @cached_property
    def gradient(self) -> DimTensor:
        """Gradient of `value` with respect to `flat`."""
        return self.differentiate()


def assemble(logp: DimTensor, parameters: Sequence[Parameter], jacobian: bool) -> Assembly:
    """Put a log density together with the transforms of its parameters."""
    sizes = [parameter.static_size for parameter in parameters]
    known = None if None in sizes else sum(sizes)  # type: ignore[arg-type]
    flat = tensor(FLAT, dims=Dim(FLAT, length=known))
    pieces = _cut(flat, parameters)
    constrained: dict[DimTensor, DimTensor] = {}
    log_jacobians: list[DimTensor] = []
    for parameter, piece in zip(parameters, pieces, strict=True):
        support = _support_with_values(parameter, constrained)
        values, log_jacobian = support.constrain(_with_free_dims(piece, parameter))
        constrained[parameter.tensor] = values.astype(parameter.tensor.dtype)
        if log_jacobian is not None:
            log_jacobians.append(log_jacobian)
    value = substitute(logp, constrained).astype("float64")
    if jacobian:
        for log_jacobian in log_jacobians:
            value = value + log_jacobian
    gradient = partial(grad_by_pieces, value, flat, pieces)
    return Assembly(flat, constrained, value, logp, jacobian, tuple(pieces), gradient)


def _support_with_values(parameter: Parameter, before: dict[DimTensor, DimTensor]) -> Support:
    """Replace parameters in the bounds of a support by their values."""
    support = parameter.support
    if not support.tensors:
        return support
    late = [x.name for x in inputs_of(support.tensors) if x not in before]
    if late:
        raise GraphError(
            f"a bound of {parameter.name!r} depends on parameters that do not come before it",
            [("parameters", ", ".join(map(repr, late)))],
            "change the order of the supports",
        )
    return support.map_tensors(lambda x: substitute(x, before))


def _cut(flat: DimTensor, parameters: Sequence[Parameter]) -> list[DimTensor]:
    """Cut a flat vector into the raveled free elements of the parameters."""
    (along,) = flat.dims
    pieces = []
    start: Any = 0
    for parameter in parameters:
        size = parameter.static_size
        product = _raveled(parameter.free_dims)
        if size is None or not isinstance(start, int):  # the place or length comes with the data
            pieces.append(flat.isel({along: start if product is None else arange(product) + start}))
            start = start + (size if product is None else length(product))
            continue
        if product is None:
            piece = flat.isel({along: start})
        else:
            piece = flat.isel({along: slice(start, start + size)})
            piece = piece.relabel(piece.dims[0], product)
        pieces.append(piece)
        start += size
    return pieces


def _raveled(dims: Dims) -> Dim | None:
    return ProductDim(dims) if dims else None


def _with_free_dims(piece: DimTensor, parameter: Parameter) -> DimTensor:
    return piece.unravel() if len(parameter.free_dims) > 1 else piece


def join(pieces: Sequence[DimTensor]) -> DimTensor:
    """Ravel pieces in canonical order and concatenate them."""
    raveled = []
    for piece in pieces:
        if not piece.dims:
            piece = piece.expand(Dim("element", length=1))
        raveled.append(piece.ravel())
    return concat(raveled, [piece.dims[0] for piece in raveled], name=FLAT)


def inverse(parameters: Sequence[Parameter]) -> DimTensor:
    """Express the flat vector in terms of the parameters."""
    return join([p.support.unconstrain(p.tensor).astype("float64") for p in parameters])
