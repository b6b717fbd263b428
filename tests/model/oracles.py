"""The transforms of the Stan Reference Manual written as its loops, with NumPy alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def positive(x):
    return np.exp(x), x.sum()


def between(low, high):
    def transform(x):
        s = 1 / (1 + np.exp(-x))
        slopes = np.log(high - low) + np.log(s) + np.log(1 - s)
        return low + (high - low) * s, slopes.sum()

    return transform


def ordered(x):
    y = np.empty(len(x))
    y[0] = x[0]
    for k in range(1, len(x)):
        y[k] = y[k - 1] + np.exp(x[k])
    return y, x[1:].sum()


def positive_ordered(x):
    y = np.empty(len(x))
    y[0] = np.exp(x[0])
    for k in range(1, len(x)):
        y[k] = y[k - 1] + np.exp(x[k])
    return y, x.sum()


def simplex(x):
    """Sum-to-zero by the loop over i = K-1 … 1, then softmax."""
    K = len(x) + 1
    z, s = np.zeros(K), 0.0
    for i in range(K - 1, 0, -1):
        w = x[i - 1] / np.sqrt(i * (i + 1))
        s += w
        z[i - 1] += s
        z[i] -= i * w
    y = np.exp(z - z.max())
    y /= y.sum()
    return y, np.log(y).sum() + 0.5 * np.log(K)


def cholesky_corr(K):
    def transform(x):
        """Canonical partial correlations row by row; the remainder of each row on the diagonal."""
        L, log_jacobian, at = np.zeros((K, K)), 0.0, 0
        L[0, 0] = 1.0
        for i in range(1, K):
            sum_of_squares = 0.0
            for j in range(i):
                z = np.tanh(x[at])
                at += 1
                log_jacobian += np.log(1 - z**2)
                if j > 0:
                    log_jacobian += 0.5 * np.log(1 - sum_of_squares)
                L[i, j] = z * np.sqrt(1 - sum_of_squares)
                sum_of_squares += L[i, j] ** 2
            L[i, i] = np.sqrt(1 - sum_of_squares)
        return L, log_jacobian

    return transform


def cholesky_cov(K):
    def transform(x):
        L = np.zeros((K, K))
        L[np.tril_indices(K)] = x
        logs = np.diag(L).copy()
        L[np.diag_indices(K)] = np.exp(logs)
        return L, logs.sum()

    return transform


def cov_matrix(K):
    def transform(x):
        """Stan: log 2 of each row, and K - k + 2 times the free elements of the diagonal."""
        L, logs = cholesky_cov(K)(x)
        powers = K - np.arange(K)
        return L @ L.T, logs + K * np.log(2) + (powers * np.log(np.diag(L))).sum()

    return transform


def corr_matrix(K):
    def transform(x):
        L, log_jacobian = cholesky_corr(K)(x)
        return L @ L.T, log_jacobian + ((K - 1 - np.arange(K)) * np.log(np.diag(L))).sum()

    return transform


def log_determinant(transform: Callable, x: np.ndarray, step: float = 1e-5) -> float:
    """Logarithm of the absolute determinant of a square Jacobian by central differences."""
    columns = [
        (transform(x + step * unit) - transform(x - step * unit)) / (2 * step)
        for unit in np.eye(len(x))
    ]
    return np.linalg.slogdet(np.stack(columns, axis=1))[1]
