"""Templates by LAPACK and BLAS: eigenvalues, singular values, factors; and sums along vectors:
Fourier transforms, convolutions. See `core_routines`.
"""

# mypy: ignore-errors
# ruff: noqa: F821, F841

import math

import numpy as np


def fill_vector(out, n):
    for i in range(n):
        out[i] = np.nan


def eigh(x, values, vectors, n, uplo):
    """Eigenvalues and, in columns, eigenvectors of a symmetric matrix."""
    work = np.empty((n, n), dtype=DTYPE)
    room = np.empty((1 + 6 * n + 2 * n * n,), dtype=DTYPE)
    integers = np.empty((3 + 5 * n,), dtype=np.int32)
    found = np.empty((n,), dtype=DTYPE)
    copied(x, work, n, n)
    finite = is_finite(x, n, n)
    failed = 1
    if finite:
        failed = syevd(
            86, uplo, n, work, max(n, 1), found, room, 1 + 6 * n + 2 * n * n, integers, 3 + 5 * n
        )
    for i in range(n):
        values[i] = found[i]
        for j in range(n):
            vectors[j, i] = work[i, j]
    if failed != 0:
        fill_vector(values, n)
        fill(vectors, n, n)


def svd(x, left, values, right, m, n, k, vectors):
    """Thin decomposition, or the values alone. To LAPACK the matrix is its transpose, and left is
    right.
    """
    work = np.empty((m, n), dtype=DTYPE)
    integers = np.empty((8 * k + 1,), dtype=np.int32)
    found = np.empty((k,), dtype=DTYPE)
    copied(x, work, m, n)
    finite = is_finite(x, m, n)
    failed = 1
    if vectors:
        u = np.empty((m, k), dtype=DTYPE)
        v = np.empty((k, n), dtype=DTYPE)
        room = np.empty((4 * k * k + 7 * k + 64 * (m + n) + 1,), dtype=DTYPE)
        size = 4 * k * k + 7 * k + 64 * (m + n) + 1
        if finite:
            failed = gesdd(
                83, n, m, work, max(n, 1), found, v, max(n, 1), u, max(k, 1), room, size, integers
            )
        copied(u, left, m, k)
        copied(v, right, k, n)
        if failed != 0:
            fill(left, m, k)
            fill(right, k, n)
    else:
        none = np.empty((1,), dtype=DTYPE)
        room = np.empty((10 * k + 64 * (m + n) + 1,), dtype=DTYPE)
        size = 10 * k + 64 * (m + n) + 1
        if finite:
            failed = gesdd(78, n, m, work, max(n, 1), found, none, 1, none, 1, room, size, integers)
    for i in range(k):
        values[i] = found[i]
    if failed != 0:
        fill_vector(values, k)


def qr(x, orthogonal, upper, m, n):
    """Factors of a matrix that has no more columns than rows."""
    turned = np.empty((n, m), dtype=DTYPE)
    scales = np.empty((n,), dtype=DTYPE)
    room = np.empty((64 * n + 1,), dtype=DTYPE)
    for i in range(m):
        for j in range(n):
            turned[j, i] = x[i, j]
    done = geqrf(m, n, turned, max(m, 1), scales, room, 64 * n + 1)
    for i in range(n):
        for j in range(n):
            upper[i, j] = 0
            if i <= j:
                upper[i, j] = turned[j, i]
    done = orgqr(m, n, n, turned, max(m, 1), scales, room, 64 * n + 1)
    for i in range(m):
        for j in range(n):
            orthogonal[i, j] = turned[j, i]


# -- cotangents of Cholesky factors ----------------------------------------------------------------


def cholesky_gradient_rows(factor, out, row, first, last):
    """Take rows and columns of a range, in place, by Murray's algorithm; `row` is memory."""
    for step in range(last - first):
        j = last - 1 - step
        total = out[j, j] + DTYPE(0)
        pivot = factor[j, j] + DTYPE(0)
        inner = DTYPE(0)
        for i in range(j + 1, last):
            inner += factor[i, j] * out[i, j]
        total = (total - inner / pivot) / pivot
        for k in range(first, j):
            row[k] = out[j, k] - total * factor[j, k]
        for i in range(j + 1, last):
            each = out[i, j] / pivot
            out[i, j] = each
            for k in range(first, j):
                row[k] -= each * factor[i, k]
                out[i, k] -= each * factor[j, k]
        for k in range(first, j):
            out[j, k] = row[k]
        out[j, j] = total / 2


def lower_triangle(x, out, n):
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = x[i, j]
        for j in range(i + 1, n):
            out[i, j] = 0


def cholesky_gradient_loops(factor, cotangent, out, n):
    """Compute the lower triangle of a matrix cotangent, given that of its Cholesky factor."""
    row = np.empty((n,), dtype=DTYPE)
    lower_triangle(cotangent, out, n)
    cholesky_gradient_rows(factor, out, row, 0, n)


def cholesky_gradient(factor, cotangent, out, n):
    """Compute the same by Murray's blocked algorithm, with 32 columns per block.

    The part below a block on the diagonal is `below` in the factor and `slopes` in the result.
    """
    row = np.empty((n,), dtype=DTYPE)
    corner = np.empty((32, 32), dtype=DTYPE)
    below = np.empty((n, 32), dtype=DTYPE)
    slopes = np.empty((n, 32), dtype=DTYPE)
    lower_triangle(cotangent, out, n)
    size = max(n, 1) if n <= 48 else 32
    for block in range((n + size - 1) // size):
        last = n - size * block
        first = max(last - size, 0)
        width = last - first
        rest = n - last
        if rest > 0:
            for i in range(width):
                for j in range(width):
                    corner[i, j] = factor[first + i, first + j]
            for i in range(rest):
                for j in range(width):
                    below[i, j] = factor[last + i, first + j]
                    slopes[i, j] = out[last + i, first + j]
            done = trsm(76, 85, 78, 78, width, rest, 1.0, corner, 32, slopes, 32)
            for i in range(rest):
                for j in range(width):
                    out[last + i, first + j] = slopes[i, j]
            done = gemm(78, 84, width, width, rest, 1.0, below, 32, slopes, 32, 0.0, corner, 32)
            for i in range(width):
                for j in range(i + 1):
                    out[first + i, first + j] -= corner[i, j]
        cholesky_gradient_rows(factor, out, row, first, last)
        if first > 0:
            if rest > 0:
                done = gemm(
                    78, 78, first, rest, width, -1.0, factor[first], n, slopes, 32,
                    1.0, out[last], n,
                )  # fmt: skip
                done = gemm(
                    78, 84, first, width, rest, -1.0, factor[last], n, slopes, 32,
                    1.0, out[first], n,
                )  # fmt: skip
            for i in range(width):
                for j in range(i + 1):
                    corner[i, j] = out[first + i, first + j]
                    corner[j, i] = out[first + i, first + j]
                corner[i, i] = 2 * out[first + i, first + i]
            done = gemm(
                78, 78, first, width, width, -1.0, factor[first], n, corner, 32,
                1.0, out[first], n,
            )  # fmt: skip


def by_halves(work, turned, row, size):
    """Transform a power of 2 of pairs, stored in two rows, in place."""
    at = 0
    for i in range(size - 1):
        if i < at:
            a = work[row, i]
            work[row, i] = work[row, at]
            work[row, at] = a
            b = work[row + 1, i]
            work[row + 1, i] = work[row + 1, at]
            work[row + 1, at] = b
        bit = size // 2
        while bit <= at and bit > 0:
            at -= bit
            bit = bit // 2
        at += bit
    half = 1
    while half < size:
        step = size // (2 * half)
        for block in range(step):
            low = 2 * half * block
            for i in range(half):
                c = turned[0, i * step]
                s = turned[1, i * step]
                x = work[row, low + half + i]
                y = work[row + 1, low + half + i]
                a = x * c - y * s
                b = x * s + y * c
                x = work[row, low + i]
                y = work[row + 1, low + i]
                work[row, low + i] = x + a
                work[row + 1, low + i] = y + b
                work[row, low + half + i] = x - a
                work[row + 1, low + half + i] = y - b
        half *= 2


def dft(re, im, real, imaginary, n, given, wanted, is_real, turned_back):
    """Compute the discrete Fourier transform, by halves.

    Of numbers that are given for the first positions, real ones or pairs, whose second part counts
    negative where the transform is turned back; real parts alone are wanted then.

    Where the length is no power of two, it is a convolution with a chirp, whose transforms have
    such a length (L. Bluestein, "A linear filtering approach to the computation of discrete Fourier
    transform", 1970).
    """
    # memory is asked for before anything is computed: a power of two is below 4 n
    work = np.empty((4, 4 * n + 1), dtype=DTYPE)
    turned = np.empty((2, 2 * n + 1), dtype=DTYPE)
    chirp = np.empty((2, n), dtype=DTYPE)
    size = 1
    while size < n:
        size *= 2
    turns = 1
    if size != n:
        turns = 3
        size = 1
        while size < 2 * n - 1:
            size *= 2
    for i in range(size // 2):
        angle = -2.0 * math.pi * i / size
        turned[0, i] = math.cos(angle)
        turned[1, i] = math.sin(angle)
    for i in range(size):
        for row in range(4):
            work[row, i] = 0.0
    for i in range(n):
        if i < given:
            work[0, i] = re[i]
            if not is_real:
                work[1, i] = -im[i] if turned_back else im[i]
    if turns == 3:
        for i in range(n):
            angle = math.pi * (i * i % (2 * n)) / n
            c = math.cos(angle)
            s = math.sin(angle)
            chirp[0, i] = c
            chirp[1, i] = s
            a = work[0, i]
            b = work[1, i]
            work[0, i] = a * c + b * s
            work[1, i] = b * c - a * s
            work[2, i] = c
            work[3, i] = s
            if i > 0:
                work[2, size - i] = c
                work[3, size - i] = s
    for turn in range(turns):
        row = 2 if turn == 1 else 0
        if turn == 2:
            for i in range(size):
                a = work[0, i] * work[2, i] - work[1, i] * work[3, i]
                b = work[0, i] * work[3, i] + work[1, i] * work[2, i]
                work[0, i] = a
                work[1, i] = -b
        by_halves(work, turned, row, size)
    for i in range(wanted):
        a = 0.0
        b = 0.0
        if i < n:
            a = work[0, i]
            b = work[1, i]
            if turns == 3:
                x = a / size
                y = -b / size
                a = x * chirp[0, i] + y * chirp[1, i]
                b = y * chirp[0, i] - x * chirp[1, i]
        real[i] = a
        if not turned_back:
            imaginary[i] = b


def convolve_full(x, weights, out, n, k, m):
    """All positions of a convolution."""
    for i in range(m):
        out[i] = 0.0
    for j in range(k):
        w = weights[j]
        for i in range(n):
            out[i + j] += w * x[i]


def convolve_inside(x, weights, out, n, k, m):
    """Convolve at the positions where the weights lie inside of the other vector."""
    for i in range(m):
        out[i] = 0.0
    for j in range(k):
        w = weights[j]
        for i in range(m):
            out[i] += w * x[i + k - 1 - j]
