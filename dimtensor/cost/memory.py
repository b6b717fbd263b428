"""Free memory, as far as the system tells."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

# no processor addresses more
_ADDRESSED = 1 << 47


def available() -> int:
    """Return the number of bytes that the process may still get, as far as the system tells."""
    return max(0, min(_limits(), default=_ADDRESSED))


def _limits() -> Iterator[int]:
    yield _ADDRESSED
    with suppress(OSError, ValueError, KeyError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines}
        yield free["MemAvailable"] + free["SwapFree"]
    with suppress(OSError, ValueError, KeyError):
        yield _of_container(Path("/sys/fs/cgroup"))
    with suppress(ImportError, OSError, ValueError):
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            yield most - pages * resource.getpagesize()
    with suppress(AttributeError, OSError, ValueError):
        if not Path("/proc/meminfo").exists():
            yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _of_container(folder: Path) -> int:
    """Return what a control group may still use, with the files that it caches and would drop."""
    used = int((folder / "memory.current").read_text())
    parts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    cached = int(parts["active_file"]) + int(parts["inactive_file"])
    return int((folder / "memory.max").read_text()) - used + cached
