"""Functions that kernels call, in Python that numba compiles quickly.

They write to arrays that they are given. Matrices are in row order, which for LAPACK is the
transpose. Those named ``small_`` are for static sizes up to 8: they call nothing and allocate
nothing. What has no value is nan. Imported only when numba is.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from dimtensor.kernels import intrinsics
from dimtensor.kernels.intrinsics import as_column as as_column
from dimtensor.kernels.intrinsics import contiguous, gemm, getrf, getrs, potrf, scratch, trsm
from dimtensor.kernels.intrinsics import line as line
from dimtensor.kernels.intrinsics import part as part
from dimtensor.kernels.intrinsics import reshaped as reshaped

_compiled = numba.njit(
    fastmath={"reassoc", "contract", "nsz", "arcp", "afn"},
    error_model="numpy",
    nogil=True,
    no_cpython_wrapper=True,
    no_cfunc_wrapper=True,
)
_L, _U, _N, _T, _R = (ord(letter) for letter in "LUNTR")

# -- sorting ---------------------------------------------------------------------------------------

_RUN = 16  # so many elements are sorted by insertion


@_compiled
def sort_line(x, out):
    """Sort a vector into another one; nan comes last."""
    n = x.shape[0]
    a = np.empty(n, x.dtype)
    count, last = 0, n
    for i in range(n):
        value = x[i]
        if value == value:
            a[count] = value
            count += 1
        else:
            last -= 1
            out[last] = value
    for low in range(0, count, _RUN):
        for i in range(low + 1, min(low + _RUN, count)):
            value, at = a[i], i
            while at > low and value < a[at - 1]:
                a[at] = a[at - 1]
                at -= 1
            a[at] = value
    if count > _RUN:
        b = np.empty(n, x.dtype)
        width = _RUN
        while width < count:
            for low in range(0, count, 2 * width):
                middle, high = min(low + width, count), min(low + 2 * width, count)
                left, right, at = low, middle, low
                while left < middle and right < high:
                    one, two = a[left], a[right]
                    second = two < one
                    b[at] = two if second else one
                    right += second
                    left += not second
                    at += 1
                while left < middle:
                    b[at] = a[left]
                    left += 1
                    at += 1
                while right < high:
                    b[at] = a[right]
                    right += 1
                    at += 1
            a, b = b, a
            width *= 2
    for i in range(count):
        out[i] = a[i]


@_compiled
def argsort_line(x, out):
    """Positions of the elements of a vector in the order of their sizes; stable, nan last."""
    n = x.shape[0]
    a, order = np.empty(n, x.dtype), np.empty(n, np.int64)
    count = 0
    for i in range(n):
        if x[i] == x[i]:
            a[count], order[count] = x[i], i
            count += 1
    last = count
    for i in range(n):
        if x[i] != x[i]:
            out[last] = i
            last += 1
    for low in range(0, count, _RUN):
        for i in range(low + 1, min(low + _RUN, count)):
            value, number, at = a[i], order[i], i
            while at > low and value < a[at - 1]:
                a[at], order[at] = a[at - 1], order[at - 1]
                at -= 1
            a[at], order[at] = value, number
    if count > _RUN:
        b, other = np.empty(n, x.dtype), np.empty(n, np.int64)
        width = _RUN
        while width < count:
            for low in range(0, count, 2 * width):
                middle, high = min(low + width, count), min(low + 2 * width, count)
                left, right, at = low, middle, low
                while left < middle and right < high:
                    one, two = a[left], a[right]
                    second = two < one
                    b[at] = two if second else one
                    other[at] = order[right] if second else order[left]
                    right += second
                    left += not second
                    at += 1
                while left < middle:
                    b[at], other[at] = a[left], order[left]
                    left += 1
                    at += 1
                while right < high:
                    b[at], other[at] = a[right], order[right]
                    right += 1
                    at += 1
            a, b = b, a
            order, other = other, order
            width *= 2
    for i in range(count):
        out[i] = order[i]


@_compiled
def group_position(x, codes, groups, out, first, largest):
    """Position of the first, smallest or largest element of each group, or -1."""
    n_groups = groups.shape[0]
    for group in range(n_groups):
        out[group] = -1
    for i in range(x.shape[0]):
        group = codes[i]
        if group < 0 or group >= n_groups:
            continue
        if out[group] < 0:
            out[group] = i
        elif not first:
            best, value = x[out[group]], x[i]
            if best != best:
                continue
            if value != value or (value > best if largest else value < best):
                out[group] = i


# -- linear algebra --------------------------------------------------------------------------------


@_compiled
def _fill(out, value):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = value


@_compiled
def small_cholesky(x, out, n):
    """Lower factor, of the lower triangle of `x`."""
    for i in range(n):
        for j in range(i + 1):
            total = x[i, j]
            for k in range(j):
                total -= out[i, k] * out[j, k]
            if j < i:
                out[i, j] = total / out[j, j]
            elif total > 0:
                out[i, i] = math.sqrt(total)
            else:
                _fill(out, np.nan)
                return
        for j in range(i + 1, n):
            out[i, j] = 0


@_compiled
def cholesky(x, out):
    """Lower factor, of the lower triangle of `x`."""
    n = x.shape[0]
    if x.shape[1] != n:
        raise ValueError("a Cholesky factor is of a square matrix")
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = x[i, j]
        for j in range(i + 1, n):
            out[i, j] = 0
    if n > 0 and potrf(_U, n, out, n) != 0:
        _fill(out, np.nan)


@_compiled
def _zero_on_diagonal(a, n, unit):
    if not unit:
        for i in range(n):
            if a[i, i] == 0:
                return True
    return False


@_compiled
def small_solve_triangular(a, b, out, n, lower, turned, unit):
    """Solution of ``m @ out = b``, where m is a triangle of `a` or of its transpose."""
    columns = b.shape[1]
    if _zero_on_diagonal(a, n, unit):
        _fill(out, np.nan)
        return
    for step in range(n):
        i = step if lower else n - 1 - step
        for c in range(columns):
            out[i, c] = b[i, c]
        for before in range(step):
            j = before if lower else n - 1 - before
            factor = a[j, i] if turned else a[i, j]
            for c in range(columns):
                out[i, c] -= factor * out[j, c]
        if not unit:
            for c in range(columns):
                out[i, c] /= a[i, i]


@_compiled
def solve_triangular(a, b, out, lower, turned, unit):
    """As `small_solve_triangular`, by BLAS."""
    n, columns = b.shape
    if a.shape[0] != n or a.shape[1] != n:
        raise ValueError("a triangular system has a square matrix, as long as the right-hand side")
    if _zero_on_diagonal(a, n, unit):
        _fill(out, np.nan)
        return
    for i in range(n):
        for c in range(columns):
            out[i, c] = b[i, c]
    if n == 0 or columns == 0:
        return
    uplo = _U if lower != turned else _L
    trans = _T if turned else _N
    diag = _U if unit else _N
    trsm(_R, uplo, trans, diag, columns, n, 1.0, contiguous(a), n, out, columns)


@_compiled
def solve_triangular_vector(a, b, out, lower, turned, unit):
    """As `small_solve_triangular`, for one right-hand side; walks `a` in order."""
    n = b.shape[0]
    if a.shape[0] != n or a.shape[1] != n:
        raise ValueError("a triangular system has a square matrix, as long as the right-hand side")
    if _zero_on_diagonal(a, n, unit):
        for i in range(n):
            out[i] = np.nan
        return
    for i in range(n):
        out[i] = b[i]
    for step in range(n):
        i = step if lower else n - 1 - step
        if turned:
            if not unit:
                out[i] /= a[i, i]
            solved = out[i]
            for j in range(i + 1 if lower else 0, n if lower else i):
                out[j] -= a[i, j] * solved
        else:
            total = out[i]
            for j in range(0 if lower else i + 1, i if lower else n):
                total -= a[i, j] * out[j]
            out[i] = total if unit else total / a[i, i]


@_compiled
def _eliminate(a, n, b, columns):
    """Make `a` upper triangular by rows, doing the same to `b`; the sign of the swaps, or 0."""
    sign = 1
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[pivot, k]):
                pivot = i
        if a[pivot, k] == 0:
            return 0
        if pivot != k:
            sign = -sign
            for j in range(n):
                a[k, j], a[pivot, j] = a[pivot, j], a[k, j]
            for c in range(columns):
                b[k, c], b[pivot, c] = b[pivot, c], b[k, c]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= factor * a[k, j]
            for c in range(columns):
                b[i, c] -= factor * b[k, c]
    return sign


@_compiled
def _substitute_back(a, n, out, columns):
    for step in range(n):
        i = n - 1 - step
        for j in range(i + 1, n):
            for c in range(columns):
                out[i, c] -= a[i, j] * out[j, c]
        for c in range(columns):
            out[i, c] /= a[i, i]


@_compiled
def _copied(x, work, n):
    for i in range(n):
        for j in range(n):
            work[i, j] = x[i, j]


@_compiled
def small_solve(a, b, out, n):
    """Solution of ``a @ out = b``, with partial pivoting."""
    work, columns = scratch(out), b.shape[1]
    _copied(a, work, n)
    for i in range(n):
        for c in range(columns):
            out[i, c] = b[i, c]
    if _eliminate(work, n, out, columns) == 0:
        _fill(out, np.nan)
        return
    _substitute_back(work, n, out, columns)


@_compiled
def small_inverse(x, out, n):
    """Inverse, with partial pivoting."""
    work = scratch(out)
    _copied(x, work, n)
    for i in range(n):
        for j in range(n):
            out[i, j] = 1 if i == j else 0
    if _eliminate(work, n, out, n) == 0:
        _fill(out, np.nan)
        return
    _substitute_back(work, n, out, n)


@_compiled
def _factors(a, n, pivots):
    """A copy of `a` that LAPACK has factored: its transpose, for LAPACK; and what it reports."""
    if a.shape[0] != n or a.shape[1] != n:
        raise ValueError("a linear system has a square matrix, as long as the right-hand side")
    work = np.empty((n, n), a.dtype)
    _copied(a, work, n)
    return work, getrf(n, n, work, n, pivots)


@_compiled
def solve(a, b, out):
    """Solution of ``a @ out = b``, by LAPACK."""
    n, columns = b.shape
    if n == 0 or columns == 0:
        return
    pivots = np.empty(n, np.int32)
    work, failed = _factors(a, n, pivots)
    if failed != 0:
        _fill(out, np.nan)
        return
    turned = np.empty((columns, n), out.dtype)
    for i in range(n):
        for c in range(columns):
            turned[c, i] = b[i, c]
    getrs(_T, n, columns, work, n, pivots, turned, n)
    for i in range(n):
        for c in range(columns):
            out[i, c] = turned[c, i]


@_compiled
def inverse(x, out):
    """Inverse, by LAPACK."""
    n = x.shape[0]
    if n == 0:
        return
    pivots = np.empty(n, np.int32)
    work, failed = _factors(x, n, pivots)
    if failed != 0:
        _fill(out, np.nan)
        return
    for i in range(n):
        for j in range(n):
            out[i, j] = 1 if i == j else 0
    getrs(_N, n, n, work, n, pivots, out, n)


@_compiled
def _finite(x):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if not math.isfinite(x[i, j]):
                return False
    return True


@_compiled
def _signed_diagonal(x, n):
    """What `det` and `slogdet` need of a large matrix: its factors and the sign of the swaps."""
    pivots = np.empty(n, np.int32)
    work, _ = _factors(x, n, pivots)
    sign = 1
    for i in range(n):
        if pivots[i] != i + 1:
            sign = -sign
    return work, sign


@_compiled
def _product(work, n, sign):
    total = work.dtype.type(sign)
    for i in range(n):
        total *= work[i, i]
    return total


@_compiled
def _sign_and_log(work, n, sign):
    kind = work.dtype.type
    total = kind(0)
    for i in range(n):
        value = work[i, i]
        if value == 0:
            return kind(0), kind(-np.inf)
        if value < 0:
            sign = -sign
        total += np.log(abs(value))
    return kind(sign), total


@_compiled
def small_det(x, n):
    work = scratch(x)
    _copied(x, work, n)
    if not _finite(x):
        return x.dtype.type(np.nan)
    sign = _eliminate(work, n, work, 0)
    return _product(work, n, sign) if sign != 0 else x.dtype.type(0)


@_compiled
def det(x):
    n = x.shape[0]
    if not _finite(x):
        return x.dtype.type(np.nan)
    work, sign = _signed_diagonal(x, n)
    return _product(work, n, sign)


@_compiled
def small_slogdet(x, n):
    kind = x.dtype.type
    if not _finite(x):
        return kind(np.nan), kind(np.nan)
    work = scratch(x)
    _copied(x, work, n)
    sign = _eliminate(work, n, work, 0)
    if sign == 0:
        return kind(0), kind(-np.inf)
    return _sign_and_log(work, n, sign)


@_compiled
def slogdet(x):
    kind = x.dtype.type
    if not _finite(x):
        return kind(np.nan), kind(np.nan)
    work, sign = _signed_diagonal(x, x.shape[0])
    return _sign_and_log(work, x.shape[0], sign)


@_compiled
def small_dot(a, b, out, a_turned, b_turned):
    """Product of small matrices, either of them read as its transpose."""
    inner = a.shape[0] if a_turned else a.shape[1]
    for i in range(out.shape[0]):
        for c in range(out.shape[1]):
            out[i, c] = 0
        for k in range(inner):
            factor = a[k, i] if a_turned else a[i, k]
            for c in range(out.shape[1]):
                out[i, c] += factor * (b[c, k] if b_turned else b[k, c])


@_compiled
def dot(a, b, out, a_turned, b_turned):
    """Product of matrices by BLAS, either of them read as its transpose."""
    m, n = out.shape
    inner = a.shape[0] if a_turned else a.shape[1]
    if inner != (b.shape[1] if b_turned else b.shape[0]):
        raise ValueError("the columns of one matrix are not as many as the rows of the other")
    if m == 0 or n == 0:
        return
    if inner == 0:
        _fill(out, 0)
        return
    one, two = contiguous(a), contiguous(b)
    gemm(
        _T if b_turned else _N, _T if a_turned else _N, n, m, inner,
        1.0, two, two.shape[1], one, one.shape[1], 0.0, out, n,
    )  # fmt: skip


register_symbols = intrinsics.register_symbols
