"""The persistent cache of XLA's compilations: whole entries or none, JAX's settings as before."""

import hashlib
import os
import subprocess
import sys
import textwrap

import pytest

from dimtensor.backends.jax.xla_cache import XlaCache, xla_store

pytest.importorskip("jax")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DIMTENSOR_CACHE", "1")
    monkeypatch.setenv("DIMTENSOR_CACHE_DIR", str(tmp_path))
    return XlaCache(xla_store())


def test_an_entry_comes_back(cache, tmp_path):
    assert cache.get("one") is None
    cache.put("one", b"code")
    assert cache.get("one") == b"code"
    assert XlaCache(xla_store()).get("one") == b"code"
    assert cache.get("other") is None
    assert [path.parent for path in tmp_path.rglob("one-*")] == [tmp_path / "jax"]


@pytest.mark.parametrize("damage", ["cut", "changed", "emptied", "unchecked"])
def test_a_damaged_entry_is_none_and_is_replaced(damage, cache, tmp_path):
    cache.put("one", b"code" * 100)
    (path,) = (tmp_path / "jax").iterdir()
    stored = path.read_bytes()
    path.write_bytes(
        {
            "cut": stored[:-9],
            "changed": stored[:-1] + bytes([stored[-1] ^ 1]),
            "emptied": b"",
            "unchecked": hashlib.sha256(b"code").digest() + b"code",  # of older versions
        }[damage]
    )
    assert cache.get("one") is None
    cache.put("one", b"code")
    assert cache.get("one") == b"code"


def test_the_least_recently_used_makes_room(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("DIMTENSOR_CACHE_LIMIT", str(500 / 2**20))  # a fourth of what is for XLA
    cache = XlaCache(xla_store())
    for at, key in enumerate(["old", "used", "new"]):
        cache.put(key, bytes(500))
        os.utime(next(tmp_path.glob(f"jax/{key}-*")), (at, at))
    cache.get("old")
    cache.put("last", bytes(500))
    assert [cache.get(key) is not None for key in ("old", "used", "new", "last")] == [
        True, False, False, True,
    ]  # fmt: skip


def test_entries_of_others_are_none(cache, tmp_path, monkeypatch):
    cache.put("one", b"code")
    path = next(tmp_path.glob("jax/one-*"))
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(path).st_uid + 1)
    assert cache.get("one") is None
    assert xla_store().clear() == 0
    assert path.exists()


def test_keys_that_are_no_names_are_not_kept(cache, tmp_path):
    cache.put("../one", b"code")
    assert cache.get("../one") is None
    assert list(tmp_path.rglob("*one*")) == []


SCRIPT = """
import warnings; warnings.simplefilter("error")
import sys
import numpy as np
import dimtensor as dt
import jax
from jax._src import compilation_cache

def settings():
    names = ("jax_enable_x64", "jax_compilation_cache_dir", "jax_enable_compilation_cache",
             "jax_persistent_cache_min_compile_time_secs",
             "jax_persistent_cache_min_entry_size_bytes")
    own = jax.config.values["jax_compilation_cache_dir"] is None
    return [jax.config.values[name] for name in names], own and compilation_cache._cache

hits = []
jax.monitoring.register_event_listener(lambda event, **kwargs: hits.append(event))
before = settings()
x = dt.tensor("x", dims=dt.Dim("d"))
with jax.enable_x64(True):  # what holds here is not to be taken for what holds for all
    f = dt.function([x], [(dt.exp(x) * 3).sum(), x + 1], backend="jax")
    f.positional
assert settings() == before
results = f(np.full(3, 1e-12))
assert settings() == before
assert results[1].dtype == "float64"
assert (results[1].values - 1).max() > 0
print(sum(event.endswith("cache_hits") for event in hits))
print(jax.numpy.ones(2).dtype, jax.config.jax_enable_x64)
"""


def run(folder, **environment):
    environment = {**os.environ, "DIMTENSOR_CACHE_DIR": str(folder), **environment}
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    hits, modes = result.stdout.splitlines()
    assert modes == "float32 False"
    return int(hits)


@pytest.mark.slow
@pytest.mark.compiled
def test_a_second_process_does_not_compile_again_and_none_changes_settings(tmp_path):
    ours = tmp_path / "ours"
    assert run(ours, DIMTENSOR_CACHE="1") == 0
    assert len(list((ours / "jax").iterdir())) == 1
    assert run(ours, DIMTENSOR_CACHE="1") == 1
    # the user's own takes the place of ours
    theirs = tmp_path / "theirs"
    run(tmp_path / "unused", DIMTENSOR_CACHE="1", JAX_COMPILATION_CACHE_DIR=str(theirs))
    assert not (tmp_path / "unused" / "jax").exists()
