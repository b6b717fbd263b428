"""Templates: algorithms whose source :mod:`dimtensor.kernels.rules.templates` reads as text.

This module is never imported: its statements are written into kernels. Parameters are arrays,
numbers, and flags, which are ``True`` or ``False`` when a template is written; ``DTYPE`` is the
dtype of the numbers, and another template is called like a function. Memory is asked for by
``np.empty`` in a statement by itself. Fortran's subroutines see matrices in row order as their
transposes; 78, 84, 76, 85 and 82 are its letters N, T, L, U and R. Statements are those that
``docs/design/native.md`` lists; a number that is returned is not first given a call.
"""

# mypy: ignore-errors
# ruff: noqa: F821, F841

import math

import numpy as np

# -- sorting ---------------------------------------------------------------------------------------


def sort_line(x, out, n, positions):
    """Sort a vector into another one, or the positions of its elements; stable, nan last.

    A merge sort from the bottom up, of runs of 16 that are sorted by insertion.
    """
    rows = np.empty((2, n), dtype=DTYPE)
    if positions:
        order = np.empty((2, n), dtype=np.int64)
    count = 0
    for i in range(n):
        value = x[i]
        if value == value:
            rows[0, count] = value
            if positions:
                order[0, count] = i
            count += 1
    last = count
    for i in range(n):
        value = x[i]
        if value != value:
            if positions:
                out[last] = i
            else:
                out[last] = value
            last += 1
    for start in range(0, count, 16):
        for i in range(start + 1, min(start + 16, count)):
            value = rows[0, i]
            if positions:
                number = order[0, i]
            at = i
            while at > start and value < rows[0, at - 1]:
                rows[0, at] = rows[0, at - 1]
                if positions:
                    order[0, at] = order[0, at - 1]
                at -= 1
            rows[0, at] = value
            if positions:
                order[0, at] = number
    source = 0
    width = 16
    while width < count:
        for block in range((count + 2 * width - 1) // (2 * width)):
            low = 2 * width * block
            middle = min(low + width, count)
            high = min(low + 2 * width, count)
            left = low
            right = middle
            for to in range(low, high):
                take = left >= middle
                if not take and right < high:
                    take = rows[source, right] < rows[source, left]
                if take:
                    rows[1 - source, to] = rows[source, right]
                    if positions:
                        order[1 - source, to] = order[source, right]
                    right += 1
                else:
                    rows[1 - source, to] = rows[source, left]
                    if positions:
                        order[1 - source, to] = order[source, left]
                    left += 1
        source = 1 - source
        width *= 2
    for i in range(count):
        if positions:
            out[i] = order[source, i]
        else:
            out[i] = rows[source, i]


def group_position(x, codes, out, n, n_groups, first, largest):
    """Position of the first, smallest or largest element of each group, or -1."""
    for group in range(n_groups):
        out[group] = -1
    for i in range(n):
        of = codes[i]
        if of >= 0 and of < n_groups:
            at = out[of]
            if at < 0:
                out[of] = i
            elif not first:
                best = x[at]
                value = x[i]
                if largest:
                    if best == best and (value != value or value > best):
                        out[of] = i
                else:
                    if best == best and (value != value or value < best):
                        out[of] = i


def owner_of(ends, places, out, n, n_groups):
    """Count the ends, which ascend, up to each place by bisection; the last group has the rest."""
    for i in range(n):
        place = places[i]
        low = 0
        high = n_groups
        while low < high:
            middle = (low + high) // 2
            if ends[middle] <= place:
                low = middle + 1
            else:
                high = middle
        out[i] = min(low, n_groups - 1)


# -- parts of linear algebra -----------------------------------------------------------------------


def fill(out, n, columns):
    for i in range(n):
        for c in range(columns):
            out[i, c] = np.nan


def copied(x, out, n, columns):
    for i in range(n):
        for c in range(columns):
            out[i, c] = x[i, c]


def transposed(x, out, n):
    for i in range(n):
        for j in range(n):
            out[j, i] = x[i, j]


def identity(out, n):
    for i in range(n):
        for c in range(n):
            out[i, c] = 0
        out[i, i] = 1


def eliminate(a, b, n, columns):
    """Make `a` upper triangular by rows, with partial pivoting, and do the same to `b`.

    The sign of the swaps, or 0 if a pivot is 0.
    """
    sign = 1
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[pivot, k]):
                pivot = i
        if a[pivot, k] == 0:
            sign = 0
        if pivot != k:
            sign = -sign
            for j in range(k, n):
                kept = a[k, j]
                a[k, j] = a[pivot, j]
                a[pivot, j] = kept
            for c in range(columns):
                moved = b[k, c]
                b[k, c] = b[pivot, c]
                b[pivot, c] = moved
        infinite = abs(a[k, k]) == np.inf
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            if infinite:  # beside it even another infinity is nothing, as to LAPACK
                factor = DTYPE(0)
            for j in range(k + 1, n):
                a[i, j] -= factor * a[k, j]
            for c in range(columns):
                b[i, c] -= factor * b[k, c]
    return sign


def substitute_back(a, out, n, columns):
    for step in range(n):
        i = n - 1 - step
        for j in range(i + 1, n):
            for c in range(columns):
                out[i, c] -= a[i, j] * out[j, c]
        for c in range(columns):
            out[i, c] /= a[i, i]


def is_finite(x, m, n):
    finite = True
    for i in range(m):
        for j in range(n):
            if not math.isfinite(x[i, j]):
                finite = False
    return finite


# -- Cholesky factors ------------------------------------------------------------------------------


def cholesky_loops(x, out, n):
    """Lower factor, of the lower triangle of `x`."""
    failed = False
    for i in range(n):
        for j in range(i):
            total = x[i, j]
            for k in range(j):
                total -= out[i, k] * out[j, k]
            out[i, j] = total / out[j, j]
        square = x[i, i]
        for k in range(i):
            square -= out[i, k] * out[i, k]
        if not square > 0:
            failed = True
        out[i, i] = math.sqrt(square)
        for j in range(i + 1, n):
            out[i, j] = 0
    if failed:
        fill(out, n, n)


def cholesky(x, out, n):
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = x[i, j]
        for j in range(i + 1, n):
            out[i, j] = 0
    info = potrf(85, n, out, max(n, 1))
    failed = info != 0
    for i in range(n):  # of nan some versions of LAPACK report nothing
        if not out[i, i] > 0:
            failed = True
    if failed:
        fill(out, n, n)


# -- triangular systems ----------------------------------------------------------------------------


def zero_on_diagonal(a, n):
    zero = False
    for i in range(n):
        if a[i, i] == 0:
            zero = True
    return zero


def solve_triangular_loops(a, b, out, n, columns, lower, turned, unit):
    """Solution of ``m @ out = b``, m a triangle of `a` or, if `turned`, its transpose."""
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
    if not unit:
        zero = zero_on_diagonal(a, n)
        if zero:
            fill(out, n, columns)


def solve_triangular_vector(a, b, out, n, lower, turned, unit):
    """Solve for a single right-hand side; walks `a` in order."""
    for at in range(n):
        out[at] = b[at]
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
            if not unit:
                total /= a[i, i]
            out[i] = total
    if not unit:
        zero = zero_on_diagonal(a, n)
        if zero:
            for at in range(n):
                out[at] = np.nan


def solve_triangular(a, b, out, n, columns, uplo, trans, diag, unit):
    copied(b, out, n, columns)
    done = trsm(82, uplo, trans, diag, columns, n, 1.0, a, max(n, 1), out, max(columns, 1))
    if not unit:
        zero = zero_on_diagonal(a, n)
        if zero:
            fill(out, n, columns)


# -- systems, inverses, determinants ---------------------------------------------------------------


def solve(a, b, out, n, columns, by_loops):
    """Solve by Gaussian elimination; `b` may be `out` itself."""
    work = np.empty((n, n), dtype=DTYPE)
    if by_loops:
        copied(a, work, n, n)
        copied(b, out, n, columns)
        sign = eliminate(work, out, n, columns)
        substitute_back(work, out, n, columns)
        failed = sign == 0
    else:
        turned = np.empty((columns, n), dtype=DTYPE)
        pivots = np.empty((n,), dtype=np.int32)
        transposed(a, work, n)
        info = getrf(n, n, work, max(n, 1), pivots)
        for i in range(n):
            for c in range(columns):
                turned[c, i] = b[i, c]
        if info == 0:
            info = getrs(78, n, columns, work, max(n, 1), pivots, turned, max(n, 1))
        for i in range(n):
            for c in range(columns):
                out[i, c] = turned[c, i]
        failed = info != 0
    if failed:
        fill(out, n, columns)


def inverse(x, out, n, by_loops):
    identity(out, n)
    solve(x, out, out, n, n, by_loops)


def pivoted(x, work, n, by_loops):
    """Upper triangular factor, with its diagonal; the sign of the swaps, 0 if a pivot is 0."""
    if by_loops:
        copied(x, work, n, n)
        sign = eliminate(work, work, n, 0)
    else:
        pivots = np.empty((n,), dtype=np.int32)
        transposed(x, work, n)
        failed = getrf(n, n, work, max(n, 1), pivots)
        sign = 1
        for i in range(n):
            if pivots[i] != i + 1:
                sign = -sign
        if failed != 0:
            sign = 0
    return sign


def det(x, n, by_loops):
    work = np.empty((n, n), dtype=DTYPE)
    sign = pivoted(x, work, n, by_loops)
    product = DTYPE(sign) + DTYPE(0)
    for i in range(n):
        if sign != 0:
            product *= work[i, i]
    return (product,)


def slogdet(x, n, by_loops):
    work = np.empty((n, n), dtype=DTYPE)
    swaps = pivoted(x, work, n, by_loops)
    sign = DTYPE(swaps) + DTYPE(0)
    log = DTYPE(0) + DTYPE(0)
    for i in range(n):
        log += np.log(abs(work[i, i]))
        if work[i, i] < 0:
            sign = -sign
    if swaps == 0:
        log = DTYPE(-np.inf)
    if log != log:
        sign = log + DTYPE(0)
    return sign, log


def lu_factor(x, out, pivots, n):
    """Both triangles in one matrix, and the row that each row was swapped with."""
    work = np.empty((n, n), dtype=DTYPE)
    ones = np.empty((n,), dtype=np.int32)
    transposed(x, work, n)
    failed = getrf(n, n, work, max(n, 1), ones)
    for i in range(n):
        for j in range(n):
            out[i, j] = work[j, i]
        pivots[i] = ones[i] - 1


def permutation(pivots, out, n):
    """Order of rows that swaps one after another lead to."""
    for i in range(n):
        out[i] = i
    for i in range(n):
        kept = out[i]
        out[i] = out[pivots[i]]
        out[pivots[i]] = kept


# -- products --------------------------------------------------------------------------------------


def dot_loops(a, b, out, m, n, inner, a_turned, b_turned):
    """Product of small matrices, either of them read as its transpose."""
    for i in range(m):
        for c in range(n):
            out[i, c] = 0
        for k in range(inner):
            factor = a[k, i] if a_turned else a[i, k]
            for c in range(n):
                out[i, c] += factor * (b[c, k] if b_turned else b[k, c])


def dot(a, b, out, m, n, inner, a_letter, b_letter, a_width, b_width):
    """Multiply by BLAS, which computes the transpose of the result from the transposes in turn."""
    done = gemm(
        b_letter, a_letter, n, m, inner,
        1.0, b, max(b_width, 1), a, max(a_width, 1), 0.0, out, max(n, 1),
    )  # fmt: skip
