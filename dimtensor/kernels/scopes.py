"""Temporaries of loop nests, and of what lies outside of all loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dimtensor.kernels.elements import Term

if TYPE_CHECKING:
    from dimtensor.kernels.emit import Emitter


class Scope:
    """Temporaries of one loop nest, each written once."""

    def __init__(self, emitter: Emitter):
        self.emitter = emitter
        self.memo: dict[tuple, Term] = {}
        self.temporaries: list[tuple[str, str, frozenset]] = []
        self._by_text: dict[tuple[str, str], Term] = {}
        self.negated: dict[str, str] = {}  # what temporaries are the negatives of
        self.dtypes: dict[str, str] = {}
        self.calls: set[str] = set()
        self.accesses: list[tuple[frozenset, ...]] = []

    def temporary(self, text: str, loops: frozenset, dtype: str) -> Term:
        known = self._by_text.get((text, dtype))
        if known is not None and known.loops == loops:
            return known
        name = self.emitter.fresh("t")
        self.temporaries.append((name, text, loops))
        self.dtypes[name] = dtype
        term = self._by_text[text, dtype] = Term(name, loops)
        return term


class TopScope(Scope):
    """Scalars outside of all loops, written as soon as they are needed."""

    def temporary(self, text: str, loops: frozenset, dtype: str) -> Term:
        name = self.emitter.fresh("s")
        self.emitter.lines.append(f"{name} = {text}")
        return Term(name)
