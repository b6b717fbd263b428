"""Contracts of functions of labeled arrays: results follow labels, and batches equal loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dimtensor.errors import ArgumentError, DimtensorError, listing, plain_repr
from dimtensor.graph import Node, toposort
from dimtensor.graph.lines import Line
from dimtensor.testing.arguments import chosen_dims, dims_of, labels_of, reordered
from dimtensor.testing.comparing import difference, unequal
from dimtensor.testing.findings import ContractError, Finding, Report

if TYPE_CHECKING:
    import xarray as xr

Function = Callable[..., Any]

# relative error of two sums in different orders
RTOL = 1e-8
_BATCH = "batch"


class Orders(NamedTuple):
    """Ways to arrange the positions of a dim: the whole, and swaps of two neighbors."""

    whole: list[np.ndarray]
    swaps: list[np.ndarray]

    @classmethod
    def of(cls, length: int, rng: np.random.Generator) -> Orders:
        plain = np.arange(length)
        whole = [plain[::-1], rng.permutation(length)]
        swaps = []
        for at in range(length - 1):
            order = plain.copy()
            order[[at, at + 1]] = at + 1, at
            swaps.append(order)
        return cls([each for each in whole if not np.array_equal(each, plain)], swaps)


def check_function(
    function: Function,
    *arguments: Any,
    dims: Iterable[str] | None = None,
    ordered: Iterable[str] = (),
    batches: bool = True,
    seed: int = 0,
    rtol: float = RTOL,
) -> Report:
    """Check that a function of labeled arrays depends on labels where it could depend on positions.

    The function is called with the arguments in other orders of their labels, which must change no
    value of any label (relabel-equivariance), and with batches of arguments along a dim that it
    does not know, whose results must be those of a loop over the batch.

    Parameters
    ----------
    function : callable
        Takes the arguments and returns a dims-tensor, a DataArray, a number, or a list or dict of
        these. Dims-tensors must not have inputs.
    *arguments : DataArray, Dataset, DataFrame or any
        Labeled arrays, and whatever else the function takes. The rows of a DataFrame are along a
        dim with the name of its index, or ``index``.
    dims : iterable of str, optional
        Dims of the arguments to reorder. By default all, but those with numbers or dates as labels,
        whose order means something.
    ordered : iterable of str
        Dims whose order means something.
    batches : bool
        Whether to check batches of the floating-point DataArrays.
    seed : int
        Of the orders.
    rtol : float
        Relative difference of equal results.

    Returns
    -------
    Report

    Raises
    ------
    ContractError
        With every dim along which a result depends on positions: the variable, the line of the
        first expression that does, and two neighbors whose exchange shows it.
    OptionError
        If no argument has one of the dims.
    ArgumentError
        If a result is neither a tensor nor an array nor a number.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> import dimtensor as dt
    >>> country = ["Italy", "Kenya", "USA"]
    >>> sales = xr.DataArray([3.0, 1.0, 2.0], {"country": country}, "country")
    >>> report = dt.testing.check_function(lambda x: x / x.sum("country"), sales)
    >>> report.checked
    ['labels along country', 'batches of argument 0']

    >>> try:
    ...     dt.testing.check_function(lambda x: x - x.isel(country=0), sales)
    ... except dt.testing.ContractError as error:
    ...     print(error.findings[0].contract, error.findings[0].reason, sep=": ")
    labels: depends on positions along country: exchanging 'Italy' and 'Kenya' changes it ...
    """
    report, rng = Report(), np.random.default_rng(seed)
    lengths = dict(dims_of(arguments))
    chosen = chosen_dims(lengths, arguments, dims, ordered, report)
    whole = NamedResults.of(function, arguments)
    findings = []
    for dim in chosen:

        def call(order: np.ndarray, dim: str = dim) -> NamedResults:
            return NamedResults.of(function, [reordered(x, dim, order) for x in arguments])

        labels, orders = labels_of(arguments, dim), Orders.of(lengths[dim], rng)
        with report._checking(f"labels along {dim}"):
            findings += relabeled(call, whole, dim, orders, labels, rtol)
    for at, argument in enumerate(arguments if batches else ()):
        if _is_float_array(argument):
            findings += _batched(function, arguments, at, rng, rtol, report)
    if findings:
        raise ContractError(findings)
    return report


# -- results ---------------------------------------------------------------------------------------


class NamedResults(NamedTuple):
    """NamedResults of a call by name: as arrays, and as nodes where they are dims-tensors."""

    arrays: dict[str, xr.DataArray]
    nodes: dict[str, Node]

    @classmethod
    def of(cls, function: Function, arguments: Sequence[Any]) -> NamedResults:
        import xarray as xr

        from dimtensor.tensor.evaluate import evaluate

        named = dict(_named(function(*arguments)))
        tensors = {name: x for name, x in named.items() if hasattr(x, "node")}
        arrays = dict(evaluate(tensors)) if tensors else {}
        for name, x in named.items():
            if name in tensors:
                continue
            array = x if isinstance(x, xr.DataArray) else xr.DataArray(x)
            if not isinstance(x, (xr.DataArray, np.ndarray)) and array.dtype.kind == "O":
                raise ArgumentError(
                    f"{name!r} of the function is no tensor, array or number: {plain_repr(x)}",
                    hint="models are checked by dt.testing.check_model",
                )
            arrays[name] = array
        nodes = {name: x.node for name, x in tensors.items()}
        return cls({name: arrays[name] for name in named}, nodes)


def _named(result: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Iterate over nested results, each with a name."""
    if isinstance(result, Mapping):
        for key, value in result.items():
            yield from _named(value, f"{name}.{key}" if name else str(key))
    elif isinstance(result, (list, tuple)):
        for at, value in enumerate(result):
            yield from _named(value, f"{name}[{at}]" if name else f"result {at}")
    else:
        own = getattr(result, "name", None)
        yield name or (own if isinstance(own, str) else "result"), result


# -- labels ----------------------------------------------------------------------------------------


def relabeled(
    call: Callable[[np.ndarray], NamedResults],
    whole: NamedResults,
    dim: str,
    orders: Orders,
    labels: Sequence[Any] | None,
    rtol: float,
) -> list[Finding]:
    """Return the results that depend on the order of the positions along a dim.

    Parameters
    ----------
    call : callable
        Takes an order of the positions and returns the results of arguments in this order.
    whole : NamedResults
        Of the arguments as they are.
    dim : str
    orders : Orders
    labels : sequence, optional
        Labels of the dim, for messages.
    rtol : float

    Raises
    ------
    DimtensorError
        If the function refuses arguments in another order: it gives no wrong result.
    """
    results: dict[bytes, NamedResults | Finding] = {}

    def moved(order: np.ndarray) -> NamedResults | Finding:
        key = order.tobytes()
        if key not in results:
            try:
                results[key] = call(order)
            except DimtensorError:
                raise
            except Exception as error:
                reason = f"fails in another order along {dim}: {type(error).__name__}: {error}"
                results[key] = Finding("labels", "result", reason)
        return results[key]

    def change(name: str, order: np.ndarray) -> str | None:
        found = moved(order)
        if isinstance(found, Finding):
            return None
        return difference(found.arrays.get(name), whole.arrays[name], dim, order, rtol)

    findings = []
    failed: dict[str, np.ndarray] = {}
    for order in orders.whole:
        found = moved(order)
        if isinstance(found, Finding):
            return [found]
        for name in whole.arrays:
            if change(name, order) is not None:
                failed.setdefault(name, order)
    for name, order in failed.items():
        smallest = next((swap for swap in orders.swaps if change(name, swap) is not None), order)
        at = np.flatnonzero(smallest != np.arange(len(smallest))).tolist()
        shown = " and ".join(repr(labels[i]) if labels else f"{dim}={i}" for i in at)
        what = f"exchanging {shown}" if len(at) == 2 else "another order"
        told = f"depends on positions along {dim}: {what} changes it {change(name, smallest)}"
        other, line = moved(smallest), None
        if isinstance(other, NamedResults) and name in whole.nodes and name in other.nodes:
            line = first_difference(whole.nodes[name], other.nodes[name], dim, smallest, rtol)
        findings.append(Finding("labels", name, told.rstrip(), line))
    return findings


def first_difference(
    one: Node, other: Node, dim: str, order: np.ndarray, rtol: float = RTOL
) -> Line | None:
    """Return the line of the first expression of a graph whose values depend on the order.

    The graphs are those of two calls of one function, the second with arguments in another order.
    """
    from dimtensor.tensor.evaluate import evaluate
    from dimtensor.tensor.handle import wrap

    pairs = list(zip(toposort([one]), toposort([other]), strict=False))
    if any(a.kind != b.kind for a, b in pairs):
        return one.line
    differing = [(a, b) for a, b in pairs if a is not b]
    bad: set[Node] = set()
    with suppress(DimtensorError, NotImplementedError):
        first = evaluate([wrap(a) for a, _ in differing])
        second = evaluate([wrap(b) for _, b in differing])
        for (a, _), x, y in zip(differing, first, second, strict=True):
            if a.kind != "data" and difference(y, x, dim, order, rtol) is not None:
                bad.add(a)
                if bad.isdisjoint(a.inputs) and a.line is not None:
                    return a.line
    return one.line


# -- batches ---------------------------------------------------------------------------------------


def _is_float_array(x: Any) -> bool:
    import xarray as xr

    return isinstance(x, xr.DataArray) and x.dtype.kind == "f"


def _batched(
    function: Function,
    arguments: Sequence[Any],
    at: int,
    rng: np.random.Generator,
    rtol: float,
    report: Report,
) -> list[Finding]:
    """Return the results of a batch of one argument that are not those of a loop."""
    import xarray as xr

    known = {name for name, _ in dims_of(arguments)}
    batch = next(n for n in (_BATCH, *(f"{_BATCH}_{k}" for k in range(99))) if n not in known)
    first = arguments[at]
    # other values of the same range, whose sums are others, too
    second = first.copy(data=rng.choice(first.values.ravel(), first.shape))
    what = f"of argument {at} with another dim"
    both = xr.concat([first, second], batch)

    def call(x: Any) -> dict[str, xr.DataArray]:
        return NamedResults.of(function, [*arguments[:at], x, *arguments[at + 1 :]]).arrays

    try:
        found = call(both)
    except Exception as error:  # it refuses other dims, which no result can contradict
        report.skipped[f"batches of argument {at}"] = f"{type(error).__name__}: {error}"
        return []
    report.checked.append(f"batches of argument {at}")
    one, two = call(first), call(second)
    findings = []
    for name in one:
        expected = xr.concat([one[name], two[name]], batch)
        got = found[name]
        if batch not in got.dims:
            if unequal(*xr.broadcast(one[name], two[name]), rtol) is None:
                continue  # it does not depend on this argument
            reason = f"{what} has no values along it: they are combined"
        elif set(got.dims) != set(expected.dims):
            reason = f"{what} has the dims {listing(map(str, got.dims))}"
        else:
            change = unequal(got.transpose(*expected.dims), expected, rtol)
            if change is None:
                continue
            reason = f"{what} is not that of a loop: {change}"
        findings.append(Finding("batches", name, reason))
    return findings
