"""Configuration of the documentation: Sphinx with Markdown pages."""

from __future__ import annotations

import logging
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
# Importing PyTensor reports how it reads its configuration, where someone listens, as Sphinx does.
logging.getLogger("pytensor.configparser").setLevel(logging.WARNING)

project = "dimtensor"
author = "the dimtensor developers"
version = release = installed_version("dimtensor")

extensions = [
    "generated",  # docs/_ext: the op table and the API reference
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown"}

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_typehints = "none"  # the docstrings say types, with dims and shapes
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}

html_theme = "furo"
html_title = f"dimtensor {release}"
html_theme_options = {"source_directory": "docs/"}
