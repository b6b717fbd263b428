"""Plug-ins: the core imports none of them, and works where their folders are not there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dimtensor as dt
from dimtensor import plugins
from tests.architecture.imports import Import, imports_of, layer_of

ROOT = Path(dt.__file__).parents[1]
FOLDERS = sorted(plugins.NAMES)
# set for each test that may not fall back (``conftest.py`` in the root)
STRICT = ("DIMTENSOR_STRICT_KERNELS", "DIMTENSOR_NATIVE")
# of the core's tests, those that touch most of it in a few seconds
SAMPLE = (
    "architecture/test_public_names.py",
    "compile/test_calls.py",
    "display/test_cards.py",
    "display/test_html.py",
    "display/test_text.py",
    "model/test_backends.py",
    "tensor/test_values.py",
)


def core_imports(imports: list[Import]) -> list[str]:
    """Imports of plug-ins by modules outside of them, those for type checkers aside."""
    return [
        str(one)
        for one in imports
        if one.imported.startswith("dimtensor.plugins.")
        and layer_of(one.importer) != "plugins"
        and not one.typing_only
    ]


def test_the_core_imports_no_plugin():
    assert core_imports(imports_of(ROOT / "dimtensor")) == []


def test_an_import_of_a_plugin_is_found():
    one = Import("dimtensor.model.model", "dimtensor.plugins.toy", 3, lazy=True, typing_only=False)
    assert core_imports([one]) == ["dimtensor.model.model:3 imports dimtensor.plugins.toy"]


def test_every_folder_is_a_plugin():
    folders = [path.parent.name for path in (ROOT / "dimtensor/plugins").glob("*/__init__.py")]
    assert {*folders} <= {*FOLDERS}
    assert {path.name for path in (ROOT / "tests/plugins").iterdir() if path.is_dir()} >= {*FOLDERS}


@pytest.mark.parametrize("name", sorted(plugins.names()))
def test_names_of_plugins_are_public(name):
    assert name in dir(dt)
    assert getattr(dt, name) is getattr(dt, name)
    assert getattr(dt, name).__module__.startswith("dimtensor.plugins.")


def without(plugin: str, folder: Path) -> Path:
    """Make a repository of links that lacks the folder of a plug-in."""
    for path in ROOT.iterdir():
        if path.name in ("tests", "tools", "docs", "conftest.py", "pyproject.toml"):
            (folder / path.name).symlink_to(path)
    inside = folder / "dimtensor" / "plugins"
    inside.mkdir(parents=True)
    for source in (ROOT / "dimtensor", ROOT / "dimtensor/plugins"):
        target = folder / source.relative_to(ROOT)
        for path in source.iterdir():
            if path.name not in ("__pycache__", "plugins", plugin):
                (target / path.name).symlink_to(path)
    return folder


def run(folder: Path, *arguments: str) -> str:
    own = {x: os.environ[x] for x in os.environ if x not in STRICT}
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**own, "PYTHONPATH": str(folder)},
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("plugin", FOLDERS)
def test_the_core_works_without_a_plugin(plugin, tmp_path):
    """Names of a plug-in that is not there are unknown; tensors, models and cards are as before."""
    code = f"""
import dimtensor as dt
from dimtensor import dist

assert dt.__file__.startswith({str(tmp_path)!r}), dt.__file__
x = dt.tensor("x", dims=dt.Dim("d", coords=["a", "b"]))
mu = dt.rv("mu", dist.Normal(0.0, 1.0))
model = dt.Model(dt.rv("y", dist.Normal(mu, 1.0)))
assert "<table" in (x.sum() / 2)._repr_html_() and "mu" in model._repr_html_()
assert float(dt.function([x], x.sum(), "python")([1.0, 2.0])) == 3.0
(x.sum() / 2)._repr_latex_()
for name in {plugins.NAMES[plugin]!r}:
    assert name not in dir(dt)
    try:
        getattr(dt, name)
    except AttributeError:
        continue
    raise AssertionError(name)
print("done")
"""
    assert run(without(plugin, tmp_path), "-c", code) == "done\n"


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("plugin", FOLDERS)
def test_tests_of_the_core_pass_without_a_plugin(plugin, tmp_path):
    folder = without(plugin, tmp_path)
    files = [f"tests/{name}" for name in SAMPLE]
    shown = run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", *files)
    assert " passed" in shown
