"""The type checker looks at all of the package; what it leaves out can only become less."""

from __future__ import annotations

import tomllib
from pathlib import Path

import dimtensor

ROOT = Path(__file__).parents[2]


def overrides() -> list[dict]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]


def test_no_module_of_ours_is_left_out() -> None:
    for one in overrides():
        if any(
            one.get(key) for key in ("ignore_errors", "follow_imports", "ignore_missing_imports")
        ):
            assert not [name for name in one["module"] if name.startswith("dimtensor")]


# Routines that are read as text and become part of kernels, which give them their types. Take one
# out when it is checked; none comes in.
LEFT_OUT = {f"kernels/rules/{name}.py" for name in ("core_routines", "decompositions", "seeding")}


def test_files_that_are_left_out_become_no_more() -> None:
    package = Path(dimtensor.__file__).parent
    files = list(package.rglob("*.py"))
    assert len(files) > 200
    marks = ("# mypy: ignore-errors", "# mypy: disable-error-code")
    found = {path for path in files if any(mark in path.read_text() for mark in marks)}
    assert {str(path.relative_to(package)) for path in found} == LEFT_OUT
