"""Memory that temporary arrays leave to those of the next call.

The C library gives large blocks back to the system when they are freed, and a call that makes some
waits for their pages again. So a kernel keeps them: each temporary array has a place, in which it
is put when the kernel ends, and from which the next call takes it. Both are one exchange, so calls
of several threads never meet in one block: one that finds the place empty makes another. What lies
in all places of the process together is bounded. Results are never made of it.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import partial

from dimtensor.caches import clears, when_gone
from dimtensor.kernels.native.linking.loaded import Loaded
from dimtensor.tuning import KEPT_BLOCK_BYTES, KEPT_BYTES

# a block has its size in front of it, and elements begin where a line of the cache does
_HEAD = 64
_COUNTER, _RELEASE, _PLACES = "dimtensor_kept", "dimtensor_release", "dimtensor.places"
# Linux gives memory in pages of 4 KiB, each when it is first written; for large arrays it is asked
# for pages of 2 MiB, as NumPy asks for its own
_HUGE_PAGES = sys.platform == "linux"
_SIGNATURES = {
    "malloc": "declare noalias ptr @malloc(i64) nounwind",
    "free": "declare void @free(ptr) nounwind",
    "aligned_alloc": "declare noalias ptr @aligned_alloc(i64, i64) nounwind",
    "madvise": "declare i32 @madvise(ptr, i64, i32) nounwind",
}
_NEW = """
define internal noalias ptr @NAME(i64 %bytes) noinline nounwind {
entry:
  %large = icmp uge i64 %bytes, 2097152
  br i1 %large, label %huge, label %small
small:
  %plain = call noalias ptr @malloc(i64 %bytes)
  ret ptr %plain
huge:
  %more = add i64 %bytes, MASK
  %whole = and i64 %more, -ALIGNMENT
  %block = call noalias ptr @aligned_alloc(i64 ALIGNMENT, i64 %whole)
  %missing = icmp eq ptr %block, null
  br i1 %missing, label %done, label %advise
advise:
  %address = ptrtoint ptr %block to i64
  %next = add i64 %address, 4095
  %page = and i64 %next, -4096
  %first = inttoptr i64 %page to ptr
  %before = sub i64 %page, %address
  %length = sub i64 %whole, %before
  %ignored = call i32 @madvise(ptr %first, i64 %length, i32 14)
  br label %done
done:
  ret ptr %block
}
"""
# temporaries, which are kept, begin where huge pages do; results where a line of the cache does:
# the C library takes memory of results that were freed for the next ones, as it does for NumPy's,
# but none that has to be aligned so far
_ALIGNMENT = {"dimtensor.new": 2 << 20, "dimtensor.result": 64}
# Takes the block in a place if it is large enough and not far too large, else allocates one. This
# and the code below run a few times per call: LLVM's passes (disabled by ``optnone``) take longer
# than they save.
_TAKE = f"""
define internal noalias ptr @dimtensor.take(i64 %bytes, ptr %place) noinline optnone nounwind {{
entry:
  %small = icmp ult i64 %bytes, {KEPT_BLOCK_BYTES}
  br i1 %small, label %make, label %look
look:
  %kept = atomicrmw xchg ptr %place, ptr null seq_cst
  %none = icmp eq ptr %kept, null
  br i1 %none, label %make, label %measure
measure:
  %old = getelementptr i8, ptr %kept, i64 -{_HEAD}
  %size = load i64, ptr %old, align 8
  %counter = load ptr, ptr @{_COUNTER}, align 8
  %before = atomicrmw sub ptr %counter, i64 %size seq_cst
  %enough = icmp uge i64 %size, %bytes
  %half = lshr i64 %size, 1
  %close = icmp ule i64 %half, %bytes
  %fits = and i1 %enough, %close
  br i1 %fits, label %take, label %drop
take:
  ret ptr %kept
drop:
  call void @free(ptr %old)
  br label %make
make:
  %room = add i64 %bytes, {_HEAD}
  %block = call noalias ptr @ALLOCATE(i64 %room)
  %missing = icmp eq ptr %block, null
  br i1 %missing, label %full, label %made
full:
  ret ptr null
made:
  store i64 %bytes, ptr %block, align 8
  %array = getelementptr i8, ptr %block, i64 {_HEAD}
  ret ptr %array
}}
"""
# puts arrays in their places, or frees them
_LEAVE = f"""
define internal void @dimtensor.leave(ptr nocapture %held, ptr %places, i64 %count)
noinline optnone nounwind {{
entry:
  %counter = load ptr, ptr @{_COUNTER}, align 8
  %alone = icmp eq ptr %counter, null
  br label %loop
loop:
  %at = phi i64 [ 0, %entry ], [ %following, %next ]
  %slot = getelementptr inbounds ptr, ptr %held, i64 %at
  %array = load ptr, ptr %slot, align 8
  %none = icmp eq ptr %array, null
  br i1 %none, label %next, label %measure
measure:
  store ptr null, ptr %slot, align 8
  %block = getelementptr i8, ptr %array, i64 -{_HEAD}
  %size = load i64, ptr %block, align 8
  %small = icmp ult i64 %size, {KEPT_BLOCK_BYTES}
  %lost = or i1 %small, %alone
  br i1 %lost, label %drop, label %count.it
count.it:
  %before = atomicrmw add ptr %counter, i64 %size seq_cst
  %total = add i64 %before, %size
  %much = icmp ugt i64 %total, {KEPT_BYTES}
  br i1 %much, label %back, label %put
back:
  %ignored = atomicrmw sub ptr %counter, i64 %size seq_cst
  br label %drop
put:
  %place = getelementptr inbounds ptr, ptr %places, i64 %at
  %other = atomicrmw xchg ptr %place, ptr %array seq_cst
  %empty = icmp eq ptr %other, null
  br i1 %empty, label %next, label %instead
instead:
  %other.block = getelementptr i8, ptr %other, i64 -{_HEAD}
  %other.size = load i64, ptr %other.block, align 8
  %ignored.too = atomicrmw sub ptr %counter, i64 %other.size seq_cst
  br label %drop
drop:
  %lost.block = phi ptr [ %block, %measure ], [ %block, %back ], [ %other.block, %instead ]
  call void @free(ptr %lost.block)
  br label %next
next:
  %following = add nuw i64 %at, 1
  %more = icmp ult i64 %following, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
_RELEASE_TEXT = f"""
define void @{_RELEASE}() noinline optnone nounwind {{
entry:
  %counter = load ptr, ptr @{_COUNTER}, align 8
  br label %loop
loop:
  %at = phi i64 [ 0, %entry ], [ %following, %next ]
  %place = getelementptr inbounds ptr, ptr @{_PLACES}, i64 %at
  %kept = atomicrmw xchg ptr %place, ptr null seq_cst
  %none = icmp eq ptr %kept, null
  br i1 %none, label %next, label %drop
drop:
  %block = getelementptr i8, ptr %kept, i64 -{_HEAD}
  %size = load i64, ptr %block, align 8
  %ignored = atomicrmw sub ptr %counter, i64 %size seq_cst
  call void @free(ptr %block)
  br label %next
next:
  %following = add nuw i64 %at, 1
  %more = icmp ult i64 %following, COUNT
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


def allocator(lines: dict[str, str], name: str = "dimtensor.result") -> str:
    """Declare what makes a block that the caller frees, and give its name."""
    if not _HUGE_PAGES:
        lines.setdefault("malloc", _SIGNATURES["malloc"])
        return "malloc"
    for function, text in _SIGNATURES.items():
        lines.setdefault(function, text)
    size = _ALIGNMENT[name]
    text = _NEW.replace("ALIGNMENT", str(size)).replace("MASK", str(size - 1))
    lines.setdefault(name, text.replace("NAME", name))
    return name


def declare(lines: dict[str, str], count: int) -> None:
    """Declare the places of so many arrays, and the functions that fill and empty them."""
    made_by = allocator(lines, "dimtensor.new")
    lines.setdefault("free", _SIGNATURES["free"])
    lines["dimtensor.workspace"] = "\n".join(
        [
            f"@{_COUNTER} = global ptr null",
            f"@{_PLACES} = internal global [{count} x ptr] zeroinitializer",
            _TAKE.replace("ALLOCATE", made_by),
            _LEAVE,
            _RELEASE_TEXT.replace("COUNT", str(count)),
        ]
    )


def take(size: str, at: int) -> str:
    """LLVM's call that gives the block of an array, or null."""
    return f"call noalias ptr @dimtensor.take(i64 {size}, ptr {_place(at)})"


def leave(held: str, at: int, count: int) -> str:
    """LLVM's call that leaves arrays of a table to the places from one on."""
    return f"call void @dimtensor.leave(ptr {held}, ptr {_place(at)}, i64 {count})"


def _place(at: int) -> str:
    return f"getelementptr (ptr, ptr @{_PLACES}, i64 {at})"


# -- kernels of this process -----------------------------------------------------------------------

# bytes in the places of all kernels
_kept = ctypes.c_int64(0)
# what gives back those of one, as long as there is somebody who may call it
_releases: dict[int, Callable[[], object]] = {}


def kept() -> int:
    """Return the number of bytes that the kernels of this process keep."""
    return _kept.value


def keep(owner: object, loaded: Loaded) -> None:
    """Let a kernel keep its temporary arrays as long as there is one who may call it."""
    word = loaded.variable(_COUNTER)
    if not word:
        return  # it makes none
    ctypes.c_void_p.from_address(word).value = ctypes.addressof(_kept)
    # a function of C: no code of Python runs when something dies, which may be at any point
    release = ctypes.CFUNCTYPE(None)(loaded.address(_RELEASE))
    release.code = loaded  # type: ignore[attr-defined]  # it lives as long as this may be called
    when_gone(owner, release, partial(_releases.pop, id(loaded), None))
    _releases[id(loaded)] = release


@clears
def release() -> None:
    """Free the memory that kernels keep, except that of running ones."""
    for give_back in list(_releases.values()):
        give_back()
