"""Mixtures over a dim, and user-defined distributions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, canonical_dims, find_dim, sort_dims, union, without
from dimtensor.dist.conditions import Condition, any_of
from dimtensor.dist.distribution import DimsLike, Distribution
from dimtensor.dist.joint.shares import Shares
from dimtensor.dist.joint.vectors import check_shared, drawn_position
from dimtensor.dist.modifiers.bounds import further
from dimtensor.dist.modifiers.inversion import inverted
from dimtensor.dist.modifiers.wrappers import as_distribution, as_value
from dimtensor.dist.parameters import as_parameter
from dimtensor.dist.supports import Bounded, Integers, Support, real
from dimtensor.errors import ArgumentError, DimError, OptionError, build_message, printable
from dimtensor.spellings import spelled
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.elementwise import equal, log, maximum, minimum, square, where

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class Mixture(Distribution, state=("weights", "parts", "dim", "_shares")):
    """Mixture of distributions with weights along a dim."""

    name = "mixture"

    def __init__(self, weights: DimTensor, parts: Distribution | list[Distribution], dim: Dim):
        self.weights, self.parts, self.dim = weights, parts, dim
        self._shares = Shares(weights, dim, "weights of mixture")
        each = self._each
        self.discrete = each[0].discrete
        self.event_dims = each[0].event_dims
        self._check_dims()

    @property
    def _each(self) -> list[Distribution]:
        return self.parts if isinstance(self.parts, list) else [self.parts]

    @property
    def parameters(self) -> Mapping[str, DimTensor]:
        found = {"weights": self.weights}
        if not isinstance(self.parts, list):
            return {**found, **self.parts.parameters}
        for at, part in enumerate(self.parts):
            found |= {f"{name}_{at}": p for name, p in part.parameters.items()}
        return found

    @property
    def _probabilities(self) -> DimTensor:
        """The weights, checked where they are used."""
        return self._shares.checked(self.weights)

    @property
    def dims(self) -> Dims:
        self._refuse_ragged()  # one component would be that of all parents
        sets = [self.weights.dims, *(part.dims for part in self._each)]
        return without(sort_dims(union(sets, "mixture")), [self.dim])

    @property
    def support(self) -> Support:
        """Smallest interval that contains the supports of all components."""
        supports = [part.support for part in self._each]
        if self.event_dims:
            return supports[0]
        lows, highs = zip(*(support.bounds() for support in supports), strict=True)
        low = self._outermost(lows, min, minimum, "min")
        high = self._outermost(highs, max, maximum, "max")
        numbers = all(bound is None or isinstance(bound, float) for bound in (*lows, *highs))
        if numbers and len(set(zip(lows, highs, strict=True))) == 1:
            return supports[0]
        if self.discrete:
            return Integers(low, high)
        return real if low is None and high is None else Bounded(low, high)

    def _outermost(self, bounds: Sequence[Any], of_numbers: Any, of_two: Any, along: str) -> Any:
        """Combine the bounds of the components; None if one of them is unbounded."""
        if any(bound is None for bound in bounds):
            return None
        each = (
            bound
            if isinstance(bound, float) or self.dim not in bound.dims
            else getattr(bound, along)(self.dim)
            for bound in bounds
        )
        return reduce(lambda one, other: further(one, other, of_two, of_numbers), each)

    @printable
    def __repr__(self) -> str:
        return f"mixture({self.parts!r}, dim={self.dim._short})"

    def _of_parts(self, what: Callable[[Distribution], DimTensor]) -> DimTensor:
        """Evaluate a function of each component, along the dim of the mixture."""
        if not isinstance(self.parts, list):
            return what(self.parts)
        total: Any = None
        for at, part in enumerate(self.parts):
            here = where(equal(arange(self.dim), at), what(part), 0.0 if total is None else total)
            total = here
        return total

    def _mixed(self, what: str, x: Any) -> DimTensor:
        x = as_value(x, self)
        logs = self._of_parts(lambda part: getattr(part, what)(x))
        return (log(self._probabilities) + logs).logsumexp(self.dim)

    def _conditions(self, x: DimTensor) -> list[Condition]:
        return any_of([part._conditions(x) for part in self._each], self.dim)

    def logp(self, x: Any) -> DimTensor:
        return self._mixed("logp", x)

    def logcdf(self, x: Any) -> DimTensor:
        return self._mixed("logcdf", x)

    def logsf(self, x: Any) -> DimTensor:
        return self._mixed("logsf", x)

    def _logcdf_below(self, x: Any) -> DimTensor:
        return self._mixed("_logcdf_below", x)

    def _logsf_from(self, x: Any) -> DimTensor:
        return self._mixed("_logsf_from", x)

    def implements(self, what: str) -> bool:
        if self.event_dims and what in ("logcdf", "icdf"):
            return False
        return all(part.implements("logcdf" if what == "icdf" else what) for part in self._each)

    def icdf(self, q: Any) -> DimTensor:
        """Invert the cumulative distribution function by bisection."""
        return inverted(self, as_value(q, self))

    def mean(self) -> DimTensor:
        return (self._probabilities * self._of_parts(lambda part: part.mean())).sum(self.dim)

    def variance(self) -> DimTensor:
        whole = self.mean()
        second = self._of_parts(lambda part: part.variance() + square(part.mean() - whole))
        return (self._probabilities * second).sum(self.dim)

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        whole = self._draw_dims(dims)
        apart = without(whole, self.event_dims)
        u, rng = rng.uniform(0.0, 1.0, dims=apart)
        chosen = drawn_position(self._probabilities, self.dim, u)
        values: list[DimTensor] = []
        for part in self._each:
            more = [*whole, self.dim] if not isinstance(self.parts, list) else whole
            value, rng = part.draw(rng, [d for d in more if d not in part.dims])
            values.append(value)
        found = values[0]
        if not isinstance(self.parts, list):
            return where(equal(arange(self.dim), chosen), found, 0).sum(self.dim), rng
        for at, value in enumerate(values[1:], 1):
            found = where(equal(chosen, at), value, found)
        return found, rng


@spelled("distribution")
def mixture(
    weights: TensorLike, parts: Distribution | Sequence[Distribution], dim: Dim | str
) -> Mixture:
    """Mix distributions with weights along a dim, which is summed out.

    Parameters
    ----------
    weights : DimTensor
        Probabilities along the dim, with sum 1.
    parts : Distribution or sequence of Distribution
        One whose parameters have the dim, or one for each of its positions.
    dim : Dim or str
        The dim.

    Returns
    -------
    Distribution
        Without the dim. Its support goes from the lowest to the highest value of a part.

    Raises
    ------
    DimError
        If the weights lack the dim or have an event dim of a part, or
        the number of parts is not the dim's length.
    OptionError
        If a part is no distribution or draws labels, they are discrete and continuous ones, or
        known weights do not add up to 1.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> k = dt.Dim("k", length=2)
    >>> weights = dt.data([0.3, 0.7], dims=k)
    >>> d = dist.mixture(weights, dist.Normal(dt.data([0.0, 10.0], dims=k), 1.0), dim=k)
    >>> float(d.mean().eval())
    7.0
    """
    w = as_parameter(weights, "probability", "weights of mixture")
    dim = find_dim(w.dims, dim, "mixture")
    one = isinstance(parts, Distribution)
    given = [parts] if isinstance(parts, Distribution) else parts
    each = [as_distribution(part, "mixture") for part in given]
    if not one and dim.length is not None and len(each) != dim.length:
        raise DimError(
            f"mixture: there are {len(each)} parts and {dim._title} has length {dim.length}"
        )
    labeled = [part.name for part in each if part.categories is not None]
    if labeled:
        raise OptionError(
            build_message(
                f"mixture takes distributions of numbers, and {labeled[0]} has labels",
                hint="mix their probabilities: dist.Categorical((weights * p).sum(dim), dim=...)",
            )
        )
    kinds = {(part.discrete, part.event_dims) for part in each}
    if len(kinds) != 1:
        raise OptionError(
            build_message(
                "mixture: its parts are all discrete or all continuous, over the same dims",
                [("parts", ", ".join(part.name for part in each))],
            )
        )
    if dim in each[0].event_dims:
        raise DimError(
            f"mixture: {dim._short} is an event dim of {each[0].name}, and cannot index its "
            "components"
        )
    check_shared("weights of mixture", w, each[0].event_dims)
    return Mixture(w, each[0] if one else each, dim)


class Custom(Distribution, state=("_parameters", "_functions", "_support")):
    """User-defined distribution."""

    def __init__(
        self,
        name: str,
        parameters: Mapping[str, DimTensor],
        functions: Mapping[str, Callable[..., Any] | None],
        support: Support,
        event_dims: Dims,
    ):
        self.name = name
        self._parameters, self._functions = dict(parameters), dict(functions)
        self._support, self.event_dims = support, event_dims
        self.discrete = support.discrete
        self._check_dims()

    def implements(self, what: str) -> bool:
        return self._functions[what] is not None

    def _call(self, what: str, *operands: Any, **options: Any) -> Any:
        function = self._functions[what]
        if function is None:
            raise self._missing(what, "it was made without one")
        return function(*operands, **options, **self._parameters)

    def logp(self, x: Any) -> DimTensor:
        return self._call("logp", as_value(x, self))

    def logcdf(self, x: Any) -> DimTensor:
        return self._call("logcdf", as_value(x, self))

    def icdf(self, q: Any) -> DimTensor:
        return self._call("icdf", as_value(q, self))

    def mean(self) -> DimTensor:
        return self._call("mean")

    def variance(self) -> DimTensor:
        return self._call("variance")

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        return self._call("draw", rng, dims=self._draw_dims(dims))


_FUNCTIONS = ("draw", "logcdf", "icdf", "mean", "variance")


def _arguments_of(logp: Callable[..., Any]) -> list[str]:
    """Return the names of the arguments of a log density after the value."""
    try:
        known = list(inspect.signature(logp).parameters.values())
    except (TypeError, ValueError):  # of compiled code
        return []
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [one.name for one in known[1:] if one.kind in named]


def custom(
    logp: Callable[..., Any],
    support: Support,
    draw: Callable[..., Any] | None = None,
    *,
    logcdf: Callable[..., Any] | None = None,
    icdf: Callable[..., Any] | None = None,
    mean: Callable[..., Any] | None = None,
    variance: Callable[..., Any] | None = None,
    event_dims: DimsLike = None,
    name: str = "custom",
    **parameters: TensorLike,
) -> Custom:
    """Make a distribution from a log density and, optionally, other functions.

    Random variables and data that the functions capture are part of a model, as
    parameters are: :func:`dimtensor.rv` calls the functions, and finds them. The variable has the
    dims of its log density.

    Parameters
    ----------
    logp : callable
        ``logp(x, **parameters)``.
    support : Support
        Where values lie.
    draw : callable, optional
        ``draw(rng, dims=..., **parameters)``, which gives a value with these dims and the generator
        after it.
    logcdf, icdf, mean, variance : callable, optional
        Of a value, or a probability, and the parameters.
    event_dims : Dim or iterable of Dim, optional
        Event dims: `logp` has none of them.
    name : str
    **parameters : DimTensor or number
        An argument that `logp` names is a parameter, also one that is called `mean` or `name`.

    Returns
    -------
    Distribution

    Raises
    ------
    ArgumentError
        If `logp` is no function, or one of the others is none.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> def logp(x, rate):
    ...     return dt.log(rate) - rate * x
    >>> d = dist.custom(logp, dt.positive, rate=2.0)
    >>> float(d.logp(1.0).eval().round(4))
    -1.3069
    """
    if not callable(logp):
        raise ArgumentError(
            f"custom: logp is a function of a value and the parameters, not {logp!r}"
        )
    own: dict[str, Any] = {
        "draw": draw, "logcdf": logcdf, "icdf": icdf, "mean": mean, "variance": variance,
        "event_dims": event_dims, "name": name,
    }  # fmt: skip
    for key in _arguments_of(logp):
        if own.get(key) is not None and not (key == "name" and isinstance(name, str)):
            parameters[key] = own.pop(key)
    event_dims, name = own.get("event_dims"), own.get("name", "custom")
    functions = {"logp": logp, **{key: own.get(key) for key in _FUNCTIONS}}
    for key, function in functions.items():
        if function is not None and not callable(function):
            raise ArgumentError(
                build_message(
                    f"{name}: {key} is a function, not {function!r}",
                    hint=f"a parameter of this name is an argument of logp: "
                    f"def logp(x, {key}): ...",
                )
            )
    known = {
        key: as_parameter(value, "bound", f"{key} of {name}") for key, value in parameters.items()
    }
    dims = canonical_dims(event_dims, f"the event dims of {name}")
    return Custom(name, known, functions, support, dims)
