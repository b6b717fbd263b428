"""Arrays that no memory holds: an error that names the dims, the expression and its line."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt
from tests.backend_names import LONG_JAX

A, B, C = (dt.Dim(name) for name in "abc")
X, Y, Z = (dt.tensor(name, dims=dim) for name, dim in zip("xyz", (A, B, C), strict=True))
HUGE, VAST = dt.Dim("huge", length=2**62), dt.Dim("vast", length=2**31)
LONG = np.ones(1_200_000)

MEETING = dt.where(X > 0, Y, Z)
TOO_LARGE = {
    # the bytes are 2**63.6, which as a signed integer of 64 bits is negative
    "an output over dims that meet": ([X, Y, Z], MEETING, [LONG] * 3, "where(x > 0, y, z)", "13.8"),
    "a temporary over dims that meet": (
        [X, Y, Z],
        MEETING.cumsum("a").sum(),
        [LONG] * 3,
        "cumsum(where(x > 0, y, z)",
        "13.8",
    ),
    # 2**64.2: the low 64 bits are 0.7 EB more than 0
    "a product beyond 64 bits": (
        [X, Y, Z],
        MEETING.cumsum("a").sum(),
        [np.ones(1_600_000), LONG, LONG],
        "cumsum(where(x > 0, y, z)",
        "18.4",
    ),
    # exactly 2**65 bytes: the low 64 bits are 0
    "zeros": ([], dt.zeros(HUGE), [], "zeros({huge})", "36.9"),
    "an identity": ([], dt.eye(VAST), [], "eye({vast, vast'})", "36.9"),
    "padding": ([X], X.pad(a=(2**61, 0)), [np.ones(3)], "pad(x", "18.4"),
}


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("case", TOO_LARGE)
def test_an_array_beyond_any_memory_is_an_error(case, backend):
    inputs, output, values, expression, size = TOO_LARGE[case]
    f = dt.function(inputs, output, backend=backend)
    with pytest.raises(dt.MemoryLimitError, match=rf"its largest array takes {size} EB") as error:
        f(*values)
    text = str(error.value)
    assert f"\n  expression: {expression}" in text
    assert "\n  line: test_memory.py:" in text
    assert isinstance(error.value, MemoryError)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_the_lengths_of_the_dims_are_named(backend):
    f = dt.function([X, Y, Z], MEETING, backend=backend)
    with pytest.raises(dt.MemoryLimitError, match="lengths: a=1,200,000, b=1,200,000, c=1,200,000"):
        f(LONG, LONG, LONG)
    with pytest.raises(dt.MemoryLimitError, match="lengths: a=1,200,000, b=1,200,000, c=1,200,000"):
        f.positional(LONG, LONG, LONG)
    with pytest.raises(dt.MemoryLimitError, match="lengths: a=1,200,000, b=1,200,000, c=1,200,000"):
        f.positional(LONG.astype("int32"), LONG, LONG)  # which is converted first


@pytest.mark.parametrize("backend", LONG_JAX)
def test_lengths_that_no_array_has_though_one_is_zero_are_an_error(backend):
    f = dt.function([X], X + dt.zeros([HUGE, dt.Dim("more", length=2**62)]), backend=backend)
    with pytest.raises(dt.MemoryLimitError, match="lengths of this call, though one of them is 0"):
        f(np.ones(0))


@pytest.mark.parametrize("backend", LONG_JAX)
def test_positions_that_64_bits_do_not_count_are_an_error(backend):
    f = dt.function([X], X.pad(a=(2**62, 0)).sum(), backend=backend)
    with pytest.raises(dt.MemoryLimitError, match=r"would have 4,611,686,018,427,387,907 pos"):
        f(np.ones(3))


def test_a_dim_is_not_longer_than_64_bits_count():
    with pytest.raises(dt.DimError, match=r"at most 2\*\*62 positions.*9,223,372,036,854,775,808"):
        dt.Dim("d", length=2**63)


def test_an_error_of_another_kind_is_given_back():
    from dimtensor.compile.memory import no_memory
    from dimtensor.dims import Binding

    binding = Binding()
    binding.add_length(A, 10, "x")
    error = ValueError("something else")
    assert no_memory(error, [X.node], binding) is error
    assert isinstance(no_memory(MemoryError(), [X.node], binding), dt.MemoryLimitError)
