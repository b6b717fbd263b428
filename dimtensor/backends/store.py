"""The store: entries in a folder that many processes read and write at the same time.

An entry is one file, which readers see at once or not at all. A file says what it is, how long it
is, and its checksum; what is not whole, not of this format or not of this user is no entry
(:mod:`dimtensor.files`). Nothing here raises because of what is in the folder, and there are no
locks: of two processes that write one entry, the last one wins, and both wrote the same.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import NamedTuple

from dimtensor.files import OwnFile, OwnFolder
from dimtensor.settings import DEFAULT_CACHE_LIMIT
from dimtensor.tuning import EVICTED_SHARE

_MAGIC = b"dimtensor code 1\n"
_CHECKSUM = 32


class Entry(NamedTuple):
    """The entry of one key: metadata that JSON can hold, and bytes."""

    about: dict
    blobs: tuple[bytes, ...]


class Store:
    """Entries by key in a folder.

    Parameters
    ----------
    folder : Path
        Made when something is written.
    limit : int
        Most bytes of all entries; the least recently used ones are removed.
    suffix : str
        What the names of files have after the key.
    keys : str
        A regular expression of the keys.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()))
    >>> store.write("one", Entry({"kind": "text"}, (b"hello",)))
    True
    >>> store.read("one").blobs, store.read("two")
    ((b'hello',), None)
    """

    def __init__(
        self,
        folder: Path,
        limit: int = DEFAULT_CACHE_LIMIT,
        suffix: str = ".code",
        keys: str = r"\w+",
    ):
        self.folder = folder
        self.limit = limit
        self._suffix = suffix
        self._own = OwnFolder(folder, keys + re.escape(suffix))

    def read(self, key: str) -> Entry | None:
        """Read an entry; None where there is none, or none that can be trusted."""
        content = self._own.read(key + self._suffix, self.limit)
        if content is None:
            return None
        entry = _unpacked(content, key)
        if entry is None:
            self.discard(key)
        return entry

    def write(self, key: str, entry: Entry) -> bool:
        """Keep an entry; False where that is not possible."""
        content = _packed(entry, key)
        if len(content) > self.limit or not self._own.write(key + self._suffix, content):
            return False
        self.evict()
        return True

    def discard(self, key: str) -> None:
        """Remove an entry, if that is possible."""
        self._own.remove(key + self._suffix)

    def files(self) -> list[OwnFile]:
        """List the files of the entries, the least recently used first."""
        return self._own.files()

    def clear(self) -> int:
        """Remove all entries and return how many there were."""
        self._own.remove_unfinished(0.0)
        return sum(self._own.remove(file.name) for file in self.files())

    def evict(self) -> None:
        """Remove the least recently used entries if all of them together are over the limit."""
        self._own.remove_unfinished()
        files = self.files()
        total = sum(file.size for file in files)
        if total <= self.limit:
            return
        for file in files:
            if total <= self.limit * EVICTED_SHARE:
                return
            # another process may have removed it, or may be reading it: neither does harm
            self._own.remove(file.name)
            total -= file.size


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
            if size < 0:
                return None
            blobs.append(bytes(body[at : at + size]))
            at += size
        whole = header["key"] == key and at == len(body)
        return Entry(dict(header["about"]), tuple(blobs)) if whole else None
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
