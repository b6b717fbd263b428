"""Names of earlier versions, each with the one that replaces it.

Errors answer with them, and ``tools/codemod.py`` rewrites code by them.
"""

from __future__ import annotations

_LINALG = "cholesky det eigh inv qr slogdet solve solve_triangular svd"

# Functions of the package.
FUNCTIONS = {
    "absolute": "abs", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh",
    "atan": "arctan", "atan2": "arctan2", "atanh": "arctanh", "bitwise_invert": "invert",
    "bitwise_not": "invert", "conjugate": "conj", "degrees": "rad2deg", "expit": "sigmoid",
    "kn": "kv", "log1pexp": "softplus", "log_expit": "log_sigmoid", "psi": "digamma",
    "radians": "deg2rad", "remainder": "mod", "rint": "round", "tri_gamma": "trigamma",
    "true_divide": "divide",
    **{name: f"linalg.{name}" for name in _LINALG.split()},
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

# Functions that are the method `shift`, by so many positions for one.
SHIFTS = {"lag": "", "lead": "-"}

_ALONG = (
    "associative_scan cross_validate cumulate filter map reduce scan "
    "AR Categorical Dirichlet DirichletMultinomial EulerMaruyama GARCH11 GP GaussianRandomWalk "
    "Interpolated MarkovChain Multinomial MvGaussianRandomWalk MvStudentTRandomWalk "
    "OrderedLogistic OrderedMultinomial OrderedProbit RandomWalk Series StickBreaking "
    "ZeroSumNormal mixture ordered dirichlet multinomial multivariate_hypergeometric"
)

# Arguments of functions, distributions and methods, by the names of these.
ARGUMENTS = {
    **{name: {"over": "dim"} for name in _ALONG.split()},
    "apply": {"core_dims": "input_core_dims", "out_dims": "output_core_dims"},
    "concat": {"dims": "dim"},
    "dot": {"dims": "dim"},
    "polyval": {"degree": "dim"},
}
