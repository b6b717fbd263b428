"""Nodes of some kinds, and what computes the same."""

import pickle

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.graph.basic import Apply
from pytensor.graph.fg import FunctionGraph
from pytensor.tensor.basic import Split
from pytensor.tensor.elemwise import CAReduce
from pytensor.tensor.subtensor import Subtensor

from dimtensor.ops.graphs import (
    cotangent_of,
    freeze,
    identities,
    merge_equal,
    nodes_of,
    note_cotangent,
    on_nodes,
    replace_nodes,
    with_inputs,
)
from dimtensor.ops.interpret import Interpreter
from dimtensor.upstream.freezing import exact


def test_what_computes_the_same_where_some_inputs_are_taken_for_others(monkeypatch):
    x, y, z = pt.dscalars("x", "y", "z")
    outputs = [pt.exp(x * z) + 1.0, 1.0 + pt.exp(z * y), pt.exp(x * z) + 2.0, x, y, z]
    apart = identities(outputs)
    monkeypatch.setattr(Apply, "__init__", lambda *given: pytest.fail("a node was made"))
    together = identities(outputs, {y: x})
    assert len(set(apart)) == 6
    assert together[0] == together[1]
    assert together[3] == together[4]
    assert len(set(together)) == 4


def test_results_of_one_operation_are_told_apart():
    x = pt.dvector("x")
    (q, r), (again, _) = pt.linalg.qr(pt.outer(x, x)), pt.linalg.qr(pt.outer(x, x))
    one, two, three = identities([q, r, again])
    assert one == three
    assert one != two


def test_nodes_of_some_kinds_come_in_order():
    x = pt.dvector("x")
    deepest = pt.exp(x)[::-1]
    middle = (deepest * 2)[1:]
    last = pt.exp(middle)[:3]
    graph = FunctionGraph([x], [last, middle.sum(), last.sum()], clone=False)
    found = [node.outputs[0] for node in nodes_of(graph, Subtensor)]
    assert found == [deepest, middle, last]
    of_two = [node.outputs[0] for node in nodes_of(graph, Subtensor, CAReduce)]
    assert [v for v in of_two if v in found] == found
    assert {v.owner.op.scalar_op for v in of_two if v not in found} == {
        pt.sum(x).owner.op.scalar_op
    }
    assert nodes_of(FunctionGraph([x], [pt.exp(x).sum()], clone=False), Subtensor) == []
    assert len(nodes_of(FunctionGraph([x], [pt.exp(x).sum()], clone=False), CAReduce)) == 1


@pytest.mark.parametrize("shape", [(None,), (3,)], ids=str)
def test_a_node_of_other_inputs_has_the_names_and_notes_of_the_node(shape):
    x, y = pt.dvector("x"), pt.dvector("y")
    node = (x * y).owner
    node.outputs[0].name = "product"
    node.tag.of_node = "kept"
    note_cotangent(node.outputs[0], 1)
    other = pt.tensor("z", shape=shape, dtype="float64")
    made = with_inputs(node, [other, y])
    assert made.op == node.op
    assert made.inputs[1] is y
    assert made.inputs[0] is other or made.inputs[0].owner.inputs[0] is other
    assert made.outputs[0].owner is made
    assert cotangent_of(made.outputs[0]) == 1
    if other.type == x.type:
        assert made.outputs[0].name == "product"
    assert made.tag.of_node == "kept"
    made.outputs[0].tag.own = 1
    assert not hasattr(node.outputs[0].tag, "own")
    assert node.inputs[0] is x


CONSTANTS = {
    "zero": np.array(0.0),
    "negative zero": np.array(-0.0),
    "zeros": np.zeros(100),
    "one negative zero": np.copysign(0.0, np.where(np.arange(100) == 7, -1.0, 1.0)),
    "transposed": np.arange(200.0).reshape(10, 20).T,
    "not transposed": np.arange(200.0).reshape(20, 10),
    "nan": np.array(np.nan),
    "negative nan": np.array(-np.nan),
    "single": np.array(0.0, "float32"),
    "integer": np.array(0),
    "false": np.array(False),
}


def test_constants_of_frozen_graphs_are_equal_only_bit_by_bit():
    made = {name: exact(pt.constant(value, dtype=value.dtype)) for name, value in CONSTANTS.items()}
    for name, constant in made.items():
        again = exact(pt.constant(CONSTANTS[name].copy(), dtype=CONSTANTS[name].dtype))
        assert again.signature() == constant.signature()
        assert again.equals(constant)
        assert hash(pickle.loads(pickle.dumps(constant)).signature()) == hash(again.signature())
    assert len({constant.signature() for constant in made.values()}) == len(made)
    assert made["zero"].equals(pt.constant(np.array(0.0)))
    assert not made["zero"].equals(pt.constant(np.array(-0.0)))


def test_a_frozen_graph_keeps_zeros_of_both_signs():
    x = pt.dvector("x")
    outputs = [pt.switch(x > 0, zero, other) for zero, other in ((0.0, -0.0), (-0.0, 0.0))]
    graph = freeze([x], [*outputs, pt.constant(-0.0), pt.constant(0.0)])
    plus, minus, *ends = graph.bind([x])
    values = Interpreter([x], [plus, minus, *ends])(np.array([1.0, -1.0]))
    signs = [np.signbit(value).tolist() for value in values]
    assert signs == [[False, True], [True, False], True, False]


def test_nodes_that_differ_in_the_sign_of_a_zero_are_not_merged():
    x = pt.dvector("x")
    outputs = [x + 0.0, x + -0.0, pt.exp(x), pt.exp(x), x * 2.0 + 1.0, 1.0 + 2.0 * x]
    graph = FunctionGraph([x], outputs, clone=False)
    merge_equal(graph)
    plus, minus, one, same, line, turned = graph.outputs
    assert plus is not minus
    assert one is same
    assert line is turned
    values = np.array([-0.0, 1.0])
    found = Interpreter([x], graph.outputs)(values)
    expected = [
        values + 0.0,
        values,
        np.exp(values),
        np.exp(values),
        values * 2 + 1,
        values * 2 + 1,
    ]
    np.testing.assert_array_equal(found, expected)
    assert np.signbit(found[0]).tolist() == [False, False]
    assert np.signbit(found[1]).tolist() == [True, False]


def test_all_outputs_of_a_node_are_replaced_and_keep_their_types():
    x = pt.tensor("x", dtype="float64", shape=(5,))
    first, second = pt.split(x, pt.lvector("sizes"), n_splits=2)

    @on_nodes(Split)
    def halves(node):
        return [node.inputs[0][:3], node.inputs[0][3:]]

    sizes = first.owner.inputs[1]
    graph = FunctionGraph([x, sizes], [second * 2.0, first], clone=False)
    types = [out.type for out in (first, second)]
    assert halves(graph)
    assert not nodes_of(graph, Split)
    assert all(old.is_super(new.type) for old, new in zip(types, graph.outputs[::-1], strict=True))
    values = Interpreter([x, sizes], graph.outputs)(np.arange(5.0), np.array([0, 0]))
    assert [value.tolist() for value in values] == [[6.0, 8.0], [0.0, 1.0, 2.0]]
    assert not halves(graph)


def test_nodes_that_a_replacement_has_removed_are_skipped():
    x = pt.dvector("x")
    graph = FunctionGraph([x], [pt.exp(pt.exp(pt.exp(x)))], clone=False)
    seen = []

    def operand(node):
        seen.append(node)
        return node.inputs[0].owner.inputs[0] if len(seen) == 1 else None

    nodes = graph.toposort()[::-1]
    assert replace_nodes(graph, nodes, operand, "example")
    assert seen == [nodes[0], nodes[2]]
    assert graph.toposort() == [nodes[2]]
