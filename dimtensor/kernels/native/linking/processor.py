"""The processor that code on disk was made for, said without LLVM where the system says it."""

from __future__ import annotations

import platform
import sys
from functools import cache
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_TOLD = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")


@cache
def processor() -> str:
    """Return the name and the features of the processor.

    Importing LLVM takes longer than loading code, so on Linux the system is queried; it omits
    features that it does not know, which processors of one model have in common.
    """
    return _of_linux() or _of_llvm()


def _of_linux() -> str | None:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return None
    found = {}
    try:
        with _CPUINFO.open() as lines:  # those of the first processor are read, no others are made
            for line in lines:
                if not line.strip():
                    break
                name, _, value = line.partition(":")
                found[name.strip()] = value.strip()
    except OSError:  # containers may hide the file, or keep it from being read
        return None
    if not all(found.get(name) for name in ("model", "flags")):
        return None
    return "\n".join(f"{name} {found.get(name)}" for name in _TOLD)


def _of_llvm() -> str:
    import llvmlite.binding as llvm

    return f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"
