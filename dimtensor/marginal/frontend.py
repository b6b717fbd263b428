"""Public interface: `marginalize`, and log densities with their unknowns eliminated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dimtensor.compile.function import node_of
from dimtensor.dims import Dim
from dimtensor.errors import DimError, GraphError, OptionError, listing
from dimtensor.graph import Node, toposort
from dimtensor.graph.dtypes import is_float
from dimtensor.graph.rebuilding.parents import plain
from dimtensor.graph.rebuilding.substitute import rebuild
from dimtensor.marginal.alignment import Flattening
from dimtensor.marginal.chains import NormalChain
from dimtensor.marginal.elimination import Elimination
from dimtensor.marginal.factors import FactorReader
from dimtensor.marginal.moves import StateReduction, log_sum
from dimtensor.marginal.normal.dense import NamedTerms, integrate_densely
from dimtensor.marginal.normal.diffuse import without_flat_densities
from dimtensor.marginal.normal.information import InformationElimination, infinite_integral
from dimtensor.marginal.normal.matrix_filters import MatrixFilter, integrate_by_filter
from dimtensor.marginal.normal.quadratics import QuadraticReader, normal_unknown
from dimtensor.marginal.normal.residual_elimination import ResidualElimination
from dimtensor.marginal.normal.residuals import NoProperResidual
from dimtensor.marginal.normal.unrolling import (
    MOST_UNROLLED,
    NotSeparable,
    structurally_unbounded,
    unroll_terms,
    unrolled_elements,
)
from dimtensor.marginal.unknowns import Factor, FixedIndex, StateDims, Unknown
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.ragged.shifts import marked_shifts

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

# more states than this are taken for a mistake
MOST_STATES = 100_000
# a discrete vector is unrolled if the product of its elements' states is at most this
MOST_JOINT_STATES = 4096


def unknown_of(node: Node, name: str, states: Any = None) -> Unknown:
    """Create an unknown; its states follow from labels, bools or the argument.

    Raises
    ------
    OptionError
        If the states are not known.
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
        raise OptionError(
            f"marginalize: the possible values of {name!r} are unknown",
            hint=f"states={{{name}: range(10)}}, or a tensor of labels: "
            "dt.tensor(..., categories=dim)",
        )
    values = [int(value) for value in states]
    if not values or len(set(values)) != len(values) or len(values) > MOST_STATES:
        raise OptionError(
            f"marginalize: the states of {name!r} are different whole numbers, at most "
            f"{MOST_STATES}"
        )
    dim = Dim("states", length=len(values))
    return Unknown(node, name, dim, None if values == list(range(len(values))) else tuple(values))


class UnrolledLatent(NamedTuple):
    """Latent vector that was replaced by one unknown per position along a dim."""

    unknown: Unknown
    dim: Dim
    parts: list[Unknown]


ExtraFactors = Callable[[StateDims, list[UnrolledLatent]], list[Factor]]


class Marginal:
    """Log density with its unknowns eliminated, and the elimination steps.

    Parameters
    ----------
    terms : dict of str to Node
    unknowns : sequence of Unknown
    merge : callable
        Reduces a table over states: `log_sum` or `maximum`.
    more : callable, optional
        Returns additional factors, given the state dims and the unrolled vectors.
    associative_scan : bool, optional
        Whether chains use the parallel forward algorithm.
    matrices : bool, optional
        Whether normal unknowns are integrated out by a filter over matrices where there is one.
    """

    def __init__(
        self,
        terms: Mapping[str, Node],
        unknowns: Sequence[Unknown],
        merge: StateReduction = log_sum,
        more: ExtraFactors = lambda states, vectors: [],
        associative_scan: bool = False,
        matrices: bool = False,
    ):
        self.unknowns = tuple(unknowns)
        self.steps: list[Any] = []
        marked = marked_shifts(list(terms.values()))
        named = [(frozenset([name]), node) for name, node in zip(terms, marked, strict=True)]
        states, normal = StateDims(), [u for u in self.unknowns if u.continuous]
        self.vectors: list[UnrolledLatent] = []
        self.flattenings: list[Flattening] = []
        if normal:
            whole = GaussianIntegral(named, normal, matrices)
            self.vectors, self.flattenings = whole.vectors, whole.flattenings
            refuse_switching(whole.steps, [u for u in self.unknowns if not u.continuous])
            self.steps += whole.steps
            named = whole.terms
        discrete = [u for u in self.unknowns if not u.continuous]
        factors, discrete = self._factors(named, discrete, states)
        factors += more(states, self.vectors)
        self.flattening = Flattening.of_chains(factors, discrete, states)
        self.flattenings.append(self.flattening)
        factors, discrete = self.flattening.factors(factors), self.flattening.of(discrete)
        self.elimination = Elimination(factors, discrete, states, merge, associative_scan)
        self.steps += self.elimination.steps

    def _factors(
        self, named: NamedTerms, unknowns: list[Unknown], states: StateDims
    ) -> tuple[list[Factor], list[Unknown]]:
        """Read the factors of discrete unknowns, unrolling these along short dims where needed."""
        first: GraphError | None = None
        try:
            while True:
                reader = FactorReader(unknowns, states)
                try:
                    return reader.factors(named), unknowns
                except GraphError as error:
                    first = first or error
                    found = unroll_one(reader, named, unknowns)
                    if found is None:
                        raise first from None
                    named, unknowns, vector = found
                    self.vectors.append(vector)
        finally:
            first = None  # the error refers to this frame: a reference cycle

    @property
    def parts(self) -> list[Factor]:
        """Remaining factors."""
        return self.flattening.results(self.elimination.factors)

    @property
    def logp(self) -> DimTensor:
        """Marginal log density."""
        total: Any = 0.0
        for factor in self.parts:
            x = wrap(factor.full())
            total = (x.sum() if x.dims else x) + total
        return total

    @property
    def text(self) -> str:
        """Elimination steps with their costs, one per line."""
        return "\n".join(str(step) for step in self.steps)


class GaussianIntegral:
    """Terms with jointly normal unknowns integrated out.

    Attributes
    ----------
    terms : list of (frozenset of str, Node)
    steps : list
    vectors : list of UnrolledLatent
        The unrolled vectors.

    Raises
    ------
    GraphError
        If the unknowns are not jointly normal, or no elimination order exists.
    """

    def __init__(self, named: NamedTerms, unknowns: Sequence[Unknown], matrices: bool = False):
        self.terms = [(origins, without_flat_densities(x)) for origins, x in named]
        self.steps: list[Any] = []
        self.vectors: list[UnrolledLatent] = []
        self.flattenings: list[Flattening] = []
        left = list(unknowns)
        first: GraphError | None = None
        while left:
            found_by_matrices = self._filter(left) if matrices else None
            if found_by_matrices is not None:
                left = found_by_matrices
                continue
            states = StateDims()
            reader = QuadraticReader(left, states)
            try:
                done, flattening = _integrate(reader, self.terms, left, states)
            except GraphError as error:
                first = first or error
                rest = self._filter(left)
                rest = self._apart(reader, left) if rest is None else rest
                rest = self._dense(left) if rest is None else rest
                if rest is None:
                    raise first from None
                left = rest
            else:
                self.steps += done.steps
                self.flattenings.append(flattening)
                found = flattening.results(done.factors)
                self.terms = [(f.origins, f.full()) for f in found]
                return

    def _filter(self, left: Sequence[Unknown]) -> list[Unknown] | None:
        """Integrate out vectors along a dim; return the other unknowns, or None."""
        ragged = frozenset(d for u in left for d in u.dims if d._within is not None)
        for chained in dict.fromkeys((ragged, frozenset[Dim]())):
            flattening = Flattening(chained, left, StateDims())
            terms = self.terms
            if chained:
                reader = FactorReader(left, StateDims())
                parts = [(one, part) for one, x in terms for part in reader.summands(x)]
                moved = [(one, flattening.along(part)) for one, part in parts]
                terms = [(one, part) for one, part in moved if part is not None]
                if len(terms) < len(parts):
                    continue
            found = integrate_by_filter(terms, flattening.of(left))
            if found is None:
                continue
            rest, step = found
            self.steps.append(step)
            self.flattenings.append(flattening)
            others = [u for u in left if flattening.of([u])[0] not in step.eliminated]
            back = {flattening.of([u])[0].node: flattening.sorted(u.node) for u in others}
            own = rebuild([x for _, x in rest], back)
            self.terms = list(zip([one for one, _ in rest], own, strict=True))
            return others
        return None

    def _apart(self, reader: FactorReader, left: Sequence[Unknown]) -> list[Unknown] | None:
        """Unroll one unknown along a short dim; return the unknowns, or None if none can be."""
        found = unroll_one(reader, self.terms, left)
        if found is None:
            return None
        self.terms, unknowns, vector = list(found[0]), found[1], found[2]
        self.vectors.append(vector)
        return unknowns

    def _dense(self, left: Sequence[Unknown]) -> list[Unknown] | None:
        """Integrate out one unknown by a Cholesky factor; return the others, or None."""
        terms = self.terms
        if any(dim._within is not None for unknown in left for dim in unknown.dims):
            reader = FactorReader(left, StateDims())
            terms = [(one, part) for one, x in terms for part in reader.summands(x)]
        found = integrate_densely(terms, left)
        if found is None:
            return None
        self.terms, step = list(found[0]), found[1]
        self.steps.append(step)
        return [unknown for unknown in left if unknown is not step.unknown]


def unroll_one(
    reader: FactorReader, named: NamedTerms, unknowns: Sequence[Unknown]
) -> tuple[NamedTerms, list[Unknown], UnrolledLatent] | None:
    """Unroll one unknown along a short dim; return terms, unknowns, and the unrolled vector."""
    for unknown, dim in _unrollable_dims(reader):
        parts = unrolled_elements(unknown, dim)
        try:
            apart = unroll_terms(named, unknown, dim, parts)
        except NotSeparable:
            return None
        left = [one for one in unknowns if one is not unknown]
        return apart, [*left, *parts], UnrolledLatent(unknown, dim, parts)
    return None


def _unrollable_dims(reader: FactorReader) -> Iterator[tuple[Unknown, Dim]]:
    """Yield short dims along which an expression mixes elements or reads a fixed position."""
    for unknown, dim in reader.mixed:
        if dim.length is None or dim.length > MOST_UNROLLED or dim._within is not None:
            continue
        states = unknown.states.length
        if states is not None and states**dim.length <= MOST_JOINT_STATES:
            yield unknown, dim
    if not isinstance(reader, QuadraticReader):
        return
    for slot in reader.states.slots:
        for dim, where in zip(slot.unknown.dims, slot.indices, strict=True):
            short = dim.length is not None and dim.length <= MOST_UNROLLED and not dim._within
            if short and isinstance(where, FixedIndex) and len(slot.unknown.dims) > 1:
                yield slot.unknown, dim


def _integrate(
    reader: QuadraticReader, named: Sequence[tuple[Any, Node]], unknowns: Sequence[Unknown],
    states: StateDims,
) -> tuple[ResidualElimination | InformationElimination, Flattening]:  # fmt: skip
    """Integrate out unknowns by residuals, or in information form where no residual is proper.

    Chains along ragged dims have improper residuals: where a parent starts they are masked.
    """
    if any(dim._within is not None for unknown in unknowns for dim in unknown.dims):
        monomials = reader.monomials(named)
        flattening = Flattening.of_chains(monomials, unknowns, states)
        factors, flat = flattening.factors(monomials), flattening.of(unknowns)
        if flattening.flat:
            return InformationElimination(factors, flat, states), flattening
    nothing = Flattening(frozenset(), (), states)
    given = reader.residuals(named)
    if given is not None:
        lonely = structurally_unbounded(given[1], unknowns)
        if lonely is not None:
            raise infinite_integral(lonely.name)
        try:
            return ResidualElimination(*given, unknowns, states), nothing
        except NoProperResidual:
            pass
    return InformationElimination(reader.monomials(named), unknowns, states), nothing


def refuse_switching(steps: Sequence[Any], discrete: Sequence[Unknown]) -> None:
    """Refuse a switching linear-Gaussian chain, which needs one filter per discrete path.

    Raises
    ------
    GraphError
        If the dynamics of a normal unknown along a dim depend on a discrete one with that dim.
    """
    for step in steps:
        chain: Any
        if isinstance(step, NormalChain):
            chain, nodes = step.chain, [piece.node for piece in step.chain.pieces]
        elif isinstance(step, MatrixFilter):
            chain, nodes = step, [node for _, node in step.parts]
        else:
            continue
        below = set(toposort(nodes))
        for unknown in discrete:
            if unknown.node not in below or chain.dim not in map(plain, unknown.dims):
                continue
            names = listing([one.name for one in chain.eliminated])
            dim = chain.dim._short
            raise GraphError(
                f"marginalize: {names} cannot be integrated out along {dim!r} while "
                f"{unknown.name!r}, which changes along {dim!r}, is summed out: there is one "
                f"integral for each path of {unknown.name!r}, and their number grows "
                "exponentially",
                hint=f"sample {names} and sum out {unknown.name!r} alone, which is a loop "
                f"along {dim!r}",
            )


def marginalize(
    logp: DimTensor | Mapping[str, DimTensor],
    *unknowns: DimTensor,
    states: Mapping[Any, Sequence[int] | Dim] | None = None,
    associative_scan: bool = False,
) -> DimTensor:
    """Sum discrete unknowns out of a log density, and integrate out jointly normal ones.

    The factor graph is read from the dims. An unknown over `obs`, each element of which only its
    own observation depends on, costs obs × states. An element that many observations depend on is
    summed out once for all of them, and an unknown that depends on its earlier elements by a loop,
    the forward algorithm. Continuous unknowns are integrated out if they are jointly normal, with
    means that are affine in each other; along a dim that is a Kalman filter.

    Parameters
    ----------
    logp : DimTensor, or dict of str to DimTensor
        The log density, or its terms; each term is summed over its dims.
    *unknowns : DimTensor
        Symbolic inputs of the log density.
    states : dict of DimTensor to sequence of int or Dim, optional
        The possible values of unknowns that hold neither labels nor bools.
    associative_scan : bool, optional
        Multiply the transition matrices of a chain pairwise, in log₂ n parallel rounds instead of a
        loop. That computes states³ numbers per position instead of states², and pays off on
        machines with many cores.

    Returns
    -------
    DimTensor
        A scalar: the logarithm of the sum of exp(logp) over all values of the unknowns.

    Raises
    ------
    GraphError
        If elements of an unknown depend on each other other than as a chain or a tree, or a term
        with a continuous unknown is not normal.
    DimError
        If `logp` has dims.
    OptionError
        If no unknown is named, or nothing says which values one may have.

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
            raise DimError(
                "marginalize: a log density has no dims",
                [("dims", ", ".join(dim._short for dim in node.dims))],
                "sum it, or give its terms: dt.marginalize({'y': y_logp, 'z': z_logp}, z)",
            )
        terms = {"logp": node}
    known = read_unknowns(unknowns, states or {})
    return Marginal(terms, known, associative_scan=associative_scan).logp


def read_unknowns(unknowns: Sequence[DimTensor], states: Mapping[Any, Any]) -> list[Unknown]:
    """Return the unknowns with their states.

    Raises
    ------
    GraphError
        If an unknown is not a symbolic input.
    OptionError
        If there are no unknowns, or the possible values of one are not known.
    """
    known = {node_of(key) if not isinstance(key, str) else key: s for key, s in states.items()}
    if not unknowns:
        raise OptionError("marginalize: name the variables to sum out: marginalize(logp, z)")
    found = []
    for x in unknowns:
        node = node_of(x)
        if node.kind != "input":
            raise GraphError(
                f"marginalize: a variable to sum out is a symbolic input, dt.tensor('z', ...), "
                f"not {node}"
            )
        name = node.name or "an unknown"
        found.append(unknown_of(node, name, known.get(node, known.get(name))))
    return found
