"""Memory that draws need, looked at before a sampler that ends the process for want of it."""

from __future__ import annotations

from dimtensor.cost.memory import available
from dimtensor.cost.quantities import bytes_text
from dimtensor.errors import MemoryLimitError

# of the statistics of a draw, and of a chain beside its vectors
_STATISTICS, _CHAIN, _VECTORS = 80, 16_384, 40


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
