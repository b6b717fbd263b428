"""User-defined distributions, and the tensors that their functions capture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, family, sort_dims, union, without
from dimtensor.dist.conditions import Condition
from dimtensor.dist.distribution import DimsLike, Distribution
from dimtensor.dist.given import KnownElements
from dimtensor.dist.modifiers.wrappers import as_value
from dimtensor.dist.spec import DistributionSpec, OpaqueLeaf, spec_of
from dimtensor.errors import GraphError
from dimtensor.graph import Node, toposort
from dimtensor.graph.rebuilding.exchange import substitute
from dimtensor.graph.rebuilding.substitute import map_dim
from dimtensor.graph.regions import dependent
from dimtensor.random import generator
from dimtensor.tensor.control.pytree import flatten, unflatten
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import tensor

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

_FOUND_BY_NAME = frozenset(("rv", "named", "input", "data"))


@dataclass(frozen=True)
class UserDensity(OpaqueLeaf):
    """User-defined distribution with its original parameters and captured tensors.

    Attributes
    ----------
    spec : DistributionSpec
    inputs : tuple of Node
        Its parameters.
    read : tuple of Node
        Tensors that its functions capture.
    dims : tuple of Dim
        Dims that may be replaced.
    """

    spec: DistributionSpec
    inputs: tuple[Node, ...]
    read: tuple[Node, ...]
    dims: Dims


class WithCapturedTensors(
    Distribution, state=("_density", "_exchanged", "_inputs", "_read", "_support")
):
    """Distribution whose functions capture random variables and data.

    The functions give expressions of the tensors that they captured. In these expressions captured
    tensors and dims are replaced, as parameters are in other distributions.
    """

    def __init__(self, d: Distribution, written: UserDensity, dims: Dims):
        self.name, self.discrete, self.event_dims = d.name, d.discrete, d.event_dims
        self._density = written
        self._exchanged = written.dims
        self._inputs = list(map(wrap, written.inputs))
        self._read = list(map(wrap, written.read))
        self._support = d.support
        self._set_dims(dims)

    @property
    def _base(self) -> Distribution:
        """Original distribution."""
        return self._density.spec.build(self._density.inputs)

    def _original(self) -> tuple[Distribution, dict[Node, Node]]:
        """Return the original distribution, and the replacements in its results.

        A number that is a parameter may stand elsewhere as well, and is put in here.
        """
        given: list[Node] = []
        instead: dict[Node, Node] = {}
        for old, now in zip(self._density.inputs, self._inputs, strict=True):
            if old.kind == "constant" and old is not now.node:
                old = tensor(None, old.dims, old.dtype).node
            given.append(old)
            instead[old] = now.node
        for old, now in zip(self._density.read, self._read, strict=True):
            instead[old] = now.node
        return self._density.spec.build(given), {a: b for a, b in instead.items() if a is not b}

    @property
    def parameters(self) -> Mapping[str, DimTensor]:
        found = self._call(lambda d: dict(d.parameters))
        pairs = zip(self._density.read, self._read, strict=True)
        return {**found, **{str(was.name): now for was, now in pairs}}

    @property
    def _is_per_parent(self) -> bool:  # type: ignore[override]
        return self._base._is_per_parent

    @property
    def categories(self) -> Dim | None:
        labels = self._base.categories
        return None if labels is None else map_dim(labels, self._mapping)

    @property
    def dtype(self) -> str:
        return self._base.dtype

    def implements(self, what: str) -> bool:
        return self._base.implements(what)

    @property
    def _mapping(self) -> dict[Dim, Dim]:
        pairs = zip(self._density.dims, self._exchanged, strict=True)
        return {old: new for old, new in pairs if old is not new}

    def _back(self, dims: Iterable[Dim]) -> Dims:
        """Map dims back to the original ones."""
        before = {new: old for old, new in self._mapping.items()}
        return sort_dims(map_dim(dim, before) for dim in dims)

    def _call(
        self, compute: Callable[[Distribution], Any], arguments: Mapping[Node, Node] | None = None
    ) -> Any:
        """Evaluate a method of the original distribution, and replace its inputs."""
        d, instead = self._original()
        leaves, tree = flatten(compute(d))
        nodes = [leaf.node for leaf in leaves]
        found = substitute(nodes, {**instead, **(arguments or {})}, self._mapping)
        return unflatten(tree, list(map(wrap, found)))

    def _of_value(self, what: str, x: Any) -> DimTensor:
        return self._computed(lambda d, value: getattr(d, what)(value), x)

    def _computed(self, compute: Callable[[Distribution, DimTensor], Any], x: Any) -> Any:
        x = as_value(x, self)
        labels = self._base.categories if x.node.categories is not None else None
        argument = tensor(None, self._back(x.dims), x.dtype if labels is None else None, labels)
        return self._call(lambda d: compute(d, argument), {argument.node: x.node})

    def _conditions(self, x: DimTensor) -> list[Condition]:
        said: list[str] = []

        def holds(d: Distribution, value: DimTensor) -> list[DimTensor]:
            found = d._conditions(value)
            said.extend(one.otherwise for one in found)
            return [one.holds for one in found]

        return list(map(Condition, self._computed(holds, x), said))

    def logp(self, x: Any) -> DimTensor:
        return self._of_value("logp", x)

    def logcdf(self, x: Any) -> DimTensor:
        return self._of_value("logcdf", x)

    def logsf(self, x: Any) -> DimTensor:
        return self._of_value("logsf", x)

    def icdf(self, q: Any) -> DimTensor:
        return self._of_value("icdf", q)

    def mean(self) -> DimTensor:
        return self._call(lambda d: d.mean())

    def variance(self) -> DimTensor:
        return self._call(lambda d: d.variance())

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        return self._drawn(rng, dims, {}, lambda d, *given: d.draw(*given))

    def _draw_given(self, rng: Any, given: KnownElements, dims: DimsLike) -> tuple[DimTensor, Any]:
        told = [given.values] if given.mask is None else [given.values, given.mask]
        inside = [tensor(None, self._back(x.dims), x.dtype) for x in told]
        at = {self._back([dim])[0]: there for dim, there in given.at.items()}
        mask = None if given.mask is None else inside[1]
        known = given._replace(values=inside[0], at=at, mask=mask)
        return self._drawn(
            rng,
            dims,
            {one.node: other.node for one, other in zip(inside, told, strict=True)},
            lambda d, rng, dims: d._draw_given(rng, known, dims),
        )

    def _drawn(
        self, rng: Any, dims: DimsLike, arguments: dict[Node, Node], draw: Callable[..., Any]
    ) -> tuple[DimTensor, Any]:
        words = tensor(None, rng.words.dims, rng.words.dtype)
        whole = self._back(self._draw_dims(dims))
        rng._use(f"a draw of {self.name}")
        return self._call(
            lambda d: draw(d, generator(words), whole), {**arguments, words.node: rng.words.node}
        )


def with_captured(d: Distribution, dims: Dims) -> Distribution:
    """Find the tensors that functions of users capture, and return a distribution of them.

    The functions are called with a placeholder for the value, and for a draw.
    """
    spec, inputs = spec_of(d)
    if not spec.has_functions:
        return d
    whole = sort_dims(union([d.dims, dims], d.name))
    x = tensor(None, whole, None if d.categories is not None else d.dtype, d.categories)
    words = generator(0).words
    density = d.logp(x).node
    outputs = [density]
    try:
        drawn, _ = d.draw(generator(words), dims)
        outputs.append(drawn.node)
    except GraphError:  # there are no draws, and who asks for them is told why
        pass
    read = _read_by(outputs, {x.node, words.node}, inputs)
    more = without(density.dims, whole)
    if not read and not more:
        return d
    nodes = [*toposort(outputs), *inputs]
    roots = {dim: None for node in nodes for own in node.dims for dim in family(own)}
    roots |= dict.fromkeys(part for dim in (*whole, *d.event_dims) for part in family(dim))
    exchanged = tuple(dim for dim in roots if not dim.parents)
    carried = [dim for node in read for dim in node.dims if dim in density.dims]
    own = sort_dims(dict.fromkeys((*d.dims, *carried, *more)))
    return WithCapturedTensors(d, UserDensity(spec, inputs, read, exchanged), own)


def _read_by(
    outputs: Sequence[Node], arguments: set[Node], parameters: Sequence[Node]
) -> tuple[Node, ...]:
    """Find the captured tensors: named, no parameters, independent of the arguments."""
    inside = dependent(arguments, toposort(outputs))
    found: dict[Node, None] = {}
    pending, seen = list(outputs), {*arguments, *parameters}
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.kind in _FOUND_BY_NAME and node.name is not None and node not in inside:
            found[node] = None
        else:
            pending += node.inputs
    return tuple(sorted(found, key=lambda node: node._serial))
