"""Operations that are not expressions of elements, each written as loops of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pytensor.graph.basic import Apply, Variable
from pytensor.scalar.basic import ScalarType
from pytensor.tensor.basic import AllocDiag, ARange, ExtractDiag, Eye, Join, Nonzero
from pytensor.tensor.extra_ops import CumOp
from pytensor.tensor.math import Argmax
from pytensor.tensor.subtensor import IncSubtensor, Subtensor
from pytensor.tensor.type import TensorType

from dimtensor.kernels.elements import ZERO, Place, Term, entries_of
from dimtensor.kernels.plan import UnsupportedGraph
from dimtensor.kernels.scalars import identity
from dimtensor.kernels.signatures import core_op

if TYPE_CHECKING:
    from dimtensor.kernels.emit import Emitter
    from dimtensor.kernels.scopes import Scope

CallRule = Callable[["Emitter", Apply], None]
Loops = list[tuple[str, str]]


class Routine(NamedTuple):
    """A subroutine of LAPACK or BLAS that the source calls."""

    name: str

    def make(self) -> Any:
        """What numba calls."""
        from dimtensor.kernels.fortran import routine

        return routine(self.name)


def loops_over(e: Emitter, variable: Variable) -> tuple[tuple[Term, ...], Loops]:
    """An index of a variable, and the name and length of each loop that it needs, in order."""
    index, loops = [], []
    for axis, length in enumerate(variable.type.shape):
        if length == 1:
            index.append(ZERO)
            continue
        name = e.fresh("i")
        index.append(Term(name, frozenset({name})))
        loops.append((name, e.length(variable, axis)))
    return tuple(index), loops


def write_loops(
    e: Emitter,
    loops: Loops,
    scope: Scope,
    body: Sequence[str],
    before: Mapping[int, Sequence[str]] | None = None,
    after: Mapping[int, Sequence[str]] | None = None,
) -> None:
    """Write a loop nest in the order given, each temporary outside of loops that it does not need.

    `before` and `after` have lines for inside of so many loops.
    """
    order = [name for name, _ in loops]
    inside: list[list[str]] = [[] for _ in range(len(order) + 1)]
    for name, text, used, *_ in scope.temporaries:
        depth = max((order.index(loop) + 1 for loop in used), default=0)
        inside[depth].append(f"{name} = {text}")
    for depth, lines in (before or {}).items():
        inside[depth] += lines
    inside[-1] += body
    for depth in range(len(order) + 1):
        e.lines += ["    " * depth + line for line in inside[depth]]
        if depth < len(order):
            e.lines.append("    " * depth + f"for {order[depth]} in range({loops[depth][1]}):")
    for depth in range(len(order), -1, -1):
        e.lines += ["    " * depth + line for line in (after or {}).get(depth, ())]


def new_scope(e: Emitter) -> Scope:
    from dimtensor.kernels.scopes import Scope

    return Scope(e)


def set_length(e: Emitter, variable: Variable, axis: int, text: str) -> str:
    """Say how long an axis is that nothing else has the length of."""
    if variable.type.shape[axis] is not None:
        return str(variable.type.shape[axis])
    return e.name_length(variable, axis, text)


def finish(e: Emitter, variable: Variable, place: Place) -> None:
    e.places[variable] = place


def call_numba(e: Emitter, node: Apply) -> None:
    """What has no rule is called through PyTensor's numba implementation."""
    arguments = [e.argument(variable) for variable in node.inputs]
    results = [e.fresh("v") for _ in node.outputs]
    e.lines.append(f"{', '.join(results)} = {e.numba_function(node)}({', '.join(arguments)})")
    for variable, name in zip(node.outputs, results, strict=True):
        if isinstance(variable.type, ScalarType):
            e.scalars[variable] = Term(name)
        elif not isinstance(variable.type, TensorType):
            raise UnsupportedGraph(f"a result of type {variable.type}")
        elif variable.type.ndim == 0:
            scalar = e.fresh("s")
            e.lines.append(f"{scalar} = np.asarray({name})[()]")
            e.scalars[variable] = Term(scalar)
        else:
            ordered = name
            if variable.type.ndim > 1:  # LAPACK's results are in column order
                ordered = e.fresh("v")
                e.lines.append(f"{ordered} = np.ascontiguousarray({name})")
            finish(e, variable, Place(ordered, early=False))


# -- running sums and products ---------------------------------------------------------------------


def _running(e: Emitter, node: Apply) -> None:
    (x,), (out,) = node.inputs, node.outputs
    operation = "+" if node.op.mode == "add" else "*"
    dtype = out.type.dtype
    index, loops = loops_over(e, out)
    scope = new_scope(e)
    value = e.element(x, index, scope).text
    place = e.allocate(out)
    target = place.at(index)
    along = index[node.op.axis].text
    names = [name for name, _ in loops]
    before: dict[int, list[str]] = {}
    if along not in names:
        body = [f"{target} = {value}"]
    elif along == names[-1]:
        total = e.fresh("a")
        before[len(names) - 1] = [
            f"{total} = {identity('Add' if operation == '+' else 'Mul', dtype)}"
        ]
        body = [f"{total} = {_as(dtype, f'{total} {operation} {value}')}", f"{target} = {total}"]
    else:
        previous = list(index)
        previous[node.op.axis] = Term(f"{along} - 1")
        body = [
            f"if {along} == 0:",
            f"    {target} = {value}",
            "else:",
            f"    {target} = {place.at(previous)} {operation} {value}",
        ]
    write_loops(e, loops, scope, body, before)
    finish(e, out, place)


def _as(dtype: str, text: str) -> str:
    """An expression whose type stays that of a total: numba adds small integers as int64."""
    if dtype in ("float64", "int64", "complex128"):
        return text
    return f"np.{dtype}({text})"


# -- positions of extremes -------------------------------------------------------------------------


def _argmax(e: Emitter, node: Apply) -> None:
    (x,), (out,) = node.inputs, node.outputs
    index, loops = loops_over(e, x)
    axes = range(x.type.ndim) if node.op.axis is None else node.op.axis
    for axis in axes:
        length = e.length(x, axis)
        if not length.isdigit() or length == "0":
            e.lines.append(f"if {length} == 0:")
            e.lines.append("    raise ValueError('the greatest of no elements has no position')")
    reduced = {index[axis].text for axis in axes}
    loops = [loop for loop in loops if loop[0] not in reduced] + [
        loop for loop in loops if loop[0] in reduced
    ]
    depth = sum(name not in reduced for name, _ in loops)
    scope = new_scope(e)
    value = e.element(x, index, scope).text
    best, at, position = e.fresh("a"), e.fresh("a"), e.fresh("a")
    better = f"{position} == 0 or {value} > {best}"
    if x.type.dtype.startswith("float"):  # the first NaN is the greatest
        better += f" or ({value} != {value} and {best} == {best})"
    body = [
        f"if {better}:",
        f"    {best} = {value}",
        f"    {at} = {position}",
        f"{position} += 1",
    ]
    before = {depth: [f"{best} = {identity('Maximum', x.type.dtype)}", f"{at} = 0",
                      f"{position} = 0"]}  # fmt: skip
    if out.type.ndim == 0:
        write_loops(e, loops, scope, body, before)
        e.scalars[out] = Term(at)
        return
    place = e.allocate(out)
    kept = [index[axis] for axis in range(x.type.ndim) if axis not in axes]
    write_loops(e, loops, scope, body, before, {depth: [f"{place.at(kept)} = {at}"]})
    finish(e, out, place)


def _nonzero(e: Emitter, node: Apply) -> None:
    (x,) = node.inputs
    count, at = e.fresh("n"), e.fresh("a")
    e.lines.append(f"{count} = 0")
    index, loops = loops_over(e, x)
    element = e.place(x).at(index)
    write_loops(e, loops, new_scope(e), [f"if {element}:", f"    {count} += 1"])
    set_length(e, node.outputs[0], 0, count)
    places = [e.allocate(out) for out in node.outputs]
    body = [f"if {element}:"]
    for place, term in zip(places, index, strict=True):
        body.append(f"    {place.at([Term(at)])} = {term.text}")
    e.lines.append(f"{at} = 0")
    write_loops(e, loops, new_scope(e), [*body, f"    {at} += 1"])
    for out, place in zip(node.outputs, places, strict=True):
        finish(e, out, place)


# -- joins and shapes ------------------------------------------------------------------------------


def _join(e: Emitter, node: Apply) -> None:
    """Every part goes to its own slice."""
    (out,), axis = node.outputs, node.op.axis
    lengths = [e.length(part, axis) for part in node.inputs]
    set_length(e, out, axis, " + ".join(lengths))
    place = e.allocate(out)
    start = "0"
    for part, length in zip(node.inputs, lengths, strict=True):
        index, loops = loops_over(e, part)
        scope = new_scope(e)
        value = e.element(part, index, scope).text
        target = list(index)
        if start != "0":
            target[axis] = Term(f"{start} + {index[axis].text}")
        write_loops(e, loops, scope, [f"{place.at(target)} = {value}"])
        start = _added(e, start, length)
    finish(e, out, place)


def _added(e: Emitter, start: str, length: str) -> str:
    if start.isdigit() and length.isdigit():
        return str(int(start) + int(length))
    name = e.fresh("n")
    e.lines.append(f"{name} = {start} + {length}")
    return name


# -- constructors and diagonals --------------------------------------------------------------------


def _arange(e: Emitter, node: Apply) -> None:
    (out,) = node.outputs
    start, stop, step = (e.element(v, (), e.top).text for v in node.inputs)
    if out.type.shape[0] is None:
        if step in ("1", "np.int8(1)"):
            count = f"max({stop} - {start}, 0)"
        else:
            count = f"max(int(math.ceil(({stop} - {start}) / {step})), 0)"
        set_length(e, out, 0, count)
    place = e.allocate(out)
    index, loops = loops_over(e, out)
    value = _cast_to(out.type.dtype, f"{start} + {index[0].text} * {step}")
    write_loops(e, loops, new_scope(e), [f"{place.at(index)} = {value}"])
    finish(e, out, place)


def _cast_to(dtype: str, text: str) -> str:
    return f"np.{dtype}({text})"


def identity_matrix(e: Emitter, node: Apply) -> None:
    (out,) = node.outputs
    rows, columns, offset = (e.element(v, (), e.top).text for v in node.inputs[:3])
    for axis, length in enumerate((rows, columns)):
        if out.type.shape[axis] is None:
            set_length(e, out, axis, length)
    place = e.allocate(out)
    index, loops = loops_over(e, out)
    one = _cast_to(out.type.dtype, f"1 if {index[1].text} - {index[0].text} == {offset} else 0")
    write_loops(e, loops, new_scope(e), [f"{place.at(index)} = {one}"])
    finish(e, out, place)


def _diagonal(e: Emitter, node: Apply) -> None:
    (x,), (out,), op = node.inputs, node.outputs, node.op
    last = out.type.ndim - 1
    low, right = max(0, -op.offset), max(0, op.offset)
    rows, columns = e.length(x, op.axis1), e.length(x, op.axis2)
    set_length(e, out, last, f"max(min({rows} - {low}, {columns} - {right}), 0)")
    kept = iter(range(last))
    index, loops = loops_over(e, out)
    place = None if out.type.ndim == 0 else e.allocate(out)
    source = []
    for axis in range(x.type.ndim):
        shift = {op.axis1: low, op.axis2: right}.get(axis)
        if shift is None:
            source.append(index[next(kept)])
        elif index[last].text.isdigit():
            source.append(Term(str(int(index[last].text) + shift)))
        else:
            text = f"{index[last].text} + {shift}" if shift else index[last].text
            source.append(Term(text, index[last].loops))
    scope = new_scope(e)
    value = e.element(x, tuple(source), scope).text
    assert place is not None
    write_loops(e, loops, scope, [f"{place.at(index)} = {value}"])
    finish(e, out, place)


def on_diagonal(e: Emitter, node: Apply) -> None:
    x, (out,), op = node.inputs[0], node.outputs, core_op(node)
    last = x.type.ndim - 1
    batch = 0 if op is node.op else last
    shifts = {op.axis1 + batch: max(0, -op.offset), op.axis2 + batch: max(0, op.offset)}
    sources = iter(range(last))
    for axis in range(out.type.ndim):
        if axis in shifts:
            set_length(e, out, axis, f"{e.length(x, last)} + {abs(op.offset)}")
        else:
            set_length(e, out, axis, e.length(x, next(sources)))
    place = e.allocate(out, identity("Add", out.type.dtype))
    index, loops = loops_over(e, x)
    scope = new_scope(e)
    value = e.element(x, index, scope).text
    kept = iter(index[:last])
    target = [
        Term(f"{index[last].text} + {shifts[axis]}") if axis in shifts else next(kept)
        for axis in range(out.type.ndim)
    ]
    write_loops(e, loops, scope, [f"{place.at(target)} = {value}"])
    finish(e, out, place)


# -- slices with computed ends ---------------------------------------------------------------------


def _walk(e: Emitter, node: Apply, first: int) -> list[tuple[str, str, str] | str]:
    """For every axis of what is selected from, where a slice starts, its step and its length.

    For a position, the position. Slices are as those of Python: ends are clipped to the array.
    """
    x = node.inputs[0]
    found: list[tuple[str, str, str] | str] = []
    for axis, entry in enumerate(entries_of(node.op, x.type.ndim)):
        length = e.length(x, axis)
        if not isinstance(entry, slice):
            at = e.element(node.inputs[first + entry], (), e.top).text
            e.is_inside(at, length)
            found.append(_named(e, f"{at} if {at} >= 0 else {at} + {length}"))
            continue
        start, stop, step = (
            None if end is None else e.element(node.inputs[first + end], (), e.top).text
            for end in (entry.start, entry.stop, entry.step)
        )
        found.append(_slice_walk(e, start, stop, step, length))
    return found


def _slice_walk(
    e: Emitter, start: str | None, stop: str | None, step: str | None, length: str
) -> tuple[str, str, str]:
    if step is None:
        low = "0" if start is None else _clipped(e, start, length, "0", length)
        high = length if stop is None else _clipped(e, stop, length, "0", length)
        return low, "1", _named(e, f"max({high} - {low}, 0)")
    # forwards ends lie between 0 and the length, backwards between -1 and the length - 1
    step = _named(e, f"np.int64({step})")
    e.differ(step, "0")
    least = _named(e, f"0 if {step} > 0 else -1")
    most = _named(e, f"{length} + {least}")
    low = _named(e, f"{least} if {step} > 0 else {most}")
    high = _named(e, f"{most} if {step} > 0 else {least}")
    if start is not None:
        low = _clipped(e, start, length, least, most)
    if stop is not None:
        high = _clipped(e, stop, length, least, most)
    forwards = f"({high} - {low} + {step} - 1) // {step}"
    count = f"{forwards} if {step} > 0 else ({low} - {high} - {step} - 1) // (-{step})"
    return low, step, _named(e, f"max({count}, 0)")


def _clipped(e: Emitter, end: str, length: str, least: str, most: str) -> str:
    end = _named(e, f"np.int64({end})")
    end = _named(e, f"{end} + {length} if {end} < 0 else {end}")
    return _named(e, f"min(max({end}, {least}), {most})")


def _named(e: Emitter, text: str) -> str:
    name = e.fresh("n")
    e.lines.append(f"{name} = {text}")
    return name


def _along(walk: tuple[str, str, str], term: Term) -> Term:
    low, step, _ = walk
    walked = term.text if step == "1" else f"{step} * {term.text}"
    return Term(walked if low == "0" else f"{low} + {walked}", term.loops)


def _slice(e: Emitter, node: Apply) -> None:
    x, (out,) = node.inputs[0], node.outputs
    walks = _walk(e, node, 1)
    slices = [walk for walk in walks if isinstance(walk, tuple)]
    for axis, walk in enumerate(slices):
        set_length(e, out, axis, walk[2])
    index, loops = loops_over(e, out)
    terms = iter(index)
    source = [_along(w, next(terms)) if isinstance(w, tuple) else Term(w) for w in walks]
    place = e.allocate(out)
    body = [f"{place.at(index)} = {e.place(x).at(source)}"]
    write_loops(e, loops, new_scope(e), body)
    finish(e, out, place)


def _update_slice(e: Emitter, node: Apply) -> None:
    x, value, (out,) = node.inputs[0], node.inputs[1], node.outputs
    place = e.allocate(out, e.place(x))
    walks = _walk(e, node, 2)
    slices = [walk for walk in walks if isinstance(walk, tuple)]
    index = [Term(name, frozenset({name})) for name in (e.fresh("i") for _ in slices)]
    loops = [(term.text, walk[2]) for term, walk in zip(index, slices, strict=True)]
    gap = len(index) - value.type.ndim
    own = [ZERO if n == 1 else index[gap + at] for at, n in enumerate(value.type.shape)]
    for at, n in enumerate(value.type.shape):
        if n != 1:
            e.agree(e.length(value, at), slices[gap + at][2])
    scope = new_scope(e)
    element = e.element(value, tuple(own), scope).text
    terms = iter(index)
    target = [_along(w, next(terms)) if isinstance(w, tuple) else Term(w) for w in walks]
    operator = "=" if node.op.set_instead_of_inc else "+="
    write_loops(e, loops, scope, [f"{place.at(target)} {operator} {element}"])
    finish(e, out, place)


RULES: list[tuple[Any, CallRule]] = [
    (CumOp, _running),
    (Argmax, _argmax),
    (Nonzero, _nonzero),
    (Join, _join),
    (ARange, _arange),
    (Eye, identity_matrix),
    (ExtractDiag, _diagonal),
    (AllocDiag, on_diagonal),
    (Subtensor, _slice),
    (IncSubtensor, _update_slice),
]
