"""Selections, updates, and operations that move elements to other dims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.differential.named import Named, elementwise, expanded, last, spread, taken, union
from tests.differential.program import OPS, Op


def _register(name: str, code: Any, array: Any, draw: Any, family: str = "selection") -> None:
    OPS[name] = Op(name, family, code, array, draw)


def _array(values: Sequence[int]) -> str:
    return f"np.array({list(values)}, dtype='int64')"


# -- selections ------------------------------------------------------------------------------------


def _draw_take(choose: Any, scope: Any) -> Any:
    found = scope.pick_dim(1)
    if found is None:
        return None
    n = scope.length(found[1])
    return (found[0],), {"dim": found[1], "at": choose.integer(-1, n - 1)}


_register(
    "take",
    lambda x, dim, at: f"{x}.isel({dim}={at})",
    lambda lib, x, dim, at: taken(lib, x, dim, at % x.sizes[dim]),
    _draw_take,
)


def _draw_slice(choose: Any, scope: Any) -> Any:
    found = scope.pick_dim(1, late=False)
    if found is None:
        return None
    at, dim = found
    n = scope.length(dim)
    start = choose.integer(0, n - 1)
    stop = choose.integer(start, n)
    step = choose.one([1, 1, 2, -1])
    which = (start, stop, step) if step > 0 else (stop - 1, start - 1 if start else None, step)
    if step < 0 and stop == start:
        return None
    count = len(range(n)[slice(*which)])
    return (at,), {"dim": dim, "which": which, "new": scope.new_dim(count, scope.env[at].dims)}


def _slice(lib: Any, x: Named, dim: str, which: Any, new: str) -> Named:
    others, data = last(lib, x, dim)
    return Named((*others, new), data[..., slice(*which)])


_register(
    "slice",
    lambda x, dim, which, new: (
        f'{x}.isel({dim}=slice({", ".join(map(str, which))})).relabel("{dim}", {new})'
    ),
    _slice,
    _draw_slice,
)


def _draw_gather(choose: Any, scope: Any) -> Any:
    found = scope.pick_dim(1)
    if found is None:
        return None
    at, dim = found
    new = scope.any_dim(choose, scope.env[at].dims, late=False)
    if new is None:
        return None
    where = choose.integers(0, scope.length(dim) - 1, scope.length(new))
    return (at,), {"dim": dim, "where": where, "new": new}


def _gather(lib: Any, x: Named, dim: str, where: list[int], new: str) -> Named:
    others, data = last(lib, x, dim)
    return Named((*others, new), data[..., np.array(where, dtype=int)])


_register(
    "gather",
    lambda x, dim, where, new: f"{x}.isel({dim}=dt.data({_array(where)}, dims={new}))",
    _gather,
    _draw_gather,
)


def _draw_pointwise(choose: Any, scope: Any) -> Any:
    at = scope.pick(lambda x: len(x.dims) >= 2 and np.size(x.data))
    if at is None:
        return None
    one, other = choose.some(scope.env[at].dims, 2, 2)
    new = scope.any_dim(choose, scope.env[at].dims, late=False)
    new = new or scope.new_dim(3, scope.env[at].dims)
    rows = choose.integers(0, scope.length(one) - 1, scope.length(new))
    columns = choose.integers(0, scope.length(other) - 1, scope.length(new))
    return (at,), {"dims": (one, other), "where": (rows, columns), "new": new}


def _pointwise(lib: Any, x: Named, dims: Any, where: Any, new: str) -> Named:
    others, data = last(lib, x, *dims)
    rows, columns = (np.array(w, dtype=int) for w in where)
    return Named((*others, new), data[..., rows, columns])


_register(
    "pointwise",
    lambda x, dims, where, new: (
        f"{x}.isel({dims[0]}=dt.data({_array(where[0])}, dims={new}), "
        f"{dims[1]}=dt.data({_array(where[1])}, dims={new}))"
    ),
    _pointwise,
    _draw_pointwise,
)


def _draw_diff(choose: Any, scope: Any) -> Any:
    found = scope.pick_dim(1, late=False)
    if found is None:
        return None
    at, dim = found
    new = scope.new_dim(scope.length(dim) - 1, scope.env[at].dims)
    return (at,), {"dim": dim, "new": new}


def _diff(lib: Any, x: Named, dim: str, new: str) -> Named:
    others, data = last(lib, x, dim)
    return Named((*others, new), 1.016 * (data[..., 1:] - data[..., :-1]))


_register(
    "diff",
    lambda x, dim, new: f'(1.016 * {x}).diff({dim}).relabel("{dim}", {new})',
    _diff,
    _draw_diff,
)

# -- updates ---------------------------------------------------------------------------------------


def _updated(
    lib: Any, x: Named, y: Named, dim: str, index: Any, chosen: dict[str, int], add: bool
) -> Named:
    """Elements of x at an index of a dim, set to y or increased by it; y has the chosen dims."""
    order = (dim, *[d for d in x.dims if d != dim])
    others = {d: x.sizes[d] for d in order[1:]}
    value = expanded(lib, y, {**chosen, **others}).data
    return Named(order, lib.put(spread(lib, x, order), index, value, add))


def _draw_update(choose: Any, scope: Any) -> Any:
    found = scope.pick_dim(1, late=False)
    if found is None:
        return None
    at, dim = found
    x = scope.env[at]
    y = scope.pick(lambda v: set(v.dims) <= set(x.dims) - {dim})
    if y is None:
        return None
    n = scope.length(dim)
    start = choose.integer(0, n - 1)
    index = choose.one([start, slice(start, None), slice(None, None, -1), slice(None, start)])
    return (at, y), {"dim": dim, "index": index, "how": choose.one(["set", "inc"])}


def _update(lib: Any, x: Named, y: Named, dim: str, index: Any, how: str) -> Named:
    count = len(range(x.sizes[dim])[index]) if isinstance(index, slice) else None
    chosen = {} if count is None else {"chosen": count}
    return _updated(lib, x, y, dim, index, chosen, how == "inc")


_register("update", lambda x, y, dim, index, how: f"{x}.isel({dim}={index}).{how}({y})", _update,
          _draw_update, "update")  # fmt: skip


def _draw_scatter(choose: Any, scope: Any) -> Any:
    found = scope.pick_dim(1, late=False)
    if found is None:
        return None
    at, dim = found
    x = scope.env[at]
    new = scope.any_dim(choose, x.dims, late=False)
    if new is None:
        return None
    how = choose.one(["inc", "set"])
    n, count = scope.length(dim), scope.length(new)
    if how == "set" and count > n:
        return None  # which of several values stays is not defined
    where = (
        choose.integers(0, n - 1, count) if how == "inc" else choose.some(range(n), count, count)
    )
    y = scope.pick(lambda v: set(v.dims) <= {*x.dims, new} - {dim})
    if y is None:
        return None
    return (at, y), {"dim": dim, "where": where, "new": new, "how": how}


def _scatter(lib: Any, x: Named, y: Named, dim: str, where: Any, new: str, how: str) -> Named:
    index = np.array(where, dtype=int)
    return _updated(lib, x, y, dim, index, {new: len(where)}, how == "inc")


_register(
    "scatter",
    lambda x, y, dim, where, new, how: (
        f"{x}.isel({dim}=dt.data({_array(where)}, dims={new})).{how}({y})"
    ),
    _scatter,
    _draw_scatter,
    "update",
)


def _draw_group(choose: Any, scope: Any) -> Any:
    at = scope.pick(lambda x: len(x.dims) == 1 and not scope.is_late(x.dims[0]))
    if at is None:
        return None
    (dim,) = scope.env[at].dims
    new = scope.any_dim(choose, scope.env[at].dims, late=False)
    if new is None or not scope.length(new):
        return None
    codes = choose.integers(0, scope.length(new) - 1, scope.length(dim))
    return (at,), {"dim": dim, "codes": codes, "new": new}


def _group(lib: Any, x: Named, dim: str, codes: Any, new: str) -> Named:
    """Elements added to the group that they belong to."""
    order = (dim, *[d for d in x.dims if d != dim])
    return Named((new, *order[1:]), _grouped(lib, spread(lib, x, order), codes))


def _grouped(lib: Any, data: Any, codes: Any) -> Any:
    index, n = codes
    zeros = lib.xp.zeros((n, *data.shape[1:]), dtype=data.dtype)
    return lib.put(zeros, np.array(index, dtype=int), data, True)


_register(
    "group",
    lambda x, dim, codes, new: (
        f"dt.zeros({new}).isel({new}=dt.data({_array(codes[0])}, dims={dim})).inc({x})"
    ),
    _group,
    lambda choose, scope: _with_length(_draw_group(choose, scope), scope),
    "update",
)


def _with_length(drawn: Any, scope: Any) -> Any:
    if drawn is None:
        return None
    operands, params = drawn
    return operands, {**params, "codes": (params["codes"], scope.length(params["new"]))}


# -- shapes ----------------------------------------------------------------------------------------


def _draw_expand(choose: Any, scope: Any) -> Any:
    at = scope.pick()
    if at is None:
        return None
    new = scope.any_dim(choose, scope.env[at].dims)
    if new is None or scope.too_large(at, extra=scope.length(new)):
        return None
    return (at,), {"new": (new, scope.length(new))}


_register(
    "expand",
    lambda x, new: f"{x}.expand({new[0]})",
    lambda lib, x, new: expanded(lib, x, {**x.sizes, new[0]: new[1]}),
    _draw_expand,
    "shape",
)


def _draw_relabel(choose: Any, scope: Any) -> Any:
    found = scope.pick_dim(0, late=False)
    if found is None:
        return None
    at, dim = found
    new = scope.new_dim(scope.length(dim), scope.env[at].dims)
    return (at,), {"dim": dim, "new": new}


_register(
    "relabel",
    lambda x, dim, new: f"{x}.relabel({dim}, {new})",
    lambda lib, x, dim, new: Named(tuple(new if d == dim else d for d in x.dims), x.data),
    _draw_relabel,
    "shape",
)


def _draw_ravel(choose: Any, scope: Any) -> Any:
    at = scope.pick(lambda x: len(x.dims) >= 2)
    if at is None:
        return None
    x = scope.env[at]
    dims = sorted(choose.some(x.dims, 2, 2))  # elements are in the order of the names
    if any(scope.is_late(d) for d in dims):
        return None
    new = scope.new_dim(x.sizes[dims[0]] * x.sizes[dims[1]], x.dims)
    return (at,), {"dims": tuple(dims), "new": new}


def _ravel(lib: Any, x: Named, dims: Any, new: str) -> Named:
    others, data = last(lib, x, *dims)
    shape = [x.sizes[d] for d in others]
    count = x.sizes[dims[0]] * x.sizes[dims[1]]
    return Named((*others, new), lib.xp.reshape(data, (*shape, count)))


_register(
    "ravel",
    lambda x, dims, new: f'{x}.ravel([{", ".join(dims)}], name="j").relabel("j", {new})',
    _ravel,
    _draw_ravel,
    "shape",
)


def _draw_concat(choose: Any, scope: Any) -> Any:
    one, other = scope.pick_dim(0, late=False), scope.pick_dim(0, late=False)
    if one is None or other is None or scope.too_large(one[0], other[0]):
        return None
    x, y = scope.env[one[0]], scope.env[other[0]]
    rest = {d for d in x.dims if d != one[1]} | {d for d in y.dims if d != other[1]}
    if {one[1], other[1]} & rest:
        return None
    new = scope.new_dim(scope.length(one[1]) + scope.length(other[1]), tuple(rest))
    return (one[0], other[0]), {"dims": (one[1], other[1]), "new": new}


def _concat(lib: Any, x: Named, y: Named, dims: Any, new: str) -> Named:
    pieces = [
        Named(tuple(new if d == dim else d for d in v.dims), v.data)
        for v, dim in zip((x, y), dims, strict=True)
    ]
    rest: dict[str, int] = {}
    for piece in pieces:
        rest.update({d: n for d, n in piece.sizes.items() if d != new})
    data = [expanded(lib, piece, {**rest, new: piece.sizes[new]}).data for piece in pieces]
    return Named((*rest, new), lib.xp.concatenate(data, axis=-1))


_register(
    "concat",
    lambda x, y, dims, new: (
        f'dt.concat([{x}, {y}], [{dims[0]}, {dims[1]}], name="j").relabel("j", {new})'
    ),
    _concat,
    _draw_concat,
    "shape",
)


def _draw_stack(choose: Any, scope: Any) -> Any:
    count = choose.one([1, 2, 2, 3])
    operands = tuple(scope.pick() for _ in range(count))
    if None in operands or scope.too_large(*operands, extra=count):
        return None
    return operands, {"new": scope.new_dim(count, tuple(union(*[scope.env[o] for o in operands])))}


def _stack(lib: Any, *values: Named, new: str) -> Named:
    sizes = union(*values)
    data = [expanded(lib, value, sizes).data for value in values]
    return Named((*sizes, new), lib.xp.stack(data, axis=-1))


_register(
    "stack",
    lambda *operands, new: f"dt.stack([{', '.join(operands)}], {new})",
    _stack,
    _draw_stack,
    "shape",
)


def _draw_mask(choose: Any, scope: Any) -> Any:
    at, other = scope.pick(), scope.pick(lambda x: x.dims)
    if at is None or other is None or scope.too_large(at, other):
        return None
    return (at, other), {}


_register(
    "mask",
    lambda x, m: f"{x}.where({m} > 0.2, 0.0)",
    lambda lib, x, m: elementwise(lib, lambda a, b: lib.xp.where(lib.above(b - 0.2), a, 0.0), x, m),
    _draw_mask,
    "update",
)
