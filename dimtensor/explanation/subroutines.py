"""Costs of LAPACK and BLAS subroutines, and the arrays that they read and write."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dimtensor.cost.polynomial import Polynomial

# operations, as functions of a subroutine's integer arguments (Golub and Van Loan 2013)
OPERATIONS: dict[str, Callable[..., Polynomial]] = {
    "potrf": lambda _, n, *rest: n**3 * Fraction(1, 3),
    "getrf": lambda m, n, *rest: m * n**2 - n**3 * Fraction(1, 3),
    "getrs": lambda _, n, k, *rest: 2 * n**2 * k,
    "syevd": lambda _, uplo, n, *rest: 9 * n**3,
    "gesdd": lambda _, m, n, *rest: 4 * m**2 * n + 8 * m * n**2 + 9 * n**3,
    "geqrf": lambda m, n, *rest: 2 * m * n**2 - n**3 * Fraction(2, 3),
    "orgqr": lambda m, n, k, *rest: 2 * m * n * k,
    "trsm": lambda side, uplo, trans, diag, m, n, *rest: (
        m * m * n if side == ord("L") else m * n * n
    ),
    "gemm": lambda a, b, m, n, k, *rest: 2 * m * n * k,
}
# which of its arrays a subroutine reads, and which it writes
ACCESS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "gemm": ((0, 1), (2,)), "trsm": ((0, 1), (1,)), "getrs": ((0, 2), (2,)),
    "gesdd": ((0,), (1, 2, 3)), "syevd": ((0,), (0, 1)),
}  # fmt: skip
IN_PLACE = ((0,), (0,))
