"""Rows of the op table: arithmetic, rounding, elementary functions, comparison, logic, complex."""

from __future__ import annotations

from dimtensor.graph.optable.row import OpRow, elementwise, unary

_POSITIVE = (0.2, 3.0)
_INSIDE = (-0.9, 0.9)
_ANY = (-3.0, 3.0)

_ARITHMETIC = [
    elementwise(
        "add", "x y", "upcast", "Sum.",
        operator="+", grad=(0, 1), commutative=True, linear=((0, 1),), complex=True,
    ),
    elementwise(
        "subtract", "x y", "number", "Difference.",
        operator="-", lowers_to="sub", grad=(0, 1), linear=((0, 1),), complex=True,
    ),
    elementwise(
        "multiply", "x y", "upcast", "Product.", operator="*",
        lowers_to="mul", grad=(0, 1), commutative=True, linear=((0,), (1,)), complex=True,
    ),
    elementwise(
        "divide", "x y", "float", "Quotient.", operator="/",
        lowers_to="true_div", domain=(_INSIDE, _POSITIVE), grad=(0, 1),
        linear=((0,),), complex=True,
    ),
    elementwise(
        "floor_divide", "x y", "number", "Quotient rounded down.", operator="//",
        lowers_to="int_div", domain=(_ANY, _POSITIVE), grad=(0, 1),
        note="The gradient is zero. An integer divided by zero gives zero, as in NumPy.",
    ),
    elementwise(
        "mod", "x y", "number", "Remainder with the sign of the divisor.", operator="%",
        domain=(_ANY, _POSITIVE), grad=(0, 1), ufuncs="remainder",
        note="An integer modulo zero is zero, as in NumPy.",
    ),
    elementwise(
        "power", "x y", "number", "First operand to the power of the second.", operator="**",
        lowers_to="pow", domain=(_POSITIVE, (-2.0, 2.0)), grad=(0, 1), complex=True,
        note="Negative powers of integers are an error, as in NumPy; make the base a float.",
    ),
    unary(
        "negative", "number", "Minus.", operator="-", lowers_to="neg", linear=((0,),), complex=True,
    ),
    unary(
        "abs", "real", "Absolute value.",
        numpy="absolute", complex=True, note="The gradient at 0 is 0.",
    ),
    unary(
        "sign", "number", "Sign: -1, 0 or 1.", complex=True, note="The gradient is zero.",
    ),
    unary(
        "reciprocal", "float", "One divided by the operand.", domain=_POSITIVE, complex=True,
        note="Of an integer it is a float; NumPy rounds it to an integer.",
    ),
    unary("square", "number", "Square.", lowers_to="sqr", complex=True),
    unary("sqrt", "float", "Square root.", domain=_POSITIVE, complex=True),
    elementwise(
        "maximum", "x y", "upcast", "Larger of two.", grad=(0, 1),
        note="NaN if one of them is. Of two equal operands one gets the whole gradient.",
    ),
    elementwise(
        "minimum", "x y", "upcast", "Smaller of two.", grad=(0, 1),
        note="NaN if one of them is. Of two equal operands one gets the whole gradient.",
    ),
    elementwise(
        "clip", "x min max", "upcast", "Limit to an interval: min(max(x, min), max).",
        domain=(_ANY, (-1.0, -0.5), (0.5, 1.0)), grad=(0, 1, 2),
    ),
]  # fmt: skip

_NUMPYS = [
    elementwise(
        "hypot", "x y", "float", "Root of the sum of squares, without overflow.", grad=(0, 1),
        note="The gradient at zeros is 0.",
    ),
    unary("cbrt", "float", "Cube root."),
    unary("signbit", "bool", "Test for the sign bit, which zeros have, too.", grad=False,
          note="Of NaN it is false."),
    elementwise(
        "copysign", "x y", "float", "Copy the sign of the second operand to the first.",
        domain=(_ANY, _ANY), grad=(0, 1), note="Of NaN the sign is that of plus.",
    ),
    elementwise(
        "fmax", "x y", "upcast", "Larger of two, or the one that is not NaN.", grad=(0, 1),
        note="Of two equal operands the first gets the whole gradient.",
    ),
    elementwise(
        "fmin", "x y", "upcast", "Smaller of two, or the one that is not NaN.", grad=(0, 1),
        note="Of two equal operands the first gets the whole gradient.",
    ),
    elementwise(
        "fmod", "x y", "number", "Remainder with the sign of the dividend.",
        domain=(_ANY, _POSITIVE), grad=(0, 1), note="An integer modulo zero is zero, as in NumPy.",
    ),
    elementwise(
        "heaviside", "x y", "float", "0 where the first is negative, 1 where it is positive, and "
        "else the second.", grad=(0, 1),
    ),
    elementwise(
        "logaddexp2", "x y", "float", "Logarithm to base 2 of 2**x + 2**y, without overflow.",
        grad=(0, 1),
    ),
    elementwise(
        "ldexp", "x y", "float", "Multiply the first operand by two to the power of the second.",
        numpy="", oracle="lambda x, y: x * np.exp2(y)", grad=(0, 1),
        note="The power need not be an integer.",
    ),
    elementwise(
        "left_shift", "x y", "integer", "Bits moved towards the higher ones.",
        domain=((0.0, 9.0), (0.0, 6.0)),
    ),
    elementwise(
        "right_shift", "x y", "integer", "Bits moved towards the lower ones; the sign is kept.",
        domain=(_ANY, (0.0, 6.0)),
    ),
]  # fmt: skip

_ROUNDING = [
    unary("ceil", "same", "Smallest integer not below.", note="The gradient is zero."),
    unary("floor", "same", "Largest integer not above.", note="The gradient is zero."),
    unary("trunc", "same", "Integer part.", note="The gradient is zero."),
    unary(
        "round", "same", "Nearest integer, halves to the even one.",
        lowers_to="round_half_to_even", ufuncs="rint", note="The gradient is zero.",
    ),
    unary(
        "round_half_away_from_zero", "same", "Nearest integer, halves away from zero.",
        numpy="", oracle="lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x)",
        note="The gradient is zero.",
    ),
]  # fmt: skip

_EXPONENTIAL = [
    unary("exp", "float", "Exponential.", complex=True),
    unary("exp2", "float", "Two to the power.", complex=True),
    unary("expm1", "float", "exp(x) - 1, precise near 0.", complex=True),
    unary("log", "float", "Natural logarithm.", domain=_POSITIVE, complex=True),
    unary("log2", "float", "Logarithm to base 2.", domain=_POSITIVE, complex=True),
    unary("log10", "float", "Logarithm to base 10.", domain=_POSITIVE, complex=True),
    unary("log1p", "float", "log(1 + x), precise near 0.", domain=_POSITIVE, complex=True),
    elementwise(
        "logaddexp", "x y", "float", "log(exp(x) + exp(y)) without overflow.",
        grad=(0, 1),
    ),
]  # fmt: skip

_TRIGONOMETRY = [
    unary("sin", "float", "Sine of an angle in radians.", complex=True),
    unary("cos", "float", "Cosine of an angle in radians.", complex=True),
    unary("tan", "float", "Tangent of an angle in radians.", domain=(-1.2, 1.2), complex=True),
    unary(
        "arcsin", "float", "Inverse sine, in radians.",
        domain=_INSIDE, complex=True,
    ),
    unary(
        "arccos", "float", "Inverse cosine, in radians.",
        domain=_INSIDE, complex=True,
    ),
    unary("arctan", "float", "Inverse tangent, in radians.", complex=True),
    elementwise(
        "arctan2", "y x", "float", "Angle of the point with coordinates x and y, in radians.",
        domain=(_POSITIVE, _POSITIVE), grad=(0, 1),
    ),
    unary("sinh", "float", "Hyperbolic sine.", complex=True),
    unary("cosh", "float", "Hyperbolic cosine.", complex=True),
    unary("tanh", "float", "Hyperbolic tangent.", complex=True),
    unary("arcsinh", "float", "Inverse hyperbolic sine.", complex=True),
    unary(
        "arccosh", "float", "Inverse hyperbolic cosine.",
        domain=(1.1, 3.0), complex=True,
    ),
    unary(
        "arctanh", "float", "Inverse hyperbolic tangent.",
        domain=_INSIDE, complex=True,
    ),
    unary("deg2rad", "float", "Degrees to radians.", domain=(-180.0, 180.0), ufuncs="radians"),
    unary("rad2deg", "float", "Radians to degrees.", ufuncs="degrees"),
]  # fmt: skip

_COMPARISON = [
    elementwise(
        "equal", "x y", "bool", "Test for equality.",
        operator="==", lowers_to="eq", commutative=True, complex=True,
    ),
    elementwise(
        "not_equal", "x y", "bool", "Test for inequality.", operator="!=",
        lowers_to="neq", commutative=True, complex=True,
    ),
    elementwise(
        "less", "x y", "bool", "Test whether the first operand is smaller.",
        operator="<", lowers_to="lt",
    ),
    elementwise(
        "less_equal", "x y", "bool", "Test whether the first operand is smaller or equal.",
        operator="<=", lowers_to="le",
    ),
    elementwise(
        "greater", "x y", "bool", "Test whether the first operand is larger.",
        operator=">", lowers_to="gt",
    ),
    elementwise(
        "greater_equal", "x y", "bool", "Test whether the first operand is larger or equal.",
        operator=">=", lowers_to="ge",
    ),
    elementwise(
        "isclose", "x y rtol=1e-05 atol=1e-08", "bool",
        "Test for abs(x - y) <= atol + rtol * abs(y), or for the same infinity.",
        domain=((-3.0, 3.0), (-3.0, 3.0), (0.1, 0.5), (0.1, 0.5)),
    ),
    unary("isnan", "bool", "Test for NaN.", grad=False, complex=True),
    unary("isinf", "bool", "Test for infinity, positive or negative.", grad=False, complex=True),
    unary("isposinf", "bool", "Test for positive infinity.", grad=False),
    unary("isneginf", "bool", "Test for negative infinity.", grad=False),
    unary(
        "isfinite", "bool", "Test for finite numbers, which NaN are not.", grad=False, complex=True
    ),
]  # fmt: skip

_LOGIC = [
    elementwise(
        "logical_and", "x y", "logical", "Test whether both operands are true.", operator="&",
        lowers_to="and_", commutative=True, complex=True,
    ),
    elementwise(
        "logical_or", "x y", "logical", "Test whether an operand is true.", operator="|",
        lowers_to="or_", commutative=True, complex=True,
    ),
    elementwise(
        "logical_xor", "x y", "logical", "Test whether exactly one operand is true.", operator="^",
        lowers_to="xor", commutative=True, complex=True,
    ),
    unary(
        "logical_not", "logical", "Negate a condition.",
        operator="~", lowers_to="invert", grad=False, complex=True,
    ),
    elementwise(
        "bitwise_and", "x y", "integer", "Bits set in both.",
        operator="&", lowers_to="and_", commutative=True,
    ),
    elementwise(
        "bitwise_or", "x y", "integer", "Bits set in one.",
        operator="|", lowers_to="or_", commutative=True,
    ),
    elementwise(
        "bitwise_xor", "x y", "integer", "Bits set in exactly one.", operator="^",
        lowers_to="xor", commutative=True,
    ),
    unary(
        "invert", "integer", "Bits flipped; of a bool, its negation.", operator="~",
        grad=False,
    ),
    elementwise(
        "where", "cond x y", "select",
        "Select the second operand where the first is true, and the third elsewhere.",
        lowers_to="switch", domain=((0.0, 1.0), _ANY, _ANY), grad=(0, 1, 2), linear=((1, 2),),
        complex=True,
        note="The gradient with respect to the condition is zero.",
    ),
]  # fmt: skip

_COMPLEX = [
    unary("real", "real", "Real part.", linear=((0,),), complex=True, namespace=""),
    unary("imag", "real", "Imaginary part.", linear=((0,),), complex=True, namespace=""),
    unary(
        "conj", "same", "Complex conjugate.",
        linear=((0,),), complex=True, ufuncs="conjugate",
        note="Of a bool it is a bool; of NumPy's an int8.",
    ),
    unary(
        "angle", "realfloat", "Angle of a complex number, in radians.", complex=True,
        note="Of a real number it is 0 or pi, and the gradient is zero.",
    ),
    elementwise(
        "complex", "real imag", "complex", "Complex number of two parts.",
        numpy="",
        oracle="lambda x, y: np.vectorize(complex, [np.result_type(x, y, 'complex64')])(x, y)",
        linear=((0, 1),),
    ),
    elementwise(
        "complex_from_polar", "abs angle", "complex",
        "Complex number of its absolute value and its angle in radians.",
        numpy="", oracle="lambda r, a: r * np.exp(1j * a)", domain=(_POSITIVE, _ANY),
    ),
]  # fmt: skip

_GRADIENTS = [
    unary(
        "stop_gradient", "same", "Return the operand, with a gradient of zero.",
        numpy="", oracle="lambda x: x", lowers_to="disconnected_grad", complex=True,
        linear=((0,),), stops_gradient=True,
        note="Also as zero in second derivatives.",
    ),
]  # fmt: skip

BASIC: list[OpRow] = [
    *_ARITHMETIC,
    *_NUMPYS,
    *_ROUNDING,
    *_EXPONENTIAL,
    *_TRIGONOMETRY,
    *_COMPARISON,
    *_LOGIC,
    *_COMPLEX,
    *_GRADIENTS,
]
