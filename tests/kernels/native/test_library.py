"""Functions that are arithmetic: their errors, and the same bits from vectors of any length."""

import ctypes
import re
from functools import cache

import llvmlite.binding as llvm
import mpmath
import numpy as np
import pytensor.tensor as pt
import pytest
import scipy.special

import dimtensor as dt
from dimtensor.kernels.compiler import compile_kernel
from dimtensor.kernels.native.builder import Builder, Module
from dimtensor.kernels.native.functions import library
from dimtensor.kernels.native.functions.texts import symbol
from dimtensor.kernels.passes import lines, strip_mining
from dimtensor.ops.special import log_ndtr
from dimtensor.tensor import elementwise

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(
        not library.has_vectors("exp"), reason="without fused multiply-add C's functions are called"
    ),
]
rng = np.random.default_rng(0)
x, y = pt.dvector("x"), pt.dvector("y")
N = 150
NORMAL, NEAR = rng.normal(size=N), rng.normal(size=N) / 1e6
SIZES = np.exp(rng.uniform(-40, 40, N))
BOTH_SIDES = np.concatenate([NORMAL, NEAR, rng.uniform(-26, 26, N)])
POSITIVE = np.concatenate([SIZES, rng.uniform(0, 9, N), 1 + NEAR, 2 + NEAR, 8 + NEAR, [1, 2, 3]])
ANGLES = np.concatenate(
    [NORMAL, NEAR, 1e5 * NORMAL, np.arange(60) * np.pi / 2, [2.0**30, 1e12, 1e15, 1e17, 1e22]]
)
BASES = np.concatenate([SIZES, 1 + NEAR, [1.0, 2.0**-1022, 1.7e308]])
EXPONENTS = 700 * rng.uniform(-1, 1, BASES.size) / np.maximum(np.abs(np.log(BASES)), 1e-7)


def of_log_ndtr(v):
    if v < 0:
        return mpmath.log(mpmath.erfc(-v / mpmath.sqrt(2)) / 2)
    return mpmath.log1p(-mpmath.erfc(v / mpmath.sqrt(2)) / 2)


# an operation, what it is, of which numbers, and the largest error in units of the last place
CASES = {
    "expm1": (pt.expm1, mpmath.expm1, [*BOTH_SIDES, -50.0, 709.0, 1e-300], 2),
    "sin": (pt.sin, mpmath.sin, ANGLES, 2),
    "cos": (pt.cos, mpmath.cos, ANGLES, 2),
    "erf": (pt.erf, mpmath.erf, BOTH_SIDES, 2),
    "erfc": (pt.erfc, mpmath.erfc, BOTH_SIDES, 4),
    "erfcx": (pt.erfcx, lambda v: mpmath.exp(v * v) * mpmath.erfc(v), BOTH_SIDES, 4),
    "log_ndtr": (log_ndtr, of_log_ndtr, [*BOTH_SIDES, -1e8, -1e3, 37.0], 4),
    "gammaln": (pt.gammaln, mpmath.loggamma, [*POSITIVE, 5e-324, 1e-310, 1e300], 4),
    "psi": (pt.psi, lambda v: mpmath.psi(0, v), [*POSITIVE, *(1.4616321 + NEAR), 1e-300, 1e300], 4),
}
SPECIAL = np.array([
    np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.0, -2.5, -3.0, 710.0, -746.0, 40.0, -40.0,
    5e-324, -5e-324, 1e-320, 1e-308, 1e308, -1e300, 26.5, -26.63, 2.0**30, -(2.0**31), 1e22,
])  # fmt: skip


@cache
def compiled(name, operation):
    kernel = compile_kernel([x], [operation(x)])
    assert kernel.native is not None
    return kernel.native.bind(kernel.constants)


def error(found, exact):
    """In units of the last place, which numbers that are not normal have fewer of."""
    return abs(mpmath.mpf(float(found)) - exact) / float(np.spacing(abs(float(exact))))


@pytest.mark.parametrize("name", CASES)
def test_errors_in_units_of_the_last_place(name):
    operation, exact, values, most = CASES[name]
    (found,) = compiled(name, operation)(np.array(values))
    with mpmath.workdps(50):
        for at, value in zip(values, found, strict=True):
            assert error(value, exact(mpmath.mpf(float(at)))) <= most, at


def power():
    kernel = compile_kernel([x, y], [x**y])
    assert kernel.native is not None
    return kernel.native.bind(kernel.constants)


def test_errors_of_powers():
    (found,) = power()(BASES, EXPONENTS)
    with mpmath.workdps(50):
        for base, exponent, value in zip(BASES, EXPONENTS, found, strict=True):
            exact = mpmath.power(mpmath.mpf(float(base)), mpmath.mpf(float(exponent)))
            assert error(value, exact) <= 1.5, (base, exponent)


@pytest.mark.parametrize("name", CASES)
def test_special_numbers(name):
    """Among others, and alone, as what follows the last whole vector is."""
    operation = CASES[name][0]
    with np.errstate(all="ignore"):
        expected = getattr(scipy.special, name, getattr(np, name, None))(SPECIAL)
    if name == "gammaln":  # SciPy's is infinite where numbers are not normal
        tiny = (np.abs(SPECIAL) < 1e-307) & (SPECIAL != 0)
        expected[tiny] = -np.log(np.abs(SPECIAL[tiny]))
    function = compiled(name, operation)
    # where erfcx is nearly the largest float, and where SciPy's are wrong by a few last digits
    rtol = 1e-13 if name in ("erfcx", "log_ndtr", "gammaln", "psi") else 5e-16
    for found in (function(SPECIAL)[0], np.array([function(v)[0][0] for v in SPECIAL[:, None]])):
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-323)
        zero = expected == 0
        np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))


def test_special_numbers_of_powers():
    bases, exponents = (each.ravel() for each in np.meshgrid(SPECIAL, [*SPECIAL, 0.5, -1e-9, 3.0]))
    with np.errstate(all="ignore"):
        expected = bases**exponents
    (found,) = power()(bases, exponents)
    np.testing.assert_allclose(found, expected, rtol=4e-16)
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))


# -- every length of vectors -----------------------------------------------------------------------


def module(lanes):
    """All functions of so many lanes, each around pointers to its operands and the result."""
    builder = Builder(Module())
    t = "double" if lanes == 1 else f"<{lanes} x double>"
    lines = []
    for name, text in library.TEXTS.items():
        function = library.declare(builder, name, lanes)
        assert function == f"@{symbol(name, lanes)}"
        numbers = range(len(text.operands))
        pointers = ", ".join(f"ptr %p{at}" for at in numbers)
        operands = ", ".join(f"{t} %o{at}" for at in numbers)
        lines.append(f"define void @of_{name}({pointers}, ptr %result) {{")
        lines += [f"  %o{at} = load {t}, ptr %p{at}, align 8" for at in numbers]
        lines.append(f"  %v = call {t} {function}({operands})")
        lines += [f"  store {t} %v, ptr %result, align 8", "  ret void", "}"]
    return "\n".join([*builder.module.lines.values(), *lines])


def optimized(lanes, triple=None, cpu=None, features=""):
    """The module of a processor, and what writes its code."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    if triple is None:
        target = llvm.Target.from_default_triple()
        cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    else:
        target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(cpu=cpu, features=features, opt=3, jit=triple is None)
    parsed = llvm.parse_assembly(module(lanes))
    parsed.verify()
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(parsed, passes)
    return parsed, machine


def run(lanes, values):
    """What functions of so many lanes give; of two operands, those of pairs of values."""
    engine = llvm.create_mcjit_compiler(*optimized(lanes))
    engine.finalize_object()
    results = {}
    for name, text in library.TEXTS.items():
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(text.operands) + 1))(
            engine.get_function_address(f"of_{name}")
        )
        operands = [values, np.roll(values, 7)][: len(text.operands)]
        result = np.empty_like(values)
        for at in range(0, values.size, lanes):
            function(*(each[at:].ctypes.data for each in (*operands, result)))
        results[name] = result
    return results


def test_vectors_of_all_lengths_give_the_same_bits():
    """So processors of AVX2, AVX-512 and NEON do, which all round as IEEE says."""
    values = np.concatenate([SPECIAL, BOTH_SIDES, POSITIVE, ANGLES, rng.normal(size=16)])
    values = values[: values.size // 16 * 16]
    wanted = run(1, values)
    for lanes in (2, 4, 8, 16):
        for name, found in run(lanes, values).items():
            np.testing.assert_array_equal(found, wanted[name], err_msg=f"{name} {lanes}")
            zero = found == 0
            assert (np.signbit(found) == np.signbit(wanted[name]))[zero].all(), (name, lanes)


@pytest.mark.parametrize(
    ("triple", "cpu", "lanes", "fused"),
    [
        ("x86_64-linux-gnu", "haswell", 4, r"\bvfn?m(?:add|sub)\d+pd\b.*ymm"),
        ("x86_64-linux-gnu", "znver4", 8, r"\bvfn?m(?:add|sub)\d+pd\b.*zmm"),
        ("aarch64-linux-gnu", "generic", 2, r"\bfml[as]\tv\d+\.2d"),
    ],
)
def test_code_for_other_processors(triple, cpu, lanes, fused):
    """Multiplications and additions are vectors, and nothing but the rare cases is a call."""
    parsed, machine = optimized(lanes, triple, cpu)
    code = machine.emit_assembly(parsed)
    assert len(re.findall(fused, code)) > 500
    assert not re.findall(r"\b(?:fma|exp|log|erfc?|expm1|tanh)(?:@PLT)?$", code, re.MULTILINE)


# -- in kernels ------------------------------------------------------------------------------------

LENGTHS = (0, 1, 8, 9, 40)


@pytest.mark.parametrize("name", CASES)
def test_loops_call_vectors(name):
    """Beside other arithmetic; LLVM makes no vectors around a call that it has none of."""
    operation = CASES[name][0]
    total = (operation(x * y) * x / (1.5 + y * y)).sum()
    kernel = compile_kernel([x, y], [total])
    is_called = rf"dimtensor\.{name}\.v\d[^\n:]*$"
    is_copied = r"mulpd\t.*%[yz]mm|fmul\tv\d+\.2d" if name == "expm1" else is_called
    assert re.search(is_called if library.TEXTS[name].is_long else is_copied, kernel.assembly, re.M)
    assert f"{strip_mining.STRIP_ELEMENTS})" not in kernel.source
    function = kernel.native.bind(kernel.constants)
    reference = getattr(scipy.special, name, getattr(np, name, None))
    for length in LENGTHS:
        a, b = rng.random(length) + 0.5, rng.random(length) + 0.5
        expected = (reference(a * b) * a / (1.5 + b * b)).sum()
        np.testing.assert_allclose(function(a, b)[0], expected, rtol=1e-13)


@pytest.mark.parametrize("exponent", [2.7, -0.3, 65.0, 1e300, np.nan])
@pytest.mark.parametrize("length", LENGTHS)
def test_powers_with_one_exponent(exponent, length):
    """A function all of whose calls have one operand keeps it, as those of vectors do."""
    y = x ** pt.constant(exponent, dtype="float64")
    kernel = compile_kernel([x], [(y * x).sum(), y])
    a = rng.random(length) + 0.5
    with np.errstate(all="ignore"):
        expected = a**exponent
        found = kernel.native.bind(kernel.constants)(a)
        np.testing.assert_allclose(found[1], expected, rtol=1e-14)
        np.testing.assert_allclose(found[0], (expected * a).sum(), rtol=1e-13)


@pytest.mark.parametrize("name", ["gammaln", "psi", "sin", "erf"])
def test_single_precision(name):
    single = pt.fvector("single")
    kernel = compile_kernel([single], [CASES[name][0](single)])
    values = np.concatenate([rng.normal(size=61), [0.0, np.inf]]).astype("float32")
    with np.errstate(all="ignore"):
        expected = getattr(scipy.special, name, getattr(np, name, None))(values)
    (found,) = kernel.native.bind(kernel.constants)(values)
    assert found.dtype == "float32"
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["gammaln", "psi", "log_ndtr", "expm1", "pow"])
def test_numbers_and_steps_call_no_vectors(name):
    """A number is one, and a step waits for the one before it."""
    step = pt.dscalar("step")

    def of(v):
        return v**2.7 if name == "pow" else CASES[name][0](v)

    kernel = compile_kernel([step], [of(step)])
    assert ".v4" not in kernel.assembly
    time = dt.Dim("time")
    xs, start = dt.tensor("xs", dims=time), dt.tensor("start")
    by_dims = {"pow": lambda v: v**2.7, "psi": dt.special.digamma}
    last = dt.reduce(
        lambda state, v: by_dims.get(name, getattr(elementwise, name, None))(state) * v + 1.5,
        init=start,
        xs=xs,
        dim=time,
    )
    f = dt.function([start, xs], last, backend="numba")
    assert not re.search(rf"dimtensor\.{name}\.v\d", f.assembly)
    reference = {"pow": lambda v: v**2.7, "psi": scipy.special.digamma}
    expected, given = 2.0, rng.random(9) / 9
    for each in given:
        of_numbers = reference.get(name, getattr(scipy.special, name, None))
        expected = of_numbers(expected) * each + 1.5
    np.testing.assert_allclose(f(2.0, given), expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["expm1", "erf", "gammaln", "sin", "log_ndtr"])
def test_gradients_in_loops(name):
    import pytensor

    from dimtensor.testing.differences import gradient_by_differences

    operation = CASES[name][0]
    kernel = compile_kernel([x], [pytensor.grad((operation(x) * x).sum(), x)])
    reference = getattr(scipy.special, name, getattr(np, name, None))
    for length in LENGTHS:
        at = rng.random(length) + 0.5
        (found,) = kernel.native.bind(kernel.constants)(at)
        expected = gradient_by_differences(lambda v: (reference(v) * v).sum(), at)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def test_bodies_that_are_written_in_vectors(monkeypatch):
    """They call functions of eight numbers and more, and those that LLVM's vectors call agree."""
    operations = [case[0] for case in CASES.values()]
    outputs = [operation(x) for operation in operations] + [abs(x) ** y]
    usual = compile_kernel([x, y], outputs)
    monkeypatch.setattr(lines, "VECTORIZED_OPERATIONS", 0)
    wide = compile_kernel([x, y], outputs)
    assert re.search(r"dimtensor\.erf\.v(?:8|16)\b", wide.assembly)
    assert re.search(r"dimtensor\.pow\.v(?:8|16)\b", wide.assembly)
    for length in (0, 1, 8, 9, 40):
        given = rng.choice(SPECIAL, length), rng.normal(size=length)
        for one, other in zip(
            usual.native.bind(usual.constants)(*given),
            wide.native.bind(wide.constants)(*given),
            strict=True,
        ):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("length", LENGTHS)
def test_steps_that_are_written_in_vectors(monkeypatch, length):
    """A step waits for the one before it; its elements do not."""
    monkeypatch.setattr(lines, "VECTORIZED_OPERATIONS", 0)
    monkeypatch.setenv("DIMTENSOR_CACHE", "0")
    time, row = dt.Dim("time"), dt.Dim("row")
    xs, start = dt.tensor("xs", dims=time), dt.tensor("start", dims=row)

    def step(s, v):
        return 0.1 * (
            dt.special.erf(s) * v + dt.special.gammaln(s * s + 1.5) + dt.sin(s) + (s * s + 0.1) ** v
        )

    f = dt.function([start, xs], dt.reduce(step, start, xs, dim=time), backend="numba")
    expected, given = rng.random(length), rng.random(5)
    found = f(expected, given)
    for v in given:
        terms = scipy.special.erf(expected) * v + scipy.special.gammaln(expected**2 + 1.5)
        expected = 0.1 * (terms + np.sin(expected) + (expected**2 + 0.1) ** v)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
