"""Facts of scalar operations: one row for each of PyTensor's classes.

Rewrites know the meaning of the operations that they match. All other facts are here: the name in
the intermediate representation of kernels, dtypes, exactness, cost, vector form, poles. Graphs look
a row up by class (`facts_of`), kernels by name (`facts_named`). A test fails on an operation of the
op table that has no row; others compare each column with PyTensor, C, SciPy and exact arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from pytensor.scalar import basic as s
from pytensor.scalar import math as m

from dimtensor.ops import special
from dimtensor.tuning import CALL, DIVISION, QUICK

Kind = Literal["arithmetic", "comparison", "logic", "extreme", "choice", "function", "other"]


@dataclass(frozen=True)
class Facts:
    """Facts of a scalar operation.

    Attributes
    ----------
    name : str
        Its name in kernels. No two rows have the same.
    kind : str
        ``arithmetic`` and ``comparison`` of numbers, ``logic`` of bits, ``extreme`` of two numbers,
        ``choice`` of operands (casts included), ``function`` of a library, or ``other``.
    meets : str
        The dtype that operands are converted to, as far as it has all of their numbers: ``result``,
        that of the result; ``arms``, the same but for the first operand; ``common``, that of all
        operands; or ``own``.
    gives : str
        The dtype of the result: ``bool``; ``float``, floats or complex numbers, also of integers;
        or ``operands``, promoted from them.
    exact : bool
        Whether the result is correctly rounded, so that each way to compute it has the same bits.
    is_step : bool
        Whether it is constant but for jumps, so that its derivatives are zero.
    cost : int
        For one element, in sums or products, roughly. What is not quick is stored, and read again
        where it is needed twice, unless it is a division.
    vectorizes : bool
        Whether LLVM vectorizes a loop that has it: it is arithmetic, or a function that LLVM knows
        to be callable for each number of a vector.
    sign : str
        The operator between its operands.
    function : str
        The function of one float that it is, by its name in C.
    intrinsic : bool
        Whether LLVM has that function, under the same name, for each width of floats.
    scipy : tuple of (str, int), optional
        The function of SciPy that it is: its name in ``scipy.special``, and of how many doubles.
    commutes : bool
        Whether the result is the same, bit for bit, where operands are exchanged; the larger of
        -0 and 0 is not.
    reduces : bool
        Whether reductions over dims combine elements with it.
    is_finite : bool
        Whether it is finite for finite operands. For quotients and powers that depends on one of
        them.
    """

    name: str = ""
    kind: Kind = "other"
    meets: Literal["result", "arms", "common", "own"] = "own"
    gives: Literal["bool", "float", "operands"] = "operands"
    exact: bool = False
    is_step: bool = False
    cost: int = CALL
    vectorizes: bool = False
    sign: str = ""
    function: str = ""
    intrinsic: bool = False
    scipy: tuple[str, int] | None = None
    commutes: bool = False
    reduces: bool = False
    is_finite: bool = False

    @property
    def is_quick(self) -> bool:
        """Cost of at most a multiplication."""
        return self.cost <= QUICK

    @property
    def is_cheap(self) -> bool:
        """Cost low enough to recompute instead of storing and loading."""
        return self.cost <= DIVISION

    @property
    def library(self) -> str:
        """Its name in the C library or in SciPy; empty if it is in neither."""
        return self.function or (self.scipy[0] if self.scipy else "")


_QUICK = Facts(cost=QUICK, vectorizes=True, exact=True)
_SIGNS = replace(_QUICK, kind="arithmetic", meets="result", commutes=True, is_finite=True)
_EXTREME = replace(_QUICK, kind="extreme", meets="result", reduces=True, is_finite=True)
_COMPARISON = replace(_QUICK, kind="comparison", meets="common", gives="bool")
_LOGIC = replace(_QUICK, kind="logic", commutes=True)
_CHOICE = replace(_QUICK, kind="choice", is_finite=True)
_WIDENED = Facts(kind="function", vectorizes=True)
_OF_FLOATS = replace(_WIDENED, gives="float")
_ROUNDED = replace(_WIDENED, exact=True, is_step=True)
_CALLED = Facts(kind="function", gives="float")
_PART = Facts(exact=True)
# functions without poles: the exponential overflows, but has none
_FINITE = frozenset((
    "exp", "exp2", "expm1", "sin", "cos", "tanh", "sinh", "cosh", "atan", "asinh", "erf", "erfc",
    "sigmoid", "softplus", "clip", "sign",
))  # fmt: skip


def _row(facts: Facts, name: str, **own: Any) -> Facts:
    is_finite = facts.is_finite or name in _FINITE
    return replace(replace(facts, name=name, is_finite=is_finite), **own)


FACTS: dict[type, Facts] = {
    s.Add: _row(_SIGNS, "add", sign="+", reduces=True),
    s.Mul: _row(_SIGNS, "multiply", sign="*", reduces=True),
    s.Sub: _row(_SIGNS, "subtract", sign="-", commutes=False),
    s.TrueDiv: _row(_SIGNS, "divide", sign="/", commutes=False, cost=DIVISION, is_finite=False,
                    gives="float"),
    s.Reciprocal: _row(_QUICK, "reciprocal", cost=DIVISION, gives="float"),
    s.Neg: _row(_QUICK, "negative", is_finite=True),
    s.Sqr: _row(_QUICK, "square", is_finite=True),
    s.Abs: _row(_QUICK, "absolute", is_finite=True),
    s.ScalarMaximum: _row(_EXTREME, "maximum", sign=">"),
    s.ScalarMinimum: _row(_EXTREME, "minimum", sign="<"),
    s.LT: _row(_COMPARISON, "less", sign="<"),
    s.GT: _row(_COMPARISON, "greater", sign=">"),
    s.LE: _row(_COMPARISON, "less_equal", sign="<="),
    s.GE: _row(_COMPARISON, "greater_equal", sign=">="),
    s.EQ: _row(_COMPARISON, "equal", sign="==", commutes=True),
    s.NEQ: _row(_COMPARISON, "not_equal", sign="!=", commutes=True),
    s.AND: _row(_LOGIC, "bitwise_and", sign="&", reduces=True),
    s.OR: _row(_LOGIC, "bitwise_or", sign="|", reduces=True),
    s.XOR: _row(_LOGIC, "bitwise_xor", sign="^"),
    s.Invert: _row(_LOGIC, "invert", commutes=False),
    s.IsNan: _row(_QUICK, "isnan", gives="bool"),
    s.IsInf: _row(_QUICK, "isinf", gives="bool"),
    s.Cast: _row(_CHOICE, "cast"),
    s.Identity: _row(_CHOICE, "identity"),
    s.Second: _row(_CHOICE, "second"),
    s.Switch: _row(_CHOICE, "where", meets="arms"),
    # a constant in kernels; rewrites weigh it as the product that it stands for: as slow, it would
    # pull gradients of elements out of loops, which then recompute what the forward loop has
    special.Vanishing: Facts("vanishing", cost=QUICK, is_finite=True),
    s.Sqrt: _row(_OF_FLOATS, "sqrt", cost=DIVISION, function="sqrt", intrinsic=True, exact=True),
    **{
        kind: _row(_ROUNDED, name, function=name, intrinsic=True)
        for kind, name in (
            (s.Floor, "floor"), (s.Ceil, "ceil"), (s.Trunc, "trunc"), (s.RoundHalfToEven, "rint"),
        )
    },
    # many of them are arithmetic in kernels, see kernels.native.functions.library
    **{
        kind: _row(_OF_FLOATS, name, function=name, intrinsic=True)
        for kind, name in (
            (s.Exp, "exp"), (s.Log, "log"), (s.Exp2, "exp2"), (s.Log2, "log2"),
            (s.Log10, "log10"), (s.Sin, "sin"), (s.Cos, "cos"),
        )
    },
    **{
        kind: _row(_OF_FLOATS, name, function=name)
        for kind, name in (
            (s.Log1p, "log1p"), (s.Tan, "tan"), (s.Sinh, "sinh"), (s.Cosh, "cosh"),
            (s.Tanh, "tanh"), (s.ArcSin, "asin"), (s.ArcCos, "acos"), (s.ArcTan, "atan"),
        )
    },
    m.Sigmoid: _row(_OF_FLOATS, "sigmoid"),
    m.Softplus: _row(_OF_FLOATS, "softplus"),
    m.Log1mexp: _row(_OF_FLOATS, "log1mexp"),
    special.Log1pUnit: _row(_OF_FLOATS, "log1p_unit"),
    s.Sign: _row(_ROUNDED, "sign"),
    s.Clip: _row(_WIDENED, "clip", exact=True),
    s.Pow: _row(_WIDENED, "power"),  # its vector form depends on the exponent
    s.IntDiv: _row(_WIDENED, "floor_divide", is_step=True),
    s.Mod: _row(_WIDENED, "remainder"),
    **{
        kind: _row(_CALLED, name, function=name)
        for kind, name in (
            (s.Expm1, "expm1"), (s.ArcSinh, "asinh"), (s.ArcCosh, "acosh"), (s.ArcTanh, "atanh"),
            (m.Erf, "erf"), (m.Erfc, "erfc"),
        )
    },
    s.ArcTan2: _row(_CALLED, "atan2"),
    s.RoundHalfAwayFromZero: _row(_ROUNDED, "round", vectorizes=False),
    m.TriGamma: _row(_CALLED, "trigamma"),
    **{
        kind: _row(_CALLED, name, scipy=(name, count))
        for kind, name, count in (
            (m.Erfcx, "erfcx", 1), (m.Erfinv, "erfinv", 1), (m.Erfcinv, "erfcinv", 1),
            (m.Gamma, "gamma", 1), (m.GammaLn, "gammaln", 1), (m.Psi, "psi", 1),
            (m.GammaInc, "gammainc", 2), (m.GammaIncC, "gammaincc", 2),
            (m.GammaIncInv, "gammaincinv", 2), (m.GammaIncCInv, "gammainccinv", 2),
            (m.BetaInc, "betainc", 3), (m.BetaIncInv, "betaincinv", 3),
            (m.I0, "i0", 1), (m.I1, "i1", 1), (m.J0, "j0", 1), (m.J1, "j1", 1),
            (m.NdtriExp, "ndtri_exp", 1), (m.Owens_t, "owens_t", 2), (m.Hyp2F1, "hyp2f1", 4),
            (m.Jv, "jv", 2), (m.Ive, "ive", 2), (m.Kve, "kve", 2),
            (special.LogNdtr, "log_ndtr", 1), (special.I0e, "i0e", 1), (special.I1e, "i1e", 1),
        )
    },
    m.PolyGamma: Facts("polygamma", gives="float"),
    s.Real: _row(_PART, "real"),
    s.Imag: _row(_PART, "imag"),
    s.Conj: _row(_PART, "conj"),
    s.Complex: _row(_PART, "complex", gives="float"),
}  # fmt: skip
STEPS = tuple(kind for kind, row in FACTS.items() if row.is_step)
REDUCTIONS = tuple(kind for kind, row in FACTS.items() if row.reduces)
_BY_NAME = {row.name: row for row in FACTS.values()}
_UNKNOWN = Facts()


def facts_of(scalar_op: Any) -> Facts:
    """Return the facts of a scalar operation; one without a row is taken to be expensive.

    Examples
    --------
    >>> import pytensor.scalar as ps
    >>> facts_of(ps.add).sign, facts_of(ps.exp).is_cheap
    ('+', False)
    """
    return FACTS.get(type(scalar_op), _UNKNOWN)


def facts_named(name: str) -> Facts | None:
    """Return the facts of a function of kernels; None for a routine that has no row.

    Examples
    --------
    >>> facts_named("gammaln").scipy, facts_named("dpotrf")
    (('gammaln', 1), None)
    """
    return _BY_NAME.get(name)
