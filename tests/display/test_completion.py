"""Tab completion of names of dims, labels, variables and inputs, in IPython's own completer."""

from __future__ import annotations

import collections
import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dimtensor as dt
from dimtensor import dist
from dimtensor.display.completion import offer

pytest.importorskip("IPython")
from IPython.core.completer import IPCompleter, provisionalcompleter

ROOT = Path(__file__).parents[2]
COUNTY = dt.Dim("county", coords=["AITKIN", "ANOKA", "LAC QUI PARLE"])
DAY = dt.Dim("day", coords=pd.date_range("2021-03-01", periods=3))
OBS = dt.Dim("obs")
X = dt.tensor("x", dims=[COUNTY, DAY])
WHERE = dt.data(["ANOKA", "AITKIN"], dims=OBS, categories=COUNTY, name="county_of")
MU = dt.rv("mu", dist.Normal(0.0, 1.0))
ALPHA = dt.rv("alpha", dist.Normal(MU, 1.0), dims=COUNTY)
Y = dt.rv("yield_", dist.Normal(dt.named("mean", ALPHA.sel(county=WHERE)), 1.0))
NAMESPACE = {
    "x": X,
    "holder": types.SimpleNamespace(x=X),
    "several": {"first": X},
    "county_of": WHERE,
    "model": dt.Model(Y, backend="python"),
    "f": dt.function([X, dt.scalar("slope")], X * dt.scalar("slope"), backend="python"),
    "late": dt.data(pd.Series([1.0, 2.0], index=pd.Index(["p", "q"], name="k")), dims=dt.Dim("k")),
    "dt": dt,
    "np": np,
}

WORDS = {
    "x.sel(": ["county=", "day="],
    "x.sel(co": ["county="],
    "y = 2 * x.sel(d": ["day="],
    "x.sel(county='AITKIN', d": ["day="],
    "x.isel(c": ["county="],
    "x.rename(": ["county=", "day="],
    "x.shift(d": ["day="],
    "x.rolling(d": ["day="],
    "x.sel(county='A": ["AITKIN", "ANOKA"],
    'x.sel(county="LAC Q': ["LAC QUI PARLE"],
    "x.sel(county=['AITKIN', 'A": ["AITKIN", "ANOKA"],
    "x.sel(county=": ["'AITKIN'", "'ANOKA'", "'LAC QUI PARLE'"],
    "x.sel(county=slice('AN": ["ANOKA"],
    "x.sel(county=slice('AITKIN', 'L": ["LAC QUI PARLE"],
    "x.sel({'co": ["county"],
    "x.sel({'county': 'AN": ["ANOKA"],
    "x.sel(day='2021-03-0": ["2021-03-01", "2021-03-02", "2021-03-03"],
    "x.mean('c": ["county"],
    "x.mean(dim='": ["county", "day"],
    "x.mean(['county', 'd": ["day"],
    "x.cumsum(\n    'd": ["day"],
    "x.rename_dim('c": ["county"],
    "x[{'d": ["day"],
    "holder.x.sel(d": ["day="],
    "several['first'].sel(d": ["day="],
    "county_of == 'AN": ["ANOKA"],
    "x.where(county_of != 'AN": ["ANOKA"],
    "late.sel(k='": ["p", "q"],
    "model.observe(yi": ["yield_="],
    "model.observe({'y": ["yield_"],
    "model.do(m": ["mu=", "mean="],
    "model.with_data(": ["county_of="],
    "model.noncentered('al": ["alpha"],
    "model.predict(post, names=['me": ["mean"],
    "model.predict(post, {'co": ["county_of"],
    "dt.sum(x, 'c": ["county"],
    "dt.mean(x, dim=['": ["county", "day"],
    "dt.dot(x, county_of, dim='": ["county", "day", "obs"],
    "dt.concat([x[1:], x], '": ["county", "day"],
    "x.loc[{'co": ["county"],
    "x.loc[{'county': 'AI": ["AITKIN"],
    "late.loc['": ["p", "q"],
    "county_of.isin(['AI": ["AITKIN"],
    "x.plot.con": ["contour", "contourf"],
    "y = holder.x.plot.hi": ["hist"],
    "f(": ["x=", "slope="],
    "f(s": ["slope="],
}  # fmt: skip


@pytest.mark.parametrize("code", WORDS)
def test_what_may_stand_there_is_offered(code):
    assert offer(code, NAMESPACE).texts == WORDS[code]


@pytest.mark.parametrize(
    "code",
    [
        "x", "x.", "x.sel", "x.sel(county='AITKIN')", "nothing.sel(", "np.mean(", "np.mean('c",
        "x.isel(county='A", "x.mean(", "x.item('", "x.sum(x.", "x.sel(county=y.", "(", "'",
        "x.exp().sel(c", "# x.sel(c", "x.sel(county=1 + ", "dt.data([1], dims='c", "x[", "f(x=s",
        "model.observe({'yield_': 'm", "model.predict(post, {'county_of': '", "dt.exp(x, 'c",
        "dt.sum('c", "dt.sum(x, skipna='", "dt.data(x, dims=", "x.loc['", "x.isin(['", "np.plot.",
        "x.sel.plot.",
        "model.sample(", "county_of + 'A", "x.sel({", "x.sel(**{'a': [",
    ],
)  # fmt: skip
def test_elsewhere_dimtensor_has_nothing_to_say(code):
    found = offer(code, NAMESPACE)
    assert found is None or not found.texts


def test_nothing_is_computed_or_called():
    class Trap(list):
        @property
        def x(self):
            raise AssertionError("a property was computed")

        def __getitem__(self, key):
            raise AssertionError("an item was computed")

        def __call__(self):
            raise AssertionError("it was called")

    made = collections.defaultdict(list)
    namespace = {"trap": Trap(), "made": made}
    assert offer("trap.x.sel(", namespace) is None
    assert offer("trap().sel(", namespace) is None
    assert offer("trap[0].sel(", namespace) is None
    assert offer("made['x'].sel(", namespace) is None
    assert not made


def test_very_many_labels_are_not_looked_through():
    huge = dt.tensor("huge", dims=dt.Dim("k", coords=np.arange(10**6).astype(str)))
    assert offer("huge.sel(k='9", {"huge": huge}) is None
    many = dt.tensor("many", dims=dt.Dim("k", coords=np.arange(10**5).astype(str)))
    assert len(offer("many.sel(k='9", {"many": many}).texts) == 300


def completed(code: str, jedi: bool) -> list[str]:
    """What IPython's completer makes of it: the whole line with each completion put in."""
    from dimtensor.display.completion import install, remove

    completer = IPCompleter(namespace=NAMESPACE, global_namespace={}, use_jedi=jedi)
    shell = types.SimpleNamespace(Completer=completer, user_ns=NAMESPACE)
    install(shell)
    install(shell)
    assert len(completer.custom_matchers) == 1
    with provisionalcompleter():
        found = list(completer.completions(code, len(code)))
    remove(shell)
    assert completer.custom_matchers == []
    return [code[: one.start] + one.text for one in found]


@pytest.mark.parametrize("jedi", [True, False])
def test_ipython_completes_keywords(jedi):
    found = completed("x.sel(co", jedi)
    assert "x.sel(county=" in found
    assert "x.sel(county=" in completed("x.sel(", jedi)
    assert "f(slope=" in completed("f(s", jedi)


@pytest.mark.parametrize("jedi", [True, False])
def test_ipython_completes_labels_and_names_and_nothing_else(jedi):
    assert completed("x.sel(county='A", jedi) == ["x.sel(county='AITKIN", "x.sel(county='ANOKA"]
    assert completed('x.sel(county="LAC Q', jedi) == ['x.sel(county="LAC QUI PARLE']
    assert completed("x.mean('c", jedi) == ["x.mean('county"]
    assert completed("x = 1\nx.mean('c", jedi) == ["x = 1\nx.mean('county"]
    assert completed("x.sel(day='2021-03-02", jedi) == ["x.sel(day='2021-03-02"]


def test_ipython_completes_the_keys_of_models():
    assert "model['alpha" in [text.rstrip("']") for text in completed("model['al", False)]
    assert NAMESPACE["model"]._ipython_key_completions_() == [
        "mu", "alpha", "yield_", "mean", "county_of",
    ]  # fmt: skip


def test_a_shell_without_a_completer_is_left_alone():
    from dimtensor.display.completion import install, remove

    shell = types.SimpleNamespace()
    install(shell)
    remove(shell)
    assert vars(shell) == {}


@pytest.mark.compiled
@pytest.mark.parametrize("first", ["from dimtensor import dist", "dt.rv", "dt.scalar('x')"])
def test_a_session_imports_the_package_by_any_name(first, tmp_path):
    """Completion is installed by the first tensor, which the package itself makes at its import."""
    pytest.importorskip("IPython")
    script = tmp_path / "session.ipy"
    script.write_text(
        f"import dimtensor as dt\n{first}\nx = dt.scalar('x')\nprint('fine', dt.Model)\n"
    )
    found = subprocess.run(
        [sys.executable, "-m", "IPython", "--no-banner", "--colors=NoColor", str(script)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        env={**os.environ, "IPYTHONDIR": str(tmp_path)},
    )
    assert "fine <class 'dimtensor.model.model.Model'>" in found.stdout, found.stdout + found.stderr


@pytest.mark.parametrize("jedi", [True, False])
def test_ipython_completes_plots_of_draws(jedi):
    pytest.importorskip("arviz")
    assert "model.plot.trace" in completed("model.plot.tra", jedi)
    assert "x.plot.line" in completed("x.plot.lin", jedi)
