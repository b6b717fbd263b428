"""Operations on trailing axes, sorts and matrix products: loops over a batch around one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pytensor.graph.basic import Apply, Variable
from pytensor.tensor.basic import AllocDiag
from pytensor.tensor.blas import BatchedDot
from pytensor.tensor.blockwise import Blockwise, BlockwiseWithCoreShape
from pytensor.tensor.linalg import Cholesky, Solve, SolveTriangular
from pytensor.tensor.math import Dot
from pytensor.tensor.sort import ArgSortOp, SortOp

from dimtensor.kernels.calls import RULES as CALL_RULES
from dimtensor.kernels.calls import (
    CallRule,
    Loops,
    finish,
    helper,
    loops_over,
    new_scope,
    on_diagonal,
    set_length,
    write_loops,
)
from dimtensor.kernels.elements import ZERO, Place, Term
from dimtensor.kernels.signatures import batched, core_op, has_core_axes, of_one_real_dtype, turned
from dimtensor.ops.group import GroupPosition
from dimtensor.ops.linalg import Det, Inverse, SLogDet

if TYPE_CHECKING:
    from dimtensor.kernels.emit import Emitter

_SMALL = 8  # the largest static size that is left to loops; see intrinsics.SCRATCH


class Core(NamedTuple):
    """What is called for each position of a batch.

    Attributes
    ----------
    function : str
        A function of the library. It is given inputs, outputs that have axes, and flags, and
        returns the outputs that have none.
    flags : tuple of str
    columns : tuple of int
        Numbers of the inputs and, after them, outputs that are vectors to be seen as matrices.
    arrays : tuple of Variable, optional
        What is read in the place of the inputs.
    """

    function: str
    flags: tuple[str, ...] = ()
    columns: tuple[int, ...] = ()
    arrays: tuple[Variable, ...] = ()


def _core(node: Apply, n_inputs: int) -> Core | None:
    """The library's function for a node, if it has one."""
    op, inputs, outputs = core_op(node), node.inputs[:n_inputs], node.outputs
    if isinstance(op, GroupPosition):
        return Core("group_position", (repr(op.which == "first"), repr(op.which == "max")))
    if not of_one_real_dtype([*inputs, *outputs]):
        return None
    if isinstance(op, (Dot, BatchedDot)):
        return _product(inputs, outputs[0])
    n = inputs[0].type.shape[-1] if inputs[0].type.ndim else None
    small = n is not None and n <= _SMALL
    size = (str(n),) if small else ()
    if isinstance(op, Cholesky) and op.lower:
        return Core("small_cholesky" if small else "cholesky", size)
    if isinstance(op, Inverse):
        return Core("small_inverse" if small else "inverse", size)
    if isinstance(op, Det):
        return Core("small_det" if small else "det", size)
    if isinstance(op, SLogDet):
        return Core("small_slogdet" if small else "slogdet", size)
    if isinstance(op, Solve) and op.assume_a == "gen":
        columns = (1, 2) if op.b_ndim == 1 else ()
        return Core("small_solve" if small else "solve", size, columns)
    if isinstance(op, SolveTriangular):
        return _triangular(op, inputs, size)
    return None


def _triangular(op: Any, inputs: list[Variable], size: tuple[str, ...]) -> Core:
    a, is_turned = turned(inputs[0])
    flags = (repr(bool(op.lower)), repr(is_turned), repr(bool(op.unit_diagonal)))
    arrays = (a, inputs[1])
    if size:
        columns = (1, 2) if op.b_ndim == 1 else ()
        return Core("small_solve_triangular", (*size, *flags), columns, arrays)
    if op.b_ndim == 1:
        return Core("solve_triangular_vector", flags, arrays=arrays)
    return Core("solve_triangular", flags, arrays=arrays)


def _product(inputs: list[Variable], out: Variable) -> Core | None:
    (a, a_turned), (b, b_turned) = turned(inputs[0]), turned(inputs[1])
    if inputs[0].type.ndim < 2 or inputs[1].type.ndim < 2:
        return None
    lengths = [*inputs[0].type.shape[-2:], *inputs[1].type.shape[-2:]]
    small = all(n is not None and n <= _SMALL for n in lengths)
    name = "small_dot" if small else "dot"
    return Core(name, (repr(a_turned), repr(b_turned)), arrays=(a, b))


def _on_cores(e: Emitter, node: Apply) -> None:
    inner = batched(node)
    if isinstance(core_op(node), AllocDiag):
        on_diagonal(e, node)
        return
    n_inputs = len(inner.inputs)
    out = node.outputs[0]
    batch = out.type.ndim
    if isinstance(inner.op, Blockwise):
        batch -= len(inner.op.outputs_sig[0])
    elif isinstance(inner.op, BatchedDot):
        batch -= 2
    else:
        batch = 0
    core = _core(node, n_inputs)
    if core is None and batch == 0:
        e.call_numba(node if inner is node else _unbatched(node))
        return
    _settle_lengths(e, node, n_inputs, batch)
    index = _batch_index(e, node, batch)
    if core is None:
        _write_foreign(e, node, n_inputs, index)
    else:
        _write_core(e, node, core, n_inputs, index)


def _unbatched(node: Apply) -> Apply:
    inner = batched(node)
    core = inner.op.core_op.make_node(*node.inputs[: len(inner.inputs)])
    core.outputs = list(node.outputs)
    return core


def _settle_lengths(e: Emitter, node: Apply, n_inputs: int, batch: int) -> None:
    """Lengths of axes that only the outputs have."""
    if not isinstance(node.op, BlockwiseWithCoreShape):
        return
    for out, shape in zip(node.outputs, node.inputs[n_inputs:], strict=True):
        for axis in range(batch, out.type.ndim):
            if out.type.shape[axis] is None:
                asked = e.element(shape, (Term(str(axis - batch)),), e.top).text
                set_length(e, out, axis, asked)


def _batch_index(e: Emitter, node: Apply, batch: int) -> tuple[tuple[Term, ...], Loops]:
    """Positions in a batch, and the loops over them."""
    index, loops = loops_over(e, node.outputs[0])
    loops = [loop for loop in loops if loop[0] in {term.text for term in index[:batch]}]
    return index[:batch], loops


def _part(e: Emitter, place: Place, variable: Variable, index: tuple[Term, ...], core: int) -> str:
    """Source of a core of an array, broadcast over the batch."""
    own = index[len(index) - (variable.type.ndim - core) :] if variable.type.ndim > core else ()
    texts = [
        ZERO.text if length == 1 else term.text
        for term, length in zip(own, variable.type.shape, strict=False)
    ]
    texts = [*place.leading, *texts]
    if not texts:
        return place.name
    return f"{helper(e, 'part')}({place.name}, ({', '.join(texts)},))"


def _core_ndims(node: Apply, n_inputs: int, batch: int) -> list[int]:
    """Numbers of core axes of inputs and outputs."""
    inner = batched(node)
    if isinstance(inner.op, Blockwise):
        return [len(core) for core in (*inner.op.inputs_sig, *inner.op.outputs_sig)]
    return [v.type.ndim - batch for v in (*node.inputs[:n_inputs], *node.outputs)]


def _write_core(
    e: Emitter, node: Apply, core: Core, n_inputs: int, where: tuple[tuple[Term, ...], Loops]
) -> None:
    index, loops = where
    ndims = _core_ndims(node, n_inputs, len(index))
    body, arguments, results = [], [], []
    inputs = core.arrays or node.inputs[:n_inputs]
    for number, (variable, ndim) in enumerate(zip(inputs, ndims, strict=False)):
        text = _part(e, e.place(variable), variable, index, ndim)
        arguments.append(_seen(e, text, number in core.columns))
    for number, out in enumerate(node.outputs, start=n_inputs):
        if ndims[number] == 0:
            results.append(_result_of(e, out, index))
            continue
        place = e.allocate(out)
        finish(e, out, place)
        text = _part(e, place, out, index, ndims[number])
        arguments.append(_seen(e, text, number in core.columns))
    function = helper(e, core.function)
    call = f"{function}({', '.join([*arguments, *core.flags])})"
    body.append(f"{', '.join(results)} = {call}" if results else call)
    write_loops(e, loops, new_scope(e), body)


def _seen(e: Emitter, text: str, as_column: bool) -> str:
    return f"{helper(e, 'as_column')}({text})" if as_column else text


def _result_of(e: Emitter, out: Variable, index: tuple[Term, ...]) -> str:
    """Where a number that a function returns goes."""
    if out.type.ndim == 0:
        name = e.fresh("s")
        e.scalars[out] = Term(name)
        return name
    place = e.allocate(out)
    finish(e, out, place)
    return place.at(index)


def _write_foreign(
    e: Emitter, node: Apply, n_inputs: int, where: tuple[tuple[Term, ...], Loops]
) -> None:
    """Call PyTensor's function for the core, and copy what it gives."""
    index, loops = where
    inner = batched(node)
    ndims = _core_ndims(node, n_inputs, len(index))
    arguments = [
        _part(e, e.place(v), v, index, ndim)
        for v, ndim in zip(node.inputs[:n_inputs], ndims, strict=False)
    ]
    function = e.numba_function(inner.op._create_dummy_core_node(inner.inputs))
    names = [e.fresh("r") for _ in node.outputs]
    body = [f"{', '.join(names)} = {function}({', '.join(arguments)})"]
    for name, out, ndim in zip(names, node.outputs, ndims[n_inputs:], strict=True):
        place = e.allocate(out)
        finish(e, out, place)
        inside = [e.fresh("i") for _ in range(ndim)]
        for depth, loop in enumerate(inside):
            body.append("    " * depth + f"for {loop} in range({name}.shape[{depth}]):")
        target = place.at((*index, *(Term(loop) for loop in inside)))
        body.append("    " * ndim + f"{target} = {name}[{', '.join(inside) or '()'}]")
    write_loops(e, loops, new_scope(e), body)


def _sort(e: Emitter, node: Apply) -> None:
    (x,), (out,), axis = node.inputs, node.outputs, node.op.axis
    place = e.allocate(out)
    source, function = e.place(x), "sort_line" if isinstance(node.op, SortOp) else "argsort_line"
    index, loops = loops_over(e, out)
    others = [term for at, term in enumerate(index) if at != axis]
    loops = [loop for loop in loops if loop[0] in {term.text for term in others}]
    lines = [_line(e, p, axis, others) for p in (source, place)]
    write_loops(e, loops, new_scope(e), [f"{helper(e, function)}({', '.join(lines)})"])
    finish(e, out, place)


def _line(e: Emitter, place: Place, axis: int, others: list[Term]) -> str:
    texts = [*place.leading, *(term.text for term in others)]
    if not texts:
        return place.name
    at = f"({', '.join(texts)},)"
    return f"{helper(e, 'line')}({place.name}, {axis + len(place.leading)}, {at})"


RULES: list[tuple[Any, CallRule]] = [
    ((SortOp, ArgSortOp), _sort),
    ((Blockwise, BlockwiseWithCoreShape, BatchedDot), _on_cores),
    ((Dot, Cholesky, Inverse, Det, SLogDet, Solve, SolveTriangular, GroupPosition), _on_cores),
]


def call_rule(node: Apply) -> CallRule | None:
    """How a node that is called is written; None for PyTensor's numba implementation."""
    if isinstance(batched(node).op, Blockwise) and not has_core_axes(node):
        return None
    for kinds, rule in (*RULES, *CALL_RULES):
        if isinstance(node.op, kinds):
            return rule
    return None
