"""The printed graph is complete, readable, and the same in every process."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import numpy as np
import pytensor.tensor as pt
import pytest

import dimtensor as dt
from dimtensor.dims import PadDim
from dimtensor.errors import ArgumentError
from dimtensor.graph import make
from dimtensor.graph.attrs import GroupAttrs
from dimtensor.graph.printing.printer import graph_text, node_text
from dimtensor.tensor.handle import wrap
from tests.golden.compare import check_golden

COUNTY = dt.Dim("county", coords=[f"county {i}" for i in range(85)])
OBS = dt.Dim("obs")


def normal(x, mu, sigma):
    return -0.5 * ((x - mu) / sigma) ** 2 - dt.log(sigma) - 0.5 * np.log(2 * np.pi)


def hierarchical():
    """A varying-intercept model, with the gradient of its log density."""
    mu, sigma, noise = dt.scalar("mu"), dt.scalar("sigma"), dt.scalar("noise")
    raw = dt.tensor("raw", dims=COUNTY)
    beta = dt.tensor("beta", dims=dt.Dim("predictor", coords=["floor", "uranium"]))
    where = dt.data(["county 3", "county 0"], dims=OBS, categories=COUNTY, name="county_of")
    floor = dt.data(np.array([0.0, 1.0]), dims=OBS, name="floor")
    y = dt.data(np.array([0.83, -0.1]), dims=OBS, name="log radon")
    mean = (mu + sigma * raw).sel(county=where) + beta.sel(predictor="floor") * floor
    logp = normal(y, mean, noise).sum() + normal(raw, 0.0, 1.0).sum() + normal(mu, 0.0, 10.0)
    return {"logp": logp, "d_raw": dt.grad(logp, [raw])[0]}


def every_kind():
    """Expressions that need one node of each kind."""
    a = dt.tensor("a", dims=COUNTY)
    age = dt.Dim("age", length=5)
    b = dt.tensor("b", dims=age)
    t = dt.Dim("t")
    x = dt.tensor("x", dims=[t, dt.Dim("k", length=2)])
    unnamed = dt.tensor(dims=age)
    where = dt.data(["county 3", "county 0"], dims=OBS, categories=COUNTY, name="where")
    m = dt.from_shaped(pt.matrix("m", shape=(5, None)), [age, t])
    effect = a + b
    return [
        effect.ravel().unravel(),
        effect.sel(county=["county 2", "county 1"], age=slice(1, None, 2)),
        effect.isel(county=0).sel(age=[0, 2]),
        effect.sel(county=where),
        effect.rename_dim(COUNTY) * dt.float32("s"),
        (where == "county 7").sum(),
        where.codes.astype("float32"),
        b[b > unnamed].sum(),
        unnamed.isel(age=2).set(0.0),
        a.cumsum(COUNTY).argmax(),
        b.sort(age),
        b.argsort(age),
        dt.concat([b[1:], b[:1]], "age"),
        dt.stack([b, b * 2], dt.Dim("pair", length=2)),
        dt.dot(a, effect, dim=COUNTY),
        dt.length(t) + dt.arange(COUNTY),
        x.sel(t="2020-01-01"),
        x.sel(t=["2020-01-01", "2020-01-02"]),
        m.sum(t),
        wrap(make("group_position", (where.codes.node,) * 2, GroupAttrs("first", OBS, COUNTY))),
        dt.hessian((b**3).sum(), b),
        dt.jvp(dt.exp(b), [b], [dt.ones(age)]),
        dt.from_shaped(pt.vector("v", shape=(3,)), dt.Dim()),
        make_pad(b),
        dt.check(b > 0, "b > 0", effect),
        *loops(b),
    ]


def loops(b):
    """A loop in a loop, one that stops, and a conditional."""
    (age,) = b.dims
    time, rate = dt.Dim("time", length=4), dt.scalar("rate")
    x = dt.tensor("flow", dims=time)

    def step(state, x):
        inner = dt.reduce(lambda s, b: s * rate + b, x, b, age)
        return (state[0] + inner * rate, state[1] + 1), state[0] * x

    last, path = dt.scan(step, (0.0, 0), x, dim=time, reverse=True)
    root = dt.while_loop(lambda s: abs(s * s - b) > 1e-9, lambda s: (s + b / s) / 2, b, 20)
    chosen = dt.if_else(rate > 0, lambda: dt.log(rate) + b.sum(), lambda: b.max())
    return [last[0], last[1], path, root, chosen]


def make_pad(b):
    return dt.tensor("padded", dims=PadDim(b.dims[0], 1, 0))


def test_the_hierarchical_model_is_printed():
    check_golden("dprint_hierarchical.txt", dt.dprint(hierarchical(), file="str"))


def test_every_kind_is_printed():
    expressions = every_kind()
    kinds = {node.kind for x in expressions for node in dt.walk(x)}
    assert kinds >= {
        "label_position",
        "group_position",
        "update",
        "jacobian",
        "pushforward",
        "check",
        "loop",
        "cond",
    }
    check_golden("dprint_every_kind.txt", dt.dprint(expressions, file="str"))


SCRIPT = """
import dimtensor as dt
{history}
from tests.graph.test_printer import every_kind, hierarchical
kept = [
    dt.dprint(x, file="str") for x in (hierarchical(), every_kind())
]
print(kept[{which}])
"""
# other dims and nodes made before, some of them parts of what is printed
HISTORY = """
anonymous = [dt.Dim() for _ in range(7)]
early = dt.scalar("sigma") + dt.scalar("mu"), dt.tensor("b", dims=dt.Dim("age", length=5)) * 2
"""


@pytest.mark.parametrize(
    ("seed", "history", "which"), [("1", "", 0), ("2", HISTORY, 0), ("3", HISTORY, 1)]
)
def test_the_text_is_the_same_in_other_processes(seed, history, which):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(history=history, which=which)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )
    assert done.returncode == 0, done.stderr
    name = ["dprint_hierarchical.txt", "dprint_every_kind.txt"][which]
    check_golden(name, done.stdout.rstrip("\n"))


def test_shared_nodes_are_printed_once():
    x = dt.exp(dt.scalar("x"))
    text = dt.dprint([x + 1, x * x], file="str")
    assert text.count("exp(") == 1
    assert "multiply(%0, %0)" in text


def test_inputs_of_one_name_are_told_apart():
    wide = dt.tensor("x", dims=dt.Dim("k", length=2))
    text = dt.dprint(wide + dt.scalar("x"), file="str")
    assert text.count("input 'x'") == 2
    assert "add(%0, %1)" in text


def test_dims_of_one_name_are_told_apart():
    a = dt.tensor("a", dims=COUNTY)
    text = dt.dprint([a.sel(county=["county 2"]), a], file="str")
    assert "county#2: 1 = SelDim(county, 2:3)" in text
    assert "{county#2: 1} float64" in text


def test_unnamed_inputs_get_numbers():
    assert "add(%0, %1)" in dt.dprint(dt.scalar() + dt.scalar(), file="str")


def test_operands_come_in_an_order_of_their_own():
    one, two = dt.scalar("early"), dt.scalar("late")
    text = dt.dprint(two * 1.5 + one, file="str")
    assert "multiply(late, 1.5)" in text
    assert "add(early, %0)" in text


def test_it_prints_to_a_stream(capsys):
    stream = io.StringIO()
    x = dt.scalar("x") + 1
    assert dt.dprint(x, file=stream) is None
    assert dt.dprint(x) is None
    assert capsys.readouterr().out == stream.getvalue() == dt.dprint(x, file="str") + "\n"


def test_a_compiled_function_is_printed_as_its_outputs():
    x = dt.scalar("x")
    f = dt.function([x], {"y": x + 1}, backend="python")
    assert "add(x, 1.0)" in dt.dprint(f, file="str")


def test_only_tensors_are_printed():
    with pytest.raises(ArgumentError, match="expected a dims-tensor or several, got int: 3"):
        dt.dprint(3)
    with pytest.raises(ArgumentError, match="expected a dims-tensor or several, got str: 'x'"):
        dt.dprint("x")


def test_a_graph_of_thousands_of_nodes_is_printed():
    x = dt.scalar("x")
    for _ in range(5000):
        x = dt.sin(x)
    assert graph_text([x.node]).count("\n") == 5002


def test_the_line_on_one_node_never_raises():
    node = dt.scalar("x").node
    assert node_text((dt.exp(dt.scalar("x"))).node) == "exp(x) {} float64"
    broken = object.__new__(type(node))
    assert node_text(broken) == "<Node number ?>"


def test_positions_and_lengths_of_a_dim_are_computed_and_have_no_name():
    assert dt.arange(COUNTY).name is None
    assert dt.length(COUNTY).name is None
