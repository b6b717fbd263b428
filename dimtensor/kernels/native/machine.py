"""Machine code: LLVM compiles the text of a module to an object file, and loads object files.

Nothing here needs numba; llvmlite is the part of it that binds LLVM.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from dimtensor.forks import taken_at_forks
from dimtensor.kernels.native.linking import loaded, symbols
from dimtensor.kernels.native.values import BrokenCode, NotLoadable
from dimtensor.tuning import OPTIMIZED_BLOCKS, SLP_LINES, STRENGTH_REDUCED_LOOPS
from dimtensor.upstream.llvmlite import run_and_dispose

_lock = taken_at_forks(threading.RLock(), 5)
# versions of LLVM whose SLP vectorizer combines equal statements, and versions that also pad with
# unequal ones unless an option disables it. Setting an unknown option ends the process, so other
# versions get none
_PLAIN_LANES, _PADDING_LANES = range(21), (22,)
_PADS_LANES = "-slp-copyable-elements"
# on x86: scattered elements are read one by one, see `_has_gathers`. LLVM would gather them where
# that is fast
_NO_GATHERS = "+prefer-no-gather"
_KEEPS_COUNTERS = "-disable-lsr"
_LOOP = "\nloop"  # what a loop begins with in the text


def check_platform() -> None:
    """Check that this process can make machine code, and load it.

    Raises
    ------
    NotLoadable
        If it cannot, with the reason.
    """
    loaded.check_platform()
    problem = _problem()
    if problem is not None:
        raise NotLoadable(problem)


@cache
def _problem() -> str | None:
    try:
        _target_machine()
    except (AttributeError, OSError, RuntimeError, TypeError) as error:
        return f"machine code cannot be loaded on this platform ({error})"
    return None


@cache
def _target() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple()


def _target_machine(cpu: str | None = None, level: int = 3) -> Any:
    """Make a target machine for this processor, or for one that LLVM knows by name."""
    name, features = (host_name(), host_features()) if cpu is None else (cpu, "")
    if _target().name.startswith("x86"):
        features = ",".join(filter(None, (features, _NO_GATHERS)))
    return _target().create_target_machine(
        cpu=name, features=features, opt=level, jit=True, reloc="default", codemodel="jitdefault"
    )


@cache
def host_features() -> str:
    """Return the features of the processor, in LLVM's notation."""
    return llvm.get_host_cpu_features().flatten()


@cache
def host_name() -> str:
    """Return LLVM's name of the processor."""
    return llvm.get_host_cpu_name()


def optimized(text: str, cpu: str | None = None) -> tuple[Any, Any]:
    """Optimize a module of LLVM text, and return it with its target machine.

    It is verified before and after optimization. LLVM ends the process when it is given an invalid
    module, and its passes have produced such; a module that they break, or whose reads they
    reorder, is optimized with fewer passes.

    Raises
    ------
    BrokenCode
        If the text is no LLVM, which is a mistake in the translation, or LLVM spoils it.
    """
    with _lock:
        if text.count(":\n") > OPTIMIZED_BLOCKS:
            machine = _target_machine(cpu, 0)
            module = _for(machine, text)
            _tidy(module, machine)
            return module, machine
        machine = _target_machine(cpu)
        both = _vectorizes_statements(text)
        for loops, statements in dict.fromkeys(((True, both), (True, False), (False, False))):
            module = _for(machine, text)
            _optimize(module, machine, loops, statements)
            try:
                module.verify()
            except RuntimeError as error:
                spoiled = error
                continue
            if not (statements and _has_gathers(module)):
                return module, machine
        raise BrokenCode(f"LLVM's passes spoil the code: {spoiled}") from spoiled


def _has_gathers(module: Any) -> bool:
    """Return whether a module reads scattered elements as vectors.

    Where LLVM's SLP vectorizer makes gathers, it may read a local array before it is written: its
    record that no pointer to the array escapes dates from before there was a gather, which takes
    one.
    """
    return any(function.name.startswith("llvm.masked.gather") for function in module.functions)


def _verified(text: str) -> Any:
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise BrokenCode(f"LLVM does not take the code: {error}") from error
    return module


def _for(machine: Any, text: str) -> Any:
    """Parse a module for a machine."""
    module = _verified(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    return module


def _tidy(module: Any, machine: Any) -> None:
    """Run only those of LLVM's passes whose time grows no faster than the code."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    run_and_dispose(passes, module, builder)
    module.verify()


def _optimize(module: Any, machine: Any, loops: bool, statements: bool) -> None:
    """Run LLVM's passes; it vectorizes loops, and statements that follow each other, on request."""
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization, options.slp_vectorization = loops, statements
    builder = llvm.create_pass_builder(machine, options)
    with _complete_lanes() if statements else nullcontext():
        run_and_dispose(builder.getModulePassManager(), module, builder)


def _complete_lanes() -> AbstractContextManager[None]:
    """Let LLVM make vectors of statements only where all lanes have the operation.

    LLVM 22 gives neutral elements to those that lack it, and then has read memory before it was
    written.
    """
    if _llvm() not in _PADDING_LANES:
        return nullcontext()
    return _option(_PADS_LANES, value=False)


def _counters(text: str) -> AbstractContextManager[None]:
    """Let LLVM rewrite what the loops of a module count in, if there are not too many of them."""
    known = _llvm() in (*_PLAIN_LANES, *_PADDING_LANES)
    if not known or text.count(_LOOP) <= STRENGTH_REDUCED_LOOPS:
        return nullcontext()
    return _option(_KEEPS_COUNTERS, value=True)


@contextmanager
def _option(name: str, *, value: bool) -> Iterator[None]:
    """Set an option of LLVM, which is process-wide, for the duration of a block."""
    llvm.set_option("dimtensor", f"{name}={str(value).lower()}")
    try:
        yield
    finally:
        llvm.set_option("dimtensor", f"{name}={str(not value).lower()}")


def _llvm() -> int:
    return llvm.llvm_version_info[0]


def _vectorizes_statements(text: str) -> bool:
    """Return whether LLVM's SLP vectorizer is right, and worth its time."""
    return _llvm() in (*_PLAIN_LANES, *_PADDING_LANES) and text.count("\n") <= SLP_LINES


def object_code(text: str, quick: bool = False) -> bytes:
    """Compile LLVM text to an object file; `quick` compiles in a tenth of the time."""
    if quick:
        with _lock:
            machine = _target_machine(None, 0)
            return machine.emit_object(_for(machine, text))
    module, machine = optimized(text)
    with _lock, _counters(text):
        return machine.emit_object(module)


def assembly(text: str, cpu: str | None = None) -> str:
    """Return the assembly of LLVM text, for reading."""
    module, machine = optimized(text, cpu)
    with _lock, _counters(text):
        return machine.emit_assembly(module)


class Engine:
    """An object file that LLVM has loaded; its functions live as long as it does."""

    def __init__(self, code: bytes):
        check_platform()
        with _lock:
            for name, address in symbols.added.items():
                llvm.add_symbol(name, address)
            holder = llvm.parse_assembly("")
            holder.triple = _target().triple
            self._engine = llvm.create_mcjit_compiler(holder, _target_machine())
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self._engine.finalize_object()

    def function(self, name: str) -> int:
        """Address of a function; 0 if there is none."""
        with _lock:
            return self._engine.get_function_address(name)

    def variable(self, name: str) -> int:
        """Address of a global variable; 0 if there is none."""
        with _lock:
            return self._engine.get_global_value_address(name)
