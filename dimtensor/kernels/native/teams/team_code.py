"""Machine code of teams of threads: it hands out calls, waits, sleeps, and adds up the results.

All threads share a block of memory. Its first word, the state, is the number of the batch (upper
half) and the number of calls that nobody has taken (lower half). A thread that has decremented it
owns a call, and the batch does not end before it says that the call is done; so it may read the
other words of the batch. A helper that is late takes part in the batch that it finds.
"""

from __future__ import annotations

import ctypes
import platform
import time
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from dimtensor.kernels.native.linking import symbols
from dimtensor.kernels.native.linking.loaded import Loaded
from dimtensor.kernels.native.teams.team_call import CALL_TEXT
from dimtensor.kernels.native.wrapper import function_address
from dimtensor.tuning import HELPER_WAIT

# Offsets in the memory of a team, in bytes. Words that several threads write have cache lines of
# their own.
_DONE, _SLEEPERS, _STOPPED, _WAITS = 64, 128, 136, 144
_COUNT, _CALLS, _FAILED, _PATIENCE = 192, 200, 208, 216
_MUTEX, _BEGUN, _ENDED, SIZE = 256, 384, 512, 640
FINISHED, TAKEN, BUSY, FAILED = range(4)  # answers of `compute`
_PYTHON = (
    "PyEval_SaveThread", "PyEval_RestoreThread", "PyErr_Occurred", "PyLong_AsLongLong",
    "PyLong_FromLongLong", "PyTuple_New", "Py_DecRef",
)  # fmt: skip

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
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
{_DECLARED.get(_PAUSE, "")}

define void @make(ptr %team, i64 %waits) {{
{_address("patience", _PATIENCE)}
{_address("mutex", _MUTEX)}
{_address("begun", _BEGUN)}
{_address("ended", _ENDED)}
  store i64 %waits, ptr %patience
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

define internal void @begin(ptr %team, ptr %calls, i64 %count) {{
entry:
{_address("places.count", _COUNT)}
{_address("places.calls", _CALLS)}
{_address("failed", _FAILED)}
{_address("done", _DONE)}
{_address("sleepers", _SLEEPERS)}
{_address("begun", _BEGUN)}
  store i64 %count, ptr %places.count
  store ptr %calls, ptr %places.calls
  store atomic i64 0, ptr %failed seq_cst, align 8
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
{_address("places.calls", _CALLS)}
{_address("failed", _FAILED)}
  %count = load i64, ptr %places.count
  %calls = load ptr, ptr %places.calls
  %at = sub i64 %count, %left
  %own = getelementptr [4 x ptr], ptr %calls, i64 %at
  %second = getelementptr ptr, ptr %own, i64 1
  %third = getelementptr ptr, ptr %own, i64 2
  %fourth = getelementptr ptr, ptr %own, i64 3
  %function = load ptr, ptr %own
  %arrays = load ptr, ptr %second
  %results = load ptr, ptr %third
  %closure = load ptr, ptr %fourth
  %code = call i32 %function(ptr %arrays, ptr %results, ptr %closure)
  %fine = icmp eq i32 %code, 0
  br i1 %fine, label %ended, label %stop
stop:
  store atomic i64 1, ptr %failed seq_cst, align 8
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

define internal void @add(ptr %to, ptr %one, ptr %other, i64 %length) {{
entry:
  %whole = and i64 %length, -4
  br label %next
next:
  %at = phi i64 [ 0, %entry ], [ %at.next, %four ]
  %more = icmp ult i64 %at, %whole
  br i1 %more, label %four, label %rest
four:
  %ones = getelementptr double, ptr %one, i64 %at
  %others = getelementptr double, ptr %other, i64 %at
  %tos = getelementptr double, ptr %to, i64 %at
  %a = load <4 x double>, ptr %ones, align 8
  %b = load <4 x double>, ptr %others, align 8
  %c = fadd <4 x double> %a, %b
  store <4 x double> %c, ptr %tos, align 8
  %at.next = add i64 %at, 4
  br label %next
rest:
  %last = phi i64 [ %at, %next ], [ %last.next, %single ]
  %left = icmp ult i64 %last, %length
  br i1 %left, label %single, label %out
single:
  %x.at = getelementptr double, ptr %one, i64 %last
  %y.at = getelementptr double, ptr %other, i64 %last
  %z.at = getelementptr double, ptr %to, i64 %last
  %x = load double, ptr %x.at
  %y = load double, ptr %y.at
  %z = fadd double %x, %y
  store double %z, ptr %z.at
  %last.next = add i64 %last, 1
  br label %rest
out:
  ret void
}}

define internal void @add_up(ptr %sum) {{
entry:
  %second = getelementptr i64, ptr %sum, i64 1
  %third = getelementptr i64, ptr %sum, i64 2
  %fourth = getelementptr i64, ptr %sum, i64 3
  %fifth = getelementptr i64, ptr %sum, i64 4
  %matrix = load ptr, ptr %sum
  %height = load i64, ptr %second
  %width = load i64, ptr %third
  %once = load ptr, ptr %fourth
  %total = load ptr, ptr %fifth
  %bytes = shl i64 %width, 3
  br label %level
level:
  %rows = phi i64 [ %height, %entry ], [ %rows.next, %above ]
  %pairs = lshr i64 %rows, 1
  %several = icmp ne i64 %pairs, 0
  br i1 %several, label %next, label %out
next:
  %at = phi i64 [ 0, %level ], [ %at.next, %pair ]
  %more = icmp ult i64 %at, %pairs
  br i1 %more, label %pair, label %alone
pair:
  %to.offset = mul i64 %at, %bytes
  %from.offset = shl i64 %to.offset, 1
  %to = getelementptr i8, ptr %matrix, i64 %to.offset
  %one = getelementptr i8, ptr %matrix, i64 %from.offset
  %other = getelementptr i8, ptr %one, i64 %bytes
  call void @add(ptr %to, ptr %one, ptr %other, i64 %width)
  %at.next = add i64 %at, 1
  br label %next
alone:
  %odd = and i64 %rows, 1
  %any = icmp ne i64 %odd, 0
  br i1 %any, label %move, label %above
move:
  %before = sub i64 %rows, 1
  %last.offset = mul i64 %before, %bytes
  %free.offset = mul i64 %pairs, %bytes
  %last = getelementptr i8, ptr %matrix, i64 %last.offset
  %free = getelementptr i8, ptr %matrix, i64 %free.offset
  call void @llvm.memcpy.p0.p0.i64(ptr %free, ptr %last, i64 %bytes, i1 false)
  br label %above
above:
  %rows.next = add i64 %pairs, %odd
  br label %level
out:
  call void @add(ptr %total, ptr %once, ptr %matrix, i64 %width)
  ret void
}}

define internal i64 @compute(ptr %team, ptr %calls, i64 %number, i64 %most, ptr %sum) {{
entry:
{_address("patience", _PATIENCE)}
  %waits = load i64, ptr %patience
{_address("done", _DONE)}
{_address("failed", _FAILED)}
{_address("places.count", _COUNT)}
  %lock = call ptr @PyEval_SaveThread()
  %new = icmp ne ptr %calls, null
  br i1 %new, label %start, label %next
start:
  call void @begin(ptr %team, ptr %calls, i64 %number)
  br label %next
next:
  %at = phi i64 [ 0, %entry ], [ 0, %start ], [ %at.next, %again ]
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
  br i1 %all, label %judge, label %wait
wait:
  %patient = icmp ult i64 %waited, %waits
  br i1 %patient, label %longer, label %out
longer:
  %waited.next = add i64 %waited, 1
  {_PAUSE}
  br label %look
judge:
  %some = load atomic i64, ptr %failed seq_cst, align 8
  %broken = icmp ne i64 %some, 0
  br i1 %broken, label %out, label %whole
whole:
  %sums = icmp ne ptr %sum, null
  br i1 %sums, label %total, label %out
total:
  call void @add_up(ptr %sum)
  br label %out
out:
  %answer = phi i64 [ {BUSY}, %next ], [ {TAKEN}, %wait ], [ {FAILED}, %judge ],
                    [ {FINISHED}, %whole ], [ {FINISHED}, %total ]
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

define void @serve(ptr %team) {{
entry:
{_address("patience", _PATIENCE)}
  %waits = load i64, ptr %patience
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


class TeamFunctions(NamedTuple):
    """Functions of a team in memory, which are called without Python's lock.

    Attributes
    ----------
    waits : int
        Number of pauses for which a thread waits actively.
    enter, resume : int
        Addresses of functions that Python calls for a batch.
    """

    loaded: Loaded
    make: Callable[[int, int], None]
    cancel: Callable[[int, int], None]
    sleep: Callable[[int, int, int], None]
    serve: Callable[[int], None]
    stop: Callable[[int], None]
    waits: int
    enter: int
    resume: int


@cache
def functions() -> TeamFunctions:
    """Compile the functions, and measure how long a pause is."""
    from dimtensor.kernels.native.machine import object_code

    for name in _PYTHON:
        symbols.add(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0)
    symbols.add("PyArray_New", function_address("PyArray_New"))
    symbols.library()
    loaded = Loaded(object_code(_TEXT + CALL_TEXT, quick=True))

    def of(name: str, count: int) -> Any:
        return ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * count)(loaded.address(name))

    pause, shortest = of("pause", 1), 1.0
    for _ in range(5):
        started = time.perf_counter()
        pause(1000)
        shortest = min(shortest, time.perf_counter() - started)
    own = of("make", 2), of("cancel", 2), of("sleep", 3), of("serve", 1), of("stop", 1)
    waits = int(HELPER_WAIT / max(shortest / 1000, 1e-9))
    return TeamFunctions(loaded, *own, waits, loaded.address("enter"), loaded.address("resume"))
