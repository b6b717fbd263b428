"""The whole text of every error: a change of wording is seen in the diff of a golden file.

``DIMTENSOR_GOLDEN=write pytest tests/errors`` writes the files anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import dimtensor as dt
from tests.backend_names import BACKENDS
from tests.errors.situations import BUILDING, CALLING
from tests.golden.compare import FOLDER, check_golden

# errors of NumPy's and xarray's protocols, and warnings, which are errors in tests
REFUSALS = (dt.DimtensorError, TypeError, KeyError, dt.DimtensorWarning)
FILES = {path.stem for path in Path(FOLDER, "errors").glob("*.txt")}


def text_of(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("name", BUILDING)
def test_text_of_a_mistake_in_an_expression(name):
    with pytest.raises(REFUSALS, match=r"\w") as caught:
        BUILDING[name]()
    check_golden(f"errors/{name}.txt", text_of(caught.value))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CALLING)
def test_text_of_a_mistake_in_a_call_is_the_same_on_all_backends(name, backend):
    with pytest.raises(dt.DimtensorError, match=r"\w") as caught:
        CALLING[name](backend)
    check_golden(f"errors/{name}.txt", text_of(caught.value))


def test_every_file_belongs_to_a_situation():
    assert {*BUILDING, *CALLING} == FILES
    assert not set(BUILDING) & set(CALLING)
