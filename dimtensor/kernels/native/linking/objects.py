"""Object files in memory, linked here: LLVM takes ten times as long to import as this to run.

LLVM is asked for code that may lie anywhere, apart from what it uses. Such an object file of a
processor with x86-64 on Linux has one kind of relocation, the address of a symbol in 64 bits. All
other files are left to LLVM.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import sys
from collections.abc import Callable
from typing import NamedTuple

from dimtensor.kernels.native.values import BrokenCode

# of ELF: its header, the heads of its sections, symbols and relocations
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_MAGIC, _RELOCATABLE, _X86_64 = b"\x7fELF\x02\x01", 1, 62
_MACHO = b"\xcf\xfa\xed\xfe"  # the format of macOS, with 64 bits
_SYMBOLS, _RELOCATIONS, _EMPTY = 2, 4, 8  # types of sections; others that take memory are bytes
_PLAIN = (1, 7, _EMPTY)
_ALLOCATED, _EXECUTABLE, _PER_THREAD = 2, 4, 0x400  # flags of sections
_UNDEFINED, _ABSOLUTE, _FIRST_SPECIAL = 0, 0xFFF1, 0xFF00  # in place of a symbol's section
_ADDRESS = 1  # the kind of relocation


class NotLinked(Exception):
    """Object file that only LLVM can link."""


class _Section(NamedTuple):
    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int


class Linked:
    """An object file in memory, which is given back when this dies.

    Parameters
    ----------
    code : bytes
    find : callable
        Gives the address of a function of another library; None if there is none.

    Attributes
    ----------
    addresses : dict of str to int
        Where its functions and variables are.

    Raises
    ------
    NotLinked
        If it is left to LLVM.
    BrokenCode
        If it is no object file of this system, or not whole: LLVM would end the process.
    """

    def __init__(self, code: bytes, find: Callable[[str], int | None]):
        sections = _sections(code)
        if sys.platform != "linux" or platform.machine() != "x86_64":
            raise NotLinked("another system")
        places, size, executable = _layout(sections)
        self._memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        for at, offset in places.items():
            section = sections[at]
            if section.type != _EMPTY:
                content = code[section.offset : section.offset + section.size]
                self._memory[offset : offset + section.size] = content
        self.addresses: dict[str, int] = {}
        symbols = self._symbols(code, sections, places, start, find)
        for section in sections:
            if section.type == _RELOCATIONS and section.info in places:
                self._relocate(code, section, places[section.info], symbols)
        if _mprotect()(start, executable, mmap.PROT_READ | mmap.PROT_EXEC):
            raise NotLinked("the system lets nobody run what was written")

    def _symbols(
        self,
        code: bytes,
        sections: list[_Section],
        places: dict[int, int],
        start: int,
        find: Callable[[str], int | None],
    ) -> list[int]:
        """Addresses of all symbols; those with names are noted."""
        found: list[int] = []
        head = next((section for section in sections if section.type == _SYMBOLS), None)
        if head is None:
            raise BrokenCode("nothing has a name")
        names = sections[head.link]
        for name_at, _, _, section, value, _ in _SYMBOL.iter_unpack(
            code[head.offset : head.offset + head.size]
        ):
            begin = names.offset + name_at
            name = code[begin : code.index(b"\0", begin)].decode()
            if section in places:
                address = start + places[section] + value
                if name:
                    self.addresses[name] = address
            elif section == _UNDEFINED and name:
                elsewhere = find(name)
                if elsewhere is None:
                    raise NotLinked(f"{name} is nowhere")
                address = elsewhere
            elif section == _ABSOLUTE or not name:
                address = value
            else:
                raise NotLinked(f"{name} is in a section of another kind")
            found.append(address)
        return found

    def _relocate(self, code: bytes, section: _Section, base: int, symbols: list[int]) -> None:
        entries = code[section.offset : section.offset + section.size]
        for offset, info, addend in _RELOCATION.iter_unpack(entries):
            symbol, kind = info >> 32, info & 0xFFFFFFFF
            if kind != _ADDRESS:
                raise NotLinked(f"a relocation of kind {kind}")
            struct.pack_into("<Q", self._memory, base + offset, symbols[symbol] + addend)


def _sections(code: bytes) -> list[_Section]:
    """Read the sections of an object file; empty for formats other than ELF."""
    if sys.platform == "darwin":
        if len(code) < _HEADER.size or code[: len(_MACHO)] != _MACHO:
            raise BrokenCode("no object file of 64 bits")
        return []
    if len(code) < _HEADER.size or code[: len(_MAGIC)] != _MAGIC:
        raise BrokenCode("no object file of 64 bits")
    _, kind, machine, _, _, _, at, _, _, _, _, size, count, _ = _HEADER.unpack_from(code)
    other = platform.machine() == "x86_64" and machine != _X86_64
    if kind != _RELOCATABLE or size != _SECTION.size or other:
        raise BrokenCode("an object file of another kind")
    if not count or at + count * size > len(code):
        raise BrokenCode("an object file without its sections")
    found = [_Section(*_SECTION.unpack_from(code, at + i * size)) for i in range(count)]
    if any(one.type != _EMPTY and one.offset + one.size > len(code) for one in found):
        raise BrokenCode("an object file that is cut off")
    return found


def _layout(sections: list[_Section]) -> tuple[dict[int, int], int, int]:
    """Assign memory offsets to the sections; also their total size and the size of the code."""
    places: dict[int, int] = {}
    end = executable = 0
    for runs in (True, False):
        for at, section in enumerate(sections):
            if not section.flags & _ALLOCATED or bool(section.flags & _EXECUTABLE) != runs:
                continue
            if section.type not in _PLAIN or section.flags & _PER_THREAD:
                raise NotLinked(f"a section of type {section.type}")
            places[at] = _rounded(end, section.alignment)
            end = places[at] + section.size
        end = _rounded(end, mmap.PAGESIZE)
        executable = executable or end
    return places, max(end, mmap.PAGESIZE), executable


def _rounded(size: int, to: int) -> int:
    return -(-size // max(to, 1)) * max(to, 1)


def _mprotect() -> Callable[[int, int, int], int]:
    function = ctypes.CDLL(None).mprotect
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return function
