"""Code with names of earlier versions is rewritten; errors and a page have the new names."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import dimtensor as dt
from dimtensor import dist
from dimtensor.errors import ArgumentError, NoAttributeError
from dimtensor.spellings.renamed import ARGUMENTS, DATES, FUNCTIONS, PARTS, SHIFTS
from tools import codemod

ROOT = Path(__file__).parents[2]
RENAMED = ROOT / "docs" / "renamed.md"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import dimtensor as dt\ndt.absolute(x)\n", "import dimtensor as dt\ndt.abs(x)\n"),
        ("import dimtensor\ndimtensor.svd(a)\n", "import dimtensor\ndimtensor.linalg.svd(a)\n"),
        (
            "from dimtensor import expit, exp\nexpit(x)\n",
            "from dimtensor import sigmoid as expit, exp\nexpit(x)\n",
        ),
        (
            "import dimtensor as d\nd.scan(f, 0.0, x, over=t)[1].sum(over)\n",
            "import dimtensor as d\nd.scan(f, 0.0, x, dim=t)[1].sum(over)\n",
        ),
        (
            "from dimtensor import dist\nd = dist.Categorical(p,\n    over=k)  # é over=k\n",
            "from dimtensor import dist\nd = dist.Categorical(p,\n    dim=k)  # é over=k\n",
        ),
        ("partial(dist.ordered, over=k)\n", "partial(dist.ordered, dim=k)\n"),
        (
            "import dimtensor as dt\ny = 'é' + f'{dt.dot(a, b, dims=k)} {dt.zeros(dims=k)}'\n",
            "import dimtensor as dt\ny = 'é' + f'{dt.dot(a, b, dim=k)} {dt.zeros(dims=k)}'\n",
        ),
        (
            "import dimtensor as dt\n"
            "z = dt.lag(x, t) + dt.lead(a + b, over=t, n=2, fill_value=c)\n",
            "import dimtensor as dt\nz = x.shift({t: 1}) + (a + b).shift({t: -2}, fill_value=c)\n",
        ),
        (
            "import dimtensor as dt\nk, d = dt.Dim('k'), dt.time('d')\nd.weekday, x.month\n",
            "import dimtensor as dt\n"
            "k, d = dt.Dim('k'), dt.date_range('d')\nd.dt.dayofweek, x.month\n",
        ),
        (
            ">>> day = dt.time('day')\n>>> day.month\n1\n",
            ">>> day = dt.date_range('day')\n>>> day.dt.month\n1\n",
        ),
        (
            "from dimtensor import gammaln, exp, time as t  # é gammaln\n",
            "from dimtensor.special import gammaln; from dimtensor import exp, date_range as t"
            "  # é gammaln\n",
        ),
        (
            "import dimtensor as dt\ndt.real(dt.gammaln(z)) + dt.imag(a + b)\n",
            "import dimtensor as dt\ndt.special.gammaln(z).real + (a + b).imag\n",
        ),
        (
            "import dimtensor as dt\n"
            "e = dt.explain(x)\ne.draw(); dt.simplify(x).draw(); d.draw(r)\n",
            "import dimtensor as dt\n"
            "e = dt.explain(x)\ne.plot(); dt.simplify(x).to_graph(); d.draw(r)\n",
        ),
        (
            "from dimtensor import dist\ndist.BetaBinomial(9, a,\n    2.0), dist.Wald(1, 2, s), "
            "pm.SkewNormal(4, 0, 1), dist.SkewNormal(0, sigma=2)\n",
            "from dimtensor import dist\ndist.BetaBinomial(n=9, alpha=a,\n    beta=2.0), "
            "dist.Wald(1, 2, alpha=s), pm.SkewNormal(4, 0, 1), dist.SkewNormal(mu=0, sigma=2)\n",
        ),
        ("fit.noncentred(alpha), centred(y)\n", "fit.noncentered(alpha), centred(y)\n"),
        ("import numpy as dt\ndt.absolute(x)\n", "import numpy as dt\ndt.absolute(x)\n"),
        ("no python over=k at all", "no python over=k at all"),
        (
            'def f():\n    """\n    >>> dt.map(g, x,\n    ...        over=t)\n    [1]\n    """\n',
            'def f():\n    """\n    >>> dt.map(g, x,\n    ...        dim=t)\n    [1]\n    """\n',
        ),
    ],
)
def test_python_has_the_names_of_today(old, new):
    assert codemod.python(old) == new
    assert codemod.python(new) == new


def test_blocks_and_spans_of_markdown_are_rewritten():
    old = (
        "Call `dt.conjugate(x)`, `over=k`, `day.year`.\n\n```python\nday = dt.time('day')\n```\n"
        "\n```python\ny = dt.cumulate(f, day.month, over=t)\n```\n"
    )
    new = (
        "Call `dt.conj(x)`, `over=k`, `day.dt.year`.\n\n"
        "```python\nday = dt.date_range('day')\n```\n"
        "\n```python\ny = dt.cumulate(f, day.dt.month, dim=t)\n```\n"
    )
    assert codemod.markdown(old) == new


def test_files_are_rewritten_in_place(tmp_path, monkeypatch, capsys):
    (tmp_path / "inside").mkdir()
    file, other = tmp_path / "inside" / "a.py", tmp_path / "b.txt"
    file.write_text("import dimtensor as dt\ndt.rint(x)\n")
    other.write_text("dt.rint(x)\n")
    monkeypatch.setattr("sys.argv", ["codemod.py", str(tmp_path)])
    codemod.main()
    assert file.read_text() == "import dimtensor as dt\ndt.round(x)\n"
    assert other.read_text() == "dt.rint(x)\n"
    assert capsys.readouterr().out.split() == [str(file)]


@pytest.mark.parametrize("folder", ["dimtensor", "tests", "examples", "docs"])
def test_the_repository_has_the_names_of_today(folder):
    for path in (ROOT / folder).rglob("*"):
        if path in (Path(__file__), RENAMED) or "_build" in path.parts:
            continue
        if path.suffix in codemod.KINDS:
            text = path.read_text()
            assert codemod.KINDS[path.suffix](text) == text, path


# -- what is said to a user of an old name ---------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(old, new, marks=[pytest.mark.plugin("pictures")] if new == "to_graph" else [])
        for old, new in FUNCTIONS.items()
    ],
)
def test_an_old_name_is_an_error_that_has_the_new_one(old, new):
    with pytest.raises(NoAttributeError, match=rf"no '{old}'\nhint: its name is dt\.{new}$"):
        getattr(dt, old)
    value = dt
    for part in new.split("."):
        value = getattr(value, part)
    assert callable(value)


def test_parts_of_complex_numbers_are_properties():
    assert PARTS == ("imag", "real")
    with pytest.raises(NoAttributeError, match=r"no 'imag'\nhint: .*: x\.imag$"):
        _ = dt.imag
    with pytest.raises(dt.ArgumentError, match=r"dt\.real is a support(?s:.*)hint: .* is x\.real$"):
        dt.real(dt.data(1.0))


@pytest.mark.parametrize("old", SHIFTS)
def test_lags_are_shifts(old):
    with pytest.raises(NoAttributeError, match=r"hint: a sequence is shifted by x\.shift\("):
        getattr(dt, old)


@pytest.mark.parametrize(("old", "new"), DATES.items())
def test_calendar_parts_of_dims_are_in_dt(old, new):
    day = dt.date_range("day", start="2021-01-01", periods=3)
    with pytest.raises(NoAttributeError, match=rf"hint: day\.dt\.{new}$"):
        getattr(day, old)
    assert hasattr(day.dt, new)


def test_an_old_argument_is_an_error_that_has_the_new_one():
    k = dt.Dim("k", length=2)
    p, rng = dt.ones(k) / 2, dt.random.generator(1)
    calls = {
        "Categorical": lambda: dist.Categorical(p, over=k),
        "mixture": lambda: dist.mixture(p, [dist.Normal(0, 1), dist.Normal(1, 1)], over=k),
        "scan": lambda: dt.scan(lambda s, x: (s, x), 0.0, p, over=k),
        "cumulate": lambda: dt.cumulate(lambda s, x: s, 0.0, p, over=k),
        "filter": lambda: dt.filter(lambda x: x > 0, p, over=k),
        "dirichlet": lambda: rng.dirichlet(p, over=k),
        "polyval": lambda: dt.polyval(p, p, degree=k),
    }
    for name, call in calls.items():
        with pytest.raises(ArgumentError, match=rf"{name} takes no '(over|degree)'(?s:.*)dim=k"):
            call()
    with pytest.raises(dt.DimError, match=r"dot takes no 'dims'(?s:.*)hint: its name is dim"):
        dt.dot(p, p, dims=k)


def test_new_arguments_exist():
    methods = {name: getattr(dt.random.Generator, name, None) for name in ARGUMENTS}
    for name, arguments in ARGUMENTS.items():
        function = methods[name] or getattr(dt, name, None) or getattr(dist, name)
        parameters = inspect.signature(function).parameters
        assert {*arguments.values()} <= {*parameters}, name
        assert not {*arguments} & {*parameters} - {"dims"}, name


def test_the_page_has_every_renamed_function():
    text = RENAMED.read_text()
    rows = dict(re.findall(r"^\| `dt\.(\w+)` \| `dt\.([\w.]+)` \|$", text, re.M))
    for names, module in re.findall(r"^\| (.*) \| the same in `dt\.(\w+)` \|$", text, re.M):
        rows |= {name: f"{module}.{name}" for name in re.findall(r"`dt\.(\w+)`", names)}
    assert rows == FUNCTIONS


def test_the_changelog_is_short():
    entries = re.split(r"^## \[", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)[1:]
    assert entries
    assert all(len(entry.rstrip().splitlines()) <= 120 for entry in entries)
