"""Sums of logarithms as logarithms of products: as exact as one logarithm after the other."""

import itertools
import math
import re
from decimal import Decimal, localcontext

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from dimtensor.kernels.compiler import compile_kernel
from dimtensor.kernels.ir.make import call, integer, number, op
from dimtensor.kernels.ir.nodes import Accumulate, Assign, For, Store, Var
from dimtensor.kernels.native.functions.library import has_vectors
from dimtensor.kernels.passes.logarithm_sums import in_products
from dimtensor.ops.special import log1p_unit
from tests.kernels.interpret import interpreted

pytestmark = pytest.mark.skipif(
    not has_vectors("log"), reason="without fused multiply-add there are no such products"
)
rng = np.random.default_rng(0)
x, y = pt.dvector("x"), pt.dvector("y")
codes = pt.lvector("codes")
N = 2500


def exact(numbers):
    """The sum of logarithms, and that of their sizes, in decimal numbers of 50 digits."""
    with localcontext() as context:
        context.prec = 50
        logs = [Decimal(float(v)).ln() for v in numbers]
        return float(sum(logs)), float(sum(map(abs, logs)))


NUMBERS = {
    "near 1": 1 + 1e-12 * rng.normal(size=N),
    "just above 1": 1 + 2.0**-45 * rng.random(N),
    "below 1": rng.random(N),
    "of many sizes": np.exp(15 * rng.normal(size=N)),
    "too large for products": np.exp(150 * rng.normal(size=N)),
    "one block of two is": np.where(np.arange(N) == 1500, 1e-300, rng.random(N) + 0.5),
}


def compiled(total, *calls):
    """The machine code of a sum, whose source calls these and no other logarithms."""
    kernel = compile_kernel([x], [total])
    assert kernel.native is not None
    assert [word for word in LOGARITHMS.findall(kernel.source) if word] == list(calls)
    function = kernel.native.bind()
    return lambda values: float(function(values)[0])


LOGARITHMS = re.compile(r"np\.log1p|np\.log|softplus|log1p_unit")


@pytest.fixture(scope="module")
def native():
    return compiled(pt.log(x).sum(), "np.log", "np.log")  # of products, and one by one


@pytest.fixture(scope="module")
def log1p():
    return compiled(pt.log1p(x).sum(), "np.log", "np.log1p")


@pytest.fixture(scope="module")
def softplus():
    return compiled(pt.softplus(x).sum(), "np.log")


@pytest.mark.compiled
@pytest.mark.parametrize("name", NUMBERS)
def test_no_digits_are_lost(native, name):
    numbers = NUMBERS[name]
    total, size = exact(numbers)
    assert abs(native(numbers) - total) <= 2e-16 * size


@pytest.mark.compiled
@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_all_of_whose_products_leave_the_range(native, sign):
    """Each is a float, and so are products of two; those of eight are infinite or zero."""
    numbers = np.exp(sign * np.random.default_rng(1).uniform(95, 135, N))
    total, _ = exact(numbers)
    assert abs(native(numbers) - total) <= np.spacing(abs(total))


@pytest.mark.compiled
@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 1023, 1024, 1025, 2048])
def test_lengths_around_those_of_products_and_blocks(native, length):
    numbers = rng.random(length) + 0.5
    np.testing.assert_allclose(native(numbers), math.fsum(np.log(numbers)), rtol=1e-14, atol=1e-14)


def of_one_and(numbers):
    """The sum of log(1 + x) of decimal numbers, and that of their sizes."""
    logs = [(1 + each).ln() for each in numbers]
    return float(sum(logs)), float(sum(map(abs, logs)))


ABOVE_ONE = {
    "near 0": 1e-12 * rng.normal(size=200),
    "just above 0": 2.0**-45 * rng.random(200),
    "very small": np.exp(-300 * rng.random(200)),
    "near -1": np.exp(-20 * rng.random(200)) - 1,
    "on both sides of 1": np.exp(3 * rng.normal(size=200)),
    "of many sizes": np.exp(15 * rng.normal(size=200)),
    "too large for products": np.exp(150 * rng.normal(size=200)),
}


@pytest.mark.compiled
@pytest.mark.parametrize("name", ABOVE_ONE)
def test_no_digits_of_logarithms_of_one_and_a_number_are_lost(log1p, name):
    numbers = ABOVE_ONE[name]
    with localcontext() as context:
        context.prec = 170
        total, size = of_one_and([Decimal(float(each)) for each in numbers])
    assert abs(log1p(numbers) - total) <= 3e-16 * size


LOGITS = {
    "usual": 3 * rng.normal(size=200),
    "near 0": 1e-9 * rng.normal(size=200),
    "far below": -700 * rng.random(200),
    "far above": 700 * rng.random(200),
    "one side": np.full(200, -40.0),
}


@pytest.mark.compiled
@pytest.mark.parametrize("name", LOGITS)
def test_no_digits_of_softplus_are_lost(softplus, name):
    numbers = LOGITS[name]
    with localcontext() as context:
        context.prec = 330
        total, size = of_one_and([Decimal(float(each)).exp() for each in numbers])
    assert abs(softplus(numbers) - total) <= 4e-16 * size


@pytest.mark.compiled
@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 15, 16, 17, 1023, 1024, 1025, 2049])
def test_lengths_of_other_logarithms(log1p, softplus, length):
    numbers = rng.normal(size=length)
    wanted = math.fsum(np.logaddexp(0, numbers))
    np.testing.assert_allclose(softplus(numbers), wanted, rtol=1e-14)
    squares = numbers**2
    np.testing.assert_allclose(log1p(squares), math.fsum(np.log1p(squares)), rtol=1e-14)


@pytest.mark.compiled
@pytest.mark.parametrize("first", [-1.0, -1.5, 0.0, -0.0, 5e-324, 1e308, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("second", [0.5, -1.0, np.inf, -np.inf, np.nan, 1e308, -800.0, 800.0])
def test_every_number_of_other_logarithms(log1p, softplus, first, second):
    numbers = np.full(100, 2.0)
    numbers[[3, 60]] = first, second
    with np.errstate(all="ignore"):
        wanted = np.logaddexp(0, numbers).sum(), np.log1p(numbers).sum()
    np.testing.assert_allclose((softplus(numbers), log1p(numbers)), wanted, rtol=1e-14)


SPECIAL = [0.0, -0.0, 5e-324, 1e-310, 1e308, np.inf, -np.inf, np.nan, -1.0, -5e-324, 2.0**-100]


@pytest.mark.compiled
@pytest.mark.parametrize("first", SPECIAL)
@pytest.mark.parametrize("second", [0.0, np.inf, np.nan, -1.0, 1e308, 5e-324, 0.5])
def test_every_number(native, first, second):
    numbers = np.full(100, 2.0)
    numbers[[3, 60]] = first, second
    with np.errstate(all="ignore"):
        wanted = np.log(numbers).sum()
    np.testing.assert_allclose(native(numbers), wanted, rtol=1e-14, atol=2e-12)


shifted = y + pt.log(x * x)
safe = pt.switch(pt.eq(x, 0), -np.inf, pt.log(pt.switch(pt.eq(x, 0), 1.0, x)))
masked = pt.switch(y > 0, -np.inf, pt.log(pt.switch(y > 0, 1.0, x)))
OPENED = "1024,), dtype=np.float64)"  # where numbers are kept
PROGRAMS = {
    "a difference": [(y - pt.softplus(x * x)).sum(), (pt.softplus(y * y + 1.5) - x).sum()],
    "a negative": [(-pt.log(x * x)).sum() + (y * -y).sum()],
    "masked": [pt.switch(y > 0, 1.5, pt.log(pt.switch(y > 0, 1.0, x))).sum()],
    "minus infinity where masked": [masked.sum()],
    "one or the other": [pt.switch(y > 0, pt.log(x + 1.5), y - pt.log(x + y * y)).sum()],
    "two kinds": [pt.switch(y > 0, pt.log(x + 1.5), pt.log1p(y * y)).sum()],
    "of 1 and a number up to 1": [(x + log1p_unit(pt.exp(-(y**2)))).sum()],
    "two of one sum": [(pt.log(x + 1.5) + y + pt.log1p(x + y * y)).sum()],
    "many": [(x + sum(pt.softplus(y * k) for k in range(1, 6)) + pt.log1p(y * y)).sum()],
    "the same twice": [(y - pt.softplus(y) - pt.softplus(-y)).sum(), x.sum()],
    "nested": [pt.log(y * y + pt.log(x + 2.0)).sum()],
    "of 1 and a number": [(x + pt.log1p(y * y / 3)).sum()],
    "logits": [
        logits := (codes * y * x - pt.softplus(y * x)).sum(),
        *pytensor.grad(logits, [x, y]),
    ],
    "answers": [
        answers := pt.switch(codes > 2, -pt.softplus(-y * x), -pt.softplus(y * x)).sum(),
        *pytensor.grad(answers, [x, y]),
    ],
    "answers by group": [
        (x - pt.softplus(y * x)).sum(),
        pt.inc_subtensor(pt.zeros(5)[codes], pt.sigmoid(y * x)),
    ],
    "a logarithm and more": [shifted.sum()],
    "of zero": [(y + safe).sum(), (1 / pt.switch(pt.eq(x, 0), 1.0, x)).sum()],
    "two sums": [pt.log(x).sum(), pt.log(y * y).sum()],
    "with a gradient": [
        total := (y * y + pt.log(x + y * y)).sum(),
        *pytensor.grad(total, [x, y]),
    ],
    "in strips": [
        (pt.log(x * y * y) + y).sum(),
        pt.inc_subtensor(pt.zeros(5)[codes], x * y * y),
    ],
    "a matrix": [pt.log(pt.exp(x)[:, None] + y[:300][None, :] ** 2).sum(), (x * x).sum()],
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("zero", [False, True])
def test_programs(name, zero):
    outputs = PROGRAMS[name]
    given = {x: rng.random(700) + 0.1, y: rng.normal(size=700), codes: rng.integers(5, size=700)}
    given[x][5] = 0.0 if zero else 1.0
    found = set(pytensor.graph.traversal.graph_inputs(outputs))
    inputs = [v for v in given if v in found]
    kernel = interpreted(inputs, outputs)
    arrays = [given[v] for v in inputs]
    by_pytensor = pytensor.function(inputs, outputs, mode="FAST_COMPILE")
    with np.errstate(all="ignore"):
        for one, other in zip(kernel(*arrays), by_pytensor(*arrays), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
    assert OPENED in kernel.source


log, single = pt.log(x), x.astype("float32")
LEFT = {
    "both signs": [pt.switch(y > 0, pt.log(x + 1.5), -pt.log(x + y * y)).sum()],
    "single precision": [pt.log(single).sum(), pt.softplus(single).sum(dtype="float32")],
    "of integers": [pt.log(codes + 1).sum(), pt.softplus(codes).sum()],
    "times itself": [(log + y * log).sum()],
    "stored": [pt.log(x).sum(), pt.log(x)],
    "no sum": [pt.log(x).max()],
    "short": [pt.log(pt.dvector("x", shape=(63,))).sum()],
    "two sums": [pt.log(x).sum(), (y * pt.log(x)).sum()],
    "an extreme": [pt.log(x).sum(), pt.log(x).max()],
    "by group": [pt.log(x).sum(), pt.inc_subtensor(pt.zeros(5)[codes], pt.log(x))],
    "times something": [(y * pt.softplus(x)).sum()],
    "softplus itself": [pt.softplus(x).sum(), pt.softplus(x) * y],
}


@pytest.mark.parametrize("outer", [True, False])
def test_a_logarithm_of_a_logarithm(outer):
    """What is inside stays; where it comes first, nothing is looked for behind it."""
    inner = pt.log(x * x + 1.5)
    around = pt.log(inner + 2.0)
    kernel = interpreted([x], [(around + inner if outer else inner + around).sum()])
    numbers = rng.normal(size=200)
    logs = np.log(numbers**2 + 1.5)
    np.testing.assert_allclose(kernel(numbers)[0], (logs + np.log(logs + 2)).sum(), rtol=1e-14)
    assert kernel.source.count(OPENED) == 2 * outer  # and what is beside it


def test_all_logarithms_of_a_sum_are_taken_out():
    kernel = interpreted([x, y], PROGRAMS["two of one sum"])
    assert kernel.source.count(OPENED) == 3  # of each kind, and what is beside them


def test_several_rows_at_a_time_gain_more():
    """Sums of columns beside it are taken of several rows at once."""
    table, slopes = pt.dmatrix("table"), pt.dvector("slopes")
    logits = table * slopes
    total = pt.softplus(logits).sum()
    beside = interpreted([table, slopes], [total, (pt.sigmoid(logits) * table).sum(axis=0)])
    assert OPENED not in beside.source
    assert OPENED in interpreted([table, slopes], [total]).source


T, V, PART = (Var(name, "float64") for name in ("t", "v", "part"))
INSIDE = call("log", op("+", T, number(2.0, "float64")))


@pytest.mark.parametrize(
    ("term", "kept", "rest"),
    [
        (op("+", T, V), [op("abs", V), V], None),
        (op("+", T, op("*", V, T)), [], op("+", T, op("*", V, T))),
        (op("+", INSIDE, T), [INSIDE.operands[0], T], None),
    ],
    ids=["plain", "read by the rest", "read by another"],
)
def test_temporaries_that_are_read_are_not_taken_out(term, kept, rest):
    """`t` is the logarithm of the size of `v`."""
    names = itertools.count()
    size, start, at = call("log", op("abs", V)), Var("j", "int64"), Var("i", "int64")
    body = (Assign(T, size), Accumulate("+", PART, term))
    rounds = For(at, op("+", start, integer(1024)), body, start, is_parallel=True)
    zero = Assign(PART, number(0.0, "float64"))
    blocks = For(start, Var("n", "int64"), (zero, rounds), step=1024)
    *_, new = in_products([blocks], (), lambda letter: f"{letter}{next(names)}")
    inside = next(each for each in new.body if isinstance(each, For)).body
    assert [each.value for each in inside if isinstance(each, Store)] == kept
    added = [each.value for each in inside if isinstance(each, Accumulate)]
    assert added == ([] if rest is None else [rest])
    is_gone = bool(kept) and kept[0] == op("abs", V)
    assert (body[0] in inside) != is_gone


# a term, the same in NumPy, and a y for which little is left of it
DIFFERENCES = {
    "of logarithms": (pt.log(x) - pt.log(y), lambda x, y: np.log(x) - np.log(y), np.positive),
    "of log1p": (pt.log1p(x) - pt.log1p(y), lambda x, y: np.log1p(x) - np.log1p(y), np.positive),
    "from a number": (y - pt.log(x), lambda x, y: y - np.log(x), np.log),
    "of softplus": (
        pt.softplus(x) - pt.softplus(y),
        lambda x, y: np.logaddexp(0, x) - np.logaddexp(0, y),
        np.positive,
    ),
    "from softplus": (
        y - pt.softplus(x),
        lambda x, y: y - np.logaddexp(0, x),
        lambda x: np.logaddexp(0, x),
    ),
    "sum": (y + pt.log(x), lambda x, y: y + np.log(x), lambda x: -np.log(x)),
    "sum with log1p": (y + pt.log1p(x), lambda x, y: y + np.log1p(x), lambda x: -np.log1p(x)),
    "two logarithms": (
        pt.log(x) + pt.log(y),
        lambda x, y: np.log(x) + np.log(y),
        np.reciprocal,
    ),
    "two kinds": (
        pt.log1p(x) + y + pt.log(x),
        lambda x, y: np.log1p(x) + np.log(x) + y,
        lambda x: -np.log1p(x) - np.log(x),
    ),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_digits_of_differences(name):
    """Added up before they are subtracted, logarithms would lose ten times as many."""
    term, by_numpy, other = DIFFERENCES[name]
    numbers = rng.random(1000) + 3.0
    near = other(numbers) * (1 + 1e-8 * rng.normal(size=1000))
    found = interpreted([x, y], [term.sum()])(numbers, near)[0]
    np.testing.assert_allclose(found, math.fsum(by_numpy(numbers, near)), rtol=0, atol=5e-14)


@pytest.mark.parametrize("length", [9, 100, 1500])
@pytest.mark.parametrize("number", [1e-200, 1e300, 0.0, np.inf, np.nan])
@pytest.mark.parametrize("name", ["sum", "two logarithms", "two kinds", "of softplus"])
def test_numbers_that_have_no_product_beside_other_terms(name, number, length):
    """In their block all logarithms are taken one by one, and what is beside them is added."""
    term, by_numpy, other = DIFFERENCES[name]
    numbers = rng.random(length) + 3.0
    numbers[length // 2] = number
    with np.errstate(all="ignore"):
        near = other(np.clip(numbers, 1e-300, 1e300)) * (1 + 1e-8 * rng.normal(size=length))
        terms = by_numpy(numbers, near)
        found = interpreted([x, y], [term.sum()])(numbers, near)[0]
    expected = math.fsum(terms) if np.isfinite(terms).all() else terms.sum()
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left_as_it_is(name):
    """What else reads a logarithm needs it."""
    outputs = LEFT[name]
    inputs = list(pytensor.graph.traversal.explicit_graph_inputs(outputs))
    kernel = interpreted(inputs, outputs)
    assert OPENED not in kernel.source
    given = {"x": rng.random(63) + 0.1, "y": -np.ones(63), "codes": rng.integers(5, size=63)}
    arrays = [given[v.name] for v in inputs]
    by_pytensor = pytensor.function(inputs, outputs, mode="FAST_COMPILE")
    for one, other in zip(kernel(*arrays), by_pytensor(*arrays), strict=True):
        rtol = 1e-12 if other.dtype == "float64" else 1e-6
        np.testing.assert_allclose(one, other, rtol=rtol)
