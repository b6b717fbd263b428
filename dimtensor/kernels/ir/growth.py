"""Arrays that get longer: what is kept of steps whose number nobody knows before."""

from __future__ import annotations

from dataclasses import dataclass

from dimtensor.kernels.ir.nodes import Array, Expression, Statement


@dataclass(frozen=True, slots=True)
class Grow(Statement):
    """Room in an array for at least so many rows, the first of its lengths; its elements stay."""

    array: Array
    shape: tuple[Expression, ...]

    @property
    def reads(self) -> tuple[Expression, ...]:
        return (self.array, *self.shape)
