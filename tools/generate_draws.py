"""Write dimtensor/random/methods.py: one method of generators per distribution that NumPy draws.

Names, order and dtype of parameters are those of `dimtensor.ops.random.rows`. Run it after a change
of the table: ``python tools/generate_draws.py``. A test compares.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any, NamedTuple

TARGET = Path(__file__).parent.parent / "dimtensor" / "random" / "methods.py"

WIDTH = 100

HEADER = '''"""Draws from the distributions that NumPy has.

Written by tools/generate_draws.py; change its table instead.
"""

# over budget: generated, one short method per distribution

from __future__ import annotations

from typing import TYPE_CHECKING

from dimtensor.random.draws import DimsLike, DrawMethods, G

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class IndependentDraws(DrawMethods):
    """Draws of independent numbers, with NumPy's names and parameters."""
'''

METHOD = '''
{head}
        """{doc}

        Parameters
        ----------
{params}        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of {beside}.

        Returns
        -------
        DimTensor{dtype}
        Generator
            The one for the next draw.

        Raises
        ------
{raises}
        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).{name}({example}dims=k)
        >>> {shown}
        {values}
        """
        return self._draw("{row}", [{given}], dims)
'''

UNUSED = """        GraphError
            If the generator was used before.
"""
IN_RANGE = f"""        OptionError
            If a number given as a parameter is out of its range.
{UNUSED}        CheckError
            At the call, if a tensor given as a parameter is.
"""


class Draw(NamedTuple):
    """A method: its name, summary, an example's parameters, and what parameters are.

    Parameters of the row that `fixed` names are numbers, not arguments.
    """

    name: str
    doc: str
    example: tuple[float, ...]
    params: dict[str, str]
    row: str = ""
    fixed: dict[str, float] = {}  # noqa: RUF012
    defaults: dict[str, float] = {}  # noqa: RUF012


MEAN_SCALE = {"loc": "The mean.", "scale": "Not negative."}
STANDARD = {"loc": 0.0, "scale": 1.0}
DRAWS = [
    Draw("beta", "beta distribution on (0, 1), density ∝ ``x**(a - 1) * (1 - x)**(b - 1)``",
         (2.0, 3.0), {"a, b": "Positive."}),
    Draw("chisquare", "chi-squared distribution: a sum of `df` squared normals", (3.0,),
         {"df": "Degrees of freedom, positive."}),
    Draw("exponential", "exponential distribution with mean `scale`", (2.0,),
         {"scale": "Not negative."}, defaults={"scale": 1.0}),
    Draw("f", "F distribution: a ratio of two means of squared normals", (4.0, 7.0),
         {"dfnum, dfden": "Degrees of freedom, positive."}),
    Draw("gamma", "gamma distribution with mean ``shape * scale``", (2.0, 3.0),
         {"shape, scale": "Not negative."}, defaults={"scale": 1.0}),
    Draw("gumbel", "Gumbel distribution of largest values, with mode `loc`", (0.0, 1.0),
         {"loc": "The mode.", "scale": "Not negative."}, defaults=STANDARD),
    Draw("laplace", "Laplace distribution, density ``exp(-abs(x - loc) / scale) / (2 * scale)``",
         (0.0, 1.0), MEAN_SCALE, defaults=STANDARD),
    Draw("logistic", "logistic distribution, mean `loc`, variance ``(scale * pi)**2 / 3``",
         (0.0, 1.0), MEAN_SCALE, defaults=STANDARD),
    Draw("lognormal", "log-normal distribution: exponentials of normal numbers", (0.0, 1.0),
         {"mean, sigma": "Mean and standard deviation of the logarithm."},
         defaults={"mean": 0.0, "sigma": 1.0}),
    Draw("noncentral_chisquare", "noncentral chi-squared distribution with mean ``df + nonc``",
         (3.0, 1.0),
         {"df": "Degrees of freedom, positive.", "nonc": "Noncentrality, not negative."}),
    Draw("noncentral_f", "noncentral F distribution", (4.0, 7.0, 1.0),
         {"dfnum, dfden": "Degrees of freedom, positive.",
          "nonc": "Noncentrality of the numerator, not negative."}),
    Draw("normal", "normal distribution", (0.0, 1.0),
         {"loc": "The mean.", "scale": "The standard deviation, not negative."},
         defaults=STANDARD),
    Draw("pareto", "Pareto distribution II (Lomax), density ``a / (1 + x)**(a + 1)``", (3.0,),
         {"a": "Positive."}),
    Draw("power", "power distribution on (0, 1), density ``a * x**(a - 1)``", (3.0,),
         {"a": "Positive."}),
    Draw("rayleigh", "Rayleigh distribution with mode `scale`", (2.0,),
         {"scale": "Not negative."}, defaults={"scale": 1.0}),
    Draw("standard_cauchy", "Cauchy distribution with median 0 and scale 1", (), {}),
    Draw("standard_t", "t distribution of Student", (4.0,),
         {"df": "Degrees of freedom, positive."}),
    Draw("triangular", "triangular distribution on an interval", (0.0, 1.0, 2.0),
         {"left, mode, right": "Lower end, most probable value and upper end, in this order."}),
    Draw("uniform", "uniform distribution from `low`, included, to `high`, not included",
         (0.0, 2.0), {"low, high": "Ends of the interval."}, defaults={"low": 0.0, "high": 1.0}),
    Draw("vonmises", "von Mises distribution on the circle, from -pi to pi", (0.0, 2.0),
         {"mu": "The mode, in radians.", "kappa": "Concentration, not negative."}),
    Draw("wald", "inverse Gaussian distribution with variance ``mean**3 / scale``", (1.0, 2.0),
         {"mean, scale": "Positive."}),
    Draw("weibull", "Weibull distribution with scale 1", (1.5,),
         {"a": "The shape, not negative."}),
    Draw("random", "uniform distribution from 0 to 1; as :meth:`uniform`", (), {}, "uniform",
         {"low": 0.0, "high": 1.0}),
    Draw("standard_normal",
         "normal distribution of mean 0 and standard deviation 1; as :meth:`normal`", (), {},
         "normal", STANDARD),
    Draw("standard_exponential", "exponential distribution of mean 1; as :meth:`exponential`",
         (), {}, "exponential", {"scale": 1.0}),
    Draw("standard_gamma", "gamma distribution of scale 1; as :meth:`gamma`", (2.0,),
         {"shape": "Not negative."}, "gamma", {"scale": 1.0}),
    Draw("binomial", "binomial distribution: successes in `n` trials", (10, 0.3),
         {"n": "An integer, not negative.", "p": "Probability of a success."}),
    Draw("geometric", "geometric distribution: trials until the first success, from 1", (0.3,),
         {"p": "Probability of a success, positive."}),
    Draw("hypergeometric",
         "hypergeometric distribution: successes in a sample without replacement", (9, 6, 5),
         {"ngood, nbad": "How many there are, integers below 10**9.",
          "nsample": "How many are drawn, an integer."}),
    Draw("integers",
         "uniform distribution of integers from `low`, included, to `high`, excluded", (0, 6),
         {"low, high": "Integers."}),
    Draw("logseries", "logarithmic series distribution, probabilities ∝ ``p**k / k`` from 1",
         (0.7,), {"p": "From 0 to 1, 1 not included."}),
    Draw("negative_binomial", "negative binomial distribution: failures before `n` successes",
         (2.5, 0.4), {"n": "Positive, not necessarily an integer.",
                      "p": "Probability of a success, positive."}),
    Draw("poisson", "Poisson distribution", (3.0,), {"lam": "The mean, not negative."},
         defaults={"lam": 1.0}),
    Draw("zipf", "Zipf distribution, probabilities ∝ ``k**-a`` from 1", (2.5,),
         {"a": "Greater than 1."}),
]  # fmt: skip


def render() -> str:
    """Write the source of the module."""
    source = HEADER + "".join(map(_method, DRAWS))
    ast.parse(source)
    return source


def _method(draw: Draw) -> str:
    from dimtensor.ops.random.rows import ROWS

    row = ROWS[draw.row or draw.name]
    own = [name for name in row.parameters if name not in draw.fixed]
    if own != ", ".join(draw.params).split(", ") and own:
        raise ValueError(f"{draw.name} takes {own}, and the table describes {list(draw.params)}")
    several = "the parameters and " if len(own) > 1 or not draw.fixed else "the parameter and "
    whole = row.dtype == "int64"
    return METHOD.format(
        name=draw.name,
        head=_head(draw.name, [_typed(name, draw.defaults) for name in own]),
        doc=f"Draw from the {draw.doc}.",
        params="".join(f"        {names} : DimTensor or number\n            {text}\n"
                       for names, text in draw.params.items()),
        beside=f"{several if own else ''}the generator".replace("and the", "and of the"),
        dtype=" of int64" if whole else "",
        raises=IN_RANGE if own else UNUSED,
        example="".join(f"{value!r}, " for value in draw.example),
        shown=f"x.values{'' if whole else '.round(3)'}.tolist()",
        values=_drawn(draw, whole),
        row=row.name,
        given=", ".join(str(draw.fixed.get(name, name)) for name in row.parameters),
    )  # fmt: skip


def _typed(name: str, defaults: dict[str, float]) -> str:
    return f"{name}: TensorLike" + (f" = {defaults[name]}" if name in defaults else "")


def _head(name: str, parameters: list[str]) -> str:
    """Write a signature, broken into lines as the formatter does."""
    inside = ", ".join(["self: G", *parameters, "dims: DimsLike | None = None"])
    line = f"    def {name}({inside}) -> tuple[DimTensor, G]:"
    if len(line) <= WIDTH:
        return line
    if len(inside) + 8 > WIDTH:
        inside = inside.replace(", ", ",\n        ") + ","
    return f"    def {name}(\n        {inside}\n    ) -> tuple[DimTensor, G]:"


def _drawn(draw: Draw, whole: bool) -> list[Any]:
    """Return what the example shows."""
    import dimtensor as dt

    method = getattr(dt.random.generator(1), draw.name)
    values = method(*draw.example, dims=dt.Dim("k", length=3))[0].values
    return (values if whole else values.round(3)).tolist()


if __name__ == "__main__":
    TARGET.write_text(render())
