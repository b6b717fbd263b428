"""Reprs of ``dt.simplify``'s results: rules, costs, and the expression before and after."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dimtensor.compile.function import Structure
from dimtensor.display.html import (
    Html,
    Section,
    card,
    never_raises,
    preformatted,
    styled,
    table,
)
from dimtensor.errors import MissingExtraError
from dimtensor.graph.printing.formula import formula_lines

if TYPE_CHECKING:
    from dimtensor.plugins.saturation.frontend import Simplified


def rewritten_text(found: Simplified) -> str:
    """Write costs, rules and expressions as lines."""
    lines = [_headline(found)]
    if found.assumed:
        lines.append(_assumed(found))
    lines += [_times(name, count) for name, count in found.rules.items()]
    for what, x in (("before", found.given), ("after", found.result)):
        for number, lines_of in enumerate(_formulas(x)):
            lines += [f"{what if number == 0 else '':<7} {line}" for line in lines_of]
    return "\n".join(lines)


@never_raises
def rewritten_html(found: Simplified) -> str:
    """Write a card with costs, rules and their reasons, expressions and a picture of both."""
    before, after = found.polynomials
    costs = [
        ["before", _number(found.before), str(before)],
        ["after", _number(found.after), str(after)],
    ]
    reasons = found.reasons
    rules = [
        [_times(name, count), styled(reasons[name], "soft")] for name, count in found.rules.items()
    ]
    sections = [Section("Cost", table(costs, header=["", "operations", "by lengths"]))]
    if rules:
        sections.append(Section("Rules", table(rules), number=len(rules)))
    for what, x in (("Before", found.given), ("After", found.result)):
        text = "\n".join(line for lines in _formulas(x) for line in lines)
        sections.append(Section(what, preformatted(text)))
    picture = _picture(found)
    if picture is not None:
        sections.append(Section("Picture", picture, unfolded=False))
    head: list[str | Html] = [styled("Simplified", "kind"), _headline(found)]
    if found.assumed:
        head.append(styled(_assumed(found), "soft"))
    return card(head, sections)


def _headline(found: Simplified) -> str:
    if not found.rules:
        return f"no cheaper expression found: {_number(found.before)} operations"
    times = found.before / max(found.after, 1.0)
    cheaper = f", {times:.3g} times cheaper" if times >= 1.1 else ""
    return f"{_number(found.before)} operations become {_number(found.after)}{cheaper}"


def _assumed(found: Simplified) -> str:
    lengths = ", ".join(f"{dim._short}: {n:,}" for dim, n in found.assumed.items())
    return f"assumed lengths: {lengths}"


def _times(name: str, count: int) -> str:
    return name if count == 1 else f"{name} ({count} times)"


def _number(value: float) -> str:
    return f"{round(value):,}"


def _formulas(x: Any) -> Iterator[list[str]]:
    for one in Structure.of(x)[1]:
        yield formula_lines(one.node)


def _picture(found: Simplified) -> Html | None:
    try:
        return Html(found.to_graph()._repr_html_())
    except (MissingExtraError, LookupError):  # matplotlib or the pictures are not there
        return None
