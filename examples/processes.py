"""A log density over several processes, each with some of the devices of one mesh.

``python examples/processes.py`` starts two processes on this machine, with two devices each. On a
cluster each machine runs ``python examples/processes.py NUMBER COUNT HOST:PORT``: its number, how
many there are, and the address of the first.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Sequence

import numpy as np


def start(command: Sequence[str], count: int = 2) -> list[subprocess.Popen]:
    """Start processes of one command on this machine, with two devices each."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
    return [
        subprocess.Popen([*command, str(at), str(count), address], env=environment)
        for at in range(count)
    ]


def load() -> tuple[np.ndarray, np.ndarray]:
    """Return observations and their groups, the same in all processes."""
    rng = np.random.default_rng(0)
    return rng.normal(size=1001), rng.choice(["a", "b", "c"], 1001)


def join(number: int, count: int, address: str) -> None:
    """Become one of the processes."""
    import jax

    # a process that dies is noticed after so many seconds, and ends the others
    jax.distributed.initialize(address, count, number, heartbeat_timeout_seconds=10)


def compute() -> None:
    """Compute a log density and its gradient, and compare them with those of this process alone."""
    import jax

    import dimtensor as dt

    values, groups = load()
    obs, group = dt.Dim("obs"), dt.Dim("group", coords=["a", "b", "c"])
    theta = dt.tensor("theta", dims=group)
    fitted = theta.sel(group=dt.data(groups, obs, "group_of", group))
    logp = -((dt.data(values, obs, "y") - fitted) ** 2).sum() - (theta**2).sum()
    outputs = {"logp": logp, "gradient": dt.grad(logp, theta), "fitted": fitted}
    with dt.mesh({obs: "data"}):
        f = dt.function([theta], outputs, backend="jax")
    found = f([0.5, -0.5, 0.1])
    alone = dt.function([theta], outputs, backend="python")([0.5, -0.5, 0.1])
    for name, value in found.items():
        np.testing.assert_allclose(value.values, alone[name].values, rtol=1e-12)
    print(f"{float(found['logp'])!r} on {jax.device_count()} devices", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        processes = start([sys.executable, __file__])
        sys.exit(max(abs(process.wait()) for process in processes))
    join(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
    compute()
