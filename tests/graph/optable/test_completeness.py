"""Nothing that PyTensor has is forgotten, and no cell of the op table is empty."""

from __future__ import annotations

import inspect

import numpy as np
import pytensor.tensor as pt
import pytensor.tensor.special
import pytensor.xtensor.math
import pytest
import scipy.special
from pytensor.tensor.elemwise import Elemwise

import dimtensor as dt
from dimtensor.graph.dtypes import DTYPES, result_dtype
from dimtensor.graph.optable import TABLE, OpRow, rows
from dimtensor.lower.basic import positional_function
from dimtensor.spellings.renamed import FUNCTIONS
from dimtensor.tensor import elementwise
from tests.graph.optable.table import oracle_of
from tools import generate_functions

_NOT_ELEMENTWISE = "takes axes: a method of tensors, or dt.apply"
EXCLUDED = {
    **dict.fromkeys(
        ["all", "any", "argmax", "argmin", "max", "min", "mean", "median", "prod", "std", "sum",
         "var", "softmax", "log_softmax", "logsumexp"],
        "a reduction over dims",
    ),
    **dict.fromkeys(
        ["dense_dot", "dot", "matmul", "matvec", "outer", "tensordot", "vecdot", "vecmat"],
        "dt.dot says by dims what is summed",
    ),
    **dict.fromkeys(["cov", "largest", "smallest", "max_and_argmax", "ptp"], _NOT_ELEMENTWISE),
    "allclose": "dt.isclose(x, y).all()",
    "cast": "x.astype",
    "identity": "the operand itself",
    "second": "x.broadcast_like",
    "ceil_intdiv": "-(-x // y)",
    "chi2sf": "deprecated by PyTensor in favor of gammaincc",
    "divmod": "two results: x // y and x % y, or Python's divmod",
    "iround": "dt.round(x).astype(int)",
    "nan_to_num": "x.fillna, and dt.where with dt.isposinf and dt.isneginf",
    "sgn": "dt.sign, which takes complex numbers",
}  # fmt: skip


def _pytensor_functions() -> dict[str, object]:
    """Public functions of PyTensor's modules of mathematics, by name."""
    xmath = pytensor.xtensor.math
    found = {name: getattr(pt.math, name) for name in pt.math.__all__}
    found |= {name: getattr(pt.special, name) for name in pt.special.__all__}
    found |= {
        name: value
        for name, value in vars(pt.math).items()
        if isinstance(value, Elemwise) and not name.startswith("_")
    }
    for name, value in vars(xmath).items():
        if inspect.isfunction(value) and value.__module__ == xmath.__name__:
            found.setdefault(name, value)
    return {name: value for name, value in found.items() if not name.startswith("_")}


def _covered() -> tuple[set[str], set[int]]:
    names: set[str] = set()
    functions: set[int] = set()
    for row in rows("elemwise"):
        names |= {row.name, row.lowers_to, *row.ufuncs.split()}
        functions.add(id(positional_function(row.name)))
    return names, functions


def test_every_function_of_pytensor_has_a_row():
    names, functions = _covered()
    missing = {
        name
        for name, value in _pytensor_functions().items()
        if name.rstrip("_") not in names
        and name not in names
        and id(value) not in functions
        and name not in EXCLUDED
        and name not in FUNCTIONS
    }
    assert missing == set()


def test_the_walk_over_pytensor_finds_its_functions():
    found = _pytensor_functions()
    assert len(found) > 150
    assert {"exp", "erfcx", "xlogy", "isclose", "gammal", "switch", "polygamma"} <= set(found)


def test_nothing_is_excluded_that_has_a_row_or_is_not_there():
    found = _pytensor_functions()
    names, _ = _covered()
    assert {name for name in EXCLUDED if name in names} == set()
    assert {name for name in EXCLUDED if name not in found} == set()


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)
def test_every_cell_is_filled(row: OpRow):
    assert row.kind in ("elemwise", "reduce", "cumulate")
    assert row.doc.endswith(".")
    assert row.oracle
    assert callable(oracle_of(row))
    assert len(row.names) == row.arity
    assert len(row.domain) in (1, row.arity)
    assert all(low < high for low, high in row.domain)
    assert all(0 <= at < row.arity for at in row.differentiable)
    assert set(row.skips.split()) <= {"native", "jax", "python"}
    assert not row.note or row.note.endswith(".")
    if row.numpy:
        assert hasattr(np, row.numpy)
    integers = ("int64",) * row.arity
    assert result_dtype(row.dtype, integers, row.name) in DTYPES
    assert callable(positional_function(row.name))


def test_names_are_distinct():
    names = [name for row in TABLE.values() for name in (row.name, *row.ufuncs.split())]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("row", rows("elemwise"), ids=lambda row: row.name)
def test_every_row_is_a_public_function_with_its_parameters(row: OpRow):
    function = getattr(elementwise, row.name)
    if row.name == "round":  # dt.round takes decimals
        pass
    elif row.namespace:
        assert getattr(dt.special if row.namespace == "dt.special" else dt, row.name) is function
    else:
        assert getattr(dt.tensor("x"), row.name) is function(dt.tensor("x"))
    assert list(inspect.signature(function).parameters) == list(row.names)
    assert row.doc in function.__doc__
    assert row.note in " ".join(function.__doc__.split())
    for name in row.ufuncs.split():
        ufunc = getattr(np, name, None) or getattr(scipy.special, name)
        assert ufunc.__name__ == name
        assert ufunc(*(dt.tensor("x") for _ in row.names)).node.attrs == row.name


def test_the_generated_modules_are_what_the_generator_writes():
    for path, text in generate_functions.render().items():
        assert path.read_text() == text
