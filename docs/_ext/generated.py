"""Fills two pages from the package: the op table and the API reference.

A page asks for its part with a line that holds only ``@op-table@`` or ``@api@``. Both are made when
the page is read, so they cannot differ from the code that is documented.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable

from sphinx.application import Sphinx

KINDS = {
    "elemwise": "Elementwise",
    "reduce": "Reductions",
    "cumulate": "Cumulative operations",
}


def op_table() -> str:
    """One Markdown table per kind of op, one line per row of dimtensor's op table."""
    from dimtensor.graph.optable import TABLE, rows

    unknown = {row.kind for row in TABLE.values()} - set(KINDS)
    if unknown:
        raise ValueError(f"kinds of ops without a heading in the documentation: {unknown}")
    lines = []
    for kind, title in KINDS.items():
        lines += [
            f"## {title}",
            "",
            "| Function | What it computes | NumPy | Differentiable in |",
            "|---|---|---|---|",
        ]
        for row in rows(kind):
            params = row.params.split()
            numpy = f"`np.{row.numpy}`" if row.numpy else "–"
            gradient = ", ".join(f"`{params[k]}`" for k in row.differentiable) or "–"
            doc = row.doc.replace("|", "\\|").replace("*", "\\*")
            if row.skips:
                doc += f" Not on {row.skips.replace(' ', ', ')}."
            lines.append(f"| `{row.name}({', '.join(params)})` | {doc} | {numpy} | {gradient} |")
        lines.append("")
    return "\n".join(lines)


def api() -> str:
    """Every public name, under the summary line of the module that defines it."""
    import dimtensor

    groups: dict[str, list[str]] = {}
    for name, value in vars(dimtensor).items():
        if name.startswith("_") or inspect.ismodule(value):
            continue
        module = getattr(value, "__module__", None) or ""
        if not module.startswith("dimtensor"):
            module = "dimtensor"  # a constant: the façade is all that it has
        groups.setdefault(module, []).append(name)
    lines = []
    for module in sorted(groups, key=_place):
        lines += [f"## {_title(module)}", "", "```{eval-rst}"]
        for name in sorted(groups[module], key=str.lower):
            lines += [*_entry(name, getattr(dimtensor, name)), ""]
        lines += ["```", ""]
    return "\n".join(lines)


def _place(module: str) -> tuple[int, str]:
    order = ["tensor", "dims", "compile", "model", "graph", "interop", "display", "errors"]
    layer = module.split(".")[1] if "." in module else ""
    return (order.index(layer) if layer in order else len(order), module)


def _title(module: str) -> str:
    doc = inspect.getdoc(importlib.import_module(module)) or module
    return doc.splitlines()[0].split(":")[0].rstrip(".")


def _entry(name: str, value: object) -> list[str]:
    path = f"dimtensor.{name}"
    if inspect.isclass(value):
        lines = [f".. autoclass:: {path}", "   :members:"]
        if _has_hidden_parts(value):
            lines.append("   :inherited-members:")
        return lines
    return [f".. autofunction:: {path}" if callable(value) else f".. autodata:: {path}"]


def _has_hidden_parts(cls: type) -> bool:
    """Whether a class inherits methods that are documented nowhere else: those of mixins."""
    import dimtensor

    parts = [base for base in cls.__mro__[1:] if base.__module__.startswith("dimtensor")]
    return any(getattr(dimtensor, part.__name__, None) is not part for part in parts)


MAKERS: dict[str, tuple[str, Callable[[], str]]] = {
    "ops": ("@op-table@", op_table),
    "api": ("@api@", api),
}


def fill(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace a page's marker by what the package says now."""
    if docname in MAKERS:
        marker, make = MAKERS[docname]
        if marker not in source[0]:
            raise ValueError(f"docs/{docname}.md has no line {marker}")
        source[0] = source[0].replace(marker, make())


def always_outdated(*_: object) -> list[str]:
    """These pages depend on the package, which Sphinx does not watch."""
    return list(MAKERS)


def setup(app: Sphinx) -> dict[str, object]:
    """Register with Sphinx."""
    app.connect("source-read", fill)
    app.connect("env-get-outdated", always_outdated)
    return {"parallel_read_safe": True}
