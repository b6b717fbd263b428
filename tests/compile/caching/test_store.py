"""The store: many processes, killed writers, files that are no entries, limits, folders."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dimtensor.backends.store import Entry, Store

ENTRY = Entry({"kind": "test", "numbers": [1, 2]}, (b"code", b"", b"constant"))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "code", limit=100_000)


def child(code: str, *arguments: str) -> subprocess.Popen:
    """A Python process that has the store, without the rest of the package."""
    return subprocess.Popen(
        [sys.executable, "-c", f"{PRELUDE}\n{code}", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen) -> str:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


# the module alone: importing the package takes a second in each of many processes
PRELUDE = f"""
import importlib.util, os, sys, time
from pathlib import Path
spec = importlib.util.spec_from_file_location("store", {sys.modules[Store.__module__].__file__!r})
module = sys.modules["store"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
Entry, Store = module.Entry, module.Store
"""


def test_what_is_written_is_read(store: Store) -> None:
    assert store.read("a") is None
    assert store.write("a", ENTRY)
    assert store.read("a") == Entry({"kind": "test", "numbers": [1, 2]}, ENTRY.blobs)
    assert store.read("b") is None
    assert [file.name for file in store.files()] == ["a.code"]
    assert store.write("a", Entry({}, ()))
    assert store.read("a") == Entry({}, ())
    assert store.clear() == 1
    assert store.read("a") is None
    assert store.files() == []


def test_every_damage_is_noticed(store: Store) -> None:
    store.write("a", ENTRY)
    path = store.folder / "a.code"
    whole = path.read_bytes()
    for at in range(len(whole)):
        for damaged in (
            whole[:at],
            whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :],
            whole[:at] + b"x" + whole[at:],
        ):
            path.write_bytes(damaged)
            path.chmod(0o600)
            assert store.read("a") is None
            assert not path.exists()
    path.write_bytes(whole + b"more")
    path.chmod(0o600)
    assert store.read("a") is None


def test_an_entry_of_another_key_is_none(store: Store) -> None:
    store.write("a", ENTRY)
    (store.folder / "a.code").rename(store.folder / "b.code")
    assert store.read("b") is None
    assert store.files() == []


def test_foreign_things_in_the_folder_do_no_harm(store: Store, tmp_path: Path) -> None:
    store.write("a", ENTRY)
    (store.folder / "folder.code").mkdir()
    (store.folder / "readme.txt").write_text("mine")
    (store.folder / "other.code").write_text("not an entry")
    (tmp_path / "target").write_bytes((store.folder / "a.code").read_bytes())
    (store.folder / "link.code").symlink_to(tmp_path / "target")
    assert store.read("folder") is None
    assert store.read("other") is None
    assert store.read("link") is None
    assert store.read("a") == ENTRY._replace(about=dict(ENTRY.about))
    assert not store.write("folder", ENTRY)
    store.evict()
    store.clear()
    assert (store.folder / "readme.txt").read_text() == "mine"
    assert (tmp_path / "target").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
def test_what_others_can_write_is_not_trusted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write("a", ENTRY)
    path = store.folder / "a.code"
    assert path.stat().st_mode & 0o777 == 0o600
    assert store.folder.stat().st_mode & 0o777 == 0o700
    for mode in (0o620, 0o602):
        path.chmod(mode)
        assert store.read("a") is None
    path.chmod(0o600)
    assert store.read("a") is not None
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(path).st_uid + 1)
    assert store.read("a") is None


def test_folders_that_cannot_be_used_turn_it_off(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        store = Store(folder)
        assert not store.write("a", ENTRY)
        assert store.read("a") is None
        assert store.files() == []
        assert store.clear() == 0
    missing = Store(tmp_path / "missing")
    assert missing.read("a") is None
    assert not missing.folder.exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_a_folder_that_is_read_only_still_gives_entries(store: Store) -> None:
    store.write("a", ENTRY)
    store.folder.chmod(0o500)
    try:
        assert store.read("a") is not None
        assert not store.write("b", ENTRY)
        store.discard("a")
        assert store.read("a") is not None
    finally:
        store.folder.chmod(0o700)


def test_a_full_disk_leaves_nothing_behind(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write("a", ENTRY)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    assert not store.write("b", ENTRY)
    assert [path.name for path in store.folder.iterdir()] == ["a.code"]


def test_what_was_not_used_for_longest_is_evicted(store: Store) -> None:
    for number in range(9):
        store.write(f"k{number}", Entry({}, (bytes(10_000),)))
        os.utime(store.folder / f"k{number}.code", (1000 + number, 1000 + number))
    assert store.read("k0") is not None  # which is use
    store.write("new", Entry({}, (bytes(20_000),)))
    kept = {Path(file.name).stem for file in store.files()}
    assert {"k0", "new", "k8"} <= kept
    assert not {"k1", "k2"} & kept
    assert sum(file.size for file in store.files()) <= store.limit
    assert not store.write("large", Entry({}, (bytes(200_000),)))


def test_what_killed_writers_left_is_removed(store: Store) -> None:
    store.write("a", ENTRY)
    old, new = (store.folder / f"{start:0>16}.part" for start in ("01d", "e"))
    old.write_bytes(b"half")
    new.write_bytes(b"half")
    os.utime(old, (1000, 1000))
    store.write("b", ENTRY)
    assert not old.exists()
    assert new.exists()  # its writer may be at work
    store.clear()
    assert not new.exists()


KILLED = """
folder, step = sys.argv[1:]
def stop(*_, **__):
    print("here", flush=True)
    time.sleep(60)
if step == "rename":
    os.rename = stop
else:
    opened = os.fdopen
    class Slow:
        def __init__(self, handle, mode): self.file = opened(handle, mode)
        def __enter__(self): return self
        def __exit__(self, *_): self.file.close()
        def write(self, content):
            self.file.write(content[: len(content) // 2])
            self.file.flush()
            stop()
    os.fdopen = Slow
Store(Path(folder)).write("a", Entry({"kind": "test"}, (b"new" * 1000,)))
"""


@pytest.mark.skipif(os.name == "nt", reason="processes are killed in another way")
@pytest.mark.parametrize("step", ["write", "rename"])
@pytest.mark.parametrize("before", [False, True])
def test_a_writer_that_is_killed_midway_leaves_what_was_there(
    store: Store, step: str, before: bool
) -> None:
    if before:
        store.write("a", ENTRY)
    process = child(KILLED, str(store.folder), step)
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.communicate()
    assert any(path.suffix == ".part" for path in store.folder.iterdir())
    entry = store.read("a")
    assert (entry is not None) == before
    assert entry is None or entry.blobs == ENTRY.blobs
    assert store.write("a", Entry({}, (b"later",)))
    found = store.read("a")
    assert found is not None
    assert found.blobs == (b"later",)


CROWD = """
folder, seed = sys.argv[1:]
import random
rng = random.Random(int(seed))
store = Store(Path(folder), limit=200_000)
deadline = time.monotonic() + 2.0
rounds = hits = 0
while time.monotonic() < deadline or rounds < 100:  # a busy machine is slow
    key = f"k{rng.randrange(20)}"
    entry = store.read(key)
    if entry is not None:
        hits += 1
        assert entry.about["key"] == key
        assert entry.blobs == (key.encode() * 5000, bytes([len(key)]))
    action = rng.random()
    if entry is None or action < 0.3:
        store.write(key, Entry({"key": key}, (key.encode() * 5000, bytes([len(key)]))))
    elif action < 0.35:
        store.discard(key)
    elif action < 0.36:
        store.clear()
    rounds += 1
print(rounds, hits)
"""


@pytest.mark.skipif(os.name == "nt", reason="processes are killed in another way")
def test_a_crowd_of_readers_and_writers_some_of_them_killed(store: Store) -> None:
    store.folder.mkdir()
    processes = [child(CROWD, str(store.folder), str(seed)) for seed in range(6)]
    doomed = [child(CROWD, str(store.folder), str(seed)) for seed in range(100, 103)]
    for process in doomed:
        time.sleep(0.4)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    counts = [tuple(map(int, finished(process).split())) for process in processes]
    assert all(rounds >= 100 for rounds, _ in counts)
    assert sum(hits for _, hits in counts) > 100
    for number in range(20):
        entry = store.read(f"k{number}")
        assert entry is None or entry.about["key"] == f"k{number}"
