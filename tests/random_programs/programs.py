"""Random programs: a list of steps that runs on dims-tensors and on DataArrays alike.

A :class:`RandomProgram` has inputs and steps. Every step reads earlier values (inputs first) and
adds one. ``program.tensors()`` builds the dims-tensors, ``program.arrays()`` computes the same with
xarray, independently. The strategy that draws programs is
:func:`tests.random_programs.strategies.programs`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import dimtensor as dt
from dimtensor.errors import DimtensorError
from dimtensor.testing.comparing import ANONYMOUS, labels_of
from dimtensor.testing.strategies import DimSpec, DrawnTensor


@dataclass(frozen=True)
class ProgramStep:
    """One operation: its kind, the indices of its operands, and its parameters."""

    kind: str
    operands: tuple[int, ...]
    params: dict[str, Any]

    def __str__(self) -> str:
        params = "".join(f", {key}={value!r}" for key, value in self.params.items())
        return f"{self.kind}({', '.join(f'v{at}' for at in self.operands)}{params})"


Env = Mapping[str, DimSpec]


@dataclass(frozen=True)
class StepKind:
    """Kind of a step: its implementations for dims-tensors and for DataArrays.

    Parameters
    ----------
    draw : callable
        ``draw(choose, state)`` gives operands and parameters of a step that is valid for the
        current values, or None.
    on_tensors, on_arrays : callable
        ``(env, *operands, **params)`` gives the value.
    by_label : bool
        The result does not depend on the order of labels.
    smooth : bool
        The step is differentiable almost everywhere.
    """

    name: str
    draw: Callable[..., tuple[tuple[int, ...], dict[str, Any]] | None]
    on_tensors: Callable[..., Any]
    on_arrays: Callable[..., Any]
    by_label: bool = False
    smooth: bool = True


@dataclass(frozen=True)
class Refusal:
    """Step that raised in dimtensor, in xarray or in both, with the errors."""

    step: ProgramStep
    tensor_error: Exception | None
    array_error: Exception | None


@dataclass(frozen=True)
class RandomProgram:
    """Inputs and steps.

    Attributes
    ----------
    env : dict of str to DimSpec
        Dims of inputs and steps by name.
    inputs : tuple of DrawnTensor
    steps : tuple of ProgramStep
    refused : tuple of Refusal
        Rejected steps: xarray or dimtensor raised. They are not part of the program.
    """

    env: dict[str, DimSpec]
    inputs: tuple[DrawnTensor, ...]
    steps: tuple[ProgramStep, ...]
    refused: tuple[Refusal, ...] = field(default=(), repr=False)

    def tensors(self, inputs: Sequence[Any] | None = None) -> list[Any]:
        """Compute all values as dims-tensors: inputs (or replacements of them), then steps."""
        values = [i.tensor for i in self.inputs] if inputs is None else list(inputs)
        for step in self.steps:
            operands = [values[at] for at in step.operands]
            values.append(KINDS[step.kind].on_tensors(self.env, *operands, **step.params))
        return values

    def arrays(self, inputs: Sequence[Any] | None = None) -> list[Any]:
        """Compute all values as DataArrays."""
        values = [i.array for i in self.inputs] if inputs is None else list(inputs)
        for step in self.steps:
            operands = [values[at] for at in step.operands]
            values.append(on_arrays(step, self.env, operands))
        return values

    @property
    def symbolic(self) -> list[dt.DimTensor]:
        """The input tensors of a function of the program."""
        return [i.tensor for i in self.inputs if i.symbolic]

    @property
    def given(self) -> list[Any]:
        """Arguments of a call of the function."""
        return [i.given for i in self.inputs if i.symbolic]

    def only(self, keep: Callable[[ProgramStep], bool]) -> RandomProgram:
        """Return the program with only some steps, without steps that depend on removed ones."""
        kept: dict[int, int] = {at: at for at in range(len(self.inputs))}
        steps: list[ProgramStep] = []
        for at, step in enumerate(self.steps, start=len(self.inputs)):
            if keep(step) and all(operand in kept for operand in step.operands):
                kept[at] = len(self.inputs) + len(steps)
                steps.append(replace(step, operands=tuple(kept[o] for o in step.operands)))
        return replace(self, steps=tuple(steps), refused=())

    def __str__(self) -> str:
        lines = [f"{name}: {spec.dim!r} {spec.length}" for name, spec in self.env.items()]
        for at, i in enumerate(self.inputs):
            form = "input" if i.symbolic else "data"
            values = f"{i.array.dtype} {i.array.values.tolist()}"
            lines.append(f"v{at} = {form} of {list(i.array.dims)}: {values}")
        lines += [f"v{at} = {s}" for at, s in enumerate(self.steps, start=len(self.inputs))]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the program for hypothesis."""
        printer.text(str(self))


KINDS: dict[str, StepKind] = {}


def register(kind: StepKind) -> StepKind:
    """Add a kind of step."""
    KINDS[kind.name] = kind
    return kind


def on_arrays(step: ProgramStep, env: Env, operands: Sequence[Any]) -> Any:
    """Run a step on DataArrays with exact alignment, and drop scalar coordinates."""
    import warnings

    import xarray as xr

    with (
        xr.set_options(arithmetic_join="exact", keep_attrs=False),
        np.errstate(all="ignore"),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        result = KINDS[step.kind].on_arrays(env, *operands, **step.params)
    return plain(result)


def plain(array: Any) -> Any:
    """Drop the name of a DataArray, and all coordinates except those of its dims."""
    extra = [key for key in array.coords if key not in array.dims]
    return array.drop_vars(extra).rename(None)


class Trial:
    """Program under construction, with values of both libraries to choose the next step by."""

    def __init__(self, env: dict[str, DimSpec], inputs: Sequence[DrawnTensor]):
        self.env = env
        self.inputs = tuple(inputs)
        self.values = [i.tensor for i in inputs]
        self.arrays = [plain(i.array) for i in inputs]
        self.steps: list[ProgramStep] = []
        self.refused: list[Refusal] = []
        # length and labels of every dim so far, of which a dim has one each
        self.met: dict[dt.Dim, tuple[int, list | None]] = {}
        self.labels: dict[dt.Dim, np.ndarray | None] = {}
        for tensor, array in zip(self.values, self.arrays, strict=True):
            self._meet(tensor, array)

    def attempt(self, step: ProgramStep) -> None:
        """Run a step in both libraries, and record it as refused if one of them raises.

        Errors of other types than those of invalid operations propagate.
        """
        kind = KINDS[step.kind]
        tensor: Any = None
        array: Any = None
        tensor_error = array_error = None
        try:
            array = on_arrays(step, self.env, [self.arrays[at] for at in step.operands])
        except (ValueError, LookupError, TypeError) as error:
            array_error = error
        try:
            operands = [self.values[at] for at in step.operands]
            tensor = kind.on_tensors(self.env, *operands, **step.params)
        except DimtensorError as error:
            tensor_error = error
        if tensor_error is not None or array_error is not None:
            self.refused.append(Refusal(step, tensor_error, array_error))
            return
        self.steps.append(step)
        self.values.append(tensor)
        self.arrays.append(array)
        self._meet(tensor, array)

    def _meet(self, tensor: dt.DimTensor, array: Any) -> None:
        names = {dim.name or ANONYMOUS: dim for dim in tensor.dims}
        if set(names) != set(array.dims):
            raise AssertionError(f"{tensor!r} has not the dims of\n{array}")
        for name, dim in names.items():
            seen = (array.sizes[name], labels_of(array, name))
            known = self.met.setdefault(dim, seen)
            self.labels.setdefault(dim, array[name].values if name in array.indexes else None)
            if known != seen:
                raise AssertionError(f"{dim!r} stands for {known} and for {seen}")
            if dim.length is not None and dim.length != seen[0]:
                raise AssertionError(f"{dim!r} has length {dim.length}, xarray's has {seen[0]}")

    def program(self) -> RandomProgram:
        """Return the program of the steps that ran in both libraries."""
        return RandomProgram(self.env, self.inputs, tuple(self.steps), tuple(self.refused))
