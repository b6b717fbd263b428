"""Rules of matrices with structure: Kronecker products, blocks, diagonals and low rank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dimtensor.dims import Dim, ProductDim, RenamedDim, without
from dimtensor.graph.attrs import ApplyAttrs, ReduceAttrs
from dimtensor.graph.functions import BatchedFunction
from dimtensor.graph.node import Node, make
from dimtensor.graph.rebuilding.substitute import relabel_node
from dimtensor.plugins.saturation.egraph import ENode
from dimtensor.plugins.saturation.rules.rule import Matching, rule
from dimtensor.plugins.saturation.rules.sums import length_of, sum_of
from dimtensor.plugins.saturation.views import Product, as_dtype, constant, elemwise

_SOLVED = ("solve", "slogdet")


def is_identity(m: Matching, at: int, row: Dim, col: Dim) -> bool:
    """Return whether a class is 1 where two positions are equal, and 0 elsewhere."""
    node = m.graph.node(at)
    if node.kind != "cast":
        return False
    (hit,) = node.inputs
    if hit.kind != "elemwise" or hit.attrs != "equal":
        return False
    places = [x.attrs for x in hit.inputs if x.kind == "positions"]
    return len(places) == 2 and set(places) == {row, col}


def solved(matrix: Node, right: Node, row: Dim, col: Dim) -> Node:
    """Solve linear equations."""
    columns = without(right.dims, matrix.dims)
    function = BatchedFunction(
        "dimtensor.ops.linalg:solve", b_ndim=1 + len(columns), assume_a="gen"
    )
    cores = ((row, col), (row, *columns))
    attrs = ApplyAttrs(function, cores, (col, *columns), matrix.dtype, 0, "solve")
    return make("apply", (matrix, right), attrs)


def determinant(matrix: Node, row: Dim, col: Dim, output: int) -> Node:
    """Return the sign of a determinant (output 0), or the log of its absolute value (1)."""
    function = BatchedFunction("dimtensor.ops.linalg:slogdet")
    attrs = ApplyAttrs(function, ((row, col),), (), matrix.dtype, output, "slogdet")
    return make("apply", (matrix,), attrs)


def _asked(one: ENode) -> tuple[Dim, Dim] | None:
    """Return the row and column dims of the float matrix of equations or a determinant."""
    attrs = one.sample.attrs
    if attrs.name not in _SOLVED or not isinstance(attrs.function, BatchedFunction):
        return None
    if one.sample.dtype != "float64" or one.sample.inputs[0].dtype != "float64":
        return None
    row, col = attrs.core_in[0]
    return row, col


# -- Kronecker products ----------------------------------------------------------------------------


class _Part(NamedTuple):
    """A factor of a Kronecker product; without a node it is the identity."""

    row: Dim
    col: Dim
    node: Node | None


class _Kronecker(NamedTuple):
    """A Kronecker product: its factors, a number, and how its dims were made of those of factors.

    Steps lead from the dim of the product to the dims of factors: a pair of dims is a relabeling,
    a product is taken apart.
    """

    parts: list[_Part]
    scale: Product
    row_steps: list[ProductDim | tuple[Dim, Dim]]
    col_steps: list[ProductDim | tuple[Dim, Dim]]


def _kronecker(m: Matching, whole: int, row: Dim, col: Dim) -> _Kronecker | None:
    product = m.views.product(whole)
    matrices = [(at, p) for at, p in product.powers if m.views.has(at, (row, col))]
    if len(matrices) != 1 or matrices[0][1] != 1:
        return None
    beside = product._replace(powers=tuple(p for p in product.powers if p not in matrices))
    node = m.graph.node(matrices[0][0])
    rows, cols = [row], [col]
    row_steps: list[ProductDim | tuple[Dim, Dim]] = []
    col_steps: list[ProductDim | tuple[Dim, Dim]] = []
    while node.kind in ("relabel", "merge"):
        if node.kind == "relabel":
            back = {new: old for old, new in node.attrs.pairs}
            for dims, steps in ((rows, row_steps), (cols, col_steps)):
                for at, dim in enumerate(dims):
                    if dim in back:
                        dims[at] = back[dim]
                        steps.append((back[dim], dim))
        else:
            merged: ProductDim = node.attrs
            if rows == [merged]:
                rows = list(merged.factors)
                row_steps.append(merged)
            elif cols == [merged]:
                cols = list(merged.factors)
                col_steps.append(merged)
            else:
                return None
        (node,) = node.inputs
    if len(rows) < 2 or len(rows) != len(cols):
        return None
    found = _parts(m, m.views.product(m.graph.of(node)), rows, cols)
    if found is None:
        return None
    parts, scale = found
    return _Kronecker(parts, scale.times(beside), row_steps, col_steps)


def _parts(
    m: Matching, product: Product, rows: Sequence[Dim], cols: Sequence[Dim]
) -> tuple[list[_Part], Product] | None:
    parts: list[_Part] = []
    scale = []
    left = []
    for at, power in product.powers:
        own = m.graph.node(at).dims
        of_rows, of_cols = [d for d in rows if d in own], [d for d in cols if d in own]
        if not of_rows and not of_cols:
            scale.append((at, power))
        elif (
            power == 1
            and len(of_rows) == len(of_cols) == 1
            and is_identity(m, at, of_rows[0], of_cols[0])
        ):
            parts.append(_Part(of_rows[0], of_cols[0], None))
        else:
            left.append((at, power))
    blocks = {part.row for part in parts}
    for at, power in left:
        node = m.graph.node(at)
        of_rows = [d for d in rows if d in node.dims and d not in blocks]
        of_cols = [d for d in cols if d in node.dims]
        if power != 1 or len(of_rows) != 1 or len(of_cols) != 1 or node.dtype != "float64":
            return None
        parts.append(_Part(of_rows[0], of_cols[0], node))
    if len({p.row for p in parts}) != len(rows) or len({p.col for p in parts}) != len(cols):
        return None
    if len(parts) != len(rows):
        return None
    return parts, Product(product.number, tuple(scale))


@rule(
    "factors of a Kronecker product",
    "equations and determinants of a Kronecker product are those of its factors; of a block "
    "diagonal matrix, those of its blocks",
    "apply",
)  # fmt: skip
def kronecker(m: Matching, one: ENode) -> Iterator[Node]:
    asked = _asked(one)
    if asked is None:
        return
    row, col = asked
    found = _kronecker(m, one.children[0], row, col)
    if found is None:
        return
    if one.sample.attrs.name == "solve":
        right = m.graph.node(one.children[1])
        if right.dtype == "float64":
            yield _kronecker_solved(m, found, right)
    elif one.sample.attrs.output == 1:
        yield _kronecker_logabsdet(m, found)
    else:
        yield _kronecker_sign(m, found)


def _kronecker_solved(m: Matching, found: _Kronecker, right: Node) -> Node:
    for step in found.row_steps:
        if isinstance(step, tuple):
            right = relabel_node(right, (step[1], step[0]))
        else:
            right = make("split", (right,), step)
    for part in sorted(found.parts, key=lambda part: part.node is None):
        if part.node is None:
            right = relabel_node(right, (part.row, part.col))
        else:
            right = solved(part.node, right, part.row, part.col)
    for step in reversed(found.col_steps):
        if isinstance(step, tuple):
            right = relabel_node(right, step)
        else:
            right = make("merge", (right,), step)
    if found.scale.powers or found.scale.number != 1.0:
        right = elemwise("divide", right, m.views.made(found.scale, right.dtype))
    return right


def _others(found: _Kronecker, part: _Part) -> list[Dim]:
    """Rows of the other factors along which a factor is the same."""
    own = () if part.node is None else part.node.dims
    return [p.row for p in found.parts if p is not part and p.row not in own]


def _blocks(found: _Kronecker, part: _Part) -> list[Dim]:
    """Rows of identities along which a factor has blocks."""
    own = () if part.node is None else part.node.dims
    return [p.row for p in found.parts if p is not part and p.row in own]


def _kronecker_logabsdet(m: Matching, found: _Kronecker) -> Node:
    views = m.views
    terms = []
    for part in found.parts:
        if part.node is not None:
            at = m.graph.add(determinant(part.node, part.row, part.col, 1))
            dims = (*_blocks(found, part), *_others(found, part))
            terms.append((1.0, sum_of(m, Product(1.0, ((at, 1),)), dims, "float64")))
    if found.scale.powers or found.scale.number != 1.0:
        scale = elemwise("log", elemwise("abs", views.made(found.scale, "float64")))
        lengths = [length_of(part.row, "float64") for part in found.parts]
        terms.append((1.0, views.chain("multiply", [scale, *lengths])))
    return views.total(terms, "float64")


def _kronecker_sign(m: Matching, found: _Kronecker) -> Node:
    """Each factor counts as often as there are positions of the others: odd times, or even."""
    signs = []
    scale = found.scale.powers or found.scale.number != 1.0
    for part in found.parts:
        if part.node is not None:
            sign = determinant(part.node, part.row, part.col, 0)
            signs.append(_repeated(sign, _others(found, part)))
            blocks = tuple(_blocks(found, part))
            if blocks:
                signs[-1] = make("reduce", (signs[-1],), ReduceAttrs("prod", blocks))
    if scale:
        sign = elemwise("sign", m.views.made(found.scale, "float64"))
        signs.append(_repeated(sign, [part.row for part in found.parts]))
    return m.views.chain("multiply", signs) if signs else constant(1.0, "float64")


def _repeated(sign: Node, dims: Sequence[Dim]) -> Node:
    for dim in dims:
        odd = elemwise("mod", make("length", (), dim), constant(2, "int64"))
        even = elemwise("equal", odd, constant(0, "int64"))
        sign = elemwise("where", even, elemwise("square", sign), sign)
    return sign


# -- diagonals and low rank ------------------------------------------------------------------------


class _DiagonalPlusLowRank(NamedTuple):
    """A diagonal, and a product of two matrices of few columns; of one, without a dim for it."""

    diagonal: Node
    left: Product | None
    right: Product | None
    rank: Dim | None


def _diagonal_and_low_rank(m: Matching, at: int, row: Dim, col: Dim) -> _DiagonalPlusLowRank | None:
    terms = m.views.terms(at)
    if len(terms) not in (1, 2):
        return None
    diagonals = [d for d in (_diagonal(m, term, row, col) for term in terms) if d is not None]
    rest = [term for term in terms if _diagonal(m, term, row, col) is None]
    if len(diagonals) != 1:
        return None
    if not rest:
        return _DiagonalPlusLowRank(diagonals[0], None, None, None)
    return _separated(m, diagonals[0], rest[0], row, col)


def _diagonal(m: Matching, term: Product, row: Dim, col: Dim) -> Node | None:
    """Return the elements of a diagonal matrix along its rows."""
    found = [(at, p) for at, p in term.powers if p == 1 and is_identity(m, at, row, col)]
    if len(found) != 1:
        return None
    others = [pair for pair in term.powers if pair not in found]
    powers = []
    for at, power in others:
        node = m.graph.node(at)
        if row in node.dims and col in node.dims:
            return None
        if col in node.dims:
            at = m.graph.add(relabel_node(node, (col, row)))
        powers.append((at, power))
    return m.views.made(Product(term.number, tuple(powers)), "float64")


def _separated(
    m: Matching, diagonal: Node, term: Product, row: Dim, col: Dim
) -> _DiagonalPlusLowRank | None:
    rank: Dim | None = None
    powers = list(term.powers)
    number = term.number
    both = [(at, p) for at, p in powers if m.views.has(at, (row,)) and m.views.has(at, (col,))]
    if both:
        if len(both) > 1 or both[0][1] != 1:
            return None
        inner = _one_sum(m, both[0][0])
        if inner is None:
            return None
        rank, product = inner
        powers = [p for p in powers if p not in both] + list(product.powers)
        number *= product.number
    left = tuple((at, p) for at, p in powers if not m.views.has(at, (col,)))
    right = tuple((at, p) for at, p in powers if m.views.has(at, (col,)))
    if any(m.views.has(at, (row,)) for at, _ in right) or not right:
        return None
    if not any(m.views.has(at, (row,)) for at, _ in left):
        return None
    return _DiagonalPlusLowRank(diagonal, Product(number, left), Product(1.0, right), rank)


def _one_sum(m: Matching, at: int) -> tuple[Dim, Product] | None:
    for member in m.graph.nodes(at):
        if member.sample.kind in ("reduce", "dot"):
            found = m.summed(member)
            if found is not None and len(found[0]) == 1:
                return found[0][0], found[1]
    return None


class _Woodbury:
    """The equations of a diagonal and a product of low rank, and its determinant.

    With ``A = D + U V'`` and ``S = 1 + V' D^-1 U``, which is small, ``A^-1 = D^-1 - D^-1 U S^-1 V'
    D^-1`` (Woodbury 1950), and ``det A = det D det S``.
    """

    def __init__(self, m: Matching, found: _DiagonalPlusLowRank, row: Dim, col: Dim):
        self._m = m
        self._found = found
        self._row, self._col = row, col
        self._rank = found.rank
        self._primed = None if found.rank is None else _free_name(found.rank, row, col)
        assert found.left is not None
        assert found.right is not None
        left = m.views.made(found.left, "float64")
        right = relabel_node(m.views.made(found.right, "float64"), (col, row))
        if self._rank is not None and self._primed is not None and self._rank in right.dims:
            right = relabel_node(right, (self._rank, self._primed))
        self._right = right
        self._scaled = elemwise("divide", left, found.diagonal)

    @property
    def small(self) -> Node:
        """1 + V' D^-1 U."""
        product = self._summed(self._right, self._scaled)
        if self._rank is None or self._primed is None:
            return elemwise("add", constant(1.0, "float64"), product)
        places = make("positions", (), self._rank), make("positions", (), self._primed)
        identity = as_dtype(elemwise("equal", *places), "float64")
        return elemwise("add", identity, product)

    def _summed(self, *nodes: Node) -> Node:
        powers = tuple((self._m.graph.add(x), 1) for x in nodes)
        return sum_of(self._m, Product(1.0, powers), (self._row,), "float64")

    def solved(self, right: Node) -> Node:
        m = self._m
        scaled = elemwise("divide", right, self._found.diagonal)
        inner = self._summed(self._right, scaled)
        if self._rank is None or self._primed is None:
            change = elemwise("multiply", self._scaled, elemwise("divide", inner, self.small))
        else:
            weights = solved(self.small, inner, self._primed, self._rank)
            powers = ((m.graph.add(self._scaled), 1), (m.graph.add(weights), 1))
            change = sum_of(m, Product(1.0, powers), (self._rank,), "float64")
        return relabel_node(elemwise("subtract", scaled, change), (self._row, self._col))

    def determinant(self, output: int) -> Node:
        small = self.small
        if self._rank is None or self._primed is None:
            part = elemwise("sign", small) if output == 0 else _log_abs(small)
        else:
            part = determinant(small, self._primed, self._rank, output)
        whole = _diagonal_determinant(self._m, self._found.diagonal, self._row, output)
        return elemwise("add" if output else "multiply", whole, part)


def _free_name(dim: Dim, *others: Dim) -> Dim:
    if dim.name is None:
        return dim
    new = RenamedDim(dim, dim.name + "'")
    while any(new._namespace == other._namespace for other in others):
        assert new.name is not None
        new = RenamedDim(dim, new.name + "'")
    return new


def _log_abs(x: Node) -> Node:
    return elemwise("log", elemwise("abs", x))


def _diagonal_determinant(m: Matching, diagonal: Node, row: Dim, output: int) -> Node:
    if output == 1:
        powers = ((m.graph.add(_log_abs(diagonal)), 1),)
        return sum_of(m, Product(1.0, powers), (row,), "float64")
    sign = elemwise("sign", diagonal)
    if row in diagonal.dims:
        return make("reduce", (sign,), ReduceAttrs("prod", (row,)))
    return _repeated(sign, [row])


@rule(
    "a diagonal",
    "equations of a diagonal matrix are quotients, its determinant is a product",
    "apply",
)  # fmt: skip
def diagonal_only(m: Matching, one: ENode) -> Iterator[Node]:
    found = _structured(m, one)
    if found is None or found[2].left is not None:
        return
    row, col, parts = found
    if one.sample.attrs.name == "slogdet":
        yield _diagonal_determinant(m, parts.diagonal, row, one.sample.attrs.output)
    elif m.graph.node(one.children[1]).dtype == "float64":
        right = m.graph.node(one.children[1])
        yield relabel_node(elemwise("divide", right, parts.diagonal), (row, col))


@rule(
    "a diagonal and low rank",
    "equations and determinants of a diagonal plus a product of low rank are those of a small "
    "matrix; digits are lost where the diagonal is small beside the product",
    "apply",
    exact=False,
)  # fmt: skip
def low_rank(m: Matching, one: ENode) -> Iterator[Node]:
    found = _structured(m, one)
    if found is None or found[2].left is None:
        return
    row, col, parts = found
    woodbury = _Woodbury(m, parts, row, col)
    if one.sample.attrs.name == "slogdet":
        yield woodbury.determinant(one.sample.attrs.output)
    elif m.graph.node(one.children[1]).dtype == "float64":
        yield woodbury.solved(m.graph.node(one.children[1]))


def _structured(m: Matching, one: ENode) -> tuple[Dim, Dim, _DiagonalPlusLowRank] | None:
    asked = _asked(one)
    if asked is None:
        return None
    row, col = asked
    if set(m.graph.node(one.children[0]).dims) != {row, col}:
        return None
    found = _diagonal_and_low_rank(m, one.children[0], row, col)
    return None if found is None else (row, col, found)
