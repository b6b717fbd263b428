"""Fills pages from the package: the op table, the distributions and the API reference.

A page asks for its part with a line that holds only ``@op-table@``, ``@distributions@``,
``@rules@``, ``@spellings@`` or ``@reference@``. They are made when the page is read, so they cannot
differ from the code that is documented.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from reference import MARKER, TOPICS, reference
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
            call = f"{row.namespace or 'x'}.{row.name}" + f"({', '.join(params)})" * bool(
                row.namespace
            )
            lines.append(f"| `{call}` | {doc} | {numpy} | {gradient} |")
        lines.append("")
    return "\n".join(lines)


def distributions() -> str:
    """One line per distribution, then a section with its density drawn."""
    from dimtensor import dist
    from dimtensor.dist.table import Missing

    lines = [
        "| Distribution | Support | logcdf | icdf | mean | variance |",
        "|---|---|---|---|---|---|",
    ]
    for row in dist.TABLE.values():
        cells = [row.logcdf, row.icdf, row.mean, row.variance]
        marks = ["–" if isinstance(cell, Missing) else "yes" for cell in cells]
        call = f"[{row.name}({', '.join(row.names)})](#{row.name.lower()})"
        support = repr(getattr(dist, row.name)(**row.example).support)
        lines.append(f"| {call} | {support} | {' | '.join(marks)} |")
    lines.append("")
    for name in sorted(set(vars(dist)) - set(dist.TABLE)):
        if not name.startswith("_") and callable(value := getattr(dist, name)):
            kind = "autoclass" if isinstance(value, type) else "autofunction"
            lines += [f"### {name}", "", "```{eval-rst}", f".. {kind}:: dimtensor.dist.{name}"]
            lines += ["```", ""]
    for row in dist.TABLE.values():
        what = "Probability of k" if row.discrete else "Density"
        lines += [f"### {row.name}", "", _drawn(row), "", f"{what}: {row.density}.", ""]
        lines += ["```{eval-rst}", f".. autofunction:: dimtensor.dist.{row.name}", "```", ""]
    return "\n".join(lines)


def _drawn(row: object) -> str:
    """The density of a row's example as a small picture."""
    import numpy as np

    import dimtensor as dt
    from dimtensor import dist

    d = getattr(dist, row.name)(**row.example)
    low, high = row.window
    points = np.arange(low, high + 1) if row.discrete else np.linspace(low, high, 201)
    density = np.exp(d.logp(dt.data(points.astype(float), dims=dt.Dim("x"))).eval().values)
    density = np.where(np.isfinite(density), density, np.nan)
    top = np.nanquantile(density, 1.0 if row.discrete else 0.99) * 1.05
    x = 10 + 280 * (points - low) / (high - low)
    y = 90 - 80 * np.clip(np.nan_to_num(density, nan=top), 0, top) / top
    if row.discrete:
        parts = [f"M{a:.1f},90V{b:.1f}" for a, b in zip(x, y, strict=True)]
        path = f'<path d="{"".join(parts)}" stroke-width="3" fill="none"/>'
    else:
        path = f'<path d="M{" L".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))}" '
        path += 'stroke-width="1.5" fill="none"/>'
    texts = [(10, f"{low:g}", "start"), (290, f"{high:g}", "end")]
    labels = "".join(
        f'<text x="{at}" y="104" font-size="10" text-anchor="{side}" stroke="none" '
        f'fill="currentColor">{text}</text>'
        for at, text, side in texts
    )
    return (
        f'<svg viewBox="0 0 300 108" width="300" stroke="currentColor" role="img" '
        f'aria-label="density of {d!r}"><path d="M10,90H290" stroke-width="0.5"/>'
        f"{path}{labels}</svg>"
    )


def rules() -> str:
    """The rules of rewriting by cost."""
    import dimtensor.plugins.saturation  # noqa: F401
    from dimtensor.plugins.saturation.rules.rule import RULES

    lines = ["| Rule | Why both sides are the same | Use |", "| --- | --- | --- |"]
    for rule in RULES:
        lines.append(f"| {rule.name} | {rule.reason} | {'always' if rule.exact else 'asked for'} |")
    return "\n".join(lines)


def spellings() -> str:
    """What PyMC has, and what is written here."""
    from dimtensor.spellings import TABLE

    lines = ["| PyMC | dimtensor |", "|---|---|"]
    lines += [f"| `{row.theirs}` | {row.ours} |" for row in TABLE if row.theirs]
    return "\n".join(lines).replace("...", "…")


MAKERS: dict[str, tuple[str, Callable[[], str]]] = {
    "ops": ("@op-table@", op_table),
    "distributions": ("@distributions@", distributions),
    "simplify": ("@rules@", rules),
    "from-pymc": ("@spellings@", spellings),
    **{f"api/{topic}": (MARKER, partial(reference, topic)) for topic in TOPICS},
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
