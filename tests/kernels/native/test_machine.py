"""What LLVM does not take, or spoils, is an exception; found late it would end the process."""

from __future__ import annotations

import ctypes

import pytest

from dimtensor.kernels.native import machine
from dimtensor.kernels.native.values import BrokenCode

pytestmark = pytest.mark.compiled

_NOT_DOMINATED = """
define i64 @kernel(i1 %c) {
entry:
  br i1 %c, label %a, label %b
a:
  %x = add i64 1, 2
  br label %b
b:
  ret i64 %x
}
"""
_SEVEN = """
@seven = global i64 7
define i64 @kernel() {
  %x = load i64, ptr @seven
  ret i64 %x
}
"""


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize(
    ("text", "said"),
    [("kernel", "expected top-level entity"), (_NOT_DOMINATED, "does not dominate all uses")],
)
def test_code_that_is_wrong_is_refused(text: str, said: str, quick: bool) -> None:
    with pytest.raises(BrokenCode, match=f"(?s)does not take the code.*{said}"):
        machine.object_code(text, quick)


@pytest.fixture
def spoiling(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Passes that make a module wrong, always or where they vectorise."""

    def spoil(module, target, loops: bool, statements: bool) -> None:
        if loops or request.param == "always":
            module.get_global_variable("seven").linkage = "common"  # which is zero at first

    monkeypatch.setattr(machine, "_optimise", spoil)


@pytest.mark.parametrize("spoiling", ["vectorising"], indirect=True)
@pytest.mark.usefixtures("spoiling")
def test_code_that_passes_spoil_goes_through_fewer() -> None:
    loaded = machine.Loaded(machine.object_code(_SEVEN))
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(loaded.address("kernel"))() == 7


@pytest.mark.parametrize("spoiling", ["always"], indirect=True)
@pytest.mark.usefixtures("spoiling")
def test_code_that_all_passes_spoil_is_refused() -> None:
    with pytest.raises(BrokenCode, match=r"(?s)LLVM's passes spoil the code.*zero initializer"):
        machine.object_code(_SEVEN)
