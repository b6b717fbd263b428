"""The kernel compiler against the interpreter: the same graph, run node by node by PyTensor."""

import numpy as np
import pytensor.tensor as pt
import pytest

import dimtensor as dt
from dimtensor.backends import CompileOptions
from dimtensor.backends import native as native_backend
from dimtensor.backends import python as python_backend
from dimtensor.kernels.compiler import compile_kernel
from tests.golden.compare import check_golden

pytestmark = pytest.mark.compiled

rng = np.random.default_rng(0)
a, b, c = dt.Dim("a", length=3), dt.Dim("b", length=4), dt.Dim("c")
x, y, z = dt.tensor("x", dims=[a, b]), dt.tensor("y", dims=b), dt.tensor("z", dims=[c, b])
s = dt.scalar("s")
k = dt.tensor("k", dims=c, dtype="int64")
m = dt.tensor("m", dims=[a, b], dtype="bool")
f = dt.tensor("f", dims=b, dtype="float32")
of = dt.data([0, 1, 1, 0, 1], dims=c, categories=a)
q = dt.Dim("q")

VALUES = {
    x: (["a", "b"], rng.normal(size=(3, 4))),
    y: rng.normal(size=4),
    z: (["c", "b"], rng.normal(size=(5, 4))),
    s: 0.7,
    k: np.array([0, 2, 1, 0, -1]),
    m: (["a", "b"], rng.random((3, 4)) > 0.5),
    f: rng.normal(size=4).astype("float32"),
}

EXPRESSIONS = {
    "elementwise": [x + y * s, -x, dt.exp(s) ** y, x**2, dt.maximum(x, y), dt.isnan(x), x],
    "own product": [x.rename_dim(a) * x, (y.rename_dim(b) * y * 2).sum(), y.rename_dim(b) - y],
    "special": [
        dt.special.gammaln(abs(x) + 1),
        dt.special.erf(x),
        dt.logaddexp(x, y),
        dt.sign(x),
        dt.round(x),
    ],
    "dtypes": [(f * 2).sum(), f * f + 1, f.astype("float64") * y, k * k // 2, k % 2, m.sum("b")],
    "select": [dt.where(m, x, y), dt.where(x > 0, x, -1), x.clip(-0.5, 0.5)],
    "reductions": [z.sum("c"), z.max("c"), x.min(), x.prod("a"), m.all("a"), m.any(), z.std("c")],
    "softmax": [x.softmax("b"), z.logsumexp("b"), z.logsumexp(), z.log_softmax("c")],
    "gathers": [x.isel(a=k), x.isel(a=k, b=k), x.isel(a=dt.data([0, 1, 2, 2], dims=b)), z.mean()],
    "scatters": [x.isel(a=k).inc(z), x.isel(a=0).set(y), x.isel(a=slice(1, None)).inc(1.0)],
    "groups": [z.groupby(of).sum(), z.groupby(of).mean(), z.groupby(of).max()],
    "slices": [
        x.isel(b=slice(None, None, -1)) + 1,
        z.isel(c=slice(1, None)).relabel("c", q) - z.isel(c=slice(None, -1)).relabel("c", q),
        x.isel(a=[2, 0], b=[1, 1, 3]),
        x.isel(b=-1),
        z.isel(c=slice(0, 0)).sum("c"),
        x.isel(b=slice(0, None, 2)),
        z.isel(c=slice(1, None, 2)) * 1.0,
        z.isel(c=slice(None, None, -1)) * 2.0,
    ],
    "moves": [z.diff("c"), z.shift(c=1, fill_value=0.0), z.roll(c=2), x.pad(a=1)],
    "calls": [z.cumsum("c"), z.sort("c"), z.median("c"), x.argmax("b"), z.argmax("c")],
    "joins": [
        dt.concat([x, x * 2], "a", name="aa"),
        dt.stack([x, y, s], dt.Dim("n", length=3)),
        (x.ravel() * 2).unravel(),
        z.isel(c=z.sum("b") > 0),
    ],
    "products": [dt.dot(x, y), dt.dot(x, z), dt.dot(x, z, y, dim=b), dt.eye(a) * x],
    "constants": [s + 1, dt.ones(a) * 3, dt.arange(c) * 2 + k, dt.zeros([c, a]) + s + k],
}


def agree(outputs):
    inputs = dt.inputs_of(outputs)
    values = [VALUES[i] for i in inputs]
    expected = dt.function(inputs, outputs, backend="python")(*values)
    found = dt.function(inputs, outputs, backend="numba")(*values)
    for e, g in zip(expected, found, strict=True):
        assert g.dtype == e.dtype
        assert g.dims == e.dims
        np.testing.assert_allclose(g.values, e.values, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("group", EXPRESSIONS)
def test_values(group):
    agree(EXPRESSIONS[group])


@pytest.mark.parametrize("group", EXPRESSIONS)
def test_gradients(group):
    outputs = [e for e in EXPRESSIONS[group] if e.dtype == "float64"]
    gradients = []
    for e in outputs:
        inputs = [i for i in dt.inputs_of(e) if i.dtype == "float64"]
        if inputs:
            gradients += dt.grad(dt.sin(e.fillna(0.0)).sum(), inputs)
    agree(gradients)


@pytest.mark.parametrize("lengths", [(0, 0), (1, 1), (0, 3), (1, 3)])
def test_short_lengths(lengths):
    r, t = dt.Dim("r"), dt.Dim("t")
    u, v = dt.tensor("u", dims=[r, t]), dt.tensor("v", dims=t)
    at = dt.tensor("at", dims=r, dtype="int64")
    outputs = [u * v, (u * v).sum(r), (u * v).sum(), u.prod(t), v.isel({t: at * 0}).sum()]
    n, w = lengths
    values = [(["r", "t"], rng.normal(size=(n, w))), rng.normal(size=w), np.zeros(n, dtype=int)]
    if w == 0:
        outputs, values = outputs[:-1], values[:-1]
    inputs = [u, v, at][: len(values)]
    expected = dt.function(inputs, outputs, backend="python")(*values)
    found = dt.function(inputs, outputs, backend="numba")(*values)
    for e, g in zip(expected, found, strict=True):
        np.testing.assert_allclose(g.values, e.values, rtol=1e-12)


def test_extremes_of_no_elements_lose_against_all_numbers():
    """Rewrites ask for them: the maximum that logsumexp takes out of a sum. Users are refused."""
    v = pt.vector("v")
    kernel = compile_kernel([v], [v.max(), v.min(), pt.log(pt.exp(v).sum())])
    assert kernel.native.bind(kernel.constants)(np.zeros(0)) == (-np.inf, np.inf, -np.inf)
    x = dt.tensor("x", dims=c)
    with pytest.raises(dt.DimError, match="max has no value over dim 'c'"):
        dt.function([x], x.max())(np.zeros(0))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_goes_through(value):
    v = pt.vector("v")
    outputs = [v.max(), v.min(), v.sum(), pt.maximum(v, 0.0), pt.minimum(v, 0.0), pt.isnan(v)]
    array = np.array([1.0, value, -1.0])
    expected = python_backend.compile_positional([v], outputs).call(array)
    found = native_backend.compile_positional([v], outputs).call(array)
    for e, g in zip(expected, found, strict=True):
        np.testing.assert_array_equal(np.asarray(g), e)


def test_inputs_are_never_overwritten():
    v = pt.vector("v")
    outputs = [v, pt.set_subtensor(v[0], 5.0), pt.inc_subtensor(v[1:], 1.0), v.reshape((1, -1))]
    array = np.arange(3.0)
    found = native_backend.compile_positional([v], outputs).call(array)
    for g in found:
        assert not np.shares_memory(g, array)
    np.testing.assert_array_equal(array, np.arange(3.0))


def test_kernels_and_pytensor_agree():
    u, v = pt.matrix("u"), pt.vector("v")
    outputs = [pt.exp(u - u.max(axis=1, keepdims=True)) * v, (u * v).sum(axis=0)]
    arrays = rng.normal(size=(3, 4)), rng.normal(size=4)
    on = native_backend.compile_positional([u, v], outputs).call(*arrays)
    off = native_backend.compile_positional([u, v], outputs, CompileOptions(kernels=False)).call(
        *arrays
    )
    for e, g in zip(off, on, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-12)


def test_equal_axes_of_one_product_are_two_loops():
    v = pt.vector("v")
    found = native_backend.compile_positional([v], [v[:, None] * v[None, :]]).call(np.arange(3.0))
    np.testing.assert_array_equal(found[0], np.outer(np.arange(3.0), np.arange(3.0)))


def kernel_source(outputs, inputs):
    return compile_kernel(inputs, outputs).source


def test_source_of_a_hierarchical_model():
    county, obs = dt.Dim("county", length=85), dt.Dim("obs")
    effect, mean, sigma = dt.tensor("effect", dims=county), dt.scalar("mean"), dt.scalar("sigma")
    of = dt.tensor("of", dims=obs, categories=county)
    data = dt.tensor("data", dims=obs)
    logp = (-0.5 * ((data - mean - effect.sel(county=of)) / sigma) ** 2 - dt.log(sigma)).sum()
    inputs = [effect, mean, sigma, of, data]
    outputs = [logp, *dt.grad(logp, [effect, mean, sigma])]
    shaped = [i.to_shaped() for i in inputs]
    source = kernel_source([o.to_shaped() for o in outputs], shaped)
    check_golden("kernel_hierarchical.txt", source)


def test_source_of_sums_over_every_side_of_a_table():
    i, j, k = (dt.Dim(name, length=n) for name, n in (("i", 5), ("j", 6), ("k", 9)))
    table = dt.tensor("table", dims=[i, j, k])
    u, v, w = dt.tensor("u", dims=i), dt.tensor("v", dims=j), dt.tensor("w", dims=k)
    loss = ((table - u - v - w) ** 2).sum()
    outputs = [loss, *dt.grad(loss, [u, v, w])]
    shaped = [table.to_shaped([i, j, k]), *(t.to_shaped() for t in (u, v, w))]
    source = kernel_source([o.to_shaped() for o in outputs], shaped)
    check_golden("kernel_table.txt", source)


def test_kernels_can_be_switched_off():
    outputs = [(x * y).sum("b"), *dt.grad(dt.exp(x * y).sum(), [x, y])]
    values = VALUES[x], VALUES[y]
    on = dt.function([x, y], outputs)
    off = dt.function([x, y], outputs, kernels=False)
    for one, other in zip(on(*values), off(*values), strict=True):
        np.testing.assert_allclose(one.values, other.values, rtol=1e-12)
    assert "kernel" in on.stats
    assert "kernel" not in off.stats


@pytest.mark.parametrize("part", [slice(1, None), slice(None, None, -1), slice(1, -1)])
def test_negative_positions_in_a_part_of_an_array(part):
    """They count from the end of the part, whether it is stored or not."""
    v, at = pt.dvector("v"), pt.lvector("at")
    kernel = compile_kernel([v, at], [v[part][at] * 2.0])
    values, positions = rng.normal(size=6), np.array([0, -1, 2, -2])
    (found,) = kernel.native.bind(kernel.constants)(values, positions)
    np.testing.assert_array_equal(found, values[part][positions] * 2.0)


def test_an_array_that_a_returned_number_reads_is_not_overwritten():
    w = pt.tensor("w", shape=(None, 1), dtype="float64")
    total = w.sum(0)  # of one element: what is computed of it is computed outside of loops
    kernel = compile_kernel([w], [pt.sin(total[0]), pt.cos(total), pt.exp(total) * 2])
    values = rng.normal(size=(4, 1))
    found = kernel.native.bind(kernel.constants)(values)
    total = values.sum(0)
    for one, other in zip(found, [np.sin(total[0]), np.cos(total), np.exp(total) * 2], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def test_what_fills_a_slice_of_computed_ends_is_as_long_as_it_says():
    x, start, stop = pt.dvector("x"), pt.lscalar("start"), pt.lscalar("stop")
    one = pt.tensor("one", shape=(1,), dtype="float64")
    filled = pt.alloc(one, x[start:stop].shape[0])
    whole = pt.inc_subtensor(pt.zeros(x.shape)[start:stop], filled)
    kernel = compile_kernel([x, start, stop, one], [whole, filled])
    given = np.ones(6), np.array(2), np.array(4), np.array([7.0])
    found = kernel.native.bind(kernel.constants)(*given)
    np.testing.assert_array_equal(found[0], [0, 0, 7, 7, 0, 0])
    np.testing.assert_array_equal(found[1], [7, 7])


def test_axes_of_a_shape_that_is_asked_for_in_part_are_as_long_as_they_were():
    x, n = pt.dvector("x"), pt.lscalar("n")
    early = pt.lt(pt.arange(n), 3)[None, :]
    asked = pt.specify_shape(pt.switch(early, pt.exp(x)[:, None], 0.0), (4, None))
    f = native_backend.compile_positional([x, n], [asked.sum(axis=0)])
    assert f.native is not None
    np.testing.assert_array_equal(f.call(np.zeros(4), np.array(5))[0], [4, 4, 4, 0, 0])
