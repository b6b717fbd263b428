"""Syntax trees of formulas: parsing by formulae, traversal and text."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from dimtensor.errors import ArgumentError, OptionError, clipped
from dimtensor.interop.formulas import limits

COMPARISONS = ("EQUAL_EQUAL", "BANG_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
# a number with an exponent, or a text in quotes or backquotes, in which there are none
_WITH_EXPONENT = re.compile(
    r"""'[^']*'|"[^"]*"|`[^`]*`|(?<![\w.])(?P<number>(\d{1,40}\.?\d{0,40}|\.\d{1,40})[eE][+-]?\d\d?)(?!\w)"""
)
_OPENING = ("LEFT_PAREN", "LEFT_BRACKET", "LEFT_BRACE")
_CLOSING = ("RIGHT_PAREN", "RIGHT_BRACKET", "RIGHT_BRACE")


def unreadable(formula: str, reason: str, hint: str | None = None) -> OptionError:
    """Return the error for a formula that is malformed or not allowed."""
    return OptionError(
        f"the formula {clipped(repr(formula))} cannot be read", [("reason", clipped(reason))], hint
    )


def parse(formula: str) -> Any:
    """Return the syntax tree of a formula, in which two bars are one token.

    formulae's parser silently drops text after a complete expression; here that is an error.

    Raises
    ------
    ArgumentError
        If it is no text.
    OptionError
        If it is malformed, too long or nested too deeply.
    """
    from formulae.parser import ParseError, Parser

    if not isinstance(formula, str) or not formula:
        raise ArgumentError(f"a formula is a string, 'y ~ 1 + x', not {formula!r}")
    tokens: list[Any] = []
    for token in _scan(formula):
        if token.kind == "PIPE" and tokens and tokens[-1].kind == "PIPE":
            tokens[-1].lexeme = "||"
        else:
            tokens.append(token)
    _check_nesting(formula, tokens)
    parser = Parser(tokens)
    try:
        tree = parser.parse()
    except ParseError as error:
        hint = None
        if "~" not in formula and formula.count("=") == 1:
            hint = f"a formula has a ~: {formula.replace('=', '~')}"
        raise unreadable(formula, _stopped(parser), hint) from error
    if not parser.at_end():
        raise unreadable(formula, _stopped(parser), _remaining(formula, parser))
    return tree


def _scan(formula: str) -> list[Any]:
    from formulae.scanner import ScanError, Scanner

    if len(formula) > limits.LENGTH:
        raise unreadable(formula, f"it has {len(formula)} characters, of at most {limits.LENGTH}")
    try:
        return list(Scanner(_WITH_EXPONENT.sub(_decimal, formula)).scan())
    except IndexError as error:
        reason = "a name in backquotes does not end"
        raise unreadable(formula, reason, "names are `a name`") from error
    except ValueError as error:  # digits that int does not accept
        raise unreadable(formula, f"a number is not understood: {error}") from error
    except ScanError as error:
        hint = None
        if "^" in formula:
            hint = "a power of numbers is I(x**2), interactions up to an order are (a + b)**2"
        elif formula.count("~") > 1:
            hint = "a formula has one '~', between the response and the predictors"
        reason = str(error).replace("Unexpected character:", "it has the character")
        raise unreadable(formula, reason, hint) from error


def _decimal(found: re.Match[str]) -> str:
    """Write a number without its exponent, which formulae takes for a name."""
    number = found["number"]
    return found[0] if number is None else f"{Decimal(number):f}"


def _check_nesting(formula: str, tokens: list[Any]) -> None:
    depth = signs = 0
    for token in tokens:
        depth += (token.kind in _OPENING) - (token.kind in _CLOSING)
        signs = signs + 1 if token.kind in ("PLUS", "MINUS") else 0
        if max(depth, signs) > limits.NESTING:
            what = "brackets" if depth > limits.NESTING else "signs in a row"
            raise unreadable(formula, f"it has more than {limits.NESTING} {what}")


def _stopped(parser: Any) -> str:
    """Describe where the parser stopped."""
    rest = " ".join(token.lexeme for token in parser.tokens[parser.current :]).strip()
    return f"{rest!r} is not understood" if rest else "it ends where a term is expected"


def _remaining(formula: str, parser: Any) -> str | None:
    """Suggest how to write a formula whose end was not parsed."""
    kinds = [token.kind for token in parser.tokens[parser.current :]]
    if kinds[0] == "PIPE":
        response, _, predictors = formula.partition("~")
        if kinds[1:] == ["IDENTIFIER", "EOF"]:
            return f"groups stand in parentheses: {response.strip()} ~ ({predictors.strip()})"
        return "groups stand in parentheses: (1 | g)"
    if kinds[0] in COMPARISONS:
        return "comparisons stand in I(): I(x > 1)"
    return "terms are joined by +, *, : and /"


def kind_of(node: Any) -> str:
    """Return the class name of a syntax node."""
    return type(node).__name__


def spine(node: Any) -> tuple[Any, list[Any]]:
    """Return the leftmost operand of a chain of operators, and the operators from left to right.

    A sum of a thousand terms is a tree of that depth, too deep for recursion.
    """
    found: list[Any] = []
    while kind_of(node) == "Binary":
        found.append(node)
        node = node.left
    return node, found[::-1]


def text_of(node: Any) -> str:
    """Return a syntax tree as the text of a formula."""
    kind = kind_of(node)
    if kind == "Grouping":
        return f"({text_of(node.expression)})"
    if kind == "Binary":
        first, operators = spine(node)
        parts = [text_of(first)]
        for each in operators:
            space = "" if each.operator.lexeme in ("**", ":") else " "
            parts += [space, each.operator.lexeme, space, text_of(each.right)]
        return "".join(parts)
    if kind == "Unary":
        return f"{node.operator.lexeme}{text_of(node.right)}"
    if kind == "Call":
        return f"{text_of(node.callee)}({', '.join(map(text_of, node.args))})"
    if kind == "Assign":
        return f"{text_of(node.name)}={text_of(node.value)}"
    if kind == "QuotedName":
        return str(node.expression.lexeme)
    if kind == "Literal":
        return str(node.value) if node.lexeme is None else str(node.lexeme)
    return str(node.name.lexeme) + (f"[{text_of(node.level)}]" if node.level is not None else "")
