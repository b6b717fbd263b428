"""Files between processes: what others put into the cache, and disks and folders that fail."""

from __future__ import annotations

import ctypes
import json
import os
import stat
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.hostile.children import run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here"),
]

OTHER = 12345  # a user who is nobody here


def powerless() -> None:
    """Let what files permit hold for root, too, in the program that is run next."""
    for power in (1, 2) if sys.platform == "linux" else ():  # those that pass over permissions
        ctypes.CDLL(None).prctl(24, power, 0, 0, 0)


STORES = """
import json, os, resource, socket, sys, time
from pathlib import Path
from dimtensor.backends.store import Entry, Store

folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path.cwd()
ENTRY = Entry({"numbers": [1, 2]}, (b"code", b"constant"))
found = []

def note(name, held, why=""):
    found.append([name, bool(held), str(why)])
"""


def counted(faults, code, **options):
    """Run code that notes what it tried, and count it."""
    for name, held, why in json.loads(run(code, **options).ok().splitlines()[-1]):
        faults.count(name, held, why)


def test_what_lies_where_an_entry_should_be(faults, tmp_path):
    """It is not read, not waited for, and an entry takes its place."""
    code = r"""
    (folder / "outside").mkdir()
    whole = Store(folder / "outside")
    whole.write("whole", ENTRY)
    other = folder / "outside" / "whole.code"
    content = other.read_bytes()

    def file(path, content=content, mode=0o600):
        path.write_bytes(content)
        path.chmod(mode)

    def sparse(size):
        def put(path):
            file(path)
            os.truncate(path, size)
        return put

    def deep(path):
        import hashlib
        text = b'{"key":"x","sizes":[],"about":' + b"[" * 10**6 + b"]" * 10**6 + b"}"
        body = len(text).to_bytes(8, "little") + text
        file(path, b"dimtensor code 1\n" + hashlib.blake2b(body, digest_size=32).digest() + body)

    def header(**parts):
        import hashlib
        text = json.dumps({"key": "x", "sizes": [0], "about": {}, **parts}).encode()
        body = len(text).to_bytes(8, "little") + text
        whole = b"dimtensor code 1\n" + hashlib.blake2b(body, digest_size=32).digest() + body
        return lambda path: file(path, whole)

    def bound(path):
        with socket.socket(socket.AF_UNIX) as one:
            os.chdir(path.parent)
            one.bind(path.name)

    def piped(path):
        os.mkfifo(folder / "pipe")
        path.symlink_to(folder / "pipe")

    def owned(path):
        file(path)
        os.chown(path, OTHER, -1)

    things = {
        "a pipe": os.mkfifo,
        "a socket": bound,
        "a link to an entry": lambda path: path.symlink_to(other),
        "a link to a pipe": piped,
        "a link to zeros": lambda path: path.symlink_to("/dev/zero"),
        "a link to itself": lambda path: path.symlink_to(path),
        "a link to nothing": lambda path: path.symlink_to("nothing"),
        "another name of a file": lambda path: os.link(other, path),
        "a file of 200 GB": sparse(200 * 2**30),
        "a file just over the limit": sparse(2**20 + 1),
        "a file below the limit": sparse(2**20),
        "a file that the group writes": lambda path: file(path, mode=0o660),
        "a file that is not readable": lambda path: file(path, mode=0),
        "a file that all write": lambda path: file(path, mode=0o606),
        "an empty file": lambda path: file(path, b""),
        "a file of one byte": lambda path: file(path, b"d"),
        "the entry of another key": file,
        "JSON a million deep": deep,
        "sizes that are negative": header(sizes=[-8]),
        "sizes that are text": header(sizes=["8"]),
        "sizes that are infinite": header(sizes=[float("inf")]),
        "sizes that are huge": header(sizes=[10**400]),
        "no sizes": header(sizes=None),
        "metadata of another type": header(about=[[1, 2, 3]]),
        "a key of another type": header(key=["x"]),
    }
    if os.geteuid() == 0:
        things["a file of another user"] = owned
        things["a device"] = lambda path: os.mknod(path, 0o20600, os.makedev(1, 5))
    for suffix, keys in ((".code", r"\w+"), ("", r"[\w.-]+-[0-9a-f]{12}")):
        for number, (name, put) in enumerate(things.items()):
            key = "x" if suffix else "jit_f-0123456789ab"
            store = Store(folder / f"{number}{suffix}", 2**20, suffix, keys)
            store.write(key, ENTRY)
            path = store.folder / f"{key}{suffix}"
            path.unlink()
            try:
                put(path)
            except PermissionError:  # a container without devices
                continue
            read = store.read(key)
            note(f"{name}{suffix}: read", read is None, read)
            store.clear()
            note(f"{name}{suffix}: replaced", store.write(key, ENTRY) and store.read(key) == ENTRY)
            note(f"{name}{suffix}: cleared", store.clear() == 1 and not path.exists())
            (folder / "pipe").unlink(missing_ok=True)
    note("the file that was pointed at is whole", other.read_bytes() == content)
    print(json.dumps(found))
    """.replace("OTHER", str(OTHER))
    counted(
        faults,
        STORES + dedent(code),
        cwd=tmp_path,
        memory=3 * 2**30,
        timeout=60,
        before=powerless,
    )


def test_damaged_entries(faults, tmp_path):
    """Flips, cuts, insertions and additions at random places of an entry."""
    code = r"""
    import random
    rng = random.Random(33)
    entry = Entry({"numbers": list(range(50))}, (rng.randbytes(5000), rng.randbytes(80)))
    store = Store(folder / "code")
    for number in range(240):
        store.write("x", entry)
        path = store.folder / "x.code"
        whole = path.read_bytes()
        at = rng.randrange(len(whole)) if number % 2 else rng.randrange(400)
        damaged = [
            lambda: whole[:at],
            lambda: whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1:],
            lambda: whole[:at] + rng.randbytes(3) + whole[at:],
            lambda: whole[:at] + bytes(min(512, len(whole) - at)) + whole[at + 512:],
            lambda: whole + rng.randbytes(number),
            lambda: whole[:at] + whole[at + 1:],
        ][number % 6]()
        path.write_bytes(damaged)
        path.chmod(0o600)
        read = store.read("x")
        note(f"damage {number} at {at}", damaged == whole or read is None and not path.exists())
    print(json.dumps(found))
    """
    counted(faults, STORES + dedent(code), cwd=tmp_path)


def test_folders_of_others_and_folders_that_fail(faults, tmp_path):
    code = r"""
    import shutil
    foreign = folder / "foreign"
    foreign.mkdir()
    for name in ("x.code", "jit_f-0123456789ab", "0123456789abcdef.part", "thesis.tex"):
        (foreign / name).write_text("theirs")
    before = sorted(os.listdir(foreign))

    def untouched():
        return sorted(os.listdir(foreign)) == before

    def refused(name, store):
        done = store.write("x", ENTRY), store.read("x"), store.files(), store.clear()
        note(f"{name}: nothing is kept", done == (False, None, [], 0), done)
        note(f"{name}: nothing is touched", untouched(), os.listdir(foreign))

    (folder / "link").symlink_to(foreign)
    refused("a link to a folder", Store(folder / "link"))
    for mode in (0o777, 0o770, 0o1777):
        foreign.chmod(mode)
        refused(f"a folder of mode {mode:o}", Store(foreign))
    foreign.chmod(0o700)
    os.mkfifo(folder / "pipe")
    refused("a pipe", Store(folder / "pipe"))
    (folder / "file").write_text("")
    refused("a file", Store(folder / "file"))
    refused("below a file", Store(folder / "file" / "below"))
    refused("a name that is too long", Store(folder / ("x" * 300)))
    foreign.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(foreign, OTHER, -1)
        refused("a folder of another user", Store(foreign))
    read_only = Store(folder / "read_only")
    read_only.write("x", ENTRY)
    read_only.folder.chmod(0o500)
    done = read_only.read("x"), read_only.write("y", ENTRY), read_only.clear()
    note("a folder that is read only", done == (ENTRY, False, 0), done)
    read_only.folder.chmod(0o100)
    note("a folder that cannot be listed", read_only.read("x") is None and not read_only.files())
    read_only.folder.chmod(0)
    refused("a folder that is closed", read_only)
    read_only.folder.chmod(0o700)

    # names that are none of ours stay
    store = Store(folder / "names")
    store.write("x", ENTRY)
    names = ["a\nb.code", "x.code\n", "-.code", "x.code.txt", ".code", "é.code", "x.part", "*.code",
             "00000000000000000.part", "\x1b[31m.code", "x y.code"]
    for name in names:
        (store.folder / name).write_bytes(b"mine")
    listed = [file.name for file in store.files()]
    note("only entries are listed", listed == ["x.code"], listed)
    store.clear()
    left = sorted(os.listdir(store.folder))
    note("only entries are removed", left == sorted(names), left)
    for key in ("../x", "/x", "x/y", "", "a\nb", "x" * 300, "x\0"):
        note(f"key {key[:9]!r}", not store.write(key, ENTRY) and store.read(key) is None)

    # a folder that goes away in the middle of a write
    remove, opened = shutil.rmtree, os.fdopen
    for name in ("fdopen", "rename", "open"):
        store = Store(folder / f"gone_{name}")
        store.write("x", ENTRY)
        before_call = getattr(os, name)
        def gone(*given, **more):
            setattr(os, name, before_call)
            shutil.rmtree(store.folder)
            return before_call(*given, **more)
        setattr(os, name, gone)
        try:
            store.write("x", ENTRY)
            held = True
        finally:
            setattr(os, name, before_call)
        note(f"a folder removed at {name}", held)
        again = store.write("x", ENTRY) and store.read("x") == ENTRY
        note(f"a folder removed at {name}: the next", again)

    # a full disk leaves nothing
    import signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    store = Store(folder / "full", 2**30)
    store.write("x", ENTRY)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    for size in (4096, 5000, 10**6):
        done = store.write("y", Entry({}, (bytes(size),)))
        left = sorted(os.listdir(store.folder))
        note(f"a full disk at {size}", not done and left == ["x.code"], left)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    note("after a full disk", store.read("x") == ENTRY)

    # clocks that are wrong
    real = time.time
    for clock in (0.0, 1e9, real() + 1e9, 2e10):
        store = Store(folder / f"clock_{clock:.0f}", 3000)
        time.time = lambda: clock
        for at in range(5):
            store.write(f"x{at}", Entry({}, (bytes(1000),)))
            for file in store.files():
                os.utime(store.folder / file.name, (clock + at, clock + at))
        sizes = sum(file.size for file in store.files())
        unfinished = store.folder / f"{0:016x}.part"
        unfinished.write_bytes(b"half")
        time.time = real
        store.write("last", Entry({}, (bytes(100),)))
        note(f"bounded with a clock at {clock:.0f}", sizes <= 3000, sizes)
        note(f"what is new after a clock at {clock:.0f}", store.read("last") is not None)
    print(json.dumps(found))
    """.replace("OTHER", str(OTHER))
    counted(faults, STORES + dedent(code), cwd=tmp_path, before=powerless)


COMPILED = """
import json, os, sys
from pathlib import Path
import numpy as np
import dimtensor as dt
from dimtensor.compile.caching import cache
from dimtensor.kernels.native.code import NativeCode

def function():
    x = dt.tensor("x", dims=dt.Dim("a", length=30))
    return dt.function([x], [(x**2).sum(), x * 3])

def right(f):
    return f(np.arange(30.0))[0] == 8555

found = []
def note(name, held, why=""):
    found.append([name, bool(held), str(why)])
"""


def caching(folder: Path, **more: str) -> dict[str, str]:
    return {"DIMTENSOR_CACHE": "1", "DIMTENSOR_CACHE_DIR": str(folder), **more}


def test_own_entries_with_broken_machine_code(faults, tmp_path):
    """Their checksums are right, LLVM would end the process: they are made again."""
    code = r"""
    function()(np.arange(30.0))
    store = cache.code_store()
    (path,) = store.folder.glob("*.code")
    entry = store.read(path.stem)
    native = NativeCode.from_bytes(entry.blobs[0])
    code = native.object
    objects = {
        "nothing": b"", "a head": code[:40], "zeros": bytes(500), "half": code[:len(code) // 2],
        "of 32 bits": code[:4] + b"\1" + code[5:], "a program": code[:16] + b"\2\0" + code[18:],
        "without sections": code[:60] + b"\0\0" + code[62:], "text": b"text " * 99,
        "for macOS": b"\xcf\xfa\xed\xfe" + code[4:], "bitcode": b"BC\xc0\xde" + code[4:],
        "an archive": b"!<arch>\n" + code[8:], "cut": code[:-30],
        "far sections": code[:40] + b"\xff\xff\xff\0" + code[44:],
    }
    blobs = {name: native._replace(object=one).to_bytes() for name, one in objects.items()}
    whole = entry.blobs[0]
    blobs |= {"no code": b"", "deep JSON": whole[:16] + b"[" * 10**6, "other code": b"x" * 99}
    for name, blob in blobs.items():
        store.write(path.stem, entry._replace(blobs=(blob, *entry.blobs[1:])))
        cache.forget()
        f = function()
        note(name, "lower" in f.stats and right(f), f.stats)
        cache.forget()
        note(f"{name}: made again", set(function().stats) == {"cache"})
    print(json.dumps(found))
    """
    counted(faults, COMPILED + dedent(code), env=caching(tmp_path))


def test_a_mask_that_hides_nothing(faults, tmp_path):
    """Folders that are made on the way are this user's alone, whatever the umask."""
    asked = "function()(np.arange(30.0))"
    for mask in (0o000, 0o022):
        home = tmp_path / f"{mask:o}"
        home.mkdir(mode=0o700)
        env = {"DIMTENSOR_CACHE": "1", "DIMTENSOR_CACHE_DIR": "", "HOME": str(home)}
        env["XDG_CACHE_HOME"] = str(home / "a" / "b")
        run(COMPILED + asked, env=env, before=lambda mask=mask: os.umask(mask)).ok()
        made = [home / "a", *(home / "a").rglob("*")]
        assert any(path.suffix == ".code" for path in made)
        for path in made:
            mode = stat.S_IMODE(path.stat().st_mode)
            expected = 0o700 if path.is_dir() else 0o600
            faults.count(f"umask {mask:o}: {path.relative_to(home)}", mode == expected, oct(mode))


def test_the_command_removes_nothing_of_others(faults, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    names = ("thesis.tex", "x.code", "jit_f-0123456789ab")
    for name in names:
        (theirs / name).write_text("theirs")
    for part in ("code", "jax"):
        folder = tmp_path / f"cache_{part}"
        folder.mkdir(mode=0o700)
        (folder / part).symlink_to(theirs)
        clear = "from dimtensor.__main__ import main; main(['cache', 'clear'])"
        said = run(clear, env=caching(folder)).ok()
        faults.count(f"{part}: said", said.startswith("0 entries"), said)
        for name in names:
            faults.count(f"{part}: {name}", (theirs / name).exists())


WORKERS = r"""
import json, math, os, sys
from pathlib import Path
from dimtensor.model.checking.processes import run_all

NAMES = [
    "queue", "numpy", "pickle", "json", "struct", "signal", "threading", "random", "types", "site",
    "sitecustomize", "usercustomize", "encodings", "importlib", "dimtensor", "pytensor", "pandas",
    "xarray", "scipy", "numba", "llvmlite", "subprocess", "tempfile", "os", "typing", "hashlib",
]

def put_files():
    for name in NAMES:
        text = f"open('ran_{name}', 'w').close()\nraise RuntimeError('{name} of this folder')\n"
        Path(f"{name}.py").write_text(text)
"""


@pytest.mark.parametrize("how", ["elsewhere", "notebook"])
def test_workers_do_not_import_from_the_current_folder(faults, tmp_path, how):
    """Neither those of a script in another folder, nor those of a notebook in this one."""
    code = r"""
    sys.path = [folder for folder in sys.path if folder]
    before = run_all(math.pow, 2.0, [1, 2, 3], 2, "test")[0]
    if HOW == "notebook":
        sys.path.insert(0, "")
        Path("helpers.py").write_text("def double(shared, x): return shared * x\n")
        from helpers import double
    put_files()
    found = [["results", run_all(math.pow, 2.0, [1, 2, 3], 2, "test")[0] == before, ""]]
    if HOW == "notebook":  # what is written beside it is found
        doubled = run_all(double, 2.0, [1, 2, 3], 2, "test")[0]
        found.append(["a module of this folder", doubled == [2, 4, 6], doubled])
    found += [[name, not Path(f"ran_{name}").exists(), ""] for name in NAMES]
    print(json.dumps(found))
    """
    counted(faults, WORKERS + dedent(code).replace("HOW", repr(how)), cwd=tmp_path)


def test_workers_run_the_package_of_the_process_that_starts_them(tmp_path):
    """Another copy that is found earlier is another version, perhaps."""
    code = r"""
    import dimtensor
    from dimtensor.model.checking.processes import run_all
    Path("other/dimtensor").mkdir(parents=True)
    Path("other/dimtensor/__init__.py").write_text("raise RuntimeError('another version')")
    sys.path.insert(0, os.path.abspath("other"))
    assert run_all(math.pow, 2.0, [1, 2], 2, "test")[0] == [2, 4]
    """
    run(WORKERS + dedent(code), cwd=tmp_path).ok()


@pytest.mark.parametrize(
    "home", ["file", "missing", "read only", "empty", "relative", "taken", "none"]
)
def test_homes_that_are_none(faults, tmp_path, home):
    """PyTensor's folder is a temporary one; it is removed, and the environment is as it was."""
    own = tmp_path / "home"
    env = {"TMPDIR": str(tmp_path / "tmp"), "DIMTENSOR_CACHE": "1", "DIMTENSOR_CACHE_DIR": ""}
    env |= {"HOME": str(own), "XDG_CACHE_HOME": "", "PYTENSOR_FLAGS": "", "DIMTENSOR_NATIVE": ""}
    (tmp_path / "tmp").mkdir()
    (tmp_path / "cwd").mkdir()
    if home == "file":
        own.write_text("")
    elif home == "read only":
        own.mkdir()
        (own / ".pytensorrc").write_text("[global]\ncast_policy = numpy+floatX\n")
        own.chmod(0o500)
    elif home == "taken":
        own.mkdir()
        (own / ".pytensor").write_text("")
    elif home != "missing":
        env["HOME"] = {"empty": "", "relative": "here", "none": "nowhere"}[home]
    code = r"""
    import os
    if HOME == "none":  # a user whom the system does not know
        import pwd
        del os.environ["HOME"]
        def unknown(name):
            raise KeyError(name)
        pwd.getpwuid = pwd.getpwnam = unknown
    before = dict(os.environ)
    import dimtensor as dt, numpy as np
    x = dt.tensor("x", dims=dt.Dim("d"))
    found = [float(dt.function([x], (x**2).sum())(np.arange(3.0)))]
    if HOME == "file":  # by numba
        found += [float(dt.function([x], dt.exp(x * 0j).real.sum())(np.arange(3.0)))]
    import pytensor, pytensor.link.numba.dispatch
    assert dict(os.environ) == before
    assert pytensor.config.cast_policy == ("numpy+floatX" if HOME == "read only" else "custom")
    print(found, pytensor.config.base_compiledir)
    """
    done = run(
        dedent(code).replace("HOME ==", f"{home!r} =="),
        env=env,
        cwd=tmp_path / "cwd",
        before=powerless,
    )
    said = done.ok()
    faults.count("results", said.startswith("[5.0"), said)
    faults.count("a temporary folder", str(tmp_path / "tmp") in said, said)
    left = [path for name in ("cwd", "tmp") for path in (tmp_path / name).iterdir()]
    faults.count("nothing is left", not left, left)
    faults.count("no home is made", own.exists() == (home in ("file", "read only", "taken")))


@pytest.mark.parametrize("kept", ["0", "1"])
def test_nothing_that_numba_kept_is_read(faults, tmp_path, kept):
    """Its index is a pickle, which runs what is in it, whoever wrote it."""
    code = r"""
    import json, sys
    touched = []
    def hook(event, given):
        if event == "open" and str(given[0]).endswith((".nbi", ".nbc")):
            touched.append(str(given[0]))
    sys.addaudithook(hook)
    import numpy as np, dimtensor as dt, pytensor, pytensor.tensor as pt
    from dimtensor.kernels.compiler import compile_kernel
    d, e = dt.Dim("d", length=3), dt.Dim("e", length=3)
    x, a = dt.tensor("x", dims=d), dt.tensor("a", dims=(d, e))
    assert float(dt.function([x], dt.abs(dt.exp(x * 1j)).sum())(np.arange(3.0))) > 2.9
    solved = dt.linalg.solve(a, x, dims=(d, e), assume_a="sym")
    found = dt.function([a, x], solved)((("d", "e"), np.eye(3) * 2), np.arange(3.0))
    assert np.allclose(found, [0, 0.5, 1])
    f = dt.function([x], (x**2).sum())
    assert f.numba(np.arange(3.0))[0] == 5
    m, z = pt.dmatrix("m"), pt.zvector("z")
    kernel = compile_kernel([z, m], [pt.exp(z) * 2.0, pt.linalg.cholesky(m)])
    assert kernel.left_to_numba
    assert np.allclose(kernel.function(np.zeros(2, complex), np.eye(3) * 4)[1], np.eye(3) * 2)
    # a graph that is left to PyTensor's linker, which keeps what it compiles else
    if KEPT == "0" and "pytensor_mode" in dir(dt):
        rng = pytensor.shared(np.random.default_rng(1))
        after, draw = pt.random.normal(rng=rng, return_next_rng=True)
        mode = dt.pytensor_mode()
        drawing = pytensor.function([], draw, updates={rng: after}, mode=mode)
        assert -9 < drawing() < 9
        assert drawing.vm.jit_fn.reason
    assert pytensor.config.numba__cache
    print(json.dumps(touched))
    """
    env = caching(tmp_path / "ours", DIMTENSOR_CACHE=kept, NUMBA_CACHE_DIR=str(tmp_path / "numba"))
    env |= {"PYTENSOR_FLAGS": f"base_compiledir={tmp_path / 'pytensor'}"}
    env |= {"DIMTENSOR_NATIVE": "", "DIMTENSOR_STRICT_KERNELS": "0"}
    poison = b"cbuiltins\nprint\n(S'PWNED'\ntR."
    for turn in ("first", "second"):
        said = run(code.replace("KEPT", repr(kept)), env=env).ok().splitlines()
        faults.count(f"{turn}: nothing is run", said[:-1] == [], said)
        faults.count(f"{turn}: nothing is opened", json.loads(said[-1]) == [], said)
        left = [path for name in ("pytensor", "numba") for path in (tmp_path / name).rglob("*.nb*")]
        faults.count(f"{turn}: nothing is written", not left, left)
        if not left:  # nor is there anything that a second process could read
            break
        for path in left:
            path.write_bytes(poison)


def test_executables_of_xla_that_others_can_have_written_are_not_loaded(faults, tmp_path):
    """Each of two functions would be the other one."""
    pytest.importorskip("jax")
    code = r"""
    import json, os, sys
    import numpy as np, dimtensor as dt
    x = dt.tensor("x", dims=dt.Dim("d"))
    functions = [dt.function([x], y, backend="jax") for y in (x.sum(), (x * 791).max())]
    print(json.dumps([float(f(np.arange(6.0))) for f in functions]))
    """
    swap = r"""
    from dimtensor.backends.store import _packed, _unpacked
    from pathlib import Path
    import json, os
    folder = Path(os.environ["DIMTENSOR_CACHE_DIR"]) / "jax"
    one, other = sorted(folder.iterdir())
    blobs = [_unpacked(path.read_bytes(), path.name) for path in (one, other)]
    for path, entry in zip((other, one), blobs):
        path.write_bytes(_packed(entry, path.name))
        if os.geteuid() == 0:
            os.chown(path, OTHER, -1)
        else:
            path.chmod(0o660)
    """.replace("OTHER", str(OTHER))
    env = caching(tmp_path)
    for turn in ("made", "found", "of others"):
        if turn == "of others":
            run(swap, env=env).ok()
        found = json.loads(run(code, env=env).ok())
        faults.count(turn, found == [15, 3955], found)
