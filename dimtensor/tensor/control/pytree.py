"""Trees of tensors: nested containers as states, sequences and traces of loops."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dimtensor.errors import ArgumentError


class TreeDef(NamedTuple):
    """Structure of nested containers.

    Attributes
    ----------
    kind : type or None
        The type of the container; None for a leaf.
    keys : tuple
        Keys, fields or positions of its parts.
    parts : tuple of TreeDef
    """

    kind: type | None
    keys: tuple[Any, ...] = ()
    parts: tuple[Any, ...] = ()

    def __str__(self) -> str:
        if self.kind is None:
            return "*"
        if self.kind is type(None):
            return "None"
        inner = ", ".join(
            str(part) if isinstance(key, int) and not issubclass(self.kind, Mapping)
            else f"{key!r}: {part}" if issubclass(self.kind, Mapping) else f"{key}={part}"
            for key, part in zip(self.keys, self.parts, strict=True)
        )  # fmt: skip
        if self.kind is tuple:
            return f"({inner}{',' if len(self.parts) == 1 else ''})"
        if self.kind in (list, dict):
            return f"[{inner}]" if self.kind is list else f"{{{inner}}}"
        return f"{self.kind.__name__}({inner})"

    def described(self) -> str:
        """Write the structure for an error message."""
        return "one value" if self.kind is None else str(self)


_LEAF = TreeDef(None)


def _split(value: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
    """Return the keys and the parts of a container, or None for a leaf."""
    if value is None:
        return (), ()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return value._fields, tuple(value)
    if type(value) in (tuple, list):
        return tuple(range(len(value))), tuple(value)
    if isinstance(value, dict):
        return tuple(value), tuple(value.values())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = tuple(field.name for field in dataclasses.fields(value))
        return names, tuple(getattr(value, name) for name in names)
    return None


def parts_of(value: Any) -> tuple[Any, ...]:
    """Return the parts of a container; a leaf has none."""
    found = _split(value)
    return () if found is None else found[1]


def flatten(value: Any) -> tuple[list[Any], TreeDef]:
    """Split nested containers into their leaves and their structure.

    Tuples, lists, dicts, named tuples, dataclasses and None are containers, other values leaves.

    Examples
    --------
    >>> flatten({"a": 1, "b": (2, None)})[0]
    [1, 2]
    """
    found = _split(value)
    if found is None:
        return [value], _LEAF
    keys, values = found
    flat = [flatten(part) for part in values]
    tree = TreeDef(type(value), keys, tuple(tree for _, tree in flat))
    return [leaf for leaves, _ in flat for leaf in leaves], tree


def unflatten(tree: TreeDef, leaves: Sequence[Any]) -> Any:
    """Build nested containers from a structure and leaves.

    Examples
    --------
    >>> unflatten(flatten({"a": 1, "b": (2, None)})[1], ["x", "y"])
    {'a': 'x', 'b': ('y', None)}
    """
    return _filled(tree, iter(leaves))


def _filled(tree: TreeDef, leaves: Iterator[Any]) -> Any:
    kind = tree.kind
    if kind is None:
        return next(leaves)
    if kind is type(None):
        return None
    values = [_filled(part, leaves) for part in tree.parts]
    if issubclass(kind, dict):
        return dict(zip(tree.keys, values, strict=True))
    if kind in (tuple, list):
        return kind(values)
    if issubclass(kind, tuple):
        return kind(*values)
    new = object.__new__(kind)
    for key, value in zip(tree.keys, values, strict=True):
        object.__setattr__(new, key, value)
    return new


def leaves_like(tree: TreeDef, value: Any, what: str) -> list[Any]:
    """Return the leaves of containers of a given structure; the order of dicts may differ.

    Raises
    ------
    ArgumentError
        If the structure is different.
    """
    found = _like(tree, value)
    if found is None:
        raise ArgumentError(
            f"{what} is of another structure than what went in",
            [("went in", tree.described()), ("came out", flatten(value)[1].described())],
            "a step returns a state of the structure that it gets",
        )
    return found


def _like(tree: TreeDef, value: Any) -> list[Any] | None:
    if tree.kind is None:
        return [value] if _split(value) is None else None
    parts = _split(value)
    if parts is None or (type(value) is not tree.kind and not _both_dicts(tree, value)):
        return None
    keys, values = parts
    if set(keys) != set(tree.keys):
        return None
    by_key = dict(zip(keys, values, strict=True))
    leaves: list[Any] = []
    for key, part in zip(tree.keys, tree.parts, strict=True):
        below = _like(part, by_key[key])
        if below is None:
            return None
        leaves += below
    return leaves


def _both_dicts(tree: TreeDef, value: Any) -> bool:
    return tree.kind is not None and issubclass(tree.kind, dict) and isinstance(value, dict)


def paths(tree: TreeDef, root: str) -> list[str]:
    """Return the path of each leaf, for error messages.

    Examples
    --------
    >>> paths(flatten({"a": 1, "b": (2, None)})[1], "state")
    ["state['a']", "state['b'][0]"]
    """
    if tree.kind is None:
        return [root]
    write: Callable[[Any], str] = "[{!r}]".format
    if tree.kind not in (tuple, list) and not issubclass(tree.kind, dict):
        write = ".{}".format
    return [
        path
        for key, part in zip(tree.keys, tree.parts, strict=True)
        for path in paths(part, root + write(key))
    ]
