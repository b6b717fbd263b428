"""Print the lowest versions that pyproject.toml declares, as constraints for pip.

``make lowest`` installs them and runs tests with them: what is declared and never tried is wrong
sooner or later.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

# What runs in the environment: tools that only read code are left out, and PyMC, whose own
# dependencies ask for a newer SciPy than any of ours.
EXTRAS = ("jax", "sampling", "testing", "viz")
TOOLS = ("pytest",)
_REQUIREMENT = re.compile(r"([A-Za-z0-9_.-]+)\s*>=\s*([0-9][0-9A-Za-z.]*)")


def lowest(pyproject: Path) -> dict[str, str]:
    """Return the lowest allowed version of each dependency.

    Raises
    ------
    ValueError
        If a dependency has no lower bound.
    """
    project = tomllib.loads(pyproject.read_text())["project"]
    extras = project["optional-dependencies"]
    declared = list(project["dependencies"])
    for extra in EXTRAS:
        declared += extras[extra]
    declared += [one for one in extras["dev"] if one.startswith(TOOLS)]
    found = {}
    for requirement in declared:
        match = _REQUIREMENT.fullmatch(requirement)
        if match is None:
            raise ValueError(f"{requirement!r} has no lower bound")
        found[match[1]] = match[2]
    return found


if __name__ == "__main__":
    for name, version in lowest(Path(__file__).parent.parent / "pyproject.toml").items():
        print(f"{name}=={version}")
