"""``dt.explain``: cost of an expression, a model or a function before it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dimtensor.backends import backend_of, check_backend
from dimtensor.compile.function import CompiledFunction, free_inputs, node_of
from dimtensor.compile.sliced.cuts import SliceCut
from dimtensor.compile.sliced.function import ThreadedFunction
from dimtensor.cost.polynomial import Count, Lengths, missing_lengths
from dimtensor.cost.quantities import bytes_of, bytes_text
from dimtensor.dims import Binding, Dim
from dimtensor.errors import (
    ArgumentError,
    MemoryLimitError,
    OptionError,
    UnknownDimError,
    did_you_mean,
)
from dimtensor.explanation.report import Explanation, XlaCost, made_at
from dimtensor.graph import Node, leaves, toposort
from dimtensor.graph.dtypes import is_float
from dimtensor.graph.walk import with_regions
from dimtensor.streams.reading import RowReader
from dimtensor.streams.stream import rows_of
from dimtensor.tensor.autodiff import grad
from dimtensor.tensor.core import DimTensor
from dimtensor.tensor.handle import wrap
from dimtensor.values.data import as_mapping, bind_data

if TYPE_CHECKING:
    from dimtensor.explanation.steps import Schedule
    from dimtensor.model.logdensity import LogDensity


class _Asked(NamedTuple):
    """Object to be explained: outputs of a value, and of value and gradient together if any."""

    what: str
    inputs: Sequence[Any]
    value: Sequence[Node]
    gradient: Sequence[Node] | None
    binding: Binding
    backend: str
    allow: frozenset[str] = frozenset()
    expression: Node | None = None


def explain(
    x: Any,
    lengths: Mapping[Any, int] | None = None,
    limit: int | str | None = None,
    *,
    backend: str | None = None,
) -> Explanation:
    """Report the operations and the memory of a computation, before it runs.

    The loop nests of the kernels are generated as for a call and analyzed; nothing is compiled by
    LLVM or allocated.

    Parameters
    ----------
    x : DimTensor, Model, LogDensity, CompiledFunction, or sequence of DimTensor
        For a floating-point scalar, a model or its log density, the gradient is explained, too.
    lengths : mapping of Dim (or its name) to int, optional
        Lengths of dims whose length is not known, and values of integer inputs that are numbers of
        steps of loops, by their names; ``"rounds"`` is the number of steps of while loops. Costs
        that depend on missing lengths are polynomials without a number.
    limit : int or str, optional
        Bytes, as an integer or as in ``"2 GB"`` (kB, MB, GB, TB are powers of 1000, KiB, MiB, GiB,
        TiB of 1024). Exceeding it is an error.
    backend : {"native", "jax", "python"}, optional
        By default that of `x`. For JAX the report includes XLA's analysis of its own code.

    Returns
    -------
    Explanation
        Displayed as text, or as HTML in notebooks, and drawn by its ``draw``.

    Raises
    ------
    MemoryLimitError
        If the memory of a call exceeds the limit. The message names the largest array, its
        expression and its line of code.
    DimError
        If there is a limit, and a length is missing.
    ArgumentError
        If `x` is something else.
    UnknownDimError
        If a length belongs to no dim.
    OptionError
        If the limit is not a number of bytes.
    GraphError
        If a number needs a length that is not known.

    Examples
    --------
    >>> import dimtensor as dt
    >>> i, j, k = dt.Dim("i"), dt.Dim("j"), dt.Dim("k")
    >>> x, y = dt.tensor("x", dims=[i, k]), dt.tensor("y", dims=[k, j])
    >>> found = dt.explain(dt.exp(dt.dot(x, y, dim=k)), {"i": 1000, "j": 2000, "k": 30})
    >>> print(found.value.total("flops"), "=", found.flops)
    2·i·j·k + 10·i·j = 140000000
    >>> print(found.value.peak, "=", found.peak)
    8·i·j + 8·i·k + 8·j·k = 16720000
    """
    from dimtensor.explanation.steps import schedule  # loads the kernel compiler

    wanted = None if limit is None else bytes_of(limit)
    asked = _asked(x, None if backend is None else check_backend(backend), bool(lengths))
    known = _lengths(asked, lengths or {})
    value = schedule(asked.inputs, asked.value, asked.allow)
    gradient = None
    if asked.gradient is not None:
        gradient = schedule(asked.inputs, asked.gradient, asked.allow)
    found = Explanation(asked.what, value, gradient, known, asked.backend)
    found.expression = asked.expression
    found.threads = _threads(x, known)
    if wanted is not None:
        _check_limit(found, wanted)
    if backend_of(asked.backend).specializes and not known.missing(*found.polynomials):
        found.xla = _xla(asked, known)
    return found


# -- the object to explain -------------------------------------------------------------------------


def _asked(x: Any, backend: str | None, other_lengths: bool) -> _Asked:
    from dimtensor.model.logdensity import LogDensity
    from dimtensor.model.model import Model

    if isinstance(x, Model):
        x = x.log_density()
    if isinstance(x, LogDensity):
        return _of_density(x, backend, other_lengths)
    if isinstance(x, CompiledFunction):
        code = x._code
        binding = x._data_binding
        return _Asked(
            "a function", code.inputs, code.outputs, None, binding, backend or x.backend, code.allow
        )
    tensors = list(x) if isinstance(x, (list, tuple)) else [x]
    if not tensors or not all(isinstance(each, DimTensor) for each in tensors):
        raise ArgumentError(
            f"explain takes tensors, a model, its log density or a function, not "
            f"{type(x).__name__}",
            hint="a model's log density is dt.explain(model)",
        )
    nodes = [node_of(each) for each in tensors]
    inputs = free_inputs(nodes)
    gradient = None
    floats = [node for node in inputs if is_float(node.dtype)]
    if len(nodes) == 1 and not nodes[0].dims and is_float(nodes[0].dtype) and floats:
        found = grad(wrap(nodes[0]), [wrap(node) for node in floats])
        gradient = [*nodes, *(node_of(each) for each in found)]
    what = "an expression" if len(nodes) == 1 else f"{len(nodes)} expressions"
    return _Asked(
        what,
        inputs,
        nodes,
        gradient,
        _told(nodes),
        backend or "native",
        expression=nodes[0] if len(nodes) == 1 else None,
    )


def _told(nodes: Sequence[Node]) -> Binding:
    """Return the lengths of the data's dims."""
    data = [leaf for leaf in leaves(nodes) if leaf.kind == "data"]
    return bind_data(data, [leaf.dims for leaf in data], {})[0]


def _of_density(density: LogDensity, backend: str | None, other_lengths: bool) -> _Asked:
    functions = density.functions
    # the number of distinct rows of other data is unknown: all rows are counted
    rows = None if other_lengths else functions.rows
    parts = functions.assembly if rows is None else functions.computed
    late = functions._late_of("logp_and_grad")
    binding = functions.binding.copy()
    (flat,) = parts.flat.dims
    if flat.length is None:
        binding.add_length(flat, density.size, "the parameters")
    for dim, length in () if rows is None else rows.lengths.items():
        binding.add_length(dim, length, "distinct rows")
    if functions.streams:
        # costs are those of a chunk, of which two are in memory
        reader, dim = RowReader([*functions.streams.values()]), rows_of(functions.streams)
        rows_of_chunk = min(reader.size, reader.length or reader.size)
        binding = binding.without([dim])
        binding.add_length(dim, rows_of_chunk, "a chunk of the streams")
    return _Asked(
        "a log density" + (", one chunk of its streams" if functions.streams else ""),
        [parts.flat.node, *late, *functions.streams],
        [parts.value.node],
        [parts.value.node, parts.gradient.node],
        binding,
        backend or density.backend,
        expression=density.expression.node,
    )


def _threads(x: Any, known: Lengths) -> str:
    """Describe how a function or a log density is cut for its threads."""
    from dimtensor.model.logdensity import LogDensity
    from dimtensor.model.sliced.streamed import StreamedDensity
    from dimtensor.model.sliced.threads import ThreadedEvaluation, density_cut

    if isinstance(x, ThreadedFunction):
        lengths = {dim: known.get(dim) for dim in x.dims_to_cut}
        if None in lengths.values():
            return f"{x.threads}, and the number of slices depends on the lengths"
        binding = Binding()
        for dim, length in lengths.items():
            binding.add_length(dim, length or 0, "a length that is known")
        return f"{x.threads}, {_slices_of(x.cut(binding))}"
    if isinstance(x, LogDensity) and isinstance(x.functions.evaluation, ThreadedEvaluation):
        number, evaluator = x.functions.evaluation.number, x.functions.evaluator
        if not isinstance(evaluator, StreamedDensity):
            return f"{number}, {_slices_of(density_cut(x.functions))}"
        slices, rows = evaluator.code.slices, rows_of(x.functions.streams)._short
        if slices == 1:
            return f"{number}, not used: there is too little work for slices of a chunk"
        return f"{number}, for {slices} slices of {rows} in each chunk"
    return ""


def _slices_of(cut: SliceCut | None) -> str:
    if cut is None:
        return "not used: there is too little work for slices"
    return f"for {cut.number} slices of {cut.dim._short}"


# -- lengths ---------------------------------------------------------------------------------------


def _lengths(asked: _Asked, given: Mapping[Any, int]) -> Lengths:
    """Return the known lengths of all dims, with those that the user gives."""
    roots = [*asked.value, *(asked.gradient or ())]
    nodes = with_regions(toposort(roots))
    dims = dict.fromkeys(base for node in nodes for dim in node.dims for base in (dim, *dim._bases))
    dims.update(dict.fromkeys(dim for dim in asked.inputs if isinstance(dim, Dim)))
    counts = {node.name for node in nodes if node.name and not node.dims}
    names: dict[str, list[Dim]] = {}
    for dim in dims:
        if dim.name is not None:
            names.setdefault(dim.name, []).append(dim)
    found: dict[Any, int] = {}
    for dim in dims:
        length = dim._bound_length(asked.binding)
        if length is not None:
            found[dim] = length
    for key, value in as_mapping(given, "lengths").items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise OptionError(f"the length of {key!r} is an integer of at least 0, not {value!r}")
        for variable in _meant(key, names, counts, dims):
            found[variable] = value
    return Lengths(found)


def _meant(key: Any, names: Mapping[str, list[Dim]], counts: set[str], dims: Any) -> Sequence[Any]:
    if isinstance(key, Dim) and key in dims:
        return [key]
    if isinstance(key, str) and key in names:
        return [dim for dim in names[key] if dim.length is None] or names[key]
    if isinstance(key, str) and (key in counts or key == "rounds"):
        return [Count(key)]
    name = key._short if isinstance(key, Dim) else key
    raise UnknownDimError(
        f"there is no dim {name!r} to give a length to{did_you_mean(name, [*names])}",
        [("dims", ", ".join(sorted(names)) or "none")],
    )


# -- the limit -------------------------------------------------------------------------------------


def _check_limit(found: Explanation, limit: int) -> None:
    missing = found.lengths.missing(*(each.peak for each in found.schedules.values()))
    if missing:
        raise missing_lengths(missing)
    for what, each in found.schedules.items():
        needed = each.peak.at(found.lengths)
        if needed > limit:
            raise _over(found, what, each, needed, limit)


def _over(
    found: Explanation, what: str, each: Schedule, needed: Any, limit: int
) -> MemoryLimitError:
    details: list[tuple[str, object]] = []
    largest = found._largest_of(each)
    if largest is not None:
        size = largest.size.at(found.lengths)
        details.append(("largest array", f"{bytes_text(size)} = {largest.size} bytes"))
        details += made_at(largest)
    variables = (each.peak if largest is None else largest.size).variables
    known = ", ".join(f"{v._short}={found.lengths.get(v):,}" for v in variables)
    if known:
        details.append(("lengths", known))
    return MemoryLimitError(
        f"the {what} needs {bytes_text(needed)} of memory, the limit is {bytes_text(limit)}",
        details,
        "a sum over a dim beside the product needs no array of it; dt.map and dt.scan compute "
        "one position of a dim after the other",
    )


# -- XLA -------------------------------------------------------------------------------------------


def _xla(asked: _Asked, known: Lengths) -> dict[str, XlaCost]:
    from dimtensor.explanation.xla import xla_cost

    found = {"value": xla_cost(asked.inputs, asked.value, known, asked.allow)}
    if asked.gradient is not None:
        found["gradient"] = xla_cost(asked.inputs, asked.gradient, known, asked.allow)
    return found
