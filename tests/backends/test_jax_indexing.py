"""Views, look-ups and updates on JAX against NumPy's, through the positional graph."""

import numpy as np
import pytensor.link.c.basic
import pytensor.tensor as pt
import pytest
from pytensor.graph.replace import vectorize_graph
from pytensor.tensor.blockwise import Blockwise

from dimtensor.backends import compile_positional
from dimtensor.backends.jax.graph import _on_host
from dimtensor.ops.interpret import Interpreter
from tests.backend_names import BACKENDS

pytestmark = pytest.mark.compiled

PARTS = [
    np.s_[2],
    np.s_[-1, 1:],
    np.s_[1:5:2, ::-1],
    np.s_[::-2, -3:-1],
    np.s_[4:1:-1],
    np.s_[:, 3],
    np.s_[3:3],
    np.s_[5:6, 2:3],
]
POSITIONS = [np.array([0, 2, 2, 5]), np.array([1, 3, 4]), np.array([-1, 0, -1]), np.array([4, 1])]


def run(inputs, outputs, values):
    call = compile_positional("jax", inputs, outputs).call
    return [np.asarray(one) for one in call(*values)]


@pytest.mark.parametrize("shape", [(6, 5), (6, 1000)], ids=["small", "large"])
def test_adding_to_slices(shape):
    rng = np.random.default_rng(1)
    x = pt.tensor("x", shape=shape, dtype="float64")
    values = rng.normal(size=shape)
    wanted = []
    for part in PARTS:
        changed = values.copy()
        changed[part] += np.arange(changed[part].size).reshape(changed[part].shape)
        wanted.append(changed)
    addends = [
        np.arange(values[part].size, dtype=float).reshape(values[part].shape) for part in PARTS
    ]
    outputs = [
        pt.inc_subtensor(x[part], addend) for part, addend in zip(PARTS, addends, strict=True)
    ]
    for found, one in zip(run([x], outputs, [values]), wanted, strict=True):
        np.testing.assert_array_equal(found, one)


def test_adding_to_a_slice_leaves_the_sign_of_zeros():
    x = pt.tensor("x", shape=(4,), dtype="float64")
    (found,) = run([x], [pt.inc_subtensor(x[1:3], pt.sqrt(x[0]))], [np.array([-0.0] * 4)])
    assert np.signbit(found).all()


def test_adding_integers_and_what_is_broadcast():
    k = pt.tensor("k", shape=(3, 4), dtype="int64")
    values = np.arange(12).reshape(3, 4)
    row = pt.tensor("row", shape=(4,), dtype="int64")
    (found,) = run([k, row], [pt.inc_subtensor(k[1:], row)], [values, np.arange(4) * 10])
    wanted = values.copy()
    wanted[1:] += np.arange(4) * 10
    assert found.dtype == "int64"
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("known", [True, False], ids=["constant", "input"])
def test_looking_up_and_updating_through_positions(known):
    rng = np.random.default_rng(2)
    x = pt.tensor("x", shape=(6, 3), dtype="float64")
    values = rng.normal(size=(6, 3))
    given = [pt.tensor(f"at{n}", shape=at.shape, dtype="int64") for n, at in enumerate(POSITIONS)]
    used = [pt.constant(at) for at in POSITIONS] if known else given
    outputs, wanted = [], []
    for at, variable in zip(POSITIONS, used, strict=True):
        added, put = values.copy(), values.copy()
        np.add.at(added, at, 1.5)
        put[at] = 7.0
        outputs += [x[variable], pt.inc_subtensor(x[variable], np.full((len(at), 3), 1.5))]
        outputs += [pt.set_subtensor(x[variable], np.full((len(at), 3), 7.0))]
        wanted += [values[at], added, put]
    inputs = [x] if known else [x, *given]
    results = run(inputs, outputs, [values] if known else [values, *POSITIONS])
    for found, one in zip(results, wanted, strict=True):
        np.testing.assert_allclose(found, one, rtol=1e-15)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_update_that_ignores_duplicates_adds_once(backend):
    x, at = pt.tensor("x", shape=(4,), dtype="float64"), pt.tensor("at", shape=(3,), dtype="int64")
    once = pt.inc_subtensor(x[at], 2.0, ignore_duplicates=True)
    each = pt.inc_subtensor(x[at], 2.0)
    call = compile_positional(backend, [x, at], [once, each]).call
    found = call(np.arange(4.0), np.array([1, 1, 3]))
    assert [np.asarray(one).tolist() for one in found] == [[0, 3, 2, 5], [0, 5, 2, 5]]


def test_axes_dropped_moved_and_added():
    x = pt.tensor("x", shape=(2, 1, 3), dtype="float64")
    values = np.arange(6.0).reshape(2, 1, 3)
    outputs = [x.dimshuffle(2, 0), x.dimshuffle("x", 2, "x", 1, 0), x.dimshuffle(1, 0, 2, "x")]
    wanted = [
        values[:, 0].T,
        values.transpose(2, 1, 0)[None, :, None],
        values.transpose(1, 0, 2)[..., None],
    ]
    for found, one in zip(run([x], outputs, [values]), wanted, strict=True):
        np.testing.assert_array_equal(found, one)


def test_what_jax_lacks_is_performed_by_python(monkeypatch, rng):
    """Where nothing is traced; PyTensor would have C code compiled for each element of a batch."""
    core, x = pt.dvector("core"), pt.dmatrix("x")
    node = vectorize_graph(core[:2].set(0.5), {core: x}).owner
    assert isinstance(node.op, Blockwise)
    monkeypatch.setattr(
        pytensor.link.c.basic, "get_module_cache", lambda *given: pytest.fail("compiled")
    )
    rows = rng.normal(size=(3, 4))
    (found,) = _on_host(node)(*Interpreter([x], node.inputs)(rows))
    np.testing.assert_allclose(found[:, 2:], rows[:, 2:], rtol=1e-6)
    np.testing.assert_array_equal(found[:, :2], 0.5)
