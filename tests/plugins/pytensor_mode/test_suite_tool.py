"""The script that runs PyTensor's tests, on tests made for the purpose."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import dimtensor

SCRIPT = Path(dimtensor.__file__).parent.parent / "tools" / "pytensor_suite.py"
pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(not SCRIPT.is_file(), reason="this is an installed package"),
]
TESTS = """
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile import get_default_mode

x = pt.vector("x")

def test_it_is_our_mode_and_works():
    for mode in (None, "FAST_RUN"):
        f = pytensor.function([x], x.sum(), mode=mode)
        assert f([1.0, 2.0]) == 3.0

def test_that_fails_everywhere():
    assert pytensor.function([x], x)([1.0]) == 2.0

@pytest.mark.parametrize("a", [1])
def test_that_wants_another_mode(a):
    assert type(pytensor.function([x], x * a).maker.linker).__name__ == "NumbaLinker"

@pytest.mark.xfail(type(get_default_mode().linker).__name__ == "NumbaLinker", reason="known")
def test_that_is_expected_to_fail_with_numba():
    raise TypeError

@pytest.mark.xfail(reason="known")
def test_that_is_expected_to_fail():
    raise TypeError

def test_that_skips_itself():
    pytest.skip("for one")
"""


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source" / "tests"
    folder.mkdir(parents=True)
    for name in ("__init__.py", "unittest_tools.py"):
        (folder / name).touch()
    (folder / "test_made.py").write_text(TESTS)
    return folder.parent


def run(*arguments):
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_a_difference_that_is_not_listed_is_named(source):
    done = run("--source", source, "test_made.py")
    assert "1 pass, 0 differ as listed, 2 fail in PyTensor's mode as well, 1 differ" in done.stdout
    assert "test_made.py::test_that_wants_another_mode[1]" in done.stdout
    assert done.returncode == 1


def test_without_sources_it_says_so(tmp_path):
    done = run("--source", tmp_path)
    assert done.returncode == 2
    assert "has no tests of PyTensor" in done.stderr


@pytest.fixture
def suite():
    spec = importlib.util.spec_from_file_location("pytensor_suite", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_kept_is_not_run_again(suite, source, tmp_path, monkeypatch, capsys):
    ran = []

    def differences(_, module):
        ran.append(module)
        return {f"{module}::test_wrong": "AssertionError"}, {f"{module}::test_right"}, 2

    monkeypatch.setattr(suite, "differences", differences)
    monkeypatch.setattr(suite.metadata, "version", lambda name: "9.9.9")
    command = ["suite", "--source", str(source), "--keep", str(tmp_path / "kept"), "test_made.py"]
    monkeypatch.setattr(sys, "argv", command)
    told = []
    for _ in range(2):
        assert suite.main() == 1
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    assert "1 pass, 0 differ as listed, 2 fail in PyTensor's mode as well, 1 differ" in told[0]
    assert ran == ["tests/test_made.py"]
    monkeypatch.setattr(suite.metadata, "version", lambda name: "9.9.10")
    assert suite.main() == 1
    assert len(ran) == 2


def test_patterns_of_the_list(suite):
    patterns = suite.listed()
    assert all(reason.strip() for reason in patterns.values())
    known = "tests/tensor/test_subtensor.py::TestSubtensor::test_boolean"
    assert list(suite.matching(known, patterns)) == [known.removeprefix("tests/")]
    assert not list(suite.matching(known + "[more]", patterns))
    assert list(suite.matching("tests/a.py::t[1-x]", {"a.py::t[1-*": "why"}))
