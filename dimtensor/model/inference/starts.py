"""Starting points of chains, and errors that say why none is finite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Binding, Dims, dim_set
from dimtensor.errors import CheckError, build_message, listing, plain_repr
from dimtensor.graph import Node, toposort
from dimtensor.graph.dtypes import is_inexact
from dimtensor.graph.printing.formula import formula
from dimtensor.model.inference.raised import REFUSED, interpreter_of
from dimtensor.values.data import bind_data
from dimtensor.values.definite import NoFactor, factors_in, why_no_factor

if TYPE_CHECKING:
    from dimtensor.model.logdensity import LogDensity

# Radii around the start within which chains begin, and tries for each; as Stan's.
_REACHES = (1.0, 2.0)
_TRIED = 100
# Number of nodes above which the search takes too long.
_MOST_NODES = 2_000


def check_data(model: LogDensity, start: np.ndarray) -> None:
    """Check that NaN in data are not what the log density is made of, before it is compiled.

    A log density may pass over missing values, with ``where``: only if it is not finite itself,
    which the interpreter says, are they reported.

    Raises
    ------
    CheckError
        If there are NaN or infinite data, and the log density is not finite where the chains start.
    """
    if not _broken_data(model):
        return
    values = _values_at(model, start, [model.expression.node])
    if values is not None and not np.isfinite(values[model.expression.node]).all():
        raise CheckError(not_finite_message(model, start, "where the chains start"))


def no_start(model: LogDensity, start: np.ndarray) -> CheckError:
    """Make the error for a sampler that found no finite point around a start."""
    around = "around the point where the chains start"
    near = starting_points(start, lambda point: (0.0, point))  # whatever the density is there
    points = [start, *map(near, range(_TRIED))]
    failed = []
    for point in points:
        try:
            value, gradient = model.logp_and_grad(point)
        except CheckError as error:
            failed.append(str(error))
            continue
        if not (failed or are_finite(value, gradient)):
            return CheckError(not_finite_message(model, point, around, value, gradient))
    if failed:
        where = f"at {len(failed)} of {len(points)} points tried {around}"
        text = f"sample: a check of the log density fails {where}"
        hint = "start elsewhere with initial={...}" if len(failed) < _TRIED else (
            "the check holds nowhere near: change the expression that is checked, or, if the check "
            "holds elsewhere, start there with initial={...}"
        )  # fmt: skip
        return CheckError(text, [("there", failed[0])], hint)
    return CheckError(
        f"sample: no chain could start {around}, though the log density is finite there",
        hint="start elsewhere with initial={...}",
    )


def check_moved(names: list[str], gradients: Sequence[np.ndarray]) -> None:
    """Check that the log density has a slope in all elements at points around the start.

    Raises
    ------
    CheckError
        If it has none in some of them: their posterior is not proper.
    """
    still = np.all([np.asarray(gradient) == 0 for gradient in gradients], axis=0)
    if still.any():
        raise CheckError(
            "sample: the log density does not depend on some elements",
            [("elements", listing([names[at] for at in np.flatnonzero(still)]))],
            "give their variable a proper distribution, or leave them out",
        )


def starting_points(
    start: np.ndarray, value_and_gradient: Callable[[np.ndarray], tuple[Any, Any]]
) -> Callable[[Any], np.ndarray]:
    """Return a function of a seed or generator: a point near the start with a finite density.

    At most 1 away from it in every element, and 2 where all of a hundred are refused: value or
    gradient is not finite, or a check fails. If none of those is taken either, that is not tried
    again for other seeds.
    """
    refused = False

    def is_finite(point: np.ndarray) -> bool:
        try:
            return are_finite(*value_and_gradient(point))
        except REFUSED:
            return False

    def point(seed: Any) -> np.ndarray:
        nonlocal refused
        rng = np.random.default_rng(seed)
        for reach in _REACHES:
            for _ in range(_TRIED):
                found = start + rng.uniform(-reach, reach, len(start))
                if refused or is_finite(found):
                    return found
        refused = True
        return found

    return point


def are_finite(value: Any, gradient: Any) -> bool:
    """Return True if value and gradient are finite, so that a chain may start there."""
    return bool(np.isfinite(value) and np.isfinite(gradient).all())


def not_finite_message(
    model: LogDensity,
    point: np.ndarray,
    where: str,
    value: float | None = None,
    gradient: np.ndarray | None = None,
    method: str = "sample",
) -> str:
    """Return the text of an error that says why a log density is not finite at a point."""
    details: list[tuple[str, object]] = []
    if value is not None:
        details.append(("log density there", plain_repr(value)))
    if gradient is not None and not np.isfinite(gradient).all():
        pairs = zip(model.names, gradient, strict=True)
        broken = [name for name, slope in pairs if not np.isfinite(slope)]
        details.append(("elements whose gradient is not finite there", listing(broken)))
    found = _source(model, point) if value is None or not np.isfinite(value) else None
    source, why = found or (None, None)
    details += [("what is not finite", source)] if source else []
    details += why.details if why else []
    data = _broken_data(model)
    what = "the gradient of the log density" if value is not None and np.isfinite(value) else (
        "the log density"
    )  # fmt: skip
    hint = "start elsewhere with initial={...}, or narrow the supports"
    if why is not None:
        hint = why.hint
    if data:
        hint = "leave missing data out"
    return build_message(f"{method}: {what} is not finite {where}", [*details, *data], hint)


# -- data ------------------------------------------------------------------------------------------


def _broken_data(model: LogDensity) -> list[tuple[str, object]]:
    """Describe data of the log density with NaN or infinities: their number and first place."""
    functions = model.functions
    nodes = [node for node in functions.data_nodes if is_inexact(node.dtype)]
    used = set(toposort([model.expression.node]))
    nodes = [node for node in nodes if node in used]
    _, arrays = bind_data(nodes, [node.dims for node in nodes], functions.replaced)
    found: list[tuple[str, object]] = []
    for node, array in zip(nodes, arrays, strict=True):
        places = _not_finite(array, node.dims, functions.binding)
        if places:
            title = repr(node.name) if node.name else f"of dims {dim_set(node.dims)}"
            found.append((f"data {title}", places))
    return found


def _not_finite(array: np.ndarray, dims: Dims, binding: Binding) -> str | None:
    """``nan at house='ANOKA', 3 of 919 elements``; None where all elements are finite."""
    finite = np.isfinite(array)
    if finite.all():
        return None
    broken = np.argwhere(~finite)
    first = array[tuple(broken[0])]
    labels = []
    for dim, position in zip(dims, broken[0], strict=True):
        known = dim._bound_labels(binding)
        label = int(position) if known is None else known.values[position]
        labels.append(f"{dim._short}={plain_repr(label)}")
    if not dims:
        return plain_repr(first)
    count = "the only element" if array.size == 1 else f"{len(broken)} of {array.size} elements"
    return f"{plain_repr(first)} at {', '.join(labels)} ({count})"


# -- expressions -----------------------------------------------------------------------------------


def _source(model: LogDensity, point: np.ndarray) -> tuple[str, NoFactor | None] | None:
    """Find the operation that makes a log density NaN or infinite, as text.

    It is searched from the result downwards along operands that are not finite. If it is a Cholesky
    factor, the second result is what the matrix lacks.
    """
    root = model.expression.node
    nodes = [node for node in toposort([root]) if is_inexact(node.dtype)]
    if len(nodes) > _MOST_NODES:
        return None
    values = _values_at(model, point, nodes)
    if values is None:
        return None
    node = root
    while True:
        computed = [x for x in node.inputs if x in values and x.kind != "constant"]
        below = [x for x in computed if not np.isfinite(values[x]).all()]
        if not below:
            break
        node = below[0]
    if node.kind == "data" or np.isfinite(values[node]).all():
        return None
    found = _not_finite(values[node], node.dims, model.functions.binding)
    why = None
    if node in factors_in([node]) and node.inputs[0] in values:
        why = why_no_factor(node, node.inputs[0].dims, values[node.inputs[0]])
    return f"{formula(node, 60)} is {found}", why


def _values_at(
    model: LogDensity, point: np.ndarray, nodes: Sequence[Node]
) -> dict[Node, np.ndarray] | None:
    """Interpret parts of the log density at a point; None if that fails."""
    try:
        arrays = interpreter_of(model, point, nodes)()
    except Exception:  # an explanation that cannot be given hides nothing
        return None
    return {node: array.values for node, array in zip(nodes, arrays, strict=True)}
