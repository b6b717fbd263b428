"""Regions: what the verifier refuses, and what may be captured."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.errors import GraphError
from dimtensor.graph import Node, toposort
from dimtensor.graph.checking.verify import verify_graph
from dimtensor.graph.regions import bound_leaf, placeholder
from dimtensor.graph.walk import with_regions

TIME = dt.Dim("time", length=3)
X, A = dt.tensor("x", dims=TIME), dt.scalar("a")


def loop():
    return dt.scan(lambda s, x: (s * A + x, s), 0.0, X, dim=TIME)[0].node


def branch():
    return dt.if_else(A > 0, lambda: A + 1, lambda: A).node


def forged(like, **fields):
    """A node as make would never make it."""
    node = object.__new__(Node)
    for name in Node.__base__.__slots__:
        if name not in ("__weakref__", "handle"):
            object.__setattr__(node, name, fields.get(name, getattr(like, name)))
    return node


def with_outputs(region, *outputs):
    return region._replace(outputs=outputs)


def broken():
    node, cond = loop(), branch()
    attrs = node.attrs
    after, y = attrs.region.outputs
    stray, leaf = A.node, placeholder((), "float64")
    return {
        "an output that is not there": (forged(node, attrs=attrs._replace(output=2)), "output 2"),
        "traces of a loop along nothing": (
            forged(node, attrs=attrs._replace(over=None)), "belong to loops along a dim",
        ),
        "a sequence without the dim": (
            forged(node, inputs=(*node.inputs[:1], stray, *node.inputs[2:])),
            r"which input\(\) .* lacks",
        ),
        "an input too many": (forged(node, inputs=(*node.inputs, stray)), "takes 3 inputs, not 4"),
        "a body that is open": (
            forged(node, attrs=attrs._replace(region=with_outputs(attrs.region, stray, y))),
            "which is outside of it",
        ),
        "a body with a placeholder": (
            forged(node, attrs=attrs._replace(region=with_outputs(attrs.region, after, leaf))),
            "which is outside of it",
        ),
        "a state of another type": (
            forged(node, attrs=attrs._replace(
                region=with_outputs(attrs.region, bound_leaf(0, (), "int64"), y))),
            "outside of it|of another type",
        ),
        "a branch too many inputs": (forged(cond, inputs=(*cond.inputs, stray)), "takes 2 inputs"),
        "a branch that is open": (
            forged(cond, attrs=cond.attrs._replace(then=with_outputs(cond.attrs.then, stray))),
            "which is outside of it",
        ),
    }  # fmt: skip


@pytest.mark.parametrize("case", sorted(broken()))
def test_broken_loops_are_found(case):
    node, complaint = broken()[case]
    with pytest.raises(GraphError, match=complaint):
        verify_graph([node], full=True)


def test_sound_loops_pass():
    verify_graph([loop(), branch()], full=True)
    kinds = [node.kind for node in with_regions(toposort([loop()]))]
    assert kinds.count("bound") == 3
    assert kinds[-1] == "loop"


def test_what_loops_capture():
    """Of what is outside, as much as possible; numbers and checks stay inside."""
    k = dt.Dim("k", length=2)
    w = dt.tensor("w", dims=k)
    outside = dt.exp(w).sum()

    def step(s, x):
        return s + 2.0 * outside * dt.sqrt(A) + dt.check(A > 0, "positive", A), None

    node = dt.scan(step, 0.0, X, dim=TIME)[0].node
    captured = node.inputs[2:]
    assert outside.node not in captured
    assert {x.kind for x in captured} == {"elemwise", "input"}
    body = toposort(node.attrs.region.outputs)
    assert "check" in {x.kind for x in body}
    assert not {x.attrs for x in body} & {"exp", "sqrt"}
    value = dt.evaluate(dt.reduce(lambda s, x: step(s, x)[0], 0.0, X, TIME),
                        {w: np.zeros(2), A: 4.0, X: np.zeros(3)})  # fmt: skip
    assert float(value) == 3 * (2.0 * 2 * 2 + 4)


def test_what_branches_capture():
    """What was made outside is an input; what a branch makes stays in it, also if it is not new."""
    outside = dt.exp(A)
    node = dt.if_else(A > 0, lambda: outside * dt.sqrt(A), lambda: A).node
    assert outside.node in node.inputs
    kept = dt.sqrt(A)
    again = dt.if_else(A > 0, lambda: outside * dt.sqrt(A), lambda: A).node
    assert again is node
    assert kept.node not in node.inputs
    gradient = dt.grad(dt.if_else(A > 0, lambda: outside**2, lambda: A), outside)
    assert float(gradient.eval({A: 1.0})) == pytest.approx(2 * np.e)
