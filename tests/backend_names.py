"""The backends that tests run on: all of them, or those that compile, which are marked so."""

from __future__ import annotations

import pytest

from dimtensor import backends

# the interpreter compiles nothing
COMPILED = [
    pytest.param(name, marks=pytest.mark.compiled) for name in backends.BACKENDS if name != "python"
]
BACKENDS = ["python", *COMPILED]
