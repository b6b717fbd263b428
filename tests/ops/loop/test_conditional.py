"""Conditionals: one branch runs, and one branch of their derivatives."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.conditional import ifelse
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op

from dimtensor.backends import python as interpreter
from dimtensor.errors import GraphError
from dimtensor.kernels.compiler import compile_kernel
from dimtensor.ops.loop.conditional import Conditional, conditional

X = pt.dvector("x")
A = pt.dscalar("a")


def branches():
    """A sum and a vector, by formulas that have nothing in common."""
    return conditional(
        pt.gt(A, 0.0),
        lambda: [pt.exp(X).sum(), X * 2 + A],
        lambda: [pt.log(A + 10), pt.sin(X)],
    )


def interpret(outputs, *arrays):
    return interpreter.compile_positional([X, A], outputs).call(*arrays)


def compiled(outputs, *arrays):
    kernel = compile_kernel([X, A], outputs)
    assert kernel.native is not None, "numba would be woken"
    return kernel.native.bind(kernel.constants)(*arrays)


RUNNERS = [
    pytest.param(interpret, id="python"),
    pytest.param(compiled, id="kernel", marks=pytest.mark.compiled),
]
x0 = np.array([0.1, -0.4, 2.0])


@pytest.mark.parametrize("run", RUNNERS)
def test_values_and_derivatives(run):
    total, vector = branches()
    cost = total + (vector**2).sum()
    outputs = [total, vector, *pytensor.grad(cost, [X, A])]
    value, doubled, by_x, by_a = run(outputs, x0, np.asarray(0.5))
    np.testing.assert_allclose(value, np.exp(x0).sum())
    np.testing.assert_allclose(doubled, x0 * 2 + 0.5)
    np.testing.assert_allclose(by_x, np.exp(x0) + 4 * (2 * x0 + 0.5))
    np.testing.assert_allclose(by_a, 2 * (2 * x0 + 0.5).sum())
    value, sine, by_x, by_a = run(outputs, x0, np.asarray(-0.5))
    np.testing.assert_allclose(value, np.log(9.5))
    np.testing.assert_allclose(sine, np.sin(x0))
    np.testing.assert_allclose(by_x, 2 * np.sin(x0) * np.cos(x0))
    np.testing.assert_allclose(by_a, 1 / 9.5)


@pytest.mark.parametrize("run", RUNNERS)
def test_second_derivatives_and_forward_mode(run):
    total, vector = branches()
    cost = total + (vector * vector * vector).sum()
    (by_a,) = pytensor.grad(cost, [A])
    second = pytensor.grad(by_a, [A, X], disconnected_inputs="ignore")
    direction = pytensor.gradient.pushforward(cost, [X], [pt.ones_like(X)], use_op_pushforward=True)
    found = run([*second, direction], x0, np.asarray(0.5))
    inner = 2 * x0 + 0.5
    np.testing.assert_allclose(found[0], 6 * inner.sum())
    np.testing.assert_allclose(found[1], 12 * inner)
    np.testing.assert_allclose(found[2], (np.exp(x0) + 6 * inner**2).sum())
    found = run([*second, direction], x0, np.asarray(-0.5))
    np.testing.assert_allclose(found[0], -1 / 9.5**2)
    np.testing.assert_allclose(found[1], np.zeros(3))
    np.testing.assert_allclose(found[2], (3 * np.sin(x0) ** 2 * np.cos(x0)).sum())


class Fuse(Op):
    """Counts how often it runs."""

    runs = 0

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        type(self).runs += 1
        output_storage[0][0] = inputs[0] * 3

    def pullback(self, inputs, outputs, cotangents):
        return [fuse(cotangents[0])]


fuse = Fuse()


def test_only_one_branch_runs():
    (result,) = conditional(pt.gt(A, 0.0), lambda: [fuse(X)], lambda: [X])
    (slope,) = pytensor.grad(result.sum(), [X])
    Fuse.runs = 0
    interpret([result, slope], x0, np.asarray(-1.0))
    assert Fuse.runs == 0
    value, by_x = interpret([result, slope], x0, np.asarray(1.0))
    assert Fuse.runs == 2
    np.testing.assert_array_equal(value, 3 * x0)
    np.testing.assert_array_equal(by_x, [3.0, 3.0, 3.0])


def test_operands_and_what_is_reached_outside():
    outside = pt.exp(A)
    (result,) = conditional(pt.gt(A, 0.0), lambda v: [v + outside], lambda v: [v * 0], [X])
    assert isinstance(result.owner.op, Conditional)
    assert result.owner.inputs[1:] == [X, outside]
    np.testing.assert_allclose(interpret([result], x0, np.asarray(1.0))[0], x0 + np.e)
    again = conditional(pt.gt(A, 0.0), lambda v: [v + outside], lambda v: [v * 0], [X])[0]
    assert again.owner.op == result.owner.op
    assert hash(again.owner.op) == hash(result.owner.op)


@pytest.mark.compiled
def test_pytensors_conditional_in_a_kernel():
    total = ifelse(pt.gt(A, 0.0), pt.exp(X).sum(), pt.log(A + 10))
    assert compiled([total], x0, np.asarray(1.0)) == pytest.approx((np.exp(x0).sum(),))
    assert compiled([total], x0, np.asarray(-1.0)) == pytest.approx((np.log(9.0),))


def test_branches_that_do_not_fit():
    with pytest.raises(GraphError, match="one branch gives 1 results, the other 2"):
        conditional(pt.gt(A, 0.0), lambda: [X], lambda: [X, X])
    text = r"different things as result 0\n  then: Vector.*\n  else: Scalar"
    with pytest.raises(GraphError, match=text):
        conditional(pt.gt(A, 0.0), lambda: [X], lambda: [A])
    with pytest.raises(TypeError, match="a condition is a bool scalar"):
        conditional(X, lambda: [X], lambda: [X])


@pytest.mark.parametrize("run", RUNNERS)
@pytest.mark.parametrize("at", [0.5, -0.5], ids=["longer", "shorter"])
def test_branches_of_other_lengths(run, at):
    """A result is as long as that of the branch that is taken."""
    (vector,) = conditional(
        pt.gt(A, 0.0), lambda: [pt.concatenate([pt.exp(X), X])], lambda: [pt.sin(X)[1:]]
    )
    found, total = run([vector, (vector**2).sum()], x0, np.asarray(at))
    expected = np.concatenate([np.exp(x0), x0]) if at > 0 else np.sin(x0)[1:]
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(total, (expected**2).sum())
