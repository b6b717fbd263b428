"""Exported functions: folders that are damaged, forged or in the way; right, or one error."""

from __future__ import annotations

import textwrap

import pytest

from tests.hostile.children import run
from tests.hostile.exported_folders import KINDS, results
from tests.hostile.exported_forgeries import FORGED

pytest.importorskip("jax")
pytest.importorskip("flatbuffers", reason="JAX writes modules with it")
pytestmark = pytest.mark.slow

# a manifest that somebody has written anew, with its hash, may have other labels or dtypes
_ANEW = {"LabelError", "DtypeError", "InputError", "DimError", "CheckError", "PositionError"}
_FUNCTIONS = """
    import os, resource, signal
    import dimtensor as dt

    x = dt.tensor("x", dims=dt.Dim("n", coords=["(0, 1]", "{b}"]))
    old, new = (dt.function([x], x * k, "python") for k in (2.0, 3.0))

    def factor(path):
        return float(dt.load_exported(path)([1.0, 1.0])[0])

    def refused(f, path):
        try:
            f.export(path)
        except dt.ExportError as error:
            return str(path) in str(error)
        return False
"""
_WRITERS = """
    import os, signal, sys
    from dimtensor.errors import ExportError
    from dimtensor.interop.export.files import ALL
    from dimtensor.interop.export.folders import write_folder

    def export(path, text):
        def write(stage):
            for name in ALL:
                (stage / name).write_text(text)
        write_folder(path, write)

    def contents(path):
        found = [(path / name) for name in ALL]
        return {file.read_text() if file.exists() else "nothing" for file in found}
"""


def _program(about: str, code: str) -> str:
    return textwrap.dedent(about) + textwrap.dedent(code)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "f"
    run(f"from tests.hostile.exported_folders import write; write({str(path)!r})").ok()
    return path


@pytest.mark.parametrize("kind", [*KINDS, *FORGED])
def test_a_folder_with_a_fault_is_right_or_an_error_of_ours(kind, folder, tmp_path, faults):
    fine = {"right", "ExportError", *(_ANEW if kind == "changes" else ())}
    for name, found in results(folder, kind, tmp_path):
        faults.count(f"{kind}: {name}", found in fine, found)
    faults.count(f"{kind}: code of a file runs", not (tmp_path / "pwned").exists())
    assert faults.tried > 20


def test_a_full_disk_leaves_what_was_there_and_nothing_else(tmp_path, faults):
    """Files have at most so many bytes, for a first export and for one over another."""
    (tmp_path / "empty").mkdir()
    code = """
        old.export("f")
        before = {name: os.path.getsize(f"f/{name}") for name in os.listdir("f")}
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        largest = max(before.values()) - 1
        for most in range(0, largest, largest // 12):
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
            held = [refused(new, path) for path in ("f", "new", "deep/er/new", "empty")]
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
            held += [sorted(os.listdir(".")) == ["empty", "f"], os.listdir("empty") == []]
            held += [before == {name: os.path.getsize(f"f/{name}") for name in os.listdir("f")}]
            print(most, all(held))
        print("afterwards", factor("f") == 2.0 and factor(new.export("f")) == 3.0)
    """
    for line in run(_program(_FUNCTIONS, code), cwd=tmp_path).ok().splitlines():
        faults.count(f"a disk for files of {line}", line.endswith("True"))
    assert faults.tried > 10


def test_places_that_are_not_ours(tmp_path, faults):
    """Folders that may not be written to, files, and links that lead nowhere."""
    code = """
        import ctypes
        if os.geteuid() == 0:  # without the rights of root to read and write everything
            libc, known = ctypes.CDLL(None), (ctypes.c_uint32 * 2)(0x20080522, 0)
            rights = (ctypes.c_uint32 * 6)()
            assert libc.capget(known, rights) == 0
            rights[0] &= ~0b110
            assert libc.capset(known, rights) == 0
        os.makedirs("locked/f"), os.mkdir("home")
        open("locked/f/manifest.json", "w").close()
        os.chmod("locked/f", 0o555), os.chmod("locked", 0o555)
        open("home/file", "w").close()
        os.symlink("loop", "home/loop"), os.symlink("../locked/g", "home/away")
        os.mkdir("home/mine"), os.chmod("home/mine", 0o555)
        os.mkdir("home/taken"), os.mkdir("home/taken/load.py")
        for path in ("locked/f", "locked/g", "home/file", "home/file/f", "home/loop", "home/away",
                     "home/mine", "home/mine/f", "home/taken", "/proc/f", "/dev/null", "/dev/full",
                     "home/" + "x" * 300, "home" + "/x" * 3000):
            before = sorted(os.listdir("home"))
            print(path[:20], refused(old, path) and before == sorted(os.listdir("home")))
        print("mine", os.listdir("home/mine") == [])
        os.symlink("there/f", "home/link")
        print("a link to nothing", factor(old.export("home/link")) == 2.0)
        print("over it", factor(new.export("home/link")) == 3.0 and os.path.islink("home/link"))
        os.chmod("home/there/f/function.jax", 0)
        try:
            dt.load_exported("home/link")
        except dt.ExportError as error:
            print("unreadable", "Permission denied" in str(error))
    """

    ended = run(_program(_FUNCTIONS, code), cwd=tmp_path)
    for line in ended.ok().splitlines():
        faults.count(line, line.endswith("True"))
    assert faults.tried == 18


_LAST = {
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "interrupted": "raise KeyboardInterrupt",
    "without memory": "raise MemoryError",
    "refused": "raise PermissionError(1, 'Operation not permitted')",
}


@pytest.mark.parametrize("how", _LAST)
def test_an_export_that_ends_anywhere_leaves_a_whole_folder_or_none(how, tmp_path, faults):
    """Each operation on files is the last one. Killed, it may leave a folder without manifest."""
    code = """
        import pathlib, shutil
        here = pathlib.Path()

        def at_operation(k):
            count = 0
            def watch(event, arguments):
                nonlocal count
                if event in ("open", "os.rename", "os.mkdir") and ".export-" in repr(arguments):
                    count += 1
                    if count == k:
                        LAST
            return watch

        for k in range(1, 99):
            ended = set()
            for name in ("f", "new"):
                export(here / "f", "old")
                child = os.fork()
                if child == 0:
                    sys.addaudithook(at_operation(k))
                    try:
                        export(here / name, "new")
                    except (ExportError, KeyboardInterrupt, MemoryError):
                        os._exit(1)
                    os._exit(0)
                status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                found = contents(here / name)
                before = "old" if name == "f" else "nothing"
                whole = found == {"new"} or (status and found == {before})
                torn = not (here / name / "manifest.json").exists()
                tidy = not list(here.glob("**/.export-*"))
                killed = status == -9
                ended.add(status)
                fine = (whole or killed and torn) and (tidy or killed)
                print(k, name, status, *sorted(found), tidy, fine)
                for path in here.iterdir():
                    shutil.rmtree(path)
            if ended == {0}:
                break
    """
    program = _program(_WRITERS, code.replace("LAST", _LAST[how]))
    for line in run(program, cwd=tmp_path).ok().splitlines():
        faults.count(f"{how} at {line}", line.endswith("True"))
    assert faults.tried > 20


def test_exports_to_one_folder_at_the_same_time(tmp_path, faults):
    """Whoever is last, all files of the folder are of one of them."""
    code = """
        import pathlib
        path = pathlib.Path("f")
        for at in range(20):
            children = []
            for text in "abcd":
                child = os.fork()
                if child == 0:
                    try:
                        for _ in range(10):
                            export(path, text)
                    except BaseException:
                        os._exit(1)
                    os._exit(0)
                children.append(child)
            ended = [os.waitpid(child, 0)[1] for child in children]
            whole = len(contents(path)) == 1 and len(list(path.iterdir())) == len(ALL)
            print(at, ended == [0] * 4, contents(path), whole and ended == [0] * 4)
    """
    for line in run(_program(_WRITERS, code), cwd=tmp_path).ok().splitlines():
        faults.count(f"four at once: {line}", line.endswith("True"))
    assert faults.tried == 20


def test_files_of_draws_that_are_damaged(tmp_path, faults):
    """Each file of a Zarr store is cut off, removed, flipped or something else; NetCDF is cut off.

    Texts are not flipped: zarr allocates as many as the first bytes say.
    """
    pytest.importorskip("zarr")
    code = """
        import pathlib, random, shutil, warnings
        import pandas as pd
        import dimtensor as dt
        from dimtensor import dist
        warnings.simplefilter("ignore")
        quarter = dt.Dim("quarter", coords=pd.period_range("2020Q1", periods=2, freq="Q"))
        city = dt.Dim("city", coords=["a", 1, ("b", None)])
        mu = dt.rv("mu", dist.Normal(0.0, 1.0), dims=[quarter, city])
        post = dt.Model(mu, backend="python").draw(3, seed=1)
        whole, copy = pathlib.Path("whole.zarr"), pathlib.Path("copy.zarr")
        chance = random.Random(5)
        post.to_zarr(whole, consolidated=False)

        def outcome(path):
            signal.alarm(20)
            try:
                tree = dt.load_posterior(path)
            except (dt.DimtensorError, MemoryError):
                return True
            except Exception as error:
                return repr(error)
            finally:
                signal.alarm(0)
            return True

        def changed(content, kind):
            at = chance.randrange(len(content))
            flipped = bytearray(content)
            flipped[at] ^= 1 << at % 8
            return {"cut": content[:at], "flip": bytes(flipped), "text": b"[" * 99999}[kind]

        for file in sorted(path for path in whole.rglob("*") if path.is_file()):
            kinds = ["cut", "gone", "a pipe", "endless", "flip", "flip", "text"]
            for kind in kinds[:4] if file.parent.name == "c" else kinds:
                shutil.copytree(whole, copy)
                other = copy / file.relative_to(whole)
                content = other.read_bytes()
                other.unlink()
                if kind == "a pipe":
                    os.mkfifo(other)
                elif kind == "endless":
                    other.symlink_to("/dev/zero")
                elif kind != "gone":
                    other.write_bytes(changed(content, kind))
                print(kind, file, outcome(copy))
                shutil.rmtree(copy)
        try:
            post.to_netcdf("post.nc")
        except ValueError:  # nothing that writes it is installed
            pass
        else:
            content = pathlib.Path("post.nc").read_bytes()
            for at in range(0, len(content), len(content) // 20):
                pathlib.Path("cut.nc").write_bytes(content[:at])
                print("NetCDF cut at", at, outcome("cut.nc"))
    """
    program = "import os, signal" + _program("", code)
    for line in run(program, cwd=tmp_path).ok().splitlines():
        faults.count(line, line.endswith("True"))
    assert faults.tried > 40


def test_the_command_line_ends_with_a_line(tmp_path, faults):
    """Arguments and folders of any bytes, and outputs that are closed, full or gone."""
    code = """
        import os, subprocess, sys
        def tried(name, *arguments, status=(0, 1, 2), **options):
            options = {"stdout": subprocess.PIPE, **options}
            environment = {**os.environ, "DIMTENSOR_CACHE_DIR": "here", **options.pop("also", {})}
            done = subprocess.run([sys.executable, "-m", "dimtensor", *arguments], timeout=60,
                                  stderr=subprocess.PIPE, env=environment, **options)
            print(name, done.returncode in status and b"Traceback" not in done.stderr)
            return done.stdout
        from dimtensor.__main__ import main
        for at, arguments in enumerate([
            [], ["cache", "nothing"], ["cache\\udcff"], ["cache", "\\udcff"],
            ["cache", "list", "list"],
            ["-c"], ["--", "cache", "clear", ".."], ["cache", "x" * 100_000], ["cache", "$(id)"],
        ]):
            try:
                print("arguments", main(arguments))
            except SystemExit as ended:
                print("arguments", at, ended.code == 2)
        folder = b"other\\xff\\n\\x1b[31m"
        found = tried("a folder of bytes", "cache", "path", also={"DIMTENSOR_CACHE_DIR": folder})
        print("its name", found.rstrip(b"\\n").endswith(folder))
        narrow = {"DIMTENSOR_CACHE_DIR": "\u65e5\u672c", "PYTHONIOENCODING": "ascii"}
        tried("letters that the terminal has not", "cache", "list", status=[0], also=narrow)
        for place in ("/dev/null", "/proc/x", "a/file/x"):
            tried(place, "cache", "show", status=[1], also={"DIMTENSOR_CACHE_DIR": place})
        with open("/dev/full", "w") as full:
            tried("a full disk", "cache", "list", status=[1], stdout=full)
        reading, writing = os.pipe()
        os.close(reading)
        tried("a reader that is gone", "cache", "list", status=[1], stdout=writing)
        tried("no output", "cache", "list", stdout=None, preexec_fn=lambda: os.close(1))
    """
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").touch()
    program = _program("", code.replace("\\\\", "\\"))
    for line in run(program, cwd=tmp_path, env={"DIMTENSOR_CACHE": "1"}).ok().splitlines():
        faults.count(line, line.endswith("True"))
    assert faults.tried == 18
