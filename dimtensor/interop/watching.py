"""Progress and interruption of long JAX programs."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from dimtensor.backends.progress import Progress
from dimtensor.interop.sampler_threads import delist, enlist, the_end

# Seconds between two checks of a program; steps between two callbacks, which take longer than a
# step of a small model.
_PATIENCE, _EVERY = 0.1, 10
_numbers = itertools.count(1)
_watched: dict[int, _Watch] = {}


class _Watch:
    """State of a running program: its number of steps, and whether it should end."""

    def __init__(self) -> None:
        self.steps = 0
        self.given_up = False
        self.thread: threading.Thread | None = None

    def stop(self) -> None:
        self.given_up = True

    def are_over(self) -> bool:
        return self.thread is None or not self.thread.is_alive()


class _GivenUp(Exception):
    """Exception that ends a program from a callback."""


def tell_step(number: Any, at: Any) -> None:
    """Report a step of a traced program, by the number that the program is called with.

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
    watch = _watched.get(int(number))
    if watch is None:
        return
    if watch.given_up:
        raise _GivenUp
    watch.steps += _EVERY


def watch(
    program: Callable[..., Any],
    arguments: tuple[Any, ...],
    total: int,
    label: str,
    wanted: bool,
) -> Any:
    """Run a program with a progress line.

    It runs in a thread, so that this one hears of interruptions.

    Parameters
    ----------
    program : callable
        Of a number, with which it tells its steps, and the arguments.
    arguments : tuple
    total : int
        Number of steps.
    label : str
    wanted : bool
        Whether there is a line; without it the program can be interrupted, too.

    Raises
    ------
    KeyboardInterrupt
        If it is interrupted; the program has ended then.
    """
    import jax

    number, state = next(_numbers), _Watch()
    found: list[Any] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            with jax.enable_x64(True):  # each thread has its own flag
                found.append(jax.block_until_ready(program(number, *arguments)))
        except BaseException as error:
            failed.append(error)
        finally:
            del _watched[number]

    thread = threading.Thread(target=work, name="dimtensor-samples", daemon=True)
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
    return found[0]


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
