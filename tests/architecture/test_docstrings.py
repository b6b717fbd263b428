"""Docstrings of everything public have the sections that numpydoc asks for.

A property has a summary. What is called has, besides, its parameters, what it returns, what it
raises and an example, which runs as a doctest. An override has the sections of what it overrides;
an example of a class that uses a member is an example of the member.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

import dimtensor as dt
from dimtensor import datasets, dist, linalg, plugins, random, testing

NAMESPACES: tuple[ModuleType, ...] = (dt, datasets, linalg, random, dist, testing)
# of a class that is not called: its constructor takes anything, to say so
_REST = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_HEADING = re.compile(r"^(\w+)\n-{3,}$", re.MULTILINE)


@dataclass(frozen=True)
class Public:
    """Something public, with the classes that document it besides itself."""

    name: str
    value: Any
    owners: tuple[type, ...] = ()
    heirs: tuple[type, ...] = ()

    @property
    def documents(self) -> list[str]:
        """Its docstring, and those of what it overrides."""
        found = [self.value] + [vars(cls).get(self.member) for cls in self.owners[1:]]
        return [doc for one in found if one is not None and (doc := inspect.getdoc(one))]

    @property
    def member(self) -> str:
        return self.name.rsplit(".", 1)[-1]


def ours(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").startswith("dimtensor")


def public(namespaces: tuple[ModuleType, ...] = NAMESPACES) -> Iterator[Public]:
    """Functions, classes and their members, each once."""
    seen: set[int] = set()
    for namespace in namespaces:
        if namespace is dt:
            dir(dt)
            known = {name: getattr(dt, name) for name in plugins.names()} | vars(dt)
        else:
            known = vars(namespace)
        for name, value in sorted(known.items()):
            if name.startswith("_") or not callable(value) or not ours(value) or id(value) in seen:
                continue
            seen.add(id(value))
            if namespace is not dt:
                name = f"{namespace.__name__.rsplit('.', 1)[-1]}.{name}"
            if not inspect.isclass(value):
                yield Public(name, value)
            else:
                yield Public(name, value, (value,))
                yield from members(value, seen)


def members(cls: type, seen: set[int]) -> Iterator[Public]:
    parts = [part for part in cls.__mro__ if ours(part)]
    for at, part in enumerate(parts):
        for name, value in vars(part).items():
            value = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
            described = isinstance(value, property) or inspect.isfunction(value)
            if name.startswith("_") or not described or id(value) in seen:
                continue
            seen.add(id(value))
            yield Public(f"{part.__name__}.{name}", value, tuple(parts[at:]), tuple(parts[:at]))


def lacking(one: Public) -> set[str]:
    """The sections that a docstring lacks, and ought to have."""
    documents = one.documents
    if not documents:
        return {"summary"}
    if isinstance(one.value, property):
        return set()
    headings = {heading for document in documents for heading in _HEADING.findall(document)}
    if inspect.isclass(one.value) and issubclass(one.value, (Exception, Warning)):
        return set()
    if "Attributes" in headings:  # of a class that only the package makes
        headings.add("Parameters")
    return {section for section in needed(one) if section not in headings}


def needed(one: Public) -> Iterator[str]:
    if not is_shown(one):
        yield "Examples"
    signature = signature_of(one.value)
    if signature is None:
        return
    if inspect.isclass(one.value):
        if any(each.kind not in _REST for each in signature.parameters.values()):
            yield "Parameters"
        return
    if set(signature.parameters) - {"self", "cls"}:
        yield "Parameters"
    if signature.return_annotation not in (None, "None", "NoReturn", inspect.Signature.empty):
        yield "Returns"
    if raises(inspect.unwrap(one.value)):
        yield "Raises"


def signature_of(value: Any) -> inspect.Signature | None:
    """How something is called; None of an object, which its class says."""
    if inspect.isclass(value) or inspect.isfunction(inspect.unwrap(value)):
        return inspect.signature(value)
    return None


def is_shown(one: Public) -> bool:
    """Whether an example of its own, or of its class, uses it."""
    if any(">>>" in document for document in one.documents):
        return True
    uses = re.compile(rf"^(?:>>>|\.\.\.) .*\.{one.member}\b", re.MULTILINE)
    return any(uses.search(inspect.getdoc(cls) or "") for cls in one.owners + one.heirs)


def raises(function: Callable[..., Any]) -> bool:
    """Whether the body has a statement that raises, and not what subclasses are to write."""
    body = ast.parse(textwrap.dedent(inspect.getsource(function)))
    raised = [node.exc for node in ast.walk(body) if isinstance(node, ast.Raise)]
    return any(error and "NotImplementedError" not in ast.unparse(error) for error in raised)


def test_docstrings_have_their_sections():
    found = {one.name: gaps for one in public() if (gaps := lacking(one))}
    assert not found, found


def test_much_is_public():
    names = [one.name for one in public()]
    assert len(names) > 600
    assert {"Dim.position", "ReductionMixin.sum", "scan", "Model.sample", "linalg.cholesky"} <= set(
        names
    )


# -- the tests of the test ---------------------------------------------------------------------


class Base:
    def method(self, x: int) -> int:
        """What the base says.

        Parameters
        ----------
        x : int

        Returns
        -------
        int
        """
        raise ValueError(x)


class Derived(Base):
    """A class.

    Examples
    --------
    >>> Derived().shown()
    """

    def method(self, x: int) -> int:
        """What this one does."""
        return x

    def shown(self) -> None:
        """Nothing."""

    def bare(self):
        return 1

    @property
    def value(self) -> int:
        """A value."""
        return 1


@pytest.mark.parametrize(
    ("owners", "name", "gaps"),
    [
        ((Base,), "method", {"Raises", "Examples"}),
        ((Derived, Base), "method", {"Examples"}),
        ((Derived, Base), "shown", set()),
        ((Derived, Base), "bare", {"summary"}),
        ((Derived, Base), "value", set()),
    ],
)
def test_gaps_are_found(owners, name, gaps):
    assert lacking(Public(f"{owners[0].__name__}.{name}", vars(owners[0])[name], owners)) == gaps


def test_gaps_of_functions_are_found():
    def function(x: int) -> int:
        """A function."""
        if x:
            raise ValueError(x)
        return x

    assert lacking(Public("function", function)) == {"Parameters", "Returns", "Raises", "Examples"}
