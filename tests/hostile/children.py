"""Run code in a process of its own, which may crash, hang or run out of memory.

A hostile test does not do to the process of pytest what it does to dimtensor.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Ended:
    """How a process ended, and what it wrote."""

    code: int  # negative: the number of the signal that killed it
    out: str
    err: str

    @property
    def crashed(self) -> bool:
        """Whether a signal that no one sent on purpose ended the process."""
        return -self.code in {
            signal.SIGSEGV,
            signal.SIGABRT,
            signal.SIGBUS,
            signal.SIGFPE,
            signal.SIGILL,
        }

    @property
    def error(self) -> str:
        """The class of the exception that ended the process, "" if none did."""
        lines = [line for line in self.err.splitlines() if line and not line[0].isspace()]
        name = lines[-1].partition(":")[0] if lines and "Traceback" in self.err else ""
        return name.rpartition(".")[2]

    def ok(self) -> str:
        """Return what was written, after asserting that the process ended without an error."""
        assert self.code == 0, f"exit status {self.code}\n{self.out}\n{self.err}"
        return self.out.strip()


def run(
    code: str,
    *,
    timeout: float = 120.0,
    memory: int | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    before: Callable[[], object] | None = None,
) -> Ended:
    """Run the text of a program in a new interpreter and wait for its end.

    Parameters
    ----------
    code
        The program, indented as one likes.
    timeout
        Seconds after which the process is killed and :class:`TimeoutError` raised: it hung.
    memory
        Bytes of address space that the process may have.
    env
        Variables of the environment beside those of this process.
    cwd
        The folder that the process starts in.
    before
        Called in the child before the interpreter starts.
    """

    def prepare() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory is not None:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        if before is not None:
            before()

    path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
    try:
        with warnings.catch_warnings():
            # JAX warns of forks where a test before has used it; this child starts another program
            warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
            ended = subprocess.run(
                [sys.executable, "-c", textwrap.dedent(code)],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout,
                cwd=cwd,
                env={**os.environ, "PYTHONPATH": path, **(env or {})},
                preexec_fn=prepare,
            )
    except subprocess.TimeoutExpired as error:
        message = f"not done in {timeout:g} s\n{error.stdout!r}\n{error.stderr!r}"
        raise TimeoutError(message) from None
    return Ended(ended.returncode, ended.stdout, ended.stderr)
