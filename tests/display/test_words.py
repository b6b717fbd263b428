"""Formulas keep the words that were written, and nothing else depends on them."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import weakref
from html import unescape

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.graph.printing.formula import formula
from dimtensor.graph.printing.words import say, words_of

FIRM = dt.Dim("firm", coords=np.array(["IBM", "GE", "US Steel"]))
YEAR, LATE, OBS = dt.Dim("year", coords=[1935, 1936, 1937]), dt.Dim("late"), dt.Dim("obs")
INVEST = dt.tensor("invest", dims=[FIRM, YEAR])
PRICE, SHARE = dt.tensor("price", dims=YEAR), dt.tensor("share", dims=FIRM)
OF = dt.data(["IBM", "GE"], dims=OBS, categories=FIRM, name="of")
SHOP = dt.data(["b", "a"], dims=OBS, categories=dt.Dim("shop", coords=["a", "b"]), name="shop")
MONTH = dt.data([2, 1], dims=OBS, categories=dt.Dim("month", coords=[1, 2]))
SALES, FAR = dt.tensor("sales", dims=OBS), dt.tensor("far", dims=LATE)
M = dt.tensor("M", dims=[FIRM, FIRM.rename()])

WRITTEN = {
    "mean(invest, dim={year})": INVEST.mean(YEAR),
    "mean(invest)": INVEST.mean(),
    "mean(invest, dim={firm}, skipna=True)": dt.mean(INVEST, "firm", skipna=True),
    "var(invest, dim={year}, ddof=1)": INVEST.var(YEAR, ddof=1),
    "std(invest, dim={year})": INVEST.std(YEAR),
    "sum(invest, dim={year}, skipna=True)": INVEST.sum(YEAR, skipna=True),
    "prod(price, skipna=True)": PRICE.prod(skipna=True),
    "max(invest, dim={year}, skipna=True)": INVEST.max(YEAR, skipna=True),
    "count(invest, dim={year})": INVEST.count(YEAR),
    "median(invest, dim={firm})": INVEST.median(FIRM),
    "quantile(price, q=0.9)": PRICE.quantile(0.9),
    "quantile(price, q=[0.1, 0.9])": PRICE.quantile([0.1, 0.9]),
    "logsumexp(invest, dim={firm})": INVEST.logsumexp(FIRM),
    "softmax(share)": SHARE.softmax(),
    "log_softmax(invest, dim={firm})": dt.log_softmax(INVEST, FIRM),
    "cumsum(price, skipna=True)": PRICE.cumsum(skipna=True),
    "idxmax(invest, dim=firm)": INVEST.idxmax(FIRM),
    "shift(invest, year=1)": INVEST.shift(year=1),
    "shift(price, year=-1, fill_value=0.0)": PRICE.shift(year=-1, fill_value=0.0),
    "shift(price, year=1)": PRICE.shift({YEAR: 1}),
    "shift(price, year=-2)": PRICE.shift({YEAR: -2}),
    "roll(price, year=1)": PRICE.roll(year=1),
    "roll(far, late=1)": FAR.roll(late=1),
    "diff(price, dim=year)": PRICE.diff(YEAR),
    "pad(price, year=(1, 0))": PRICE.pad(year=(1, 0)),
    "push(expand(price, dims={firm}), value=share, dim=year)": dt.push(
        PRICE.expand(FIRM), SHARE, YEAR
    ),
    "mean(sales, by=of)": SALES.groupby(OF).mean(),
    "sum(sales, by=of)": SALES.groupby(OF).sum(),
    "std(sales, by=of, ddof=1)": SALES.groupby(OF).std(ddof=1),
    "mean(sales, by=[of, shop])": SALES.groupby([OF, SHOP]).mean(),
    "mean(sales, by=<month>)": SALES.groupby(MONTH).mean(),
    "max(sales, by=of)": SALES.groupby(OF).max(),
    "sales - mean(sales, by=of)[firm=of]": SALES - SALES.groupby(OF).map("mean"),
    "mean(invest, weights=share, dim={firm})": INVEST.weighted(SHARE).mean(FIRM),
    "reindex(price, dim=year)": PRICE.reindex(year=[1936, 1950]),
    "cumulate(price, dim=year)": dt.cumulate(lambda s, x: s + x, 0.0, PRICE, dim=YEAR),
    "associative_scan(price, dim=year)": dt.associative_scan(dt.maximum, PRICE, dim=YEAR),
    "cholesky(M)": dt.linalg.cholesky(M),
    "trace(M)": dt.trace(M),
    "solve(M, share)": dt.linalg.solve(M, SHARE),
    "eye({firm, firm'})": dt.eye(FIRM),
    "zeros({firm}) + full({year}, 2.5)": dt.zeros(FIRM) + dt.full(YEAR, 2.5),
    "2 * arange(year)": 2 * dt.arange(YEAR),
    "set(invest[firm='IBM'], 0)": INVEST.sel(firm="IBM").set(0.0),
    "invest[firm='US Steel']": INVEST.sel(firm="US Steel"),
    "ravel(invest, firm_year)[firm_year=('IBM', 1936)]": INVEST.ravel().sel(
        firm_year=("IBM", 1936)
    ),
    "invest[firm=['IBM', 'GE']]": INVEST.isel(firm=[0, 1]),
    "far[late='a':'c']": FAR.sel(late=slice(np.str_("a"), np.str_("c"))),
    "far[late='a']": FAR.sel(late=np.str_("a")),
    "of == firm['IBM']": np.str_("IBM") == OF,
}  # fmt: skip


@pytest.mark.parametrize("text", WRITTEN)
def test_what_was_written_is_what_is_shown(text):
    assert formula(WRITTEN[text].node) == text
    assert text in unescape(WRITTEN[text]._repr_html_())


def test_rebuilt_expressions_keep_their_words():
    other = dt.tensor("other", dims=[FIRM, YEAR])
    centered = INVEST - INVEST.mean(YEAR)
    moved = dt.substitute(centered, {INVEST: other * 2})
    assert formula(moved.node) == "2 * other - mean(2 * other, dim={year})"
    draw = dt.Dim("draw", length=4)
    batched = dt.vectorize(INVEST.softmax(YEAR), {INVEST: draw})
    assert formula(batched.node) == "softmax(invest, dim={year})"
    grouped = dt.substitute(SALES.groupby(OF).mean(), {SALES: SALES**2})
    assert formula(grouped.node) == "mean(sales**2, by=of)"


def test_pickled_expressions_keep_their_words():
    written = "std(x, dim={pickled}) - mean(shift(x, pickled=1), dim={pickled})"
    code = """
import pickle, sys
sys.stdout.write(repr(pickle.loads(bytes.fromhex(sys.argv[1]))))
"""
    pickled = dt.Dim("pickled", length=3)
    x = dt.tensor("x", dims=[pickled, FIRM])
    data = pickle.dumps(x.std(pickled) - x.shift(pickled=1).mean(pickled))
    command = [sys.executable, "-c", code, data.hex()]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[1] == written


def test_graphs_and_their_keys_do_not_depend_on_words():
    code = """
import dimtensor as dt
from dimtensor.compile.caching import cache
from dimtensor.compile.caching.fingerprint import describe_graph
from dimtensor.graph.printing.words import _said

year = dt.Dim("year", length=3)
x = dt.tensor("x", dims=year)
mean = x.mean()
if {forget}:
    _said.clear()
print(dt.dprint(mean, "str"))
print(cache.key_of(describe_graph([x.node], [mean.node], []), "numba"))
"""
    texts = [
        subprocess.run(
            [sys.executable, "-c", code.format(forget=forget)],
            capture_output=True, text=True, check=True,
        ).stdout
        for forget in (True, False)
    ]  # fmt: skip
    assert texts[0] == texts[1]
    assert "sum(x, dim={year})" in texts[0]


def test_words_live_as_long_as_their_nodes():
    x = dt.tensor("gone", dims=YEAR)
    made = x.std()
    key = weakref.ref(made.node)
    assert words_of(made.node).name == "std"
    gc.disable()
    try:
        del made
        assert key() is None
    finally:
        gc.enable()


def test_what_is_said_of_an_operand_itself_or_of_an_input_is_not_kept():
    x = dt.scalar("x")
    assert x.mean() is not x
    say(x, "nonsense", dt.scalar("y"))
    assert words_of(x.node) is None
    cube = x**3
    say(cube, "nonsense", cube)
    assert words_of(cube.node) is None
