"""One list of steps, of which each target has those that it gains from."""

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.graph.fg import FunctionGraph
from pytensor.raise_op import Assert
from pytensor.tensor.elemwise import CAReduce, Elemwise

from dimtensor.backends import backend_of
from dimtensor.backends import python as interpreter
from dimtensor.optimize.pipeline import OF_BODIES, OF_GRAPHS, optimize
from dimtensor.optimize.rules import RULES
from dimtensor.optimize.target import Target

NATIVE, JAX, PYTHON = (backend_of(name).target for name in ("native", "jax", "python"))
X, A = pt.dvector("x"), pt.dscalar("a")


def optimized(target, outputs, last=None):
    graph = FunctionGraph([X, A], outputs, clone=True)
    optimize(graph, target, last=last)
    return graph


def steps_for(target):
    return {step.name for step in (*OF_BODIES, *OF_GRAPHS) if step.holds(target)}


def test_an_interpreter_runs_graphs_as_written():
    graph = optimized(PYTHON, [(X * 1.0 * A).sum()])
    assert len(graph.apply_nodes) == 5
    assert steps_for(PYTHON) == set()


def test_steps_are_chosen_by_target():
    everything = {step.name for step in (*OF_BODIES, *OF_GRAPHS)}
    assert everything - steps_for(NATIVE) == {"drop_assertions", "for_xla"}
    assert steps_for(JAX) == {
        *("rules", "drop_assertions", "factor_sums"),
        *("body", "absorb_sums", "for_xla", "split_once"),
    }


@pytest.mark.parametrize("target", [NATIVE, JAX])
def test_a_factor_leaves_a_sum_for_every_target(target, rng):
    graph = optimized(target, [(X * A).sum()])
    (total,) = (node for node in graph.apply_nodes if isinstance(node.op, CAReduce))
    assert total.inputs[0] is graph.inputs[0]
    x = rng.normal(size=5)
    (found,) = interpreter.compile_positional(graph.inputs, graph.outputs).call(x, np.array(1.5))
    np.testing.assert_allclose(found, 1.5 * x.sum(), rtol=1e-13)


def test_assertions_stay_where_code_can_raise():
    kinds = [
        any(isinstance(node.op, Assert) for node in optimized(target, [checked]).apply_nodes)
        for target in (NATIVE, JAX)
        for checked in [Assert("negative")(A, pt.ge(A, 0.0))]
    ]
    assert kinds == [True, False]


def test_a_step_or_a_rule_is_switched_off_by_its_name(monkeypatch):
    def operations():
        graph = optimized(NATIVE, [(X * A).sum(), A * A])
        kinds = (node.op.scalar_op for node in graph.apply_nodes if isinstance(node.op, Elemwise))
        return {type(kind).__name__ for kind in kinds}, graph.outputs[0].owner.op

    names, total = operations()
    assert "Sqr" in names
    assert isinstance(total, Elemwise)
    monkeypatch.setenv("DIMTENSOR_PASSES", "-square,-factor_sums")
    names, total = operations()
    assert names == {"Mul"}
    assert isinstance(total, CAReduce)


def test_the_names_of_steps_and_rules_differ():
    names = [step.name for step in (*OF_BODIES, *OF_GRAPHS)]
    names.remove("rules")  # twice in the list
    names += [rule.name for rule in RULES]
    assert len(names) == len(set(names))


def test_the_optimizer_stops_after_a_step():
    terms = pt.dmatrix("m", shape=(None, 3))
    graphs = []
    for last in ("absorb_sums", None):
        graph = FunctionGraph([terms], [pt.exp(terms).sum(1)], clone=True)
        optimize(graph, NATIVE, last=last)
        graphs.append(graph)
    reductions = [sum(isinstance(n.op, CAReduce) for n in g.apply_nodes) for g in graphs]
    assert reductions == [1, 0]  # the short axis is unrolled by a later step


def test_a_target_takes_what_the_user_allows():
    assert Target().allowing(["reassociate"]).reassociates
    assert not Target().allowing([]).reassociates
