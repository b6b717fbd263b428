"""Adds what pages with results have: described pictures, thumbnails in the gallery, and notebooks.

A picture that a block draws is described by the section it is in. A card of the gallery shows the
last picture of its page. Tutorials and pages of the gallery are notebooks as well, without results,
whose links to other pages are plain text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

import nbformat
from checked import BLOCK
from docutils import nodes
from executed import runs, tags_of
from sphinx.application import Sphinx

FOLDER = "_notebooks"
GALLERY = "gallery/index"
_LINK = re.compile(r"\[(?P<text>[^]\n]*)\]\((?P<page>[\w./-]+)\.md(?:#[\w-]*)?\)")


def is_notebook(docname: str) -> bool:
    """Return whether a page can be downloaded as a notebook."""
    return docname != GALLERY and docname.startswith(("gallery/", "tutorial-", "getting-started"))


def notebook(page: Path) -> Any:
    """Convert a page to a notebook without results."""
    text = BLOCK.sub(_without_checks, page.read_text(encoding="utf-8"))
    found, end = [], 0
    for block in filter(runs, BLOCK.finditer(text)):
        found += _prose(text[end : block.start()], page)
        metadata = {"tags": tags_of(block)} if tags_of(block) else {}
        found.append(nbformat.v4.new_code_cell(block["code"].rstrip(), metadata=metadata))
        end = block.end()
    found += _prose(text[end:], page)
    for number, cell in enumerate(found):
        cell["id"] = str(number)  # random ones would differ from build to build
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=found, metadata={"kernelspec": kernel})


def _without_checks(match: re.Match[str]) -> str:
    return "" if match["check"] else match[0]


def _prose(text: str, page: Path) -> list[Any]:
    text = _LINK.sub(lambda link: link["text"] or _title(page.parent / f"{link['page']}.md"), text)
    return [nbformat.v4.new_markdown_cell(text.strip())] if text.strip() else []


def _title(page: Path) -> str:
    return page.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ")


def link(app: Sphinx, docname: str, source: list[str]) -> None:
    """Add a link to the notebook below the title."""
    if is_notebook(docname):
        title, rest = source[0].split("\n", 1)
        target = posixpath.relpath(f"{FOLDER}/{docname}.ipynb", posixpath.dirname(docname) or ".")
        anchor = f'<a href="{target}" download>Download this page as a notebook</a>'
        source[0] = f"{title}\n\n<p>{anchor}</p>\n{rest}"


def write(app: Sphinx, error: Exception | None) -> None:
    """Write the notebooks."""
    if error is not None or app.builder.format != "html":
        return
    for docname in filter(is_notebook, app.env.found_docs):
        path = Path(app.outdir, FOLDER, f"{docname}.ipynb")
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook(Path(app.env.doc2path(docname))), path)


def describe(app: Sphinx, doctree: nodes.document) -> None:
    """Describe pictures without a description."""
    for picture in doctree.findall(nodes.image):
        if "alt" not in picture:
            section: Any = picture
            while section is not None and not isinstance(section, nodes.section):
                section = section.parent
            title = section.next_node(nodes.title).astext() if section is not None else "results"
            picture["alt"] = f"Picture drawn by the code above: {title}"


def thumbnails(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Show the last picture of a page on its card."""
    if docname != GALLERY:
        return
    for card in list(doctree.findall(lambda node: _component(node) == "card")):
        for reference in list(card.findall(nodes.reference)):
            page = posixpath.splitext(posixpath.join("gallery", reference.get("refuri", "")))[0]
            if page not in app.env.found_docs:
                continue
            pictures = list(app.env.get_doctree(page).findall(nodes.image))
            if pictures:
                uri = pictures[-1]["uri"]
                picture = nodes.image(uri=uri, candidates={"*": uri}, alt="")
                picture["classes"].append("gallery-thumbnail")
                card.insert(0, picture)


def _component(node: nodes.Node) -> str | None:
    return node.get("design_component") if isinstance(node, nodes.Element) else None


def always_outdated(*_: object) -> list[str]:
    """Cards depend on the pictures of other pages."""
    return [GALLERY]


def setup(app: Sphinx) -> dict[str, object]:
    """Register with Sphinx."""
    app.connect("source-read", link, priority=400)  # before its blocks become cells
    app.connect("doctree-read", describe)
    app.connect("doctree-resolved", thumbnails)
    app.connect("env-get-outdated", always_outdated)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True}
