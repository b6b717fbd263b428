"""Order statistics, groups, weights and matrix decompositions: what has an algorithm of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.differential.along import _REDUCTIONS, _flat, _matrix, _posed, _rows, contracted, linear
from tests.differential.named import Named, elementwise, last
from tests.differential.program import OPS, Op

# -- order statistics ------------------------------------------------------------------------------


def _quantile(lib: Any, data: Any, q: float) -> Any:
    ordered = lib.xp.take_along_axis(data, lib.order(data), axis=-1)
    at = q * (data.shape[-1] - 1)
    low = int(at)
    high = min(low + 1, data.shape[-1] - 1)
    return ordered[..., low] * (1 - (at - low)) + ordered[..., high] * (at - low)


def _quantile_array(lib: Any, x: Named, dims: tuple[str, ...], q: float) -> Named:
    others, data = _flat(lib, x, dims)
    return Named(others, _quantile(lib, data, q))


def _draw_quantile(choose: Any, scope: Any) -> Any:
    at = scope.pick(lambda x: x.dims)
    if at is None:
        return None
    dims = tuple(choose.some(scope.env[at].dims, at_least=1))
    if not all(scope.length(d) for d in dims):
        return None
    return (at,), {"dims": dims, "q": choose.one([0.3, 0.77, 0.05])}


OPS["quantile"] = Op(
    "quantile", "reduction", lambda x, dims, q: f"{x}.quantile({q}, [{', '.join(dims)}])",
    _quantile_array, _draw_quantile,
)  # fmt: skip


def _draw_dim(choose: Any, scope: Any, least: int = 1) -> Any:
    found = scope.pick_dim(least)
    return None if found is None else ((found[0],), {"dim": found[1]})


def _at_largest(lib: Any, x: Named, dim: str) -> Named:
    others, data = last(lib, x, dim)
    return Named(others, lib.xp.take_along_axis(data, lib.order(data)[..., -1:], axis=-1)[..., 0])


OPS["at the largest"] = Op(
    "at the largest", "reduction", lambda x, dim: f"{x}.isel({dim}={x}.argmax({dim}))",
    _at_largest, _draw_dim,
)  # fmt: skip


# -- along a dim, by several positions -------------------------------------------------------------


def _moved(lib: Any, x: Named, dim: str, by: int) -> Named:
    others, data = last(lib, x, dim)
    data = 1.014 * data  # so that the part that is moved is not one that a slice gives
    n = data.shape[-1]
    fill = lib.xp.ones_like(data[..., : min(abs(by), n)]) * 0.3
    kept = data[..., : max(n - by, 0)] if by > 0 else data[..., min(-by, n) :]
    return Named((*others, dim), lib.xp.concatenate([fill, kept] if by > 0 else [kept, fill], -1))


def _draw_move(choose: Any, scope: Any) -> Any:
    drawn = _draw_dim(choose, scope)
    return drawn and (drawn[0], {**drawn[1], "by": choose.one([2, -1, 5, -3])})


OPS["shift by several"] = Op(
    "shift by several", "along",
    lambda x, dim, by: f"(1.014 * {x}).shift({dim}={by}, fill_value=0.3)",
    _moved, _draw_move,
)  # fmt: skip


def _rolled(lib: Any, x: Named, dim: str, by: int) -> Named:
    others, data = last(lib, x, dim)
    return Named((*others, dim), lib.xp.roll(1.015 * data, by, axis=-1))


OPS["roll by several"] = Op(
    "roll by several", "along",
    lambda x, dim, by: f"(1.015 * {x}).roll({dim}={by})",
    _rolled, _draw_move,
)  # fmt: skip


def _draw_pad(choose: Any, scope: Any) -> Any:
    found = scope.pick_dim(0, late=False)
    if found is None:
        return None
    at, dim = found
    width = choose.one([(1, 2), (0, 1), (2, 0)])
    new = scope.new_dim(scope.length(dim) + sum(width), scope.env[at].dims)
    return (at,), {"dim": dim, "width": width, "new": new}


def _padded(lib: Any, x: Named, dim: str, width: tuple[int, int], new: str) -> Named:
    others, data = last(lib, x, dim)
    shape = data.shape[:-1]
    ends = [lib.xp.ones((*shape, n), dtype=data.dtype) * 0.4 for n in width]
    return Named((*others, new), lib.xp.concatenate([ends[0], data, ends[1]], axis=-1))


OPS["pad"] = Op(
    "pad", "shape",
    lambda x, dim, width, new: (
        f'{x}.pad({dim}={width}, constant_values=0.4).relabel("{dim}", {new})'
    ),
    _padded, _draw_pad,
)  # fmt: skip


# -- groups and weights ----------------------------------------------------------------------------


def _draw_groups(choose: Any, scope: Any) -> Any:
    found = scope.pick_dim(1, late=False)
    if found is None:
        return None
    at, dim = found
    new = scope.any_dim(choose, scope.env[at].dims, late=False)
    if new is None or not 0 < scope.length(new) <= scope.length(dim):
        return None
    count = scope.length(new)  # no group is empty: the mean of nothing is undefined
    codes = [*range(count), *choose.integers(0, count - 1, scope.length(dim) - count)]
    return (at,), {"dim": dim, "codes": codes, "new": new}


def _by_group(name: str, scale: float) -> None:
    function = _REDUCTIONS[name]

    def array(lib: Any, x: Named, dim: str, codes: list[int], new: str) -> Named:
        others, data = last(lib, x, dim)
        members = [np.flatnonzero(np.array(codes) == group) for group in range(max(codes) + 1)]
        parts = [function(lib, scale * data[..., at]) for at in members]
        return Named((*others, new), lib.xp.stack(parts, axis=-1))

    def code(x: str, dim: str, codes: list[int], new: str) -> str:
        labels = f"dt.data(np.array({codes}), dims={dim}, categories={new})"
        return f"({scale} * {x}).groupby({labels}).{name}()"

    OPS[f"{name} by group"] = Op(f"{name} by group", "update", code, array, _draw_groups)


for _name, _scale in (("sum", 1.04), ("mean", 1.05), ("max", 1.06), ("min", 1.07),
                      ("var", 1.09)):  # fmt: skip
    _by_group(_name, _scale)


def _draw_weighted(choose: Any, scope: Any) -> Any:
    found = scope.pick_dim(1)
    if found is None:
        return None
    at, dim = found
    weights = scope.pick(lambda x: dim in x.dims)
    return None if scope.too_large(at, weights) else ((at, weights), {"dim": dim})


def _weighted(lib: Any, x: Named, w: Named, dim: str) -> Named:
    weights = Named(w.dims, 0.5 + 1.1 * w.data * w.data)
    total = contracted(lib, [weights], [dim])
    both = contracted(lib, [x, weights], [dim])
    return elementwise(lib, lambda a, b: a / b, both, total)


OPS["weighted mean"] = Op(
    "weighted mean", "product",
    lambda x, w, dim: f"{x}.weighted(0.5 + 1.1 * {w} * {w}).mean([{dim}])",
    _weighted, _draw_weighted,
)  # fmt: skip


# -- decompositions, put together to what no sign of theirs changes -------------------------------


def _of_matrix(function: Callable[[Any, Any], Any], scale: float, diagonal: float) -> Any:
    """A function of a matrix without symmetry, times a vector."""

    def array(lib: Any, x: Named, y: Named, z: Named, dim: str) -> Named:
        matrix = _matrix(lib, x, y, dim, scale, diagonal * _growing(lib, x, dim))
        others, data = _rows(lib, matrix, dim)
        factor = Named((*others, dim, f"{dim}'"), function(lib, data))
        primed = Named(tuple(f"{d}'" if d == dim else d for d in z.dims), z.data)
        return contracted(lib, [factor, primed], [f"{dim}'"])

    return array


def _growing(lib: Any, x: Named, dim: str) -> Any:
    return (1.0 + 0.5 * lib.xp.arange(x.sizes[dim]))[:, None]


def _grown_code(dim: str, diagonal: float) -> str:
    return f"{diagonal} * (1.0 + 0.5 * dt.arange({dim}))"


def _polar(lib: Any, data: Any) -> Any:
    """The orthogonal factor, by Newton's iteration (Higham, 1986)."""
    for _ in range(25):
        data = (data + lib.xp.swapaxes(lib.xp.linalg.inv(data), -1, -2)) / 2
    return data


def _exponential(lib: Any, data: Any) -> Any:
    """Of 0.3 times a matrix, by its series."""
    term = total = lib.xp.eye(data.shape[-1]) + 0 * data
    for n in range(1, 50):
        term = term @ (0.3 * data) / n
        total = total + term
    return total


def _singular(lib: Any, x: Named, y: Named, z: Named, dim: str) -> Named:
    matrix = _matrix(lib, x, y, dim, 0.41, 1.4 * _growing(lib, x, dim))
    others, data = _rows(lib, matrix, dim)
    return elementwise(lib, lambda a, b: a * b, Named((*others, dim), lib.svdvals(data)), z)


linear(
    "singular values",
    lambda x, y, z, dim: (
        f"dt.linalg.svd({_posed(x, y, dim, 0.41, _grown_code(dim, 1.4))}, [{dim}, {dim}.rename()], "
        f'dim="r").S.relabel("r", {dim}) * {z}'
    ),
    _singular,
)
linear(
    "polar factor",
    lambda x, y, z, dim: (
        f"(lambda d: dt.dot(d.U, d.Vh, {z}.rename_dim({dim}), dim=['r', {dim}.rename()]))("
        f"dt.linalg.svd({_posed(x, y, dim, 0.42, _grown_code(dim, 1.5))}, [{dim}, {dim}.rename()], "
        f"dim='r'))"
    ),
    _of_matrix(_polar, 0.42, 1.5),
)
linear(
    "solve by qr",
    lambda x, y, z, dim: (
        f"(lambda d: dt.linalg.solve_triangular(d.R, dt.dot(d.Q, {z}, dim=[{dim}]), "
        f'["r", {dim}.rename()], lower=False).relabel("{dim}\'", {dim}))('
        f"dt.linalg.qr({_posed(x, y, dim, 0.43, _grown_code(dim, 1.6))}, [{dim}, {dim}.rename()], "
        f"dim='r'))"
    ),
    _of_matrix(lambda lib, data: lib.xp.linalg.inv(data), 0.43, 1.6),
)


def _of_symmetric(lib: Any, x: Named, y: Named, z: Named, dim: str) -> Named:
    matrix = _matrix(lib, x, x, dim, 0.44, 1.7 * _growing(lib, x, dim))
    others, data = _rows(lib, matrix, dim)
    lib.eigvalsh(data)  # which says how far eigenvalues are apart
    factor = Named((*others, dim, f"{dim}'"), _exponential(lib, data))
    primed = Named(tuple(f"{d}'" if d == dim else d for d in z.dims), z.data)
    return contracted(lib, [factor, primed], [f"{dim}'"])


linear(
    "exponential by eigh",
    lambda x, y, z, dim: (
        f"(lambda d: dt.dot(d.eigenvectors, dt.exp(0.3 * d.eigenvalues), "
        f"dt.dot(d.eigenvectors, {z}, dim=[{dim}]), dim=['e']))("
        f"dt.linalg.eigh({_posed(x, x, dim, 0.44, _grown_code(dim, 1.7))}, dim='e'))"
    ),
    _of_symmetric,
)
