"""Costs of the nodes of the dims graph.

For each node the model counts:

- *flops*: additions and multiplications. Other operations have a weight of about their relative
  time (:mod:`dimtensor.cost.weights`): a quotient 3, a library function 10. Complex numbers count
  as real ones.
- *bytes read* and *written*: traffic between memory and processor. As kernels fuse operations, the
  results of elementwise operations, look-ups and renames are never stored, and only look-ups read
  anything. Leaves are read once; sums, matrix products, decompositions, sorts, updates and loops
  write their results. With ``fused=False`` every node reads its operands and writes its result, as
  in an interpreter.

The cost of a graph is the sum over its nodes; the outputs of one computation count once, see
:func:`computation`. A loop costs its number of steps times its body; that of a while loop is the
variable ``rounds``. A conditional costs the termwise maximum of its branches. A derivative is a
multiple of its function. A product of several tensors is contracted in pairs, with the smallest
result first.

Linear algebra has the costs of textbook algorithms (Golub and Van Loan 2013): a Cholesky factor of
an n by n matrix n³/3, a solution by LU decomposition 2n³/3 plus 2n² per right-hand side. Sorting
has a constant cost per element, with the logarithm of a million for that of the length.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

from dimtensor.cost.polynomial import ONE, ZERO, Count, Lengths, Number, Polynomial
from dimtensor.cost.sizes import size_of
from dimtensor.cost.weights import weight
from dimtensor.dims import Dim, Dims, without
from dimtensor.graph.beside import Beside
from dimtensor.graph.functions import BatchedFunction
from dimtensor.graph.kind import kind_of
from dimtensor.graph.node import Node
from dimtensor.graph.regions import Region, split_inputs
from dimtensor.graph.walk import toposort
from dimtensor.tuning import CALL, SORT, SORT_DEPTH

# a draw: the words of a generator, and a function of them
DRAW = 3 * CALL
# an element read by a gather
GATHER = 2
# cost of gradients and tangents in units of the function (Baur and Strassen 1983: at most 3 to 5)
REVERSE, FORWARD = 3, 2
# bytes that are moved in the time of one flop
_BYTES_PER_FLOP = 8
_ASSUMED = 1000  # for unknown lengths when the contraction order is chosen


class Cost(NamedTuple):
    """Cost of a computation.

    Attributes
    ----------
    flops, read, written : Polynomial
        Operations, and bytes.
    """

    flops: Polynomial = ZERO
    read: Polynomial = ZERO
    written: Polynomial = ZERO

    def __add__(self, other: Cost) -> Cost:  # type: ignore[override]
        return Cost(*(a + b for a, b in zip(self, other, strict=True)))

    def times(self, factor: Polynomial | Number) -> Cost:
        """Multiply the cost by a number of repetitions."""
        return Cost(*(each * factor for each in self))

    @property
    def work(self) -> Polynomial:
        """Total cost: flops, with 8 bytes of traffic counted as one."""
        return self.flops + (self.read + self.written) * Fraction(1, _BYTES_PER_FLOP)


def node_cost(node: Node, fused: bool = True) -> Cost:
    """Compute the cost of a node without its inputs.

    Parameters
    ----------
    node : Node
    fused : bool
        Whether operations are fused, or every result is stored.

    Examples
    --------
    >>> import dimtensor as dt
    >>> i, j, k = dt.Dim("i"), dt.Dim("j"), dt.Dim("k")
    >>> x, y = dt.tensor("x", dims=[i, k]), dt.tensor("y", dims=[k, j])
    >>> product = node_cost(dt.dot(x, y, dim=k).node)
    >>> print(product.flops, "|", product.read, "|", product.written)
    2·i·j·k | 8·i·k + 8·j·k | 8·i·j
    """
    costs = _costs.get(node)
    if costs is None:
        costs = _costs.add(node, {})
    found = costs.get(fused)
    if found is None:
        found = costs[fused] = _cost(node, fused)
    return found


_costs: Beside[dict[bool, Cost]] = Beside()


def graph_cost(outputs: Iterable[Node], fused: bool = True) -> Cost:
    """Compute the cost of a graph, with shared subexpressions counted once."""
    computations = {computation(node): node for node in toposort(outputs)}
    return sum((node_cost(node, fused) for node in computations.values()), Cost())


def computation(node: Node) -> Hashable:
    """Return a key that all outputs of one computation share, such as a loop or decomposition."""
    attrs = node.attrs
    if "output" in getattr(attrs, "_fields", ()):
        return (node.kind, node.inputs, attrs._replace(output=0))
    return node


def _cost(node: Node, fused: bool) -> Cost:
    flops = FLOPS[node.kind](node)
    if node.kind in _LEAVES:
        return Cost(flops, size_of(node))
    if node.kind in _MOVES_NOTHING:
        return Cost(flops)
    if not fused or node.kind not in _FUSED:
        read = sum((size_of(x) for x in node.inputs), ZERO)
        if node.kind in ("loop", "cond", *_DERIVATIVES):
            moved = _inside(node, fused)
            return Cost(flops, moved.read, moved.written + size_of(node))
        return Cost(flops, read, size_of(node))
    if node.kind == "index":
        return Cost(flops, size_of(node))
    return Cost(flops)


def _elements(node: Node) -> Polynomial:
    return Polynomial.size(node.dims)


# -- operations ------------------------------------------------------------------------------------


def _nothing(node: Node) -> Polynomial:
    return ZERO


def _elemwise(node: Node) -> Polynomial:
    return _elements(node) * weight(node.attrs)


def _each(node: Node) -> Polynomial:
    return _elements(node)


def _each_operand(node: Node) -> Polynomial:
    return _elements(node.inputs[0])


def _sorting(node: Node) -> Polynomial:
    return _elements(node.inputs[0]) * (SORT * SORT_DEPTH)


def _looked_up(node: Node) -> Polynomial:
    """Count a position for each element that is looked up; slices are free."""
    selected = kind_of(node).selected(node)
    assert selected is not None
    element = node if node.kind == "index" else node.inputs[1]
    count = len([item for item in selected.items if item.kind in ("tensor", "mask")])
    found = _elements(element) * (GATHER * count)
    return found if node.kind == "index" else found + _elements(element)


def _draws(node: Node) -> Polynomial:
    return _elements(node) * DRAW if node.attrs.output else ZERO


def _words(node: Node) -> Polynomial:
    return _elements(node) * CALL


def _dot(node: Node) -> Polynomial:
    return sum((work for work, _ in contraction(node)), ZERO)


def contraction(node: Node) -> list[tuple[Polynomial, Dims]]:
    """Contract a product in pairs, the smallest result first; return cost and dims of each step."""
    pool = [frozenset(x.dims) for x in node.inputs]
    if len(pool) == 1:
        return [(Polynomial.size(node.inputs[0].dims), node.dims)]
    lengths = Lengths(assumed=_ASSUMED)
    found: list[tuple[Polynomial, Dims]] = []
    while len(pool) > 1:
        options = [_paired(pool, pair, node.dims) for pair in combinations(range(len(pool)), 2)]
        pool, joint = min(options, key=lambda found: Polynomial.size(found[0][-1]).at(lengths))
        sums = len(joint) > len(pool[-1])
        found.append((Polynomial.size(joint) * (1 + sums), tuple(pool[-1])))
    return found


def _paired(
    pool: list[frozenset[Dim]], pair: tuple[int, int], kept: Dims
) -> tuple[list[frozenset[Dim]], frozenset[Dim]]:
    """Replace two operands by their product at the end; return also the dims before summing."""
    others = [own for at, own in enumerate(pool) if at not in pair]
    joint = pool[pair[0]] | pool[pair[1]]
    return [*others, joint & frozenset(kept).union(*others)], joint


# -- linear algebra --------------------------------------------------------------------------------


def _apply(node: Node) -> Polynomial:
    """Return the cost of a known function; for others, one flop per element read or written."""
    attrs = node.attrs
    core = attrs.core_in[0]
    batch = Polynomial.size({d for x, c in zip(node.inputs, attrs.core_in, strict=True)
                             for d in without(x.dims, c)})  # fmt: skip
    name = attrs.name
    if isinstance(attrs.function, BatchedFunction):
        name = attrs.function.path.partition(":")[2]
    known = LINEAR_ALGEBRA.get(name)
    if known is None or len(core) != 2:
        return sum((_elements(x) for x in node.inputs), ZERO) + _elements(node)
    rows, columns = map(Polynomial.of, core)
    right = Polynomial.size(attrs.core_in[1][1:]) if len(attrs.core_in) > 1 else ONE
    return batch * known(rows, columns, right)


Algorithm = Callable[[Polynomial, Polynomial, Polynomial], Polynomial]

# by the numbers of rows m and columns n of the matrix, and of columns k of a right-hand side
LINEAR_ALGEBRA: dict[str, Algorithm] = {
    "cholesky": lambda m, n, k: m**3 * Fraction(1, 3),
    "solve": lambda m, n, k: m**3 * Fraction(2, 3) + 2 * m**2 * k,
    "solve_triangular": lambda m, n, k: m**2 * k,
    "inverse": lambda m, n, k: 2 * m**3,
    "det": lambda m, n, k: m**3 * Fraction(2, 3),
    "slogdet": lambda m, n, k: m**3 * Fraction(2, 3),
    "eigh": lambda m, n, k: 9 * m**3,
    "svd": lambda m, n, k: 4 * m**2 * n + 8 * m * n**2 + 9 * n**3,
    "qr": lambda m, n, k: 4 * m * n**2,
    "diagonal": lambda m, n, k: ZERO,
}


# -- bodies ----------------------------------------------------------------------------------------


def _region(region: Region, fused: bool) -> Cost:
    return graph_cost(region.outputs, fused)


def trips(node: Node) -> Polynomial:
    """Return the (maximal) number of steps of a loop."""
    attrs = node.attrs
    if attrs.over is not None:
        return Polynomial.of(attrs.over)
    steps = split_inputs(attrs, node.inputs).n_steps
    known = None if steps is None else _value(steps)
    return Polynomial.of(Count("rounds")) if known is None else known


def _value(node: Node) -> Polynomial | None:
    """Evaluate a scalar that is computed from lengths and constants."""
    if node.kind == "constant":
        return Polynomial.constant(int(node.attrs.value))
    if node.kind == "length":
        return Polynomial.of(node.attrs)
    if node.kind in ("cast", "check"):
        return _value(node.inputs[0])
    if node.kind != "elemwise" or node.attrs not in _ARITHMETIC:
        return None
    one, two = map(_value, node.inputs)
    return None if one is None or two is None else _ARITHMETIC[node.attrs](one, two)


_ARITHMETIC: dict[str, Callable[[Polynomial, Polynomial], Polynomial]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
}


def _inside(node: Node, fused: bool) -> Cost:
    """Compute the cost of regions, times the number of runs."""
    regions = kind_of(node).regions(node.attrs)
    if node.kind == "loop":
        return _region(regions[0], fused).times(trips(node))
    if node.kind == "cond":
        branches = (_region(region, fused) for region in regions)
        return Cost(*(Polynomial.bound(*each) for each in zip(*branches, strict=True)))
    function = _region(regions[0], fused)
    if node.kind == "pushforward":
        return function.times(FORWARD)
    if node.kind == "jacobian":
        return function.times(REVERSE).times(_elements(regions[0].outputs[0]))
    return function.times(REVERSE)


def _bodies(node: Node) -> Polynomial:
    return _inside(node, True).flops


FLOPS: dict[str, Callable[[Node], Polynomial]] = {
    **dict.fromkeys(
        ("input", "data", "shaped", "bound", "constant", "length", "positions", "label_position",
         "codes", "expand", "relabel", "named", "merge", "split", "concat", "stack", "rv", "shown",
         "check"),
        _nothing,
    ),
    "elemwise": _elemwise,
    "cast": _each,
    "reduce": _each_operand,
    "arg_reduce": _each_operand,
    "cumulate": _each_operand,
    "softmax": _each_operand,
    "group_position": _each_operand,
    "sort": _sorting,
    "argsort": _sorting,
    "index": _looked_up,
    "update": _looked_up,
    "dot": _dot,
    "apply": _apply,
    "seed": _words,
    "stream": _words,
    "draw": _draws,
    **dict.fromkeys(("loop", "cond", "gradient", "jacobian", "pushforward"), _bodies),
}  # fmt: skip

_LEAVES = frozenset({"input", "data", "shaped", "bound"})
_DERIVATIVES = ("gradient", "jacobian", "pushforward")
# renamed or constant values
_MOVES_NOTHING = frozenset(
    {"constant", "length", "positions", "label_position", "codes", "expand", "relabel", "named",
     "split", "rv", "shown", "check"}
)  # fmt: skip
# results are computed where they are used
_FUSED = frozenset({"elemwise", "cast", "index", "merge", "concat", "stack"})
