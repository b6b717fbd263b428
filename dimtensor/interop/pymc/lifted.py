"""PyMC's own log densities and transforms, for random variables without a counterpart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from pytensor.tensor.type import TensorType

from dimtensor.dims import Dim, Dims, sort_dims, without
from dimtensor.dist.distribution import DimsLike, Distribution
from dimtensor.dist.formulas import HALF_LOG_2PI
from dimtensor.dist.joint.neighbors import CAR
from dimtensor.dist.joint.vectors import count_of
from dimtensor.dist.modifiers.wrappers import SameValues
from dimtensor.dist.supports import Support, real
from dimtensor.errors import GraphError, build_message, printable
from dimtensor.graph import make
from dimtensor.graph.attrs import ApplyAttrs
from dimtensor.interop.pymc.expressions import ExpressionReader
from dimtensor.lower.lifted import LiftedGraph
from dimtensor.tensor.elementwise import isfinite, log, where
from dimtensor.tensor.handle import as_node, wrap
from dimtensor.tensor.positional.apply import apply

if TYPE_CHECKING:
    from pytensor.graph.op import Op

    from dimtensor.tensor.core import DimTensor


class LiftedFunction:
    """Positional function of a value and tensors, compared by its graph."""

    def __init__(self, graph: LiftedGraph, dtypes: tuple[str, ...], name: str):
        self.graph, self.dtypes, self.name = graph, dtypes, name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LiftedFunction) and self.graph == other.graph

    def __hash__(self) -> int:
        return hash(self.graph)

    def __call__(
        self,
        output: int,
        value: DimTensor,
        axes: Dims,
        parameters: Sequence[DimTensor],
        cores: Sequence[Dims],
        out: Dims,
    ) -> DimTensor:
        x = value.expand(axes).astype(self.dtypes[0])
        nodes = (x.node, *(p.node for p in parameters))
        dtype = self.graph.graph.outputs[output].type.dtype
        attrs = ApplyAttrs(self.graph, (tuple(axes), *cores), tuple(out), dtype, output, self.name)
        return wrap(make("apply", nodes, attrs))


def lifted_function(
    reader: ExpressionReader, value: Any, outputs: Sequence[Any], name: str
) -> tuple[LiftedFunction, list[DimTensor], tuple[Dims, ...]]:
    """Lift outputs to a function of a value and model variables; return these and their dims."""
    sources, function = reader.lifted_inputs(outputs)
    known = [reader.known[v] for v in sources if v is not value]
    sources = [v for v in sources if v is not value]
    stand_ins = [of_known_lengths(v.type, own) for v, (_, own) in zip(sources, known, strict=True)]
    found = function(*stand_ins)
    inputs = [value, *stand_ins]
    dtypes = tuple(v.type.dtype for v in inputs)
    tensors, axes = [tensor for tensor, _ in known], tuple(own for _, own in known)
    return LiftedFunction(LiftedGraph(inputs, found), dtypes, name), tensors, axes


def of_known_lengths(kind: Any, axes: Sequence[Dim | None]) -> Any:
    """Make a placeholder of a type, with the lengths that the dims of its axes have.

    Loops whose number of steps is known become ours.
    """
    if not isinstance(kind, TensorType) or len(axes) != kind.ndim:
        return kind()
    shape = [
        n if n is not None or dim is None else dim.length
        for n, dim in zip(kind.shape, axes, strict=True)
    ]
    return kind.clone(shape=shape)()


class LiftedDensity(
    Distribution, state=("function", "_parameters", "cores", "axes", "out", "_support", "drawn")
):
    """Distribution with PyMC's log density and draws.

    Parameters
    ----------
    name : str
    function : LiftedFunction
    parameters : dict of str to DimTensor
    cores : tuple of tuple of Dim
        Dims of the parameters' axes.
    axes : tuple of Dim
        Dims of a value's axes.
    out : tuple of Dim
        Dims of the log density.
    support : Support
    drawn : tuple
        The op that draws, its tensor arguments, and the dims of their axes.
    """

    def __init__(
        self,
        name: str,
        function: LiftedFunction,
        parameters: Mapping[str, DimTensor],
        cores: tuple[Dims, ...],
        axes: Dims,
        out: Dims,
        support: Support,
        drawn: tuple[Op, Sequence[DimTensor], tuple[Dims, ...]],
    ):
        self.name, self.function, self._parameters = name, function, dict(parameters)
        self.cores, self.axes, self.out = cores, axes, out
        self._support, self.discrete = support, support.discrete
        self.drawn = drawn
        self.event_dims = without(axes, out)
        self._set_dims(sort_dims(axes))

    @property
    def dtype(self) -> str:
        return self.function.dtypes[0]

    def implements(self, what: str) -> bool:
        return False

    @printable
    def __repr__(self) -> str:
        return f"{self.name}({', '.join(self._parameters)})"

    def logp(self, x: Any) -> DimTensor:
        value = wrap(as_node(x, self._nodes, f"a value of {self.name}"))
        given = list(self._parameters.values())
        return self.function(0, value, self.axes, given, self.cores, self.out)

    def _logp_ahead(self, x: Any) -> DimTensor:
        """Return the log density, which is one-step-ahead if elements are independent.

        Raises
        ------
        GraphError
            If there are event dims.
        """
        if self.event_dims:
            raise GraphError(
                build_message(
                    "there is no log density of each element given those before it: that of "
                    f"PyMC's {self.name} is of all elements together",
                    [(self.name, ", ".join(self._parameters))],
                    "log_likelihood(post) is that of all",
                )
            )
        return self.logp(x)

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        op, tensors, cores = self.drawn
        batch = [without(x.dims, core) for x, core in zip(tensors, cores, strict=True)]
        whole = (*self._draw_dims(dims), *(dim for own in batch for dim in own))
        seed, rng = rng.integers(0, 2**62, dims=without(sort_dims(set(whole)), self.axes))
        function = partial(_alone, op)
        (found,) = apply(
            function, seed, *tensors, input_core_dims=[(), *cores], output_core_dims=[self.axes]
        )
        return found, rng


def _alone(op: Op, *inputs: Any) -> list[Any]:
    return [op(*inputs)]


class LiftedSupport(
    Support, state=("name", "forward", "backward", "given", "cores", "axes", "free")
):
    """Support given by a PyMC transform.

    Parameters
    ----------
    name : str
    forward, backward : LiftedFunction
        The transform and its inverse; the latter returns a value and the log Jacobian.
    parameters : tuple of list of DimTensor
        Parameters of each.
    cores : tuple of tuple of tuple of Dim
        Dims of the parameters' axes.
    axes, free : tuple of Dim
        Dims of a constrained and an unconstrained value.
    """

    def __init__(
        self,
        name: str,
        forward: LiftedFunction,
        backward: LiftedFunction,
        parameters: tuple[list[DimTensor], list[DimTensor]],
        cores: tuple[tuple[Dims, ...], tuple[Dims, ...]],
        axes: Dims,
        free: Dims,
    ):
        self.name, self.forward, self.backward = name, forward, backward
        self.given, self.cores = parameters, cores
        self.axes, self.free = axes, free

    is_elementwise = False

    @property
    def tensors(self) -> list[DimTensor]:
        return [*self.given[0], *self.given[1]]

    def map_tensors(self, f: Callable[[DimTensor], DimTensor]) -> Support:
        forward, backward = self.given
        given = (list(map(f, forward)), list(map(f, backward)))
        ways = (self.forward, self.backward)
        return LiftedSupport(self.name, *ways, given, self.cores, self.axes, self.free)

    def free_dims(self, dims: Dims) -> Dims:
        more = without(dims, self.axes)
        return sort_dims((*more, *self.free))

    def unlabeled_dims(self, dims: Dims) -> Dims:
        return without(self.free, self.axes)

    def contains(self, y: DimTensor) -> DimTensor:
        return isfinite(y)

    def constrain(self, x: DimTensor) -> tuple[DimTensor, DimTensor | None]:
        given, cores = self.given[1], self.cores[1]
        y = self.backward(0, x, self.free, given, cores, self.axes)
        return y, self.backward(1, x, self.free, given, cores, ()).sum()

    def unconstrain(self, y: DimTensor) -> DimTensor:
        return self.forward(0, y, self.axes, self.given[0], self.cores[0], self.free)


class WithSupport(SameValues, state=("values",)):
    """Distribution with another support, such as that of a PyMC transform, and the same density."""

    def __init__(self, base: Distribution, support: Support):
        super().__init__(base.name, base, {})
        self.values = support

    @property
    def parameters(self) -> Mapping[str, DimTensor]:
        own = {f"support_{at}": x for at, x in enumerate(self.values.tensors)}
        return {**self.base.parameters, **own}

    @property
    def support(self) -> Support:
        return self.values

    @printable
    def __repr__(self) -> str:
        return repr(self.base)


class UnnormalizedCAR(WithSupport):
    """CAR distribution with PyMC's log density, which leaves out a constant."""

    def __init__(self, base: CAR):
        super().__init__(base, base.support)

    def logp(self, x: Any) -> DimTensor:
        found, row = self.base.logp(x), self.base.event_dims
        (col,) = self.base._hidden_dims
        neighbors = log(self.base.parameters["W"].sum(col)).sum(row)
        left_out = 0.5 * neighbors - HALF_LOG_2PI * count_of(row)
        return found - left_out.astype(found.dtype)


class PotentialTerm(Distribution, state=("term",)):
    """Term of a log density that belongs to no variable, as added by ``pm.Potential``.

    It is the density of an auxiliary number that is always observed to be 0.
    """

    name = "potential"

    def __init__(self, term: DimTensor):
        self.term = term

    @property
    def parameters(self) -> Mapping[str, DimTensor]:
        return {"term": self.term}

    @property
    def support(self) -> Support:
        return real

    def implements(self, what: str) -> bool:
        return False

    def logp(self, x: Any) -> DimTensor:
        return self.term

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        # computed from the term, which determines the lengths of its dims
        nothing = where(isfinite(self.term), 0.0, 0.0)
        return nothing.expand(self._draw_dims(dims)), rng
