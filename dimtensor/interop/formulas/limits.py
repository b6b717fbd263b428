"""Resource limits of formulas, since a short text can request hours of time or all memory."""

from __future__ import annotations

LENGTH = 100_000  # characters
NESTING = 30  # of brackets, signs in a row
OPERATORS = 100  # operators within operators, inside of a function
TERMS = 2_000
ORDER = 6  # columns that interact in a term
WORK = 2_000_000  # pairs of terms compared while a formula is expanded
BASIS = 1_000  # columns of a spline or polynomial
DEGREE = 5  # of the polynomials of a spline: FITPACK's
SITES = 5_000  # of a thin plate spline
COLUMNS = 50_000  # of all terms
VARYING = 5_000  # columns whose effects vary by group, and have a covariance matrix
ELEMENTS = 2**28  # of all design matrices, without the zeros of labels
NUMBER = 1e300
