"""What is said where an optional library is not installed, and how one is imported."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from dimtensor.errors import MissingExtraError
from dimtensor.extras import check_installed, require

# A process in which some libraries cannot be imported, as if they were not there.
BLOCKED = """
import sys
from importlib.abc import MetaPathFinder

class Blocked(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {
            "jax", "jaxlib", "nutpie", "blackjax", "numpyro", "pymc", "arviz", "matplotlib",
            "h5netcdf", "netCDF4", "zarr",
        }:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None

sys.meta_path.insert(0, Blocked())
import dimtensor as dt

x = dt.scalar("x")
density = dt.LogDensity(-(x**2), {"x": dt.real})

def missing(extra, call):
    try:
        call()
    except dt.MissingExtraError as error:
        assert f"pip install 'dimtensor[{extra}]'" in str(error), error
        assert "not installed" in str(error), error
    else:
        raise AssertionError("nothing was raised")
"""


def run(script):
    done = subprocess.run([sys.executable, "-c", BLOCKED + script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_without_jax_its_backend_says_so_before_anything_is_compiled():
    run("""
missing("jax", lambda: dt.function([x], x**2, backend="jax"))
missing("jax", lambda: dt.evaluate(x**2, {"x": 1.0}, backend="jax"))
missing("jax", lambda: dt.LogDensity(-(x**2), {"x": dt.real}, backend="jax"))
missing("jax", lambda: dt.function([x], x**2, backend="python").jax)
missing("jax", lambda: density.to_blackjax())
""")


@pytest.mark.compiled
def test_without_the_extras_everything_else_works():
    run("""
assert dt.function([x], x**2, backend="python")(3.0) == 9.0
assert dt.function([x], x**2)(3.0) == 9.0
missing("sampling", lambda: dt.sample(density))
missing("blackjax", lambda: dt.sample(density, sampler="blackjax"))
missing("numpyro", lambda: dt.sample(density, sampler="numpyro"))
missing("sampling", lambda: density.to_nutpie())
missing("viz", lambda: dt.explain(x**2).plot())
draws = dt.Model(dt.rv("a", dt.dist.Normal(0.0, 1.0)), backend="python").draw(2, seed=1)
missing("files", lambda: draws.to_netcdf("draws.nc"))
missing("files", lambda: draws.to_zarr("draws.zarr"))
if "to_graph" in dir(dt):
    missing("viz", lambda: dt.to_graph(x**2))
""")


def test_a_library_that_lacks_one_of_its_own_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "broken_library.py").write_text("import surely_not_installed")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="surely_not_installed"):
        require("broken_library", "jax", "this")
    check_installed("broken_library", "jax", "this")
    with pytest.raises(MissingExtraError, match="this needs surely_not_installed"):
        check_installed("surely_not_installed", "jax", "this")


@pytest.mark.parametrize("name", ["interrupted_package", "interrupted_package.part"])
def test_an_interruption_waits_for_the_import(tmp_path, monkeypatch, name):
    package = tmp_path / "interrupted_package"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from interrupted_package import part\nwhole = part.whole\n"
    )
    (package / "part.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nwhole = True\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt, match=r"^$"):
            require(name, "sampling", "this test")
        assert sys.modules["interrupted_package"].whole
        assert require(name, "sampling", "this test").whole
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
        for module in ["interrupted_package", "interrupted_package.part"]:
            sys.modules.pop(module, None)
