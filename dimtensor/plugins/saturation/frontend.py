"""Simplification of expressions by equality saturation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dimtensor.compile.function import Structure, allowed, checked_lengths
from dimtensor.cost import Polynomial
from dimtensor.dims import Dim
from dimtensor.graph import Node, toposort
from dimtensor.graph.walk import fixed_nodes
from dimtensor.plugins.saturation.derivatives import simplified
from dimtensor.plugins.saturation.driver import Rewritten
from dimtensor.plugins.saturation.node_costs import node_cost
from dimtensor.plugins.saturation.rules.rule import RULES
from dimtensor.renderers import Rendered, picture
from dimtensor.spellings.attributes import former_names
from dimtensor.spellings.renamed import METHODS_OF_RESULTS
from dimtensor.tensor.handle import as_node, wrap

if TYPE_CHECKING:
    from dimtensor.plugins.pictures.picture import Picture


@former_names(METHODS_OF_RESULTS["simplify"])
class Simplified(Rendered):
    """Result of :func:`dimtensor.simplify`; notebooks show it with both graphs.

    Attributes
    ----------
    result : DimTensor, list or dict of DimTensor
        The cheaper expression, in the structure of the given one.
    given : DimTensor, list or dict of DimTensor
    rules : dict of str to int
        How often each rule was applied.
    before, after : float
        Costs at known, given or assumed lengths, see :mod:`dimtensor.cost`, without operations on
        data alone.
    assumed : dict of Dim to int
        Assumed lengths of dims whose lengths are neither known nor given.

    Examples
    --------
    >>> import dimtensor as dt
    >>> i, j, k = (dt.Dim(name, length=100) for name in "ijk")
    >>> W, H = dt.tensor("W", dims=[i, k]), dt.tensor("H", dims=[k, j])
    >>> found = dt.simplify(dt.dot(W, H).sum())
    >>> found.after < found.before
    True
    >>> found.to_graph()
    <Picture...>
    """

    def __init__(self, given: Any, result: Any, found: Rewritten):
        self.given = given
        self.result = result
        self.rules = dict(found.rules)
        self.before = found.before
        self.after = found.after
        self.assumed = found.assumptions

    @property
    def polynomials(self) -> tuple[Polynomial, Polynomial]:
        """Costs before and after as polynomials in lengths."""
        return _polynomial(self.given), _polynomial(self.result)

    @property
    def reasons(self) -> dict[str, str]:
        """Reason for each applied rule: why its two sides are equal."""
        return {rule.name: rule.reason for rule in RULES if rule.name in self.rules}

    def to_graph(self) -> Picture:
        """Draw both expressions in one picture, with common subexpressions drawn once.

        Returns
        -------
        Picture

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed (``pip install 'dimtensor[viz]'``).
        """
        return picture({**_named(self.given, "before"), **_named(self.result, "after")})


def simplify(
    x: Any,
    lengths: Mapping[Dim, int] | None = None,
    *,
    allow: str | Sequence[str] = (),
) -> Simplified:
    """Find a cheaper equivalent expression by equality saturation.

    Parameters
    ----------
    x : DimTensor, or list or dict of DimTensor
        Gradients among them become those of the simplified functions.
    lengths : mapping of Dim to int, optional
        Lengths at which costs are counted; by default 1,000 for a dim without a known length.
    allow : {"reassociate"} or list of them, optional
        With ``"reassociate"``, rules that can lose digits by cancellation are used, too, such as
        the expansion of squares. The others change no more than the order of sums and the last
        digits of products.

    Returns
    -------
    Simplified
        ``.result`` is the cheaper expression, or the given one if none is found.

    Raises
    ------
    InputError
        If `x` is no expression, a length is invalid, or `allow` names no rewrite.

    Notes
    -----
    The rules are listed in the guide on rewriting by cost. The search is bounded and has no random
    choices. E-graphs are those of Willsey et al., egg: Fast and extensible equality saturation,
    POPL 2021; that rules know dims is the idea of Wang et al., SPORES, VLDB 2020.

    Examples
    --------
    The sum of a matrix product needs no matrix product:

    >>> import dimtensor as dt
    >>> i, j, k = (dt.Dim(name, length=100) for name in "ijk")
    >>> W, H = dt.tensor("W", dims=[i, k]), dt.tensor("H", dims=[k, j])
    >>> found = dt.simplify(dt.dot(W, H).sum())
    >>> found.result is (W.sum(i) * H.sum(j)).sum()
    True
    >>> list(found.rules), found.after < found.before / 50
    (['one sum of sums', 'order of contraction'], True)
    """
    structure, many = Structure.of(x)
    nodes = [as_node(one, what="what is simplified") for one in many]
    known = None if lengths is None else checked_lengths(lengths)
    found = simplified(nodes, known, allowed(allow))
    result = structure.rebuild([wrap(node) for node in found.outputs])
    given = structure.rebuild([wrap(node) for node in nodes])
    return Simplified(given, result, found)


def _named(x: Any, what: str) -> dict[str, Any]:
    structure, many = Structure.of(x)
    if structure.kind == "one":
        return {what: x}
    keys = structure.keys or range(1, len(many) + 1)
    return {f"{key}, {what}": one for key, one in zip(keys, many, strict=True)}


def _polynomial(x: Any) -> Polynomial:
    nodes: list[Node] = toposort([as_node(one) for one in Structure.of(x)[1]])
    free = fixed_nodes(nodes)
    work = (node_cost(node).work for node in nodes if node not in free)
    return sum(work, Polynomial.constant(0))
