"""Fingerprints: equal for graphs that differ in names, labels, data and long lengths; else not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given

import dimtensor as dt
from dimtensor.backends import backend_of
from dimtensor.compile import code
from dimtensor.compile.caching import cache
from dimtensor.compile.caching.fingerprint import describe_graph
from dimtensor.compile.caching.rebuild import rebuild_graph
from dimtensor.compile.program import masks_for_labels
from dimtensor.dims.selection import Mask
from dimtensor.graph import Node, make, toposort
from dimtensor.graph.forms import FormlessError
from dimtensor.graph.kind import kind_of
from dimtensor.testing.strategies import dim_spec
from dimtensor.tuning import UNROLLED_LENGTH
from tests.benchmarks.cases import effect, normal, radon
from tests.effort import a_third
from tests.properties.checks import check_values
from tests.random_programs.programs import RandomProgram
from tests.random_programs.strategies import programs


def fingerprint(inputs: list, outputs: list) -> str:
    nodes = [getattr(x, "node", x) for x in inputs]
    results = [getattr(y, "node", y) for y in outputs]
    return describe_graph(nodes, results, masks_for_labels(results)).fingerprint


def long_dim(choose: Any, name: str | None) -> Any:
    """A dim that code is specialized on, or one that it is not."""
    return dim_spec(
        choose, name, *choose.one([(0, 4), (UNROLLED_LENGTH + 1, UNROLLED_LENGTH + 5), (20, 30)])
    )


# -- the description is all that code is made of ---------------------------------------------------


@pytest.fixture
def from_descriptions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """Make the interpreter's code of descriptions, too; how many times that was possible."""
    possible = [0]
    original = code.lower_description

    def counted(description: Any) -> Any:
        found = original(description)
        possible[0] += 1
        return found

    monkeypatch.setenv("DIMTENSOR_CACHE", "1")
    monkeypatch.setenv("DIMTENSOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(type(backend_of("python")), "described", True)
    monkeypatch.setattr(code, "lower_description", counted)
    return possible


def test_rebuilt_programs_compute_the_same(from_descriptions: list[int]) -> None:
    tried = 0

    @a_third
    @given(programs(make_dim=long_dim))
    def run(program: RandomProgram) -> None:
        nonlocal tried
        cache.forget()  # a program that was there is not lowered
        tried += 1
        check_values(program)

    run()
    assert from_descriptions[0] > 0.97 * tried


def _turned(other: str) -> tuple[list[Any], Any]:
    """A table over a dim and the same dim with another name, as one long vector."""
    trait = dt.Dim("trait", length=20)
    w, x = dt.tensor("w", dims=[trait, trait.rename(other)]), dt.tensor("x", dims=trait)
    return [w, x], (w * x).ravel()


@pytest.mark.parametrize("other", ["again", "zenith"])
def test_products_of_a_dim_and_itself_renamed(other: str, from_descriptions: list[int]) -> None:
    """A name that is before that of the dim it renames is no reason not to keep code."""
    (w, x), vector = _turned(other)
    f = dt.function([w, x], [vector], backend="python")
    table, factors = np.arange(400.0).reshape(20, 20), np.arange(1.0, 21.0)
    expected = table * factors[:, None]  # over trait, then the other
    expected = expected.T if other < "trait" else expected
    found = f(xr.DataArray(table, dims=["trait", other]), factors)[0]
    np.testing.assert_array_equal(np.asarray(found), expected.ravel())
    assert from_descriptions == [1]


def test_the_order_of_factors_is_described() -> None:
    def of(other: str) -> str:
        inputs, vector = _turned(other)
        return fingerprint(inputs, [vector])

    assert of("again") == of("other")
    assert of("zenith") == of("years")
    assert of("again") != of("zenith")


@a_third
@given(programs(make_dim=long_dim))
def test_equal_descriptions_are_one_graph(program: RandomProgram) -> None:
    """What is rebuilt is interned: the graph is a function of the description, and invertible."""
    outputs = [y.node for y in program.tensors()]
    description = describe_graph([x.node for x in program.symbolic], outputs)
    try:
        one, other = (rebuild_graph(description) for _ in range(2))
    except FormlessError:
        return
    assert one.inputs == other.inputs
    assert one.outputs == other.outputs
    again = describe_graph(one.inputs, one.outputs)
    assert len(again.nodes) >= len(description.nodes)
    for node, number in one.numbers.items():
        if isinstance(node, Node) and node.kind not in ("input", "relabel"):
            original = description.nodes[number]
            assert node.dtype == original.dtype
            assert len(node.dims) == len(original.dims)


# -- what a fingerprint leaves out -----------------------------------------------------------------


class Renaming:
    """The graph with other names, built anew in another order; labels and data as well, if asked.

    Parameters
    ----------
    name : callable
        Gives the other name of a dim.
    values : bool
        Whether labels of dims and data are others, too.
    """

    def __init__(self, name: Callable[[str], str], values: bool):
        self._name = name
        self._values = values
        self._nodes: dict[Node, Node] = {}
        self._dims: dict[dt.Dim, dt.Dim] = {}

    def nodes(self, outputs: list[dt.DimTensor]) -> list[Node]:
        # operands of commutative operations are in the order in which they are made
        for node in toposort([y.node for y in reversed(outputs)]):
            self._nodes[node] = self._made(node)
        return [self._nodes[y.node] for y in outputs]

    def _made(self, node: Node) -> Node:
        attrs = kind_of(node).map_dims(node.attrs, self.dim)
        if node.kind == "input":
            categories = None if attrs.categories is None else self.dim(attrs.categories)
            dims = tuple(sorted(map(self.dim, attrs.dims), key=lambda dim: dim._sort_key))
            attrs = attrs._replace(name=f"other {attrs.name}", dims=dims, categories=categories)
        elif node.kind == "data":
            return self._data(node)
        elif node.kind in ("reduce", "expand", "dot"):
            dims = attrs.dims if node.kind == "reduce" else attrs
            dims = tuple(sorted(dims, key=lambda dim: dim._sort_key))
            attrs = attrs._replace(dims=dims) if node.kind == "reduce" else dims
        return make(node.kind, tuple(self._nodes[i] for i in node.inputs), attrs)

    def _data(self, node: Node) -> Node:
        attrs = node.attrs
        dims = [self.dim(dim) for dim in attrs.dims]
        categories = None if attrs.categories is None else self.dim(attrs.categories)
        values = attrs.values
        if self._values:
            values = values[::-1] if values.ndim else ~values if values.dtype == bool else -values
        order = sorted(range(len(dims)), key=lambda at: dims[at]._sort_key)
        labels = tuple((self.dim(dim), labels) for dim, labels in attrs.labels)
        new = type(attrs)(
            None, tuple(dims[at] for at in order), values.transpose(order), categories, labels
        )
        return make("data", (), new)

    def dim(self, dim: dt.Dim) -> dt.Dim:
        if dim not in self._dims:
            self._dims[dim] = self._other(dim)
        return self._dims[dim]

    def _other(self, dim: dt.Dim) -> dt.Dim:
        if dim.name is None:
            return dim
        name = self._name(dim.name)
        if isinstance(dim, dt.SelDim):
            selection = dim.selection
            if isinstance(selection, Mask):
                selection = Mask(self._nodes[selection.key])
            return dt.SelDim._from(self.dim(dim.parent), selection)
        if isinstance(dim, dt.RenamedDim):
            return dt.RenamedDim(self.dim(dim.parent), name)
        if isinstance(dim, dt.ProductDim):
            return dt.ProductDim([self.dim(factor) for factor in dim.factors], name)
        if isinstance(dim, dt.ConcatDim):
            return dt.ConcatDim([self.dim(part) for part in dim.parts], name)
        if type(dim).__name__ == "PadDim":
            return type(dim)(self.dim(dim.parent), dim.before, dim.after)
        if type(dim).__name__ == "SortedDim":
            return type(dim)(self.dim(dim.parent))
        if dim.coords is None:
            return dt.Dim(name, length=dim.length)
        return dt.Dim(name, coords=range(len(dim)) if self._values else dim.coords)


def backwards(name: str) -> str:
    """Another name; what came first comes last."""
    return "".join(chr(ord("a") + ord("z") - ord(c)) if c.islower() else c for c in name)


def has_products(outputs: list[dt.DimTensor]) -> bool:
    """Whether the order of names decides about the order of elements."""
    return any(
        isinstance(dim, dt.ProductDim)
        for node in toposort([y.node for y in outputs])
        for dim in (*node.dims, *(p for d in node.dims for p in d.parents))
    )


@a_third
@given(programs(make_dim=long_dim))
def test_names_labels_and_data_are_left_out(program: RandomProgram) -> None:
    outputs = program.tensors()
    first = fingerprint(program.symbolic, outputs)
    names = [lambda name: "z " + name] + ([] if has_products(outputs) else [backwards])
    for name in names:
        renaming = Renaming(name, values=True)
        others = renaming.nodes([*program.symbolic, *outputs])
        n = len(program.symbolic)
        second = fingerprint(others[:n], others[n:])
        if second != first and name is backwards:
            # only dims that could be exchanged for each other may be told apart by their names
            assert _is_ambiguous(program)
            continue
        assert second == first


def _is_ambiguous(program: RandomProgram) -> bool:
    # lengths that code is specialized on; dims without one are alike
    lengths = [spec.dim.length for spec in program.env.values()]
    known = [n if n is not None and n <= UNROLLED_LENGTH else None for n in lengths]
    return len(set(known)) < len(known)


# -- what models do --------------------------------------------------------------------------------


Oracle = Callable[..., list[np.ndarray]]


def _hierarchical(
    counties: int, n: int, names: tuple[str, str], seed: int
) -> tuple[list, list, Oracle]:
    rng = np.random.default_rng(seed)
    county = dt.Dim(names[0], coords=[f"{names[0]} {at}" for at in range(counties)])
    obs = dt.Dim(names[1], length=n)
    where, observed = rng.integers(0, counties, n), rng.normal(size=n)
    of = dt.data(county.coords[where], dims=obs, categories=county)
    y = dt.data(observed, dims=obs)
    effect, mu = dt.tensor(f"{names[0]} effect", dims=county), dt.scalar("mu")
    loss = ((y - (mu + effect).sel({county: of})) ** 2).sum() + (effect**2).sum()

    def oracle(e: np.ndarray, m: np.ndarray) -> list[np.ndarray]:
        d = observed - (m + e)[where]
        slope = -2 * np.bincount(where, d, counties) + 2 * e
        return [(d**2).sum() + (e**2).sum(), slope, -2 * d.sum()]

    return [effect, mu], [loss, *dt.grad(loss, [effect, mu])], oracle


def _two_vectors(n: int, m: int) -> tuple[list, list, Oracle]:
    a, b = dt.tensor("a", dims=dt.Dim("i", length=n)), dt.tensor("b", dims=dt.Dim("j", length=m))
    s = dt.scalar("s")
    logp = -(a**2).sum() - (b * s).sum() - s**2
    model = dt.LogDensity(logp, {a: dt.real, s: dt.positive, b: dt.real}, backend="python")
    parts = model.functions.assembly

    def oracle(x: np.ndarray) -> list[np.ndarray]:
        first, log_scale, last = x[:n], x[n], x[n + 1 :]
        scale = np.exp(log_scale)
        value = -(first**2).sum() - last.sum() * scale - scale**2 + log_scale
        slope = -last.sum() * scale - 2 * scale**2 + 1
        return [value, np.concatenate([-2 * first, [slope], np.full(m, -scale)])]

    return [parts.flat], [parts.value, parts.gradient], oracle


def _selections(n: int) -> tuple[list, list, Oracle]:
    t = dt.Dim("t", length=n)
    x = dt.tensor("x", dims=t)
    some = np.random.default_rng(n).integers(0, n, 12).tolist()
    middle = slice(n // 3, n // 3 + 15)
    outputs = [
        (x.isel(t=slice(1, None)) * x.isel(t=slice(None, -1)).rename_dim("t", "u")).sum(),
        x.isel(t=slice(None, None, -1)),
        x.isel(t=-1) + x.isel(t=0) * x.isel(t=n // 2),
        x.isel(t=middle).cumsum("t"),
        x.isel(t=some) * 2,
        dt.ones(t).sum() + dt.ones(dt.Dim("u", length=2 * n)).sum(),
        dt.concat([x, x.isel(t=slice(2, -2))], "t", name="joined").max(),
        x.expand(dt.Dim("k", length=3)).ravel(),
        x.isel(t=slice(2, None)).isel(t=slice(None, -3)).isel(t=slice(1, None)),
        x.isel(t=middle).max(),
        x.isel(t=slice(3, -2)).set(0.0),
    ]

    def oracle(v: np.ndarray) -> list[np.ndarray]:
        changed = v.copy()
        changed[3:-2] = 0.0
        return [
            v[1:].sum() * v[:-1].sum(),
            v[::-1],
            v[-1] + v[0] * v[n // 2],
            np.cumsum(v[middle]),
            v[some] * 2,
            np.array(3.0 * n),
            v.max(),
            np.tile(v, 3),
            v[2:][:-3][1:],
            v[middle].max(),
            changed,
        ]

    return [x], outputs, oracle


SAME: dict[str, Callable[[], list[tuple[list, list, Oracle]]]] = {
    "a hierarchical model": lambda: [
        _hierarchical(85, 919, ("county", "obs"), 0),
        _hierarchical(12, 5000, ("group", "y"), 1),
        _hierarchical(85, 5000, ("z", "a"), 2),
        _hierarchical(20, 15, ("group", "time"), 3),
    ],
    "a log density": lambda: [_two_vectors(20, 30), _two_vectors(33, 44), _two_vectors(100, 500)],
    "selections": lambda: [_selections(60), _selections(90), _selections(600)],
}


@pytest.mark.parametrize("name", SAME)
def test_models_of_other_sizes_share_code(name: str) -> None:
    assert len({fingerprint(inputs, outputs) for inputs, outputs, _ in SAME[name]()}) == 1


@pytest.mark.parametrize("name", SAME)
def test_models_of_other_sizes_compute_the_same_on_shared_code(
    name: str, from_descriptions: list[int], rng: np.random.Generator
) -> None:
    cache.forget()
    for number, (inputs, outputs, oracle) in enumerate(SAME[name]()):
        f = dt.function(inputs, outputs, backend="python")
        assert ("cache" in f.stats) == (number > 0)
        values = [rng.normal(size=[len(dim) for dim in x.dims]) for x in inputs]
        found = f(*values)
        for one, expected, tensor in zip(found, oracle(*values), outputs, strict=True):
            np.testing.assert_allclose(one.values, expected, rtol=1e-11)
            assert set(one.dims) == {dim.name for dim in tensor.dims}
            for dim in tensor.dims:
                if dim.coords is not None:
                    assert one[dim.name].values.tolist() == dim.coords.tolist()
    assert from_descriptions[0] == 1


def _states(n: int, product: bool) -> tuple[list, list]:
    """A loop of n states, which a matrix multiplies in each step or not."""
    into, time = dt.Dim("into", length=n), dt.Dim("time", length=50)
    of = dt.Dim("of", length=n)
    matrix, inputs = dt.tensor("matrix", dims=[into, of]), dt.tensor("inputs", dims=[time, of])

    def step(state, x):
        total = dt.dot(matrix, state, dim=of).rename({into: of}) if product else state
        new = dt.tanh(total + x)
        return new, new

    last, _ = dt.scan(step, dt.zeros(of), inputs, dim=time)
    return [matrix, inputs], [last.sum() + matrix.sum()]


def test_code_knows_the_lengths_of_small_matrices_in_loops() -> None:
    def prints(product: bool) -> list[str]:
        return [fingerprint(*_states(n, product)) for n in (12, 16, 17, 30)]

    small, as_small, large, larger = prints(product=True)
    assert len({small, as_small, large}) == 3
    assert large == larger
    assert len(set(prints(product=False))) == 1


@pytest.mark.parametrize("n", [12, 17])
def test_small_matrices_in_loops_compute_the_same(n: int, rng: np.random.Generator) -> None:
    inputs, outputs = _states(n, True)
    matrix, x = rng.normal(size=(n, n)) / n, rng.normal(size=(50, n))
    state = np.zeros(n)
    for row in x:
        state = np.tanh(matrix @ state + row)
    given = (("into", "of"), matrix), (("time", "of"), x)
    (found,) = dt.function(inputs, outputs, backend="python")(*given)
    np.testing.assert_allclose(found, state.sum() + matrix.sum(), rtol=1e-11)


A, B = dt.Dim("a", length=20), dt.Dim("b", length=3)
X, Y = dt.tensor("x", dims=[A, B]), dt.tensor("y", dims=A)
SINGLE = dt.tensor("x", dims=[A, B], dtype="float32")
OF = dt.data(np.zeros(40, dtype=int), dims=dt.Dim("obs"), name="of")

DIFFERENT: dict[str, tuple[list, list]] = {
    "sum over one": ([X, Y], [X.sum("a")]),
    "sum over the other": ([X, Y], [X.sum("b")]),
    "sum over both": ([X, Y], [X.sum()]),
    "mean": ([X, Y], [X.mean()]),
    "two outputs": ([X, Y], [X.sum(), Y.sum()]),
    "two outputs in another order": ([X, Y], [Y.sum(), X.sum()]),
    "inputs in another order": ([Y, X], [X.sum(), Y.sum()]),
    "difference": ([X, Y], [X - Y]),
    "the other difference": ([X, Y], [Y - X]),
    "a number": ([X, Y], [X * 2.0]),
    "another number": ([X, Y], [X * 2.5]),
    "a number of another type": ([X, Y], [X * np.float32(2.0)]),
    "float32": ([SINGLE], [SINGLE.sum()]),
    "slice": ([X], [X.isel(a=slice(1, None))]),
    "another slice": ([X], [X.isel(a=slice(2, None))]),
    "a slice backwards": ([X], [X.isel(a=slice(None, None, -1))]),
    "the first": ([X], [X.isel(a=0)]),
    "the last": ([X], [X.isel(a=-1)]),
    "look-up": ([Y], [Y.isel(a=OF)]),
    "running sum": ([X], [X.cumsum("a")]),
    "running sum along the other": ([X], [X.cumsum("b")]),
    "ravel": ([X], [X.ravel()]),
    "gradient": ([X, Y], dt.grad((X * Y).sum(), [X])),
    "gradient by the other": ([X, Y], dt.grad((X * Y).sum(), [Y])),
    **{
        f"length {n}": ([z], [z.sum()])
        for n in (0, 1, UNROLLED_LENGTH - 1, UNROLLED_LENGTH)
        for z in [dt.tensor("z", dims=dt.Dim("a", length=n))]
    },
}


def test_different_graphs_have_different_fingerprints() -> None:
    seen: dict[str, str] = {}
    for name, graph in DIFFERENT.items():
        assert seen.setdefault(fingerprint(*graph), name) == name


def test_every_op_of_the_table_has_its_own_fingerprint() -> None:
    from dimtensor.graph import TABLE

    x, y, z = (dt.tensor(name, dims=A) for name in "xyz")
    seen: dict[str, str] = {}
    for name, row in TABLE.items():
        operands = [i.node for i in (x, y, z)][: row.arity]
        if row.kind != "elemwise" or row.arity > 3:
            continue
        try:
            node = make("elemwise", tuple(operands), name)
        except dt.DimtensorError:
            continue
        assert seen.setdefault(fingerprint([x, y, z], [node]), name) == name
    assert len(seen) > 60


def test_the_benchmarks_are_described() -> None:
    """What is measured is what is cached; data and sizes make no difference to it."""
    for case, sizes in ((radon, (919, 5000)), (normal, (10, 1000)), (effect, (20, 30))):
        assert len({_grabbed(case, n) for n in sizes}) == 1, case.__name__


def _grabbed(case: Any, n: int) -> str:
    """The fingerprint of what a benchmark compiles."""
    found: list[str] = []
    original = dt.function

    def grab(inputs: list, outputs: list, backend: str) -> Any:
        found.append(fingerprint(inputs, outputs))
        return original(inputs, outputs, backend="python")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dt, "function", grab)
        case.dimtensor_numba(case.problem(n))
    return found[0]


def test_what_only_this_process_knows_has_no_fingerprint() -> None:
    import pytensor.tensor as pt

    x = dt.from_shaped(pt.vector("v"), dims=[dt.Dim("v")])
    with pytest.raises(FormlessError, match="has no form"):
        fingerprint([x], [x.sum()])


CHILD = """
from tests.compile.caching.test_fingerprint import SAME, DIFFERENT, fingerprint
print([fingerprint(*SAME[name]()[0][:2]) for name in SAME])
"""


def test_fingerprints_are_the_same_in_every_process() -> None:
    texts = set()
    for seed in ("1", "2"):
        child = subprocess.run(
            [sys.executable, "-c", CHILD],
            capture_output=True,
            text=True,
            env={"PYTHONHASHSEED": seed, "PATH": "", "PYTHONPATH": ":".join([".", *sys.path])},
            check=False,
        )
        assert child.returncode == 0, child.stderr
        texts.add(child.stdout)
    assert texts == {str([fingerprint(*SAME[name]()[0][:2]) for name in SAME]) + "\n"}
