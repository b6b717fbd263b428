"""Operations on trailing axes, sorts and matrix products: loops over a batch around a template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pytensor.graph.basic import Apply, Variable
from pytensor.tensor.basic import AllocDiag, Eye
from pytensor.tensor.blas import BatchedDot
from pytensor.tensor.blockwise import Blockwise, BlockwiseWithCoreShape
from pytensor.tensor.linalg import Cholesky, LUFactor, Solve, SolveTriangular
from pytensor.tensor.linalg.decomposition.lu import PivotToPermutations
from pytensor.tensor.math import Dot
from pytensor.tensor.sort import ArgSortOp, SortOp
from pytensor.tensor.subtensor import AdvancedSubtensor

from dimtensor.graph.dtypes import is_complex
from dimtensor.kernels.ir.make import FALSE, ONE, TRUE, ZERO, integer, known, op
from dimtensor.kernels.ir.nodes import (
    Allocate,
    Array,
    Const,
    Expression,
    For,
    Foreign,
    Length,
    Load,
    Part,
    Statement,
    Store,
    Var,
)
from dimtensor.kernels.rules.calls import RULES as CALL_RULES
from dimtensor.kernels.rules.calls import (
    CallRule,
    Loops,
    call_numba,
    finish,
    identity_matrix,
    loops_over,
    new_scope,
    on_diagonal,
    set_length,
    write_loops,
)
from dimtensor.kernels.rules.checked import RULES as CHECK_RULES
from dimtensor.kernels.rules.draws import RULES as DRAW_RULES
from dimtensor.kernels.rules.elementwise import Index, Place
from dimtensor.kernels.rules.loops import RULES as LOOP_RULES
from dimtensor.kernels.rules.reshapes import RULES as RESHAPE_RULES
from dimtensor.kernels.rules.series import RULES as SERIES_RULES
from dimtensor.kernels.rules.templates import Access, Given, given_to, inlined
from dimtensor.ops.along import DFT, Convolve, FromHalf, RealDFT
from dimtensor.ops.linalg import SVD, CholeskyGradient, Det, Eigh, Inverse, SLogDet, TallQR
from dimtensor.ops.positions import GroupPosition, OwnerOf
from dimtensor.optimize.plan.signatures import (
    batched,
    core_op,
    has_core_axes,
    of_one_real_dtype,
    turned,
)
from dimtensor.tuning import LOOPED_MATRIX_ROWS
from dimtensor.upstream.pytensor import core_node

if TYPE_CHECKING:
    from dimtensor.kernels.emit.emitter import Emitter


class Core(NamedTuple):
    """Template and arguments for each position of a batch.

    Attributes
    ----------
    template : str
    inputs : mapping of str to Variable
        By parameter.
    numbers : mapping of str to Expression
    whole : tuple of str
        Parameters that must be arrays of their own, because they are passed to BLAS or LAPACK.
    outputs : tuple of str
        Parameters of the outputs, as far as they have axes.
    """

    template: str
    inputs: Mapping[str, Variable]
    numbers: Mapping[str, Expression]
    whole: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ("out", "out")


def _core(e: Emitter, node: Apply, n_inputs: int) -> Core | None:
    """Return the template of a node, None without one."""
    core, inputs, out = core_op(node), node.inputs[:n_inputs], node.outputs[0]
    if isinstance(core, GroupPosition):
        x, codes, _ = inputs
        numbers = {"n": _last(e, x), "n_groups": _last(e, out)}
        flags = {"first": _flag(core.which == "first"), "largest": _flag(core.which == "max")}
        return Core("group_position", {"x": x, "codes": codes}, {**numbers, **flags})
    if isinstance(core, OwnerOf):
        ends, places = inputs
        numbers = {"n": _last(e, places), "n_groups": _last(e, ends)}
        return Core("owner_of", {"ends": ends, "places": places}, numbers)
    if isinstance(core, (Dot, BatchedDot)):
        return _product(e, inputs, out)
    if isinstance(core, PivotToPermutations) and core.inverse:
        return Core("permutation", {"pivots": inputs[0]}, {"n": _last(e, inputs[0])})
    if isinstance(core, LUFactor) and of_one_real_dtype([*inputs, out]):
        numbers = {"n": _last(e, inputs[0])}
        return Core("lu_factor", {"x": inputs[0]}, numbers, outputs=("out", "pivots"))
    if isinstance(core, (SortOp, ArgSortOp)) and len(batched(node).op.inputs_sig[0]) == 1:
        flags = {"positions": _flag(isinstance(core, ArgSortOp))}
        return Core("sort_line", {"x": inputs[0]}, {"n": _last(e, inputs[0]), **flags})
    if not of_one_real_dtype([*inputs, *node.outputs]):
        return None
    if isinstance(core, (DFT, RealDFT, FromHalf)):
        return _transform(e, core, inputs, node.outputs)
    if isinstance(core, Convolve):
        return _convolution(e, core, inputs, out)
    if isinstance(core, (Eigh, SVD, TallQR)):
        return _decomposition(e, core, inputs, node.outputs)
    size = inputs[0].type.shape[-1] if inputs[0].type.ndim else None
    by_loops = size is not None and size <= LOOPED_MATRIX_ROWS
    suffix = "_loops" if by_loops else ""
    if isinstance(core, Cholesky) and core.lower:
        n = {"n": _last(e, inputs[0])}
        return Core("cholesky" + suffix, {"x": inputs[0]}, n, () if suffix else ("out",))
    if isinstance(core, CholeskyGradient):
        arrays = dict(zip(("factor", "cotangent"), inputs, strict=True))
        n = {"n": _last(e, inputs[0])}
        return Core("cholesky_gradient" + suffix, arrays, n, () if suffix else ("factor", "out"))
    for kind, name in ((Inverse, "inverse"), (Det, "det"), (SLogDet, "slogdet")):
        if isinstance(core, kind):
            numbers = {"n": _last(e, inputs[0]), "by_loops": _flag(by_loops)}
            return Core(name, {"x": inputs[0]}, numbers)
    if isinstance(core, Solve) and core.assume_a == "gen":
        a, b = inputs
        numbers = {"n": _last(e, a), "columns": ONE if core.b_ndim == 1 else _last(e, b)}
        return Core("solve", {"a": a, "b": b}, {**numbers, "by_loops": _flag(by_loops)})
    if isinstance(core, SolveTriangular):
        return _triangular(e, core, inputs, suffix)
    return None


def _decomposition(e: Emitter, core: Any, inputs: list[Variable], made: list[Variable]) -> Core:
    (x,) = inputs
    sizes = {"m": _last(e, x, -2), "n": _last(e, x)}
    m, n = sizes.values()
    k = op("min", m, n)
    lengths: list[list[Expression]] = [[m, k], [k], [k, n]]
    if isinstance(core, (Eigh, TallQR)):
        lengths = [[n] if isinstance(core, Eigh) else [m, n], [n, n]]
    given: list[list[Expression]] = lengths if len(made) > 1 else [[k]]
    for out, own in zip(made, given, strict=True):
        for axis, length in enumerate(own, start=out.type.ndim - len(own)):
            set_length(e, out, axis, length)
    if isinstance(core, Eigh):
        # to LAPACK the matrix is its transpose
        numbers = {"n": sizes["n"], "uplo": _letter("U" if core.lower else "L")}
        return Core("eigh", {"x": x}, numbers, outputs=("values", "vectors"))
    if isinstance(core, TallQR):
        return Core("qr", {"x": x}, sizes, outputs=("orthogonal", "upper"))
    values = made[1] if core.compute_uv else made[0]
    sizes["k"] = _last(e, values)
    outputs = ("left", "values", "right") if core.compute_uv else ("values",)
    return Core("svd", {"x": x}, {**sizes, "vectors": _flag(core.compute_uv)}, outputs=outputs)


def _transform(e: Emitter, core: Any, inputs: list[Variable], made: list[Variable]) -> Core:
    turned_back, is_real = isinstance(core, FromHalf), isinstance(core, RealDFT)
    n = _last(e, inputs[-1])
    if is_real:
        for out in made:
            set_length(e, out, out.type.ndim - 1, op("+", op("//", n, integer(2)), ONE))
    numbers = {"n": n, "given": _last(e, inputs[0]), "wanted": _last(e, made[0])}
    flags = {"is_real": _flag(is_real), "turned_back": _flag(turned_back)}
    arrays = dict(zip(("re", "im"), inputs, strict=False))
    return Core("dft", arrays, {**numbers, **flags}, outputs=("real", "imaginary")[: len(made)])


def _convolution(e: Emitter, core: Convolve, inputs: list[Variable], out: Variable) -> Core:
    x, weights = inputs
    n, k = _last(e, x), _last(e, weights)
    if out.type.shape[-1] is None:
        m = op("-", op("+", n, k), ONE) if core.full else op("+", op("-", n, k), ONE)
        set_length(e, out, out.type.ndim - 1, op("max", m, ZERO))
    numbers = {"n": n, "k": k, "m": _last(e, out)}
    template = "convolve_full" if core.full else "convolve_inside"
    return Core(template, {"x": x, "weights": weights}, numbers)


def _last(e: Emitter, variable: Variable, axis: int = -1) -> Expression:
    return e.length(variable, axis % variable.type.ndim)


def _flag(value: bool) -> Const:
    return TRUE if value else FALSE


def _triangular(e: Emitter, core: Any, inputs: list[Variable], suffix: str) -> Core:
    (a, is_turned), b = turned(inputs[0]), inputs[1]
    lower, unit = bool(core.lower), bool(core.unit_diagonal)
    numbers = {"n": _last(e, a), "unit": _flag(unit)}
    arrays = {"a": a, "b": b}
    flags = {"lower": _flag(lower), "turned": _flag(is_turned)}
    if core.b_ndim == 1 and not suffix:
        return Core("solve_triangular_vector", arrays, {**numbers, **flags})
    numbers["columns"] = ONE if core.b_ndim == 1 else _last(e, b)
    if suffix:
        return Core("solve_triangular_loops", arrays, {**numbers, **flags})
    letters = {
        "uplo": _letter("U" if lower != is_turned else "L"),
        "trans": _letter("T" if is_turned else "N"),
        "diag": _letter("U" if unit else "N"),
    }
    return Core("solve_triangular", arrays, {**numbers, **letters}, ("a", "out"))


def _letter(letter: str) -> Const:
    return integer(ord(letter))


def _product(e: Emitter, inputs: list[Variable], out: Variable) -> Core | None:
    if any(v.type.ndim < 2 or is_complex(v.type.dtype) for v in inputs):
        return None
    real = of_one_real_dtype([*inputs, out])
    (a, a_turned), (b, b_turned) = (turned(v) if real else (v, False) for v in inputs)
    numbers = {"m": _last(e, out, -2), "n": _last(e, out), "inner": _last(e, inputs[0])}
    sizes = [known(length) for length in numbers.values()]
    small = all(size is not None and size <= LOOPED_MATRIX_ROWS for size in sizes)
    if small or not real:
        flags = {"a_turned": _flag(a_turned), "b_turned": _flag(b_turned)}
        return Core("dot_loops", {"a": a, "b": b}, {**numbers, **flags})
    numbers |= {"a_letter": _letter("T" if a_turned else "N"), "a_width": _last(e, a)}
    numbers |= {"b_letter": _letter("T" if b_turned else "N"), "b_width": _last(e, b)}
    return Core("dot", {"a": a, "b": b}, numbers, ("a", "b", "out"))


def _on_cores(e: Emitter, node: Apply) -> None:
    inner = batched(node)
    if isinstance(core_op(node), AllocDiag):
        on_diagonal(e, node)
        return
    if isinstance(core_op(node), AdvancedSubtensor) and core_op(node).idx_list == (0,):
        _rows(e, node)
        return
    n_inputs = len(inner.inputs)
    batch = node.outputs[0].type.ndim
    if isinstance(inner.op, Blockwise):
        batch -= len(inner.op.outputs_sig[0])
    elif isinstance(inner.op, BatchedDot):
        batch -= 2
    else:
        batch = 0
    _settle_lengths(e, node, n_inputs, batch)
    core = _core(e, node, n_inputs)
    if core is not None:
        _write_core(e, node, core, batch)
    elif batch == 0 or isinstance(inner.op, BatchedDot):  # has no core operation
        call_numba(e, node if inner is node else _unbatched(node))
    else:
        _write_foreign(e, node, n_inputs, batch)


def _rows(e: Emitter, node: Apply) -> None:
    """Rows that each position of a batch chooses for itself."""
    x, chosen, (out,) = node.inputs[0], node.inputs[1], node.outputs
    _settle_lengths(e, node, 2, chosen.type.ndim - 1)
    batch = chosen.type.ndim - 1
    place = e.allocate(out)
    index, loops = loops_over(e, out)
    at = [ZERO if n == 1 else i for n, i in zip(chosen.type.shape, index, strict=False)]
    source = [ZERO if n == 1 else i for n, i in zip(x.type.shape, index, strict=True)]
    source[batch] = e.place(chosen).at(at)
    body = [Store(place.at(index), e.place(x).at(source))]
    write_loops(e, loops, new_scope(e), body)
    finish(e, out, place)


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
                asked = e.element(shape, (integer(axis - batch),), e.top)
                set_length(e, out, axis, asked)


def _batch_index(e: Emitter, out: Variable, batch: int) -> tuple[Index, Loops]:
    """Positions in a batch, and the loops over them."""
    index, loops = loops_over(e, out)
    return index[:batch], [loop for loop in loops if loop[0] in index[:batch]]


def _access(place: Place, variable: Variable, index: Index, core: int) -> Access:
    """Access a core of an array, broadcast over the batch; templates see vectors as columns."""
    batch = variable.type.ndim - core
    own = index[len(index) - batch :] if batch else ()
    lengths = variable.type.shape
    leading = [ZERO if n == 1 else each for each, n in zip(own, lengths, strict=False)]
    return Access(place.array, (*place.leading, *leading, *range(core)))


def _core_ndims(node: Apply, n_inputs: int, batch: int) -> list[int]:
    """Numbers of core axes of inputs and outputs."""
    op = batched(node).op
    if isinstance(op, Blockwise):
        return [len(core) for core in (*op.inputs_sig, *op.outputs_sig)]
    return [v.type.ndim - batch for v in (*node.inputs[:n_inputs], *node.outputs)]


def _write_core(e: Emitter, node: Apply, core: Core, batch: int) -> None:
    index, loops = _batch_index(e, node.outputs[0], batch)
    ndims = _core_ndims(node, len(batched(node).inputs), batch)
    before: list[Statement] = []
    after: list[Statement] = []
    arrays: dict[str, Access] = {}
    results: list[Given] = []
    used = [
        *zip(core.inputs, core.inputs.values(), ndims, strict=False),
        *zip(core.outputs, node.outputs, ndims[-len(node.outputs) :], strict=False),
    ]
    for name, variable, ndim in used:
        if name in core.outputs and ndim == 0:
            results.append(given_to(_result_of(e, variable, index)))
            continue
        if name in core.outputs:
            finish(e, variable, e.allocate(variable))
        access = _access(e.place(variable), variable, index, ndim)
        if name in core.whole and not access.is_whole:
            given, access = access, _apart(e, variable, ndim)
            lines = after if name == "out" else before
            source, target = (access, given) if name == "out" else (given, access)
            numbers = {"n": _last(e, variable, -2), "columns": _last(e, variable)}
            copies = {"x": source, "out": target}
            lines += inlined(e, "copied", copies, numbers, variable.type.dtype)
        arrays[name] = access
    dtype = node.inputs[0].type.dtype
    body = inlined(e, core.template, arrays, core.numbers, dtype, results)
    write_loops(e, loops, new_scope(e), [*before, *body, *after])


def _apart(e: Emitter, variable: Variable, ndim: int) -> Access:
    """Memory for one core of an array."""
    lengths = tuple(_last(e, variable, axis) for axis in range(-ndim, 0))
    array = Array(e.fresh("v"), variable.type.dtype, ndim)
    lines = e.early if all(map(e.is_early, lengths)) else e.lines
    lines.append(Allocate(array, lengths))
    return Access(array, tuple(range(ndim)))


def _result_of(e: Emitter, out: Variable, index: Index) -> Var | Load:
    """Return the variable or element that holds a scalar result."""
    if out.type.ndim == 0:
        made = Var(e.fresh("s"), out.type.dtype)
        e.scalars[out] = made
        return made
    place = e.allocate(out)
    finish(e, out, place)
    return place.at(index)


def _write_foreign(e: Emitter, node: Apply, n_inputs: int, batch: int) -> None:
    """Call PyTensor's function for the core, and copy its results."""
    index, loops = _batch_index(e, node.outputs[0], batch)
    inner = batched(node)
    ndims = _core_ndims(node, n_inputs, batch)
    arguments: list[Expression] = []
    for variable, ndim in zip(node.inputs[:n_inputs], ndims, strict=False):
        access = _access(e.place(variable), variable, index, ndim)
        fixed = tuple(p for p in access.pattern if not isinstance(p, int))
        arguments.append(Part(access.array, fixed) if fixed else access.array)
    function = e.numba_function(core_node(inner.op, inner.inputs))
    results = [
        Array(e.fresh("r"), out.type.dtype, ndim)
        for out, ndim in zip(node.outputs, ndims[n_inputs:], strict=True)
    ]
    body: list[Statement] = [Foreign(tuple(results), function, tuple(arguments))]
    for result, out in zip(results, node.outputs, strict=True):
        place = e.allocate(out)
        finish(e, out, place)
        inside = [Var(e.fresh("i"), "int64") for _ in range(result.rank)]
        copied: Statement = Store(place.at((*index, *inside)), Load(result, tuple(inside)))
        for axis in range(result.rank - 1, -1, -1):
            copied = For(inside[axis], Length(result, axis), (copied,))
        body.append(copied)
    write_loops(e, loops, new_scope(e), body)


def _sort(e: Emitter, node: Apply) -> None:
    (x,), (out,), axis = node.inputs, node.outputs, node.op.axis
    place = e.allocate(out)
    index, loops = loops_over(e, out)
    loops = [loop for loop in loops if loop[0] != index[axis]]
    pattern = [0 if at == axis else each for at, each in enumerate(index)]
    arrays = {
        name: Access(where.array, (*where.leading, *pattern))
        for name, where in (("x", e.place(x)), ("out", place))
    }
    numbers = {"n": e.length(x, axis), "positions": _flag(isinstance(node.op, ArgSortOp))}
    body = inlined(e, "sort_line", arrays, numbers, x.type.dtype)
    write_loops(e, loops, new_scope(e), body)
    finish(e, out, place)


RULES: list[tuple[Any, CallRule]] = [
    ((SortOp, ArgSortOp), _sort),
    ((Blockwise, BlockwiseWithCoreShape, BatchedDot), _on_cores),
    ((Dot, Cholesky, Inverse, Det, SLogDet, Solve, SolveTriangular), _on_cores),
    ((GroupPosition, OwnerOf), _on_cores),
    ((LUFactor, PivotToPermutations, Eigh, SVD, TallQR, CholeskyGradient), _on_cores),
    ((DFT, RealDFT, FromHalf, Convolve), _on_cores),
]


def call_rule(node: Apply) -> CallRule:
    """Return the rule of a called node."""
    if isinstance(core_op(node), Eye) and all(v.type.ndim == 0 for v in node.inputs[:3]):
        return identity_matrix
    if isinstance(batched(node).op, Blockwise) and not has_core_axes(node):
        return call_numba
    for kinds, rule in (
        *RULES,
        *CALL_RULES,
        *RESHAPE_RULES,
        *CHECK_RULES,
        *LOOP_RULES,
        *DRAW_RULES,
        *SERIES_RULES,
    ):
        if isinstance(node.op, kinds):
            return rule
    return call_numba
