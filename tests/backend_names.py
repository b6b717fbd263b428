"""The backends that tests run on: all of them, or those that compile, which are marked so."""

from __future__ import annotations

import pytest

from dimtensor import backends

# the interpreter compiles nothing
COMPILED = [
    pytest.param(name, marks=pytest.mark.compiled) for name in backends.BACKENDS if name != "python"
]
BACKENDS = ["python", *COMPILED]

# The same with JAX in the long tests, for what does not depend on the backend and takes JAX half a
# second to compile: operations, loops, random numbers and models of JAX have quick tests as well.
LONG_JAX_COMPILED = [
    pytest.param(*each.values, marks=[*each.marks, pytest.mark.slow])
    if each.values == ("jax",)
    else each
    for each in COMPILED
]
LONG_JAX = ["python", *LONG_JAX_COMPILED]
