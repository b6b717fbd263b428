"""Syntax trees of sources, parsed once for all tests of this folder that look at them."""

from __future__ import annotations

import ast
import functools


@functools.cache
def tree(text: str) -> ast.Module:
    """Return a source's tree, which nobody changes."""
    return ast.parse(text)


@functools.cache
def _by_class(text: str) -> dict[type[ast.AST], list[ast.AST]]:
    found: dict[type[ast.AST], list[ast.AST]] = {}
    for node in ast.walk(tree(text)):
        found.setdefault(type(node), []).append(node)
    return found


def nodes[T: ast.AST](text: str, *classes: type[T]) -> list[T]:
    """Return a source's nodes of some classes, those of one class in the order of `ast.walk`."""
    by_class = _by_class(text)
    return [node for each in classes for node in by_class.get(each, ())]


def forget() -> None:
    """Give back the memory."""
    tree.cache_clear()
    _by_class.cache_clear()
