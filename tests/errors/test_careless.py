"""What people write in haste: the class of its error, and the words that the text must have.

``careless.txt`` is a table of snippets, each with a class and parts of the message in order. The
whole texts of the mistakes in ``situations.py`` are in golden files; none of these is among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor import dist, errors


def _table() -> Iterator[tuple[str, str, list[str]]]:
    """Snippets with the class of the error and the parts of its message."""
    lines = Path(__file__).with_name("careless.txt").read_text("utf-8").splitlines()
    pairs = [line for line in lines if line and not line.startswith("# ")]
    for code, said in zip(pairs[::2], pairs[1::2], strict=True):
        kind, _, text = said.strip().partition(": ")
        yield code, kind, text.split(" … ")


SNIPPETS = list(_table())


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    table = pd.DataFrame(
        {
            "town": ["Oslo", "Bern", "Rome", "Bern"],
            "price": [3.0, 4.0, 5.0, 6.0],
            "size": [1.0, 2.0, 3.0, 4.0],
            "sold": [0, 1, 1, 0],
        }
    )
    town = dt.Dim("town", coords=["Bern", "Oslo", "Rome"])
    obs, late = dt.Dim("obs", length=4), dt.Dim("late")
    day = dt.date_range("day", start="2020-01-01", periods=60)
    of = dt.data(table["town"].to_numpy(), dims=obs, categories=town, name="of")
    price = dt.data(table["price"].to_numpy(), dims=obs, name="price")
    x = dt.tensor("x", dims=town)
    mu, sd = dt.rv("mu", dist.Normal(0, 1)), dt.rv("sd", dist.HalfNormal(1))
    level = dt.rv("level", dist.Normal(mu, sd), dims=town)
    y = dt.rv("y", dist.Normal(level.sel(town=of), 1.0))
    model = dt.Model(y, backend="python")
    leading = ("chain", "draw")
    post = xr.Dataset(
        {
            "mu": (leading, np.zeros((1, 3))),
            "sd": (leading, np.ones((1, 3))),
            "level": ((*leading, "town"), np.zeros((1, 3, 3))),
        },
        {"town": list(town)},
    )
    return {
        "dt": dt, "dist": dist, "np": np, "pd": pd, "xr": xr, "table": table,
        "town": town, "obs": obs, "late": late, "day": day, "of": of, "price": price,
        "size": dt.data(table["size"].to_numpy(), dims=obs, name="size"),
        "effect": dt.data([1.0, 2.0, 3.0], dims=town),
        "rain": dt.data(np.arange(60.0), dims=day),
        "grid": dt.data(np.arange(12.0).reshape(3, 4), dims=[town, obs]),
        "x": x, "v": dt.tensor("v", dims=late), "mu": mu, "sd": sd, "level": level, "y": y,
        "model": model, "fit": model.observe({y: table["price"].to_numpy()}), "post": post,
        "f": dt.function([x], x * 2, backend="python"),
    }  # fmt: skip


@pytest.mark.parametrize(("code", "kind", "parts"), SNIPPETS, ids=[code for code, *_ in SNIPPETS])
def test_the_error_of_a_careless_line_has_its_words(code, kind, parts, names):
    for call, extra in {"fit.sample(": "nutpie", "fit.plot.": "arviz"}.items():
        if call in code:
            pytest.importorskip(extra)
    with pytest.raises(dt.DimtensorError, match=r"\w") as caught:
        exec(code, dict(names))
    assert type(caught.value) is getattr(errors, kind)
    text, at = str(caught.value), 0
    for part in parts:
        found = text.find(part, at)
        assert found >= 0, f"{part!r} is not in: {text}"
        at = found + len(part)


def test_there_are_many():
    assert len({code for code, *_ in SNIPPETS}) == len(SNIPPETS) >= 200
