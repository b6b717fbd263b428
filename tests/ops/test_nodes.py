import os
import subprocess
import sys

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.graph.traversal import graph_inputs
from pytensor.tensor.basic import Alloc
from pytensor.tensor.subtensor import Subtensor

from dimtensor.ops.interpret import Interpreter
from dimtensor.ops.nodes import alloc, elementwise, of_length_one, reshaped, selected

n, m = pt.lscalar("n"), pt.scalar("m", dtype="int32")
x = pt.tensor("x", shape=(7, None), dtype="float64")
VALUES = {n: np.array(3), m: np.array(1, "int32"), x: np.arange(14.0).reshape(7, 2)}


def value(variable):
    given = [v for v in graph_inputs([variable]) if v in VALUES]
    return Interpreter(given, [variable])(*(VALUES[v] for v in given))[0]


OPERANDS = [
    (pt.add, x, x),
    (pt.add, pt.tensor(shape=(3, 1), dtype="int8"), pt.tensor(shape=(None, 4), dtype="float32")),
    (pt.add, pt.dscalar(), pt.tensor(dtype="uint8", shape=()), pt.tensor(dtype="bool", shape=())),
    (pt.mul, pt.dvector(), x),  # of which axes are missing
    (pt.switch, pt.bvector(), pt.constant([1, 2]), pt.dvector()),
    (pt.true_div, pt.lscalar(), pt.lscalar()),
    (pt.invert, pt.tensor(shape=(None,), dtype="bool")),
    (pt.exp, pt.tensor(shape=(2,), dtype="complex64")),
    (pt.maximum, pt.tensor(shape=(1, None), dtype="int64"), pt.tensor(shape=(1, 0), dtype="int8")),
    (pt.clip, pt.dvector(), pt.dvector(), pt.dvector()),
    (pt.zeros_like, pt.dmatrix()),  # a function
]


@pytest.mark.parametrize(
    ("op", "operands"), [(op, rest) for op, *rest in OPERANDS], ids=range(len(OPERANDS))
)
def test_elementwise_operations_are_those_of_pytensor(op, operands):
    for _ in range(2):  # when its types are known, too
        ours, theirs = elementwise(op, *operands), op(*operands)
        assert ours.type == theirs.type
        assert ours.owner.op == theirs.owner.op
        assert [v.type for v in ours.owner.inputs] == [v.type for v in theirs.owner.inputs]
        assert ours.owner.outputs == [ours]


def test_elementwise_operations_of_lengths_that_do_not_fit_are_refused():
    three, four = pt.tensor(shape=(3,), dtype="float64"), pt.tensor(shape=(4,), dtype="float64")
    with pytest.raises(ValueError, match="Incompatible Elemwise input shapes"):
        elementwise(pt.add, three, four)


SELECTIONS = [
    (slice(1, -1),),
    (slice(None, None, -1), slice(None)),
    (slice(5, 1, -2),),
    (3,),
    (-1, slice(0, 1)),
    (slice(n),),
    (slice(None), m),
    (slice(pt.constant(2), None),),
    (slice(n + 1),),
    (slice(1, 100, n), 0),
]


@pytest.mark.parametrize("entries", SELECTIONS, ids=str)
def test_selections_have_the_types_and_values_of_pytensors(entries):
    ours, theirs = selected(x, entries), x[entries]
    assert ours.type == theirs.type
    assert isinstance(ours.owner.op, Subtensor)
    assert ours.owner.op == theirs.owner.op
    np.testing.assert_array_equal(value(ours), value(theirs))


def test_a_selection_of_too_many_axes_is_refused():
    with pytest.raises(IndexError, match="too many indices"):
        selected(x, [0, 0, 0])


SHAPES = [
    (4, 7, 2),
    (7, n),
    (x.shape[0], x.shape[1]),
    (n, m + 6, 1 + pt.constant(1)),
    (pt.maximum(x.shape[1], 0), 7, 2),
]


@pytest.mark.parametrize("lengths", SHAPES, ids=str)
def test_broadcasts_have_the_types_and_values_of_pytensors(lengths):
    for source in (pt.constant(1.5), pt.specify_broadcastable(x[:, :1], 1)):
        ours, theirs = alloc(source, *lengths), pt.alloc(source, *lengths)
        assert ours.type == theirs.type
        assert isinstance(ours.owner.op, Alloc)
        found = value(ours)
        assert found.shape == tuple(int(value(pt.as_tensor(k))) for k in lengths)
        np.testing.assert_array_equal(found, np.broadcast_to(value(source), found.shape))


def test_broadcasts_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="incompatible"):
        alloc(x, 6, 2)
    with pytest.raises(TypeError, match="more dimensions"):
        alloc(x, 7)


def test_a_length_that_follows_from_constants_is_known():
    assert alloc(pt.constant(0.0), pt.constant(2) * 3).type.shape == (6,)


@pytest.mark.parametrize("lengths", [(2, 7), (7, 1, 2), (n - 1, 7), (x.shape[1], x.shape[0])])
def test_reshapes_keep_the_elements(lengths):
    found = reshaped(x, lengths)
    shape = [int(value(pt.as_tensor(k))) for k in lengths]
    for known, length, asked in zip(found.type.shape, shape, lengths, strict=True):
        assert known == length or (known is None and not isinstance(asked, int))
    np.testing.assert_array_equal(value(found), np.arange(14.0).reshape(shape))


def test_a_length_of_one_is_asked_for():
    assert of_length_one(x[:, :1], [1]).type.shape == (7, 1)
    with pytest.raises(AssertionError, match="expected"):
        value(of_length_one(x, [1]))


NO_SPARSE_ARRAYS = """
assert "pytensor.tensor" in sys.modules
assert "scipy.sparse" not in sys.modules
"""
SELECTIONS = """
import sys
import numpy as np, dimtensor as dt

row, column = dt.Dim("row"), dt.Dim("column", length=5)
x, a = dt.tensor("x", dims=[row, column]), dt.tensor("a", dims=column)
late = x.isel(row=slice(2, -1)) * a.isel(column=slice(1, 4)).mean()
loss = (late ** 2).sum() + (x.diff("row") * a).sum() + dt.exp(x).max("column").sum()
loss = loss + (x * a).cumsum("column").sum() + x.cumprod("row").sum()
f = dt.function([x, a], [loss, dt.grad(loss, x)], backend="numba")
f((("row", "column"), np.ones((9, 5))), np.ones(5))
"""
GROUPED_DIMS_IN_A_LOOP = """
import sys
import numpy as np, dimtensor as dt

time, feature = dt.Dim("time"), dt.Dim("feature", length=4)
gate, unit, before = (dt.Dim(name, length=3) for name in ("gate", "unit", "before"))
x = dt.tensor("x", dims=[time, feature])
inward = dt.tensor("inward", dims=[gate, unit, feature])
w = dt.tensor("w", dims=[gate, unit, before])

def step(h, known):
    gates = dt.tanh(dt.dot(w, h.rename({unit: before}), dim=before) + known)
    h = gates.isel(gate=0) * gates.isel(gate=1)
    return h, h

_, h = dt.scan(step, dt.ones(unit), dt.dot(x, inward, dim=feature), dim=time)
loss = (h ** 2).sum()
f = dt.function([x, inward, w], [loss, *dt.grad(loss, [inward, w])], backend="numba")
axes = ("time", "feature"), ("gate", "unit", "feature"), ("gate", "unit", "before")
f(*((names, np.ones(n)) for names, n in zip(axes, [(9, 4), (3, 3, 4), (3, 3, 3)])))
"""
FEW_NUMBERS_IN_A_LOOP = """
import sys
import numpy as np, dimtensor as dt

time = dt.Dim("time")
y = dt.data(np.ones(9), dims=time, name="y")
mu, theta = dt.scalar("mu"), dt.scalar("theta")
known = mu * y.shift({time: 1}, fill_value=mu)
noise = dt.cumulate(lambda noise, apart: apart - theta * noise, 0.0, y - known, dim=time)
loss = (noise ** 2).sum()
f = dt.function([mu, theta], [loss, *dt.grad(loss, [mu, theta])], backend="jax")
f(0.5, 0.25)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [SELECTIONS, GROUPED_DIMS_IN_A_LOOP, FEW_NUMBERS_IN_A_LOOP],
    ids=["selections", "grouped_dims_in_a_loop", "few_numbers_in_a_loop"],
)
def test_a_first_gradient_imports_no_sparse_arrays(script):
    # xarray imports dask where it is installed, and dask imports SciPy's sparse arrays
    without_dask = "import sys\nsys.modules['dask'] = None\n"
    command = [sys.executable, "-c", without_dask + script + NO_SPARSE_ARRAYS]
    nothing_kept = os.environ | {"DIMTENSOR_CACHE": "0"}
    done = subprocess.run(command, env=nothing_kept, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
