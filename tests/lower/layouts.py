"""Expressions whose layout is looked at, and transposes counted in what they are lowered to."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pytensor.graph.traversal import ancestors
from pytensor.tensor.blas.batched import BatchedDot
from pytensor.tensor.elemwise import DimShuffle
from pytensor.tensor.math import Dot

import dimtensor as dt
from dimtensor.compile.program import build_program
from dimtensor.kernels.compiler import rewritten
from dimtensor.optimize.plan.signatures import core_op


def _elementwise(a, b, c, d):
    x, y, z = dt.tensor("x", dims=[a, b, c]), dt.tensor("y", dims=[a, c]), dt.tensor("z", dims=b)
    return dt.exp(x * y + z)


def _gradient(a, b, c, d):
    x, y = dt.tensor("x", dims=[a, b, c]), dt.tensor("y", dims=[c, a])
    return dt.grad((dt.tanh(x * y) ** 2).sum(), y)


def _product(a, b, c, d):
    return dt.dot(dt.tensor("x", dims=[a, b]), dt.tensor("y", dims=[b, c]))


def _product_of_tables(a, b, c, d):
    return dt.dot(dt.tensor("x", dims=[a, b, c]), dt.tensor("y", dims=[c, d]))


def _batched_product(a, b, c, d):
    return dt.dot(dt.tensor("x", dims=[a, b, c]), dt.tensor("y", dims=[a, c, d]), dim=c)


def _own_product(a, b, c, d):
    x = dt.tensor("x", dims=[a, b])
    return dt.dot(x, x.rename_dim(a, "other"), dim=b)


def _gather(a, b, c, d):
    x, of = dt.tensor("x", dims=[a, b]), dt.tensor("of", dims=d, dtype="int64")
    return (x.isel({a: of}) * 2).sum(b)


def _gather_gradient(a, b, c, d):
    x, of = dt.tensor("x", dims=[a, b]), dt.tensor("of", dims=d, dtype="int64")
    return dt.grad((x.isel({a: of}).sum(b) ** 2).sum(), x)


def _two_gathers(a, b, c, d):
    x = dt.tensor("x", dims=[a, b, c])
    one, two = (dt.tensor(name, dims=d, dtype="int64") for name in ("one", "two"))
    return x.isel({a: one, b: two})


def _groups(a, b, c, d):
    x, of = dt.tensor("x", dims=[d, b]), dt.tensor("of", dims=d, dtype="int64")
    return dt.tensor("base", dims=[a, b]).isel({a: of}).inc(x)


def _reductions(a, b, c, d):
    x = dt.tensor("x", dims=[a, b, c])
    return [x.sum(a), x.sum(b), x.sum(c), x.sum([a, c])]


def _extreme(a, b, c, d):
    return dt.tensor("x", dims=[a, b, c]).max(c)


def _running(a, b, c, d):
    return dt.tensor("x", dims=[a, b, c]).cumsum(b)


def _cholesky(a, b, c, d):
    x, y = dt.tensor("x", dims=[a, b, b.rename("other")]), dt.tensor("y", dims=[a, b, c])
    factor = dt.linalg.cholesky(x, dims=(b, "other"))
    return dt.linalg.solve_triangular(factor, y, dims=(b, "other"))


def _ravel(a, b, c, d):
    x = dt.tensor("x", dims=[a, b, c])
    return (x.ravel([a, b], name="ab") * 2).unravel("ab") + x


def _differences(a, b, c, d):
    x = dt.tensor("x", dims=[a, b])
    return x.diff(a) * 2


def _concat(a, b, c, d):
    x, y = dt.tensor("x", dims=[a, b, c]), dt.tensor("y", dims=[d, b, c])
    return dt.concat([x, y], [a, d], name="both")


def _jacobian(a, b, c, d):
    x, y = dt.tensor("x", dims=[a, b]), dt.tensor("y", dims=[b, c])
    return dt.jacobian(dt.tanh(dt.dot(x, y)), y)


EXPRESSIONS: dict[str, Callable] = {
    function.__name__[1:]: function
    for function in (
        _elementwise, _gradient, _product, _product_of_tables, _batched_product, _own_product,
        _gather, _gather_gradient, _two_gathers, _groups, _reductions, _extreme, _running,
        _differences, _cholesky, _ravel, _concat, _jacobian,
    )
}  # fmt: skip


def outputs_of(name: str, dims: Iterable[dt.Dim]) -> list[dt.DimTensor]:
    """The outputs of an expression of four dims."""
    found = EXPRESSIONS[name](*dims)
    return list(found) if isinstance(found, (list, tuple)) else [found]


def transposes(outputs: list[dt.DimTensor]) -> tuple[int, int]:
    """Transposes in the lowered graph, and after the rewrites of the kernel compiler.

    A transposed operand of a matrix product, or of a batch of them, is not counted: BLAS takes it
    as it is.
    """
    inputs = [x.node for x in dt.inputs_of(outputs)]
    program = build_program(inputs, [x.node for x in outputs])
    graph = rewritten(program.inputs, program.outputs)
    return _permuting(program.outputs), _permuting(graph.outputs)


def _permuting(outputs) -> int:
    nodes = {v.owner for v in ancestors(outputs) if v.owner is not None}
    products = [node for node in nodes if isinstance(core_op(node), (Dot, BatchedDot))]
    taken = {v for node in products for v in node.inputs}
    return sum(
        node.outputs[0] not in taken or _permutes(node.op.new_order[:-2])
        for node in nodes
        if isinstance(node.op, DimShuffle) and _permutes(node.op.new_order)
    )


def _permutes(order) -> bool:
    kept = [axis for axis in order if axis != "x"]
    return kept != sorted(kept)
