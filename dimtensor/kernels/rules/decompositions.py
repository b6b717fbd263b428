"""Templates by LAPACK: eigenvalues, singular values, orthogonal factors. See `core_routines`."""

# mypy: ignore-errors
# ruff: noqa: F821, F841

import math

import numpy as np


def all_finite(x, m, n):
    finite = True
    for i in range(m):
        for j in range(n):
            if not math.isfinite(x[i, j]):
                finite = False
    return finite


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
    finite = is_finite(x, n)
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


def svd(x, left, values, right, m, n, k):
    """Thin decomposition. To LAPACK the matrix is its transpose, and left is right."""
    work = np.empty((m, n), dtype=DTYPE)
    u = np.empty((m, k), dtype=DTYPE)
    v = np.empty((k, n), dtype=DTYPE)
    room = np.empty((4 * k * k + 7 * k + 64 * (m + n) + 1,), dtype=DTYPE)
    integers = np.empty((8 * k + 1,), dtype=np.int32)
    found = np.empty((k,), dtype=DTYPE)
    copied(x, work, m, n)
    finite = all_finite(x, m, n)
    failed = 1
    if finite:
        failed = gesdd(
            83, n, m, work, max(n, 1), found, v, max(n, 1), u, max(k, 1), room,
            4 * k * k + 7 * k + 64 * (m + n) + 1, integers,
        )  # fmt: skip
    copied(u, left, m, k)
    copied(v, right, k, n)
    for i in range(k):
        values[i] = found[i]
    if failed != 0:
        fill(left, m, k)
        fill_vector(values, k)
        fill(right, k, n)


def singular_values(x, values, m, n, k):
    work = np.empty((m, n), dtype=DTYPE)
    none = np.empty((1,), dtype=DTYPE)
    room = np.empty((10 * k + 64 * (m + n) + 1,), dtype=DTYPE)
    integers = np.empty((8 * k + 1,), dtype=np.int32)
    found = np.empty((k,), dtype=DTYPE)
    copied(x, work, m, n)
    finite = all_finite(x, m, n)
    failed = 1
    if finite:
        failed = gesdd(
            78, n, m, work, max(n, 1), found, none, 1, none, 1, room,
            10 * k + 64 * (m + n) + 1, integers,
        )  # fmt: skip
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
