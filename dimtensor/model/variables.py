"""Random variables and named expressions, and the graphs of models that are found from them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dimtensor.backends.progress import wake_soon
from dimtensor.compile.function import node_of
from dimtensor.dims import Dims, canonical_dims, dim_set, union, without
from dimtensor.dist.distribution import DimsLike, Distribution
from dimtensor.dist.spec import spec_of
from dimtensor.dist.written import with_captured
from dimtensor.errors import (
    ArgumentError,
    GraphError,
    LabelError,
    did_you_mean,
    listing,
)
from dimtensor.graph import Node, make, toposort
from dimtensor.graph.attrs import NamedAttrs, RandomAttrs
from dimtensor.graph.beside import Beside
from dimtensor.graph.infer import describe
from dimtensor.graph.node import alive
from dimtensor.graph.printing.asking import ask, when_asked
from dimtensor.graph.rebuilding.substitute import rebuild
from dimtensor.spellings import spelled
from dimtensor.tensor.control.streams import check_variable
from dimtensor.tensor.handle import TensorHandle, wrap
from dimtensor.values.exchange import are_same_data

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike

Choose = Callable[[Node, tuple[Node, ...]], Node | None]


@spelled("rv")
def rv(name: str, distribution: Distribution, dims: DimsLike = None) -> DimTensor:
    """Make a random variable: a dims-tensor that knows its distribution.

    Parameters
    ----------
    name : str
        One for each variable of a model.
    distribution : Distribution
        Its parameters may be other random variables, and whatever is computed from them.
    dims : Dim or iterable of Dim, optional
        Dims beside those of the distribution: independent elements along them.

    Returns
    -------
    DimTensor
        It has no value: :class:`dimtensor.Model` draws, observes and infers. Two variables of the
        same name, distribution and dims are the same.

    Raises
    ------
    ArgumentError
        If the name is no text, or there is no distribution.
    DimError
        If dims clash.
    GraphError
        If a step of a loop makes it: it would be one variable for all steps.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> county = dt.Dim("county", coords=["AITKIN", "ANOKA"])
    >>> mu = dt.rv("mu", dist.Normal(0, 10))
    >>> alpha = dt.rv("alpha", dist.Normal(mu, 1.0), dims=county)
    >>> alpha.sizes
    {'county': 2}
    """
    wake_soon()
    if isinstance(name, Distribution) and isinstance(distribution, str):
        hint = f"dt.rv({distribution!r}, dist.{name!r})"
        raise ArgumentError("the name of a random variable comes first", hint=hint)
    _check_name(name, "a random variable")
    if not isinstance(distribution, Distribution):
        raise _no_distribution(name, distribution)
    what = f"the dims of {name!r}"
    asked = canonical_dims(dims, what)
    distribution = with_captured(distribution, asked)
    spec, inputs = spec_of(distribution)
    carried = without(tuple(d for x in inputs for d in x.dims), spec.hidden)
    more = without((*distribution.dims, *asked), carried)
    own = canonical_dims(dict.fromkeys(more), what)
    union([carried, own], what)
    d = distribution
    node = make("rv", inputs, RandomAttrs(name, spec, own, d.dtype, d.categories))
    check_variable(name, node)
    return wrap(ask(node))


def _no_distribution(name: str, given: Any) -> ArgumentError:
    import dimtensor.dist as dist

    family = getattr(given, "__name__", "")
    if callable(given) and hasattr(dist, family):
        text = f"the random variable {name!r} needs parameters for its distribution dist.{family}"
        return ArgumentError(text, hint=f"dt.rv({name!r}, dist.{family}(...))")
    shown = describe(given.node) if hasattr(given, "node") else repr(given)
    hint = f"dt.rv({name!r}, dist.Normal(0, 1)), with from dimtensor import dist"
    if hasattr(given, "node"):
        hint = f"an expression under a name is dt.named({name!r}, ...)"
    return ArgumentError(
        f"the random variable {name!r} needs a distribution, and is given {shown}", hint=hint
    )


def named(name: str, x: TensorLike) -> DimTensor:
    """Name an expression, so that models record it: a deterministic.

    A model records the named expressions that its outputs depend on. Others are recorded if they
    are outputs themselves, ``dt.Model(y, x)``; the card of a model lists those that are left out.

    Parameters
    ----------
    name : str
    x : DimTensor

    Returns
    -------
    DimTensor
        With the values of `x`.

    Raises
    ------
    ArgumentError
        If the name is no text.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.named("double", 2 * dt.scalar("x")).name
    'double'
    """
    _check_name(name, "an expression")
    found = ask(make("named", (node_of(x),), NamedAttrs(name)))
    _named.set(found, True)
    return wrap(found)


# Expressions that users named.
_named: Beside[bool] = Beside(clear=False)


def left_out(graph: ModelGraph) -> list[str]:
    """Return the names of expressions of a model's random variables that no output depends on."""
    variables = {v.node for v in graph.variables.values()}
    taken = {*graph.variables, *graph.named, *graph.inputs}
    names = []
    for node in sorted(filter(_named.get, alive()), key=when_asked):
        above = {x for x in toposort([node]) if x.kind == "rv"}
        if node.attrs.name not in taken and above and above <= variables:
            names.append(node.attrs.name)
    return list(dict.fromkeys(names))


def name_of(key: Any, known: Collection[str], what: str) -> str:
    """Return the name of a variable or input that a user named or passed.

    Raises
    ------
    ArgumentError
        If it is a list of several.
    LabelError
        If the model has none.
    """
    if isinstance(key, (list, tuple, set)):
        raise ArgumentError(
            f"{what}s are given one by one, and not in a {type(key).__name__}",
            hint=f"without brackets: {', '.join(map(spoken, key))}",
        )
    name = key.node.name if isinstance(key, TensorHandle) else key
    if not isinstance(name, str) or name not in known:
        guess = did_you_mean(name, list(known)) if isinstance(name, str) else ""
        text, hint = f"the model has no {what} {(name or key)!r}{guess}", None
        if isinstance(key, TensorHandle) and name is None:
            text = f"a model finds {what} by name, and this tensor has none: {describe(key.node)}"
            hint = "dt.data(..., name='x'), or dt.named('x', ...) for an expression"
        raise LabelError(
            text, [(f"{what}s" if what != "data" else what, listing(list(known)))], hint
        )
    return name


def spoken(x: Any) -> str:
    """Guess the name of the caller's variable, for hints."""
    name = x.node.name if isinstance(x, TensorHandle) else None
    return name if isinstance(name, str) and name.isidentifier() else repr(name or x)


def _check_name(name: Any, what: str) -> None:
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"the name of {what} is a non-empty string, not {name!r}")


@dataclass(frozen=True)
class Variable:
    """A random variable of a model.

    Attributes
    ----------
    node : Node
    distribution : Distribution
        With the parameters that it has in the graph.
    """

    node: Node
    distribution: Distribution

    @property
    def name(self) -> str:
        """Name of the variable."""
        return self.node.attrs.name

    @property
    def tensor(self) -> DimTensor:
        """The variable as a tensor."""
        return wrap(self.node)

    @property
    def asked(self) -> Dims:
        """Dims of the variable that its distribution lacks."""
        return without(self.node.dims, self.distribution.dims)


@dataclass(frozen=True, eq=False)
class ModelGraph:
    """Graph of a model: its outputs and the named nodes beneath them.

    Attributes
    ----------
    outputs : tuple of DimTensor
    variables : dict of str to Variable
        Random variables. They and the named expressions are in topological order, and beside that
        in the order in which they were last written.
    named : dict of str to Node
        Named expressions.
    inputs : dict of str to Node
        Inputs, and data with a name.
    order : list of str
        Names of variables and named expressions.
    compiled : dict
        Cache of log densities and functions, shared by all models of the graph.
    """

    outputs: tuple[DimTensor, ...]
    variables: dict[str, Variable] = field(default_factory=dict)
    named: dict[str, Node] = field(default_factory=dict)
    inputs: dict[str, Node] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    compiled: dict[Any, Any] = field(default_factory=dict)

    @property
    def nodes(self) -> dict[str, Node]:
        """Nodes of random variables and named expressions, by name."""
        return {**{name: v.node for name, v in self.variables.items()}, **self.named}

    def __reduce__(self) -> tuple:
        return graph_of, (self.outputs, self.order)


def graph_of(outputs: Sequence[DimTensor], order: Sequence[str] = ()) -> ModelGraph:
    """Find the random variables, named expressions and named inputs that outputs depend on.

    Parameters
    ----------
    outputs : sequence of DimTensor
    order : sequence of str, optional
        Names in their previous order, from before the graph was changed or pickled.

    Raises
    ------
    GraphError
        If a name is used twice, or an input has none.
    """
    graph = ModelGraph(tuple(outputs))
    names: dict[str, Node] = {}
    for node in _as_written(toposort([x.node for x in outputs]), order):
        if node.kind == "input" and node.name is None:
            raise GraphError(
                f"an input of a model has a name, this one has none: {describe(node)}",
                hint="dt.tensor('name', dims=...)",
            )
        if node.kind not in ("rv", "named", "input", "data") or node.name is None:
            continue
        other = names.setdefault(node.name, node)
        if other is not node:
            hint = "give each its own name"
            if are_same_data(node, other):
                hint = "make data twice, under two names, that are labels here and numbers there"
            raise GraphError(
                f"the name {node.name!r} is used twice in a model",
                [("one", _describe_use(other)), ("other", _describe_use(node))],
                hint,
            )
        if node.kind == "rv":
            graph.variables[node.name] = Variable(node, node.attrs.spec.build(node.inputs))
        elif node.kind == "named":
            graph.named[node.name] = node
        else:
            graph.inputs[node.name] = node
            continue
        graph.order.append(node.name)
    return graph


def _as_written(nodes: list[Node], written: Sequence[str]) -> list[Node]:
    """Sort nodes topologically: names of a previous order first, then by time of writing.

    A node may be older than one that it depends on, if that was written again as a part of another
    model; it comes after that.
    """
    places = {name: at for at, name in enumerate(written)}
    last: dict[Node, tuple[int, int]] = {}
    for node in nodes:
        at = [last[x] for x in node.inputs]
        if node.kind in ("rv", "named"):
            name = node.attrs.name
            at.append((0, places[name]) if name in places else (1, when_asked(node)))
        last[node] = max(at, default=(0, -1))
    return sorted(nodes, key=last.__getitem__)


_SPOKEN = {"rv": "a random variable", "named": "an expression", "data": "data", "input": "an input"}


def _describe_use(node: Node) -> str:
    spec = f" with the distribution {node.attrs.spec}" if node.kind == "rv" else ""
    labels = "" if node.categories is None else f", labels of {node.categories._title}"
    return f"{_SPOKEN[node.kind]}{spec}, of dims {dim_set(node.dims)}{labels}"


def put(outputs: Sequence[Node], choose: Choose) -> list[Node]:
    """Rebuild graphs without names, with replacements of variables, inputs and data.

    Parameters
    ----------
    outputs : sequence of Node
    choose : callable
        Function of a random variable, input or data node and its new inputs: the node in its place,
        or None to keep it.
    """

    def replace(node: Node, inputs: tuple[Node, ...]) -> Node | None:
        if node.kind in ("rv", "input", "data"):
            return choose(node, inputs)
        return inputs[0] if node.kind == "named" else None

    return rebuild(outputs, {}, replace, nested=False)
