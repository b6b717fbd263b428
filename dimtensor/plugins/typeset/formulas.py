"""Typeset expressions: MathML, which browsers render without a library, and LaTeX.

Fractions, powers, roots, sums and selections have mathematical notation; other parts are those of
:mod:`dimtensor.graph.printing.formula`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Protocol

from dimtensor.graph import Node
from dimtensor.graph.optable import TABLE
from dimtensor.graph.printing.formula import PRECEDENCE, Operand, parts_of, terms_of, text_within
from dimtensor.graph.printing.labels import late_labels_text, where_text
from dimtensor.graph.printing.shown import shown
from dimtensor.graph.printing.words import words_of
from dimtensor.tuning import SHOWN_TERMS

_ANY, _SUM, _UNARY, _ATOM = 0, 5, 7, 10
_BUDGET, _ALL = 200, 10**6
_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "lam": "λ", "mu": "μ", "nu": "ν",
    "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "chi": "χ",
    "psi": "ψ", "omega": "ω",
}  # fmt: skip
_TEX_GREEK = {sign: f"\\{name}" for name, sign in _GREEK.items() if name != "lam"} | {
    "ε": r"\varepsilon", "φ": r"\varphi",
}  # fmt: skip
_SIGNS = {
    "-": "−", "*": "·", "==": "=", "!=": "≠", "<=": "≤", ">=": "≥", "&": "∧", "|": "∨", "~": "¬",
    "%": "mod",
}  # fmt: skip
_TEX_SIGNS = {
    "−": "-", "·": r"\cdot ", "≠": r"\ne ", "≤": r"\le ", "≥": r"\ge ", "∧": r"\wedge ",
    "∨": r"\vee ", "¬": r"\neg ", "mod": r"\bmod ", "∼": r"\sim ", "∑": r"\sum ", "∏": r"\prod ",
    "…": r"\dots ",
}  # fmt: skip
_BIG = {"sum": "∑", "prod": "∏"}


def _split(name: str) -> tuple[str, str]:
    """Split a name into a letter and its subscript; other names are kept whole."""
    base, _, index = name.partition("_")
    return (base, index) if index and (len(base) == 1 or base in _GREEK) else (name, "")


class _Markup(Protocol):
    """Interface of output formats: writers of the parts of a formula."""

    def name(self, text: str) -> str:
        base, index = _split(text)
        return self.below(self.word(base), self.index(index)) if index else self.word(text)

    def word(self, text: str) -> str: ...
    def index(self, text: str) -> str: ...
    def text(self, text: str) -> str: ...
    def number(self, text: str) -> str: ...
    def sign(self, text: str) -> str: ...
    def row(self, parts: Sequence[str]) -> str: ...
    def fraction(self, above: str, below: str) -> str: ...
    def power(self, base: str, exponent: str) -> str: ...
    def below(self, base: str, index: str) -> str: ...
    def under(self, sign: str, index: str) -> str: ...
    def root(self, x: str) -> str: ...
    def enclosed(self, x: str, left: str = "(", right: str = ")") -> str: ...


class _MathML(_Markup):
    """Writer of presentation MathML, restricted to MathML Core."""

    def word(self, text: str) -> str:
        return self.index(_GREEK.get(text, text))

    def index(self, text: str) -> str:
        return f"<mi>{escape(text)}</mi>"

    def text(self, text: str) -> str:
        # browsers drop leading and trailing blanks
        return f"<mtext>{escape(re.sub(r'^ | $', ' ', text))}</mtext>"

    def number(self, text: str) -> str:
        return f"<mn>{escape(text.replace('-', '−'))}</mn>"

    def sign(self, text: str) -> str:
        return f"<mo>{escape(text)}</mo>"

    def row(self, parts: Sequence[str]) -> str:
        return f"<mrow>{''.join(parts)}</mrow>"

    def fraction(self, above: str, below: str) -> str:
        return f"<mfrac>{self.row([above])}{self.row([below])}</mfrac>"

    def power(self, base: str, exponent: str) -> str:
        return f"<msup>{self.row([base])}{self.row([exponent])}</msup>"

    def below(self, base: str, index: str) -> str:
        return f"<msub>{self.row([base])}{self.row([index])}</msub>"

    def under(self, sign: str, index: str) -> str:
        return f"<munder><mo>{escape(sign)}</mo>{self.row([index])}</munder>"

    def root(self, x: str) -> str:
        return f"<msqrt>{x}</msqrt>"

    def enclosed(self, x: str, left: str = "(", right: str = ")") -> str:
        return self.row([f"<mo>{left}</mo>", x, f"<mo>{right}</mo>"])


class _Latex(_Markup):
    """Writer of LaTeX in math mode, as MathJax and KaTeX support it."""

    def word(self, text: str) -> str:
        sign = _GREEK.get(text)
        if sign is not None:
            return _TEX_GREEK[sign] + " "
        return _tex(text) if len(text) == 1 else self.index(text)

    def index(self, text: str) -> str:
        return rf"\mathrm{{{_tex(text)}}}"

    def text(self, text: str) -> str:
        return rf"\text{{{_tex(text)}}}"

    def number(self, text: str) -> str:
        return text

    def sign(self, text: str) -> str:
        return _TEX_SIGNS.get(text, text)

    def row(self, parts: Sequence[str]) -> str:
        return "".join(parts)

    def fraction(self, above: str, below: str) -> str:
        return rf"\frac{{{above}}}{{{below}}}"

    def power(self, base: str, exponent: str) -> str:
        return f"{{{base}}}^{{{exponent}}}"

    def below(self, base: str, index: str) -> str:
        return f"{{{base}}}_{{{index}}}"

    def under(self, sign: str, index: str) -> str:
        return f"{self.sign(sign)}_{{{index}}}"

    def root(self, x: str) -> str:
        return rf"\sqrt{{{x}}}"

    def enclosed(self, x: str, left: str = "(", right: str = ")") -> str:
        return rf"\left{left}{x}\right{right}"


_TEX_SPECIAL = {
    "\\": r"\backslash ", "{": r"\{", "}": r"\}", "_": r"\_", "$": r"\$", "%": r"\%", "#": r"\#",
    "&": r"\&", "^": r"\hat{\ }", "~": r"\sim ", "…": r"\ldots ", "'": "'",
}  # fmt: skip


def _tex(text: str) -> str:
    return "".join(_TEX_SPECIAL.get(character, character) for character in text)


def mathml(node: Node, budget: int = _BUDGET) -> str:
    """Write an expression as a ``math`` element.

    Parameters
    ----------
    node : Node
    budget : int
        Approximate number of characters; parts that do not fit become an ellipsis.

    Examples
    --------
    >>> import dimtensor as dt
    >>> mathml((dt.scalar("a") / dt.scalar("mu")).node).count("<mfrac>")
    1
    """
    inner = _Typesetter(_MathML()).whole(node, budget)
    return f'<math display="block" class="dt-math">{inner}</math>'


def latex(node: Node, budget: int = _BUDGET) -> str:
    r"""Write an expression in LaTeX, without the enclosing dollar signs.

    Examples
    --------
    >>> import dimtensor as dt
    >>> print(latex((dt.scalar("a") / dt.sqrt(dt.scalar("b"))).node))
    \frac{a}{\sqrt{b}}
    """
    return _Typesetter(_Latex()).whole(node, budget)


class _Typesetter:
    def __init__(self, writer: _Markup):
        self.w = writer

    def whole(self, node: Node, budget: int) -> str:
        node = shown([node])[0]
        if node.kind in ("rv", "named"):
            name = self.w.name(node.name or "")
            if node.kind == "named":
                return self.w.row([name, self.w.sign("="), self.put(node.inputs[0], budget)])
            law = self.w.text(node.attrs.spec.build(node.inputs).name)
            values = self._listed(node.inputs, budget)
            return self.w.row([name, self.w.sign("∼"), law, self.w.enclosed(values)])
        return self.put(node, budget)

    def put(self, node: Node, budget: int, needed: int = _ANY) -> str:
        """Write a node, in parentheses if its precedence is too low."""
        if budget < 1:
            return self.w.sign("…")
        # an expression that fits is not abbreviated
        found, binding = self._written(
            node, _ALL if text_within(node, budget) <= budget else budget
        )
        return self.w.enclosed(found) if binding < needed else found

    def _written(self, node: Node, budget: int) -> tuple[str, int]:
        words = words_of(node)
        if node.kind == "elemwise" and words is None:
            found = self._operation(node, budget)
            if found is not None:
                return found
        name = words.name if words is not None else node.attrs.name if node.kind == "reduce" else ""
        if name in _BIG and len(node.inputs) == 1:
            return self._big(node, name, budget), _SUM
        if node.kind == "index" and words is None:
            return self._index(node, budget), _ATOM
        parts, binding = parts_of(node)
        if len(parts) == 1 and isinstance(parts[0], str):
            return self._leaf(node, parts[0]), binding
        operands = [part for part in parts if isinstance(part, Operand)]
        texts = sum(len(part) for part in parts if isinstance(part, str))
        shares = iter(self._shares([part.node for part in operands], budget - texts))
        written = [
            self._piece(part)
            if isinstance(part, str)
            else self.put(part.node, next(shares), part.binding)
            for part in parts
            if part != ""
        ]
        return self.w.row(written), binding

    def _leaf(self, node: Node, text: str) -> str:
        if node.kind == "constant":
            return self.w.number(text)
        return self.w.name(text) if node.name == text else self.w.text(text)

    def _piece(self, text: str) -> str:
        sign = text.strip()
        return self.w.sign(_SIGNS[sign]) if sign in _SIGNS else self.w.text(text)

    def _shares(self, nodes: Sequence[Node], budget: int) -> list[int]:
        """Distribute characters among operands; short ones leave the rest to long ones."""
        lengths = [text_within(node, max(budget, 0)) for node in nodes]
        shares, left = [0] * len(nodes), budget
        order = sorted(range(len(nodes)), key=lambda at: lengths[at])
        for count, at in enumerate(order):
            share = left // (len(nodes) - count)
            shares[at] = int(min(share, lengths[at]))
            left -= shares[at]
        return shares

    def _listed(self, nodes: Sequence[Node], budget: int) -> str:
        parts: list[str] = []
        for node, share in zip(nodes, self._shares(nodes, budget), strict=True):
            parts += [self.w.sign(","), self.put(node, share)]
        return self.w.row(parts[1:])

    def _operation(self, node: Node, budget: int) -> tuple[str, int] | None:
        name, w = node.attrs, self.w
        shares = self._shares(node.inputs, budget - 3)
        pairs = list(zip(node.inputs, shares, strict=True))
        if name in ("divide", "power", "subtract"):
            (x, one), (y, other) = pairs
            if name == "divide":
                return w.fraction(self.put(x, one), self.put(y, other)), _UNARY
            if name == "power":
                return w.power(self.put(x, one, _ATOM), self.put(y, other)), _ATOM - 1
        if name in ("sqrt", "abs", "square", "exp"):
            ((x, one),) = pairs
            if name == "exp":
                simple = text_within(x, 24) <= 24
                return (w.power(w.name("e"), self.put(x, one)), _ATOM - 1) if simple else None
            if name == "square":
                return w.power(self.put(x, one, _ATOM), w.number("2")), _ATOM - 1
            x_written = self.put(x, one)
            return (w.root(x_written) if name == "sqrt" else w.enclosed(x_written, "|", "|")), _ATOM
        if name in ("add", "multiply"):
            everything = terms_of(node, name)
            terms = everything[:SHOWN_TERMS]
            shares = self._shares(terms, budget - 3 * len(terms))
            binding = PRECEDENCE[TABLE[name].operator]
            sign = w.sign("+" if name == "add" else "·")
            parts: list[str] = []
            for term, share in zip(terms, shares, strict=True):
                parts += [sign, self.put(term, share, binding)]
            more = [sign, w.sign("…")] if len(everything) > SHOWN_TERMS else []
            return w.row(parts[1:] + more), binding
        return None

    def _big(self, node: Node, name: str, budget: int) -> str:
        (x,) = node.inputs
        over = [dim for dim in x.dims if dim not in node.dims]
        budget = budget if budget == _ALL else budget - 6
        sign = self.w.under(_BIG[name], self.w.text(", ".join(dim._short for dim in over)))
        return self.w.row([sign, self.put(x, budget, PRECEDENCE["*"])])

    def _index(self, node: Node, budget: int) -> str:
        x, indexers = node.inputs[0], node.inputs[1:]
        shares = self._shares(node.inputs, budget - 4 * len(node.attrs.items))
        parts: list[str] = []
        for item in node.attrs.items:
            parts.append(self.w.text(f"{', ' if parts else ''}{item.dim._short} "))
            parts.append(self.w.sign("="))
            at = item.payload
            if item.kind in ("tensor", "mask") and indexers[at].kind != "label_position":
                parts.append(self.put(indexers[at], shares[at + 1]))
            elif item.kind in ("tensor", "mask"):
                parts.append(self.w.text(late_labels_text(indexers[at])))
            else:
                parts.append(self.w.text(where_text(item)))
        return self.w.below(self.put(x, shares[0], _ATOM), self.w.row(parts))
