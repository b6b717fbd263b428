"""The passes over the loops of a whole function, in order.

A pass is switched off by its name, that of its module: ``DIMTENSOR_PASSES=-unswitching``.
``docs/design/passes.md`` says what each one matches and gains.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import NamedTuple, Protocol

from dimtensor.kernels.ir.nodes import Expression, Function, Statement
from dimtensor.kernels.passes import strip_mining
from dimtensor.kernels.passes.array_reuse import with_arrays_reused
from dimtensor.kernels.passes.logarithm_sums import in_products
from dimtensor.kernels.passes.loop_fission import fissioned
from dimtensor.kernels.passes.outer_fusion import fused
from dimtensor.kernels.passes.strips_of_steps import in_strips
from dimtensor.kernels.passes.totals import in_blocks
from dimtensor.kernels.passes.unroll_and_jam import unrolled
from dimtensor.kernels.passes.unswitching import unswitched
from dimtensor.kernels.passes.vector_hints import with_hints

Fresh = Callable[[str], str]


class Rewrite(Protocol):
    """A function from the statements of a kernel to statements that compute the same."""

    def __call__(
        self, statements: Sequence[Statement], results: Sequence[Expression], fresh: Fresh
    ) -> list[Statement]: ...


class Pass(NamedTuple):
    """A pass over the loops of a whole function."""

    name: str
    rewrite: Rewrite


PASSES = (
    Pass("outer_fusion", fused),
    Pass("vector_hints", with_hints),
    Pass("strip_mining", strip_mining.in_strips),
    Pass("unroll_and_jam", unrolled),
    Pass("totals", in_blocks),
    Pass("logarithm_sums", in_products),
    Pass("strips_of_steps", in_strips),
    Pass("unswitching", unswitched),
    Pass("loop_fission", fissioned),
    Pass("array_reuse", with_arrays_reused),
)


def optimized(
    function: Function,
    fresh: Fresh,
    off: Container[str] = (),
    check: Callable[[Function], None] | None = None,
) -> Function:
    """Run the passes over a function.

    Parameters
    ----------
    function : Function
    fresh : callable
        Gives a new name that begins with a prefix.
    off : container of str
        Names of passes that are left out.
    check : callable, optional
        Verifies the function before the first pass and after each.
    """
    if check is not None:
        check(function)
    for name, rewrite in PASSES:
        if name not in off:
            body = rewrite(function.body, function.results, fresh)
            function = function.replace(body=tuple(body))
            if check is not None:
                check(function)
    return function
