"""Named terms of log densities, and warnings of terms that are counted repeatedly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dimtensor.compile.function import node_of
from dimtensor.dims import Binding, Dim, union
from dimtensor.errors import (
    BroadcastWarning,
    DimError,
    DtypeError,
    LabelError,
    OptionError,
    did_you_mean,
    listing,
    warn,
)
from dimtensor.graph import Node
from dimtensor.graph.dtypes import is_float
from dimtensor.graph.printing.formula import formula
from dimtensor.tensor.constructors import zeros
from dimtensor.tensor.handle import wrap
from dimtensor.traversal import reached

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def read_logp(logp: Any) -> tuple[DimTensor, dict[str, DimTensor]]:
    """Return the log density as one expression, and its named terms.

    Raises
    ------
    OptionError
        If there are no terms.
    DimError
        If one expression has dims.
    DtypeError
        If something is not of a float dtype.
    """
    if not isinstance(logp, Mapping):
        return wrap(_checked(node_of(logp))), {}
    terms = {}
    for name, term in logp.items():
        terms[name] = wrap(_of_floats(node_of(term), f"the term {name!r} of a log density"))
    if not terms:
        raise OptionError("a log density has at least one term")
    total: Any = zeros()
    for at, term in enumerate(terms.values()):
        total = total + term.sum() if at else term.sum()
    return total, terms


def check_terms(terms: Mapping[str, DimTensor], wanted: Iterable[str]) -> None:
    """Check that there are terms of some names.

    Raises
    ------
    LabelError
        If one is not there.
    """
    for name in wanted:
        if name not in terms:
            raise LabelError(
                f"the model has no term {name!r}{did_you_mean(name, list(terms))}",
                [("terms", listing(list(terms)))],
                None if terms else "the terms of a log density get names in a dict",
            )


def _checked(node: Node) -> Node:
    if node.dims:
        raise DimError(
            "a log density has no dims",
            [("dims", [dim._short for dim in node.dims])],
            "sum it: logp.sum(), or give its terms by name, each of which is summed over its "
            "own dims: {'y': normal(y, mu, sigma), 'mu': normal(mu, 0, 1)}",
        )
    return _of_floats(node, "a log density")


def _of_floats(node: Node, what: str) -> Node:
    if not is_float(node.dtype):
        raise DtypeError(f"{what} is of a float dtype, not {node.dtype}")
    return node


# -- sums of terms that lack each other's dims -----------------------------------------------------


def check_sums(logp: Node, binding: Binding) -> None:
    """Warn of terms that are broadcast before they are summed.

    In ``(-(y - mu)**2 - z**2).sum()``, with y over observations and z over counties, each of the
    two squares is broadcast along the dims of the other before it is summed. A term that lacks dims
    beside one that has them all is another matter: the logarithm of a standard deviation belongs to
    every observation.
    """
    for dims, terms in _sums(logp):
        own = [tuple(dim for dim in term.dims if dim in dims) for term in terms]
        together = union(own, "a sum of terms")
        if any(len(dims) == len(together) for dims in own):
            continue
        details = []
        for term, has in zip(terms, own, strict=True):
            lacks = [dim for dim in together if dim not in has]
            if has and _factor(lacks, binding) != "1":
                details.append((formula(term, 50), _counted(has, lacks, binding)))
        if len(details) < 2:
            continue
        warn(
            "a sum of the log density counts terms many times over, as they lack dims of each "
            "other",
            BroadcastWarning,
            details,
            hint="sum each over its own dims: a.sum() + b.sum(), or "
            "LogDensity({'a': a, 'b': b}, …)",
        )


def _counted(has: tuple[Dim, ...], lacks: list[Dim], binding: Binding) -> str:
    over = ", ".join(dim._short for dim in has)
    along = ", ".join(dim._short for dim in lacks)
    return f"over {{{over}}}, counted {_factor(lacks, binding)} times, along {{{along}}}"


def _factor(dims: list[Dim], binding: Binding) -> str:
    lengths = [dim._bound_length(binding) for dim in dims]
    return "?" if None in lengths else str(math.prod(lengths))  # type: ignore[arg-type]


def _sums(logp: Node) -> Iterator[tuple[frozenset[Dim], list[Node]]]:
    """Yield the sums in a log density: their dims and terms."""
    for part in _terms(logp):
        dims: frozenset[Dim] = frozenset()
        terms = [part]
        # a sum over one dim of a sum over another is one sum
        while len(terms) == 1 and terms[0].kind == "reduce" and terms[0].attrs.name == "sum":
            dims |= frozenset(terms[0].attrs.dims)
            terms = list(_terms(terms[0].inputs[0]))
        if dims and len(terms) > 1:
            yield dims, terms


def _terms(node: Node) -> Iterator[Node]:
    """Yield the terms of a sum, through signs, casts, checks and multiples."""
    return (x for x in reached([node], lambda x: _summed(x) or ()) if _summed(x) is None)


def _summed(node: Node) -> tuple[Node, ...] | None:
    """Return the operands of a linear combination; None for a term."""
    if node.kind in ("cast", "check"):
        return node.inputs[:1]
    if node.kind != "elemwise":
        return None
    if node.attrs in ("add", "subtract", "negative"):
        return node.inputs
    if node.attrs == "multiply":
        others = tuple(x for x in node.inputs if x.kind != "constant")
        return others if len(others) == 1 and len(node.inputs) == 2 else None
    return None
