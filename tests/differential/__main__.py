"""``python -m tests.differential``: see README.md beside."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("DIMTENSOR_CACHE", "0")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# where a variable was made is a fifth of the time, and nobody asks
os.environ.setdefault("PYTENSOR_FLAGS", "on_opt_error=raise,traceback__limit=0")


class TooLong(Exception):
    """A program took longer than it may."""


def _alarm(signum: int, frame: Any) -> None:
    raise TooLong("longer than the limit")


def programs_of(options: argparse.Namespace, seed: int) -> Any:
    from tests.differential.generate import nested_program, random_program
    from tests.random_programs.choosing import Seeded

    if options.pairs:
        return nested_program(Seeded(seed), seed)
    return random_program(Seeded(seed))


def examine(options: argparse.Namespace, seed: int) -> list[dict[str, Any]]:
    """The failures of one program, the first of each check, shrunk if that is asked for."""
    from tests.differential.checks import failures
    from tests.differential.program import source
    from tests.differential.shrink import shrink

    program = programs_of(options, seed)
    # the processor's time: how busy the machine is says nothing about the program
    signal.signal(signal.SIGPROF, _alarm)
    signal.setitimer(signal.ITIMER_PROF, options.limit)
    started = time.monotonic()
    try:
        found = failures(program, options.backend, options.check or None)
    except TooLong as error:
        found = []
        return [{"seed": seed, "check": "time", "found": repr(error), "source": source(program)}]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    reports = []
    for failure in found:
        small = program
        if options.shrink:
            small = shrink(program, failure, options.backend, options.shrink)
        reports.append(
            {"seed": seed, "check": failure.check, "found": failure.found,
             "expected": failure.expected, "source": source(small),
             "loss": f"the loss is the sum of sin(c * v) of {small.outputs[-3:]}",
             "seconds": time.monotonic() - started}
        )  # fmt: skip
    return reports


def work(options: argparse.Namespace) -> None:
    """The seeds of this process, with a line for each that begins and for each failure."""
    warnings.simplefilter("ignore")
    for seed in range(options.seed, options.seed + options.count):
        print(json.dumps({"began": seed}), flush=True)
        for report in examine(options, seed):
            print(json.dumps(report), flush=True)
    print(json.dumps({"done": True}), flush=True)


def supervise(options: argparse.Namespace) -> int:
    """Run seeds in a child that may die, and go on behind the seed that killed it."""
    seed, last, failed, wrong = options.seed, options.seed + options.count, set(), set()
    output = Path(options.output) if options.output else None
    started = time.monotonic()
    while seed < last:
        count = str(min(options.chunk, last - seed))
        command = [sys.executable, "-m", "tests.differential", *sys.argv[1:], "--child"]
        command += ["--seed", str(seed), "--count", count]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            current, done = seed, False
            print(f"-- from seed {seed}, after {time.monotonic() - started:.0f} s", flush=True)
            for line in child.stdout:
                report = json.loads(line) if line.startswith("{") else {}
                current = report.get("began", current)
                done = done or "done" in report
                if "check" in report:
                    show(report)
                    failed.add(report["seed"])
                    if not report["found"].startswith("raises ") and report["check"] != "time":
                        wrong.add(report["seed"])
                    if output:
                        with output.open("a") as file:
                            file.write(json.dumps(report) + "\n")
        if not done:
            failed.add(current)
            print(f"== seed {current}: the process died with {child.returncode}", flush=True)
        seed = current + 1
    elapsed = time.monotonic() - started
    print(f"{len(failed)} of {options.count} programs fail, {len(wrong)} with a wrong number "
          f"({options.backend}, seeds from {options.seed}, {elapsed:.0f} s)")  # fmt: skip
    return bool(failed)


def show(report: dict[str, Any]) -> None:
    print(f"== seed {report['seed']}: {report['check']}\n   found    {report['found'][:300]}\n"
          f"   expected {report.get('expected', '')[:300]}")  # fmt: skip
    print("\n".join(f"    {line}" for line in report["source"].splitlines()), flush=True)
    print(f"    # {report.get('loss', '')}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--count", type=int, default=100, help="how many programs")
    parser.add_argument("--backend", default="python", choices=["python", "numba", "jax"])
    parser.add_argument("--check", action="append", help="make this check only (repeatable)")
    parser.add_argument("--pairs", action="store_true", help="constructs nested in each other")
    parser.add_argument("--shrink", type=float, default=30.0, help="seconds for each failure, or 0")
    parser.add_argument("--limit", type=int, default=120, help="processor seconds for a program")
    parser.add_argument("--chunk", type=int, default=25, help="programs of one process")
    parser.add_argument("--output", help="a file that gets a line of JSON for each failure")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        work(options)
        return 0
    return supervise(options)


if __name__ == "__main__":
    sys.exit(main())
