"""Rewrite code in place for the names of this version: ``python tools/codemod.py PATH...``.

Python files, their doctests, and the Python code of Markdown files are rewritten; a folder stands
for all of them in it. The names are those of ``dimtensor/spellings/renamed.py``. They are found as
attributes of the package and of dims that the code makes, as names imported from the package, and
as arguments of calls; in other texts they stay as they are.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from dimtensor.spellings.renamed import (
    ARGUMENTS,
    DATES,
    FUNCTIONS,
    METHODS,
    METHODS_OF_RESULTS,
    NAMED,
    PARTS,
    SHIFTS,
)

_MODULES = frozenset({"dist", "fft", "linalg", "random"})
_FENCE = re.compile(r"^(```(?:python|py)\b[^\n]*\n)(.*?)(^```)", re.M | re.S)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_EXAMPLE = re.compile(r"^(?P<indent> *)>>> .*(?:\n(?P=indent)\.\.\.(?: .*)?)*$", re.M)

type _Edit = tuple[int, int, int, str]  # line, first and last byte in it, and the new text


def rewritten(source: str, *, known: str | None = None, dims: Collection[str] = ()) -> str:
    """Return Python code with today's names.

    Parameters
    ----------
    source : str
    known : str, optional
        The name that the package has in code that does not import it.
    dims : collection of str, optional
        Names of dims that other code makes.

    Returns
    -------
    str
        With as many lines; the source itself where it is no Python.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return source
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    for line, start, end, text in sorted(set(_edits(tree, known, dims)), reverse=True):
        old = lines[line - 1]
        lines[line - 1] = old[:start] + text.encode() + old[end:]
    return b"".join(lines).decode()


def _packages(tree: ast.AST, known: str | None) -> set[str]:
    """Return the names that the package has in code."""
    found = {known} if known else set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {x.asname or x.name for x in node.names if x.name == "dimtensor"}
    return found


def _edits(tree: ast.AST, known: str | None, dims: Collection[str]) -> Iterator[_Edit]:
    packages = _packages(tree, known)
    dims = {*dims, *_dims(tree, packages)}
    made_by = _results(tree, packages)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=result, attr=old) if new := METHODS_OF_RESULTS.get(
                made_by.get(result.id, "")
                if isinstance(result, ast.Name)
                else _maker(result, packages),
                {},
            ).get(old):
                yield _at_end(node, old, new)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=package), attr=part), args=[x], keywords=[]
            ) if package in packages and part in PARTS and node.lineno == node.end_lineno:
                start, end = ("", "") if _is_operand(x) else ("(", ")")
                yield node.lineno, node.col_offset, x.col_offset, start
                yield node.lineno, x.end_col_offset or 0, node.end_col_offset or 0, f"{end}.{part}"
            case ast.Attribute(value=dim, attr=old) if old in DATES and (
                _is_made(dim, packages) or (isinstance(dim, ast.Name) and dim.id in dims)
            ):
                yield _at_end(node, old, f"dt.{DATES[old]}")
            case ast.Attribute(value=ast.Name(id=package), attr=old) if package in packages:
                if new := FUNCTIONS.get(old):
                    yield _at_end(node, old, new)
            case ast.ImportFrom(module="dimtensor") if node.lineno == node.end_lineno:
                if any(each.name in FUNCTIONS for each in node.names):
                    yield node.lineno, node.col_offset, node.end_col_offset or 0, _imports(node)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=package), attr=name)) if (
                package in packages and name in SHIFTS
            ):
                if (call := _shift(node, SHIFTS[name])) and node.lineno == node.end_lineno:
                    yield node.lineno, node.col_offset, node.end_col_offset or 0, call
            case ast.Call(func=function):
                if isinstance(function, ast.Attribute) and (new := METHODS.get(function.attr)):
                    yield _at_end(function, function.attr, new)
                if isinstance(function, ast.Attribute) and _is_dist(function.value, packages):
                    for name, value in zip(NAMED.get(function.attr, ()), node.args, strict=False):
                        if name and not isinstance(value, ast.Starred):
                            yield value.lineno, value.col_offset, value.col_offset, f"{name}="
                called = [function, *node.args[:1]]  # the latter of functools.partial
                renamed = {old: new for each in called for old, new in _arguments(each).items()}
                for keyword in node.keywords:
                    if keyword.arg and (new := renamed.get(keyword.arg)):
                        start = keyword.col_offset
                        yield keyword.lineno, start, start + len(keyword.arg), new


def _imports(node: ast.ImportFrom) -> str:
    """Return the statement, or several, that import today's names as those of a statement."""
    names: dict[str, list[str]] = {}
    for each in node.names:
        module, _, new = FUNCTIONS.get(each.name, each.name).rpartition(".")
        kept = each.asname or each.name
        names.setdefault(f"dimtensor.{module}".rstrip("."), []).append(
            new if kept == new else f"{new} as {kept}"
        )
    return "; ".join(f"from {module} import {', '.join(x)}" for module, x in names.items())


def _maker(node: ast.expr, packages: set[str]) -> str:
    """Return the name of the function of the package that an expression calls, or ''."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=package), attr=name)):
            return name if package in packages else ""
    return ""


def _is_dist(node: ast.expr, packages: set[str]) -> bool:
    """Return whether an expression is the module of distributions."""
    match node:
        case ast.Attribute(value=ast.Name(id=package), attr="dist"):
            return package in packages
        case ast.Name(id="dist"):
            return True
    return False


def _results(tree: ast.AST, packages: set[str]) -> dict[str, str]:
    """Return the variables that have results of functions of the package, with these."""
    return {
        target.id: name
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and (name := _maker(node.value, packages))
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _is_operand(x: ast.expr) -> bool:
    """Return whether an attribute of an expression can be taken without parentheses."""
    return isinstance(x, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))


def _is_made(node: ast.expr, packages: set[str]) -> bool:
    """Return whether an expression makes a dim."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=package), attr="Dim" | "time" | "date_range")
        ):
            return package in packages
    return False


def _dims(tree: ast.AST, packages: set[str]) -> set[str]:
    """Return the names of dims that code makes."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=False))
                names |= {
                    x.id
                    for x, value in pairs
                    if isinstance(x, ast.Name) and _is_made(value, packages)
                }
    return names


def _dims_of_texts(sources: Iterable[str]) -> set[str]:
    """Return the names of dims that pieces of code make which know each other's names."""
    found: set[str] = set()
    for source in sources:
        with contextlib.suppress(SyntaxError):
            found |= _dims(ast.parse(source), {"dt"})
    return found


def _arguments(function: ast.expr) -> dict[str, str]:
    """Return the arguments that have another name in a call of `function`."""
    match function:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return ARGUMENTS.get(name, {})
    return {}


def _shift(call: ast.Call, sign: str) -> str | None:
    """Return the call of ``x.shift`` in place of one of ``dt.lag`` or ``dt.lead``."""
    given = dict(zip(("x", "over", "n", "fill_value"), call.args, strict=False))
    given |= {x.arg: x.value for x in call.keywords if x.arg}
    if not {"x", "over"} <= given.keys():
        return None
    x = ast.unparse(given["x"])
    if not _is_operand(given["x"]):
        x = f"({x})"
    n = ast.unparse(given["n"]) if "n" in given else "1"
    fill = f", fill_value={ast.unparse(given['fill_value'])}" if "fill_value" in given else ""
    return f"{x}.shift({{{ast.unparse(given['over'])}: {sign}{n}}}{fill})"


def _at_end(node: ast.Attribute, old: str, new: str) -> _Edit:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.end_lineno, node.end_col_offset - len(old), node.end_col_offset, new


def _with_doctests(source: str, dims: Collection[str] = ()) -> str:
    """Return a text whose doctests have today's names."""

    def code_of(match: re.Match[str]) -> str:
        indent = len(match["indent"])
        return "\n".join(line[indent + 4 :] for line in match[0].split("\n"))

    dims = {*dims, *_dims_of_texts(map(code_of, _EXAMPLE.finditer(source)))}

    def example(match: re.Match[str]) -> str:
        indent = len(match["indent"])
        new = rewritten(code_of(match), known="dt", dims=dims).split("\n")
        return "\n".join(
            f"{line[: indent + 4]}{text}" if text else line
            for line, text in zip(match[0].split("\n"), new, strict=True)
        )

    return _EXAMPLE.sub(example, source)


def python(source: str) -> str:
    """Return the text of a Python file with today's names, those of its doctests too."""
    return _with_doctests(rewritten(source))


def markdown(source: str) -> str:
    """Return a Markdown text whose Python blocks and spans of code have today's names."""
    dims = _dims_of_texts(match[2] for match in _FENCE.finditer(source))

    def block(match: re.Match[str]) -> str:
        return (
            match[1] + _with_doctests(rewritten(match[2], known="dt", dims=dims), dims) + match[3]
        )

    def span(match: re.Match[str]) -> str:
        return f"`{rewritten(match[1], known='dt', dims=dims)}`"

    return _SPAN.sub(span, _FENCE.sub(block, source))


KINDS: dict[str, Callable[[str], str]] = {".py": python, ".md": markdown}


def main() -> None:
    """Rewrite the files that are named, and print those that changed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    for path in parser.parse_args().paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if file.suffix in KINDS and file.is_file():
                old = file.read_text(encoding="utf-8")
                if (new := KINDS[file.suffix](old)) != old:
                    file.write_text(new, encoding="utf-8")
                    print(file)


if __name__ == "__main__":
    main()
