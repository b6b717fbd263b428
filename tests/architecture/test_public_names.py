"""What users see of the package."""

import tomllib
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

import dimtensor as dt
from dimtensor.backends import BACKENDS, SYNONYMS, BackendName

ROOT = Path(__file__).parents[2]


def test_completion_shows_no_modules_of_the_inside():
    modules = {name for name in dir(dt) if isinstance(getattr(dt, name), ModuleType)}
    assert modules == {"datasets", "dist", "fft", "gp", "linalg", "random", "special", "supports"}
    assert {"Dim", "tensor", "function", "rewrite", "exp"} <= {*dir(dt)}
    assert not [name for name in dir(dt) if name.startswith("_")]


def test_what_is_not_there_is_an_error():
    with pytest.raises(AttributeError, match=r"dimtensor has no 'tensr' \(did you mean 'tensor'"):
        _ = dt.tensr


def test_type_checkers_know_the_backends():
    assert set(get_args(BackendName)) == {*BACKENDS, *SYNONYMS}


def test_the_package_says_who_made_it():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["authors"]
    assert "hypothesis" in str(project["optional-dependencies"]["testing"])
