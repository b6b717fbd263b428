"""The pass that the page on passes shows is one."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytensor.tensor as pt

from dimtensor.kernels.passes import pipeline
from tests.kernels.interpret import interpreted

PAGE = Path(__file__).parents[2] / "docs" / "design" / "passes.md"


def test_the_example_is_a_pass(monkeypatch):
    (source,) = re.findall(r"<!-- pass -->\n```\n(.*?)\n```\n", PAGE.read_text(), re.DOTALL)
    module: dict[str, object] = {"__name__": "example"}
    exec(compile(source, str(PAGE), "exec"), module)
    added = pipeline.Pass("powers_of_two", module["powers_of_two"])
    monkeypatch.setattr(pipeline, "PASSES", (*pipeline.PASSES, added))
    x, k = pt.dvector("x"), pt.lvector("k")
    whole = pt.cast(k, "float64")
    arrays = np.arange(1.0, 8.0), np.arange(-3, 4)
    for off, function in (("", "np.exp2("), ("-powers_of_two", "power(")):
        monkeypatch.setenv("DIMTENSOR_PASSES", off)
        for exponent in (k, whole):
            kernel = interpreted([x, k], [x * 2.0**exponent])
            assert function in kernel.source.replace("_float64_int64_float64", "")
            np.testing.assert_array_equal(kernel(*arrays)[0], np.ldexp(*arrays))
    # not an integer: the power is left
    monkeypatch.setenv("DIMTENSOR_PASSES", "")
    assert "power(" in interpreted([x], [2.0**x]).source
