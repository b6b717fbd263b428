"""Source locations in an exported module: dims of axes, and lines of the user's code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

from dimtensor.backends.jax.graph import watched
from dimtensor.errors import DimtensorError, GraphError
from dimtensor.graph.lines import Line
from dimtensor.ops.notes import note_of


@contextmanager
def trace_with_locations(outside: Line | None) -> Iterator[None]:
    """Annotate traced operations with names of dims and lines of the user's code.

    Operations without a line of their own get `outside`, the line of the export.

    Raises
    ------
    GraphError
        If an operation cannot be traced with symbolic lengths; the message names it.
    """
    from dimtensor.upstream.jax import short_places

    token = watched.set(_scoped)
    try:
        with short_places(), _at(outside):
            yield
    finally:
        watched.reset(token)


def _at(line: Line | None) -> AbstractContextManager[Any]:
    from dimtensor.upstream.jax import placed_at

    return nullcontext() if line is None else placed_at(line.file, line.number)


@contextmanager
def _scoped(node: Any) -> Iterator[None]:
    import jax

    note = note_of(node.outputs[0])
    with ExitStack() as stack:
        if note is not None:
            stack.enter_context(_at(note.line))
            if note.dims is not None:
                # JAX refuses texts that UTF-8 cannot write
                scope = str(note).encode("utf-8", "backslashreplace").decode()
                stack.enter_context(jax.named_scope(scope))
        try:
            yield
        except DimtensorError:
            raise
        except (TypeError, ValueError, NotImplementedError, IndexError, RuntimeError) as error:
            raise _untraced(node, error) from error


def _untraced(node: Any, error: Exception) -> GraphError:
    note = note_of(node.outputs[0])
    details: list[tuple[str, object]] = []
    if note is not None and note.dims is not None:
        details.append(("dims", note))
    if note is not None and note.line is not None:
        details.append(("line", note.line))
    details.append(("JAX", str(error).strip().splitlines()[0][:200]))
    return GraphError(
        f"cannot be exported: the operation {node.op} has no form for lengths that are symbols",
        details,
        "give the lengths: f.export(path, lengths={...}), or give the dims a length",
    )


def require_no_callbacks(jaxpr: Any) -> None:
    """Check that a trace has no callbacks to the host.

    Raises
    ------
    GraphError
        If it has one, for instance for a Bessel function that JAX lacks.
    """
    from dimtensor.upstream.jax import place_of

    for equation in _equations(getattr(jaxpr, "jaxpr", jaxpr)):
        if "callback" in equation.primitive.name:
            dims, file, number = place_of(equation)
            details: list[tuple[str, object]] = [("dims", dims)] if dims else []
            if file:
                details.append(("line", Line(file, number)))
            raise GraphError(
                "cannot be exported: a function runs on the host, in Python",
                details,
                "JAX has no code for it, as for some Bessel functions; give its values as an input",
            )


def _equations(jaxpr: Any) -> Iterator[Any]:
    for equation in jaxpr.eqns:
        yield equation
        for value in equation.params.values():
            for one in value if isinstance(value, (tuple, list)) else (value,):
                inner = getattr(one, "jaxpr", one)
                if hasattr(inner, "eqns"):
                    yield from _equations(inner)
