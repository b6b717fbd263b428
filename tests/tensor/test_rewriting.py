"""Expressions rewritten by a function, and what nodes say of themselves."""

from __future__ import annotations

import numpy as np
import pytensor.tensor as pt
import pytest

import dimtensor as dt
from tests.graph.test_kinds import examples

K = dt.Dim("k", length=3)
X, Y = dt.tensor("x", dims=K), dt.tensor("y", dims=K)
A = dt.scalar("a")
VALUES = {"x": np.array([1.0, 2.0, 4.0]), "y": np.array([0.5, 0.25, 3.0]), "a": 0.75}


def given(x):
    return {name: VALUES[name] for name in (t.name for t in dt.inputs_of(x))}


def doubled(t):
    """Every exp becomes twice itself."""
    return 2.0 * t if t.node.operation == "exp" else None


def test_nothing_changes_where_the_function_gives_none():
    y = dt.cumulate(lambda s, x: s * A + dt.exp(x), 0.0, X, dim=K).sum()
    assert dt.rewrite(y, lambda t: None) is y


def test_it_goes_bottom_up_and_sees_rewritten_operands():
    seen = []

    def f(t):
        seen.append(t.node.operation)
        return doubled(t)

    y = dt.exp(dt.exp(X))
    assert dt.rewrite(y, f) is 2.0 * dt.exp(2.0 * dt.exp(X))
    assert seen == ["input", "exp", "exp"]


LOOPS = {
    "a loop": lambda e: dt.cumulate(lambda s, x: A * s + e(x), 0.0, X, dim=K),
    "a loop in a loop": lambda e: dt.cumulate(
        lambda s, x: s + dt.reduce(lambda t, y: t * x + e(y), 0.0, Y, dim=K), 0.0, X, dim=K
    ),
    "an arm": lambda e: dt.if_else(A > 0.0, lambda: e(X), lambda: X),
    "arms by element": lambda e: dt.if_else(X > 1.5, lambda x: e(x) * A, lambda x: x, X),
    "a while loop": lambda e: dt.while_loop(lambda s: s < 5.0, lambda s: s + e(A), A),
    "a derivative": lambda e: dt.grad((e(X) * Y).sum(), X),
    "an operand of a loop": lambda e: dt.cumulate(lambda s, x: s + x, 0.0, e(X), dim=K),
}


@pytest.mark.parametrize("name", LOOPS)
def test_it_reaches_what_is_inside_of(name):
    build = LOOPS[name]
    found = dt.rewrite(build(dt.exp), doubled)
    by_hand = build(lambda x: 2.0 * dt.exp(x))
    np.testing.assert_allclose(found.eval(given(found)), by_hand.eval(given(by_hand)), rtol=1e-14)
    assert not np.allclose(found.eval(given(found)), build(dt.exp).eval(given(found)))


def test_inputs_and_numbers_are_rewritten_too():
    assert dt.rewrite(X * 3.0, lambda t: Y if t is X else None) is Y * 3.0
    larger = dt.rewrite(X * 3.0, lambda t: t + 1.0 if t.node.value == 3.0 else None)
    assert larger.eval({"x": VALUES["x"]}).values.tolist() == [4.0, 8.0, 16.0]


def test_lists_and_dicts_come_back_as_they_are():
    one, other = dt.rewrite([dt.exp(X), X], doubled)
    assert one is 2.0 * dt.exp(X)
    assert other is X
    found = dt.rewrite({"a": dt.exp(X)}, doubled)
    assert found["a"] is 2.0 * dt.exp(X)


def test_more_dims_batch_what_depends_on_it():
    draw = dt.Dim("draw", length=2)
    many = dt.tensor("many", dims=[draw, K])
    assert dt.rewrite(X.sum(), lambda t: many if t is X else None).dims == (draw,)


def test_what_does_not_fit_is_refused():
    with pytest.raises(dt.DimError, match=r"lacks dims\n  given: \{\}\n  lacking: \{k\}"):
        dt.rewrite(X * 2.0, lambda t: A if t is X else None)
    with pytest.raises(dt.DtypeError, match="expected: float64\n  given: int64"):
        dt.rewrite(X * 2.0, lambda t: t.astype("int64") if t is X else None)
    with pytest.raises(dt.ArgumentError, match="not int"):
        dt.rewrite(X * 2.0, lambda t: 7 if t is X else None)


def test_nodes_say_what_they_are():
    y = (2.0 * X).sum()
    assert (y.node.operation, y.node.options) == ("sum", {"dim": "{k}"})
    assert dt.from_node(y.node.inputs[0]) is 2.0 * X
    assert X.node.value is None
    assert {one.value for one in dt.walk(y) if one.operation == "constant"} == {2.0}
    loop = dt.reduce(lambda s, x: s + x, 0.0, X, dim=K).node
    assert list(loop.bodies) == ["body"]
    assert {"add"} <= {one.operation for one in loop.bodies["body"]}
    assert not X.node.bodies


def test_nodes_are_read_alone():
    node = dt.exp(X).node
    for name in ("kind", "inputs", "attrs", "dims", "dtype", "handle", "operation", "unheard_of"):
        with pytest.raises(dt.NoAttributeError, match="a node is read and not changed"):
            setattr(node, name, None)
    with pytest.raises(AttributeError, match=r"dt\.rewrite and dt\.substitute make new"):
        del node.dims
    # equal expressions are this node, which is what it was
    assert dt.exp(X).node is node
    assert (node.operation, node.dims, dt.from_node(node)) == ("exp", (K,), dt.exp(X))


def test_every_kind_of_nodes_says_its_operation():
    for node in examples().values():
        for one in dt.walk(dt.from_node(node)):
            assert one.operation
            assert all(isinstance(text, str) for text in one.options.values())


def test_data_give_their_values_with_labels():
    k = dt.Dim("k", coords=["a", "b"])
    y = dt.data([1.0, 2.0], dims=k)
    assert dt.data_of(y).sel(k="b").item() == 2.0
    codes = dt.data(["b", "a", "b"], dims=dt.Dim("obs"), categories=k)
    assert dt.data_of(codes.node).values.tolist() == ["b", "a", "b"]
    with pytest.raises(dt.OptionError, match="'x' is no data"):
        dt.data_of(X)
    with pytest.raises(dt.ArgumentError, match="a node is expected"):
        dt.from_node(X)


def test_parts_are_substituted_by_name():
    y = dt.data([1.0, 2.0, 3.0], dims=K, name="seen")
    loss = ((X - y) ** 2).sum()
    assert dt.substitute(loss, {"x": Y, "seen": X}) is ((Y - X) ** 2).sum()
    with pytest.raises(dt.LabelError, match=r"no tensor is named 'xx' \(did you mean 'x'\?\)"):
        dt.substitute(loss, {"xx": Y})
    other = dt.data([4.0, 2.0, 3.0], dims=K, name="seen")
    with pytest.raises(dt.LabelError, match="2 tensors are named 'seen'"):
        dt.substitute(loss * other, {"seen": X})


def test_dims_are_exchanged_beside_tensors():
    wide = dt.Dim("k", length=5)
    found = dt.substitute(X * A, {"a": 2.0 * A}, dims={K: wide})
    assert found.sizes == {"k": 5}
    assert found is dt.substitute(X * A, {A: 2.0 * A, K: wide})
    assert found is dt.substitute(X * A, {"a": 2.0 * A}, dims={"k": wide})
    with pytest.raises(dt.DimError, match="is replaced by a dim, not DimTensor"):
        dt.substitute(X, dims={K: X})


def test_stacked_tensors_keep_their_labels_in_another_order():
    term = dt.Dim("term", coords=["one", "two"])
    x, y = dt.scalar("x"), dt.scalar("y")
    stacked = dt.stack([x, y], term)
    moved = dt.substitute(stacked, {term: dt.Dim("term", coords=["two", "one"])})
    assert moved.eval({x: 1.0, y: 2.0}).sel(term=["one", "two"]).values.tolist() == [1.0, 2.0]
    assert dt.substitute(stacked, {term: dt.Dim("term", coords=["two"])}).eval({y: 2.0}) == [2.0]
    with pytest.raises(dt.LabelError, match="none for labels of the dim that replaces it"):
        dt.substitute(stacked, {term: dt.Dim("term", coords=["one", "three"])})
    with pytest.raises(dt.DimError, match="has values along dim 'term', and none along another"):
        dt.substitute(
            dt.from_shaped(pt.vector(shape=(2,)), dims=[term]),
            {term: dt.Dim("term", coords=["two", "one"])},
        )


def test_dims_are_exchanged_by_name():
    wide = dt.Dim("k", length=5)
    within = dt.cumulate(lambda s, x: s + x * A, 0.0, X * Y, dim=K).sum()
    assert dt.substitute(within, dims={"k": wide}) is dt.substitute(within, dims={K: wide})
    with pytest.raises(
        dt.UnknownDimError, match=r"no dim 'kk' \(did you mean 'k'\?\)\n  dims: 'k'"
    ):
        dt.substitute(X, dims={"kk": wide})
    both = dt.tensor("x", dims=wide).sum() + X.sum()
    with pytest.raises(
        dt.UnknownDimError, match="2 dims are named 'k'; pass the Dim instead of its name"
    ):
        dt.substitute(both, dims={"k": wide})


def test_inputs_and_nodes_of_a_dict_are_those_of_its_values():
    parts = {"one": dt.exp(X), "other": A * Y}
    assert {x.name for x in dt.inputs_of(parts)} == {"x", "y", "a"}
    assert dt.walk(parts) == dt.walk(list(parts.values()))
