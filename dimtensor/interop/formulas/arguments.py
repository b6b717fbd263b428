"""Check of function calls in a formula, before anything is computed."""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Mapping, Sized
from typing import Any, NamedTuple, NoReturn

from dimtensor.errors import OptionError, clipped, did_you_mean
from dimtensor.interop.formulas import limits
from dimtensor.interop.formulas.functions import (
    COLUMN,
    CONSTANT,
    CONTRAST,
    COUNT,
    ELSEWHERE,
    LISTED,
    NUMBERS,
    PARAMETERS,
    TRANSFORMS,
    TRIALS,
    VALUES,
)
from dimtensor.interop.formulas.syntax import COMPARISONS, kind_of, text_of, unreadable
from dimtensor.interop.formulas.tables import Columns

_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "PLUS": operator.add,
    "MINUS": operator.sub,
    "STAR": operator.mul,
    "SLASH": operator.truediv,
    "STAR_STAR": operator.pow,
}
# Kinds of values in addition to those of columns, "numbers", "text", "objects" and "other".
_CONSTANT, _NAMED = "constant", "named"
_CONTRAST, _LEVELS, _OFFSET, _TRIALS = "contrast", "levels", "offset", "trials"
_COMPUTED = ("numbers", "other")
_RESULTS = {
    **dict.fromkeys(("C", "S", "T"), _LEVELS),
    **dict.fromkeys(("Treatment", "Sum"), _CONTRAST),
    **dict.fromkeys(("p", "prop", "proportion"), _TRIALS),
    "offset": _OFFSET,
}
_COUNTS = {
    ("bs", "degree"): limits.DEGREE,
    ("tp", "max_knots"): limits.SITES,
    ("tp", "seed"): 2**32 - 1,
    ("p", "trials"): 2**53,
}
_COLUMNS = {"cr": 10, "cc": 10, "tp": 10, "poly": 1, "bs": 1}


class ArgumentValue(NamedTuple):
    """Value of an expression inside of a function: its kind and size.

    Attributes
    ----------
    kind : str
    value : object
        Value of a constant, or of a name of the user.
    columns : int
        Number of values for each row; 1 for levels, which are looked up, without contrasts.
    levels : int
        Number of levels, for a categorical predictor.
    """

    kind: str
    value: Any = None
    columns: int = 1
    levels: int = 0


class Arguments:
    """Checker of the functions in a formula and their arguments.

    Parameters
    ----------
    formula : str
    table : Columns
    namespace : mapping
        User's names.
    attributes : bool
        Whether attributes of these may be called, ``module.function``.
    """

    def __init__(
        self, formula: str, table: Columns, namespace: Mapping[str, Any], attributes: bool
    ):
        self.formula, self.table = formula, table
        self.namespace, self.attributes = namespace, attributes

    def refuse(self, reason: str, hint: str | None = None) -> NoReturn:
        raise unreadable(self.formula, reason, hint)

    def value(self, node: Any, depth: int = 0) -> ArgumentValue:
        """Check an expression; return its kind and size."""
        if depth > limits.OPERATORS:
            reason = f"a function has more than {limits.OPERATORS} operators within each other"
            self.refuse(reason, "compute it as a column of the table")
        kind = kind_of(node)
        if kind == "Grouping":
            return self.value(node.expression, depth + 1)
        if kind == "Literal":
            if isinstance(node.value, int | float) and abs(node.value) > limits.NUMBER:
                self.refuse(f"a number is larger than {limits.NUMBER:g}")
            return ArgumentValue(_CONSTANT, node.value)
        if kind == "Variable":
            if node.level is not None:
                name = node.name.lexeme
                hint = f"1 at a level, else 0: I({name} == {node.level.value!r})"
                self.refuse(f"{text_of(node)} is for responses", hint)
            return self.named(node.name.lexeme)
        if kind == "QuotedName":
            return self.named(node.expression.lexeme[1:-1])
        if kind == "Call":
            return self.call(node, depth + 1)
        if kind == "Unary":
            zero = ArgumentValue(_CONSTANT, 0)
            return self._computed(node, node.operator.kind, zero, self.value(node.right, depth + 1))
        if kind == "Binary":
            self._check_power(node)
            left, right = self.value(node.left, depth + 1), self.value(node.right, depth + 1)
            return self._computed(node, node.operator.kind, left, right)
        self.refuse(f"{text_of(node)} is not understood inside of a function")

    def _check_power(self, node: Any) -> None:
        """Check that a power means the same to formulae as to Python."""
        base = kind_of(node.left)
        if node.operator.kind != "STAR_STAR":
            return
        if base == "Unary":
            sign, number = node.left.operator.lexeme, text_of(node.left.right)
            hint = f"{sign}({number}**{text_of(node.right)})"
            self.refuse(f"the sign of {text_of(node)} stands before the power or after it", hint)
        if base == "Binary" and node.left.operator.kind == "STAR_STAR":
            self.refuse(f"{text_of(node)} has two powers", "parentheses say which one is first")

    def named(self, name: str) -> ArgumentValue:
        """Return the kind and size of a column or of a name of the user."""
        kind = self.table.kind(name)
        if kind is not None:
            return ArgumentValue(kind, levels=self.table.levels(name))
        if name in ("Treatment", "Sum"):
            return ArgumentValue(_CONTRAST)
        if name not in self.namespace:
            self.table.lacks(name)
        value = self.namespace[name]
        if value is None or isinstance(value, int | float | str):
            return ArgumentValue(_CONSTANT, value)
        if getattr(getattr(value, "dtype", None), "kind", "") in tuple("biuf"):
            return ArgumentValue("numbers", value)
        return ArgumentValue(_NAMED, value)

    def _computed(
        self, node: Any, kind: str, left: ArgumentValue, right: ArgumentValue
    ) -> ArgumentValue:
        compared = kind in COMPARISONS
        if not compared and kind not in _ARITHMETIC:
            sign = node.operator.lexeme
            self.refuse(f"{text_of(node)}: there is no {sign!r} inside of a function")
        for part in (left, right):
            text = part.kind == "text" or isinstance(part.value, str)
            numeric = part.kind in _COMPUTED or (part.kind == _CONSTANT and _is_number(part.value))
            if not (numeric or (compared and text)):
                what = "text" if text else "what is no number"
                self.refuse(f"{text_of(node)} computes with {what}")
        columns = max(left.columns, right.columns)
        if compared or left.kind != _CONSTANT or right.kind != _CONSTANT:
            return ArgumentValue("numbers", columns=columns, levels=self.table.rows)
        try:
            number = _ARITHMETIC[kind](float(left.value), float(right.value))
            if isinstance(number, complex) or abs(number) > limits.NUMBER:
                raise OverflowError("it is no real number, or too large")
        except (ArithmeticError, ValueError) as error:
            self.refuse(f"{text_of(node)} cannot be computed: {error}")
        return ArgumentValue(_CONSTANT, number)

    def call(self, node: Any, depth: int = 0) -> ArgumentValue:
        """Check a call and its arguments; return the kind and size of its result."""
        callee = node.callee
        if kind_of(callee) != "Variable" or callee.level is not None:
            self.refuse(f"{text_of(callee)} is called, which is no name of a function")
        name = callee.name.lexeme
        of_caller = self.attributes and name.split(".")[0] in self.namespace
        if name not in PARAMETERS or (of_caller and name not in TRANSFORMS):
            self._check_function(name)
            for argument in node.args:
                given = argument.value if kind_of(argument) == "Assign" else argument
                self.value(given, depth)
            return ArgumentValue("other")
        given = self._bound(name, node, depth)
        for parameter, (text, value) in given.items():
            self._check_argument(name, parameter, text, value)
        first = next(iter(given.values()), ("", ArgumentValue("numbers")))[1]
        if name == "I":
            return first
        kind = _RESULTS.get(name, "numbers")
        if kind == _LEVELS:
            contrasts = name == "S" or "contrast" in given
            columns = first.levels if contrasts else first.columns
            return ArgumentValue(kind, columns=columns, levels=first.levels)
        return ArgumentValue(kind, columns=_columns_of(name, given, first), levels=self.table.rows)

    def _check_function(self, name: str) -> None:
        root, _, attribute = name.partition(".")
        if root in self.namespace and (self.attributes or not attribute):
            return
        written = name.rpartition(".")[2] if attribute else name
        hint = ELSEWHERE.get(name) or (
            f"a function of yours is passed: from_formula(..., namespace={{{written!r}: {name}}})"
            + (f", and called as {written}(...)" if attribute else "")
        )
        raise OptionError(
            f"the formula calls {clipped(name)}(...), and there is no function of this name"
            f"{did_you_mean(name, list(PARAMETERS))}",
            [("functions of formulas", f"{', '.join(LISTED)}, np.sqrt and others of np")],
            hint,
        )

    def _bound(self, name: str, node: Any, depth: int) -> dict[str, tuple[str, ArgumentValue]]:
        """Return arguments by parameter: their text and value."""
        parameters = list(PARAMETERS[name])
        found: dict[str, tuple[str, ArgumentValue]] = {}
        for at, argument in enumerate(node.args):
            if kind_of(argument) == "Assign":
                key, expression = argument.name.name.lexeme, argument.value
                positional = False
            else:
                key, expression = parameters[at] if at < len(parameters) else "", argument
                positional = True
            if key not in parameters or key in found or (positional and len(found) != at):
                reason = f"{text_of(node)}: {name} takes {', '.join(parameters)}"
                self.refuse(reason + ("" if key not in found else f", and {key} is there twice"))
            found[key] = text_of(expression), self.value(expression, depth)
        if parameters[0] not in found:
            self.refuse(f"{text_of(node)} lacks its first argument, {parameters[0]}")
        return found

    def _check_argument(self, name: str, parameter: str, text: str, value: ArgumentValue) -> None:
        wanted = PARAMETERS[name][parameter]
        if parameter == "trials":
            name = "p"
        if wanted == COUNT or (wanted == TRIALS and value.kind == _CONSTANT):
            self._check_count(name, parameter, text, value)
            return
        constant = value.kind == _CONSTANT
        allowed: dict[str, Container[str]] = {
            NUMBERS: (*_COMPUTED, _CONSTANT),
            COLUMN: (*_COMPUTED, "text", _LEVELS, _CONSTANT),
            TRIALS: ("numbers",),
            CONSTANT: (_CONSTANT,),
            VALUES: (_NAMED, "numbers", "other"),
            CONTRAST: (_CONTRAST, _NAMED, "other"),
        }
        right = value.kind in allowed[wanted]
        if constant and wanted in (NUMBERS, COLUMN):
            right = _is_number(value.value)
        if constant and wanted in (VALUES, CONTRAST):
            right = value.value is None
        if not right:
            hint = None
            if wanted == VALUES:
                hint = f"from_formula(..., namespace={{{parameter!r}: [...]}}), with " + (
                    f"{parameter}={parameter} in the formula"
                )
            self.refuse(f"{parameter}={text} of {name} is not {wanted}", hint)

    def _check_count(self, name: str, parameter: str, text: str, value: ArgumentValue) -> None:
        count, most = value.value, _COUNTS.get((name, parameter), limits.BASIS)
        if value.kind == _CONSTANT and count is None:
            return
        whole = isinstance(count, int) and not isinstance(count, bool)
        if value.kind != _CONSTANT or not whole or not 0 <= count <= most:
            self.refuse(f"{parameter}={text} of {name} is not a whole number from 0 to {most}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _columns_of(
    name: str, given: Mapping[str, tuple[str, ArgumentValue]], first: ArgumentValue
) -> int:
    """Return the number of columns of a function's result."""
    if name not in _COLUMNS:
        return first.columns
    number = given.get("degree" if name == "poly" else "df", ("", None))[1]
    knots = given.get("knots", ("", None))[1]
    if number is not None and number.value is not None:
        return int(number.value)
    if knots is not None and isinstance(knots.value, Sized):
        return len(knots.value) + limits.DEGREE + 1
    return _COLUMNS[name]
