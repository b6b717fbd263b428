"""Distributions: densities, probabilities, moments and draws as expressions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from dimtensor.dims import (
    Dim,
    Dims,
    ancestors,
    canonical_dims,
    refuse_ragged,
    sort_dims,
    union,
    without,
)
from dimtensor.dist.conditions import Condition, in_support, with_known_parameters
from dimtensor.dist.given import KnownElements, KnownPrefix, known_start, refusal
from dimtensor.dist.parameters import (
    float_dtype,
)
from dimtensor.dist.probabilities import at_most_zero, count_below
from dimtensor.dist.state import HasState
from dimtensor.dist.supports import Support
from dimtensor.errors import GraphError, printable
from dimtensor.graph import Node
from dimtensor.renderers import html
from dimtensor.spellings.distributions import Spelled
from dimtensor.tensor.elementwise import (
    exp,
    log1mexp,
    sqrt,
)
from dimtensor.typing import DimsLike

if TYPE_CHECKING:
    from dimtensor.random.generator import Generator
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class Distribution(
    HasState, Spelled, ABC, state=("name", "discrete", "event_dims", "_own_dims", "_hidden_dims")
):
    """Base class of distributions.

    Parameters are numbers and dims-tensors, and methods build expressions of them; nothing is drawn
    or computed before these are evaluated.

    Attributes
    ----------
    name : str
        Name of the family.
    discrete : bool
        True if values are whole numbers.
    event_dims : tuple of Dim
        Dims along which elements have one joint density. A log density has none of them.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> d = dist.Normal(0.0, 2.0)
    >>> float(d.logp(1.0).eval().round(4))
    -1.7371
    >>> d.support
    real
    >>> d.cdf(0.0).item(), d.icdf(0.5).item(), d.implements("icdf")
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
    # unless a subclass computes `parameters` or `support`
    _parameters: Mapping[str, DimTensor]
    _support: Support
    _is_singular = False  # draws depend on fewer numbers, which models sample
    _is_per_parent: ClassVar[bool] = False  # along a ragged dim: independent for each parent
    _own_dims: Dims = ()  # of draws, beside those of parameters
    _hidden_dims: Dims = ()  # of parameters, which draws do not have

    def __init_subclass__(cls, **options: Any) -> None:
        """Round the log probabilities of all subclasses to at most 0."""
        super().__init_subclass__(**options)
        for what in {"logcdf", "logsf"} & vars(cls).keys():
            setattr(cls, what, at_most_zero(vars(cls)[what]))

    @property
    def parameters(self) -> Mapping[str, DimTensor]:
        """Parameters by name."""
        return self._parameters

    @property
    def dims(self) -> Dims:
        """Dims of one draw: those of the parameters, and `event_dims`.

        Raises
        ------
        RaggedDimError
            If an event dim is ragged, and the distribution is not one of each parent then.
        """
        self._refuse_ragged()
        sets = [self._own_dims, self.event_dims, *(p.dims for p in self.parameters.values())]
        return without(sort_dims(union(sets, self.name)), self._hidden_dims)

    def _refuse_ragged(self) -> None:
        """Refuse ragged event dims, unless the distribution is one of each parent then."""
        if not self._is_per_parent:
            for dim in self.event_dims:
                refuse_ragged(dim, self.name)

    def _set_dims(self, dims: Dims) -> None:
        """Declare the dims of draws, where parameters have others or lack some of them."""
        self._own_dims = dims
        carried = dict.fromkeys(dim for _, x in self._shown() for dim in x.dims)
        self._hidden_dims = without(tuple(carried), dims)

    def _check_dims(self) -> None:
        """Raise an error if two dims of one name meet."""
        _ = self.dims

    def _lost_dims(self) -> Dims:
        """Dims of parameters that draws do not have."""
        carried = dict.fromkeys(dim for _, x in self._shown() for dim in x.dims)
        return without(tuple(carried), self.dims)

    def _without_own_dims(self, dims: Dims) -> Distribution:
        """Return the distribution with these dims only if parameters have them."""
        if not self._own_dims:
            return self
        return self._from_state({**self._state(), "_own_dims": without(self._own_dims, dims)})

    def _nested(self) -> Iterator[Distribution]:
        """Distributions that this one is made of."""
        for part in self._state().values():
            for each in part if isinstance(part, (list, tuple)) else (part,):
                if isinstance(each, Distribution):
                    yield each

    @property
    def support(self) -> Support:
        """Support of one draw, with its transform from unconstrained numbers."""
        return self._support

    @property
    def categories(self) -> Dim | None:
        """Dim whose labels are the outcomes of a categorical distribution; None for numbers."""
        return None

    @property
    def dtype(self) -> str:
        """Dtype of draws."""
        return "int64" if self.discrete else float_dtype(self._nodes)

    @property
    def _nodes(self) -> list[Node]:
        return [node for _, node in self._shown()]

    @property
    def _tensor_nodes(self) -> list[Node]:
        """Nodes of the parameters that are not constants, which have no dtype of their own."""
        return [node for node in self._nodes if node.kind != "constant"]

    @abstractmethod
    def logp(self, x: TensorLike) -> DimTensor:
        """Return the log density, or the log probability of a discrete value.

        Parameters
        ----------
        x : DimTensor, number, DataArray or Series

        Returns
        -------
        DimTensor
            With the dims of `x` and of the parameters, without `event_dims`. It is -inf outside of
            the support.

        Raises
        ------
        DimError
            If `x` lacks an event dim.
        DtypeError
            If `x` is not a number, or neither a label nor a position where outcomes have labels.
        """

    def logcdf(self, x: TensorLike) -> DimTensor:
        """Return the log of the cumulative distribution function.

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

    def logsf(self, x: TensorLike) -> DimTensor:
        """Return the log of the survival function: of the probability of values above `x`.

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

    def cdf(self, x: TensorLike) -> DimTensor:
        """Return the cumulative distribution function.

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
        """Return the log probability of values strictly below a number."""
        return self.logcdf(count_below(x) if self.discrete else x)

    def _logsf_from(self, x: Any) -> DimTensor:
        """Return the log probability of values greater than or equal to a number."""
        return self.logsf(count_below(x) if self.discrete else x)

    def icdf(self, q: TensorLike) -> DimTensor:
        """Return the inverse of the cumulative distribution function: the quantile of `q`.

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
        """Return the expectation.

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
        """Return the variance.

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
        """Return the standard deviation.

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
    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        """Draw a value, and return it with the next generator.

        Parameters
        ----------
        rng : generator
            Its methods have NumPy's names and return a value and the next generator:
            ``x, rng = rng.normal(mu, sigma, dims=...)``.
        dims : Dim or iterable of Dim, optional
            Additional dims, along which draws are independent.

        Returns
        -------
        DimTensor, generator
        """

    def _draw_given(self, rng: Any, given: KnownElements, dims: DimsLike) -> tuple[DimTensor, Any]:
        """Draw the remaining elements of an event conditional on some of them.

        Raises
        ------
        GraphError
            If there is no formula for it.
        """
        raise refusal(self, given)

    def _conditions(self, x: DimTensor) -> list[Condition]:
        """Return the conditions on possible values, as far as parameters are known."""
        return [*in_support(self.support, x), *with_known_parameters(self, x)]

    def implements(self, what: str) -> bool:
        """Return whether a method has a formula.

        Quantiles without a formula are found by bisection of the cdf.

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
        whole = (*self.dims, *(dim for dim in asked if dim not in self.dims))
        # values of parents are looked up at the positions of a ragged dim
        parents = {above for dim in whole for above in ancestors(dim)}
        return canonical_dims(without(whole, parents), f"the dims of a draw of {self.name}")

    @printable
    def __repr__(self) -> str:
        return (
            f"{self.name}({', '.join(f'{x}={parameter_text(node)}' for x, node in self._shown())})"
        )

    def _repr_html_(self) -> str:
        return html(self)

    def _shown(self) -> list[tuple[str, Node]]:
        return [(name, tensor.node) for name, tensor in self.parameters.items()]


class PathDistribution(Distribution):
    """Distribution of a series whose elements are drawn one after the other."""

    dim: Dim

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        return self._path(rng, dims, KnownPrefix())

    def _draw_given(self, rng: Any, given: KnownElements, dims: DimsLike) -> tuple[DimTensor, Any]:
        return self._path(rng, dims, known_start(self, given, self.dim))

    @abstractmethod
    def _path(self, rng: Any, dims: DimsLike, known: KnownPrefix) -> tuple[DimTensor, Any]:
        """Draw a series after its observed elements, if there are any."""


def parameter_text(node: Node) -> str:
    """Return the text of a parameter in a repr."""
    if node.kind == "constant":
        return f"{node.attrs.value.item():g}"
    dims = ", ".join(dim._short for dim in node.dims)
    return f"{node.name or '…'}{{{dims}}}" if dims else node.name or "…"
