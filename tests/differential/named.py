"""Arrays with named axes, and the two libraries that compute on them: NumPy and JAX.

Nothing here knows of dimtensor. NumPy's side takes complex numbers, so that a derivative is the
imaginary part for an imaginary step; what is not analytic (comparisons, absolute values, sorting)
decides by real parts, and the decisions are recorded: between two points with other decisions lies
a kink.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special


@dataclass(frozen=True)
class Named:
    """Data whose axes have names."""

    dims: tuple[str, ...]
    data: Any

    @property
    def sizes(self) -> dict[str, int]:
        return dict(zip(self.dims, np.shape(self.data), strict=True))


def union(*values: Named) -> dict[str, int]:
    """All dims of several values, with their lengths."""
    sizes: dict[str, int] = {}
    for value in values:
        for dim, length in value.sizes.items():
            assert sizes.setdefault(dim, length) == length, (dim, sizes, value.sizes)
    return sizes


def spread(lib: Any, value: Named, dims: Sequence[str]) -> Any:
    """Data with the axes in that order, of length 1 where the value lacks the dim."""
    order = [value.dims.index(dim) for dim in dims if dim in value.dims]
    moved = lib.xp.transpose(value.data, order)
    shape = [value.sizes.get(dim, 1) for dim in dims]
    return lib.xp.reshape(moved, shape)


def expanded(lib: Any, value: Named, sizes: dict[str, int]) -> Named:
    """A value repeated along the dims that it lacks, axes in the order of the sizes."""
    full = lib.xp.broadcast_to(spread(lib, value, list(sizes)), tuple(sizes.values()))
    return Named(tuple(sizes), full)


def elementwise(lib: Any, function: Callable[..., Any], *values: Named) -> Named:
    """A function of arrays on the union of dims."""
    dims = tuple(union(*values))
    return Named(dims, function(*[spread(lib, value, dims) for value in values]))


def last(lib: Any, value: Named, *dims: str) -> tuple[tuple[str, ...], Any]:
    """The other dims, and data with the given dims as last axes."""
    others = tuple(dim for dim in value.dims if dim not in dims)
    return others, spread(lib, value, [*others, *dims])


def taken(lib: Any, value: Named, dim: str, at: Any) -> Named:
    """A position of a dim."""
    axis = value.dims.index(dim)
    rest = value.dims[:axis] + value.dims[axis + 1 :]
    return Named(rest, lib.xp.take(value.data, at, axis=axis))


def infinitesimal(function: Any, slope: Any) -> Callable[[Any], Any]:
    """A real function of numbers with an infinitesimal imaginary part."""

    def extended(x: Any) -> Any:
        if not np.iscomplexobj(x):
            return function(x)
        return function(np.real(x)) + 1j * slope(np.real(x)) * np.imag(x)

    return extended


class NumPy:
    """The same functions on NumPy's arrays, real or complex."""

    xp = np

    def __init__(self) -> None:
        self.decisions: list[bytes] = []
        self.margin = np.inf
        self.muted = False

    erf = staticmethod(
        infinitesimal(scipy.special.erf, lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x))
    )
    gammaln = staticmethod(infinitesimal(scipy.special.gammaln, scipy.special.digamma))
    digamma = staticmethod(
        infinitesimal(scipy.special.digamma, lambda x: scipy.special.polygamma(1, x))
    )

    @staticmethod
    def re(x: Any) -> Any:
        return np.real(x)

    def above(self, difference: Any) -> Any:
        """Whether a difference is positive: a decision."""
        difference = self.re(difference)
        above = np.asarray(difference > 0)
        self.decide(above, np.abs(difference))
        return above

    def decide(self, what: Any, margins: Any) -> None:
        """Note a decision, and how far it is from another one."""
        if not self.muted:
            self.decisions.append(np.asarray(what).tobytes())
            if np.size(margins):
                found = np.min(margins)
                self.margin = -1.0 if np.isnan(found) else min(self.margin, float(found))

    def order(self, data: Any) -> Any:
        """Positions in ascending order along the last axis."""
        order = np.argsort(self.re(data), axis=-1, kind="stable")
        ordered = np.take_along_axis(self.re(data), order, axis=-1)
        self.decide(order, np.diff(ordered, axis=-1))
        return order

    @staticmethod
    def put(data: Any, index: Any, value: Any, accumulate: bool) -> Any:
        """Values into the first axis at an index: set, or added with all repetitions."""
        result = np.array(data, dtype=np.result_type(data, value))
        if accumulate:
            np.add.at(result, index, value)
        else:
            result[index] = value
        return result

    def svdvals(self, matrix: Any) -> Any:
        """Singular values, those of an infinitesimal imaginary part by the perturbation of them."""
        if not np.all(np.isfinite(matrix)):  # NumPy finds none, and says so by an exception
            return np.full(matrix.shape[:-1], np.nan)
        left, values, right = np.linalg.svd(np.real(matrix))
        self.decide(b"", np.abs(np.diff(values, axis=-1)))
        if not np.iscomplexobj(matrix):
            return values
        return values + 1j * np.einsum("...ji,...jk,...ik->...i", left, np.imag(matrix), right)

    def eigvalsh(self, matrix: Any) -> Any:
        """Eigenvalues, those of an infinitesimal imaginary part by the perturbation of them."""
        if not np.all(np.isfinite(matrix)):
            return np.full(matrix.shape[:-1], np.nan)
        values, vectors = np.linalg.eigh(np.real(matrix))
        self.decide(b"", np.diff(values, axis=-1))
        if not np.iscomplexobj(matrix):
            return values
        slopes = np.einsum("...ji,...jk,...ki->...i", vectors, np.imag(matrix), vectors)
        return values + 1j * slopes

    @staticmethod
    def cholesky(matrix: Any) -> Any:
        """Row by row, without conjugates."""
        n = matrix.shape[-1]
        root = np.zeros_like(matrix)
        for i in range(n):
            for j in range(i + 1):
                rest = matrix[..., i, j] - (root[..., i, :j] * root[..., j, :j]).sum(-1)
                root[..., i, j] = np.sqrt(rest) if i == j else rest / root[..., j, j]
        return root

    @staticmethod
    def logdet(matrix: Any) -> Any:
        """Of a matrix whose determinant is positive."""
        return np.log(np.linalg.det(matrix))

    # -- control flow ------------------------------------------------------------------------------

    def scan(self, body: Any, states: list, xs: list, dim: str, n: int, reverse: bool) -> Any:
        """``body(states, elements)`` gives states and outputs; outputs are stacked along dim."""
        sizes = [state.sizes for state in states]
        traces: dict[int, list[Named]] = {}
        for t in reversed(range(n)) if reverse else range(n):
            after, ys = body(states, [taken(self, x, dim, t) for x in xs])
            states = [expanded(self, s, size) for s, size in zip(after, sizes, strict=True)]
            traces[t] = ys
        if n:
            rows = list(zip(*[traces[t] for t in range(n)], strict=True))
            return states, [self._stacked(row, dim) for row in rows]
        self.muted = True  # without a step only the types of what it gives are known
        fake = [Named(*_without(x, dim)) for x in xs]
        ys = body(states, fake)[1]
        self.muted = False
        return states, [Named((dim, *y.dims), np.zeros((0, *np.shape(y.data)))) for y in ys]

    @staticmethod
    def _stacked(rows: Sequence[Named], dim: str) -> Named:
        assert len({row.dims for row in rows}) == 1
        return Named((dim, *rows[0].dims), np.stack([row.data for row in rows]))

    def loop(self, condition: Any, body: Any, states: list, most: int) -> list:
        """As long as ``condition(states)``, a mask, holds somewhere; others keep their state."""
        sizes = [state.sizes for state in states]
        running: Named | None = None
        for _ in range(most):
            go = condition(states)
            running = go if running is None else elementwise(self, np.logical_and, running, go)
            if not np.any(running.data):
                break
            after = body(states)
            states = [
                expanded(self, elementwise(self, np.where, running, new, old), size)
                for new, old, size in zip(after, states, sizes, strict=True)
            ]
        return states

    def branch(self, condition: Named, one: Any, other: Any) -> list:
        """One of two functions; both, and a selection, where the condition has dims."""
        if not condition.dims:
            muted, self.muted = self.muted, True
            unused = (other if condition.data else one)()
            self.muted = muted
            used = (one if condition.data else other)()
            return [
                expanded(self, u, union(u, v)) for u, v in zip(used, unused, strict=True)
            ]  # fmt: skip
        return [
            elementwise(self, np.where, condition, u, v)
            for u, v in zip(one(), other(), strict=True)
        ]


def _without(x: Named, dim: str) -> tuple[tuple[str, ...], Any]:
    rest = {d: length for d, length in x.sizes.items() if d != dim}
    return tuple(rest), np.ones(tuple(rest.values()))
