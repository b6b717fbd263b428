"""Calls of NumPy's random distributions: functions of C that get a generator by address.

The memory of a generator is an array of :data:`WORDS` words of 64 bits. First comes the table of
functions that ``numpy/random/bitgen.h`` describes, then the state of PCG64, then what binomial
draws keep from one to the next.
"""

from __future__ import annotations

from collections.abc import Sequence

from dimtensor.kernels.native.builder import Builder
from dimtensor.kernels.native.values import SCALARS, Array, Value, constant
from dimtensor.ops.random.rows import ROWS

WORDS = 32
_STATE, _BINOMIAL = 40, 14 * 8  # bytes
_NEXT = ("next_uint64", "next_uint32", "next_double", "next_uint64")
# where 128-bit numbers have the upper and lower halves of the position and of the stream
_ORDER = (1, 0, 3, 2)
_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645  # of PCG64's linear congruential generator
_D, _I = SCALARS["float64"], SCALARS["int64"]
OPEN, CLOSE, SEED = "generator_open", "generator_close", "generator_seed"


def _kinds(name: str) -> str:
    """Return "d" or "i" for each number that a function takes, a double or an integer."""
    row = ROWS[name]
    integers = {f"{{{each}}}" for each in row.integers}
    return "".join("i" if integers & set(text.split()) else "d" for text in row.arguments)


# name in the source → what the function takes and gives
CALLS = {
    row.function: (_kinds(row.name), "i" if row.dtype == "int64" else "d")
    for row in ROWS.values()
    if not row.is_vector
}
CALLS["random_interval"] = ("i", "i")  # an integer from 0 to another, both included
VECTOR_CALLS = ("random_multinomial", "random_multivariate_hypergeometric")
# every function by name, with the dtype that it gives
FUNCTIONS = {
    **{name: "int64" if given == "i" else "float64" for name, (_, given) in CALLS.items()},
    **dict.fromkeys((*VECTOR_CALLS, OPEN, CLOSE, SEED), "int64"),
}


def call_generator(b: Builder, name: str, arguments: Sequence[Value | Array]) -> Value:
    """Write a call of a generator function; the result is 0 for functions without one."""
    generator = _address(arguments[0])
    if name == OPEN:
        _open(b, generator, _address(arguments[1]))
    elif name == SEED:
        _seed(b, generator, _address(arguments[1]))
    elif name == CLOSE:
        _close(b, generator, _address(arguments[1]))
    elif name == "random_multinomial":
        n, counts, shares, k = arguments[1:]
        given = [
            _integer(b, n),
            f"ptr {_address(counts)}",
            f"ptr {_address(shares)}",
            _integer(b, k),
        ]
        kept = f"ptr {_moved(b, generator, _BINOMIAL)}"
        _call(b, name, "void", f"ptr {generator}", *given, kept)
    elif name == "random_multivariate_hypergeometric":
        total, k, colors, sample, drawn = arguments[1:]
        _call(b, "random_multivariate_hypergeometric_marginals", "void", f"ptr {generator}",
              _integer(b, total), _integer(b, k), f"ptr {_address(colors)}", _integer(b, sample),
              "i64 1", f"ptr {_address(drawn)}")  # fmt: skip
    else:
        kinds, result = CALLS[name]
        given = [f"ptr {generator}"]
        for kind, argument in zip(kinds, arguments[1:], strict=True):
            assert isinstance(argument, Value)
            type_ = _D if kind == "d" else _I
            given.append(f"{type_.llvm} {b.cast(argument, type_).text}")
        if name == "random_binomial":
            given.append(f"ptr {_moved(b, generator, _BINOMIAL)}")
        if name == "random_bounded_uint64":
            given += ["i64 0", "i1 zeroext false"]
        type_ = _D if result == "d" else _I
        return Value(_call(b, name, type_.llvm, *given), type_)
    return constant(0, _I)


def _open(b: Builder, generator: str, words: str) -> None:
    """Write the table of functions and the state that they work on."""
    state = _moved(b, generator, _STATE)
    b.write(f"store ptr {state}, ptr {generator}, align 8")
    for at, name in enumerate(_NEXT, start=1):
        b.write(f"store ptr {_symbol(b, name)}, ptr {_moved(b, generator, 8 * at)}, align 8")
    # 128 bits are aligned to 16 bytes
    number = b.let(f"ptrtoint ptr {generator} to i64")
    aligned = b.let(f"and i64 {b.let(f'add i64 {number}, 79')}, -16")
    b.write(f"store i64 {aligned}, ptr {state}, align 8")
    stream = b.let(f"inttoptr i64 {aligned} to ptr")
    for at, place in enumerate(_ORDER):
        _set_word(b, stream, place, _word(b, words, at))
    for at, place in ((4, 8), (5, 12)):
        half = b.let(f"trunc i64 {_word(b, words, at)} to i32")
        b.write(f"store i32 {half}, ptr {_moved(b, state, place)}, align 4")
    _set_word(b, generator, _BINOMIAL // 8, "0")


def _close(b: Builder, generator: str, words: str) -> None:
    """Write down where the generator is."""
    state = _moved(b, generator, _STATE)
    stream = b.let(f"load ptr, ptr {state}, align 8")
    for at, place in enumerate(_ORDER):
        _set_word(b, words, at, _word(b, stream, place))
    for at, place in ((4, 8), (5, 12)):
        half = b.let(f"load i32, ptr {_moved(b, state, place)}, align 4")
        _set_word(b, words, at, b.let(f"zext i32 {half} to i64"))


def _seed(b: Builder, words: str, seed: str) -> None:
    """Words of the generator that PCG64 makes of two numbers of 128 bits: O'Neill's ``srandom``."""
    start, sequence = (_joined(b, _word(b, seed, at), _word(b, seed, at + 1)) for at in (0, 2))
    stream = b.let(f"or i128 {b.let(f'shl i128 {sequence}, 1')}, 1")
    moved = b.let(f"mul i128 {b.let(f'add i128 {stream}, {start}')}, {_MULTIPLIER}")
    state = b.let(f"add i128 {moved}, {stream}")
    for at, number in ((0, state), (2, stream)):
        high = b.let(f"lshr i128 {number}, 64")
        _set_word(b, words, at, b.let(f"trunc i128 {high} to i64"))
        _set_word(b, words, at + 1, b.let(f"trunc i128 {number} to i64"))
    for at in (4, 5):
        _set_word(b, words, at, "0")


def _joined(b: Builder, high: str, low: str) -> str:
    upper = b.let(f"shl i128 {b.let(f'zext i64 {high} to i128')}, 64")
    return b.let(f"or i128 {upper}, {b.let(f'zext i64 {low} to i128')}")


def _call(b: Builder, name: str, result: str, *arguments: str) -> str:
    types = [each.rsplit(" ", 1)[0] for each in arguments]
    call = f"call {result} {_symbol(b, name, result, types)}({', '.join(arguments)})"
    if result == "void":
        b.write(call)
        return ""
    return b.let(call)


def _symbol(b: Builder, name: str, result: str = "void", types: Sequence[str] = ()) -> str:
    symbol = f"dimtensor.{name}"
    b.module.externals[symbol] = f"numpy.random:{name}:{len(types)}"
    return b.module.function(symbol, result, types, " nounwind")


def _address(argument: Value | Array) -> str:
    assert isinstance(argument, Array)
    return argument.pointer


def _integer(b: Builder, argument: Value | Array) -> str:
    assert isinstance(argument, Value)
    return f"i64 {b.cast(argument, _I).text}"


def _moved(b: Builder, pointer: str, offset: int) -> str:
    return b.let(f"getelementptr i8, ptr {pointer}, i64 {offset}")


def _set_word(b: Builder, words: str, at: int, value: str) -> None:
    b.write(f"store i64 {value}, ptr {_moved(b, words, 8 * at)}, align 8")


def _word(b: Builder, words: str, at: int) -> str:
    return b.let(f"load i64, ptr {_moved(b, words, 8 * at)}, align 8")
