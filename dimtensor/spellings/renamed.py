"""Names of earlier versions and their replacements.

Errors suggest the replacement, and ``tools/codemod.py`` rewrites code.
"""

from __future__ import annotations

# Functions that are in a module of the package, by the module.
_MOVED = {
    "linalg": "cholesky det eigh inv qr slogdet solve solve_triangular svd",
    "special": (
        "beta betainc betaincinv betaln digamma erf erfc erfcinv erfcx erfinv factorial gamma "
        "gammainc gammaincc gammainccinv gammaincinv gammal gammaln gammau hyp2f1 i0 i0e i1 i1e "
        "iv ive j0 j1 jv kv kve log_ndtr ndtr ndtri ndtri_exp owens_t poch polygamma trigamma "
        "xlog1py xlogy"
    ),
    "supports": (
        "Support bounded cholesky_corr cholesky_cov corr_matrix cov_matrix ordered "
        "positive_ordered simplex unit zero_sum"
    ),
}

# Functions of the package.
FUNCTIONS = {
    "absolute": "abs", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh",
    "atan": "arctan", "atan2": "arctan2", "atanh": "arctanh", "bitwise_invert": "invert",
    "bitwise_not": "invert", "conjugate": "conj", "degrees": "rad2deg", "expit": "sigmoid",
    "kn": "special.kv", "log1pexp": "softplus", "log_expit": "log_sigmoid",
    "psi": "special.digamma", "radians": "deg2rad", "remainder": "mod", "rint": "round",
    "tri_gamma": "special.trigamma", "true_divide": "divide",
    "draw": "to_graph", "index": "labels", "levels": "checkpoint_levels",
    "states": "checkpoint_states", "time": "date_range",
    **{name: f"{module}.{name}" for module, names in _MOVED.items() for name in names.split()},
}  # fmt: skip

_PARTS = (
    "ceil date day dayofweek dayofyear days_in_month days_in_year decimal_year floor freq hour "
    "is_leap_year is_month_end is_month_start is_quarter_end is_quarter_start is_year_end "
    "is_year_start isocalendar microsecond minute month nanosecond quarter round season second "
    "strftime time week year"
)
# Attributes of dims of dates that are those of `Dim.dt`, some under another name.
DATES = {
    **{name: name for name in _PARTS.split()},
    "day_of_week": "dayofweek", "weekday": "dayofweek", "day_of_year": "dayofyear",
    "daysinmonth": "days_in_month", "weekofyear": "week",
}  # fmt: skip

# Functions that are properties of tensors; `dt.real` is a support.
PARTS = ("imag", "real")

# Methods and properties, by the names that no other class has.
METHODS = {
    "centred": "centered", "knows": "implements", "noncentred": "noncentered",
    "numbered": "unlabeled_dims",
}  # fmt: skip

# Methods of what functions of the package return, by these functions.
METHODS_OF_RESULTS = {"explain": {"draw": "plot"}, "simplify": {"draw": "to_graph"}}

# Functions that are the method `shift`, by so many positions for one.
SHIFTS = {"lag": "", "lead": "-"}

_ALONG = (
    "associative_scan cross_validate cumulate filter map reduce scan "
    "AR Categorical Dirichlet DirichletMultinomial EulerMaruyama GARCH11 GP GaussianRandomWalk "
    "Interpolated MarkovChain Multinomial MvGaussianRandomWalk MvStudentTRandomWalk "
    "OrderedLogistic OrderedMultinomial OrderedProbit RandomWalk Series StickBreaking "
    "ZeroSumNormal mixture ordered dirichlet multinomial multivariate_hypergeometric"
)

# Parameters of distributions that had a place and are given by name, in their former order; None
# for one that has kept its place.
NAMED = {
    "BetaBinomial": ("n", "alpha", "beta"),
    "SkewNormal": ("mu", "sigma", "alpha"),
    "Wald": (None, None, "alpha"),
}

# Arguments of functions, distributions and methods, by the names of these.
ARGUMENTS = {
    **{name: {"over": "dim"} for name in _ALONG.split()},
    "apply": {"core_dims": "input_core_dims", "out_dims": "output_core_dims"},
    "concat": {"dims": "dim"},
    "dot": {"dims": "dim"},
    "ICAR": {"zero_sum": "zero_sum_stdev"},
    "polyval": {"degree": "dim"},
}
