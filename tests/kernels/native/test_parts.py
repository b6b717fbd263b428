"""Long runs of statements in functions of their own: here all runs, of a few statements each."""

import numpy as np
import pytest
from scipy import special

import dimtensor as dt
from dimtensor.kernels.native import code, parts, vector_hints
from dimtensor.kernels.passes import lines
from dimtensor.tensor.autodiff import grad_by_pieces

pytestmark = pytest.mark.compiled

X, C = dt.scalar("x"), dt.scalar("c")
ROW = dt.Dim("row")
V, W = dt.tensor("v", dims=ROW), dt.tensor("w", dims=ROW)
I = dt.tensor("i", dims=ROW, dtype="int64")  # noqa: E741


@pytest.fixture(params=[1, 3])
def texts(monkeypatch, request):
    """What LLVM is given."""
    monkeypatch.setattr(parts, "SPLIT_STATEMENTS", 1)
    monkeypatch.setattr(parts, "PART_STATEMENTS", request.param)
    monkeypatch.setattr(lines, "VECTORIZED_OPERATIONS", 0)
    monkeypatch.setenv("DIMTENSOR_CACHE", "0")
    found = []
    translated = code.translated

    def noted(*given):
        found.append(translated(*given))
        return found[-1]

    monkeypatch.setattr(code, "translated", noted)
    return found


def count(texts):
    return sum(each.text.count("call void @dimtensor.part") for each in texts)


def test_numbers(texts):
    """Constants, products that one part computes and another adds, conditions, and functions."""
    s, terms = X, []
    for k in range(6):
        terms.append(dt.where(s > 0.2 * k, s * C, dt.special.gammaln(C + k)))
        s = dt.tanh(s * C + 0.5) + X * X
    total = sum(terms) + s - s * C
    f = dt.function([X, C], [total, s > 1.0, *dt.grad(total, [X, C])], backend="numba")

    def by_hand(x, c):
        s, terms = x, 0.0
        for k in range(6):
            terms = terms + np.where(s.real > 0.2 * k, s * c, special.loggamma(c + k))
            s = np.tanh(s * c + 0.5) + x * x
        return terms + s - s * c, s

    for x, c in ((0.3, 1.4), (-0.7, 2.1)):
        found, above, by_x, by_c = f(x, c)
        value, last = by_hand(complex(x), complex(c))
        assert found.item() == pytest.approx(value.real, rel=1e-14)
        assert above.item() == (last.real > 1.0)
        assert by_x.item() == pytest.approx(by_hand(x + 1e-20j, complex(c))[0].imag / 1e-20, 1e-12)
        assert by_c.item() == pytest.approx(by_hand(complex(x), c + 1e-20j)[0].imag / 1e-20, 1e-12)
    assert count(texts) > 10


def test_products_that_cancel_over_parts_do(texts):
    """A product that one part leaves to the next is not rounded together with the difference."""
    p = X * C
    q = dt.exp(p) + p
    f = dt.function([X, C], [p - C * X, q, dt.sin(q) * p - p * dt.sin(q)], backend="numba")
    for x, c in ((0.1, 0.3), (1.7, 1 / 3)):
        zero, _, other = f(x, c)
        assert zero.item() == other.item() == 0.0
    assert count(texts)


def test_steps_of_a_loop(texts):
    step = dt.Dim("step", length=9)
    e = dt.tensor("e", dims=step)

    def update(s, each):
        return dt.tanh(s * C + each) - s * s * 0.1

    last = dt.reduce(update, X, e, dim=step)
    f = dt.function([X, C, e], [last, dt.grad(last, C)], backend="numba")
    values = np.linspace(-1.0, 1.0, 9)

    def by_hand(c):
        s = 0.3
        for each in values:
            s = np.tanh(s * c + each) - s * s * 0.1
        return s

    found, slope = f(0.3, 0.8, values)
    assert found.item() == pytest.approx(by_hand(0.8), rel=1e-14)
    assert slope.item() == pytest.approx(by_hand(0.8 + 1e-20j).imag / 1e-20, rel=1e-12)


@pytest.mark.parametrize("stays_whole", [True, False])
def test_vectors(texts, monkeypatch, stays_whole):
    """A loop that is vectorized stays whole, one of too many statements is cut into parts."""
    if not stays_whole:
        monkeypatch.setattr(vector_hints, "VECTORIZED_STATEMENTS", 3)
    s, others = V, []
    for k in range(4):
        s = dt.tanh(s * C) + V * W
        others.append(dt.where(s > 0.1 * k, dt.exp(s), dt.special.gammaln(s * s + 1.0)) * I)
    late = dt.sigmoid(s) * dt.log1p(W * W) + sum(others)
    total = late.sum()
    f = dt.function([V, W, I, C], [total, late, s > 0, dt.grad(total, V)], backend="numba")

    def by_hand(v, w, i, c):
        s, others = v, 0.0
        for k in range(4):
            s = np.tanh(s * c) + v * w
            large = s.real > 0.1 * k
            others = others + np.where(large, np.exp(s), special.loggamma(s * s + 1.0)) * i
        return others + np.log1p(w * w) / (1 + np.exp(-s)), s

    for n in (0, 1, 16, 37, 2100):
        rng = np.random.default_rng(n)
        v, w, i = rng.normal(size=n), rng.normal(size=n), rng.integers(-3, 4, size=n)
        whole, found, positive, slope = f(v, w, i, 0.7)
        expected, s = by_hand(v + 0j, w, i, 0.7)
        np.testing.assert_allclose(found, expected.real, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(whole.item(), expected.real.sum(), rtol=1e-11, atol=1e-11)
        np.testing.assert_array_equal(positive.values, s.real > 0)
        by_step = by_hand(v + 1e-20j, w, i, 0.7)[0].imag / 1e-20
        np.testing.assert_allclose(slope, by_step, rtol=1e-10, atol=1e-11)
    assert count(texts) > 0
    assert (count(texts) < 10) == stays_whole


def test_short_runs_stay_whole(monkeypatch):
    monkeypatch.setattr(parts, "PART_STATEMENTS", 2)
    monkeypatch.setattr(parts, "SPLIT_STATEMENTS", 5)
    items = [*range(4), -1, *range(5), -1, -1, *range(7)]
    found = [(is_part, list(some)) for is_part, some in parts.runs(items, lambda n: n >= 0)]
    assert [each for is_part, each in found if is_part] == [
        [0, 1], [2, 3, 4], [0, 1], [2, 3], [4, 5, 6]
    ]  # fmt: skip
    assert [n for _, some in found for n in some] == items


def test_what_moves_stands_before_or_after_the_pieces(monkeypatch):
    monkeypatch.setattr(parts, "PART_STATEMENTS", 2)
    monkeypatch.setattr(parts, "SPLIT_STATEMENTS", 4)
    moves = {"r": -1, "w": 1}
    items = ["r0", "1", "r1", "2", "w2", "3", "r3", "w3", "4", "stop", "r5", "5"]
    found = parts.runs(items, str.isdigit, lambda item: moves.get(item[0], 0))
    assert [(is_part, list(some)) for is_part, some in found if some] == [
        (False, ["r0", "r1"]), (True, ["1", "2"]),
        (False, ["r3"]), (True, ["3", "4"]), (False, ["w2", "w3"]),
        (False, ["stop", "r5", "5"]),
    ]  # fmt: skip


def test_elements_are_read_and_written_around_parts(texts, rng):
    """The gradient by a vector of which each element is used on its own."""
    whole = dt.tensor("x", dims=dt.Dim("k", length=8))
    elements = [whole.isel(k=at) for at in range(8)]
    y = elements[0]
    for at in range(1, 8):
        y = dt.sin(y * elements[at]) + elements[at - 1]
    f = dt.function([whole], [y, grad_by_pieces(y, whole, elements)])

    def by_hand(x):
        y = x[0]
        for at in range(1, 8):
            y = np.sin(y * x[at]) + x[at - 1]
        return y

    x = rng.normal(size=8)
    value, gradient = f(x)
    assert value.item() == pytest.approx(by_hand(x), rel=1e-14)
    by_step = [by_hand(x + 1e-20j * unit).imag / 1e-20 for unit in np.eye(8)]
    np.testing.assert_allclose(gradient, by_step, rtol=1e-12)
    assert count(texts) > 3
    (text,) = [each.text for each in texts]
    called, stored = text.rindex("call void @dimtensor.part"), text.rindex("store double")
    assert called < stored
