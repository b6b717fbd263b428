"""Teams of threads that call machine code for the slices of a batch, without Python's lock.

A thread takes the next slice by decrementing a counter, and calls a function of the prototype of
:mod:`dimtensor.kernels.native.flat`. Helpers that find no slice wait actively for a while, because
a sampler asks for the next gradient after some microseconds, whereas to wake a thread takes fifty;
then they sleep until the next batch begins.

All threads share a block of memory (``_Memory``). Its first word, the state, is the number of the
batch (upper half) and the number of slices that nobody has taken (lower half). A thread that has
decremented it owns a slice, and the batch does not end before it says that the slice is done; so
it may read the other words of the batch. A helper that is late takes part in the batch that it
finds.
"""

from __future__ import annotations

import ctypes
import platform
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from dimtensor.caches import when_gone
from dimtensor.kernels.native.linking import symbols
from dimtensor.kernels.native.linking.loaded import Loaded
from dimtensor.tuning import HELPER_WAIT, OWN_NAP, OWN_SLICES

# Offsets in the memory of a team, in bytes. Words that several threads write have cache lines of
# their own.
_DONE, _SLEEPERS, _STOPPED, _WAITS = 64, 128, 136, 144
_COUNT, _FUNCTION, _CALLS, _CODES = 192, 200, 208, 216
_MUTEX, _BEGUN, _ENDED, _SIZE = 256, 384, 512, 640
_BUSY, _TAKEN, _FINISHED = 2, 1, 0  # answers of `finish`
_PYTHON = "PyEval_SaveThread", "PyEval_RestoreThread"

_PAUSES = {
    "x86_64": "call void @llvm.x86.sse2.pause()",
    "AMD64": "call void @llvm.x86.sse2.pause()",
    "aarch64": "call void @llvm.aarch64.hint(i32 1)",
    "arm64": "call void @llvm.aarch64.hint(i32 1)",
}
_DECLARED = {
    "call void @llvm.x86.sse2.pause()": "declare void @llvm.x86.sse2.pause()",
    "call void @llvm.aarch64.hint(i32 1)": "declare void @llvm.aarch64.hint(i32)",
}


def _address(name: str, offset: int) -> str:
    return f"  %{name} = getelementptr i8, ptr %team, i64 {offset}"


_PAUSE = _PAUSES.get(platform.machine(), "")
_TEXT = f"""
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
{_DECLARED.get(_PAUSE, "")}

define void @make(ptr %team) {{
{_address("mutex", _MUTEX)}
{_address("begun", _BEGUN)}
{_address("ended", _ENDED)}
  %a = call i32 @pthread_mutex_init(ptr %mutex, ptr null)
  %b = call i32 @pthread_cond_init(ptr %begun, ptr null)
  %c = call i32 @pthread_cond_init(ptr %ended, ptr null)
  ret void
}}

define internal void @wake(ptr %team, ptr %condition) {{
{_address("mutex", _MUTEX)}
  %a = call i32 @pthread_mutex_lock(ptr %mutex)
  %b = call i32 @pthread_cond_broadcast(ptr %condition)
  %c = call i32 @pthread_mutex_unlock(ptr %mutex)
  ret void
}}

define void @begin(ptr %team, ptr %function, ptr %calls, ptr %codes, i64 %count) {{
entry:
{_address("places.count", _COUNT)}
{_address("places.function", _FUNCTION)}
{_address("places.calls", _CALLS)}
{_address("places.codes", _CODES)}
{_address("done", _DONE)}
{_address("sleepers", _SLEEPERS)}
{_address("begun", _BEGUN)}
  store i64 %count, ptr %places.count
  store ptr %function, ptr %places.function
  store ptr %calls, ptr %places.calls
  store ptr %codes, ptr %places.codes
  store atomic i64 0, ptr %done seq_cst, align 8
  %before = load atomic i64, ptr %team seq_cst, align 8
  %number = lshr i64 %before, 32
  %next = add i64 %number, 1
  %high = shl i64 %next, 32
  %state = or i64 %high, %count
  store atomic i64 %state, ptr %team seq_cst, align 8
  %asleep = load atomic i64, ptr %sleepers seq_cst, align 8
  %any = icmp ne i64 %asleep, 0
  br i1 %any, label %rouse, label %out
rouse:
  call void @wake(ptr %team, ptr %begun)
  br label %out
out:
  ret void
}}

define internal void @note(ptr %team, i64 %number, i64 %count) {{
entry:
{_address("done", _DONE)}
{_address("waits", _WAITS)}
{_address("ended", _ENDED)}
  %before = atomicrmw add ptr %done, i64 %number seq_cst
  %now = add i64 %before, %number
  %last = icmp eq i64 %now, %count
  br i1 %last, label %tell, label %out
tell:
  %asleep = load atomic i64, ptr %waits seq_cst, align 8
  %any = icmp ne i64 %asleep, 0
  br i1 %any, label %rouse, label %out
rouse:
  call void @wake(ptr %team, ptr %ended)
  br label %out
out:
  ret void
}}

define void @cancel(ptr %team, i64 %count) {{
entry:
  %before = atomicrmw and ptr %team, i64 -4294967296 seq_cst
  %left = and i64 %before, 4294967295
  %any = icmp ne i64 %left, 0
  br i1 %any, label %tell, label %out
tell:
  call void @note(ptr %team, i64 %left, i64 %count)
  br label %out
out:
  ret void
}}

define internal i1 @step(ptr %team) {{
entry:
  %first = load atomic i64, ptr %team acquire, align 8
  br label %try
try:
  %state = phi i64 [ %first, %entry ], [ %seen, %take ]
  %left = and i64 %state, 4294967295
  %none = icmp eq i64 %left, 0
  br i1 %none, label %nothing, label %take
take:
  %fewer = sub i64 %state, 1
  %pair = cmpxchg ptr %team, i64 %state, i64 %fewer seq_cst seq_cst, align 8
  %seen = extractvalue {{ i64, i1 }} %pair, 0
  %won = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %won, label %call, label %try
call:
{_address("places.count", _COUNT)}
{_address("places.function", _FUNCTION)}
{_address("places.calls", _CALLS)}
{_address("places.codes", _CODES)}
  %count = load i64, ptr %places.count
  %function = load ptr, ptr %places.function
  %calls = load ptr, ptr %places.calls
  %codes = load ptr, ptr %places.codes
  %at = sub i64 %count, %left
  %own = getelementptr [3 x ptr], ptr %calls, i64 %at
  %second = getelementptr ptr, ptr %own, i64 1
  %third = getelementptr ptr, ptr %own, i64 2
  %arrays = load ptr, ptr %own
  %results = load ptr, ptr %second
  %closure = load ptr, ptr %third
  %code = call i32 %function(ptr %arrays, ptr %results, ptr %closure)
  %place = getelementptr i32, ptr %codes, i64 %at
  store i32 %code, ptr %place
  %fine = icmp eq i32 %code, 0
  br i1 %fine, label %ended, label %failed
failed:
  call void @cancel(ptr %team, i64 %count)
  br label %ended
ended:
  call void @note(ptr %team, i64 1, i64 %count)
  ret i1 true
nothing:
  ret i1 false
}}

define void @pause(i64 %times) {{
entry:
  br label %next
next:
  %at = phi i64 [ 0, %entry ], [ %at.next, %again ]
  %more = icmp ult i64 %at, %times
  br i1 %more, label %again, label %out
again:
  {_PAUSE}
  %at.next = add i64 %at, 1
  br label %next
out:
  ret void
}}

define i64 @finish(ptr %team, i64 %most, i64 %waits) {{
entry:
{_address("done", _DONE)}
{_address("places.count", _COUNT)}
  %lock = call ptr @PyEval_SaveThread()
  br label %next
next:
  %at = phi i64 [ 0, %entry ], [ %at.next, %again ]
  %more = icmp ult i64 %at, %most
  br i1 %more, label %again, label %out
again:
  %at.next = add i64 %at, 1
  %found = call i1 @step(ptr %team)
  br i1 %found, label %next, label %look
look:
  %waited = phi i64 [ 0, %again ], [ %waited.next, %longer ]
  %count = load i64, ptr %places.count
  %ended = load atomic i64, ptr %done seq_cst, align 8
  %all = icmp eq i64 %ended, %count
  br i1 %all, label %out, label %wait
wait:
  %patient = icmp ult i64 %waited, %waits
  br i1 %patient, label %longer, label %out
longer:
  %waited.next = add i64 %waited, 1
  {_PAUSE}
  br label %look
out:
  %answer = phi i64 [ {_BUSY}, %next ], [ {_FINISHED}, %look ], [ {_TAKEN}, %wait ]
  call void @PyEval_RestoreThread(ptr %lock)
  ret i64 %answer
}}

define void @sleep(ptr %team, i64 %seconds, i64 %nanoseconds) {{
entry:
{_address("done", _DONE)}
{_address("places.count", _COUNT)}
{_address("waits", _WAITS)}
{_address("mutex", _MUTEX)}
{_address("ended", _ENDED)}
  %until = alloca [2 x i64]
  store i64 %seconds, ptr %until
  %second = getelementptr i64, ptr %until, i64 1
  store i64 %nanoseconds, ptr %second
  %a = call i32 @pthread_mutex_lock(ptr %mutex)
  store atomic i64 1, ptr %waits seq_cst, align 8
  %count = load i64, ptr %places.count
  %now = load atomic i64, ptr %done seq_cst, align 8
  %all = icmp eq i64 %now, %count
  br i1 %all, label %out, label %wait
wait:
  %b = call i32 @pthread_cond_timedwait(ptr %ended, ptr %mutex, ptr %until)
  br label %out
out:
  store atomic i64 0, ptr %waits seq_cst, align 8
  %c = call i32 @pthread_mutex_unlock(ptr %mutex)
  ret void
}}

define void @serve(ptr %team, i64 %waits) {{
entry:
{_address("sleepers", _SLEEPERS)}
{_address("stopped", _STOPPED)}
{_address("mutex", _MUTEX)}
{_address("begun", _BEGUN)}
  br label %next
next:
  %waited = phi i64 [ 0, %entry ], [ 0, %next ], [ %waited.next, %longer ], [ 0, %awake ]
  %found = call i1 @step(ptr %team)
  br i1 %found, label %next, label %idle
idle:
  %ends = load atomic i64, ptr %stopped seq_cst, align 8
  %end = icmp ne i64 %ends, 0
  br i1 %end, label %out, label %wait
wait:
  %patient = icmp ult i64 %waited, %waits
  br i1 %patient, label %longer, label %tired
longer:
  %waited.next = add i64 %waited, 1
  {_PAUSE}
  br label %next
tired:
  %a = call i32 @pthread_mutex_lock(ptr %mutex)
  %b = atomicrmw add ptr %sleepers, i64 1 seq_cst
  br label %asleep
asleep:
  %state = load atomic i64, ptr %team seq_cst, align 8
  %left = and i64 %state, 4294967295
  %over = load atomic i64, ptr %stopped seq_cst, align 8
  %why = or i64 %left, %over
  %stays = icmp eq i64 %why, 0
  br i1 %stays, label %sleep, label %awake
sleep:
  %c = call i32 @pthread_cond_wait(ptr %begun, ptr %mutex)
  br label %asleep
awake:
  %d = atomicrmw sub ptr %sleepers, i64 1 seq_cst
  %e = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %next
out:
  ret void
}}

define void @stop(ptr %team) {{
{_address("stopped", _STOPPED)}
{_address("begun", _BEGUN)}
  store atomic i64 1, ptr %stopped seq_cst, align 8
  call void @wake(ptr %team, ptr %begun)
  ret void
}}
"""


class _Code(NamedTuple):
    """Functions of a team in memory; all but `finish` are called without Python's lock."""

    loaded: Loaded
    make: Callable[[int], None]
    begin: Callable[[int, int, int, int, int], None]
    cancel: Callable[[int, int], None]
    finish: Callable[[int, int, int], int]
    sleep: Callable[[int, int, int], None]
    serve: Callable[[int, int], None]
    stop: Callable[[int], None]
    waits: int


@cache
def _code() -> _Code:
    """Compile the functions, and measure how long a pause is."""
    from dimtensor.kernels.native.machine import object_code

    for name in _PYTHON:
        symbols.add(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0)
    symbols.library()
    loaded = Loaded(object_code(_TEXT, quick=True))

    def of(name: str, count: int, kind: Any = ctypes.CFUNCTYPE, result: Any = None) -> Any:
        return kind(result, *[ctypes.c_int64] * count)(loaded.address(name))

    pause, shortest = of("pause", 1), 1.0
    for _ in range(5):
        started = time.perf_counter()
        pause(1000)
        shortest = min(shortest, time.perf_counter() - started)
    # `finish` and the kernels in it may leave an exception, which PYFUNCTYPE raises
    finish = of("finish", 3, ctypes.PYFUNCTYPE, ctypes.c_int64)
    own = of("make", 1), of("begin", 5), of("cancel", 2), finish
    rest = of("sleep", 3), of("serve", 2), of("stop", 1)
    return _Code(loaded, *own, *rest, int(HELPER_WAIT / max(shortest / 1000, 1e-9)))


class _Memory:
    """Memory that the threads of a team share.

    Attributes
    ----------
    batch : object
        What the calls of the current batch read and write, kept alive.
    """

    def __init__(self) -> None:
        self.code = _code()
        block = np.zeros(_SIZE + 64, np.uint8)
        self._block = block
        self.address = block.ctypes.data + -block.ctypes.data % 64
        self.batch: Any = None
        self.threads: list[threading.Thread] = []
        self.code.make(self.address)

    def serve(self, waits: int) -> None:
        with suppress(BaseException):  # sent by `interrupt`
            self.code.serve(self.address, waits)

    def stop(self) -> None:
        self.code.stop(self.address)


class Batch:
    """Calls of machine code, one for each slice.

    Parameters
    ----------
    function : int
        Address of a function ``flat``.
    calls : ndarray of uint64
        For each call the addresses of its arrays, of its results, and of its closure.
    codes : ndarray of int32
        What each call returned.
    kept : object
        What the calls read and write.

    Attributes
    ----------
    arguments : tuple of int
        What a team is told of them.
    """

    def __init__(self, function: int, calls: np.ndarray, codes: np.ndarray, kept: Any):
        self.codes, self.kept = codes, kept
        self.arguments = function, calls.ctypes.data, codes.ctypes.data, len(codes)
        self._calls = calls
        self._fine = bytes(codes.nbytes)

    def is_fine(self) -> bool:
        """Return whether all calls returned 0; codes of calls that did not begin become 0."""
        if self.codes.tobytes() == self._fine:
            return True
        self.codes[:] = 0
        return False


class Team:
    """A thread that calls machine code for the slices of batches, and its helpers.

    Parameters
    ----------
    helpers : int
        Number of threads beside the one that calls `run`, which is one at a time.
    eager : bool
        Whether helpers wait actively, which takes a core for each.

    Raises
    ------
    OutOfScope
        If no machine code can be loaded in this process.
    """

    def __init__(self, helpers: int, eager: bool = True):
        self._memory = memory = _Memory()
        self._waits = memory.code.waits if eager else 0
        stop = memory.code.stop
        when_gone(self, partial(stop, memory.address), partial(id, memory))
        for _ in range(helpers):
            # without Python's lock they need not end before the interpreter does
            thread = threading.Thread(
                target=memory.serve, args=(self._waits,), name="dimtensor-slices", daemon=True
            )
            memory.threads.append(thread)
            thread.start()

    def run[T](self, batch: Batch, meanwhile: Callable[[], T]) -> T:
        """Make the calls of a batch, and another call in this thread before it takes part.

        The calls begin in order. If one gives another code than 0, no later one begins; the codes
        of those are not written.

        Returns
        -------
        object
            What `meanwhile` returns.
        """
        memory, count = self._memory, len(batch.codes)
        code, at = memory.code, memory.address
        memory.batch = batch
        try:
            code.begin(at, *batch.arguments)
            found = meanwhile()
            self._finish()
        except Exception:
            code.cancel(at, count)
            self._finish()
            raise
        except BaseException:
            code.cancel(at, count)
            self._interrupt()
            raise
        memory.batch = None
        return found

    def _finish(self) -> None:
        code, at = self._memory.code, self._memory.address
        while answer := code.finish(at, OWN_SLICES, self._waits):
            if answer == _TAKEN:
                code.sleep(at, *divmod(time.time_ns() + int(OWN_NAP * 1e9), 10**9))

    def _interrupt(self) -> None:
        """End the helpers, also those in loops that do not end by themselves."""
        self._memory.stop()
        for thread in self._memory.threads:
            if thread.ident is not None:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit)
                )
