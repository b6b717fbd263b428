"""Errors that operations of a log density raise: which expression it is, and on which line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.compile.function import function
from dimtensor.compile.memory import written
from dimtensor.errors import (
    CheckError,
    ComputationError,
    DimtensorError,
    clipped,
    listing,
)
from dimtensor.graph import Node, toposort
from dimtensor.graph.printing.formula import formula

if TYPE_CHECKING:
    from dimtensor.model.logdensity import LogDensity

# Errors by which a proposal is rejected.
REFUSED = (CheckError, np.linalg.LinAlgError)
# Number of nodes above which the search takes too long.
_MOST_NODES = 2_000


def named_gradient(model: LogDensity) -> Callable[[np.ndarray], Any]:
    """Return value and gradient as a function whose errors name the failing expression."""
    model.functions.positional("logp_and_grad")  # what fails when it is compiled is no operation

    def call(x: np.ndarray) -> Any:
        try:
            return model.logp_and_grad(x)
        except (DimtensorError, np.linalg.LinAlgError):
            raise
        except Exception as error:
            raise computation_error(model, error, x) from error

    return call


def computation_error(
    model: LogDensity, error: BaseException, point: np.ndarray | None
) -> ComputationError:
    """Make the error that names the failing operation of a log density.

    Parameters
    ----------
    model : LogDensity
    error : BaseException
    point : ndarray or None
        The flat vector at which it was raised.
    """
    node = None if point is None else _raising(model, point)
    said = f"{type(error).__name__}: {error}"
    details: list[tuple[str, object]] = [("it says", clipped(said.splitlines()[0]))]
    details += written(node, node.line) if node is not None else _suspects(model)
    if point is not None:
        pairs = list(zip(model.names, point, strict=True))
        shown = ", ".join(f"{name}={value:.6g}" for name, value in pairs[:4])
        more = f", … ({len(pairs)} in all)" if len(pairs) > 4 else ""
        details.append(("unconstrained elements there", shown + more))
    return ComputationError(
        "sample: an operation of the log density raises an error",
        details,
        "its own error is the cause of this one (__cause__); give NaN where it has no value, "
        "which samplers refuse, or check its operands with dt.check",
    )


def _suspects(model: LogDensity) -> list[tuple[str, object]]:
    """List calls of user functions, for errors that do not occur again."""
    nodes = [node for node in toposort([model.expression.node]) if node.kind == "apply"]
    if not nodes:
        return []
    if len(nodes) == 1:
        return [*written(nodes[0], nodes[0].line)]
    return [("one of the expressions", listing([formula(node, 40) for node in nodes]))]


def _raising(model: LogDensity, point: np.ndarray) -> Node | None:
    """Find the first operation that raises an error at a point; None if none does this time."""
    nodes = [x for x in toposort([model.expression.node]) if x.kind not in ("constant", "data")]
    if len(nodes) > _MOST_NODES or not _raises(model, point, nodes):
        return None
    fine, bad = 0, len(nodes)  # numbers of nodes of which none raises, or one
    while bad - fine > 1:
        middle = (fine + bad) // 2
        if _raises(model, point, nodes[:middle]):
            bad = middle
        else:
            fine = middle
    return nodes[bad - 1]


def _raises(model: LogDensity, point: np.ndarray, nodes: Sequence[Node]) -> bool:
    """Return whether the error comes from the computation of nodes by the interpreter."""
    compute = interpreter_of(model, point, nodes)
    try:
        compute()
    except Exception:
        return True
    return False


def interpreter_of(
    model: LogDensity, point: np.ndarray, nodes: Sequence[Node]
) -> Callable[[], list[Any]]:
    """Make a function that interprets parts of a log density at a flat vector."""
    functions, used = model.functions, set(toposort(nodes))
    given = {p.name: x for p in model.parameters if (x := p.tensor.node) in used}
    values: dict[str, Any] = functions.labeled("parameters", model.flat_vector(point))
    f = function(list(given.values()), list(nodes), "python", checks=False)
    own = set(f._data_nodes)
    f = f.with_data({x: value for x, value in functions.replaced.items() if x in own})
    return lambda: f(*(values[name] for name in given))
