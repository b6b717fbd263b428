"""``dt.apply``: positional functions by core dims, batched over the rest, against plain loops."""

from __future__ import annotations

import functools
import pickle

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
import scipy.linalg
import scipy.special
import xarray as xr

import dimtensor as dt
from dimtensor.testing.differences import assert_gradient
from tests.backend_names import BACKENDS

GROUP = dt.Dim("group", coords=["u", "v"])
TIME = dt.Dim("time", coords=[10, 20, 30])
K = dt.Dim("k", length=4)
LATE = dt.Dim("late")

x = dt.tensor("x", dims=[GROUP, K, TIME])
y = dt.tensor("y", dims=[K, TIME])
late = dt.tensor("late_x", dims=[GROUP, LATE])


@pytest.fixture
def values(rng):
    array = xr.DataArray(rng.normal(size=(2, 4, 3)), dims=["group", "k", "time"])
    return array.assign_coords(group=["u", "v"], time=[10, 20, 30])


def softmax_rows(matrix):
    return pt.special.softmax(matrix, axis=1)


# -- values ----------------------------------------------------------------------------------------


def test_core_dims_are_the_axes_in_the_order_given(values):
    for order in (["k", "time"], ["time", "k"]):
        out = dt.apply(softmax_rows, x, input_core_dims=[order], output_core_dims=order)
        result = out.eval({x: values.transpose("time", "group", "k")})
        for group in "uv":
            matrix = values.sel(group=group).transpose(*order).values
            found = result.sel(group=group).transpose(*order)
            np.testing.assert_allclose(found.values, scipy.special.softmax(matrix, axis=1))
        assert result["time"].values.tolist() == [10, 20, 30]


@pytest.mark.parametrize("backend", BACKENDS)
def test_several_inputs_and_outputs_are_batched_by_name(backend, rng):
    a, b = dt.tensor("a", dims=[GROUP, K]), dt.tensor("b", dims=[TIME, K])

    def moments(p, q):
        return [pt.dot(p, q), pt.cumsum(p) * q, q[0]]

    outputs = dt.apply(moments, a, b, input_core_dims=["k", "k"], output_core_dims=[(), "k", ()])
    assert [set(o.dims) for o in outputs] == [{GROUP, TIME}, {GROUP, TIME, K}, {GROUP, TIME}]
    one = xr.DataArray(rng.normal(size=(2, 4)), dims=["group", "k"])
    two = xr.DataArray(rng.normal(size=(3, 4)), dims=["time", "k"])
    f = dt.function([a, b], [*outputs, dt.grad(outputs[1].sum(), a)], backend=backend)
    dot, product, first, slope = f(one, two)
    for g, t in np.ndindex(2, 3):
        at = {"group": g, "time": t}
        np.testing.assert_allclose(dot.isel(at), one.values[g] @ two.values[t])
        np.testing.assert_allclose(product.isel(at), np.cumsum(one.values[g]) * two.values[t])
        np.testing.assert_allclose(first.isel(at), two.values[t, 0])
    expected = two.values.sum(0)[::-1].cumsum()[::-1]
    for g in (0, 1):
        np.testing.assert_allclose(slope.isel(group=g), expected)


def test_an_op_or_a_partial_is_a_function(values):
    gram = dt.dot(y, y.rename_dim("time"), dim="k")
    given = {y: values[0]}
    expected = np.linalg.inv(values.values[0].T @ values.values[0])
    solve_for_identity = functools.partial(pt.linalg.solve, b=pt.eye(3))
    for function in (pt.linalg.MatrixInverse(), pt.linalg.inv, solve_for_identity):
        found = dt.apply(
            function, gram, input_core_dims=[["time", "time'"]], output_core_dims=["time'", "time"]
        )
        np.testing.assert_allclose(found.eval(given).values, expected)


def test_without_core_dims_the_function_sees_scalars(values):
    out = dt.apply(lambda a, b: a * 2 + b, x, 1.0)
    np.testing.assert_allclose(out.eval({x: values}).transpose(*values.dims), values * 2 + 1)


def test_new_dims_and_numbers_of_other_dtypes(values):
    rank = dt.Dim("rank", coords=["first", "second"])
    out = dt.apply(lambda v: pt.argsort(v)[:2], y, input_core_dims=["k"], output_core_dims=rank)
    assert (out.dtype, out.sizes) == ("int64", {"rank": 2, "time": 3})
    found = out.eval({y: values[0]})
    assert found["rank"].values.tolist() == ["first", "second"]
    expected = np.argsort(values.values[0], axis=0)[:2]
    np.testing.assert_array_equal(found.transpose("rank", "time"), expected)


def test_an_anonymous_dim_has_the_length_of_the_output(values):
    new = dt.Dim()
    out = dt.apply(lambda v: v[1:], y, input_core_dims=["k"], output_core_dims=[new])
    assert set(out.dims) == {TIME, new}
    assert (new.length, out.sizes[new._short]) == (None, 3)
    assert sorted(out.eval({y: values[0]}).shape) == [3, 3]


def test_an_output_that_ignores_an_input_is_repeated_along_its_dims(values):
    a, b = dt.tensor("a", dims=[GROUP]), dt.tensor("b", dims=[TIME])
    one, other, number = dt.apply(lambda p, q: (p + 1, q + 1, 3.0), a, b)
    f = dt.function([a, b], [one, other, number], backend="python")
    first, second, third = f(np.array([1.0, 2.0]), np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(first.transpose("group", "time"), [[2.0] * 3, [3.0] * 3])
    np.testing.assert_array_equal(second.transpose("group", "time"), [[2.0, 3.0, 4.0]] * 2)
    np.testing.assert_array_equal(third.transpose("group", "time"), [[3.0] * 3] * 2)
    shape = dt.apply(lambda p, q: p.shape[0] + q, x, b, input_core_dims=["k", None])
    result = dt.function([x, b], shape, backend="python")(values, np.zeros(3))
    assert set(result.dims) == {"group", "time"}
    assert (result == 4).all()


# -- lengths that come with the data ---------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_lengths_that_come_with_the_data_are_checked_when_it_comes(backend, rng):
    new = dt.Dim("new")
    turned = dt.apply(lambda v: v[::-1], late, input_core_dims=["late"], output_core_dims="late")
    steps = dt.apply(pt.diff, late, input_core_dims=["late"], output_core_dims=new)
    f = dt.function([late], [turned + late, steps, steps.mean("new")], backend=backend)
    for n in (2, 5):
        array = xr.DataArray(rng.normal(size=(2, n)), dims=["group", "late"])
        symmetric, differences, mean = f(array)
        np.testing.assert_allclose(symmetric, array.values + array.values[:, ::-1])
        np.testing.assert_allclose(differences, np.diff(array.values))
        np.testing.assert_allclose(mean, np.diff(array.values).mean(axis=1))
    wrong = dt.apply(pt.diff, late, input_core_dims=["late"], output_core_dims="late")
    with pytest.raises((dt.CheckError, dt.DimError), match=r"diff: dim 'late' (has|differs)"):
        dt.function([late], wrong, backend=backend)(array)


@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_is_read_of_a_result_of_another_length(backend):
    long, r = dt.Dim("long"), dt.Dim("r", length=2)
    like = dt.tensor("like", dims=long)

    def twice(v):
        return pt.concatenate([v, v])

    def product(v):
        return (dt.apply(twice, v, input_core_dims=["late"], output_core_dims=long) * like).sum(
            long
        )

    each = dt.map(product, dt.data([1.0, 2.0], dims=r) * late.isel(group=0), dim=r)
    loss = product(late).sum()
    f = dt.function([late, like], [loss, dt.grad(loss, late), each], backend=backend)
    array = xr.DataArray([[1.0, 2.0], [3.0, 4.0]], dims=["group", "late"])
    weights = np.arange(4.0)
    value, slope, each = f(array, weights)
    assert value == (np.tile(array.values, 2) * weights).sum()
    np.testing.assert_array_equal(slope.transpose("group", "late"), [[2.0, 4.0]] * 2)
    np.testing.assert_array_equal(each, np.array([1.0, 2.0]) * ([1, 2, 1, 2] @ weights))
    for n in (1, 2, 6):
        with pytest.raises((dt.CheckError, dt.DimError), match=r"twice: dim 'long' (has|differs)"):
            f(array, np.ones(n))


@pytest.mark.compiled
def test_a_length_that_is_seen_to_be_right_is_not_checked():
    twice = dt.apply(
        lambda v: 2.0 * v[::-1], late, input_core_dims=["late"], output_core_dims="late"
    )
    f = dt.function([late], (twice + late).sum("late"), backend="numba")
    np.testing.assert_array_equal(f((("group", "late"), [[1.0, 5.0], [2.0, 3.0]])), [18.0, 15.0])
    assert "CheckError" not in f.source
    shorter = dt.apply(lambda v: v[:0:-1], late, input_core_dims=["late"], output_core_dims="late")
    with pytest.raises(dt.CheckError, match="dim 'late' differs in length"):
        dt.function([late], shorter + late, backend="numba")((("group", "late"), [[1.0], [2.0]]))


def test_a_late_output_may_be_used_in_a_positional_graph(rng):
    turned = dt.apply(lambda v: v[::-1], late, input_core_dims=["late"], output_core_dims="late")
    graph = turned.to_shaped([GROUP, LATE])
    array = rng.normal(size=(2, 3))
    found = graph.eval(
        {late.to_shaped([GROUP, LATE]): array}, mode=pytensor.compile.mode.Mode("py")
    )
    np.testing.assert_allclose(found, array[:, ::-1])


# -- derivatives, batches, identity ----------------------------------------------------------------


def test_gradients_go_through(values):
    out = dt.apply(softmax_rows, x, input_core_dims=[["time", "k"]], output_core_dims=["time", "k"])

    def oracle(array):
        return (scipy.special.softmax(array.transpose("group", "time", "k"), axis=2) ** 3).sum()

    assert_gradient((out**3).sum(), x, {x: values}, oracle=oracle)
    tangent = dt.jvp((out**3).sum(), x, dt.ones_like(x))
    slope = dt.grad((out**3).sum(), x).eval({x: values})
    np.testing.assert_allclose(tangent.eval({x: values}), slope.sum(), atol=1e-12)


def test_a_finished_expression_is_batched(values):
    out = dt.apply(softmax_rows, y, input_core_dims=[["time", "k"]], output_core_dims=["time", "k"])
    grown = dt.tensor("y", dims=[GROUP, K, TIME])
    batched = dt.vectorize(out, {y: grown})
    result = batched.eval({grown: values})
    for group in "uv":
        expected = out.eval({y: values.sel(group=group)})
        xr.testing.assert_allclose(
            result.sel(group=group, drop=True), expected.drop_vars("group", errors="ignore")
        )
    # the call batches by itself, too
    xr.testing.assert_allclose(dt.function([y], out, backend="python")(values), result)


def test_equal_functions_make_equal_nodes():
    first = dt.apply(lambda v: pt.exp(v) / 2, y, input_core_dims=[K], output_core_dims=[K])
    assert first is dt.apply(
        lambda other: pt.exp(other) / 2, y, input_core_dims=["k"], output_core_dims="k"
    )
    assert first is not dt.apply(
        lambda v: pt.exp(v) / 3, y, input_core_dims=[K], output_core_dims=[K]
    )
    assert first is not dt.apply(
        lambda v: pt.exp(v) / 2, y, input_core_dims=[TIME], output_core_dims=[TIME]
    )
    assert pickle.loads(pickle.dumps(first)) is first


def test_two_outputs_of_one_call_are_computed_together(values):
    calls = []

    class Counted(pt.linalg.decomposition.qr.QR):
        def perform(self, node, inputs, outputs):
            calls.append(1)
            super().perform(node, inputs, outputs)

    rank = dt.Dim("rank", length=3)
    Q, R = dt.apply(Counted(mode="economic"), y, input_core_dims=[["k", "time"]],
                    output_core_dims=[["k", rank], [rank, "time"]])  # fmt: skip
    product = dt.dot(Q, R, dim=rank).eval({y: values[0]})
    np.testing.assert_allclose(product.transpose("k", "time"), values[0], atol=1e-12)
    assert len(calls) == 1


def test_numbers_and_labeled_arrays_are_inputs(values):
    out = dt.apply(pt.dot, values, np.float64(2.0) * dt.ones(K), input_core_dims=["k", "k"])
    np.testing.assert_allclose(out.eval().transpose("group", "time"), 2 * values.sum("k"))


# -- errors ----------------------------------------------------------------------------------------

OTHER = dt.Dim("other", length=4)
a = dt.tensor("a", dims=K)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: dt.apply(pt.dot, x, a, input_core_dims=["k", "kk"]),
            r"(?s)dot, input 2: there is no dim 'kk' \(did you mean 'k'\?\).*dims: 'k'",
        ),
        (
            lambda: dt.apply(pt.linalg.det, y, input_core_dims=["k", "time"]),
            r"(?s)input_core_dims has one entry per input.*inputs: 1.*entries: 2.*\[\[row, col",
        ),
        (
            lambda: dt.apply(pt.dot, x, a, input_core_dims="k"),
            r"(?s)dot: input_core_dims has one entry per input.*entries: one",
        ),
        (
            lambda: dt.apply(
                lambda v: v, y, input_core_dims=[["k", "time"]], output_core_dims=["k"]
            ),
            r"(?s)the output has 2 axes and is given 1 dims.*shape: \(4, 3\)",
        ),
        (
            lambda: dt.apply(pt.diff, y, input_core_dims=["k"], output_core_dims=["k"]),
            "diff: axis 0 of the output has length 3, dim 'k' has length 4",
        ),
        (
            lambda: dt.apply(pt.diff, y, input_core_dims=["k"], output_core_dims=["j"]),
            "diff, output: there is no dim 'j'",
        ),
        (
            lambda: dt.apply(lambda v: (v, v), y, input_core_dims=["k"], output_core_dims=["k"]),
            "returns 2 outputs; output_core_dims has one entry for each",
        ),
        (
            lambda: dt.apply(
                lambda v: pt.outer(v, v), y, input_core_dims=["k"], output_core_dims=["k", "k"]
            ),
            "the dims of the output have .* twice",
        ),
        (
            lambda: dt.apply(
                lambda v, w: v, y, a, input_core_dims=["k", None], output_core_dims=["k"]
            ),
            r"(?s)dim 'k' is a core dim of an input and a batch dim of another.*a with dims \{k\}",
        ),
        (
            lambda: dt.apply(
                lambda v: v[:3], a, y, input_core_dims=["k", None], output_core_dims=[TIME]
            ),
            "does not take inputs with these core dims",
        ),
        (
            lambda: dt.apply(
                lambda v, w: v[:3], a, y, input_core_dims=["k", "k"], output_core_dims=[TIME]
            ),
            "dim 'time' is a core dim of the output and a batch dim of another",
        ),
        (
            lambda: dt.apply(
                pt.dot, y, dt.ones(OTHER.rename("k2")), input_core_dims=["time", "k2"]
            ),
            r"(?s)dot does not take inputs with these core dims.*input 1: time \(3\).*"
            r"input 2: k2 \(4\)",
        ),
    ],
)
def test_mistakes_with_dims(call, message):
    with pytest.raises(dt.DimError, match=message):
        call()


def test_other_mistakes():
    with pytest.raises(dt.ArgumentError, match="apply takes a function or an Op, not 3"):
        dt.apply(3, y)
    with pytest.raises(dt.OptionError, match="apply takes at least one tensor"):
        dt.apply(pt.exp)
    with pytest.raises(dt.DtypeError, match="returns None, which is no tensor of numbers"):
        dt.apply(lambda v: None, y)
    with pytest.raises(dt.DtypeError, match="exp is not defined for labels of dim 'time'"):
        dt.apply(pt.exp, dt.tensor("codes", dims=K, categories=TIME))
    stranger = pt.vector("stranger")
    with pytest.raises(
        dt.GraphError, match=r"(?s)apply uses variables that it does not get.*variables: stranger"
    ):
        dt.apply(lambda v: v + stranger[0], y)
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        dt.apply(lambda v: v * (1 / 0), y)


def test_positional_functions_that_differ_in_the_sign_of_a_zero_are_two():
    found = [dt.apply(lambda v, z=zero: pt.where(v > 0, v, z), x) for zero in (0.0, -0.0)]
    plus, minus = dt.evaluate(found, {x: (x.dims, -np.ones((2, 4, 3)))})
    assert not np.signbit(plus.values).any()
    assert np.signbit(minus.values).all()


# operations of PyTensor that are graphs, and the same in NumPy and SciPy
GRAPHS = {
    "softmax": (
        lambda v: pt.special.softmax(v, axis=-1),
        lambda v: scipy.special.softmax(v, axis=-1),
    ),
    "log_softmax": (
        lambda v: pt.special.log_softmax(v, axis=-1),
        lambda v: scipy.special.log_softmax(v, axis=-1),
    ),
    "xlogy": (lambda v: pt.special.xlogy(v, v + 1), lambda v: scipy.special.xlogy(v, v + 1)),
    "logsumexp": (
        lambda v: v - pt.special.logsumexp(v, axis=-1, keepdims=True),
        lambda v: v - scipy.special.logsumexp(v, axis=-1, keepdims=True),
    ),
    "kron": (lambda v: pt.linalg.kron(v, v)[:3, :3], lambda v: np.kron(v, v)[:3, :3]),
    "pad": (
        lambda v: pt.pad(v, ((1, 1), (0, 0)))[:3],
        lambda v: np.pad(v, ((1, 1), (0, 0)))[:3],
    ),
    "einsum": (lambda v: pt.einsum("ij,kj->ik", v, v), lambda v: np.einsum("ij,kj->ik", v, v)),
}


@pytest.mark.compiled
@pytest.mark.parametrize("backend", ["native", "jax"])
@pytest.mark.parametrize("name", GRAPHS)
def test_operations_that_are_graphs_are_compiled(name, backend, request):
    if (name, backend) == ("pad", "jax"):
        errors = pytest.importorskip("jax.errors")
        # the ends of slices of its gradient are computed in the graph
        gap = pytest.mark.xfail(raises=errors.ConcretizationTypeError, strict=True)
        request.applymarker(gap)
    theirs, oracle = GRAPHS[name]
    i, j, batch = dt.Dim("i", length=3), dt.Dim("j", length=3), dt.Dim("batch", length=2)
    x = dt.tensor("x", dims=[batch, i, j])
    y = dt.apply(theirs, x, input_core_dims=[(i, j)], output_core_dims=(i, j))
    values = np.random.default_rng(1).uniform(0.5, 2.0, size=(2, 3, 3))
    weights = np.random.default_rng(2).normal(size=(2, 3, 3))
    slope = dt.grad((y * dt.data(weights, dims=[batch, i, j])).sum(), x)
    found = dt.function([x], [y, slope], backend=backend)(
        xr.DataArray(values, dims=["batch", "i", "j"])
    )
    found = [each.transpose("batch", "i", "j").values for each in found]
    np.testing.assert_allclose(found[0], [oracle(each) for each in values], rtol=1e-12)
    for at in np.ndindex(2, 3, 3):
        step = np.zeros_like(values)
        step[at] = 1e-6
        ends = [np.array([oracle(each) for each in values + side * step]) for side in (1, -1)]
        expected = (weights * (ends[0] - ends[1])).sum() / 2e-6
        np.testing.assert_allclose(found[1][at], expected, rtol=1e-6, atol=1e-7)
