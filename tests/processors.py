"""Machine code as LLVM optimises it for other processors, run on the one that is here.

What LLVM makes vectors of, and how long they are, depends on the processor. ``--processor=NAME``
runs tests with code that was optimised for one that LLVM knows by name.
"""

from __future__ import annotations

from typing import Any

import pytest

from dimtensor.kernels.native import machine
from dimtensor.kernels.native.functions import library

_EIGHT_LANES = """
define void @f(ptr %x) {
  %a = load <8 x double>, ptr %x
  %b = fmul <8 x double> %a, %a
  store <8 x double> %b, ptr %x
  ret void
}
"""


def are_known() -> bool:
    """Whether LLVM makes code here for the family of processors that tests name."""
    return machine._target().name.startswith("x86")


def optimise_for(cpu: str, patch: pytest.MonkeyPatch) -> list[str]:
    """From now on, optimise for a processor; the list gets its name with each module."""
    optimised, made = machine.optimised, list[str]()

    def optimised_for_another(text: str, asked: str | None = None) -> tuple[Any, Any]:
        module, as_asked = optimised(text, asked or cpu)
        if asked is not None:
            return module, as_asked
        made.append(cpu)
        here = machine._target_machine()
        return machine._for(here, str(module)), here

    patch.setattr(machine, "optimised", optimised_for_another)
    return made


def run_as_on(cpu: str, patch: pytest.MonkeyPatch) -> None:
    """For a whole process: write loops in vectors as long as those of a processor, too."""
    features = machine.host_features()
    if "zmm" in machine.assembly(_EIGHT_LANES, cpu):
        features += ",+avx512f"
    patch.setattr(library, "host_features", lambda: features)
    optimise_for(cpu, patch)
