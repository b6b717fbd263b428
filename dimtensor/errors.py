"""Exception and warning classes, and the one builder of their messages.

Every error of dimtensor is a :class:`DimtensorError` and, beside it, the built-in exception
that a NumPy or xarray user would expect in its place.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Sequence, Sized
from functools import wraps
from itertools import islice
from types import FunctionType
from typing import Any, ClassVar, get_overloads, overload

from dimtensor.renderers import traceback_lines

PAGE = "errors.md"  # of the documentation: causes of errors and warnings by class, and what helps


def _with_page(cls: Any) -> None:
    """Give a class its section of the page of the documentation, and name it in the docstring."""
    text = (cls.__doc__ or "").rstrip()
    cls.page = f"{PAGE}#{cls.__name__.lower()}"
    cls.__doc__ = f"{text}\n\n    Causes and fixes: ``{cls.page}`` of the documentation.\n"


# Characters that move the cursor, color what follows or turn its direction: C0 and C1 except tabs
# and ends of lines, separators of lines, bidirectional controls and halves of surrogate pairs.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def escaped(text: str) -> str:
    r"""Write control characters of a text as Python does, ``\x1b``; all others stay.

    All texts for people go through here: errors, warnings, representations and what is printed.

    Examples
    --------
    >>> print(escaped("\x1b[31mrot, grün"))
    \x1b[31mrot, grün
    """
    if _CONTROL.search(text) is None:
        return text
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def printable[T](function: Callable[[T], str]) -> Callable[[T], str]:
    """Escape the control characters of a representation, which may have names and labels."""

    @wraps(function)
    def shown(self: T) -> str:
        return escaped(function(self))

    return shown


class _Message(str):
    """Whole message, whose lines are those of :func:`build_message`."""

    __slots__ = ()


class DimtensorError(Exception):
    """Base class of all errors raised by dimtensor.

    Parameters
    ----------
    message : str
        What is wrong, in one line; or a whole message of :func:`build_message`.
    details : iterable of (str, object), optional
        Names and values of what takes part, each on a line of its own.
    hint : str, optional
        What to write instead.

    Attributes
    ----------
    page : str
        The section of the documentation with causes and fixes, ``"errors.md#dimerror"``.
    """

    page: ClassVar[str] = PAGE
    # a KeyError prints the repr of its text, in which ends of lines are escaped
    __str__ = Exception.__str__

    def __init__(
        self,
        message: object = "",
        details: Iterable[tuple[str, object]] = (),
        hint: str | None = None,
        **options: Any,
    ) -> None:
        whole = message if isinstance(message, _Message) else str(message)
        super().__init__(_Message(escaped(build_message(whole, details, hint))), **options)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _with_page(cls)

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows, which asks for them under this name."""
        return traceback_lines(self)


class DimError(DimtensorError, ValueError):
    """Dims that clash, are ambiguous, of the wrong length, or no dims at all."""


class UnknownDimError(DimError, KeyError):
    """A dim that is named and not there: xarray raises a ValueError or a KeyError."""


class RaggedDimError(DimError):
    """An operation that would mix the positions of different parents of a ragged dim."""


class LabelError(DimtensorError, KeyError, ValueError):
    """A label or name that is looked up in vain, labels that occur twice, or that disagree."""


class PositionError(DimtensorError, IndexError):
    """An integer position outside of a dim."""


class DtypeError(DimtensorError, TypeError):
    """An operand of a dtype that the operation does not accept, or that would lose values."""


class NoAttributeError(DimtensorError, AttributeError):
    """An attribute that arrays have and tensors do not; the message says what to write instead."""


class ArgumentError(DimtensorError, TypeError):
    """An argument of the wrong type, a missing one, or one that the function does not have."""


class OptionError(DimtensorError, ValueError):
    """An argument whose value is not among the choices, out of range or contradicts another."""


class InputError(DimtensorError, ValueError):
    """Values of inputs, data or observations that are malformed, missing or unknown."""


class GraphError(DimtensorError, ValueError):
    """An operation that an expression or model does not allow: it lacks an input or a length."""


class PartitionError(GraphError):
    """An expression that cannot be computed from the values for slices of a dim.

    Attributes
    ----------
    node : Node
        The expression that mixes positions.
    line : Line or None
        Line of the user's code that made it.
    is_scan : bool
        Whether it proceeds along the dim from one position to the next.
    """

    node: Any = None
    line: Any = None
    is_scan: bool = False


class ExportError(DimtensorError, ValueError):
    """A function that cannot be written to a folder, or a folder that holds no such function."""


class CheckError(DimtensorError, ValueError):
    """A check that is part of a computation failed when it ran."""


class ComputationError(DimtensorError, RuntimeError):
    """Error raised inside an operation; the original is its ``__cause__``."""


class MemoryLimitError(DimtensorError, MemoryError):
    """A computation needs more memory than there is, or than it may take."""


class StreamError(DimtensorError, RuntimeError):
    """Rows of a stream that cannot be read; nothing of the pass over its chunks is counted.

    The original error is its ``__cause__``, where there is one.
    """


class MissingExtraError(DimtensorError, ImportError):
    """An optional library is not installed; the message names the extra that brings it."""


class DimtensorWarning(UserWarning):
    """Base class of all warnings of dimtensor.

    Attributes
    ----------
    page : str
        The section of the documentation with causes and fixes.
    """

    page: ClassVar[str] = PAGE

    def __init__(self, message: str = "") -> None:
        super().__init__(escaped(message))

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _with_page(cls)


class NotNativeWarning(DimtensorWarning):
    """A log density is interpreted, or kernels are compiled by numba, in place of machine code."""


class SamplingWarning(DimtensorWarning):
    """Draws that may not be those of the posterior."""


class ModelWarning(DimtensorWarning):
    """Part of a model has no effect, or not the one that was meant."""


class BroadcastWarning(DimtensorWarning):
    """A log-density term that was broadcast before it was summed, so it is counted repeatedly."""


def warn(
    headline: str,
    category: type[Warning],
    details: Iterable[tuple[str, object]] = (),
    hint: str | None = None,
) -> None:
    """Warn at the calling line outside dimtensor, with a text as :func:`build_message` makes it."""
    folder = os.path.dirname(os.path.abspath(__file__))
    message = build_message(headline, details, hint)
    warnings.warn(message, category, skip_file_prefixes=(folder,))


def build_message(
    headline: str, details: Iterable[tuple[str, object]] = (), hint: str | None = None
) -> str:
    """Format an error: a headline, one indented line per object involved, and a hint.

    Examples
    --------
    >>> print(build_message("two dims named 'a' meet", [("left", "Dim('a')")], "rename one"))
    two dims named 'a' meet
      left: Dim('a')
    hint: rename one
    """
    if isinstance(headline, _Message) and not details and not hint:
        return headline
    lines = [headline]
    lines += [f"  {name}: {value}" for name, value in details]
    if hint:
        lines.append(f"hint: {hint}")
    # continuation lines are indented, also those of names with a line end
    return _Message("\n".join(line.replace("\n", "\n    ") for line in lines))


def prefixed(prefix: str, error: DimtensorError) -> str:
    """Put a prefix before the message of an error, whose details and hint are unchanged.

    Examples
    --------
    >>> error = LabelError("labels are no set", hint="sorted(labels)")
    >>> print(LabelError(prefixed("dim 'a': ", error)))
    dim 'a': labels are no set
    hint: sorted(labels)
    """
    return _Message(build_message(prefix) + str(error))


def hinted(error: DimtensorError, hint: str) -> str:
    """Return the message of an error with another hint.

    Examples
    --------
    >>> error = LabelError("no label 'c'", hint="sorted(labels)")
    >>> print(LabelError(hinted(error, "set(labels)")))
    no label 'c'
    hint: set(labels)
    """
    return _Message(str(error).split("\nhint: ")[0] + "\n" + build_message(f"hint: {hint}"))


LISTED = 8  # items of a list that a message shows
LONGEST = 200  # characters of one of them


def listing(items: Iterable[object], limit: int = LISTED) -> str:
    """List items separated by commas; a long list is truncated, with its length.

    Examples
    --------
    >>> listing(["a", "b"])
    "'a', 'b'"
    >>> listing(range(100), limit=2)
    '0, 1, … (100 in all)'
    """
    sized = items if isinstance(items, Sized) else list(items)
    count = len(sized)
    if not count:
        return "none"
    shown = ", ".join(clipped(plain_repr(item)) for item in islice(sized, limit))
    return shown if count <= limit else f"{shown}, … ({count} in all)"


def clipped(text: str) -> str:
    """Truncate a text to a few lines."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def reason_of(error: BaseException) -> str:
    """Return the first line of the text of an error of another library, or its class.

    Examples
    --------
    >>> reason_of(KeyError("x")), reason_of(ValueError("3 is not 4"))
    ("KeyError: 'x'", '3 is not 4')
    """
    lines = str(error).strip().splitlines()
    text = clipped(lines[0]) if lines else ""
    named = isinstance(error, (ValueError, OSError)) and text
    return text if named else f"{type(error).__name__}: {text}".removesuffix(": ")


def plain_repr(item: object) -> str:
    """Return the repr of a label without NumPy's type, also in tuples.

    Examples
    --------
    >>> import numpy as np
    >>> plain_repr((np.str_("IBM"), np.int64(3)))
    "('IBM', 3)"
    """
    try:
        return _plain_repr(item)
    except Exception:  # a class with broken methods
        return f"<{type(item).__name__}>"


def _plain_repr(item: object) -> str:
    if type(item) is tuple:
        parts = ", ".join(map(plain_repr, item))
        return f"({parts},)" if len(item) == 1 else f"({parts})"
    if type(item).__name__ == "MaskedConstant":
        return "masked"
    kind = getattr(getattr(item, "dtype", None), "kind", None)
    if kind is not None and getattr(item, "ndim", None) == 0:
        if kind == "m":
            return _span(item)
        if kind == "M":
            return (
                str(item)
                .removesuffix(".000000000")
                .removesuffix(".000000")
                .removesuffix("T00:00:00")
            )
        item = item.item()  # type: ignore[attr-defined]
    if type(item).__module__.startswith("pandas") and not isinstance(item, Sized):
        return escaped(str(item))
    if type(item).__module__.startswith("cftime"):
        return item.isoformat().removesuffix("T00:00:00")  # type: ignore[attr-defined]
    return escaped(repr(item))


def _span(item: object) -> str:
    """Write a duration in the largest unit without a remainder."""
    text = str(item)
    for unit, name in (("D", "days"), ("h", "hours"), ("m", "minutes"), ("s", "seconds")):
        whole = item.astype(f"m8[{unit}]")  # type: ignore[attr-defined]
        if whole == item:
            return f"{whole.astype(int)} {name}"
    return text


def check_choice(function: str, option: str, value: object, known: Sequence[Any]) -> None:
    """Check that an option has one of the known values.

    Raises
    ------
    OptionError

    Examples
    --------
    >>> check_choice("pad", "mode", "mirror", ["wrap", "edge"])
    Traceback (most recent call last):
    dimtensor.errors.OptionError: pad: there is no mode 'mirror'
      choices: 'wrap', 'edge'
    """
    if value not in known:
        text = f"{function}: there is no {option} {value!r}{did_you_mean(value, known)}"
        raise OptionError(build_message(text, [("choices", listing(known, len(known)))]))


def did_you_mean(word: object, known: Sequence[str]) -> str:
    """Return `` (did you mean 'x'?)`` for a similar known name, else an empty text.

    Examples
    --------
    >>> did_you_mean("ibm", ["IBM", "GE"])
    " (did you mean 'IBM'?)"
    >>> did_you_mean("random_seed", ["draws", "seed"])
    " (did you mean 'seed'?)"
    """
    import difflib

    word = str(word)
    folded = {name.casefold(): name for name in reversed(known)}
    close = [folded[word.casefold()]] if word.casefold() in folded else []
    if not close and len(known) <= _MANY:
        close = difflib.get_close_matches(word, known, n=1)
        if not close:
            alike = difflib.get_close_matches(word.casefold(), list(folded), n=1)
            close = [folded[name] for name in alike]
        if not close:  # one of several words
            words = word.casefold().split("_")
            close = [folded[name] for name in words if name in folded and len(name) > 2]
    return f" (did you mean {close[0]!r}?)" if close else ""


_MANY = 10_000  # similar names are not searched among more names


def named_after[C: type](cls: C, public: str | None = None) -> C:
    """Set the qualified names of inherited methods to those of the public class.

    Python's errors of arguments then say ``DimTensor.mean() takes …``. A private class gets the
    name of its public one.
    """
    cls.__name__ = public or cls.__name__
    for base in cls.__mro__:
        for name, value in vars(base).items():
            method = getattr(value, "__func__", value)
            while isinstance(method, FunctionType) and method.__module__.startswith("dimtensor."):
                overloads: list[Any] = list(get_overloads(method))
                for each in (method, *overloads):
                    each.__qualname__ = f"{cls.__name__}.{name}"
                for each in overloads:  # which are looked up by the name
                    overload(each)
                method = getattr(method, "__wrapped__", None)
    return cls
