"""Progress and interruption of long work in JAX programs."""

from __future__ import annotations

import itertools
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from dimtensor.backends.progress import Progress
from dimtensor.forks import freed_in_children
from dimtensor.interop.sampler_threads import delist, enlist, the_end

# Seconds between two checks of the work; steps between two callbacks of a program, which take
# longer than a step of a small model.
_PATIENCE, _EVERY = 0.1, 10
_numbers = itertools.count(1)
_watched: dict[int, _Watch] = {}


class _Watch:
    """State of running work: its number of steps, and whether it should end.

    Devices that compute a log density together tell a step before any of them tells the next one.
    They end at the same step, as those that go on would wait for the others.

    Parameters
    ----------
    devices : int
        Number of devices that run the program.
    together : int
        Number of devices in a group that computes together.

    Attributes
    ----------
    given_up : bool
    done : int
        Number of steps of the programs that are over.
    """

    def __init__(self, devices: int = 1, together: int = 1) -> None:
        self.given_up = False
        self.done = 0
        self.thread: threading.Thread | None = None
        self._devices = devices
        self._together = together
        self._lock = freed_in_children(threading.Lock())
        self._told: Counter[int] = Counter()  # by group
        self._ends: dict[int, int] = {}

    @property
    def steps(self) -> int:
        return max(self.done, _EVERY * sum(self._told.values()) // self._devices)

    def tell(self, group: int) -> None:
        """Count a step of a device in a group.

        Raises
        ------
        _GivenUp
            If the group should end with this step.
        """
        with self._lock:
            told = self._told[group]
            if self.given_up and told >= self._ends.get(group, 0):
                raise _GivenUp
            self._told[group] += 1

    def stop(self) -> None:
        with self._lock:
            if not self.given_up:
                each = self._together
                self._ends = {group: -(-told // each) * each for group, told in self._told.items()}
            self.given_up = True

    def are_over(self) -> bool:
        return self.thread is None or not self.thread.is_alive()


class _GivenUp(Exception):
    """Exception that ends a program from a callback."""


def tell_step(number: Any, at: Any) -> None:
    """Report a step of a traced program, by the number that the program is called with.

    On several devices it is followed by the number of the group that computes together.
    Every tenth step is reported, by a count that all chains share: under vmap it is one report.
    """
    _teller()(number, at)


@cache
def _teller() -> Callable[[Any, Any], Any]:
    import jax

    @jax.custom_batching.custom_vmap
    def tell(number: Any, at: Any) -> Any:
        # mapped as it stands, a condition would be chosen by, and its branch taken each time
        jax.lax.cond(at % _EVERY == 0, lambda: jax.debug.callback(_step, number), lambda: None)
        return at

    @tell.def_vmap
    def rule(size: int, mapped: list[bool], *given: Any) -> tuple[Any, bool]:
        number, at = (x[0] if each else x for x, each in zip(given, mapped, strict=True))
        return tell(number, at), False

    return tell


def _step(number: Any) -> None:
    of, *group = map(int, np.ravel(number))
    watch = _watched.get(of)
    if watch is not None:
        watch.tell(group[0] if group else 0)


def watch(
    work: Callable[[int], Iterable[int]],
    total: int,
    label: str,
    wanted: bool,
    devices: int = 1,
    together: int = 1,
) -> None:
    """Run work in several programs, with a progress line.

    It runs in a thread, so that this one hears of interruptions. It ends between two programs, or
    in one that tells its steps.

    Parameters
    ----------
    work : callable
        Of a number, with which programs tell their steps. After each program it yields how many
        steps are done.
    total : int
        Number of steps.
    label : str
    wanted : bool
        Whether there is a line; without it the work can be interrupted, too.
    devices, together : int
        Number of devices that run a program and tell its steps, and of those in a group that
        computes a log density together.

    Raises
    ------
    KeyboardInterrupt
        If it is interrupted; the work has ended then.
    """
    import jax

    number, state = next(_numbers), _Watch(devices, together)
    failed: list[BaseException] = []

    def run() -> None:
        try:
            with jax.enable_x64(True):  # each thread has its own flag
                for state.done in work(number):
                    if state.given_up:
                        return
        except BaseException as error:
            failed.append(error)
        finally:
            del _watched[number]

    thread = threading.Thread(target=run, name="dimtensor-samples", daemon=True)
    state.thread = thread
    enlist(state)
    _watched[number] = state
    thread.start()
    try:
        with Progress(f"sampling {label}", total, wanted=wanted) as progress:
            while thread.is_alive():
                thread.join(_PATIENCE)
                progress(state.steps)
                if state.given_up:
                    raise the_end()
    except BaseException:
        with _silent():
            state.stop()
            thread.join()
        raise
    finally:
        delist(state)
    if failed:
        raise failed[0]


@contextmanager
def _silent() -> Iterator[None]:
    """Silence JAX's messages about a program that was interrupted."""
    logger = logging.getLogger("jax")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
