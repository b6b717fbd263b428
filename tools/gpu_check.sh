#!/bin/sh
# Check dimtensor on the devices of JAX of this machine, and time it beside handwritten JAX.
#
#   tools/gpu_check.sh            installs JAX for CUDA beside dimtensor, then checks and times
#   JAX=jax tools/gpu_check.sh    the same on a machine without a GPU, as a rehearsal
#   tools/gpu_check.sh --here     installs nothing: the JAX that is there, whatever devices it has
#   N=10000000 tools/gpu_check.sh observations of the timed cases (default 10^7; --here 10^5)
#
# Needs a Python of 3.12 or later with venv, and the network unless --here is given. Python is $PYTHON
# (its full path), or that of .venv; an environment that is not there is made. Prints results of the
# parity tests, and a table; ends with status 1 if a test fails or a value differs.
# It was written without a GPU at hand: run on processors, not on GPUs yet.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-$PWD/.venv/bin/python}
jax=${JAX:-jax[cuda12]}
failed=0
if [ "${1:-}" = --here ]; then
    N=${N:-100000}
else
    N=${N:-10000000}
    if [ ! -x "$python" ]; then
        python3 -m venv "${python%/bin/*}"
    fi
    "$python" -m pip install --quiet --editable '.[jax,testing]' pytest "$jax"
    # tests run on processors unless a run asks for another platform
    case $jax in *cuda*) export JAX_PLATFORMS=cuda,cpu ;; esac
fi
export N PYTHONPATH="$PWD"
"$python" -c 'import jax; print("devices:", *jax.devices())'

echo "== parity: functions, raw functions, devices"
"$python" -m pytest -q -p no:cacheprovider -m "" tests/backends/test_jax_call.py \
    tests/backends/test_jax_raw.py tests/compile/devices/test_devices.py \
    -k "not eight" || { failed=1; echo "parity tests FAILED"; }

echo "== values in float64 equal those of native code to 1e-10, and times"
cd tests/benchmarks
"$python" - <<'END' || failed=1
import importlib
import os
import sys
import time

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
n = int(os.environ["N"])


def seconds(call, arguments):
    taken = []
    for _ in range(10):
        started = time.perf_counter()
        jax.block_until_ready(call(*arguments))
        taken.append(time.perf_counter() - started)
    return min(taken)


fine = True
print(f"{'case':8} {'n':>10} {'dimtensor':>12} {'jax':>12} {'ratio':>6}  largest difference")
for case in ("radon", "glm"):
    module = importlib.import_module(f"cases.{case}")
    if isinstance(module.SIZES, dict):  # columns by number of rows
        module.SIZES.setdefault(n, 10)
    p = module.problem(n)
    ours, arguments = module.dimtensor_jax(p)
    theirs, others = module.jax(p)
    exact, plain = module.dimtensor_numba(p)
    found, expected = ours(*arguments), exact(*plain)
    worst = max(
        float(np.max(np.abs(np.asarray(a) - np.asarray(b)) / (1 + np.abs(np.asarray(b)))))
        for a, b in zip(found, expected, strict=True)
    )
    mine, hand = seconds(ours, arguments), seconds(theirs, others)
    verdict = "" if worst < 1e-10 else "  DIFFERENT"
    fine &= not verdict
    print(
        f"{case:8} {n:10} {mine * 1e6:9.0f} us {hand * 1e6:9.0f} us {mine / hand:6.2f}"
        f"  {worst:.1e}{verdict}"
    )
sys.exit(not fine)
END

echo "== one log density over the devices that there are"
"$python" -m cases.shard "$N" --devices
exit "$failed"
