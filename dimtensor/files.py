"""Files of this user in a folder of this user.

Machine code is loaded from such files, so a file counts only if nobody else can have written it: it
is a regular file with one name, this user owns it, and nobody else may write to it. The same holds
for the folder, which is held open while something is done in it: a folder that is moved away or
replaced by a symbolic link meanwhile leads nowhere else.

One function opens a file, and one removes a file. Where files have no such owners (Windows), none
counts.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# What a writer that was killed left behind is removed after so many seconds.
ABANDONED = 3600.0

_UNFINISHED = re.compile(r"[0-9a-f]{16}\.part", re.ASCII)
_POSIX = os.open in os.supports_dir_fd and hasattr(os, "geteuid")
# neither waits for the other end of a pipe nor follows a link
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY if _POSIX else os.O_RDONLY
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW if _POSIX else os.O_RDONLY


class OwnFile(NamedTuple):
    """The name of a file, its size in bytes and the time of its last use."""

    name: str
    size: int
    used: float


class OwnFolder:
    r"""Files in a folder, read and written by many processes at the same time.

    Nothing here raises because of the disk or of what is in the folder.

    Parameters
    ----------
    path : Path
        Made when something is written.
    names : str
        A regular expression: files of other names are left alone.

    Examples
    --------
    >>> import tempfile
    >>> folder = OwnFolder(Path(tempfile.mkdtemp()), r"[a-z]+\.txt")
    >>> folder.write("one.txt", b"1"), folder.write("../one.txt", b"1")
    (True, False)
    >>> folder.read("one.txt", 10), folder.read("two.txt", 10)
    (b'1', None)
    >>> [file.name for file in folder.files()], folder.remove("one.txt"), folder.files()
    (['one.txt'], True, [])
    """

    def __init__(self, path: Path, names: str):
        self.path = path
        self._names = re.compile(names, re.ASCII)

    def read(self, name: str, most: int) -> bytes | None:
        """Read a file, and note that it was used.

        Parameters
        ----------
        name : str
        most : int
            Bytes of a larger file are not read: it counts as empty.

        Returns
        -------
        bytes or None
            None if there is no file that counts.
        """
        if not self._names.fullmatch(name):
            return None
        folder = file = -1
        try:
            folder = self._opened()
            file = os.open(name, _READ, dir_fd=folder)
            about = os.fstat(file)
            if not stat.S_ISREG(about.st_mode) or not _is_private(about) or about.st_nlink > 1:
                return None
            if about.st_size > most:
                return b""
            with contextlib.suppress(OSError):  # a disk may be read only
                os.utime(file)
            return _content(file, about.st_size)
        except (OSError, MemoryError):
            return None
        finally:
            for handle in (file, folder):
                if handle >= 0:
                    os.close(handle)

    def write(self, name: str, content: bytes) -> bool:
        """Put a file in place at once, as a whole; False where that is not possible."""
        if not self._names.fullmatch(name):
            return False
        unfinished = f"{secrets.token_hex(8)}.part"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with contextlib.suppress(OSError), self._held(make=True) as folder:
            try:
                handle = os.open(unfinished, flags, 0o600, dir_fd=folder)
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                os.rename(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(unfinished, dir_fd=folder)
                raise
            return True
        return False

    def remove(self, name: str) -> bool:
        """Remove a file of this user; False if there is none, or it cannot be removed."""
        if not (self._names.fullmatch(name) or _UNFINISHED.fullmatch(name)):
            return False
        with contextlib.suppress(OSError), self._held() as folder:
            if not _is_own_file(os.stat(name, dir_fd=folder, follow_symlinks=False)):
                return False
            os.unlink(name, dir_fd=folder)
            return True
        return False

    def files(self) -> list[OwnFile]:
        """List the files, the least recently used first."""
        return self._listed(self._names)

    def remove_unfinished(self, age: float = ABANDONED) -> None:
        """Remove files that were begun so many seconds ago and never finished."""
        now = time.time()
        for file in self._listed(_UNFINISHED):
            if now - file.used >= age:
                self.remove(file.name)

    def _listed(self, names: re.Pattern[str]) -> list[OwnFile]:
        found = []
        # a clock that was wrong has left times that are yet to come, which would count as new
        latest = time.time() + ABANDONED
        with contextlib.suppress(OSError), self._held() as folder:
            for name in os.listdir(folder):
                if names.fullmatch(name):
                    with contextlib.suppress(OSError):  # another process may remove it
                        about = os.stat(name, dir_fd=folder, follow_symlinks=False)
                        if _is_own_file(about):
                            used = about.st_mtime if about.st_mtime < latest else 0.0
                            found.append(OwnFile(name, about.st_size, used))
        return sorted(found, key=lambda file: file.used)

    @contextlib.contextmanager
    def _held(self, make: bool = False) -> Iterator[int]:
        """Hold the folder open while files in it are read and written."""
        folder = self._opened(make)
        try:
            yield folder
        finally:
            os.close(folder)

    def _opened(self, make: bool = False) -> int:
        """Open the folder.

        Raises
        ------
        OSError
            If there is none of this user alone.
        """
        if not _POSIX:
            raise OSError("files have no owners")
        try:
            folder = os.open(self.path, _FOLDER)
        except FileNotFoundError:
            if not make:
                raise
            make_private(self.path)
            folder = os.open(self.path, _FOLDER)
        if _is_private(os.fstat(folder)):
            return folder
        os.close(folder)
        raise PermissionError(f"others can write to {self.path}")


def _content(file: int, size: int) -> bytes:
    """Read so many bytes, or fewer where a file ends before."""
    found = os.read(file, size)
    while len(found) < size and (more := os.read(file, size - len(found))):
        found += more
    return found


def make_private(folder: Path) -> None:
    """Make a folder and its parents, which nobody else may read or write.

    Raises
    ------
    OSError
        If one cannot be made.
    """
    for each in (*reversed(folder.parents), folder):
        if not each.is_dir():
            each.mkdir(mode=0o700, exist_ok=True)


def _is_private(about: os.stat_result) -> bool:
    return about.st_uid == os.geteuid() and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _is_own_file(about: os.stat_result) -> bool:
    return stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid()
