"""The table of rewrites: each rule applies where it should, and keeps every number."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
import scipy.special
from pytensor.gradient import DisconnectedGrad
from pytensor.graph.basic import Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import vectorize_graph
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.math import Dot
from pytensor.tensor.shape import Shape_i
from pytensor.tensor.subtensor import Subtensor

from dimtensor.ops.interpret import Interpreter
from dimtensor.ops.special import log_ndtr, vanishing
from dimtensor.optimize.rules import RULES, Rule, rewrite
from dimtensor.optimize.rules.table import ACCURATE, EXACT, REDUCTION

DOCS = Path(__file__).parents[2] / "docs" / "design" / "rewrites.md"
TINY, HUGE = 5e-324, 1e300
POINTS = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, TINY, -TINY, HUGE, -HUGE, 1.0, -0.7, 3.0])
X = np.repeat(POINTS, len(POINTS))
Y = np.tile(POINTS, len(POINTS))

x, y = pt.dvector("x"), pt.dvector("y")
m = pt.dmatrix("m")
s = pt.dscalar("s")
on = pt.vector("on", dtype="bool")
fixed = pt.tensor("fixed", shape=(144,))


def one(variable: Variable) -> Variable:
    return pt.ones_like(variable)


def zeros(*lengths: int) -> Variable:
    return pt.alloc(np.float64(0.0), *lengths)


def batched_updates() -> list[Variable]:
    row, three = pt.dvector("row"), pt.tensor("three", shape=(3,))
    update = pt.inc_subtensor(pt.zeros(3)[:2], row[:2])
    put = pt.set_subtensor(three[1:], row[:2])
    rows = pt.specify_shape(m, (3, 3))
    return [
        *vectorize_graph([update, put[0]], {row: rows, three: 2.0 * rows}),
        Blockwise(Subtensor([slice(0, None)]), signature="(n),()->(k)")(rows, np.array(1)),
    ]


def batched_scatters() -> list[Variable]:
    at = pt.constant([0, 2])
    fixed_rows = pt.specify_shape(m[:, :2], (3, 2))
    row = pt.dvector("row")
    kept = [
        pt.inc_subtensor(pt.zeros(3)[at], row),
        pt.set_subtensor(pt.ones((3, 2))[at], row[:, None]),
    ]
    return vectorize_graph(kept, {row: fixed_rows})


# what each rule applies to
EXAMPLES: dict[str, Callable[[], Variable | list[Variable]]] = {
    "same_as_operand": lambda: pt.exp(pt.tensor_copy(x)),
    "scatter_in_batch": batched_scatters,
    "marks_of_batch": lambda: Blockwise(DisconnectedGrad(), signature="(n)->(n)")(m),
    "no_batch": lambda: Blockwise(Dot(), signature="(m,k),(k,n)->(m,n)")(m, m.T),
    "transposed": lambda: m.dimshuffle(1, 0).dimshuffle(1, 0) + m,
    "transposed_fill": lambda: pt.alloc(x, 2, x.shape[0]).dimshuffle(1, 0),
    "fill": lambda: pt.second(x, s.dimshuffle("x")),
    "vanished": lambda: vanishing(x, y) + x,
    "broadcast": lambda: pt.alloc(x, x.shape[0]),
    "operands_that_are_fills": lambda: x * pt.alloc(s, x.shape[0]),
    "shape_as_lengths": lambda: pt.shape(m)[0] + x,
    "length": lambda: Shape_i(0)(x * 2.0) + x,
    "check_that_holds": lambda: CheckAndRaise(ValueError, "no")(x, pt.constant(True)),
    "reshaped": lambda: pt.reshape(pt.reshape(m, (-1,)), (1, -1)),
    "selection": lambda: x[0:],
    "selection_of_vector": lambda: pt.stack([s, s * 2.0])[1],
    "selection_of_selection": lambda: fixed[2:9][3:],
    "update_of_all": lambda: pt.inc_subtensor(fixed[:], fixed * 2.0),
    "sum_of_updates": lambda: (
        pt.inc_subtensor(zeros(144)[:3], fixed[:3]) + pt.inc_subtensor(zeros(144)[2:5], fixed[2:5])
    ),
    "selection_in_batch": lambda: batched_updates(),
    "equal_to_itself": lambda: pt.switch(pt.eq(x.shape[0], x[::-1].shape[0]), x, -x),
    "numbers_of_one_dtype": lambda: x * pt.constant(np.float32(0.1)),
    "neutral_number": lambda: [x * 1.0, x / 1.0, x - 0.0, x + (-0.0), on.astype("int64") + 0],
    "times_minus_one": lambda: x * -1.0,
    "square": lambda: x * x,
    "two_signs": lambda: [x + -y, -x + y, x - -y, -x * -y, -x / -y],
    "sign_of_sign": lambda: pt.neg(pt.neg(x)),
    "sign_of_number": lambda: [-x * 3.0, -x / 3.0, 3.0 / -x],
    "power": lambda: [x**0, x**1, x**-1, x**2, x**0.5],
    "inverse_root": lambda: x**-0.5,
    "arm": lambda: [pt.switch(on, x, x), pt.switch(np.array(True), x, y)],
    "condition_turned": lambda: pt.switch(pt.invert(on), x, y),
    "known_conditions": lambda: pt.and_(on, pt.constant([True])),
    "condition_and_its_negation": lambda: [pt.invert(on) | on, on & pt.invert(on)],
    "reduced_axes": lambda: m.dimshuffle(0, "x", 1).sum(axis=(1, 2)),
    "reduced_transposed": lambda: m.T.max(axis=0),
    "reduced_twice": lambda: m.sum(axis=0).sum(),
    "sum_of_fill": lambda: pt.alloc(s, x.shape[0]).sum(),
    "log_of_one_and": lambda: [pt.log(1.0 + x), pt.log(1.0 - x)],
    "log_of_one_and_exp": lambda: [
        pt.log1p(pt.exp(x)), pt.log1p(-pt.exp(x)), pt.log1p(-pt.sigmoid(x))
    ],
    "log_of_logistic": lambda: pt.log(pt.sigmoid(x)),
    "exp_minus_one": lambda: pt.exp(x) - 1.0,
    "logistic": lambda: [1.0 / (1.0 + pt.exp(x)), pt.exp(x) / (1.0 + pt.exp(x))],
    "logistic_in_product": lambda: y / (1.0 + pt.exp(x)) * pt.exp(x),
    "one_minus_logistic": lambda: 1.0 - pt.sigmoid(x),
    "function_of_choice": lambda: [
        pt.log(pt.switch(on, np.float64(1.0), s)), 2.0 - pt.switch(on, s, -s),
        s / pt.switch(on, np.float64(0.0), s * 2.0),
    ],
    "choice_in_its_own_arm": lambda: [
        pt.switch(on & (x > 1.0), y / pt.switch(on, x, 2.0), 0.0),
        pt.switch(~on, x, y * pt.switch(on & (x > y), y, s)),
        pt.switch(on | (x > y), x + y, -pt.switch(x > y, x, y)),
    ],
    "choice_of_choice": lambda: pt.switch(on, pt.switch(x > 0.0, x / y, 0.0), 0.0),
    "log_of_sum_of_exp": lambda: pt.log(pt.exp(fixed[:, None] + np.zeros((1, 3))).sum(axis=1)),
}  # fmt: skip
BY_NAME = {one.name: one for one in RULES}


def graph_of(outputs: list[Variable]) -> FunctionGraph:
    return FunctionGraph([x, y, m, s, on, fixed], outputs, clone=True)


def arguments(number: float = 2.5) -> list[np.ndarray]:
    table = np.array([[1.5, 2.0, np.nan], [-1.0, 0.0, 4.0], [2.0, np.inf, 1.0]])
    return [X, Y, table, np.array(number), X > Y, X]


def values(graph: FunctionGraph, number: float = 2.5) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        return Interpreter(graph.inputs, graph.outputs)(*arguments(number))


def example(name: str) -> list[Variable]:
    outputs = EXAMPLES[name]()
    return outputs if isinstance(outputs, list) else [outputs]


def counted(rule: Rule, calls: list[str]) -> Rule:
    def function(node, rewriting):
        found = rule.function(node, rewriting)
        if found is not None:
            calls.append(rule.name)
        return found

    return rule._replace(function=function)


def test_every_rule_has_an_example_and_is_described():
    assert EXAMPLES.keys() == BY_NAME.keys()
    described = DOCS.read_text()
    assert [one.name for one in RULES if f"`{one.name}`" not in described] == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_rule_applies_and_changes_no_number(name: str):
    rule, outputs = BY_NAME[name], example(name)
    calls: list[str] = []
    before, after = graph_of(outputs), graph_of(outputs)
    rewrite(after, [counted(rule, calls)])
    assert len(calls) >= len(outputs) - 1, "it does not apply"
    for number in (2.5, np.nan, np.inf):
        for old, new in zip(values(before, number), values(after, number), strict=True):
            agree(old, new, rule.kind)


def agree(old: np.ndarray, new: np.ndarray, kind: str) -> None:
    """The same numbers; in a more accurate way, where the formula itself has not lost them."""
    assert old.shape == new.shape
    if kind == EXACT:
        np.testing.assert_array_equal(new, old)
        numbers = ~np.isnan(old) if old.dtype.kind == "f" else slice(0)
        assert (np.signbit(old) == np.signbit(new))[numbers].all()
        return
    if kind == REDUCTION:
        np.testing.assert_allclose(new, old, rtol=1e-14)
        return
    given = np.resize(X, old.shape)
    assert np.isnan(new[np.isnan(given)]).all()
    plain = np.isfinite(old) & (old != 0) & (abs(given) > TINY)
    np.testing.assert_allclose(new[plain], old[plain], rtol=1e-10)


@pytest.mark.parametrize(
    ("formula", "point", "expected"),
    [  # by mpmath, with 50 digits
        (lambda v: pt.log(1.0 + pt.exp(v)), 800.0, 800.0),
        (lambda v: pt.log(1.0 + v), 1e-20, 1e-20),
        (lambda v: pt.log(1.0 - pt.exp(v)), -1e-20, -46.051701859880914),
        (lambda v: pt.log(1.0 - pt.sigmoid(v)), 60.0, -60.0),
        (lambda v: pt.log(pt.sigmoid(v)), -800.0, -800.0),
        (lambda v: pt.exp(v) - 1.0, 1e-20, 1e-20),
        (lambda v: 1.0 - 1.0 / (1.0 + pt.exp(-v)), 50.0, 1.9287498479639178e-22),
        (lambda v: pytensor.grad(pt.log(1.0 + pt.exp(v)), v), 800.0, 1.0),
    ],
)
def test_formulas_keep_digits(formula, point: float, expected: float):
    graph = FunctionGraph([s], [formula(s)], clone=True)
    rewrite(graph)
    with np.errstate(all="ignore"):
        found = Interpreter(graph.inputs, graph.outputs)(np.array(point))[0]
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_logarithm_of_a_sum_of_exponentials():
    rows = pt.tensor("rows", shape=(None, 3))
    graph = FunctionGraph([rows], [pt.log(pt.sum(pt.exp(rows), axis=1))], clone=True)
    rewrite(graph)
    given = np.array([[1000.0, 1000.0, -np.inf], [-np.inf] * 3, [np.inf, 0, 1], [np.nan, 0, 1]])
    with np.errstate(all="ignore"):
        found = Interpreter(graph.inputs, graph.outputs)(given)[0]
    np.testing.assert_allclose(found, [1000.0 + np.log(2.0), -np.inf, np.inf, np.nan])


@pytest.mark.parametrize(
    "formula",
    [
        lambda: x * 0.0, lambda: x - x, lambda: x / x, lambda: (x + y) - y, lambda: x + 0.0,
        lambda: pt.eq(x, x), lambda: pt.neq(x, x), lambda: 0.0 / x, lambda: pt.exp(x) * pt.exp(-x),
        lambda: pt.exp(pt.log(x)), lambda: pt.sqr(pt.sqrt(x)), lambda: pt.sqrt(pt.sqr(x)),
        lambda: pt.log(pt.exp(x)), lambda: (x * y) / y,
        lambda: pt.invert(x < y), lambda: x * y + x * 2.0, lambda: -(x - y), lambda: x / 3.0,
        lambda: 1.0 / (1.0 / x), lambda: x * 3.0 * 2.0,
        lambda: pt.cast(pt.cast(x, "int64"), "bool"),
    ],
)  # fmt: skip
def test_what_is_not_exact_is_left_alone(formula: Callable[[], Variable]):
    before, after = graph_of([formula()]), graph_of([formula()])
    rewrite(after)
    names = [
        [str(getattr(node.op, "scalar_op", node.op)) for node in g.toposort() if node.inputs
         and not all(v.owner is None and hasattr(v, "data") for v in node.inputs)]
        for g in (before, after)
    ]  # fmt: skip
    assert sorted(names[0]) == sorted(names[1])


def test_equal_expressions_are_computed_once():
    graph = FunctionGraph([x], [pt.exp(x * 2.0), pt.exp(x * 2.0) + 1.0], clone=True)
    rewrite(graph)
    assert sum("Exp" in str(node.op) for node in graph.toposort()) == 1


def test_operands_of_sums_and_products_may_be_exchanged():
    one, other = pt.exp(s + y * x), pt.exp(x * y + s)
    graph = FunctionGraph([x, y, s], [one, other], clone=True)
    rewrite(graph)
    assert graph.outputs[0] is graph.outputs[1]
    conditions = [pt.eq(x, y) & on, on & pt.eq(y, x)]
    graph = FunctionGraph([x, y, on], conditions, clone=True)
    rewrite(graph)
    assert graph.outputs[0] is graph.outputs[1]


@pytest.mark.parametrize("shape", [(None, None), (None, 3)])
def test_lengths_of_solutions_need_no_solution(shape):
    a, b = pt.tensor("a", shape=(None, None)), pt.tensor("b", shape=shape)
    solution = pt.linalg.solve_triangular(a, b, lower=True)
    lengths = [pt.linalg.cholesky(a).shape[0], solution.shape[0], pt.linalg.inv(a).shape[1]]
    graph = FunctionGraph([a, b], lengths, clone=True)
    rewrite(graph)
    assert {type(node.op) for node in graph.apply_nodes} <= {Shape_i}


def test_other_operands_may_not():
    pairs = [
        (pt.sub(x, y), pt.sub(y, x)), (pt.maximum(x, y), pt.maximum(y, x)),
        (pt.add(x, y, s), pt.add(x, s, y)), (pt.lt(x, y), pt.lt(y, x)),
    ]  # fmt: skip
    graph = FunctionGraph([x, y, s], [v for pair in pairs for v in pair], clone=True)
    rewrite(graph)
    assert len(set(graph.outputs)) == len(graph.outputs)


def deep(n: int) -> FunctionGraph:
    total = s
    for number in range(n // 2):
        total = pt.tanh(total * (1.0 + number)) if number % 2 else total + s
    return FunctionGraph([s], [total], clone=False)


def test_time_is_linear_in_the_graph():
    """Ten times the nodes are ten times the calls of functions; a quadratic walk has a hundred."""

    def calls(n: int) -> int:
        graph, found = deep(n), 0

        def note(frame: object, event: str, argument: object) -> None:
            nonlocal found
            found += event in ("call", "c_call")

        sys.setprofile(note)
        try:
            rewrite(graph)
        finally:
            sys.setprofile(None)
        return found

    calls(100)  # what is made once is there
    assert calls(1_000) < 12 * calls(100)


@pytest.mark.parametrize("kind", [EXACT, ACCURATE, REDUCTION])
def test_kinds(kind: str):
    assert any(rule.kind == kind for rule in RULES)
    assert {rule.kind for rule in RULES} == {EXACT, ACCURATE, REDUCTION}


@pytest.mark.parametrize(
    "values",
    [[-36.9, -8.0, -1.0, -0.3, -1e-9, 0.0, 0.7, 5.0, 10.0, 37.0], [-40.0, -1e9], [1.0, np.nan]],
    ids=str,
)
def test_constants_of_the_normal_cdf_are_those_of_scipy(values):
    graph = FunctionGraph([], [log_ndtr(pt.constant(np.array(values)))], clone=True)
    rewrite(graph)
    wanted = scipy.special.log_ndtr(values)
    np.testing.assert_allclose(graph.outputs[0].data, wanted, rtol=3e-14)


@pytest.mark.parametrize("value", [-0.0, [-0.0], [[-0.0]], 2.0, [-0.0, 4.0]], ids=str)
def test_a_power_of_a_constant_is_a_root_where_that_of_a_variable_is(value):
    graph = FunctionGraph([], [pt.constant(np.array(value)) ** 0.5])
    rewrite(graph)
    (found,) = Interpreter([], graph.outputs)()
    np.testing.assert_array_equal(found, np.sqrt(value))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(np.sqrt(value)))
