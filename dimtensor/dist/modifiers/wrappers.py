"""Base class of distributions that modify another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, sort_dims, union
from dimtensor.dist.conditions import Condition
from dimtensor.dist.distribution import DimsLike, Distribution, parameter_text
from dimtensor.dist.parameters import as_number
from dimtensor.dist.supports import Support
from dimtensor.errors import ArgumentError, OptionError, printable
from dimtensor.graph.dtypes import is_float
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def as_distribution(d: Any, what: str) -> Distribution:
    """Check that an argument is a distribution.

    Raises
    ------
    ArgumentError
        If it is something else.
    """
    if not isinstance(d, Distribution):
        raise ArgumentError(f"{what} takes a distribution, such as dist.Normal(0, 1), not {d!r}")
    return d


def of_numbers(d: Any, what: str) -> Distribution:
    """Check that an argument is a univariate distribution.

    Raises
    ------
    OptionError
        If it is something else.
    """
    if as_distribution(d, what).event_dims:
        raise OptionError(f"{what} takes a distribution of single numbers, not {d.name}")
    return d


def as_value(x: Any, d: Distribution) -> DimTensor:
    """Convert a value of a distribution to a tensor."""
    nodes = [node for node in d._tensor_nodes if is_float(node.dtype)]
    return wrap(as_number(x, nodes, f"a value of {d.name}"))


def in_dtype_of(x: DimTensor, d: Distribution, value: DimTensor) -> DimTensor:
    """Cast a log density to the dtype of the tensors that it depends on."""
    nodes = [x.node, *d._tensor_nodes]
    narrow = is_float(x.dtype) and not any(node.dtype == "float64" for node in nodes)
    return value.astype(x.dtype) if narrow and value.dtype != x.dtype else value


class Wrapper(Distribution, state=("base", "_own")):
    """Distribution that modifies a base distribution."""

    def __init__(self, name: str, base: Distribution, parameters: Mapping[str, DimTensor]):
        self.name, self.base = name, base
        self.discrete = base.discrete
        self._own = dict(parameters)
        self._check_dims()

    @property
    def _is_per_parent(self) -> bool:  # type: ignore[override]
        return self.base._is_per_parent

    @property
    def parameters(self) -> Mapping[str, DimTensor]:
        return {**self.base.parameters, **self._own}

    @property
    def dims(self) -> Dims:
        self._refuse_ragged()
        own = [self.event_dims, *(p.dims for p in self._own.values())]
        return sort_dims(union([self.base.dims, *own], self.name))

    @property
    def support(self) -> Support:
        return self.base.support

    def implements(self, what: str) -> bool:
        return super().implements(what) and self.base.implements(what)

    @printable
    def __repr__(self) -> str:
        own = "".join(f", {name}={parameter_text(p.node)}" for name, p in self._own.items())
        return f"{self.name}({self.base!r}{own})"


class SameValues(Wrapper):
    """Distribution of the values of another one, whose methods it has by default."""

    def __init__(self, name: str, base: Distribution, parameters: Mapping[str, DimTensor]):
        super().__init__(name, base, parameters)
        self.event_dims = base.event_dims

    @property
    def categories(self) -> Dim | None:
        return self.base.categories

    @property
    def dtype(self) -> str:
        return self.base.dtype

    def implements(self, what: str) -> bool:
        return self.base.implements(what)

    def _conditions(self, x: DimTensor) -> list[Condition]:
        return self.base._conditions(x)

    def logp(self, x: Any) -> DimTensor:
        return self.base.logp(x)

    def logcdf(self, x: Any) -> DimTensor:
        return self.base.logcdf(x)

    def logsf(self, x: Any) -> DimTensor:
        return self.base.logsf(x)

    def icdf(self, q: Any) -> DimTensor:
        return self.base.icdf(q)

    def mean(self) -> DimTensor:
        return self.base.mean()

    def variance(self) -> DimTensor:
        return self.base.variance()

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        return self.base.draw(rng, self._draw_dims(dims))
