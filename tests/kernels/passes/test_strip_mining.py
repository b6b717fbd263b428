"""Loops that LLVM vectorizes: what keeps it from that is put in loops of its own."""

import platform
import re

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from dimtensor.kernels.compiler import compile_kernel
from dimtensor.tuning import SCATTER_COPIES, STRIP_ELEMENTS
from tests.kernels.interpret import interpreted

rng = np.random.default_rng(0)
N, GROUPS = 2 * STRIP_ELEMENTS + 57, 5
x, y = pt.dvector("x"), pt.dvector("y")
codes = pt.lvector("codes")
effect = pt.dvector("effect")
mean, sigma = pt.dscalar("mean"), pt.dscalar("sigma")
m = pt.dmatrix("m")
ARRAYS = {
    x: rng.normal(size=N),
    y: rng.normal(size=N),
    codes: rng.integers(-GROUPS, GROUPS, size=N),
    effect: rng.normal(size=GROUPS),
    mean: np.asarray(0.3),
    sigma: np.asarray(1.4),
    m: rng.normal(size=(7, 40)),
}
residual = y - mean - effect[codes]
hierarchical = (-0.5 * (residual / sigma) ** 2 - pt.log(sigma)).sum()
PROGRAMS = {
    "normal": [
        total := (-0.5 * ((x - mean) / sigma) ** 2 - pt.log(sigma)).sum(),
        *pytensor.grad(total, [mean, sigma]),
    ],
    "hierarchical": [hierarchical, *pytensor.grad(hierarchical, [effect, mean, sigma])],
    "table": [
        table := ((m - effect[:7][:, None] - mean) ** 2 * sigma).sum(),
        *pytensor.grad(table, [effect, mean]),
    ],
    "logistic": [
        logit := (y * x * mean - pt.softplus(x * mean)).sum(),
        *pytensor.grad(logit, [mean]),
    ],
    "calls": [(pt.j0(x * mean) * y / (1 + x * x)).sum(), (pt.exp(x - y) / (1 + y * y)).sum()],
}
ARRAYS[effect] = rng.normal(size=7)


def inputs_of(outputs):
    found = set(pytensor.graph.traversal.graph_inputs(outputs))
    return [v for v in ARRAYS if v in found]


def by_pytensor(inputs, outputs, arrays):
    function = pytensor.function(inputs, outputs, mode="FAST_COMPILE", on_unused_input="ignore")
    return function(*arrays)


def check(inputs, outputs, arrays):
    found = interpreted(inputs, outputs)(*arrays)
    for one, other in zip(found, by_pytensor(inputs, outputs, arrays), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name):
    outputs = PROGRAMS[name]
    inputs = inputs_of(outputs)
    check(inputs, outputs, [ARRAYS[v] for v in inputs])


@pytest.mark.parametrize(
    "length", [0, 1, 7, STRIP_ELEMENTS - 1, STRIP_ELEMENTS, STRIP_ELEMENTS + 1, 8 * 7 + 1]
)
def test_lengths_around_that_of_a_strip(length):
    outputs = PROGRAMS["hierarchical"]
    inputs = inputs_of(outputs)
    check(
        inputs, outputs, [ARRAYS[v][:length] if v in (x, y, codes) else ARRAYS[v] for v in inputs]
    )


def test_an_update_without_a_loop():
    one, at = (
        pt.tensor("one", dtype="float64", shape=(1,)),
        pt.tensor("at", dtype="int64", shape=(1,)),
    )
    outputs = [pt.inc_subtensor(pt.zeros(GROUPS)[at], one * one)]
    check([one, at], outputs, [np.array([3.0]), np.array([2])])


def test_what_is_serial_is_in_a_loop_of_its_own():
    source = interpreted(inputs_of(PROGRAMS["hierarchical"]), PROGRAMS["hierarchical"]).source
    loops = re.split(r"\n *for ", source)
    updates = [loop for loop in loops if re.search(r"w\d+\[.*&.*\+=", loop)]
    sums = [loop for loop in loops if re.search(r"a\d+ \+=", loop)]
    assert len(updates) == 1
    assert sums
    assert not set(updates) & set(sums)


def test_a_short_loop_is_not_cut():
    few, at = pt.tensor("few", dtype="float64", shape=(10,)), pt.constant(np.arange(10) % 3)
    outputs = [pt.inc_subtensor(pt.zeros(3)[at], few * mean), (few * few * mean).sum()]
    source = interpreted([few, mean], outputs).source
    assert f"range(0, 10, {STRIP_ELEMENTS})" not in source


def test_targets_as_large_as_the_data_are_added_up_in_place():
    source = interpreted([codes, x], [pt.inc_subtensor(pt.zeros(GROUPS)[codes], x * x)]).source
    assert f"= {SCATTER_COPIES - 1} if {SCATTER_COPIES * 5} <= n" in source
    large = pt.tensor("large", dtype="float64", shape=(100,))
    at = pt.tensor("at", dtype="int64", shape=(100,))
    source = interpreted([at, large], [pt.inc_subtensor(pt.zeros(100)[at], large * large)]).source
    assert "w" not in source.partition("return")[0].replace("kernel", "")


@pytest.mark.parametrize(("number", "ways"), [(1, 8), (2, 4), (3, 2), (4, 2), (5, 1)])
def test_several_updates_need_fewer_arrays_each(number, ways):
    outputs = [pt.inc_subtensor(pt.zeros(GROUPS)[codes], x ** (2 + k)) for k in range(number)]
    source = interpreted([codes, x], outputs).source
    assert source.count(f"= {ways - 1} if {ways * 5} <= n") == (number if ways > 1 else 0)
    check([codes, x], outputs, [ARRAYS[codes], ARRAYS[x]])


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names of x86-64")
@pytest.mark.compiled
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    ("cpu", "register"), [("haswell", "ymm"), ("skylake-avx512", "ymm"), ("znver4", "zmm")]
)
def test_arithmetic_is_packed(name, cpu, register):
    """Loops over the data do arithmetic in registers of the width that the processor prefers."""
    outputs = PROGRAMS[name]
    kernel = compile_kernel(inputs_of(outputs), outputs)
    assert kernel.native is not None
    arithmetic = r"\bv(?:add|sub|mul|div|fn?m(?:add|sub)\d+)pd\b.*"
    lines = re.findall(arithmetic, kernel.assembly_for(cpu))
    packed = [line for line in lines if register in line]
    # for each total at least one addition, of two operations before it
    totals = len(re.findall(r"^ +a\d+ \+=", kernel.source, re.MULTILINE))
    assert totals >= 2
    assert len(packed) >= 3 * totals


def aligned(array, offset):
    """A copy whose first byte is so many bytes beyond a multiple of 64."""
    memory = np.zeros(array.nbytes + 128, dtype=np.uint8)
    start = -memory.ctypes.data % 64 + offset
    result = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    result[...] = array
    return result


@pytest.mark.compiled
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_do_not_depend_on_where_arrays_lie(name):
    outputs = PROGRAMS[name]
    inputs = inputs_of(outputs)
    kernel = compile_kernel(inputs, outputs)
    function = kernel.native.bind() if kernel.native is not None else kernel.function
    first = [np.array(r) for r in function(*(aligned(ARRAYS[v], 0) for v in inputs))]
    for offset in (0, 8, 16, 24, 32, 56):
        again = function(*(aligned(ARRAYS[v], offset) for v in inputs))
        for one, other in zip(first, again, strict=True):
            assert one.tobytes() == np.asarray(other).tobytes()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("length", [0, 7, 2 * STRIP_ELEMENTS + 3])
def test_updates_of_one_array_share_a_loop(dtype, length):
    """As in the gradient of differences of neighbors, whose places are data."""
    v, table = pt.vector("v", dtype=dtype), pt.vector("table", dtype=dtype)
    first, second = pt.lvector("first"), pt.lvector("second")
    apart = (table[first] - table[second]) * v
    one = pt.inc_subtensor(pt.zeros_like(table)[first], apart)
    both = pt.inc_subtensor(one[second], -apart)
    outputs = [pt.inc_subtensor(both[first], apart * apart), (apart * apart).sum()]
    inputs = [v, table, first, second]
    at = rng.integers(-GROUPS, GROUPS, (2, length))
    arrays = [rng.normal(size=length).astype(dtype), rng.normal(size=GROUPS).astype(dtype), *at]
    function = interpreted(inputs, outputs)
    assert function.source.count(f"in range(0, n0, {STRIP_ELEMENTS})") == 1
    rtol = 1e-12 if dtype == "float64" else 1e-4
    for each, expected in zip(function(*arrays), by_pytensor(inputs, outputs, arrays), strict=True):
        np.testing.assert_allclose(each, expected, rtol=rtol, atol=rtol)
    # what is read itself is not added to any more
    outputs = [one, both]
    for each, expected in zip(
        interpreted(inputs, outputs)(*arrays), by_pytensor(inputs, outputs, arrays), strict=True
    ):
        np.testing.assert_allclose(each, expected, rtol=rtol, atol=rtol)


def test_updates_that_depend_on_each_other_have_loops_of_their_own():
    first = pt.inc_subtensor(pt.zeros(GROUPS)[codes], x * y)
    second = pt.inc_subtensor(first[codes], x * first[codes])
    check([x, y, codes], [second], [ARRAYS[v] for v in (x, y, codes)])
    lengths = pt.lvector("others")
    outputs = [pt.inc_subtensor(first[lengths], lengths * 1.5)]
    check([x, y, codes, lengths], outputs, [*(ARRAYS[v] for v in (x, y, codes)), np.arange(3)])
