"""Rows of the op table on numba and JAX: values and gradients, in few functions of many outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.graph.optable import OpRow
from dimtensor.tensor import elementwise
from dimtensor.testing.differences import slope
from tests.backend_names import COMPILED
from tests.graph.optable.cases import Case, case_of, given, wanted_gradient
from tests.graph.optable.table import (
    DIMS,
    ELEMWISE,
    PATTERN,
    aligned,
    expected,
    in_order,
)

pytestmark = pytest.mark.compiled

# gradients in the first operands are series, which take long to compile: one of each kind is
# enough, gammainc and betainc
SERIES = ("gammaincc", "gammal", "gammau", "gammaincinv", "gammainccinv", "betaincinv")

# what is not machine code on numba; all other rows are, with their gradients
COMPLEX = ("complex", "complex_from_polar")

GROUP = 28
REAL = [row for row in ELEMWISE if row.name not in COMPLEX]
GROUPS = [REAL[start : start + GROUP] for start in range(0, len(REAL), GROUP)]
backends = pytest.mark.parametrize("backend", COMPILED)


def _case(backend: str, group: list[OpRow]) -> Any:
    """XLA takes long for derivatives of special functions: they are left to the long tests."""
    late = backend == "jax" and any(row.name in ("gammainc", "hyp2f1") for row in group)
    name = f"{group[0].name} to {group[-1].name}-{backend}"
    return pytest.param(backend, group, marks=[pytest.mark.slow] if late else [], id=name)


def call(cases: list[Case], outputs: list[dt.DimTensor], backend: str) -> list[Any]:
    inputs = [tensor for case in cases for tensor in case.inputs]
    f = dt.function(inputs, outputs, backend=backend)
    return f(*(
        ([DIMS[axis].name for axis in PATTERN[at]], array)
        for case in cases
        for at, array in enumerate(case.arrays)
    ))  # fmt: skip


def check(found: np.ndarray, wanted: np.ndarray, what: str, rtol: float, atol: float) -> None:
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol, err_msg=what)


@pytest.mark.parametrize(
    ("backend", "group"), [_case(one.values[0], group) for one in COMPILED for group in GROUPS]
)
def test_values_and_gradients(group: list[OpRow], backend: str, rng: np.random.Generator):
    compare(group, backend, rng)


@pytest.mark.falls_back  # complex numbers
@backends
def test_complex_values(backend: str, rng: np.random.Generator):
    compare([row for row in ELEMWISE if row.name in COMPLEX], backend, rng)


def compare(group: list[OpRow], backend: str, rng: np.random.Generator) -> None:
    """Values and gradients of rows, with those of the oracles."""
    cases = [case_of(row, rng) for row in group if backend not in row.skips.split()]
    for case in cases:
        if case.row.name in SERIES:
            del case.gradients[0]
    outputs = [case.value for case in cases]
    outputs += [gradient for case in cases for gradient in case.gradients.values()]
    results = iter(call(cases, outputs, backend))
    for case in cases:
        result = next(results)
        wanted = expected(case.row, case.arrays, result.dtype.name)
        assert result.dtype.name == case.value.dtype, case.row.name
        check(in_order(case.row, result), wanted, case.row.name, 1e-9, 1e-11)
    for case in cases:
        for at in case.gradients:
            result = next(results).transpose(*[DIMS[axis].name for axis in PATTERN[at]])
            what = f"gradient of {case.row.name} in {case.row.names[at]}"
            check(result.values, wanted_gradient(case, at), what, 1e-6, 1e-8)


@backends
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_other_dtypes(dtype: str, backend: str, rng: np.random.Generator):
    cases = []
    for row in ELEMWISE:
        if row.numpy and row.name not in ("power", "polygamma"):
            try:
                cases.append(case_of(row, rng, dtype))
            except dt.DtypeError:
                continue
    assert len(cases) > 35
    results = call(cases, [case.value for case in cases], backend)
    for case, result in zip(cases, results, strict=True):
        wanted = expected(case.row, case.arrays, result.dtype.name)
        assert result.dtype.name == case.value.dtype, case.row.name
        rtol = 3e-5 if result.dtype in ("float32", "complex64") else 1e-10
        check(in_order(case.row, result), wanted, case.row.name, rtol, rtol / 10)


@backends
def test_integers_divided_by_zero_and_negative_powers(backend: str):
    k = dt.Dim("k", length=3)
    x, y = (dt.tensor(name, dims=k, dtype="int64") for name in "xy")
    f = dt.function([x, y], [x // y, x % y, x**y], backend=backend)
    quotient, rest, power = f(np.array([7, -7, 0]), np.array([0, 2, 0]))
    assert quotient.values.tolist() == [0, -4, 0]
    assert rest.values.tolist() == [0, 1, 0]
    assert power.values.tolist() == [1, 49, 1]
    with pytest.raises(dt.CheckError, match="integers have no negative powers"):
        f(np.array([7, -7, 0]), np.array([0, 2, -1]))


@pytest.mark.slow
def test_gradients_as_jax_computes_them(rng: np.random.Generator):
    """Where jax.numpy has the function, JAX's own derivative of it is a second oracle."""
    import jax
    import jax.numpy as jnp

    compared = []
    with jax.enable_x64(True):
        for row in ELEMWISE:
            function = getattr(jnp, row.numpy, None) if row.numpy else None
            if function is None or row.name in ("where", "isclose"):
                continue
            case = case_of(row, rng)
            for at, gradient in case.gradients.items():
                arrays = [aligned(i, x) for i, x in enumerate(case.arrays)]
                weights = case.weights.reshape(np.broadcast_shapes(*(x.shape for x in arrays)))
                jaxs = jax.grad(
                    lambda *operands, f=function, w=weights: (f(*operands) * w).sum(), argnums=at
                )(*arrays)
                names = [DIMS[axis].name for axis in PATTERN[at]]
                found = gradient.eval(given(case, gradient)).transpose(*names).values
                what = f"gradient of {row.name} in {row.names[at]}"
                check(found, np.asarray(jaxs).reshape(found.shape), what, 1e-10, 1e-12)
                compared.append(row.name)
    assert len(set(compared)) > 40


REDUCED = ["sum", "prod", "max", "std", "logsumexp", "log_softmax"]


@backends
def test_reductions(backend: str, rng: np.random.Generator):
    a, b = dt.Dim("a"), dt.Dim("b")
    x = dt.tensor("x", dims=[a, b])
    total = [(getattr(x, name)("b") * 1.5).sum() for name in REDUCED]
    total.append((x.cumprod("b") ** 2).sum())
    outputs = [getattr(x, name)("b") for name in REDUCED]
    outputs += [x.cumsum("b"), x.argsort("b"), x.argmax("a")]
    outputs += [(x > 0).all("a"), (x > 0).any(), x.count("b"), x.quantile(0.7, "a")]
    outputs += [x.softmax("a"), x.mean(), x.var(ddof=1), x.min("b"), *dt.grad(sum(total), [x])]
    fast = dt.function([x], outputs, backend=backend)
    slow = dt.function([x], outputs, backend="python")  # which other tests compare with outside
    zeros = rng.normal(size=(3, 4))
    zeros[1, 2] = zeros[0, 0] = 0.0
    for values in (rng.normal(size=(3, 4)), zeros, 1000.0 * rng.normal(size=(1, 2))):
        given = (["a", "b"], values)
        for y, found, wanted in zip(outputs, fast(given), slow(given), strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(
                found.transpose(*wanted.dims), wanted, rtol=1e-9, atol=1e-10, err_msg=str(y)
            )


@backends
def test_groups(backend: str, rng: np.random.Generator):
    obs = dt.Dim("obs")
    groups = dt.Dim("group", coords=["u", "v", "w"])
    key = dt.tensor("key", dims=obs, categories=groups)
    x = dt.tensor("x", dims=[obs, dt.Dim("batch", length=2)])
    grouped = x.groupby(key)
    outputs = [grouped.sum(), grouped.mean(), grouped.min(), grouped.max(), grouped.count(),
               grouped.first(), grouped.var(), grouped.std(), grouped.map("mean")]  # fmt: skip
    total = (x.groupby(key).map("std") * x + x.groupby(key).map("max")).sum()
    outputs.append(dt.grad(total, x))
    fast = dt.function([x, key], outputs, backend=backend)
    slow = dt.function([x, key], outputs, backend="python")
    given = [(["obs", "batch"], rng.normal(size=(7, 2))), np.array(list("uwuuwwu"))]
    for y, found, wanted in zip(outputs, fast(*given), slow(*given), strict=True):
        np.testing.assert_allclose(
            found.transpose(*wanted.dims), wanted, rtol=1e-9, atol=1e-10, err_msg=str(y)
        )


HOSTED = {
    "j0": (),
    "j1": (),
    "jv": (1.5,),
    "ive": (1.5,),
    "kve": (1.5,),
    "gammaincinv": (2.0,),
    "gammainccinv": (2.0,),
    "betaincinv": (2.0, 1.5),
}


# inverses that JAX takes seconds to compile
LATE = ("gammaincinv", "gammainccinv", "betaincinv")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LATE)) for name in HOSTED]
)
def test_jax_differentiates_what_scipy_computes_for_it(name: str):
    """The pure JAX function of an expression works under jit, grad and vmap."""
    import jax
    import scipy.special

    k = dt.Dim("k", length=3)
    x = dt.tensor("x", dims=k)
    values = np.array([0.2, 0.5, 0.8])
    pure = dt.function(
        [x], getattr(elementwise, name)(*HOSTED[name], x).sum(), backend="jax"
    ).positional.raw

    def oracle(v: np.ndarray) -> np.ndarray:
        return getattr(scipy.special, name)(*HOSTED[name], v)

    with jax.enable_x64(True):
        gradient = jax.jit(jax.grad(lambda v: pure(v)[0]))(values)
        batched = jax.vmap(lambda v: pure(v)[0])(np.stack([values, values / 2]))
    np.testing.assert_allclose(gradient, slope(oracle, [values], 0), rtol=1e-7)
    np.testing.assert_allclose(batched, [oracle(values).sum(), oracle(values / 2).sum()])


def test_jax_refuses_derivatives_in_orders():
    import jax

    v = dt.scalar("v")
    pure = dt.function([v], dt.special.jv(v, 0.5), backend="jax").positional.raw
    with (
        jax.enable_x64(True),
        pytest.raises(dt.GraphError, match="jv is differentiable in its last operand only"),
    ):
        jax.grad(lambda value: pure(value)[0])(1.5)
