"""Smaller programs that fail in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from tests.differential.checks import Failure, failures
from tests.differential.named import NumPy
from tests.differential.program import Program, Region, Step, run

Steps = tuple[Step, ...]


def renamed(steps: Steps, names: Mapping[int, int], dropped: int) -> Steps:
    """Steps without one, whose value is another one's."""
    return tuple(
        replace(
            step,
            operands=tuple(names.get(at, at) for at in step.operands),
            regions=tuple(
                Region(
                    region.params,
                    renamed(region.steps, names, dropped),
                    tuple(names.get(at, at) for at in region.outputs),
                )
                for region in step.regions
            ),
        )
        for step in steps
        if dropped not in step.results
    )


def used(steps: Steps, outputs: tuple[int, ...]) -> Steps:
    """The steps that outputs depend on."""
    kept: list[Step] = []
    wanted = set(outputs)
    for step in reversed(steps):
        if not wanted.isdisjoint(step.results):
            regions = tuple(replace(r, steps=used(r.steps, r.outputs)) for r in step.regions)
            kept.append(replace(step, regions=regions))
            wanted |= read(kept[-1])
    return tuple(reversed(kept))


def read(step: Step) -> set[int]:
    """The values that a step reads, those that its bodies capture included."""
    found = set(step.operands)
    for region in step.regions:
        found |= set(region.outputs)
        for inner in region.steps:
            found |= read(inner)
    return found


def every(steps: Steps, seen: tuple[int, ...]) -> Iterator[tuple[Step, tuple[int, ...]]]:
    """All steps from the last one, each with the values that are there before it."""
    before = list(seen)
    levels: list[tuple[Step, tuple[int, ...]]] = []
    for step in steps:
        levels.append((step, tuple(before)))
        before += step.results
    for step, known in reversed(levels):
        yield step, known
        for region in step.regions:
            yield from every(region.steps, (*known, *region.params))


def candidates(program: Program) -> Iterator[Program]:
    """Programs that are a little smaller."""
    if len(program.outputs) > 1:
        for at in program.outputs:
            yield replace(program, outputs=(at,))
    inputs = tuple(i.number for i in program.inputs)
    for step in program.steps:
        for at in step.operands:
            if at not in inputs:
                yield replace(program, outputs=(at,))
    for step, known in every(program.steps, inputs):
        for result in step.results:
            for other in dict.fromkeys((*step.operands, *reversed(known))):
                names = dict.fromkeys(step.results, other)
                if len(step.results) > 1 and result != step.results[0]:
                    continue
                steps = renamed(program.steps, names, step.results[0])
                yield replace(
                    program, steps=steps, outputs=tuple(names.get(o, o) for o in program.outputs)
                )
        if len(step.results) == 1 or step.op in ("if_else", "if_else by element"):
            for region in step.regions:
                yield from _inlined(program, step, region)


def _inlined(program: Program, step: Step, region: Region) -> Iterator[Program]:
    """A body in the place of its construct, on the operands that fit in number."""
    operands = step.operands[1:] if step.op.startswith("if_else") else step.operands
    if len(operands) < len(region.params):
        return
    names = dict(zip(region.params, operands, strict=False))
    names |= dict(zip(step.results, region.outputs, strict=False))
    steps: list[Step] = []
    if step not in program.steps:
        return
    for own in program.steps:
        steps += list(region.steps) if own is step else [own]
    for _ in range(2):  # an output may be a parameter
        names = {old: names.get(new, new) for old, new in names.items()}
    yield replace(
        program,
        steps=renamed(tuple(steps), names, -1),
        outputs=tuple(names.get(o, o) for o in program.outputs),
    )


def size(program: Program) -> int:
    def count(steps: Steps) -> int:
        return sum(1 + sum(count(r.steps) for r in step.regions) for step in steps)

    return count(program.steps)


def sound(program: Program) -> bool:
    """Whether NumPy computes it, all finite, away from kinks."""
    lib = NumPy()
    try:
        env = run(program, program.point, lib)
    except Exception:
        return False
    values = [np.asarray(v.data) for v in env.values()]
    return lib.margin > 1e-3 and all(np.all(np.isfinite(v)) for v in values)


def shrink(
    program: Program,
    failure: Failure,
    backend: str = "python",
    seconds: float = 60.0,
    fails: Callable[[Program], bool] | None = None,
) -> Program:
    """A program with fewer steps that fails in the same check, with the same kind of failure."""
    name = failure.check.split(" [")[0]
    kind = failure.found[:40] if not failure.wrong_number else "wrong"

    def same(other: Program) -> bool:
        if name == "build":
            return any(f.found[:40] == kind for f in failures(other, backend, []))
        found = failures(other, backend, [name])
        return any((f.found[:40] if not f.wrong_number else "wrong") == kind for f in found)

    fails = fails or same
    started = time.monotonic()
    smaller = True
    while smaller:
        smaller = False
        for candidate in candidates(program):
            if time.monotonic() - started > seconds:
                return program
            candidate = replace(candidate, steps=used(candidate.steps, candidate.outputs))
            if (size(candidate), len(candidate.outputs)) >= (size(program), len(program.outputs)):
                continue
            if candidate.outputs and sound(candidate) and fails(candidate):
                program, smaller = candidate, True
                break
    return replace(program, dims=_dims_used(program))


def _dims_used(program: Program) -> dict:
    from tests.differential.program import source

    text = source(program)
    return {
        name: d
        for name, d in program.dims.items()
        if text.count(name) > 1 and (name in "ab" or _mentions(text, name) > 1)
    }


def _mentions(text: str, name: str) -> int:
    import re

    return len(re.findall(rf"\b{name}\b", text)) - 1  # its own line has it twice
