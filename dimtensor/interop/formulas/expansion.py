"""Check a formula and expand its terms, before anything is computed."""

from __future__ import annotations

from itertools import combinations
from math import comb, prod
from typing import Any, NamedTuple

from dimtensor.interop.formulas import limits
from dimtensor.interop.formulas.arguments import Arguments, ArgumentValue
from dimtensor.interop.formulas.syntax import COMPARISONS, kind_of, spine, text_of

_OF_TERMS = {"STAR": "*", "SLASH": "/", "COLON": ":", "STAR_STAR": "**", "MINUS": "-"}
_NAMES = ("Variable", "QuotedName")
_NEITHER = {"other": "dates or times", "objects": "objects", "complex": "complex numbers"}
_Term = tuple[str, ...]  # the texts of its parts, () is the intercept


class TermPart(NamedTuple):
    """Part of an interaction, with its numbers of columns and of values for each row."""

    columns: int
    values: int
    levels: int  # 0 for numeric columns


class ExpandedTerms(NamedTuple):
    """Terms of an expanded expression.

    Attributes
    ----------
    common : dict
        Common terms as keys, in order.
    grouped : dict
        Group-specific terms: pairs of a term and its grouping factor.
    """

    common: dict[_Term, None]
    grouped: dict[tuple[_Term, _Term], None]


class Expansion:
    """Walk over the syntax tree of a formula that refuses unsupported and oversized terms.

    Attributes
    ----------
    bars : list
        Nodes of group-specific terms, from left to right.
    """

    def __init__(self, formula: str, arguments: Arguments):
        self.formula, self.arguments = formula, arguments
        self.refuse = arguments.refuse
        self.bars: list[Any] = []
        self.parts: dict[str, TermPart] = {}
        self.work = 0

    def check(self, tree: Any) -> None:
        """Check a formula.

        Raises
        ------
        OptionError
            If formulae would read only a part of it, if it calls a function that is not allowed, or
            if it is too large.
        """
        if kind_of(tree) != "Binary" or tree.operator.kind != "TILDE":
            self.refuse("it has no response", "a response stands before the predictors: y ~ x")
        self._check_response(tree.left)
        terms = self.expand(tree.right)
        self._check_size(terms)

    # -- terms --------------------------------------------------------------------------------

    def expand(self, node: Any) -> ExpandedTerms:
        """Return the terms of an expression."""
        while kind_of(node) == "Grouping":
            node = node.expression
        first, operators = spine(node)
        if operators:
            self._check_operators(first, operators)
            found = self.expand(first)
            for each in operators:
                if each.operator.kind == "STAR_STAR":
                    found = ExpandedTerms(self._power(each, found.common), {})
                    continue
                found = self._joined(each, found, self.expand(each.right))
                self._check_many(len(found.common) + len(found.grouped))
            return found
        kind = kind_of(node)
        if kind == "Unary":
            return self.expand(node.right)
        if kind == "Literal":
            return self._literal(node)
        return ExpandedTerms({(self._part(node),): None}, {})

    def _part(self, node: Any) -> str:
        text, kind = text_of(node), kind_of(node)
        if text in self.parts:
            return text
        if kind == "Assign":
            self.refuse(f"'=' in {text}, which no term has")
        value = self._column(node) if kind in _NAMES else self.arguments.value(node)
        if value.kind in ("trials", "contrast"):
            self.refuse(f"{text} is no predictor")
        labels = value.kind in ("text", "levels")
        levels = value.levels if labels else 0
        self.parts[text] = TermPart(levels if labels else value.columns, value.columns, levels)
        return text

    def _column(self, node: Any) -> ArgumentValue:
        name = node.expression.lexeme[1:-1] if kind_of(node) == "QuotedName" else node.name.lexeme
        kind = self.arguments.table.kind(name)
        if kind is None:
            self.arguments.table.lacks(name)
        if kind in _NEITHER:
            column = f"df[{name!r}]"
            days = f"{column} = ({column} - {column}.min()).dt.days counts days"
            reason = f"column {name!r} has {_NEITHER[kind]}: a term is of real numbers or labels"
            self.refuse(reason, days if kind == "other" else None)
        return self.arguments.value(node)

    def _literal(self, node: Any) -> ExpandedTerms:
        value = node.value
        if isinstance(value, str):
            hint = f"columns stand without quotes: {value}"
            self.refuse(f"the text {text_of(node)} is no term", hint)
        if value is None or isinstance(value, bool) or value not in (0, 1):
            number = isinstance(value, int | float) and not isinstance(value, bool)
            way_out = f"a number that is added is offset({value})" if number else None
            self.refuse(f"{value} is no term; 1 is the intercept, 0 is none", way_out)
        return ExpandedTerms({(): None} if value == 1 else {}, {})

    def _check_operators(self, first: Any, operators: list[Any]) -> None:
        grouped = _has_bars(first)
        for node in operators:
            kind, sides = node.operator.kind, (node.left, node.right)
            two = grouped or _has_bars(node.right)
            literal = any(kind_of(side) == "Literal" for side in sides)
            if kind in _OF_TERMS and two:
                reason = f"groups are added, and {_OF_TERMS[kind]!r} does not take them"
                self.refuse(f"{text_of(node)}: {reason}")
            if kind == "PIPE" and two:
                hint = "groups within groups are (1 | a / b), crossed ones (1 | a) + (1 | b)"
                self.refuse(f"({text_of(node)}) has two bars", hint)
            if kind in ("STAR", "SLASH") and literal:
                hint = f"numbers are multiplied in I(): I({text_of(node)})"
                self.refuse(f"{text_of(node)} has a factor that is no term", hint)
            if kind in COMPARISONS:
                hint = f"comparisons stand in I(): I({text_of(node)})"
                self.refuse(f"{text_of(node)} is no term", hint)
            if kind not in ("PLUS", "PIPE", *_OF_TERMS):
                sign = node.operator.lexeme
                self.refuse(f"{text_of(node)}: {sign!r} stands once, after the response")
            grouped = two or kind == "PIPE"

    def _joined(self, node: Any, left: ExpandedTerms, right: ExpandedTerms) -> ExpandedTerms:
        kind = node.operator.kind
        self._spend(max(1, len(left.common)) * max(1, len(right.common)))
        if kind == "PIPE":
            self.bars.append(node)
            inner = {(): None} | left.common  # an implicit intercept, unless 0 removes it
            return ExpandedTerms(
                {}, {(term, factor): None for term in inner for factor in right.common}
            )
        if kind == "PLUS":
            return ExpandedTerms(left.common | right.common, left.grouped | right.grouped)
        if kind == "MINUS":
            return ExpandedTerms(
                {term: None for term in left.common if term not in right.common}, {}
            )
        if () in left.common or () in right.common:
            self.refuse(f"{text_of(node)}: the intercept, 1, does not interact with columns")
        if kind == "SLASH":
            inside = _together(*left.common)
            products = {_together(inside, term): None for term in right.common}
            return ExpandedTerms(left.common | products, {})
        products = {_together(a, b): None for a in left.common for b in right.common}
        if kind == "COLON":
            return ExpandedTerms(products, {})
        return ExpandedTerms(left.common | right.common | products, {})

    def _power(self, node: Any, terms: dict[_Term, None]) -> dict[_Term, None]:
        base, power = node.left, getattr(node.right, "value", None)
        while kind_of(base) == "Grouping":
            base = base.expression
        if kind_of(base) != "Binary":
            hint = f"a power of numbers is I({text_of(base)}**{text_of(node.right)})"
            reason = f"{text_of(node)} is {text_of(base)}: ** makes interactions of terms"
            self.refuse(reason, hint)
        if not isinstance(power, int) or isinstance(power, bool) or power < 1:
            self.refuse(f"{text_of(node)}: the power is not a whole number from 1")
        if () in terms:
            self.refuse(f"{text_of(node)}: the intercept, 1, does not interact with columns")
        if power > limits.ORDER and power > len(terms):
            reason = f"{text_of(node)} has {len(terms)} terms, and no interactions of more"
            self.refuse(reason, f"interactions of all terms are **{len(terms)}")
        many = sum(comb(len(terms), order) for order in range(1, power + 1))
        self._check_many(many)
        orders = range(2, power + 1)
        mixed = {_together(*some): None for n in orders for some in combinations(terms, n)}
        return terms | mixed

    # -- the response -------------------------------------------------------------------------

    def _check_response(self, node: Any) -> None:
        text, kind = text_of(node), kind_of(node)
        if kind == "Binary":
            if any(each.operator.kind == "PIPE" for each in spine(node)[1]):
                hint = "a response of trials is p(successes, trials) ~ ..."
                self.refuse(f"the response has a bar: {text}", hint)
            hint = f"a sum of columns is I({text}) ~ ...; several responses are several models"
            self.refuse(f"the response {text} is not one term", hint)
        if kind == "Call":
            self.arguments.call(node)
        elif kind == "Variable" and node.level is not None:
            self._check_level(node)
        elif kind in _NAMES:
            self._column(node)
        else:
            self.refuse(f"the response {text} is not a column, or a function of columns")

    def _check_level(self, node: Any) -> None:
        name, level = node.name.lexeme, node.level.value
        table = self.arguments.table
        if table.kind(name) is None:
            table.lacks(name)
        if table.kind(name) != "text":
            hint = f"1 where it is {level!r}, else 0: I({name} == {level}) ~ ..."
            self.refuse(f"{text_of(node)}: {name!r} has numbers, and no levels", hint)
        if not table.has_level(name, level):
            self.refuse(f"{text_of(node)}: {name!r} has no level {level!r}")

    # -- sizes --------------------------------------------------------------------------------

    def _spend(self, work: int) -> None:
        self.work += work
        if self.work > limits.WORK:
            self.refuse("it has too many terms, or interactions of too many columns")

    def _check_many(self, terms: int) -> None:
        if terms > limits.TERMS:
            self.refuse(f"it has {terms} terms, of at most {limits.TERMS}")

    def _check_size(self, terms: ExpandedTerms) -> None:
        columns = values = varying = 0
        common = len(terms.common)
        for at, term in enumerate([*terms.common, *(each for each, _ in terms.grouped)]):
            if len(term) > limits.ORDER:
                reason = f"{len(term)} columns interact in a term, of at most {limits.ORDER}"
                self.refuse(reason)
            parts = [self.parts[name] for name in term]
            # formulae compares the subsets of the labels that interact with each other
            self._spend(8 ** sum(part.levels > 0 for part in parts))
            own = prod(part.columns for part in parts)
            columns += own
            varying += own if at >= common else 0
            values += prod(part.values for part in parts)
        if varying > limits.VARYING:
            self.refuse(
                f"{varying} columns vary by group, of at most {limits.VARYING}",
                "their covariances are a matrix; effects of many levels are those of groups: "
                "(1 | g)",
            )
        rows = self.arguments.table.rows
        if columns > limits.COLUMNS or values * rows > limits.ELEMENTS:
            self.refuse(
                f"its terms have {columns} columns and {values} numbers in each of {rows} rows, of "
                f"at most {limits.COLUMNS} columns and {limits.ELEMENTS} numbers",
                "effects of many levels are those of groups: (1 | g)",
            )


def _has_bars(node: Any) -> bool:
    """Return whether an expression has group-specific terms, functions aside."""
    while kind_of(node) in ("Grouping", "Unary"):
        node = node.expression if kind_of(node) == "Grouping" else node.right
    first, operators = spine(node)
    found = any(each.operator.kind == "PIPE" or _has_bars(each.right) for each in operators)
    return found or bool(operators and _has_bars(first))


def _together(*terms: _Term) -> _Term:
    """Return the interaction of terms: their parts without duplicates."""
    return tuple(dict.fromkeys(part for term in terms for part in term))
