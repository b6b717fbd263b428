"""Errors of unknown attributes, with their name or place here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, Never

from dimtensor.errors import NoAttributeError, did_you_mean
from dimtensor.spellings.renamed import DATES, FUNCTIONS, PARTS, SHIFTS
from dimtensor.spellings.table import told


def no_attribute(
    where: str, name: str, text: str, known: Collection[str], x: Any, hint: str | None = None
) -> AttributeError:
    """Return the error for an unknown attribute.

    Parameters
    ----------
    where : str
        Section of the table.
    name : str
    text : str
        Name of the object in the message.
    known : collection of str
        Known attributes.
    x : object
    hint : str, optional
        Suggestion if the table has none.
    """
    hint = told(where, name) or (_renamed(name) if where == "dt" else None) or hint
    guess = "" if hint else did_you_mean(name, [each for each in known if each[0] != "_"])
    return NoAttributeError(f"{text} has no {name!r}{guess}", hint=hint, name=name, obj=x)


def _renamed(name: str) -> str | None:
    """Return the hint for a name that a function had in an earlier version."""
    if name in PARTS:
        return f"it is a property of tensors: x.{name}"
    if name in SHIFTS:
        return f"a sequence is shifted by x.shift({{dim: {SHIFTS[name]}1}})"
    return f"its name is dt.{FUNCTIONS[name]}" if name in FUNCTIONS else None


def former_names[C: type](names: Mapping[str, str]) -> Callable[[C], C]:
    """Make a decorator of classes: an attribute under a former name is an error with the new one.

    Parameters
    ----------
    names : dict
        New names by former names.
    """

    def decorate(cls: C) -> C:
        def refuse(self: Any, name: str) -> Never:
            text = f"{type(self).__name__!r} object has no attribute {name!r}"
            if new := names.get(name):
                raise NoAttributeError(text, hint=f"its name is .{new}", name=name, obj=self)
            raise AttributeError(text, name=name, obj=self)

        cls.__getattr__ = refuse  # type: ignore[attr-defined]
        return cls

    return decorate


_OF_DIMS = {
    "size": "length", "shape": "length", "labels": "coords", "label": "coords", "values": "coords",
    "index": "coords", "categories": "coords", "levels": "coords", "ticks": "coords",
}  # fmt: skip


def no_attribute_of_dim(dim: Any, name: str) -> AttributeError:
    """Return the error for an unknown attribute of a dim."""
    new = _OF_DIMS.get(name) or (f"dt.{DATES[name]}" if name in DATES else None)
    if new is None:
        return AttributeError(f"'Dim' object has no attribute {name!r}", name=name, obj=dim)
    own = dim.name if (dim.name or "").isidentifier() else "dim"
    details = [("dim", repr(dim))]
    return NoAttributeError(f"a dim has no {name!r}", details, f"{own}.{new}", name=name, obj=dim)


def as_variable(name: str, constructor: Any) -> str:
    """Return the hint for a distribution that is looked up in the package itself.

    Parameters
    ----------
    name : str
        Of the distribution.
    constructor : callable
    """
    parameters = inspect.signature(constructor).parameters.values()
    shown = [x.name for x in parameters if x.kind is x.POSITIONAL_OR_KEYWORD]
    return (
        f"distributions are in dist, and variables have a name and one of them: "
        f"dt.rv('x', dist.{name}({', '.join(shown)}))"
    )
