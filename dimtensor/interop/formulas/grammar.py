"""Formulas beyond what formulae reads by itself: what lme4 and Bambi write."""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy as np

from dimtensor.interop.extras import require

# Functions that are there without being imported, as in Bambi.
FUNCTIONS = {
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "exp": np.exp,
    "exp2": np.exp2,
    "abs": np.abs,
}
# names and strings, in which nothing is replaced, and two bars
_PARTS = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"|\|\|")
_LEVELS = re.compile(r"C\(\s*([^\W\d]\w*)\s*\)")


def described(formula: str) -> Any:
    """What formulae's parser makes of a formula.

    Group-specific terms with two bars are those with one: effects of several columns are
    independent either way. Terms share no parts, which formulae gives the columns of the term that
    comes last: of ``a / b`` the first is ``a`` without a level, the second one with all.
    """
    formulae = require("formulae", "formula", "dt.from_formula")
    one = _PARTS.sub(lambda found: "|" if found[0] == "||" else found[0], formula)
    description = formulae.model_description(one)
    for term in description.terms:
        own = getattr(term, "expr", term)
        if hasattr(own, "components"):
            own.components = [copy.deepcopy(part) for part in own.components]
    return description


def column_of(name: str) -> str:
    """The column that tells groups: ``C(k)`` has the groups of ``k``."""
    found = _LEVELS.fullmatch(name)
    return name if found is None else found[1]
