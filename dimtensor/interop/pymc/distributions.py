"""Conversion of random variables of PyTensor and PyMC to distributions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Constant, Variable
from pytensor.tensor.basic import Join, MakeVector
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.type import TensorType

import dimtensor.dist as dist
from dimtensor.dims import Dim, Dims
from dimtensor.dist.distribution import Distribution
from dimtensor.errors import OptionError
from dimtensor.interop.pymc.counterparts import OF_OPS, NoCounterpartError
from dimtensor.interop.pymc.expressions import Axes, ExpressionReader, unwrapped
from dimtensor.interop.pymc.lifted import UnnormalizedCAR


def _require(fits: bool) -> None:
    if not fits:
        raise NoCounterpartError


class DistributionReader:
    """Reader of the distributions of random variables in a positional graph.

    Parameters
    ----------
    reader : ExpressionReader
        Reads parameters.
    """

    def __init__(self, reader: ExpressionReader):
        self._reader = reader

    def of(self, variable: Any, axes: Axes, name: str) -> Distribution:
        """Return the distribution of a random variable whose axes have given dims.

        Raises
        ------
        NoCounterpartError
            If the distribution has no counterpart.
        """
        variable = unwrapped(variable)
        node = variable.owner
        if node is not None and isinstance(node.op, DimShuffle):
            return self.of(node.inputs[0], _before(node, axes), name)
        op = None if node is None else node.op
        kind = type(op).__name__
        if kind in OF_OPS:
            params = op.dist_params(node)  # type: ignore[union-attr]
            if kind == "BernoulliRV" and (odds := _log_odds(params[0])) is not None:
                return dist.Bernoulli(logit_p=self._value(odds, axes))
            return OF_OPS[kind].distribution(*[self._value(p, axes) for p in params])
        if kind not in _METHODS:
            raise NoCounterpartError
        return _METHODS[kind](self, node, axes, name)

    def _value(self, parameter: Any, batch: Axes, core: Dims = ()) -> Any:
        """Read a parameter whose last axes are core axes, after batch axes of the variable."""
        alone = parameter.type.broadcastable
        whole = (*batch, *core)
        own = whole[len(whole) - len(alone) :] if alone else ()
        for dim, one in zip(own, alone, strict=True):
            if dim is None and not one:
                raise NoCounterpartError
        ends = len(alone) - len(core)
        axes = tuple(
            None if one and at < ends else dim
            for at, (dim, one) in enumerate(zip(own, alone, strict=True))
        )
        # constants along a core dim are read without it, but distributions need their core dims
        tensor = self._reader.read(parameter, axes).expand(core)
        node = tensor.node
        return np.asarray(node.attrs.value).item() if node.kind == "constant" else tensor

    def _dim_of(self, parameter: Any, name: str, taken: Sequence[Dim | None]) -> Dim:
        """Return the dim of the last axis of a parameter, or a new one."""
        known = self._reader.axes_of(parameter)[-1]
        if (
            known is not None
            and known not in taken
            and known.name not in {dim.name for dim in taken if dim is not None}
        ):
            return known
        return Dim(name, length=parameter.type.shape[-1])

    # -- vectors -----------------------------------------------------------------------------------

    def _categorical(self, node: Any, axes: Axes, name: str) -> Distribution:
        (p,) = node.op.dist_params(node)
        # without labels, as PyMC's values are positions
        dim = Dim(f"{name}_category", length=p.type.shape[-1])
        return dist.Categorical(self._value(p, axes, (dim,)), dim=dim)

    def _vector(self, node: Any, axes: Axes, name: str) -> Distribution:
        make, ranks, takes_dim = _VECTORS[type(node.op).__name__]
        batch, (event,) = _apart(axes, 1)
        cores: tuple[Dims, ...] = ((), (event,), (event, event.rename()))
        parameters = zip(node.op.dist_params(node), ranks, strict=True)
        values = [self._value(x, batch, cores[rank]) for x, rank in parameters]
        return make(*values, dim=event) if takes_dim else make(*values)

    def _neighbors(self, node: Any, axes: Axes, name: str) -> Distribution:
        mu, W, alpha, tau, _ = node.op.dist_params(node)
        batch, (event,) = _apart(axes, 1)
        _require(isinstance(W.type, TensorType) and W.type.ndim == 2)
        weights = self._value(W, (), (event, event.rename()))
        center = self._value(mu, batch, (event,))
        numbers = [self._value(x, batch) for x in (alpha, tau)]
        try:
            return UnnormalizedCAR(dist.CAR(center, weights, *numbers))
        except OptionError as error:  # weights that are none of neighbors
            raise NoCounterpartError from error

    def _zero_sum_normal(self, node: Any, axes: Axes, name: str) -> Distribution:
        sigma, _ = node.op.dist_params(node)
        return dist.ZeroSumNormal(self._value(sigma, axes), dim=_apart(axes, node.op.ndim_supp)[1])

    def _random_walk(self, node: Any, axes: Axes, name: str) -> Distribution:
        start, step, _ = node.inputs
        at = len(axes) - node.op.ndim_supp
        # PyMC draws innovations and initial values with the time axis first
        inner = (None, *axes[:at], *axes[at + 1 :])
        first, later = self.of(start, inner, name), self.of(step, inner, name)
        return dist.RandomWalk(later, dim=axes[at], start=first)

    def _autoregression(self, node: Any, axes: Axes, name: str) -> Distribution:
        rhos, sigma, start, *_ = node.inputs
        *batch, dim = axes
        if dim is None:
            raise NoCounterpartError
        n = node.op.ar_order
        lag, constant = Dim(f"{name}_lag", length=n), 0.0
        if node.op.constant_term:
            constant, rhos = self._value(rhos[..., 0], tuple(batch)), rhos[..., 1:]
        if rhos.type.shape[-1] is None:
            rhos = pt.specify_shape(rhos, (*[None] * (rhos.type.ndim - 1), n))
        if rhos.type.shape[-1] != n:
            raise NoCounterpartError
        return dist.AR(
            self._value(rhos, tuple(batch), (lag,)),
            self._value(sigma, tuple(batch)),
            dim=dim,
            # parameters that differ between the initial elements are not supported here
            start=self.of(start, (*batch, None), name),
            lag=lag,
            constant=constant,
        )

    # -- distributions of distributions ------------------------------------------------------------

    def _mixture(self, node: Any, axes: Axes, name: str) -> Distribution:
        _, weights, *parts = node.inputs
        events = node.op.ndim_supp
        batch, event = axes[: len(axes) - events], axes[len(axes) - events :]
        if len(parts) == 2 and _is_zero(parts[0]) and not events:
            psi = _second_weight(weights)
            if psi is not None:
                return dist.zero_inflated(self.of(parts[1], axes, name), self._value(psi, batch))
        dim = self._dim_of(weights, f"{name}_component", axes)
        w = self._value(weights, batch, (dim,))
        if len(parts) > 1:
            return dist.mixture(w, [self.of(part, axes, name) for part in parts], dim=dim)
        return dist.mixture(w, self.of(parts[0], (*batch, dim, *event), name), dim=dim)

    def _hurdle(self, node: Any, axes: Axes, name: str) -> Distribution:
        _, weights, zero, rest = node.inputs
        psi = _second_weight(weights)
        if psi is None or not _is_zero(zero):
            raise NoCounterpartError
        rest = unwrapped(rest)
        if isinstance(rest.owner.op, _class_of("Truncated")):
            rest, lower, upper = _base(rest.owner)
            _require(_number(lower) == 1.0 and _number(upper) == math.inf)
        return dist.hurdle(self.of(rest, axes, name), self._value(psi, axes))

    def _censored(self, node: Any, axes: Axes, name: str) -> Distribution:
        base, lower, upper = node.inputs
        return dist.censored(self.of(base, axes, name), *self._bounds(lower, upper, axes))

    def _truncated(self, node: Any, axes: Axes, name: str) -> Distribution:
        base, lower, upper = _base(node)
        return dist.truncated(self.of(base, axes, name), *self._bounds(lower, upper, axes))

    def _bounds(self, lower: Any, upper: Any, axes: Axes) -> list[Any]:
        return [
            None if _number(bound) in (math.inf, -math.inf) else self._value(bound, axes)
            for bound in (lower, upper)
        ]


# distributions of vectors: numbers of event axes of their parameters, and whether they take `dim`
_VECTORS: dict[str, tuple[Callable[..., Distribution], tuple[int, ...], bool]] = {
    "DirichletMultinomialRV": (dist.DirichletMultinomial, (0, 1), True),
    "DirichletRV": (dist.Dirichlet, (1,), True),
    "MultinomialRV": (dist.Multinomial, (0, 1), True),
    "MvNormalRV": (dist.MvNormal, (1, 2), False),
    "MvStudentTRV": (dist.MvStudentT, (0, 1, 2), False),
}
_METHODS: dict[str, Callable[[DistributionReader, Any, Axes, str], Distribution]] = {
    "AutoRegressiveRV": DistributionReader._autoregression,
    "CARRV": DistributionReader._neighbors,
    "CategoricalRV": DistributionReader._categorical,
    "CensoredRV": DistributionReader._censored,
    "MixtureRV": DistributionReader._mixture,
    "RandomWalkRV": DistributionReader._random_walk,
    "TruncatedRV": DistributionReader._truncated,
    "ZeroSumNormalRV": DistributionReader._zero_sum_normal,
    "_HurdleRV": DistributionReader._hurdle,
    **dict.fromkeys(_VECTORS, DistributionReader._vector),
}


def _apart(axes: Axes, events: int) -> tuple[Axes, Dims]:
    """Split axes into those of batch dims and event dims."""
    at = len(axes) - events
    found = tuple(dim for dim in axes[at:] if dim is not None)
    _require(len(found) == events)
    return axes[:at], found


def _before(node: Any, axes: Axes) -> Axes:
    """Return the dims of axes before a dimshuffle."""
    inner: list[Dim | None] = [None] * node.inputs[0].type.ndim
    for dim, at in zip(axes, node.op.new_order, strict=True):
        if at != "x":
            inner[at] = dim
    return tuple(inner)


def _class_of(name: str) -> Any:
    """Return the op class of a PyMC distribution."""
    import pymc

    return getattr(pymc, name).rv_type


def _number(variable: Any) -> float | None:
    """Return the value of a constant with one element, or None."""
    if not isinstance(variable, Constant) or variable.data.size != 1:
        return None
    return float(variable.data.reshape(()))


def _is_zero(part: Any) -> bool:
    part = unwrapped(part)
    node = part.owner
    if node is None or not isinstance(node.op, _class_of("DiracDelta")):
        return False
    (c,) = node.op.dist_params(node)
    while c.owner is not None and isinstance(c.owner.op, DimShuffle):
        (c,) = c.owner.inputs
    return _number(c) == 0.0


def _second_weight(weights: Any) -> Any:
    """Return the second of two mixture weights, or None if it cannot be told apart."""
    if weights.owner is not None and isinstance(weights.owner.op, MakeVector):
        return weights.owner.inputs[1]
    if weights.owner is not None and isinstance(weights.owner.op, Join):
        return weights.owner.inputs[-1][..., 0]
    if isinstance(weights, Constant):
        return pt.constant(weights.data[..., 1])
    return None


def _base(node: Any) -> tuple[Variable, Variable, Variable]:
    """Return the base variable and the bounds of a truncated one."""
    *inputs, lower, upper = node.inputs
    return node.op.base_rv_op.make_node(*inputs).default_output(), lower, upper


def _log_odds(p: Any) -> Any:
    """Return the log odds of a probability that is computed by a sigmoid, or None."""
    if p.owner is None or not isinstance(p.owner.op, Elemwise):
        return None
    return p.owner.inputs[0] if p.owner.op.scalar_op == pt.sigmoid.scalar_op else None
