"""PyTensor compilation mode that compiles positional graphs with the kernel compiler."""

from __future__ import annotations

from copy import copy
from typing import Any

from pytensor.compile.mode import Mode
from pytensor.graph.basic import Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.link.basic import JITLinker

from dimtensor.interop.scans.steps import EXCLUDED, INCLUDED, INNER, InlineWrappedGraphs
from dimtensor.plugins.pytensor_mode.loop_nests import LoopNests

# position of a rewrite before all simplifying ones
_FIRST = 0.01


def pytensor_mode(strict: bool = False) -> Mode:
    """Return a PyTensor mode that compiles functions to loop nests, as `dimtensor.function` does.

    Pass it wherever PyTensor or PyMC take a ``mode``. It is an ordinary `Mode`: ``including`` and
    ``excluding`` select rewrites, functions can be copied, pickled and profiled, and shared
    variables are updated. Nothing is registered with PyTensor.

    A graph with ops that the kernel compiler does not support (random generators, sparse matrices,
    typed lists) is compiled by PyTensor's numba linker instead. The same happens at call time if
    the arguments of a function violate assumptions of its loops, for instance if an update has
    length 1 unexpectedly: the result, or the error, is PyTensor's.

    Parameters
    ----------
    strict : bool
        Raise an error instead of falling back to PyTensor's linker.

    Returns
    -------
    pytensor.compile.mode.Mode

    Raises
    ------
    UnsupportedGraph
        With ``strict``, if the kernel compiler does not support the graph. It is raised by
        ``pytensor.function``, or by the first call of the compiled function, and is
        ``dimtensor.optimize.plan.UnsupportedGraph``.

    See Also
    --------
    dimtensor.function : The same for expressions with named dims.

    Notes
    -----
    ``f.vm.jit_fn`` is a `LoopNests`: its ``source`` is the code that runs, its ``reason`` says why
    PyTensor's linker is used instead.

    Examples
    --------
    >>> import pytensor
    >>> import pytensor.tensor as pt
    >>> x = pt.vector("x")
    >>> f = pytensor.function([x], (x**2).sum(), mode=dt.pytensor_mode())
    >>> float(f([1.0, 2.0]))
    5.0
    """
    query = RewriteDatabaseQuery(
        include=INCLUDED, exclude=EXCLUDED, extra_rewrites=[(InlineWrappedGraphs(), _FIRST)]
    )
    return Mode(linker=LoopNestLinker(strict=strict), optimizer=query)


class LoopNestLinker(JITLinker):
    """Linker that compiles a rewritten graph to one function of loop nests.

    Parameters
    ----------
    strict : bool
        Raise an error for an unsupported graph instead of falling back to PyTensor's numba linker.
    """

    # the rewrites are selected by the mode; numba's own would fuse loops before the kernel compiler
    required_rewrites: tuple[str, ...] = ()
    incompatible_rewrites: tuple[str, ...] = ("cxx_only", "fusion", "inplace", INNER)

    def __init__(self, *, strict: bool = False, **kwargs: Any):
        super().__init__(**kwargs)
        self.strict = strict

    def accept(self, fgraph: Any, no_recycling: Any = None, profile: Any = None) -> Any:
        linker = copy(self)  # PyTensor's own copy would lose `strict`
        linker.fgraph = None
        return super(LoopNestLinker, linker).accept(fgraph, no_recycling, profile)

    def fgraph_convert(self, fgraph: FunctionGraph, **kwargs: Any) -> FunctionGraph:
        return fgraph

    def jit_compile(self, fgraph: FunctionGraph) -> LoopNests:
        return LoopNests(fgraph, self.strict)

    def create_thunk_inputs(self, storage_map: dict[Variable, list[Any]]) -> list[Any]:
        assert self.fgraph is not None
        return [storage_map[v] for v in self.fgraph.inputs]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(strict={self.strict})"
