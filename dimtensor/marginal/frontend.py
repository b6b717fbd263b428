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
from dimtensor.marginal.normal.dense import Named, densely
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
# elements of a discrete unknown are summed out together if they have up to so many states
MOST_TOGETHER = 4096


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


class Vector(NamedTuple):
    """An unknown that was exchanged by one for each position along a dim."""

    unknown: Unknown
    dim: Dim
    parts: list[Unknown]


More = Callable[[StateDims, list[Vector]], list[Factor]]


class Marginal:
    """A log density without its unknowns, and how it was found.

    Parameters
    ----------
    terms : dict of str to Node
    unknowns : sequence of Unknown
    merge : callable
        What becomes of a table over states.
    more : callable, optional
        Gives further factors, of the unknowns and of those that were taken apart.
    associative_scan : bool, optional
        Whether chains are products of pairs.
    """

    def __init__(
        self,
        terms: Mapping[str, Node],
        unknowns: Sequence[Unknown],
        merge: Merge = log_sum,
        more: More = lambda states, vectors: [],
        associative_scan: bool = False,
    ):
        self.unknowns = tuple(unknowns)
        self.steps: list[Any] = []
        named = [(frozenset([name]), node) for name, node in terms.items()]
        states, normal = StateDims(), [u for u in self.unknowns if u.continuous]
        self.vectors: list[Vector] = []
        if normal:
            whole = Integral(named, normal)
            self.vectors = whole.vectors
            refuse_switching(whole.steps, [u for u in self.unknowns if not u.continuous])
            self.steps += whole.steps
            named = whole.terms
        discrete = [u for u in self.unknowns if not u.continuous]
        factors, discrete = self._factors(named, discrete, states)
        factors += more(states, self.vectors)
        self.elimination = Elimination(factors, discrete, states, merge, associative_scan)
        self.steps += self.elimination.steps

    def _factors(
        self, named: Named, unknowns: list[Unknown], states: StateDims
    ) -> tuple[list[Factor], list[Unknown]]:
        """Factors of discrete unknowns, which are taken apart along short dims if need be."""
        first: GraphError | None = None
        try:
            while True:
                reader = Reader(unknowns, states)
                try:
                    return reader.factors(named), unknowns
                except GraphError as error:
                    first = first or error
                    found = one_apart(reader, named, unknowns)
                    if found is None:
                        raise first from None
                    named, unknowns, vector = found
                    self.vectors.append(vector)
        finally:
            first = None  # an error refers to this frame, which would be a cycle

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


class Integral:
    """Terms without normal unknowns.

    Attributes
    ----------
    terms : list of (frozenset of str, Node)
    steps : list
    vectors : list of Vector
        Those that were taken apart.

    Raises
    ------
    GraphError
        If they are not normal given each other, or depend on each other in no order.
    """

    def __init__(self, named: Named, unknowns: Sequence[Unknown]):
        self.terms, self.steps = list(named), list[Any]()
        self.vectors: list[Vector] = []
        left = list(unknowns)
        first: GraphError | None = None
        while left:
            states = StateDims()
            reader = NormalReader(left, states)
            try:
                done = _integral(reader, self.terms, left, states)
            except GraphError as error:
                first = first or error
                rest = self._apart(reader, left)
                rest = self._dense(left) if rest is None else rest
                if rest is None:
                    raise first from None
                left = rest
            else:
                self.steps += done.steps
                self.terms = [(f.origins, f.full()) for f in done.factors]
                return

    def _apart(self, reader: Reader, left: Sequence[Unknown]) -> list[Unknown] | None:
        """The unknowns after one of them is taken apart along a short dim."""
        found = one_apart(reader, self.terms, left)
        if found is None:
            return None
        self.terms, unknowns, vector = list(found[0]), found[1], found[2]
        self.vectors.append(vector)
        return unknowns

    def _dense(self, left: Sequence[Unknown]) -> list[Unknown] | None:
        """The unknowns without one that is integrated out as a whole."""
        found = densely(self.terms, left)
        if found is None:
            return None
        self.terms, step = list(found[0]), found[1]
        self.steps.append(step)
        return [unknown for unknown in left if unknown is not step.unknown]


def one_apart(
    reader: Reader, named: Named, unknowns: Sequence[Unknown]
) -> tuple[Named, list[Unknown], Vector] | None:
    """Terms in which an unknown is several, one for each position along a short dim."""
    for unknown, dim in _mixed(reader):
        parts = parts_of(unknown, dim)
        try:
            apart = taken_apart(named, unknown, dim, parts)
        except Entangled:
            return None
        left = [one for one in unknowns if one is not unknown]
        return apart, [*left, *parts], Vector(unknown, dim, parts)
    return None


def _mixed(reader: Reader) -> Iterator[tuple[Unknown, Dim]]:
    """Short dims whose elements an expression reads together, or one of which it reads alone."""
    for unknown, dim in reader.mixed:
        if dim.length is None or dim.length > LONGEST:
            continue
        states = unknown.states.length
        if states is not None and states**dim.length <= MOST_TOGETHER:
            yield unknown, dim
    if not isinstance(reader, NormalReader):
        return
    for slot in reader.states.slots:
        for dim, where in zip(slot.unknown.dims, slot.where, strict=True):
            short = dim.length is not None and dim.length <= LONGEST
            if short and isinstance(where, At) and len(slot.unknown.dims) > 1:
                yield slot.unknown, dim


def _integral(
    reader: NormalReader, named: Sequence[tuple[Any, Node]], unknowns: Sequence[Unknown],
    states: StateDims,
) -> RowElimination | NormalElimination:  # fmt: skip
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
            dim = step.chain.dim._short
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
    >>> prior = dist.Categorical(weights, dim=kind).logp(z)
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
                    [("dims", ", ".join(dim._short for dim in node.dims))],
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
