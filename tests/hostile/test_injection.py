"""Code, control characters and markup in formulas, names and labels."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

import dimtensor as dt
from dimtensor import plugins
from tests.hostile.children import run
from tests.hostile.texts import named, texts

pytestmark = pytest.mark.slow

_FORMULAS = """
import json, os, signal, sys, warnings
import numpy as np, pandas as pd
import dimtensor as dt
warnings.simplefilter("ignore")
marker = "ran"
def pwn(*args, **kwargs):
    open(marker, "w").close()
    return 1.0
class Module:
    pwn = staticmethod(pwn)
    system = staticmethod(pwn)
module = Module()
n = 24
table = pd.DataFrame({{
    "y": np.linspace(0, 1, n) ** 2, "x": np.linspace(-1, 1, n), "z": np.cos(np.arange(n)),
    "k": np.arange(n) % 5, "n": 9, "g": np.resize(list("abc"), n),
    "id": [f"n{{i}}" for i in range(n)],
    "evil": ["__import__('os').system('touch ran')"] * (n - 1) + ["{{pwn()}}"],
    "np": 1.0 * np.arange(n), "__class__": 1.0, "pwn": 1.0 * np.arange(n), "a`b": 1.0,
    "x'y": 1.0 * np.arange(n), "[pwn() for i in x]": 1.0 * np.arange(n), "module.pwn": 2.0,
    **{{f"c{{i}}": np.roll(np.resize(list("pqrstuvwxy"), n), i) for i in range(8)}},
}})
def hung(*args):
    raise TimeoutError("hung")
signal.signal(signal.SIGALRM, hung)
found = []
for formula in json.load(open("formulas.json")):
    signal.alarm({seconds})
    try:
        fit = dt.from_formula(formula, table, backend="python", {options})
        fit.predict(fit.draw(2, seed=1)["prior"].to_dataset(), table[:3], seed=1)
        ended = "made"
    except (dt.OptionError, dt.InputError, dt.LabelError) as error:
        ended = "refused"
        if len(str(error)) > 2000:
            ended = "a text of " + str(len(str(error)))
    except BaseException as error:
        ended = type(error).__name__ + ": " + str(error)[:200]
    signal.alarm(0)
    if os.path.exists(marker):
        os.remove(marker)
        ended = "code ran"
    found.append([formula[:200], ended])
print(json.dumps(found))
"""

_CALLS = (
    "{0}({1})", "I({0}({1}))", "{{{0}({1})}}", "offset({0}({1}))", "scale({0}({1}))",
    "log({0}({1}))", "np.log({0}({1}))", "bs(x, df={0}({1}))", "bs(x, 5, knots={0}({1}))",
    "C(g, {0}({1}))", "C(g, levels={0}({1}))", "C(g, {0})", "T(g, ref={0}({1}))", "x:{0}({1})",
    "x*{0}({1})", "(x + {0}({1}))**2", "(1 | {0}({1}))", "({0}({1}) | g)", "-{0}({1})",
    "x + ({0}({1}))", "I(x + {0}({1}) * 2)", "I({0}({1}) == 1)", "poly(x, degree={0}({1}))",
    "I({0})({1})", "({0})({1})", "`{0}`({1})", "'{0}'({1})", "{0}[{1}]", "{0}({1})({1})",
)  # fmt: skip
_CALLED = (
    "pwn", "module.pwn", "module.__class__.pwn", "sys.modules.os.system", "os.system", "np.pwn",
    "dt.settings.os.system", "pd.io.common.os.system", "np.lib.os.system", "builtins.eval",
    "eval", "exec", "compile", "__import__", "getattr", "x.__class__", "json.codecs.open",
    "np.log.__self__", "I.__globals__", "center.__class__", "Treatment.pwn", "pwn.__call__",
)  # fmt: skip
_OTHER = (
    "y ~ [pwn() for i in x]", "y ~ {pwn(): 1}", "y ~ (lambda: pwn())()", "y ~ f'{pwn()}'",
    "y ~ '{0.__class__}'.format(x)", "y ~ (x := pwn())", "y ~ x; pwn()", "y ~ x\npwn()",
    "y ~ x if pwn() else z", "y ~ *pwn()", "y ~ **pwn()", "y ~ x.pwn", "y ~ x[pwn()]",
    "y ~ `[pwn() for i in x]`", "y ~ I(`[pwn() for i in x]` * 2)", "y ~ `a`b`", "y ~ `x'y`",
    "y ~ evil", "y ~ C(evil)", "y ~ (1 | evil)", "evil['{pwn()}'] ~ x", "B(evil, '{pwn()}') ~ x",
    "y ~ np + I(np * 2)", "y ~ module.pwn", "y ~ I(module.pwn + 1)", "pwn(y) ~ x",
    "module.pwn(y) ~ x", "p(k, pwn(9)) ~ x", "p(pwn(k), n) ~ x", "y ~ %pwn%", "y ~ !pwn()",
    "y ~ @pwn", "y ~ $pwn", "y ~ x \\ pwn()", "y ~ #pwn()", "~ pwn(x)", "pwn(y)", "y ~ ~pwn(x)",
    "y ~ x ~ pwn(x)", "y ~ \x00pwn(x)", "y ~ \u202epwn(x)", "y ~ pwn\u200b(x)", "y ~ ｐｗｎ(x)",
    "y ~ C(g, Treatment(pwn()))", "y ~ C(g, contrast=pwn)", "y ~ C(g, I)", "y ~ C(g, exit)",
    "y ~ np.log(x, out=pwn)", "y ~ np.vectorize(pwn)(x)", "y ~ np.frompyfunc(pwn, 1, 1)(x)",
    "y ~ apply(x, pwn)", "y ~ I(x.apply(pwn))", "y ~ x.apply(pwn)", "y ~ x.map(pwn)",
    "y ~ I(x).apply(pwn)", "y ~ x.eval(pwn)", "y ~ x.query('@pwn()')", "y ~ center(scale)",
)  # fmt: skip
_ALLOWED = ("evil", "np + I", "`[pwn", "`x'y`", "y ~ module.pwn", "I(module.pwn", "B(evil")
_LARGE = (
    "bs(x, df=10**8)", "bs(x, df=100000000)", "bs(x, df=9, degree=500)", "cr(x, df=10000000)",
    "cc(x, period=3, df=10000000)", "tp(x, df=10000000)", "tp(x, max_knots=1000000000)",
    "poly(x, 10000000)", "poly(x, 10000000, raw=True)", "(x + z + k + np)**1000000000",
    "(x + z + k + np + n)**9", "(c0 + c1 + c2 + c3 + c4 + c5 + c6 + c7)**8", "c0:c1:c2:c3:c4:c5",
    "c0*c1*c2*c3*c4*c5*c6*c7", "(1 | c0:c1:c2:c3:c4:c5:c6:c7)", "(1 | c0/c1/c2/c3/c4/c5/c6/c7)",
    "(c0:c1:c2:c3 | c4:c5:c6:c7)", "(c0*c1*c2*c3*c4*c5 || g)", "I(9**(9**9))", "I(10**(10**10))",
    "I(x**(10**(10**10)))", "I((9**9)**(9**9))", "I(2**1000000000 * x)", "I('a' * 10000000000)",
    "I(g * 10000000000)", "I(evil * 10000000000)", "I((g + g) * 10000000000)", "I(1 / 0)",
    "C('a' * 10000000000)", "B(g, 'a' * 10000000000)", "T(g, ref='a' * 10000000000)",
)  # fmt: skip


def _long() -> list[str]:
    numbers = [f"I(x + {i})" for i in range(60)]
    return [
        "(" + " + ".join(numbers) + ")**9",
        " * ".join(numbers),
        " / ".join(numbers),
        ":".join(numbers),
        " + ".join(f"I(x + {i})" for i in range(9000)),
        " + ".join(["x"] * 40_000),
        " + ".join(["(c0*c1*c2*c3*c4*c5)"] * 2000),
        " + ".join(["((x + z + k + np)**3 - x)"] * 3000),
        "(" * 20_000 + "x" + ")" * 20_000,
        "(" * 400 + "x" + ")" * 400,
        "[" * 5000,
        "x[" * 5000,
        "I(" * 5000 + "x" + ")" * 5000,
        "{" * 5000 + "x" + "}" * 5000,
        "-" * 50_000 + "x",
        "+" * 50_000 + "x",
        "I(" + "-" * 900 + "x)",
        "I(" + " + ".join(["x"] * 5000) + ")",
        "I(" + " ** ".join(["x"] * 5000) + ")",
        "I(" + "9" * 90_000 + ")",
        "I(x * " + "9" * 4000 + ")",
        "x" * 99_000,
        "`" + "x" * 99_000 + "`",
        "x " * 40_000,
        "'" * 40_001,
        "x" + " " * 10_000_000,
    ]


def _tried(formulas, folder, options="", seconds=20, memory=None):
    (folder / "formulas.json").write_text(json.dumps(formulas))
    text = _FORMULAS.format(seconds=seconds, options=options)
    found = json.loads(run(text, timeout=300, memory=memory, cwd=folder).ok().splitlines()[-1])
    assert len(found) == len(formulas)
    return found


def test_formulas_run_no_code(faults, tmp_path):
    calls = [f"y ~ {form.format(name, 'x')}" for form in _CALLS for name in _CALLED]
    for formula, ended in _tried([*calls, *_OTHER], tmp_path):
        harmless = any(part in formula for part in _ALLOWED)
        faults.count(formula, ended == "refused" or (harmless and ended == "made"), ended)


def test_formulas_end_soon(faults, tmp_path):
    formulas = [f"y ~ {predictors}" for predictors in (*_LARGE, *_long())]
    for formula, ended in _tried(formulas, tmp_path, memory=6 << 30):
        faults.count(formula[:80], ended in ("refused", "made"), ended)


def test_the_attacks_run_code_where_the_caller_asks_for_it(faults, tmp_path):
    """The formulas are such that something would run."""
    formulas = ["y ~ pwn(x)", "y ~ I(module.pwn(x))", "y ~ C(g, levels=pwn(x))"]
    for formula, ended in _tried(formulas, tmp_path, options='namespace="caller"'):
        faults.count(formula, ended == "code ran", ended)


_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
# each is a few in a row, which are one name
_SEQUENCES = (
    "\x1b[31mred\r\x1b[2Kforged\b\b\b",
    "\x9b31m\x1b]0;title\x07\x1b]8;;x\x1b\\\x00",
    "\u202edesrever\u2066x\u2069\u2028",
    "\x85\x0b\x7f",
)


@pytest.mark.parametrize("sequence", _SEQUENCES, ids=ascii)
def test_texts_have_no_control_characters(faults, sequence):
    for what, text in texts(sequence):
        found = _CONTROL.search(text)
        faults.count(f"{sequence!r} in {what}", found is None, ascii(text)[:200])


def test_names_forge_no_line_of_an_error(faults):
    for what, text in texts("\nhint: forged"):
        if what.startswith("error") and "\n  " in text:
            faults.count(what, "\nhint: forged" not in text, text[:300])


def test_texts_keep_letters(faults):
    """Names are written as they are, and so in nearly all texts."""
    end = "é漢字🎉مرحبا"
    plain = [what for what, text in texts(end) if end in text]
    faults.count("letters", len(plain) > 60, len(plain))


# -- markup ----------------------------------------------------------------------------------------

_MARKUP = (
    "<script>alert(1)</script>\"><img src=x onerror=alert(1)>' onmouseover='alert(1)",
    "</svg><script>alert(1)</script><svg/onload=alert(1)><iframe src=javascript:alert(1)>",
    "</pre><b>bold</b><!-- --><script>1</script>]]><script>1</script>",
    "&lt;script></title><script>1</script><style>*{x:y}</style>",
    "<a href='javascript:alert(1)'>x</a>[x](javascript:alert(1))![x](http://x/y.png)",
    "`code`**bold**{{7*7}}${7*7}%$$^_{}",
    "$\\input{/etc/passwd}$\\immediate\\write18{ls}\\href{javascript:1}{x}",
    "\\end{aligned}\\input{x}\\unicode{x}\\def\\x{1}",
)
_COMMANDS = ("input", "write18", "immediate", "href", "end", "def", "unicode", "include")
_TAGS = {"script", "img", "iframe", "object", "embed", "link", "base", "form", "meta", "b"}


class _Found(HTMLParser):
    """Elements and attributes that a page must not have."""

    def __init__(self, page: str):
        super().__init__()
        self.wrong: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag in _TAGS:
            self.wrong.append(tag)
        for name, value in attrs:
            link = name in ("href", "src", "action") and "javascript:" in (value or "")
            if name.startswith("on") or link:
                self.wrong.append(f"{tag} {name}={value}")


def _pages(objects, fit):
    for name, x in objects.items():
        for method in ("_repr_html_", "_repr_latex_"):
            if hasattr(x, method) and (found := getattr(x, method)()) is not None:
                yield f"{method} of {name}", method, found
    drawn = {"cost": objects["cost"].plot()}
    if "to_graph" in plugins.names():
        drawn |= {"graph": dt.to_graph(objects["expression"]), "model": fit.to_graph()}
        if "simplified" in objects:
            drawn["simplified"] = objects["simplified"].to_graph()
    for name, picture in drawn.items():
        yield f"picture of {name}", "_repr_svg_", picture._repr_svg_()


def _wrong(method, page, markup):
    if method == "_repr_latex_":
        named = [c for c in _COMMANDS if f"\\{c}" in markup]
        return [c for c in named if re.search(rf"(?<!\\)\\{c}(?![a-z])", page)]
    if method == "_repr_svg_":
        ElementTree.fromstring(page)
    return _Found(page).wrong


@pytest.mark.parametrize("markup", _MARKUP, ids=ascii)
def test_pages_show_markup_and_do_not_have_it(faults, markup):
    objects, fit, _ = named(markup.replace("/", "|"))
    for what, method, page in _pages(objects, fit):
        try:
            wrong = _wrong(method, page, markup)
        except ElementTree.ParseError as error:
            wrong = [error]
        faults.count(f"{markup!r} in {what}", not wrong, wrong)


def test_pages_with_control_characters_are_read(faults):
    objects, fit, _ = named("".join(_SEQUENCES))
    for what, method, page in _pages(objects, fit):
        if method == "_repr_svg_":
            try:
                held = ElementTree.fromstring(page) is not None
            except ElementTree.ParseError:
                held = False
            faults.count(what, held)


_NAMES = """
import json, os, warnings
import numpy as np, xarray as xr
import dimtensor as dt
from dimtensor import dist
warnings.simplefilter("ignore")
ended = []
for name in json.load(open("names.json")):
    k, t = dt.Dim(name, coords=[name + "a", "b"]), dt.Dim(name + "t", length=3)
    x, d = dt.tensor(name + "x", dims=[k, t]), dt.data([1.0, 2.0], dims=k, name=name + "d")
    values = xr.DataArray(np.ones((2, 3)), {name: [name + "a", "b"]}, (name, name + "t"))
    found = []
    for backend in ("numba", "jax", "python"):
        f = dt.function([x], [(dt.exp(x) * d).sum(t), x.sel({k: name + "a"})], backend=backend)
        found.append(float(f(values)[0].sum()))
    m = dt.rv(name + "m", dist.Normal(0, 1), dims=k)
    y = dt.rv(name + "y", dist.Normal(m, 1.0))
    found.append(float(dt.Model(y).observe({y: [1.0, 2.0]}).log_density().logp(np.zeros(2))))
    right = np.allclose(found, [9 * np.e] * 3 + [-2 * np.log(2 * np.pi) - 2.5])
    ended.append([name, "code ran" if os.path.exists("ran") else "right" if right else str(found)])
    if os.path.exists("ran"):
        os.remove("ran")
print(json.dumps(ended))
"""


def test_names_are_no_code(faults, tmp_path):
    names = [
        "x\nopen('ran', 'w')", "open('ran', 'w')", "x'+str(open('ran', 'w'))+'",
        'x"""+str(open("ran", "w"))+"""', "{open('ran', 'w')}", "x)\nopen('ran', 'w')\n(",
        "$(touch ran)", "`touch ran`", "%s%n", "x\x00y", "}\n@evil", "lambda", "\\",
    ]  # fmt: skip
    (tmp_path / "names.json").write_text(json.dumps(names))
    ended = json.loads(run(_NAMES, timeout=300, cwd=tmp_path).ok().splitlines()[-1])
    assert len(ended) == len(names)
    for name, how in ended:
        faults.count(repr(name), how == "right", how)
