"""Structure of matrices: Kronecker products, blocks, diagonals and low rank."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt

I, J, K = dt.Dim("i", length=3), dt.Dim("j", length=4), dt.Dim("k", length=2)  # noqa: E741
Q = dt.Dim("q", length=30)
RNG = np.random.default_rng(5)


def regular(n: int) -> np.ndarray:
    return RNG.normal(size=(n, n)) + 2 * np.eye(n)


A, B = regular(3), -regular(4)
a = dt.tensor("a", dims=[I, I.rename()])
b = dt.tensor("b", dims=[J, J.rename()])
VALUES = {a: (("i", "i'"), A), b: (("j", "j'"), B)}


def check(x, values, expected, rule, allow=()):
    found = dt.simplify(x, allow=allow)
    assert rule in found.rules, found
    assert found.after < found.before
    result = found.result.eval(values)
    assert result.dims == x.eval(values).dims
    np.testing.assert_allclose(result.values, expected, rtol=1e-9, atol=1e-10)
    return found


KRONECKER = "factors of a Kronecker product"


def test_equations_of_a_kronecker_product():
    whole = dt.kron(a, b)
    product = dt.ProductDim([I, J])
    c = dt.tensor("c", dims=product)
    C = RNG.normal(size=12)
    x = dt.linalg.solve(whole, c)
    check(x, {**VALUES, c: C}, np.linalg.solve(np.kron(A, B), C), KRONECKER)
    form = dt.dot(c, dt.linalg.solve(whole * 2.0, c).relabel(x.dims[0], product))
    found = check(form, {**VALUES, c: C}, C @ np.linalg.solve(2 * np.kron(A, B), C), KRONECKER)
    assert {node.attrs.name for node in dt.walk(found.result) if node.kind == "apply"} == {"solve"}


@pytest.mark.parametrize("scale", [1.0, -0.5])
def test_determinant_of_a_kronecker_product(scale: float):
    sign, log = np.linalg.slogdet(scale * np.kron(A, B))
    found = (
        dt.linalg.slogdet(dt.kron(a, b) * scale)
        if scale != 1.0
        else dt.linalg.slogdet(dt.kron(a, b))
    )
    check(found.logabsdet, VALUES, log, KRONECKER)
    check(found.sign, VALUES, sign, KRONECKER)


def test_blocks():
    blocks = dt.tensor("blocks", dims=[K, I, I.rename()])
    values = np.stack([regular(3), -regular(3)])
    matrix = _merged(dt.eye(K) * blocks)
    row, col = dt.ProductDim([I, K]), dt.RenamedDim(dt.ProductDim([I, K]))
    dense = np.zeros((3, 2, 3, 2))
    for at in range(2):
        dense[:, at, :, at] = values[at]
    dense = dense.reshape(6, 6)
    C = RNG.normal(size=6)
    c = dt.tensor("c", dims=row)
    given = {blocks: (("k", "i", "i'"), values), c: C}
    check(dt.linalg.solve(matrix, c, (row, col)), given, np.linalg.solve(dense, C), KRONECKER)
    sign, log = np.linalg.slogdet(dense)
    del given[c]
    found = dt.linalg.slogdet(matrix, (row, col))
    check(found.logabsdet, given, log, KRONECKER)
    check(found.sign, given, sign, KRONECKER)


def _merged(x: dt.DimTensor) -> dt.DimTensor:
    """Rows i and k, and columns i' and k', as one dim each."""
    product = dt.ProductDim([I, K])
    aside = dt.RenamedDim(product, "aside")
    rows = x.ravel([I, K]).rename_dim(product, aside)
    cols = rows.rename_dim(I.rename(), I).rename_dim(K.rename(), K).ravel([I, K])
    return cols.rename_dim(product, dt.RenamedDim(product)).rename_dim(aside, product)


def test_a_diagonal():
    d, c = dt.tensor("d", dims=Q), dt.tensor("c", dims=Q)
    D, C = RNG.normal(size=30), RNG.normal(size=30)
    matrix = dt.eye(Q) * d
    check(dt.linalg.solve(matrix, c), {d: D, c: C}, C / D, "a diagonal")
    sign, log = np.linalg.slogdet(np.diag(D))
    check(dt.linalg.slogdet(matrix).logabsdet, {d: D}, log, "a diagonal")
    check(dt.linalg.slogdet(matrix).sign, {d: D}, sign, "a diagonal")


LOW_RANK = "a diagonal and low rank"
D, U, C = RNG.uniform(1.0, 2.0, 30), RNG.normal(size=(30, 2)), RNG.normal(size=30)
d, u, c = dt.tensor("d", dims=Q), dt.tensor("u", dims=[Q, K]), dt.tensor("c", dims=Q)
s = dt.scalar("s")
FACTORS = {
    "a diagonal": (dt.eye(Q) * d, np.diag(D), {d: D}),
    "a number": (dt.eye(Q) * s, 0.7 * np.eye(30), {s: 0.7}),
}


@pytest.mark.parametrize("name", FACTORS)
def test_low_rank(name: str):
    diagonal, dense, values = FACTORS[name]
    matrix = diagonal + dt.dot(u, u.rename_dim(Q, Q.rename()), dim=K)
    values = {**values, u: (("q", "k"), U)}
    dense = dense + U @ U.T
    assert LOW_RANK not in dt.simplify(dt.linalg.solve(matrix, c)).rules
    allow = "reassociate"
    check(dt.linalg.solve(matrix, c), {**values, c: C}, np.linalg.solve(dense, C), LOW_RANK, allow)
    sign, log = np.linalg.slogdet(dense)
    check(dt.linalg.slogdet(matrix).logabsdet, values, log, LOW_RANK, allow)
    check(dt.linalg.slogdet(matrix).sign, values, sign, LOW_RANK, allow)


def test_rank_one():
    matrix = dt.eye(Q) * d - 0.1 * c * c.rename_dim(Q, Q.rename())
    dense = np.diag(D) - 0.1 * np.outer(C, C)
    values = {d: D, c: C}
    check(dt.linalg.solve(matrix, c), values, np.linalg.solve(dense, C), LOW_RANK, "reassociate")
    sign, log = np.linalg.slogdet(dense)
    found = dt.linalg.slogdet(matrix)
    check(found.logabsdet, values, log, LOW_RANK, "reassociate")
    check(found.sign, values, sign, LOW_RANK, "reassociate")


def test_digits_of_a_small_diagonal_are_lost_where_low_rank_is_asked_for():
    tiny = 1e-13
    small = dt.eye(Q) * (d * tiny) + dt.dot(u, u.rename_dim(Q, Q.rename()), dim=K)
    target = dt.dot(u, dt.data(np.array([1.0, -2.0]), dims=K), dim=K)  # a sum of columns
    x = dt.dot(target.rename_dim(Q, Q.rename()), dt.linalg.solve(small, target))
    values = {d: D, u: (("q", "k"), U)}
    right = 1.0 + 4.0  # as the diagonal vanishes
    found = dt.simplify(x, allow="reassociate")
    assert LOW_RANK in found.rules
    assert abs(float(found.result.eval(values)) - right) > 1e-6
