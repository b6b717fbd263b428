"""dt.evaluate and its like: what goes in, and what is said of what does not."""

from __future__ import annotations

import pytest

import dimtensor as dt

X = dt.scalar("x")


@pytest.mark.parametrize(
    ("outputs", "title"),
    [([X, {"a": X}], "dict"), ({"a": [X]}, "list"), ({"a": (X,)}, "tuple"), ([{X}], "set")],
)
def test_outputs_are_not_nested(outputs, title):
    with pytest.raises(dt.ArgumentError, match=rf"a tensor, not a {title}(.|\n)*not nested"):
        dt.evaluate(outputs, {X: 1.0})
    with pytest.raises(
        dt.ArgumentError, match=rf"expected a dims-tensor, got {title}(.|\n)*not nested"
    ):
        dt.function([X], outputs, backend="python")


def test_what_is_no_mapping_is_named():
    with pytest.raises(dt.ArgumentError, match=r"values are given as a dict, not as list: \[1\]"):
        dt.evaluate(X, [1])
    with pytest.raises(dt.InputError, match="by tensor, by name or by dim, not by 3"):
        X.eval({"x": 1.0, 3: 2.0})
    for change in (dt.substitute, dt.vectorize):
        with pytest.raises(
            dt.ArgumentError, match="replacements are given as a dict, not as int: 3"
        ):
            change(X, 3)
    f = dt.function([X], X, backend="python")
    with pytest.raises(dt.ArgumentError, match="new data are given as a dict, not as list"):
        f.with_data([2])
