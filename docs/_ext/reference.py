"""Writes the API reference: a page for each topic, with a table of names and a section for each.

``docs/api/<topic>.md`` holds a title, some words, and a line ``@reference@``. What belongs to a
topic follows from the module that defines it, so a new name of a module needs nothing, and one of
a module that no topic has stops the build.
"""

from __future__ import annotations

import importlib
import inspect
import operator
import re
from collections.abc import Iterator
from functools import cached_property
from types import ModuleType
from typing import NamedTuple

MARKER = "@reference@"


class Entry(NamedTuple):
    """A public name: its path below the package, what it is, and the topic that has it."""

    path: str
    value: object
    topic: str


# topic: prefixes of modules; the longest prefix decides
TOPICS = {
    "dims": "dims interop.align tensor.ragged",
    "tensors": "tensor.core tensor.inputs tensor.constructors tensor.joining tensor.check "
    "tensor.tables tensor.handle tensor.values tensor.changes tensor.arithmetic "
    "streams",
    "selection": "tensor.selection",
    "elements": "tensor.elementwise",
    "special": "special",
    "reductions": "tensor.reductions tensor.functions",
    "along": "tensor.along dims.calendar",
    "loops": "tensor.control graph.checkpoints",
    "linalg": "tensor.linalg",
    "derivatives": "tensor.autodiff",
    "compiling": "tensor.evaluate compile caches explanation plugins.saturation",
    "graphs": "tensor.graphs graph",
    "random": "random",
    "supports": "dist.supports",
    "gp": "dist.processes.kernels dist.processes.stationary dist.processes.points "
    "dist.processes.conditional dist.approximations",
    "models": "model",
    "marginalization": "marginal",
    "interop": "interop plugins.pytensor_mode tensor.positional",
    "display": "display plugins.pictures plugins.report plugins.typeset",
    "errors": "errors",
    "testing": "testing",
}
# what is not defined by the module that its topic is told by
ELSEWHERE = {
    "DimTensor.eval": "tensors",
    "DimTensor.to_xtensor": "interop",
    "DimTensor.to_shaped": "interop",
    "WORD": "random",
}
# members of dims that the package itself asks for
INSIDE = {"bases", "namespace", "parents", "short", "sort_key", "title", "unrenamed"}
# classes of what functions give, which have no name in `dimtensor`
RESULTS = {
    "selection": "tensor.selection.groupby.GroupBy",
    "reductions": "tensor.reductions.weighted.Weighted",
    "along": "tensor.along.windows.Rolling tensor.along.growing.RollingExp "
    "tensor.along.growing.Cumulative tensor.along.coarsen.Coarsen tensor.along.time.Resample "
    "tensor.along.labels.Loc",
    "compiling": "compile.function.CompiledFunction",
    "random": "random.generator.Generator",
}
# modules whose names are public, beside the package itself; distributions have their own page
MODULES = (
    "fft",
    "gp",
    "linalg",
    "random",
    "special",
    "supports",
    "testing",
    "testing.comparing",
    "testing.differences",
    "testing.strategies",
)


def entries() -> list[Entry]:
    """Every public name, once."""
    import dimtensor

    found = [*_names(dimtensor, ""), *_methods(dimtensor.DimTensor)]
    for module in MODULES:
        if module.partition(".")[0] == "testing":
            importlib.import_module(f"dimtensor.{module}")
        part = operator.attrgetter(module)(dimtensor)
        known = {id(entry.value) for entry in found}
        found += [entry for entry in _names(part, f"{module}.") if id(entry.value) not in known]
    for topic, paths in RESULTS.items():
        for path in paths.split():
            module, name = path.rsplit(".", 1)
            value = getattr(importlib.import_module(f"dimtensor.{module}"), name)
            found = [entry for entry in found if entry.value is not value]
            found.append(Entry(path, value, topic))
    return found


def topic_of(module: str, name: str) -> str:
    """The topic whose modules have the longest prefix of a module's name."""
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    below = module.removeprefix("dimtensor.")
    hits = [
        (len(prefix), topic)
        for topic, prefixes in TOPICS.items()
        for prefix in prefixes.split()
        if below == prefix or below.startswith(f"{prefix}.")
    ]
    if not hits:
        raise ValueError(f"{name} of {module} is in no topic of docs/_ext/reference.py")
    return max(hits)[1]


def reference(topic: str) -> str:
    """The tables and sections of one topic, as Markdown."""
    mine = [entry for entry in entries() if entry.topic == topic]
    functions = [e for e in mine if not _is_method(e) and not inspect.isclass(e.value)]
    classes = [e for e in mine if inspect.isclass(e.value)]
    methods = [e for e in mine if _is_method(e)]
    lines: list[str] = []
    for title, part in (
        ("Functions", functions),
        ("Methods of tensors", methods),
        ("Classes", classes),
    ):
        if part:
            lines += [f"## {title}", "", *_table(part), ""]
            for entry in sorted(part, key=_order):
                if len(members := _members(entry)) > 2:
                    lines += [f"### {entry.path.rsplit('.', 1)[-1]}", "", *_table(members), ""]
                lines += ["```{eval-rst}", *_section(entry, members), "```", ""]
    return "\n".join(lines)


def summary(value: object) -> str:
    """The first line of a docstring, as Markdown that fits into a table."""
    doc = inspect.getdoc(value) or ""
    line = " ".join(doc.split("\n\n")[0].split())
    line = re.sub(r":\w+:`~?([^`<]*?)(?: <[^`>]*>)?`", r"`\1`", line).replace("``", "`")
    parts = re.split(r"(`[^`]*`)", line)
    for at in range(0, len(parts), 2):  # between pieces of code
        parts[at] = re.sub(r"([*_$<>\[\]])", r"\\\1", parts[at])
    return "".join(parts).replace("|", "\\|")


def _names(module: ModuleType, prefix: str) -> Iterator[Entry]:
    names = getattr(module, "__all__", None) or [n for n in dir(module) if n[0] != "_"]
    for name in names:
        value = getattr(module, name)
        home = getattr(value, "__module__", None) or ""
        foreign = prefix.startswith("testing.") and not home.startswith(module.__name__)
        if not inspect.ismodule(value) and not foreign:
            topic = prefix.removesuffix(".")
            yield Entry(prefix + name, value, topic if topic in TOPICS else topic_of(home, name))


def _methods(cls: type) -> Iterator[Entry]:
    for part in cls.__mro__[:-1]:
        for name in vars(part):
            if not name.startswith("_") and inspect.getdoc(getattr(cls, name)):
                path = f"DimTensor.{name}"
                yield Entry(path, getattr(cls, name), topic_of(part.__module__, path))


def _is_method(entry: Entry) -> bool:
    return entry.path.startswith("DimTensor.")


def _order(entry: Entry) -> str:
    return entry.path.rsplit(".", 1)[-1].lower()


def _table(part: list[Entry]) -> list[str]:
    lines = ["| Name | Summary |", "|---|---|"]
    for entry in sorted(part, key=_order):
        shown = entry.path.rsplit(".", 1)[-1]
        lines.append(f"| {{py:obj}}`{shown} <dimtensor.{entry.path}>` | {summary(entry.value)} |")
    return lines


def _members(entry: Entry) -> list[Entry]:
    """What is documented of a class: names with words, its own or those of its mixins."""
    import dimtensor

    cls = entry.value
    if not inspect.isclass(cls) or issubclass(cls, BaseException) or cls is dimtensor.DimTensor:
        return []
    derived = issubclass(cls, dimtensor.Dim) and cls is not dimtensor.Dim
    found = {}
    for part in cls.__mro__:
        if not part.__module__.startswith("dimtensor") or derived:
            continue
        for name, value in vars(part).items():
            told = callable(value) or isinstance(value, property | classmethod | cached_property)
            if name[0] != "_" and told and inspect.getdoc(getattr(cls, name)):
                found.setdefault(name, Entry(f"{entry.path}.{name}", getattr(cls, name), ""))
    return [each for name, each in found.items() if name not in INSIDE]


def _section(entry: Entry, members: list[Entry]) -> list[str]:
    path = f"dimtensor.{entry.path}"
    if _is_method(entry):
        kind = "automethod" if callable(entry.value) else "autoproperty"
        return [f".. {kind}:: {path}"]
    if inspect.isclass(entry.value):
        names = ", ".join(each.path.rsplit(".", 1)[-1] for each in members)
        options = ["   :inherited-members:", f"   :members: {names}"]
        return [f".. autoclass:: {path}", *(options if names else ["   :no-members:"])]
    return [f".. autofunction:: {path}" if callable(entry.value) else f".. autodata:: {path}"]
