"""Where machine code cannot be loaded, numba compiles, and a warning says so once."""

from __future__ import annotations

import resource
import warnings
from pathlib import Path

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.kernels import compiler
from dimtensor.kernels.native import machine
from dimtensor.kernels.native.linking import symbols
from dimtensor.kernels.native.linking.loaded import Loaded
from dimtensor.kernels.native.values import NotLoadable

pytestmark = pytest.mark.compiled


@pytest.fixture(params=["windows", "no C library", "no target"])
def platform(request, monkeypatch):
    """A process like those of platforms that we do not have."""

    def fail(*_):
        raise TypeError("there is none")

    if request.param == "windows":
        monkeypatch.setattr("sys.platform", "win32")
    else:
        where = (
            (symbols, "library")
            if request.param == "no C library"
            else (machine, "_target_machine")
        )
        monkeypatch.setattr(*where, fail)
    machine._problem.cache_clear()
    compiler._warn_once.cache_clear()
    yield request.param
    machine._problem.cache_clear()
    compiler._warn_once.cache_clear()


def called_once(x):
    f = dt.function([x], dt.exp(x) + 1)
    assert f(0.5) == pytest.approx(np.exp(0.5) + 1)
    return f


@pytest.mark.falls_back  # no machine code can be loaded
def test_numba_compiles_where_machine_code_is_not_loaded(platform):
    x = dt.scalar("x")
    with pytest.warns(dt.NotNativeWarning, match="kernels are compiled by numba"):
        f = called_once(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dt.function([x], dt.sin(x))(0.5) == pytest.approx(np.sin(0.5))
        assert f.positional(np.array(1.0))[0] == pytest.approx(np.e + 1)


def test_no_machine_code_is_made_either(platform):
    with pytest.raises(NotLoadable, match="machine code"):
        machine.check_platform()
    load = machine.Engine if platform == "no target" else Loaded  # Linux links without LLVM
    with pytest.raises(NotLoadable, match="machine code"):
        load(b"")


@pytest.mark.parametrize(("setting", "calls"), [("0", 0), ("", 0), ("1", 1)])
def test_the_allocator_of_the_process_is_changed_on_request_only(setting, calls, monkeypatch):
    asked = []

    class Library:
        @staticmethod
        def malloc(size):
            asked.append(size)

        @staticmethod
        def free(block):
            assert block is None

    monkeypatch.setenv("DIMTENSOR_KEEP_MEMORY", setting)
    symbols._keep_freed_memory(Library)
    assert len(asked) == calls


def pages_are_large():
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return setting.exists() and "[never]" not in setting.read_text()


@pytest.mark.compiled
@pytest.mark.skipif(not pages_are_large(), reason="the system has no large pages")
def test_large_temporaries_are_given_few_pages():
    t = dt.Dim("t")
    x = dt.tensor("x", dims=t)
    last = dt.reduce(lambda state, x: dt.sin(state) + x, 0.0, x, dim=t)
    f = dt.function([x], [last, dt.grad(last, x).sum()]).positional
    n = 6_000_000  # glibc keeps no blocks of that size
    given = np.zeros(n)
    assert f(given)[0] == 0.0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    assert f(given)[1] == n  # the states of all steps are kept
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 8 * n / 4096 / 2
