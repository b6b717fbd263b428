"""What users call: log densities without their discrete unknowns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dimtensor.compile.function import node_of
from dimtensor.dims import Dim
from dimtensor.errors import GraphError, InputError, build_message, listing
from dimtensor.graph import Node, toposort
from dimtensor.graph.dtypes import is_float
from dimtensor.marginal.elimination import Elimination, Merge, log_sum
from dimtensor.marginal.normal.filters import RowChain
from dimtensor.marginal.normal.gaussian import NormalChain, NormalElimination, infinite
from dimtensor.marginal.normal.integrals import RowElimination
from dimtensor.marginal.normal.polynomials import NormalReader, normal_unknown
from dimtensor.marginal.normal.rows import NoPivot
from dimtensor.marginal.normal.splitting import (
    LONGEST,
    Entangled,
    parts_of,
    taken_apart,
    without_row,
)
from dimtensor.marginal.reading import Factor, Reader
from dimtensor.marginal.unknowns import At, StateDims, Unknown
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

# more states than that are surely a mistake
MANY = 100_000


def unknown_of(node: Node, name: str, states: Any = None) -> Unknown:
    """An unknown with the states that are known of it.

    Raises
    ------
    InputError
        If nothing says what they are.
    """
    if is_float(node.dtype):
        return normal_unknown(node, name)
    if states is None and node.categories is not None:
        return Unknown(node, name, node.categories)
    if states is None and node.dtype == "bool":
        return Unknown(node, name, Dim("states", length=2), (0, 1))
    if isinstance(states, Dim):
        return Unknown(node, name, states)
    if states is None or isinstance(states, (str, int)):
        raise InputError(
            build_message(
                f"marginalize: nothing says which values {name!r} may have",
                hint=f"states={{{name}: range(10)}}, or a tensor of labels: "
                "dt.tensor(..., categories=dim)",
            )
        )
    values = [int(value) for value in states]
    if not values or len(set(values)) != len(values) or len(values) > MANY:
        raise InputError(
            f"marginalize: the states of {name!r} are different whole numbers, at most {MANY}"
        )
    dim = Dim("states", length=len(values))
    return Unknown(node, name, dim, None if values == list(range(len(values))) else tuple(values))


class Marginal:
    """A log density without its unknowns, and how it was found.

    Parameters
    ----------
    terms : dict of str to Node
    unknowns : sequence of Unknown
    merge : callable
        What becomes of a table over states.
    more : callable, optional
        Gives further factors.
    associative_scan : bool, optional
        Whether chains are products of pairs.
    """

    def __init__(
        self,
        terms: Mapping[str, Node],
        unknowns: Sequence[Unknown],
        merge: Merge = log_sum,
        more: Callable[[StateDims], list[Factor]] = lambda states: [],
        associative_scan: bool = False,
    ):
        self.unknowns = tuple(unknowns)
        self.steps: list[Any] = []
        named = [(frozenset([name]), node) for name, node in terms.items()]
        states, normal = StateDims(), [u for u in self.unknowns if u.continuous]
        self.vectors: list[Vector] = []
        if normal:
            done, self.vectors = integral(named, normal)
            refuse_switching(done.steps, [u for u in self.unknowns if not u.continuous])
            self.steps += done.steps
            named = [(f.origins, f.full()) for f in done.factors]
        discrete = [u for u in self.unknowns if not u.continuous]
        factors = [*Reader(discrete, states).factors(named), *more(states)]
        self.elimination = Elimination(factors, discrete, states, merge, associative_scan)
        self.steps += self.elimination.steps

    @property
    def parts(self) -> list[Factor]:
        """What is left."""
        return self.elimination.factors

    @property
    def logp(self) -> DimTensor:
        """The log density."""
        total: Any = 0.0
        for factor in self.parts:
            x = wrap(factor.full())
            total = (x.sum() if x.dims else x) + total
        return total

    @property
    def text(self) -> str:
        """The steps, and how many numbers each computes."""
        return "\n".join(str(step) for step in self.steps)


class Vector(NamedTuple):
    """An unknown that was exchanged by one for each position along a dim."""

    unknown: Unknown
    dim: Dim
    parts: list[Unknown]


Integral = RowElimination | NormalElimination


def integral(
    named: Sequence[tuple[Any, Node]], unknowns: Sequence[Unknown]
) -> tuple[Integral, list[Vector]]:
    """Terms without normal unknowns, and those that were taken apart for it.

    Raises
    ------
    GraphError
        If they are not normal given each other, or depend on each other in no order.
    """
    vectors: list[Vector] = []
    first: GraphError | None = None
    while True:
        states = StateDims()
        reader = NormalReader(unknowns, states)
        try:
            return _integral(reader, named, unknowns, states), vectors
        except GraphError as error:
            first = first or error
            found = next(_mixed(reader), None)
            if found is None:
                raise first from None
        unknown, dim = found
        parts = parts_of(unknown, dim)
        try:
            named = taken_apart(named, unknown, dim, parts)
        except Entangled:
            raise first from None
        vectors.append(Vector(unknown, dim, parts))
        unknowns = [*(u for u in unknowns if u is not unknown), *parts]


def _mixed(reader: NormalReader) -> Iterator[tuple[Unknown, Dim]]:
    """Short dims whose elements an expression reads together, or one of which it reads alone."""
    for unknown, dim in reader.mixed:
        if dim.length is not None and dim.length <= LONGEST:
            yield unknown, dim
    for slot in reader.states.slots:
        for dim, where in zip(slot.unknown.dims, slot.where, strict=True):
            short = dim.length is not None and dim.length <= LONGEST
            if short and isinstance(where, At) and len(slot.unknown.dims) > 1:
                yield slot.unknown, dim


def _integral(
    reader: NormalReader, named: Sequence[tuple[Any, Node]], unknowns: Sequence[Unknown],
    states: StateDims,
) -> Integral:  # fmt: skip
    """By rows, or by squares that are completed where that is no form."""
    given = reader.rows(named)
    if given is not None:
        lonely = without_row(given[1], unknowns)
        if lonely is not None:
            raise infinite(lonely.name)
        try:
            return RowElimination(*given, unknowns, states)
        except NoPivot:
            pass
    return NormalElimination(reader.monomials(named), unknowns, states)


def refuse_switching(steps: Sequence[Any], discrete: Sequence[Unknown]) -> None:
    """Raise where a filter would be needed for each path of a discrete unknown.

    Raises
    ------
    GraphError
        If what moves a normal unknown along a dim depends on a discrete one that has the dim.
    """
    for step in steps:
        if not isinstance(step, (RowChain, NormalChain)):
            continue
        below = set(toposort([piece.node for piece in step.chain.pieces]))
        for unknown in discrete:
            if unknown.node not in below or step.chain.dim not in unknown.dims:
                continue
            names = listing([one.name for one in step.chain.eliminated])
            dim = step.chain.dim.short
            raise GraphError(
                build_message(
                    f"marginalize: {names} cannot be integrated out along {dim!r} while "
                    f"{unknown.name!r}, which changes along {dim!r}, is summed out: there is one "
                    f"integral for each path of {unknown.name!r}, and their number grows "
                    "exponentially",
                    hint=f"sample {names} and sum out {unknown.name!r} alone, which is a loop "
                    f"along {dim!r}",
                )
            )


def marginalize(
    logp: DimTensor | Mapping[str, DimTensor],
    *unknowns: DimTensor,
    states: Mapping[Any, Sequence[int] | Dim] | None = None,
    associative_scan: bool = False,
) -> DimTensor:
    """A log density with discrete unknowns summed out, and normal ones integrated out.

    What depends on what is read from the dims: an unknown over `obs` of which each element is read
    by the observation beside it costs obs × states. An element that many observations read is
    summed out once for all of them, and unknowns that depend on their earlier elements by a loop.
    Continuous unknowns are integrated out where they are normal given each other, with means that
    are affine in them: the Kalman filter is the loop of those.

    Parameters
    ----------
    logp : DimTensor, or dict of str to DimTensor
        The log density, or its terms, each of which is summed over its own dims.
    *unknowns : DimTensor
        Symbolic inputs that it depends on.
    states : dict of DimTensor to sequence of int or Dim, optional
        The values of unknowns that hold neither labels nor bools.
    associative_scan : bool, optional
        Multiply the matrices of a chain in pairs, a logarithm of steps after each other in place of
        a loop. That is states³ numbers for each position in place of states², for machines with
        many cores.

    Returns
    -------
    DimTensor
        Without dims: the logarithm of the sum of exp(logp) over all values of the unknowns.

    Raises
    ------
    GraphError
        If elements of an unknown depend on each other in a way that is no chain, or what depends on
        a continuous one is not normal.
    InputError
        If nothing says which values an unknown may have, or `logp` has dims.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> obs, kind = dt.Dim("obs"), dt.Dim("kind", coords=["low", "high"])
    >>> z = dt.tensor("z", dims=obs, categories=kind)
    >>> mean = dt.data([0.0, 5.0], dims=kind)
    >>> y = dt.data([0.1, 4.9, 5.2], dims=obs)
    >>> weights = dt.data([0.5, 0.5], dims=kind)
    >>> prior = dist.Categorical(weights, over=kind).logp(z)
    >>> likelihood = dist.Normal(mean.sel(kind=z), 1.0).logp(y)
    >>> logp = dt.marginalize({"z": prior, "y": likelihood}, z)
    >>> float(logp.eval().round(4))
    -4.8662
    """
    if isinstance(logp, Mapping):
        terms = {str(name): node_of(term) for name, term in logp.items()}
    else:
        node = node_of(logp)
        if node.dims:
            raise InputError(
                build_message(
                    "marginalize: a log density has no dims",
                    [("dims", ", ".join(dim.short for dim in node.dims))],
                    "sum it, or give its terms: dt.marginalize({'y': y_logp, 'z': z_logp}, z)",
                )
            )
        terms = {"logp": node}
    known = read_unknowns(unknowns, states or {})
    return Marginal(terms, known, associative_scan=associative_scan).logp


def read_unknowns(unknowns: Sequence[DimTensor], states: Mapping[Any, Any]) -> list[Unknown]:
    """Unknowns and their states.

    Raises
    ------
    GraphError
        If one is no symbolic input.
    InputError
        If there are none, or nothing says which values one may have.
    """
    known = {node_of(key) if not isinstance(key, str) else key: s for key, s in states.items()}
    if not unknowns:
        raise InputError("marginalize: name the unknowns that are summed out: marginalize(logp, z)")
    found = []
    for x in unknowns:
        node = node_of(x)
        if node.kind != "input":
            raise GraphError(
                f"marginalize: an unknown is a symbolic input, dt.tensor('z', ...), not {node}"
            )
        name = node.name or "an unknown"
        found.append(unknown_of(node, name, known.get(node, known.get(name))))
    return found
