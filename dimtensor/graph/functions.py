"""Functions of positional variables, identified by import path."""

from __future__ import annotations

from typing import Any


class BatchedFunction:
    """PyTensor function that is batched over leading axes.

    Parameters
    ----------
    path : str
        Import path, ``module:name``; the module is imported when the function is called.
    checked_lengths : bool
        Whether to check the lengths of the core axes of its outputs at run time.
    **options
        Keyword arguments of the call, hashable.
    """

    def __init__(self, path: str, checked_lengths: bool = False, **options: Any):
        self.path = path
        self.checked_lengths = checked_lengths
        self.options = options
        self._key = (path, checked_lengths, tuple(sorted(options.items())))

    def __call__(self, *variables: Any) -> list[Any]:
        import importlib

        module, name = self.path.split(":")
        function = getattr(importlib.import_module(module), name)
        result = function(*variables, **self.options)
        return list(result) if isinstance(result, (list, tuple)) else [result]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BatchedFunction) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)
