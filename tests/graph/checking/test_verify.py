"""The verifiers find broken nodes and broken lowering rules, and leave sound graphs alone."""

from __future__ import annotations

import numpy as np
import pytensor.tensor as pt
import pytest

import dimtensor as dt
from dimtensor import dist
from dimtensor.compile.caching.description import lower_description
from dimtensor.compile.caching.fingerprint import describe_graph
from dimtensor.compile.program import build_program
from dimtensor.dims import PadDim, SelDim
from dimtensor.errors import GraphError
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import (
    AlongAttrs,
    IndexAttrs,
    IndexItem,
    ReduceAttrs,
    RelabelAttrs,
    UpdateAttrs,
)
from dimtensor.graph.checking.verify import BrokenGraphError, full_checks, verify_graph
from dimtensor.graph.forms import FormlessError
from dimtensor.graph.printing.shown import shown
from dimtensor.graph.regions import Region
from dimtensor.lower import RULES, AxisOrder, Lowering
from dimtensor.lower.verify import verify_program

COUNTRY = dt.Dim("country", coords=["Italy", "Kenya", "USA"])
AGE = dt.Dim("age", length=5)
OBS = dt.Dim("obs")


def effect():
    return dt.tensor("a", dims=COUNTRY) + dt.tensor("b", dims=AGE)


def forged(like: Node, **fields) -> Node:
    """A node with some fields wrong, as no function of the package makes it."""
    node = object.__new__(Node)
    for slot in ("kind", "inputs", "attrs", "dims", "dtype", "categories", "_serial", "_beside"):
        object.__setattr__(node, slot, fields.get(slot, getattr(like, slot)))
    if "_serial" not in fields:
        object.__setattr__(node, "_serial", dt.scalar().node._serial + 1)
    return node


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"kind": "summon"}, r"there is no node kind 'summon'"),
        ({"dtype": "float46"}, r"'float46' is not a dtype"),
        ({"dims": (COUNTRY, AGE)}, r"not in canonical order\n  node: add\(a, b\)"),
        ({"dims": (COUNTRY, SelDim(COUNTRY, ["USA"]))}, r"two dims have one name"),
        ({"dims": (AGE, AGE)}, r"two dims have one name"),
        ({"inputs": (1, 2)}, r"an input is not a node\n  node: .*\n  input: 1"),
        ({"inputs": []}, r"the inputs of a node are a tuple"),
        ({"_serial": -1}, r"an input is not older than its node"),
    ],
)
def test_cheap_checks_find_a_broken_node(fields, complaint):
    broken = forged(effect().node, **fields)
    with pytest.raises(GraphError, match=complaint):
        verify_graph([broken], full=False)
    with pytest.raises(GraphError, match=complaint):
        verify_graph([broken], full=True)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"dims": (AGE,)}, r"inference gives other dims\n  node: add\(a, b\)(.|\n)*Dim"),
        ({"dtype": "float32"}, r"inference gives another dtype"),
        ({"categories": COUNTRY}, r"inference gives other categories"),
        ({"attrs": "multiply", "dims": (AGE,)}, "inference gives other dims"),
        ({"attrs": ["add"]}, r"not hashable"),
        ({"attrs": "adddd"}, r"inference rejects the node(.|\n)*KeyError"),
        ({}, r"not the interned node"),
    ],
)
def test_full_checks_find_what_inference_contradicts(fields, complaint):
    broken = forged(effect().node, **fields)
    with pytest.raises(GraphError, match=complaint):
        verify_graph([broken], full=True)


def test_a_broken_node_deep_below_is_found():
    broken = forged(effect().node, dims=(COUNTRY, AGE))
    outer = forged(dt.exp(effect()).node, inputs=(broken,))
    with pytest.raises(GraphError, match=r"canonical order\n  node: add\(a, b\)"):
        verify_graph([outer], full=False)


def test_a_cycle_is_an_error_and_not_an_endless_walk():
    one = forged(dt.exp(effect()).node)
    other = forged(dt.log(dt.exp(effect())).node, inputs=(one,))
    object.__setattr__(one, "inputs", (other,))
    with pytest.raises(GraphError, match="not older than its node"):
        verify_graph([other], full=False)


def _x() -> Node:
    return effect().node


def _broken_attrs():
    x, lone = _x(), dt.tensor("a", dims=COUNTRY).node
    matrix = dt.from_shaped(pt.matrix("m", shape=(3, None)), [COUNTRY, OBS]).node
    data = dt.data(np.zeros(5), dims=AGE).node
    loose = forged(data)
    object.__setattr__(loose, "attrs", data.attrs.__class__(None, (AGE,), np.zeros(5)))
    object.__setattr__(loose.attrs, "values", np.zeros(5))
    checked = dt.check(lone_tensor() > 0, "positive", lone_tensor()).node
    other = data.attrs.__class__("d", (COUNTRY,), np.zeros(3))
    object.__setattr__(other, "dims", (AGE,))
    wrong_shape = matrix.attrs._replace(dims=(AGE, OBS))
    k = dt.Dim("k", length=2)
    item = IndexItem(OBS, "int", 0)
    gradient = dt.grad((lone_tensor() ** 2).sum(), lone_tensor()).node
    bound = gradient.attrs.region.bound
    jacobian = dt.jacobian(dt.exp(lone_tensor()), lone_tensor()).node
    (printed,) = shown([gradient])
    return {
        "reduce": (forged(dt.sum(effect(), COUNTRY).node, attrs=ReduceAttrs("sum", (OBS,))),
                   r"refer to Dim\('obs'\), which the operand lacks"),
        "cumulate": (
            forged(dt.cumsum(effect(), AGE).node, attrs=AlongAttrs("cumsum", OBS)),
            "refer to",
        ),
        "arg_reduce": (forged(effect().argmax(AGE).node, inputs=(lone,)), "refer to"),
        "sort": (forged(effect().sort(AGE).node, inputs=(lone,)), "refer to"),
        "relabel": (forged(effect().rename_dim(AGE).node, inputs=(lone,)), "refer to"),
        "relabel, lengths": (
            forged(effect().rename_dim(AGE).node, attrs=RelabelAttrs(((AGE, PadDim(AGE, 1, 0)),))),
            "of length 5 becomes",
        ),
        "merge": (forged(effect().ravel().node, inputs=(lone,)), "refer to"),
        "split": (forged(effect().ravel().unravel().node, kind="split", inputs=(lone,),
                         attrs=effect().ravel().dims[0]), "refer to"),
        "dot": (forged(dt.dot(lone_tensor(), lone_tensor(), dim=COUNTRY).node, attrs=(OBS,)),
                "every operand"),
        "index": (forged(effect().isel(age=0).node, attrs=IndexAttrs((item,))), "refer to"),
        "index twice": (
            forged(effect().isel(age=0).node, attrs=IndexAttrs((IndexItem(AGE, "int", 0),) * 2)),
            "indexed twice",
        ),
        "index, number": (
            forged(effect().isel(age=0).node, attrs=IndexAttrs((IndexItem(AGE, "tensor", 3),))),
            "indexer number 3 of 0",
        ),
        "index, kind": (
            forged(effect().isel(age=0).node, attrs=IndexAttrs((IndexItem(AGE, "magic", 3),))),
            "no indexing kind 'magic'",
        ),
        "update": (
            forged(make("update", (x, dt.scalar("v").node),
                        UpdateAttrs("set", (IndexItem(AGE, "int", 0),))),
                   attrs=UpdateAttrs("put", ())),
            "no update mode 'put'",
        ),
        "stack": (
            forged(dt.stack([lone_tensor(), lone_tensor() * 2], k).node, inputs=(lone, lone, lone)),
            "3 inputs are stacked along",
        ),
        "gradient": (forged(gradient, attrs=gradient.attrs._replace(output=4)),
                     "gradient number 4 of 1"),
        "gradient, variables": (forged(gradient, attrs=gradient.attrs._replace(n_wrt=4)),
                                "a gradient by 4 of 1 variables"),
        "gradient, open": (
            forged(gradient, attrs=gradient.attrs._replace(region=Region((lone,), bound))),
            r"its body depends on input\(\) .*, which is outside of it",
        ),
        "jacobian": (forged(jacobian, inputs=(lone, lone)), "takes 1 inputs, not 2"),
        "jacobian, variables": (forged(jacobian, attrs=jacobian.attrs._replace(n_wrt=0)),
                                "a jacobian by 0 variables"),
        "pushforward": (
            forged(dt.jvp(lone_tensor() ** 2, lone_tensor(), lone_tensor()).node, inputs=(lone,)),
            "takes 2 inputs, not 1",
        ),
        "input": (forged(lone, inputs=(lone,)), "takes 0 inputs"),
        "check, message": (forged(checked, attrs=None), r"another type\n(.|\n)*expected: str"),
        "check, inputs": (forged(checked, inputs=checked.inputs * 2), "takes 2 inputs, not 4"),
        "shown": (forged(printed, inputs=printed.inputs[:1]), "takes 2 inputs, not 1"),
        "data, values": (loose, "can be overwritten"),
        "data, lengths": (forged(data, attrs=other), "has length 5, its axis 3"),
        "shaped": (forged(matrix, attrs=wrong_shape), "has length 5, its axis 3"),
    }  # fmt: skip


def lone_tensor():
    return dt.tensor("a", dims=COUNTRY)


@pytest.mark.parametrize("case", sorted(_broken_attrs()))
def test_full_checks_find_broken_attributes(case):
    broken, complaint = _broken_attrs()[case]
    with pytest.raises(GraphError, match=complaint):
        verify_graph([broken], full=True)


def sound_graphs():
    where = dt.data(["USA", "Italy"], dims=OBS, categories=COUNTRY, name="where")
    a = dt.tensor("a", dims=COUNTRY)
    looked_up = effect().sel(country=where)
    loss = (looked_up**2).sum()
    return [
        loss,
        *dt.grad(loss, [a]),
        dt.hessian((a**3).sum(), a),
        looked_up.groupby(where).mean(),
        effect().ravel().unravel(),
        dt.concat([a.isel(country=[0]), a.isel(country=[2])], "country"),
        a.sort(COUNTRY) + 0,
        effect().max(AGE).argmax(COUNTRY),
        dt.dot(a, effect(), dim=COUNTRY),
        a[a > 0].sum(),
        dt.from_shaped(pt.matrix("m", shape=(3, None)), [COUNTRY, OBS]).sum(OBS),
        dt.jvp(dt.exp(a), [a], [dt.ones(COUNTRY)]),
        dt.check(a > 0, "positive", looked_up),
    ]


def test_sound_graphs_pass():
    verify_graph([x.node for x in sound_graphs()], full=True)


def test_the_environment_asks_for_full_checks(monkeypatch):
    wrong = forged(effect().node, dims=(AGE,))
    monkeypatch.setenv("DIMTENSOR_VERIFY", "0")
    assert not full_checks()
    verify_graph([wrong])
    monkeypatch.setenv("DIMTENSOR_VERIFY", "1")
    with pytest.raises(GraphError, match="inference gives other dims"):
        verify_graph([wrong])


# -- the lowered graph -----------------------------------------------------------------------------


@pytest.fixture
def rule(monkeypatch):
    """Exchange the lowering of a node kind."""

    def exchange(kind, function):
        monkeypatch.setitem(RULES, kind, function)

    return exchange


def lower_sum():
    a = dt.tensor("a", dims=COUNTRY)
    x = (a + dt.tensor("b", dims=AGE)).sum(AGE)
    inputs = [a.node, dt.tensor("b", dims=AGE).node]
    return build_program(inputs, [x.node])


def test_the_unbroken_rule_lowers():
    assert lower_sum().outputs[0].type.shape == (3,)


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (lambda ctx, node, inputs: (pt.sum(inputs[0]), node.dims), r"0 axes stand for 1 dims"),
        (
            lambda ctx, node, inputs: (pt.sum(inputs[0], axis=1)[:2], node.dims),
            r"axis 0 has static length 2, dim 'country' has length 3"
            r"\n  node: sum\(<elemwise>, dim=\{age\}\) \{country\} float64",
        ),
        (
            lambda ctx, node, inputs: (pt.sum(inputs[0], axis=0), node.dims),
            r"static length",
        ),
    ],
)
def test_a_broken_rule_is_caught_at_its_node(rule, broken, complaint):
    rule("reduce", broken)
    with pytest.raises(GraphError, match=complaint):
        lower_sum()


def test_a_leaf_of_another_dtype_is_caught():
    x = dt.tensor("x", dims=AGE).node
    lowering = Lowering([x], AxisOrder.canonical(), lambda node, dims: pt.lvector())
    with pytest.raises(GraphError, match="dtype int64 stands for float64"):
        lowering.run()


def test_a_variable_from_nowhere_is_caught(rule, monkeypatch):
    monkeypatch.setenv("DIMTENSOR_VERIFY", "1")
    stray = pt.vector("stray", shape=(3,))
    rule("reduce", lambda ctx, node, inputs: (stray, node.dims))
    with pytest.raises(GraphError, match=r"not its inputs\n  variables: stray"):
        lower_sum()


def test_an_input_twice_and_a_check_that_is_none_are_caught():
    x = pt.vector("x")
    with pytest.raises(GraphError, match="x is an input twice"):
        verify_program([x, x], [x], [])
    with pytest.raises(GraphError, match="the check 'fine' is of"):
        verify_program([x], [x], ["fine"])


def test_a_region_of_a_graph_without_names_may_read_positions_of_labels():
    """Full checks accept it, so that they do not change what is compiled."""
    trait = dt.Dim("trait", coords=["a", "b"])
    factor = dt.rv("factor", dist.LKJCholesky(trait, trait.rename("other"), eta=4))
    density = dt.Model(factor).log_density()
    gradient = dt.grad(density.density, density.unconstrained)
    description = describe_graph([density.unconstrained.node], [gradient.node])
    assert full_checks()
    program, _ = lower_description(description)
    assert len(program.outputs) == 1


def test_a_broken_rule_is_no_reason_to_compile_the_graph_by_its_names(rule, monkeypatch):
    """Without full checks a user gets another way of compiling, not an error."""
    x = dt.tensor("x", dims=AGE)
    description = describe_graph([x.node], [x.sum().node])
    rule("reduce", lambda ctx, node, inputs: (inputs[0], node.dims))
    monkeypatch.setenv("DIMTENSOR_VERIFY", "1")
    with pytest.raises(BrokenGraphError, match="1 axes stand for 0 dims"):
        lower_description(description)
    monkeypatch.setenv("DIMTENSOR_VERIFY", "0")
    with pytest.raises(FormlessError, match="cannot be lowered without names"):
        lower_description(description)
