"""Parts of a model by name, and answers to what models of PyMC do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Never

from dimtensor.errors import ArgumentError, LabelError, build_message, did_you_mean
from dimtensor.spellings import no_attribute
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.model.variables import Found
    from dimtensor.tensor.core import DimTensor


class ByName:
    """Variables and data of a model in brackets; it has no attributes of their names."""

    outputs: tuple[DimTensor, ...]
    _found: Found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}", name=name)
        hint = None
        if (found := self.__dict__.get("_found")) and name in {*found.variables, *found.named}:
            hint = f"variables are found by brackets: model[{name!r}]"
        raise no_attribute("model", name, "a model", dir(type(self)), self, hint)

    def __enter__(self) -> Never:
        first = self.outputs[0].name
        raise ArgumentError(
            build_message(
                "a model is no context: variables are written before it, and not inside",
                hint=f"methods of the model are called: model.sample(), model[{first!r}]",
            )
        )

    def __exit__(self, *_: object) -> None:
        """The end of the context that a model is not."""

    def __getitem__(self, name: str) -> DimTensor:
        """A random variable, named expression, input or data by name.

        Raises
        ------
        LabelError
            If there is none of the name.
        """
        found = self._found
        nodes = {name: v.node for name, v in found.variables.items()}
        nodes |= {**found.named, **found.inputs}
        if name not in nodes:
            raise LabelError(f"the model has no {name!r}{did_you_mean(name, list(nodes))}")
        return wrap(nodes[name])

    def _ipython_key_completions_(self) -> list[str]:
        found = self._found
        return [*found.variables, *found.named, *found.inputs]
