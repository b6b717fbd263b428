"""Memory that draws need, looked at before a sampler that ends the process for want of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dimtensor.cost.quantities import bytes_text
from dimtensor.errors import MemoryLimitError

# of the statistics of a draw, and of a chain beside its vectors
_STATISTICS, _CHAIN, _VECTORS = 80, 16_384, 40
# no processor addresses more
_ADDRESSED = 1 << 47


def check_draws(
    what: str, size: int, draws: int, chains: int = 1, tune: int = 0, kept: bool = False
) -> None:
    """Check that draws fit into memory, at the least as flat vectors.

    Parameters
    ----------
    what : str
        Such as "sample".
    size : int
        Number of elements of a flat vector.
    draws : int
        Of each chain.
    chains : int
    tune : int
        Draws of each chain for tuning.
    kept : bool
        Whether those are kept as well.

    Raises
    ------
    MemoryLimitError
        If they do not.
    """
    each = 8 * size + _STATISTICS
    others = chains * each * tune if kept else 8 * tune
    if chains > 1:
        others += chains * (_CHAIN + 8 * _VECTORS * size)
    free = available()
    if chains * draws * each + others <= free:
        return
    number = f"{draws:,} draws" + (f" and {tune:,} of tuning" if tune else "")
    number += f" of {chains:,} chains" if chains > 1 else ""
    fitting = 10 ** (len(str(max(1, free // (10 * chains * each)))) - 1)
    hint = f"draw fewer: draws={fitting:_}"
    if others > free // 2:
        hint = "take fewer chains" if chains > 100 else "take fewer draws for tuning: tune=1000"
    raise MemoryLimitError(
        f"{what}: {number} need {bytes_text(chains * draws * each + others)} of memory or "
        f"more, {bytes_text(free)} are there",
        [("a draw", f"{size:,} elements and statistics, {bytes_text(each)}")],
        hint,
    )


def available() -> int:
    """Bytes that the process may still get, as far as the system tells."""
    return max(0, min(_limits(), default=_ADDRESSED))


def _limits() -> Iterator[int]:
    yield _ADDRESSED
    with suppress(OSError, ValueError, KeyError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines}
        yield free["MemAvailable"] + free["SwapFree"]
    with suppress(OSError, ValueError):  # a container's
        folder = Path("/sys/fs/cgroup")
        most = int((folder / "memory.max").read_text())
        yield most - int((folder / "memory.current").read_text())
    with suppress(ImportError, OSError, ValueError):
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            yield most - pages * resource.getpagesize()
    with suppress(AttributeError, OSError, ValueError):
        if not Path("/proc/meminfo").exists():
            yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
