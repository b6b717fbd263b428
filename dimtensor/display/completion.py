"""Tab completion in IPython and notebooks: names of dims, labels, variables and inputs.

IPython completes attributes of objects. The arguments of a method depend on its tensor, so this
module adds a matcher to those of IPython, which parses the code before the cursor. It calls none of
that code, but looks up names, attributes, and items of dicts and lists.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from dimtensor.backends.progress import complete_names
from dimtensor.compile.function import CompiledFunction
from dimtensor.dims import Dim
from dimtensor.display.peek import dim_labels
from dimtensor.errors import plain_repr
from dimtensor.graph import Node
from dimtensor.model.model import Model
from dimtensor.tensor.handle import TensorHandle

_CLOSING = {")": "(", "]": "[", "}": "{"}
# maximal numbers of labels that are offered, and that are searched
_OFFERED, _SEARCHED = 300, 200_000
# methods whose values are labels, and arguments that are dims
_BY_LABEL = frozenset({"sel", "drop_sel", "reindex", "interp"})
_DIMS = frozenset({"dim", "dims", "old", "indexers", "names", "labels", "key"})
_EXPRESSION = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[[^\[\]]*\])*\s*$")
_KEYWORD = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*")
_COMPARED = re.compile(r"([A-Za-z_][\w.]*)\s*[=!]=\s*$")
_PLOTS = re.compile(r"([A-Za-z_][\w.]*)\.plot\.(\w*)$")
_NAME = re.compile(r"[A-Za-z_][\w.]*")


class Offer(NamedTuple):
    """Completions at the cursor.

    Attributes
    ----------
    texts : list of str
    fragment : str
        The text before the cursor that a completion replaces.
    """

    texts: list[str]
    fragment: str


class _Place(NamedTuple):
    """Syntactic context of the cursor.

    Attributes
    ----------
    brackets : list of (str, int)
        Open brackets with their positions.
    string : int or None
        Start of the string that contains the cursor.
    commas : list of int
        Starts of the current argument: of the line, and within each open bracket.
    """

    brackets: list[tuple[str, int]]
    string: int | None
    commas: list[int]


def offer(code: str, namespace: Mapping[str, Any]) -> Offer | None:
    """Complete code, or return None where dimtensor has no completions.

    Parameters
    ----------
    code : str
        Up to the cursor.
    namespace : dict of str to object
        The user's variables.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.tensor("x", dims=dt.Dim("country", coords=["Italy", "Kenya"]))
    >>> offer("x.sel(co", {"x": x})
    Offer(texts=['country='], fragment='co')
    >>> offer("x.sel(country='It", {"x": x}).texts
    ['Italy']
    """
    place = _place_in(code)
    if place.string is None and (plots := _plots(code, namespace)) is not None:
        return plots
    if not place.brackets:
        return _compared(code, place, namespace)
    typed = code[place.string + 1 :] if place.string is not None else None
    before = code[place.commas[-1] : place.string]
    kinds = [kind for kind, _ in place.brackets]
    # brackets within the arguments of the call: a dict, or a list of names
    depth = 1
    while depth < len(kinds) and kinds[-depth] != "(" and depth < 3:
        depth += 1
    opened, at = place.brackets[-depth]
    inner = kinds[len(kinds) - depth + 1 :]
    called = _EXPRESSION.search(code[:at])
    if called is None or (opened == "{"):
        return _compared(code, place, namespace)
    if called.group() == "slice":
        return offer(code[: called.start()] + code[place.commas[-1] :], namespace)
    argument = code[place.commas[-depth] : place.brackets[-depth + 1][1]] if inner else before
    receiver, method = _receiver(called.group().strip(), namespace, opened)
    if isinstance(receiver, TensorHandle):
        found = _of_tensor(receiver.node, method, inner, argument, before, typed)
    elif isinstance(receiver, Model):
        found = _of_model(receiver, method, inner, argument, before, typed)
    elif isinstance(receiver, CompiledFunction) and method in ("", "with_data") and not inner:
        sources = receiver._code.inputs if not method else receiver._data_nodes
        names = [x.name for x in sources if isinstance(x, Node | Dim) and x.name]
        found = _keywords(names, argument, typed)
    elif inspect.ismodule(receiver) and receiver.__name__.partition(".")[0] == "dimtensor":
        given = code[at + 1 : place.string]
        found = _of_function(getattr(receiver, method, None), given, argument, typed, namespace)
    else:
        found = None
    return found if found is not None else _compared(code, place, namespace)


def _place_in(code: str) -> _Place:
    brackets: list[tuple[str, int]] = []
    commas = [0]
    string, quote, at = None, "", 0
    while at < len(code):
        character = code[at]
        if string is not None:
            if character == "\\":
                at += 1
            elif code.startswith(quote, at):
                at += len(quote) - 1
                string = None
        elif character in "'\"":
            quote = character * 3 if code.startswith(character * 3, at) else character
            at += len(quote) - 1
            string = at
        elif character == "#":
            end = code.find("\n", at)
            at = len(code) if end < 0 else end
        elif character in "([{":
            brackets.append((character, at))
            commas.append(at + 1)
        elif character in _CLOSING:
            if brackets and brackets[-1][0] == _CLOSING[character]:
                brackets.pop()
                commas.pop()
        elif character == ",":
            commas[-1] = at + 1
        elif character == "\n" and not brackets:
            commas[-1] = at + 1
        at += 1
    return _Place(brackets, string, commas)


def _receiver(text: str, namespace: Mapping[str, Any], opened: str) -> tuple[Any, str]:
    """Return the object whose method is called, and the method's name; empty if it is called."""
    if opened == "[" and text.endswith(".loc"):
        return _value(text.removesuffix(".loc"), namespace), "loc"
    whole = _value(text, namespace)
    if opened == "[":
        return whole, "[]"
    if isinstance(whole, CompiledFunction):
        return whole, ""
    start, _, method = text.rpartition(".")
    return (_value(start, namespace), method) if start else (None, "")


def _value(text: str, namespace: Mapping[str, Any]) -> Any:
    """Evaluate a name with attributes and items, or return None if that would call code."""
    try:
        return _looked_up(ast.parse(text, mode="eval").body, namespace)
    except Exception:  # incomplete code, an unknown name, or an error of the user's classes
        return None


def _looked_up(tree: ast.expr, namespace: Mapping[str, Any]) -> Any:
    if isinstance(tree, ast.Name):
        return namespace[tree.id]
    if isinstance(tree, ast.Attribute):
        owner = _looked_up(tree.value, namespace)
        kind = inspect.getattr_static(type(owner), tree.attr, None)
        if isinstance(kind, property):  # it would be computed
            return None
        return getattr(owner, tree.attr)
    if isinstance(tree, ast.Subscript) and isinstance(tree.slice, ast.Constant):
        owner = _looked_up(tree.value, namespace)
        # other containers may compute or create items
        if isinstance(owner, dict):
            return dict.get(owner, tree.slice.value)
        return owner[tree.slice.value] if type(owner) in (list, tuple) else None
    raise ValueError


# -- calls -----------------------------------------------------------------------------------------


def _of_tensor(
    node: Node, method: str, inner: list[str], argument: str, before: str, typed: str | None
) -> Offer | None:
    dims = {dim._short: dim for dim in node.dims}
    if method == "[]":
        return _words(dims, typed) if inner == ["{"] and ":" not in before else None
    if method == "loc":
        alone = next(iter(dims.values())) if len(dims) == 1 else None
        if inner[:1] != ["{"]:
            return _labels(alone, node, "sel", before, typed)
        method = "sel"
    if method == "isin":
        return _labels(node.categories, None, "sel", before, typed) if typed is not None else None
    function = inspect.getattr_static(TensorHandle._class, method, None)
    if not inspect.isfunction(function):
        return None
    parameters = inspect.signature(function).parameters.values()
    by_name = any(one.kind is one.VAR_KEYWORD for one in parameters)
    takes_dims = by_name or any(one.name in _DIMS for one in parameters)
    keyword = _KEYWORD.match(argument)
    if inner[:1] == ["{"]:
        key = re.match(r"\s*['\"]?([^'\":]+)['\"]?\s*:", before)
        if key is not None:
            return _labels(dims.get(key.group(1).strip()), node, method, before, typed)
        return _words(dims, typed) if takes_dims else None
    if keyword is not None and keyword.group(1) in dims and by_name:
        return _labels(dims[keyword.group(1)], node, method, before, typed)
    if keyword is not None:
        return _words(dims, typed) if keyword.group(1) in _DIMS else None
    if typed is not None:
        return _words(dims, typed) if takes_dims else None
    return _keywords(dims, argument, typed) if by_name and not inner else None


def _of_function(
    function: Any, given: str, argument: str, typed: str | None, namespace: Mapping[str, Any]
) -> Offer | None:
    """Complete dims of a function's preceding arguments, such as ``dt.sum(x, "``."""
    if typed is None or not inspect.isfunction(function):
        return None
    keyword = _KEYWORD.match(argument)
    asked = (
        {keyword.group(1)} if keyword is not None else set(inspect.signature(function).parameters)
    )
    if not asked & _DIMS:
        return None
    values = [_value(name, namespace) for name in _NAME.findall(given)]
    dims = [dim._short for x in values if isinstance(x, TensorHandle) for dim in x.node.dims]
    return _words(dict.fromkeys(dims), typed)


def _of_model(
    model: Model, method: str, inner: list[str], argument: str, before: str, typed: str | None
) -> Offer | None:
    found = model.spec.graph
    known: dict[str, Iterable[str]] = {
        "observe": found.variables,
        "do": [*found.variables, *found.named],
        "with_data": found.inputs,
    }
    names: Iterable[str]
    if method in known:
        names = known[method]
        if not inner and typed is None:
            return _keywords(names, argument, typed)
        return _words(names, typed) if inner == ["{"] and ":" not in before else None
    if method == "predict" and inner == ["{"]:
        return _words(found.inputs, typed) if ":" not in before else None
    if method in ("noncentered", "centered", "marginalize", "plot"):
        return _words(found.variables, typed)
    keyword = _KEYWORD.match(argument)
    if method == "predict" and keyword is not None and keyword.group(1) == "names":
        return _words([*found.variables, *found.named], typed)
    return None


def _plots(code: str, namespace: Mapping[str, Any]) -> Offer | None:
    """Complete ``x.plot.`` with xarray's plots and ``model.plot.`` with ArviZ's."""
    found = _PLOTS.search(code)
    owner = _value(found.group(1), namespace) if found is not None else None
    if isinstance(owner, TensorHandle):
        from xarray.plot.accessor import DataArrayPlotAccessor as Plots

        names: Iterable[str] = (name for name in dir(Plots) if not name.startswith("_"))
    elif isinstance(owner, Model):
        names = dir(owner.plot)
    else:
        return None
    typed = code[code.rindex(".") + 1 :]
    return Offer(sorted(name for name in names if name.startswith(typed)), typed)


def _compared(code: str, place: _Place, namespace: Mapping[str, Any]) -> Offer | None:
    """Complete labels that a tensor of labels is compared with."""
    if place.string is None:
        return None
    start = place.string
    while start > 0 and code[start - 1] == code[start]:
        start -= 1
    compared = _COMPARED.search(code[:start])
    tensor = _value(compared.group(1), namespace) if compared is not None else None
    if not isinstance(tensor, TensorHandle) or tensor.node.categories is None:
        return None
    return _labels(tensor.node.categories, None, "sel", "", code[place.string + 1 :])


# -- texts -----------------------------------------------------------------------------------------


def _keywords(names: Iterable[str], argument: str, typed: str | None) -> Offer | None:
    fragment = argument.strip()
    if typed is not None or (fragment and not fragment.isidentifier()):
        return None
    fitting = [f"{name}=" for name in names if name.isidentifier() and name.startswith(fragment)]
    return Offer(fitting, fragment)


def _words(names: Iterable[str], typed: str | None) -> Offer | None:
    """Complete names within quotation marks."""
    if typed is None:
        return None
    return Offer([name for name in names if name.startswith(typed)], typed)


def _labels(
    dim: Dim | None, node: Node | None, method: str, before: str, typed: str | None
) -> Offer | None:
    if dim is None or method not in _BY_LABEL:
        return None
    labels = dim_labels(dim, node, _SEARCHED)
    if labels is None:
        return None
    if typed is None:
        fragment = re.split(r"[=:\[,]", before)[-1].lstrip()
        return Offer(_fitting(labels, fragment, lambda label: _written(label)), fragment)
    return Offer(_fitting(labels, typed, str, (str, np.datetime64)), typed)


def _written(label: Any) -> str:
    return repr(str(label)) if isinstance(label, np.datetime64) else plain_repr(label)


def _fitting(
    labels: Iterable[Any], start: str, text: Callable[[Any], str], kinds: tuple[type, ...] = ()
) -> list[str]:
    found: dict[str, None] = {}
    for label in labels:
        if kinds and not isinstance(label, kinds):
            continue
        shown = _day(text(label))
        if shown.startswith(start):
            found[shown] = None
        if len(found) == _OFFERED:
            break
    return list(found)


def _day(text: str) -> str:
    """Drop the time of a date at midnight."""
    return re.sub(r"T00:00:00(\.0+)?", "", text)


# -- IPython ---------------------------------------------------------------------------------------


def _matcher(context: Any, namespace: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    from IPython.core.completer import SimpleCompletion

    lines = context.full_text.split("\n")[: context.cursor_line]
    code = "\n".join([*lines, context.text_until_cursor])
    try:
        found = offer(code, namespace())
    except Exception:  # an error must not disturb the user's typing
        found = None
    if found is None or not found.texts:
        return {"completions": [], "suppress": False}
    kind = "param" if found.texts[0].endswith("=") else "value"
    return {
        "completions": [SimpleCompletion(text=text, type=kind) for text in found.texts],
        "matched_fragment": found.fragment,
        # in a string only our completions apply; keywords compete with values
        "suppress": kind == "value",
    }


class Matcher:
    """Matcher of IPython's completer, in version 2 of its interface."""

    matcher_api_version = 2
    matcher_identifier = "dimtensor"
    matcher_priority = 1_000

    def __init__(self, shell: Any):
        self._shell = shell
        self.__qualname__ = "dimtensor"

    def __call__(self, context: Any) -> dict[str, Any]:
        return _matcher(context, lambda: self._shell.user_ns)


@complete_names.provides()
def install(shell: Any) -> None:
    """Add completion of dims and labels to a shell; repeated calls have no effect."""
    matchers = getattr(getattr(shell, "Completer", None), "custom_matchers", None)
    if matchers is not None and not any(isinstance(one, Matcher) for one in matchers):
        matchers.append(Matcher(shell))


def remove(shell: Any) -> None:
    """Undo :func:`install`."""
    matchers = getattr(getattr(shell, "Completer", None), "custom_matchers", [])
    matchers[:] = [one for one in matchers if not isinstance(one, Matcher)]
