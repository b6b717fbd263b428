"""The example of a cluster starts one, and finds what was simulated."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.compiled
def test_the_example_runs_on_two_processes(tmp_path: Path):
    pytest.importorskip("distributed")
    pytest.importorskip("nutpie")
    command = [sys.executable, ROOT / "examples/cluster.py", "--rows=100000", "--draws=60"]
    options = {"capture_output": True, "text": True, "check": True, "timeout": 500}
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    env = {**os.environ, "PYTHONPATH": paths, "PYTHONWARNINGS": "default"}
    text = subprocess.run(command, cwd=tmp_path, env=env, **options).stdout
    slope = re.search(r"slope: ([\d.]+)", text)
    assert slope is not None
    assert float(slope[1]) == pytest.approx(0.3, abs=0.05)
