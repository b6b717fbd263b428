"""Kalman filter over matrices: one step of a linear Gaussian state space model.

A step has a state, with a mean and a covariance, and independent standard normal noise. Rows are
affine in both, and are normal with mean 0 and variance 1, each a factor of the density: those of
observations, scaled. The next state is affine in both, too. With the gain G of the next state, its
covariance is N P N' + M M' + G G', P. D. Joseph's form: nothing is subtracted from a covariance.
See R. S. Bucy and P. D. Joseph 1968, "Filtering for stochastic processes with applications to
guidance".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from dimtensor.dims import Dim, RenamedDim
from dimtensor.graph import Node
from dimtensor.graph.rebuilding.substitute import rebuild
from dimtensor.tensor.constructors import arange, eye
from dimtensor.tensor.elementwise import equal, log, square, where
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.linalg.contract import dot
from dimtensor.tensor.linalg.decompositions import cholesky
from dimtensor.tensor.linalg.equations import diagonal, solve_triangular


class VectorDims(NamedTuple):
    """Dim of a vector, and its copy: the second dim of matrices."""

    own: Dim
    other: Dim

    @classmethod
    def of(cls, name: str, length: int) -> VectorDims:
        """Make a dim without labels, and its copy."""
        own = Dim(name, length=length)
        return cls(own, RenamedDim(own, f"{name}'"))


@dataclass(frozen=True)
class Affine:
    """Affine map of a state and noise.

    Attributes
    ----------
    by_state, by_noise : DimTensor or None
        Matrices over the `own` dim of the results, and the `other` dim of the state or the noise;
        None for 0.
    by_flat : DimTensor or None
        Matrix for the flat elements of the step, until they are columns of the offset.
    offset : DimTensor
        Over the `own` dim of the results, and that of columns.
    """

    by_state: Any
    by_noise: Any
    by_flat: Any
    offset: Any

    def mapped(self, known: Mapping[Node, Node]) -> Affine:
        """Substitute nodes in all expressions."""
        parts = (self.by_state, self.by_noise, self.by_flat, self.offset)
        found = iter(rebuild([x.node for x in parts if x is not None], known))
        return Affine(*(None if x is None else wrap(next(found)) for x in parts))


@dataclass(frozen=True)
class LinearStep:
    """One step of a linear Gaussian state space model.

    Attributes
    ----------
    state, noise : VectorDims or None
        None where there is none.
    rows : Affine or None
        Over the dims of `row`, or a single row if that is None.
    row : VectorDims or None
    move : Affine or None
        The next state, over the dims of `after`, which differ from those of the state.
    after : VectorDims or None
    columns : VectorDims or None
        The constant and the flat elements, which means are affine in; log densities are quadratic
        forms of them.
    """

    state: VectorDims | None
    noise: VectorDims | None
    rows: Affine | None
    row: VectorDims | None
    move: Affine | None
    after: VectorDims | None
    columns: VectorDims | None = None

    def mapped(self, known: Mapping[Node, Node]) -> LinearStep:
        """Substitute nodes in all expressions."""
        rows, move = (x and x.mapped(known) for x in (self.rows, self.move))
        return replace(self, rows=rows, move=move)


class Shift(NamedTuple):
    """Perturbation of a step, with which smoothed values and draws are computed.

    Attributes
    ----------
    noise : DimTensor, optional
        Mean of the noise, over its `own` dim.
    rows : DimTensor, optional
        Added to the rows.
    tilted : Affine, optional
        An affine map over the `own` dim of `tilted_dims`.
    tilted_dims : VectorDims, optional
    weights : DimTensor, optional
        Weights of its results in a linear function, the exponential of which multiplies the
        density. Only first derivatives at weights of 0 are right.
    """

    noise: Any = None
    rows: Any = None
    tilted: Affine | None = None
    tilted_dims: VectorDims | None = None
    weights: Any = None


UNSHIFTED = Shift()


class Filtered(NamedTuple):
    """The next state, and what a step adds to the log density.

    Attributes
    ----------
    mean, covariance : DimTensor or None
        Over the dims of the next state.
    term : DimTensor or float
        Log density of the rows given earlier ones, without the constant -½ log 2π of each.
    """

    mean: Any
    covariance: Any
    term: Any


def constant_column(dim: Dim) -> Any:
    """Return 1 for the column of the constant, and 0 for the others."""
    return where(equal(arange(dim), 0), 1.0, 0.0)


def in_constant_column(x: Any, columns: VectorDims | None) -> Any:
    """Return a constant as a quadratic form of the columns."""
    if columns is None:
        return x
    return x * constant_column(columns.own) * constant_column(columns.other)


class _Conditional(NamedTuple):
    """Affine map given the rows: its mean, its coefficients less their gain, and the gain."""

    mean: Any
    by_state: Any
    by_noise: Any
    gain: Any


def filter_step(
    step: LinearStep, mean: Any = None, covariance: Any = None, shift: Shift = UNSHIFTED
) -> Filtered:
    """Condition a state on the rows of a step, and move it.

    Parameters
    ----------
    step : LinearStep
    mean, covariance : DimTensor, optional
        Of the state, over its dims.
    shift : Shift, optional

    Returns
    -------
    Filtered
    """
    rows = _ConditionedRows(step, mean, covariance, shift)
    term, moved, found = rows.term, None, Filtered(None, None, rows.term)
    if step.move is not None and step.after is not None:
        moved = rows.given(step.move)
        found = Filtered(moved.mean, _covariance(step, moved, covariance), term)
    if shift.tilted is not None and shift.tilted_dims is not None:
        other, over = rows.given(shift.tilted), shift.tilted_dims
        linear = dot(shift.weights, other.mean, dim=[over.own])
        if step.columns is not None:
            linear = linear * constant_column(step.columns.other)
        found = found._replace(term=term + linear)
        if moved is not None:
            cross = _cross(step, moved, other, covariance, shift.weights, over)
            if cross is not None and step.columns is not None:
                cross = cross * constant_column(step.columns.own)
            found = found._replace(mean=found.mean if cross is None else found.mean + cross)
    return found


class _ConditionedRows:
    """Rows of a step: their errors and covariance, and their log density."""

    def __init__(self, step: LinearStep, mean: Any, covariance: Any, shift: Shift):
        self.step, self.state_mean = step, mean
        self.noise_mean, moved = (
            x if x is None or step.columns is None else x * constant_column(step.columns.own)
            for x in (shift.noise, shift.rows)
        )
        self.term: Any = 0.0
        rows, row, state, noise = step.rows, step.row, step.state, step.noise
        if rows is None:
            return
        self.error = self._mean(rows) if moved is None else self._mean(rows) + moved
        self.by_state: Any = None  # covariance of the rows with the state, over its other dim
        spread: Any = 1.0 if row is None else eye(row.own, row.other)
        if rows.by_state is not None and state is not None:
            self.by_state = _times(rows.by_state, covariance, state)
            spread = spread + _inner(rows.by_state, self.by_state, state.other, row)
        if rows.by_noise is not None and noise is not None:
            spread = spread + _inner(rows.by_noise, rows.by_noise, noise.other, row)
        if row is None:
            self.spread, self.factor = spread, None
            self.term = -0.5 * (self._product(self.error, spread) + self._constant(log(spread)))
            return
        self.pair = [row.own, row.other]
        self.factor = cholesky(spread, self.pair)
        white = solve_triangular(self.factor, self.error, self.pair)
        logs = log(diagonal(self.factor, self.pair)).sum(row.own)
        self.term = -0.5 * self._product(white, dim=row.other) - self._constant(logs)

    def _product(self, error: Any, by: Any = None, dim: Dim | None = None) -> Any:
        """Return the square of errors, or its quadratic form of the columns."""
        columns = self.step.columns
        if columns is None:
            squares = square(error) if by is None else square(error) / by
            return squares if dim is None else squares.sum(dim)
        other = error.relabel(*columns)
        return error / by * other if dim is None else dot(error, other, dim=[dim])

    def _constant(self, x: Any) -> Any:
        return in_constant_column(x, self.step.columns)

    def _mean(self, affine: Affine) -> Any:
        """Return the mean of an affine map of the state and noise."""
        step, total = self.step, affine.offset
        if affine.by_state is not None and step.state is not None:
            mean = self.state_mean.relabel(step.state.own, step.state.other)
            total = total + dot(affine.by_state, mean, dim=[step.state.other])
        if affine.by_noise is not None and step.noise is not None and self.noise_mean is not None:
            mean = self.noise_mean.relabel(step.noise.own, step.noise.other)
            total = total + dot(affine.by_noise, mean, dim=[step.noise.other])
        return total

    def given(self, affine: Affine) -> _Conditional:
        """Condition an affine map of the state and noise on the rows."""
        mean, step, rows = self._mean(affine), self.step, self.step.rows
        if rows is None:
            return _Conditional(mean, affine.by_state, affine.by_noise, None)
        gain: Any = None
        pairs = ((affine.by_state, self.by_state, step.state),
                 (affine.by_noise, rows.by_noise, step.noise))  # fmt: skip
        for by, beside, dims in pairs:
            if by is not None and beside is not None and dims is not None:
                part = dot(by, beside, dim=[dims.other])
                gain = part if gain is None else gain + part
        if gain is None:
            return _Conditional(mean, affine.by_state, affine.by_noise, None)
        gain = self._solved(gain)
        row = step.row
        taken = gain * self.error if row is None else dot(gain, self.error, dim=[row.own])
        by_state = _less(affine.by_state, gain, rows.by_state, row)
        by_noise = _less(affine.by_noise, gain, rows.by_noise, row)
        return _Conditional(mean - taken, by_state, by_noise, gain)

    def _solved(self, gain: Any) -> Any:
        if self.factor is None:
            return gain / self.spread
        white = solve_triangular(self.factor, gain, self.pair)
        return solve_triangular(self.factor, white, self.pair[::-1], lower=False)


def _inner(one: Any, two: Any, dim: Dim, row: VectorDims | None) -> Any:
    """Sum products over a dim, for each pair of rows."""
    return dot(one, two if row is None else two.relabel(row.own, row.other), dim=[dim])


def _less(by: Any, gain: Any, rows: Any, row: VectorDims | None) -> Any:
    if rows is None:
        return by
    taken = gain * rows if row is None else dot(gain, rows, dim=[row.own])
    return -taken if by is None else by - taken


def _covariance(step: LinearStep, moved: _Conditional, covariance: Any) -> Any:
    """Return the covariance of the next state."""
    state, noise, row, after = step.state, step.noise, step.row, step.after
    assert after is not None
    total: Any = None

    def add(one: Any, two: Any, dim: Dim | None) -> None:
        nonlocal total
        two = two.relabel(after.own, after.other)
        part = one * two if dim is None else dot(one, two, dim=[dim])
        total = part if total is None else total + part

    if moved.by_state is not None and state is not None:
        add(_times(moved.by_state, covariance, state), moved.by_state, state.other)
    if moved.by_noise is not None and noise is not None:
        add(moved.by_noise, moved.by_noise, noise.other)
    if moved.gain is not None:
        add(moved.gain, moved.gain, None if row is None else row.own)
    if total is None:
        return 0.0 * eye(after.own, after.other)
    return total


def _times(by_state: Any, covariance: Any, state: VectorDims) -> Any:
    """Multiply a matrix by the covariance of the state, over its other dim again."""
    product = dot(by_state, covariance, dim=[state.other])
    return product.relabel(state.own, state.other)


def _cross(
    step: LinearStep, one: _Conditional, two: _Conditional, covariance: Any, weights: Any,
    over: VectorDims,
) -> Any:  # fmt: skip
    """Multiply the covariance of two maps given the rows by weights of the second one."""
    state, noise, row = step.state, step.noise, step.row
    total: Any = None

    def add(first: Any, second: Any, dim: Dim | None) -> None:
        nonlocal total
        weighted = dot(second, weights, dim=[over.own])
        part = first * weighted if dim is None else dot(first, weighted, dim=[dim])
        total = part if total is None else total + part

    if one.by_state is not None and two.by_state is not None and state is not None:
        add(_times(one.by_state, covariance, state), two.by_state, state.other)
    if one.by_noise is not None and two.by_noise is not None and noise is not None:
        add(one.by_noise, two.by_noise, noise.other)
    if one.gain is not None and two.gain is not None:
        add(one.gain, two.gain, None if row is None else row.own)
    return total


def solve_rows(
    slopes: Any, offset: Any, noise: Any, dims: VectorDims, row: Dim
) -> tuple[Any, Any, Any]:
    """Solve rows A x + b for a vector x, of which they are more than its elements.

    With L L' = A'A their square is that of L'x + L⁻¹A'b, the noise, and that of the part of b that
    no x can change.

    Parameters
    ----------
    slopes, offset : DimTensor
        A, over `row` and the `other` dim of the vector, and b, over `row`.
    noise : DimTensor
        Over the `other` dim.
    dims : VectorDims
    row : Dim

    Returns
    -------
    solution : DimTensor
        Over the `own` dim.
    rest : DimTensor
        The sum of squares without the vector.
    logs : DimTensor
        Logarithm of the determinant of the derivative of the solution by the noise.
    """
    own, other = dims
    matrix = slopes.relabel(other, own)
    factor = cholesky(dot(matrix, slopes, dim=[row]), [own, other])
    turned = solve_triangular(factor, matrix, [own, other])
    along = dot(turned, offset, dim=[row])
    solution = solve_triangular(factor, noise - along, [other, own], lower=False)
    rest = square(offset - dot(turned, along, dim=[other])).sum(row)
    return solution, rest, -log(diagonal(factor, [own, other])).sum(own)
