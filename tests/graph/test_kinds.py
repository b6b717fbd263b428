"""Every kind of nodes answers for all that is asked of it: one example each, and what holds of all.

A new kind is added to `examples`; what it lacks is named by the tests that fail.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytensor.tensor as pt
import pytest

import dimtensor as dt
from dimtensor import dist
from dimtensor.compile.caching.fingerprint import describe_graph
from dimtensor.compile.caching.rebuild import rebuild_graph
from dimtensor.dims import DerivedDim, Dim
from dimtensor.errors import GraphError
from dimtensor.graph import Node
from dimtensor.graph.attrs import LabelPosition
from dimtensor.graph.checking.checks import check_messages
from dimtensor.graph.checking.verify import verify_graph
from dimtensor.graph.forms import LEAF
from dimtensor.graph.infer import describe
from dimtensor.graph.kind import Kind, kind_of
from dimtensor.graph.node import KINDS, make
from dimtensor.graph.partition.analysis import split
from dimtensor.graph.printing.shown import shown
from dimtensor.graph.printing.text import call_of
from dimtensor.graph.regions import Region
from dimtensor.graph.walk import toposort

A, B, T = Dim("a", length=3), Dim("b", coords=["u", "v"]), Dim("t")


@cache
def examples() -> dict[str, Node]:
    """A node of each kind."""
    x, y = dt.tensor("x", dims=[A, B]), dt.tensor("y", dims=B)
    at = dt.tensor("at", dims=T, dtype="int64")
    labels = dt.data(["u", "v", "u"], dims=A, categories=B, name="labels")
    cumulative = dt.cumulate(lambda s, e: s + e, dt.zeros(B), x, dim=A)
    chosen = dt.if_else(y.sum() > 0, lambda: y * 2, lambda: y)
    gradient = dt.grad((y**2).sum(), y)
    rng = dt.random.generator(dt.scalar("seed", dtype="int64"))
    streams = dt.random.generator(1).split(T)
    nodes = {
        "input": x.node,
        "data": labels.node,
        "shaped": dt.from_shaped(pt.matrix("m", shape=(3, None)), [A, T]).node,
        "constant": (x - 2.5).node.inputs[1],
        "length": make("length", (), T),
        "positions": dt.arange(T).node,
        "label_position": make("label_position", (), LabelPosition(T, ("p",), "one")),
        "elemwise": (x + y).node,
        "cast": x.astype("float32").node,
        "codes": labels.codes.node,
        "check": dt.check(y > 0, "y is positive", y).node,
        "reduce": x.sum(A).node,
        "cumulate": x.cumsum(A).node,
        "softmax": x.softmax(A).node,
        "arg_reduce": x.argmax(A).codes.node,
        "sort": x.sort(A).node,
        "argsort": x.argsort(A).node,
        "expand": y.expand(A).node,
        "relabel": x.rename_dim(A).node,
        "index": x.isel(a=at).node,
        "update": x.isel(a=0).set(y).node,
        "merge": x.ravel().node,
        "split": dt.tensor("flat", dims=dt.ProductDim([A, B])).unravel().node,
        "concat": dt.concat([x, x * 2], A).node,
        "stack": dt.stack([y, y * 2], dt.Dim("s", length=2)).node,
        "dot": dt.dot(x, y, dim=B).node,
        "apply": dt.linalg.cholesky(dt.dot(x, x.rename_dim(A), dim=B)).node,
        "group_position": x.isel(b=0).groupby(labels).first().node,
        "rv": dt.rv("effect", dist.Normal(0.0, dt.exp(y)), dims=A).node,
        "named": dt.named("name", y * 2).node,
        "bound": None,
        "loop": cumulative.node,
        "cond": chosen.node,
        "gradient": gradient.node,
        "jacobian": dt.jacobian(y**2, y).node,
        "pushforward": dt.jvp(y**2, y, y).node,
        "seed": rng.words.node,
        "stream": streams.words.node,
        "draw": rng.normal(y, 1.0, dims=T)[0].node,
        "shown": shown([gradient.node])[0],
    }
    found = {}
    for name, node in nodes.items():
        if node is None:
            node = next(iter(kind_of(gradient.node).regions(gradient.node.attrs)[0].bound))
        found[name] = next((n for n in reversed(toposort([node])) if n.kind == name), node)
    return found


def dims_in(value: Any) -> Iterator[Dim]:
    """The dims that attributes name; those of leaves in regions have names of their own."""
    if isinstance(value, Dim):
        yield value
    elif isinstance(value, tuple) and not isinstance(value, Region):
        for part in value:
            yield from dims_in(part)


each = pytest.mark.parametrize("name", sorted(KINDS))


def test_every_kind_has_an_example() -> None:
    assert set(examples()) == set(KINDS)
    wrong = {name: node.kind for name, node in examples().items() if node.kind != name}
    assert not wrong


@each
def test_a_kind_defines_what_has_no_default(name: str) -> None:
    kind = KINDS[name]
    for method in ("infer", "complaint", "call"):
        assert getattr(type(kind), method) is not getattr(Kind, method), method
    assert (type(kind).rebuilt is not Kind.rebuilt) == kind.has_regions
    assert (type(kind).regions is not Kind.regions) == kind.has_regions
    assert type(kind).__doc__ is not Kind.__doc__


@each
def test_a_node_is_what_its_kind_says(name: str) -> None:
    node = examples()[name]
    kind = kind_of(node)
    assert kind.name == name
    assert isinstance(node.attrs, kind.attrs)
    assert kind.complaint(node) is None
    assert kind.infer(node.inputs, node.attrs) == (node.dims, node.dtype, node.categories)
    assert bool(kind.regions(node.attrs)) == kind.has_regions
    assert describe(node)
    if name != "shown":
        verify_graph([node], full=True)


@each
def test_attributes_of_another_type_are_refused(name: str) -> None:
    node = examples()[name]
    broken = object.__new__(Node)
    for slot in ("kind", "inputs", "dims", "dtype", "categories", "_serial"):
        object.__setattr__(broken, slot, getattr(node, slot))
    object.__setattr__(broken, "attrs", frozenset())
    with pytest.raises(GraphError, match="attributes are of another type"):
        verify_graph([broken], full=True)


@each
def test_all_dims_in_attributes_are_exchanged(name: str) -> None:
    """Leaves get theirs from their maker, and bound ones from the node that has them."""
    node = examples()[name]
    if kind_of(node).is_leaf or name in ("bound", "shown"):
        return

    def other(dim: Dim) -> Dim:
        if isinstance(dim, DerivedDim):
            return dim._with_parents([*map(other, dim.parents)])
        return Dim(f"other {dim.name}", length=dim.length)

    before = list(dims_in(node.attrs))
    after = list(dims_in(kind_of(node).map_dims(node.attrs, other)))
    assert after == list(map(other, before))


@each
def test_a_call_has_all_inputs(name: str) -> None:
    node = examples()[name]
    call = call_of(node)
    assert call.name
    given = [x for _, x in call.operands]
    assert sorted(map(id, given)) == sorted(map(id, node.inputs))
    assert all(isinstance(text, str) for option in call.options for text in option)


@each
def test_dims_that_are_named_have_a_role(name: str) -> None:
    """The plan of axes tells dims apart by what nodes do with them, each of those it names."""
    node = examples()[name]
    if kind_of(node).is_leaf or name in ("bound", "shown"):
        return
    numbers = {x: at for at, x in enumerate(node.inputs)}
    named = {dim for dim, _ in kind_of(node).mentions(node, numbers)}
    parts = {part for dim in dims_in(node.attrs) for part in (dim, *dim.parents)}
    assert named <= parts
    assert all(named & {dim, *dim.parents} for dim in dims_in(node.attrs))


@each
def test_values_that_are_moved_are_those_of_inputs(name: str) -> None:
    node = examples()[name]
    values = kind_of(node).values_of(node)
    assert values is None or set(values) <= set(node.inputs)


# the others keep positions along some dims apart, and combine none
COMBINES = {"reduce", "dot", "update"}
LINEAR = {
    "elemwise", "cast", "check", "reduce", "cumulate", "expand", "relabel", "index", "update",
    "merge", "split", "concat", "stack", "dot", "named",
}  # fmt: skip


@each
def test_a_kind_says_how_values_for_slices_make_the_whole(name: str) -> None:
    """Of each dim of the node or its inputs it is known whether it can be cut."""
    kind, node = KINDS[name], examples()[name]
    assert (type(kind).combined_by is not Kind.combined_by) == (name in COMBINES)
    assert (type(kind).linear is not Kind.linear) == (name in LINEAR)
    for dim in dict.fromkeys(dim for x in (node, *node.inputs) for dim in x.dims):
        found = split(node, dim)
        assert found.obstacle is None or found.role is None
        if found.obstacle is None and dim not in node.dims and dim in node.inputs[0].dims:
            assert found.role is not None or found.known  # constants, computed from data


@each
def test_messages_are_about_dims_of_the_node_or_its_inputs(name: str) -> None:
    node = examples()[name]
    known = {*node.dims, *(dim for x in node.inputs for dim in x.dims), None}
    for about, text in check_messages(node).items():
        assert about in known
        assert text


@each
def test_a_description_has_what_a_node_is_made_of(name: str) -> None:
    """A graph made of the description has a node of the kind, with the same types of inputs."""
    node = examples()[name]
    if name in ("shaped", "shown", "bound", "rv"):  # of this process, printed, in regions, no value
        return
    given = [x for x in toposort([node]) if x.kind == "input"]
    description = describe_graph([*given, T], [node])
    rebuilt = rebuild_graph(description)
    leaf = description.nodes[-1] is node and kind_of(node).form(node) == LEAF
    found = {x for x, at in rebuilt.numbers.items() if isinstance(x, Node)}
    again = [x for x in found if x.kind == ("input" if leaf else name)]
    dtypes = [x.dtype for x in node.inputs]
    assert any(x.dtype == node.dtype and [i.dtype for i in x.inputs] == dtypes for x in again)
    assert describe_graph([*given, T], [node]).fingerprint == description.fingerprint


@each
def test_a_node_survives_a_pickle(name: str) -> None:
    if name == "shaped":  # a variable of PyTensor is another one afterwards
        return
    node = examples()[name]
    assert pickle.loads(pickle.dumps(node)) is node


def test_a_message_does_not_decide_what_is_differentiated() -> None:
    """A check whose message is the name of an operation is a check."""
    x = dt.tensor("x", dims=A)
    y = dt.check(x > 0, "stop_gradient", x)
    with pytest.raises(GraphError, match="the derivative of jv with respect to v is not known"):
        dt.grad(dt.special.jv(y, 2.0).sum(), x)
