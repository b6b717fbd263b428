"""A kind of nodes, a derived dim and a support are added as docs/design/adding.md says."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.graph.fg import FunctionGraph
from pytensor.scalar.basic import Neg
from pytensor.tensor.elemwise import Elemwise
from scipy import stats

import dimtensor as dt
from dimtensor import backends, dist, renderers
from dimtensor.compile.caching.fingerprint import describe_graph
from dimtensor.compile.caching.rebuild import rebuild_graph
from dimtensor.compile.code import compilations
from dimtensor.dims import DERIVED, Coords, DerivedDim, Dim, without
from dimtensor.dist.distribution import Distribution
from dimtensor.dist.supports import Support
from dimtensor.graph import Node, NodeType, make
from dimtensor.graph.attrs import ReduceAttrs
from dimtensor.graph.checking.verify import verify_graph
from dimtensor.graph.kind import Call, Kind, by_position, kind, lacking_in_operand
from dimtensor.graph.node import KINDS
from dimtensor.graph.optable import TABLE
from dimtensor.graph.optable.row import reduction, unary
from dimtensor.lower.basic import REDUCTIONS
from dimtensor.lower.context import RULES, lowers
from dimtensor.lower.layout.preferences import PREFERENCES, last, prefers
from dimtensor.optimize.rules import rewrite
from dimtensor.optimize.rules.table import EXACT, Rule
from dimtensor.renderers import Rendered
from dimtensor.tensor.handle import as_node, elemwise, wrap

A, B, T = Dim("a", length=30), Dim("b", length=20), Dim("t")


@pytest.fixture
def largest_gap() -> Iterator[None]:
    """A kind with one class and one rule: the range of values along a dim."""

    @kind("largest_gap")
    class LargestGap(Kind[Dim]):
        """The largest element along a dim less the smallest one."""

        attrs = Dim

        def infer(self, inputs: tuple[Node, ...], attrs: Dim) -> NodeType:
            return NodeType(without(inputs[0].dims, [attrs]), inputs[0].dtype)

        def complaint(self, node: Node) -> str | None:
            return lacking_in_operand([node.attrs], node)

        def call(self, node: Node, ref: Any) -> Call:
            return Call("largest_gap", by_position(node.inputs), [("along", ref(node.attrs))])

        def map_dims(self, attrs: Dim, f: Any) -> Dim:
            return f(attrs)

    @lowers("largest_gap")
    def largest_gap(ctx: Any, node: Node, inputs: list[Any]) -> tuple[Any, tuple[Dim, ...]]:
        axes = ctx.axes(node.inputs[0])
        axis = axes.index(node.attrs)
        return inputs[0].max(axis) - inputs[0].min(axis), without(axes, [node.attrs])

    @prefers("largest_gap")
    def order(node: Node, estimates: Any) -> Iterator[tuple[tuple, Any]]:
        yield ("core", node), last(node.inputs[0].dims, (node.attrs,), 10**6)

    yield
    for table in (KINDS, RULES, PREFERENCES):
        del table["largest_gap"]


def gap(x: dt.DimTensor, dim: Dim) -> dt.DimTensor:
    return wrap(make("largest_gap", (x.node,), dim))


def test_a_kind_is_a_class_and_a_rule(largest_gap: None) -> None:
    x = dt.tensor("x", dims=[A, B])
    y = gap(x, A)
    verify_graph([y.node], full=True)
    values = np.random.default_rng(1).normal(size=(30, 20))
    expected = np.ptp(values, axis=0)
    f = dt.function([x], [y, dt.grad(y.sum(), x)], backend="python")
    got, slope = f((("a", "b"), values))
    np.testing.assert_allclose(got, expected)
    assert slope.values.sum() == 0
    assert (np.abs(slope.values).sum(0) == 2).all()
    # batched, and with other dims
    np.testing.assert_allclose(dt.substitute(y, {x: dt.data(values, dims=[A, B])}).eval(), expected)
    batched = dt.substitute(y, {x: dt.tensor("z", dims=[A, B, T])})
    assert set(batched.dims) == {B, T}
    moved = dt.substitute(y, {A: dt.Dim("c", length=30)})
    assert "largest_gap(x, along=c)" in dt.dprint(moved, file="str")
    # described without names, and made anew of the description
    description = describe_graph([x.node], [y.node])
    renamed = dt.tensor("other", dims=[dt.Dim("k", length=30), dt.Dim("l", length=20)])
    again = gap(renamed, renamed.dims[0])
    assert describe_graph([renamed.node], [again.node]).fingerprint == description.fingerprint
    (rebuilt,) = rebuild_graph(description).outputs
    assert rebuilt.kind == "largest_gap"


@pytest.fixture
def twice() -> Iterator[type[DerivedDim]]:
    """A derived dim with one class: every position twice."""

    class Twice(DerivedDim):
        __slots__ = ("parent",)

        _recipe = "twice"
        _named_as_parent = True
        parent: Dim

        def __new__(cls, parent: Dim) -> Any:
            return cls._intern((parent,), parent.name, parent=parent)

        @classmethod
        def _made(cls, parents: Sequence[Dim], options: tuple, name: str | None) -> Dim:
            return cls(parents[0])

        @property
        def parents(self) -> tuple[Dim, ...]:
            return (self.parent,)

        def _length_of_parents(self, lengths: Sequence[Any]) -> Any:
            return lengths[0] * 2

        def _labels_from(self, labels: Sequence[Coords | None]) -> Coords | None:
            (known,) = labels
            return None if known is None else known.take(np.repeat(np.arange(len(known)), 2))

        def _text(self, parents: Sequence[str]) -> str:
            return f"Twice({parents[0]})"

    yield Twice
    del DERIVED["twice"]


def test_a_derived_dim_is_a_class(twice: type[DerivedDim]) -> None:
    x, y = dt.tensor("x", dims=T), dt.tensor("y", dims=twice(T))
    total = y + dt.arange(twice(T)) + x.sum()
    f = dt.function([x, y], total, backend="python")
    got = f([1.0, 2.0], np.zeros(4))
    np.testing.assert_allclose(got, 3.0 + np.arange(4))
    with pytest.raises(dt.DimError, match="length 5"):
        f([1.0, 2.0], np.zeros(5))
    days = dt.Dim("t", coords=["Mon", "Tue"])
    labeled = dt.substitute(total, {T: days})
    assert labeled.dims[0].coords.tolist() == ["Mon", "Mon", "Tue", "Tue"]
    assert "Twice(t)" in dt.dprint(total, file="str")
    description = describe_graph([x.node, y.node], [total.node])
    rebuilt = rebuild_graph(description)
    assert any(isinstance(dim, twice) for dim in rebuilt.outputs[0].dims)


class AboveOne(Support):
    """A support with one class: numbers above 1."""

    name = "above_one"

    def bounds(self) -> tuple[Any, Any]:
        return 1.0, None

    def contains(self, y: dt.DimTensor) -> dt.DimTensor:
        return y >= 1.0

    def constrain(self, x: dt.DimTensor) -> tuple[dt.DimTensor, dt.DimTensor]:
        return 1.0 + dt.exp(x), x.sum()

    def unconstrain(self, y: dt.DimTensor) -> dt.DimTensor:
        return dt.log(y - 1.0)


class Pareto2(Distribution, state=("alpha",)):
    """A distribution with one class, on a support of its own: P(x > y) = y ** -alpha."""

    name = "Pareto2"

    def __init__(self, alpha: Any):
        self.alpha = wrap(as_node(alpha))

    @property
    def parameters(self) -> dict[str, dt.DimTensor]:
        return {"alpha": self.alpha}

    @property
    def support(self) -> Support:
        return AboveOne()

    def logp(self, x: Any) -> dt.DimTensor:
        inside = dt.log(self.alpha) - (self.alpha + 1.0) * dt.log(x)
        return dt.where(self.support.contains(x), inside, -np.inf)

    def draw(self, rng: Any, dims: Any = None) -> tuple[dt.DimTensor, Any]:
        e, rng = rng.exponential(1.0, dims=self._draw_dims(dims))
        return dt.exp(e / self.alpha), rng


def test_a_support_and_a_distribution_are_a_class_each() -> None:
    alpha = dt.rv("alpha", dt.dist.Gamma(2.0, 1.0))
    x = dt.rv("x", Pareto2(alpha), dims=A)
    fit = dt.Model(x, backend="python")
    point = {"alpha": 1.5, "x": np.linspace(1.1, 4.0, 30)}
    found = fit.logp(point)
    np.testing.assert_allclose(found["x"], stats.pareto.logpdf(point["x"], 1.5))
    density = fit.log_density()
    free = np.linspace(-1.0, 1.0, 31)
    values = density.constrain(free)
    assert (values["x"] > 1.0).all()
    np.testing.assert_allclose(values["x"], 1.0 + np.exp(free[1:]))
    shape = float(values["alpha"])
    expected = stats.gamma.logpdf(shape, 2.0) + stats.pareto.logpdf(values["x"], shape).sum()
    np.testing.assert_allclose(density.logp(free), expected + free.sum())
    drawn, _ = Pareto2(2.0).draw(dt.random.generator(1), dims=A)
    assert drawn.eval().min() > 1.0


class Table:
    """A table library: columns, and Arrow's interface for those who read it by that."""

    columns = ("u", "v")

    def __getitem__(self, name: str) -> np.ndarray:
        return np.arange(3.0) + (name == "v")

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        raise TypeError


def test_a_table_library_needs_nothing() -> None:
    across = Dim("c", coords=["v", "u"])
    x = dt.tensor("x", dims=[T, across])
    found = dt.function([x], x * 2.0, backend="python")(Table())
    np.testing.assert_allclose(found.transpose("t", "c"), [[2.0, 0.0], [4.0, 2.0], [6.0, 4.0]])


def test_a_display_is_a_function() -> None:
    class Report(Rendered):
        """Shown by functions that are registered for it."""

    renderers.text.provides(Report)(lambda x: "a report")
    renderers.html.provides(Report)(lambda x: "<b>a report</b>")
    assert (repr(Report()), Report()._repr_html_()) == ("a report", "<b>a report</b>")

    class Longer(Report):
        """As its base."""

    assert repr(Longer()) == "a report"


def test_a_backend_is_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    from dimtensor.backends import python

    module = ModuleType("toy_backend")
    calls = []

    class Toy(type(python.BACKEND)):  # type: ignore[misc]
        """The interpreter, counting what it is asked for."""

        name = "toy"

        def compile(self, *arguments: Any) -> Any:
            calls.append(len(arguments[0]))
            return super().compile(*arguments)

    module.BACKEND = Toy()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "dimtensor.backends.toy", module)
    monkeypatch.setattr(backends, "BACKENDS", (*backends.BACKENDS, "toy"))
    monkeypatch.setitem(compilations, "toy", 0)  # removed again: others look their backends up
    x = dt.tensor("x", dims=A)
    found = dt.function([x], x.sum() + 1.0, backend="toy")(np.ones(30))  # type: ignore[arg-type]
    assert (float(found), calls) == (31.0, [1])


def test_an_elementwise_operation_and_a_reduction_are_rows(monkeypatch: Any) -> None:
    row = unary("second_power", "same", "x²", numpy="", lowers_to="sqr")
    monkeypatch.setitem(TABLE, row.name, row)
    monkeypatch.setitem(TABLE, "norm1", reduction("norm1", "same", "Sum of absolute values."))
    monkeypatch.setitem(REDUCTIONS, "norm1", lambda x, axes, _: abs(x).sum(axes))
    x = dt.tensor("x", dims=[A, B])
    values = np.random.default_rng(2).normal(size=(30, 20))
    total = wrap(make("reduce", (x.node,), ReduceAttrs("norm1", (A,))))
    f = dt.function([x], [elemwise("second_power", x), total], backend="python")
    squared, summed = f((("a", "b"), values))
    np.testing.assert_allclose(squared, values**2)
    np.testing.assert_allclose(summed, np.abs(values).sum(0))


def test_a_rewrite_is_a_function() -> None:
    def no_double_negation(node: Any, rewriting: Any) -> Any:
        inner = node.inputs[0].owner
        same = inner is not None and isinstance(inner.op, Elemwise)
        return inner.inputs[0] if same and inner.op.scalar_op == node.op.scalar_op else None

    rule = Rule("no_double_negation", (Neg,), no_double_negation, EXACT, "-(-x) is x.")
    v = pt.dvector("v")
    graph = FunctionGraph([v], [pt.exp(pt.neg(pt.neg(v)))], clone=True)
    assert rewrite(graph, [rule])
    assert len(graph.apply_nodes) == 1


@pytest.mark.plugin("saturation")  # the page names its files
def test_the_page_has_a_section_for_each() -> None:
    page = (Path(dt.__file__).parent.parent / "docs/design/adding.md").read_text()
    files = set(re.findall(r"`((?:dimtensor|tools|tests|docs)/[\w/.]+)`", page))
    assert len(files) > 30
    missing = [name for name in files if not (Path(dt.__file__).parent.parent / name).exists()]
    assert missing == []
    titles = re.findall(r"^## (.*)", page, re.MULTILINE)
    for subject in (
        "distribution", "support", "method", "sampler", "table library", "display", "elementwise",
        "reduction", "option of loops", "backend", "compiler pass", "kind of nodes", "derived dim",
    ):  # fmt: skip
        assert any(subject in title for title in titles), subject


def test_only_its_own_modules_know_a_derived_dim() -> None:
    """What a recipe means is asked of the dim; only selections are known for what they select."""
    root = Path(dt.__file__).parent
    asked = re.compile(r"isinstance\([^)]*\b(RenamedDim|PadDim|SortedDim)\b")
    files = [
        path for layer in ("graph", "lower", "compile") for path in (root / layer).rglob("*.py")
    ]
    assert len(files) > 50
    assert [str(path) for path in files if asked.search(path.read_text())] == []


class FarFrom(dt.supports.Support, state=("center", "name")):
    """Numbers further than 1 above a center: y = center + 1 + exp(x)."""

    def __init__(self, center: Any):
        self.center, self.name = center, "far_from"

    def bounds(self) -> tuple[Any, Any]:
        return self.center + 1.0, None

    @property
    def tensors(self) -> Sequence[Any]:
        return [self.center]

    def map_tensors(self, f: Any) -> dt.supports.Support:
        return FarFrom(f(self.center))

    def contains(self, y: Any) -> Any:
        return y >= self.center + 1.0

    def constrain(self, x: Any) -> tuple[Any, Any]:
        return self.center + 1.0 + dt.exp(x), x.sum()

    def unconstrain(self, y: Any) -> Any:
        return dt.log(y - self.center - 1.0)


def test_a_support_depends_on_a_parameter_before_it():
    center, y = dt.scalar("center"), dt.scalar("y")
    supports = {center: dt.real, y: FarFrom(center)}
    density = dt.LogDensity({"both": -(y**2) - center**2}, supports, backend="python")
    values = density.constrain(np.array([2.0, 0.5]))
    assert values["y"].item() == pytest.approx(3.0 + np.exp(0.5), rel=1e-15)
    got = density.logp(np.array([2.0, 0.5]))
    assert got == pytest.approx(-((3.0 + np.exp(0.5)) ** 2) - 4.0 + 0.5, rel=1e-14)
    assert density.unconstrain({"center": 2.0, "y": 4.0}).tolist() == [2.0, 0.0]


def test_missing_observations_and_truncation_ask_a_support():
    low = dt.data([0.0, 5.0, 10.0], dims=T, name="low")
    support = FarFrom(low)
    d = dist.custom(
        lambda x, low: -(x - low), support, logcdf=lambda x, low: dt.log1p(-dt.exp(low + 1 - x)),
        draw=lambda rng, dims, low: rng.uniform(low, low + 1.0, dims=dims), low=low,
    )  # fmt: skip
    model = dt.Model(dt.rv("y", d), backend="python").observe(
        {"y": [1.5, np.nan, 11.5]}, missing="infer"
    )
    values = model.log_density().constrain(np.array([0.0]))
    assert values["y_missing"].values.tolist() == [7.0]
    assert dist.truncated(d, upper=20.0).support.bounds()[0].eval().values.tolist() == [1, 6, 11]
    assert not dist.Flat(FarFrom(dt.data(1.0))).is_proper
    assert dist.Flat(dt.supports.bounded(0, 1)).is_proper
