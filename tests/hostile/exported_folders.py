"""Faults in the folder of an exported function, each tried in a process that may crash or hang."""

from __future__ import annotations

import json
import random
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.hostile.children import run

EFFECT, SLOPE, Y = np.array([0.5, -1.0, 2.0]), 1.5, np.array([1.0, 2.0, 3.0, 4.0])
WHERE, FLOOR = np.array([0, 2, 2, 1]), np.array([0.0, 1.0, 1.0, 0.0])
Fault = tuple[str, Callable[[Path], object]]
_SECONDS = 20  # after which a fault counts as one that hangs


def write(folder: Path | str) -> Path:
    """Export a density with labels, a gradient, a check, and data that are an input."""
    import dimtensor as dt

    county, house = dt.Dim("county", coords=["(0, 1]", "{b}", "c"]), dt.Dim("house")
    effect, slope = dt.tensor("effect", dims=county), dt.scalar("slope")
    where = dt.tensor("where", dims=house, categories=county)
    y, late = dt.tensor("y", dims=house), dt.tensor("late", dims=dt.Dim("other"))
    floor = dt.data(FLOOR, dims=dt.Dim("house", length=4), name="file")
    positive = dt.check(slope > 0, "slope is positive", slope)
    fit = ((y - effect.sel(county=where)) ** 2).sum() * positive
    loss = fit + (floor**2).sum() + late.sum()
    inputs = [effect, slope, where, y, late]
    return dt.function(inputs, loss, "python").export(folder, gradient=["effect"], data="inputs")


def expected() -> tuple[float, np.ndarray]:
    rest = Y - EFFECT[WHERE]
    slopes = np.zeros(3)
    np.add.at(slopes, WHERE, -2 * rest * SLOPE)
    return float((rest**2).sum() * SLOPE + (FLOOR**2).sum() + 7.0), slopes


def outcome(folder: Path) -> str:
    """What loading and calling gives: "right", "wrong", or the name of an exception."""
    import dimtensor as dt

    labels = np.array(["(0, 1]", "{b}", "c"])[WHERE]
    try:
        value, slopes = dt.load_exported(folder)(EFFECT, SLOPE, labels, Y, [3.0, 4.0])
    except dt.DimtensorError as error:
        return type(error).__name__
    except Exception:
        return traceback.format_exc()[-500:]
    one, other = expected()
    try:
        same = np.allclose(value, one) and np.allclose(slopes["effect"], other)
    except Exception:
        return "wrong"
    return "right" if same else "wrong"


# -- kinds of faults -------------------------------------------------------------------------------


def rehashed(folder: Path, manifest: Any = None) -> None:
    """Give the manifest the hashes of the files that are there, as who forges a folder does."""
    from dimtensor.interop.export.files import ALL, MANIFEST, file_entry
    from dimtensor.interop.export.reading import own_checksum

    path = folder / MANIFEST
    if manifest is None:
        manifest = json.loads(path.read_text())
        for name in ALL:
            if name != MANIFEST and (folder / name).is_file():
                manifest["files"][name] = file_entry(folder / name)
    if isinstance(manifest, dict) and "sha256" in manifest:
        manifest["sha256"] = own_checksum(manifest)
    path.write_text(json.dumps(manifest))


def flips(folder: Path, name: str, count: int) -> Iterator[Fault]:
    """One bit in each of some bytes of a file, a byte less, and all that is before it."""
    content = (folder / name).read_bytes()
    written = [at for at, byte in enumerate(content) if byte not in b" \n"]
    spaces = [at for at, byte in enumerate(content) if byte in b" \n"]
    chance = random.Random(7)
    places = chance.sample(written, min(count, len(written))) + chance.sample(spaces, 3)
    for at in places:
        flipped = bytearray(content)
        flipped[at] ^= 1 << at % 8
        less, cut = content[:at] + content[at + 1 :], content[:at]
        for what, new in (("flip", flipped), ("loss", less), ("cut", cut)):
            yield f"{what} of {name} at {at}", lambda to, new=new: (to / name).write_bytes(new)


_VALUES: list[Any] = [
    None, True, -1, 0, 3, 2**70, 1.5, 1e308, "", "x", "x" * 70_000, "\0", [], {}, [[]], ["x"],
    {"a": 1}, {"datetime64[ns, dateutil//etc/localtime]": "x"}, ["day", None], [None] * 5000,
]  # fmt: skip


def places_in(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places_in(value[key], (*at, key))


def changes(folder: Path) -> Iterator[Fault]:
    """Each part of the manifest is another value, is not there, or there are more, with hashes."""
    whole = json.loads((folder / "manifest.json").read_text())
    for at in list(places_in(whole)):
        for value in _VALUES if at else []:
            yield (
                f"{at} is {str(value)[:30]!r}",
                lambda to, at=at, v=value: _put(to, at, lambda _: v),
            )
        if at:
            yield f"{at} is not there", lambda to, at=at: _put(to, at, None)
            yield f"{at} is in a list", lambda to, at=at: _put(to, at, lambda was: [was])
            yield f"{at} is twice", lambda to, at=at: _put(to, at, _twice)
            if isinstance(at[-1], str):
                new = (*at[:-1], at[-1] + "s")
                yield f"{new} is there", lambda to, new=new: _put(to, new, lambda _: 1)


def _twice(was: Any) -> Any:
    return was * 2 if isinstance(was, (str, list, int)) else was


def _put(folder: Path, at: tuple[Any, ...], change: Callable[[Any], Any] | None) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    owner = manifest
    for key in at[:-1]:
        owner = owner[key]
    if change is None:
        del owner[at[-1]]
    else:
        owner[at[-1]] = change(owner.get(at[-1]) if isinstance(owner, dict) else owner[at[-1]])
    rehashed(folder, manifest)


def texts(folder: Path) -> Iterator[Fault]:
    """Files that are no manifest at all."""
    text = (folder / "manifest.json").read_text()
    twice = text.replace('"inputs":', '"inputs": [], "inputs":', 1)
    wrong = {
        "nothing": "", "an object": "{}", "a list": "[]", "a number": "1", "null": "null",
        "NaN": "NaN", "a key twice": twice, "a huge integer": f'{{"format": {"9" * 5000}}}',
        "a large integer": f'{{"format": {"9" * 4000}}}', "depth": "[" * 10**6,
        "closed depth": "[" * 10**5 + "]" * 10**5, "depth of objects": '{"a":' * 10**5,
        "NaN inside": text.replace("2", "NaN", 1), "Infinity": '{"format": -Infinity}',
        "a BOM": "\ufeff" + text, "two": text + text, "a comment": "// x\n" + text,
        "format of the future": text.replace('"format": 2', '"format": 3', 1),
        "format of the past": text.replace('"format": 2', '"format": 1', 1),
        "format that is a number": text.replace('"format": 2', '"format": 2.0', 1),
        "single quotes": text.replace('"', "'"),
    }  # fmt: skip
    for name, content in wrong.items():
        new = content.encode("utf-8", "surrogatepass")
        yield name, lambda to, new=new: (to / "manifest.json").write_bytes(new)
    for name in ("utf-16", "utf-32", "latin-1"):
        new = text.replace("slope is", "sl\xf6pe is").encode(name)
        yield name, lambda to, new=new: (to / "manifest.json").write_bytes(new)


# -- trying them -----------------------------------------------------------------------------------


def attempt(folder: str, kind: str, start: int) -> None:
    """In the child: try faults from a number on, telling each before and after it is tried."""
    from tests.hostile.exported_forgeries import FORGED

    made = list({**KINDS, **FORGED}[kind](Path(folder)))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for number, (name, spoil) in list(enumerate(made))[start:]:
        with tempfile.TemporaryDirectory() as scratch:
            copy = shutil.copytree(folder, Path(scratch, "f"))
            spoil(copy)
            print(json.dumps([number, len(made), name]), flush=True)
            signal.alarm(_SECONDS)
            found = outcome(copy)
            signal.alarm(0)
            print(json.dumps([number, found]), flush=True)


def results(folder: Path, kind: str, cwd: Path | None = None) -> Iterator[tuple[str, str]]:
    """Names of faults and what came of them; one that ends the process is "crash" or "hang"."""
    start = 0
    while True:
        code = f"""
            from tests.hostile.exported_folders import attempt
            attempt({str(folder)!r}, {kind!r}, {start})
        """
        kept = {
            "DIMTENSOR_CACHE": "0",
            "JAX_COMPILATION_CACHE_DIR": str(folder.parent / "compiled"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        }
        ended = run(code, timeout=300, cwd=cwd, env=kept)
        lines = [json.loads(line) for line in ended.out.splitlines()]
        names = {line[0]: line[2] for line in lines if len(line) == 3}
        found = {line[0]: line[1] for line in lines if len(line) == 2}
        yield from ((names[number], found[number]) for number in found)
        if not names:
            raise AssertionError(f"{ended.err[-2000:]}")
        last = max(names)
        if last not in found:
            alarmed = -ended.code == signal.SIGALRM
            yield names[last], "hang" if alarmed else f"crash {ended.code} {ended.err[-300:]}"
        elif ended.code:
            raise AssertionError(ended.err[-2000:])
        start = last + 1
        if start >= lines[0][1]:
            return


def _some(made: Iterator[Fault], count: int) -> Iterator[Fault]:
    every = list(made)
    yield from (every[at] for at in sorted(random.Random(11).sample(range(len(every)), count)))


KINDS: dict[str, Callable[[Path], Iterator[Fault]]] = {
    "flips of the manifest": lambda folder: flips(folder, "manifest.json", 100),
    "flips of the module": lambda folder: flips(folder, "function.jax", 60),
    "flips of the data": lambda folder: flips(folder, "data.npz", 40),
    "changes": lambda folder: _some(changes(folder), 240),
    "texts": texts,
}

if __name__ == "__main__":
    print(write(Path(sys.argv[1])))
