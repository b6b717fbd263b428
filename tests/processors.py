"""Machine code as on other processors, run on the one that is here.

What LLVM makes vectors of, and how long they are, depends on the processor. ``--processor=NAME``
runs tests with code that was optimized for one that LLVM knows by name: one with longer vectors
than the processor here has, or one that lacks instructions. NumPy leaves those out, too.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Any

import pytest

from dimtensor.kernels.native import machine
from dimtensor.kernels.native.functions import library
from tests import effort

_EIGHT_LANES = """
declare <8 x double> @llvm.fma.v8f64(<8 x double>, <8 x double>, <8 x double>)

define void @f(ptr %x) {
  %a = load <8 x double>, ptr %x
  %b = call <8 x double> @llvm.fma.v8f64(<8 x double> %a, <8 x double> %a, <8 x double> %a)
  store <8 x double> %b, ptr %x
  ret void
}
"""
# instructions by the registers of the code above; what NumPy calls its loops for them
_REGISTERS = {"zmm": "+avx512f", "ymm": "+avx2", "vfm": "+fma"}
_LOOPS_OF_NUMPY = {"zmm": ("512", "V4"), "ymm": ("AVX2", "FMA3", "V3")}

# processors without vectors of more than 128 bits, with those of 256 and of 512
LEVELS = ("x86-64-v2", "haswell", "skylake-avx512")
# what is interpreted there depends on the digits of NumPy's functions
_NUMERICS = Path(__file__).parent / "dist"
_KERNELS = Path(__file__).parent / "kernels"


def are_known() -> bool:
    """Whether LLVM makes code here for the family of processors that tests name."""
    return machine._target().name.startswith("x86")


def _registers(cpu: str | None = None) -> frozenset[str]:
    """Which instructions code for a processor has."""
    code = machine.assembly(_EIGHT_LANES, cpu)
    # vectors of 512 bits imply those of 256
    found = {name for name in _REGISTERS if name in code}
    return frozenset(found | {"ymm"} if "zmm" in found else found)


def optimize_for(cpu: str, patch: pytest.MonkeyPatch) -> list[str]:
    """From now on, optimize for a processor; the list gets its name with each module.

    Code for vectors that the processor here lacks is taken apart into those that it has.
    """
    optimized, made = machine.optimized, list[str]()
    fits = _registers(cpu) <= _registers()

    def optimized_for_another(text: str, asked: str | None = None) -> tuple[Any, Any]:
        module, as_asked = optimized(text, asked or cpu)
        if asked is not None:
            return module, as_asked
        made.append(cpu)
        if fits:
            return module, as_asked
        here = machine._target_machine()
        return machine._for(here, str(module)), here

    patch.setattr(machine, "optimized", optimized_for_another)
    return made


def run_as_on(cpu: str, patch: pytest.MonkeyPatch) -> list[str]:
    """Optimize for a processor, and write loops and functions as for one, too."""
    features = ",".join(_REGISTERS[name] for name in _registers(cpu))
    patch.setattr(library, "host_features", lambda: features)
    forget()
    return optimize_for(cpu, patch)


def forget() -> None:
    """Forget what the compiler has found out about the processor."""
    for cached in (library.lanes, library._has_fma, library.widths):
        cached.cache_clear()


def loops_that_numpy_leaves_out(cpu: str) -> list[str]:
    """NumPy's names of instructions that it has loops for here, and a processor lacks."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    lacking = set(_LOOPS_OF_NUMPY) - _registers(cpu)
    parts = [part for name in lacking for part in _LOOPS_OF_NUMPY[name]]
    return [
        name
        for name in __cpu_dispatch__
        if __cpu_features__[name] and any(part in name for part in parts)
    ]


def prepare(cpu: str) -> None:
    """Make this process, and those that it starts, run as on a processor."""
    run_as_on(cpu, pytest.MonkeyPatch())
    # read when NumPy is imported: by the workers of xdist
    os.environ.setdefault("NPY_DISABLE_CPU_FEATURES", " ".join(loops_that_numpy_leaves_out(cpu)))


def depends_on_it(item: pytest.Item) -> bool:
    """Whether a test may differ between processors; other compilers do not know of ours."""
    backend = getattr(getattr(item, "callspec", None), "params", {}).get("backend")
    if backend == "jax":
        return False
    if item.get_closest_marker("compiled") is not None:
        return True
    numpy_differs = bool(os.environ.get("NPY_DISABLE_CPU_FEATURES"))
    return numpy_differs and _NUMERICS in item.path.parents and backend in (None, "python")


def in_turn(items: list[pytest.Item], cpu: str, sharing: list[str]) -> list[pytest.Item]:
    """Of the tests that processors share by turns of days, those of one.

    All of them run each test of the kernel compiler that has no cases.
    """
    if cpu not in sharing:
        return items
    turn = sharing.index(cpu) + effort.DAY.toordinal()

    def is_its(item: pytest.Item) -> bool:
        alone = _KERNELS in item.path.parents and not hasattr(item, "callspec")
        return alone or (zlib.crc32(item.nodeid.encode()) + turn) % len(sharing) == 0

    return [item for item in items if is_its(item)]


if __name__ == "__main__":
    if are_known():
        print(*(cpu for cpu in LEVELS if _registers(cpu) != _registers()))
