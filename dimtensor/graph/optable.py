"""The op table: one row per elementwise or reduction op.

The public functions, the dtype inference, the lowering, the docs table and the tests are derived
from these rows; a completeness test compares them with what PyTensor has.
"""

from __future__ import annotations

from dataclasses import dataclass

Domain = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class OpRow:
    """One op.

    Parameters
    ----------
    name : str
        Name in dimtensor.
    kind : {"elemwise", "reduce", "cumulate"}
    arity : int
        Number of operands.
    dtype : str
        Rule by which the dtype of the result follows from the operands: ``float`` (integers become
        float64), ``upcast`` (NumPy's promotion), ``same``, ``bool``, ``integer`` (integers and
        bools only), ``number`` (as upcast, without bools), ``select`` (upcast of all operands but
        the first), ``real`` (complex becomes float), ``complex``, ``accumulate`` (small integers
        widen to 64 bits).
    lowers_to : str
        Name in ``pytensor.tensor`` (or, with a leading ``ps.``, in ``pytensor.scalar``).
    doc : str
        One line.
    numpy : str
        NumPy's counterpart, as ``np`` name; empty where there is none.
    oracle : str
        Expression of outside libraries (``np``, ``sp`` = scipy.special) that computes it.
    params : str
        Names of the operands.
    domain : tuple of (low, high)
        Range of each operand in which values are tested; one entry holds for all operands.
    differentiable : tuple of int
        Operands with a gradient.
    commutative : bool
    skips : str
        Backends that lack the op, separated by blanks.
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
    skips: str = ""


def _unary(
    name: str,
    dtype: str,
    doc: str,
    *,
    lowers_to: str = "",
    numpy: str | None = None,
    oracle: str = "",
    domain: tuple[float, float] = (-3.0, 3.0),
    grad: bool = True,
    skips: str = "",
) -> OpRow:
    numpy = name if numpy is None else numpy
    return OpRow(
        name,
        "elemwise",
        1,
        dtype,
        lowers_to or name,
        doc,
        numpy,
        oracle or (f"np.{numpy}" if numpy else f"sp.{name}"),
        "x",
        (domain,),
        (0,) if grad else (),
        skips=skips,
    )


def _nary(
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
    commutative: bool = False,
    skips: str = "",
) -> OpRow:
    numpy = name if numpy is None else numpy
    return OpRow(
        name,
        "elemwise",
        len(params.split()),
        dtype,
        lowers_to or name,
        doc,
        numpy,
        oracle or (f"np.{numpy}" if numpy else f"sp.{name}"),
        params,
        domain,
        grad,
        commutative,
        skips,
    )


_P = (0.2, 3.0)
_UNIT = (0.05, 0.95)
_PM1 = (-0.9, 0.9)

_ROWS = [
    # arithmetic
    _nary("add", "x y", "upcast", "Sum.", grad=(0, 1), commutative=True),
    _nary("subtract", "x y", "number", "Difference.", lowers_to="sub", grad=(0, 1)),
    _nary("multiply", "x y", "upcast", "Product.", lowers_to="mul", grad=(0, 1), commutative=True),
    _nary(
        "divide", "x y", "float", "Quotient.", lowers_to="true_div", domain=(_PM1, _P), grad=(0, 1)
    ),
    _nary(
        "floor_divide",
        "x y",
        "number",
        "Quotient rounded down.",
        lowers_to="int_div",
        domain=((-3.0, 3.0), _P),
    ),
    _nary(
        "mod",
        "x y",
        "number",
        "Remainder with the sign of the divisor.",
        domain=((-3.0, 3.0), _P),
        grad=(0,),
    ),
    _nary(
        "power",
        "x y",
        "number",
        "First operand to the power of the second.",
        lowers_to="pow",
        domain=(_P, (-2.0, 2.0)),
        grad=(0, 1),
    ),
    _unary("negative", "number", "Minus.", lowers_to="neg"),
    _unary("abs", "real", "Absolute value.", numpy="absolute"),
    _unary("sign", "same", "Sign: -1, 0 or 1."),
    _unary("reciprocal", "float", "One divided by the operand.", domain=_P),
    _unary("square", "number", "Square.", lowers_to="sqr"),
    _unary("sqrt", "float", "Square root.", domain=_P),
    _nary("maximum", "x y", "upcast", "Larger of two.", grad=(0, 1), commutative=True),
    _nary("minimum", "x y", "upcast", "Smaller of two.", grad=(0, 1), commutative=True),
    _nary(
        "clip",
        "x min max",
        "upcast",
        "Limit to an interval.",
        domain=((-3.0, 3.0), (-1.0, -0.5), (0.5, 1.0)),
        grad=(0, 1, 2),
    ),
    # rounding
    _unary("ceil", "same", "Smallest integer not below."),
    _unary("floor", "same", "Largest integer not above."),
    _unary("trunc", "same", "Integer part."),
    _unary(
        "round",
        "same",
        "Nearest integer, halves to the even one.",
        numpy="rint",
        lowers_to="round_half_to_even",
    ),
    _unary(
        "round_half_away_from_zero",
        "float",
        "Nearest integer, halves away from zero.",
        numpy="",
        oracle="lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5)",
        grad=False,
    ),
    # exponentials and logarithms
    _unary("exp", "float", "Exponential."),
    _unary("exp2", "float", "Two to the power."),
    _unary("expm1", "float", "exp(x) - 1, precise near 0."),
    _unary("log", "float", "Natural logarithm.", domain=_P),
    _unary("log2", "float", "Logarithm to base 2.", domain=_P),
    _unary("log10", "float", "Logarithm to base 10.", domain=_P),
    _unary("log1p", "float", "log(1 + x), precise near 0.", domain=_P),
    _unary(
        "log1mexp",
        "float",
        "log(1 - exp(x)) of a negative operand, precise at both ends.",
        numpy="",
        oracle="lambda x: np.log1p(-np.exp(x))",
        domain=(-3.0, -0.2),
    ),
    _unary(
        "softplus",
        "float",
        "log(1 + exp(x)) without overflow.",
        numpy="",
        oracle="lambda x: np.logaddexp(0, x)",
    ),
    _unary("sigmoid", "float", "Logistic function 1 / (1 + exp(-x)).", numpy="", oracle="sp.expit"),
    _nary(
        "logaddexp",
        "x y",
        "float",
        "log(exp(x) + exp(y)) without overflow.",
        lowers_to="logaddexp",
        grad=(0, 1),
        commutative=True,
    ),
    # trigonometry
    _unary("sin", "float", "Sine of an angle in radians."),
    _unary("cos", "float", "Cosine of an angle in radians."),
    _unary("tan", "float", "Tangent of an angle in radians.", domain=(-1.2, 1.2)),
    _unary("arcsin", "float", "Inverse sine, in radians.", domain=_PM1),
    _unary("arccos", "float", "Inverse cosine, in radians.", domain=_PM1),
    _unary("arctan", "float", "Inverse tangent, in radians."),
    _nary(
        "arctan2",
        "x y",
        "float",
        "Angle of the point (y, x), in radians.",
        domain=(_P, _P),
        grad=(0, 1),
    ),
    _unary("sinh", "float", "Hyperbolic sine."),
    _unary("cosh", "float", "Hyperbolic cosine."),
    _unary("tanh", "float", "Hyperbolic tangent."),
    _unary("arcsinh", "float", "Inverse hyperbolic sine."),
    _unary("arccosh", "float", "Inverse hyperbolic cosine.", domain=(1.1, 3.0)),
    _unary("arctanh", "float", "Inverse hyperbolic tangent.", domain=_PM1),
    _unary("deg2rad", "float", "Degrees to radians.", domain=(-180.0, 180.0)),
    _unary("rad2deg", "float", "Radians to degrees."),
    # comparison and logic
    _nary("equal", "x y", "bool", "Whether equal.", lowers_to="eq", commutative=True),
    _nary("not_equal", "x y", "bool", "Whether different.", lowers_to="neq", commutative=True),
    _nary("less", "x y", "bool", "Whether the first is smaller.", lowers_to="lt"),
    _nary("less_equal", "x y", "bool", "Whether the first is not larger.", lowers_to="le"),
    _nary("greater", "x y", "bool", "Whether the first is larger.", lowers_to="gt"),
    _nary("greater_equal", "x y", "bool", "Whether the first is not smaller.", lowers_to="ge"),
    _unary("isnan", "bool", "Whether not a number.", grad=False),
    _unary("isinf", "bool", "Whether infinite.", grad=False),
    _unary("isfinite", "bool", "Whether neither infinite nor not a number.", grad=False),
    _nary(
        "logical_and",
        "x y",
        "logical",
        "Whether both are true.",
        lowers_to="and_",
        commutative=True,
    ),
    _nary(
        "logical_or", "x y", "logical", "Whether one is true.", lowers_to="or_", commutative=True
    ),
    _nary(
        "logical_xor",
        "x y",
        "logical",
        "Whether exactly one is true.",
        lowers_to="xor",
        commutative=True,
    ),
    _unary("logical_not", "logical", "Whether false.", lowers_to="invert", grad=False),
    _nary("bitwise_and", "x y", "integer", "Bits set in both.", lowers_to="and_", commutative=True),
    _nary("bitwise_or", "x y", "integer", "Bits set in one.", lowers_to="or_", commutative=True),
    _nary(
        "bitwise_xor",
        "x y",
        "integer",
        "Bits set in exactly one.",
        lowers_to="xor",
        commutative=True,
    ),
    _unary("invert", "integer", "Bits flipped; of a bool, its negation.", grad=False),
    _nary(
        "where",
        "cond x y",
        "select",
        "The second operand where the first is true, else the third.",
        lowers_to="switch",
        domain=((0.0, 1.0), (-3.0, 3.0), (-3.0, 3.0)),
        grad=(1, 2),
    ),
    # error functions
    _unary("erf", "float", "Error function.", numpy=""),
    _unary("erfc", "float", "Complementary error function.", numpy=""),
    _unary(
        "erfcx",
        "float",
        "Scaled complementary error function exp(x^2) erfc(x).",
        numpy="",
        domain=(-1.0, 3.0),
    ),
    _unary("erfinv", "float", "Inverse error function.", numpy="", domain=_PM1),
    _unary(
        "erfcinv", "float", "Inverse complementary error function.", numpy="", domain=(0.1, 1.9)
    ),
    _unary("ndtri_exp", "float", "Normal quantile of exp(x).", numpy="", domain=(-3.0, -0.2)),
    _nary("owens_t", "h a", "float", "Owen's T function.", numpy="", grad=(0, 1)),
    # gamma and beta functions
    _unary("gamma", "float", "Gamma function.", numpy="", domain=_P),
    _unary(
        "gammaln",
        "float",
        "Logarithm of the absolute value of the gamma function.",
        numpy="",
        domain=_P,
    ),
    _unary("psi", "float", "Digamma function.", numpy="", domain=_P),
    _unary(
        "tri_gamma",
        "float",
        "Trigamma function.",
        numpy="",
        oracle="lambda x: sp.polygamma(1, x)",
        domain=_P,
    ),
    _nary(
        "polygamma",
        "n x",
        "float",
        "Derivative of order n of the digamma function.",
        numpy="",
        domain=((1.0, 3.0), _P),
        grad=(1,),
    ),
    _nary(
        "gammainc",
        "k x",
        "float",
        "Regularised lower incomplete gamma function.",
        numpy="",
        domain=(_P, _P),
        grad=(0, 1),
    ),
    _nary(
        "gammaincc",
        "k x",
        "float",
        "Regularised upper incomplete gamma function.",
        numpy="",
        domain=(_P, _P),
        grad=(0, 1),
    ),
    _nary(
        "gammaincinv",
        "k p",
        "float",
        "Inverse of gammainc in x.",
        numpy="",
        domain=(_P, _UNIT),
        grad=(0, 1),
    ),
    _nary(
        "gammainccinv",
        "k p",
        "float",
        "Inverse of gammaincc in x.",
        numpy="",
        domain=(_P, _UNIT),
        grad=(0, 1),
    ),
    _nary(
        "betainc",
        "a b x",
        "float",
        "Regularised incomplete beta function.",
        numpy="",
        domain=(_P, _P, _UNIT),
        grad=(0, 1, 2),
    ),
    _nary(
        "betaincinv",
        "a b p",
        "float",
        "Inverse of betainc in x.",
        numpy="",
        domain=(_P, _P, _UNIT),
        grad=(0, 1, 2),
    ),
    # Bessel and hypergeometric functions
    _unary("j0", "float", "Bessel function of the first kind, order 0.", numpy=""),
    _unary("j1", "float", "Bessel function of the first kind, order 1.", numpy=""),
    _nary(
        "jv",
        "v x",
        "float",
        "Bessel function of the first kind, order v.",
        numpy="",
        domain=((0.5, 2.0), _P),
        grad=(1,),
    ),
    _unary(
        "i0",
        "float",
        "Modified Bessel function of the first kind, order 0.",
        numpy="",
        oracle="sp.i0",
    ),
    _unary("i1", "float", "Modified Bessel function of the first kind, order 1.", numpy=""),
    _nary(
        "ive",
        "v x",
        "float",
        "Scaled modified Bessel function of the first kind.",
        numpy="",
        domain=((0.5, 2.0), _P),
        grad=(1,),
    ),
    _nary(
        "kve",
        "v x",
        "float",
        "Scaled modified Bessel function of the second kind.",
        numpy="",
        domain=((0.5, 2.0), _P),
        grad=(1,),
    ),
    _nary(
        "hyp2f1",
        "a b c z",
        "float",
        "Gauss hypergeometric function 2F1.",
        numpy="",
        domain=(_P, _P, _P, (-0.5, 0.5)),
        grad=(0, 1, 2, 3),
    ),
    # complex numbers
    _unary("real", "real", "Real part.", grad=False),
    _unary("imag", "real", "Imaginary part.", grad=False),
    _unary("conj", "same", "Complex conjugate.", grad=False, lowers_to="conj"),
    _unary("angle", "realfloat", "Angle of a complex number, in radians.", grad=False),
    _nary(
        "complex",
        "real imag",
        "complex",
        "Complex number of two parts.",
        numpy="",
        oracle="lambda x, y: x + 1j * y",
    ),
    # gradients
    _unary(
        "stop_gradient",
        "same",
        "The operand, whose gradient counts as zero.",
        numpy="",
        oracle="lambda x: x",
        lowers_to="disconnected_grad",
        grad=False,
    ),
]


def _reduction(
    name: str,
    dtype: str,
    doc: str,
    lowers_to: str = "",
    kind: str = "reduce",
    grad: bool = True,
    domain: tuple[float, float] = (-3.0, 3.0),
) -> OpRow:
    return OpRow(
        name,
        kind,
        1,
        dtype,
        lowers_to or name,
        doc,
        name,
        f"np.{name}",
        "x",
        (domain,),
        (0,) if grad else (),
    )


_ROWS += [
    _reduction("sum", "accumulate", "Sum over dims."),
    _reduction("prod", "accumulate", "Product over dims."),
    _reduction("max", "same", "Largest element over dims."),
    _reduction("min", "same", "Smallest element over dims."),
    _reduction("all", "bool", "Whether all elements over dims are true.", grad=False),
    _reduction("any", "bool", "Whether one element over dims is true.", grad=False),
    _reduction("cumsum", "accumulate", "Running sum along a dim.", kind="cumulate"),
    _reduction("cumprod", "accumulate", "Running product along a dim.", kind="cumulate"),
]

# over budget: a table reads best in one piece
TABLE: dict[str, OpRow] = {row.name: row for row in _ROWS}


def rows(kind: str | None = None) -> list[OpRow]:
    """The rows of one kind, or all."""
    return [row for row in TABLE.values() if kind is None or row.kind == kind]
