"""Errors of calls with unknown or missing arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from types import FunctionType
from typing import Any

from dimtensor.errors import ArgumentError, did_you_mean, listing
from dimtensor.spellings.table import ARGUMENTS, MEANINGS, told


def spelled[F: Callable[..., Any]](where: str) -> Callable[[F], F]:
    """Let errors of calls with unknown arguments suggest the names of the parameters.

    Parameters
    ----------
    where : str
        Section of the table.
    """

    def wrapped(function: F) -> F:
        constructor = function.__name__ == "__init__"

        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            if constructor and function.__qualname__ != f"{type(args[0]).__qualname__}.__init__":
                return function(*args, **kwargs)  # called by a subclass
            refused = _named_first(where, function, args, kwargs)
            if refused is not None:
                raise refused
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                inside = error.__traceback__
                if inside is None or inside.tb_next is not None:  # raised inside the function
                    raise
                refused = _refusal(where, function, args, kwargs)
                if refused is None:
                    raise
            raise refused

        return called  # type: ignore[return-value]

    return wrapped


def guessed(option: str, known: Sequence[str]) -> str:
    """Return `` (did you mean 'x'?)`` for the name of an option in other libraries, or alike."""
    meant = next((name for name in ARGUMENTS.get(option, ()) if name in known), None)
    return did_you_mean(option, known) if meant is None else f" (did you mean {meant!r}?)"


def spelled_methods[C: type](cls: C) -> C:
    """Apply `spelled` to all public methods of a class and of its bases."""
    for each in cls.__mro__[:-1]:
        for name, method in list(vars(each).items()):
            if not name.startswith("_") and isinstance(method, FunctionType):
                setattr(each, name, spelled("method")(method))
    return cls


def _refusal(
    where: str, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> ArgumentError | None:
    """Return the error for a call that does not match the parameters of a function."""
    name, parameters, args = _bound(function, args)
    details = [("takes", listing(parameters))]
    hint: str | None = None
    for option in kwargs:
        if option in parameters:
            continue
        meant = _meant(option, where, function, parameters)
        if meant and where == "method":
            hint = f"{meant} is its name here: {meant}={_shown(kwargs[option])}"
        elif meant:
            renamed = {
                _meant(key, where, function, parameters) or key: x for key, x in kwargs.items()
            }
            hint = f"{meant} is its name here: {_call(where, name, args, renamed)}"
        elif option in ("size", "shape") and function.__module__.startswith("dimtensor.random"):
            hint = _dims("draw", kwargs[option]).removeprefix(", ") or None
        elif where == "distribution":
            hint = _variable(name, parameters, args, kwargs, option)
        else:
            hint = _own_words(where, option, args, kwargs)
        guess = "" if hint else did_you_mean(option, list(parameters))
        return ArgumentError(f"{name} takes no {option!r}{guess}", details, hint)
    positional = [x for x, each in parameters.items() if each.kind in _POSITIONAL]
    any_number = any(each.kind is Parameter.VAR_POSITIONAL for each in parameters.values())
    if len(args) > len(positional) and not any_number:
        many = f"{len(positional)} argument{'' if len(positional) == 1 else 's'} without names"
        text = f"{name} takes {many}, and is given {len(args)}"
        hint = _with_names(where, name, args, positional, parameters)
        return ArgumentError(text, details, hint)
    twice = [x for x in positional[: len(args)] if x in kwargs]
    if twice:
        text = f"{name} is given {twice[0]!r} twice, by its place and by its name"
        both = (args[positional.index(twice[0])], kwargs[twice[0]])
        details = [("given", " and ".join(map(_shown, both))), *details]
        return ArgumentError(text, details)
    given = {*positional[: len(args)], *kwargs}
    missing = [
        x for x, each in parameters.items()
        if x not in given and each.default is each.empty and each.kind not in _VARIADIC
    ]  # fmt: skip
    if not missing:
        return None
    if "dim" in missing:
        hint = "dim= is the dim of its elements, labels or steps: dim=dt.Dim('k', length=3)"
    elif name == "where":
        hint = "x.where(condition) has NaN where the condition is false"
    return ArgumentError(f"{name} needs {' and '.join(map(repr, missing))}", details, hint)


def _with_names(
    where: str,
    name: str,
    args: Sequence[Any],
    positional: Sequence[str],
    parameters: Mapping[str, Parameter],
) -> str | None:
    """Write the call with names for keyword-only arguments, in the given order."""
    by_name = [x for x, each in parameters.items() if each.kind is Parameter.KEYWORD_ONLY]
    if name == "observe" and not isinstance(args[1], str):
        return "observe({y: values})"
    names = ["tune", "chains"] if name == "sample" else by_name  # as in PyMC
    rest = args[len(positional) :]
    if len(rest) > len(names):
        return None
    shown = [*map(_shown, args[: len(positional)])]
    if where == "function":
        shown = [x if x != "..." else at for x, at in zip(shown, positional, strict=True)]
        name = f"dt.{name}"
    shown += [f"{key}={_shown(value)}" for key, value in zip(names, rest, strict=False)]
    return f"{name}({', '.join(shown)})"


_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def _bound(
    function: Callable[..., Any], args: Sequence[Any]
) -> tuple[str, dict[str, Parameter], Sequence[Any]]:
    """Return the public name, parameters and arguments of a function, without the instance."""
    names = function.__qualname__.rpartition("<locals>.")[2].split(".")
    parameters = dict(signature(function).parameters)
    if len(names) == 1:
        return names[0], parameters, args
    del parameters[next(iter(parameters))]
    return names[-2] if names[-1].startswith("__") else names[-1], parameters, args[1:]


def _meant(
    option: str, where: str, function: Callable[..., Any], parameters: Collection[str]
) -> str | None:
    """Return the parameter meant by an unknown argument, None if there is none."""
    if option in parameters:
        return None
    if where == "distribution" and option in MEANINGS:
        docs = dict(_PARAMETER.findall(function.__doc__ or ""))
        alone = (
            option == "scale" and "alpha" in parameters
        )  # a standard deviation is not the scale of a distribution with a shape
        for meaning in MEANINGS[option][: 1 if alone else None]:
            for name in parameters:
                if docs.get(name, "").lower().startswith(meaning):
                    return name
        return None
    return next((name for name in ARGUMENTS.get(option, ()) if name in parameters), None)


_PARAMETER = re.compile(r"^ *(\w+) : .*\n +(\S.*)$", re.MULTILINE)


def _own_words(
    where: str, option: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> str | None:
    """Return the table's hint for an argument, with the names that were given."""
    hint = told(where, option)
    given = kwargs[option]
    if where == "Model" and option == "coords" and isinstance(given, Mapping):
        made = [f"{key} = dt.Dim({key!r}, coords={list(x)!r})" for key, x in given.items()]
        return f"labels belong to dims: {'; '.join(made)}"
    if where == "Model" and option == "observed":
        return told("rv", option)
    if where == "Dim":
        of = "length" if isinstance(given, int) else "coords"
        return f"its name is a string: dt.Dim({option!r}, {of}={given!r})"
    if hint is None or where != "rv" or not args or not isinstance(args[0], str):
        return hint
    name = args[0]
    if len(args) > 1:
        hint = hint.replace("dist.Normal(0, 1)", f"dist.{args[1]!r}")
    if option in ("shape", "size"):
        hint = hint.replace(", dims=dt.Dim('k', length=3)", _dims(name, given))
    return re.sub(r"\bx\b", name, hint) if name.isidentifier() else hint


def _named_first(
    where: str, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> ArgumentError | None:
    """Return the error for a distribution called with a name, as in PyMC."""
    if where != "distribution" or not any(isinstance(x, str) for x in args[:2]):
        return None
    name, parameters, own = _bound(function, args)
    if not own or not isinstance(own[0], str) or next(iter(parameters)) == "name":
        return None
    if name == "DiracDelta":  # at a label
        return None
    text = f"{name} takes no name: a random variable has one, and its distribution has none"
    details = [("name", repr(own[0]))]
    hint = _variable(name, parameters, own, kwargs, "")
    return ArgumentError(text, details, hint)


def _variable(
    name: str,
    parameters: Collection[str],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    option: str,
) -> str | None:
    """Write the random variable for a call of a distribution with a name, as in PyMC."""
    if option and option != "dims" and told("rv", option) is None:
        return None
    given = args[0] if args and isinstance(args[0], str) else "x"
    own = {key: x for key, x in kwargs.items() if key != "dims" and told("rv", key) is None}
    rest = args[1:] if args and isinstance(args[0], str) else args
    made = _call("distribution", name, rest, own)
    if not own.keys() <= set(parameters):
        made = f"dist.{name}({', '.join(parameters)})"
    dims = _dims(given, kwargs.get("dims", kwargs.get("shape", kwargs.get("size"))))
    hint = f"dt.rv({given!r}, {made}{dims})"
    others = [key for key in kwargs if key not in own and key not in ("dims", "shape", "size")]
    return "; ".join([hint, *(str(told("rv", key)) for key in others)])


def _dims(name: str, given: Any) -> str:
    """Write the argument for dims from lengths or names."""
    if given is None:
        return ""
    several = list(given) if isinstance(given, (tuple, list)) else [given]
    if not several:
        return ""
    texts = []
    for at, one in enumerate(several):
        end = f"_{at}" if len(several) > 1 else ""
        if isinstance(one, int):
            texts.append(f"dt.Dim('{name}_dim{end}', length={one})")
        else:
            texts.append(f"dt.Dim({one!r})" if isinstance(one, str) else _shown(one))
    return f", dims={texts[0]}" if len(texts) == 1 else f", dims=[{', '.join(texts)}]"


def _call(where: str, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    shown = [*map(_shown, args), *(f"{key}={_shown(value)}" for key, value in kwargs.items())]
    return f"{'dist' if where == 'distribution' else 'dt'}.{name}({', '.join(shown)})"


def _shown(value: Any) -> str:
    """Write a value as in the source."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if hasattr(value, "event_dims"):
        return f"dist.{value!r}"
    name = getattr(value, "_short", None) or getattr(value, "name", None)
    return name if isinstance(name, str) and name.isidentifier() else "..."
