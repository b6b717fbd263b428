"""Compiled code in new processes: found, right, labeled; whatever is in the folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.__main__ import main
from dimtensor.backends.jax.xla_cache import XlaCache, xla_store
from dimtensor.compile.caching import cache, versions
from dimtensor.kernels.native.linking import processor
from tests.architecture import imports

pytestmark = pytest.mark.compiled

# counties, observations, their names, the seed of the data
CHILD = """
import json, sys
import numpy as np
import dimtensor as dt
from dimtensor.compile.caching import versions
versions.sources = lambda package: "as they are now"  # somebody may edit them meanwhile
groups, n, names, seed = json.loads(sys.argv[1])
rng = np.random.default_rng(seed)
where, observed = rng.integers(0, groups, n), rng.normal(size=n)
county = dt.Dim(names[0], coords=[f"{names[0]} {at}" for at in range(groups)])
obs = dt.Dim(names[1], length=n)
of = dt.data(county.coords[where], dims=obs, categories=county)
y = dt.data(observed, dims=obs)
effect, mu = dt.tensor("effect", dims=county), dt.scalar("mu")
loss = ((y - (mu + effect).sel({county: of})) ** 2).sum() + (effect**2).sum()
f = dt.function([effect, mu], [loss, *dt.grad(loss, [effect, mu])])
plain = f.positional(np.arange(groups) / 7, np.asarray(0.5))
fast = [m for m in ("numba", "llvmlite", "scipy", "jax", "xarray", "pandas") if m in sys.modules]
value, slope, _ = f(np.arange(groups) / 7, 0.5)
print(json.dumps({
    "stats": f.stats,
    "value": float(value),
    "slope": slope.values.tolist(),
    "labels": slope[names[0]].values.tolist(),
    "plain": [float(plain[0]), plain[1].tolist()],
    "modules": fast,
}))
"""

SMALL = (12, 40, ("county", "obs"), 0)


def run(folder: Path, model: tuple = SMALL) -> dict[str, Any]:
    """What a new process finds out."""
    settings = {"DIMTENSOR_CACHE": "1", "DIMTENSOR_CACHE_DIR": str(folder)}
    child = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps(model)],
        capture_output=True,
        text=True,
        env={**os.environ, **settings},
        check=False,
    )
    assert child.returncode == 0, child.stderr
    found = json.loads(child.stdout)
    groups, n, names, seed = model
    rng = np.random.default_rng(seed)
    where, observed = rng.integers(0, groups, n), rng.normal(size=n)
    effect = np.arange(groups) / 7
    d = observed - (0.5 + effect)[where]
    np.testing.assert_allclose(found["value"], (d**2).sum() + (effect**2).sum())
    slope = -2 * np.bincount(where, d, groups) + 2 * effect
    np.testing.assert_allclose(found["slope"], slope)
    assert found["labels"] == [f"{names[0]} {at}" for at in range(groups)]
    assert found["plain"] == [found["value"], found["slope"]]
    return found


def entries(folder: Path) -> list[Path]:
    return sorted((folder / "code").glob("*.code"))


def test_a_new_process_finds_the_code(tmp_path: Path) -> None:
    cold = run(tmp_path)
    assert set(cold["stats"]) >= {"lower", "rewrite", "kernel", "jit"}
    assert len(entries(tmp_path)) == 1
    for model in (SMALL, (20, 15, ("z", "a"), 1)):
        warm = run(tmp_path, model)
        assert set(warm["stats"]) == {"cache"}
        assert warm["modules"] == []
    assert len(entries(tmp_path)) == 1


@pytest.mark.slow
def test_processes_that_compile_the_same_at_once(tmp_path: Path) -> None:
    children = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, json.dumps(SMALL)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "DIMTENSOR_CACHE": "1", "DIMTENSOR_CACHE_DIR": str(tmp_path)},
        )
        for _ in range(2)
    ]
    found = [json.loads(child.communicate()[0]) for child in children]
    assert len({one["value"] for one in found}) == 1
    assert len(entries(tmp_path)) == 1
    assert list((tmp_path / "code").glob("*.part")) == []
    assert set(run(tmp_path)["stats"]) == {"cache"}


# -- in one process --------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DIMTENSOR_CACHE", "1")
    monkeypatch.setenv("DIMTENSOR_CACHE_DIR", str(tmp_path))
    cache.forget()
    return tmp_path


def _function(name: str, n: int = 30) -> Any:
    x = dt.tensor("x", dims=dt.Dim(name, length=n))
    return dt.function([x], [(x**2).sum(), x.isel({name: slice(1, None)}) * 3.0])


def test_one_process_compiles_once(folder: Path) -> None:
    f = _function("a")
    f(np.arange(30.0))
    assert "jit" in f.stats
    for name, n in (("b", 30), ("a", 500)):
        other = _function(name, n)
        assert set(other.stats) == {"cache"}
        total, rest = other(np.arange(float(n)))
        assert total == (np.arange(n) ** 2.0).sum()
        assert rest.dims == (name,)
        assert rest.values.tolist() == (3.0 * np.arange(1, n)).tolist()


def test_what_is_wrong_with_an_entry_is_mended(folder: Path) -> None:
    _function("a")(np.arange(30.0))
    (path,) = entries(folder)
    whole = path.read_bytes()
    for damaged in (whole[:-100], b"", whole.replace(b"recipe", b"rebase", 1)):
        path.write_bytes(damaged)
        cache.forget()
        f = _function("a")
        assert f(np.arange(30.0))[0] == (np.arange(30) ** 2.0).sum()
        assert "jit" in f.stats
        assert len(path.read_bytes()) == len(whole)
        cache.forget()
        assert set(_function("a").stats) == {"cache"}


def test_the_cache_can_be_off_or_without_a_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIMTENSOR_CACHE", "0")
    for _ in range(2):
        f = _function("a")
        f(np.arange(30.0))
        assert "jit" in f.stats
    assert not (folder / "code").exists()
    monkeypatch.setenv("DIMTENSOR_CACHE", "1")
    (folder / "file").write_text("")
    monkeypatch.setenv("DIMTENSOR_CACHE_DIR", str(folder / "file"))
    f = _function("a")
    assert f(np.arange(30.0))[0] == (np.arange(30) ** 2.0).sum()
    assert "jit" in f.stats


def test_what_numba_itself_calls_is_made_when_it_is_asked_for(folder: Path) -> None:
    _function("a")(np.arange(30.0))
    cache.forget()
    f = _function("c")
    assert set(f.stats) == {"cache"}
    arguments = (np.arange(30.0), *f.positional.fixed)
    assert f.positional.raw(*arguments)[0] == f.positional(np.arange(30.0))[0]


def test_another_environment_does_not_find_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _function("a")(np.arange(30.0))
    for environment in ("another processor", "another version"):
        cache.forget()
        with monkeypatch.context() as patch:
            patch.setattr(cache, "environment", lambda environment=environment: environment)
            assert "lower" in _function("a").stats
    cache.forget()
    assert "cache" in _function("a").stats


def test_every_layer_that_makes_code_is_looked_at() -> None:
    below = imports.LAYERS[: imports.LAYERS.index("compile") + 1]
    assert [name.removesuffix(".py") for name in versions.LAYERS] == list(below)
    package = Path(dt.__file__).parent
    assert Path(versions.__file__).is_relative_to(package)
    assert all((package / name).exists() for name in versions.LAYERS)


CPUINFO = """\
processor       : 0
vendor_id       : AuthenticAMD
cpu family      : 23
model           : 49
model name      : AMD EPYC 7B12
stepping        : 0
cpu MHz         : 2249.998
flags           : fpu sse2 avx fma avx2

processor       : 1
flags           : fpu
"""


@pytest.mark.parametrize(
    ("there", "here"), [("fma", "fma avx512f"), ("avx2", ""), ("7B12", "7B13"), (": 49", ": 50")]
)
def test_another_processor_is_another_environment(there, here, tmp_path, monkeypatch) -> None:
    """Of machines that share a folder, each finds what was made for processors like its own."""
    monkeypatch.setattr(processor.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(processor.sys, "platform", "linux")
    monkeypatch.setattr(processor, "_CPUINFO", tmp_path / "cpuinfo")
    found = set()
    monkeypatch.setattr(versions, "processor", processor.processor.__wrapped__)
    for text in (CPUINFO, CPUINFO.replace("2249.998", "1500.0"), CPUINFO.replace(there, here)):
        (tmp_path / "cpuinfo").write_text(text)
        found.add(versions.environment.__wrapped__())
    assert len(found) == 2


def test_where_the_system_says_nothing_llvm_is_asked(tmp_path, monkeypatch) -> None:
    import llvmlite.binding as llvm

    monkeypatch.setattr(processor, "_CPUINFO", tmp_path / "nowhere")
    found = processor.processor.__wrapped__()
    assert found == f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"
    (tmp_path / "nowhere").write_text("processor : 0\nBogoMIPS : 50\n")
    assert processor.processor.__wrapped__() == found
    monkeypatch.setattr(processor, "_CPUINFO", tmp_path)  # is there, and cannot be read
    assert processor.processor.__wrapped__() == found


def test_what_is_imported_already_makes_no_difference(monkeypatch) -> None:
    """Whoever imports numba first, as PyMC may, finds what others have compiled."""
    import llvmlite

    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.delitem(sys.modules, "llvmlite")
    without = versions.environment.__wrapped__()
    monkeypatch.setitem(sys.modules, "llvmlite", llvmlite)
    assert versions.environment.__wrapped__() == without


def test_edited_sources_are_another_environment(tmp_path: Path) -> None:
    (tmp_path / "lower").mkdir()
    for module in (name for name in versions.LAYERS if name.endswith(".py")):
        (tmp_path / module).write_text("1")
    path = tmp_path / "lower" / "rules.py"
    path.write_text("x = 1")
    digests = {versions.sources(tmp_path)}
    path.write_text("x = 10")
    digests.add(versions.sources(tmp_path))
    os.utime(path, (1, 1))
    digests.add(versions.sources(tmp_path))
    path.rename(path.with_name("other.py"))
    digests.add(versions.sources(tmp_path))
    assert len(digests) == 4


def test_entries_that_are_whole_and_senseless_are_removed(folder: Path) -> None:
    _function("a")(np.arange(30.0))
    (path,) = entries(folder)
    store = cache.code_store()
    assert store is not None
    entry = store.read(path.stem)
    assert entry is not None
    about = entry.about
    (code,) = about["code"]
    senseless = [
        {**about, "code": [{**code, "kind": "other"}]},
        {**about, "code": []},
        {**about, "code": [code, code]},
        {**about, "recipe": [[[7, "start"]], [], []]},
        {**about, "recipe": [[], [1000], []]},
        {**about, "recipe": "text"},
        {**about, "code": [{**code, "constants": [["O", [1]]]}]},
        {},
    ]
    for wrong in senseless:
        cache.forget()
        store.write(path.stem, entry._replace(about=wrong))
        assert "lower" in _function("a").stats
        assert not path.exists()
    cache.forget()
    store.write(path.stem, entry._replace(blobs=(b"no code", *entry.blobs[1:])))
    assert "lower" in _function("a").stats


def test_data_are_in_no_entry(folder: Path) -> None:
    obs = dt.Dim("obs", length=50)
    secret = np.full(50, 1234.5678)
    x = dt.tensor("x", dims=obs)
    held = dt.data(secret, dims=obs, name="confidential")
    f = dt.function([x], [(x * held).sum(), x.isel(obs=[7] * 20 + [31] * 20).sum()])
    f(np.ones(50))
    (path,) = entries(folder)
    content = path.read_bytes()
    assert secret[:1].tobytes() not in content
    assert np.array([7, 7, 7]).tobytes() not in content
    assert b"confidential" not in content
    assert b"obs" not in content


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _function("a")(np.arange(30.0))
    XlaCache(xla_store()).put("entry", bytes(3 * 2**20))
    (folder / "jax" / "mine.txt").write_text("no entry")
    assert main(["cache"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == str(folder)
    assert lines[1].startswith("code       1 entry, 0.0 MB of at most 128.0 MB")
    assert lines[2].startswith("jax        1 entry, 3.0 MB of at most 512.0 MB")
    assert main(["cache", "list"]) == 0
    assert entries(folder)[0].name in capsys.readouterr().out
    assert main(["cache", "path"]) == 0
    assert capsys.readouterr().out.strip() == str(folder)
    assert main(["cache", "clear"]) == 0
    assert capsys.readouterr().out.startswith("2 entries removed")
    assert entries(folder) == []
    assert [path.name for path in (folder / "jax").iterdir()] == ["mine.txt"]


def test_the_command_without_a_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DIMTENSOR_CACHE", "0")
    assert main(["cache"]) == 1
    assert "nothing is kept" in capsys.readouterr().out


def test_the_limit_is_that_of_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIMTENSOR_CACHE_LIMIT", "0.001")
    _function("a")(np.arange(30.0))
    assert entries(folder) == []
