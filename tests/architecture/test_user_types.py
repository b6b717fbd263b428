"""Type checkers find mistakes in code that uses dimtensor, and nothing in code that is right."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

RIGHT = """
import dimtensor as dt
import xarray as xr

k = dt.Dim("k", coords=["a", "b"])
x: dt.DimTensor = dt.tensor("x", dims=k)
a = dt.scalar("a")
slope: dt.DimTensor = dt.grad((x * a).sum(), x)
slopes: list[dt.DimTensor] = dt.grad((x * a).sum(), [x, a])
rows: dt.DimTensor = dt.jacobian(x * a, x)
other: dt.DimTensor = dt.substitute(x, {"x": x + 1.0}, dims={k: k})
many: dict[str, dt.DimTensor] = dt.substitute({"x": x}, {})
grown: dt.DimTensor = dt.vectorize(x, {a: dt.Dim("draw", length=2)})
changed: dt.DimTensor = dt.rewrite(x, lambda t: t + 1.0 if t is x else None)
chosen: dt.DimTensor = dt.if_else(a > 0.0, lambda: x, lambda: 2.0 * x)
value: xr.DataArray = dt.evaluate(x, {x: [1.0, 2.0]})
f = dt.function([x], x * 2.0, backend="python")
result: xr.DataArray = f([1.0, 2.0])
g = dt.function([x], {"twice": x * 2.0})
results: dict[str, xr.DataArray] = g([1.0, 2.0])
pair: tuple[xr.DataArray, ...] = dt.function([x], (x, x))([1.0, 2.0])
print(result.sum(), x.sum("k").dims, x.mean().eval())
"""

# each line has one mistake
WRONG = """
import dimtensor as dt

k = dt.Dim("k", length=2)
x = dt.tensor("x", dims=k)
dt.function([x], x, backend="nmuba")
dt.grad(x.sum(), x).smu()
dt.jacobian(x, x).append(x)
dt.substitute(x, {x: x}).values()
dt.substitute([x], {x: x}).sum()
dt.vectorize(x, {x: k}).keys()
first: int = dt.evaluate(x)
second: int = dt.function([x], x)([1.0])
dt.function([x], {"x": x})([1.0]).sum()
dt.if_else(x > 0.0, lambda: x, lambda: x).keys()
dt.rewrite(x, lambda t: 3)
dt.exp(x).nodes
dt.tensor("x", dim=k)
x.sum(dimension="k")
third: int = dt.data_of(x)
"""


def lines_with_errors(command: list[str], path: Path) -> tuple[set[int], str]:
    done = subprocess.run(
        [*command, str(path)],
        capture_output=True, text=True, timeout=300, check=False, cwd=path.parent,
    )  # fmt: skip
    pattern = re.compile(re.escape(path.name) + r":(\d+)(?::\d+)?(?: -|:) error")
    return {int(number) for number in pattern.findall(done.stdout)}, done.stdout + done.stderr


def mypy() -> list[str]:
    pytest.importorskip("mypy")
    quiet = ["--follow-imports=silent", "--ignore-missing-imports", "--config-file="]
    return [sys.executable, "-m", "mypy", *quiet]


def pyright() -> list[str]:
    # basedpyright is pyright from PyPI, with the Node.js that it runs on
    beside = str(Path(sys.executable).parent)  # which need not be on the PATH
    program = shutil.which("basedpyright", path=beside) or shutil.which("pyright")
    if program is None:
        pytest.skip("pyright is not installed")
    return [program, "--pythonpath", sys.executable]


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_mistakes_are_found_and_nothing_else(checker, tmp_path):
    command = checker()
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(RIGHT)
    wrong.write_text(WRONG)
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "basic"}')
    found, text = lines_with_errors(command, right)
    assert not found, text
    found, text = lines_with_errors(command, wrong)
    lines = WRONG.splitlines()
    planted = {at for at, line in enumerate(lines, 1) if line and at > 5}
    assert {lines[at - 1] for at in planted - found} == set(), text
    assert found <= planted, text
