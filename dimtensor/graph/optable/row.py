"""Rows of the op table, and shorthands to define them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Domain = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class OpRow:
    """Row of the op table.

    Parameters
    ----------
    name : str
        Name in dimtensor.
    kind : {"elemwise", "reduce", "cumulate"}
    arity : int
        Number of operands.
    dtype : str
        Rule for the dtype of the result: ``float`` (integers become float64), ``upcast`` (NumPy's
        promotion), ``same``, ``bool``, ``logical`` (bool; operands are compared with zero),
        ``integer`` (integers and bools only), ``number`` (as upcast, without bools), ``select``
        (upcast of all operands but the first), ``order`` (as float, of all operands but the first,
        which is an integer), ``real`` (complex becomes float), ``realfloat`` (float of the parts),
        ``complex``, ``accumulate`` (small integers widen to 64 bits).
    lowers_to : str
        Name in ``pytensor.tensor`` or its modules ``math`` and ``special``.
    doc : str
        One line.
    numpy : str
        NumPy's counterpart, as ``np`` name; empty if there is none.
    oracle : str
        Expression of outside libraries (``np``, ``sp`` = scipy.special) that computes it.
    params : str
        Names of the operands, separated by blanks; ``name=number`` gives one a default.
    domain : tuple of (low, high)
        Range of each operand in tests; a single entry applies to all operands.
    differentiable : tuple of int
        Operands with a gradient, even if it is zero almost everywhere. A gradient through another
        operand is an error.
    commutative : bool
    operator : str
        Python's unary or binary operator.
    linear : tuple of tuple of int
        Groups of operands in which the operation is jointly linear, the others being fixed: the
        sum is linear in ``(0, 1)``, the product in ``(0,)`` and in ``(1,)``.
    combined_by : str
        For a reduction: the operation that combines the results for parts of the dim.
    stops_gradient : bool
        Whether derivatives treat the result as a constant.
    needs_element : bool
        Whether a reduction over an empty dim is undefined.
    complex : bool
        Whether complex operands are supported.
    ufuncs : str
        Other ufuncs of NumPy or SciPy that are the same function, separated by blanks.
    note : str
        Differences from the counterpart, or the gradient at points where there is none.
    skips : str
        Backends that lack the op, separated by blanks.
    namespace : {"dt", "dt.special", ""}
        Public module that has the function; empty for properties of tensors.
    """

    name: str
    kind: str
    arity: int
    dtype: str
    lowers_to: str
    doc: str
    numpy: str = ""
    oracle: str = ""
    params: str = "x"
    domain: Domain = ((-3.0, 3.0),)
    differentiable: tuple[int, ...] = ()
    commutative: bool = False
    operator: str = ""
    linear: tuple[tuple[int, ...], ...] = ()
    combined_by: str = ""
    stops_gradient: bool = False
    needs_element: bool = False
    complex: bool = False
    ufuncs: str = ""
    note: str = ""
    skips: str = ""
    namespace: str = "dt"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the operands, without their defaults."""
        return tuple(param.partition("=")[0] for param in self.params.split())


def unary(
    name: str,
    dtype: str,
    doc: str,
    *,
    domain: tuple[float, float] = (-3.0, 3.0),
    grad: bool = True,
    **cells: Any,
) -> OpRow:
    """Make a row with one operand; by default NumPy's counterpart has the same name."""
    return elementwise(name, "x", dtype, doc, domain=(domain,), grad=(0,) if grad else (), **cells)


def elementwise(
    name: str,
    params: str,
    dtype: str,
    doc: str,
    *,
    lowers_to: str = "",
    numpy: str | None = None,
    oracle: str = "",
    domain: Domain = ((-3.0, 3.0),),
    grad: tuple[int, ...] = (),
    **cells: Any,
) -> OpRow:
    """Make a row with any number of operands; see :func:`unary`."""
    numpy = name if numpy is None else numpy
    return OpRow(
        name=name,
        kind="elemwise",
        arity=len(params.split()),
        dtype=dtype,
        lowers_to=lowers_to or name,
        doc=doc,
        numpy=numpy,
        oracle=oracle or (f"np.{numpy}" if numpy else f"sp.{name}"),
        params=params,
        domain=domain,
        differentiable=grad,
        **cells,
    )


def special(name: str, params: str, doc: str, **cells: Any) -> OpRow:
    """Make a row of a special function of floats, by default differentiable in all operands.

    The counterpart has the same name in SciPy, and the function is in ``dt.special``.
    """
    cells.setdefault("grad", tuple(range(len(params.split()))))
    cells.setdefault("namespace", "dt.special")
    return elementwise(name, params, "float", doc, numpy="", **cells)


def reduction(
    name: str,
    dtype: str,
    doc: str,
    *,
    kind: str = "reduce",
    numpy: str | None = None,
    oracle: str = "",
    grad: bool = True,
    **cells: Any,
) -> OpRow:
    """Make a row of a reduction or a cumulative operation with NumPy's name."""
    return OpRow(
        name=name,
        kind=kind,
        arity=1,
        dtype=dtype,
        lowers_to=name,
        doc=doc,
        numpy=name if numpy is None else numpy,
        oracle=oracle or f"np.{name}",
        differentiable=(0,) if grad else (),
        **cells,
    )
