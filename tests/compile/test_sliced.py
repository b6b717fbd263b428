"""Shares of slices, computed by code that is compiled once, make the whole."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.compile.sliced.program import SliceProgram, tree
from tests.graph.test_partition import (
    CONSTANTS,
    DATA,
    KEEP,
    OBS,
    SPLIT,
    WHO,
    K,
    X,
    Y,
    numbers,
)

XD, YD = (dt.data(values, dims=OBS) for values in DATA)
A, B = dt.scalar("a"), dt.scalar("b")


def in_slices(
    x: Any, point: dict[str, Any], bounds: list[int], backend: str, length: int | None = None
) -> Any:
    """Value of an expression, of which each slice contributes its share."""
    inputs = [each.node for each in dt.inputs_of(x)]
    program = SliceProgram(inputs, [x.node], OBS, backend)
    held = program.hold(length=length)
    given = [np.asarray(point[str(node.name)], node.dtype) for node in inputs]
    for at, each in program.along_inputs.items():  # in the order in which the code takes them
        given[at] = given[at].transpose([inputs[at].dims.index(dim) for dim in each.dims])
    shares = []
    for start, stop in itertools.pairwise(bounds):
        along = program.along_inputs
        own = [along[at].piece(a, start, stop) if at in along else a for at, a in enumerate(given)]
        pieces = held.pieces(start, stop)
        shares.append(held.share(pieces, start, stop - start)(*own))
    rest = held.rest(*given)
    return program.total(shares, rest)[0]


CASES = [
    (name, length)
    for name, (_, operation, _) in SPLIT.items()
    for length in (0, 1, 7)
    if length or not (operation in ("maximum", "minimum") or name.startswith("mean"))
]


@pytest.mark.parametrize(("name", "length"), CASES)
def test_shares_make_the_whole(name: str, length: int):
    x, operation, oracle = SPLIT[name]
    v = numbers(length)
    bounds = [0, length // 3, length // 3, length]
    if operation in ("maximum", "minimum") or not length:
        bounds = sorted(set(bounds)) if length else [0, 0]
    found = in_slices(x, v, bounds, "python", length)
    np.testing.assert_allclose(found, oracle(v), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_of_data_are_computed_from_the_whole(name: str):
    x, oracle = CONSTANTS[name]
    found = in_slices(x, {"a": 1.3, "b": -0.4}, [0, 1, 1, 4, 6], "python")
    np.testing.assert_allclose(found, oracle(*DATA, 1.3, -0.4), rtol=1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", ["native", "jax"])
def test_machine_code_for_slices(backend: str):
    if backend == "jax":
        pytest.importorskip("jax")
    theta, b = dt.tensor("theta", dims=dt.Dim("group", coords=["a", "b", "c"])), dt.scalar("b")
    mean = theta.sel(group=WHO) + b * (XD - XD.mean())
    value = -((YD - mean) ** 2).sum() - (theta**2).sum()
    v = numbers(6)
    x, y = DATA
    centered, residual = x - x.mean(), 0.0
    residual = y - v["theta"][v["who"]] - 0.7 * centered
    for expression, expected in [
        (value, -(residual**2).sum() - (v["theta"] ** 2).sum()),
        (dt.grad(value, b), 2 * (residual * centered).sum()),
        (dt.grad(value, theta),
         2 * np.bincount(v["who"], residual, minlength=3) - 2 * v["theta"]),
        (residual_of := YD - mean, residual),
    ]:  # fmt: skip
        found = in_slices(expression, v, [0, 2, 2, 6], backend)
        np.testing.assert_allclose(found, expected, rtol=1e-9, err_msg=str(residual_of))


def test_several_outputs_share_code_and_combine_each_in_its_own_way():
    outputs = [(B + X.sum()).node, X.max().node, (X * B).node, (B + 1).node]
    program = SliceProgram([X.node, B.node], outputs, OBS, "python")
    assert program.operations == ("add", "maximum", "concat", "")
    held = program.hold()
    x, b = np.arange(5.0), np.array(2.0)
    shares = [held.share([], start)(x[start:stop], b) for start, stop in [(0, 2), (2, 5)]]
    total = program.total(shares, held.rest(x, b))
    for found, expected in zip(total, [12.0, 4.0, 2 * x, 3.0], strict=True):
        np.testing.assert_array_equal(found, expected)


def test_pieces_are_views_where_the_dim_is_the_first_axis():
    program = SliceProgram([A.node], [((XD - A) ** 2).sum().node], OBS, "python")
    held = program.hold()
    (whole,), (piece,) = held.arrays, held.pieces(2, 4)
    assert np.shares_memory(whole, piece)
    m = dt.data(np.arange(12.0).reshape(2, 6), dims=[K, OBS])
    held = SliceProgram([A.node], [(m * A).sum().node], OBS, "python").hold()
    (piece,) = held.pieces(2, 4)
    assert piece.flags.c_contiguous
    assert sorted(piece.ravel()) == [2.0, 3.0, 8.0, 9.0]


def test_axes_of_slices_are_in_the_order_of_the_whole():
    i, j = dt.Dim("i", length=100), dt.Dim("j", length=200)
    x = dt.data(np.zeros((100, 200)), dims=[i, j])
    program = SliceProgram([A.node], [((x - A) ** 2).sum().node], i, "python")
    assert program.along[0].dims == (i, j)  # the longest dim is the last one
    assert program.along[0].axis == 0


def test_data_are_replaced_and_their_constants_with_them():
    data = dt.data([1.0, 2.0, 6.0], dims=OBS, name="data")
    program = SliceProgram([A.node], [(A * (data - data.mean()) ** 2).sum().node], OBS, "python")
    for values in ([1.0, 2.0, 6.0], [4.0, 9.0, 1.0, 3.0]):
        held = program.hold({data.node: values})
        assert held.length == len(values)
        ends = [(0, 2), (2, len(values))]
        shares = [held.share(held.pieces(*pair), pair[0])(np.array(3.0)) for pair in ends]
        expected = 3 * np.square(np.array(values) - np.mean(values)).sum()
        np.testing.assert_allclose(program.total(shares)[0], expected)


def test_data_along_the_dim_may_be_elsewhere():
    program = SliceProgram([A.node], [((XD - A) * YD).sum().node], OBS, "python")
    held = program.hold(elsewhere=[XD.node], length=6)
    at = [each.source for each in program.along].index(XD.node)
    assert held.arrays[at] is None
    shares = []
    for start, stop in [(0, 4), (4, 6)]:
        own = {XD.node: DATA[0][start:stop], YD.node: DATA[1][start:stop]}
        pieces = [own[each.source] for each in program.along]
        shares.append(held.share(pieces, start)(np.array(0.3)))
    np.testing.assert_allclose(program.total(shares)[0], ((DATA[0] - 0.3) * DATA[1]).sum())
    centered = SliceProgram([A.node], [(A * (XD - XD.mean()) ** 2).sum().node], OBS, "python")
    with pytest.raises(dt.PartitionError, match="needs the whole of an unnamed data tensor"):
        centered.hold(elsewhere=[XD.node], length=6)


def test_a_look_up_out_of_range_is_an_error_of_the_slice():
    where = dt.data([0, 1, 2, 5], dims=OBS, name="where")
    theta = dt.tensor("theta", dims=K)
    held = SliceProgram([theta.node], [theta.isel(k=where).sum().node], OBS, "python").hold()
    held.share(held.pieces(0, 2))
    with pytest.raises(dt.PositionError, match="'where'"):
        held.share(held.pieces(2, 4))


def test_checks_are_made_slice_by_slice():
    total = dt.check(X < A, "x is small", X).sum()
    inputs = [X.node, A.node]
    held = SliceProgram(inputs, [total.node], OBS, "python").hold()
    x, share = np.array([1.0, 2.0, 8.0]), held.share([])
    assert share(x[:2], np.array(3.0))[0] == 3.0
    with pytest.raises(dt.CheckError, match="x is small"):
        share(x[2:], np.array(3.0))


def test_an_expression_that_mixes_positions_is_refused():
    with pytest.raises(dt.PartitionError, match="slices of dim 'obs' cannot be computed"):
        SliceProgram([X.node], [X.cumsum(OBS).node], OBS)
    with pytest.raises(dt.PartitionError, match="its length is an input"):
        SliceProgram([X.node, OBS], [(X * dt.arange(OBS)).sum().node], OBS)


def test_a_program_is_pickled_as_its_expressions():
    x = (X[KEEP] * Y[KEEP]).sum()
    inputs = [each.node for each in dt.inputs_of(x)]
    again = pickle.loads(pickle.dumps(SliceProgram(inputs, [x.node], OBS, "python")))
    assert again.operations == ("add",)
    v = numbers(4)
    share = again.hold().share([])
    found = share(*[v[str(node.name)] for node in inputs])[0]
    np.testing.assert_allclose(found, (v["x"] * v["y"])[v["keep"]].sum())


def test_the_tree_depends_on_the_number_of_slices_alone():
    pair = np.frompyfunc(lambda x, y: f"({x}{y})", 2, 1)
    assert tree(list("a"), pair) == "a"
    assert tree(np.array(list("abcdefg"), object), pair) == "(((ab)(cd))((ef)g))"
