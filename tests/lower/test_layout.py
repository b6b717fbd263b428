"""The layout plan: what it is for known expressions, how few transposes it leaves, names aside."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import dimtensor as dt
from dimtensor.errors import DimtensorError
from dimtensor.graph import Node
from dimtensor.lower import plan_axes
from dimtensor.lower.layout import order as layout
from dimtensor.lower.layout.canonical_order import in_order
from dimtensor.values.ports import TensorPort
from tests.effort import a_third
from tests.golden.compare import check_golden
from tests.lower.layouts import EXPRESSIONS, outputs_of, transposes
from tests.steps import counted_calls

LENGTHS = (30, 20, 40, 50)
# transposes in the lowered graph and in the rewritten one, for those that are not free of them
LEFT = {"jacobian": (3, 0)}
LEFT_WITHOUT_LENGTHS = {"jacobian": (3, 1)}


_programs = itertools.count()


def named(names: str, lengths: Sequence[int | None] = LENGTHS) -> list[dt.Dim]:
    return [dt.Dim(name, length=n) for name, n in zip(names, lengths, strict=True)]


def new(names: str, lengths: Sequence[int | None] = LENGTHS) -> list[dt.Dim]:
    """Dims that were never there before; in what order names are depends on the first letters."""
    number = next(_programs)
    pairs = zip(names, lengths, strict=True)
    return [dt.Dim(f"{name}{number}", length=length) for name, length in pairs]


def nodes_of(outputs: Sequence[dt.DimTensor]) -> list[Node]:
    return [x.node for x in outputs]


def pattern(outputs: Sequence[dt.DimTensor]) -> list[list[int]]:
    """The axes of all nodes, dims numbered as they occur: the plan without the names."""
    plan = plan_axes(nodes_of(outputs))
    numbers: dict[dt.Dim, int] = {}
    return [
        [numbers.setdefault(dim, len(numbers)) for dim in plan.sort(node.dims)]
        for node in in_order(nodes_of(outputs))
    ]


# -- known expressions ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize("names", ["abcd", "dbca"])
def test_transposes(name: str, names: str) -> None:
    assert transposes(outputs_of(name, named(names))) == LEFT.get(name, (0, 0))


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_no_dim_is_known_to_be_short(name: str) -> None:
    """Without lengths, too, a plan leaves no transposes."""
    dims = named("abcd", [None] * 4)
    assert transposes(outputs_of(name, dims)) == LEFT_WITHOUT_LENGTHS.get(name, (0, 0))


def test_a_matrix_product_in_all_orders() -> None:
    """Whatever the lengths make of the order of the axes, BLAS takes operands and result."""
    for lengths in itertools.permutations((20, 30, 40, 50)):
        dims = named("abcd", lengths)
        for name in ("product", "product_of_tables", "batched_product", "own_product"):
            assert transposes(outputs_of(name, dims)) == (0, 0), (name, lengths)


def test_plans_as_text() -> None:
    lines = []
    for name in EXPRESSIONS:
        plan = plan_axes(nodes_of(outputs_of(name, named("abcd"))))
        lines.append(f"{name:<18} {plan}")
    check_golden("layouts.txt", "\n".join(lines))


def test_rows_that_are_written_are_whole() -> None:
    user, k, obs = dt.Dim("user", length=500), dt.Dim("k", length=4), dt.Dim("obs")
    taste, of = dt.tensor("taste", dims=[k, user]), dt.tensor("of", dims=obs, dtype="int64")
    assert str(plan_axes([taste.node])) == "k < user"
    effect = taste.isel(user=of).sum("k")
    assert str(plan_axes([effect.node])) == "k < user < obs"
    gradient = dt.grad((effect**2).sum(), taste)
    assert str(plan_axes([gradient.node])) == "user < obs < k"
    assert str(plan_axes([taste.isel(user=of).inc(1.0).node])) == "user < obs < k"


def test_factors_of_a_product_are_beside_each_other_in_its_order() -> None:
    long, short = dt.Dim("a", length=500), dt.Dim("z", length=4)
    x = dt.tensor("x", dims=[long, short])
    assert str(plan_axes([(x * 2).node])) == "z < a"
    plan = plan_axes([x.ravel(name="az").node])
    assert plan.sort(x.dims) == (long, short)


def test_rows_of_a_matrix_precede_columns() -> None:
    k = dt.Dim("z", length=3)
    x = dt.tensor("x", dims=[k, k.rename("a")])
    for rows, columns in ((k, k.rename("a")), (k.rename("a"), k)):
        plan = plan_axes([dt.linalg.cholesky(x, dims=(rows, columns)).node])
        assert plan.sort(x.dims) == (rows, columns)


def test_selections_stay_where_their_dim_is() -> None:
    t, k = dt.Dim("t"), dt.Dim("k", length=3)
    x = dt.tensor("x", dims=[t, k])
    steps = x.diff("t")
    plan = plan_axes(nodes_of([steps * 2, x.isel(t=slice(5, None)), x.pad(t=1)]))
    families = [[dim.name for dim in plan.sort(n.dims)] for n in in_order([steps.node]) if n.dims]
    assert {tuple(family) for family in families if len(family) == 2} == {("k", "t")}


# -- what a plan depends on ----------------------------------------------------------------------


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_names_decide_nothing(name: str) -> None:
    factors_in_order = ["abcd", "bdac", "acdb"]  # of a product the names order the factors
    namings = factors_in_order if name == "ravel" else map("".join, itertools.permutations("abcd"))
    patterns = [pattern(outputs_of(name, new(names))) for names in namings]
    assert all(found == patterns[0] for found in patterns)


class Draws:
    """Choices that are the same for every naming."""

    def __init__(self, numbers: Sequence[int]):
        self._numbers = iter(numbers)

    def one(self, values: Sequence):
        return values[next(self._numbers) % len(values)]


def random_expression(numbers: Sequence[int], names: Sequence[str], lengths) -> list[dt.DimTensor]:
    draws = Draws(numbers)
    dims = new("".join(names[:4]), lengths)
    fresh = iter(names[4:])
    pool = [
        dt.tensor("x", dims=dims[:3]),
        dt.tensor("y", dims=[dims[0], dims[3]]),
        dt.tensor("z", dims=dims[1]),
        dt.tensor("u", dims=[dims[2], dims[3]]),
    ]
    positions = dt.tensor("at", dims=dims[3], dtype="int64")
    for _ in range(7):
        x, y = draws.one(pool), draws.one(pool)
        kind, number = draws.one(range(10)), draws.one(range(100))
        own = [dim for dim in dims if dim in x.dims] or dims[:1]
        dim = own[number % len(own)]
        try:
            pool.append(step(kind, x, y, dim, positions, fresh))
        except DimtensorError:
            continue  # not for these dims, whatever their names are
        dims += [d for d in pool[-1].dims if d not in dims]
    loss = sum((x * x).sum() for x in pool)
    return [*pool[4:], dt.grad(loss, pool[0])]


def step(kind: int, x, y, dim, positions, fresh) -> dt.DimTensor:
    if kind == 0:
        return x * y
    if kind == 1:
        return dt.exp(x)
    if kind == 2:
        return x.sum(dim)
    if kind == 3:
        return x.rename_dim(dim, next(fresh))
    if kind == 4:
        return x.isel({dim: slice(1, None)})
    if kind == 5:
        return x.isel({dim: positions})
    if kind == 6:
        return dt.dot(x, y)
    if kind == 7:
        return x.cumsum(dim)
    if kind == 8:
        return x.max(dim)
    return dt.concat([x, x], dim, name=next(fresh))


@a_third
@given(
    st.lists(st.integers(0, 999), min_size=40, max_size=40),
    st.permutations("abcdefghijklmnopqr"),
    st.lists(st.sampled_from([None, 7, 9, 30]), min_size=4, max_size=4),
)
def test_names_decide_nothing_in_random_expressions(numbers, names, lengths) -> None:
    one = random_expression(numbers, "abcdefghijklmnopqr", lengths)
    other = random_expression(numbers, names, lengths)
    assert pattern(one) == pattern(other)


def test_lengths_count_by_rank_only() -> None:
    for name in EXPRESSIONS:
        small = pattern(outputs_of(name, new("abcd", (12, 11, 13, 14))))
        large = pattern(outputs_of(name, new("abcd", (300, 20, 4_000, 50_000))))
        assert small == large, name


def test_a_plan_is_made_once(monkeypatch) -> None:
    x = dt.tensor("x", dims=named("abcd"))
    outputs = nodes_of([dt.exp(x).sum("a"), x.max("b")])
    first = plan_axes(outputs)
    monkeypatch.setattr(layout, "_plan", lambda *_: pytest.fail("it is made again"))
    assert plan_axes(outputs) is first
    monkeypatch.undo()
    assert plan_axes(outputs[:1]) is not first
    assert plan_axes([]).sort(x.dims) == x.dims


def test_plans_do_not_keep_graphs() -> None:
    import gc
    import weakref

    mask = dt.tensor("keep", dims=dt.Dim("gone"), dtype="bool") & True
    x = dt.tensor("x", dims=mask.dims)[mask] * 2
    plan_axes(nodes_of([mask, x]))
    alive = weakref.ref(x.node)
    del x, mask
    gc.collect()
    assert alive() is None


def test_planning_takes_little() -> None:
    """So many calls for a node, however many nodes there are."""
    dims = named("abcd")
    x, y = dt.tensor("x", dims=dims), dt.tensor("y", dims=dims[:2])
    of = dt.tensor("of", dims=dt.Dim("obs"), dtype="int64")
    for number in range(50):
        x = dt.tanh(x * y) + float(number)
    outputs = nodes_of([x.sum("a"), x.max(["b", "c"]), x.isel(d=of).sum("c"), dt.dot(x, y)])
    with counted_calls() as calls:
        layout._plan(outputs, {})
    assert calls.number < 250 * len(in_order(outputs))


def test_the_text_of_a_graph_has_the_plan() -> None:
    user, k, obs = dt.Dim("user", length=500), dt.Dim("k", length=4), dt.Dim("obs")
    taste, of = dt.tensor("taste", dims=[k, user]), dt.tensor("of", dims=obs, dtype="int64")
    text = dt.dprint(taste.isel(user=of), file="str", layout=True)
    assert text.splitlines()[-1] == "layout: k < user < obs"


# -- copies at the boundary ----------------------------------------------------------------------


def copies(node: Node, arrays: Sequence[xr.DataArray]) -> int:
    port = TensorPort(node, plan_axes([node]).sort(node.dims))
    return sum(not np.shares_memory(port.read(a).array, a.values) for a in arrays)


def test_copies_of_inputs() -> None:
    """A DataArray is copied if its memory is in another order, whatever order its dims are in."""
    node = dt.tensor("x", dims=named("abc", (3, 4, 2))).node
    planned = [dim.name for dim in plan_axes([node]).sort(node.dims)]
    sizes = {"a": 3, "b": 4, "c": 2}
    orders = list(itertools.permutations("abc"))
    stored = [xr.DataArray(np.ones([sizes[n] for n in names]), dims=names) for names in orders]
    assert copies(node, stored) == len(orders) - 1
    of_the_plan = xr.DataArray(np.ones([sizes[n] for n in planned]), dims=planned)
    assert copies(node, [of_the_plan.transpose(*names) for names in orders]) == 0


def test_results_come_back_without_copies() -> None:
    x = dt.tensor("x", dims=named("abc", (3, 4, 2)))
    f = dt.function([x], dt.exp(x), backend="python")
    result = f(xr.DataArray(np.ones((3, 4, 2)), dims=["a", "b", "c"]))
    assert result.dims == ("a", "b", "c")
    assert not result.values.flags.c_contiguous
    assert copies(x.node, [result]) == 0
