"""Facts of scalar operations: one row for each class of PyTensor's, read by kernels and loops.

Rewrites know the meaning of the operations that they are about. What else there is to know, how
much one costs, how it is written, whether LLVM vectorizes what is around it, is here, by class: a
test fails on an operation of the op table that has no row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from pytensor.scalar import basic as s
from pytensor.scalar import math as m

from dimtensor.ops import special

Kind = Literal["arithmetic", "comparison", "logic", "extreme", "choice", "function", "other"]

QUICK, DIVISION, CALL = 1, 3, 10


@dataclass(frozen=True)
class Facts:
    """Facts of a scalar operation.

    Attributes
    ----------
    kind : str
        ``arithmetic`` and ``comparison`` of numbers, ``logic`` of bits, ``extreme`` of two numbers,
        ``choice`` of operands (casts included), ``function`` of a library, or ``other``.
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
    scipy : tuple of (str, int), optional
        The function of SciPy that it is: its name in ``scipy.special``, and of how many doubles.
    commutes : bool
        Whether the result is the same, bit for bit, where operands are exchanged; the larger of
        -0 and 0 is not.
    """

    kind: Kind = "other"
    cost: int = CALL
    vectorizes: bool = False
    sign: str = ""
    function: str = ""
    scipy: tuple[str, int] | None = None
    commutes: bool = False

    @property
    def is_quick(self) -> bool:
        """Cost of at most a multiplication."""
        return self.cost <= QUICK

    @property
    def is_cheap(self) -> bool:
        """Cost low enough to recompute instead of storing and loading."""
        return self.cost <= DIVISION


_QUICK = Facts(cost=QUICK, vectorizes=True)
_SIGNS = replace(_QUICK, kind="arithmetic", commutes=True)
_COMPARISON = replace(_QUICK, kind="comparison")
_LOGIC = replace(_QUICK, kind="logic", commutes=True)
_CHOICE = replace(_QUICK, kind="choice")
_WIDENED = Facts("function", vectorizes=True)
_CALLED = Facts("function")

FACTS: dict[type, Facts] = {
    s.Add: replace(_SIGNS, sign="+"),
    s.Mul: replace(_SIGNS, sign="*"),
    s.Sub: replace(_SIGNS, sign="-", commutes=False),
    s.TrueDiv: replace(_SIGNS, sign="/", commutes=False, cost=DIVISION),
    s.Reciprocal: replace(_QUICK, cost=DIVISION),
    s.Neg: _QUICK,
    s.Sqr: _QUICK,
    s.Abs: _QUICK,
    s.ScalarMaximum: replace(_QUICK, kind="extreme", sign=">"),
    s.ScalarMinimum: replace(_QUICK, kind="extreme", sign="<"),
    s.LT: replace(_COMPARISON, sign="<"),
    s.GT: replace(_COMPARISON, sign=">"),
    s.LE: replace(_COMPARISON, sign="<="),
    s.GE: replace(_COMPARISON, sign=">="),
    s.EQ: replace(_COMPARISON, sign="==", commutes=True),
    s.NEQ: replace(_COMPARISON, sign="!=", commutes=True),
    s.AND: replace(_LOGIC, sign="&"),
    s.OR: replace(_LOGIC, sign="|"),
    s.XOR: replace(_LOGIC, sign="^"),
    s.Invert: replace(_LOGIC, commutes=False),
    s.IsNan: _QUICK,
    s.IsInf: _QUICK,
    s.Cast: _CHOICE,
    s.Identity: _CHOICE,
    s.Second: _CHOICE,
    s.Switch: _CHOICE,
    s.Sqrt: Facts("function", DIVISION, True, function="sqrt"),
    # many of them are arithmetic in kernels, see kernels.native.functions.library
    **{
        kind: replace(_WIDENED, function=name)
        for kind, name in (
            (s.Exp, "exp"), (s.Log, "log"), (s.Log1p, "log1p"), (s.Exp2, "exp2"),
            (s.Log2, "log2"), (s.Log10, "log10"), (s.Sin, "sin"), (s.Cos, "cos"), (s.Tan, "tan"),
            (s.Sinh, "sinh"), (s.Cosh, "cosh"), (s.Tanh, "tanh"), (s.ArcSin, "asin"),
            (s.ArcCos, "acos"), (s.ArcTan, "atan"), (s.Floor, "floor"), (s.Ceil, "ceil"),
            (s.Trunc, "trunc"), (s.RoundHalfToEven, "rint"),
        )
    },
    **dict.fromkeys((m.Sigmoid, m.Softplus, m.Log1mexp, special.Log1pUnit), _WIDENED),
    **dict.fromkeys((s.Sign, s.Clip, s.Pow, s.IntDiv, s.Mod), _WIDENED),
    **{
        kind: replace(_CALLED, function=name)
        for kind, name in (
            (s.Expm1, "expm1"), (s.ArcSinh, "asinh"), (s.ArcCosh, "acosh"), (s.ArcTanh, "atanh"),
            (m.Erf, "erf"), (m.Erfc, "erfc"),
        )
    },
    **dict.fromkeys((s.ArcTan2, s.RoundHalfAwayFromZero, m.TriGamma), _CALLED),
    **{
        kind: replace(_CALLED, scipy=(name, count))
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
    **dict.fromkeys((m.PolyGamma, s.Real, s.Imag, s.Conj, s.Complex), Facts()),
}  # fmt: skip
_UNKNOWN = Facts()


def facts_of(scalar_op: Any) -> Facts:
    """Facts of a scalar operation; one without a row is taken to be expensive.

    Examples
    --------
    >>> import pytensor.scalar as ps
    >>> facts_of(ps.add).sign, facts_of(ps.exp).is_cheap
    ('+', False)
    """
    return FACTS.get(type(scalar_op), _UNKNOWN)
