"""Weak tables: one object per key for all threads, entries that go with their objects."""

from __future__ import annotations

import gc
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from weakref import ref

import pytest

import dimtensor as dt
from dimtensor.graph.beside import Beside, WeaklyBeside
from dimtensor.graph.node import alive
from dimtensor.interning import Interned, first_alive, remove_if_dead

K = dt.Dim("k", length=3)


class Made:
    pass


@pytest.fixture
def collector_off():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def switching():
    """Threads take turns after each microsecond."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work, *given, threads=4):
    """Results of a function that threads call at the same time."""
    start = threading.Barrier(threads)

    def run():
        start.wait()
        return work(*given)

    with ThreadPoolExecutor(threads) as pool:
        return [one.result() for one in [pool.submit(run) for _ in range(threads)]]


# hashes of integers are modulo 2**61 - 1, those of tuples are not
@pytest.mark.parametrize("key", [("a", 1), ("a", -1), *((n, "b") for n in range(50))])
def test_entries_go_with_their_objects(key):
    table = Interned[Made]()
    one = table.add(key, Made())
    assert table.add(key, Made()) is one is table.get(key)
    assert list(table) == [one]
    del one
    assert len(table) == 0
    assert table.get(key) is None


def test_what_removes_an_entry_runs_no_python_code():
    table = Interned[Made]()
    one = table.add(("a", 1), Made())
    seen = []
    sys.setprofile(lambda frame, event, what: seen.append((event, frame.f_code.co_name)))
    try:
        del one
    finally:
        sys.setprofile(None)
    assert {event for event, _ in seen} <= {"c_call", "c_return"}
    assert len(table) == 0


def test_a_dead_entry_gives_way_and_its_late_callback_takes_nothing_with_it():
    table, late = {}, []
    first, second = Made(), Made()
    old = first_alive(table, "key", ref(first, late.append), first)
    assert old is first
    del old, first  # dead, and not removed yet
    own = ref(second)
    assert first_alive(table, "key", own, second) is second
    remove_if_dead(table, "key")  # what the callback of the first one would do now
    assert table == {"key": own}
    assert len(late) == 1


def test_threads_that_make_equal_expressions_get_one_node(switching):
    def build(turn):
        k = dt.Dim("race", length=3 + turn)
        x = dt.tensor("x", dims=k)
        y = x
        for _ in range(6):
            y = dt.exp(y) * 2.5 + x.isel(race=[0, 2, 1])[{"race": [0, 2, 1]}].mean()
        return k, dt.SelDim(k, positions=[0, 2, 1]), y, y.node

    for turn in range(10):
        found = together(build, turn)
        for one in zip(*found, strict=True):
            assert len({id(each) for each in one}) == 1


def test_dims_are_complete_when_other_threads_see_them(switching):
    def build(turn):
        dim = dt.Dim("race", coords=[f"{turn}", "b", "c"])
        product = dt.ProductDim([dim, dt.Dim("other", length=turn)])
        padded = dt.PadDim(dim, 1, turn + 1)
        return dim.coords.tolist(), product.length, padded.length, padded.after

    for turn in range(40):
        assert together(build, turn) == [([f"{turn}", "b", "c"], 3 * turn, 5 + turn, turn + 1)] * 4


def test_threads_get_one_tensor_of_a_node(switching):
    x = dt.scalar("x")
    node = (x + 1.0).node
    for _ in range(50):
        assert len({id(each) for each in together(dt.from_node, node)}) == 1


def test_values_beside_a_node_are_the_first_ones_until_they_are_cleared():
    x = dt.scalar("x")
    kept = Beside[str]()
    assert kept.get(x.node) is None
    assert kept.add(x.node, "a") == kept.add(x.node, "b") == kept.get(x.node) == "a"
    kept.set(x.node, "c")
    assert kept.get(x.node) == "c"
    assert x.node in kept
    dt.clear_caches()
    assert x.node not in kept
    weak = WeaklyBeside[Made]()
    one = weak.add(x.node, Made())
    assert weak.add(x.node, Made()) is one
    del one
    assert weak.get(x.node) is None


def wide():
    x = dt.tensor("x", dims=K)
    return (dt.exp(x) / dt.sqrt(1.0 + x.mean())).std()


def looped():
    return dt.scan(lambda s, x: (s + x, s * 2.0), dt.scalar("s"), dt.tensor("x", dims=K), dim=K)


def masked():
    return dt.tensor("x", dims=K).isel(k=dt.tensor("m", dims=K) > 0.0).sum()


def differentiated():
    x = dt.tensor("x", dims=K)
    return dt.grad((x**2).sum(), x)


def modeled():
    mu = dt.rv("mu", dt.dist.Normal(0.0, 1.0))
    return dt.Model(dt.rv("y", dt.dist.Normal(mu, 1.0), dims=K))


def marginalized():
    cause = dt.Dim("cause", length=3)
    z = dt.rv("z", dt.dist.Bernoulli(0.3), dims=cause)
    mean = z.sum(cause) * dt.rv("mu", dt.dist.Normal(0.0, 1.0))
    fit = dt.Model(dt.rv("y", dt.dist.Normal(mean, 1.0)), backend="python").observe(y=0.5)
    return fit.marginalize(z).log_density()


def rewritten():
    known = dt.tensor("known", dims=K)
    return dt.rewrite(2.0 * dt.tensor("x", dims=K), lambda t: known if t.name == "x" else None)


def costed():
    return dt.explain((dt.tensor("x", dims=K) * 2.0).sum())


@pytest.mark.parametrize(
    "make",
    [
        *(wide, looped, masked, modeled),
        *(
            pytest.param(make, marks=pytest.mark.slow)
            for make in (differentiated, marginalized, rewritten, costed)
        ),
    ],
)
def test_graphs_are_freed_without_the_collector(make, collector_off):
    before = set(alive())
    made = make()
    assert set(alive()) - before
    del made
    assert not set(alive()) - before


def test_a_deep_graph_is_freed_without_the_collector(collector_off):
    before = len(set(alive()))
    x = dt.tensor("x", dims=K)
    for _ in range(5_000):
        x = x + 1.0
    del x
    assert len(set(alive())) == before


def test_other_threads_do_not_change_the_order_of_variables():
    dist = dt.dist

    def names(*order):
        made = {name: dt.rv(name, dist.Normal(0.0, 1.0)) for name in order}
        built.wait()
        return list(dt.Model(dt.rv("y", dist.Normal(made["a"] + made["b"], 1.0))).variables)

    built = threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(names, "a", "b"), pool.submit(names, "b", "a")
        assert first.result() == ["a", "b", "y"]
        assert second.result() == ["b", "a", "y"]


def test_a_node_knows_few_of_the_threads_that_wrote_it():
    x = dt.rv("x", dt.dist.Normal(0.0, 1.0))
    for _ in range(50):
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(dt.rv, "x", dt.dist.Normal(0.0, 1.0)).result() is x
    (numbers,) = [one for one in x.node._beside.values() if isinstance(one, dict)]
    assert len(numbers) <= 17
