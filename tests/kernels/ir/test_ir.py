"""Loops as typed expressions and statements, and Python printed from them."""

import math

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytensor.graph.fg import FunctionGraph
from pytensor.scalar.basic import UnaryScalarOp, upgrade_to_float
from pytensor.tensor.elemwise import Elemwise

import dimtensor as dt
from dimtensor.kernels.emit.emitter import Emitter
from dimtensor.kernels.foreign import left_to_numba
from dimtensor.kernels.ir.make import ONE, TRUE, ZERO, call, integer, known, number, op, select
from dimtensor.kernels.ir.nodes import (
    Accumulate,
    Array,
    Assign,
    Break,
    Call,
    Carry,
    Const,
    Continue,
    For,
    Function,
    If,
    Length,
    Load,
    Op,
    Part,
    Store,
    Var,
    While,
)
from dimtensor.kernels.ir.python import Printer, printed
from dimtensor.kernels.ir.walk import expressions_in, replaced, statements_in, summary
from dimtensor.kernels.native.expressions import ExpressionWriter
from dimtensor.kernels.native.translate import ArgumentType, Translator
from dimtensor.kernels.target import NATIVE
from dimtensor.optimize.pipeline import optimize
from dimtensor.optimize.plan.plan import Plan
from tests.golden.compare import FOLDER
from tests.kernels.reading import parsed
from tests.kernels.test_kernels import EXPRESSIONS

X = Array("x", "float64", 1)
N, J, T, A = Var("n", "int64"), Var("i", "int64"), Var("t", "float64"), Var("a", "float64")
GOLDEN = {
    "kernel_garch.txt": [1, 0],
    "kernel_hierarchical.txt": [1, 0, 0, 1, 1],
    "kernel_table.txt": [3, 1, 1, 1],
}


def golden(name):
    """A kernel of a golden file; its integers are codes, which is what it takes last but one."""
    ranks = GOLDEN[name]
    dtypes = ["float64"] * len(ranks)
    if name == "kernel_hierarchical.txt":
        dtypes[3] = "int64"
    text = (FOLDER / name).read_text().removesuffix("\n")
    return text, parsed(text, list(zip(dtypes, ranks, strict=True)), {})


@pytest.mark.parametrize("name", GOLDEN)
def test_what_is_printed_can_be_read_again(name):
    text, function = golden(name)
    assert printed(function) == text


@pytest.mark.parametrize("name", GOLDEN)
def test_the_text_does_not_depend_on_the_numbers_of_names(name):
    text, function = golden(name)
    variables = {
        each.name: each
        for statement in statements_in(function.body)
        for expression in statement.reads
        for each in expressions_in(expression)
        if isinstance(each, Var)
    }
    others = {v.name: Var(f"{v.name}{k}7", v.dtype) for k, v in enumerate(variables.values())}
    body = tuple(replaced(each, others) for each in function.body)
    results = tuple(others.get(getattr(r, "name", ""), r) for r in function.results)
    renamed = Function("kernel", function.arguments, body, results)
    assert renamed != function
    assert printed(renamed) == text


# -- expressions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (op("+", integer(7), integer(-9)), integer(-2)),
        (op("//", integer(-7), integer(2)), integer(-4)),
        (op("max", integer(-7), ZERO), ZERO),
        (op("*", op("-", N, ZERO), ONE), N),
        (op("+", Const(0, "int8"), N), N),
        (op("//", N, ONE), N),
    ],
)
def test_known_integers_are_folded(made, expected):
    assert made == expected


@pytest.mark.parametrize(
    "made",
    [
        op("//", ONE, ZERO),
        op("+", number(0.0, "float64"), T),
        op("*", N, ZERO),
        op("-", ZERO, N),
        op("+", Var("k", "int32"), ZERO),
    ],
)
def test_what_is_not_folded(made):
    """Divisions by zero, floats, and what would have another dtype."""
    assert isinstance(made, Op)


VALUES = {"n": 7, "i": -3, "t": 0.625, "a": -1.5}
BINARY = ["+", "-", "*", "&", "|", "^", "<", "<=", "==", "!=", "and", "or"]


def operations(operands):
    pairs = st.tuples(operands, operands)
    return st.one_of(
        st.builds(lambda name, pair: op(name, *pair), st.sampled_from(BINARY), pairs),
        st.builds(lambda *three: op("+", *three), operands, operands, operands),
        st.builds(lambda *three: select(*three), operands, operands, operands),
        st.builds(lambda x: op("neg", x), operands),
        st.builds(lambda x: op("not", x), operands),
    )


def evaluated(node):
    """An expression by Python's own operators, one after the other."""
    if isinstance(node, Const):
        return node.value
    if isinstance(node, Var):
        return VALUES[node.name]
    values = [evaluated(each) for each in node.operands]
    if node.op == "select":
        return values[1] if values[0] else values[2]
    if node.op in ("neg", "not"):
        return -values[0] if node.op == "neg" else not values[0]
    result = values[0]
    for each in values[1:]:
        result = eval(f"a {node.op} b", {"a": result, "b": each})
    return result


@given(
    st.recursive(st.sampled_from([N, J, ONE, integer(-4), integer(6)]), operations, max_leaves=12)
)
def test_parentheses_stand_where_they_are_needed(expression):
    text = Printer().text(expression)
    assert eval(text, dict(VALUES)) == evaluated(expression), text


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (op("*", op("+", T, A), T), "(t + a) * t"),
        (op("+", op("*", T, A), T), "t * a + t"),
        (op("-", T, op("-", A, T)), "t - (a - t)"),
        (op("-", op("-", T, A), T), "t - a - t"),
        (op("+", T, A, T), "t + a + t"),
        (op("&", op("+", J, N), ONE), "i + n & 1"),
        (op("neg", op("*", T, A)), "-(t * a)"),
        (
            select(op("<", T, A), T, select(op("<", A, T), A, T)),
            "t if t < a else (a if a < t else t)",
        ),
        (op("//", N, op("//", N, J)), "n // (n // i)"),
        (op("*", op("//", N, integer(6)), integer(6)), "n // 6 * 6"),
        (call("sqrt", T), "math.sqrt(t)"),
        (call("log", op("+", T, A)), "np.log(t + a)"),
        (call("log", N), "np.log(np.float64(n))"),
        (call("gammaln", T), "gammaln(t)"),
        (call("i0", T), "i0_float64_float64(t)"),
        (Call("exp", (T,), "float32"), "np.exp(np.float32(t))"),
        (Load(X, (op("-", N, ONE),)), "x[n - 1]"),
        (number(-0.5, "float64"), "-0.5"),
        (number(-0.5, "float32"), "np.float32(-0.5)"),
        (number(math.nan, "float64"), "np.nan"),
        (op("*", number(-math.inf, "float64"), T), "-np.inf * t"),
    ],
)
def test_text_of_expressions(expression, text):
    assert Printer().text(expression) == text


def test_an_expression_knows_its_dtype_and_what_it_uses():
    at = Var("i", "int64", frozenset({"i"}))
    product = op("*", Load(X, (at,)), T)
    assert product.dtype == "float64"
    assert product.uses == {"x", "i", "t"}
    assert product.loops == {"i"}
    assert op("/", N, J).dtype == "float64"
    assert op("<", N, J).dtype == "bool"
    assert op("+", TRUE, TRUE).dtype == "int64"
    assert op("min", N, Var("k", "int8")).dtype == "int64"


def test_nodes_are_compared_by_class_and_fields():
    assert Load(X, (J,)) == Load(X, (Var("i", "int64", frozenset({"i"})),))
    assert Load(X, (J,)) != Load(X, (N,))
    assert Load(X, (J,)) != Part(X, (J,))
    assert Assign(T, A) != Carry(T, A)
    assert Break() == Break()
    assert Break() != Continue()
    assert len({Assign(T, A), Assign(T, A), Carry(T, A), Break(), Break()}) == 3
    assert T != "t"


def test_statements_use_what_they_are_decided_by_and_what_is_inside():
    body = (Store(Load(X, (J,)), T),)
    assert For(J, N, body).uses == {"n", "x", "i", "t"}
    assert For(J, ZERO, (), start=N).uses == {"n"}
    assert While(op("<", A, T), (Break(),)).uses == {"a", "t"}
    branch = If(op("<", A, ONE), (), body)
    assert branch.uses == {"a", "x", "i", "t"}
    assert For(J, N, (branch,)).replace(stop=ONE).uses == branch.uses
    assert branch.uses == {"a", "x", "i", "t"}  # kept


def test_a_node_with_other_values_of_some_fields():
    loop = For(J, N, (Assign(T, A),), is_wide=True)
    other = loop.replace(stop=integer(3))
    assert (other.counter, other.stop, other.body, other.is_wide) == (
        J,
        integer(3),
        loop.body,
        True,
    )
    assert loop.stop == N
    assert Load(X, (J,)).replace(index=(N,)).uses == {"x", "n"}
    with pytest.raises(TypeError, match="unexpected keyword argument 'end'"):
        loop.replace(end=N)
    assert repr(Load(X, (ZERO,))) == (
        "Load(array=Array(name='x', dtype='float64', rank=1), "
        "index=(Const(value=0, dtype='int64'),))"
    )


def test_numbers_are_the_same_if_they_are_written_alike():
    zero, minus = number(0.0, "float64"), number(-0.0, "float64")
    assert zero != minus
    assert zero != ZERO
    assert number(math.nan, "float64") == number(math.nan, "float64")
    assert len({zero, minus, ZERO, number(0.0, "float64")}) == 3
    assert known(number(3, "int8")) == 3
    assert known(number(3.0, "float64")) is known(integer(-1)) is None


def test_what_is_assigned_again_inside_of_a_loop_is_a_state():
    source = """
def kernel(x):
    s = 0.0
    total = 0.0
    for i in range(x.shape[0]):
        t = x[i] * 0.5
        u = t + s
        s = u
        total += u
    return (s, total, )
"""
    function = parsed(source, [("float64", 1)], {})
    loop = function.body[-1]
    assert isinstance(loop, For)
    assert [type(each) for each in loop.body] == [Assign, Assign, Carry, Accumulate]
    assert loop.stop == Length(X, 0)
    reads, writes, *_ = summary(function)
    assert (reads["t"], reads["u"], reads["s"], reads["total"]) == (1, 2, 2, 1)
    assert (writes["t"], writes["s"], writes["total"], writes["i"]) == (1, 2, 2, 1)


def test_positions_may_be_replaced_by_others_than_numbers_are():
    statement = Assign(T, op("*", Load(X, (J,)), Load(X, (op("+", J, ONE),))))
    found = replaced(statement, {"i": op("+", N, J)}, {"i": N})
    assert Printer().lines([found]) == ["t = x[n] * x[n + i + 1]"]


# -- types -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", EXPRESSIONS)
def test_numbers_have_the_dtypes_that_the_loops_say(group, monkeypatch):
    """What LLVM is given, against what each expression knows of itself."""
    translate = ExpressionWriter.number
    looked_at = []

    def checked(self, node):
        value = translate(self, node)
        assert value.type.name == node.dtype, node
        looked_at.append(node)
        return value

    monkeypatch.setattr(ExpressionWriter, "number", checked)
    for expression in EXPRESSIONS[group]:
        inputs = [shaped(each) for each in dt.inputs_of([expression])]
        graph = FunctionGraph(inputs, [shaped(expression)], clone=True)
        optimize(graph, NATIVE)
        translated_graph(graph)
    assert any(isinstance(each, Load) for each in looked_at)


def shaped(tensor):
    return tensor.to_shaped(list(tensor.dims))


def translated_graph(graph):
    emitter = Emitter(Plan(graph))
    function = emitter.function()
    if left_to_numba(function, emitter.namespace):
        return None
    types = [ArgumentType(v.type.dtype, v.type.shape) for v in graph.inputs]
    types += [ArgumentType(a.dtype.name, a.shape) for _, a in emitter.constants]
    return Translator(function, types).translate("kernel")


class Unheard(UnaryScalarOp):
    """A scalar operation of somebody else."""

    def impl(self, x):
        return x


@pytest.mark.parametrize(
    ("outputs", "reason"),
    [
        ([pt.zvector("z") * 2], "numbers of dtype complex128"),
        ([Elemwise(Unheard(upgrade_to_float))(pt.dvector("x"))], "the scalar operation Unheard"),
        ([pt.special.softmax(pt.dmatrix("m"), axis=1)], "calls of Softmax"),
        ([pt.exp(pt.dvector("x"))], None),
    ],
)
def test_what_is_left_to_numba_is_known_before_llvm_is_written(outputs, reason):
    inputs = list(pytensor.graph.traversal.explicit_graph_inputs(outputs))
    emitter = Emitter(Plan(FunctionGraph(inputs, outputs, clone=True)))
    assert left_to_numba(emitter.function(), emitter.namespace) == reason


def test_the_same_graph_gives_the_same_loops():
    x = pt.dvector("x")
    graphs = [FunctionGraph([x], [pt.exp(x).sum()], clone=True) for _ in range(2)]
    first, second = (Emitter(Plan(graph)).function() for graph in graphs)
    assert first == second
    assert hash(first) == hash(second)
    assert first.arguments == (Array("x0", "float64", 1),)
    assert np.array_equal([each.rank for each in first.results], [0])
