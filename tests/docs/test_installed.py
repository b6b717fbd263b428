"""The wheel and the source distribution, installed where nothing but their requirements is."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest

from tests.docs.test_docs_examples import ROOT, blocks

packaging = pytest.importorskip("packaging.requirements")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = ("sampling", "viz")
FIRST_PAGES = ["README.md", "docs/installation.md", "docs/index.md", "docs/getting-started.md"]


def required(requirements: Iterable[str], extras: Iterable[str]) -> dict[str, Distribution]:
    """Every distribution that requirements bring, with what these require."""
    found: dict[str, Distribution] = {}
    visited = set()

    def add(texts: Iterable[str], extras: Iterable[str]) -> None:
        for text in texts:
            one = packaging.Requirement(text)
            applies = [
                one.marker is None or one.marker.evaluate({"extra": extra})
                for extra in (*extras, "")
            ]
            key = (one.name.lower().replace("_", "-"), *sorted(one.extras))
            if not any(applies) or key in visited:
                continue
            visited.add(key)
            try:
                found[key[0]] = distribution(one.name)
            except PackageNotFoundError:  # for another system
                continue
            add(found[key[0]].requires or [], one.extras)

    add(requirements, extras)
    return found


def environment(folder: Path) -> Path:
    """Make an environment with what is required of dimtensor, and nothing else; its Python."""
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    asked = [one for extra in EXTRAS for one in PROJECT["optional-dependencies"][extra]]
    for each in required([*PROJECT["dependencies"], *asked], []).values():
        for name in {file.parts[0] for file in each.files or ()} - {"..", "__pycache__"}:
            link = packages / name
            if not link.exists():
                link.symlink_to(Path(str(each.locate_file(name))))
    return folder / "bin" / "python"


def call(*arguments: object, folder: Path) -> str:
    """Run a program that knows neither this checkout nor the caller's settings."""
    names = {"PYTHONPATH", "DIMTENSOR_CACHE", "DIMTENSOR_VERIFY", "PYTENSOR_FLAGS"}
    variables = {name: value for name, value in os.environ.items() if name not in names}
    variables |= {"MPLBACKEND": "agg", "DIMTENSOR_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [str(each) for each in arguments],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel of this checkout, and that of the source distribution."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    for kind in ("wheel", "sdist"):
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", folder],
            cwd=ROOT,
            check=True,
            capture_output=True,
        )
    (wheel,) = folder.glob("*.whl")
    (sources,) = folder.glob("*.tar.gz")
    offline = ["--no-deps", "--no-index", "--no-build-isolation"]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    call(*pip, "wheel", "-q", *offline, "-w", folder / "of-sources", sources, folder=folder)
    (of_sources,) = (folder / "of-sources").glob("*.whl")
    return {"wheel": wheel, "sdist": of_sources}


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_the_first_pages_run_where_it_is_installed(kind, built, tmp_path):
    python = environment(tmp_path / "environment")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    call(*pip, "install", "-q", "--no-deps", "--no-index", built[kind], folder=tmp_path)
    where = call(python, "-c", "import dimtensor; print(dimtensor.__file__)", folder=tmp_path)
    assert Path(where.strip()).is_relative_to(tmp_path)
    with pytest.raises(AssertionError, match="No module named 'jax'"):
        call(python, "-c", "import jax", folder=tmp_path)
    for page in FIRST_PAGES:
        found = blocks((ROOT / page).read_text(encoding="utf-8"))
        assert found, page
        code = "\n".join(each.code for each in found if not each.is_check and not each.raises)
        script = tmp_path / "page.py"
        script.write_text(code, encoding="utf-8")
        call(python, script, folder=tmp_path)
    call(
        python,
        "-c",
        "import dimtensor as dt; print([len(dt.datasets.load(n)) for n in dt.datasets.names()])",
        folder=tmp_path,
    )
    assert str(tmp_path / "cache") in call(
        python, "-m", "dimtensor", "cache", "path", folder=tmp_path
    )


@pytest.mark.slow
def test_both_have_every_file_of_the_package(built):
    ours = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "dimtensor").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"dimtensor/py.typed", "dimtensor/datasets/radon.csv"} <= ours
    for wheel in built.values():
        names = {each for each in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in each}
        assert names == ours


def test_the_page_lists_every_extra():
    text = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    listed = set(re.findall(r"`(\w+)`", " ".join(rows)))
    assert listed == set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize(
    "urls", [{}, {"Documentation": "https://d.test/", "Source": "https://s.test"}]
)
def test_addresses_come_from_one_place(urls, tmp_path, monkeypatch):
    """Without an address the pages link to none."""
    monkeypatch.setattr(sys, "path", [*sys.path])  # the configuration adds its extensions
    lines = [f'{name} = "{url}"\n' for name, url in urls.items()]
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "conf.py").write_text((ROOT / "docs" / "conf.py").read_text())
    (tmp_path / "pyproject.toml").write_text(f"[project]\n[project.urls]\n{''.join(lines)}")
    found = runpy.run_path(str(tmp_path / "docs" / "conf.py"))
    assert found.get("html_baseurl") == urls.get("Documentation")
    assert found["html_theme_options"].get("source_repository") == urls.get("Source")
