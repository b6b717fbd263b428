"""Reductions, cumulative operations, products and linear algebra."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.differential.named import Named, elementwise, last, union
from tests.differential.program import OPS, Op


def _flat(lib: Any, x: Named, dims: Sequence[str]) -> tuple[tuple[str, ...], Any]:
    """The other dims, and data with the given dims as one last axis."""
    others, data = last(lib, x, *dims)
    n = 1
    for dim in dims:
        n *= x.sizes[dim]
    return others, lib.xp.reshape(data, (*[x.sizes[d] for d in others], n))


def _extreme(lib: Any, d: Any) -> Any:
    """The largest along the last axis."""
    order = lib.order(d)
    return lib.xp.take_along_axis(d, order[..., -1:], axis=-1)[..., 0]


def _logsumexp(lib: Any, d: Any) -> Any:
    top = lib.re(d).max(axis=-1, keepdims=True)
    return (lib.xp.log(lib.xp.exp(d - top).sum(axis=-1, keepdims=True)) + top)[..., 0]


def _var(lib: Any, d: Any) -> Any:
    return ((d - d.mean(axis=-1, keepdims=True)) ** 2).mean(axis=-1)


def _std(lib: Any, d: Any) -> Any:
    var = _var(lib, d)
    lib.decide(b"", abs(lib.re(var)))  # no derivative where all elements are equal
    return lib.xp.sqrt(var)


_REDUCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda lib, d: d.sum(axis=-1),
    "mean": lambda lib, d: d.mean(axis=-1),
    "prod": lambda lib, d: d.prod(axis=-1),
    "max": _extreme,
    "min": lambda lib, d: -_extreme(lib, -d),
    "logsumexp": _logsumexp,
    "std": lambda lib, d: _std(lib, d),
    "var": _var,
    "median": lambda lib, d: _median(lib, d),
}


def _median(lib: Any, d: Any) -> Any:
    ordered = lib.xp.take_along_axis(d, lib.order(d), axis=-1)
    n = d.shape[-1]
    return (ordered[..., (n - 1) // 2] + ordered[..., n // 2]) / 2


def _reduction(name: str) -> None:
    function = _REDUCTIONS[name]
    # a mean is made of a sum and a deviation of a mean, which are not to be those of other steps
    scale = {"mean": 1.01, "std": 1.02, "var": 1.03}.get(name)

    def array(lib: Any, x: Named, dims: tuple[str, ...]) -> Named:
        others, data = _flat(lib, x, dims)
        return Named(others, function(lib, data if scale is None else scale * data))

    def draw(choose: Any, scope: Any) -> Any:
        at = scope.pick(lambda x: x.dims)
        if at is None:
            return None
        dims = tuple(choose.some(scope.env[at].dims, at_least=1))
        sizes = scope.env[at].sizes
        if name not in ("sum", "prod") and not all(sizes[d] for d in dims):
            return None
        return (at,), {"dims": dims}

    OPS[name] = Op(
        name, "reduction",
        lambda x, dims: f"{x if scale is None else f'({scale} * {x})'}.{name}([{', '.join(dims)}])",
        array,
        draw,
    )  # fmt: skip


for _name in _REDUCTIONS:
    _reduction(_name)


def along(name: str, function: Callable[[Any, Any], Any], code: str, least: int = 0) -> None:
    """A function along a dim that keeps it; ``function(lib, data)``, of the last axis."""

    def array(lib: Any, x: Named, dim: str) -> Named:
        others, data = last(lib, x, dim)
        return Named((*others, dim), function(lib, data))

    def draw(choose: Any, scope: Any) -> Any:
        found = scope.pick_dim(least)
        return None if found is None else ((found[0],), {"dim": found[1]})

    OPS[name] = Op(name, "along", lambda x, dim: code.format(x, d=dim), array, draw)


def _softmax(lib: Any, d: Any) -> Any:
    grown = lib.xp.exp(d - lib.re(d).max(axis=-1, keepdims=True))
    return grown / grown.sum(axis=-1, keepdims=True)


def _sorted(lib: Any, d: Any) -> Any:
    return lib.xp.take_along_axis(d, lib.order(d), axis=-1)


def _shifted(lib: Any, d: Any) -> Any:
    return lib.xp.concatenate([lib.xp.zeros_like(d[..., :1]), d[..., :-1]], axis=-1)


along("cumsum", lambda lib, d: d.cumsum(axis=-1), "{0}.cumsum({d})")
along("cumprod", lambda lib, d: d.cumprod(axis=-1), "{0}.cumprod({d})")
along("softmax", _softmax, "{0}.softmax({d})", 1)
along("log_softmax", lambda lib, d: lib.xp.log(_softmax(lib, d)), "{0}.log_softmax({d})", 1)
along("sort", _sorted, '{0}.sort({d}).relabel("{d}", {d})')
along(
    "reverse",
    lambda lib, d: 1.015 * d[..., ::-1],
    '(1.015 * {0}).isel({d}=slice(None, None, -1)).relabel("{d}", {d})',
)
# a number of its own keeps the parts that they move from being those that a slice gives
along(
    "shift",
    lambda lib, d: _shifted(lib, 1.011 * d),
    "(1.011 * {0}).shift({d}=1, fill_value=0.0)",
    1,
)
along("roll", lambda lib, d: lib.xp.roll(1.013 * d, 1, axis=-1), "(1.013 * {0}).roll({d}=1)", 1)
along(
    "every second",
    lambda lib, d: lib.xp.broadcast_to(1.014 * d[..., ::-2].sum(axis=-1, keepdims=True), d.shape),
    "(1.014 * {0}).isel({{{d}: slice(None, None, -2)}}).sum('{d}').expand({d})",
)
along(
    "positive part",
    lambda lib, d: lib.xp.broadcast_to(
        lib.xp.where(lib.above(d.sum(axis=tuple(range(d.ndim - 1)))), d, 0.0).sum(
            axis=-1, keepdims=True
        ),
        d.shape,
    ),
    "{0}.isel({{{d}: {0}.sum([d for d in {0}.dims if d != {d}]) > 0}}).sum('{d}').expand({d})",
)


# -- products --------------------------------------------------------------------------------------


def contracted(lib: Any, values: Sequence[Named], dims: Sequence[str]) -> Named:
    """The product of values, summed over dims."""
    product = values[0]
    for value in values[1:]:
        product = elementwise(lib, lambda a, b: a * b, product, value)
    axes = tuple(product.dims.index(dim) for dim in dims)
    return Named(tuple(d for d in product.dims if d not in dims), product.data.sum(axis=axes))


def _dot_code(*operands: str, dims: tuple[str, ...]) -> str:
    return f"dt.dot({', '.join(operands)}, dim=[{', '.join(dims)}])"


def _draw_dot(choose: Any, scope: Any) -> Any:
    count = choose.one([2, 2, 3])
    operands = tuple(scope.pick(lambda x: x.dims) for _ in range(count))
    if None in operands or scope.too_large(*operands):
        return None
    dims = list(union(*[scope.env[at] for at in operands]))
    return operands, {"dims": tuple(choose.some(dims, at_least=1))}


OPS["dot"] = Op(
    "dot", "product", _dot_code,
    lambda lib, *values, dims: contracted(lib, values, dims), _draw_dot,
)  # fmt: skip


# -- linear algebra, of matrices that are well behaved and made of vectors ------------------------


def _matrix(lib: Any, x: Named, y: Named, dim: str, scale: float, diagonal: Any) -> Named:
    """``diagonal * eye + scale * x * y'`` where y' has the dim under another name."""
    primed = Named(tuple(f"{d}'" if d == dim else d for d in y.dims), y.data)
    outer = elementwise(lib, lambda a, b: scale * a * b, x, primed)
    eye = Named((dim, f"{dim}'"), lib.xp.eye(x.sizes[dim]) * diagonal)
    return elementwise(lib, lambda a, b: a + b, outer, eye)


def _posed(x: str, y: str, dim: str, scale: float, diagonal: str) -> str:
    return f"({diagonal} * dt.eye({dim}) + {scale} * {x} * {y}.rename_dim({dim}))"


def _rows(lib: Any, matrix: Named, dim: str) -> tuple[tuple[str, ...], Any]:
    return last(lib, matrix, dim, f"{dim}'")


def _applied(lib: Any, function: Any, matrix: Named, y: Named, dim: str) -> Named:
    """``function(matrix)`` times a vector."""
    others, data = _rows(lib, matrix, dim)
    factor = Named((*others, dim, f"{dim}'"), function(data))
    primed = Named(tuple(f"{d}'" if d == dim else d for d in y.dims), y.data)
    return contracted(lib, [factor, primed], [f"{dim}'"])


def _dot_primed(factor: str, y: str, dim: str) -> str:
    return f"dt.dot({factor}, {y}.rename_dim({dim}), dim=[{dim}.rename()])"


def linear(name: str, code: Callable[..., str], array: Callable[..., Named]) -> None:
    """An operation of three tensors with a common dim of at least one position."""

    def draw(choose: Any, scope: Any) -> Any:
        found = scope.pick_dim(1, most=9)
        if found is None:
            return None
        at, dim = found
        others = [scope.pick(lambda x: dim in x.dims) for _ in range(2)]
        if scope.too_large(at, *others, limit=60):
            return None
        return (at, *others), {"dim": dim}

    OPS[name] = Op(name, "linear", code, array, draw)


def _by_inverse(lib: Any, matrix: Named, y: Named, dim: str) -> Named:
    return _applied(lib, lib.xp.linalg.inv, matrix, y, dim)


linear(
    "solve",
    lambda x, y, z, dim: (
        f'dt.linalg.solve({_posed(x, y, dim, 0.31, "2.1")}, {z}).relabel("{dim}\'", {dim})'
    ),
    lambda lib, x, y, z, dim: _by_inverse(lib, _matrix(lib, x, y, dim, 0.31, 2.1), z, dim),
)
linear(
    "solve positive",
    lambda x, y, z, dim: (
        f"dt.linalg.solve({_posed(x, x, dim, 0.32, '2.2')}, {z}, assume_a='pos')"
        f'.relabel("{dim}\'", {dim})'
    ),
    lambda lib, x, y, z, dim: _by_inverse(lib, _matrix(lib, x, x, dim, 0.32, 2.2), z, dim),
)
linear(
    "inverse",
    lambda x, y, z, dim: _dot_primed(f"dt.linalg.inv({_posed(x, x, dim, 0.33, '2.3')})", z, dim),
    lambda lib, x, y, z, dim: _by_inverse(lib, _matrix(lib, x, x, dim, 0.33, 2.3), z, dim),
)
linear(
    "cholesky",
    lambda x, y, z, dim: _dot_primed(
        f"dt.linalg.cholesky({_posed(x, x, dim, 0.34, '2.4')})", z, dim
    ),
    lambda lib, x, y, z, dim: _applied(
        lib, lib.cholesky, _matrix(lib, x, x, dim, 0.34, 2.4), z, dim
    ),
)


def _triangular(lib: Any, x: Named, y: Named, z: Named, dim: str) -> Named:
    def function(data: Any) -> Any:
        return lib.xp.linalg.inv(lib.cholesky(data))

    return _applied(lib, function, _matrix(lib, x, x, dim, 0.35, 2.5), z, dim)


linear(
    "triangular",
    lambda x, y, z, dim: (
        f"dt.linalg.solve_triangular(dt.linalg.cholesky({_posed(x, x, dim, 0.35, '2.5')}), {z})"
        f'.relabel("{dim}\'", {dim})'
    ),
    _triangular,
)


def _scalar_of(
    function: Callable[[Any, Any], Any], scale: float, diagonal: float
) -> Callable[..., Named]:
    def array(lib: Any, x: Named, y: Named, z: Named, dim: str) -> Named:
        others, data = _rows(lib, _matrix(lib, x, x, dim, scale, diagonal), dim)
        found = Named(others, function(lib, data))
        return elementwise(lib, lambda a, b: a + b, found, z)

    return array


linear(
    "logdet",
    lambda x, y, z, dim: f"dt.linalg.slogdet({_posed(x, x, dim, 0.36, '1.6')}).logabsdet + {z}",
    _scalar_of(lambda lib, d: lib.logdet(d), 0.36, 1.6),
)
linear(
    "det",
    lambda x, y, z, dim: f"dt.linalg.det({_posed(x, x, dim, 0.37, '1.1')}) + {z}",
    _scalar_of(lambda lib, d: lib.xp.exp(lib.logdet(d)), 0.37, 1.1),
)
linear(
    "trace",
    lambda x, y, z, dim: f"dt.trace({_posed(x, x, dim, 0.38, '1.2')}) + {z}",
    _scalar_of(lambda lib, d: lib.xp.trace(d, axis1=-2, axis2=-1), 0.38, 1.2),
)


def _eigenvalues(lib: Any, x: Named, y: Named, z: Named, dim: str) -> Named:
    n = x.sizes[dim]
    matrix = _matrix(lib, x, x, dim, 0.39, 1.3 * (1.0 + lib.xp.arange(n))[:, None])
    others, data = _rows(lib, matrix, dim)
    values = lib.eigvalsh(data)
    found = Named((*others, dim), values)
    return elementwise(lib, lambda a, b: a * b, found, z)


linear(
    "eigenvalues",
    lambda x, y, z, dim: (
        f"dt.linalg.eigh({_posed(x, x, dim, 0.39, f'1.3 * (1.0 + dt.arange({dim}))')}, dim='e')"
        f'.eigenvalues.relabel("e", {dim}) * {z}'
    ),
    _eigenvalues,
)
