"""Configuration of the documentation: Sphinx with Markdown pages."""

from __future__ import annotations

import logging
import sys
import tomllib
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
# Importing PyTensor reports how it reads its configuration, where someone listens, as Sphinx does.
logging.getLogger("pytensor.configparser").setLevel(logging.WARNING)

project = "dimtensor"
author = copyright = "the dimtensor developers"
version = release = installed_version("dimtensor")
_pyproject = Path(__file__).parents[1] / "pyproject.toml"
addresses = tomllib.loads(_pyproject.read_text(encoding="utf-8"))["project"].get("urls", {})

extensions = [
    "generated",  # docs/_ext: the op table and the API reference
    "executed",  # docs/_ext: Python blocks are cells
    "pictured",  # docs/_ext: thumbnails, descriptions of pictures, notebooks
    "myst_nb",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build", "race/*.md"]
source_suffix = {".md": "myst-nb"}

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# What a page's blocks print and give is shown as it is; an error or a warning stops the build.
nb_execution_mode = "auto"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
# A cell takes ten seconds at most where nothing else runs; this ends what hangs, and not what waits
# on a machine with other work.
nb_execution_timeout = 600
nb_merge_streams = True
nb_output_stderr = "remove-warn"
nb_code_prompt_show, nb_code_prompt_hide = "Show the code", "Hide the code"
# IPython's lexer of tracebacks knows no "…"
suppress_warnings = ["misc.highlighting_failure"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Without network the empty inventory is taken: names are shown without links, and nothing fails.
intersphinx_mapping = {
    name: (f"https://{address}/", (None, "_ext/offline.inv"))
    for name, address in {
        "python": "docs.python.org/3",
        "numpy": "numpy.org/doc/stable",
        "xarray": "docs.xarray.dev/en/stable",
        "pymc": "www.pymc.io/projects/docs/en/stable",
        "arviz": "python.arviz.org/en/stable",
    }.items()
}
intersphinx_timeout = 10

napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_typehints = "none"  # the docstrings say types, with dims and shapes
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["docs.css"]
html_js_files = ["docs.js"]
html_title = f"dimtensor {release}"
html_theme_options = {"top_of_page_buttons": []}
if "Documentation" in addresses:
    html_baseurl = addresses["Documentation"]
if "Source" in addresses:
    html_theme_options["source_repository"] = addresses["Source"]
    html_theme_options |= {"source_branch": "main", "source_directory": "docs/"}
html_show_sourcelink = False
