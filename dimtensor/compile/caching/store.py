"""The store: entries in a folder that many processes read and write at the same time.

An entry is one file. It is written under a name of its own and then renamed, which readers see at
once or not at all. A file says what it is, how long it is, and its checksum; what is not whole, not
of this format or not of this user is no entry. Nothing here raises because of what is in the
folder, and there are no locks: of two processes that write one entry, the last one wins, and both
wrote the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from dimtensor.settings import DEFAULT_CACHE_LIMIT

_MAGIC = b"dimtensor code 1\n"
_CHECKSUM = 32
_SUFFIX = ".code"
_PARTIAL = ".part"

# what a writer that was killed left behind is removed after so many seconds
_ABANDONED = 3600.0
# how far eviction goes below the limit, so that not every write evicts
_EVICTED_TO = 0.8


class Entry(NamedTuple):
    """The entry of one key: metadata that JSON can hold, and bytes."""

    about: dict
    blobs: tuple[bytes, ...]


class StoredFile(NamedTuple):
    """A file of the store."""

    path: Path
    size: int
    used: float


class Store:
    """Entries by key in a folder.

    Parameters
    ----------
    folder : Path
        Made when something is written.
    limit : int
        Most bytes of all entries; those that were not used for longest are removed.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()))
    >>> store.write("one", Entry({"kind": "text"}, (b"hello",)))
    True
    >>> store.read("one").blobs, store.read("two")
    ((b'hello',), None)
    """

    def __init__(self, folder: Path, limit: int = DEFAULT_CACHE_LIMIT):
        self.folder = folder
        self.limit = limit

    def read(self, key: str) -> Entry | None:
        """An entry; None where there is none, or none that can be trusted."""
        path = self._path(key)
        content = _own_content(path)
        if content is None:
            return None
        entry = _unpacked(content, key)
        if entry is None:
            self.discard(key)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return entry

    def write(self, key: str, entry: Entry) -> bool:
        """Keep an entry; False where that is not possible."""
        content = _packed(entry, key)
        if len(content) > self.limit:
            return False
        partial = self.folder / f"{key[:8]}-{os.getpid()}-{secrets.token_hex(6)}{_PARTIAL}"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _exclusive(partial) as file:
                file.write(content)
            partial.replace(self._path(key))
        except BaseException as error:
            with contextlib.suppress(OSError):
                partial.unlink()
            if not isinstance(error, OSError):
                raise
            return False
        self.evict()
        return True

    def discard(self, key: str) -> None:
        """Remove an entry, if that is possible."""
        with contextlib.suppress(OSError):
            self._path(key).unlink()

    def files(self) -> list[StoredFile]:
        """The entries, those that were not used for longest first."""
        return sorted(self._scan(_SUFFIX), key=lambda file: file.used)

    def clear(self) -> int:
        """Remove all entries; how many there were."""
        removed = 0
        for file in self._scan(_SUFFIX):
            with contextlib.suppress(OSError):
                file.path.unlink()
                removed += 1
        self._remove_abandoned(0.0)
        return removed

    def evict(self) -> None:
        """Remove what was not used for longest, if all entries together are over the limit."""
        self._remove_abandoned(_ABANDONED)
        files = self.files()
        total = sum(file.size for file in files)
        if total <= self.limit:
            return
        for file in files:
            if total <= self.limit * _EVICTED_TO:
                return
            # another process may have removed it, or may be reading it: neither does harm
            with contextlib.suppress(OSError):
                file.path.unlink()
            total -= file.size

    def _remove_abandoned(self, age: float) -> None:
        now = time.time()
        for file in self._scan(_PARTIAL):
            if now - file.used >= age:
                with contextlib.suppress(OSError):
                    file.path.unlink()

    def _scan(self, suffix: str) -> Iterator[StoredFile]:
        try:
            with os.scandir(self.folder) as found:
                entries = [entry for entry in found if entry.name.endswith(suffix)]
        except OSError:
            return
        for entry in entries:
            with contextlib.suppress(OSError):
                about = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(about.st_mode):
                    yield StoredFile(Path(entry.path), about.st_size, about.st_mtime)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"


def _exclusive(path: Path) -> IO[bytes]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, 0o600), "wb")


def _own_content(path: Path) -> bytes | None:
    """Contents of a file that this user owns and nobody else can write.

    Machine code is made of it: who can put a file here could run anything.
    """
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode) or not _is_own(about):
                return None
            return file.read()
    except OSError:
        return None


def _is_own(about: os.stat_result) -> bool:
    if not hasattr(os, "geteuid"):
        return True
    return about.st_uid == os.geteuid() and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _packed(entry: Entry, key: str) -> bytes:
    header = {"key": key, "about": entry.about, "sizes": [len(blob) for blob in entry.blobs]}
    text = json.dumps(header, separators=(",", ":")).encode()
    body = b"".join([len(text).to_bytes(8, "little"), text, *entry.blobs])
    return _MAGIC + hashlib.blake2b(body, digest_size=_CHECKSUM).digest() + body


def _unpacked(content: bytes, key: str) -> Entry | None:
    start = len(_MAGIC) + _CHECKSUM
    if not content.startswith(_MAGIC) or len(content) < start + 8:
        return None
    body = memoryview(content)[start:]
    if hashlib.blake2b(body, digest_size=_CHECKSUM).digest() != content[len(_MAGIC) : start]:
        return None
    try:
        at = 8 + int.from_bytes(body[:8], "little")
        header = json.loads(bytes(body[8:at]))
        blobs = []
        for size in header["sizes"]:
            blobs.append(bytes(body[at : at + size]))
            at += size
        whole = header["key"] == key and at == len(body)
        return Entry(dict(header["about"]), tuple(blobs)) if whole else None
    except (ValueError, TypeError, KeyError):
        return None
