"""What LLVM does not take, or spoils, is an exception; found late it would end the process."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.kernels.native import machine
from dimtensor.kernels.native.linking.loaded import Loaded
from dimtensor.kernels.native.values import BrokenCode
from tests import processors

pytestmark = pytest.mark.compiled

_NOT_DOMINATED = """
define i64 @kernel(i1 %c) {
entry:
  br i1 %c, label %a, label %b
a:
  %x = add i64 1, 2
  br label %b
b:
  ret i64 %x
}
"""
_SEVEN = """
@seven = global i64 7
define i64 @kernel() {
  %x = load i64, ptr @seven
  ret i64 %x
}
"""


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize(
    ("text", "said"),
    [("kernel", "expected top-level entity"), (_NOT_DOMINATED, "does not dominate all uses")],
)
def test_code_that_is_wrong_is_refused(text: str, said: str, quick: bool) -> None:
    with pytest.raises(BrokenCode, match=f"(?s)does not take the code.*{said}"):
        machine.object_code(text, quick)


_SQUARES = "".join(
    f"%a{k} = getelementptr double, ptr %x, i64 {k}\n%b{k} = load double, ptr %a{k}\n"
    f"%c{k} = fmul double %b{k}, %b{k}\nstore double %c{k}, ptr %a{k}\n"
    for k in range(2)
)


@pytest.mark.parametrize(("lines", "vectors"), [(0, True), (12_000, True), (40_000, False)])
def test_statements_are_vectorized_unless_a_module_is_very_long(lines: int, vectors: bool) -> None:
    text = f"define void @f(ptr %x) {{\n{_SQUARES}ret void\n}}\n" + "; long\n" * lines
    module, _ = machine.optimized(text)
    assert ("fmul <2 x double>" in str(module)) == vectors


def test_statements_are_vectorized_by_versions_of_llvm_that_are_known(monkeypatch) -> None:
    """LLVM ends the process when it is asked for an option that it does not have."""
    asked: list[str] = []
    monkeypatch.setattr(machine, "_llvm", lambda: 23)
    monkeypatch.setattr(machine.llvm, "set_option", lambda name, option: asked.append(option))
    module, _ = machine.optimized(f"define void @f(ptr %x) {{\n{_SQUARES}ret void\n}}\n")
    assert "<2 x double>" not in str(module)
    assert asked == []


# the first lane is a product, the second is none; all that follows is alike
_UNLIKE = """
declare double @llvm.fabs.f64(double)

define void @f(ptr noalias %x, ptr noalias %y) {
  %a = load double, ptr %x
  %p = getelementptr double, ptr %x, i64 1
  %b = load double, ptr %p
  %a.product = fmul contract double %a, 1.04
  %a.size = call double @llvm.fabs.f64(double %a.product)
  %b.size = call double @llvm.fabs.f64(double %b)
  %a.square = fmul double %a.product, %a.size
  %b.square = fmul double %b, %b.size
  %a.sum = fadd double %a.square, %a.size
  %b.sum = fadd double %b.square, %b.size
  store double %a.sum, ptr %y
  %q = getelementptr double, ptr %y, i64 1
  store double %b.sum, ptr %q
  ret void
}
"""


def test_no_lane_gets_an_operation_that_it_does_not_have() -> None:
    """LLVM 22 multiplies the second lane by 1; with such lanes it has read before it wrote."""
    module, _ = machine.optimized(_UNLIKE)
    assert "fadd <2 x double>" in str(module)
    assert "fmul contract double" in str(module)
    assert "fmul contract <2 x double>" not in str(module)


@pytest.mark.skipif(not processors.are_known(), reason="another family of processors")
@pytest.mark.parametrize("cpu", ["skylake", "skylake-avx512", "znver4"])
@pytest.mark.parametrize("length", [5, 6])
@pytest.mark.parametrize("gathers", [False, True])
def test_lookups_in_what_has_just_been_written_are_not_read_before(
    cpu: str, length: int, gathers: bool, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """Gathers that LLVM makes of statements were moved ahead of the stores of what they read."""
    if gathers:
        monkeypatch.setattr(machine, "_NO_GATHERS", "")
    made = processors.optimize_for(cpu, monkeypatch)
    n = dt.Dim("n", length=length)
    x, w = dt.tensor("x", dims=n), dt.tensor("w", dims=n)
    by = x.weighted(w)
    f = dt.function([x, w], [by.quantile(0.4, skipna=True) ** 2, by.mean(skipna=True)])
    values, sizes = rng.normal(size=length), rng.uniform(0.5, 2.0, size=length)
    values[2] = np.nan
    square, mean = f(values, sizes)
    oracle = xr.DataArray(values, dims="n").weighted(xr.DataArray(sizes, dims="n"))
    assert float(square) == pytest.approx(float(oracle.quantile(0.4)) ** 2, rel=1e-12)
    assert float(mean) == pytest.approx(float(oracle.mean()), rel=1e-12)
    assert made


# the sum of elements that lie as far apart as the call says
_STRIDES = """
define double @f(ptr %x, i64 %n, i64 %m) {
entry:
  br label %loop1
loop1:
  %i = phi i64 [0, %entry], [%j, %body]
  %s = phi double [0.0, %entry], [%t, %body]
  %on = icmp slt i64 %i, %n
  br i1 %on, label %body, label %after
body:
  %at = mul i64 %i, %m
  %p = getelementptr double, ptr %x, i64 %at
  %a = load double, ptr %p
  %t = fadd double %s, %a
  %j = add nsw i64 %i, 1
  br label %loop1
after:
  ret double %s
}
"""


@pytest.mark.parametrize(
    ("most", "version", "asked"),
    [
        (0, None, ["-disable-lsr=true", "-disable-lsr=false"]),
        (1, None, []),
        (0, 23, []),  # LLVM ends the process when it is asked for an option that it does not have
    ],
    ids=["many", "few", "unknown"],
)
def test_counters_of_many_loops_stay_as_they_are(monkeypatch, rng, most, version, asked) -> None:
    options: list[str] = []
    set_option = machine.llvm.set_option

    def noted(name: str, option: str) -> None:
        if "lsr" in option:
            options.append(option)
        set_option(name, option)

    monkeypatch.setattr(machine, "STRENGTH_REDUCED_LOOPS", most)
    monkeypatch.setattr(machine.llvm, "set_option", noted)
    if version is not None:
        monkeypatch.setattr(machine, "_llvm", lambda: version)
    loaded = Loaded(machine.object_code(_STRIDES))
    x = rng.normal(size=12)
    number, pointer = ctypes.c_int64, ctypes.c_void_p
    f = ctypes.CFUNCTYPE(ctypes.c_double, pointer, number, number)(loaded.address("f"))
    assert f(x.ctypes.data, 4, 3) == pytest.approx(x[::3].sum(), rel=1e-13)
    assert options == asked


@pytest.fixture
def spoiling(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Passes that make a module wrong, always or where they vectorize."""

    def spoil(module, target, loops: bool, statements: bool) -> None:
        if loops or request.param == "always":
            module.get_global_variable("seven").linkage = "common"  # which is zero at first

    monkeypatch.setattr(machine, "_optimize", spoil)


@pytest.mark.parametrize("spoiling", ["vectorizing"], indirect=True)
@pytest.mark.usefixtures("spoiling")
def test_code_that_passes_spoil_goes_through_fewer() -> None:
    loaded = Loaded(machine.object_code(_SEVEN))
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(loaded.address("kernel"))() == 7


@pytest.mark.parametrize("spoiling", ["always"], indirect=True)
@pytest.mark.usefixtures("spoiling")
def test_code_that_all_passes_spoil_is_refused() -> None:
    with pytest.raises(BrokenCode, match=r"(?s)LLVM's passes spoil the code.*zero initializer"):
        machine.object_code(_SEVEN)


def test_functions_of_very_many_blocks_are_hardly_optimized_and_right(monkeypatch, rng):
    """Every function is one of very many blocks here: a loop with its gradient."""
    monkeypatch.setattr(machine, "OPTIMIZED_BLOCKS", 0)
    monkeypatch.setenv("DIMTENSOR_CACHE", "0")
    optimized: list[object] = []
    monkeypatch.setattr(machine, "_optimize", lambda *given: optimized.append(given))
    step, kind = dt.Dim("step", length=7), dt.Dim("kind", length=3)
    x, start = dt.tensor("x", dims=step), dt.tensor("start", dims=kind)
    last = dt.reduce(lambda s, e: dt.exp(-e) * s + e, start, x, dim=step)
    f = dt.function([x, start], [last, dt.grad(last.sum(), start)], backend="numba")
    given, state = rng.normal(size=7), rng.normal(size=3)
    expected = state
    for element in given:
        expected = np.exp(-element) * expected + element
    found, slope = f(given, state)
    np.testing.assert_allclose(found.values, expected, rtol=1e-12)
    np.testing.assert_allclose(slope.values, np.exp(-given.sum()) * np.ones(3), rtol=1e-12)
    assert not optimized
