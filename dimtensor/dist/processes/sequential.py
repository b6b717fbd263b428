"""Sequential distributions with a user-defined step, and order statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, ancestors, find_dim, sort_dims, union, without
from dimtensor.dist.conditions import Condition, in_support
from dimtensor.dist.distribution import DimsLike, Distribution, PathDistribution
from dimtensor.dist.given import KnownPrefix, known_or
from dimtensor.dist.joint.vectors import count_of, first_of
from dimtensor.dist.modifiers.wrappers import Wrapper, as_distribution, as_value
from dimtensor.dist.parameters import as_parameter
from dimtensor.dist.supports import Support
from dimtensor.dist.supports.along import ordered as ordered_along
from dimtensor.dist.supports.along import positive_ordered
from dimtensor.errors import ArgumentError, DimError, OptionError, build_message, printable
from dimtensor.spellings import spelled
from dimtensor.tensor.constructors import full
from dimtensor.tensor.control.loops import scan
from dimtensor.tensor.control.pytree import flatten, unflatten
from dimtensor.tensor.elementwise import gammaln, where
from dimtensor.tensor.handle import as_node, wrap
from dimtensor.tensor.inputs import tensor

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike

After = Callable[[Any], Any]


class Series(
    PathDistribution, state=("step", "dim", "_own", "_init", "_init_tree", "_xs", "_xs_tree")
):
    """Elements along a dim, each with a distribution that depends on those before it.

    The density is the product of those of all elements, each given the state before it.

    Parameters
    ----------
    step : callable
        ``step(state, **parameters)``, or ``step(state, x, **parameters)`` where there are `xs`,
        returns the distribution of an element, and a function of the element to the next state.
    init : tree of DimTensor and numbers
        The state before the first element, as in :func:`dimtensor.scan`.
    dim : Dim
        The dim of the series.
    xs : tree of DimTensor, optional
        Further inputs of the steps: tensors with the dim.
    **parameters : DimTensor or number
        What steps depend on. What else `step` reads is found, too, by :func:`dimtensor.rv`.

    Raises
    ------
    ArgumentError
        If `step` is no function, or returns something else.
    DimError
        If the distribution of an element has the dim of the series.

    Examples
    --------
    An autoregression.

    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> time = dt.Dim("time", length=3)
    >>> def step(before, rho):
    ...     return dist.Normal(rho * before, 1.0), lambda value: value
    >>> d = dist.Series(step, 0.0, dim=time, rho=0.5)
    >>> float(d.logp(dt.data([1.0, 0.5, 0.25], dims=time)).eval().round(4))
    -3.2568
    """

    name = "Series"
    _is_per_parent = True

    def __init__(
        self,
        step: Callable[..., Any],
        init: Any,
        /,
        *,
        dim: Dim,
        xs: Any = None,
        **parameters: TensorLike,
    ):
        if not callable(step):
            raise ArgumentError(f"Series: step is a function of a state, not {step!r}")
        if not isinstance(dim, Dim):
            raise DimError(f"Series: dim is the Dim of the series, not {dim!r}")
        self.step, self.dim = step, dim
        self._own = {
            key: as_parameter(value, "bound", f"{key} of Series")
            for key, value in parameters.items()
        }
        self._init, self._init_tree = _leaves(init, "init")
        self._xs, self._xs_tree = _leaves(xs, "xs")
        first, batch = self._settled(())[1:]
        if dim in first.dims:
            raise DimError(f"Series: an element has {dim._short}, the dim of the series")
        self.discrete, self.event_dims = first.discrete, sort_dims((dim, *first.event_dims))
        self._set_dims(sort_dims((dim, *without(batch, ancestors(dim)))))

    @property
    def parameters(self) -> Mapping[str, DimTensor]:
        states = {f"init_{at}": leaf for at, leaf in enumerate(self._init)}
        return {**self._own, **states, **{f"x_{at}": leaf for at, leaf in enumerate(self._xs)}}

    @property
    def support(self) -> Support:
        """Support of the first element."""
        return self._settled(())[1].support

    @property
    def categories(self) -> Dim | None:
        return self._settled(())[1].categories

    @printable
    def __repr__(self) -> str:
        shown = ", ".join(name for name in self._own)
        return f"Series({self.dim._short}{'; ' if shown else ''}{shown})"

    def _step(self, state: Any, x: Any) -> tuple[Distribution, After]:
        """Return the distribution of an element, and the function to the next state."""
        given = () if self._xs_tree is None else (x,)
        found = self.step(state, *given, **self._own)
        if not (isinstance(found, tuple) and len(found) == 2 and callable(found[1])):
            raise ArgumentError(
                build_message(
                    "Series: a step returns a pair, the distribution of an element and a function "
                    "of the element to the next state",
                    [("returned", repr(found))],
                    "return dist.Normal(state, 1.0), lambda value: value",
                )
            )
        return as_distribution(found[0], "Series"), found[1]

    def _sequences(self) -> Any:
        return None if self._xs_tree is None else unflatten(self._xs_tree, self._xs)

    def _settled(self, dims: Dims) -> tuple[Any, Distribution, Dims]:
        """Return the first state with the dims of all states, the first distribution, and its dims.

        States keep their dims in a loop. They get those of the elements, whose dims are those of
        the parameters and the states: these are found by some steps outside of the loop.
        """
        leaves = list(self._init)
        x = None
        if self._xs_tree is not None:
            # of values of parents, one for each stands for those at the positions
            one = [first_of(x, self.dim) if self.dim in x.dims else x for x in self._xs]
            x = unflatten(self._xs_tree, one)
        while True:
            state = unflatten(self._init_tree, leaves)
            d, after = self._step(state, x)
            whole = sort_dims(union([d.dims, without(dims, [self.dim])], "Series"))
            value = tensor(None, whole, d.dtype, d.categories)
            following = flatten(after(value))[0]
            if len(following) != len(leaves):
                return state, d, whole  # the loop says what is wrong
            nodes = [as_node(leaf) for leaf in following]
            more = [without(n.dims, x.dims) for n, x in zip(nodes, leaves, strict=True)]
            if not any(more):
                return state, d, whole
            leaves = [full(sort_dims((*leaf.dims, *new)), leaf)
                      for leaf, new in zip(leaves, more, strict=True)]  # fmt: skip

    def _conditions(self, x: DimTensor) -> list[Condition]:
        # bounds that depend on the state differ from step to step
        return in_support(self.support, x) if not getattr(self.support, "tensors", ()) else []

    def logp(self, x: TensorLike) -> DimTensor:
        """Logarithm of the density of a whole series.

        Raises
        ------
        DimError
            If the values lack the dim of the series.
        """
        return self._logp_ahead(x).sum(self.dim)

    def _logp_ahead(self, x: Any) -> DimTensor:
        """Log densities of elements given those before them."""
        value = wrap(as_node(x, what="a value of Series"))
        if self.dim not in value.dims:
            raise DimError(f"a value of Series lacks {self.dim._title}, the dim of the series")
        init = self._settled(value.dims)[0]

        def step(state: Any, given: Any) -> Any:
            element, x = given
            d, after = self._step(state, x)
            return after(element), d.logp(element)

        return scan(step, init, (value, self._sequences()), self.dim)[1]

    def _path(self, rng: Any, dims: DimsLike, known: KnownPrefix) -> tuple[DimTensor, Any]:
        whole = self._draw_dims(dims)
        init, _, each = self._settled(whole)
        each = without(each, ancestors(self.dim))

        def step(state: Any, xs: Any) -> Any:
            (before, rng), (x, *known) = state, xs
            d, after = self._step(before, x)
            value, rng = d.draw(rng, without(each, d.dims))
            value = known_or(known, value)
            return (after(value), rng), value

        (_, rng), values = scan(step, (init, rng), (self._sequences(), *known.along), self.dim)
        return values, rng


def _leaves(value: Any, what: str) -> tuple[list[DimTensor], Any]:
    """Flatten a tree to its tensors and its structure."""
    if value is None:
        return [], None
    leaves, tree = flatten(value)
    return [wrap(as_node(leaf, what=f"{what} of Series")) for leaf in leaves], tree


class InOrder(Wrapper, state=("dim",)):
    """Order statistics: sorted independent draws of one distribution along a dim."""

    def __init__(self, base: Distribution, dim: Dim):
        as_distribution(base, "ordered")
        if base.event_dims or base.discrete or dim in base.dims:
            text = "ordered takes a distribution of single real numbers that is the same along "
            details = [("distribution", repr(base)), ("dims", [d._short for d in base.dims])]
            hint = None
            if dim in base.dims and not base.event_dims and not base.discrete:
                k = dim._short if dim._short.isidentifier() else "k"
                hint = (
                    f"of d, which differs along {k}: dist.custom(lambda x: d.logp(x).sum({k}), "
                    f"dt.supports.ordered({k}), event_dims={k}), up to a constant of its parameters"
                )
            raise OptionError(build_message(text + dim._short, details, hint))
        super().__init__("ordered", base, {})
        self.dim = dim
        self.event_dims = (dim,)

    @property
    def support(self) -> Support:
        low, high = self.base.support.bounds()
        if high is None and low is None:
            return ordered_along(self.dim)
        if high is None and isinstance(low, float) and low == 0.0:
            return positive_ordered(self.dim)
        raise OptionError(
            f"ordered: numbers that are real or positive can be inferred in order, not those "
            f"of {self.base.name}, {self.base.support}"
        )

    @printable
    def __repr__(self) -> str:
        return f"ordered({self.base!r}, dim={self.dim._short})"

    def _conditions(self, x: DimTensor) -> list[Condition]:
        in_order = in_support(ordered_along(self.dim), x)
        return [*in_order, *self.base._conditions(x)]

    def logp(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        dim = find_dim(x.dims, self.dim, "ordered")
        steps = x.diff(dim)
        along = [each for each in steps.dims if each not in x.dims] or [dim]
        value = self.base.logp(x).sum(dim) + gammaln(count_of((dim,)) + 1.0)
        return where((steps >= 0).all(along), value, -float("inf"))

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        whole = self._draw_dims(dims)
        value, rng = self.base.draw(rng, without(whole, self.base.dims))
        ordered = value.sort(self.dim)
        (along,) = without(ordered.dims, value.dims)
        return ordered.relabel(along, self.dim), rng


@spelled("distribution")
def ordered(d: Distribution, dim: Dim) -> InOrder:
    """Order statistics: sorted independent draws of one distribution along a dim.

    The density is K! times that of K independent numbers, where they do not fall.

    Parameters
    ----------
    d : Distribution
        Without the dim.
    dim : Dim

    Returns
    -------
    Distribution

    Raises
    ------
    DimError
        If the distribution is discrete, of vectors, or differs along the dim.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> k = dt.Dim("k", length=2)
    >>> d = dist.ordered(dist.Normal(0.0, 1.0), dim=k)
    >>> float(d.logp(dt.data([-1.0, 1.0], dims=k)).eval().round(4))
    -2.1447
    """
    if not isinstance(dim, Dim):
        raise DimError(f"ordered: dim is a Dim, not {dim!r}")
    return InOrder(d, dim)
