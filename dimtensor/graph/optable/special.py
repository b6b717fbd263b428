"""Rows of the op table: error, gamma, beta, Bessel and hypergeometric functions."""

from __future__ import annotations

from dimtensor.graph.optable.row import OpRow, elementwise, special

_POSITIVE = (0.2, 3.0)
_UNIT = (0.05, 0.95)
_NEGATIVE = (-3.0, -0.2)

_LOGISTIC = [
    special(
        "sigmoid", "x", "Logistic function 1 / (1 + exp(-x)).", oracle="sp.expit", ufuncs="expit",
        namespace="dt",
    ),
    special(
        "log_sigmoid", "x", "Logarithm of sigmoid, -softplus(-x), precise for very negative x.",
        oracle="sp.log_expit", ufuncs="log_expit", namespace="dt",
    ),
    special(
        "logit", "x", "Logarithm of the odds x / (1 - x), the inverse of sigmoid.",
        domain=(_UNIT,), namespace="dt",
    ),
    special(
        "softplus", "x", "log(1 + exp(x)) without overflow.",
        oracle="lambda x: np.logaddexp(0, x)", namespace="dt",
    ),
    special(
        "log1mexp", "x", "log(1 - exp(x)) of a negative operand, precise at both ends.",
        oracle="lambda x: np.log(-np.expm1(x))", domain=(_NEGATIVE,),
        namespace="dt",
    ),
    special(
        "xlogy", "x y", "Product x * log(y), and 0 where x is 0.",
        note="Where x is 0 it is 0 even if y is NaN.", domain=(_POSITIVE,),
    ),
    special(
        "xlog1py", "x y", "Product x * log(1 + y), and 0 where x is 0.",
        note="Where x is 0 it is 0 even if y is NaN.", domain=(_POSITIVE,),
    ),
]  # fmt: skip

_ERROR = [
    special("erf", "x", "Error function."),
    special("erfc", "x", "Complementary error function."),
    special(
        "erfcx", "x", "Scaled complementary error function exp(x^2) erfc(x).",
        domain=((-1.0, 3.0),),
    ),
    special("erfinv", "x", "Inverse error function.", domain=((-0.9, 0.9),)),
    special("erfcinv", "x", "Inverse complementary error function.", domain=((0.1, 1.9),)),
    special("ndtr", "x", "Cumulative distribution function of the standard normal."),
    special(
        "log_ndtr", "x", "Logarithm of ndtr, precise for very negative and very large x.",
    ),
    special("ndtri", "p", "Quantile of the normal distribution.", domain=(_UNIT,)),
    special(
        "ndtri_exp", "x",
        "Quantile of the normal distribution at exp(x), precise for very negative x.",
        domain=(_NEGATIVE,),
    ),
    special("owens_t", "h a", "Owen's T function."),
]  # fmt: skip

_GAMMA = [
    special("gamma", "x", "Gamma function.", domain=(_POSITIVE,)),
    special(
        "gammaln", "x", "Logarithm of the absolute value of the gamma function.",
        domain=(_POSITIVE,),
    ),
    special(
        "digamma", "x", "Digamma function: the derivative of gammaln.",
        domain=(_POSITIVE,), lowers_to="psi", ufuncs="psi",
    ),
    special(
        "trigamma", "x", "Trigamma function: the second derivative of gammaln.",
        oracle="lambda x: sp.polygamma(1, x)", domain=(_POSITIVE,),
        lowers_to="tri_gamma",
    ),
    elementwise(
        "polygamma", "n x", "order",
        "Polygamma function: the derivative of integer order n of digamma.",
        numpy="", domain=((1.0, 3.0), _POSITIVE), grad=(1,), namespace="dt.special",
    ),
    special(
        "factorial", "n", "Factorial, gamma(n + 1) of any operand.",
        oracle="lambda n: sp.gamma(n + 1)", domain=(_POSITIVE,),
        note="It does not vanish at negative operands, where SciPy's does.",
    ),
    special(
        "poch", "z m", "Rising factorial gamma(z + m) / gamma(z) of positive operands.",
        domain=(_POSITIVE, _POSITIVE),
    ),
    special("beta", "a b", "Beta function of positive operands.", domain=(_POSITIVE,)),
    special(
        "betaln", "a b", "Logarithm of the beta function of positive operands.",
        domain=(_POSITIVE,),
    ),
    special(
        "gammainc", "k x", "Regularized lower incomplete gamma function.", domain=(_POSITIVE,)
    ),
    special(
        "gammaincc", "k x", "Regularized upper incomplete gamma function.", domain=(_POSITIVE,)
    ),
    special(
        "gammal", "k x", "Lower incomplete gamma function, not regularized.",
        oracle="lambda k, x: sp.gammainc(k, x) * sp.gamma(k)", domain=(_POSITIVE,),
    ),
    special(
        "gammau", "k x", "Upper incomplete gamma function, not regularized.",
        oracle="lambda k, x: sp.gammaincc(k, x) * sp.gamma(k)", domain=(_POSITIVE,),
    ),
    special(
        "gammaincinv", "k p", "Inverse of gammainc in x.", domain=(_POSITIVE, _UNIT)
    ),
    special(
        "gammainccinv", "k p", "Inverse of gammaincc in x.", domain=(_POSITIVE, _UNIT)
    ),
    special(
        "betainc", "a b x", "Regularized incomplete beta function.",
        domain=(_POSITIVE, _POSITIVE, _UNIT),
    ),
    special(
        "betaincinv", "a b p", "Inverse of betainc in x.",
        domain=(_POSITIVE, _POSITIVE, _UNIT),
    ),
]  # fmt: skip

_ORDER = (0.5, 2.0)

_BESSEL = [
    special("j0", "x", "Bessel function of the first kind, order 0."),
    special("j1", "x", "Bessel function of the first kind, order 1."),
    special(
        "jv", "v x", "Bessel function of the first kind, order v.",
        domain=(_ORDER, _POSITIVE), grad=(1,),
    ),
    special("i0", "x", "Bessel function I of order 0, modified, of the first kind."),
    special("i1", "x", "Bessel function I of order 1, modified, of the first kind."),
    special("i0e", "x", "i0(x) * exp(-abs(x)), which does not overflow."),
    special("i1e", "x", "i1(x) * exp(-abs(x)), which does not overflow."),
    special(
        "iv", "v x", "Bessel function I of order v, modified, of the first kind.",
        domain=(_ORDER, _POSITIVE), grad=(1,),
    ),
    special(
        "ive", "v x", "iv(v, x) * exp(-abs(x)).", domain=(_ORDER, _POSITIVE), grad=(1,)
    ),
    special(
        "kv", "v x", "Bessel function K of order v, modified, of the second kind.",
        domain=(_ORDER, _POSITIVE), grad=(1,), ufuncs="kn",
    ),
    special(
        "kve", "v x", "kv(v, x) * exp(x).", domain=(_ORDER, _POSITIVE), grad=(1,)
    ),
    special(
        "hyp2f1", "a b c z", "Gauss hypergeometric function 2F1.",
        domain=(_POSITIVE, _POSITIVE, _POSITIVE, (-0.5, 0.5)),
    ),
]  # fmt: skip

SPECIAL: list[OpRow] = [*_LOGISTIC, *_ERROR, *_GAMMA, *_BESSEL]
