"""The folder of what is kept between processes."""

import stat
import sys
from pathlib import Path

import pytest

from dimtensor.backends.folders import cache_folder


@pytest.fixture(autouse=True)
def _environment(monkeypatch, tmp_path):
    monkeypatch.delenv("DIMTENSOR_CACHE", raising=False)
    monkeypatch.delenv("DIMTENSOR_CACHE_DIR", raising=False)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "platform", "linux")


def test_the_folder_of_the_environment_is_made(monkeypatch, tmp_path):
    monkeypatch.setenv("DIMTENSOR_CACHE_DIR", str(tmp_path / "a" / "b"))
    folder = cache_folder()
    assert folder == tmp_path / "a" / "b"
    assert folder.is_dir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert cache_folder() == folder  # again, when it exists


@pytest.mark.parametrize(("given", "below"), [("/caches", ""), ("caches", "home/.cache")])
def test_else_it_is_in_the_users_cache(given, below, monkeypatch, tmp_path):
    given = str(tmp_path) + given if given.startswith("/") else given
    monkeypatch.setenv("XDG_CACHE_HOME", given)
    expected = tmp_path / below if below else Path(given)
    assert cache_folder() == expected / "dimtensor"


def test_macos_has_a_library(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_folder() == tmp_path / "home" / "Library" / "Caches" / "dimtensor"


def test_nothing_is_kept_if_asked(monkeypatch, tmp_path):
    monkeypatch.setenv("DIMTENSOR_CACHE_DIR", str(tmp_path / "unused"))
    monkeypatch.setenv("DIMTENSOR_CACHE", "0")
    assert cache_folder() is None
    assert not (tmp_path / "unused").exists()


def test_nothing_is_kept_where_no_folder_can_be_made(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("DIMTENSOR_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert cache_folder() is None
    monkeypatch.setenv("DIMTENSOR_CACHE_DIR", str(tmp_path / "file"))
    assert cache_folder() is None


@pytest.mark.parametrize("chosen", ["", "~", "~/there"])
@pytest.mark.parametrize("home", ["", "relative", "/nonexistent/home", "file"])
def test_nothing_is_kept_where_there_is_no_home(chosen, home, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "relative").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "file") if home == "file" else home)
    monkeypatch.setenv("DIMTENSOR_CACHE_DIR", chosen)
    assert cache_folder() is None
    assert not Path("/nonexistent").exists()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "home", "relative"]
