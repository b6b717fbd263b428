"""Short axes that are written out: the same numbers as NumPy's, without arrays over such axes."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
import scipy.special
from pytensor.compile.mode import Mode
from pytensor.graph.fg import FunctionGraph

import dimtensor as dt
from dimtensor.ops.loop.frontend import build_scan
from dimtensor.ops.loop.spec import StepGraph
from dimtensor.optimize import short_axes

rng = np.random.default_rng(0)
N, K = 7, 3
SHAPES = {
    "rows": (None, K),
    "columns": (K, None),
    "block": (None, 2, K),
    "each": (None,),
    "few": (K,),
    "group": (None,),
    "table": (5, K),
}
LENGTHS = {"rows": (N, K), "columns": (K, N), "block": (N, 2, K), "each": (N,), "few": (K,)}
DTYPES = {"group": "int64"}
INPUTS = {
    name: pt.tensor(name, shape=shape, dtype=DTYPES.get(name, "float64"))
    for name, shape in SHAPES.items()
}
VALUES = {
    **{name: rng.normal(size=shape) for name, shape in LENGTHS.items()},
    "group": rng.integers(0, 5, N),
    "table": rng.normal(size=(5, K)),
}
rows, columns, block, long, short, group, table = INPUTS.values()
ROWS, COLUMNS, BLOCK, LONG, SHORT, GROUP, TABLE = (VALUES[name] for name in SHAPES)
Z = (LONG - SHORT[:, None]) * np.exp(SHORT)[:, None]
z = (long - short[:, None]) * pt.exp(short)[:, None]
CASES = {
    "sum": ((rows * short).sum(axis=1), ROWS @ SHORT),
    "sum of columns": ((columns * short[:, None]).sum(axis=0), SHORT @ COLUMNS),
    "product": (pt.prod(rows + 1, axis=1), np.prod(ROWS + 1, axis=1)),
    "largest": (pt.max(rows * 2, axis=1), (2 * ROWS).max(axis=1)),
    "least": (pt.min(rows * 2, axis=1), (2 * ROWS).min(axis=1)),
    "any": (pt.any(pt.gt(rows, 1), axis=1), (ROWS > 1).any(axis=1)),
    "all": (pt.all(pt.gt(rows, 0), axis=1), (ROWS > 0).all(axis=1)),
    "count": (pt.gt(rows, 0).sum(axis=1), (ROWS > 0).sum(axis=1)),
    "two short axes": (pt.exp(block).sum(axis=(1, 2)), np.exp(BLOCK).sum(axis=(1, 2))),
    "one of two": (
        (pt.log(pt.exp(block).sum(axis=2)) * 2).sum(axis=1),
        2 * np.log(np.exp(BLOCK).sum(axis=2)).sum(axis=1),
    ),
    "transposed": ((columns.T * rows).sum(axis=1), (COLUMNS.T * ROWS).sum(axis=1)),
    "looked up": ((table[group] * short).sum(axis=1), TABLE[GROUP] @ SHORT),
    "constant": ((rows * np.array([2.0, 3.0, 5.0])).sum(axis=1), ROWS @ [2.0, 3.0, 5.0]),
    "single precision": (
        pt.exp(rows.astype("float32")).sum(axis=1, dtype="float32", acc_dtype="float32"),
        np.exp(ROWS.astype("float32")).sum(axis=1),
    ),
}


def written(outputs, inputs=None):
    inputs = list(INPUTS.values()) if inputs is None else inputs
    graph = FunctionGraph(inputs, outputs, clone=True)
    short_axes.write_out_short_axes(graph)
    graph.check_integrity()
    return graph


def values(graph):
    mode = Mode(linker="py", optimizer=None)
    given = [VALUES[v.name] for v in graph.inputs]
    return pytensor.function(graph.inputs, graph.outputs, mode=mode, on_unused_input="ignore")(
        *given
    )


def computed_shapes(graph):
    """Shapes of what elements are computed of."""
    operations = pt.elemwise.Elemwise
    return {n.outputs[0].type.shape for n in graph.toposort() if isinstance(n.op, operations)}


@pytest.mark.parametrize("name", CASES)
def test_reductions(name):
    result, expected = CASES[name]
    graph = written([result])
    (found,) = values(graph)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6 if found.dtype == "float32" else 1e-13)
    assert all(len(shape) < 2 for shape in computed_shapes(graph))


def test_value_and_gradient_of_a_mixture():
    """Results over the short axis itself are arrays as before."""
    terms = -0.5 * z**2
    top = pt.max(terms, axis=0)
    parts = pt.exp(terms - top)
    whole = parts.sum(axis=0)
    graph = written([(top + pt.log(whole)).sum(), (parts / whole * z).sum(axis=1)])
    value, found = values(graph)
    np.testing.assert_allclose(value, scipy.special.logsumexp(-0.5 * Z**2, axis=0).sum())
    weights = scipy.special.softmax(-0.5 * Z**2, axis=0)
    np.testing.assert_allclose(found, (weights * Z).sum(axis=1), rtol=1e-12)
    assert (K, None) not in computed_shapes(graph)


def test_a_matrix_of_results():
    """Both short axes are kept, and the sum is over the long one."""
    grown = pt.exp(block)
    graph = written([(grown / grown.sum(axis=(1, 2), keepdims=True)).sum(axis=0)])
    (found,) = values(graph)
    expected = np.exp(BLOCK) / np.exp(BLOCK).sum(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(found, expected.sum(axis=0), rtol=1e-13)
    assert (None, 2, K) not in computed_shapes(graph)


@pytest.mark.parametrize("axis", [0, 1])
def test_what_a_loop_takes_step_by_step_is_joined(axis):
    """Steps read rows of an array whose elements need one another; its columns are vectors."""
    x, X = (rows, ROWS) if axis else (columns.T, COLUMNS.T)
    likely = pt.exp(x - x.max(axis=1, keepdims=True))
    state, element = short.type(), short.type()
    step = StepGraph([state], [element], [0.5 * state + element * short], [element.sum()])
    result = build_scan(x.shape[0], step, [short], [likely])
    graph = written([*result.states, *result.traces, pt.log(likely.sum(axis=1))])
    state, sums, logs = values(graph)
    LIKELY = np.exp(X - X.max(axis=1, keepdims=True))
    expected = SHORT
    for row in LIKELY:
        expected = 0.5 * expected + row * SHORT
    np.testing.assert_allclose(state, expected, rtol=1e-13)
    np.testing.assert_allclose(sums, LIKELY.sum(axis=1), rtol=1e-13)
    np.testing.assert_allclose(logs, np.log(LIKELY.sum(axis=1)), rtol=1e-13)
    assert not {(None, K), (K, None)} & computed_shapes(graph)


def test_what_a_loop_takes_whole_stays_as_it_is():
    likely = pt.exp(rows * short)
    state, whole = short.type(), rows.type()
    step = StepGraph([state, whole], [], [0.5 * state + whole[0], whole], [])
    result = build_scan(4, step, [short, likely], [])
    graph = written([result.states[0], likely.sum(axis=1)])
    assert (None, K) in computed_shapes(graph)


WEIGHTS = scipy.special.softmax(2 * ROWS, axis=1)
grown = pt.exp(rows * 2)
weights = grown / grown.sum(axis=1, keepdims=True)
parts = pt.exp(block)
shares = parts / parts.sum(axis=(1, 2), keepdims=True)
SHARES = np.exp(BLOCK) / np.exp(BLOCK).sum(axis=(1, 2), keepdims=True)


def by_group(start, share):
    found = np.array(np.broadcast_to(start, (5, *share.shape[1:])))
    np.add.at(found, GROUP, share)
    return found


BY_GROUP = {
    "rows": (pt.zeros((5, K))[group].inc(weights), by_group(0.0, WEIGHTS)),
    "columns": (pt.zeros((K, 5))[:, group].inc(weights.T), by_group(0.0, WEIGHTS).T),
    "to what is there": ((table * 1.5)[group].inc(weights), by_group(1.5 * TABLE, WEIGHTS)),
    "two short axes": (pt.zeros((5, 2, K))[group].inc(shares), by_group(0.0, SHARES)),
}


@pytest.mark.parametrize("name", BY_GROUP)
def test_what_is_added_up_by_group(name):
    result, expected = BY_GROUP[name]
    graph = written([result])
    (found,) = values(graph)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert not {(None, K), (K, None), (None, 2, K)} & computed_shapes(graph)


@pytest.mark.parametrize(
    "of_two",
    [pt.zeros((5, K, 5))[group, :, group].inc, pt.zeros((5, K))[group].set, weights[group].inc],
    ids=["two axes", "set", "itself"],
)
def test_other_updates_get_whole_arrays(of_two):
    assert (None, K) in computed_shapes(written([of_two(weights)]))


@pytest.mark.compiled
def test_a_mixture_of_look_ups_is_one_loop():
    """As each word of a document has a topic: value, and gradients by both tables."""
    token, topic = dt.Dim("token"), dt.Dim("topic", length=K)
    word, document = dt.Dim("word"), dt.Dim("document")
    phi = dt.tensor("phi", dims=[topic, word])
    theta = dt.tensor("theta", dims=[document, topic])
    of = [dt.tensor(n, dims=token, categories=d) for n, d in (("w", word), ("d", document))]
    total = dt.logsumexp(phi.sel(word=of[0]) + theta.sel(document=of[1]), topic).sum()
    f = dt.function([phi, theta, *of], [total, *dt.grad(total, [phi, theta])], backend="numba")
    w, d = np.array([0, 3, 1, 3, 2]), np.array([1, 0, 0, 1, 1])
    p, t = rng.normal(size=(K, 4)), rng.normal(size=(2, K))
    tables = (("topic", "word"), p), (("document", "topic"), t)
    value, by_word, by_document = f(*tables, w, d)
    logs = p[:, w] + t[d].T
    np.testing.assert_allclose(value, scipy.special.logsumexp(logs, axis=0).sum(), rtol=1e-14)
    share = scipy.special.softmax(logs, axis=0)
    wanted = np.zeros((K, 4)), np.zeros((2, K))
    np.add.at(wanted[0], (slice(None), w), share)
    np.add.at(wanted[1], d, share.T)
    np.testing.assert_allclose(by_word.transpose("topic", "word"), wanted[0], rtol=1e-13)
    np.testing.assert_allclose(by_document.transpose("document", "topic"), wanted[1], rtol=1e-13)
    assert f.source.count("math.exp") == K  # of one loop


def test_nan_counts():
    data = {**VALUES, "rows": ROWS.copy()}
    data["rows"][2, 1] = np.nan
    graph = written([pt.max(rows * 2, axis=1), pt.min(rows * 2, axis=1)])
    mode = Mode(linker="py", optimizer=None)
    function = pytensor.function(graph.inputs, graph.outputs, mode=mode, on_unused_input="ignore")
    for found in function(*(data[v.name] for v in graph.inputs)):
        np.testing.assert_array_equal(np.isnan(found), np.arange(N) == 2)


@pytest.mark.parametrize(
    "outputs",
    [
        [pt.exp(rows)],
        [grown := pt.exp(rows), grown.sum(axis=1)],
        [pt.exp(rows).sum(axis=0)],
        [pt.exp(rows).sum()],
        [pt.cumsum(pt.exp(rows), axis=0).sum(axis=1)],
        [pt.exp(pt.matrix("rows", shape=(None, 9))).sum(axis=1)],
        [pt.exp(pt.matrix("rows", shape=(None, None))).sum(axis=1)],
        [pt.exp(pt.matrix("rows", shape=(4, 3))).sum(axis=1)],
    ],
    ids=[
        "result",
        "result too",
        "long alone",
        "both",
        "other readers",
        "9",
        "unknown",
        "all short",
    ],
)
def test_what_is_left_as_it_is(outputs):
    before = FunctionGraph(outputs=outputs, clone=True)
    graph = written(outputs, list(pytensor.graph.traversal.graph_inputs(outputs)))
    assert len(graph.toposort()) == len(before.toposort())


def test_no_more_than_so_many_operations(monkeypatch):
    result, _ = CASES["sum"]
    monkeypatch.setattr(short_axes, "UNROLLED_OPERATIONS", K - 1)
    assert (None, K) in computed_shapes(written([result]))
    monkeypatch.setattr(short_axes, "UNROLLED_OPERATIONS", K)
    assert (None, K) not in computed_shapes(written([result]))


@pytest.mark.compiled
def test_a_mixture_is_one_loop_over_observations():
    obs, part = dt.Dim("obs"), dt.Dim("part", length=K)
    y, mean = dt.tensor("y", dims=obs), dt.tensor("mean", dims=part)
    total = dt.logsumexp(-0.5 * (y - mean) ** 2, part).sum()
    f = dt.function([y, mean], [total, dt.grad(total, mean)], backend="numba")
    value, slope = f(LONG, SHORT)
    away = LONG - SHORT[:, None]
    np.testing.assert_allclose(value, scipy.special.logsumexp(-0.5 * away**2, axis=0).sum())
    expected = (scipy.special.softmax(-0.5 * away**2, axis=0) * away).sum(axis=1)
    np.testing.assert_allclose(slope, expected, rtol=1e-12)
    assert f.source.count("for i0 in range(j0, ") == 1
    assert "np.empty((n0" not in f.source  # nothing is stored for each observation
