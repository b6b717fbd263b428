"""Grammar of formulas: formulae's parser, without its readings that drop part of a formula."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from dimtensor.errors import InputError, build_message, did_you_mean
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
_CENSORED = "write the model with variables, and its response as dist.censored(...)"
_TRUNCATED = "write the model with variables, and its response as dist.truncated(...)"
_SMOOTH = "splines are bs(x, df=6), cr(x, df=6), cc(x, period=12) and tp(x, df=6)"
# Functions of formulas of Bambi, brms and mgcv, and how their matter is written here.
_ELSEWHERE = {
    "censored": _CENSORED,
    "cens": _CENSORED,
    "truncated": _TRUNCATED,
    "trunc": _TRUNCATED,
    "s": _SMOOTH,
    "ns": _SMOOTH,
    "factor": "labels of numbers are C(x)",
    "as.factor": "labels of numbers are C(x)",
    "trials": "the response of trials is p(successes, trials) ~ ...",
    "cbind": "the response of trials is p(successes, trials) ~ ...",
}
_LEVELS = re.compile(r"C\(\s*([^\W\d]\w*)\s*\)")
_OF_TERMS = {"STAR": "*", "SLASH": "/", "COLON": ":", "STAR_STAR": "**", "MINUS": "-"}


class Description(NamedTuple):
    """A formula that was read.

    Attributes
    ----------
    terms : formulae.terms.Model
    correlated : dict of str to (int, str)
        For group-specific terms with correlated effects: the number of their bar, and its text.
    functions : list of str
        Names of the functions that it calls.
    """

    terms: Any
    correlated: dict[str, tuple[int, str]]
    functions: list[str]


def described(formula: str) -> Description:
    """Read a formula.

    Terms share no parts, which formulae gives the columns of the term that comes last: of ``a / b``
    the first is ``a`` without a level, the second one with all.

    Raises
    ------
    InputError
        If it cannot be read, or formulae would read only a part of it.
    """
    require("formulae", "formula", "dt.from_formula")
    from formulae.resolver import Resolver, ResolverError
    from formulae.terms.call_resolver import CallResolverError
    from formulae.terms.terms import Model

    tree = _parsed(formula)
    bars: list[Any] = []
    functions: list[str] = []
    _check(formula, tree, bars, functions)
    try:
        terms = Resolver(tree).resolve()
        blocks = [Resolver(bar).resolve() for bar in bars]
    except (TypeError, ValueError, ResolverError, CallResolverError) as error:
        raise _unreadable(formula, str(error)) from error
    terms = terms if isinstance(terms, Model) else Model(terms)
    for term in terms.terms:
        own = getattr(term, "expr", term)
        if hasattr(own, "components"):
            own.components = [copy.deepcopy(part) for part in own.components]
    correlated: dict[str, tuple[int, str]] = {}
    seen: set[str] = set()
    for number, (bar, block) in enumerate(zip(bars, blocks, strict=True)):
        for term in block.group_terms if isinstance(block, Model) else [block]:
            if term.name in seen:
                raise InputError(
                    build_message(
                        f"the effects {term.name} are in the formula {formula!r} twice",
                        [("again in", f"({_text(bar)})")],
                        "(0 + x | g) has a slope and no intercept, which (x | g) brings along",
                    )
                )
            seen.add(term.name)
            if bar.operator.lexeme == "|":
                correlated[term.name] = number, f"({_text(bar)})"
    return Description(terms, correlated, functions)


def column_of(name: str) -> str:
    """The column that tells groups: ``C(k)`` has the groups of ``k``."""
    found = _LEVELS.fullmatch(name)
    return name if found is None else found[1]


def check_functions(functions: Iterable[str], known: Any) -> None:
    """Check that the functions that a formula calls are there.

    Parameters
    ----------
    functions : iterable of str
    known : container of str
        Names of the caller.

    Raises
    ------
    InputError
        If one is not.
    """
    from formulae.categorical import ENCODINGS
    from formulae.transforms import TRANSFORMS

    own = [*FUNCTIONS, *TRANSFORMS, *ENCODINGS]
    for name in functions:
        root = name.split(".")[0]
        if root in own or root in known:
            continue
        hint = _ELSEWHERE.get(name) or f"define {root} before the model is made, or import it"
        raise InputError(
            build_message(
                f"the formula calls {name}(...), and there is no function of this name"
                f"{did_you_mean(name, own)}",
                [("functions of formulas", ", ".join(own))],
                hint,
            )
        )


def _parsed(formula: str) -> Any:
    """The syntax tree of a formula, in which two bars are one token.

    formulae's parser stops where an expression ends, and forgets what follows.
    """
    from formulae.parser import ParseError, Parser
    from formulae.scanner import ScanError, Scanner

    if not isinstance(formula, str) or not formula:
        raise InputError(f"a formula is a string, 'y ~ 1 + x', not {formula!r}")
    try:
        scanned = Scanner(formula).scan()
    except ScanError as error:
        hint = None
        if "^" in formula:
            hint = "a power of numbers is I(x**2), interactions up to an order are (a + b)**2"
        elif formula.count("~") > 1:
            hint = "a formula has one '~', between the response and the predictors"
        reason = str(error).replace("Unexpected character:", "it has the character")
        raise _unreadable(formula, reason, hint) from error
    tokens: list[Any] = []
    for token in scanned:
        if token.kind == "PIPE" and tokens and tokens[-1].kind == "PIPE":
            tokens[-1].lexeme = "||"
        else:
            tokens.append(token)
    parser = Parser(tokens)
    try:
        tree = parser.parse()
    except ParseError as error:
        raise _unreadable(formula, _stopped(parser)) from error
    if not parser.at_end():
        raise _unreadable(formula, _stopped(parser), _remaining(formula, parser))
    return tree


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
    if kinds[0] in ("EQUAL_EQUAL", "BANG_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"):
        return "comparisons stand in I(): I(x > 1)"
    return "terms are joined by +, *, : and /"


def _unreadable(formula: str, reason: str, hint: str | None = None) -> InputError:
    return InputError(
        build_message(f"the formula {formula!r} cannot be read", [("reason", reason)], hint)
    )


def _check(formula: str, node: Any, bars: list[Any], functions: list[str]) -> None:
    """Collect bars and called functions of a syntax tree, and check how operators are used."""
    kind = type(node).__name__
    if kind == "Grouping":
        _check(formula, node.expression, bars, functions)
    elif kind == "Call":
        functions.extend(_calls(node))
    elif kind == "Unary":
        _check(formula, node.right, bars, functions)
    elif kind == "Assign":
        raise _unreadable(formula, f"'=' in {_text(node)}, which no term has")
    elif kind == "Literal":
        _check_literal(formula, node)
    elif kind == "Binary":
        _check_binary(formula, node, bars, functions)


def _check_literal(formula: str, node: Any) -> None:
    value = node.value
    if isinstance(value, str):
        hint = f"columns stand without quotes: {value}"
        raise _unreadable(formula, f"the text {_text(node)} is no term", hint)
    if value is None or isinstance(value, bool) or value not in (0, 1):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        way_out = f"a number that is added is offset({value})" if number else None
        raise _unreadable(formula, f"{value} is no term; 1 is the intercept, 0 is none", way_out)


def _is(node: Any, name: str) -> bool:
    """Return True if a node is of a class of formulae's syntax trees."""
    from formulae import expr

    return isinstance(node, getattr(expr, name))


def _check_binary(formula: str, node: Any, bars: list[Any], functions: list[str]) -> None:
    operator, left, right = node.operator.kind, node.left, node.right
    if operator == "TILDE" and _bars_in(left):
        hint = "a response of trials is p(successes, trials) ~ ..."
        raise _unreadable(formula, f"the response has a bar: {_text(left)}", hint)
    if operator == "TILDE" and _is(left, "Binary"):
        hint = f"a sum of columns is I({_text(left)}) ~ ...; several responses are several models"
        raise _unreadable(formula, f"the response {_text(left)} is not one term", hint)
    if operator == "PIPE":
        if _bars_in(left) or _bars_in(right):
            hint = "groups within groups are (1 | a / b), crossed ones (1 | a) + (1 | b)"
            raise _unreadable(formula, f"({_text(node)}) has two bars", hint)
        bars.append(node)
    elif operator in _OF_TERMS and (_bars_in(left) or _bars_in(right)):
        reason = f"{_text(node)}: groups are added, and {_OF_TERMS[operator]!r} does not take them"
        raise _unreadable(formula, reason)
    elif operator == "STAR_STAR":
        base = left
        while _is(base, "Grouping"):
            base = base.expression
        if not _is(base, "Binary"):
            hint = f"a power of numbers is I({_text(base)}**{_text(right)})"
            reason = f"{_text(node)} is {_text(base)}: ** makes interactions of terms"
            raise _unreadable(formula, reason, hint)
        _check(formula, left, bars, functions)
        return
    elif operator in ("STAR", "SLASH") and any(_is(x, "Literal") for x in (left, right)):
        hint = f"numbers are multiplied in I(): I({_text(node)})"
        raise _unreadable(formula, f"{_text(node)} has a factor that is no term", hint)
    elif operator not in ("TILDE", "PLUS", *_OF_TERMS):
        hint = f"comparisons stand in I(): I({_text(node)})"
        raise _unreadable(formula, f"{_text(node)} is no term", hint)
    _check(formula, left, bars, functions)
    _check(formula, right, bars, functions)


def _bars_in(node: Any) -> bool:
    kind = type(node).__name__
    if kind == "Grouping":
        return _bars_in(node.expression)
    if kind == "Binary":
        return node.operator.kind == "PIPE" or _bars_in(node.left) or _bars_in(node.right)
    return kind == "Unary" and _bars_in(node.right)


def _calls(node: Any) -> Iterator[str]:
    """Names of called functions, those in arguments too."""
    kind = type(node).__name__
    if kind == "Call":
        yield node.callee.name.lexeme
        for argument in node.args:
            yield from _calls(argument)
    elif kind == "Binary":
        yield from _calls(node.left)
        yield from _calls(node.right)
    elif kind in ("Unary", "Grouping", "Assign"):
        part = {"Unary": "right", "Grouping": "expression", "Assign": "value"}[kind]
        yield from _calls(getattr(node, part))


def _text(node: Any) -> str:
    """A syntax tree as a formula."""
    kind = type(node).__name__
    if kind == "Grouping":
        return f"({_text(node.expression)})"
    if kind == "Binary":
        operator = node.operator.lexeme
        space = "" if operator in ("**", ":") else " "
        return f"{_text(node.left)}{space}{operator}{space}{_text(node.right)}"
    if kind == "Unary":
        return f"{node.operator.lexeme}{_text(node.right)}"
    if kind == "Call":
        return f"{_text(node.callee)}({', '.join(map(_text, node.args))})"
    if kind == "Assign":
        return f"{node.name.name.lexeme}={_text(node.value)}"
    if kind == "QuotedName":
        return str(node.expression.lexeme)
    if kind == "Literal":
        return str(node.value) if node.lexeme is None else str(node.lexeme)
    return node.name.lexeme + (f"[{_text(node.level)}]" if node.level is not None else "")
