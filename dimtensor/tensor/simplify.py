"""Expressions rewritten to cheaper ones that compute the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dimtensor.compile.function import Structure, allowed, checked_lengths
from dimtensor.cost import Polynomial, node_cost
from dimtensor.dims import Dim
from dimtensor.graph import Node, toposort
from dimtensor.renderers import Rendered, picture
from dimtensor.saturation.derivatives import simplified
from dimtensor.saturation.driver import Rewritten
from dimtensor.saturation.egraph import fixed_nodes
from dimtensor.saturation.rules.rule import RULES
from dimtensor.tensor.handle import as_node, wrap

if TYPE_CHECKING:
    from dimtensor.display.pictures.picture import Picture


class Simplified(Rendered):
    """What :func:`dimtensor.simplify` found; notebooks show it with both graphs.

    Attributes
    ----------
    result : DimTensor, list or dict of DimTensor
        The cheaper expression, in the structure of the given one.
    given : DimTensor, list or dict of DimTensor
    rules : dict of str to int
        The rules that were used, with how often.
    before, after : float
        Operations at the lengths that are known, given or assumed, see :mod:`dimtensor.cost`; what
        follows from data alone counts nothing.
    assumed : dict of Dim to int
        Dims whose lengths are neither known nor given, and what was assumed.

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
        """The costs before and after as polynomials in lengths."""
        return _polynomial(self.given), _polynomial(self.result)

    @property
    def reasons(self) -> dict[str, str]:
        """Why both sides of each rule that was used are the same."""
        return {rule.name: rule.reason for rule in RULES if rule.name in self.rules}

    def to_graph(self) -> Picture:
        """Both expressions in one picture: what they share is drawn once.

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
    """A cheaper expression that computes the same, found by equality saturation.

    Parameters
    ----------
    x : DimTensor, or list or dict of DimTensor
        Gradients among them are those of what their functions become.
    lengths : mapping of Dim to int, optional
        Lengths to count costs at. A dim that has none of its own, and none by data, has 1,000.
    allow : {"reassociate"} or list of them, optional
        With ``"reassociate"`` rules are used, too, that can lose digits where numbers cancel, such
        as the expansion of squares. The others change the order of sums and the last digits of
        products, no more.

    Returns
    -------
    Simplified
        ``.result`` is the expression, or the one that was given, if there is no cheaper one.

    Raises
    ------
    InputError
        If `x` is no expression, a length is none, or `allow` names no rewrite.

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
