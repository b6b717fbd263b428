"""The protocol of backends and of the executables that they make of positional graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dimtensor.errors import GraphError
from dimtensor.optimize.target import Target

Allowed = frozenset[str]  # rewrites that are asked for, beside those that are exact


@dataclass(frozen=True)
class CompileOptions:
    """Options for the compilation of a positional graph.

    Attributes
    ----------
    static : bool
        All lengths are known; only then JAX can jit the whole.
    kernels : bool
        The native backend generates loop nests; otherwise operations are interpreted.
    allow : frozenset of str
        Rewrites that are applied beside those that are exact.
    given : int or None
        How many inputs every call gives anew. The others stay for many calls: what follows from
        them alone is computed once, by ``Executable.once``. None for all.
    """

    static: bool = True
    kernels: bool = True
    allow: Allowed = frozenset()
    given: int | None = None


DEFAULTS = CompileOptions()


class Backend(Protocol):
    """A way to run positional graphs: the object ``BACKEND`` of a module in this folder.

    Attributes
    ----------
    name : str
        As users say it.
    compiles : bool
        Whether it makes code; the interpreter makes none.
    described : bool
        Whether code is made of the description of a graph alone, so that it can be kept and shared.
    specializes : bool
        Whether code is compiled anew for other lengths.
    native : bool
        Whether other machine code can call what it makes, see ``Function.address``.
    on_devices : bool
        Whether functions can be computed in slices on several devices.
    target : Target
        What lowering and the optimizer know of it.
    """

    name: str
    compiles: bool
    described: bool
    specializes: bool
    native: bool
    on_devices: bool
    target: Target

    def check_installed(self) -> None:
        """Raise `MissingExtraError` if a library that it needs is not there."""

    def compile(
        self, inputs: Sequence[Any], outputs: Sequence[Any], options: CompileOptions
    ) -> Executable:
        """Compile a function of arrays; see :func:`dimtensor.backends.compile_positional`."""

    def path(self, executable: Executable) -> str:
        """Return the code that an executable runs, as text."""


@dataclass(frozen=True)
class Executable:
    """A positional graph that runs.

    Attributes
    ----------
    call : callable
        Takes one array per input and gives a sequence of arrays.
    stats : dict of str to float
        Seconds that the steps of making it took.
    constants : tuple of array
        What ``raw`` takes after the inputs.
    binder : callable, optional
        Makes of arrays that many calls have in common a function of the others, see `bind`.
    kernel : Kernel, optional
        The kernel that ``call`` runs.
    native : NativeKernel, optional
        Its machine code, which takes the inputs and then the arrays in ``constants``.
    reason : str
        Why there is no kernel, where the backend has them.
    once : Executable, optional
        Computes, of the inputs that stay for many calls, what ``call`` takes after them.
    placing : callable, optional
        Replaces the inputs that stay for many calls by arrays on several devices, which `raw` and
        bound calls take instead.
    of_device : callable, optional
        What `raw` computes, within a ``jax.shard_map`` over the mesh: of inputs that are not cut,
        and of the device's slices of the placed arrays.
    """

    call: Callable[..., Sequence[Any]]
    given_raw: Any
    stats: dict[str, float]
    constants: tuple[Any, ...] = ()
    binder: Callable[[Sequence[Any]], Callable[..., Sequence[Any]]] | None = None
    kernel: Any = None
    native: Any = None
    reason: str = ""
    once: Executable | None = None
    placing: Callable[..., Sequence[Any]] | None = None
    of_device: Callable[..., Any] | None = None

    def settled(self, fixed: Sequence[Any]) -> tuple[Any, ...]:
        """Arrays that are reused by many calls, with the values that follow from them alone."""
        if self.placing is not None:
            return tuple(self.placing(fixed))
        if self.once is None:
            return tuple(fixed)
        found = self.once.call(*fixed)
        return (*fixed, *(np.require(one, requirements=["C", "A"]) for one in found))

    def bind(self, fixed: Sequence[Any]) -> Callable[..., Sequence[Any]]:
        """Bind trailing arrays that stay the same, and return a function of the others.

        Where `checks` is true it raises TypeError for arguments other than arrays of its dtypes.
        """
        if self.binder is not None:
            return self.binder(fixed)
        if self.native is not None:
            return self.native.bind((*fixed, *self.constants))
        if not fixed:
            return self.call
        call = self.call
        return lambda *arrays: call(*arrays, *fixed)

    @property
    def checks(self) -> bool:
        """Validation of dtypes by bound calls themselves."""
        return self.binder is not None or self.native is not None

    @property
    def raw(self) -> Any:
        """The backend's own object for the function.

        A numba dispatcher (made when it is first asked for, if numba is not what runs the kernel),
        a pure JAX function, or a Python function.

        Raises
        ------
        GraphError
            If there is no kernel for numba to compile.
        """
        if self.given_raw is not None:
            return self.given_raw
        if self.kernel is None:
            raise GraphError(f"there is no function for numba without a kernel: {self.reason}")
        return self.kernel.function
