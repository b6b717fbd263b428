"""Distributions as values: densities, probabilities, moments and draws as expressions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, canonical_dims
from dimtensor.dist.conditions import Condition, at_ends, either, in_support, with_known_parameters
from dimtensor.dist.given import Given, refusal
from dimtensor.dist.parameters import (
    Values,
    as_float,
    as_number,
    common_dims,
    float_dtype,
    read_arguments,
)
from dimtensor.dist.probabilities import at_most_zero, count_below
from dimtensor.dist.supports import Support
from dimtensor.dist.table import Missing, Row
from dimtensor.errors import GraphError, build_message, named_after, printable
from dimtensor.graph import Node
from dimtensor.graph.dtypes import is_float
from dimtensor.renderers import html
from dimtensor.spellings.distributions import Spelled
from dimtensor.tensor.constructors import full
from dimtensor.tensor.elementwise import (
    equal,
    exp,
    floor,
    isneginf,
    isposinf,
    log1mexp,
    logical_not,
    sqrt,
    where,
)
from dimtensor.tensor.handle import TensorHandle, constant, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

DimsLike = Dim | Iterable[Dim] | None


class Distribution(Spelled, ABC):
    """A distribution: what :class:`dimtensor.dist.Normal` and its like make.

    It is a value. Its parameters are numbers and dims-tensors, and its methods build expressions of
    them; nothing is drawn or computed before these are.

    Its ``name`` is that of the family, ``discrete`` says whether values are whole numbers, and
    ``event_dims`` lists the dims along which elements belong together: a log density has none of
    them.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> d = dist.Normal(0.0, 2.0)
    >>> float(d.logp(1.0).eval().round(4))
    -1.7371
    >>> d.support
    real
    >>> d.cdf(0.0).item(), d.icdf(0.5).item(), d.knows("icdf")
    (0.5, 0.0, True)
    >>> d.logcdf(0.0) is d.logsf(0.0)
    False
    >>> d.mean().item(), d.variance().item(), d.std().item()
    (0.0, 4.0, 2.0)
    >>> x, rng = d.draw(dt.random.generator(1), dims=dt.Dim("k", length=3))
    >>> x.sizes
    {'k': 3}
    """

    name: str
    event_dims: Dims = ()
    discrete = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Round the log probabilities of all subclasses to at most 0."""
        super().__init_subclass__(**options)
        for what in {"logcdf", "logsf"} & vars(cls).keys():
            setattr(cls, what, at_most_zero(vars(cls)[what]))

    def __reduce__(self) -> tuple:
        from dimtensor.dist.laws import reduced

        return reduced(self)

    @property
    @abstractmethod
    def parameters(self) -> Mapping[str, DimTensor]:
        """What the distribution was given, by name."""

    @property
    @abstractmethod
    def dims(self) -> Dims:
        """Dims of one draw: those of the parameters, and those along which elements belong."""

    @property
    @abstractmethod
    def support(self) -> Support:
        """Where draws lie."""

    @property
    def categories(self) -> Dim | None:
        """The dim whose labels draws are; None for numbers."""
        return None

    @property
    def dtype(self) -> str:
        """The dtype of draws."""
        return "int64" if self.discrete else float_dtype(self._nodes)

    @property
    def _nodes(self) -> list[Node]:
        return [node for _, node in self._shown()]

    @abstractmethod
    def logp(self, x: Any) -> DimTensor:
        """Logarithm of the density, or of the probability of a discrete value.

        Parameters
        ----------
        x : DimTensor, number, DataArray or Series

        Returns
        -------
        DimTensor
            With the dims of `x` and of the parameters, without `event_dims`. It is -inf outside of
            the support.
        """

    def logcdf(self, x: Any) -> DimTensor:
        """Logarithm of the probability of values up to `x`.

        Parameters
        ----------
        x : DimTensor or number

        Returns
        -------
        DimTensor

        Raises
        ------
        GraphError
            If the distribution has no formula for it.
        """
        raise self._missing("logcdf", "it is not implemented")

    def logsf(self, x: Any) -> DimTensor:
        """Logarithm of the probability of values above `x`.

        Parameters
        ----------
        x : DimTensor or number

        Returns
        -------
        DimTensor

        Raises
        ------
        GraphError
            If the distribution has no formula for it.
        """
        return log1mexp(self.logcdf(x))

    def cdf(self, x: Any) -> DimTensor:
        """Probability of values up to `x`.

        Parameters
        ----------
        x : DimTensor or number

        Returns
        -------
        DimTensor

        Raises
        ------
        GraphError
            If the distribution has no formula for it.
        """
        return exp(self.logcdf(x))

    def _logcdf_below(self, x: Any) -> DimTensor:
        """Log probability of values below a number, which may have a probability itself."""
        return self.logcdf(count_below(x) if self.discrete else x)

    def _logsf_from(self, x: Any) -> DimTensor:
        """Log probability of values from a number on."""
        return self.logsf(count_below(x) if self.discrete else x)

    def icdf(self, q: Any) -> DimTensor:
        """The quantile of a probability; of a discrete distribution the smallest that reaches it.

        Parameters
        ----------
        q : DimTensor or number
            Probabilities.

        Returns
        -------
        DimTensor
            NaN where `q` is no probability.

        Raises
        ------
        GraphError
            If the distribution has no formula for it.
        """
        raise self._missing("icdf", "it is not implemented")

    def mean(self) -> DimTensor:
        """The expectation.

        Returns
        -------
        DimTensor

        Raises
        ------
        GraphError
            If the distribution has none, or no formula for it.
        """
        raise self._missing("mean", "it is not implemented")

    def variance(self) -> DimTensor:
        """The variance.

        Returns
        -------
        DimTensor

        Raises
        ------
        GraphError
            If the distribution has none, or no formula for it.
        """
        raise self._missing("variance", "it is not implemented")

    def std(self) -> DimTensor:
        """The standard deviation.

        Returns
        -------
        DimTensor

        Raises
        ------
        GraphError
            If the distribution has none, or no formula for it.
        """
        return sqrt(self.variance())

    @abstractmethod
    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        """One draw, and the generator after it.

        Parameters
        ----------
        rng : generator
            Its methods have NumPy's names and return a value and the next generator:
            ``x, rng = rng.normal(mu, sigma, dims=...)``.
        dims : Dim or iterable of Dim, optional
            Dims beside those of the distribution: independent draws along them.

        Returns
        -------
        DimTensor, generator
        """

    def _draw_given(self, rng: Any, given: Given, dims: DimsLike) -> tuple[DimTensor, Any]:
        """One draw given some elements, along dims along which they belong together.

        Raises
        ------
        GraphError
            If there is no formula for it.
        """
        raise refusal(self, given)

    def _conditions(self, x: DimTensor) -> list[Condition]:
        """Return the conditions on possible values, as far as parameters are known."""
        return [*in_support(self.support, x), *with_known_parameters(self, x)]

    def knows(self, what: str) -> bool:
        """Whether there is a formula: of ``"logcdf"``, ``"icdf"``, ``"mean"`` or ``"variance"``.

        Parameters
        ----------
        what : {"logcdf", "icdf", "mean", "variance"}

        Returns
        -------
        bool
        """
        return getattr(type(self), what) is not getattr(Distribution, what)

    def _missing(self, what: str, why: str) -> GraphError:
        return GraphError(f"{what} of {self.name}: {why}")

    def _draw_dims(self, dims: DimsLike) -> Dims:
        asked = canonical_dims(dims, f"the dims of a draw of {self.name}")
        return canonical_dims(
            [*self.dims, *(dim for dim in asked if dim not in self.dims)],
            f"the dims of a draw of {self.name}",
        )

    @printable
    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{x}={_text(node)}' for x, node in self._shown())})"

    def _repr_html_(self) -> str:
        return html(self)

    def _shown(self) -> list[tuple[str, Node]]:
        return [(name, tensor.node) for name, tensor in self.parameters.items()]


def _text(node: Node) -> str:
    if node.kind == "constant":
        return f"{node.attrs.value.item():g}"
    dims = ", ".join(dim._short for dim in node.dims)
    return f"{node.name or '…'}{{{dims}}}" if dims else node.name or "…"


class TableDistribution(Distribution):
    """A distribution of the table, with its parameters."""

    def __init__(self, row: Row, arguments: Mapping[str, Any]):
        self.row = row
        self.name = row.name
        self.discrete = row.discrete
        self._parametrisation, self._given = read_arguments(row, arguments)
        self._dims = common_dims(row.name, self._given)

    @property
    def parameters(self) -> Mapping[str, DimTensor]:
        return {name: wrap(node) for name, node in self._given.items()}

    def _shown(self) -> list[tuple[str, Node]]:
        return list(self._given.items())

    @property
    def dims(self) -> Dims:
        return self._dims

    @property
    def support(self) -> Support:
        return self.row.support(self._values(float_dtype(self._nodes)))

    def _values(self, dtype: str) -> Values:
        given = {name: as_float(node, dtype) for name, node in self._given.items()}
        return Values(given, self._parametrisation)

    def _with(self, x: Any, what: str) -> tuple[DimTensor, Values]:
        """A value and the parameters, in the dtype of all of them."""
        known = [node for node in self._given.values() if node.kind != "constant"]
        beside = [node for node in known if is_float(node.dtype)]
        node = as_number(x, beside, f"the value of {self.name}.{what}")
        others = [node for node in self._given.values() if node.kind != "constant"]
        dtype = float_dtype([n for n in (node, *others) if n.kind != "constant"])
        return as_float(node, dtype), self._values(dtype)

    def logp(self, x: Any) -> DimTensor:
        x, p = self._with(x, "logp")
        below, above = self._outside(x, p, self.row.ends)
        outside = either(below, above)
        if self.discrete and self._may_be_broken(x):
            broken = logical_not(equal(x, floor(x)))
            outside = broken if outside is None else outside | broken
        value = self._within(self.row.logp, x, p, outside)
        if outside is None:
            return value
        # added, not chosen: of two values a compiler computes one, and then one element at a time
        zero, nothing = (wrap(constant(number, x.dtype)) for number in (0.0, -math.inf))
        return value + where(outside, nothing, zero)

    def _may_be_broken(self, x: DimTensor) -> bool:
        node = x.node
        while node.kind == "cast":
            node = node.inputs[0]
        return is_float(node.dtype)

    def logcdf(self, x: Any) -> DimTensor:
        return self._tail("logcdf", x)

    def logsf(self, x: Any) -> DimTensor:
        if self.row.logsf is None:
            return log1mexp(self.logcdf(x))
        return self._tail("logsf", x)

    def _tail(self, what: str, x: Any) -> DimTensor:
        formula = self._cell(what)
        x, p = self._with(x, what)
        if self.discrete and self._may_be_broken(x):
            x = floor(x)
        # the probability of everything is 1 from the upper end on
        below, above = self._outside(x, p, self.row.ends[0] + ")")
        value = self._within(formula, x, p, either(below, above))
        first, last = (-math.inf, 0.0) if what == "logcdf" else (0.0, -math.inf)
        if below is not None:
            value = where(below, first, value)
        return value if above is None else where(above, last, value)

    def icdf(self, q: Any) -> DimTensor:
        formula = self._cell("icdf")
        q, p = self._with(q, "icdf")
        possible = (q >= 0.0) & (q <= 1.0)
        return where(possible, formula(where(possible, q, 0.5), p), math.nan)

    def mean(self) -> DimTensor:
        return self._moment("mean")

    def variance(self) -> DimTensor:
        return self._moment("variance")

    def _moment(self, what: str) -> DimTensor:
        formula = self._cell(what)
        dtype = float_dtype([n for n in self._given.values() if n.kind != "constant"])
        value = formula(self._values(dtype))
        if not isinstance(value, TensorHandle):
            return full(self.dims, float(value), dtype)
        return full(self.dims, value)

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        dtype = float_dtype([n for n in self._given.values() if n.kind != "constant"])
        p, whole = self._values(dtype), self._draw_dims(dims)
        if self.row.draw == "icdf":
            u, rng = rng.uniform(0.0, 1.0, dims=whole)
            value = self._cell("icdf")(u, p)
            return value.astype("int64") if self.discrete else value, rng
        return self._cell("draw")(rng, p, whole)

    def _conditions(self, x: DimTensor) -> list[Condition]:
        return [*super()._conditions(x), *at_ends(self, x)]

    def knows(self, what: str) -> bool:
        return callable(getattr(self.row, what))

    def _cell(self, what: str) -> Callable[..., Any]:
        cell = getattr(self.row, what)
        if isinstance(cell, Missing):
            raise GraphError(
                build_message(
                    f"{self.name} has no {'draws' if what == 'draw' else what}: {cell}",
                    [("distribution", repr(self))],
                )
            )
        return cell

    # -- the ends of the support -------------------------------------------------------------------

    def _outside(self, x: DimTensor, p: Values, ends: str) -> tuple[Any, Any]:
        """Whether values are below or above the support; None where that cannot be."""
        low, high = self.row.support(p).bounds()
        below = above = None
        if low is not None:
            below = x < low if ends[0] == "[" else x <= low
        if high is not None:
            above = x > high if ends[1] == "]" else x >= high
        if low is None and high is None and ends == "[]" and not self.discrete:
            return None, None  # formulas for all numbers hold at infinity
        below = isneginf(x) if below is None else below
        return below, isposinf(x) if above is None else above

    def _within(self, formula: Any, x: DimTensor, p: Values, outside: Any) -> DimTensor:
        """A formula where it holds; elsewhere it sees a value at which it is finite."""
        if outside is None:
            return formula(x, p)
        return formula(where(outside, self._inner(p), x), p)

    def _inner(self, p: Values) -> Any:
        """Some value inside of the support."""
        if self.row.inner is not None:
            return self.row.inner(p)
        low, high = self.row.support(p).bounds()
        if self.discrete:
            return next((end for end in (low, high) if end is not None), 0.0)
        if low is None:
            return 0.0 if high is None else high - 1.0
        return low + 1.0 if high is None else 0.5 * (low + high)


named_after(TableDistribution, "Distribution")
